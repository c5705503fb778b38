//! `verify`, `status` and `history`: the present and the past.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::answer::{Exit, show};
use super::overlap;
use super::session::Session;
use super::speed::{self, Rests, setting_of};
use crate::answers::{self, Check, PastRun, Verification};
use crate::cli::{History, Output, Status, WithOutput};
use crate::dialect::Dialect;
use crate::failure;
use crate::fit;
use crate::render;
use crate::report;
use crate::ui::{Ui, to_three_digits};

/// Asks the database to verify itself.
pub(super) fn verify(args: &WithOutput, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.on, ui)?;
    let mut document = session.ask("verify", &json!({}))?;
    if session.server.dialect == Dialect::Postgres {
        let check = session.document(&session.calls.schedule_check(), &[])?;
        let read: Check = answers::read("verify", &check)?;
        if read.severity == "violation" {
            document["clean"] = false.into();
        }
        if let Some(checks) = document["checks"].as_array_mut() {
            checks.push(check);
        }
    }
    if session.is_of_another_spec()
        && let Some(checks) = document["checks"].as_array_mut()
    {
        checks.push(json!({
            "check": "spec",
            "object": session.graph.name,
            "severity": "notice",
            "count": 1,
            "detail": "the given spec is not the installed one; windrow diff compares them",
        }));
    }
    if session.server.dialect == Dialect::Mysql
        && let Some(checks) = document["checks"].as_array_mut()
    {
        // Of some tables the owner role may see them.
        for found in triggers(&mut session)? {
            let detail = found["detail"].as_str().unwrap_or_default();
            let begins = detail.split(" fires ").next().unwrap_or_default();
            let is_told = checks.iter().any(|it| {
                let told = it["detail"].as_str().unwrap_or_default();
                it["check"] == "trigger"
                    && it["object"] == found["object"]
                    && told.split(" fires ").next() == Some(begins)
            });
            if !is_told {
                checks.push(found);
            }
        }
    }
    for found in overlap::overlaps(&mut session)? {
        if let Some(checks) = document["checks"].as_array_mut() {
            checks.push(json!({
                "check": "overlap",
                "object": found.owner,
                "severity": "notice",
                "count": found.tables.len(),
                "detail": format!("{}; {}", found.text(), overlap::HINT),
            }));
        }
    }
    let verification: Verification = answers::read("verify", &document)?;
    show(ui, args.output, &document, || report::verify(&verification));
    Ok(if verification.clean {
        Exit::Clean
    } else {
        Exit::Found
    })
}

/// What an account sees of the triggers of the application where the owner role sees none.
fn triggers(session: &mut Session) -> anyhow::Result<Vec<Value>> {
    let graph = session.graph.named_for(session.server.dialect);
    let home = render::home(&graph, session.server.dialect);
    let catalog = session.database.catalog(home)?;
    let found = fit::compare(&graph, &catalog).into_iter();
    // Not what the spec accepts and is not there: no row meets it.
    let found = found.filter(|it| {
        it.code == "unseen-triggers" || it.code == "trigger" && it.message.contains(" fires ")
    });
    let checks = found.map(|it| {
        json!({
            "check": "trigger",
            "object": it.object,
            "severity": "notice",
            "count": 1,
            "detail": it.message.replace('`', ""),
        })
    });
    Ok(checks.collect())
}

/// Shows the state of the installation.
pub(super) fn status(args: &Status, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.with.on, ui)?;
    loop {
        let (document, status) = current(&mut session)?;
        let Some(seconds) = args.watch else {
            show(ui, args.with.output, &document, || report::status(&status));
            return Ok(Exit::Clean);
        };
        match args.with.output {
            // A document a line: a program reads one after the other.
            Output::Json => ui.json_line(&document),
            Output::Text => {
                ui.fresh_screen();
                ui.data(&format!("{}\n", report::status(&status)));
            }
        }
        thread::sleep(Duration::from_secs(seconds));
    }
}

/// What the status is now.
fn current(session: &mut Session) -> anyhow::Result<(Value, answers::Status)> {
    let name = session.graph.name.clone();
    let sql = session.calls.status();
    let mut document = session.document(&sql, &[Some(&name)])?;
    document["control"]["not_armed"] = match session.not_armed() {
        // On PostgreSQL an installation of an earlier version knows the switch alone.
        Err(error) if failure::sqlstate(&error) == Some("42P01") => Value::Null,
        reason => {
            let reason = reason?;
            document["control"]["armed"] = reason.is_none().into();
            reason.into()
        }
    };
    let read_only = session.database.query(&session.calls.read_only(), &[])?;
    let read_only = read_only.into_iter().flatten().flatten().next();
    document["control"]["read_only"] = read_only.is_some_and(|it| it != "0").into();
    // What a replica or standby repeats starts no run there.
    let runs = document["control"]["armed"] == true && document["control"]["read_only"] != true;
    document["not_scheduled"] = match runs {
        true => not_scheduled(session).into(),
        false => Value::Null,
    };
    let settings = session.settings()?;
    for rule in document["rules"].as_array_mut().into_iter().flatten() {
        let name = rule["rule"].as_str().unwrap_or_default().to_owned();
        let rests = Rests::of(setting_of(&settings, &name));
        let known = speed::known(session, &name, rests)?;
        rule["rows_per_second"] = known.map(|(speed, _)| to_three_digits(speed)).into();
    }
    let newest = versions(session).into_iter().next();
    document["control"]["version"] = newest.and_then(|(_, version)| version).into();
    let status = answers::read("status", &document)?;
    Ok((document, status))
}

/// Why nothing starts a scheduled run, where something should. Nobody knows where an earlier version has installed last, or where this
/// account may not look.
fn not_scheduled(session: &mut Session) -> Option<String> {
    let check = session
        .document(&session.calls.schedule_check(), &[])
        .ok()?;
    let check: Check = answers::read("status", &check).ok()?;
    check.detail.filter(|_| check.severity == "violation")
}

/// Since when which windrow has installed, the newest first. Nobody knows where an earlier version has installed last.
fn versions(session: &mut Session) -> Vec<(String, Option<String>)> {
    let rows = session.database.query(&session.calls.versions(), &[]);
    rows.unwrap_or_default()
        .into_iter()
        .filter_map(|row| {
            let mut cells = row.into_iter();
            Some((cells.next()??, cells.next()?))
        })
        .collect()
}

/// Shows past runs, the newest first.
pub(super) fn history(args: &History, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.with.on, ui)?;
    let stamps = session.graph.has_stamps();
    let sql = session.calls.history(stamps);
    let mut document = session.documents(&sql, &[Some(&args.limit.to_string())])?;
    let versions = versions(&mut session);
    for run in &mut document {
        let started = run["started_at"].as_str().unwrap_or_default();
        let then = versions.iter().find(|(since, _)| since.as_str() <= started);
        run["version"] = then.and_then(|(_, version)| version.clone()).into();
    }
    let document = Value::from(document);
    let runs: Vec<PastRun> = answers::read("history", &document)?;
    show(ui, args.with.output, &document, || {
        report::history(&runs, Ui::knows_blocks())
    });
    Ok(Exit::Clean)
}
