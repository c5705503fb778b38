//! The rules of ARCHITECTURE.md that a compiler does not keep.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::tests;

mod modules;

tests! {
    lint: [
        each_foreign_crate_has_one_door,
        what_is_generated_knows_no_version,
        the_pure_part_knows_no_world,
        each_module_names_only_those_before_it,
        no_modules_name_each_other_in_a_circle,
        the_reader_of_modules_sees_every_path,
        every_template_is_embedded_and_decides_nothing,
        templates_are_ascii,
        functions_and_files_are_short,
        lines_are_short,
        what_a_person_reads_is_short,
    ],
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a folder entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path
                .strip_prefix(root())
                .expect("below the root")
                .display()
                .to_string();
            found.push((name, fs::read_to_string(&path).expect("a readable source")));
        }
    }
}

/// The sources below some folders.
fn below(folders: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in folders {
        let before = found.len();
        sources(&root().join(folder), &mut found);
        assert!(found.len() > before, "no sources were found in {folder}");
    }
    found
}

fn all() -> Vec<(String, String)> {
    let found = below(&["src"]);
    assert!(found.len() > 30, "only {} sources were found", found.len());
    found
}

/// Sources that name a path, outside of comments.
fn naming(what: &str) -> Vec<String> {
    let mut names: Vec<String> = all()
        .into_iter()
        .filter(|(_, text)| {
            text.lines()
                .any(|line| !line.trim_start().starts_with("//") && line.contains(what))
        })
        .map(|(name, _)| name)
        .collect();
    names.sort();
    names
}

fn each_foreign_crate_has_one_door() {
    for (what, door) in [
        ("sea_query::", "src/dialect.rs"),
        ("tera::", "src/render/templates.rs"),
        ("rustls::", "src/db/tls.rs"),
        ("CARGO_PKG_VERSION", "src/version.rs"),
        ("use mysql::{", "src/db/mysql.rs"),
        ("indicatif::", "src/ui.rs"),
        ("anstyle::", "src/ui.rs"),
        ("annotate_snippets::", "src/diagnostic.rs"),
    ] {
        assert_eq!(naming(what), [door], "who names `{what}`");
    }
}

/// Else generated files would change with every commit.
fn what_is_generated_knows_no_version() {
    assert_eq!(
        naming("version::VERSION"),
        [
            "src/cli.rs",
            "src/commands/fleet/journal.rs",
            "src/commands/install.rs",
            "src/page.rs"
        ],
        "who names the version of windrow"
    );
}

fn the_pure_part_knows_no_world() {
    let pure = [
        "src/column.rs",
        "src/diagnostic.rs",
        "src/dialect.rs",
        "src/draw",
        "src/graph",
        "src/lint",
        "src/plan",
        "src/render",
        "src/spec",
    ];
    for (name, text) in all()
        .iter()
        .filter(|(name, _)| pure.iter().any(|part| name.starts_with(part)))
    {
        for word in [
            "std::env",
            "std::fs",
            "std::net",
            "std::process",
            "SystemTime",
            "Instant::",
            "crate::db",
            "crate::ui",
        ] {
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            assert!(!text.contains(word), "{name} names `{word}`");
        }
    }
}

/// What a page says below a heading of the second level, up to the next one.
pub(crate) fn section<'a>(page: &'a str, title: &str) -> &'a str {
    let (_, text) = page
        .split_once(&format!("\n## {title}\n"))
        .unwrap_or_else(|| panic!("no section `{title}`"));
    text.split("\n## ").next().unwrap_or_default()
}

/// The modules in their order, as ARCHITECTURE.md states it: each names only those before it.
fn order() -> Vec<String> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a page");
    let list = section(&page, "The order of the modules")
        .split("```")
        .nth(1)
        .expect("a block with the order");
    let words = list.strip_prefix("text").unwrap_or(list);
    words.split_whitespace().map(str::to_owned).collect()
}

/// The modules of the library, with those that they name.
fn modules_of_the_library() -> modules::Graph {
    let sources: Vec<(String, String)> = all()
        .into_iter()
        .filter_map(|(name, text)| Some((name.strip_prefix("src/")?.to_owned(), text)))
        // A crate of its own, which names the library as any other would.
        .filter(|(name, _)| name != "main.rs")
        .collect();
    modules::read(&sources)
}

fn each_module_names_only_those_before_it() {
    let order = order();
    let top = |module: &str| module.split("::").next().unwrap_or_default().to_owned();
    let place = |module: &str| order.iter().position(|it| *it == top(module));
    let graph = modules_of_the_library();
    let known: BTreeSet<String> = graph
        .keys()
        .map(|it| top(it))
        .filter(|it| !it.is_empty())
        .collect();
    assert_eq!(
        known,
        order.iter().cloned().collect(),
        "ARCHITECTURE.md lists other modules than there are"
    );
    let mut named = 0;
    for (module, others) in &graph {
        for (other, path) in others.iter().filter(|(other, _)| top(other) != top(module)) {
            assert!(
                place(other) < place(module),
                "{module} names {other}, which comes later: `{path}`"
            );
            named += 1;
        }
    }
    assert!(
        named > 300,
        "only {named} names of other modules were found"
    );
}

fn no_modules_name_each_other_in_a_circle() {
    let mut told = String::new();
    for graph in [modules_of_the_library(), modules_of_the_measurements()] {
        for circle in modules::circles(&graph) {
            for module in &circle {
                let others = graph[module].iter();
                for (other, path) in others.filter(|(other, _)| circle.contains(*other)) {
                    told += &format!("{module} names {other}: `{path}`\n");
                }
            }
        }
    }
    assert!(told.is_empty(), "a circle of modules:\n{told}");
}

/// The modules of `benches/purge`, whose root names them all.
fn modules_of_the_measurements() -> modules::Graph {
    let sources: Vec<(String, String)> = below(&["benches/purge"])
        .into_iter()
        .filter_map(|(name, text)| {
            let name = name.strip_prefix("benches/purge/")?;
            let name = if name == "main.rs" { "lib.rs" } else { name };
            Some((name.to_owned(), text))
        })
        .collect();
    let graph = modules::read(&sources);
    assert!(graph[""].len() > 8, "the root names {:?}", graph[""]);
    graph
}

/// The checks above are worth what the reader of modules sees.
fn the_reader_of_modules_sees_every_path() {
    let read = |sources: &[(&str, &str)]| {
        let owned: Vec<(String, String)> = sources
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        let mut names = Vec::new();
        for (module, others) in modules::read(&owned) {
            names.extend(others.keys().map(|other| format!("{module} > {other}")));
        }
        names
    };
    let library = ("lib.rs", "pub mod a; pub mod b;");
    // In a `use` with a tree and an alias, in code, in a macro, through `super` and through an inline module.
    for text in [
        "use crate::{a::{self as c, X}, outside::Y};",
        "fn f() { crate::a::g() }",
        "fn f() { println!(\"{}\", crate::a::g()) }",
        "fn f(x: super::a::X) {}",
        "mod inner { fn f() { super::super::a::g() } }",
        "use crate::a; fn f() { a::g() }",
        "use crate::a as c; fn f() { c::g() }",
        "fn f<'x>(y: &'x str) -> char { crate::a::g(); '\"' }",
    ] {
        let found = read(&[library, ("a.rs", "pub struct X;"), ("b.rs", text)]);
        assert!(
            found
                .iter()
                .any(|it| it.starts_with('b') && it.ends_with("> a")),
            "{text}: {found:?}"
        );
    }
    // Not in comments, texts and tests.
    for text in [
        "// crate::a::g()\n/* crate::a::g() */",
        "const T: &str = \"crate::a::g()\"; const R: &str = r#\"\" crate::a::g()\"#;",
        "#[cfg(test)] mod tests { use crate::a::X; }",
        "#[cfg(test)]\nmod tests;",
    ] {
        let mut sources = vec![library, ("a.rs", "pub struct X;"), ("b.rs", text)];
        if text.ends_with("mod tests;") {
            sources.push(("b/tests.rs", "use crate::a::X;"));
        }
        let found = read(&sources);
        assert_eq!(found, Vec::<String>::new(), "{text}");
    }
    // A name that is passed on belongs to the module that defines it.
    let found = read(&[
        library,
        ("a.rs", "mod c; mod d; pub use c::X;"),
        ("a/c.rs", "pub struct X;"),
        ("a/d.rs", "use super::X;"),
        ("b.rs", "use crate::a::X;"),
    ]);
    assert_eq!(found, ["a > a::c", "a::d > a::c", "b > a::c"]);
    let circle = modules::circles(&modules::read(&[
        ("lib.rs".to_owned(), "mod a;".to_owned()),
        ("a.rs".to_owned(), "mod c; fn f() { c::g() }".to_owned()),
        ("a/c.rs".to_owned(), "fn g() { super::f() }".to_owned()),
    ]));
    assert_eq!(
        circle,
        [BTreeSet::from(["a".to_owned(), "a::c".to_owned()])]
    );
}

/// Every file below `templates/`.
fn templates() -> Vec<PathBuf> {
    files(&root().join("templates"))
}

/// Every file below a folder.
pub(crate) fn files(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![below.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found
}

/// How the sources name a text of the kernel: a part of files by its path, a file by its row of the list.
fn listed(below: &Path) -> Vec<String> {
    let path = below.display().to_string();
    let parts: Vec<&str> = path.trim_end_matches(".sql").split('/').collect();
    let [.., folder, name] = parts[..] else {
        panic!("{path} is in no folder");
    };
    let rows = ["both", parts[0]]
        .into_iter()
        .map(|kind| format!("row!({kind} \"{folder}\" \"{name}\" "));
    rows.chain([format!("text!(\"{path}\")")]).collect()
}

fn every_template_is_embedded_and_decides_nothing() {
    let sources = all();
    let found = templates();
    for path in &found {
        let name = path.strip_prefix(root()).expect("below the root");
        let embedded = match name.strip_prefix("templates/kernel") {
            Ok(below) => listed(below),
            Err(_) => vec![format!("../{}\"", name.display())],
        };
        let is_embedded =
            |(_, text): &(String, String)| embedded.iter().any(|it| text.contains(it));
        assert!(
            sources.iter().any(is_embedded),
            "{} is not embedded",
            name.display()
        );
        let text = fs::read_to_string(path).expect("a readable template");
        for word in ["{% set", "{%- set", "{% extends", "{% if dialect"] {
            assert!(!text.contains(word), "{} has `{word}`", name.display());
        }
    }
    assert!(
        found.len() >= 40,
        "only {} templates were found",
        found.len()
    );
}

/// A database of PostgreSQL in another encoding than UTF-8 takes only what it has a letter for. No file has the marks.
fn templates_are_ascii() {
    for path in templates() {
        let text = fs::read_to_string(&path).expect("a text");
        let text = text.replace(['«', '»', '‹', '›', '⟦', '⟧', '⟪', '⟫'], "");
        let odd: Vec<&str> = text.lines().filter(|line| !line.is_ascii()).collect();
        assert!(odd.is_empty(), "{}: {odd:?}", path.display());
    }
}

const LONGEST_FUNCTION: usize = 100;
const LONGEST_FILE: usize = 700;

/// The functions of a source, as rustfmt lays them out: name and lines.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let code = code.strip_prefix("pub").map_or(code, |code| {
            let seen = code.strip_prefix('(').and_then(|code| code.split_once(')'));
            seen.map_or(code, |(_, code)| code).trim_start()
        });
        let head = code.split('(').next().unwrap_or_default();
        let mut words = head.split_whitespace().skip_while(|word| *word != "fn");
        let (Some(_), Some(name)) = (words.next(), words.next()) else {
            continue;
        };
        // In a macro, a name is not the function's own.
        if code.starts_with("//") || code.ends_with(';') || name.starts_with('$') {
            continue;
        }
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        let length = lines[at..].iter().position(|line| **line == end);
        let name = name.split('<').next().unwrap_or(name);
        found.extend(length.map(|length| (name.to_owned(), length + 1)));
    }
    found
}

fn functions_and_files_are_short() {
    let mut seen = 0;
    let mut told = String::new();
    let mut bar = |what: String, lines: usize, most: usize| {
        if lines > most {
            told += &format!("{what} has {lines} lines, more than {most}\n");
        }
    };
    let sources = below(&["src", "tests", "benches"]);
    for (path, text) in &sources {
        bar(path.clone(), text.lines().count(), LONGEST_FILE);
        for (name, lines) in functions(text) {
            seen += 1;
            bar(format!("{path}: `{name}`"), lines, LONGEST_FUNCTION);
        }
    }
    assert!(told.is_empty(), "{told}");
    assert!(seen > 3_000, "only {seen} functions were seen");
}

/// Lines that are longer than [`WIDTH`], by folder: so many there may still be.
const LONG_LINES: [(&str, usize); 5] = [
    ("src", 93),
    ("templates/kernel", 0),
    ("templates/postgres", 66),
    ("templates/mysql", 70),
    ("generated", 40),
];
const WIDTH: usize = 140;

fn lines_are_short() {
    let mut told = String::new();
    let mut too_many = false;
    for (folder, most) in LONG_LINES {
        let mut found: Vec<(usize, String)> = files(&root().join(folder))
            .iter()
            .map(|path| {
                let text = fs::read_to_string(path).unwrap_or_default();
                let long = text.lines().filter(|line| line.chars().count() > WIDTH);
                (long.count(), path.display().to_string())
            })
            .filter(|(count, _)| *count > 0)
            .collect();
        found.sort();
        let count: usize = found.iter().map(|(count, _)| count).sum();
        too_many |= count > most;
        told += &format!("{folder}: {count} of at most {most}\n");
        for (count, path) in found.iter().rev().take(5) {
            told += &format!("  {count:4}  {path}\n");
        }
    }
    assert!(!too_many, "lines of more than {WIDTH} characters:\n{told}");
}

/// How many lines of SQL a spec has of its own, at most: those that a person reads before he may clean.
const SPECS: [(&str, usize); 5] = [
    ("airflow-3/postgres", 1_500),
    ("camunda7/postgres", 2_300),
    ("camunda7-end-time/mysql", 3_000),
    ("dolphinscheduler/postgres", 500),
    ("yworkflow/postgres", 400),
];
/// And a rule of single rows, or of one table by age, with all its verbs: on PostgreSQL, and on MySQL and MariaDB.
const SMALL_RULE: (usize, usize) = (120, 180);
/// And all that is generated.
const GENERATED: usize = 40_000;

fn what_a_person_reads_is_short() {
    let generated = root().join("generated");
    let lines = |path: &Path| fs::read_to_string(path).expect("a text").lines().count();
    let is_sql = |path: &PathBuf| path.extension().is_some_and(|it| it == "sql");
    let own = |folder: &Path| -> usize {
        let files = files(folder).into_iter().filter(is_sql);
        files.map(|path| lines(&path)).sum()
    };
    let mut told = Vec::new();
    let mut bar = |what: String, lines: usize, most: usize| {
        assert!(lines > 0, "{what}: nothing is there");
        if lines > most {
            told.push(format!("{what}: {lines} lines, more than {most}"));
        }
    };
    for (spec, most) in SPECS {
        bar(spec.to_owned(), own(&generated.join(spec)), most);
    }
    bar("all of generated/".to_owned(), own(&generated), GENERATED);
    let mut rules = 0;
    for path in files(&generated)
        .iter()
        .filter(|it| it.ends_with("11_spec.json"))
    {
        let text = fs::read_to_string(path).expect("a document");
        let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let folder = path.parent().expect("a folder");
        let most = match folder.ends_with("postgres") {
            true => SMALL_RULE.0,
            false => SMALL_RULE.1,
        };
        for rule in document["rules"].as_array().expect("rules") {
            let single = ["expiry", "orphan", "keep-last"].map(serde_json::Value::from);
            let tables = rule["tables"].as_array().expect("tables").len();
            if single.contains(&rule["strategy"]) || rule["strategy"] == "age" && tables == 1 {
                let name = rule["rule"].as_str().expect("a name");
                let file = folder.join(format!("30_{name}.sql"));
                bar(file.display().to_string(), lines(&file), most);
                rules += 1;
            }
        }
    }
    assert!(rules > 20, "only {rules} small rules were found");
    assert!(told.is_empty(), "{}", told.join("\n"));
}
