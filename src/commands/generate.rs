//! `generate`: the SQL files of each spec, written where they differ, or compared.

mod migrations;
mod told;

use super::answer::Exit;
use super::specs::load_each;
use crate::bundle::Form;
use crate::cli::{Generate, Output};
use crate::failure::Failure;
use crate::render;
use crate::ui::{Ui, counted};
use told::{generated, report_stale, tell_changes};

/// Writes or checks the files.
pub(super) fn generate(args: &Generate, ui: &Ui) -> anyhow::Result<Exit> {
    if let Some(runner) = args.runner {
        return migrations::generate(runner, args, ui);
    }
    // Every spec is read before the first file is written.
    let (form, folder) = match &args.bundle {
        Some(folder) => (Form::Client, folder),
        None => (
            Form::Review,
            &args.out.clone().unwrap_or_else(|| "generated".into()),
        ),
    };
    let mut bundles = Vec::new();
    for graph in load_each(&args.specs, ui)? {
        for dialect in &graph.dialects {
            bundles.push(match form {
                Form::Client => render::bundle(&graph, *dialect)?,
                Form::Review => render::review(&graph, *dialect)?,
            });
        }
    }
    let mut stale = Vec::new();
    for bundle in &bundles {
        let changes = if args.check {
            bundle.compare(form, folder)
        } else {
            bundle.write(form, folder)
        };
        let verb = if args.check { "read" } else { "write" };
        stale.extend(changes.map_err(|error| {
            Failure::new(format!("cannot {verb} the files in `{}`", folder.display()))
                .caused_by(error)
        })?);
    }
    // Alert rules and dashboard are of the spec, whatever the dialect.
    stale.sort_by(|a, b| a.path.cmp(&b.path));
    stale.dedup_by(|a, b| a.path == b.path);
    let all = bundles.iter().flat_map(|bundle| bundle.form(form));
    let all = all.map(|file| file.path.as_str());
    let generated = generated(all, &stale, folder, !args.check);
    if args.output == Output::Json {
        ui.json(&generated);
    }
    if generated.stale == 0 {
        ui.note(&format!(
            "{} up to date in `{}`",
            counted(generated.files.len() as i64, "file is", "files are"),
            generated.folder
        ));
        return Ok(Exit::Clean);
    }
    if args.check {
        let option = if args.bundle.is_some() {
            "bundle"
        } else {
            "out"
        };
        report_stale(
            &generated,
            args,
            &format!("--{option} {}", generated.folder),
            ui,
        );
        return Ok(Exit::Found);
    }
    tell_changes(&generated, folder, ui);
    Ok(Exit::Clean)
}
