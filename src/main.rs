//! The `windrow` command: parse, do, say, and choose the exit code.

use std::process::ExitCode;

use windrow::cli;
use windrow::commands::{self, Exit};
use windrow::ui::Ui;

fn main() -> ExitCode {
    let cli = cli::parse(
        std::env::args_os().collect(),
        std::env::var_os("WINDROW_SPEC"),
    );
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
