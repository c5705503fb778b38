//! Pages for people: what they name, show and link to is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use windrow::dialect::Dialect;
use windrow::render;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::tidy::section;

tests! {
    lint: [
        the_readme_names_only_targets_and_commands_that_exist,
        every_test_that_a_page_names_exists,
        the_readme_shows_what_is_generated_and_said,
        every_link_of_a_page_leads_somewhere,
        no_entry_of_the_changelog_stands_twice,
    ],
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
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

/// Names of tests stand between backticks, without the server: `claims::superusers::a_superuser_lends_the_application_nothing`.
fn every_test_that_a_page_names_exists() {
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
    for (page, least) in [
        ("SECURITY.md", 40),
        ("docs/proof.md", 15),
        ("docs/operations.md", 3),
        ("docs/scale.md", 1),
        ("ARCHITECTURE.md", 40),
    ] {
        let whole = fs::read_to_string(root().join(page)).expect("a page");
        // The rest of this page names modules in the same form.
        let text = match page {
            "ARCHITECTURE.md" => section(&whole, "Invariants"),
            _ => &whole,
        };
        let is_name = |word: &&str| {
            word.contains("::")
                && word
                    .chars()
                    .all(|letter| letter.is_ascii_lowercase() || "_:".contains(letter))
        };
        let named: Vec<&str> = text.split('`').filter(is_name).collect();
        if page == "ARCHITECTURE.md" {
            let rows = text.lines().skip_while(|line| !line.starts_with("|---"));
            for row in rows.skip(1).take_while(|line| line.starts_with('|')) {
                assert!(row.split('`').any(|word| is_name(&word)), "no test: {row}");
            }
        }
        assert!(named.len() >= least, "{page} names {} tests", named.len());
        for test in named {
            assert!(tests.contains(test), "{page} names `{test}`: no such test");
        }
    }
}

/// The spec is that of the tutorial, the SQL is what it generates, and the preview is what the tutorial's test saw.
fn the_readme_shows_what_is_generated_and_said() {
    let page = |name: &str| fs::read_to_string(root().join(name)).expect("a page");
    let (readme, tutorial) = (page("README.md"), page("docs/tutorial.md"));
    let block = |language: &str| {
        let (_, after) = readme
            .split_once(&format!("```{language}\n"))
            .expect("a block");
        let (shown, _) = after.split_once("```").expect("its end");
        shown
    };
    let (spec, sql, preview) = (block("toml"), block("sql"), block("console"));
    assert!(
        tutorial.contains(&format!("```toml\n{spec}```")),
        "the tutorial has another spec"
    );
    assert!(
        preview.contains("$ windrow preview") && tutorial.contains(preview),
        "the tutorial has another preview"
    );
    let bundle = render::bundle(&graph_of(spec), Dialect::Postgres).expect("its SQL");
    assert!(sql.contains("DELETE FROM "), "{sql}");
    assert!(
        bundle.files.iter().any(|file| file.text.contains(sql)),
        "the spec of the README generates other SQL"
    );
    assert!(readme.lines().count() <= 150, "a first page is short");
}

/// No page names another one, or a section of it, that is not there.
fn every_link_of_a_page_leads_somewhere() {
    let pages: Vec<PathBuf> = [
        "README.md",
        "ARCHITECTURE.md",
        "SECURITY.md",
        "CHANGELOG.md",
    ]
    .map(|name| root().join(name))
    .into_iter()
    .chain(below(&root().join("docs")))
    .collect();
    let mut links = 0;
    for page in pages {
        let text = fs::read_to_string(&page).expect("a page");
        let folder = page.parent().expect("a folder");
        for rest in text.split("](").skip(1) {
            let link = rest.split(')').next().unwrap_or_default();
            if link.contains("://") || link.contains(' ') {
                continue;
            }
            let (path, section) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() {
                page.clone()
            } else {
                folder.join(path)
            };
            assert!(target.exists(), "{} links to {link}", page.display());
            links += 1;
            if section.is_empty() {
                continue;
            }
            let there = fs::read_to_string(&target).expect("a page with sections");
            let known = there
                .lines()
                .filter(|line| line.starts_with('#'))
                .any(|line| {
                    let name = line.trim_start_matches('#').trim().to_lowercase();
                    let letters = name.chars().filter_map(|sign| match sign {
                        ' ' => Some('-'),
                        sign if sign.is_alphanumeric() || "-_".contains(sign) => Some(sign),
                        _ => None,
                    });
                    letters.collect::<String>() == section
                });
            assert!(known, "{} links to {link}", page.display());
        }
    }
    assert!(links > 80, "only {links} links");
}

/// Where two branches have changed one entry, both may be kept.
fn no_entry_of_the_changelog_stands_twice() {
    let text = fs::read_to_string(root().join("CHANGELOG.md")).expect("a changelog");
    let mut begun = BTreeSet::new();
    for entry in text.lines().filter(|line| line.starts_with("- ")) {
        let begin: String = entry.chars().take(120).collect();
        assert!(begun.insert(begin), "twice: {entry}");
    }
    assert!(begun.len() > 100, "{} entries", begun.len());
}

/// All pages in a folder and in those in it.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => below(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .collect()
}
