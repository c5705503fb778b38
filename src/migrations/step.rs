//! The steps of a version: what becomes one migration of a runner each.

use std::collections::BTreeSet;

use super::session::{Place, kept};
use super::text::{Line, Text};
use crate::bundle::Kind;
use crate::dialect::Dialect;

/// One migration.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// What it is for.
    pub(super) what: String,
    /// Whether it must be outside of a transaction; then it has one statement up and one down.
    pub(super) alone: bool,
    /// The statements.
    pub(super) up: Vec<String>,
    /// Those that take it back.
    pub(super) down: Vec<String>,
}

/// The steps that lead from a version, or from none, to the next one. `needed` are indexes that others need, too: they are kept.
pub(super) fn steps(
    place: &Place,
    old: Option<&Text>,
    new: &Text,
    needed: &BTreeSet<String>,
) -> Vec<Step> {
    let nothing = Text {
        install: Vec::new(),
        undo: Vec::new(),
    };
    let before = old.unwrap_or(&nothing);
    let mut steps: Vec<Step> = Vec::new();
    let changed = |from: &Text, to: &Text| -> Vec<(String, String)> {
        let theirs = apart(place, to);
        let indexes = apart(place, from).into_iter();
        let changed = indexes.filter(|index| !theirs.contains(index));
        changed
            .map(|(name, sql)| (name.to_owned(), sql.to_owned()))
            .collect()
    };
    // An index comes before what reads it, and is dropped after it. One with other columns or conditions under the same name has to
    // be dropped first.
    let (made, lost) = (changed(new, before), changed(before, new));
    let (replaced, gone): (Vec<_>, Vec<_>) = lost
        .into_iter()
        .partition(|(name, _)| made.iter().any(|(other, _)| other == name));
    steps.extend(replaced.iter().map(|index| dropped(index, before, needed)));
    steps.extend(made.iter().map(|index| made_of(index, new, needed)));
    steps.push(Step {
        what: match old {
            None => "the installation, but for its indexes".to_owned(),
            Some(_) => "the installation as it is now, without what is gone".to_owned(),
        },
        alone: false,
        up: sql(kept(place, change(place, before, new, needed))),
        down: sql(kept(
            place,
            match old {
                None => undo(place, new, needed),
                Some(old) => change(place, new, old, needed),
            },
        )),
    });
    steps.extend(gone.iter().map(|index| dropped(index, before, needed)));
    steps
}

/// The indexes that are made outside of a transaction, in migrations of their own.
fn apart<'a>(place: &Place, text: &'a Text) -> Vec<(&'a str, &'a str)> {
    match place.dialect {
        Dialect::Postgres => text.indexes(),
        Dialect::Mysql | Dialect::Mariadb => Vec::new(),
    }
}

fn sql(lines: Vec<Line>) -> Vec<String> {
    lines.into_iter().map(|line| line.sql).collect()
}

fn made_of((name, create): &(String, String), text: &Text, needed: &BTreeSet<String>) -> Step {
    Step {
        what: format!("index {name}"),
        alone: true,
        up: vec![create.clone()],
        down: drop_of(name, text, needed),
    }
}

fn dropped((name, create): &(String, String), text: &Text, needed: &BTreeSet<String>) -> Step {
    Step {
        what: format!("without index {name}"),
        alone: true,
        up: drop_of(name, text, needed),
        down: vec![create.clone()],
    }
}

fn drop_of(name: &str, text: &Text, needed: &BTreeSet<String>) -> Vec<String> {
    if needed.contains(name) {
        return vec!["SELECT 'the index is kept: another installation needs it'".to_owned()];
    }
    sql(text.drops_of(name))
}

/// What takes all away; of its indexes, those that are deleted in a transaction or without one.
fn undo(place: &Place, text: &Text, needed: &BTreeSet<String>) -> Vec<Line> {
    let apart = apart(place, text);
    let stays = |line: &&Line| {
        let index = line.index();
        index.is_none_or(|name| {
            apart.iter().all(|(other, _)| *other != name) && !needed.contains(name)
        })
    };
    text.undo.iter().filter(stays).cloned().collect()
}

/// The statements that install one version over another.
fn change(place: &Place, from: &Text, to: &Text, needed: &BTreeSet<String>) -> Vec<Line> {
    let install = to.install.iter();
    match place.dialect {
        Dialect::Postgres => {
            let install = install.filter(|line| !line.alone).cloned();
            clear(place, from, to).into_iter().chain(install).collect()
        }
        Dialect::Mysql | Dialect::Mariadb => {
            let mut lines: Vec<Line> = install.cloned().collect();
            let kinds = [Kind::Trigger, Kind::Event, Kind::Procedure, Kind::View];
            // What each statement drops is recreated by it; only what has no statement any more is left to be dropped.
            let gone = from.gone(to, &kinds, false);
            lines.extend(gone.into_iter().map(|(kind, name)| {
                let sql = format!("DROP {} IF EXISTS {name}", kind.to_uppercase());
                Line::new(&format!("drop {kind} {name}"), sql)
            }));
            let stays = to.index_names();
            let gone = from.index_names();
            let gone = gone.difference(&stays);
            let gone: Vec<_> = gone.filter(|name| !needed.contains(**name)).collect();
            if !gone.is_empty() {
                // As before the indexes in the undo: the server reads the columns of their tables again.
                let mode = "SET SESSION sql_mode = 'ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION'";
                lines.push(Line::new("set sql_mode", mode));
            }
            lines.extend(gone.into_iter().flat_map(|name| from.drops_of(name)));
            lines
        }
    }
}

/// PostgreSQL replaces no routine or view by one of another shape: what is gone or has another one is dropped first, in the same
/// transaction.
fn clear(place: &Place, from: &Text, to: &Text) -> Option<Line> {
    let dialect = place.dialect;
    let list = |kinds: &[Kind]| {
        let gone = from.gone(to, kinds, true);
        let names: BTreeSet<String> = gone
            .into_iter()
            .map(|(_, name)| {
                let name = name
                    .rsplit_once('.')
                    .map_or(name.as_str(), |(_, name)| name);
                dialect.text(&dialect.bare(name))
            })
            .collect();
        names.into_iter().collect::<Vec<_>>()
    };
    let lists = [
        ("ROUTINE", list(&[Kind::Function, Kind::Procedure])),
        ("VIEW", list(&[Kind::View])),
    ];
    let control = dialect.text(&place.control);
    let owner = dialect.text(&place.owner);
    let queries: Vec<String> = lists
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(kind, names)| {
            let (catalog, home, name, object) = match *kind {
                "VIEW" => ("pg_class", "relnamespace", "relname", "regclass"),
                _ => ("pg_proc", "pronamespace", "proname", "regprocedure"),
            };
            format!(
                "        SELECT pg_catalog.format('DROP {kind} IF EXISTS %s CASCADE', o.oid::pg_catalog.{object})\n        \
                 FROM pg_catalog.{catalog} AS o\n        \
                 JOIN pg_catalog.pg_namespace AS n ON n.oid = o.{home}\n        \
                 WHERE n.nspname = {control}\n          AND o.{name} IN (\n              {}\n          )",
                names.join(",\n              ")
            )
        })
        .collect();
    (!queries.is_empty()).then(|| {
        Line::new(
            "drop what is gone, and what has another shape now",
            format!(
                "DO $windrow$\nDECLARE\n    v_drop pg_catalog.text;\nBEGIN\n    \
                 PERFORM pg_catalog.set_config('lock_timeout', '5s', false);\n    \
                 IF NOT pg_catalog.pg_has_role(current_user, {owner}, 'USAGE') THEN\n        \
                 EXECUTE pg_catalog.format('GRANT %I TO %I', {owner}, current_user);\n    \
                 END IF;\n    FOREACH v_drop IN ARRAY ARRAY(\n{}\n    ) LOOP\n        EXECUTE v_drop;\n    END LOOP;\nEND\n$windrow$",
                queries.join("\n        UNION ALL\n")
            ),
        )
    })
}
