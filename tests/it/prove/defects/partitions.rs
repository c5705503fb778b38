//! Defects of rules that drop partitions, which PostgreSQL alone has.

use super::edit;
use crate::support::defect::Defect;

const MODEL: &str = "partition::a_run_drops_what_the_model_says";

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "partition-before-the-cutoff-alone",
        what: "a partition that ends at the cutoff itself is not dropped",
        postgres: &[edit(
            "p.o_to::timestamptz <= p_cutoff::timestamptz",
            "p.o_to::timestamptz < p_cutoff::timestamptz",
        )],
        mysql: &[],
        noticed_by: &[MODEL],
    },
    Defect {
        name: "partition-by-its-lower-bound",
        what: "a partition is due once its first row is",
        postgres: &[edit(
            "WHERE p.o_to::timestamptz <= p_cutoff::timestamptz",
            "WHERE p.o_from::timestamptz <= p_cutoff::timestamptz",
        )],
        mysql: &[],
        noticed_by: &[MODEL],
    },
    Defect {
        name: "partition-with-held-rows",
        what: "a partition is dropped though a hold keeps one of its rows",
        postgres: &[edit(
            "    IF v_held <> '{}' THEN\n        o_key",
            "    IF false THEN\n        o_key",
        )],
        mysql: &[],
        noticed_by: &[MODEL],
    },
    Defect {
        name: "partition-open-to-writers",
        what: "a partition is counted while others write to it",
        postgres: &[edit(
            "IN SHARE MODE', p_id::regclass",
            "IN ACCESS SHARE MODE', p_id::regclass",
        )],
        mysql: &[],
        noticed_by: &["partition::a_held_row_that_comes_late_keeps_its_partition"],
    },
    Defect {
        name: "partition-of-any-table",
        what: "what is dropped may be a partition of another table",
        postgres: &[edit(
            "WHERE i.inhparent = '\"public\".\"event_log\"'::regclass",
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
];
