//! The `windrow` command: parse, do, say, and choose the exit code.

use std::process::ExitCode;

use windrow::cli;
use windrow::commands::{self, Exit};
use windrow::ui::Ui;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let json = cli::asks_for_json(&arguments);
    let cli = match cli::parse(&arguments, std::env::var_os("WINDROW_SPEC")) {
        Ok(cli) => cli,
        Err(error) => {
            if json && error.use_stderr() {
                Ui::default().error_document(&cli::failure(&error).into());
            }
            error.exit()
        }
    };
    let ui = Ui {
        quiet: cli.quiet,
        ..Ui::default()
    };
    match commands::dispatch(cli.command, &ui) {
        Ok(Exit::Clean) => ExitCode::SUCCESS,
        Ok(Exit::Found) => ExitCode::from(1),
        Ok(Exit::Failed) => ExitCode::from(2),
        Err(error) => {
            if json {
                ui.error_document(&error);
            }
            ui.error(&error);
            ExitCode::from(2)
        }
    }
}
