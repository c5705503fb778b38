//! What a session has set changes nothing of what a run does in it.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure;
use windrow::graph::Shared;

use super::{SUCCESS, database, insert, left, root, run};
use crate::harness::tests;
use crate::oracle::{figures, finished, now};
use crate::support::effort::seeds;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{Installation, Session, call};
use crate::support::oracle;
use crate::support::world::World;

tests! {
    on_several: [
        a_session_that_commits_itself_runs,
        what_others_changed_meanwhile_is_seen_in_an_open_transaction,
    ],
    every_server: [
        the_settings_of_a_session_change_nothing,
        a_run_inside_a_transaction_is_refused,
    ],
}

fn a_run_inside_a_transaction_is_refused(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    insert(&mut database, &[root(1, SUCCESS, 90)]);
    database.execute("BEGIN");
    let error = database.run(json!({})).expect_err("no run in here");
    let code = match dialect {
        Dialect::Postgres => "2D000",
        Dialect::Mysql | Dialect::Mariadb => "25001",
    };
    assert_eq!(failure::sqlstate(&error), Some(code), "{error:#}");
    database.execute("ROLLBACK");
    assert_eq!(left(&mut database), ["1"]);
    run(&mut database, json!({}));
    assert!(left(&mut database).is_empty());
}

/// As many clients open one: Python's, and whoever has SET autocommit = 0.
fn a_session_that_commits_itself_runs() {
    for dialect in [Dialect::Mysql, Dialect::Mariadb] {
        commits_itself(dialect);
    }
}

/// MySQL and MariaDB: a plain read would see what was there when the transaction began.
fn what_others_changed_meanwhile_is_seen_in_an_open_transaction() {
    for dialect in [Dialect::Mysql, Dialect::Mariadb] {
        let mut database = database(dialect, Shared::Closed);
        let control = database.control.clone();
        let mut session = database.connect();
        session.execute("BEGIN").expect("a transaction");
        let counted = session.query(&database.named("SELECT COUNT(*) FROM W.policy"), &[]);
        counted.expect("what there is now");
        let policy = json!({"scope": "7", "retention": "50d"});
        database.set_policy(policy).expect("a policy");
        let hold = json!({"key": 1, "reason": "test", "even_if_absent": true});
        database.set_hold(hold).expect("a hold");
        database
            .call("pause_rule", json!({"reason": "test"}))
            .expect("a pause");
        let mut call = |routine, options| {
            call(&mut session, dialect, &control, routine, &options)
                .unwrap_or_else(|error| panic!("{dialect:?}, {routine}: {error:#}"))
        };
        let policy = call("set_policy", json!({"scope": "7", "enabled": false}));
        assert_eq!(policy["retention_seconds"], 50 * 86_400, "{policy}");
        let hold = call("release_hold", json!({"key": 1}));
        assert_eq!(hold["reason"], "test", "{hold}");
        let pause = call("resume_rule", json!({}));
        assert_eq!(pause["reason"], "test", "{pause}");
        session.execute("COMMIT").expect("an end");
        assert_eq!(database.number("SELECT COUNT(*) FROM W.hold"), 0);
    }
}

fn commits_itself(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    insert(&mut database, &[root(1, SUCCESS, 90), root(2, SUCCESS, 90)]);
    let control = database.control.clone();
    let mut session = database.connect();
    session.execute("SET autocommit = 0").expect("a setting");
    for (routine, options) in [
        ("preview", json!({})),
        ("outlook", json!({})),
        ("verify", json!({})),
        ("run", json!({"dry_run": true})),
        ("purge", json!({"key": [2]})),
        ("run", json!({})),
    ] {
        let answer = call(&mut session, dialect, &control, routine, &options);
        answer.unwrap_or_else(|error| panic!("{routine}: {error:#}"));
        let rows = session.query("SELECT @@autocommit", &[]).expect("a row");
        assert_eq!(rows[0][0].as_deref(), Some("0"), "{routine}");
    }
    assert!(left(&mut database).is_empty());
    // What is open is the caller's to end.
    let hold = json!({"key": 1, "reason": "test", "even_if_absent": true});
    call(&mut session, dialect, &control, "set_hold", &hold).expect("a hold");
    let error = call(&mut session, dialect, &control, "run", &json!({}));
    let error = error.expect_err("a transaction is open");
    assert_eq!(failure::sqlstate(&error), Some("25001"), "{error:#}");
    session.execute("ROLLBACK").expect("an end");
    assert_eq!(database.number("SELECT COUNT(*) FROM W.hold"), 0);
    call(&mut session, dialect, &control, "run", &json!({})).expect("a run");
}

/// The settings of a session of PostgreSQL, each with a name for a message.
const SESSIONS: [(&str, &str); 13] = [
    ("dates as in German", "SET DateStyle = 'German, DMY'"),
    ("dates as in SQL", "SET DateStyle = 'SQL, DMY'"),
    ("another zone", "SET TimeZone = 'Asia/Tokyo'"),
    ("intervals", "SET IntervalStyle = 'sql_standard'"),
    ("backslashes", "SET standard_conforming_strings = off"),
    (
        "repeatable read",
        "SET default_transaction_isolation = 'repeatable read'",
    ),
    (
        "serializable",
        "SET default_transaction_isolation = 'serializable'",
    ),
    ("nothing on the path", "SET search_path = ''"),
    (
        "NULLs",
        "SET transform_null_equals = on; SET array_nulls = off",
    ),
    (
        "a path full of traps",
        "SET search_path = trap, pg_catalog, public",
    ),
    (
        "no triggers",
        "SET session_replication_role = replica; SET row_security = off; SET quote_all_identifiers = on",
    ),
    (
        "other ways of writing",
        "SET bytea_output = 'escape'; SET extra_float_digits = -15; SET timezone_abbreviations = 'Australia'; SET xmlbinary = hex;
         SET lc_messages = 'C'; SET lc_time = 'C'; SET default_text_search_config = 'simple'; SET check_function_bodies = off",
    ),
    (
        "ambiguous names",
        "SET plpgsql.variable_conflict = use_column; SET plpgsql.extra_errors = 'none'; SET constraint_exclusion = on;
         SET enable_indexscan = off; SET enable_nestloop = off; SET jit_above_cost = 0; SET cursor_tuple_fraction = 0;
         SET plan_cache_mode = force_custom_plan; SET synchronous_commit = off; SET client_min_messages = debug1",
    ),
];

/// Whatever an unqualified name could mean to a session that looks into this schema first, it does not mean it here.
const TRAPS: &str = "
CREATE SCHEMA trap;
CREATE TABLE trap.t_ds_workflow_instance (LIKE public.t_ds_workflow_instance);
CREATE TABLE trap.t_ds_task_instance (LIKE public.t_ds_task_instance);
CREATE TABLE trap.policy (rule text, scope text);
CREATE FUNCTION trap.sprung() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a trap sprang'; END $$;
DO $do$
DECLARE
    v_type text;
    v_operator text;
    v_function text;
BEGIN
    FOREACH v_type IN ARRAY ARRAY['text', 'integer', 'bigint', 'timestamp', 'timestamptz', 'boolean', 'jsonb', 'json'] LOOP
        FOREACH v_operator IN ARRAY ARRAY['=', '<>', '<', '>', '<=', '>='] LOOP
            EXECUTE format('CREATE FUNCTION trap.%I(%s, %s) RETURNS boolean LANGUAGE sql AS $f$ SELECT true FROM (SELECT trap.sprung()) AS s $f$', 'compare ' || v_operator, v_type, v_type);
            EXECUTE format('CREATE OPERATOR trap.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = trap.%I)', v_operator, v_type, v_type, 'compare ' || v_operator);
        END LOOP;
    END LOOP;
    FOREACH v_operator IN ARRAY ARRAY['->', '->>', '?'] LOOP
        EXECUTE format('CREATE FUNCTION trap.%I(jsonb, text) RETURNS text LANGUAGE sql AS $f$ SELECT ''x'' FROM (SELECT trap.sprung()) AS s $f$', 'get ' || v_operator);
        EXECUTE format('CREATE OPERATOR trap.%s (LEFTARG = jsonb, RIGHTARG = text, FUNCTION = trap.%I)', v_operator, 'get ' || v_operator);
    END LOOP;
    FOREACH v_function IN ARRAY ARRAY['clock_timestamp()', 'now()', 'array_append(anyarray, anyelement)', 'cardinality(anyarray)', 'jsonb_array_elements_text(jsonb)', 'json_build_object(VARIADIC \"any\")', 'format(text, VARIADIC \"any\")', 'pg_backend_pid()', 'set_config(text, text, boolean)'] LOOP
        BEGIN
            EXECUTE format('CREATE FUNCTION trap.%s RETURNS text LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION ''a trap sprang''; END $f$', v_function);
        EXCEPTION WHEN feature_not_supported OR invalid_function_definition THEN
            NULL;
        END;
    END LOOP;
END
$do$;
CREATE DOMAIN trap.json AS integer;
CREATE DOMAIN trap.jsonb AS integer;
CREATE DOMAIN trap.text AS integer;
";

/// The settings of a session of MySQL or MariaDB.
const MYSQL_SESSIONS: [(&str, &str); 14] = [
    ("another zone", "SET time_zone = '+09:00'"),
    ("ANSI", "SET sql_mode = 'ANSI'"),
    ("no mode", "SET sql_mode = ''"),
    (
        "backslashes",
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,PAD_CHAR_TO_FULL_LENGTH'",
    ),
    (
        "repeatable read",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    ),
    (
        "serializable",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    ),
    ("other characters", "SET NAMES latin1"),
    (
        "short lists",
        "SET group_concat_max_len = 4, lc_time_names = 'de_DE', div_precision_increment = 0",
    ),
    (
        "timid",
        "SET sql_safe_updates = 1, sql_select_limit = 1, foreign_key_checks = 0",
    ),
    (
        "narrow",
        "SET max_sort_length = 8, max_error_count = 0, sql_big_selects = 0, max_join_size = 1000000, sql_auto_is_null = 1, insert_id = 9000,
         big_tables = 1, sql_buffer_result = 1, low_priority_updates = 1, default_week_format = 3, unique_checks = 0, sql_notes = 0",
    ),
    (
        "own transactions",
        "SET completion_type = 'CHAIN', innodb_lock_wait_timeout = 1, lock_wait_timeout = 1",
    ),
    (
        "of one server",
        "SET /*!80000 cte_max_recursion_depth = 1, windowing_use_high_precision = 0, internal_tmp_mem_storage_engine = 'MEMORY',
         default_collation_for_utf8mb4 = 'utf8mb4_general_ci', range_optimizer_max_mem_size = 1, */
         /*M! max_recursive_iterations = 1, max_statement_time = 60, check_constraint_checks = 0, old_mode = 'UTF8_IS_UTF8MB3',
         system_versioning_asof = '2001-01-01 00:00:00', */ eq_range_index_dive_limit = 1",
    ),
    (
        "other collations",
        "SET character_set_connection = latin1, collation_connection = latin1_german2_ci, character_set_results = latin1,
         character_set_client = utf8mb4, collation_database = utf8mb4_general_ci",
    ),
    (
        "forged",
        "SET @windrow_names = 'x', @windrow_state = 'x', @windrow_beside = 'x', @windrow_shapes = 'x', @windrow_rows = '[99]', @windrow_found = 99,
         @windrow_families = 99, @windrow_limit = 99, @windrow_run = 99, @windrow_way = 99, @windrow_key = 'x', @windrow_as_read = 'x',
         @windrow_default = 1, @windrow_above = 1, @windrow_retention = 1, @windrow_scope = 'x', @windrow_before = '2999-01-01',
         @windrow_without = 99, @windrow_call = 'SELECT 99', @windrow_text = 'SELECT 99', @windrow_said = 1, @windrow_artifacts = '[99]'",
    ),
];

fn the_settings_of_a_session_change_nothing(dialect: Dialect) {
    let mut failures = Vec::new();
    let sessions: &[(&str, &str)] = match dialect {
        Dialect::Postgres => &SESSIONS,
        Dialect::Mysql | Dialect::Mariadb => &MYSQL_SESSIONS,
    };
    for shared in [Shared::Closed, Shared::Literal] {
        let mut database = Installation::armed(dialect, &dolphinscheduler(shared));
        if dialect == Dialect::Postgres {
            database.execute(TRAPS);
        }
        for (name, settings) in sessions {
            let mut session = database.connect();
            session.execute(settings).expect("settings");
            for seed in seeds("worlds in odd sessions", dialect, 2) {
                let world = World::random(seed, shared, now(), database.tick());
                if let Err(difference) = odd_session(&mut database, &mut session, &world) {
                    failures.push(format!("{name}, seed {seed}: {difference}"));
                    break;
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn odd_session(
    database: &mut Installation,
    session: &mut Session,
    world: &World,
) -> Result<(), String> {
    database.load(world);
    let expected = oracle::run(world);
    let (dialect, control) = (database.dialect, database.control.clone());
    let options = Value::Object(world.options());
    let mut ask = |routine: &str, options: &Value| {
        call(session, dialect, &control, routine, options)
            .map_err(|error| format!("{routine}: {error:#}"))
    };

    let preview = ask("preview", &options)?;
    figures("preview", &preview["rules"][0], &expected, true)?;
    let mut after = database.contents();
    for (table, id) in &expected.deleted {
        after.remove(&((*table).to_owned(), *id));
    }
    let run = ask("run", &options)?;
    finished("run", &run, &expected)?;
    figures("run", &run["rules"][0], &expected, !expected.limited)?;
    crate::oracle::same("rows", &after, &database.contents())?;
    for time in ["as_of", "started_at", "finished_at"] {
        let text = run[time].as_str().unwrap_or_default();
        if !(text.starts_with("20") && text.ends_with("+00:00")) {
            return Err(format!("{time} is not in UTC: {text}"));
        }
    }

    if world.rows.len() > 20 {
        // Purging goes its own way through the rules.
        database.load(world);
        let purge = ask("purge", &json!({"key": ["1000"]}))?;
        crate::oracle::same("purge", &json!({"1000": "NOT_A_ROOT"}), &purge["refused"])?;
    }
    for (routine, options) in [
        ("set_policy", json!({"scope": "77", "retention": "P30D"})),
        ("drop_policy", json!({"scope": "77"})),
        (
            "set_hold",
            json!({"key": 77, "reason": "audit", "until": "2999-01-01T00:00:00Z", "even_if_absent": true}),
        ),
        ("release_hold", json!({"key": 77})),
        ("set_setting", json!({"name": "retries", "value": 2})),
    ] {
        let answer = ask(routine, &options)?;
        for time in ["changed_at", "placed_at", "until"] {
            if let Some(text) = answer[time].as_str()
                && !text.ends_with("+00:00")
            {
                return Err(format!("{routine}: {time} is not in UTC: {text}"));
            }
        }
    }
    Ok(())
}
