//! Views of a rule whose rows are deleted one by one.

use self::parts::{goes, key_views, tie, times};
use self::passes::passes;
use super::names::{dated, escaped, key_spelled_out, local, table_name, time_of, unsaid};
use super::{above, raw};
use crate::dialect::Dialect;
use crate::graph::{Column, Graph, Kind, Rule, Single};

pub(super) use self::parts::oldest;
pub(super) use self::views::SingleView;
use self::views::{KeyView, SearchView};

pub(super) mod mysql;
mod parts;
mod passes;
mod views;

pub(super) fn view(graph: &Graph, rule: &Rule, single: &Single, dialect: Dialect) -> SingleView {
    let table = graph.table(rule.root);
    let here = |kind: Kind| in_zone(graph, kind, dialect);
    let composite = table.key.len() > 1;
    let keys = key_views(table, dialect);
    let list = |form: &dyn Fn(&KeyView) -> String| -> String {
        let parts: Vec<String> = keys.iter().map(form).collect();
        parts.join(", ")
    };
    let all = |form: &dyn Fn(&KeyView) -> String| -> String {
        let parts: Vec<String> = keys.iter().map(form).collect();
        parts.join(" AND ")
    };
    let text = |form: &dyn Fn(&KeyView) -> String| match (dialect, composite) {
        (Dialect::Postgres, true) => format!("jsonb_build_array({})::text", list(form)),
        (Dialect::Postgres, false) => format!("({})::text", list(form)),
        (Dialect::Mysql | Dialect::Mariadb, _) => {
            key_spelled_out(keys.iter().map(|key| (key.is, form(key))))
        }
    };
    let conditions: Vec<String> = rule
        .candidates
        .iter()
        .map(|condition| dialect.condition_of("t", condition))
        .chain(raw::condition(graph, rule, "t", dialect))
        .collect();
    let key_text = text(&|key| format!("t.{}", key.column));
    let aged = single.aged();
    let passes = passes(graph, rule, single, &conditions, dialect);
    let due = due(rule, single, dialect);
    SingleView {
        expiry: matches!(single, Single::Expiry { .. }),
        orphan: matches!(single, Single::Orphan { .. }),
        keep_last: matches!(single, Single::KeepLast { .. }),
        locks: dialect == Dialect::Mysql && matches!(single, Single::Orphan { .. }),
        family: super::rules::has_family(rule),
        shared: graph.workers > 1 && rule.is_divided(table),
        aged: aged.is_some(),
        time: aged.map_or(String::new(), |time| {
            dated(rule, &time_of(rule, "t", time, dialect), dialect)
        }),
        time_name: aged.map_or(String::new(), |time| escaped(dialect, &time.name)),
        time_type: aged.map_or("", |time| dialect.kind(time.kind)),
        now: match dialect {
            Dialect::Postgres => format!("p_as_of{}", here(rule.end_time.kind)),
            Dialect::Mysql | Dialect::Mariadb => local(graph, rule.end_time.kind, "p_as_of"),
        },
        why: why(rule, single, dialect),
        key_order: list(&|key| format!("t.{}", key.column)),
        above: above::view(graph, rule, dialect),
        matches: all(&|key| format!("t.{} = k.{}", key.column, key.name)),
        key_type: if composite { "text" } else { keys[0].kind },
        key_of_t: if composite {
            text(&|key| format!("t.{}", key.column))
        } else {
            format!("t.{}::{}", keys[0].column, keys[0].kind)
        },
        same_key: if composite {
            all(&|key| {
                format!(
                    "t.{} = {}",
                    key.column,
                    key.of_text.replace("p_key", "k.key")
                )
            })
        } else {
            format!("t.{} = k.key", keys[0].column)
        },
        in_zone: aged.map_or(String::new(), |time| here(time.kind)),
        names: list(&|key| key.name.clone()),
        goes: goes(graph, rule, single, dialect),
        goes_by_size: match dialect {
            Dialect::Postgres => parts::goes_by_size(graph, rule, single),
            Dialect::Mysql | Dialect::Mariadb => String::new(),
        },
        smalls: parts::smalls(single, dialect),
        asked: raw::condition(graph, rule, "t", dialect),
        search: (dialect == Dialect::Postgres).then(|| search(graph, rule, single)),
        unranked: unranked(single, dialect),
        due_cast: format!("{due}::{}", dialect.kind(oldest(rule, single))),
        due,
        oldest_type: dialect.kind(oldest(rule, single)),
        references: references(single)
            .map(|table| table_name(graph, dialect, table))
            .collect(),
        mysql: match dialect {
            Dialect::Postgres => None,
            Dialect::Mysql | Dialect::Mariadb => {
                Some(mysql::view(graph, rule, single, &keys, &passes))
            }
        },
        passes,
        key_text,
        conditions,
        keys,
    }
}

/// What turns an instant into a time of this kind.
fn in_zone(graph: &Graph, kind: Kind, dialect: Dialect) -> String {
    match kind {
        Kind::Timestamptz => String::new(),
        _ => format!(" AT TIME ZONE {}", dialect.text(&graph.time_zone)),
    }
}

/// The time of row `t` by which it is due in pass `p_pass`.
fn due(rule: &Rule, single: &Single, dialect: Dialect) -> String {
    let column = |column: &Column| dated(rule, &time_of(rule, "t", column, dialect), dialect);
    match (single, single.aged()) {
        // Such a rule knows no numbers.
        (Single::Expiry { .. }, Some(fallback)) => format!(
            "(CASE p_pass WHEN 2 THEN {} ELSE {} END)",
            column(fallback),
            column(&rule.end_time)
        ),
        (Single::Expiry { .. }, None) => column(&rule.end_time),
        (_, Some(time)) => column(time),
        (_, None) => "NULL".to_owned(),
    }
}

/// Why rows are deleted.
fn why(rule: &Rule, single: &Single, dialect: Dialect) -> String {
    match single {
        Single::Expiry { .. } => {
            let besides = single.aged().map_or(String::new(), |time| {
                format!(
                    ", and those that have none and whose {} is long enough ago",
                    escaped(dialect, &time.name)
                )
            });
            let time = escaped(dialect, &rule.end_time.name);
            format!("those whose {time} has passed{besides}.")
        }
        Single::Orphan { .. } => "those that name something which is gone.".to_owned(),
        Single::KeepLast { keep, .. } => {
            let newest = match keep {
                1 => "the newest".to_owned(),
                _ => format!("the newest {keep}"),
            };
            format!("all but {newest} of each group; the higher key decides between equals.")
        }
    }
}

fn search(graph: &Graph, rule: &Rule, single: &Single) -> SearchView {
    let old_enough = single.aged().map_or(String::new(), |time| {
        let cutoff = match in_zone(graph, time.kind, Dialect::Postgres).as_str() {
            "" => "p_cutoff",
            _ => "v_cutoff",
        };
        let time = time_of(rule, "t", time, Dialect::Postgres);
        format!("({time} < {cutoff} OR {time} IS NULL)")
    });
    SearchView {
        leaves: leaves(graph, rule, single, &old_enough),
        old_enough,
    }
}

/// Whether row `t` leaves by itself, among the rows that a search reads in order: of a group, as many as are kept are after it.
fn leaves(graph: &Graph, rule: &Rule, single: &Single, old_enough: &str) -> String {
    let dialect = Dialect::Postgres;
    let goes = match single {
        Single::Expiry { .. } => return String::new(),
        Single::Orphan { .. } => parts::goes_by_size(graph, rule, single),
        Single::KeepLast {
            group, order, keep, ..
        } => {
            let table = graph.table(rule.root);
            let ranks = order.iter().chain(tie(table, group, order));
            let of_t = |column: &Column| format!("t.{}", dialect.ident(&column.name));
            let ranks: Vec<String> = ranks.map(of_t).collect();
            let group: Vec<String> = group.iter().map(of_t).collect();
            let group = match &group[..] {
                [] => String::new(),
                _ => format!("PARTITION BY {} ", group.join(", ")),
            };
            format!(
                "lead(true, {keep}) OVER ({group}ORDER BY {})",
                ranks.join(", ")
            )
        }
    };
    match old_enough {
        "" => goes,
        _ => format!("{old_enough}\n    AND {goes}"),
    }
}

/// Whether row `t` has no place among its group.
fn unranked(single: &Single, dialect: Dialect) -> String {
    let Single::KeepLast { group, order, .. } = single else {
        return String::new();
    };
    group
        .iter()
        .chain(order)
        .map(|column| unsaid("t", column, dialect))
        .chain(
            times(single, dialect)
                .map(|column| format!("t.{} = '-infinity'", dialect.ident(&column.name))),
        )
        .collect::<Vec<_>>()
        .join(" OR ")
}

/// The tables that are looked into, each once.
pub(super) fn references(single: &Single) -> impl Iterator<Item = &str> {
    let mut tables: Vec<&str> = single.needs().map(|need| need.table.as_str()).collect();
    tables.sort_unstable();
    tables.dedup();
    tables.into_iter()
}
