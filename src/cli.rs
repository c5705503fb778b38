//! The command line. The doc comments are the help text; nothing is decided here.

mod common;
mod fleet;
mod heartbeat;
mod installation;
mod remains;
mod rules;
mod runs;
mod specs;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use crate::failure::Failure;
use crate::version::VERSION;

pub use common::{OnDatabase, Output, WithOutput};
pub use fleet::{Fleet, FleetCommand};
pub use heartbeat::Heartbeat;
pub use installation::{Arm, Completions, Demo, Install, Man, Schema, SchemaOf, Uninstall};
pub use remains::{
    Archive, ArchiveDrop, ArchiveExport, ArchiveList, ArchiveRestore, Artifacts, Drain,
};
pub use rules::{
    Hold, HoldRelease, HoldSet, Policy, PolicyDrop, PolicySet, SettingReset, SettingSet, Settings,
    SettingsList, Window, WindowSet,
};
pub use runs::{Base, History, Pause, Plan, Preview, Purge, Resume, Run, Selection, Stamp, Status};
pub use specs::{Check, Format, Generate, Graph, Init, Inspect, Report};

/// Compile retention rules into SQL that cleans a database from inside
///
/// windrow reads a spec (one TOML file: an application's tables, what belongs to what, and retention rules) and
/// writes SQL that a DBA can read: procedures, indexes, schedules. The cleanup runs inside the database; windrow
/// generates, installs, calls and verifies it, and never deletes a row itself.
#[derive(Debug, Parser)]
#[command(
    name = "windrow",
    version = VERSION,
    after_help = "Exit codes:\n  0  done and clean\n  1  done, with findings, stale files, violations or failed families;\n     or a run was refused, or only waited (a scheduled one outside its window or in back-off: 0)\n  \
         2  failed: usage, connection, SQL; with `--output json` the error is a document, too"
)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// Print only data, warnings and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// Reads the command line. If no spec given, the one from the environment is used: where an argument is missing, or a word is
/// mistaken for a spec, the line is parsed once more with that spec inserted after the words of the subcommand.
///
/// # Errors
///
/// Fails with what is wrong, or with the help that was asked for.
pub fn parse(arguments: &[OsString], spec: Option<OsString>) -> Result<Cli, clap::Error> {
    let read = Cli::try_parse_from(arguments);
    let lacks_spec = match &read {
        Ok(cli) => takes_a_window_for_the_spec(cli),
        Err(error) => error.kind() == ErrorKind::MissingRequiredArgument,
    };
    let Some(spec) = spec.filter(|spec| lacks_spec && !spec.is_empty()) else {
        return read;
    };
    let place = behind_subcommand(arguments);
    // `init` takes its spec by name.
    [vec![spec.clone()], vec!["--from".into(), spec]]
        .into_iter()
        .find_map(|words| {
            let mut arguments = arguments.to_vec();
            arguments.splice(place..place, words);
            Cli::try_parse_from(arguments).ok()
        })
        .map_or(read, Ok)
}

/// Several windows without a spec: the first one is parsed as the spec, but is no file.
fn takes_a_window_for_the_spec(cli: &Cli) -> bool {
    match &cli.command {
        Command::Window(Window::Set(args)) => !args.with.on.spec.exists(),
        _ => false,
    }
}

/// What is wrong with a command line, in the form of all other errors.
pub fn failure(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let text = text.trim_start_matches("error: ");
    let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let lines = rest.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.fold(Failure::new(message.trim()), Failure::detail)
}

/// Whether a program reads the answer; then an error is a document, too.
pub fn asks_for_json(arguments: &[OsString]) -> bool {
    let words = arguments.iter().take_while(|argument| *argument != "--");
    let words: Vec<_> = words.map(|argument| argument.to_string_lossy()).collect();
    words.contains(&"--output=json".into())
        || words.windows(2).any(|pair| pair == ["--output", "json"])
}

/// The position after the last word of the subcommand.
fn behind_subcommand(arguments: &[OsString]) -> usize {
    let mut command = &Cli::command();
    let mut place = 1;
    for (at, argument) in arguments.iter().enumerate().skip(1) {
        if argument.to_string_lossy().starts_with('-') {
            continue;
        }
        match command.find_subcommand(argument) {
            Some(found) => (command, place) = (found, at + 1),
            None => break,
        }
    }
    place
}

/// The subcommands, in the order in which they are used.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Draft a spec from a live database
    ///
    /// Reads the catalog and samples of rows: the tables that belong to the root table, by foreign keys and (marked as
    /// guesses) by names; keys and indexes; which states are final. Without a root it lists the ten tables that look most like one,
    /// the biggest first, and of one size the one with the oldest rows. It cannot write, locks nothing, and needs only SELECT.
    ///
    /// Example: windrow inspect --database postgres://auditor@db/flows --root flow_run > flows.toml
    Inspect(Inspect),

    /// Fit a spec to the application version of a live database
    ///
    /// Leaves out the tables, edges and rules that this database lacks, corrects types, and asks about tables that refer to
    /// tables of the spec and are not in it: each in a comment at its place, with the reason. A part of the spec that keeps rows
    /// is left out only if the spec marks it as optional. It cannot write to the database, and needs only SELECT.
    ///
    /// Example: windrow init --from specs/airflow-3.toml --database postgres://auditor@db/airflow > airflow.toml
    Init(Init),

    /// Check a spec, alone or against a live database
    ///
    /// Example: windrow check specs/dolphinscheduler.toml --database postgres://app@db/scheduler
    Check(Check),

    /// Draw the tables, what belongs to what, and the delete order
    ///
    /// Example: windrow graph specs/dolphinscheduler.toml --format svg > graph.svg
    Graph(Graph),

    /// Write one page for a change ticket, to read and to print
    ///
    /// A single HTML file without scripts: a picture of the tables, what each rule deletes and keeps in words, the statements,
    /// the indexes. With a database, also the results of `check`, `plan`, `preview` and `diff`; it only reads. The page says
    /// what could not be read. Exits 1 if the spec or the database has findings, as `check` does.
    ///
    /// Example: windrow report specs/dolphinscheduler.toml --database postgres://auditor@db/scheduler --out change.html
    Report(Report),

    /// Print the JSON Schema of specs, or of answers
    ///
    /// Editors complete and check specs with the first. The second has a definition for each command: what it prints on
    /// standard output with `--output json`. It is also in `specs/answers.schema.json`.
    ///
    /// Example: windrow schema > windrow.schema.json
    Schema(Schema),

    /// Write the SQL files of one or more specs
    ///
    /// For review and version control. With --bundle, files for a client such as psql; with --for, migrations for a runner:
    /// the next version of each spec that changed.
    ///
    /// Example: windrow generate specs/*.toml --out generated
    Generate(Generate),

    /// Install the generated SQL into a database
    ///
    /// Safe to re-run: routines and views are replaced, settings and history are kept. Nothing is deleted from the
    /// application's tables, and nothing will be until you arm the installation.
    ///
    /// Example: windrow install specs/dolphinscheduler.toml --url postgres://owner@db/scheduler
    Install(Install),

    /// Show or set retention policies: how long to keep each scope
    ///
    /// Example: windrow policy set specs/dolphinscheduler.toml --scope 42 --retention 30d
    #[command(subcommand)]
    Policy(Policy),

    /// Show what a run would delete now, what is kept and why
    ///
    /// Example: windrow preview specs/dolphinscheduler.toml --url postgres://auditor@db/scheduler
    Preview(Preview),

    /// Estimate a backlog: indexes, batches, log volume, nights
    ///
    /// Before the installation: which indexes are built first, and how big they become. After it: what is due, how long
    /// runs will take, how many nights, and what limits them. Only reads.
    ///
    /// Example: windrow plan specs/dolphinscheduler.toml --url postgres://auditor@db/scheduler
    Plan(Plan),

    /// Allow runs to delete, in this database
    ///
    /// Example: windrow arm specs/dolphinscheduler.toml --url postgres://operator@db/scheduler
    Arm(Arm),

    /// Run the cleanup now, and show its progress and result
    ///
    /// Example: windrow run specs/dolphinscheduler.toml --run-families 1000 --time-budget 10m
    Run(Run),

    /// Check the deletions so far and the installation
    ///
    /// Looks for orphans, routines edited by hand, missing indexes, and a ledger that does not add up.
    ///
    /// Example: windrow verify specs/dolphinscheduler.toml --output json
    Verify(WithOutput),

    /// Compare the installation with what the spec generates
    ///
    /// Routines that were edited by hand, are missing, left over or of another version, with their differences; missing
    /// tables, columns and indexes; application tables that the spec should name. Only reads.
    ///
    /// Example: windrow diff specs/dolphinscheduler.toml --url postgres://owner@db/scheduler
    Diff(WithOutput),

    /// Show whether the cleanup keeps up, what it does and keeps
    ///
    /// Example: windrow status specs/dolphinscheduler.toml
    Status(Status),

    /// Show past runs, and plot their rows and durations
    ///
    /// Example: windrow history specs/dolphinscheduler.toml --limit 5
    History(History),

    /// Show, place or release legal holds on single families
    ///
    /// Example: windrow hold set specs/dolphinscheduler.toml --key 17 --reason "audit 2026-11"
    #[command(subcommand)]
    Hold(Hold),

    /// Show or change limits: batch size, time budget, throttle
    ///
    /// Example: windrow settings set specs/dolphinscheduler.toml batch_families 100
    #[command(subcommand, visible_alias = "setting")]
    Settings(Settings),

    /// Show or change maintenance windows of scheduled runs
    ///
    /// Example: windrow window set specs/dolphinscheduler.toml 'mon-fri 22:00-06:00 Europe/Berlin'
    #[command(subcommand)]
    Window(Window),

    /// Delete named families now, if they are past the minimum
    ///
    /// They must be final, not on hold, and linked to nothing that is kept; each one refused is listed with the reason.
    /// Their retention does not matter, but the minimum of the rule does, and so do a missing end time, a disabled
    /// policy and `keep`, unless --force is given.
    ///
    /// Example: windrow purge specs/dolphinscheduler.toml --key 17 --key 18
    Purge(Purge),

    /// Set removal times: to an instant, calculated, or cleared
    ///
    /// For the families of the named instances, of those without a removal time, or of all; in bounded batches.
    /// Nothing is deleted. Safe to re-run: --missing leaves out what a call before it did, --all begins anew.
    ///
    /// Example: windrow stamp specs/camunda7.toml --calculated --missing --dry-run
    Stamp(Stamp),

    /// List, drop, restore or export archived rows
    ///
    /// Example: windrow archive list specs/yworkflow.toml
    #[command(subcommand)]
    Archive(Archive),

    /// Remove files that deleted rows referred to
    ///
    /// Example: windrow artifacts drain specs/dolphinscheduler.toml --command 'ssh {host:name} rm -f -- {path:q}'
    #[command(subcommand)]
    Artifacts(Artifacts),

    /// Stop the current run after its batch; prevent new runs
    ///
    /// With --rule, runs skip that rule and work on the others.
    ///
    /// Example: windrow pause specs/dolphinscheduler.toml --reason "release night"
    Pause(Pause),

    /// Allow runs to start again after a pause
    ///
    /// Example: windrow resume specs/dolphinscheduler.toml
    Resume(Resume),

    /// Note how far replicas of MySQL or MariaDB have got
    ///
    /// For specs with `heartbeat = "windrow"`, whose runs wait for replicas (`max_replica_lag`). Writes a beat on the primary,
    /// reads on each replica which beat has arrived, and notes that on the primary, until it is interrupted. It reconnects by
    /// itself, and writes nothing to a replica. While it does not run, runs wait.
    ///
    /// Example: windrow heartbeat specs/dolphinscheduler.toml --replica mysql://watch@db2/ --replica mysql://watch@db3/
    Heartbeat(Heartbeat),

    /// Call a command on every database of an inventory
    ///
    /// Each database is worked on by a windrow of its own, at most `--jobs` at once: a server that is down, or slow, stops no
    /// other. Ends with a table of all databases, and with the exit code of the worst. After an interrupt, or after canaries
    /// that found something, `--resume` continues with what is left.
    ///
    /// Example: windrow fleet status --inventory fleet.toml --group eu
    Fleet(Fleet),

    /// Show everything on a throw-away server
    ///
    /// Starts a database server, loads half a year of a workflow engine's history, installs, previews, runs and verifies.
    /// The server keeps running until `windrow demo --down`.
    ///
    /// Example: windrow demo --system yworkflow
    Demo(Demo),

    /// Remove everything that install created
    ///
    /// Lists what it would drop; with --yes it drops it, including the run history. The application's tables are kept.
    ///
    /// Example: windrow uninstall specs/dolphinscheduler.toml --yes
    Uninstall(Uninstall),

    /// Print a completion script for a shell
    ///
    /// Example: windrow completions bash > /etc/bash_completion.d/windrow
    Completions(Completions),

    /// Write manual pages
    ///
    /// One page for each command and each of its subcommands.
    ///
    /// Example: windrow man --out /usr/local/share/man/man1
    Man(Man),
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
