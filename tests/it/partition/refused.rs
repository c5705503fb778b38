//! What no run drops, and says so.

use serde_json::json;
use windrow::dialect::Dialect;

use super::{SCHEMA, armed, example, grant, only, own, owner, partitions, set};
use crate::support::installation::Installation;

/// What a table has that a drop would pass over: how it comes, how it goes, and what is said of it.
const MISFITS: [(&str, &str, &str); 7] = [
    (
        "CREATE TABLE note (log_id bigint, log_at timestamptz, FOREIGN KEY (log_id, log_at) REFERENCES event_log (id, logged_at))",
        "DROP TABLE note",
        "note refers to event_log by ",
    ),
    (
        "CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN old; END';
         CREATE TRIGGER counts AFTER DELETE ON event_log FOR EACH ROW EXECUTE FUNCTION told()",
        "DROP TRIGGER counts ON event_log",
        "has the trigger counts on DELETE",
    ),
    (
        "CREATE TRIGGER counts BEFORE DELETE ON event_log_past FOR EACH STATEMENT EXECUTE FUNCTION told()",
        "DROP TRIGGER counts ON event_log_past",
        "table event_log_past has the trigger counts on DELETE",
    ),
    (
        "CREATE SCHEMA partman; CREATE TABLE partman.part_config (parent_table text, retention text); GRANT USAGE ON SCHEMA partman TO PUBLIC;
         GRANT SELECT ON partman.part_config TO PUBLIC; INSERT INTO partman.part_config VALUES ('public.event_log', '30 days')",
        "DELETE FROM partman.part_config",
        "pg_partman drops partitions of event_log, too",
    ),
    (
        "ALTER TABLE event_log RENAME TO other; CREATE TABLE event_log (id bigint, logged_at timestamptz) PARTITION BY LIST (logged_at)",
        "DROP TABLE event_log; ALTER TABLE other RENAME TO event_log",
        "is not partitioned by range of logged_at alone",
    ),
    (
        "ALTER TABLE event_log RENAME TO other; CREATE TABLE event_log (id bigint, logged_at timestamptz) PARTITION BY RANGE (logged_at, id)",
        "DROP TABLE event_log; ALTER TABLE other RENAME TO event_log",
        "is not partitioned by range of logged_at alone",
    ),
    (
        "ALTER TABLE event_log RENAME TO other; CREATE TABLE event_log (id bigint, logged_at timestamptz)",
        "DROP TABLE event_log; ALTER TABLE other RENAME TO event_log",
        "is not partitioned by range of logged_at alone",
    ),
];

pub(super) fn what_a_drop_would_pass_over_is_refused_by_name() {
    let mut installation = armed("event-log-misfits");
    for (comes, goes, said) in MISFITS {
        installation.execute(comes);
        let error = installation.preview(json!({})).expect_err(comes);
        assert!(format!("{error:#}").contains(said), "{comes}: {error:#}");
        // A table that is another one, and a trigger of somebody else's, are refused before it comes to that.
        let earlier = ["is another one", "trigger counts of table"];
        for options in [json!({}), json!({"trigger": "SCHEDULED"})] {
            let run = installation.run(options);
            let told = run.map_or_else(|error| format!("{error:#}"), |run| run.to_string());
            let refused = told.contains(said) || earlier.iter().any(|it| told.contains(it));
            assert!(refused, "{comes}: {told}");
        }
        installation.execute(goes);
    }
    assert_eq!(
        partitions(&mut installation),
        set(&["event_log_now", "event_log_old", "event_log_past"])
    );
    // Nothing of it is left.
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["families"], 2, "{run}");
}

pub(super) fn only_a_member_of_the_owner_of_partitions_drops_them() {
    let mut installation =
        Installation::of(Dialect::Postgres, SCHEMA, &example("event-log-rights"));
    own(&mut installation);
    let (owner, control) = (owner(&installation), installation.control.clone());
    let arm = installation
        .attempt("CALL W.arm()")
        .expect_err("it may not drop");
    let said = format!("{arm:#}");
    assert!(
        said.contains("event_log_now belongs to")
            && said.contains(&format!("GRANT {owner} TO {control}_owner")),
        "{said}"
    );
    // To look, no right is needed.
    assert_eq!(
        only(&installation.preview(json!({})).expect("a preview"))["families"],
        2
    );

    grant(&mut installation);
    installation.arm();
    let operator = format!("{owner}_operator");
    installation.execute(&format!(
        "CREATE ROLE {operator} LOGIN IN ROLE {control}_operator"
    ));
    // The operator has no right on the log, nor on what drops.
    let mut session = installation.connect_to(&installation.name, &operator);
    for refused in [
        "DROP TABLE event_log_old".to_owned(),
        "SELECT count(*) FROM event_log".to_owned(),
        format!(
            "SELECT {control}.event_log_drop_partitions(ARRAY['event_log_old'::regclass], ARRAY['DEFAULT'], 100)"
        ),
        format!("SELECT {control}.partition_step(1, 'event_log')"),
    ] {
        let error = format!("{:#}", session.execute(&refused).expect_err(&refused));
        assert!(error.contains("42501"), "{refused}: {error}");
    }
    let rights = installation.texts(&format!(
        "SELECT privilege_type || ' ' || table_name FROM information_schema.role_table_grants \
         WHERE grantee = '{control}_owner' AND table_schema = 'public' ORDER BY 1"
    ));
    assert_eq!(rights, ["DELETE event_log", "SELECT event_log"]);
    session
        .execute(&format!("CALL {control}.run()"))
        .expect("an operator's run");
    assert_eq!(partitions(&mut installation), set(&["event_log_now"]));

    // What is taken back ends the next run, by name.
    installation.execute(&format!("REVOKE {owner} FROM {control}_owner"));
    let run = installation.run(json!({}));
    let said = run.map_or_else(|error| format!("{error:#}"), |run| run.to_string());
    assert!(
        said.contains(&format!("GRANT {owner} TO {control}_owner")),
        "{said}"
    );
}

pub(super) fn nothing_but_a_partition_that_was_judged_is_dropped() {
    let mut installation = armed("event-log-drops");
    installation.execute(
        "CREATE TABLE stranger (id bigint);
         CREATE TABLE twin (LIKE event_log) PARTITION BY RANGE (logged_at);
         CREATE TABLE event_log_default PARTITION OF event_log DEFAULT;
         CREATE TABLE event_log_far PARTITION OF event_log FOR VALUES FROM ('2101-01-01') TO ('2102-01-01') PARTITION BY LIST (id)",
    );
    let bound = |installation: &mut Installation, table: &str| {
        let sql = format!(
            "SELECT replace(pg_get_expr(c.relpartbound, c.oid), '''', '''''') FROM pg_class AS c WHERE c.oid = '{table}'::regclass"
        );
        installation.texts(&sql).remove(0)
    };
    installation.execute("SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'");
    let old = bound(&mut installation, "event_log_old");
    installation.execute(&format!(
        "CREATE TABLE twin_old PARTITION OF twin {}",
        old.replace("''", "'")
    ));
    own(&mut installation);
    let past = bound(&mut installation, "event_log_past");
    let far = bound(&mut installation, "event_log_far");
    let all = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') ORDER BY 1";
    let before = installation.texts(all);
    for (table, bound) in [
        ("stranger", &old),
        ("twin_old", &old),
        ("event_log_old", &past),
        ("event_log_default", &"DEFAULT".to_owned()),
        ("event_log_far", &far),
        ("event_log", &old),
    ] {
        let drop = format!(
            "SELECT W.event_log_drop_partitions(ARRAY['{table}'::regclass::oid], ARRAY['{bound}'], 100)"
        );
        let error = format!("{:#}", installation.attempt(&drop).expect_err(&drop));
        assert!(error.contains("has the bounds"), "{drop}: {error}");
        assert_eq!(installation.texts(all), before, "{drop}");
    }
    installation.execute(&format!(
        "SELECT W.event_log_drop_partitions(ARRAY['event_log_old'::regclass::oid], ARRAY['{old}'], 100)"
    ));
    let after: Vec<String> = before
        .into_iter()
        .filter(|name| name != "event_log_old")
        .collect();
    assert_eq!(installation.texts(all), after);
}
