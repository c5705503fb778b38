//! `generate`: the SQL files of each spec, written where they differ, or compared.

use std::path::Path;

use similar::TextDiff;

use super::answer::Exit;
use super::specs::load;
use crate::bundle::{Form, Stale};
use crate::cli::Generate;
use crate::failure::Failure;
use crate::render;
use crate::ui::{Ui, counted};

/// Writes or checks the files.
pub(super) fn generate(args: &Generate, ui: &Ui) -> anyhow::Result<Exit> {
    // Every spec is read before the first file is written.
    let (form, folder) = match &args.bundle {
        Some(folder) => (Form::Client, folder),
        None => (Form::Review, &args.out),
    };
    let mut bundles = Vec::new();
    for spec in &args.specs {
        let graph = load(spec, ui)?;
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
    let files: usize = bundles.iter().map(|bundle| bundle.form(form).count()).sum();
    if args.check {
        return Ok(report_stale(&stale, args, folder, files, ui));
    }
    for change in &stale {
        let what = match (&change.before, &change.after) {
            (None, _) => "created",
            (_, None) => "removed",
            _ => "changed",
        };
        ui.note(&format!("{what}  {}", folder.join(&change.path).display()));
    }
    if stale.is_empty() {
        ui.note(&format!(
            "{} up to date in `{}`",
            counted(files as i64, "file is", "files are"),
            folder.display()
        ));
    }
    Ok(Exit::Clean)
}

fn report_stale(stale: &[Stale], args: &Generate, folder: &Path, files: usize, ui: &Ui) -> Exit {
    if stale.is_empty() {
        ui.note(&format!(
            "{} up to date in `{}`",
            counted(files as i64, "file is", "files are"),
            folder.display()
        ));
        return Exit::Clean;
    }
    for change in stale {
        let (before, after) = (
            change.before.as_deref().unwrap_or(""),
            change.after.as_deref().unwrap_or(""),
        );
        let name = |side: &str, exists: bool| {
            if exists {
                format!("{side}/{}", change.path)
            } else {
                "/dev/null".to_owned()
            }
        };
        let (old, new) = (
            name("a", change.before.is_some()),
            name("b", change.after.is_some()),
        );
        ui.data(
            &TextDiff::from_lines(before, after)
                .unified_diff()
                .header(&old, &new)
                .to_string(),
        );
    }
    ui.warning(&format!(
        "{} stale",
        counted(stale.len() as i64, "file is", "files are")
    ));
    let specs: Vec<String> = args
        .specs
        .iter()
        .map(|spec| spec.display().to_string())
        .collect();
    ui.hint(&format!(
        "run `windrow generate {} --{} {}`",
        specs.join(" "),
        if args.bundle.is_some() {
            "bundle"
        } else {
            "out"
        },
        folder.display()
    ));
    Exit::Found
}
