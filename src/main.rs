//! The `windrow` command: parse, do, say, and choose the exit code.

use std::process::ExitCode;

use windrow::cli;
use windrow::commands::{self, Exit};
use windrow::failure;
use windrow::ui::Ui;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let json = cli::asks_for_json(&arguments);
    let cli = cli::parse(arguments, std::env::var_os("WINDROW_SPEC"));
    let ui = Ui { quiet: cli.quiet };
    match commands::dispatch(cli.command, &ui) {
        Ok(Exit::Clean) => ExitCode::SUCCESS,
        Ok(Exit::Found) => ExitCode::from(1),
        Err(error) => {
            if json {
                ui.data(&failure::document(&error).to_string());
            }
            ui.error(&error);
            ExitCode::from(2)
        }
    }
}
