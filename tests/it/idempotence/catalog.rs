//! Everything that an installation may touch, one line per fact, in a fixed order.

use windrow::dialect::Dialect;

use crate::support::installation::Session;

/// What an installation may touch, in order.
pub(crate) fn facts(
    session: &mut Session,
    dialect: Dialect,
    name: &str,
    with_bodies: bool,
) -> Vec<String> {
    let mut facts = Vec::new();
    for select in selects(dialect, name, with_bodies) {
        let rows = session
            .query(&select, &[])
            .unwrap_or_else(|error| panic!("{error:#}\n\n{select}"));
        facts.extend(rows.into_iter().flatten().flatten());
    }
    facts.sort();
    facts
}

/// What reads the facts of a database and of the control schema of a spec, `name` both of them. MariaDB's client leaves
/// out the comments of a body; the comment of a routine has a hash of the rest, which verify() compares.
pub(super) fn selects(dialect: Dialect, name: &str, with_bodies: bool) -> Vec<String> {
    match dialect {
        Dialect::Postgres => vec![POSTGRES.replace("NAME", name)],
        Dialect::Mysql | Dialect::Mariadb => innodb(name, with_bodies),
    }
}

/// Rights are listed one by one: no rights at all and the owner's own are written in several ways.
const POSTGRES: &str = "
WITH
space AS (
    SELECT oid, nspname, nspowner, nspacl FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
),
grants (what, owner, acl) AS (
    SELECT 'schema ' || nspname, nspowner, coalesce(nspacl, acldefault('n', nspowner)) FROM space
    UNION ALL
    SELECT 'database', datdba, coalesce(datacl, acldefault('d', datdba)) FROM pg_database WHERE datname = current_database()
    UNION ALL
    SELECT 'relation ' || c.oid::regclass, c.relowner, coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::\"char\", c.relowner))
    FROM pg_class AS c JOIN space AS s ON s.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'S')
    UNION ALL
    SELECT format('column %s.%s', a.attrelid::regclass, a.attname), c.relowner, a.attacl
    FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN space AS s ON s.oid = c.relnamespace
    UNION ALL
    SELECT 'routine ' || p.oid::regprocedure, p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
    FROM pg_proc AS p JOIN space AS s ON s.oid = p.pronamespace
),
facts (fact) AS (
    SELECT format('%s: owner %s, %s may %s%s', g.what, g.owner::regrole, CASE a.grantee WHEN 0 THEN 'everybody' ELSE a.grantee::regrole::text END, a.privilege_type, CASE WHEN a.is_grantable THEN ' and grant it' END)
    FROM grants AS g CROSS JOIN LATERAL aclexplode(g.acl) AS a
    UNION ALL
    SELECT format('column %s.%s %s %s %s', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
    FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN space AS s ON s.oid = c.relnamespace
    LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT format('index %s %s', pg_get_indexdef(i.indexrelid), i.indisvalid)
    FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN space AS s ON s.oid = c.relnamespace
    UNION ALL
    SELECT 'view ' || c.oid::regclass || pg_get_viewdef(c.oid) FROM pg_class AS c JOIN space AS s ON s.oid = c.relnamespace WHERE c.relkind = 'v'
    UNION ALL
    SELECT format('constraint %s on %s: %s', o.conname, o.conrelid::regclass, pg_get_constraintdef(o.oid))
    FROM pg_constraint AS o JOIN space AS s ON s.oid = o.connamespace
    UNION ALL
    SELECT pg_get_functiondef(p.oid) FROM pg_proc AS p JOIN space AS s ON s.oid = p.pronamespace
    UNION ALL
    SELECT format('comment on %s: %s', pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description)
    FROM pg_description AS d WHERE pg_describe_object(d.classoid, d.objoid, d.objsubid) LIKE '%windrow%'
    UNION ALL
    SELECT 'trigger ' || pg_get_triggerdef(t.oid) FROM pg_trigger AS t
    UNION ALL
    SELECT format('role %s login %s super %s', r.rolname, r.rolcanlogin, r.rolsuper) FROM pg_roles AS r WHERE r.rolname LIKE 'windrow\\_NAME\\_%'
    UNION ALL
    SELECT format('role %s is a member of %s', m.member::regrole, m.roleid::regrole) FROM pg_auth_members AS m
    WHERE m.roleid::regrole::text LIKE 'windrow\\_NAME\\_%'
)
SELECT coalesce(fact, 'NULL') FROM facts
";

fn innodb(name: &str, with_bodies: bool) -> Vec<String> {
    let (body, event) = match with_bodies {
        // A client may leave out what is for the other server.
        true => (
            "REGEXP_REPLACE(REGEXP_REPLACE(routine_definition, '(?s)/[*]M!.*?[*]/', ''), '[[:space:]]+', ' ')",
            "event_definition",
        ),
        false => ("NULL", "NULL"),
    };
    let role = format!("LIKE '%windrow\\_{name}%'");
    let within = |column: &str| format!("{column} IN ('{name}', 'windrow_{name}')");
    let schema = within("table_schema");
    let facts = [
        format!(
            "'column', table_schema, table_name, ordinal_position, column_name, column_type, is_nullable, COALESCE(column_default, 'NULL'), COALESCE(collation_name, ''), extra, column_comment FROM information_schema.columns WHERE {schema}"
        ),
        format!(
            "'index', table_schema, table_name, index_name, seq_in_index, column_name, non_unique, index_type FROM information_schema.statistics WHERE {schema}"
        ),
        format!(
            "'table', table_schema, table_name, table_type, COALESCE(engine, ''), COALESCE(table_collation, ''), table_comment FROM information_schema.tables WHERE {schema}"
        ),
        format!(
            "'view', table_schema, table_name, view_definition, definer, security_type FROM information_schema.views WHERE {schema}"
        ),
        format!(
            "'constraint', table_schema, table_name, constraint_name, constraint_type FROM information_schema.table_constraints WHERE {schema}"
        ),
        format!(
            "'check', constraint_schema, constraint_name, check_clause FROM information_schema.check_constraints WHERE {}",
            within("constraint_schema")
        ),
        format!(
            "'trigger', trigger_schema, trigger_name, action_statement FROM information_schema.triggers WHERE {}",
            within("trigger_schema")
        ),
        format!(
            "'routine', routine_schema, routine_name, {body}, routine_comment, security_type, definer, sql_mode, character_set_client, collation_connection, database_collation FROM information_schema.routines WHERE {}",
            within("routine_schema")
        ),
        format!(
            "'parameter', specific_schema, specific_name, ordinal_position, parameter_mode, parameter_name, dtd_identifier, COALESCE(collation_name, '') FROM information_schema.parameters WHERE {}",
            within("specific_schema")
        ),
        format!(
            "'event', event_schema, event_name, {event}, event_comment, time_zone, sql_mode, status, on_completion, interval_value, interval_field, definer FROM information_schema.events WHERE {}",
            within("event_schema")
        ),
        format!(
            "'schema', schema_name, default_character_set_name, default_collation_name FROM information_schema.schemata WHERE {}",
            within("schema_name")
        ),
        format!("'user', user, host FROM mysql.user WHERE user {role}"),
        format!(
            "'may', grantee, table_schema, privilege_type FROM information_schema.schema_privileges WHERE grantee {role} OR {schema}"
        ),
        format!(
            "'may', grantee, table_schema, table_name, privilege_type FROM information_schema.table_privileges WHERE grantee {role} OR {schema}"
        ),
        format!(
            "'may', user, host, db, routine_name, proc_priv FROM mysql.procs_priv WHERE user {role} OR {}",
            within("db")
        ),
    ];
    facts
        .map(|select| {
            format!(
                "SELECT CONCAT_WS(' ', {}",
                select.replacen(" FROM ", ") FROM ", 1)
            )
        })
        .to_vec()
}
