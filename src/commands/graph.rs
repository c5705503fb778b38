//! `graph` and `schema`: what a spec means, and what it may say.

use super::answer::{Exit, show};
use super::specs::load;
use crate::answers::{self, Drawn};
use crate::cli::{Format, Graph, Output, Schema, SchemaOf};
use crate::draw;
use crate::failure::Failure;
use crate::spec;
use crate::ui::Ui;

/// Draws a spec.
pub(super) fn graph(args: &Graph, ui: &Ui) -> anyhow::Result<Exit> {
    let graph = load(&args.spec, ui)?;
    if args.output == Output::Json && args.format != Format::Text {
        return Err(Failure::new("a drawing is not a JSON document")
            .hint("leave out `--format` or `--output`")
            .into());
    }
    let drawn = Drawn::of(&graph);
    show(ui, args.output, &drawn, || match args.format {
        Format::Text => draw::text(&graph),
        Format::Dot => draw::dot(&graph),
        Format::Svg => draw::svg(&graph),
        Format::Mermaid => draw::mermaid(&graph),
    });
    Ok(Exit::Clean)
}

/// Prints a JSON Schema.
pub(super) fn schema(args: &Schema, ui: &Ui) -> anyhow::Result<Exit> {
    ui.data(&match args.of {
        SchemaOf::Spec => spec::json_schema(),
        SchemaOf::Answers => answers::json_schema(),
    });
    Ok(Exit::Clean)
}
