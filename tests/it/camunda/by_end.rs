//! Process and case instances of Camunda 7 that have ended, by the time to live of their definition of today: a model over
//! rows in memory, compared with what `specs/camunda7-end-time.toml` and `specs/camunda7-cases.toml` delete.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::oracle::lenient;
use super::{NOW, options, rule};
use crate::harness::tests;
use crate::support::camunda::{Camunda, load};
use crate::support::effort::{self, enough, one_of, rounds_of};
use crate::support::graphs::graph_of;

mod model;

pub(super) use model::contents;
use model::{BYTES, CASE, DECISION, Key, PROCESS, RULES, World};

tests! {
    each_server: [
        a_batch_reads_its_own_families,
    ],
    on_postgres: [
        no_batch_reads_a_catalog_whole,
    ],
    every_server: [
        instances_go_as_the_model_says,
        cases_go_beside_removal_times_as_the_model_says,
        a_realistic_history_goes_by_end_time,
        what_the_engines_cleanup_logs_goes_by_its_age,
        the_specs_by_end_time_fit_the_schema,
    ],
}

const BY_END: &str = "camunda7-end-time";
const CASES_ONLY: &str = "camunda7-cases";
const AS_OF: &str = "2026-01-01T00:00:00Z";

fn instances_go_as_the_model_says(dialect: Dialect) {
    let mut camunda = Camunda::of(dialect, &load(BY_END));
    lenient(&mut camunda);
    let (mut families, mut chains, mut arrays, mut reasons) =
        (BTreeMap::new(), BTreeMap::new(), 0, BTreeSet::new());
    let (mut purged, mut refused) = (BTreeMap::new(), BTreeSet::new());
    for seed in rounds_of("worlds of Camunda by end time", dialect, 14) {
        let mut random = SmallRng::seed_from_u64(seed);
        let world = World::random(&mut random, true);
        // Two rules of each world, now these, now those.
        let mut rules = RULES;
        rules.rotate_left((seed as usize + 1) % 2);
        for (rule, root) in one_of(2, rules) {
            let (gone, skipped) = check(&mut camunda, &world, &RULES, (rule, root), &mut random);
            let calls = |(_, id): &&Key| world.family(root, id, false).len() > 2;
            let instances = gone.iter().filter(|(table, _)| table == root);
            *families.entry(root).or_insert(0) += instances.clone().count();
            *chains.entry(root).or_insert(0) += instances.filter(calls).count();
            arrays += gone.iter().filter(|(table, _)| table == BYTES).count();
            reasons.extend(skipped.keys().copied());
        }
        // One instance at once, whatever its age.
        for (rule, root) in [RULES[0], RULES[2]] {
            world.load(&mut camunda);
            let all = world.of(root);
            let all: Vec<&&str> = all.keys().collect();
            let key = **all.choose(&mut random).expect("an instance");
            if world.is_in_circle(root, key) {
                continue;
            }
            let answer = camunda.purge(json!({"rule": rule, "key": [key], "force": true}));
            let expected = world.purge(root, key).map(|keys| world.rows_of(&keys));
            let reason = answer["refused"][key].as_str();
            assert_eq!(
                reason,
                expected.as_ref().err().copied(),
                "seed {seed}, {rule} {key}: {world:#?}"
            );
            let gone = expected.unwrap_or_default();
            *purged.entry(root).or_insert(0) +=
                gone.iter().filter(|(table, _)| table == root).count();
            refused.extend(reason.map(str::to_owned));
            let left: BTreeSet<_> = world.contents().difference(&gone).cloned().collect();
            assert_eq!(contents(&mut camunda), left, "seed {seed}");
        }
    }
    let is_enough = RULES.iter().all(|(_, root)| families[root] > enough(10));
    let linked = [PROCESS, DECISION];
    let is_enough = is_enough
        && linked
            .iter()
            .all(|root| chains[root] >= enough(3) && purged[root] >= enough(3));
    assert!(
        is_enough && arrays > enough(30),
        "{families:?} {chains:?} {arrays} {purged:?}"
    );
    let all = [
        "HELD",
        "NON_FINAL_MEMBER",
        "REFERENCED",
        "RETENTION_NOT_REACHED",
        "SHARED_MEMBER",
        "UNDATED_MEMBER",
    ];
    assert_eq!(reasons, BTreeSet::from(all));
    assert!(refused.contains("SHARED_MEMBER"), "{refused:?}");
}

fn cases_go_beside_removal_times_as_the_model_says(dialect: Dialect) {
    let mut camunda = Camunda::of(dialect, &load(CASES_ONLY));
    lenient(&mut camunda);
    let (mut families, mut arrays, mut reasons) = (0, 0, BTreeSet::new());
    for seed in rounds_of("worlds of Camunda's cases", dialect, 15) {
        let mut random = SmallRng::seed_from_u64(seed);
        let world = World::random(&mut random, false);
        let (gone, skipped) = check(&mut camunda, &world, &RULES[1..2], RULES[1], &mut random);
        families += gone.iter().filter(|(table, _)| table == CASE).count();
        arrays += gone.iter().filter(|(table, _)| table == BYTES).count();
        reasons.extend(skipped.keys().copied());
    }
    assert!(
        families > enough(30) && arrays > enough(10),
        "{families} {arrays}"
    );
    assert_eq!(reasons, BTreeSet::from(["HELD", "UNDATED_MEMBER"]));
}

/// The realistic history with definitions. Its removal times do not count, nor what it says of tasks that belong to nobody.
pub(super) fn realistic(dialect: Dialect, families: u32) -> Camunda {
    let mut camunda = Camunda::of(dialect, &load(BY_END));
    camunda.remember(families, NOW);
    // It names no job definitions.
    camunda.execute(
        "INSERT INTO act_re_procdef (id_, key_, version_, history_ttl_)
         SELECT DISTINCT proc_def_id_, proc_def_key_, 1, 30 FROM act_hi_procinst WHERE proc_def_key_ <> 'process_7';
         INSERT INTO act_re_decision_def (id_, key_, version_, history_ttl_)
         SELECT DISTINCT dec_def_id_, dec_def_key_, 1, 30 FROM act_hi_decinst;
         UPDATE act_hi_batch SET batch_job_def_id_ = CONCAT('of ', id_);
         UPDATE act_hi_job_log SET job_def_id_ = CONCAT('of ', batch_id_) WHERE batch_id_ IS NOT NULL",
    );
    camunda
}

fn a_realistic_history_goes_by_end_time(dialect: Dialect) {
    let mut camunda = realistic(dialect, 400);
    let due = camunda.number(
        "SELECT count(*) FROM act_hi_procinst WHERE end_time_ < '2026-05-02 11:00:00' AND proc_def_key_ <> 'process_7'",
    );
    let preview = camunda.call("preview", options());
    let several = &preview["counted_by_several"];
    let incidents = camunda.named("act_hi_incident");
    let both = json!(["process_instances", "batches"]);
    assert_eq!(several[incidents], both, "{preview}");
    let dry = camunda.run(json!({"as_of": super::AS_OF, "dry_run": true}));
    let run = camunda.run(options());
    assert_eq!(run["status"], "done", "{run}");
    for figure in ["rows", "families", "tables", "skipped", "skipped_samples"] {
        for name in ["process_instances", "decisions", "batches", "task_metrics"] {
            let found = &rule(&run, name)[figure];
            assert_eq!(*found, rule(&preview, name)[figure], "{name} {figure}");
            assert_eq!(*found, rule(&dry, name)[figure], "{name} {figure}");
        }
    }
    let processes = rule(&run, "process_instances");
    let skipped = processes["skipped_families"].as_i64().expect("a number");
    assert_eq!(processes["families"], due - skipped, "{processes}");
    for table in processes["tables"].as_object().expect("tables") {
        assert!(table.1.as_i64() > Some(0), "{table:?}");
    }
    let orphans = camunda.either("SELECT edge, orphans FROM W.orphans()", "CALL W.orphans()");
    let orphans = camunda.windrow.rows(orphans);
    assert!(
        orphans.iter().all(|row| row[1].as_deref() == Some("0")),
        "{orphans:?}"
    );
    // A batch of this history has eight entries in the log of its jobs.
    let [decisions, batches] = ["decisions", "batches"].map(|name| rule(&run, name).clone());
    let deleted = |rule: &Value, table: &str| {
        let tables = rule["tables"].as_object().expect("tables");
        let found = tables.iter().find(|(name, _)| name.to_lowercase() == table);
        found.and_then(|(_, rows)| rows.as_i64()).expect("a number")
    };
    let of = |table: &str| deleted(&batches, table);
    assert!(of("act_hi_batch") > 0, "{batches}");
    assert_eq!(of("act_hi_job_log"), 8 * of("act_hi_batch"), "{batches}");
    for table in ["act_hi_decinst", "act_hi_dec_in", "act_hi_dec_out"] {
        assert!(deleted(&decisions, table) > 0, "{decisions}");
    }
    let again = camunda.run(options());
    for name in ["process_instances", "decisions", "batches"] {
        assert_eq!(rule(&again, name)["rows"], 0);
    }
}

/// Each batch asks whether a row that runs still names a byte array of its families. Once, each read all history for that.
fn a_batch_reads_its_own_families(dialect: Dialect) {
    let mut camunda = realistic(dialect, 400);
    let few = json!({"rule": "process_instances", "name": "batch_families", "value": 10});
    camunda.call("set_setting", few);
    let read = camunda.either(
        "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables WHERE relname LIKE 'act_hi%'",
        "SELECT SUM(variable_value) FROM performance_schema.session_status
         WHERE variable_name IN ('Handler_read_key', 'Handler_read_next', 'Handler_read_rnd_next')",
    );
    let read = match dialect {
        Dialect::Mariadb => read.replace("performance_schema", "information_schema"),
        _ => read.to_owned(),
    };
    let rows_read = |camunda: &mut Camunda| {
        if dialect == Dialect::Postgres {
            camunda.execute("SELECT pg_stat_force_next_flush()");
        }
        camunda.number(&read)
    };
    let before = rows_read(&mut camunda);
    let run = camunda.run(json!({"as_of": super::AS_OF, "rule": "process_instances"}));
    let rows = rows_read(&mut camunda) - before;
    let deleted = &run["rules"][0];
    assert!(deleted["batches"].as_i64() > Some(20), "{run}");
    let deleted = deleted["rows"].as_i64().expect("a number");
    assert!(rows < 20 * deleted, "{rows} rows read, {deleted} deleted");
}

/// An index with a function that somebody wrote, on a table of no rule.
const CALLED: &str =
    "CREATE FUNCTION plus(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
    CREATE TABLE called (id integer); CREATE INDEX ON called (plus(id))";

/// A database may have a hundred thousand columns, and a run a thousand batches. The few catalogs that all databases share are read.
fn no_batch_reads_a_catalog_whole() {
    let mut camunda = realistic(Dialect::Postgres, 400);
    // Code of others may be there; a batch looks where it acts.
    camunda.execute(CALLED);
    let few = json!({"rule": "process_instances", "name": "batch_families", "value": 10});
    camunda.call("set_setting", few);
    let begin = "SELECT pg_stat_force_next_flush()";
    camunda.execute(begin);
    camunda.execute(
        "CREATE TEMPORARY TABLE scans AS SELECT relid, seq_scan, idx_tup_fetch FROM pg_stat_sys_tables",
    );
    let run = camunda.run(json!({"as_of": super::AS_OF, "rule": "process_instances"}));
    camunda.execute(begin);
    let batches = run["rules"][0]["batches"].as_i64().expect("a number");
    assert!(batches > 20, "{run}");
    let whole = camunda.texts(&format!(
        "SELECT format('%s: %s times, %s rows', s.relname, s.seq_scan - b.seq_scan, s.idx_tup_fetch - b.idx_tup_fetch)
         FROM pg_stat_sys_tables AS s JOIN scans AS b ON b.relid = s.relid JOIN pg_class AS c ON c.oid = s.relid
         WHERE NOT c.relisshared AND (c.reltuples > 100 AND s.seq_scan - b.seq_scan > {half}
             OR c.reltuples > 1000 AND s.idx_tup_fetch - b.idx_tup_fetch > {half} * c.reltuples)",
        half = batches / 2
    ));
    assert_eq!(whole, [""; 0]);
}

fn what_the_engines_cleanup_logs_goes_by_its_age(dialect: Dialect) {
    let mut camunda = Camunda::of(dialect, &load(BY_END));
    // Five days and the safety lag before `AS_OF`: the row of the limit itself stays.
    let limit = "2025-12-26 23:00:00";
    for (id, minutes, kind, process) in [
        ("old", -1, "'history-cleanup'", "NULL"),
        ("limit", 0, "'history-cleanup'", "NULL"),
        ("young", 1, "'history-cleanup'", "NULL"),
        ("other", -1, "'batch-monitor-job'", "NULL"),
        ("unsaid", -1, "NULL", "NULL"),
        ("of a process", -1, "'history-cleanup'", "'p'"),
    ] {
        camunda.execute(&format!(
            "INSERT INTO act_ge_bytearray (id_) VALUES ('stack of {id}');
             INSERT INTO act_hi_job_log (id_, timestamp_, job_id_, job_def_type_, process_instance_id_, job_exception_stack_id_)
             VALUES ('{id}', TIMESTAMP '{limit}' + INTERVAL '{minutes}' MINUTE, 'j', {kind}, {process}, 'stack of {id}')"
        ));
    }
    let before = contents(&mut camunda);
    let asked = json!({"rule": "cleanup_log", "as_of": AS_OF});
    let preview = camunda.call("preview", asked.clone());
    let run = camunda.run(asked.clone());
    for document in [&preview, &run] {
        let rule = rule(document, "cleanup_log");
        assert_eq!(
            (&rule["families"], &rule["rows"]),
            (&json!(1), &json!(2)),
            "{rule}"
        );
    }
    let left = contents(&mut camunda);
    let gone: BTreeSet<&str> = before
        .difference(&left)
        .map(|(_, id)| id.as_str())
        .collect();
    assert_eq!(gone, BTreeSet::from(["old", "stack of old"]));
    assert_eq!(rule(&camunda.run(asked), "cleanup_log")["rows"], 0);
}

/// Preview, dry run, run and second run of one rule, alone or with the others, against the model. Answers what went and
/// what stayed.
fn check(
    camunda: &mut Camunda,
    world: &World,
    rules: &[(&'static str, &'static str)],
    (rule, root): (&'static str, &'static str),
    random: &mut SmallRng,
) -> (BTreeSet<Key>, BTreeMap<&'static str, usize>) {
    world.load(camunda);
    for (rule, _) in rules {
        let batch = random.random_range(1..5);
        let setting = json!({"rule": rule, "name": "batch_families", "value": batch});
        camunda.call("set_setting", setting);
    }
    let context = format!("{rule}: {world:#?}");
    let (instances, skipped) = world.verdict(root);
    let gone = world.rows_of(&instances);
    let options = |dry_run: bool| json!({"rule": rule, "as_of": AS_OF, "dry_run": dry_run});
    let preview = camunda.call("preview", json!({"rule": rule, "as_of": AS_OF}));
    // A dry run and the next run, which finds nothing, are looked at for one rule of each world, now this, now that one.
    let chosen = rules[world.rows.len() % rules.len()];
    let is_whole = effort::is_proof() || chosen == (rule, root);
    let dry = is_whole.then(|| camunda.run(options(true)));
    assert_eq!(contents(camunda), world.contents(), "{context}");
    let run = camunda.run(options(false));
    assert_eq!(run["status"], "done", "{run}\n{context}");
    for document in dry.iter().chain([&preview, &run]) {
        let rule = &document["rules"][0];
        assert_eq!(rule["families"], instances.len(), "{rule}\n{context}");
        assert_eq!(rule["rows"], gone.len(), "{rule}\n{context}");
        assert_eq!(rule["skipped"], json!(skipped), "{rule}\n{context}");
    }
    let left: BTreeSet<_> = world.contents().difference(&gone).cloned().collect();
    assert_eq!(contents(camunda), left, "{context}");
    if is_whole {
        let again = camunda.run(options(false));
        assert_eq!(again["rules"][0]["rows"], 0, "{again}\n{context}");
    }
    (gone, skipped)
}

fn the_specs_by_end_time_fit_the_schema(dialect: Dialect) {
    for spec in [BY_END, CASES_ONLY] {
        let text = std::fs::read_to_string(format!("specs/{spec}.toml")).expect("a spec");
        let graph = graph_of(&text);
        let camunda = Camunda::of(dialect, &graph);
        let check = |text: &str| camunda.check(text);
        let said = check(&text);
        assert!(
            !said.contains("\"error\"") && !said.contains("\"warning\""),
            "{spec}: {said}"
        );
        for (from, found) in [
            ("act_re_case: id_ -> history_ttl_ days", "missing-table"),
            ("act_re_case_def: id_ -> ttl_ days", "missing-column"),
            (
                "act_re_case_def: name_ -> history_ttl_ days",
                "key-not-unique",
            ),
            ("act_re_case_def: id_ -> name_ days", "type-differs"),
        ] {
            let said = check(&text.replace("act_re_case_def: id_ -> history_ttl_ days", from));
            assert!(said.contains(found), "{from}: {said}");
        }
        if spec == BY_END {
            let link = "act_hi_procinst: super_process_instance_id_ -> id_";
            let said = check(&text.replace(link, "act_hi_procinst: super_instance_id_ -> id_"));
            assert!(said.contains("missing-column"), "{said}");
        }
    }
}
