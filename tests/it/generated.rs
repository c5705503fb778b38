//! What is committed in `generated/` is what the specs give.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use windrow::bundle::Form;
use windrow::dialect::{DIALECTS, Dialect};
use windrow::{lint, render};

use crate::harness::tests;
use crate::support::graphs::graph_of;

tests! {
    lint: [
        what_is_committed_is_fresh,
        the_same_spec_gives_the_same_bytes,
        every_statement_of_a_bundle_stands_in_its_file,
        every_statement_on_a_table_of_the_application_is_explained,
        a_small_change_of_a_spec_is_a_small_change_of_the_sql,
        no_file_leaves_a_setting_behind,
    ],
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file that the committed specs give, by path below `generated/`.
fn rendered() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut specs = 0;
    for entry in fs::read_dir(root().join("specs")).expect("there is a folder of specs") {
        let path = entry.expect("a folder entry").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        specs += 1;
        let text = fs::read_to_string(&path).expect("a readable spec");
        let (graph, findings) = lint::load(&text);
        assert!(findings.is_empty(), "{}: {findings:#?}", path.display());
        let graph = graph.expect("a spec without findings gives a graph");
        for dialect in &graph.dialects {
            let bundle = render::bundle(&graph, *dialect).expect("a checked spec renders");
            let review = bundle.form(Form::Review);
            files.extend(review.map(|file| (file.path.clone(), file.text.clone())));
        }
    }
    assert!(specs >= 2, "only {specs} specs were found");
    files
}

fn committed(folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a folder entry").path();
        if path.is_dir() {
            committed(&path, files);
        } else {
            let name = path
                .strip_prefix(root().join("generated"))
                .expect("below the folder")
                .display()
                .to_string();
            files.insert(name, fs::read_to_string(&path).expect("a readable file"));
        }
    }
}

fn what_is_committed_is_fresh() {
    let mut found = BTreeMap::new();
    committed(&root().join("generated"), &mut found);
    let expected = rendered();
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected), "run `make generated`");
    for (name, text) in &expected {
        assert!(
            found[name] == *text,
            "`generated/{name}` is stale: run `make generated`"
        );
    }
}

fn the_same_spec_gives_the_same_bytes() {
    assert_eq!(rendered(), rendered());
}

fn every_statement_of_a_bundle_stands_in_its_file() {
    let text =
        fs::read_to_string(root().join("specs/dolphinscheduler.toml")).expect("a readable spec");
    let graph = graph_of(&text);
    for dialect in DIALECTS {
        for file in render::bundle(&graph, *dialect).expect("it renders").files {
            assert_eq!(
                !file.statements.is_empty(),
                file.path.ends_with(".sql"),
                "{}: statements stand in files of SQL, and nowhere else",
                file.path
            );
            for statement in &file.statements {
                assert!(
                    file.text.contains(&statement.sql),
                    "{}: {} is not in the text",
                    file.path,
                    statement.what
                );
                assert!(!statement.sql.ends_with(';') && !statement.what.as_str().is_empty());
            }
        }
    }
}

fn a_small_change_of_a_spec_is_a_small_change_of_the_sql() {
    let text =
        fs::read_to_string(root().join("specs/dolphinscheduler.toml")).expect("a readable spec");
    let lines = |text: &str, dialect: Dialect| -> Vec<String> {
        let graph = graph_of(text);
        let bundle = render::bundle(&graph, dialect).expect("it renders");
        bundle
            .form(Form::Review)
            .flat_map(|file| file.text.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    };
    // How many lines are new or others on a server.
    let changed = |from: &str, to: &str, dialect: Dialect| {
        let other = text.replace(from, to);
        assert_ne!(other, text, "`{from}` is not in the spec");
        let (before, after) = (lines(&text, dialect), lines(&other, dialect));
        similar::TextDiff::from_slices(
            &before.iter().map(String::as_str).collect::<Vec<_>>(),
            &after.iter().map(String::as_str).collect::<Vec<_>>(),
        )
        .iter_all_changes()
        .filter(|change| change.tag() == similar::ChangeTag::Insert)
        .count()
    };
    let postgres = |from, to| changed(from, to, Dialect::Postgres);
    // A limit, or a default: one line of the rule's document.
    assert_eq!(postgres("retries = 3", "retries = 4"), 1);
    assert_eq!(postgres("default = \"30d\"", "default = \"31d\""), 1);
    // The states that are final: the index, and the routines that read roots, with their hashes.
    let states = postgres("state = [3, 5, 6, 7]", "state = [5, 6, 7]");
    assert!((5..=16).contains(&states), "{states} lines changed");
    // A table: its key, its edge, its count, its deletion, its rights.
    let table = text
        .lines()
        .find(|line| line.starts_with("t_ds_task_instance_context"))
        .expect("the line of a table");
    let another = table.replace("t_ds_task_instance_context", "t_ds_task_note");
    let lines = postgres(table, &format!("{table}\n{another}"));
    assert!((10..=25).contains(&lines), "{lines} lines changed");
}

/// What nobody but a routine knows in a statement: variables such as `p_from`, apart from columns, and what is windrow's own.
fn left_over(sql: &str) -> Vec<&str> {
    let bare = sql.split(['\'', '"', '`']).step_by(2);
    let words =
        bare.flat_map(|it| it.split(|c: char| !c.is_ascii_alphanumeric() && !"_.".contains(c)));
    let own = |word: &&str| word.get(1..2) == Some("_") || word.starts_with("windrow_");
    words.filter(own).collect()
}

/// A new statement cannot be forgotten, nor a new variable; tests/it/support/explained.rs asks the same of the specs of all tests.
fn every_statement_on_a_table_of_the_application_is_explained() {
    let mut asked = 0;
    for entry in fs::read_dir(root().join("specs")).expect("there is a folder of specs") {
        let path = entry.expect("a folder entry").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let graph = graph_of(&fs::read_to_string(&path).expect("a readable spec"));
        for dialect in &graph.dialects {
            let left = render::unexplained(&graph, *dialect).expect("the statements");
            assert!(left.is_empty(), "{}\n{}", path.display(), left.join("\n"));
            let probes = render::probes(&graph, *dialect).expect("the statements");
            for probe in &probes {
                let left = left_over(&probe.sql);
                assert!(left.is_empty(), "without a mark: {left:?}: {}", probe.what);
            }
            asked += probes.len();
        }
    }
    assert!(asked > 400, "{asked}");
}

/// Whoever applies a file by hand goes on in the same session.
fn no_file_leaves_a_setting_behind() {
    let text = fs::read_to_string(root().join("specs/camunda7.toml")).expect("a readable spec");
    let bundle = render::bundle(&graph_of(&text), Dialect::Postgres).expect("it renders");
    let mut looked_at = 0;
    for file in bundle.form(Form::Client) {
        for setting in ["lock_timeout", "statement_timeout"] {
            let mut lines = file.text.lines().filter(|line| {
                line.starts_with(&format!("SET {setting} "))
                    || line.contains(&format!("RESET {setting};"))
            });
            let Some(last) = lines.next_back() else {
                continue;
            };
            assert!(last.contains("RESET "), "{}: {last}", file.path);
            looked_at += 1;
        }
    }
    assert!(looked_at > 40, "{looked_at}");
}
