//! Process and case instances of Camunda 7 that have ended, by the time to live of their definition of today: a model over
//! rows in memory, compared with what `specs/camunda7-end-time.toml` and `specs/camunda7-cases.toml` delete.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::demo::camunda7::SCHEMA_724;
use windrow::dialect::Dialect;
use windrow::lint;

use super::oracle::lenient;
use super::{NOW, options, rule};
use crate::support::camunda::{Camunda, load};
use crate::support::database::{self, Database};
use crate::support::installation::on_every_server;

on_every_server!(
    instances_go_as_the_model_says,
    cases_go_beside_removal_times_as_the_model_says,
    a_realistic_history_goes_by_end_time,
);

const BY_END: &str = "camunda7-end-time";
const CASES_ONLY: &str = "camunda7-cases";
const AS_OF: &str = "2026-01-01T00:00:00Z";

/// Minutes.
const DAY: i64 = 24 * 60;
const LAG: i64 = 60;
const MINIMUM: i64 = DAY;

const PROCESS: &str = "act_hi_procinst";
const CASE: &str = "act_hi_caseinst";
const TASK: &str = "act_hi_taskinst";
const DECISION: &str = "act_hi_decinst";
const BYTES: &str = "act_ge_bytearray";

/// The rules with their root tables.
const RULES: [(&str, &str); 2] = [("process_instances", PROCESS), ("case_instances", CASE)];

/// A table below: its name, the columns that name a parent with the parent, and the column that names a byte array.
type Table = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

const OF_PROCESS: (&str, &str) = ("proc_inst_id_", PROCESS);
const OF_CASE: (&str, &str) = ("case_inst_id_", CASE);
const OF_TASK: (&str, &str) = ("task_id_", TASK);

/// Parents stand before their children.
const TABLES: [Table; 16] = [
    ("act_hi_actinst", &[OF_PROCESS], ""),
    ("act_hi_caseactinst", &[OF_CASE], ""),
    (TASK, &[OF_PROCESS, OF_CASE], ""),
    ("act_hi_varinst", &[OF_PROCESS, OF_CASE], "bytearray_id_"),
    ("act_hi_detail", &[OF_PROCESS, OF_CASE], "bytearray_id_"),
    ("act_hi_incident", &[OF_PROCESS], ""),
    (
        "act_hi_job_log",
        &[("process_instance_id_", PROCESS)],
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

/// A process or case instance.
#[derive(Debug)]
struct Instance {
    definition: &'static str,
    is_final: bool,
    /// Minutes before `AS_OF`.
    ended: Option<i64>,
    /// The process instance that called this process instance; it need not be there.
    above: Option<String>,
}

#[derive(Debug)]
struct Row {
    table: usize,
    /// What each of the table's parent columns names.
    parents: Vec<Option<String>>,
    bytes: Option<String>,
}

#[derive(Debug, Default)]
struct World {
    /// By root table and key.
    instances: BTreeMap<(&'static str, String), Instance>,
    rows: BTreeMap<String, Row>,
    /// Every byte array, also of nobody.
    bytes: BTreeSet<String>,
    /// Byte arrays that something that runs names, with the number of the table.
    kept: BTreeMap<String, usize>,
    held: BTreeSet<(&'static str, String)>,
    /// Minutes by root table and definition; none: disabled.
    policies: BTreeMap<(&'static str, &'static str), Option<i64>>,
}

type Key = (String, String);

impl World {
    /// With processes beside the cases, and what names their values, or without.
    fn random(random: &mut SmallRng, processes: bool) -> World {
        let mut world = World::default();
        let roots = &RULES[usize::from(!processes)..];
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
        for definition in DEFINITIONS
            .map(|(name, _)| name)
            .into_iter()
            .chain(["gone"])
        {
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
        let key = |number: i32| format!("{} {number}", plainly(root));
        for number in 0..count {
            let definition = match random.random_range(0..8) {
                0 if !random.random_bool(plain) => "gone",
                1 | 2 if !random.random_bool(plain) => definitions.choose(random).expect("some"),
                _ => definitions[random.random_range(0..2)],
            };
            let days = match random.random_bool(plain) {
                true => [30, 90].choose(random),
                false => [0, 1, 7, 7, 14, 30].choose(random),
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
            let instance = Instance {
                definition,
                is_final: random.random_bool(plain),
                ended: random
                    .random_bool(plain.max(0.9))
                    .then(|| (days.expect("some") * DAY + off).max(0)),
                above: above.filter(|_| root == PROCESS),
            };
            if random.random_bool((1.0 - plain) / 4.0) {
                self.held.insert((root, id.clone()));
            }
            self.instances.insert((root, id), instance);
        }
    }

    fn rows(&mut self, roots: &[(&str, &'static str)], random: &mut SmallRng) {
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
                    && roots.len() == 2
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

    fn load(&self, camunda: &mut Camunda) {
        let mut sql = String::from(
            "DELETE FROM W.policy;\nDELETE FROM W.hold;\nDELETE FROM act_re_procdef;\nDELETE FROM act_re_case_def;\n",
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
            for table in ["act_re_procdef", "act_re_case_def"] {
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
            columns.extend(named.map(|((column, _), parent)| (*column, text(parent))));
            if !bytes.is_empty() {
                columns.push((bytes, text(&row.bytes)));
            }
            let (names, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
            sql += &format!(
                "INSERT INTO {table} ({}) VALUES ({});\n",
                names.join(", "),
                values.join(", ")
            );
        }
        for (number, (id, keeper)) in self.kept.iter().enumerate() {
            let (table, column) = KEEPERS[*keeper];
            sql += &format!("INSERT INTO {table} (id_, {column}) VALUES ('r{number}', '{id}');\n");
        }
        camunda.execute(&sql);
    }

    /// Every row by table.
    fn contents(&self) -> BTreeSet<Key> {
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
        let days = of_today.and_then(|(_, days)| *days);
        let days = days.filter(|days| (0..=36_525).contains(days));
        let retention = match self.policies.get(&(root, definition)) {
            Some(policy) => *policy,
            None => days.map(|days| days * DAY),
        };
        retention.map(|minutes| minutes.max(MINIMUM) + LAG)
    }

    fn of(&self, root: &'static str) -> BTreeMap<&str, &Instance> {
        let all = self.instances.iter();
        all.filter(|((of, _), _)| *of == root)
            .map(|((_, id), instance)| (id.as_str(), instance))
            .collect()
    }

    /// An instance with everything below it, or with everything that is linked to it.
    fn family<'a>(&'a self, root: &'static str, id: &'a str, upwards: bool) -> BTreeSet<&'a str> {
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

    /// Whether the way up from a process instance leads back to it, over another one.
    fn is_in_circle(&self, id: &str) -> bool {
        let all = self.of(PROCESS);
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
    fn verdict(&self, root: &'static str) -> (BTreeSet<Key>, BTreeMap<&'static str, usize>) {
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
    fn purge(&self, root: &'static str, id: &str) -> Result<BTreeSet<Key>, &'static str> {
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
    fn rows_of(&self, instances: &BTreeSet<Key>) -> BTreeSet<Key> {
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

fn tables() -> impl Iterator<Item = &'static str> {
    let tables = TABLES.iter().map(|(table, ..)| *table);
    tables.chain([PROCESS, CASE, BYTES])
}

fn contents(camunda: &mut Camunda) -> BTreeSet<Key> {
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

fn instances_go_as_the_model_says(dialect: Dialect) {
    let mut camunda = Camunda::of(dialect, &load(BY_END));
    lenient(&mut camunda);
    let (mut families, mut chains, mut arrays, mut reasons) = (0, 0, 0, BTreeSet::new());
    let (mut purged, mut refused) = (0, BTreeSet::new());
    for seed in 1..=40 {
        let mut random = SmallRng::seed_from_u64(seed);
        let world = World::random(&mut random, true);
        for (rule, root) in RULES {
            let (gone, skipped) = check(&mut camunda, &world, &RULES, (rule, root), &mut random);
            let calls = |(_, id): &&Key| world.family(root, id, false).len() > 2;
            families += gone.iter().filter(|(table, _)| table == root).count();
            let instances = gone.iter().filter(|(table, _)| table == root);
            chains += instances.filter(calls).count();
            arrays += gone.iter().filter(|(table, _)| table == BYTES).count();
            reasons.extend(skipped.keys().copied());
        }
        // One instance at once, whatever its age.
        world.load(&mut camunda);
        let key = world.some(PROCESS, &mut random).expect("an instance");
        if world.is_in_circle(&key) {
            continue;
        }
        let answer = camunda.purge(json!({"rule": "process_instances", "key": [key]}));
        let expected = world.purge(PROCESS, &key).map(|keys| world.rows_of(&keys));
        let reason = answer["refused"][&key].as_str();
        assert_eq!(
            reason,
            expected.as_ref().err().copied(),
            "seed {seed}: {world:#?}"
        );
        let gone = expected.unwrap_or_default();
        purged += gone.iter().filter(|(table, _)| table == PROCESS).count();
        refused.extend(reason.map(str::to_owned));
        let left: BTreeSet<_> = world.contents().difference(&gone).cloned().collect();
        assert_eq!(contents(&mut camunda), left, "seed {seed}");
    }
    assert!(
        families > 150 && chains > 10 && arrays > 60 && purged > 15,
        "{families} {chains} {arrays} {purged}"
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
    for seed in 1..=30 {
        let mut random = SmallRng::seed_from_u64(seed);
        let world = World::random(&mut random, false);
        let (gone, skipped) = check(&mut camunda, &world, &RULES[1..], RULES[1], &mut random);
        families += gone.iter().filter(|(table, _)| table == CASE).count();
        arrays += gone.iter().filter(|(table, _)| table == BYTES).count();
        reasons.extend(skipped.keys().copied());
    }
    assert!(families > 60 && arrays > 20, "{families} {arrays}");
    assert_eq!(reasons, BTreeSet::from(["HELD", "UNDATED_MEMBER"]));
}

fn a_realistic_history_goes_by_end_time(dialect: Dialect) {
    let mut camunda = Camunda::of(dialect, &load(BY_END));
    camunda.remember(1_000, NOW);
    // The removal times of the history do not count, nor what it says of batches and of what belongs to nobody.
    camunda.execute(
        "INSERT INTO act_re_procdef (id_, key_, version_, history_ttl_)
         SELECT DISTINCT proc_def_id_, proc_def_key_, 1, 30 FROM act_hi_procinst WHERE proc_def_key_ <> 'process_7'",
    );
    let due = camunda.number(
        "SELECT count(*) FROM act_hi_procinst WHERE end_time_ < '2026-05-02 11:00:00' AND proc_def_key_ <> 'process_7'",
    );
    let preview = camunda.call("preview", options());
    let dry = camunda.run(json!({"as_of": super::AS_OF, "dry_run": true}));
    let run = camunda.run(options());
    assert_eq!(run["status"], "done", "{run}");
    for figure in ["rows", "families", "tables", "skipped", "skipped_samples"] {
        for name in ["process_instances", "task_metrics"] {
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
    let again = camunda.run(options());
    assert_eq!(rule(&again, "process_instances")["rows"], 0);
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
    let dry = camunda.run(options(true));
    assert_eq!(contents(camunda), world.contents(), "{context}");
    let run = camunda.run(options(false));
    assert_eq!(run["status"], "done", "{run}\n{context}");
    for document in [&preview, &dry, &run] {
        let rule = &document["rules"][0];
        assert_eq!(rule["families"], instances.len(), "{rule}\n{context}");
        assert_eq!(rule["rows"], gone.len(), "{rule}\n{context}");
        assert_eq!(rule["skipped"], json!(skipped), "{rule}\n{context}");
    }
    let left: BTreeSet<_> = world.contents().difference(&gone).cloned().collect();
    assert_eq!(contents(camunda), left, "{context}");
    let again = camunda.run(options(false));
    assert_eq!(again["rules"][0]["rows"], 0, "{again}\n{context}");
    (gone, skipped)
}

/// What `windrow check --database` says of a spec.
pub(super) fn check_against(database: &Database, text: &str) -> String {
    let path = std::env::temp_dir().join(format!("windrow-{}.toml", database.name));
    std::fs::write(&path, text).expect("a spec is written");
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .arg("check")
        .arg(&path)
        .arg("--output")
        .arg("json")
        .arg("--database")
        .arg(database::server().url(&database.name, "postgres"))
        .output()
        .expect("windrow runs");
    std::fs::remove_file(&path).expect("a spec is removed");
    let said: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    said.to_string()
}

#[test]
fn the_specs_by_end_time_fit_the_schema() {
    for spec in [BY_END, CASES_ONLY] {
        let text = std::fs::read_to_string(format!("specs/{spec}.toml")).expect("a spec");
        let (graph, findings) = lint::load(&text);
        let graph = graph.unwrap_or_else(|| panic!("the spec has errors: {findings:?}"));
        let database = Database::of(SCHEMA_724, &graph);
        let check = |text: &str| check_against(&database, text);
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
