//! `generate --for`: the next version of each spec as migrations of a runner, where the spec changed.

use std::path::{Path, PathBuf};

use super::told::{generated, report_stale, tell_changes};
use crate::answers::Generated;
use crate::bundle::Stale;
use crate::cli::{Generate, Output};
use crate::commands::answer::Exit;
use crate::commands::specs::load_each;
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::graph::Graph;
use crate::migrations::{self, runner::Runner};
use crate::ui::Ui;

/// Writes or checks the migrations.
pub(super) fn generate(runner: &Runner, args: &Generate, ui: &Ui) -> anyhow::Result<Exit> {
    let out = args.out.as_deref().unwrap_or(Path::new(""));
    let mut wanted = Vec::new();
    for graph in load_each(&args.specs, ui)? {
        for (dialect, below) in places(&graph, args.dialect, out)? {
            speaks(runner, dialect)?;
            wanted.push((graph.clone(), dialect, below));
        }
    }
    let (mut all, mut stale) = (Vec::new(), Vec::new());
    for (graph, dialect, below) in &wanted {
        let folder = out.join(below);
        let outcome = migrations::next(runner, graph, *dialect, &folder, args.number)?;
        let title = dialect.facts().title;
        if outcome.is_new {
            if !args.check {
                migrations::write(&outcome, &folder).map_err(|error| {
                    Failure::new(format!("cannot write the files in `{}`", folder.display()))
                        .caused_by(error)
                })?;
            }
            let is = if args.check { "is to be" } else { "was" };
            ui.note(&format!(
                "version {} of `{}` {is} written for {} on {title}",
                outcome.version, graph.name, runner.name
            ));
        } else {
            ui.note(&format!(
                "as generated: version {} of `{}` for {} on {title}",
                outcome.version, graph.name, runner.name
            ));
        }
        for file in outcome.files {
            let path = below.join(&file.path).display().to_string();
            if outcome.is_new {
                stale.push(Stale { path, ..file });
            } else {
                all.push(path);
            }
        }
    }
    let mut generated = generated(all.iter().map(String::as_str), &stale, out, !args.check);
    without_memory(&mut generated);
    if args.output == Output::Json {
        ui.json(&generated);
    }
    if generated.stale == 0 {
        return Ok(Exit::Clean);
    }
    if args.check {
        let options = format!("--for {} --out {}", runner.name, generated.folder);
        report_stale(&generated, args, &options, ui);
        return Ok(Exit::Found);
    }
    tell_changes(&generated, out, ui);
    Ok(Exit::Clean)
}

/// A runner must do on the server what it says.
fn speaks(runner: &Runner, dialect: Dialect) -> anyhow::Result<()> {
    if runner.servers.contains(&dialect) {
        return Ok(());
    }
    let servers: Vec<_> = runner.servers.iter().map(|it| it.facts().title).collect();
    let folders: Vec<_> = runner.servers.iter().map(|it| it.facts().folder).collect();
    Err(Failure::new(format!(
        "there are no migrations of {} for {}, only for {}",
        runner.name,
        dialect.facts().title,
        servers.join(", ")
    ))
    .hint(format!(
        "use another runner; if the spec is for several servers, `--dialect {}`",
        folders.join("` or `--dialect ")
    ))
    .into())
}

/// How the file differs that remembers a version, the files of that version show better.
fn without_memory(generated: &mut Generated) {
    for file in &mut generated.files {
        if file.path.ends_with(".lock") {
            file.diff = None;
        }
    }
}

/// The servers whose migrations are written, each with its folder below the one that was named: that itself where there is one.
fn places(
    graph: &Graph,
    only: Option<Dialect>,
    out: &Path,
) -> anyhow::Result<Vec<(Dialect, PathBuf)>> {
    let names = |dialects: &[Dialect]| {
        let names: Vec<_> = dialects.iter().map(|it| it.facts().folder).collect();
        names.join(", ")
    };
    let memory = |below: &Path| migrations::memory(&out.join(below), &graph.name).exists();
    let dialects = match only {
        Some(dialect) if !graph.dialects.contains(&dialect) => {
            return Err(Failure::new(format!(
                "the spec `{}` is not for {}",
                graph.name,
                dialect.facts().folder
            ))
            .hint(format!("it is for {}", names(&graph.dialects)))
            .into());
        }
        Some(dialect) => vec![dialect],
        None => graph.dialects.clone(),
    };
    let several = dialects.len() > 1;
    // Where the versions of one server are must not depend on how many servers the spec is for later.
    let elsewhere = match (several, only) {
        (true, _) => memory(Path::new("")).then(|| out.to_owned()),
        (false, None) => {
            let below = Path::new(dialects[0].facts().folder);
            memory(below).then(|| out.join(below))
        }
        (false, Some(_)) => None,
    };
    if let Some(elsewhere) = elsewhere {
        return Err(Failure::new(format!(
            "the versions of `{}` are in `{}`",
            graph.name,
            elsewhere.display()
        ))
        .hint("name the server with `--dialect`, and that folder with `--out`")
        .into());
    }
    let place = |dialect: Dialect| {
        let below = if several { dialect.facts().folder } else { "" };
        (dialect, PathBuf::from(below))
    };
    Ok(dialects.into_iter().map(place).collect())
}
