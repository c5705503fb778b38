//! Rows that name no root, but an instance or what belongs to one: they are of the family of that instance. Engines that
//! did not know roots yet have left such rows.

use serde::Serialize;

use super::names::{escaped, home};
use super::timed::Roots;
use super::via;
use crate::dialect::Dialect;
use crate::graph::{Action, Graph, Member, Own, Rule, Stamp, TableId, Timed, Unit};

/// How the rows `t` of a table are found from an instance `m`, if they name no root.
#[derive(Serialize)]
pub(super) struct AdoptView {
    /// The tables from `m` to `t`.
    joins: Vec<JoinView>,
    /// Where these rows are named by others: the variable or work table with the keys of those that are, its type, and the
    /// ways by which they are found, each of a row that names them by `x`. Others that name them go before them.
    named: String,
    key: String,
    key_type: &'static str,
    ways: Vec<WayView>,
    /// What finds these rows from the instances `v_all`, for PostgreSQL; whether there may be any: true, false or NULL.
    pub(super) found: String,
    look: String,
}

/// A table that is joined.
#[derive(Serialize, Clone)]
struct JoinView {
    table: String,
    alias: &'static str,
    on: String,
}

/// How keys are found that rows `r` of a table name.
#[derive(Serialize)]
struct WayView {
    why: String,
    joins: Vec<JoinView>,
    /// The keys that row `r` names, and that row `t` is one of them.
    names: String,
    on: String,
    /// The table of row `r`, and the columns of it that name a root.
    table: String,
    family: Vec<String>,
}

/// Rows in between whose keys are collected before they go.
#[derive(Serialize)]
pub(super) struct BetweenView {
    variable: String,
    table: String,
    table_name: String,
    key: String,
    key_type: &'static str,
    column: String,
    /// The tables whose rows name them.
    positions: Vec<usize>,
}

/// How many rows without a root a batch looks at in a table, before it searches the rows of its instances, too.
const LOOKED_AT: u32 = 1_000;

/// What is known of rows without a root.
pub(super) struct Adopter<'a> {
    graph: &'a Graph,
    rule: &'a Rule,
    timed: &'a Timed,
    stamp: &'a Stamp,
    roots: &'a Roots,
    dialect: Dialect,
}

impl<'a> Adopter<'a> {
    /// Where the spec says which rows are those of one instance, and instances have a root.
    pub(super) fn new(
        graph: &'a Graph,
        rule: &'a Rule,
        timed: &'a Timed,
        roots: &'a Roots,
        dialect: Dialect,
    ) -> Option<Adopter<'a>> {
        let stamp = timed.stamps.iter().find(|stamp| stamp.of.is_none())?;
        (!roots.column.is_empty()).then_some(Adopter {
            graph,
            rule,
            timed,
            stamp,
            roots,
            dialect,
        })
    }

    /// How the rows of a table are found; none where its rows have no family, or say no instance.
    pub(super) fn view(&self, member: &Member) -> Option<AdoptView> {
        if member.table == self.rule.root || member.family.is_empty() {
            return None;
        }
        let key = self.graph.table(member.table).key.first();
        let mut view = AdoptView {
            joins: Vec::new(),
            named: String::new(),
            key: key.map_or(String::new(), |key| self.dialect.ident(&key.name)),
            key_type: key.map_or("", |key| self.dialect.kind(key.kind)),
            ways: Vec::new(),
            found: String::new(),
            look: String::new(),
        };
        if let Some(own) = self.own(member.table) {
            view.joins = self.joins(own, member, "t");
            view.found = self.found(own, member);
            view.look = self.look(own, member);
            return Some(view);
        }
        if !self.stamp.named.contains(&member.table) || key.is_none() {
            return None;
        }
        view.ways = self.ways(member);
        let position = self.position(member.table);
        view.named = match self.dialect {
            Dialect::Postgres => format!("v_adopted_{position}"),
            Dialect::Mysql | Dialect::Mariadb => format!("work_adopted_{position}"),
        };
        let rootless = self.rootless(member, "t");
        view.found = format!("t.{} = ANY ({}) AND {rootless}", view.key, view.named);
        view.look = format!("{} <> '{{}}'", view.named);
        (!view.ways.is_empty()).then_some(view)
    }

    fn found(&self, own: &Own, member: &Member) -> String {
        let list = match own.through {
            None => "v_all".to_owned(),
            Some(between) => self.variable(between),
        };
        let column = self.dialect.ident(&own.column);
        format!(
            "t.{column} = ANY ({list}) AND {}",
            self.rootless(member, "t")
        )
    }

    /// Whether a row without a root says one of the instances at hand, as far as some of those rows tell.
    fn look(&self, own: &Own, member: &Member) -> String {
        let table = self.qualified(member.table);
        let column = self.dialect.ident(&own.column);
        let rootless = self.rootless(member, "t");
        let some =
            format!("SELECT t.{column} FROM {table} AS t WHERE {rootless} LIMIT {LOOKED_AT}");
        match (self.dialect, own.through) {
            (Dialect::Postgres, through) => {
                let says = match through {
                    None => "IN (SELECT unnest(v_all))",
                    Some(_) => "IS NOT NULL",
                };
                format!(
                    "(SELECT count(*) = {LOOKED_AT} OR bool_or(l.{column} {says}) FROM ({some}) AS l)"
                )
            }
            (_, None) => {
                let work = self
                    .dialect
                    .qualified(&super::names::control_name(self.graph), "work_root");
                format!(
                    "(SELECT COUNT(*) = {LOOKED_AT} OR COUNT(w.id) > 0 FROM ({some}) AS l LEFT JOIN {work} AS w ON w.id = l.{column})"
                )
            }
            (_, Some(_)) => format!(
                "(SELECT COUNT(*) = {LOOKED_AT} OR COUNT(l.{column}) > 0 FROM ({some}) AS l)"
            ),
        }
    }

    /// The rows in between, for PostgreSQL.
    pub(super) fn between(&self) -> Vec<BetweenView> {
        let mut found: Vec<TableId> = Vec::new();
        let owns = self.stamp.own.iter().filter(|own| own.of_root.is_none());
        for between in owns.filter_map(|own| own.through) {
            if !found.contains(&between) {
                found.push(between);
            }
        }
        let view = |between: TableId| {
            let own = self.own(between)?;
            let table = self.graph.table(between);
            Some(BetweenView {
                variable: self.variable(between),
                table: self.qualified(between),
                table_name: escaped(self.dialect, &table.name),
                key: self.key(between),
                key_type: self.dialect.kind(table.key[0].kind),
                column: self.dialect.ident(&own.column),
                positions: self
                    .stamp
                    .own
                    .iter()
                    .filter(|own| own.of_root.is_none() && own.through == Some(between))
                    .map(|own| self.position(own.table))
                    .collect(),
            })
        };
        found.into_iter().filter_map(view).collect()
    }

    /// That row `t` does not belong, without naming a root, to an instance of a family that stays: of one whose root is
    /// there, where families go as such, else of one of the list.
    pub(super) fn spares(&self, member: &Member, list: &str) -> Option<String> {
        let by_family = self.timed.unit == Unit::Family;
        let view = self.view(member)?;
        let one = match self.dialect {
            Dialect::Postgres => "",
            Dialect::Mysql | Dialect::Mariadb => "1 ",
        };
        let family = self.roots.family_of("p", self.dialect);
        let stays = match (by_family, self.dialect) {
            (true, _) => {
                let (table, at) = (&self.roots.table, self.roots.at("f", &family, self.dialect));
                format!("EXISTS (SELECT {one}FROM {table} AS f WHERE {at})")
            }
            (false, Dialect::Postgres) => format!("{family} IN (SELECT unnest({list}))"),
            (false, _) => format!("EXISTS (SELECT 1 FROM {list} AS k WHERE k.id = {family})"),
        };
        let exists: Vec<String> = match self.own(member.table) {
            Some(own) => {
                let (between, instance) = self.to_instance(own, "t");
                let (from, on) = match between {
                    None => (instance.table, instance.on),
                    Some(between) => (
                        format!(
                            "{} JOIN {} ON {}",
                            between.table, instance.table, instance.on
                        ),
                        between.on,
                    ),
                };
                vec![format!(
                    "EXISTS (SELECT {one}FROM {from} WHERE {on} AND {stays})"
                )]
            }
            // What a window leaves of these is collected; see the routine that keeps.
            None if !by_family => return None,
            None => view
                .ways
                .iter()
                .zip(self.referrers(member))
                .flat_map(|(way, (referrer, own))| {
                    let by_root = way.family.iter().map(|column| {
                        let (table, at) =
                            (&self.roots.table, self.roots.at("f", column, self.dialect));
                        let from = format!("{} AS r JOIN {table} AS f ON {at}", way.table);
                        format!("EXISTS (SELECT {one}FROM {from} WHERE {})", way.on)
                    });
                    let by_root: Vec<String> = by_root.collect();
                    let mut from = format!("{} AS r", self.qualified(referrer.table));
                    let (between, instance) = self.to_instance(own, "r");
                    for join in between.into_iter().chain([instance]) {
                        from += &format!(" JOIN {} ON {}", join.table, join.on);
                    }
                    let rootless = self.rootless(referrer, "r");
                    let by_instance = format!(
                        "EXISTS (SELECT {one}FROM {from} WHERE {} AND {rootless} AND {stays})",
                        way.on
                    );
                    by_root.into_iter().chain([by_instance])
                })
                .collect(),
        };
        let rootless = self.rootless(member, "t");
        let exists = match exists.as_slice() {
            [one] => one.clone(),
            several => format!("({})", several.join(" OR ")),
        };
        Some(format!("NOT ({rootless} AND {exists})"))
    }

    /// That a row names no root.
    fn rootless(&self, member: &Member, row: &str) -> String {
        let columns = member.family.iter();
        let each = columns.map(|column| format!("{row}.{} IS NULL", self.dialect.ident(column)));
        each.collect::<Vec<_>>().join(" AND ")
    }

    fn own(&self, table: TableId) -> Option<&'a Own> {
        let mut owns = self.stamp.own.iter();
        owns.find(|own| own.table == table && own.of_root.is_none())
    }

    /// The rows `row` of an instance `m` that name no root.
    fn joins(&self, own: &Own, member: &Member, row: &'static str) -> Vec<JoinView> {
        let mut joins = Vec::new();
        let instance = match own
            .through
            .and_then(|between| Some((between, self.own(between)?)))
        {
            None => "m.id".to_owned(),
            Some((between, names)) => {
                joins.push(JoinView {
                    table: self.qualified(between),
                    alias: "o",
                    on: format!("o.{} = m.id", self.dialect.ident(&names.column)),
                });
                format!("o.{}", self.key(between))
            }
        };
        joins.push(JoinView {
            table: self.qualified(member.table),
            alias: row,
            on: format!(
                "{row}.{} = {instance} AND {}",
                self.dialect.ident(&own.column),
                self.rootless(member, row)
            ),
        });
        joins
    }

    /// The tables from a row to its instance `p`, each with its alias: one in between where there is one, and that itself.
    fn to_instance(&self, own: &Own, row: &str) -> (Option<JoinView>, JoinView) {
        let column = format!("{row}.{}", self.dialect.ident(&own.column));
        let instance = |named: &str| JoinView {
            table: format!("{} AS p", self.roots.table),
            alias: "p",
            on: format!("p.{} = {named}", self.roots.key),
        };
        match own
            .through
            .and_then(|between| Some((between, self.own(between)?)))
        {
            None => (None, instance(&column)),
            Some((between, names)) => {
                let join = JoinView {
                    table: format!("{} AS o", self.qualified(between)),
                    alias: "o",
                    on: format!("o.{} = {column}", self.key(between)),
                };
                let named = format!("o.{}", self.dialect.ident(&names.column));
                (Some(join), instance(&named))
            }
        }
    }

    /// The tables whose rows name rows of this one, and how these say their instance.
    fn referrers(&self, member: &Member) -> Vec<(&'a Member, &'a Own)> {
        let mut found = Vec::new();
        for referrer in &self.timed.members {
            let Some(own) = self.own(referrer.table) else {
                continue;
            };
            let edges = self.graph.table(referrer.table).edges.iter();
            let edges =
                edges.filter(|edge| edge.parent == member.table && edge.action == Action::Delete);
            found.extend(edges.map(|_| (referrer, own)));
        }
        found
    }

    fn ways(&self, member: &Member) -> Vec<WayView> {
        let mut ways = Vec::new();
        for referrer in &self.timed.members {
            let Some(own) = self.own(referrer.table) else {
                continue;
            };
            let table = self.graph.table(referrer.table);
            let edges = table.edges.iter();
            for edge in
                edges.filter(|edge| edge.parent == member.table && edge.action == Action::Delete)
            {
                ways.push(WayView {
                    why: escaped(self.dialect, &format!("{}.{}", table.name, edge.columns())),
                    joins: self.joins(own, referrer, "r"),
                    names: format!("r.{}", self.dialect.ident(&edge.column.name)),
                    on: via::named_by(edge, self.dialect, "t", "r"),
                    table: self.qualified(referrer.table),
                    family: referrer
                        .family
                        .iter()
                        .map(|column| format!("r.{}", self.dialect.ident(column)))
                        .collect(),
                });
            }
        }
        ways
    }

    fn position(&self, table: TableId) -> usize {
        let mut members = self.timed.members.iter();
        members
            .position(|member| member.table == table)
            .map_or(0, |at| at + 1)
    }

    fn variable(&self, between: TableId) -> String {
        format!("v_between_{}", self.position(between))
    }

    fn qualified(&self, table: TableId) -> String {
        self.dialect.qualified(
            home(self.graph, self.dialect),
            &self.graph.table(table).name,
        )
    }

    fn key(&self, table: TableId) -> String {
        self.dialect.ident(&self.graph.table(table).key[0].name)
    }
}
