//! `preview`: what a run would delete now.

use serde_json::Value;

use super::answer::{Exit, show};
use super::options::selection;
use super::session::Session;
use crate::answers;
use crate::cli::Preview;
use crate::report;
use crate::ui::Ui;

/// Asks for the preview and shows it.
pub(super) fn preview(args: &Preview, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.with.on, ui)?;
    let document = session.ask("preview", &Value::from(selection(&args.selection)))?;
    let preview = answers::read("preview", &document)?;
    show(ui, args.with.output, &document, || {
        report::preview(&preview)
    });
    Ok(Exit::Clean)
}
