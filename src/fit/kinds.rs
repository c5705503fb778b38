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
