//! What is committed in `generated/` is what the specs give.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use windrow::bundle::Form;
use windrow::dialect::{DIALECTS, Dialect};
use windrow::spec::grammar::{ActionText, EdgeText, NoneText};
use windrow::{lint, render, spec};

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
        what_the_kernel_turns_off_is_on_where_a_rule_needs_it,
        what_turns_plans_off_compiles_none,
        an_edge_as_a_table_is_the_same_edge,
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

/// A plan that a routine wants to avoid and cannot costs so much, as the planner has it, that the server compiles it first: two
/// seconds for a look at the catalog that takes a millisecond.
fn what_turns_plans_off_compiles_none() {
    let mut looked_at = 0;
    for spec in ["airflow-3", "camunda7", "yworkflow"] {
        let path = root().join(format!("specs/{spec}.toml"));
        let text = fs::read_to_string(path).expect("a readable spec");
        let bundle = render::bundle(&graph_of(&text), Dialect::Postgres).expect("it renders");
        for file in bundle.form(Form::Client) {
            for routine in file.text.split("CREATE OR REPLACE ").skip(1) {
                let head = routine.split("AS $windrow$").next().unwrap_or_default();
                let is_off = |plan: &str| head.contains(&format!("enable_{plan} = off"));
                let plans = ["seqscan", "bitmapscan", "nestloop", "hashjoin", "mergejoin"];
                if plans.into_iter().any(is_off) {
                    assert!(head.contains("SET jit = off"), "{}: {head}", file.path);
                    looked_at += 1;
                }
            }
        }
    }
    assert!(looked_at > 60, "{looked_at}");
}

/// A setting of a routine holds in those that it calls: the judge turns nested loops off, and so each batch read all history.
fn what_the_kernel_turns_off_is_on_where_a_rule_needs_it() {
    let (called, on) = (
        ["bound", "kept", "met", "newest", "scope"],
        "enable_nestloop = on",
    );
    let mut looked_at = BTreeSet::new();
    for (path, text) in rendered() {
        if !path.contains("/postgres/") || path.contains("/10_") {
            continue;
        }
        for routine in text.split("CREATE OR REPLACE FUNCTION ").skip(1) {
            let (head, _) = routine.split_once("AS $windrow$").expect("a body");
            let name = head.split('(').next().expect("a name");
            let verb = name.rsplit('_').next().expect("a word");
            // The scopes of a rule without a table of its own are those of policies.
            let reads = called.contains(&verb) && head.contains("row_security");
            if reads || head.contains("enable_hashjoin = off") {
                assert!(head.contains(on), "{path}: {name}");
                looked_at.insert(verb.to_owned());
            }
        }
    }
    // No spec here has families that share rows by `met`.
    for verb in called.into_iter().filter(|verb| *verb != "met") {
        assert!(looked_at.contains(verb), "{verb} of {looked_at:?}");
    }
}

/// An edge as a table of its parts.
fn as_table(edge: &EdgeText) -> String {
    let texts = |texts: Vec<&str>| match &texts[..] {
        [only] => format!("{only:?}"),
        several => format!("{several:?}"),
    };
    let columns = edge.columns.iter();
    let kinds: Option<Vec<&str>> = columns
        .clone()
        .map(|column| Some(column.kind.as_ref()?.get_ref().as_str()))
        .collect();
    let columns = columns.map(|column| column.name.get_ref().as_str());
    let keys = edge.parent_columns.iter().map(|key| key.get_ref().as_str());
    let mut parts = vec![
        format!("column = {}", texts(columns.collect())),
        format!("parent = {:?}", edge.table.get_ref()),
        format!("key = {}", texts(keys.collect())),
    ];
    parts.extend(kinds.map(|kinds| format!("type = {}", texts(kinds))));
    parts.extend(edge.none.as_ref().map(|none| match none.get_ref() {
        NoneText::Integer(number) => format!("unless = {number}"),
        NoneText::Text(text) => format!("unless = {text:?}"),
    }));
    let action = match edge.action {
        ActionText::Delete => None,
        ActionText::Cascade => Some("cascade"),
        ActionText::Restrict => Some("restrict"),
        ActionText::SetNull => Some("set null"),
    };
    parts.extend(action.map(|action| format!("on_delete = {action:?}")));
    parts.extend(edge.alone.then(|| "alone = true".to_owned()));
    format!("{{ {} }}", parts.join(", "))
}

/// A spec with its edges, or every second one, as tables.
fn with_tables(text: &str, each: usize) -> (String, usize) {
    let (spec, findings) = spec::parse(text);
    assert!(findings.is_empty(), "{findings:#?}");
    let spec = spec.expect("a spec");
    let mut edges: Vec<_> = spec
        .tables
        .values()
        .flat_map(|table| &table.parents)
        .collect();
    edges.sort_by_key(|edge| edge.span().start);
    let mut changed = text.to_owned();
    let (chosen, count) = (edges.iter().step_by(each), edges.len().div_ceil(each));
    for written in chosen.rev() {
        let edge = spec::edge(text, written).expect("an edge");
        changed.replace_range(written.span(), &as_table(&edge));
    }
    (changed, count)
}

fn an_edge_as_a_table_is_the_same_edge() {
    const ODD: &str = r#"
name = "odd"
[tables]
runs  = { key = "id integer", unique = ["dag varchar, run varchar"], parents = ["blob_id bigint -> blobs.id set null"] }
blobs = { key = "id bigint", parents = ["run -> runs.id"] }
tasks = { key = "id uuid", parents = ["dag varchar, run varchar -> runs(dag, run)", "boss integer -> runs.id unless -1"], with = "all" }
texts = { parents = ["of -> runs.id cascade"] }
files = { key = "id uuid", parents = ["id -> tasks.file_id or alone"] }
locks = { parents = ["task -> tasks.id restrict"] }
marks = { parents = ["name varchar -> names.name unless 'it''s none'"] }
names = { key = "name varchar", parents = ["of integer -> runs.id"] }
[rules.runs]
strategy = "end-time"
root = "runs"
final = { state = "done" }
end_time = "ended"
retention = { default = "30d" }
"#;
    let specs = [
        "airflow-3",
        "camunda7",
        "camunda7-end-time",
        "dolphinscheduler",
        "yworkflow",
    ];
    let mut texts = vec![ODD.to_owned()];
    texts.extend(specs.iter().map(|name| {
        let path = root().join(format!("specs/{name}.toml"));
        fs::read_to_string(path).expect("a spec")
    }));
    for text in texts {
        let graph = graph_of(&text);
        for each in [1, 2] {
            let (changed, count) = with_tables(&text, each);
            assert!(
                changed.matches("parent = ").count() >= count.max(1),
                "{changed}"
            );
            let changed = graph_of(&changed);
            for dialect in &graph.dialects {
                let files = |graph: &_| render::bundle(graph, *dialect).expect("it renders").files;
                let pairs = files(&graph).into_iter().zip(files(&changed));
                for (one, other) in pairs {
                    assert_eq!((one.path, one.text), (other.path, other.text));
                }
            }
        }
    }
}
