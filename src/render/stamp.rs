//! Views of what sets removal times.

use serde::Serialize;

use super::names::{escaped, fixed_offset, id_type, least_key, listed, table_name};
use super::works::WorkView;
use crate::dialect::Dialect;
use crate::graph::{Graph, Kind, Member, Rule, Source, Stamp, TableId};
use ways::ChangeView;

pub(super) use ways::{Finder, JoinView};

mod ways;

/// A definition that says more days than a hundred years has, or less than none, means forever.
const LONGEST: i64 = 36_525 * 86_400;

/// What the template of a stamp has: fields that a rule has by the same name mean the same.
#[derive(Serialize)]
pub(super) struct StampView {
    /// What its routines begin with.
    pub(super) name: String,
    /// Whether the option `of` names it.
    of: bool,
    /// The time that is set.
    end_time: String,
    end_time_name: String,
    time_type: &'static str,
    table: String,
    table_name: String,
    key: String,
    key_type: &'static str,
    id_type: &'static str,
    /// What work tables of the kernel have their types from, on MySQL and MariaDB.
    pub(super) types: WorkView,
    /// The key of the family of row `r`; the column that names it, empty where each row is a family.
    family_of_root: String,
    root_column: String,
    /// What row `r` must be; the same of row `f`, each after an AND.
    conditions: Vec<String>,
    and_of_others: String,
    /// The columns of the root table: when a row began and ended, and what names its definition.
    start: String,
    ended: String,
    per: String,
    per_name: String,
    /// The definitions, and the column that `per` names; empty where the spec itself says how long.
    definition: String,
    definition_name: String,
    definition_key: String,
    /// What row `d` of them says, whether that is a time to live, and that one in seconds. Where there are none: the
    /// seconds of row `b`, or NULL.
    says: String,
    ends: String,
    seconds: String,
    /// The tables whose rows are stamped, in the order of the rule.
    steps: Vec<StepView>,
}

/// A table whose rows `t` are stamped.
#[derive(Serialize)]
struct StepView {
    table: String,
    changes: Vec<ChangeView>,
    /// The columns that are set to what they are, so that the server does not set them.
    untouched: Vec<String>,
}

/// What the routines of each stamp begin with, rule by rule.
pub(super) fn names(graph: &Graph) -> Vec<String> {
    let rules = graph.rules.iter();
    rules
        .flat_map(|rule| rule.stamps().iter().map(|stamp| named(rule, stamp)))
        .collect()
}

/// The name of a stamp: that of its rule, and what it is of.
fn named(rule: &Rule, stamp: &Stamp) -> String {
    match &stamp.of {
        Some(name) => format!("{}_{name}", rule.name),
        None => rule.name.clone(),
    }
}

/// What the kernel knows of what has removal times to set.
#[derive(Serialize)]
pub(super) struct StampDocument<'a> {
    /// What it is besides the families of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<&'a str>,
    /// Its table, and the columns of the key of that, with their types.
    root: &'a str,
    key: Vec<String>,
    /// Before all keys.
    first_key: String,
    /// The tables whose rows are set, in that order.
    tables: Vec<&'a str>,
    /// What MySQL and MariaDB add to an instant in UTC, in seconds; none where the zone of the application says.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<i32>,
}

/// The same of all that a rule has.
pub(super) fn documents<'a>(
    graph: &'a Graph,
    rule: &'a Rule,
    dialect: Dialect,
) -> Vec<StampDocument<'a>> {
    let document = |finder: Finder<'a>| {
        let stamp = finder.stamp;
        let table = graph.table(stamp.root);
        let members = finder.members().into_iter();
        let stamped = members.filter(|member| finder.found(member).all().next().is_some());
        StampDocument {
            of: stamp.of.as_deref(),
            root: &table.name,
            key: super::spelling::key(table, dialect),
            first_key: least_key(dialect, table.key[0].kind)
                .trim_matches('\'')
                .to_owned(),
            tables: stamped
                .map(|member| graph.table(member.table).name.as_str())
                .collect(),
            offset: match (dialect, rule.end_time.kind) {
                (Dialect::Postgres, _) => None,
                (_, Kind::Timestamptz) => Some(0),
                _ => fixed_offset(&graph.time_zone),
            },
        }
    };
    finders(graph, rule, dialect).map(document).collect()
}

/// Everything whose removal times can be set anew, rule by rule.
pub(super) fn views(graph: &Graph, dialect: Dialect) -> Vec<StampView> {
    let mut views = Vec::new();
    for rule in &graph.rules {
        for finder in finders(graph, rule, dialect) {
            views.push(view(rule, &finder));
        }
    }
    views
}

/// What finds the rows of each stamp of a rule.
fn finders<'a>(
    graph: &'a Graph,
    rule: &'a Rule,
    dialect: Dialect,
) -> impl Iterator<Item = Finder<'a>> {
    let timed = rule.timed().into_iter();
    timed.flat_map(move |timed| {
        timed.stamps.iter().map(move |stamp| Finder {
            graph,
            timed,
            stamp,
            dialect,
        })
    })
}

fn view(rule: &Rule, finder: &Finder) -> StampView {
    let Finder {
        graph,
        stamp,
        dialect,
        ..
    } = *finder;
    let table = graph.table(stamp.root);
    let key = &table.key[0];
    let family = stamp.family.as_ref().map(|column| dialect.ident(column));
    let conditions = |row: &'static str| {
        let conditions = stamp.candidates.iter();
        conditions.map(move |condition| dialect.condition_of(row, condition))
    };
    let source = SourceView::of(graph, stamp, dialect);
    let members = finder.members().into_iter();
    StampView {
        name: named(rule, stamp),
        of: stamp.of.is_some(),
        end_time: dialect.ident(&rule.end_time.name),
        end_time_name: escaped(dialect, &rule.end_time.name),
        time_type: dialect.kind(rule.end_time.kind),
        types: WorkView::types(
            &finder.qualified(stamp.root),
            vec![
                ("id".to_owned(), dialect.ident(&key.name)),
                ("due".to_owned(), dialect.ident(&rule.end_time.name)),
            ],
            &[],
        ),
        table: finder.qualified(stamp.root),
        table_name: escaped(dialect, &table.name),
        key: dialect.ident(&key.name),
        key_type: dialect.kind(key.kind),
        id_type: id_type(dialect, key.kind, false),
        family_of_root: family_of(family.as_deref(), &dialect.ident(&key.name), dialect),
        root_column: family.unwrap_or_default(),
        conditions: conditions("r").collect(),
        and_of_others: conditions("f").map(|it| format!(" AND {it}")).collect(),
        start: dialect.ident(&stamp.start.name),
        ended: dialect.ident(&stamp.ended.name),
        per: dialect.ident(&stamp.per.name),
        per_name: escaped(dialect, &stamp.per.name),
        definition: source.table,
        definition_name: source.name,
        definition_key: source.key,
        says: source.says,
        ends: source.ends,
        seconds: source.seconds,
        steps: members.filter_map(|it| step(finder, it, rule)).collect(),
    }
}

/// A table of the rule, unless a stamp never comes to its rows.
fn step(finder: &Finder, member: &Member, rule: &Rule) -> Option<StepView> {
    let changes = finder.found(member).changes(finder.dialect, rule);
    if changes.is_empty() {
        return None;
    }
    let untouched = finder.stamp.untouched.iter();
    let untouched = untouched.filter(|(table, _)| *table == member.table);
    Some(StepView {
        table: finder.qualified(member.table),
        changes,
        untouched: untouched
            .flat_map(|(_, columns)| columns)
            .map(|column| finder.dialect.ident(column))
            .collect(),
    })
}

/// The key of the family of row `r` of a root table.
pub(super) fn family_of(column: Option<&str>, key: &str, dialect: Dialect) -> String {
    match (column, dialect) {
        (None, _) => format!("r.{key}"),
        (Some(column), Dialect::Postgres) => format!("coalesce(r.{column}, r.{key})"),
        (Some(column), _) => format!("COALESCE(r.{column}, r.{key})"),
    }
}

/// What says how long a family is kept; see [`StampView`].
#[derive(Default)]
struct SourceView {
    table: String,
    name: String,
    key: String,
    says: String,
    ends: String,
    seconds: String,
}

impl SourceView {
    fn of(graph: &Graph, stamp: &Stamp, dialect: Dialect) -> SourceView {
        match &stamp.source {
            Source::Definition(definition) => {
                let says = format!("d.{}", dialect.ident(&definition.column));
                SourceView {
                    table: table_name(graph, dialect, &definition.table),
                    name: escaped(dialect, &definition.table),
                    key: dialect.ident(&definition.key.name),
                    ends: format!("{says} BETWEEN 0 AND {}", LONGEST / definition.unit),
                    seconds: match dialect {
                        Dialect::Postgres => format!("{says}::bigint * {}", definition.unit),
                        Dialect::Mysql | Dialect::Mariadb => {
                            format!("{says} * {}", definition.unit)
                        }
                    },
                    says,
                }
            }
            Source::Values(values) => {
                let cases = values.iter().map(|(value, seconds)| {
                    let value = listed(dialect, stamp.per.kind, value);
                    format!(" WHEN {value} THEN {seconds}")
                });
                let cases: String = cases.collect();
                let per = dialect.ident(&stamp.per.name);
                SourceView {
                    says: format!("CASE b.{per}{cases} END"),
                    ..SourceView::default()
                }
            }
        }
    }
}

/// The columns of a table that a stamp sets, quoted: what the owner of the routines may change.
pub(super) fn columns(graph: &Graph, table: TableId, dialect: Dialect) -> Vec<String> {
    let mut columns = Vec::new();
    for rule in &graph.rules {
        for finder in finders(graph, rule, dialect) {
            let mut members = finder.timed.members.iter();
            let member = members.find(|member| member.table == table);
            if let Some(step) = member.and_then(|member| step(&finder, member, rule)) {
                columns.push(dialect.ident(&rule.end_time.name));
                if dialect != Dialect::Postgres {
                    columns.extend(step.untouched);
                }
            }
        }
    }
    columns.sort();
    columns.dedup();
    columns
}
