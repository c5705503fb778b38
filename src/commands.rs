//! What the subcommands do: one file each.

mod answer;
mod archive;
mod artifacts;
mod check;
mod demo;
mod diff;
mod fitting;
mod fleet;
mod generate;
mod graph;
mod heartbeat;
mod init;
mod inspect;
mod install;
mod operate;
mod options;
mod overlap;
mod plan;
mod preview;
mod report;
mod run;
mod session;
mod shell;
mod show;
mod specs;
mod speed;
mod uninstall;

use crate::cli::Command;
use crate::interrupt;
use crate::ui::Ui;

pub use answer::Exit;

/// Does what the command line says.
pub fn dispatch(command: Command, ui: &Ui) -> anyhow::Result<Exit> {
    let told = *ui;
    interrupt::told_by(move |text| told.warning(text));
    match command {
        Command::Check(args) => check::check(&args, ui),
        Command::Inspect(args) => inspect::inspect(&args, ui),
        Command::Init(args) => init::init(&args, ui),
        Command::Graph(args) => graph::graph(&args, ui),
        Command::Report(args) => report::report(&args, ui),
        Command::Schema(args) => graph::schema(&args, ui),
        Command::Generate(args) => generate::generate(&args, ui),
        Command::Install(args) => install::install(&args, ui),
        Command::Uninstall(args) => uninstall::uninstall(&args, ui),
        Command::Preview(args) => preview::preview(&args, ui),
        Command::Run(args) => run::run(&args, ui),
        Command::Purge(args) => run::purge(&args, ui),
        Command::Stamp(args) => run::stamp(&args, ui),
        Command::Verify(args) => show::verify(&args, ui),
        Command::Diff(args) => diff::diff(&args, ui),
        Command::Status(args) => show::status(&args, ui),
        Command::History(args) => show::history(&args, ui),
        Command::Policy(args) => operate::policy(&args, ui),
        Command::Hold(args) => operate::hold(&args, ui),
        Command::Settings(args) => operate::settings(&args, ui),
        Command::Window(args) => operate::window(&args, ui),
        Command::Plan(args) => plan::plan(&args, ui),
        Command::Arm(args) => operate::arm(&args, ui),
        Command::Pause(args) => operate::pause(&args, ui),
        Command::Resume(args) => operate::resume(&args, ui),
        Command::Heartbeat(args) => heartbeat::heartbeat(&args, ui),
        Command::Fleet(args) => fleet::fleet(&args, ui),
        Command::Demo(args) => demo::demo(&args, dispatch, ui),
        Command::Archive(args) => archive::archive(&args, ui),
        Command::Completions(args) => shell::completions(&args, ui),
        Command::Man(args) => shell::man(&args, ui),
        Command::Artifacts(args) => artifacts::artifacts(&args, ui),
    }
}
