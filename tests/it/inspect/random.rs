//! Catalogs that nobody has: a draft for any of them is a spec that fits, and what `check` says to add leads to one.

mod servers;

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use windrow::catalog::{Catalog, CatalogColumn, CatalogIndex, CatalogTable, ForeignKey};
use windrow::column::Epoch;
use windrow::diagnostic::{Colour, has_errors, render};
use windrow::dialect::{DIALECTS, Dialect};
use windrow::fit::{self, Finding, Severity};
use windrow::graph::Graph;
use windrow::inspect::draft;
use windrow::inspect::edges::{self, Share};
use windrow::inspect::ends::{Ends, State, Time};
use windrow::inspect::family::{self, Guesses};
use windrow::lint;

use crate::harness::tests;
use crate::support::effort::seeds;

tests! {
    within: [
        servers::tests,
    ],
    alone: [
        a_draft_for_any_catalog_fits_it,
        what_check_says_to_add_leads_to_a_spec_that_fits,
    ],
}

/// The schema of all these tables.
const HOME: &str = "app";

/// The types of keys, as each server prints them.
fn kinds(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Postgres => &[
            "integer",
            "bigint",
            "uuid",
            "text",
            "character varying(64)",
            "character(32)",
            "numeric(20,0)",
            "bytea",
            "smallint",
        ],
        Dialect::Mysql => &[
            "int",
            "bigint unsigned",
            "char(36)",
            "varchar(64)",
            "binary(16)",
            "decimal(20,0)",
            "smallint",
        ],
        Dialect::Mariadb => &[
            "int(11)",
            "bigint(20) unsigned",
            "uuid",
            "varchar(64)",
            "binary(16)",
            "decimal(20,0)",
        ],
    }
}

/// The types of keys that no spec can say.
fn odd_kinds(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Postgres => &["inet", "timestamp without time zone", "boolean"],
        Dialect::Mysql | Dialect::Mariadb => &["decimal(12,2)", "datetime", "time"],
    }
}

/// The types of times.
fn times(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Postgres => &[
            "timestamp without time zone",
            "timestamp(3) with time zone",
            "date",
            "bigint",
            "double precision",
        ],
        Dialect::Mysql | Dialect::Mariadb => {
            &["datetime(6)", "timestamp", "date", "bigint", "double"]
        }
    }
}

/// A random catalog, and its tables in their order.
struct Made {
    catalog: Catalog,
    names: Vec<String>,
}

fn column(name: &str, kind: &str, nullable: bool) -> CatalogColumn {
    let text = ["char", "text"].iter().any(|word| kind.contains(word));
    CatalogColumn {
        name: name.to_owned(),
        kind: kind.to_owned(),
        nullable,
        collation: text.then(|| "utf8mb4_bin".to_owned()),
        ..CatalogColumn::default()
    }
}

fn index(keys: &[&str], unique: bool) -> CatalogIndex {
    CatalogIndex {
        name: format!("on_{}", keys.join("_")),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        ordered: keys.len(),
        unique,
        valid: true,
        ready: true,
        ..CatalogIndex::default()
    }
}

impl Made {
    fn new(seed: u64) -> Made {
        let mut random = SmallRng::seed_from_u64(seed);
        Made::of(seed, *DIALECTS.choose(&mut random).expect("a server"))
    }

    fn of(seed: u64, dialect: Dialect) -> Made {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut made = Made {
            catalog: Catalog {
                dialect,
                version_num: 170_000,
                schema: HOME.to_owned(),
                schema_exists: true,
                sees_all: true,
                ..Catalog::default()
            },
            names: Vec::new(),
        };
        let words = [
            "run",
            "a \"b\"",
            "Größe.x",
            "order",
            "tick`s",
            "step",
            "JobRun",
            "task_instance",
            "flow run",
            "t_ds_note",
            "Audit Log",
            "archived",
            "lock",
            "job",
            "event_log",
            "a_name_that_is_longer_than_a_rule_may_be_called",
        ];
        for at in 0..random.random_range(2..7) {
            let number = if random.random_bool(0.1) {
                String::new()
            } else {
                at.to_string()
            };
            let name = format!("{}{number}", words.choose(&mut random).expect("a word"));
            let table = made.table(&mut random);
            made.catalog.tables.insert(name.clone(), table);
            made.names.push(name);
        }
        for _ in 0..random.random_range(1..9) {
            made.foreign_key(&mut random);
        }
        made
    }

    fn table(&self, random: &mut SmallRng) -> CatalogTable {
        let dialect = self.catalog.dialect;
        let kind = |random: &mut SmallRng| *kinds(dialect).choose(random).expect("a type");
        let mut table = CatalogTable {
            engine: Some("InnoDB".to_owned()),
            ..CatalogTable::default()
        };
        for name in ["id", "part"] {
            let odd = random.random_bool(0.05);
            let kind = if odd {
                *odd_kinds(dialect).choose(random).expect("a type")
            } else {
                kind(random)
            };
            table.columns.push(column(name, kind, false));
        }
        match random.random_range(0..10) {
            0 => {}
            1 | 2 => {
                table.primary_key = vec!["id".to_owned(), "part".to_owned()];
                table.indexes.push(index(&["id", "part"], true));
            }
            _ => {
                table.primary_key = vec!["id".to_owned()];
                table.indexes.push(index(&["id"], true));
                if random.random_bool(0.3) {
                    table.indexes.push(index(&["id", "part"], true));
                }
            }
        }
        if random.random_bool(0.3) {
            let name = *["code", "run key"].choose(random).expect("a name");
            let kind = kind(random);
            table
                .columns
                .push(column(name, kind, random.random_bool(0.5)));
            table.indexes.push(index(&[name], true));
        }
        if random.random_bool(0.7) {
            let kind = if dialect == Dialect::Postgres {
                "text"
            } else {
                "varchar(20)"
            };
            table
                .columns
                .push(column("status", kind, random.random_bool(0.3)));
        }
        for name in [
            "created_at",
            "startedAt",
            "ended at",
            "finished_at",
            "expires_at",
            "updated_at",
        ] {
            if random.random_bool(0.4) {
                let kind = *times(dialect).choose(random).expect("a type");
                table
                    .columns
                    .push(column(name, kind, random.random_bool(0.6)));
            }
        }
        table
    }

    fn foreign_key(&mut self, random: &mut SmallRng) {
        let child = self.names.choose(random).expect("a table").clone();
        let parent = self.names.choose(random).expect("a table").clone();
        let live = &self.catalog.tables[&parent];
        let unique: Vec<Vec<String>> = live
            .indexes
            .iter()
            .filter(|it| it.unique)
            .map(|it| it.keys.clone())
            .collect();
        let Some(target) = unique.choose(random).cloned() else {
            return;
        };
        let nullable = random.random_bool(0.5);
        let mut columns = Vec::new();
        for named in &target {
            let kind = live.column(named).expect("a column").kind.clone();
            columns.push((
                format!(
                    "{}_{named}{}",
                    parent.to_lowercase(),
                    random.random_range(0..3)
                ),
                kind,
            ));
        }
        // Keys may share a column, as those of tenants do, or be the same.
        for (name, kind) in &mut columns {
            let own = &self.catalog.tables[&child];
            let mut others = own.foreign_keys.iter().flat_map(|key| &key.columns);
            let like = others.find(|other| own.column(other).is_some_and(|it| it.kind == *kind));
            if let Some(like) = like.filter(|_| random.random_bool(0.2)) {
                name.clone_from(like);
            }
        }
        if columns.len() > 1 && columns[0].0 == columns[1].0 {
            return;
        }
        let table = self.catalog.tables.get_mut(&child).expect("a table");
        for (name, kind) in &columns {
            if table.column(name).is_none() {
                table.columns.push(column(name, kind, nullable));
            }
        }
        let names: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
        if random.random_bool(0.5) {
            let keys: Vec<&str> = names.iter().map(String::as_str).collect();
            table.indexes.push(index(&keys, false));
        }
        let mut effects = vec![
            "NO ACTION".to_owned(),
            "RESTRICT".to_owned(),
            "CASCADE".to_owned(),
            "CASCADE".to_owned(),
        ];
        // A key that sets a column that may not be NULL is an error of the application.
        if names
            .iter()
            .all(|name| table.column(name).is_some_and(|it| it.nullable))
        {
            effects.push("SET NULL".to_owned());
            if self.catalog.dialect == Dialect::Postgres {
                effects.push("SET DEFAULT".to_owned());
                if names.len() > 1 {
                    effects.push(format!("SET NULL ({})", names[0]));
                }
            }
        }
        // What stands aside in another schema has no table here.
        let aside = random.random_bool(0.05);
        let key = ForeignKey {
            name: format!("fk{}", random.random_range(0..1_000_000)),
            table: format!("{}.{child}", if aside { "aside" } else { HOME }),
            columns: names,
            target: format!("{HOME}.{parent}"),
            target_columns: target,
            on_delete: effects.choose(random).expect("an effect").clone(),
            on_update: "NO ACTION".to_owned(),
        };
        if table
            .foreign_keys
            .iter()
            .any(|it| it.columns == key.columns)
        {
            return;
        }
        if !aside {
            table.foreign_keys.push(key.clone());
        }
        let named = self.catalog.tables.get_mut(&parent).expect("a table");
        named.referenced_by.push(key);
    }
}

/// What rows could say of a root.
fn ends(catalog: &Catalog, root: &str, random: &mut SmallRng) -> Ends {
    let live = &catalog.tables[root];
    let numbers = live
        .columns
        .iter()
        .filter_map(|column| match column.kind.as_str() {
            "date" => Some((column.name.clone(), Epoch::Date)),
            "bigint" | "double" | "double precision" if column.name.contains("at") => {
                Some((column.name.clone(), Epoch::Milliseconds))
            }
            _ => None,
        });
    let mut ends = Ends::named(catalog, live, numbers.collect());
    let seen = ends
        .all_times(catalog, live)
        .into_iter()
        .map(|(name, _)| Time {
            column: name.to_owned(),
            rows: 40,
            filled: *[0, 20, 40].choose(random).expect("a number"),
            latest: random.random_range(0..40),
            ahead: *[0, 0, 10].choose(random).expect("a number"),
        });
    let seen: Vec<Time> = seen.collect();
    ends.see(catalog, live, seen);
    if random.random_bool(0.8) && (ends.end.is_some() || ends.state.is_some()) {
        ends.states = ["done", "running", "failed"]
            .map(|state| State {
                value: ends.state.as_ref().map(|_| state.to_owned()),
                rows: 10,
                ended: ends
                    .end
                    .as_ref()
                    .map(|_| *[0, 5, 10].choose(random).expect("a number")),
                others: Vec::new(),
            })
            .into();
    }
    ends
}

/// The graph of a spec that must have no errors.
#[track_caller]
fn graph(text: &str, seed: u64) -> Graph {
    let (graph, diagnostics) = lint::load(text);
    assert!(
        !has_errors(&diagnostics),
        "seed {seed}: {}\n{text}",
        render(&diagnostics, "draft.toml", text, Colour::Never)
    );
    graph.expect("a graph")
}

/// What is wrong with a spec for a catalog: what an installation does not mend.
fn wrong(graph: &Graph, catalog: &Catalog) -> Vec<Finding> {
    let mut found = fit::compare(graph, catalog);
    found.retain(|finding| finding.severity != Severity::Notice);
    found
}

/// What no spec can say, so that somebody has to decide: the draft asks, by the name of the foreign key.
fn is_said(code: &str, message: &str, text: &str) -> bool {
    let (_, rest) = message.split_once("` by `").unwrap_or_default();
    let key = rest.split('`').next().unwrap_or_default();
    let mut questions = text.lines().filter(|line| line.starts_with("# ? "));
    match code {
        "unlisted-reference" => !key.is_empty() && questions.any(|line| line.contains(key)),
        // Of numbers of which one has a sign, the rows say whether they fit.
        "nullable-key" => {
            let keys = message.split("NULL: ").nth(1).unwrap_or_default();
            let (key, _) = keys.rsplit_once(" is not").unwrap_or_default();
            !key.is_empty() && questions.any(|line| line.contains(&format!(".{key} be NOT NULL?")))
        }
        "sign-differs" => questions.any(|line| line.starts_with("# ? guessed by its name")),
        _ => false,
    }
}

fn a_draft_for_any_catalog_fits_it() {
    let (mut drafts, mut edges, mut asked, mut refused) = (0, 0, 0, 0);
    for seed in seeds("catalogs", None, 500) {
        let made = Made::new(seed);
        let mut random = SmallRng::seed_from_u64(seed);
        let guesses = Guesses::new(&made.catalog);
        for root in &made.names {
            let ends = ends(&made.catalog, root, &mut random);
            let family = family::find(&made.catalog, &guesses, root, &mut |_| Share {
                values: 30,
                found: *[0, 15, 30].choose(&mut random).expect("a number"),
                ended: None,
                ..Share::default()
            });
            let text = match draft::write(&made.catalog, &family, &ends, Some(100)) {
                Ok(text) => text,
                Err(why) => {
                    assert!(
                        why.starts_with("the key `") || why.starts_with("the table `"),
                        "seed {seed}: {why}"
                    );
                    refused += 1;
                    continue;
                }
            };
            let graph = graph(&text, seed);
            drafts += 1;
            edges += graph
                .tables
                .iter()
                .map(|table| table.edges.len())
                .sum::<usize>();
            for finding in wrong(&graph, &made.catalog) {
                assert!(
                    is_said(finding.code, &finding.message, &text),
                    "seed {seed}, {root}: {finding}\n{text}"
                );
                asked += 1;
            }
        }
    }
    assert!(
        drafts > 300 && edges * 2 > drafts && (10..edges).contains(&asked),
        "{drafts} {edges} {asked}"
    );
    assert!(refused < drafts, "{refused} {drafts}");
}

/// A spec as somebody writes it who follows what he is told.
struct Followed<'a> {
    catalog: &'a Catalog,
    root: String,
    rule: String,
    parents: BTreeMap<String, Vec<String>>,
}

impl Followed<'_> {
    fn is_known(&self, live: &CatalogTable, column: &str) -> bool {
        let column = live.column(column).expect("a column");
        fit::key_kind(self.catalog.dialect, column).is_some()
    }

    /// Whether rows are to keep others no longer, as they are deleted with them.
    fn lets_go(&mut self, text: &str) -> bool {
        let (_, diagnostics) = lint::load(text);
        let mut found = diagnostics.iter().filter(|it| it.code == "keeper-goes");
        let told = |table: &str, message: &str| {
            message.starts_with(&format!("rows of `{}` are deleted", table.escape_debug()))
        };
        found.any(|finding| {
            let mut tables = self.parents.iter_mut();
            let table = tables.find(|(table, _)| told(table, &finding.message));
            let (_, parents) = table.expect("a table");
            for parent in parents.iter_mut() {
                *parent = parent.trim_end_matches(" restrict").to_owned();
            }
            true
        })
    }

    fn text(&self) -> String {
        let mut text =
            format!("name = \"followed\"\nschema = \"{HOME}\"\ndatabase = \"{HOME}\"\n[tables]\n");
        let string = |text: &str| toml::Value::from(text).to_string();
        for (table, parents) in &self.parents {
            let live = &self.catalog.tables[table];
            let typed = |keys: &[String]| {
                let typed = keys.iter().map(|key| {
                    let dialect = self.catalog.dialect;
                    let kind = fit::live_kind(dialect, live.column(key).expect("a column"));
                    let kind = kind.map_or("varchar", |kind| fit::kind_name(kind, dialect));
                    if key.contains(' ') {
                        format!("\"{key}\" {kind}")
                    } else {
                        format!("{key} {kind}")
                    }
                });
                string(&typed.collect::<Vec<_>>().join(", "))
            };
            let mut fields = Vec::new();
            if let Some(key) = edges::key(self.catalog, table) {
                fields.push(format!("key = {}", typed(std::slice::from_ref(key))));
                let unique = live
                    .indexes
                    .iter()
                    .filter(|it| it.unique && it.keys != [key.clone()])
                    .filter(|it| it.keys.iter().all(|key| self.is_known(live, key)));
                let unique: Vec<String> = unique.map(|it| typed(&it.keys)).collect();
                fields.push(format!("unique = [{}]", unique.join(", ")));
            }
            let parents: Vec<String> = parents.iter().map(|edge| string(edge)).collect();
            fields.push(format!("parents = [{}]", parents.join(", ")));
            let deletes =
                |edge: &&String| !edge.contains(" restrict") && !edge.contains(" set null");
            if parents.iter().filter(deletes).count() > 1 {
                fields.push("with = \"all\"".to_owned());
            }
            text += &format!("{} = {{ {} }}\n", string(table), fields.join(", "));
        }
        text + &self.rule
    }
}

fn what_check_says_to_add_leads_to_a_spec_that_fits() {
    let (mut fitted, mut steps) = (0, 0);
    for seed in seeds("catalogs that are followed", None, 500) {
        let made = Made::new(seed);
        let Some(root) = made
            .names
            .iter()
            .find(|name| edges::key(&made.catalog, name).is_some())
        else {
            continue;
        };
        let mut spec = Followed {
            catalog: &made.catalog,
            root: root.clone(),
            rule: format!(
                "[rules.followed]\nstrategy = \"end-time\"\nroot = {}\nfinal = {{ id = {{ null = false }} }}\nend_time = \"end\"\n\
                 retention = {{ default = \"30d\" }}\n",
                toml::Value::from(root.as_str())
            ),
            parents: BTreeMap::from([(root.clone(), Vec::new())]),
        };
        let mut seen = BTreeSet::new();
        loop {
            let text = spec.text();
            assert!(seen.insert(text.clone()), "seed {seed}: a circle\n{text}");
            if spec.lets_go(&text) {
                steps += 1;
                continue;
            }
            let graph = graph(&text, seed);
            let found = wrong(&graph, spec.catalog);
            let next = found.iter().find_map(|finding| {
                let (before, rest) = finding
                    .help
                    .split_once(" among the `parents` of `")
                    .or_else(|| finding.help.split_once(" to the `parents` of `"))?;
                let edge = before
                    .rsplit_once("add `")
                    .or_else(|| before.rsplit_once("with `"))?
                    .1
                    .trim_end_matches('`');
                // A name may have such a sign itself.
                let named = made.names.iter();
                let table = named.filter(|name| rest.starts_with(&format!("{name}`")));
                let table = table.max_by_key(|name| name.len())?;
                Some((table.clone(), edge.to_owned()))
            });
            let Some((table, edge)) = next else {
                break;
            };
            let parents = spec.parents.entry(table).or_default();
            assert!(
                !parents.contains(&edge),
                "seed {seed}: {edge} once more\n{text}"
            );
            parents.push(edge);
            steps += 1;
        }
        assert!(!spec.root.is_empty());
        fitted += 1;
    }
    assert!(fitted > 100 && steps > 100, "{fitted} {steps}");
}
