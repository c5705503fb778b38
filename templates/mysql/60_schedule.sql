{{ session }}

-- The scheduled run: {{ schedule }}, in UTC. A missed or overlapping start does no harm: one run at a time.
-- The event runs while the server's event_scheduler is ON, and never on a replica; verify() reports both, and an event that is gone.
{%- for job in jobs %}
{%- if jobs | length > 1 %}

-- {{ job.schedule }}
{%- endif %}
{%- if job.event.guard %}
-- The event starts more often than the schedule says, and looks at the clock.
{%- endif %}
--# create event {{ control }}.{{ job.name }}
CREATE EVENT {{ control }}.{{ job.name }}
ON SCHEDULE {{ job.event.every }} STARTS {{ job.event.starts }}
ON COMPLETION PRESERVE
ENABLE
COMMENT 'windrow'
DO
BEGIN
{%- if job.event.guard %}
    IF {{ job.event.guard }} THEN
        CALL {{ control }}.run_scheduled({% if job.worker %}{{ job.worker }}{% else %}NULL{% endif %});
    END IF;
{%- else %}
    CALL {{ control }}.run_scheduled({% if job.worker %}{{ job.worker }}{% else %}NULL{% endif %});
{%- endif %}
END;
{%- endfor %}
--# update table {{ control }}.control
UPDATE {{ control }}.control AS c SET c.scheduled = true WHERE c.only_row = true;
