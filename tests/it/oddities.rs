//! What a session has set, some settings after the others: each call answers, writes and deletes the same.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use crate::harness::tests;
use crate::rights::fill;
use crate::support::effort::is_proof;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{Installation, Session, call};

tests! {
    every_server: [
        each_call_does_the_same_in_every_session,
    ],
}

const POSTGRES: &[&str] = &[
    "SET search_path = ''",
    "SET DateStyle = 'SQL, DMY'",
    "SET IntervalStyle = 'sql_standard'",
    "SET TimeZone = 'Pacific/Chatham'",
    "SET bytea_output = 'escape'",
    "SET extra_float_digits = -15",
    "SET default_transaction_isolation = 'repeatable read'",
    "SET default_transaction_isolation = 'serializable'",
    "SET default_transaction_isolation = 'serializable'; SET default_transaction_deferrable = on",
    "SET row_security = off",
    "SET session_replication_role = replica",
    "SET enable_seqscan = off; SET enable_sort = off; SET enable_hashjoin = off; SET enable_mergejoin = off",
    "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SET enable_nestloop = off; SET enable_material = off",
    "SET transform_null_equals = on",
    "SET array_nulls = off",
    "SET plpgsql.variable_conflict = 'use_column'",
    "SET plpgsql.variable_conflict = 'use_variable'",
    "SET plpgsql.extra_errors = 'all'; SET plpgsql.extra_warnings = 'all'",
    "SET plpgsql.check_asserts = off",
    "SET check_function_bodies = off",
    "SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = -1; SET jit_optimize_above_cost = -1",
    "SET xmloption = 'document'; SET xmlbinary = 'hex'",
    "SET standard_conforming_strings = off",
    "SET escape_string_warning = on; SET backslash_quote = off",
    "SET quote_all_identifiers = on",
    "SET statement_timeout = '1min'; SET lock_timeout = '30s'; SET idle_in_transaction_session_timeout = '30s'",
    "SET lc_messages = 'C'; SET lc_numeric = 'C'; SET lc_monetary = 'C'; SET lc_time = 'C'",
    "SET client_encoding = 'LATIN1'",
    "SET client_min_messages = 'error'",
    "SET work_mem = '64kB'; SET maintenance_work_mem = '1MB'; SET temp_buffers = '800kB'",
    "SET default_tablespace = 'pg_global'",
    "SET temp_tablespaces = ''",
    "SET default_table_access_method = 'heap'; SET default_toast_compression = 'pglz'",
    "SET from_collapse_limit = 1; SET join_collapse_limit = 1; SET geqo_threshold = 2",
    "SET plan_cache_mode = 'force_generic_plan'",
    "SET constraint_exclusion = on; SET cursor_tuple_fraction = 0",
    "SET synchronize_seqscans = off; SET lo_compat_privileges = on; SET gin_fuzzy_search_limit = 1",
    "SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0",
    "SET local_preload_libraries = ''; SET track_activities = off; SET track_functions = 'all'",
];

/// What takes a minute: in `make prove`.
const POSTGRES_IN_PROVE: &[&str] = &[
    "SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0",
];

const MYSQL: &[&str] = &[
    "SET max_join_size = 1, sql_big_selects = 0",
    "SET sql_safe_updates = 1",
    "SET sql_select_limit = 1",
    "SET sql_select_limit = 0",
    "SET max_error_count = 0",
    "SET group_concat_max_len = 4",
    "SET div_precision_increment = 0",
    "SET lc_time_names = 'de_DE', default_week_format = 3",
    "SET timestamp = 1",
    "SET insert_id = 9000, last_insert_id = 9",
    "SET foreign_key_checks = 0",
    "SET unique_checks = 0",
    "SET sql_auto_is_null = 1",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET completion_type = 'CHAIN'",
    "SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1",
    "SET collation_connection = latin1_german2_ci",
    "SET collation_connection = utf8mb4_bin",
    "SET NAMES latin1",
    "SET character_set_results = NULL",
    "SET character_set_filesystem = 'utf8mb4', collation_server = 'latin1_swedish_ci', collation_database = 'latin1_swedish_ci'",
    "SET big_tables = 1, sql_buffer_result = 1",
    "SET tmp_table_size = 1024, max_heap_table_size = 16384",
    "SET join_buffer_size = 128, max_sort_length = 8, max_length_for_sort_data = 4",
    "SET default_storage_engine = 'MyISAM', default_tmp_storage_engine = 'MEMORY'",
    "SET default_tmp_storage_engine = 'MyISAM'",
    "SET session_track_schema = 1, session_track_state_change = 1, session_track_transaction_info = 'CHARACTERISTICS', session_track_system_variables = '*'",
    "SET pseudo_slave_mode = 1",
    "SET sql_mode = 'ANSI,PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE,NO_UNSIGNED_SUBTRACTION,NO_AUTO_VALUE_ON_ZERO'",
    "SET sql_mode = ''",
    "SET sql_mode = 'TRADITIONAL'",
    "SET sql_notes = 0, sql_warnings = 1, low_priority_updates = 1, updatable_views_with_limit = 0",
    "SET eq_range_index_dive_limit = 1, optimizer_search_depth = 1, optimizer_prune_level = 0, max_seeks_for_key = 1",
    "SET optimizer_switch = 'index_merge=off,derived_merge=off,materialization=off,semijoin=off,mrr=on,mrr_cost_based=off'",
    "SET optimizer_switch = 'condition_fanout_filter=off,subquery_materialization_cost_based=off,derived_condition_pushdown=off,hash_join=off'",
    "SET optimizer_switch = 'split_materialized=off,condition_pushdown_for_derived=off,rowid_filter=off,join_cache_hashed=off'",
    "SET explicit_defaults_for_timestamp = 0",
    "SET cte_max_recursion_depth = 1",
    "SET max_recursive_iterations = 1",
    "SET default_collation_for_utf8mb4 = 'utf8mb4_general_ci'",
    "SET windowing_use_high_precision = 0, internal_tmp_mem_storage_engine = 'MEMORY', range_optimizer_max_mem_size = 1",
    "SET sql_generate_invisible_primary_key = 1",
    "SET sql_require_primary_key = 1",
    "SET max_execution_time = 60000",
    "SET max_statement_time = 60",
    "SET check_constraint_checks = 0",
    "SET system_versioning_asof = '2001-01-01 00:00:00'",
    "SET old_mode = 'UTF8_IS_UTF8MB3,NO_DUP_KEY_WARNINGS_WITH_IGNORE,ZERO_DATE_TIME_CAST,LOCK_ALTER_TABLE_COPY'",
    "SET note_verbosity = '', character_set_collations = 'utf8mb4=utf8mb4_general_ci'",
    "SET max_sp_recursion_depth = 0, div_precision_increment = 30",
    "SET innodb_strict_mode = 0, innodb_table_locks = 0, print_identified_with_as_hex = 1, show_create_table_verbosity = 1",
    "SET alter_algorithm = 'INSTANT', in_predicate_conversion_threshold = 0, use_stat_tables = 'NEVER', histogram_size = 0",
    "SET sql_if_exists = 1, keep_files_on_create = 1, standard_compliant_cte = 0, column_compression_threshold = 0",
    "SET join_cache_level = 8, optimizer_use_condition_selectivity = 1, max_rowid_filter_size = 1024",
];

/// Another version or the other server does not know the variable, or the value.
const UNKNOWN: [&str; 5] = ["1193", "1231", "1238", "42704", "22023"];

/// What comes out of each call, with nothing of when it was.
fn answers(made: &Installation, session: &mut Session) -> Result<Vec<(String, String)>> {
    let mut answers = Vec::new();
    let named = |sql: &str| sql.replace("W.", &format!("{}.", made.control));
    for statement in ["CALL W.pause('test')", "CALL W.resume()", "CALL W.arm()"] {
        let rows = session.query(&named(statement), &[]);
        let rows = rows.context(statement)?.len();
        answers.push((statement.to_owned(), rows.to_string()));
    }
    for (routine, options) in [
        ("set_setting", json!({"name": "retries", "value": 7})),
        ("set_setting", json!({"name": "retries", "value": null})),
        ("set_policy", json!({"scope": "77", "retention": "P30D"})),
        ("drop_policy", json!({"scope": "77"})),
        (
            "set_hold",
            json!({"key": 77, "reason": "test", "until": "2999-01-01T00:00:00Z", "even_if_absent": true}),
        ),
        ("release_hold", json!({"key": 77})),
        (
            "set_hold",
            json!({"key": 1001, "reason": "test", "even_if_absent": true}),
        ),
        ("preview", json!({})),
        ("verify", json!({})),
        ("outlook", json!({})),
        ("release_hold", json!({"key": 1001})),
        (
            "set_windows",
            json!({"windows": ["mon-fri 22:00-06:00", "sat,sun 00:00-00:00"]}),
        ),
        ("set_windows", json!({"windows": null})),
        ("pause_rule", json!({"reason": "test"})),
        ("resume_rule", json!({})),
        ("run", json!({"dry_run": true})),
        (
            "purge",
            json!({"dry_run": true, "key": [1000, 1001, 1002, 999_999]}),
        ),
        ("preview", json!({"as_of": "2001-02-03T04:05:06Z"})),
    ] {
        let told = format!("{routine} {options}");
        let answer = call(session, made.dialect, &made.control, routine, &options);
        let mut answer = answer.with_context(|| told.clone())?;
        timeless(&mut answer);
        answers.push((told, answer.to_string()));
    }
    let state = "SELECT c.state FROM W.catalog_state AS c WHERE c.run_id = 0";
    let rows = made.connect().query(&named(state), &[])?;
    answers.push((state.to_owned(), format!("{rows:?}")));
    Ok(answers)
}

/// Takes out of a document when something was, and how long it took.
fn timeless(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                let when = [
                    "duration_ms",
                    "durationMillis",
                    "run",
                    "as_of",
                    "seconds",
                    "cutoff",
                    "checked",
                    "from",
                    "until",
                    "at",
                ];
                !name.ends_with("_at")
                    && !name.ends_with("_seconds")
                    && !when.contains(&name.as_str())
            });
            fields.values_mut().for_each(timeless);
        }
        Value::Array(values) => values.iter_mut().for_each(timeless),
        _ => (),
    }
}

/// How many settings a session has at once in `make test`.
const TOGETHER: usize = 6;

/// What is set in one session: in `make prove` one setting each. Neighbours, which may set the same variable, never meet.
fn groups(settings: &[&'static str]) -> Vec<Vec<&'static str>> {
    let number = match is_proof() {
        true => settings.len(),
        false => settings.len().div_ceil(TOGETHER),
    };
    let mut groups = vec![Vec::new(); number];
    for (place, setting) in settings.iter().enumerate() {
        groups[place % number].push(*setting);
    }
    groups
}

/// Sets what the server knows of these, and answers that.
fn known(session: &mut Session, settings: &[&'static str]) -> Result<Vec<&'static str>> {
    let mut known = Vec::new();
    for setting in settings {
        match session.execute(setting) {
            Ok(()) => known.push(*setting),
            Err(error) => {
                let told = format!("{error:#}");
                ensure!(
                    UNKNOWN.iter().any(|code| told.contains(code)),
                    "{setting}: {told}"
                );
            }
        }
    }
    Ok(known)
}

/// What a session answers otherwise than a plain one.
fn differences(
    made: &Installation,
    mut session: Session,
    setting: &str,
    expected: &[(String, String)],
) -> Vec<String> {
    let found = match answers(made, &mut session) {
        Err(error) => return vec![format!("{setting}: {error:#}")],
        Ok(found) => found,
    };
    let pairs = found.iter().zip(expected);
    let others = pairs.filter(|(one, two)| one != two);
    others
        .map(|((told, one), (_, two))| {
            let same = one
                .bytes()
                .zip(two.bytes())
                .take_while(|(one, two)| one == two);
            let from = same.count().saturating_sub(60);
            let [one, two] = [one, two].map(|text| {
                String::from_utf8_lossy(text.as_bytes().get(from..).unwrap_or_default())
                    .chars()
                    .take(120)
                    .collect::<String>()
            });
            format!("{setting}: {told}: {one} instead of {two}")
        })
        .collect()
}

fn each_call_does_the_same_in_every_session(dialect: Dialect) -> Result<()> {
    let mut made = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    fill(&mut made);
    let before = made.contents();
    let mut plain = made.connect();
    answers(&made, &mut plain)?;
    let expected = answers(&made, &mut plain)?;
    let settings = match dialect {
        Dialect::Postgres if is_proof() => [POSTGRES, POSTGRES_IN_PROVE].concat(),
        Dialect::Postgres => POSTGRES.to_vec(),
        Dialect::Mysql | Dialect::Mariadb => MYSQL.to_vec(),
    };
    let mut wrong = Vec::new();
    let mut tried = 0;
    for together in groups(&settings) {
        let mut session = made.connect();
        let known = known(&mut session, &together)?;
        tried += known.len();
        let found = differences(&made, session, &together.join("; "), &expected);
        if found.is_empty() || known.len() == 1 {
            wrong.extend(found);
            continue;
        }
        // Which of them it was.
        let before = wrong.len();
        for setting in known {
            let mut session = made.connect();
            session.execute(setting)?;
            wrong.extend(differences(&made, session, setting, &expected));
        }
        if wrong.len() == before {
            wrong.extend(found);
        }
    }
    ensure!(tried > 30, "{tried}");
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(made.contents() == before);
    Ok(())
}
