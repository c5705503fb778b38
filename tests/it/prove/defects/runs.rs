//! Defects of runs and of their batches: locks, workers, dry runs, servers, and where a run goes on.

use super::{CLOSED, edit};
use crate::support::defect::Defect;

const DRY: &str = "binlog::SERVER::what_is_rolled_back_is_not_in_the_binary_log";

const FEW: &str = "forward::SERVER::a_run_that_may_delete_few_rows_more_looks_at_whole_batches";

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "roots-in-another-order",
        what: "the roots that a dry run takes next are sorted by the collation of the database",
        postgres: &[edit("ORDER BY g.ordinality", "ORDER BY g.root")],
        mysql: &[],
        noticed_by: &["collated::SERVER::a_dry_run_counts_what_a_run_takes_in_any_order_of_keys"],
    },
    Defect {
        name: "roots-between-two-orders",
        what: "PostgreSQL: roots are sorted by the collation of their column, and those behind a place are found by that of the database",
        postgres: &[edit(" COLLATE \"default\"", "")],
        mysql: &[],
        noticed_by: &[
            "collated::SERVER::where_some_are_kept_none_is_passed_over_in_any_order_of_keys",
        ],
    },
    Defect {
        name: "roots-before-another-place",
        what: "what lies before the place where a run began is found by the collation of the database",
        postgres: &[edit(
            "SELECT format(' COLLATE %s', a.attcollation::regcollation)",
            "SELECT ''",
        )],
        mysql: &[],
        noticed_by: &["collated::SERVER::a_dry_run_counts_what_a_run_takes_in_any_order_of_keys"],
    },
    Defect {
        name: "off-for-all",
        what: "a rule that has suspension off switches it off for all rules",
        postgres: &[edit(
            "WHERE s.value > 0\n)\nSELECT\n    f.runs",
            ")\nSELECT\n    f.runs",
        )],
        mysql: &[edit(
            "WHERE s.value > 0\n)\nSELECT\n    t.failures",
            ")\nSELECT\n    t.failures",
        )],
        noticed_by: &["limits::SERVER::off_in_one_rule_is_not_off_in_all"],
    },
    Defect {
        name: "a-time-of-its-own",
        what: "a stamp has the time of its own rule, which has none",
        postgres: &[edit(
            "setting_of(first_rule(), 'time_budget')))\n    )\n    RETURNING run_id INTO o_run",
            "setting_of(o_rule, 'time_budget')))\n    )\n    RETURNING run_id INTO o_run",
        )],
        mysql: &[edit(
            "CALL setting_of(v_first, 'time_budget', v_budget);\n        END IF;\n        CALL option_of(p_options, 'chunk'",
            "CALL setting_of(o_rule, 'time_budget', v_budget);\n        END IF;\n        CALL option_of(p_options, 'chunk'",
        )],
        noticed_by: &[
            "limits::SERVER::the_first_rule_alone_has_the_time_of_a_run_and_the_days_of_the_ledger",
        ],
    },
    Defect {
        name: "earlier-settings-left",
        what: "what an earlier version took for another rule than the first is left, and applies once that rule is the first",
        postgres: &[edit(
            "EXISTS (SELECT FROM rule AS r WHERE r.rule = s.rule)\n      OR CASE",
            "false\n      OR CASE",
        )],
        mysql: &[edit(
            "r.rule IS NOT NULL\n      OR CASE",
            "false\n      OR CASE",
        )],
        noticed_by: &[
            "limits::SERVER::the_limits_of_runs_hold_where_another_rule_becomes_the_first",
        ],
    },
    Defect {
        name: "every-run-begins-anew",
        what: "a run begins at the oldest though the one before had no time for all",
        postgres: &[edit("AND p.rule_hash = md5(n.document::text)", "AND false")],
        mysql: &[edit("AND p.rule_hash = SHA2(n.document, 256)", "AND 1 = 0")],
        noticed_by: &["forward::SERVER::families_that_stay_do_not_stop_those_behind_them"],
    },
    Defect {
        name: "weighed-once",
        what: "families that were too many for their rows are not counted again when fewer are taken",
        postgres: &[edit("weigh = greatest(r.weigh, p_families)", "weigh = 0")],
        mysql: &[edit(
            "GREATEST(p.weigh, p_families), - p.weigh)",
            "0, - p.weigh)",
        )],
        noticed_by: &["heavy::SERVER::families_by_their_end_go_in_batches_that_fit"],
    },
    Defect {
        name: "first-batch-unweighed",
        what: "the first batch of a rule takes as many rows as its families have",
        postgres: &[edit(
            "            1\n        ),\n        l.o_time",
            "            0\n        ),\n        l.o_time",
        )],
        mysql: &[edit("DESC LIMIT 1), 1)", "DESC LIMIT 1), 0)")],
        noticed_by: &["heavy::SERVER::families_by_removal_time_go_in_batches_that_fit"],
    },
    Defect {
        name: "uncounted-behind-those-that-stay",
        what: "behind a batch of families that all stay, the rows of the next ones are not counted",
        postgres: &[],
        mysql: &[edit(
            "SET p.weigh = ABS(p.weigh)\n",
            "SET p.weigh = p.weigh\n",
        )],
        noticed_by: &["heavy::SERVER::families_that_stay_do_not_hide_what_those_behind_them_have"],
    },
    Defect {
        name: "a-fifth-of-nothing",
        what: "behind an instant that failed, batches do not grow again",
        postgres: &[edit(
            "greatest(p_size + (p_size + 4) / 5, 1)",
            "p_size + (p_size + 4) / 5",
        )],
        mysql: &[edit(
            "GREATEST(p_size + (p_size + 4) DIV 5, 1)",
            "p_size + (p_size + 4) DIV 5",
        )],
        noticed_by: &[
            "forward::SERVER::an_instant_that_fails_does_not_make_batches_small_for_ever",
        ],
    },
    Defect {
        name: "sweep-without-an-end",
        what: "workers join a sweep however old it is",
        postgres: &[edit(
            "WHERE clock_timestamp() >= greatest(f.deadline",
            "WHERE false AND clock_timestamp() >= greatest(f.deadline",
        )],
        mysql: &[edit(
            "WHERE UTC_TIMESTAMP(6) >= GREATEST(f.deadline",
            "WHERE 1 = 0 AND UTC_TIMESTAMP(6) >= GREATEST(f.deadline",
        )],
        noticed_by: &["workers::sweeps::SERVER::a_sweep_that_is_old_takes_in_nobody"],
    },
    Defect {
        name: "few-sweeps-in-a-row",
        what: "of many workers, no more than a dozen sweeps that failed are counted",
        postgres: &[edit(
            "LIMIT (SELECT 101 * s.workers FROM spec AS s)",
            "LIMIT 101",
        )],
        mysql: &[edit(
            "s.workers > 1\n           OR r.run_id >=",
            "r.run_id >=",
        )],
        noticed_by: &["workers::sweeps::SERVER::sweeps_of_many_workers_count_in_a_row"],
    },
    Defect {
        name: "first-rule-for-ever",
        what: "every run begins with the first rule",
        postgres: &[edit(
            "AND NOT r.dry_run\n            ) AS r",
            "AND false\n            ) AS r",
        )],
        mysql: &[edit(
            "    ), 0)\n    INTO o_position;",
            "    ) * 0, 0)\n    INTO o_position;",
        )],
        noticed_by: &["forward::SERVER::a_rule_without_an_end_leaves_time_to_the_next"],
    },
    Defect {
        name: "red-runs-take-no-turns",
        what: "the rule at which a run ended that had no time for all comes first again if one of its rows failed",
        postgres: &[edit(
            "AND EXISTS (SELECT FROM run_rule AS t WHERE t.run_id = a.run_id",
            "AND a.status = 'stopped' AND EXISTS (SELECT FROM run_rule AS t WHERE t.run_id = a.run_id",
        )],
        mysql: &[edit(
            "AND EXISTS (SELECT 1 FROM run_rule AS t WHERE t.run_id = a.run_id",
            "AND a.status = 'stopped' AND EXISTS (SELECT 1 FROM run_rule AS t WHERE t.run_id = a.run_id",
        )],
        noticed_by: &["forward::SERVER::a_rule_of_which_rows_fail_leaves_time_to_the_next"],
    },
    Defect {
        name: "waiting-in-line",
        what: "a rule that waits holds up those behind it",
        postgres: &[edit(
            "v_waits := v_reason IS NOT NULL AND NOT v_run.dry_run;",
            "v_waits := false;",
        )],
        mysql: &[edit(
            "SET v_waits = v_reason IS NOT NULL AND NOT v_stays;",
            "SET v_waits = false;",
        )],
        noticed_by: &["forward::SERVER::a_rule_that_waits_leaves_time_to_the_next"],
    },
    Defect {
        name: "locked-in-line",
        what: "a rule whose table is locked holds up those behind it",
        postgres: &[edit(
            "RETURN CASE WHEN v_waits AND NOT",
            "RETURN CASE WHEN false AND NOT",
        )],
        mysql: &[],
        noticed_by: &["turns::SERVER::what_has_the_lock_is_told_and_the_next_rule_goes_on"],
    },
    Defect {
        name: "crashes-are-no-turns",
        what: "a rule whose first batch ends the session comes first again",
        postgres: &[edit(
            "around = r.around OR v_batches IS NOT NULL,\n        started_at = v_now,\n        updated_at = v_now",
            "around = r.around OR v_batches IS NOT NULL,\n        started_at = v_now",
        )],
        mysql: &[],
        noticed_by: &["turns::SERVER::a_batch_that_ends_its_session_was_a_turn"],
    },
    Defect {
        name: "one-good-worker-is-enough",
        what: "a sweep in which one worker failed and another did not is no failure",
        postgres: &[edit(
            "bool_or(l.is_broken) AS is_broken",
            "bool_and(l.is_broken) AS is_broken",
        )],
        mysql: &[edit(
            "MAX(r.is_broken) AS is_broken",
            "MIN(r.is_broken) AS is_broken",
        )],
        noticed_by: &["turns::SERVER::one_worker_that_fails_is_a_failure_of_all"],
    },
    Defect {
        name: "locked-untold-where-put-off",
        what: "a run that ends at another rule does not tell what others left as locked in the rules that it has put off",
        postgres: &[edit(
            "FROM run_claim AS c\n        CROSS JOIN LATERAL what_is_left(p_run, c.rule) AS k(keys)\n        WHERE c.run_id = p_run\n",
            "FROM run_claim AS c\n        CROSS JOIN LATERAL what_is_left(p_run, c.rule) AS k(keys)\n        WHERE c.run_id = p_run\n          AND c.through\n",
        )],
        mysql: &[edit("CALL leave_rules(v_run)", "DO 0")],
        noticed_by: &[
            "turns::SERVER::what_was_locked_is_told_by_a_worker_that_ends_before_its_turn",
        ],
    },
    Defect {
        name: "one-rule-forgets-turns",
        what: "after a run of one rule, the next one begins with the rule that took the time of the one before",
        postgres: &[edit("AND NOT a.options ? 'rule'", "")],
        mysql: &[edit(
            "AND NOT JSON_CONTAINS_PATH(a.options, 'one', '$.rule')",
            "",
        )],
        noticed_by: &["forward::SERVER::a_run_of_one_rule_forgets_no_turn"],
    },
    Defect {
        name: "undated-without-a-bound",
        what: "however many rows have no time, each run lists all of them",
        postgres: &[edit(
            "            LIMIT 100000\n        ) AS u ORDER BY 1",
            "        ) AS u ORDER BY 1",
        )],
        mysql: &[edit("NULL, NULL, 100000", "NULL, NULL, 1000000")],
        noticed_by: &["undated::SERVER::a_run_counts_a_bounded_number_of_what_has_no_time"],
    },
    Defect {
        name: "last-rows-one-by-one",
        what: "near run_families, a batch of single rows looks at no more rows than the run may still delete",
        postgres: &[edit(
            "v_take := least(v_progress.batch_families, setting_of(p_rule, 'batch_rows'));\n    v_found",
            "v_take := least(v_progress.batch_families, setting_of(p_rule, 'batch_rows'), v_left);\n    v_found",
        )],
        mysql: &[edit(
            "SET v_take = LEAST(v_present, v_batch);",
            "SET v_take = LEAST(v_present, v_batch, v_limit - v_done);",
        )],
        noticed_by: &[FEW],
    },
    Defect {
        name: "more-than-it-may",
        what: "a batch of single rows deletes all that it finds, however few the run may still delete",
        postgres: &[edit(
            "p_most => CASE WHEN v_left < v_take THEN v_left END",
            "p_most => NULL",
        )],
        mysql: &[edit("IF p_found > p_most THEN", "IF false THEN")],
        noticed_by: &[FEW],
    },
    Defect {
        name: "looked-at-twice",
        what: "a run that went on where the one before left off does not stop there again",
        postgres: &[edit(
            "p_progress.gone, false,\n        CASE WHEN p_progress.around THEN p_progress.start_time END, p_progress.start_key\n",
            "p_progress.gone, false,\n        NULL, NULL\n",
        )],
        mysql: &[edit(
            "IF p_to_time IS NOT NULL THEN\n        CALL end_time_from",
            "IF false THEN\n        CALL end_time_from",
        )],
        noticed_by: &["forward::SERVER::families_that_stay_do_not_stop_those_behind_them"],
    },
    Defect {
        name: "no-second-look",
        what: "what was final when it was found is not looked at again under the lock",
        postgres: &[edit(
            "(i.\"state\" IN (3, 5, 6, 7)) IS TRUE AS final",
            "(i.\"is_sub_workflow\" = 0 OR i.\"state\" IN (3, 5, 6, 7)) IS TRUE AS final",
        )],
        mysql: &[edit(
            "(i.`state` IN (3, 5, 6, 7)) IS TRUE",
            "(i.`is_sub_workflow` = 0 OR i.`state` IN (3, 5, 6, 7)) IS TRUE",
        )],
        noticed_by: &["workers::SERVER::what_was_claimed_is_looked_at_again_under_its_lock"],
    },
    Defect {
        name: "no-lock",
        what: "members are judged without being locked",
        postgres: &[edit(
            "ORDER BY i.\"id\"\n            FOR UPDATE SKIP LOCKED",
            "ORDER BY i.\"id\"",
        )],
        mysql: &[edit(
            "ORDER BY w.id\n        FOR UPDATE SKIP LOCKED",
            "ORDER BY w.id",
        )],
        noticed_by: &["rivals::SERVER::a_family_with_a_locked_member_is_skipped_without_waiting"],
    },
    Defect {
        name: "early-commit",
        what: "a batch is committed before it is whole (PostgreSQL lets no function do that)",
        postgres: &[],
        mysql: &[edit(
            "        CALL perform(p_rule, 'delete',",
            "        COMMIT;\n        CALL perform(p_rule, 'delete',",
        )],
        noticed_by: &[
            "crash::SERVER::a_cancelled_run_leaves_no_half_family_and_no_lock",
            CLOSED,
        ],
    },
    Defect {
        name: "uncounted-cascade",
        what: "what a foreign key has deleted is counted as one row more",
        postgres: &[edit(
            "pg_stat_get_xact_tuples_deleted(v_tables[v_at]) - v_counted[v_at];",
            "pg_stat_get_xact_tuples_deleted(v_tables[v_at]) + 1;",
        )],
        mysql: &[],
        noticed_by: &["airflow::cascades::a_foreign_key_that_cascades_is_left_to_do_so"],
    },
    Defect {
        name: "dead-claim",
        what: "what a worker that is gone had claimed is forgotten until the next sweep",
        postgres: &[edit(
            "unnest(c.claimed || c.left_keys)",
            "unnest(c.left_keys)",
        )],
        mysql: &[edit(
            "JSON_MERGE_PRESERVE(c.claimed, c.left_keys)",
            "c.left_keys",
        )],
        noticed_by: &["workers::SERVER::what_a_killed_worker_had_claimed_goes_all_the_same"],
    },
    Defect {
        name: "no-third-look",
        what: "what another worker had locked is not looked at once more",
        postgres: &[edit(
            "unnest(c.claimed || c.left_keys)",
            "unnest(c.claimed)",
        )],
        mysql: &[edit(
            "JSON_MERGE_PRESERVE(c.claimed, c.left_keys)",
            "c.claimed",
        )],
        noticed_by: &["workers::SERVER::what_one_worker_met_locked_the_last_one_takes"],
    },
    Defect {
        name: "window-not-claimed",
        what: "a worker claims a window of time, and the part of it before its last instant is nobody's",
        postgres: &[edit(
            "o_claim := ARRAY[v_from || '/' || o_time];",
            "o_claim := ARRAY[v_from || '/' || v_from];",
        )],
        mysql: &[edit(
            "JSON_ARRAY(CAST(v_known AS char), CAST(o_time AS char))",
            "JSON_ARRAY(CAST(v_known AS char), CAST(v_known AS char))",
        )],
        noticed_by: &["workers::kinds::SERVER::two_workers_share_a_rule_out"],
    },
    Defect {
        name: "rows-not-claimed",
        what: "a worker claims a part of the way through single rows, and looks behind its end",
        postgres: &[edit(
            "'after', coalesce(v_after, '{}'), 'to', v_to",
            "'after', v_to, 'to', v_to",
        )],
        mysql: &[edit(
            "JSON_ARRAY(JSON_ARRAY(v_after, o_place, v_number))",
            "JSON_ARRAY(JSON_ARRAY(o_place, o_place, v_number))",
        )],
        noticed_by: &["workers::kinds::SERVER::two_workers_share_a_rule_out"],
    },
    Defect {
        name: "scheduled-at-full-speed",
        what: "a run that a schedule starts does not rest",
        postgres: &[edit("v_limit.nice := v_limit.scheduled_nice;", "")],
        mysql: &[edit("SET v_nice = v_scheduled_nice,", "SET v_nice = 0,")],
        noticed_by: &["pace::SERVER::a_scheduled_run_rests_by_default_and_one_by_hand_does_not"],
    },
    Defect {
        name: "rest-of-hours",
        what: "a run that a schedule started rests for as long as a batch that waited says",
        postgres: &[edit(
            "v_longest_rest := 60000;",
            "v_longest_rest := 86400000;",
        )],
        mysql: &[edit(
            "v_longest_rest = 60000;",
            "v_longest_rest = 86400000;",
        )],
        noticed_by: &["pace::SERVER::no_rest_of_a_scheduled_run_is_longer_than_a_minute"],
    },
    Defect {
        name: "order-of-rules",
        what: "a worker goes to a rule while another one is at the rule before",
        postgres: &[edit(
            "at_others(p_run, p_rule, true);",
            "at_others(p_run, p_rule, true); o_wait := NULL;",
        )],
        mysql: &[edit(
            "at_others(p_run, p_rule, true, o_wait);",
            "at_others(p_run, p_rule, true, o_wait); SET o_wait = NULL;",
        )],
        noticed_by: &["workers::SERVER::a_worker_waits_for_the_rule_before"],
    },
    Defect {
        name: "two-at-a-rule",
        what: "a worker does not wait where the rows of a rule are not divided",
        postgres: &[edit("IF NOT v_divided THEN", "IF false THEN")],
        mysql: &[edit("IF o_wait IS NULL AND", "IF false AND")],
        noticed_by: &["workers::SERVER::a_worker_waits_for_the_rule_before"],
    },
    Defect {
        name: "dry-run-kept",
        what: "a dry run commits what it deletes",
        postgres: &[],
        mysql: &[edit(
            "IF v_dry_run THEN\n                ROLLBACK;",
            "IF v_dry_run THEN\n                COMMIT;",
        )],
        noticed_by: &[DRY],
    },
    Defect {
        name: "work-tables-in-a-batch",
        what: "the transaction that deletes makes temporary tables: MariaDB logs it even if it is rolled back",
        postgres: &[],
        mysql: &[edit(
            "CALL work_end_time(p_rule);\n            COMMIT;\n            CALL begin_ledger();",
            "CALL work_end_time(p_rule);",
        )],
        noticed_by: &["binlog::mariadb::what_is_rolled_back_is_not_in_the_binary_log"],
    },
    Defect {
        name: "crashed-elsewhere",
        what: "a run of another server is judged by the session locks of this one",
        postgres: &[],
        mysql: &[edit("COALESCE(r.node, v_node) = v_node,\n", "true,\n")],
        noticed_by: &["nodes::SERVER::a_run_elsewhere_lives_as_long_as_it_gives_signs_of_life"],
    },
    Defect {
        name: "runs-on-two-servers",
        what: "a run begins while another server has one",
        postgres: &[],
        mysql: &[edit("AND r.node <> v_node\n", "AND false\n")],
        noticed_by: &["nodes::SERVER::a_run_elsewhere_lives_as_long_as_it_gives_signs_of_life"],
    },
    Defect {
        name: "no-sign-of-life",
        what: "the batches of a run give no sign of life",
        postgres: &[],
        mysql: &[edit(
            "SET r.alive_at = UTC_TIMESTAMP(6) WHERE r.run_id = p_run AND r.status = 'running';",
            "SET r.alive_at = r.alive_at WHERE r.run_id = p_run AND r.status = 'running';",
        )],
        noticed_by: &["nodes::SERVER::every_batch_is_a_sign_of_life"],
    },
    Defect {
        name: "backup-ends-a-run",
        what: "a run waits a second for a backup that locks the whole server, and no longer",
        postgres: &[],
        mysql: &[edit(
            "SET SESSION lock_wait_timeout = 31536000;",
            "SET SESSION lock_wait_timeout = 1;",
        )],
        noticed_by: &["backups::SERVER::a_run_waits_for_a_backup_and_goes_on"],
    },
    Defect {
        name: "ledger-locked-table-by-table",
        what: "a transaction of the ledger comes to its tables one after the other, as a backup does",
        postgres: &[],
        mysql: &[edit(
            "rule_instant AS j\n            WHERE false\n            FOR UPDATE;",
            "rule_instant AS j\n            WHERE false;",
        )],
        noticed_by: &["backups::SERVER::a_backup_that_locks_table_by_table_ends_no_run"],
    },
    Defect {
        name: "locked-for-reading",
        what: "a table that others have locked for reading shows only as rows are deleted",
        postgres: &[],
        mysql: &[edit(
            "IF(g.goes, ' LIMIT 0 FOR UPDATE)', ' LIMIT 0)')",
            "' LIMIT 0)'",
        )],
        noticed_by: &["backups::SERVER::a_table_that_is_locked_for_reading_is_one_wait"],
    },
    Defect {
        name: "impatient-end",
        what: "the end of a run waits for that of another worker only as long as its caller likes",
        postgres: &[edit(
            "run_end(p_run bigint, p_reasons text[])\nRETURNS json\nLANGUAGE plpgsql SECURITY DEFINER\nSET lock_timeout = 0\n",
            "run_end(p_run bigint, p_reasons text[])\nRETURNS json\nLANGUAGE plpgsql SECURITY DEFINER\n",
        )],
        mysql: &[],
        noticed_by: &["endings::the_end_of_a_run_waits_for_that_of_another_worker"],
    },
    Defect {
        name: "no-end-at-all",
        what: "a run whose end fails says for ever that it goes on",
        postgres: &[edit(
            "AND is_own(p_run);\n    IF FOUND THEN\n        DELETE FROM run_key AS k WHERE k.run_id = p_run;\n    END IF;\n    RETURN",
            "AND false;\n    RETURN",
        )],
        mysql: &[],
        noticed_by: &["endings::an_error_at_the_end_of_a_run_closes_it"],
    },
    Defect {
        name: "clock-that-was-ahead",
        what: "the back-off lasts until the time that a wrong clock had shown",
        postgres: &[edit(
            "AND coalesce(r.finished_at, r.started_at) <= clock_timestamp(), false",
            ", false",
        )],
        mysql: &[edit(
            "'SCHEDULED' AND COALESCE(a.finished_at, a.started_at) <= UTC_TIMESTAMP(6) AS is_scheduled",
            "'SCHEDULED' AS is_scheduled",
        )],
        noticed_by: &["guard::back_off::SERVER::what_a_wrong_clock_wrote_counts_for_nothing"],
    },
    Defect {
        name: "scopes-of-before-a-rollback",
        what: "a list of scopes that was filled in a batch that is rolled back is filled again without being emptied",
        postgres: &[],
        mysql: &[edit(
            "        DELETE FROM work_told;\n        DELETE FROM work_said;\n        DELETE FROM work_scope;\n        DELETE FROM work_scope_of;\n        IF v_scoped",
            "\n        IF v_before IS NOT NULL THEN\n            DELETE FROM work_told;\n            DELETE FROM work_said;\n            DELETE FROM work_scope;\n            DELETE FROM work_scope_of;\n        END IF;\n        IF v_scoped",
        )],
        noticed_by: &[
            "work_tables::mariadb::a_batch_that_is_rolled_back_leaves_no_scope_that_is_not_to_be_cleaned",
        ],
    },
    Defect {
        name: "place-lost-by-a-rollback",
        what: "a search that was rolled back after it had moved begins at the first row",
        postgres: &[],
        mysql: &[edit(
            "IF NOT EXISTS (SELECT 1 FROM work_cursor AS c WHERE c.position = 1) THEN",
            "IF NOT EXISTS (SELECT 1 FROM work_cursor) THEN",
        )],
        noticed_by: &[
            "work_tables::mariadb::a_batch_that_is_rolled_back_after_its_rows_went_begins_no_pass_anew",
        ],
    },
    Defect {
        name: "cursor-lost-by-a-rollback",
        what: "the place that a search begins behind is deleted and inserted again",
        postgres: &[],
        mysql: &[edit(
            "    -- The row is updated: MariaDB loses one that is deleted and inserted again in a transaction that is rolled back.\n",
            "    DELETE FROM work_cursor;\n",
        )],
        noticed_by: &[
            "work_tables::mariadb::a_batch_that_is_rolled_back_leaves_the_search_where_it_was",
        ],
    },
    Defect {
        name: "held-keys-lost-by-a-rollback",
        what: "what a list of held keys was read from comes back at a rollback that loses keys of the list",
        postgres: &[],
        mysql: &[edit(
            "        DELETE FROM work_holds_of;\n        INSERT INTO work_holds_of (said)\n        VALUES (v_said);\n",
            "        INSERT INTO work_holds_of (said)\n        VALUES (v_said)\n        ON DUPLICATE KEY UPDATE said = v_said;\n",
        )],
        noticed_by: &[
            "work_tables::mariadb::a_batch_that_is_rolled_back_leaves_the_search_where_it_was",
        ],
    },
    Defect {
        name: "limits-of-runs-lost",
        what: "where another rule becomes the first, the ledger is pruned earlier, and runs take longer",
        postgres: &[edit(
            "AND CASE s.name WHEN 'time_budget' THEN s.value < l.value",
            "AND false AND CASE s.name WHEN 'time_budget' THEN s.value < l.value",
        )],
        mysql: &[edit(
            "AND CASE s.name WHEN 'time_budget' THEN s.value < l.value",
            "AND false AND CASE s.name WHEN 'time_budget' THEN s.value < l.value",
        )],
        noticed_by: &[
            "limits::SERVER::the_limits_of_runs_hold_where_another_rule_becomes_the_first",
        ],
    },
    Defect {
        name: "reset-undone",
        what: "an installation brings back what an operator has reset, as long as the setting of a rule that is gone waits",
        postgres: &[edit(
            "OR CASE s.name WHEN 'time_budget' THEN s.value < l.value",
            "OR false AND CASE s.name WHEN 'time_budget' THEN s.value < l.value",
        )],
        mysql: &[edit(
            "OR CASE s.name WHEN 'time_budget' THEN s.value < l.value",
            "OR false AND CASE s.name WHEN 'time_budget' THEN s.value < l.value",
        )],
        noticed_by: &[
            "limits::SERVER::the_limits_of_runs_hold_where_another_rule_becomes_the_first",
        ],
    },
    Defect {
        name: "ledger-forgets-after-a-rollback",
        what: "a rule that comes back has its old limit, though a later one of the rule between is longer",
        postgres: &[edit(
            "(w.rule IS NULL OR w.changed_at < s.changed_at)",
            "w.rule IS NULL",
        )],
        mysql: &[edit(
            "(w.rule IS NULL OR w.changed_at < s.changed_at)",
            "w.rule IS NULL",
        )],
        noticed_by: &[
            "limits::SERVER::the_limits_of_runs_hold_where_another_rule_becomes_the_first",
        ],
    },
    Defect {
        name: "archive-forgets-what-was-kept",
        what: "what is archived goes earlier than somebody has said where another rule becomes the first that archives",
        postgres: &[edit(
            "GROUP BY l.rule, s.name",
            "AND s.name <> 'archive_days' GROUP BY l.rule, s.name",
        )],
        mysql: &[edit(
            "GROUP BY l.rule, s.name",
            "AND s.name <> 'archive_days' GROUP BY l.rule, s.name",
        )],
        noticed_by: &[
            "limits::SERVER::what_is_archived_is_kept_where_another_rule_becomes_the_first",
        ],
    },
    Defect {
        name: "failed-without-an-error",
        what: "a run that only passes over refused rows shows no error",
        postgres: &[edit("AND e.key = ANY (p_keys)", "AND false")],
        mysql: &[edit("AND f.`key` = v_told", "AND false")],
        noticed_by: &[
            "gathered::postgres::a_run_that_only_passes_over_refused_rows_failed",
            "parts::SERVER::a_run_that_only_passes_over_refused_rows_failed",
        ],
    },
    Defect {
        name: "dry-run-refuses",
        what: "a run passes over a row that a dry run could not delete",
        postgres: &[edit(
            "AND r.trigger NOT IN ('PURGE', 'STAMP') AND NOT r.dry_run\n    );",
            "AND r.trigger NOT IN ('PURGE', 'STAMP')\n    );",
        )],
        mysql: &[],
        noticed_by: &["gathered::postgres::what_a_dry_run_has_met_is_tried"],
    },
    Defect {
        name: "backup-waits-for-a-count",
        what: "a run has the tables of its ledger while it counts what is left",
        postgres: &[],
        mysql: &[edit(
            "START TRANSACTION;\n            -- What a look has executed",
            "CALL begin_ledger();\n            -- What a look has executed",
        )],
        noticed_by: &["backups::SERVER::a_backup_does_not_wait_while_a_run_counts"],
    },
    Defect {
        name: "end-never-written",
        what: "a run whose ledger cannot be pruned stays open",
        postgres: &[],
        mysql: &[edit(
            "IF v_number < 3 THEN CALL begin_ledger();",
            "IF true THEN CALL begin_ledger();",
        )],
        noticed_by: &["endings::SERVER::an_error_that_the_end_of_a_run_always_meets_closes_it"],
    },
];
