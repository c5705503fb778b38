//! How an address is read, with what files and the environment add to it; no error repeats a value.

use std::path::PathBuf;
use std::time::Duration;

use super::address::{Host, Scheme, ServerKey, SslMode, Url};
use super::files;
use super::given::{Given, Origin, Setting, Surroundings};
use super::passfile::Passwords;

type Words<T> = &'static [(&'static str, T)];

const POSTGRES_SSL_MODES: Words<SslMode> = &[
    ("disable", SslMode::Disable),
    ("allow", SslMode::Allow),
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
    "passfile",
    "password",
    "port",
    "service",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    "user",
];

/// The variables of libpq.
const POSTGRES_VARIABLES: &[(&str, &str)] = &[
    ("PGHOST", "host"),
    ("PGPORT", "port"),
    ("PGUSER", "user"),
    ("PGDATABASE", "dbname"),
    ("PGPASSFILE", "passfile"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGAPPNAME", "application_name"),
    ("PGOPTIONS", "options"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
];

/// Variables of libpq that ask for a protection, or for another server, which windrow cannot give, and their values that do not.
const REFUSED_VARIABLES: &[(&str, &[&str])] = &[
    ("PGCHANNELBINDING", &["disable", "prefer"]),
    ("PGGSSENCMODE", &["disable", "prefer"]),
    ("PGHOSTADDR", &[]),
    ("PGREQUIREAUTH", &[]),
    ("PGREQUIREPEER", &[]),
    ("PGSSLCERTMODE", &["disable", "allow"]),
    ("PGSSLCRL", &[]),
    ("PGSSLCRLDIR", &[]),
    ("PGSSLMINPROTOCOLVERSION", &["TLSv1", "TLSv1.1", "TLSv1.2"]),
];

const MYSQL_PARAMETERS: &[&str] = &[
    "connect-timeout",
    "defaults-file",
    "get-server-public-key",
    "host",
    "password",
    "port",
    "server-public-key-path",
    "socket",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "user",
];

/// Whether an address of any server has such a parameter.
pub(super) fn is_parameter(name: &str) -> bool {
    let of_mysql = name.replace('_', "-");
    POSTGRES_PARAMETERS.contains(&name)
        || files::IGNORED_POSTGRES.contains(&name)
        || MYSQL_PARAMETERS.contains(&&*of_mysql)
}

/// Reads what follows the scheme; an error says why in words that repeat no value.
pub(super) fn read(scheme: Scheme, rest: &str, around: &Surroundings) -> Result<Url, String> {
    let mut given = address(scheme, rest)?;
    let mut notes = Vec::new();
    match scheme {
        Scheme::Postgres => {
            let service = given
                .take("service")
                .map(|setting| setting.value)
                .or_else(|| around.variable("PGSERVICE").map(str::to_owned));
            if let Some(service) = service {
                files::service(&service, around, &mut given, &mut notes)?;
            }
            let asks = |name: &str, harmless: &[&str]| {
                let value = around.variable(name);
                value.is_some_and(|value| !harmless.contains(&value))
            };
            let mut refused = REFUSED_VARIABLES.iter();
            if let Some((name, _)) = refused.find(|(name, harmless)| asks(name, harmless)) {
                return Err(format!(
                    "windrow cannot do what `{name}` asks for; unset it"
                ));
            }
            for (variable, name) in POSTGRES_VARIABLES {
                if let Some(value) = around.variable(variable) {
                    given.offer(name, value.to_owned(), Origin::Variable(variable));
                }
            }
            // Of an older libpq: whatever begins otherwise asks for nothing.
            let required = around.variable("PGREQUIRESSL");
            if required.is_some_and(|value| value.starts_with('1')) {
                let origin = Origin::Variable("PGREQUIRESSL");
                given.offer("sslmode", "require".to_owned(), origin);
            }
        }
        Scheme::Mysql | Scheme::Mariadb => {
            let file = given.take("defaults-file").map(|setting| setting.value);
            let has_host = given.get("host").is_some();
            files::options(scheme, file, around, &mut given, &mut notes)?;
            // A host of the address is meant, whatever socket a file names for others.
            if has_host && !given.is_of_address("socket") {
                given.take("socket");
            }
            for (variable, name) in [("MYSQL_HOST", "host"), ("MYSQL_TCP_PORT", "port")] {
                if let Some(value) = around.variable(variable) {
                    given.offer(name, value.to_owned(), Origin::Variable(variable));
                }
            }
        }
    }
    if let Some(user) = around.variable("USER") {
        given.offer("user", user.to_owned(), Origin::Variable("USER"));
    }
    let mut url = applied(scheme, given)?;
    url.notes = notes;
    if scheme == Scheme::Postgres {
        if url.database.is_empty() {
            url.database.clone_from(&url.user);
        }
        let file = url.passfile.take();
        if let Some(file) = file.or_else(|| around.at_home(".pgpass")) {
            let (passwords, note) = Passwords::read(&file);
            url.passwords = passwords;
            url.notes.extend(note);
        }
    }
    Ok(url)
}

/// What the address itself says.
fn address(scheme: Scheme, rest: &str) -> Result<Given, String> {
    let mut given = Given::default();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    let database_name = match scheme {
        Scheme::Postgres => "dbname",
        Scheme::Mysql | Scheme::Mariadb => "database",
    };
    for (name, text) in [("user", user), (database_name, database)] {
        if !text.is_empty() {
            given.insert(name, decode(text)?);
        }
    }
    if let Some(password) = password {
        given.insert("password", decode(password)?);
    }
    let hosts: Vec<_> = hosts.split(',').filter(|host| !host.is_empty()).collect();
    if !hosts.is_empty() {
        let mut names = Vec::new();
        let mut ports = Vec::new();
        for host in hosts {
            let (name, port) = split_port(host);
            names.push(decode(name)?);
            ports.push(port);
        }
        given.insert("host", names.join(","));
        if ports.iter().any(|port| !port.is_empty()) {
            given.insert("port", ports.join(","));
        }
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decode(value)?;
        // As in option files, `ssl_mode` is `ssl-mode`.
        let (known, name) = match scheme {
            Scheme::Postgres => (POSTGRES_PARAMETERS, name.to_owned()),
            Scheme::Mysql | Scheme::Mariadb => (MYSQL_PARAMETERS, name.replace('_', "-")),
        };
        if scheme == Scheme::Postgres && files::is_ignored(&name, &value) {
            continue;
        }
        if !known.contains(&&*name) {
            return Err(unknown_parameter(&name, known));
        }
        given.insert(&name, value);
    }
    Ok(given)
}

/// An address of all settings.
fn applied(scheme: Scheme, given: Given) -> Result<Url, String> {
    let mut url = Url {
        scheme,
        user: match scheme {
            Scheme::Postgres => "postgres".to_owned(),
            Scheme::Mysql | Scheme::Mariadb => "root".to_owned(),
        },
        database: String::new(),
        hosts: Vec::new(),
        ssl_mode: SslMode::Prefer,
        ssl_root_cert: None,
        ssl_cert: None,
        ssl_key: None,
        connect_timeout: Duration::from_secs(10),
        answer_timeout: None,
        application_name: "windrow".to_owned(),
        options: None,
        read_write: false,
        server_key: ServerKey::Refused,
        password: None,
        stored: None,
        passfile: None,
        passwords: Passwords::default(),
        notes: Vec::new(),
    };
    let mut places = Places::default();
    let mut port_origin = Origin::Address;
    for Setting {
        name,
        value,
        origin,
    } in given.into_settings()
    {
        if name == "port" {
            port_origin = origin.clone();
        }
        let is_stored = name == "password" && !matches!(origin, Origin::Address);
        if is_stored {
            url.stored = Some(value);
            continue;
        }
        match scheme {
            Scheme::Postgres => postgres_parameter(&mut url, &mut places, &name, value),
            Scheme::Mysql | Scheme::Mariadb => mysql_parameter(&mut url, &mut places, &name, value),
        }
        .map_err(|why| origin.blame(why))?;
    }
    if places.hosts.is_empty() {
        places.hosts.push("localhost".to_owned());
    }
    match scheme {
        Scheme::Postgres => system_authorities(&mut url, &places)?,
        Scheme::Mysql | Scheme::Mariadb => {
            // As for MySQL's own clients: who names an authority wants to see its certificate.
            if url.ssl_root_cert.is_some() && !places.ssl_mode_is_given {
                url.ssl_mode = SslMode::VerifyCa;
            }
            // A socket is one way to one server: the host next to it only says whose it is.
            if let Some(socket) = places.socket.take() {
                places.hosts = vec![socket];
                places.ports.clear();
            }
        }
    }
    url.hosts = places
        .hosts(scheme.default_port())
        .map_err(|why| port_origin.blame(why))?;
    Ok(url)
}

/// Like libpq: the authorities of the system are many, so that only the name of the host proves something.
fn system_authorities(url: &mut Url, places: &Places) -> Result<(), String> {
    if url.ssl_root_cert.as_deref() != Some("system".as_ref()) {
        return Ok(());
    }
    if !places.ssl_mode_is_given {
        url.ssl_mode = SslMode::VerifyFull;
    }
    if url.ssl_mode == SslMode::VerifyFull {
        return Ok(());
    }
    Err("`sslrootcert=system` needs `sslmode=verify-full`".to_owned())
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
        "sslmode" => {
            url.ssl_mode = word(name, &value, POSTGRES_SSL_MODES)?;
            places.ssl_mode_is_given = true;
        }
        "sslrootcert" => url.ssl_root_cert = Some(PathBuf::from(value)),
        "sslcert" => url.ssl_cert = Some(PathBuf::from(value)),
        "sslkey" => url.ssl_key = Some(PathBuf::from(value)),
        "passfile" => url.passfile = Some(PathBuf::from(value)),
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
    match name {
        "host" => places.hosts = value.split(',').map(str::to_owned).collect(),
        "port" => places.ports = value.split(',').map(str::to_owned).collect(),
        "user" => url.user = value,
        "password" => url.password = Some(value),
        "database" => url.database = value,
        "socket" => {
            if !value.starts_with('/') {
                return Err("`socket` is not a path that starts with `/`".to_owned());
            }
            places.socket = Some(value);
        }
        // The words of a mode have no case.
        "ssl-mode" => {
            url.ssl_mode = word("ssl-mode", &value.to_ascii_uppercase(), MYSQL_SSL_MODES)?;
            places.ssl_mode_is_given = true;
        }
        "ssl-ca" => url.ssl_root_cert = Some(PathBuf::from(value)),
        "ssl-cert" => url.ssl_cert = Some(PathBuf::from(value)),
        "ssl-key" => url.ssl_key = Some(PathBuf::from(value)),
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
    // With another value it is passed over.
    if files::IGNORED_POSTGRES.contains(&name) {
        return format!("windrow cannot do what `{name}` asks for");
    }
    // Of a misspelt `pasword=…` the name is shown, the value never is.
    let near = known
        .iter()
        .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)));
    match near.filter(|near| strsim::jaro_winkler(near, name) > 0.85) {
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
