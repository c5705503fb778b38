//! Scopes that are spelled otherwise than the rows: as their column compares them, so everything that names scopes does.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        a_run_for_a_scope_knows_its_policy_in_each_spelling,
        of_policies_that_are_one_the_stricter_counts,
        only_what_opted_in_in_any_spelling_is_cleaned,
        a_policy_has_one_spelling,
        the_newest_of_a_group_are_kept_in_each_spelling,
        files_are_recorded_unless_a_policy_of_any_spelling_says_otherwise,
    ],
    on_postgres: [
        definitions_that_compare_otherwise_delete_no_more,
        texts_that_stand_in_another_order_are_not_searched,
    ],
}

/// With `{}` for the retention.
const SPEC: &str = r#"
name = "spelled"

[tables]
job = { key = "id bigint" }

[rules.jobs]
strategy   = "end-time"
root       = "job"
final      = { state = 1 }
end_time   = "at"
retention  = { {} }
"#;

const DEFAULT: &str = "default = \"30d\", minimum = \"1d\"";
const PER: &str = "per = \"team varchar\"";
const FROM: &str = "from = \"team: name -> keep_days days\"";

/// PostgreSQL compares by bytes unless a column has a collation of its own.
fn schema(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
             CREATE TABLE job (id bigint PRIMARY KEY, team varchar(40) COLLATE alike, state integer NOT NULL, at timestamp, log varchar(40));
             CREATE INDEX ON job (team, at); CREATE INDEX ON job (at);
             CREATE TABLE team (name varchar(40) PRIMARY KEY, keep_days bigint)"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "CREATE TABLE job (id bigint PRIMARY KEY, team varchar(40), state integer NOT NULL, at datetime(6), log varchar(40), KEY (team, at), KEY (at))
                DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci;
             CREATE TABLE team (name varchar(40) PRIMARY KEY, keep_days bigint) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin"
        }
    }
}

fn ago(dialect: Dialect, days: i64) -> String {
    match dialect {
        Dialect::Postgres => format!("(now() AT TIME ZONE 'UTC') - INTERVAL '{days} days'"),
        Dialect::Mysql | Dialect::Mariadb => format!("UTC_TIMESTAMP(6) - INTERVAL {days} DAY"),
    }
}

/// Deletes rows with texts in just this spelling.
fn drop_spelled(database: &mut Installation, from: &str, column: &str, texts: &str) {
    let exactly = match database.dialect {
        Dialect::Postgres => format!("{column} COLLATE \"C\""),
        Dialect::Mysql | Dialect::Mariadb => format!("BINARY {column}"),
    };
    database.execute(&format!("DELETE FROM {from} WHERE {exactly} IN ({texts})"));
}

/// Jobs of teams that ended so many days ago, with their place as key.
fn database(dialect: Dialect, retention: &str, jobs: &[(&str, i64)]) -> Installation {
    let graph = graph_of(&SPEC.replace("{}", retention));
    let mut database = Installation::of(dialect, schema(dialect), &graph);
    for (place, (team, days)) in jobs.iter().enumerate() {
        let (place, at) = (place + 1, ago(dialect, *days));
        database.execute(&format!(
            "INSERT INTO job (id, team, state, at) VALUES ({place}, '{team}', 1, {at})"
        ));
    }
    database.arm();
    database
}

fn left(database: &mut Installation) -> Vec<i64> {
    let left = database.texts("SELECT CONCAT(id, '') FROM job ORDER BY id");
    left.iter().map(|id| id.parse().expect("a key")).collect()
}

/// What is due, by a preview and by the view, which must agree.
fn due(database: &mut Installation) -> i64 {
    let preview = database.preview(json!({})).expect("a preview");
    let due = preview["rules"][0]["families"].as_i64().expect("a number");
    if database.dialect != Dialect::Postgres {
        let seen = database.number("SELECT families FROM W.due_now");
        assert_eq!(seen, due, "{preview}");
    }
    due
}

/// Runs with these options, and says what it deleted and what is left.
fn run(database: &mut Installation, options: Value) -> (i64, Vec<i64>) {
    let told = options.to_string();
    let answer = database.run(options).expect("a run");
    assert_eq!(answer["status"], "done", "{told}: {answer}");
    let families = answer["rules"][0]["families"].as_i64().expect("a number");
    (families, left(database))
}

/// A policy that is written past set_policy(), as an earlier version let it be.
fn written(database: &mut Installation, scope: &str, days: i64, enabled: bool) {
    database.execute(&format!(
        "INSERT INTO W.policy (rule, scope, enabled, retention_seconds, changed_by, changed_at)
         VALUES ('jobs', '{scope}', {enabled}, {days} * 86400, 'x', CURRENT_TIMESTAMP)"
    ));
}

fn a_run_for_a_scope_knows_its_policy_in_each_spelling(dialect: Dialect) {
    let jobs = [
        ("Prod", 40),
        ("prod", 40),
        ("Müller", 40),
        ("x", 40),
        ("y", 40),
        ("Müller", 200),
    ];
    let values = "by_value = { Prod = \"3650d\", \"Müller\" = \"100d\" }";
    for source in ["", values, FROM] {
        let retention = format!(
            "{DEFAULT}, {PER}{}{source}",
            if source.is_empty() { "" } else { ", " }
        );
        let mut database = database(dialect, &retention, &jobs);
        match source {
            "" => {
                let kept = json!({"scope": "Prod", "enabled": false});
                database.set_policy(kept).expect("a policy");
                let longer = json!({"scope": "Müller", "retention": "100d"});
                database.set_policy(longer).expect("a policy");
            }
            FROM => database
                .execute("INSERT INTO team VALUES ('Prod', -1), ('Müller', 100), ('X', NULL)"),
            _ => (),
        }
        assert_eq!(due(&mut database), 3, "{source}");
        assert_eq!(
            run(&mut database, json!({"scope": "prod"})).0,
            0,
            "{source}"
        );
        let short = json!({"scope": "PROD", "as_of": "2026-01-01"});
        assert_eq!(run(&mut database, short).0, 0, "{source}");
        let (families, rest) = run(&mut database, json!({"scope": "muller"}));
        assert_eq!((families, rest), (1, vec![1, 2, 3, 4, 5]), "{source}");
        let (families, rest) = run(&mut database, json!({"scope": "X"}));
        assert_eq!((families, rest), (1, vec![1, 2, 3, 5]), "{source}");
        let (families, rest) = run(&mut database, json!({}));
        assert_eq!((families, rest), (1, vec![1, 2, 3]), "{source}");
        if source.is_empty() {
            // The retention of a run is that of all scopes, but for those that are kept.
            let shorter = json!({"scope": "muller", "retention": "2d"});
            assert_eq!(run(&mut database, shorter), (1, vec![1, 2]));
            let shorter = json!({"scope": "PROD", "retention": "2d"});
            assert_eq!(run(&mut database, shorter), (0, vec![1, 2]));
        }
    }
}

fn of_policies_that_are_one_the_stricter_counts(dialect: Dialect) {
    let jobs = [("Prod", 40), ("prod", 90), ("x", 40), ("X", 10), ("y", 40)];
    let mut database = database(dialect, &format!("{DEFAULT}, {PER}"), &jobs);
    written(&mut database, "Prod", 35, true);
    written(&mut database, "prod", 60, true);
    written(&mut database, "x", 5, true);
    written(&mut database, "X", 5, false);
    assert_eq!(due(&mut database), 2);
    assert_eq!(run(&mut database, json!({})), (2, vec![1, 3, 4]));
    drop_spelled(&mut database, "W.policy", "scope", "'prod', 'X'");
    assert_eq!(due(&mut database), 3);
    assert_eq!(
        run(&mut database, json!({"scope": "pROD"})),
        (1, vec![3, 4])
    );
    assert_eq!(run(&mut database, json!({})), (2, vec![]));

    // The same of what the spec says by value, and of definitions; and any policy goes before them.
    for source in [
        "by_value = { Prod = \"35d\", PROD = \"60d\", x = \"5d\" }",
        FROM,
    ] {
        let mut database = self::database(dialect, &format!("{DEFAULT}, {PER}, {source}"), &jobs);
        if source == FROM {
            database.execute("INSERT INTO team VALUES ('Prod', 35), ('PROD', 60), ('x', 5)");
        }
        assert_eq!(due(&mut database), 4, "{source}");
        let kept = json!({"scope": "X", "enabled": false});
        database.set_policy(kept).expect("a policy");
        assert_eq!(due(&mut database), 2, "{source}");
        assert_eq!(
            run(&mut database, json!({})),
            (2, vec![1, 3, 4]),
            "{source}"
        );
        let shorter = json!({"scope": "pRod", "retention": "10d"});
        database.set_policy(shorter).expect("a policy");
        assert_eq!(due(&mut database), 1, "{source}");
        assert_eq!(run(&mut database, json!({})), (1, vec![3, 4]), "{source}");
    }
}

fn only_what_opted_in_in_any_spelling_is_cleaned(dialect: Dialect) {
    let jobs = [("Prod", 40), ("prod", 90), ("x", 40), ("X", 10), ("y", 40)];
    let mut database = database(dialect, &format!("{DEFAULT}, {PER}, opt_in = true"), &jobs);
    written(&mut database, "Prod", 35, true);
    written(&mut database, "prod", 60, true);
    written(&mut database, "x", 5, true);
    written(&mut database, "X", 5, false);
    assert_eq!(due(&mut database), 1);
    assert_eq!(run(&mut database, json!({"scope": "X"})).0, 0);
    assert_eq!(
        run(&mut database, json!({"scope": "pROD"})),
        (1, vec![1, 3, 4, 5])
    );
    drop_spelled(&mut database, "W.policy", "scope", "'prod', 'X'");
    assert_eq!(due(&mut database), 3);
    assert_eq!(run(&mut database, json!({})), (3, vec![5]));

    // A definition without a time keeps, in whatever spelling.
    let retention = format!("minimum = \"1d\", {PER}, {FROM}");
    let mut database = self::database(dialect, &retention, &jobs);
    database.execute("INSERT INTO team VALUES ('Prod', 35), ('PROD', 60), ('x', 5), ('X', NULL)");
    assert_eq!(due(&mut database), 1);
    assert_eq!(run(&mut database, json!({})), (1, vec![1, 3, 4, 5]));
    drop_spelled(&mut database, "team", "name", "'PROD', 'X'");
    assert_eq!(due(&mut database), 3);
    assert_eq!(run(&mut database, json!({})), (3, vec![5]));
}

fn a_policy_has_one_spelling(dialect: Dialect) {
    let mut database = database(dialect, &format!("{DEFAULT}, {PER}"), &[]);
    let policy = |scope: &str| json!({"scope": scope, "retention": "40d"});
    database.set_policy(policy("Prod")).expect("a policy");
    for other in ["prod", "PROD", "pröd"] {
        let refused = database.set_policy(policy(other)).expect_err("one policy");
        let told = format!("{refused:?}");
        assert!(told.contains("Prod") && told.contains(other), "{told}");
    }
    database
        .set_policy(policy("Prod"))
        .expect("the same policy");
    database
        .set_policy(policy("product"))
        .expect("another policy");
    let scopes = database.texts("SELECT scope FROM W.policy ORDER BY scope");
    assert_eq!(scopes, ["Prod", "product"]);
    // Another collation tells them apart.
    database.execute(match dialect {
        Dialect::Postgres => "ALTER TABLE job ALTER team TYPE varchar(40) COLLATE \"default\"",
        Dialect::Mysql | Dialect::Mariadb => {
            "ALTER TABLE job MODIFY team varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        }
    });
    database.set_policy(policy("prod")).expect("another policy");
}

/// The roots of such a rule are listed by a routine of their own.
fn the_newest_of_a_group_are_kept_in_each_spelling(dialect: Dialect) {
    let jobs = [
        ("Prod", 80),
        ("prod", 90),
        ("PROD", 45),
        ("x", 40),
        ("X", 50),
    ];
    for opt_in in ["", ", opt_in = true"] {
        let keep = "keep = { newest = 1, per = \"team varchar\", by = \"at\"";
        let retention = format!("{DEFAULT}, {PER}{opt_in} }}\n{keep}");
        let mut database = database(dialect, &retention, &jobs);
        written(&mut database, "Prod", 35, true);
        written(&mut database, "prod", 85, true);
        written(&mut database, "x", 5, true);
        assert_eq!(due(&mut database), 2, "{opt_in}");
        let (families, rest) = run(&mut database, json!({"scope": "PRoD"}));
        assert_eq!((families, rest), (1, vec![1, 3, 4, 5]), "{opt_in}");
        let (families, rest) = run(&mut database, json!({}));
        assert_eq!((families, rest), (1, vec![1, 3, 4]), "{opt_in}");
    }
}

fn files_are_recorded_unless_a_policy_of_any_spelling_says_otherwise(dialect: Dialect) {
    let jobs = [("Prod", 40), ("prod", 40), ("x", 40)];
    let files = "artifacts = [{ table = \"job\", path = \"log\" }]\nlimits = { batch_families = 10";
    let retention = format!("{DEFAULT}, {PER} }}\n{files}");
    let mut database = database(dialect, &retention, &jobs);
    database.execute("UPDATE job SET log = CONCAT('/', id)");
    let policy = json!({"scope": "Prod", "artifacts": false});
    database.set_policy(policy).expect("a policy");
    assert_eq!(run(&mut database, json!({})), (3, vec![]));
    assert_eq!(database.texts("SELECT path FROM W.artifact"), ["/3"]);
}

/// The table of definitions takes `x` and `X` for one, the table of jobs does not. What counts is what keeps longer.
fn definitions_that_compare_otherwise_delete_no_more() {
    let jobs = [("x", 40), ("X", 40), ("X", 10), ("y", 40)];
    // What the definition of `x` says in days, and which jobs stay: of all, of `x`, and of `X`.
    let shorter: [&[i64]; 3] = [&[3], &[2, 3, 4], &[1, 3, 4]];
    let longer: [&[i64]; 3] = [&[1, 2, 3], &[1, 2, 3, 4], &[1, 2, 3, 4]];
    let listed: [&[i64]; 3] = [&[2, 3, 4], &[2, 3, 4], &[1, 2, 3, 4]];
    for (default, days, stays) in [
        (DEFAULT, 5, shorter),
        (DEFAULT, 100, longer),
        ("minimum = \"1d\"", 5, listed),
    ] {
        for (scope, stays) in [None, Some("x"), Some("X")].into_iter().zip(stays) {
            let retention = format!("{default}, {PER}, {FROM}");
            let mut database = database(Dialect::Postgres, &retention, &jobs);
            database.execute(&format!(
                "ALTER TABLE job ALTER team TYPE varchar(40) COLLATE \"default\";
                 ALTER TABLE team ALTER name TYPE varchar(40) COLLATE alike;
                 INSERT INTO team VALUES ('x', {days})"
            ));
            database.arm();
            let options = scope.map_or(json!({}), |scope| json!({"scope": scope}));
            let (_, rest) = run(&mut database, options);
            assert_eq!(rest, stays, "{default} {days} {scope:?}");
        }
    }
}

/// As with another image over the same files: an index does not find a hold that is there.
fn texts_that_stand_in_another_order_are_not_searched() {
    let jobs = [("a", 40), ("b", 40), ("c", 40)];
    let mut installation = database(Dialect::Postgres, DEFAULT, &jobs);
    installation.execute("UPDATE pg_collation SET collversion = '1.0' WHERE collname = 'alike'");
    let said = "the collation alike has changed: its indexes are of version 1.0, the server has ";
    let runs = [json!({}), json!({"dry_run": true})];
    for options in runs {
        let refused = installation.run(options).expect_err("other texts");
        assert!(format!("{refused:#}").contains(said), "{refused:#}");
    }
    let refused = installation.attempt("CALL W.arm()").expect_err("texts");
    assert!(format!("{refused:#}").contains(said), "{refused:#}");
    let run = installation.run(json!({"trigger": "SCHEDULED"}));
    let run = run.expect("an answer");
    assert!(run["reason"].to_string().contains(said), "{run}");
    let verify = installation.call("verify", json!({})).expect("verify");
    assert!(verify.to_string().contains(said), "{verify}");
    assert_eq!(installation.number("SELECT count(*) FROM job"), 3);

    installation.execute("REINDEX TABLE job; ALTER COLLATION alike REFRESH VERSION");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 3, "{run}");
}
