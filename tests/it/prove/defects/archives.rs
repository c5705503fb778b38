//! Defects of the archive: what it has of which run, and what comes back.

use super::edit;
use crate::support::defect::Defect;

const RESTORED: &str =
    "archive::changes::SERVER::a_run_is_restored_whatever_the_spec_archives_since";

const LENIENT: &str =
    "archive::strategies::SERVER::so_do_rows_that_only_a_lenient_session_can_write";

const ARCHIVED: &str =
    "partition::innodb::SERVER::archive::a_partition_is_kept_and_comes_back_as_it_was";

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
    Defect {
        name: "archived-partition-of-whom-it-was",
        what: "a partition that is archived still belongs to the application",
        postgres: &[edit(
            "EXECUTE format('ALTER TABLE %I.%I OWNER TO %I', v_schema",
            "PERFORM format('ALTER TABLE %I.%I OWNER TO %I', v_schema",
        )],
        mysql: &[],
        noticed_by: &["partition::archive::nobody_else_gets_at_what_is_archived"],
    },
    Defect {
        name: "restored-partition-without-a-hold",
        what: "a partition that is restored is not held, and due at once",
        postgres: &[edit("CONTINUE WHEN v_key IS NULL;", "CONTINUE;")],
        mysql: &[],
        noticed_by: &["partition::archive::a_partition_is_kept_and_comes_back_as_it_was"],
    },
    Defect {
        name: "archived-partition-with-its-keys",
        what: "an archived partition keeps its foreign keys, and so rows of other tables",
        postgres: &[edit(
            "SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', v_part.called, f.conname)",
            "SELECT 'SELECT 1'",
        )],
        mysql: &[],
        noticed_by: &["partition::archive::a_partition_is_kept_and_comes_back_as_it_was"],
    },
    Defect {
        name: "archived-partition-with-a-sequence-in-use",
        what: "a partition is archived with the sequence that the table uses",
        postgres: &[edit("q.objid AND d.deptype = 'n'", "q.objid AND false")],
        mysql: &[],
        noticed_by: &["partition::archive::a_sequence_that_the_table_uses_keeps_its_partition"],
    },
    Defect {
        name: "archived-partition-with-keys-by-partition",
        what: "of a key to a partitioned table, the keys to its partitions are dropped, too, and are gone with it",
        postgres: &[edit(
            "AND f.conparentid = 0\n        UNION ALL",
            "UNION ALL",
        )],
        mysql: &[],
        noticed_by: &["partition::archive::a_key_to_a_partitioned_table_goes_and_comes_back"],
    },
    Defect {
        name: "archived-partition-that-ends-pruning",
        what: "an archived partition that cannot be dropped keeps all that comes behind it",
        postgres: &[edit(
            "IF archive_drop_partition(io_run, v_known.place, p_by_run <> 0) THEN",
            "IF NOT archive_drop_partition(io_run, v_known.place, p_by_run <> 0) THEN io_run := NULL; io_place := 0; ELSE",
        )],
        mysql: &[edit(
            "SET o_rows = COALESCE(o_rows, 0);",
            "IF o_rows IS NULL THEN SET o_rows = 0, io_run = NULL, io_place = 0; END IF;",
        )],
        noticed_by: &[
            "partition::archive::leaves::a_partition_that_cannot_be_pruned_keeps_no_other",
            "partition::innodb::SERVER::archive::archived_partitions_are_dropped_by_hand_and_by_age",
        ],
    },
    Defect {
        name: "archived-partition-restored-and-dropped",
        what: "whoever drops a partition that somebody restores notes that it was dropped, too",
        postgres: &[edit(
            "AND num_nulls(p.restored_at, p.dropped_at) = 2 FOR UPDATE;",
            "FOR UPDATE;",
        )],
        mysql: &[],
        noticed_by: &["partition::archive::leaves::what_is_being_restored_is_not_pruned"],
    },
    Defect {
        name: "restored-with-what-is-gone",
        what: "a partition cannot be restored once a role that had rights on it is gone",
        postgres: &[edit(
            "EXCEPTION WHEN undefined_object OR undefined_table OR invalid_schema_name THEN",
            "EXCEPTION WHEN assert_failure THEN",
        )],
        mysql: &[],
        noticed_by: &["partition::archive::leaves::what_is_gone_is_left_out_of_a_restoration"],
    },
    Defect {
        name: "archived-partition-of-somebody-else",
        what: "nobody asks who owns the table whose partitions are detached",
        postgres: &[edit(
            "AND NOT pg_has_role(c.relowner, 'USAGE') ORDER BY a.name",
            "AND false ORDER BY a.name",
        )],
        mysql: &[],
        noticed_by: &[
            "partition::archive::leaves::only_a_member_of_the_owner_of_the_table_archives",
        ],
    },
    Defect {
        name: "archived-partition-that-is-dropped",
        what: "what a rule should archive is dropped",
        postgres: &[],
        mysql: &[edit(
            "IF(JSON_CONTAINS_PATH(r.document, 'one', '$.archive'), 'archiving', 'dropping')",
            "'dropping'",
        )],
        noticed_by: &[ARCHIVED],
    },
    Defect {
        name: "restored-rows-without-a-hold",
        what: "rows of a partition that are restored are not held, and due at once",
        postgres: &[],
        mysql: &[edit(
            "FROM spec AS s WHERE @windrow_found IS NOT NULL",
            "FROM spec AS s WHERE false",
        )],
        noticed_by: &[ARCHIVED],
    },
    Defect {
        name: "archived-partition-renamed-again",
        what: "what a killed run has renamed is renamed once more",
        postgres: &[],
        mysql: &[edit(
            "    IF v_there > 0 THEN\n        CALL archive_do(CONCAT('RENAME",
            "    IF true THEN\n        CALL archive_do(CONCAT('RENAME",
        )],
        noticed_by: &[
            "partition::innodb::SERVER::archive::wherever_a_run_ends_the_next_one_archives",
        ],
    },
    Defect {
        name: "restored-in-part",
        what: "a restoration does not compare how many rows came back",
        postgres: &[],
        mysql: &[edit(
            "IF v_counted AND v_put <> v_rows THEN",
            "IF false THEN",
        )],
        noticed_by: &[
            "partition::innodb::SERVER::archive::what_is_in_the_way_is_told_and_nothing_is_restored",
        ],
    },
    Defect {
        name: "restored-with-fewer-digits",
        what: "rows of a partition are restored into columns of other types",
        postgres: &[],
        mysql: &[edit(
            "IF v_misfit IS NOT NULL THEN\n        CALL not_ready(CONCAT('nothing is restored: ', v_misfit)",
            "IF false THEN\n        CALL not_ready(CONCAT('nothing is restored: ', v_misfit)",
        )],
        noticed_by: &[
            "partition::innodb::SERVER::archive::what_is_in_the_way_is_told_and_nothing_is_restored",
        ],
    },
    Defect {
        name: "restored-before-it-is",
        what: "a partition counts as restored before its rows are copied: its table is dropped if the session commits after KILL QUERY",
        postgres: &[],
        mysql: &[edit(
            "    DELETE h\n    FROM hold AS h\n    STRAIGHT_JOIN work_held",
            "    UPDATE partition_archive AS p SET p.state = 'restored' WHERE p.run_id = p_run;\n    DELETE h\n    FROM hold AS h\n    STRAIGHT_JOIN work_held",
        )],
        noticed_by: &[
            "partition::innodb::mysql::archive_commands::what_is_killed_within_a_restoration_loses_no_row",
        ],
    },
    Defect {
        name: "restored-only-if-counted",
        what: "a restoration compares how many rows came back with an estimate",
        postgres: &[],
        mysql: &[edit(
            "IF v_counted AND v_put <> v_rows THEN",
            "IF v_put <> v_rows THEN",
        )],
        noticed_by: &["partition::innodb::SERVER::archive::what_was_estimated_comes_back_counted"],
    },
    Defect {
        name: "archived-partition-hidden",
        what: "a temporary table of the session is taken for an archived partition",
        postgres: &[],
        mysql: &[edit("CALL unshadow_archive(v_archive);", "DO 0;")],
        noticed_by: &["partition::innodb::mariadb::archive::nobody_else_gets_at_what_is_archived"],
    },
];
