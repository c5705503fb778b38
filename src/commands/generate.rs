//! `generate`: the SQL files of each spec, written where they differ, or compared.

use std::collections::BTreeMap;
use std::path::Path;

use similar::TextDiff;

use super::answer::Exit;
use super::specs::load;
use crate::answers::{FileChange, Generated, GeneratedFile};
use crate::bundle::{File, Form, Stale};
use crate::cli::{Generate, Output};
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
    let all = bundles.iter().flat_map(|bundle| bundle.form(form));
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
        report_stale(&generated, args, ui);
        return Ok(Exit::Found);
    }
    for file in &generated.files {
        let what = match file.change {
            FileChange::None => continue,
            FileChange::Created => "created",
            FileChange::Changed => "changed",
            FileChange::Removed => "removed",
        };
        ui.note(&format!("{what}  {}", folder.join(&file.path).display()));
    }
    Ok(Exit::Clean)
}

/// Every file of the bundles, and what is left of earlier ones, with what becomes of it.
fn generated<'a>(
    all: impl Iterator<Item = &'a File>,
    stale: &[Stale],
    folder: &Path,
    written: bool,
) -> Generated {
    let mut files: BTreeMap<String, GeneratedFile> = all
        .map(|file| &file.path)
        .chain(stale.iter().map(|it| &it.path))
        .map(|path| {
            let file = GeneratedFile {
                path: path.clone(),
                change: FileChange::None,
                diff: None,
            };
            (path.clone(), file)
        })
        .collect();
    for change in stale {
        if let Some(file) = files.get_mut(&change.path) {
            file.change = match (&change.before, &change.after) {
                (None, _) => FileChange::Created,
                (_, None) => FileChange::Removed,
                _ => FileChange::Changed,
            };
            file.diff = (!written).then(|| diff(change));
        }
    }
    Generated {
        folder: folder.display().to_string(),
        written,
        stale: stale.len(),
        files: files.into_values().collect(),
    }
}

/// From what is there to what is generated.
fn diff(change: &Stale) -> String {
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
    TextDiff::from_lines(before, after)
        .unified_diff()
        .header(&old, &new)
        .to_string()
}

fn report_stale(generated: &Generated, args: &Generate, ui: &Ui) {
    if args.output == Output::Text {
        for diff in generated.files.iter().filter_map(|file| file.diff.as_ref()) {
            ui.data(diff);
        }
    }
    ui.warning(&format!(
        "{} stale",
        counted(generated.stale as i64, "file is", "files are")
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
        generated.folder
    ));
}
