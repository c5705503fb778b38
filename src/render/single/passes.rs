//! The ways through the table of a rule of single rows.

use super::parts::{cutoff_now, goes, is_unique, now, oldest, placed, ranked};
use super::views::{PassView, PlaceView};
use crate::dialect::Dialect;
use crate::graph::{Column, Epoch, Graph, Kind, Rule, Single};
use crate::render::names::{
    control_name, dated, escaped, key_spelled_out, least_key, says, time_of,
};

/// The ways through the table: two where rows without an expiry have a fallback.
pub(super) fn passes(
    graph: &Graph,
    rule: &Rule,
    single: &Single,
    conditions: &[String],
    dialect: Dialect,
) -> Vec<PassView> {
    // Where there are no variables: in a function of the instant, and in a view.
    let cutoff = match dialect {
        Dialect::Postgres => format!(
            "{}.{}_cutoff(p_as_of, NULL)",
            control_name(graph),
            rule.name
        ),
        Dialect::Mysql | Dialect::Mariadb => cutoff_now(graph, rule, single),
    };
    let mut ways = match single {
        Single::Expiry { fallback } => {
            let fallback = fallback.as_ref();
            let fallback = fallback.map(|time| fallen_back(rule, time, &cutoff, dialect));
            let expired = expired(graph, rule, dialect);
            [Some(expired), fallback].into_iter().flatten().collect()
        }
        Single::Orphan { .. } | Single::KeepLast { .. } => {
            vec![each_row(graph, rule, single, &cutoff, dialect)]
        }
    };
    for way in &mut ways {
        way.predicates.extend_from_slice(conditions);
        if matches!(single, Single::Expiry { .. }) {
            way.backlog.extend_from_slice(conditions);
        }
    }
    let key = &graph.table(rule.root).key;
    let shown = dialect.kind(oldest(rule, single));
    (1..)
        .zip(ways)
        .map(|(number, way)| pass(number, way, key, shown, dialect))
        .collect()
}

/// Rows that have expired.
fn expired(graph: &Graph, rule: &Rule, dialect: Dialect) -> Way {
    let column = format!("t.{}", dialect.ident(&rule.end_time.name));
    let time = time_of(rule, "t", &rule.end_time, dialect);
    let now = match (dialect, rule.end_time.kind) {
        (Dialect::Postgres, Kind::Timestamptz) => "p_as_of".to_owned(),
        (Dialect::Postgres, _) => {
            format!("(p_as_of AT TIME ZONE {})", dialect.text(&graph.time_zone))
        }
        (Dialect::Mysql | Dialect::Mariadb, kind) => now(graph, rule, kind),
    };
    // MySQL and MariaDB compare numbers as they are, along an index of the column.
    let numbers = rule.epoch.filter(|_| dialect != Dialect::Postgres);
    let before = |instant: &str| match numbers {
        Some(epoch) => {
            let counts = epoch.per_second().map(|_| format!("{column} > 0"));
            let before = format!("{column} < {}", dialect.number(instant, epoch));
            counts.into_iter().chain([before]).collect()
        }
        None if is_number(rule) => vec![format!("{time} < {instant}")],
        None => past(&time, instant, dialect),
    };
    let due = before("v_now");
    let name = escaped(dialect, &rule.end_time.name);
    Way {
        name: "expired",
        why: format!("rows whose {name} has passed."),
        along: vec![Column {
            name: rule.end_time.name.clone(),
            kind: match numbers.and_then(Epoch::per_second) {
                Some(_) => Kind::Bigint,
                None => rule.end_time.kind,
            },
        }],
        instant: numbers.is_none() && rule.epoch.is_some(),
        numbered: is_number(rule),
        unique: false,
        predicates: due.clone(),
        due,
        backlog: before(&now),
        due_time: time,
    }
}

/// Rows that say no expiry.
fn fallen_back(rule: &Rule, fallback: &Column, cutoff: &str, dialect: Dialect) -> Way {
    let none = format!("t.{} IS NULL", dialect.ident(&rule.end_time.name));
    let time = format!("t.{}", dialect.ident(&fallback.name));
    let before = |instant: &str| {
        let mut found = vec![none.clone()];
        found.extend(past(&time, instant, dialect));
        found
    };
    let name = escaped(dialect, &fallback.name);
    Way {
        name: "fallback",
        why: format!("rows without one, a retention after their {name}."),
        along: vec![fallback.clone()],
        instant: false,
        numbered: false,
        unique: false,
        predicates: before("v_cutoff"),
        due: before("v_cutoff"),
        backlog: before(cutoff),
        due_time: time,
    }
}

/// Whether the time of a rule is a number, which is above 0 or none.
fn is_number(rule: &Rule) -> bool {
    rule.epoch.and_then(Epoch::per_second).is_some()
}

/// What is true of a time before an instant: `-infinity` (PostgreSQL) and a zero date (MySQL, MariaDB) are none. On these servers both
/// ends are those of a range of an index; PostgreSQL would begin what it reads of one there, and not at the place of the last row.
fn past(time: &str, instant: &str, dialect: Dialect) -> Vec<String> {
    let before = format!("{time} < {instant}");
    match dialect {
        Dialect::Postgres => vec![format!("{before} AND {time} <> '-infinity'")],
        Dialect::Mysql | Dialect::Mariadb => vec![format!("{time} > 0"), before],
    }
}

/// All rows, by their key, or group by group.
fn each_row(graph: &Graph, rule: &Rule, single: &Single, cutoff: &str, dialect: Dialect) -> Way {
    let (name, why, along): (_, _, Vec<Column>) = match single {
        Single::KeepLast { group, order, .. } => (
            "surplus",
            "group by group, the newest row last.",
            group.iter().chain(order).cloned().collect(),
        ),
        _ => ("orphan", "every row, by its key.", Vec::new()),
    };
    let aged = single.aged();
    let aged = aged.map(|time| dated(rule, &time_of(rule, "t", time, dialect), dialect));
    let judged = match dialect {
        Dialect::Postgres => None,
        Dialect::Mysql | Dialect::Mariadb => ranked(graph, rule, single),
    };
    let mut backlog = vec![match judged {
        Some(ranked) => ranked.goes,
        None => goes(graph, rule, single, dialect),
    }];
    backlog.extend(aged.iter().map(|time| format!("{time} < {cutoff}")));
    Way {
        name,
        why: why.to_owned(),
        predicates: along
            .iter()
            .map(|one| says("t", one, dialect))
            .chain(placed(single, dialect))
            .collect(),
        unique: is_unique(graph.table(rule.root), &along.iter().collect::<Vec<_>>()),
        instant: false,
        numbered: false,
        along,
        due: Vec::new(),
        backlog,
        due_time: aged.unwrap_or_else(|| "NULL".to_owned()),
    }
}

/// What distinguishes one pass from another.
struct Way {
    name: &'static str,
    why: String,
    along: Vec<Column>,
    /// Whether the first of them is what its number says: the time by which a row is due.
    instant: bool,
    /// Whether it is a number.
    numbered: bool,
    /// Whether no two rows are at the same place, so that the key need not distinguish them: where an index of the application
    /// is unique, some servers do not see that it has the key after it.
    unique: bool,
    predicates: Vec<String>,
    due: Vec<String>,
    backlog: Vec<String>,
    due_time: String,
}

fn pass(number: usize, way: Way, key: &[Column], shown: &str, dialect: Dialect) -> PassView {
    let mut along: Vec<&Column> = way.along.iter().collect();
    let rest: Vec<&Column> = key
        .iter()
        .filter(|column| along.iter().all(|known| known.name != column.name))
        .collect();
    let mut read = along.clone();
    read.extend(&rest);
    if !way.unique {
        along.extend(rest);
    }
    // Of the columns that the key shares with the others, each is read once: `n` has them by these names.
    let name = |column: &Column| {
        let of_key = key.iter().position(|known| known.name == column.name);
        match of_key {
            Some(index) => format!("k{}", index + 1),
            None => {
                // What two passes follow is in one work table, on some servers.
                let index = along.iter().position(|known| known.name == column.name);
                format!("c{}", index.unwrap_or_default() + number)
            }
        }
    };
    let instant = along[0].name.clone();
    let is_dated = !way.due.is_empty() && !way.numbered;
    let of_t = |column: &Column| {
        if way.instant && column.name == instant {
            way.due_time.clone()
        } else {
            format!("t.{}", dialect.ident(&column.name))
        }
    };
    let listed = |form: &dyn Fn(&Column) -> String| -> String {
        let each: Vec<String> = read.iter().map(|column| form(column)).collect();
        each.join(", ")
    };
    let places: Vec<PlaceView> = along
        .iter()
        .enumerate()
        .map(|(index, column)| PlaceView {
            name: name(column),
            column: dialect.ident(&column.name),
            variable: format!("v_{number}_{}", index + 1),
            kind: dialect.kind(column.kind),
            is: column.kind,
            // What is before it is no time.
            first: match index {
                0 if is_dated && dialect == Dialect::Postgres => dialect.text("4713-01-01 BC"),
                _ => least_key(dialect, column.kind),
            },
            behind: along.len() + index + 1,
        })
        .collect();
    let columns: Vec<String> = along.iter().map(|column| of_t(column)).collect();
    let named: Vec<String> = places
        .iter()
        .map(|place| format!("s.{}", place.name))
        .collect();
    let each = |form: &str| -> String {
        let each: Vec<String> = columns.iter().map(|it| format!("{it}{form}")).collect();
        each.join(", ")
    };
    let compare = |columns: &[String], sign, of| compare(columns, sign, &places, of);
    PassView {
        way: columns.clone(),
        due_cast: format!("{}::{shown}", way.due_time),
        number,
        name: way.name,
        why: way.why,
        columns: listed(&|column| format!("{} AS {}", of_t(column), name(column))),
        values: listed(&of_t),
        names: listed(&name),
        order: columns.join(", "),
        reached: compare(&columns, ">=", ""),
        passed: compare(&columns, "<>", ""),
        claimed: compare(&columns, "<=", "_to"),
        claimed_s: compare(&named, "<=", "_to"),
        order_s: named.join(", "),
        texts: each("::text"),
        backwards_t: each(" DESC"),
        beyond: bound("c", ">", &columns, &places),
        upto: bound("b", "<", &columns, &places),
        key_of_f: key_spelled_out(
            (1..)
                .zip(key)
                .map(|(at, column)| (column.kind, format!("f.k{at}"))),
        ),
        of_f: listed(&|column| format!("f.{}", name(column))),
        backwards: places
            .iter()
            .map(|place| format!("f.{} DESC", place.name))
            .collect::<Vec<_>>()
            .join(", "),
        along: places,
        predicates: way.predicates,
        due: way.due,
        backlog: way.backlog,
        due_time: way.due_time,
    }
}

/// Behind the place in row `c` of a work table (`>`), or before that in row `b` or at it (`<`): as alternatives that each compare
/// a part of an index with a constant. A comparison of rows is not read along an index there.
fn bound(row: &str, sign: &str, columns: &[String], places: &[PlaceView]) -> String {
    let mut found = String::new();
    for (column, place) in columns.iter().zip(places).rev() {
        let place = format!("{row}.{}", place.name);
        found = match (found.as_str(), sign) {
            ("", "<") => format!("{column} <= {place}"),
            ("", _) => format!("{column} {sign} {place}"),
            (rest, _) => {
                format!("({column} {sign} {place} OR ({column} = {place} AND {rest}))")
            }
        };
    }
    found
}

/// How a place of these columns lies to that of the variables, whose names end like that.
fn compare(columns: &[String], sign: &str, places: &[PlaceView], end: &str) -> String {
    let variables: Vec<String> = places
        .iter()
        .map(|place| format!("{}{end}", place.variable))
        .collect();
    match (columns, &variables[..]) {
        ([column], [variable]) => format!("{column} {sign} {variable}"),
        _ => format!("({}) {sign} ({})", columns.join(", "), variables.join(", ")),
    }
}
