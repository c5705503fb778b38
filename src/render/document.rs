//! What the kernel knows of a spec: its documents, which an installation registers.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::indexes::{IndexView, index_rows, index_statements};
use super::jobs::Job;
use super::json::written;
use super::names::{control_name, fixed_offset, hex12, least_key, lock_class, meaning, role_name};
use super::partitions::Partitions;
use super::rules::{batch_setting, by_calendar, clock, is_zoned, least, nested, time_name};
use super::spelling::{hexed, key, spelled};
use super::tables::counted;
use super::views::StrategyView;
use super::{
    above, acting, archive, cascade, edges, keeps, kernel, newest, orphan_guard, restore, settings,
    stamp,
};
use crate::dialect::Dialect;
use crate::graph::{self, Figure, Graph, Rule, Single, Unit};
use crate::plan::{Plan, Purge};

/// What is in the registry of an installation about the whole of it.
#[derive(Serialize)]
struct SpecDocument<'a> {
    spec: &'a str,
    /// What people call the application.
    title: &'a str,
    /// The hash of the tables of the control schema, as they are generated.
    ledger: String,
    /// The control schema.
    control: &'a str,
    roles: Roles,
    rules: Vec<&'a str>,
    /// What removal times can be set anew.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stamps: Vec<String>,
    /// Where the tables of the application are.
    schema: &'a str,
    /// How many runs there may be at a time.
    workers: i64,
    /// The tables whose rows are copied before they are deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    archives: Vec<restore::ArchiveDocument<'a>>,
    /// The schema for partitions that are detached instead of dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    detaches: Option<String>,
    lock_class: i32,
    /// The schedule for people, and its jobs.
    schedule: String,
    jobs: Vec<Starts>,
    /// What pg_cron has been given.
    cron: Vec<KnownJob>,
    windows: Vec<Window<'a>>,
    /// The table in which replicas say how far they are, and its schema if that is not the application's.
    #[serde(skip_serializing_if = "Option::is_none")]
    heartbeat: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    heartbeat_schema: Option<&'a str>,
    /// Whether runs wait for what is to be seen in the sessions of others.
    #[serde(skip_serializing_if = "is_not")]
    sees_sessions: bool,
    tables: BTreeMap<&'a str, acting::TableDocument<'a>>,
    keys: Vec<acting::KeyDocument>,
    edges: Vec<acting::EdgeDocument<'a>>,
    /// What is compared besides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compared: Vec<[&'a str; 4]>,
    /// Each column that names files, with its table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<[&'a str; 2]>,
    ignored: Vec<&'a str>,
    /// What SQL of the spec names, and what it calls.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    named: BTreeSet<(String, String)>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    called: BTreeSet<(String, String)>,
    /// The indexes that the statements need, by table.
    indexes: BTreeMap<String, Vec<String>>,
    /// The triggers that refuse a row whose parent is gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    guards: Vec<orphan_guard::GuardDocument>,
}

/// The roles of an installation.
#[derive(Serialize)]
struct Roles {
    owner: String,
    operator: String,
    auditor: String,
    /// The login of the schedule.
    login: String,
}

/// A job of the schedule, and when it starts: none where at any value.
#[derive(Serialize)]
struct Starts {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    minutes: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hours: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weekdays: Option<Vec<u32>>,
}

/// What the file of the schedule is given.
#[derive(Serialize)]
struct ScheduleDocument<'a> {
    control: &'a str,
    login: String,
    operator: String,
    jobs: Vec<CronJob>,
}

/// What pg_cron is given.
#[derive(Serialize)]
struct CronJob {
    name: String,
    schedule: String,
    command: String,
}

/// The same, as it is known later: the hash of the command.
#[derive(Serialize)]
struct KnownJob {
    name: String,
    schedule: String,
    hash: String,
}

impl CronJob {
    fn known(self) -> KnownJob {
        KnownJob {
            hash: hex12(&self.command),
            name: self.name,
            schedule: self.schedule,
        }
    }
}

/// When scheduled runs may work.
#[derive(Serialize)]
pub(super) struct Window<'a> {
    written: &'a str,
    days: &'a str,
    begins: &'a str,
    ends: &'a str,
    zone: &'a str,
}

/// What is there about one rule, in the order in which a person reads it.
#[derive(Serialize)]
struct RuleDocument<'a> {
    rule: &'a str,
    strategy: &'static str,
    /// The table whose rows the rule looks at.
    root: &'a str,
    /// The columns of its key, with their types.
    key: Vec<String>,
    /// The tables whose rows are deleted, in the order of deletion.
    tables: Vec<&'a str>,
    /// What people call the time by which rows become due, and whether it is an instant.
    time_name: String,
    #[serde(skip_serializing_if = "is_not")]
    zoned: bool,
    /// MySQL and MariaDB: the time before all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    least: Option<&'static str>,
    /// The zone of the application's clock, where the time has none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<&'a str>,
    /// The column of the policies, and its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope_type: Option<&'static str>,
    /// Seconds; none where the spec has no default.
    retention: Option<i64>,
    /// Seconds.
    minimum: i64,
    safety_lag: i64,
    /// Whether a retention counts at all.
    #[serde(skip_serializing_if = "is_not")]
    retained: bool,
    /// Whether rows without a time are counted at the end of a run; those of partitions are in the default one, which a step looks at.
    #[serde(skip_serializing_if = "is_not")]
    counts_undated: bool,
    /// Whether workers share it out.
    #[serde(skip_serializing_if = "is_not")]
    divided: bool,
    /// What the rule waits for besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_while_sql: Option<&'a str>,
    /// What the spec says of each setting, by name, where that is not what it says in all rules.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    limits: BTreeMap<&'static str, i64>,
    /// Seconds by which that zone is ahead of UTC, for MySQL and MariaDB, where these know it without tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<i32>,
    /// What one transaction of a rule by time takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    /// Of a rule by time: whether its rows are of one table, and only a hold keeps one; and what has removal times to set.
    #[serde(skip_serializing_if = "is_not")]
    plain: bool,
    #[serde(flatten)]
    partitions: Partitions,
    /// Whether rows of its families may name rows of other ones.
    #[serde(skip_serializing_if = "is_not")]
    crosses: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stamps: Vec<stamp::StampDocument<'a>>,
    /// Of a rule by the end of families: the time by which roots are searched, the least key, whether only scopes with a
    /// policy are cleaned, and whether a family is all that hangs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    along: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_key: Option<String>,
    #[serde(skip_serializing_if = "is_not")]
    opt_in: bool,
    #[serde(skip_serializing_if = "is_not")]
    closed: bool,
    /// The type of its members' keys; whether members are linked at all, by links and by shared rows; whether rows below
    /// another are roots, too; whether other rows keep members, and whether the newest roots are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    id_type: Option<&'static str>,
    #[serde(skip_serializing_if = "is_not")]
    linked: bool,
    #[serde(skip_serializing_if = "is_not")]
    above: bool,
    #[serde(skip_serializing_if = "is_not")]
    meets: bool,
    #[serde(skip_serializing_if = "is_not")]
    nested: bool,
    #[serde(skip_serializing_if = "is_not")]
    keeps: bool,
    /// Rules whose holds may keep its rows; it is asked which ones.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    bound: BTreeSet<&'a str>,
    #[serde(skip_serializing_if = "is_not")]
    newest: bool,
    /// The zone in which a day is one of the calendar, where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    calendar: Option<&'a str>,
    /// Of MySQL and MariaDB: the clock of the application as CONVERT_TZ takes it; whether something besides policies says retentions; whether policies say that files are not recorded; whether rows of the
    /// root table name each other by foreign keys; and whether a batch keeps the keys of tables in between.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<String>,
    #[serde(skip_serializing_if = "is_not")]
    source: bool,
    #[serde(skip_serializing_if = "is_not")]
    silences: bool,
    #[serde(skip_serializing_if = "is_not")]
    within: bool,
    #[serde(skip_serializing_if = "is_not")]
    keyed: bool,
    /// The tables whose rows may be left to foreign keys, each with the one that these name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    cascades: BTreeMap<&'a str, &'a str>,
    /// Of MySQL and MariaDB: what a batch takes, and whether rows are copied before they are deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_setting: Option<&'static str>,
    #[serde(skip_serializing_if = "is_not")]
    archives: bool,
    /// How rows are archived, and found there.
    #[serde(flatten)]
    kept: restore::KeptDocument<'a>,
    /// Of a rule of single rows: whether it has work tables for the keys of tables in between (MySQL, MariaDB), and its passes.
    #[serde(skip_serializing_if = "is_not")]
    collects: bool,
    /// Whether a batch of it may use a list of keys, on MySQL and MariaDB.
    #[serde(skip_serializing_if = "is_not")]
    swept: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passes: Vec<&'static str>,
    /// The columns that each of them follows, on PostgreSQL; and whether a batch there judges rows again that did not change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ways: Vec<&'a [String]>,
    #[serde(skip_serializing_if = "is_not")]
    judged_again: bool,
    /// The columns of its cursor in the work tables, on MySQL and MariaDB.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cursor: Vec<&'a str>,
    /// Those columns of its work tables that are bytes there, on MySQL and MariaDB: texts have them as hexadecimal digits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hexed: Vec<&'a str>,
    /// Further fields of a preview, and of the report of a run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    report_preview: Vec<Field<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    report_run: Vec<Field<'a>>,
}

/// A field that the spec wants in a report, under a name of its own.
#[derive(Serialize)]
struct Field<'a> {
    name: &'a str,
    figure: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<&'a str>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_not(said: &bool) -> bool {
    !said
}

/// The tables whose rows are deleted.
pub(super) fn going<'a>(graph: &'a Graph, plan: &Plan) -> Vec<&'a str> {
    let steps = plan.purges.iter().flat_map(|purge| &purge.steps);
    let mut names: Vec<&str> = steps
        .map(|step| graph.table(step.table).name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The tables whose partitions are dropped.
pub(super) fn dropped(graph: &Graph) -> Vec<&str> {
    let rules = graph.rules.iter().filter(|rule| rule.drops_partitions());
    rules
        .flat_map(|rule| &rule.order)
        .map(|table| graph.table(*table).name.as_str())
        .collect()
}

/// The windows of a spec.
pub(super) fn windows(graph: &Graph) -> Vec<Window<'_>> {
    let windows = graph.windows.iter().map(|window| Window {
        written: &window.written,
        days: &window.days,
        begins: &window.begins,
        ends: &window.ends,
        zone: &window.zone,
    });
    windows.collect()
}

/// The document of a spec.
pub(super) fn of_spec(graph: &Graph, plan: &Plan, dialect: Dialect) -> String {
    let control = control_name(graph);
    let going = going(graph, plan);
    let role = |suffix: &str| role_name(dialect, &control, suffix);
    let mut indexes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (table, name, _) in index_rows(graph, plan, dialect) {
        indexes.entry(table).or_default().push(name);
    }
    let throttles = settings::throttles(graph, dialect, &graph.schema);
    let document = SpecDocument {
        spec: &graph.name,
        title: &graph.title,
        ledger: kernel::ledger(dialect),
        control: &control,
        roles: Roles {
            owner: role("owner"),
            operator: role("operator"),
            auditor: role("auditor"),
            login: role("schedule"),
        },
        stamps: stamp::names(graph),
        rules: graph.rules.iter().map(|rule| rule.name.as_str()).collect(),
        schema: &graph.schema,
        workers: graph.workers,
        archives: restore::archives(graph, dialect),
        detaches: archive::schema(graph, dialect),
        lock_class: lock_class(&control),
        schedule: graph.schedules.join(", "),
        jobs: Job::of(graph)
            .map(|job| {
                let [minutes, hours, weekdays] = job.starts();
                Starts {
                    name: format!("{control}{}", job.suffix()),
                    minutes,
                    hours,
                    weekdays,
                }
            })
            .collect(),
        cron: cron_jobs(graph, dialect)
            .into_iter()
            .map(CronJob::known)
            .collect(),
        windows: windows(graph),
        heartbeat: graph.heartbeat_column().map(|it| it.table.as_str()),
        heartbeat_schema: graph.heartbeat_column().and_then(|it| it.schema.as_deref()),
        sees_sessions: throttles.sees_sessions,
        tables: acting::tables(graph, &going, &dropped(graph), dialect),
        keys: acting::documents(graph),
        edges: acting::edges(graph, &counted(plan), dialect),
        compared: acting::compared(graph, dialect),
        files: files(graph),
        ignored: graph.ignored.iter().map(|it| it.table.as_str()).collect(),
        named: graph.sql_names(),
        called: graph.sql_calls(),
        indexes,
        guards: orphan_guard::documents(graph, dialect),
    };
    written(&document)
}

/// What an installation keeps besides the document of its spec.
#[derive(Serialize)]
struct Beside {
    meaning: String,
    /// The columns with which an index has to lead that serves in place of one of windrow's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    led_by: BTreeMap<String, Vec<String>>,
}

/// That, as a document of its own.
pub(super) fn beside(graph: &Graph, dialect: Dialect) -> String {
    let indexes = index_statements(graph, dialect).into_iter();
    // Elsewhere than on PostgreSQL the registry has them.
    let indexes = indexes.filter(|it| dialect == Dialect::Postgres && it.need.instead.is_none());
    written(&Beside {
        meaning: meaning(graph, dialect),
        led_by: indexes.map(|it| (it.name, it.need.columns)).collect(),
    })
}

/// What an uninstallation is given.
#[derive(Serialize)]
struct UndoDocument<'a> {
    control: &'a str,
    owner: String,
    operator: String,
    auditor: String,
    login: String,
    /// The indexes that are dropped, which are windrow's own.
    indexes: Vec<&'a str>,
}

/// The document of an uninstallation.
pub(super) fn of_undo(graph: &Graph, indexes: &[IndexView], dialect: Dialect) -> String {
    let control = control_name(graph);
    let role = |suffix: &str| role_name(dialect, &control, suffix);
    let document = UndoDocument {
        owner: role("owner"),
        operator: role("operator"),
        auditor: role("auditor"),
        login: role("schedule"),
        indexes: indexes.iter().map(|index| index.name.as_str()).collect(),
        control: &control,
    };
    written(&document)
}

/// The jobs of pg_cron.
fn cron_jobs(graph: &Graph, dialect: Dialect) -> Vec<CronJob> {
    let control = control_name(graph);
    let mut jobs: Vec<CronJob> = Job::of(graph)
        .map(|job| {
            let worker = job.worker().map(|worker| format!(", \"worker\": {worker}"));
            let worker = worker.unwrap_or_default();
            CronJob {
                name: format!("{control}{}", job.suffix()),
                schedule: job.schedule.to_owned(),
                command: format!("CALL {control}.run('{{\"trigger\": \"SCHEDULED\"{worker}}}')"),
            }
        })
        .collect();
    if graph.cron_history > 0 {
        let name = format!("{control} history");
        let names = jobs
            .iter()
            .map(|job| job.name.as_str())
            .chain([name.as_str()]);
        let names: Vec<String> = names.map(|name| dialect.text(name)).collect();
        // pg_cron keeps a row of every start forever.
        let command = format!(
            "DELETE FROM cron.job_run_details AS d USING cron.job AS j WHERE j.jobid = d.jobid AND j.jobname IN ({}) \
             AND coalesce(d.end_time, d.start_time) < now() - interval '{} seconds'",
            names.join(", "),
            graph.cron_history
        );
        jobs.push(CronJob {
            name: name.clone(),
            schedule: "41 3 * * *".to_owned(),
            command,
        });
    }
    jobs
}

/// The document of the schedule: what starts, when, and as whom.
pub(super) fn of_schedule(graph: &Graph, dialect: Dialect) -> String {
    let control = control_name(graph);
    let document = ScheduleDocument {
        control: &control,
        login: role_name(dialect, &control, "schedule"),
        operator: role_name(dialect, &control, "operator"),
        jobs: cron_jobs(graph, dialect),
    };
    written(&document)
}

/// Whether rows of the families of a rule may name rows of other ones.
fn crosses(graph: &Graph, rule: &Rule) -> bool {
    let mut members = rule.timed().into_iter().flat_map(|timed| &timed.members);
    members.any(|it| !rule.crossings(it, graph.table(it.table)).is_empty())
}

/// The document of the rules: what is the same in all of them, and theirs, in the order in which a run takes them.
pub(super) fn of_rules<'a>(
    graph: &Graph,
    dialect: Dialect,
    rules: impl Iterator<Item = &'a str>,
) -> String {
    let limits = settings::shared_limits(graph, dialect);
    let limits: Vec<String> = limits
        .iter()
        .map(|(name, value)| format!("\"{name}\": {value}"))
        .collect();
    let rules: Vec<String> = rules.map(|rule| rule.replace('\n', "\n    ")).collect();
    format!(
        "{{\n  \"limits\": {{\n    {}\n  }},\n  \"rules\": [\n    {}\n  ]\n}}",
        limits.join(",\n    "),
        rules.join(",\n    ")
    )
}

/// The document of a rule.
pub(super) fn of_rule(
    graph: &Graph,
    purge: &Purge,
    view: &StrategyView,
    dialect: Dialect,
) -> String {
    let rule = &graph.rules[purge.rule];
    let scope = rule.retention.per.as_ref();
    let families = rule.by_end();
    let timed = rule.timed();
    let unit = timed.map(|timed| timed.unit);
    let time_kind = match rule.single() {
        Some(single) => super::single::oldest(rule, single),
        None => rule.end_time.kind,
    };
    let postgres = dialect == Dialect::Postgres;
    let meets = !keeps::meets(graph, purge, dialect).is_empty();
    let document = RuleDocument {
        rule: &rule.name,
        strategy: rule.strategy.name(),
        root: &graph.table(rule.root).name,
        key: key(graph.table(rule.root), dialect),
        tables: purge
            .steps
            .iter()
            .map(|step| graph.table(step.table).name.as_str())
            .collect(),
        time_name: time_name(graph, rule),
        zone: (time_kind != graph::Kind::Timestamptz).then_some(&graph.time_zone),
        zoned: is_zoned(rule),
        least: (!postgres).then(|| least(rule)),
        scope_name: scope.map(|column| column.name.as_str()),
        scope_type: scope.map(|column| {
            if postgres {
                dialect.kind(column.kind)
            } else {
                spelled(column.kind)
            }
        }),
        retention: rule.retention.default,
        minimum: rule.retention.minimum,
        safety_lag: rule.retention.safety_lag,
        retained: rule.single().is_none_or(|it| it.aged().is_some()),
        counts_undated: match rule.single() {
            None => !rule.drops_partitions(),
            Some(single) => matches!(single, Single::Expiry { fallback: Some(_) }),
        },
        divided: graph.workers > 1 && rule.is_divided(graph.table(rule.root)),
        wait_while_sql: rule.limits.wait_while_sql.as_deref(),
        limits: settings::own_limits(rule, graph, dialect),
        offset: fixed_offset(&graph.time_zone)
            .filter(|it| *it != 0 && timed.is_some() && !postgres)
            .filter(|_| time_kind != graph::Kind::Timestamptz),
        unit: unit.map(Unit::name),
        plain: rule.is_plain(graph.table(rule.root)) || rule.drops_partitions(),
        partitions: Partitions::new(graph, rule, dialect),
        crosses: crosses(graph, rule),
        stamps: stamp::documents(graph, rule, dialect),
        along: families.then(|| along(rule)),
        first_key: (families || unit == Some(Unit::Family) && !postgres).then(|| {
            let key = least_key(dialect, graph.table(rule.root).key[0].kind);
            key.trim_matches('\'').to_owned()
        }),
        opt_in: families && scope.is_some() && rule.retention.listed(),
        closed: families && rule.shared == graph::Shared::Closed,
        id_type: families.then(|| dialect.kind(purge.id_kind)),
        linked: families && (meets || !rule.hierarchy.is_empty()),
        above: families
            && !rule.hierarchy.is_empty()
            && !rule.candidates.is_empty()
            && rule.shared != graph::Shared::Closed,
        meets: families && meets,
        nested: families && nested(rule),
        keeps: families && !purge.keeps.is_empty(),
        bound: above::binding(graph, rule, dialect),
        newest: families && !newest::views(graph, rule, dialect).is_empty(),
        clock: (families && !postgres).then(|| clock(graph, rule.end_time.kind)),
        calendar: (families && by_calendar(graph, rule)).then_some(graph.time_zone.as_str()),
        source: families && !postgres && rule.retention.source.is_some() && scope.is_some(),
        silences: families && !postgres && !rule.artifacts.is_empty() && scope.is_some(),
        within: families && !postgres && rule.links_within().next().is_some(),
        keyed: families && !postgres && has_collects(graph, purge, dialect),
        cascades: cascade::documents(graph, purge, dialect),
        batch_setting: (!postgres).then_some(batch_setting(rule)),
        archives: !postgres && !rule.archive.is_empty(),
        kept: restore::of_rule(graph, rule),
        collects: !postgres && rule.single().is_some() && has_collects(graph, purge, dialect),
        swept: view.single().is_some_and(|it| it.is_swept()),
        passes: view.single().map_or_else(Vec::new, |it| it.passes()),
        ways: view.single().map_or_else(Vec::new, |it| it.ways()),
        judged_again: view.single().is_some_and(|it| it.is_judged_again()),
        cursor: view.single().map_or_else(Vec::new, |it| it.cursor()),
        hexed: hexed(graph, rule, view.single(), dialect),
        report_preview: reported(graph, rule, graph::Document::Preview),
        report_run: reported(graph, rule, graph::Document::Run),
    };
    written(&document)
}

/// Which time of its roots a rule follows.
const fn along(rule: &graph::Rule) -> &'static str {
    if rule.last.is_some() {
        "started"
    } else {
        "ended"
    }
}

/// The fields of a rule that a document has by the names of the system that was there before.
fn reported<'a>(
    graph: &'a Graph,
    rule: &'a graph::Rule,
    document: graph::Document,
) -> Vec<Field<'a>> {
    let fields = rule.report.iter();
    fields
        .filter(|field| field.document == document)
        .map(|field| self::field(graph, field))
        .collect()
}

/// Whether a batch keeps the keys of tables between the root table and others in work tables.
pub(super) fn has_collects(graph: &Graph, purge: &Purge, dialect: Dialect) -> bool {
    let rule = &graph.rules[purge.rule];
    let mut collects = purge.collects.iter();
    collects.any(|id| edges::between(graph, rule, *id, dialect).is_none())
}

/// The columns that name files, each once.
pub(super) fn files(graph: &Graph) -> Vec<[&str; 2]> {
    let mut files = Vec::new();
    for artifact in graph.rules.iter().flat_map(|rule| &rule.artifacts) {
        let table = &graph.table(artifact.table).name;
        let file = [table.as_str(), artifact.path.as_str()];
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

fn field<'a>(graph: &'a Graph, field: &'a graph::ReportField) -> Field<'a> {
    Field {
        name: &field.name,
        figure: match &field.figure {
            Figure::Families => "families",
            Figure::Table(_) => "table",
            Figure::OldestEndTime => "oldest_end_time",
            Figure::SampleRoots => "sample_roots",
            Figure::Skipped => "skipped",
            Figure::SkippedFamilies => "skipped_families",
            Figure::DryRun => "dry_run",
            Figure::ArtifactFailures => "artifact_failures",
            Figure::DurationMs => "duration_ms",
        },
        table: match &field.figure {
            Figure::Table(id) => Some(&graph.table(*id).name),
            _ => None,
        },
    }
}
