//! `diff`: what is installed against what the spec generates.

use std::path::Path;

use super::answer::{Exit, show};
use super::overlap;
use super::session::Session;
use crate::answers::Differences;
use crate::bundle::Bundle;
use crate::catalog::Catalog;
use crate::cli::WithOutput;
use crate::drift::{self, Drift, Kind, State};
use crate::failure::{self, Failure};
use crate::fit::{self, Severity};
use crate::render;
use crate::report;
use crate::ui::{Ui, counted};

/// Compares, and shows what differs.
pub(super) fn diff(args: &WithOutput, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::connect(&args.on, ui)?;
    let dialect = session.server.dialect;
    let bundle = render::bundle(&session.graph, dialect)?;
    let differences = differences(&mut session, &bundle, &args.on.spec, ui)?;
    for change in &session.left_out {
        ui.note(&change.to_string());
    }
    let found = &differences.drift;
    show(ui, args.output, &differences, || report::drift(found));
    Ok(if found.is_empty() {
        let all = drift::counts(&bundle, dialect);
        let parts: Vec<String> = all
            .into_iter()
            .map(|(kind, count)| counted(count as i64, kind.title(), &format!("{}s", kind.title())))
            .collect();
        let seen = if differences.not_compared.is_empty() {
            ""
        } else {
            ", as far as this account can see"
        };
        ui.note(&format!("as generated{seen}: {}", parts.join(", ")));
        Exit::Clean
    } else {
        ui.note(&counted(
            found.len() as i64,
            "object differs",
            "objects differ",
        ));
        Exit::Found
    })
}

/// What differs from a bundle; an error where nothing is installed.
pub(super) fn differences(
    session: &mut Session,
    bundle: &Bundle,
    spec: &Path,
    ui: &Ui,
) -> anyhow::Result<Differences> {
    let control = render::control_name(&session.graph);
    let installed = session.calls.installed();
    if session
        .database
        .query(installed, &[Some(&control)])?
        .is_empty()
    {
        return Err(Failure::new(format!(
            "`{control}` is not installed in {}, or this account cannot see it",
            session.url
        ))
        .hint(format!("windrow install {}", spec.display()))
        .into());
    }
    let objects = session.calls.objects();
    let rows = session.database.query(objects, &[Some(&control)])?;
    let mut found = drift::compare(bundle, session.server.dialect, &rows);
    if session
        .database
        .query(&session.calls.left_out(), &[])
        .is_ok_and(|rows| !rows.is_empty())
    {
        found.retain(|it| it.kind != Kind::Event || it.state != State::Missing);
    }
    let (deviating, not_compared) = deviations(session, bundle, ui)?;
    found.extend(deviating);
    found.extend(outside(session, ui)?);
    if session.is_of_another_spec() {
        found.push(Drift {
            kind: Kind::Spec,
            name: session.graph.name.clone(),
            state: State::Other,
            detail: "another spec is installed, or another version of windrow installed it: the installed limits, windows \
                     and everything else apply; run windrow install"
                .to_owned(),
            diff: String::new(),
            statement: String::new(),
        });
    }
    Ok(Differences {
        spec: session.graph.name.clone(),
        control,
        clean: found.is_empty(),
        drift: found,
        not_compared,
    })
}

/// What is installed as a body, and is another's or may be changed by others; and what this account may not see of that.
fn deviations(
    session: &mut Session,
    bundle: &Bundle,
    ui: &Ui,
) -> anyhow::Result<(Vec<Drift>, Vec<String>)> {
    let mut found = Vec::new();
    let mut missed = Vec::new();
    let unseen = [
        (
            "this account cannot read the server's accounts: their rights are not compared",
            "rights of accounts",
        ),
        (
            "this account cannot see the jobs of pg_cron: they are not compared",
            "jobs of pg_cron",
        ),
    ];
    let queries = bundle.deviations.iter();
    let queries = queries.map(|query| (query, Kind::Right, unseen[0]));
    for (query, kind, unseen) in queries.chain([(&bundle.schedule, Kind::Event, unseen[1])]) {
        let rows = match session.database.query(query, &[]) {
            Ok(rows) => rows,
            // On MySQL and MariaDB, accounts and their rights are rows of tables.
            Err(error) if failure::is_denied(&error) => {
                missed.push(unseen);
                continue;
            }
            // An earlier version noted nothing of this; that the table is missing is reported as well. Or there is no pg_cron.
            Err(error)
                if matches!(
                    failure::sqlstate(&error),
                    Some("42S02" | "42S22" | "42P01" | "42703" | "3F000")
                ) =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        // What has no name is there and cannot be seen: pg_cron shows each login its own jobs.
        let (named, hidden): (Vec<_>, Vec<_>) = rows
            .into_iter()
            .partition(|row| kind != Kind::Event || row.first().is_some_and(Option::is_some));
        missed.extend(hidden.first().map(|_| unseen));
        found.extend(named.into_iter().map(|row| {
            let cell = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
            Drift {
                kind,
                name: cell(0),
                state: State::Other,
                detail: format!("{}; {}", cell(1), cell(2)),
                diff: String::new(),
                statement: String::new(),
            }
        }));
    }
    let mut not_compared: Vec<String> = Vec::new();
    for (note, what) in missed {
        if !not_compared.iter().any(|known| known == what) {
            ui.note(note);
            not_compared.push(what.to_owned());
        }
    }
    Ok((found, not_compared))
}

/// The indexes that were made for an earlier state of the spec, or by an earlier version, and that nobody needs.
fn replaced(session: &mut Session, catalog: &Catalog, ui: &Ui) -> anyhow::Result<Vec<Drift>> {
    let graph = session.graph.named_for(session.server.dialect);
    let replaced = fit::replaced(&graph, catalog);
    if replaced.is_empty() {
        return Ok(Vec::new());
    }
    let needed = overlap::needed_indexes(session, ui)?;
    let replaced = replaced.into_iter();
    let left = replaced.filter(|name| needed.by(name).is_none());
    Ok(left
        .map(|name| Drift {
            kind: Kind::Index,
            name,
            state: State::Extra,
            detail: "left by an earlier spec or version; windrow install drops it".to_owned(),
            diff: String::new(),
            statement: String::new(),
        })
        .collect())
}

/// Drift among the application's tables: indexes that are gone, and what no longer fits the spec.
fn outside(session: &mut Session, ui: &Ui) -> anyhow::Result<Vec<Drift>> {
    let dialect = session.server.dialect;
    let graph = &session.graph.named_for(dialect);
    let mut catalog = session.database.catalog(render::home(graph, dialect))?;
    catalog.spell_like(graph);
    let mut found: Vec<Drift> = render::index_statements(&session.graph, dialect)
        .into_iter()
        .filter(|index| fit::lacks(graph, &catalog, &index.need))
        .map(|index| Drift {
            kind: Kind::Index,
            name: index.name,
            state: State::Missing,
            detail: format!(
                "no usable index on {}; run windrow install",
                graph.table(index.need.table).name
            ),
            diff: String::new(),
            statement: String::new(),
        })
        .collect();
    found.extend(replaced(session, &catalog, ui)?);
    found.extend(
        fit::compare(graph, &catalog)
            .into_iter()
            .chain(session.wrong.iter().cloned())
            .filter(|finding| {
                finding.severity == Severity::Error || finding.code == "unlisted-column"
            })
            .map(|finding| Drift {
                kind: Kind::Application,
                state: match finding.code {
                    "unlisted-reference" | "unlisted-column" | "kept-reference" => State::Extra,
                    _ => State::Other,
                },
                detail: format!("{}: {}; {}", finding.code, finding.message, finding.help),
                name: finding.object,
                diff: String::new(),
                statement: String::new(),
            }),
    );
    Ok(found)
}
