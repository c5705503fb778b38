//! Closed case instances of Camunda 7, by the time to live of their definition of today: a model over rows in memory,
//! compared with what `specs/camunda7-end-time.toml` deletes.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::demo::camunda7::SCHEMA_724;
use windrow::lint;

use crate::support::database::{self, Database};

const SPEC: &str = include_str!("../../../specs/camunda7-end-time.toml");
const AS_OF: &str = "2026-01-01T00:00:00Z";

/// Minutes.
const DAY: i64 = 24 * 60;
const LAG: i64 = 60;
const MINIMUM: i64 = DAY;

const CASE: &str = "act_hi_caseinst";
const BYTES: &str = "act_ge_bytearray";
/// Each table with the column that names its parent, the parent, and the column that names a byte array.
const TABLES: [(&str, &str, &str, &str); 11] = [
    ("act_hi_caseactinst", "case_inst_id_", CASE, ""),
    ("act_hi_taskinst", "case_inst_id_", CASE, ""),
    ("act_hi_varinst", "case_inst_id_", CASE, "bytearray_id_"),
    ("act_hi_detail", "case_inst_id_", CASE, "bytearray_id_"),
    ("act_hi_op_log", "case_inst_id_", CASE, ""),
    ("act_hi_decinst", "case_inst_id_", CASE, ""),
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
    ("act_hi_comment", "task_id_", "act_hi_taskinst", ""),
    (
        "act_hi_attachment",
        "task_id_",
        "act_hi_taskinst",
        "content_id_",
    ),
    ("act_hi_identitylink", "task_id_", "act_hi_taskinst", ""),
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

struct Case {
    definition: &'static str,
    state: i64,
    /// Minutes before `AS_OF`.
    closed: Option<i64>,
}

struct Row {
    table: usize,
    parent: Option<String>,
    bytes: Option<String>,
}

#[derive(Default)]
struct World {
    cases: BTreeMap<String, Case>,
    rows: BTreeMap<String, Row>,
    /// Every byte array, also of nobody.
    bytes: BTreeSet<String>,
    held: BTreeSet<String>,
    /// Minutes by definition; none: disabled.
    policies: BTreeMap<&'static str, Option<i64>>,
}

impl World {
    fn random(random: &mut SmallRng) -> World {
        let mut world = World::default();
        let definitions = DEFINITIONS.map(|(name, _)| name);
        for definition in definitions.into_iter().chain(["gone"]) {
            if random.random_bool(0.15) {
                let retention = random.random_bool(0.7).then_some(14 * DAY);
                world.policies.insert(definition, retention);
            }
        }
        for number in 0..random.random_range(1..15) {
            let definition = match random.random_range(0..8) {
                0 => "gone",
                1..=4 => definitions[random.random_range(0..2)],
                _ => definitions.choose(random).expect("there are some"),
            };
            let days = [0, 1, 7, 7, 14, 30, 30, 90].choose(random).expect("some") * DAY;
            let off = [-LAG, -1, 0, LAG, LAG - 1, LAG + 1, LAG + 1, 2 * DAY];
            let off = off.choose(random).expect("some");
            let case = Case {
                definition,
                state: *[9, 9, 9, 9, 9, 7, 4, 6].choose(random).expect("some"),
                closed: random.random_bool(0.9).then(|| (days + off).max(0)),
            };
            let id = format!("c{number}");
            if random.random_bool(0.1) {
                world.held.insert(id.clone());
            }
            world.cases.insert(id, case);
        }
        // Parents come first.
        for (table, (_, _, parent, names)) in TABLES.iter().enumerate() {
            let parents: Vec<String> = if *parent == CASE {
                world.cases.keys().cloned().collect()
            } else {
                let of = |row: &&Row| TABLES[row.table].0 == *parent;
                let rows = world.rows.iter().filter(|(_, row)| of(row));
                rows.map(|(id, _)| id.clone()).collect()
            };
            for number in 0..random.random_range(0..12) {
                // Most rows of these tables belong to processes, and name no case.
                let named = random.random_bool(0.75);
                let bytes = (!names.is_empty() && random.random_bool(0.5))
                    .then(|| format!("b{table}.{number}"));
                world.bytes.extend(bytes.clone());
                let row = Row {
                    table,
                    parent: parents.choose(random).filter(|_| named).cloned(),
                    bytes,
                };
                world.rows.insert(format!("r{table}.{number}"), row);
            }
        }
        for number in 0..5 {
            world.bytes.insert(format!("deployed {number}"));
        }
        world
    }

    fn statements(&self) -> String {
        let mut sql = String::from(
            "DELETE FROM W.policy; DELETE FROM W.hold; DELETE FROM act_re_case_def;\n",
        );
        for table in tables() {
            sql += &format!("DELETE FROM {table};\n");
        }
        let text = |value: &Option<String>| {
            value
                .as_ref()
                .map_or("NULL".to_owned(), |it| format!("'{it}'"))
        };
        for (id, days) in DEFINITIONS {
            let days = days.map_or("NULL".to_owned(), |days| days.to_string());
            sql += &format!(
                "INSERT INTO act_re_case_def (id_, key_, version_, history_ttl_) VALUES ('{id}', 'k', 1, {days});\n"
            );
        }
        for (scope, retention) in &self.policies {
            sql += &format!(
                "INSERT INTO W.policy (rule, scope, enabled, retention_seconds) VALUES ('case_instances', '{scope}', {}, {});\n",
                retention.is_some(),
                retention.unwrap_or(30 * DAY) * 60
            );
        }
        for id in &self.held {
            sql += &format!(
                "INSERT INTO W.hold (rule, key, reason) VALUES ('case_instances', '{id}', 'test');\n"
            );
        }
        for (id, case) in &self.cases {
            let closed = case.closed.map_or("NULL".to_owned(), |minutes| {
                format!("timestamp '2026-01-01' - interval '{minutes} min'")
            });
            sql += &format!(
                "INSERT INTO {CASE} (id_, case_inst_id_, case_def_id_, create_time_, close_time_, state_) VALUES ('{id}', '{id}', '{}', '2025-01-01', {closed}, {});\n",
                case.definition, case.state
            );
        }
        for id in &self.bytes {
            sql += &format!("INSERT INTO {BYTES} (id_) VALUES ('{id}');\n");
        }
        for (id, row) in &self.rows {
            let (table, parent, _, bytes) = TABLES[row.table];
            sql += &match bytes {
                "" => format!(
                    "INSERT INTO {table} (id_, {parent}) VALUES ('{id}', {});\n",
                    text(&row.parent)
                ),
                _ => format!(
                    "INSERT INTO {table} (id_, {parent}, {bytes}) VALUES ('{id}', {}, {});\n",
                    text(&row.parent),
                    text(&row.bytes)
                ),
            };
        }
        sql
    }

    /// Every row by table.
    fn contents(&self) -> BTreeSet<(String, String)> {
        let cases = self.cases.keys().map(|id| (CASE.to_owned(), id.clone()));
        let bytes = self.bytes.iter().map(|id| (BYTES.to_owned(), id.clone()));
        let rows = self.rows.iter();
        let rows = rows.map(|(id, row)| (TABLES[row.table].0.to_owned(), id.clone()));
        cases.chain(bytes).chain(rows).collect()
    }

    /// What should go, and how many cases stay for which reason.
    fn verdict(&self) -> (BTreeSet<(String, String)>, BTreeMap<&'static str, usize>) {
        let mut gone: BTreeSet<(String, String)> = BTreeSet::new();
        let mut skipped = BTreeMap::new();
        for (id, case) in &self.cases {
            let of_today = DEFINITIONS
                .iter()
                .find(|(name, _)| *name == case.definition);
            let days = of_today.and_then(|(_, days)| *days);
            let days = days.filter(|days| (0..=36_525).contains(days));
            let retention = match self.policies.get(case.definition) {
                Some(policy) => *policy,
                None => days.map(|days| days * DAY),
            };
            let Some(retention) = retention.filter(|_| case.state == 9) else {
                continue;
            };
            match case.closed {
                None => *skipped.entry("UNDATED_MEMBER").or_default() += 1,
                Some(minutes) if minutes <= retention.max(MINIMUM) + LAG => {}
                Some(_) if self.held.contains(id) => *skipped.entry("HELD").or_default() += 1,
                Some(_) => {
                    gone.insert((CASE.to_owned(), id.clone()));
                }
            }
        }
        // Parents stand before their children.
        for (table, (name, _, parent, _)) in TABLES.iter().enumerate() {
            for (id, row) in self.rows.iter().filter(|(_, row)| row.table == table) {
                let named = row
                    .parent
                    .as_ref()
                    .map(|id| ((*parent).to_owned(), id.clone()));
                if named.is_some_and(|named| gone.contains(&named)) {
                    gone.insert(((*name).to_owned(), id.clone()));
                    gone.extend(row.bytes.iter().map(|id| (BYTES.to_owned(), id.clone())));
                }
            }
        }
        (gone, skipped)
    }
}

fn tables() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|(table, ..)| *table).chain([CASE, BYTES])
}

fn contents(database: &mut Database) -> BTreeSet<(String, String)> {
    let selects: Vec<String> = tables()
        .map(|table| format!("SELECT '{table} ' || id_ FROM {table}"))
        .collect();
    let rows = database.texts(&selects.join(" UNION ALL "));
    rows.iter()
        .map(|row| row.split_once(' ').expect("a table and an id"))
        .map(|(table, id)| (table.to_owned(), id.to_owned()))
        .collect()
}

fn armed() -> Database {
    let (graph, findings) = lint::load(SPEC);
    let graph = graph.unwrap_or_else(|| panic!("the spec has errors: {findings:?}"));
    let mut database = Database::of(SCHEMA_724, &graph);
    database.arm();
    database
}

#[test]
fn case_instances_go_as_the_model_says() {
    let mut database = armed();
    // What a world does not know is left empty.
    database.execute(
        "DO $$ DECLARE c record; BEGIN
             FOR c IN SELECT table_name AS t, column_name AS n FROM information_schema.columns
                      WHERE table_schema = 'public' AND table_name LIKE 'act_%' AND column_name <> 'id_' AND is_nullable = 'NO'
                        AND (table_name LIKE 'act_hi%' OR table_name = 'act_ge_bytearray')
             LOOP EXECUTE format('ALTER TABLE %I ALTER %I DROP NOT NULL', c.t, c.n); END LOOP; END $$",
    );
    let (mut families, mut arrays, mut reasons) = (0, 0, BTreeSet::new());
    for seed in 1..=60 {
        let mut random = SmallRng::seed_from_u64(seed);
        let world = World::random(&mut random);
        database.execute(&world.statements());
        let batch = random.random_range(1..5);
        database
            .set_setting("batch_families", batch)
            .expect("a setting");
        let (gone, skipped) = world.verdict();
        let cases = gone.iter().filter(|(table, _)| table == CASE).count();
        families += cases;
        arrays += gone.iter().filter(|(table, _)| table == BYTES).count();
        reasons.extend(skipped.keys().copied());
        let options = json!({"as_of": AS_OF});
        let preview = database
            .select("preview", options.clone())
            .expect("a preview");
        let dry = database
            .run(json!({"as_of": AS_OF, "dry_run": true}))
            .expect("a dry run");
        assert_eq!(contents(&mut database), world.contents(), "seed {seed}");
        let run = database.run(options.clone()).expect("a run");
        assert_eq!(run["status"], "done", "seed {seed}: {run}");
        for document in [&preview, &dry, &run] {
            let rule = &document["rules"][0];
            assert_eq!(rule["families"], cases, "seed {seed}: {rule}");
            assert_eq!(rule["rows"], gone.len(), "seed {seed}: {rule}");
            assert_eq!(rule["skipped"], json!(skipped), "seed {seed}: {rule}");
        }
        let left: BTreeSet<_> = world.contents().difference(&gone).cloned().collect();
        assert_eq!(contents(&mut database), left, "seed {seed}");
        let again = database.run(options).expect("a second run");
        assert_eq!(again["rules"][0]["rows"], 0, "seed {seed}: {again}");
        let orphans = database.texts("SELECT edge FROM W.orphans() WHERE orphans > 0");
        assert!(orphans.is_empty(), "seed {seed}: {orphans:?}");
    }
    assert!(families > 60 && arrays > 20, "{families} {arrays}");
    assert_eq!(reasons, BTreeSet::from(["HELD", "UNDATED_MEMBER"]));
}

#[test]
fn the_spec_for_cases_fits_the_schema() {
    let database = armed();
    let check = |text: &str| {
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
    };
    let said = check(SPEC);
    assert!(
        !said.contains("\"error\"") && !said.contains("\"warning\""),
        "{said}"
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
        let said = check(&SPEC.replace("act_re_case_def: id_ -> history_ttl_ days", from));
        assert!(said.contains(found), "{from}: {said}");
    }
}
