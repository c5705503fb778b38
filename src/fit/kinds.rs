//! The types of columns as a server prints them, and as a spec declares them.

use crate::catalog::CatalogColumn;
use crate::dialect::Dialect;
use crate::graph::Kind;

/// The kind of a type as the server prints it.
pub(super) fn kind_of(printed: &str) -> Option<Kind> {
    let bare = printed.split('(').next().unwrap_or(printed).trim();
    Some(match bare {
        "smallint" => Kind::Smallint,
        "integer" => Kind::Integer,
        "bigint" => Kind::Bigint,
        "uuid" => Kind::Uuid,
        "numeric" => Kind::Numeric,
        "character varying" | "text" | "name" => Kind::Varchar,
        "character" => Kind::Char,
        "bytea" => Kind::Bytea,
        // `timestamp(3) with time zone` has its precision in the middle.
        "timestamp" | "timestamp with time zone" | "timestamp without time zone"
            if printed.ends_with("with time zone") =>
        {
            Kind::Timestamptz
        }
        "timestamp" | "timestamp without time zone" => Kind::Timestamp,
        _ => return None,
    })
}

/// How a server prints values of a type, as an example, where it prints none like this text.
pub(super) fn printed_as(dialect: Dialect, printed: &str, text: &str) -> Option<String> {
    let postgres = dialect == Dialect::Postgres;
    if postgres && (text.ends_with("infinity") || text.ends_with(" BC")) {
        return None;
    }
    let bare = printed.split('(').next().unwrap_or(printed).trim();
    // A digit stands for any, and what follows `.` is a fraction of a second.
    let is_like = |text: &str, form: &str| {
        let alike = |(sign, of): (char, char)| match of {
            '0' => sign.is_ascii_digit(),
            _ => sign == of,
        };
        text.len() == form.len() && text.chars().zip(form.chars()).all(alike)
    };
    let (day, second) = ("0000-00-00", "0000-00-00 00:00:00");
    let digits = printed
        .split(['(', ')'])
        .nth(1)
        .and_then(|it| it.parse().ok());
    let (form, prints) = match bare {
        "bytea" if postgres => {
            let hex = |sign: char| sign.is_ascii_digit() || ('a'..='f').contains(&sign);
            let bytes = text.strip_prefix("\\x");
            let prints = bytes.is_some_and(|it| it.len() % 2 == 0 && it.chars().all(hex));
            ("\\x01ab".to_owned(), prints)
        }
        "boolean" if postgres => ("true".to_owned(), ["true", "false"].contains(&text)),
        "date" => ("2026-11-23".to_owned(), is_like(text, day)),
        _ if postgres => {
            let zone = match kind_of(printed)? {
                Kind::Timestamp => "",
                Kind::Timestamptz => "+00",
                _ => return None,
            };
            let time = text.strip_suffix(zone);
            let prints = time.is_some_and(|time| {
                let (time, fraction) = time.split_once('.').unwrap_or((time, "1"));
                is_like(time, second)
                    && is_like(fraction, &"0".repeat(fraction.len().min(6)))
                    && !fraction.ends_with('0')
            });
            (format!("2026-11-23 10:00:00{zone}"), prints)
        }
        "datetime" | "timestamp" => {
            let fraction = match digits.unwrap_or(0) {
                0 => String::new(),
                digits => format!(".{}", "0".repeat(digits)),
            };
            let prints = is_like(text, &format!("{second}{fraction}"));
            (format!("2026-11-23 10:00:00{fraction}"), prints)
        }
        _ => return None,
    };
    (!prints).then_some(form)
}

/// The name of a type in a spec for a server.
pub fn kind_name(kind: Kind, dialect: Dialect) -> &'static str {
    match kind {
        Kind::Smallint => "smallint",
        Kind::Integer => "integer",
        Kind::Bigint => "bigint",
        Kind::Uuid => "uuid",
        Kind::Numeric => "numeric",
        Kind::Varchar => "varchar",
        Kind::Char => "char",
        Kind::Bytea if dialect != Dialect::Postgres => "binary",
        Kind::Bytea => "bytea",
        Kind::Timestamp => "timestamp",
        Kind::Timestamptz => "timestamptz",
    }
}

/// A name within the little language of a text.
pub(crate) fn small(name: &str) -> String {
    let plain = |sign: char| sign.is_alphanumeric() || sign == '_';
    if name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// Whether it is a whole number.
pub(crate) fn is_whole(kind: Kind) -> bool {
    matches!(kind, Kind::Smallint | Kind::Integer | Kind::Bigint)
}

/// Whether it is a number that has a fraction, or may have one, and can say an instant.
pub(crate) fn has_fractions(dialect: Dialect, column: &CatalogColumn) -> bool {
    let printed = column.kind.to_ascii_lowercase();
    match dialect {
        Dialect::Postgres => {
            let bare = printed.split('(').next().unwrap_or_default();
            ["numeric", "real", "double precision"].contains(&bare)
        }
        Dialect::Mysql | Dialect::Mariadb => {
            let bare = printed.split(['(', ' ']).next().unwrap_or_default();
            ["decimal", "double"].contains(&bare)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_server_prints_is_known() {
        let zoned = "timestamp(3) with time zone";
        for (dialect, kind, printed, others) in [
            (
                Dialect::Postgres,
                "bytea",
                vec!["\\x", "\\x01ab"],
                vec!["\\001", "\\x01AB", "\\x1", "01ab", ""],
            ),
            (
                Dialect::Postgres,
                "boolean",
                vec!["true", "false"],
                vec!["t", "TRUE", "1"],
            ),
            (
                Dialect::Postgres,
                "date",
                vec!["2026-11-23", "infinity", "0044-03-15 BC"],
                vec!["23.11.2026", "2026-1-2"],
            ),
            (
                Dialect::Postgres,
                zoned,
                vec!["2026-11-23 10:00:00+00", "2026-11-23 10:00:00.25+00"],
                vec![
                    "2026-11-23T10:00:00Z",
                    "2026-11-23 10:00:00",
                    "2026-11-23 10:00:00.250+00",
                ],
            ),
            (
                Dialect::Postgres,
                "timestamp without time zone",
                vec!["2026-11-23 10:00:00", "-infinity"],
                vec!["2026-11-23 10:00", "2026-11-23 10:00:00+00"],
            ),
            (
                Dialect::Postgres,
                "interval",
                vec!["1 day", "whatever"],
                vec![],
            ),
            (
                Dialect::Mysql,
                "datetime(6)",
                vec!["2026-11-23 10:00:00.250000"],
                vec!["2026-11-23 10:00:00", "2026-11-23"],
            ),
            (
                Dialect::Mariadb,
                "timestamp",
                vec!["2026-11-23 10:00:00"],
                vec!["2026-11-23 10:00:00.0"],
            ),
            (
                Dialect::Mariadb,
                "date",
                vec!["0000-00-00"],
                vec!["20261123"],
            ),
            (Dialect::Mysql, "json", vec!["[1, 2]", "[1,2]"], vec![]),
        ] {
            for text in printed {
                assert_eq!(printed_as(dialect, kind, text), None, "{kind} {text}");
            }
            for text in others {
                assert!(printed_as(dialect, kind, text).is_some(), "{kind} {text}");
            }
        }
    }

    #[test]
    fn printed_types_are_known() {
        let kinds = [
            "integer",
            "character varying(64)",
            "timestamp(3) without time zone",
            "timestamp(3) with time zone",
        ];
        assert_eq!(
            kinds.map(kind_of),
            [
                Some(Kind::Integer),
                Some(Kind::Varchar),
                Some(Kind::Timestamp),
                Some(Kind::Timestamptz)
            ]
        );
        assert_eq!(kind_of("timestamp with time zone"), Some(Kind::Timestamptz));
        assert_eq!(kind_of("jsonb"), None);
    }
}
