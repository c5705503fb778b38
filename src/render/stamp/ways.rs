//! How the rows are found that a stamp sets.

use serde::Serialize;

use crate::dialect::Dialect;
use crate::graph::{Action, Graph, Member, Own, Rule, Stamp, TableId, Timed};
use crate::render::layout;
use crate::render::names::table_name;
use crate::render::via;

/// How rows `t` are found from row `w`, which has the key of an instance (`id`), that of its `family`, and the removal time
/// of both. Where a whole family is stamped, the row of that has its key once more (`root`), on MySQL and MariaDB a flag.
#[derive(Serialize, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChangeView {
    pub(crate) joins: Vec<JoinView>,
    pub(crate) on: String,
    /// What row `t` must be besides, after an AND.
    pub(crate) also: String,
    /// Whether the conditions fill a line.
    is_long: bool,
}

/// A table between, with the condition for its row.
#[derive(Serialize, Clone, PartialEq, Eq)]
pub(crate) struct JoinView {
    pub(crate) table: String,
    pub(crate) alias: &'static str,
    pub(crate) on: String,
}

/// How rows are found from row `w`: the tables between, a column of the rows, and what is in it.
pub(crate) struct Way {
    pub(crate) joins: Vec<JoinView>,
    pub(crate) column: String,
    pub(crate) value: String,
    /// The columns that count before this one, which say nothing then.
    before: Vec<String>,
}

impl Way {
    /// The same for row `alias`.
    fn change(self, alias: &str) -> ChangeView {
        let before = self.before.iter();
        let before = before.map(|column| format!(" AND {alias}.{column} IS NULL"));
        let before: String = before.collect();
        ChangeView {
            joins: self.joins,
            on: format!("{alias}.{} = {}{before}", self.column, self.value),
            ..ChangeView::default()
        }
    }
}

/// What finds the rows of a stamp.
pub(crate) struct Finder<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) timed: &'a Timed,
    pub(crate) stamp: &'a Stamp,
    pub(crate) dialect: Dialect,
}

/// Whose rows are found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Those that refer to the root of a family of the rule.
    Family,
    /// Those of row `w` of the root table.
    Own,
    /// Those of the rows of the root table that name row `w` as the root of their family.
    Below,
}

impl<'a> Finder<'a> {
    /// The tables in the order in which their rows are changed: that of the rule, and the root table last.
    pub(super) fn members(&self) -> Vec<&'a Member> {
        let mut members: Vec<&Member> = self.timed.members.iter().collect();
        if self.stamp.of.is_some() {
            members.sort_by_key(|member| member.table == self.stamp.root);
        }
        members
    }

    /// What the rows of a whole family are.
    pub(crate) fn of_whole(&self) -> &'static [Whose] {
        match (&self.stamp.of, &self.stamp.family) {
            (None, _) => &[Whose::Family],
            (Some(_), None) => &[Whose::Own],
            (Some(_), Some(_)) => &[Whose::Own, Whose::Below],
        }
    }

    /// The ways to the rows of a table.
    pub(super) fn found(&self, member: &Member) -> Found {
        let of = |whose: Whose| -> Vec<ChangeView> {
            let rows = self.rows(member, whose).into_iter();
            let rows = rows.map(|way| way.change("t"));
            rows.chain(self.named_by(member, whose)).collect()
        };
        let own = of(Whose::Own);
        if self.stamp.of.is_some() {
            return Found::always(own);
        }
        let is_root = member.table == self.stamp.root;
        let whole = of(Whose::Family);
        if whole == own || is_root && whole.is_empty() {
            return Found::always(own);
        }
        let column = member.family.first().map(|it| self.dialect.ident(it));
        let is_adopted = is_root || self.stamp.family.is_some();
        let column = column.filter(|_| is_adopted).unwrap_or_default();
        Found {
            rootless: if column.is_empty() {
                Vec::new()
            } else {
                own.iter().map(|it| it.without_root(&column)).collect()
            },
            whole: whole
                .into_iter()
                .map(|it| it.of_root(self.dialect))
                .collect(),
            own,
            always: Vec::new(),
            column,
        }
    }

    /// How the rows of a table are found that name whose they are.
    pub(crate) fn rows(&self, member: &Member, whose: Whose) -> Vec<Way> {
        let way = |column: &str, value: &str| Way {
            joins: Vec::new(),
            column: column.to_owned(),
            value: value.to_owned(),
            before: Vec::new(),
        };
        if whose == Whose::Family {
            let column = member.family.first().map(|it| self.dialect.ident(it));
            let found = column.map(|column| way(&column, "w.id"));
            return found.into_iter().collect();
        }
        let family = self.stamp.family.as_ref().map(|it| self.dialect.ident(it));
        let family = family.unwrap_or_default();
        let key = self.key(self.stamp.root);
        if member.table == self.stamp.root {
            let column = if whose == Whose::Below { &family } else { &key };
            return vec![way(column, "w.id")];
        }
        let below = (whose == Whose::Below).then(|| JoinView {
            table: self.qualified(self.stamp.root),
            alias: "m",
            on: format!("m.{family} = w.id"),
        });
        let instance = match whose {
            Whose::Below => format!("m.{key}"),
            _ => "w.id".to_owned(),
        };
        let own = self.stamp.own.iter();
        own.filter(|own| own.table == member.table)
            .map(|own| {
                let mut joins: Vec<JoinView> = below.iter().cloned().collect();
                let between = self.between(own, &instance);
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
                let before = self.stamp.before(own);
                Way {
                    joins,
                    column: self.dialect.ident(&own.column),
                    value,
                    before: match own.of_root {
                        None => before.map(|it| self.dialect.ident(&it.column)).collect(),
                        Some(_) => Vec::new(),
                    },
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
    pub(crate) fn named_by(&self, member: &Member, whose: Whose) -> Vec<ChangeView> {
        if !self.stamp.named.contains(&member.table) {
            return Vec::new();
        }
        let in_rule = whose == Whose::Own && self.stamp.of.is_none();
        let family = member.family.first().map(|it| self.dialect.ident(it));
        let also = family.map_or(String::new(), |column| {
            if in_rule {
                format!("AND (t.{column} IS NULL OR t.{column} = w.family)")
            } else {
                format!("AND t.{column} IS NULL")
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
                        joins,
                        on: via::named_by(edge, self.dialect, "t", "r"),
                        also: also.clone(),
                        is_long: false,
                    });
                }
            }
        }
        found
    }

    pub(crate) fn qualified(&self, table: TableId) -> String {
        table_name(self.graph, self.dialect, &self.graph.table(table).name)
    }

    pub(crate) fn key(&self, table: TableId) -> String {
        self.dialect.ident(&self.graph.table(table).key[0].name)
    }
}

/// The ways to the rows of a table.
#[derive(Default)]
pub(super) struct Found {
    /// By the root of a whole family; by an instance of one, where they name no root; by an instance that is stamped alone.
    whole: Vec<ChangeView>,
    rootless: Vec<ChangeView>,
    own: Vec<ChangeView>,
    /// By an instance, in any case.
    always: Vec<ChangeView>,
    /// The column that refers to the root.
    column: String,
}

impl Found {
    fn always(ways: Vec<ChangeView>) -> Found {
        Found {
            always: ways,
            ..Found::default()
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &ChangeView> {
        let of_families = self.whole.iter().chain(&self.rootless);
        of_families.chain(&self.own).chain(&self.always)
    }

    /// One statement for each way, or for two of them where the server finds the rows of both at once.
    pub(super) fn changes(self, dialect: Dialect, rule: &Rule) -> Vec<ChangeView> {
        let mut changes = self.whole;
        let is_alone = |own: ChangeView| own.and("AND NOT p_whole");
        if dialect == Dialect::Postgres {
            // Several indexes serve one statement.
            for rootless in self.rootless {
                match changes.iter_mut().find(|whole| whole.is_beside(&rootless)) {
                    Some(whole) => *whole = whole.or(&rootless),
                    None => changes.push(rootless),
                }
            }
            changes.extend(self.own.into_iter().map(is_alone));
        } else if self.rootless.is_empty() {
            changes.extend(self.own.into_iter().map(is_alone));
        } else {
            // A variable is a constant to the server: it finds rows without a root by that, where it looks for them alone.
            let column = &self.column;
            changes.extend(self.own.into_iter().map(|own| {
                if own.also.is_empty() {
                    own.and(&format!("AND (t.{column} IS NULL OR NOT p_whole)"))
                } else {
                    own
                }
            }));
        }
        changes.extend(self.always);
        for change in &mut changes {
            // `    WHERE … AND t."…" IS DISTINCT FROM w.due;`
            let around = 44 + rule.end_time.name.len();
            change.is_long = change.on.len() + change.also.len() + around > layout::WIDTH;
        }
        changes
    }
}

impl ChangeView {
    /// The same from the root of a whole family.
    fn of_root(mut self, dialect: Dialect) -> ChangeView {
        let on = match self.joins.first_mut() {
            Some(join) => &mut join.on,
            None => &mut self.on,
        };
        *on = match dialect {
            Dialect::Postgres => on.replace("= w.id", "= w.root"),
            // There it is a flag: a key of its own would have to have the type and the collation of the column.
            Dialect::Mysql | Dialect::Mariadb => format!("{on} AND w.root"),
        };
        self
    }

    /// The same of rows that name no root: what names one is found by that.
    fn without_root(&self, column: &str) -> ChangeView {
        ChangeView {
            also: format!("AND t.{column} IS NULL"),
            ..self.clone()
        }
    }

    /// The same with one more condition.
    fn and(mut self, condition: &str) -> ChangeView {
        if !self.also.is_empty() {
            self.also.push(' ');
        }
        self.also += condition;
        self
    }

    /// Whether the rows of both ways are found from `w` in one table, the last or only one of both.
    fn is_beside(&self, other: &ChangeView) -> bool {
        match (&self.joins[..], &other.joins[..]) {
            ([], []) => true,
            ([one], [two]) => {
                one.table == two.table && (&self.on, &self.also) == (&other.on, &other.also)
            }
            _ => false,
        }
    }

    /// Both ways in one; see [`ChangeView::is_beside`].
    fn or(&self, other: &ChangeView) -> ChangeView {
        if self.joins.is_empty() {
            return ChangeView {
                on: format!("({} OR ({} {}))", self.on, other.on, other.also),
                ..ChangeView::default()
            };
        }
        let joins = self.joins.iter().zip(&other.joins);
        let joins = joins.map(|(one, two)| JoinView {
            on: format!("({} OR {})", one.on, two.on),
            ..one.clone()
        });
        ChangeView {
            joins: joins.collect(),
            ..self.clone()
        }
    }
}
