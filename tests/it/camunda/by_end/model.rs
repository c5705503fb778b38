//! The model: instances with the rows that belong to them, and which of them go with the time to live of their definition.

use std::collections::{BTreeMap, BTreeSet};

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

use crate::camunda::oracle::insert;
use crate::support::camunda::Camunda;

/// Minutes.
const DAY: i64 = 24 * 60;
const LAG: i64 = 60;
const MINIMUM: i64 = DAY;

pub(super) const PROCESS: &str = "act_hi_procinst";
pub(super) const CASE: &str = "act_hi_caseinst";
const TASK: &str = "act_hi_taskinst";
pub(super) const DECISION: &str = "act_hi_decinst";
const BATCH: &str = "act_hi_batch";
pub(super) const BYTES: &str = "act_ge_bytearray";

/// The rules with their root tables.
pub(super) const RULES: [(&str, &str); 4] = [
    ("process_instances", PROCESS),
    ("case_instances", CASE),
    ("decisions", DECISION),
    ("batches", BATCH),
];

/// A table below: its name, the columns that name a parent with the parent, and the column that names a byte array.
type Table = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

const OF_PROCESS: (&str, &str) = ("proc_inst_id_", PROCESS);
const OF_CASE: (&str, &str) = ("case_inst_id_", CASE);
const OF_TASK: (&str, &str) = ("task_id_", TASK);
/// By one of the three job definitions that a batch names.
const OF_BATCH: (&str, &str) = ("job_def_id_", BATCH);

/// Parents stand before their children.
const TABLES: [Table; 16] = [
    ("act_hi_actinst", &[OF_PROCESS], ""),
    ("act_hi_caseactinst", &[OF_CASE], ""),
    (TASK, &[OF_PROCESS, OF_CASE], ""),
    ("act_hi_varinst", &[OF_PROCESS, OF_CASE], "bytearray_id_"),
    ("act_hi_detail", &[OF_PROCESS, OF_CASE], "bytearray_id_"),
    ("act_hi_incident", &[OF_PROCESS, OF_BATCH], ""),
    (
        "act_hi_job_log",
        &[("process_instance_id_", PROCESS), OF_BATCH],
        "job_exception_stack_id_",
    ),
    ("act_hi_ext_task_log", &[OF_PROCESS], "error_details_id_"),
    ("act_hi_op_log", &[OF_PROCESS, OF_CASE], ""),
    (DECISION, &[OF_PROCESS, OF_CASE], ""),
    (
        "act_hi_dec_in",
        &[("dec_inst_id_", DECISION)],
        "bytearray_id_",
    ),
    (
        "act_hi_dec_out",
        &[("dec_inst_id_", DECISION)],
        "bytearray_id_",
    ),
    ("act_hi_comment", &[OF_PROCESS, OF_TASK], ""),
    ("act_hi_attachment", &[OF_PROCESS, OF_TASK], "content_id_"),
    ("act_hi_identitylink", &[OF_TASK], ""),
    (
        "act_ru_authorization",
        &[("root_proc_inst_id_", PROCESS)],
        "",
    ),
];

/// What runs and may name a byte array: table and column.
const KEEPERS: [(&str, &str); 3] = [
    ("act_ru_variable", "bytearray_id_"),
    ("act_ru_job", "exception_stack_id_"),
    ("act_ru_ext_task", "error_details_id_"),
];

/// Definitions with their time to live; `gone` has no row.
const DEFINITIONS: [(&str, Option<i64>); 6] = [
    ("week", Some(7)),
    ("month", Some(30)),
    ("unsaid", None),
    ("none", Some(0)),
    ("negative", Some(-1)),
    ("for ever", Some(i32::MAX as i64)),
];

/// Types of batches with the days that the rule keeps them for.
const TYPES: [(&str, i64); 3] = [
    ("set-job-retries", 7),
    ("instance-deletion", 30),
    ("other", 90),
];

/// A process or case instance, a decision outside of any, or a batch, whose definition is its type.
#[derive(Debug)]
pub(super) struct Instance {
    definition: &'static str,
    is_final: bool,
    /// Minutes before `AS_OF`.
    ended: Option<i64>,
    /// The process instance that called this process instance, or the decision that required this decision; it need not be
    /// there.
    above: Option<String>,
}

#[derive(Debug)]
pub(super) struct Row {
    table: usize,
    /// What each of the table's parent columns names.
    parents: Vec<Option<String>>,
    bytes: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct World {
    /// By root table and key.
    pub(super) instances: BTreeMap<(&'static str, String), Instance>,
    pub(super) rows: BTreeMap<String, Row>,
    /// Every byte array, also of nobody.
    pub(super) bytes: BTreeSet<String>,
    /// Byte arrays that something that runs names, with the number of the table.
    pub(super) kept: BTreeMap<String, usize>,
    pub(super) held: BTreeSet<(&'static str, String)>,
    /// Minutes by root table and definition; none: disabled.
    pub(super) policies: BTreeMap<(&'static str, &'static str), Option<i64>>,
}

pub(super) type Key = (String, String);

impl World {
    /// With processes, decisions and batches beside the cases, and what names their values, or with cases alone.
    pub(super) fn random(random: &mut SmallRng, processes: bool) -> World {
        let mut world = World::default();
        let roots = match processes {
            true => &RULES[..],
            false => &RULES[1..2],
        };
        for (_, root) in roots {
            world.definitions(root, random);
            world.instances(root, random);
        }
        world.rows(roots, random);
        if processes {
            for id in world.bytes.clone() {
                if random.random_bool(0.1) {
                    world.kept.insert(id, random.random_range(0..KEEPERS.len()));
                }
            }
        }
        for number in 0..5 {
            world.bytes.insert(format!("deployed {number}"));
        }
        world
    }

    fn definitions(&mut self, root: &'static str, random: &mut SmallRng) {
        let names = match root {
            BATCH => TYPES.map(|(name, _)| name).to_vec(),
            _ => [&DEFINITIONS.map(|(name, _)| name)[..], &["gone"]].concat(),
        };
        for definition in names {
            if random.random_bool(0.15) {
                let retention = random.random_bool(0.7).then_some(14 * DAY);
                self.policies.insert((root, definition), retention);
            }
        }
    }

    fn instances(&mut self, root: &'static str, random: &mut SmallRng) {
        let definitions = DEFINITIONS.map(|(name, _)| name);
        // How many have nothing odd: whole families are old in such a world.
        let plain = *[0.6, 0.97, 0.99].choose(random).expect("some");
        let count = random.random_range(1..15);
        let key = |number: i32| match root {
            // There are decisions of processes and cases, too.
            DECISION => format!("lone {number}"),
            _ => format!("{} {number}", plainly(root)),
        };
        for number in 0..count {
            let definition = match random.random_range(0..8) {
                0 if !random.random_bool(plain) => "gone",
                1 | 2 if !random.random_bool(plain) => definitions.choose(random).expect("some"),
                _ => definitions[random.random_range(0..2)],
            };
            let definition = match root {
                BATCH => TYPES.choose(random).expect("some").0,
                _ => definition,
            };
            let days = match random.random_bool(plain) {
                true => [30, 90].choose(random),
                false => [0, 1, 7, 7, 14, 30, 90].choose(random),
            };
            let off = match random.random_bool(plain) {
                true => LAG + 1,
                false => *[-LAG, -1, 0, LAG, LAG - 1, 2 * DAY]
                    .choose(random)
                    .expect("some"),
            };
            let id = key(number);
            let mut other = || key(random.random_range(0..count));
            // A chain for the most part, and whatever else the column can hold: a circle, itself, one that is gone.
            let (near, far) = (other(), other());
            let above = match random.random_range(0..40) {
                0 => Some("nobody".to_owned()),
                1 => Some(id.clone()),
                2 => Some(far),
                3..=30 if near < id => Some(near),
                _ => None,
            };
            let is_final = random.random_bool(plain);
            let ended = random
                .random_bool(plain.max(0.9))
                .then(|| (days.expect("some") * DAY + off).max(0));
            let instance = Instance {
                definition,
                // Decisions and batches have nothing but their time.
                is_final: match root {
                    DECISION | BATCH => ended.is_some(),
                    _ => is_final,
                },
                ended,
                above: above.filter(|_| [PROCESS, DECISION].contains(&root)),
            };
            if random.random_bool((1.0 - plain) / 4.0) {
                self.held.insert((root, id.clone()));
            }
            self.instances.insert((root, id), instance);
        }
    }

    pub(super) fn rows(&mut self, roots: &[(&str, &'static str)], random: &mut SmallRng) {
        for (table, (name, parents, names)) in TABLES.iter().enumerate() {
            for number in 0..random.random_range(0..12) {
                let mut named = vec![None; parents.len()];
                // Of a process or of a case; what belongs to a task may name its process, too.
                let first = random.random_range(0..parents.len());
                // Most rows of these tables belong to something else, where only cases are looked at.
                if random.random_bool(0.85) {
                    named[first] = self.some(parents[first].1, random);
                }
                if let Some(task) = named.last().cloned().flatten()
                    && parents.len() == 2
                    && parents[1] == OF_TASK
                    && roots.len() > 1
                {
                    let of_case = self.rows[&task].parents[1].is_some();
                    named[0] = self.some(PROCESS, random).filter(|_| !of_case);
                }
                let id = format!("{} {number}", plainly(name));
                let bytes = (!names.is_empty() && random.random_bool(0.5))
                    .then(|| format!("value of {id}"));
                self.bytes.extend(bytes.clone());
                let row = Row {
                    table,
                    parents: named,
                    bytes,
                };
                self.rows.insert(id, row);
            }
        }
    }

    /// The key of some row of a table.
    fn some(&self, table: &str, random: &mut SmallRng) -> Option<String> {
        let instances = self.instances.keys().filter(|(of, _)| *of == table);
        let rows = self.rows.iter();
        let rows = rows.filter(|(_, row)| TABLES[row.table].0 == table);
        let keys: Vec<&String> = instances
            .map(|(_, id)| id)
            .chain(rows.map(|(id, _)| id))
            .collect();
        keys.choose(random).map(|id| (*id).clone())
    }

    pub(super) fn load(&self, camunda: &mut Camunda) {
        let mut sql = String::from(
            "DELETE FROM W.policy;\nDELETE FROM W.hold;\nDELETE FROM act_re_procdef;\nDELETE FROM act_re_case_def;\nDELETE FROM act_re_decision_def;\n",
        );
        for table in KEEPERS.map(|(table, _)| table).into_iter().chain(tables()) {
            sql += &format!("DELETE FROM {table};\n");
        }
        let text = |value: &Option<String>| {
            let quoted = value.as_ref().map(|it| format!("'{it}'"));
            quoted.unwrap_or("NULL".to_owned())
        };
        for (id, days) in DEFINITIONS {
            let days = days.map_or("NULL".to_owned(), |days| days.to_string());
            for table in ["act_re_procdef", "act_re_case_def", "act_re_decision_def"] {
                sql += &format!(
                    "INSERT INTO {table} (id_, key_, version_, history_ttl_) VALUES ('{id}', 'k', 1, {days});\n"
                );
            }
        }
        let rule = |root: &str| {
            let found = RULES.iter().find(|(_, of)| *of == root);
            found.expect("a rule").0
        };
        for ((root, scope), retention) in &self.policies {
            sql += &format!(
                "INSERT INTO W.policy (rule, scope, enabled, retention_seconds) VALUES ('{}', '{scope}', {}, {});\n",
                rule(root),
                retention.is_some(),
                retention.unwrap_or(30 * DAY) * 60
            );
        }
        for (root, id) in &self.held {
            sql += &format!(
                "INSERT INTO W.hold (rule, \"key\", reason) VALUES ('{}', '{id}', 'test');\n",
                rule(root)
            );
        }
        for ((root, id), instance) in &self.instances {
            let ended = instance.ended.map_or("NULL".to_owned(), |minutes| {
                format!("TIMESTAMP '2026-01-01 00:00:00' - INTERVAL '{minutes}' MINUTE")
            });
            let (definition, above) = (instance.definition, text(&instance.above));
            let odd = id.len() % 2;
            sql += &match *root {
                PROCESS => format!(
                    "INSERT INTO {PROCESS} (id_, proc_inst_id_, proc_def_id_, end_time_, state_, super_process_instance_id_) VALUES ('{id}', '{id}', '{definition}', {ended}, '{}', {above});\n",
                    match instance.is_final {
                        true => ["COMPLETED", "EXTERNALLY_TERMINATED"][odd],
                        false => ["ACTIVE", "SUSPENDED"][odd],
                    }
                ),
                DECISION => format!(
                    "INSERT INTO {DECISION} (id_, dec_def_id_, eval_time_, root_dec_inst_id_) VALUES ('{id}', '{definition}', {ended}, {above});\n"
                ),
                BATCH => format!(
                    "INSERT INTO {BATCH} (id_, type_, end_time_, seed_job_def_id_, monitor_job_def_id_, batch_job_def_id_) VALUES ('{id}', '{definition}', {ended}, 'job 0 of {id}', 'job 1 of {id}', 'job 2 of {id}');\n"
                ),
                _ => format!(
                    "INSERT INTO {CASE} (id_, case_inst_id_, case_def_id_, close_time_, state_) VALUES ('{id}', '{id}', '{definition}', {ended}, {});\n",
                    match instance.is_final {
                        true => 9,
                        false => [4, 7][odd],
                    }
                ),
            };
        }
        for id in &self.bytes {
            sql += &format!("INSERT INTO {BYTES} (id_) VALUES ('{id}');\n");
        }
        for (id, row) in &self.rows {
            let (table, parents, bytes) = TABLES[row.table];
            let mut columns = vec![("id_", format!("'{id}'"))];
            let named = parents.iter().zip(&row.parents);
            columns.extend(named.map(|((column, of), parent)| {
                let job = |batch: &String| format!("job {} of {batch}", id.len() % 3);
                match *of {
                    BATCH => (*column, text(&parent.as_ref().map(job))),
                    _ => (*column, text(parent)),
                }
            }));
            if !bytes.is_empty() {
                columns.push((bytes, text(&row.bytes)));
            }
            sql += &insert(table, columns);
        }
        for (number, (id, keeper)) in self.kept.iter().enumerate() {
            let (table, column) = KEEPERS[*keeper];
            sql += &format!("INSERT INTO {table} (id_, {column}) VALUES ('r{number}', '{id}');\n");
        }
        camunda.execute(&sql);
    }

    /// Every row by table.
    pub(super) fn contents(&self) -> BTreeSet<Key> {
        let instances = self.instances.keys();
        let instances = instances.map(|(root, id)| ((*root).to_owned(), id.clone()));
        let bytes = self.bytes.iter().map(|id| (BYTES.to_owned(), id.clone()));
        let rows = self.rows.iter();
        let rows = rows.map(|(id, row)| (TABLES[row.table].0.to_owned(), id.clone()));
        instances.chain(bytes).chain(rows).collect()
    }

    /// The minutes that an instance and all below it must have ended before `AS_OF`; none: it is kept for ever.
    fn kept_for(&self, root: &'static str, definition: &'static str) -> Option<i64> {
        let of_today = DEFINITIONS.iter().find(|(name, _)| *name == definition);
        let of_type = TYPES.iter().find(|(name, _)| *name == definition);
        let days = match root {
            BATCH => of_type.map(|(_, days)| *days),
            _ => of_today.and_then(|(_, days)| *days),
        };
        let days = days.filter(|days| (0..=36_525).contains(days));
        let retention = match self.policies.get(&(root, definition)) {
            Some(policy) => *policy,
            None => days.map(|days| days * DAY),
        };
        retention.map(|minutes| minutes.max(MINIMUM) + LAG)
    }

    pub(super) fn of(&self, root: &'static str) -> BTreeMap<&str, &Instance> {
        let all = self.instances.iter();
        all.filter(|((of, _), _)| *of == root)
            .map(|((_, id), instance)| (id.as_str(), instance))
            .collect()
    }

    /// An instance with everything below it, or with everything that is linked to it.
    pub(super) fn family<'a>(
        &'a self,
        root: &'static str,
        id: &'a str,
        upwards: bool,
    ) -> BTreeSet<&'a str> {
        let all = self.of(root);
        let mut found = BTreeSet::from([id]);
        loop {
            let before = found.len();
            for (id, instance) in &all {
                let above = instance.above.as_deref().filter(|id| all.contains_key(id));
                let Some(above) = above else { continue };
                if found.contains(above) {
                    found.insert(id);
                } else if upwards && found.contains(id) {
                    found.insert(above);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// Whether the way up from an instance leads back to it, over another one.
    pub(super) fn is_in_circle(&self, root: &'static str, id: &str) -> bool {
        let all = self.of(root);
        let mut at = id;
        for _ in 0..all.len() {
            match all.get(at).and_then(|instance| instance.above.as_deref()) {
                Some(above) if above != at => at = above,
                _ => return false,
            }
            if at == id {
                return true;
            }
        }
        false
    }

    /// Whether a row that belongs to an instance names a value that something that runs names.
    fn is_kept(&self, root: &'static str, id: &str) -> bool {
        let instance = BTreeSet::from([(root.to_owned(), id.to_owned())]);
        let rows = self.rows_of(&instance);
        rows.iter()
            .any(|(table, id)| table == BYTES && self.kept.contains_key(id))
    }

    /// What speaks against an instance in its own family, whatever the retention (`purge`) or not.
    fn fault(&self, root: &'static str, id: &str, purge: bool) -> Option<&'static str> {
        let all = self.of(root);
        let family = self.family(root, id, false);
        let least = match purge {
            true => Some(i64::MIN),
            false => self.kept_for(root, all[id].definition),
        };
        let any = |fault: &dyn Fn(&str, &Instance) -> bool| {
            family.iter().any(|member| fault(member, all[member]))
        };
        if any(&|id, _| self.held.contains(&(root, id.to_owned()))) {
            Some("HELD")
        } else if any(&|_, one| !one.is_final) {
            Some("NON_FINAL_MEMBER")
        } else if !purge && any(&|_, one| one.ended.is_none()) {
            Some("UNDATED_MEMBER")
        } else if !purge && any(&|_, one| one.ended <= least) {
            Some("RETENTION_NOT_REACHED")
        } else if any(&|id, _| self.is_kept(root, id)) {
            Some("REFERENCED")
        } else {
            None
        }
    }

    /// The instances of a rule that should go, and how many stay for which reason.
    pub(super) fn verdict(
        &self,
        root: &'static str,
    ) -> (BTreeSet<Key>, BTreeMap<&'static str, usize>) {
        let all = self.of(root);
        let mut gone = BTreeSet::new();
        let mut skipped = BTreeMap::new();
        for (id, instance) in &all {
            let least = self.kept_for(root, instance.definition);
            let Some(least) = least.filter(|_| instance.is_final) else {
                continue;
            };
            let reason = match instance.ended {
                None => Some("UNDATED_MEMBER"),
                Some(ended) if ended <= least => continue,
                Some(_) => self.fault(root, id, false).or_else(|| {
                    // A family goes as a whole: every instance by what its own definition says.
                    let linked = self.family(root, id, true);
                    let stays = |id: &&str| {
                        self.kept_for(root, all[id].definition).is_none()
                            || self.fault(root, id, false).is_some()
                    };
                    linked.iter().any(stays).then_some("SHARED_MEMBER")
                }),
            };
            match reason {
                Some(reason) => *skipped.entry(reason).or_default() += 1,
                None => {
                    gone.insert((root.to_owned(), (*id).to_owned()));
                }
            }
        }
        (gone, skipped)
    }

    /// Why a purge of an instance is refused, or the instances that go.
    pub(super) fn purge(
        &self,
        root: &'static str,
        id: &str,
    ) -> Result<BTreeSet<Key>, &'static str> {
        if let Some(fault) = self.fault(root, id, true) {
            return Err(fault);
        }
        let family = self.family(root, id, false);
        if family != self.family(root, id, true) {
            return Err("SHARED_MEMBER");
        }
        let keys = family.into_iter();
        Ok(keys.map(|id| (root.to_owned(), id.to_owned())).collect())
    }

    /// Some instances with all rows that go with them.
    pub(super) fn rows_of(&self, instances: &BTreeSet<Key>) -> BTreeSet<Key> {
        let mut gone = instances.clone();
        // Parents stand before their children.
        for (table, (name, parents, _)) in TABLES.iter().enumerate() {
            for (id, row) in self.rows.iter().filter(|(_, row)| row.table == table) {
                let mut named = parents.iter().zip(&row.parents);
                let goes = named.any(|((_, parent), id)| {
                    let key = id.as_ref().map(|id| ((*parent).to_owned(), id.clone()));
                    key.is_some_and(|key| gone.contains(&key))
                });
                if goes {
                    gone.insert(((*name).to_owned(), id.clone()));
                    gone.extend(row.bytes.iter().map(|id| (BYTES.to_owned(), id.clone())));
                }
            }
        }
        gone
    }
}

/// The name of a table as a part of keys, which is the same on every server.
fn plainly(table: &str) -> &str {
    table.trim_start_matches("act_")
}

pub(super) fn tables() -> impl Iterator<Item = &'static str> {
    let tables = TABLES.iter().map(|(table, ..)| *table);
    tables.chain([PROCESS, CASE, BATCH, BYTES])
}

/// Every row by table.
pub(in crate::camunda) fn contents(camunda: &mut Camunda) -> BTreeSet<Key> {
    let selects: Vec<String> = tables()
        .map(|table| format!("SELECT '{table}', id_ FROM {table}"))
        .collect();
    let sql = camunda.named(&selects.join(" UNION ALL "));
    let rows = camunda.windrow.rows(&sql).into_iter();
    rows.map(|row| {
        let mut values = row.into_iter().map(|value| value.expect("no NULL"));
        let mut next = || values.next().expect("two columns");
        (next().to_lowercase(), next())
    })
    .collect()
}
