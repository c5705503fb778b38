//! `init`: a spec made to fit the version of the application that a live database has.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use super::answer::{Exit, show};
use super::fitting::catalog;
use super::session::{address, calls};
use super::specs::read_spec;
use crate::adapt::{self, Adapted, ChangeKind, Mode};
use crate::answers::Fitted;
use crate::cli::{Init, Output};
use crate::db;
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::fit::Finding;
use crate::inspect::samples::Samples;
use crate::lint;
use crate::render;
use crate::ui::{Ui, counted};

/// Writes the spec, and says what is not as it was.
pub(super) fn init(args: &Init, ui: &Ui) -> anyhow::Result<Exit> {
    let (graph, found) = read_spec(&args.from)?;
    let Some(mut graph) = graph else {
        ui.findings(&found.text());
        let name = args.from.display();
        return Err(Failure::new(format!("the spec `{name}` has errors")).into());
    };
    if let Some(out) = &args.out
        && out.exists()
    {
        return Err(exists(out));
    }
    let url = address(args.at.database.as_ref(), args.at.password_file.as_deref())?;
    let mut database = db::connect(&url)?;
    let dialect = database.server()?.dialect;
    calls(&graph, dialect)?;
    for setting in Samples::settings(dialect, args.timeout) {
        database.execute(&setting)?;
    }
    let mut text = found.source;
    if let Some(schema) = &args.schema {
        text = adapt::place(&text, dialect, schema);
        graph = lint::load(&text).0.ok_or_else(|| {
            Failure::new(format!("`{schema}` cannot name a schema or a database"))
        })?;
    }
    let (catalog, unseen) = catalog(&graph, dialect, database.as_mut())?;
    if !catalog.schema_exists || catalog.tables.is_empty() {
        let home = render::home(&graph, dialect);
        return Err(Failure::new(format!("this account sees no table in `{home}`"))
            .hint("name the schema (on MySQL and MariaDB: the database) with --schema, or use an account that may read the tables")
            .into());
    }
    let adapted = adapt::adapt(&text, &catalog, &unseen, Mode::Draft).map_err(|why| {
        Failure::new(
            "without the parts that this database lacks, nothing useful is left of the spec",
        )
        .detail(why)
        .hint(another(&args.from))
    })?;
    refuse(&adapted.lacking(&catalog), &unseen, &args.from)?;
    let text = format!("{}\n", headed(&adapted, dialect).trim_end());
    if let Some(out) = &args.out {
        write(out, &text)?;
    }
    tell(&adapted, ui);
    let fitted = Fitted {
        from: args.from.display().to_string(),
        out: args.out.as_ref().map(|out| out.display().to_string()),
        draft: text,
        changes: adapted.changes,
    };
    if args.output == Output::Json || fitted.out.is_none() {
        show(ui, args.output, &fitted, || {
            fitted.draft.trim_end().to_owned()
        });
    }
    Ok(Exit::found(fitted.changes.iter().any(|change| change.asks)))
}

/// An error where something is lacking that cannot be left out.
fn refuse(lacking: &[Finding], unseen: &BTreeSet<String>, from: &Path) -> anyhow::Result<()> {
    if lacking.is_empty() {
        return Ok(());
    }
    let mut failure = Failure::new(format!(
        "this database lacks parts that `{}` requires",
        from.display()
    ));
    for finding in lacking {
        failure = failure.detail(finding.to_string());
    }
    let lacks = |code: &str| lacking.iter().any(|finding| finding.code == code);
    if lacks("missing-column") {
        failure = failure.hint(
            "columns that decide which rows are deleted or kept are never left out: without them, rows that should be kept \
             would be deleted. Write the column that this version has; if the rule or edge is to be left out instead, mark \
             it `optional`",
        );
    }
    // A view in the place of a table is seen.
    let views: BTreeSet<&String> = lacking
        .iter()
        .filter(|finding| finding.code == "not-a-table")
        .map(|finding| &finding.object)
        .collect();
    let unseen = unseen.iter().filter(|name| !views.contains(name));
    let names: Vec<&str> = unseen.map(String::as_str).collect();
    if !names.is_empty() {
        return Err(failure
            .hint(format!(
                "this account cannot see whether these exist: `{}`; grant it SELECT on the whole database",
                names.join("`, `")
            ))
            .into());
    }
    if lacks("missing-table") || lacks("missing-schema") {
        failure = failure.hint(another(from));
    }
    Err(failure.into())
}

fn another(from: &Path) -> String {
    format!(
        "if it has another name here, this is another version or another system: try another spec of `specs/`, or write the \
         name into a copy of `{}`; mark parts that this version does not have with `optional = true`",
        from.display()
    )
}

/// The text with a line on top that says where it comes from.
fn headed(adapted: &Adapted, dialect: Dialect) -> String {
    let questions = adapted.changes.iter().filter(|change| change.asks).count() as i64;
    let head = format!(
        "# Fitted by `windrow init` to a database of {}: {}. Each change is marked at its place{}.\n",
        dialect.facts().title,
        summary(adapted),
        if questions > 0 {
            ", questions by `# ?`"
        } else {
            ""
        }
    );
    // An editor looks for the schema in the first line.
    match adapted.text.split_once('\n') {
        Some((first, rest)) if first.starts_with("#:") => format!("{first}\n{head}{rest}"),
        _ => format!("{head}{}", adapted.text),
    }
}

/// `3 parts are left out, 1 question is open`.
fn summary(adapted: &Adapted) -> String {
    let count = |kinds: &[ChangeKind]| {
        let changes = adapted.changes.iter();
        changes
            .filter(|change| kinds.contains(&change.kind))
            .count() as i64
    };
    let asks = adapted.changes.iter().filter(|change| change.asks).count() as i64;
    let parts = [
        (
            count(&[ChangeKind::LeftOut]),
            "part is left out",
            "parts are left out",
        ),
        (
            count(&[ChangeKind::Mended]),
            "type is corrected",
            "types are corrected",
        ),
        (asks, "question is open", "questions are open"),
    ];
    let told: Vec<String> = parts
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| counted(count, one, many))
        .collect();
    if told.is_empty() {
        "nothing had to be changed".to_owned()
    } else {
        told.join(", ")
    }
}

fn write(out: &Path, text: &str) -> anyhow::Result<()> {
    let written = File::create_new(out).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(out),
        _ => Failure::new(format!("cannot write `{}`", out.display()))
            .caused_by(error)
            .into(),
    })
}

fn exists(out: &Path) -> anyhow::Error {
    Failure::new(format!("`{}` already exists", out.display()))
        .hint("choose another file, or move this one away")
        .into()
}

fn tell(adapted: &Adapted, ui: &Ui) {
    for change in &adapted.changes {
        ui.note(&change.to_string());
    }
    ui.note(&summary(adapted));
}
