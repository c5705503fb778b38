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

/// The address of a database: `postgres://user@host:5432/database?sslmode=verify-full`.
#[derive(Clone)]
pub struct Url {
    /// Role to log in as.
    pub user: String,
    /// Database to use.
    pub database: String,
    /// Servers to try in this order.
    pub hosts: Vec<Host>,
    /// How much the connection is protected.
    pub ssl_mode: SslMode,
    /// File with the certificates that are trusted, or `system`.
    pub ssl_root_cert: Option<PathBuf>,
    /// How long to wait for one server.
    pub connect_timeout: Duration,
    /// Name under which the session shows in `pg_stat_activity`.
    pub application_name: String,
    /// Settings for the session, as `-c name=value`.
    pub options: Option<String>,
    /// Only a server that can be written to will do (`target_session_attrs=read-write`).
    pub read_write: bool,
    password: Option<String>,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// A host name or address, or the directory of a Unix socket.
    pub name: String,
    /// TCP port, or the number in the socket's name.
    pub port: u16,
}

/// How much the connection is protected, with the meaning that libpq gives these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Plain text.
    Disable,
    /// TLS if it can be had, else plain text.
    Prefer,
    /// TLS; the certificate is looked at only where `sslrootcert` is given.
    Require,
    /// TLS with a certificate of a trusted authority.
    VerifyCa,
    /// TLS with a trusted certificate for the very host.
    VerifyFull,
}

const SSL_MODES: [(&str, SslMode); 5] = [
    ("disable", SslMode::Disable),
    ("prefer", SslMode::Prefer),
    ("require", SslMode::Require),
    ("verify-ca", SslMode::VerifyCa),
    ("verify-full", SslMode::VerifyFull),
];

const PARAMETERS: [&str; 11] = [
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
    /// Whether this is the directory of a Unix socket.
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
        let refuse = |why: String| {
            Failure::new(format!("cannot read the database address `{}`", redact(text)))
                .caused_by(Failure::new(why))
                .hint("write it as `postgres://user@host:5432/database`; the password may come from PGPASSWORD or --password-file")
        };
        let text = text.trim();
        let rest = text
            .strip_prefix("postgres://")
            .or_else(|| text.strip_prefix("postgresql://"))
            .ok_or_else(|| {
                refuse("it starts with neither `postgres://` nor `postgresql://`".to_owned())
            })?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };

        let mut user = decode(user).map_err(refuse)?;
        let mut password = password.map(decode).transpose().map_err(refuse)?;
        let mut database = decode(database).map_err(refuse)?;
        let mut host_names = Vec::new();
        let mut ports = Vec::new();
        for host in hosts.split(',').filter(|host| !host.is_empty()) {
            let (name, port) = split_port(host);
            host_names.push(decode(name).map_err(refuse)?);
            ports.push(port.to_owned());
        }
        let mut ssl_mode = SslMode::Prefer;
        let mut ssl_root_cert = None;
        let mut connect_timeout = Duration::from_secs(10);
        let mut application_name = "windrow".to_owned();
        let mut options = None;
        let mut read_write = false;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(value).map_err(refuse)?;
            match name {
                "host" => host_names = value.split(',').map(str::to_owned).collect(),
                "port" => ports = value.split(',').map(str::to_owned).collect(),
                "user" => user = value,
                "password" => password = Some(value),
                "dbname" => database = value,
                "sslmode" => ssl_mode = ssl_mode_of(&value).map_err(refuse)?,
                "sslrootcert" => ssl_root_cert = Some(PathBuf::from(value)),
                "connect_timeout" => {
                    let seconds: u64 = value.parse().map_err(|_| {
                        refuse("`connect_timeout` is not a number of seconds".to_owned())
                    })?;
                    connect_timeout =
                        Duration::from_secs(if seconds == 0 { 86_400 } else { seconds });
                }
                "application_name" => application_name = value,
                "options" => options = Some(value),
                "target_session_attrs" => match value.as_str() {
                    "any" => read_write = false,
                    "read-write" | "primary" => read_write = true,
                    _ => {
                        return Err(refuse(
                            "`target_session_attrs` is neither `any` nor `read-write`".to_owned(),
                        ));
                    }
                },
                _ => return Err(refuse(unknown_parameter(name))),
            }
        }

        if user.is_empty() {
            user = env::var("PGUSER")
                .or_else(|_| env::var("USER"))
                .unwrap_or_else(|_| "postgres".to_owned());
        }
        if database.is_empty() {
            database.clone_from(&user);
        }
        if host_names.is_empty() {
            host_names.push(env::var("PGHOST").unwrap_or_else(|_| "localhost".to_owned()));
        }
        let mut hosts = Vec::new();
        for (at, name) in host_names.into_iter().enumerate() {
            let port = ports.get(at).or(if ports.len() == 1 {
                ports.first()
            } else {
                None
            });
            let port = match port.map(String::as_str) {
                None | Some("") => 5432,
                Some(port) => port
                    .parse()
                    .map_err(|_| refuse("the port is not a number up to 65535".to_owned()))?,
            };
            hosts.push(Host { name, port });
        }
        Ok(Url {
            user,
            database,
            hosts,
            ssl_mode,
            ssl_root_cert,
            connect_timeout,
            application_name,
            options,
            read_write,
            password,
        })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "postgres://{}", self.user)?;
        if self.password.is_some() {
            out.write_str(":***")?;
        }
        out.write_str("@")?;
        let sockets: Vec<_> = self.hosts.iter().filter(|host| host.is_socket()).collect();
        let servers: Vec<_> = self
            .hosts
            .iter()
            .filter(|host| !host.is_socket())
            .map(Host::to_string)
            .collect();
        write!(out, "{}/{}", servers.join(","), self.database)?;
        if let Some(socket) = sockets.first() {
            write!(out, "?host={}", socket.name)?;
            if socket.port != 5432 {
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

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        if self.port == 5432 {
            Ok(())
        } else {
            write!(out, ":{}", self.port)
        }
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

fn ssl_mode_of(value: &str) -> Result<SslMode, String> {
    SSL_MODES
        .iter()
        .find(|(name, _)| *name == value)
        .map(|(_, mode)| *mode)
        .ok_or_else(|| {
            let names: Vec<_> = SSL_MODES
                .iter()
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            format!("`sslmode` is none of {}", names.join(", "))
        })
}

fn unknown_parameter(name: &str) -> String {
    // A misspelt `pasword=…` must not come back: the name is shown, the value never is.
    let name = redact(name);
    let near = PARAMETERS
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
}
