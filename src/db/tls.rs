//! TLS; the only file that knows the library. What is checked is what libpq checks.

use std::error::Error;
use std::fmt;
use std::fs;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::ParsedCertificate;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore,
    SignatureScheme,
};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

use self::der::{Certificate, Validity, is_name_of};
use crate::failure::Failure;

mod der;

/// Whose certificates are trusted.
pub(super) enum Authority<'a> {
    /// Any certificate will do: nobody looks.
    Unasked,
    /// The authorities of this system.
    System,
    /// Those in a file.
    File(&'a Path),
}

/// What a connection has to prove, and what it shows of itself.
pub(super) struct Terms<'a> {
    pub(super) authority: Authority<'a>,
    /// The certificate must be for the very host.
    pub(super) host: bool,
    /// The client's certificate and its key.
    pub(super) identity: Option<(&'a Path, &'a Path)>,
}

/// Makes connections over TLS for the driver of PostgreSQL.
#[derive(Clone)]
pub(super) struct Connector(Arc<ClientConfig>);

impl Connector {
    /// Reads the files that the terms name.
    pub(super) fn new(terms: &Terms<'_>) -> anyhow::Result<Connector> {
        let cannot = |error| Failure::new("cannot set up TLS").caused_by(error);
        let provider = Arc::new(ring::default_provider());
        let trusted = match terms.authority {
            Authority::Unasked => Vec::new(),
            Authority::System => system()?,
            Authority::File(file) => certificates(file)?,
        };
        let mut roots = RootCertStore::empty();
        // One that the library cannot read is asked for by itself, see `Verifier::old`.
        roots.add_parsable_certificates(trusted.iter().cloned());
        let chains = (!roots.is_empty())
            .then(|| {
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                    .build()
            })
            .transpose()
            .map_err(|error| Failure::new("cannot set up TLS").caused_by(error))?;
        let verifier = Verifier {
            asks: !matches!(terms.authority, Authority::Unasked),
            host: terms.host,
            chains,
            trusted: match terms.authority {
                Authority::File(_) => trusted,
                Authority::Unasked | Authority::System => Vec::new(),
            },
            provider: Arc::clone(&provider),
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(cannot)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let config = match terms.identity {
            None => builder.with_no_client_auth(),
            Some((file, key_file)) => {
                let cannot = || {
                    Failure::new(format!(
                        "cannot use the certificate `{}` with the key `{}`",
                        file.display(),
                        key_file.display()
                    ))
                };
                let (chain, key) = identity(file, key_file)?;
                let key = ring::sign::any_supported_type(&key)
                    .map_err(|error| cannot().caused_by(error))?;
                let pair = CertifiedKey::new(chain, key);
                // Whether they belong together the library cannot say of a certificate of version 1; the server will.
                if let Err(error @ rustls::Error::InconsistentKeys(_)) = pair.keys_match() {
                    return Err(cannot().caused_by(error).into());
                }
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(pair)))
            }
        };
        Ok(Connector(Arc::new(config)))
    }
}

/// Makes the choice of the library's algorithms, which the driver of MySQL leaves open.
pub(super) fn choose_provider() {
    // Whoever was first has made the same choice.
    let _ = CryptoProvider::install_default(ring::default_provider());
}

/// The certificates of a file.
pub(super) fn certificates(file: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let cannot = || format!("cannot read the certificates of `{}`", file.display());
    let bytes = fs::read(file).map_err(|error| Failure::new(cannot()).caused_by(error))?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::new(cannot()).caused_by(error))?;
    if !found.is_empty() {
        return Ok(found);
    }
    if Certificate::read(&bytes).is_some() {
        return Ok(vec![CertificateDer::from(bytes)]);
    }
    Err(Failure::new(cannot())
        .caused_by(Failure::new("there is none in PEM or DER form"))
        .into())
}

/// A client's certificate, with those that lead from it to its authority, and its key.
pub(super) fn identity(
    file: &Path,
    key_file: &Path,
) -> anyhow::Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let chain = certificates(file)?;
    let cannot = || format!("cannot read the key `{}`", key_file.display());
    let bytes = fs::read(key_file).map_err(|error| Failure::new(cannot()).caused_by(error))?;
    if String::from_utf8_lossy(&bytes).contains("ENCRYPTED") {
        return Err(Failure::new(cannot())
            .caused_by(Failure::new("it is encrypted with a passphrase"))
            .hint("windrow does not ask for it: use an unencrypted key that its file's mode protects (`openssl pkey -in KEY -out FILE`)")
            .into());
    }
    let key = PrivateKeyDer::from_pem_slice(&bytes)
        .or_else(|error| PrivateKeyDer::try_from(bytes).map_err(|_| error))
        .map_err(|error| Failure::new(cannot()).caused_by(error))?;
    Ok((chain, key))
}

/// The certificates that this system trusts.
fn system() -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let found = rustls_native_certs::load_native_certs();
    if !found.certs.is_empty() {
        return Ok(found.certs);
    }
    let failure = Failure::new("this system trusts no certificate authority")
        .hint("install its certificates (the package `ca-certificates`), or name a file of them");
    Err(match found.errors.into_iter().next() {
        Some(error) => failure.caused_by(error),
        None => failure,
    }
    .into())
}

/// What the library says of a connection that came to nothing, where that is why.
pub(super) fn words(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<TlsFailure>() {
        return Some(error.0.clone());
    }
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return Some(told(error));
    }
    words(error.downcast_ref::<io::Error>()?.get_ref()?)
}

fn told(error: &rustls::Error) -> String {
    use CertificateError as Wrong;
    let server = "the server's certificate";
    match error {
        rustls::Error::InvalidCertificate(wrong) => match wrong {
            Wrong::UnknownIssuer => {
                format!("{server} is not signed by a certificate authority that is trusted here")
            }
            Wrong::Expired | Wrong::ExpiredContext { .. } => format!("{server} has expired"),
            Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => {
                format!("{server} is not valid yet")
            }
            Wrong::NotValidForName => format!("{server} is for another host"),
            Wrong::NotValidForNameContext {
                expected,
                presented,
            } if !presented.is_empty() => format!(
                "{server} is not for `{}` (it names {})",
                expected.to_str(),
                presented
                    .iter()
                    // `DnsName("db")`, as the library shows it, is `db`.
                    .map(|name| format!("`{}`", name.split('"').nth(1).unwrap_or(name)))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            Wrong::NotValidForNameContext { expected, .. } => format!(
                "{server} is not for `{}` (it names no host)",
                expected.to_str()
            ),
            Wrong::Other(why) if why.to_string().contains("CaUsedAsEndEntity") => format!(
                "{server} is an authority itself, or signed by itself, and is not trusted here"
            ),
            Wrong::Other(why) if why.to_string().contains("UnsupportedCertVersion") => format!(
                "{server} is of an old version (X.509 v1), and no authority that is trusted here has signed it"
            ),
            other => format!("{server} is not accepted: {other}"),
        },
        rustls::Error::AlertReceived(
            alert @ (AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown
            | AlertDescription::DecryptError
            | AlertDescription::AccessDenied),
        ) => format!("the server refuses the client's certificate, or wants one ({alert:?})"),
        other => other.to_string(),
    }
}

/// Why there is no TLS.
#[derive(Debug)]
pub(super) struct TlsFailure(String);

impl fmt::Display for TlsFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Error for TlsFailure {}

/// Looks at a server's certificate as libpq does.
#[derive(Debug)]
struct Verifier {
    /// Whether anybody asks whose certificate it is.
    asks: bool,
    host: bool,
    chains: Option<Arc<WebPkiServerVerifier>>,
    /// The certificates of the file, if one was named.
    trusted: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    /// What the library does not take and OpenSSL does: a certificate that is in the file itself, and one of version 1
    /// that an authority of the file has signed.
    fn old(&self, certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), CertificateError> {
        let wrong = CertificateError::UnknownIssuer;
        let theirs = Certificate::read(certificate).ok_or(CertificateError::BadEncoding)?;
        let now = instant(now).ok_or(CertificateError::BadEncoding)?;
        let valid = |it: &Certificate<'_>| match it.is_valid_at(&now) {
            Validity::Valid => Ok(()),
            Validity::NotYet => Err(CertificateError::NotValidYet),
            Validity::Expired => Err(CertificateError::Expired),
        };
        if self
            .trusted
            .iter()
            .any(|it| it.as_ref() == certificate.as_ref())
        {
            return valid(&theirs);
        }
        if !theirs.is_plain() {
            return Err(wrong);
        }
        let ours = self.trusted.iter().filter_map(|it| Certificate::read(it));
        for authority in ours.filter(|it| it.subject == theirs.issuer && it.is_authority()) {
            if self.has_signed(&authority, &theirs) {
                valid(&authority)?;
                return valid(&theirs);
            }
        }
        Err(wrong)
    }

    fn has_signed(&self, authority: &Certificate<'_>, signed: &Certificate<'_>) -> bool {
        let Some((algorithm, key)) = authority.key_parts() else {
            return false;
        };
        let known = self.provider.signature_verification_algorithms.all;
        known.iter().any(|it| {
            it.signature_alg_id().as_ref() == signed.algorithm
                && it.public_key_alg_id().as_ref() == algorithm
                && it
                    .verify_signature(key, signed.signed, signed.signature)
                    .is_ok()
        })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        further: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        use rustls::Error::InvalidCertificate;

        if !self.asks {
            return Ok(ServerCertVerified::assertion());
        }
        let judged = match &self.chains {
            Some(chains) => chains.verify_server_cert(certificate, further, name, ocsp, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        };
        let other_name = match judged {
            Ok(yes) => return Ok(yes),
            // The chain is in order.
            Err(error @ InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) => {
                error
            }
            Err(error) => match self.old(certificate, now) {
                Ok(()) if !self.host => return Ok(ServerCertVerified::assertion()),
                Ok(()) => match ParsedCertificate::try_from(certificate)
                    .and_then(|parsed| verify_server_name(&parsed, name))
                {
                    Ok(()) => return Ok(ServerCertVerified::assertion()),
                    Err(error @ InvalidCertificate(NotValidForNameContext { .. })) => error,
                    Err(_) => NotValidForName.into(),
                },
                Err(wrong @ (CertificateError::Expired | CertificateError::NotValidYet)) => {
                    return Err(wrong.into());
                }
                Err(_) => return Err(error),
            },
        };
        if !self.host {
            return Ok(ServerCertVerified::assertion());
        }
        let subject = Certificate::read(certificate);
        match subject.as_ref().and_then(Certificate::only_name) {
            Some(only) if is_name_of(only, &name.to_str()) => Ok(ServerCertVerified::assertion()),
            Some(only) => Err(NotValidForNameContext {
                expected: name.to_owned(),
                presented: vec![only.to_owned()],
            }
            .into()),
            None => Err(other_name),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if !self.asks {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        // By the key alone: what the certificate is otherwise has been asked.
        let Some(certificate) = Certificate::read(certificate) else {
            return Err(CertificateError::BadEncoding.into());
        };
        let key = SubjectPublicKeyInfoDer::from(certificate.key);
        rustls::crypto::verify_tls13_signature_with_raw_key(message, &key, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// As fourteen digits.
fn instant(now: UnixTime) -> Option<String> {
    let now = jiff::Timestamp::from_second(i64::try_from(now.as_secs()).ok()?).ok()?;
    Some(now.strftime("%Y%m%d%H%M%S").to_string())
}

impl<S> MakeTlsConnect<S> for Connector
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Stream<S>;
    type TlsConnect = Handshake;
    type Error = TlsFailure;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, TlsFailure> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| TlsFailure(format!("`{host}` is no name of a host")))?;
        Ok(Handshake(Arc::clone(&self.0), name))
    }
}

/// A connection to one host, before it is one.
pub(super) struct Handshake(Arc<ClientConfig>, ServerName<'static>);

impl<S> TlsConnect<S> for Handshake
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Stream<S>;
    type Error = TlsFailure;
    type Future = Pin<Box<dyn Future<Output = Result<Stream<S>, TlsFailure>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let Handshake(config, name) = self;
        Box::pin(async move {
            let connector = tokio_rustls::TlsConnector::from(config);
            match connector.connect(name, stream).await {
                Ok(stream) => Ok(Stream(stream)),
                Err(error) => Err(TlsFailure(
                    words(&error).unwrap_or_else(|| format!("no TLS: {error}")),
                )),
            }
        })
    }
}

/// A connection over TLS.
pub(super) struct Stream<S>(TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> postgres::tls::TlsStream for Stream<S> {
    /// The hash of the server's certificate, by which a login proves that nobody sits between (RFC 5929).
    fn channel_binding(&self) -> ChannelBinding {
        let certificates = self.0.get_ref().1.peer_certificates();
        let Some(certificate) = certificates.and_then(<[_]>::first) else {
            return ChannelBinding::none();
        };
        let algorithm = Certificate::read(certificate).map(|it| it.algorithm);
        match algorithm.and_then(binding_hash) {
            Some(hash) => ChannelBinding::tls_server_end_point(hash(certificate)),
            None => ChannelBinding::none(),
        }
    }
}

type Hash = fn(&[u8]) -> Vec<u8>;

/// Which hash belongs to the algorithm that signed a certificate: its own, or SHA-256 in place of older ones.
fn binding_hash(algorithm: &[u8]) -> Option<Hash> {
    const RSA: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: [u8; 6] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
    // The tag and the length of the name of the algorithm.
    let id = algorithm.get(2..2 + usize::from(*algorithm.get(1)?))?;
    let sha256: Hash = |bytes| Sha256::digest(bytes).to_vec();
    let sha384: Hash = |bytes| Sha384::digest(bytes).to_vec();
    let sha512: Hash = |bytes| Sha512::digest(bytes).to_vec();
    if let Some(rest) = id.strip_prefix(&RSA) {
        return match rest {
            [4 | 5 | 11] => Some(sha256),
            [12] => Some(sha384),
            [13] => Some(sha512),
            _ => None,
        };
    }
    match id.strip_prefix(&ECDSA)? {
        [1] | [3, 2] => Some(sha256),
        [3, 3] => Some(sha384),
        [3, 4] => Some(sha512),
        _ => None,
    }
}
