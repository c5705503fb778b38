//! Rows of other families that refer to rows of a family: while one of them is kept, so is the family.

use super::member::{NamerView, Tables};
use crate::graph::{Edge, Member};
use crate::render::names::{escaped, table_name};
use crate::render::via;

impl Tables<'_> {
    /// How rows `row` of other families may name rows `t` of a table, whose family is `of`.
    pub(super) fn namers(&self, named: &Member, row: &str, of: &str) -> Vec<NamerView> {
        let Tables {
            graph, rule, timed, ..
        } = *self;
        let members = timed.members.iter();
        let each = members.flat_map(|member| {
            let edges = rule.crossings(member, graph.table(member.table));
            let edges = edges.into_iter().filter(|it| it.parent == named.table);
            edges.flat_map(move |edge| self.by_edge(member, edge, row, of))
        });
        each.collect()
    }

    /// One for each family that a row may be of: it is deleted with any of them, and is kept with any.
    fn by_edge(&self, member: &Member, edge: &Edge, row: &str, of: &str) -> Vec<NamerView> {
        let Tables { graph, dialect, .. } = *self;
        let families = self.families(member, row);
        let families = if families.is_empty() {
            vec![self.no_family()]
        } else {
            families
        };
        let table = &graph.table(member.table).name;
        let view = |(place, family): (usize, &String)| {
            // Of one family alone that is said where these are compared.
            let mut apart = Vec::new();
            if families.len() > 1 {
                let each = families.iter();
                apart.extend(each.map(|it| format!("({it} = {of}) IS NOT TRUE")));
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
                on: via::same(edge, dialect, row, "t"),
                family: family.clone(),
                apart,
            }
        };
        families.iter().enumerate().map(view).collect()
    }
}
