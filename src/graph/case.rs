//! The names of a graph as the catalog of a server has them.

use super::{Column, Condition, Edge, Graph, Rule, Source, Table, Timed};
use crate::dialect::Dialect;

impl Graph {
    /// The same graph with the names of tables and columns as they are on a server. Everything that is written for one
    /// server or compared with its catalog takes this one.
    pub fn named_for(&self, dialect: Dialect) -> Graph {
        let mut graph = self.clone();
        if self.upper_case.contains(&dialect) {
            for name in names(&mut graph) {
                name.make_ascii_uppercase();
            }
        }
        graph
    }
}

/// Every name of a table or column.
fn names(graph: &mut Graph) -> Vec<&mut String> {
    let mut found: Vec<&mut String> = Vec::new();
    found.extend(graph.ignored.iter_mut().map(|ignored| &mut ignored.table));
    for table in &mut graph.tables {
        let Table {
            name,
            key,
            unique,
            indexed,
            edges,
        } = table;
        found.push(name);
        found.extend(columns(key));
        found.extend(unique.iter_mut().flat_map(|key| columns(key)));
        // Those of one edge stand between commas.
        found.extend(indexed);
        found.extend(edges.iter_mut().flat_map(of_edge));
    }
    found.extend(graph.rules.iter_mut().flat_map(of_rule));
    found
}

fn columns(columns: &mut [Column]) -> impl Iterator<Item = &mut String> {
    columns.iter_mut().map(|column| &mut column.name)
}

fn of_edge(edge: &mut Edge) -> Vec<&mut String> {
    let mut found = vec![&mut edge.column.name, &mut edge.parent_column.name];
    for (column, named) in &mut edge.further {
        found.extend([&mut column.name, &mut named.name]);
    }
    found
}

fn of_rule(rule: &mut Rule) -> Vec<&mut String> {
    let mut found: Vec<&mut String> = Vec::new();
    found.extend(conditions(&mut rule.candidates));
    found.extend(conditions(&mut rule.r#final));
    found.push(&mut rule.end_time.name);
    for link in &mut rule.hierarchy {
        found.extend([&mut link.parent.name, &mut link.child.name]);
    }
    found.extend(rule.retention.per.as_mut().map(|per| &mut per.name));
    if let Some(Source::Definition(definition)) = &mut rule.retention.source {
        found.extend([
            &mut definition.table,
            &mut definition.key.name,
            &mut definition.column,
        ]);
    }
    for artifact in &mut rule.artifacts {
        found.extend(artifact.host.as_mut());
        found.push(&mut artifact.path);
    }
    found.extend(rule.timed.iter_mut().flat_map(of_timed));
    found
}

fn conditions(conditions: &mut [Condition]) -> impl Iterator<Item = &mut String> {
    conditions
        .iter_mut()
        .map(|condition| &mut condition.column.name)
}

fn of_timed(timed: &mut Timed) -> Vec<&mut String> {
    let mut found: Vec<&mut String> = Vec::new();
    found.extend(timed.ended.as_mut().map(|ended| &mut ended.name));
    for member in &mut timed.members {
        found.extend(&mut member.family);
    }
    for reference in &mut timed.references {
        found.extend([&mut reference.table, &mut reference.column]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_forgotten() {
        let text = r#"
name = "x"
upper_case = ["mysql"]
[tables]
root_ = { key = "id_ integer", unique = ["a_ integer, b_ integer"] }
part_ = { key = "id_ integer", parents = ["root_id_ -> root_.id_"] }
leaf_ = { parents = ["part_id_ -> part_.id_", "a_, b_ -> root_(a_, b_)"], indexed = ["a_, b_"] }
link_ = { parents = ["upper_id_ -> root_.id_", "lower_id_ -> root_.id_"] }
dated_ = { key = "id_ integer" }
below_ = { parents = ["dated_id_ -> dated_.id_"] }
[ignore]
other_ = "left alone"
[rules.ending]
strategy = "end-time"
root = "root_"
candidates = { kind_ = 1 }
final = { state_ = 2 }
end_time = "ended_"
hierarchy = ["link_: upper_id_ -> lower_id_"]
artifacts = [{ table = "part_", host = "host_", path = "path_" }]
retention = { per = "shop_", from = "kinds_: id_ -> keep_ days" }
[rules.timing]
strategy = "removal-time"
root = "dated_"
time = "due_"
end_time = "over_"
tables = ["below_: dated_id_", "dated_"]
references = ["outer_: dated_id_ -> dated_"]
retention = { minimum = "1d" }
"#;
        let (spec, findings) = crate::spec::parse(text);
        let (graph, more) = super::super::build(&spec.expect("a spec"), text);
        assert!(
            findings.is_empty() && more.is_empty(),
            "{findings:?} {more:?}"
        );
        let upper = format!("{:?}", graph.named_for(Dialect::Mysql));
        let small: Vec<&str> = upper
            .split('"')
            .filter(|text| text.ends_with('_') && text.contains(char::is_lowercase))
            .collect();
        assert!(small.is_empty(), "{small:?}");
        assert_eq!(
            format!("{:?}", graph.named_for(Dialect::Postgres)),
            format!("{graph:?}")
        );
    }
}
