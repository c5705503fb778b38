//! What an address says, in words that show no password.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::passfile::Passwords;

/// The address of a database: `postgres://user@host:5432/database?sslmode=verify-full` or
/// `mysql://user@host:3306/?ssl-mode=VERIFY_IDENTITY`.
#[derive(Clone)]
pub struct Url {
    /// Which protocol to use.
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
    /// File with the client's certificate.
    pub ssl_cert: Option<PathBuf>,
    /// File with the key of it.
    pub ssl_key: Option<PathBuf>,
    /// How long to wait for one server.
    pub connect_timeout: Duration,
    /// How long to wait for an answer, where that is bounded (MySQL).
    pub answer_timeout: Option<Duration>,
    /// Name under which the session shows in the server's list of sessions.
    pub application_name: String,
    /// Settings for the session, as `-c name=value` (PostgreSQL).
    pub options: Option<String>,
    /// Only a server that can be written to will do (`target_session_attrs=read-write`, PostgreSQL).
    pub read_write: bool,
    /// With which key a password is encrypted where TLS does not protect it (MySQL).
    pub server_key: ServerKey,
    pub(super) password: Option<String>,
    /// The password of a file that the address names, or that the servers' own clients read.
    pub(super) stored: Option<String>,
    /// File with passwords by host, until it is read.
    pub(super) passfile: Option<PathBuf>,
    /// Passwords by host.
    pub(super) passwords: Passwords,
    /// What was read besides the address, or was not, as lines for an error.
    pub(super) notes: Vec<String>,
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
    /// It is in this file (`server-public-key-path`).
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
    /// Plain text, but TLS where the server wants it (PostgreSQL).
    Allow,
    /// TLS if it can be had, else plain text.
    Prefer,
    /// TLS; the certificate is looked at only where there is a file of authorities (PostgreSQL).
    Require,
    /// TLS with a certificate of a trusted authority. On MySQL and MariaDB, the driver trusts the public authorities
    /// besides `ssl-ca`; only `VERIFY_IDENTITY` then proves whose certificate it is.
    VerifyCa,
    /// TLS with a trusted certificate for the very host.
    VerifyFull,
}

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

    pub(super) fn of(text: &str) -> Option<(Scheme, &str)> {
        [
            ("postgres://", Scheme::Postgres),
            ("postgresql://", Scheme::Postgres),
            ("mysql://", Scheme::Mysql),
            ("mariadb://", Scheme::Mariadb),
        ]
        .into_iter()
        .find_map(|(prefix, scheme)| Some((scheme, text.strip_prefix(prefix)?)))
    }

    pub(super) const fn example(self) -> &'static str {
        match self {
            Scheme::Postgres => {
                "write it as `postgres://user@host:5432/database`; the password may come from PGPASSWORD, `.pgpass` or --password-file"
            }
            Scheme::Mysql | Scheme::Mariadb => {
                "write it as `mysql://user@host:3306/` or `mysql://user@localhost/?socket=/run/mysqld/mysqld.sock`; \
                 the password may come from MYSQL_PWD, `.my.cnf` or --password-file"
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
        self.password.as_deref().or(self.stored.as_deref())
    }

    /// The password for one of the servers, for the driver alone.
    pub fn password_for(&self, host: &Host) -> Option<&str> {
        self.password().or_else(|| {
            self.passwords
                .find((&host.name, host.port), &self.database, &self.user)
        })
    }

    /// What else was read than the address, and what was not and why, as lines for an error.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Sets the password where the address has none.
    pub fn or_password(mut self, password: Option<String>) -> Url {
        self.password = self.password.or(password);
        self
    }

    /// Sets the password where neither the address nor a file of settings has one.
    pub fn or_last_password(mut self, password: Option<String>) -> Url {
        self.stored = self.stored.or(password);
        self
    }
}

impl Host {
    /// Whether this is a Unix socket.
    pub fn is_socket(&self) -> bool {
        self.name.starts_with('/')
    }
}

impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}://{}", self.scheme, self.user)?;
        if self.password().is_some() {
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
