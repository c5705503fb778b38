//! Defects of what looks at the catalog: what acts beside windrow, what takes the place of a table, what compares otherwise.

use super::edit;
use crate::support::defect::Defect;

const CATALOGS: &str = "catalogs::SERVER::what_acts_is_named_and_what_does_not_is_no_matter";

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "null-for-all",
        what: "an option that is null counts as left out",
        postgres: &[edit(
            "IF jsonb_path_exists(p_options -> v_name, '$[*] ? (@ == null)')",
            "IF false",
        )],
        mysql: &[edit(
            "IF JSON_CONTAINS(v_value, 'null') AND",
            "IF false AND",
        )],
        noticed_by: &["nulls::SERVER::null_is_no_value_of_any_option_of_any_routine"],
    },
    Defect {
        name: "dry-by-a-word",
        what: "a purge takes a text for true or false",
        postgres: &[edit(
            "FOREACH v_key IN ARRAY ARRAY['dry_run', 'force'] LOOP",
            "FOREACH v_key IN ARRAY ARRAY['force'] LOOP",
        )],
        mysql: &[edit(
            "'$.dry_run')) <> 'BOOLEAN' THEN\n        CALL refuse(CONCAT('dry_run is not true or false: ', JSON_EXTRACT(p_options, '$.dry_run')), 'write {\"dry_run\": true}');\n    END IF;\n    IF JSON_CONTAINS_PATH(p_options, 'one', '$.force')",
            "'$.dry_run')) = 'NULL' THEN\n        CALL refuse(CONCAT('dry_run is not true or false: ', JSON_EXTRACT(p_options, '$.dry_run')), 'write {\"dry_run\": true}');\n    END IF;\n    IF JSON_CONTAINS_PATH(p_options, 'one', '$.force')",
        )],
        noticed_by: &["nulls::SERVER::null_is_no_value_of_any_option_of_any_routine"],
    },
    Defect {
        name: "catalog-unseen-in-a-run",
        what: "a batch does not look whether the catalog is what the run began with",
        postgres: &[edit("IF v_now = v_then THEN", "IF true THEN")],
        mysql: &[
            edit("SET o_changed = NOT v_now <=> v_then;", ""),
            edit("SET o_changed = NOT v_now <=> v_before;", ""),
        ],
        noticed_by: &[
            "acting::SERVER::what_comes_to_act_ends_a_run",
            "catalogs::SERVER::what_acts_is_named_and_what_does_not_is_no_matter",
        ],
    },
    Defect {
        name: "catalog-unseen-before-a-run",
        what: "what acts and is not in the spec does not keep a run from starting",
        postgres: &[edit(
            "v_reason text := unaccounted();",
            "v_reason text := NULL;",
        )],
        mysql: &[edit("CALL unaccounted(v_reason);", "SET v_reason = NULL;")],
        noticed_by: &["acting::SERVER::what_acts_is_told_before_a_run"],
    },
    Defect {
        name: "halfway-unseen",
        what: "a run starts while an installation is under way, with statements that do not know what is accounted for",
        postgres: &[edit(
            "WHERE NOT EXISTS (SELECT FROM known_routine AS k WHERE k.file = f.file)",
            "WHERE false",
        )],
        mysql: &[edit("COUNT(*) > SUM(f.applied) OR COUNT(*) = 2", "false")],
        noticed_by: &["halfway::SERVER::nothing_goes_before_an_installation_is_finished"],
    },
    Defect {
        name: "keys-off-unseen",
        what: "a session that checks no foreign key deletes all the same",
        postgres: &[edit(
            "WHEN EXISTS (SELECT FROM keys_on) THEN",
            "WHEN false THEN",
        )],
        mysql: &[],
        noticed_by: &["beneath::a_session_that_checks_no_foreign_key_deletes_nothing"],
    },
    Defect {
        name: "past-looked-at",
        what: "a session of MariaDB that looks into the past cleans what was there then",
        postgres: &[],
        mysql: &[edit("SET SESSION system_versioning_asof = DEFAULT;", "")],
        noticed_by: &["beneath::a_session_that_looks_into_the_past_deletes_what_is_there_now"],
    },
    Defect {
        name: "clean-for-ever",
        what: "what acts is not looked for once nothing has acted, whatever the catalog says by now",
        postgres: &[edit(
            "WHERE s.run_id = -1 AND s.state = v_now",
            "WHERE s.run_id = -1",
        )],
        mysql: &[edit(
            "WHERE s.run_id = -1
              AND s.state = v_state
              AND s.names = v_names
              AND s.beside = v_beside;",
            "WHERE s.run_id = -1;",
        )],
        noticed_by: &[
            "acting::SERVER::what_acts_is_told_before_a_run",
            "acting::SERVER::what_comes_to_act_once_nothing_did_is_told",
        ],
    },
    Defect {
        name: "clean-of-the-same-second",
        what: "what the catalog says is noted while another change of the same second would not show in it",
        postgres: &[],
        mysql: &[edit(
            "IF v_made < NOW() - INTERVAL 2 SECOND THEN",
            "IF v_made IS NOT NULL THEN",
        )],
        noticed_by: &["acting::SERVER::nothing_is_noted_of_tables_that_were_just_made"],
    },
    Defect {
        name: "tables-that-stay-unlocked",
        what: "a table of the spec whose rows stay can be another one before the batch reads it",
        postgres: &[],
        mysql: &[edit(
            "WHERE NOT t.ignored;\n    CALL run_text",
            "WHERE t.goes;\n    CALL run_text",
        )],
        noticed_by: &["acting::SERVER::no_table_of_the_spec_is_altered_during_a_batch"],
    },
    Defect {
        name: "clean-by-another-spec",
        what: "that nothing acted by the spec before is taken for a verdict by the present one",
        postgres: &[edit(
            "DELETE FROM catalog_state AS s WHERE s.run_id = -1;",
            "",
        )],
        mysql: &[edit(
            "SET v_names = CONCAT((SELECT SHA2(s.document, 256) FROM spec AS s), v_names);",
            "",
        )],
        noticed_by: &["acting::SERVER::what_acts_is_judged_by_the_spec_that_is_there"],
    },
    Defect {
        name: "rule-by-identity",
        what: "a rule that was replaced by one of another event passes for the one that was there",
        postgres: &[edit(
            "format('%s %s', r.ev_type, r.ev_enabled)",
            "r.ev_enabled::text",
        )],
        mysql: &[],
        noticed_by: &["acting::a_rule_that_becomes_another_is_told"],
    },
    Defect {
        name: "catalog-noted-late",
        what: "what came between the look at the catalog and the begin of a run is noted as if it had been looked at",
        postgres: &[edit(
            "VALUES (p_run, p_catalog);",
            "VALUES (p_run, catalog_now());",
        )],
        mysql: &[edit(
            "    REPLACE INTO catalog_state",
            "    CALL keys_now(false, false, v_beside);\n    REPLACE INTO catalog_state",
        )],
        noticed_by: &["acting::SERVER::what_comes_to_act_as_a_run_begins_ends_it"],
    },
    Defect {
        name: "change-taken-for-a-dry-run",
        what: "a batch that ends because the catalog changed is counted as if it had been a dry run",
        postgres: &[edit("WHEN SQLSTATE 'WD002'", "WHEN SQLSTATE 'WD000'")],
        mysql: &[],
        noticed_by: &[
            "acting::partitions::a_partition_that_comes_during_a_batch_rolls_it_back",
            "acting::SERVER::what_comes_to_act_as_a_run_begins_ends_it",
        ],
    },
    Defect {
        name: "read-tables-unseen",
        what: "nobody looks whether a table that is only read is the one that it was",
        postgres: &[edit(
            "AS d(columns name[], goes boolean, sets name[], reads name[]);",
            "AS d(columns name[], goes boolean, sets name[], reads name[]) WHERE d.goes;",
        )],
        mysql: &[edit(
            "goes int PATH '$.goes')) AS t;",
            "goes int PATH '$.goes')) AS t WHERE t.goes = 1;",
        )],
        noticed_by: &[
            "acting::looks::SERVER::a_table_that_is_only_read_is_told_when_it_is_another_one",
        ],
    },
    Defect {
        name: "looks-uncompared",
        what: "what keeps a row, or is linked with one, is looked up in a column that compares otherwise",
        postgres: &[edit(
            "jsonb_array_elements(v_compared)",
            "jsonb_array_elements('[]')",
        )],
        mysql: &[edit("NOT MAX(p.keeps) AND ", "")],
        noticed_by: &["acting::looks::SERVER::what_is_looked_up_otherwise_is_told"],
    },
    Defect {
        name: "cluster-uncompared",
        what: "where a cluster is armed, nothing is compared with what was there then",
        postgres: &[],
        mysql: &[edit("IF(o_elsewhere, 0, o_number)", "NULL")],
        noticed_by: &["acting::clusters::SERVER::a_cluster_that_is_armed_compares_its_tables"],
    },
    Defect {
        name: "key-by-name-only",
        what: "an edge between two tables accounts for every foreign key between them",
        postgres: &[edit("AND o.columns = k.columns", "AND true")],
        mysql: &[edit(
            "AND c.pairs COLLATE utf8mb4_bin = k.pairs",
            "AND true",
        )],
        noticed_by: &["acting::SERVER::what_acts_is_told_before_a_run"],
    },
    Defect {
        name: "any-effect",
        what: "an edge accounts for its foreign key, whatever that does",
        postgres: &[edit("strpos(o.effects, k.effect::text) > 0", "true")],
        mysql: &[edit("FIND_IN_SET(f.delete_rule, k.effects) > 0", "true")],
        noticed_by: &["acting::spec::SERVER::what_the_spec_accounts_for_passes"],
    },
    Defect {
        name: "swapped-table",
        what: "a table that was put in the place of another passes for it",
        postgres: &[edit(
            "AND NOT string_to_array(o.value, ' ') <@ string_to_array(p_now ->> o.key, ' ')",
            "AND false",
        )],
        mysql: &[edit("o.name <> t.name", "false")],
        noticed_by: &["acting::replaced::SERVER::a_table_in_the_place_of_another_is_told"],
    },
    Defect {
        name: "swapped-column",
        what: "a column that was put in the place of another passes for it",
        postgres: &[edit(
            "format('%s:%s:%s:%s', n.told, a.attnum, a.atttypid, a.attcollation)",
            "format('%s:%s:%s', n.told, a.atttypid, a.attcollation)",
        )],
        mysql: &[edit("r.place_then <> r.place_now", "false")],
        noticed_by: &["acting::replaced::SERVER::columns_that_stand_elsewhere_are_told"],
    },
    Defect {
        name: "key-beside-unseen",
        what: "a key of another database that acts on what is set is no matter to a run",
        postgres: &[],
        mysql: &[edit(
            "IF v_beside <> '' THEN INSERT INTO work_stranger (object, detail, acts) SELECT CONCAT(f.constraint_schema, '.', f.table_name), CONCAT('references",
            "IF false THEN INSERT INTO work_stranger (object, detail, acts) SELECT CONCAT(f.constraint_schema, '.', f.table_name), CONCAT('references",
        )],
        noticed_by: &["acting::SERVER::what_acts_is_told_before_a_run"],
    },
    Defect {
        name: "made-of-what-is-set",
        what: "a key on a column that is made of one that is set is no matter to a run",
        postgres: &[edit(
            "(a.attname = ANY (k.sets) OR a.attgenerated <> '')",
            "a.attname = ANY (k.sets)",
        )],
        mysql: &[edit(
            "COALESCE(c.generation_expression, '') <> '' OR c.extra LIKE '%on update%'",
            "false",
        )],
        noticed_by: &["acting::SERVER::what_acts_is_told_before_a_run"],
    },
    Defect {
        name: "stamp-unseen",
        what: "a batch of a stamp does not look whether the catalog is what the stamp began with",
        postgres: &[
            edit(
                "v_state := take_locks(p_run, v_progress.rule);",
                "v_state := NULL;",
            ),
            edit(
                "SELECT b.* INTO v_batch FROM stamp_apply(v_stamp.rule, v_stamp.verb, v_run.options, v_keys) AS b;\n        PERFORM look_at_last(p_run, NULL);",
                "SELECT b.* INTO v_batch FROM stamp_apply(v_stamp.rule, v_stamp.verb, v_run.options, v_keys) AS b;",
            ),
        ],
        mysql: &[
            edit(
                "SET o_changed = NOT v_now <=> v_then;",
                "SELECT r.`trigger` <> 'STAMP' AND NOT v_now <=> v_then INTO o_changed FROM run AS r WHERE r.run_id = p_run;",
            ),
            edit(
                "SET o_changed = NOT v_now <=> v_before;",
                "SELECT r.`trigger` <> 'STAMP' AND NOT v_now <=> v_before INTO o_changed FROM run AS r WHERE r.run_id = p_run;",
            ),
        ],
        noticed_by: &["acting::stamps::SERVER::what_comes_to_act_ends_a_stamp"],
    },
    Defect {
        name: "parts-unseen",
        what: "a foreign key to a partition is none to its table",
        postgres: &[edit(
            "WHERE w.relkind = 'p'\n  AND p.relid <> w.table_id",
            "WHERE false",
        )],
        mysql: &[],
        noticed_by: &["catalogs::partitions::what_acts_on_a_part_or_its_whole_is_named"],
    },
    Defect {
        name: "whole-unseen",
        what: "a foreign key to a table is none to the partition that the spec names",
        postgres: &[edit(
            "f.conparentid = 0\n          OR NOT EXISTS (",
            "f.conparentid = 0\n          OR false AND NOT EXISTS (",
        )],
        mysql: &[],
        noticed_by: &["catalogs::partitions::what_acts_on_a_part_or_its_whole_is_named"],
    },
    Defect {
        name: "copy-of-a-copy",
        what: "a foreign key is told by the name that the server has for it on a partition of a partition",
        postgres: &[edit("WHERE a.conparentid = 0\n", "LIMIT 1\n")],
        mysql: &[],
        noticed_by: &["catalogs::partitions::what_acts_on_a_part_or_its_whole_is_named"],
    },
    Defect {
        name: "key-of-another-schema",
        what: "a foreign key of another schema or database counts as the one of an edge, or is not looked for",
        postgres: &[
            edit("WHERE k.is_here\n          AND k.event", "WHERE k.event"),
            edit(
                "AND o.table_name = k.name",
                "AND o.table_name = reverse(split_part(reverse(k.name), '.', 1))",
            ),
        ],
        mysql: &[edit(
            "CALL keys_now(true, p_all, v_beside);\n    IF v_beside <> '' THEN",
            "CALL keys_now(true, p_all, v_beside);\n    IF 1 = 0 THEN",
        )],
        noticed_by: &["acting::SERVER::what_acts_is_told_before_a_run"],
    },
    Defect {
        name: "key-of-another-schema-in-a-run",
        what: "a foreign key of another database that comes during a run is not looked for",
        postgres: &[],
        mysql: &[
            edit("WHERE NOT (p_beside AND CAST", "WHERE (p_beside XOR CAST"),
            edit(
                "WHERE NOT (p_beside AND f.constraint_schema",
                "WHERE (p_beside XOR f.constraint_schema",
            ),
        ],
        noticed_by: &["acting::SERVER::what_comes_to_act_ends_a_run"],
    },
    Defect {
        name: "key-to-another-column",
        what: "an edge accounts for a foreign key of its column that names another one",
        postgres: &[edit("AND o.named = k.named", "AND true")],
        mysql: &[edit(
            "AND c.pairs COLLATE utf8mb4_bin = k.pairs",
            "AND SUBSTRING_INDEX(c.pairs, ' ', 1) COLLATE utf8mb4_bin = SUBSTRING_INDEX(k.pairs, ' ', 1)",
        )],
        noticed_by: &[CATALOGS],
    },
    Defect {
        name: "key-to-another-table",
        what: "an edge accounts for a foreign key of its column that names another table",
        postgres: &[edit("AND o.parent = k.parent", "AND true")],
        mysql: &[edit(
            "CONVERT(f.referenced_table_name USING utf8mb4) COLLATE utf8mb4_bin = k.parent\n",
            "true\n",
        )],
        noticed_by: &[CATALOGS],
    },
    Defect {
        name: "key-that-sets-a-part",
        what: "a foreign key that sets some of its columns to NULL counts as one that sets them all",
        postgres: &[edit("(k.partly IS NULL OR o.effects <> 'n')", "true")],
        mysql: &[],
        noticed_by: &[CATALOGS],
    },
    Defect {
        name: "key-on-update",
        what: "a foreign key that acts when a column is set is not looked for",
        postgres: &[edit(
            "WHERE k.confupdtype IN ('c', 'n', 'd')",
            "WHERE k.confupdtype IN ('x')",
        )],
        mysql: &[edit(
            "AND f.update_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT' /*M! , 'NO ACTION', 'RESTRICT' */)\n      AND LOCATE(",
            "AND f.update_rule IN ('NONE')\n      AND LOCATE(",
        )],
        noticed_by: &["acting::SERVER::what_acts_is_told_before_a_run", CATALOGS],
    },
    Defect {
        name: "key-on-update-that-refuses",
        what: "a foreign key that refuses what is set ends a run of MariaDB without its ledger",
        postgres: &[],
        mysql: &[edit(
            " /*M! , 'NO ACTION', 'RESTRICT' */)\n      AND LOCATE(",
            ")\n      AND LOCATE(",
        )],
        noticed_by: &["acting::mariadb::what_acts_is_told_before_a_run"],
    },
    Defect {
        name: "any-key-on-update",
        what: "a foreign key that acts when a column is set that windrow does not set keeps runs from starting",
        postgres: &[edit(
            "(a.attname = ANY (k.sets) OR a.attgenerated <> '')",
            "true",
        )],
        mysql: &[edit(
            "u.referenced_column_name, '|')), v_sets) > 0",
            "u.referenced_column_name, '|')), v_sets) >= 0",
        )],
        noticed_by: &[CATALOGS],
    },
    Defect {
        name: "refusing-key",
        what: "a foreign key that only refuses keeps runs from starting",
        postgres: &[edit(
            "WHERE s.acts\n    ORDER BY s.object",
            "ORDER BY s.object",
        )],
        mysql: &[edit(
            "WHERE s.acts\n        ORDER BY s.position",
            "ORDER BY s.position",
        )],
        noticed_by: &[CATALOGS],
    },
    Defect {
        name: "rule-on-delete",
        what: "a rule on DELETE is not looked for",
        postgres: &[edit("(p.goes AND r.ev_type = '4'", "(false")],
        mysql: &[],
        noticed_by: &["acting::SERVER::what_acts_is_told_before_a_run", CATALOGS],
    },
    Defect {
        name: "rule-on-update",
        what: "a rule on UPDATE of a table that is set is not looked for",
        postgres: &[edit("p.sets <> '{}' AND r.ev_type = '2')", "false)")],
        mysql: &[],
        noticed_by: &["acting::SERVER::what_acts_is_told_before_a_run", CATALOGS],
    },
    Defect {
        name: "rule-of-a-part",
        what: "a rule of a partition keeps runs of its table from starting",
        postgres: &[edit("WHERE p.is_whole\n      AND (", "WHERE (")],
        mysql: &[],
        noticed_by: &["acting::partitions::keys_of_partitions_act_on_their_table"],
    },
    Defect {
        name: "rule-that-is-off",
        what: "a rule that is switched off keeps runs from starting",
        postgres: &[edit(
            "AND r.ev_enabled IN ('O', 'A')\n    WHERE p.is_whole",
            "WHERE p.is_whole",
        )],
        mysql: &[],
        noticed_by: &[CATALOGS],
    },
    Defect {
        name: "rule-in-a-run",
        what: "a rule that comes during a run is not seen",
        postgres: &[edit("AND r.ev_type IN ('2', '4')", "AND false")],
        mysql: &[],
        noticed_by: &["acting::SERVER::what_comes_to_act_ends_a_run"],
    },
    Defect {
        name: "key-in-a-run",
        what: "a foreign key that comes during a run is not seen",
        postgres: &[edit(
            "FROM keys_on AS f\n            WHERE f.confdeltype IN ('c', 'n', 'd')",
            "FROM keys_on AS f\n            WHERE false",
        )],
        mysql: &[
            edit("WHERE NOT (p_beside AND CAST", "WHERE NOT (true AND CAST"),
            edit(
                "WHERE NOT (p_beside AND f.constraint_schema",
                "WHERE NOT (true AND f.constraint_schema",
            ),
        ],
        noticed_by: &["acting::SERVER::what_comes_to_act_ends_a_run"],
    },
    Defect {
        name: "child-unseen",
        what: "a table that inherits is not looked for",
        postgres: &[edit(
            "JOIN pg_inherits AS i ON i.inhparent = p.table_id\n    JOIN",
            "JOIN pg_inherits AS i ON i.inhparent = p.table_id AND false\n    JOIN",
        )],
        mysql: &[],
        noticed_by: &["acting::SERVER::what_acts_is_told_before_a_run", CATALOGS],
    },
    Defect {
        name: "child-in-a-run",
        what: "a table that comes to inherit during a run is not seen",
        postgres: &[edit(
            "JOIN pg_inherits AS i ON i.inhparent = p.table_id\n            WHERE p.relkind = 'r'",
            "JOIN pg_inherits AS i ON i.inhparent = p.table_id\n            WHERE false",
        )],
        mysql: &[],
        noticed_by: &["acting::SERVER::what_comes_to_act_ends_a_run"],
    },
    Defect {
        name: "no-table",
        what: "a view, or a table without transactions, passes for a table",
        postgres: &[edit(
            "FROM covered AS p\n    WHERE p.relkind NOT IN ('r', 'p')",
            "FROM covered AS p\n    WHERE false",
        )],
        mysql: &[edit("AND COALESCE(t.engine, '') <> 'InnoDB'", "AND 1 = 0")],
        noticed_by: &[CATALOGS],
    },
    Defect {
        name: "other-types",
        what: "the ends of an edge may be of other kinds of types",
        postgres: &[edit(
            "WHERE u.kind <> v.kind\n       OR x.oid <> y.oid",
            "WHERE x.oid <> y.oid",
        )],
        mysql: &[edit("HAVING MIN(s.kind) <> MAX(s.kind)", "HAVING 1 = 0")],
        noticed_by: &[
            "acting::collations::SERVER::what_compares_otherwise_is_told",
            CATALOGS,
        ],
    },
    Defect {
        name: "same-kind",
        what: "types of the same kind, or collations that are exact, keep runs from starting",
        postgres: &[edit(
            "'numeric_out'::regproc) THEN 'a number'",
            "'numeric_out'::regproc) THEN t.typname",
        )],
        mysql: &[edit("AND NOT (NOT MAX(p.keeps)", "AND NOT (1 = 0")],
        noticed_by: &[CATALOGS],
    },
    Defect {
        name: "other-collations",
        what: "the ends of an edge may have other collations",
        postgres: &[edit(
            "WHERE u.kind <> v.kind\n       OR x.oid <> y.oid",
            "WHERE u.kind <> v.kind",
        )],
        mysql: &[edit("OR MIN(s.collation) <> MAX(s.collation)", "OR 1 = 0")],
        noticed_by: &[CATALOGS],
    },
    Defect {
        name: "other-columns",
        what: "a table whose keys or edges have got other types counts as the one that it was",
        postgres: &[edit(
            "format('%s:%s:%s:%s', n.told, a.attnum, a.atttypid, a.attcollation)",
            "n.told",
        )],
        mysql: &[edit("IF NOT v_now <=> v_shapes THEN", "IF 1 = 0 THEN")],
        noticed_by: &["acting::replaced::SERVER::other_columns_are_told"],
    },
    Defect {
        name: "armed-tables-forgotten",
        what: "a table may be another one than when somebody armed windrow",
        postgres: &[edit("WHERE a.run_id = 0\n", "WHERE a.run_id = -2\n")],
        mysql: &[edit("IF v_then <> v_now THEN", "IF 1 = 0 THEN")],
        noticed_by: &["acting::replaced::SERVER::a_table_in_the_place_of_another_is_told"],
    },
    Defect {
        name: "no-last-look",
        what: "a batch does not look at the catalog again before it commits",
        postgres: &[edit(
            "        PERFORM look_at_last(p_run, p_rule);\n        IF",
            "        IF",
        )],
        mysql: &[],
        noticed_by: &["acting::partitions::a_partition_that_comes_during_a_batch_rolls_it_back"],
    },
    Defect {
        name: "no-last-look-at-others",
        what: "a batch does not look again at the tables of other rules, which it does not lock",
        postgres: &[edit(
            "           OR t.name <> ALL ((SELECT r.tables FROM rule AS r WHERE r.rule = p_rule)::text[])\n",
            "",
        )],
        mysql: &[],
        noticed_by: &[
            "acting::partitions::what_comes_to_a_table_of_another_rule_during_a_batch_rolls_it_back",
        ],
    },
    Defect {
        name: "open-tables",
        what: "a batch does not lock its tables before it chooses",
        postgres: &[edit("PERFORM lock_tables(p_rule);", "")],
        mysql: &[],
        noticed_by: &["oracle::cases::families::an_instance_that_is_opened_again_meanwhile_stays"],
    },
    Defect {
        name: "open-by-default",
        what: "the owner role may open what it makes to others by default privileges",
        postgres: &[edit("WHERE a.grantee <> r.oid", "WHERE false")],
        mysql: &[],
        noticed_by: &["claims::first::what_somebody_else_has_made_is_refused_by_name"],
    },
    Defect {
        name: "idle-job-unnoticed",
        what: "where windrow is armed and no job of pg_cron starts a run, that is a notice",
        postgres: &[edit(
            "boolean := not_armed() IS NULL AND NOT pg_is_in_recovery();",
            "boolean := false;",
        )],
        mysql: &[],
        noticed_by: &["cron::pg_cron_starts_runs_that_record_themselves"],
    },
    Defect {
        name: "idle-event-unnoticed",
        what: "where windrow is armed and no event starts a run, that is a notice",
        postgres: &[],
        mysql: &[edit(
            "boolean DEFAULT p_not_armed IS NULL AND CAST(@@GLOBAL.read_only AS char) IN ('0', 'OFF');",
            "boolean DEFAULT false;",
        )],
        noticed_by: &["events::SERVER::verify_tells_why_no_event_runs"],
    },
    Defect {
        name: "jobs-of-others-dropped",
        what: "an installation drops jobs of pg_cron that work in another database",
        postgres: &[edit(
            "AND (j.database = current_database() OR NOT EXISTS (SELECT FROM pg_database AS d WHERE d.datname = j.database))",
            "",
        )],
        mysql: &[],
        noticed_by: &["cron::pg_cron_starts_runs_that_record_themselves"],
    },
    Defect {
        name: "texts-of-an-extension",
        what: "a key may be a text that the server compares otherwise than the statements do",
        postgres: &[edit(
            "OR x.oid <> y.oid\n       OR u.is_other",
            "OR x.oid <> y.oid",
        )],
        mysql: &[],
        noticed_by: &["acting::collations::texts_of_a_type_that_compares_otherwise_are_told"],
    },
    Defect {
        name: "rules-of-replicas",
        what: "a session that replicates deletes where rules act that act there alone",
        postgres: &[edit("AND r.ev_enabled = 'R'\n", "AND r.ev_enabled = 'D'\n")],
        mysql: &[],
        noticed_by: &["acting::collations::texts_of_a_type_that_compares_otherwise_are_told"],
    },
    Defect {
        name: "compared-told-as-acting",
        what: "verify says of columns that compare otherwise that rows would be deleted with them",
        postgres: &[edit(
            "WHEN s.detail LIKE 'compares %' THEN 'rows could",
            "WHEN false THEN 'rows could",
        )],
        mysql: &[edit(
            "WHEN s.detail LIKE 'compares %' THEN 'rows could",
            "WHEN false THEN 'rows could",
        )],
        noticed_by: &["acting::looks::SERVER::what_is_looked_up_otherwise_is_told"],
    },
    Defect {
        name: "zones-compared",
        what: "a time with a zone, which is another one in each session, is compared with one without",
        postgres: &[edit(
            "('date_out'::regproc, 'timestamp_out'::regproc)",
            "('date_out'::regproc, 'timestamp_out'::regproc, 'timestamptz_out'::regproc)",
        )],
        mysql: &[edit(
            "WHEN c.data_type IN ('date', 'datetime') THEN",
            "WHEN c.data_type IN ('date', 'datetime', 'timestamp') THEN",
        )],
        noticed_by: &[
            "acting::looks::SERVER::days_and_times_are_looked_up_where_they_compare_exactly",
        ],
    },
    Defect {
        name: "views-looked-into",
        what: "a rule looks into a view, behind which tables may be replaced unseen",
        postgres: &[edit(
            "WHERE NOT k.goes AND k.sets = '{}' AND c.relkind NOT IN ('r', 'p')",
            "WHERE false",
        )],
        mysql: &[edit(
            "IF(t.table_type = 'VIEW', v_known, CONCAT(v_going, v_set))",
            "CONCAT(v_going, v_set)",
        )],
        noticed_by: &["acting::looks::SERVER::a_view_is_no_table_to_look_into"],
    },
];
