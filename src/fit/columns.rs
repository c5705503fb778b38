//! Tables, keys and columns: whether they exist and are of the declared type.

use std::collections::BTreeSet;

use super::finding::{Finding, error, warning};
use super::kinds::{is_whole, kind_name, small};
use super::{kinds, mysql, partitions};
use crate::catalog::{Catalog, CatalogColumn, CatalogTable};
use crate::dialect::Dialect;
use crate::graph::{Column, Condition, Edge, Graph, Kind, Literal, Table, Test};
use crate::render::home;

/// Tells the missing tables; false where so much is missing that the rest is not worth a look.
pub(super) fn missing_tables(graph: &Graph, catalog: &Catalog, found: &mut Vec<Finding>) -> bool {
    let names = graph.tables.iter().map(|table| table.name.as_str());
    let absent = names.filter(|name| !catalog.tables.contains_key(*name));
    // A view in the place of a table is there.
    let (others, missing): (Vec<&str>, Vec<&str>) =
        absent.partition(|name| catalog.others.contains_key(*name));
    // One sentence for the whole picture, instead of a list that hides it.
    let root_missing = graph
        .rules
        .iter()
        .any(|rule| missing.contains(&graph.table(rule.root).name.as_str()));
    if missing.len() > 1 && (root_missing || missing.len() * 2 >= graph.tables.len()) {
        let message = format!(
            "{} of {} tables are missing: `{}`",
            missing.len(),
            graph.tables.len(),
            missing.join("`, `"),
        );
        let named = match catalog.dialect {
            Dialect::Postgres => "schema",
            Dialect::Mysql | Dialect::Mariadb => "database",
        };
        found.push(error("missing-table", home(graph, catalog.dialect), message).help(format!(
            "this looks like another version or another database: try another spec in `specs/`, and check the address and `{named}`",
        )));
        return false;
    }
    for name in others {
        found.push(no_table(catalog, name, ""));
    }
    for name in missing {
        let help = match nearest(name, catalog.tables.keys()) {
            Some(near) => format!(
                "did you mean `{near}`? a spec for another version of the application names other tables"
            ),
            None => "is this spec for another version of the application?".to_owned(),
        };
        found.push(no_table(catalog, name, &help));
    }
    true
}

/// A table that does not exist, with what to do, or whose name something else has.
pub(super) fn no_table(catalog: &Catalog, name: &str, help: &str) -> Finding {
    if let Some(what) = catalog.others.get(name) {
        let message = format!("is a {what}");
        return error("not-a-table", name, message).help(
            "name the table from which its rows come, in the spec or in a copy of it: windrow reads and locks tables alone",
        );
    }
    error("missing-table", name, "the table does not exist".to_owned()).help(help)
}

pub(super) fn table_findings(
    graph: &Graph,
    table: &Table,
    dialect: Dialect,
    live: &CatalogTable,
    found: &mut Vec<Finding>,
) {
    let ends = table.edges.iter().flat_map(Edge::pairs);
    for column in table
        .key
        .iter()
        .chain(table.unique.iter().flatten())
        .chain(ends.map(|(column, _)| column))
    {
        column_finding(table, column, dialect, live, found);
    }
    // What names a row of another table is no key, and nobody else has looked at it.
    let others = graph.tables.iter().flat_map(|other| &other.edges);
    for edge in others.filter(|edge| edge.alone && graph.table(edge.parent).name == table.name) {
        column_finding(table, &edge.parent_column, dialect, live, found);
    }
    for condition in table.r#final.own.iter().chain(&table.kept) {
        condition_finding(table, condition, dialect, live, found);
    }
    // A column of this table may say which rows of others are final.
    let named = graph.tables.iter().flat_map(|other| &other.r#final.named);
    for named in named.filter(|named| graph.table(named.edge.parent).name == table.name) {
        condition_finding(table, &named.condition, dialect, live, found);
    }
    for (column, _) in table.releases().flat_map(Edge::pairs) {
        if live.column(&column.name).is_some_and(|live| !live.nullable) {
            let object = format!("{}.{}", table.name, column.name);
            let message = "is NOT NULL, and the spec says `set null`".to_owned();
            found.push(
                error("not-nullable", &object, message).help(
                    "drop the constraint, or remove `set null` from the edge, so that the row is deleted with its parent",
                ),
            );
        }
    }
    for key in std::iter::once(&table.key).chain(&table.unique) {
        unique_finding(table, key, live, found);
    }
    null_finding(graph, table, dialect, live, found);
    if live.row_security {
        found.push(error("row-security", &table.name, "row level security is on".to_owned())
            .help(format!("the owner role of `windrow_{}` must see all rows: grant it BYPASSRLS, or turn it off", graph.name)));
    }
    partitions::told(graph, table, live, found);
}

/// Children find one row by a key, or a family would take rows of another.
pub(super) fn unique_finding(
    table: &Table,
    key: &[Column],
    live: &CatalogTable,
    found: &mut Vec<Finding>,
) {
    let key: BTreeSet<&str> = key.iter().map(|column| column.name.as_str()).collect();
    let has_key = !key.is_empty() && key.iter().all(|name| live.column(name).is_some());
    let unique = live.indexes.iter().any(|index| {
        let whole = index.unique && index.valid && index.predicate.is_none();
        whole && index.keys.iter().all(|name| key.contains(name.as_str()))
    });
    if has_key && !unique {
        let names = key.iter().copied().collect::<Vec<_>>().join(", ");
        let message = format!("the key ({names}) is not unique: no unique index covers it");
        found.push(if live.partitioned {
            warning("key-not-unique", &table.name, message)
                .help("a partitioned table cannot have an index on the key alone: make sure that the application never repeats a key")
        } else {
            error("key-not-unique", &table.name, message).help("add a primary key or a unique index, or correct `key` in the spec")
        });
    }
}

/// Rows are listed, held, judged and found again by their key, and a NULL is equal to nothing: a row without a key stays.
fn null_finding(
    graph: &Graph,
    table: &Table,
    dialect: Dialect,
    live: &CatalogTable,
    found: &mut Vec<Finding>,
) {
    let open: Vec<&str> = table
        .key
        .iter()
        .filter_map(|column| live.column(&column.name))
        .filter(|there| there.may_lack())
        .map(|there| there.name.as_str())
        .collect();
    if open.is_empty() {
        return;
    }
    let are = if open.len() > 1 { "are" } else { "is" };
    let message = format!(
        "the key may be NULL: {} {are} not NOT NULL",
        open.join(", ")
    );
    if live.partitioned && partitions::alone(graph, table) {
        found.push(warning("nullable-key", &table.name, message).help(
            "a row without a key goes with its partition, and cannot be held: make sure that the application sets it, or name columns in \
             `key` of the spec that never are NULL",
        ));
        return;
    }
    let alters = open.iter().map(|name| match dialect {
        Dialect::Postgres => format!("ALTER {} SET NOT NULL", dialect.ident(name)),
        Dialect::Mysql | Dialect::Mariadb => format!("MODIFY {} … NOT NULL", dialect.ident(name)),
    });
    let alters = alters.collect::<Vec<_>>().join(", ");
    found.push(error("nullable-key", &table.name, message).help(format!(
        "rows without a key would stay: give the table a primary key, or ALTER TABLE … {alters}; or name columns in `key` of the spec that never are NULL",
    )));
}

pub(super) fn condition_finding(
    table: &Table,
    condition: &Condition,
    dialect: Dialect,
    live: &CatalogTable,
    found: &mut Vec<Finding>,
) {
    let column = &condition.column;
    match &condition.test {
        Test::OneOf(values) => match live
            .column(&column.name)
            .filter(|there| !there.labels.is_empty())
        {
            Some(there) => label_findings(table, there, values, found),
            // It is compared with values as they are written.
            None if live
                .column(&column.name)
                .is_some_and(|there| takes(dialect, there, column.kind, values)) => {}
            None => {
                let before = found.len();
                column_finding(table, column, dialect, live, found);
                for finding in found
                    .iter_mut()
                    .skip(before)
                    .filter(|it| it.code == "type-differs")
                {
                    finding.help = format!(
                        "conditions compare numbers, texts, labels, uuids and truth values, as they are written; for any other type write \
                         `{} = {{ text = \"…\" }}`: it compares what the server prints",
                        small(&column.name)
                    );
                }
            }
        },
        // Any type has a NULL, and is printed.
        _ if live.column(&column.name).is_none() => {
            found.push(missing_column(&table.name, &column.name, live));
        }
        Test::Is(_) => {
            let kinds = live.column(&column.name).map(|live| &live.kind);
            let fits = |kind: &&String| match dialect {
                Dialect::Postgres => *kind == "boolean",
                Dialect::Mysql | Dialect::Mariadb => {
                    kind.starts_with("tinyint") || *kind == "bit(1)"
                }
            };
            for kind in kinds.into_iter().filter(|kind| !fits(kind)) {
                let object = format!("{}.{}", table.name, column.name);
                let message = format!("is `{kind}`, and the spec compares it with a truth value");
                let help = "write the values that the column holds";
                found.push(error("type-differs", &object, message).help(help));
            }
        }
        Test::Printed(texts) => {
            let kind = live.column(&column.name).map_or("", |there| &there.kind);
            printed_findings(table, column, (dialect, kind), texts, found);
        }
        Test::Null | Test::NotNull => {}
    }
}

/// The texts of a condition that the server prints of no value. If it prints none of them, no row meets the condition.
fn printed_findings(
    table: &Table,
    column: &Column,
    (dialect, kind): (Dialect, &str),
    texts: &[String],
    found: &mut Vec<Finding>,
) {
    let never = texts.iter().filter_map(|text| {
        let form = kinds::printed_as(dialect, kind, text)?;
        Some((text, form))
    });
    let never: Vec<(&String, String)> = never.collect();
    let object = format!("{}.{}", table.name, column.name);
    for (text, form) in &never {
        let message =
            format!("is `{kind}`, of which the server prints no value as `{text}`: no row has it");
        let finding = if never.len() == texts.len() {
            error("never-printed", &object, message)
        } else {
            warning("never-printed", &object, message)
        };
        found.push(finding.help(format!("write it as the server prints it, like `{form}`")));
    }
}

/// Whether a column takes values that are written as for another one: texts, or numbers.
fn takes(dialect: Dialect, there: &CatalogColumn, written: Kind, values: &[Literal]) -> bool {
    let uuid = |value: &Literal| match value {
        Literal::Text(text) => is_uuid(text),
        Literal::Integer(_) => false,
    };
    match (live_kind(dialect, there), written) {
        (Some(Kind::Char), Kind::Varchar) => true,
        (Some(Kind::Uuid), Kind::Varchar) => values.iter().all(uuid),
        // Those of a BINARY end with zeros.
        (Some(Kind::Bytea), Kind::Varchar) => {
            dialect != Dialect::Postgres && there.kind.to_ascii_lowercase().starts_with("varbinary")
        }
        (Some(kind), written) => (kind == Kind::Numeric || is_whole(kind)) && is_whole(written),
        (None, _) => false,
    }
}

/// Whether a text is a uuid in the usual spelling, which each server reads.
fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths = parts.iter().map(|part| part.len());
    lengths.eq([8, 4, 4, 4, 12])
        && parts
            .iter()
            .all(|part| part.chars().all(|sign| sign.is_ascii_hexdigit()))
}

/// The server refuses a statement with a text that is no label.
fn label_findings(
    table: &Table,
    there: &CatalogColumn,
    values: &[Literal],
    found: &mut Vec<Finding>,
) {
    for value in values {
        let text = match value {
            Literal::Text(text) if there.labels.contains(text) => continue,
            Literal::Text(text) => text.clone(),
            Literal::Integer(number) => number.to_string(),
        };
        let object = format!("{}.{}", table.name, there.name);
        let message = format!("is `{}`, which has no `{text}`", there.kind);
        let help = format!("it has `{}`", there.labels.join("`, `"));
        found.push(error("type-differs", &object, message).help(help));
    }
}

/// A column by whose values rows are told apart: a scope or a group. A truth value or a label is none, and can have a rule of its own.
pub(super) fn group_finding(
    table: &Table,
    column: &Column,
    dialect: Dialect,
    live: &CatalogTable,
    found: &mut Vec<Finding>,
) {
    let value = live.column(&column.name).and_then(|there| {
        let first = there.labels.first().map(|label| format!("\"{label}\""));
        first.or_else(|| (there.kind == "boolean").then(|| "true".to_owned()))
    });
    let before = found.len();
    column_finding(table, column, dialect, live, found);
    if let (Some(value), Some(finding)) = (value, found.get_mut(before)) {
        finding.help = format!(
            "scopes and groups are numbers, uuid, text or bytes; write a rule for each of its values: `candidates = {{ {} = {value} }}`",
            small(&column.name)
        );
    }
}

/// A column by which rows are gone through in an order: these servers sort labels by their place, and compare them by their letters.
pub(super) fn order_finding(
    table: &Table,
    column: &Column,
    dialect: Dialect,
    live: &CatalogTable,
    found: &mut Vec<Finding>,
) {
    let Some(there) = live.column(&column.name) else {
        return;
    };
    if dialect == Dialect::Postgres || !there.kind.to_ascii_lowercase().starts_with("enum") {
        return;
    }
    let object = format!("{}.{}", table.name, column.name);
    let message = format!(
        "is `{}`, which the server sorts by place and compares by letters",
        there.kind
    );
    found.push(error("type-differs", &object, message).help(format!(
        "rows of such a rule are gone through in an order: write a rule for each of its values, with `candidates = {{ {} = \"…\" }}`, and no \
         such column in `keep` or `key`",
        small(&column.name)
    )));
}

pub(super) fn column_finding(
    table: &Table,
    column: &Column,
    dialect: Dialect,
    live: &CatalogTable,
    found: &mut Vec<Finding>,
) {
    let object = format!("{}.{}", table.name, column.name);
    let Some(there) = live.column(&column.name) else {
        found.push(missing_column(&table.name, &column.name, live));
        return;
    };
    let Some(kind) = live_kind(dialect, there) else {
        let message = format!(
            "is `{}`, not {}",
            there.kind,
            kind_name(column.kind, dialect)
        );
        let is_time = matches!(column.kind, Kind::Timestamp | Kind::Timestamptz);
        let help = if is_time && there.kind == "date" {
            format!(
                "write `{} date` in the spec: it means the end of that day",
                small(&column.name)
            )
        } else {
            match dialect {
                Dialect::Postgres => {
                    "windrow supports whole numbers, numeric, uuid, text, bytea and timestamps"
                }
                Dialect::Mysql | Dialect::Mariadb => {
                    "windrow supports numbers, uuid, text, binary and times here"
                }
            }
            .to_owned()
        };
        found.push(error("type-differs", &object, message).help(help));
        return;
    };
    let whole = is_whole(column.kind) || column.kind == Kind::Numeric;
    if whole && dialect != Dialect::Postgres && mysql::has_fraction(there) {
        let message = format!("is `{}`, but refers to whole numbers", there.kind);
        let help =
            "keys, edges and scopes must be decimals without a fraction here: `decimal(20,0)`";
        found.push(error("type-differs", &object, message).help(help));
        return;
    }
    if kind == column.kind || dialect != Dialect::Postgres && mysql::is_near(kind, column.kind) {
        return;
    }
    let message = format!(
        "is `{}`, and the spec says {}",
        there.kind,
        kind_name(column.kind, dialect)
    );
    let help = format!(
        "write `{} {}` in the spec",
        small(&column.name),
        kind_name(kind, dialect)
    );
    let both_whole = is_whole(kind) && is_whole(column.kind);
    found.push(
        if both_whole {
            warning("type-differs", &object, message)
        } else {
            error("type-differs", &object, message)
        }
        .help(help),
    );
}

/// The type of a column, as a spec declares it; none: a spec cannot.
pub fn live_kind(dialect: Dialect, column: &CatalogColumn) -> Option<Kind> {
    match dialect {
        Dialect::Postgres => kinds::kind_of(&column.kind),
        Dialect::Mysql | Dialect::Mariadb => mysql::kind_of(&column.kind),
    }
}

/// The type of a column that can be a key, or refer to one; none: a spec cannot say it.
pub fn key_kind(dialect: Dialect, column: &CatalogColumn) -> Option<Kind> {
    let is_time = |kind: &Kind| matches!(kind, Kind::Timestamp | Kind::Timestamptz);
    let is_broken = dialect != Dialect::Postgres && mysql::has_fraction(column);
    live_kind(dialect, column).filter(|kind| !is_broken && !is_time(kind))
}

/// Whether some of these columns have types that a spec cannot say of an edge.
pub fn are_unsaid(dialect: Dialect, live: &CatalogTable, columns: &[String]) -> bool {
    let mut columns = columns.iter().filter_map(|name| live.column(name));
    columns.any(|column| key_kind(dialect, column).is_none())
}

pub(super) fn missing_column(table: &str, column: &str, live: &CatalogTable) -> Finding {
    let help = match nearest(column, live.columns.iter().map(|column| &column.name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "is this spec for another version of the application?".to_owned(),
    };
    error(
        "missing-column",
        &format!("{table}.{column}"),
        "the column does not exist".to_owned(),
    )
    .help(help)
}

fn nearest<'a>(name: &str, others: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    others
        .map(|other| {
            let likeness = strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
            (likeness, other)
        })
        .filter(|(likeness, _)| *likeness > 0.9)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, other)| other)
}
