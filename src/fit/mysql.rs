//! What only MySQL and MariaDB can get wrong: engines, collations, signs, the binary log.

use super::finding::{Finding, error, notice, warning};
use super::kinds::is_whole;
use crate::bundle::Probe;
use crate::catalog::{Catalog, CatalogColumn, CatalogIndex, CatalogTable};
use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, Kind, Table, TableId};

/// How many signs of a key there is room for.
const LONGEST: usize = 700;

/// How many characters two keys of an index may have together on MySQL, which are four bytes each, for each of them.
const LONGEST_OF_MYSQL: usize = 384;

/// Adds what these servers make of the tables.
pub(super) fn compare(graph: &Graph, catalog: &Catalog, found: &mut Vec<Finding>) {
    server(graph, catalog, found);
    compared(graph, catalog, found);
    for table in &graph.tables {
        let Some(live) = catalog.tables.get(&table.name) else {
            continue;
        };
        storage(catalog, table, live, found);
        edges(graph, catalog, table, live, found);
        columns(graph, table, live, found);
    }
    // Those of single rows have more room.
    for rule in graph.rules.iter().filter(|rule| rule.single().is_none()) {
        let root = graph.table(rule.root);
        if let Some(live) = catalog.tables.get(&root.name) {
            long_keys(catalog.dialect, root, live, found);
        }
    }
}

fn server(graph: &Graph, catalog: &Catalog, found: &mut Vec<Finding>) {
    let is_on = |name: &str| catalog.setting(name).is_some_and(|value| value == "ON");
    if is_on("log_bin") && catalog.setting("binlog_format") == Some("STATEMENT") {
        let message = "is STATEMENT, and the server refuses such batches".to_owned();
        found.push(
            error("binlog-statement", "binlog_format", message)
                .help("set it to ROW (or MIXED), here and in the option file"),
        );
    }
    if let Some(state) = catalog.setting("event_scheduler")
        && state != "ON"
    {
        let help = if state == "DISABLED" {
            "start the server with `event_scheduler = ON`"
        } else {
            "`SET GLOBAL event_scheduler = ON`, and the same in the option file"
        };
        let message = format!("is {state}: the event of `60_schedule.sql` does not start");
        found.push(warning("event-scheduler", "event_scheduler", message).help(help));
    }
    if catalog.folds_tables() {
        let capitals = |name: &str| name.chars().any(char::is_uppercase);
        let named = graph.tables.iter().map(|table| table.name.as_str());
        if let Some(name) = named.into_iter().find(|name| capitals(name)) {
            let value = catalog
                .setting("lower_case_table_names")
                .unwrap_or_default();
            let message = format!(
                "is {value}: `{name}` and `{}` are one table here",
                name.to_lowercase()
            );
            found.push(
                notice("lower-case-names", "lower_case_table_names", message)
                    .help("nothing to do on this server"),
            );
        }
    }
}

/// A zone that the server does not know by its name.
pub fn unknown_zone(zone: &str) -> Finding {
    let message = "is a time zone that the server does not know by name: runs are refused";
    warning("unknown-zone", zone, message.to_owned())
        .help("fill its time zone tables: `mysql_tzinfo_to_sql /usr/share/zoneinfo | mysql mysql`")
}

fn storage(catalog: &Catalog, table: &Table, live: &CatalogTable, found: &mut Vec<Finding>) {
    if let Some(engine) = &live.engine
        && !engine.eq_ignore_ascii_case("InnoDB")
    {
        let message = format!("has the engine {engine}, which has no transactions");
        found.push(error("engine", &table.name, message).help(format!(
            "ALTER TABLE `{}` ENGINE = InnoDB, at a quiet time",
            table.name
        )));
    }
    let logs = catalog.setting("log_bin") == Some("ON");
    if logs && live.primary_key.is_empty() {
        let message = "has no primary key: a replica reads the whole table for each deleted row";
        found.push(
            warning("no-primary-key", &table.name, message.to_owned()).help("add a primary key"),
        );
    }
}

/// Both ends of each edge are compared in every batch.
fn edges(
    graph: &Graph,
    catalog: &Catalog,
    table: &Table,
    live: &CatalogTable,
    found: &mut Vec<Finding>,
) {
    for edge in &table.edges {
        let parent = &graph.table(edge.parent).name;
        for (column, named) in edge.pairs() {
            let child = (table.name.as_str(), column.name.as_str());
            ends(catalog, child, live, (parent, &named.name), false, found);
        }
    }
}

/// Keys stand as texts where runs remember them: bytes by their hexadecimal digits.
fn long_keys(dialect: Dialect, table: &Table, live: &CatalogTable, found: &mut Vec<Finding>) {
    for column in &table.key {
        let Some(there) = live.column(&column.name) else {
            continue;
        };
        let digits = there.kind.split_once('(').map(|(_, rest)| rest);
        let length: Option<usize> = digits
            .and_then(|rest| rest.split_once(')'))
            .and_then(|(length, _)| length.parse().ok());
        let (most, what) = match kind_of(&there.kind) {
            Some(Kind::Varchar) if dialect == Dialect::Mysql => (LONGEST_OF_MYSQL, "characters"),
            Some(Kind::Varchar) => (LONGEST, "characters"),
            Some(Kind::Bytea) => (LONGEST / 2, "bytes"),
            _ => continue,
        };
        if length.is_none_or(|length| length > most) && !there.kind.starts_with("enum") {
            let object = format!("{}.{}", table.name, column.name);
            let message = format!(
                "is `{}`, and runs remember keys of up to {most} {what}",
                there.kind
            );
            found.push(error("long-key", &object, message).help(format!(
                "ALTER TABLE `{}` MODIFY `{}` to {most} {what} or fewer, or name another unique column as `key`; if no key is longer, \
                 `windrow install --force` takes it as it is",
                table.name, column.name
            )));
        }
    }
}

/// So are the columns by which a statement looks for what keeps a row. There an exact comparison would not find what the other column
/// takes for equal.
fn compared(graph: &Graph, catalog: &Catalog, found: &mut Vec<Finding>) {
    for it in graph.compared() {
        if let Some(live) = catalog.tables.get(it.table) {
            let (own, named) = ((it.table, it.own), (it.parent, it.named));
            ends(catalog, own, live, named, true, found);
        }
    }
}

/// A column, by its table and name, and the one that it is compared with.
fn ends(
    catalog: &Catalog,
    (table, column): (&str, &str),
    live: &CatalogTable,
    (parent, named): (&str, &str),
    keeps: bool,
    found: &mut Vec<Finding>,
) {
    let key = catalog.tables.get(parent).and_then(|it| it.column(named));
    let (Some(child), Some(key)) = (live.column(column), key) else {
        return;
    };
    let object = format!("{table}.{column}");
    let other = format!("`{parent}.{named}`");
    let (Some(left), Some(right)) = (kind_of(&child.kind), kind_of(&key.kind)) else {
        return;
    };
    if is_number(left) != is_number(right) {
        let message = format!("is `{}`, and {other} is `{}`", child.kind, key.kind);
        found.push(
            error("edge-type-differs", &object, message)
                .help("give both ends the same type: such a comparison uses no index"),
        );
    } else if left == Kind::Bytea && right == Kind::Bytea && pads_otherwise(child, key) {
        let message = format!("is `{}`, and {other} is `{}`", child.kind, key.kind);
        found.push(error("edge-type-differs", &object, message).help(
            "give both ends the same length: BINARY pads with zeros, which matter in the comparison",
        ));
    } else if is_unsigned(child) != is_unsigned(key) {
        let message = format!("is `{}`, and {other} is `{}`", child.kind, key.kind);
        found.push(
            warning("sign-differs", &object, message)
                .help("harmless as long as no value is negative or beyond the other's range"),
        );
    }
    collation((&object, child), (&other, key), keeps, found);
}

fn collation(
    (object, child): (&str, &CatalogColumn),
    (other, key): (&str, &CatalogColumn),
    keeps: bool,
    found: &mut Vec<Finding>,
) {
    let (Some(left), Some(right)) = (&child.collation, &key.collation) else {
        return;
    };
    if left == right {
        return;
    }
    let charset = |collation: &str| collation.split('_').next().unwrap_or_default().to_owned();
    let message = format!("is {left}, and {other} is {right}");
    // The collation of bytes wins over another of the same character set, and its index serves.
    let serves = !keeps && charset(left) == charset(right) && left.ends_with("_bin");
    found.push(
        if serves {
            warning("collation-differs", object, message)
        } else {
            error("collation-differs", object, message)
        }
        .help(format!(
            "ALTER TABLE … MODIFY the column with COLLATE {right}"
        )),
    );
}

fn columns(graph: &Graph, table: &Table, live: &CatalogTable, found: &mut Vec<Finding>) {
    let ends: Vec<&str> = graph
        .rules
        .iter()
        .filter(|rule| graph.table(rule.root).name == table.name)
        .map(|rule| rule.end_time.name.as_str())
        .collect();
    let named = |name: &str| {
        let mut keys = table.key.iter().map(|column| column.name.as_str());
        let edges = table.edges.iter().flat_map(Edge::pairs);
        let mut edges = edges.map(|(column, _)| column.name.as_str());
        keys.any(|key| key == name) || edges.any(|edge| edge == name) || ends.contains(&name)
    };
    for column in &live.columns {
        let object = format!("{}.{}", table.name, column.name);
        if column.on_update {
            let message = "is set to the current time by each UPDATE of its row".to_owned();
            let has_set_null = table.releases().next().is_some();
            found.push(if has_set_null {
                warning("on-update", &object, message)
                    .help("an edge with `set null` updates rows of this table: the column will show the time of that update")
            } else if ends.contains(&column.name.as_str()) {
                warning("on-update", &object, message)
                    .help("the retention is counted from the last change of a row, not from its end")
            } else if is_stamped(graph, table, &column.name) {
                warning("on-update", &object, message)
                    .help("the column will show the time of a stamp that changes the row: name it in `untouched` of the rule's `stamp`")
            } else {
                notice("on-update", &object, message).help("windrow does not update this table, or leaves this column unchanged")
            });
        }
        if column.generated && named(&column.name) {
            let message = "is a generated column".to_owned();
            found.push(
                notice("generated-column", &object, message)
                    .help("make sure that it has an index if the spec needs one"),
            );
        }
    }
}

/// Whether a stamp of removal times changes rows of a table and does not say that this column of them is left unchanged.
fn is_stamped(graph: &Graph, table: &Table, column: &str) -> bool {
    let covers = |id: &TableId| graph.table(*id).name == table.name;
    let leaves = |(id, columns): &(TableId, Vec<String>)| {
        covers(id) && columns.iter().any(|name| name == column)
    };
    let mut rules = graph
        .rules
        .iter()
        .filter(|rule| rule.order.iter().any(covers));
    rules.any(|rule| {
        let mut stamps = rule.stamps().iter();
        stamps.any(|stamp| !stamp.untouched.iter().any(leaves))
    })
}

/// An index that the optimizer was told not to see.
pub(super) fn unused_index(object: &str, index: &CatalogIndex) -> Finding {
    error(
        "invalid-index",
        object,
        format!("the index `{}` is invisible (ignored)", index.name),
    )
    .help("ALTER TABLE … ALTER INDEX … VISIBLE (MySQL) or NOT IGNORED (MariaDB)")
}

/// Full scans in the table that EXPLAIN answers. Its columns differ by one before the type of access.
pub(super) fn collect_scans(
    probe: &Probe,
    plan: &[Vec<Option<String>>],
    catalog: &Catalog,
    scans: &mut Vec<(String, String)>,
) {
    for row in plan {
        let cell = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        let partitions = row.len() >= 12;
        let name = cell(2);
        let access = cell(if partitions { 4 } else { 3 });
        // LIMIT, which is 100 in each statement, ends a search in the order of an index.
        let rows: i64 = cell(if partitions { 9 } else { 8 })
            .parse()
            .unwrap_or(i64::MAX);
        let whole = access == "ALL" || access == "index" && rows > 100;
        let extra = cell(row.len().saturating_sub(1));
        // A list of keys is no table.
        let listed = extra.starts_with("Table function");
        if name == Probe::FED || name.starts_with('<') || listed || !whole {
            continue;
        }
        let named = |table: &&String| probe.sql.contains(&format!("`{table}` AS {name} "));
        let table = if catalog.tables.contains_key(&name) {
            name.clone()
        } else {
            catalog
                .tables
                .keys()
                .find(named)
                .cloned()
                .unwrap_or_else(|| probe.table.clone())
        };
        let by = if extra.is_empty() {
            format!("`{access}`")
        } else {
            format!("`{access}: {extra}`")
        };
        scans.push((table, by));
    }
}

/// The kind of a type as these servers print it.
pub(super) fn kind_of(printed: &str) -> Option<Kind> {
    let bare = printed.split(['(', ' ']).next().unwrap_or(printed);
    // Without a sign, a number has the range of the next wider type, of those that a spec knows.
    let unsigned = printed.to_ascii_lowercase().contains("unsigned");
    Some(match bare.to_ascii_lowercase().as_str() {
        "int" if unsigned => Kind::Bigint,
        "smallint" if unsigned => Kind::Integer,
        "tinyint" | "smallint" => Kind::Smallint,
        "mediumint" | "int" => Kind::Integer,
        "bigint" => Kind::Bigint,
        "uuid" => Kind::Uuid,
        "decimal" => Kind::Numeric,
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" => {
            Kind::Varchar
        }
        "binary" | "varbinary" => Kind::Bytea,
        "datetime" => Kind::Timestamp,
        // An instant, which each session sees in its own zone.
        "timestamp" => Kind::Timestamptz,
        _ => return None,
    })
}

/// Whether the difference does not matter: integers of any width are compared by their indexes, work tables take the type of
/// the real column, and where there is no uuid it is a text.
pub(super) fn is_near(live: Kind, declared: Kind) -> bool {
    let text = [Kind::Uuid, Kind::Varchar, Kind::Char];
    is_whole(live) && (is_whole(declared) || declared == Kind::Numeric)
        || text.contains(&live) && text.contains(&declared)
}

/// Whether a column is a decimal that has a fraction: a key and a scope are whole.
pub(super) fn has_fraction(column: &CatalogColumn) -> bool {
    let digits = column.kind.split_once(',').map(|(_, rest)| rest);
    kind_of(&column.kind) == Some(Kind::Numeric)
        && digits.is_some_and(|rest| !rest.trim_start().starts_with("0)"))
}

fn is_number(kind: Kind) -> bool {
    is_whole(kind) || kind == Kind::Numeric
}

/// Whether one of two columns of bytes adds zeros where the other does not.
fn pads_otherwise(one: &CatalogColumn, other: &CatalogColumn) -> bool {
    let [one, other] = [one, other].map(|column| column.kind.to_ascii_lowercase());
    let length = |kind: &str| kind.split_once('(').map(|(_, rest)| rest.to_owned());
    let fixed = |kind: &str| kind.starts_with("binary");
    (fixed(&one) || fixed(&other)) && length(&one) != length(&other)
}

fn is_unsigned(column: &CatalogColumn) -> bool {
    column.kind.to_ascii_lowercase().contains("unsigned")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_types_are_known() {
        let kinds = [
            "int(11)",
            "bigint unsigned",
            "int(10) unsigned",
            "tinyint(4)",
            "varchar(64)",
            "datetime(3)",
            "timestamp",
        ];
        assert_eq!(
            kinds.map(kind_of),
            [
                Some(Kind::Integer),
                Some(Kind::Bigint),
                Some(Kind::Bigint),
                Some(Kind::Smallint),
                Some(Kind::Varchar),
                Some(Kind::Timestamp),
                Some(Kind::Timestamptz)
            ]
        );
        assert_eq!(kind_of("decimal(10,0)"), Some(Kind::Numeric));
        assert_eq!(kind_of("json"), None);
        assert!(is_near(Kind::Smallint, Kind::Bigint) && is_near(Kind::Varchar, Kind::Uuid));
        assert!(!is_near(Kind::Timestamptz, Kind::Timestamp));
    }

    #[test]
    fn a_full_scan_is_seen_in_the_tables_of_both_servers() {
        let row = |cells: &[&str]| {
            cells
                .iter()
                .map(|cell| (*cell != "NULL").then(|| (*cell).to_owned()))
                .collect::<Vec<_>>()
        };
        let mysql = row(&[
            "1",
            "DELETE",
            "x",
            "NULL",
            "ALL",
            "NULL",
            "NULL",
            "NULL",
            "NULL",
            "90000",
            "100.00",
            "Using where",
        ]);
        let mariadb = row(&[
            "1",
            "SIMPLE",
            "t",
            "index",
            "NULL",
            "PRIMARY",
            "4",
            "NULL",
            "90000",
            "Using index",
        ]);
        let range = row(&[
            "1",
            "SIMPLE",
            "t",
            "range",
            "i",
            "i",
            "4",
            "NULL",
            "3",
            "Using where",
        ]);
        let probe = Probe {
            what: "delete".to_owned(),
            table: "t".to_owned(),
            sql: String::new(),
            off: Vec::new(),
        };
        let catalog = Catalog {
            dialect: Dialect::Mysql,
            ..Catalog::default()
        };
        let mut scans = Vec::new();
        collect_scans(&probe, &[mysql, mariadb, range], &catalog, &mut scans);
        assert_eq!(
            scans,
            [
                ("t".to_owned(), "`ALL: Using where`".to_owned()),
                ("t".to_owned(), "`index: Using index`".to_owned())
            ]
        );
    }
}
