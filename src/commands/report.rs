//! `report`: the page for a change ticket, from what the other commands say.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use jiff::Timestamp;

use super::answer::{Exit, tell};
use super::check;
use super::diff;
use super::plan;
use super::session::{Session, of_another_spec};
use super::specs::{Found, read_spec, refused};
use crate::answers::{self, MissingPart, Preview, Reported};
use crate::calls::List;
use crate::cli::{Check, OnDatabase, Plan, Report};
use crate::dialect::Dialect;
use crate::failure::{self, Failure};
use crate::fit::Severity;
use crate::graph::Graph;
use crate::interrupt;
use crate::page::{self, Decisions, Generated, Missing, Page, Part, Reading};
use crate::render;
use crate::report::summary;
use crate::ui::{Ui, counted};

/// The part of the page that decides the exit code.
const CHECK: &str = "check";

/// Reads what there is, writes the page, and says what was found.
pub(super) fn report(args: &Report, ui: &Ui) -> anyhow::Result<Exit> {
    let (graph, in_spec) = read_spec(&args.spec)?;
    let Some(mut graph) = graph else {
        return Err(refused(&in_spec, &args.spec, ui));
    };
    let mut dialects = graph.dialects.clone();
    let mut reading = None;
    // An empty WINDROW_URL is none.
    let given = args.at.database.as_ref().filter(|url| !url.is_empty());
    if let Some(url) = given {
        let on = OnDatabase {
            spec: args.spec.clone(),
            url: Some(url.clone()),
            password_file: args.at.password_file.clone(),
        };
        let mut session = Session::connect(&on, ui)?;
        interrupt::cancels(session.database.cancel())?;
        let read = read(&mut session, on, ui)
            .map_err(|error| interrupt::explain(error, "windrow report"))?;
        dialects = vec![session.server.dialect];
        graph = session.graph.named_for(session.server.dialect);
        reading = Some(read);
    }
    let servers: Vec<Generated> = dialects
        .into_iter()
        .map(|dialect| generated(&graph, dialect))
        .collect::<anyhow::Result<_>>()?;
    let file = args.spec.file_name().unwrap_or(args.spec.as_os_str());
    let text = page::html(&Page {
        graph: &graph,
        file: &file.to_string_lossy(),
        hash: &render::sha256(&in_spec.source),
        warnings: &in_spec.located(),
        servers: &servers,
        reading: reading.as_ref(),
    });
    write(&args.out, &text)?;
    let reported = reported(args, &graph, &in_spec, reading, text.len());
    let mut told = format!("wrote {}", reported.out);
    if reported.database {
        told += &format!(": {}", summary(&reported.findings));
    }
    if !reported.diagnostics.is_empty() {
        let count = reported.diagnostics.len() as i64;
        told += &format!(
            ", {}",
            counted(count, "warning about the spec", "warnings about the spec")
        );
    }
    for part in &reported.missing {
        told += &format!("\nnot on the page: {}: {}", part.part, part.reason);
    }
    tell(ui, args.output, &reported, &told);
    let mut findings = reported.findings.iter();
    let is_bad = findings.any(|finding| finding.severity > Severity::Notice);
    // The page is there, but nobody has checked.
    if reported.missing.iter().any(|it| it.part == CHECK) {
        return Ok(Exit::Failed);
    }
    Ok(Exit::found(is_bad || !reported.diagnostics.is_empty()))
}

/// What is generated for a server.
fn generated(graph: &Graph, dialect: Dialect) -> anyhow::Result<Generated> {
    Ok(Generated {
        dialect,
        control: render::control_name(graph),
        home: render::home(graph, dialect).to_owned(),
        changes: render::changes(graph, dialect)?,
        indexes: render::index_statements(graph, dialect),
    })
}

/// Asks a database everything that the page says of it. What cannot be read is reported; only an interrupt ends it.
fn read(session: &mut Session, on: OnDatabase, ui: &Ui) -> anyhow::Result<Reading> {
    let server = session.server;
    let (major, minor, patch) = server.release();
    let version = match server.dialect {
        Dialect::Postgres => major.to_string(),
        Dialect::Mysql | Dialect::Mariadb => format!("{major}.{minor}.{patch}"),
    };
    let at = Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
    let spec = on.spec.clone();
    let control = render::control_name(&session.graph);
    let installed = session.calls.installed();
    let is_installed = part(session.database.query(installed, &[Some(&control)]))?;
    let is_installed = is_installed.map(|rows| !rows.is_empty());
    let known = is_installed.as_ref().ok().copied();
    let other = session.is_of_another_spec();
    if other {
        ui.warning(&of_another_spec(&spec));
    }
    let absent = match is_installed {
        Ok(true) => None,
        Ok(false) => Some(Missing {
            reason: format!("`{control}` is not installed here, or this account cannot see it"),
            hint: "`windrow install` deletes nothing; run `windrow report` again after it"
                .to_owned(),
        }),
        Err(missing) => Some(missing),
    };
    let (decisions, preview) = match absent {
        Some(absent) => (Err(absent.clone()), Err(absent)),
        None => {
            ui.note("computing the preview");
            (part(decisions(session))?, part(preview(session))?)
        }
    };
    let plan = part(plan::document(session, &Plan::by_default(on), ui))?;
    let bundle = render::bundle(&session.graph, server.dialect)?;
    let differences = part(diff::differences(session, &bundle, &spec, ui))?;
    // The last one: it sets how this session plans.
    let findings = part(check::of_session(session, Check::THRESHOLD))?;
    Ok(Reading {
        at,
        server: format!("{} {version}", server.dialect.facts().title),
        address: session.url.to_string(),
        installed: known,
        other,
        left_out: session.left_out.iter().map(ToString::to_string).collect(),
        findings,
        decisions,
        plan,
        preview,
        differences,
    })
}

fn decisions(session: &mut Session) -> anyhow::Result<Decisions> {
    let policies = session.documents(&session.calls.list(List::Policy), &[])?;
    let holds = session.documents(&session.calls.list(List::Hold), &[])?;
    Ok(Decisions {
        policies: answers::read("policy list", &policies.into())?,
        holds: answers::read("hold list", &holds.into())?,
    })
}

fn preview(session: &mut Session) -> anyhow::Result<Preview> {
    let document = session.ask("preview", &serde_json::json!({}))?;
    Ok(answers::read("preview", &document)?)
}

/// An answer, or why there is none. An interrupt is an error.
fn part<T>(answer: anyhow::Result<T>) -> anyhow::Result<Part<T>> {
    match answer {
        Ok(answer) => Ok(Ok(answer)),
        Err(error) if interrupt::hit() => Err(error),
        Err(error) => Ok(Err(Missing {
            reason: format!("{error:#}"),
            hint: failure::hints(&error).join("; "),
        })),
    }
}

/// Puts a file in its place as a whole, or not at all.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let failed = |error: std::io::Error| {
        Failure::new(format!("cannot write `{}`", path.display())).caused_by(error)
    };
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let mut file = tempfile::Builder::new()
        .prefix(".windrow-report")
        // As any other file: the umask takes away what it takes.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// What was written, and what was found.
fn reported(
    args: &Report,
    graph: &Graph,
    in_spec: &Found,
    reading: Option<Reading>,
    bytes: usize,
) -> Reported {
    let mut missing = Vec::new();
    let mut note = |part, it: Option<&Missing>| {
        missing.extend(it.map(|it| MissingPart {
            part,
            reason: it.reason.clone(),
        }));
    };
    if let Some(reading) = &reading {
        note(CHECK, reading.findings.as_ref().err());
        note("policy list", reading.decisions.as_ref().err());
        note("plan", reading.plan.as_ref().err());
        note("preview", reading.preview.as_ref().err());
        note("diff", reading.differences.as_ref().err());
    }
    let differences = reading.as_ref().and_then(|it| it.differences.as_ref().ok());
    Reported {
        spec: graph.name.clone(),
        out: args.out.display().to_string(),
        bytes,
        database: reading.is_some(),
        diagnostics: in_spec.located(),
        differences: differences.map(|it| it.drift.len()),
        findings: reading.and_then(|it| it.findings.ok()).unwrap_or_default(),
        missing,
    }
}
