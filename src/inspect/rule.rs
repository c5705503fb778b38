//! The rule of a draft: which rows have ended, since when, and what is below what.

use std::fmt::Write as _;

use super::edges::{Edge, Family, root_key};
use super::ends::{Ends, Numbers, State, sounds_final, sounds_live};
use super::words::{bare, capital, kind, line, slug, small, string};
use crate::catalog::Catalog;
use crate::column::Kind;
use crate::dialect::Dialect;
use crate::fit::{is_by, is_whole};
use crate::graph::Action;

/// Ten years, in days: nothing that a database of today has is older, in most.
const LONG: i64 = 3_650;

/// Writes the rule. `end` is the column of the end, or what replaces it; `oldest` says how many days ago the first was.
pub(super) fn write(
    text: &mut String,
    catalog: &Catalog,
    family: &Family,
    ends: &Ends,
    end: &str,
    oldest: Option<i64>,
) {
    let root = &family.tables[0];
    // Nothing but its time is known of a row, and nothing else is deleted with it.
    let by_age = ends.end.is_none() && ends.state.is_none() && family.edges.is_empty();
    let by_age = by_age && family.hierarchy.is_empty();
    let strategy = if by_age { "age" } else { "end-time" };
    let _ = write!(
        text,
        "\n[rules.{}]\nstrategy  = \"{strategy}\"\nroot      = {}\n",
        bare(&slug(catalog, root)),
        string(root)
    );
    if by_age {
        let _ = writeln!(
            text,
            "# ? No column has a state or an end, and nothing belongs to a row: it is deleted by its age. Is the age counted from {end}?",
            end = line(end)
        );
    } else if ends.expires {
        let _ = writeln!(
            text,
            "# ? No column name suggests when a row of {root} ended. {end}, by its name the time at which it expires, is used instead: is the \
             retention to be counted from it?",
            root = line(root),
            end = line(end)
        );
    } else if ends.end.is_none() {
        let _ = writeln!(
            text,
            "# ? No column name suggests when a row of {root} ended. {end} is used instead: is the retention to be counted from it?",
            root = line(root),
            end = line(end)
        );
    }
    if !by_age {
        for state in &ends.states {
            told(text, ends, state);
        }
        finals(text, catalog, root, ends, end);
        hierarchy(text, catalog, family);
    }
    if ends.end.is_none() || ends.expires {
        others(text, catalog, family, ends, end);
    }
    let days = oldest
        .filter(|days| *days > LONG - 30)
        .map_or(LONG, |days| days + 365);
    let since = oldest.map_or(String::new(), |days| {
        let ended = if by_age { "is from" } else { "ended" };
        format!(" The oldest row sampled {ended} {days} days ago.")
    });
    if by_age && is_by(&catalog.tables[root], end) {
        let _ = writeln!(
            text,
            "# ? {root} is partitioned by range of {end}. To drop whole partitions instead of deleting rows, write this:\n\
             # strategy  = \"partition\"",
            root = line(root),
            end = line(end)
        );
    }
    let time = if by_age { "time" } else { "end_time" };
    times(text, ends);
    let _ = writeln!(
        text,
        "{time:<9} = {}\n\
         # ? How long are they to be kept? With this, nothing is deleted.{since}\n\
         retention = {{ default = \"{days}d\", minimum = \"7d\", safety_lag = \"1d\" }}",
        string(&typed(catalog, root, ends, end))
    );
}

/// What the rows say of their times, if there is a choice.
fn times(text: &mut String, ends: &Ends) {
    let filled = ends.times.iter().filter(|time| time.filled > 0);
    let filled: Vec<_> = filled.collect();
    for time in filled.iter().filter(|_| filled.len() > 1) {
        let _ = writeln!(
            text,
            "# {}: {} of {} rows have it, {} as their latest time{}.",
            line(&time.column),
            time.filled,
            time.rows,
            time.latest,
            match time.ahead {
                0 => String::new(),
                ahead => format!(", {ahead} in the future"),
            }
        );
    }
    let end = ends.end.as_deref().filter(|_| !ends.expires);
    if let Some(end) = end.filter(|end| ends.ahead(end) > 0) {
        let _ = writeln!(
            text,
            "# ? {end} is in the future in some rows: is it the time at which a row ended, or at which it is to end?",
            end = line(end)
        );
    }
}

/// A time as a spec writes it.
fn typed(catalog: &Catalog, table: &str, ends: &Ends, time: &str) -> String {
    let kind = match (
        ends.epoch(time),
        kind(catalog, &catalog.tables[table], time),
    ) {
        (Some(epoch), _) => format!(" {}", epoch.word()),
        (None, Some(Kind::Timestamptz)) => " timestamptz".to_owned(),
        (None, _) => String::new(),
    };
    format!("{}{kind}", small(time))
}

/// What else may say when a row has ended that has no end: its expiry, or rows of another table.
fn others(text: &mut String, catalog: &Catalog, family: &Family, ends: &Ends, end: &str) {
    let root = &family.tables[0];
    let live = &catalog.tables[root];
    // Rows that go one by one go with all that names them.
    let alone = family.hierarchy.is_empty()
        && family
            .edges
            .iter()
            .all(|edge| edge.action == Action::Delete);
    if let Some(expiry) = ends.expiry(catalog, live).filter(|_| alone) {
        let time = string(&typed(catalog, root, ends, expiry));
        let _ = writeln!(
            text,
            "# ? {expiry} has the name of an expiry time. If rows are to be deleted by it, write this instead (without \
             final, end_time, retention):\n\
             # strategy = \"expiry\"\n\
             # time     = {}",
            line(&time),
            expiry = line(expiry),
        );
    }
    if catalog.dialect != Dialect::Postgres {
        return;
    }
    let start = ends.start(catalog, live).unwrap_or(end);
    // Roots are found by a time, not by a number.
    if ends.epoch(start).is_some() {
        return;
    }
    let below = family.edges.iter().filter(|edge| edge.parent == *root);
    let below = below.filter(|edge| edge.action == Action::Delete && edge.columns.len() == 1);
    for edge in below.filter(|edge| edge.table != *root) {
        let theirs = &catalog.tables[&edge.table];
        let named = Ends::named(catalog, theirs, Numbers::new());
        if let Some(end) = named.time(catalog, theirs) {
            let time = typed(catalog, &edge.table, &named, end);
            let _ = writeln!(
                text,
                "# ? The last {table}.{end} may be the time when a row of {root} ended. If it is, write this instead:\n\
                 # end_time   = {}\n\
                 # start_time = {}",
                line(&string(&format!("max({}.{time})", small(&edge.table)))),
                line(&string(&typed(catalog, root, ends, start))),
                table = line(&edge.table),
                end = line(end),
                root = line(root),
            );
        }
    }
}

/// What the rows say of a state.
fn told(text: &mut String, ends: &Ends, state: &State) {
    let has = match &ends.end {
        Some(end) if ends.expires => format!("have {}", line(end)),
        _ => "have an end".to_owned(),
    };
    let of = match state.ended {
        Some(ended) => format!("{ended} of {} rows {has}", state.rows),
        None => format!("{} rows", state.rows),
    };
    let Some(column) = &ends.state else {
        let _ = writeln!(text, "# {}.", capital(&of));
        return;
    };
    let is_final = ends.is_final(state);
    let (mark, says) = match state.ended {
        _ if state.value.is_none() => ("? ", "kept, since no list of states can name it"),
        None if is_final => ("? ", "final, by its name"),
        None => ("? ", "not final, by its name"),
        Some(0) => ("", "not final"),
        Some(_) if state.value.as_deref().is_some_and(sounds_live) => (
            "? ",
            "not taken as final, since by its name it is still running",
        ),
        Some(_) if ends.tells() => match state.ended == Some(state.rows) {
            true => ("", "final"),
            false if is_final => ("? ", "final; rows without an end are kept"),
            false => ("? ", "not taken as final"),
        },
        Some(_) if !is_final => ("? ", "not final, by its name, since all rows have one"),
        Some(_) if state.value.as_deref().is_some_and(sounds_final) => {
            ("? ", "final, by its name, since all rows have one")
        }
        Some(_) => ("? ", "taken as final, although all rows have one"),
    };
    let value = line(state.value.as_deref().unwrap_or("NULL"));
    let column = line(column);
    if let Some((other, filled)) = state.other_end() {
        let _ = writeln!(
            text,
            "# ? {column} = {value}: {of}, and {filled} have {other}: {says}. If that is their end, they need a rule of their own: a copy of \
             this one under another name, with this state as `final` and {other} as `end_time`.",
            other = line(other)
        );
        return;
    }
    let _ = writeln!(text, "# {mark}{column} = {value}: {of}: {says}.");
}

/// Which rows are final: by their states, or because they have an end.
fn finals(text: &mut String, catalog: &Catalog, root: &str, ends: &Ends, end: &str) {
    let finals = ends.finals();
    if let Some(column) = ends.state.as_ref().filter(|_| finals.is_empty())
        && ends.is_no_sign()
    {
        // No row has this state, of whatever type the column is.
        let _ = writeln!(
            text,
            "# ? None of these states is taken as final, so no row is: list those that are instead, such as [\"done\", \"failed\"].\n\
             final     = {{ {} = {{ text = \"?\" }} }}",
            bare(column)
        );
        return;
    }
    let Some(column) = ends.state.as_ref().filter(|_| !finals.is_empty()) else {
        let _ = writeln!(
            text,
            "# ? Only this shows which rows have ended: does the application write {end} before it has finished a row?\n\
             final     = {{ {} = {{ null = false }} }}",
            bare(end),
            end = line(end)
        );
        return;
    };
    let is_number = kind(catalog, &catalog.tables[root], column).is_some_and(is_whole);
    let value = |value: &str| {
        if is_number {
            value.to_owned()
        } else {
            string(value)
        }
    };
    let values: Vec<String> = finals.into_iter().map(value).collect();
    let _ = writeln!(
        text,
        "final     = {{ {} = [{}] }}",
        bare(column),
        values.join(", ")
    );
}

/// What says which root is below which: a foreign key does, a table that names two of them may.
fn hierarchy(text: &mut String, catalog: &Catalog, family: &Family) {
    let root = &family.tables[0];
    let link = |table: &str, above: &str, below: &str| {
        string(&format!(
            "{}: {} -> {}",
            small(table),
            small(above),
            small(below)
        ))
    };
    if !family.hierarchy.is_empty() {
        let key = root_key(catalog, &catalog.tables[root]).map_or("", String::as_str);
        let links = family
            .hierarchy
            .iter()
            .map(|column| link(root, column, key));
        let _ = writeln!(
            text,
            "# ? By a foreign key, rows of {root} refer to others of it, taken as their parents. They are deleted together or not at all.\n\
             hierarchy = [{}]\n\
             shared    = \"closed\"",
            links.collect::<Vec<_>>().join(", "),
            root = line(root)
        );
    }
    for (table, [above, below]) in links(family) {
        let _ = writeln!(
            text,
            "# ? {table} refers to two rows of {root}. If one is the other's child:\n\
             # hierarchy = [{}]   # and `candidates` says which rows have no parent",
            line(&link(table, above, below)),
            table = line(table),
            root = line(root)
        );
    }
    for (column, table, above) in links_over(family) {
        let over = format!(
            "{}: {} -> {}.{}",
            small(root),
            small(column),
            small(table),
            small(above)
        );
        let _ = writeln!(
            text,
            "# ? By {column} a row of {root} refers to one of {table}, which belongs to a row of {root}. If that is its parent:\n\
             # hierarchy = [{}]",
            line(&string(&over)),
            column = line(column),
            table = line(table),
            root = line(root)
        );
    }
}

/// The rows that rows of the root name, and which belong to others of it: column, table, and its column for the root.
fn links_over(family: &Family) -> Vec<(&str, &str, &str)> {
    let root = &family.tables[0];
    let one = |edge: &&Edge| edge.columns.len() == 1;
    let let_go = family.edges_of(root).filter(one);
    let let_go = let_go.filter(|edge| edge.action == Action::SetNull && edge.parent != *root);
    let_go
        .flat_map(|edge| {
            let above = family.edges_of(&edge.parent).filter(one);
            let above = above.filter(|it| it.action == Action::Delete && it.parent == *root);
            above.map(|it| (&*edge.columns[0], &*edge.parent, &*it.columns[0]))
        })
        .collect()
}

/// The tables that name two rows of the root, each by one column: first the one whose name says that it is above.
fn links(family: &Family) -> Vec<(&str, [&str; 2])> {
    let tables = family.tables.iter().skip(1);
    let two = tables.filter_map(|table| {
        let edges: Vec<&str> = family
            .edges_of(table)
            .filter(|edge| edge.parent == family.tables[0] && edge.columns.len() == 1)
            .map(|edge| edge.columns[0].as_str())
            .collect();
        let above = |name: &str| {
            ["parent", "upstream", "source", "from", "prev"]
                .iter()
                .any(|word| name.to_lowercase().contains(word))
        };
        match edges[..] {
            [one, other] if above(one) != above(other) => Some((
                table.as_str(),
                if above(one) {
                    [one, other]
                } else {
                    [other, one]
                },
            )),
            _ => None,
        }
    });
    two.collect()
}
