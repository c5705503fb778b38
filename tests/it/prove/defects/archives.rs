//! Defects of the archive: what it has of which run, and what comes back.

use super::edit;
use crate::support::defect::Defect;

const RESTORED: &str =
    "archive::changes::SERVER::a_run_is_restored_whatever_the_spec_archives_since";

const LENIENT: &str =
    "archive::strategies::SERVER::so_do_rows_that_only_a_lenient_session_can_write";

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "strict-copies",
        what: "MySQL, MariaDB: a row with a zero date fails its batch where it is archived",
        postgres: &[],
        mysql: &[edit(
            "such as the calendar does not have.\n    SET SESSION sql_mode",
            "such as the calendar does not have.\n    SET @windrow_mode",
        )],
        noticed_by: &[LENIENT],
    },
    Defect {
        name: "strict-restorations",
        what: "MySQL, MariaDB: an archived row with a zero date does not come back",
        postgres: &[],
        mysql: &[edit(
            "see run_lenient().\n    SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION';\n    SELECT GROUP_CONCAT(",
            "see run_lenient().\n    SELECT GROUP_CONCAT(",
        )],
        noticed_by: &[LENIENT],
    },
    Defect {
        name: "archive-of-all-tables",
        what: "a run is restored only if it archives all tables from which it deletes",
        postgres: &[edit("sum(t.rows) FILTER (WHERE t.archived)", "sum(t.rows)")],
        mysql: &[edit(
            "FROM work_copied AS t WHERE t.archived GROUP BY",
            "FROM work_copied AS t GROUP BY",
        )],
        noticed_by: &[RESTORED],
    },
    Defect {
        name: "families-in-part",
        what: "families are restored by keys though the run did not archive a table that leads to others",
        postgres: &[edit("ON NOT d.archived AND", "ON false AND")],
        mysql: &[edit("AND NOT d.archived\n", "AND 1 = 0\n")],
        noticed_by: &[RESTORED],
    },
    Defect {
        name: "holds-before-the-latch",
        what: "a restoration places its holds first: whoever sets one meanwhile waits for all of it, with the latch",
        postgres: &[edit(
            "    v_unheld := v_held.o_unheld;\n",
            "    v_unheld := v_held.o_unheld;\n    PERFORM archive_hold(v_run, v_held.o_rules, v_held.o_keys);\n",
        )],
        mysql: &[],
        noticed_by: &[
            "archive::changes::a_hold_that_is_set_during_a_restoration_waits_for_nothing",
        ],
    },
    Defect {
        name: "archives-forgotten",
        what: "rows of a table that is not archived any more are neither listed nor pruned",
        postgres: &[edit(
            "AND NOT EXISTS (SELECT FROM known_archive AS k WHERE k.archive = c.relname OR k.name = n.name)",
            "AND false",
        )],
        mysql: &[edit(
            "OR k.name = o.name\nWHERE k.name IS NULL",
            "OR k.name = o.name\nWHERE 1 = 0",
        )],
        noticed_by: &[
            "archive::changes::SERVER::a_table_that_is_not_archived_any_more_is_not_forgotten",
        ],
    },
    Defect {
        name: "restored-though-dropped",
        what: "what is dropped from the archive during a restoration is missing from it",
        postgres: &[edit(
            "is not among what came back.\n    PERFORM check_dropped(v_run);",
            "is not among what came back.",
        )],
        mysql: &[edit(
            "is not among what came back.\n    CALL check_dropped(p_run);",
            "is not among what came back.",
        )],
        noticed_by: &["archive::changes::SERVER::what_is_dropped_during_a_restoration_undoes_it"],
    },
    Defect {
        name: "attached-before-a-batch-ends",
        what: "PostgreSQL: a restoration of partitions waits for a batch while it locks others out",
        postgres: &[edit(
            "    LOCK TABLE latch IN EXCLUSIVE MODE;\n    FOREACH",
            "    FOREACH",
        )],
        mysql: &[],
        noticed_by: &["partition::archive::a_restoration_reads_before_anybody_waits"],
    },
];
