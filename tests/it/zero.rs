//! Zero dates (`0000-00-00`), which MySQL and MariaDB store if the mode of a session allows it: a row with one has no time.

use serde_json::json;
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, connect, server};

tests! {
    each_server: [
        a_stamp_sets_a_clock_beyond_2037,
        a_stamp_beyond_2037_knows_which_zones_have_no_summer_any_more,
    ],
    every_server: [
        a_stamp_sets_what_has_no_time,
    ],
    mysql_or_mariadb: [
        a_zero_date_is_no_time_of_a_single_row,
        a_zero_date_is_no_end_of_a_family,
        a_zero_date_is_no_day,
        a_zero_date_is_no_end_of_a_row_of_a_partition,
        a_stamp_leaves_zero_dates_as_they_are,
        the_first_year_is_a_time,
        the_first_year_is_kept_by_a_disabled_policy,
    ],
}

const SINGLE: &str = r#"
name = "zeros"
dialects = ["mysql", "mariadb"]

[tables]
session = { key = "id bigint" }
token   = { key = "id varchar" }
mail    = { key = "id bigint" }
note    = { key = "id bigint" }
attempt = { key = "id bigint" }
day     = { key = "id bigint" }

[rules.sessions]
strategy  = "expiry"
root      = "session"
time      = "expires"

[rules.tokens]
strategy  = "expiry"
root      = "token"
time      = "expires timestamptz"

[rules.mails]
strategy  = "expiry"
root      = "mail"
time      = "expires"
fallback  = { time = "made", retention = { default = "7d", minimum = "1d", safety_lag = "1h" } }

[rules.notes]
strategy  = "orphan"
root      = "note"
needs     = ["owner -> owner.id"]
time      = "made"
retention = { default = "7d", minimum = "1d", safety_lag = "1h" }

[rules.attempts]
strategy  = "keep-last"
root      = "attempt"
keep      = { newest = 1, per = ["job bigint"], by = "made" }
time      = "made"
retention = { default = "7d", minimum = "1d", safety_lag = "1h" }

[rules.days]
strategy  = "expiry"
root      = "day"
time      = "expires"
"#;

const SINGLE_SCHEMA: &str = "
CREATE TABLE session (id bigint PRIMARY KEY, expires datetime NOT NULL, KEY (expires));
CREATE TABLE token (id varchar(20) PRIMARY KEY, expires timestamp NULL, KEY (expires));
CREATE TABLE mail (id bigint PRIMARY KEY, expires datetime(6), made datetime(6), KEY (expires, made));
CREATE TABLE owner (id bigint PRIMARY KEY);
CREATE TABLE note (id bigint PRIMARY KEY, owner bigint, made datetime(6), KEY (owner));
CREATE TABLE attempt (id bigint PRIMARY KEY, job bigint, made datetime(6), KEY (job, made, id));
CREATE TABLE day (id bigint PRIMARY KEY, expires date, KEY (expires))";

/// A table with rows whose names say what they are.
const SINGLE_ROWS: [&str; 6] = [
    "INSERT INTO session VALUES (1, ZERO), (2, PAST), (3, ZERO), (4, PAST)",
    "INSERT INTO token VALUES (1, ZERO), (2, PAST), (3, NULL), (4, PAST)",
    "INSERT INTO mail VALUES (1, ZERO, PAST), (2, PAST, NULL), (3, NULL, ZERO), (4, NULL, PAST), (5, NULL, NULL)",
    "INSERT INTO note VALUES (1, 7, ZERO), (2, 7, PAST), (3, 7, NULL), (4, 7, PAST)",
    "INSERT INTO attempt VALUES (1, 7, ZERO), (2, 7, PAST), (3, 7, NULL), (4, 7, PAST), (5, 7, PAST + INTERVAL 1 DAY)",
    "INSERT INTO day VALUES (1, ZERO), (2, PAST), (3, NULL), (4, PAST)",
];

/// Statements of a session that may write zero dates.
fn written(database: &mut Installation, statements: &[&str]) {
    database.execute("SET @mode = @@sql_mode, sql_mode = ''");
    for statement in statements {
        let said = statement
            .replace("ZERO", "'0000-00-00 00:00:00'")
            .replace("PAST", "(UTC_TIMESTAMP() - INTERVAL 40 DAY)")
            .replace("NEVER", "'2100-01-01'");
        database.execute(&said);
    }
    database.execute("SET sql_mode = @mode");
}

fn a_zero_date_is_no_time_of_a_single_row(dialect: Dialect) {
    let mut database = Installation::of(dialect, SINGLE_SCHEMA, &graph_of(SINGLE));
    written(&mut database, &SINGLE_ROWS);
    database.arm();
    for (rule, table, undated, left) in [
        ("sessions", "session", 0, ["1", "3"].as_slice()),
        ("tokens", "token", 0, &["1", "3"]),
        ("mails", "mail", 3, &["1", "3", "5"]),
        ("notes", "note", 2, &["1", "3"]),
        ("attempts", "attempt", 0, &["1", "3", "5"]),
        ("days", "day", 0, &["1", "3"]),
    ] {
        let due = format!("SELECT families FROM W.due_now WHERE rule = '{rule}'");
        assert_eq!(database.number(&due), 2, "{rule}");
        let preview = database.preview(json!({"rule": rule})).expect("a preview");
        assert_eq!(preview["rules"][0]["families"], 2, "{preview}");
        let answer = database.run(json!({"rule": rule})).expect("a run");
        assert_eq!(answer["status"], "done", "{answer}");
        let at = &answer["rules"][0];
        assert_eq!(at["families"], 2, "{answer}");
        let skipped = at["skipped"]["UNDATED_MEMBER"].as_i64().unwrap_or(0);
        assert_eq!(skipped, undated, "{answer}");
        let keys = format!("SELECT CONCAT(id, '') FROM {table} ORDER BY id");
        assert_eq!(database.texts(&keys), left, "{rule}");
        assert_eq!(database.number(&due), 0, "{rule}");
        // Who names it deletes it, whatever its time.
        let answer = database.purge(json!({"rule": rule, "key": ["1"], "force": true}));
        answer.expect("a purge");
        assert_eq!(database.texts(&keys), left[1..], "{rule}");
    }
}

const FAMILIES: &str = r#"
name = "zeros"
dialects = ["mysql", "mariadb"]

[tables]
job  = { key = "id bigint" }
log  = { key = "id bigint" }
task = { key = "id bigint" }

[rules.jobs]
strategy   = "end-time"
root       = "job"
final      = { state = 1 }
hierarchy  = ["job: parent -> id"]
end_time   = "ended"
retention  = { default = "7d", minimum = "1d", safety_lag = "1h" }

[rules.logs]
strategy  = "age"
root      = "log"
time      = "made"
retention = { default = "7d", minimum = "1d", safety_lag = "1h" }

[rules.tasks]
strategy  = "removal-time"
root      = "task"
time      = "removal"
end_time  = "ended"
tables    = ["task: root"]
retention = { minimum = "1d", safety_lag = "1h" }
"#;

const FAMILIES_SCHEMA: &str = "
CREATE TABLE job (id bigint PRIMARY KEY, parent bigint, state integer, ended datetime(6), KEY (parent), KEY (ended));
CREATE TABLE log (id bigint PRIMARY KEY, made datetime(6), KEY (made));
CREATE TABLE task (id bigint PRIMARY KEY, root bigint, removal datetime(6), ended datetime(6), KEY (root), KEY (removal))";

fn a_zero_date_is_no_end_of_a_family(dialect: Dialect) {
    let mut database = Installation::of(dialect, FAMILIES_SCHEMA, &graph_of(FAMILIES));
    written(
        &mut database,
        &[
            "INSERT INTO job VALUES (1, NULL, 1, ZERO), (2, NULL, 1, PAST), (3, NULL, 1, PAST), (4, 3, 1, ZERO), (5, NULL, 1, PAST), (6, NULL, 0, ZERO)",
            "INSERT INTO log VALUES (1, ZERO), (2, PAST), (3, NULL), (4, PAST)",
            "INSERT INTO task VALUES (1, 1, PAST, ZERO), (2, 2, PAST, PAST), (3, 3, ZERO, PAST), (4, 4, PAST, PAST), (5, 5, ZERO, ZERO), (6, 6, NULL, ZERO)",
        ],
    );
    database.arm();
    for (rule, table, skipped, due, left) in [
        (
            "jobs",
            "job",
            json!({"UNDATED_MEMBER": 3}),
            3,
            ["1", "3", "4", "6"].as_slice(),
        ),
        ("logs", "log", json!({"UNDATED_MEMBER": 2}), 2, &["1", "3"]),
        (
            "tasks",
            "task",
            json!({"NON_FINAL_MEMBER": 1, "UNDATED_MEMBER": 1}),
            3,
            &["1", "3", "5", "6"],
        ),
    ] {
        let seen = format!("SELECT families FROM W.due_now WHERE rule = '{rule}'");
        assert_eq!(database.number(&seen), due, "{rule}");
        let answer = database.run(json!({"rule": rule})).expect("a run");
        assert_eq!(answer["status"], "done", "{answer}");
        let at = &answer["rules"][0];
        assert_eq!(at["families"], 2, "{answer}");
        assert_eq!(at["skipped"], skipped, "{answer}");
        let keys = format!("SELECT CONCAT(id, '') FROM {table} ORDER BY id");
        assert_eq!(database.texts(&keys), left, "{rule}");
        assert_eq!(database.number(&seen), due - 2, "{rule}");
        let answer = database.purge(json!({"rule": rule, "key": ["1"], "force": true}));
        answer.expect("a purge");
    }
}

/// The first day that a search looks for is behind it.
fn a_zero_date_is_no_day(dialect: Dialect) {
    let spec = FAMILIES
        .replace("time      = \"made\"", "time      = \"made date\"")
        .replace("end_time   = \"ended\"", "end_time   = \"ended date\"");
    let schema = FAMILIES_SCHEMA
        .replace("made datetime(6)", "made date")
        .replace(
            "state integer, ended datetime(6)",
            "state integer, ended date",
        );
    let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
    written(
        &mut database,
        &[
            "INSERT INTO job VALUES (1, NULL, 1, ZERO), (2, NULL, 1, PAST), (3, NULL, 1, '0001-01-01')",
            "INSERT INTO log VALUES (1, ZERO), (2, PAST), (3, '0001-01-01')",
        ],
    );
    database.arm();
    for (rule, table) in [("jobs", "job"), ("logs", "log")] {
        let answer = database.run(json!({"rule": rule})).expect("a run");
        assert_eq!(answer["status"], "done", "{answer}");
        let keys = format!("SELECT CONCAT(id, '') FROM {table} ORDER BY id");
        assert_eq!(database.texts(&keys), ["1"], "{answer}");
    }
}

/// `datetime.min` and the like, which programs write for "long ago".
const FIRST: &str = "0001-01-01";

fn the_first_year_is_a_time(dialect: Dialect) {
    let first = |database: &mut Installation, statements: &[&str]| {
        for statement in statements {
            database.execute(&statement.replace("ZERO", &format!("'{FIRST}'")));
        }
    };
    let mut database = Installation::of(dialect, FAMILIES_SCHEMA, &graph_of(FAMILIES));
    let rows = [
        "INSERT INTO job VALUES (1, NULL, 1, ZERO), (2, 1, 1, ZERO), (3, NULL, 0, ZERO)",
        "INSERT INTO log VALUES (1, ZERO), (2, UTC_TIMESTAMP())",
        "INSERT INTO task VALUES (1, 1, ZERO, ZERO), (2, 2, '2100-01-01', ZERO)",
    ];
    first(&mut database, &rows);
    database.arm();
    for (rule, table, left) in [
        ("jobs", "job", "3"),
        ("logs", "log", "2"),
        ("tasks", "task", "2"),
    ] {
        goes(&mut database, rule, table, &[left]);
    }
    let mut database = Installation::of(dialect, SINGLE_SCHEMA, &graph_of(SINGLE));
    let rows = [
        "INSERT INTO session VALUES (1, ZERO), (2, '2100-01-01')",
        "INSERT INTO mail VALUES (1, ZERO, ZERO), (2, NULL, ZERO), (3, '2100-01-01', ZERO)",
        "INSERT INTO note VALUES (1, 7, ZERO), (2, 7, UTC_TIMESTAMP())",
        "INSERT INTO attempt VALUES (1, 7, ZERO), (2, 7, UTC_TIMESTAMP() - INTERVAL 40 DAY)",
        "INSERT INTO day VALUES (1, ZERO), (2, '2100-01-01')",
    ];
    first(&mut database, &rows);
    database.arm();
    for (rule, table, left) in [
        ("sessions", "session", "2"),
        ("mails", "mail", "3"),
        ("notes", "note", "2"),
        ("attempts", "attempt", "2"),
        ("days", "day", "2"),
    ] {
        goes(&mut database, rule, table, &[left]);
    }
}

/// A preview, the view of what is due and a run agree on what goes.
fn goes(database: &mut Installation, rule: &str, table: &str, left: &[&str]) {
    let due = format!("SELECT families FROM W.due_now WHERE rule = '{rule}'");
    let before = database.number(&due);
    let preview = database.preview(json!({"rule": rule})).expect("a preview");
    assert_eq!(preview["rules"][0]["families"], before, "{preview}");
    let answer = database.run(json!({"rule": rule})).expect("a run");
    assert_eq!(answer["status"], "done", "{answer}");
    assert_eq!(answer["rules"][0]["families"], before, "{answer}");
    let keys = format!("SELECT CONCAT(id, '') FROM {table} ORDER BY id");
    assert_eq!(database.texts(&keys), left, "{rule}");
    assert_eq!(database.number(&due), 0, "{rule}");
}

fn the_first_year_is_kept_by_a_disabled_policy(dialect: Dialect) {
    let spec = FAMILIES.replace(
        "end_time   = \"ended\"\nretention  = { default = \"7d\",",
        "end_time   = \"ended\"\nretention  = { per = \"kind bigint\", default = \"7d\",",
    );
    let schema =
        FAMILIES_SCHEMA.replace("parent bigint, state", "parent bigint, kind bigint, state");
    let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
    database.execute(&format!(
        "INSERT INTO job VALUES (1, NULL, 7, 1, '{FIRST}'), (2, NULL, 8, 1, '{FIRST}'), (3, 2, 7, 1, '{FIRST}')"
    ));
    let policy = json!({"rule": "jobs", "scope": "7", "retention": "30d", "enabled": false});
    database.set_policy(policy).expect("a policy");
    database.arm();
    let answer = database.purge(json!({"rule": "jobs", "key": ["1"]}));
    let answer = answer.expect("a purge");
    let why = &answer["rules"][0]["skipped"];
    assert_eq!(why, &json!({"POLICY_DISABLED": 1}), "{answer}");
    let answer = database.run(json!({"rule": "jobs"})).expect("a run");
    assert_eq!(answer["status"], "done", "{answer}");
    let left = database.texts("SELECT CONCAT(id, '') FROM job ORDER BY id");
    assert_eq!(left, ["1", "2", "3"], "{answer}");
}

const PARTITIONS: &str = r#"
name = "zeros"
dialects = ["mysql", "mariadb"]

[tables]
entry = { key = "id bigint" }

[rules.entries]
strategy  = "partition"
root      = "entry"
time      = "made"
end_time  = "ended"
retention = { default = "7d", minimum = "1d", safety_lag = "1h" }
"#;

fn a_zero_date_is_no_end_of_a_row_of_a_partition(dialect: Dialect) {
    let schema = "CREATE TABLE entry (id bigint, made datetime NOT NULL, ended datetime, PRIMARY KEY (id, made))
        PARTITION BY RANGE COLUMNS (made) (
            PARTITION p1 VALUES LESS THAN ('2020-01-01'), PARTITION p2 VALUES LESS THAN ('2021-01-01'), PARTITION p3 VALUES LESS THAN (MAXVALUE)
        )";
    let server = server(dialect);
    connect(&server.url("mysql", "root"))
        .execute("SET GLOBAL innodb_file_per_table = ON")
        .expect("a setting");
    let mut database = Installation::of(dialect, schema, &graph_of(PARTITIONS));
    written(
        &mut database,
        &["INSERT INTO entry VALUES (1, '2019-06-01', '2019-06-02'), (2, '2020-06-01', ZERO)"],
    );
    database.arm();
    let answer = database.run(json!({})).expect("a run");
    assert_eq!(answer["status"], "done", "{answer}");
    let left = database.texts("SELECT CONCAT(id, '') FROM entry");
    assert_eq!(left, ["2"], "{answer}");
}

const STAMPED: &str = r#"
name = "zeros"
dialects = ["mysql", "mariadb"]

[tables]
task = { key = "id bigint" }
note = { parents = ["root_id -> task.id"] }

[rules.tasks]
strategy  = "removal-time"
root      = "task"
time      = "removal"
end_time  = "ended"
tables    = ["note: root_id", "task: root_id"]
retention = { safety_lag = "0s" }

[ignore]
definition = "what says how long a task is kept"

[rules.tasks.stamp]
start     = "started"
per       = "kind varchar"
from      = "definition: id -> keep days"
own       = ["note: root_id"]
untouched = ["note: written"]
"#;

const STAMPED_SCHEMA: &str = "
CREATE TABLE definition (id varchar(20) PRIMARY KEY, keep integer);
CREATE TABLE task (id bigint PRIMARY KEY, root_id bigint, kind varchar(20), started datetime, ended datetime, removal datetime);
CREATE TABLE note (root_id bigint, written timestamp NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP, removal datetime)";

fn a_stamp_leaves_zero_dates_as_they_are(dialect: Dialect) {
    let mut database = Installation::of(dialect, STAMPED_SCHEMA, &graph_of(STAMPED));
    written(
        &mut database,
        &[
            "INSERT INTO definition VALUES ('a', 5)",
            "INSERT INTO task VALUES (1, 1, 'a', PAST, '2025-01-01', NULL), (2, 2, 'a', ZERO, '2025-01-02', NULL), (3, 3, 'a', PAST, ZERO, NULL)",
            "INSERT INTO note VALUES (1, ZERO, NULL), (2, '2025-01-01', NULL), (3, ZERO, NULL)",
        ],
    );
    let answer = database.call("stamp", json!({"calculated": "end", "missing": true}));
    let answer = answer.expect("a stamp");
    assert_eq!(answer["status"], "done", "{answer}");
    assert_eq!(
        database.texts("SELECT CONCAT_WS('/', t.id, n.written, t.removal, n.removal) FROM task AS t JOIN note AS n USING (root_id) ORDER BY 1"),
        [
            "1/0000-00-00 00:00:00/2025-01-06 00:00:00/2025-01-06 00:00:00",
            "2/2025-01-01 00:00:00/2025-01-07 00:00:00/2025-01-07 00:00:00",
            "3/0000-00-00 00:00:00",
        ],
        "{answer}"
    );
}

fn stamped(dialect: Dialect) -> (String, String) {
    match dialect {
        Dialect::Postgres => (
            STAMPED
                .replace("dialects = [\"mysql\", \"mariadb\"]", "")
                .replace("untouched = [\"note: written\"]", ""),
            STAMPED_SCHEMA
                .replace("NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP", "")
                .replace("datetime", "timestamp"),
        ),
        Dialect::Mysql | Dialect::Mariadb => (STAMPED.to_owned(), STAMPED_SCHEMA.to_owned()),
    }
}

/// What a zero date is to MySQL and MariaDB, `-infinity` is to PostgreSQL.
fn a_stamp_sets_what_has_no_time(dialect: Dialect) {
    let (spec, schema) = stamped(dialect);
    for hierarchical in [true, false] {
        let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
        let rows = [
            "INSERT INTO definition VALUES ('a', 5)",
            "INSERT INTO task VALUES (1, 1, 'a', '2025-01-01', '2025-01-01', ZERO), (2, 2, 'a', '2025-01-01', '2025-01-02', '2025-03-01')",
            "INSERT INTO note VALUES (1, '2025-01-01', ZERO), (2, '2025-01-01', ZERO)",
        ];
        match dialect {
            Dialect::Postgres => {
                for row in rows {
                    database.execute(&row.replace("ZERO", "'-infinity'"));
                }
            }
            Dialect::Mysql | Dialect::Mariadb => written(&mut database, &rows),
        }
        let stamp = json!({"calculated": "end", "missing": true, "hierarchical": hierarchical});
        let answer = database.call("stamp", stamp).expect("a stamp");
        assert_eq!(answer["rules"][0]["families"], 1, "{answer}");
        assert_eq!(
            database.number("SELECT COUNT(*) FROM task WHERE id = 1 AND removal = '2025-01-06'"),
            1,
            "{answer}"
        );
        assert_eq!(
            database
                .number("SELECT COUNT(*) FROM note WHERE root_id = 1 AND removal = '2025-01-06'"),
            1,
            "{answer}"
        );
        // As with NULL: it is the tasks that are asked.
        assert_eq!(
            database.number("SELECT COUNT(*) FROM note WHERE removal > '2025-01-01'"),
            1,
            "{answer}"
        );
    }
}

/// A zone whose clocks are not changed any more is as it was at last, not as it was when they were.
fn a_stamp_beyond_2037_knows_which_zones_have_no_summer_any_more(dialect: Dialect) {
    // Istanbul: winter and summer time in 2010, summer time since 2016. Sao Paulo: summer time until 2019, in January.
    let zones = "
        INSERT INTO mysql.time_zone (time_zone_id, use_leap_seconds) VALUES (21, 'N'), (22, 'N');
        INSERT INTO mysql.time_zone_name (name, time_zone_id) VALUES ('Europe/Istanbul', 21), ('America/Sao_Paulo', 22);
        INSERT INTO mysql.time_zone_transition_type (time_zone_id, transition_type_id, `Offset`, is_dst, abbreviation)
        VALUES (21, 0, 7200, 0, 'EET'), (21, 1, 10800, 0, '+03'), (22, 0, -10800, 0, '-03'), (22, 1, -7200, 1, '-02');
        INSERT INTO mysql.time_zone_transition (time_zone_id, transition_time, transition_type_id)
        VALUES (21, 1256432400, 0), (21, 1269738000, 1), (21, 1288486800, 0), (21, 1459040400, 1), (22, 1255834800, 1), (22, 1266717600, 0), (22, 1541300400, 1), (22, 1550368800, 0)";
    for (zone, clock) in [
        ("Europe/Istanbul", "2038-01-10 03:00:00"),
        ("America/Sao_Paulo", "2038-01-09 21:00:00"),
    ] {
        let (spec, schema) = stamped(dialect);
        let spec = spec.replacen("\n\n", &format!("\ntime_zone = \"{zone}\"\n\n"), 1);
        let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
        if dialect != Dialect::Postgres {
            let known = "SELECT COUNT(*) FROM mysql.time_zone_name WHERE name = 'Europe/Istanbul'";
            if database.number(known) == 0 {
                database.execute(zones);
            }
        }
        database.execute("INSERT INTO task (id, root_id) VALUES (1, 1)");
        let stamp = json!({"to": "2038-01-10T00:00:00Z", "all": true});
        let answer = database.call("stamp", stamp).expect("a stamp");
        let set = database.texts("SELECT CONCAT_WS('/', id, removal) FROM task");
        assert_eq!(set, [format!("1/{clock}")], "{zone}: {answer}");
    }
}

/// As the clock of the application will, of which the servers know no summer by then.
fn a_stamp_sets_a_clock_beyond_2037(dialect: Dialect) {
    let (spec, schema) = stamped(dialect);
    let spec = spec.replacen("\n\n", "\ntime_zone = \"Europe/Berlin\"\n\n", 1);
    let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
    database.execute("INSERT INTO task (id, root_id) VALUES (1, 1)");
    let after = match dialect {
        Dialect::Postgres => "2041-10-28 01:00:00",
        Dialect::Mysql | Dialect::Mariadb => "2041-10-28 02:00:00",
    };
    for (to, clock) in [
        ("2027-01-01T00:00:00Z", "2027-01-01 01:00:00"),
        ("2040-01-01T00:00:00Z", "2040-01-01 01:00:00"),
        ("2096-02-29T23:30:00Z", "2096-03-01 00:30:00"),
        ("9998-12-31T23:30:00Z", "9999-01-01 00:30:00"),
        ("2041-07-01T00:00:00Z", "2041-07-01 02:00:00"),
        // The clocks are put back on one of the last seven days of October, on the 27th in 2041: it is never too early.
        ("2041-10-28T00:00:00Z", after),
        ("2041-11-01T00:00:00Z", "2041-11-01 01:00:00"),
    ] {
        let stamp = json!({"to": to, "all": true});
        let answer = database.call("stamp", stamp).expect("a stamp");
        let set = database.texts("SELECT CONCAT_WS('/', id, removal) FROM task");
        assert_eq!(set, [format!("1/{clock}")], "{to}: {answer}");
    }
}
