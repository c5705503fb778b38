//! Several workers at once: they share out what one would do, and nothing is done twice, left or half done.

pub(crate) mod kinds;
pub(crate) mod sweeps;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use windrow::dialect::Dialect;
use windrow::graph::{Graph, Shared};

use crate::harness::tests;
use crate::oracle::{check_run, explore_in, now};
use crate::support::effort::seeds;
use crate::support::graphs::{dolphinscheduler, graph_of};
use crate::support::installation::{Installation, Session, numbers};
use crate::support::oracle;
use crate::support::patience::until;
use crate::support::world::World;
use crate::windows::due_families;

tests! {
    every_server: [
        one_worker_alone_does_what_a_run_does,
        workers_at_once_do_together_what_one_would,
        what_a_killed_worker_had_claimed_goes_all_the_same,
        what_one_worker_met_locked_the_last_one_takes,
        a_worker_has_one_run_at_a_time_and_all_do_the_same,
        what_was_claimed_is_looked_at_again_under_its_lock,
        a_claim_of_the_largest_batches_is_one_list,
        a_worker_waits_for_the_rule_before,
    ],
}

/// As many workers as the spec can have batches to fight for.
const WORKERS: i64 = 3;

pub(crate) fn graph(shared: Shared) -> Graph {
    Graph {
        workers: WORKERS,
        ..dolphinscheduler(shared)
    }
}

fn one_worker_alone_does_what_a_run_does(dialect: Dialect) {
    for shared in [Shared::Closed, Shared::Literal] {
        let mut database = Installation::armed(dialect, &graph(shared));
        let tick = database.tick();
        let make = |seed| World::random(seed, shared, now(), tick);
        explore_in(
            &mut database,
            seeds("worlds of workers", dialect, 10),
            &check_run,
            &make,
            &|world| world,
        );
    }
}

fn workers_at_once_do_together_what_one_would(dialect: Dialect) {
    let mut shared_out = 0;
    for shared in [Shared::Closed, Shared::Literal] {
        let mut database = Installation::armed(dialect, &graph(shared));
        // Slowly enough for several workers to find some.
        slow_down(&mut database, "t_ds_workflow_instance", 0.04, None);
        let tick = database.tick();
        let worlds = (1..).map(|seed| {
            let mut world = World::random(seed, shared, now(), tick);
            world.run_families = None;
            world.batch_families = 1;
            let expected = oracle::run(&world);
            (seed, world, expected)
        });
        // A worker claims four batches at once.
        let many = worlds.filter(|(_, _, expected)| expected.families > 7);
        for (seed, world, expected) in many.take(6) {
            database.load(&world);
            let mut left = database.contents();
            for (table, id) in &expected.deleted {
                left.remove(&((*table).to_owned(), *id));
            }
            let runs = together(&database, &world.options());
            let sum = |what: &str| -> i64 {
                runs.iter()
                    .map(|run| run["rules"][0][what].as_i64().expect("a number"))
                    .sum()
            };
            let told = || format!("seed {seed}: {runs:#?}");
            assert!(runs.iter().all(|run| run["status"] == "done"), "{}", told());
            let as_of: BTreeSet<String> = runs.iter().map(|run| run["as_of"].to_string()).collect();
            let sweeps = database.number(&format!(
                "SELECT COUNT(DISTINCT sweep_id) FROM W.run_sweep WHERE run_id IN ({})",
                ids(&runs)
            ));
            assert!(
                world.as_of_is_option || as_of.len() as i64 == sweeps,
                "{}",
                told()
            );
            assert_eq!(database.contents(), left, "{}", told());
            let count = |number: usize| i64::try_from(number).expect("a small number");
            assert_eq!(sum("families"), count(expected.families), "{}", told());
            assert_eq!(sum("rows"), count(expected.deleted.len()), "{}", told());
            // Where a worker came so late that it began a sweep of its own, it met again what stays.
            if sweeps == 1 {
                let stays = expected.skipped.values().map(BTreeSet::len).sum::<usize>();
                let stays = count(stays + expected.undated.len());
                assert_eq!(sum("skipped_families"), stays, "{}", told());
            }
            let busy = |run: &&Value| run["rules"][0]["families"].as_i64() > Some(0);
            shared_out += usize::from(runs.iter().filter(busy).count() > 1);
        }
    }
    assert!(shared_out > 3, "{shared_out} worlds were shared out");
}

/// Makes the deletion of each row of a table take so many seconds, or that of the row with an id alone.
pub(crate) fn slow_down(database: &mut Installation, table: &str, seconds: f64, id: Option<i64>) {
    let slowly = match database.dialect {
        Dialect::Postgres => {
            database.execute(&format!(
                "CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep({seconds}); RETURN OLD; END $$",
            ));
            let when = id.map_or(String::new(), |id| format!("WHEN (OLD.id = {id}) "));
            format!("{when}EXECUTE FUNCTION public.slow()")
        }
        Dialect::Mysql | Dialect::Mariadb => {
            let sleep = format!("SET @slow = SLEEP({seconds})");
            id.map_or(sleep.clone(), |id| {
                format!("IF OLD.id = {id} THEN {sleep}; END IF")
            })
        }
    };
    database.execute(&format!(
        "CREATE TRIGGER slow BEFORE DELETE ON {table} FOR EACH ROW {slowly}"
    ));
}

/// One run of each worker, all at once, with the same options.
fn together(database: &Installation, options: &Map<String, Value>) -> Vec<Value> {
    let runners: Vec<_> = (1..=WORKERS)
        .map(|worker| {
            let mut options = options.clone();
            options.insert("worker".to_owned(), worker.into());
            database.call_aside("run", Value::Object(options))
        })
        .collect();
    runners
        .into_iter()
        .map(|(runner, _, _)| runner.join().expect("no panic").1.expect("a run"))
        .collect()
}

fn ids(runs: &[Value]) -> String {
    let ids: Vec<String> = runs.iter().map(|run| run["run"].to_string()).collect();
    ids.join(", ")
}

/// Rows whose deletion waits until it is let through, for twenty seconds at most.
struct Gate {
    session: Session,
    dialect: Dialect,
}

impl Gate {
    /// Makes the deletion of rows of these tables wait where they have one of these ids.
    fn new(database: &mut Installation, tables: &[&str], ids: &[i64]) -> Self {
        let wait = match database.dialect {
            Dialect::Postgres => {
                database.execute(
                    "CREATE TABLE public.gate (id integer PRIMARY KEY);
                     CREATE FUNCTION public.gate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
                     BEGIN
                         FOR v IN 1..1000 LOOP
                             EXIT WHEN NOT EXISTS (SELECT FROM public.gate AS g WHERE g.id = OLD.id);
                             PERFORM pg_sleep(0.02);
                         END LOOP;
                         RETURN OLD;
                     END $$",
                );
                "EXECUTE FUNCTION public.gate()"
            }
            // A trigger sees the rows that were there when its statement began, but it sees who holds a lock now.
            Dialect::Mysql | Dialect::Mariadb => {
                "BEGIN
                     DECLARE n integer DEFAULT 0;
                     WHILE n < 1000 AND IS_USED_LOCK(CONCAT(DATABASE(), OLD.id)) IS NOT NULL DO SET n = n + 1 + SLEEP(0.02); END WHILE;
                 END"
            }
        };
        for table in tables {
            database.execute(&format!(
                "CREATE TRIGGER gate_{table} BEFORE DELETE ON {table} FOR EACH ROW {wait}"
            ));
        }
        let mut gate = Self {
            session: database.connect(),
            dialect: database.dialect,
        };
        gate.shut(ids);
        gate
    }

    fn shut(&mut self, ids: &[i64]) {
        self.each(
            ids,
            "INSERT INTO gate (id) VALUES (ID)",
            "SELECT GET_LOCK(CONCAT(DATABASE(), ID), 0)",
        );
    }

    /// Lets the deletion of these rows go on.
    fn open(&mut self, ids: &[i64]) {
        self.each(
            ids,
            "DELETE FROM gate WHERE id = ID",
            "SELECT RELEASE_LOCK(CONCAT(DATABASE(), ID))",
        );
    }

    fn each(&mut self, ids: &[i64], postgres: &str, mysql: &str) {
        let sql = match self.dialect {
            Dialect::Postgres => postgres,
            Dialect::Mysql | Dialect::Mariadb => mysql,
        };
        for id in ids {
            self.session
                .query(&sql.replace("ID", &id.to_string()), &[])
                .expect("the gate moves");
        }
    }
}

fn terminate(database: &mut Installation, session: i64) {
    database.execute(&match database.dialect {
        Dialect::Postgres => format!("SELECT pg_terminate_backend({session}, 5000)"),
        Dialect::Mysql | Dialect::Mariadb => format!("KILL CONNECTION {session}"),
    });
    database.until_gone(session);
}

fn left(database: &mut Installation) -> i64 {
    database.number("SELECT COUNT(*) FROM t_ds_workflow_instance")
}

fn what_a_killed_worker_had_claimed_goes_all_the_same(dialect: Dialect) {
    let mut database = due_families(dialect, &graph(Shared::Closed), 20);
    let mut gate = Gate::new(&mut database, &["t_ds_workflow_instance"], &[1]);
    let (runner, _, session) = database.call_aside("run", json!({"worker": 2, "run_families": 1}));
    database.until_asleep("worker 2 has the first family", &runner, session);
    // The first worker has the others, and does not wait for the one that is another's.
    let first = database
        .run(json!({"worker": 1, "run_families": 5}))
        .expect("a run");
    assert_eq!(first["reason"], "run_families reached", "{first}");
    assert_eq!(first["rules"][0]["families"], 5, "{first}");
    assert_eq!(left(&mut database), 15);
    let sweeps = "SELECT COUNT(DISTINCT sweep_id) FROM W.run_sweep";
    assert_eq!(database.number(sweeps), 1);
    terminate(&mut database, session);
    assert!(runner.join().expect("no panic").1.is_err(), "it survived");

    // One that is killed beside another: that one takes what was claimed, in the same sweep.
    gate.shut(&[11]);
    let (runner, _, session) = database.call_aside("run", json!({"worker": 3}));
    database.until_asleep("worker 3 has the first family", &runner, session);
    let (other, _, beside) = database.call_aside("run", json!({"worker": 1}));
    database.until_asleep("worker 1 has the next one", &other, beside);
    terminate(&mut database, session);
    assert!(runner.join().expect("no panic").1.is_err(), "it survived");
    gate.open(&[1, 11]);
    let finished = other.join().expect("no panic").1.expect("a run");
    assert_eq!(finished["status"], "done", "{finished}");
    assert_eq!(finished["rules"][0]["families"], 15, "{finished}");
    assert_eq!(finished["rules"][0]["skipped"], json!({}), "{finished}");
    assert_eq!(left(&mut database), 0);
    assert_eq!(database.number(sweeps), 2);
    let last = database.run(json!({})).expect("a run");
    assert_eq!(last["status"], "done", "{last}");
    let crashed = "SELECT COUNT(*) FROM W.run WHERE status = 'crashed'";
    assert_eq!(database.number(crashed), 2);
}

fn what_one_worker_met_locked_the_last_one_takes(dialect: Dialect) {
    let mut database = due_families(dialect, &graph(Shared::Closed), 20);
    database.set_setting("batch_families", 1).expect("a limit");
    let mut gate = Gate::new(&mut database, &["t_ds_workflow_instance"], &[1]);
    let (runner, _, session) = database.call_aside("run", json!({"worker": 2}));
    database.until_asleep("worker 2 has the first family", &runner, session);
    let mut rival = database.connect();
    rival.execute("BEGIN").expect("a transaction");
    rival
        .query(
            "SELECT id FROM t_ds_workflow_instance WHERE id = 5 FOR UPDATE",
            &[],
        )
        .expect("a lock");
    // As a batch has the row of its run, while it waits for what another worker may have that is about to end.
    let run = database.number("SELECT run_id FROM W.run WHERE status = 'running'");
    rival
        .query(
            &database.named(&format!(
                "SELECT run_id FROM W.run WHERE run_id = {run} FOR UPDATE"
            )),
            &[],
        )
        .expect("the run's own row");
    // It does not tell of the locked one, which may go yet.
    let first = database.run(json!({"worker": 1})).expect("a run");
    assert_eq!(first["rules"][0]["families"], 15, "{first}");
    assert_eq!(first["rules"][0]["skipped"], json!({}), "{first}");
    rival.execute("ROLLBACK").expect("no lock");
    gate.open(&[1]);
    let last = runner.join().expect("no panic").1.expect("a run");
    assert_eq!(last["rules"][0]["families"], 5, "{last}");
    assert_eq!(left(&mut database), 0);
}

fn a_worker_has_one_run_at_a_time_and_all_do_the_same(dialect: Dialect) {
    let mut database = due_families(dialect, &graph(Shared::Closed), 3);
    let mut gate = Gate::new(&mut database, &["t_ds_workflow_instance"], &[1]);
    let (runner, _, session) = database.call_aside("run", json!({"worker": 2, "run_families": 1}));
    database.until_asleep("worker 2 has the first family", &runner, session);
    for options in [
        json!({"worker": 2}),
        json!({"worker": 3, "retention": "90d"}),
        json!({"worker": 1, "dry_run": true}),
    ] {
        let refused = database.run(options.clone()).expect("an answer");
        assert_eq!(refused["status"], "refused", "{options}: {refused}");
        let reason = refused["reason"].as_str().expect("a reason");
        assert!(
            reason.starts_with("run 1 is in progress"),
            "{options}: {reason}"
        );
    }
    for number in [json!(0), json!(WORKERS + 1), json!("2")] {
        let error = database
            .run(json!({"worker": number}))
            .expect_err("no such worker");
        assert!(
            format!("{error:#}").contains("worker is not a number from 1 to 3"),
            "{error:#}"
        );
    }
    // Without the option it is the first.
    let first = database.run(json!({})).expect("a run");
    assert_eq!(first["status"], "done", "{first}");
    assert_eq!(first["rules"][0]["families"], 2, "{first}");
    assert_eq!(left(&mut database), 1);
    gate.open(&[1]);
    let second = runner.join().expect("no panic").1.expect("a run");
    assert_eq!(second["rules"][0]["families"], 1, "{second}");
    let told =
        database.texts("SELECT CONCAT(worker, ' of ', sweep_id) FROM W.run_sweep ORDER BY run_id");
    assert_eq!(told, ["2 of 1", "1 of 1"]);
    // A run of both found something; what each found counts for the other.
    assert_eq!(database.number("SELECT empty_runs FROM W.scheduling"), 0);
}

/// A worker claims several batches at once; what becomes of a family between its claim and its batch counts.
fn what_was_claimed_is_looked_at_again_under_its_lock(dialect: Dialect) {
    let mut database = due_families(dialect, &graph(Shared::Closed), 4);
    let run = database.run_meanwhile(json!({}), |database| {
        assert_eq!(left(database), 3, "one batch of four");
        database.execute("UPDATE t_ds_workflow_instance SET state = 1 WHERE id = 3");
    });
    let run = run.expect("a run");
    assert_eq!(run["rules"][0]["families"], 3, "{run}");
    assert_eq!(
        run["rules"][0]["skipped"],
        json!({"NON_FINAL_MEMBER": 1}),
        "{run}"
    );
    assert_eq!(
        database.texts("SELECT id FROM t_ds_workflow_instance"),
        ["3"]
    );
}

fn a_claim_of_the_largest_batches_is_one_list(dialect: Dialect) {
    const SPEC: &str = r#"
name    = "w"
workers = 2

[tables]
job = { key = "id varchar" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = 1 }
end_time  = "ended"
retention = { default = "30d" }
limits    = { batch_families = 5_000, run_families = 50_000 }
"#;
    const JOBS: i64 = 21_000;
    let graph = graph_of(SPEC);
    let schema =
        "CREATE TABLE job (id varchar(200) PRIMARY KEY, state integer, ended timestamp NULL)";
    let mut database = Installation::of(dialect, schema, &graph);
    database.arm();
    database.execute(&format!(
        "INSERT INTO job (id, state, ended) SELECT LPAD(CONCAT(n, ''), 150, 'j'), 1, '2025-01-01 00:00:00' FROM {}",
        numbers(dialect, JOBS)
    ));
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], JOBS, "{run}");
    assert_eq!(database.number("SELECT COUNT(*) FROM job"), 0);
}

const LOG_JOBS_AND_MAILS: &str = r#"
name    = "w"
workers = 3

[tables]
log  = { key = "id integer" }
line = { key = "id integer", parents = ["log -> log.id"] }
job  = { key = "id integer" }
mail = { key = "id integer" }

[rules.a_log]
strategy = "removal-time"
root     = "log"
time     = "written"
tables   = ["line: log", "log: id"]
unit     = "window"
limits   = { batch_rows = 1 }

[rules.b_jobs]
strategy  = "end-time"
root      = "job"
final     = { state = 1 }
end_time  = "ended"
retention = { default = "30d" }

[rules.c_mails]
strategy  = "age"
root      = "mail"
time      = "written"
retention = { default = "30d" }
"#;

fn a_worker_waits_for_the_rule_before(dialect: Dialect) {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE log (id integer PRIMARY KEY, written {time});
         CREATE TABLE line (id integer PRIMARY KEY, log integer, written {time});
         CREATE TABLE job (id integer PRIMARY KEY, state integer, ended {time});
         CREATE TABLE mail (id integer PRIMARY KEY, written {time})"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(LOG_JOBS_AND_MAILS));
    database.arm();
    for id in 1..=4 {
        let time = format!("2025-01-{id:02} 12:00:00");
        for insert in [
            format!("log (id, written) VALUES ({id}, '{time}')"),
            format!("job (id, state, ended) VALUES ({}, 1, '{time}')", 10 + id),
            format!("mail (id, written) VALUES ({id}, '{time}')"),
        ] {
            database.execute(&format!("INSERT INTO {insert}"));
        }
    }
    let mut gate = Gate::new(&mut database, &["log", "job"], &[2, 11]);
    let (runner, _, session) = database.call_aside("run", json!({"worker": 1}));
    database.until_asleep("worker 1 is at the log", &runner, session);
    let (second, _, _) = database.call_aside("run", json!({"worker": 2}));
    let waits = |reasons: &str| {
        format!(
            "SELECT COUNT(*) FROM W.run WHERE status = 'running' AND waiting_for IN ({reasons})"
        )
    };
    let counts = "SELECT CONCAT((SELECT COUNT(*) FROM log), ' ', (SELECT COUNT(*) FROM job), ' ', (SELECT COUNT(*) FROM mail))";
    until("worker 2 waits", || {
        Ok(database.number(&waits("'worker 1, which is at rule a_log'")) == 1)
    })
    .expect("it waits");
    assert_eq!(database.texts(counts), ["3 4 4"]);
    // One of them claims all jobs; to the other one nothing is left there.
    gate.open(&[2]);
    let other = "'worker 1, which is at rule b_jobs', 'worker 2, which is at rule b_jobs'";
    until("a worker waits", || Ok(database.number(&waits(other)) == 1)).expect("it waits");
    assert_eq!(database.texts(counts), ["0 4 4"]);
    gate.open(&[11]);
    let runs = [runner, second].map(|runner| runner.join().expect("no panic").1.expect("a run"));
    assert_eq!(database.texts(counts), ["0 0 0"]);
    let of = |rule: usize| -> Vec<i64> {
        let rows = runs.iter().map(|run| run["rules"][rule]["rows"].as_i64());
        rows.map(|rows| rows.expect("a number")).collect()
    };
    assert_eq!(of(0), [4, 0], "{runs:#?}");
    for rule in [1, 2] {
        assert!(
            [[4, 0], [0, 4]].contains(&[of(rule)[0], of(rule)[1]]),
            "{runs:#?}"
        );
    }
    assert!(runs.iter().all(|run| run["status"] == "done"), "{runs:#?}");
}
