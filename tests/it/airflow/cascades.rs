//! What a batch leaves to foreign keys: only where they delete, nothing may keep a row, and the server counts; in any case the
//! same rows go, and all are told.

use std::collections::{BTreeMap, BTreeSet};

use windrow::dialect::Dialect;

use super::model::check;
use super::{armed, graph, load_history, set_policies, verified};

use crate::harness::tests;
use crate::support::effort::one_of;

tests! {
    on_postgres: [
        a_foreign_key_that_cascades_is_left_to_do_so,
        one_that_does_not_is_not,
    ],
}

/// Counts the rows of xcom that go while their task instance is there: by a statement of their own.
const COUNTED: &str = "
CREATE SCHEMA seen;
CREATE TABLE seen.early (rows bigint);
CREATE FUNCTION seen.count_early() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO seen.early
    SELECT count(*)
    FROM gone AS g
    JOIN public.task_instance AS t ON (t.dag_id, t.task_id, t.run_id, t.map_index) = (g.dag_id, g.task_id, g.run_id, g.map_index);
    RETURN NULL;
END
$$;
CREATE TRIGGER count_early AFTER DELETE ON xcom REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION seen.count_early();
ALTER TABLE xcom ENABLE ALWAYS TRIGGER count_early;";

/// The statement `then`, with `name` in the place of `%s`: that of the foreign key of xcom, as c, or of what `of` joins to it.
fn with(name: &str, of: &str, then: &str) -> String {
    format!(
        "DO $$
         BEGIN
             EXECUTE (SELECT format('{then}', {name}) FROM pg_constraint AS c {of} WHERE c.conrelid = 'xcom'::regclass AND c.contype = 'f');
         END
         $$"
    )
}

/// Cleans a history and answers how many rows of xcom went, and how many of them by a statement of their own.
fn gone_and_early(change: &str) -> (i64, i64) {
    let mut database = armed(Dialect::Postgres, &graph());
    load_history(&mut database);
    let retentions: BTreeMap<String, i64> =
        ["billing_daily", "catalogue_sync", "churn_model", "reports"]
            .map(|dag| (dag.to_owned(), 30))
            .into();
    set_policies(&mut database, &retentions);
    database.execute(COUNTED);
    database.execute(change);
    let run = check(&mut database, &retentions, &BTreeSet::new());
    let gone = run["rules"][0]["tables"]["xcom"].as_i64();
    let early = database.number("SELECT coalesce(sum(rows), 0)::bigint FROM seen.early");
    verified(&mut database);
    (gone.expect("a number"), early)
}

fn a_foreign_key_that_cascades_is_left_to_do_so() {
    let (gone, early) = gone_and_early("SELECT");
    assert!(gone > 500 && early == 0, "{early} of {gone}");
}

fn one_that_does_not_is_not() {
    let key = "quote_ident(c.conname)";
    let changes = [
        with(key, "", "ALTER TABLE xcom DROP CONSTRAINT %s"),
        with(
            key,
            "",
            "ALTER TABLE xcom DROP CONSTRAINT %s, ADD FOREIGN KEY (dag_id, task_id, run_id, map_index) REFERENCES task_instance (dag_id, task_id, run_id, map_index)",
        ),
        "SET track_counts = off".to_owned(),
        "CREATE FUNCTION seen.watch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';
         CREATE TRIGGER watch BEFORE DELETE ON task_map FOR EACH ROW EXECUTE FUNCTION seen.watch()"
            .to_owned(),
    ];
    for change in one_of(4, changes) {
        let (gone, early) = gone_and_early(&change);
        assert!(
            gone > 500 && early == gone,
            "{early} of {gone} after {change}"
        );
    }
}
