//! Every directory of `tests/cases` is a case: a spec, named after the behaviour that it shows, and what comes of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::Value;
use windrow::diagnostic::{Colour, has_errors, located, render};
use windrow::{lint, spec};

use crate::harness::tests;
use crate::support::effort::{first_seed, seeds};

tests! {
    lint: [
        cases,
        specs_are_clean,
        the_json_schema_is_fresh,
        the_json_schema_takes_what_windrow_takes,
        a_broken_spec_never_panics,
    ],
}

fn cases() {
    let mut shown = BTreeSet::new();
    for directory in directories() {
        let text = read(&directory.join("windrow.toml"));
        match text.lines().next() {
            Some("# shows: diagnostics") => shown.extend(diagnostics(&directory, &text)),
            other => panic!(
                "{}: the first line does not say what the case shows: {other:?}",
                directory.display()
            ),
        }
    }
    // The tests beside the rules of the lint show the warnings.
    let warnings = lint::RULES.iter().map(|rule| rule.code);
    let unseen: Vec<&str> = lint::explain::codes()
        .into_iter()
        .filter(|code| !shown.contains(code) && !warnings.clone().any(|warning| warning == *code))
        .collect();
    assert!(unseen.is_empty(), "no case shows {unseen:?}");
}

fn specs_are_clean() {
    let mut count = 0;
    for path in specs() {
        let text = read(&path);
        let (graph, diagnostics) = lint::load(&text);
        assert!(
            diagnostics.is_empty(),
            "{}",
            render(&diagnostics, &path.to_string_lossy(), &text, Colour::Never)
        );
        assert!(graph.is_some());
        count += 1;
    }
    assert!(count > 0, "no specs found");
}

fn the_json_schema_is_fresh() {
    let path = root().join("specs/windrow.schema.json");
    let fresh = spec::json_schema();
    if std::env::var_os("WINDROW_BLESS").is_some() {
        fs::write(&path, &fresh).expect("the schema can be written");
    }
    assert!(
        read(&path) == fresh,
        "specs/windrow.schema.json is stale: run this test with WINDROW_BLESS=1"
    );
}

/// Every spec of this repository that has no error, and each with one entry less, if it has none then either.
fn the_json_schema_takes_what_windrow_takes() {
    let schema: Value = serde_json::from_str(&spec::json_schema()).expect("a schema");
    jsonschema::meta::validate(&schema).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let takes = |name: &Path, document: &Value| {
        let wrong: Vec<String> = validator
            .iter_errors(document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{}: {wrong:#?}", name.display());
    };
    let cases = directories().into_iter();
    let texts: Vec<PathBuf> = specs()
        .into_iter()
        .chain(written(&root().join("specs/examples")))
        .chain(written(&root().join("benches/purge")))
        .chain(written(&root().join("benches/purge/partitions")))
        .chain(cases.map(|case| case.join("windrow.toml")))
        .collect();
    let (mut whole, mut less) = (0, 0);
    for path in texts {
        let text = read(&path);
        if lint::load(&text).0.is_none() {
            continue;
        }
        let document: Value = toml::from_str(&text).expect("TOML");
        takes(&path, &document);
        whole += 1;
        for entry in entries(&document) {
            let mut rest = document.clone();
            let (parent, key) = entry.rsplit_once('/').expect("a pointer");
            let key = key.replace("~1", "/").replace("~0", "~");
            let parent = rest.pointer_mut(parent).and_then(Value::as_object_mut);
            parent.expect("a table").remove(&key);
            let text = toml::to_string(&rest).expect("TOML");
            if lint::load(&text).0.is_some() {
                takes(&path.join(entry), &rest);
                less += 1;
            }
        }
    }
    assert!(whole >= 20 && less > 500, "{whole} specs, {less} entries");
}

/// The JSON pointers of every entry of every table in a document.
fn entries(of: &Value) -> Vec<String> {
    let below: Vec<(String, &Value, bool)> = match of {
        Value::Object(table) => table
            .iter()
            .map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value, true))
            .collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(place, value)| (place.to_string(), value, false))
            .collect(),
        _ => Vec::new(),
    };
    let mut found = Vec::new();
    for (key, value, entry) in below {
        if entry {
            found.push(format!("/{key}"));
        }
        found.extend(entries(value).iter().map(|rest| format!("/{key}{rest}")));
    }
    found
}

fn a_broken_spec_never_panics() {
    let whole: Vec<String> = specs().iter().map(|path| read(path)).collect();
    let broken: Vec<String> = directories()
        .iter()
        .map(|case| read(&case.join("windrow.toml")))
        .collect();
    let words: Vec<&str> = whole
        .iter()
        .chain(&broken)
        .flat_map(|text| text.split_inclusive([' ', '\n', '"', '.', ',']))
        .collect();
    let mut random = SmallRng::seed_from_u64(first_seed());
    let mut clean = 0;
    for _ in seeds("specs with mistakes", None, 2_000) {
        let texts = if random.random_bool(0.7) {
            &whole
        } else {
            &broken
        };
        let mut text = texts.choose(&mut random).expect("a text").clone();
        for _ in 0..random.random_range(1..4) {
            mutate(&mut text, &words, &mut random);
        }
        let (graph, diagnostics) = lint::load(&text);
        assert_eq!(graph.is_none(), has_errors(&diagnostics), "{text}");
        for diagnostic in &diagnostics {
            assert!(
                lint::explain::explain(diagnostic.code).is_some(),
                "`{}` is not explained",
                diagnostic.code
            );
        }
        render(&diagnostics, "windrow.toml", &text, Colour::Never);
        located(&diagnostics, "windrow.toml", &text);
        clean += usize::from(graph.is_some());
    }
    // If hardly any got through, the mutations would only test the TOML parser.
    assert!(clean > 100, "only {clean} mutated specs were clean");
}

fn mutate(text: &mut String, words: &[&str], random: &mut SmallRng) {
    let mut place = || {
        let mut at = random.random_range(0..=text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (start, end) = (place(), place());
    match random.random_range(0..5) {
        0 => text.insert_str(start, words.choose(random).copied().unwrap_or_default()),
        1 => text.insert(
            start,
            *['"', '\\', 'ß', '\u{0}', '\r', '{', ']', '-', '9']
                .choose(random)
                .unwrap_or(&' '),
        ),
        2 => {
            text.drain(
                start
                    ..text[start..]
                        .char_indices()
                        .nth(3)
                        .map_or(text.len(), |(index, _)| start + index),
            );
        }
        3 if start < end && end - start < 200 => {
            let copy = text[start..end].to_owned();
            text.insert_str(end, &copy);
        }
        _ => {
            // One word for another keeps the TOML and breaks the meaning.
            let from = words.choose(random).copied().unwrap_or_default();
            let to = words.choose(random).copied().unwrap_or_default();
            if let Some(at) = text.find(from) {
                text.replace_range(at..at + from.len(), to);
            }
        }
    }
}

fn diagnostics(directory: &Path, text: &str) -> Vec<&'static str> {
    let (_, diagnostics) = lint::load(text);
    assert!(
        !diagnostics.is_empty(),
        "{}: nothing was found",
        directory.display()
    );
    let rendered = render(&diagnostics, "windrow.toml", text, Colour::Never);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(directory);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("diagnostics", rendered));
    diagnostics
        .into_iter()
        .map(|diagnostic| diagnostic.code)
        .collect()
}

fn directories() -> Vec<PathBuf> {
    sorted(&root().join("tests/cases"))
}

fn specs() -> Vec<PathBuf> {
    written(&root().join("specs"))
}

fn written(directory: &Path) -> Vec<PathBuf> {
    sorted(directory)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .collect()
}

fn sorted(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", directory.display());
    paths
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
