//! Rows that name no root, but an instance or what belongs to one: they are of the family of that instance. Engines that
//! did not know roots yet have left such rows.

use serde::Serialize;

use super::names::{escaped, table_name};
use super::roots::Roots;
use super::via;
use super::works::WorkView;
use crate::dialect::Dialect;
use crate::graph::{Action, Edge, Graph, Member, Own, Rule, Stamp, TableId, Timed, Unit};

/// How the rows `t` of a table are found from an instance `m`, if they name no root.
#[derive(Serialize)]
pub(super) struct AdoptView {
    /// How the rows say their instance, one way for each column that does; none where they are named by others.
    owns: Vec<OwnView>,
    /// Where these rows are named by others: the variable or work table with the keys of those that are, its type, and the
    /// ways by which they are found, each of a row that names them by `x`. Others that name them go before them.
    pub(super) named: String,
    key: String,
    key_type: &'static str,
    ways: Vec<WayView>,
    /// The places of the tables whose rows name them.
    positions: Vec<usize>,
    /// What finds these rows from what is known of the families, `a`, for PostgreSQL; the rows of the table without a root.
    pub(super) found: String,
    look: String,
    /// PostgreSQL: that row `t` refers to no root, and rows of a family that is there name it.
    is_named: String,
}

impl AdoptView {
    /// The work table with those that are named, which are rows of a table.
    pub(super) fn work(&self, table: &str, rows: &str) -> Option<WorkView> {
        let why = format!(
            "The rows of {rows} that rows without a root name, each with the family of these."
        );
        (!self.named.is_empty()).then(|| WorkView::by_family(&self.named, table, &self.key, why))
    }
}

/// How rows are found that say their instance by one column.
#[derive(Serialize)]
struct OwnView {
    /// The tables from `m` to `t`.
    joins: Vec<JoinView>,
    /// MySQL and MariaDB: the rows of the table without a root.
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
    /// The place of the table of row `r`; MySQL and MariaDB: the rows of that table without a root.
    position: usize,
    look: String,
    joins: Vec<JoinView>,
    /// The keys that row `r` names, and that row `t` is one of them.
    names: String,
    on: String,
    /// The table of row `r`, and the columns of it that name a root.
    table: String,
    family: Vec<String>,
}

/// How rows of one table name those of another, and say their instance.
struct Referrer<'a> {
    member: &'a Member,
    edge: &'a Edge,
    own: &'a Own,
    /// Whether this is the first way in which they say it.
    is_first: bool,
}

/// Rows in between whose keys are collected before they are deleted.
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

/// What is known of rows without a root.
pub(super) struct Adopter<'a> {
    graph: &'a Graph,
    rule: &'a Rule,
    timed: &'a Timed,
    stamp: &'a Stamp,
    roots: &'a Roots,
    dialect: Dialect,
}

impl AdoptView {
    /// How many lists of families that are kept a statement looks into.
    pub(super) fn lists(&self) -> usize {
        self.owns.len().max(1)
    }
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
            owns: Vec::new(),
            named: String::new(),
            key: key.map_or(String::new(), |key| self.dialect.ident(&key.name)),
            key_type: key.map_or("", |key| self.dialect.kind(key.kind)),
            ways: Vec::new(),
            positions: Vec::new(),
            found: String::new(),
            look: String::new(),
            is_named: String::new(),
        };
        let owns = self.owns(member.table);
        if !owns.is_empty() {
            view.found = self.found(&owns, member);
            view.look = self.look(member);
            let own = |own: &&Own| OwnView {
                joins: self.joins(own, member, "t"),
                look: self.look(member),
            };
            view.owns = owns.iter().map(own).collect();
            return Some(view);
        }
        if !self.stamp.named.contains(&member.table) || key.is_none() {
            return None;
        }
        view.ways = self.ways(member);
        view.positions = view.ways.iter().map(|way| way.position).collect();
        view.positions.dedup();
        let position = self.position(member.table);
        view.named = match self.dialect {
            Dialect::Postgres => format!("o_adopted_{position}"),
            Dialect::Mysql | Dialect::Mariadb => format!("work_adopted_{position}"),
        };
        let rootless = self.rootless(member, "t");
        view.found = format!("t.{} = ANY (a.{}) AND {rootless}", view.key, view.named);
        view.is_named = self.is_named(member, &view.ways);
        (!view.ways.is_empty()).then_some(view)
    }

    fn found(&self, owns: &[&Own], member: &Member) -> String {
        let each = owns.iter().map(|own| {
            let list = match own.through {
                None => "o_all".to_owned(),
                Some(between) => self.variable(between),
            };
            let column = self.dialect.ident(&own.column);
            let says = format!("t.{column} = ANY (a.{list})");
            self.after_others(own, "t")
                .fold(says, |says, other| format!("{says} AND {other}"))
        });
        let each: Vec<String> = each.collect();
        format!(
            "{} AND {}",
            one_of(&each, " OR "),
            self.rootless(member, "t")
        )
    }

    /// The rows of the table without a root. Where there are any, those of the instances at hand are searched: to ask first
    /// which instances these rows say took three times as long.
    fn look(&self, member: &Member) -> String {
        let table = self.qualified(member.table);
        let rootless = self.rootless(member, "t");
        let any = match self.dialect {
            Dialect::Postgres => "SELECT",
            Dialect::Mysql | Dialect::Mariadb => "SELECT 1",
        };
        format!("{any} FROM {table} AS t WHERE {rootless}")
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
            let own = self.direct(between)?;
            let owns = self.stamp.own.iter();
            let owns = owns.filter(|own| own.of_root.is_none() && own.through == Some(between));
            let table = self.graph.table(between);
            Some(BetweenView {
                variable: self.variable(between),
                table: self.qualified(between),
                table_name: escaped(self.dialect, &table.name),
                key: self.key(between),
                key_type: self.dialect.kind(table.key[0].kind),
                column: self.dialect.ident(&own.column),
                positions: owns.map(|own| self.position(own.table)).collect(),
            })
        };
        found.into_iter().filter_map(view).collect()
    }

    /// That row `t` does not belong, without naming a root, to an instance of a family that is kept: of one whose root is
    /// there, where families are deleted as such, else of one of the list.
    ///
    /// Each column that says the instance looks into a list of its own.
    pub(super) fn spares(&self, member: &Member, list: impl Fn(usize) -> String) -> Vec<String> {
        let Some(view) = self.view(member) else {
            return Vec::new();
        };
        let rootless = self.rootless(member, "t");
        let owns = self.owns(member.table);
        if owns.is_empty() {
            let named = match self.dialect {
                // What a window leaves of these is collected; see the routine that keeps.
                _ if !self.by_family() => None,
                Dialect::Postgres => Some(format!("NOT ({})", view.is_named)),
                Dialect::Mysql | Dialect::Mariadb => {
                    let exists = self.named_exists(member, &view.ways, "");
                    Some(format!("NOT ({rootless} AND {})", one_of(&exists, " OR ")))
                }
            };
            return named.into_iter().collect();
        }
        let spares = owns.iter().enumerate().map(|(place, own)| {
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
            let (one, stays) = (via::one(self.dialect), self.stays(&list(place)));
            let says = format!("{rootless}{}", self.behind_others(own, "t"));
            format!("NOT ({says} AND EXISTS (SELECT {one}FROM {from} WHERE {on}{stays}))")
        });
        spares.collect()
    }

    /// That row `t` refers to no root, and rows of a family that is there name it, in lines: for PostgreSQL.
    fn is_named(&self, member: &Member, ways: &[WayView]) -> String {
        if self.dialect != Dialect::Postgres || !self.by_family() {
            return String::new();
        }
        let exists = self.named_exists(member, ways, "");
        let rootless = self.rootless(member, "t");
        format!("{rootless} AND (\n    {}\n)", exists.join("\n    OR "))
    }

    /// Each way by which rows of a family that is kept name row `t`: they name its root, or none but one of its instances.
    fn named_exists(&self, member: &Member, ways: &[WayView], list: &str) -> Vec<String> {
        let (one, stays) = (via::one(self.dialect), self.stays(list));
        let wrap = match self.dialect {
            Dialect::Postgres => "\n        ",
            Dialect::Mysql | Dialect::Mariadb => " ",
        };
        ways.iter()
            .zip(self.referrers(member))
            .flat_map(|(way, Referrer { member, own, .. })| {
                let by_root = way.family.iter().map(|column| {
                    let (root, at) = match self.dialect {
                        Dialect::Postgres => (
                            format!("{} AS f(id)", self.roots.roots),
                            format!("f.id = {column}"),
                        ),
                        Dialect::Mysql | Dialect::Mariadb => (
                            format!("{} AS f", self.roots.table),
                            self.roots.at("f", column, self.dialect),
                        ),
                    };
                    let from = format!("{} AS r{wrap}JOIN {root} ON {at}", way.table);
                    format!("EXISTS (SELECT {one}FROM {from} WHERE {})", way.on)
                });
                let by_root: Vec<String> = by_root.collect();
                let mut from = format!("{} AS r", self.qualified(member.table));
                let (between, instance) = self.to_instance(own, "r");
                for join in between.into_iter().chain([instance]) {
                    from += &format!(" JOIN {} ON {}", join.table, join.on);
                }
                let says = format!(
                    "{}{}",
                    self.rootless(member, "r"),
                    self.behind_others(own, "r")
                );
                let by_instance = format!(
                    "EXISTS (SELECT {one}FROM {from}{wrap}WHERE {} AND {says}{stays})",
                    way.on
                );
                by_root.into_iter().chain([by_instance])
            })
            .collect()
    }

    /// Whether families are deleted as such.
    fn by_family(&self) -> bool {
        self.timed.unit == Unit::Family
    }

    /// That the family of instance `p` is kept, behind other conditions; nothing where `p` is only one whose root is there.
    fn stays(&self, list: &str) -> String {
        let family = self.roots.family_of("p", self.dialect);
        match (self.by_family(), self.dialect) {
            (true, Dialect::Postgres) => String::new(),
            (true, _) => {
                let (table, at) = (&self.roots.table, self.roots.at("f", &family, self.dialect));
                format!(" AND EXISTS (SELECT 1 FROM {table} AS f WHERE {at})")
            }
            (false, Dialect::Postgres) => format!(" AND {family} IN (SELECT unnest({list}))"),
            (false, _) => format!(" AND EXISTS (SELECT 1 FROM {list} AS k WHERE k.id = {family})"),
        }
    }

    /// The family of the instance that a row says which refers to no root; none where the table's rows say none.
    pub(super) fn family_of_instance(&self, member: &Member, row: &str) -> Option<String> {
        let family = self.roots.family_of("p", self.dialect);
        let (root, key) = (&self.roots.table, &self.roots.key);
        let owns = self
            .owns(member.table)
            .into_iter()
            .filter(|_| member.table != self.rule.root);
        let ways = owns.filter_map(|own| {
            let column = format!("{row}.{}", self.dialect.ident(&own.column));
            let (from, at) = match own.through {
                None => (format!("{root} AS p"), format!("p.{key} = {column}")),
                Some(between) => {
                    let names = self.dialect.ident(&self.direct(between)?.column);
                    let (table, at) = (self.qualified(between), self.key(between));
                    let from = format!("{table} AS o JOIN {root} AS p ON p.{key} = o.{names}");
                    (from, format!("o.{at} = {column}"))
                }
            };
            let behind = self.behind_others(own, row);
            Some(format!("(SELECT {family} FROM {from} WHERE {at}{behind})"))
        });
        let ways: Vec<String> = ways.collect();
        (!ways.is_empty()).then(|| ways.join(", "))
    }

    /// That a row refers to no root.
    pub(super) fn rootless(&self, member: &Member, row: &str) -> String {
        let columns = member.family.iter();
        let each = columns.map(|column| format!("{row}.{} IS NULL", self.dialect.ident(column)));
        each.collect::<Vec<_>>().join(" AND ")
    }

    /// How rows of a table say their instance; where a row says it by several columns, the first of them counts.
    fn owns(&self, table: TableId) -> Vec<&'a Own> {
        let owns = self.stamp.own.iter();
        owns.filter(|own| own.table == table && own.of_root.is_none())
            .collect()
    }

    /// The column by which rows in between name their instance.
    fn direct(&self, table: TableId) -> Option<&'a Own> {
        let owns = self.owns(table);
        owns.into_iter().find(|own| own.through.is_none())
    }

    /// That row `row` says nothing by the columns that count before this one.
    fn after_others(&self, own: &Own, row: &str) -> impl Iterator<Item = String> {
        let others = self.stamp.before(own);
        others
            .map(|other| format!("{row}.{} IS NULL", self.dialect.ident(&other.column)))
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// The same behind other conditions.
    fn behind_others(&self, own: &Own, row: &str) -> String {
        let others = self.after_others(own, row);
        others.map(|other| format!(" AND {other}")).collect()
    }

    /// The rows `row` of an instance `m` that name no root.
    fn joins(&self, own: &Own, member: &Member, row: &'static str) -> Vec<JoinView> {
        let mut joins = Vec::new();
        let instance = match own
            .through
            .and_then(|between| Some((between, self.direct(between)?)))
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
                "{row}.{} = {instance} AND {}{}",
                self.dialect.ident(&own.column),
                self.rootless(member, row),
                self.behind_others(own, row)
            ),
        });
        joins
    }

    /// The tables from a row to its instance `p`, each with its alias: one in between where there is one, and that itself.
    fn to_instance(&self, own: &Own, row: &str) -> (Option<JoinView>, JoinView) {
        let column = format!("{row}.{}", self.dialect.ident(&own.column));
        let instance = |named: &str| match self.dialect {
            Dialect::Postgres if self.by_family() => JoinView {
                table: format!("{} AS p(id)", self.roots.rooted),
                alias: "p",
                on: format!("p.id = {named}"),
            },
            _ => JoinView {
                table: format!("{} AS p", self.roots.table),
                alias: "p",
                on: format!("p.{} = {named}", self.roots.key),
            },
        };
        match own
            .through
            .and_then(|between| Some((between, self.direct(between)?)))
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

    /// The tables whose rows name rows of this one, by each edge, and how these say their instance, by each column.
    fn referrers(&self, member: &Member) -> Vec<Referrer<'a>> {
        let mut found = Vec::new();
        for referrer in &self.timed.members {
            let edges = self.graph.table(referrer.table).edges.iter();
            for edge in
                edges.filter(|edge| edge.parent == member.table && edge.action == Action::Delete)
            {
                let owns = self.owns(referrer.table).into_iter().enumerate();
                found.extend(owns.map(|(place, own)| Referrer {
                    member: referrer,
                    edge,
                    own,
                    is_first: place == 0,
                }));
            }
        }
        found
    }

    /// The tables whose rows without a root name those of a table, which are of the family of these, and how.
    pub(super) fn owners(&self, member: &Member) -> Vec<(&'a Member, &'a Edge)> {
        if !self.stamp.named.contains(&member.table) || !self.owns(member.table).is_empty() {
            return Vec::new();
        }
        let referrers = self.referrers(member).into_iter();
        let once = referrers.filter(|it| it.is_first);
        once.map(|it| (it.member, it.edge)).collect()
    }

    fn ways(&self, member: &Member) -> Vec<WayView> {
        let referrers = self.referrers(member).into_iter();
        let way = |Referrer {
                       member,
                       edge,
                       own,
                       is_first,
                   }: Referrer| {
            let table = self.graph.table(member.table);
            let roots = member.family.iter().filter(|_| is_first);
            WayView {
                position: self.position(member.table),
                look: self.look(member),
                why: escaped(self.dialect, &format!("{}.{}", table.name, edge.columns())),
                joins: self.joins(own, member, "r"),
                names: format!("r.{}", self.dialect.ident(&edge.column.name)),
                on: via::named_by(edge, self.dialect, "t", "r"),
                table: self.qualified(member.table),
                family: roots
                    .map(|column| format!("r.{}", self.dialect.ident(column)))
                    .collect(),
            }
        };
        referrers.map(way).collect()
    }

    fn position(&self, table: TableId) -> usize {
        let mut members = self.timed.members.iter();
        members
            .position(|member| member.table == table)
            .map_or(0, |at| at + 1)
    }

    fn variable(&self, between: TableId) -> String {
        format!("o_between_{}", self.position(between))
    }

    fn qualified(&self, table: TableId) -> String {
        table_name(self.graph, self.dialect, &self.graph.table(table).name)
    }

    fn key(&self, table: TableId) -> String {
        self.dialect.ident(&self.graph.table(table).key[0].name)
    }
}

/// The families of a row, as expressions that may be NULL: one for each column that names one, or what its instance says.
pub(super) fn families(
    graph: &Graph,
    rule: &Rule,
    timed: &Timed,
    roots: &Roots,
    member: &Member,
    row: &str,
    dialect: Dialect,
) -> Vec<String> {
    if member.table == rule.root {
        return vec![roots.family_of(row, dialect)];
    }
    let adopter = Adopter::new(graph, rule, timed, roots, dialect);
    let adopted = adopter.and_then(|it| it.family_of_instance(member, row));
    let coalesce = match dialect {
        Dialect::Postgres => "coalesce",
        Dialect::Mysql | Dialect::Mariadb => "COALESCE",
    };
    let columns = member.family.iter();
    let columns = columns.map(|family| format!("{row}.{}", dialect.ident(family)));
    columns
        .map(|family| match &adopted {
            Some(adopted) => format!("{coalesce}({family}, {adopted})"),
            None => family,
        })
        .collect()
}

/// What one of several conditions says, in brackets where there are more.
fn one_of(conditions: &[String], or: &str) -> String {
    match conditions {
        [one] => one.clone(),
        several => format!("({})", several.join(or)),
    }
}
