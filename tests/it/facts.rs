//! What is made of the facts in `src/facts/`: parts of the kernel, and tables of the documentation.

use std::fs;
use std::path::PathBuf;

use windrow::facts::{NO_END, REASONS, SETTINGS, Servers, Setting};

use crate::harness::tests;

tests! {
    lint: [
        what_is_made_of_the_facts_is_fresh,
        no_fact_is_told_twice,
        the_page_has_the_options_that_both_kernels_take,
    ],
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The rows of the settings, as the kernel of every server reads them.
fn settings() -> String {
    let rows = SETTINGS.iter().enumerate().map(|(place, setting)| {
        let Setting {
            name,
            unit,
            least,
            greatest,
            servers,
            ..
        } = setting;
        format!(
            "({}, '{name}', '{unit}', {least}, {greatest}, '{}', {})",
            place + 1,
            setting.takes(),
            *servers == Servers::Postgres
        )
    });
    let rows: Vec<String> = rows.collect();
    format!("-- Made of src/facts/settings.rs.\n{}\n", rows.join(",\n"))
}

/// The reasons that a ledger takes.
fn reasons() -> String {
    let names = REASONS.iter().filter(|reason| reason.explained.is_some());
    let names: Vec<String> = names.map(|reason| format!("'{}'", reason.name)).collect();
    let lines: Vec<String> = names.chunks(5).map(|names| names.join(", ")).collect();
    format!("-- Made of src/facts/reasons.rs.\n{}\n", lines.join(",\n"))
}

/// A number with commas.
fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<String> = groups
        .map(|group| String::from_utf8_lossy(group).into_owned())
        .collect();
    groups.join(",")
}

/// The rows of the table in `docs/pace.md`.
fn pace() -> String {
    let row = |setting: &Setting| {
        let default = match setting.depends {
            Some(words) => words.to_owned(),
            None if setting.default == 0 => "off".to_owned(),
            None => grouped(setting.default),
        };
        let takes = match (setting.off, setting.greatest) {
            (true, NO_END) => "0 (off) or more".to_owned(),
            (false, NO_END) => format!("{} or more", setting.least),
            (true, greatest) => format!("0 (off) to {}", grouped(greatest)),
            (false, greatest) => format!("{} to {}", setting.least, grouped(greatest)),
        };
        let Setting {
            name,
            unit,
            meaning,
            ..
        } = setting;
        format!("| `{name}` | {unit} | {default} | {takes} | {meaning} |\n")
    };
    SETTINGS.iter().map(row).collect()
}

/// A page with other rows below the head of a table.
fn with_rows(page: &str, head: &str, rows: &str) -> String {
    let (before, after) = page
        .split_once(head)
        .unwrap_or_else(|| panic!("no table `{head}`"));
    let mut lines = after.split_inclusive('\n');
    let ruler: String = lines.by_ref().take(2).collect();
    let rest: String = lines.skip_while(|line| line.starts_with('|')).collect();
    format!("{before}{head}{ruler}{rows}{rest}")
}

fn what_is_made_of_the_facts_is_fresh() {
    let page =
        |name: &str, head: &str, rows: &str| (name.to_owned(), with_rows(&read(name), head, rows));
    let fresh = [
        ("templates/kernel/parts/settings.sql".to_owned(), settings()),
        ("templates/kernel/parts/reasons.sql".to_owned(), reasons()),
        page(
            "docs/pace.md",
            "| setting | counts | default | takes | meaning |",
            &pace(),
        ),
    ];
    for (name, text) in fresh {
        if std::env::var_os("WINDROW_BLESS").is_some() {
            fs::write(path(&name), &text).expect("it can be written");
        }
        assert!(
            read(&name) == text,
            "{name} is stale: run this test with WINDROW_BLESS=1"
        );
    }
}

fn no_fact_is_told_twice() {
    let settings = SETTINGS.iter().map(|setting| setting.name);
    let reasons = REASONS.iter().map(|reason| reason.name);
    let mut names: Vec<&str> = settings.chain(reasons).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for setting in &SETTINGS {
        let Setting {
            name,
            least,
            greatest,
            default,
            ..
        } = *setting;
        assert!(!setting.meaning.is_empty() && least < greatest, "{name}");
        assert_eq!(setting.off, setting.off && least == 0, "{name}");
        assert!(
            default == 0 || (least..=greatest).contains(&default),
            "{name}"
        );
    }
}

/// Words in quotes.
fn quoted(text: &str, quote: char) -> Vec<&str> {
    text.split(quote).skip(1).step_by(2).collect()
}

fn the_page_has_the_options_that_both_kernels_take() {
    let page = read("docs/operations.md");
    let (_, section) = page.split_once("## Options of a run").expect("a section");
    let rows = section.lines().skip_while(|line| !line.starts_with("|---"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    let mut told: Vec<&str> = rows.map(|row| quoted(row, '`')[0]).collect();
    told.sort_unstable();
    assert!(told.len() > 5, "{told:?}");
    for (kernel, begin, quote) in [
        (
            "postgres",
            "PERFORM check_options(\n        p_options,\n        ARRAY[",
            '\'',
        ),
        (
            "innodb",
            "CALL check_options(p_options, CONCAT(\n        '[",
            '"',
        ),
    ] {
        let text = read(&format!("templates/kernel/{kernel}/core/40_run.sql"));
        let (_, list) = text.split_once(begin).expect("the options of run()");
        // What several workers have besides is told with them.
        let list = list.lines().next().unwrap_or_default();
        let mut taken = quoted(list, quote);
        taken.retain(|name| *name != "worker");
        taken.sort_unstable();
        assert_eq!(taken, told, "{kernel}");
    }
}
