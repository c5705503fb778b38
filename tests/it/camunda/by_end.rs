//! Process and case instances of Camunda 7 that have ended, by the time to live of their definition of today: a model over
//! rows in memory, compared with what `specs/camunda7-end-time.toml` and `specs/camunda7-cases.toml` delete.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::oracle::{insert, lenient};
use super::{NOW, options, rule};
use crate::harness::tests;
use crate::support::camunda::{Camunda, load};
use crate::support::effort::seeds;
use crate::support::graphs::graph_of;

tests! {
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

/// Minutes.
const DAY: i64 = 24 * 60;
const LAG: i64 = 60;
const MINIMUM: i64 = DAY;

const PROCESS: &str = "act_hi_procinst";
const CASE: &str = "act_hi_caseinst";
const TASK: &str = "act_hi_taskinst";
const DECISION: &str = "act_hi_decinst";
const BATCH: &str = "act_hi_batch";
const BYTES: &str = "act_ge_bytearray";

/// The rules with their root tables.
const RULES: [(&str, &str); 4] = [
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
struct Instance {
    definition: &'static str,
    is_final: bool,
    /// Minutes before `AS_OF`.
    ended: Option<i64>,
    /// The process instance that called this process instance, or the decision that required this decision; it need not be
    /// there.
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
    /// With processes, decisions and batches beside the cases, and what names their values, or with cases alone.
    fn random(random: &mut SmallRng, processes: bool) -> World {
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

    fn load(&self, camunda: &mut Camunda) {
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

    /// Whether the way up from an instance leads back to it, over another one.
    fn is_in_circle(&self, root: &'static str, id: &str) -> bool {
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
    tables.chain([PROCESS, CASE, BATCH, BYTES])
}

/// Every row by table.
pub(super) fn contents(camunda: &mut Camunda) -> BTreeSet<Key> {
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
    let (mut families, mut chains, mut arrays, mut reasons) =
        (BTreeMap::new(), BTreeMap::new(), 0, BTreeSet::new());
    let (mut purged, mut refused) = (BTreeMap::new(), BTreeSet::new());
    for seed in seeds("worlds of Camunda by end time", dialect, 14) {
        let mut random = SmallRng::seed_from_u64(seed);
        let world = World::random(&mut random, true);
        for (rule, root) in RULES {
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
            let answer = camunda.purge(json!({"rule": rule, "key": [key]}));
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
    let enough = RULES.iter().all(|(_, root)| families[root] > 10);
    let linked = [PROCESS, DECISION];
    let enough = enough
        && linked
            .iter()
            .all(|root| chains[root] > 1 && purged[root] > 2);
    assert!(
        enough && arrays > 30,
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
    for seed in seeds("worlds of Camunda's cases", dialect, 15) {
        let mut random = SmallRng::seed_from_u64(seed);
        let world = World::random(&mut random, false);
        let (gone, skipped) = check(&mut camunda, &world, &RULES[1..2], RULES[1], &mut random);
        families += gone.iter().filter(|(table, _)| table == CASE).count();
        arrays += gone.iter().filter(|(table, _)| table == BYTES).count();
        reasons.extend(skipped.keys().copied());
    }
    assert!(families > 30 && arrays > 10, "{families} {arrays}");
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
