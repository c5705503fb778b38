{% import "macros.sql" as w -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

-- lock_tables: what a batch does first, by take_tables().
--# create function {{ control }}.lock_tables
CREATE OR REPLACE FUNCTION {{ control }}.lock_tables()
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    LOCK TABLE
{%- for table in going_tables %}
        {{ table }}{% if not loop.last %},{% endif %}
{%- endfor %}
    IN ROW EXCLUSIVE MODE;
END
$windrow$;
--# comment on function {{ control }}.lock_tables
COMMENT ON FUNCTION {{ control }}.lock_tables() IS
    'Locks the tables whose rows go in ROW EXCLUSIVE MODE until the transaction ends. [body @body@]';

-- check_key: a key is a value of the key column of the rule's root table.
--# create function {{ control }}.check_key
CREATE OR REPLACE FUNCTION {{ control }}.check_key(p_rule text, p_key text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_valid boolean;
BEGIN
{%- for rule in rules %}
    IF p_rule = {{ rule.literal }} THEN
        BEGIN
{%- if rule.single and rule.single.composite %}
            -- A key of several columns is a JSON array, written as the server writes it.
            v_valid := {{ rule.single.is_key }};
        EXCEPTION WHEN data_exception THEN
            v_valid := false;
        END;
        IF v_valid IS NOT TRUE THEN
            RAISE EXCEPTION 'not a key of %: %', {{ rule.table_literal }}, quote_nullable(p_key)
                USING ERRCODE = '22023', HINT = 'A key is a JSON array with the values of {{ rule.single.key_form }}.';
        END IF;
{%- else %}
            -- A number that looks like a key may still be beyond the range of the column.
            v_valid := (p_key ~ {{ rule.key_pattern }}) AND p_key::{{ rule.key_type }} IS NOT NULL;
        EXCEPTION WHEN data_exception THEN
            v_valid := false;
        END;
        IF v_valid IS NOT TRUE THEN
            RAISE EXCEPTION 'not a key of %: %', {{ rule.table_literal }}, quote_nullable(p_key)
                USING ERRCODE = '22023', HINT = 'A key is a value of {{ rule.table_name }}.{{ rule.key_name }}.';
        END IF;
{%- endif %}
    END IF;
{%- endfor %}
{%- for stamp in stamped %}{% if stamp.of %}
    IF p_rule = {{ stamp.whole_name }} THEN
        BEGIN
            v_valid := (p_key ~ {{ stamp.key_pattern }}) AND p_key::{{ stamp.key_type }} IS NOT NULL;
        EXCEPTION WHEN data_exception THEN
            v_valid := false;
        END;
        IF v_valid IS NOT TRUE THEN
            RAISE EXCEPTION 'not a key of %: %', {{ stamp.table_literal }}, quote_nullable(p_key)
                USING ERRCODE = '22023', HINT = 'A key is a value of {{ stamp.table_name }}.{{ stamp.key_name }}.';
        END IF;
    END IF;
{%- endif %}{% endfor %}
END
$windrow$;
--# comment on function {{ control }}.check_key
COMMENT ON FUNCTION {{ control }}.check_key(text, text) IS
    'Raises 22023 for what cannot be a key of the root table of the rule. [body @body@]';

-- orphans: rows whose parent is not there, by edge. Reads whole tables.
--# create function {{ control }}.orphans
CREATE OR REPLACE FUNCTION {{ control }}.orphans()
RETURNS TABLE (edge text, orphans bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
{%- for edge in edges %}
    SELECT {{ edge.literal }}, count(*)
    FROM {{ edge.table }} AS c
    WHERE {{ edge.present }}
{%- if edge.none %}
      AND c.{{ edge.column }} <> {{ edge.none }}
{%- endif %}
      AND NOT EXISTS (SELECT FROM {{ edge.parent }} AS p WHERE {{ edge.same }})
{%- if not loop.last %}
    UNION ALL{% else %};{% endif %}
{%- endfor %}
{%- if not edges %}
    SELECT NULL::text, 0::bigint WHERE false;
{%- endif %}
$windrow$;
--# comment on function {{ control }}.orphans
COMMENT ON FUNCTION {{ control }}.orphans() IS
    'Rows whose parent is not there, by edge. Reads whole tables. [body @body@]';

-- row_of_key: the row that a hold names. The type of the column reads the key, so that each of its spellings finds the row.
--# create function {{ control }}.row_of_key
CREATE OR REPLACE FUNCTION {{ control }}.row_of_key(p_rule text, p_key text, OUT o_key text, OUT o_found boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET timezone = 'UTC'
AS $windrow$
DECLARE
{%- for rule in rules %}
{%- for part in rule.held.parts %}
    {{ part.variable }} {{ part.kind }};
{%- endfor %}
{%- endfor %}
BEGIN
{%- for rule in rules %}
    IF p_rule = {{ rule.literal }} THEN
        BEGIN
{%- for part in rule.held.parts %}
            {{ part.variable }} := {{ part.value }};
{%- endfor %}
{%- if rule.held.composite %}
            IF jsonb_array_length(p_key::jsonb) <> {{ rule.held.parts | length }} THEN
                {{ rule.held.parts.0.variable }} := NULL;
            END IF;
{%- endif %}
        EXCEPTION WHEN data_exception OR check_violation OR not_null_violation THEN
            {{ rule.held.parts.0.variable }} := NULL;
        END;
        IF num_nulls({% for part in rule.held.parts %}{{ part.variable }}{% if not loop.last %}, {% endif %}{% endfor %}) > 0 THEN
            RAISE EXCEPTION 'not a key of %: %', {{ rule.table_literal }}, quote_nullable(p_key)
                USING ERRCODE = '22023', HINT = 'A key is a {% if rule.held.composite %}JSON array with values{% else %}value{% endif %} of {{ rule.held.form }}.';
        END IF;
        SELECT {{ rule.held.key }}, {% if rule.by_end %}{{ rule.is_root }}{% else %}true{% endif %}
        INTO o_key, o_found
        FROM {{ rule.table }} AS i
        WHERE {{ rule.held.matches }};
        o_key := coalesce(o_key, {{ rule.held.key_as_read }});
{%- if rule.by_end and rule.links and rule.candidates %}
        -- Or it belongs to the family of one that is.
        IF NOT o_found THEN
            WITH RECURSIVE up AS (
                SELECT {{ rule.held.parts.0.variable }}::{{ rule.id_type }} AS id
                UNION
                SELECT l.parent
                FROM up
                CROSS JOIN LATERAL (
{%- for link in rule.links %}
                    SELECT n.{{ link.parent }}::{{ rule.id_type }} AS parent FROM {{ link.table }} AS n WHERE n.{{ link.child }} = up.id AND n.{{ link.parent }} IS NOT NULL{% if not loop.last %}
                    UNION ALL{% endif %}
{%- endfor %}
                ) AS l
            )
            SELECT EXISTS (SELECT FROM up JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = up.id WHERE {{ rule.is_root }}) INTO o_found;
        END IF;
{%- endif %}
{%- if rule.timed %}{% for other in rule.timed.others %}
        -- Or it is one of {{ other.table_name }}.
        IF o_found IS NOT TRUE THEN
            SELECT coalesce(max(r.{{ other.key }}::text), o_key), count(*) > 0
            INTO o_key, o_found
            FROM {{ other.table }} AS r
            WHERE r.{{ other.key }} = {{ rule.held.parts.0.variable }}
{%- for condition in other.conditions %}
              AND {{ condition }}
{%- endfor %};
        END IF;
{%- endfor %}{% endif %}
    END IF;
{%- endfor %}
    o_found := coalesce(o_found, false);
END
$windrow$;
--# comment on function {{ control }}.row_of_key
COMMENT ON FUNCTION {{ control }}.row_of_key(text, text) IS
    'The key of the row that p_key names, as the server writes it, and whether the rule could ever delete it; raises 22023 for what the column cannot hold. Reads only. [body @body@]';

-- named_artifacts: which files of the outbox something still names.
--# create function {{ control }}.named_artifacts
CREATE OR REPLACE FUNCTION {{ control }}.named_artifacts(p_artifacts jsonb)
RETURNS TABLE (artifact_id bigint, named_by text)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
{%- for file in files %}
    SELECT a.artifact_id, {{ file.table_literal }}
    FROM {{ control }}.artifact AS a
    WHERE a.artifact_id IN (SELECT k.artifact_id::bigint FROM jsonb_array_elements_text(p_artifacts) AS k(artifact_id))
      AND EXISTS (SELECT FROM {{ file.table }} AS t WHERE t.{{ file.path }} = a.path){% if loop.last %};{% else %}
    UNION ALL{% endif %}
{%- else %}
    -- No rule of the spec names files.
    SELECT NULL::bigint, NULL::text WHERE false;
{%- endfor %}
$windrow$;
--# comment on function {{ control }}.named_artifacts
COMMENT ON FUNCTION {{ control }}.named_artifacts(jsonb) IS
    'Which files of a JSON array of numbers a row that is there still names, whatever its host, and in which table: they must stay. Asked before a file is removed. Without an index on the path, it reads that table from end to end. [body @body@]';

--# become who installs
RESET ROLE;
