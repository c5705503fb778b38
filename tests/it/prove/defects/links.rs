//! Defects of what a spec says in its more seldom forms: links over another table, and SQL of its own.

use super::edit;
use crate::support::defect::Defect;

const OVER: &str = "subflows::SERVER::a_family_over_task_runs_goes_together_or_not_at_all";
const ROWS: &str = "hatch::SERVER::what_the_condition_of_single_rows_is_not_true_of_stays";
const RAW: &str = "hatch::SERVER::what_the_condition_is_not_true_of_stays";

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "two-hops-not-down",
        what: "what is below a row over another table is not found from above",
        postgres: &[edit(
            "WHERE l.\"parent_task_run_id\" = ANY (ARRAY(SELECT v.\"id\" FROM D.\"task_run\" AS v WHERE v.\"flow_run_id\" = ANY (o_ids)))",
            "WHERE l.\"parent_task_run_id\" = ANY (ARRAY(SELECT v.\"id\" FROM D.\"task_run\" AS v WHERE v.\"id\" = ANY (o_ids)))",
        )],
        mysql: &[edit(
            "AS v ON v.`flow_run_id` = m.id",
            "AS v ON v.`id` = m.id",
        )],
        noticed_by: &[OVER],
    },
    Defect {
        name: "two-hops-not-up",
        what: "what is above a row over another table is not found from below",
        postgres: &[edit(
            "AS v WHERE v.\"id\" = l.\"parent_task_run_id\") IS NOT NULL",
            "AS v WHERE v.\"flow_run_id\" = l.\"parent_task_run_id\") IS NOT NULL",
        )],
        mysql: &[edit(
            "AS v ON v.`id` = l.`parent_task_run_id`",
            "AS v ON v.`flow_run_id` = l.`parent_task_run_id`",
        )],
        noticed_by: &[OVER],
    },
    Defect {
        name: "two-hops-not-locked",
        what: "a row between two members is not locked while the links are read",
        postgres: &[edit(
            "AS m(id, final) WHERE m.final)) FOR UPDATE;",
            "AS m(id, final) WHERE m.final));",
        )],
        mysql: &[edit("AND m.final\n        FOR UPDATE;", "AND m.final;")],
        noticed_by: &["subflows::SERVER::a_sub_flow_that_comes_after_the_judgement_waits"],
    },
    Defect {
        name: "two-hops-of-what-runs",
        what: "a batch locks the rows of members that are not final, too",
        postgres: &[edit(
            "AS m(id, final) WHERE m.final)) FOR UPDATE;",
            "AS m(id, final))) FOR UPDATE;",
        )],
        mysql: &[edit("AND m.final\n        FOR UPDATE;", "FOR UPDATE;")],
        noticed_by: &["subflows::SERVER::what_goes_on_is_not_waited_for"],
    },
    Defect {
        name: "raw-condition-not-judged",
        what: "SQL of the spec is asked where roots are looked for, and not where a row is judged",
        postgres: &[edit(
            "(i.\"state\" = 'done' AND (i.paid >= i.owed AND NOT EXISTS",
            "(i.\"state\" = 'done' AND (true OR NOT EXISTS",
        )],
        mysql: &[edit(
            "(i.`state` = 'done' AND (i.paid >= i.owed AND NOT EXISTS",
            "(i.`state` = 'done' AND (true OR NOT EXISTS",
        )],
        noticed_by: &[RAW],
    },
    Defect {
        name: "raw-condition-not-searched",
        what: "SQL of the spec is asked where a row is judged, and not where roots are looked for",
        postgres: &[edit(
            "      AND (i.paid >= i.owed AND NOT EXISTS",
            "      AND (true OR NOT EXISTS",
        )],
        mysql: &[edit(
            "      AND (i.paid >= i.owed AND NOT EXISTS",
            "      AND (true OR NOT EXISTS",
        )],
        noticed_by: &[RAW],
    },
    Defect {
        name: "raw-condition-of-rows-forgotten",
        what: "SQL of the spec is not asked of single rows and rows by age",
        postgres: &[edit(
            "(t.paid >= t.owed AND NOT EXISTS",
            "(true OR NOT EXISTS",
        )],
        mysql: &[edit(
            "(t.paid >= t.owed AND NOT EXISTS",
            "(true OR NOT EXISTS",
        )],
        noticed_by: &[ROWS],
    },
    Defect {
        name: "raw-condition-of-the-newest-forgotten",
        what: "rows of which SQL of the spec is not true count among the newest",
        postgres: &[edit(
            "(n.paid >= n.owed AND NOT EXISTS",
            "(true OR NOT EXISTS",
        )],
        mysql: &[edit(
            "(n.paid >= n.owed AND NOT EXISTS",
            "(true OR NOT EXISTS",
        )],
        noticed_by: &["hatch::SERVER::a_row_that_the_condition_is_not_true_of_is_not_the_newest"],
    },
];
