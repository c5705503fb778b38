//! The files in which the servers' own clients keep settings: services of libpq, and option files of MySQL and MariaDB.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::address::Scheme;
use super::given::{Given, Origin, Surroundings};

/// Parameters of libpq that make no difference here. What asks for a protection is not among them.
pub(super) const IGNORED_POSTGRES: &[&str] = &[
    "client_encoding",
    "fallback_application_name",
    "gssdelegation",
    "gssencmode",
    "gsslib",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "load_balance_hosts",
    "sslcompression",
    "sslsni",
    "tcp_user_timeout",
];

/// Whether such a parameter asks for nothing.
pub(super) fn is_ignored(name: &str, value: &str) -> bool {
    IGNORED_POSTGRES.contains(&name) && (name, value) != ("gssencmode", "require")
}

/// A file that is not there is no mistake where nobody named it.
fn text(file: &Path, is_named: bool) -> Result<Option<String>, String> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_named => Ok(None),
        Err(error) => Err(format!("cannot read `{}`: {error}", file.display())),
    }
}

/// Gives what a service of `pg_service.conf` says.
pub(super) fn service(
    name: &str,
    around: &Surroundings,
    given: &mut Given,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let own = match around.variable("PGSERVICEFILE") {
        Some(file) => Some((PathBuf::from(file), true)),
        None => around.at_home(".pg_service.conf").map(|file| (file, false)),
    };
    let folders = match around.variable("PGSYSCONFDIR") {
        Some(folder) => vec![folder],
        None => vec!["/etc/postgresql-common", "/etc/postgresql"],
    };
    let general = folders
        .iter()
        .map(|folder| (Path::new(folder).join("pg_service.conf"), false));
    let mut asked = Vec::new();
    for (file, is_named) in own.into_iter().chain(general) {
        asked.push(format!("`{}`", file.display()));
        let Some(text) = text(&file, is_named)? else {
            continue;
        };
        if section(name, &file, &text, given)? {
            notes.push(format!(
                "the service `{name}` of `{}` is read",
                file.display()
            ));
            return Ok(());
        }
    }
    Err(format!(
        "there is no service `{name}` in {}",
        asked.join(" or ")
    ))
}

/// Gives the settings of a section of a file of services, if there is one.
fn section(name: &str, file: &Path, text: &str, given: &mut Given) -> Result<bool, String> {
    let mut is_here = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let origin = Origin::File(file.to_owned(), at + 1);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(title) = line.strip_prefix('[') {
            if is_here {
                return Ok(true);
            }
            is_here = title.strip_suffix(']') == Some(name);
            continue;
        }
        if !is_here {
            continue;
        }
        match line
            .split_once('=')
            .map(|(name, value)| (name.trim(), value.trim()))
        {
            Some(("service", _)) => {
                return Err(origin.blame("a service cannot name another one".to_owned()));
            }
            Some((name, value)) if is_ignored(name, value) => {}
            Some((name, value)) => given.offer(name, value.to_owned(), origin),
            None => return Err(origin.blame("neither `[service]` nor `name=value`".to_owned())),
        }
    }
    Ok(is_here)
}

/// Options of MySQL's and MariaDB's clients that say where, who and how safe. The others are no business of windrow.
const OPTIONS: &[&str] = &[
    "connect-timeout",
    "database",
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

/// Options that ask for a protection which windrow does not have: to pass over them would be a false promise.
const PROTECTIONS: &[&str] = &[
    "ssl-capath",
    "ssl-cipher",
    "ssl-crl",
    "ssl-crlpath",
    "ssl-fips-mode",
    "tls-ciphersuites",
    "tls-version",
    "tls-fp",
    "ssl-fp",
];

/// Gives what an option file of MySQL or MariaDB says in `[client]` and `[windrow]`: the one that the address names, or
/// `~/.my.cnf`.
pub(super) fn options(
    scheme: Scheme,
    named: Option<String>,
    around: &Surroundings,
    given: &mut Given,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let is_named = named.is_some();
    let Some(file) = named
        .map(PathBuf::from)
        .or_else(|| around.at_home(".my.cnf"))
    else {
        return Ok(());
    };
    let shown = file.display().to_string();
    let Some(text) = text(&file, is_named)? else {
        return Ok(());
    };
    // Like MySQL's own clients.
    if fs::metadata(&file).is_ok_and(|meta| meta.permissions().mode() & 0o002 != 0) {
        notes.push(format!("`{shown}` is not read: everybody may write to it"));
        return Ok(());
    }
    // Of two lines that say something the last one counts.
    for (name, value, line) in lines(scheme, &file, &text, notes)?.into_iter().rev() {
        given.offer(&name, value, Origin::File(file.clone(), line));
    }
    notes.push(format!("`{shown}` is read"));
    Ok(())
}

fn lines(
    scheme: Scheme,
    file: &Path,
    text: &str,
    notes: &mut Vec<String>,
) -> Result<Vec<(String, String, usize)>, String> {
    let groups: &[&str] = match scheme {
        Scheme::Mariadb => &["client", "client-server", "client-mariadb", "windrow"],
        Scheme::Mysql | Scheme::Postgres => &["client", "windrow"],
    };
    let mut found = Vec::new();
    let mut is_here = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let origin = Origin::File(file.to_owned(), at + 1);
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('!') {
            notes.push(origin.blame("included files are not read".to_owned()));
            continue;
        }
        if let Some(title) = line.strip_prefix('[') {
            let Some((title, _)) = title.split_once(']') else {
                return Err(origin.blame("a group without `]`".to_owned()));
            };
            is_here = groups.contains(&title);
            continue;
        }
        if !is_here {
            continue;
        }
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name, Some(unquoted(value))),
            None => (line.split('#').next().unwrap_or_default(), None),
        };
        let name = name.trim().replace('_', "-");
        let name = name.strip_prefix("loose-").unwrap_or(&name);
        if PROTECTIONS.contains(&name) {
            return Err(origin.blame(format!("windrow has no `{name}`")));
        }
        let says_no = |value: &Option<String>| {
            value
                .as_deref()
                .is_some_and(|value| ["0", "off", "false"].contains(&&*value.to_ascii_lowercase()))
        };
        let (name, value) = match (name, value) {
            // The words of MariaDB.
            ("skip-ssl", _) => ("ssl-mode", Some("DISABLED".to_owned())),
            ("ssl", value) if says_no(&value) => ("ssl-mode", Some("DISABLED".to_owned())),
            ("ssl", _) => ("ssl-mode", Some("REQUIRED".to_owned())),
            ("ssl-verify-server-cert", value) if !says_no(&value) => {
                ("ssl-mode", Some("VERIFY_IDENTITY".to_owned()))
            }
            ("get-server-public-key", None) => ("get-server-public-key", Some("true".to_owned())),
            (name, value) => (name, value),
        };
        // A password without a value is one to ask for.
        if let Some(value) = value
            && OPTIONS.contains(&name)
        {
            found.push((name.to_owned(), value, at + 1));
        }
    }
    Ok(found)
}

/// A value without its quotes, a comment after it, and the backslashes in it.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    let quote = text
        .chars()
        .next()
        .filter(|first| ['"', '\''].contains(first));
    let mut value = String::new();
    let mut characters = text.chars().skip(usize::from(quote.is_some()));
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('b') => value.push('\u{8}'),
                Some('t') => value.push('\t'),
                Some('n') => value.push('\n'),
                Some('r') => value.push('\r'),
                Some('s') => value.push(' '),
                Some(other @ ('\\' | '"' | '\'')) => value.push(other),
                other => {
                    value.push('\\');
                    value.extend(other);
                }
            },
            character if Some(character) == quote => return value,
            '#' if quote.is_none() => return value.trim_end().to_owned(),
            _ => value.push(character),
        }
    }
    value
}
