//! The command line. The doc comments are the help text; nothing is decided here.

mod common;
mod fleet;
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
/// windrow reads a spec (one TOML file: the tables of an application, what belongs to what, what may go when) and
/// writes SQL that a DBA can read: procedures, indexes, schedules. The cleanup runs inside the database; windrow
/// generates, installs, calls and verifies it, and never deletes a row itself.
#[derive(Debug, Parser)]
#[command(
    name = "windrow",
    version = VERSION,
    after_help = "Exit codes:\n  0  done and clean\n  1  done, but something was found: findings, stale files, violations, failed families\n  2  could not be done: usage, connection, SQL; with `--output json` the error is a document, too"
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

/// Reads the command line. A spec that is not given is that of the environment: where something is missing, or words are taken
/// for a spec that are none, it is read once more with this one behind the words of the subcommand.
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

/// Of several windows without a spec, the first stands where the spec would: it is no file.
fn takes_a_window_for_the_spec(cli: &Cli) -> bool {
    match &cli.command {
        Command::Window(Window::Set(args)) => !args.with.on.spec.exists(),
        _ => false,
    }
}

/// What is wrong with a command line, as all other errors are told.
pub fn failure(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let text = text.trim_start_matches("error: ");
    let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let lines = rest.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.fold(Failure::new(message.trim()), Failure::detail)
}

/// Whether a program reads the answer: then an error is a document, too.
pub fn asks_for_json(arguments: &[OsString]) -> bool {
    let words = arguments.iter().take_while(|argument| *argument != "--");
    let words: Vec<_> = words.map(|argument| argument.to_string_lossy()).collect();
    words.contains(&"--output=json".into())
        || words.windows(2).any(|pair| pair == ["--output", "json"])
}

/// The place behind the last word of the subcommand.
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
    /// Reads the catalog, and samples of rows: what hangs on the root table, over foreign keys and, marked as guesses, over
    /// names; keys and indexes; which states are final. Without a root it lists the tables that look like one. It can write
    /// nothing, locks nothing, and needs no more than SELECT.
    ///
    /// Example: windrow inspect --database postgres://auditor@db/flows --root flow_run > flows.toml
    Inspect(Inspect),

    /// Fit a spec to the version that a live database has
    ///
    /// Leaves out the tables, edges and rules of the spec that this database lacks, mends types, and asks about tables that
    /// name rows of the spec and are not in it: each in a comment at its place, with the reason. Whatever keeps rows is left
    /// out only if the spec says that it is optional. It can write nothing to the database, and needs no more than SELECT.
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
    /// the indexes. With a database also what `check`, `plan`, `preview` and `diff` say of it; it reads only. What cannot be
    /// read is told on the page. Exits 1 where the spec or the database has findings, as `check` does.
    ///
    /// Example: windrow report specs/dolphinscheduler.toml --database postgres://auditor@db/scheduler --out change.html
    Report(Report),

    /// Print the JSON Schema of specs, or of answers
    ///
    /// Editors complete and check a spec with the first. The second has a definition for each command: what it prints on
    /// standard output with `--output json`. It is in `specs/answers.schema.json`.
    ///
    /// Example: windrow schema > windrow.schema.json
    Schema(Schema),

    /// Write the SQL files of one or more specs
    ///
    /// For review and version control; with --bundle for a client; with --for as migrations of a runner, of which the next
    /// version is written where a spec changed.
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
    Status(Status),

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

    /// Call a command on every database of an inventory
    ///
    /// Each database is worked on by a windrow of its own, at most `--jobs` at once: a server that is down, or slow, stops no
    /// other. Ends with a table of all databases, and with the exit code of the worst. After an interrupt, or after canaries
    /// that found something, `--resume` goes on with what is left.
    ///
    /// Example: windrow fleet status --inventory fleet.toml --group eu
    Fleet(Fleet),

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
