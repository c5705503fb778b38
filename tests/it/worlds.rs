//! Worlds that nobody thought of: random specs with schemas that fit them, random rows, policies and holds. A model says
//! what must go and why the rest stays, and the database must agree, row by row and byte by byte.
//!
//! A world that is not cleaned as the model says is made smaller and saved below `worlds/cases`, from where it is looked
//! at again by every `make test`.

mod model;
mod plan;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::SmallRng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::lint;

use crate::harness::{count, tests};
use crate::support::defect;
use crate::support::effort::shared_seeds;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;
use model::Verdict;
use plan::{Hierarchy, Plan, Single, Source};
use rows::{World, ident};

/// How many worlds of each random spec are looked at.
const WORLDS: u64 = 6;

/// How long a world that fails is made smaller.
const SHRINKING: Duration = Duration::from_secs(60);

tests! {
    alone: [
        the_generated_worlds_are_odd_enough,
    ],
    each_server: [
        generated_worlds_are_cleaned_as_the_model_says,
    ],
    every_server: [
        worlds_that_once_were_not_cleaned_right_are,
    ],
}

/// All that is needed to look at a world again, whatever becomes of the generator.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Case {
    spec: String,
    /// The application's tables, by server; MariaDB takes those of MySQL.
    schema: BTreeMap<String, String>,
    tables: Vec<String>,
    script: String,
    holds: Vec<Value>,
    as_of: String,
    /// By rule: families, skipped families by reason, rows by table.
    rules: BTreeMap<String, Value>,
    gone: BTreeSet<(String, i64)>,
    /// Columns that are NULL afterwards.
    nulled: BTreeSet<(String, i64, String)>,
}

impl Case {
    fn new(plan: &Plan, world: &World) -> Self {
        let name = |table: usize| plan.tables[table].name.clone();
        let mut case = Self {
            spec: plan.spec(),
            schema: [Dialect::Postgres, Dialect::Mysql]
                .map(|dialect| (dialect.facts().folder.to_owned(), plan.schema(dialect)))
                .into(),
            tables: plan.tables.iter().map(|table| table.name.clone()).collect(),
            script: world.script(plan),
            holds: Vec::new(),
            as_of: "2026-06-01T12:00:00Z".to_owned(),
            rules: BTreeMap::new(),
            gone: BTreeSet::new(),
            nulled: BTreeSet::new(),
        };
        for hold in &world.holds {
            let key: Vec<Value> = hold.key.iter().map(rows::Value::json).collect();
            let key = if let [only] = &key[..] {
                only.clone()
            } else {
                json!(key)
            };
            let until = (!hold.active).then_some("2020-01-01T00:00:00Z");
            case.holds
                .push(json!({"rule": hold.rule, "key": key, "reason": "test", "until": until}));
        }
        let verdicts = [
            ("families", model::families(plan, world)),
            ("single", model::single(plan, world)),
        ];
        for (rule, verdict) in verdicts {
            case.rules.insert(rule.to_owned(), figures(plan, &verdict));
            case.gone.extend(
                verdict
                    .gone
                    .iter()
                    .map(|(table, number)| (name(*table), *number)),
            );
            let nulled = verdict.nulled.iter();
            case.nulled.extend(nulled.map(|((table, number), column)| {
                (
                    name(*table),
                    *number,
                    plan.tables[*table].at(*column).name.clone(),
                )
            }));
        }
        case
    }

    fn graph(&self) -> Graph {
        graph_of(&self.spec)
    }

    fn install(&self, dialect: Dialect) -> Installation {
        let schema = match dialect {
            Dialect::Postgres => &self.schema["postgres"],
            Dialect::Mysql | Dialect::Mariadb => &self.schema["mysql"],
        };
        let mut installation = Installation::of(dialect, schema, &self.graph());
        installation.arm();
        installation.execute(match dialect {
            Dialect::Postgres => "SET timezone = 'UTC'",
            Dialect::Mysql | Dialect::Mariadb => "SET SESSION time_zone = '+00:00'",
        });
        installation
    }
}

fn figures(plan: &Plan, verdict: &Verdict) -> Value {
    let mut tables: BTreeMap<&str, usize> = BTreeMap::new();
    for (table, _) in &verdict.gone {
        *tables.entry(&plan.tables[*table].name).or_default() += 1;
    }
    json!({"families": verdict.families, "skipped": verdict.skipped, "tables": tables})
}

fn generated_worlds_are_cleaned_as_the_model_says(dialect: Dialect) {
    // A spec takes several times as long where routines are compiled anew in each session.
    let specs = if dialect == Dialect::Postgres { 12 } else { 6 };
    for seed in shared_seeds("random specs", dialect, specs) {
        let random = &mut SmallRng::seed_from_u64(seed);
        let plan = Plan::random(seed, random);
        if !plan.servers().contains(&dialect) {
            continue;
        }
        let mut installation = None;
        for round in 1..=WORLDS {
            let world = World::random(&plan, random);
            let case = Case::new(&plan, &world);
            let installation = installation.get_or_insert_with(|| case.install(dialect));
            count("worlds of random specs", dialect.facts().title, 1);
            if let Err(difference) = check(installation, &case) {
                assert!(!defect::is_expected(), "{difference}");
                let (case, difference) = shrink(installation, &plan, world, difference);
                let path = save(&case, &format!("seed-{seed}-{round}"));
                panic!(
                    "seed {seed}, world {round}: {difference}\n\nsaved as {}\n\n{}\n{}\n{:#?}",
                    path.display(),
                    case.spec,
                    case.script,
                    case.holds
                );
            }
        }
    }
}

fn worlds_that_once_were_not_cleaned_right_are(dialect: Dialect) {
    for entry in fs::read_dir(folder()).expect("the folder of cases") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a case");
        let case: Case = serde_json::from_str(&text).expect("a case");
        if !case.graph().dialects.contains(&dialect) {
            continue;
        }
        if let Err(difference) = check(&mut case.install(dialect), &case) {
            panic!("{}: {difference}", path.display());
        }
    }
}

/// What is generated must not be the same thing over and over, or the tests above would see nothing.
fn the_generated_worlds_are_odd_enough() {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 1..=400 {
        let random = &mut SmallRng::seed_from_u64(seed);
        let plan = Plan::random(seed, random);
        let (graph, findings) = lint::load(&plan.spec());
        assert!(
            graph.is_some(),
            "seed {seed}: {findings:#?}\n{}",
            plan.spec()
        );
        let mut count = |what: String| *seen.entry(what).or_default() += 1;
        count(match plan.families.hierarchy {
            Hierarchy::None => "roots alone".to_owned(),
            Hierarchy::Own(_) => "a column that names the row above".to_owned(),
            Hierarchy::Relation(..) => "a relation of two ends".to_owned(),
            Hierarchy::Over(..) => "a row between a row and the one above it".to_owned(),
        });
        count(format!("SQL of the spec: {}", plan.families.raw.is_some()));
        if plan.single.raw.is_some() {
            let name = format!("{:?}", plan.single.what);
            let name = name.split(' ').next().unwrap_or_default();
            count(format!("SQL of the spec of single rows: {name}"));
        }
        count(match &plan.families.source {
            Source::Constant => "constant".to_owned(),
            Source::Policies { opt_in } => format!("policies, opt in: {opt_in}"),
            Source::Definitions => "definitions".to_owned(),
            Source::Values(_) => "values".to_owned(),
        });
        count(match &plan.single.what {
            Single::Age { .. } => "age".to_owned(),
            Single::Expiry { fallback, .. } => format!("expiry, fallback: {}", fallback.is_some()),
            Single::KeepLast { time, .. } => format!("keep-last, time: {}", time.is_some()),
            Single::Orphan { time, .. } => format!("orphan, time: {}", time.is_some()),
        });
        count_tables(&plan, &mut count);
        for _ in 0..2 {
            let world = World::random(&plan, random);
            for (rule, verdict) in [
                ("families", model::families(&plan, &world)),
                ("single", model::single(&plan, &world)),
            ] {
                if !verdict.gone.is_empty() {
                    count(format!("{rule} go"));
                }
                if verdict.families > 1 {
                    count(format!("several {rule} go"));
                }
                if !verdict.nulled.is_empty() {
                    count("columns become NULL".to_owned());
                }
                if rule == "families" && verdict != model::families(&all_go(&plan), &world) {
                    count("rows are kept".to_owned());
                }
                for reason in verdict.skipped.keys() {
                    count(format!("{rule}: {reason}"));
                }
            }
        }
    }
    for what in [
        "families: HELD",
        "families: NON_FINAL_MEMBER",
        "families: UNDATED_MEMBER",
        "families: RETENTION_NOT_REACHED",
        "families: REFERENCED",
        "families: SHARED_MEMBER",
        "single: HELD",
        "single: UNDATED_MEMBER",
        "several families go",
        "several single go",
        "columns become NULL",
        "rows are kept",
        "Integer named by Big",
        "Restrict, foreign key: true",
        "SetNull, foreign key: true",
        "edges of 2 columns",
        "left to a foreign key: None",
        "left to a foreign key: Some(\"CASCADE\")",
        "left to a foreign key: Some(\"NO ACTION\")",
    ] {
        assert!(
            seen.get(what).is_some_and(|count| *count >= 10),
            "{what}: {seen:#?}"
        );
    }
    assert!(seen.values().all(|count| *count >= 4), "{seen:#?}");
    assert!(seen["families go"] > 250, "{seen:#?}");
}

/// What there is to say of the tables of a plan.
fn count_tables(plan: &Plan, count: &mut impl FnMut(String)) {
    for table in &plan.tables {
        if let Some((_, kept)) = table.kept {
            count(format!("kept: {kept:?}"));
        }
        for edge in &table.edges {
            count(format!(
                "{:?}, foreign key: {}",
                edge.action,
                edge.key.is_some()
            ));
            count(format!("edges of {} columns", edge.columns.len()));
            count(format!("zero: {}", edge.zero));
            if edge.cascade {
                count(format!("left to a foreign key: {:?}", edge.key));
            }
            let child = table.at(edge.columns[0]).kind;
            let parent = plan.tables[edge.parent].at(edge.parent_columns[0]).kind;
            count(format!("{parent:?} named by {child:?}"));
        }
    }
}

/// The same plan without rows that stay when their parents go.
fn all_go(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for table in &mut plan.tables {
        table.kept = None;
    }
    plan
}

type Contents = BTreeMap<(String, i64), Vec<(String, Option<String>)>>;

/// Every row, whole, by table and number.
fn contents(installation: &mut Installation, case: &Case) -> Contents {
    let mut contents = Contents::new();
    for table in &case.tables {
        let dialect = installation.dialect;
        let columns = installation.texts(&match dialect {
            Dialect::Postgres => format!(
                "SELECT attname::text FROM pg_attribute WHERE attrelid = '{}'::regclass AND attnum > 0 ORDER BY attnum",
                ident(table).replace('\'', "''")
            ),
            Dialect::Mysql | Dialect::Mariadb => format!(
                "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = '{}' ORDER BY ordinal_position",
                table.replace('\'', "''")
            ),
        });
        let cast = match dialect {
            Dialect::Postgres => "text",
            Dialect::Mysql | Dialect::Mariadb => "char",
        };
        let list: Vec<String> = columns
            .iter()
            .map(|column| format!("CAST({} AS {cast})", ident(column)))
            .collect();
        for row in installation.rows(&format!("SELECT {} FROM {}", list.join(", "), ident(table))) {
            let number = row[0]
                .as_deref()
                .expect("a number")
                .parse()
                .expect("a number");
            let cells = columns.iter().cloned().zip(row).collect();
            contents.insert((table.clone(), number), cells);
        }
    }
    contents
}

fn load(installation: &mut Installation, case: &Case) -> Result<(), String> {
    // Some rows name what is not there, and foreign keys would have an order of their own.
    let (off, on) = match installation.dialect {
        Dialect::Postgres => (
            "SET session_replication_role = replica",
            "SET session_replication_role = origin",
        ),
        Dialect::Mysql | Dialect::Mariadb => {
            ("SET foreign_key_checks = 0", "SET foreign_key_checks = 1")
        }
    };
    installation.execute(&format!("{off};\n{}{on}", case.script));
    for hold in &case.holds {
        let mut options = hold.clone();
        // Some are of rows that are not there, and some have passed since.
        options["even_if_absent"] = json!(true);
        options.as_object_mut().expect("options").remove("until");
        let stored = installation
            .set_hold(options)
            .map_err(|error| format!("hold {hold}: {error:#}"))?;
        if !hold["until"].is_null() {
            installation.execute(&format!(
                "UPDATE W.hold SET until = '2020-01-01' WHERE rule = '{}' AND \"key\" = '{}'",
                stored["rule"].as_str().expect("a rule"),
                stored["key"].as_str().expect("a key").replace('\'', "''")
            ));
        }
    }
    Ok(())
}

fn check(installation: &mut Installation, case: &Case) -> Result<(), String> {
    load(installation, case)?;
    let before = contents(installation, case);
    let options = json!({"as_of": case.as_of});
    let preview = installation
        .preview(options.clone())
        .map_err(|error| format!("preview: {error:#}"))?;
    agree("preview", &preview, case)?;
    let dry = installation
        .run(json!({"as_of": case.as_of, "dry_run": true}))
        .map_err(|error| format!("dry run: {error:#}"))?;
    agree("dry run", &dry, case)?;
    same(
        "rows after the dry run",
        &before,
        &contents(installation, case),
    )?;

    let run = installation
        .run(options.clone())
        .map_err(|error| format!("run: {error:#}"))?;
    same("status of the run", &json!("done"), &run["status"])?;
    agree("run", &run, case)?;
    let mut after = before;
    after.retain(|(table, number), _| !case.gone.contains(&(table.clone(), *number)));
    for (table, number, column) in &case.nulled {
        for (name, value) in after
            .get_mut(&(table.clone(), *number))
            .into_iter()
            .flatten()
        {
            if name == column {
                *value = None;
            }
        }
    }
    same("rows after the run", &after, &contents(installation, case))?;
    let id = &run["run"];
    for (table, column, figure) in [
        ("run_rule", "families", "families"),
        ("run_table", "deleted_rows", "rows"),
    ] {
        let sum = installation.number(&format!(
            "SELECT coalesce(sum({column}), 0) FROM W.{table} WHERE run_id = {id}"
        ));
        let told: i64 = run["rules"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|rule| rule[figure].as_i64())
            .sum();
        same(&format!("{figure} in {table}"), &told, &sum)?;
    }

    let again = installation
        .run(options)
        .map_err(|error| format!("second run: {error:#}"))?;
    for rule in again["rules"].as_array().into_iter().flatten() {
        same("rows of the second run", &json!(0), &rule["rows"])?;
    }
    same(
        "rows after the second run",
        &after,
        &contents(installation, case),
    )
}

/// Whether a document says of every rule what the model says.
fn agree(who: &str, document: &Value, case: &Case) -> Result<(), String> {
    for (name, expected) in &case.rules {
        let rules = document["rules"].as_array().into_iter().flatten();
        let rule = rules
            .into_iter()
            .find(|rule| rule["rule"] == **name)
            .ok_or(format!("{who} says nothing of {name}"))?;
        for figure in ["families", "skipped"] {
            same(
                &format!("{who}: {figure} of {name}"),
                &expected[figure],
                &rule[figure],
            )?;
        }
        let mut tables = rule["tables"].clone();
        if let Some(tables) = tables.as_object_mut() {
            tables.retain(|_, rows| *rows != 0);
        }
        same(
            &format!("{who}: tables of {name}"),
            &expected["tables"],
            &tables,
        )?;
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!(
        "{what}\nexpected: {expected:?}\n   found: {found:?}"
    ))
}

/// Takes away what the difference does not need.
fn shrink(
    installation: &mut Installation,
    plan: &Plan,
    mut world: World,
    mut difference: String,
) -> (Case, String) {
    let started = Instant::now();
    let mut smaller = true;
    while smaller && started.elapsed() < SHRINKING {
        smaller = false;
        let size = |world: &World| {
            [
                world.rows.len(),
                world.holds.len(),
                world.policies.len(),
                world.definitions.len(),
            ]
        };
        for what in 0..4 {
            for index in (0..size(&world)[what]).rev() {
                let mut candidate = world.clone();
                match what {
                    0 => drop(candidate.rows.remove(index)),
                    1 => drop(candidate.holds.remove(index)),
                    2 => drop(candidate.policies.remove(index)),
                    _ => drop(candidate.definitions.remove(index)),
                }
                if let Err(found) = check(installation, &Case::new(plan, &candidate)) {
                    (world, difference) = (candidate, found);
                    smaller = true;
                }
            }
        }
    }
    (Case::new(plan, &world), difference)
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/worlds/cases")
}

fn save(case: &Case, name: &str) -> PathBuf {
    let path = folder().join(format!("{name}.json"));
    let text = serde_json::to_string_pretty(case).expect("a case is JSON");
    fs::write(&path, text).expect("the case can be saved");
    path
}
