//! What a session has set, one setting after the other: each call answers, writes and deletes the same.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use crate::harness::tests;
use crate::rights::fill;
use crate::support::effort::is_whole;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{Installation, Session, call};

tests! {
    every_server: [
        each_call_does_the_same_in_every_session,
    ],
}

/// By concern, what cannot disturb each other in one session.
const POSTGRES: &[&[&str]] = &[
    &[
        "SET search_path = ''",
        "SET DateStyle = 'SQL, DMY'",
        "SET IntervalStyle = 'sql_standard'",
        "SET TimeZone = 'Pacific/Chatham'",
        "SET timezone_abbreviations = 'Australia'",
        "SET lc_messages = 'C'; SET lc_numeric = 'C'; SET lc_monetary = 'C'; SET lc_time = 'C'",
        "SET default_text_search_config = 'pg_catalog.german'",
    ],
    &[
        "SET bytea_output = 'escape'",
        "SET extra_float_digits = -15",
        "SET xmloption = 'document'; SET xmlbinary = 'hex'",
        "SET standard_conforming_strings = off",
        "SET escape_string_warning = on; SET backslash_quote = off",
        "SET quote_all_identifiers = on",
        "SET client_encoding = 'LATIN1'",
        "SET client_min_messages = 'error'",
    ],
    &[
        "SET transform_null_equals = on",
        "SET array_nulls = off",
        "SET plpgsql.variable_conflict = 'use_column'",
        "SET plpgsql.extra_errors = 'all'; SET plpgsql.extra_warnings = 'all'",
        "SET plpgsql.check_asserts = off; SET plpgsql.print_strict_params = on",
        "SET check_function_bodies = off",
        "SET row_security = off",
        "SET lo_compat_privileges = on; SET allow_system_table_mods = on",
        "SET default_transaction_isolation = 'repeatable read'",
    ],
    &[
        "SET plpgsql.variable_conflict = 'use_variable'",
        "SET default_transaction_isolation = 'serializable'; SET default_transaction_deferrable = on",
        "SET session_replication_role = replica",
        "SET synchronous_commit = off",
        "SET track_activities = off; SET track_counts = off; SET track_functions = 'all'; SET compute_query_id = off",
        "SET stats_fetch_consistency = 'snapshot'",
        "SET local_preload_libraries = ''",
    ],
    &[
        "SET enable_seqscan = off; SET enable_sort = off; SET enable_hashjoin = off; SET enable_mergejoin = off",
        "SET enable_hashagg = off; SET enable_incremental_sort = off; SET enable_memoize = off; SET enable_tidscan = off",
        "SET enable_partition_pruning = off; SET enable_partitionwise_join = on; SET enable_partitionwise_aggregate = on",
        "SET from_collapse_limit = 1; SET join_collapse_limit = 1; SET geqo_threshold = 2",
        "SET plan_cache_mode = 'force_generic_plan'",
        "SET constraint_exclusion = on; SET cursor_tuple_fraction = 0",
        "SET synchronize_seqscans = off; SET gin_fuzzy_search_limit = 1",
        "SET random_page_cost = 0; SET seq_page_cost = 1000; SET cpu_tuple_cost = 0",
    ],
    &[
        "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SET enable_nestloop = off; SET enable_material = off",
        "SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0",
        "SET plan_cache_mode = 'force_custom_plan'",
    ],
    &[
        "SET statement_timeout = '1min'; SET lock_timeout = '30s'; SET idle_in_transaction_session_timeout = '30s'",
        "SET transaction_timeout = '1min'; SET idle_session_timeout = '1min'",
        "SET work_mem = '64kB'; SET maintenance_work_mem = '1MB'; SET temp_buffers = '800kB'",
        "SET default_tablespace = 'pg_global'",
        "SET temp_tablespaces = ''",
        "SET default_table_access_method = 'heap'; SET default_toast_compression = 'pglz'",
        // The last: what a server does not know ends the session then.
        "SET exit_on_error = on",
    ],
];

/// Compiles every statement, which takes its time: in `make prove`, or where a defect is to be seen.
const COMPILED: &[&str] = &[
    "SET jit = on; SET jit_above_cost = 0; SET jit_optimize_above_cost = -1; SET jit_inline_above_cost = -1",
];

/// The same for both servers.
const MYSQL: &[&[&str]] = &[
    &[
        "SET sql_mode = 'ANSI,PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE,NO_UNSIGNED_SUBTRACTION,NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES'",
        "SET sql_mode = CONCAT(@@sql_mode, ',TIME_TRUNCATE_FRACTIONAL')",
        "SET sql_mode = CONCAT(@@sql_mode, ',TIME_ROUND_FRACTIONAL,EMPTY_STRING_IS_NULL,SIMULTANEOUS_ASSIGNMENT')",
        "SET max_join_size = 1",
        "SET sql_big_selects = 0",
        "SET sql_safe_updates = 1",
        "SET sql_select_limit = 1",
        "SET max_error_count = 0",
        "SET group_concat_max_len = 4",
        "SET div_precision_increment = 0",
        "SET lc_time_names = 'de_DE'",
        "SET default_week_format = 3",
        "SET collation_connection = latin1_german2_ci",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
        "SET completion_type = 'CHAIN'",
    ],
    &[
        "SET sql_mode = ''",
        "SET autocommit = 0",
        "SET sql_select_limit = 0",
        "SET timestamp = 1",
        "SET insert_id = 9000",
        "SET last_insert_id = 9",
        "SET foreign_key_checks = 0",
        "SET unique_checks = 0",
        "SET sql_auto_is_null = 1",
        "SET NAMES latin1",
        "SET character_set_results = NULL",
        "SET character_set_filesystem = 'utf8mb4'",
        "SET collation_server = 'latin1_swedish_ci'",
        "SET collation_database = 'latin1_swedish_ci'",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET time_zone = '-11:00'",
        "SET default_storage_engine = 'MyISAM'",
        "SET default_tmp_storage_engine = 'MEMORY'",
    ],
    &[
        "SET sql_mode = 'TRADITIONAL'",
        "SET sql_mode = 'ORACLE'",
        "SET collation_connection = utf8mb4_bin",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET innodb_lock_wait_timeout = 1",
        "SET lock_wait_timeout = 1",
        "SET big_tables = 1",
        "SET sql_buffer_result = 1",
        "SET tmp_table_size = 1024",
        "SET max_heap_table_size = 16384",
        "SET join_buffer_size = 128",
        "SET max_sort_length = 8",
        "SET max_length_for_sort_data = 4",
        "SET default_tmp_storage_engine = 'MyISAM'",
        "SET max_sp_recursion_depth = 0",
        "SET div_precision_increment = 30",
        "SET lc_messages = 'de_DE'",
    ],
    &[
        "SET sql_mode = 'MSSQL'",
        "SET sql_notes = 0",
        "SET sql_warnings = 1",
        "SET low_priority_updates = 1",
        "SET updatable_views_with_limit = 0",
        "SET session_track_schema = 1",
        "SET session_track_state_change = 1",
        "SET session_track_transaction_info = 'CHARACTERISTICS'",
        "SET session_track_system_variables = '*'",
        "SET explicit_defaults_for_timestamp = 0",
        "SET cte_max_recursion_depth = 1",
        "SET max_recursive_iterations = 1",
        "SET default_collation_for_utf8mb4 = 'utf8mb4_general_ci'",
        "SET sql_generate_invisible_primary_key = 1",
        "SET sql_require_primary_key = 1",
        "SET check_constraint_checks = 0",
        "SET system_versioning_asof = '2001-01-01 00:00:00'",
        "SET system_versioning_insert_history = 1",
        "SET system_versioning_alter_history = 'KEEP'",
        "SET old_mode = 'UTF8_IS_UTF8MB3,NO_DUP_KEY_WARNINGS_WITH_IGNORE,ZERO_DATE_TIME_CAST,LOCK_ALTER_TABLE_COPY'",
        "SET note_verbosity = ''",
        "SET character_set_collations = 'utf8mb4=utf8mb4_general_ci'",
        "SET innodb_strict_mode = 0",
        "SET innodb_table_locks = 0",
        "SET innodb_compression_default = 1",
        "SET print_identified_with_as_hex = 1",
        "SET show_create_table_verbosity = 1",
        "SET sql_if_exists = 1",
        "SET keep_files_on_create = 1",
        "SET standard_compliant_cte = 0",
        "SET column_compression_threshold = 0",
        "SET alter_algorithm = 'INSTANT'",
        "SET completion_type = 'RELEASE'",
    ],
    &[
        "SET pseudo_slave_mode = 1",
        "SET eq_range_index_dive_limit = 1",
        "SET optimizer_search_depth = 1",
        "SET optimizer_prune_level = 0",
        "SET max_seeks_for_key = 1",
        "SET optimizer_switch = 'index_merge=off,derived_merge=off,materialization=off,semijoin=off,mrr=on,mrr_cost_based=off'",
        "SET optimizer_switch = 'condition_fanout_filter=off,subquery_materialization_cost_based=off,derived_condition_pushdown=off,hash_join=off'",
        "SET optimizer_switch = 'split_materialized=off,condition_pushdown_for_derived=off,rowid_filter=off,join_cache_hashed=off'",
        "SET windowing_use_high_precision = 0",
        "SET internal_tmp_mem_storage_engine = 'MEMORY'",
        "SET range_optimizer_max_mem_size = 1",
        "SET max_execution_time = 60000",
        "SET max_statement_time = 60",
        "SET idle_transaction_timeout = 60",
        "SET in_predicate_conversion_threshold = 0",
        "SET use_stat_tables = 'NEVER'",
        "SET histogram_size = 0",
        "SET join_cache_level = 8",
        "SET optimizer_use_condition_selectivity = 1",
        "SET max_rowid_filter_size = 1024",
    ],
];

/// Another version or the other server does not know the variable, or the value.
const UNKNOWN: [&str; 5] = ["1193", "1231", "1238", "42704", "22023"];

/// A call, and what it answered.
pub(crate) type Answer = (String, String);

/// What a call answers, with nothing of when it was.
pub(crate) fn timeless_call(
    made: &Installation,
    odd: &mut Odd,
    routine: &str,
    options: &Value,
) -> Result<Value> {
    odd.free()?;
    let answer = call(
        &mut odd.session,
        made.dialect,
        &made.control,
        routine,
        options,
    );
    let mut answer = answer.with_context(|| format!("{routine} {options}"))?;
    odd.free()?;
    timeless(&mut answer);
    Ok(answer)
}

/// What comes out of each call, with nothing of when it was.
fn answers(made: &Installation, odd: &mut Odd) -> Result<Vec<Answer>> {
    let mut answers = Vec::new();
    let named = |sql: &str| sql.replace("W.", &format!("{}.", made.control));
    for statement in ["CALL W.pause('test')", "CALL W.resume()", "CALL W.arm()"] {
        odd.free()?;
        let rows = odd.session.query(&named(statement), &[]);
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
        let answer = timeless_call(made, odd, routine, &options)?;
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
                    "work_ms",
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

/// A session, what was set in it, and whether what it reads opens a transaction.
pub(crate) struct Odd {
    pub(crate) session: Session,
    pub(crate) told: String,
    waits: bool,
}

impl Odd {
    /// Ends what the last call has opened: a run would have to be the first in its transaction.
    pub(crate) fn free(&mut self) -> Result<()> {
        match self.waits {
            true => self.session.execute("COMMIT"),
            false => Ok(()),
        }
    }
}

/// What is set together in a session.
pub(crate) fn groups(dialect: Dialect) -> &'static [&'static [&'static str]] {
    match dialect {
        Dialect::Postgres => POSTGRES,
        Dialect::Mysql | Dialect::Mariadb => MYSQL,
    }
}

/// A session with all of a group that this server knows.
pub(crate) fn odd(made: &Installation, group: &[&str]) -> Result<Odd> {
    let mut session = made.connect();
    let mut known = Vec::new();
    for setting in group {
        match session.execute(setting) {
            Ok(()) => known.push(*setting),
            Err(error) => {
                let told = format!("{error:#}");
                let unknown = UNKNOWN.iter().any(|code| told.contains(code));
                ensure!(unknown, "{setting}: {told}");
            }
        }
    }
    ensure!(known.len() * 3 >= group.len(), "{known:?}");
    Ok(Odd {
        session,
        told: known.join("; ").chars().take(300).collect(),
        waits: known.contains(&"SET autocommit = 0"),
    })
}

/// Where two texts begin to differ.
fn apart(one: &str, two: &str) -> String {
    let pairs = one.bytes().zip(two.bytes());
    let same = pairs.take_while(|(one, two)| one == two).count();
    let [one, two] = [one, two].map(|text| {
        let from = text.as_bytes().get(same.saturating_sub(60)..);
        let text = String::from_utf8_lossy(from.unwrap_or_default());
        text.chars().take(120).collect::<String>()
    });
    format!("{one} instead of {two}")
}

/// What differs between the answers.
pub(crate) fn differences(found: &[Answer], expected: &[Answer]) -> Vec<String> {
    found
        .iter()
        .zip(expected)
        .filter(|(one, two)| one != two)
        .map(|((call, one), (_, two))| format!("{call}: {}", apart(one, two)))
        .collect()
}

fn each_call_does_the_same_in_every_session(dialect: Dialect) -> Result<()> {
    let mut made = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    fill(&mut made);
    let before = made.contents();
    let mut plain = odd(&made, &[])?;
    answers(&made, &mut plain)?;
    let expected = answers(&made, &mut plain)?;
    let mut wrong = Vec::new();
    let compiled = (dialect == Dialect::Postgres && is_whole()).then_some(&COMPILED);
    for group in groups(dialect).iter().chain(compiled) {
        let mut odd = odd(&made, group)?;
        let found = answers(&made, &mut odd);
        let found = found.with_context(|| odd.told.clone());
        match found {
            Err(error) => wrong.push(format!("{error:#}")),
            Ok(found) => {
                let differ = differences(&found, &expected);
                wrong.extend(differ.iter().map(|told| format!("{}: {told}", odd.told)));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(made.contents() == before);
    Ok(())
}
