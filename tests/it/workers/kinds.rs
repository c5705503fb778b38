//! What workers share out besides families by their end: families by a removal time, rows of one table by their age, single rows.

use std::collections::BTreeSet;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::{Gate, WORKERS, ids, slow_down, terminate, together};
use crate::forward::{AGE, EXPIRY, KEEP_LAST, ORPHAN};
use crate::harness::tests;
use crate::support::effort::{half, seeds};
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        two_workers_share_a_rule_out,
        what_a_run_leaves_is_counted,
        what_a_killed_worker_had_claimed_is_taken,
        a_claim_ends_where_the_retention_does,
        what_is_locked_is_taken_or_told_by_the_last_one,
        workers_at_once_do_what_the_model_says,
        sweeps_that_end_early_do_it_piece_by_piece,
    ],
}

/// Families, and after them the parts whose job is gone.
const FAMILIES: &str = r#"[rules.jobs]
strategy = "removal-time"
root     = "job"
time     = "at"
tables   = ["part: job", "job: id"]
unit     = "family"
"#;

/// Two passes: what says no time goes a while after it was made.
const FALLBACK: &str = r#"[rules.jobs]
strategy = "expiry"
root     = "job"
time     = "at"
fallback = { time = "made", retention = { default = "30d" } }
"#;

/// What is left for the last worker where it is locked.
const LATER: [&str; 2] = [AGE, FAMILIES];

const RULES: [&str; 6] = [AGE, FAMILIES, EXPIRY, FALLBACK, ORPHAN, KEEP_LAST];

fn graph(rule: &str) -> Graph {
    let part = match rule {
        FAMILIES => "part = { key = \"id integer\", parents = [\"job -> job.id\"] }\n",
        _ => "",
    };
    graph_of(&format!(
        "name = \"w\"\nworkers = {WORKERS}\n\n[tables]\njob = {{ key = \"id integer\" }}\n{part}\n{rule}"
    ))
}

fn installation(dialect: Dialect, rule: &str) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE job (
             id integer PRIMARY KEY, state integer NOT NULL DEFAULT 1, at {time}, made {time} NOT NULL DEFAULT '2025-01-05 12:00:00'
         );
         CREATE TABLE part (id integer PRIMARY KEY, job integer, at {time})"
    );
    let mut database = Installation::of(dialect, &schema, &graph(rule));
    database.arm();
    database
}

/// A batch takes so many families, or rows.
fn in_batches(database: &mut Installation, of: i64) {
    database
        .set_setting("batch_rows", of)
        .expect("a number of rows");
    let families = json!({"rule": "jobs", "name": "batch_families", "value": of});
    // A rule of one table has none.
    let _ = database.call("set_setting", families);
}

/// Jobs of which no rule leaves any, a day apart.
const JOBS: i64 = 20;

fn add_jobs(database: &mut Installation) {
    for id in 1..=JOBS {
        database.execute(&format!(
            "INSERT INTO job (id, at) VALUES ({id}, '2025-01-{id:02} 12:00:00')"
        ));
    }
}

/// These jobs, in batches of one, and where the newest stay, three newer ones.
fn with_jobs(dialect: Dialect, rule: &str) -> Installation {
    let mut database = installation(dialect, rule);
    add_jobs(&mut database);
    if rule == KEEP_LAST {
        for id in JOBS + 1..=JOBS + 3 {
            database.execute(&format!(
                "INSERT INTO job (id, at) VALUES ({id}, '2025-01-{id:02} 12:00:00')"
            ));
        }
    }
    in_batches(&mut database, 1);
    database
}

fn left(database: &mut Installation) -> i64 {
    database.number(&format!("SELECT COUNT(*) FROM job WHERE id <= {JOBS}"))
}

fn families(run: &Value) -> i64 {
    run["rules"][0]["families"].as_i64().expect("a number")
}

fn two_workers_share_a_rule_out(dialect: Dialect) {
    for rule in RULES {
        let mut database = with_jobs(dialect, rule);
        let mut gate = Gate::new(&mut database, &["job"], &[1]);
        let (runner, _, session) = database.call_aside("run", json!({"worker": 2}));
        database.until_asleep("worker 2 has the first job", &runner, session);
        let first = database.run(json!({"worker": 1})).expect("a run");
        assert_eq!(first["status"], "done", "{first}");
        assert_eq!(families(&first), 16, "{first}");
        assert_eq!(left(&mut database), 4, "{rule}");
        gate.open(&[1]);
        let second = runner.join().expect("no panic").1.expect("a run");
        assert_eq!(second["status"], "done", "{second}");
        assert_eq!(families(&second), 4, "{second}");
        assert_eq!(left(&mut database), 0);
        let sweeps = "SELECT COUNT(DISTINCT sweep_id) FROM W.run_sweep";
        assert_eq!(database.number(sweeps), 1);
        // The one that ends last counts, also where another one began after it.
        assert_eq!(counted(&mut database), ["0"], "{rule}");
    }
}

/// What each count at the end of a run, or sweep, said is left.
fn counted(database: &mut Installation) -> Vec<String> {
    database.texts("SELECT families FROM W.run_backlog ORDER BY run_id")
}

fn what_a_run_leaves_is_counted(dialect: Dialect) {
    for rule in RULES {
        let mut database = with_jobs(dialect, rule);
        let held = json!({"rule": "jobs", "key": 7, "reason": "audit"});
        database.call("set_hold", held).expect("a hold");
        if ![FALLBACK, KEEP_LAST].contains(&rule) {
            // It is told, and not due.
            database.execute("INSERT INTO job (id, at) VALUES (30, NULL)");
        }
        for (options, left) in [
            (json!({"run_families": 5}), "15"),
            (json!({}), "1"),
            (json!({}), "1"),
        ] {
            let run = database.run(options).expect("a run");
            let said = counted(&mut database);
            assert_eq!(said.last().map(String::as_str), Some(left), "{rule} {run}");
        }
        let now = "SELECT value FROM W.metrics WHERE name = 'windrow_backlog_families'";
        assert_eq!(database.number(now), 1, "{rule}");
    }
}

fn what_a_killed_worker_had_claimed_is_taken(dialect: Dialect) {
    for rule in RULES {
        let mut database = with_jobs(dialect, rule);
        let mut gate = Gate::new(&mut database, &["job"], &[2, 6]);
        let (runner, _, session) = database.call_aside("run", json!({"worker": 3}));
        database.until_asleep("worker 3 has the second job", &runner, session);
        let (other, _, beside) = database.call_aside("run", json!({"worker": 1}));
        database.until_asleep("worker 1 has the sixth one", &other, beside);
        assert_eq!(left(&mut database), 18, "{rule}");
        terminate(&mut database, session);
        assert!(runner.join().expect("no panic").1.is_err(), "it survived");
        gate.open(&[2, 6]);
        let run = other.join().expect("no panic").1.expect("a run");
        assert_eq!(run["status"], "done", "{run}");
        assert_eq!(families(&run), 19, "{run}");
        assert_eq!(run["rules"][0]["skipped"], json!({}), "{run}");
        assert_eq!(left(&mut database), 0);

        // Where none is left, the next sweep takes it first, and nothing twice.
        add_jobs(&mut database);
        let hold = json!({"rule": "jobs", "key": "4", "reason": "audit"});
        database.set_hold(hold).expect("a hold");
        gate.shut(&[2]);
        let (runner, _, session) = database.call_aside("run", json!({"worker": 3}));
        database.until_asleep("worker 3 has the second job", &runner, session);
        let some = database
            .run(json!({"worker": 1, "run_families": 5}))
            .expect("a run");
        assert_eq!(some["reason"], "run_families reached", "{some}");
        assert_eq!(left(&mut database), 14);
        terminate(&mut database, session);
        assert!(runner.join().expect("no panic").1.is_err(), "it survived");
        gate.open(&[2]);
        let run = database.run(json!({"worker": 2})).expect("a run");
        assert_eq!(run["status"], "done", "{run}");
        assert_eq!(families(&run), 13, "{run}");
        assert_eq!(run["rules"][0]["skipped"], json!({"HELD": 1}), "{run}");
        let left = format!("SELECT id FROM job WHERE id <= {JOBS}");
        assert_eq!(database.texts(&left), ["4"]);
    }
}

/// The cutoff may have gone back since a window was claimed, as an installation of a spec with a longer retention does it.
fn a_claim_ends_where_the_retention_does(dialect: Dialect) {
    let mut database = with_jobs(dialect, AGE);
    let mut gate = Gate::new(&mut database, &["job"], &[2]);
    let (runner, _, session) = database.call_aside("run", json!({"worker": 3}));
    database.until_asleep("worker 3 has the second job", &runner, session);
    terminate(&mut database, session);
    assert!(runner.join().expect("no panic").1.is_err(), "it survived");
    gate.open(&[2]);
    assert_eq!(left(&mut database), 19);
    for (seconds, families_gone) in [(3_155_760_000_i64, 0), (2_592_000, 19)] {
        database.execute(&format!("UPDATE W.rule SET retention = {seconds}"));
        let run = database.run(json!({"worker": 1})).expect("a run");
        assert_eq!(run["status"], "done", "{run}");
        assert_eq!(families(&run), families_gone, "{run}");
    }
    assert_eq!(left(&mut database), 0);
}

fn what_is_locked_is_taken_or_told_by_the_last_one(dialect: Dialect) {
    for (rule, stays) in LATER
        .into_iter()
        .flat_map(|rule| [(rule, false), (rule, true)])
    {
        let mut database = with_jobs(dialect, rule);
        database.set_setting("retries", 0).expect("a setting");
        database
            .set_setting("lock_timeout", 100)
            .expect("a setting");
        let mut gate = Gate::new(&mut database, &["job"], &[1]);
        let (runner, _, session) = database.call_aside("run", json!({"worker": 2}));
        database.until_asleep("worker 2 has the first job", &runner, session);
        let mut rival = database.connect();
        rival.execute("BEGIN").expect("a transaction");
        rival
            .query("SELECT id FROM job WHERE id = 7 FOR UPDATE", &[])
            .expect("a lock");
        // It does not tell of the locked one, which may go yet.
        let first = database.run(json!({"worker": 1})).expect("a run");
        assert_eq!(first["status"], "done", "{first}");
        assert_eq!(families(&first), 15, "{first}");
        assert_eq!(first["rules"][0]["skipped"], json!({}), "{first}");
        assert_eq!(first["rules"][0]["failures"], json!([]), "{first}");
        if !stays {
            rival.execute("ROLLBACK").expect("no lock");
        }
        gate.open(&[1]);
        let last = runner.join().expect("no panic").1.expect("a run");
        let (taken, skipped) = match stays {
            true => (4, json!({"LOCKED": 1})),
            false => (5, json!({})),
        };
        assert_eq!(families(&last), taken, "{last}");
        assert_eq!(last["rules"][0]["skipped"], skipped, "{last}");
        assert_eq!(left(&mut database), i64::from(stays));
        drop(rival);
    }
}

/// Jobs and parts with random times, some held, and what must become of them.
struct World {
    jobs: Vec<(i64, Option<String>)>,
    parts: Vec<(i64, i64, Option<String>)>,
    held: BTreeSet<i64>,
}

/// What must go: jobs, parts; and how many jobs are told to stay.
struct Verdict {
    jobs: BTreeSet<i64>,
    parts: BTreeSet<i64>,
    stay: i64,
}

const FAR: &str = "2999-01-01 12:00:00";

impl World {
    fn random(random: &mut SmallRng) -> Self {
        let most = random.random_range(20..40);
        let mut time = || match random.random_range(0..12) {
            0 => None,
            1 => Some(FAR.to_owned()),
            _ => Some(format!(
                "2025-01-{:02} 12:00:00",
                random.random_range(1..=12)
            )),
        };
        let jobs: Vec<_> = (1..=most).map(|id| (id, time())).collect();
        let times: Vec<_> = (1..=most).map(|_| time()).collect();
        let parts = times.into_iter().zip(1..);
        // Some name a job that is not there.
        let parts = parts
            .map(|(time, id)| (id, random.random_range(1..=most + 10), time))
            .collect();
        let held = (1..=most).filter(|_| random.random_range(0..6) == 0);
        Self {
            jobs,
            parts,
            held: held.collect(),
        }
    }

    /// Parts with an odd number are not there: their jobs are orphans.
    fn load(&self, database: &mut Installation, rule: &str) {
        let written = |time: &Option<String>| match time {
            Some(time) => format!("'{time}'"),
            None => "NULL".to_owned(),
        };
        for table in ["job", "part", "W.hold"] {
            database.execute(&format!("DELETE FROM {table}"));
        }
        for (id, at) in &self.jobs {
            let state = if rule == ORPHAN { *id } else { id % 3 };
            database.execute(&format!(
                "INSERT INTO job (id, state, at) VALUES ({id}, {state}, {})",
                written(at)
            ));
        }
        for (id, job, at) in self.parts.iter().filter(|part| part.0 % 2 == 0) {
            database.execute(&format!(
                "INSERT INTO part (id, job, at) VALUES ({id}, {job}, {})",
                written(at)
            ));
        }
        for key in &self.held {
            let hold = json!({"rule": "jobs", "key": key.to_string(), "reason": "audit"});
            database.set_hold(hold).expect("a hold");
        }
    }

    fn verdict(&self, rule: &str) -> Verdict {
        let is_due = |time: &Option<String>| time.as_deref().is_some_and(|time| time != FAR);
        let newest = self.newest();
        let goes = |(id, at): &(i64, Option<String>)| match rule {
            FALLBACK => at.is_none() || is_due(at),
            ORPHAN => is_due(at) && id % 2 == 1,
            KEEP_LAST => at.is_some() && !newest.contains(id),
            _ => is_due(at),
        };
        let all: BTreeSet<i64> = self
            .jobs
            .iter()
            .filter(|job| goes(job))
            .map(|job| job.0)
            .collect();
        let undated = |(id, at): &&(i64, Option<String>)| {
            at.is_none() && ([AGE, FAMILIES].contains(&rule) || rule == ORPHAN && id % 2 == 1)
        };
        let undated = self.jobs.iter().filter(undated).count();
        let stay = undated + all.intersection(&self.held).count();
        let jobs: BTreeSet<i64> = all.difference(&self.held).copied().collect();
        let last = self.jobs.len() as i64;
        let goes = |(id, job, at): &&(i64, i64, Option<String>)| {
            id % 2 == 0 && rule == FAMILIES && (jobs.contains(job) || *job > last && is_due(at))
        };
        let parts = self.parts.iter().filter(goes).map(|(id, _, _)| *id);
        Verdict {
            parts: parts.collect(),
            jobs,
            stay: stay as i64,
        }
    }

    /// The newest three of each state; the higher key decides between equals.
    fn newest(&self) -> BTreeSet<i64> {
        let mut newest = BTreeSet::new();
        for state in 0..3 {
            let of = self.jobs.iter().filter(|job| job.0 % 3 == state);
            let mut of: Vec<_> = of
                .filter_map(|(id, at)| Some((at.as_ref()?, *id)))
                .collect();
            of.sort();
            newest.extend(of.iter().rev().take(3).map(|(_, id)| *id));
        }
        newest
    }
}

impl Verdict {
    fn rows(&self) -> i64 {
        (self.jobs.len() + self.parts.len()) as i64
    }

    /// What is left of a world must be what does not go.
    fn check(&self, database: &mut Installation, world: &World, told: &str) {
        let numbers = |texts: Vec<String>| -> BTreeSet<i64> {
            texts
                .iter()
                .map(|id| id.parse().expect("a number"))
                .collect()
        };
        let all: BTreeSet<i64> = world.jobs.iter().map(|job| job.0).collect();
        let left = numbers(database.texts("SELECT id FROM job"));
        assert_eq!(
            left,
            all.difference(&self.jobs).copied().collect(),
            "{told}"
        );
        let parts = world.parts.iter().map(|part| part.0);
        let all: BTreeSet<i64> = parts.filter(|id| id % 2 == 0).collect();
        let left = numbers(database.texts("SELECT id FROM part"));
        assert_eq!(
            left,
            all.difference(&self.parts).copied().collect(),
            "{told}"
        );
    }
}

fn sum(runs: &[Value], what: &str) -> i64 {
    let of = |run: &Value| run["rules"][0][what].as_i64().expect("a number");
    runs.iter().map(of).sum()
}

fn workers_at_once_do_what_the_model_says(dialect: Dialect) {
    for rule in half(dialect, 0, RULES) {
        let mut database = installation(dialect, rule);
        slow_down(&mut database, "job", 0.04, None);
        let mut shared_out = 0;
        for seed in seeds("worlds of workers by time", dialect, 4) {
            let random = &mut SmallRng::seed_from_u64(seed);
            let world = World::random(random);
            world.load(&mut database, rule);
            in_batches(&mut database, random.random_range(1..=2));
            let verdict = world.verdict(rule);
            let runs = together(&database, json!({}).as_object().expect("options"));
            let told = format!("seed {seed}: {runs:#?}");
            assert!(runs.iter().all(|run| run["status"] == "done"), "{told}");
            verdict.check(&mut database, &world, &told);
            assert_eq!(sum(&runs, "families"), verdict.jobs.len() as i64, "{told}");
            assert_eq!(sum(&runs, "rows"), verdict.rows(), "{told}");
            let sweeps = format!(
                "SELECT COUNT(DISTINCT sweep_id) FROM W.run_sweep WHERE run_id IN ({})",
                ids(&runs)
            );
            // Where a worker came so late that it began a sweep of its own, it met again what stays.
            if database.number(&sweeps) == 1 {
                assert_eq!(sum(&runs, "skipped_families"), verdict.stay, "{told}");
            }
            let busy = runs.iter().filter(|run| families(run) > 0);
            shared_out += usize::from(busy.count() > 1);
        }
        assert!(
            shared_out > 1,
            "{shared_out} worlds were shared out: {rule}"
        );
    }
}

/// What a sweep has claimed and not looked at, the next one takes.
fn sweeps_that_end_early_do_it_piece_by_piece(dialect: Dialect) {
    for rule in half(dialect, 0, RULES) {
        let mut database = installation(dialect, rule);
        for seed in seeds("worlds of workers in pieces", dialect, 4) {
            let random = &mut SmallRng::seed_from_u64(seed);
            let world = World::random(random);
            world.load(&mut database, rule);
            in_batches(&mut database, random.random_range(1..=2));
            let verdict = world.verdict(rule);
            let options = json!({"run_families": random.random_range(1..=4)});
            let (mut rows, mut told) = (0, Vec::new());
            for _ in 0..40 {
                let runs = together(&database, options.as_object().expect("options"));
                rows += sum(&runs, "rows");
                let done = runs.iter().all(|run| run["status"] == "done");
                told.extend(runs);
                if done {
                    break;
                }
            }
            let told = format!("seed {seed}: {told:#?}");
            verdict.check(&mut database, &world, &told);
            assert_eq!(rows, verdict.rows(), "{told}");
        }
    }
}
