//! Ends that are numbers: what they mean, at the limits of what a column can hold, and where they cannot stand.

use serde_json::json;
use windrow::dialect::Dialect;

use crate::acting::all_findings;
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    each_server: [
        a_search_by_numbers_goes_along_its_index,
        a_table_of_broken_numbers_is_searched_along_its_index,
    ],
    every_server: [
        a_number_of_another_kind_is_told,
        rows_go_by_the_age_that_a_number_says,
        single_rows_go_by_the_time_that_a_number_says,
        numbers_of_one_microsecond_are_none_passed_over,
        scopes_pass_over_none_either,
        rows_go_by_times_with_a_fraction,
        numbers_say_when_a_root_ended,
        what_an_application_writes_never_fails,
        a_date_is_the_end_of_its_day,
        broken_numbers_say_it_to_the_microsecond,
    ],
}

/// 2026-06-01 12:00 UTC, in seconds; and 30 days and one before that.
const AS_OF: i64 = 1_780_315_200;
const CUTOFF: i64 = AS_OF - 31 * 86_400;

fn spec(word: &str) -> String {
    format!(
        r#"
name = "epochs"
schema = "public"
database = "epochs"

[tables]
runs = {{ key = "run_id varchar" }}
metrics = {{ parents = ["run_id varchar -> runs.run_id"] }}

[rules.runs]
strategy = "end-time"
root = "runs"
final = {{ status = ["FINISHED", "FAILED"] }}
end_time = "end_time {word}"
retention = {{ default = "30d", minimum = "7d", safety_lag = "1d" }}
limits = {{ batch_families = 2 }}
"#
    )
}

fn schema(kind: &str) -> String {
    format!(
        "CREATE TABLE runs (run_id varchar(32) PRIMARY KEY, status varchar(20) NOT NULL, end_time {kind});
         CREATE TABLE metrics (run_id varchar(32) NOT NULL, value integer);"
    )
}

/// An armed installation with a run for each of these ends.
fn installed(dialect: Dialect, word: &str, kind: &str, ends: &[String]) -> Installation {
    let mut database = Installation::of(dialect, &schema(kind), &graph_of(&spec(word)));
    database.arm();
    for (at, end) in ends.iter().enumerate() {
        database.execute(&format!(
            "INSERT INTO runs VALUES ('r{at}', 'FINISHED', {end}), ('running{at}', 'RUNNING', {end});
             INSERT INTO metrics VALUES ('r{at}', 1), ('running{at}', 1)"
        ));
    }
    database
}

/// The ends of the finished runs that are left.
fn left(database: &mut Installation, count: usize) -> Vec<usize> {
    let ids = database.texts("SELECT run_id FROM runs WHERE status = 'FINISHED'");
    let ids: Vec<usize> = (0..count)
        .filter(|at| ids.contains(&format!("r{at}")))
        .collect();
    let whole = i64::try_from(ids.len() + count).expect("a few");
    assert_eq!(
        database.number("SELECT COUNT(*) FROM metrics"),
        whole,
        "with all that is theirs"
    );
    ids
}

const UNITS: [(&str, i64); 3] = [("epoch-s", 1), ("epoch-ms", 1_000), ("epoch-us", 1_000_000)];

fn numbers_say_when_a_root_ended(dialect: Dialect) {
    for (word, per_second) in UNITS {
        let at = |seconds: i64| seconds * per_second;
        let ends = [
            at(CUTOFF) - 1,
            at(CUTOFF),
            at(CUTOFF) + 1,
            at(CUTOFF - 86_400),
            at(CUTOFF - 86_400),
            at(CUTOFF - 86_400),
            1,
            at(AS_OF),
        ];
        let texts: Vec<String> = ends.iter().map(i64::to_string).collect();
        let mut database = installed(dialect, word, "bigint", &texts);
        let options = json!({ "as_of": "2026-06-01T12:00:00Z" });
        let preview = database.preview(options.clone()).expect("a preview");
        assert_eq!(preview["rules"][0]["families"], 5, "{word}: {preview}");
        let run = database.run(options).expect("a run");
        assert_eq!(run["rules"][0]["families"], 5, "{word}: {run}");
        assert_eq!(left(&mut database, ends.len()), [1, 2, 7], "{word}");
    }
    // The instant of a run need not be one of them: what ended before it is due, however short before.
    let texts = [CUTOFF, CUTOFF + 1].map(|end| end.to_string());
    let mut database = installed(dialect, "epoch-s", "bigint", &texts);
    let run = database.run(json!({ "as_of": "2026-06-01T12:00:00.000001Z" }));
    assert_eq!(run.expect("a run")["rules"][0]["families"], 1);
    assert_eq!(left(&mut database, 2), [1]);
}

/// 0 and -1 stand for what nobody knows, and the greatest number for ever.
fn what_an_application_writes_never_fails(dialect: Dialect) {
    for (word, per_second) in UNITS {
        let ends = [
            "NULL".to_owned(),
            "0".to_owned(),
            "-1".to_owned(),
            "-9223372036854775807".to_owned(),
            "9223372036854775807".to_owned(),
            (CUTOFF * per_second - 1).to_string(),
        ];
        let mut database = installed(dialect, word, "bigint", &ends);
        let options = json!({ "as_of": "2026-06-01T12:00:00Z" });
        let preview = database.preview(options.clone()).expect("a preview");
        let rule = &preview["rules"][0];
        assert_eq!(rule["families"], 1, "{word}: {preview}");
        // What has no end, and what ended in 1970 or before.
        assert_eq!(rule["skipped"], json!({ "UNDATED_MEMBER": 4 }), "{preview}");
        database.run(options).expect("a run");
        assert_eq!(left(&mut database, ends.len()), [0, 1, 2, 3, 4], "{word}");
        // Whoever names it takes it at any time.
        let purge = database.purge(json!({ "rule": "runs", "key": ["r1"] }));
        assert!(purge.is_ok(), "{purge:?}");
    }
}

fn a_number_of_another_kind_is_told(dialect: Dialect) {
    let mut database = Installation::of(dialect, &schema("integer"), &graph_of(&spec("epoch-ms")));
    let mut told = |kind: &str| {
        if kind != "integer" {
            database.execute("ALTER TABLE runs DROP COLUMN end_time");
            database.execute(&format!("ALTER TABLE runs ADD COLUMN end_time {kind}"));
        }
        let found = all_findings(&database, dialect, &spec("epoch-ms"));
        let of_types = found.iter().filter(|it| it.code == "type-differs");
        of_types.map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(told("integer"), [""; 0]);
    let bad = match dialect {
        Dialect::Postgres => "boolean",
        Dialect::Mysql | Dialect::Mariadb => "float",
    };
    assert_eq!(told("double precision"), [""; 0]);
    assert_eq!(told("decimal(20,3)"), [""; 0]);
    let found = told(bad).join("\n");
    assert!(found.contains("`runs.end_time`: is `"), "{found}");
}

fn a_search_by_numbers_goes_along_its_index(dialect: Dialect) {
    let spec = spec("epoch-ms");
    let database = Installation::of(dialect, &schema("bigint"), &graph_of(&spec));
    let found = all_findings(&database, dialect, &spec);
    let plans = found
        .iter()
        .filter(|it| it.code.contains("index") || it.code.contains("plan"));
    assert_eq!(plans.map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
}

/// The types with a fraction, and what of theirs stands for no time or for ever.
fn broken(dialect: Dialect) -> [(&'static str, Vec<&'static str>); 2] {
    match dialect {
        Dialect::Postgres => {
            let ends = vec!["NULL", "'NaN'", "'Infinity'", "'-Infinity'", "-0.5", "0"];
            [("numeric", ends.clone()), ("double precision", ends)]
        }
        Dialect::Mysql | Dialect::Mariadb => [
            (
                "decimal(65,20)",
                vec!["NULL", "1e44", "-1e44", "-0.5", "0", "253402300800000000.5"],
            ),
            (
                "double",
                vec![
                    "NULL",
                    "1e300",
                    "-1e300",
                    "-0.5",
                    "0",
                    "253402300800000000.5",
                ],
            ),
        ],
    }
}

fn broken_numbers_say_it_to_the_microsecond(dialect: Dialect) {
    for (kind, ever) in broken(dialect) {
        for (word, per_second) in UNITS {
            let mut ends: Vec<String> = ever.iter().map(|end| (*end).to_owned()).collect();
            // A microsecond before the cutoff, at it, behind it; as a decimal, so that no product rounds.
            let microseconds = CUTOFF * 1_000_000;
            let at = |off: i64| {
                let each = 1_000_000 / per_second;
                let number = microseconds + off;
                format!(
                    "{}.{:06}",
                    number / each,
                    number % each * (1_000_000 / each)
                )
            };
            ends.extend([at(0), at(1), at(-1), at(-1_500_000)]);
            ends.push("0.25".to_owned());
            let mut database = installed(dialect, word, kind, &ends);
            let options = json!({ "as_of": "2026-06-01T12:00:00Z" });
            let preview = database.preview(options.clone()).expect("a preview");
            assert_eq!(
                preview["rules"][0]["families"], 3,
                "{kind} {word}: {preview}"
            );
            let run = database.run(options).expect("a run");
            assert_eq!(run["rules"][0]["families"], 3, "{kind} {word}: {run}");
            let staying: Vec<usize> = (0..ends.len() - 3).collect();
            assert_eq!(left(&mut database, ends.len()), staying, "{kind} {word}");
        }
    }
    // Where it is no multiple of a unit, too: the number that was written from the cutoff is not before it.
    let at = |off: i64| format!("{CUTOFF}.{:06}", 123_456 + off);
    for (kind, _) in broken(dialect) {
        let ends = [at(1), at(0), at(-1)];
        let mut database = installed(dialect, "epoch-s", kind, &ends);
        let run = database.run(json!({ "as_of": "2026-06-01T12:00:00.123456Z" }));
        assert_eq!(run.expect("a run")["rules"][0]["families"], 1, "{kind}");
        assert_eq!(left(&mut database, 3), [0, 1], "{kind}");
    }
}

/// Ends that differ by less than a microsecond, in an order that is not that of the keys: a batch may end between any two of them, and
/// some stay in the way.
fn tied() -> Vec<String> {
    (0..12)
        .map(|at| {
            let microsecond = at / 9;
            format!("{}.00000{microsecond}{}", CUTOFF - 1000, 40 - 3 * (at % 9))
        })
        .collect()
}

fn numbers_of_one_microsecond_are_none_passed_over(dialect: Dialect) {
    for (kind, _) in broken(dialect) {
        let ends = tied();
        let mut database = installed(dialect, "epoch-s", kind, &ends);
        for held in ["r2", "r5", "r11"] {
            database
                .set_hold(json!({ "key": held, "reason": "audit" }))
                .expect("a hold");
        }
        let options = json!({ "as_of": "2026-06-01T12:00:00Z" });
        let preview = database.preview(options.clone()).expect("a preview");
        assert_eq!(preview["rules"][0]["families"], 9, "{kind}: {preview}");
        assert_eq!(
            preview["rules"][0]["skipped"]["HELD"], 3,
            "{kind}: {preview}"
        );
        let run = database.run(options).expect("a run");
        assert_eq!(run["rules"][0]["families"], 9, "{kind}: {run}");
        assert_eq!(run["rules"][0]["skipped"]["HELD"], 3, "{kind}: {run}");
        assert_eq!(left(&mut database, ends.len()), [2, 5, 11], "{kind}");
    }
}

fn scopes_pass_over_none_either(dialect: Dialect) {
    for (kind, _) in broken(dialect) {
        let spec = spec("epoch-s").replace(
            "safety_lag = \"1d\" }",
            "safety_lag = \"1d\", per = \"team varchar\", opt_in = true }",
        );
        let schema = format!(
            "CREATE TABLE runs (run_id varchar(32) PRIMARY KEY, status varchar(20) NOT NULL, end_time {kind}, team varchar(9) NOT NULL);
             CREATE TABLE metrics (run_id varchar(32) NOT NULL, value integer);"
        );
        let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
        database.arm();
        // More than a search reads of a scope at a time, in three microseconds.
        for at in 0..60 {
            let end = format!("{}.00000{}{}", CUTOFF - 1000, at / 25, 45 - at % 25);
            database.execute(&format!(
                "INSERT INTO runs VALUES ('a{at}', 'FINISHED', {end}, 'a'), ('b{at}', 'FINISHED', {end}, 'b'), ('c{at}', 'FINISHED', {end}, 'c')"
            ));
        }
        for team in ["a", "b"] {
            let policy = json!({ "scope": team, "retention": "30d" });
            database.set_policy(policy).expect("a policy");
        }
        for held in ["a3", "a30", "b7", "b40"] {
            database
                .set_hold(json!({ "key": held, "reason": "audit" }))
                .expect("a hold");
        }
        let run = database.run(json!({ "as_of": "2026-06-01T12:00:00Z" }));
        let run = run.expect("a run");
        assert_eq!(run["rules"][0]["families"], 116, "{kind}: {run}");
        let left = database.number("SELECT COUNT(*) FROM runs WHERE team <> 'c'");
        assert_eq!(left, 4, "{kind}");
    }
}

fn a_table_of_broken_numbers_is_searched_along_its_index(dialect: Dialect) {
    for (kind, _) in broken(dialect) {
        let rules = [
            spec("epoch-s"),
            spec("epoch-ms").replace(
                "safety_lag = \"1d\" }",
                "safety_lag = \"1d\", per = \"status varchar\", opt_in = true }",
            ),
        ];
        for spec in rules {
            let mut database = Installation::of(dialect, &schema(kind), &graph_of(&spec));
            for part in 0..8 {
                let rows: Vec<String> = (0..500)
                    .map(|at| {
                        format!("('r{part}-{at}', 'FINISHED', {CUTOFF} + {part} * 500 + {at}.25)")
                    })
                    .collect();
                database.execute(&format!("INSERT INTO runs VALUES {}", rows.join(", ")));
            }
            let found = all_findings(&database, dialect, &spec);
            let told = found.iter().filter(|it| {
                it.code.contains("index") || it.code.contains("scan") || it.code == "type-differs"
            });
            let told: Vec<String> = told.map(ToString::to_string).collect();
            assert_eq!(told, [""; 0], "{kind}");
        }
    }
}

/// Rows of one table, by each strategy.
fn rows_go_by_times_with_a_fraction(dialect: Dialect) {
    let aged = format!("time = \"at epoch-s\"\n{RETENTION}");
    let rules = [
        (format!("strategy = \"age\"\n{aged}"), CUTOFF, true),
        (
            "strategy = \"expiry\"\ntime = \"at epoch-s\"".to_owned(),
            AS_OF,
            false,
        ),
        (
            format!("strategy = \"orphan\"\nneeds = [\"other -> other.id\"]\n{aged}"),
            CUTOFF,
            true,
        ),
        (
            format!(
                "strategy = \"keep-last\"\nkeep = {{ newest = 1, per = \"kind varchar\", by = \"id bigint\" }}\n{aged}"
            ),
            CUTOFF,
            true,
        ),
    ];
    for (kind, ever) in broken(dialect) {
        for (rule, instant, undated) in &rules {
            let mut times: Vec<String> = ever.iter().map(|time| (*time).to_owned()).collect();
            times.extend(["0", "000001", "0000012"].map(|off| format!("{instant}.{off}")));
            let goes = ["999999", "9999990000", "9999985", "9999983", "9999981", "5"];
            times.extend(goes.map(|off| format!("{}.{off}", instant - 1)));
            let numbers = Numbers {
                times,
                goes: goes.len(),
                undated: *undated,
            };
            takes_those_of(dialect, kind, rule, &rows(rule), &numbers);
        }
    }
}

/// Rows of one table whose time is a number, as many systems keep it.
fn rows(rule: &str) -> String {
    format!(
        r#"
name = "epochs"
schema = "public"
database = "epochs"

[tables]
event = {{ key = "id bigint" }}

[rules.events]
root = "event"
{rule}
limits = {{ batch_rows = 2 }}
"#
    )
}

const RETENTION: &str = "retention = { default = \"30d\", minimum = \"7d\", safety_lag = \"1d\" }";

/// What a run must make of rows with these numbers, all of one group: those that stay by their time, or want of one, come first.
struct Numbers {
    times: Vec<String>,
    goes: usize,
    undated: bool,
}

/// Whole numbers.
fn takes_those_that_are_due(dialect: Dialect, word: &str, spec: &str, numbers: &Numbers) {
    takes_those_of(dialect, "bigint", word, spec, numbers);
}

/// An installation with these rows, of which one that would go is held; a run takes the others.
fn takes_those_of(dialect: Dialect, kind: &str, word: &str, spec: &str, numbers: &Numbers) {
    let schema = format!(
        "CREATE TABLE event (id bigint PRIMARY KEY, at {kind}, kind varchar(10) NOT NULL, other bigint);
         CREATE TABLE other (id bigint PRIMARY KEY)"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(spec));
    database.arm();
    let count = numbers.times.len();
    for (id, time) in numbers.times.iter().enumerate() {
        database.execute(&format!(
            "INSERT INTO event VALUES ({id}, {time}, 'step', 7)"
        ));
    }
    // The newest of the group of a rule that keeps it.
    database.execute("INSERT INTO event VALUES (99, NULL, 'step', NULL)");
    let held = count - 1;
    database
        .set_hold(json!({ "key": held.to_string(), "reason": "audit" }))
        .expect("a hold");
    let options = json!({ "as_of": "2026-06-01T12:00:00Z" });
    let preview = database.preview(options.clone()).expect("a preview");
    let rule = &preview["rules"][0];
    let goes = json!({ "event": numbers.goes - 1 });
    assert_eq!(rule["tables"], goes, "{word}: {preview}");
    assert_eq!(rule["skipped"]["HELD"], 1, "{word}: {preview}");
    let undated = rule["skipped"].get("UNDATED_MEMBER").is_some();
    assert_eq!(undated, numbers.undated, "{word}: {preview}");
    let run = database.run(options).expect("a run");
    assert_eq!(run["rules"][0]["tables"], goes, "{word}: {run}");
    let left = database.texts("SELECT CAST(id AS char(2)) FROM event WHERE id < 99 ORDER BY id");
    let left: Vec<&str> = left.iter().map(|id| id.trim()).collect();
    let mut stays: Vec<String> = (0..count - numbers.goes).map(|id| id.to_string()).collect();
    stays.push(held.to_string());
    let order = |mut ids: Vec<String>| {
        ids.sort();
        ids
    };
    let left = order(left.into_iter().map(str::to_owned).collect());
    assert_eq!(left, order(stays), "{word}");
    // Nothing is left that a further run would take, and whoever names a row takes it whatever its time.
    let again = database.run(json!({ "as_of": "2026-06-01T12:00:00Z" }));
    let again = again.expect("a run");
    assert_eq!(
        again["rules"][0]["tables"],
        json!({ "event": 0 }),
        "{again}"
    );
    let told: Vec<String> = all_findings(&database, dialect, spec)
        .iter()
        .filter(|found| ["type-differs", "seq-scan", "missing-index"].contains(&found.code))
        .map(ToString::to_string)
        .collect();
    assert_eq!(told, [""; 0], "{word}");
}

/// Whether a rule takes rows with these dates, and none of those that stay; by `as_of`.
fn takes_days(dialect: Dialect, rule: &str, as_of: &str, stays: &[&str], goes: &[&str]) {
    let by_end = rule.contains("end-time");
    let spec = rows(rule).replace(
        "schema = \"public\"",
        "schema = \"public\"\ntime_zone = \"Asia/Tokyo\"",
    );
    let spec = if by_end {
        spec.replace("batch_rows", "batch_families")
    } else {
        spec
    };
    let schema = "CREATE TABLE event (id bigint PRIMARY KEY, at date, kind varchar(10) NOT NULL, other bigint);
         CREATE TABLE other (id bigint PRIMARY KEY)";
    let mut database = Installation::of(dialect, schema, &graph_of(&spec));
    database.arm();
    for (id, day) in stays.iter().chain(goes).enumerate() {
        let day = match *day {
            "NULL" => "NULL".to_owned(),
            day => format!("'{day}'"),
        };
        database.execute(&format!(
            "INSERT INTO event VALUES ({id}, {day}, 'step', 7)"
        ));
    }
    database.execute("INSERT INTO event VALUES (99, NULL, 'step', NULL)");
    let options = json!({ "as_of": as_of });
    let rows = if rule.contains("end-time") {
        "families"
    } else {
        "rows"
    };
    let preview = database.preview(options.clone()).expect("a preview");
    assert_eq!(preview["rules"][0][rows], goes.len(), "{rule}: {preview}");
    let run = database.run(options).expect("a run");
    assert_eq!(
        run["rules"][0]["tables"]["event"],
        goes.len(),
        "{rule}: {run}"
    );
    let staying = format!("SELECT COUNT(*) FROM event WHERE id < {}", stays.len());
    let count = i64::try_from(stays.len()).expect("a few");
    assert_eq!(database.number(&staying), count, "{rule}");
    let told: Vec<String> = all_findings(&database, dialect, &spec)
        .iter()
        .filter(|found| ["type-differs", "seq-scan", "missing-index"].contains(&found.code))
        .map(ToString::to_string)
        .collect();
    assert_eq!(told, [""; 0], "{rule}");
}

/// Of what happened on a day nobody knows when: the retention counts from its end, in the zone of the application.
fn a_date_is_the_end_of_its_day(dialect: Dialect) {
    let mut ever = vec!["NULL", "9999-12-31", "2026-06-01"];
    if dialect == Dialect::Postgres {
        ever.extend(["infinity", "5874897-12-31"]);
    }
    let aged = format!("time = \"at date\"\n{RETENTION}");
    let ended = format!(
        "strategy = \"end-time\"\nfinal = {{ kind = \"step\" }}\nend_time = \"at date\"\n{RETENTION}"
    );
    let rules = [
        format!("strategy = \"age\"\n{aged}"),
        format!("strategy = \"orphan\"\nneeds = [\"other -> other.id\"]\n{aged}"),
        format!(
            "strategy = \"keep-last\"\nkeep = {{ newest = 1, per = \"kind varchar\", by = \"id bigint\" }}\n{aged}"
        ),
        ended,
    ];
    // Half past midnight of 2 June in Tokyo, and the instant at which that day begins.
    let instants = [
        ("2026-06-01T15:30:00Z", "2026-05-02", "2026-05-01"),
        ("2026-06-01T15:00:00Z", "2026-05-01", "2026-04-30"),
    ];
    for rule in &rules {
        for (as_of, stays, goes) in instants {
            let mut days = ever.clone();
            days.push(stays);
            takes_days(
                dialect,
                rule,
                as_of,
                &days,
                &[goes, "2026-01-01", "1000-01-02"],
            );
        }
    }
    let expiry = "strategy = \"expiry\"\ntime = \"at date\"";
    for (as_of, stays, goes) in [
        ("2026-06-02T15:30:00Z", "2026-06-03", "2026-06-02"),
        ("2026-06-02T15:00:00Z", "2026-06-02", "2026-06-01"),
    ] {
        let days = ["NULL", "9999-12-31", stays];
        takes_days(
            dialect,
            expiry,
            as_of,
            &days,
            &[goes, "2026-01-01", "1000-01-02"],
        );
    }
}

/// Numbers on both sides of an instant, and what stands for none.
fn around(instant: i64, per_second: i64, undated: bool) -> Numbers {
    let at = instant * per_second;
    Numbers {
        times: vec![
            "NULL".to_owned(),
            "0".to_owned(),
            "-1".to_owned(),
            i64::MIN.to_string(),
            i64::MAX.to_string(),
            at.to_string(),
            (at + 1).to_string(),
            // These go, but for the last one.
            (at - 1).to_string(),
            (at - 1).to_string(),
            (at - 86_400 * per_second).to_string(),
            "1".to_owned(),
            (at - 1).to_string(),
        ],
        goes: 5,
        undated,
    }
}

fn rows_go_by_the_age_that_a_number_says(dialect: Dialect) {
    for (word, per_second) in UNITS {
        let spec = rows(&format!(
            "strategy = \"age\"\ntime = \"at {word}\"\n{RETENTION}"
        ));
        takes_those_that_are_due(dialect, word, &spec, &around(CUTOFF, per_second, true));
    }
}

fn single_rows_go_by_the_time_that_a_number_says(dialect: Dialect) {
    let time = |word: &str| format!("time = \"at {word}\"");
    for (word, per_second) in UNITS {
        let expiry = rows(&format!("strategy = \"expiry\"\n{}", time(word)));
        takes_those_that_are_due(dialect, word, &expiry, &around(AS_OF, per_second, false));
    }
    let (word, per_second) = UNITS[1];
    let aged = format!("{}\n{RETENTION}", time(word));
    for rule in [
        format!("strategy = \"orphan\"\nneeds = [\"other -> other.id\"]\n{aged}"),
        format!(
            "strategy = \"keep-last\"\nkeep = {{ newest = 1, per = \"kind varchar\", by = \"id bigint\" }}\n{aged}"
        ),
    ] {
        let numbers = around(CUTOFF, per_second, true);
        takes_those_that_are_due(dialect, word, &rows(&rule), &numbers);
    }
}
