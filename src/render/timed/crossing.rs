//! Rows of other families that name rows of a family: while one of them stays, the family does, too.

use serde::Serialize;

use super::member::Tables;
use crate::graph::{Edge, Member};
use crate::render::names::{escaped, table_name};
use crate::render::via;

/// Rows `t` of the families `n`, and how rows `r` of other tables name them.
#[derive(Serialize)]
pub(super) struct CrossingView {
    /// The table of row `t`, and its column that names the family.
    table: String,
    column: String,
    namers: Vec<NamerView>,
}

/// How rows `r` of a table name rows `t`.
#[derive(Clone, Serialize)]
pub(super) struct NamerView {
    /// What names them, for a comment.
    why: String,
    /// The table of row `r`, and that it names row `t`.
    table: String,
    on: String,
    /// The family of row `r`, or NULL; where it has several, that it goes with none that is `n`.
    family: String,
    apart: Vec<String>,
}

impl Tables<'_> {
    pub(super) fn crossings(&self) -> Vec<CrossingView> {
        let Tables {
            graph,
            rule,
            timed,
            dialect,
            ..
        } = *self;
        let mut found = Vec::new();
        for named in &timed.members {
            let each = timed.members.iter().flat_map(|member| {
                let edges = rule.crossings(member, graph.table(member.table));
                let edges = edges.into_iter().filter(|it| it.parent == named.table);
                edges.flat_map(|edge| self.namers(member, edge))
            });
            let namers: Vec<NamerView> = each.collect();
            if namers.is_empty() {
                continue;
            }
            let columns = self.belongs(named).into_iter();
            found.extend(columns.map(|column| CrossingView {
                table: table_name(graph, dialect, &graph.table(named.table).name),
                column,
                namers: namers.clone(),
            }));
        }
        found
    }

    /// One for each family that a row may be of: it goes with any of them, and is taken to stay with any.
    fn namers(&self, member: &Member, edge: &Edge) -> Vec<NamerView> {
        let Tables { graph, dialect, .. } = *self;
        let families = self.families(member, "r");
        let families = match families.is_empty() {
            true => vec![self.no_family()],
            false => families,
        };
        let table = &graph.table(member.table).name;
        let view = |(place, family): (usize, &String)| {
            // Of one family alone that is said where these are compared.
            let mut apart = Vec::new();
            if families.len() > 1 {
                let each = families.iter();
                apart.extend(each.map(|it| format!("({it} = n.id) IS NOT TRUE")));
                let none = families.iter().filter(|_| place == 0);
                let none: Vec<String> = none.map(|it| format!("{it} IS NULL")).collect();
                apart.push(match place {
                    0 => format!("({family} IS NOT NULL OR {})", none.join(" AND ")),
                    _ => format!("{family} IS NOT NULL"),
                });
            }
            NamerView {
                why: escaped(dialect, &format!("{table}.{}", edge.columns())),
                table: table_name(graph, dialect, table),
                on: via::same(edge, dialect, "r", "t"),
                family: family.clone(),
                apart,
            }
        };
        families.iter().enumerate().map(view).collect()
    }
}
