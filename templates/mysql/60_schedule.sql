{% import "macros.sql" as w -%}
{{ w::session() }}

-- The scheduled run: {{ schedule }}, in UTC. A missed or overlapping start does no harm: one run at a time.
-- The event runs while the server's event_scheduler is ON, and on a replica not at all; verify() tells.
{%- if event.guard %}
-- The event starts more often than the schedule says, and looks at the clock.
{%- endif %}
--# create event {{ control }}.run
CREATE EVENT {{ control }}.run
ON SCHEDULE {{ event.every }} STARTS {{ event.starts }}
ON COMPLETION PRESERVE
ENABLE
COMMENT 'windrow [body @body@]'
DO
BEGIN
{%- if event.guard %}
    IF {{ event.guard }} THEN
        CALL {{ control }}.run_scheduled();
    END IF;
{%- else %}
    CALL {{ control }}.run_scheduled();
{%- endif %}
END;
