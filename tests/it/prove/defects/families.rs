//! Defects of what is one family, whether it has ended, and what goes of it in which order.

use super::{CLOSED, edit};
use crate::support::defect::Defect;

const LITERAL: &str = "oracle::SERVER::literal_worlds_are_cleaned_as_the_model_says";
const KEYED: &str = "oracle::SERVER::closed_worlds_with_foreign_keys_are_cleaned_as_the_model_says";

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "refusals-end-the-run",
        what: "a trigger that refuses one family with the state of a missing right ends the run",
        postgres: &[edit("AND is_raised(p_context)\n", "AND false\n")],
        mysql: &[edit("v_general AND NOT v_refusal", "v_general")],
        noticed_by: &["poison::SERVER::a_trigger_that_refuses_as_if_a_right_were_missing"],
    },
    Defect {
        name: "refusals-without-conditions",
        what: "MySQL: a refusal with the state of a missing right ends the run where warnings leave the error out",
        postgres: &[],
        mysql: &[edit("1139, 1172, 1644, SQLEXCEPTION", "SQLEXCEPTION")],
        noticed_by: &["poison::mysql::behind_warnings_a_refusal_is_told_apart"],
    },
    Defect {
        name: "keys-without-conditions",
        what: "MySQL: a foreign key that refuses is not known as one where warnings leave the error out",
        postgres: &[],
        mysql: &[edit("HANDLER FOR 1217, 1451", "HANDLER FOR 12170, 14510")],
        noticed_by: &["poison::mysql::behind_warnings_a_refusal_is_told_apart"],
    },
    Defect {
        name: "refusals-of-a-day-without-end",
        what: "MySQL: a trigger that refuses all is met by each row of an instant",
        postgres: &[],
        mysql: &[edit("COUNT(*) + COALESCE(@windrow_untold, 0)", "COUNT(*)")],
        noticed_by: &["poison::SERVER::a_trigger_that_refuses_a_whole_day_ends_the_run_soon"],
    },
    Defect {
        name: "refusals-without-end",
        what: "a trigger that refuses all with the state of a missing right fails each family",
        postgres: &[edit("RETURN p_alone AND (", "RETURN false AND (")],
        mysql: &[edit(
            "p_found = 0 OR p_found = 1 AND v_often",
            "p_found = 0",
        )],
        noticed_by: &["poison::SERVER::a_trigger_that_refuses_all_ends_the_run_soon"],
    },
    Defect {
        name: "refusals-of-the-oldest",
        what: "a trigger that refuses the oldest families with the state of a missing right ends the run",
        postgres: &[edit("SELECT count(*) >= 100\n", "SELECT count(*) >= 10\n")],
        mysql: &[edit(
            "COALESCE(@windrow_untold, 0) >= 100",
            "COALESCE(@windrow_untold, 0) >= 10",
        )],
        noticed_by: &["poison::SERVER::a_trigger_that_refuses_the_oldest_keeps_them_alone"],
    },
    Defect {
        name: "refusals-in-other-languages",
        what: "PostgreSQL: what a trigger raises counts as the server's own where that speaks Chinese",
        postgres: &[edit(
            "ELSIF strpos(v_line, 'RAISE') = 0 THEN",
            "ELSIF true THEN",
        )],
        mysql: &[],
        noticed_by: &["languages::a_trigger_that_refuses_keeps_one_family_in_every_language"],
    },
    Defect {
        name: "failed-assertions-end-the-call",
        what: "what a batch takes for an error is not a failed ASSERT of a trigger",
        postgres: &[edit(
            "        WHEN query_canceled OR OTHERS OR assert_failure THEN\n            GET",
            "        WHEN query_canceled OR OTHERS THEN\n            GET",
        )],
        mysql: &[],
        noticed_by: &["poison::an_assertion_in_a_trigger_keeps_one_family"],
    },
    Defect {
        name: "below-unlocked",
        what: "rows between the root and what belongs to them are not locked before that is read",
        postgres: &[edit(
            "(SELECT e.events FROM key_events AS e WHERE e.table_id = t.table_id OFFSET 0) AS g",
            "(SELECT 0 AS events) AS g",
        )],
        mysql: &[edit(" = w.id FOR UPDATE;", " = w.id;")],
        noticed_by: &["beneath::SERVER::what_comes_below_a_step_goes_with_it"],
    },
    Defect {
        name: "come-between",
        what: "a row in between that comes after the batch has locked its like goes with what nobody has read",
        postgres: &[edit("p_rows[n] > p_locked[n]", "false")],
        mysql: &[edit("p_rows > p_locked AND", "false AND")],
        noticed_by: &["beneath::SERVER::what_comes_with_a_step_of_its_own_goes_with_it"],
    },
    Defect {
        name: "strangers-listed",
        what: "MariaDB: a batch that has no rows in between waits for those of others, where their table is nearly empty",
        postgres: &[],
        mysql: &[edit(
            "IF v_any THEN INSERT INTO work_k",
            "IF true THEN INSERT INTO work_k",
        )],
        noticed_by: &["beneath::strangers::mariadb::a_step_of_a_stranger_is_in_nobodys_way"],
    },
    Defect {
        name: "moved-elsewhere",
        what: "PostgreSQL: what is below a row in between goes, though that has become one of another family",
        postgres: &[edit("IF p_moved THEN", "IF false THEN")],
        mysql: &[],
        noticed_by: &["beneath::moved::postgres::a_step_that_moves_keeps_what_is_below_it"],
    },
    Defect {
        name: "moved-elsewhere-and-copied",
        what: "MySQL: a purge fails as it copies what is below a row that has become one of another family",
        postgres: &[],
        mysql: &[edit(" = w.id FOR UPDATE;", " = w.id;")],
        noticed_by: &[
            "beneath::moved::mysql::a_step_that_moves_keeps_what_is_below_it_from_a_purge",
        ],
    },
    Defect {
        name: "moved-elsewhere-with-what-it-names",
        what: "what a row in between names goes, though that has become one of another family",
        postgres: &[edit("IF p_moved THEN", "IF false THEN")],
        mysql: &[edit(
            "t.`step_id` = p.`id` FOR UPDATE;",
            "t.`step_id` = p.`id`;",
        )],
        noticed_by: &["beneath::moved::SERVER::a_step_that_moves_keeps_what_it_names"],
    },
    Defect {
        name: "moved-elsewhere-from-a-purge",
        what: "PostgreSQL: a purge leaves a family of which a row has become one of another family meanwhile",
        postgres: &[edit("CONTINUE WHEN SQLSTATE = '40001' AND v_try = 1;", "")],
        mysql: &[],
        noticed_by: &[
            "beneath::moved::postgres::a_step_that_moves_keeps_what_is_below_it_from_a_purge",
        ],
    },
    Defect {
        name: "keepers-read-once",
        what: "what keeps a family counts as of before the rows in between were locked",
        postgres: &[edit(
            "PERFORM W.none_came('history', p_members, p_gone);",
            "NULL;",
        )],
        mysql: &[edit("CALL none_came(v_any);", "DO 0;")],
        noticed_by: &["beneath::keepers::SERVER::what_keeps_a_run_by_a_step_from_now_on_keeps_it"],
    },
    Defect {
        name: "keys-disabled",
        what: "PostgreSQL: what a foreign key would keep, but for its triggers that are disabled, loses what it refers to",
        postgres: &[edit("AND g.tgenabled IN ('D', 'R')", "AND false")],
        mysql: &[],
        noticed_by: &["beneath::what_only_a_disabled_key_would_keep_stays"],
    },
    Defect {
        name: "keys-disabled-meanwhile",
        what: "PostgreSQL: a run goes on where the triggers of a foreign key are disabled",
        postgres: &[edit(
            "        keys_off(),\n        replaced",
            "        replaced",
        )],
        mysql: &[],
        noticed_by: &["beneath::what_only_a_disabled_key_would_keep_stays"],
    },
    Defect {
        name: "refused-at-once",
        what: "a family to which a foreign key has got a row since it was judged counts as failed",
        postgres: &[edit("AND p_half IS NULL AND v_retries = 0", "AND false")],
        mysql: &[edit("AND p_found = 1 AND v_again = 0", "AND false")],
        noticed_by: &["beneath::keepers::SERVER::what_a_foreign_key_keeps_from_now_on_stays"],
    },
    Defect {
        name: "purge-refused-at-once",
        what: "a purge fails at a foreign key that has got a row since it judged",
        postgres: &[edit(
            "('23503', '23001') AND v_try = 1",
            "('23503', '23001') AND false",
        )],
        mysql: &[edit(
            "(1217, 1451) AND NOT @windrow_refused",
            "(1217, 1451) AND false",
        )],
        noticed_by: &[
            "beneath::keepers::SERVER::what_a_foreign_key_keeps_from_now_on_is_named_by_a_purge",
        ],
    },
    Defect {
        name: "shared-rows-unseen",
        what: "a row that is to go with all of its parents goes with the first",
        postgres: &[edit("v_other := v_other || n_other;", "")],
        mysql: &[edit("m.id, p_depth, true, true", "m.id, -9, true, true")],
        noticed_by: &["several::SERVER::by_default_a_row_goes_with_all_of_its_parents"],
    },
    Defect {
        name: "shared-values-unseen",
        what: "a value that rows of a due and of a running family name goes with the first",
        postgres: &[edit("v_other := v_other || n_other;", "")],
        mysql: &[edit("m.id, p_depth, true, true", "m.id, -9, true, true")],
        noticed_by: &["several::SERVER::a_row_that_others_name_goes_with_all_of_them"],
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
        name: "named-row-unasked",
        what: "a family goes although a row that one of its rows names is not final",
        postgres: &[edit("f1.\"state\" IN ('done', 'failed')", "true")],
        mysql: &[edit("f1.`state` IN ('done', 'failed')", "true")],
        noticed_by: &["several::SERVER::a_row_that_names_one_that_is_not_final_keeps_its_family"],
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
            "WHERE t.\"workflow_instance_id\" = ANY (W.named(p_members,\n        v_many, ARRAY(SELECT e.\"workflow_instance_id\"::bigint FROM D.\"t_ds_relation_workflow_instance\"",
            "WHERE false AND t.\"workflow_instance_id\" = ANY (W.named(p_members,\n        v_many, ARRAY(SELECT e.\"workflow_instance_id\"::bigint FROM D.\"t_ds_relation_workflow_instance\"",
        )],
        mysql: &[edit(
            "STRAIGHT_JOIN D.`t_ds_relation_workflow_instance` AS t ON t.`workflow_instance_id` = w.id AND w.id <> 0;",
            "STRAIGHT_JOIN D.`t_ds_relation_workflow_instance` AS t ON t.`workflow_instance_id` = w.id AND 1 = 0;",
        )],
        noticed_by: &[CLOSED, LITERAL],
    },
    Defect {
        name: "named-between-members",
        what: "PostgreSQL: where members lie close together, rows go that belong to one between them",
        postgres: &[edit(
            "    RETURN ARRAY(SELECT n.id FROM (SELECT unnest(p_found) AS id)",
            "    RETURN p_found;\n    RETURN ARRAY(SELECT n.id FROM (SELECT unnest(p_found) AS id)",
        )],
        mysql: &[],
        noticed_by: &["between::what_lies_between_the_keys_of_a_batch_stays"],
    },
    Defect {
        name: "named-in-part",
        what: "PostgreSQL: where members have more rows than there are members, only some of them go",
        postgres: &[edit(
            "IF cardinality(p_found) >= p_many THEN",
            "IF p_many = 0 THEN",
        )],
        mysql: &[],
        noticed_by: &["between::what_lies_between_the_keys_of_a_batch_stays"],
    },
    Defect {
        name: "rows-between-keys",
        what: "PostgreSQL: where keys lie close together, rows go that belong to one between them",
        postgres: &[edit("))) IS TRUE;", "))) IS NOT NULL;")],
        mysql: &[],
        noticed_by: &["between::what_lies_between_the_keys_of_a_batch_stays"],
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
];
