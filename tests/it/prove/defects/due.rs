//! Defects of what is due: cutoffs, policies, instants, and the families that are looked for.

use super::{CLOSED, edit};
use crate::support::defect::Defect;

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "errors-of-no-session",
        what: "a session of MariaDB that keeps no conditions runs so, and no batch says what it failed with",
        postgres: &[],
        mysql: &[edit(
            "/*M! SET SESSION max_error_count = 65535; */\n    CALL drop_shadows();",
            "CALL drop_shadows();",
        )],
        noticed_by: &["poison::mariadb::a_session_that_keeps_no_conditions_says_what_failed"],
    },
    Defect {
        name: "the-group-refuses-each",
        what: "what a replication group or a cluster refuses is recorded family by family",
        postgres: &[],
        mysql: &[
            edit("3024, 3098, 3989", "3024, 3989"),
            edit("'Percona-XtraDB-Cluster prohibits%'", "'nothing'"),
        ],
        noticed_by: &["poison::SERVER::what_every_family_would_meet_ends_the_run"],
    },
    Defect {
        name: "locked-without-a-word",
        what: "where no condition is kept, a batch that others are in the way of is taken for one that cannot be deleted",
        postgres: &[],
        mysql: &[edit(
            "IF v_number + 1 >= @@SESSION.max_error_count THEN",
            "IF 1 = 0 THEN",
        )],
        noticed_by: &["poison::mysql::a_session_that_keeps_no_conditions_says_what_failed"],
    },
    Defect {
        name: "a-condition-that-is-none",
        what: "where no condition is kept, a handler reads one and fails by that",
        postgres: &[],
        mysql: &[edit(
            "IF v_number > 0 THEN\n    REPEAT",
            "IF true THEN\n    REPEAT",
        )],
        noticed_by: &["poison::SERVER::a_session_that_keeps_no_conditions_says_what_failed"],
    },
    Defect {
        name: "no-room-for-a-scope",
        what: "one definition that the column of the roots has no room for ends every run",
        postgres: &[],
        mysql: &[edit(
            "FOR 1264, 1265, 1292, 1366, 1406 SET v_fits",
            "FOR 1690 SET v_fits",
        )],
        noticed_by: &["named::SERVER::what_the_column_has_no_room_for_is_the_scope_of_no_row"],
    },
    Defect {
        name: "no-room-in-a-view",
        what: "MySQL: one definition that the column of the roots has no room for fails the views of what is due",
        postgres: &[],
        mysql: &[edit("SPACE(255)", "SPACE(0)")],
        noticed_by: &["named::SERVER::what_the_column_has_no_room_for_is_the_scope_of_no_row"],
    },
    Defect {
        name: "digits-for-a-place",
        what: "MySQL: digits that are no label of an ENUM say how long another scope is kept",
        postgres: &[],
        mysql: &[edit("told REGEXP '^[ +0-9]+$' AND", "told IS NULL AND")],
        noticed_by: &["scopes::SERVER::digits_are_no_place_of_a_label"],
    },
    Defect {
        name: "no-least-time",
        what: "MySQL: where a document says no least time, what is kept for ever is kept as long as the rest",
        postgres: &[],
        mysql: &[edit(
            "cutoff = COALESCE(v_least,",
            "cutoff = NULLIF(v_least,",
        )],
        noticed_by: &["scopes::SERVER::without_a_least_time_what_is_kept_for_ever_stays"],
    },
    Defect {
        name: "inclusive-cutoff",
        what: "an end time exactly at the cutoff counts as past",
        postgres: &[
            edit("i.\"end_time\" < s.cutoff", "i.\"end_time\" <= s.cutoff"),
            edit("m.ended >= v_least", "m.ended > v_least"),
            edit("m.ended >= m.cutoff", "m.ended > m.cutoff"),
            edit("m.ended >= c.cutoff", "m.ended > c.cutoff"),
        ],
        mysql: &[
            edit("i.`end_time` < s.cutoff", "i.`end_time` <= s.cutoff"),
            edit("m.ended >= m.cutoff", "m.ended > m.cutoff"),
            edit("c.newest >= c.cutoff", "c.newest > c.cutoff"),
        ],
        noticed_by: &["oracle::cases::due::SERVER::an_end_time_exactly_at_the_cutoff_stays"],
    },
    Defect {
        name: "no-safety-lag",
        what: "the safety lag is not added to the retention",
        postgres: &[edit("604800) + 86400)", "604800) + 0)")],
        mysql: &[edit(
            "GREATEST(p_seconds, r.minimum) + JSON_VALUE(r.document, '$.safety_lag')",
            "GREATEST(p_seconds, r.minimum)",
        )],
        noticed_by: &[CLOSED],
    },
    Defect {
        name: "disabled-policy",
        what: "a disabled policy counts like another",
        postgres: &[edit("\n      AND p.enabled\n", "\n")],
        mysql: &[edit(
            "IF(p.enabled, COALESCE(p_retention, p.retention_seconds, v_spec), NULL)",
            "COALESCE(p_retention, p.retention_seconds, v_spec)",
        )],
        noticed_by: &[CLOSED],
    },
    Defect {
        name: "policy-ignored",
        what: "the retention of a policy does not matter, only the minimum does",
        postgres: &[edit(
            "coalesce(p_retention, p.retention_seconds,",
            "coalesce(p_retention, 0,",
        )],
        mysql: &[edit(
            "COALESCE(p_retention, p.retention_seconds, v_spec)",
            "COALESCE(p_retention, 0)",
        )],
        noticed_by: &[CLOSED],
    },
    Defect {
        name: "policy-copies-the-default",
        what: "a policy for which nobody named a retention keeps the default of the day on which it was set",
        postgres: &[edit(
            "THEN coalesce(seconds(p_options ->> 'retention'), v_policy.retention_seconds)\n",
            "THEN coalesce(seconds(p_options ->> 'retention'), v_policy.retention_seconds, v_default)\n",
        )],
        mysql: &[edit(
            "p.retention_seconds))), COUNT(*)",
            "p.retention_seconds)), v_default), COUNT(*)",
        )],
        noticed_by: &["defaults::SERVER::a_policy_without_a_retention_follows_the_spec"],
    },
    Defect {
        name: "scopes-by-bytes",
        what: "a policy counts for its own spelling of a scope, whatever the column equates",
        postgres: &[edit(
            "c.oid = t.attcollation AND NOT c.collisdeterministic",
            "c.oid = t.attcollation AND false",
        )],
        mysql: &[edit("PARTITION BY w.scope", "PARTITION BY BINARY w.scope")],
        noticed_by: &[
            "spelled::SERVER::a_run_for_a_scope_knows_its_policy_in_each_spelling",
            "spelled::SERVER::of_policies_that_are_one_the_stricter_counts",
        ],
    },
    Defect {
        name: "laxer-of-two-spellings",
        what: "of two policies that are one to the column, the shorter counts",
        postgres: &[edit(
            "(SELECT min(CASE WHEN p.enabled",
            "(SELECT max(CASE WHEN p.enabled",
        )],
        mysql: &[edit(
            "ORDER BY w.said, w.seconds IS NOT NULL, w.seconds DESC",
            "ORDER BY w.said, w.seconds IS NULL, w.seconds",
        )],
        noticed_by: &["spelled::SERVER::of_policies_that_are_one_the_stricter_counts"],
    },
    Defect {
        name: "first-year-of-rows",
        what: "what has a time before the year 1000 is never looked for",
        postgres: &[],
        mysql: &[edit(
            "SELECT JSON_VALUE(r.document, '$.least')\n",
            "SELECT GREATEST(JSON_VALUE(r.document, '$.least'), '1000-01-01')\n",
        )],
        noticed_by: &["zero::SERVER::the_first_year_is_a_time"],
    },
    Defect {
        name: "first-year-of-a-disabled-policy",
        what: "a purge takes what ended in the first year, though its policy is disabled",
        postgres: &[],
        mysql: &[edit(
            "WHEN s.seconds IS NULL THEN '0001-01-01 00:00:00'",
            "WHEN s.seconds IS NULL THEN '1000-01-02 00:00:00'",
        )],
        noticed_by: &["zero::SERVER::the_first_year_is_kept_by_a_disabled_policy"],
    },
    Defect {
        name: "zero-end-of-a-family",
        what: "a family by removal time whose end is a zero date ended long ago",
        postgres: &[],
        mysql: &[edit(
            "CASE WHEN NULLIF(r.`ended`, 0) IS NULL THEN 2",
            "CASE WHEN r.`ended` IS NULL THEN 2",
        )],
        noticed_by: &["zero::SERVER::a_zero_date_is_no_end_of_a_family"],
    },
    Defect {
        name: "scope-read-once",
        what: "a search reads a scope once, and takes it for exhausted",
        postgres: &[],
        mysql: &[edit("IF p_found >= p_chunk THEN", "IF false THEN")],
        noticed_by: &["scopes::SERVER::a_policy_counts_from_the_next_batch_on"],
    },
    Defect {
        name: "scopes-of-the-first-batch",
        what: "policies that change during a run count from the next one on",
        postgres: &[],
        mysql: &[edit(
            "IF v_source OR NOT v_said <=> v_before THEN",
            "IF v_before IS NULL THEN",
        )],
        noticed_by: &["scopes::SERVER::a_policy_counts_from_the_next_batch_on"],
    },
    Defect {
        name: "search-goes-on-in-other-scopes",
        what: "scopes that nothing was read of are taken for read",
        postgres: &[],
        mysql: &[
            edit(
                "INSERT INTO work_scope_of (said, latest, others)",
                "INSERT INTO work_scope_of (ahead_from, said, latest, others)",
            ),
            edit(
                "SELECT v_said, MAX(s.cutoff),",
                "SELECT IF(v_before IS NULL, NULL, '1970-01-01 00:00:01'), v_said, MAX(s.cutoff),",
            ),
        ],
        noticed_by: &["scopes::SERVER::a_policy_counts_from_the_next_batch_on"],
    },
    Defect {
        name: "search-passes-a-scope-over",
        what: "a search that begins anew does not read the last scope",
        postgres: &[],
        mysql: &[edit(
            "IF p_position < p_last THEN",
            "IF p_position < p_last - 1 THEN",
        )],
        noticed_by: &["scopes::SERVER::the_oldest_of_many_scopes_go_first"],
    },
    Defect {
        name: "search-goes-on-before-its-cursor",
        what: "a run that begins anew behind the end takes what was found there",
        postgres: &[],
        mysql: &[edit(
            "(o.ahead_from <= c.ended) IS NOT TRUE",
            "o.ahead_from IS NULL",
        )],
        noticed_by: &[
            "forward::SERVER::a_run_that_goes_around_takes_what_came_free_before_its_start",
            "scopes::SERVER::what_was_found_and_rolled_back_is_found_again",
        ],
    },
    Defect {
        name: "search-ahead-passes-one-over",
        what: "a batch begins behind the first root that a search found for it",
        postgres: &[edit(
            "v_progress.ahead_keys[v_progress.ahead_at + 1:",
            "v_progress.ahead_keys[v_progress.ahead_at + 2:",
        )],
        mysql: &[],
        noticed_by: &["scopes::SERVER::the_oldest_of_many_scopes_go_first"],
    },
    Defect {
        name: "search-ahead-stays",
        what: "what a search found is taken again by each batch",
        postgres: &[edit(
            "        ahead_at = r.ahead_at + coalesce(p_count, 0),\n",
            "",
        )],
        mysql: &[],
        noticed_by: &["scopes::SERVER::what_a_search_found_for_several_batches_is_judged_anew"],
    },
    Defect {
        name: "policy-of-another-scope",
        what: "a row is searched by the longest retention of all policies",
        postgres: &[edit(
            "AND p.enabled ORDER BY p.retention_seconds LIMIT 1",
            "AND p.enabled ORDER BY p.retention_seconds DESC LIMIT 1",
        )],
        mysql: &[],
        noticed_by: &["scopes::SERVER::a_policy_may_be_shorter_than_the_default"],
    },
    Defect {
        name: "cursor-skips",
        what: "the cursor goes on behind all rows of the same time",
        postgres: &[edit(
            "(i.\"end_time\", i.\"id\") > (p_after_time, p_after_key)",
            "i.\"end_time\" > p_after_time",
        )],
        mysql: &[edit(
            "AND (i.`end_time` > v_after OR i.`id` > s.ahead_id)",
            "AND i.`end_time` > v_after",
        )],
        noticed_by: &[CLOSED],
    },
    Defect {
        name: "instants-as-the-server-reads-them",
        what: "a text is an instant if the server takes it for one",
        postgres: &[edit(
            "IF p_text ~ '^[0-9]{4}",
            "IF true OR p_text ~ '^[0-9]{4}",
        )],
        mysql: &[edit(
            "IF p_text REGEXP '^(?!0000)",
            "IF true OR p_text REGEXP '^(?!0000)",
        )],
        noticed_by: &["instants::SERVER::words_and_other_styles_are_no_instants"],
    },
    Defect {
        name: "minimum-told-by-hours",
        what: "a purge says of the minimum of a rule by the calendar when it would lie by hours",
        postgres: &[edit("WHEN m.calendar IS NULL THEN", "WHEN true THEN")],
        mysql: &[edit(
            "IF v_calendar IS NULL THEN SET v_before =",
            "IF true THEN SET v_before =",
        )],
        noticed_by: &["minimum::SERVER::a_purge_counts_the_days_of_the_rule"],
    },
    Defect {
        name: "calendar-of-utc",
        what: "days of the calendar are counted in UTC, where the times are",
        postgres: &[],
        mysql: &[edit(
            "CALL days_before(p_as_of, v_seconds, v_calendar, o_cutoff);",
            "CALL days_before(p_as_of, v_seconds, v_clock, o_cutoff);",
        )],
        noticed_by: &["minimum::SERVER::a_purge_counts_the_days_of_the_rule"],
    },
];
