//! Partitions that are made in advance on MySQL and MariaDB.

use std::collections::BTreeMap;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::super::innodb::files;
use super::super::{at_once, example_of, only};
use super::layout::{Layout, ZONES};
use crate::support::effort::{enough, seeds};
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

/// The type of the column in the spec and in the table, how the table is partitioned, and what a bound is.
const FORMS: [(&str, &str, &str, &str); 5] = [
    ("timestamp", "datetime(6)", "RANGE COLUMNS (at)", "'{}'"),
    ("date", "date", "RANGE COLUMNS (at)", "'{}'"),
    (
        "timestamp",
        "datetime",
        "RANGE (TO_DAYS(at))",
        "TO_DAYS('{}')",
    ),
    ("date", "date", "RANGE (to_days(at))", "TO_DAYS('{}')"),
    (
        "timestamptz",
        "timestamp NULL",
        "RANGE (UNIX_TIMESTAMP(at))",
        "UNIX_TIMESTAMP('{}')",
    ),
];

const AHEAD: i64 = 4 * 86_400;

fn installed(dialect: Dialect, form: usize, zone: &str) -> Installation {
    let (kind, column, by, bound) = FORMS[form];
    let spec = format!(
        "name = \"ahead-{form}\"\ndialects = [\"mysql\", \"mariadb\"]\ntime_zone = \"{zone}\"\n\
         [tables]\nevent_log = {{ key = \"id bigint\" }}\n\
         [rules.event_log]\nstrategy = \"partition\"\nroot = \"event_log\"\ntime = \"at {kind}\"\nahead = \"4d\"\n\
         retention = {{ default = \"900d\" }}\n"
    );
    let bound = bound.replace("{}", "2020-01-01");
    let schema = format!(
        "CREATE TABLE event_log (id bigint NOT NULL, at {column}, KEY (id)) PARTITION BY {by} (PARTITION p VALUES LESS THAN ({bound}))"
    );
    files(dialect);
    let mut installation = Installation::of(dialect, &schema, &graph_of(&spec));
    installation.execute("SET SESSION time_zone = '+00:00'");
    installation
}

/// Name and bound of each partition, in their order.
fn there(installation: &mut Installation) -> Vec<String> {
    installation.texts(
        "SELECT CONCAT(partition_name, '/', partition_description) FROM information_schema.partitions
         WHERE table_schema = DATABASE() AND table_name = 'event_log' AND COALESCE(subpartition_ordinal_position, 1) = 1
         ORDER BY partition_ordinal_position",
    )
}

/// A preview, a dry run, a run and another one of a random layout.
fn agreed(
    installation: &mut Installation,
    form: usize,
    zone: &str,
    seed: u64,
    seen: &mut BTreeMap<&'static str, usize>,
) {
    let mut random = SmallRng::seed_from_u64(seed);
    let (kind, column, by, bound) = FORMS[form];
    let days = form != 0 && form != 4;
    let mut layout = Layout::random(&mut random, zone, kind == "timestamptz", days, false);
    // The first has no begin, so that one more says how wide they are.
    layout.count = layout.count.max(2);
    let missing = layout.missing(AHEAD);
    let open = random.random_bool(0.5);
    let late = open && random.random_bool(0.3);
    let divided = random.random_bool(0.2) && form > 1;
    let part = |name: &str, place: i64| {
        let end = layout.bound(place + 1).to_string().replace('T', " ");
        let end = if days { &end[..10] } else { &end };
        format!(
            "PARTITION `{name}` VALUES LESS THAN ({})",
            bound.replace("{}", end)
        )
    };
    let parts = |missing: &[i64]| {
        let mut parts: Vec<String> = layout
            .there()
            .into_iter()
            .map(|place| part(&layout.name(place), place))
            .chain(
                missing
                    .iter()
                    .map(|place| part(&layout.missing_name(*place, "p"), *place)),
            )
            .collect();
        parts.extend(open.then(|| "PARTITION rest VALUES LESS THAN (MAXVALUE)".to_owned()));
        let divided = if divided {
            " SUBPARTITION BY HASH (id) SUBPARTITIONS 2"
        } else {
            ""
        };
        format!(
            "DROP TABLE IF EXISTS event_log; CREATE TABLE event_log (id bigint NOT NULL, at {column}, KEY (id)) PARTITION BY {by}{divided} ({})",
            parts.join(", ")
        )
    };
    // What the server makes of the layout that there should be.
    installation.execute(&parts(if late { &[] } else { &missing }));
    let expected = there(installation);
    installation.execute(&parts(&[]));
    let before = there(installation);
    let rows = i64::from(late && !missing.is_empty());
    if late {
        let at = layout.bound(layout.count).to_string().replace('T', " ");
        installation.execute(&format!("INSERT INTO event_log VALUES (1, '{at}')"));
    }
    let context = format!(
        "{:?}, form {form}, seed {seed}: {layout:?}, open {open}, late {late}",
        installation.dialect
    );
    installation.arm();
    let options = json!({"as_of": layout.now.to_string()});
    let mut dry = options.clone();
    dry["dry_run"] = json!(true);
    let preview = installation.preview(options.clone()).expect("a preview");
    let dry = installation.run(dry).expect("a dry run");
    assert_eq!(there(installation), before, "{context}");
    let run = installation.run(options.clone()).expect("a run");
    let names: Vec<String> = missing
        .iter()
        .filter(|_| !late)
        .map(|place| layout.missing_name(*place, "p"))
        .collect();
    for document in [&preview, &dry, &run] {
        assert_eq!(
            only(document)["made"],
            json!(names),
            "{document}\n{context}"
        );
        let not_made = only(document)["not_made"].as_object().expect("an object");
        assert_eq!(not_made.len() as i64, rows, "{document}\n{context}");
        let said = not_made.values().all(|it| {
            it.as_str()
                .is_some_and(|it| it.contains("rest, up to MAXVALUE, has 1 rows"))
        });
        assert!(said, "{document}\n{context}");
    }
    assert_eq!(there(installation), expected, "{run}\n{context}");
    let kept = installation.number("SELECT COUNT(*) FROM event_log");
    assert_eq!(kept, i64::from(late), "{context}");
    let again = installation.run(options).expect("a second run");
    assert_eq!(only(&again)["made"], json!([]), "{again}\n{context}");
    assert_eq!(there(installation), expected, "{again}\n{context}");
    *seen.entry("made").or_default() += names.len();
    *seen.entry("late").or_default() += usize::try_from(rows).expect("few");
    *seen.entry("open").or_default() += usize::from(open && !names.is_empty());
}

pub(super) fn a_run_makes_what_the_model_says(dialect: Dialect) {
    let mut seen = BTreeMap::new();
    for form in 0..FORMS.len() {
        // The one that the servers of the tests know.
        let zone = ZONES[0];
        let mut installation = installed(dialect, form, zone);
        for seed in seeds("layouts of partitions", dialect, 6) {
            agreed(&mut installation, form, zone, seed, &mut seen);
        }
    }
    for (what, least) in [("made", 30), ("late", 1), ("open", 3)] {
        assert!(
            seen.get(what).is_some_and(|count| *count >= enough(least)),
            "{what} of {seen:?}"
        );
    }
}

/// A table of daily partitions up to the end of today, an old one, and what is behind them.
fn daily(open: &str) -> String {
    format!(
        "CREATE TABLE event_log (id bigint NOT NULL AUTO_INCREMENT, logged_at timestamp NOT NULL, message text, PRIMARY KEY (id, logged_at))
         PARTITION BY RANGE (UNIX_TIMESTAMP(logged_at)) (PARTITION p20250101 VALUES LESS THAN (1735776000){open});
         SET @today = UNIX_TIMESTAMP(UTC_DATE());
         SET @text = CONCAT('ALTER TABLE event_log PARTITION BY RANGE (UNIX_TIMESTAMP(logged_at)) (PARTITION old VALUES LESS THAN (',
             @today - 150 * 86400, '), PARTITION a VALUES LESS THAN (', @today - 86400, '), PARTITION b VALUES LESS THAN (', @today, '), PARTITION c VALUES LESS THAN (', @today + 86400, '){open})');
         PREPARE made FROM @text; EXECUTE made; DEALLOCATE PREPARE made"
    )
}

fn armed(dialect: Dialect, name: &str, open: &str) -> Installation {
    files(dialect);
    let mut installation = Installation::of(dialect, &daily(open), &example_of(name, "3d"));
    installation.execute("SET SESSION time_zone = '+00:00'");
    installation.arm();
    installation
}

fn parts(installation: &mut Installation) -> i64 {
    installation.number(
        "SELECT COUNT(*) FROM information_schema.partitions WHERE table_schema = DATABASE() AND table_name = 'event_log'",
    )
}

pub(super) fn others_that_have_the_table_are_waited_for_and_then_passed_over(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-rivals", "");
    installation.execute("INSERT INTO event_log (logged_at) VALUES (UTC_TIMESTAMP() - INTERVAL 200 DAY), (UTC_TIMESTAMP())");
    let mut reader = installation.connect();
    reader
        .execute("BEGIN; SELECT COUNT(*) FROM event_log")
        .expect("a reader");
    let run = installation.run(json!({})).expect("a run that gives way");
    let not_made = only(&run)["not_made"].to_string();
    assert!(not_made.contains("LOCKED: "), "{run}");
    assert_eq!(only(&run)["made"], json!([]), "{run}");
    assert_eq!(
        only(&run)["failures"][0]["message"]
            .as_str()
            .map(|it| it.starts_with("not made in advance")),
        Some(true),
        "{run}"
    );
    assert_eq!(parts(&mut installation), 4);
    let verify = installation.call("verify", json!({})).expect("verify");
    assert!(verify.to_string().contains("which are refused"), "{verify}");
    reader.execute("COMMIT").expect("the reader ends");
    let run = installation.run(json!({})).expect("the next run");
    assert_eq!(
        only(&run)["made"].as_array().map(Vec::len),
        Some(3),
        "{run}"
    );
    assert_eq!(
        (&only(&run)["rows"], &run["status"]),
        (&json!(1), &json!("done")),
        "{run}"
    );
    let verify = installation.call("verify", json!({})).expect("verify");
    assert!(violations(&verify).is_empty(), "{verify}");
    installation
        .execute("INSERT INTO event_log (logged_at) VALUES (UTC_TIMESTAMP() + INTERVAL 3 DAY)");
}

/// Workers make them at the same moment: each partition is there once, and none of the two ends red.
pub(super) fn two_workers_make_what_one_would(dialect: Dialect) {
    files(dialect);
    let graph = Graph {
        workers: 2,
        ..example_of("event-log-pair", "3d")
    };
    let mut installation = Installation::of(dialect, &daily(""), &graph);
    installation.execute("SET SESSION time_zone = '+00:00'");
    installation.arm();
    installation
        .execute("INSERT INTO event_log (logged_at) VALUES (UTC_TIMESTAMP() - INTERVAL 200 DAY)");
    at_once(&installation, 1, 1);
    // Three more, and the empty one that takes what is older than all others.
    let parts = there(&mut installation);
    assert_eq!(parts.len(), 3 + 3 + 1, "{parts:?}");
    let failed = installation.number("SELECT COUNT(*) FROM W.run_failure");
    assert_eq!(failed, 0);
    let run = installation.run(json!({"worker": 1})).expect("a run");
    assert_eq!(only(&run)["made"], json!([]), "{run}");
}

pub(super) fn numbers_go_on_when_partitions_are_made(dialect: Dialect) {
    let mut installation = armed(
        dialect,
        "event-log-numbers",
        ", PARTITION rest VALUES LESS THAN (MAXVALUE)",
    );
    installation.execute(
            "INSERT INTO event_log (logged_at) VALUES (UTC_TIMESTAMP()), (UTC_TIMESTAMP()), (UTC_TIMESTAMP() + INTERVAL 2 DAY);
             DELETE FROM event_log WHERE id > 1",
        );
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        only(&run)["made"].as_array().map(Vec::len),
        Some(3),
        "{run}"
    );
    installation
        .execute("INSERT INTO event_log (logged_at) VALUES (UTC_TIMESTAMP() + INTERVAL 2 DAY)");
    assert_eq!(
        installation.number("SELECT MAX(id) FROM event_log"),
        4,
        "{dialect:?}"
    );
}
