//! What MySQL and MariaDB have in place of arrays and functions: work tables, and places as their rows.

use super::parts::{now, oldest, part};
use super::views::{KeyView, MysqlView, PassView, SingleView};
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::graph::{Graph, Kind, Rule, Single};
use crate::plan::Purge;
use crate::render::explain::{Root, mysql_deletions};
use crate::render::names::local;

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
            if place.kind == Dialect::Mysql.kind(Kind::Timestamp) {
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
        oldest_now: now(graph, shown),
        cutoff: single
            .aged()
            .map_or(String::new(), |time| local(graph, time.kind, "p_cutoff")),
    }
}

/// The statements of the routines as EXPLAIN takes them: a row of the table stands for the work tables, so that types and
/// collations are the real ones.
pub(in crate::render) fn probes(
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
            off: Vec::new(),
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
        .map(|key| format!("fed.{} AS {}", key.column, key.name))
        .collect();
    // DISTINCT and LIMIT keep the server from merging it into the statement.
    let some = format!(
        "(SELECT DISTINCT {} FROM {table} AS fed LIMIT 3) AS r",
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
            off: Vec::new(),
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
        off: Vec::new(),
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
