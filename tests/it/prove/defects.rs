//! The defects. Each is one that a hand may slip into a template: most are a word long.

use crate::support::defect::{Defect, Edit};

const fn edit(from: &'static str, to: &'static str) -> Edit {
    Edit { from, to }
}

const CLOSED: &str = "oracle::SERVER::closed_worlds_are_cleaned_as_the_model_says";
const LITERAL: &str = "oracle::SERVER::literal_worlds_are_cleaned_as_the_model_says";
const KEYED: &str = "oracle::SERVER::closed_worlds_with_foreign_keys_are_cleaned_as_the_model_says";
const STAMP: &str =
    "camunda::stamp_of::SERVER::a_stamp_of_others_sets_what_the_model_says_and_nothing_else";
const SINGLE: &str = "single::SERVER::a_run_deletes_what_the_model_says";

pub(crate) const DEFECTS: &[Defect] = &[
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
        noticed_by: &["oracle::cases::SERVER::an_end_time_exactly_at_the_cutoff_stays"],
    },
    Defect {
        name: "forgotten-edge",
        what: "the rows of one table stay when their family goes",
        postgres: &[edit(
            "DELETE FROM D.\"t_ds_alert\" AS t\n    WHERE t.\"workflow_instance_id\" = ANY (o_members)",
            "DELETE FROM D.\"t_ds_alert\" AS t\n    WHERE false AND t.\"workflow_instance_id\" = ANY (o_members)",
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
            "DELETE FROM D.\"t_ds_relation_workflow_instance\" AS t\n    WHERE t.\"workflow_instance_id\" = ANY (o_members)",
            "DELETE FROM D.\"t_ds_relation_workflow_instance\" AS t\n    WHERE false AND t.\"workflow_instance_id\" = ANY (o_members)",
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
            "WHERE l.\"workflow_instance_id\" = ANY (n_id)\n              AND l.\"parent_workflow_instance_id\" IS NOT NULL",
            "WHERE false AND l.\"workflow_instance_id\" = ANY (n_id)\n              AND l.\"parent_workflow_instance_id\" IS NOT NULL",
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
            "oracle::cases::SERVER::an_unknown_state_is_not_final",
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
            "oracle::cases::SERVER::dynamic_children_belong_to_the_family",
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
        noticed_by: &["oracle::cases::an_instance_that_is_opened_again_meanwhile_stays"],
    },
    Defect {
        name: "no-lock",
        what: "members are judged without being locked",
        postgres: &[edit(
            "ORDER BY i.\"id\"\n                FOR UPDATE SKIP LOCKED",
            "ORDER BY i.\"id\"",
        )],
        mysql: &[edit(
            "ORDER BY w.id\n            FOR UPDATE SKIP LOCKED",
            "ORDER BY w.id",
        )],
        noticed_by: &["rivals::SERVER::a_family_with_a_locked_member_is_skipped_without_waiting"],
    },
    Defect {
        name: "no-safety-lag",
        what: "the safety lag is not added to the retention",
        postgres: &[edit("604800) + 86400)", "604800) + 0)")],
        mysql: &[edit("604800) + 86400)", "604800) + 0)")],
        noticed_by: &[CLOSED],
    },
    Defect {
        name: "disabled-policy",
        what: "a disabled policy counts like another",
        postgres: &[edit("\n      AND p.enabled\n", "\n")],
        mysql: &[edit("\n      AND p.enabled\n", "\n")],
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
            "hold AS h\n        WHERE h.rule = 'workflow_instances'",
            "hold AS h\n        WHERE h.rule = 'workflow_instance'",
        )],
        mysql: &[edit(
            "hold AS h\n    WHERE h.rule = 'workflow_instances'",
            "hold AS h\n    WHERE h.rule = 'workflow_instance'",
        )],
        noticed_by: &[
            "oracle::cases::SERVER::a_held_family_stays_until_the_hold_ends",
            CLOSED,
        ],
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
            "oracle::cases::SERVER::a_held_family_stays_until_the_hold_ends",
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
            "        SET o_rows = '';\n",
            "        SET o_rows = '';\n        DELETE t FROM W.work_member AS w STRAIGHT_JOIN D.`t_ds_workflow_instance` AS t ON t.`id` = w.id;\n",
        )],
        noticed_by: &[KEYED],
    },
    Defect {
        name: "early-commit",
        what: "a batch is committed before it is whole (PostgreSQL lets no function do that)",
        postgres: &[],
        mysql: &[edit(
            "        SET o_rows = '';\n",
            "        COMMIT;\n        SET o_rows = '';\n",
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
            "STRAIGHT_JOIN D.`t_ds_command` AS t1 ON t1.`workflow_instance_id` = m.id;",
            "STRAIGHT_JOIN D.`t_ds_command` AS t1 ON t1.`workflow_instance_id` = m.id AND 1 = 0;",
        )],
        noticed_by: &[KEYED],
    },
    Defect {
        name: "window-keeps-nothing",
        what: "a window of removal times takes what a hold keeps",
        postgres: &[edit(
            "AND (t.\"root_proc_inst_id_\" IN (SELECT unnest(v_keep))) IS NOT TRUE",
            "AND true",
        )],
        mysql: &[edit("AND k1.id IS NULL;", ";")],
        noticed_by: &[
            "camunda::by_window::SERVER::a_hold_on_any_member_keeps_its_family_and_purge_takes_one_family",
        ],
    },
    Defect {
        name: "window-null-root",
        what: "rows that name no root stay in a window where something is kept",
        postgres: &[edit(
            "(t.\"root_proc_inst_id_\" IN (SELECT unnest(v_keep))) IS NOT TRUE",
            "NOT (t.\"root_proc_inst_id_\" IN (SELECT unnest(v_keep)))",
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
        postgres: &[edit("AND p1.\"number\" = t.\"number\"\n", "\n")],
        mysql: &[edit("AND p1.`number` = t.`number`\n", "\n")],
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
        postgres: &[edit("IF v_keep = '{}' THEN", "IF true THEN")],
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
            "others_at(p_run, p_rule, true);",
            "others_at(p_run, p_rule, true); o_wait := NULL;",
        )],
        mysql: &[edit(
            "others_at(p_run, p_rule, true, o_wait);",
            "others_at(p_run, p_rule, true, o_wait); SET o_wait = NULL;",
        )],
        noticed_by: &["workers::SERVER::a_worker_waits_for_the_rule_before"],
    },
    Defect {
        name: "two-at-a-rule",
        what: "a worker does not wait where the rows of a rule are not divided",
        postgres: &[edit("IF p_rule NOT IN (", "IF false AND p_rule NOT IN (")],
        mysql: &[edit("IF o_wait IS NULL AND", "IF false AND")],
        noticed_by: &["workers::SERVER::a_worker_waits_for_the_rule_before"],
    },
];
