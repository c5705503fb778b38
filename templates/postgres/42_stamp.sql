{% import "macros.sql" as w -%}

{#- Whether row r leads to its family: its root does, or else the first row of it that is among those that are looked at. -#}
{% macro leads(stamp, among) -%}
{{ stamp.family_of_root }} = r.{{ stamp.key }} OR NOT EXISTS (
    SELECT FROM {{ stamp.table }} AS f
    WHERE f.{{ stamp.key }} = r.{{ stamp.root_column }}
      AND coalesce(f.{{ stamp.root_column }}, f.{{ stamp.key }}) = f.{{ stamp.key }}
      AND {{ among }}
) AND NOT EXISTS (
    SELECT FROM {{ stamp.table }} AS f
    WHERE f.{{ stamp.root_column }} = r.{{ stamp.root_column }}
      AND f.{{ stamp.key }} < r.{{ stamp.key }}
      AND {{ among }}
)
{%- endmacro leads %}

{#- Changes the rows t of a step that are found in one way. -#}
{% macro change(stamp, step, change) -%}
-- {{ change.why }}
UPDATE {{ step.table }} AS t
SET {{ stamp.end_time }} = w.due
FROM unnest(v_keys, v_families, v_times) AS w(id, family, due)
{%- for join in change.joins %}
JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
WHERE {{ change.on }}
  AND t.{{ stamp.end_time }} IS DISTINCT FROM w.due;
GET DIAGNOSTICS v_changed = ROW_COUNT;
v_rows := v_rows + v_changed;
{%- endmacro change -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

-- check_stamp_options: the options of stamp(), checked before anything happens. Answers the rule.
--# create function {{ control }}.check_stamp_options
CREATE OR REPLACE FUNCTION {{ control }}.check_stamp_options(p_options jsonb)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rules constant text[] := ARRAY[{{ stamp_literals }}];
{%- if stamps_of %}
    v_others constant text[] := ARRAY[{{ stamps_of }}];
{%- endif %}
    v_rule  text;
    v_key   text;
    v_to    timestamptz;
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule', 'to', 'calculated', 'default', 'clear', 'key', 'missing', 'all', 'hierarchical', 'chunk', 'time_budget', 'dry_run'{% if stamps_of %}, 'of'{% endif %}]);
    v_rule := coalesce(p_options ->> 'rule', CASE WHEN cardinality(v_rules) = 1 THEN v_rules[1] END);
    IF v_rule IS NULL OR v_rule <> ALL (v_rules) THEN
        RAISE EXCEPTION 'no such rule with removal times to set: %', quote_nullable(v_rule)
            USING ERRCODE = '22023', HINT = format('The rules are: %s.', array_to_string(v_rules, ', '));
    END IF;
    IF num_nonnulls(p_options -> 'to', p_options -> 'calculated', p_options -> 'clear') <> 1 THEN
        RAISE EXCEPTION 'not one of to, calculated and clear'
            USING ERRCODE = '22023', HINT = 'Write {"to": "2027-01-01T00:00:00Z"}, {"calculated": "end"}, {"calculated": "start"} or {"clear": true}.';
    END IF;
    IF num_nonnulls(p_options -> 'key', p_options -> 'missing', p_options -> 'all') <> 1 THEN
        RAISE EXCEPTION 'not one of key, missing and all'
            USING ERRCODE = '22023', HINT = 'Write {"key": [17, 18]} for some, {"missing": true} for those without a removal time, or {"all": true}.';
    END IF;
{%- if stamps_of %}
    IF p_options ? 'of' AND (v_rule || '.' || (p_options ->> 'of') = ANY (v_others)) IS NOT TRUE THEN
        RAISE EXCEPTION 'rule % has no such removal times to set: %', v_rule, quote_nullable(p_options ->> 'of')
            USING ERRCODE = '22023', HINT = format('The option of is the last part of one of these: %s.', array_to_string(v_others, ', '));
    END IF;
{%- endif %}
    IF p_options ? 'to' THEN
        v_to := {{ control }}.instant_of(p_options ->> 'to');
        -- Whole seconds of four-digit years: what every server stores alike.
        IF v_to IS NULL OR v_to < '1970-01-02 00:00:00' OR v_to >= '9999-01-01 00:00:00' OR v_to <> date_trunc('second', v_to) THEN
            RAISE EXCEPTION 'to is not an instant in whole seconds: %', quote_nullable(p_options ->> 'to')
                USING ERRCODE = '22023', HINT = 'Write it like 2027-01-01T00:00:00Z; without a zone it is UTC.';
        END IF;
    END IF;
    IF p_options ? 'calculated' AND (p_options ->> 'calculated' IN ('start', 'end')) IS NOT TRUE THEN
        RAISE EXCEPTION 'calculated is neither start nor end: %', quote_nullable(p_options ->> 'calculated')
            USING ERRCODE = '22023', HINT = 'Say from when on the time to live counts: {"calculated": "end"}.';
    END IF;
    IF p_options ? 'default' AND (NOT p_options ? 'calculated' OR {{ control }}.seconds(p_options ->> 'default') IS NULL) THEN
        RAISE EXCEPTION 'default is not the time to live of a calculated removal time: %', quote_nullable(p_options ->> 'default')
            USING ERRCODE = '22023', HINT = 'Write it like {"calculated": "end", "default": "30d"}: for definitions without a time to live.';
    END IF;
    FOR v_key IN SELECT f.name FROM unnest(ARRAY['clear', 'missing', 'all']) AS f(name) LOOP
        IF p_options ? v_key AND p_options -> v_key <> 'true' THEN
            RAISE EXCEPTION '% is not true: %', v_key, p_options -> v_key
                USING ERRCODE = '22023', HINT = format('Write {"%s": true}, or leave it out.', v_key);
        END IF;
    END LOOP;
    FOR v_key IN SELECT f.name FROM unnest(ARRAY['hierarchical', 'dry_run']) AS f(name) LOOP
        IF p_options ? v_key AND jsonb_typeof(p_options -> v_key) <> 'boolean' THEN
            RAISE EXCEPTION '% is not true or false: %', v_key, p_options -> v_key
                USING ERRCODE = '22023', HINT = format('Write {"%s": true} or {"%s": false}.', v_key, v_key);
        END IF;
    END LOOP;
    IF p_options ? 'chunk' AND ((p_options ->> 'chunk') ~ '^[1-9][0-9]{0,3}$') IS NOT TRUE THEN
        RAISE EXCEPTION 'chunk is not a number from 1 to 9999: %', quote_nullable(p_options ->> 'chunk')
            USING ERRCODE = '22023', HINT = 'Write it like {"chunk": 200}: so many families in one transaction.';
    END IF;
    IF p_options ? 'time_budget' AND coalesce({{ control }}.seconds(p_options ->> 'time_budget'), 0) <= 0 THEN
        RAISE EXCEPTION 'time_budget is not a duration above 0: %', quote_nullable(p_options ->> 'time_budget')
            USING ERRCODE = '22023', HINT = 'Write it like {"time_budget": "10m"}.';
    END IF;
    IF p_options ? 'key' THEN
        IF jsonb_typeof(p_options -> 'key') <> 'array' OR jsonb_array_length(p_options -> 'key') = 0 THEN
            RAISE EXCEPTION 'the option key is not a list of keys'
                USING ERRCODE = '22023', HINT = 'Write it like {"key": [17, 18]}.';
        END IF;
        FOR v_key IN SELECT k.key FROM jsonb_array_elements_text(p_options -> 'key') AS k(key) LOOP
            PERFORM {{ control }}.check_key(v_rule{% if stamps_of %} || coalesce('.' || (p_options ->> 'of'), ''){% endif %}, v_key);
        END LOOP;
    END IF;
    RETURN v_rule;
END
$windrow$;
--# comment on function {{ control }}.check_stamp_options
COMMENT ON FUNCTION {{ control }}.check_stamp_options(jsonb) IS
    'Raises 22023 with a hint for an option of stamp() that makes no sense; answers the rule. [body @body@]';
{% for stamp in stamped %}
-- Row security would hide rows that must be stamped: with row_security = off it is an error, not a gap.

-- {{ stamp.name }}_stamp_next: the next families or instances, in the order of the rows of {{ stamp.table_name }} that lead to them.
--# create function {{ control }}.{{ stamp.name }}_stamp_next
CREATE OR REPLACE FUNCTION {{ control }}.{{ stamp.name }}_stamp_next(
    p_options jsonb,
    p_after   {{ stamp.key_type }},
    p_limit   bigint,
    OUT o_last {{ stamp.key_type }},
    OUT o_keys {{ stamp.key_type }}[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
{%- if stamp.root_column %}
    v_family boolean := coalesce((p_options ->> 'hierarchical')::boolean, true);
{%- endif %}
    v_all    boolean := p_options ? 'all';
    v_named  {{ stamp.key_type }}[];
BEGIN
    IF p_options ? 'key' THEN
        v_named := ARRAY(SELECT k.key::{{ stamp.key_type }} FROM jsonb_array_elements_text(p_options -> 'key') AS k(key));
        SELECT max(n.id), coalesce(array_agg(n.key ORDER BY n.id), '{}')
        INTO o_last, o_keys
        FROM (
            SELECT r.{{ stamp.key }} AS id, {% if stamp.root_column %}CASE WHEN v_family THEN {{ stamp.family_of_root }} ELSE r.{{ stamp.key }} END{% else %}r.{{ stamp.key }}{% endif %} AS key
            FROM {{ stamp.table }} AS r
            WHERE r.{{ stamp.key }} = ANY (v_named)
              AND r.{{ stamp.key }} > p_after
{%- for condition in stamp.conditions %}
              AND {{ condition }}
{%- endfor %}
{%- if stamp.root_column %}
              -- Where several rows lead to one family, the root does, or else the first of them.
              AND (NOT v_family OR {{ self::leads(stamp=stamp, among="f." ~ stamp.key ~ " = ANY (v_named)" ~ stamp.and_of_others) | indent(prefix="              ") }})
{%- endif %}
            ORDER BY r.{{ stamp.key }}
            LIMIT p_limit
        ) AS n;
    ELSE
        SELECT max(n.id), coalesce(array_agg(n.key ORDER BY n.id), '{}')
        INTO o_last, o_keys
        FROM (
            SELECT r.{{ stamp.key }} AS id, {% if stamp.root_column %}CASE WHEN v_family THEN {{ stamp.family_of_root }} ELSE r.{{ stamp.key }} END{% else %}r.{{ stamp.key }}{% endif %} AS key
            FROM {{ stamp.table }} AS r
            WHERE r.{{ stamp.key }} > p_after
              AND (v_all OR r.{{ stamp.end_time }} IS NULL)
{%- for condition in stamp.conditions %}
              AND {{ condition }}
{%- endfor %}
{%- if stamp.root_column %}
              -- Where several rows lead to one family, the root does, or else the first of them.
              AND (NOT v_family OR {{ self::leads(stamp=stamp, among="(v_all OR f." ~ stamp.end_time ~ " IS NULL)" ~ stamp.and_of_others) | indent(prefix="              ") }})
{%- endif %}
            ORDER BY r.{{ stamp.key }}
            LIMIT p_limit
        ) AS n;
    END IF;
END
$windrow$;
--# comment on function {{ control }}.{{ stamp.name }}_stamp_next
COMMENT ON FUNCTION {{ control }}.{{ stamp.name }}_stamp_next(jsonb, {{ stamp.key_type }}, bigint) IS
    'The next p_limit families that the options of a stamp name, or instances where it is not hierarchical, behind row p_after of {{ stamp.table_name }}; o_last is NULL where there are no more. Reads only. [body @body@]';

-- {{ stamp.name }}_stamp_batch: sets the removal time of some families, or instances. Has no transaction control.
--# create function {{ control }}.{{ stamp.name }}_stamp_batch
CREATE OR REPLACE FUNCTION {{ control }}.{{ stamp.name }}_stamp_batch(
    p_options jsonb,
    p_keys    {{ stamp.key_type }}[],
    OUT o_families     bigint,
    OUT o_skip_keys    text[],
    OUT o_skip_reasons text[],
    OUT o_rows         bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
SET timezone = 'UTC'
AS $windrow$
DECLARE
{%- if stamp.by_family %}
    v_family   boolean := coalesce((p_options ->> 'hierarchical')::boolean, true);
{%- endif %}
    v_base     text := p_options ->> 'calculated';
    v_default  bigint := {{ control }}.seconds(p_options ->> 'default');
    v_to       {{ stamp.time_type }} := {{ stamp.to }};
    v_members  {{ stamp.key_type }}[];
    v_keys     {{ stamp.key_type }}[];
    v_families {{ stamp.key_type }}[];
    v_times    {{ stamp.time_type }}[];
    v_changed  bigint;
    v_rows     bigint;
BEGIN
    o_rows := ARRAY[{{ stamp.zeros }}]::bigint[];
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a batch needs the isolation level read committed'
            USING ERRCODE = '25001', HINT = 'A snapshot from before its locks would hide what others have written.';
    END IF;
{%- if stamp.of %}

    -- These rows first: no other stamp meets a family that is stamped in part.
{%- else %}

    -- The same lock as that of a purge: no run meets a family that is stamped in part, and no stamp one that is half gone.
{%- endif %}
{%- if stamp.root_column %}
    IF v_family THEN
        v_members := ARRAY(
            SELECT t.{{ stamp.key }}
            FROM {{ stamp.table }} AS t
            WHERE t.{{ stamp.root_column }} = ANY (p_keys)
               OR t.{{ stamp.key }} = ANY (p_keys)
            ORDER BY t.{{ stamp.key }}
            FOR UPDATE
        );
    ELSE
        v_members := ARRAY(
            SELECT t.{{ stamp.key }}
            FROM {{ stamp.table }} AS t
            WHERE t.{{ stamp.key }} = ANY (p_keys)
            ORDER BY t.{{ stamp.key }}
            FOR UPDATE
        );
    END IF;
{%- else %}
    v_members := ARRAY(
        SELECT t.{{ stamp.key }}
        FROM {{ stamp.table }} AS t
        WHERE t.{{ stamp.key }} = ANY (p_keys)
        ORDER BY t.{{ stamp.key }}
        FOR UPDATE
    );
{%- endif %}
{% if stamp.definition %}
    -- A calculated time counts from the root of the family, by the time to live of the root's definition in {{ stamp.definition_name }}:
    -- NULL there is the default, less than 0 or more than a hundred years is for ever. What cannot be calculated stays as it is.
{%- else %}
    -- A calculated time counts from the root of the family, by the time to live that the spec has for its {{ stamp.per_name }}: any
    -- other means the default. What cannot be calculated stays as it is.
{%- endif %}
    SELECT
        coalesce(array_agg(s.key ORDER BY s.key) FILTER (WHERE s.reason IS NULL), '{}'),
        coalesce(array_agg(s.family ORDER BY s.key) FILTER (WHERE s.reason IS NULL), '{}'),
        coalesce(array_agg(CASE WHEN v_base IS NULL THEN v_to ELSE s.base + make_interval(secs => s.live) END ORDER BY s.key) FILTER (WHERE s.reason IS NULL), '{}'),
        coalesce(array_agg(s.key::text ORDER BY s.key) FILTER (WHERE s.reason IS NOT NULL), '{}'),
        coalesce(array_agg(s.reason ORDER BY s.key) FILTER (WHERE s.reason IS NOT NULL), '{}')
    INTO v_keys, v_families, v_times, o_skip_keys, o_skip_reasons
    FROM (
        SELECT
            c.*,
            CASE
                WHEN v_base IS NULL THEN NULL
                WHEN c.root IS NULL THEN 'UNDATED_MEMBER'
                WHEN c.base IS NULL AND v_base = 'end' THEN 'NON_FINAL_MEMBER'
                WHEN c.base IS NULL THEN 'UNDATED_MEMBER'
                WHEN c.live IS NULL THEN 'POLICY_DISABLED'
            END AS reason
        FROM (
            SELECT
                k.key, k.family, b.{{ stamp.key }} AS root,
                CASE v_base WHEN 'start' THEN b.{{ stamp.start }} ELSE b.{{ stamp.ended }} END AS base,
                {% if stamp.definition %}CASE WHEN {{ stamp.says }} IS NULL THEN v_default WHEN {{ stamp.ends }} THEN {{ stamp.seconds }} END{% else %}coalesce({{ stamp.says }}, v_default){% endif %} AS live
            FROM (
                SELECT DISTINCT {% if stamp.root_column %}CASE WHEN v_family THEN {{ stamp.family_of_root }} ELSE r.{{ stamp.key }} END{% else %}r.{{ stamp.key }}{% endif %} AS key, {{ stamp.family_of_root }} AS family
                FROM {{ stamp.table }} AS r
                WHERE r.{{ stamp.key }} = ANY (v_members)
            ) AS k
            LEFT JOIN {{ stamp.table }} AS b ON b.{{ stamp.key }} = k.family
{%- if stamp.definition %}
            LEFT JOIN {{ stamp.definition }} AS d ON d.{{ stamp.definition_key }} = b.{{ stamp.per }}
{%- endif %}
            WHERE k.key = ANY (p_keys)
        ) AS c
    ) AS s;
    o_families := cardinality(v_keys);
{%- for step in stamp.steps %}

    -- {{ step.table_name }}
    v_rows := 0;
{%- for change in step.always %}
    {{ self::change(stamp=stamp, step=step, change=change) | indent(prefix="    ") }}
{%- endfor %}
{%- if not step.always %}
    IF v_family THEN
{%- for change in step.whole %}
        {{ self::change(stamp=stamp, step=step, change=change) | indent(prefix="        ") }}
{%- endfor %}
{%- if not step.whole %}
        NULL;
{%- endif %}
    ELSE
{%- for change in step.own %}
        {{ self::change(stamp=stamp, step=step, change=change) | indent(prefix="        ") }}
{%- endfor %}
{%- if not step.own %}
        -- Its rows name no single instance.
        NULL;
{%- endif %}
    END IF;
{%- endif %}
    o_rows[{{ step.position }}] := v_rows;
{%- endfor %}
END
$windrow$;
--# comment on function {{ control }}.{{ stamp.name }}_stamp_batch
COMMENT ON FUNCTION {{ control }}.{{ stamp.name }}_stamp_batch(jsonb, {{ stamp.key_type }}[]) IS
    'Sets, in the caller''s transaction, the {{ stamp.end_time_name }} that the options of a stamp say: of all rows of the families p_keys, or of the rows of the instances p_keys where it is not hierarchical. Locks their rows of {{ stamp.table_name }} first. No transaction control; {{ stamp.name }}_stamp_step calls it. [body @body@]';

-- {{ stamp.name }}_stamp_step: one batch of a stamp, with its progress in the ledger, in the caller's transaction.
-- A batch that fails is tried again, then halved down to one family, which is recorded and passed over.
--# create function {{ control }}.{{ stamp.name }}_stamp_step
CREATE OR REPLACE FUNCTION {{ control }}.{{ stamp.name }}_stamp_step(p_run bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_run      {{ control }}.run%ROWTYPE;
    v_progress {{ control }}.run_stamp%ROWTYPE;
    v_next     record;
    v_batch    record;
    v_sqlstate text;
    v_message  text;
    v_busy     boolean := false;
BEGIN
    {{ w::before_batch(control=control, rule=stamp, progress="run_stamp") }}

    SELECT * INTO v_next FROM {{ control }}.{{ stamp.name }}_stamp_next(v_run.options, coalesce(v_progress.cursor_key, {{ stamp.first_key }})::{{ stamp.key_type }}, v_progress.batch_families);
    IF v_next.o_last IS NULL THEN
        RETURN 'nothing left';
    END IF;

    PERFORM set_config('lock_timeout', {{ control }}.setting_of({{ stamp.literal }}, 'lock_timeout') || 'ms', true);
    BEGIN
        SELECT * INTO v_batch FROM {{ control }}.{{ stamp.name }}_stamp_batch(v_run.options, v_next.o_keys);
        {{ w::after_batch(control=control, rule=stamp, progress="run_stamp") }}
    IF v_sqlstate IS NOT NULL AND cardinality(v_next.o_keys) > 1 THEN
        UPDATE {{ control }}.run_stamp AS r
        SET retries = r.retries + 1,
            retries_in_row = 0,
            batch_families = cardinality(v_next.o_keys) / 2,
            updated_at = clock_timestamp()
        WHERE r.run_id = p_run
          AND r.rule = {{ stamp.literal }};
        RETURN 'again';
    END IF;
    IF v_sqlstate IS NOT NULL THEN
        INSERT INTO {{ control }}.run_failure (run_id, rule, key, sqlstate, message)
        VALUES (p_run, {{ stamp.literal }}, v_next.o_keys[1]::text, v_sqlstate, v_message)
        ON CONFLICT (run_id, rule, key) DO NOTHING;
        SELECT
            0::bigint AS o_families, v_next.o_keys::text[] AS o_skip_keys,
            ARRAY[CASE WHEN v_busy THEN 'LOCKED' ELSE 'FAILED' END] AS o_skip_reasons,
            ARRAY[{{ stamp.zeros }}]::bigint[] AS o_rows
        INTO v_batch;
    END IF;

    UPDATE {{ control }}.run_stamp AS r
    SET families = r.families + v_batch.o_families,
        changed_rows = r.changed_rows + (SELECT sum(n.rows) FROM unnest(v_batch.o_rows) AS n(rows)),
        table_rows = ARRAY(
            SELECT n.before + n.now
            FROM unnest(r.table_rows, v_batch.o_rows) WITH ORDINALITY AS n(before, now, position)
            ORDER BY n.position
        ),
        batches = r.batches + 1,
        retries_in_row = 0,
        batch_families = least(r.batch_families * 2, coalesce((v_run.options ->> 'chunk')::integer, 200)),
        cursor_key = v_next.o_last::text,
        updated_at = clock_timestamp()
    WHERE r.run_id = p_run
      AND r.rule = {{ stamp.literal }};
    IF cardinality(v_batch.o_skip_keys) > 0 THEN
        PERFORM {{ control }}.record_skips(p_run, {{ stamp.literal }}, v_batch.o_skip_keys, v_batch.o_skip_reasons);
    END IF;
    RETURN 'more';
END
$windrow$;
--# comment on function {{ control }}.{{ stamp.name }}_stamp_step
COMMENT ON FUNCTION {{ control }}.{{ stamp.name }}_stamp_step(bigint) IS
    'One batch of stamp p_run and its progress in the ledger. Answers more, again, or why the stamp should end. stamp() calls it and commits. [body @body@]';
{% endfor %}
-- stamp_begin: opens the ledger for a stamp, or says why not.
--# create function {{ control }}.stamp_begin
CREATE OR REPLACE FUNCTION {{ control }}.stamp_begin(p_options jsonb, OUT o_run bigint, OUT o_rule text, OUT o_refused text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_control {{ control }}.control%ROWTYPE;
BEGIN
    o_rule := {{ control }}.check_stamp_options(p_options);
    SELECT * INTO STRICT v_control FROM {{ control }}.control;
    o_refused := CASE WHEN v_control.paused THEN {{ w::paused(c="v_control") }} ELSE {{ control }}.rule_paused(o_rule) END;
    IF o_refused IS NOT NULL THEN
        RETURN;
    END IF;

    -- One stamp at a time. Runs and purges may go on beside it.
    PERFORM FROM {{ control }}.turn AS t WHERE t.name = 'stamp' FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        o_refused := 'another stamp is starting';
        RETURN;
    END IF;
    PERFORM {{ control }}.reap();
    SELECT format('stamp %s is in progress (pid %s, since %s)', r.run_id, r.backend_pid, to_char(r.started_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
    INTO o_refused
    FROM {{ control }}.run AS r
    WHERE r.status = 'running'
      AND r.trigger = 'STAMP'
    ORDER BY r.run_id
    LIMIT 1;
    IF o_refused IS NOT NULL THEN
        RETURN;
    END IF;

    INSERT INTO {{ control }}.run (trigger, dry_run, options, as_of, deadline)
    VALUES (
        'STAMP',
        coalesce((p_options ->> 'dry_run')::boolean, false),
        p_options,
        clock_timestamp(),
        clock_timestamp() + make_interval(secs => coalesce({{ control }}.seconds(p_options ->> 'time_budget'), {{ control }}.setting_of(o_rule, 'time_budget')))
    )
    RETURNING run_id INTO o_run;
    INSERT INTO {{ control }}.run_stamp (run_id, rule, batch_families, table_names, table_rows)
    SELECT o_run, o_rule, coalesce((p_options ->> 'chunk')::integer, 200), t.names, array_fill(0::bigint, ARRAY[cardinality(t.names)])
    FROM (
        SELECT CASE o_rule{% if stamps_of %} || coalesce('.' || (p_options ->> 'of'), ''){% endif %}
{%- for stamp in stamped %}
            WHEN {{ stamp.whole_name }} THEN ARRAY[
{%- for step in stamp.steps %}
                {{ step.table_literal }}{% if not loop.last %},{% endif %}
{%- endfor %}
            ]
{%- endfor %}
        END
    ) AS t(names);
{%- if stamps_of %}

    -- What tells the stamp from all others.
    o_rule := o_rule || coalesce('.' || (p_options ->> 'of'), '');
{%- endif %}

    PERFORM {{ control }}.take_lock();
END
$windrow$;
--# comment on function {{ control }}.stamp_begin
COMMENT ON FUNCTION {{ control }}.stamp_begin(jsonb) IS
    'Checks the options of stamp() and opens the ledger. o_refused: why there is no stamp. [body @body@]';

-- stamp_end: closes the ledger of a stamp.
--# create function {{ control }}.stamp_end
CREATE OR REPLACE FUNCTION {{ control }}.stamp_end(p_run bigint, p_reason text)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    UPDATE {{ control }}.run AS r
    SET status = CASE
            WHEN p_reason LIKE 'error %' THEN 'failed'
            WHEN p_reason = 'cancelled' THEN 'cancelled'
            WHEN EXISTS (SELECT FROM {{ control }}.run_failure AS f WHERE f.run_id = p_run AND f.sqlstate NOT IN ('55P03', '40P01', '40001')) THEN 'failed'
            WHEN p_reason = 'nothing left' THEN 'done'
            ELSE 'stopped'
        END,
        reason = p_reason,
        finished_at = clock_timestamp()
    WHERE r.run_id = p_run
      AND {{ control }}.is_own(p_run);
    RETURN {{ control }}.stamp_result(p_run);
END
$windrow$;
--# comment on function {{ control }}.stamp_end
COMMENT ON FUNCTION {{ control }}.stamp_end(bigint, text) IS
    'Closes stamp p_run: status and reason. Answers stamp_result(). [body @body@]';

-- stamp_result: one stamp of the ledger as a document, in the form of run_result().
--# create function {{ control }}.stamp_result
CREATE OR REPLACE FUNCTION {{ control }}.stamp_result(p_run bigint)
RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET timezone = 'UTC'
AS $windrow$
    SELECT json_build_object(
        'run', r.run_id,
        'status', r.status,
        'reason', r.reason,
        'dry_run', r.dry_run,
        'trigger', r.trigger,
        'as_of', r.as_of,
        'started_at', r.started_at,
        'finished_at', r.finished_at,
        'duration_ms', round(extract(epoch FROM r.finished_at - r.started_at) * 1000),
        'rules', (
            SELECT json_agg(json_build_object(
                'rule', p.rule,
{%- if stamps_of %}
                'of', r.options ->> 'of',
{%- endif %}
                'families', p.families,
                'rows', p.changed_rows,
                'batches', p.batches,
                'retries', p.retries,
                'tables', (
                    SELECT json_object_agg(t.name, t.rows ORDER BY t.position)
                    FROM unnest(p.table_names, p.table_rows) WITH ORDINALITY AS t(name, rows, position)
                ),
                'skipped_families', coalesce(s.families, 0),
                'skipped', coalesce(s.skipped, '{}'),
                'skipped_samples', coalesce(s.samples, '{}'),
                'failures', coalesce(e.failures, '[]')
            ))
            FROM {{ control }}.run_stamp AS p
            {{ w::skips_and_failures(control=control) | indent(prefix="            ") }}
            WHERE p.run_id = r.run_id
        ),
        -- Keys that no row has.
        'refused', (
            SELECT coalesce(json_object_agg(k.key, 'NOT_A_ROOT' ORDER BY k.key), '{}')
            FROM (SELECT DISTINCT n.key, p.rule FROM {{ control }}.run_stamp AS p CROSS JOIN LATERAL jsonb_array_elements_text(coalesce(r.options -> 'key', '[]')) AS n(key) WHERE p.run_id = r.run_id) AS k
            WHERE NOT CASE k.rule{% if stamps_of %} || coalesce('.' || (r.options ->> 'of'), ''){% endif %}
{%- for stamp in stamped %}
                WHEN {{ stamp.whole_name }} THEN EXISTS (SELECT FROM {{ stamp.table }} AS f WHERE f.{{ stamp.key }} = k.key::{{ stamp.key_type }}{{ stamp.and_of_others }})
{%- endfor %}
            END
        )
    )
    FROM {{ control }}.run AS r
    WHERE r.run_id = p_run;
$windrow$;
--# comment on function {{ control }}.stamp_result
COMMENT ON FUNCTION {{ control }}.stamp_result(bigint) IS
    'One stamp of the ledger as a JSON document: rows are those that were changed. Example: SELECT {{ control }}.stamp_result(1); [body @body@]';

-- stamp: loops and commits, nothing else. What it may do, the definer functions that it calls may do.
--# create procedure {{ control }}.stamp
CREATE OR REPLACE PROCEDURE {{ control }}.stamp(p_options jsonb, INOUT p_result json DEFAULT NULL)
LANGUAGE plpgsql
AS $windrow$
-- COMMIT forbids a search_path of its own: every name in here says where it is from.
DECLARE
    v_run     bigint;
    v_rule    pg_catalog.text;
    v_refused pg_catalog.text;
    v_state   pg_catalog.text;
BEGIN
    -- Whatever the session prefers: what others have written must be read as it is committed now.
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    PERFORM {{ control }}.check_caller(current_user, false);
    SELECT b.o_run, b.o_rule, b.o_refused INTO v_run, v_rule, v_refused FROM {{ control }}.stamp_begin(p_options) AS b;
    IF v_run IS NULL THEN
        p_result := pg_catalog.json_build_object('run', NULL, 'status', 'refused', 'reason', v_refused);
        RAISE NOTICE 'no stamp: %', v_refused;
        RETURN;
    END IF;
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    LOOP
        BEGIN
            v_state := CASE
{%- for stamp in stamped %}
                WHEN v_rule OPERATOR(pg_catalog.=) {{ stamp.whole_name }} THEN {{ control }}.{{ stamp.name }}_stamp_step(v_run)
{%- endfor %}
            END;
            PERFORM {{ control }}.check_caller(current_user, false);
        EXCEPTION
            WHEN query_canceled THEN
                v_state := 'cancelled';
            WHEN OTHERS THEN
                v_state := pg_catalog.format('error %s: %s', SQLSTATE, SQLERRM);
        END;
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        EXIT WHEN v_state OPERATOR(pg_catalog.<>) ALL (ARRAY['more', 'again']);
    END LOOP;
    {{ w::close(call=control ~ ".stamp_end(v_run, v_state)", state="v_state", cancelled="cancelled", again=control ~ ".stamp_end(v_run, v_state)") | indent }}
    COMMIT;
    PERFORM {{ control }}.run_unlock();
    IF v_state OPERATOR(pg_catalog.=) 'cancelled' THEN
        RAISE EXCEPTION 'stamp % was cancelled; what it committed stays', v_run USING ERRCODE = '57014';
    END IF;
END
$windrow$;
--# comment on procedure {{ control }}.stamp
COMMENT ON PROCEDURE {{ control }}.stamp(jsonb, json) IS
    'Sets removal times anew, in batches that commit; a stamp that was ended is finished by the same call again. What: to, calculated (start or end) with default, or clear. Of which: key, missing or all; of their whole families unless hierarchical is false. {% if stamps_of %}Of what: of, or else of the families of the rule. {% endif %}Further options: rule, chunk, time_budget, dry_run. Example: CALL {{ control }}.stamp(''{"calculated": "end", "missing": true}''); [body @body@]';
--# become who installs
RESET ROLE;
