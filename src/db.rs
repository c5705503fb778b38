//! The live database, behind one small trait: it sends statements and reads the catalog, and never renders SQL
//! of its own beyond catalog queries.

use std::time::Duration;

use crate::bundle::Statement;
use crate::catalog::Catalog;

mod postgres;
pub mod url;

use url::Url;

/// A row as text, NULL as `None`.
pub type Row = Vec<Option<String>>;

/// Cancels what a session is running; can be called from any thread.
pub type Cancel = Box<dyn Fn() -> anyhow::Result<()> + Send + Sync>;

/// One session. Errors say what the server said, with its SQLSTATE and our hint.
pub trait Database: Send {
    /// What kind of server this is and whether it can be written to.
    fn server(&mut self) -> anyhow::Result<Server>;

    /// Runs one statement outside a transaction block.
    fn execute(&mut self, sql: &str) -> anyhow::Result<()>;

    /// Runs all statements in one transaction and tells `done` about each; on an error nothing of them stays.
    fn transaction(
        &mut self,
        statements: &[&Statement],
        done: &mut dyn FnMut(&Statement, Duration),
    ) -> anyhow::Result<()>;

    /// Runs a statement outside a transaction block with text parameters `$1`, `$2`, … and returns its rows.
    fn query(&mut self, sql: &str, parameters: &[Option<&str>]) -> anyhow::Result<Vec<Row>>;

    /// Reads what stands in a schema.
    fn catalog(&mut self, schema: &str) -> anyhow::Result<Catalog>;

    /// The server's number for this session.
    fn session(&mut self) -> anyhow::Result<i32>;

    /// What the server said in passing since the last call, without the talk about what was there already.
    fn notices(&mut self) -> Vec<String>;

    /// A handle that cancels the running statement.
    fn cancel(&self) -> Cancel;
}

/// What kind of server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Version as one number: 150018 is 15.18.
    pub version_num: u32,
    /// The server is a standby.
    pub in_recovery: bool,
    /// New transactions are read-only.
    pub read_only: bool,
}

/// Opens a session.
pub fn connect(url: &Url) -> anyhow::Result<Box<dyn Database>> {
    postgres::connect(url)
}
