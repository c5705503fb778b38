//! Two specs with one name, or one control schema: what is generated of the second would overwrite what was of the first.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::harness::tests;

tests! {
    lint: [
        two_specs_of_one_name_are_refused_before_a_file_is_written,
        two_specs_of_one_control_schema_are_refused,
        a_fleet_generates_no_two_specs_of_one_name,
        a_spec_that_is_named_twice_is_generated_once,
    ],
}

fn spec(name: &str, database: &str) -> String {
    format!(
        "name = '{name}'\ndialects = ['mysql']\ndatabase = '{database}'\n[tables]\nitem = {{ key = 'id bigint' }}\n\
         [rules.item]\nstrategy = 'expiry'\nroot = 'item'\ntime = 'expires_at timestamp'\n"
    )
}

/// A folder with these specs: file, name, database.
fn folder(specs: &[(&str, &str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, name, database) in specs {
        fs::write(folder.path().join(file), spec(name, database)).expect("a spec");
    }
    folder
}

/// The exit code, and all that is said.
fn windrow(folder: &Path, words: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(words)
        .env("NO_COLOR", "1")
        .env_remove("WINDROW_SPEC")
        .env_remove("WINDROW_URL")
        .current_dir(folder)
        .output()
        .expect("windrow starts");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (output.status.code().unwrap_or(-1), said)
}

/// It is refused with these words, and nothing is written.
fn refused(folder: &TempDir, words: &[&str], why: &str) {
    let (code, said) = windrow(folder.path(), words);
    assert_eq!(code, 2, "{words:?}: {said}");
    assert!(said.contains(why), "{words:?}: no {why:?} in: {said}");
    assert!(!folder.path().join("out").exists(), "{words:?}: {said}");
}

fn two_specs_of_one_name_are_refused_before_a_file_is_written() {
    let folder = folder(&[
        ("eu.toml", "shop", "shop_eu"),
        ("us.toml", "shop", "shop_us"),
    ]);
    for words in [
        &["--out", "out"][..],
        &["--out", "out", "--check"],
        &["--bundle", "out"],
        &["--for", "flyway", "--out", "out"],
    ] {
        let words = [&["generate", "eu.toml", "us.toml"], words].concat();
        refused(
            &folder,
            &words,
            "`eu.toml` and `us.toml` are both called `shop`",
        );
    }
    // Each by itself, into a folder of its own, is what the hint says.
    for (file, out) in [("eu.toml", "eu"), ("us.toml", "us")] {
        let (code, said) = windrow(folder.path(), &["generate", file, "--out", out]);
        assert_eq!(code, 0, "{said}");
    }
}

fn two_specs_of_one_control_schema_are_refused() {
    let folder = folder(&[("a.toml", "a-b", "a"), ("b.toml", "a_b", "b")]);
    refused(
        &folder,
        &["generate", "a.toml", "b.toml", "--out", "out"],
        "`a.toml` and `b.toml` have the same control schema, `windrow_a_b`",
    );
}

fn a_fleet_generates_no_two_specs_of_one_name() {
    let folder = folder(&[
        ("eu.toml", "shop", "shop_eu"),
        ("us.toml", "shop", "shop_us"),
        ("other.toml", "other", "other"),
    ]);
    let server = |name: &str, spec: &str| {
        format!("[[server]]\nname = '{name}'\nurl = 'mysql://u@{name}/x'\nspec = '{spec}'\n")
    };
    let inventory = |servers: &[(&str, &str)]| {
        let servers: String = servers.iter().map(|(name, it)| server(name, it)).collect();
        fs::write(folder.path().join("fleet.toml"), servers).expect("an inventory");
    };
    let words = ["fleet", "generate", "--", "--out", "out"];
    inventory(&[("a", "eu.toml"), ("b", "other.toml"), ("c", "us.toml")]);
    refused(
        &folder,
        &words,
        "`eu.toml` and `us.toml` are both called `shop`",
    );
    // One spec of two servers is one, however its path is written.
    inventory(&[("a", "eu.toml"), ("b", "other.toml"), ("c", "./eu.toml")]);
    let (code, said) = windrow(folder.path(), &words);
    assert!(code == 0 && said.contains("2 clean"), "{said}");
}

fn a_spec_that_is_named_twice_is_generated_once() {
    let folder = folder(&[("eu.toml", "shop", "shop_eu")]);
    for words in [
        &["--out", "out"][..],
        &["--out", "out", "--check"],
        &["--for", "flyway", "--out", "migrations"],
        &["--for", "flyway", "--out", "migrations", "--check"],
    ] {
        let words = [&["generate", "eu.toml", "./eu.toml"], words].concat();
        let (code, said) = windrow(folder.path(), &words);
        assert_eq!(code, 0, "{words:?}: {said}");
    }
}
