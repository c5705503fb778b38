//! `demo`: the main job on a throw-away server, told as a story. Every step is a command that the user can repeat.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Parser as _;

use super::{Exit, dispatch};
use crate::cli::{Cli, Demo};
use crate::db::{self, Database};
use crate::demo::dolphinscheduler;
use crate::failure::Failure;
use crate::sandbox::{self, Postgres, Settings};
use crate::ui::{Ui, count, duration};

/// The spec of the demo, for a binary that is used without a checkout.
const SPEC: &str = include_str!("../../specs/dolphinscheduler.toml");

/// Where the spec stands in a checkout.
const SPEC_PATH: &str = "specs/dolphinscheduler.toml";

/// The database of the demo.
const DATABASE: &str = "scheduler";

/// Tells the story, or ends it.
pub(super) fn demo(args: &Demo, ui: &Ui) -> anyhow::Result<Exit> {
    let dir = directory();
    if args.down {
        return down(&dir, ui);
    }
    let started = Instant::now();
    if dir.exists() {
        sandbox::stop_at(&dir)?;
    }
    let server = start(&dir, ui)?;
    let url = server.url(DATABASE, "postgres");
    load(&server, args.families, ui)?;
    tell(&dir, &url, ui)?;
    farewell(&url, started.elapsed(), ui);
    Ok(Exit::Clean)
}

fn down(dir: &Path, ui: &Ui) -> anyhow::Result<Exit> {
    if !dir.exists() {
        ui.note("no demo is running");
        return Ok(Exit::Clean);
    }
    sandbox::stop_at(dir)?;
    if dir.exists() {
        fs::remove_dir_all(dir).map_err(|error| {
            Failure::new(format!("cannot remove `{}`", dir.display())).caused_by(error)
        })?;
    }
    ui.note("the demo's server is stopped and removed");
    Ok(Exit::Clean)
}

/// One demo per user: a fixed directory below the system's temporary one.
fn directory() -> PathBuf {
    let user = std::env::var("USER")
        .or_else(|_| std::env::var("LOGNAME"))
        .unwrap_or_else(|_| "root".to_owned());
    std::env::temp_dir().join(format!(
        "windrow-demo-{}",
        user.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
    ))
}

fn start(dir: &Path, ui: &Ui) -> anyhow::Result<Postgres> {
    chapter(ui, "A throw-away PostgreSQL with pg_cron");
    let clock = Instant::now();
    let server = Postgres::start(&Settings {
        preload_pg_cron: true,
        cron_database: DATABASE.to_owned(),
        keep_at: Some(dir.to_owned()),
        durable: true,
        ..Settings::default()
    })?;
    let mut admin = db::connect(&server.url("postgres", "postgres").parse()?)?;
    let version = admin.server()?.version_num;
    admin.execute(&format!("CREATE DATABASE {DATABASE}"))?;
    ui.done(
        &format!(
            "PostgreSQL {}.{} in `{}`, port {}",
            version / 10_000,
            version % 10_000,
            dir.display(),
            server.port()
        ),
        clock.elapsed(),
    );
    Ok(server)
}

/// The real schema and a history with everything that makes a clean-up hard.
fn load(server: &Postgres, families: u32, ui: &Ui) -> anyhow::Result<()> {
    chapter(
        ui,
        "Apache DolphinScheduler 3.4: the real schema, half a year of history",
    );
    let mut database = db::connect(&server.url(DATABASE, "postgres").parse()?)?;
    let clock = Instant::now();
    database.execute(dolphinscheduler::SCHEMA_34)?;
    database.execute("CREATE EXTENSION IF NOT EXISTS pg_cron")?;
    ui.done(
        "53 tables, with their stock indexes and not one foreign key",
        clock.elapsed(),
    );
    let clock = Instant::now();
    database.execute(&format!(
        "SET {} = {families}",
        dolphinscheduler::FAMILIES_SETTING
    ))?;
    database.execute(dolphinscheduler::HISTORY_34)?;
    let took = clock.elapsed();
    database.execute("VACUUM ANALYZE")?;
    let rows = number(
        database.as_mut(),
        "SELECT sum(n_live_tup)::text FROM pg_stat_user_tables WHERE relname LIKE 't_ds_%'",
    )?;
    ui.done(
        &format!("{} rows: nested and dynamic sub-workflows, shared ones, circles, dead links, running and undated members", count(rows)),
        took,
    );
    Ok(())
}

/// The commands of a first day with windrow.
fn tell(dir: &Path, url: &str, ui: &Ui) -> anyhow::Result<()> {
    let spec = spec(dir)?;
    let spec = spec.as_str();
    let mut database = db::connect(&url.parse()?)?;
    let projects: Vec<String> = database
        .query(
            "SELECT DISTINCT project_code::text FROM t_ds_workflow_instance ORDER BY 1",
            &[],
        )?
        .into_iter()
        .filter_map(|row| row.into_iter().next().flatten())
        .collect();
    let generated = dir.join("generated").display().to_string();
    // The server's user owns the directory; the files are the user's own.
    let generated = if fs::create_dir_all(&generated).is_ok() {
        generated
    } else {
        "generated".to_owned()
    };

    chapter(ui, "What belongs to what, and in which order it goes");
    step(ui, &["graph", spec], url)?;
    chapter(ui, "The SQL: read it before it runs");
    step(ui, &["generate", spec, "--out", &generated], url)?;
    chapter(ui, "Install it: nothing is deleted before someone arms it");
    ui.command(&format!("windrow install {spec}"));
    let clock = Instant::now();
    run(&["install", spec], url, &Ui { quiet: true })?;
    ui.done(
        "control schema, 5 indexes, 39 routines that explain themselves, roles, hourly pg_cron job",
        clock.elapsed(),
    );
    chapter(
        ui,
        "Nine of ten projects opt in; the others are never touched",
    );
    let quiet = Ui { quiet: true };
    for (index, project) in projects
        .iter()
        .take(projects.len().saturating_sub(1))
        .enumerate()
    {
        let retention = if index == 0 { "90d" } else { "30d" };
        let words = [
            "policy",
            "set",
            spec,
            "--scope",
            project.as_str(),
            "--retention",
            retention,
        ];
        match index {
            0 | 1 => step(ui, &words, url)?,
            _ => run(&words, url, &quiet)?,
        };
    }
    ui.note(&format!(
        "… and so for {} more",
        projects.len().saturating_sub(3)
    ));
    chapter(ui, "Preview: what would go, what stays and why");
    step(ui, &["preview", spec], url)?;
    chapter(ui, "Run: whole families, in short transactions");
    step(ui, &["arm", spec], url)?;
    step(ui, &["run", spec], url)?;
    chapter(
        ui,
        "Verify: no orphans made, nothing due is left, every routine as generated",
    );
    step(ui, &["verify", spec], url)?;
    chapter(ui, "The ledger remembers");
    step(ui, &["history", spec], url)?;
    step(ui, &["status", spec], url)?;
    Ok(())
}

fn farewell(url: &str, took: Duration, ui: &Ui) {
    chapter(
        ui,
        &format!(
            "That was the main job, in {}. The server is yours to explore",
            duration(took)
        ),
    );
    ui.data(&format!(
        "  export WINDROW_URL='{url}'\n  \
         windrow preview {SPEC_PATH} --output json           what is left, as a document\n  \
         windrow run {SPEC_PATH}                             a second run deletes nothing\n  \
         windrow purge {SPEC_PATH} --key 9                   one family by hand: refused with its reason\n  \
         windrow artifacts list {SPEC_PATH}                  log files of the deleted tasks\n  \
         windrow pause {SPEC_PATH} --reason 'let me look'    the kill switch\n  \
         psql \"$WINDROW_URL\" -c '\\df+ windrow_dolphinscheduler.*'\n\n\
         `windrow` is target/release/windrow. `make demo-down` stops the server and removes it."
    ));
}

/// The spec of the checkout, or a copy of it beside the server.
fn spec(dir: &Path) -> anyhow::Result<String> {
    if Path::new(SPEC_PATH).exists() {
        return Ok(SPEC_PATH.to_owned());
    }
    let path = dir.join("dolphinscheduler.toml");
    fs::write(&path, SPEC).map_err(|error| {
        Failure::new(format!("cannot write `{}`", path.display())).caused_by(error)
    })?;
    Ok(path.display().to_string())
}

fn chapter(ui: &Ui, title: &str) {
    ui.heading(title);
}

/// Shows a command as the user would type it, and does it.
fn step(ui: &Ui, words: &[&str], url: &str) -> anyhow::Result<()> {
    ui.command(&format!("windrow {}", words.join(" ")));
    run(words, url, ui)
}

fn run(words: &[&str], url: &str, ui: &Ui) -> anyhow::Result<()> {
    let needs_url = !matches!(words[0], "graph" | "generate");
    let all = ["windrow"]
        .into_iter()
        .chain(words.iter().copied())
        .chain(needs_url.then_some(["--url", url]).into_iter().flatten());
    let cli = Cli::try_parse_from(all)?;
    match dispatch(cli.command, ui)? {
        Exit::Clean => Ok(()),
        Exit::Found => {
            ui.warning(&format!("`windrow {}` found something", words.join(" ")));
            Ok(())
        }
    }
}

fn number(database: &mut dyn Database, sql: &str) -> anyhow::Result<i64> {
    let rows = database.query(sql, &[])?;
    Ok(rows
        .first()
        .and_then(|row| row.first().cloned().flatten())
        .and_then(|text| text.parse().ok())
        .unwrap_or(0))
}
