//! Types of columns that are others in the database: written as that has them.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use super::edits::Edits;
use super::subject::{Change, ChangeKind, Subject};
use crate::fit::{self, kind_name, live_kind};
use crate::graph::{Kind, TableId};
use crate::spec::grammar::{self, ColumnText};
use crate::spec::{self, Text};

/// The spec with the types of the database, and what has been written otherwise.
pub(super) fn mend(subject: &Subject<'_>) -> (String, Vec<Change>) {
    let differing: BTreeSet<String> = fit::compare(subject.graph, subject.catalog)
        .into_iter()
        .filter(|finding| finding.code == "type-differs")
        .map(|finding| finding.object)
        .collect();
    let mut mending = Mending {
        subject,
        edits: Edits::of(subject.text),
        told: BTreeMap::new(),
    };
    for (id, name, table) in subject.tables() {
        let entry = name.span().start;
        for column in columns_of(subject, table) {
            mending.column(id, entry, &column, &differing);
        }
    }
    for (_, name, written, rule) in subject.rules() {
        for column in columns_of_rule(subject, written) {
            let place = column.name.span().start;
            let entry = mending.entry(place, name.span().start);
            mending.column(rule.root, entry, &column, &differing);
        }
    }
    (mending.edits.apply(), mending.told.into_values().collect())
}

struct Mending<'a, 'b> {
    subject: &'b Subject<'a>,
    edits: Edits<'b>,
    /// By table and column.
    told: BTreeMap<String, Change>,
}

impl Mending<'_, '_> {
    fn column(
        &mut self,
        id: TableId,
        entry: usize,
        column: &ColumnText,
        differing: &BTreeSet<String>,
    ) {
        let graph = self.subject.graph;
        let table = &graph.table(id).name;
        let mut name = column.name.get_ref().clone();
        if graph.upper_case.contains(&self.subject.catalog.dialect) {
            name.make_ascii_uppercase();
        }
        let object = format!("{table}.{name}");
        let Some(kind) = self.kind(id, &name).filter(|_| differing.contains(&object)) else {
            return;
        };
        let said = match &column.kind {
            Some(said) if said.get_ref() == kind_name(kind, self.subject.catalog.dialect) => return,
            Some(said) => format!("the spec says {}", said.get_ref()),
            None => "the spec gives no type".to_owned(),
        };
        match &column.kind {
            Some(written) => self.edits.replace(
                written.span(),
                kind_name(kind, self.subject.catalog.dialect).to_owned(),
            ),
            None => {
                let end = column.name.span().end;
                self.edits.replace(
                    end..end,
                    format!(" {}", kind_name(kind, self.subject.catalog.dialect)),
                );
            }
        }
        if !self.told.contains_key(&object) {
            let change = Change {
                kind: ChangeKind::Mended,
                what: format!("type of `{object}`"),
                why: format!(
                    "it is {} in this database; {said}",
                    kind_name(kind, self.subject.catalog.dialect)
                ),
                asks: false,
            };
            self.edits
                .note(column.name.span(), entry, &change.comment());
            self.told.insert(object, change);
        }
    }

    fn kind(&self, id: TableId, name: &str) -> Option<Kind> {
        let column = self.subject.live(id)?.column(name)?;
        live_kind(self.subject.catalog.dialect, column)
    }

    /// Where the line of a field begins; `otherwise` if that is in a text of several lines.
    fn entry(&self, place: usize, otherwise: usize) -> usize {
        let start = self.subject.text[..place]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        if start > otherwise { start } else { otherwise }
    }
}

/// The columns of a table that have types.
fn columns_of(subject: &Subject<'_>, table: &spec::Table) -> Vec<ColumnText> {
    let keys = table.key.iter().chain(&table.unique);
    let keys = keys.filter_map(|key| grammar::key(subject.text, key).ok());
    let mut columns: Vec<ColumnText> = keys.flatten().collect();
    // A table of parts has the type in a field of its own: a comparison says what is wrong with it.
    let texts = table.parents.iter();
    let texts = texts.filter(|edge| matches!(edge.get_ref(), spec::Parent::Text(_)));
    let edges = texts.filter_map(|edge| spec::edge(subject.text, edge).ok());
    columns.extend(edges.flat_map(|edge| edge.columns));
    columns
}

/// The same of a rule, of its root table.
fn columns_of_rule(subject: &Subject<'_>, rule: &spec::Rule) -> Vec<ColumnText> {
    let mut texts: Vec<Text> = Vec::new();
    texts.extend(rule.start_time.clone());
    texts.extend(rule.time.clone());
    let retention = rule.retention.as_ref().map(Spanned::get_ref);
    texts.extend(retention.and_then(|retention| retention.per.clone()));
    let fallback = rule.fallback.as_ref().map(Spanned::get_ref);
    texts.extend(fallback.map(|fallback| fallback.time.clone()));
    let keeps = rule.keep.as_ref().map_or(Vec::new(), spec::each_keep);
    for keep in keeps {
        let names = [&keep.get_ref().per, &keep.get_ref().by];
        texts.extend(names.into_iter().flatten().flat_map(spec::each));
    }
    let columns = texts.iter();
    let mut columns: Vec<ColumnText> = columns
        .filter_map(|text| grammar::column(subject.text, text).ok())
        .collect();
    let end = rule.end_time.as_ref();
    if let Some(end) = end.and_then(|end| grammar::end_time(subject.text, end).ok())
        && end.table.is_none()
    {
        columns.push(end.column);
    }
    columns
}
