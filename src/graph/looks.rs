//! What statements look up besides the edges between tables of the spec: tables that they only read, and the columns by which
//! they compare rows.

use std::collections::{BTreeMap, BTreeSet};

use crate::column::Column;
use crate::graph::{Edge, Graph, Newest, Rule, Single, Table, TableId};

/// A column, and the one whose values it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Compared<'a> {
    /// The table of the row that names another one.
    pub table: &'a str,
    /// Its column.
    pub own: &'a str,
    /// The table of the row that is named.
    pub parent: &'a str,
    /// The column there.
    pub named: &'a str,
}

impl Graph {
    /// The columns of all edges, and those that they name.
    pub fn compared_by_edges(&self) -> BTreeSet<Compared<'_>> {
        let tables = self.tables.iter();
        let all = tables.flat_map(|it| it.edges.iter().flat_map(|edge| self.ends(it, edge)));
        all.collect()
    }

    /// The columns of an edge of a table, and those that they name.
    fn ends<'a>(&'a self, table: &'a Table, edge: &'a Edge) -> impl Iterator<Item = Compared<'a>> {
        edge.pairs().map(|(own, named)| Compared {
            table: &table.name,
            own: &own.name,
            parent: &self.table(edge.parent).name,
            named: &named.name,
        })
    }

    /// Columns that statements compare to find what keeps a row, what belongs to a root, or what must exist: a value that is not
    /// found, because the two compare otherwise, means that a row is deleted. These are the edges that restrict, links from the
    /// root table, references, what an edge says between a row and its parent, and what orphans need.
    pub fn compared(&self) -> BTreeSet<Compared<'_>> {
        let tables = self.tables.iter();
        let keeps = tables.flat_map(|it| it.keeps().flat_map(|edge| self.ends(it, edge)));
        let through = self.tables.iter().flat_map(|table| {
            let through = table.edges.iter().filter_map(|edge| edge.through.as_ref());
            through.flat_map(|through| {
                through.pairs.iter().map(|(own, named)| Compared {
                    table: &table.name,
                    own,
                    parent: &self.table(through.table).name,
                    named,
                })
            })
        });
        let links = self.rules.iter().flat_map(|rule| {
            let root = self.table(rule.root).name.as_str();
            rule.links_of_root().map(move |link| {
                let (parent, named) = match &link.over {
                    Some(over) => (self.table(over.table).name.as_str(), &over.key.name),
                    None => (root, &link.child.name),
                };
                Compared {
                    table: root,
                    own: &link.parent.name,
                    parent,
                    named,
                }
            })
        });
        let timed = self.rules.iter().filter_map(|rule| rule.timed());
        let references = timed.flat_map(|timed| &timed.references);
        let references = references.filter_map(|reference| {
            let to = self.table(reference.to);
            Some(Compared {
                table: &reference.table,
                own: &reference.column,
                parent: &to.name,
                named: &to.key.first()?.name,
            })
        });
        let needs = self.rules.iter().flat_map(|rule| self.needed(rule));
        keeps
            .chain(through)
            .chain(links)
            .chain(references)
            .chain(needs)
            .collect()
    }

    /// The columns by which a rule looks up what must exist.
    fn needed<'a>(&'a self, rule: &'a Rule) -> Vec<Compared<'a>> {
        let mut found = Vec::new();
        for chain in rule.single().into_iter().flat_map(Single::chains) {
            let mut table = self.table(rule.root).name.as_str();
            for need in chain {
                found.extend(need.pairs.iter().map(|(own, named)| Compared {
                    table,
                    own,
                    parent: &need.table,
                    named,
                }));
                table = &need.table;
            }
        }
        found
    }

    /// Whether an edge of the spec says the same, with which the kernel knows both columns anyway.
    pub fn is_edge(&self, compared: &Compared) -> bool {
        let mut tables = self.tables.iter().filter(|it| it.name == compared.table);
        tables.any(|table| {
            let mut edges = table.edges.iter();
            edges.any(|edge| {
                let mut pairs = edge.pairs();
                self.table(edge.parent).name == compared.parent
                    && pairs.any(|(own, named)| {
                        own.name == compared.own && named.name == compared.named
                    })
            })
        })
    }

    /// The columns of a table by which rows are found that belong together, keep others or say how long something is kept.
    pub fn looked_at<'a>(&'a self, table: &str) -> BTreeSet<&'a str> {
        let mut columns = BTreeSet::new();
        for it in self.compared() {
            columns.extend((it.table == table).then_some(it.own));
            columns.extend((it.parent == table).then_some(it.named));
        }
        let definitions = self.rules.iter().flat_map(Rule::definitions);
        for it in definitions.filter(|it| it.table == table) {
            columns.extend([it.key.name.as_str(), it.column.as_str()]);
        }
        columns
    }

    /// The columns of a table by whose values a rule decides on its rows, or goes through them: times, conditions, scopes, groups.
    /// Where one of them holds another kind of values, it is compared otherwise.
    pub fn decides_by(&self, table: &str) -> BTreeSet<String> {
        let mut columns: BTreeSet<String> = BTreeSet::new();
        for own in self.tables.iter().filter(|it| it.name == table) {
            let conditions = own.r#final.own.iter().chain(&own.kept);
            columns.extend(conditions.map(|it| it.column.name.clone()));
        }
        let named = self.tables.iter().flat_map(|it| &it.r#final.named);
        let named = named.filter(|it| self.table(it.edge.parent).name == table);
        columns.extend(named.map(|it| it.condition.column.name.clone()));
        for rule in &self.rules {
            columns.extend(self.decides(rule, table));
        }
        columns
    }

    /// The same of one rule, with each word of its SQL.
    fn decides(&self, rule: &Rule, table: &str) -> Vec<String> {
        let names = self.decisive(rule, table).into_iter();
        let names = names.map(|it| it.name.clone());
        let words = rule.where_sql.iter().flat_map(|sql| names_in(sql));
        names.chain(words).collect()
    }

    /// The same of one rule, without its SQL.
    fn decisive<'a>(&'a self, rule: &'a Rule, table: &str) -> Vec<&'a Column> {
        let is = |id: TableId| self.table(id).name == table;
        let mut found: Vec<&Column> = Vec::new();
        if let Some(last) = rule.last.as_ref().filter(|it| is(it.table)) {
            found.push(&last.time);
        }
        let mut of_times = rule.timed().into_iter().flat_map(|timed| &timed.members);
        if is(rule.root) || of_times.any(|member| is(member.table)) {
            found.push(&rule.end_time);
        }
        let stamps = rule.stamps().iter().filter(|stamp| is(stamp.root));
        for stamp in stamps {
            found.extend([&stamp.start, &stamp.ended, &stamp.per]);
            found.extend(stamp.candidates.iter().map(|it| &it.column));
        }
        if is(rule.root) {
            let newest = rule.newest.iter();
            let of_newest = newest.clone().flat_map(|it| &it.of);
            let conditions = rule.candidates.iter().chain(&rule.r#final).chain(of_newest);
            found.extend(conditions.map(|it| &it.column));
            found.extend(newest.flat_map(Newest::columns));
            found.extend(rule.retention.per.iter().chain(&rule.otherwise));
            found.extend(rule.last.iter().flat_map(|it| &it.otherwise));
            found.extend(rule.single().into_iter().flat_map(Single::columns));
            if let Some(timed) = rule.timed() {
                let ends = timed.end.iter();
                found.extend(ends.flat_map(|end| std::iter::once(&end.time).chain(&end.otherwise)));
                found.extend(&timed.ended);
            }
        }
        found
    }

    /// The tables that the spec names, each with its columns, as far as they are no words of SQL: of those nobody knows whose they are.
    pub fn named_columns(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for table in &self.tables {
            let keys = table.key.iter().chain(table.unique.iter().flatten());
            let conditions = table.r#final.own.iter().chain(&table.kept);
            let columns = keys.chain(conditions.map(|it| &it.column));
            let indexed = table.indexed.iter().flat_map(|it| it.split(", "));
            let columns = columns.map(|it| it.name.as_str()).chain(indexed);
            found.entry(&table.name).or_default().extend(columns);
            let named = table.r#final.named.iter();
            for it in named {
                let parent = found.entry(&self.table(it.edge.parent).name).or_default();
                parent.insert(&it.condition.column.name);
            }
        }
        for it in self.compared_by_edges().into_iter().chain(self.compared()) {
            found.entry(it.table).or_default().insert(it.own);
            found.entry(it.parent).or_default().insert(it.named);
        }
        for it in self.rules.iter().flat_map(Rule::definitions) {
            let columns = [it.key.name.as_str(), &it.column];
            found.entry(&it.table).or_default().extend(columns);
        }
        for rule in &self.rules {
            for table in &self.tables {
                let columns = self.decisive(rule, &table.name).into_iter();
                let columns = columns.map(|it| it.name.as_str());
                found.entry(&table.name).or_default().extend(columns);
            }
            for it in &rule.hierarchy {
                let own = found.entry(&self.table(it.table).name).or_default();
                own.insert(&it.parent.name);
            }
            for it in &rule.artifacts {
                let columns = it.host.iter().chain([&it.path]).map(String::as_str);
                let own = found.entry(&self.table(it.table).name).or_default();
                own.extend(columns);
            }
        }
        for it in &self.ignored {
            found.entry(&it.table).or_default();
        }
        found
    }

    /// What SQL of the spec names in a schema, with the schema. Without one, only what is the server's own is found.
    pub fn sql_names(&self) -> BTreeSet<(String, String)> {
        let found = self.own_sql().flat_map(|sql| {
            let paths = paths_in(&sql);
            paths.map(|it| (it.schema, it.name)).collect::<Vec<_>>()
        });
        found.collect()
    }

    /// The functions and operators that it calls, and the types of which it makes values.
    pub fn sql_calls(&self) -> BTreeSet<(String, String)> {
        self.own_sql().flat_map(|sql| calls_in(&sql)).collect()
    }

    /// SQL that a spec has and windrow does not read, without what is put in.
    fn own_sql(&self) -> impl Iterator<Item = String> {
        let home = format!("\"{}\"", self.schema.replace('"', "\"\""));
        let rules = self.rules.iter();
        let sql = rules.flat_map(|rule| [&rule.where_sql, &rule.limits.wait_while_sql]);
        // The row is no schema.
        sql.flatten().flat_map(move |sql| {
            let sql = sql.replace("{root}", ")").replace("{schema}", &home);
            // What looks like a comment may be a text.
            [without_comments(&sql), sql]
        })
    }

    /// The tables that are read for that and are none of the spec's own: rows of theirs decide what is deleted.
    pub fn read_only(&self) -> BTreeSet<&str> {
        let definitions = self.rules.iter().flat_map(Rule::definitions);
        let compared = self.compared().into_iter();
        let own: BTreeSet<&str> = self.tables.iter().map(|it| it.name.as_str()).collect();
        compared
            .flat_map(|it| [it.table, it.parent])
            .chain(definitions.map(|it| it.table.as_str()))
            .filter(|name| !own.contains(name))
            .collect()
    }
}

/// What could be the name of a column in SQL, of whichever table it is: each word, also as a server reads it without quotes, and what
/// stands in quotes.
fn names_in(sql: &str) -> impl Iterator<Item = String> {
    let words = sql.split(|sign: char| !is_of_word(sign));
    let words = words.filter(|word| !word.is_empty());
    let read = words.flat_map(|word| {
        [
            word.to_owned(),
            word.to_lowercase(),
            word.to_ascii_lowercase(),
        ]
    });
    // A quote that is none, in a text, would turn what is outside into what is inside.
    let quoted = sql.split('"').skip(1);
    let quoted = quoted.filter(|name| !name.is_empty() && name.chars().count() < 64);
    read.chain(quoted.map(str::to_owned))
}

/// SQL with a blank for each comment between a name and what is behind it. One may stand within another.
fn without_comments(sql: &str) -> String {
    let mut sql = sql.to_owned();
    while let Some(end) = sql.find("*/") {
        let Some(begin) = sql[..end].rfind("/*") else {
            break;
        };
        sql.replace_range(begin..end + 2, " ");
    }
    sql
}

/// What SQL names in a schema.
struct Path<'a> {
    before: &'a str,
    schema: String,
    name: String,
}

/// Everything that could be one, in texts too.
fn paths_in(sql: &str) -> impl Iterator<Item = Path<'_>> {
    sql.match_indices('.').filter_map(|(at, _)| {
        let (before, schema) = name_before(&sql[..at])?;
        let name = name_after(&sql[at + 1..])?;
        Some(Path {
            before,
            schema,
            name,
        })
    })
}

/// The functions that SQL calls in a schema that it names, the operators, and the types of which it makes values.
fn calls_in(sql: &str) -> BTreeSet<(String, String)> {
    let schema = |path: &str| name_before(path).map(|(_, name)| name);
    let mut found = BTreeSet::new();
    for (at, _) in sql.match_indices('(') {
        let Some((path, name)) = name_before(&sql[..at]) else {
            continue;
        };
        let path = path.trim_end();
        if name == "operator" && !path.ends_with('.') {
            let inside = sql[at + 1..].split(')').next().unwrap_or_default();
            let parts = inside.rsplit_once('.');
            let sign = parts.and_then(|(path, sign)| Some((schema(path)?, sign.trim().to_owned())));
            found.extend(sign);
        } else if let Some(path) = path.strip_suffix('.') {
            found.extend(schema(path).map(|it| (it, name)));
        }
    }
    let casts = paths_in(sql).filter(|it| {
        let before = it.before.trim_end();
        before.ends_with("::") || name_before(before).is_some_and(|(_, word)| word == "as")
    });
    found.extend(casts.map(|it| (it.schema, it.name)));
    found
}

const fn is_of_word(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_' || sign == '$' || !sign.is_ascii()
}

/// The name with which SQL ends, as PostgreSQL reads it, and what is before it.
fn name_before(sql: &str) -> Option<(&str, String)> {
    let sql = sql.trim_end();
    if let Some(inside) = sql.strip_suffix('"') {
        let mut rest = inside;
        loop {
            let (path, _) = rest.rsplit_once('"')?;
            // Two quotes are one in the name.
            match path.strip_suffix('"') {
                Some(path) => rest = path,
                None => return Some((path, inside[path.len() + 1..].replace("\"\"", "\""))),
            }
        }
    }
    let path = sql.trim_end_matches(is_of_word);
    let name = sql[path.len()..].to_ascii_lowercase();
    (!name.is_empty()).then_some((path, name))
}

/// The name with which SQL begins. A number is none.
fn name_after(sql: &str) -> Option<String> {
    let sql = sql.trim_start();
    if let Some(inside) = sql.strip_prefix('"') {
        let mut parts = inside.replace("\"\"", "\0");
        parts.truncate(parts.find('"')?);
        return Some(parts.replace('\0', "\""));
    }
    let name = sql.split(|sign| !is_of_word(sign)).next()?;
    let name = name.to_ascii_lowercase();
    (!name.is_empty() && !name.starts_with(|sign: char| sign.is_ascii_digit())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{calls_in, paths_in, without_comments};

    #[test]
    fn a_comment_hides_no_call() {
        for sql in [
            "app.f/* */(1)",
            "app.f /* a /* b */ (c) */ (1)",
            "app/**/.f(1)",
        ] {
            let calls = calls_in(&without_comments(sql));
            let expected = ("app".to_owned(), "f".to_owned());
            assert!(calls.contains(&expected), "{sql}: {calls:?}");
        }
        assert_eq!(without_comments("a */ b /* c"), "a */ b /* c");
    }

    #[test]
    fn what_sql_calls_has_a_schema() {
        for (sql, calls) in [
            ("id IN (SELECT 1) AND lower(state) = 'x'", &[][..]),
            ("app.Check (id) AND (a.b) > 0", &["app check"]),
            (
                "app.\"My Check\"(\"My App\" . other(id))",
                &["My App other", "app My Check"],
            ),
            ("state OPERATOR ( app.=== ) 'x'", &["app ==="]),
            ("app.Äß$1(id) AND \"a\"\"b\".f(id)", &["a\"b f", "app Äß$1"]),
            (
                "state::app.kind = CAST(a.b AS App.pair) AND ).text::text = ''",
                &["app kind", "app pair"],
            ),
        ] {
            let found = calls_in(sql).into_iter();
            let found: Vec<String> = found.map(|(schema, name)| schema + " " + &name).collect();
            assert_eq!(found, calls, "{sql}");
        }
    }

    #[test]
    fn what_sql_names_has_a_schema() {
        for (sql, names) in [
            (
                ").state = 'x' AND ) . \"at\" < 1.5 AND 2.e > 0",
                &["2 e"][..],
            ),
            ("(SELECT 1 FROM App.q$1)", &["app q$1"]),
            ("\"a\"\"b\" . \"c\"\"\"", &["a\"b c\""]),
        ] {
            let found = paths_in(sql).map(|it| it.schema + " " + &it.name);
            assert_eq!(found.collect::<Vec<_>>(), names, "{sql}");
        }
    }
}
