//! The texts for MySQL and MariaDB; `{w}` means the control database, `{lock}` the lock of a run,
//! `{name}` the control database as a text.
//!
//! A row becomes a JSON document column by column: here a boolean is a number, an instant a text without a zone, and
//! (on MariaDB) JSON a text, and each must come out as on PostgreSQL. JSON_EXTRACT(…, '$') says that a text is JSON.

use super::list::List;

/// A column of a document, and what its value is.
type Field = (&'static str, As);

#[derive(Clone, Copy)]
enum As {
    Plain,
    /// The key of a hold, which that table compares otherwise than all else is compared.
    Key,
    Truth,
    Instant,
    /// An instant, or what represents the beginning of time here.
    Due,
    Json,
}

use As::{Due, Instant, Json, Key, Plain, Truth};

const POLICY: &[Field] = &[
    ("rule", Plain),
    ("scope", Plain),
    ("enabled", Truth),
    ("retention_seconds", Plain),
    ("follows_spec", Truth),
    ("artifacts", Truth),
    ("note", Plain),
    ("changed_by", Plain),
    ("changed_at", Instant),
];

const HOLD: &[Field] = &[
    ("rule", Plain),
    ("key", Key),
    ("reason", Plain),
    ("until", Instant),
    ("placed_by", Plain),
    ("placed_at", Instant),
    ("absent", Truth),
    ("expired", Truth),
];

const SETTING: &[Field] = &[
    ("position", Plain),
    ("rule", Plain),
    ("name", Plain),
    ("value", Plain),
    ("unit", Plain),
    ("spec_value", Plain),
    ("least_value", Plain),
    ("greatest_value", Plain),
    ("takes", Plain),
    ("changed_by", Plain),
    ("changed_at", Instant),
];

const SETTING_LOG: &[Field] = &[
    ("log_id", Plain),
    ("rule", Plain),
    ("name", Plain),
    ("old_value", Plain),
    ("new_value", Plain),
    ("changed_by", Plain),
    ("changed_at", Instant),
];

const ARTIFACT: &[Field] = &[
    ("artifact_id", Plain),
    ("run_id", Plain),
    ("rule", Plain),
    ("host", Plain),
    ("path", Plain),
    ("recorded_at", Instant),
    ("attempts", Plain),
    ("next_attempt_at", Due),
    ("last_error", Plain),
    ("given_up", Truth),
];

const WINDOW: &[Field] = &[
    ("position", Plain),
    ("written", Plain),
    ("days", Plain),
    ("begins", Plain),
    ("ends", Plain),
    ("zone", Plain),
    ("changed_by", Plain),
    ("changed_at", Instant),
];

const CONTROL: &[Field] = &[
    ("only_row", Truth),
    ("armed", Truth),
    ("armed_by", Plain),
    ("armed_at", Instant),
    ("armed_rules", Json),
    ("server_identity", Plain),
    ("orphans_at_arm", Json),
    ("paused", Truth),
    ("paused_by", Plain),
    ("paused_at", Instant),
    ("paused_reason", Plain),
    ("forced_install", Json),
    ("installed_by", Plain),
    ("installed_at", Instant),
];

const PAUSE: &[Field] = &[
    ("rule", Plain),
    ("reason", Plain),
    ("paused_by", Plain),
    ("paused_at", Instant),
];

const REFUSAL: &[Field] = &[("server", Plain), ("reason", Plain), ("since", Instant)];

const SCHEDULING: &[Field] = &[
    ("failed_runs", Plain),
    ("suspended", Truth),
    ("last_error", Plain),
    ("empty_runs", Plain),
    ("idle_until", Instant),
];

const RUN: &[Field] = &[
    ("run_id", Plain),
    ("trigger", Plain),
    ("dry_run", Truth),
    ("options", Json),
    ("as_of", Instant),
    ("deadline", Instant),
    ("status", Plain),
    ("reason", Plain),
    ("waiting_for", Plain),
    ("waiting_since", Instant),
    ("backend_pid", Plain),
    ("started_by", Plain),
    ("started_at", Instant),
    ("finished_at", Instant),
];

const BACKLOG: &[Field] = &[
    ("rule", Plain),
    ("families", Plain),
    ("rows", Plain),
    ("oldest_age_seconds", Plain),
    ("counted_at", Instant),
    ("due_per_hour", Plain),
    ("deleted_per_hour", Plain),
];

const UNDELETABLE: &[Field] = &[
    ("rule", Plain),
    ("reason", Plain),
    ("families", Plain),
    ("sample_key", Plain),
    ("oldest_age_seconds", Plain),
    ("run_id", Plain),
];

const METRIC: &[Field] = &[("name", Plain), ("labels", Json), ("value", Plain)];

pub(super) fn list(list: List) -> String {
    let (table, fields, order) = match list {
        List::Policy => (
            "(SELECT p.rule, p.scope, p.enabled, COALESCE(p.retention_seconds, r.retention) AS retention_seconds,
                p.retention_seconds IS NULL AS follows_spec, p.artifacts, p.note, p.changed_by, p.changed_at
            FROM {w}.policy AS p LEFT JOIN {w}.rule AS r ON r.rule = p.rule)",
            POLICY,
            "t.rule, t.scope",
        ),
        List::Hold => (
            "(SELECT h.*, COALESCE(h.until <= UTC_TIMESTAMP(6), false) AS expired FROM {w}.hold AS h)",
            HOLD,
            "t.rule, t.`key`",
        ),
        List::Setting => ("{w}.settings", SETTING, "t.position"),
        List::SettingLog => ("{w}.setting_log", SETTING_LOG, "t.log_id"),
        List::Window => ("{w}.open_hours", WINDOW, "t.position"),
        List::Artifact => ("{w}.artifact", ARTIFACT, "t.artifact_id"),
    };
    format!(
        "SELECT {} FROM {table} AS t ORDER BY {order}",
        object("t", fields)
    )
}

pub(super) const REPLICAS: &str = "
    SELECT h.replica, DATE_FORMAT(h.replicated_until, '%Y-%m-%dT%H:%i:%sZ'), h.state, DATE_FORMAT(h.looked_at, '%Y-%m-%dT%H:%i:%sZ')
    FROM {w}.replica_heartbeat AS h
    ORDER BY h.replica";

pub(super) const BEAT: &str = "SELECT b.beat_at FROM {w}.replica_beat AS b";

/// A group is called by one word; the name of a Galera cluster stands before the identifier of its state and the control database.
pub(super) const ARMED_CLUSTER: &str = "
    SELECT CASE
        WHEN c.server_identity LIKE 'cluster of servers %' THEN SUBSTRING_INDEX(SUBSTRING_INDEX(c.server_identity, ' ', 4), ' ', -1)
        WHEN c.server_identity LIKE 'cluster %' THEN
            /*!80000 SUBSTRING_INDEX(SUBSTRING_INDEX(c.server_identity, ' ', 2), ' ', -1) */
            /*M! SUBSTRING(c.server_identity, 9, CHAR_LENGTH(c.server_identity)
                - CHAR_LENGTH(SUBSTRING_INDEX(c.server_identity, ' ', -2)) - 9) */
    END
    FROM {w}.control AS c";

/// Why runs delete nothing on this server, by its row of control `c`: what `not_armed()` says, which not everybody may call. Of a
/// cluster, what the last scheduled run on this server was told, and who is in a list.
pub(super) fn not_armed() -> String {
    const IDENTITY: &str = "CONCAT(
        LEFT(CONCAT_WS(' ', /*!80000 @@server_uuid, */ /*M! IF(@@hostname LIKE BINARY 'cluster', 'host', NULL), */ @@hostname, @@port, @@datadir, @@bind_address, /*M! @@server_id, */ {name}), 600),
        IF(c.server_identity LIKE '% started at %', CONCAT(' started at ', UNIX_TIMESTAMP() - (
            SELECT CAST(u.variable_value AS signed)
            FROM /*!80000 performance_schema.global_status */ /*M! information_schema.global_status */ AS u
            WHERE u.variable_name = 'Uptime')), ''))";
    format!(
        "CASE
        WHEN NOT c.armed THEN 'not armed: nothing is deleted until you arm it'
        WHEN c.server_identity LIKE 'cluster of servers %'
            AND FIND_IN_SET(CONCAT(@@hostname, ':', @@port), SUBSTRING_INDEX(SUBSTRING_INDEX(c.server_identity, ' ', 4), ' ', -1)) = 0
            THEN CONCAT('armed for another ', c.server_identity)
        WHEN c.server_identity LIKE 'cluster %' THEN (
            SELECT f.reason FROM {{w}}.refusal AS f
            WHERE f.server = {IDENTITY} AND (f.reason LIKE 'armed for another %' OR f.reason LIKE 'this server has started since %'))
        WHEN NOT c.server_identity <=> {IDENTITY} THEN CONCAT('armed on another server: ', COALESCE(c.server_identity, 'unknown'))
    END"
    )
}

pub(super) fn status() -> String {
    format!(
        "
    SELECT JSON_OBJECT(
        'spec', ?,
        'control', JSON_EXTRACT((SELECT {control} FROM {{w}}.control AS c LIMIT 1), '$'),
        'paused_rules', JSON_EXTRACT(COALESCE((SELECT JSON_ARRAYAGG({pause}) FROM {{w}}.rule_pause AS p), '[]'), '$'),
        'refusals', JSON_EXTRACT(COALESCE((SELECT JSON_ARRAYAGG({refusal}) FROM {{w}}.refusal AS f), '[]'), '$'),
        'scheduling', JSON_EXTRACT((SELECT {scheduling} FROM {{w}}.scheduling AS s), '$'),
        'policies', (SELECT COUNT(*) FROM {{w}}.policy WHERE enabled),
        'windows', (SELECT JSON_ARRAYAGG(h.written) FROM (SELECT o.written FROM {{w}}.open_hours AS o ORDER BY o.position) AS h),
        'holds', (SELECT COUNT(*) FROM {{w}}.hold WHERE `until` IS NULL OR `until` > UTC_TIMESTAMP(6)),
        'absent_holds', (SELECT COUNT(*) FROM {{w}}.hold WHERE absent = 1 AND (`until` IS NULL OR `until` > UTC_TIMESTAMP(6))),
        'artifacts_waiting', (SELECT COUNT(*) FROM {{w}}.artifact WHERE NOT given_up),
        'artifacts_given_up', (SELECT COUNT(*) FROM {{w}}.artifact WHERE given_up),
        'running', JSON_EXTRACT(COALESCE((SELECT JSON_ARRAYAGG(JSON_OBJECT(
                'run_id', r.run_id, 'trigger', r.`trigger`, 'backend_pid', r.backend_pid, 'started_by', r.started_by,
                'started_at', {started}, 'rule', p.rule, 'families', p.families,
                'deleted_rows', p.deleted_rows, 'batches', p.batches,
                'waiting_for', r.waiting_for, 'waiting_since', {waiting},
                'server', IF({elsewhere}, r.node, NULL),
                'worker', CAST(JSON_VALUE(r.options, '$.worker') AS unsigned)))
            FROM {{w}}.run AS r LEFT JOIN {{w}}.run_rule AS p USING (run_id)
            WHERE r.status = 'running' AND IF({elsewhere}, r.alive_at > UTC_TIMESTAMP(6) - INTERVAL 1 HOUR, r.backend_pid = IS_USED_LOCK(
                CONCAT({{lock}}, IF(JSON_VALUE(r.options, '$.worker') > 1, CONCAT('.w', JSON_VALUE(r.options, '$.worker') + 0), ''))))), '[]'), '$'),
        'last_run', JSON_EXTRACT((SELECT {run} FROM {{w}}.run AS r WHERE r.status <> 'running'
            ORDER BY r.run_id DESC LIMIT 1), '$'),
        'window_open', JSON_EXTRACT(IF((SELECT m.value FROM {{w}}.metrics AS m WHERE m.name = 'windrow_window_open') = 1, 'true', 'false'), '$'),
        'rules', JSON_EXTRACT(COALESCE((SELECT JSON_ARRAYAGG(JSON_OBJECT({backlog},
                'last_look', r.run_id, 'last_look_at', {looked}, 'last_look_status', r.status,
                'last_look_dry_run', JSON_EXTRACT(IF(r.dry_run, 'true', 'false'), '$'),
                'last_look_complete', JSON_EXTRACT(IF(r.status = 'done' OR p.cursor_time IS NULL, 'true', 'false'), '$')))
            FROM {{w}}.backlog AS b JOIN {{w}}.last_look AS l USING (rule) LEFT JOIN {{w}}.run AS r ON r.run_id = l.run_id
            LEFT JOIN {{w}}.run_rule AS p ON p.run_id = l.run_id AND p.rule = l.rule), '[]'), '$'),
        'undeletable', JSON_EXTRACT(COALESCE((SELECT JSON_ARRAYAGG({undeletable}) FROM {{w}}.undeletable AS u), '[]'), '$'),
        'metrics', JSON_EXTRACT(COALESCE((SELECT JSON_ARRAYAGG({metric}) FROM {{w}}.metrics AS m), '[]'), '$')
    )",
        control = object("c", CONTROL),
        pause = object("p", PAUSE),
        refusal = object("f", REFUSAL),
        scheduling = object("s", SCHEDULING),
        started = value("r", ("started_at", Instant)),
        waiting = value("r", ("waiting_since", Instant)),
        run = object("r", RUN),
        metric = object("m", METRIC),
        backlog = fields("b", BACKLOG),
        looked = value("r", ("finished_at", Instant)),
        undeletable = object("u", UNDELETABLE),
        elsewhere = ELSEWHERE,
    )
}

/// Whether run `r` is another server's, in a cluster: sessions and locks are known to their own server only.
const ELSEWHERE: &str =
    "LOCATE(CONCAT_WS(' ', '', @@hostname, @@port, @@datadir, ''), CONCAT(' ', r.node, ' ')) = 0";

pub(super) fn history() -> String {
    "
    SELECT JSON_OBJECT(
        'run_id', h.run_id, 'trigger', h.`trigger`, 'dry_run', h.dry_run = 1, 'forced', h.forced = 1, 'status', h.status,
        'reason', h.reason,
        'started_by', h.started_by, 'started_at', DATE_FORMAT(h.started_at, '%Y-%m-%dT%H:%i:%sZ'),
        'seconds', ROUND(TIMESTAMPDIFF(MICROSECOND, h.started_at, h.finished_at) / 1000000, 1) + 0e0,
        'families', h.families, 'deleted_rows', h.deleted_rows, 'changed_rows', h.changed_rows, 'batches', h.batches)
    FROM (
        SELECT r.run_id, r.`trigger`, r.dry_run, r.status, r.reason, r.started_by, r.started_at, r.finished_at,
               CAST(COALESCE(SUM(p.families), 0) AS SIGNED) AS families,
               CAST(COALESCE(SUM(p.deleted_rows), 0) AS SIGNED) AS deleted_rows,
               CAST(COALESCE(SUM(p.changed_rows), 0) AS SIGNED) AS changed_rows,
               CAST(COALESCE(SUM(p.batches), 0) AS SIGNED) AS batches,
               COALESCE(MAX(JSON_CONTAINS(r.options, 'true', '$.force')), 0) AS forced
        FROM {w}.run AS r LEFT JOIN {progress} AS p USING (run_id)
        GROUP BY r.run_id, r.`trigger`, r.dry_run, r.status, r.reason, r.started_by, r.started_at, r.finished_at
        ORDER BY r.run_id DESC LIMIT ?) AS h
    ORDER BY h.run_id DESC"
        .to_owned()
}

pub(super) const PROGRESS: &str = "
    SELECT CAST(COALESCE(SUM(p.families), 0) AS SIGNED), CAST(COALESCE(SUM(p.{rows}), 0) AS SIGNED),
           CAST(COALESCE(SUM(p.batches), 0) AS SIGNED)
    FROM {w}.run AS r JOIN {w}.{progress} AS p USING (run_id)
    WHERE r.status = 'running' AND r.backend_pid = ?";

pub(super) const SPEED: &str = "
    SELECT CAST(COALESCE(SUM(l.deleted_rows), 0) AS SIGNED), COALESCE(SUM(l.seconds), 0), COUNT(*)
    FROM (
        SELECT p.deleted_rows, TIMESTAMPDIFF(MICROSECOND, p.started_at, p.updated_at) / 1e6 AS seconds
        FROM {w}.run_rule AS p
        JOIN {w}.run AS r USING (run_id)
        WHERE p.rule = ?
          AND p.deleted_rows > 0
          AND NOT r.dry_run
          AND r.`trigger` = IF(? = 'true', 'SCHEDULED', 'MANUAL')
        ORDER BY p.run_id DESC
        LIMIT 5) AS l";

// A name of a lock has at most 64 characters.
pub(super) const LOCK_INSTALL: &str =
    "SELECT IF(GET_LOCK(CONCAT('windrow install ', LEFT(SHA2(?, 256), 40)), 0), 'true', 'false')";

// The user is for those to see who may see the processes of others.
pub(super) const INSTALL_LOCK_HOLDER: &str = "
    SELECT CAST(l.id AS CHAR), COALESCE(p.user, ''), ''
    FROM (SELECT IS_USED_LOCK(CONCAT('windrow install ', LEFT(SHA2(?, 256), 40))) AS id) AS l
    LEFT JOIN information_schema.processlist AS p ON p.id = l.id
    WHERE l.id IS NOT NULL";

pub(super) const OBJECTS: &str = "
WITH control AS (SELECT ? AS name),
routine AS (
    SELECT r.*
    FROM information_schema.routines AS r
    JOIN control AS n ON n.name = r.routine_schema
),
made AS (
    SELECT 'routine' AS kind, r.routine_name AS name, r.routine_definition AS body, r.routine_comment AS comment, r.routine_type AS what, r.routine_schema AS home
    FROM routine AS r
    UNION ALL
    SELECT 'event', e.event_name, e.event_definition, e.event_comment, 'EVENT', e.event_schema
    FROM information_schema.events AS e
    JOIN control AS n ON n.name = e.event_schema
    UNION ALL
    SELECT 'trigger', t.trigger_name, t.action_statement, '', 'TRIGGER', t.trigger_schema
    FROM information_schema.triggers AS t
    -- A role is written `role`, `role@` or `role@%`.
    WHERE SUBSTRING_INDEX(t.definer, '@', 1) IN (
        SELECT SUBSTRING_INDEX(r.definer, '@', 1) FROM routine AS r WHERE r.routine_comment LIKE '%[body %'
    )
)
SELECT
    m.kind, m.name, COALESCE(m.body, ''), m.comment,
    CONCAT('DROP ', m.what, ' `', REPLACE(m.home, '`', '``'), '`.`', REPLACE(m.name, '`', '``'), '`')
FROM made AS m
UNION ALL
SELECT IF(t.table_type = 'VIEW', 'view', 'table'), t.table_name, '', '', ''
FROM information_schema.tables AS t
JOIN control AS n ON n.name = t.table_schema
UNION ALL
SELECT 'column', CONCAT(c.table_name, '.', c.column_name), '', '', ''
FROM information_schema.columns AS c
JOIN information_schema.tables AS t ON t.table_schema = c.table_schema AND t.table_name = c.table_name AND t.table_type <> 'VIEW'
JOIN control AS n ON n.name = c.table_schema";

pub(super) const OVERLAPS: &str = "
SELECT DISTINCT SUBSTRING_INDEX(SUBSTRING(p.GRANTEE, 2), '''@', 1), p.TABLE_NAME
FROM information_schema.TABLE_PRIVILEGES AS p
WHERE p.GRANTEE LIKE '''windrow|_%|_owner''@%' ESCAPE '|'
  AND SUBSTRING_INDEX(SUBSTRING(p.GRANTEE, 2), '''@', 1) <> ?
  AND p.TABLE_SCHEMA = ?
  AND p.PRIVILEGE_TYPE = ?
ORDER BY 1, 2";

pub(super) const ARCHIVES: &str = "
SELECT t.table_schema, t.table_name
FROM information_schema.tables AS t
LEFT JOIN information_schema.columns AS c
    ON c.table_schema = t.table_schema AND c.table_name = t.table_name AND c.column_name = 'windrow_row_id'
WHERE t.table_schema = ?
  AND t.table_type <> 'VIEW'
  -- Or a partition that was archived.
  AND (c.column_name IS NOT NULL OR t.table_name LIKE 'archived|_%' ESCAPE '|')
ORDER BY c.column_name IS NULL, t.table_name";

/// A row of the alias as a JSON document.
fn object(alias: &str, columns: &[Field]) -> String {
    format!("JSON_OBJECT({})", fields(alias, columns))
}

/// The fields of such a document.
fn fields(alias: &str, columns: &[Field]) -> String {
    let fields: Vec<String> = columns
        .iter()
        .map(|field| format!("'{}', {}", field.0, value(alias, *field)))
        .collect();
    fields.join(", ")
}

fn value(alias: &str, (name, what): Field) -> String {
    let column = format!("{alias}.`{name}`");
    match what {
        As::Plain => column,
        As::Key => format!("{column} COLLATE utf8mb4_bin"),
        As::Truth => format!("{column} = 1"),
        // As PostgreSQL writes an instant in UTC.
        As::Instant => format!("DATE_FORMAT({column}, '%Y-%m-%dT%H:%i:%s.%f+00:00')"),
        As::Due => format!(
            "IF({column} < '1900-01-01', '-infinity', {})",
            value(alias, (name, Instant))
        ),
        As::Json => format!("JSON_EXTRACT({column}, '$')"),
    }
}
