//! What a hold keeps that is of no family of a rule by time: the rows that a stamp reaches by its option `of`, such as batches.

use serde::Serialize;

use super::names::{escaped, table_name};
use super::stamp::{Finder, JoinView, family_of};
use super::works::WorkView;
use crate::dialect::Dialect;
use crate::graph::{Graph, Kind, Member, TableId, Timed};

/// A table whose rows can be held, besides the root table of the rule.
#[derive(Serialize)]
pub(super) struct OtherView {
    table: String,
    table_name: String,
    key: String,
    /// The key of the family of row `r` of it, and what that row must be.
    family: String,
    conditions: Vec<String>,
    /// The variable or work table with the keys of the families that are held.
    first: String,
    /// The list with the keys of the rows that are kept, and on PostgreSQL the key of row `r` as it has it.
    list: String,
    key_text: String,
}

/// Values by which rows are kept: an array of texts on PostgreSQL, a work table on MySQL and MariaDB.
#[derive(Serialize)]
pub(super) struct ListView {
    name: String,
    /// A column whose values these are.
    table: String,
    column: String,
    why: String,
    ways: Vec<WayView>,
}

/// How values are found from a row that is held: row `w` is the root of its family.
#[derive(Serialize, Clone, PartialEq, Eq)]
struct WayView {
    /// The place of the table of that row among those that can be held.
    other: usize,
    joins: Vec<JoinView>,
    value: String,
    /// PostgreSQL: the value as the list has it.
    text: String,
}

/// A column of a member by whose values rows are kept.
pub(super) struct Kept {
    table: TableId,
    pub(super) column: String,
    pub(super) list: String,
    /// Whether its values are numbers.
    numeric: bool,
}

impl Kept {
    /// The column of a row as its list has it.
    pub(super) fn text(&self, row: &str) -> String {
        text_of(&format!("{row}.{}", self.column), self.numeric)
    }
}

/// A value as a text: a number has one, whatever digits it has behind its point.
fn text_of(value: &str, numeric: bool) -> String {
    if numeric {
        format!("trim_scale({value})::text")
    } else {
        format!("{value}::text")
    }
}

/// What can be held besides the families of a rule, and what is kept with it.
#[derive(Default)]
pub(super) struct Others {
    pub(super) views: Vec<OtherView>,
    pub(super) lists: Vec<ListView>,
    kept: Vec<Kept>,
}

impl Others {
    pub(super) fn new(graph: &Graph, timed: &Timed, dialect: Dialect) -> Others {
        let mut others = Others::default();
        let finders: Vec<Finder> = timed
            .others()
            .map(|stamp| Finder {
                graph,
                timed,
                stamp,
                dialect,
            })
            .collect();
        for member in &timed.members {
            let finders = finders.iter().enumerate();
            let found = finders.flat_map(|(other, finder)| ways(other, finder, member));
            let found: Vec<Kin> = found.collect();
            let mut columns: Vec<&String> = found.iter().map(|it| &it.column).collect();
            columns.sort();
            columns.dedup();
            for column in columns {
                let of: Vec<&Kin> = found.iter().filter(|it| it.column == *column).collect();
                // What is compared with a number is one.
                let numeric = of.iter().any(|it| it.numeric);
                let ways = of.iter().map(|it| it.way(numeric)).collect();
                others.keep(graph, member.table, column, (ways, numeric), dialect);
            }
        }
        others.views = finders
            .iter()
            .enumerate()
            .map(|(other, finder)| others.view(other, finder))
            .collect();
        others
    }

    /// The work tables with what is held.
    pub(super) fn works(&self) -> Vec<WorkView> {
        let firsts = self.views.iter().map(|it| {
            let why = format!("The families of rows of {} that are held.", it.table_name);
            WorkView::keys(&it.first, &it.table, &it.key, why)
        });
        let lists = self.lists.iter().map(|it| {
            let why = format!(
                "What is kept with rows that are held and of no family: {}.",
                it.why
            );
            WorkView::numbered(&it.name, &it.table, &it.column, why)
        });
        firsts.chain(lists).collect()
    }

    /// The columns of a member by whose values its rows are kept.
    pub(super) fn of(&self, table: TableId) -> impl Iterator<Item = &Kept> {
        self.kept.iter().filter(move |kept| kept.table == table)
    }

    /// Rows of a table are kept whose column has one of the values. A list serves all tables but those that have it already:
    /// MySQL lets a statement name a work table once.
    fn keep(
        &mut self,
        graph: &Graph,
        table: TableId,
        column: &str,
        (ways, numeric): (Vec<WayView>, bool),
        dialect: Dialect,
    ) {
        let name = &graph.table(table).name;
        let why = escaped(dialect, &format!("{name}.{column}").replace(['"', '`'], ""));
        let taken: Vec<String> = self.of(table).map(|kept| kept.list.clone()).collect();
        let mut lists = self.lists.iter_mut();
        let list = match lists.find(|list| list.ways == ways && !taken.contains(&list.name)) {
            Some(list) => {
                list.why += &format!(", {why}");
                list.name.clone()
            }
            None => {
                let number = self.lists.len() + 1;
                let list = match dialect {
                    Dialect::Postgres => format!("o_held_{number}"),
                    Dialect::Mysql | Dialect::Mariadb => format!("work_held_{number}"),
                };
                self.lists.push(ListView {
                    name: list.clone(),
                    table: table_name(graph, dialect, name),
                    column: column.to_owned(),
                    why,
                    ways,
                });
                list
            }
        };
        self.kept.push(Kept {
            table,
            column: column.to_owned(),
            list,
            numeric,
        });
    }

    fn view(&self, other: usize, finder: &Finder) -> OtherView {
        let root = finder.stamp.root;
        let key = finder.key(root);
        let mut kept = self.of(root);
        let kept = kept.find(|kept| kept.column == key);
        let kept = kept.expect("a member of the rule");
        OtherView {
            table: finder.qualified(root),
            table_name: escaped(finder.dialect, &finder.graph.table(root).name),
            family: family(finder),
            conditions: conditions(finder),
            first: match finder.dialect {
                Dialect::Postgres => format!("v_first_{}", other + 1),
                Dialect::Mysql | Dialect::Mariadb => format!("work_other_{}", other + 1),
            },
            list: kept.list.clone(),
            key_text: kept.text("r"),
            key,
        }
    }
}

/// A column by which rows are kept, and how its values are found.
struct Kin {
    other: usize,
    column: String,
    joins: Vec<JoinView>,
    value: String,
    /// Whether it is known to be a number.
    numeric: bool,
}

impl Kin {
    fn way(&self, numeric: bool) -> WayView {
        WayView {
            other: self.other,
            joins: self.joins.clone(),
            value: self.value.clone(),
            text: text_of(&self.value, numeric),
        }
    }
}

/// By which columns the rows of a member are kept with a row that is held.
fn ways(other: usize, finder: &Finder, member: &Member) -> Vec<Kin> {
    let root = finder.stamp.root;
    let key = finder.key(root);
    let is_number = |table: TableId| finder.graph.table(table).key[0].kind == Kind::Numeric;
    let instances = ["w.id".to_owned(), format!("m.{key}")];
    let way = |column: String, joins: Vec<JoinView>, value: String, numeric: bool| Kin {
        other,
        column,
        joins,
        numeric: numeric || instances.contains(&value) && is_number(root),
        value,
    };
    let mut found = Vec::new();
    for whose in finder.of_whole() {
        for rows in finder.rows(member, *whose) {
            found.push(if member.table == root && rows.column != key {
                // Rows that refer to the root of their family are looked up by their key, as all others of their table.
                let below = JoinView {
                    table: finder.qualified(root),
                    alias: "m",
                    on: format!("m.{} = {}", rows.column, rows.value),
                };
                way(key.clone(), vec![below], format!("m.{key}"), false)
            } else {
                way(rows.column, rows.joins, rows.value, false)
            });
        }
        for named in finder.named_by(member, *whose) {
            let mut joins = named.joins;
            joins.push(JoinView {
                table: finder.qualified(member.table),
                alias: "t",
                on: [named.on, named.also].join(" ").trim_end().to_owned(),
            });
            let key = finder.key(member.table);
            let value = format!("t.{key}");
            found.push(way(key, joins, value, is_number(member.table)));
        }
    }
    found
}

/// The key of the family of row `r` of the root table.
fn family(finder: &Finder) -> String {
    let column = finder.stamp.family.as_ref();
    let column = column.map(|column| finder.dialect.ident(column));
    family_of(
        column.as_deref(),
        &finder.key(finder.stamp.root),
        finder.dialect,
    )
}

/// What row `r` of the root table must be: a row of a family of the rule is held by a row of that.
fn conditions(finder: &Finder) -> Vec<String> {
    let Finder {
        timed,
        stamp,
        dialect,
        ..
    } = finder;
    let candidates = stamp.candidates.iter();
    let candidates = candidates.map(|condition| dialect.condition_of("r", condition));
    let members = timed.members.iter().filter(|it| it.table == stamp.root);
    let families = members.flat_map(|member| &member.family);
    let alone = families.map(|column| format!("r.{} IS NULL", dialect.ident(column)));
    candidates.chain(alone).collect()
}
