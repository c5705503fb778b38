//! Defects of rows that stay when what they belong to goes.

use super::edit;
use crate::support::defect::Defect;

const TIES: &str = "kept::SERVER::what_is_kept_ties_and_keeps_no_family";
const DOCS: &str = "kept::SERVER::the_example_of_the_docs_keeps_the_history_of_assets";

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "kept-goes",
        what: "rows that are kept go with what they belong to",
        postgres: &[edit("(t.\"kind\" = 'kept') IS NOT TRUE", "true")],
        mysql: &[edit("(t.`kind` = 'kept') IS NOT TRUE", "true")],
        noticed_by: &[TIES],
    },
    Defect {
        name: "kept-inverted",
        what: "rows that are kept go, and the others stay",
        postgres: &[edit(
            "(t.\"kind\" = 'kept') IS NOT TRUE",
            "(t.\"kind\" = 'kept') IS TRUE",
        )],
        mysql: &[edit(
            "(t.`kind` = 'kept') IS NOT TRUE",
            "(t.`kind` = 'kept') IS TRUE",
        )],
        noticed_by: &[TIES],
    },
    Defect {
        name: "kept-unknown",
        what: "a row that does not say whether it is kept stays",
        postgres: &[edit(
            "(t.\"kind\" = 'kept') IS NOT TRUE",
            "(t.\"kind\" <> 'kept')",
        )],
        mysql: &[edit(
            "(t.`kind` = 'kept') IS NOT TRUE",
            "(t.`kind` <> 'kept')",
        )],
        noticed_by: &[TIES],
    },
    Defect {
        name: "kept-holds",
        what: "a row that is kept holds its family, or what is below it does",
        postgres: &[edit("(t1.\"kind\" = 'kept') IS NOT TRUE", "true")],
        mysql: &[edit("(t1.`kind` = 'kept') IS NOT TRUE", "true")],
        noticed_by: &[TIES],
    },
    Defect {
        name: "kept-unlocked",
        what: "a row may become one that is kept after what belongs to it went",
        postgres: &[edit("IS NOT TRUE FOR UPDATE OF t)", "IS NOT TRUE)")],
        mysql: &[edit("IS NOT TRUE FOR UPDATE;", "IS NOT TRUE;")],
        noticed_by: &["kept::SERVER::a_row_that_is_kept_meanwhile_stays_with_what_is_its"],
    },
    Defect {
        name: "kept-orphans",
        what: "verify takes rows that are kept for orphans",
        postgres: &[edit("' AND ' || e.kept", "NULL")],
        mysql: &[edit("COALESCE(CONCAT(' AND ', MAX(e.kept)), ''),", "'',")],
        noticed_by: &[DOCS],
    },
];
