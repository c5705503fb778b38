//! The model: rows with their removal times, and what stays of them.
//!
//! It is written from the definitions: a row goes when its own removal time has come, unless its family stays. A
//! family is the rows that name one root; it stays if it is held, runs, ended too recently, or has a byte array that is
//! due and that something refers to.
//!
//! Where families go as such, the removal time of the root counts for all rows that name it; a row whose root is not there
//! goes by its own.
//!
//! Batches and the decisions of no process instance can be held, too: what is theirs stays with them.
//!
//! Where families go as such, what is of none goes no earlier than the rows that belong to it: a batch with its log and its
//! incidents, a decision with its inputs and outputs and those that it required, a byte array with what names it.

use std::collections::{BTreeMap, BTreeSet};

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use serde_json::Value;

use crate::support::camunda::Camunda;

/// Minutes before `AS_OF`: a row is due before the safety lag, a family may go that ended before the minimum and the lag.
const LAG: i64 = 60;
const LEAST: i64 = 25 * 60;

/// Every table of the rule but the three that have a part of their own in a world.
pub(super) const CHILDREN: [&str; 15] = [
    "act_hi_actinst",
    "act_hi_taskinst",
    "act_hi_varinst",
    "act_hi_detail",
    "act_hi_incident",
    "act_hi_ext_task_log",
    "act_hi_job_log",
    "act_hi_op_log",
    "act_hi_identitylink",
    "act_hi_comment",
    "act_hi_attachment",
    "act_hi_dec_in",
    "act_hi_dec_out",
    "act_hi_decinst",
    "act_ru_authorization",
];
pub(in crate::camunda) const PROCESS: &str = "act_hi_procinst";
pub(in crate::camunda) const BYTES: &str = "act_ge_bytearray";
pub(in crate::camunda) const BATCH: &str = "act_hi_batch";
const DECISION: &str = "act_hi_decinst";

/// What may refer to a byte array: table and column.
const REFERRERS: [(&str, &str); 3] = [
    ("act_ru_variable", "bytearray_id_"),
    ("act_ru_job", "exception_stack_id_"),
    ("act_ru_ext_task", "error_details_id_"),
];

#[derive(Clone, Debug, Default)]
pub(in crate::camunda) struct Row {
    pub(super) table: &'static str,
    pub(super) id: String,
    pub(super) root: Option<String>,
    /// Minutes before `AS_OF`.
    pub(super) removal: Option<i64>,
    pub(super) ended: Option<i64>,
    /// Where it has no root: the batch or the decision whose it is, and the byte array that it names.
    pub(super) of: Option<String>,
    pub(super) bytes: Option<String>,
}

#[derive(Debug, Default)]
pub(in crate::camunda) struct World {
    pub(super) rows: Vec<Row>,
    /// Byte arrays that something refers to, and what.
    pub(super) referred: Vec<(String, usize)>,
    /// Keys that are held; false: the hold is over.
    pub(super) holds: BTreeMap<String, bool>,
    /// Whether families go as such.
    pub(super) by_family: bool,
}

/// Few instants, so that families share them, on both sides of every bound.
const REMOVALS: [Option<i64>; 12] = [
    None,
    Some(-6_000),
    Some(LAG - 1),
    Some(LAG),
    Some(LAG + 1),
    Some(5_000),
    Some(5_001),
    Some(5_001),
    Some(9_000),
    Some(9_000),
    Some(12_000),
    Some(30_000),
];

/// When roots ended.
const ENDS: [Option<i64>; 9] = [
    None,
    Some(30),
    Some(LEAST),
    Some(LEAST + 1),
    Some(40_000),
    Some(40_000),
    Some(40_000),
    Some(40_000),
    Some(40_000),
];

impl World {
    /// A world of these rows, in which nothing is held or referred to, and families go as such.
    pub(in crate::camunda) fn of(rows: impl Iterator<Item = Row>) -> World {
        World {
            rows: rows.collect(),
            by_family: true,
            ..World::default()
        }
    }

    /// A world for families that go as such: rows have another removal time than their root, or none, or no root.
    pub(super) fn scattered(random: &mut SmallRng) -> World {
        let mut world = World::random(random);
        world.by_family = true;
        let families: BTreeSet<String> = world.rows.iter().filter_map(Self::family_of).collect();
        for family in families {
            if random.random_bool(0.2) {
                // Either the root has gone, or no process instance is left.
                let all = random.random_bool(0.5);
                world.rows.retain(|row| {
                    row.table != PROCESS
                        || Self::family(row) != family
                        || !(all || Self::is_root(row))
                });
                continue;
            }
            for row in &mut world.rows {
                if Self::family_of(row).as_deref() == Some(&family)
                    && !Self::is_root(row)
                    && random.random_bool(0.4)
                {
                    let times = [None, Some(LAG - 1), Some(5_000), Some(40_000)];
                    row.removal = *times.choose(random).expect("some");
                }
            }
        }
        // Some rows name a byte array, most of them one of another family.
        let bytes = world.rows.iter();
        let bytes = bytes.filter(|row| row.table == BYTES && row.root.is_some());
        let bytes: Vec<String> = bytes.map(|row| row.id.clone()).collect();
        for row in &mut world.rows {
            let may = ["act_hi_varinst", "act_hi_detail", "act_hi_job_log"].contains(&row.table);
            if may && row.bytes.is_none() && random.random_bool(0.3) {
                row.bytes = bytes.choose(random).cloned();
            }
        }
        world
    }

    pub(super) fn random(random: &mut SmallRng) -> World {
        let mut world = World::default();
        let mut number = 0;
        let mut id = |prefix: &str| {
            number += 1;
            format!("{prefix}{number}")
        };
        for _ in 0..random.random_range(0..14) {
            let removal = *REMOVALS.choose(random).expect("some");
            let ended = *ENDS.choose(random).expect("some");
            let root = id("p");
            let names_itself = random.random_bool(0.8);
            for member in 0..random.random_range(1..4) {
                world.rows.push(Row {
                    table: PROCESS,
                    id: if member == 0 { root.clone() } else { id("m") },
                    root: (member > 0 || names_itself).then(|| root.clone()),
                    removal,
                    ended: if random.random_bool(0.03) {
                        None
                    } else {
                        ended
                    },
                    ..Row::default()
                });
            }
            for _ in 0..random.random_range(0..9) {
                world.rows.push(Row {
                    table: CHILDREN.choose(random).expect("some"),
                    id: id("c"),
                    root: Some(root.clone()),
                    removal: if random.random_bool(0.05) {
                        None
                    } else {
                        removal
                    },
                    ..Row::default()
                });
            }
            if random.random_bool(0.4) {
                world.bytes(id("b"), Some(root.clone()), removal, random);
            }
        }
        for _ in 0..random.random_range(0..10) {
            let removal = *REMOVALS.choose(random).expect("some");
            let mut row = Row {
                table: BATCH,
                id: id("s"),
                removal,
                ..Row::default()
            };
            match random.random_range(0..3) {
                0 => world.bytes(row.id, None, removal, random),
                1 => {
                    row.table = CHILDREN.choose(random).expect("some");
                    world.rows.push(row);
                }
                _ => world.rows.push(row),
            }
        }
        for _ in 0..random.random_range(0..4) {
            world.other(&mut id, REMOVALS.choose(random).expect("some"), random);
        }
        for _ in 0..random.random_range(0..5) {
            let held = match world.rows.choose(random) {
                Some(row) if Self::can_be_held(row) => row.id.clone(),
                Some(Row { of: Some(of), .. }) => of.clone(),
                Some(Row {
                    root: Some(root), ..
                }) => root.clone(),
                _ => "nobody".to_owned(),
            };
            world.holds.insert(held, random.random_bool(0.7));
        }
        world
    }

    /// A batch with its log, or a decision with those that it required and what they took and gave. Its rows share its
    /// removal time, or have another.
    fn other(
        &mut self,
        id: &mut impl FnMut(&str) -> String,
        removal: &Option<i64>,
        random: &mut SmallRng,
    ) {
        let is_batch = random.random_bool(0.5);
        let (table, theirs): (_, &[&str]) = match is_batch {
            true => (BATCH, &["act_hi_incident", "act_hi_job_log"]),
            false => (DECISION, &["act_hi_dec_in", "act_hi_dec_out"]),
        };
        let first = id("o");
        let mut owners = vec![first.clone()];
        self.rows.push(Row {
            table,
            id: first.clone(),
            removal: *removal,
            of: (!is_batch && random.random_bool(0.5)).then(|| first.clone()),
            ..Row::default()
        });
        for _ in 0..random.random_range(0..7) {
            let at = match random.random_bool(0.7) {
                true => *removal,
                false => Some(9_000),
            };
            if !is_batch && random.random_bool(0.3) {
                owners.push(id("d"));
                self.rows.push(Row {
                    table,
                    id: owners.last().expect("one").clone(),
                    removal: at,
                    of: Some(first.clone()),
                    ..Row::default()
                });
                continue;
            }
            let table = *theirs.choose(random).expect("some");
            let bytes = (table != "act_hi_incident" && random.random_bool(0.4)).then(|| id("b"));
            if let Some(bytes) = &bytes {
                self.bytes(bytes.clone(), None, at, random);
            }
            self.rows.push(Row {
                table,
                id: id("c"),
                removal: at,
                of: owners.choose(random).cloned(),
                bytes,
                ..Row::default()
            });
        }
    }

    fn bytes(
        &mut self,
        id: String,
        root: Option<String>,
        removal: Option<i64>,
        random: &mut SmallRng,
    ) {
        if random.random_bool(0.3) {
            self.referred.push((id.clone(), random.random_range(0..3)));
        }
        self.rows.push(Row {
            table: BYTES,
            id,
            root,
            removal,
            ..Row::default()
        });
    }

    pub(super) fn load(&self, camunda: &mut Camunda) {
        let mut script = String::new();
        for (table, _) in REFERRERS {
            script += &format!("DELETE FROM {table};\n");
        }
        for table in CHILDREN.iter().chain(&[PROCESS, BYTES, BATCH]) {
            script += &format!("DELETE FROM {table};\n");
        }
        script += "DELETE FROM W.hold;\n";
        for row in &self.rows {
            let mut columns = vec![
                ("id_", format!("'{}'", row.id)),
                ("removal_time_", instant(row.removal)),
            ];
            if row.table != BATCH {
                let root = row.root.as_ref();
                columns.push((
                    "root_proc_inst_id_",
                    root.map_or("NULL".to_owned(), |root| format!("'{root}'")),
                ));
            }
            // A batch has three job definitions.
            const JOBS: [&str; 3] = [
                "seed_job_def_id_",
                "monitor_job_def_id_",
                "batch_job_def_id_",
            ];
            if row.table == BATCH {
                columns.extend(JOBS.map(|job| (job, format!("'{} {job}'", row.id))));
            }
            if let Some(of) = &row.of {
                columns.push(match row.table {
                    DECISION => ("root_dec_inst_id_", format!("'{of}'")),
                    "act_hi_dec_in" | "act_hi_dec_out" => ("dec_inst_id_", format!("'{of}'")),
                    _ => {
                        let job = JOBS[row.id.len() % JOBS.len()];
                        ("job_def_id_", format!("'{of} {job}'"))
                    }
                });
            }
            if let Some(bytes) = &row.bytes {
                let column = match row.table {
                    "act_hi_job_log" => "job_exception_stack_id_",
                    _ => "bytearray_id_",
                };
                columns.push((column, format!("'{bytes}'")));
            }
            if row.table == PROCESS {
                columns.push(("proc_inst_id_", format!("'{}'", row.id)));
                columns.push(("end_time_", instant(row.ended)));
            }
            script += &insert(row.table, columns);
        }
        for (number, (bytes, referrer)) in self.referred.iter().enumerate() {
            let (table, column) = REFERRERS[*referrer];
            script +=
                &format!("INSERT INTO {table} (id_, {column}) VALUES ('r{number}', '{bytes}');\n");
        }
        for (key, active) in &self.holds {
            let until = if *active {
                "NULL"
            } else {
                "'2020-01-01 00:00:00'"
            };
            script += &format!(
                "INSERT INTO W.hold (rule, \"key\", reason, until) VALUES ('history', '{key}', 'test', {until});\n"
            );
        }
        camunda.execute(&script);
    }

    /// The family of a row of process instances.
    pub(super) fn family(row: &Row) -> &str {
        row.root.as_deref().unwrap_or(&row.id)
    }

    /// The family that any row names, or is.
    fn family_of(row: &Row) -> Option<String> {
        match row.table {
            PROCESS => Some(Self::family(row).to_owned()),
            _ => row.root.clone(),
        }
    }

    fn is_root(row: &Row) -> bool {
        row.table == PROCESS && Self::family(row) == row.id
    }

    /// The root by whose removal time a family goes.
    pub(super) fn root(&self, family: &str) -> Option<&Row> {
        let mut roots = self.rows.iter().filter(|row| Self::is_root(row));
        roots.find(|row| self.by_family && row.id == family)
    }

    pub(super) fn processes(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.table == PROCESS)
    }

    /// Whether a hold names rows like this one.
    fn can_be_held(row: &Row) -> bool {
        let of_no_family = row.root.is_none() && [BATCH, DECISION].contains(&row.table);
        row.table == PROCESS || of_no_family
    }

    fn is_held(&self, key: &str) -> bool {
        self.holds.get(key) == Some(&true)
    }

    /// The batches and decisions that stay because one of them is held.
    fn others_held(&self) -> BTreeSet<String> {
        let others = || {
            let rows = self.rows.iter();
            rows.filter(|row| row.table != PROCESS && Self::can_be_held(row))
        };
        let first = |row: &Row| row.of.clone().unwrap_or_else(|| row.id.clone());
        let held: BTreeSet<String> = others()
            .filter(|row| self.is_held(&row.id))
            .map(first)
            .collect();
        others()
            .filter(|row| held.contains(&first(row)))
            .map(|row| row.id.clone())
            .collect()
    }

    /// Whether a row is of one of them, or named by a row that is.
    fn stays_with(&self, row: &Row, held: &BTreeSet<String>) -> bool {
        let is_of = |row: &Row| {
            let of = row.of.as_ref().is_some_and(|of| held.contains(of));
            of || held.contains(&row.id)
        };
        let names = |other: &Row| other.bytes.as_ref() == Some(&row.id);
        is_of(row) || self.rows.iter().any(|other| names(other) && is_of(other))
    }

    fn is_referred(&self, row: &Row) -> bool {
        row.table == BYTES && self.referred.iter().any(|(id, _)| *id == row.id)
    }

    /// Why each family that is due stays.
    pub(super) fn staying(&self) -> BTreeMap<String, &'static str> {
        let mut staying = BTreeMap::new();
        let families: BTreeSet<String> = self.rows.iter().filter_map(Self::family_of).collect();
        for family in &families {
            let members: Vec<&Row> = self
                .processes()
                .filter(|row| Self::family(row) == family)
                .collect();
            let root = self.root(family);
            let due = match root {
                Some(root) => is_due(root),
                None if members.is_empty() => true,
                None => members.iter().any(|row| is_due(row)),
            };
            if !due {
                continue;
            }
            let tied = self.rows.iter().any(|row| {
                let counts = root.is_some() || is_due(row);
                self.is_referred(row) && counts && row.root.as_ref() == Some(family)
            });
            let reason = if self.is_held(family) || members.iter().any(|row| self.is_held(&row.id))
            {
                "HELD"
            } else if members.iter().any(|row| row.ended.is_none()) {
                "NON_FINAL_MEMBER"
            } else if members.iter().any(|row| row.ended <= Some(LEAST)) {
                "RETENTION_NOT_REACHED"
            } else if tied {
                "REFERENCED"
            } else {
                continue;
            };
            staying.insert(family.clone(), reason);
        }
        // Nor does one go of which a row that stays names a row.
        let goes = |staying: &BTreeMap<String, &str>, family: &str| {
            let due = self.root(family).is_some_and(is_due);
            due && !staying.contains_key(family)
        };
        let bound = |staying: &BTreeMap<String, &str>, family: &String| {
            self.rows.iter().any(|row| {
                let names = |it: &&Row| it.table == BYTES && row.bytes.as_ref() == Some(&it.id);
                let named = self.rows.iter().find(names);
                let whose = Self::family_of(row);
                named.is_some_and(|it| it.root.as_ref() == Some(family))
                    && !whose.is_some_and(|it| it == *family || goes(staying, &it))
            })
        };
        loop {
            let mut going = families.iter().filter(|it| goes(&staying, it));
            match going.find(|family| bound(&staying, family)) {
                Some(family) => staying.insert(family.clone(), "REFERENCED"),
                None => return staying,
            };
        }
    }

    /// Whether a row that goes by its own time stays for others, which belong to it and go later or never.
    fn waits(&self, row: &Row, left: &BTreeSet<(String, String)>) -> bool {
        let later = |other: &Row| {
            let goes_before = Self::family_of(other).is_some_and(|it| self.root(&it).is_some());
            let later = other.removal.is_none_or(|at| Some(at) < row.removal);
            left.contains(&key_of(other)) || later && !goes_before
        };
        let is_its = |other: &Row| {
            let names = row.table == BYTES && other.bytes.as_ref() == Some(&row.id);
            names || other.of.as_ref() == Some(&row.id) && other.id != row.id
        };
        self.by_family && self.rows.iter().any(|other| is_its(other) && later(other))
    }

    /// The rows that a run leaves.
    pub(in crate::camunda) fn left(&self) -> BTreeSet<(String, String)> {
        let mut left = BTreeSet::new();
        loop {
            let more = self.left_besides(&left);
            if more == left {
                return left;
            }
            left = more;
        }
    }

    /// The same, where these are known to be left.
    fn left_besides(&self, left: &BTreeSet<(String, String)>) -> BTreeSet<(String, String)> {
        let staying = self.staying();
        let held = self.others_held();
        self.rows
            .iter()
            .filter(|row| {
                let family = Self::family_of(row);
                let stays = family.as_ref().is_some_and(|it| staying.contains_key(it));
                match family.and_then(|family| self.root(&family)) {
                    Some(root) => !is_due(root) || stays,
                    None => {
                        let named = self.is_referred(row) || self.stays_with(row, &held);
                        !is_due(row) || stays || named || self.waits(row, left)
                    }
                }
            })
            .map(key_of)
            .collect()
    }

    /// How many families a finished run passes over, by reason.
    pub(super) fn skipped(&self) -> BTreeMap<String, i64> {
        let mut skipped: BTreeMap<String, i64> = BTreeMap::new();
        let mut add = |reason: &str| *skipped.entry(reason.to_owned()).or_default() += 1;
        let with_instances: BTreeSet<&str> = self.processes().map(Self::family).collect();
        let staying = self.staying().into_iter();
        staying
            .filter(|(family, _)| with_instances.contains(family.as_str()))
            .for_each(|(_, reason)| add(reason));
        self.rows
            .iter()
            .filter(|row| self.is_referred(row) && is_due(row) && row.root.is_none())
            .for_each(|_| add("REFERENCED"));
        let held = self.others_held();
        self.rows
            .iter()
            .filter(|row| is_due(row) && held.contains(&row.id))
            .for_each(|_| add("HELD"));
        let (staying, left) = (self.staying(), self.left());
        self.rows
            .iter()
            .filter(|row| {
                let family = Self::family_of(row);
                let goes =
                    family.is_none_or(|it| !staying.contains_key(&it) && self.root(&it).is_none());
                let named = self.is_referred(row) || self.stays_with(row, &held);
                goes && is_due(row) && !named && self.waits(row, &left)
            })
            .for_each(|_| add("REFERENCED"));
        let undated: BTreeSet<&str> = self
            .processes()
            .filter(|row| row.removal.is_none() && row.ended.is_some())
            .filter(|row| Self::is_root(row) || self.root(Self::family(row)).is_none())
            .map(Self::family)
            .collect();
        undated.iter().for_each(|_| add("UNDATED_MEMBER"));
        skipped
    }
}

fn key_of(row: &Row) -> (String, String) {
    (row.table.to_owned(), row.id.clone())
}

/// A row of a world.
pub(in crate::camunda) fn row(
    table: &'static str,
    id: &str,
    root: Option<String>,
    removal: Option<i64>,
    ended: Option<i64>,
) -> Row {
    Row {
        table,
        id: id.to_owned(),
        root,
        removal,
        ended,
        ..Row::default()
    }
}

/// The statement that inserts a row: columns with their values as SQL.
pub(in crate::camunda) fn insert(table: &str, columns: Vec<(&str, String)>) -> String {
    let (names, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    format!(
        "INSERT INTO {table} ({}) VALUES ({});\n",
        names.join(", "),
        values.join(", ")
    )
}

/// Minutes before `AS_OF` as SQL.
pub(in crate::camunda) fn instant(minutes: Option<i64>) -> String {
    match minutes {
        None => "NULL".to_owned(),
        Some(minutes) => {
            format!("(TIMESTAMP '2026-01-01 00:00:00' - INTERVAL '{minutes}' MINUTE)")
        }
    }
}

fn is_due(row: &Row) -> bool {
    row.removal.is_some_and(|minutes| minutes > LAG)
}

pub(super) fn skipped(rule: &Value) -> BTreeMap<String, i64> {
    serde_json::from_value(rule["skipped"].clone()).expect("numbers by reason")
}
