//! Defects of rules that drop partitions.

use super::edit;
use crate::support::defect::Defect;

const MODEL: &str = "partition::a_run_drops_what_the_model_says";
const FAMILIES: &str = "partition::partitions_of_several_tables_go_as_the_model_says";

const WAITS: &str = "partition::waits::SERVER::rows_that_have_not_ended_keep_their_partition";

const AHEAD: &str = "partition::ahead::a_run_makes_what_the_model_says";
const MODEL_INNODB: &str = "partition::innodb::SERVER::a_run_drops_what_the_model_says";
const AHEAD_INNODB: &str = "partition::ahead::SERVER::innodb::a_run_makes_what_the_model_says";

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "partition-with-running-rows",
        what: "a partition is dropped though one of its rows is not final",
        postgres: &[edit(" IS TRUE THEN 1", " IS TRUE AND false THEN 1")],
        mysql: &[edit(" IS TRUE THEN 1", " IS TRUE AND false THEN 1")],
        noticed_by: &[WAITS],
    },
    Defect {
        name: "partition-with-rows-without-an-end",
        what: "a partition is dropped though it is not known when one of its rows ended",
        postgres: &[edit(" IS NOT TRUE THEN 2", " IS NOT TRUE AND false THEN 2")],
        mysql: &[edit(" IS NULL THEN 2", " IS NULL AND false THEN 2")],
        noticed_by: &[WAITS],
    },
    Defect {
        name: "partition-with-young-rows",
        what: "a partition is dropped though one of its rows ended too recently",
        postgres: &[edit(" THEN 3", " AND false THEN 3")],
        mysql: &[edit(" THEN 3", " AND false THEN 3")],
        noticed_by: &[WAITS],
    },
    Defect {
        name: "partition-with-rows-that-ended-at-the-cutoff",
        what: "a row that ended at the cutoff itself does not keep its partition",
        postgres: &[edit(">= p_cutoff", "> p_cutoff")],
        mysql: &[],
        noticed_by: &[MODEL],
    },
    Defect {
        name: "taken-partition-with-rows-that-ended-at-the-cutoff",
        what: "MySQL, MariaDB: a row that ended at the cutoff itself does not keep its partition",
        postgres: &[],
        mysql: &[edit(">= p_cutoff", "> p_cutoff")],
        noticed_by: &[
            "partition::waits::SERVER::a_row_that_ended_at_the_cutoff_keeps_its_partition",
        ],
    },
    Defect {
        name: "partition-estimated-in-spite-of-running-rows",
        what: "where rows are estimated, a partition is not searched for rows that are not final",
        postgres: &[edit(
            "IF v_waits AND o_reason IS NULL",
            "IF v_guess IS NULL AND v_waits AND o_reason IS NULL",
        )],
        mysql: &[],
        noticed_by: &[MODEL],
    },
    Defect {
        name: "partition-of-steps-of-running-runs",
        what: "a run that has not ended keeps the partition of its row, and not those of what names it",
        postgres: &[edit(
            "SELECT t.\"run_id\" FROM D.\"step\" AS t WHERE",
            "SELECT t.\"run_id\" FROM D.\"step\" AS t WHERE false AND",
        )],
        mysql: &[],
        noticed_by: &[
            FAMILIES,
            "partition::steps_of_runs_of_other_families_stay_with_them",
        ],
    },
    Defect {
        name: "partition-taken-with-running-rows",
        what: "what is taken out of a table is not searched for rows that run again",
        postgres: &[],
        mysql: &[edit(
            "CALL partition_waits(p_rule, true, NULL, v_to, v_before, v_reason, v_key);",
            "SET v_reason = NULL;",
        )],
        noticed_by: &[
            "partition::waits::SERVER::a_row_that_runs_again_behind_the_look_keeps_its_partition",
        ],
    },
    Defect {
        name: "partition-taken-for-another-time",
        what: "what a killed run took out of a table goes, though the run that finds it would not take it",
        postgres: &[],
        mysql: &[edit(
            "IF CAST(v_bound AS datetime(6)) > v_before THEN",
            "IF false THEN",
        )],
        noticed_by: &[
            "partition::innodb::SERVER::settled::what_is_not_due_for_the_run_that_settles_it_goes_back",
        ],
    },
    Defect {
        name: "partition-gone-before-the-ledger",
        what: "MySQL: a partition counts as judged before the ledger has it: if the session commits after KILL QUERY, it goes without an entry",
        postgres: &[],
        mysql: &[edit(
            "IF v_phase = 'archiving' THEN CALL archive_note(",
            "UPDATE taken_partition AS t SET t.phase = v_phase WHERE t.rule = p_rule; IF v_phase = 'archiving' THEN CALL archive_note(",
        )],
        noticed_by: &[
            "partition::innodb::mysql::settled::what_is_killed_while_it_is_judged_is_counted_once",
        ],
    },
    Defect {
        name: "partition-told-twice",
        what: "MySQL: what a killed run wrote of a partition that it did not drop stays in the ledger",
        postgres: &[],
        mysql: &[edit("AND p.dropped_at >= t.since;", "AND false;")],
        noticed_by: &[
            "partition::innodb::mysql::settled::what_is_killed_while_it_is_judged_is_counted_once",
        ],
    },
    Defect {
        name: "partition-returned-again",
        what: "rows that went back, which nobody wrote down, are exchanged a second time",
        postgres: &[],
        mysql: &[edit("IF @windrow_there IS NOT NULL THEN", "IF true THEN")],
        noticed_by: &[
            "partition::innodb::SERVER::settled::rows_that_went_back_are_not_taken_out_again",
        ],
    },
    Defect {
        name: "partition-out-while-a-run-may-not-go-on",
        what: "a run ends for a pause or for its time, and leaves rows out of their table",
        postgres: &[],
        mysql: &[edit(
            "OR o_state LIKE 'rule %') THEN CALL put_back(p_rule);",
            "OR o_state LIKE 'rule %') THEN DO 0;",
        )],
        noticed_by: &["partition::innodb::SERVER::settled::rows_go_back_where_a_run_may_not_go_on"],
    },
    Defect {
        name: "partition-out-while-a-run-rests",
        what: "a run rests while rows are out of their table",
        postgres: &[],
        mysql: &[edit(
            "IF v_out AND NOT v_dry_run AND v_other IS NULL THEN",
            "IF false THEN",
        )],
        noticed_by: &["partition::innodb::SERVER::settled::what_is_out_waits_for_nothing"],
    },
    Defect {
        name: "partition-out-after-some-tries",
        what: "a run ends once it has tried to put rows back as often as a batch is tried",
        postgres: &[],
        mysql: &[edit(
            "IF v_ours AND v_busy AND v_phase IN ('returning', 'returned') THEN",
            "IF false THEN",
        )],
        noticed_by: &[
            "partition::innodb::SERVER::settled::what_belongs_to_rows_that_cannot_go_back_stays",
        ],
    },
    Defect {
        name: "partition-out-of-an-altered-table",
        what: "rows cannot go back into a table that was altered",
        postgres: &[],
        mysql: &[edit(
            "HANDLER FOR 1505, 1507, 1731, 1734, 1735, 1736, 1737, 1740",
            "HANDLER FOR 1740",
        )],
        noticed_by: &[
            "partition::innodb::SERVER::settled::rows_go_back_into_a_table_that_was_altered",
        ],
    },
    Defect {
        name: "partition-back-without-a-column",
        what: "rows that go back lose what a table that was altered cannot have",
        postgres: &[],
        mysql: &[edit(
            "CALL column_misfit(CONCAT(p_rule, '_taken'), v_root, v_misfit);",
            "",
        )],
        noticed_by: &[
            "partition::innodb::SERVER::settled::no_value_is_lost_in_a_table_that_was_altered",
        ],
    },
    Defect {
        name: "partition-back-for-ever",
        what: "a run that was killed behind the last row that went back ends all later ones",
        postgres: &[],
        mysql: &[edit(
            "IF v_phase IN ('returning', 'returned') AND v_table IS NULL THEN",
            "IF false THEN",
        )],
        noticed_by: &["partition::innodb::SERVER::settled::what_is_back_is_done_with"],
    },
    Defect {
        name: "partition-back-and-counted",
        what: "the ledger has rows as deleted that went back",
        postgres: &[],
        mysql: &[edit(
            "IF v_phase = 'taking' THEN CALL uncount_partition(p_rule);",
            "IF v_phase = 'taking' THEN",
        )],
        noticed_by: &["partition::innodb::SERVER::settled::what_goes_back_is_not_counted"],
    },
    Defect {
        name: "partition-out-after-a-cancel",
        what: "MariaDB: a run that is cancelled leaves rows out of their table",
        postgres: &[],
        mysql: &[edit(
            "IF v_ours AND o_state <> 'again' THEN",
            "IF false THEN",
        )],
        noticed_by: &["partition::innodb::mariadb::settled::rows_of_a_cancelled_run_go_back"],
    },
    Defect {
        name: "partition-out-unjudged",
        what: "what cannot be judged stays out of its table",
        postgres: &[],
        mysql: &[edit(
            "IF v_ours AND v_phase = 'taking' THEN",
            "IF false THEN",
        )],
        noticed_by: &["partition::innodb::SERVER::what_cannot_be_judged_goes_back"],
    },
    Defect {
        name: "partition-out-unsaid",
        what: "a run that has left rows out of their table does not say so",
        postgres: &[],
        mysql: &[edit(
            "IF v_name IS NOT NULL THEN UPDATE run AS r",
            "IF false THEN UPDATE run AS r",
        )],
        noticed_by: &[
            "partition::innodb::mariadb::settled::a_run_that_ends_says_that_rows_are_out",
        ],
    },
    Defect {
        name: "partition-taken-for-gone",
        what: "another rule takes rows that are out of their table for rows that are gone",
        postgres: &[],
        mysql: &[edit(
            "CALL partition_away(p_run, p_rule, o_message, o_soon);",
            "DO 0;",
        )],
        noticed_by: &[
            "partition::innodb::SERVER::settled::what_belongs_to_rows_that_are_out_stays",
            "partition::innodb::SERVER::settled::what_belongs_to_rows_that_cannot_go_back_stays",
        ],
    },
    Defect {
        name: "partition-taken-settled-in-its-turn",
        what: "a run comes to the rows that are out of their table when it comes to their rule",
        postgres: &[],
        mysql: &[edit("CALL away_first(o_position);", "DO 0;")],
        noticed_by: &[
            "partition::innodb::SERVER::settled::what_belongs_to_rows_that_are_out_stays",
        ],
    },
    Defect {
        name: "partition-taken-beyond-holds",
        what: "a row that is out of its table, and not judged, cannot be held",
        postgres: &[],
        mysql: &[edit(
            "CALL partition_place(p_rule, v_table);",
            "SET v_table = NULL;",
        )],
        noticed_by: &["partition::innodb::SERVER::settled::a_row_that_is_out_can_be_held"],
    },
    Defect {
        name: "partition-taken-without-its-rule",
        what: "a rule is taken away while rows are out of its table",
        postgres: &[],
        mysql: &[edit(
            "WHERE w.rule IS NULL OR t.phase = 'archiving' AND NOT w.archives;",
            "WHERE false;",
        )],
        noticed_by: &[
            "partition::innodb::SERVER::rules::no_rule_is_taken_away_while_its_rows_are_out",
        ],
    },
    Defect {
        name: "partition-taken-beside-an-installation",
        what: "a rule is taken away while a run may be about to take rows out of its table",
        postgres: &[],
        mysql: &[edit("IF v_gone > 0 THEN", "IF false THEN")],
        noticed_by: &[
            "partition::innodb::SERVER::rules::no_rule_is_taken_away_while_its_rows_are_out",
        ],
    },
    Defect {
        name: "partition-taken-and-uninstalled",
        what: "an uninstallation drops rows that are out of their table",
        postgres: &[],
        mysql: &[edit("WHERE t.phase <> ''dropping''", "WHERE false")],
        noticed_by: &[
            "partition::innodb::SERVER::rules::an_uninstallation_drops_no_rows_that_are_out",
        ],
    },
    Defect {
        name: "partition-taken-is-where-a-run-begins",
        what: "what is due before rows that are out of their table waits for the next run",
        postgres: &[],
        mysql: &[edit("IF(p_left, NULL, v_bound));", "v_bound);")],
        noticed_by: &[
            "partition::innodb::SERVER::rules::what_is_due_before_it_goes_in_the_same_run",
        ],
    },
    Defect {
        name: "partition-judged-beside-rows-that-are-out",
        what: "rows are judged while those of another rule, which may keep them, are out of their table",
        postgres: &[],
        mysql: &[edit(
            "IF v_reason IS NULL AND v_others > 0 THEN",
            "IF false THEN",
        )],
        noticed_by: &[
            "partition::innodb::SERVER::rules::what_two_rules_have_taken_out_goes_back_first",
        ],
    },
    Defect {
        name: "partition-on-several-writers",
        what: "partitions are exchanged on a server of a cluster of which others take writes, too",
        postgres: &[],
        mysql: &[edit(
            "IF v_shared THEN\n            SET o_misfit",
            "IF false THEN\n            SET o_misfit",
        )],
        noticed_by: &[
            "partition::innodb::SERVER::rules::a_cluster_with_several_writers_is_refused",
        ],
    },
    Defect {
        name: "partition-with-dates-without-a-day",
        what: "tables and rows with dates without a day cannot be moved",
        postgres: &[],
        mysql: &[edit(
            "STRICT_TRANS_TABLES,ALLOW_INVALID_DATES,",
            "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,",
        )],
        noticed_by: &[
            "partition::innodb::SERVER::zeros::dates_without_a_day_are_no_obstacle",
            "partition::innodb::SERVER::zeros::rows_with_dates_without_a_day_go_back",
            "partition::innodb::SERVER::zeros::archived_dates_without_a_day_come_back",
        ],
    },
    Defect {
        name: "partition-taken-unseen",
        what: "a partition with rows that are not final is taken out of its table, and goes back",
        postgres: &[],
        mysql: &[edit(
            "CALL partition_waits(p_rule, false, v_from, v_to, p_before, o_reason, v_held);",
            "SET o_reason = NULL;",
        )],
        noticed_by: &[WAITS],
    },
    Defect {
        name: "partition-before-the-cutoff-alone",
        what: "a partition that ends at the cutoff itself is not dropped",
        postgres: &[edit(
            "f.o_to::timestamptz <= p_cutoff::timestamptz",
            "f.o_to::timestamptz < p_cutoff::timestamptz",
        )],
        mysql: &[],
        noticed_by: &[MODEL],
    },
    Defect {
        name: "partition-by-its-lower-bound",
        what: "a partition is due once its first row is",
        postgres: &[edit(
            "WHERE f.o_to::timestamptz <= p_cutoff::timestamptz",
            "WHERE f.o_from::timestamptz <= p_cutoff::timestamptz",
        )],
        mysql: &[],
        noticed_by: &[MODEL],
    },
    Defect {
        name: "partition-with-held-rows",
        what: "a partition is dropped though a hold keeps one of its rows",
        postgres: &[edit(
            "IF v_kept <> '{}' AND o_reason IS NULL THEN",
            "IF false THEN",
        )],
        mysql: &[],
        noticed_by: &[MODEL],
    },
    Defect {
        name: "partition-estimated-in-spite-of-holds",
        what: "where rows are estimated, a partition is not searched for rows that a hold keeps",
        postgres: &[edit(
            "USING v_held, v_guess IS NULL;",
            "USING CASE WHEN v_guess IS NULL THEN v_held END, v_guess IS NULL;",
        )],
        mysql: &[],
        noticed_by: &[MODEL],
    },
    Defect {
        name: "partition-estimated-unsaid",
        what: "the ledger says of estimated rows that they were counted",
        postgres: &[edit(
            "o_counted[array_position(p_ids, v_part.o_id)] := v_guess IS NULL;",
            "o_counted[array_position(p_ids, v_part.o_id)] := true;",
        )],
        mysql: &[],
        noticed_by: &[MODEL],
    },
    Defect {
        name: "partition-estimated-and-not-searched",
        what: "where rows are estimated, what was taken out of the table is not searched for rows without a time",
        postgres: &[],
        mysql: &[edit("IF @windrow_stays THEN", "IF false THEN")],
        noticed_by: &["partition::innodb::SERVER::what_comes_is_no_estimate"],
    },
    Defect {
        name: "partition-taken-estimate-unsaid",
        what: "the ledger says of estimated rows that were taken out of the table that they were counted",
        postgres: &[],
        mysql: &[edit(
            "v_rows, v_guess IS NULL, t.bytes",
            "v_rows, true, t.bytes",
        )],
        noticed_by: &[MODEL_INNODB],
    },
    Defect {
        name: "partition-family-by-its-first-end",
        what: "partitions of several tables go once the first of them is due",
        postgres: &[edit(
            "(array_agg(n.o_to ORDER BY n.till DESC))[1]",
            "(array_agg(n.o_to ORDER BY n.till))[1]",
        )],
        mysql: &[],
        noticed_by: &[FAMILIES],
    },
    Defect {
        name: "partition-family-of-the-next-alone",
        what: "of partitions that overlap, only each with the one before it is dropped together",
        postgres: &[edit(
            "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
            "ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING",
        )],
        mysql: &[],
        noticed_by: &[FAMILIES],
    },
    Defect {
        name: "partition-of-referred-rows",
        what: "a partition is dropped though a row of another table refers to one of its rows",
        postgres: &[edit("IF v_named IS NOT NULL THEN", "IF false THEN")],
        mysql: &[],
        noticed_by: &[FAMILIES],
    },
    Defect {
        name: "partition-of-steps-of-held-runs",
        what: "a hold keeps the partition of its row, and not those of what names it",
        postgres: &[edit("t.\"run_id\" IN (SELECT unnest(p_held))", "false")],
        mysql: &[],
        noticed_by: &[FAMILIES],
    },
    Defect {
        name: "partition-open-to-writers",
        what: "a partition is counted while others write to it",
        postgres: &[edit(
            "IN SHARE MODE', v_part.o_id::regclass",
            "IN ACCESS SHARE MODE', v_part.o_id::regclass",
        )],
        mysql: &[],
        noticed_by: &["partition::a_held_row_that_comes_late_keeps_its_partition"],
    },
    Defect {
        name: "partition-of-a-family-that-grew",
        what: "a family is dropped though a partition was attached to it meanwhile",
        postgres: &[edit(
            "AS f WHERE f.o_ids = p_partitions)",
            "AS f WHERE f.o_ids @> p_partitions)",
        )],
        mysql: &[],
        noticed_by: &["partition::a_partition_that_comes_late_keeps_its_family"],
    },
    Defect {
        name: "partition-dropped-by-dry-runs",
        what: "a dry run drops partitions and rolls it back: the lock cancels queries on standbys",
        postgres: &[edit(
            "WHERE n.run_id = p_run AND n.dry_run) THEN PERFORM check_droppable",
            "WHERE n.run_id = p_run AND false) THEN PERFORM check_droppable",
        )],
        mysql: &[],
        noticed_by: &["partition::a_dry_run_locks_nobody_out"],
    },
    Defect {
        name: "partition-of-any-table",
        what: "what is dropped may be a partition of another table",
        postgres: &[edit(
            "WHERE i.inhparent IN ('\"public\".\"event_log\"'::regclass)",
            "WHERE true",
        )],
        mysql: &[],
        noticed_by: &["partition::nothing_but_a_partition_that_was_judged_is_dropped"],
    },
    Defect {
        name: "partition-locked-for-long",
        what: "a drop waits for its locks as long as it takes, and all others behind it",
        postgres: &[edit(
            "greatest(p_wait / 2, 1) || 'ms'",
            "greatest(p_wait * 4, 1) || 'ms'",
        )],
        mysql: &[],
        noticed_by: &["partition::the_application_waits_no_longer_than_the_lock_timeout"],
    },
    Defect {
        name: "advance-to-the-end-alone",
        what: "the last day before `ahead` has no partition",
        postgres: &[edit(
            "WHILE v_since <= v_until AND",
            "WHILE v_since < v_until - interval '1 day' AND",
        )],
        mysql: &[],
        noticed_by: &[AHEAD],
    },
    Defect {
        name: "advance-by-days-of-24-hours",
        what: "days of instants have 24 hours when the clocks change",
        postgres: &[edit(
            "(v_base + v_number * v_like.o_step) AT TIME ZONE v_like.o_zone;\n                IF v_till",
            "v_gap.since + v_number * v_like.o_step;\n                IF v_till",
        )],
        mysql: &[],
        noticed_by: &[AHEAD],
    },
    Defect {
        name: "advance-of-late-rows",
        what: "the partition up to MAXVALUE is reorganized though it has rows",
        postgres: &[],
        mysql: &[edit("IF @windrow_rows > 0 THEN", "IF false THEN")],
        noticed_by: &[AHEAD_INNODB],
    },
    Defect {
        name: "advance-of-a-key-to-itself",
        what: "a key of a partition to itself is one to another partition of that time, which is not there yet",
        postgres: &[edit("p.o_id IS NULL OR p.o_id = p_like", "p.o_id IS NULL")],
        mysql: &[],
        noticed_by: &["partition::ahead::a_key_to_the_same_partition_goes_to_the_new_one"],
    },
    Defect {
        name: "advance-without-a-look-at-keys",
        what: "a preview says of a partition that it would be made, though another one is missing to which it refers",
        postgres: &[edit(
            "AND m.span @> tstzrange(p_from::timestamptz, p_to::timestamptz)",
            "",
        )],
        mysql: &[],
        noticed_by: &[
            "partition::ahead::what_refers_to_a_partition_that_cannot_be_made_is_not_made",
        ],
    },
    Defect {
        name: "advance-belongs-to-windrow",
        what: "a partition that is made belongs to the owner role of windrow",
        postgres: &[edit(
            "EXECUTE format('ALTER TABLE %s OWNER TO %I'",
            "PERFORM format('ALTER TABLE %s OWNER TO %I'",
        )],
        mysql: &[],
        noticed_by: &["partition::ahead::what_only_a_neighbour_has_is_copied_or_in_the_way"],
    },
];
