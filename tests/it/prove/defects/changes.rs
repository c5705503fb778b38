//! Defects of what notices that the application has changed its columns, or has got triggers.

use super::edit;
use crate::support::defect::Defect;

const KINDS: &str =
    "acting::replaced::SERVER::a_column_by_which_a_rule_decides_may_not_hold_something_else";
/// The owner role of MySQL sees none.
const TRIGGERS: &[&str] = &[
    "acting::stamps::postgres::triggers_on_what_is_set_are_told",
    "acting::stamps::mariadb::triggers_on_what_is_set_are_told",
];

/// The kind of a text, by its collation.
const KIND_OF_TEXT: &str =
    "REGEXP_REPLACE(SUBSTRING_INDEX(c.type, ' ', -1), '^utf8(mb[34])?_', 'utf8_')";

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "purges-go-on-meanwhile",
        what: "a purge goes on where an installation has begun",
        postgres: &[edit(
            "IF unfinished() IS NOT NULL THEN\n        RAISE",
            "IF false THEN\n        RAISE",
        )],
        mysql: &[edit(
            "IF v_message IS NOT NULL THEN\n        CALL not_ready(v_message, 'let it finish",
            "IF 1 = 0 THEN\n        CALL not_ready(v_message, 'let it finish",
        )],
        noticed_by: &["halfway::SERVER::a_purge_ends_where_an_installation_begins"],
    },
    Defect {
        name: "triggers-unfinished",
        what: "MySQL and MariaDB: runs go on where an installation broke off before the triggers of an orphan guard",
        postgres: &[],
        mysql: &[edit(
            "FROM known_trigger AS t WHERE t.hash = '')",
            "FROM known_trigger AS t WHERE 1 = 0)",
        )],
        noticed_by: &[
            "halfway::mysql::nothing_goes_before_the_triggers_are_there",
            "halfway::mariadb::nothing_goes_before_the_triggers_are_there",
        ],
    },
    Defect {
        name: "kinds-unseen",
        what: "a column by which a rule decides may hold something else from now on",
        postgres: &[edit(
            "AND a.attname = ANY (e.columns || e.reads)",
            "AND a.attname = ANY (e.columns)",
        )],
        mysql: &[edit(
            "ELSE REGEXP_SUBSTR(c.type, '^[a-z0-9]+')",
            "ELSE 'time'",
        )],
        noticed_by: &[
            "acting::replaced::SERVER::a_column_by_which_a_rule_decides_may_not_hold_something_else",
        ],
    },
    Defect {
        name: "columns-by-name-alone",
        what: "a column by which a rule decides may be another one that has got its name",
        postgres: &[edit("n.told, k.kind, a.attnum)", "n.told, k.kind, 0)")],
        mysql: &[edit("JSON_LENGTH(v_moved) > 0 DO", "1 = 0 DO")],
        noticed_by: &["acting::replaced::SERVER::a_column_that_another_one_replaces_is_told"],
    },
    Defect {
        name: "kinds-without-collation",
        what: "a text by which a rule decides may tell other letters apart from now on",
        postgres: &[edit("'.' || a.attcollation AS kind", "'.0' AS kind")],
        mysql: &[edit(KIND_OF_TEXT, "'text'")],
        noticed_by: &[KINDS],
    },
    Defect {
        name: "kinds-by-the-end-of-a-collation",
        what: "collations whose names end alike take the same letters for the same",
        postgres: &[],
        mysql: &[edit(
            KIND_OF_TEXT,
            "REGEXP_SUBSTR(SUBSTRING_INDEX(c.type, ' ', -1), '_[a-z]+$')",
        )],
        noticed_by: &[KINDS],
    },
    Defect {
        name: "kinds-by-bytes-of-a-letter",
        what: "a text that takes letters of four bytes from now on counts as another kind",
        postgres: &[],
        mysql: &[edit(KIND_OF_TEXT, "SUBSTRING_INDEX(c.type, ' ', -1)")],
        noticed_by: &[KINDS],
    },
    Defect {
        name: "kinds-without-order",
        what: "an enumeration by which a rule decides may have another order from now on",
        postgres: &[edit("coalesce(nullif(p.typbasetype, 0), p.oid)", "1")],
        mysql: &[edit("' ', c.follows, ' '", "' ', 1, ' '")],
        noticed_by: &[KINDS],
    },
    Defect {
        name: "kinds-of-floats",
        what: "a float that becomes a double counts as another kind",
        postgres: &[edit("CASE WHEN k.kind = 'double.0'", "CASE WHEN false")],
        mysql: &[edit("t.type_now = 'double'", "false")],
        noticed_by: &[KINDS],
    },
    Defect {
        name: "kinds-of-numbers",
        what: "a whole number may become a float, which has not each of them",
        postgres: &[edit("THEN 'float'", "THEN 'number'")],
        mysql: &[edit(
            "'^(bit|binary|float|double)|zerofill$' THEN c.type",
            "'^(bit|binary)|zerofill$' THEN c.type WHEN c.type REGEXP '^(float|double)' THEN 'number'",
        )],
        noticed_by: &[KINDS],
    },
    Defect {
        name: "kinds-of-doubles",
        what: "a double may become a float, which has not each of its numbers",
        postgres: &[edit("THEN 'double'", "THEN 'float'")],
        mysql: &[edit(
            "t.type_then LIKE 'float%' AND t.type_now = 'double'",
            "t.type_then REGEXP '^(float|double)' AND t.type_now REGEXP '^(float|double)'",
        )],
        noticed_by: &[KINDS],
    },
    Defect {
        name: "kinds-of-decimals",
        what: "a number may get more digits behind the point, with which its text names no policy",
        postgres: &[edit(
            "format('numeric%s.%s', m.size - 4 & 2047, CASE m.size WHEN -1 THEN p.typbasetype END)",
            "'numeric'",
        )],
        mysql: &[edit("decimal[(][0-9]+,0[)])'", "decimal)'")],
        noticed_by: &[KINDS],
    },
    Defect {
        name: "kinds-that-divide",
        what: "a whole number that SQL of the spec may divide may become a decimal",
        postgres: &[edit(
            "'int8out'::regproc) THEN 'number'",
            "'int8out'::regproc) OR p.typoutput = 'numeric_out'::regproc AND m.size - 4 & 2047 = 0 THEN 'number'",
        )],
        mysql: &[],
        noticed_by: &[KINDS],
    },
    Defect {
        name: "kinds-of-blanks",
        what: "a text may get blanks at its end, or lose them",
        postgres: &[edit(
            "('textout'::regproc, 'varcharout'::regproc) THEN 'text'",
            "('textout'::regproc, 'varcharout'::regproc, 'bpcharout'::regproc) THEN 'text'",
        )],
        mysql: &[edit("IF(c.type LIKE 'char%', 'char ', '')", "''")],
        noticed_by: &[KINDS],
    },
    Defect {
        name: "kinds-of-any-length",
        what: "what is filled up to its length may get another one",
        postgres: &[edit(
            "format('%s.%s', p.typoutput::oid, m.size)",
            "'filled'",
        )],
        mysql: &[edit(
            "|zerofill$' THEN c.type",
            "|zerofill$' THEN REGEXP_SUBSTR(c.type, '^[a-z]+')",
        )],
        noticed_by: &[KINDS],
    },
    Defect {
        name: "triggers-untold",
        what: "verify says nothing of triggers of the application",
        postgres: &[edit(
            "WHERE (k.is_whole OR g.tgtype & 1 = 1)",
            "WHERE false",
        )],
        mysql: &[edit(
            "WHERE (k.goes AND t.event = 'DELETE' OR k.is_set AND t.event = 'UPDATE')",
            "WHERE false",
        )],
        noticed_by: TRIGGERS,
    },
    Defect {
        name: "triggers-accepted",
        what: "verify tells of triggers that the spec accepts",
        postgres: &[edit(
            "-> 'triggers' ? g.tgname::text, false)",
            "-> 'triggers' ? 'none', false)",
        )],
        mysql: &[edit("AND a.trigger_name IS NULL", "")],
        noticed_by: TRIGGERS,
    },
    Defect {
        name: "triggers-that-never-fire",
        what: "verify tells of triggers that do not fire when windrow deletes or sets rows",
        postgres: &[edit(
            "AND NOT g.tgisinternal AND g.tgenabled IN ('O', 'A')",
            "AND NOT g.tgisinternal",
        )],
        mysql: &[edit(
            "WHERE (k.goes AND t.event = 'DELETE' OR k.is_set AND t.event = 'UPDATE')",
            "WHERE (1 = 1)",
        )],
        noticed_by: TRIGGERS,
    },
    Defect {
        name: "ledger-forgets-within-an-installation",
        what: "a run that ends because an installation has begun prunes the ledger, though nobody has said for how long it is kept",
        postgres: &[edit(
            "CASE WHEN unfinished() IS NULL THEN setting_of(first_rule(), 'ledger_days') END",
            "setting_of(first_rule(), 'ledger_days')",
        )],
        mysql: &[edit("SET v_days = NULL;", "DO 0;")],
        noticed_by: &["halfway::SERVER::nothing_is_forgotten_before_an_installation_is_finished"],
    },
    Defect {
        name: "archive-forgets-within-an-installation",
        what: "a run that ends because an installation has begun prunes the archive, though nobody has said for how long it is kept",
        postgres: &[edit("AND unfinished() IS NULL;", ";")],
        mysql: &[edit("AND v_begun IS NULL; COMMIT;", "; COMMIT;")],
        noticed_by: &["halfway::SERVER::nothing_is_forgotten_before_an_installation_is_finished"],
    },
    Defect {
        name: "limit-of-a-rule-that-never-counted",
        what: "what an earlier version took for another rule, without effect, replaces what the first rule had",
        postgres: &[edit("AND r.position > 1 AND f.position = 1", "AND false")],
        mysql: &[edit(
            "JOIN rule AS r ON r.rule = s.rule AND r.position > 1",
            "JOIN rule AS r ON false",
        )],
        noticed_by: &[
            "limits::SERVER::an_installation_drops_what_earlier_versions_took_for_other_rules",
        ],
    },
    Defect {
        name: "limit-that-waits-beats-a-later-one",
        what: "a rule that comes back has its old limit where that is stricter than what was set for the rule between",
        postgres: &[edit(
            "AND CASE s.name WHEN 'time_budget' THEN s.value < l.value",
            "AND CASE s.name WHEN 'time_budget' THEN s.value < coalesce(w.value, l.value)",
        )],
        mysql: &[edit(
            "AND CASE s.name WHEN 'time_budget' THEN s.value < l.value",
            "AND CASE s.name WHEN 'time_budget' THEN s.value < COALESCE(w.value, l.value)",
        )],
        noticed_by: &[
            "limits::SERVER::the_limits_of_runs_hold_where_another_rule_becomes_the_first",
        ],
    },
];
