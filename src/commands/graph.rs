//! `graph` and `schema`: what a spec means, and what it may say.

use super::answer::Exit;
use super::specs::load;
use crate::cli::{Format, Graph};
use crate::draw;
use crate::spec;
use crate::ui::Ui;

/// Draws a spec.
pub(super) fn graph(args: &Graph, ui: &Ui) -> anyhow::Result<Exit> {
    let graph = load(&args.spec, ui)?;
    ui.data(&match args.format {
        Format::Text => draw::text(&graph),
        Format::Dot => draw::dot(&graph),
        Format::Svg => draw::svg(&graph),
        Format::Mermaid => draw::mermaid(&graph),
    });
    Ok(Exit::Clean)
}

/// Prints the JSON Schema.
pub(super) fn schema(ui: &Ui) -> anyhow::Result<Exit> {
    ui.data(&spec::json_schema());
    Ok(Exit::Clean)
}
