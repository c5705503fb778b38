//! What a stamp sets, as a model over rows in memory, compared row by row with the database; and what a run then deletes.
//!
//! The model is written from the definitions. A family is the rows that name one root. A calculated removal time is the
//! start or the end of the root and the time to live of the root's definition; where one of these is missing, nothing of
//! the family changes.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::calls::Calls;
use windrow::dialect::Dialect;

use super::history;
use super::oracle::{self, AS_OF, BATCH, BYTES, PROCESS, contents, lenient};
use crate::harness::tests;
use crate::rights;
use crate::support::camunda::Camunda;
use crate::support::database;
use crate::support::effort::seeds;
use crate::support::installation::call;

tests! {
    on_postgres: [
        the_command_line_stamps_and_the_spec_fits,
    ],
    every_server: [
        a_stamp_of_a_realistic_history_is_finished_whatever_ends_it,
        a_stamp_sets_what_the_model_says_and_nothing_else,
        a_stamp_that_makes_no_sense_is_refused,
    ],
}

pub(super) const DAY: i64 = 24 * 60;

/// The tables beside those that the oracle names: with the column that names an instance, or a row of the table behind
/// it, and the column that names a byte array.
const TABLES: [(&str, &str, &str, &str); 15] = [
    ("act_hi_actinst", "proc_inst_id_", "", ""),
    ("act_hi_taskinst", "proc_inst_id_", "", ""),
    ("act_hi_varinst", "proc_inst_id_", "", "bytearray_id_"),
    ("act_hi_detail", "proc_inst_id_", "", "bytearray_id_"),
    ("act_hi_incident", "proc_inst_id_", "", ""),
    (
        "act_hi_ext_task_log",
        "proc_inst_id_",
        "",
        "error_details_id_",
    ),
    (
        "act_hi_job_log",
        "process_instance_id_",
        "",
        "job_exception_stack_id_",
    ),
    ("act_hi_op_log", "proc_inst_id_", "", ""),
    ("act_hi_comment", "proc_inst_id_", "", ""),
    ("act_hi_attachment", "proc_inst_id_", "", "content_id_"),
    ("act_hi_decinst", "proc_inst_id_", "", ""),
    ("act_hi_identitylink", "task_id_", "act_hi_taskinst", ""),
    (
        "act_hi_dec_in",
        "dec_inst_id_",
        "act_hi_decinst",
        "bytearray_id_",
    ),
    (
        "act_hi_dec_out",
        "dec_inst_id_",
        "act_hi_decinst",
        "bytearray_id_",
    ),
    ("act_ru_authorization", "", "", ""),
];

/// Definitions with their time to live in days; `gone` has no row.
pub(super) const DEFINITIONS: [(&str, Option<i64>); 6] = [
    ("week", Some(7)),
    ("month", Some(30)),
    ("zero", Some(0)),
    ("unsaid", None),
    ("negative", Some(-1)),
    ("for ever", Some(40_000)),
];

/// Times are minutes before `AS_OF`.
#[derive(Clone, Debug)]
struct Row {
    table: &'static str,
    id: String,
    root: Option<String>,
    /// The instance, or the row of another table, that it names.
    names: Option<String>,
    bytes: Option<String>,
    removal: Option<i64>,
    started: Option<i64>,
    ended: Option<i64>,
    definition: &'static str,
}

#[derive(Clone, Debug, Default)]
struct World {
    rows: Vec<Row>,
}

/// What a stamp is called with.
#[derive(Clone, Debug)]
pub(super) enum What {
    To(i64),
    Calculated {
        from_start: bool,
        default: Option<i64>,
    },
    Clear,
}

#[derive(Clone, Debug)]
pub(super) enum Which {
    Keys(Vec<String>),
    Missing,
    All,
}

#[derive(Clone, Debug)]
pub(super) struct Stamp {
    pub(super) what: What,
    pub(super) which: Which,
    pub(super) whole: bool,
}

/// What a stamp does.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) families: i64,
    pub(super) changed: BTreeMap<String, i64>,
    pub(super) skipped: BTreeMap<String, i64>,
    pub(super) refused: BTreeSet<String>,
}

impl World {
    fn random(random: &mut SmallRng) -> World {
        let mut world = World::default();
        let removals = [None, None, Some(50), Some(5_000), Some(9_000), Some(30_000)];
        for number in 0..random.random_range(1..9) {
            // Those of old versions have no root; of some the root is gone.
            let shape = random.random_range(0..10);
            let (old, rootless) = (shape == 0, shape == 1);
            let root = format!("p{number}.0");
            let removal = *removals.choose(random).expect("some");
            let names_itself = random.random_bool(0.8);
            for member in 0..random.random_range(1..4) {
                if rootless && member == 0 {
                    continue;
                }
                let id = format!("p{number}.{member}");
                let named = !old && (member > 0 || names_itself);
                let started = random.random_range(20_000..60_000);
                let ended = random
                    .random_bool(0.8)
                    .then(|| started - random.random_range(0..19_000));
                let definitions = DEFINITIONS.map(|(name, _)| name);
                let mut process = Row {
                    table: PROCESS,
                    id: id.clone(),
                    root: named.then(|| root.clone()),
                    names: None,
                    bytes: None,
                    removal: if random.random_bool(0.1) {
                        None
                    } else {
                        removal
                    },
                    started: random.random_bool(0.95).then_some(started),
                    ended,
                    definition: match random.random_range(0..9) {
                        0 => "gone",
                        1..=5 => definitions[random.random_range(0..3)],
                        _ => definitions.choose(random).expect("some"),
                    },
                };
                let root = (!old).then(|| root.clone());
                for part in 0..random.random_range(0..10) {
                    world.part(&format!("{id}.{part}"), &id, &root, removal, random);
                }
                if old {
                    process.root = None;
                }
                world.rows.push(process);
            }
        }
        // What belongs to no instance is never stamped.
        for number in 0..3 {
            world.part(&format!("s{number}"), "nobody", &None, Some(5_000), random);
            world.rows.push(Row {
                table: BATCH,
                id: format!("batch{number}"),
                root: None,
                names: None,
                bytes: None,
                removal: *removals.choose(random).expect("some"),
                started: None,
                ended: None,
                definition: "",
            });
        }
        world
    }

    /// A row of an instance, with its byte array, and with the row that it names where it names no instance itself.
    fn part(
        &mut self,
        id: &str,
        instance: &str,
        root: &Option<String>,
        removal: Option<i64>,
        random: &mut SmallRng,
    ) {
        let (table, column, between, bytes) = *TABLES.choose(random).expect("some");
        let mut row = Row {
            table,
            id: id.to_owned(),
            root: root.clone(),
            names: (!column.is_empty()).then(|| instance.to_owned()),
            bytes: None,
            removal: if random.random_bool(0.2) {
                None
            } else {
                removal
            },
            started: None,
            ended: None,
            definition: "",
        };
        if !between.is_empty() {
            let table = TABLES.iter().find(|(table, ..)| *table == between);
            let mut other = row.clone();
            other.table = table.expect("a table").0;
            other.id = format!("{id}o");
            row.names = Some(other.id.clone());
            self.rows.push(other);
        }
        if !bytes.is_empty() && random.random_bool(0.7) {
            let mut array = row.clone();
            array.table = BYTES;
            array.id = format!("{id}b");
            array.names = None;
            if random.random_bool(0.4) {
                array.root = None;
            }
            row.bytes = Some(array.id.clone());
            self.rows.push(array);
        }
        self.rows.push(row);
    }

    fn load(&self, camunda: &mut Camunda) {
        let mut script = String::from("DELETE FROM act_re_procdef;\n");
        for table in TABLES
            .map(|(table, ..)| table)
            .iter()
            .chain(&[PROCESS, BYTES, BATCH])
        {
            script += &format!("DELETE FROM {table};\n");
        }
        let text = |text: &Option<String>| {
            text.as_ref()
                .map_or("NULL".to_owned(), |text| format!("'{text}'"))
        };
        for (definition, days) in DEFINITIONS {
            let days = days.map_or("NULL".to_owned(), |days| days.to_string());
            script += &format!(
                "INSERT INTO act_re_procdef (id_, key_, version_, history_ttl_) VALUES ('{definition}', 'k', 1, {days});\n"
            );
        }
        for row in &self.rows {
            let mut columns = vec![
                ("id_", format!("'{}'", row.id)),
                ("removal_time_", oracle::instant(row.removal)),
            ];
            if row.table != BATCH {
                columns.push(("root_proc_inst_id_", text(&row.root)));
            }
            if row.table == PROCESS {
                columns.push(("proc_inst_id_", format!("'{}'", row.id)));
                columns.push(("proc_def_id_", format!("'{}'", row.definition)));
                columns.push(("start_time_", oracle::instant(row.started)));
                columns.push(("end_time_", oracle::instant(row.ended)));
            }
            if let Some((_, column, _, bytes)) = of(row.table) {
                if !column.is_empty() {
                    columns.push((column, text(&row.names)));
                }
                if !bytes.is_empty() {
                    columns.push((bytes, text(&row.bytes)));
                }
            }
            script += &oracle::insert(row.table, columns);
        }
        camunda.execute(&script);
    }

    /// The removal time of every row.
    fn removals(&self) -> BTreeMap<(String, String), Option<i64>> {
        self.rows
            .iter()
            .map(|row| ((row.table.to_owned(), row.id.clone()), row.removal))
            .collect()
    }

    /// Stamps the rows.
    fn stamp(&mut self, stamp: &Stamp) -> Outcome {
        let mut outcome = Outcome::default();
        let before = self.clone();
        let processes = || before.rows.iter().filter(|row| row.table == PROCESS);
        let selected = |row: &&Row| match &stamp.which {
            Which::Keys(keys) => keys.contains(&row.id),
            Which::Missing => row.removal.is_none(),
            Which::All => true,
        };
        if let Which::Keys(keys) = &stamp.which {
            let known: BTreeSet<&str> = processes().map(|row| row.id.as_str()).collect();
            let unknown = keys.iter().filter(|key| !known.contains(key.as_str()));
            outcome.refused.extend(unknown.cloned());
        }
        let targets: BTreeSet<(&str, &str)> = processes()
            .filter(selected)
            .map(|row| match stamp.whole {
                true => (family(row), family(row)),
                false => (row.id.as_str(), family(row)),
            })
            .collect();
        for (target, family) in targets {
            match before.time(stamp, family) {
                Ok(time) => {
                    outcome.families += 1;
                    self.set(stamp.whole, target, family, time, &mut outcome.changed);
                }
                Err(reason) => *outcome.skipped.entry(reason.to_owned()).or_default() += 1,
            }
        }
        outcome
    }

    /// The removal time of a family, or why it has none.
    fn time(&self, stamp: &Stamp, family: &str) -> Result<Option<i64>, &'static str> {
        let (from_start, default) = match stamp.what {
            What::To(time) => return Ok(Some(time)),
            What::Clear => return Ok(None),
            What::Calculated {
                from_start,
                default,
            } => (from_start, default),
        };
        let root = self
            .rows
            .iter()
            .find(|row| row.table == PROCESS && row.id == family)
            .ok_or("UNDATED_MEMBER")?;
        let base = match from_start {
            true => root.started.ok_or("UNDATED_MEMBER")?,
            false => root.ended.ok_or("NON_FINAL_MEMBER")?,
        };
        let days = DEFINITIONS
            .iter()
            .find(|(name, _)| *name == root.definition)
            .and_then(|(_, days)| *days);
        let live = match days {
            None => default.ok_or("POLICY_DISABLED")?,
            Some(days) if (0..=36_525).contains(&days) => days * DAY,
            Some(_) => return Err("POLICY_DISABLED"),
        };
        Ok(Some(base - live))
    }

    /// The family of a row that a run knows: by its root, or else by its instance, or that of a row which names it, as long as
    /// the root is there.
    fn family_of(&self, row: &Row) -> Option<String> {
        if row.root.is_some() || [PROCESS, BATCH].contains(&row.table) {
            return row.root.clone();
        }
        let named = |other: &&Row| other.bytes.as_ref() == Some(&row.id);
        let found = match row.table {
            BYTES => self.family_of(self.rows.iter().find(named)?)?,
            _ => family(self.instance(row)?).to_owned(),
        };
        let is_root = |other: &Row| other.table == PROCESS && other.id == found;
        self.rows.iter().any(is_root).then_some(found)
    }

    /// The instance that a row names, or that is named by what it names.
    fn instance(&self, row: &Row) -> Option<&Row> {
        let names = row.names.as_ref()?;
        let between = of(row.table).is_some_and(|(_, _, between, _)| !between.is_empty());
        let named = self
            .rows
            .iter()
            .find(|other| other.id == *names && (other.table == PROCESS || between))?;
        match named.table {
            PROCESS => Some(named),
            _ => self.instance(named),
        }
    }

    /// Sets the removal time of the rows of a family, or of one instance.
    fn set(
        &mut self,
        whole: bool,
        target: &str,
        in_family: &str,
        time: Option<i64>,
        changed: &mut BTreeMap<String, i64>,
    ) {
        let belongs = |row: &Row| match (row.table, whole) {
            (PROCESS, true) => family(row) == target,
            (PROCESS, false) => row.id == target,
            (BYTES | BATCH, false) => false,
            (_, true) if row.root.is_none() => {
                self.instance(row).is_some_and(|it| family(it) == target)
            }
            (_, true) => row.root.as_deref() == Some(target),
            (_, false) => row.names.as_deref() == Some(target),
        };
        let mut chosen: BTreeSet<String> = self
            .rows
            .iter()
            .filter(|row| belongs(row))
            .map(|row| row.id.clone())
            .collect();
        if !whole {
            // Rows that name one of these.
            let lower = self.rows.iter().filter(|row| {
                let between = of(row.table).is_some_and(|(_, _, between, _)| !between.is_empty());
                between && row.names.as_ref().is_some_and(|it| chosen.contains(it))
            });
            let lower: Vec<String> = lower.map(|row| row.id.clone()).collect();
            chosen.extend(lower);
        }
        let named: BTreeSet<String> = self
            .rows
            .iter()
            .filter(|row| chosen.contains(&row.id))
            .filter_map(|row| row.bytes.clone())
            .collect();
        for row in &mut self.rows {
            let by_name = row.table == BYTES
                && named.contains(&row.id)
                && row
                    .root
                    .as_deref()
                    .is_none_or(|root| !whole && root == in_family);
            if (chosen.contains(&row.id) || by_name) && row.removal != time {
                row.removal = time;
                *changed.entry(row.table.to_owned()).or_default() += 1;
            }
        }
    }
}

fn of(table: &str) -> Option<(&'static str, &'static str, &'static str, &'static str)> {
    TABLES.into_iter().find(|(name, ..)| *name == table)
}

/// The family of a process instance.
fn family(row: &Row) -> &str {
    row.root.as_deref().unwrap_or(&row.id)
}

impl Stamp {
    /// One of some of these keys, or of all.
    pub(super) fn random(keys: Vec<String>, random: &mut SmallRng) -> Stamp {
        Stamp {
            what: match random.random_range(0..6) {
                0 => What::To(*[70, 9_000, -6_000].choose(random).expect("some")),
                1 => What::Clear,
                _ => What::Calculated {
                    from_start: random.random_bool(0.3),
                    default: random.random_bool(0.4).then_some(3 * DAY),
                },
            },
            which: match random.random_range(0..3) {
                0 => Which::Missing,
                1 => Which::All,
                _ => {
                    let some = random.random_range(1..5);
                    let mut keys: Vec<String> = (0..some)
                        .filter_map(|_| keys.choose(random).cloned())
                        .collect();
                    keys.push("nobody".to_owned());
                    Which::Keys(keys)
                }
            },
            whole: random.random_bool(0.6),
        }
    }

    pub(super) fn options(&self) -> Value {
        let mut options = match &self.what {
            What::To(time) => json!({"to": written(*time)}),
            What::Calculated {
                from_start,
                default,
            } => {
                let base = if *from_start { "start" } else { "end" };
                let mut options = json!({"calculated": base});
                if let Some(minutes) = default {
                    options["default"] = json!(format!("{minutes}m"));
                }
                options
            }
            What::Clear => json!({"clear": true}),
        };
        match &self.which {
            Which::Keys(keys) => options["key"] = json!(keys),
            Which::Missing => options["missing"] = json!(true),
            Which::All => options["all"] = json!(true),
        }
        if !self.whole {
            options["hierarchical"] = json!(false);
        }
        options
    }
}

/// An instant, given as minutes before `AS_OF`.
fn written(minutes: i64) -> String {
    let as_of: jiff::Timestamp = AS_OF.parse().expect("an instant");
    (as_of - jiff::SignedDuration::from_mins(minutes)).to_string()
}

/// The removal time of every row, in minutes before `AS_OF`.
pub(super) fn stored(camunda: &mut Camunda) -> BTreeMap<(String, String), Option<i64>> {
    let minutes = camunda.either(
        "(extract(epoch FROM timestamp '2026-01-01 00:00:00' - removal_time_) / 60)::bigint::text",
        "TIMESTAMPDIFF(MINUTE, removal_time_, '2026-01-01 00:00:00')",
    );
    let selects: Vec<String> = TABLES
        .map(|(table, ..)| table)
        .iter()
        .chain(&[PROCESS, BYTES, BATCH])
        .map(|table| {
            format!("SELECT CONCAT('{table} ', id_, ' ', coalesce({minutes}, 'none')) FROM {table}")
        })
        .collect();
    camunda
        .texts(&selects.join(" UNION ALL "))
        .iter()
        .map(|text| {
            let words: Vec<&str> = text.split(' ').collect();
            let key = (words[0].to_lowercase(), words[1].to_owned());
            (key, words[2].parse().ok())
        })
        .collect()
}

/// What the document of a stamp says.
pub(super) fn told(document: &Value) -> Outcome {
    let rule = &document["rules"][0];
    let numbers = |value: &Value| -> BTreeMap<String, i64> {
        let fields = value.as_object().expect("an object");
        let fields = fields.iter().filter(|(_, value)| **value != 0);
        fields
            .map(|(name, value)| (name.clone(), value.as_i64().expect("a number")))
            .collect()
    };
    let changed: BTreeMap<String, i64> = numbers(&rule["tables"])
        .into_iter()
        .map(|(name, rows)| (name.to_lowercase(), rows))
        .collect();
    assert_eq!(rule["rows"], changed.values().sum::<i64>(), "{document}");
    let skipped = numbers(&rule["skipped"]);
    assert_eq!(rule["skipped_families"], skipped.values().sum::<i64>());
    let refused = document["refused"].as_object().expect("an object");
    Outcome {
        families: rule["families"].as_i64().expect("a number"),
        changed,
        skipped,
        refused: refused.keys().cloned().collect(),
    }
}

fn a_stamp_sets_what_the_model_says_and_nothing_else(dialect: Dialect) {
    let mut camunda = Camunda::new(dialect);
    lenient(&mut camunda);
    let (mut changed, mut gone, mut reasons) = (0, 0, BTreeSet::new());
    for seed in seeds("worlds of stamps", dialect, 14) {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut world = World::random(&mut random);
        world.load(&mut camunda);
        let mut stamps: Vec<Stamp> = (0..random.random_range(1..3))
            .map(|_| {
                let processes = world.rows.iter().filter(|row| row.table == PROCESS);
                let keys = processes.map(|row| row.id.clone()).collect();
                Stamp::random(keys, &mut random)
            })
            .collect();
        // At last each family has one removal time, or none: what a run does with those that have several is not defined.
        for what in [
            What::Clear,
            What::Calculated {
                from_start: random.random_bool(0.3),
                default: Some(3 * DAY),
            },
        ] {
            stamps.push(Stamp {
                what,
                which: Which::All,
                whole: true,
            });
        }
        for stamp in stamps {
            let context = format!("seed {seed}: {stamp:?} {world:#?}");
            let mut options = stamp.options();
            options["chunk"] = json!(random.random_range(1..9));
            let before = world.removals();
            let expected = world.stamp(&stamp);

            let mut dry = options.clone();
            dry["dry_run"] = json!(true);
            let dry = camunda.call("stamp", dry);
            assert_eq!(
                stored(&mut camunda),
                before,
                "a dry run sets nothing; {context}"
            );
            let done = camunda.call("stamp", options.clone());
            assert_eq!(done["status"], "done", "{done}\n{context}");
            assert_eq!(stored(&mut camunda), world.removals(), "{context}");
            assert_eq!(told(&dry), expected, "{context}");
            assert_eq!(told(&done), expected, "{context}");
            changed += expected.changed.values().sum::<i64>();
            reasons.extend(expected.skipped.into_keys());
            let again = camunda.call("stamp", options);
            assert_eq!(again["rules"][0]["rows"], 0, "{again}\n{context}");
        }
        // A run goes by what was set.
        let rows = world.rows.iter();
        let model = oracle::World::of(rows.map(|row| {
            let root = world.family_of(row);
            oracle::row(row.table, &row.id, root, row.removal, row.ended)
        }));
        let run = camunda.run(json!({"rule": "history", "as_of": AS_OF}));
        assert_eq!(run["status"], "done", "seed {seed}: {run}");
        let left = contents(&mut camunda);
        assert_eq!(left, model.left(), "seed {seed}: {world:#?}");
        gone += world.rows.len() - left.len();
    }
    // If hardly anything was set, the worlds would prove nothing.
    assert!(changed > 500 && gone > 150, "{changed} set, {gone} gone");
    let all = ["NON_FINAL_MEMBER", "POLICY_DISABLED", "UNDATED_MEMBER"];
    assert_eq!(reasons.iter().collect::<Vec<_>>(), all);
}

/// What a stamp may set: how many rows of each table have which removal time.
fn times(camunda: &mut Camunda) -> Vec<String> {
    let selects: Vec<String> = TABLES
        .map(|(table, ..)| table)
        .iter()
        .chain(&[PROCESS, BYTES, BATCH])
        .map(|table| {
            format!("SELECT CONCAT('{table} ', coalesce(removal_time_, '1970-01-01 00:00:00'), ' ', count(*)) AS line FROM {table} GROUP BY removal_time_")
        })
        .collect();
    let mut lines = camunda.texts(&selects.join(" UNION ALL "));
    lines.sort_unstable();
    lines
}

/// Definitions of the realistic history; every third has no time to live.
fn define(camunda: &mut Camunda) {
    for number in 0..12 {
        let days = match number % 3 {
            0 => "NULL".to_owned(),
            _ => (number * 5).to_string(),
        };
        camunda.execute(&format!(
            "INSERT INTO act_re_procdef (id_, key_, version_, history_ttl_) VALUES ('process_{number}:1', 'process_{number}', 1, {days})"
        ));
    }
}

fn a_stamp_of_a_realistic_history_is_finished_whatever_ends_it(dialect: Dialect) {
    let mut camunda = history(dialect);
    define(&mut camunda);
    if dialect != Dialect::Postgres {
        // As some servers do by themselves with the first timestamp of a table.
        camunda.execute("ALTER TABLE act_hi_identitylink MODIFY timestamp_ timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP");
        camunda.windrow.arm();
    }
    let clocks = "SELECT CONCAT(id_, ' ', timestamp_) FROM act_hi_identitylink ORDER BY 1";
    let untouched = camunda.texts(clocks);
    let options = json!({"calculated": "end", "default": "45d", "missing": true, "chunk": 20});
    let roots = "SELECT id_ FROM act_hi_procinst WHERE id_ = root_proc_inst_id_";
    let some = camunda.texts(&format!("{roots} ORDER BY id_ LIMIT 150"));
    let cleared = camunda.call("stamp", json!({"clear": true, "key": some}));
    assert!(
        cleared["rules"][0]["rows"].as_i64() > Some(4_000),
        "{cleared}"
    );
    let calls = Calls::new(dialect, &camunda.windrow.control, "stamp");
    let past = camunda
        .windrow
        .session
        .query(&calls.history(true), &[Some("1")]);
    let newest = past.expect("an answer")[0][0].clone().expect("a document");
    let newest: Value = serde_json::from_str(&newest).expect("JSON");
    assert_eq!(
        newest["changed_rows"], cleared["rules"][0]["rows"],
        "{newest}"
    );
    let missing = camunda.texts(&format!("{roots} AND removal_time_ IS NULL"));
    let started = times(&mut camunda);
    let done = camunda.call("stamp", options.clone());
    assert_eq!(done["status"], "done", "{done}");
    let expected = times(&mut camunda);
    assert_ne!(expected, started);
    camunda.call("stamp", json!({"clear": true, "key": missing}));
    assert_eq!(times(&mut camunda), started, "cleared, as they were");

    let operator = |camunda: &mut Camunda| rights::user(&mut camunda.windrow, Some("operator"));
    let mut olga = operator(&mut camunda);
    let control = camunda.windrow.control.clone();
    let mut dry = options.clone();
    dry["dry_run"] = json!(true);
    let dry = call(&mut olga, dialect, &control, "stamp", &dry).expect("an operator may");
    assert_eq!(told(&dry), told(&done));
    assert_eq!(times(&mut camunda), started);

    // Killed in the middle of a batch, and its session gone: each family has its new time as a whole or not at all.
    let torn = "SELECT count(*) FROM act_hi_actinst AS a JOIN act_hi_procinst AS p ON p.id_ = a.proc_inst_id_ WHERE NOT a.removal_time_ = p.removal_time_ OR (a.removal_time_ IS NULL) <> (p.removal_time_ IS NULL)";
    let apart = camunda.number(torn);
    let stop = camunda.either(
        "CREATE FUNCTION public.stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF OLD.id_ = 'ID' THEN PERFORM pg_sleep(600); END IF; RETURN NEW; END $$;
         CREATE TRIGGER stop BEFORE UPDATE ON act_hi_procinst FOR EACH ROW EXECUTE FUNCTION public.stop()",
        "CREATE TRIGGER stop BEFORE UPDATE ON act_hi_procinst FOR EACH ROW BEGIN DECLARE v integer; IF OLD.id_ = 'ID' THEN SET v = SLEEP(600); END IF; END",
    );
    let middle = camunda.texts(
        "SELECT id_ FROM act_hi_procinst WHERE id_ = root_proc_inst_id_ AND removal_time_ IS NULL AND end_time_ IS NOT NULL ORDER BY id_ LIMIT 1 OFFSET 90",
    );
    camunda.execute(&stop.replace("'ID'", &format!("'{}'", middle[0])));
    let (runner, _, number) = camunda.call_aside("stamp", options.clone());
    camunda
        .windrow
        .until_asleep("a stamp in the middle", &runner, number);
    let other = call(&mut olga, dialect, &control, "stamp", &options).expect("an answer");
    assert_eq!(other["status"], "refused", "{other}");
    camunda.execute(&camunda.either(
        format!("SELECT pg_terminate_backend({number}, 5000)"),
        format!("KILL CONNECTION {number}"),
    ));
    let (_, answer) = runner.join().expect("no panic");
    assert!(answer.is_err(), "it survived");
    camunda.windrow.until_gone(number);
    camunda.execute(camunda.either("DROP FUNCTION public.stop() CASCADE", "DROP TRIGGER stop"));
    let batches = "SELECT p.batches FROM W.run_stamp AS p JOIN W.run AS r ON r.run_id = p.run_id WHERE r.status <> 'done'";
    assert!(camunda.number(batches) > 0, "it had begun");
    assert_ne!(times(&mut camunda), expected);
    assert!(camunda.number(torn) <= apart, "half a family is stamped");

    // Someone holds a family: it is left to him, and the rest is finished.
    camunda.set_setting("lock_timeout", 20);
    camunda.set_setting("retries", 0);
    let mut rival = camunda.connect();
    rival.execute("BEGIN").expect("a transaction");
    let held = format!(
        "SELECT id_ FROM act_hi_procinst WHERE id_ = '{}' FOR UPDATE",
        middle[0]
    );
    rival
        .query(&camunda.named(&held), &[])
        .expect("it is locked");
    let part = camunda.call("stamp", options.clone());
    assert_eq!(part["status"], "done", "{part}");
    let rule = &part["rules"][0];
    assert_eq!(rule["skipped_samples"]["LOCKED"], json!(middle), "{part}");
    rival.execute("COMMIT").expect("a commit");
    let rest = camunda.call("stamp", options.clone());
    assert_eq!(rest["rules"][0]["families"], 1, "{rest}");
    assert!(rest["rules"][0]["rows"].as_i64() > Some(0), "{rest}");
    assert_eq!(times(&mut camunda), expected);
    let again = camunda.call("stamp", options.clone());
    assert_eq!(again["rules"][0]["rows"], 0, "{again}");
    assert_eq!(
        camunda.texts(clocks),
        untouched,
        "times that the server set"
    );

    // The ledger says who did what.
    let statuses = camunda.texts("SELECT CONCAT(status, ' ', started_by) FROM W.run WHERE \"trigger\" = 'STAMP' ORDER BY run_id");
    let first: Vec<&str> = statuses
        .iter()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let story = [
        "done", "done", "done", "done", "crashed", "done", "done", "done",
    ];
    assert_eq!(first, story);
    assert!(statuses[3].contains("operator_"), "{statuses:?}");
    // Nothing was deleted, and nobody says so.
    let deleted = camunda.number("SELECT count(*) FROM W.run_rule");
    assert_eq!(deleted, 0);
}

fn a_stamp_that_makes_no_sense_is_refused(dialect: Dialect) {
    let mut camunda = Camunda::new(dialect);
    let one = "not one of to, calculated and clear";
    let which = "not one of key, missing and all";
    for (options, message) in [
        (json!({"all": true}), one),
        (
            json!({"all": true, "clear": true, "calculated": "end"}),
            one,
        ),
        (json!({"clear": true}), which),
        (json!({"clear": true, "all": true, "missing": true}), which),
        (json!({"clear": false, "all": true}), "clear is not true"),
        (json!({"clear": true, "all": false}), "all is not true"),
        (
            json!({"to": "tomorrow", "all": true}),
            "to is not an instant in whole seconds: 'tomorrow'",
        ),
        (
            json!({"to": "2027-01-01T00:00:00.5Z", "all": true}),
            "to is not an instant in whole seconds",
        ),
        (
            json!({"calculated": "middle", "all": true}),
            "calculated is neither start nor end: 'middle'",
        ),
        (
            json!({"clear": true, "default": "3d", "all": true}),
            "default is not the time to live of a calculated removal time: '3d'",
        ),
        (
            json!({"clear": true, "key": []}),
            "the option key is not a list of keys",
        ),
        (json!({"clear": true, "key": [""]}), "not a key of"),
        (
            json!({"clear": true, "all": true, "chunk": 0}),
            "chunk is not a number from 1 to 9999: '0'",
        ),
        (
            json!({"clear": true, "all": true, "hierarchical": "no"}),
            "hierarchical is not true or false",
        ),
        (
            json!({"clear": true, "all": true, "dry_run": 1}),
            "dry_run is not true or false",
        ),
        (
            json!({"clear": true, "all": true, "time_budget": "0s"}),
            "time_budget is not a duration above 0: '0s'",
        ),
        (
            json!({"clear": true, "all": true, "rule": "task_metrics"}),
            "no such rule with removal times to set: 'task_metrics'",
        ),
        (
            json!({"clear": true, "all": true, "force": true}),
            "unknown option: 'force'",
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
    let nothing = json!({"clear": true, "all": true});
    camunda.execute("CALL W.pause('closing')");
    let paused = camunda.call("stamp", nothing.clone());
    assert_eq!(paused["status"], "refused", "{paused}");
    camunda.execute("CALL W.resume()");
    let done = camunda.call("stamp", nothing);
    assert_eq!(done["status"], "done", "{done}");
}

fn the_command_line_stamps_and_the_spec_fits() {
    let mut camunda = Camunda::new(Dialect::Postgres);
    lenient(&mut camunda);
    camunda.execute(
        "INSERT INTO act_re_procdef (id_, key_, version_, history_ttl_) VALUES ('week', 'k', 1, 7);
         INSERT INTO act_hi_procinst (id_, proc_inst_id_, root_proc_inst_id_, proc_def_id_, start_time_, end_time_) VALUES ('p', 'p', 'p', 'week', '2026-01-01', '2026-01-02 03:04:05.678');
         INSERT INTO act_hi_actinst (id_, proc_inst_id_, root_proc_inst_id_) VALUES ('a', 'p', 'p')",
    );
    let url = database::server().url(&camunda.windrow.name, "postgres");
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/camunda7.toml");
    let windrow = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(arguments)
            .output()
            .expect("windrow runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said, errors)
    };
    let removal = "SELECT coalesce(p.removal_time_::text, 'none') || ' ' || coalesce(a.removal_time_::text, 'none') FROM act_hi_procinst AS p CROSS JOIN act_hi_actinst AS a";
    let stamp = ["stamp", spec, "--url", &url];
    let with = |more: &[&'static str]| windrow(&[&stamp[..], more].concat());

    let dry = with(&["--calculated", "--missing", "--dry-run"]);
    assert_eq!(dry.0, Some(0), "{dry:?}");
    assert!(
        dry.1.starts_with("stamp 1: dry run, rolled back: done"),
        "{dry:?}"
    );
    assert!(
        dry.1
            .contains("rule history: 1 family, 2 rows set in 1 batch"),
        "{dry:?}"
    );
    assert_eq!(camunda.texts(removal), ["none none"]);
    let done = with(&["--calculated", "--missing", "--output", "json"]);
    assert_eq!(done.0, Some(0), "{done:?}");
    assert_eq!(
        camunda.texts(removal),
        ["2026-01-09 03:04:05.678 2026-01-09 03:04:05.678"]
    );
    let from_start = with(&[
        "--calculated=start",
        "--key",
        "p",
        "--own-rows",
        "--key",
        "q",
    ]);
    assert_eq!(from_start.0, Some(1), "one key is nobody's: {from_start:?}");
    assert_eq!(
        camunda.texts(removal),
        ["2026-01-08 00:00:00 2026-01-08 00:00:00"]
    );
    let clear = with(&["--clear", "--all"]);
    assert_eq!(clear.0, Some(0), "{clear:?}");
    assert_eq!(camunda.texts(removal), ["none none"]);
    for wrong in [
        &["--all"][..],
        &["--clear"],
        &["--clear", "--all", "--missing"],
        &["--clear", "--calculated", "--all"],
        &["--clear", "--default", "3d", "--all"],
    ] {
        let said = with(wrong);
        assert_eq!(said.0, Some(2), "{said:?}");
    }
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/yworkflow.toml");
    let other = windrow(&["stamp", other, "--clear", "--all", "--url", &url]);
    assert_eq!(other.0, Some(2), "{other:?}");
    assert!(
        other.2.contains("does not say how removal times are set"),
        "{other:?}"
    );

    let check = windrow(&["check", spec, "--database", &url, "--threshold", "0"]);
    assert!(!check.1.contains("error["), "{check:?}");
}
