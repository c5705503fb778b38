//! Defects of rules by removal time: windows, what is of no family, and stamps.

use super::edit;
use crate::support::defect::Defect;

const STAMP: &str =
    "camunda::stamp_of::SERVER::a_stamp_of_others_sets_what_the_model_says_and_nothing_else";

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "members-unlocked",
        what: "rows of families to which foreign keys refer are not locked before what refers to them is read",
        postgres: &[edit(
            "t.\"run_id\" = ANY (p_roots) FOR UPDATE) AS l",
            "t.\"run_id\" = ANY (p_roots)) AS l",
        )],
        mysql: &[edit(
            "w.family = n.id AND w.fault < 9) GROUP BY n.id FOR UPDATE;",
            "w.family = n.id AND w.fault < 9) GROUP BY n.id;",
        )],
        noticed_by: &["beneath::timed::SERVER::what_comes_below_a_step_from_elsewhere_keeps_it"],
    },
    Defect {
        name: "window-unlocked",
        what: "rows of windows to which foreign keys refer are not locked before what refers to them is read",
        postgres: &[edit(
            "t.\"run_id\") FOR UPDATE OF t) AS l",
            "t.\"run_id\")) AS l",
        )],
        mysql: &[edit(
            "(t.`run_id`)) FOR UPDATE; INSERT INTO work_between",
            "(t.`run_id`)); INSERT INTO work_between",
        )],
        noticed_by: &[
            "beneath::timed::SERVER::what_comes_below_a_step_of_no_family_from_elsewhere_keeps_it",
        ],
    },
    Defect {
        name: "come-between-timed",
        what: "a row in between that comes to a family after the batch has locked its like goes with what nobody has read",
        postgres: &[edit(
            "WHEN v_middle ? t.position::text THEN",
            "WHEN false THEN",
        )],
        mysql: &[edit(
            "CALL all_locked(p_table, v_gone, v_middle + v_between);",
            "DO 0;",
        )],
        noticed_by: &[
            "beneath::timed::SERVER::what_comes_with_a_step_of_its_own_goes_with_its_family",
        ],
    },
    Defect {
        name: "come-between-windows",
        what: "a row in between that comes to a window after the batch has locked its like goes with what nobody has read",
        postgres: &[edit("IF k.o_middle[2] IS NOT NULL THEN", "IF false THEN")],
        mysql: &[edit(
            "SELECT COALESCE(SUM(b.found), 0) INTO v_between",
            "SELECT 1000 INTO v_between",
        )],
        noticed_by: &["beneath::timed::SERVER::what_comes_with_a_step_of_no_family_goes_with_it"],
    },
    Defect {
        name: "instant-at-once",
        what: "all rows of one instant go in one transaction",
        postgres: &[edit(
            "IF NOT is_plain(p_rule) THEN\n        RETURN false;",
            "IF true THEN\n        RETURN false;",
        )],
        mysql: &[edit("IF @windrow_to < p_to THEN", "IF false THEN")],
        noticed_by: &["one_day::SERVER::the_rows_of_a_day_go_in_batches"],
    },
    Defect {
        name: "instant-behind-a-lock",
        what: "a locked row keeps the others of its instant",
        postgres: &[
            edit("FOR UPDATE SKIP LOCKED", "FOR UPDATE"),
            edit("nullif(cardinality(v_slice) / 2, 0)", "NULL"),
        ],
        mysql: &[],
        noticed_by: &["one_day::SERVER::what_is_locked_keeps_nothing_else_of_its_day"],
    },
    Defect {
        name: "instant-behind-a-refusal",
        what: "a row that is refused keeps the others of its instant",
        postgres: &[edit("nullif(cardinality(v_slice) / 2, 0)", "NULL")],
        mysql: &[],
        noticed_by: &["gathered::postgres::what_is_refused_keeps_nothing_else_of_its_day"],
    },
    Defect {
        name: "kept-by-a-word-in-parts",
        what: "a row of an instant that a trigger keeps without an error counts as deleted",
        postgres: &[edit("o_families < v_locked);", "false);")],
        mysql: &[],
        noticed_by: &["gathered::postgres::what_is_refused_keeps_nothing_else_of_its_day"],
    },
    Defect {
        name: "last-look-in-haste",
        what: "what others have locked of an instant is left though they let go of it soon",
        postgres: &[edit("v_slice, v_waits) AS b", "v_slice, false) AS b")],
        mysql: &[],
        noticed_by: &["gathered::postgres::what_is_locked_for_a_moment_goes"],
    },
    Defect {
        name: "instant-handed-over-without-its-end",
        what: "a worker that gives up an instant because of locks hands it over as a claim without an end",
        postgres: &[edit(
            "CASE WHEN v_later THEN ARRAY[v_from || '/' || v_to] ELSE",
            "CASE WHEN v_later THEN ARRAY[v_from] ELSE",
        )],
        mysql: &[],
        noticed_by: &[
            "gathered::postgres::what_workers_give_up_of_a_day_is_looked_at_by_the_last_one",
        ],
    },
    Defect {
        name: "instant-beyond-its-cutoff",
        what: "the rest of an instant goes though the retention has become longer",
        postgres: &[edit(
            "AND v_last::timestamptz < v_cutoff::timestamptz",
            "AND true",
        )],
        mysql: &[],
        noticed_by: &["gathered::postgres::a_day_that_is_due_no_more_is_left"],
    },
    Defect {
        name: "instant-not-waited-for",
        what: "MySQL and MariaDB: locked rows of an instant are not waited for",
        postgres: &[],
        mysql: &[edit("IF(p_look = 1, 'wait', 'part')", "'part'")],
        noticed_by: &["parts::SERVER::locked_rows_are_waited_for_once"],
    },
    Defect {
        name: "instant-behind-a-refused-row",
        what: "MySQL and MariaDB: a row that a key refuses keeps the others of its instant",
        postgres: &[],
        mysql: &[edit(
            "CALL pass_part(p_from, p_look, p_key);",
            "SET o_goes_on = p_to;",
        )],
        noticed_by: &["parts::SERVER::what_a_key_refuses_keeps_no_other_row_of_its_day"],
    },
    Defect {
        name: "instant-by-key",
        what: "MySQL and MariaDB: a part of an instant takes all rows with its keys, whatever their time",
        postgres: &[],
        mysql: &[edit(
            "CALL delete_timed(p_run, p_rule, v_plain, v_from, v_to, true, v_families);",
            "CALL delete_timed(p_run, p_rule, v_plain, NULL, NULL, true, v_families);",
        )],
        noticed_by: &["parts::SERVER::a_part_takes_no_other_row_with_its_key"],
    },
    Defect {
        name: "condition-lenient",
        what: "MySQL and MariaDB: where_sql that cannot be evaluated for a row is taken for true",
        postgres: &[],
        mysql: &[
            edit(
                "INSERT INTO work_row (id",
                "INSERT IGNORE INTO work_row (id",
            ),
            edit(
                "INSERT INTO work_target (id) SELECT t.",
                "INSERT IGNORE INTO work_target (id) SELECT t.",
            ),
        ],
        noticed_by: &["parts::SERVER::what_where_sql_cannot_read_stays"],
    },
    Defect {
        name: "instant-forgotten",
        what: "MySQL and MariaDB: a run that leaves a rule within an instant begins with it anew",
        postgres: &[],
        mysql: &[edit(
            "AND i.due = p_from;",
            "AND i.due = p_from AND i.run_id <> p_run;",
        )],
        noticed_by: &["parts::SERVER::a_run_that_leaves_a_rule_goes_on_within_the_day"],
    },
    Defect {
        name: "instant-anew",
        what: "a run begins with the first row of an instant that the one before left at refused ones",
        postgres: &[edit(
            "JOIN rule AS r ON r.rule = i.rule AND md5(r.document::text) = i.rule_hash",
            "JOIN rule AS r ON r.rule = i.rule AND i.run_id = p_run",
        )],
        mysql: &[edit(
            "AND i.due = p_from;",
            "AND i.due = p_from AND i.run_id = p_run;",
        )],
        noticed_by: &["forward::SERVER::refused_rows_of_an_instant_do_not_stop_those_behind_them"],
    },
    Defect {
        name: "instant-untold",
        what: "MySQL and MariaDB: what an earlier run met of an instant is not told",
        postgres: &[],
        mysql: &[edit(
            "WHERE f.errno NOT IN (1205, 1213, 1020, 3101, 3572)",
            "WHERE false",
        )],
        noticed_by: &["parts::SERVER::what_is_behind_many_refused_rows_goes_in_a_later_run"],
    },
    Defect {
        name: "instant-told-by-others",
        what: "PostgreSQL: what only a stamp has met of an instant is told as refused",
        postgres: &[edit(
            "r.trigger NOT IN ('PURGE', 'STAMP')",
            "r.trigger NOT IN ('PURGE')",
        )],
        mysql: &[],
        noticed_by: &["gathered::postgres::a_run_that_only_passes_over_refused_rows_failed"],
    },
    Defect {
        name: "instant-told-under-locks",
        what: "MySQL and MariaDB: what was refused of an instant is told only if nobody has it locked",
        postgres: &[],
        mysql: &[edit(
            "END; DELETE w FROM work_at",
            "DELETE FROM work_target; CALL rows_timed(p_rule, 'part', NULL, NULL, NULL); DELETE w FROM work_row AS w LEFT JOIN work_target AS c ON c.id = w.id WHERE c.id IS NULL; END; DELETE w FROM work_at",
        )],
        noticed_by: &["parts::SERVER::a_run_tells_of_what_it_passes_over_what_is_known"],
    },
    Defect {
        name: "instant-of-many-refusals",
        what: "MySQL and MariaDB: what was refused of an instant before what is listed is told as locked",
        postgres: &[],
        mysql: &[edit("IF(v_more, 'FAILED', 'LOCKED')", "'LOCKED'")],
        noticed_by: &[
            "parts::SERVER::of_many_refusals_the_rest_is_told_as_one",
            "parts::SERVER::a_part_takes_no_other_row_with_its_key",
        ],
    },
    Defect {
        name: "instant-others-untold",
        what: "MySQL and MariaDB: what came before the place where a run goes on within an instant is not told",
        postgres: &[],
        mysql: &[edit("IF v_others > 0 THEN", "IF false THEN")],
        noticed_by: &["parts::SERVER::a_run_tells_of_what_it_passes_over_what_is_known"],
    },
    Defect {
        name: "instant-rest-untold",
        what: "MySQL and MariaDB: what a run leaves of an instant behind many refused rows is not told",
        postgres: &[],
        mysql: &[edit(
            "IF NOT v_told OR EXISTS (SELECT 1 FROM work_row) THEN",
            "IF NOT v_told THEN",
        )],
        noticed_by: &["parts::SERVER::many_refused_rows_are_told_once_and_keep_no_other"],
    },
    Defect {
        name: "instant-told-by-two",
        what: "a worker tells again what another one of the sweep was refused of an instant",
        postgres: &[edit(
            "what_was_refused(v_first, p_rule)",
            "what_was_refused(p_run, p_rule)",
        )],
        mysql: &[edit("IF v_run < v_before THEN", "IF v_run <> p_run THEN")],
        noticed_by: &["parts::SERVER::a_worker_tells_no_row_that_another_has_told"],
    },
    Defect {
        name: "instant-anew-by-the-last",
        what: "MySQL and MariaDB: the last worker of a sweep begins anew with an instant of which another one was refused rows",
        postgres: &[],
        mysql: &[edit(
            "IF v_look IS NULL THEN\n                CALL leave_part",
            "IF true THEN\n                CALL leave_part",
        )],
        noticed_by: &["parts::SERVER::a_worker_tells_no_row_that_another_has_told"],
    },
    Defect {
        name: "instant-of-numbers-read",
        what: "MySQL and MariaDB: each part of an instant of numbers reads all of it",
        postgres: &[],
        mysql: &[edit("IF v_one THEN", "IF false THEN")],
        noticed_by: &["parts::SERVER::parts_of_an_instant_of_numbers_go_along_the_key"],
    },
    Defect {
        name: "instant-of-several-numbers",
        what: "MySQL and MariaDB: parts of an instant take the rows of its last number alone",
        postgres: &[],
        mysql: &[edit("IF v_one THEN", "IF true THEN")],
        noticed_by: &["parts::SERVER::numbers_of_one_instant_go_in_parts"],
    },
    Defect {
        name: "instant-without-keys",
        what: "PostgreSQL: of rows without a key no error is recorded",
        postgres: &[edit(
            "coalesce(v_keys[1], v_held[1], instant_due(p_rule, v_from))",
            "coalesce(v_keys[1], v_held[1])",
        )],
        mysql: &[],
        noticed_by: &["gathered::postgres::a_refused_statement_of_rows_without_a_key_is_told"],
    },
    Defect {
        name: "instant-for-a-key",
        what: "PostgreSQL: the instant of rows without a key is taken for the key of a row",
        postgres: &[edit("AND k.key !~ ", "OR k.key ~ ")],
        mysql: &[],
        noticed_by: &["gathered::postgres::a_refused_statement_of_rows_without_a_key_is_told"],
    },
    Defect {
        name: "instant-untold-by-keys",
        what: "PostgreSQL: what an earlier run met of an instant is not told",
        postgres: &[edit(
            "CASE WHEN v_later OR v_keys = '{}' THEN '{}' ELSE",
            "CASE WHEN true THEN '{}' ELSE",
        )],
        mysql: &[],
        noticed_by: &["gathered::postgres::what_is_behind_many_refused_rows_goes_in_a_later_run"],
    },
    Defect {
        name: "instant-of-a-later-run",
        what: "PostgreSQL: a worker tries again and again what it has met of an instant where one that began later was the first",
        postgres: &[edit("SELECT least(i.since, p_run)", "SELECT i.since")],
        mysql: &[],
        noticed_by: &["gathered::postgres::a_worker_that_began_earlier_passes_over_what_it_met"],
    },
    Defect {
        name: "instant-passed-over-is-done",
        what: "a run that only passes over refused rows of an instant is done",
        postgres: &[edit("s.run_id = p_run AND s.reason = 'FAILED')", "false)")],
        mysql: &[edit("k.run_id = p_run AND k.reason = 'FAILED')", "false)")],
        noticed_by: &[
            "gathered::postgres::a_run_that_only_passes_over_refused_rows_failed",
            "parts::SERVER::a_run_tells_of_what_it_passes_over_what_is_known",
        ],
    },
    Defect {
        name: "work-tables-of-before",
        what: "MySQL and MariaDB: a run keeps the work tables of the routines before an installation",
        postgres: &[],
        mysql: &[edit("NOT COALESCE(@windrow_anew, false)", "false")],
        noticed_by: &["halfway::SERVER::a_run_goes_on_with_the_routines_of_another_installation"],
    },
    Defect {
        name: "instant-of-refused-rows",
        what: "MySQL and MariaDB: a thousand refused rows of an instant keep its others, however many go between them",
        postgres: &[],
        mysql: &[edit("IF(v_families > 0, 0, c.refused)", "c.refused")],
        noticed_by: &["parts::SERVER::many_refused_rows_are_told_once_and_keep_no_other"],
    },
    Defect {
        name: "rootless-unlocked",
        what: "rows in between that name no root, but an instance, are not locked before what is below them is read",
        postgres: &[edit(
            "IF a.o_lost[2] AND o_middle ? '2' THEN",
            "IF false THEN",
        )],
        mysql: &[edit(
            "WHERE m.fault = 9 GROUP BY m.family FOR UPDATE;",
            "WHERE m.fault = 9 GROUP BY m.family;",
        )],
        noticed_by: &[
            "beneath::rootless::SERVER::what_comes_below_a_step_without_a_root_from_elsewhere_keeps_it",
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
        name: "late-member-unjudged",
        what: "what comes to a family while a batch deletes it goes with it",
        postgres: &[edit("WHEN t.name = r.root THEN", "WHEN false THEN")],
        mysql: &[edit("IF v_gone > v_judged THEN", "IF false THEN")],
        noticed_by: &["late::SERVER::what_comes_to_a_family_during_its_batch_is_judged"],
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
];
