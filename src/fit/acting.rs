//! What the server would do by itself when a row of a covered table is deleted: foreign keys, rules, tables that
//! inherit, triggers.
//! The same questions are asked again by `strangers()` in the database, before a run and in every batch.

use std::collections::{BTreeMap, BTreeSet};

use super::columns::are_unsaid;
use super::finding::{Finding, error, notice, warning};
use super::kinds::small;
use crate::catalog::{Catalog, CatalogTable, ForeignKey, Trigger};
use crate::dialect::Dialect;
use crate::graph::{ACTING, Action, Edge, Graph, KnownKey, Table, TableId};
use crate::{plan, render};

/// Adds what acts on the tables whose rows are deleted and is not in the spec.
pub(super) fn compare(graph: &Graph, catalog: &Catalog, found: &mut Vec<Finding>) {
    let known = graph.known_keys();
    let going = going(graph);
    for (table, at) in graph.tables.iter().zip(0..) {
        let Some(live) = catalog.tables.get(&table.name) else {
            continue;
        };
        let goes = going.contains(&TableId(at));
        let sets = render::sets(graph, TableId(at), catalog.dialect);
        if goes {
            for key in keys_on(catalog, &table.name) {
                if let Some(finding) = key_finding(graph, catalog, &known, table, key) {
                    found.push(finding);
                }
            }
            rules(table, &live.rules, "DELETE", found);
        }
        if !sets.is_empty() {
            for key in keys_on(catalog, &table.name) {
                found.extend(set_finding(catalog, table, live, &sets, key));
            }
            rules(table, &live.update_rules, "UPDATE", found);
        }
        if goes && live.versioned {
            versioned(table, found);
        }
        if goes || !sets.is_empty() {
            triggers(graph, catalog, table, live, goes, &sets, found);
            for part in &live.foreign_partitions {
                let message = format!(
                    "is a foreign table and a partition of `{}`: its rows do not come back with a rollback",
                    table.name
                );
                found.push(error("foreign-partition", part, message).help(
                    "detach it with ALTER TABLE … DETACH PARTITION; runs and `arm` refuse until then",
                ));
            }
            for child in &live.children {
                let message = format!(
                    "inherits from `{}`: its rows would count as rows of that table",
                    table.name
                );
                found.push(error("inheritance", child, message).help(format!(
                    "ALTER TABLE {child} NO INHERIT {}, or make it a partition",
                    table.name
                )));
            }
        }
    }
    unseen_triggers(graph, catalog, &going, found);
    if catalog.dialect != Dialect::Postgres && !catalog.sees_all {
        let message = "this account cannot see all tables of other databases and their foreign keys to these tables";
        found.push(
            notice("unseen-databases", &catalog.schema, message.to_owned())
                .help("GRANT REFERENCES ON *.* TO this account: it shows foreign keys, and no row"),
        );
    }
}

/// The tables from which some rule deletes.
fn going(graph: &Graph) -> BTreeSet<TableId> {
    let plan = plan::make(graph);
    let steps = plan.purges.iter().flat_map(|purge| &purge.steps);
    steps.map(|step| step.table).collect()
}

/// The foreign keys that name a table, one of its partitions, or one of which it is a partition.
fn keys_on<'a>(catalog: &'a Catalog, name: &'a str) -> impl Iterator<Item = &'a ForeignKey> {
    let above = |name: &&str| catalog.tables.get(*name)?.partition_of.as_deref();
    let wholes = move |name: &'a str| std::iter::successors(Some(name), above);
    let parts = catalog.tables.keys().map(String::as_str);
    let parts = parts.filter(move |part| *part != name && wholes(part).any(|whole| whole == name));
    let tables = wholes(name).chain(parts);
    let tables = tables.filter_map(|table| catalog.tables.get(table));
    tables.flat_map(|table| &table.referenced_by)
}

fn rules(table: &Table, rules: &[String], event: &str, found: &mut Vec<Finding>) {
    for rule in rules {
        let message =
            format!("the rule `{rule}` acts on {event}, in addition to windrow or instead of it");
        found.push(error("rule", &table.name, message).help(format!(
            "DROP RULE {rule} ON {}; what it does can be a trigger, or an edge of the spec",
            table.name
        )));
    }
}

/// What there is to say of a foreign key that acts when what it names is set.
fn set_finding(
    catalog: &Catalog,
    parent: &Table,
    live: &CatalogTable,
    sets: &[&str],
    key: &ForeignKey,
) -> Option<Finding> {
    // What is made of other columns, or is set to the time of each UPDATE, is set with them.
    let made = |column: &str| {
        live.column(column)
            .is_some_and(|it| it.generated || it.on_update)
    };
    let mut named = key.target_columns.iter();
    let set = named.find(|column| sets.contains(&column.as_str()) || made(column))?;
    // Before version 15 a row that moves to another partition is deleted, for the keys that name it.
    let moves = catalog.dialect == Dialect::Postgres
        && catalog.version_num < 150_000
        && moving(live, sets).is_some();
    let effects = [Some(&key.on_update), Some(&key.on_delete).filter(|_| moves)];
    let mut effects = effects.into_iter().flatten();
    let effect = match effects.find(|effect| ACTING.contains(&effect.as_str())) {
        Some(effect) => effect,
        // No handler of MariaDB sees the error of an UPDATE that joins tables.
        None if catalog.dialect == Dialect::Mariadb => &key.on_update,
        None => return None,
    };
    let own = key.table.strip_prefix(&catalog.schema);
    let own = own.and_then(|rest| rest.strip_prefix('.'));
    let message = format!(
        "references `{}` by `{}` ({}, on update {}), and windrow sets `{set}`",
        parent.name,
        key.name,
        key.columns.join(", "),
        effect.to_lowercase()
    );
    Some(
        error("unlisted-reference", own.unwrap_or(&key.table), message).help(
            match catalog.dialect {
                Dialect::Mariadb => "drop the key, or let it refer to other columns",
                _ => "change the key to ON UPDATE NO ACTION, or let it refer to other columns",
            },
        ),
    )
}

/// A column that is set and says to which partition a row belongs, so that the server moves the row.
fn moving<'a>(live: &CatalogTable, sets: &[&'a str]) -> Option<&'a str> {
    let says = |set: &&str| live.partition_columns.iter().any(|column| column == set);
    sets.iter().copied().find(says)
}

/// What there is to say of a foreign key; nothing where the spec accounts for it.
fn key_finding(
    graph: &Graph,
    catalog: &Catalog,
    known: &[KnownKey],
    parent: &Table,
    key: &ForeignKey,
) -> Option<Finding> {
    let own = key
        .table
        .strip_prefix(&catalog.schema)
        .and_then(|rest| rest.strip_prefix('.'));
    let name = own.unwrap_or(&key.table);
    let behind = own.and_then(|name| behind(known, name, parent, key));
    // `SET NULL (column)` sets some of the columns only.
    let whole = key.on_delete.split(" (").next().unwrap_or_default();
    let acts = ACTING.contains(&whole);
    let allowed = |edge: &KnownKey| {
        !acts
            || edge.effects.contains(&whole)
                && (whole == key.on_delete || edge.effects.len() == ACTING.len())
    };
    let message = format!(
        "references `{}` by `{}` ({}, on delete {})",
        parent.name,
        key.name,
        key.columns.join(", "),
        key.on_delete.to_lowercase()
    );
    if let Some(help) = behind.and_then(|edge| does_to_kept(graph, edge, acts)) {
        let message = message + ", and its rows are kept when that row is deleted";
        return Some(error("kept-reference", name, message).help(help));
    }
    if behind.is_some_and(allowed) {
        return None;
    }
    let edge = |action: &str| edge_of(parent, key, action);
    let ignored = graph
        .ignored
        .iter()
        .any(|ignored| own == Some(&ignored.table));
    if !acts && ignored {
        // That it keeps families is meant so.
        return None;
    }
    let keyless = parent.key.is_empty();
    let unsaid = own.is_some_and(|own| is_unsaid(catalog, own, parent, key));
    let circle = own.is_some_and(|own| is_above(graph, own, parent));
    if !acts {
        let help = for_refusing(graph, catalog, own, parent, key);
        return Some(warning("unlisted-reference", name, message).help(help));
    }
    let help = if behind.is_some_and(|edge| edge.effects.is_empty()) {
        "it would act on rows that the spec keeps: change the key to NO ACTION".to_owned()
    } else if behind.is_some() {
        "the spec says `set null` for these columns: change the key to ON DELETE SET NULL, or remove `set null`, so that \
         the rows are deleted"
            .to_owned()
    } else if own.is_none() {
        "windrow covers tables of one schema or database: change the key to NO ACTION there, or drop it".to_owned()
    } else if unsaid {
        "specs have no edges of columns of these types: change the key to NO ACTION, or drop it"
            .to_owned()
    } else if keyless && (whole != "CASCADE" || !is_around(parent, key)) {
        unnameable(parent)
    } else if whole == "SET DEFAULT" {
        "windrow sets no defaults: change the key to NO ACTION or SET NULL, and add it to the spec"
            .to_owned()
    } else if whole == "SET NULL" {
        let shared = is_shared(graph, catalog, name, key);
        // Another key says that its rows are deleted: so will the spec.
        let goes =
            own.is_some_and(|own| goes(graph, own)) || shared && is_taken(graph, catalog, name);
        instead_of_null(name, key, goes, shared, circle, edge)
    } else if circle {
        instead_of_circle(graph, name, parent, key)
    } else {
        format!(
            "add {} to the `parents` of `{name}`, so that deletions of its rows are counted, or change the key to NO ACTION",
            edge("")
        )
    };
    Some(error("unlisted-reference", name, message).help(if ignored {
format!("an ignored table keeps its rows, and this key prevents that: move it from [ignore] to [tables], and {help}")
} else {
help
}))
}

/// A foreign key as an edge of the spec.
fn edge_of(parent: &Table, key: &ForeignKey, action: &str) -> String {
    let (columns, named) = (all(&key.columns), all(&key.target_columns));
    match key.columns.as_slice() {
        [_] => format!("`{columns} -> {}.{named}{action}`", small(&parent.name)),
        _ => format!("`{columns} -> {}({named}){action}`", small(&parent.name)),
    }
}

fn all(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| small(name)).collect();
    names.join(", ")
}

/// What helps against a foreign key that refuses; `own`: its table, if that is in the schema.
fn for_refusing(
    graph: &Graph,
    catalog: &Catalog,
    own: Option<&str>,
    parent: &Table,
    key: &ForeignKey,
) -> String {
    let edge = |action: &str| edge_of(parent, key, action);
    let name = own.unwrap_or(&key.table);
    let circle = own.is_some_and(|own| is_above(graph, own, parent));
    match parent.key.is_empty() {
            _ if own.is_none() => {
                "families that it refers to cannot be deleted, and would FAIL: windrow covers tables of one schema or database; drop the key \
                 there"
                    .to_owned()
            }
            _ if own.is_some_and(|own| is_unsaid(catalog, own, parent, key)) => {
                "families that it refers to cannot be deleted, and would FAIL: specs have no edges of columns of these types; drop the key"
                    .to_owned()
            }
            false if circle => in_a_circle(graph, catalog, name, key, edge),
            false if own.is_some_and(|own| goes(graph, own)) => format!(
                "families that it refers to cannot be deleted before it, and would FAIL; with {} among the `parents` of `{name}` its \
                 rows are deleted with them, too",
                edge("")
            ),
            false => format!(
                "families that it refers to cannot be deleted, and would FAIL; with {} among the `parents` of `{name}` they \
                 are kept as REFERENCED",
                edge(" restrict")
            ),
            true if is_around(parent, key) => format!("with {} among the `parents` of `{name}` its rows are deleted with them", edge("")),
            true => unnameable(parent),
    }
}

/// Whether a column of a foreign key has a type that a spec cannot say of an edge.
fn is_unsaid(catalog: &Catalog, own: &str, parent: &Table, key: &ForeignKey) -> bool {
    let unsaid = |table: &str, columns: &[String]| {
        let live = catalog.tables.get(table);
        live.is_some_and(|live| are_unsaid(catalog.dialect, live, columns))
    };
    unsaid(own, &key.columns) || unsaid(&parent.name, &key.target_columns)
}

/// What helps where a foreign key deletes, and its rows are those that the other belongs to.
fn instead_of_circle(graph: &Graph, name: &str, parent: &Table, key: &ForeignKey) -> String {
    if name == parent.name && is_root(graph, parent) && refers_by_key(parent, key) {
        format!(
            "write `hierarchy = [\"{}: {} -> {}\"]` into the rule of `{name}`, so that such rows are deleted together, or change \
             the key to NO ACTION",
            small(name),
            all(&key.columns),
            all(&key.target_columns)
        )
    } else {
        format!(
            "rows of `{}` belong to rows of `{name}`, and cannot be their parents as well: change the key to NO ACTION, or to SET NULL with \
             `set null` in the spec",
            parent.name
        )
    }
}

/// Whether rows of a table belong to those of another, over however many tables, or are those.
fn is_above(graph: &Graph, table: &str, below: &Table) -> bool {
    let mut edges = below.edges.iter();
    below.name == table
        || edges.any(|edge| {
            edge.action == Action::Delete
                && !edge.alone
                && graph.table(edge.parent).name != below.name
                && is_above(graph, table, graph.table(edge.parent))
        })
}

/// Whether rows of a table are deleted with families, so that they can keep none.
fn goes(graph: &Graph, name: &str) -> bool {
    let going = going(graph);
    let mut tables = graph.tables.iter().zip(0..);
    tables.any(|(table, at)| table.name == name && going.contains(&TableId(at)))
}

/// Whether a foreign key of one column names the key of a table.
fn refers_by_key(table: &Table, key: &ForeignKey) -> bool {
    let named = table.key.iter().map(|column| &column.name);
    key.columns.len() == 1 && named.eq(&key.target_columns)
}

fn is_root(graph: &Graph, table: &Table) -> bool {
    let mut rules = graph.rules.iter();
    rules.any(|rule| graph.table(rule.root).name == table.name)
}

/// What helps where rows refuse that the one goes which they name, and that belongs to them.
fn in_a_circle(
    graph: &Graph,
    catalog: &Catalog,
    name: &str,
    key: &ForeignKey,
    edge: impl Fn(&str) -> String,
) -> String {
    let live = catalog.tables.get(name);
    let mut columns = key.columns.iter();
    let nullable = columns.all(|column| {
        let column = live.and_then(|live| live.column(column));
        column.is_some_and(|column| column.nullable)
    });
    if nullable && !is_shared(graph, catalog, name, key) {
        format!(
            "families that it refers to may FAIL; with {} among the `parents` of `{name}` its columns are first set to NULL",
            edge(" set null")
        )
    } else {
        "families that it refers to may FAIL: drop the key, or let it have columns of its own, which may be NULL".to_owned()
    }
}

/// Whether a foreign key to a table of the spec deletes rows of a table.
fn is_taken(graph: &Graph, catalog: &Catalog, table: &str) -> bool {
    let live = catalog.tables.get(table);
    let mut keys = live.into_iter().flat_map(|live| &live.foreign_keys);
    keys.any(|key| key.on_delete == "CASCADE" && is_covered(graph, &key.target))
}

/// Whether a table, with its schema, is one of the spec.
fn is_covered(graph: &Graph, target: &str) -> bool {
    let name = target.split_once('.').map(|(_, name)| name);
    let mut tables = graph.tables.iter();
    tables.any(|table| name == Some(&table.name))
}

/// Whether a column of a foreign key is part of another one to a table of the spec, or of a key: it cannot be set to NULL.
fn is_shared(graph: &Graph, catalog: &Catalog, table: &str, key: &ForeignKey) -> bool {
    let shares = |column: &str| key.columns.iter().any(|it| it == column);
    let mut own = graph.tables.iter().filter(|it| it.name == table);
    let named = own.any(|own| {
        let mut keys = own.key.iter().chain(own.unique.iter().flatten());
        keys.any(|column| shares(&column.name))
    });
    let live = catalog.tables.get(table);
    let mut others = live.into_iter().flat_map(|live| &live.foreign_keys);
    named
        || others.any(|other| {
            other.name != key.name
                && is_covered(graph, &other.target)
                && other.columns.iter().any(|column| shares(column))
        })
}

/// What helps where a foreign key sets columns to NULL and the spec does not: a spec sets all columns of an edge or none.
fn instead_of_null(
    table: &str,
    key: &ForeignKey,
    goes: bool,
    shared: bool,
    circle: bool,
    edge: impl Fn(&str) -> String,
) -> String {
    if key.on_delete == "SET NULL" && shared {
        let what = "columns of it are also part of another key, so a spec cannot set them to NULL";
        if circle {
            format!("{what}, and the rows that it refers to are deleted with its own: drop the key")
        } else if goes {
            format!(
                "{what}: add {} to the `parents` of `{table}`, so that its rows are deleted with those",
                edge("")
            )
        } else {
            format!(
                "{what}: add {} to the `parents` of `{table}`, so that such a row keeps its family",
                edge(" restrict")
            )
        }
    } else if key.on_delete == "SET NULL" {
        let edge = edge(" set null");
        format!("add {edge} to the `parents` of `{table}`, or change the key to NO ACTION")
    } else if goes {
        "a spec cannot set some of these columns to NULL: change the key to CASCADE, SET NULL or NO ACTION".to_owned()
    } else {
        format!(
            "a spec cannot set some of these columns to NULL: add {} to the `parents` of `{table}`, so that such a row keeps its \
             family, or change the key to CASCADE or NO ACTION",
            edge(" restrict")
        )
    }
}

/// What the spec says of a foreign key of a table.
fn behind<'a>(
    known: &'a [KnownKey],
    table: &str,
    parent: &Table,
    key: &ForeignKey,
) -> Option<&'a KnownKey> {
    let mut pairs: Vec<(String, String)> = std::iter::zip(&key.columns, &key.target_columns)
        .map(|(column, named)| (column.clone(), named.clone()))
        .collect();
    pairs.sort();
    let mut known = known.iter();
    known.find(|edge| edge.table == table && edge.parent == parent.name && edge.pairs == pairs)
}

/// What a foreign key does to rows that are kept when the row that they name is deleted, and what helps; none where no row is.
fn does_to_kept(graph: &Graph, key: &KnownKey, acts: bool) -> Option<String> {
    let mut tables = graph.tables.iter();
    let table = tables.find(|table| table.name == key.table && !table.kept.is_empty())?;
    // What a row is unlinked from, and what it keeps itself, is another matter.
    let mut others = table.edges.iter().filter(|it| it.action != Action::Delete);
    let named = |edge: &Edge| KnownKey::of_edge(graph, &table.name, edge);
    if others.any(|edge| {
        (named(edge).pairs, named(edge).parent) == (key.pairs.clone(), key.parent.clone())
    }) {
        return None;
    }
    let does = if acts {
        "it would delete or change them"
    } else {
        "it prevents deleting a row that one of them refers to: each such batch would fail"
    };
    Some(format!(
        "{does}: drop the key, or remove `kept` from the spec, so that these rows are also deleted"
    ))
}

/// Whether rows may name those of a table without a key of its own: both belong to the same parent by one of these columns.
fn is_around(parent: &Table, key: &ForeignKey) -> bool {
    let parents: Vec<_> = parent.parents().collect();
    let named = |column: &String| key.target_columns.contains(column);
    key.columns.len() > 1
        && matches!(parents[..], [edge] if edge.further.is_empty() && named(&edge.column.name))
}

/// What to do where rows of a table are deleted, and others name them by several columns.
fn unnameable(parent: &Table) -> String {
    let name = &parent.name;
    format!(
        "edges need a key of one column, and `{name}` has none in the spec: add one, and these columns under `unique`; if \
         there is none, let `{name}` keep its parents (`restrict`)"
    )
}

/// A row that is deleted is still there, as history, with all that was in it.
fn versioned(table: &Table, found: &mut Vec<Finding>) {
    let name = &table.name;
    let message = "is WITH SYSTEM VERSIONING: the server keeps deleted rows as history, and no space is freed";
    found.push(warning("system-versioning", name, message.to_owned()).help(format!(
        "delete it yourself with DELETE HISTORY FROM `{name}` BEFORE SYSTEM_TIME …, or ALTER TABLE `{name}` DROP SYSTEM VERSIONING"
    )));
}

/// The tables whose triggers this account may not see: it would take them for tables without.
fn unseen_triggers(
    graph: &Graph,
    catalog: &Catalog,
    going: &BTreeSet<TableId>,
    found: &mut Vec<Finding>,
) {
    let mut hidden = Vec::new();
    for (table, at) in graph.tables.iter().zip(0..) {
        let live = catalog.tables.get(&table.name);
        let acts = going.contains(&TableId(at))
            || !render::sets(graph, TableId(at), catalog.dialect).is_empty();
        if acts && live.is_some_and(|live| live.hides_triggers) {
            hidden.push(&table.name);
        }
    }
    let Some(first) = hidden.first() else {
        return;
    };
    let message = match hidden.len() {
        1 => format!("this account may not see the triggers of `{first}`, if there are any"),
        count => format!(
            "this account may not see the triggers of {count} tables, such as `{first}`, if there are any"
        ),
    };
    let who = match catalog.dialect {
        Dialect::Mariadb => "INSERT, UPDATE, DELETE or TRIGGER on a table see its triggers",
        Dialect::Mysql | Dialect::Postgres => {
            "TRIGGER on a table see its triggers, and may create others"
        }
    };
    let help = format!(
        "check as an administrator: only accounts with {who}. `SHOW TRIGGERS FROM {}` lists them there",
        catalog.dialect.ident(&catalog.schema)
    );
    found.push(notice("unseen-triggers", &catalog.schema, message).help(help));
}

/// The application's triggers: code that nobody can account for but by its name. The spec's own are looked at by verify.
fn triggers(
    graph: &Graph,
    catalog: &Catalog,
    table: &Table,
    live: &CatalogTable,
    goes: bool,
    sets: &[&str],
    found: &mut Vec<Finding>,
) {
    let own = render::guard_triggers(graph, catalog.dialect);
    let set = |trigger: &Trigger| {
        let named = |column: &&&str| {
            trigger.columns.is_empty() || trigger.columns.iter().any(|it| it == **column)
        };
        let set = sets.iter().find(named).filter(|_| trigger.on_update);
        set.filter(|_| !own.contains(&trigger.name))
    };
    let moves = moving(live, sets);
    let mut fire: BTreeMap<&str, String> = BTreeMap::new();
    for trigger in live.triggers.iter().filter(|it| it.enabled) {
        if goes && trigger.on_delete {
            fire.insert(&trigger.name, "for each deleted row".to_owned());
        } else if let Some(set) = set(trigger) {
            let when = format!("when windrow sets `{set}`");
            fire.entry(&trigger.name).or_insert(when);
        } else if let Some(set) = moves.filter(|_| trigger.on_move) {
            let when =
                format!("when windrow sets `{set}`, which moves the row to another partition");
            fire.entry(&trigger.name).or_insert(when);
        }
    }
    let accepted = |name: &str| table.triggers.iter().any(|accepted| accepted == name);
    for (name, when) in fire.iter().filter(|(name, _)| !accepted(name)) {
        let message = format!("the trigger `{name}` fires {when}; the spec does not mention it");
        found.push(warning("trigger", &table.name, message).help(format!(
            "read it; if it is cheap, refuses nothing and touches no row that should be kept, accept it: `triggers = [\"{name}\"]`. \
             It runs in UTC, and on PostgreSQL with the search path and the rights of windrow's routines"
        )));
    }
    let fires = |name: &&String| live.hides_triggers || fire.contains_key(name.as_str());
    for name in table.triggers.iter().filter(|name| !fires(name)) {
        let events = match (goes, sets.is_empty()) {
            (true, true) => "DELETE",
            (true, false) => "DELETE or on UPDATE of what is set",
            (false, _) => "UPDATE of what is set",
        };
        let message =
            format!("the spec accepts the trigger `{name}` on {events}, which does not exist");
        found.push(warning("trigger", &table.name, message).help("remove it from `triggers`"));
    }
}
