//! Rows that come below a row of a family while a batch deletes it: the batch waits for whoever brings them, and then they are
//! deleted, counted and archived like the others. A foreign key that cascades has nothing left to do, and one that refuses
//! refuses nothing.

pub(crate) mod keepers;
pub(crate) mod moved;
pub(crate) mod rootless;
pub(crate) mod strangers;
pub(crate) mod timed;

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::effort::half;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;
use crate::support::keyed::{self, Rows};
use crate::support::meanwhile::meanwhile;
use crate::support::patience::until;

tests! {
    each_server: [
        what_comes_below_a_step_goes_with_it,
        what_comes_below_a_step_goes_with_it_by_a_purge,
        what_comes_while_a_batch_waits_for_a_step_goes_with_its_own,
        what_comes_with_a_step_of_its_own_goes_with_it,
    ],
    on_postgres: [
        what_comes_instead_of_a_step_that_went_goes_with_it,
        a_session_that_checks_no_foreign_key_deletes_nothing,
        what_only_a_disabled_key_would_keep_stays,
    ],
    on_mariadb: [
        a_session_that_looks_into_the_past_deletes_what_is_there_now,
    ],
}

/// A run has steps, and these have parts.
const SPEC: &str = r#"
name = "beneath"

[tables]
run  = { key = "id bigint" }
step = { key = "id bigint", parents = ["run_id -> run.id"] }
part = { key = "id bigint", parents = ["step_id -> step.id"] }

[rules.history]
root      = "run"
archive   = ARCHIVE
"#;

pub(crate) const STRATEGIES: [&str; 4] = [
    "strategy = \"end-time\"\nfinal = { state = 1 }\nend_time = \"ended\"\nretention = { default = \"30d\" }\n",
    "strategy = \"expiry\"\ntime = \"ended\"\n",
    "strategy = \"keep-last\"\nkeep = { newest = 1, per = [\"state integer\"], by = \"ended timestamp\" }\n",
    "strategy = \"orphan\"\nneeds = [\"state -> kind.id\"]\ntime = \"ended\"\nretention = { default = \"30d\" }\n",
];

const TABLES: [&str; 3] = ["run", "step", "part"];

/// Rows from this key on are never due.
const FILL: i64 = 1000;

fn database(dialect: Dialect, strategy: &str, archive: bool, action: &str) -> Installation {
    let key = format!(", FOREIGN KEY (run_id) REFERENCES run (id) ON DELETE {action}");
    database_with(dialect, strategy, archive, action, &key)
}

/// The same with another foreign key of steps, or none.
fn database_with(
    dialect: Dialect,
    strategy: &str,
    archive: bool,
    action: &str,
    key: &str,
) -> Installation {
    let below = format!(", FOREIGN KEY (step_id) REFERENCES step (id) ON DELETE {action}");
    database_of(dialect, strategy, archive, key, &below)
}

/// The same with other foreign keys of steps and of parts, or none.
fn database_of(
    dialect: Dialect,
    strategy: &str,
    archive: bool,
    key: &str,
    below: &str,
) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE kind (id integer PRIMARY KEY);
         CREATE TABLE run (id bigint PRIMARY KEY, state integer, ended {time});
         CREATE TABLE step (id bigint PRIMARY KEY, run_id bigint{key});
         CREATE TABLE part (id bigint PRIMARY KEY, step_id bigint{below});
         CREATE INDEX step_run ON step (run_id);
         CREATE INDEX part_step ON part (step_id);
         CREATE INDEX run_ended ON run (ended, id);"
    );
    let spec = SPEC.replace("ARCHIVE", &archive.to_string()) + strategy;
    let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
    database.arm();
    let rows = format!(
        "INSERT INTO run VALUES (1, 1, '2020-01-01'), (2, 1, '2020-01-02'), (5000, 1, '2999-01-01'), {};
         INSERT INTO step VALUES (10, 1), (11, 1), (20, 2), {};
         INSERT INTO part VALUES (100, 10), (110, 11), (200, 20), {}",
        many("NULL, '2999-01-01'"),
        many("1000"),
        many("1000"),
    );
    fill(&mut database, &["part", "step", "run"], &rows);
    database
}

/// Rows beside those that matter: where there are few, a scan looks cheap, and locks them all.
fn many(values: &str) -> String {
    let rows = (FILL..FILL + 300).map(|id| format!("({id}, {values})"));
    rows.collect::<Vec<_>>().join(", ")
}

/// Loads the rows of tables, children first, and has the server count them; a wait for a lock is longer than any machine takes for
/// what happens meanwhile.
fn fill(database: &mut Installation, tables: &[&'static str], rows: &str) {
    keyed::load(database, tables, rows, &[]);
    let analyze = match database.dialect {
        Dialect::Postgres => "ANALYZE".to_owned(),
        Dialect::Mysql | Dialect::Mariadb => format!("ANALYZE TABLE {}", tables.join(", ")),
    };
    database.session.query(&analyze, &[]).expect("statistics");
    database
        .set_setting("lock_timeout", 60_000)
        .expect("a setting");
}

/// What a call answers that waits for what another session has done and not committed.
fn beside(database: &mut Installation, does: &str, routine: &'static str, options: Value) -> Value {
    beside_too(database, does, routine, options, || ())
}

/// The same where something else happens before that session lets go.
fn beside_too(
    database: &mut Installation,
    does: &str,
    routine: &'static str,
    options: Value,
    happens: impl FnOnce(),
) -> Value {
    let mut rival = database.connect();
    rival.execute("BEGIN").expect("a transaction");
    rival.execute(does).expect("a statement");
    meanwhile(database, &mut rival, routine, options, |_, _| happens())
}

fn left(database: &mut Installation) -> Rows {
    let mut rows = keyed::left(database, &TABLES);
    rows.retain(|(_, id)| *id < FILL);
    rows
}

fn archived(database: &mut Installation, table: &str) -> Vec<String> {
    database.texts(&format!("SELECT id FROM W.archive_{table} ORDER BY id"))
}

/// Below a step that has parts, and below one that has none.
const COMES: &str = "INSERT INTO part VALUES (101, 10), (300, 12)";

/// A step without parts.
const STEP: &str = "INSERT INTO step VALUES (12, 1)";

fn what_comes_below_a_step_goes_with_it(dialect: Dialect) {
    for (round, strategy) in STRATEGIES.iter().enumerate() {
        // Where none was there before, a look finds nothing to delete.
        let ways = [
            (true, "CASCADE", true),
            (true, "NO ACTION", false),
            (false, "CASCADE", false),
            (false, "NO ACTION", true),
        ];
        for (archive, action, bare) in half(dialect, round, ways) {
            let context = format!("{strategy}{archive} {action} {bare}");
            let mut database = database(dialect, strategy, archive, action);
            database.execute(STEP);
            if bare {
                database.execute(&format!("DELETE FROM part WHERE id < {FILL}"));
            }
            let answer = beside(&mut database, COMES, "run", json!({}));
            let mut parts = vec!["101", "300"];
            if !bare {
                parts.extend(["100", "110", "200"]);
                parts.sort_unstable();
            }
            all_went(&mut database, &answer, &parts, &context);
            if archive {
                assert_eq!(archived(&mut database, "part"), parts, "{context}");
                assert_eq!(archived(&mut database, "step"), ["10", "11", "12", "20"]);
            }
        }
    }
}

/// That a run has deleted all that was due at once, and has counted these parts.
fn all_went(database: &mut Installation, answer: &Value, parts: &[&str], context: &str) {
    let rule = &answer["rules"][0];
    assert_eq!(answer["status"], "done", "{context}: {answer}");
    assert_eq!(rule["families"], 2, "{context}: {answer}");
    let tables = json!({"part": parts.len(), "step": 4, "run": 2});
    assert_eq!(rule["tables"], tables, "{context}: {answer}");
    assert_eq!(rule["skipped"], json!({}), "{context}: {answer}");
    assert_eq!(left(database), Rows::new(), "{context}: {answer}");
}

/// The rival holds one step, and another session brings a part of one that the batch comes to later: that session waits for the
/// batch, or the batch takes the part.
fn what_comes_while_a_batch_waits_for_a_step_goes_with_its_own(dialect: Dialect) {
    for (round, strategy) in STRATEGIES.iter().enumerate() {
        let ways = [(true, "CASCADE"), (false, "NO ACTION")];
        for (archive, action) in half(dialect, round, ways) {
            let context = format!("{strategy}{archive} {action}");
            let mut database = database(dialect, strategy, archive, action);
            database.execute(STEP);
            let mut other = database.connect();
            other
                .execute(match dialect {
                    Dialect::Postgres => "SET lock_timeout = '1s'",
                    Dialect::Mysql | Dialect::Mariadb => "SET innodb_lock_wait_timeout = 1",
                })
                .expect("a setting");
            let mut came = [false, false];
            let holds = "SELECT id FROM step WHERE id = 11 FOR UPDATE";
            let answer = beside_too(&mut database, holds, "run", json!({}), || {
                for (came, step) in came.iter_mut().zip([10, 12]) {
                    let part = format!("INSERT INTO part VALUES ({step}9, {step})");
                    *came = other.execute(&part).is_ok();
                }
            });
            let mut parts = vec!["100", "110", "200"];
            parts.extend(came[0].then_some("109"));
            parts.extend(came[1].then_some("129"));
            parts.sort_unstable();
            all_went(&mut database, &answer, &parts, &context);
            if archive {
                assert_eq!(archived(&mut database, "part"), parts, "{context}");
            }
        }
    }
}

/// No key has a step wait for the batch that deletes its run: one comes with a part after the batch has deleted the parts of that.
fn what_comes_with_a_step_of_its_own_goes_with_it(dialect: Dialect) {
    for (round, strategy) in STRATEGIES.iter().enumerate() {
        let ways = [(true, "CASCADE"), (false, "CASCADE"), (true, "NO ACTION")];
        for (archive, action) in half(dialect, round, ways) {
            let context = format!("{strategy}{archive} {action}");
            let mut database = database_with(dialect, strategy, archive, action, "");
            let mut other = database.connect();
            let holds = "SELECT id FROM part WHERE id = 200 FOR UPDATE";
            let answer = beside_too(&mut database, holds, "run", json!({}), || {
                for row in ["step VALUES (13, 1)", "part VALUES (130, 13)"] {
                    other.execute(&format!("INSERT INTO {row}")).expect(row);
                }
            });
            let parts = ["100", "110", "130", "200"];
            all_went(&mut database, &answer, &parts, &context);
            if archive {
                assert_eq!(archived(&mut database, "part"), parts, "{context}");
            }
        }
    }
}

/// A step that the batch has read is deleted before it is locked, and another one comes with a part: there are as many as were read.
fn what_comes_instead_of_a_step_that_went_goes_with_it() {
    let dialect = Dialect::Postgres;
    for strategy in STRATEGIES {
        let mut database = database_with(dialect, strategy, false, "CASCADE", "");
        let mut other = database.connect();
        other.execute("BEGIN").expect("a transaction");
        let holds = "SELECT id FROM part WHERE id = 200 FOR UPDATE";
        other.query(holds, &[]).expect("a lock");
        let mut rival = database.connect();
        rival.execute("BEGIN").expect("a transaction");
        let takes = "DELETE FROM part WHERE step_id = 11; DELETE FROM step WHERE id = 11";
        rival.execute(takes).expect("a deletion");
        let answer = meanwhile(
            &mut database,
            &mut rival,
            "run",
            json!({}),
            |database, rival| {
                rival.execute("COMMIT").expect("it lets go");
                let waits = "SELECT COUNT(*) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0";
                until("the batch waits for a part", || {
                    Ok(database.number(waits) > 0)
                })
                .expect("it waits");
                for row in ["step VALUES (13, 1)", "part VALUES (130, 13)"] {
                    other.execute(&format!("INSERT INTO {row}")).expect(row);
                }
                other.execute("COMMIT").expect("it lets go");
            },
        );
        let rule = &answer["rules"][0];
        let tables = json!({"part": 3, "step": 3, "run": 2});
        assert_eq!(rule["tables"], tables, "{strategy}: {answer}");
        assert_eq!(left(&mut database), Rows::new(), "{strategy}: {answer}");
    }
}

fn what_comes_below_a_step_goes_with_it_by_a_purge(dialect: Dialect) {
    for strategy in STRATEGIES {
        let mut database = database(dialect, strategy, true, "CASCADE");
        database.execute(STEP);
        let purge = json!({"key": [1]});
        let answer = beside(&mut database, COMES, "purge", purge);
        let tables = json!({"part": 4, "step": 3, "run": 1});
        assert_eq!(answer["rules"][0]["tables"], tables, "{strategy}: {answer}");
        let parts = ["100", "101", "110", "300"];
        assert_eq!(archived(&mut database, "part"), parts, "{strategy}");
    }
}

/// Every call that could delete what is there is refused, and says why.
fn nothing_goes(database: &mut Installation, said: &str, there: &Rows) {
    let calls = [
        ("run", json!({})),
        ("run", json!({"dry_run": true})),
        ("purge", json!({"key": [2]})),
        ("arm", json!({})),
    ];
    for (routine, options) in calls {
        let refused = match routine {
            "arm" => database.attempt("CALL W.arm()"),
            _ => database.call(routine, options).map(drop),
        };
        let refused = format!("{:#}", refused.expect_err("no keys"));
        assert!(refused.contains(said), "{routine}: {refused}");
    }
    let run = database
        .run(json!({"trigger": "SCHEDULED"}))
        .expect("a run");
    assert_eq!(run["reason"], said, "{run}");
    assert_eq!(&left(database), there);
}

/// As one that applies what was replicated: not even a key that the spec does not know would refuse.
fn a_session_that_checks_no_foreign_key_deletes_nothing() {
    let mut database = database(Dialect::Postgres, STRATEGIES[0], true, "NO ACTION");
    database.execute(
        "CREATE TABLE bill (id bigint PRIMARY KEY, run_id bigint REFERENCES run (id));
         INSERT INTO bill VALUES (1, 2)",
    );
    let before = left(&mut database);
    let said = "no foreign key is checked: session_replication_role is replica";
    database.execute("SET session_replication_role = replica");
    nothing_goes(&mut database, said, &before);

    database.execute("RESET session_replication_role");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    database.execute("SET session_replication_role = replica");
    let restore = database.call("archive_restore", json!({"run": run["run"]}));
    let refused = format!("{:#}", restore.expect_err("no keys"));
    assert!(refused.contains(said), "{refused}");

    // Where there are none, nothing is missed.
    database.execute(
        "DROP TABLE bill; ALTER TABLE part DROP CONSTRAINT part_step_id_fkey; ALTER TABLE step DROP CONSTRAINT step_run_id_fkey",
    );
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    assert_eq!(left(&mut database), Rows::new());
}

/// Nor where the triggers of the key are disabled, before a run or during one.
fn what_only_a_disabled_key_would_keep_stays() {
    let mut database = database(Dialect::Postgres, STRATEGIES[0], true, "NO ACTION");
    database.execute(
        "CREATE TABLE bill (id bigint PRIMARY KEY, run_id bigint REFERENCES run (id));
         INSERT INTO bill VALUES (1, 2)",
    );
    let before = left(&mut database);
    // A trigger of the application that waits for the end of a transaction is no key.
    database.execute(
        "CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER audit AFTER DELETE ON run DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION audit();
         ALTER TABLE run DISABLE TRIGGER audit",
    );
    let run = database.run(json!({"dry_run": true})).expect("a dry run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    let off = "ALTER TABLE run DISABLE TRIGGER ALL";
    let said = "no foreign key is checked: a trigger of table public.run is disabled";
    for disabled in [
        off,
        "ALTER TABLE run DISABLE TRIGGER ALL; ALTER TABLE step DISABLE TRIGGER ALL",
    ] {
        database.execute(disabled);
        nothing_goes(&mut database, said, &before);
        database.execute("ALTER TABLE run ENABLE TRIGGER ALL; ALTER TABLE step ENABLE TRIGGER ALL");
    }

    // The run has begun; the second of its batches waits for whoever disables them.
    database
        .set_setting("batch_families", 1)
        .expect("a setting");
    let mut rival = database.connect();
    rival.execute("BEGIN").expect("a transaction");
    rival.execute(off).expect("a change");
    let answer = meanwhile(&mut database, &mut rival, "run", json!({}), |_, _| ());
    assert_eq!(answer["status"], "failed", "{answer}");
    assert!(answer["reason"].to_string().contains(said), "{answer}");
    assert_eq!(left(&mut database), before);

    database.execute("ALTER TABLE run ENABLE TRIGGER ALL");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
}

/// A look at a table WITH SYSTEM VERSIONING would find nothing of what came later, and nothing would be deleted.
fn a_session_that_looks_into_the_past_deletes_what_is_there_now() {
    for strategy in STRATEGIES {
        let mut database = database(Dialect::Mariadb, strategy, false, "NO ACTION");
        let key = database.texts(
            "SELECT constraint_name FROM information_schema.referential_constraints
             WHERE constraint_schema = DATABASE() AND table_name = 'part'",
        );
        database.execute(&format!(
            "ALTER TABLE part DROP FOREIGN KEY {}; ALTER TABLE part ADD SYSTEM VERSIONING",
            key.concat()
        ));
        database.arm();
        database.execute(
            "SET SESSION time_zone = '+02:00'; SET SESSION system_versioning_asof = '2001-02-03 04:05:06'",
        );
        let preview = database.preview(json!({})).expect("a preview");
        let run = database.run(json!({})).expect("a run");
        let tables = json!({"part": 3, "step": 3, "run": 2});
        assert_eq!(preview["rules"][0]["tables"], tables, "{preview}");
        assert_eq!(run["rules"][0]["tables"], tables, "{run}");
        // The session has its past again.
        let asof = database.texts("SELECT @@SESSION.system_versioning_asof");
        assert_eq!(asof, ["2001-02-03 04:05:06.000000"]);
        database.execute("SET SESSION system_versioning_asof = DEFAULT");
        assert_eq!(left(&mut database), Rows::new(), "{run}");
    }
}
