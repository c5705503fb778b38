//! Defects of who may do what, and of whose rights somebody else could use.

use super::edit;
use crate::support::defect::Defect;

/// What SQL of the spec reads and calls.
const SQL: &str = "claims::superusers::a_superuser_lends_nothing_to_what_sql_of_the_spec_reads";

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "purged-without-a-name",
        what: "an operator purges what the ledger of the purge does not name",
        postgres: &[edit(
            "v_named IS DISTINCT FROM cardinality(p_keys)",
            "false",
        )],
        mysql: &[],
        noticed_by: &["unnamed::a_purge_by_parts_takes_what_it_was_told"],
    },
    Defect {
        name: "purged-by-another-rule",
        what: "an operator purges by a rule of which the ledger of the purge has nothing",
        postgres: &[edit(
            "OR NOT EXISTS (SELECT FROM run_rule AS r WHERE r.run_id = p_run AND r.rule = p_rule)",
            "",
        )],
        mysql: &[],
        noticed_by: &["unnamed::a_purge_by_parts_takes_what_it_was_told"],
    },
    Defect {
        name: "purge-forgets-nothing",
        what: "the keys that a purge was told stay when it has ended",
        postgres: &[edit(
            "DELETE FROM run_key AS k WHERE k.run_id = p_run;",
            "NULL;",
        )],
        mysql: &[],
        noticed_by: &["unnamed::what_a_purge_may_take_is_noted_once"],
    },
    Defect {
        name: "purge-blames-each-key",
        what: "PostgreSQL: what concerns no family fails with each key of a purge",
        postgres: &[edit(
            "OR is_fatal(p_run, p_rule, v_sqlstate, v_context, true)",
            "",
        )],
        mysql: &[],
        noticed_by: &["unnamed::what_no_key_is_to_blame_for_ends_a_purge"],
    },
    Defect {
        name: "purge-blames-each-family",
        what: "MySQL: what concerns no family fails with each key of a purge",
        postgres: &[],
        mysql: &[edit(
            "ELSEIF v_state IS NOT NULL OR p_sqlstate = '55000'",
            "ELSEIF p_sqlstate = '55000'",
        )],
        noticed_by: &["poison::SERVER::what_no_family_is_to_blame_for_ends_a_purge"],
    },
    Defect {
        name: "step-of-a-purge",
        what: "an operator makes batches of a rule in the name of a purge",
        postgres: &[edit(
            "IF NOT FOUND OR v_run.trigger = 'PURGE' THEN",
            "IF NOT FOUND THEN",
        )],
        mysql: &[],
        noticed_by: &["unnamed::a_purge_by_parts_takes_what_it_was_told"],
    },
    Defect {
        name: "begins-for-others",
        what: "an operator notes in a run of somebody else that a rule has begun",
        postgres: &[edit(
            "IF NOT is_own(p_run) THEN\n        RETURN 'the run was ended from outside';\n    END IF;\n    -- What a scope",
            "-- What a scope",
        )],
        mysql: &[],
        noticed_by: &["unnamed::a_part_of_a_run_leaves_the_runs_of_others_alone"],
    },
    Defect {
        name: "prunes-what-is-young",
        what: "an operator drops archived rows of any age in the name of a run that prunes",
        postgres: &[edit(
            "IF p_by_run <> 0 AND archive_last(io_run) >= p_before\n        OR EXISTS",
            "IF EXISTS",
        )],
        mysql: &[],
        noticed_by: &["unnamed::no_step_prunes_what_is_too_young"],
    },
    Defect {
        name: "taken-over",
        what: "what somebody else has made under windrow's names is used",
        postgres: &[edit(
            "RAISE EXCEPTION '% %', v_other.object, v_other.problem",
            "RAISE NOTICE '% %', v_other.object, v_other.problem",
        )],
        mysql: &[edit("CONCAT('DO `refused: ', ", "CONCAT('DO 0 -- ', ")],
        noticed_by: &[
            "claims::first::what_somebody_else_has_made_is_refused_by_name",
            "claims::innodb::what_stands_in_the_control_database_is_refused_by_name",
        ],
    },
    Defect {
        name: "taken-over-later",
        what: "files behind the first one use a schema of somebody else",
        postgres: &[edit(
            "ALTER SCHEMA windrow_dolphinscheduler OWNER TO CURRENT_ROLE",
            "SELECT 1",
        )],
        mysql: &[],
        noticed_by: &["claims::first::each_file_refuses_a_schema_of_somebody_else"],
    },
    Defect {
        name: "open-to-all",
        what: "PUBLIC may call a new routine until its rights are taken away",
        postgres: &[edit(
            "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON ROUTINES FROM PUBLIC",
            "SELECT 1",
        )],
        mysql: &[],
        noticed_by: &["claims::first::nothing_is_open_or_the_installers_at_any_moment"],
    },
    Defect {
        name: "made-by-the-installer",
        what: "who installs owns what is new, until it is given away",
        postgres: &[edit(
            "SET ROLE \"windrow_dolphinscheduler_owner\"",
            "SELECT 1",
        )],
        mysql: &[],
        noticed_by: &["claims::first::nothing_is_open_or_the_installers_at_any_moment"],
    },
    Defect {
        name: "lent-rights",
        what: "a superuser runs where a trigger of somebody else can act at COMMIT",
        postgres: &[edit("WHERE NOT (o.rolsuper AND q.rolsuper)", "WHERE false")],
        mysql: &[],
        noticed_by: &["claims::superusers::a_superuser_lends_the_application_nothing"],
    },
    Defect {
        name: "lent-to-who-says-when",
        what: "a superuser runs where the condition of a trigger calls code of somebody else",
        postgres: &[edit("AS w ON g.tgqual IS NOT NULL", "AS w ON false")],
        mysql: &[],
        noticed_by: &["claims::superusers::a_superuser_lends_the_application_nothing"],
    },
    Defect {
        name: "lent-to-the-other-end-of-a-key",
        what: "a superuser runs where a table that only refers to one of the rule has an index that calls code of somebody else",
        postgres: &[edit(
            "AND g.tgconstraint <> 0\n            JOIN",
            "AND false\n            JOIN",
        )],
        mysql: &[],
        noticed_by: &["claims::superusers::a_superuser_lends_the_application_nothing"],
    },
    Defect {
        name: "lent-to-everybodys-view",
        what: "a superuser runs where SQL of the spec reads a view that everybody may read, and that calls code of somebody else",
        postgres: &[edit(
            "JOIN pg_class AS c ON c.relname = v_named[w.place][2]",
            "JOIN pg_class AS c ON false AND c.relname = v_named[w.place][2]",
        )],
        mysql: &[],
        noticed_by: &[SQL],
    },
    Defect {
        name: "kept-from-a-materialized-view",
        what: "a superuser's run is refused for functions of a materialized view, which nobody calls who reads it",
        postgres: &[edit(
            "AND w.ev_type = '1' AND v.relkind = 'v'",
            "AND w.ev_type = '1'",
        )],
        mysql: &[],
        noticed_by: &[SQL],
    },
    Defect {
        name: "lent-to-what-sql-calls",
        what: "a superuser runs where SQL of the spec calls a function of somebody else",
        postgres: &[edit(
            "FROM pg_proc AS f WHERE f.proname = v_called[w.place][2]",
            "FROM pg_proc AS f WHERE false AND f.proname = v_called[w.place][2]",
        )],
        mysql: &[],
        noticed_by: &[SQL],
    },
    Defect {
        name: "kept-from-a-name",
        what: "a superuser's run is refused for a function of another schema that only has the name of one that SQL of the spec calls",
        postgres: &[edit(" AND f.pronamespace = e.oid", "")],
        mysql: &[],
        noticed_by: &[SQL],
    },
    Defect {
        name: "lent-to-a-row-of-sql",
        what: "a superuser runs where SQL of the spec makes a row of a table that has a column of a domain with a check of somebody else",
        postgres: &[edit("WHERE n.typtype = 'c'\n", "WHERE false\n")],
        mysql: &[],
        noticed_by: &[SQL],
    },
    Defect {
        name: "lent-to-a-cast-of-sql",
        what: "a superuser runs where somebody else has made a cast of a type that SQL of the spec names",
        postgres: &[edit("WHERE n.oid = y.oid", "WHERE false")],
        mysql: &[],
        noticed_by: &[SQL],
    },
    Defect {
        name: "lent-to-a-cast-of-a-column",
        what: "a superuser runs where somebody else has made a cast of the type of a column",
        postgres: &[edit("AND d.refobjid = y.oid", "AND false")],
        mysql: &[],
        noticed_by: &[SQL],
    },
    Defect {
        name: "lent-to-a-type-of-who-says-when",
        what: "a superuser runs where the condition of a trigger makes a value of a domain with a check of somebody else",
        postgres: &[edit(
            "AND g.tgqual IS NOT NULL AND NOT g.tgisinternal",
            "AND false",
        )],
        mysql: &[],
        noticed_by: &["claims::superusers::a_superuser_lends_the_application_nothing"],
    },
    Defect {
        name: "lent-to-a-type-of-sql",
        what: "a superuser runs where SQL of the spec makes a value of a domain that has a check of somebody else",
        postgres: &[edit(
            "n.typtype IN ('d', 'r', 'm')",
            "n.typtype IN ('r', 'm')",
        )],
        mysql: &[],
        noticed_by: &[SQL],
    },
    Defect {
        name: "lent-to-parts-of-types",
        what: "a superuser restores where a row or a range is made of a domain that has a check of somebody else",
        postgres: &[
            edit("a.attrelid = y.typrelid AND a.attnum > 0", "false"),
            edit("WHERE t.kind = 'r' AND g.rngtypid = y.oid", "WHERE false"),
        ],
        mysql: &[],
        noticed_by: &["claims::superusers::a_superuser_who_restores_lends_nothing_either"],
    },
    Defect {
        name: "lent-to-a-check-of-a-domain",
        what: "a superuser restores where the check of a domain casts to one that has a check of somebody else",
        postgres: &[edit("AND c.contypid = y.oid", "AND false")],
        mysql: &[],
        noticed_by: &["claims::superusers::a_superuser_who_restores_lends_nothing_either"],
    },
    Defect {
        name: "lent-to-a-default-of-a-domain",
        what: "a superuser restores where the default of a domain calls a function of somebody else",
        postgres: &[edit(
            "SELECT t.table_id, 'pg_type'::regclass, t.oid FROM types AS t",
            "SELECT t.table_id, 'pg_type'::regclass, 0 FROM types AS t",
        )],
        mysql: &[],
        noticed_by: &["claims::superusers::a_superuser_who_restores_lends_nothing_either"],
    },
    Defect {
        name: "lent-to-a-moved-row",
        what: "a superuser runs where a trigger on the INSERT of a moved row can act at COMMIT",
        postgres: &[edit("WHEN r.is_set THEN 28 ELSE 24", "ELSE 24")],
        mysql: &[],
        noticed_by: &["moves::a_superuser_lends_nothing_to_what_a_moved_row_fires"],
    },
    Defect {
        name: "held-cursor",
        what: "a cursor of a trigger is read at the COMMIT of a superuser",
        postgres: &[edit(
            "IF EXISTS (SELECT FROM pg_cursors AS c WHERE c.is_holdable) THEN",
            "IF false THEN",
        )],
        mysql: &[],
        noticed_by: &["claims::superusers::a_superuser_lends_the_application_nothing"],
    },
    Defect {
        name: "lent-on-the-way-back",
        what: "a superuser restores where a trigger of somebody else can act at COMMIT",
        postgres: &[edit("check_caller(session_user, true)", "seconds('1s')")],
        mysql: &[],
        noticed_by: &["claims::superusers::a_superuser_who_restores_lends_nothing_either"],
    },
    Defect {
        name: "free-lock",
        what: "a run waits for an advisory lock that any login may take",
        postgres: &[edit("floor(random() * 2147483000)::integer", "17")],
        mysql: &[],
        noticed_by: &["claims::armed::a_login_without_rights_blocks_no_run"],
    },
    Defect {
        name: "kept-rights",
        what: "the owner role keeps the rights that an earlier state of the spec needed",
        postgres: &[edit(
            "EXECUTE format('REVOKE %s FROM",
            "PERFORM format('REVOKE %s FROM",
        )],
        mysql: &[edit(
            "CONCAT('REVOKE ', g.given,",
            "CONCAT('DO 0 -- ', g.given,",
        )],
        noticed_by: &[
            "claims::changed::a_right_that_the_spec_no_longer_needs_is_taken_back",
            "claims::innodb::what_stands_in_the_control_database_is_refused_by_name",
        ],
    },
    Defect {
        name: "right-for-a-setting-revoked",
        what: "an installation revokes the right that a limit needs which is only a setting",
        postgres: &[edit(
            "AS s WHERE s.name IN (%L, %L, %L) AND s.value > 0)",
            "AS s WHERE s.name IN (%L, %L, %L) AND false)",
        )],
        mysql: &[],
        noticed_by: &["claims::armed::what_was_granted_for_a_cluster_stays"],
    },
    Defect {
        name: "windows-by-another-clock",
        what: "verify compares the windows with the starts in UTC, whatever the clock of pg_cron",
        postgres: &[edit(
            "v_zone := coalesce(nullif(v_zone, ''), 'UTC');",
            "v_zone := 'UTC';",
        )],
        mysql: &[],
        noticed_by: &["cron::pg_cron_starts_runs_that_record_themselves"],
    },
    Defect {
        name: "short-trail",
        what: "an operator makes the ledger forget what he did",
        postgres: &[edit(
            "IF v_name = 'ledger_days' AND NOT",
            "IF false AND NOT",
        )],
        mysql: &[edit("AND l.name <> 'ledger_days'", "AND 1 = 1")],
        noticed_by: &["claims::armed::an_operator_does_not_shorten_his_trail"],
    },
    Defect {
        name: "hidden-tables",
        what: "a temporary table of the caller is taken for one of the ledger",
        postgres: &[],
        mysql: &[edit("    CALL drop_shadows();\n", "")],
        noticed_by: &["rights::sessions::every_call_drops_what_would_hide_a_table"],
    },
    Defect {
        name: "armed-for-good",
        what: "who is armed until the restart stays armed after it",
        postgres: &[edit("CASE WHEN p_started", "CASE WHEN false")],
        mysql: &[edit("IF p_started THEN", "IF false THEN")],
        noticed_by: &["claims::armed::a_restart_disarms_only_who_was_armed_until_then"],
    },
    Defect {
        name: "arming-marks-first",
        what: "who arms writes before whole tables are read: others wait, and who is interrupted has disarmed",
        postgres: &[edit(
            "    v_orphans := (SELECT",
            "    UPDATE control SET server_identity = NULL;\n    v_orphans := (SELECT",
        )],
        mysql: &[edit(
            "has changed nothing.\n",
            "has changed nothing.\n    UPDATE control AS c SET c.server_identity = NULL WHERE c.only_row = true;\n",
        )],
        noticed_by: &["guard::SERVER::arming_holds_nobody_up_and_is_done_whole_or_not_at_all"],
    },
    Defect {
        name: "armed-by-the-switch",
        what: "a copy counts as armed in the metrics, because the switch of its original is on",
        postgres: &[edit(
            "CASE WHEN a.read_only THEN c.armed ELSE a.reason IS NULL END",
            "c.armed",
        )],
        mysql: &[edit(
            "IF(a.read_only, c.armed, a.reason IS NULL)",
            "c.armed",
        )],
        noticed_by: &[
            "guard::copies::SERVER::each_thing_that_a_server_shows_of_itself_is_compared",
        ],
    },
    Defect {
        name: "any-cluster",
        what: "a server outside of the cluster that was armed deletes",
        postgres: &[edit(
            "c.server_identity IS DISTINCT FROM cluster_identity()",
            "cluster_identity() IS NULL",
        )],
        mysql: &[edit(
            "SET o_reason = CONCAT('armed for another ', v_armed_on)",
            "SET o_reason = NULL",
        )],
        noticed_by: &[
            "guard::failover::a_cluster_of_postgresql_goes_on_by_itself",
            "guard::failover::SERVER::servers_that_replicate_go_on_by_themselves",
        ],
    },
    Defect {
        name: "rehearsed-primary",
        what: "a dry run or a stamp lets a server delete that was replaced while it was away",
        postgres: &[edit("WHERE NOT l.dry_run AND l.trigger <> 'STAMP'", "")],
        mysql: &[edit(
            "WHERE NOT r.dry_run\n              AND r.`trigger` <> 'STAMP'\n              AND r.node IS NOT NULL",
            "",
        )],
        noticed_by: &[
            "guard::failover::a_cluster_of_postgresql_goes_on_by_itself",
            "guard::failover::SERVER::servers_that_replicate_go_on_by_themselves",
        ],
    },
    Defect {
        name: "any-reader",
        what: "who only reads the log, such as pg_receivewal or mysqlbinlog, is taken for a standby that follows",
        postgres: &[
            edit("WHERE w.replay_lsn IS NOT NULL", "WHERE true"),
            edit("l.slot_type = 'logical' AND", "false AND"),
        ],
        mysql: &[edit(
            "WHERE a.attr_name = '_client_replication_channel_name'",
            "WHERE a.attr_name = '_client_role'",
        )],
        noticed_by: &[
            "guard::failover::who_only_reads_the_log_is_no_standby",
            "guard::failover::mysql::a_source_that_restarts_goes_on_beside_a_replica",
        ],
    },
    Defect {
        name: "old-primary",
        what: "a server that was replaced while it was away goes on when it comes back",
        postgres: &[edit(
            "AND NOT EXISTS (\n                    -- A receiver of WAL",
            "AND false AND NOT EXISTS (\n                    -- A receiver of WAL",
        )],
        mysql: &[edit(
            "IF v_alive < v_started + INTERVAL 1 SECOND THEN",
            "IF false THEN",
        )],
        noticed_by: &[
            "guard::failover::a_cluster_of_postgresql_goes_on_by_itself",
            "guard::failover::SERVER::servers_that_replicate_go_on_by_themselves",
        ],
    },
    Defect {
        name: "domains-of-domains",
        what: "a superuser deletes where a domain over another domain, or in an expression, has a check of somebody else",
        postgres: &[edit(
            "SELECT t.table_id, 'pg_constraint'::regclass, c.oid FROM types AS t JOIN pg_constraint AS c ON c.contypid = t.oid",
            "SELECT t.table_id, 'pg_constraint'::regclass, c.oid FROM types AS t JOIN pg_constraint AS c ON c.contypid = t.oid AND false",
        )],
        mysql: &[],
        noticed_by: &["claims::superusers::a_superuser_who_restores_lends_nothing_either"],
    },
    Defect {
        name: "functions-of-views",
        what: "a superuser deletes where a view that is read calls a function of somebody else",
        postgres: &[edit(
            "JOIN pg_rewrite AS w ON w.ev_class = v.oid AND w.ev_type = '1'\n",
            "JOIN pg_rewrite AS w ON w.ev_class = v.oid AND w.ev_type = '4'\n",
        )],
        mysql: &[],
        noticed_by: &["claims::superusers::a_superuser_lends_the_application_nothing"],
    },
    Defect {
        name: "views-of-everybody",
        what: "each batch of a superuser looks for code of others, since all databases have views that call functions",
        postgres: &[edit(
            "v_calls := v_calls OR EXISTS",
            "v_calls := v_calls OR NOT EXISTS",
        )],
        mysql: &[],
        noticed_by: &["claims::superusers::a_superuser_lends_the_application_nothing"],
    },
];
