//! What leaves the archive: a round trip that is equal byte by byte, families, pruning, dropping, and files.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::archive::refused;
use crate::harness::tests;
use crate::rights::user;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, Session, call};

tests! {
    every_server: [
        what_was_archived_comes_back_or_goes_for_good,
    ],
    on_postgres: [
        an_archive_is_pruned_whatever_the_clock_of_the_session_shows,
    ],
}

pub(crate) const SPEC: &str = r#"
name = "unarchive"
archive_days = 400

[tables]
node  = { key = "id bigint" }
leaf  = { key = "id bigint", parents = ["node_id -> node.id"] }
note  = { parents = ["leaf_id -> leaf.id", "other_id -> leaf.id"], with = "any" }
tie   = { parents = ["upper_id -> node.id", "lower_id -> node.id"], with = "any" }
task  = { key = "id bigint" }
event = { parents = ["root_id -> task.id"] }
mail  = { key = "id bigint" }
page  = { parents = ["mail_id -> mail.id"] }
lost  = { key = "id bigint" }
line  = { key = "id bigint" }
shot  = { key = "name varchar, part integer" }

[rules.nodes]
strategy   = "end-time"
root       = "node"
candidates = { kind = 1 }
final      = { state = "done" }
end_time   = "ended"
hierarchy  = ["node: parent_id -> id", "tie: upper_id -> lower_id"]
retention  = { default = "30d" }
archive    = true

[rules.tasks]
strategy  = "removal-time"
root      = "task"
time      = "remove_at"
tables    = ["event: root_id", "task: root_id"]
unit      = "window"
retention = { safety_lag = "0s" }
archive   = true

[rules.mails]
strategy  = "expiry"
root      = "mail"
time      = "expires"
archive   = true

[rules.lost]
strategy  = "orphan"
root      = "lost"
needs     = ["node_id -> node.id"]
at_once   = true
archive   = true

[rules.lines]
strategy  = "age"
root      = "line"
time      = "written"
retention = { default = "30d" }
archive   = true

[rules.shots]
strategy  = "keep-last"
root      = "shot"
keep      = { newest = 1, per = "name varchar", by = "part integer" }
archive   = true
"#;

/// The tables, and how many rows of each go.
const TABLES: [(&str, usize); 11] = [
    ("node", 6),
    ("leaf", 6),
    ("note", 5),
    ("tie", 2),
    ("task", 4),
    ("event", 3),
    ("mail", 2),
    ("page", 4),
    ("lost", 2),
    ("line", 1),
    ("shot", 2),
];

pub(crate) fn graph() -> Graph {
    graph_of(SPEC)
}

/// Values that are easily changed on the way, a number that the table gives, a generated column, and foreign keys, one of
/// them to the table itself.
pub(crate) fn schema(dialect: Dialect) -> String {
    let (time, text, bytes, numbered, more) = match dialect {
        Dialect::Postgres => (
            "timestamp",
            "text",
            "bytea",
            "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
            "list integer[], doc jsonb, raw json, tag uuid, at timestamptz, span interval, half real, whole double precision, big numeric, day date, code char(5), size integer GENERATED ALWAYS AS (char_length(note)) STORED",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "datetime(6)",
            "text CHARACTER SET utf8mb4",
            "varbinary(40)",
            "bigint AUTO_INCREMENT PRIMARY KEY",
            "bits bit(9), mood enum('', 'good', 'b,ad'), marks set('a', 'b', 'c'), doc json, at timestamp(6) NULL, span time(3), half float, whole double, big decimal(60, 20), day date, age year, code char(5), old text CHARACTER SET latin1, lump longblob, size integer GENERATED ALWAYS AS (char_length(note)) VIRTUAL, twice bigint GENERATED ALWAYS AS (node_id * 2) STORED",
        ),
    };
    format!(
        "CREATE TABLE node (id bigint PRIMARY KEY, parent_id bigint, kind integer, state varchar(20), ended {time}, FOREIGN KEY (parent_id) REFERENCES node (id));
CREATE TABLE leaf (id {numbered}, node_id bigint NOT NULL, note {text}, data {bytes}, {more}, FOREIGN KEY (node_id) REFERENCES node (id));
CREATE TABLE note (leaf_id bigint, other_id bigint, body text, FOREIGN KEY (leaf_id) REFERENCES leaf (id), FOREIGN KEY (other_id) REFERENCES leaf (id));
CREATE TABLE tie (upper_id bigint, lower_id bigint, FOREIGN KEY (upper_id) REFERENCES node (id), FOREIGN KEY (lower_id) REFERENCES node (id));
CREATE TABLE task (id bigint PRIMARY KEY, root_id bigint, remove_at {time});
CREATE TABLE event (root_id bigint, remove_at {time}, payload {bytes});
CREATE TABLE mail (id bigint PRIMARY KEY, expires {time}, body text);
CREATE TABLE page (mail_id bigint, body {bytes}, FOREIGN KEY (mail_id) REFERENCES mail (id));
CREATE TABLE lost (id bigint PRIMARY KEY, node_id bigint);
CREATE TABLE line (id bigint PRIMARY KEY, written {time}, body text);
CREATE TABLE shot (name varchar(40), part integer, body text, PRIMARY KEY (name, part));
"
    )
}

/// Families of nodes: 1 with 11 below and 12 below that, and 13 by a relation; 2 alone; 3 with 31, which is busy, so that it
/// stays; 4 alone.
pub(crate) fn load(installation: &mut Installation) {
    let (some, none, leaves) = match installation.dialect {
        Dialect::Postgres => (
            "'\\x00ff0a275c2c22'",
            "''::bytea",
            "INSERT INTO leaf (id, node_id, note, data, list, doc, raw, tag, at, span, half, whole, big, day, code) OVERRIDING SYSTEM VALUE VALUES
    (0, 1, 'it''s \"quoted\", two
lines', '\\x00ff0a275c2c22', ARRAY[1, NULL, 3], '{\"b\": [1, null], \"a\": \"ü\"}', '{\"z\":  1, \"z\": 2}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2020-10-25 02:30:00.5+02', '1 mon -3 days 04:05:06.789', 0.1, 1e-300, 12345678901234567890.123456789, '2020-02-29', 'ab'),
    (1, 11, '', '', '{}', 'null', 'null', NULL, '294276-12-31 23:59:59.999999+00', '-178000000 years', '-Infinity', 'NaN', 'NaN', '5874897-12-31', ''),
    (2, 12, NULL, NULL, NULL, NULL, NULL, NULL, '-infinity', NULL, 3.4e38, -0.1, -0.000000001, '4713-01-01 BC', NULL),
    (9223372036854775807, 13, '漢字 😀 e\u{301}', NULL, '[0:1]={5,6}', '[]', '[]', NULL, 'infinity', NULL, NULL, 1.7976931348623157e308, NULL, 'infinity', 'abcde'),
    (-5, 2, '\\.', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (7, 4, 'NULL', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (8, 3, 'stays', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);\n",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "X'00ff0a275c2c22'",
            "''",
            "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO');
INSERT INTO leaf (id, node_id, note, data, bits, mood, marks, doc, at, span, half, whole, big, day, age, code, old, lump) VALUES
    (0, 1, 'it''s \"quoted\", two
lines', X'00ff0a275c2c22', b'101010101', 'b,ad', 'a,c', '{\"b\": [1, null], \"a\": \"ü\"}', '2020-10-25 00:30:00.5', '-838:59:58.999', 0.1, 1e-300, 12345678901234567890.12345678901234567891, '2020-02-29', 2155, 'ab', 'ä', X'00'),
    (1, 11, '', '', b'0', '', '', 'null', '1970-01-01 00:00:01', '838:59:59', 3.4e38, -1.7976931348623157e308, -0.00000000000000000001, '1000-01-01', 1901, '', '', ''),
    (2, 12, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '9999-12-31', NULL, NULL, NULL, NULL),
    (9223372036854775800, 13, '漢字 😀 é', NULL, NULL, NULL, NULL, '[]', '2038-01-19 03:14:07.999999', NULL, NULL, NULL, NULL, NULL, NULL, 'abcde', NULL, X'ff'),
    (-5, 2, '\\.', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (7, 4, 'NULL', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (8, 3, 'stays', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);\n",
        ),
    };
    let sql = format!(
        "INSERT INTO node VALUES (1, NULL, 1, 'done', '2020-01-01'), (2, NULL, 1, 'done', '2020-01-02'), (3, NULL, 1, 'done', '2020-01-03'), (4, NULL, 1, 'done', '2020-01-04'),
    (11, 1, 0, 'done', '2020-01-01'), (12, 11, 0, 'done', '2020-01-01'), (13, NULL, 0, 'done', '2020-01-01'), (31, 3, 0, 'busy', NULL);
INSERT INTO tie VALUES (1, 13), (12, 12), (3, 31);
{leaves}INSERT INTO note VALUES (0, 1, ''), (2, NULL, NULL), (NULL, 1, 'x'), (-5, -5, 'same'), (7, 7, NULL), (8, NULL, 'stays');
INSERT INTO task VALUES (1, 1, '2020-01-01'), (5, 1, '2020-01-01'), (2, 2, '2020-01-02'), (6, NULL, '2020-01-02'), (3, 3, '2999-01-01');
INSERT INTO event VALUES (1, '2020-01-01', {some}), (1, '2020-01-01', {none}), (NULL, '2020-01-01', NULL), (3, '2999-01-01', {some});
INSERT INTO mail VALUES (1, '2020-01-01', ''), (2, '2020-01-02', NULL), (3, NULL, 'stays');
INSERT INTO page VALUES (1, {some}), (1, {none}), (2, {some}), (2, NULL), (3, {some});
INSERT INTO lost VALUES (1, 77), (2, 78), (3, 3);
INSERT INTO line VALUES (1, '2020-01-01', 'old'), (2, '2999-01-01', 'new');
INSERT INTO shot VALUES ('a', 1, NULL), ('a', 2, ''), ('a, \"b\"', 1, 'x'), ('a, \"b\"', 2, 'y');
"
    );
    installation.execute(&sql);
}

/// Every row, byte by byte: by table, in an order of its own.
pub(crate) type Rows = BTreeMap<String, Vec<String>>;

pub(crate) fn contents(installation: &mut Installation, archive: bool) -> Rows {
    let prefix = if archive { "W.archive_" } else { "" };
    let mut rows = Rows::new();
    for (table, _) in TABLES {
        let texts = installation.bytes(table, &format!("{prefix}{table}"));
        rows.insert(table.to_owned(), texts);
    }
    rows
}

fn counts(rows: &Rows) -> Vec<usize> {
    TABLES.iter().map(|(table, _)| rows[*table].len()).collect()
}

fn all() -> Vec<usize> {
    TABLES.iter().map(|(_, rows)| *rows).collect()
}

/// A run that must end well; its number.
fn run(installation: &mut Installation) -> i64 {
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    run["run"].as_i64().expect("a number")
}

/// Calls a routine in another's session.
fn by(
    session: &mut Session,
    windrow: &Installation,
    routine: &str,
    options: Value,
) -> anyhow::Result<Value> {
    call(
        session,
        windrow.dialect,
        &windrow.control,
        routine,
        &options,
    )
}

fn what_was_archived_comes_back_or_goes_for_good(dialect: Dialect) {
    let mut windrow = Installation::of(dialect, &schema(dialect), &graph());
    load(&mut windrow);
    windrow.arm();
    let whole = contents(&mut windrow, false);
    let first = run(&mut windrow);
    let left = contents(&mut windrow, false);
    assert_eq!(counts(&contents(&mut windrow, true)), all(), "{left:?}");

    let list = windrow.call("archive_list", json!({})).expect("a list");
    let total: usize = all().iter().sum();
    assert_eq!(list["rows"], total, "{list}");
    assert_eq!(list["runs"][0]["run"], first);
    assert_eq!(list["runs"][0]["tables"]["note"], 5);
    assert_eq!(list["runs"][0]["rules"].as_array().map(Vec::len), Some(6));

    what_makes_no_sense_is_refused(&mut windrow, first);
    assert_eq!(contents(&mut windrow, false), left);

    // A family by its key: with what is below, and below that, and nothing else.
    let some = json!({"run": first, "rule": "nodes", "key": [1]});
    let back = windrow.call("archive_restore", some).expect("a family");
    assert_eq!(
        back["tables"],
        json!({"node": 4, "leaf": 4, "note": 3, "tie": 2}),
        "{back}"
    );
    assert_eq!((&back["holds"], &back["not_held"]), (&json!(1), &json!(0)));
    let family = contents(&mut windrow, false);
    assert_eq!(family["leaf"].len(), 5);
    assert!(family["leaf"].iter().all(|row| whole["leaf"].contains(row)));
    for (rule, key, tables) in [
        ("tasks", json!(1), json!({"task": 2, "event": 2})),
        ("shots", json!(["a", 1]), json!({"shot": 1})),
    ] {
        let some = json!({"run": first, "rule": rule, "key": [key]});
        let back = windrow.call("archive_restore", some).expect("a family");
        assert_eq!(back["tables"], tables, "{back}");
    }

    // A key that exists again undoes it all.
    let before = contents(&mut windrow, false);
    windrow.execute("INSERT INTO mail VALUES (2, NULL, 'again')");
    let error = refused(windrow.call("archive_restore", json!({"run": first})));
    assert!(
        error.contains("table mail") && error.contains('2'),
        "{error}"
    );
    windrow.execute("DELETE FROM mail WHERE body = 'again'");
    assert_eq!(contents(&mut windrow, false), before);

    // The rest of the run, by who may neither read nor write the tables: all is as it was, and stays.
    let mut operator = user(&mut windrow, Some("operator"));
    let mut auditor = user(&mut windrow, Some("auditor"));
    let list = by(
        &mut auditor,
        &windrow,
        "archive_list",
        json!({"run": first}),
    );
    assert_eq!(list.expect("a list")["runs"][0]["restored"], 18);
    let rest = json!({"run": first});
    let denied = by(&mut auditor, &windrow, "archive_restore", rest.clone());
    assert!(refused(denied).contains("denied"));
    let back = by(&mut operator, &windrow, "archive_restore", rest).expect("the rest");
    assert_eq!(back["not_archived"], json!([]), "{back}");
    assert_eq!(back["not_held"], 1, "{back}");
    assert_eq!(contents(&mut windrow, false), whole);
    assert_eq!(contents(&mut windrow, true).values().flatten().count(), 0);
    let noted = windrow.number(&format!(
        "SELECT sum(table_rows) FROM W.unarchived WHERE run_id = {first} AND action = 'RESTORED'"
    ));
    assert_eq!(usize::try_from(noted), Ok(total));
    let second = run(&mut windrow);
    let deleted = windrow.number(&format!(
        "SELECT sum(deleted_rows) FROM W.run_rule WHERE run_id = {second}"
    ));
    assert_eq!(deleted, 1, "an event of no family");
    // Without the holds it goes once more, and comes back once more.
    windrow.execute("DELETE FROM W.hold");
    let third = run(&mut windrow);
    assert_eq!(contents(&mut windrow, false), left);
    for number in [third, second] {
        let back = windrow.call("archive_restore", json!({"run": number}));
        back.expect("all of it");
    }
    assert_eq!(contents(&mut windrow, false), whole);
    what_is_old_goes_for_good(&mut windrow, &mut operator);
}

fn what_makes_no_sense_is_refused(windrow: &mut Installation, run: i64) {
    for (options, word) in [
        (json!({}), "run"),
        (json!({"run": 99}), "99"),
        (json!({"run": "x"}), "not the number"),
        (json!({"run": run, "keys": [1]}), "unknown option"),
        (json!({"run": run, "rule": "nodes"}), "for keys"),
        (json!({"run": run, "rule": "nodes", "key": 1}), "list"),
        (json!({"run": run, "rule": "nodes", "key": [1, 99]}), "99"),
        // It belongs to another family.
        (json!({"run": run, "rule": "nodes", "key": [11]}), "11"),
        (json!({"run": run, "max_rows": 3}), "max_rows"),
        (json!({"run": run, "max_rows": 0}), "max_rows"),
    ] {
        let error = refused(windrow.call("archive_restore", options.clone()));
        assert!(error.contains(word), "{options}: {error}");
    }
    for (options, word) in [
        (json!({}), "run and older_than"),
        (
            json!({"run": run, "older_than": "1d"}),
            "run and older_than",
        ),
        (json!({"run": 99}), "99"),
        (json!({"older_than": "soon"}), "soon"),
    ] {
        let error = refused(windrow.call("archive_drop", options.clone()));
        assert!(error.contains(word), "{options}: {error}");
    }
}

/// Where it is summer now and was winter then, or the other way round, a day of the calendar is no day of the archive.
fn an_archive_is_pruned_whatever_the_clock_of_the_session_shows() {
    let mut windrow = Installation::of(
        Dialect::Postgres,
        &schema(Dialect::Postgres),
        &graph_of(SPEC),
    );
    windrow.arm();
    windrow.execute("INSERT INTO mail VALUES (1, '2020-01-01', 'x')");
    run(&mut windrow);
    for zone in ["Europe/Berlin", "Australia/Sydney", "UTC"] {
        windrow.execute(&format!("SET timezone = '{zone}'"));
        for days in [90, 180, 270] {
            let setting = json!({"rule": "nodes", "name": "archive_days", "value": days});
            windrow.call("set_setting", setting).expect("a setting");
            let done = windrow.run(json!({})).expect("a run that prunes");
            assert_eq!(done["status"], "done", "{zone}, {days}: {done}");
            let last = windrow.number("SELECT max(run_id) FROM W.run");
            let cutoff = format!(
                "SELECT (extract(epoch FROM clock_timestamp() - W.archive_cutoff({last})) / 3600)::bigint"
            );
            assert_eq!(windrow.number(&cutoff), days * 24, "{zone}");
            // Somebody makes them more days meanwhile, or says that nothing is pruned.
            let step = format!(
                "SELECT count(*) FROM W.archive_step({last}, NULL, clock_timestamp() - interval '1 hour', 0, 0, 0) AS s
                 WHERE s.io_run IS NULL AND s.o_rows = 0"
            );
            assert_eq!(windrow.number(&step), 1, "{zone}");
        }
    }
    assert_eq!(windrow.number("SELECT count(*) FROM W.archive_mail"), 1);
}

/// Retention of the archive and of the ledger; a drop; files.
fn what_is_old_goes_for_good(windrow: &mut Installation, operator: &mut Session) {
    windrow.execute("DELETE FROM W.hold");
    let first = run(windrow);
    let total: i64 = all()
        .iter()
        .map(|rows| i64::try_from(*rows).expect("small"))
        .sum();
    files_hold_every_row(windrow, first);

    // The ledger keeps a run as long as rows of it are archived.
    let setting = |windrow: &mut Installation, name: &str, days: Value| {
        let options = json!({"rule": "nodes", "name": name, "value": days});
        windrow.call("set_setting", options).expect("a setting");
    };
    setting(windrow, "ledger_days", json!(1));
    let old = "2020-01-01 00:00:00";
    windrow.execute(&format!("UPDATE W.run SET finished_at = '{old}'"));
    let known = format!("SELECT count(*) FROM W.run WHERE run_id = {first}");
    run(windrow);
    assert_eq!(windrow.number(&known), 1);
    assert_eq!(windrow.number("SELECT count(*) FROM W.kept_run"), 1);

    // What is young enough stays, and where nothing is said, all does.
    setting(windrow, "archive_days", json!(1));
    run(windrow);
    assert_eq!(
        windrow.call("archive_list", json!({})).expect("a list")["rows"],
        total
    );
    setting(windrow, "archive_days", json!(0));
    for (table, _) in TABLES {
        windrow.execute(&format!(
            "UPDATE W.archive_{table} SET windrow_archived_at = '{old}'"
        ));
    }
    run(windrow);
    let list = windrow.call("archive_list", json!({"older_than": "1d"}));
    assert_eq!(list.expect("a list")["rows"], total);

    // Whatever the session prefers.
    windrow.execute(match windrow.dialect {
        Dialect::Postgres => "SET default_transaction_isolation = 'repeatable read'",
        Dialect::Mysql | Dialect::Mariadb => "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    });
    // A run whose rows are not all there cannot be restored.
    windrow.execute("UPDATE W.archive_note SET windrow_run_id = 98 WHERE body = 'x'");
    let error = refused(windrow.call("archive_restore", json!({"run": first})));
    assert!(error.contains("is incomplete: table note"), "{error}");
    windrow.execute(&format!(
        "UPDATE W.archive_note SET windrow_run_id = {first} WHERE body = 'x'"
    ));
    windrow.execute(&format!("INSERT INTO W.unarchived (run_id, action, table_name, table_rows, done_by, done_at) VALUES ({first}, 'DROPPED', 'node', 1, 'me', '2020-01-01')"));
    let error = refused(windrow.call("archive_restore", json!({"run": first})));
    assert!(error.contains("is incomplete"), "{error}");

    // By the spec's days a dry run prunes nothing; a run prunes, and says so; the next one forgets the run.
    setting(windrow, "archive_days", Value::Null);
    let dry = windrow.run(json!({"dry_run": true})).expect("a dry run");
    assert_eq!(dry["archive_pruned"], 0, "{dry}");
    let pruned = by(operator, windrow, "run", json!({})).expect("a run");
    assert_eq!(pruned["archive_pruned"], total, "{pruned}");
    assert_eq!(
        windrow.call("archive_list", json!({})).expect("a list")["rows"],
        0
    );
    let noted =
        format!("SELECT count(*) FROM W.unarchived WHERE run_id = {first} AND action = 'PRUNED'");
    assert_eq!(windrow.number(&noted), 11);
    assert_eq!(windrow.number(&known), 1);
    run(windrow);
    assert_eq!(windrow.number(&known), 0);
    assert_eq!(windrow.number("SELECT count(*) FROM W.kept_run"), 0);

    // Dropped by hand.
    windrow.execute("INSERT INTO mail VALUES (8, '2020-01-01', 'late')");
    let late = run(windrow);
    let young = windrow.call("archive_drop", json!({"older_than": "1d"}));
    assert_eq!(young.expect("nothing")["rows"], 0);
    for (dry_run, left) in [(true, 1), (false, 0)] {
        let options = json!({"run": late, "dry_run": dry_run});
        let dropped = by(operator, windrow, "archive_drop", options).expect("a drop");
        assert_eq!(dropped["rows"], 1, "{dropped}");
        assert_eq!(dropped["runs"][0]["tables"], json!({"mail": 1}));
        assert_eq!(windrow.number("SELECT count(*) FROM W.archive_mail"), left);
    }
    let error = refused(windrow.call("archive_restore", json!({"run": late})));
    assert!(error.contains("no rows of run"), "{error}");
    // Nobody prunes in the name of a run.
    if windrow.dialect == Dialect::Postgres {
        let step = format!(
            "SELECT W.archive_step({late}, NULL, clock_timestamp() - interval '9 days', 0, 0, 0)"
        );
        let error = operator.query(&windrow.named(&step), &[]).expect_err("no");
        assert!(format!("{error:#}").contains("does not prune"), "{error:#}");
    }
}

/// The command writes a file for each table, and none over another one.
fn files_hold_every_row(windrow: &mut Installation, run: i64) {
    let folder = tempfile::tempdir().expect("a folder");
    let spec = folder.path().join("spec.toml");
    let name = windrow.control.replacen("windrow_", "", 1);
    let database = format!("name = \"{name}\"\ndatabase = \"{}\"", windrow.name);
    fs::write(&spec, SPEC.replace("name = \"unarchive\"", &database)).expect("a spec");
    let url = windrow.superuser();
    let archive = |what: &str, more: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(["archive", what])
            .arg(&spec)
            .args(["--url", &url])
            .args(more)
            .output()
            .expect("it starts")
    };
    let command = |more: &[&str]| archive("export", more);
    let to = folder.path().join("out");
    let to = to.to_str().expect("a path");
    let number = run.to_string();
    // Only looked at, and what it is about.
    for shown in [archive("list", &[]), archive("drop", &["--run", &number])] {
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.status.success(), "{text}");
        assert!(
            text.contains("restored") && text.contains("leaf 6, line 1"),
            "{text}"
        );
    }
    let done = command(&["--run", &number, "--to", to]);
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{text}");
    assert_eq!(fs::read_dir(to).expect("a folder").count(), TABLES.len());
    let file =
        |table: &str| fs::read_to_string(format!("{to}/archive_{table}.csv")).expect("a file");
    let shots = file("shot");
    let lines: Vec<&str> = shots.lines().collect();
    assert_eq!(
        lines[0],
        "windrow_run_id,windrow_row_id,windrow_archived_at,name,part,body"
    );
    assert!(
        lines[1].ends_with(",a,1,") && lines[2].ends_with(",\"a, \"\"b\"\"\",1,x"),
        "{shots}"
    );
    let events = file("event");
    assert!(events.contains(",\\x00ff0a275c2c22\n"), "{events}");
    // An empty value and none are not the same.
    let (empty, none) = match windrow.dialect {
        Dialect::Postgres => (",\\x\n", ",\n"),
        Dialect::Mysql | Dialect::Mariadb => (",\\x\n", ",\n"),
    };
    assert!(events.contains(empty) && events.contains(none), "{events}");
    assert!(file("mail").contains(",\"\"\n"));
    let leaves = file("leaf");
    assert!(
        leaves.contains("\"it's \"\"quoted\"\", two\nlines\",\\x00ff0a275c2c22"),
        "{leaves}"
    );
    assert!(
        leaves.contains("漢字 😀") && leaves.contains(",2020-02-29,"),
        "{leaves}"
    );
    if windrow.dialect != Dialect::Postgres {
        assert!(
            leaves.contains("\\x0155,\"b,ad\",\"a,c\",") && leaves.contains(",0.1,"),
            "{leaves}"
        );
    }

    let again = command(&["--run", &number, "--to", to]);
    let text = String::from_utf8_lossy(&again.stderr).into_owned();
    assert_eq!(again.status.code(), Some(2), "{text}");
    assert!(text.contains("already exists"), "{text}");
    let one = command(&["--table", "shot"]);
    assert_eq!(String::from_utf8_lossy(&one.stdout), shots);
    let none = command(&["--table", "shot", "--run", "99"]);
    assert_eq!(String::from_utf8_lossy(&none.stdout).lines().count(), 1);
    let several = command(&[]);
    assert_eq!(several.status.code(), Some(2));
}
