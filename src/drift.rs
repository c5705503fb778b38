//! Drift: how the contents of a control schema differ from what a spec generates. Pure: the catalog's rows come in.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use similar::TextDiff;

use crate::bundle::{self, Bundle, Shown, Statement, Verb};
use crate::db::Row;
use crate::dialect::Dialect;
use crate::render;

/// One object that is not as generated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Drift {
    /// What kind of object it is.
    pub kind: Kind,
    /// Its name; of a column with that of its table.
    pub name: String,
    /// How it differs.
    pub state: State,
    /// What this means and what mends it.
    pub detail: String,
    /// The unified diff from the installed to the generated body, if it can be read; otherwise empty.
    pub diff: String,
    /// What drops it, where `windrow install` does that besides applying the generated files; else empty.
    pub statement: String,
}

/// The objects that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "DriftKind")]
pub enum Kind {
    /// A function or a procedure.
    Routine,
    /// An event of MySQL or MariaDB, or a job of pg_cron.
    Event,
    /// A trigger of MySQL or MariaDB on a table of the application; on PostgreSQL its function counts.
    Trigger,
    /// A view, by its name: a server rewrites its text.
    View,
    /// A table of the ledger, or an archive.
    Table,
    /// A column of such a table, where a table of an earlier version lacks it.
    Column,
    /// An index on a table of the application.
    Index,
    /// Who owns something, or may do something with it, or what its constraints say.
    Right,
    /// A table of the application that no longer fits the spec.
    Application,
    /// The spec of which all that was made.
    Spec,
}

impl Kind {
    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Routine => "routine",
            Kind::Event => "event",
            Kind::Trigger => "trigger",
            Kind::View => "view",
            Kind::Table => "table",
            Kind::Column => "column",
            Kind::Index => "index",
            Kind::Right => "right",
            Kind::Application => "application",
            Kind::Spec => "spec",
        }
    }
}

/// How an object differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "DriftState")]
pub enum State {
    /// It is not there.
    Missing,
    /// It exists, and the spec does not generate it.
    Extra,
    /// Its body is not the one whose hash its comment names.
    Edited,
    /// It was generated from another spec, or by another version of windrow.
    Other,
}

/// What is generated of one object.
#[derive(Default)]
struct Generated {
    /// What is compared; none where only the name is.
    shown: Option<Shown>,
    /// What comments on a routine, where that is no part of its own statement.
    comment: Option<String>,
}

impl Generated {
    /// Whether what is there is what is generated.
    fn is(&self, installed: &Installed, fingerprint: &str) -> bool {
        let shown = self.shown.as_ref();
        shown.map_or(installed.body.is_empty(), |it| it.hash == fingerprint)
    }

    fn text(&self) -> &str {
        self.shown.as_ref().map_or("", |shown| &shown.text)
    }
}

/// What is there of one object, as a row of [`crate::calls::Calls::objects`] shows it.
struct Installed<'a> {
    object: (Kind, String),
    body: &'a str,
    comment: &'a str,
    /// What drops it.
    drop: &'a str,
}

impl<'a> Installed<'a> {
    /// Reads a row; none where its kind is not compared.
    fn read(row: &'a Row) -> Option<Self> {
        let cell = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
        Some(Self {
            object: (kind(cell(0))?, cell(1).to_owned()),
            body: cell(2),
            comment: cell(3),
            drop: cell(4),
        })
    }

    /// Whether the comment names the hash of what is there.
    fn is_generated(&self, dialect: Dialect, fingerprint: &str) -> bool {
        match dialect {
            // What an earlier version made notes another hash, which is not computed any more.
            Dialect::Postgres => {
                self.comment.contains("[body ")
                    || self.comment.contains(&format!("[text {fingerprint}]"))
            }
            Dialect::Mysql | Dialect::Mariadb => {
                self.comment.contains(&format!("[body {fingerprint}]"))
            }
        }
    }

    /// What the spec does not generate.
    fn extra(self, is_generated: bool, is_duplicate: bool) -> Drift {
        let (kind, name) = self.object;
        // A trigger has no comment; only those of the owner role are asked for.
        let is_ours = is_generated || kind == Kind::Trigger;
        let (detail, statement) = if is_ours && !is_duplicate {
            (
                "left by an earlier spec or version; windrow install drops it",
                self.drop,
            )
        } else {
            (
                "not generated by this spec: created by hand, or left by an earlier spec or version",
                "",
            )
        };
        Drift {
            kind,
            name,
            state: State::Extra,
            detail: detail.to_owned(),
            diff: String::new(),
            statement: statement.to_owned(),
        }
    }

    /// What has another body than the one that is generated.
    fn changed(self, wanted: &Generated, is_generated: bool) -> Drift {
        let (kind, name) = self.object;
        let (state, detail) = if is_generated {
            (
                State::Other,
                "generated from another state of the spec, or by another version; windrow install updates it",
            )
        } else {
            (
                State::Edited,
                "edited by hand; windrow install puts it back",
            )
        };
        Drift {
            kind,
            state,
            detail: detail.to_owned(),
            diff: diff(&name, self.body, wanted.text()),
            statement: String::new(),
            name,
        }
    }
}

/// The tables that runs on MySQL and MariaDB make for the rows of partitions, and which `verify` looks after.
struct RowsOfPartitions {
    /// Those of rows that are out of their table until they are judged.
    taken: BTreeSet<String>,
    /// Whether there may be archived ones.
    archives: bool,
}

impl RowsOfPartitions {
    fn of(generated: &BTreeMap<(Kind, String), Generated>) -> Self {
        let routines = generated
            .keys()
            .filter(|(kind, _)| *kind == Kind::Routine)
            .filter_map(|(_, name)| name.strip_suffix("_swap_partition"));
        Self {
            taken: routines.map(|rule| format!("{rule}_taken")).collect(),
            archives: generated.contains_key(&(Kind::Table, "partition_archive".to_owned())),
        }
    }

    fn are_in(&self, (kind, name): &(Kind, String), dialect: Dialect) -> bool {
        let archived = name.strip_prefix("archived_").map_or("", |it| it);
        let is_archived =
            self.archives && archived.starts_with(|first: char| first.is_ascii_digit());
        *kind == Kind::Table
            && dialect != Dialect::Postgres
            && (is_archived || self.taken.contains(name))
    }
}

/// Compares a bundle with the rows that [`crate::calls::Calls::objects`] asks for.
pub fn compare(bundle: &Bundle, dialect: Dialect, rows: &[Row]) -> Vec<Drift> {
    let mut generated = generated(bundle, dialect);
    let rows_of_partitions = RowsOfPartitions::of(&generated);
    let mut found = Vec::new();
    let mut installed: Vec<Installed> = rows.iter().filter_map(Installed::read).collect();
    // On PostgreSQL several functions may have one name, and even one body: the one with the generated comment is found before
    // those of other parameters.
    installed.sort_by_key(|it| {
        let literal = format!("'{}'", it.comment.replace('\'', "''"));
        let wanted = generated.get(&it.object);
        let comment = wanted.and_then(|wanted| wanted.comment.as_ref());
        !comment.is_some_and(|comment| comment.contains(&literal))
    });
    let mut known = BTreeMap::new();
    let mut others = Vec::new();
    for it in installed {
        let fingerprint = render::body_fingerprint(dialect, it.body);
        match generated.get(&it.object) {
            Some(wanted) if wanted.is(&it, &fingerprint) => {
                generated.remove(&it.object);
                known.insert(it.object, (fingerprint, it.comment));
            }
            _ => others.push((it, fingerprint)),
        }
    }
    for (it, fingerprint) in others {
        let wanted = generated.remove(&it.object);
        // Which of two with the same body and comment is the generated one is unknown.
        let is_duplicate = known.get(&it.object) == Some(&(fingerprint.clone(), it.comment));
        let is_generated = it.is_generated(dialect, &fingerprint);
        found.extend(match wanted {
            // Of columns only those are generated that a table of an earlier version lacks.
            None if it.object.0 == Kind::Column => None,
            None if rows_of_partitions.are_in(&it.object, dialect) => None,
            None => Some(it.extra(is_generated, is_duplicate)),
            Some(wanted) => Some(it.changed(&wanted, is_generated)),
        });
    }
    let missing: BTreeSet<String> = generated
        .keys()
        .filter(|(kind, _)| *kind == Kind::Table)
        .map(|(_, name)| format!("{name}."))
        .collect();
    found.extend(
        generated
            .into_keys()
            .filter(|(kind, name)| {
                // A table that is missing says enough.
                *kind != Kind::Column || !missing.iter().any(|table| name.starts_with(table))
            })
            .map(|(kind, name)| Drift {
                kind,
                name,
                state: State::Missing,
                detail: "missing; run windrow install".to_owned(),
                diff: String::new(),
                statement: String::new(),
            }),
    );
    found.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    found
}

/// How many objects of each kind a bundle generates, columns left out.
pub fn counts(bundle: &Bundle, dialect: Dialect) -> BTreeMap<Kind, usize> {
    let mut counts = BTreeMap::new();
    for (kind, _) in generated(bundle, dialect).into_keys() {
        if kind != Kind::Column {
            *counts.entry(kind).or_default() += 1;
        }
    }
    counts
}

fn kind(text: &str) -> Option<Kind> {
    [
        Kind::Routine,
        Kind::Event,
        Kind::Trigger,
        Kind::View,
        Kind::Table,
        Kind::Column,
    ]
    .into_iter()
    .find(|kind| kind.title() == text)
}

/// The objects that the numbered files make, but for the undo.
fn generated(bundle: &Bundle, dialect: Dialect) -> BTreeMap<(Kind, String), Generated> {
    let control = &bundle.control;
    let mut objects = BTreeMap::new();
    let statements = bundle
        .files
        .iter()
        .filter(|file| !file.path.contains("/90_"))
        .flat_map(|file| &file.statements);
    for statement in statements.clone() {
        let Some((kind, ident)) = object(statement, control, dialect) else {
            continue;
        };
        let name = dialect.bare(ident);
        let made = Generated {
            shown: statement.shown.clone(),
            ..Generated::default()
        };
        objects.insert((kind, name), made);
    }
    for statement in statements {
        let what = &statement.what;
        let commented = what
            .object()
            .filter(|it| what.verb() == Verb::CommentOn && it.kind.is_routine());
        let routine = commented.map(|it| (Kind::Routine, dialect.bare(it.bare())));
        if let Some(made) = routine.and_then(|routine| objects.get_mut(&routine)) {
            made.comment = Some(statement.sql.clone());
        }
    }
    objects
}

/// The object that a statement creates: its kind, and its name without a schema, which may be quoted.
fn object<'a>(
    statement: &'a Statement,
    control: &str,
    dialect: Dialect,
) -> Option<(Kind, &'a str)> {
    let made = statement.what.made()?;
    let kind = match made.kind {
        bundle::Kind::Trigger if dialect != Dialect::Postgres => {
            return Some((Kind::Trigger, made.bare()));
        }
        bundle::Kind::Function | bundle::Kind::Procedure => Kind::Routine,
        bundle::Kind::Event => Kind::Event,
        bundle::Kind::View => Kind::View,
        bundle::Kind::Table => Kind::Table,
        bundle::Kind::Column => return Some((Kind::Column, &made.name)),
        bundle::Kind::Trigger | bundle::Kind::Index => return None,
    };
    let name = made.name.strip_prefix(control)?.strip_prefix('.')?;
    Some((kind, name))
}

/// From the installed to the generated text, with three lines of context.
fn diff(name: &str, installed: &str, generated: &str) -> String {
    let lines = |text: &str| format!("{}\n", text.trim_matches('\n'));
    TextDiff::from_lines(lines(installed), lines(generated))
        .unified_diff()
        .header(&format!("installed/{name}"), &format!("generated/{name}"))
        .to_string()
}
