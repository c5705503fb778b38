//! What operators see: the metrics, by one installation on each server, from the day before its first run on.

mod refused;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windrow::answers;
use windrow::calls::Calls;
use windrow::dialect::Dialect;
use windrow::graph::Shared;
use windrow::render::monitoring::{LABELS, METRICS};
use windrow::report;

use crate::harness::tests;
use crate::monitoring::collector;
use crate::oracle::now;
use crate::support::graphs::{dolphinscheduler, graph_of};
use crate::support::installation::{Installation, bundle, numbers, violations};
use crate::support::world::{DAY, Row, SECOND};

tests! {
    within: [refused::tests],
    every_server: [
        a_run_counts_what_is_due_of_its_own_rules,
        each_rule_is_told_by_what_a_run_saw_of_it,
        the_metrics_follow_the_ledger,
        how_fast_a_rule_is_neither_a_purge_nor_a_dry_run_says,
    ],
    on_postgres: [
        an_index_in_another_order_is_none,
    ],
}

/// As the program says it: see `live::indexes`.
fn an_index_in_another_order_is_none() {
    let graph = graph_of(
        r#"
name = "order"
[tables]
log = { key = "id integer" }
[rules.logs]
strategy  = "age"
root      = "log"
time      = "at"
retention = { default = "30d" }
"#,
    );
    let schema = "CREATE TABLE log (id integer PRIMARY KEY, at timestamp)";
    let mut database = Installation::of(Dialect::Postgres, schema, &graph);
    let own =
        "SELECT indexname FROM pg_indexes WHERE tablename = 'log' AND indexname <> 'log_pkey'";
    let own = database.texts(own);
    assert_eq!(own.len(), 1);
    database.execute(&format!("DROP INDEX {}", own[0]));
    for (index, serves) in [
        ("btree (at DESC NULLS LAST)", false),
        ("brin (at)", false),
        ("btree (at DESC)", true),
        ("btree (at, id DESC)", true),
    ] {
        database.execute(&format!("CREATE INDEX mine ON log USING {index}"));
        let verify = database.call("verify", json!({})).expect("verify");
        let missing = violations(&verify)
            .iter()
            .any(|check| check["check"] == "index");
        assert_eq!(missing, !serves, "{index}: {verify}");
        database.execute("DROP INDEX mine");
    }
}

/// A metric by its name and the values of its labels, sorted by the names of these.
type Samples = BTreeMap<String, f64>;

/// A root of project 1, which has a policy of 30 days, that ended some days ago; a child that still runs, if it has one.
fn family(id: i32, days: i64, running_child: Option<i32>) -> Vec<Row> {
    let instance = |id, state, days: Option<i64>, is_sub_workflow| Row::Instance {
        id,
        state: Some(state),
        end_time: days.map(|days| now() - days * DAY),
        is_sub_workflow: Some(is_sub_workflow),
        project: Some(1),
    };
    let mut rows = vec![instance(id, 7, Some(days), 0)];
    if let Some(child) = running_child {
        rows.push(instance(child, 1, None, 1));
        rows.push(Row::Link {
            id: child,
            parent: Some(id),
            child: Some(child),
        });
    }
    rows
}

/// The view, with labels as `name{a=1,b=2}`.
fn samples(installation: &mut Installation) -> Samples {
    let sql = match installation.dialect {
        Dialect::Postgres => "SELECT name, labels::text, value::text FROM W.metrics",
        Dialect::Mysql | Dialect::Mariadb => {
            "SELECT name, CAST(labels AS CHAR), CAST(value AS CHAR) FROM W.metrics"
        }
    };
    let mut found = Samples::new();
    for row in installation.rows(sql) {
        let [name, labels, value] = &row[..] else {
            panic!("three columns")
        };
        let labels: BTreeMap<String, String> =
            serde_json::from_str(labels.as_deref().expect("labels")).expect("a document");
        let key = written(name.as_deref().expect("a name"), &labels);
        let value = value.as_deref().expect("a value").parse();
        let before = found.insert(key.clone(), value.expect("a number"));
        assert!(before.is_none(), "{key} is there twice");
    }
    found
}

fn written(name: &str, labels: &BTreeMap<String, String>) -> String {
    let labels: Vec<String> = labels
        .iter()
        .map(|(label, value)| format!("{label}={value}"))
        .collect();
    match labels.is_empty() {
        true => name.to_owned(),
        false => format!("{name}{{{}}}", labels.join(",")),
    }
}

/// What sql_exporter would make of the generated collector file: its query, and the columns that it names.
fn collected(installation: &mut Installation) -> Samples {
    let files = bundle(installation.dialect, &dolphinscheduler(Shared::Closed)).files;
    let file = files
        .iter()
        .find(|file| file.path.ends_with("/metrics.collector.yml"));
    let collector = collector(&file.expect("a collector file").text);
    // The control schema of a test on MySQL and MariaDB has a name of its own.
    let query = collector.queries[0]
        .query
        .replace("windrow_dolphinscheduler.", "W.");
    let mut columns: Vec<&str> = Vec::new();
    for line in query
        .lines()
        .filter(|line| line.contains(" AS ") && !line.contains("FROM"))
    {
        let name = line.rsplit(" AS ").next().expect("a name");
        columns.push(name.trim_matches([',', '"', '`', ' ']));
    }
    let rows = installation.rows(&query);
    let mut found = Samples::new();
    for row in rows {
        let cell = |name: &str| {
            let at = columns.iter().position(|column| *column == name);
            row[at.unwrap_or_else(|| panic!("no column {name}"))].clone()
        };
        for metric in &collector.metrics {
            if let Some(value) = cell(&metric.values[0]) {
                let labels = metric.key_labels.iter();
                let labels = labels.map(|label| (label.clone(), cell(label).expect("a label")));
                let key = written(&metric.metric_name, &labels.collect());
                found.insert(key, value.parse().expect("a number"));
            }
        }
    }
    found
}

/// What an exporter makes of the generated query: the labels that are not empty.
fn asked(installation: &mut Installation) -> Samples {
    let files = bundle(installation.dialect, &dolphinscheduler(Shared::Closed)).files;
    let file = files
        .iter()
        .find(|file| file.path.ends_with("/metrics.query"));
    let query = &file.expect("a query").text;
    let mut found = Samples::new();
    for row in installation.rows(&query.replace("windrow_dolphinscheduler.", "W.")) {
        let cells: Vec<String> = row.into_iter().flatten().collect();
        let [spec, name, labels @ .., value] = &cells[..] else {
            panic!("{cells:?}")
        };
        assert_eq!(
            (spec.as_str(), labels.len()),
            ("dolphinscheduler", LABELS.len())
        );
        let labels = LABELS.iter().zip(labels).filter(|it| !it.1.is_empty());
        let labels = labels.map(|(label, value)| ((*label).to_owned(), value.clone()));
        let key = written(name, &labels.collect());
        found.insert(key, value.parse().expect("a number"));
    }
    found
}

const RULE: &str = "{rule=workflow_instances}";

/// The application's clock of MySQL knows whole seconds.
fn days(samples: &Samples, name: &str) -> i64 {
    ((samples[name] + 600.0) / 86_400.0).floor() as i64
}

/// The families of a run.
fn run(installation: &mut Installation, options: Value) -> i64 {
    let result = installation.run(options).expect("a run");
    result["rules"][0]["families"].as_i64().expect("families")
}

/// Lets something in the ledger have happened some hours earlier.
fn earlier(installation: &mut Installation, table: &str, column: &str, hours: i64) {
    let interval = match installation.dialect {
        Dialect::Postgres => format!("interval '{hours} hours'"),
        Dialect::Mysql | Dialect::Mariadb => format!("INTERVAL {hours} HOUR"),
    };
    installation.execute(&format!(
        "UPDATE W.{table} SET {column} = {column} - {interval}"
    ));
}

fn the_metrics_follow_the_ledger(dialect: Dialect) {
    let mut installation = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut look = |installation: &mut Installation| {
        let samples = samples(installation);
        seen.extend(
            samples
                .keys()
                .map(|key| key.split('{').next().unwrap_or(key).to_owned()),
        );
        samples
    };
    fill(&mut installation);

    // Before the first run: what is due is known, nothing else.
    let before = look(&mut installation);
    let backlog = format!("windrow_backlog_families{RULE}");
    let oldest = format!("windrow_backlog_oldest_age_seconds{RULE}");
    assert_eq!((before[&backlog], days(&before, &oldest)), (4.0, 100));
    assert_eq!(before["windrow_armed"], 1.0);
    assert_eq!(before["windrow_window_open"], 1.0);
    assert_eq!(before["windrow_holds"], 1.0);
    assert!(!before.contains_key("windrow_last_success_timestamp_seconds"));
    assert!(!before.contains_key(&format!("windrow_backlog_rows{RULE}")));

    // A dry run looks and counts nothing as deleted; a run deletes what may go.
    assert_eq!(run(&mut installation, json!({"dry_run": true})), 2);
    let dry = look(&mut installation);
    assert!(!dry.keys().any(|key| key.contains("_total")), "{dry:?}");
    assert_eq!(run(&mut installation, json!({})), 2);
    let after = look(&mut installation);
    assert_eq!((after[&backlog], days(&after, &oldest)), (2.0, 80));
    assert_eq!(after[&format!("windrow_backlog_rows{RULE}")], 2.0);
    let of = |reason: &str| format!("{{reason={reason},rule=workflow_instances}}");
    for (reason, age) in [("NON_FINAL_MEMBER", 80), ("HELD", 70)] {
        assert_eq!(
            after[&format!("windrow_skipped_families{}", of(reason))],
            1.0
        );
        let name = format!("windrow_skipped_oldest_age_seconds{}", of(reason));
        assert_eq!(days(&after, &name), age);
    }
    let deleted = format!("windrow_deleted_families_total{RULE}");
    let rows = "windrow_deleted_rows_total{rule=workflow_instances,table=t_ds_workflow_instance}";
    let done = "windrow_runs_total{status=done,trigger=MANUAL}";
    assert_eq!((after[&deleted], after[rows], after[done]), (2.0, 2.0, 1.0));
    assert_eq!(after["windrow_last_run_failed"], 0.0);
    assert!(after["windrow_last_success_timestamp_seconds"] * SECOND as f64 > (now() - DAY) as f64);

    a_person_sees_it(&mut installation);

    // Two hours later four more have become due, of which a run may take one.
    earlier(&mut installation, "run_backlog", "counted_at", 2);
    for id in 6..10 {
        installation.execute(&family(id, 60, None)[0].insert());
    }
    assert_eq!(run(&mut installation, json!({"run_families": 1})), 1);
    let later = look(&mut installation);
    assert_eq!((later[&backlog], later[&deleted]), (5.0, 3.0));
    // A slow machine takes a while longer than two hours. The first count was that of the dry run: 4 were due.
    let (due, gone) = (
        later[&format!("windrow_due_families_per_hour{RULE}")],
        later[&format!("windrow_deleted_families_per_hour{RULE}")],
    );
    assert!((1.6..=2.0).contains(&due), "{due}");
    assert!((1.2..=1.5).contains(&gone), "{gone}");

    a_million_is_not_counted(&mut installation, &mut look);

    // The ledger is pruned, the counters stay.
    installation
        .set_setting("ledger_days", 1)
        .expect("a setting");
    earlier(&mut installation, "run", "finished_at", 72);
    assert_eq!(run(&mut installation, json!({"run_families": 1})), 1);
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.run"), 1);
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.run_backlog"), 1);
    let pruned = look(&mut installation);
    assert_eq!(
        (pruned[&deleted], pruned[rows], pruned[done]),
        (5.0, 5.0, 1.0)
    );

    more_than_a_scrape_counts(&mut installation, &mut look);

    // A run in progress, as the ledger has it.
    installation.execute("UPDATE W.run SET status = 'running', finished_at = NULL");
    let running = look(&mut installation);
    assert_eq!(running["windrow_running"], 2.0);
    let names: BTreeSet<String> = METRICS
        .iter()
        .map(|metric| metric.name.to_owned())
        .collect();
    assert_eq!(seen, names);

    exporters_make_the_same(&mut installation);
}

/// Of a million families and more nobody knows how many become due: how many go is known nevertheless.
fn a_million_is_not_counted(
    installation: &mut Installation,
    look: &mut impl FnMut(&mut Installation) -> Samples,
) {
    let counted = installation
        .texts("SELECT MIN(run_id) FROM W.run_backlog")
        .remove(0);
    installation.execute(&family(40, 60, None)[0].insert());
    installation.execute(&format!(
        "UPDATE W.run_backlog SET families = 1000000, complete = NULL WHERE run_id = {counted}"
    ));
    assert_eq!(run(installation, json!({"run_families": 1})), 1);
    let many = look(installation);
    assert!(!many.contains_key(&format!("windrow_due_families_per_hour{RULE}")));
    let gone = many[&format!("windrow_deleted_families_per_hour{RULE}")];
    assert!((1.6..=2.0).contains(&gone), "{gone}");
}

/// Five families that have ended: of one a member runs, one is held, one is young.
fn fill(installation: &mut Installation) {
    installation
        .set_policy(json!({"scope": "1", "retention": "30d"}))
        .expect("a policy");
    for row in [
        family(1, 100, None),
        family(2, 90, None),
        family(3, 80, Some(30)),
        family(4, 70, None),
        family(5, 3, None),
    ]
    .concat()
    {
        installation.execute(&row.insert());
    }
    installation
        .set_hold(json!({"key": 4, "reason": "test"}))
        .expect("a hold");
}

/// What exporters make of it is the same, but for what has passed meanwhile.
fn exporters_make_the_same(installation: &mut Installation) {
    for there in [collected(installation), asked(installation)] {
        let here = samples(installation);
        assert_eq!(
            there.keys().collect::<Vec<_>>(),
            here.keys().collect::<Vec<_>>()
        );
        for (key, value) in &here {
            assert!((there[key] - value).abs() < 3_600.0, "{key}");
        }
    }
}

/// The same as a person sees it.
fn a_person_sees_it(installation: &mut Installation) {
    let calls = Calls::new(installation.dialect, &installation.control, "sight");
    let status = installation.document(&calls.status(), "sight");
    let rule = &status["rules"][0];
    assert_eq!(rule["families"], 2, "{status}");
    assert_eq!(rule["last_look_status"], "done", "{status}");
    assert_eq!(status["window_open"], true, "{status}");
    let screen = report::status(&answers::read("status", &status).expect("a status"));
    for line in [
        "(for scheduled runs; open now)",
        "yes: everything due is kept, see below",
    ] {
        assert!(screen.contains(line), "{line}: {screen}");
    }
    for (reason, key) in [("NON_FINAL_MEMBER", "3"), ("HELD", "4")] {
        let line = screen.lines().find(|line| line.starts_with(reason));
        let words: Vec<&str> = line.expect("a line").split_whitespace().collect();
        assert_eq!(words[1..3], ["workflow_instances", "1"], "{screen}");
        assert_eq!(words[4..6], ["days", key], "{screen}");
    }
    let newest = installation.document(&calls.history(false), "1");
    let figures = [
        &newest["families"],
        &newest["deleted_rows"],
        &newest["changed_rows"],
    ];
    assert_eq!(figures, [2, 2, 0], "{newest}");
}

/// More is due than a scrape counts: at least so many, until a run has counted.
fn more_than_a_scrape_counts(
    installation: &mut Installation,
    look: &mut impl FnMut(&mut Installation) -> Samples,
) {
    let backlog = format!("windrow_backlog_families{RULE}");
    let counted = format!("windrow_backlog_counted_timestamp_seconds{RULE}");
    let many = numbers(installation.dialect, 10_100);
    installation.execute(&format!(
        "INSERT INTO t_ds_workflow_instance (id, state, end_time, is_sub_workflow, project_code, executor_id) SELECT n + 999, 7, '2020-01-01', 0, 1, 1 FROM {many}"
    ));
    let least = look(installation);
    assert_eq!(least[&backlog], 10_000.0);
    assert!(!least.contains_key(&counted), "{least:?}");
    assert_eq!(
        run(installation, json!({"run_families": 1, "dry_run": true})),
        1
    );
    let all = look(installation);
    assert_eq!(all[&backlog], 10_104.0);
    assert!(all[&counted] > 0.0);
}

/// Two rules of one strategy, by age.
const TWO_RULES: &str = r#"
name = "sight"

[tables]
events = { key = "id integer" }
mails  = { key = "id integer" }

[rules.events]
strategy  = "age"
root      = "events"
time      = "at timestamp"
retention = { default = "30d" }

[rules.mails]
strategy  = "age"
root      = "mails"
time      = "at timestamp"
retention = { default = "30d" }
"#;

/// They are armed, and have no rows.
fn of_two_rules(dialect: Dialect) -> Installation {
    let schema = ["events", "mails"].map(|table| {
        format!("CREATE TABLE {table} (id integer PRIMARY KEY, at timestamp NOT NULL);\n")
    });
    let mut installation = Installation::of(dialect, &schema.concat(), &graph_of(TWO_RULES));
    installation.arm();
    installation
}

fn a_run_counts_what_is_due_of_its_own_rules(dialect: Dialect) {
    let mut installation = of_two_rules(dialect);
    let mut counted = |options: Value| {
        installation.run(options).expect("a run");
        installation.texts("SELECT b.rule FROM W.run_backlog AS b ORDER BY b.run_id, b.rule")
    };
    assert_eq!(counted(json!({"rule": "mails"})), ["mails"]);
    assert_eq!(counted(json!({})), ["mails", "events", "mails"]);
}

/// By how many seconds of work a preview expects each row to be deleted.
fn expected(installation: &mut Installation) -> Option<f64> {
    let preview = installation.preview(json!({"rule": "events"}));
    let preview = preview.expect("a preview");
    let rule = &preview["rules"][0];
    let rows = rule["rows"].as_f64().expect("rows");
    assert!(rows > 0.0, "{rule}");
    rule["estimated_seconds"].as_f64().map(|it| it / rows)
}

/// Rows per second of manual and of scheduled runs, as `plan` and `status` ask.
fn speeds(installation: &mut Installation) -> [Option<f64>; 2] {
    let calls = Calls::new(installation.dialect, &installation.control, "sight");
    ["false", "true"].map(|scheduled| {
        let parameters = [Some("events"), Some(scheduled)];
        let rows = installation.session.query(&calls.speed(), &parameters);
        let rows = rows.expect("an answer");
        let figure = |at: usize| rows[0][at].as_ref().expect("a value").parse::<f64>();
        let (deleted, took) = (figure(0).expect("rows"), figure(1).expect("seconds"));
        (took > 0.0).then(|| (deleted / took * 1000.0).round() / 1000.0)
    })
}

fn how_fast_a_rule_is_neither_a_purge_nor_a_dry_run_says(dialect: Dialect) {
    let mut installation = of_two_rules(dialect);
    let many = numbers(dialect, 100);
    // What ended at one instant goes together.
    let at = match dialect {
        Dialect::Postgres => "timestamp '2020-01-01' + n * interval '1 minute'",
        Dialect::Mysql | Dialect::Mariadb => "TIMESTAMP('2020-01-01') + INTERVAL n MINUTE",
    };
    installation.execute(&format!(
        "INSERT INTO events (id, at) SELECT n, {at} FROM {many}"
    ));
    // Each took so long.
    let took = |installation: &mut Installation, seconds: i64| {
        let run = installation.number("SELECT MAX(run_id) FROM W.run");
        let interval = match dialect {
            Dialect::Postgres => format!("interval '{seconds} seconds'"),
            Dialect::Mysql | Dialect::Mariadb => format!("INTERVAL {seconds} SECOND"),
        };
        installation.execute(&format!(
            "UPDATE W.run_rule SET started_at = updated_at - {interval} WHERE run_id = {run}"
        ));
    };
    let purge = |installation: &mut Installation, key: i64| {
        let named = json!({"rule": "events", "key": [key]});
        installation.purge(named).expect("a purge");
        took(installation, 1000);
    };
    let ten = |more: Value| {
        let mut options = json!({"rule": "events", "run_families": 10});
        options
            .as_object_mut()
            .expect("options")
            .extend(more.as_object().expect("more").clone());
        options
    };
    purge(&mut installation, 1);
    installation
        .run(ten(json!({"dry_run": true})))
        .expect("a dry run");
    took(&mut installation, 1000);
    assert_eq!(expected(&mut installation), None);
    assert_eq!(speeds(&mut installation), [None, None]);

    installation
        .run(ten(json!({"trigger": "SCHEDULED"})))
        .expect("a run");
    took(&mut installation, 100);
    purge(&mut installation, 100);
    assert_eq!(expected(&mut installation), Some(10.0));
    assert_eq!(speeds(&mut installation), [None, Some(0.1)]);

    // It has no rests, as the one that somebody starts after the preview.
    installation.run(ten(json!({}))).expect("a run");
    took(&mut installation, 10);
    for key in [95, 96, 97, 98, 99] {
        purge(&mut installation, key);
    }
    assert_eq!(expected(&mut installation), Some(1.0));
    assert_eq!(speeds(&mut installation), [Some(1.0), Some(0.1)]);
}

/// The line of a rule in what `status` says.
fn line_of(installation: &mut Installation, rule: &str) -> String {
    let calls = Calls::new(installation.dialect, &installation.control, "sight");
    let status = installation.document(&calls.status(), "sight");
    let screen = report::status(&answers::read("status", &status).expect("a status"));
    let mut lines = screen.lines();
    let line = lines.find(|line| line.split_whitespace().next() == Some(rule));
    line.unwrap_or_else(|| panic!("{screen}")).to_owned()
}

/// Of two rules, a run is through with the second. Rows without an end are kept, but they are none of those that are due.
fn each_rule_is_told_by_what_a_run_saw_of_it(dialect: Dialect) {
    let rule = |table: &str| {
        format!(
            "[rules.{table}]
strategy  = \"end-time\"
root      = \"{table}\"
final     = {{ state = 1 }}
end_time  = \"at timestamp\"
retention = {{ default = \"30d\" }}
"
        )
    };
    let spec = format!(
        "name = \"sight\"\n\n[tables]\nevents = {{ key = \"id integer\" }}\nmails = {{ key = \"id integer\" }}\n\n{}\n{}",
        rule("events"),
        rule("mails")
    );
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = ["events", "mails"].map(|table| {
        format!(
            "CREATE TABLE {table} (id integer PRIMARY KEY, state integer NOT NULL, at {time} NULL);
             INSERT INTO {table} VALUES (1, 1, '2020-01-01'), (2, 1, '2020-01-02'), (3, 1, NULL), (4, 1, NULL), (5, 1, NULL);\n"
        )
    });
    let mut installation = Installation::of(dialect, &schema.concat(), &graph_of(&spec));
    installation.arm();
    installation
        .run(json!({"dry_run": true}))
        .expect("a dry run");
    let mails = line_of(&mut installation, "mails");
    assert!(mails.contains("not yet: a dry run"), "{mails}");
    let few = json!({"rule": "events", "name": "run_families", "value": 1});
    installation.call("set_setting", few).expect("a setting");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["reason"], "run_families reached", "{run}");
    installation.execute("INSERT INTO mails VALUES (6, 1, '2020-01-06')");
    let mails = line_of(&mut installation, "mails");
    let left_nothing = "yes: the last run left nothing that may be deleted";
    assert!(mails.ends_with(left_nothing), "{mails}");
    let events = line_of(&mut installation, "events");
    assert!(!events.contains("yes"), "{events}");
}
