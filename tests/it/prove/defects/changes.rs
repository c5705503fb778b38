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
        name: "kinds-without-collation",
        what: "a text by which a rule decides may tell other letters apart from now on",
        postgres: &[edit("THEN 'text' || a.attcollation", "THEN 'text'")],
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
        postgres: &[edit(
            "'float4out'::regproc, 'float8out'::regproc",
            "'float4out'::regproc",
        )],
        mysql: &[edit(
            "'^(float|double)' THEN 'float'",
            "'^float' THEN 'float'",
        )],
        noticed_by: &[KINDS],
    },
    Defect {
        name: "kinds-of-numbers",
        what: "a whole number may become a float, which has not each of them",
        postgres: &[edit(
            "('float4out'::regproc, 'float8out'::regproc) THEN 'float'",
            "('float4out'::regproc, 'float8out'::regproc) THEN 'number'",
        )],
        mysql: &[edit(
            "'^(float|double)' THEN 'float'",
            "'^(float|double)' THEN 'number'",
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
];
