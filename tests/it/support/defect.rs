//! Deliberate defects in the generated SQL: `prove` starts this test program again with one of them, to see who notices.

use std::env;

use windrow::bundle::Bundle;
use windrow::dialect::{DIALECTS, Dialect};
use windrow::graph::Graph;

/// Names the defect of this process, and the server that has it: `name on folder`. A test of another server has none.
pub(crate) const VARIABLE: &str = "WINDROW_TEST_DEFECT";

/// What a process says that is to have a defect and installs nothing that could have it.
pub(crate) const NOTHING: &str = "the generated SQL has no place for the defect";

/// Not a defect: every routine of a rule is another one and does the same. Whoever notices this does not look at rows.
pub(crate) const HARMLESS: &str = "harmless";

/// A text of the generated SQL, and what stands in its place. `W.` is the control schema, `D.` the one with the tables.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
}

/// A defect that somebody might make, and the tests that notice it.
#[derive(Debug)]
pub(crate) struct Defect {
    pub(crate) name: &'static str,
    /// What is wrong, for the list that `make prove` prints.
    pub(crate) what: &'static str,
    /// Every text must be there.
    pub(crate) postgres: &'static [Edit],
    pub(crate) mysql: &'static [Edit],
    /// The tests, any of which would do; `SERVER` stands for the module of the server.
    pub(crate) noticed_by: &'static [&'static str],
}

impl Defect {
    /// Its name on a server, as `VARIABLE` has it.
    pub(crate) fn on(&self, dialect: Dialect) -> String {
        format!("{} on {}", self.name, dialect.facts().folder)
    }

    fn edits(&self, dialect: Dialect) -> &'static [Edit] {
        match dialect {
            Dialect::Postgres => self.postgres,
            Dialect::Mysql | Dialect::Mariadb => self.mysql,
        }
    }

    /// The files with the defect; nothing where they have no place for it.
    pub(crate) fn applied(
        &self,
        bundle: &Bundle,
        graph: &Graph,
        dialect: Dialect,
    ) -> Option<Bundle> {
        let schema = match dialect {
            Dialect::Postgres => dialect.ident(&graph.schema),
            Dialect::Mysql | Dialect::Mariadb => dialect.ident(&graph.database),
        };
        let named = |text: &str| {
            text.replace("W.", &format!("{}.", bundle.control))
                .replace("D.", &format!("{schema}."))
        };
        let edits: Vec<(String, String)> = self
            .edits(dialect)
            .iter()
            .map(|edit| (named(edit.from), named(edit.to)))
            .collect();
        // A copy is large.
        let (first, _) = edits.first()?;
        let mut statements = bundle.files.iter().flat_map(|file| &file.statements);
        if !statements.any(|statement| place(&statement.sql, first).is_some()) {
            return None;
        }
        let mut bundle = bundle.clone();
        for (from, to) in edits {
            // Most defects are of a rule; the others have a text that stands in no file of a rule.
            let edited = replace(&mut bundle, &from, &to, is_of_a_rule)
                || replace(&mut bundle, &from, &to, |path| !path.contains("/90_"));
            if !edited {
                return None;
            }
        }
        Some(bundle)
    }
}

/// Replaces a text in some of the files; whether it was there.
fn replace(bundle: &mut Bundle, from: &str, to: &str, chosen: impl Fn(&str) -> bool) -> bool {
    let mut found = false;
    for file in bundle.files.iter_mut().filter(|file| chosen(&file.path)) {
        for statement in &mut file.statements {
            let mut edited = String::new();
            let mut rest = statement.sql.as_str();
            while let Some((at, end)) = place(rest, from) {
                edited.extend([&rest[..at], to]);
                rest = &rest[end..];
                found = true;
            }
            statement.sql = edited + rest;
        }
    }
    found
}

/// Where a text stands in another one, from where to where. Any space is as good as another: it does not matter how lines end.
fn place(text: &str, wanted: &str) -> Option<(usize, usize)> {
    let words = wanted.trim_start();
    let indented = words.len() < wanted.len();
    let first = words.split_whitespace().next()?;
    let end = |from: usize| {
        let mut rest = text[from..].strip_prefix(first)?;
        let mut words = &words[first.len()..];
        while let Some(sign) = words.chars().next() {
            if sign.is_whitespace() {
                let behind = rest.trim_start();
                if behind.len() == rest.len() {
                    return None;
                }
                (rest, words) = (behind, words.trim_start());
            } else {
                rest = rest.strip_prefix(sign)?;
                words = &words[sign.len_utf8()..];
            }
        }
        Some(text.len() - rest.len())
    };
    let mut places = text.match_indices(first);
    places.find_map(|(at, _)| {
        let spaced = text[..at].trim_end().len();
        let start = if indented { spaced } else { at };
        (!indented || spaced < at).then_some((start, end(at)?))
    })
}

/// Whether this process has a defect: nobody needs the smallest example then.
pub(crate) fn is_expected() -> bool {
    env::var_os(VARIABLE).is_some()
}

/// The rendered files of a graph as this process should install them.
pub(crate) fn of_this_process(bundle: Bundle, graph: &Graph, dialect: Dialect) -> Bundle {
    let Ok(name) = env::var(VARIABLE) else {
        return bundle;
    };
    if name == HARMLESS {
        return harmless(bundle);
    }
    let defect = crate::prove::defects::all()
        .find(|defect| DIALECTS.iter().any(|it| defect.on(*it) == name))
        .unwrap_or_else(|| panic!("no defect has the name {name}"));
    if defect.on(dialect) != name {
        return bundle;
    }
    defect
        .applied(&bundle, graph, dialect)
        .unwrap_or_else(|| panic!("{NOTHING} {name}"))
}

fn harmless(mut bundle: Bundle) -> Bundle {
    for file in bundle
        .files
        .iter_mut()
        .filter(|file| is_of_a_rule(&file.path))
    {
        for statement in &mut file.statements {
            let sql = &statement.sql;
            statement.sql = match sql.strip_suffix("\nEND") {
                Some(body) => format!("{body}\n    DO 0;\nEND"),
                None => sql.replace("\nEND $windrow$", "\n    NULL;\nEND $windrow$"),
            };
        }
    }
    bundle
}

fn is_of_a_rule(path: &str) -> bool {
    ["/11_workers", "/30_", "/35_guard", "/42_stamp"]
        .iter()
        .any(|stage| path.contains(stage))
}
