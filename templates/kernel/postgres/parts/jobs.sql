-- The jobs of the schedule, as far as the caller may see them, and what is not as they were made. What is `beside` what only the
-- caller does not see, windrow diff is told; and where some are `hidden` from the caller, that they are.
SELECT
    t.name, t.position, t.jobid, coalesce(t.other, t.idle) AS problem, t.remedy,
    CASE WHEN t.other IS NOT NULL THEN 'violation' WHEN t.idle IS NOT NULL THEN 'notice' ELSE 'ok' END AS severity,
    coalesce(t.other, t.idle) IS NOT NULL AND (t.jobid IS NOT NULL OR t.sees) AS beside, t.jobid IS NULL AND NOT t.sees AS hidden,
    t.runs_as
FROM (
    SELECT
        coalesce(j.name, j.jobname) AS name, j.position, j.jobid, c.sees,
        pg_catalog.format('job %s of pg_cron, as %s: %s', j.jobid, j.username, j.schedule) AS runs_as,
        CASE
            WHEN j.jobid IS NULL AND c.sees THEN pg_catalog.format('no job of pg_cron is called %s', j.name)
            WHEN j.jobid IS NULL THEN pg_catalog.format('no job of pg_cron is called %s, or %s may not see it, being another than who '
                'installed', j.name, current_user)
            WHEN NOT j.active THEN pg_catalog.format('job %s of pg_cron is not active', j.jobid)
        END AS idle,
        CASE
            WHEN j.jobid IS NULL THEN NULL
            WHEN j.position IS NULL THEN pg_catalog.format('job %s of pg_cron, %s, is of no line of the spec', j.jobid, j.jobname)
            WHEN j.database <> pg_catalog.current_database()
                THEN pg_catalog.format('job %s of pg_cron works in database %s, which does not exist', j.jobid, j.database)
            WHEN NOT c.inside AND j.nodeport <> pg_catalog.current_setting('port')::integer
                THEN pg_catalog.format('job %s of pg_cron works on another server: it connects to %s, port %s, and this one has port %s',
                j.jobid, j.nodename, j.nodeport, pg_catalog.current_setting('port'))
            WHEN j.username <> w.login THEN pg_catalog.format('job %s of pg_cron runs as %s, not as the login of the schedule, %s', j.jobid,
                j.username, w.login)
            WHEN j.schedule <> j.wanted THEN pg_catalog.format('job %s of pg_cron starts at %s instead of %s', j.jobid, j.schedule,
                j.wanted)
            WHEN j.does <> j.wanted_hash THEN pg_catalog.format('job %s of pg_cron does another thing: %s', j.jobid, j.command)
        END AS other,
        CASE
            WHEN j.position IS NULL THEN 'windrow install takes it away'
            WHEN j.jobid IS NULL AND NOT c.sees THEN 'ask as a superuser'
            WHEN NOT j.active AND j.schedule = j.wanted AND j.does = j.wanted_hash
                THEN pg_catalog.format('SELECT cron.alter_job(%s, active := true)', j.jobid)
            ELSE 'windrow install makes it as the spec has it'
        END AS remedy
    FROM who AS w
    CROSS JOIN LATERAL (
        SELECT
            pg_catalog.bool_or(r.rolsuper OR r.rolbypassrls OR r.rolname = w.login) AS sees,
            coalesce((
                SELECT pg_catalog.bool_or(o.setting = 'on') FROM pg_catalog.pg_settings AS o WHERE o.name = 'cron.use_background_workers'
            ), false) AS inside
        FROM pg_catalog.pg_roles AS r
        WHERE r.rolname = current_user
    ) AS c
    CROSS JOIN LATERAL (
        SELECT n.name, n.position, n.schedule AS wanted, n.hash AS wanted_hash, j.*
        FROM (
            SELECT k.value ->> 'name' AS name, k.value ->> 'schedule' AS schedule, k.value ->> 'hash' AS hash, k.position
            FROM spec AS s
            CROSS JOIN LATERAL pg_catalog.jsonb_array_elements(s.document -> 'cron') WITH ORDINALITY AS k(value, position)
        ) AS n
        FULL JOIN (
            SELECT k.*, pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(k.command, 'UTF8')), 'hex'), 12) AS does
            FROM cron.job AS k
            WHERE pg_catalog.starts_with(k.jobname || ' ', w.control || ' ')
              -- A job for another database is not of this installation.
              AND (k.database = pg_catalog.current_database() OR NOT EXISTS (SELECT FROM pg_catalog.pg_database AS d
                  WHERE d.datname = k.database))
        ) AS j ON j.jobname = n.name
    ) AS j
) AS t
