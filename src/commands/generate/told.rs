//! What `generate` reports about files: what was done with them, or what is to be done.

use std::collections::BTreeMap;
use std::path::Path;

use similar::TextDiff;

use crate::answers::{FileChange, Generated, GeneratedFile};
use crate::bundle::Stale;
use crate::cli::{Generate, Output};
use crate::ui::{Ui, counted};

/// What was done with which file.
pub(super) fn tell_changes(generated: &Generated, folder: &Path, ui: &Ui) {
    for file in &generated.files {
        let what = match file.change {
            FileChange::None => continue,
            FileChange::Created => "created",
            FileChange::Changed => "changed",
            FileChange::Removed => "removed",
        };
        ui.note(&format!("{what}  {}", folder.join(&file.path).display()));
    }
}

/// Every file of the bundles, and what is left of earlier ones, with what happens to it.
pub(super) fn generated<'a>(
    all: impl Iterator<Item = &'a str>,
    stale: &'a [Stale],
    folder: &Path,
    written: bool,
) -> Generated {
    let mut files: BTreeMap<String, GeneratedFile> = all
        .chain(stale.iter().map(|it| it.path.as_str()))
        .map(|path| {
            let file = GeneratedFile {
                path: path.to_owned(),
                change: FileChange::None,
                diff: None,
            };
            (path.to_owned(), file)
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

/// What is stale, and how to update it.
pub(super) fn report_stale(generated: &Generated, args: &Generate, options: &str, ui: &Ui) {
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
        "run `windrow generate {} {options}`",
        specs.join(" ")
    ));
}
