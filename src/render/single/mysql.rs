//! What MySQL and MariaDB have in place of arrays and functions: work tables, and places as their rows.

use serde::Serialize;

use super::{KeyView, PassView, PlaceView, SingleView, oldest};
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::graph::{Column, Graph, Kind, Rule, Single};
use crate::plan::Purge;
use crate::render::explain::{Root, mysql_deletions};
use crate::render::names::{control_name, local};

/// Where a text is written for both servers.
const EITHER: Dialect = Dialect::Mysql;

/// What the template has on these servers besides. Row `t` is of the table, `r` the row of a work table with its key.
#[derive(Serialize)]
pub(super) struct MysqlView {
    /// The columns of the key and those along which a run goes: those that a work table takes over from the table as they
    /// are, the times, which it has as such and may leave out, the values of all, their names there, and those of row `r`.
    read: String,
    read_times: Vec<String>,
    read_values: String,
    read_names: String,
    read_of_r: String,
    /// The same of the key alone.
    read_key: String,
    /// Whether row `t` has the key of row `r`, and row `h` of the holds that of row `r`.
    matches_r: String,
    holds_r: String,
    /// The columns of the key in the text of a hold `h`, and in `p_key`.
    values_of_hold: String,
    values_of_text: String,
    /// The present instant as the time that the documents show has it.
    oldest_now: String,
    /// What the time of a retention must lie before, where `p_cutoff` is that instant.
    cutoff: String,
}

pub(super) fn view(
    graph: &Graph,
    rule: &Rule,
    single: &Single,
    keys: &[KeyView],
    passes: &[PassView],
) -> MysqlView {
    let composite = keys.len() > 1;
    let mut columns: Vec<(&str, &str)> = keys
        .iter()
        .map(|key| (key.name.as_str(), key.column.as_str()))
        .collect();
    let mut times = Vec::new();
    for place in passes.iter().flat_map(|pass| &pass.along) {
        if columns.iter().all(|(name, _)| *name != place.name) {
            columns.push((&place.name, &place.column));
            if place.kind == EITHER.kind(Kind::Timestamp) {
                times.push(place.name.clone());
            }
        }
    }
    let taken: Vec<String> = columns
        .iter()
        .filter(|(name, _)| times.iter().all(|time| time != name))
        .map(|(name, column)| format!("t.{column} AS {name}"))
        .collect();
    let list = |form: &dyn Fn(&str, &str) -> String| -> String {
        let parts: Vec<String> = columns
            .iter()
            .map(|(name, column)| form(name, column))
            .collect();
        parts.join(", ")
    };
    let of_keys = |form: &dyn Fn(usize, &KeyView) -> String, between: &str| -> String {
        let parts: Vec<String> = keys
            .iter()
            .enumerate()
            .map(|(index, key)| form(index, key))
            .collect();
        parts.join(between)
    };
    let shown = oldest(rule, single);
    MysqlView {
        read: taken.join(", "),
        read_times: times,
        read_values: list(&|_, column| format!("t.{column}")),
        read_names: list(&|name, _| name.to_owned()),
        read_of_r: list(&|name, _| format!("r.{name}")),
        read_key: of_keys(&|_, key| format!("t.{} AS {}", key.column, key.name), ", "),
        matches_r: of_keys(
            &|_, key| format!("t.{} = r.{}", key.column, key.name),
            " AND ",
        ),
        holds_r: of_keys(&|_, key| format!("h.{0} = r.{0}", key.name), " AND "),
        values_of_hold: of_keys(&|index, _| part("h.`key`", index, composite), ", "),
        values_of_text: of_keys(&|index, _| part("p_key", index, composite), ", "),
        oldest_now: now(graph, shown),
        cutoff: single
            .aged()
            .map_or(String::new(), |time| local(graph, time.kind, "p_cutoff")),
    }
}

/// A column of a key in the text of a whole key.
pub(super) fn part(text: &str, index: usize, composite: bool) -> String {
    match composite {
        true => format!("JSON_UNQUOTE(JSON_EXTRACT({text}, '$[{index}]'))"),
        false => text.to_owned(),
    }
}

/// The present instant as a column of this kind has it. A view knows no variable and no session: NOW() is in its zone, as a
/// TIMESTAMP is when it is compared.
pub(super) fn now(graph: &Graph, kind: Kind) -> String {
    local(graph, kind, clock(kind))
}

fn clock(kind: Kind) -> &'static str {
    match kind {
        Kind::Timestamptz => "NOW(6)",
        _ => "UTC_TIMESTAMP(6)",
    }
}

/// What the time of a row must lie before now, for a view; empty where rows go whatever their age.
pub(super) fn cutoff_now(graph: &Graph, rule: &Rule, single: &Single) -> String {
    let Some(time) = single.aged() else {
        return String::new();
    };
    let default = rule.retention.default.unwrap_or_default();
    let (minimum, lag) = (rule.retention.minimum, rule.retention.safety_lag);
    let before = |retention: &str| {
        let instant = clock(time.kind);
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

/// Behind the place in row `c` of a work table: as alternatives that each compare a part of an index with a constant. A
/// comparison of rows is not read along an index there.
pub(super) fn beyond(columns: &[String], places: &[PlaceView]) -> String {
    let mut found = String::new();
    for (column, place) in columns.iter().zip(places).rev() {
        let place = format!("c.{}", place.name);
        found = match found.as_str() {
            "" => format!("{column} > {place}"),
            rest => format!("({column} > {place} OR ({column} = {place} AND {rest}))"),
        };
    }
    found
}

/// The last row of the group of `t` that stays, as the columns that rank it: read from the end of an index, so that a large
/// group costs no more than a small one. The group stands in the order so that no other index is read through.
pub(super) fn last_that_stays(
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

/// The statements of the routines as EXPLAIN takes them: a row of the table stands for the work tables, so that types and
/// collations are the real ones.
pub(super) fn probes(
    graph: &Graph,
    purge: &Purge,
    root: &Root,
    single: &SingleView,
    dialect: Dialect,
) -> Vec<Probe> {
    let rule = &graph.rules[purge.rule];
    let (name, table) = (&graph.table(rule.root).name, root.table);
    let mut probes = Vec::new();
    for pass in &single.passes {
        let mut places = pass.beyond.clone();
        for place in pass.along.iter().rev() {
            let value = match place.kind {
                "smallint" | "int" | "bigint" => "1",
                "datetime(6)" => "'2000-01-01'",
                "char(36)" => "'00000000-0000-0000-0000-000000000001'",
                _ => "'a'",
            };
            places = places.replace(&format!("c.{}", place.name), value);
        }
        let conditions: String = pass
            .predicates
            .iter()
            .map(|it| format!(" AND {it}"))
            .collect();
        let instant = "'2000-01-02'";
        probes.push(Probe {
            what: format!("rule {}: the next rows, pass {}", rule.name, pass.name),
            table: name.clone(),
            sql: format!(
                "SELECT {} FROM {table} AS t WHERE {places}{conditions} ORDER BY {} LIMIT 100",
                pass.columns, pass.order
            )
            .replace("v_now", instant)
            .replace("v_cutoff", instant),
        });
    }
    let keys: Vec<String> = single
        .keys
        .iter()
        .map(|key| format!("s.{} AS {}", key.column, key.name))
        .collect();
    // DISTINCT and LIMIT keep the server from merging it into the statement.
    let some = format!(
        "(SELECT DISTINCT {} FROM {table} AS s LIMIT 3) AS r",
        keys.join(", ")
    );
    let matches = |row: &str| -> String {
        let keys = single.keys.iter();
        let same: Vec<String> = keys
            .map(|key| format!("{row}.{} = r.{}", key.column, key.name))
            .collect();
        same.join(" AND ")
    };
    if !single.goes.is_empty() {
        probes.push(Probe {
            what: format!("rule {}: judge rows of {name}", rule.name),
            table: name.clone(),
            sql: format!(
                "SELECT 1 FROM {some} STRAIGHT_JOIN {table} AS t ON {} WHERE {}",
                matches("t"),
                single.goes
            ),
        });
    }
    probes.push(Probe {
        what: format!("rule {}: delete from {name} by key", rule.name),
        table: name.clone(),
        // By its full name: an alias would need a current database, which a session need not have.
        sql: format!(
            "DELETE {table} FROM {some} STRAIGHT_JOIN {table} ON {}",
            matches(table)
        ),
    });
    probes.extend(mysql_deletions(graph, purge, root, dialect));
    probes
}
