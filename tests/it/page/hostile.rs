//! Names and texts that try to be more: whatever a spec or a database says, it is text on the page.

use std::fs;

use serde_json::json;
use windrow::answers::{self, Differences};
use windrow::diagnostic::{Located, Severity as Weight};
use windrow::dialect::Dialect;
use windrow::draw;
use windrow::drift::{Drift, Kind, State};
use windrow::fit::{Finding, Severity};
use windrow::forecast::{Forecast, MissingIndex, Report, RuleForecast, TableForecast, Total};
use windrow::graph::{Graph, Literal, Test};
use windrow::lint;
use windrow::page::{self, Decisions, Generated, Missing, Page, Reading};
use windrow::render;

use super::is_sound;
use crate::harness::tests;
use crate::support::browser::Browser;

tests! {
    alone: [
        nothing_that_is_said_becomes_markup,
    ],
}

/// What a name or a text may be.
const TEXTS: [&str; 9] = [
    "\"><script>console.log('script')</script>",
    "</style></title><img src=x onerror=console.log('image')>",
    "]]><svg onload=console.log('svg')><foreignObject>",
    "' onmouseover='console.log(1)' x='",
    "<!-- --><iframe srcdoc='<script>top.x=1</script>'></iframe>",
    "a\u{202e}gnp.exe\u{0}\u{7}\u{1b}[31m\u{85}\u{2028}\u{feff}b",
    "&lt;b&gt;&#x3c;script&#x3e;`</code><a href=javascript:console.log(2)>x</a>`",
    "流程实例表_e\u{301}\u{327}_👩\u{200d}👩\u{200d}👧_ẞ_العربية",
    "very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long",
];

/// A spec that has all that a page tells of.
const SPEC: &str = r#"
name  = "hostile"
title = "hostile"
dialects = ["postgres"]
[tables]
job   = { key = "id integer" }
step  = { key = "id integer", parents = ["job_id -> job.id"], kept = { state = ["x"] } }
link  = { parents = ["upper -> job.id", "lower -> job.id"], with = "any" }
note  = { parents = ["step_id -> step.id set null"] }
guard = { parents = ["job_id -> job.id restrict"] }
token = { key = "id integer" }
[ignore]
other = "why"
[rules.jobs]
strategy   = "end-time"
root       = "job"
candidates = { top = 1 }
final      = { state = ["done", "failed"] }
where_sql  = "{root}.paid > 0"
end_time   = "ended else changed"
hierarchy  = ["link: upper -> lower"]
keep       = { newest = 2, per = "team varchar", by = "started timestamp" }
retention  = { default = "30d", minimum = "1d", safety_lag = "1h", per = "team varchar", by_value = { red = "40d" } }
artifacts  = [{ table = "step", path = "path" }]
[rules.tokens]
strategy = "expiry"
root     = "token"
time     = "expires timestamp"
"#;

/// The graph of it with other names; each call of `next` is another text.
fn renamed(mut next: impl FnMut() -> String) -> Graph {
    let mut graph = lint::load(SPEC).0.expect("a spec");
    graph.title = next();
    graph.time_zone = next();
    for window in &mut graph.windows {
        window.written = next();
    }
    for it in &mut graph.ignored {
        (it.table, it.reason) = (next(), next());
    }
    for table in &mut graph.tables {
        table.name = next();
        for column in &mut table.key {
            column.name = next();
        }
        for edge in &mut table.edges {
            edge.column.name = next();
            edge.none = Some(Literal::Text(next()));
        }
        for condition in &mut table.kept {
            condition.column.name = next();
        }
    }
    for rule in &mut graph.rules {
        rule.name = next();
        rule.end_time.name = next();
        rule.where_sql = rule.where_sql.as_ref().map(|_| next());
        rule.limits.wait_while_sql = Some(next());
        for condition in rule.candidates.iter_mut().chain(&mut rule.r#final) {
            condition.column.name = next();
            condition.test = Test::OneOf(vec![Literal::Text(next())]);
        }
        if let Some(per) = &mut rule.retention.per {
            per.name = next();
        }
        for newest in &mut rule.newest {
            newest.per[0].name = next();
        }
        for link in &mut rule.hierarchy {
            link.parent.name = next();
        }
        for artifact in &mut rule.artifacts {
            artifact.path = next();
        }
    }
    graph
}

fn reading(graph: &Graph, mut next: impl FnMut() -> String) -> Reading {
    let rule = &graph.rules[0].name;
    let preview = json!({"spec": next(), "as_of": next(), "paused": false, "armed": true, "rules": [{
        "rule": rule, "root": next(), "families": 3, "rows": 5, "batches": 1, "tables": {next(): 4, next(): 1},
        "passes": [{"pass": next(), "rows": 2, "sample_keys": [next()]}], "skipped_families": 2, "skipped": {"HELD": 1, next(): 1},
        "skipped_samples": {"HELD": [next()]}, "oldest_end_time": next(), "sample_roots": [next(), next()], "run_families": 3,
        "limited": true, "without_policy": 7, "estimated_seconds": 1.5}]});
    let finding = |severity, text: String, help| Finding {
        code: "unlisted-reference",
        severity,
        object: text.clone(),
        message: text,
        help,
    };
    let table = TableForecast {
        table: next(),
        rows: 10.0,
        rows_in_table: Some(20.0),
        share: Some(0.5),
        bytes: Some(1_000_000),
        dead_bytes: Some(500_000.0),
        log_bytes: Some(2_000.0),
    };
    let of_rule = RuleForecast {
        rule: rule.clone(),
        due_families: Some(10.0),
        families: Some(8.0),
        rows: Some(80.0),
        left: vec![8.0, 4.0, 0.0],
        runs: Some(2),
        days: Some(2),
        notes: vec![next()],
        stays: [(next(), 2.0)].into(),
        oldest_end_time: Some(next()),
        ..RuleForecast::default()
    };
    let plan = Report {
        installed: true,
        sees_tables: true,
        indexes: vec![MissingIndex {
            index: next(),
            table: next(),
            why: next(),
            bytes: None,
            statement: next(),
        }],
        rules: vec![of_rule],
        tables: vec![table],
        outlook: Some(Forecast {
            total: Total {
                rows: 80.0,
                ..Total::default()
            },
            ..Forecast::default()
        }),
        ..Report::default()
    };
    let policies = json!([{"rule": rule, "scope": next(), "enabled": true, "retention_seconds": 86_400, "artifacts": true,
        "note": next(), "changed_by": next(), "changed_at": next()}]);
    let holds = json!([{"rule": rule, "key": next(), "reason": next(), "until": next(), "placed_by": next(),
        "placed_at": next(), "absent": false}]);
    let drift = Drift {
        kind: Kind::Routine,
        name: next(),
        state: State::Edited,
        detail: next(),
        diff: format!("--- a\n+++ b\n-{}\n+{}\n", next(), next()),
        statement: next(),
    };
    Reading {
        at: next(),
        server: next(),
        address: next(),
        installed: Some(true),
        other: true,
        left_out: vec![next()],
        findings: Ok(vec![
            finding(Severity::Error, next(), next()),
            finding(Severity::Notice, next(), next()),
        ]),
        decisions: Ok(Decisions {
            policies: answers::read("policies", &policies).expect("policies"),
            holds: answers::read("holds", &holds).expect("holds"),
        }),
        plan: Ok(plan),
        preview: Ok(answers::read("preview", &preview).expect("a preview")),
        differences: Ok(Differences {
            not_compared: Vec::new(),
            spec: next(),
            control: next(),
            clean: false,
            drift: vec![drift],
        }),
    }
}

fn nothing_that_is_said_becomes_markup() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut browser = Browser::open();
    let real = lint::load(SPEC).0.expect("a spec");
    // Each text is in another place each time.
    for turn in [0, 1, 4] {
        let mut at = turn;
        let mut next = || {
            at += 1;
            // No two names are the same.
            format!("{}{at}", TEXTS[at % TEXTS.len()])
        };
        let graph = renamed(&mut next);
        let mut reading = reading(&graph, &mut next);
        if turn == 4 {
            let missing = || Missing {
                reason: TEXTS[0].to_owned(),
                hint: TEXTS[6].to_owned(),
            };
            reading.plan = Err(missing());
            reading.decisions = Err(missing());
            reading.preview = Err(missing());
            reading.differences = Err(missing());
            reading.findings = Err(missing());
        }
        let mut changes = render::changes(&real, Dialect::Postgres).expect("statements");
        for change in &mut changes {
            let rules = &graph.rules;
            change.rule = rules[usize::from(change.rule == "tokens")].name.clone();
            change.sql = format!("{} -- {}\nAND x = '{}'", change.sql, next(), next());
            (change.table, change.routine) = (next(), next());
        }
        let servers = [Generated {
            dialect: Dialect::Postgres,
            control: next(),
            home: next(),
            changes,
            indexes: render::index_statements(&real, Dialect::Postgres),
        }];
        let warnings = [Located {
            code: "raw-condition",
            severity: Weight::Warning,
            message: next(),
            file: next(),
            line: 1,
            column: 1,
            help: next(),
        }];
        let text = page::html(&Page {
            graph: &graph,
            file: &next(),
            hash: &next(),
            warnings: &warnings,
            servers: &servers,
            reading: Some(&reading),
        });
        let path = folder.path().join("hostile.html");
        fs::write(&path, &text).expect("a page");
        is_sound(&mut browser, &path, &format!("hostile-{turn}"), turn == 0);
        for hidden in ['\u{202e}', '\u{0}', '\u{1b}', '\u{2028}'] {
            assert!(!text.contains(hidden), "{hidden:?}");
        }
        // The picture alone is XML: a browser reads it as such, or says what is wrong.
        let picture = folder.path().join("hostile.svg");
        fs::write(&picture, draw::svg(&graph)).expect("a picture");
        browser.show(&picture, 1280, false);
        let elements = browser.evaluate(
            "[...new Set([...document.querySelectorAll('*')].map(it => it.localName))].sort().join(' ')",
        );
        assert_eq!(elements, "circle g path rect style svg text title");
        assert!(browser.said().is_empty());
    }
}
