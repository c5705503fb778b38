//! What statements look up besides edges: tables that rules only read, and columns by which rows keep others or belong together.
//! Where these are other ones, or compare otherwise, nothing is found there, and rows would go that must stay.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::replaced::until_a_second_old;
use super::{SPEC, assert_told, changed_during_a_run, errors, findings, made_of};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

tests! {
    every_server: [
        a_table_that_is_only_read_is_told_when_it_is_another_one,
        a_link_is_told_like_an_edge,
    ],
    each_server: [
        what_is_looked_up_otherwise_is_told,
        days_and_times_are_looked_up_where_they_compare_exactly,
        a_view_is_no_table_to_look_into,
    ],
    on_postgres: [
        a_char_is_no_text,
    ],
}

/// Each rule looks into a table that is none of the spec.
const READS: &str = r#"
name   = "looks"
schema = "public"

[tables]
log  = { key = "id integer" }
work = { key = "id integer" }
file = { key = "id integer" }

[rules.log]
strategy  = "orphan"
root      = "log"
needs     = ["job_id -> job.id"]
time      = "at timestamp"
retention = { default = "30d" }
limits    = { batch_rows = 1 }

[rules.work]
strategy  = "end-time"
root      = "work"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d", per = "kind integer", from = "kinds: id -> days days" }

[rules.file]
strategy   = "removal-time"
root       = "file"
time       = "removal"
tables     = ["file"]
references = ["pin: file_id -> file"]
"#;

/// One orphan besides what must stay.
const ROWS: &str = "
CREATE TABLE job (id integer NOT NULL PRIMARY KEY);
CREATE TABLE kinds (id integer NOT NULL PRIMARY KEY, days integer);
CREATE TABLE pin (id integer NOT NULL PRIMARY KEY, file_id integer);
CREATE INDEX pin_of ON pin (file_id);
CREATE TABLE log (id integer NOT NULL PRIMARY KEY, job_id integer, at timestamp NULL);
CREATE TABLE work (id integer NOT NULL PRIMARY KEY, state varchar(20), ended timestamp NULL, kind integer);
CREATE TABLE file (id integer NOT NULL PRIMARY KEY, removal timestamp NULL);
INSERT INTO job VALUES (1), (2), (3);
INSERT INTO kinds VALUES (1, 30000);
INSERT INTO pin VALUES (1, 1), (2, 2);
INSERT INTO log VALUES (1, 9, '2025-01-01 00:00:00'), (2, 1, '2025-01-02 00:00:00'), (3, 2, '2025-01-03 00:00:00');
INSERT INTO work VALUES (1, 'done', '2025-01-01 00:00:00', 1), (2, 'done', '2025-01-02 00:00:00', 1);
INSERT INTO file VALUES (1, '2025-01-01 00:00:00'), (2, '2025-01-02 00:00:00')";

/// Another table in the place of one, without rows, as a migration or a rotation makes it.
fn swap(dialect: Dialect, table: &str) -> String {
    match dialect {
        Dialect::Postgres => format!(
            "ALTER TABLE {table} RENAME TO {table}_old; CREATE TABLE {table} (LIKE {table}_old INCLUDING ALL);
             GRANT SELECT ON {table} TO PUBLIC"
        ),
        Dialect::Mysql | Dialect::Mariadb => format!(
            "CREATE TABLE {table}_new LIKE {table}; RENAME TABLE {table} TO {table}_old, {table}_new TO {table}"
        ),
    }
}

fn a_table_that_is_only_read_is_told_when_it_is_another_one(dialect: Dialect) {
    let mut installation = Installation::of(dialect, ROWS, &graph_of(READS));
    let kept = |installation: &mut Installation| {
        ["log WHERE id > 1", "work", "file"]
            .map(|from| installation.number(&format!("SELECT COUNT(*) FROM {from}")))
    };
    for table in ["job", "kinds", "pin"] {
        until_a_second_old(&mut installation, dialect);
        installation.arm();
        installation.execute(&swap(dialect, table));
        let told = format!("catalog changed: table {table} is another one");
        let error = installation.run(json!({})).expect_err(table);
        assert_told(&error, &told);
        let verify = installation.call("verify", json!({})).expect("verify");
        let found = violations(&verify);
        assert!(
            found.iter().any(|check| check["check"] == "catalog"),
            "{table}: {found:?}"
        );
        assert_eq!(kept(&mut installation), [2, 2, 2], "{table}");
        installation.execute(&match dialect {
            Dialect::Postgres => {
                format!("DROP TABLE {table}; ALTER TABLE {table}_old RENAME TO {table}")
            }
            Dialect::Mysql | Dialect::Mariadb => {
                format!("DROP TABLE {table}; RENAME TABLE {table}_old TO {table}")
            }
        });
    }
    // The columns by which rows are found there are compared, too.
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    installation.execute(match dialect {
        Dialect::Postgres => "ALTER TABLE kinds ALTER days TYPE bigint",
        Dialect::Mysql | Dialect::Mariadb => "ALTER TABLE kinds MODIFY days bigint",
    });
    let error = installation.run(json!({})).expect_err("a column");
    assert_told(&error, "catalog changed: table kinds has other columns");
    // The first batch takes the orphan, and the next one would take what names rows of before.
    let one = READS.split("\n[rules.work]").next().expect("a rule");
    let one = one.replace(
        "work = { key = \"id integer\" }\nfile = { key = \"id integer\" }\n",
        "",
    );
    let mut installation = Installation::of(dialect, ROWS, &graph_of(&one));
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    let run = changed_during_a_run(&mut installation, &swap(dialect, "job"));
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(
        run["status"] == "failed" && reason.contains("catalog changed: table job is another one"),
        "{run}"
    );
    assert_eq!(kept(&mut installation), [2, 2, 2]);
}

/// A spec in which a run is tried again by another one.
fn linked() -> String {
    SPEC.replace(
        "end_time  = ",
        "hierarchy = [\"runs: retry_of -> id\"]\nend_time  = ",
    )
}

fn a_link_is_told_like_an_edge(dialect: Dialect) {
    let mut installation = made_of(dialect, &linked());
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    let (other, told) = match dialect {
        Dialect::Postgres => (
            "ALTER TABLE runs RENAME retry_of TO retry_was; ALTER TABLE runs ADD retry_of integer",
            "catalog changed: table runs has other columns for its keys or edges",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "ALTER TABLE runs CHANGE retry_of retry_was integer, ADD retry_of integer AFTER id",
            "catalog changed: table runs has its columns in another order",
        ),
    };
    installation.execute(other);
    let rows = installation.number("SELECT COUNT(*) FROM runs");
    let error = installation.run(json!({})).expect_err("another column");
    assert_told(&error, told);
    assert_eq!(installation.number("SELECT COUNT(*) FROM runs"), rows);
}

/// All that is text in the tables of both specs.
const TEXTS: &str = "
CREATE TABLE job (id @job.id@ NOT NULL PRIMARY KEY);
CREATE TABLE kinds (id integer NOT NULL PRIMARY KEY, days integer);
CREATE TABLE pin (id integer NOT NULL PRIMARY KEY, file_id @pin.file_id@);
CREATE TABLE log (id integer NOT NULL PRIMARY KEY, job_id @log.job_id@, at timestamp NULL);
CREATE TABLE work (id integer NOT NULL PRIMARY KEY, state varchar(20), ended timestamp NULL, kind integer);
CREATE TABLE file (id @file.id@ NOT NULL PRIMARY KEY, removal timestamp NULL);
CREATE TABLE runs (id @runs.id@ NOT NULL PRIMARY KEY, state varchar(20), ended timestamp NULL, retry_of @runs.retry_of@);
CREATE TABLE uses (id integer NOT NULL PRIMARY KEY, run_id @uses.run_id@);
CREATE TABLE audit (id integer)";

/// Specs whose keys are texts, each with a column that is not one of an edge by which rows go, and what that is compared with.
fn pairs() -> [(String, &'static str, &'static str); 4] {
    let texts = |spec: &str, table: &str| {
        let key = format!("{table} = {{ key = \"id ");
        assert!(spec.contains(&format!("{key}integer")), "{table}: {spec}");
        let spec = spec.replace(&format!("{key}integer"), &format!("{key}varchar"));
        let lines = spec.lines();
        let lines = lines.filter(|it| !it.starts_with("arts ") && !it.starts_with("memos "));
        lines.collect::<Vec<_>>().join("\n")
    };
    let reads = READS.replace("  = {", " = {");
    let keeps = SPEC.replace(
        "uses = { key = \"id integer\", parents = [\"run_id -> runs.id\"]",
        "uses = { key = \"id integer\", parents = [\"run_id -> runs.id restrict\"]",
    );
    assert_ne!(keeps, SPEC);
    [
        (texts(&reads, "file"), "log.job_id", "job.id"),
        (texts(&reads, "file"), "pin.file_id", "file.id"),
        (texts(&linked(), "runs"), "runs.retry_of", "runs.id"),
        (texts(&keeps, "runs"), "uses.run_id", "runs.id"),
    ]
}

/// A day is the midnight with which it begins, whatever the session says. What has a zone is another time in each session.
fn days_and_times_are_looked_up_where_they_compare_exactly(dialect: Dialect) {
    let spec = READS.split("\n[rules.work]").next().expect("a rule");
    let spec = spec
        .replace(
            "work = { key = \"id integer\" }\nfile = { key = \"id integer\" }\n",
            "",
        )
        .replace("job_id -> job.id", "day -> job.day")
        .replace("limits    = { batch_rows = 1 }\n", "");
    let (date, plain, zoned) = match dialect {
        Dialect::Postgres => ("date", "timestamp", "timestamptz"),
        Dialect::Mysql | Dialect::Mariadb => ("date", "datetime(6)", "timestamp(6) NULL"),
    };
    let told = "table log compares day otherwise than job does day";
    for (own, named, exact) in [
        (date, plain, true),
        (plain, date, true),
        (date, zoned, false),
        (zoned, date, false),
        (plain, zoned, false),
        (zoned, plain, false),
    ] {
        let schema = format!(
            "CREATE TABLE job (id integer NOT NULL PRIMARY KEY, day {named});
             CREATE INDEX job_day ON job (day);
             CREATE TABLE log (id integer NOT NULL PRIMARY KEY, day {own}, at timestamp NULL);
             CREATE INDEX log_day ON log (day);
             INSERT INTO job VALUES (1, '2025-01-01 00:00:00'), (2, '2025-01-02 00:00:00.5'), (3, '2025-01-03 12:00:00');
             INSERT INTO log VALUES (1, '2025-01-01 00:00:00', '2025-01-01'), (2, '2025-01-02 00:00:00', '2025-01-01'),
                 (3, '2025-01-03 12:00:00', '2025-01-01'), (4, '2025-01-04 00:00:00', '2025-01-01')"
        );
        let mut installation = Installation::of(dialect, &schema, &graph_of(&spec));
        let name = format!("{own}, {named}");
        let found = findings_of(&installation, dialect, &spec, "edge-type-differs");
        assert_eq!(found, usize::from(!exact), "{name}");
        if !exact {
            let error = installation.attempt("CALL W.arm()").expect_err(&name);
            assert_told(&error, told);
            continue;
        }
        installation.arm();
        // A day is no time of that day. Which of both is the day does not matter.
        let run = installation.run(json!({})).expect("a run");
        let days = ["1", "2", "3"]
            .iter()
            .filter(|id| match (own == date, **id) {
                (_, "1") => true,
                (true, _) => false,
                // The times of `job` were cut to days as they were written.
                (false, id) => id == "2",
            });
        let left = installation.texts("SELECT id FROM log ORDER BY id");
        assert_eq!(left, days.copied().collect::<Vec<_>>(), "{name}: {run}");
    }
}

/// The key takes what no statement of the rule finds: it ignores the blanks at the end of the text.
fn a_char_is_no_text() {
    let spec = r#"
name   = "padded"
schema = "public"

[tables]
job  = { key = "id char" }
line = { parents = ["job_id -> job.id"] }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
"#;
    let schema = |own: &str| {
        format!(
            "CREATE TABLE job (id char(8) PRIMARY KEY, state text, ended timestamp);
             CREATE INDEX ON job (ended);
             CREATE TABLE line (job_id {own} REFERENCES job ON DELETE CASCADE, text text);
             CREATE INDEX ON line (job_id);
             INSERT INTO job VALUES ('R1', 'done', now() - interval '90 days');
             INSERT INTO line VALUES ('R1', 'a'), ('R1      ', 'b')"
        )
    };
    let dialect = Dialect::Postgres;
    for own in ["text", "varchar(8)", "char(8)"] {
        let mut installation = Installation::of(dialect, &schema(own), &graph_of(spec));
        let found = findings_of(&installation, dialect, spec, "type-differs")
            + findings_of(&installation, dialect, spec, "edge-type-differs");
        if own == "char(8)" {
            assert_eq!(found, 0);
            installation.arm();
            let run = installation.run(json!({})).expect("a run");
            assert_eq!(run["rules"][0]["rows"], 3, "{run}");
            continue;
        }
        assert_eq!(found, 1, "{own}");
        let error = installation.attempt("CALL W.arm()").expect_err(own);
        assert_told(
            &error,
            "table line compares job_id otherwise than job does id",
        );
    }
}

/// What is behind it may change unseen, and MariaDB may not ask it twice in a call.
fn a_view_is_no_table_to_look_into(dialect: Dialect) {
    let mut installation = Installation::of(dialect, ROWS, &graph_of(READS));
    for table in ["job", "kinds", "pin"] {
        until_a_second_old(&mut installation, dialect);
        installation.arm();
        let grant = match dialect {
            Dialect::Postgres => format!("; GRANT SELECT ON {table} TO PUBLIC"),
            Dialect::Mysql | Dialect::Mariadb => String::new(),
        };
        installation.execute(&format!(
            "ALTER TABLE {table} RENAME TO {table}_old; CREATE VIEW {table} AS SELECT * FROM {table}_old{grant}"
        ));
        let told = format!("table {table} is a view");
        for error in [
            installation.attempt("CALL W.arm()").expect_err(table),
            installation.run(json!({})).expect_err(table),
        ] {
            assert_told(&error, &told);
            let hint = "the table from which its rows come";
            let hints = windrow::failure::hints(&error);
            assert!(hints.iter().any(|it| it.contains(hint)), "{hints:?}");
        }
        let verify = installation.call("verify", json!({})).expect("verify");
        let found = violations(&verify);
        let named = |check: &&Value| check["check"] == "reference" && check["object"] == table;
        let check = found.iter().copied().find(named);
        let detail = check.map(|check| check["detail"].as_str().unwrap_or_default());
        assert_eq!(detail, Some("is a view: runs refuse"), "{found:?}");
        let found = super::all_findings(&installation, dialect, READS);
        let found: Vec<_> = found.iter().filter(|it| it.object == table).collect();
        assert!(
            found.len() == 1 && found[0].code == "not-a-table" && found[0].message == "is a view",
            "{found:?}"
        );
        installation.execute(&format!(
            "DROP VIEW {table}; ALTER TABLE {table}_old RENAME TO {table}"
        ));
    }
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    // However many: a view is no table that is missing.
    for table in ["log", "work"] {
        installation.execute(&format!(
            "ALTER TABLE {table} RENAME TO {table}_old; CREATE VIEW {table} AS SELECT * FROM {table}_old"
        ));
    }
    let found = super::all_findings(&installation, dialect, READS);
    let told: Vec<_> = found
        .iter()
        .map(|it| (it.code, it.object.as_str()))
        .filter(|it| it.0.ends_with("-table"))
        .collect();
    assert!(told.iter().all(|it| it.0 == "not-a-table"), "{found:?}");
    for table in ["log", "work"] {
        assert!(told.iter().any(|it| it.1 == table), "{found:?}");
    }
}

/// How many findings of a kind there are.
fn findings_of(installation: &Installation, dialect: Dialect, spec: &str, code: &str) -> usize {
    let found = super::all_findings(installation, dialect, spec);
    found.iter().filter(|it| it.code == code).count()
}

/// By another collation, also by an exact one: what it does not find counts as missing.
fn what_is_looked_up_otherwise_is_told(dialect: Dialect) {
    let (loose, exact, before) = match dialect {
        Dialect::Postgres => (
            "varchar(20) COLLATE loose",
            "varchar(20) COLLATE \"default\"",
            "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
            "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            "",
        ),
    };
    for (spec, own, named) in pairs() {
        let other = TEXTS.replace(&format!("@{own}@"), exact);
        let parts = other.split('@').enumerate();
        let parts = parts.map(|(at, part)| if at % 2 == 1 { loose } else { part });
        let schema = before.to_owned() + &parts.collect::<String>();
        let mut installation = Installation::of(dialect, &schema, &graph_of(&spec));
        let (table, column) = own.split_once('.').expect("a column");
        let (parent, key) = named.split_once('.').expect("a column");
        let told = format!("table {table} compares {column} otherwise than {parent} does {key}");
        let error = installation.attempt("CALL W.arm()").expect_err(own);
        assert_told(&error, &told);
        // Nothing acts here, and of a table that is only read no row is deleted.
        let hints = format!("{error:#} {:?}", windrow::failure::hints(&error));
        assert!(
            hints
                .to_lowercase()
                .contains("give both columns the same type and collation"),
            "{hints}"
        );
        let verify = installation.call("verify", json!({})).expect("verify");
        let found = violations(&verify);
        let named = |check: &&Value| check["check"] == "reference" && check["object"] == table;
        let check = found.iter().copied().find(named);
        let detail = check.and_then(|check| check["detail"].as_str());
        let detail = detail.unwrap_or_else(|| panic!("{own}: {found:?}"));
        assert!(
            detail.ends_with(
                ": rows could be taken for those of others, or for missing; runs refuse"
            ),
            "{detail}"
        );
        let found = findings(&installation, dialect, &spec);
        assert!(errors(&found).contains(&own), "{found:?}");
        installation.execute(&match dialect {
            Dialect::Postgres => format!("ALTER TABLE {table} ALTER {column} TYPE {loose}"),
            Dialect::Mysql | Dialect::Mariadb => {
                format!("ALTER TABLE {table} MODIFY {column} {loose}")
            }
        });
        let found = findings(&installation, dialect, &spec);
        assert!(!errors(&found).contains(&own), "{found:?}");
        installation.arm();
        // A number that a double has not is none of its, either.
        if own == "log.job_id" {
            installation.execute(&match dialect {
                Dialect::Postgres => "ALTER TABLE log ALTER job_id TYPE bigint USING 1; ALTER TABLE job ALTER id TYPE double precision USING 1".to_owned(),
                Dialect::Mysql | Dialect::Mariadb => "ALTER TABLE log MODIFY job_id bigint; ALTER TABLE job MODIFY id double".to_owned(),
            });
            let error = installation.attempt("CALL W.arm()").expect_err("a type");
            assert_told(&error, &told);
            let found = super::all_findings(&installation, dialect, &spec);
            let named =
                |it: &&windrow::fit::Finding| it.code == "edge-type-differs" && it.object == own;
            assert_eq!(found.iter().filter(named).count(), 1, "{found:?}");
        }
    }
}
