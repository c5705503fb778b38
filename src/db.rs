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

/// Opens a session.
pub fn connect(url: &Url) -> anyhow::Result<Box<dyn Database>> {
    match url.scheme {
        Scheme::Postgres => postgres::connect(url),
        Scheme::Mysql | Scheme::Mariadb => mysql::connect(url),
    }
}
