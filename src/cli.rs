//! The command line. The doc comments are the help text; nothing is decided here.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

use crate::db::url::RawUrl;
use crate::demo::systems::{SYSTEMS, System};
use crate::dialect::{DIALECTS, Dialect};

/// Compile retention rules into SQL that cleans a database from inside
///
/// windrow reads a spec (one TOML file: the tables of an application, what belongs to what, what may go when) and
/// writes SQL that a DBA can read: procedures, indexes, schedules. The cleanup runs inside the database; windrow
/// generates, installs, calls and verifies it, and never deletes a row itself.
#[derive(Debug, Parser)]
#[command(
    name = "windrow",
    version,
    after_help = "Exit codes:\n  0  done and clean\n  1  done, but something was found: findings, stale files, violations, failed families\n  2  could not be done: usage, connection, SQL"
)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// Say nothing but data, warnings and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands, in the order in which they are used.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check a spec, alone or against a live database
    ///
    /// Example: windrow check specs/dolphinscheduler.toml --database postgres://app@db/scheduler
    Check(Check),

    /// Draw the tables, what belongs to what, and the delete order
    ///
    /// Example: windrow graph specs/dolphinscheduler.toml --format svg > graph.svg
    Graph(Graph),

    /// Print the JSON Schema of a spec, for editors
    ///
    /// Example: windrow schema > windrow.schema.json
    Schema,

    /// Write the SQL files of one or more specs
    ///
    /// Example: windrow generate specs/*.toml --out generated
    Generate(Generate),

    /// Install the generated SQL into a database
    ///
    /// Safe to run again: what stands is replaced, settings and history stay. Nothing is deleted from the
    /// application's tables, and nothing will be until the installation is armed.
    ///
    /// Example: windrow install specs/dolphinscheduler.toml --url postgres://owner@db/scheduler
    Install(Install),

    /// Show or set how long each scope is kept
    ///
    /// Example: windrow policy set specs/dolphinscheduler.toml --scope 42 --retention 30d
    #[command(subcommand)]
    Policy(Policy),

    /// Show what a run would delete now, and what stays and why
    ///
    /// Example: windrow preview specs/dolphinscheduler.toml --url postgres://auditor@db/scheduler
    Preview(Preview),

    /// Say what a backlog asks for: indexes, batches, log, nights
    ///
    /// Before the installation: which indexes are built first, and how big they become. After it: what is due, how long
    /// runs will work on it, how many nights, and what limits them. Reads only.
    ///
    /// Example: windrow plan specs/dolphinscheduler.toml --url postgres://auditor@db/scheduler
    Plan(Plan),

    /// Allow runs to delete, in this database
    ///
    /// Example: windrow arm specs/dolphinscheduler.toml --url postgres://operator@db/scheduler
    Arm(Arm),

    /// Call the cleanup and show its progress and its result
    ///
    /// Example: windrow run specs/dolphinscheduler.toml --run-families 1000 --time-budget 10m
    Run(Run),

    /// Check what was deleted and what stands
    ///
    /// Looks for orphans, routines that were edited by hand, missing indexes, and a ledger that does not add up.
    ///
    /// Example: windrow verify specs/dolphinscheduler.toml --output json
    Verify(WithOutput),

    /// Compare what is installed with what the spec generates
    ///
    /// Routines that were edited by hand, are missing, left over or of another version, with their differences; missing
    /// tables, columns and indexes; tables of the application that the spec should know. Reads only.
    ///
    /// Example: windrow diff specs/dolphinscheduler.toml --url postgres://owner@db/scheduler
    Diff(WithOutput),

    /// Show whether it keeps up, what it does and what stays
    ///
    /// Example: windrow status specs/dolphinscheduler.toml
    Status(WithOutput),

    /// Show past runs, and plot their rows and durations
    ///
    /// Example: windrow history specs/dolphinscheduler.toml --limit 5
    History(History),

    /// Show, place or release holds on single families
    ///
    /// Example: windrow hold set specs/dolphinscheduler.toml --key 17 --reason "audit 2026-11"
    #[command(subcommand)]
    Hold(Hold),

    /// Show or change limits: batch size, budgets, time-outs
    ///
    /// Example: windrow settings set specs/dolphinscheduler.toml batch_families 100
    #[command(subcommand, visible_alias = "setting")]
    Settings(Settings),

    /// Show or change when scheduled runs may work
    ///
    /// Example: windrow window set specs/dolphinscheduler.toml 'mon-fri 22:00-06:00 Europe/Berlin'
    #[command(subcommand)]
    Window(Window),

    /// Delete named families now, whatever their age
    ///
    /// The families must be final and not on hold; each refusal is told with its reason.
    ///
    /// Example: windrow purge specs/dolphinscheduler.toml --key 17 --key 18
    Purge(Purge),

    /// Set removal times: to an instant, calculated, or cleared
    ///
    /// Of the whole families of the named instances, of those without a removal time, or of all; in bounded batches.
    /// Nothing is deleted. Called again, it finishes what an earlier call has left.
    ///
    /// Example: windrow stamp specs/camunda7.toml --calculated --missing --dry-run
    Stamp(Stamp),

    /// List, drop, restore or export what was archived
    ///
    /// Example: windrow archive list specs/yworkflow.toml
    #[command(subcommand)]
    Archive(Archive),

    /// Remove the files that deleted rows named
    ///
    /// Example: windrow artifacts drain specs/dolphinscheduler.toml --command 'ssh {host:name} rm -f -- {path:q}'
    #[command(subcommand)]
    Artifacts(Artifacts),

    /// Stop the run in progress after its batch, and start none
    ///
    /// With --rule, runs pass that rule over and work on the others.
    ///
    /// Example: windrow pause specs/dolphinscheduler.toml --reason "release night"
    Pause(Pause),

    /// Let runs start again
    ///
    /// Example: windrow resume specs/dolphinscheduler.toml
    Resume(Resume),

    /// Show the whole story on a throw-away server
    ///
    /// Starts a PostgreSQL, loads half a year of a workflow engine's history, installs, previews, runs and verifies.
    /// The server stays until `windrow demo --down`.
    ///
    /// Example: windrow demo --system yworkflow
    Demo(Demo),

    /// Remove everything that install made
    ///
    /// Lists what it would drop; with --yes it drops it. The history goes with it, the application's tables stay.
    ///
    /// Example: windrow uninstall specs/dolphinscheduler.toml --yes
    Uninstall(Uninstall),
}

/// Which spec, and which database.
#[derive(Clone, Debug, Args)]
pub struct OnDatabase {
    /// The spec file
    pub spec: PathBuf,

    /// Address of the database; a password may also come from PGPASSWORD, MYSQL_PWD or --password-file
    #[arg(long, env = "WINDROW_URL", hide_env_values = true, value_name = "URL")]
    pub url: Option<RawUrl>,

    /// File whose first line is the password
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
}

/// Options of `arm`.
#[derive(Clone, Debug, Args)]
pub struct Arm {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// When runs may no longer delete: after the next start of the server, for those who clone by snapshots of the storage
    #[arg(long, value_name = "WHEN", value_parser = ["restart"])]
    pub until: Option<String>,
}

/// A database command that answers a document.
#[derive(Clone, Debug, Args)]
pub struct WithOutput {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// How to show the answer
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// How an answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Text,
    /// For programs: the document as it is
    Json,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct Check {
    /// The spec file
    #[arg(required_unless_present = "explain")]
    pub spec: Option<PathBuf>,

    /// Compare with this live database, too
    #[arg(long, value_name = "URL")]
    pub database: Option<RawUrl>,

    /// File whose first line is the password
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,

    /// Tables with fewer estimated rows may be read from end to end
    #[arg(long, value_name = "ROWS", default_value_t = 10_000)]
    pub threshold: i64,

    /// How to show the findings
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,

    /// Explain a code instead of checking
    #[arg(long, value_name = "CODE")]
    pub explain: Option<String>,
}

/// Arguments of `graph`.
#[derive(Debug, Args)]
pub struct Graph {
    /// The spec file
    pub spec: PathBuf,

    /// What to draw
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// The forms of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A tree for the terminal
    Text,
    /// Graphviz
    Dot,
    /// A picture
    Svg,
    /// For Markdown
    Mermaid,
}

/// Arguments of `generate`.
#[derive(Debug, Args)]
pub struct Generate {
    /// The spec files
    #[arg(required = true)]
    pub specs: Vec<PathBuf>,

    /// Folder to write to
    #[arg(long, default_value = "generated", value_name = "FOLDER")]
    pub out: PathBuf,

    /// Write nothing; show what is stale and exit 1
    #[arg(long)]
    pub check: bool,
}

/// Arguments of `install`.
#[derive(Debug, Args)]
pub struct Install {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// Install in spite of errors that the check found; they are recorded
    #[arg(long)]
    pub force: bool,

    /// Leave out this file, e.g. 60_schedule.sql
    #[arg(long, value_name = "FILE")]
    pub skip: Vec<String>,

    /// Tables with fewer estimated rows may be read from end to end
    #[arg(long, value_name = "ROWS", default_value_t = 10_000)]
    pub threshold: i64,
}

/// A dialect by the name of its folder in `generated/`.
fn dialects() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(DIALECTS.iter().map(|dialect| dialect.facts().folder)).map(|name| {
        let named = DIALECTS
            .iter()
            .find(|dialect| dialect.facts().folder == name);
        named.copied().unwrap_or_default()
    })
}

/// A system of the demo by its name.
fn systems() -> impl TypedValueParser<Value = &'static System> {
    const ALL: &[System] = &SYSTEMS;
    PossibleValuesParser::new(ALL.iter().map(|system| system.name)).map(|name| {
        let named = ALL.iter().find(|system| system.name == name);
        named.unwrap_or(&ALL[0])
    })
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Stop the server of an earlier demo and remove it
    #[arg(long)]
    pub down: bool,

    /// The workflow engine whose history is loaded
    #[arg(long, value_name = "SYSTEM", default_value = SYSTEMS[0].name, value_parser = systems())]
    pub system: &'static System,

    /// The server to start
    #[arg(long, value_name = "DIALECT", default_value = "postgres", value_parser = dialects())]
    pub dialect: Dialect,

    /// Families of workflow instances to load; left out, about a quarter of a million rows
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1_000..=1_000_000))]
    pub families: Option<u32>,
}

/// Arguments of `uninstall`.
#[derive(Debug, Args)]
pub struct Uninstall {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// Drop it
    #[arg(long)]
    pub yes: bool,

    /// Drop archived rows, too; without it, there must be none
    #[arg(long)]
    pub drop_archive: bool,
}

/// Which families a preview or a run looks at.
#[derive(Clone, Debug, Default, Args)]
pub struct Selection {
    /// Only this rule
    #[arg(long)]
    pub rule: Option<String>,

    /// Only this scope, e.g. one project
    #[arg(long)]
    pub scope: Option<String>,

    /// Another retention than the policies say, e.g. 45d; never under the minimum
    #[arg(long)]
    pub retention: Option<String>,

    /// Judge as if it were this instant, e.g. 2026-11-01T00:00:00Z (UTC without a zone)
    #[arg(long, value_name = "INSTANT")]
    pub as_of: Option<String>,

    /// At most this many families
    #[arg(long, value_name = "COUNT")]
    pub run_families: Option<i64>,
}

/// Arguments of `preview`.
#[derive(Debug, Args)]
pub struct Preview {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Which families
    #[command(flatten)]
    pub selection: Selection,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct Plan {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// This rule only
    #[arg(long, value_name = "RULE")]
    pub rule: Option<String>,

    /// Up to how many families of a rule to count
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000, value_parser = clap::value_parser!(i64).range(1..))]
    pub count: i64,

    /// Up to how many families of a rule to look at; where more are due, slices of them
    #[arg(long, value_name = "COUNT", default_value_t = 5_000, value_parser = clap::value_parser!(i64).range(10..))]
    pub sample: i64,

    /// Stop a question to the database after this time, and do without its answer
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    pub timeout: String,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Which families
    #[command(flatten)]
    pub selection: Selection,

    /// Do the real batches and roll them back
    #[arg(long)]
    pub dry_run: bool,

    /// As a scheduler starts it: in its windows, with back-off, and not once it is suspended
    #[arg(long)]
    pub scheduled: bool,

    /// Which worker this is, where the spec has several: from 1
    #[arg(long, value_name = "NUMBER")]
    pub worker: Option<u32>,

    /// Stop after this time, e.g. 10m
    #[arg(long, value_name = "DURATION")]
    pub time_budget: Option<String>,

    /// Do not call preview first to know the total
    #[arg(long)]
    pub no_estimate: bool,
}

/// Arguments of `history`.
#[derive(Debug, Args)]
pub struct History {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// How many runs, the newest first
    #[arg(long, default_value_t = 20)]
    pub limit: u32,
}

/// Arguments of `purge`.
#[derive(Debug, Args)]
pub struct Purge {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Key of a root; may be given many times
    #[arg(long = "key", required = true, value_name = "KEY")]
    pub keys: Vec<String>,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,
}

/// Arguments of `stamp`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["to", "calculated", "clear"])))]
#[command(group(ArgGroup::new("which").required(true).args(["keys", "missing", "all"])))]
pub struct Stamp {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Set this instant, e.g. 2027-01-01T00:00:00Z
    #[arg(long, value_name = "INSTANT")]
    pub to: Option<String>,

    /// Count from the end or the start of the root, by the time to live of its definition
    #[arg(long, value_enum, value_name = "BASE", num_args = 0..=1, require_equals = true, default_missing_value = "end")]
    pub calculated: Option<Base>,

    /// Set no removal time: what has none is kept
    #[arg(long)]
    pub clear: bool,

    /// Key of an instance; may be given many times
    #[arg(long = "key", value_name = "KEY")]
    pub keys: Vec<String>,

    /// The instances without a removal time
    #[arg(long)]
    pub missing: bool,

    /// All instances
    #[arg(long)]
    pub all: bool,

    /// Time to live where the definition has none, e.g. 30d; without it, those stay as they are
    #[arg(long, value_name = "DURATION", requires = "calculated")]
    pub default: Option<String>,

    /// Only the rows of the instances themselves, not of their whole families
    #[arg(long)]
    pub own_rows: bool,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// Not the rule's families, but what the spec calls so, e.g. batches
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,

    /// Families in one transaction
    #[arg(long, value_name = "COUNT")]
    pub chunk: Option<u32>,

    /// Stop after this time, e.g. 10m
    #[arg(long, value_name = "DURATION")]
    pub time_budget: Option<String>,

    /// Do the real batches and roll them back
    #[arg(long)]
    pub dry_run: bool,
}

/// What a calculated removal time counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Base {
    /// The end of the root
    End,
    /// The start of the root
    Start,
}

/// Arguments of `pause`.
#[derive(Debug, Args)]
pub struct Pause {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// This rule alone
    #[arg(long)]
    pub rule: Option<String>,

    /// Why, for those who come after
    #[arg(long)]
    pub reason: Option<String>,
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct Resume {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// This rule, which was paused alone
    #[arg(long)]
    pub rule: Option<String>,
}

/// What to do with policies.
#[derive(Debug, Subcommand)]
pub enum Policy {
    /// List the policies
    List(WithOutput),
    /// Set the policy of one scope
    ///
    /// Example: windrow policy set specs/dolphinscheduler.toml --scope 42 --retention 30d
    Set(PolicySet),
    /// Drop the policy of one scope
    Drop(PolicyDrop),
}

/// Arguments of `policy set`.
#[derive(Debug, Args)]
pub struct PolicySet {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// The scope, e.g. a project's code
    #[arg(long)]
    pub scope: String,

    /// How long its families are kept, e.g. 30d; without it, the spec's default
    #[arg(long)]
    pub retention: Option<String>,

    /// Keep everything of this scope for now
    #[arg(long)]
    pub disable: bool,

    /// Whether files that deleted rows name are removed, too
    #[arg(long, value_name = "true|false")]
    pub artifacts: Option<bool>,

    /// Why, for those who come after
    #[arg(long)]
    pub note: Option<String>,
}

/// Arguments of `policy drop`.
#[derive(Debug, Args)]
pub struct PolicyDrop {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// The scope
    #[arg(long)]
    pub scope: String,
}

/// What to do with holds.
#[derive(Debug, Subcommand)]
pub enum Hold {
    /// List the holds
    List(WithOutput),
    /// Keep one family, whatever its age
    Set(HoldSet),
    /// Let a family go again
    Release(HoldRelease),
}

/// Arguments of `hold set`.
#[derive(Debug, Args)]
pub struct HoldSet {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// Key of the root, or of a row of its family in the same table, in any spelling that the column reads
    #[arg(long)]
    pub key: String,

    /// Why it must stay
    #[arg(long)]
    pub reason: String,

    /// When the hold ends, e.g. 2027-01-01T00:00:00Z (UTC without a zone); without it, never
    #[arg(long, value_name = "INSTANT")]
    pub until: Option<String>,

    /// Store the hold although the rule has no such row now
    #[arg(long)]
    pub even_if_absent: bool,

    /// Hold it for this spec as well, whose rules delete from the same table; all of them or none
    #[arg(long, value_name = "SPEC")]
    pub also: Vec<PathBuf>,
}

/// Arguments of `hold release`.
#[derive(Debug, Args)]
pub struct HoldRelease {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// Key of the root, in any spelling that the column reads
    #[arg(long)]
    pub key: String,

    /// Release it for this spec as well; all of them or none
    #[arg(long, value_name = "SPEC")]
    pub also: Vec<PathBuf>,
}

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub enum Settings {
    /// List every limit: its value, the spec's, what it may be, who has changed it
    ///
    /// Example: windrow settings list specs/dolphinscheduler.toml --log
    List(SettingsList),
    /// Change one setting
    ///
    /// Example: windrow settings set specs/dolphinscheduler.toml time_budget 3600
    Set(SettingSet),
    /// Go back to the spec's value
    Reset(SettingReset),
}

/// Arguments of `settings list`.
#[derive(Debug, Args)]
pub struct SettingsList {
    /// Which spec, which database, and how to show the answer
    #[command(flatten)]
    pub with: WithOutput,

    /// List every change instead, with the values before and after
    #[arg(long)]
    pub log: bool,
}

/// Arguments of `settings set`.
#[derive(Debug, Args)]
pub struct SettingSet {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// Name, e.g. batch_families
    pub name: String,

    /// Value
    pub value: String,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,
}

/// Arguments of `settings reset`.
#[derive(Debug, Args)]
pub struct SettingReset {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// Name, e.g. batch_families
    pub name: String,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,
}

/// What to do with windows.
#[derive(Debug, Subcommand)]
pub enum Window {
    /// List the windows in which scheduled runs may work
    List(WithOutput),
    /// Write other windows than the spec's
    ///
    /// A window has days, a start (inclusive), an end (exclusive) and a zone (UTC if left out). It begins on the days
    /// that are named and may end on the next; the same time twice is 24 hours. `always` and `never` stand alone.
    ///
    /// Example: windrow window set specs/dolphinscheduler.toml 'mon-fri 22:00-06:00 Europe/Berlin' 'sat,sun 00:00-00:00'
    Set(WindowSet),
    /// Go back to the spec's windows
    Reset(OnDatabase),
}

/// Arguments of `window set`.
#[derive(Debug, Args)]
pub struct WindowSet {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// Windows, `always` or `never`
    #[arg(required = true)]
    pub windows: Vec<String>,
}

/// What to do with the archive.
#[derive(Debug, Subcommand)]
pub enum Archive {
    /// List the runs of which rows are archived
    ///
    /// Counts every row of the archive, unless a run is named.
    List(ArchiveList),
    /// Delete archived rows of a run, or of all old ones, for good
    ///
    /// Lists what it would delete; with --yes it deletes it, in bounded transactions.
    ///
    /// Example: windrow archive drop specs/yworkflow.toml --older-than 90d --yes
    Drop(ArchiveDrop),
    /// Move archived rows back, of a run or of families of it
    ///
    /// All or nothing, in one transaction, parents before children. Holds are placed on what comes back, since it is due at
    /// once: `windrow hold release` lets it go again.
    ///
    /// Example: windrow archive restore specs/yworkflow.toml --run 17 --key 4
    Restore(ArchiveRestore),
    /// Write archived rows as CSV
    ///
    /// One file for each table, or one table to stdout. NULL is nothing, an empty text "", and binary values are
    /// hexadecimal (\\x00ff). Needs SELECT on the archive tables.
    ///
    /// Example: windrow archive export specs/yworkflow.toml --run 17 --to /srv/archive
    Export(ArchiveExport),
}

/// Arguments of `archive restore`.
#[derive(Debug, Args)]
pub struct ArchiveRestore {
    /// Which spec, which database, and how to show the answer
    #[command(flatten)]
    pub with: WithOutput,

    /// The run that deleted the rows
    #[arg(long, value_name = "RUN")]
    pub run: u64,

    /// Key of a root; may be given many times; without it, everything
    #[arg(long = "key", value_name = "KEY")]
    pub keys: Vec<String>,

    /// The rule of the keys, where the spec has more than one
    #[arg(long, requires = "keys")]
    pub rule: Option<String>,

    /// Refuse to bring back more rows than this in one transaction
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
    pub max_rows: u64,
}

/// Arguments of `archive export`.
#[derive(Debug, Args)]
pub struct ArchiveExport {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// Only the rows of this run
    #[arg(long, value_name = "RUN")]
    pub run: Option<u64>,

    /// Only this table
    #[arg(long)]
    pub table: Option<String>,

    /// Folder to write the files to; without it, the only table goes to stdout
    #[arg(long, value_name = "FOLDER")]
    pub to: Option<PathBuf>,
}

/// Arguments of `archive list`.
#[derive(Debug, Args)]
pub struct ArchiveList {
    /// Which spec, which database, and how to show the answer
    #[command(flatten)]
    pub with: WithOutput,

    /// Only this run
    #[arg(long, value_name = "RUN")]
    pub run: Option<u64>,
}

/// Arguments of `archive drop`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which_runs").required(true).args(["run", "older_than"])))]
pub struct ArchiveDrop {
    /// Which spec, which database, and how to show the answer
    #[command(flatten)]
    pub with: WithOutput,

    /// The rows of this run
    #[arg(long, value_name = "RUN")]
    pub run: Option<u64>,

    /// The rows of all runs whose last row was archived that long ago, e.g. 90d
    #[arg(long, value_name = "DURATION")]
    pub older_than: Option<String>,

    /// Delete them
    #[arg(long)]
    pub yes: bool,
}

/// What to do with artifacts.
#[derive(Debug, Subcommand)]
pub enum Artifacts {
    /// List the files that wait to be removed
    List(WithOutput),
    /// Remove them with a command of yours, one call for each file
    ///
    /// The command is split into words once and no shell sees it. In its words, {path} and {host} stand for what the
    /// row said, {host:name} for the host without a port, and {path:q} for the path quoted for a shell: ssh hands its
    /// words to a shell on the other side, so a remote path needs {path:q}.
    ///
    /// Example: windrow artifacts drain specs/dolphinscheduler.toml --command 'ssh {host:name} rm -f -- {path:q}'
    Drain(Drain),
}

/// Arguments of `artifacts drain`.
#[derive(Debug, Args)]
pub struct Drain {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// The command, with {host}, {host:name}, {path} or {path:q}
    ///
    /// {path} is a word of its own for a program that windrow starts itself: `rm -f -- {path}`, `sh SCRIPT {path}`.
    /// {path:q} is quoted for the one shell that reads it: `ssh {host:name} rm -f -- {path:q}`, `sh -c 'rm -f -- {path:q}'`.
    /// {host:name} is the host without its port.
    #[arg(long)]
    pub command: String,

    /// Remove nothing outside of this folder
    ///
    /// Relative paths, and those that go up by `..`, are refused then. Links are followed where the files are on this
    /// machine; nobody can look at those on the other side of `ssh`.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// At most this many files
    #[arg(long, default_value_t = 1_000)]
    pub limit: u32,

    /// Seconds that one command may take
    #[arg(long, default_value_t = 30, value_name = "SECONDS")]
    pub timeout: u64,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn one_liners_are_short_and_subcommands_show_an_example() {
        for command in Cli::command().get_subcommands() {
            let about = command
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                (1..=60).contains(&about.len()),
                "`{}`: {about}",
                command.get_name()
            );
            let long = command
                .get_long_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                long.contains("Example: windrow "),
                "`{}` shows no example",
                command.get_name()
            );
        }
    }
}
