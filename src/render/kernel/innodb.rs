//! The files of the kernel of MySQL and MariaDB: one text for both.

use super::file::{KernelFile, Prologue};

/// What every installation has.
pub(super) const CORE: &[KernelFile] = &[
    KernelFile {
        name: "10_control.sql",
        purpose: "the control database: policies, holds and the ledger",
        text: text!("innodb/core/10_control.sql"),
        prologue: Prologue::Installer,
    },
    KernelFile {
        name: "11_rules.sql",
        purpose: "what the spec says of each rule",
        text: text!("innodb/core/11_rules.sql"),
        prologue: Prologue::Owner,
    },
    KernelFile {
        name: "11_spec.sql",
        purpose: "the rules of the spec, as the kernel knows them",
        text: text!("innodb/core/11_spec.sql"),
        prologue: Prologue::Rules,
    },
    KernelFile {
        name: "12_settings.sql",
        purpose: "the settings: what overrides the limits of the spec, who wrote it, and what it was before",
        text: text!("innodb/core/12_settings.sql"),
        prologue: Prologue::Owner,
    },
    KernelFile {
        name: "32_tables.sql",
        purpose: "what names the tables of the application: their locks, keys, orphans and files",
        text: text!("innodb/core/32_tables.sql"),
        prologue: Prologue::Owner,
    },
    KernelFile {
        name: "35_guard.sql",
        purpose: "what holds runs back: pauses of rules, servers where nobody armed windrow, back-off, suspension",
        text: text!("innodb/core/35_guard.sql"),
        prologue: Prologue::Owner,
    },
    KernelFile {
        name: "35_pace.sql",
        purpose: "how big the next batch is, and what a run rests for before it",
        text: text!("innodb/core/35_pace.sql"),
        prologue: Prologue::Owner,
    },
    KernelFile {
        name: "38_step.sql",
        purpose: "what the previews of rules share, and what a run does by strategy",
        text: text!("innodb/core/38_step.sql"),
        prologue: Prologue::Owner,
    },
    KernelFile {
        name: "40_run.sql",
        purpose: "run, preview and purge",
        text: text!("innodb/core/40_run.sql"),
        prologue: Prologue::Owner,
    },
    KernelFile {
        name: "41_calls.sql",
        purpose: "run and purge: what commits",
        text: text!("innodb/core/41_calls.sql"),
        prologue: Prologue::Owner,
    },
    KernelFile {
        name: "45_manage.sql",
        purpose: "what operates a run: policies, holds, windows, arming, files",
        text: text!("innodb/core/45_manage.sql"),
        prologue: Prologue::Owner,
    },
    KernelFile {
        name: "46_metrics.sql",
        purpose: "what the metrics count of the ledger",
        text: text!("innodb/core/46_metrics.sql"),
        prologue: Prologue::Owner,
    },
    KernelFile {
        name: "47_metrics.sql",
        purpose: "how much is due, what stays and why, and the metrics",
        text: text!("innodb/core/47_metrics.sql"),
        prologue: Prologue::Owner,
    },
    KernelFile {
        name: "47_plan.sql",
        purpose: "how much is due, along time and ahead of it: what a backlog plan starts from",
        text: text!("innodb/core/47_plan.sql"),
        prologue: Prologue::Owner,
    },
    KernelFile {
        name: "48_verify.sql",
        purpose: "is everything as it should be?",
        text: text!("innodb/core/48_verify.sql"),
        prologue: Prologue::Owner,
    },
];

/// What several workers need besides.
pub(super) const WORKERS: &[KernelFile] = &[KernelFile {
    name: "11_workers.sql",
    purpose: "the workers: how they share out a sweep",
    text: text!("innodb/features/11_workers.sql"),
    prologue: Prologue::Owner,
}];

/// What rules by removal time or age need.
pub(super) const TIMED: &[KernelFile] = &[KernelFile {
    name: "39_timed.sql",
    purpose: "rules by a stored removal time, or by age",
    text: text!("innodb/strategies/timed.sql"),
    prologue: Prologue::Owner,
}];

/// What setting removal times anew needs besides.
pub(super) const STAMP: &[KernelFile] = &[KernelFile {
    name: "43_stamp.sql",
    purpose: "setting removal times anew, on demand",
    text: text!("innodb/features/43_stamp.sql"),
    prologue: Prologue::Owner,
}];

/// What rules by the end of families need.
pub(super) const END_TIME: &[KernelFile] = &[KernelFile {
    name: "39_end_time.sql",
    purpose: "rules by the end of families",
    text: text!("innodb/strategies/end_time.sql"),
    prologue: Prologue::Owner,
}];

/// What rules of single rows need.
pub(super) const SINGLE: &[KernelFile] = &[KernelFile {
    name: "39_single.sql",
    purpose: "rules of single rows: expiry, orphan, keep-last",
    text: text!("innodb/strategies/single.sql"),
    prologue: Prologue::Owner,
}];

/// What archives need besides.
pub(super) const ARCHIVE: &[KernelFile] = &[
    KernelFile {
        name: "25_archive.sql",
        purpose: "the archive: copies of the rows that go",
        text: text!("innodb/features/25_archive.sql"),
        prologue: Prologue::Owner,
    },
    KernelFile {
        name: "44_unarchive.sql",
        purpose: "how rows leave the archive",
        text: text!("innodb/features/44_unarchive.sql"),
        prologue: Prologue::Owner,
    },
];
