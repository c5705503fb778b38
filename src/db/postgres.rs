//! PostgreSQL through the blocking driver; the only file that knows the driver and the TLS library.

use std::env;
use std::error::Error as _;
use std::fs;
use std::io::{self, BufRead as _, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use native_tls::{Certificate, TlsConnector};
use postgres::config::{SslMode as DriverSslMode, TargetSessionAttrs};
use postgres::error::SqlState;
use postgres::types::{FromSql, Type};
use postgres::{Client, Config, NoTls};
use postgres_native_tls::MakeTlsConnector;

use super::cells::{number, text};
use super::csv::Lines;
use super::session::{Cancel, Database, Row, Server, not_written};
use super::url::{SslMode, Url};
use crate::bundle::Statement;
use crate::catalog::Catalog;
use crate::dialect::Dialect;
use crate::failure::Failure;

mod read;

/// Opens a session.
pub(super) fn connect(url: &Url) -> anyhow::Result<Box<dyn Database>> {
    // To set TLS up takes a tenth of a second: the authorities of the system are read.
    let tls = (ssl_mode(url) != DriverSslMode::Disable)
        .then(|| tls(url))
        .transpose()?;
    let notices = Notices::default();
    let mut config = config(url);
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
    let open = |config: &Config| match &tls {
        Some(tls) => config.connect(tls.clone()),
        None => config.connect(NoTls),
    };
    let mut client = open(&config);
    // Like libpq: what only prefers TLS does without where TLS, or a login over it, does not work.
    if url.ssl_mode == SslMode::Prefer
        && let Err(error) = &client
        && is_worth_plain_text(error)
    {
        client = open(config.ssl_mode(DriverSslMode::Disable));
    }
    let mut client = client.map_err(|error| connect_failure(url, error))?;
    // Instants without a zone, in options and in answers, are meant in UTC. To compile a query of the catalog takes longer
    // than to answer it.
    client
        .batch_execute("SET TIME ZONE 'UTC'; SET jit = off; SET quote_all_identifiers = off")
        .map_err(statement_failure)?;
    Ok(Box::new(Postgres {
        client,
        tls,
        notices,
    }))
}

type Notices = Arc<Mutex<Vec<String>>>;

struct Postgres {
    notices: Notices,
    client: Client,
    /// None where the session goes without.
    tls: Option<MakeTlsConnector>,
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
        Ok(self.client.batch_execute(sql).map_err(statement_failure)?)
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

fn config(url: &Url) -> Config {
    let mut config = Config::new();
    config
        .user(&url.user)
        .dbname(&url.database)
        .application_name(&url.application_name)
        .connect_timeout(url.connect_timeout)
        // A session may be silent for as long as a run takes: a firewall must not forget it.
        .keepalives_idle(Duration::from_secs(60));
    for host in &url.hosts {
        config.host(&host.name).port(host.port);
    }
    if let Some(password) = url.password() {
        config.password(password);
    }
    if let Some(options) = &url.options {
        config.options(options);
    }
    if url.read_write {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    config.ssl_mode(ssl_mode(url));
    config
}

fn ssl_mode(url: &Url) -> DriverSslMode {
    if url.hosts.iter().all(|host| host.is_socket()) {
        return DriverSslMode::Disable;
    }
    match url.ssl_mode {
        SslMode::Disable => DriverSslMode::Disable,
        SslMode::Prefer => DriverSslMode::Prefer,
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => DriverSslMode::Require,
    }
}

/// What TLS has to prove. As with libpq, `require` with a certificate file is as good as `verify-ca`.
fn tls(url: &Url) -> anyhow::Result<MakeTlsConnector> {
    let system = url.ssl_root_cert.as_deref() == Some(Path::new("system"));
    let file = url
        .ssl_root_cert
        .clone()
        .filter(|_| !system)
        .or_else(default_root_cert);
    let (authority, host) = match url.ssl_mode {
        SslMode::Disable | SslMode::Prefer => (false, false),
        SslMode::Require => (url.ssl_root_cert.is_some(), system),
        SslMode::VerifyCa => (true, system),
        SslMode::VerifyFull => (true, true),
    };
    if authority && !host && file.is_none() {
        return Err(Failure::new("`sslmode=verify-ca` needs the certificate of the authority")
            .hint("add `sslrootcert=/path/to/ca.pem`, or use `sslmode=verify-full` with the authorities of the system")
            .into());
    }
    let mut builder = TlsConnector::builder();
    builder
        .danger_accept_invalid_certs(!authority)
        .danger_accept_invalid_hostnames(!host);
    if authority
        && !system
        && let Some(file) = file
    {
        let cannot = || format!("cannot read the certificates of `{}`", file.display());
        let pem = fs::read(&file).map_err(|error| Failure::new(cannot()).caused_by(error))?;
        let certificates = Certificate::stack_from_pem(&pem)
            .map_err(|error| Failure::new(cannot()).caused_by(error))?;
        if certificates.is_empty() {
            return Err(Failure::new(cannot())
                .caused_by(Failure::new("there is none in PEM form"))
                .into());
        }
        builder.disable_built_in_roots(true);
        for certificate in certificates {
            builder.add_root_certificate(certificate);
        }
    }
    let connector = builder
        .build()
        .map_err(|error| Failure::new("cannot set up TLS").caused_by(error))?;
    Ok(MakeTlsConnector::new(connector))
}

fn default_root_cert() -> Option<PathBuf> {
    let file = PathBuf::from(env::var_os("HOME")?).join(".postgresql/root.crt");
    file.exists().then_some(file)
}

fn is_worth_plain_text(error: &postgres::Error) -> bool {
    error
        .source()
        .is_some_and(|source| source.is::<native_tls::Error>())
        || error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
}

fn connect_failure(url: &Url, error: postgres::Error) -> Failure {
    let failure = Failure::new(format!("cannot connect to `{url}`"));
    if error.as_db_error().is_some() {
        return failure.caused_by(statement_failure(error));
    }
    let is_tls = error
        .source()
        .is_some_and(|source| source.is::<native_tls::Error>());
    let cause = cause(&error);
    if is_tls || cause.contains("TLS") {
        return failure.caused_by(Failure::new(cause)).hint(
            "check `sslmode` and `sslrootcert`: `require` asks for TLS alone, `verify-full` also for a trusted certificate",
        );
    }
    let failure = failure.caused_by(Failure::new(cause.clone()));
    if cause.contains("password missing") {
        return failure
            .hint("give the password in PGPASSWORD, by --password-file, or in the address");
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

const LOST: &str = "what was committed stays, and the next run goes on where this one stopped";

/// What mends an error, by its SQLSTATE.
fn hint(code: &str, message: &str) -> Option<&'static str> {
    let about_control = message.contains("windrow_");
    Some(match code {
        "42501" => {
            "connect as a member of the operator role (to run), of the auditor role (to read), or as the owner (to install); \
             `50_grants.sql` names them"
        }
        "25006" => {
            "this is a standby or a read-only session: connect to the primary, or drop `default_transaction_read_only`"
        }
        "3F000" | "42P01" | "42883" if about_control => "run `windrow install` first",
        "53100" => {
            "the server's disk is full: free some space; nothing is lost, and the next run goes on"
        }
        "53300" | "53400" => {
            "the server has no connection left: close some, or raise `max_connections`"
        }
        "57P01" => {
            "an administrator ended the session, or the server is shutting down: what was committed stays, and the next run goes on"
        }
        "57P02" | "57P03" => {
            "the server is shutting down or starting: try again when it is up; what was committed stays"
        }
        "28000" if message.contains("no encryption") => {
            "the server may take this user over TLS only: use `sslmode=require`, or better `sslmode=verify-full`; else see `pg_hba.conf`"
        }
        "28P01" | "28000" => {
            "check user, password and `pg_hba.conf`; the password may come from PGPASSWORD or --password-file"
        }
        "3D000" => "check the last part of the address: `postgres://user@host/DATABASE`",
        "0A000" => {
            "the server cannot do this: PostgreSQL 14 or later is needed, and a connection that is not pooled by transaction"
        }
        "25001" | "2D000" => {
            "a procedure that commits must not run inside a transaction: connect without a pooler or wrapper that opens one"
        }
        "26000" | "42P05" => {
            "a pooler between here and the server pools by transaction: connect to the server itself"
        }
        "55P03" => "another session holds a lock that is in the way: try again, or see `pg_locks`",
        code if code.starts_with("08") => LOST,
        _ => return None,
    })
}

/// The innermost reason of a driver's error; the outer words only say that there was an error.
fn cause(error: &postgres::Error) -> String {
    let mut reason = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        reason = inner.to_string();
        // It alone tells what is wrong with a certificate.
        if inner.is::<native_tls::Error>() {
            break;
        }
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
