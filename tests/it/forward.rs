//! Every run gets forward: what stays is passed over by the next run, and no rule takes the time of the others for ever.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::effort::one_of;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, dialect_of};

tests! {
    every_server: [
        families_that_stay_do_not_stop_those_behind_them,
        windows_that_stay_do_not_stop_those_behind_them,
        families_by_removal_time_do_not_stop_those_behind_them,
        rows_of_one_table_do_not_stop_those_behind_them,
        rows_that_expire_do_not_stop_those_behind_them,
        orphans_do_not_stop_those_behind_them,
        rows_of_a_group_do_not_stop_those_behind_them,
        rows_that_fail_do_not_stop_those_behind_them,
        refused_rows_of_an_instant_do_not_stop_those_behind_them,
        what_workers_pass_over_does_not_stop_what_is_behind,
        a_rule_without_an_end_leaves_time_to_the_next,
        a_rule_of_one_table_leaves_time_to_the_next,
        a_rule_of_which_rows_fail_leaves_time_to_the_next,
        a_rule_that_waits_leaves_time_to_the_next,
        a_rule_that_takes_long_to_find_nothing_leaves_time_to_the_next,
        a_run_of_one_rule_forgets_no_turn,
        a_run_that_may_delete_few_rows_more_looks_at_whole_batches,
        another_spec_begins_at_the_oldest,
        a_run_that_goes_around_takes_what_came_free_before_its_start,
        an_instant_that_fails_does_not_make_batches_small_for_ever,
    ],
    mysql_and_mariadb: [
        a_rule_whose_table_is_locked_leaves_time_to_the_next,
    ],
}

/// How many rows stay; they are older than those that are due.
const STAY: usize = 5;

/// More runs than there are rows: one that gets forward by a single batch is enough.
const RUNS: usize = 30;

fn end_time(name: &str) -> String {
    format!(
        "[rules.{name}s]
strategy  = \"end-time\"
root      = \"{name}\"
final     = {{ state = 1 }}
end_time  = \"at\"
retention = {{ default = \"30d\" }}
"
    )
}

fn removal_time(unit: &str) -> String {
    format!(
        "[rules.jobs]
strategy = \"removal-time\"
root     = \"job\"
time     = \"at\"
tables   = [\"part: job\", \"job: id\"]
unit     = \"{unit}\"
"
    )
}

pub(crate) const AGE: &str = r#"[rules.jobs]
strategy  = "age"
root      = "job"
time      = "at"
retention = { default = "30d" }
"#;

pub(crate) const EXPIRY: &str = r#"[rules.jobs]
strategy = "expiry"
root     = "job"
time     = "at"
"#;

/// No row of `part` is there.
pub(crate) const ORPHAN: &str = r#"[rules.jobs]
strategy  = "orphan"
root      = "job"
needs     = ["state -> part.id"]
time      = "at"
retention = { default = "30d" }
"#;

/// Later ids are newer: three rows of the same group stay besides those that are held.
pub(crate) const KEEP_LAST: &str = r#"[rules.jobs]
strategy = "keep-last"
root     = "job"
keep     = { newest = 3, per = ["state integer"], by = "at" }
"#;

/// A spec with the tables that its rules name, for so many workers.
fn spec_of(workers: u32, rules: &str) -> Graph {
    let mut tables = "job = { key = \"id integer\" }\n".to_owned();
    if rules.contains("[rules.notes]") {
        tables += "note = { key = \"id integer\" }\n";
    }
    if rules.contains("part:") {
        tables += "part = { key = \"id integer\", parents = [\"job -> job.id\"] }\n";
    }
    graph_of(&format!(
        "name = \"forward\"\nworkers = {workers}\n\n[tables]\n{tables}\n{rules}"
    ))
}

fn spec(rules: &str) -> Graph {
    spec_of(1, rules)
}

/// An installation whose runs do some five batches of one root each before their time is up: they rest after each.
fn installation(dialect: Dialect, graph: &Graph) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE job (id integer PRIMARY KEY, state integer NOT NULL DEFAULT 1, at {time});
         CREATE TABLE note (id integer PRIMARY KEY, state integer NOT NULL DEFAULT 1, at {time});
         CREATE TABLE part (id integer PRIMARY KEY, job integer, at {time});"
    );
    let mut installation = Installation::of(dialect, &schema, graph);
    installation.arm();
    let rules = installation.texts("SELECT rule FROM W.rule ORDER BY position");
    for rule in &rules {
        // A rule has the one or the other.
        set(&mut installation, rule, "batch_families", 1)
            .or_else(|_| set(&mut installation, rule, "batch_rows", 1))
            .expect("a setting");
        set(&mut installation, rule, "nice", 10_000).expect("a setting");
    }
    set(&mut installation, &rules[0], "time_budget", 1).expect("a setting");
    installation
}

fn set(
    installation: &mut Installation,
    rule: &str,
    name: &str,
    value: i64,
) -> anyhow::Result<Value> {
    let options = json!({"rule": rule, "name": name, "value": value});
    installation.call("set_setting", options)
}

/// Rows that are held, and some younger ones.
fn fill(installation: &mut Installation, table: &str, rule: &str, younger: usize) {
    for id in 1..=STAY + younger {
        let at = format!("2025-01-{id:02} 12:00:00");
        installation.execute(&format!(
            "INSERT INTO {table} (id, at) VALUES ({id}, '{at}')"
        ));
        if id <= STAY {
            let hold = json!({"rule": rule, "key": id.to_string(), "reason": "audit"});
            installation.set_hold(hold).expect("a hold");
        }
    }
}

fn left(installation: &mut Installation, table: &str) -> Vec<String> {
    installation.texts(&format!("SELECT id FROM {table} ORDER BY id"))
}

fn run(installation: &mut Installation) -> Value {
    installation.run(json!({})).expect("a run")
}

/// A run that begins where the one before left off ends there, too: what was passed over before may go by then.
fn a_run_that_goes_around_takes_what_came_free_before_its_start(dialect: Dialect) {
    let by_scope = end_time("job").replace(
        "default = \"30d\"",
        "default = \"30d\", per = \"state integer\", opt_in = true",
    );
    for rules in [end_time("job"), by_scope] {
        let mut installation = installation(dialect, &spec(&rules));
        fill(&mut installation, "job", "jobs", 3);
        if rules.contains("opt_in") {
            let policy = json!({"rule": "jobs", "scope": "1", "retention": "30d"});
            installation.set_policy(policy).expect("a policy");
        }
        assert_eq!(run(&mut installation)["status"], "stopped");
        let release = json!({"rule": "jobs", "key": "1"});
        installation.call("release_hold", release).expect("no hold");
        for (name, value) in [("nice", 0), ("time_budget", 600)] {
            let options = json!({"rule": "jobs", "name": name, "value": value});
            installation
                .call("set_setting", options)
                .expect("a setting");
        }
        assert_eq!(run(&mut installation)["reason"], "nothing left");
        let held: Vec<String> = (2..=STAY).map(|id| id.to_string()).collect();
        assert_eq!(left(&mut installation, "job"), held, "{rules}");
    }
}

/// Runs until something is true of what is left.
fn run_until(
    installation: &mut Installation,
    table: &str,
    workers: u32,
    enough: impl Fn(&[String]) -> bool,
) {
    let mut told = Vec::new();
    for worker in (1..=workers).cycle().take(RUNS) {
        let options = match workers {
            1 => json!({}),
            _ => json!({"worker": worker}),
        };
        told.push(installation.run(options).expect("a run")["reason"].clone());
        if enough(&left(installation, table)) {
            return;
        }
    }
    let progress = installation.rows(
        "SELECT run_id, rule, cursor_time, cursor_key, batches FROM W.run_rule ORDER BY run_id",
    );
    panic!(
        "{table} still has {:?} after {told:?}\n{progress:?}",
        left(installation, table)
    );
}

/// All are due but those that are held and those that stay besides; runs are of one worker after the other.
fn those_behind_go(dialect: Dialect, workers: u32, rules: &str, besides: usize) {
    let mut installation = installation(dialect, &spec_of(workers, rules));
    fill(&mut installation, "job", "jobs", 3 + besides);
    let first = run(&mut installation);
    assert_eq!(
        first["status"], "stopped",
        "the first run has not enough time: {first}"
    );
    let kept = STAY + besides;
    run_until(&mut installation, "job", workers, |left| left.len() == kept);
    let all = kept + 3;
    let held: Vec<String> = (1..=STAY)
        .chain(all - besides + 1..=all)
        .map(|id| id.to_string())
        .collect();
    assert_eq!(left(&mut installation, "job"), held, "what is held stays");
    // What may go meanwhile is found, though it lies before the place where the last run ended.
    let release = json!({"rule": "jobs", "key": "2"});
    installation
        .call("release_hold", release)
        .expect("a release");
    run_until(&mut installation, "job", workers, |left| {
        !left.contains(&"2".to_owned())
    });
    assert_eq!(left(&mut installation, "job").len(), kept - 1);
    // A run that has the time looks at each of them once, wherever it begins.
    for name in ["nice", "time_budget"] {
        let options = json!({"rule": "jobs", "name": name, "value": null});
        installation
            .call("set_setting", options)
            .expect("a setting");
    }
    for _ in 0..2 {
        let run = run(&mut installation);
        assert_eq!(run["status"], "done", "{run}");
        let held = &run["rules"][0]["skipped"]["HELD"];
        assert_eq!(held, &json!(STAY - 1), "{run}");
    }
}

fn families_that_stay_do_not_stop_those_behind_them(dialect: Dialect) {
    those_behind_go(dialect, 1, &end_time("job"), 0);
}

fn windows_that_stay_do_not_stop_those_behind_them(dialect: Dialect) {
    those_behind_go(dialect, 1, &removal_time("window"), 0);
}

fn families_by_removal_time_do_not_stop_those_behind_them(dialect: Dialect) {
    those_behind_go(dialect, 1, &removal_time("family"), 0);
}

fn rows_of_one_table_do_not_stop_those_behind_them(dialect: Dialect) {
    those_behind_go(dialect, 1, AGE, 0);
}

fn rows_that_expire_do_not_stop_those_behind_them(dialect: Dialect) {
    those_behind_go(dialect, 1, EXPIRY, 0);
}

fn orphans_do_not_stop_those_behind_them(dialect: Dialect) {
    those_behind_go(dialect, 1, ORPHAN, 0);
}

fn rows_of_a_group_do_not_stop_those_behind_them(dialect: Dialect) {
    those_behind_go(dialect, 1, KEEP_LAST, 3);
}

/// No row of `job` can be deleted.
fn refuse(installation: &mut Installation) {
    refuse_some(installation, "id > 0");
}

fn refuse_some(installation: &mut Installation, which: &str) {
    let refuses = match installation.dialect {
        Dialect::Postgres => format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
             CREATE TRIGGER refuse BEFORE DELETE ON job FOR EACH ROW WHEN (OLD.{which}) EXECUTE FUNCTION refuse()"
        ),
        Dialect::Mysql | Dialect::Mariadb => format!(
            "CREATE TRIGGER refuse BEFORE DELETE ON job FOR EACH ROW IF OLD.{which} THEN SIGNAL SQLSTATE '45000'; END IF"
        ),
    };
    installation.execute(&refuses);
}

/// Each run begins at a row that cannot be deleted, and passes it over.
fn rows_that_fail_do_not_stop_those_behind_them(dialect: Dialect) {
    let mut installation = installation(dialect, &spec(EXPIRY));
    fill(&mut installation, "job", "jobs", 3);
    installation.execute("DELETE FROM W.hold");
    refuse(&mut installation);
    let failed = "SELECT COUNT(DISTINCT key) FROM W.run_failure";
    let failed = match dialect {
        Dialect::Postgres => failed.to_owned(),
        Dialect::Mysql | Dialect::Mariadb => failed.replace("key", "`key`"),
    };
    for _ in 0..RUNS {
        let run = run(&mut installation);
        if installation.number(&failed) == left(&mut installation, "job").len() as i64 {
            return;
        }
        assert_ne!(run["reason"], "nothing left", "{run}");
    }
    panic!("{:?}", installation.rows("SELECT * FROM W.run_failure"));
}

/// All have one time. Runs have no time for those that a trigger refuses.
fn refused_rows_of_an_instant_do_not_stop_those_behind_them(dialect: Dialect) {
    for workers in [1, 2] {
        let mut installation = installation(dialect, &spec_of(workers, AGE));
        for id in 1..=15 {
            installation.execute(&format!(
                "INSERT INTO job (id, at) VALUES ({id}, '2025-01-01 12:00:00')"
            ));
        }
        refuse_some(&mut installation, "id <= 12");
        run_until(&mut installation, "job", workers, |left| left.len() == 12);
        // What was refused is tried again.
        installation.execute(match dialect {
            Dialect::Postgres => "DROP TRIGGER refuse ON job",
            Dialect::Mysql | Dialect::Mariadb => "DROP TRIGGER refuse",
        });
        run_until(&mut installation, "job", workers, <[String]>::is_empty);
        let instants = "SELECT COUNT(*) FROM W.rule_instant";
        run_until(&mut installation, "job", workers, |_| true);
        assert_eq!(installation.number(instants), 0);
    }
}

fn what_workers_pass_over_does_not_stop_what_is_behind(dialect: Dialect) {
    // One worker at a time is at this one; the other rule is what several have to share out.
    let windows = format!("{}\n{}", removal_time("window"), end_time("note"));
    for (rules, besides) in one_of(
        4,
        [
            (&*end_time("job"), 0),
            (&removal_time("family"), 0),
            (ORPHAN, 0),
            (AGE, 0),
            (KEEP_LAST, 3),
            (EXPIRY, 0),
            (&windows, 0),
        ],
    ) {
        those_behind_go(dialect, 2, rules, besides);
    }
}

fn time_is_left_by(dialect: Dialect, first: &str) {
    let rules = format!("{first}\n{}", end_time("note"));
    let mut installation = installation(dialect, &spec(&rules));
    fill(&mut installation, "job", "jobs", 3);
    installation.execute("INSERT INTO note (id, at) VALUES (1, '2025-02-01 12:00:00')");
    run(&mut installation);
    run(&mut installation);
    assert!(
        left(&mut installation, "note").is_empty(),
        "the second run begins with the second rule"
    );
    run_until(&mut installation, "job", 1, |left| left.len() == STAY);
}

fn a_rule_without_an_end_leaves_time_to_the_next(dialect: Dialect) {
    time_is_left_by(dialect, &end_time("job"));
}

fn a_rule_of_one_table_leaves_time_to_the_next(dialect: Dialect) {
    time_is_left_by(dialect, AGE);
}

/// A run that had no time for all and of which rows failed ends red, and the next one begins with the other rule nevertheless.
fn a_rule_of_which_rows_fail_leaves_time_to_the_next(dialect: Dialect) {
    let rules = format!("{EXPIRY}\n{}", end_time("note"));
    let mut installation = installation(dialect, &spec(&rules));
    fill(&mut installation, "job", "jobs", 3);
    installation.execute("DELETE FROM W.hold");
    installation.execute("INSERT INTO note (id, at) VALUES (1, '2025-02-01 12:00:00')");
    refuse(&mut installation);
    let first = run(&mut installation);
    assert_eq!(first["status"], "failed", "{first}");
    assert_eq!(first["reason"], "time budget spent", "{first}");
    run(&mut installation);
    assert!(
        left(&mut installation, "note").is_empty(),
        "the second run begins with the second rule"
    );
}

/// A row for each of two rules.
fn one_each(installation: &mut Installation) {
    installation.execute("INSERT INTO job (id, at) VALUES (1, '2025-01-01 12:00:00')");
    installation.execute("INSERT INTO note (id, at) VALUES (1, '2025-02-01 12:00:00')");
}

/// Runs have no time but for the first of two rules, of which nothing is deleted.
fn the_second_has_its_turn(installation: &mut Installation) -> Value {
    let first = run(installation);
    assert_eq!(first["status"], "stopped", "{first}");
    assert_eq!(left(installation, "note"), ["1"], "{first}");
    let second = run(installation);
    assert!(
        left(installation, "note").is_empty(),
        "the second run begins with the second rule: {second}"
    );
    assert_eq!(left(installation, "job"), ["1"], "{second}");
    first
}

/// It waits before its first batch, and has no cursor.
fn a_rule_that_waits_leaves_time_to_the_next(dialect: Dialect) {
    let (gate, close) = match dialect {
        Dialect::Postgres => (
            "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 4244 AND granted)",
            "SELECT pg_advisory_lock(4244)",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "SELECT IS_USED_LOCK('windrow turn') IS NOT NULL",
            "DO GET_LOCK('windrow turn', 600)",
        ),
    };
    for rule in one_of(3, [&*end_time("job"), AGE, EXPIRY]) {
        let limits = format!("limits = {{ wait_while_sql = \"{gate}\" }}");
        let rules = format!("{rule}{limits}\n{}", end_time("note"));
        let mut installation = installation(dialect, &spec(&rules));
        one_each(&mut installation);
        let mut rival = installation.connect();
        rival.execute(close).expect("a lock");
        // It waits for its first batch, and does not hold up the rule behind it.
        let waited = run(&mut installation);
        let reason = waited["reason"].as_str().expect("a reason");
        assert!(reason.contains("while waiting for"), "{waited}");
        assert!(left(&mut installation, "note").is_empty(), "{waited}");
        assert_eq!(left(&mut installation, "job"), ["1"], "{waited}");
        drop(rival);
        run_until(&mut installation, "job", 1, <[_]>::is_empty);
    }
}

/// A batch of PostgreSQL locks the tables of all rules.
fn a_rule_whose_table_is_locked_leaves_time_to_the_next(flavour: Flavour) {
    let rules = format!("{}{}", end_time("job"), end_time("note"));
    let mut installation = installation(dialect_of(flavour), &spec(&rules));
    one_each(&mut installation);
    let mut rival = installation.connect();
    rival.execute("LOCK TABLES job READ").expect("a lock");
    the_second_has_its_turn(&mut installation);
}

/// Its look at what is due lasts for longer than the run may, and finds nothing.
fn a_rule_that_takes_long_to_find_nothing_leaves_time_to_the_next(dialect: Dialect) {
    let sleep = match dialect {
        Dialect::Postgres => "{root}.id = 0 OR pg_sleep(1.2) IS NULL",
        Dialect::Mysql | Dialect::Mariadb => "{root}.id = 0 OR SLEEP(1.2) <> 0",
    };
    let rules = format!("{EXPIRY}where_sql = \"{sleep}\"\n{}", end_time("note"));
    let mut installation = installation(dialect, &spec(&rules));
    one_each(&mut installation);
    the_second_has_its_turn(&mut installation);
}

/// Nor does one that ended before it began with any rule.
fn a_run_of_one_rule_forgets_no_turn(dialect: Dialect) {
    let rules = format!("{}{}", end_time("job"), end_time("note"));
    let mut installation = installation(dialect, &spec(&rules));
    fill(&mut installation, "job", "jobs", 3);
    assert_eq!(run(&mut installation)["status"], "stopped");
    let only = installation.run(json!({"rule": "notes"})).expect("a run");
    assert_eq!(only["status"], "done", "{only}");
    let trigger = match dialect {
        Dialect::Postgres => "trigger",
        Dialect::Mysql | Dialect::Mariadb => "`trigger`",
    };
    installation.execute(&format!(
        "INSERT INTO W.run ({trigger}, dry_run, options, as_of, deadline, status, backend_pid, finished_at)
         SELECT 'SCHEDULED', dry_run, options, as_of, deadline, 'failed', backend_pid, finished_at FROM W.run WHERE run_id = 1"
    ));
    installation.execute("INSERT INTO note (id, at) VALUES (1, '2025-02-01 12:00:00')");
    run(&mut installation);
    assert!(
        left(&mut installation, "note").is_empty(),
        "the last run of all rules ended with the first rule"
    );
}

fn another_spec_begins_at_the_oldest(dialect: Dialect) {
    let mut installation = installation(dialect, &spec(&end_time("job")));
    fill(&mut installation, "job", "jobs", 3);
    run(&mut installation);
    let begun = "SELECT COUNT(*) FROM W.run_rule WHERE start_key IS NOT NULL";
    run(&mut installation);
    assert_eq!(installation.number(begun), 1, "the second one goes on");
    let other = spec(&end_time("job").replace("30d", "31d"));
    installation.install(&other);
    run(&mut installation);
    assert_eq!(
        installation.number(begun),
        1,
        "the cursor may be of another column"
    );
}

/// What a run may still delete does not limit what a batch looks at. The rows that are due are the first 9 and the last 3, and
/// 291 in between are kept.
fn a_run_that_may_delete_few_rows_more_looks_at_whole_batches(dialect: Dialect) {
    let cases = [(1, ORPHAN), (1, KEEP_LAST), (2, ORPHAN)];
    for (workers, rules) in cases {
        let mut installation = installation(dialect, &spec_of(workers, rules));
        for (name, value) in [("batch_rows", 100), ("nice", 0), ("time_budget", 600)] {
            set(&mut installation, "jobs", name, value).expect("a setting");
        }
        installation.execute("INSERT INTO part (id) VALUES (1)");
        let rows: Vec<String> = (1..=303)
            .map(|id| {
                let due = !(10..=300).contains(&id);
                // An orphan; or the oldest of four in its group.
                let state = match rules {
                    ORPHAN if due => 0,
                    ORPHAN => 1,
                    _ => id,
                };
                format!("({id}, {state}, '2025-01-01 12:00:00')")
            })
            .collect();
        let newer = (1..=909).filter(|id| !(28..=900).contains(id)).map(|id| {
            let (id, state) = (1000 + id, (id + 2) / 3);
            format!("({id}, {state}, '2025-02-01 12:00:00')")
        });
        let rows: Vec<String> = match rules {
            KEEP_LAST => rows.into_iter().chain(newer).collect(),
            _ => rows,
        };
        let insert = format!("INSERT INTO job (id, state, at) VALUES {}", rows.join(", "));
        installation.execute(&insert);
        let few = json!({"run_families": 10});
        let preview = installation.preview(few.clone()).expect("a preview");
        let preview = &preview["rules"][0];
        assert_eq!(preview["families"], 10, "{rules}: {preview}");
        assert_eq!(preview["limited"], true, "{rules}: {preview}");
        let most = rows.len().div_ceil(100);
        let batches = preview["batches"].as_u64().expect("a number");
        assert!(batches <= most as u64, "{rules}: {preview}");
        let dry = json!({"run_families": 10, "dry_run": true});
        for options in [dry, few] {
            let run = installation.run(options).expect("a run");
            assert_eq!(run["reason"], "run_families reached", "{rules}: {run}");
            let run = &run["rules"][0];
            assert_eq!(run["families"], 10, "{rules}: {run}");
            let batches = run["batches"].as_u64().expect("a number");
            assert!(batches <= most as u64, "{workers} workers: {run}");
        }
        // What comes next is the row behind the last one that was deleted.
        let run = run(&mut installation);
        assert_eq!(run["status"], "done", "{rules}: {run}");
        assert_eq!(run["rules"][0]["families"], 2, "{rules}: {run}");
        let kept = rows.len() - 12;
        assert_eq!(left(&mut installation, "job").len(), kept, "{rules}");
    }
}

/// A slice that fails is halved down to one instant. The batches behind it grow again, and so do those of the next run; families are not
/// deleted in batches of the size of slices.
fn an_instant_that_fails_does_not_make_batches_small_for_ever(dialect: Dialect) {
    const ROWS: usize = 150;
    let cases = [
        (1, AGE.to_owned(), "job"),
        (2, AGE.to_owned(), "job"),
        (1, removal_time("window"), "job"),
        (1, removal_time("family"), "part"),
        (2, removal_time("family"), "part"),
    ];
    for (workers, rules, table) in cases {
        let mut installation = installation(dialect, &spec_of(workers, &rules));
        for (name, value) in [
            ("batch_families", 100),
            ("batch_rows", 100),
            ("nice", 0),
            ("scheduled_nice", 1),
            ("time_budget", 600),
        ] {
            // A rule of slices has no batches of families.
            let _ = set(&mut installation, "jobs", name, value);
        }
        installation.execute(match dialect {
            Dialect::Postgres => {
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$"
            }
            Dialect::Mysql | Dialect::Mariadb => "DO 0",
        });
        let refuses = match dialect {
            Dialect::Postgres => "WHEN (OLD.id = 1) EXECUTE FUNCTION refuse()",
            Dialect::Mysql | Dialect::Mariadb => {
                "IF OLD.id = 1 THEN SIGNAL SQLSTATE '45000'; END IF"
            }
        };
        installation.execute(&format!(
            "CREATE TRIGGER refuse BEFORE DELETE ON {table} FOR EACH ROW {refuses}"
        ));
        // A part of no job is what slices take behind families.
        if table == "part" {
            installation
                .execute("INSERT INTO part (id, job, at) VALUES (1, 0, '2025-01-01 11:00:00')");
        }
        for night in 0..3 {
            let rows: Vec<String> = (1..=ROWS)
                .map(|row| {
                    format!(
                        "({}, '2025-01-01 12:0{night}:00.{row:06}')",
                        night * ROWS + row
                    )
                })
                .collect();
            installation.execute(&format!(
                "INSERT INTO job (id, at) VALUES {}",
                rows.join(", ")
            ));
            let run = installation
                .run(json!({"trigger": "SCHEDULED"}))
                .expect("a run");
            let told = format!("{workers} workers, night {night}, {rules}: {run}");
            assert_eq!(run["reason"], "nothing left", "{told}");
            let rule = &run["rules"][0];
            assert_eq!(rule["failures"].as_array().map(Vec::len), Some(1), "{told}");
            let stays = if table == "job" { 1 } else { 0 };
            assert_eq!(left(&mut installation, "job").len(), stays, "{told}");
            // One, two, three, … a fifth more each time.
            let batches = rule["batches"].as_u64().expect("a number");
            assert!(batches <= 30, "{told}");
        }
    }
}
