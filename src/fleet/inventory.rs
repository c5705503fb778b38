//! From the text of an inventory to its databases. Whatever is wrong is reported with its place.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::password::Password;
use super::target::Target;
use crate::db::url::{RawUrl, Url};
use crate::diagnostic::Diagnostic;

/// The code of all diagnostics of an inventory.
const CODE: &str = "inventory";

/// The databases of an inventory, in the order of the file.
#[derive(Debug)]
pub struct Inventory {
    targets: Vec<Target>,
}

impl Inventory {
    /// The databases that a call is about: those of the groups and of the names, of which none means all.
    ///
    /// # Errors
    ///
    /// Names a group or a name that the inventory does not have.
    pub fn select(self, groups: &[String], names: &[String]) -> Result<Vec<Target>, Unknown> {
        for group in groups {
            if !self.targets.iter().any(|it| it.groups.contains(group)) {
                let known = self.targets.iter().flat_map(|it| it.groups.clone());
                return Err(Unknown::new("group", group, known));
            }
        }
        for name in names {
            if !self.targets.iter().any(|it| it.is_named(name)) {
                let known = self.targets.iter().map(|it| it.name.clone());
                return Err(Unknown::new("server or database", name, known));
            }
        }
        let mut targets = self.targets;
        targets.retain(|it| {
            (groups.is_empty() || groups.iter().any(|group| it.groups.contains(group)))
                && (names.is_empty() || names.iter().any(|name| it.is_named(name)))
        });
        Ok(targets)
    }
}

/// A group or a name that is not in the inventory.
#[derive(Debug)]
pub struct Unknown {
    /// What it would be.
    pub kind: &'static str,
    /// The word.
    pub word: String,
    /// What there is.
    pub known: Vec<String>,
}

impl Unknown {
    fn new(kind: &'static str, word: &str, known: impl Iterator<Item = String>) -> Unknown {
        let mut known: Vec<String> = known.collect();
        known.sort();
        known.dedup();
        Unknown {
            kind,
            word: word.to_owned(),
            known,
        }
    }
}

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The spec of servers that name none.
    spec: Option<Spanned<String>>,
    /// The servers.
    server: Vec<Server>,
}

/// A server as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    name: Spanned<String>,
    url: Spanned<String>,
    #[serde(default)]
    groups: Vec<String>,
    /// The databases of the server; without them it is the one of the address.
    databases: Option<Spanned<Vec<String>>>,
    spec: Option<Spanned<String>>,
    password_env: Option<Spanned<String>>,
    password_file: Option<Spanned<PathBuf>>,
    password_command: Option<Spanned<String>>,
}

/// Reads an inventory; files that it names are looked for in `folder`.
///
/// # Errors
///
/// Everything that is wrong with the text.
pub fn parse(text: &str, folder: &Path) -> Result<Inventory, Vec<Diagnostic>> {
    let file: File = toml::from_str(text).map_err(|error| {
        let help = "an inventory has `spec`, and for each server `[[server]]` with `name`, `url`, and where needed `databases`, \
                    `groups`, `spec`, `password_env`, `password_file` or `password_command`";
        let span = error.span().unwrap_or(0..0);
        let message = without_text(error.message());
        vec![Diagnostic::error(CODE, span, message, help)]
    })?;
    let mut reader = Reader {
        folder,
        spec: file.spec.as_ref(),
        names: BTreeSet::new(),
        taken: BTreeSet::new(),
        wrong: Vec::new(),
    };
    let mut targets = Vec::new();
    for server in &file.server {
        targets.extend(reader.targets(server));
    }
    if targets.is_empty() && reader.wrong.is_empty() {
        reader.error(0..0, "the inventory has no server", "add a `[[server]]`");
    }
    match reader.wrong.is_empty() {
        true => Ok(Inventory { targets }),
        false => Err(reader.wrong),
    }
}

/// The words before a value that an excerpt shows.
const FIELDS: [&str; 9] = [
    "[[server]]",
    "spec",
    "name",
    "url",
    "groups",
    "databases",
    "password_env",
    "password_file",
    "password_command",
];

/// The text of an inventory as an excerpt may show it: each value is as long as it was and cannot be read, and neither can a
/// comment, for it may be a password or hold one.
pub fn without_values(text: &str) -> String {
    let mut shown = String::new();
    for line in text.split_inclusive('\n') {
        let field = line.split('=').next().unwrap_or_default();
        let known = match FIELDS.contains(&field.trim()) {
            true => field.len(),
            false => 0,
        };
        let (field, value) = line.split_at(known);
        shown.push_str(field);
        for letter in value.chars() {
            match letter.is_whitespace() || "=\"'[]{},".contains(letter) {
                true => shown.push(letter),
                // The places behind it stay what they are.
                false => shown.extend(std::iter::repeat_n('*', letter.len_utf8())),
            }
        }
    }
    shown
}

/// What the reader of TOML says, without the text that it read: that may be an address with a password.
fn without_text(message: &str) -> String {
    match (message.find("string \""), message.rfind('"')) {
        (Some(from), Some(to)) => format!("{}string{}", &message[..from], &message[to + 1..]),
        _ => message.to_owned(),
    }
}

struct Reader<'a> {
    folder: &'a Path,
    spec: Option<&'a Spanned<String>>,
    names: BTreeSet<String>,
    /// The specs of each server of MySQL or MariaDB.
    taken: BTreeSet<(String, PathBuf)>,
    wrong: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn error(&mut self, span: std::ops::Range<usize>, message: &str, help: &str) {
        self.wrong
            .push(Diagnostic::error(CODE, span, message, help));
    }

    fn targets(&mut self, server: &Server) -> Vec<Target> {
        let name = server.name.get_ref();
        let known = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
        if name.is_empty() || !name.chars().all(known) {
            self.error(
                server.name.span(),
                "a server is named by letters, digits, `-`, `_` and `.`",
                "the name is yours to choose: it is shown in the table of `windrow fleet`",
            );
        } else if !self.names.insert(name.clone()) {
            let message = format!("two servers are called `{name}`");
            self.error(server.name.span(), &message, "give each a name of its own");
        }
        let place = self.address(server);
        let password = self.password(server);
        let Some(spec) = server.spec.as_ref().or(self.spec) else {
            self.error(
                server.name.span(),
                "the server has no spec",
                "write `spec = \"FILE\"` here, or above the servers for all of them",
            );
            return Vec::new();
        };
        let target = |database: Option<&String>| Target {
            name: database.map_or(name.clone(), |it| format!("{name}/{it}")),
            server: name.clone(),
            place: place.clone(),
            groups: server.groups.clone(),
            spec: self.folder.join(
                spec.get_ref()
                    .replace("{server}", name)
                    .replace("{database}", database.map_or("", String::as_str)),
            ),
            url: database.map_or(server.url.get_ref().clone(), |it| {
                with_database(server.url.get_ref(), it)
            }),
            password: password.clone(),
        };
        let targets: Vec<Target> = match &server.databases {
            None => vec![target(None)],
            Some(list) => list.get_ref().iter().map(|it| target(Some(it))).collect(),
        };
        self.apart(server, spec, &targets);
        targets
    }

    /// A spec of MySQL or MariaDB names its database, whatever the address says: two databases of a server with one spec would be
    /// the same one, twice.
    fn apart(&mut self, server: &Server, spec: &Spanned<String>, targets: &[Target]) {
        let of = |scheme: &str| server.url.get_ref().starts_with(scheme);
        if !of("mysql://") && !of("mariadb://") {
            return;
        }
        let mut shared = false;
        for target in targets.iter().filter(|it| !it.place.is_empty()) {
            // One that is not there is an error of whoever reads it.
            let real = fs::canonicalize(&target.spec).unwrap_or_else(|_| target.spec.clone());
            shared |= !self.taken.insert((target.place.clone(), real));
        }
        let named_twice = server.databases.as_ref().is_some_and(|list| {
            let names = list.get_ref();
            names.iter().collect::<BTreeSet<_>>().len() < names.len()
        });
        if shared && !named_twice {
            let apart = match server.databases {
                Some(_) => "specs/{database}.toml",
                None => "specs/{server}.toml",
            };
            let help = format!(
                "on MySQL and MariaDB a spec names its database, whatever the address says: write `spec = \"{apart}\"`, \
                 and in each of these files a `name` and a `database` of its own"
            );
            let told = "two databases of one server have the same spec, which names one of them";
            self.error(spec.span(), told, &help);
        }
    }

    /// Looks at the address, and at the databases that replace the one in it. The place of the server.
    fn address(&mut self, server: &Server) -> String {
        let text = server.url.get_ref();
        let raw: RawUrl = match text.parse() {
            Ok(raw) => raw,
            Err(never) => match never {},
        };
        let span = server.url.span();
        let mut place = String::new();
        if raw.holds_password() {
            self.error(
                span.clone(),
                "the address of the server holds a password",
                "leave it out, and write `password_env`, `password_file` or `password_command`",
            );
        } else if !text.contains("://") {
            let help = "write `postgres://user@host/database` or `mysql://user@host/database`";
            self.error(span.clone(), "the address is none", help);
        } else {
            match raw.parse() {
                Ok(url) => place = place_of(&url),
                Err(error) => {
                    self.error(span.clone(), &error.to_string(), &error.hints().join("; "))
                }
            }
        }
        let (_, path, query) = parts(text);
        let given = !path.trim_start_matches('/').is_empty() || names_database(query);
        match &server.databases {
            None if !given => self.error(
                span,
                "the address names no database",
                "write it behind the host: `postgres://user@host/database`; or list `databases`",
            ),
            Some(list) if given => self.error(
                list.span(),
                "the address names a database, too",
                "leave it out of the address, or list no databases",
            ),
            Some(list) => {
                let names = list.get_ref();
                if names.is_empty() || names.iter().any(String::is_empty) {
                    let help = "name each database of the server";
                    self.error(list.span(), "a database without a name", help);
                } else if names.iter().collect::<BTreeSet<_>>().len() < names.len() {
                    self.error(list.span(), "a database is named twice", "name it once");
                }
            }
            None => {}
        }
        place
    }

    fn password(&mut self, server: &Server) -> Password {
        let sources = [
            server.password_env.as_ref().map(|it| {
                let name = it.get_ref().clone();
                (it.span(), Password::Variable(name))
            }),
            server.password_file.as_ref().map(|it| {
                let path = self.folder.join(it.get_ref());
                (it.span(), Password::File(path))
            }),
            server.password_command.as_ref().map(|it| {
                let command = it.get_ref().clone();
                (it.span(), Password::Command(command))
            }),
        ];
        let mut sources = sources.into_iter().flatten();
        let Some((_, password)) = sources.next() else {
            return Password::Elsewhere;
        };
        if let Some((span, _)) = sources.next() {
            self.error(
                span,
                "the password comes from two places",
                "leave one of `password_env`, `password_file` and `password_command`",
            );
        }
        password
    }
}

/// The hosts and ports of an address, or the socket.
fn place_of(url: &Url) -> String {
    let hosts = url.hosts.iter();
    let places = hosts.map(|it| format!("{}:{}", it.name.to_ascii_lowercase(), it.port));
    places.collect::<Vec<_>>().join(",")
}

/// An address in three parts: scheme and host, path, query.
fn parts(url: &str) -> (&str, &str, &str) {
    let (url, query) = match url.find('?') {
        Some(at) => url.split_at(at),
        None => (url, ""),
    };
    let host = url.find("://").map_or(0, |at| at + 3);
    match url[host..].find('/') {
        Some(at) => {
            let (before, path) = url.split_at(host + at);
            (before, path, query)
        }
        None => (url, "", query),
    }
}

/// Whether the query of an address names a database: it would count more than the path.
fn names_database(query: &str) -> bool {
    query
        .split(['?', '&'])
        .any(|pair| pair.starts_with("dbname="))
}

/// The address of another database of the same server.
fn with_database(url: &str, database: &str) -> String {
    let (before, _, query) = parts(url);
    let mut path = String::new();
    for byte in database.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => path.push(byte.into()),
            _ => path += &format!("%{byte:02X}"),
        }
    }
    format!("{before}/{path}{query}")
}
