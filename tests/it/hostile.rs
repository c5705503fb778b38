//! Input that nobody means well: specs with a typo in any place, and options that try to be SQL. Never a panic, never a
//! delete, always a message that says where, what, and how to mend it.

use std::fs;
use std::panic;
use std::path::Path;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::diagnostic::{self, Colour};
use windrow::dialect::Dialect;
use windrow::failure;
use windrow::graph::Shared;
use windrow::lint;
use windrow::render;

use crate::harness::tests;
use crate::support::effort::{rounds_of, seeds};
use crate::support::graphs::{dolphinscheduler, graph_of};
use crate::support::installation::Installation;

tests! {
    alone: [
        a_spec_with_mistakes_is_told_and_never_a_panic,
    ],
    every_server: [
        options_of_all_kinds_are_answered_or_refused,
        names_that_are_one_in_a_row_make_two_indexes,
    ],
}

/// The real specs; a typo in one of them is what a spec looks like that someone has just written.
fn specs() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the specs")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| fs::read_to_string(path).expect("a spec"))
        .collect()
}

/// What may stand where something else should.
const WORDS: [&str; 34] = [
    "",
    "\"\"",
    "\"",
    "'''",
    "-1",
    "0",
    "9223372036854775807",
    "9223372036854775808",
    "1e400",
    "true",
    "[]",
    "{}",
    "[[[[[[[[]]]]]]]]",
    "\"a -> b.c\"",
    "\"-> .\"",
    "\"a, b -> c(d)\"",
    "\"a bigint -> t.a unless '\"",
    "\"P99999999999D\"",
    "\"99999999999999999999d\"",
    "\"0s\"",
    "\"\u{202e}\u{0}\"",
    "\"ß\u{301}\u{1f600}\"",
    "\"'; DROP TABLE x; --\"",
    "\"$windrow$\"",
    "\"{{ 1 }}\"",
    "= =",
    "#",
    "\n[",
    "\n]",
    "[rules.x]\n",
    "=",
    ",",
    "{ null = false }",
    "nan",
];

/// A spec with a few changes.
fn mangled(spec: &str, random: &mut SmallRng) -> String {
    let mut text = spec.to_owned();
    for _ in 0..random.random_range(1..4) {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.is_empty() {
            break;
        }
        let at = random.random_range(0..lines.len());
        let other = random.random_range(0..lines.len());
        match random.random_range(0..8) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[other].clone()),
            2 => lines.swap(at, other),
            3 => lines.truncate(at),
            4 => {
                // A piece of the line is taken out, or comes twice.
                let signs: Vec<char> = lines[at].chars().collect();
                if !signs.is_empty() {
                    let from = random.random_range(0..signs.len());
                    let to = random.random_range(from..signs.len());
                    let twice = if random.random() {
                        &signs[from..to]
                    } else {
                        &[]
                    };
                    lines[at] = signs[..from]
                        .iter()
                        .chain(twice)
                        .chain(twice)
                        .chain(&signs[to..])
                        .collect();
                }
            }
            _ => {
                let word = *WORDS.choose(random).expect("a word");
                let mut parts: Vec<&str> = lines[at].split_inclusive([' ', ',', '"']).collect();
                if !parts.is_empty() {
                    let place = random.random_range(0..parts.len());
                    parts[place] = word;
                    lines[at] = parts.concat();
                }
            }
        }
        text = lines.join("\n");
    }
    text
}

fn a_spec_with_mistakes_is_told_and_never_a_panic() {
    let specs = specs();
    let (mut wrong, mut right) = (0, 0);
    for seed in seeds("specs with mistakes", None, 1_000) {
        let random = &mut SmallRng::seed_from_u64(seed);
        let spec = specs.choose(random).expect("a spec");
        let text = mangled(spec, random);
        let looked = panic::catch_unwind(|| {
            let (graph, findings) = lint::load(&text);
            let shown = diagnostic::render(&findings, "windrow.toml", &text, Colour::Never);
            for finding in &findings {
                assert!(
                    !finding.message.is_empty() && !finding.help.is_empty(),
                    "{finding:?}"
                );
                assert!(finding.span.end <= text.len(), "{finding:?}");
            }
            assert_eq!(
                graph.is_none(),
                diagnostic::has_errors(&findings),
                "{shown}"
            );
            // It takes a while, and is the same for most.
            if let Some(graph) = &graph
                && seed % 40 == 0
            {
                for dialect in &graph.dialects {
                    render::bundle(graph, *dialect).expect("a spec without errors renders");
                }
            }
            graph.is_none()
        });
        match looked {
            Ok(true) => wrong += 1,
            Ok(false) => right += 1,
            Err(_) => panic!("seed {seed}:\n{text}"),
        }
    }
    assert!(
        wrong > right && right > wrong / 20,
        "{wrong} with errors, {right} without"
    );
}

/// The routines that take a document, and their options.
const ROUTINES: [(&str, &[&str]); 13] = [
    (
        "run",
        &[
            "rule",
            "dry_run",
            "scope",
            "retention",
            "as_of",
            "run_families",
            "time_budget",
            "trigger",
        ],
    ),
    (
        "preview",
        &[
            "rule",
            "scope",
            "retention",
            "as_of",
            "run_families",
            "from",
        ],
    ),
    ("purge", &["rule", "key", "dry_run", "force"]),
    ("verify", &[]),
    (
        "set_policy",
        &["rule", "scope", "retention", "enabled", "artifacts", "note"],
    ),
    ("drop_policy", &["rule", "scope"]),
    (
        "set_hold",
        &["rule", "key", "reason", "until", "even_if_absent"],
    ),
    ("release_hold", &["rule", "key"]),
    ("set_setting", &["rule", "name", "value"]),
    ("set_windows", &["windows"]),
    ("pause_rule", &["rule", "reason"]),
    ("resume_rule", &["rule"]),
    ("outlook", &["rule", "limit", "parts", "ahead"]),
];

fn value(random: &mut SmallRng, depth: u32) -> Value {
    let texts = [
        "",
        "x",
        "1",
        "workflow_instances",
        "'; DROP TABLE t_ds_workflow_instance; --",
        "1 OR 1=1",
        "1); DELETE FROM t_ds_workflow_instance; --",
        "\\'; DELETE FROM t_ds_workflow_instance; -- ",
        "$windrow$ || pg_sleep(9)",
        "%s%n",
        "30d",
        "P30D",
        "-30d",
        "99999999999999999999d",
        "2026-02-30T00:00:00Z",
        "infinity",
        "now",
        "2025-01-01T00:00:00Z",
        "0x10",
        " 7",
        "７",
        "\u{1f600}\u{202e}",
        "batch_families",
        "mon-fri 22:00-06:00",
        "always",
    ];
    match random.random_range(0..if depth > 2 { 8 } else { 10 }) {
        0 => Value::Null,
        1 => json!(random.random::<bool>()),
        2 => json!(random.random_range(-3..3)),
        3 => json!(
            *[i64::MAX, i64::MIN, 1 << 31, 1 << 53]
                .choose(random)
                .expect("a number")
        ),
        4 => json!(*[1.5, 1e300, -0.0].choose(random).expect("a number")),
        5 => json!("y".repeat(random.random_range(1..3000))),
        8 => (0..random.random_range(0..4))
            .map(|_| value(random, depth + 1))
            .collect(),
        9 => json!({*texts.choose(random).expect("a text"): value(random, depth + 1)}),
        _ => json!(*texts.choose(random).expect("a text")),
    }
}

/// What a routine may say of its options: a bad value, and what the state of the database forbids.
const REFUSALS: [&str; 3] = ["22023", "55000", "WD003"];

fn options_of_all_kinds_are_answered_or_refused(dialect: Dialect) {
    // Not armed: whatever the options say, nothing may go.
    let mut installation = Installation::new(dialect, &dolphinscheduler(Shared::Closed));
    installation.execute(
        "INSERT INTO t_ds_workflow_instance (id, project_code, workflow_definition_code, workflow_definition_version, is_sub_workflow, executor_id, state, start_time, end_time) VALUES (1, 1, 1, 1, 0, 1, 7, '2020-01-01', '2020-01-01')",
    );
    let before = installation.contents();
    let count = installation.number(tables(dialect));
    let (mut refused, mut answered, mut wrong) = (0, 0, Vec::new());
    for seed in rounds_of("documents of odd options", dialect, 240) {
        let random = &mut SmallRng::seed_from_u64(seed);
        let (routine, names) = *ROUTINES.choose(random).expect("a routine");
        let mut options = json!({});
        for name in names {
            if random.random_bool(0.4) {
                options[*name] = value(random, 0);
            }
        }
        match random.random_range(0..12) {
            0 => options["force"] = json!(true),
            1 => options = value(random, 0),
            _ => {}
        }
        match installation.call(routine, options.clone()) {
            Ok(_) => answered += 1,
            Err(error) => {
                let state = failure::sqlstate(&error);
                if !state.is_some_and(|state| REFUSALS.contains(&state)) {
                    let options: String = options.to_string().chars().take(200).collect();
                    wrong.push(format!("seed {seed}: {routine}({options}): {error:#}"));
                }
                refused += 1;
            }
        }
        assert_eq!(
            installation.contents(),
            before,
            "seed {seed}, {routine}({options})"
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(installation.number(tables(dialect)), count);
    assert!(
        refused > 100 && answered > 20,
        "{refused} refused, {answered} answered"
    );
}

/// How many tables there are.
fn tables(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE()"
        }
    }
}

/// Their names were one: PostgreSQL left the second index out without a word, and MySQL and MariaDB refused the installation.
fn names_that_are_one_in_a_row_make_two_indexes(dialect: Dialect) {
    let graph = graph_of(
        r#"
name = "rows_in_a_row"

[tables]
run      = { key = "id bigint" }
run_step = { key = "id bigint", parents = ["run_id -> run.id"] }
part     = { parents = ["run_step -> run.id", "step -> run_step.id"], with = "any" }
part_run = { parents = ["step -> run.id"] }

[rules.a]
strategy   = "expiry"
root       = "run"
time       = "step_at"
candidates = { a = 1 }

[rules.b]
strategy   = "expiry"
root       = "run"
time       = "at"
candidates = { a_step = 1 }
"#,
    );
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE run (id bigint PRIMARY KEY, a integer, a_step integer, at {time}, step_at {time});
         CREATE TABLE run_step (id bigint PRIMARY KEY, run_id bigint);
         CREATE TABLE part (run_step bigint, step bigint);
         CREATE TABLE part_run (step bigint);"
    );
    let mut made = Installation::of(dialect, &schema, &graph);
    let sql = match dialect {
        Dialect::Postgres => {
            "SELECT tablename || ' ' || substring(indexdef FROM '[(].*') FROM pg_indexes WHERE schemaname = 'public' AND indexname LIKE 'windrow%'"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "SELECT CONCAT(table_name, ' ', GROUP_CONCAT(column_name ORDER BY seq_in_index)) FROM information_schema.statistics
             WHERE table_schema = DATABASE() AND index_name LIKE 'windrow%' GROUP BY table_name, index_name"
        }
    };
    let mut found = made.texts(sql);
    found.sort();
    let expected = match dialect {
        Dialect::Postgres => [
            "part (run_step)",
            "part (step)",
            "part_run (step)",
            "run (at, id) WHERE (a_step = 1)",
            "run (step_at, id) WHERE (a = 1)",
            "run_step (run_id)",
        ],
        Dialect::Mysql | Dialect::Mariadb => [
            "part run_step",
            "part step",
            "part_run step",
            "run a,step_at,id",
            "run a_step,at,id",
            "run_step run_id",
        ],
    };
    assert_eq!(found, expected);
}
