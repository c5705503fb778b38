//! Views of what sets removal times anew.

use serde::Serialize;

use super::names::{escaped, home, id_type, least_key, local};
use super::rules::batch_setting;
use super::via;
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::graph::{Action, Graph, Kind, Member, Own, Rule, Source, Stamp, TableId, Timed};

/// A definition that says more days than a hundred years has, or less than none, means for ever.
const LONGEST: i64 = 36_525 * 86_400;

/// What the template of a stamp has: fields that a rule has by the same name mean the same.
#[derive(Serialize)]
pub(super) struct StampView {
    /// What its routines begin with, and the rule in the ledger.
    pub(super) name: String,
    literal: String,
    batch_setting: &'static str,
    /// Whether the option `of` names it; what tells it from all others, as a literal.
    pub(super) of: bool,
    pub(super) whole_name: String,
    /// The time that is set.
    end_time: String,
    end_time_name: String,
    time_type: &'static str,
    table: String,
    table_name: String,
    table_literal: String,
    key: String,
    key_name: String,
    key_type: &'static str,
    id_type: &'static str,
    first_key: String,
    /// The key of the family of row `r`; the column that names it, empty where each row is a family.
    family_of_root: String,
    root_column: String,
    /// Whether the rows of a family are others than those of its instances.
    by_family: bool,
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
    /// The instant of the option `to` as the application writes it.
    to: String,
    /// The tables whose rows are stamped, in the order of the rule.
    steps: Vec<StepView>,
    zeros: String,
}

/// A table whose rows `t` are stamped.
#[derive(Serialize)]
struct StepView {
    position: usize,
    table: String,
    table_name: String,
    table_literal: String,
    /// What finds the rows in any case, those of whole families, and those of single instances.
    always: Vec<ChangeView>,
    whole: Vec<ChangeView>,
    own: Vec<ChangeView>,
    /// The columns that are set to what they are, so that the server does not set them.
    untouched: Vec<String>,
}

/// How rows `t` are found from row `w`, which has the key of a family or an instance (`id`), its `family`, and the removal time.
#[derive(Serialize, Clone, PartialEq, Eq)]
pub(super) struct ChangeView {
    why: String,
    pub(super) joins: Vec<JoinView>,
    pub(super) on: String,
}

/// A table between, with the condition for its row.
#[derive(Serialize, Clone, PartialEq, Eq)]
pub(super) struct JoinView {
    pub(super) table: String,
    pub(super) alias: &'static str,
    pub(super) on: String,
}

/// How rows are found from row `w`: the tables between, a column of the rows, and what stands in it.
pub(super) struct Way {
    why: String,
    pub(super) joins: Vec<JoinView>,
    pub(super) column: String,
    pub(super) value: String,
}

impl Way {
    /// The same for row `alias`.
    fn change(self, alias: &str) -> ChangeView {
        ChangeView {
            why: self.why,
            joins: self.joins,
            on: format!("{alias}.{} = {}", self.column, self.value),
        }
    }
}

/// The rules whose removal times can be set anew.
pub(super) fn rules(graph: &Graph) -> impl Iterator<Item = &Rule> {
    graph.rules.iter().filter(|rule| !rule.stamps().is_empty())
}

/// What the routines of each stamp begin with, rule by rule.
pub(super) fn names(graph: &Graph) -> Vec<String> {
    let rules = graph.rules.iter();
    rules
        .flat_map(|rule| rule.stamps().iter().map(|stamp| named(rule, stamp, "_")))
        .collect()
}

/// The name of a stamp: that of its rule, and what it is of.
fn named(rule: &Rule, stamp: &Stamp, separator: &str) -> String {
    match &stamp.of {
        Some(name) => format!("{}{separator}{name}", rule.name),
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
}

/// The same of all that a rule has.
pub(super) fn documents<'a>(
    graph: &'a Graph,
    rule: &'a Rule,
    dialect: Dialect,
) -> Vec<StampDocument<'a>> {
    let timed = rule.timed.iter();
    let stamps = timed.flat_map(|timed| timed.stamps.iter().map(move |stamp| (timed, stamp)));
    let document = |(timed, stamp): (&'a Timed, &'a Stamp)| {
        let finder = Finder {
            graph,
            timed,
            stamp,
            dialect,
        };
        let table = graph.table(stamp.root);
        let members = finder.members().into_iter();
        let stamped = members.filter(|member| finder.step(member).is_some());
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
        }
    };
    stamps.map(document).collect()
}

/// Everything whose removal times can be set anew, rule by rule.
pub(super) fn views(graph: &Graph, dialect: Dialect) -> Vec<StampView> {
    let rules = graph.rules.iter();
    rules
        .flat_map(|rule| views_of(graph, rule, dialect))
        .collect()
}

fn views_of(graph: &Graph, rule: &Rule, dialect: Dialect) -> Vec<StampView> {
    let timed = rule.timed.iter();
    let stamps = timed.flat_map(|timed| timed.stamps.iter().map(move |stamp| (timed, stamp)));
    stamps
        .map(|(timed, stamp)| view(graph, rule, timed, stamp, dialect))
        .collect()
}

/// What removal times can be set anew of rows that the option `of` names: what the ledger calls it, and their table.
pub(super) fn named_of(graph: &Graph) -> Vec<(String, TableId)> {
    let rules = graph.rules.iter();
    let stamps = rules.flat_map(|rule| rule.stamps().iter().map(move |stamp| (rule, stamp)));
    stamps
        .filter(|(_, stamp)| stamp.of.is_some())
        .map(|(rule, stamp)| (named(rule, stamp, "."), stamp.root))
        .collect()
}

fn view(graph: &Graph, rule: &Rule, timed: &Timed, stamp: &Stamp, dialect: Dialect) -> StampView {
    let finder = Finder {
        graph,
        timed,
        stamp,
        dialect,
    };
    let steps: Vec<StepView> = finder
        .members()
        .into_iter()
        .filter_map(|member| finder.step(member))
        .enumerate()
        .map(|(index, step)| StepView {
            position: index + 1,
            ..step
        })
        .collect();
    let table = graph.table(stamp.root);
    let key = &table.key[0];
    let family = stamp.family.as_ref().map(|column| dialect.ident(column));
    let named = |separator: &str| named(rule, stamp, separator);
    let conditions = |row: &'static str| {
        let conditions = stamp.candidates.iter();
        conditions.map(move |condition| dialect.condition_of(row, condition))
    };
    let source = SourceView::of(graph, stamp, dialect);
    StampView {
        name: named("_"),
        literal: dialect.text(&rule.name),
        batch_setting: batch_setting(rule),
        of: stamp.of.is_some(),
        whole_name: dialect.text(&named(".")),
        end_time: dialect.ident(&rule.end_time.name),
        end_time_name: escaped(dialect, &rule.end_time.name),
        time_type: dialect.kind(rule.end_time.kind),
        table: finder.qualified(stamp.root),
        table_name: escaped(dialect, &table.name),
        table_literal: dialect.text(&table.name),
        key: dialect.ident(&key.name),
        key_name: escaped(dialect, &key.name),
        key_type: dialect.kind(key.kind),
        id_type: id_type(dialect, key.kind),
        first_key: least_key(dialect, key.kind),
        family_of_root: family_of(family.as_deref(), &dialect.ident(&key.name), dialect),
        by_family: family.is_some() || steps.iter().any(|step| step.always.is_empty()),
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
        to: match (dialect, rule.end_time.kind) {
            (Dialect::Postgres, Kind::Timestamptz) => {
                "(p_options ->> 'to')::timestamptz".to_owned()
            }
            (Dialect::Postgres, _) => format!(
                "(p_options ->> 'to')::timestamptz AT TIME ZONE {}",
                dialect.text(&graph.time_zone)
            ),
            (Dialect::Mysql | Dialect::Mariadb, kind) => local(graph, kind, "v_to"),
        },
        zeros: vec!["0"; steps.len()].join(", "),
        steps,
    }
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
                    table: dialect.qualified(home(graph, dialect), &definition.table),
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
                    let value = match stamp.per.kind {
                        Kind::Smallint | Kind::Integer | Kind::Bigint => value.clone(),
                        _ => dialect.text(value),
                    };
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

/// What finds the rows of a stamp.
pub(super) struct Finder<'a> {
    pub(super) graph: &'a Graph,
    pub(super) timed: &'a Timed,
    pub(super) stamp: &'a Stamp,
    pub(super) dialect: Dialect,
}

/// Whose rows are found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// Those that name the root of a family of the rule.
    Family,
    /// Those of row `w` of the root table.
    Own,
    /// Those of the rows of the root table that name row `w` as the root of their family.
    Below,
}

impl<'a> Finder<'a> {
    /// The tables in the order in which their rows are changed: that of the rule, and the root table last.
    fn members(&self) -> Vec<&'a Member> {
        let mut members: Vec<&Member> = self.timed.members.iter().collect();
        if self.stamp.of.is_some() {
            members.sort_by_key(|member| member.table == self.stamp.root);
        }
        members
    }

    /// What the rows of a whole family are.
    pub(super) fn of_whole(&self) -> &'static [Whose] {
        match (&self.stamp.of, &self.stamp.family) {
            (None, _) => &[Whose::Family],
            (Some(_), None) => &[Whose::Own],
            (Some(_), Some(_)) => &[Whose::Own, Whose::Below],
        }
    }

    /// A table of the rule, unless a stamp never comes to its rows.
    fn step(&self, member: &Member) -> Option<StepView> {
        let dialect = self.dialect;
        let name = &self.graph.table(member.table).name;
        let found = |whose: &[Whose]| -> Vec<ChangeView> {
            let rows = whose.iter().flat_map(|it| self.rows(member, *it));
            let rows = rows.map(|way| way.change("t"));
            let named = whose.iter().flat_map(|it| self.named_by(member, *it));
            rows.chain(named).collect()
        };
        let (mut whole, mut own) = (found(self.of_whole()), found(&[Whose::Own]));
        whole.extend(self.adopted(member));
        if member.table == self.stamp.root && self.stamp.of.is_none() {
            whole = self.roots(member, &own[0]);
        }
        let mut always = Vec::new();
        if whole == own {
            always = std::mem::take(&mut whole);
            own = Vec::new();
        }
        let is_found = !always.is_empty() || !whole.is_empty() || !own.is_empty();
        let untouched = self.stamp.untouched.iter();
        let untouched = untouched.filter(|(table, _)| *table == member.table);
        is_found.then(|| StepView {
            position: 0,
            table: self.qualified(member.table),
            table_name: escaped(dialect, name),
            table_literal: dialect.text(name),
            always,
            whole,
            own,
            untouched: untouched
                .flat_map(|(_, columns)| columns)
                .map(|column| dialect.ident(column))
                .collect(),
        })
    }

    /// The rows of a family of the rule that name no root, but one of its instances.
    fn adopted(&self, member: &Member) -> Vec<ChangeView> {
        if self.stamp.of.is_some() || self.stamp.family.is_none() || member.table == self.stamp.root
        {
            return Vec::new();
        }
        let Some(family) = member.family.first().map(|it| self.dialect.ident(it)) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for whose in [Whose::Own, Whose::Below] {
            let rows = self.rows(member, whose).into_iter();
            found.extend(rows.map(|way| way.change("t")).map(|rows| ChangeView {
                on: format!("{} AND t.{family} IS NULL", rows.on),
                ..rows
            }));
            let named = self.named_by(member, whose).into_iter();
            found.extend(named.map(|named| ChangeView {
                // What names a root is found by that.
                on: named.on.replace(
                    &format!(" AND (t.{family} IS NULL OR t.{family} = w.family)"),
                    &format!(" AND t.{family} IS NULL"),
                ),
                ..named
            }));
        }
        found
    }

    /// The rows of the rule's root table that are of a family: a root need not name itself.
    fn roots(&self, member: &Member, own: &ChangeView) -> Vec<ChangeView> {
        let whole = self.rows(member, Whose::Family).into_iter();
        let mut whole: Vec<ChangeView> = whole.map(|way| way.change("t")).collect();
        match whole.first() {
            Some(family) if family.on != own.on => {
                let column = self.dialect.ident(&member.family[0]);
                whole.push(ChangeView {
                    why: "A root that does not name itself.".to_owned(),
                    joins: Vec::new(),
                    on: format!("{} AND t.{column} IS NULL", own.on),
                });
            }
            _ => whole = vec![own.clone()],
        }
        whole
    }

    /// How the rows of a table are found that name whose they are.
    pub(super) fn rows(&self, member: &Member, whose: Whose) -> Vec<Way> {
        let way = |why: &str, column: &str, value: &str| Way {
            why: why.to_owned(),
            joins: Vec::new(),
            column: column.to_owned(),
            value: value.to_owned(),
        };
        if whose == Whose::Family {
            let column = member.family.first().map(|it| self.dialect.ident(it));
            let found = column.map(|column| way("The rows of the family.", &column, "w.id"));
            return found.into_iter().collect();
        }
        let family = self.stamp.family.as_ref().map(|it| self.dialect.ident(it));
        let family = family.unwrap_or_default();
        let key = self.key(self.stamp.root);
        if member.table == self.stamp.root {
            return vec![match whose {
                Whose::Below => way(
                    "Those that name it as the root of their family.",
                    &family,
                    "w.id",
                ),
                _ => way("The instances themselves.", &key, "w.id"),
            }];
        }
        let below = (whose == Whose::Below).then(|| JoinView {
            table: self.qualified(self.stamp.root),
            alias: "m",
            on: format!("m.{family} = w.id"),
        });
        let (whom, instance) = match whose {
            Whose::Below => ("one below it", format!("m.{key}")),
            _ => ("the instance", "w.id".to_owned()),
        };
        let own = self.stamp.own.iter();
        own.filter(|own| own.table == member.table)
            .map(|own| {
                let mut joins: Vec<JoinView> = below.iter().cloned().collect();
                let between = self.between(own, &instance);
                let why = match (&between, &own.of_root) {
                    (None, _) => format!("The rows of {whom}."),
                    (Some(_), Some(column)) => format!(
                        "The rows that name {} of {whom}.",
                        escaped(self.dialect, column)
                    ),
                    (Some((table, ..)), None) => format!(
                        "The rows that name one of {whom} in {}.",
                        escaped(self.dialect, &self.graph.table(*table).name)
                    ),
                };
                let value = match between {
                    None => instance.clone(),
                    Some((table, on, column)) => {
                        joins.push(JoinView {
                            table: self.qualified(table),
                            alias: "o",
                            on,
                        });
                        format!("o.{column}")
                    }
                };
                Way {
                    why,
                    joins,
                    column: self.dialect.ident(&own.column),
                    value,
                }
            })
            .collect()
    }

    /// The table between a row and its instance, what its row `o` must be, and the column of it that the row names.
    fn between(&self, own: &Own, instance: &str) -> Option<(TableId, String, String)> {
        if let Some(column) = &own.of_root {
            let root = self.stamp.root;
            let on = format!("o.{} = {instance}", self.key(root));
            return Some((root, on, self.dialect.ident(column)));
        }
        let between = own.through?;
        let mut owns = self.stamp.own.iter();
        let names = owns.find(|own| own.table == between)?;
        let on = format!("o.{} = {instance}", self.dialect.ident(&names.column));
        Some((between, on, self.key(between)))
    }

    /// The rows that others name, by each of these: where a row says itself of which family it is, it is of no other.
    pub(super) fn named_by(&self, member: &Member, whose: Whose) -> Vec<ChangeView> {
        if !self.stamp.named.contains(&member.table) {
            return Vec::new();
        }
        let in_rule = whose == Whose::Own && self.stamp.of.is_none();
        let family = member.family.first().map(|column| {
            let column = self.dialect.ident(column);
            match in_rule {
                true => format!(" AND (t.{column} IS NULL OR t.{column} = w.family)"),
                false => format!(" AND t.{column} IS NULL"),
            }
        });
        let mut found = Vec::new();
        for referrer in &self.timed.members {
            let table = self.graph.table(referrer.table);
            for rows in self.rows(referrer, whose) {
                let rows = rows.change("r");
                let edges = table
                    .edges
                    .iter()
                    .filter(|edge| edge.parent == member.table && edge.action == Action::Delete);
                for edge in edges {
                    let mut joins = rows.joins.clone();
                    joins.push(JoinView {
                        table: self.qualified(referrer.table),
                        alias: "r",
                        on: rows.on.clone(),
                    });
                    found.push(ChangeView {
                        why: format!(
                            "What these rows name in {}.{}.",
                            escaped(self.dialect, &table.name),
                            escaped(self.dialect, &edge.columns())
                        ),
                        joins,
                        on: format!(
                            "{}{}",
                            via::named_by(edge, self.dialect, "t", "r"),
                            family.as_deref().unwrap_or_default()
                        ),
                    });
                }
            }
        }
        found
    }

    pub(super) fn qualified(&self, table: TableId) -> String {
        self.dialect.qualified(
            home(self.graph, self.dialect),
            &self.graph.table(table).name,
        )
    }

    pub(super) fn key(&self, table: TableId) -> String {
        self.dialect.ident(&self.graph.table(table).key[0].name)
    }
}

/// The columns of a table that a stamp sets, quoted: what the owner of the routines may change.
pub(super) fn columns(graph: &Graph, table: TableId, dialect: Dialect) -> Vec<String> {
    let mut columns = Vec::new();
    for rule in &graph.rules {
        let Some(timed) = &rule.timed else { continue };
        for stamp in &timed.stamps {
            let finder = Finder {
                graph,
                timed,
                stamp,
                dialect,
            };
            let member = timed.members.iter().find(|member| member.table == table);
            if let Some(step) = member.and_then(|member| finder.step(member)) {
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

/// The statements that find rows, with literals in place of variables.
pub(super) fn probes(graph: &Graph, rule: &Rule, dialect: Dialect) -> Vec<Probe> {
    let mut probes = Vec::new();
    let time = dialect.ident(&rule.end_time.name);
    let views = views_of(graph, rule, dialect);
    for (stamp, view) in rule.stamps().iter().zip(&views) {
        let one = match graph.table(stamp.root).key[0].kind {
            Kind::Uuid => "'00000000-0000-0000-0000-000000000001'",
            Kind::Varchar => "'a'",
            _ => "1",
        };
        for step in &view.steps {
            for change in step.always.iter().chain(&step.whole).chain(&step.own) {
                probes.push(probe(view, step, change, &time, one, dialect));
            }
        }
    }
    probes
}

fn probe(
    view: &StampView,
    step: &StepView,
    change: &ChangeView,
    time: &str,
    one: &str,
    dialect: Dialect,
) -> Probe {
    let literal = |text: &str| text.replace("w.id", one).replace("w.family", one);
    let mut from = String::new();
    for join in &change.joins {
        from += &match dialect {
            Dialect::Postgres => format!("{} AS {} CROSS JOIN ", join.table, join.alias),
            Dialect::Mysql | Dialect::Mariadb => {
                format!("{} AS {} STRAIGHT_JOIN ", join.table, join.alias)
            }
        };
    }
    let mut conditions: Vec<String> = change.joins.iter().map(|join| literal(&join.on)).collect();
    conditions.push(literal(&change.on));
    Probe {
        what: format!(
            "rule {}: stamp {} by {}",
            view.name, step.table_name, change.on
        ),
        table: step.table_name.clone(),
        sql: format!(
            "SELECT t.{time} FROM {from}{} AS t WHERE {}",
            step.table,
            conditions.join(" AND ")
        ),
    }
}
