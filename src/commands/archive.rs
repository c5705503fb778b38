//! `archive`: what was copied before it was deleted: listed, dropped and put back by routines of the control schema, and written to
//! files.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Map, Value};

use super::answer::{Exit, show};
use super::options::options;
use super::session::Session;
use crate::answers::{self, Archived, Exported, ExportedTable, Restored};
use crate::cli::{
    Archive, ArchiveDrop, ArchiveExport, ArchiveList, ArchiveRestore, OnDatabase, Output,
};
use crate::failure::Failure;
use crate::interrupt;
use crate::report;
use crate::ui::{Ui, counted};

/// Does what the command line says.
pub(super) fn archive(command: &Archive, ui: &Ui) -> anyhow::Result<Exit> {
    match command {
        Archive::List(args) => list(args, ui),
        Archive::Drop(args) => drop(args, ui),
        Archive::Restore(args) => restore(args, ui),
        Archive::Export(args) => export(args, ui),
    }
}

fn list(args: &ArchiveList, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = open(&args.with.on, ui, Needs::Routines)?;
    let chosen = options([("run", args.run.map(Value::from))]);
    let document = session.ask("archive_list", &chosen.into())?;
    let archived: Archived = answers::read("archive_list", &document)?;
    show(ui, args.with.output, &document, || {
        report::archived(&archived)
    });
    Ok(Exit::Clean)
}

fn drop(args: &ArchiveDrop, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = open(&args.with.on, ui, Needs::Routines)?;
    let chosen = options([
        ("run", args.run.map(Value::from)),
        ("older_than", args.older_than.clone().map(Value::from)),
        ("dry_run", Some((!args.yes).into())),
    ]);
    let document = perform(&mut session, "archive_drop", chosen)?;
    let archived: Archived = answers::read("archive_drop", &document)?;
    show(ui, args.with.output, &document, || {
        report::archived(&archived)
    });
    let rows = counted(archived.rows, "row", "rows");
    if args.yes {
        ui.note(&format!(
            "dropped {rows} from the archive in {}",
            session.url
        ))
    } else {
        ui.hint(&format!(
            "{rows} would be dropped from the archive in {}; they exist nowhere else. Add --yes to drop them",
            session.url
        ))
    }
    Ok(Exit::Clean)
}

fn restore(args: &ArchiveRestore, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = open(&args.with.on, ui, Needs::Routines)?;
    let keys = (!args.keys.is_empty()).then(|| Value::from(args.keys.clone()));
    let chosen = options([
        ("run", Some(args.run.into())),
        ("rule", args.rule.clone().map(Value::from)),
        ("key", keys),
        ("max_rows", Some(args.max_rows.into())),
    ]);
    interrupt::cancels(session.database.cancel())?;
    let document = session
        .ask("archive_restore", &chosen.into())
        .map_err(|error| interrupt::explain(error, "archive_restore"))?;
    let back: Restored = answers::read("archive_restore", &document)?;
    show(ui, args.with.output, &document, || report::restored(&back));
    ui.note(&format!(
        "restored {} of run {} in {}; {} placed, so no run deletes them again",
        counted(back.rows, "row", "rows"),
        args.run,
        session.url,
        counted(back.holds, "hold was", "holds were"),
    ));
    if back.not_held > 0 {
        ui.warning(&format!(
            "{} of no family cannot be held, and the next run may delete them again",
            counted(back.not_held, "row", "rows")
        ));
    }
    if !back.not_archived.is_empty() {
        ui.warning(&format!(
            "these tables are not archived, so their rows are lost: {}",
            back.not_archived.join(", ")
        ));
    }
    if !back.not_restored.is_empty() {
        ui.warning(&format!(
            "the role or table that these statements name is gone, so they were left out: {}",
            back.not_restored.join("; ")
        ));
    }
    Ok(Exit::Clean)
}

fn export(args: &ArchiveExport, ui: &Ui) -> anyhow::Result<Exit> {
    if args.with.output == Output::Json && args.to.is_none() {
        return Err(
            Failure::new("rows and a document cannot both go to standard output")
                .hint("name a folder for the rows with --to")
                .into(),
        );
    }
    let mut session = open(&args.with.on, ui, Needs::Tables)?;
    interrupt::cancels(session.database.cancel())?;
    let tables = tables(&mut session, args)?;
    let Some(folder) = &args.to else {
        let [table] = &tables[..] else {
            return Err(Failure::new("there are several archive tables")
                .detail(names(&tables))
                .hint("name one of them with --table, or a folder with --to")
                .into());
        };
        let rows = write(&mut session, table, args.run, &mut Ui::stream(), ui)?;
        ui.note(&format!(
            "`{}`: {}",
            table.name,
            counted(rows, "row", "rows")
        ));
        return Ok(Exit::Clean);
    };
    let files: Vec<(Kept, PathBuf)> = tables
        .into_iter()
        .map(|table| {
            let file = folder.join(format!("{}.csv", table.name));
            (table, file)
        })
        .collect();
    // Seen before anything is read.
    if let Some((_, file)) = files.iter().find(|(_, file)| file.exists()) {
        return Err(exists(file));
    }
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, error))?;
    let mut exported = Exported {
        run: args.run,
        tables: Vec::new(),
    };
    for (table, file) in &files {
        let started = Instant::now();
        let part = file.with_extension("csv.part");
        let done = to_file(&mut session, table, args.run, &part, ui).and_then(|rows| {
            // A link, unlike a new name, does not take the place of a file that has come meanwhile.
            fs::hard_link(&part, file).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => exists(file),
                _ => unwritable(file, error),
            })?;
            Ok(rows)
        });
        let removed = fs::remove_file(&part);
        let rows = done?;
        removed.map_err(|error| unwritable(&part, error))?;
        let what = format!("{}  {}", file.display(), counted(rows, "row", "rows"));
        ui.done(&what, started.elapsed());
        exported.tables.push(ExportedTable {
            table: table.name.clone(),
            file: file.display().to_string(),
            rows,
            seconds: started.elapsed().as_secs_f64(),
        });
    }
    if args.with.output == Output::Json {
        ui.json(&exported);
    }
    Ok(Exit::Clean)
}

/// A table of the archive.
struct Kept {
    schema: String,
    name: String,
}

impl Kept {
    /// The run and the name of a partition, if it is one that was archived.
    fn partition(&self) -> Option<(u64, &str)> {
        let mut parts = self.name.strip_prefix("archived_")?.splitn(3, '_');
        let run = parts.next()?.parse().ok()?;
        Some((run, parts.nth(1)?))
    }

    /// Whether it is called so, or has the rows of the table or partition of that name.
    fn is(&self, name: &str) -> bool {
        let partition = self.partition().is_some_and(|(_, of)| of == name);
        self.name == name || self.name == format!("archive_{name}") || partition
    }
}

fn names(tables: &[Kept]) -> String {
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    names.join(", ")
}

/// The archive tables that this session may know of.
fn kept(session: &mut Session) -> anyhow::Result<Vec<Kept>> {
    let control = crate::render::control_name(&session.graph);
    let rows = session
        .database
        .query(session.calls.archives(), &[Some(&control)])?;
    let kept = rows.into_iter().filter_map(|mut row| {
        let name = row.pop()??;
        let schema = row.pop()??;
        Some(Kept { schema, name })
    });
    Ok(kept.collect())
}

/// Of these those of one table, or all; of partitions, those of one run.
fn tables(session: &mut Session, args: &ArchiveExport) -> anyhow::Result<Vec<Kept>> {
    let control = crate::render::control_name(&session.graph);
    let kept = kept(session)?.into_iter();
    let of_run = |table: &Kept| match (args.run, table.partition()) {
        (Some(run), Some((of, _))) => run == of,
        _ => true,
    };
    let all: Vec<Kept> = kept.filter(of_run).collect();
    if all.is_empty() {
        return Err(Failure::new(format!(
            "this account sees no archive tables in `{control}`"
        ))
        .hint("run `windrow install` first, or grant this account SELECT on them")
        .into());
    }
    let Some(only) = &args.table else {
        return Ok(all);
    };
    let (found, others): (Vec<Kept>, Vec<Kept>) = all.into_iter().partition(|table| table.is(only));
    if found.is_empty() {
        return Err(Failure::new(format!("`{only}` has no archive table"))
            .hint(format!("the archive tables are {}", names(&others)))
            .into());
    }
    Ok(found)
}

/// Writes a file that is whole on the disk at the end.
fn to_file(
    session: &mut Session,
    table: &Kept,
    run: Option<u64>,
    part: &Path,
    ui: &Ui,
) -> anyhow::Result<i64> {
    let file = File::create(part).map_err(|error| unwritable(part, error))?;
    let mut out = BufWriter::new(file);
    let rows = write(session, table, run, &mut out, ui)?;
    let file = out
        .into_inner()
        .map_err(|error| unwritable(part, error.into_error()))?;
    file.sync_all().map_err(|error| unwritable(part, error))?;
    Ok(rows)
}

fn write(
    session: &mut Session,
    table: &Kept,
    run: Option<u64>,
    out: &mut dyn io::Write,
    ui: &Ui,
) -> anyhow::Result<i64> {
    let sql = match table.partition() {
        Some(_) => session.calls.detached(&table.schema, &table.name),
        None => session.calls.archived(&table.name, run),
    };
    session.database.execute(session.calls.unlimited())?;
    let mut progress = ui.progress(&table.name, None);
    let rows = session
        .database
        .export(&sql, out, &mut |rows| {
            if rows % 1_000 == 0 {
                let text = counted(i64::try_from(rows).unwrap_or(i64::MAX), "row", "rows");
                progress.set(rows, &text);
            }
        })
        .map_err(|error| interrupt::explain(error, "archive export"))
        .map_err(|error| {
            Failure::new(format!("cannot export `{}`", table.name)).caused_by(error)
        })?;
    Ok(i64::try_from(rows).unwrap_or(i64::MAX))
}

fn exists(file: &Path) -> anyhow::Error {
    Failure::new(format!("`{}` already exists", file.display()))
        .hint("choose another folder, or move the file away")
        .into()
}

fn unwritable(path: &Path, error: io::Error) -> anyhow::Error {
    Failure::new(format!("cannot write `{}`", path.display()))
        .caused_by(error)
        .into()
}

/// What a command works with: routines are installed only if a rule archives; tables of earlier runs stay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Routines,
    Tables,
}

/// A session with a spec that archives something, or did.
fn open(on: &OnDatabase, ui: &Ui, needs: Needs) -> anyhow::Result<Session> {
    let mut session = Session::open(on, ui)?;
    let rules = &session.graph.rules;
    if rules.iter().any(|rule| !rule.archived().is_empty()) {
        return Ok(session);
    }
    let spec = session.graph.name.clone();
    let left = kept(&mut session)?;
    if left.is_empty() {
        return Err(Failure::new(format!("the spec `{spec}` archives nothing"))
            .hint("write `archive = true` in a rule, and install again")
            .into());
    }
    if needs == Needs::Routines {
        return Err(Failure::new(format!("the spec `{spec}` archives nothing any more"))
            .detail(format!("archive tables of earlier runs: {}", names(&left)))
            .hint(
                "`windrow archive export` writes them. To list, drop or restore rows, name one of the tables in `archive` again, \
                 and install",
            )
            .into());
    }
    Ok(session)
}

/// Calls a procedure that commits as it goes; Ctrl-C cancels it.
fn perform(
    session: &mut Session,
    procedure: &str,
    options: Map<String, Value>,
) -> anyhow::Result<Value> {
    interrupt::cancels(session.database.cancel())?;
    let sql = session.calls.perform(procedure);
    let options = Value::from(options).to_string();
    session
        .document(&sql, &[Some(&options)])
        .map_err(|error| interrupt::explain(error, procedure))
}
