//! The defects. Each is one that a hand may slip into a template: most are a word long.

mod guard;
mod sight;

use crate::support::defect::{Defect, Edit};

const fn edit(from: &'static str, to: &'static str) -> Edit {
    Edit { from, to }
}

const CLOSED: &str = "oracle::SERVER::closed_worlds_are_cleaned_as_the_model_says";
const LITERAL: &str = "oracle::SERVER::literal_worlds_are_cleaned_as_the_model_says";
const KEYED: &str = "oracle::SERVER::closed_worlds_with_foreign_keys_are_cleaned_as_the_model_says";
const STAMP: &str =
    "camunda::stamp_of::SERVER::a_stamp_of_others_sets_what_the_model_says_and_nothing_else";
const DRY: &str = "binlog::SERVER::what_is_rolled_back_is_not_in_the_binary_log";
const SINGLE: &str = "single::SERVER::a_run_deletes_what_the_model_says";

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Defect> {
    let apart = guard::DEFECTS.iter().chain(sight::DEFECTS);
    apart.chain(DEFECTS)
}

const DEFECTS: &[Defect] = &[
    Defect {
        name: "inclusive-cutoff",
        what: "an end time exactly at the cutoff counts as past",
        postgres: &[
            edit("i.\"end_time\" < s.cutoff", "i.\"end_time\" <= s.cutoff"),
            edit("m.ended >= v_least", "m.ended > v_least"),
            edit("m.ended >= m.cutoff", "m.ended > m.cutoff"),
            edit("m.ended >= c.cutoff", "m.ended > c.cutoff"),
        ],
        mysql: &[
            edit("i.`end_time` < s.cutoff", "i.`end_time` <= s.cutoff"),
            edit("m.ended >= m.cutoff", "m.ended > m.cutoff"),
            edit("c.newest >= c.cutoff", "c.newest > c.cutoff"),
        ],
        noticed_by: &["oracle::cases::due::SERVER::an_end_time_exactly_at_the_cutoff_stays"],
    },
    Defect {
        name: "shared-rows-unseen",
        what: "a row that is to go with all of its parents goes with the first",
        postgres: &[edit("v_other := v_other || n_other;", "")],
        mysql: &[edit("m.id, p_depth, true, true", "m.id, -9, true, true")],
        noticed_by: &["several::SERVER::by_default_a_row_goes_with_all_of_its_parents"],
    },
    Defect {
        name: "unfinished-row-goes",
        what: "a family goes although one of its rows is not final",
        postgres: &[edit(
            "(t1.\"complete\" = TRUE AND t1.\"state\" IN (3, 4)) IS NOT TRUE",
            "false",
        )],
        mysql: &[edit(
            "(t1.`complete` = TRUE AND t1.`state` IN (3, 4)) IS NOT TRUE",
            "false",
        )],
        noticed_by: &["several::SERVER::a_row_that_is_not_final_keeps_its_family"],
    },
    Defect {
        name: "other-holds-unasked-by-time",
        what: "a rule by removal time takes families that holds of other rules keep",
        postgres: &[edit(
            "v_held := v_held || W.history_bound(",
            "PERFORM W.history_bound(",
        )],
        mysql: &[edit(
            "CALL bound_by('history', v_bound);",
            "SET v_bound = false;",
        )],
        noticed_by: &["bound::SERVER::a_removal_time_asks_for_holds_of_other_rules"],
    },
    Defect {
        name: "other-holds-unasked-in-windows",
        what: "a window of a rule by removal time takes rows of no family that holds of other rules keep",
        postgres: &[edit(
            "NOT EXISTS (SELECT FROM W.hold AS h WHERE h.rule = 'tasks'",
            "NOT EXISTS (SELECT FROM W.hold AS h WHERE h.rule = 'nobody'",
        )],
        mysql: &[edit(
            "NOT EXISTS (SELECT 1 FROM hold AS h WHERE h.rule = 'tasks'",
            "NOT EXISTS (SELECT 1 FROM hold AS h WHERE h.rule = 'nobody'",
        )],
        noticed_by: &[
            "bound::SERVER::a_removal_time_asks_for_holds_of_other_rules",
            "bound::SERVER::windows_ask_for_holds_of_other_rules",
        ],
    },
    Defect {
        name: "held-decision-torn",
        what: "the decisions that a held one has required go by their removal time",
        postgres: &[edit(
            "AS m ON m.\"root_dec_inst_id_\" = w.id",
            "AS m ON m.\"id_\" = w.id",
        )],
        mysql: &[edit(
            "AS m ON m.`ROOT_DEC_INST_ID_` = w.id",
            "AS m ON m.`ID_` = w.id",
        )],
        noticed_by: &[
            "camunda::oracle::by_family::SERVER::a_run_deletes_what_the_model_says_and_nothing_else",
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
        name: "first-rule-for-ever",
        what: "every run begins with the first rule",
        postgres: &[edit("AND b.status = 'stopped'", "AND false")],
        mysql: &[edit("AND b.status = 'stopped'", "AND 1 = 0")],
        noticed_by: &["forward::SERVER::a_rule_without_an_end_leaves_time_to_the_next"],
    },
    Defect {
        name: "looked-at-twice",
        what: "a run that went on where the one before left off does not stop there again",
        postgres: &[edit(
            "CASE WHEN v_progress.around THEN v_progress.start_time END, v_progress.start_key\n        ) AS n;\n        IF v_roots",
            "NULL, NULL\n        ) AS n;\n        IF v_roots",
        )],
        mysql: &[edit(
            "IF v_to_time IS NOT NULL THEN\n                    -- The work table",
            "IF false THEN\n                    -- The work table",
        )],
        noticed_by: &["forward::SERVER::families_that_stay_do_not_stop_those_behind_them"],
    },
    Defect {
        name: "forgotten-edge",
        what: "the rows of one table stay when their family goes",
        postgres: &[edit(
            "DELETE FROM D.\"t_ds_alert\" AS t WHERE t.\"workflow_instance_id\" = ANY (p_members)",
            "DELETE FROM D.\"t_ds_alert\" AS t WHERE false AND t.\"workflow_instance_id\" = ANY (p_members)",
        )],
        mysql: &[edit(
            "STRAIGHT_JOIN D.`t_ds_alert` AS t ON t.`workflow_instance_id` = w.id;",
            "STRAIGHT_JOIN D.`t_ds_alert` AS t ON t.`workflow_instance_id` = w.id AND 1 = 0;",
        )],
        noticed_by: &[CLOSED],
    },
    Defect {
        name: "one-end-only",
        what: "a relation goes with its upper end only",
        postgres: &[edit(
            "DELETE FROM D.\"t_ds_relation_workflow_instance\" AS t WHERE t.\"workflow_instance_id\" = ANY (p_members)",
            "DELETE FROM D.\"t_ds_relation_workflow_instance\" AS t WHERE false AND t.\"workflow_instance_id\" = ANY (p_members)",
        )],
        mysql: &[edit(
            "STRAIGHT_JOIN D.`t_ds_relation_workflow_instance` AS t ON t.`workflow_instance_id` = w.id AND w.id <> 0;",
            "STRAIGHT_JOIN D.`t_ds_relation_workflow_instance` AS t ON t.`workflow_instance_id` = w.id AND 1 = 0;",
        )],
        noticed_by: &[CLOSED, LITERAL],
    },
    Defect {
        name: "downwards-only",
        what: "a member that another family shares does not lead to that family",
        postgres: &[edit(
            "WHERE l.\"workflow_instance_id\" = ANY (o_ids) AND",
            "WHERE false AND l.\"workflow_instance_id\" = ANY (o_ids) AND",
        )],
        mysql: &[edit(
            "STRAIGHT_JOIN D.`t_ds_relation_workflow_instance` AS l ON l.`workflow_instance_id` = m.id",
            "STRAIGHT_JOIN D.`t_ds_relation_workflow_instance` AS l ON l.`workflow_instance_id` = m.id AND 1 = 0",
        )],
        noticed_by: &[CLOSED],
    },
    Defect {
        name: "null-state",
        what: "a row without a state counts as final",
        postgres: &[edit(
            "(i.\"state\" IN (3, 5, 6, 7)) IS TRUE",
            "(i.\"state\" IN (3, 5, 6, 7)) IS NOT FALSE",
        )],
        mysql: &[edit(
            "(i.`state` IN (3, 5, 6, 7)) IS TRUE",
            "(i.`state` IN (3, 5, 6, 7)) IS NOT FALSE",
        )],
        noticed_by: &[
            "oracle::cases::due::SERVER::an_unknown_state_is_not_final",
            CLOSED,
        ],
    },
    Defect {
        name: "root-only",
        what: "whether a family is final is asked of its root alone",
        postgres: &[edit("WHERE NOT m.final", "WHERE NOT m.final AND m.root")],
        mysql: &[
            edit("WHEN NOT m.final OR", "WHEN NOT m.final AND m.root OR"),
            edit(
                "WHERE NOT m.final\n       OR",
                "WHERE NOT m.final AND m.root\n       OR",
            ),
            edit(
                "WHEN NOT m.final THEN 2",
                "WHEN NOT m.final AND m.root THEN 2",
            ),
        ],
        noticed_by: &[
            "oracle::cases::families::SERVER::dynamic_children_belong_to_the_family",
            CLOSED,
        ],
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
        name: "no-safety-lag",
        what: "the safety lag is not added to the retention",
        postgres: &[edit("604800) + 86400)", "604800) + 0)")],
        mysql: &[edit(
            "GREATEST(p_seconds, r.minimum) + JSON_VALUE(r.document, '$.safety_lag')",
            "GREATEST(p_seconds, r.minimum)",
        )],
        noticed_by: &[CLOSED],
    },
    Defect {
        name: "disabled-policy",
        what: "a disabled policy counts like another",
        postgres: &[edit("\n      AND p.enabled\n", "\n")],
        mysql: &[
            edit("AND (p.enabled OR NOT v_opt_in)", "AND true"),
            edit(
                "IF(p.enabled, COALESCE(p_retention, p.retention_seconds), NULL)",
                "COALESCE(p_retention, p.retention_seconds)",
            ),
        ],
        noticed_by: &[CLOSED],
    },
    Defect {
        name: "policy-ignored",
        what: "the retention of a policy does not matter, only the minimum does",
        postgres: &[edit(
            "coalesce(p_retention, p.retention_seconds)",
            "coalesce(p_retention, 0)",
        )],
        mysql: &[edit(
            "COALESCE(p_retention, p.retention_seconds)",
            "COALESCE(p_retention, 0)",
        )],
        noticed_by: &[CLOSED],
    },
    Defect {
        name: "hold-ignored",
        what: "holds are looked for under another rule's name",
        postgres: &[edit(
            "hold AS h\n        WHERE h.rule = p_rule\n",
            "hold AS h\n        WHERE h.rule = left(p_rule, -1)\n",
        )],
        mysql: &[edit(
            "hold AS h\n    WHERE h.rule = p_rule\n      AND (h.until",
            "hold AS h\n    WHERE h.rule = LEFT(p_rule, CHAR_LENGTH(p_rule) - 1)\n      AND (h.until",
        )],
        noticed_by: &[
            "oracle::cases::holds::SERVER::a_held_family_stays_until_the_hold_ends",
            CLOSED,
        ],
    },
    Defect {
        name: "hold-of-one-rule",
        what: "a family goes with a row that is held for another rule",
        postgres: &[edit("v_held := v_held || v_bound;", "v_bound := v_held;")],
        mysql: &[edit(
            "IF v_bound THEN\n        CALL perform(p_rule, 'bound', '');",
            "IF v_bound AND false THEN\n        CALL perform(p_rule, 'bound', '');",
        )],
        noticed_by: &["bound::SERVER::what_a_hold_of_one_rule_keeps_no_other_takes"],
    },
    Defect {
        name: "eternal-hold",
        what: "a hold that has ended still holds",
        postgres: &[edit(
            "AND (h.until IS NULL OR h.until > clock_timestamp())",
            "AND (h.until IS NULL OR h.until > '-infinity')",
        )],
        mysql: &[edit(
            "AND (h.until IS NULL OR h.until > UTC_TIMESTAMP(6))",
            "AND (h.until IS NULL OR h.until > '1000-01-01')",
        )],
        noticed_by: &[
            "oracle::cases::holds::SERVER::a_held_family_stays_until_the_hold_ends",
            CLOSED,
        ],
    },
    Defect {
        name: "wrong-order",
        what: "the members go before what belongs to them",
        postgres: &[edit(
            "    IF cardinality(o_members) = 0 THEN\n        RETURN;\n    END IF;\n",
            "    IF cardinality(o_members) = 0 THEN\n        RETURN;\n    END IF;\n    DELETE FROM D.\"t_ds_workflow_instance\" AS t WHERE t.\"id\" = ANY (o_members);\n",
        )],
        mysql: &[edit(
            "    DECLARE v_any     boolean;\n    SET o_rows = '[';\n",
            "    DECLARE v_any     boolean;\n    SET o_rows = '[';\n    DELETE t FROM W.work_member AS w STRAIGHT_JOIN D.`t_ds_workflow_instance` AS t ON t.`id` = w.id;\n",
        )],
        noticed_by: &[KEYED],
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
        name: "cursor-skips",
        what: "the cursor goes on behind all rows of the same time",
        postgres: &[edit(
            "(i.\"end_time\", i.\"id\") > (p_after_time, p_after_key)",
            "i.\"end_time\" > p_after_time",
        )],
        mysql: &[edit(
            "AND (i.`end_time` > c.ended OR i.`id` > c.id)",
            "AND i.`end_time` > c.ended",
        )],
        noticed_by: &[CLOSED],
    },
    Defect {
        name: "restrict-ignored",
        what: "a row that keeps its family is not looked for",
        postgres: &[edit(
            "FROM D.\"t_ds_command\" AS t1",
            "FROM (SELECT * FROM D.\"t_ds_command\" LIMIT 0) AS t1",
        )],
        mysql: &[edit(
            "STRAIGHT_JOIN D.`t_ds_command` AS t1 ON t1.`workflow_instance_id` = m.id AND m.id <> 0;",
            "STRAIGHT_JOIN D.`t_ds_command` AS t1 ON t1.`workflow_instance_id` = m.id AND 1 = 0;",
        )],
        noticed_by: &[KEYED],
    },
    Defect {
        name: "window-keeps-nothing",
        what: "a window of removal times takes what a hold keeps",
        postgres: &[edit(
            "AND (t.\"root_proc_inst_id_\" IN (SELECT unnest(k.o_keep))) IS NOT TRUE",
            "AND true",
        )],
        mysql: &[edit("AND k1.id IS NULL", "AND true")],
        noticed_by: &[
            "camunda::by_window::SERVER::a_hold_on_any_member_keeps_its_family_and_purge_takes_one_family",
        ],
    },
    Defect {
        name: "keep-by-one-column",
        what: "the newest of each dag and type are the newest of each dag",
        postgres: &[
            edit(
                "n.\"dag_id\" = g.per_1 AND n.\"run_type\" = g.per_2",
                "n.\"dag_id\" = g.per_1",
            ),
            edit(
                "n.\"dag_id\" = i.\"dag_id\" AND n.\"run_type\" = i.\"run_type\"",
                "n.\"dag_id\" = i.\"dag_id\"",
            ),
        ],
        mysql: &[edit(
            "n.`dag_id` = i.`dag_id` AND n.`run_type` = i.`run_type`",
            "n.`dag_id` = i.`dag_id`",
        )],
        noticed_by: &[
            "airflow::runs::postgres::the_scheduler_goes_on_where_it_would_have",
            "airflow::runs::mysql::the_scheduler_goes_on_where_it_would_have",
        ],
    },
    Defect {
        name: "old-rows-forgotten",
        what: "rows that name no root are left behind by their instance",
        postgres: &[edit(
            "WHERE t.\"proc_inst_id_\" = ANY (a.o_all) AND t.\"root_proc_inst_id_\" IS NULL",
            "WHERE false",
        )],
        mysql: &[edit(
            "AS t ON t.`PROC_INST_ID_` = m.id AND t.`ROOT_PROC_INST_ID_` IS NULL;",
            "AS t ON t.`PROC_INST_ID_` = m.id AND 1 = 0;",
        )],
        noticed_by: &[
            "camunda::rootless::by_family::SERVER::a_run_and_a_purge_take_an_old_instance_as_any_other",
        ],
    },
    Defect {
        name: "old-rows-by-their-own-time",
        what: "a window takes rows that name no root, although their instance stays",
        postgres: &[edit(
            "NOT (t.\"root_proc_inst_id_\" IS NULL AND EXISTS",
            "NOT (false AND EXISTS",
        )],
        mysql: &[edit(
            "NOT (t.`ROOT_PROC_INST_ID_` IS NULL AND EXISTS",
            "NOT (1 = 0 AND EXISTS",
        )],
        noticed_by: &[
            "camunda::rootless::by_family::SERVER::a_run_and_a_purge_take_an_old_instance_as_any_other",
        ],
    },
    Defect {
        name: "window-null-root",
        what: "rows that name no root stay in a window where something is kept",
        postgres: &[edit(
            "(t.\"root_proc_inst_id_\" IN (SELECT unnest(k.o_keep))) IS NOT TRUE",
            "NOT (t.\"root_proc_inst_id_\" IN (SELECT unnest(k.o_keep)))",
        )],
        mysql: &[edit(
            "AND k1.id IS NULL;",
            "AND k1.id IS NULL AND t.`ROOT_PROC_INST_ID_` IS NOT NULL;",
        )],
        noticed_by: &[
            "camunda::oracle::by_window::SERVER::a_run_deletes_what_the_model_says_and_nothing_else",
        ],
    },
    Defect {
        name: "null-expiry",
        what: "a row without an expiry counts as expired",
        postgres: &[
            edit(
                "p_pass = 1 AND t.\"expires_at\" < v_now",
                "p_pass = 1 AND (t.\"expires_at\" < v_now) IS NOT FALSE",
            ),
            edit(
                "AND t.\"expires_at\" < v_now\n",
                "AND (t.\"expires_at\" < v_now) IS NOT FALSE\n",
            ),
            edit(
                "(t.\"expires_at\", t.\"id\") >= (v_1_1, v_1_2)",
                "((t.\"expires_at\", t.\"id\") >= (v_1_1, v_1_2)) IS NOT FALSE",
            ),
        ],
        mysql: &[
            edit(
                "p_pass = 1 AND t.`expires_at` < v_now",
                "p_pass = 1 AND (t.`expires_at` < v_now) IS NOT FALSE",
            ),
            edit(
                "WHERE t.`expires_at` < v_now",
                "WHERE (t.`expires_at` < v_now) IS NOT FALSE",
            ),
        ],
        noticed_by: &[SINGLE],
    },
    Defect {
        name: "fallback-takes-all",
        what: "the fallback takes rows that have an expiry to come",
        postgres: &[
            edit(
                "p_pass = 2 AND t.\"expires_at\" IS NULL AND",
                "p_pass = 2 AND",
            ),
            edit(
                "AND t.\"expires_at\" IS NULL\n              AND t.\"updated_at\" < v_cutoff\n",
                "AND t.\"updated_at\" < v_cutoff\n",
            ),
        ],
        mysql: &[
            edit(
                "p_pass = 2 AND t.`expires_at` IS NULL AND",
                "p_pass = 2 AND",
            ),
            edit(
                "WHERE t.`expires_at` IS NULL\n          AND t.`updated_at` < v_cutoff",
                "WHERE t.`updated_at` < v_cutoff",
            ),
        ],
        noticed_by: &[SINGLE],
    },
    Defect {
        name: "keep-one-less",
        what: "of the newest two, one is kept",
        postgres: &[edit("OFFSET 1 LIMIT 1", "OFFSET 0 LIMIT 1")],
        mysql: &[edit("LIMIT 1 OFFSET 1", "LIMIT 1 OFFSET 0")],
        noticed_by: &[SINGLE],
    },
    Defect {
        name: "zero-names-something",
        what: "a reference of 0, which means none, counts as one that leads nowhere",
        postgres: &[edit("AND t.\"order_id\" <> 0\n", "\n")],
        mysql: &[edit("AND t.`order_id` <> 0\n", "\n")],
        noticed_by: &[SINGLE],
    },
    Defect {
        name: "half-a-reference",
        what: "a reference of two columns is looked up by the first",
        postgres: &[edit("AND p1.\"number\" = t.\"number\"", "")],
        mysql: &[edit("AND p1.`number` = t.`number`", "")],
        noticed_by: &[SINGLE],
    },
    Defect {
        name: "stamp-beyond-its-rows",
        what: "a stamp of decisions outside of processes sets those of processes, too",
        postgres: &[edit("AND r.\"proc_inst_id_\" IS NULL\n", "\n")],
        mysql: &[edit(
            "r.`PROC_INST_ID_` IS NULL\n          AND r.`CASE_INST_ID_`",
            "r.`CASE_INST_ID_`",
        )],
        noticed_by: &[STAMP],
    },
    Defect {
        name: "kept-forgotten",
        what: "rows of a window go by their time alone, although a family stays",
        postgres: &[edit("IF k.o_keep = '{}' THEN", "IF true THEN")],
        mysql: &[],
        noticed_by: &[
            "camunda::by_window::SERVER::a_hold_on_any_member_keeps_its_family_and_purge_takes_one_family",
        ],
    },
    Defect {
        name: "deaf-key",
        what: "rows are left to a foreign key whose trigger is disabled",
        postgres: &[edit(
            "\n                    AND g.tgenabled IN ('A', 'O')",
            "",
        )],
        mysql: &[],
        noticed_by: &["airflow::cascades::one_that_does_not_is_not"],
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
        name: "stamp-in-part",
        what: "a stamp forgets what names a batch by the second of three columns",
        postgres: &[edit(
            "WHERE t.\"job_def_id_\" = o.\"monitor_job_def_id_\"",
            "WHERE false AND t.\"job_def_id_\" = o.\"monitor_job_def_id_\"",
        )],
        mysql: &[edit(
            "ON t.`JOB_DEF_ID_` = o.`MONITOR_JOB_DEF_ID_`",
            "ON t.`JOB_DEF_ID_` = o.`MONITOR_JOB_DEF_ID_` AND 1 = 0",
        )],
        noticed_by: &[STAMP],
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
        postgres: &[edit(
            "IF NOT (SELECT r.divided FROM",
            "IF false AND (SELECT r.divided FROM",
        )],
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
            "CALL work_end_time(p_rule);\n            COMMIT;\n            SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;\n            START TRANSACTION;",
            "CALL work_end_time(p_rule);",
        )],
        noticed_by: &["binlog::mariadb::what_is_rolled_back_is_not_in_the_binary_log"],
    },
    Defect {
        name: "hold-of-nothing",
        what: "a hold of a row that is not there is stored as if it kept something",
        postgres: &[edit(
            "IF NOT v_row.found AND NOT coalesce(",
            "IF false AND NOT coalesce(",
        )],
        mysql: &[
            edit("IF v_found OR v_absent_too THEN", "IF true THEN"),
            edit(
                "IF NOT v_found AND NOT COALESCE(",
                "IF false AND NOT COALESCE(",
            ),
        ],
        noticed_by: &["held::SERVER::a_hold_of_nothing_is_an_error_unless_it_is_meant"],
    },
    Defect {
        name: "hold-of-anything",
        what: "a hold may name any row of the table",
        postgres: &[edit(
            "o_found := end_time_finds(p_rule, o_key, o_found);",
            "NULL;",
        )],
        mysql: &[edit(
            "SELECT CAST(i.`id` AS CHAR), (i.`is_sub_workflow` = 0) IS TRUE",
            "SELECT CAST(i.`id` AS CHAR), true",
        )],
        noticed_by: &["held::SERVER::a_hold_below_a_root_names_any_member"],
    },
    Defect {
        name: "hold-as-written",
        what: "a hold is stored in the spelling of whoever set it",
        postgres: &[edit(
            "VALUES (v_rule, v_row.key,",
            "VALUES (v_rule, p_options ->> 'key',",
        )],
        mysql: &[edit(
            "VALUES (v_rule, v_key, v_reason,",
            "VALUES (v_rule, v_text, v_reason,",
        )],
        noticed_by: &["held::SERVER::every_spelling_of_a_key_holds_its_row"],
    },
    Defect {
        name: "hold-that-has-passed",
        what: "a hold until yesterday is stored",
        postgres: &[edit(
            "IF v_until <= clock_timestamp() THEN",
            "IF false THEN",
        )],
        mysql: &[edit("IF v_until <= UTC_TIMESTAMP(6) THEN", "IF false THEN")],
        noticed_by: &["held::SERVER::a_hold_of_nothing_is_an_error_unless_it_is_meant"],
    },
    Defect {
        name: "instants-as-the-server-reads-them",
        what: "a text is an instant if the server takes it for one",
        postgres: &[edit(
            "IF p_text ~ '^[0-9]{4}",
            "IF true OR p_text ~ '^[0-9]{4}",
        )],
        mysql: &[edit(
            "IF p_text REGEXP '^(?!0000)",
            "IF true OR p_text REGEXP '^(?!0000)",
        )],
        noticed_by: &["instants::SERVER::words_and_other_styles_are_no_instants"],
    },
    Defect {
        name: "file-of-a-living-row",
        what: "nobody asks whether a row still names the file",
        postgres: &[edit(
            "AND (\n                  EXISTS (SELECT FROM %2$I.%1$I AS t",
            "AND false AND (\n                  EXISTS (SELECT FROM %2$I.%1$I AS t",
        )],
        mysql: &[edit(
            " ON a.artifact_id = k.artifact_id '",
            " ON a.artifact_id = -k.artifact_id '",
        )],
        noticed_by: &[
            "oracle::cases::outbox::SERVER::a_file_that_a_row_names_is_told_before_it_goes",
        ],
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
        name: "taken-over",
        what: "what somebody else has made under windrow's names is used",
        postgres: &[edit(
            "RAISE EXCEPTION '% %', v_other.object, v_other.problem",
            "RAISE NOTICE '% %', v_other.object, v_other.problem",
        )],
        mysql: &[edit("CONCAT('DO `refused: ', ", "CONCAT('DO 0 -- ', ")],
        noticed_by: &[
            "claims::what_somebody_else_has_made_is_refused_by_name",
            "claims::what_stands_in_the_control_database_is_refused_by_name",
        ],
    },
    Defect {
        name: "open-to-all",
        what: "PUBLIC may call a new routine until its rights are taken away",
        postgres: &[edit(
            "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON ROUTINES FROM PUBLIC",
            "SELECT 1",
        )],
        mysql: &[],
        noticed_by: &["claims::nothing_is_open_or_the_installers_at_any_moment"],
    },
    Defect {
        name: "made-by-the-installer",
        what: "who installs owns what is new, until it is given away",
        postgres: &[edit(
            "SET ROLE \"windrow_dolphinscheduler_owner\"",
            "SELECT 1",
        )],
        mysql: &[],
        noticed_by: &["claims::nothing_is_open_or_the_installers_at_any_moment"],
    },
    Defect {
        name: "lent-rights",
        what: "a superuser runs where a trigger of somebody else can act at COMMIT",
        postgres: &[edit("WHERE NOT (o.rolsuper AND q.rolsuper)", "WHERE false")],
        mysql: &[],
        noticed_by: &["claims::a_superuser_lends_the_application_nothing"],
    },
    Defect {
        name: "lent-to-a-moved-row",
        what: "a superuser runs where a trigger on the INSERT of a moved row can act at COMMIT",
        postgres: &[edit("WHEN r.is_set THEN 28 ELSE 24", "ELSE 24")],
        mysql: &[],
        noticed_by: &["moves::a_superuser_lends_nothing_to_what_a_moved_row_fires"],
    },
    Defect {
        name: "held-cursor",
        what: "a cursor of a trigger is read at the COMMIT of a superuser",
        postgres: &[edit(
            "IF EXISTS (SELECT FROM pg_cursors AS c WHERE c.is_holdable) THEN",
            "IF false THEN",
        )],
        mysql: &[],
        noticed_by: &["claims::a_superuser_lends_the_application_nothing"],
    },
    Defect {
        name: "lent-on-the-way-back",
        what: "a superuser restores where a trigger of somebody else can act at COMMIT",
        postgres: &[edit("check_caller(session_user, true)", "seconds('1s')")],
        mysql: &[],
        noticed_by: &["claims::a_superuser_who_restores_lends_nothing_either"],
    },
    Defect {
        name: "free-lock",
        what: "a run waits for an advisory lock that any login may take",
        postgres: &[edit("floor(random() * 2147483000)::integer", "17")],
        mysql: &[],
        noticed_by: &["claims::a_login_without_rights_blocks_no_run"],
    },
    Defect {
        name: "kept-rights",
        what: "the owner role keeps the rights that an earlier state of the spec needed",
        postgres: &[edit(
            "EXECUTE format('REVOKE %s FROM",
            "PERFORM format('REVOKE %s FROM",
        )],
        mysql: &[edit(
            "SELECT IF(COUNT(*) = 0, 'DO 0', 'REVOKE ALL",
            "SELECT IF(COUNT(*) >= 0, 'DO 0', 'REVOKE ALL",
        )],
        noticed_by: &[
            "claims::a_right_that_the_spec_no_longer_needs_is_taken_back",
            "claims::what_stands_in_the_control_database_is_refused_by_name",
        ],
    },
    Defect {
        name: "short-trail",
        what: "an operator makes the ledger forget what he did",
        postgres: &[edit(
            "IF v_name = 'ledger_days' AND NOT",
            "IF false AND NOT",
        )],
        mysql: &[edit("AND l.name <> 'ledger_days'", "AND 1 = 1")],
        noticed_by: &["claims::an_operator_does_not_shorten_his_trail"],
    },
    Defect {
        name: "hidden-tables",
        what: "a temporary table of the caller is taken for one of the ledger",
        postgres: &[],
        mysql: &[edit("    CALL drop_shadows();\n", "")],
        noticed_by: &["rights::every_call_drops_what_would_hide_a_table"],
    },
    Defect {
        name: "armed-for-good",
        what: "who is armed until the restart stays armed after it",
        postgres: &[edit(
            "WHEN c.server_identity LIKE '%/started %'",
            "WHEN false",
        )],
        mysql: &[edit(
            "c.server_identity LIKE '% started at %'",
            "c.server_identity LIKE 'never'",
        )],
        noticed_by: &["claims::a_restart_disarms_only_who_was_armed_until_then"],
    },
];
