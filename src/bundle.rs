//! The generated files of one spec for one dialect: in memory first, then written where bytes differ, or compared.

/// One statement as the server takes it, without a client's terminator.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it does, in the words of a progress line: `create procedure windrow_x.run`.
    pub what: String,
    /// The SQL text, ending without a semicolon.
    pub sql: String,
    /// Whether it must run outside a transaction block (CREATE INDEX CONCURRENTLY).
    pub alone: bool,
}

/// One generated file.
#[derive(Clone, Debug)]
pub struct File {
    /// Path below `generated/`, e.g. `dolphinscheduler/postgres/10_control.sql`.
    pub path: String,
    /// The statements in order.
    pub statements: Vec<Statement>,
    /// The whole text of the file, as `psql -f` takes it.
    pub text: String,
}

/// All files of one spec for one dialect, sorted by path; numbered ones are applied in this order.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Name of the control schema.
    pub control: String,
    /// The files.
    pub files: Vec<File>,
}

/// A statement of a generated routine with literals in place of variables.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Where it comes from, for messages.
    pub what: String,
    /// The table whose index it needs.
    pub table: String,
    /// A statement that EXPLAIN takes.
    pub sql: String,
}
