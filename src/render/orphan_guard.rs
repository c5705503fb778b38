//! What refuses rows whose parent is gone or going, for the templates: a trigger locks the rows of the root table that a
//! batch locks before it deletes anything, and then looks for the parent.

use serde::Serialize;

use super::edges::none;
use super::indexes::within_limit;
use super::names::{control_name, escaped, table_name, told, variable};
use super::via;
use crate::bundle::{File, Kind};
use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, TableId};
use crate::plan::{self, GuardedEdge, Hop};

/// The guard of a table.
#[derive(Serialize)]
pub(super) struct GuardView {
    table: String,
    table_name: String,
    /// The function in the control schema (PostgreSQL), and the trigger.
    function: String,
    trigger: String,
    #[serde(skip)]
    trigger_name: String,
    /// The two triggers that MySQL and MariaDB need, with the database before them.
    on_insert: String,
    on_update: String,
    /// What earlier versions called them.
    earlier: [String; 2],
    /// The columns of all edges, between commas.
    columns: String,
    edges: Vec<GuardEdgeView>,
}

/// What a row names.
#[derive(Serialize)]
struct GuardEdgeView {
    /// Both ends, for a comment and for the message.
    child: String,
    parent_name: String,
    /// The new row names a row at all; and in a way in which the old row did not.
    present: String,
    changed: String,
    /// The new row's columns as a text.
    value: String,
    parent: String,
    /// The new row names row `p`.
    same: String,
    root: String,
    root_key: String,
    /// Queries for the keys of the rows of the root table above the parent; none where that is the root table.
    ways: Vec<WayView>,
}

#[derive(Serialize)]
struct WayView {
    /// The column that names the row of the root table.
    column: String,
    /// What follows FROM and WHERE.
    from: String,
    names: String,
}

/// The trigger of a guarded table as the kernel looks for it on PostgreSQL: the table as a class, the columns quoted.
#[derive(Serialize)]
pub(super) struct GuardDocument {
    table_name: String,
    trigger_name: String,
    function_name: String,
    columns: String,
}

/// The triggers of a spec, in the order of its tables.
pub(super) fn documents(graph: &Graph, dialect: Dialect) -> Vec<GuardDocument> {
    let guards = views(graph, dialect).into_iter();
    guards
        .map(|guard| GuardDocument {
            table_name: guard.table,
            trigger_name: guard.trigger_name,
            function_name: guard.function,
            columns: guard.columns,
        })
        .collect()
}

/// The names of all triggers of a spec on MySQL and MariaDB, as `verify()` looks for them.
pub(super) fn names(graph: &Graph, dialect: Dialect) -> Vec<String> {
    let guards = plan::guards(graph).into_iter();
    guards
        .flat_map(|guard| {
            let table = &graph.table(guard.table).name;
            ["insert", "update"].map(|event| table_trigger(graph, dialect, table, event))
        })
        .collect()
}

/// The names of the triggers that a spec has on UPDATE of the application's tables, or had by an earlier version.
pub fn guard_triggers(graph: &Graph, dialect: Dialect) -> Vec<String> {
    let guards = plan::guards(graph).into_iter();
    guards
        .flat_map(|guard| match dialect {
            Dialect::Postgres => vec![trigger_name(graph, dialect, "orphan_guard")],
            Dialect::Mysql | Dialect::Mariadb => {
                let table = &graph.table(guard.table).name;
                vec![
                    table_trigger(graph, dialect, table, "update"),
                    trigger_name(graph, dialect, &format!("{table}_update")),
                ]
            }
        })
        .collect()
}

/// What says that the statements of a file drop a trigger that an earlier version made.
pub const OF_EARLIER_VERSIONS: &str = " of earlier versions";

/// The name of a trigger on MySQL and MariaDB, where a database has no two of one name: no name of a spec has a `$`, so that no other
/// spec can have it, whatever both specs and their tables are called.
fn table_trigger(graph: &Graph, dialect: Dialect, table: &str, event: &str) -> String {
    within_limit(dialect, format!("{}${table}_{event}", control_name(graph)))
}

fn trigger_name(graph: &Graph, dialect: Dialect, suffix: &str) -> String {
    within_limit(dialect, format!("{}_{suffix}", control_name(graph)))
}

/// A trigger as verify() looks for it.
#[derive(Serialize)]
pub(super) struct TriggerView {
    name: String,
    hash: String,
}

/// The guards of a spec, in the order of its tables.
pub(super) fn views(graph: &Graph, dialect: Dialect) -> Vec<GuardView> {
    let guards = plan::guards(graph).into_iter();
    guards
        .map(|guard| {
            let name = &graph.table(guard.table).name;
            let trigger = |suffix: &str| trigger_name(graph, dialect, suffix);
            let of = |event: &str| {
                table_name(graph, dialect, &table_trigger(graph, dialect, name, event))
            };
            let earlier =
                |event: &str| table_name(graph, dialect, &trigger(&format!("{name}_{event}")));
            let mut columns: Vec<String> = Vec::new();
            for (column, _) in guard.edges.iter().flat_map(|it| it.edge.pairs()) {
                let column = dialect.ident(&column.name);
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
            let table = table_name(graph, dialect, name);
            let function = variable(graph, guard.table).replacen("k_", "orphan_guard_", 1);
            let function = within_limit(dialect, function);
            GuardView {
                table_name: escaped(dialect, name),
                table,
                function,
                trigger: dialect.ident(&trigger("orphan_guard")),
                trigger_name: trigger("orphan_guard"),
                on_insert: of("insert"),
                on_update: of("update"),
                earlier: [earlier("insert"), earlier("update")],
                columns: columns.join(", "),
                edges: guard
                    .edges
                    .iter()
                    .map(|edge| view(graph, guard.table, edge, dialect))
                    .collect(),
            }
        })
        .collect()
}

fn view(graph: &Graph, table: TableId, guarded: &GuardedEdge, dialect: Dialect) -> GuardEdgeView {
    let GuardedEdge { edge, root, ways } = guarded;
    let columns: Vec<String> = edge
        .pairs()
        .map(|(column, _)| dialect.ident(&column.name))
        .collect();
    let each = |write: fn(&String, Dialect) -> String, between: &str| {
        let texts: Vec<String> = columns.iter().map(|it| write(it, dialect)).collect();
        texts.join(between)
    };
    let mut present = each(|column, _| format!("NEW.{column} IS NOT NULL"), " AND ");
    let none = none(edge, dialect);
    if !none.is_empty() {
        present.push_str(&format!(" AND NEW.{} <> {none}", columns[0]));
    }
    let qualified = |id: TableId| table_name(graph, dialect, &graph.table(id).name);
    // As the message tells them.
    let named: Vec<String> = edge
        .pairs()
        .zip(&columns)
        .map(|((column, _), name)| told(column.kind, &format!("NEW.{name}")))
        .collect();
    GuardEdgeView {
        child: escaped(
            dialect,
            &format!("{}.{}", graph.table(table).name, edge.columns()),
        ),
        parent_name: escaped(dialect, &graph.table(edge.parent).name),
        present,
        changed: each(
            |column, dialect| match dialect {
                Dialect::Postgres => format!("NEW.{column} IS DISTINCT FROM OLD.{column}"),
                _ => format!("NOT NEW.{column} <=> OLD.{column}"),
            },
            " OR ",
        ),
        value: match dialect {
            Dialect::Postgres => format!(
                "concat_ws(', ', {})",
                each(|it, _| format!("NEW.{it}"), ", ")
            ),
            _ => format!("CONCAT_WS(', ', {})", named.join(", ")),
        },
        parent: qualified(edge.parent),
        same: via::same(edge, dialect, "NEW", "p"),
        root: qualified(*root),
        root_key: dialect.ident(&graph.table(*root).key[0].name),
        ways: ways
            .iter()
            .map(|way| way_view(graph, way, edge, dialect, &qualified))
            .collect(),
    }
}

/// From the parent, which is `p`, upwards to what refers to the root table.
fn way_view(
    graph: &Graph,
    way: &[Hop],
    edge: &Edge,
    dialect: Dialect,
    qualified: &impl Fn(TableId) -> String,
) -> WayView {
    let alias = |place: usize| {
        if place + 1 == way.len() {
            "p".to_owned()
        } else {
            format!("p{place}")
        }
    };
    let mut from = format!("{} AS p", qualified(edge.parent));
    for place in (1..way.len()).rev() {
        let (upper, lower) = (alias(place - 1), alias(place));
        let on = via::same(&way[place].edge, dialect, &lower, &upper);
        from.push_str(&format!(
            " JOIN {} AS {upper} ON {on}",
            qualified(way[place - 1].table)
        ));
    }
    let top = &way[0].edge;
    let mut column = format!("{}.{}", alias(0), dialect.ident(&top.column.name));
    // What names another key of the root table than the one by which its rows are locked.
    if !top.names_key(graph) {
        let on = via::same(top, dialect, &alias(0), "q");
        from.push_str(&format!(" JOIN {} AS q ON {on}", qualified(top.parent)));
        let key = &graph.table(top.parent).key[0].name;
        column = format!("q.{}", dialect.ident(key));
    }
    WayView {
        column,
        from,
        names: via::same(edge, dialect, "NEW", "p"),
    }
}

/// The triggers that files make on MySQL and MariaDB, each with the hash of its body.
pub(super) fn triggers(files: &[File], dialect: Dialect) -> Vec<TriggerView> {
    let statements = files.iter().flat_map(|file| &file.statements);
    statements
        .filter_map(|statement| {
            let made = statement.what.made()?;
            let name = (made.kind == Kind::Trigger).then(|| made.bare())?;
            Some(TriggerView {
                name: dialect.text(name.trim_matches('`')),
                hash: dialect.text(&statement.shown.as_ref()?.hash),
            })
        })
        .collect()
}
