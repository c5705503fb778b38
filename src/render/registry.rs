//! What the kernel of MySQL and MariaDB knows about a whole spec: lists of rows, which it takes into its tables.

use serde::Serialize;

use super::indexes::index_rows;
use super::jobs::{Job, event_view};
use super::json::written;
use super::names::{control_name, fixed_offset, home, role_name, run_lock};
use super::tables::counted;
use super::{acting, archive, document, kernel, orphan_guard, restore};
use crate::dialect::Dialect;
use crate::graph::{Graph, TableId};
use crate::plan::Plan;

/// What is in the registry about the whole of an installation.
#[derive(Serialize)]
struct SpecDocument<'a> {
    spec: &'a str,
    /// What people call the application.
    title: &'a str,
    /// The hash of the tables of the control schema, as they are generated.
    ledger: String,
    /// The control database.
    control: &'a str,
    roles: Roles,
    rules: Vec<&'a str>,
    /// Where the tables of the application are.
    schema: &'a str,
    /// How many runs there may be at a time.
    workers: i64,
    /// The tables whose rows are copied before they are deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    archives: Vec<restore::ArchiveDocument<'a>>,
    /// Whether partitions are kept instead of being dropped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    detaches: bool,
    /// The name of the lock that a run holds.
    run_lock: String,
    /// The zone of the application's clock, where the server must know it to count cutoffs.
    #[serde(skip_serializing_if = "Option::is_none")]
    named_zone: Option<&'a str>,
    /// The table in which replicas say how far they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    heartbeat: Option<&'a str>,
    /// Whether windrow itself notes how far they are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    keeps_heartbeat: bool,
    /// The schedule for people, and its jobs.
    schedule: String,
    jobs: Vec<Starts>,
    windows: Vec<document::Window<'a>>,
    tables: Vec<Table<'a>>,
    keys: Vec<acting::KeyDocument>,
    edges: Vec<acting::EdgeDocument<'a>>,
    /// What is compared besides, and what of it must be found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compared: Vec<[&'a str; 4]>,
    /// The columns that name files, with their tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<[&'a str; 2]>,
    ignored: Vec<&'a str>,
    indexes: Vec<Index>,
    /// The names of the triggers that refuse a row whose parent is gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    triggers: Vec<String>,
}

/// The roles of an installation.
#[derive(Serialize)]
struct Roles {
    owner: String,
    operator: String,
    auditor: String,
}

/// An event of the schedule, and when it may start: numbers between commas, none where at any.
#[derive(Serialize)]
struct Starts {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    minutes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hours: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weekdays: Option<String>,
    /// What the event itself says: `7 HOUR`, and the instant from which it counts.
    every: String,
    starts: String,
}

/// A table of the application that rules delete from or read, the columns of its keys and edges, whether its rows are deleted, and what
/// of them is set.
#[derive(Serialize)]
struct Table<'a> {
    name: &'a str,
    columns: Vec<&'a str>,
    #[serde(skip_serializing_if = "is_not")]
    goes: u8,
    /// The columns that are set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sets: Vec<&'a str>,
    /// The triggers that the spec accepts.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    triggers: &'a [String],
}

/// An index that the statements need.
#[derive(Serialize)]
struct Index {
    table_name: String,
    index_name: String,
    columns: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_not(said: &u8) -> bool {
    *said == 0
}

/// The document of a spec.
pub(super) fn of_spec(graph: &Graph, plan: &Plan, dialect: Dialect) -> String {
    let control = control_name(graph);
    let going = document::going(graph, plan);
    let role = |suffix: &str| role_name(dialect, &control, suffix);
    let listed = |numbers: Option<Vec<u32>>| {
        let numbers = numbers?;
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        Some(numbers.join(","))
    };
    let jobs = Job::of(graph).map(|job| {
        let [minutes, hours, weekdays] = job.starts().map(&listed);
        let event = event_view(job.schedule);
        Starts {
            name: job.event(),
            minutes,
            hours,
            weekdays,
            every: event.every.trim_start_matches("EVERY ").to_owned(),
            starts: event.starts.trim_matches('\'').to_owned(),
        }
    });
    let tables = graph.tables.iter().zip(0..).map(|(table, at)| {
        let columns = acting::columns(graph, table);
        Table {
            name: &table.name,
            sets: acting::sets(graph, TableId(at), dialect),
            triggers: &table.triggers,
            goes: going.contains(&table.name.as_str()).into(),
            // A table without keys and edges is compared by all of its columns.
            columns: if columns.is_empty() {
                vec!["*"]
            } else {
                columns
            },
        }
    });
    let read = graph.read_only().into_iter().map(|name| Table {
        name,
        columns: graph.looked_at(name).into_iter().collect(),
        goes: 0,
        sets: Vec::new(),
        triggers: &[],
    });
    let indexes = index_rows(graph, plan, dialect).into_iter();
    let indexes = indexes.map(|(table_name, index_name, columns)| Index {
        table_name,
        index_name,
        columns,
    });
    written(&SpecDocument {
        spec: &graph.name,
        title: &graph.title,
        ledger: kernel::ledger(dialect),
        control: &control,
        roles: Roles {
            owner: role("owner"),
            operator: role("operator"),
            auditor: role("auditor"),
        },
        rules: graph.rules.iter().map(|rule| rule.name.as_str()).collect(),
        schema: home(graph, dialect),
        workers: graph.workers,
        archives: restore::archives(graph, dialect),
        detaches: archive::detaches(graph),
        run_lock: run_lock(&control),
        named_zone: match fixed_offset(&graph.time_zone) {
            Some(_) => None,
            None => Some(&graph.time_zone),
        },
        heartbeat: graph.heartbeat_column().map(|it| it.table.as_str()),
        keeps_heartbeat: graph.keeps_heartbeat(),
        schedule: graph.schedules.join(", "),
        jobs: jobs.collect(),
        windows: document::windows(graph),
        tables: tables.chain(read).collect(),
        keys: acting::documents(graph),
        edges: acting::edges(graph, &counted(plan), dialect),
        compared: acting::compared(graph, dialect),
        files: document::files(graph),
        ignored: graph.ignored.iter().map(|it| it.table.as_str()).collect(),
        indexes: indexes.collect(),
        triggers: orphan_guard::names(graph, dialect),
    })
}
