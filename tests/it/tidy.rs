//! The rules of ARCHITECTURE.md that a compiler does not keep.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::tests;

tests! {
    lint: [
        each_foreign_crate_has_one_door,
        the_pure_part_knows_no_world,
        layers_look_left_only,
        every_template_is_embedded_and_decides_nothing,
        the_readme_names_only_targets_and_commands_that_exist,
        every_test_that_a_promise_names_exists,
        templates_are_ascii,
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

fn all() -> Vec<(String, String)> {
    let mut found = Vec::new();
    sources(&root().join("src"), &mut found);
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
        ("tera::", "src/render.rs"),
        ("native_tls::", "src/db/postgres.rs"),
        ("use mysql::{", "src/db/mysql.rs"),
        ("indicatif::", "src/ui.rs"),
        ("anstyle::", "src/ui.rs"),
        ("annotate_snippets::", "src/diagnostic.rs"),
    ] {
        assert_eq!(naming(what), [door], "who names `{what}`");
    }
}

fn the_pure_part_knows_no_world() {
    let pure = [
        "src/spec",
        "src/graph",
        "src/lint",
        "src/plan.rs",
        "src/dialect.rs",
        "src/render.rs",
        "src/diagnostic.rs",
        "src/draw.rs",
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

fn layers_look_left_only() {
    for (name, forbidden) in [
        (
            "src/plan.rs",
            &["crate::dialect", "crate::render", "crate::bundle"][..],
        ),
        (
            "src/dialect.rs",
            &["crate::plan", "crate::render", "crate::bundle"],
        ),
        (
            "src/bundle.rs",
            &["crate::render", "crate::plan", "crate::db"],
        ),
        (
            "src/db.rs",
            &["crate::render", "crate::plan", "crate::graph"],
        ),
        (
            "src/db/postgres.rs",
            &["crate::render", "crate::plan", "crate::graph"],
        ),
        (
            "src/db/mysql.rs",
            &["crate::render", "crate::plan", "crate::graph"],
        ),
    ] {
        let text = fs::read_to_string(root().join(name)).expect("a readable source");
        for word in forbidden {
            assert!(!text.contains(word), "{name} names `{word}`");
        }
    }
}

/// Every file below `templates/`.
fn templates() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("templates")];
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

fn every_template_is_embedded_and_decides_nothing() {
    let sources = all();
    let found = templates();
    for path in &found {
        let name = path.strip_prefix(root()).expect("below the root");
        let embedded = format!("../{}\"", name.display());
        assert!(
            sources.iter().any(|(_, text)| text.contains(&embedded)),
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

fn the_readme_names_only_targets_and_commands_that_exist() {
    let readme = fs::read_to_string(root().join("README.md")).expect("a README");
    let makefile = fs::read_to_string(root().join("Makefile")).expect("a Makefile");
    let mut targets = 0;
    // In running text or as a line of an example.
    for word in readme
        .replace("\nmake ", "\n`make ")
        .split("`make ")
        .skip(1)
    {
        let target = word.split(['`', ' ', '\n']).next().unwrap_or_default();
        assert!(
            makefile.contains(&format!("\n{target}:")),
            "the README names `make {target}`"
        );
        targets += 1;
    }
    assert!(targets >= 3, "the README should name the targets");
}

/// Names of tests stand between backticks, without the server: `claims::a_superuser_lends_the_application_nothing`.
fn every_test_that_a_promise_names_exists() {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .arg("--list")
        .output()
        .expect("this program starts");
    let list = String::from_utf8_lossy(&output.stdout);
    let tests: BTreeSet<String> = list
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .flat_map(|name| {
            let servers = ["::postgres::", "::mysql::", "::mariadb::"];
            let short = servers.map(|server| name.replace(server, "::"));
            short.into_iter().chain([name.to_owned()])
        })
        .collect();
    for (page, least) in [("SECURITY.md", 40), ("README.md", 8)] {
        let text = fs::read_to_string(root().join(page)).expect("a page");
        let is_name = |word: &&str| {
            word.contains("::")
                && word
                    .chars()
                    .all(|letter| letter.is_ascii_lowercase() || "_:".contains(letter))
        };
        let named: Vec<&str> = text.split('`').filter(is_name).collect();
        assert!(named.len() >= least, "{page} names {} tests", named.len());
        for test in named {
            assert!(tests.contains(test), "{page} names `{test}`: no such test");
        }
    }
}

/// A database of PostgreSQL in another encoding than UTF-8 takes only what it has a letter for.
fn templates_are_ascii() {
    for path in templates() {
        let text = fs::read_to_string(&path).expect("a text");
        let odd: Vec<&str> = text.lines().filter(|line| !line.is_ascii()).collect();
        assert!(odd.is_empty(), "{}: {odd:?}", path.display());
    }
}
