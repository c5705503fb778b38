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
                "p_pass = 1 AND t.`expires_at` > 0 AND t.`expires_at` < v_now",
                "p_pass = 1 AND (t.`expires_at` < v_now) IS NOT FALSE",
            ),
            edit(
                "WHERE t.`expires_at` > 0 AND t.`expires_at` < v_now",
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
                "WHERE t.`expires_at` IS NULL AND t.`updated_at` > 0",
                "WHERE t.`updated_at` > 0",
            ),
        ],
        noticed_by: &[SINGLE],
    },
    Defect {
        name: "keep-one-less",
        what: "of the newest two, one is kept",
        postgres: &[
            edit("OFFSET 1 LIMIT 1", "OFFSET 0 LIMIT 1"),
            edit("lead(true, 2)", "lead(true, 1)"),
        ],
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
        name: "place-of-another",
        what: "PostgreSQL: a row is deleted where a search saw another one",
        postgres: &[edit("(age(t.xmin) > age(p_before)) IS NOT FALSE", "true")],
        mysql: &[],
        noticed_by: &["single::places::what_comes_to_the_place_of_a_row_stays"],
    },
    Defect {
        name: "lock-of-another",
        what: "PostgreSQL: a row is locked where a search saw another one, and deleted",
        postgres: &[edit(
            "'t.ctid = k.place AND age(t.xmin) > age($3)'",
            "'t.ctid = k.place'",
        )],
        mysql: &[],
        noticed_by: &["single::places::what_comes_to_the_place_of_a_row_stays"],
    },
    Defect {
        name: "parent-came-back",
        what: "PostgreSQL: where a search saw an orphan, it is deleted without another look at what it names",
        postgres: &[edit("IS NOT FALSE AND (", "IS NOT FALSE AND (true OR ")],
        mysql: &[],
        noticed_by: &["single::postgres::a_batch_looks_again_at_what_it_was_told_to_delete"],
    },
    Defect {
        name: "some-at-once",
        what: "PostgreSQL: where not all rows of a batch are as the search saw them, the others count as gone",
        postgres: &[edit(
            "IF v_rows[1] < cardinality(p_keys) THEN",
            "IF false THEN",
        )],
        mysql: &[],
        noticed_by: &["single::places::rows_of_the_time_of_an_open_transaction_go"],
    },
    Defect {
        name: "rest-stays",
        what: "PostgreSQL: what others have changed or locked since a search is not looked at again",
        postgres: &[edit(
            "IF cardinality(v_left) > 0 OR v_rows IS NULL THEN",
            "IF v_rows IS NULL THEN",
        )],
        mysql: &[],
        noticed_by: &["single::places::rows_of_the_time_of_an_open_transaction_go"],
    },
    Defect {
        name: "orphans-of-the-search",
        what: "PostgreSQL: what other rows say of a row with rows below it counts as of the search",
        postgres: &[edit(
            "AND NOT v_again AND has_places(p_rule)",
            "AND has_places(p_rule)",
        )],
        mysql: &[],
        noticed_by: &["single::what_comes_between_a_search_and_its_batch_keeps_all"],
    },
    Defect {
        name: "stamp-over-times",
        what: "a stamp of what lacks a time overwrites one that was set since it was searched",
        postgres: &[edit("WHERE NOT p_options ? 'missing'", "WHERE true")],
        mysql: &[edit(
            "IF JSON_CONTAINS_PATH(p_options, 'one', '$.missing') THEN",
            "IF false THEN",
        )],
        noticed_by: &["late::SERVER::what_gets_a_time_while_a_stamp_comes_to_it_keeps_that"],
    },
    Defect {
        name: "places-in-parts",
        what: "PostgreSQL: a row is taken for the one at the same place in a table that inherits from its own",
        postgres: &[edit("SELECT NOT c.relhassubclass", "SELECT true")],
        mysql: &[],
        noticed_by: &["single::places::where_a_table_has_others_below_it_rows_go_by_their_keys"],
    },
    Defect {
        name: "list-of-before",
        what: "MySQL, MariaDB: the rows of a list go as they were found, whatever became of them",
        postgres: &[],
        mysql: &[edit(
            "WHERE (p_pass = 1 AND",
            "WHERE (true OR p_pass = 1 AND",
        )],
        noticed_by: &["single::lists::SERVER::a_row_that_changes_during_its_batch_stays"],
    },
    Defect {
        name: "held-in-a-list",
        what: "MySQL, MariaDB: the rows of a list go though one is held",
        postgres: &[],
        mysql: &[edit("AND NOT v_held", "AND true")],
        noticed_by: &[
            "single::lists::SERVER::a_batch_goes_by_a_list_unless_somebody_is_in_the_way",
        ],
    },
    Defect {
        name: "held-among-none",
        what: "PostgreSQL: what holds keep of a batch is not found",
        postgres: &[edit("AND h.key = k.key\n", "AND h.key = k.key AND false\n")],
        mysql: &[],
        noticed_by: &["oracle::cases::holds::SERVER::a_held_family_stays_until_the_hold_ends"],
    },
    Defect {
        name: "list-that-waits",
        what: "MySQL: a list waits for a row that another session has locked",
        postgres: &[],
        mysql: &[edit(
            "SKIP LOCKED;\n    END IF;\n    IF o_count",
            ";\n    END IF;\n    IF o_count",
        )],
        noticed_by: &["single::lists::mysql::a_locked_row_makes_no_list_wait"],
    },
    Defect {
        name: "list-that-waits-on-mariadb",
        what: "MariaDB: the same, where it judges the rows that it deletes",
        postgres: &[],
        mysql: &[edit(
            "innodb_lock_wait_timeout = 0,",
            "innodb_lock_wait_timeout = 30,",
        )],
        noticed_by: &["single::lists::mariadb::a_locked_row_makes_no_list_wait"],
    },
    Defect {
        name: "list-told-as-found",
        what: "MariaDB: a batch of which rows have changed is told as it was listed",
        postgres: &[],
        mysql: &[edit(
            "o_undo = COALESCE(@windrow_rows <> @windrow_count, false)",
            "o_undo = false",
        )],
        noticed_by: &[
            "single::lists::mariadb::orphans_go_by_lists_and_those_that_are_none_any_more_stay",
        ],
    },
    Defect {
        name: "no-time-told-as-young",
        what: "a purge says of a row without a time that it is too young",
        postgres: &[edit(
            "CASE WHEN v_old THEN 'RETENTION_NOT_REACHED' ELSE 'UNDATED_MEMBER' END",
            "'RETENTION_NOT_REACHED'",
        )],
        mysql: &[edit(
            "IF(COUNT(v.position) = 0, 'UNDATED_MEMBER', 'RETENTION_NOT_REACHED')",
            "'RETENTION_NOT_REACHED'",
        )],
        noticed_by: &["minimum::SERVER::a_purge_says_of_a_row_without_a_time_that_it_has_none"],
    },
];
