//! The real binary against throw-away MySQL and MariaDB servers. Each test has servers of its own: the spec names the
//! database.

mod findings;

use windrow::db::{self, Database as Session};
use windrow::demo::dolphinscheduler::mysql::SCHEMA_34;
use windrow::sandbox::mysql::{Flavour, Mysql, Settings};

use super::{Said, windrow};

/// A server with the tables of DolphinScheduler, and a session of the administrator.
struct Server {
    server: Mysql,
    url: String,
    session: Box<dyn Session>,
}

impl Server {
    /// The tables without rows and without windrow.
    fn bare(flavour: Flavour) -> Server {
        Server::with(Settings {
            events: true,
            ..Settings::new(flavour)
        })
    }

    fn with(settings: Settings) -> Server {
        let server = Mysql::start(&settings).expect("a server starts");
        let url = server.url("", "root");
        let address = url.parse().expect("a sound address");
        let mut session = db::connect(&address).expect("the server accepts us");
        session
            .execute("CREATE DATABASE dolphinscheduler; USE dolphinscheduler")
            .expect("a database is created");
        session.execute(SCHEMA_34).expect("the schema loads");
        Server {
            server,
            url,
            session,
        }
    }

    #[track_caller]
    fn sql(&mut self, sql: &str) {
        if let Err(error) = self.session.execute(sql) {
            panic!("{sql}: {error:#}");
        }
    }

    fn windrow(&self, words: &str) -> Said {
        windrow(&self.url, words)
    }
}
