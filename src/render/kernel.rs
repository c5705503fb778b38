//! The kernel: the text that every spec shares. It is plain SQL without a hole, and names no schema: each routine looks
//! for unqualified names where it stands itself.

use crate::dialect::Dialect;
use crate::graph::Graph;

/// One file of the kernel.
#[derive(Clone, Copy)]
pub(super) struct KernelFile {
    /// Its name among the generated files.
    pub(super) name: &'static str,
    /// What it is for.
    pub(super) purpose: &'static str,
    text: &'static str,
}

/// What every installation has, on PostgreSQL.
const CORE: &[KernelFile] = &[
    KernelFile {
        name: "11_rules.sql",
        purpose: "what the spec says of each rule",
        text: include_str!("../../templates/kernel/postgres/core/11_rules.sql"),
    },
    KernelFile {
        name: "12_settings.sql",
        purpose: "the settings: what overrides the limits of the spec, who wrote it, and what it was before",
        text: include_str!("../../templates/kernel/postgres/core/12_settings.sql"),
    },
    KernelFile {
        name: "35_guard.sql",
        purpose: "what holds runs back: pauses of rules, servers where nobody armed windrow, back-off, suspension",
        text: include_str!("../../templates/kernel/postgres/core/35_guard.sql"),
    },
    KernelFile {
        name: "35_pace.sql",
        purpose: "how big the next batch is, and what a run rests for before it",
        text: include_str!("../../templates/kernel/postgres/core/35_pace.sql"),
    },
    KernelFile {
        name: "38_step.sql",
        purpose: "what the steps, previews and purges of all strategies share",
        text: include_str!("../../templates/kernel/postgres/core/38_step.sql"),
    },
    KernelFile {
        name: "40_run.sql",
        purpose: "run, preview and purge, and what operates them",
        text: include_str!("../../templates/kernel/postgres/core/40_run.sql"),
    },
    KernelFile {
        name: "46_metrics.sql",
        purpose: "how much is due, what stays and why, and the metrics",
        text: include_str!("../../templates/kernel/postgres/core/46_metrics.sql"),
    },
];

/// What rules by the end of families need.
const END_TIME: &[KernelFile] = &[KernelFile {
    name: "39_end_time.sql",
    purpose: "rules by the end of families",
    text: include_str!("../../templates/kernel/postgres/strategies/end_time.sql"),
}];

/// What rules by removal time or age need.
const TIMED: &[KernelFile] = &[KernelFile {
    name: "39_timed.sql",
    purpose: "rules by a stored removal time, or by age",
    text: include_str!("../../templates/kernel/postgres/strategies/timed.sql"),
}];

/// What rules of single rows need.
const SINGLE: &[KernelFile] = &[KernelFile {
    name: "39_single.sql",
    purpose: "rules of single rows: expiry, orphan, keep-last",
    text: include_str!("../../templates/kernel/postgres/strategies/single.sql"),
}];

/// What several workers need besides.
const WORKERS: &[KernelFile] = &[KernelFile {
    name: "11_workers.sql",
    purpose: "the workers: how they share out a sweep",
    text: include_str!("../../templates/kernel/postgres/features/11_workers.sql"),
}];

/// Those that an installation needs.
pub(super) fn files(graph: &Graph, dialect: Dialect) -> Vec<&'static KernelFile> {
    if dialect != Dialect::Postgres {
        return Vec::new();
    }
    let modules: [(bool, &[KernelFile]); 5] = [
        (true, CORE),
        (graph.rules.iter().any(super::by_end), END_TIME),
        (graph.rules.iter().any(|rule| rule.timed.is_some()), TIMED),
        (graph.rules.iter().any(|rule| rule.single.is_some()), SINGLE),
        (graph.workers > 1, WORKERS),
    ];
    let used = modules.into_iter().filter(|(used, _)| *used);
    used.flat_map(|(_, files)| files).collect()
}

impl KernelFile {
    /// The text as an installation into a control schema applies it, made by its owner: in front of it stands where
    /// unqualified names lead, and the markers of its statements name the schema.
    pub(super) fn in_schema(&self, control: &str, owner: &str) -> String {
        let mut text = format!(
            "--# set lock_timeout\nSET lock_timeout = '5s';\n--# set statement_timeout\nSET statement_timeout = '1min';\n\
             --# become {owner}\nSET ROLE {owner};\n--# look in {control}\nSET search_path = {control}, pg_catalog, pg_temp;\n\n"
        );
        for line in self.text.lines() {
            text.push_str(&qualified(line, control).unwrap_or_else(|| line.to_owned()));
            text.push('\n');
        }
        text.push_str("--# become who installs\nRESET ROLE;\n--# look where who installs looks\nRESET search_path;\n");
        text
    }
}

/// A marker with the schema before the name of its object; none for any other line.
fn qualified(line: &str, control: &str) -> Option<String> {
    let what = line.strip_prefix("--# ")?;
    let (verb, name) = what.rsplit_once(' ')?;
    let kinds = ["function", "procedure", "table", "view"];
    let kind = verb.rsplit_once(' ')?.1;
    kinds
        .contains(&kind)
        .then(|| format!("--# {verb} {control}.{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_names_the_schema_and_nothing_else_does() {
        let marker = |line| qualified(line, "windrow_x");
        assert_eq!(
            marker("--# create table rule").as_deref(),
            Some("--# create table windrow_x.rule")
        );
        assert_eq!(
            marker("--# comment on function pace").as_deref(),
            Some("--# comment on function windrow_x.pace")
        );
        assert_eq!(marker("--# create trigger check_setting"), None);
        assert_eq!(marker("CREATE TABLE rule ("), None);
    }

    #[test]
    fn the_kernel_has_no_holes() {
        for file in [CORE, END_TIME, TIMED, SINGLE, WORKERS].concat() {
            for (number, line) in file.text.lines().enumerate() {
                let hole = ["{{", "{%", "{#", "@body@"];
                let found = hole.iter().find(|hole| line.contains(*hole));
                assert_eq!(found, None, "{}:{}: {line}", file.name, number + 1);
            }
        }
    }
}
