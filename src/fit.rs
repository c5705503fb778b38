//! Whether a spec fits a live database: the graph against the catalog, and plans against table sizes.
//!
//! Pure functions: what the database says comes in as values, findings go out.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::bundle::Probe;
use crate::catalog::{Catalog, CatalogColumn, CatalogIndex, CatalogTable};
use crate::db::Row;
use crate::dialect::Dialect;
use crate::graph::{
    Column, Condition, Definition, Edge, Graph, Kind, Need, Newest, Rule, Single, Stamp, Table,
    Test, Timed, With,
};
use crate::plan::{self, IndexNeed};
use crate::render::home;

mod acting;
mod mysql;

/// Something that the comparison found.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Stable name, for `check --explain`.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Which object it is about.
    pub object: String,
    /// What is wrong.
    pub message: String,
    /// What mends it; may be empty.
    pub help: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know; nothing to do.
    Notice,
    /// Deserves a look.
    Warning,
    /// Must be mended before an installation.
    Error,
}

/// Every code with its explanation.
pub const CODES: [(&str, &str); 31] = [
    (
        "foreign-claim",
        "A role, a schema or an object that has one of windrow's names, or stands in its schema, belongs to somebody else, or somebody else may act as the owner role. Who owns a thing decides what happens when it is used: an installation, which often has all rights, would run what he prepared, and he could have the rights that it grants. Mend what the finding names, or drop it if windrow is not installed yet; `--force` does not overrule this.",
    ),
    (
        "missing-schema",
        "The schema that the spec names does not exist in this database. Often the address names another database, or the application lives in another schema: set `schema` in the spec.",
    ),
    (
        "missing-table",
        "A table of the spec does not exist. Most often the spec is for another version of the application. A spec that names what is not there cannot be installed.",
    ),
    (
        "missing-column",
        "A column that the spec names does not exist in its table. Most often the spec is for another version of the application.",
    ),
    (
        "type-differs",
        "A column has another type than the spec declares. Where the types cannot be compared at all this is an error; where only the width differs, values still compare, but an index may not be used as planned.",
    ),
    (
        "key-not-unique",
        "No unique index covers the key that the spec declares. If two rows can share a key, deleting one family could take rows of another.",
    ),
    (
        "not-nullable",
        "A column of an edge with `set null` is declared NOT NULL, so that every batch with such a row would fail. Drop the constraint, or let the row go with its parent.",
    ),
    (
        "unlisted-reference",
        "A foreign key to a covered table that is no edge of the spec: of a managed table (a second key, one to itself), of an ignored one, of one that the spec does not name, from another schema or database. Where it does something by itself (CASCADE, SET NULL, SET DEFAULT), rows would go or change without a rule, a count or a copy: an error, and runs refuse. Where it refuses (NO ACTION, RESTRICT), nothing is lost, but families that it names cannot go. Make it an edge: `column -> table.key`, with `set null` where the key does that, with `restrict` where the rows are to stay. `[ignore]` is no remedy: an ignored table keeps its rows.",
    ),
    (
        "rule",
        "A rule of PostgreSQL (CREATE RULE … ON DELETE) stands on a covered table. It acts beside each DELETE, or instead of it, and nobody counts what it does. Runs refuse.",
    ),
    (
        "inheritance",
        "A table inherits from a covered one (INHERITS; not a partition). Statements about the covered table would read and delete its rows, too. Runs refuse.",
    ),
    (
        "unseen-databases",
        "Tables of other databases may refer to covered ones (MySQL, MariaDB), and the account does not see them all. The right REFERENCES on `*.*` shows foreign keys, and no row.",
    ),
    (
        "unlisted-column",
        "A table that is neither in the spec nor ignored has a column of the same name as an edge of the spec. It may hold rows that belong to what is deleted, and would be left behind. Add it to `[tables]`, or to the ignored tables with a reason.",
    ),
    (
        "ignored-missing",
        "A table that the spec ignores does not exist. The line can go, or the name is misspelt.",
    ),
    (
        "missing-index",
        "No index leads with a column by which rows are found, so that every batch would read the whole table. The generated file `20_indexes.sql` creates it.",
    ),
    (
        "invalid-index",
        "An index that is needed is marked invalid: an earlier CREATE INDEX CONCURRENTLY failed or was stopped. `windrow install` drops and builds it again where it is one of windrow's; drop another by hand.",
    ),
    (
        "trigger",
        "A covered table has an enabled trigger that fires on DELETE. It is code that windrow cannot account for: read it, and accept it by name (`triggers = [\"…\"]`). It will fire for each row that a run deletes: it costs time, and may write or refuse. On MySQL and MariaDB it cannot write to the table that its own table's rows belong to (error 1442): those families stay, as FAILED.",
    ),
    (
        "row-security",
        "Row level security is on for a covered table. A role that does not see all rows would leave children behind, or take a family for finished that is not.",
    ),
    (
        "partitioned",
        "A covered table is partitioned. Keys are unique only together with the partition column, and each statement touches all partitions; windrow deletes from it like from any table, and does not drop partitions.",
    ),
    (
        "nullable-rank",
        "A column by which a rule groups or orders rows (`keep-last`) may be NULL. A row without a group, or without a place in it, is neither deleted nor counted among the newest; verify() tells how many there are.",
    ),
    (
        "seq-scan",
        "A generated statement reads a big table from end to end, as EXPLAIN says. Each batch would do so. The statement lacks an index, or the table lacks statistics: run ANALYZE and check again.",
    ),
    (
        "not-explained",
        "The server refused to EXPLAIN a generated statement, so that a run would fail on it, too.",
    ),
    (
        "engine",
        "A covered table has another storage engine than InnoDB (MySQL, MariaDB). Without transactions and row locks, a run that is stopped would leave half a family behind, and would lock out the application while it runs.",
    ),
    (
        "collation-differs",
        "The columns on both ends of an edge are texts with different character sets or collations. On MySQL and MariaDB, comparing them is an error (1267), or keeps the server from using the index, so that each batch would read the whole table; ALTER TABLE … MODIFY gives both the same. On PostgreSQL comparing them is an error (42P22), and a nondeterministic collation takes different keys for equal, so that rows of a family that stays would go: runs refuse.",
    ),
    (
        "edge-type-differs",
        "The columns on both ends of an edge are of different kinds, a text and a number (MySQL, MariaDB). The server compares them as floating-point numbers: without the index, and large keys only roughly.",
    ),
    (
        "sign-differs",
        "One end of an edge is UNSIGNED and the other is not (MySQL, MariaDB). Equal values still meet by the index; a value beyond the range of the other end finds nothing, and its rows would be left behind as orphans.",
    ),
    (
        "on-update",
        "A column is set to the time by each UPDATE of its row (ON UPDATE CURRENT_TIMESTAMP; MySQL, MariaDB). Where it is the end time of a rule, a correction by hand makes an old family young again. Otherwise windrow, which updates no row, leaves it alone.",
    ),
    (
        "generated-column",
        "A column that the spec names is generated from others (MySQL, MariaDB). windrow reads it like any column; a virtual one needs an index to be found by.",
    ),
    (
        "no-primary-key",
        "A covered table has no primary key, and the binary log is on (MySQL, MariaDB). With row-based replication, each replica then looks for each deleted row by reading the table.",
    ),
    (
        "binlog-statement",
        "The binary log has the format STATEMENT (MySQL, MariaDB). The batches choose rows that are not locked and use temporary tables: such statements may do something else on a replica, and the server refuses them (1665, 3748). Set binlog_format to ROW or MIXED.",
    ),
    (
        "event-scheduler",
        "The event scheduler is off (MySQL, MariaDB), so that the events of `60_schedule.sql` do not start. MariaDB comes so. `SET GLOBAL event_scheduler = ON`, and the same in the option file; or schedule `windrow run` otherwise and skip that file.",
    ),
    (
        "lower-case-names",
        "The server stores the names of tables in lower case, or compares them so (lower_case_table_names; MySQL, MariaDB), and the spec names a table with capitals. windrow takes them for the same. On a server with another setting they are two tables.",
    ),
];

/// The explanation of a code.
pub fn explain(code: &str) -> Option<&'static str> {
    CODES
        .iter()
        .find(|(name, _)| *name == code)
        .map(|(_, text)| *text)
}

/// Compares the spec, with the names of this server, with the catalog.
pub fn compare(graph: &Graph, catalog: &Catalog) -> Vec<Finding> {
    let mut found = Vec::new();
    let home = home(graph, catalog.dialect);
    if !catalog.schema_exists {
        let (what, help) = match catalog.dialect {
            Dialect::Postgres => (
                "schema",
                "check the last part of the address, and `schema` in the spec",
            ),
            Dialect::Mysql | Dialect::Mariadb => (
                "database",
                "check the server that the address names, and `database` in the spec; an account that may see nothing of it does not see it either",
            ),
        };
        found.push(
            error(
                "missing-schema",
                home,
                format!("the {what} `{home}` does not exist"),
            )
            .help(help),
        );
        return found;
    }
    if !missing_tables(graph, catalog, &mut found) {
        return found;
    }
    for table in &graph.tables {
        if let Some(live) = catalog.tables.get(&table.name) {
            table_findings(graph, table, catalog.dialect, live, &mut found);
        }
    }
    for rule in &graph.rules {
        let root = graph.table(rule.root);
        if let Some(live) = catalog.tables.get(&root.name) {
            let newest = rule.newest.iter().flat_map(|newest| &newest.of);
            for condition in rule.candidates.iter().chain(&rule.r#final).chain(newest) {
                condition_finding(root, condition, catalog.dialect, live, &mut found);
            }
            for column in std::iter::once(&rule.end_time)
                .chain(&rule.otherwise)
                .chain(rule.last.iter().flat_map(|last| &last.otherwise))
                .chain(&rule.retention.per)
                .chain(rule.newest.iter().flat_map(Newest::columns))
                .chain(rule.links_within().map(|link| &link.parent))
            {
                column_finding(root, column, catalog.dialect, live, &mut found);
            }
        }
        if let Some(last) = &rule.last {
            let table = graph.table(last.table);
            if let Some(live) = catalog.tables.get(&table.name) {
                column_finding(table, &last.time, catalog.dialect, live, &mut found);
            }
        }
        for definition in rule.definitions() {
            definition_findings(definition, catalog, &mut found);
        }
        if let Some(timed) = &rule.timed {
            timed_findings(graph, rule, timed, catalog, &mut found);
        }
        if let Some(single) = &rule.single {
            single_findings(graph, rule, single, catalog, &mut found);
        }
        for artifact in &rule.artifacts {
            let table = graph.table(artifact.table);
            let Some(live) = catalog.tables.get(&table.name) else {
                continue;
            };
            for name in artifact.host.iter().chain([&artifact.path]) {
                if live.column(name).is_none() {
                    found.push(missing_column(&table.name, name, live));
                }
            }
        }
    }
    if catalog.dialect != Dialect::Postgres {
        mysql::compare(graph, catalog, &mut found);
    }
    acting::compare(graph, catalog, &mut found);
    indexes(graph, catalog, &mut found);
    outsiders(graph, catalog, &mut found);
    for ignored in &graph.ignored {
        if !catalog.tables.contains_key(&ignored.table) {
            found.push(
                warning(
                    "ignored-missing",
                    &ignored.table,
                    "is ignored, but does not exist".to_owned(),
                )
                .help("remove the line from the spec"),
            );
        }
    }
    // Several rules may ask for the same.
    let mut seen = BTreeSet::new();
    found.retain(|finding| {
        seen.insert((
            finding.code,
            finding.object.clone(),
            finding.message.clone(),
        ))
    });
    found.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then_with(|| a.object.cmp(&b.object))
    });
    found
}

/// Judges the plan of one statement: `plan` is what the server answered when it was asked to explain it.
pub fn judge_plan(
    probe: &Probe,
    plan: &[Vec<Option<String>>],
    catalog: &Catalog,
    before: &[Finding],
    threshold: i64,
) -> Vec<Finding> {
    let what = &probe.what;
    let mut scans = Vec::new();
    match catalog.dialect {
        Dialect::Postgres => {
            let text = plan.first().and_then(|row| row.first()?.as_deref());
            let plan = text.and_then(|text| serde_json::from_str(text).ok());
            collect_scans(&plan.unwrap_or(Value::Null), &mut scans);
        }
        Dialect::Mysql | Dialect::Mariadb => mysql::collect_scans(probe, plan, catalog, &mut scans),
    }
    scans.sort();
    scans.dedup();
    let mut found = Vec::new();
    for (table, filter) in scans {
        let Some(live) = catalog
            .tables
            .get(&table)
            .filter(|live| live.estimated_rows > threshold)
        else {
            continue;
        };
        let message = format!(
            "`{what}` reads all of its about {} rows, by {filter}",
            live.estimated_rows
        );
        let coming = before.iter().any(|finding| {
            finding.code == "missing-index"
                && finding.severity == Severity::Notice
                && finding.object.split('.').next() == Some(table.as_str())
        });
        found.push(if coming {
            notice("seq-scan", &table, message).help(
                "`20_indexes.sql` creates the missing index; check again after `windrow install`",
            )
        } else {
            error("seq-scan", &table, message).help(
                "create an index that leads with the column, or run ANALYZE if the estimate is off",
            )
        });
    }
    found
}

/// A statement that the server did not even plan.
pub fn unplanned(what: &str, table: &str, reason: &str, before: &[Finding]) -> Option<Finding> {
    // What is missing or of another type was told already; that its statements do not plan says nothing new.
    let told = before.iter().any(|finding| {
        finding.severity == Severity::Error
            && (finding.code.starts_with("missing-") || finding.code == "type-differs")
            && finding.code != "missing-index"
    });
    (!told).then(|| {
        error(
            "not-explained",
            table,
            format!("`{what}` cannot be planned: {reason}"),
        )
    })
}

/// Statements that the role of this session may not even plan.
pub fn denied(catalog: &Catalog, statements: &[String]) -> Option<Finding> {
    let first = statements.first()?;
    let message = format!(
        "this role may not run {} of the statements, e.g. `{first}`",
        statements.len()
    );
    Some(error("not-explained", &catalog.schema, message).help(
        "connect as the owner of the tables, or as a role that may select from and delete in them",
    ))
}

/// What somebody else has made under windrow's names, by the rows that [`crate::render::claims`] asks for.
pub fn claimed(rows: &[Row]) -> Vec<Finding> {
    let cell = |row: &Row, at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    rows.iter()
        .map(|row| error("foreign-claim", &cell(row, 0), cell(row, 1)).help(cell(row, 2)))
        .collect()
}

/// What is told where the accounts of the server are not to be seen.
pub fn unseen_accounts() -> Finding {
    let message = "this account may not read the accounts of the server: whether somebody has windrow's roles is not known";
    notice("foreign-claim", "mysql.user", message.to_owned())
        .help("GRANT SELECT ON mysql.* to it, or have an administrator check")
}

/// Tells the missing tables; false where so much is missing that the rest is not worth a look.
fn missing_tables(graph: &Graph, catalog: &Catalog, found: &mut Vec<Finding>) -> bool {
    let missing: Vec<&str> = graph
        .tables
        .iter()
        .map(|table| table.name.as_str())
        .filter(|name| !catalog.tables.contains_key(*name))
        .collect();
    // One sentence for the whole picture, instead of a list that hides it.
    let root_missing = graph
        .rules
        .iter()
        .any(|rule| missing.contains(&graph.table(rule.root).name.as_str()));
    if missing.len() > 1 && (root_missing || missing.len() * 2 >= graph.tables.len()) {
        let message = format!(
            "{} of {} tables are missing: `{}`{}",
            missing.len(),
            graph.tables.len(),
            missing[..missing.len().min(5)].join("`, `"),
            if missing.len() > 5 { ", …" } else { "" }
        );
        let named = match catalog.dialect {
            Dialect::Postgres => "schema",
            Dialect::Mysql | Dialect::Mariadb => "database",
        };
        found.push(error("missing-table", home(graph, catalog.dialect), message).help(format!(
            "this looks like another version or another database: try another spec of `specs/`, and check the address and `{named}`",
        )));
        return false;
    }
    for name in missing {
        let help = match nearest(name, catalog.tables.keys()) {
            Some(near) => format!(
                "did you mean `{near}`? a spec for another version of the application names other tables"
            ),
            None => "is this spec for another version of the application?".to_owned(),
        };
        found.push(error("missing-table", name, "the table does not exist".to_owned()).help(help));
    }
    true
}

fn table_findings(
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
    for (column, _) in table.releases().flat_map(Edge::pairs) {
        if live.column(&column.name).is_some_and(|live| !live.nullable) {
            let object = format!("{}.{}", table.name, column.name);
            let message = "is NOT NULL, and the spec says `set null`".to_owned();
            found.push(
                error("not-nullable", &object, message).help(
                    "drop the constraint, or take `set null` out of the edge, so that the row goes with its parent",
                ),
            );
        }
    }
    for key in std::iter::once(&table.key).chain(&table.unique) {
        unique_finding(table, key, live, found);
    }
    if live.row_security {
        found.push(error("row-security", &table.name, "row level security is on".to_owned())
            .help(format!("the owner role of `windrow_{}` must see all rows: grant it BYPASSRLS, or turn it off", graph.name)));
    }
    if live.partitioned {
        let message =
            "is partitioned: each statement touches all its partitions, and none is dropped"
                .to_owned();
        found.push(
            warning("partitioned", &table.name, message)
                .help("measure a run with `--dry-run` first"),
        );
    }
}

/// Children find one row by a key, or a family would take rows of another.
fn unique_finding(table: &Table, key: &[Column], live: &CatalogTable, found: &mut Vec<Finding>) {
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
                .help("a partitioned table cannot have it alone: make sure that the application never repeats a key")
        } else {
            error("key-not-unique", &table.name, message).help("add a primary key or a unique index, or correct `key` in the spec")
        });
    }
}

fn condition_finding(
    table: &Table,
    condition: &Condition,
    dialect: Dialect,
    live: &CatalogTable,
    found: &mut Vec<Finding>,
) {
    let column = &condition.column;
    match &condition.test {
        Test::OneOf(_) => column_finding(table, column, dialect, live, found),
        // Any type has a NULL.
        Test::Null | Test::NotNull if live.column(&column.name).is_none() => {
            found.push(missing_column(&table.name, &column.name, live));
        }
        Test::Null | Test::NotNull => {}
    }
}

fn column_finding(
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
        let message = format!("is `{}`, not {}", there.kind, kind_name(column.kind));
        found.push(
            error("type-differs", &object, message)
                .help("windrow knows integers, uuid, text and timestamps"),
        );
        return;
    };
    if kind == column.kind || dialect != Dialect::Postgres && mysql::is_near(kind, column.kind) {
        return;
    }
    let message = format!(
        "is `{}`, and the spec says {}",
        there.kind,
        kind_name(column.kind)
    );
    let help = format!("write `{} {}` in the spec", column.name, kind_name(kind));
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

fn live_kind(dialect: Dialect, column: &CatalogColumn) -> Option<Kind> {
    match dialect {
        Dialect::Postgres => kind_of(&column.kind),
        Dialect::Mysql | Dialect::Mariadb => mysql::kind_of(&column.kind),
    }
}

/// The columns that a rule by time needs beside those of the edges, in its tables and in those that refer to them.
fn timed_findings(
    graph: &Graph,
    rule: &Rule,
    timed: &Timed,
    catalog: &Catalog,
    found: &mut Vec<Finding>,
) {
    for member in &timed.members {
        let table = graph.table(member.table);
        let Some(live) = catalog.tables.get(&table.name) else {
            continue;
        };
        let ended = timed.ended.iter().filter(|_| member.table == rule.root);
        for column in std::iter::once(&rule.end_time).chain(ended) {
            column_finding(table, column, catalog.dialect, live, found);
        }
        for column in &member.family {
            let kind = graph.table(rule.root).key[0].kind;
            let column = Column {
                name: column.clone(),
                kind,
            };
            column_finding(table, &column, catalog.dialect, live, found);
        }
    }
    for stamp in &timed.stamps {
        stamp_findings(graph, stamp, catalog, found);
    }
    for reference in &timed.references {
        match catalog.tables.get(&reference.table) {
            None => found.push(
                error(
                    "missing-table",
                    &reference.table,
                    "the table does not exist".to_owned(),
                )
                .help("take it out of `references`, if this version of the application lacks it"),
            ),
            Some(live) if live.column(&reference.column).is_none() => {
                found.push(missing_column(&reference.table, &reference.column, live));
            }
            Some(_) => {}
        }
    }
}

/// The columns that a stamp needs besides.
fn stamp_findings(graph: &Graph, stamp: &Stamp, catalog: &Catalog, found: &mut Vec<Finding>) {
    let mut check = |table: &Table, column: &Column| {
        if let Some(live) = catalog.tables.get(&table.name) {
            column_finding(table, column, catalog.dialect, live, found);
        }
    };
    let root = graph.table(stamp.root);
    check(root, &stamp.start);
    check(root, &stamp.per);
    // The root table of the rule is looked at elsewhere.
    if stamp.of.is_some() {
        check(root, &stamp.ended);
    }
    let mut same = |table: &Table, name: &String, kind: Kind| {
        let name = name.clone();
        check(table, &Column { name, kind });
    };
    if let Some(column) = &stamp.family {
        same(root, column, root.key[0].kind);
    }
    for own in &stamp.own {
        let named = graph.table(own.through.unwrap_or(stamp.root));
        same(graph.table(own.table), &own.column, named.key[0].kind);
        if let Some(column) = &own.of_root {
            same(root, column, root.key[0].kind);
        }
    }
    for condition in &stamp.candidates {
        if let Some(live) = catalog.tables.get(&root.name) {
            condition_finding(root, condition, catalog.dialect, live, found);
        }
    }
    for (id, columns) in &stamp.untouched {
        let table = graph.table(*id);
        let Some(live) = catalog.tables.get(&table.name) else {
            continue;
        };
        let missing = columns.iter().filter(|name| live.column(name).is_none());
        found.extend(missing.map(|name| missing_column(&table.name, name, live)));
    }
}

fn definition_findings(definition: &Definition, catalog: &Catalog, found: &mut Vec<Finding>) {
    let Some(live) = catalog.tables.get(&definition.table) else {
        found.push(
            error(
                "missing-table",
                &definition.table,
                "the table does not exist".to_owned(),
            )
            .help("`from` names it: is this spec for another version of the application?"),
        );
        return;
    };
    let table = Table {
        name: definition.table.clone(),
        key: vec![definition.key.clone()],
        unique: Vec::new(),
        indexed: Vec::new(),
        triggers: Vec::new(),
        edges: Vec::new(),
        with: With::All,
    };
    column_finding(&table, &definition.key, catalog.dialect, live, found);
    unique_finding(&table, &table.key, live, found);
    let Some(column) = live.column(&definition.column) else {
        found.push(missing_column(&definition.table, &definition.column, live));
        return;
    };
    if !live_kind(catalog.dialect, column).is_some_and(is_whole) {
        let message = format!("is `{}`, and a retention is a whole number", column.kind);
        let object = format!("{}.{}", definition.table, definition.column);
        found.push(error("type-differs", &object, message));
    }
}

/// The columns by which a rule of single rows goes through its table, and the tables that it looks into.
fn single_findings(
    graph: &Graph,
    rule: &Rule,
    single: &Single,
    catalog: &Catalog,
    found: &mut Vec<Finding>,
) {
    let table = graph.table(rule.root);
    let Some(live) = catalog.tables.get(&table.name) else {
        return;
    };
    for column in single.columns() {
        column_finding(table, column, catalog.dialect, live, found);
    }
    if let Single::KeepLast { group, order, .. } = single {
        let nullable = |column: &&Column| {
            let there = live.column(&column.name);
            there.is_some_and(|there| there.nullable)
        };
        for column in group.iter().chain(order).filter(nullable) {
            let message = "may be NULL; rows without a group, or without a place in it, stay";
            let object = format!("{}.{}", table.name, column.name);
            let finding = notice("nullable-rank", &object, message.to_owned());
            found.push(finding.help("verify() counts such rows"));
        }
    }
    for needs in single.chains() {
        let mut upper = Some((table.name.as_str(), live));
        for need in needs {
            upper = need_findings(need, upper, catalog, found);
        }
    }
}

/// A table in which rows are looked up, by columns of the one before; answers that table, if it is there.
fn need_findings<'a>(
    need: &'a Need,
    upper: Option<(&str, &CatalogTable)>,
    catalog: &'a Catalog,
    found: &mut Vec<Finding>,
) -> Option<(&'a str, &'a CatalogTable)> {
    if let Some((name, live)) = upper {
        let columns = need.pairs.iter().map(|(column, _)| column);
        let missing = columns.filter(|column| live.column(column).is_none());
        found.extend(missing.map(|column| missing_column(name, column, live)));
    }
    let Some(live) = catalog.tables.get(&need.table) else {
        let message = "the table does not exist".to_owned();
        found.push(error("missing-table", &need.table, message).help(
            "rows are looked up in it: is this spec for another version of the application?",
        ));
        return None;
    };
    let named: Vec<&str> = need.pairs.iter().map(|(_, named)| named.as_str()).collect();
    let missing: Vec<&&str> = named
        .iter()
        .filter(|named| live.column(named).is_none())
        .collect();
    found.extend(
        missing
            .iter()
            .map(|named| missing_column(&need.table, named, live)),
    );
    // All of them are compared, so any order will do.
    let leads = |index: &CatalogIndex| {
        let first = index.keys.iter().take(named.len()).map(String::as_str);
        index.predicate.is_none()
            && index.valid
            && first.collect::<BTreeSet<_>>() == named.iter().copied().collect()
    };
    if missing.is_empty() && !live.indexes.iter().any(leads) {
        let object = format!("{}.{}", need.table, named.join("_"));
        let message = format!(
            "no index leads with ({}), by which each row is looked up",
            named.join(", ")
        );
        found.push(error("missing-index", &object, message).help(
            "create one: rows are only looked up in this table, so that windrow adds none to it",
        ));
    }
    Some((need.table.as_str(), live))
}

fn missing_column(table: &str, column: &str, live: &CatalogTable) -> Finding {
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

/// Whether a table lacks an index that the plan needs, or has it, but not ready for use.
pub fn lacks(graph: &Graph, catalog: &Catalog, need: &IndexNeed) -> bool {
    let Some(live) = catalog.tables.get(&graph.table(need.table).name) else {
        return false;
    };
    let needed = needed(catalog.dialect, need);
    let there = leading(live, &parts(needed, need.otherwise.as_ref()));
    needed.iter().all(|name| live.column(name).is_some())
        && !there.iter().any(|index| index.valid && index.ready)
}

/// The columns of an index; where it cannot be partial, what its condition says stands in front of it.
fn needed(dialect: Dialect, need: &IndexNeed) -> &[String] {
    match dialect.facts().partial_indexes {
        true => &need.columns,
        false => &need.whole_columns,
    }
}

/// The indexes that the plan needs, and those that the spec says the application has.
fn indexes(graph: &Graph, catalog: &Catalog, found: &mut Vec<Finding>) {
    let partial = catalog.dialect.facts().partial_indexes;
    for need in plan::make(graph).indexes_for(partial) {
        let table = graph.table(need.table);
        let Some(live) = catalog.tables.get(&table.name) else {
            continue;
        };
        let needed = needed(catalog.dialect, &need);
        if needed.iter().any(|name| live.column(name).is_none()) {
            continue;
        }
        let object = format!("{}.{}", table.name, needed.join("_"));
        let message = format!("no index leads with ({})", needed.join(", "));
        index_finding(
            &object,
            catalog.dialect,
            leading(live, &parts(needed, need.otherwise.as_ref())),
            message,
            found,
        );
    }
    for table in &graph.tables {
        let Some(live) = catalog.tables.get(&table.name) else {
            continue;
        };
        for column in &table.indexed {
            let columns: BTreeSet<&str> = column.split(", ").collect();
            // Told already.
            if columns.iter().any(|name| live.column(name).is_none()) {
                continue;
            }
            // All of an edge's are compared, so any order will do; along those of a group, a run goes.
            let ordered = is_way(graph, table, column);
            let leads = |index: &CatalogIndex| {
                let first: Vec<&str> = index
                    .keys
                    .iter()
                    .take(columns.len())
                    .map(String::as_str)
                    .collect();
                match ordered {
                    true => first == column.split(", ").collect::<Vec<_>>(),
                    false => first.into_iter().collect::<BTreeSet<_>>() == columns,
                }
            };
            if !live.indexes.iter().any(|index| {
                (index.predicate.is_none() || is_ours(index)) && index.valid && leads(index)
            }) {
                let message = format!(
                    "the spec says that the application has an index on `{column}`, and there is none"
                );
                found.push(
                    error(
                        "missing-index",
                        &format!("{}.{column}", table.name),
                        message,
                    )
                    .help("take the column out of `indexed`, so that `20_indexes.sql` creates one"),
                );
            }
        }
    }
}

/// Whether a rule goes along these columns of a table, in their order.
fn is_way(graph: &Graph, table: &Table, columns: &str) -> bool {
    graph.rules.iter().any(|rule| match &rule.single {
        Some(Single::KeepLast { group, order, .. }) => {
            let names = group.iter().chain(order).map(|column| column.name.as_str());
            graph.table(rule.root).name == table.name
                && names.collect::<Vec<_>>().join(", ") == columns
        }
        _ => false,
    })
}

/// The parts of an index as the catalog has them: a column, or what stands for it together with another one.
fn parts(columns: &[String], otherwise: Option<&(String, String)>) -> Vec<String> {
    let part = |name: &String| match otherwise {
        Some((column, other)) if column == name => {
            expression(&format!("coalesce({column},{other})"))
        }
        _ => name.clone(),
    };
    columns.iter().map(part).collect()
}

/// An expression without what the servers write differently: quotes, spaces, capitals.
fn expression(printed: &str) -> String {
    let plain = printed
        .chars()
        .filter(|sign| !['"', '`', ' '].contains(sign));
    plain.collect::<String>().to_lowercase()
}

/// The indexes that start with these parts; a partial one serves only if windrow made it.
fn leading<'a>(live: &'a CatalogTable, columns: &[String]) -> Vec<&'a CatalogIndex> {
    live.indexes
        .iter()
        .filter(|index| index.predicate.is_none() || is_ours(index))
        .filter(|index| {
            let key = |key: &String| match key.contains('(') {
                true => expression(key),
                false => key.clone(),
            };
            let keys: Vec<String> = index.keys.iter().map(key).collect();
            keys.starts_with(columns)
        })
        .collect()
}

fn index_finding(
    object: &str,
    dialect: Dialect,
    indexes: Vec<&CatalogIndex>,
    message: String,
    found: &mut Vec<Finding>,
) {
    if indexes.iter().any(|index| index.valid && index.ready) {
        return;
    }
    match indexes.first() {
        None => {
            found.push(notice("missing-index", object, message).help("`20_indexes.sql` creates it"))
        }
        Some(index) if dialect != Dialect::Postgres => {
            found.push(mysql::unused_index(object, index));
        }
        Some(index) if is_ours(index) => found.push(
            error(
                "invalid-index",
                object,
                format!("the index `{}` is invalid", index.name),
            )
            .help("`windrow install` drops it and builds it again"),
        ),
        Some(index) => found.push(
            warning(
                "invalid-index",
                object,
                format!("the index `{}` is invalid", index.name),
            )
            .help(format!(
                "drop it; `20_indexes.sql` creates one, or use REINDEX INDEX CONCURRENTLY \"{}\"",
                index.name
            )),
        ),
    }
}

/// Tables that are not in the spec but look as if they hung on what is.
fn outsiders(graph: &Graph, catalog: &Catalog, found: &mut Vec<Finding>) {
    let known = |name: &str| {
        graph.tables.iter().any(|table| table.name == name)
            || graph.ignored.iter().any(|ignored| ignored.table == name)
    };
    let referencing: BTreeSet<String> = found
        .iter()
        .filter(|finding| finding.code == "unlisted-reference")
        .map(|finding| finding.object.clone())
        .collect();
    // One column of several says little: many tables have a `run_id`.
    let columns: BTreeSet<&str> = graph
        .tables
        .iter()
        .flat_map(|table| &table.edges)
        .filter(|edge| edge.further.is_empty() && !edge.alone)
        .map(|edge| edge.column.name.as_str())
        .collect();
    for (name, live) in &catalog.tables {
        let partition_of = live.partition_of.as_deref();
        if known(name) || referencing.contains(name) || partition_of.is_some() {
            continue;
        }
        for column in live
            .columns
            .iter()
            .filter(|column| columns.contains(column.name.as_str()))
        {
            let message = format!(
                "has the column `{}`, like an edge of the spec, but is not in the spec",
                column.name
            );
            found.push(
                warning("unlisted-column", name, message)
                    .help("add it to `[tables]`, or to the ignored tables with a reason"),
            );
        }
    }
}

fn collect_scans(plan: &Value, scans: &mut Vec<(String, String)>) {
    match plan {
        Value::Array(parts) => parts.iter().for_each(|part| collect_scans(part, scans)),
        Value::Object(node) => {
            if node.get("Node Type").and_then(Value::as_str) == Some("Seq Scan")
                && let Some(table) = node.get("Relation Name").and_then(Value::as_str)
            {
                let filter = node
                    .get("Filter")
                    .and_then(Value::as_str)
                    .unwrap_or("no condition");
                let short: String = filter.chars().take(120).collect();
                scans.push((table.to_owned(), format!("`{short}`")));
            }
            node.values()
                .filter(|value| value.is_array() || value.is_object())
                .for_each(|part| collect_scans(part, scans));
        }
        _ => {}
    }
}

/// The kind of a type as the server prints it.
fn kind_of(printed: &str) -> Option<Kind> {
    let bare = printed.split('(').next().unwrap_or(printed).trim();
    Some(match bare {
        "smallint" => Kind::Smallint,
        "integer" => Kind::Integer,
        "bigint" => Kind::Bigint,
        "uuid" => Kind::Uuid,
        "character varying" | "text" | "character" | "name" => Kind::Varchar,
        // `timestamp(3) with time zone` has its precision in the middle.
        "timestamp" | "timestamp with time zone" | "timestamp without time zone"
            if printed.ends_with("with time zone") =>
        {
            Kind::Timestamptz
        }
        "timestamp" | "timestamp without time zone" => Kind::Timestamp,
        _ => return None,
    })
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Smallint => "smallint",
        Kind::Integer => "integer",
        Kind::Bigint => "bigint",
        Kind::Uuid => "uuid",
        Kind::Varchar => "varchar",
        Kind::Timestamp => "timestamp",
        Kind::Timestamptz => "timestamptz",
    }
}

fn is_whole(kind: Kind) -> bool {
    matches!(kind, Kind::Smallint | Kind::Integer | Kind::Bigint)
}

/// Whether windrow made this index; its predicates are those of its statements.
fn is_ours(index: &CatalogIndex) -> bool {
    index.name.starts_with("windrow_")
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

fn error(code: &'static str, object: &str, message: String) -> Finding {
    Finding {
        code,
        severity: Severity::Error,
        object: object.to_owned(),
        message,
        help: String::new(),
    }
}

fn warning(code: &'static str, object: &str, message: String) -> Finding {
    Finding {
        severity: Severity::Warning,
        ..error(code, object, message)
    }
}

fn notice(code: &'static str, object: &str, message: String) -> Finding {
    Finding {
        severity: Severity::Notice,
        ..error(code, object, message)
    }
}

impl Finding {
    fn help(mut self, help: impl Into<String>) -> Finding {
        self.help = help.into();
        self
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Severity::Notice => "notice",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}[{}]: `{}`: {}",
            self.severity, self.code, self.object, self.message
        )?;
        if self.help.is_empty() {
            Ok(())
        } else {
            write!(out, "\n  help: {}", self.help)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_types_are_known() {
        let kinds = [
            "integer",
            "character varying(64)",
            "timestamp(3) without time zone",
            "timestamp(3) with time zone",
        ];
        assert_eq!(
            kinds.map(kind_of),
            [
                Some(Kind::Integer),
                Some(Kind::Varchar),
                Some(Kind::Timestamp),
                Some(Kind::Timestamptz)
            ]
        );
        assert_eq!(kind_of("timestamp with time zone"), Some(Kind::Timestamptz));
        assert_eq!(kind_of("jsonb"), None);
    }

    #[test]
    fn only_a_scan_of_a_big_table_is_found() {
        let plan = plan_of(
            serde_json::json!([{"Plan": {"Node Type": "ModifyTable", "Plans": [
            {"Node Type": "Seq Scan", "Relation Name": "big", "Filter": "(x = 1)"},
            {"Node Type": "Seq Scan", "Relation Name": "small"}]}}]),
        );
        let mut catalog = Catalog::default();
        catalog.tables.insert(
            "big".to_owned(),
            CatalogTable {
                estimated_rows: 50_000,
                ..CatalogTable::default()
            },
        );
        catalog.tables.insert(
            "small".to_owned(),
            CatalogTable {
                estimated_rows: 5,
                ..CatalogTable::default()
            },
        );
        let probe = Probe {
            what: "delete from big".to_owned(),
            table: "big".to_owned(),
            sql: String::new(),
        };
        let found = judge_plan(&probe, &plan, &catalog, &[], 10_000);
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "error[seq-scan]: `big`: `delete from big` reads all of its about 50000 rows, by `(x = 1)`\n  \
             help: create an index that leads with the column, or run ANALYZE if the estimate is off"
            ]
        );
    }

    fn plan_of(plan: Value) -> Vec<Vec<Option<String>>> {
        vec![vec![Some(plan.to_string())]]
    }

    #[test]
    fn codes_are_explained() {
        assert!(explain("seq-scan").is_some_and(|text| text.contains("EXPLAIN")));
        assert_eq!(explain("nonsense"), None);
    }
}
