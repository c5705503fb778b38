//! Scopes of a rule: all but those that a policy keeps, and very many with a policy each.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::effort::{one_of, size};
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, dialect_of, numbers};

tests! {
    every_server: [
        a_scope_that_is_never_null_has_the_default_of_the_spec,
        a_policy_may_be_shorter_than_the_default,
        the_oldest_of_many_scopes_go_first,
        a_policy_counts_from_the_next_batch_on,
        a_preview_of_many_scopes_says_each_root_once,
        what_a_search_found_for_several_batches_is_judged_anew,
    ],
    on_postgres: [
        a_search_of_many_scopes_reads_little_more_than_it_takes,
    ],
    mysql_and_mariadb: [
        batches_of_many_scopes_read_little_more,
        a_search_of_many_scopes_is_one_statement_for_each,
    ],
    either_flavour: [
        what_was_found_and_rolled_back_is_found_again,
        a_scope_that_its_column_has_no_room_for_is_refused,
        digits_are_no_place_of_a_label,
        without_a_least_time_what_is_kept_for_ever_stays,
    ],
}

const SPEC: &str = r#"
name = "scopes"

[tables]
job    = { key = "id bigint" }
ticket = { key = "id bigint" }

[rules.jobs]
strategy   = "end-time"
root       = "job"
final      = { state = 1 }
end_time   = "at"
retention  = { default = "30d", per = "project bigint" }

[rules.tickets]
strategy   = "end-time"
root       = "ticket"
final      = { state = 1 }
end_time   = "at"
retention  = { default = "30d", per = "team varchar" }
"#;

pub(crate) fn graph() -> Graph {
    graph_of(SPEC)
}

fn a_scope_that_is_never_null_has_the_default_of_the_spec(dialect: Dialect) {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE job (id bigint PRIMARY KEY, project bigint NOT NULL, state integer NOT NULL, at {time} NOT NULL);
         CREATE TABLE ticket (id bigint PRIMARY KEY, team varchar(50) NOT NULL, state integer NOT NULL, at {time} NOT NULL);"
    );
    let mut database = Installation::of(dialect, &schema, &graph());
    for (table, kept, other) in [("job", "1", "2"), ("ticket", "'x'", "'y'")] {
        database.execute(&format!(
            "DELETE FROM {table}; INSERT INTO {table} VALUES (1, {kept}, 1, '2020-01-01'), (2, {other}, 1, '2020-01-02')"
        ));
    }
    database.execute("DELETE FROM W.policy");
    database.arm();
    for (rule, scope, table) in [("jobs", "1", "job"), ("tickets", "x", "ticket")] {
        let left = format!("SELECT CONCAT(id, '') FROM {table} ORDER BY id");
        let preview = database.preview(json!({"rule": rule})).expect("a preview");
        assert_eq!(preview["rules"][0]["families"], 2, "{preview}");
        let policy = json!({"rule": rule, "scope": scope, "enabled": false});
        database.set_policy(policy).expect("a policy");
        let answer = database.run(json!({"rule": rule})).expect("a run");
        assert_eq!(answer["rules"][0]["families"], 1, "{answer}");
        assert_eq!(database.texts(&left), ["1"]);
        let policy = json!({"rule": rule, "scope": scope});
        database.call("drop_policy", policy).expect("no policy");
        database.run(json!({"rule": rule})).expect("a run");
        assert!(database.texts(&left).is_empty());
    }
}

/// Beside others that are longer, and for its own scope alone.
fn a_policy_may_be_shorter_than_the_default(dialect: Dialect) {
    let (time, now) = match dialect {
        Dialect::Postgres => ("timestamp", "(now() AT TIME ZONE 'UTC')"),
        Dialect::Mysql | Dialect::Mariadb => ("datetime(6)", "UTC_TIMESTAMP(6)"),
    };
    let schema = format!(
        "CREATE TABLE job (id bigint PRIMARY KEY, project bigint, state integer NOT NULL, at {time} NOT NULL);
         CREATE TABLE ticket (id bigint PRIMARY KEY, team varchar(50), state integer NOT NULL, at {time} NOT NULL);"
    );
    let mut database = Installation::of(dialect, &schema, &graph());
    for (table, scopes) in [("job", ["1", "2", "3"]), ("ticket", ["'x'", "'y'", "'z'"])] {
        for (position, scope) in scopes.into_iter().chain(["NULL"]).enumerate() {
            for (number, age) in [5, 20, 50, 200].into_iter().enumerate() {
                let days = match dialect {
                    Dialect::Postgres => format!("'{age} days'"),
                    Dialect::Mysql | Dialect::Mariadb => format!("{age} DAY"),
                };
                database.execute(&format!(
                    "INSERT INTO {table} VALUES ({position}{number}, {scope}, 1, {now} - INTERVAL {days})"
                ));
            }
        }
    }
    database.arm();
    for (rule, table, scopes) in [
        ("jobs", "job", ["1", "2"]),
        ("tickets", "ticket", ["x", "y"]),
    ] {
        for (scope, retention) in scopes.into_iter().zip(["10d", "100d"]) {
            let policy = json!({"rule": rule, "scope": scope, "retention": retention});
            database.set_policy(policy).expect("a policy");
        }
        database.run(json!({"rule": rule})).expect("a run");
        assert_eq!(
            database.texts(&format!("SELECT CONCAT(id, '') FROM {table} ORDER BY id")),
            ["0", "10", "11", "12", "20", "21", "30", "31"]
        );
    }
}

/// How many scopes have a policy, and how many families each of them.
const SCOPES: i64 = 60;
const FAMILIES: i64 = 100;

/// The same where it is not measured what many of them cost.
fn few() -> i64 {
    size(25, FAMILIES)
}

/// Only scopes with a policy are cleaned.
const LISTED: &str = r#"
name = "listed"

[tables]
job = { key = "id bigint" }

[rules.jobs]
strategy   = "end-time"
root       = "job"
final      = { state = 1 }
end_time   = "at"
retention  = { default = "30d", per = "project bigint", opt_in = true }
"#;

/// Some scopes, of which each third has its families three times as close to each other.
fn listed(dialect: Dialect, scopes: i64) -> Installation {
    of_scopes(dialect, LISTED, scopes, FAMILIES)
}

/// So many scopes; their families are as many as [`SCOPES`] times so many.
fn of_scopes(dialect: Dialect, spec: &str, scopes: i64, families: i64) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE job (id bigint PRIMARY KEY, project bigint NOT NULL, state integer NOT NULL, at {time} NOT NULL, above bigint);"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(spec));
    let minutes = format!("n * (1 + n % {SCOPES} % 3)");
    let at = match dialect {
        Dialect::Postgres => format!("timestamp '2020-01-01' + {minutes} * interval '1 minute'"),
        Dialect::Mysql | Dialect::Mariadb => {
            format!("TIMESTAMPADD(MINUTE, {minutes}, '2020-01-01')")
        }
    };
    database.execute(&format!(
        "INSERT INTO job SELECT n, n % {scopes}, 1, {at}, NULL FROM {}",
        numbers(dialect, SCOPES * families)
    ));
    for scope in 0..scopes {
        let policy = json!({"rule": "jobs", "scope": scope.to_string(), "retention": "30d"});
        database.set_policy(policy).expect("a policy");
    }
    database.arm();
    database
}

/// What went with others is passed over, and what was not read of other scopes yet with it.
fn a_preview_of_many_scopes_says_each_root_once(dialect: Dialect) {
    let spec = LISTED.replace(
        "retention  =",
        "hierarchy  = [\"job: above -> id\"]\nshared     = \"closed\"\nretention  =",
    );
    let mut database = of_scopes(dialect, &spec, SCOPES, few());
    database.execute(&format!(
        "UPDATE job SET above = id - {SCOPES} WHERE (id - id % {SCOPES}) % {} = {SCOPES}",
        2 * SCOPES
    ));
    database
        .set_setting("batch_families", 10)
        .expect("a setting");
    for key in (1..=SCOPES * few()).step_by(97) {
        let hold = json!({"rule": "jobs", "key": key, "reason": "audit"});
        database.call("set_hold", hold).expect("a hold");
    }
    let preview = database.preview(json!({"run_families": 10_000}));
    let preview = preview.expect("a preview")["rules"][0].clone();
    let dry = json!({"run_families": 10_000, "dry_run": true});
    let dry = database.run(dry).expect("a dry run")["rules"][0].clone();
    let run = database.run(json!({"run_families": 10_000}));
    let run = run.expect("a run")["rules"][0].clone();
    for what in ["families", "rows", "skipped"] {
        assert_eq!(preview[what], run[what], "{what}: {preview}\n{run}");
        assert_eq!(dry[what], run[what], "{what}: {dry}\n{run}");
    }
}

fn the_oldest_of_many_scopes_go_first(dialect: Dialect) {
    let mut database = listed(dialect, SCOPES);
    let mut left = database.texts("SELECT CONCAT(id, '') FROM job ORDER BY at, id");
    for _ in 0..3 {
        let run = database.run(json!({"run_families": 70})).expect("a run");
        assert_eq!(run["rules"][0]["families"], 70, "{run}");
        left.drain(..70);
        let now = database.texts("SELECT CONCAT(id, '') FROM job ORDER BY at, id");
        assert_eq!(now, left);
    }
}

/// A run has read the policies, and roots of every scope, before its first batch.
fn a_policy_counts_from_the_next_batch_on(dialect: Dialect) {
    let mut database = listed(dialect, 6);
    database
        .set_setting("batch_families", 30)
        .expect("a setting");
    let dropped = json!({"rule": "jobs", "scope": "5"});
    database.call("drop_policy", dropped).expect("no policy");
    let run = database.run_meanwhile(json!({}), |database| {
        let gone = database.number("SELECT COUNT(*) FROM job WHERE project = 3");
        assert!(gone < SCOPES * FAMILIES / 6, "{gone}");
        for policy in [
            json!({"rule": "jobs", "scope": "3", "enabled": false}),
            json!({"rule": "jobs", "scope": "4", "retention": "36500d"}),
            json!({"rule": "jobs", "scope": "5", "retention": "30d"}),
        ] {
            database.set_policy(policy).expect("a policy");
        }
    });
    assert_eq!(run.expect("a run")["status"], "done");
    let left = database.texts(
        "SELECT CONCAT(project, ': ', CASE WHEN COUNT(*) > 900 THEN 'most' ELSE 'few' END) FROM job GROUP BY project ORDER BY project",
    );
    // What lies before the cursor of the run is for the next one.
    assert_eq!(left, ["3: most", "4: most", "5: few"]);
}

/// Each scope was read as far as if the others had nothing: batches took longer with every policy.
fn a_search_of_many_scopes_reads_little_more_than_it_takes() {
    let mut database = listed(Dialect::Postgres, SCOPES);
    let read = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE relname = 'job' AND indexrelname <> 'job_pkey'";
    database.execute("ANALYZE job");
    let search = |database: &mut Installation, limit: i64| {
        let before = database.number(&format!(
            "SELECT sum(r.idx_tup_read)::bigint FROM ({read}) AS r"
        ));
        let found = database.number(&format!(
            "SELECT count(*) FROM W.jobs_next(now(), NULL, NULL, '-infinity', 0, {limit})"
        ));
        assert_eq!(found, limit);
        database.execute("SELECT pg_stat_force_next_flush()");
        database.number(&format!(
            "SELECT sum(r.idx_tup_read)::bigint FROM ({read}) AS r"
        )) - before
    };
    search(&mut database, 1);
    let rows = search(&mut database, FAMILIES);
    assert!(
        (FAMILIES..10 * FAMILIES).contains(&rows),
        "{rows} entries of the index for {FAMILIES} families of {SCOPES} scopes"
    );
}

/// The first batch takes ten of what a search has found; before the others, much changes, and in the second round policies do, too.
fn what_a_search_found_for_several_batches_is_judged_anew(dialect: Dialect) {
    for policies in [false, true] {
        let mut database = of_scopes(dialect, LISTED, SCOPES, few());
        database
            .set_setting("batch_families", 10)
            .expect("a setting");
        let refuse = match dialect {
            Dialect::Postgres => {
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
                 CREATE TRIGGER refuse BEFORE DELETE ON job FOR EACH ROW WHEN (OLD.project < 0) EXECUTE FUNCTION refuse()"
            }
            Dialect::Mysql | Dialect::Mariadb => {
                "CREATE TRIGGER refuse BEFORE DELETE ON job FOR EACH ROW IF OLD.project < 0 THEN SIGNAL SQLSTATE '45000'; END IF"
            }
        };
        database.session.execute(refuse).expect("a trigger");
        let mut left = Vec::new();
        let run = database.run_meanwhile(json!({}), |database| {
            left = change_what_was_found(database, policies);
        });
        let run = run.expect("a run");
        assert_eq!(run["reason"], "nothing left", "{run}");
        left.sort_by_key(|key| key.parse::<i64>().expect("a key"));
        let rest = database.texts("SELECT CONCAT(id, '') FROM job ORDER BY id");
        assert_eq!(rest, left, "policies: {policies}");
        if dialect == Dialect::Postgres {
            let written = "SELECT COUNT(*) FROM W.run_rule WHERE ahead_at > 0 OR ahead_keys <> '{}' OR ahead_times <> '{}'";
            assert_eq!(database.number(written), 0);
        }
    }
}

/// Answers what a run leaves that goes on after this.
fn change_what_was_found(database: &mut Installation, policies: bool) -> Vec<String> {
    let found = database.texts("SELECT CONCAT(id, '') FROM job ORDER BY at, id LIMIT 50");
    assert_eq!(
        database.number("SELECT COUNT(*) FROM job"),
        SCOPES * few() - 10
    );
    if database.dialect == Dialect::Postgres {
        let ahead = "SELECT k.key FROM W.run_rule AS r, unnest(r.ahead_keys[r.ahead_at + 1:]) WITH ORDINALITY AS k(key, place) ORDER BY k.place";
        assert_eq!(database.texts(ahead), found);
    }
    let key = found[12].parse::<i64>().expect("a key");
    let hold = json!({"rule": "jobs", "key": key, "reason": "audit"});
    database.call("set_hold", hold).expect("a hold");
    for change in [
        format!("UPDATE job SET state = 0 WHERE id = {}", found[23]),
        format!("UPDATE job SET at = '2100-01-01' WHERE id = {}", found[24]),
        format!("DELETE FROM job WHERE id = {}", found[25]),
        format!("UPDATE job SET project = -1 WHERE id = {}", found[36]),
    ] {
        database.execute(&change);
    }
    let mut left = [12, 23, 24, 36].map(|place| found[place].clone()).to_vec();
    if policies {
        let dropped = database.number(&format!("SELECT project FROM job WHERE id = {}", found[11]));
        let others = left.join(", ");
        left.extend(database.texts(&format!(
            "SELECT CONCAT(id, '') FROM job WHERE project = {dropped} AND id NOT IN ({others})"
        )));
        let policy = json!({"rule": "jobs", "scope": dropped.to_string()});
        database.call("drop_policy", policy).expect("no policy");
        // It is due then, and cannot be deleted.
        let policy = json!({"rule": "jobs", "scope": "-1", "retention": "30d"});
        database.set_policy(policy).expect("a policy");
    }
    left
}

/// What a run of many batches reads of rows and entries of indexes, as the server counts it.
fn read_by_a_run(dialect: Dialect, scopes: i64) -> i64 {
    let mut database = listed(dialect, scopes);
    database
        .set_setting("batch_families", 5)
        .expect("a setting");
    let counted = |database: &mut Installation| -> i64 {
        database.handled("read_key") + database.handled("read_next")
    };
    let before = counted(&mut database);
    let run = database.run(json!({"run_families": 400})).expect("a run");
    assert_eq!(run["rules"][0]["batches"], 80, "{run}");
    counted(&mut database) - before
}

/// Each batch looked for the next roots of every scope.
fn batches_of_many_scopes_read_little_more(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let (one, many) = (read_by_a_run(dialect, 1), read_by_a_run(dialect, SCOPES));
    assert!(
        many < one * 2,
        "{many} with {SCOPES} scopes, {one} with one"
    );
}

/// Each scope took ten statements, and most have a few roots.
fn a_search_of_many_scopes_is_one_statement_for_each(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let counted = |database: &mut Installation| -> i64 {
        let kinds = ["select", "insert_select", "update", "update_multi"];
        let counts = kinds.map(|kind| database.counted(&format!("Com_{kind}")));
        counts.iter().sum()
    };
    let [few, many] = [SCOPES, 1_000].map(|scopes| {
        let mut database = listed(dialect, scopes);
        let before = counted(&mut database);
        let run = database.run(json!({})).expect("a run");
        assert_eq!(run["rules"][0]["families"], SCOPES * FAMILIES, "{run}");
        counted(&mut database) - before
    });
    assert!(
        many < few + 1_000,
        "{many} statements for 1,000 scopes, {few} for {SCOPES}"
    );
}

/// A run comes to the end, goes around, and searches anew; the batch that did so fails at first.
fn what_was_found_and_rolled_back_is_found_again(flavour: Flavour) {
    let mut database = listed(dialect_of(flavour), 6);
    database.execute(
        "UPDATE job SET at = TIMESTAMPADD(YEAR, 1, at) WHERE id <= 3000;
         UPDATE job SET project = 7 WHERE id > 5990",
    );
    let run = database.run(json!({"run_families": 1000})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1000, "{run}");
    let policy = json!({"rule": "jobs", "scope": "7", "retention": "30d"});
    database.set_policy(policy).expect("a policy");
    database.execute("UPDATE job SET at = '2019-01-01' WHERE project = 7");
    database
        .session
        .execute(
            "CREATE TRIGGER veto BEFORE DELETE ON job FOR EACH ROW
                 IF OLD.project = 7 AND @vetoed IS NULL THEN SET @vetoed = 1; SIGNAL SQLSTATE '45000'; END IF",
        )
        .expect("a trigger");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["reason"], "nothing left", "{run}");
    assert_eq!(database.number("SELECT @vetoed"), 1);
    assert!(database.texts("SELECT CONCAT(id, '') FROM job").is_empty());
}

/// No row has it, and neither a preview nor a run could compare it with what rows have.
fn a_scope_that_its_column_has_no_room_for_is_refused(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let kinds = [
        ("varchar(5)", "varchar", "abcde", "abcdef"),
        ("enum('a', 'it''s')", "varchar", "it's", "b"),
        ("binary(2)", "binary", "4142", "414243"),
        ("tinyint", "smallint", "-128", "128"),
        ("tinyint", "smallint", "127", "-129"),
        ("smallint unsigned", "integer", "65535", "-1"),
        ("int", "bigint", "-2147483648", "2147483648"),
        ("bigint unsigned", "bigint", "9223372036854775807", "-1"),
        ("decimal(3)", "numeric", "-999", "1000"),
    ];
    for (kind, word, fits, too_much) in one_of(2, kinds) {
        let spec = format!(
            r#"
name = "scopes"
dialects = ["mysql", "mariadb"]
database = "scopes"

[tables]
job = {{ key = "id bigint" }}

[rules.jobs]
strategy = "end-time"
root = "job"
final = {{ state = "done" }}
end_time = "ended_at"
retention = {{ default = "30d", minimum = "7d", safety_lag = "1d", per = "tenant {word}" }}
"#
        );
        let written = match word {
            "varchar" => format!("'{}'", fits.replace('\'', "''")),
            "binary" => format!("X'{fits}'"),
            _ => fits.to_owned(),
        };
        let schema = format!(
            "CREATE TABLE job (id bigint PRIMARY KEY, state varchar(9) NOT NULL, tenant {kind} NOT NULL, ended_at datetime);
             INSERT INTO job VALUES (1, 'done', {written}, '2024-01-01')"
        );
        let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
        let told = database.set_policy(json!({ "scope": too_much, "retention": "90d" }));
        let told = format!("{told:?}");
        assert!(told.contains("not a scope of rule jobs"), "{kind}: {told}");
        let set = database.set_policy(json!({ "scope": fits, "retention": "90d" }));
        assert!(set.is_ok(), "{kind}: {set:?}");
        let preview = database.preview(json!({})).expect("a preview");
        assert_eq!(preview["rules"][0]["families"], 1, "{kind}: {preview}");
    }
}

/// An ENUM takes digits that are no label of it for the place of one.
fn digits_are_no_place_of_a_label(flavour: Flavour) {
    let spec = r#"
name = "scopes"

[tables]
job = { key = "id bigint" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = 1 }
end_time  = "ended"
retention = { per = "kind varchar", from = "job_kind: name -> keep days", default = "30d", safety_lag = "0s" }
"#;
    let schema = "CREATE TABLE job_kind (name varchar(20) PRIMARY KEY, keep integer);
         CREATE TABLE job (id bigint PRIMARY KEY, kind enum('a', 'b', '1'), state integer NOT NULL, ended datetime NOT NULL)";
    let mut database = Installation::of(dialect_of(flavour), schema, &graph_of(spec));
    database.arm();
    database.execute(
        "INSERT INTO job_kind VALUES ('2', 2), ('1', 100);
         INSERT INTO job VALUES (1, 'b', 1, UTC_TIMESTAMP() - INTERVAL 10 DAY), (2, '1', 1, UTC_TIMESTAMP() - INTERVAL 50 DAY),
             (3, 'a', 1, '2020-01-01')",
    );
    for mode in ["", "STRICT_ALL_TABLES"] {
        database.execute(&format!("SET SESSION sql_mode = '{mode}'"));
        let due = "SELECT families FROM W.due_now";
        assert_eq!(database.number(due), 1, "{mode}");
        let preview = database.preview(json!({})).expect("a preview");
        assert_eq!(preview["rules"][0]["families"], 1, "{mode}: {preview}");
    }
    let run = database.run(json!({})).expect("a run");
    assert_eq!(
        database.texts("SELECT CONCAT(id, '') FROM job ORDER BY id"),
        ["1", "2"],
        "{run}"
    );
}

/// As where files of several versions were applied by hand.
fn without_a_least_time_what_is_kept_for_ever_stays(flavour: Flavour) {
    let schema = "CREATE TABLE job (id bigint PRIMARY KEY, project bigint NOT NULL, state integer NOT NULL, at datetime NOT NULL);
         CREATE TABLE ticket (id bigint PRIMARY KEY, team varchar(50) NOT NULL, state integer NOT NULL, at datetime NOT NULL)";
    let mut database = Installation::of(dialect_of(flavour), schema, &graph());
    database.arm();
    database.execute(
        "INSERT INTO job VALUES (1, 1, 1, '2020-01-01'), (2, 2, 1, '2020-01-02');
         UPDATE W.rule SET document = JSON_REMOVE(document, '$.least')",
    );
    let policy = json!({"rule": "jobs", "scope": "1", "enabled": false});
    database.set_policy(policy).expect("a policy");
    for routine in ["run", "purge"] {
        let options = match routine {
            "run" => json!({"rule": "jobs"}),
            _ => json!({"rule": "jobs", "key": [1]}),
        };
        let answer = database.call(routine, options);
        let kept = database.number("SELECT COUNT(*) FROM job WHERE id = 1");
        assert_eq!(kept, 1, "{routine}: {answer:?}");
    }
}
