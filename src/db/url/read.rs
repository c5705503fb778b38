//! How an address is read; no error repeats a value.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use super::address::{Host, Scheme, ServerKey, SslMode, Url};
use super::redact::redact;

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

/// Reads what follows the scheme; an error says why in words that repeat no value.
pub(super) fn read(scheme: Scheme, rest: &str) -> Result<Url, String> {
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
