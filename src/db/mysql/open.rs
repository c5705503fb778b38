//! How a connection is opened: the options of the driver, and what TLS has to prove.

use std::error::Error as _;
use std::path::PathBuf;

use mysql::ClientIdentity;
use mysql::Conn;
use mysql::DriverError;
use mysql::Error;
use mysql::Opts;
use mysql::OptsBuilder;
use mysql::SslOpts;

use crate::db::tls;
use crate::db::url::{Host, ServerKey, SslMode, Url};
use crate::failure::Failure;

/// Connects to one server, and answers with what opens another connection to it.
pub(super) fn connect(url: &Url, host: &Host) -> Result<(Conn, Opts), Error> {
    let opts = opts(url, host, ssl_opts(url, host));
    match Conn::new(opts) {
        // Like MySQL's own clients: what only prefers TLS does without where there is none to be had.
        Err(error) if url.ssl_mode == SslMode::Prefer && is_without_tls(&error) => {
            let opts = self::opts(url, host, None);
            Ok((Conn::new(opts.clone())?, opts))
        }
        Err(error) => Err(error),
        Ok(connection) => Ok((connection, self::opts(url, host, ssl_opts(url, host)))),
    }
}

fn opts(url: &Url, host: &Host, tls: Option<SslOpts>) -> Opts {
    let name = if host.name.contains(':') && !host.is_socket() {
        format!("[{}]", host.name)
    } else {
        host.name.clone()
    };
    let mut opts = OptsBuilder::new()
        .user(Some(&url.user))
        .pass(url.password())
        .db_name(Some(&url.database).filter(|name| !name.is_empty()))
        .tcp_connect_timeout(Some(url.connect_timeout))
        .read_timeout(url.answer_timeout)
        // A session may be silent for as long as a run takes: a firewall must not forget it.
        .tcp_keepalive_time_ms(Some(60_000))
        // A host means TCP; a socket is meant where it is named.
        .prefer_socket(false)
        // What leaves the cache is closed; what never was in it would stay prepared as long as the session, and counts
        // against a limit of the whole server.
        .stmt_cache_size(10)
        .connect_attrs(Some(
            [("program_name", url.application_name.as_str())].into(),
        ))
        .ssl_opts(tls)
        .server_key_path(match &url.server_key {
            ServerKey::Asked => None,
            ServerKey::File(path) => Some(path.clone()),
            // The driver would ask whoever answers for a key; a file that cannot be read makes it stop instead.
            ServerKey::Refused => Some(NO_KEY.into()),
        });
    opts = if host.is_socket() {
        opts.socket(Some(&host.name))
    } else {
        opts.ip_or_hostname(Some(name)).tcp_port(host.port)
    };
    opts.into()
}

/// No file can have this path: it goes through something that is no folder.
const NO_KEY: &str = "/dev/null/server-public-key";

/// What TLS has to prove; nothing on a socket.
fn ssl_opts(url: &Url, host: &Host) -> Option<SslOpts> {
    let (authority, identity_is_asked) = match url.ssl_mode {
        _ if host.is_socket() => return None,
        SslMode::Disable => return None,
        SslMode::Allow | SslMode::Prefer | SslMode::Require => (false, false),
        SslMode::VerifyCa => (true, false),
        SslMode::VerifyFull => (true, true),
    };
    // The driver knows the public authorities by itself; those that an administrator added to this system it is told.
    let file = url
        .ssl_root_cert
        .clone()
        .or_else(|| openssl_probe::probe().cert_file)
        .filter(|_| authority);
    let identity = url
        .ssl_cert
        .clone()
        .zip(key_file(url))
        .map(|(certificate, key)| ClientIdentity::new(certificate, key));
    Some(
        SslOpts::default()
            .with_root_cert_path(file)
            .with_client_identity(identity)
            .with_danger_accept_invalid_certs(!authority)
            .with_danger_skip_domain_validation(!identity_is_asked),
    )
}

/// The key of the client's certificate, which may be in the same file.
fn key_file(url: &Url) -> Option<PathBuf> {
    url.ssl_key.clone().or_else(|| url.ssl_cert.clone())
}

/// Reads the files of the address before the driver does, which says less of what is wrong with one.
pub(super) fn check_files(url: &Url) -> anyhow::Result<()> {
    match &url.ssl_root_cert {
        Some(file) => drop(tls::certificates(file)?),
        None if url.ssl_mode == SslMode::VerifyCa => {
            return Err(Failure::new("`ssl-mode=VERIFY_CA` needs the certificate of the certificate authority")
                .hint("add `ssl-ca=/path/to/ca.pem`, or use `ssl-mode=VERIFY_IDENTITY` with the authorities of the system")
                .into());
        }
        None => {}
    }
    match (&url.ssl_cert, key_file(url)) {
        (Some(certificate), Some(key)) => tls::identity(certificate, &key).map(drop),
        (None, Some(_)) => Err(Failure::new("`ssl-key` is given without a certificate")
            .hint("add `ssl-cert=/path/to/client.pem`")
            .into()),
        (_, None) => Ok(()),
    }
}

/// Whether a connection failed for want of TLS.
fn is_without_tls(error: &Error) -> bool {
    matches!(
        error,
        Error::DriverError(DriverError::TlsNotSupported) | Error::TlsError(_)
    ) || tls_words(error).is_some()
}

/// What TLS says, which comes as an error of reading or writing.
pub(super) fn tls_words(error: &Error) -> Option<String> {
    match error {
        Error::IoError(error) => tls::words(error),
        Error::CodecError(error) => tls::words(error.source()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_before_they_are_needed() {
        let url = |text: &str| {
            text.parse::<Url>()
                .unwrap_or_else(|error| panic!("{error}"))
        };
        assert!(check_files(&url("mysql://db/?ssl-mode=REQUIRED")).is_ok());
        assert!(check_files(&url("mysql://db/?ssl-mode=VERIFY_CA")).is_err());
        assert!(check_files(&url("mysql://db/?ssl-ca=/dev/null")).is_err());
        assert!(check_files(&url("mysql://db/?ssl-mode=VERIFY_IDENTITY")).is_ok());
    }
}
