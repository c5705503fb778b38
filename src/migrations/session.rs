//! The session of a runner continues after a migration: its settings are saved before, and restored at the end.

use super::text::Line;
use crate::dialect::Dialect;

/// Where a version is installed.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The server.
    pub(super) dialect: Dialect,
    /// Name of the control schema.
    pub(super) control: String,
    /// Name of its owner role.
    pub(super) owner: String,
    /// Name of the schema, on MySQL and MariaDB of the database, of the application.
    pub(super) home: String,
}

/// What the files set in a session of PostgreSQL.
const TOLD: [&str; 4] = ["role", "search_path", "lock_timeout", "statement_timeout"];

/// What only windrow's own statements read.
const OWN: [&str; 4] = ["document", "archived", "joined", "before"];

/// What the files set in a session of MySQL and MariaDB.
const VARIABLES: [&str; 13] = [
    "character_set_client",
    "character_set_results",
    "collation_connection",
    "time_zone",
    "autocommit",
    "lock_wait_timeout",
    "sql_safe_updates",
    "sql_mode",
    "sql_big_selects",
    "sql_buffer_result",
    "max_sort_length",
    "group_concat_max_len",
    // MariaDB has these two besides.
    "sql_if_exists",
];

/// The statements of a migration in a session that is afterwards as it was before.
pub(super) fn kept(place: &Place, lines: Vec<Line>) -> Vec<Line> {
    let (mut whole, end) = match place.dialect {
        Dialect::Postgres => (vec![noted()], told_again()),
        Dialect::Mysql | Dialect::Mariadb => (at_home(place), back(place)),
    };
    whole.extend(lines.into_iter().map(|line| match place.dialect {
        Dialect::Postgres => restored(line),
        Dialect::Mysql | Dialect::Mariadb => line,
    }));
    whole.extend(end);
    whole
}

/// PostgreSQL: the settings of the session.
fn noted() -> Line {
    let settings = TOLD.map(|name| format!("'{name}', pg_catalog.current_setting('{name}')"));
    Line::new(
        "note what the session was told",
        format!(
            "DO $windrow$\nBEGIN\n    \
             PERFORM pg_catalog.set_config('windrow.before', pg_catalog.jsonb_build_object(\n        {}\n    )::text, false);\n\
             END\n$windrow$",
            settings.join(",\n        ")
        ),
    )
}

/// PostgreSQL: some of them, restored.
fn tell(what: &str, names: &[&str]) -> Line {
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    Line::new(
        what,
        format!(
            "DO $windrow$\nBEGIN\n    PERFORM pg_catalog.set_config(s.key, s.value, false)\n    \
             FROM pg_catalog.jsonb_each_text(pg_catalog.current_setting('windrow.before')::pg_catalog.jsonb) AS s\n    \
             WHERE s.key IN ({});\nEND\n$windrow$",
            names.join(", ")
        ),
    )
}

/// A statement that sets what an installation has set back to what the server says: what the runner had said counts here.
fn restored(line: Line) -> Line {
    match line.what.as_str() {
        "become who installs" => tell(&line.what, &["role"]),
        "look where who installs looks" => tell(&line.what, &["search_path"]),
        "reset what waits are limited by" => {
            tell(&line.what, &["lock_timeout", "statement_timeout"])
        }
        _ => line,
    }
}

/// PostgreSQL: all of it, and nothing of windrow's own.
fn told_again() -> Vec<Line> {
    let mut lines = vec![tell("tell the session again what it was told", &TOLD)];
    let own = OWN.map(|name| Line::new("forget it", format!("RESET windrow.{name}")));
    lines.extend(own);
    lines
}

/// The variables of a server that a migration changes.
fn variables(dialect: Dialect) -> Vec<&'static str> {
    let mut names = VARIABLES.to_vec();
    if dialect == Dialect::Mariadb {
        names.push("alter_algorithm");
    } else {
        names.pop();
    }
    names
}

/// MySQL and MariaDB: the session must be in the database that it goes back to, since a statement cannot look that up.
fn at_home(place: &Place) -> Vec<Line> {
    let dialect = place.dialect;
    let refused = format!("refused: connect to the database {}", place.home).replace('`', "");
    let settings = variables(dialect)
        .into_iter()
        .map(|name| format!("@windrow_before_{name} = @@SESSION.{name}"));
    vec![
        Line::new(
            "look in which database the session is",
            format!(
                "SET @windrow_statement = IF(DATABASE() = {}, 'DO 0', {})",
                dialect.text(&place.home),
                dialect.text(&format!("DO `{refused}`"))
            ),
        ),
        Line::new(
            "parse it",
            "PREPARE windrow_statement FROM @windrow_statement",
        ),
        Line::new("forget it", "DEALLOCATE PREPARE windrow_statement"),
        Line::new(
            "note what the session was told",
            format!("SET {}", settings.collect::<Vec<_>>().join(",\n    ")),
        ),
    ]
}

/// MySQL and MariaDB: the settings of the session, restored, and back to the database of the application.
fn back(place: &Place) -> Vec<Line> {
    let names = variables(place.dialect);
    let settings = names
        .iter()
        .map(|name| format!("{name} = @windrow_before_{name}"));
    let own = ["statement", "document", "archived"].map(str::to_owned);
    let before = names.iter().map(|name| format!("before_{name}"));
    let own = own.into_iter().chain(before);
    let forgotten = own.map(|name| format!("@windrow_{name} = NULL"));
    vec![
        Line::new(
            "go back to the database of the application",
            format!("USE {}", place.dialect.ident(&place.home)),
        ),
        Line::new(
            "tell the session again what it was told",
            format!("SET {}", settings.collect::<Vec<_>>().join(",\n    ")),
        ),
        Line::new(
            "forget it",
            format!("SET {}", forgotten.collect::<Vec<_>>().join(",\n    ")),
        ),
    ]
}
