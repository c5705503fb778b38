//! Defects of rules by removal time: of rows that name others, and of those that name no root.

use super::edit;
use crate::support::defect::Defect;

const STAYS: &str = "crossing::SERVER::a_family_stays_whose_row_something_names_that_stays";
const ALONE: &str = "crossing::SERVER::what_belongs_to_no_family_stays_for_what_names_it";
const WORLDS: &str =
    "camunda::oracle::by_family::SERVER::a_run_deletes_what_the_model_says_and_nothing_else";
const ROOTLESS: &str =
    "camunda::rootless::by_family::SERVER::rows_without_a_root_go_with_the_instance_that_they_name";
const TASKS: &str =
    "camunda::rootless::by_family::SERVER::what_names_a_task_alone_is_of_the_instance_of_that";

const ADOPTED: &str = "adopted::SERVER::a_row_without_a_root_stays_for_what_names_it";

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "namers-unseen",
        what: "a family goes although a row that stays names one of its rows",
        postgres: &[edit("EXIT WHEN NOT v_crosses OR o_go = '{}';", "EXIT;")],
        mysql: &[edit(
            "IF v_crosses THEN CALL timed_crossings(",
            "IF false THEN CALL timed_crossings(",
        )],
        noticed_by: &[STAYS],
    },
    Defect {
        name: "namers-left-behind",
        what: "a family that others name is not taken along with them",
        postgres: &[edit("v_roots := v_roots || v_more;", "EXIT;")],
        mysql: &[edit(
            "SET v_more = ROW_COUNT(); END IF; IF v_more = 0",
            "END IF; IF true",
        )],
        noticed_by: &["crossing::SERVER::families_that_name_each_other_go_together"],
    },
    Defect {
        name: "rootless-value-shared",
        what: "a value without a root goes with one family although a row of another that stays names it",
        postgres: &[edit("IF a.o_lost[4] THEN RETURN", "IF false THEN RETURN")],
        mysql: &[edit(
            "FROM work_adopted_4 AS m STRAIGHT_JOIN",
            "FROM (SELECT n.* FROM work_adopted_4 AS n WHERE false) AS m STRAIGHT_JOIN",
        )],
        noticed_by: &[ADOPTED],
    },
    Defect {
        name: "rootless-row-shared",
        what: "a row without a root goes with its instance although a row of another family that stays names it",
        postgres: &[edit("IF a.o_lost[3] THEN RETURN", "IF false THEN RETURN")],
        mysql: &[edit(
            "AS t ON t.`job_id` = m.id AND t.`root` IS NULL STRAIGHT_JOIN D.`fact` AS x",
            "AS t ON t.`job_id` = m.id AND false STRAIGHT_JOIN D.`fact` AS x",
        )],
        noticed_by: &[ADOPTED],
    },
    Defect {
        name: "rootless-value-in-use",
        what: "a value without a root goes with its family although runtime state names it",
        postgres: &[edit("IF a.o_lost[4] THEN SELECT", "IF false THEN SELECT")],
        mysql: &[edit(
            "FROM work_adopted_4 AS a STRAIGHT_JOIN D.`live`",
            "FROM (SELECT n.* FROM work_adopted_4 AS n WHERE false) AS a STRAIGHT_JOIN D.`live`",
        )],
        noticed_by: &[ADOPTED],
    },
    Defect {
        name: "lone-row-goes-before-its-own",
        what: "a row of no family goes although a row names it that stays",
        postgres: &[edit(
            "AND t.\"id\" IN (SELECT unnest(v_pinned_4))",
            "AND false",
        )],
        mysql: &[edit(
            "AND EXISTS (SELECT 1 FROM work_pinned_4 AS x WHERE x.id = t.`id`)",
            "AND false",
        )],
        noticed_by: &[ALONE],
    },
    Defect {
        name: "windows-leave-orphans",
        what: "a window takes a value that a row names which goes later",
        postgres: &[edit(
            "AND t.\"id_\" IN (SELECT unnest(v_pinned_15))",
            "AND false",
        )],
        mysql: &[edit(
            "AND EXISTS (SELECT 1 FROM work_pinned_15 AS x WHERE x.id = t.`ID_`)",
            "AND false",
        )],
        noticed_by: &[WORLDS],
    },
    Defect {
        name: "purge-never-together",
        what: "a purge tries each family alone, though all that share a member are named",
        postgres: &[edit(
            "IF p_again AND (v_skipped[1] = 'SHARED_MEMBER'",
            "IF false AND (v_skipped[1] = 'SHARED_MEMBER'",
        )],
        mysql: &[edit(
            "IF p_key IS NOT NULL AND o_reason = 'SHARED_MEMBER' THEN",
            "IF false THEN",
        )],
        noticed_by: &["several::SERVER::a_purge_takes_families_that_share_a_row_if_all_are_named"],
    },
    Defect {
        name: "rootless-rows-left",
        what: "rows that name no root are left where their instance goes",
        postgres: &[edit("IF a.o_lost[6] THEN", "IF false THEN")],
        mysql: &[edit(
            "AS t ON t.`PROC_INST_ID_` = m.id AND t.`ROOT_PROC_INST_ID_` IS NULL",
            "AS t ON t.`PROC_INST_ID_` = m.id AND false",
        )],
        noticed_by: &[ROOTLESS],
    },
    Defect {
        name: "task-alone-left",
        what: "rows that name a task and no instance are left where that of the task goes",
        postgres: &[edit(
            "OR t.\"task_id_\" = ANY (a.o_between_5) AND t.\"proc_inst_id_\" IS NULL",
            "",
        )],
        mysql: &[edit(
            "AS t ON t.`TASK_ID_` = o.`ID_` AND t.`ROOT_PROC_INST_ID_` IS NULL",
            "AS t ON t.`TASK_ID_` = o.`ID_` AND false AND t.`ROOT_PROC_INST_ID_` IS NULL",
        )],
        noticed_by: &[TASKS],
    },
    Defect {
        name: "shared-row-foretold-twice",
        what: "a preview counts a row of two families that go together with each of their batches",
        postgres: &[edit(
            "IF cardinality(p_own) < cardinality(p_go) THEN",
            "IF false THEN",
        )],
        mysql: &[],
        noticed_by: &["adopted::SERVER::families_that_share_a_row_without_a_root_go_together"],
    },
];
