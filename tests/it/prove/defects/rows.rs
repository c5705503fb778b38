//! Defects of rules that take single rows: expiries, the newest of a group, references that lead nowhere.

use super::edit;
use crate::support::defect::Defect;

const SINGLE: &str = "single::SERVER::a_run_deletes_what_the_model_says";

pub(super) const DEFECTS: &[Defect] = &[
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
];
