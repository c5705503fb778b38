//! Whether a spec would be accepted with what is advised: nobody is told to write what is refused.

use toml::Spanned;

use super::reading::{build, read};
use super::subject::Subject;
use crate::fit::{self, Severity};
use crate::graph::{Graph, TableId};
use crate::inspect::words::string;
use crate::spec::Parent;

/// Why the spec is refused with a further edge of a table, if it is: `key` is the foreign key behind it, and `before` are the edges that
/// have been added.
pub(super) fn of_edge(
    subject: &Subject<'_>,
    before: &[(TableId, String)],
    id: TableId,
    key: &str,
    edge: &str,
) -> Option<String> {
    let mut text = subject.text.to_owned();
    let mut spec = subject.spec.clone();
    let before = before.iter().map(|(id, edge)| (*id, edge.as_str()));
    for (id, edge) in before.chain([(id, edge)]) {
        // An edge is read at its place in the text.
        text += "\n# ";
        let start = text.len();
        text += &string(edge);
        let edge = Spanned::new(start..text.len(), Parent::Text(edge.to_owned()));
        spec.tables.values_mut().nth(id.0)?.parents.push(edge);
    }
    match build(&spec, &text) {
        Err(why) => Some(why),
        Ok(graph) => {
            let name = &subject.graph.table(id).name;
            against(subject, &graph, name, &format!("`{key}`"))
        }
    }
}

/// Why the spec is refused with a further table, if it is.
pub(super) fn of_table(
    subject: &Subject<'_>,
    name: &str,
    edges: &[(usize, String)],
) -> Option<String> {
    if edges.is_empty() {
        return None;
    }
    let parents: Vec<String> = edges.iter().map(|(_, edge)| string(edge)).collect();
    let text = format!(
        "{}\n[tables.{}]\nparents = [{}]\n",
        subject.text,
        string(name),
        parents.join(", ")
    );
    match read(&text) {
        Err(why) => Some(why),
        Ok((_, graph)) => against(subject, &graph, name, ""),
    }
}

/// What this database has against the foreign keys of a table, if their findings say something.
fn against(subject: &Subject<'_>, graph: &Graph, name: &str, says: &str) -> Option<String> {
    let graph = graph.named_for(subject.catalog.dialect);
    let mut found = fit::compare(&graph, subject.catalog).into_iter();
    let wrong = found.find(|finding| {
        finding.severity == Severity::Error
            && ["unlisted-reference", "kept-reference"].contains(&finding.code)
            && finding.object == name
            && finding.message.contains(says)
    })?;
    Some(format!("it {}; {}", wrong.message, wrong.help))
}
