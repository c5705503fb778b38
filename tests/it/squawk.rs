//! Squawk, a linter for PostgreSQL migrations, has nothing to say about the generated SQL.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::tests;

tests! {
    lint: [
        squawk_finds_nothing_in_the_generated_sql,
        squawk_minds_what_would_lock_a_table,
    ],
}

/// What the linter, in the version and with the rules of this repository, answers: whether it is content, and its words.
fn squawk(files: &[PathBuf]) -> (bool, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(root.join(".ci/squawk"))
        .arg("--config")
        .arg(root.join(".squawk.toml"))
        .args(["--reporter", "gcc"])
        .args(files)
        .current_dir(root)
        .output()
        .expect("a shell script runs");
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    (output.status.success(), said)
}

fn squawk_finds_nothing_in_the_generated_sql() {
    let generated = Path::new(env!("CARGO_MANIFEST_DIR")).join("generated");
    let mut files = Vec::new();
    for spec in fs::read_dir(generated).expect("there is a folder of generated SQL") {
        let folder = spec.expect("a folder entry").path().join("postgres");
        for file in fs::read_dir(folder).expect("every spec has SQL for PostgreSQL") {
            files.push(file.expect("a folder entry").path());
        }
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "sql"));
    files.sort();
    assert!(
        files.len() >= 16,
        "only {} files were found: {files:#?}",
        files.len()
    );
    let (content, said) = squawk(&files);
    assert!(content, "{said}");
}

fn squawk_minds_what_would_lock_a_table() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("locks.sql");
    fs::write(&file, "CREATE INDEX i ON public.t (c);\n").expect("a writable folder");
    let (content, said) = squawk(&[file]);
    assert!(!content, "{said}");
    assert!(said.contains("require-concurrent-index-creation"), "{said}");
}
