//! Whatever a database lacks: what is left keeps what it kept.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::*;
use crate::catalog::{CatalogColumn, CatalogTable};
use crate::graph::{Action, Rule, Single, Table, Test, With};
use crate::spec::SHIPPED;

/// The shipped specs, and two that say more.
fn specs() -> impl Iterator<Item = &'static str> {
    SHIPPED.into_iter().chain([OPTIONAL, WAITS])
}

/// Everything that may be absent, in every way of writing.
const OPTIONAL: &str = r#"
name = "optional"

[tables]
run = { key = "id integer" }
step = { key = "id integer", parents = ["run_id -> run.id", "part_id -> part.id optional"], with = "any", indexed = ["run_id", "part_id"] }
hold = { optional = true, parents = ["run_id -> run.id restrict"] }
mark = { parents = ["run_id -> run.id set null", "step_id -> step.id restrict optional"] }
task = { parents = ["run_id -> run.id", "part_id -> part.id"], with = "any", final = { done = true, "run_id -> run.over" = true } }
link = { optional = true, parents = ["upper -> run.id", "lower -> run.id"], with = "any" }
kind = { optional = true, key = "id integer" }
note = { key = "id integer", parents = ["part_id -> part.id"], kept = { sort = "x" } }

[tables.part]
optional = true
key = "id integer"
# The run of a part.
parents = [
    "run_id -> run.id",   # always
]

[rules.runs]
strategy = "end-time"
root = "run"
candidates = { top = true }
final = { state = ["done"] }
end_time = "ended_at"
hierarchy = ["link: upper -> lower"]
retention = { default = "30d", per = "tenant integer" }
keep = [
    { newest = 1, per = "tenant integer", by = "ended_at" },
    { newest = 2, per = "tenant integer", by = "ended_at", of = { place = "x", lot = { null = true } }, optional = true },
]
artifacts = [{ table = "step", path = "path" }, { table = "part", path = "path" }]
archive = ["run", "part"]

[rules.runs.report.run]
parts = "rows of part"
runs = "rows of run"

[rules.kinds]
optional = true
strategy = "orphan"
root = "kind"
needs = ["id -> run.kind_id"]
at_once = true

[rules.notes]
strategy = "orphan"
root = "note"
needs = ["run_id -> run.id"]
candidates = { sort = "x" }
where_sql = "{root}.lot = 1"
at_once = true
"#;

/// Rows that wait for those of a table that may be out of reach.
const WAITS: &str = r#"
name = "waits"
[tables]
run = { key = "id integer" }
part = { optional = true, key = "id integer", parents = ["run_id -> run.id"] }
bit = { key = "id integer", parents = ["part_id -> part.id"] }
pair = { parents = ["run_id -> run.id", "bit_id -> bit.id"] }
[rules.runs]
strategy = "end-time"
root = "run"
final = { state = ["done"] }
end_time = "ended_at"
retention = { default = "30d" }
"#;

/// A database with all tables of a spec, each with every column of it, but for these.
fn catalog(graph: &Graph, tables: &BTreeSet<String>, columns: &BTreeSet<String>) -> Catalog {
    let names: BTreeSet<String> = graph.names().into_iter().collect();
    let named = |table: &str| -> Vec<CatalogColumn> {
        let there = names
            .iter()
            .filter(|name| !columns.contains(&format!("{table}.{name}")));
        let there = there.map(|name| CatalogColumn {
            name: name.clone(),
            // No type that a spec knows: none is mended.
            kind: "jsonb".to_owned(),
            ..CatalogColumn::default()
        });
        there.collect()
    };
    let mut there: BTreeSet<String> = graph.tables.iter().map(|it| it.name.clone()).collect();
    for rule in &graph.rules {
        there.extend(rule.definitions().map(|it| it.table.clone()));
        let needs = rule.single().into_iter().flat_map(Single::needs);
        there.extend(needs.map(|it| it.table.clone()));
        let references = rule.timed().into_iter().flat_map(|it| &it.references);
        there.extend(references.map(|it| it.table.clone()));
    }
    let there = there.iter().filter(|name| !tables.contains(*name));
    let there: BTreeMap<String, CatalogTable> = there
        .map(|name| {
            let table = CatalogTable {
                columns: named(name),
                ..CatalogTable::default()
            };
            (name.clone(), table)
        })
        .collect();
    Catalog {
        schema: "public".to_owned(),
        schema_exists: true,
        tables: there,
        ..Catalog::default()
    }
}

fn graph_of(text: &str) -> Graph {
    read(text).unwrap_or_else(|why| panic!("{why}\n{text}")).1
}

fn table<'a>(graph: &'a Graph, name: &str) -> Option<&'a Table> {
    graph.tables.iter().find(|table| table.name == name)
}

/// The edges of a table by which rows are kept or deleted: columns, parent, and what happens to the row.
fn edges(graph: &Graph, of: &Table) -> BTreeSet<(String, String, Action2)> {
    let edges = of.edges.iter();
    edges
        .map(|edge| {
            let action = match edge.action {
                Action::Delete => Action2::Delete,
                Action::Restrict => Action2::Restrict,
                Action::SetNull => Action2::SetNull,
            };
            (
                edge.columns(),
                graph.table(edge.parent).name.clone(),
                action,
            )
        })
        .collect()
}

/// Whether one of the specs above says that an edge may be absent.
fn is_optional(graph: &Graph, table: &Table, edge: &crate::graph::Edge) -> bool {
    let name = format!("{} -> {}", edge.columns(), graph.table(edge.parent).name);
    graph.name == "optional"
        && [("step", "part_id -> part"), ("mark", "step_id -> step")]
            .contains(&(table.name.as_str(), name.as_str()))
}

/// [`Action`], which has no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action2 {
    Delete,
    Restrict,
    SetNull,
}

/// What says which rows of a rule are deleted.
fn conditions(rule: &Rule) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?}",
        rule.candidates,
        rule.r#final,
        rule.where_sql,
        rule.end_time,
        rule.otherwise,
        rule.retention
    )
}

/// Asserts that nothing is deleted by a spec that is kept by the one that it was made of.
fn keeps_as_much(before: &Graph, after: &Graph, catalog: &Catalog, told: &str) {
    for rule in &after.rules {
        let same = before.rules.iter().find(|other| other.name == rule.name);
        let same = same.expect("a rule of the spec");
        assert_eq!(conditions(rule), conditions(same), "{told}");
        let kept = |rule: &Rule| -> BTreeSet<String> {
            rule.newest
                .iter()
                .map(|newest| format!("{newest:?}"))
                .collect()
        };
        // Only where all of these columns are there, a `keep` keeps something; without one of its conditions it keeps more.
        let Some(root) = catalog.tables.get(&before.table(same.root).name) else {
            // It is not left out, so that a comparison finds it missing.
            continue;
        };
        for newest in &same.newest {
            let asked = newest.of.iter().filter(|it| !matches!(it.test, Test::Null));
            let mut columns = newest.columns().chain(asked.map(|it| &it.column));
            let can = columns.all(|column| root.column(&column.name).is_some());
            let whole = newest
                .of
                .iter()
                .all(|it| root.column(&it.column.name).is_some());
            // Those that the specs above say may be absent.
            let optional = ["partition_", "\"place\""];
            let shown = format!("{newest:?}");
            let optional = optional.iter().any(|word| shown.contains(word));
            if can && whole || !optional {
                assert!(
                    kept(rule).contains(&format!("{newest:?}")),
                    "{newest:?}\n{told}"
                );
            } else if can {
                assert!(
                    rule.newest
                        .iter()
                        .any(|it| it.count == newest.count && it.of.len() < newest.of.len()),
                    "{newest:?}\n{told}"
                );
            }
        }
        for link in &same.hierarchy {
            let name = &before.table(link.table).name;
            assert!(
                !catalog.tables.contains_key(name)
                    || rule
                        .hierarchy
                        .iter()
                        .any(|it| after.table(it.table).name == *name),
                "{name}\n{told}"
            );
        }
    }
    for original in &before.tables {
        let live = catalog.tables.get(&original.name);
        let Some(now) = table(after, &original.name) else {
            continue;
        };
        let left = edges(after, now);
        for edge in &original.edges {
            let parent = &before.table(edge.parent).name;
            let there = live.is_some_and(|live| {
                edge.pairs()
                    .all(|(column, _)| live.column(&column.name).is_some())
            });
            let stays = edges(before, original)
                .into_iter()
                .filter(|(columns, of, _)| *columns == edge.columns() && of == parent)
                .all(|edge| left.contains(&edge));
            // One that waits for several parents is deleted with fewer of them only where the others are absent.
            let holds = edge.alone || original.with == With::All && original.parents().count() > 1;
            assert!(
                stays
                    || !there && is_optional(before, original, edge)
                    || table(after, parent).is_none()
                        && !(holds && catalog.tables.contains_key(parent)),
                "{} {} {parent}\n{told}",
                original.name,
                edge.columns()
            );
        }
        if now.parents().next().is_some() {
            assert_eq!(now.kept, original.kept, "{}\n{told}", original.name);
        }
        if !original.r#final.is_empty() && now.parents().next().is_some() {
            let same = now.r#final.own.len() == original.r#final.own.len()
                && now.r#final.named.len() == original.r#final.named.len();
            let none = now.parents().all(|edge| {
                let mut own = now.r#final.own.iter();
                own.any(|it| it.column.name == edge.column.name && matches!(it.test, Test::Null))
            });
            assert!(same || none, "{}\n{told}", original.name);
        }
    }
}

#[test]
fn nothing_goes_that_stayed() {
    let seed = 20_26;
    let random = &mut SmallRng::seed_from_u64(seed);
    let (mut fitted, mut less) = (0, 0);
    for text in specs() {
        let before = graph_of(text);
        let names: Vec<String> = before.names();
        for _ in 0..12 {
            let share = [0.02, 0.1, 0.4][random.random_range(0..3)];
            let mut tables = BTreeSet::new();
            let mut columns = BTreeSet::new();
            for table in &before.tables {
                if random.random_bool(share) {
                    tables.insert(table.name.clone());
                }
                for name in &names {
                    if random.random_bool(share / 10.0) {
                        columns.insert(format!("{}.{name}", table.name));
                    }
                }
            }
            let catalog = catalog(&before, &tables, &columns);
            for mode in [Mode::Strict, Mode::Draft] {
                let Ok(adapted) = adapt(text, &catalog, &BTreeSet::new(), mode) else {
                    continue;
                };
                let told = format!("{mode:?}\n{tables:?}\n{columns:?}\n{}", adapted.text);
                keeps_as_much(&before, &adapted.graph, &catalog, &told);
                // What is absent and keeps rows is still asked for, unless the spec says otherwise.
                for table in before
                    .tables
                    .iter()
                    .filter(|table| tables.contains(&table.name))
                {
                    let optional = text.lines().any(|line| {
                        line.starts_with(&format!("{} ", table.name))
                            && line.contains("optional = true")
                            || line == format!("[tables.{}]", table.name)
                    });
                    let keeps = table.keeps().next().is_some() || !table.r#final.is_empty();
                    let strict = mode == Mode::Strict || keeps;
                    let left = adapted.graph.tables.iter().any(|it| it.name == table.name);
                    let unreached = adapted.changes.iter().any(|change| {
                        change.what == format!("table \"{}\"", table.name)
                            && change.why.contains("rule reaches it")
                    });
                    assert!(
                        !strict || optional || left || unreached,
                        "{}\n{told}",
                        table.name
                    );
                }
                fitted += 1;
                less += usize::from(adapted.text != text);
            }
        }
    }
    assert!(fitted > 120 && less > 60, "{fitted} {less}");
}

#[test]
fn a_spec_that_fits_is_not_touched() {
    for text in specs() {
        let catalog = catalog(&graph_of(text), &BTreeSet::new(), &BTreeSet::new());
        let adapted = adapt(text, &catalog, &BTreeSet::new(), Mode::Strict).expect("a spec");
        assert_eq!(adapted.text, text);
        assert!(adapted.changes.is_empty() && adapted.wrong.is_empty());
    }
}

#[test]
fn what_is_left_out_goes_with_all_that_hangs_on_it() {
    let before = graph_of(OPTIONAL);
    let absent = ["part", "link", "hold", "kind"].map(str::to_owned).into();
    let columns = ["mark.step_id", "run.place"].map(str::to_owned).into();
    let catalog = catalog(&before, &absent, &columns);
    let adapted = adapt(OPTIONAL, &catalog, &BTreeSet::new(), Mode::Strict).expect("a spec");
    let whole = adapted.text.clone();
    let (tables, rules) = whole.split_once("[rules.runs]").expect("a rule");
    assert_eq!(
        tables,
        r#"
name = "optional"

[tables]
run = { key = "id integer" }
# left out: "part_id -> part.id optional" of "step": `part` is left out
step = { key = "id integer", parents = ["run_id -> run.id"], indexed = ["run_id"] }
# left out: table "hold": not in this database
# left out: "step_id -> step.id restrict optional" of "mark": the column `step_id` is not in this database
mark = { parents = ["run_id -> run.id set null"] }
# left out: "part_id -> part.id" of "task": `part` is left out
task = { parents = ["run_id -> run.id"], final = { done = true, "run_id -> run.over" = true } }
# left out: table "link": not in this database
# left out: table "kind": not in this database
# left out: "part_id -> part.id" of "note": `part` is left out
note = { key = "id integer" }

# left out: table "part": not in this database

"#
    );
    assert_eq!(
        rules,
        r#"
strategy = "end-time"
root = "run"
candidates = { top = true }
final = { state = ["done"] }
end_time = "ended_at"
# left out: "link: upper -> lower" of `hierarchy` of rule "runs": `link` is left out
retention = { default = "30d", per = "tenant integer" }
keep = [
    { newest = 1, per = "tenant integer", by = "ended_at" },
    # left out: a `keep` of rule "runs": `place` is not in this database, so it keeps no row
]
artifacts = [{ table = "step", path = "path" }]
archive = ["run"]

[rules.runs.report.run]
runs = "rows of run"

# left out: rule "kinds": its rows belong to `kind`, which is not in this database

[rules.notes]
strategy = "orphan"
root = "note"
needs = ["run_id -> run.id"]
candidates = { sort = "x" }
where_sql = "{root}.lot = 1"
at_once = true
"#
    );
}

#[test]
fn what_others_wait_for_is_not_out_of_reach() {
    let absent = ["part".to_owned()].into();
    let catalog = catalog(&graph_of(WAITS), &absent, &BTreeSet::new());
    for mode in [Mode::Strict, Mode::Draft] {
        let why = adapt(WAITS, &catalog, &BTreeSet::new(), mode).expect_err("no spec");
        assert!(
            why.starts_with("`bit` does not belong to the root of any rule"),
            "{why}"
        );
    }
}
