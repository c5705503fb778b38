//! What the chores of the Makefile ask of a machine.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_yaml_ng::Value;

use crate::harness::tests;

tests! {
    lint: [
        a_demo_needs_no_root_and_no_linter,
        a_public_host_runs_what_a_person_runs,
        the_changelog_has_the_version,
        every_version_is_kept_for_upgrades,
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

/// The workflows call targets of the Makefile, which all exist, and actions of others at one commit each.
fn a_public_host_runs_what_a_person_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let makefile = include_str!("../../Makefile");
    let mut called = BTreeSet::new();
    for entry in fs::read_dir(root.join(".github/workflows")).expect("workflows") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a workflow");
        let workflow: Value = serde_yaml_ng::from_str(&text).expect("YAML");
        let name = path.display();
        assert_eq!(
            workflow["permissions"]["contents"], "read",
            "{name}: its rights"
        );
        let jobs = workflow["jobs"].as_mapping().expect("jobs");
        for step in jobs
            .values()
            .flat_map(|job| job["steps"].as_sequence().expect("steps"))
        {
            if let Some(action) = step["uses"].as_str() {
                let (_, commit) = action.split_once('@').expect("a version");
                let pinned = commit.len() == 40 && commit.bytes().all(|it| it.is_ascii_hexdigit());
                assert!(pinned, "{name}: {action} can become another one");
            }
            let lines = step["run"].as_str().into_iter().flat_map(str::lines);
            for target in lines.filter_map(|line| line.trim().strip_prefix("make ")) {
                assert!(
                    makefile.contains(&format!("\n{target}:")),
                    "{name}: there is no `make {target}`"
                );
                called.insert(target.to_owned());
            }
        }
    }
    let called: Vec<_> = called.iter().map(String::as_str).collect();
    assert_eq!(
        called,
        ["advisories", "dist", "lint", "msrv", "prove", "test"]
    );
}

/// Who hands a version out cuts its notes out of the CHANGELOG.
fn the_changelog_has_the_version() {
    let changelog = include_str!("../../CHANGELOG.md");
    let section = format!("\n## {} (2", env!("CARGO_PKG_VERSION"));
    assert!(changelog.contains(&section), "no section{section}…)");
}

/// What `make leave` keeps of a version: later ones are tested by upgrading it.
fn every_version_is_kept_for_upgrades() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let changelog = include_str!("../../CHANGELOG.md");
    let sections = changelog.lines().filter_map(|it| it.strip_prefix("## "));
    let versions: Vec<&str> = sections
        .filter_map(|it| Some(it.split_once(" (2")?.0))
        .collect();
    assert!(versions.len() > 1, "{versions:?}");
    for version in versions {
        let folder = root.join("tests/upgrade").join(version);
        let systems = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}: run `make leave`", folder.display()));
        let mut servers = BTreeSet::new();
        for system in systems {
            let system = system.expect("an entry").path();
            assert!(system.join("spec.toml").exists(), "{}", system.display());
            for server in ["postgres", "mysql", "mariadb"] {
                if system.join(server).join("90_uninstall.sql").exists() {
                    servers.insert(server);
                }
            }
        }
        assert_eq!(servers.len(), 3, "{version}: {servers:?}");
    }
}
