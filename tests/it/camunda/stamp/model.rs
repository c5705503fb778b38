//! The model: rows of families and what a stamp sets of them.
//!
//! It is written from the definitions. A family is the rows that name one root. A calculated removal time is the
//! start or the end of the root and the time to live of the root's definition; where one of these is missing, nothing of
//! the family changes.

use std::collections::{BTreeMap, BTreeSet};

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};

use crate::camunda::oracle::{self, AS_OF, BATCH, BYTES, PROCESS};
use crate::support::camunda::Camunda;

pub(in crate::camunda) const DAY: i64 = 24 * 60;

/// The tables beside those that the oracle names: with the column that names an instance, or a row of the table behind
/// it, and the column that names a byte array.
pub(super) const TABLES: [(&str, &str, &str, &str); 15] = [
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
pub(in crate::camunda) const DEFINITIONS: [(&str, Option<i64>); 6] = [
    ("week", Some(7)),
    ("month", Some(30)),
    ("zero", Some(0)),
    ("unsaid", None),
    ("negative", Some(-1)),
    ("for ever", Some(40_000)),
];

/// Times are minutes before `AS_OF`.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) table: &'static str,
    pub(super) id: String,
    pub(super) root: Option<String>,
    /// The instance, or the row of another table, that it names.
    pub(super) names: Option<String>,
    pub(super) bytes: Option<String>,
    pub(super) removal: Option<i64>,
    pub(super) started: Option<i64>,
    pub(super) ended: Option<i64>,
    pub(super) definition: &'static str,
}

#[derive(Clone, Debug, Default)]
pub(super) struct World {
    pub(super) rows: Vec<Row>,
}

/// What a stamp is called with.
#[derive(Clone, Debug)]
pub(in crate::camunda) enum What {
    To(i64),
    Calculated {
        from_start: bool,
        default: Option<i64>,
    },
    Clear,
}

#[derive(Clone, Debug)]
pub(in crate::camunda) enum Which {
    Keys(Vec<String>),
    Missing,
    All,
}

#[derive(Clone, Debug)]
pub(in crate::camunda) struct Stamp {
    pub(in crate::camunda) what: What,
    pub(in crate::camunda) which: Which,
    pub(in crate::camunda) whole: bool,
}

/// What a stamp does.
#[derive(Debug, Default, PartialEq)]
pub(in crate::camunda) struct Outcome {
    pub(in crate::camunda) families: i64,
    pub(in crate::camunda) changed: BTreeMap<String, i64>,
    pub(in crate::camunda) skipped: BTreeMap<String, i64>,
    pub(in crate::camunda) refused: BTreeSet<String>,
}

impl World {
    pub(super) fn random(random: &mut SmallRng) -> World {
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

    pub(super) fn load(&self, camunda: &mut Camunda) {
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
    pub(super) fn removals(&self) -> BTreeMap<(String, String), Option<i64>> {
        self.rows
            .iter()
            .map(|row| ((row.table.to_owned(), row.id.clone()), row.removal))
            .collect()
    }

    /// Stamps the rows.
    pub(super) fn stamp(&mut self, stamp: &Stamp) -> Outcome {
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
    pub(super) fn family_of(&self, row: &Row) -> Option<String> {
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

pub(super) fn of(table: &str) -> Option<(&'static str, &'static str, &'static str, &'static str)> {
    TABLES.into_iter().find(|(name, ..)| *name == table)
}

/// The family of a process instance.
fn family(row: &Row) -> &str {
    row.root.as_deref().unwrap_or(&row.id)
}

impl Stamp {
    /// One of some of these keys, or of all.
    pub(in crate::camunda) fn random(keys: Vec<String>, random: &mut SmallRng) -> Stamp {
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

    pub(in crate::camunda) fn options(&self) -> Value {
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
