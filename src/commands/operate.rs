//! `policy`, `hold`, `settings`, `window`, `arm`, `pause`, `resume`: what people decide, kept in the control schema.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::answer::{Exit, show, tell};
use super::fitting::fitting;
use super::options::options;
use super::overlap;
use super::session::{Session, calls};
use super::specs::load_with_text;
use crate::answers::{
    self, Armed, HeldFor, Hold as Held, Holds as Answer, Paused, Policy as Kept, Setting,
    SettingChange, SettingNow, Window as Opening, WindowsNow,
};
use crate::calls::{Calls, List};
use crate::cli::{
    Arm, Hold, OnDatabase, Output, Pause, Policy, Resume, SettingSet, Settings, Window, WithOutput,
};
use crate::dialect::Dialect;
use crate::facts::SETTINGS;
use crate::failure::{Failure, sqlstate};
use crate::graph::{Graph, Rule, Timed};
use crate::render;
use crate::report;
use crate::spec::duration;
use crate::ui::{Ui, retention};

/// Policies: how long each scope is kept.
pub(super) fn policy(command: &Policy, ui: &Ui) -> anyhow::Result<Exit> {
    match command {
        Policy::List(args) => list::<Kept>(args, List::Policy, report::policies, ui),
        Policy::Set(args) => {
            let document = options([
                ("rule", args.rule.clone().map(Value::from)),
                ("scope", Some(args.scope.clone().into())),
                ("retention", args.retention.clone().map(Value::from)),
                (
                    "enabled",
                    (args.disable || args.enable).then(|| args.enable.into()),
                ),
                ("artifacts", args.artifacts.map(Value::from)),
                ("note", args.note.clone().map(Value::from)),
            ]);
            let told = |answer: &Value| {
                let kept = told_of(answer);
                format!("policy of scope `{}` is set{kept}", args.scope)
            };
            set::<Kept>(&args.with, "set_policy", document.into(), told, ui)
        }
        Policy::Drop(args) => {
            let document = options([
                ("rule", args.rule.clone().map(Value::from)),
                ("scope", Some(args.scope.clone().into())),
            ]);
            set::<Kept>(
                &args.with,
                "drop_policy",
                document.into(),
                |_| format!("policy of scope `{}` is dropped", args.scope),
                ui,
            )
        }
    }
}

/// How long the scope of a policy is kept, where nobody named that.
fn told_of(policy: &Value) -> String {
    if policy["enabled"] == false {
        return "; it is disabled: everything of it is kept until `--enable`".to_owned();
    }
    if policy["follows_spec"] != true {
        return String::new();
    }
    policy["retention_seconds"].as_i64().map_or(
        "; it follows the spec, which has no default: everything of it is kept".to_owned(),
        |seconds| {
            let now = retention(seconds);
            format!("; it is kept as long as the spec says by default, which is {now} now")
        },
    )
}

/// Holds: families that must be kept.
pub(super) fn hold(command: &Hold, ui: &Ui) -> anyhow::Result<Exit> {
    match command {
        Hold::List(args) => list::<Held>(args, List::Hold, report::holds, ui),
        Hold::Set(args) => {
            let document = options([
                ("key", Some(args.key.clone().into())),
                ("reason", Some(args.reason.clone().into())),
                ("until", args.until.clone().map(Value::from)),
                ("even_if_absent", args.even_if_absent.then_some(true.into())),
            ]);
            let holds = Holds::open(&args.with.on, args.rule.as_deref(), &args.also, ui)?;
            let answer = holds.each("set_hold", &document, ui)?;
            if args.with.output == Output::Json {
                ui.json(&answer);
            }
            for HeldFor { spec, hold } in &answer.holds {
                let rule = format!("rule `{}` of `{spec}`", hold.rule);
                if hold.absent {
                    ui.warning(&format!(
                        "{rule} has no row with the key `{}` now: the hold applies if one is added",
                        args.key
                    ));
                }
                ui.note(&format!("family `{}` is on hold for {rule}", hold.key));
            }
            Ok(Exit::Clean)
        }
        Hold::Release(args) => {
            let document = options([("key", Some(args.key.clone().into()))]);
            let holds = Holds::open(&args.with.on, args.rule.as_deref(), &args.also, ui)?;
            let answer = holds.each("release_hold", &document, ui)?;
            if args.with.output == Output::Json {
                ui.json(&answer);
            }
            for HeldFor { spec, hold } in &answer.holds {
                let (key, rule) = (&hold.key, &hold.rule);
                ui.note(&format!(
                    "family `{key}` is released for rule `{rule}` of `{spec}`"
                ));
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
    others: Vec<Other>,
}

/// Another spec, and those of its rules that hold rows of one of the same tables.
struct Other {
    calls: Calls,
    rules: Vec<String>,
    spec: String,
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
            let (other, text) = load_with_text(path, ui)?;
            let other = fitting(other, &text, dialect, session.database.as_mut())?.graph;
            let other = other.named_for(dialect);
            let refuse = |why: String| {
                Failure::new(format!("cannot also hold for `{}`", path.display()))
                    .caused_by(Failure::new(why))
            };
            let Some(root) = &root else {
                return Err(refuse(format!("`{}` has several rules", graph.name))
                    .hint("choose one with `--rule`")
                    .into());
            };
            let calls = calls(&other, dialect)?;
            let of = |rule: &Rule, graph: &Graph| graph.table(rule.root).name == root.name;
            let shares = |rule: &&Rule| {
                let tables = held_tables(&other, rule);
                tables.iter().any(|table| root.tables.contains(table))
            };
            let mut rules: Vec<&Rule> = other.rules.iter().filter(shares).collect();
            // Those of the same root table first: what is no family of theirs may be held by others.
            rules.sort_by_key(|rule| !of(rule, &other));
            let rules: Vec<String> = rules.into_iter().map(|rule| rule.name.clone()).collect();
            if rules.is_empty() || render::home(&other, dialect) != render::home(&graph, dialect) {
                let tables = root.tables.join("`, `");
                return Err(
                    refuse(format!("none of its rules has the root table `{tables}`"))
                        .hint("a hold needs a row of a rule's root table")
                        .into(),
                );
            }
            others.push(Other {
                calls,
                rules,
                spec: other.name.clone(),
            });
        }
        // Another installation continues with what is held here only.
        if let Some(root) = &root {
            for found in overlap::overlaps(&mut session)? {
                let bound = |other: &Other| {
                    found.owner == render::role_name(dialect, other.calls.name(), "owner")
                };
                if found.tables.contains(&root.name) && !others.iter().any(bound) {
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

    /// Calls a routine for each of them, for all or for none.
    fn each(
        mut self,
        routine: &str,
        options: &Map<String, Value>,
        ui: &Ui,
    ) -> anyhow::Result<Answer> {
        let first = Other {
            calls: self.session.calls.clone(),
            rules: self.rule.take().into_iter().collect(),
            spec: self.session.graph.name.clone(),
        };
        let others = std::mem::take(&mut self.others);
        let together = !others.is_empty();
        if together {
            self.session.database.execute("BEGIN")?;
        }
        let mut holds = Vec::new();
        for of in std::iter::once(first).chain(others) {
            match self.of_one(routine, options, &of) {
                Ok(held) => holds.extend(held),
                Err(error) => {
                    if together {
                        self.session.database.execute("ROLLBACK")?;
                        ui.warning(&format!("nothing was changed: `{}` refused", of.spec));
                    }
                    return Err(match routine {
                        "set_hold" if is_of_no_row(&error) => Failure::new("no hold was placed")
                            .caused_by(error)
                            .hint("check the key and `--rule`; `--even-if-absent` places the hold anyway")
                            .into(),
                        "release_hold" if is_of_no_row(&error) => Failure::new("no hold was released")
                            .caused_by(error)
                            .hint("check the key and `--rule`: `windrow hold list` has all holds")
                            .into(),
                        _ => error,
                    });
                }
            }
        }
        if together {
            self.session.database.execute("COMMIT")?;
        }
        Ok(Answer { holds })
    }

    /// Calls it for the rules of one spec: for at least one of several, as a key names rows of some tables only.
    fn of_one(
        &mut self,
        routine: &str,
        options: &Map<String, Value>,
        of: &Other,
    ) -> anyhow::Result<Vec<HeldFor>> {
        let all: Vec<Option<&String>> = match &of.rules[..] {
            [] => vec![None],
            rules => rules.iter().map(Some).collect(),
        };
        let [first, _, ..] = all[..] else {
            return self.of_rules(routine, options, &of.calls, &of.spec, &all);
        };
        // What is there decides between several; where nothing is, the first waits for it.
        let mut there = options.clone();
        let waits = there.remove("even_if_absent").is_some();
        match self.of_rules(routine, &there, &of.calls, &of.spec, &all) {
            Err(error) if waits && is_of_no_row(&error) => {
                self.of_rules(routine, options, &of.calls, &of.spec, &[first])
            }
            answers => answers,
        }
    }

    fn of_rules(
        &mut self,
        routine: &str,
        options: &Map<String, Value>,
        calls: &Calls,
        spec: &str,
        rules: &[Option<&String>],
    ) -> anyhow::Result<Vec<HeldFor>> {
        let sql = calls.ask(routine);
        // An error ends a transaction of PostgreSQL but for what a savepoint keeps.
        let saves = rules.len() > 1 && self.session.server.dialect == Dialect::Postgres;
        let (mut answers, mut refused) = (Vec::new(), None);
        for rule in rules {
            let mut options = options.clone();
            if let Some(rule) = rule {
                options.insert("rule".to_owned(), rule.as_str().into());
            }
            if saves {
                self.session.database.execute("SAVEPOINT windrow_hold")?;
            }
            let answer = self
                .session
                .document(&sql, &[Some(&Value::from(options).to_string())])
                .and_then(|document| Ok(answers::read::<Held>(routine, &document)?));
            match answer {
                Ok(hold) => answers.push(HeldFor {
                    spec: spec.to_owned(),
                    hold,
                }),
                Err(error) if is_of_no_row(&error) => {
                    if saves {
                        self.session
                            .database
                            .execute("ROLLBACK TO SAVEPOINT windrow_hold")?;
                    }
                    refused.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        match refused {
            Some(error) if answers.is_empty() => Err(error),
            _ => Ok(answers),
        }
    }
}

/// Whether a rule has no such row, or no hold of it: all servers raise the same SQLSTATE for it, and for nothing else.
fn is_of_no_row(error: &anyhow::Error) -> bool {
    sqlstate(error) == Some("WD003")
}

/// The root table of a rule, and all tables whose rows it holds.
struct Rooted {
    name: String,
    tables: Vec<String>,
}

/// The tables whose rows a rule holds: its root table, and those of what belongs to none of its families.
fn held_tables(graph: &Graph, rule: &Rule) -> Vec<String> {
    let others = rule.timed().into_iter().flat_map(Timed::others);
    std::iter::once(rule.root)
        .chain(others.map(|stamp| stamp.root))
        .map(|table| graph.table(table).name.clone())
        .collect()
}

/// The tables of the rule that is named, or of the only one.
fn root_of(graph: &Graph, rule: Option<&str>) -> Option<Rooted> {
    let rule = match (rule, &graph.rules[..]) {
        (None, [rule]) => Some(rule),
        (None, _) => None,
        (Some(name), rules) => rules.iter().find(|rule| rule.name == name),
    };
    rule.map(|rule| Rooted {
        name: graph.table(rule.root).name.clone(),
        tables: held_tables(graph, rule),
    })
}

/// The value as the routine takes it: a duration, as `30d`, in the unit of the setting. What is none is for the routine to judge.
fn in_its_unit(args: &SettingSet) -> String {
    let known = SETTINGS.iter().find(|it| it.name == args.name);
    let unit = match known.map(|setting| setting.unit) {
        Some("milliseconds") => 1,
        Some("seconds") => 1_000,
        Some("days") => 86_400_000,
        _ => return args.value.clone(),
    };
    match duration::parse(&args.value) {
        Ok(time) if time % unit == 0 && args.value.parse::<i64>().is_err() => {
            (time / unit).to_string()
        }
        _ => args.value.clone(),
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
            let document = document(&args.rule, &args.name, in_its_unit(args).into());
            set::<SettingNow>(
                &args.with,
                "set_setting",
                document,
                |now| noticed(format!("`{}` is {}", args.name, args.value), now),
                ui,
            )
        }
        Settings::Reset(args) => {
            let document = document(&args.rule, &args.name, Value::Null);
            set::<SettingNow>(
                &args.with,
                "set_setting",
                document,
                |now| match now["value"].is_null() {
                    true => format!("`{}` is no longer set", args.name),
                    false => noticed(format!("`{}` has the spec's value again", args.name), now),
                },
                ui,
            )
        }
        Settings::List(args) if args.log => {
            list::<SettingChange>(&args.with, List::SettingLog, report::changes, ui)
        }
        Settings::List(args) => list::<Setting>(&args.with, List::Setting, report::settings, ui),
    }
}

/// The text, and below it what the answer has a notice of.
fn noticed(text: String, answer: &Value) -> String {
    match answer["notice"].as_str() {
        Some(notice) => format!("{text}\n{notice}"),
        None => text,
    }
}

/// Windows: when scheduled runs may work.
pub(super) fn window(command: &Window, ui: &Ui) -> anyhow::Result<Exit> {
    match command {
        Window::List(args) => list::<Opening>(args, List::Window, report::windows, ui),
        Window::Set(args) => set::<WindowsNow>(
            &args.with,
            "set_windows",
            json!({"windows": args.windows}),
            |_| format!("scheduled runs work: {}", args.windows.join(", ")),
            ui,
        ),
        Window::Reset(with) => set::<WindowsNow>(
            with,
            "set_windows",
            json!({"windows": null}),
            |_| "the spec's windows apply again".to_owned(),
            ui,
        ),
    }
}

/// Allows runs to delete.
pub(super) fn arm(args: &Arm, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.with.on, ui)?;
    let document = Value::from(options([
        ("until", args.until.clone().map(Value::from)),
        ("cluster", args.cluster.clone().map(Value::from)),
        ("this_server", args.this_server.then_some(Value::from(true))),
    ]));
    let before = armed_cluster(&mut session)?;
    let answer = session
        .database
        .query(&session.calls.arm(), &[Some(&document.to_string())])?;
    let armed = Armed {
        spec: session.graph.name.clone(),
        control: session.calls.name().to_owned(),
        armed: true,
        until: args.until.clone(),
        cluster: armed_cluster(&mut session)?,
        notice: answer.into_iter().flatten().next().flatten(),
    };
    let mut text = format!(
        "armed: from now on, runs of `{}` delete in {}{}",
        armed.spec,
        session.url,
        match (&armed.until, &armed.cluster, &before) {
            (Some(_), ..) => ", until the server restarts",
            (_, Some(_), _) => ", on whichever server of the cluster takes writes",
            (.., Some(_)) => ", on this server alone",
            _ => "",
        }
    );
    match &armed.cluster {
        Some(name) if args.cluster.is_none() => {
            text +=
                &format!("\ncluster {name} stays armed: `--this-server` arms this server alone");
        }
        None if before.is_some() && !args.this_server => {
            text += "\na cluster was armed before: `--cluster NAME` arms the one that this server belongs to";
        }
        _ => {}
    }
    if let Some(notice) = &armed.notice {
        text += &format!("\n{notice}");
    }
    tell(ui, args.with.output, &armed, &text);
    Ok(Exit::Clean)
}

/// The cluster that is armed.
fn armed_cluster(session: &mut Session) -> anyhow::Result<Option<String>> {
    let rows = session
        .database
        .query(&session.calls.armed_cluster(), &[])?;
    Ok(rows.into_iter().flatten().next().flatten())
}

/// Stops the run in progress after its batch, and lets none start; or makes runs pass a rule over.
pub(super) fn pause(args: &Pause, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.with.on, ui)?;
    let text = if let Some(rule) = &args.rule {
        let document = options([
            ("rule", Some(rule.clone().into())),
            ("reason", args.reason.clone().map(Value::from)),
        ]);
        session.ask("pause_rule", &document.into())?;
        format!("rule `{rule}` is paused: runs skip it")
    } else {
        session.database.query(
            &session.calls.pause(),
            &[Some(args.reason.as_deref().unwrap_or("no reason given"))],
        )?;
        "paused: a run in progress stops after its batch".to_owned()
    };
    let paused = Paused {
        spec: session.graph.name.clone(),
        control: session.calls.name().to_owned(),
        paused: true,
        rule: args.rule.clone(),
        reason: args.reason.clone(),
    };
    tell(ui, args.with.output, &paused, &text);
    Ok(Exit::Clean)
}

/// Lets runs start again, or work on a rule again.
pub(super) fn resume(args: &Resume, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.with.on, ui)?;
    let text = if let Some(rule) = &args.rule {
        session.ask("resume_rule", &json!({"rule": rule}))?;
        format!("rule `{rule}` is resumed")
    } else {
        session
            .database
            .query(&session.calls.order("resume"), &[])?;
        "resumed".to_owned()
    };
    let resumed = Paused {
        spec: session.graph.name.clone(),
        control: session.calls.name().to_owned(),
        paused: false,
        rule: args.rule.clone(),
        reason: None,
    };
    tell(ui, args.with.output, &resumed, &text);
    Ok(Exit::Clean)
}

/// Calls a routine that answers what is in force now; people see what was done.
fn set<T: DeserializeOwned>(
    with: &WithOutput,
    routine: &str,
    options: Value,
    done: impl FnOnce(&Value) -> String,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let mut session = Session::open(&with.on, ui)?;
    let document = session.ask(routine, &options)?;
    if with.output == Output::Json {
        answers::read::<T>(routine, &document)?;
    }
    let text = done(&document);
    tell(ui, with.output, &document, &text);
    Ok(Exit::Clean)
}

/// Shows the rows of a table of the control schema.
fn list<T: DeserializeOwned>(
    with: &WithOutput,
    what: List,
    text: impl FnOnce(&[T]) -> String,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let mut session = Session::open(&with.on, ui)?;
    let document = session.documents(&session.calls.list(what), &[])?;
    let document = Value::from(document);
    let rows: Vec<T> = answers::read(what.title(), &document)?;
    show(ui, with.output, &document, || text(&rows));
    Ok(Exit::Clean)
}
