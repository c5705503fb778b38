//! What a certificate says, as far as the TLS library does not ask it: old ones are of version 1, or name their server in
//! the subject alone. OpenSSL, and with it the servers' own clients, take both.

/// A certificate in parts.
pub(super) struct Certificate<'a> {
    /// What is signed.
    pub(super) signed: &'a [u8],
    /// By which algorithm.
    pub(super) algorithm: &'a [u8],
    pub(super) signature: &'a [u8],
    pub(super) issuer: &'a [u8],
    pub(super) subject: &'a [u8],
    /// The public key with its algorithm.
    pub(super) key: &'a [u8],
    /// From when and until when it is valid, as fourteen digits.
    validity: (String, String),
    /// None in version 1.
    extensions: Option<&'a [u8]>,
}

const SEQUENCE: u8 = 0x30;
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];

impl<'a> Certificate<'a> {
    /// Reads one; nothing where it is none.
    pub(super) fn read(der: &'a [u8]) -> Option<Certificate<'a>> {
        let mut outer = Reader(der).enter(SEQUENCE)?;
        let signed = outer.next()?;
        let algorithm = outer.enter(SEQUENCE)?.0;
        let signature = bits(outer.next()?.content)?;
        let mut inner = Reader(signed.content);
        // The version, which version 1 does not say, and the serial number.
        if inner.next()?.tag == 0xa0 {
            inner.next()?;
        }
        inner.next()?;
        let issuer = inner.next()?.content;
        let mut validity = inner.enter(SEQUENCE)?;
        let validity = (instant(validity.next()?)?, instant(validity.next()?)?);
        let subject = inner.next()?.content;
        let key = inner.next()?.whole;
        let mut extensions = None;
        while let Some(part) = inner.next() {
            if part.tag == 0xa3 {
                extensions = Some(Reader(part.content).enter(SEQUENCE)?.0);
            }
        }
        Some(Certificate {
            signed: signed.whole,
            algorithm,
            signature,
            issuer,
            subject,
            key,
            validity,
            extensions,
        })
    }

    /// Whether it is of version 1, or at least says no more than that could.
    pub(super) fn is_plain(&self) -> bool {
        self.extensions.is_none()
    }

    /// Whether it may sign others. Version 1 cannot say: whoever trusts such a one trusts it as an authority.
    pub(super) fn is_authority(&self) -> bool {
        self.is_plain()
            || self.extension(BASIC_CONSTRAINTS).is_some_and(|value| {
                let flag = Reader(value).enter(SEQUENCE).and_then(|mut it| it.next());
                flag.is_some_and(|flag| flag.tag == 0x01 && flag.content != [0])
            })
    }

    /// What is wrong with it at an instant of fourteen digits.
    pub(super) fn is_valid_at(&self, now: &str) -> Validity {
        if now < self.validity.0.as_str() {
            Validity::NotYet
        } else if now > self.validity.1.as_str() {
            Validity::Expired
        } else {
            Validity::Valid
        }
    }

    /// The name in the subject, where it has no others.
    pub(super) fn only_name(&self) -> Option<&str> {
        if self.extension(ALTERNATIVE_NAMES).is_some() {
            return None;
        }
        let mut found = None;
        let mut parts = Reader(self.subject);
        while let Some(part) = parts.next() {
            let mut pair = Reader(part.content).enter(SEQUENCE)?;
            if pair.next()?.content == COMMON_NAME {
                found = std::str::from_utf8(pair.next()?.content).ok();
            }
        }
        found
    }

    /// The algorithm of the key and the key itself.
    pub(super) fn key_parts(&self) -> Option<(&'a [u8], &'a [u8])> {
        let mut key = Reader(self.key).enter(SEQUENCE)?;
        let algorithm = key.enter(SEQUENCE)?.0;
        Some((algorithm, bits(key.next()?.content)?))
    }

    fn extension(&self, id: &[u8]) -> Option<&[u8]> {
        let mut extensions = Reader(self.extensions?);
        while let Some(extension) = extensions.next() {
            let mut parts = Reader(extension.content);
            if parts.next()?.content == id {
                // A flag may be between them.
                let mut last = parts.next()?;
                while let Some(part) = parts.next() {
                    last = part;
                }
                return Some(last.content);
            }
        }
        None
    }
}

/// Whether a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Validity {
    Valid,
    NotYet,
    Expired,
}

/// Whether a name of a certificate is that of a host. A star means one part, the first.
pub(super) fn is_name_of(name: &str, host: &str) -> bool {
    let (name, host) = (name.to_ascii_lowercase(), host.to_ascii_lowercase());
    match name.strip_prefix("*.") {
        Some(rest) => host
            .split_once('.')
            .is_some_and(|(first, behind)| !first.is_empty() && behind == rest),
        None => !name.is_empty() && name == host,
    }
}

struct Part<'a> {
    tag: u8,
    content: &'a [u8],
    whole: &'a [u8],
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<Part<'a>> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first & 0x7f);
        if first & 0x80 != 0 {
            let digits = rest.get(..length).filter(|digits| digits.len() <= 4)?;
            rest = &rest[length..];
            length = digits
                .iter()
                .fold(0, |number, &digit| number << 8 | usize::from(digit));
        }
        let content = rest.get(..length)?;
        let whole = &self.0[..self.0.len() - rest.len() + length];
        self.0 = &rest[length..];
        Some(Part {
            tag,
            content,
            whole,
        })
    }

    fn enter(&mut self, tag: u8) -> Option<Reader<'a>> {
        self.next()
            .filter(|part| part.tag == tag)
            .map(|part| Reader(part.content))
    }
}

/// A string of whole bytes.
fn bits(content: &[u8]) -> Option<&[u8]> {
    content.strip_prefix(&[0])
}

/// `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ` as fourteen digits.
fn instant(part: Part<'_>) -> Option<String> {
    let digits = std::str::from_utf8(part.content).ok()?.strip_suffix('Z')?;
    let digits = match digits.len() {
        12 if digits < "50" => format!("20{digits}"),
        12 => format!("19{digits}"),
        14 => digits.to_owned(),
        _ => return None,
    };
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_one_part() {
        for (name, host, is) in [
            ("db", "DB", true),
            ("db", "db.example.org", false),
            ("*.example.org", "db.example.org", true),
            ("*.example.org", "a.db.example.org", false),
            ("*.example.org", "example.org", false),
            ("*.example.org", ".example.org", false),
            ("*", "db", false),
            ("", "", false),
        ] {
            assert_eq!(is_name_of(name, host), is, "{name} {host}");
        }
    }

    #[test]
    fn what_ends_early_is_no_certificate() {
        assert!(Certificate::read(&[]).is_none());
        assert!(Certificate::read(&[0x30, 0x82, 0x01]).is_none());
        assert!(Certificate::read(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0]).is_none());
        assert!(Certificate::read(&[0x30, 0x03, 0x30, 0x01, 0x00]).is_none());
    }
}
