//! The text of a spec without what is left out, with a comment at each place.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;

use super::edits::Edits;
use super::lacks::Lacks;
use super::subject::{Change, ChangeKind, Subject, is_optional};
use crate::catalog::CatalogTable;
use crate::dialect::Dialect;
use crate::fit::Finding;
use crate::graph::{Action, Edge, Rule, TableId};
use crate::inspect::words::{bare, string};
use crate::spec::grammar::{self, FigureText};
use crate::spec::{self, Archive, Text, Values, in_file_order};

/// What is being written, and what is said of it.
struct Writing<'a, 'b> {
    subject: &'b Subject<'a>,
    lacks: &'b Lacks,
    edits: Edits<'b>,
    changes: Vec<Change>,
    wrong: Vec<Finding>,
}

/// The spec without what is left out; what has been done; and what cannot be.
pub(super) fn without(subject: &Subject<'_>, lacks: &Lacks) -> (String, Vec<Change>, Vec<Finding>) {
    let mut writing = Writing {
        subject,
        lacks,
        edits: Edits::of(subject.text),
        changes: Vec::new(),
        wrong: Vec::new(),
    };
    for (id, name, table) in subject.tables() {
        match lacks.tables.get(&id) {
            Some(why) => {
                let what = format!("table {}", string(name.get_ref()));
                let mut text = why.text.clone();
                if !why.expected {
                    text += "; if it has another name here, its rows would be left behind";
                }
                writing.leave_out(name.span(), name.span().start, what, text, !why.expected);
            }
            None => writing.table(id, name, table),
        }
    }
    for (at, name, written, rule) in subject.rules() {
        match lacks.rules.get(&at) {
            Some(why) => {
                let what = format!("rule {}", string(name.get_ref()));
                let (text, asks) = (why.text.clone(), !why.expected);
                writing.leave_out(name.span(), name.span().start, what, text, asks);
            }
            None => writing.rule(name, written, rule),
        }
    }
    if subject.asks {
        writing.ignored();
    }
    (writing.edits.apply(), writing.changes, writing.wrong)
}

impl Writing<'_, '_> {
    /// Takes out a part of an entry, and says so.
    fn leave_out(
        &mut self,
        part: Range<usize>,
        entry: usize,
        what: String,
        why: String,
        asks: bool,
    ) {
        self.edits.remove(part.start);
        let kind = ChangeKind::LeftOut;
        self.say(
            part,
            entry,
            Change {
                kind,
                what,
                why,
                asks,
            },
        );
    }

    fn say(&mut self, part: Range<usize>, entry: usize, change: Change) {
        self.edits.note(part, entry, &change.comment());
        self.changes.push(change);
    }

    fn is_gone(&self, name: &str) -> bool {
        let mut gone = self.lacks.tables.keys();
        gone.any(|id| self.spelt(*id) == Some(name))
    }

    /// The name of a table as the spec has it.
    fn spelt(&self, id: TableId) -> Option<&str> {
        let mut names = self.subject.spec.tables.keys();
        names.nth(id.0).map(|name| name.get_ref().as_str())
    }

    /// An edge as the spec writes it: a text, or a table of its parts.
    fn shown(&self, edge: &Spanned<spec::Parent>) -> String {
        match edge.get_ref() {
            spec::Parent::Text(text) => string(text),
            spec::Parent::Table(_) => {
                let written = self.subject.text.get(edge.span()).unwrap_or_default();
                written.split_whitespace().collect::<Vec<_>>().join(" ")
            }
        }
    }

    fn table(&mut self, id: TableId, name: &Text, written: &spec::Table) {
        let table = self.subject.graph.table(id);
        let entry = name.span().start;
        let is_left = |at: usize| !self.lacks.edges.contains_key(&(id, at));
        let edges: Vec<(&Edge, bool)> = table
            .edges
            .iter()
            .enumerate()
            .map(|(at, edge)| (edge, is_left(at)))
            .collect();
        let left: Vec<&Edge> = edges
            .iter()
            .filter(|(_, left)| *left)
            .map(|(edge, _)| *edge)
            .collect();
        for (at, text) in written.parents.iter().enumerate() {
            if let Some(why) = self.lacks.edges.get(&(id, at)) {
                let what = format!("{} of {}", self.shown(text), string(name.get_ref()));
                self.leave_out(text.span(), entry, what, why.clone(), false);
            }
        }
        let parents = || left.iter().filter(|edge| edge.action == Action::Delete);
        if let Some(with) = &written.with
            && left.len() < edges.len()
            && parents().count() < 2
            && parents().all(|edge| !edge.alone)
        {
            self.edits.remove(with.span().start);
        }
        if let Some(kept) = &written.kept
            && left.len() < edges.len()
            && parents().next().is_none()
        {
            self.edits.remove(kept.span().start);
        }
        for columns in &written.indexed {
            // On some servers, the names of the graph are in upper case.
            let by = |edge: &Edge| edge.columns().eq_ignore_ascii_case(columns.get_ref());
            let by_left = left.iter().any(|edge| by(edge));
            let by_any = edges.iter().any(|(edge, _)| by(edge));
            if !by_left && (by_any || !self.is_searched(id)) {
                self.edits.remove(columns.span().start);
            } else if self.subject.asks
                && let Some(live) = self.subject.live(id)
                && !leads(live, columns.get_ref())
            {
                let what = format!(
                    "{} of `indexed` of {}",
                    string(columns.get_ref()),
                    string(name.get_ref())
                );
                let why = "no index of this database leads with it, so windrow adds one";
                self.leave_out(columns.span(), entry, what, why.to_owned(), false);
            }
        }
        if let Some(r#final) = &written.r#final {
            self.finals(id, name, written, r#final);
        }
        if self.subject.asks {
            self.triggers(id, name, written);
        }
    }

    /// Takes out the triggers that are accepted, and not there.
    fn triggers(&mut self, id: TableId, table: &Text, written: &spec::Table) {
        // Who may not see triggers does not know that one is not there.
        let live = self.subject.live(id);
        let Some(live) = live.filter(|live| !live.hides_triggers) else {
            return;
        };
        for trigger in &written.triggers {
            if live.triggers.iter().all(|it| it.name != *trigger.get_ref()) {
                let what = format!(
                    "trigger {} of {}",
                    string(trigger.get_ref()),
                    string(table.get_ref())
                );
                let why = "not in this database".to_owned();
                self.leave_out(trigger.span(), table.span().start, what, why, false);
            }
        }
    }

    /// Takes out the tables that are ignored, and not there.
    fn ignored(&mut self) {
        let subject = self.subject;
        for (name, ignored) in subject.spec.ignore.keys().zip(&subject.graph.ignored) {
            if !subject.catalog.tables.contains_key(&ignored.table) {
                let what = format!("{} of [ignore]", string(name.get_ref()));
                let why = "not in this database".to_owned();
                self.leave_out(name.span(), name.span().start, what, why, false);
            }
        }
    }

    /// Whether a rule that is left looks for rows of a table by more than its edges.
    fn is_searched(&self, id: TableId) -> bool {
        let rules = self.subject.graph.rules.iter().enumerate();
        let mut left = rules.filter(|(at, _)| !self.lacks.rules.contains_key(at));
        left.any(|(_, rule)| {
            let mut members = rule.timed().into_iter().flat_map(|timed| &timed.members);
            rule.root == id || members.any(|member| member.table == id)
        })
    }

    /// Where it cannot be asked which rows are final, none is.
    fn finals<T>(&mut self, id: TableId, name: &Text, whole: &spec::Table, written: &Spanned<T>) {
        let subject = self.subject;
        let table = subject.graph.table(id);
        let lacks = |id: TableId, column: &str| {
            subject
                .live(id)
                .is_some_and(|live| live.column(column).is_none())
        };
        let own = table.r#final.own.iter().map(|condition| (id, condition));
        let mut missing = own
            .filter(|(id, condition)| lacks(*id, &condition.column.name))
            .map(|(_, condition)| condition.column.name.clone());
        let mut named = table.r#final.named.iter().filter_map(|named| {
            let column = &named.condition.column.name;
            let parent = &subject.graph.table(named.edge.parent).name;
            let gone = self.lacks.tables.contains_key(&named.edge.parent)
                || named.edge.pairs().any(|(own, _)| lacks(id, &own.name))
                || lacks(named.edge.parent, column);
            gone.then(|| format!("{parent}.{column}"))
        });
        let Some(column) = missing.next().or_else(|| named.next()) else {
            return;
        };
        let texts = subject.edge_texts(whole);
        let edges = table.edges.iter().zip(&texts).enumerate();
        let columns: BTreeSet<String> = edges
            .filter(|(at, (edge, _))| {
                edge.action == Action::Delete && !self.lacks.edges.contains_key(&(id, *at))
            })
            .map(|(_, (_, text))| text.columns[0].name.get_ref())
            .map(|column| format!("{} = {{ null = true }}", bare(column)))
            .collect();
        if columns.is_empty() {
            self.edits.remove(written.span().start);
            return;
        }
        let none = columns.into_iter().collect::<Vec<_>>().join(", ");
        self.edits.replace(written.span(), format!("{{ {none} }}"));
        let what = format!("`final` of {}", string(name.get_ref()));
        if !subject.asks {
            let message = format!(
                "`final` needs `{column}`, which is not in this database; without it, rows that keep their family would be deleted"
            );
            self.wrong.push(Finding::lacking(&table.name, message).help(
                "`windrow init --from` writes a spec in which none of them is final, so each keeps its family; say there \
                 which of them are final",
            ));
            return;
        }
        let why = format!(
            "`{column}` is not in this database, so none of its rows is final and each keeps its family, until you say which \
             are final"
        );
        let (kind, asks) = (ChangeKind::Stricter, true);
        self.say(
            written.span(),
            name.span().start,
            Change {
                kind,
                what,
                why,
                asks,
            },
        );
    }

    fn rule(&mut self, name: &Text, written: &spec::Rule, rule: &Rule) {
        let quoted = string(name.get_ref());
        let live = self.subject.live(rule.root);
        if let (Some(keeps), Some(live)) = (&written.keep, live) {
            for keep in spec::each_keep(keeps) {
                if is_optional(keep.get_ref().optional.as_ref()) {
                    self.keep(&quoted, &keep, keeps.span().start, live);
                }
            }
        }
        let text = self.subject.text;
        for link in &written.hierarchy {
            if let Ok(read) = grammar::link(text, link)
                && self.is_gone(read.table.get_ref())
            {
                let what = format!("{} of `hierarchy` of rule {quoted}", string(link.get_ref()));
                let why = format!("`{}` is left out", read.table.get_ref());
                self.leave_out(link.span(), link.span().start, what, why, false);
            }
        }
        for artifact in &written.artifacts {
            if self.is_gone(artifact.table.get_ref()) {
                self.edits.remove_around(artifact.table.span().start);
            }
        }
        if let Some(Archive::Tables(tables)) = written.archive.as_ref().map(Spanned::get_ref) {
            self.remove_gone(tables, |table| Some(table.get_ref().clone()));
        }
        self.remove_gone(&written.tables, |member| {
            Some(grammar::member(text, member).ok()?.table.into_inner())
        });
        let report = written.report.preview.iter().chain(&written.report.run);
        for (field, figure) in report {
            if let Ok(FigureText::RowsOf(table)) = grammar::figure(text, figure)
                && self.is_gone(table.get_ref())
            {
                self.edits.remove(field.span().start);
            }
        }
        if let Some(stamp) = written.stamp.as_ref().map(Spanned::get_ref) {
            self.remove_gone(&stamp.own, |own| {
                Some(grammar::own(text, own).ok()?.table.into_inner())
            });
            self.remove_gone(&stamp.named, |table| Some(table.get_ref().clone()));
            self.remove_gone(&stamp.untouched, |member| {
                Some(grammar::member(text, member).ok()?.table.into_inner())
            });
        }
    }

    fn remove_gone(&mut self, texts: &[Text], table: impl Fn(&Text) -> Option<String>) {
        for text in texts {
            if table(text).is_some_and(|table| self.is_gone(&table)) {
                self.edits.remove(text.span().start);
            }
        }
    }

    /// What may be kept by columns that are not there: as if these were NULL in every row.
    fn keep(&mut self, rule: &str, keep: &Spanned<&spec::Keep>, entry: usize, live: &CatalogTable) {
        let text = self.subject.text;
        let upper = self.subject.spells_upper();
        let lacks = |name: &str| {
            let name = if upper {
                name.to_uppercase()
            } else {
                name.to_owned()
            };
            live.column(&name).is_none()
        };
        let written = keep.get_ref();
        let places = [&written.per, &written.by].into_iter().flatten();
        let places = places.flat_map(spec::each);
        let places =
            places.filter_map(|it| Some(grammar::column(text, &it).ok()?.name.into_inner()));
        let asked = in_file_order(&written.of).into_iter();
        let (null, asked): (Vec<_>, Vec<_>) =
            asked.partition(|(_, values)| matches!(values.get_ref(), Values::Null(true)));
        let asked = asked.into_iter().map(|(name, _)| name.get_ref().clone());
        let what = format!("a `keep` of rule {rule}");
        if let Some(column) = places.chain(asked).find(|name| lacks(name)) {
            let why = format!("`{column}` is not in this database, so it keeps no row");
            self.leave_out(keep.span(), entry, what, why, false);
            return;
        }
        for (name, _) in null {
            if lacks(name.get_ref()) {
                let what = format!("{} of {what}", string(name.get_ref()));
                let why = "not in this database, so every row counts as one in which it is NULL";
                self.leave_out(name.span(), keep.span().start, what, why.to_owned(), false);
            }
        }
    }
}

impl Subject<'_> {
    /// Whether names are in upper case on this server.
    fn spells_upper(&self) -> bool {
        self.graph.upper_case.contains(&self.catalog.dialect)
    }
}

/// Whether an index for all rows leads with these columns, whatever their order.
fn leads(live: &CatalogTable, columns: &str) -> bool {
    let columns: BTreeSet<String> = columns.split(", ").map(str::to_lowercase).collect();
    live.indexes.iter().any(|index| {
        let first = index.leads().iter().take(columns.len());
        let first: BTreeSet<String> = first.map(|key| key.to_lowercase()).collect();
        index.valid && index.predicate.is_none() && first == columns
    })
}

/// The text of a spec whose tables are in another schema, or on MySQL and MariaDB in another database.
pub fn place(text: &str, dialect: Dialect, name: &str) -> String {
    let (Some(spec), _) = spec::parse(text) else {
        return text.to_owned();
    };
    let (field, written) = if dialect.facts().has_schemas {
        ("schema", &spec.schema)
    } else {
        ("database", &spec.database)
    };
    let mut edits = Edits::of(text);
    match (written, &spec.name) {
        (Some(written), _) => edits.replace(written.span(), string(name)),
        (None, Some(first)) => {
            edits.below(first.span().end, &format!("{field} = {}", string(name)))
        }
        (None, None) => {}
    }
    edits.apply()
}
