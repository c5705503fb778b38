{% import "macros.sql" as w -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

-- outlook: how much is due by rule, how that lies along time, and how much becomes due next. windrow plan asks for it.
--# create function {{ control }}.outlook
CREATE OR REPLACE FUNCTION {{ control }}.outlook(p_options jsonb DEFAULT '{}')
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
SET jit = off
AS $windrow$
DECLARE
    v_now   timestamptz := clock_timestamp();
    v_then  timestamptz;
    v_limit bigint;
    v_parts bigint;
    v_soon  bigint;
    v_due   json;
    v_rules json[] := '{}';
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule', 'limit', 'parts', 'ahead']);
    IF p_options ? 'rule' THEN
        PERFORM {{ control }}.check_rule(p_options);
    END IF;
    IF coalesce(p_options ->> 'limit', '1') !~ '^[1-9][0-9]{0,17}$' OR coalesce(p_options ->> 'parts', '1') !~ '^[1-9][0-9]{0,3}$' THEN
        RAISE EXCEPTION 'limit and parts are not numbers above 0'
            USING ERRCODE = '22023', HINT = 'Write them like {"limit": 1000000, "parts": 10}.';
    END IF;
    v_limit := coalesce((p_options ->> 'limit')::bigint, 1000000);
    v_parts := coalesce((p_options ->> 'parts')::bigint, 10);
    v_then := v_now + make_interval(secs => coalesce({{ control }}.seconds(p_options ->> 'ahead'), 604800));
{%- for rule in rules %}
    IF coalesce(p_options ->> 'rule', {{ rule.literal }}) = {{ rule.literal }} THEN
{%- if rule.single %}
        SELECT json_build_object('rule', {{ rule.literal }}, 'families', o.families, 'complete', o.complete, 'parts', '[]'::json, 'ahead', NULL)
        INTO v_due
        FROM {{ control }}.{{ rule.name }}_overdue(v_now, v_limit) AS o;
{%- else %}
{%- if rule.by_end %}
        -- What is younger than the cutoff of now and older than that of then, of whatever scope.
        SELECT CASE WHEN greatest(s.later, s.now) < v_limit THEN s.later - s.now END
        INTO v_soon
        FROM (
            SELECT
                (SELECT count(*) FROM {{ control }}.{{ rule.name }}_next(v_then, NULL, NULL, {% if rule.last %}'-infinity'{% else %}c.least{% endif %}, {{ rule.first_key }}, v_limit)) AS later,
                (SELECT count(*) FROM {{ control }}.{{ rule.name }}_next(v_now, NULL, NULL, {% if rule.last %}'-infinity'{% else %}c.least{% endif %}, {{ rule.first_key }}, v_limit)) AS now
            FROM (
                SELECT min(s.cutoff) AS least
                FROM {{ control }}.{{ rule.name }}_scope(v_now, NULL, NULL) AS s
                WHERE s.cutoff > '-infinity'
            ) AS c
        ) AS s;
{%- else %}
        SELECT CASE WHEN count(*) < v_limit THEN count(*) END
        INTO v_soon
        FROM (
            SELECT
            FROM {{ rule.table }} AS t
            WHERE t.{{ rule.end_time }} >= {{ control }}.{{ rule.name }}_cutoff(v_now, NULL)
              AND t.{{ rule.end_time }} < {{ control }}.{{ rule.name }}_cutoff(v_then, NULL)
{%- if rule.timed.root_column %}
              AND {{ rule.timed.is_root }}
{%- endif %}
{%- for condition in rule.timed.conditions_of_root %}
              AND {{ condition }}
{%- endfor %}
            LIMIT v_limit
        ) AS s;
{%- endif %}
        SELECT json_build_object(
            'rule', {{ rule.literal }},
            'families', coalesce(sum(p.families), 0),
            'complete', coalesce(sum(p.families), 0) < v_limit,
            'parts', coalesce(json_agg(json_build_object('from', p.since, 'families', p.families) ORDER BY p.part), '[]'),
            'ahead', v_soon
        )
        INTO v_due
        FROM (
            SELECT d.part, min(d.due) AS since, count(*) AS families
            FROM (
                SELECT o.due, (row_number() OVER (ORDER BY o.due) - 1) * v_parts / count(*) OVER () AS part
                FROM (
{%- if rule.by_end %}
                    SELECT n.{{ rule.along }} AS due
                    FROM {{ control }}.{{ rule.name }}_next(v_now, NULL, NULL, '-infinity', {{ rule.first_key }}, v_limit) AS n
{%- else %}
                    SELECT t.{{ rule.end_time }} AS due
                    FROM {{ rule.table }} AS t
                    WHERE t.{{ rule.end_time }} < {{ control }}.{{ rule.name }}_cutoff(v_now, NULL)
                      AND t.{{ rule.end_time }} > '-infinity'
{%- if rule.timed.root_column %}
                      AND {{ rule.timed.is_root }}
{%- endif %}
{%- for condition in rule.timed.conditions_of_root %}
                      AND {{ condition }}
{%- endfor %}
                    ORDER BY t.{{ rule.end_time }}
                    LIMIT v_limit
{%- endif %}
                ) AS o
            ) AS d
            GROUP BY d.part
        ) AS p;
{%- endif %}
        v_rules := v_rules || v_due;
    END IF;
{%- endfor %}
    RETURN json_build_object('as_of', v_now, 'rules', to_json(v_rules));
END
$windrow$;
--# comment on function {{ control }}.outlook
COMMENT ON FUNCTION {{ control }}.outlook(jsonb) IS
    'By rule, families that are due, whether or not they may go, counted up to limit; parts: where each of so many equal parts of them begins, the oldest first, by the clock of the application; ahead: how many more become due within that time. Reads only, at most limit entries of an index three times. Example: SELECT {{ control }}.outlook(''{"limit": 1000000, "parts": 10, "ahead": "7d"}''); [body @body@]';
--# become who installs
RESET ROLE;
