//! What MySQL and MariaDB have in place of arrays and functions: work tables, and places as their rows.

use super::parts::{now, oldest, ranked};
use super::views::{KeyView, MysqlView, PassView};
use crate::dialect::Dialect;
use crate::graph::{Graph, Kind, Rule, Single};
use crate::render::marks;
use crate::render::names::{is_time, local, table_name};
use crate::render::rules::has_family;

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
    let (mut times, mut dated) = (Vec::new(), Vec::<String>::new());
    let mut hexed: Vec<String> = keys
        .iter()
        .filter(|key| key.is == Kind::Bytea)
        .map(|key| key.name.clone())
        .collect();
    for place in passes.iter().flat_map(|pass| &pass.along) {
        if columns.iter().all(|(name, _)| *name != place.name) {
            columns.push((&place.name, &place.column));
            if place.is == Kind::Bytea {
                hexed.push(place.name.clone());
            }
            if is_time(place.is) {
                dated.push(place.name.clone());
            }
            if place.kind == Dialect::Mysql.kind(Kind::Timestamp) {
                times.push(place.name.clone());
            }
        }
    }
    let taken = columns
        .iter()
        .filter(|(name, _)| times.iter().all(|time| time != name))
        .map(|(name, column)| ((*name).to_owned(), (*column).to_owned()))
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
    let deletes_list = format!(
        "DELETE FROM {} AS t WHERE t.{} IN (0)",
        table_name(graph, Dialect::Mysql, &graph.table(rule.root).name),
        keys[0].column,
    );
    MysqlView {
        read: taken,
        read_times: times,
        // A row that is named may have a zero date.
        read_values: list(&|name, column| match dated.iter().any(|it| it == name) {
            true => format!("NULLIF(t.{column}, 0)"),
            false => format!("t.{column}"),
        }),
        read_names: list(&|name, _| name.to_owned()),
        read_of_r: list(&|name, _| format!("r.{name}")),
        place_of_b: list(&|name, _| {
            if hexed.iter().any(|it| it == name) {
                format!("HEX(b.{name})")
            } else {
                format!("CAST(b.{name} AS char)")
            }
        }),
        read_key: of_keys(&|_, key| format!("t.{} AS {}", key.column, key.name), ", "),
        matches_r: of_keys(
            &|_, key| format!("t.{} = r.{}", key.column, key.name),
            " AND ",
        ),
        holds_r: of_keys(&|_, key| format!("h.{0} = r.{0}", key.name), " AND "),
        oldest_now: now(graph, rule, oldest(rule, single)),
        cutoff: single
            .aged()
            .map_or(String::new(), |time| local(graph, time.kind, "p_cutoff")),
        ranked: ranked(graph, rule, single),
        at_once: names_others(graph, rule, single),
        swept: !composite
            && matches!(
                graph.table(rule.root).key[0].kind,
                Kind::Smallint | Kind::Integer | Kind::Bigint
            )
            && !has_family(rule)
            && rule.archive.is_empty()
            // Nobody knows what it reads, which a DELETE would lock.
            && rule.where_sql.is_none()
            && Dialect::Mysql.text(&deletes_list) == format!("'{deletes_list}'"),
        deletes_list: marks::signed(&format!("'«{deletes_list}»'")),
        hexed,
    }
}

/// Whether what decides of a row is in the row and in other tables: a DELETE can judge then, as it must not read its own table
/// besides.
fn names_others(graph: &Graph, rule: &Rule, single: &Single) -> bool {
    let root = &graph.table(rule.root).name;
    match single {
        Single::Expiry { .. } => true,
        Single::Orphan { needs, .. } => needs.iter().flatten().all(|need| need.table != *root),
        Single::KeepLast { .. } => false,
    }
}
