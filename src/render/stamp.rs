//! Views of what sets removal times anew.

use serde::Serialize;

use super::{escaped, home, local};
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::graph::{Action, Graph, Kind, Member, Own, Rule, Stamp, TableId, Timed};

/// A definition that says more days than a hundred years has, or less than none, means for ever.
const LONGEST: i64 = 36_525 * 86_400;

/// What the template of a stamp has beside [`super::RuleView`] and [`super::timed::TimedView`].
#[derive(Serialize)]
pub(super) struct StampView {
    /// The columns of the root table: when a row began and ended, and what names its definition.
    start: String,
    ended: String,
    per: String,
    per_name: String,
    /// The definitions, and the column that `per` names.
    definition: String,
    definition_name: String,
    definition_key: String,
    /// What row `d` of them says, whether that is a time to live, and that one in seconds.
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
    /// What finds the rows of whole families, and those of single instances.
    whole: Vec<ChangeView>,
    own: Vec<ChangeView>,
    /// The columns that are set to what they are, so that the server does not set them.
    untouched: Vec<String>,
}

/// How rows `t` are found from row `w`, which has the key of a family or an instance (`id`), its `family`, and the removal time.
#[derive(Serialize, Clone)]
struct ChangeView {
    why: String,
    joins: Vec<JoinView>,
    on: String,
}

/// A table between, with the condition for its row.
#[derive(Serialize, Clone)]
struct JoinView {
    table: String,
    alias: &'static str,
    on: String,
}

pub(super) fn view(
    graph: &Graph,
    rule: &Rule,
    timed: &Timed,
    stamp: &Stamp,
    dialect: Dialect,
) -> StampView {
    let says = format!("d.{}", dialect.ident(&stamp.definition.column));
    let finder = Finder {
        graph,
        rule,
        timed,
        stamp,
        dialect,
    };
    let steps: Vec<StepView> = timed
        .members
        .iter()
        .filter_map(|member| finder.step(member))
        .enumerate()
        .map(|(index, step)| StepView {
            position: index + 1,
            ..step
        })
        .collect();
    StampView {
        start: dialect.ident(&stamp.start.name),
        ended: timed
            .ended
            .as_ref()
            .map_or(String::new(), |ended| dialect.ident(&ended.name)),
        per: dialect.ident(&stamp.per.name),
        per_name: escaped(dialect, &stamp.per.name),
        definition: dialect.qualified(home(graph, dialect), &stamp.definition.table),
        definition_name: escaped(dialect, &stamp.definition.table),
        definition_key: dialect.ident(&stamp.definition.key.name),
        ends: format!("{says} BETWEEN 0 AND {}", LONGEST / stamp.definition.unit),
        seconds: match dialect {
            Dialect::Postgres => format!("{says}::bigint * {}", stamp.definition.unit),
            Dialect::Mysql | Dialect::Mariadb => format!("{says} * {}", stamp.definition.unit),
        },
        says,
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

/// What finds the rows of a stamp.
struct Finder<'a> {
    graph: &'a Graph,
    rule: &'a Rule,
    timed: &'a Timed,
    stamp: &'a Stamp,
    dialect: Dialect,
}

impl Finder<'_> {
    /// A table of the rule, unless a stamp never comes to its rows.
    fn step(&self, member: &Member) -> Option<StepView> {
        let dialect = self.dialect;
        let name = &self.graph.table(member.table).name;
        let (whole, own) = if member.table == self.rule.root {
            self.roots(member)
        } else {
            let mut whole: Vec<ChangeView> = self.of_family(member, "t").into_iter().collect();
            whole.extend(self.named_by(member, false));
            let mut own: Vec<ChangeView> = self.own(member.table, "t").into_iter().collect();
            own.extend(self.named_by(member, true));
            (whole, own)
        };
        let untouched = self.stamp.untouched.iter();
        let untouched = untouched.filter(|(table, _)| *table == member.table);
        (!whole.is_empty() || !own.is_empty()).then(|| StepView {
            position: 0,
            table: self.qualified(member.table),
            table_name: escaped(dialect, name),
            table_literal: dialect.text(name),
            whole,
            own,
            untouched: untouched
                .flat_map(|(_, columns)| columns)
                .map(|column| dialect.ident(column))
                .collect(),
        })
    }

    /// The rows of the root table: a root need not name itself.
    fn roots(&self, member: &Member) -> (Vec<ChangeView>, Vec<ChangeView>) {
        let key = self.key(self.rule.root);
        let change = |why: &str, on: String| ChangeView {
            why: why.to_owned(),
            joins: Vec::new(),
            on,
        };
        let own = change("The instances themselves.", format!("t.{key} = w.id"));
        let mut whole: Vec<ChangeView> = self.of_family(member, "t").into_iter().collect();
        match whole.first() {
            Some(family) if family.on != own.on => {
                let column = self.dialect.ident(&member.family[0]);
                whole.push(change(
                    "A root that does not name itself.",
                    format!("t.{key} = w.id AND t.{column} IS NULL"),
                ));
            }
            _ => whole = vec![own.clone()],
        }
        (whole, vec![own])
    }

    /// The rows of a whole family, as row `alias`.
    fn of_family(&self, member: &Member, alias: &str) -> Option<ChangeView> {
        let column = member.family.first()?;
        Some(ChangeView {
            why: "The rows of the family.".to_owned(),
            joins: Vec::new(),
            on: format!("{alias}.{} = w.id", self.dialect.ident(column)),
        })
    }

    /// The rows of one instance, as row `alias`.
    fn own(&self, table: TableId, alias: &str) -> Option<ChangeView> {
        let Own {
            column, through, ..
        } = self.stamp.own.iter().find(|own| own.table == table)?;
        let column = self.dialect.ident(column);
        let between = through.and_then(|between| {
            let own = self.stamp.own.iter().find(|own| own.table == between)?;
            Some((between, self.dialect.ident(&own.column)))
        });
        Some(match between {
            None => ChangeView {
                why: "The rows of the instance.".to_owned(),
                joins: Vec::new(),
                on: format!("{alias}.{column} = w.id"),
            },
            Some((between, names)) => ChangeView {
                why: format!(
                    "The rows that name one of the instance in {}.",
                    escaped(self.dialect, &self.graph.table(between).name)
                ),
                joins: vec![JoinView {
                    table: self.qualified(between),
                    alias: "o",
                    on: format!("o.{names} = w.id"),
                }],
                on: format!("{alias}.{column} = o.{}", self.key(between)),
            },
        })
    }

    /// The rows that others name, by each of these: where a row says itself of which family it is, it is of no other.
    fn named_by(&self, member: &Member, own: bool) -> Vec<ChangeView> {
        if !self.stamp.named.contains(&member.table) {
            return Vec::new();
        }
        let family = member.family.first().map(|column| {
            let column = self.dialect.ident(column);
            match own {
                true => format!(" AND (t.{column} IS NULL OR t.{column} = w.family)"),
                false => format!(" AND t.{column} IS NULL"),
            }
        });
        let mut found = Vec::new();
        for referrer in &self.timed.members {
            let rows = match own {
                true => self.own(referrer.table, "r"),
                false => self.of_family(referrer, "r"),
            };
            let Some(rows) = rows else { continue };
            let table = self.graph.table(referrer.table);
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
                let same: Vec<String> = edge
                    .pairs()
                    .map(|(column, named)| {
                        format!(
                            "t.{} = r.{}",
                            self.dialect.ident(&named.name),
                            self.dialect.ident(&column.name)
                        )
                    })
                    .collect();
                found.push(ChangeView {
                    why: format!(
                        "What these rows name in {}.{}.",
                        escaped(self.dialect, &table.name),
                        escaped(self.dialect, &edge.columns())
                    ),
                    joins,
                    on: format!(
                        "{}{}",
                        same.join(" AND "),
                        family.as_deref().unwrap_or_default()
                    ),
                });
            }
        }
        found
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

/// The columns of a table that a stamp sets, quoted: what the owner of the routines may change.
pub(super) fn columns(graph: &Graph, table: TableId, dialect: Dialect) -> Vec<String> {
    let mut columns = Vec::new();
    for rule in &graph.rules {
        let Some(timed) = &rule.timed else { continue };
        let Some(stamp) = &timed.stamp else { continue };
        let finder = Finder {
            graph,
            rule,
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
    columns.sort();
    columns.dedup();
    columns
}

/// The statements that find rows, with literals in place of variables.
pub(super) fn probes(graph: &Graph, rule: &Rule, view: &StampView, dialect: Dialect) -> Vec<Probe> {
    let mut probes = Vec::new();
    let time = dialect.ident(&rule.end_time.name);
    let one = match graph.table(rule.root).key[0].kind {
        Kind::Uuid => "'00000000-0000-0000-0000-000000000001'",
        Kind::Varchar => "'a'",
        _ => "1",
    };
    for step in &view.steps {
        for change in step.whole.iter().chain(&step.own) {
            let literal = |text: &str| text.replace("w.id", one).replace("w.family", one);
            let mut from = String::new();
            for join in &change.joins {
                from += &match dialect {
                    Dialect::Postgres => {
                        format!("{} AS {} CROSS JOIN ", join.table, join.alias)
                    }
                    Dialect::Mysql | Dialect::Mariadb => {
                        format!("{} AS {} STRAIGHT_JOIN ", join.table, join.alias)
                    }
                };
            }
            let mut conditions: Vec<String> =
                change.joins.iter().map(|join| literal(&join.on)).collect();
            conditions.push(literal(&change.on));
            probes.push(Probe {
                what: format!(
                    "rule {}: stamp {} by {}",
                    rule.name, step.table_name, change.on
                ),
                table: step.table_name.clone(),
                sql: format!(
                    "SELECT t.{time} FROM {from}{} AS t WHERE {}",
                    step.table,
                    conditions.join(" AND ")
                ),
            });
        }
    }
    probes
}
