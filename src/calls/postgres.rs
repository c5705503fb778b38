//! The texts for PostgreSQL; `{w}` means the control schema.

use super::list::List;

pub(super) fn list(list: List) -> String {
    let (table, order) = match list {
        List::Policy => (
            "(SELECT p.rule, p.scope, p.enabled, coalesce(p.retention_seconds, r.retention) AS retention_seconds,
                p.retention_seconds IS NULL AS follows_spec, p.artifacts, p.note, p.changed_by, p.changed_at
            FROM {w}.policy AS p LEFT JOIN {w}.rule AS r ON r.rule = p.rule)",
            "rule, scope",
        ),
        List::Hold => (
            "(SELECT h.*, coalesce(h.until <= now(), false) AS expired FROM {w}.hold h)",
            "rule, key",
        ),
        List::Setting => ("{w}.settings", "position"),
        List::SettingLog => ("{w}.setting_log", "log_id"),
        List::Window => ("{w}.open_hours", "position"),
        List::Artifact => ("{w}.artifact", "artifact_id"),
    };
    format!("SELECT (to_jsonb(t) - 'refers_to')::text FROM {table} t ORDER BY {order}")
}

pub(super) const STATUS: &str = "
    SELECT jsonb_build_object(
        'spec', $1,
        'control', (SELECT to_jsonb(c) - '{spec,scheduled}'::text[] FROM {w}.control c LIMIT 1),
        'paused_rules', (SELECT coalesce(jsonb_agg(to_jsonb(p) ORDER BY p.rule), '[]') FROM {w}.rule_pause p),
        'refusals', (SELECT coalesce(jsonb_agg(to_jsonb(f) ORDER BY f.server), '[]') FROM {w}.refusal f),
        'scheduling', (SELECT to_jsonb(s) FROM {w}.scheduling s),
        'policies', (SELECT count(*) FROM {w}.policy WHERE enabled),
        'windows', (SELECT jsonb_agg(h.written ORDER BY h.position) FROM {w}.open_hours h),
        'holds', (SELECT count(*) FROM {w}.hold WHERE until IS NULL OR until > now()),
        'absent_holds', (SELECT count(*) FROM {w}.hold WHERE absent AND (until IS NULL OR until > now())),
        'artifacts_waiting', (SELECT count(*) FROM {w}.artifact WHERE NOT given_up),
        'artifacts_given_up', (SELECT count(*) FROM {w}.artifact WHERE given_up),
        'running', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                'run_id', r.run_id, 'trigger', r.trigger, 'backend_pid', r.backend_pid, 'started_by', r.started_by,
                'started_at', r.started_at, 'rule', p.rule, 'families', p.families,
                'deleted_rows', p.deleted_rows, 'batches', p.batches,
                'waiting_for', r.waiting_for, 'waiting_since', r.waiting_since,
                'worker', (r.options ->> 'worker')::int)), '[]')
            FROM {w}.run r LEFT JOIN {w}.run_rule p USING (run_id)
            WHERE r.status = 'running' AND r.backend_pid IN (SELECT a.pid FROM pg_stat_activity a)),
        'last_run', (SELECT to_jsonb(r) FROM {w}.run r WHERE r.status <> 'running' ORDER BY r.run_id DESC LIMIT 1),
        'window_open', {w}.in_window(now()),
        'rules', (SELECT coalesce(jsonb_agg(to_jsonb(b) || jsonb_build_object(
                'last_look', r.run_id, 'last_look_at', r.finished_at, 'last_look_status', r.status,
                'last_look_dry_run', r.dry_run, 'last_look_complete', r.status = 'done' OR p.cursor_time IS NULL)), '[]')
            FROM {w}.backlog b JOIN {w}.last_look l USING (rule) LEFT JOIN {w}.run r ON r.run_id = l.run_id
            LEFT JOIN {w}.run_rule p ON p.run_id = l.run_id AND p.rule = l.rule),
        'undeletable', (SELECT coalesce(jsonb_agg(to_jsonb(u) ORDER BY u.families DESC, u.rule, u.reason), '[]') FROM {w}.undeletable u),
        'metrics', (SELECT coalesce(jsonb_agg(to_jsonb(m)), '[]') FROM {w}.metrics m)
    )::text";

pub(super) const HISTORY: &str = "
    SELECT to_jsonb(h)::text FROM (
        SELECT r.run_id, r.trigger, r.dry_run, coalesce((r.options ->> 'force')::boolean, false) AS forced, r.status, r.reason,
               r.started_by, to_char(r.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') AS started_at,
               round(extract(epoch FROM r.finished_at - r.started_at), 1)::float8 AS seconds,
               coalesce(sum(p.families), 0)::bigint AS families,
               coalesce(sum(p.deleted_rows), 0)::bigint AS deleted_rows,
               coalesce(sum(p.changed_rows), 0)::bigint AS changed_rows,
               coalesce(sum(p.batches), 0)::bigint AS batches
        FROM {w}.run r LEFT JOIN {progress} p USING (run_id)
        GROUP BY r.run_id ORDER BY r.run_id DESC LIMIT $1::int) h
    ORDER BY h.run_id DESC";

pub(super) const PROGRESS: &str = "
    SELECT coalesce(sum(p.families), 0)::bigint, coalesce(sum(p.{rows}), 0)::bigint,
           coalesce(sum(p.batches), 0)::bigint
    FROM {w}.run r JOIN {w}.{progress} p USING (run_id)
    WHERE r.status = 'running' AND r.backend_pid = $1::int";

pub(super) const SPEED: &str = "
    SELECT coalesce(sum(l.deleted_rows), 0)::bigint, coalesce(sum(l.seconds), 0)::float8, count(*)
    FROM (
        SELECT p.deleted_rows, extract(epoch FROM p.updated_at - p.started_at) AS seconds
        FROM {w}.run_rule AS p
        JOIN {w}.run AS r USING (run_id)
        WHERE p.rule = $1
          AND p.deleted_rows > 0
          AND NOT r.dry_run
          AND r.trigger = CASE WHEN $2 = 'true' THEN 'SCHEDULED' ELSE 'MANUAL' END
        ORDER BY p.run_id DESC
        LIMIT 5) AS l";

pub(super) const CLAIM: &str =
    "SELECT artifact_id::text, host, path FROM {w}.claim_artifacts($1::int)";

pub(super) const NAMED: &str =
    "SELECT artifact_id::text, named_by FROM {w}.named_artifacts($1::jsonb)";

pub(super) const FINISH: &str = "SELECT {w}.finish_artifact($1::bigint, $2)::text";

pub(super) const LOCK_INSTALL: &str =
    "SELECT pg_try_advisory_lock(hashtext('windrow install'), hashtext($1))";

// Of another user's session, pg_stat_activity shows the pid, the user and the application's name to everybody.
pub(super) const INSTALL_LOCK_HOLDER: &str = "
    SELECT a.pid::text, coalesce(a.usename, ''), coalesce(a.application_name, '')
    FROM pg_locks AS l
    JOIN pg_stat_activity AS a ON a.pid = l.pid
    WHERE l.locktype = 'advisory'
      AND l.granted
      AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
      AND l.classid::bigint = hashtext('windrow install')::bigint & 4294967295
      AND l.objid::bigint = hashtext($1)::bigint & 4294967295
      AND l.objsubid = 2
    ORDER BY a.pid
    LIMIT 1";

pub(super) const UNFINISHED_INDEXES: &str = "
    SELECT quote_ident(n.nspname) || '.' || quote_ident(x.relname), x.relname,
           (SELECT p.pid FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid)
    FROM pg_index i
    JOIN pg_class x ON x.oid = i.indexrelid
    JOIN pg_namespace n ON n.oid = x.relnamespace
    WHERE NOT i.indisvalid AND n.nspname = $1 AND starts_with(x.relname::text, 'windrow_')";

pub(super) const PARTS: &str = "
    SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relname, n.nspname
    FROM pg_partition_tree(to_regclass($1)) AS t
    JOIN pg_class AS c ON c.oid = t.relid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE t.isleaf
      AND c.relkind = 'r'
    ORDER BY 1";

pub(super) const OBJECTS: &str = concat!(
    "
WITH control AS (
    SELECT n.oid
    FROM pg_catalog.pg_namespace AS n
    WHERE n.nspname = $1
)
SELECT
    'routine', p.proname::text,
    pg_catalog.concat(
        ",
    include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/templates/kernel/postgres/parts/called.sql"
    )),
    ",
        pg_catalog.chr(10),
        p.prosrc
    ),
    coalesce(pg_catalog.obj_description(p.oid, 'pg_proc'), ''),
    -- The triggers of a function go with it.
    pg_catalog.format(
        'DROP %s %s%s',
        CASE p.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, p.oid::pg_catalog.regprocedure,
        CASE WHEN p.prorettype = 'pg_catalog.trigger'::pg_catalog.regtype THEN ' CASCADE' ELSE '' END
    )
FROM pg_catalog.pg_proc AS p
JOIN control AS n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_language AS l ON l.oid = p.prolang
UNION ALL
SELECT CASE c.relkind WHEN 'v' THEN 'view' ELSE 'table' END, c.relname, '', '', ''
FROM pg_catalog.pg_class AS c
JOIN control AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('v', 'r')
UNION ALL
SELECT 'column', pg_catalog.concat(c.relname, '.', a.attname), '', '', ''
FROM pg_catalog.pg_class AS c
JOIN control AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind = 'r'"
);

pub(super) const OVERLAPS: &str = "
SELECT DISTINCT r.rolname::text, c.relname::text
FROM pg_catalog.pg_roles AS r
JOIN pg_catalog.pg_namespace AS n ON n.nspname || '_owner' = r.rolname
JOIN pg_catalog.pg_class AS k ON k.relnamespace = n.oid AND k.relname = 'control' AND k.relkind = 'r'
JOIN pg_catalog.pg_namespace AS h ON h.nspname = $2
JOIN pg_catalog.pg_class AS c ON c.relnamespace = h.oid AND c.relkind IN ('r', 'p')
CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) AS a
WHERE pg_catalog.starts_with(r.rolname::text, 'windrow_')
  AND r.rolname <> $1
  AND a.grantee = r.oid
  AND a.privilege_type = $3
ORDER BY 1, 2";

pub(super) const ARCHIVES: &str = "
SELECT n.nspname, c.relname
FROM pg_catalog.pg_namespace AS w
JOIN pg_catalog.pg_namespace AS n ON n.oid = w.oid OR n.nspowner = w.nspowner AND pg_catalog.right(n.nspname, 8) = '_archive'
JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid
WHERE w.nspname = $1
  AND c.relkind = 'r'
  AND (
      n.oid = w.oid AND EXISTS (SELECT FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'windrow_row_id')
      -- Partitions that were detached are in a schema of their own.
      OR n.oid <> w.oid AND c.relowner = w.nspowner AND pg_catalog.starts_with(c.relname::text, 'archived_')
  )
ORDER BY n.oid = w.oid DESC, c.relname";
