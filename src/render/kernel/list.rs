//! The list of the files of the kernel. A concern has the same name on all servers; four are PostgreSQL's alone, one is InnoDB's.

use super::file::{KernelFile, Prologue, Text};
use crate::dialect::Dialect;
use crate::graph::{Graph, Rule};
use crate::render::{archive, stamp};
use Module::{Archive, Core, Detach, EndTime, Heartbeat, Partition, Single, Stamp, Timed, Workers};
use Prologue::{Commits, Installer, Owner, Rules, Schedule, Undo};

/// What a spec has where it needs a file.
#[derive(Clone, Copy)]
enum Module {
    Core,
    EndTime,
    Timed,
    Partition,
    Detach,
    Single,
    Workers,
    Stamp,
    Archive,
    Heartbeat,
}

impl Module {
    fn is_used(self, graph: &Graph) -> bool {
        match self {
            Core => true,
            EndTime => graph.rules.iter().any(Rule::by_end),
            Timed => graph.rules.iter().any(|rule| rule.timed().is_some()),
            Partition => graph.rules.iter().any(Rule::drops_partitions),
            Detach => archive::detaches(graph),
            Single => graph.rules.iter().any(|rule| rule.single().is_some()),
            Workers => graph.workers > 1,
            Stamp => !stamp::names(graph).is_empty(),
            Archive => archive::first(graph).is_some(),
            Heartbeat => graph.keeps_heartbeat(),
        }
    }
}

/// Who needs a file, who applies it, and its texts: of PostgreSQL, and of MySQL and MariaDB, where they have one.
struct Row {
    module: Module,
    prologue: Prologue,
    name: &'static str,
    purpose: &'static str,
    texts: [Option<Text>; 2],
}

/// A row of the list: `both` kernels have the file, or `postgres` has, or `innodb` has.
macro_rules! row {
    (both $folder:literal $name:literal $module:ident $prologue:ident $purpose:literal) => {
        Row {
            module: $module,
            prologue: $prologue,
            name: concat!($name, ".sql"),
            purpose: $purpose,
            texts: [
                Some(text!("postgres/", $folder, "/", $name, ".sql")),
                Some(text!("innodb/", $folder, "/", $name, ".sql")),
            ],
        }
    };
    (postgres $folder:literal $name:literal $module:ident $prologue:ident $purpose:literal) => {
        Row {
            module: $module,
            prologue: $prologue,
            name: concat!($name, ".sql"),
            purpose: $purpose,
            texts: [Some(text!("postgres/", $folder, "/", $name, ".sql")), None],
        }
    };
    (innodb $folder:literal $name:literal $module:ident $prologue:ident $purpose:literal) => {
        Row {
            module: $module,
            prologue: $prologue,
            name: concat!($name, ".sql"),
            purpose: $purpose,
            texts: [None, Some(text!("innodb/", $folder, "/", $name, ".sql"))],
        }
    };
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row!(both "core" "10_control" Core Installer
        "the control schema or database: roles, policies, holds and the ledger"),
    row!(both "core" "10_options" Core Owner
        "how options are read: durations, instants, names of rules"),
    row!(both "core" "11_rules" Core Owner
        "what the spec says of each rule"),
    row!(both "core" "11_spec" Core Rules
        "the rules of the spec, as the kernel knows them"),
    row!(both "features" "11_workers" Workers Owner
        "the workers: how they share out a sweep"),
    row!(both "core" "12_settings" Core Owner
        "the settings: what overrides the limits of the spec, who wrote it, and what it was before"),
    row!(both "features" "25_archive" Archive Owner
        "the archive: copies of deleted rows"),
    row!(both "core" "32_tables" Core Owner
        "what names the tables of the application: their locks, keys, orphans and files"),
    row!(both "core" "34_catalog" Core Owner
        "what else acts when a row is deleted: keys, rules, triggers and code of others; and whether the tables are the same"),
    row!(both "core" "35_guard" Core Owner
        "what holds runs back: pauses of rules, servers where nobody armed windrow, back-off, suspension"),
    row!(both "core" "35_pace" Core Owner
        "how big the next batch is, and what a run rests for before it"),
    row!(innodb "features" "36_heartbeat" Heartbeat Owner
        "the replicas: how far each has got, for servers that do not know it"),
    row!(both "core" "37_place" Core Owner
        "where, when and for whom a run may work: server, windows, session and lock"),
    row!(both "core" "38_step" Core Owner
        "what the steps, previews and purges of all strategies share"),
    row!(both "strategies" "39_end_time" EndTime Owner
        "rules by the end of families"),
    row!(both "strategies" "39_end_time_judge" EndTime Owner
        "rules by the end of families: which of them are deleted, and why the others are kept"),
    row!(both "strategies" "39_partition" Partition Owner
        "rules that drop whole partitions"),
    row!(both "strategies" "39_partition_ahead" Partition Owner
        "partitions that are made in advance"),
    row!(both "strategies" "39_partition_archive" Detach Owner
        "partitions that are kept instead of being dropped"),
    row!(both "strategies" "39_single" Single Owner
        "rules of single rows: expiry, orphan, keep-last"),
    row!(both "strategies" "39_timed" Timed Owner
        "rules by a stored removal time, or by age"),
    row!(both "strategies" "39_timed_rows" Timed Owner
        "what rules by a stored removal time, or by age, have in their tables"),
    row!(both "core" "40_run" Core Owner
        "run, preview and purge, and their ledger"),
    row!(both "core" "41_calls" Core Commits
        "run and purge: what commits"),
    row!(both "features" "43_stamp" Stamp Owner
        "setting removal times anew, on demand"),
    row!(both "features" "43_stamp_calls" Stamp Commits
        "stamp: what commits"),
    row!(both "features" "44_unarchive" Archive Owner
        "how rows leave the archive for good"),
    row!(both "features" "44_unarchive_calls" Archive Commits
        "how rows leave the archive: what commits"),
    row!(both "core" "45_manage" Core Owner
        "what operates a run: policies, holds, windows, arming, files"),
    row!(both "features" "45_restore" Archive Owner
        "how rows come back from the archive"),
    row!(both "core" "46_metrics" Core Owner
        "how much is due, what is kept and why, and the metrics"),
    row!(both "core" "47_plan" Core Owner
        "how much is due, along time and ahead of it: what a backlog plan starts from"),
    row!(both "core" "48_verify" Core Owner
        "is everything as it should be?"),
    row!(postgres "core" "51_rights" Core Owner
        "who may call what, and what an installation notes at its end"),
    row!(postgres "core" "60_schedule" Core Schedule
        "the schedule"),
    row!(postgres "core" "90_uninstall" Core Undo
        "the undo of everything else; NOT part of an installation"),
];

/// Those of a server.
fn of(dialect: Dialect) -> impl Iterator<Item = (Module, KernelFile)> {
    let place = usize::from(dialect != Dialect::Postgres);
    ROWS.iter().filter_map(move |row| {
        let file = KernelFile {
            name: row.name,
            purpose: row.purpose,
            text: row.texts[place]?,
            prologue: row.prologue,
        };
        Some((row.module, file))
    })
}

/// All of a server, whatever the spec.
pub(super) fn all(dialect: Dialect) -> impl Iterator<Item = KernelFile> {
    of(dialect).map(|(_, file)| file)
}

/// Those that an installation needs, in the order in which it applies them.
pub(in crate::render) fn files(graph: &Graph, dialect: Dialect) -> Vec<KernelFile> {
    let used = of(dialect).filter(|(module, _)| module.is_used(graph));
    used.map(|(_, file)| file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::kernel::PARTS;

    #[test]
    fn the_kernel_has_no_holes() {
        let files = [Dialect::Postgres, Dialect::Mariadb]
            .into_iter()
            .flat_map(of);
        let texts = files.map(|(_, file)| (file.name, file.text.sql));
        let parts = PARTS.iter().map(|(name, part)| (*name, part.sql));
        for (name, text) in texts.chain(parts) {
            for (number, line) in text.lines().enumerate() {
                let hole = ["{{", "{%", "{#"];
                let found = hole.iter().find(|hole| line.contains(*hole));
                assert_eq!(found, None, "{name}:{}: {line}", number + 1);
            }
        }
    }

    #[test]
    fn the_list_is_in_the_order_of_names() {
        let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        assert!(names.is_sorted(), "{names:?}");
    }
}
