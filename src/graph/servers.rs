//! Fields of servers that a spec is not for: nothing would read them, though their author relies on them.

use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;
use crate::spec::Spec;

/// Finds where the application's tables are said to be on servers that are not among `dialects`.
pub(super) fn check(spec: &Spec, dialects: &[Dialect], diagnostics: &mut Vec<Diagnostic>) {
    // A list without servers is an error of its own.
    if dialects.is_empty() {
        return;
    }
    let on_postgres = dialects.contains(&Dialect::Postgres);
    let elsewhere = dialects.iter().any(|it| *it != Dialect::Postgres);
    if let Some(schema) = spec.schema.as_ref().filter(|_| !on_postgres) {
        diagnostics.push(Diagnostic::error(
            "server-not-listed",
            schema.span(),
            "`schema` is for PostgreSQL, and the spec is not",
            "on MySQL and MariaDB, the tables are in the `database`: write that instead, or add `\"postgres\"` to `dialects`",
        ));
    }
    if let Some(database) = spec.database.as_ref().filter(|_| !elsewhere) {
        diagnostics.push(Diagnostic::error(
            "server-not-listed",
            database.span(),
            "`database` is for MySQL and MariaDB, and the spec is not",
            "on PostgreSQL, the tables are in the `schema` of the database that windrow connects to: write that instead, or add \
             `\"mysql\"` or `\"mariadb\"` to `dialects`",
        ));
    }
}
