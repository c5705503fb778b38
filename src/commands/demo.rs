//! `demo`: the main job on a throw-away server, step by step. Every step is a command that the user can repeat.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Parser as _;

use super::answer::Exit;
use super::session::calls;
use super::specs::load;
use crate::answers::{DemoStep, Demonstrated};
use crate::bundle::{Bundle, Kind};
use crate::cli::{Cli, Command, Demo, Output};
use crate::demo::{Decision, System};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::graph::Graph;
use crate::lint;
use crate::render;
use crate::sandbox;
use crate::ui::{Ui, duration};

mod stage;

use stage::Stage;

/// What does a command: the story is told in commands that a user could type.
type Dispatch = fn(Command, &Ui) -> anyhow::Result<Exit>;

/// Where the story is told, and who does what it says.
struct Teller<'a> {
    url: &'a str,
    dispatch: Dispatch,
    ui: &'a Ui,
    /// The commands so far.
    steps: RefCell<Vec<DemoStep>>,
}

/// Tells the story, or ends it.
pub(super) fn demo(args: &Demo, dispatch: Dispatch, ui: &Ui) -> anyhow::Result<Exit> {
    // What the commands of the story print is no part of the document.
    let aside = Ui {
        aside: args.output == Output::Json,
        ..*ui
    };
    let done = if args.down {
        down(&directory(), &aside)?
    } else {
        play(args, dispatch, &aside)?
    };
    if args.output == Output::Json {
        ui.json(&done);
    }
    Ok(Exit::Clean)
}

/// Starts a server and tells the story.
fn play(args: &Demo, dispatch: Dispatch, ui: &Ui) -> anyhow::Result<Demonstrated> {
    let dir = directory();
    let started = Instant::now();
    let graph = lint::load(args.system.spec).0;
    let graph = graph.ok_or_else(|| Failure::new("the spec of the demo has errors"))?;
    // Asked before anything is started or removed.
    calls(&graph, args.dialect).map_err(|_| unfit(&graph, args.dialect))?;
    clear(&dir)?;
    let stage = Stage::start(args.system, args.dialect, &dir, ui)?;
    stage.load(args.families.unwrap_or(args.system.families), ui)?;
    let teller = Teller {
        url: &stage.url,
        dispatch,
        ui,
        steps: RefCell::default(),
    };
    let spec = spec(stage.system, &dir)?;
    tell(&dir, &spec, &stage, &teller)?;
    farewell(&stage, &spec, started.elapsed(), ui);
    Ok(Demonstrated {
        running: true,
        system: Some(args.system.name),
        steps: teller.steps.take(),
        url: Some(stage.url),
        seconds: started.elapsed().as_secs_f64(),
    })
}

/// A printer that says no more than it has to.
fn quiet(ui: &Ui) -> Ui {
    Ui { quiet: true, ..*ui }
}

fn unfit(graph: &Graph, dialect: Dialect) -> Failure {
    let facts = graph.dialects.iter().map(|dialect| dialect.facts());
    let titles: Vec<&str> = facts.clone().map(|facts| facts.title).collect();
    let flags: Vec<String> = facts
        .map(|facts| format!("`--dialect {}`", facts.folder))
        .collect();
    Failure::new(format!(
        "{} runs on {}, not on {}",
        graph.title,
        titles.join(" and "),
        dialect.facts().title
    ))
    .hint(format!(
        "use {}, or show another system with `--system`",
        flags.join(" or ")
    ))
}

fn down(dir: &Path, ui: &Ui) -> anyhow::Result<Demonstrated> {
    let started = Instant::now();
    if dir.exists() {
        clear(dir)?;
        ui.note("the demo's server is stopped and removed");
    } else {
        ui.note("no demo is running");
    }
    Ok(Demonstrated {
        seconds: started.elapsed().as_secs_f64(),
        ..Demonstrated::default()
    })
}

/// Ends the server of an earlier demo, if there is one, and removes its directory with the files it generated.
fn clear(dir: &Path) -> anyhow::Result<()> {
    if dir.join("data").exists() {
        sandbox::stop_at(dir)?;
    }
    if dir.exists() {
        fs::remove_dir_all(dir).map_err(|error| {
            Failure::new(format!("cannot remove `{}`", dir.display())).caused_by(error)
        })?;
    }
    Ok(())
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

/// The commands of a first day with windrow.
fn tell(dir: &Path, spec: &str, stage: &Stage, teller: &Teller<'_>) -> anyhow::Result<()> {
    let ui = teller.ui;
    let generated = dir.join("generated").display().to_string();
    // The server's user owns the directory; the files are the user's own.
    let generated = if fs::create_dir_all(&generated).is_ok() {
        generated
    } else {
        "generated".to_owned()
    };

    ui.heading("What belongs to what, and in which order it is deleted");
    teller.step(&["graph", spec])?;
    ui.heading("The SQL: read it before it runs");
    teller.step(&["generate", spec, "--out", &generated])?;
    ui.heading("Install it: nothing is deleted before you arm it");
    ui.command(&format!("windrow install {spec}"));
    let clock = Instant::now();
    teller.run(&["install", spec], &quiet(ui))?;
    let graph = load(Path::new(spec), &quiet(ui))?;
    let bundle = render::bundle(&graph, stage.dialect)?;
    ui.done(
        &format!(
            "control schema, {}, {} routines that explain themselves, roles, an hourly {}",
            match created(&bundle, &[Kind::Index]) {
                0 => "no new index".to_owned(),
                indexes => format!("{indexes} indexes"),
            },
            created(&bundle, &[Kind::Function, Kind::Procedure]),
            match stage.dialect {
                Dialect::Postgres => "pg_cron job",
                Dialect::Mysql | Dialect::Mariadb => "event",
            }
        ),
        clock.elapsed(),
    );
    decide(spec, &graph, stage, teller)?;
    ui.heading("Preview: what would be deleted, what is kept and why");
    teller.step(&["preview", spec])?;
    ui.heading("Run: whole families, in short transactions");
    teller.step(&["arm", spec])?;
    teller.step(&["run", spec])?;
    ui.heading("Verify: no orphans, nothing due is left, every routine as generated");
    teller.step(&["verify", spec])?;
    ui.heading("The run history");
    teller.step(&["history", spec])?;
    teller.step(&["status", spec])?;
    Ok(())
}

/// What is to be said before the first run.
fn decide(spec: &str, graph: &Graph, stage: &Stage, teller: &Teller<'_>) -> anyhow::Result<()> {
    let ui = teller.ui;
    let (table, column, called) = match stage.system.decision {
        Decision::Policies(table, column, called) => (table, column, called),
        Decision::Hold(rule, key) => {
            ui.heading(
                "The engine stores a removal time in every row; a hold keeps a family regardless",
            );
            let words = ["--rule", rule, "--key", key, "--reason", "audit"];
            return teller.step(&[&["hold", "set", spec], &words[..]].concat());
        }
    };
    let scopes = stage.scopes(table, column)?;
    // Where there are several rules, policies are one rule's.
    let mut with_scopes = graph.rules.iter().filter(|it| it.retention.per.is_some());
    let rule: Vec<&str> = match with_scopes.next() {
        Some(rule) if graph.rules.len() > 1 => vec!["--rule", &rule.name],
        _ => Vec::new(),
    };
    ui.heading(&format!(
        "Nine of ten {called} opt in; the others are never touched"
    ));
    let quiet = quiet(ui);
    for (index, scope) in scopes
        .iter()
        .take(scopes.len().saturating_sub(1))
        .enumerate()
    {
        let retention = if index == 0 { "90d" } else { "30d" };
        let words = [
            &["policy", "set", spec],
            &rule[..],
            &["--scope", scope.as_str(), "--retention", retention],
        ]
        .concat();
        match index {
            0 | 1 => teller.step(&words)?,
            _ => teller.run(&words, &quiet)?,
        };
    }
    ui.note(&format!(
        "… and so for {} more",
        scopes.len().saturating_sub(3)
    ));
    Ok(())
}

/// How many objects of some kinds the bundle creates.
fn created(bundle: &Bundle, kinds: &[Kind]) -> usize {
    let statements = bundle.files.iter().flat_map(|file| &file.statements);
    let made = statements.filter_map(|statement| statement.what.made());
    made.filter(|made| kinds.contains(&made.kind)).count()
}

fn farewell(stage: &Stage, spec: &str, took: Duration, ui: &Ui) {
    ui.heading(&format!(
        "That was the main job, in {}. The server is still running, for you to explore",
        duration(took)
    ));
    let commands = [
        ("preview SPEC --output json", "what is left, as a document"),
        ("run SPEC", "a second run deletes nothing"),
    ];
    let pause = ("pause SPEC --reason 'let me look'", "the kill switch");
    let lines: String = commands
        .iter()
        .chain(stage.system.further)
        .chain([&pause])
        .map(|(words, shows)| (words.replace("SPEC", spec), shows))
        .map(|(words, shows)| format!("  windrow {words:<59}  {shows}\n"))
        .collect();
    // Only in a checkout.
    let make = match spec == stage.system.spec_path {
        true => ", or `make demo-down`,",
        false => "",
    };
    ui.data(&format!(
        "  export WINDROW_URL='{}'\n{lines}  {}\n\n\
         `windrow` is {}. `windrow demo --down`{make} stops the server and removes it.",
        stage.url,
        stage.list_routines(),
        program()
    ));
}

/// Where this program is, as short as it can be said.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_else(|_| "windrow".into());
    let here = std::env::current_dir().unwrap_or_default();
    match path.strip_prefix(&here) {
        Ok(below) => format!("./{}", below.display()),
        Err(_) => path.display().to_string(),
    }
}

/// The spec of the checkout, or a copy of it next to the server.
fn spec(system: &System, dir: &Path) -> anyhow::Result<String> {
    if Path::new(system.spec_path).exists() {
        return Ok(system.spec_path.to_owned());
    }
    let path = dir.join(format!("{}.toml", system.name));
    fs::write(&path, system.spec).map_err(|error| {
        Failure::new(format!("cannot write `{}`", path.display())).caused_by(error)
    })?;
    Ok(path.display().to_string())
}

impl Teller<'_> {
    /// Shows a command as the user would type it, and does it.
    fn step(&self, words: &[&str]) -> anyhow::Result<()> {
        self.ui.command(&format!("windrow {}", words.join(" ")));
        self.run(words, self.ui)
    }

    fn run(&self, words: &[&str], ui: &Ui) -> anyhow::Result<()> {
        let needs_url = !matches!(words[0], "graph" | "generate");
        let url = needs_url.then_some(["--url", self.url]);
        let all = ["windrow"]
            .into_iter()
            .chain(words.iter().copied())
            .chain(url.into_iter().flatten());
        let cli = Cli::try_parse_from(all)?;
        let started = Instant::now();
        let found = (self.dispatch)(cli.command, ui)? == Exit::Found;
        let command = format!("windrow {}", words.join(" "));
        if found {
            ui.warning(&format!("`{command}` has findings"));
        }
        self.steps.borrow_mut().push(DemoStep {
            command,
            found,
            seconds: started.elapsed().as_secs_f64(),
        });
        Ok(())
    }
}
