//! MySQL and MariaDB through the blocking driver; the only file that knows it. Both speak one protocol: which of the
//! two answers, the server says.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use mysql::consts::ColumnType;
use mysql::prelude::Queryable as _;
use mysql::{
    Column, Conn, DriverError, Error, MySqlError, Opts, OptsBuilder, Params, QueryResult, Value,
};

use super::cells::{number, text};
use super::csv;
use super::session::{Cancel, Database, Row, Server, not_written};
use super::tls;
use super::url::{Host, ServerKey, Url};
use crate::bundle::Statement;
use crate::catalog::Catalog;
use crate::dialect::Dialect;
use crate::failure::Failure;

mod open;
mod read;
mod rights;

/// Opens a session on the first server that answers.
pub(super) fn connect(url: &Url) -> anyhow::Result<Box<dyn Database>> {
    Ok(Box::new(open_first(url)?))
}

fn open_first(url: &Url) -> anyhow::Result<Mysql> {
    open::check_files(url)?;
    tls::choose_provider();
    let mut last = Failure::new(format!("`{url}` names no server"));
    for host in &url.hosts {
        match open::connect(url, host) {
            Ok((connection, opts)) => return Mysql::new(connection, opts),
            Err(error) => last = connect_failure(url, host, error),
        }
    }
    Err(last.into())
}

struct Mysql {
    connection: Conn,
    /// What another session needs that ends a statement of this one.
    opts: Opts,
    /// The server's number for this session.
    session: i64,
    /// Tells the server from others of the same name: behind a load balancer another session may be with another one.
    place: String,
    dialect: Dialect,
    notices: Vec<String>,
}

/// What tells a server from others, on MySQL and MariaDB.
const PLACE: &str = "CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir)";

impl Mysql {
    fn new(connection: Conn, opts: Opts) -> anyhow::Result<Mysql> {
        let mut session = Mysql {
            connection,
            opts,
            session: 0,
            place: String::new(),
            dialect: Dialect::Mysql,
            notices: Vec::new(),
        };
        // Instants, in options and in answers, are meant in UTC; and what one statement did is kept.
        session.execute("SET time_zone = '+00:00', autocommit = 1")?;
        session.execute("SET NAMES utf8mb4")?;
        session.notices.clear();
        let rows = session.query(
            &format!("SELECT CONNECTION_ID(), CONCAT(VERSION(), ' ', @@version_comment), {PLACE}"),
            &[],
        )?;
        let row = rows.into_iter().next().unwrap_or_default();
        session.session = number(&row, 0);
        session.place = text(&row, 2);
        if text(&row, 1).to_ascii_lowercase().contains("mariadb") {
            session.dialect = Dialect::Mariadb;
        }
        Ok(session)
    }

    /// What the last statement warned of. The next statement would make the server forget it.
    fn listen(&mut self) -> anyhow::Result<()> {
        if self.connection.warnings() == 0 {
            return Ok(());
        }
        for row in self.query("SHOW WARNINGS", &[])? {
            let code = number(&row, 1);
            // IF EXISTS and IF NOT EXISTS are answered by what was asked for; and that a word of the generated SQL has
            // a successor is no news to who installs it.
            let is_routine = text(&row, 0) == "Note" && ROUTINE_NOTES.contains(&code);
            if !is_routine && !NO_NEWS.contains(&code) {
                let notice = format!("{} ({})", text(&row, 2), code);
                self.notices.push(notice);
            }
        }
        Ok(())
    }
}

impl Database for Mysql {
    fn server(&mut self) -> anyhow::Result<Server> {
        let rows = self.query("SELECT VERSION()", &[])?;
        let version = text(&rows.into_iter().next().unwrap_or_default(), 0);
        let mut read_only = false;
        for row in self.query(
            "SHOW VARIABLES WHERE Variable_name IN
             ('read_only', 'super_read_only', 'innodb_read_only', 'transaction_read_only', 'tx_read_only')",
            &[],
        )? {
            read_only |= !["OFF", "0"].contains(&text(&row, 1).as_str());
        }
        // Who may not ask is not told; then `read_only` is what there is to know.
        let in_recovery = self
            .query("SHOW REPLICA STATUS", &[])
            .is_ok_and(|rows| !rows.is_empty());
        Ok(Server {
            dialect: self.dialect,
            version_num: version_num(&version),
            in_recovery,
            read_only,
        })
    }

    fn execute(&mut self, sql: &str) -> anyhow::Result<()> {
        let result = self.connection.query_iter(sql).map_err(statement_failure)?;
        first_rows(result)?;
        self.listen()
    }

    fn transaction(
        &mut self,
        statements: &[&Statement],
        done: &mut dyn FnMut(&Statement, Duration),
    ) -> anyhow::Result<()> {
        // A transaction around DDL would be a promise that the server breaks at the first CREATE.
        for (at, statement) in statements.iter().enumerate() {
            let start = Instant::now();
            self.execute(&statement.sql).map_err(|error| {
                let failure =
                    Failure::new(format!("cannot {}", statement.what)).caused_by(error);
                match at {
                    0 => failure,
                    _ => failure.detail(format!(
                        "the {at} statements before it are committed: this server commits each CREATE and DROP"
                    )),
                }
            })?;
            done(statement, start.elapsed());
        }
        Ok(())
    }

    fn query(&mut self, sql: &str, parameters: &[Option<&str>]) -> anyhow::Result<Vec<Row>> {
        // Without parameters in the text form: not every statement can be prepared.
        if parameters.is_empty() {
            let result = self.connection.query_iter(sql).map_err(statement_failure)?;
            return first_rows(result);
        }
        let values = parameters
            .iter()
            .map(|value| value.map_or(Value::NULL, Value::from))
            .collect();
        let result = self
            .connection
            .exec_iter(sql, Params::Positional(values))
            .map_err(statement_failure)?;
        first_rows(result)
    }

    fn export(
        &mut self,
        sql: &str,
        out: &mut dyn Write,
        passed: &mut dyn FnMut(u64),
    ) -> anyhow::Result<u64> {
        // Prepared, for the values as they are: as texts, floating-point numbers lose their last digits.
        let mut result = self
            .connection
            .exec_iter(sql, Params::Empty)
            .map_err(statement_failure)?;
        let columns = result.columns().as_ref().to_vec();
        let names: Vec<_> = columns.iter().map(Column::name_str).collect();
        csv::line(out, names.iter().map(|name| Some(name.as_ref()))).map_err(not_written)?;
        let mut count = 0;
        // The rows come from the server one by one.
        while let Some(rows) = result.iter() {
            for row in rows {
                let values = row.map_err(statement_failure)?.unwrap_raw();
                let cells: Vec<Option<String>> = values
                    .into_iter()
                    .zip(&columns)
                    .map(|(value, column)| exported(value?, column))
                    .collect();
                csv::line(out, cells.iter().map(Option::as_deref)).map_err(not_written)?;
                count += 1;
                passed(count);
            }
        }
        Ok(count)
    }

    fn catalog(&mut self, schema: &str) -> anyhow::Result<Catalog> {
        read::catalog(self, schema)
    }

    fn session(&mut self) -> anyhow::Result<i64> {
        Ok(self.session)
    }

    fn notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    fn cancel(&self) -> Cancel {
        // Who waits for this has pressed Ctrl-C: a server that does not answer is not waited for.
        let opts = OptsBuilder::from_opts(self.opts.clone())
            .db_name(None::<String>)
            .read_timeout(Some(CANCEL_TIMEOUT))
            .write_timeout(Some(CANCEL_TIMEOUT));
        let opts = Opts::from(opts);
        let kill = format!("KILL QUERY {}", self.session);
        let place = self.place.clone();
        Box::new(move || {
            // The next connection may reach the right one.
            for _ in 0..CANCEL_ATTEMPTS {
                let mut other = Conn::new(opts.clone()).map_err(statement_failure)?;
                let there: Option<String> = other
                    .query_first(format!("SELECT {PLACE}"))
                    .map_err(statement_failure)?;
                if there.as_deref() == Some(&*place) {
                    return Ok(other.query_drop(&kill).map_err(statement_failure)?);
                }
                // There, somebody else has this number.
                thread::sleep(CANCEL_PAUSE);
            }
            let name: Vec<&str> = place.split(' ').take(2).collect();
            Err(Failure::new(format!(
                "another server answers at this address; `{kill}` on {} ends it",
                name.join(":")
            ))
            .into())
        })
    }
}

/// A session on a replica of MySQL or MariaDB, which looks how far that has got, and writes nothing.
pub struct Replica(Mysql);

impl Replica {
    /// Opens a session that cannot write.
    pub fn connect(url: &Url) -> anyhow::Result<Replica> {
        let mut session = open_first(url)?;
        session.execute("SET SESSION TRANSACTION READ ONLY")?;
        Ok(Replica(session))
    }

    /// The replica status of every channel: the values that are not NULL, by the names of their columns in lower case. The columns
    /// differ from version to version.
    pub fn status(&mut self) -> anyhow::Result<Vec<BTreeMap<String, String>>> {
        let sql = match self.0.dialect {
            Dialect::Mariadb => "SHOW ALL SLAVES STATUS",
            Dialect::Mysql | Dialect::Postgres => "SHOW REPLICA STATUS",
        };
        let result = self
            .0
            .connection
            .query_iter(sql)
            .map_err(statement_failure)?;
        let mut channels = Vec::new();
        for row in result {
            let row = row.map_err(statement_failure)?;
            let columns = row.columns();
            let names = columns.iter().map(|it| it.name_str().to_ascii_lowercase());
            let cells = names.zip(row.unwrap_raw());
            let known = cells.filter_map(|(name, cell)| Some((name, plain(cell?)?)));
            channels.push(known.collect());
        }
        Ok(channels)
    }

    /// The only value of a query, if it has one that is not NULL.
    pub fn value(&mut self, sql: &str) -> anyhow::Result<Option<String>> {
        let rows = self.0.query(sql, &[])?;
        Ok(rows.into_iter().flatten().next().flatten())
    }
}

const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// How often the server of a session is looked for behind its address.
const CANCEL_ATTEMPTS: u32 = 10;
const CANCEL_PAUSE: Duration = Duration::from_millis(100);

/// Notes that say no more than that something was, or was not, there.
const ROUTINE_NOTES: [i64; 18] = [
    1007, 1008, 1050, 1051, 1060, 1061, 1091, 1304, 1305, 1360, 1537, 1539, 1973, 1975, 1976, 3162,
    3163, 4164,
];

/// Warnings that a later version of the server may do without something, and that a role which is there already, and
/// was asked for IF NOT EXISTS, has routines.
const NO_NEWS: [i64; 3] = [1287, 1681, 4005];

/// The rows of the first result set, once all of them ended well: a procedure may fail after it answered.
fn first_rows<T: mysql::prelude::Protocol>(
    mut result: QueryResult<'_, '_, '_, T>,
) -> anyhow::Result<Vec<Row>> {
    let mut answer = Vec::new();
    let mut at = 0;
    while let Some(set) = result.iter() {
        for row in set {
            let row = row.map_err(statement_failure)?;
            if at == 0 {
                answer.push(
                    row.unwrap_raw()
                        .into_iter()
                        .map(|cell| cell.and_then(plain))
                        .collect(),
                );
            }
        }
        at += 1;
    }
    Ok(answer)
}

/// A value of a column as an export has it.
fn exported(value: Value, column: &Column) -> Option<String> {
    /// The number of the collation of what is no text.
    const BINARY: u16 = 63;
    let is_binary = column.character_set() == BINARY;
    match (value, column.column_type()) {
        (Value::Bytes(bytes), ColumnType::MYSQL_TYPE_BIT | ColumnType::MYSQL_TYPE_GEOMETRY) => {
            Some(csv::hex(&bytes))
        }
        (
            Value::Bytes(bytes),
            ColumnType::MYSQL_TYPE_STRING
            | ColumnType::MYSQL_TYPE_VAR_STRING
            | ColumnType::MYSQL_TYPE_VARCHAR
            | ColumnType::MYSQL_TYPE_TINY_BLOB
            | ColumnType::MYSQL_TYPE_BLOB
            | ColumnType::MYSQL_TYPE_MEDIUM_BLOB
            | ColumnType::MYSQL_TYPE_LONG_BLOB,
        ) if is_binary => Some(csv::hex(&bytes)),
        (Value::Date(year, month, day, ..), ColumnType::MYSQL_TYPE_DATE) => {
            Some(format!("{year:04}-{month:02}-{day:02}"))
        }
        (value, _) => plain(value),
    }
}

/// A value as text.
fn plain(value: Value) -> Option<String> {
    Some(match value {
        Value::NULL => return None,
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Date(year, month, day, hour, minute, second, micros) => {
            let fraction = if micros == 0 {
                String::new()
            } else {
                format!(".{micros:06}")
            };
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{fraction}")
        }
        Value::Time(negative, days, hours, minutes, seconds, micros) => {
            let sign = if negative { "-" } else { "" };
            let hours = days * 24 + u32::from(hours);
            format!("{sign}{hours:02}:{minutes:02}:{seconds:02}.{micros:06}")
        }
    })
}

/// `10.11.19-MariaDB-0+deb12u1` is 101119.
fn version_num(version: &str) -> u32 {
    version
        .split(|c: char| !c.is_ascii_digit())
        .take(3)
        .map(|part| part.parse::<u32>().unwrap_or_default().min(99))
        .fold(0, |number, part| number * 100 + part)
}

fn connect_failure(url: &Url, host: &Host, error: Error) -> Failure {
    let failure = url.notes().iter().fold(
        Failure::new(format!("cannot connect to `{url}`")),
        |failure, note| failure.detail(note),
    );
    let is_tls = open::tls_words(&error).is_some();
    let cause = cause(&error);
    match error {
        Error::MySqlError(server) => failure.caused_by(server_failure(&server, LOGIN)),
        Error::TlsError(_) => failure.caused_by(Failure::new(cause)).hint(TLS),
        _ if is_tls => failure.caused_by(Failure::new(cause)).hint(TLS),
        Error::DriverError(DriverError::TlsNotSupported) => failure
            .caused_by(Failure::new("the server has no TLS"))
            .hint("install a certificate on it, or use `ssl-mode=PREFERRED`, or a socket"),
        Error::IoError(ref io)
            if url.server_key == ServerKey::Refused
                && !host.is_socket()
                && io.kind() == io::ErrorKind::NotADirectory =>
        {
            failure
                .caused_by(Failure::new(
                    "the server asks for the password in clear text (caching_sha2_password), and the connection is not encrypted",
                ))
                .hint("use `ssl-mode=REQUIRED` or a socket; otherwise give the server's public key with \
                     `server-public-key-path`, or trust the network with `get-server-public-key=true`")
        }
        Error::DriverError(DriverError::UnknownAuthPlugin(ref name)) => failure
            .caused_by(Failure::new(format!(
                "the account uses the authentication plugin `{name}`, which windrow does not support"
            )))
            .hint("use an account with `caching_sha2_password`, `mysql_native_password`, `ed25519` or `parsec`"),
        _ if host.is_socket() => failure
            .caused_by(Failure::new(cause))
            .hint("check the path of the socket, and that the server is running"),
        _ => failure
            .caused_by(Failure::new(cause))
            .hint("check host, port and network, and that the server is running"),
    }
}

fn statement_failure(error: Error) -> Failure {
    let cause = cause(&error);
    match error {
        Error::MySqlError(server) if server.code == SIGNALLED => signalled(server),
        Error::MySqlError(server) => server_failure(&server, ROLE),
        Error::IoError(_) | Error::CodecError(_) => Failure::new("the connection was lost")
            .caused_by(Failure::new(cause))
            .hint(LOST),
        _ => Failure::new(cause),
    }
}

/// What the server says. To be denied access (1698) has one meaning at the login and another in a statement.
fn server_failure(server: &MySqlError, denied: &'static str) -> Failure {
    let failure = Failure::new(server.message.as_str())
        .sqlstate(server.state.as_str())
        .errno(server.code);
    match server.code {
        1698 => failure.hint(denied),
        code => match hint(code, &server.message) {
            Some(hint) => failure.hint(hint),
            None => failure,
        },
    }
}

const TLS: &str = "check `ssl-mode` and `ssl-ca`: `REQUIRED` requires only TLS, `VERIFY_IDENTITY` also a trusted certificate \
                   of this host; `ssl-cert` and `ssl-key` name the client's own certificate";

const LOGIN: &str = "check user, password, and the hosts from which the account may connect; the password may come from \
     MYSQL_PWD or --password-file";

/// MariaDB alone says so in a statement.
const ROLE: &str = "only the account that created a role may grant it: install with that account, or let it `GRANT … TO … \
     WITH ADMIN OPTION`; see `mysql.roles_mapping`";

/// What a routine of ours says: the message, and behind a semicolon the hint, which has no field of its own here. The
/// server takes no more than 128 characters.
fn signalled(server: MySqlError) -> Failure {
    let is_cut = server.message.chars().count() >= 128;
    let (message, said) = match server.message.split_once("; ") {
        Some((message, hint)) => (message, Some(hint)),
        None => (server.message.as_str(), None),
    };
    let failure = Failure::new(message)
        .sqlstate(server.state)
        .errno(server.code);
    match said {
        _ if message.starts_with("not armed") => failure
            .hint("`windrow preview` shows what would be deleted, and `windrow arm` allows runs to delete"),
        Some(hint) if is_cut => failure.hint(format!("{hint}…")),
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// ER_SIGNAL_EXCEPTION.
const SIGNALLED: u16 = 1644;

/// The driver's words without the names of its types.
fn cause(error: &Error) -> String {
    if let Some(words) = open::tls_words(error) {
        return words;
    }
    match error {
        Error::IoError(error) => error.to_string(),
        Error::CodecError(error) => error.to_string(),
        Error::MySqlError(error) => error.message.clone(),
        Error::DriverError(DriverError::CouldNotConnect(Some((_, reason, _)))) => reason.clone(),
        Error::DriverError(error) => error.to_string(),
        Error::TlsError(error) => error.to_string(),
        other => other.to_string(),
    }
}

const LOST: &str = "what was committed is kept, and the next run continues where this one stopped";

/// What mends an error, by its number.
fn hint(number: u16, message: &str) -> Option<&'static str> {
    let about_control = message.contains("windrow_");
    Some(match number {
        1044 | 1142 | 1143 | 1227 | 1370 | 1410 => {
            "connect with the operator role (to run), the auditor role (to read), or as the owner (to install); \
             `50_grants.sql` names them; a role is active only if it is a default role or was set with SET ROLE"
        }
        1045 => LOGIN,
        1449 => {
            "the account or role whose rights a routine has no longer exists: if it is windrow's owner role, `windrow \
             install` creates it again"
        }
        1109 | 1146 | 1305 | 1049 if about_control => "run `windrow install` first",
        1049 => {
            "check the last part of the address, which may also be left out, and `database` in the spec"
        }
        1040 | 1203 => "the server has no connection left: close some, or raise `max_connections`",
        1129 | 1130 => {
            "the server does not take connections from this host: see the host part of the account, or `FLUSH HOSTS`"
        }
        1205 => {
            "another session holds a conflicting lock: try again, or see `information_schema.INNODB_TRX`"
        }
        1213 | 1020 => "another session was in the way (deadlock or lock): try again",
        1290 | 1792 | 1836 | 3100
            if message.contains("read-only")
                || message.contains("READ ONLY")
                || message.contains("read only") =>
        {
            "this is a replica or a read-only server: connect to the primary"
        }
        1418 | 1419 => {
            "the binary log is on, and this account may not create routines or triggers: install as an administrator, or set \
             `log_bin_trust_function_creators`"
        }
        1568 => {
            "a procedure that commits must not run inside a transaction: COMMIT first, or connect without a pooler or wrapper that opens one"
        }
        1665 | 1668 | 3748 => {
            "the binary log format is STATEMENT, which does not support this: set `binlog_format` to ROW or MIXED"
        }
        1969 | 3024 => {
            "the server's own limit ended the statement: see `max_execution_time` (MySQL) or `max_statement_time` (MariaDB)"
        }
        1317 | 1028 => {
            "someone cancelled the statement: what was committed is kept, nothing is half done, and the next call continues"
        }
        1053 | 1077 | 1079 => {
            "the server is shutting down: try again when it is up; what was committed is kept"
        }
        1152 | 1158 | 1159 | 1160 | 1161 | 1184 | 1927 | 2006 | 2013 | 3169 | 4031 => LOST,
        1153 => "the statement is bigger than `max_allowed_packet` of the server: raise it",
        1021 | 1114 => {
            "the server's disk or tablespace is full: free some space; nothing is lost, and the next run continues"
        }
        1251 | 1524 | 2059 => {
            "server and client have no common authentication method for this account: use `caching_sha2_password` (MySQL), \
             or `mysql_native_password` or `ed25519` (MariaDB)"
        }
        1820 | 1862 => "the account's password has expired: set a new one",
        3118 | 4151 => "the account is locked: an administrator can unlock it",
        3159 => {
            "the server accepts this account over TLS only: use `ssl-mode=REQUIRED`, or better `ssl-mode=VERIFY_IDENTITY`"
        }
        1267 => {
            "two columns with different collations are compared: `windrow check --database` names them"
        }
        1273 => "the server is too old: MySQL 8.0 or MariaDB 10.6 is needed",
        1577 | 1589 => {
            "the event scheduler cannot be used: its tables are damaged or the server was started without it"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        let versions = [
            "10.11.19-MariaDB-0+deb12u1-log",
            "9.7.4-2",
            "8.0.36",
            "11.8.6",
        ];
        assert_eq!(
            versions.map(version_num),
            [101_119, 90_704, 80_036, 110_806]
        );
    }

    #[test]
    fn what_is_missing_in_the_control_database_wants_an_install() {
        let install = Some("run `windrow install` first");
        assert_eq!(
            hint(1305, "PROCEDURE windrow_x.preview does not exist"),
            install
        );
        assert_eq!(hint(1146, "Table 'windrow_x.run' doesn't exist"), install);
        assert_eq!(hint(1146, "Table 'app.t_ds_alert' doesn't exist"), None);
        assert_eq!(hint(2013, ""), Some(LOST));
        let other = "running with the --secure-file-priv option";
        assert_eq!(hint(1290, other), None);
    }

    #[test]
    fn what_a_routine_says_has_a_hint_behind_its_semicolon() {
        let said = |message: &str| {
            signalled(MySqlError {
                state: "22023".to_owned(),
                message: message.to_owned(),
                code: SIGNALLED,
            })
        };
        let failure = said("not an option: x; the options are: rule, key");
        assert_eq!(failure.to_string(), "not an option: x (SQLSTATE 22023)");
        assert_eq!(failure.hints(), ["the options are: rule, key"]);
        assert!(said("no").hints().is_empty());
        let long = format!("no; {}", "x".repeat(124));
        assert!(said(&long).hints()[0].ends_with("x…"));
    }

    #[test]
    fn values_are_told_as_the_server_prints_them() {
        let told = [
            Value::NULL,
            Value::from("a"),
            Value::Int(-1),
            Value::Date(2026, 11, 21, 8, 0, 0, 1),
            Value::Date(2026, 11, 21, 0, 0, 0, 0),
        ]
        .map(plain);
        let expected = [
            None,
            Some("a"),
            Some("-1"),
            Some("2026-11-21 08:00:00.000001"),
            Some("2026-11-21 00:00:00"),
        ]
        .map(|text| text.map(str::to_owned));
        assert_eq!(told, expected);
    }
}
