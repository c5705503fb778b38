//! The page of `windrow report`, as a browser shows it: nothing lies on something else, nothing is injected, the console is silent.

mod hostile;
mod servers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::harness::tests;
use crate::support::browser::Browser;
use crate::support::effort::one_of;

tests! {
    within: [hostile::tests, servers::tests],
    alone: [
        every_spec_has_a_page_that_is_legible,
        the_same_spec_makes_the_same_page,
        a_page_is_written_whole_or_not_at_all,
    ],
}

/// The binary in an environment that knows no database.
fn windrow(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windrow"));
    command.args(words).stdin(Stdio::null());
    for name in ["WINDROW_URL", "WINDROW_SPEC", "PGPASSWORD", "MYSQL_PWD"] {
        command.env_remove(name);
    }
    command.output().expect("windrow starts")
}

fn specs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs");
    let files = fs::read_dir(folder).expect("the specs");
    let paths = files.map(|file| file.expect("a file").path());
    let mut specs: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .collect();
    specs.sort();
    specs
}

/// Writes the page of a spec into a folder.
fn written(spec: &Path, folder: &Path) -> PathBuf {
    let name = spec.file_stem().expect("a name").to_string_lossy();
    let page = folder.join(format!("{name}.html"));
    let (spec, out) = (spec.to_string_lossy(), page.to_string_lossy());
    let output = windrow(&["report", &spec, "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    page
}

/// What is wrong with the page that is shown: texts that overlap or leave their box, markup that windrow does not write.
const LOOK: &str = include_str!("page/look.js");

/// Looks at a page in both widths; with pictures of it, in both schemes, kept under a name.
#[track_caller]
fn is_sound(browser: &mut Browser, page: &Path, name: &str, pictures: bool) {
    for (width, dark) in [(1280, false), (400, false), (1280, true), (400, true)] {
        if dark && !pictures {
            continue;
        }
        browser.show(page, width, dark);
        if pictures {
            let scheme = if dark { "dark" } else { "light" };
            browser.take(&format!("{name}-{width}-{scheme}.png"));
        }
        // Colours have no effect on places.
        for open in [false, true].into_iter().filter(|_| !dark) {
            let what = format!("{name} at {width} pixels, open: {open}");
            if open {
                browser.evaluate(
                    "document.querySelectorAll('details').forEach(it => { it.open = true })",
                );
            }
            let found = browser.evaluate(LOOK);
            assert_eq!(found["wrong"], Value::Array(Vec::new()), "{what}");
            assert!(found["texts"].as_u64() > Some(50), "{what}: {found}");
            let (scroll, inner) = (found["scroll"].as_f64(), found["inner"].as_f64());
            assert!(scroll.is_some() && scroll <= inner, "{what}: {found}");
        }
    }
    // On paper everything is open, and dark ink on white.
    browser.show(page, 794, true);
    browser.emulate("print", true);
    let paper = browser.evaluate(
        "({ hidden: [...document.querySelectorAll('details pre')].filter(it => it.getClientRects().length === 0 || \
         !it.checkVisibility({ contentVisibilityAuto: true })).length, back: getComputedStyle(document.body).backgroundColor })",
    );
    assert_eq!(paper["hidden"], 0, "{name}");
    assert_eq!(paper["back"], "rgb(255, 255, 255)", "{name}");
    let said = browser.said();
    assert!(said.is_empty(), "{name}: {}", said.join("\n"));
}

fn every_spec_has_a_page_that_is_legible() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut browser = Browser::open();
    for spec in one_of(2, specs()) {
        let name = spec
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let page = written(&spec, folder.path());
        is_sound(&mut browser, &page, &name, name == "airflow-3");
    }
    for spec in one_of(2, specs()) {
        let drawn = windrow(&["graph", &spec.to_string_lossy(), "--format", "svg"]);
        let path = folder.path().join("graph.svg");
        fs::write(&path, drawn.stdout).expect("a picture");
        browser.show(&path, 1280, false);
        let found = browser.evaluate(LOOK);
        assert_eq!(
            found["wrong"],
            Value::Array(Vec::new()),
            "{}",
            spec.display()
        );
    }
    // A page on which something is wrong is noticed.
    let bad = folder.path().join("bad.html");
    let texts = "<p>text</p>".repeat(60);
    let wrong = "<div style='position:relative'><p style='position:absolute'>one</p><p style='position:absolute'>two</p></div><img src=x onerror=\"console.log(1)\">";
    fs::write(&bad, format!("<!DOCTYPE html><body>{texts}{wrong}")).expect("a page");
    browser.show(&bad, 1280, false);
    let found = browser.evaluate(LOOK);
    let wrong: Vec<&str> = found["wrong"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for piece in ["`one` and `two`", "onerror", "img"] {
        assert!(
            wrong.iter().any(|it| it.contains(piece)),
            "{piece}: {wrong:?}"
        );
    }
    assert!(!browser.said().is_empty());
}

fn the_same_spec_makes_the_same_page() {
    let (one, other) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    for spec in specs() {
        let pages = [one.path(), other.path()]
            .map(|folder| fs::read(written(&spec, folder)).expect("a page"));
        assert!(pages[0] == pages[1], "{}", spec.display());
        assert!(!pages[0].windows(7).any(|it| it == b"<script"));
    }
}

fn a_page_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let spec = "specs/dolphinscheduler.toml";
    let nowhere = windrow(&["report", spec, "--out", &out("missing/page.html")]);
    assert_eq!(nowhere.status.code(), Some(2), "{nowhere:?}");
    fs::write(folder.path().join("bad.toml"), "name = \"bad\"\nrots = 1\n").expect("a spec");
    let bad = windrow(&["report", &out("bad.toml"), "--out", &out("bad.html")]);
    assert_eq!(bad.status.code(), Some(2), "{bad:?}");
    // A database that does not answer is asked for in vain: no page pretends that it was.
    let address = "postgres://nobody@127.0.0.1:1/nothing";
    let silent = windrow(&[
        "report",
        spec,
        "--out",
        &out("page.html"),
        "--database",
        address,
    ]);
    assert_eq!(silent.status.code(), Some(2), "{silent:?}");
    let files = fs::read_dir(folder.path()).expect("a folder");
    let names: Vec<_> = files.map(|it| it.expect("a file").file_name()).collect();
    assert_eq!(names, ["bad.toml"]);
}
