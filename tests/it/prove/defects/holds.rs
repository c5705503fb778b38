//! Defects of holds: what they name, for how long, and for which rules.

use super::{CLOSED, edit};
use crate::support::defect::Defect;

const OF_INSTANCES: &str =
    "bound_of::SERVER::what_is_of_a_held_instance_without_its_root_no_other_rule_takes";

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "held-by-another-key",
        what: "a hold whose key is of other columns is read as a key of the rule",
        postgres: &[edit(
            "WHERE h.rule = p_rule\n          AND (h.refers_to = v_refers) IS NOT FALSE\n          AND (h.until IS NULL",
            "WHERE h.rule = p_rule\n          AND (h.until IS NULL",
        )],
        mysql: &[],
        noticed_by: &["rekeyed::SERVER::what_has_keys_of_another_type_breaks_nothing"],
    },
    Defect {
        name: "awaited-by-another-key",
        what: "a hold that waits for a row, and whose key is of other columns, is read as a key of the rule",
        postgres: &[edit(
            "AND h.absent\n          AND (h.refers_to = v_refers) IS NOT FALSE\n",
            "AND h.absent\n",
        )],
        mysql: &[],
        noticed_by: &["rekeyed::SERVER::what_has_keys_of_another_type_breaks_nothing"],
    },
    Defect {
        name: "spellings-told-apart",
        what: "a row that names its family in another spelling than the root has is taken for one of another family",
        postgres: &[edit(
            "NOT c.collisdeterministic OR k.type = 'numeric' AND a.atttypmod = -1",
            "false",
        )],
        mysql: &[],
        noticed_by: &[
            "alike::rows_in_between_are_counted_with_their_family",
            "alike::a_link_leads_to_its_row_in_each_spelling",
        ],
    },
    Defect {
        name: "purged-in-another-spelling",
        what: "a purge takes a row that is held, where it names it in another spelling",
        postgres: &[edit(
            "v_keys := as_there(p_rule, p_keys);",
            "v_keys := p_keys;",
        )],
        mysql: &[],
        noticed_by: &["alike::a_purge_meets_the_holds_of_its_rows"],
    },
    Defect {
        name: "orphaned-holds-armed",
        what: "windrow stays armed where a hold is of a rule that the spec no longer has",
        postgres: &[edit(
            "PERFORM disarm_over(r.rule, NULL, NULL) FROM rule AS r WHERE",
            "PERFORM 1 FROM rule AS r WHERE",
        )],
        mysql: &[edit("    CALL disarm_over(v_before);\n", "")],
        noticed_by: &["orphaned::SERVER::files_applied_by_hand_disarm_over_what_matches_no_rule"],
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
        name: "other-holds-asked-once",
        what: "a rule of one table takes a row that has come below a held one since its batch chose it",
        postgres: &[edit(
            "IF v_bound THEN\n            v_keys := ARRAY(",
            "IF v_bound THEN\n            PERFORM ARRAY(",
        )],
        mysql: &[],
        noticed_by: &["overtaken::postgres::what_comes_below_a_held_row_during_its_batch_stays"],
    },
    Defect {
        name: "window-roots-unlocked",
        what: "a window does not lock its roots before it asks for holds of other rules",
        postgres: &[edit(
            "ORDER BY t.\"removal\", t.\"id\"\n                FOR UPDATE",
            "ORDER BY t.\"removal\", t.\"id\"",
        )],
        mysql: &[],
        noticed_by: &["overtaken::postgres::what_is_held_and_comes_to_a_window_keeps_its_family"],
    },
    Defect {
        name: "other-holds-asked-before-the-lock",
        what: "MySQL and MariaDB: a row of one table goes that came below a held one before it was locked",
        postgres: &[],
        mysql: &[edit(
            "CALL bound_by(p_rule, v_listed);",
            "SET v_listed = false;",
        )],
        noticed_by: &["parts::SERVER::what_comes_below_a_held_row_stays"],
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
        name: "holds-read-once",
        what: "MySQL and MariaDB: a run reads the list of holds before its first batch only",
        postgres: &[],
        mysql: &[edit(
            "work_holds_of AS o WHERE o.said = v_said",
            "work_holds_of AS o WHERE o.said <> ''",
        )],
        noticed_by: &["rivals::SERVER::a_hold_or_a_disabled_policy_counts_from_its_return"],
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
        name: "bytes-as-printed",
        what: "a hold on a key of bytes keeps nothing in sessions that print bytes otherwise",
        postgres: &[edit("SET bytea_output = 'hex'", "")],
        mysql: &[],
        noticed_by: &["printed::what_is_held_in_one_session_is_held_in_all"],
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
            edit("IF NOT v_found AND NOT v_absent_too THEN", "IF false THEN"),
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
        name: "hold-of-somebody-else",
        what: "a hold that finds its row gone takes that of another session away",
        postgres: &[],
        mysql: &[edit(
            "absent = 2 AND NOT v_found AND `key` =",
            "NOT v_found AND NOT v_absent_too AND `key` =",
        )],
        noticed_by: &["held::SERVER::a_hold_that_finds_its_row_gone_takes_no_other_away"],
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
        name: "hold-of-a-member-unseen",
        what: "a hold of a row of a family that is not its root binds no other rule",
        postgres: &[edit(
            "WHERE m.\"root\" = coalesce(",
            "WHERE false AND m.\"root\" = coalesce(",
        )],
        mysql: &[edit(
            "WHERE m.`root` = COALESCE(",
            "WHERE false AND m.`root` = COALESCE(",
        )],
        noticed_by: &[OF_INSTANCES],
    },
    Defect {
        name: "hold-without-root-unseen",
        what: "what another rule holds goes with its instance where it names no root",
        postgres: &[edit(
            "THEN v_families := v_families || ARRAY(",
            "AND false THEN v_families := v_families || ARRAY(",
        )],
        mysql: &[edit(
            "INSERT IGNORE INTO work_keep (id) SELECT m.family FROM work_root AS m",
            "INSERT IGNORE INTO work_keep (id) SELECT m.family FROM (SELECT r.* FROM work_root AS r WHERE false) AS m",
        )],
        noticed_by: &[OF_INSTANCES],
    },
    Defect {
        name: "hold-without-root-unseen-in-windows",
        what: "a window takes an instance of which another rule holds a row that names no root",
        postgres: &[],
        mysql: &[edit(
            "FROM work_tied AS n STRAIGHT_JOIN D.`job` AS r ON r.",
            "FROM work_tied AS n STRAIGHT_JOIN D.`job` AS r ON false AND r.",
        )],
        noticed_by: &[OF_INSTANCES],
    },
    Defect {
        name: "windows-leave-names-of-nothing",
        what: "a window takes what a row of a held instance names, which names no root",
        postgres: &[edit("o_named_5 := o_named_5 || ARRAY(", "PERFORM ARRAY(")],
        mysql: &[edit(
            "FROM work_keep AS k STRAIGHT_JOIN D.`job` AS p ON p.",
            "FROM work_keep AS k STRAIGHT_JOIN D.`job` AS p ON false AND p.",
        )],
        noticed_by: &[OF_INSTANCES],
    },
    Defect {
        name: "hold-by-an-old-snapshot",
        what: "a hold is set on a row that is gone, where the transaction still sees it",
        postgres: &[edit("PERFORM still_there(v_rule, v_row.key);", "NULL;")],
        mysql: &[],
        noticed_by: &[
            "held::SERVER::a_hold_of_an_old_snapshot_names_no_row_that_a_run_has_deleted",
        ],
    },
    Defect {
        name: "hold-left-by-two",
        what: "a hold stays in force that several sessions set for a row that was gone then, though each was refused",
        postgres: &[],
        mysql: &[edit(
            "WHERE rule = v_rule AND absent = 2 AND NOT v_found",
            "WHERE rule = v_rule AND absent = 2 AND NOT v_found AND placed_at = v_now",
        )],
        noticed_by: &["held::SERVER::a_hold_that_finds_its_row_gone_takes_no_other_away"],
    },
];
