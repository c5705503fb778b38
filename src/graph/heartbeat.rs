//! The table in which replicas say how far they are, for servers that cannot be asked.

use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;
use crate::facts::MAX_REPLICA_LAG;
use crate::graph::{Heartbeat, HeartbeatColumn};
use crate::spec::{Spec, in_file_order};

/// What a spec says in place of a column where windrow is to note it.
const BY_WINDROW: &str = "windrow";

/// The heartbeat of a spec; `dialects` are those that it is for.
pub(super) fn resolve(
    spec: &Spec,
    dialects: &[Dialect],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Heartbeat> {
    let for_others = dialects.iter().any(|it| *it != Dialect::Postgres);
    let Some(written) = &spec.heartbeat else {
        for (_, rule) in in_file_order(&spec.rules) {
            let lag = rule.limits.spans.get(MAX_REPLICA_LAG.name);
            if let Some(lag) = lag.filter(|_| for_others) {
                diagnostics.push(Diagnostic::error(
                    "lag-without-heartbeat",
                    lag.span(),
                    "MySQL and MariaDB do not know how far their replicas are behind",
                    "let windrow find out with `heartbeat = \"windrow\"`, or name the column in which they report it: \
                     `heartbeat = \"table.column\"`; or list the spec's servers under `dialects`",
                ));
            }
        }
        return None;
    };
    if written.get_ref() == BY_WINDROW {
        if !for_others {
            diagnostics.push(Diagnostic::warning(
                "heartbeat-of-postgres",
                written.span(),
                "PostgreSQL knows its replicas, and the spec is for no other server",
                "leave `heartbeat` out: `max_replica_lag` works without it",
            ));
        }
        return Some(Heartbeat::Windrow);
    }
    let parts: Vec<&str> = written.get_ref().split('.').collect();
    let named = |part: &&str| !part.is_empty() && !part.contains([' ', '"', '`', '\'', '\\', '%']);
    let (schema, table, column) = match parts[..] {
        [table, column] => (None, table, column),
        [schema, table, column] => (Some(schema), table, column),
        _ => (None, "", ""),
    };
    if column.is_empty() || !parts.iter().all(named) {
        diagnostics.push(Diagnostic::error(
            "malformed-text",
            written.span(),
            format!("`{}` is no column", written.get_ref().escape_debug()),
            "write `table.column` or `schema.table.column`, or `windrow`",
        ));
        return None;
    }
    Some(Heartbeat::Column(HeartbeatColumn {
        schema: schema.map(ToOwned::to_owned),
        table: table.to_owned(),
        column: column.to_owned(),
    }))
}
