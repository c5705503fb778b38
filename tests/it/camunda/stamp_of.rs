//! What a stamp sets of batches, and of decisions outside of any process or case: a model over rows in memory, written from
//! what the engine's own operations do, compared row by row with the database.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::json;
use windrow::dialect::Dialect;

use super::oracle::{AS_OF, BATCH, BYTES, contents, insert, instant, lenient};
use super::stamp::{DAY, DEFINITIONS, Outcome, Stamp, What, Which, stored, told};
use crate::harness::tests;
use crate::support::camunda::Camunda;
use crate::support::effort::{enough, fewer, seeds};

tests! {
    every_server: [
        a_stamp_of_others_sets_what_the_model_says_and_nothing_else,
        a_stamp_of_others_is_refused_or_finished_like_any_other,
    ],
}

const DECISION: &str = "act_hi_decinst";
const INCIDENT: &str = "act_hi_incident";
const LOG: &str = "act_hi_job_log";
const PARTS: [&str; 2] = ["act_hi_dec_in", "act_hi_dec_out"];

/// What the spec says of types of batches, in days.
const TYPES: [(&str, i64); 2] = [("instance-deletion", 30), ("set-job-retries", 7)];

/// The columns by which rows name others.
const ROOT: &str = "root_proc_inst_id_";
const JOB_DEFINITIONS: [&str; 3] = [
    "seed_job_def_id_",
    "monitor_job_def_id_",
    "batch_job_def_id_",
];

/// Times are minutes before `AS_OF`.
#[derive(Clone, Debug)]
struct Row {
    table: &'static str,
    id: String,
    /// What stands in its columns of text; others are NULL.
    names: BTreeMap<&'static str, String>,
    removal: Option<i64>,
    began: Option<i64>,
    ended: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Batches,
    Decisions,
}

#[derive(Clone, Debug, Default)]
struct World {
    rows: Vec<Row>,
}

impl Row {
    fn get(&self, column: &str) -> Option<&str> {
        self.names.get(column).map(String::as_str)
    }

    fn with(mut self, column: &'static str, value: impl Into<String>) -> Row {
        self.names.insert(column, value.into());
        self
    }
}

impl World {
    fn random(random: &mut SmallRng) -> World {
        let mut world = World::default();
        for number in 0..random.random_range(1..8) {
            world.batch(&format!("b{number}"), random);
        }
        for number in 0..random.random_range(1..8) {
            // Those of a process and of a case are of these; of some the first one is gone.
            let of = match random.random_range(0..8) {
                0 => Some("proc_inst_id_"),
                1 => Some("case_inst_id_"),
                _ => None,
            };
            let first_is_gone = random.random_bool(0.15);
            let names_itself = random.random_bool(0.2);
            for member in 0..random.random_range(1..4) {
                if member > 0 || !first_is_gone {
                    let root = (member > 0 || names_itself).then(|| format!("d{number}.0"));
                    world.decision(&format!("d{number}.{member}"), root, of, random);
                }
            }
        }
        // Jobs of processes, and what is of nobody.
        for number in 0..4 {
            let table = *[INCIDENT, LOG].choose(random).expect("some");
            let job = random.random_bool(0.5).then(|| "timer".to_owned());
            world.job_row(table, &format!("o{number}"), job, random);
        }
        world
    }

    fn row(&mut self, table: &'static str, id: &str, random: &mut SmallRng) -> Row {
        let removals = [None, None, Some(50), Some(5_000), Some(30_000)];
        Row {
            table,
            id: id.to_owned(),
            names: BTreeMap::new(),
            removal: *removals.choose(random).expect("some"),
            began: None,
            ended: None,
        }
    }

    fn batch(&mut self, id: &str, random: &mut SmallRng) {
        let mut batch = self.row(BATCH, id, random);
        let began = random.random_range(20_000..60_000);
        batch.began = random.random_bool(0.95).then_some(began);
        batch.ended = random
            .random_bool(0.8)
            .then(|| began - random.random_range(0..19_000));
        let kinds = ["instance-deletion", "set-job-retries", "migration"];
        batch = batch.with("type_", *kinds.choose(random).expect("some"));
        for (place, column) in JOB_DEFINITIONS.into_iter().enumerate() {
            // Where a batch has ended, they are long gone from where they stood; it still names them, or never did.
            let job = format!("{id}j{place}");
            for row in 0..random.random_range(0..3) {
                let table = *[INCIDENT, LOG].choose(random).expect("some");
                self.job_row(table, &format!("{job}.{row}"), Some(job.clone()), random);
            }
            if random.random_bool(0.9) {
                batch = batch.with(column, job);
            }
        }
        self.rows.push(batch);
    }

    fn job_row(
        &mut self,
        table: &'static str,
        id: &str,
        job: Option<String>,
        random: &mut SmallRng,
    ) {
        let mut row = self.row(table, id, random);
        if let Some(job) = job {
            row = row.with("job_def_id_", job);
        }
        if table == LOG && random.random_bool(0.7) {
            row = self.bytes(row, "job_exception_stack_id_", random);
        }
        self.rows.push(row);
    }

    fn decision(
        &mut self,
        id: &str,
        root: Option<String>,
        of: Option<&'static str>,
        random: &mut SmallRng,
    ) {
        let mut decision = self.row(DECISION, id, random);
        decision.began = random
            .random_bool(0.9)
            .then(|| random.random_range(0..60_000));
        decision.ended = decision.began;
        let definitions = DEFINITIONS.map(|(name, _)| name);
        let definition = match random.random_range(0..9) {
            0 => "gone",
            1..=5 => definitions[random.random_range(0..3)],
            _ => definitions.choose(random).expect("some"),
        };
        decision = decision.with("dec_def_id_", definition);
        if let Some(root) = root {
            decision = decision.with("root_dec_inst_id_", root);
        }
        if let Some(column) = of {
            decision = decision.with(column, "someone");
        }
        self.rows.push(decision);
        for part in 0..random.random_range(0..4) {
            let table = *PARTS.choose(random).expect("some");
            let mut row = self.row(table, &format!("{id}p{part}"), random);
            row = row.with("dec_inst_id_", id);
            if random.random_bool(0.6) {
                row = self.bytes(row, "bytearray_id_", random);
            }
            self.rows.push(row);
        }
    }

    /// Gives a row a byte array; some say of which process they are.
    fn bytes(&mut self, row: Row, column: &'static str, random: &mut SmallRng) -> Row {
        let id = format!("{}b", row.id);
        let mut bytes = self.row(BYTES, &id, random);
        if random.random_bool(0.2) {
            bytes = bytes.with(ROOT, "process");
        }
        self.rows.push(bytes);
        row.with(column, id)
    }

    fn load(&self, camunda: &mut Camunda) {
        let mut script = String::from("DELETE FROM act_re_decision_def;\n");
        for table in [BATCH, BYTES, DECISION, INCIDENT, LOG].iter().chain(&PARTS) {
            script += &format!("DELETE FROM {table};\n");
        }
        for (definition, days) in DEFINITIONS {
            let days = days.map_or("NULL".to_owned(), |days| days.to_string());
            script += &format!(
                "INSERT INTO act_re_decision_def (id_, key_, version_, history_ttl_) VALUES ('{definition}', 'k', 1, {days});\n"
            );
        }
        for row in &self.rows {
            let mut columns = vec![
                ("id_", format!("'{}'", row.id)),
                ("removal_time_", instant(row.removal)),
            ];
            let names = row.names.iter();
            columns.extend(names.map(|(column, value)| (*column, format!("'{value}'"))));
            match row.table {
                BATCH => {
                    columns.push(("start_time_", instant(row.began)));
                    columns.push(("end_time_", instant(row.ended)));
                }
                DECISION => columns.push(("eval_time_", instant(row.began))),
                _ => {}
            }
            script += &insert(row.table, columns);
        }
        camunda.execute(&script);
    }

    /// The removal time of every row.
    fn removals(&self) -> BTreeMap<(String, String), Option<i64>> {
        let rows = self.rows.iter();
        rows.map(|row| ((row.table.to_owned(), row.id.clone()), row.removal))
            .collect()
    }

    /// The batches, or the decisions outside of any process or case.
    fn subjects(&self, of: Of) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| match of {
            Of::Batches => row.table == BATCH,
            Of::Decisions => {
                row.table == DECISION
                    && row.get("proc_inst_id_").is_none()
                    && row.get("case_inst_id_").is_none()
            }
        })
    }

    /// Whether a run leaves a row for others that belong to it, and go later or never.
    fn waits(&self, row: &Row) -> bool {
        let later = |other: &Row| other.removal.is_none_or(|at| Some(at) < row.removal);
        let is_its = |other: &Row| {
            let names = |column: &str| other.get(column) == Some(&row.id);
            let job = other.get("job_def_id_");
            match row.table {
                BATCH => job.is_some() && JOB_DEFINITIONS.iter().any(|it| row.get(it) == job),
                DECISION => {
                    names("dec_inst_id_") || names("root_dec_inst_id_") && other.id != row.id
                }
                BYTES => names("bytearray_id_") || names("job_exception_stack_id_"),
                _ => false,
            }
        };
        self.rows.iter().any(|other| is_its(other) && later(other))
    }

    fn stamp(&mut self, of: Of, stamp: &Stamp) -> Outcome {
        let mut outcome = Outcome::default();
        let before = self.clone();
        let selected = |row: &&Row| match &stamp.which {
            Which::Keys(keys) => keys.contains(&row.id),
            Which::Missing => row.removal.is_none(),
            Which::All => true,
        };
        if let Which::Keys(keys) = &stamp.which {
            let known: BTreeSet<&str> = before.subjects(of).map(|row| row.id.as_str()).collect();
            let unknown = keys.iter().filter(|key| !known.contains(key.as_str()));
            outcome.refused.extend(unknown.cloned());
        }
        let targets: BTreeSet<(&str, &str)> = before
            .subjects(of)
            .filter(selected)
            .map(|row| match stamp.whole {
                true => (first(row), first(row)),
                false => (row.id.as_str(), first(row)),
            })
            .collect();
        for (target, root) in targets {
            match before.time(of, stamp, root) {
                Ok(time) => {
                    outcome.families += 1;
                    let rows = before.rows_of(of, stamp.whole, target);
                    for row in self.rows.iter_mut().filter(|row| rows.contains(&row.id)) {
                        if row.removal != time {
                            row.removal = time;
                            *outcome.changed.entry(row.table.to_owned()).or_default() += 1;
                        }
                    }
                }
                Err(reason) => *outcome.skipped.entry(reason.to_owned()).or_default() += 1,
            }
        }
        outcome
    }

    /// The removal time of a batch or a tree of decisions, or why it has none.
    fn time(&self, of: Of, stamp: &Stamp, root: &str) -> Result<Option<i64>, &'static str> {
        let (from_start, default) = match stamp.what {
            What::To(time) => return Ok(Some(time)),
            What::Clear => return Ok(None),
            What::Calculated {
                from_start,
                default,
            } => (from_start, default),
        };
        let table = match of {
            Of::Batches => BATCH,
            Of::Decisions => DECISION,
        };
        let mut rows = self.rows.iter();
        let root = rows
            .find(|row| row.table == table && row.id == root)
            .ok_or("UNDATED_MEMBER")?;
        let base = match from_start {
            true => root.began.ok_or("UNDATED_MEMBER")?,
            false => root.ended.ok_or("NON_FINAL_MEMBER")?,
        };
        let days = match of {
            Of::Batches => TYPES
                .into_iter()
                .find(|(name, _)| Some(*name) == root.get("type_"))
                .map(|(_, days)| days),
            Of::Decisions => DEFINITIONS
                .into_iter()
                .find(|(name, _)| Some(*name) == root.get("dec_def_id_"))
                .and_then(|(_, days)| days),
        };
        match days {
            None => default
                .map(|live| Some(base - live))
                .ok_or("POLICY_DISABLED"),
            Some(days) if (0..=36_525).contains(&days) => Ok(Some(base - days * DAY)),
            Some(_) => Err("POLICY_DISABLED"),
        }
    }

    /// The ids of the rows of a batch, of a whole tree of decisions, or of a single one.
    fn rows_of(&self, of: Of, whole: bool, target: &str) -> BTreeSet<String> {
        let themselves: Vec<&Row> = self
            .rows
            .iter()
            .filter(|row| match of {
                Of::Batches => row.table == BATCH && row.id == target,
                Of::Decisions => {
                    let below = whole && row.get("root_dec_inst_id_") == Some(target);
                    row.table == DECISION && (row.id == target || below)
                }
            })
            .collect();
        let jobs: BTreeSet<&str> = themselves
            .iter()
            .flat_map(|row| JOB_DEFINITIONS.iter().filter_map(|it| row.get(it)))
            .collect();
        let ids: BTreeSet<&str> = themselves.iter().map(|row| row.id.as_str()).collect();
        let parts: Vec<&Row> = self
            .rows
            .iter()
            .filter(|row| {
                let job = row.get("job_def_id_").is_some_and(|it| jobs.contains(it));
                let part = row.get("dec_inst_id_").is_some_and(|it| {
                    // Where the first decision is gone, its inputs may still be there.
                    ids.contains(it) || of == Of::Decisions && it == target
                });
                job || part
            })
            .collect();
        let named: BTreeSet<&str> = parts
            .iter()
            .flat_map(|row| [row.get("bytearray_id_"), row.get("job_exception_stack_id_")])
            .flatten()
            .collect();
        let bytes = self.rows.iter().filter(|row| {
            row.table == BYTES && row.get(ROOT).is_none() && named.contains(row.id.as_str())
        });
        themselves
            .into_iter()
            .chain(parts)
            .chain(bytes)
            .map(|row| row.id.clone())
            .collect()
    }
}

/// The first of a tree of decisions; a batch is its own.
fn first(row: &Row) -> &str {
    row.get("root_dec_inst_id_").unwrap_or(&row.id)
}

fn name(of: Of) -> &'static str {
    match of {
        Of::Batches => "batches",
        Of::Decisions => "decisions",
    }
}

fn a_stamp_of_others_sets_what_the_model_says_and_nothing_else(dialect: Dialect) {
    let mut camunda = Camunda::new(dialect);
    lenient(&mut camunda);
    let (mut changed, mut gone, mut reasons) = (BTreeMap::new(), 0, BTreeSet::new());
    for seed in seeds("worlds of stamps", dialect, fewer(dialect, 12)) {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut world = World::random(&mut random);
        world.load(&mut camunda);
        for of in [Of::Batches, Of::Decisions] {
            let mut stamps: Vec<Stamp> = (0..random.random_range(1..3))
                .map(|_| {
                    let keys = world.rows.iter();
                    let keys = keys.filter(|row| [BATCH, DECISION].contains(&row.table));
                    Stamp::random(keys.map(|row| row.id.clone()).collect(), &mut random)
                })
                .collect();
            stamps.push(Stamp {
                what: What::Calculated {
                    from_start: random.random_bool(0.3),
                    default: Some(3 * DAY),
                },
                which: Which::All,
                whole: true,
            });
            for stamp in stamps {
                let context = format!("seed {seed}: {of:?} {stamp:?} {world:#?}");
                let mut options = stamp.options();
                options["of"] = json!(name(of));
                options["chunk"] = json!(random.random_range(1..9));
                let before = world.removals();
                let expected = world.stamp(of, &stamp);

                let mut dry = options.clone();
                dry["dry_run"] = json!(true);
                let dry = camunda.call("stamp", dry);
                assert_eq!(stored(&mut camunda), before, "a dry run; {context}");
                let done = camunda.call("stamp", options.clone());
                assert_eq!(done["status"], "done", "{done}\n{context}");
                assert_eq!(done["rules"][0]["of"], name(of), "{done}");
                assert_eq!(stored(&mut camunda), world.removals(), "{context}");
                assert_eq!(told(&dry), expected, "{context}");
                assert_eq!(told(&done), expected, "{context}");
                for (table, rows) in expected.changed {
                    *changed.entry(table).or_insert(0) += rows;
                }
                reasons.extend(expected.skipped.into_keys());
                let again = camunda.call("stamp", options);
                assert_eq!(again["rules"][0]["rows"], 0, "{again}\n{context}");
            }
        }
        // A run goes by what was set, an hour after.
        let run = camunda.run(json!({"rule": "history", "as_of": AS_OF}));
        assert_eq!(run["status"], "done", "seed {seed}: {run}");
        let rows = world.rows.iter();
        let left: BTreeSet<(String, String)> = rows
            .filter(|row| row.removal.is_none_or(|minutes| minutes <= 60) || world.waits(row))
            .map(|row| (row.table.to_owned(), row.id.clone()))
            .collect();
        assert_eq!(contents(&mut camunda), left, "seed {seed}: {world:#?}");
        gone += world.rows.len() - left.len();
    }
    // If hardly anything was set, the worlds would prove nothing.
    let few: Vec<_> = changed
        .iter()
        .filter(|(_, rows)| **rows < enough(fewer(dialect, 20)))
        .collect();
    assert!(changed.len() == 7 && few.is_empty(), "{changed:?}");
    assert!(gone > enough(fewer(dialect, 150)), "{gone}");
    let all = ["NON_FINAL_MEMBER", "POLICY_DISABLED", "UNDATED_MEMBER"];
    assert_eq!(reasons.iter().collect::<Vec<_>>(), all);
}

fn a_stamp_of_others_is_refused_or_finished_like_any_other(dialect: Dialect) {
    let mut camunda = Camunda::new(dialect);
    lenient(&mut camunda);
    for (options, message) in [
        (
            json!({"clear": true, "all": true, "of": "cases"}),
            "rule history has no such removal times to set: 'cases'",
        ),
        (
            json!({"clear": true, "all": true, "of": null}),
            "null is no value of the option of",
        ),
        (
            json!({"clear": true, "key": [""], "of": "batches"}),
            "not a key of ",
        ),
    ] {
        match camunda.attempt("stamp", options) {
            Ok(answer) => panic!("not refused: {answer}"),
            Err(error) => {
                let said = format!("{error:#}");
                assert!(said.contains("22023") && said.contains(message), "{said}");
            }
        }
    }
    let ids: Vec<String> = (10..40).map(|number| format!("b{number}")).collect();
    for id in &ids {
        camunda.execute(&format!(
            "INSERT INTO act_hi_batch (id_, type_, batch_job_def_id_, start_time_, end_time_) VALUES ('{id}', 'set-job-retries', 'j{id}', '2025-01-01', '2025-01-02');
             INSERT INTO act_hi_job_log (id_, job_def_id_) VALUES ('l{id}', 'j{id}')"
        ));
    }
    let none = "SELECT count(*) FROM act_hi_batch AS b JOIN act_hi_job_log AS l ON l.job_def_id_ = b.batch_job_def_id_ WHERE b.removal_time_ IS NULL AND l.removal_time_ IS NULL";
    let due = "SELECT count(*) FROM act_hi_batch AS b JOIN act_hi_job_log AS l ON l.job_def_id_ = b.batch_job_def_id_ WHERE b.removal_time_ = '2025-01-09' AND l.removal_time_ = '2025-01-09'";
    let options = json!({"of": "batches", "calculated": "end", "missing": true, "chunk": 4, "rule": "history"});

    // Someone holds a batch: it is left to him, and the rest is done.
    camunda.set_setting("lock_timeout", 20);
    camunda.set_setting("retries", 0);
    let mut rival = camunda.connect();
    rival.execute("BEGIN").expect("a transaction");
    let held = camunda.named("SELECT id_ FROM act_hi_batch WHERE id_ = 'b25' FOR UPDATE");
    rival.query(&held, &[]).expect("it is locked");
    let part = camunda.call("stamp", options.clone());
    assert_eq!(part["status"], "done", "{part}");
    let rule = &part["rules"][0];
    assert_eq!(rule["skipped_samples"]["LOCKED"], json!(["b25"]), "{part}");
    rival.execute("COMMIT").expect("a commit");
    assert_eq!((camunda.number(none), camunda.number(due)), (1, 29));

    // One that cannot be set is told, and the rest is done.
    camunda.call(
        "stamp",
        json!({"of": "batches", "clear": true, "all": true}),
    );
    assert_eq!(camunda.number(none), 30);
    camunda.execute(camunda.either(
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ASSERT OLD.id_ <> 'b31', 'not this one'; RETURN NEW; END $$;
         CREATE TRIGGER refuse BEFORE UPDATE ON act_hi_batch FOR EACH ROW EXECUTE FUNCTION public.refuse()",
        "CREATE TRIGGER refuse BEFORE UPDATE ON act_hi_batch FOR EACH ROW BEGIN IF OLD.id_ = 'b31' THEN SIGNAL SQLSTATE '42000' SET MESSAGE_TEXT = 'not this one'; END IF; END",
    ));
    let failed = camunda.call("stamp", options.clone());
    assert_eq!(failed["status"], "failed", "{failed}");
    let rule = &failed["rules"][0];
    assert_eq!(rule["failures"][0]["key"], "b31", "{failed}");
    assert_eq!(
        rule["skipped_samples"]["FAILED"],
        json!(["b31"]),
        "{failed}"
    );
    assert_eq!((camunda.number(none), camunda.number(due)), (1, 29));
    camunda.execute(camunda.either(
        "DROP FUNCTION public.refuse() CASCADE",
        "DROP TRIGGER refuse",
    ));
    let rest = camunda.call("stamp", options.clone());
    assert_eq!(rest["rules"][0]["families"], 1, "{rest}");
    assert_eq!(camunda.number(due), 30);

    // An installation begins with the first batch: its statements, and those of before, are not meant for each other.
    camunda.call(
        "stamp",
        json!({"of": "batches", "clear": true, "all": true}),
    );
    let begins = camunda.named("DELETE FROM W.known_routine WHERE file = '48_verify.sql'");
    camunda.execute(&camunda.either(
        format!(
            "CREATE FUNCTION public.begins() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN {begins}; RETURN NULL; END $$;
             CREATE TRIGGER begins AFTER UPDATE ON act_hi_batch FOR EACH ROW EXECUTE FUNCTION public.begins()"
        ),
        format!("CREATE TRIGGER begins AFTER UPDATE ON act_hi_batch FOR EACH ROW {begins}"),
    ));
    let ended = camunda.call("stamp", options);
    assert!(
        ended["reason"].to_string().contains("not finished"),
        "{ended}"
    );
    assert_eq!(camunda.number(due), 4, "{ended}");
}
