//! What every session can do, whatever server answers.

use std::io::Write;
use std::time::Duration;

use crate::bundle::Statement;
use crate::catalog::Catalog;
use crate::dialect::Dialect;
use crate::failure::Failure;

/// A row as text, NULL as `None`.
pub type Row = Vec<Option<String>>;

/// Cancels what a session is running; can be called from any thread.
pub type Cancel = Box<dyn Fn() -> anyhow::Result<()> + Send + Sync>;

/// One session. Errors say what the server said, with its SQLSTATE and our hint.
pub trait Database: Send {
    /// What kind of server this is and whether it can be written to.
    fn server(&mut self) -> anyhow::Result<Server>;

    /// Runs one statement, or a script of statements, outside a transaction block.
    fn execute(&mut self, sql: &str) -> anyhow::Result<()>;

    /// Runs all statements and calls `done` for each; stops at the first error.
    ///
    /// Where the server's DDL is transactional (PostgreSQL), on an error nothing of them is kept. Where each CREATE and
    /// DROP commits, the statements are sent one after another, and those that `done` was called for are kept.
    fn transaction(
        &mut self,
        statements: &[&Statement],
        done: &mut dyn FnMut(&Statement, Duration),
    ) -> anyhow::Result<()>;

    /// Runs a statement outside a transaction block with text parameters (`$1`, `$2`, … on PostgreSQL, `?` on MySQL
    /// and MariaDB) and returns the rows of its first result set.
    fn query(&mut self, sql: &str, parameters: &[Option<&str>]) -> anyhow::Result<Vec<Row>>;

    /// Writes the rows of a query as CSV while they come, reports to `passed` now and then how many there were, and answers how
    /// many there were in all. Binary values are hexadecimal (`\x00ff`), NULL is nothing and an empty text `""`.
    fn export(
        &mut self,
        sql: &str,
        out: &mut dyn Write,
        passed: &mut dyn FnMut(u64),
    ) -> anyhow::Result<u64>;

    /// Reads what is in a schema, or in a database of MySQL or MariaDB.
    fn catalog(&mut self, schema: &str) -> anyhow::Result<Catalog>;

    /// The server's number for this session.
    fn session(&mut self) -> anyhow::Result<i64>;

    /// What the server said in passing since the last call, without the talk about what was there already.
    fn notices(&mut self) -> Vec<String>;

    /// A handle that cancels the running statement.
    fn cancel(&self) -> Cancel;
}

/// What kind of server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Which of the servers it is: an address does not distinguish MySQL from MariaDB.
    pub dialect: Dialect,
    /// Version as one number: 150018 is PostgreSQL 15.18, 101119 is MariaDB 10.11.19, 90704 is MySQL 9.7.4.
    pub version_num: u32,
    /// The server is a standby or a replica, as far as this session may know.
    pub in_recovery: bool,
    /// New transactions are read-only.
    pub read_only: bool,
}

impl Server {
    /// Major, minor and patch version; PostgreSQL has no minor ones that matter.
    pub fn release(&self) -> (u32, u32, u32) {
        let number = self.version_num;
        match self.dialect {
            Dialect::Postgres => (number / 10_000, 0, 0),
            Dialect::Mysql | Dialect::Mariadb => {
                (number / 10_000, number / 100 % 100, number % 100)
            }
        }
    }
}

/// What was exported has no place to go to.
pub(super) fn not_written(error: std::io::Error) -> Failure {
    Failure::new("cannot write what was read").caused_by(error)
}
