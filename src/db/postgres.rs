//! PostgreSQL through the blocking driver; the only file that knows the driver.

use std::env;
use std::error::Error as _;
use std::fs;
use std::io::{self, BufRead as _, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use postgres::config::{SslMode as DriverSslMode, TargetSessionAttrs};
use postgres::error::SqlState;
use postgres::types::{FromSql, Type};
use postgres::{Client, Config, NoTls};

use super::cells::{number, text};
use super::csv::Lines;
use super::session::{Cancel, Database, Row, Server, not_written};
use super::tls::{self, Authority, Connector, Terms};
use super::url::{Host, SslMode, Url};
use crate::bundle::Statement;
use crate::catalog::Catalog;
use crate::dialect::Dialect;
use crate::failure::Failure;

mod read;

/// Opens a session on the first server that answers.
pub(super) fn connect(url: &Url, own_path: bool) -> anyhow::Result<Box<dyn Database>> {
    // To set TLS up takes a tenth of a second: the authorities of the system are read.
    let is_local = url.hosts.iter().all(Host::is_socket);
    let tls = (!is_local && url.ssl_mode != SslMode::Disable)
        .then(|| tls(url))
        .transpose()?;
    let mut last = Failure::new(format!("`{url}` names no server"));
    for host in &url.hosts {
        let tls = tls.clone().filter(|_| !host.is_socket());
        match Postgres::open(url, host, tls) {
            Ok(mut session) => {
                if own_path {
                    session.keep_to_own_path()?;
                }
                return Ok(Box::new(session));
            }
            Err(error) => last = connect_failure(url, error),
        }
    }
    Err(last.into())
}

/// Where a session of the program looks. With another path, a function or an operator that somebody made elsewhere may fit the arguments of
/// a query better than the server's own one, and would run with the rights of who asks.
const OWN_PATH: &str = "SET search_path = pg_catalog, pg_temp";

/// Whether a statement, as the end of each file, goes back to the path of the user.
fn resets_path(sql: &str) -> bool {
    let sql = sql.trim_end().trim_end_matches(';');
    sql.ends_with("RESET search_path")
}

type Notices = Arc<Mutex<Vec<String>>>;

struct Postgres {
    notices: Notices,
    client: Client,
    /// Whether it looks for what a statement names in `pg_catalog` alone.
    own_path: bool,
    /// None where the session goes without.
    tls: Option<Connector>,
}

impl Postgres {
    fn open(url: &Url, host: &Host, tls: Option<Connector>) -> Result<Postgres, postgres::Error> {
        let notices = Notices::default();
        let mut config = config(url, host);
        let heard = Arc::clone(&notices);
        config.notice_callback(move |notice| {
            // IF EXISTS, IF NOT EXISTS, CASCADE and a repeated GRANT are answered by what was asked for.
            let is_routine = notice.message().ends_with(", skipping")
                || notice.message().starts_with("drop cascades to ")
                || *notice.code() == SqlState::DUPLICATE_OBJECT
                || notice.message().contains(" is already a member of role ")
                || notice
                    .message()
                    .contains(" has already been granted membership in role ");
            if !is_routine && ["NOTICE", "WARNING"].contains(&notice.severity()) {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                heard.push(notice.message().to_owned());
            }
        });
        let mut open = |mode: DriverSslMode| match &tls {
            Some(tls) => config.ssl_mode(mode).connect(tls.clone()),
            None => config.ssl_mode(DriverSslMode::Disable).connect(NoTls),
        };
        let mut client = match url.ssl_mode {
            SslMode::Disable | SslMode::Allow => open(DriverSslMode::Disable),
            SslMode::Prefer => open(DriverSslMode::Prefer),
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
                open(DriverSslMode::Require)
            }
        };
        // Like libpq: what prefers TLS, or only allows it, takes the other way where the first, or a login by it, does not work.
        if tls.is_some()
            && let Err(error) = &client
        {
            match url.ssl_mode {
                SslMode::Prefer if is_worth_the_other_way(error) => {
                    client = open(DriverSslMode::Disable);
                }
                SslMode::Allow if is_worth_the_other_way(error) => {
                    client = open(DriverSslMode::Require);
                }
                _ => {}
            }
        }
        let mut client = client?;
        // Instants without a zone, in options and in answers, are meant in UTC. To compile a query of the catalog takes longer
        // than to answer it.
        client.batch_execute(
            "SET TIME ZONE 'UTC'; SET jit = off; SET quote_all_identifiers = off; \
                 SET default_transaction_isolation = 'read committed'",
        )?;
        Ok(Postgres {
            client,
            own_path: false,
            tls,
            notices,
        })
    }

    fn keep_to_own_path(&mut self) -> anyhow::Result<()> {
        self.own_path = true;
        Ok(self
            .client
            .batch_execute(OWN_PATH)
            .map_err(statement_failure)?)
    }
}

impl Database for Postgres {
    fn server(&mut self) -> anyhow::Result<Server> {
        let rows = self.query(
            "SELECT current_setting('server_version_num'), pg_is_in_recovery(), current_setting('transaction_read_only')",
            &[],
        )?;
        let row = rows.into_iter().next().unwrap_or_default();
        Ok(Server {
            dialect: Dialect::Postgres,
            version_num: number(&row, 0) as u32,
            in_recovery: read::truth(&row, 1),
            read_only: text(&row, 2) == "on",
        })
    }

    fn execute(&mut self, sql: &str) -> anyhow::Result<()> {
        self.client.batch_execute(sql).map_err(statement_failure)?;
        match self.own_path && resets_path(sql) {
            true => self.keep_to_own_path(),
            false => Ok(()),
        }
    }

    fn transaction(
        &mut self,
        statements: &[&Statement],
        done: &mut dyn FnMut(&Statement, Duration),
    ) -> anyhow::Result<()> {
        // A transaction that is dropped without a commit is rolled back.
        let mut transaction = self.client.transaction().map_err(statement_failure)?;
        for statement in statements {
            let start = Instant::now();
            transaction.batch_execute(&statement.sql).map_err(|error| {
                Failure::new(format!("cannot {}", statement.what))
                    .caused_by(statement_failure(error))
            })?;
            done(statement, start.elapsed());
        }
        if self.own_path && statements.iter().any(|it| resets_path(&it.sql)) {
            transaction
                .batch_execute(OWN_PATH)
                .map_err(statement_failure)?;
        }
        Ok(transaction.commit().map_err(statement_failure)?)
    }

    fn query(&mut self, sql: &str, parameters: &[Option<&str>]) -> anyhow::Result<Vec<Row>> {
        let parameters: Vec<_> = parameters
            .iter()
            .map(|value| (value as &(dyn postgres::types::ToSql + Sync), Type::TEXT))
            .collect();
        let rows = self
            .client
            .query_typed(sql, &parameters)
            .map_err(statement_failure)?;
        let mut answer = Vec::with_capacity(rows.len());
        for row in rows {
            let mut values = Row::with_capacity(row.len());
            for at in 0..row.len() {
                values.push(
                    row.try_get::<_, Option<Text>>(at)
                        .map_err(statement_failure)?
                        .map(|text| text.0),
                );
            }
            answer.push(values);
        }
        Ok(answer)
    }

    fn export(
        &mut self,
        sql: &str,
        out: &mut dyn Write,
        passed: &mut dyn FnMut(u64),
    ) -> anyhow::Result<u64> {
        self.client
            .batch_execute(
                "SET bytea_output = 'hex'; SET datestyle = 'ISO'; SET extra_float_digits = 1",
            )
            .map_err(statement_failure)?;
        let sql = format!("COPY ({sql}) TO STDOUT (FORMAT csv, HEADER)");
        let mut reader = self.client.copy_out(&sql).map_err(statement_failure)?;
        let mut lines = Lines::default();
        loop {
            let piece = reader.fill_buf().map_err(copy_failure)?;
            if piece.is_empty() {
                return Ok(lines.rows());
            }
            out.write_all(piece).map_err(not_written)?;
            lines.pass(piece);
            passed(lines.rows());
            let length = piece.len();
            reader.consume(length);
        }
    }

    fn catalog(&mut self, schema: &str) -> anyhow::Result<Catalog> {
        read::catalog(self, schema)
    }

    fn session(&mut self) -> anyhow::Result<i64> {
        let rows = self.query("SELECT pg_backend_pid()", &[])?;
        Ok(number(&rows.into_iter().next().unwrap_or_default(), 0))
    }

    fn notices(&mut self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn cancel(&self) -> Cancel {
        let token = self.client.cancel_token();
        let tls = self.tls.clone();
        Box::new(move || {
            let cancelled = match &tls {
                Some(tls) => token.cancel_query(tls.clone()),
                None => token.cancel_query(NoTls),
            };
            Ok(cancelled.map_err(statement_failure)?)
        })
    }
}

/// A value of the common types as text; what is of another type must be cast in the query.
struct Text(String);

impl<'a> FromSql<'a> for Text {
    fn from_sql(
        kind: &Type,
        raw: &'a [u8],
    ) -> Result<Text, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Text(match *kind {
            Type::BOOL => bool::from_sql(kind, raw)?.to_string(),
            Type::INT2 => i16::from_sql(kind, raw)?.to_string(),
            Type::INT4 => i32::from_sql(kind, raw)?.to_string(),
            Type::INT8 => i64::from_sql(kind, raw)?.to_string(),
            Type::OID => u32::from_sql(kind, raw)?.to_string(),
            Type::FLOAT4 => f32::from_sql(kind, raw)?.to_string(),
            Type::FLOAT8 => f64::from_sql(kind, raw)?.to_string(),
            // The binary form of jsonb is a version byte and the text.
            Type::JSONB => String::from_utf8(raw.get(1..).unwrap_or_default().to_vec())?,
            _ => String::from_utf8(raw.to_vec())?,
        }))
    }

    fn accepts(kind: &Type) -> bool {
        [
            Type::BOOL,
            Type::INT2,
            Type::INT4,
            Type::INT8,
            Type::OID,
            Type::FLOAT4,
            Type::FLOAT8,
        ]
        .contains(kind)
            || [
                Type::TEXT,
                Type::VARCHAR,
                Type::BPCHAR,
                Type::NAME,
                Type::CHAR,
                Type::UNKNOWN,
            ]
            .contains(kind)
            || [Type::JSON, Type::JSONB].contains(kind)
    }
}

fn config(url: &Url, host: &Host) -> Config {
    let mut config = Config::new();
    config
        .host(&host.name)
        .port(host.port)
        .user(&url.user)
        .dbname(&url.database)
        .application_name(&url.application_name)
        .connect_timeout(url.connect_timeout)
        // A session may be silent for as long as a run takes: a firewall must not forget it.
        .keepalives_idle(Duration::from_secs(60));
    if let Some(password) = url.password_for(host) {
        config.password(password);
    }
    if let Some(options) = &url.options {
        config.options(options);
    }
    if url.read_write {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    config
}

/// What TLS has to prove, and to show. As with libpq, `require` with a file of authorities is as good as `verify-ca`.
fn tls(url: &Url) -> anyhow::Result<Connector> {
    let is_system = url.ssl_root_cert.as_deref() == Some(Path::new("system"));
    let file = url
        .ssl_root_cert
        .clone()
        .filter(|_| !is_system)
        .or_else(|| own_file("root.crt").filter(|_| !is_system));
    let authority = match (url.ssl_mode, &file) {
        (SslMode::Disable | SslMode::Allow | SslMode::Prefer, _) => Authority::Unasked,
        (SslMode::Require, None) => Authority::Unasked,
        (SslMode::VerifyFull, None) => Authority::System,
        (SslMode::VerifyCa, None) => {
            return Err(Failure::new("`sslmode=verify-ca` needs the certificate of the certificate authority")
                .hint("add `sslrootcert=/path/to/ca.pem`, or use `sslmode=verify-full` with the authorities of the system")
                .into());
        }
        (SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull, Some(file)) => {
            Authority::File(file)
        }
    };
    let certificate = url.ssl_cert.clone().or_else(|| own_file("postgresql.crt"));
    let key = url.ssl_key.clone().or_else(|| own_file("postgresql.key"));
    let identity = match (&certificate, &key) {
        (None, _) => None,
        (Some(certificate), Some(key)) => {
            check_mode(key)?;
            Some((certificate.as_path(), key.as_path()))
        }
        (Some(certificate), None) => {
            return Err(Failure::new(format!(
                "the client's certificate `{}` has no key",
                certificate.display()
            ))
            .hint("add `sslkey=/path/to/client.key`")
            .into());
        }
    };
    Connector::new(&Terms {
        authority,
        host: url.ssl_mode == SslMode::VerifyFull,
        identity,
    })
}

/// A file that libpq takes unasked, if it is there.
fn own_file(name: &str) -> Option<PathBuf> {
    let file = PathBuf::from(env::var_os("HOME")?)
        .join(".postgresql")
        .join(name);
    file.exists().then_some(file)
}

/// Like libpq: a key that others may read is none. One of root's own may be readable for a group.
fn check_mode(key: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot read the key `{}`", key.display());
    let meta = fs::metadata(key).map_err(|error| Failure::new(cannot()).caused_by(error))?;
    let forbidden = if meta.uid() == 0 { 0o037 } else { 0o077 };
    if meta.mode() & forbidden == 0 {
        return Ok(());
    }
    Err(Failure::new(cannot())
        .caused_by(Failure::new("users other than its owner may read it"))
        .hint(format!("`chmod 0600 {}`", key.display()))
        .into())
}

fn is_worth_the_other_way(error: &postgres::Error) -> bool {
    error
        .source()
        .is_some_and(|source| tls::words(source).is_some())
        || error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
}

fn connect_failure(url: &Url, error: postgres::Error) -> Failure {
    let failure = url.notes().iter().fold(
        Failure::new(format!("cannot connect to `{url}`")),
        |failure, note| failure.detail(note),
    );
    if error.as_db_error().is_some() {
        return failure.caused_by(statement_failure(error));
    }
    let is_tls = error
        .source()
        .is_some_and(|source| tls::words(source).is_some());
    let cause = cause(&error);
    if is_tls || cause.contains("TLS") {
        return failure.caused_by(Failure::new(cause)).hint(
            "check `sslmode` and `sslrootcert`: `require` requires only TLS, `verify-full` also a trusted certificate of \
             this host; `sslcert` and `sslkey` name the client's own certificate",
        );
    }
    let failure = failure.caused_by(Failure::new(cause.clone()));
    if cause.contains("password missing") {
        return failure.hint(
            "give the password in PGPASSWORD, with --password-file, in the address or in `.pgpass`",
        );
    }
    failure.hint("check host, port and network, and that the server is running")
}

/// What the server says in the middle of a COPY.
fn copy_failure(error: io::Error) -> Failure {
    match error
        .into_inner()
        .map(|inner| inner.downcast::<postgres::Error>())
    {
        Some(Ok(error)) => statement_failure(*error),
        Some(Err(other)) => Failure::new(other.to_string()),
        None => Failure::new("the connection was lost"),
    }
}

fn statement_failure(error: postgres::Error) -> Failure {
    let Some(server) = error.as_db_error() else {
        let failure = Failure::new(cause(&error));
        let is_broken = error.is_closed()
            || error
                .source()
                .is_some_and(|source| source.is::<std::io::Error>());
        return if is_broken {
            Failure::new("the connection was lost")
                .caused_by(failure)
                .hint(LOST)
        } else {
            failure
        };
    };
    let code = server.code().code();
    let mut failure = Failure::new(server.message()).sqlstate(code);
    for detail in server.detail().into_iter().flat_map(str::lines) {
        failure = failure.detail(detail);
    }
    if let Some(place) = server.where_().and_then(|place| place.lines().next()) {
        failure = failure.detail(format!("at {place}"));
    }
    if let Some(hint) = server.hint() {
        failure = failure.hint(hint);
    }
    match hint(code, server.message()) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

const LOST: &str = "what was committed is kept, and the next run continues where this one stopped";

/// What mends an error, by its SQLSTATE.
fn hint(code: &str, message: &str) -> Option<&'static str> {
    let about_control = message.contains("windrow_");
    Some(match code {
        "42501" => {
            "connect as a member of the operator role (to run), of the auditor role (to read), or as the owner (to install); \
             `50_grants.sql` names them"
        }
        "25006" => {
            "this is a standby or a read-only session: connect to the primary, or unset `default_transaction_read_only`"
        }
        "3F000" | "42P01" | "42883" if about_control => "run `windrow install` first",
        "53100" => {
            "the server's disk is full: free some space; nothing is lost, and the next run continues"
        }
        "53300" | "53400" => {
            "the server has no connection left: close some, or raise `max_connections`"
        }
        "57P01" => {
            "an administrator ended the session, or the server is shutting down: what was committed is kept, and the next run continues"
        }
        "57P02" | "57P03" => {
            "the server is shutting down or starting: try again when it is up; what was committed is kept"
        }
        "28000" if message.contains("no encryption") => {
            "the server may accept this user over TLS only: use `sslmode=require`, or better `sslmode=verify-full`; \
             otherwise see `pg_hba.conf`"
        }
        "28P01" | "28000" => {
            "check user, password and `pg_hba.conf`; the password may come from PGPASSWORD or --password-file"
        }
        "3D000" => "check the last part of the address: `postgres://user@host/DATABASE`",
        "0A000" => {
            "the server does not support this: PostgreSQL 14 or later is needed, and no pooler in transaction mode"
        }
        "25001" | "2D000" => {
            "a procedure that commits must not run inside a transaction: connect without a pooler or wrapper that opens one"
        }
        "26000" | "42P05" => {
            "a pooler in transaction mode is between windrow and the server: connect to the server directly"
        }
        "55P03" => "another session holds a conflicting lock: try again, or see `pg_locks`",
        code if code.starts_with("08") => LOST,
        _ => return None,
    })
}

/// The innermost reason of a driver's error; the outer words only say that there was an error.
fn cause(error: &postgres::Error) -> String {
    let mut reason = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        // It alone says what is wrong with a certificate.
        if let Some(words) = tls::words(inner) {
            return words;
        }
        reason = inner.to_string();
        source = inner.source();
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_in_the_control_schema_wants_an_install() {
        let missing = "function windrow_x.preview(jsonb) does not exist";
        assert_eq!(hint("42883", missing), Some("run `windrow install` first"));
        assert_eq!(
            hint("42P01", "relation \"t_ds_alert\" does not exist"),
            None
        );
        assert_eq!(hint("08006", ""), Some(LOST));
    }

    #[test]
    fn only_a_checked_certificate_needs_an_authority() {
        let url = |text: &str| {
            text.parse::<Url>()
                .unwrap_or_else(|error| panic!("{error}"))
        };
        assert!(tls(&url("postgres://db/x?sslmode=require")).is_ok());
        assert!(tls(&url("postgres://db/x?sslmode=verify-full")).is_ok());
        assert!(
            tls(&url(
                "postgres://db/x?sslmode=verify-ca&sslrootcert=/nowhere"
            ))
            .is_err()
        );
    }
}
