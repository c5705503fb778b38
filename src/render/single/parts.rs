//! What a rule of single rows is said with, on each server.

use super::views::{KeyView, RankedView, SmallView};
use crate::dialect::Dialect;
use crate::graph::{Column, Graph, Kind, Literal, Need, Rule, Single, Table};
use crate::render::names::{control_name, local, present, says, table_name};
use crate::render::raw;

/// Where a text is written for both MySQL and MariaDB.
const EITHER: Dialect = Dialect::Mysql;

/// The columns of the key of a table.
pub(super) fn key_views(table: &Table, dialect: Dialect) -> Vec<KeyView> {
    let composite = table.key.len() > 1;
    table
        .key
        .iter()
        .enumerate()
        .map(|(index, column)| KeyView {
            name: format!("k{}", index + 1),
            column: dialect.ident(&column.name),
            kind: dialect.kind(column.kind),
            is: column.kind,
            of_text: match (dialect, composite) {
                (Dialect::Postgres, true) => {
                    format!("(p_key::jsonb ->> {index})::{}", dialect.kind(column.kind))
                }
                (Dialect::Postgres, false) => format!("p_key::{}", dialect.kind(column.kind)),
                (Dialect::Mysql | Dialect::Mariadb, _) => part("p_key", index, composite),
            },
        })
        .collect()
}

/// The type of the time that the documents show.
pub(crate) fn oldest(rule: &Rule, single: &Single) -> Kind {
    match single {
        Single::Expiry { .. } => rule.end_time.kind,
        _ => single.aged().map_or(Kind::Timestamptz, |time| time.kind),
    }
}

/// Whether no two rows have the same values in these columns.
pub(super) fn is_unique(table: &Table, along: &[&Column]) -> bool {
    table.unique.iter().any(|unique| {
        let mut columns = unique.iter();
        unique.len() == along.len()
            && columns.all(|one| along.iter().any(|known| known.name == one.name))
    })
}

/// The columns of the key that distinguish rows of a group where its order does not.
pub(super) fn tie<'a>(
    table: &'a Table,
    group: &'a [Column],
    order: &'a [Column],
) -> impl Iterator<Item = &'a Column> {
    let along: Vec<&Column> = group.iter().chain(order).collect();
    let unique = is_unique(table, &along);
    let other = move |column: &&Column| along.iter().all(|known| known.name != column.name);
    table
        .key
        .iter()
        .filter(move |column| !unique && other(column))
}

/// What makes row `t` deletable where that is not its own time.
pub(super) fn goes(graph: &Graph, rule: &Rule, single: &Single, dialect: Dialect) -> String {
    match single {
        Single::Expiry { .. } => String::new(),
        Single::Orphan { needs, .. } => {
            let broken = needs
                .iter()
                .map(|chain| broken(graph, chain, dialect, None));
            one_of(&broken.collect::<Vec<_>>())
        }
        Single::KeepLast {
            group, order, keep, ..
        } => {
            let table = graph.table(rule.root);
            let ident = |column: &Column| dialect.ident(&column.name);
            let tie = tie(table, group, order);
            let ranks: Vec<String> = order.iter().chain(tie).map(ident).collect();
            let of = |row: &str| -> String {
                let columns: Vec<String> = ranks.iter().map(|it| format!("{row}.{it}")).collect();
                match columns.len() {
                    1 => columns[0].clone(),
                    _ => format!("({})", columns.join(", ")),
                }
            };
            let mut same: Vec<String> = group
                .iter()
                .map(|column| format!("n.{0} = t.{0}", ident(column)))
                .collect();
            if dialect == Dialect::Postgres {
                same.push(format!("{} > {}", of("n"), of("t")));
            }
            same.extend(order.iter().map(|column| says("n", column, dialect)));
            same.extend(
                rule.candidates
                    .iter()
                    .map(|condition| dialect.condition_of("n", condition))
                    .chain(raw::condition(graph, rule, "n", dialect)),
            );
            let from = table_name(graph, dialect, &table.name);
            let same = same.join("\n      AND ");
            // A row with NULL in the second of two columns that order is older by the first, and has no place all the same.
            let placed: String = order
                .iter()
                .skip(1)
                .map(|column| says("t", column, dialect))
                .chain(placed(single, dialect))
                .map(|each| format!("{each} AND "))
                .collect();
            if dialect != Dialect::Postgres {
                return format!(
                    "{placed}{} < {}",
                    of("t"),
                    last_that_stays(&from, &same, group, &ranks, keep - 1)
                );
            }
            format!(
                "{placed}EXISTS (\n    SELECT FROM {from} AS n\n    WHERE {same}\n    ORDER BY {}\n    OFFSET {} LIMIT 1\n)",
                ranks
                    .iter()
                    .map(|it| format!("n.{it}"))
                    .collect::<Vec<_>>()
                    .join(", "),
                keep - 1
            )
        }
    }
}

/// The same in a verb on PostgreSQL, which knows whether a table that is looked into is small.
pub(super) fn goes_by_size(graph: &Graph, rule: &Rule, single: &Single) -> String {
    let Single::Orphan { needs, .. } = single else {
        return goes(graph, rule, single, Dialect::Postgres);
    };
    let broken = needs.iter().enumerate().map(|(at, chain)| {
        let small = (chain.len() == 1).then(|| small(at));
        broken(graph, chain, Dialect::Postgres, small.as_deref())
    });
    one_of(&broken.collect::<Vec<_>>())
}

/// The tables that are looked into by themselves, each with the variable that says whether it is small.
pub(super) fn smalls(single: &Single, dialect: Dialect) -> Vec<SmallView> {
    let needs = match single {
        Single::Orphan { needs, .. } if dialect == Dialect::Postgres => &needs[..],
        _ => &[],
    };
    let needs = needs.iter().enumerate();
    needs
        .filter(|(_, chain)| chain.len() == 1)
        .map(|(at, chain)| SmallView {
            variable: small(at),
            table_literal: dialect.text(&chain[0].table),
        })
        .collect()
}

fn small(at: usize) -> String {
    format!("v_small_{}", at + 1)
}

fn one_of(conditions: &[String]) -> String {
    match conditions {
        [one] => one.clone(),
        _ => format!("({})", conditions.join(" OR ")),
    }
}

/// What row `t` must be to have a place in its group, besides having one: `-infinity` is no time on PostgreSQL.
pub(super) fn placed(single: &Single, dialect: Dialect) -> impl Iterator<Item = String> {
    times(single, dialect)
        .map(move |column| format!("t.{} <> '-infinity'", dialect.ident(&column.name)))
}

/// The times that order rows of a group and may be `-infinity`.
pub(super) fn times(single: &Single, dialect: Dialect) -> impl Iterator<Item = &Column> {
    let order = match single {
        Single::KeepLast { order, .. } if dialect == Dialect::Postgres => &order[..],
        _ => &[],
    };
    let is_time = |kind| matches!(kind, Kind::Timestamp | Kind::Timestamptz);
    order.iter().filter(move |column| is_time(column.kind))
}

/// Row `t` names something, and what must exist from there on does not. What names nothing needs nothing, wherever it is on the way.
/// A table that the variable `small` says is small is read once, and not looked into for each row.
fn broken(graph: &Graph, chain: &[Need], dialect: Dialect, small: Option<&str>) -> String {
    let row = |index: usize| match index {
        0 => "t".to_owned(),
        _ => format!("p{index}"),
    };
    let same = |index: usize| {
        let (upper, lower) = (row(index), row(index + 1));
        let pairs = chain[index].pairs.iter();
        let pairs: Vec<String> = pairs
            .map(|(column, named)| {
                format!(
                    "{lower}.{} = {upper}.{}",
                    dialect.ident(named),
                    dialect.ident(column)
                )
            })
            .collect();
        pairs
    };
    let table = |index: usize| {
        let name = table_name(graph, dialect, &chain[index].table);
        format!("{name} AS {}", row(index + 1))
    };
    // Compares a column with the value that stands for no name.
    let none = |index: usize, operator: &str| {
        let need = &chain[index];
        let value = match need.none.as_ref()? {
            Literal::Integer(number) => number.to_string(),
            Literal::Text(text) => dialect.text(text),
        };
        let column = dialect.ident(&need.pairs[0].0);
        Some(format!("{}.{column} {operator} {value}", row(index)))
    };
    let mut parts: Vec<String> = chain[0]
        .pairs
        .iter()
        .map(|(column, _)| format!("t.{} IS NOT NULL", dialect.ident(column)))
        .collect();
    parts.extend(none(0, "<>"));
    let mut from = table(0);
    for index in 1..chain.len() {
        from += &format!(
            "\n        LEFT JOIN {} ON {}",
            table(index),
            same(index).join(" AND ")
        );
    }
    // From the last one up: each names nothing, or what it names is there, and so on.
    let rest = (1..chain.len()).rev().fold(None, |below, index| {
        let columns = chain[index].pairs.iter();
        let mut ends: Vec<String> = columns
            .map(|(column, _)| format!("{}.{} IS NULL", row(index), dialect.ident(column)))
            .collect();
        ends.extend(none(index, "="));
        let named = dialect.ident(&chain[index].pairs[0].1);
        let there = format!("{}.{named} IS NOT NULL", row(index + 1));
        ends.push(below.map_or(there.clone(), |below| format!("{there} AND {below}")));
        Some(format!("({})", ends.join(" OR ")))
    });
    let whole: Vec<String> = same(0).into_iter().chain(rest).collect();
    // With OFFSET, PostgreSQL looks for each row along an index; else it may read the whole table instead.
    let (select, offset) = match dialect {
        Dialect::Postgres => ("SELECT", "\n        OFFSET 0"),
        Dialect::Mysql | Dialect::Mariadb => ("SELECT 1", ""),
    };
    let none_there = format!(
        "NOT EXISTS (\n        {select} FROM {from}\n        WHERE {}{offset}\n    )",
        whole.join("\n          AND ")
    );
    parts.push(match small {
        None => none_there,
        Some(small) => {
            let list = |columns: Vec<String>| match &columns[..] {
                [one] => one.clone(),
                _ => format!("({})", columns.join(", ")),
            };
            let pairs = chain[0].pairs.iter();
            let naming = pairs.clone().map(|(column, _)| format!("t.{}", dialect.ident(column)));
            let named = pairs.clone().map(|(_, named)| format!("p1.{}", dialect.ident(named)));
            let named: Vec<String> = named.collect();
            // No column of a key is NULL.
            let of_key = graph.tables.iter().any(|table| {
                let is_key = |name: &String| table.key.iter().any(|key| key.name == *name);
                table.name == chain[0].table && pairs.clone().all(|(_, named)| is_key(named))
            });
            let said = match of_key {
                true => String::new(),
                false => format!("\n        WHERE {} IS NOT NULL", named.join(" IS NOT NULL AND ")),
            };
            format!(
                "CASE WHEN {small} THEN {} NOT IN (SELECT {}\n        FROM {from}{said})\n    ELSE {none_there} END",
                list(naming.collect()),
                named.join(", "),
            )
        }
    });
    format!("(\n    {}\n)", parts.join("\n    AND "))
}

/// A column of a key in the text of a whole key.
pub(super) fn part(text: &str, index: usize, composite: bool) -> String {
    if composite {
        format!("JSON_UNQUOTE(JSON_EXTRACT({text}, '$[{index}]'))")
    } else {
        text.to_owned()
    }
}

/// The present instant for a view: what a number says is in UTC, whatever the session shows.
fn present_of(rule: &Rule, kind: Kind) -> &'static str {
    present(rule.epoch.map_or(kind, |_| Kind::Timestamp))
}

/// The present instant as a column of this kind has it.
pub(super) fn now(graph: &Graph, rule: &Rule, kind: Kind) -> String {
    local(graph, kind, present_of(rule, kind))
}

/// What the time of a row must lie before now, for a view; empty where rows are deleted whatever their age.
pub(super) fn cutoff_now(graph: &Graph, rule: &Rule, single: &Single) -> String {
    let Some(time) = single.aged() else {
        return String::new();
    };
    let default = rule.retention.default.unwrap_or_default();
    let (minimum, lag) = (rule.retention.minimum, rule.retention.safety_lag);
    let before = |retention: &str| {
        let instant = present_of(rule, time.kind);
        let seconds = format!("GREATEST({retention}, {minimum}) + {lag}");
        local(
            graph,
            time.kind,
            &format!("{instant} - INTERVAL ({seconds}) SECOND"),
        )
    };
    match single {
        Single::Expiry { .. } => {
            // A retention of nothing turns the fallback off.
            let setting = format!(
                "COALESCE((SELECT s.value FROM {}.setting AS s WHERE s.rule = {} AND s.name = 'fallback_retention'), {default})",
                control_name(graph),
                EITHER.text(&rule.name)
            );
            format!("IF({setting} > 0, {}, NULL)", before(&setting))
        }
        Single::Orphan { .. } | Single::KeepLast { .. } => before(&default.to_string()),
    }
}

/// Which rows of a pass are not among the newest of their group, where the pass reads them.
pub(super) fn ranked(graph: &Graph, rule: &Rule, single: &Single) -> Option<RankedView> {
    let Single::KeepLast {
        group,
        order,
        keep,
        time,
    } = single
    else {
        return None;
    };
    let table = graph.table(rule.root);
    let ranks: Vec<&Column> = order.iter().chain(tie(table, group, order)).collect();
    let mut read: Vec<&Column> = group.iter().chain(ranks.iter().copied()).collect();
    for column in table.key.iter().chain(time) {
        if read.iter().all(|known| known.name != column.name) {
            read.push(column);
        }
    }
    let list = |columns: &[&Column], form: &str| -> String {
        let each = columns.iter();
        let each: Vec<String> = each
            .map(|column| format!("t.{}{form}", EITHER.ident(&column.name)))
            .collect();
        each.join(", ")
    };
    let group: Vec<&Column> = group.iter().collect();
    let parted = match group.len() {
        0 => String::new(),
        _ => format!("PARTITION BY {} ", list(&group, "")),
    };
    let newest = list(&ranks, " DESC");
    Some(RankedView {
        columns: list(&read, ""),
        goes: format!("ROW_NUMBER() OVER ({parted}ORDER BY {newest}) > {keep}"),
        ahead: *keep,
    })
}

/// The last row of the group of `t` that is kept, as the columns that rank it: read from the end of an index, so that a large
/// group costs no more than a small one. The group is in the order so that no other index is read through.
fn last_that_stays(
    from: &str,
    same: &str,
    group: &[Column],
    ranks: &[String],
    skipped: i64,
) -> String {
    let ranked: Vec<String> = ranks.iter().map(|it| format!("n.{it}")).collect();
    let order: Vec<String> = group
        .iter()
        .map(|column| format!("n.{} DESC", EITHER.ident(&column.name)))
        .chain(ranked.iter().map(|it| format!("{it} DESC")))
        .collect();
    format!(
        "(\n    SELECT {}\n    FROM {from} AS n\n    WHERE {same}\n    ORDER BY {}\n    LIMIT 1 OFFSET {skipped}\n)",
        ranked.join(", "),
        order.join(", ")
    )
}
