--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};
--# set the owner of schema {{ control }}
ALTER SCHEMA {{ control }} OWNER TO CURRENT_ROLE;
-- A batch first locks all rows of the root table that it deletes, FOR UPDATE. A writer that names such a family, or a row in it,
-- asks for a lock on the same rows here, as a foreign key would: it waits until the batch has committed, and then finds no parent.
-- If the writer comes first, the batch skips the family (LOCKED). The writer's own lock_timeout limits how long it waits.
{% for guard in guards %}
-- {{ guard.table_name }}: the rows that its rows name must exist.
--# create function {{ control }}.{{ guard.function }}
CREATE OR REPLACE FUNCTION {{ control }}.{{ guard.function }}()
RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
BEGIN
{%- for edge in guard.edges %}
    IF {{ edge.present }} AND (TG_OP = 'INSERT' OR {{ edge.changed }}) THEN
{%- if edge.ways %}
        PERFORM FROM {{ edge.root }} AS r
        WHERE r.{{ edge.root_key }} IN (
{%- for way in edge.ways %}
            SELECT {{ way.column }} FROM {{ way.from }} WHERE {{ way.names }}{% if not loop.last %}
            UNION ALL{% endif %}
{%- endfor %}
        )
        ORDER BY r.{{ edge.root_key }}
        FOR KEY SHARE;
        PERFORM FROM {{ edge.parent }} AS p WHERE {{ edge.same }};
{%- else %}
        PERFORM FROM {{ edge.parent }} AS p WHERE {{ edge.same }} FOR KEY SHARE;
{%- endif %}
        IF NOT FOUND THEN
            RAISE EXCEPTION '% names a row of % that does not exist: %', '{{ edge.child }}', '{{ edge.parent_name }}', {{ edge.value }}
                USING ERRCODE = '23503', HINT = 'A trigger of windrow ({{ control }}) prevents orphans.';
        END IF;
    END IF;
{%- endfor %}
    RETURN NULL;
END
$windrow$;
--# comment on function {{ control }}.{{ guard.function }}
COMMENT ON FUNCTION {{ control }}.{{ guard.function }}() IS
    'Trigger of {{ guard.table_name }}: refuses a row whose parent is gone, and waits for a batch that deletes it.';
{% endfor %}
--# become who installs
RESET ROLE;
