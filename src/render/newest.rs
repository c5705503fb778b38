//! The newest roots of each group, which are kept, for the templates.

use serde::Serialize;

use crate::dialect::Dialect;
use crate::graph::{Column, Condition, Graph, Newest, Rule};
use crate::plan;

/// How the newest roots of a group are found: `i` is a root that is asked about, `n` a row that may be newer, `l` the last
/// one that is kept, `g` and `c` are groups and roots by number.
#[derive(Serialize)]
pub(super) struct NewestView {
    count: i64,
    /// How many newer ones are skipped to find the last one that is kept.
    offset: i64,
    group_name: String,
    /// Whether the one before it says the same in words: it differs in what it orders by, or of which rows.
    told: bool,
    /// That row `n` is of the group of the root, of the numbered group; that `l` is of that of `c`.
    same_as_i: Vec<String>,
    same_as_g: Vec<String>,
    last_of_c: Vec<String>,
    /// That root `i` has no place in a group, and that it has one; that row `n` has one in its own.
    placeless: Vec<String>,
    placed: Vec<String>,
    ordered: Vec<String>,
    /// The group and the order of root `i` by number; the groups alone.
    taken: String,
    groups_of_c: String,
    groups_of_g: String,
    /// The place in a group: what orders, and the key.
    place_of_i: String,
    place_of_n: String,
    place_of_c: String,
    place_of_l: String,
    columns_of_l: String,
    /// From the end.
    order: String,
    /// Which rows `i` count among the roots, and which rows `n` do at all.
    of: Vec<String>,
    counted_of_i: Vec<String>,
    counted: Vec<String>,
}

pub(super) fn views(graph: &Graph, rule: &Rule, dialect: Dialect) -> Vec<NewestView> {
    let mut views: Vec<NewestView> = Vec::new();
    for newest in &rule.newest {
        let mut view = view(graph, rule, newest, dialect);
        let before = views.last();
        view.told =
            before.is_some_and(|it| (it.count, &it.group_name) == (view.count, &view.group_name));
        views.push(view);
    }
    views
}

fn view(graph: &Graph, rule: &Rule, newest: &Newest, dialect: Dialect) -> NewestView {
    let of = |row: &str, conditions: &[Condition]| -> Vec<String> {
        let conditions = conditions.iter();
        conditions
            .map(|condition| dialect.condition_of(row, condition))
            .collect()
    };
    let idents = |columns: &[Column]| -> Vec<String> {
        let columns = columns.iter();
        columns.map(|column| dialect.ident(&column.name)).collect()
    };
    let (per, by) = (idents(&newest.per), idents(&newest.by));
    let key = dialect.ident(&graph.table(rule.root).key[0].name);
    let place: Vec<&String> = by.iter().chain([&key]).collect();
    let place_of = |row: &str| listed(&place, |_, column| format!("{row}.{column}"));
    // The same with numbers for names, which nothing else has.
    let place_by_number = |row: &str| {
        let by = listed(&by, |number, _| format!("{row}by_{number}"));
        format!("{by}, {row}key")
    };
    let groups = |row: &str| listed(&per, |number, _| format!("{row}.per_{number}"));
    let same = |other: &dyn Fn(usize, &String) -> String| -> Vec<String> {
        let columns = per.iter().zip(1..);
        columns
            .map(|(column, number)| format!("n.{column} = {}", other(number, column)))
            .collect()
    };
    let each = |what: &str| -> Vec<String> {
        let columns = per.iter().chain(&by);
        columns.map(|column| format!("i.{column} {what}")).collect()
    };
    let down = |column: &String| format!("n.{column} DESC");
    // Behind the group, or MySQL would read an index on the time alone through all other groups.
    let order = match dialect {
        Dialect::Postgres => &[][..],
        Dialect::Mysql | Dialect::Mariadb => &per,
    };
    let order: Vec<String> = order
        .iter()
        .chain(place.iter().copied())
        .map(down)
        .collect();
    let counted = plan::counted(rule, newest);
    NewestView {
        count: newest.count,
        offset: newest.count - 1,
        group_name: super::names::escaped(dialect, &newest.group()),
        told: false,
        same_as_i: same(&|_, column| format!("i.{column}")),
        same_as_g: same(&|number, _| format!("g.per_{number}")),
        last_of_c: (1..=per.len())
            .map(|number| format!("l.per_{number} = c.per_{number}"))
            .collect(),
        placeless: each("IS NULL"),
        placed: each("IS NOT NULL"),
        ordered: by.iter().map(|by| format!("n.{by} IS NOT NULL")).collect(),
        taken: [
            listed(&per, |number, column| format!("i.{column} AS per_{number}")),
            listed(&by, |number, column| format!("i.{column} AS by_{number}")),
        ]
        .join(", "),
        groups_of_c: groups("c"),
        groups_of_g: groups("g"),
        place_of_i: place_of("i"),
        place_of_n: place_of("n"),
        place_of_c: place_by_number("c."),
        place_of_l: place_by_number("l."),
        columns_of_l: place_by_number(""),
        order: order.join(", "),
        of: of("i", &newest.of),
        counted_of_i: of("i", &counted),
        counted: of("n", &counted),
    }
}

/// Columns with their numbers, between commas.
fn listed<T>(columns: &[T], one: impl Fn(usize, &T) -> String) -> String {
    let columns = columns.iter().zip(1..);
    let columns: Vec<String> = columns
        .map(|(column, number)| one(number, column))
        .collect();
    columns.join(", ")
}
