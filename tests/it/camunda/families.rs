//! Where families go as such: with every row that names their root, whatever removal time it has.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::oracle::{insert, lenient};
use super::{AS_OF, Unit, options, rule};
use crate::harness::tests;
use crate::support::camunda::{Camunda, text_by_family};

tests! {
    on_postgres: [
        every_statement_has_its_index,
    ],
    mysql_or_mariadb: [
        a_column_that_a_stamp_would_set_is_named,
    ],
    every_server: [
        rows_with_another_removal_time_or_none_go_with_their_root,
        no_batch_has_more_families_than_the_setting_says,
        what_is_of_no_instance_goes_after_all_that_belongs_to_it,
    ],
}

/// How many rows of a table name a root that is due, or one that is not there.
fn number(camunda: &mut Camunda, table: &str, which: &str) -> i64 {
    camunda.number(&format!(
        "SELECT count(*) FROM {table} AS t LEFT JOIN act_hi_procinst AS p ON p.id_ = t.root_proc_inst_id_ WHERE t.root_proc_inst_id_ IS NOT NULL AND {which}"
    ))
}

fn rows_with_another_removal_time_or_none_go_with_their_root(dialect: Dialect) {
    let mut camunda = Unit::Family.history(dialect);
    for (table, time) in [
        ("act_hi_comment", "NULL"),
        ("act_hi_detail", "'2031-01-01'"),
        ("act_hi_varinst", "'2001-01-01'"),
    ] {
        camunda.execute(&format!("UPDATE {table} SET removal_time_ = {time}"));
    }
    let tables = ["act_hi_comment", "act_hi_detail", "act_hi_varinst"];
    let due = "p.removal_time_ < '2026-05-01'";
    let before = tables.map(|table| number(&mut camunda, table, due));
    let run = camunda.run(options());
    assert_eq!(run["status"], "done", "{run}");
    for (table, before) in tables.into_iter().zip(before) {
        let left = number(&mut camunda, table, due);
        assert!(before > 40, "{table}: {before}");
        // Some families that are due stay: running ones, and those that something refers to.
        assert!(left < before / 2, "{table}: {left} of {before}");
        assert_eq!(number(&mut camunda, table, "p.id_ IS NULL"), 0, "{table}");
    }
    assert!(camunda.torn().is_empty(), "{:?}", camunda.torn());
    // What belongs to a root that stays, stays with it, though its own time has come.
    let young = "p.removal_time_ > '2026-06-02'";
    assert!(number(&mut camunda, "act_hi_varinst", young) > 0);
    assert_eq!(rule(&camunda.run(options()), "history")["rows"], 0);

    // Rows whose own time says nothing are not reported as strays; one that belongs to nothing and has no time is.
    let strays = |camunda: &mut Camunda| {
        let verify = camunda.call("verify", json!({}));
        let object = camunda.named("history act_hi_comment");
        let checks = verify["checks"].as_array().expect("checks").clone();
        let mut found = checks.into_iter();
        let found = found.find(|it| it["check"] == "removal_time" && it["object"] == *object);
        found.expect("a check")["count"].as_i64()
    };
    let rootless =
        camunda.number("SELECT count(*) FROM act_hi_comment WHERE root_proc_inst_id_ IS NULL");
    assert_eq!(strays(&mut camunda), Some(rootless));
    camunda.execute("UPDATE act_hi_comment SET root_proc_inst_id_ = NULL WHERE root_proc_inst_id_ = (SELECT r FROM (SELECT min(root_proc_inst_id_) AS r FROM act_hi_comment) AS x)");
    // They belong to their instance, and go with it.
    assert_eq!(strays(&mut camunda), Some(rootless));
    camunda
        .execute("UPDATE act_hi_comment SET proc_inst_id_ = NULL WHERE root_proc_inst_id_ IS NULL");
    assert!(strays(&mut camunda) > Some(rootless));
}

fn no_batch_has_more_families_than_the_setting_says(dialect: Dialect) {
    let mut camunda = Unit::Family.history(dialect);
    camunda.set_setting("batch_families", 7);
    // Someone has set one instant for everything that is due.
    camunda.execute("UPDATE act_hi_procinst SET removal_time_ = '2026-02-01' WHERE removal_time_ < '2026-05-01'");
    camunda.execute("CREATE TABLE seen (batch bigint, root integer)");
    if dialect == Dialect::Postgres {
        camunda.execute(
            "CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
             BEGIN
                 INSERT INTO public.seen SELECT r.batches, (OLD.id_ = OLD.root_proc_inst_id_)::integer FROM W.run_rule AS r WHERE r.rule = 'history';
                 RETURN NULL;
             END $$",
        );
    }
    let body = camunda.either(
        "EXECUTE FUNCTION public.see()",
        "INSERT INTO seen SELECT r.batches, OLD.id_ = OLD.root_proc_inst_id_ FROM W.run_rule AS r WHERE r.rule = 'history'",
    );
    camunda.execute(&format!(
        "CREATE TRIGGER see AFTER DELETE ON act_hi_procinst FOR EACH ROW {body}"
    ));
    let run = camunda.run(json!({"rule": "history", "as_of": AS_OF}));
    assert_eq!(run["status"], "done", "{run}");
    let families = rule(&run, "history")["families"]
        .as_i64()
        .expect("a number");
    assert!(families > 200, "{run}");
    assert_eq!(camunda.number("SELECT sum(root) FROM seen"), families);
    let most =
        camunda.number("SELECT max(n) FROM (SELECT sum(root) AS n FROM seen GROUP BY batch) AS s");
    assert_eq!(most, 7);
    assert!(camunda.torn().is_empty(), "{:?}", camunda.torn());
}

fn every_statement_has_its_index() {
    let mut camunda = Camunda::new(Dialect::Postgres);
    let said = camunda.check(&text_by_family());
    assert!(
        !said.contains("\"error\"") && !said.contains("\"warning\""),
        "{said}"
    );
    // An index less is found out.
    camunda.execute("DROP INDEX act_idx_hi_comment_root_pi");
    let said = camunda.check(&text_by_family());
    assert!(said.contains("root_proc_inst_id_"), "{said}");
}

/// On MySQL and MariaDB a column can show when its row was changed last: a stamp would change that.
fn a_column_that_a_stamp_would_set_is_named(dialect: Dialect) {
    let mut camunda = Camunda::new(dialect);
    let clock = "timestamp NULL ON UPDATE CURRENT_TIMESTAMP";
    camunda.execute(&format!(
        "ALTER TABLE act_hi_comment ADD seen_ {clock}; ALTER TABLE act_hi_incident ADD seen_ {clock}"
    ));
    let text = text_by_family();
    let text = text.replacen(
        "    \"act_hi_incident: create_time_\",\n",
        "    \"act_hi_incident: create_time_, seen_\",\n",
        1,
    );
    let said: Value = serde_json::from_str(&camunda.check(&text)).expect("findings");
    let level = |table: &str| {
        let object = json!(format!("{table}.SEEN_"));
        let mut found = said["findings"].as_array().expect("findings").iter();
        found.find(|it| it["object"] == object)?["severity"].as_str()
    };
    assert_eq!(level("ACT_HI_COMMENT"), Some("warning"), "{said:#}");
    assert_eq!(level("ACT_HI_INCIDENT"), Some("notice"), "{said:#}");
}

/// A decision, a batch, a task and a byte array of no process instance, with rows that belong to them and go later, or never.
fn what_is_of_no_instance_goes_after_all_that_belongs_to_it(dialect: Dialect) {
    const PAIRS: [(&str, &str, &str); 6] = [
        ("act_hi_decinst", "act_hi_dec_in", "dec_inst_id_"),
        ("act_hi_batch", "act_hi_job_log", "job_def_id_"),
        ("act_hi_batch", "act_hi_incident", "job_def_id_"),
        ("act_hi_taskinst", "act_hi_identitylink", "task_id_"),
        ("act_hi_taskinst", "act_hi_comment", "task_id_"),
        ("act_ge_bytearray", "act_hi_varinst", "bytearray_id_"),
    ];
    let mut camunda = Camunda::new(dialect);
    lenient(&mut camunda);
    let mut script = String::new();
    for (number, (parent, child, column)) in PAIRS.into_iter().enumerate() {
        for (which, removal) in [
            ("goes", "'2026-01-01'"),
            ("later", "'2026-02-01'"),
            ("young", "'2036-01-01'"),
            ("undated", "NULL"),
        ] {
            let key = format!("'{number} {which}'");
            let time = |removal: &str| ("removal_time_", removal.to_owned());
            let mut upper = vec![("id_", key.clone()), time("'2026-01-01'")];
            if parent == "act_hi_batch" {
                upper.push(("monitor_job_def_id_", key.clone()));
            }
            script += &insert(parent, upper);
            let lower = vec![("id_", key.clone()), (column, key), time(removal)];
            script += &insert(child, lower);
        }
    }
    camunda.execute(&script);
    let left = |camunda: &mut Camunda, table: &str| {
        camunda.texts(&format!("SELECT id_ FROM {table} ORDER BY 1"))
    };
    let [preview, dry, run] = [
        ("preview", options()),
        ("run", json!({"as_of": AS_OF, "dry_run": true})),
        ("run", options()),
    ]
    .map(|(routine, options)| {
        let document = camunda.call(routine, options);
        let history = rule(&document, "history");
        (history["tables"].clone(), history["skipped"].clone())
    });
    assert_eq!((&preview, &dry), (&run, &run));
    assert_eq!(run.1, json!({"REFERENCED": 18}));
    for (number, (parent, child, _)) in PAIRS.into_iter().enumerate() {
        let of = |which: &[&str]| -> Vec<String> {
            which.iter().map(|it| format!("{number} {it}")).collect()
        };
        let mut there = left(&mut camunda, parent);
        there.retain(|key| key.starts_with(&number.to_string()));
        assert_eq!(there, of(&["later", "undated", "young"]), "{parent}");
        assert_eq!(left(&mut camunda, child), of(&["undated", "young"]));
    }
    // What has waited for a row that is gone goes with the next run.
    let again = camunda.run(options());
    assert_eq!(rule(&again, "history")["rows"], 6, "{again}");
    assert_eq!(
        rule(&again, "history")["skipped"],
        json!({"REFERENCED": 12})
    );
    assert!(camunda.torn().is_empty(), "{:?}", camunda.torn());
    assert_eq!(rule(&camunda.run(options()), "history")["rows"], 0);
}
