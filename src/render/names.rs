//! Names, keys and instants as the servers write them.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::dialect::Dialect;
use crate::graph::{Column, Graph, Kind, Rule, TableId};

/// The name of the control schema of a spec.
pub fn control_name(graph: &Graph) -> String {
    format!("windrow_{}", graph.name.replace(['-', '.'], "_"))
}

/// The name of the lock that a run holds on MySQL and MariaDB: a name for the whole server, of at most 64 characters,
/// which MySQL compares without case.
pub fn run_lock(control: &str) -> String {
    let name = format!("{}.run", control.to_lowercase());
    if name.chars().count() <= 64 {
        name
    } else {
        format!("windrow_{}.run", hex12(control))
    }
}

/// The SHA-256 of a text in hexadecimal digits.
pub fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// The zones that a server must know by their names: those of windows, and that of the application where its clock is put
/// forward and back.
pub fn named_zones(graph: &Graph) -> BTreeSet<&str> {
    let windows = graph.windows.iter().map(|window| window.zone.as_str());
    let own = [graph.time_zone.as_str()].into_iter();
    windows
        .filter(|zone| *zone != "UTC")
        .chain(own.filter(|zone| fixed_offset(zone).is_none()))
        .collect()
}

/// The hash of what a spec says on a server, however it is laid out. An installation keeps it, so that a command knows whether it
/// was given the same spec.
pub fn meaning(graph: &Graph, dialect: Dialect) -> String {
    hex12(&format!("{:?}", graph.named_for(dialect)))
}

/// The first twelve hex digits of the SHA-256 of a text.
pub(super) fn hex12(text: &str) -> String {
    sha256(text)[..12].to_owned()
}

/// The type of a key in a work table. MySQL and MariaDB: empty where that takes over the type of the key itself, which may be without a
/// sign; not where other columns name the key (`linked`), which may be wider.
pub(super) fn id_type(dialect: Dialect, kind: Kind, linked: bool) -> &'static str {
    let whole = matches!(kind, Kind::Smallint | Kind::Integer | Kind::Bigint);
    match dialect {
        Dialect::Postgres => dialect.kind(kind),
        Dialect::Mysql | Dialect::Mariadb if linked && whole => "bigint",
        Dialect::Mysql | Dialect::Mariadb => "",
    }
}

/// On MySQL and MariaDB: before all decimals of at most 62 digits.
const LEAST_DECIMAL: &str = "-99999999999999999999999999999999999999999999999999999999999999";

/// The key before all others of its type, as a literal.
pub(super) fn least_key(dialect: Dialect, kind: Kind) -> String {
    let first = match kind {
        Kind::Smallint => "-32768",
        Kind::Integer => "-2147483648",
        Kind::Bigint => "-9223372036854775808",
        // A text there, with dashes or without.
        Kind::Uuid if dialect == Dialect::Mysql => "",
        // The column may be a text without dashes, which has no room for them.
        Kind::Uuid if dialect == Dialect::Mariadb => "00000000000000000000000000000000",
        Kind::Uuid => "00000000-0000-0000-0000-000000000000",
        Kind::Varchar | Kind::Char | Kind::Bytea => "",
        Kind::Numeric if dialect != Dialect::Postgres => LEAST_DECIMAL,
        Kind::Numeric | Kind::Timestamp | Kind::Timestamptz => "-infinity",
    };
    first_key(dialect, kind, first)
}

/// A key before all others, as a literal.
pub(super) fn first_key(dialect: Dialect, kind: Kind, first: &str) -> String {
    let number = matches!(
        kind,
        Kind::Smallint | Kind::Integer | Kind::Bigint | Kind::Numeric
    );
    if number && dialect != Dialect::Postgres {
        // A text would be compared as a floating-point number.
        return first.to_owned();
    }
    dialect.text(first)
}

/// A value of a kind that a spec lists, as a literal: numbers without quotes.
pub(super) fn listed(dialect: Dialect, kind: Kind, value: &str) -> String {
    match kind {
        Kind::Smallint | Kind::Integer | Kind::Bigint | Kind::Numeric => value.to_owned(),
        _ => dialect.text(value),
    }
}

/// The class of the advisory locks of one control schema, by which a session says that its run continues.
pub(super) fn lock_class(control: &str) -> i32 {
    let digest = Sha256::digest(control.as_bytes());
    i32::from_be_bytes([digest[0] & 0x7f, digest[1], digest[2], digest[3]])
}

/// The variable that holds the keys of a table's rows that are deleted. The position keeps two odd names apart.
pub(super) fn variable(graph: &Graph, id: TableId) -> String {
    let plain = |name: &str| -> String {
        name.chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '_'
                }
            })
            .take(48)
            .collect()
    };
    let mut names: Vec<String> = graph.tables.iter().map(|it| plain(&it.name)).collect();
    let count = |name: &str| names.iter().filter(|it| *it == name).count();
    let numbered = |at: usize, name: &String| match count(name) {
        1 => name.clone(),
        _ => format!("{name}_{at}"),
    };
    let some: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(at, name)| numbered(at, name))
        .collect();
    // A table may be called like another one with its position: then each has its own.
    if some.iter().collect::<BTreeSet<_>>().len() == some.len() {
        names = some;
    } else {
        for (at, name) in names.iter_mut().enumerate() {
            *name += &format!("_{at}");
        }
    }
    format!("k_{}", names[id.0])
}

/// Whether a batch asks if the keys of a table lie close together: they are numbers, and a rule is by the end of families, in whose
/// kernel that question is.
pub(super) fn near(graph: &Graph, id: TableId) -> bool {
    let key = graph.table(id).key.first();
    let key = key.filter(|_| graph.rules.iter().any(Rule::by_end));
    key.is_some_and(|key| matches!(key.kind, Kind::Smallint | Kind::Integer | Kind::Bigint))
}

/// The work table with the same keys.
pub(super) fn work_table(graph: &Graph, id: TableId) -> String {
    format!("work_{}", variable(graph, id))
}

/// A text that spells a value of a kind, as such a value, as an expression of MySQL.
pub(super) fn typed(kind: Kind, text: &str) -> String {
    match kind {
        Kind::Smallint | Kind::Integer | Kind::Bigint => format!("CAST({text} AS SIGNED)"),
        Kind::Numeric => format!("CAST({text} AS DECIMAL(65))"),
        Kind::Bytea => format!("UNHEX({text})"),
        _ => text.to_owned(),
    }
}

/// A value of a kind as the text by which holds and the ledger know it, as an expression of MySQL: bytes are hexadecimal digits.
pub(super) fn spelled_out(kind: Kind, value: &str) -> String {
    match kind {
        Kind::Bytea => format!("HEX({value})"),
        _ => format!("CAST({value} AS CHAR)"),
    }
}

/// A value of a kind for a column that takes texts, as an expression of MySQL.
pub(super) fn told(kind: Kind, value: &str) -> String {
    match kind {
        Kind::Bytea => spelled_out(kind, value),
        _ => value.to_owned(),
    }
}

/// The same of a key, whose columns may be several: a JSON array then.
pub(super) fn key_spelled_out(key: impl IntoIterator<Item = (Kind, String)>) -> String {
    let key: Vec<(Kind, String)> = key.into_iter().collect();
    if let [(kind, value)] = &key[..] {
        return spelled_out(*kind, value);
    }
    let parts: Vec<String> = key
        .into_iter()
        .map(|(kind, value)| told(kind, &value))
        .collect();
    format!("CAST(JSON_ARRAY({}) AS CHAR)", parts.join(", "))
}

/// A name inside a comment or inside a quoted text.
pub(super) fn escaped(dialect: Dialect, name: &str) -> String {
    let name = name.replace('\'', "''").replace(['\n', '\r'], " ");
    match dialect {
        Dialect::Postgres => name,
        Dialect::Mysql | Dialect::Mariadb => name.replace('\\', "\\\\"),
    }
}

/// Schema or database of the application's tables.
pub fn home(graph: &Graph, dialect: Dialect) -> &str {
    if dialect.facts().has_schemas {
        &graph.schema
    } else {
        &graph.database
    }
}

/// A table of the application as statements name it.
pub(super) fn table_name(graph: &Graph, dialect: Dialect, name: &str) -> String {
    dialect.qualified(home(graph, dialect), name)
}

/// `<control>_<suffix>`; where that is too long, all roles of a control schema are cut alike, with a hash of its name.
pub fn role_name(dialect: Dialect, control: &str, suffix: &str) -> String {
    const LONGEST_SUFFIX: usize = "_operator".len();
    let limit = dialect.facts().role_bytes - LONGEST_SUFFIX;
    if control.len() <= limit {
        return format!("{control}_{suffix}");
    }
    let hash = &hex12(control)[..8];
    format!("{}_{hash}_{suffix}", &control[..limit - hash.len() - 1])
}

/// The time of a rule in a row: a column, or the instant that its number or date says.
pub(super) fn time_of(rule: &Rule, row: &str, column: &Column, dialect: Dialect) -> String {
    let written = format!("{row}.{}", dialect.ident(&column.name));
    match rule.epoch {
        Some(epoch) => dialect.instant(&written, epoch),
        None => written,
    }
}

/// A time, and none where PostgreSQL has `-infinity`: applications write that for what they do not know.
pub(super) fn finite(dialect: Dialect, time: &str) -> String {
    match dialect {
        Dialect::Postgres => format!("nullif({time}, '-infinity')"),
        Dialect::Mysql | Dialect::Mariadb => time.to_owned(),
    }
}

/// That time where a zero date is no time: MySQL and MariaDB store `0000-00-00` if the mode of a session allows it.
pub(super) fn dated(rule: &Rule, time: &str, dialect: Dialect) -> String {
    match (dialect, rule.epoch) {
        (Dialect::Mysql | Dialect::Mariadb, None) => format!("NULLIF({time}, 0)"),
        _ => time.to_owned(),
    }
}

pub(super) fn is_time(kind: Kind) -> bool {
    matches!(kind, Kind::Timestamp | Kind::Timestamptz)
}

/// Whether a column of a row says a value: of a time, a zero date says none.
pub(super) fn says(row: &str, column: &Column, dialect: Dialect) -> String {
    let ident = dialect.ident(&column.name);
    match may_be_zero(column, dialect) {
        true => format!("{row}.{ident} > 0"),
        false => format!("{row}.{ident} IS NOT NULL"),
    }
}

/// The opposite.
pub(super) fn unsaid(row: &str, column: &Column, dialect: Dialect) -> String {
    let ident = dialect.ident(&column.name);
    match may_be_zero(column, dialect) {
        true => format!("NULLIF({row}.{ident}, 0) IS NULL"),
        false => format!("{row}.{ident} IS NULL"),
    }
}

fn may_be_zero(column: &Column, dialect: Dialect) -> bool {
    dialect != Dialect::Postgres && matches!(column.kind, Kind::Timestamp | Kind::Timestamptz)
}

/// The present instant on MySQL, for a view, which knows no variable and no session: NOW() is in its zone, as a TIMESTAMP is
/// when it is compared.
pub(super) fn present(kind: Kind) -> &'static str {
    match kind {
        Kind::Timestamptz => "NOW(6)",
        _ => "UTC_TIMESTAMP(6)",
    }
}

/// An instant in UTC, given as an expression of MySQL, as the application writes it.
pub(super) fn local(graph: &Graph, kind: Kind, instant: &str) -> String {
    match (kind, fixed_offset(&graph.time_zone)) {
        // A TIMESTAMP is compared in the zone of the session, which the routines set to UTC.
        (Kind::Timestamptz, _) | (_, Some(0)) => instant.to_owned(),
        (_, Some(seconds)) => format!("{instant} + INTERVAL {seconds} SECOND"),
        (_, None) => format!(
            "CONVERT_TZ({instant}, '+00:00', {})",
            Dialect::Mysql.text(&graph.time_zone)
        ),
    }
}

/// Seconds to add to UTC in a zone that has not changed its clocks since 2000; the servers know the others only where
/// someone has loaded the time zone tables.
pub(super) fn fixed_offset(zone: &str) -> Option<i32> {
    let since = jiff::Timestamp::from_second(946_684_800).ok()?;
    let zone = jiff::tz::TimeZone::get(zone).ok()?;
    zone.following(since)
        .next()
        .is_none()
        .then(|| zone.to_offset(since).seconds())
}
