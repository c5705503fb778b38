--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';

-- The scheduled run: {{ schedule }}, in the zone of pg_cron (GMT unless cron.timezone says otherwise).
{%- if jobs | length > 1 %}
-- Each line is a job of its own.
{%- endif %}
-- One statement a job, so that run() can commit. A missed or overlapping start does no harm: one run at a time.
--# schedule {{ control }}
DO $windrow$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension AS e WHERE e.extname = 'pg_cron') THEN
        RAISE NOTICE 'not scheduled: the extension pg_cron is not in database %', current_database()
            USING HINT = 'CREATE EXTENSION pg_cron in the database that cron.database_name names, then apply this file again; or start CALL {{ control }}.run(''{"trigger": "SCHEDULED"}'') from elsewhere.';
        RETURN;
    END IF;
    -- Jobs that an earlier spec had, and those that still connect to the server of which this one is a copy.
    PERFORM cron.unschedule(j.jobid)
    FROM cron.job AS j
    WHERE starts_with(j.jobname || ' ', '{{ control }} ')
      AND (
          j.nodeport <> current_setting('port')::integer
          OR j.jobname NOT IN ({% for job in jobs %}'{{ control }}{{ job.suffix }}'{% if not loop.last or cron_history > 0 %}, {% endif %}{% endfor %}{% if cron_history > 0 %}'{{ control }} history'{% endif %})
      );
{%- for job in jobs %}
    PERFORM cron.schedule('{{ control }}{{ job.suffix }}', {{ job.schedule_literal }}, 'CALL {{ control }}.run(''{"trigger": "SCHEDULED"{% if job.worker %}, "worker": {{ job.worker }}{% endif %}}'')');
{%- endfor %}
{%- if cron_history > 0 %}
    -- pg_cron keeps a row of every start for ever: those of these jobs go after {{ cron_history }} seconds.
    PERFORM cron.schedule(
        '{{ control }} history',
        '41 3 * * *',
        'DELETE FROM cron.job_run_details AS d USING cron.job AS j WHERE j.jobid = d.jobid AND j.jobname IN ({% for job in jobs %}''{{ control }}{{ job.suffix }}'', {% endfor %}''{{ control }} history'') AND coalesce(d.end_time, d.start_time) < now() - interval ''{{ cron_history }} seconds'''
    );
{%- endif %}
END
$windrow$;
