//! The live database, behind one small trait: it sends statements and reads the catalog, and never renders SQL
//! of its own beyond catalog queries.

mod cells;
mod csv;
mod mysql;
mod postgres;
mod session;
mod tls;
pub mod url;

pub use mysql::Replica;
pub use session::{Cancel, Database, Row, Server};
use url::{Scheme, Url};

/// Opens a session of the program. On PostgreSQL it looks for what a statement names in `pg_catalog` alone: another path may lead
/// to functions and operators of others, which would run with the rights of who asks.
pub fn connect(url: &Url) -> anyhow::Result<Box<dyn Database>> {
    match url.scheme {
        Scheme::Postgres => postgres::connect(url, true),
        Scheme::Mysql | Scheme::Mariadb => mysql::connect(url),
    }
}

/// Opens a session as an application has it, which looks where the server says.
pub fn connect_as_application(url: &Url) -> anyhow::Result<Box<dyn Database>> {
    match url.scheme {
        Scheme::Postgres => postgres::connect(url, false),
        Scheme::Mysql | Scheme::Mariadb => mysql::connect(url),
    }
}
