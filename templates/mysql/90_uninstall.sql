{{ session_outside }}
-- Dropping a trigger or an index waits until no transaction is open on its table, for two seconds at most: other sessions that want
-- the table wait behind this one. If two seconds are not enough, apply this file again; `windrow uninstall` does that itself.
-- Rows that are out of their table are not dropped, nor archived ones but after: SET @windrow_drop_archive = 'yes';
--# look for rows that exist nowhere else
SET @windrow_statement = (SELECT IF(COUNT(*) = 0, 'DO 0', 'CALL {{ control }}.check_uninstall()') FROM information_schema.routines AS r
    WHERE r.routine_schema = {{ control_literal }} AND r.routine_name = 'check_uninstall');
--# parse the look for rows that exist nowhere else
PREPARE windrow_statement FROM @windrow_statement;
--# refuse to drop rows that exist nowhere else
EXECUTE windrow_statement;

-- The ledger, the policies and the holds are dropped with the database, and so is the event: copy what you must keep first. The drop
-- waits for a batch that is under way.
--# set lock_wait_timeout
SET SESSION lock_wait_timeout = 60;
--# drop database {{ control }}
DROP DATABASE IF EXISTS {{ control }};
{% if guards -%}
-- Now nothing is deleted that the triggers would guard. Their definer, the owner role, is dropped below: without it every INSERT fails.
-- Those of earlier versions are dropped by their names, which another spec can have, too: `windrow uninstall`
-- drops those of the owner role, and no other.
--# set lock_wait_timeout
SET SESSION lock_wait_timeout = 2;
{% for guard in guards -%}
--! drop trigger {{ guard.on_insert }}
DROP TRIGGER IF EXISTS {{ guard.on_insert }};
--! drop trigger {{ guard.on_update }}
DROP TRIGGER IF EXISTS {{ guard.on_update }};
{% for trigger in guard.earlier -%}
--! drop trigger {{ trigger }} of earlier versions
DROP TRIGGER IF EXISTS {{ trigger }};
{% endfor %}{%- endfor %}
{% endif -%}
{% if indexes_reversed -%}
-- To drop an index, the server reads the columns again: a default without a day is none in a strict mode. No row is written.
--# set lock_wait_timeout and sql_mode
SET SESSION lock_wait_timeout = 2, sql_mode = 'ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION';
{% endif -%}
{% for index in indexes_reversed %}
{%- if maria %}
--! drop index {{ index.name }}
{%- filter fit %}
ALTER TABLE IF EXISTS {{ index.table }}
    DROP INDEX IF EXISTS {{ index.ident }},
    ALGORITHM = INPLACE, LOCK = NONE;
{%- endfilter %}
{%- else %}
--! look for index {{ index.name }}
{%- filter fit %}
SET @windrow_statement = (
    SELECT IF(COUNT(*) = 0, 'DO 0', {{ index.undo | replace(from=" DROP INDEX ", to="' ' DROP INDEX ") }})
    FROM information_schema.statistics AS s
    WHERE s.table_schema = {{ schema_literal }}
      AND s.table_name = {{ index.table_literal }}
      AND s.index_name = {{ index.literal }}
);
{%- endfilter %}
--! parse index {{ index.name }}
PREPARE windrow_statement FROM @windrow_statement;
--! drop index {{ index.name }}
EXECUTE windrow_statement;
{%- endif %}
{% endfor -%}
--# forget the last look
DEALLOCATE PREPARE windrow_statement;
--# drop roles
DROP ROLE IF EXISTS {{ operator }}, {{ auditor }}, {{ owner }};
