//! The `windrow` command: parse, do, say, and choose the exit code.

use std::process::ExitCode;

use clap::Parser as _;
use windrow::cli::Cli;
use windrow::commands::{self, Exit};
use windrow::ui::Ui;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let ui = Ui { quiet: cli.quiet };
    match commands::dispatch(cli.command, &ui) {
        Ok(Exit::Clean) => ExitCode::SUCCESS,
        Ok(Exit::Found) => ExitCode::from(1),
        Err(error) => {
            ui.error(&error);
            ExitCode::from(2)
        }
    }
}
