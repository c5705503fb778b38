//! The address of a database. Neither its `Display` nor its `Debug` shows a password, and no error repeats one.

use std::env;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::failure::Failure;

/// An address as the user wrote it, not yet read: it can be shown in a message without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct RawUrl(String);

/// The address of a database: `postgres://user@host:5432/database?sslmode=verify-full` or
/// `mysql://user@host:3306/?ssl-mode=VERIFY_IDENTITY`.
#[derive(Clone)]
pub struct Url {
    /// Which protocol to speak.
    pub scheme: Scheme,
    /// Role to log in as.
    pub user: String,
    /// Database to use; may be empty on MySQL and MariaDB.
    pub database: String,
    /// Servers to try in this order.
    pub hosts: Vec<Host>,
    /// How much the connection is protected.
    pub ssl_mode: SslMode,
    /// File with the certificates that are trusted, or (PostgreSQL) `system`.
    pub ssl_root_cert: Option<PathBuf>,
    /// How long to wait for one server.
    pub connect_timeout: Duration,
    /// Name under which the session shows in the server's list of sessions.
    pub application_name: String,
    /// Settings for the session, as `-c name=value` (PostgreSQL).
    pub options: Option<String>,
    /// Only a server that can be written to will do (`target_session_attrs=read-write`, PostgreSQL).
    pub read_write: bool,
    /// With which key a password is encrypted where TLS does not protect it (MySQL).
    pub server_key: ServerKey,
    password: Option<String>,
}

/// The protocol that an address names. MySQL and MariaDB share one: which of the two it is, the server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `postgres://` or `postgresql://`.
    Postgres,
    /// `mysql://`.
    Mysql,
    /// `mariadb://`.
    Mariadb,
}

/// The public key for `caching_sha2_password` without TLS, as the clients of MySQL know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerKey {
    /// Without TLS, no password is sent: whoever sits between could hand out a key of his own.
    Refused,
    /// The server is asked for it (`get-server-public-key=true`).
    Asked,
    /// It stands in this file (`server-public-key-path`).
    File(PathBuf),
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// A host name or address; or a Unix socket: its directory on PostgreSQL, the socket itself on MySQL.
    pub name: String,
    /// TCP port, or the number in the socket's name.
    pub port: u16,
}

/// How much the connection is protected, with the meaning that libpq, or MySQL's clients, give these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Plain text.
    Disable,
    /// TLS if it can be had, else plain text.
    Prefer,
    /// TLS; the certificate is looked at only where `sslrootcert` is given (PostgreSQL).
    Require,
    /// TLS with a certificate of a trusted authority. On MySQL and MariaDB, the driver trusts the authorities of the
    /// system besides `ssl-ca`; only `VERIFY_IDENTITY` then proves whose certificate it is.
    VerifyCa,
    /// TLS with a trusted certificate for the very host.
    VerifyFull,
}

type Words<T> = &'static [(&'static str, T)];

const POSTGRES_SSL_MODES: Words<SslMode> = &[
    ("disable", SslMode::Disable),
    ("prefer", SslMode::Prefer),
    ("require", SslMode::Require),
    ("verify-ca", SslMode::VerifyCa),
    ("verify-full", SslMode::VerifyFull),
];

const MYSQL_SSL_MODES: Words<SslMode> = &[
    ("DISABLED", SslMode::Disable),
    ("PREFERRED", SslMode::Prefer),
    ("REQUIRED", SslMode::Require),
    ("VERIFY_CA", SslMode::VerifyCa),
    ("VERIFY_IDENTITY", SslMode::VerifyFull),
];

const POSTGRES_PARAMETERS: &[&str] = &[
    "application_name",
    "connect_timeout",
    "dbname",
    "host",
    "options",
    "password",
    "port",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    "user",
];

const MYSQL_PARAMETERS: &[&str] = &[
    "connect-timeout",
    "get-server-public-key",
    "host",
    "password",
    "port",
    "server-public-key-path",
    "socket",
    "ssl-ca",
    "ssl-mode",
    "user",
];

impl Scheme {
    /// The port of a server that was not told otherwise.
    pub const fn default_port(self) -> u16 {
        match self {
            Scheme::Postgres => 5432,
            Scheme::Mysql | Scheme::Mariadb => 3306,
        }
    }

    /// The environment variable of the server's own clients for a password.
    pub const fn password_variable(self) -> &'static str {
        match self {
            Scheme::Postgres => "PGPASSWORD",
            Scheme::Mysql | Scheme::Mariadb => "MYSQL_PWD",
        }
    }

    fn of(text: &str) -> Option<(Scheme, &str)> {
        [
            ("postgres://", Scheme::Postgres),
            ("postgresql://", Scheme::Postgres),
            ("mysql://", Scheme::Mysql),
            ("mariadb://", Scheme::Mariadb),
        ]
        .into_iter()
        .find_map(|(prefix, scheme)| Some((scheme, text.strip_prefix(prefix)?)))
    }

    const fn example(self) -> &'static str {
        match self {
            Scheme::Postgres => {
                "write it as `postgres://user@host:5432/database`; the password may come from PGPASSWORD or --password-file"
            }
            Scheme::Mysql | Scheme::Mariadb => {
                "write it as `mysql://user@host:3306/` or `mysql://user@localhost/?socket=/run/mysqld/mysqld.sock`; \
                 the password may come from MYSQL_PWD or --password-file"
            }
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Scheme::Postgres => "postgres",
            Scheme::Mysql => "mysql",
            Scheme::Mariadb => "mariadb",
        })
    }
}

impl Url {
    /// The password, for the driver alone.
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Sets the password where the address has none.
    pub fn or_password(mut self, password: Option<String>) -> Url {
        self.password = self.password.or(password);
        self
    }
}

impl Host {
    /// Whether this is a Unix socket.
    pub fn is_socket(&self) -> bool {
        self.name.starts_with('/')
    }
}

impl RawUrl {
    /// Reads the address.
    pub fn parse(&self) -> Result<Url, Failure> {
        self.0.parse()
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }
}

impl FromStr for RawUrl {
    type Err = std::convert::Infallible;

    // Reading happens later: clap would repeat a value that it refuses, password and all.
    fn from_str(text: &str) -> Result<RawUrl, Self::Err> {
        Ok(RawUrl(text.to_owned()))
    }
}

impl fmt::Display for RawUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&redact(&self.0))
    }
}

impl fmt::Debug for RawUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", redact(&self.0))
    }
}

impl FromStr for Url {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Url, Failure> {
        let text = text.trim();
        let refuse = |why: String, hint: &str| {
            Failure::new(format!(
                "cannot read the database address `{}`",
                redact(text)
            ))
            .caused_by(Failure::new(why))
            .hint(hint)
        };
        let Some((scheme, rest)) = Scheme::of(text) else {
            return Err(refuse(
                "it starts with none of `postgres://`, `mysql://` and `mariadb://`".to_owned(),
                "write it as `postgres://user@host:5432/database` or `mysql://user@host:3306/`; \
                 the password may come from PGPASSWORD, MYSQL_PWD or --password-file",
            ));
        };
        read(scheme, rest).map_err(|why| refuse(why, scheme.example()))
    }
}

/// Reads what follows the scheme; an error says why in words that repeat no value.
fn read(scheme: Scheme, rest: &str) -> Result<Url, String> {
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    let mut url = Url {
        scheme,
        user: decode(user)?,
        database: decode(database)?,
        hosts: Vec::new(),
        ssl_mode: SslMode::Prefer,
        ssl_root_cert: None,
        connect_timeout: Duration::from_secs(10),
        application_name: "windrow".to_owned(),
        options: None,
        read_write: false,
        server_key: ServerKey::Refused,
        password: password.map(decode).transpose()?,
    };
    let mut places = Places::default();
    for host in hosts.split(',').filter(|host| !host.is_empty()) {
        let (name, port) = split_port(host);
        places.hosts.push(decode(name)?);
        places.ports.push(port.to_owned());
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decode(value)?;
        match scheme {
            Scheme::Postgres => postgres_parameter(&mut url, &mut places, name, value)?,
            Scheme::Mysql | Scheme::Mariadb => {
                mysql_parameter(&mut url, &mut places, name, value)?;
            }
        }
    }
    match scheme {
        Scheme::Postgres => {
            if url.user.is_empty() {
                url.user = env::var("PGUSER")
                    .or_else(|_| env::var("USER"))
                    .unwrap_or_else(|_| "postgres".to_owned());
            }
            if url.database.is_empty() {
                url.database.clone_from(&url.user);
            }
            if places.hosts.is_empty() {
                places
                    .hosts
                    .push(env::var("PGHOST").unwrap_or_else(|_| "localhost".to_owned()));
            }
        }
        Scheme::Mysql | Scheme::Mariadb => {
            if url.user.is_empty() {
                url.user = env::var("USER").unwrap_or_else(|_| "root".to_owned());
            }
            if places.hosts.is_empty() {
                places
                    .hosts
                    .push(env::var("MYSQL_HOST").unwrap_or_else(|_| "localhost".to_owned()));
            }
            // As for MySQL's own clients: who names an authority wants to see its certificate.
            if url.ssl_root_cert.is_some() && !places.ssl_mode_is_given {
                url.ssl_mode = SslMode::VerifyCa;
            }
            // A socket is one way to one server: the host beside it only says whose it is.
            if let Some(socket) = places.socket.take() {
                places.hosts = vec![socket];
                places.ports.clear();
            }
        }
    }
    url.hosts = places.hosts(scheme.default_port())?;
    Ok(url)
}

/// Where the servers are, as far as it was read.
#[derive(Default)]
struct Places {
    hosts: Vec<String>,
    ports: Vec<String>,
    socket: Option<String>,
    ssl_mode_is_given: bool,
}

impl Places {
    fn hosts(self, default_port: u16) -> Result<Vec<Host>, String> {
        let mut hosts = Vec::new();
        for (at, name) in self.hosts.into_iter().enumerate() {
            let port = match self.ports.as_slice() {
                [one] => Some(one),
                many => many.get(at),
            };
            let port = match port.map(String::as_str) {
                None | Some("") => default_port,
                Some(port) => port
                    .parse()
                    .map_err(|_| "the port is not a number up to 65535".to_owned())?,
            };
            hosts.push(Host { name, port });
        }
        Ok(hosts)
    }
}

fn postgres_parameter(
    url: &mut Url,
    places: &mut Places,
    name: &str,
    value: String,
) -> Result<(), String> {
    match name {
        "host" => places.hosts = value.split(',').map(str::to_owned).collect(),
        "port" => places.ports = value.split(',').map(str::to_owned).collect(),
        "user" => url.user = value,
        "password" => url.password = Some(value),
        "dbname" => url.database = value,
        "sslmode" => url.ssl_mode = word(name, &value, POSTGRES_SSL_MODES)?,
        "sslrootcert" => url.ssl_root_cert = Some(PathBuf::from(value)),
        "connect_timeout" => url.connect_timeout = seconds(name, &value)?,
        "application_name" => url.application_name = value,
        "options" => url.options = Some(value),
        "target_session_attrs" => match value.as_str() {
            "any" => url.read_write = false,
            "read-write" | "primary" => url.read_write = true,
            _ => return Err("`target_session_attrs` is neither `any` nor `read-write`".to_owned()),
        },
        _ => return Err(unknown_parameter(name, POSTGRES_PARAMETERS)),
    }
    Ok(())
}

fn mysql_parameter(
    url: &mut Url,
    places: &mut Places,
    name: &str,
    value: String,
) -> Result<(), String> {
    // As in option files, `ssl_mode` is `ssl-mode`, and the words of a mode have no case.
    match name.replace('_', "-").as_str() {
        "host" => places.hosts = value.split(',').map(str::to_owned).collect(),
        "port" => places.ports = value.split(',').map(str::to_owned).collect(),
        "user" => url.user = value,
        "password" => url.password = Some(value),
        "socket" => {
            if !value.starts_with('/') {
                return Err("`socket` is not a path that starts with `/`".to_owned());
            }
            places.socket = Some(value);
        }
        "ssl-mode" => {
            url.ssl_mode = word("ssl-mode", &value.to_ascii_uppercase(), MYSQL_SSL_MODES)?;
            places.ssl_mode_is_given = true;
        }
        "ssl-ca" => url.ssl_root_cert = Some(PathBuf::from(value)),
        "connect-timeout" => url.connect_timeout = seconds(name, &value)?,
        "server-public-key-path" => url.server_key = ServerKey::File(PathBuf::from(value)),
        "get-server-public-key" => {
            let asked = [("true", true), ("1", true), ("false", false), ("0", false)];
            url.server_key = match asked.iter().find(|(word, _)| *word == value) {
                Some((_, true)) => ServerKey::Asked,
                Some((_, false)) => ServerKey::Refused,
                None => {
                    return Err("`get-server-public-key` is neither `true` nor `false`".to_owned());
                }
            };
        }
        _ => return Err(unknown_parameter(name, MYSQL_PARAMETERS)),
    }
    Ok(())
}

fn seconds(name: &str, value: &str) -> Result<Duration, String> {
    let seconds: u64 = value
        .parse()
        .map_err(|_| format!("`{name}` is not a number of seconds"))?;
    Ok(Duration::from_secs(if seconds == 0 {
        86_400
    } else {
        seconds
    }))
}

fn word<T: Copy>(name: &str, value: &str, words: Words<T>) -> Result<T, String> {
    match words.iter().find(|(word, _)| *word == value) {
        Some((_, meaning)) => Ok(*meaning),
        None => {
            let words: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            Err(format!("`{name}` is none of {}", words.join(", ")))
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}://{}", self.scheme, self.user)?;
        if self.password.is_some() {
            out.write_str(":***")?;
        }
        out.write_str("@")?;
        let default = self.scheme.default_port();
        let mut first = true;
        for host in self.hosts.iter().filter(|host| !host.is_socket()) {
            let comma = if first { "" } else { "," };
            first = false;
            match (host.port == default, host.name.contains(':')) {
                (true, false) => write!(out, "{comma}{}", host.name)?,
                (true, true) => write!(out, "{comma}[{}]", host.name)?,
                (false, false) => write!(out, "{comma}{}:{}", host.name, host.port)?,
                (false, true) => write!(out, "{comma}[{}]:{}", host.name, host.port)?,
            }
        }
        write!(out, "/{}", self.database)?;
        if let Some(socket) = self.hosts.iter().find(|host| host.is_socket()) {
            if self.scheme != Scheme::Postgres {
                return write!(out, "?socket={}", socket.name);
            }
            write!(out, "?host={}", socket.name)?;
            if socket.port != default {
                write!(out, "&port={}", socket.port)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Url({self})")
    }
}

/// Hides every password in a text that is, or was meant to be, the address of a database.
///
/// Where it is not clear where a password ends, more than the password is hidden.
pub fn redact(text: &str) -> String {
    let mut shown = text.to_owned();
    if let Some(scheme) = shown.find("://") {
        let start = scheme + 3;
        if let Some(end) = shown.rfind('@').filter(|&end| end > start)
            && let Some(colon) = shown[start..end].find(':')
        {
            shown.replace_range(start + colon + 1..end, "***");
        }
    }
    // `password` in a query string or a key=value text, and `sslpassword` with it.
    let lower = shown.to_ascii_lowercase();
    let Some(word) = lower.find("password") else {
        return shown;
    };
    let after = word + "password".len();
    let blank = shown[after..].len() - shown[after..].trim_start().len();
    if !shown[after + blank..].starts_with('=') {
        return shown;
    }
    let value = after + blank + 1;
    let is_url = shown.contains("://");
    let end = if is_url {
        shown[value..].find('&').map(|end| value + end)
    } else {
        None
    };
    let rest = end.map(|end| redact(&shown[end..])).unwrap_or_default();
    shown.truncate(value);
    shown.push_str("***");
    shown.push_str(&rest);
    shown
}

fn unknown_parameter(name: &str, known: &[&'static str]) -> String {
    // A misspelt `pasword=…` must not come back: the name is shown, the value never is.
    let name = redact(name);
    let near = known
        .iter()
        .max_by(|a, b| strsim::jaro_winkler(a, &name).total_cmp(&strsim::jaro_winkler(b, &name)));
    match near.filter(|near| strsim::jaro_winkler(near, &name) > 0.85) {
        Some(near) => format!("`{name}` is not a known parameter; did you mean `{near}`?"),
        None => format!("`{name}` is not a known parameter"),
    }
}

/// `host:port`, `[v6]:port`, or a host alone.
fn split_port(host: &str) -> (&str, &str) {
    if let Some(rest) = host.strip_prefix('[')
        && let Some((address, port)) = rest.split_once(']')
    {
        return (address, port.strip_prefix(':').unwrap_or(port));
    }
    host.split_once(':').unwrap_or((host, ""))
}

fn decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next(), rest.next()]
            .map(|digit| digit.and_then(|digit| (digit as char).to_digit(16)));
        match digits {
            [Some(high), Some(low)] => bytes.push((high * 16 + low) as u8),
            _ => {
                return Err(
                    "a `%` is not followed by two hexadecimal digits; write `%` as `%25`"
                        .to_owned(),
                );
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 after decoding".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Url {
        text.parse()
            .unwrap_or_else(|error| panic!("{text}: {error:?}"))
    }

    #[test]
    fn no_form_shows_a_password() {
        for text in [
            "postgres://app:hunter2@db/prod",
            "postgres://app:hun@ter2@db/prod",
            "postgres://app:hunter2/x@db/prod",
            "postgres://app:hunter2?y@db/prod",
            "postgresql://app@db/prod?password=hunter2&sslmode=require",
            "postgres://app@db/prod?sslmode=require&PASSWORD=hunter2",
            "postgres://app@db/prod?password=x&sslpassword=hunter2",
            "postgres://app:hunter2@db/prod?nonsense=1",
            "postgres://app:hunter2@db:99999/prod",
            "postgres://app:hunter2%zz@db/prod",
            "host=db user=app password=hunter2 dbname=prod",
            "host=db password = 'x hunter2' dbname=prod",
            "mysql://app:hunter2@db/prod",
            "mariadb://app:hunter2@db/?ssl-mode=nonsense",
            "mysql://app@localhost/?socket=/run/x.sock&password=hunter2",
            "oracle://app:hunter2@db/prod",
        ] {
            let raw: RawUrl = text.parse().unwrap_or_else(|never| match never {});
            let mut shown = format!("{raw} {raw:?}");
            match text.parse::<Url>() {
                Ok(url) => shown += &format!(" {url} {url:?}"),
                Err(error) => {
                    shown += &format!(" {error:?}");
                    shown += &format!(" {:#}", anyhow::Error::from(error));
                }
            }
            assert!(!shown.contains("hunter2"), "{text} shows as {shown}");
            assert!(!shown.contains("ter2"), "{text} shows as {shown}");
            assert!(shown.contains("***"), "{text} shows as {shown}");
        }
    }

    #[test]
    fn the_parts_are_read() {
        let url = parse(
            "postgresql://app:s%40cret@db1:6432,db2/prod?sslmode=verify-full&sslrootcert=/ca.pem",
        );
        assert_eq!(url.password(), Some("s@cret"));
        assert_eq!(
            url.hosts,
            [
                Host {
                    name: "db1".to_owned(),
                    port: 6432
                },
                Host {
                    name: "db2".to_owned(),
                    port: 5432
                },
            ]
        );
        assert_eq!(
            (url.ssl_mode, url.connect_timeout.as_secs()),
            (SslMode::VerifyFull, 10)
        );
        assert_eq!(url.to_string(), "postgres://app:***@db1:6432,db2/prod");
    }

    #[test]
    fn a_socket_is_named_by_its_directory() {
        let url = parse("postgres://app@/prod?host=/run/pg&port=5499");
        assert_eq!(
            url.hosts,
            [Host {
                name: "/run/pg".to_owned(),
                port: 5499
            }]
        );
        assert!(url.hosts[0].is_socket());
        assert_eq!(
            url.to_string(),
            "postgres://app@/prod?host=/run/pg&port=5499"
        );
        assert_eq!(
            parse("postgres://app@%2Frun%2Fpg/prod").hosts[0].name,
            "/run/pg"
        );
        assert_eq!(
            parse("postgres://app@[::1]:5433/prod").hosts[0],
            Host {
                name: "::1".to_owned(),
                port: 5433
            }
        );
    }

    #[test]
    fn a_misspelt_parameter_is_told() {
        let error = "postgres://db/prod?sslmod=require"
            .parse::<Url>()
            .map_err(anyhow::Error::from);
        let text = error.map_err(|error| format!("{error:#}")).err();
        assert_eq!(
            text.as_deref(),
            Some(
                "cannot read the database address `postgres://db/prod?sslmod=require`: \
                 `sslmod` is not a known parameter; did you mean `sslmode`?"
            )
        );
    }

    #[test]
    fn a_password_of_the_address_wins() {
        let given = Some("other".to_owned());
        assert_eq!(
            parse("postgres://app:mine@db/prod")
                .or_password(given.clone())
                .password(),
            Some("mine")
        );
        assert_eq!(
            parse("postgres://app@db/prod")
                .or_password(given)
                .password(),
            Some("other")
        );
    }

    #[test]
    fn mysql_has_words_of_its_own() {
        let url = parse(
            "mysql://app:s%40cret@db1:3307,db2/?ssl-mode=verify_identity&ssl_ca=/ca.pem&connect-timeout=3",
        );
        assert_eq!(url.password(), Some("s@cret"));
        assert_eq!(
            (url.ssl_mode, url.connect_timeout.as_secs()),
            (SslMode::VerifyFull, 3)
        );
        assert_eq!(url.ssl_root_cert, Some(PathBuf::from("/ca.pem")));
        assert_eq!(
            url.hosts,
            [
                Host {
                    name: "db1".to_owned(),
                    port: 3307
                },
                Host {
                    name: "db2".to_owned(),
                    port: 3306
                },
            ]
        );
        assert_eq!(url.to_string(), "mysql://app:***@db1:3307,db2/");
        let error = "mysql://db/?sslmode=require".parse::<Url>().err();
        let text = format!("{:#}", anyhow::Error::from(error.unwrap_or_default()));
        assert!(text.ends_with("did you mean `ssl-mode`?"), "{text}");
        let error = "mysql://db/?ssl-mode=verify-full".parse::<Url>().err();
        let text = format!("{:#}", anyhow::Error::from(error.unwrap_or_default()));
        assert!(
            text.ends_with(
                "none of `DISABLED`, `PREFERRED`, `REQUIRED`, `VERIFY_CA`, `VERIFY_IDENTITY`"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_socket_of_mysql_is_the_file_itself() {
        let url = parse("mariadb://app@localhost/prod?socket=/run/mysqld/mysqld.sock");
        assert_eq!(
            url.hosts,
            [Host {
                name: "/run/mysqld/mysqld.sock".to_owned(),
                port: 3306
            }]
        );
        assert_eq!(
            url.to_string(),
            "mariadb://app@/prod?socket=/run/mysqld/mysqld.sock"
        );
        assert!("mysql://app@/?socket=here".parse::<Url>().is_err());
    }

    #[test]
    fn a_key_for_passwords_is_asked_for_only_when_told() {
        let key = |text: &str| parse(text).server_key;
        assert_eq!(key("mysql://db/"), ServerKey::Refused);
        assert_eq!(
            key("mysql://db/?get-server-public-key=true"),
            ServerKey::Asked
        );
        assert_eq!(
            key("mysql://db/?server-public-key-path=/k.pem"),
            ServerKey::File(PathBuf::from("/k.pem"))
        );
    }
}
