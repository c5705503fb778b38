//! The real binary against throw-away MySQL and MariaDB servers. Each test has servers of its own: the spec names the
//! database.

mod findings;
mod first_day;
mod trouble;

use crate::support::systems::dolphinscheduler::mysql::{FAMILIES_VARIABLE, HISTORY_34, SCHEMA_34};
use windrow::db::{self, Database as Session};
use windrow::sandbox::mysql::{Flavour, Mysql, Settings};

use super::{Said, W, wait, windrow};

use crate::harness::tests;

tests! {
    within: [findings::tests, first_day::tests, trouble::tests],
}

/// A server with the tables of DolphinScheduler, and a session of the administrator.
pub(super) struct Server {
    server: Mysql,
    pub(super) url: String,
    session: Box<dyn Session>,
}

impl Server {
    /// The tables without rows and without windrow.
    pub(super) fn bare(flavour: Flavour) -> Server {
        Server::with(Settings {
            events: true,
            ..Settings::new(flavour)
        })
    }

    fn with(settings: Settings) -> Server {
        let server = Mysql::start(&settings).expect("a server starts");
        let url = server.url("", "root");
        let address = url.parse().expect("a sound address");
        let mut session = db::connect_as_application(&address).expect("the server accepts us");
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

    /// A history of 300 families with windrow installed and a policy for every project, not armed. No event starts a run beside
    /// the test's own, at whatever minute it comes by.
    fn history(flavour: Flavour) -> Server {
        let mut server = Server::bare(flavour);
        server.sql("SET GLOBAL event_scheduler = OFF");
        server.sql(&format!("SET {FAMILIES_VARIABLE} = 300"));
        server.sql(HISTORY_34);
        server.windrow("install SPEC --quiet").expect(0, &[]);
        for project in server.texts("SELECT code FROM t_ds_project") {
            server.sql(&format!(
                "CALL {W}.set_policy('{{\"scope\": \"{project}\"}}')"
            ));
        }
        server
    }

    /// From now on, every batch takes about half a second and has ten families.
    fn slow(&mut self) {
        self.sql(&format!("CALL {W}.arm()"));
        self.windrow("setting set SPEC batch_families 10")
            .expect(0, &[]);
        self.sql(
            "CREATE TRIGGER slow AFTER DELETE ON t_ds_workflow_instance FOR EACH ROW SET @slept = SLEEP(0.03)",
        );
    }

    /// Waits until the run in progress has committed two batches.
    fn wait_for_batches(&mut self) {
        let sql = format!(
            "SELECT COUNT(*) FROM {W}.run JOIN {W}.run_rule USING (run_id) WHERE status = 'running' AND batches >= 2"
        );
        wait("two batches", || self.number(&sql) > 0);
    }

    /// The first column.
    #[track_caller]
    fn texts(&mut self, sql: &str) -> Vec<String> {
        match self.session.query(sql, &[]) {
            Ok(rows) => rows
                .into_iter()
                .map(|row| row.into_iter().next().flatten().unwrap_or_default())
                .collect(),
            Err(error) => panic!("{sql}: {error:#}"),
        }
    }

    #[track_caller]
    fn text(&mut self, sql: &str) -> String {
        self.texts(sql).concat()
    }

    #[track_caller]
    fn number(&mut self, sql: &str) -> i64 {
        let text = self.text(sql);
        text.parse().unwrap_or_else(|_| panic!("{sql}: {text}"))
    }

    #[track_caller]
    pub(super) fn sql(&mut self, sql: &str) {
        if let Err(error) = self.session.execute(sql) {
            panic!("{sql}: {error:#}");
        }
    }

    /// A further session of the administrator.
    fn another(&self) -> Box<dyn Session> {
        let address = self.url.parse().expect("a sound address");
        db::connect_as_application(&address).expect("the server accepts us")
    }

    pub(super) fn windrow(&self, words: &str) -> Said {
        windrow(&self.url, words)
    }
}
