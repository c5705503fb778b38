//! Views of a rule whose rows go one by one.

use self::mysql::MysqlView;
use serde::Serialize;

use super::above::{self, AboveView};
use crate::graph::{Column, Graph, Kind, Literal, Need, Rule, Single, Table};

mod mysql;
use super::explain::{Root, deletions};
use super::names::{control_name, escaped, home, least_key, local};
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::plan::Purge;

/// What the template of a rule of single rows has beside what it shares with others. Conditions are about row `t` of the table.
#[derive(Serialize)]
pub(super) struct SingleView {
    expiry: bool,
    orphan: bool,
    keep_last: bool,
    /// Whether rows of other tables go with those of the table.
    family: bool,
    /// Whether there is a time from which a retention counts.
    aged: bool,
    /// That time.
    time: String,
    time_name: String,
    time_type: &'static str,
    /// The instant of a run as the application writes it.
    now: String,
    /// Why rows go.
    why: String,
    /// The columns of the key.
    keys: Vec<KeyView>,
    /// The key of row `t` as a text, and what a row is ordered by it.
    key_text: String,
    key_order: String,
    /// The ways to rows above it whose holds keep it.
    above: Vec<AboveView>,
    /// Whether row `t` has the key of row `k`.
    matches: String,
    /// The key as one value on PostgreSQL, where a list of keys is passed on: its type, that of row `t`, and whether `t` has
    /// the key `k.key`.
    key_type: &'static str,
    key_of_t: String,
    same_key: String,
    /// What turns an instant into the clock of the application, where the time of the retention is of that.
    in_zone: String,
    /// Lists of the key's columns: their names, of rows `k`, `l` and `b`, and arrays of them by where they come from.
    names: String,
    /// What a row must be to be of the rule.
    conditions: Vec<String>,
    /// What makes it go: what it names is gone, or enough rows are newer.
    goes: String,
    /// Whether it has no place among its group.
    unranked: String,
    /// The time of a row that goes in pass `p_pass`, its type, and the age of the oldest one.
    due: String,
    oldest_type: &'static str,
    due_cast: String,
    passes: Vec<PassView>,
    /// The tables that are looked into, for the grants.
    pub(super) references: Vec<String>,
    /// What takes the place of arrays and functions on MySQL and MariaDB.
    #[serde(flatten)]
    mysql: Option<MysqlView>,
}

#[derive(Serialize)]
struct KeyView {
    /// The name of its variables.
    name: String,
    column: String,
    kind: &'static str,
    /// Its value in a text `p_key`.
    of_text: String,
}

/// One way through the table.
#[derive(Serialize)]
struct PassView {
    number: usize,
    name: &'static str,
    why: String,
    along: Vec<PlaceView>,
    /// Whether the key, of one column, is all of it.
    by_key: bool,
    /// What is read, with its names or apart from them, and in which order, of the table and of row `n`.
    columns: String,
    values: String,
    names: String,
    order: String,
    /// Behind the place where the pass is, or at it; and not at it.
    reached: String,
    passed: String,
    /// What is read at all, what makes a row due, and the same where there are no variables.
    predicates: Vec<String>,
    due: Vec<String>,
    backlog: Vec<String>,
    due_time: String,
    /// Behind the place `c` of the cursor, where that is a row of a work table.
    beyond: String,
}

/// A column along which a pass goes.
#[derive(Serialize)]
struct PlaceView {
    name: String,
    column: String,
    variable: String,
    kind: &'static str,
    /// Before all values, as a literal.
    first: String,
}

impl SingleView {
    /// Why rows go, by pass.
    pub(super) fn passes(&self) -> Vec<&'static str> {
        self.passes.iter().map(|pass| pass.name).collect()
    }
}

/// Whether rows of other tables go with those of the rule's table.
pub(super) fn has_family(rule: &Rule) -> bool {
    rule.single.is_some() && rule.order.len() > 1
}

pub(super) fn view(graph: &Graph, rule: &Rule, single: &Single, dialect: Dialect) -> SingleView {
    let table = graph.table(rule.root);
    let here = |kind: Kind| match kind {
        Kind::Timestamptz => String::new(),
        _ => format!(" AT TIME ZONE {}", dialect.text(&graph.time_zone)),
    };
    let composite = table.key.len() > 1;
    let keys: Vec<KeyView> = table
        .key
        .iter()
        .enumerate()
        .map(|(index, column)| KeyView {
            name: format!("k{}", index + 1),
            column: dialect.ident(&column.name),
            kind: dialect.kind(column.kind),
            of_text: match (dialect, composite) {
                (Dialect::Postgres, true) => {
                    format!("(p_key::jsonb ->> {index})::{}", dialect.kind(column.kind))
                }
                (Dialect::Postgres, false) => format!("p_key::{}", dialect.kind(column.kind)),
                (Dialect::Mysql | Dialect::Mariadb, _) => mysql::part("p_key", index, composite),
            },
        })
        .collect();
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
        (Dialect::Mysql | Dialect::Mariadb, true) => {
            format!("CAST(JSON_ARRAY({}) AS CHAR)", list(form))
        }
        (Dialect::Mysql | Dialect::Mariadb, false) => format!("CAST({} AS CHAR)", list(form)),
    };
    let conditions: Vec<String> = rule
        .candidates
        .iter()
        .map(|condition| dialect.condition_of("t", condition))
        .collect();
    let key_text = text(&|key| format!("t.{}", key.column));
    let aged = single.aged();
    let passes = passes(graph, rule, single, &conditions, dialect);
    let due = match (single, aged) {
        (Single::Expiry { .. }, Some(fallback)) => format!(
            "(CASE p_pass WHEN 2 THEN t.{} ELSE t.{} END)",
            dialect.ident(&fallback.name),
            dialect.ident(&rule.end_time.name)
        ),
        (Single::Expiry { .. }, None) => format!("t.{}", dialect.ident(&rule.end_time.name)),
        (_, Some(time)) => format!("t.{}", dialect.ident(&time.name)),
        (_, None) => "NULL".to_owned(),
    };
    SingleView {
        expiry: matches!(single, Single::Expiry { .. }),
        orphan: matches!(single, Single::Orphan { .. }),
        keep_last: matches!(single, Single::KeepLast { .. }),
        family: has_family(rule),
        aged: aged.is_some(),
        time: aged.map_or(String::new(), |time| dialect.ident(&time.name)),
        time_name: aged.map_or(String::new(), |time| escaped(dialect, &time.name)),
        time_type: aged.map_or("", |time| dialect.kind(time.kind)),
        now: match dialect {
            Dialect::Postgres => format!("p_as_of{}", here(rule.end_time.kind)),
            Dialect::Mysql | Dialect::Mariadb => local(graph, rule.end_time.kind, "p_as_of"),
        },
        why: match single {
            Single::Expiry { .. } => format!(
                "those whose {} has passed{}.",
                escaped(dialect, &rule.end_time.name),
                aged.map_or(String::new(), |time| format!(
                    ", and those that have none and whose {} is long enough ago",
                    escaped(dialect, &time.name)
                ))
            ),
            Single::Orphan { .. } => "those that name something which is gone.".to_owned(),
            Single::KeepLast { keep: 1, .. } => {
                "all but the newest of each group; the higher key decides between equals."
                    .to_owned()
            }
            Single::KeepLast { keep, .. } => format!(
                "all but the newest {keep} of each group; the higher key decides between equals."
            ),
        },
        key_order: list(&|key| format!("t.{}", key.column)),
        above: above::view(graph, rule, dialect),
        matches: all(&|key| format!("t.{} = k.{}", key.column, key.name)),
        key_type: if composite { "text" } else { keys[0].kind },
        key_of_t: match composite {
            true => text(&|key| format!("t.{}", key.column)),
            false => format!("t.{}", keys[0].column),
        },
        same_key: match composite {
            true => all(&|key| {
                format!(
                    "t.{} = {}",
                    key.column,
                    key.of_text.replace("p_key", "k.key")
                )
            }),
            false => format!("t.{} = k.key", keys[0].column),
        },
        in_zone: aged.map_or(String::new(), |time| here(time.kind)),
        names: list(&|key| key.name.clone()),
        goes: goes(graph, rule, single, dialect),
        unranked: match single {
            Single::KeepLast { group, order, .. } => group
                .iter()
                .chain(order)
                .map(|column| format!("t.{} IS NULL", dialect.ident(&column.name)))
                .collect::<Vec<_>>()
                .join(" OR "),
            _ => String::new(),
        },
        due_cast: format!("{due}::{}", dialect.kind(oldest(rule, single))),
        due,
        oldest_type: dialect.kind(oldest(rule, single)),
        references: references(single)
            .map(|table| dialect.qualified(home(graph, dialect), table))
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

/// The type of the time that the documents show.
pub(super) fn oldest(rule: &Rule, single: &Single) -> Kind {
    match single {
        Single::Expiry { .. } => rule.end_time.kind,
        _ => single.aged().map_or(Kind::Timestamptz, |time| time.kind),
    }
}

/// The tables that are looked into, each once.
pub(super) fn references(single: &Single) -> impl Iterator<Item = &str> {
    let mut tables: Vec<&str> = single.needs().map(|need| need.table.as_str()).collect();
    tables.sort_unstable();
    tables.dedup();
    tables.into_iter()
}

fn passes(
    graph: &Graph,
    rule: &Rule,
    single: &Single,
    conditions: &[String],
    dialect: Dialect,
) -> Vec<PassView> {
    let key = &graph.table(rule.root).key;
    let column = |column: &Column| format!("t.{}", dialect.ident(&column.name));
    // Where there are no variables: in a function of the instant, and in a view.
    let cutoff = match dialect {
        Dialect::Postgres => format!(
            "{}.{}_cutoff(p_as_of, NULL)",
            control_name(graph),
            rule.name
        ),
        Dialect::Mysql | Dialect::Mariadb => mysql::cutoff_now(graph, rule, single),
    };
    let nothing = match dialect {
        Dialect::Postgres => "NULL::timestamptz",
        Dialect::Mysql | Dialect::Mariadb => "NULL",
    };
    let with = |predicates: Vec<String>| -> Vec<String> {
        predicates.into_iter().chain(conditions.to_vec()).collect()
    };
    let aged = single.aged();
    match single {
        Single::Expiry { fallback } => {
            let time = column(&rule.end_time);
            let now = match (dialect, rule.end_time.kind) {
                (Dialect::Postgres, Kind::Timestamptz) => "p_as_of".to_owned(),
                (Dialect::Postgres, _) => {
                    format!("(p_as_of AT TIME ZONE {})", dialect.text(&graph.time_zone))
                }
                (Dialect::Mysql | Dialect::Mariadb, kind) => mysql::now(graph, kind),
            };
            let due = vec![format!("{time} < v_now")];
            let expired = Way {
                name: "expired",
                why: format!(
                    "rows whose {} has passed.",
                    escaped(dialect, &rule.end_time.name)
                ),
                along: vec![&rule.end_time],
                unique: false,
                predicates: with(due.clone()),
                due,
                backlog: with(vec![format!("{time} < {now}")]),
                due_time: time.clone(),
            };
            let fallback = fallback.as_ref().map(|fallback| {
                let none = format!("{time} IS NULL");
                let due = vec![none.clone(), format!("{} < v_cutoff", column(fallback))];
                Way {
                    name: "fallback",
                    why: format!(
                        "rows without one, a retention after their {}.",
                        escaped(dialect, &fallback.name)
                    ),
                    along: vec![fallback],
                    unique: false,
                    predicates: with(due.clone()),
                    due,
                    backlog: with(vec![none, format!("{} < {cutoff}", column(fallback))]),
                    due_time: column(fallback),
                }
            });
            [Some(expired), fallback]
                .into_iter()
                .flatten()
                .enumerate()
                .map(|(index, way)| pass(index + 1, way, key, dialect))
                .collect()
        }
        Single::Orphan { .. } | Single::KeepLast { .. } => {
            let (name, why, along): (_, _, Vec<&Column>) = match single {
                Single::KeepLast { group, order, .. } => (
                    "surplus",
                    "group by group, the newest row last.",
                    group.iter().chain(order).collect(),
                ),
                _ => ("orphan", "every row, by its key.", Vec::new()),
            };
            let placed = along
                .iter()
                .map(|one| format!("{} IS NOT NULL", column(one)))
                .collect();
            let unique = is_unique(graph.table(rule.root), &along);
            let mut backlog = vec![goes(graph, rule, single, dialect)];
            backlog.extend(aged.map(|time| format!("{} < {cutoff}", column(time))));
            vec![pass(
                1,
                Way {
                    name,
                    why: why.to_owned(),
                    along,
                    unique,
                    predicates: with(placed),
                    due: Vec::new(),
                    backlog,
                    due_time: aged.map_or(nothing.to_owned(), column),
                },
                key,
                dialect,
            )]
        }
    }
}

/// Whether no two rows have the same values in these columns.
fn is_unique(table: &Table, along: &[&Column]) -> bool {
    table.unique.iter().any(|unique| {
        let mut columns = unique.iter();
        unique.len() == along.len()
            && columns.all(|one| along.iter().any(|known| known.name == one.name))
    })
}

/// What tells one pass from another.
struct Way<'a> {
    name: &'static str,
    why: String,
    along: Vec<&'a Column>,
    /// Whether no two rows are at the same place, so that the key need not tell them apart: where an index of the application
    /// is unique, some servers do not see that it has the key behind it.
    unique: bool,
    predicates: Vec<String>,
    due: Vec<String>,
    backlog: Vec<String>,
    due_time: String,
}

fn pass(number: usize, way: Way<'_>, key: &[Column], dialect: Dialect) -> PassView {
    let mut along = way.along;
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
                // What two passes go along stands in one work table, on some servers.
                let index = along.iter().position(|known| known.name == column.name);
                format!("c{}", index.unwrap_or_default() + number)
            }
        }
    };
    let places: Vec<PlaceView> = along
        .iter()
        .enumerate()
        .map(|(index, column)| PlaceView {
            name: name(column),
            column: dialect.ident(&column.name),
            variable: format!("v_{number}_{}", index + 1),
            kind: dialect.kind(column.kind),
            first: least_key(dialect, column.kind),
        })
        .collect();
    let columns: Vec<String> = along
        .iter()
        .map(|column| format!("t.{}", dialect.ident(&column.name)))
        .collect();
    let compare = |sign: &str| {
        let variables: Vec<&str> = places.iter().map(|place| place.variable.as_str()).collect();
        match (&columns[..], &variables[..]) {
            ([column], [variable]) => format!("{column} {sign} {variable}"),
            _ => format!("({}) {sign} ({})", columns.join(", "), variables.join(", ")),
        }
    };
    PassView {
        by_key: key.len() == 1 && along.len() == 1 && along[0].name == key[0].name,
        number,
        name: way.name,
        why: way.why,
        columns: read
            .iter()
            .map(|column| format!("t.{} AS {}", dialect.ident(&column.name), name(column)))
            .collect::<Vec<_>>()
            .join(", "),
        values: read
            .iter()
            .map(|column| format!("t.{}", dialect.ident(&column.name)))
            .collect::<Vec<_>>()
            .join(", "),
        names: read
            .iter()
            .map(|column| name(column))
            .collect::<Vec<_>>()
            .join(", "),
        order: columns.join(", "),
        reached: compare(">="),
        passed: compare("<>"),
        beyond: mysql::beyond(&columns, &places),
        along: places,
        predicates: way.predicates,
        due: way.due,
        backlog: way.backlog,
        due_time: way.due_time,
    }
}

/// What makes row `t` go where that is not its own time.
fn goes(graph: &Graph, rule: &Rule, single: &Single, dialect: Dialect) -> String {
    match single {
        Single::Expiry { .. } => String::new(),
        Single::Orphan { needs, .. } => {
            let broken: Vec<String> = needs
                .iter()
                .map(|chain| broken(graph, chain, dialect))
                .collect();
            match &broken[..] {
                [one] => one.clone(),
                _ => format!("({})", broken.join(" OR ")),
            }
        }
        Single::KeepLast {
            group, order, keep, ..
        } => {
            let table = graph.table(rule.root);
            let ident = |column: &Column| dialect.ident(&column.name);
            let along: Vec<&Column> = group.iter().chain(order).collect();
            let unique = is_unique(table, &along);
            let tie = table
                .key
                .iter()
                .filter(|column| !unique && along.iter().all(|known| known.name != column.name));
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
            same.extend(
                order
                    .iter()
                    .map(|column| format!("n.{} IS NOT NULL", ident(column))),
            );
            same.extend(
                rule.candidates
                    .iter()
                    .map(|condition| dialect.condition_of("n", condition)),
            );
            let from = dialect.qualified(home(graph, dialect), &table.name);
            let same = same.join("\n      AND ");
            // A row with NULL in the second of two columns that order is older by the first, and has no place all the same.
            let placed: String = order
                .iter()
                .skip(1)
                .map(|column| format!("t.{} IS NOT NULL AND ", ident(column)))
                .collect();
            if dialect != Dialect::Postgres {
                return format!(
                    "{placed}{} < {}",
                    of("t"),
                    mysql::last_that_stays(&from, &same, group, &ranks, keep - 1)
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

/// Row `t` names something, and what must exist from there on does not.
fn broken(graph: &Graph, chain: &[Need], dialect: Dialect) -> String {
    let mut parts = Vec::new();
    let mut from = String::new();
    let mut first = Vec::new();
    for (index, need) in chain.iter().enumerate() {
        let (upper, row) = match index {
            0 => ("t".to_owned(), "p1".to_owned()),
            _ => (format!("p{index}"), format!("p{}", index + 1)),
        };
        let table = dialect.qualified(home(graph, dialect), &need.table);
        let mut same: Vec<String> = need
            .pairs
            .iter()
            .map(|(column, named)| {
                format!(
                    "{row}.{} = {upper}.{}",
                    dialect.ident(named),
                    dialect.ident(column)
                )
            })
            .collect();
        let none = need.none.as_ref().map(|none| {
            let column = dialect.ident(&need.pairs[0].0);
            let value = match none {
                Literal::Integer(number) => number.to_string(),
                Literal::Text(text) => dialect.text(text),
            };
            format!("{upper}.{column} <> {value}")
        });
        if index == 0 {
            parts.extend(
                need.pairs
                    .iter()
                    .map(|(column, _)| format!("t.{} IS NOT NULL", dialect.ident(column))),
            );
            parts.extend(none);
            from = format!("{table} AS {row}");
            first = same;
        } else {
            same.extend(none);
            from += &format!("\n        JOIN {table} AS {row} ON {}", same.join(" AND "));
        }
    }
    let select = match dialect {
        Dialect::Postgres => "SELECT",
        Dialect::Mysql | Dialect::Mariadb => "SELECT 1",
    };
    parts.push(format!(
        "NOT EXISTS (\n        {select} FROM {from}\n        WHERE {}\n    )",
        first.join("\n          AND ")
    ));
    format!("(\n    {}\n)", parts.join("\n    AND "))
}

/// The statements of the routines with literals in place of variables.
pub(super) fn probes(
    graph: &Graph,
    purge: &Purge,
    root: &Root,
    single: &SingleView,
    dialect: Dialect,
) -> Vec<Probe> {
    let rule = &graph.rules[purge.rule];
    if dialect != Dialect::Postgres {
        return mysql::probes(graph, purge, root, single, dialect);
    }
    let table = &graph.table(rule.root).name;
    let mut probes = Vec::new();
    let literal = |kind: &str, number: usize| match kind {
        "text" => format!("'{}'", ["a", "b"][number % 2]),
        "uuid" => "'00000000-0000-0000-0000-000000000001'::uuid".to_owned(),
        "timestamp" | "timestamptz" => format!("'2000-01-01'::{kind}"),
        _ => format!("1::{kind}"),
    };
    for pass in &single.passes {
        let mut sql = format!(
            "SELECT {} FROM {} AS t WHERE {} AND {}",
            pass.columns, root.table, pass.reached, pass.passed
        );
        for predicate in &pass.predicates {
            sql += &format!(" AND {predicate}");
        }
        sql += &format!(" ORDER BY {} LIMIT 100", pass.order);
        for (index, place) in pass.along.iter().enumerate() {
            sql = sql.replace(&place.variable, &literal(place.kind, index));
        }
        let instant = "'2000-01-02'";
        sql = sql.replace("v_now", instant).replace("v_cutoff", instant);
        probes.push(Probe {
            what: format!("rule {}: the next rows, pass {}", rule.name, pass.name),
            table: table.clone(),
            sql,
        });
    }
    let keys: Vec<String> = single
        .keys
        .iter()
        .enumerate()
        .map(|(index, key)| format!("ARRAY[{}]", literal(key.kind, index)))
        .collect();
    let mut sql = format!(
        "DELETE FROM {} AS t USING unnest({}) AS k({}) WHERE {}",
        root.table,
        keys.join(", "),
        single.names,
        single.matches
    );
    if !single.goes.is_empty() {
        sql += &format!(" AND {}", single.goes);
    }
    probes.push(Probe {
        what: format!("rule {}: delete from {table} by key", rule.name),
        table: table.clone(),
        sql,
    });
    probes.extend(deletions(graph, purge, root));
    probes
}
