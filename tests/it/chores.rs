//! What the chores of the Makefile ask of a machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::harness::tests;

tests! {
    lint: [
        a_demo_needs_no_root_and_no_linter,
    ],
}

/// `.ci/setup` for an account that may not install packages, on a machine with a compiler, a Rust without clippy and rustfmt,
/// and nothing else: whether it is content, and its words.
fn setup(arguments: &[&str]) -> (bool, String) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let programs = [
        ("id", "echo 1000"),
        ("sudo", "echo \"sudo was asked: $*\"; exit 1"),
        ("dpkg-query", "exit 1"),
        ("apt-get", "echo \"apt-get was called: $*\"; exit 1"),
        ("apt-cache", "exit 1"),
        ("rustc", "echo rustc 1.999.0"),
        ("cargo", "exit 1"),
        ("cc", ""),
        // What OpenSSL would be looked for by.
        ("pkg-config", "exit 1"),
    ];
    for (name, script) in programs {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    }
    let home = folder.path().join("home");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(root.join(".ci/setup"))
        .args(arguments)
        .env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()))
        .env("HOME", &home)
        .env("CARGO_HOME", &home)
        .env("WINDROW_CACHE", &home)
        .current_dir(root)
        .output()
        .expect("a shell script runs");
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    (output.status.success(), said)
}

fn a_demo_needs_no_root_and_no_linter() {
    let (content, said) = setup(&["build"]);
    assert!(content && said.is_empty(), "{said}");
    // What else the tests call is another matter.
    let (content, said) = setup(&[]);
    assert!(!content && said.contains("sudo was asked"), "{said}");

    let makefile = include_str!("../../Makefile");
    for asks in [
        "\nbuild: ##",
        "\ndemo: ##",
        "\t@.ci/setup build\n\t@$(CARGO) build --profile demo --quiet\n\t@.ci/servers $(DIALECT)\n",
    ] {
        assert!(makefile.contains(asks), "{asks}");
    }
}
