//! A call that waits for a row of another session.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;
use windrow::dialect::Dialect;

use super::installation::{Installation, Session};
use super::patience::until;

/// What a call answers that waits for a row of another session, which lets go of it after something else has happened.
pub(crate) fn meanwhile(
    database: &mut Installation,
    rival: &mut Session,
    routine: &'static str,
    options: Value,
    happens: impl FnOnce(&mut Installation, &mut Session),
) -> Value {
    let (runner, _, number) = database.call_aside(routine, options);
    until_waits(database, &runner, number);
    happens(database, rival);
    rival.execute("COMMIT").expect("it lets go");
    runner.join().expect("no panic").1.expect("an answer")
}

/// Waits until a call aside waits for a row of another session.
pub(crate) fn until_waits<T>(database: &mut Installation, runner: &JoinHandle<T>, number: i64) {
    let waits = match database.dialect {
        Dialect::Postgres => format!(
            "SELECT COUNT(*) FROM pg_stat_activity WHERE pid = {number} AND wait_event_type = 'Lock'"
        ),
        Dialect::Mysql | Dialect::Mariadb => format!(
            "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = {number} AND trx_state = 'LOCK WAIT'"
        ),
    };
    until("the batch waits for a row", || {
        // InnoDB tells anew what nobody has asked for in the last tenth of a second.
        thread::sleep(Duration::from_millis(150));
        assert!(!runner.is_finished(), "it did not wait");
        Ok(database.number(&waits) > 0)
    })
    .expect("it waits");
}
