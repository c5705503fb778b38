//! `completions` and `man`: what a shell and a manual know of the command line.

use std::fs;

use anyhow::Context as _;
use clap::CommandFactory as _;

use super::answer::Exit;
use crate::cli::{Cli, Completions, Man};
use crate::ui::Ui;

/// Prints a completion script.
pub(super) fn completions(args: &Completions, ui: &Ui) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "windrow", &mut script);
    ui.data(String::from_utf8(script)?.trim_end());
    Ok(Exit::Clean)
}

/// Writes a page for each command.
pub(super) fn man(args: &Man, ui: &Ui) -> anyhow::Result<Exit> {
    let folder = args.out.display();
    fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot create the folder `{folder}`"))?;
    clap_mangen::generate_to(Cli::command(), &args.out)
        .with_context(|| format!("cannot write pages to `{folder}`"))?;
    ui.note(&format!("man -l {folder}/windrow.1 shows the first page"));
    Ok(Exit::Clean)
}
