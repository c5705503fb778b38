//! The passwords of `.pgpass`: a line for each `host:port:database:user:password`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The passwords of a file, in the order of its lines.
#[derive(Clone, Default)]
pub(super) struct Passwords(Vec<[String; 5]>);

impl Passwords {
    /// Reads a file as libpq does: one that is not there is no mistake, and one that others may read is left alone. The text
    /// says which of this it was.
    pub(super) fn read(file: &Path) -> (Passwords, Option<String>) {
        let shown = file.display();
        let meta = match fs::metadata(file) {
            Ok(meta) => meta,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return (Passwords::default(), None);
            }
            Err(error) => {
                return (
                    Passwords::default(),
                    Some(format!("`{shown}` is not read: {error}")),
                );
            }
        };
        if !meta.is_file() {
            return (
                Passwords::default(),
                Some(format!("`{shown}` is not read: it is not a regular file")),
            );
        }
        if meta.permissions().mode() & 0o077 != 0 {
            return (
                Passwords::default(),
                Some(format!(
                    "`{shown}` is not read: users other than its owner may read it; `chmod 0600 {shown}`"
                )),
            );
        }
        match fs::read_to_string(file) {
            Ok(text) => (
                Passwords(text.lines().filter_map(fields).collect()),
                Some(format!("`{shown}` is read")),
            ),
            Err(error) => (
                Passwords::default(),
                Some(format!("`{shown}` is not read: {error}")),
            ),
        }
    }

    /// The password of the first line that fits.
    pub(super) fn find(&self, host: (&str, u16), database: &str, user: &str) -> Option<&str> {
        let (host, port) = (host.0, host.1.to_string());
        // A socket in the usual folder is what `localhost` means in this file.
        let is_usual = ["/tmp", "/run/postgresql", "/var/run/postgresql"]
            .contains(&host.trim_end_matches('/'));
        let fits = |field: &str, value: &str| field == "*" || field == value;
        let line = self.0.iter().find(|[name, at, base, role, _]| {
            (fits(name, host) || is_usual && name == "localhost")
                && fits(at, &port)
                && fits(base, database)
                && fits(role, user)
        })?;
        Some(&line[4])
    }
}

/// The fields of a line, of which the last continues to the end. A backslash takes the next character as it is.
fn fields(line: &str) -> Option<[String; 5]> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields: [String; 5] = Default::default();
    let mut at = 0;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => fields[at].extend(characters.next()),
            ':' if at < 4 => at += 1,
            _ => fields[at].push(character),
        }
    }
    (at == 4 && !fields[4].is_empty()).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_counts() {
        let text = "# a comment: not a line\n\
                    db:5432:prod:app:one\n\
                    *:*:*:ro\\:bot:two\\:\\\\:3\n\
                    localhost:*:*:*:four\n\
                    too:few\n\
                    *:6432:*:app:five\n";
        let passwords = Passwords(text.lines().filter_map(fields).collect());
        let find = |name, port, user| passwords.find((name, port), "prod", user);
        assert_eq!(find("db", 5432, "app"), Some("one"));
        assert_eq!(find("db", 5433, "app"), None);
        assert_eq!(find("db", 6432, "app"), Some("five"));
        assert_eq!(find("other", 1, "ro:bot"), Some("two:\\:3"));
        assert_eq!(find("/run/postgresql", 5432, "x"), Some("four"));
        assert_eq!(find("/elsewhere", 5432, "x"), None);
    }
}
