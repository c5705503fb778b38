//! `policy`, `hold`, `settings`, `window`, `arm`, `pause`, `resume`: what people decide, kept in the control schema.

use serde_json::{Value, json};

use super::{Exit, Session, options, show};
use crate::calls::List;
use crate::cli::{Hold, OnDatabase, Pause, Policy, Resume, Settings, Window, WithOutput};
use crate::report;
use crate::ui::{Ui, retention};

/// Policies: how long each scope is kept.
pub(super) fn policy(command: &Policy, ui: &Ui) -> anyhow::Result<Exit> {
    match command {
        Policy::List(args) => {
            let columns = [
                ("rule", "rule"),
                ("scope", "scope"),
                ("enabled", "enabled"),
                ("retention", "retention"),
                ("artifacts", "artifacts"),
                ("changed", "changed_at"),
                ("by", "changed_by"),
                ("note", "note"),
            ];
            list(args, List::Policy, &columns, ui)
        }
        Policy::Set(args) => {
            let document = options([
                ("rule", args.rule.clone().map(Value::from)),
                ("scope", Some(args.scope.clone().into())),
                ("retention", args.retention.clone().map(Value::from)),
                ("enabled", Some((!args.disable).into())),
                ("artifacts", args.artifacts.map(Value::from)),
                ("note", args.note.clone().map(Value::from)),
            ]);
            set(
                &args.on,
                "set_policy",
                document.into(),
                &format!("policy of scope `{}` is set", args.scope),
                ui,
            )
        }
        Policy::Drop(args) => {
            let document = options([
                ("rule", args.rule.clone().map(Value::from)),
                ("scope", Some(args.scope.clone().into())),
            ]);
            set(
                &args.on,
                "drop_policy",
                document.into(),
                &format!("policy of scope `{}` is dropped", args.scope),
                ui,
            )
        }
    }
}

/// Holds: families that must stay.
pub(super) fn hold(command: &Hold, ui: &Ui) -> anyhow::Result<Exit> {
    match command {
        Hold::List(args) => {
            let columns = [
                ("rule", "rule"),
                ("key", "key"),
                ("until", "until"),
                ("placed", "placed_at"),
                ("by", "placed_by"),
                ("reason", "reason"),
            ];
            list(args, List::Hold, &columns, ui)
        }
        Hold::Set(args) => {
            let document = options([
                ("rule", args.rule.clone().map(Value::from)),
                ("key", Some(args.key.clone().into())),
                ("reason", Some(args.reason.clone().into())),
                ("until", args.until.clone().map(Value::from)),
            ]);
            set(
                &args.on,
                "set_hold",
                document.into(),
                &format!("family `{}` is on hold", args.key),
                ui,
            )
        }
        Hold::Release(args) => {
            let document = options([
                ("rule", args.rule.clone().map(Value::from)),
                ("key", Some(args.key.clone().into())),
            ]);
            set(
                &args.on,
                "release_hold",
                document.into(),
                &format!("family `{}` is released", args.key),
                ui,
            )
        }
    }
}

/// Settings: every limit, and what overrides it.
pub(super) fn settings(command: &Settings, ui: &Ui) -> anyhow::Result<Exit> {
    let document = |rule: &Option<String>, name: &str, value: Value| {
        Value::from(options([
            ("rule", rule.clone().map(Value::from)),
            ("name", Some(name.into())),
            ("value", Some(value)),
        ]))
    };
    match command {
        Settings::Set(args) => {
            let document = document(&args.rule, &args.name, args.value.clone().into());
            set(
                &args.on,
                "set_setting",
                document,
                &format!("`{}` is {}", args.name, args.value),
                ui,
            )
        }
        Settings::Reset(args) => {
            let document = document(&args.rule, &args.name, Value::Null);
            set(
                &args.on,
                "set_setting",
                document,
                &format!("`{}` is the spec's again", args.name),
                ui,
            )
        }
        Settings::List(args) if args.log => {
            let columns = [
                ("changed", "changed_at"),
                ("by", "changed_by"),
                ("rule", "rule"),
                ("name", "name"),
                ("before", "old_value"),
                ("after", "new_value"),
            ];
            list(&args.with, List::SettingLog, &columns, ui)
        }
        Settings::List(args) => {
            let mut session = Session::open(&args.with.on, ui)?;
            let document = session.documents(&session.calls.list(List::Setting), &[])?;
            show(ui, args.with.output, &document, report::settings);
            Ok(Exit::Clean)
        }
    }
}

/// Windows: when scheduled runs may work.
pub(super) fn window(command: &Window, ui: &Ui) -> anyhow::Result<Exit> {
    match command {
        Window::List(args) => {
            let columns = [
                ("window", "written"),
                ("zone", "zone"),
                ("changed", "changed_at"),
                ("by", "changed_by"),
            ];
            list(args, List::Window, &columns, ui)
        }
        Window::Set(args) => set(
            &args.on,
            "set_windows",
            json!({"windows": args.windows}),
            &format!("scheduled runs work: {}", args.windows.join(", ")),
            ui,
        ),
        Window::Reset(on) => set(
            on,
            "set_windows",
            json!({"windows": null}),
            "the windows are the spec's again",
            ui,
        ),
    }
}

/// Allows runs to delete.
pub(super) fn arm(args: &OnDatabase, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(args, ui)?;
    session.database.query(&session.calls.order("arm"), &[])?;
    ui.note(&format!(
        "armed: runs of `{}` delete from now on in {}",
        session.graph.name, session.url
    ));
    Ok(Exit::Clean)
}

/// Stops the run in progress after its batch, and lets none start; or makes runs pass a rule over.
pub(super) fn pause(args: &Pause, ui: &Ui) -> anyhow::Result<Exit> {
    if let Some(rule) = &args.rule {
        let document = options([
            ("rule", Some(rule.clone().into())),
            ("reason", args.reason.clone().map(Value::from)),
        ]);
        let done = format!("rule `{rule}` is paused: runs pass it over");
        return set(&args.on, "pause_rule", document.into(), &done, ui);
    }
    let mut session = Session::open(&args.on, ui)?;
    session.database.query(
        &session.calls.pause(),
        &[Some(args.reason.as_deref().unwrap_or("no reason given"))],
    )?;
    ui.note("paused: a run in progress stops after its batch");
    Ok(Exit::Clean)
}

/// Lets runs start again, or work on a rule again.
pub(super) fn resume(args: &Resume, ui: &Ui) -> anyhow::Result<Exit> {
    if let Some(rule) = &args.rule {
        let done = format!("rule `{rule}` is resumed");
        return set(&args.on, "resume_rule", json!({"rule": rule}), &done, ui);
    }
    let mut session = Session::open(&args.on, ui)?;
    session
        .database
        .query(&session.calls.order("resume"), &[])?;
    ui.note("resumed");
    Ok(Exit::Clean)
}

fn set(
    on: &OnDatabase,
    routine: &str,
    document: Value,
    done: &str,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let mut session = Session::open(on, ui)?;
    // What such a routine answers, if anything, is not for people.
    session
        .database
        .query(&session.calls.ask(routine), &[Some(&document.to_string())])?;
    ui.note(done);
    Ok(Exit::Clean)
}

fn list(args: &WithOutput, what: List, columns: &[(&str, &str)], ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.on, ui)?;
    let document = session.documents(&session.calls.list(what), &[])?;
    show(ui, args.output, &document, |document| {
        let mut rows = document.clone();
        for row in rows.as_array_mut().into_iter().flatten() {
            if let Some(seconds) = row["retention_seconds"].as_i64() {
                row["retention"] = retention(seconds).into();
            }
        }
        report::rows(&rows, columns)
    });
    Ok(Exit::Clean)
}
