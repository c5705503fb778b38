//! `policy`, `hold`, `settings`, `window`, `arm`, `pause`, `resume`: what people decide, kept in the control schema.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::answer::{Exit, show};
use super::options::options;
use super::overlap;
use super::session::{Session, calls};
use super::specs::load;
use crate::answers::{self, Held, Setting};
use crate::calls::{Calls, List};
use crate::cli::{Arm, Hold, OnDatabase, Pause, Policy, Resume, Settings, Window, WithOutput};
use crate::failure::Failure;
use crate::graph::Graph;
use crate::render;
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
                ("absent", "absent"),
                ("reason", "reason"),
            ];
            list(args, List::Hold, &columns, ui)
        }
        Hold::Set(args) => {
            let document = options([
                ("key", Some(args.key.clone().into())),
                ("reason", Some(args.reason.clone().into())),
                ("until", args.until.clone().map(Value::from)),
                ("even_if_absent", args.even_if_absent.then_some(true.into())),
            ]);
            let holds = Holds::open(&args.on, args.rule.as_deref(), &args.also, ui)?;
            for (rule, hold) in holds.each("set_hold", &document, ui)? {
                if hold.absent {
                    ui.warning(&format!(
                        "{rule} has no row with the key `{}` now: the hold keeps one that comes",
                        args.key
                    ));
                }
                ui.note(&format!("family `{}` is on hold for {rule}", hold.key));
            }
            Ok(Exit::Clean)
        }
        Hold::Release(args) => {
            let document = options([("key", Some(args.key.clone().into()))]);
            let holds = Holds::open(&args.on, args.rule.as_deref(), &args.also, ui)?;
            for (rule, hold) in holds.each("release_hold", &document, ui)? {
                ui.note(&format!("family `{}` is released for {rule}", hold.key));
            }
            Ok(Exit::Clean)
        }
    }
}

/// The rules for which a family is held or released: that of the spec, and those of other specs over the same root table.
struct Holds {
    session: Session,
    /// The rule that was named, if any; the database finds the only one.
    rule: Option<String>,
    others: Vec<(Calls, String, String)>,
}

impl Holds {
    fn open(
        on: &OnDatabase,
        rule: Option<&str>,
        also: &[PathBuf],
        ui: &Ui,
    ) -> anyhow::Result<Holds> {
        let mut session = Session::open(on, ui)?;
        let dialect = session.server.dialect;
        let graph = session.graph.named_for(dialect);
        let root = root_of(&graph, rule);
        let mut others = Vec::new();
        for path in also {
            let other = load(path, ui)?.named_for(dialect);
            let refuse = |why: String| {
                Failure::new(format!("cannot hold for `{}` as well", path.display()))
                    .caused_by(Failure::new(why))
            };
            let Some(root) = root else {
                return Err(refuse(format!("`{}` has several rules", graph.name))
                    .hint("name one with `--rule`")
                    .into());
            };
            let calls = calls(&other, dialect)?;
            let rules: Vec<&str> = other
                .rules
                .iter()
                .filter(|rule| other.table(rule.root).name == root)
                .map(|rule| rule.name.as_str())
                .collect();
            if rules.is_empty() || render::home(&other, dialect) != render::home(&graph, dialect) {
                return Err(
                    refuse(format!("none of its rules has the root table `{root}`"))
                        .hint("a hold names a row of a rule's root table")
                        .into(),
                );
            }
            for rule in rules {
                others.push((calls.clone(), rule.to_owned(), other.name.clone()));
            }
        }
        // Another installation goes on with what is held here only.
        if let Some(root) = root {
            for found in overlap::overlaps(&mut session)? {
                let bound = |(calls, ..): &(Calls, String, String)| {
                    found.owner == render::role_name(dialect, calls.name(), "owner")
                };
                if found.tables.iter().any(|table| table == root) && !others.iter().any(bound) {
                    ui.warning(&format!("{}; {}", found.text(), overlap::HINT));
                }
            }
        }
        Ok(Holds {
            session,
            rule: rule.map(str::to_owned),
            others,
        })
    }

    /// Calls a routine for each of them, for all or for none; answers what each is called, and what it answered.
    fn each(
        mut self,
        routine: &str,
        options: &Map<String, Value>,
        ui: &Ui,
    ) -> anyhow::Result<Vec<(String, Held)>> {
        let calls = self.session.calls.clone();
        let first = (calls, self.rule.take(), self.session.graph.name.clone());
        let others = self.others.drain(..);
        let all: Vec<(Calls, Option<String>, String)> = std::iter::once(first)
            .chain(others.map(|(calls, rule, spec)| (calls, Some(rule), spec)))
            .collect();
        let together = all.len() > 1;
        if together {
            self.session.database.execute("BEGIN")?;
        }
        let mut answers = Vec::new();
        for (calls, rule, spec) in all {
            let mut options = options.clone();
            if let Some(rule) = rule {
                options.insert("rule".to_owned(), rule.into());
            }
            let sql = calls.ask(routine);
            let answer = self
                .session
                .document(&sql, &[Some(&Value::from(options).to_string())])
                .and_then(|document| Ok(answers::read::<Held>(routine, &document)?));
            match answer {
                Ok(held) => {
                    answers.push((format!("rule `{}` of `{spec}`", held.rule), held));
                }
                Err(error) => {
                    if together {
                        self.session.database.execute("ROLLBACK")?;
                        ui.warning(&format!("nothing is changed: `{spec}` refused"));
                    }
                    return Err(
                        if format!("{error:#}").contains("has no row with the key") {
                            Failure::new("nothing is held")
                            .caused_by(error)
                            .hint("look at the key and at `--rule`; `--even-if-absent` stores the hold all the same")
                            .into()
                        } else {
                            error
                        },
                    );
                }
            }
        }
        if together {
            self.session.database.execute("COMMIT")?;
        }
        Ok(answers)
    }
}

/// The root table of the rule that is named, or of the only one.
fn root_of<'a>(graph: &'a Graph, rule: Option<&str>) -> Option<&'a str> {
    let rule = match (rule, &graph.rules[..]) {
        (None, [rule]) => Some(rule),
        (None, _) => None,
        (Some(name), rules) => rules.iter().find(|rule| rule.name == name),
    };
    rule.map(|rule| graph.table(rule.root).name.as_str())
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
            let document = Value::from(document);
            let settings: Vec<Setting> = answers::read("settings", &document)?;
            let text = || report::settings(&settings);
            show(ui, args.with.output, &document, text);
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
pub(super) fn arm(args: &Arm, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.on, ui)?;
    let until_restart = args.until.is_some();
    session
        .database
        .query(&session.calls.arm(until_restart), &[])?;
    ui.note(&format!(
        "armed: runs of `{}` delete from now on in {}{}",
        session.graph.name,
        session.url,
        if until_restart {
            ", until the server restarts"
        } else {
            ""
        }
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
    let mut rows = document.clone();
    for row in rows.iter_mut().filter(|_| what == List::Policy) {
        row["retention"] = match row["retention_seconds"].as_i64() {
            Some(seconds) => retention(seconds).into(),
            None => Value::Null,
        };
    }
    let text = report::rows(what.title(), &rows, columns)?;
    show(ui, args.output, &document.into(), || text);
    Ok(Exit::Clean)
}
