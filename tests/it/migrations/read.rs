//! The runners that no registry has here (Flyway, goose, Atlas, golang-migrate) read their files as their makers document it and as
//! their parsers do: each must find the statements that Liquibase, which `make prove` runs, finds in its own files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use windrow::dialect::{DIALECTS, Dialect};
use windrow::graph::Graph;
use windrow::migrations::runner::RUNNERS;
use windrow::migrations::{next, write};

use super::stage::spec;
use crate::harness::tests;
use crate::support::graphs::graph_of;

tests! {
    lint: [
        flyway_finds_every_statement,
        goose_finds_every_statement,
        atlas_finds_every_statement,
        golang_migrate_finds_every_statement,
    ],
}

/// A migration as a runner reads it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Migration {
    /// Whether it is kept out of a transaction.
    pub(crate) alone: bool,
    pub(crate) up: Vec<String>,
    /// Nothing where the runner knows no way back.
    pub(crate) down: Option<Vec<String>>,
}

type Files = BTreeMap<String, String>;

fn flyway_finds_every_statement() {
    check("flyway", |files, dialect| {
        let mut found = Vec::new();
        for (name, text) in files
            .iter()
            .filter(|(name, _)| name.starts_with('V') && name.ends_with(".sql"))
        {
            let rest = &name[1..];
            let (number, slug) = rest.split_once("__").expect("a version and a description");
            assert!(is_number(number) && ends(slug, ".sql"), "{name}");
            let back = format!("U{rest}");
            let alone = [name, &back].map(|name| !flyway_conf(&files[&format!("{name}.conf")]));
            assert_eq!(alone[0], alone[1], "{name}");
            // A stored program with a definer is none to it: its blocks are not counted. They must be even in both cases.
            let [up, down] = [text, &files[&back]].map(|text| {
                let statements = ended(text, dialect, Programs::WithoutDefiner);
                assert_eq!(statements, ended(text, dialect, Programs::All), "{name}");
                statements
            });
            let migration = Migration {
                alone: alone[0],
                up,
                down: Some(down),
            };
            found.push((number.parse::<u64>().expect("a number"), migration));
        }
        assert_eq!(files.len(), 4 * found.len(), "{:?}", files.keys());
        found.sort_by_key(|(number, _)| *number);
        found.into_iter().map(|(_, migration)| migration).collect()
    });
}

fn goose_finds_every_statement() {
    check("goose", |files, _| {
        let each = files.iter().map(|(name, text)| {
            let (number, slug) = name.split_once('_').expect("a version and a name");
            assert!(is_number(number) && ends(slug, ".sql"), "{name}");
            goose(text)
        });
        each.collect()
    });
}

fn atlas_finds_every_statement() {
    check("atlas", |files, dialect| {
        let each = files.iter().map(|(name, text)| {
            let (version, slug) = name.split_once('_').expect("a version and a name");
            assert!(is_number(version) && ends(slug, ".sql"), "{name}");
            atlas(text, dialect)
        });
        each.collect()
    });
}

fn golang_migrate_finds_every_statement() {
    check("golang-migrate", |files, dialect| {
        let mut found = Vec::new();
        for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".up.sql")) {
            let (number, title) = name.split_once('_').expect("a version and a title");
            assert!(is_number(number) && ends(title, ".up.sql"), "{name}");
            let [up, down] = [name.clone(), name.replace(".up.sql", ".down.sql")]
                .map(|name| ended(&files[&name], dialect, Programs::All));
            assert!(!text.contains("DELIMITER"), "{name}");
            found.push(Migration {
                // It sends a file as it is. Of one statement PostgreSQL makes no transaction, of several it does.
                alone: up.len() == 1 && down.len() == 1,
                up,
                down: Some(down),
            });
        }
        assert_eq!(files.len(), 2 * found.len(), "{:?}", files.keys());
        found
    });
}

/// Of every shipped spec the first version, and of one with hostile texts two, on every server.
#[track_caller]
fn check(runner: &str, read: fn(&Files, Dialect) -> Vec<Migration>) {
    let mut statements = 0;
    for dialect in DIALECTS {
        let shipped = shipped().into_iter();
        let shipped = shipped.filter(|graph| graph.dialects.contains(dialect));
        let both = [1, 2].map(|version| graph_of(&spec(version, "x", *dialect)));
        for graphs in shipped.map(|graph| vec![graph]).chain([both.into()]) {
            let title = format!("{} for {runner} on {dialect:?}", graphs[0].name);
            let wanted = written("liquibase", &graphs, *dialect);
            let files = written(runner, &graphs, *dialect);
            for (wanted, files) in wanted.iter().zip(&files) {
                let wanted: Vec<_> = wanted.values().map(|text| liquibase(text)).collect();
                let found = read(files, *dialect);
                assert_eq!(found.len(), wanted.len(), "{title}: {:?}", files.keys());
                for (found, wanted) in found.iter().zip(&wanted) {
                    assert_eq!(found.alone, wanted.alone, "{title}");
                    same(&found.up, &wanted.up, &title);
                    if let (Some(found), Some(wanted)) = (&found.down, &wanted.down) {
                        same(found, wanted, &title);
                    }
                    statements += found.up.len();
                }
            }
        }
    }
    assert!(statements > 5000, "{statements}");
}

#[track_caller]
fn same(found: &[String], wanted: &[String], title: &str) {
    for (found, wanted) in found.iter().zip(wanted) {
        let (found, wanted) = (bare(found), bare(wanted));
        assert!(found == wanted, "{title}:\n{found}\n--- for ---\n{wanted}");
    }
    assert_eq!(found.len(), wanted.len(), "{title}");
}

/// A statement without the comments before it, which some runners leave out, and the semicolon at its end, which some keep.
fn bare(sql: &str) -> &str {
    let mut rest = sql.trim();
    while rest.starts_with("--") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest.trim());
    }
    rest.strip_suffix(';').unwrap_or(rest).trim()
}

fn shipped() -> Vec<Graph> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs");
    let mut specs: Vec<_> = fs::read_dir(folder)
        .expect("the specs")
        .map(|spec| spec.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .collect();
    specs.sort();
    let texts = specs.iter().map(fs::read_to_string);
    texts.map(|text| graph_of(&text.expect("a spec"))).collect()
}

/// The files of each version in one folder.
fn written(runner: &str, graphs: &[Graph], dialect: Dialect) -> Vec<Files> {
    let runner = RUNNERS.iter().find(|it| it.name == runner);
    let runner = runner.expect("a runner");
    let folder = tempfile::tempdir().expect("a scratch folder");
    let versions = graphs.iter().map(|graph| {
        let outcome = next(runner, graph, dialect, folder.path(), None).expect("a version");
        assert!(outcome.is_new);
        write(&outcome, folder.path()).expect("it is written");
        let files = outcome.files.into_iter();
        let files = files.filter(|file| !file.path.ends_with(".lock"));
        files
            .map(|file| (file.path, file.after.expect("a text")))
            .collect()
    });
    versions.collect()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

fn ends(name: &str, with: &str) -> bool {
    name.strip_suffix(with)
        .is_some_and(|name| !name.is_empty() && !name.contains('.'))
}

/// A changeSet: its `<sql>`, and those of its `<rollback>`.
fn liquibase(text: &str) -> Migration {
    let (up, down) = text.split_once("<rollback>").expect("a way back");
    let [up, down] = [up, down].map(|part| {
        let texts = part.split("<sql splitStatements=\"false\" stripComments=\"false\"><![CDATA[");
        let texts = texts.skip(1);
        texts
            .map(|text| {
                let (text, _) = text.split_once("]]></sql>").expect("an end");
                text.replace("]]]]><![CDATA[>", "]]>")
            })
            .collect()
    });
    Migration {
        alone: text.contains("runInTransaction=\"false\""),
        up,
        down: Some(down),
    }
}

/// goose: lines that are annotations, without blanks before them; the text between `StatementBegin` and `StatementEnd` is one
/// statement, without the comments and blank lines before it. Here no other statement is meant to be.
pub(crate) fn goose(text: &str) -> Migration {
    let mut parts: Vec<Vec<String>> = Vec::new();
    let mut statement: Option<String> = None;
    let mut alone = false;
    for line in text.lines() {
        // The longest line that its scanner takes.
        assert!(line.len() < 4 * 1024 * 1024);
        let annotation = line.strip_prefix("--").map(str::trim);
        let annotation = annotation.and_then(|it| it.strip_prefix("+goose "));
        match (annotation, &mut statement) {
            (Some("NO TRANSACTION"), None) if parts.is_empty() => alone = true,
            (Some("Up"), None) if parts.is_empty() => parts.push(Vec::new()),
            (Some("Down"), None) if parts.len() == 1 => parts.push(Vec::new()),
            (Some("StatementBegin"), None) if !parts.is_empty() => {
                statement = Some(String::new());
            }
            (Some("StatementEnd"), Some(sql)) => {
                let part = parts.last_mut().expect("a direction");
                part.push(sql.trim().to_owned());
                statement = None;
            }
            (Some(other), _) => panic!("`{other}` stands where goose refuses it"),
            (None, Some(sql)) => {
                let is_code = !line.trim().starts_with("--") && !line.is_empty();
                if is_code || !sql.is_empty() {
                    *sql += &format!("{line}\n");
                }
            }
            (None, None) => {
                let skipped = line.is_empty() || line.starts_with("--");
                assert!(skipped, "outside of a statement: {line}");
            }
        }
    }
    assert!(statement.is_none(), "a statement without an end");
    let [up, down] = <[Vec<String>; 2]>::try_from(parts).expect("two directions");
    Migration {
        alone,
        up,
        down: Some(down),
    }
}

/// Whether a file of Flyway's beside a migration asks for a transaction; it has the documented settings, each once.
fn flyway_conf(text: &str) -> bool {
    let settings: BTreeMap<_, _> = text
        .lines()
        .map(|line| line.split_once('=').expect("a setting"))
        .collect();
    assert_eq!(settings.len(), text.lines().count(), "{text}");
    let names: Vec<_> = settings.keys().copied().collect();
    let known = ["encoding", "executeInTransaction", "placeholderReplacement"];
    assert_eq!(names, known, "{text}");
    assert_eq!(settings["encoding"], "UTF-8");
    assert_eq!(settings["placeholderReplacement"], "false");
    settings["executeInTransaction"].parse().expect("a boolean")
}

/// The length of the quoted text or the comment that a text begins with, and whether it is a comment.
fn opaque(text: &str, dialect: Dialect) -> Option<(usize, bool)> {
    let postgres = dialect == Dialect::Postgres;
    let line = || text.find('\n').map_or(text.len(), |at| at + 1);
    match text.chars().next()? {
        quote @ ('\'' | '"' | '`') => {
            let mut signs = text.char_indices().skip(1);
            while let Some((at, sign)) = signs.next() {
                if sign == '\\' && !postgres {
                    signs.next();
                } else if sign == quote {
                    return Some((at + 1, false));
                }
            }
            panic!("a quote without an end: {text}");
        }
        '-' if text.starts_with("--") => Some((line(), true)),
        '#' if !postgres => Some((line(), true)),
        '/' if text.starts_with("/*") => {
            let end = text.find("*/").expect("an end of the comment");
            Some((end + 2, !text.starts_with("/*!")))
        }
        '$' if postgres => {
            let tag = &text[..text[1..].find('$')? + 2];
            let end = text[tag.len()..].find(tag).expect("an end of the quote");
            Some((2 * tag.len() + end, false))
        }
        _ => None,
    }
}

/// Atlas: the first line may name the delimiter or the mode, an empty one follows. The delimiter ends a statement outside of quotes,
/// comments and parentheses; comments before a statement are no part of it.
fn atlas(text: &str, dialect: Dialect) -> Migration {
    let (directive, rest) = text.split_once('\n').expect("a directive");
    let mut rest = rest.strip_prefix('\n').expect("an empty line");
    let delimiter = directive.strip_prefix("-- atlas:delimiter ");
    let alone = directive == "-- atlas:txmode none";
    assert!(alone != delimiter.is_some(), "{directive}");
    let delimiter = delimiter.unwrap_or(";");
    let (mut found, mut sql, mut depth) = (Vec::new(), String::new(), 0);
    while !rest.is_empty() {
        let mut length = rest.chars().next().map_or(0, char::len_utf8);
        if depth == 0 && rest.starts_with(delimiter) {
            found.push(sql.trim().to_owned());
            sql.clear();
            rest = &rest[delimiter.len()..];
            continue;
        }
        if let Some((opaque, _)) = opaque(rest, dialect) {
            length = opaque;
            // Of these, the comments for one server, too.
            let comment = rest.starts_with("--") || rest.starts_with("/*") || rest.starts_with('#');
            if comment && sql.trim().is_empty() {
                rest = &rest[length..];
                continue;
            }
        }
        depth += i32::from(rest.starts_with('(')) - i32::from(rest.starts_with(')'));
        assert!(depth >= 0, "a parenthesis too many: {sql}");
        sql += &rest[..length];
        rest = &rest[length..];
    }
    assert_eq!((sql.trim(), depth), ("", 0), "a statement without an end");
    Migration {
        alone,
        up: found,
        down: None,
    }
}

/// Flyway, and without `DELIMITER` the servers: the delimiter ends a statement outside of quotes, comments, parentheses and, on MySQL
/// and MariaDB, blocks; there `DELIMITER` names another one.
fn ended(text: &str, dialect: Dialect, programs: Programs) -> Vec<String> {
    let postgres = dialect == Dialect::Postgres;
    let (mut found, mut sql, mut rest) = (Vec::new(), String::new(), text);
    let (mut delimiter, mut depth, mut blocks) = (";", 0, Blocks::new(programs));
    while !rest.is_empty() {
        let sign = rest.chars().next().unwrap_or(' ');
        let mut length = sign.len_utf8();
        if let Some((opaque, is_comment)) = opaque(rest, dialect) {
            length = opaque;
            if !is_comment && depth == 0 {
                blocks.token("");
            }
        } else if "()".contains(sign) {
            depth += if sign == '(' { 1 } else { -1 };
        } else if rest.starts_with(delimiter) {
            length = delimiter.len();
            if depth == 0 {
                blocks.token(delimiter);
                if postgres || blocks.open == 0 {
                    found.push(sql.trim().to_owned());
                    sql.clear();
                    blocks = Blocks::new(programs);
                    rest = &rest[length..];
                    continue;
                }
            }
        } else if sign.is_ascii_alphanumeric() || sign == '_' {
            let word = |at: &(usize, char)| {
                (at.1.is_ascii_alphanumeric() || "_$".contains(at.1))
                    && !rest[at.0..].starts_with(delimiter)
            };
            length = rest.char_indices().take_while(word).count();
            if !postgres && rest[..length].eq_ignore_ascii_case("DELIMITER") {
                assert_eq!(bare(&sql), "", "a statement without an end");
                let (line, behind) = rest.split_once('\n').expect("an end of the line");
                delimiter = line[length..].trim();
                rest = behind;
                continue;
            }
            if depth == 0 {
                blocks.token(&rest[..length].to_ascii_uppercase());
            }
        } else {
            let known = sign.is_ascii_whitespace() || ",=*.:;[]~+-/%^|?!@$&#<>{}\\".contains(sign);
            assert!(known, "Flyway knows no `{sign}`: {rest}");
            if !sign.is_ascii_whitespace() && depth == 0 {
                blocks.token(&rest[..length]);
            }
        }
        sql += &rest[..length];
        rest = &rest[length..];
    }
    assert_eq!((bare(&sql), depth), ("", 0), "a statement without an end");
    found
}

/// What counts as a stored program.
#[derive(Clone, Copy)]
enum Programs {
    /// `CREATE PROCEDURE` and its like, for Flyway.
    WithoutDefiner,
    /// Those with a definer, too, for the servers.
    All,
}

/// How many blocks are open on MySQL and MariaDB: `BEGIN` of a stored program and `CASE` open one, an `END` that no `IF`, `LOOP`,
/// `REPEAT` or `WHILE` follows closes one.
struct Blocks {
    programs: Programs,
    open: usize,
    first: Vec<String>,
    last: String,
}

impl Blocks {
    fn new(programs: Programs) -> Self {
        Self {
            programs,
            open: 0,
            first: Vec::new(),
            last: String::new(),
        }
    }

    fn token(&mut self, word: &str) {
        let is_word = word.starts_with(|sign: char| sign.is_ascii_alphabetic());
        if self.first.len() < 3 && is_word {
            self.first.push(word.to_owned());
        }
        let is_kind =
            |word: &String| ["PROCEDURE", "FUNCTION", "EVENT", "TRIGGER"].contains(&word.as_str());
        let kind = match (&self.first[..], self.programs) {
            ([create, definer, kind], Programs::All)
                if create == "CREATE" && definer == "DEFINER" =>
            {
                Some(kind)
            }
            ([create, kind, ..], _) if create == "CREATE" => Some(kind),
            _ => None,
        };
        let opens =
            word == "BEGIN" && kind.is_some_and(is_kind) || word == "CASE" && self.last != "END";
        self.open += usize::from(opens);
        let goes_on = ["IF", "LOOP", "REPEAT", "WHILE"].contains(&word);
        if self.open > 0 && self.last == "END" && !goes_on {
            self.open -= 1;
        }
        word.clone_into(&mut self.last);
    }
}
