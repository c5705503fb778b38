--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

-- setting: what overrides the limits of the spec. Read again before every batch.
--# create table {{ control }}.setting
CREATE TABLE IF NOT EXISTS {{ control }}.setting (
    rule       text        NOT NULL,
    name       text        NOT NULL,
    value      bigint      NOT NULL,
    changed_by text        NOT NULL DEFAULT session_user,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (rule, name)
);
--# comment on table {{ control }}.setting
COMMENT ON TABLE {{ control }}.setting IS
    'Overrides of the limits in the spec; the view settings has all of them, with the defaults. Written by set_setting(); a trigger checks the limits of a value, whoever writes.';

-- setting_log: every change of a setting.
--# create table {{ control }}.setting_log
CREATE TABLE IF NOT EXISTS {{ control }}.setting_log (
    log_id     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rule       text        NOT NULL,
    name       text        NOT NULL,
    old_value  bigint,
    new_value  bigint,
    changed_by text        NOT NULL DEFAULT session_user,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
--# comment on table {{ control }}.setting_log
COMMENT ON TABLE {{ control }}.setting_log IS
    'Every change of table setting, written by its trigger; NULL: the default of the spec. Pruned with the ledger, but for the last change of each setting.';

-- settings: every limit with its present value, its unit, the default of the spec, and what a value may be.
--# create view {{ control }}.settings
CREATE OR REPLACE VIEW {{ control }}.settings AS
SELECT
    l.position, l.rule, l.name, coalesce(s.value, l.spec_value) AS value, l.unit, l.spec_value::bigint,
    l.least_value::bigint, l.greatest_value::bigint, l.takes, s.changed_by, s.changed_at
FROM (
    VALUES
{%- for rule in rules %}{% for setting in rule.settings %}
        ({{ setting.position }}, {{ rule.literal }}, '{{ setting.name }}', '{{ setting.unit }}', {{ setting.value }}, {{ setting.least }}, {{ setting.greatest }}, '{{ setting.takes }}'){% if not loop.last %},{% endif %}
{%- endfor %}{% if not loop.last %},{% endif %}{% endfor %}
) AS l(position, rule, name, unit, spec_value, least_value, greatest_value, takes)
LEFT JOIN {{ control }}.setting AS s ON s.rule = l.rule AND s.name = l.name;
--# comment on view {{ control }}.settings
COMMENT ON VIEW {{ control }}.settings IS
    'Every limit of every rule: its present value, its unit, the default of the spec, and what a value may be. A run reads them again before every batch.';

-- setting_of: the present value of a limit: the override, else the default of the spec. PL/pgSQL keeps the plan.
--# create function {{ control }}.setting_of
CREATE OR REPLACE FUNCTION {{ control }}.setting_of(p_rule text, p_name text)
RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    RETURN coalesce(
        (SELECT s.value FROM {{ control }}.setting AS s WHERE s.rule = p_rule AND s.name = p_name),
        CASE p_rule || '.' || p_name
{%- for rule in rules %}{% for setting in rule.settings %}
            WHEN '{{ rule.name }}.{{ setting.name }}' THEN {{ setting.value }}
{%- endfor %}{% endfor %}
        END
    );
END
$windrow$;
--# comment on function {{ control }}.setting_of
COMMENT ON FUNCTION {{ control }}.setting_of(text, text) IS
    'Present value of a limit: the override in table setting, else the default of the spec. Example: SELECT {{ control }}.setting_of(''{{ rules.0.name }}'', ''{{ rules.0.batch_setting }}''); [body @body@]';

-- on_setting: what happens to a row of setting, whoever writes it: before, the value is checked and signed; after, the
-- change is logged.
--# create function {{ control }}.on_setting
CREATE OR REPLACE FUNCTION {{ control }}.on_setting()
RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_limit {{ control }}.settings%ROWTYPE;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO {{ control }}.setting_log (rule, name, old_value)
        SELECT s.rule, s.name, s.value FROM {{ control }}.setting AS s ORDER BY s.rule, s.name;
        RETURN NULL;
    END IF;
    IF TG_WHEN = 'BEFORE' THEN
        SELECT * INTO v_limit FROM {{ control }}.settings AS s WHERE s.rule = NEW.rule AND s.name = NEW.name;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no such setting: % of rule %', quote_literal(NEW.name), quote_literal(NEW.rule)
                USING ERRCODE = '22023', HINT = 'The settings are in view {{ control }}.settings.';
        END IF;
        IF NEW.value NOT BETWEEN v_limit.least_value AND v_limit.greatest_value THEN
            RAISE EXCEPTION '% is beyond its limits: %', NEW.name, NEW.value
                USING ERRCODE = '22023', HINT = format('%s takes %s.', NEW.name, v_limit.takes);
        END IF;
{%- for rule in rules %}{% if rule.single and rule.single.expiry and rule.single.aged %}
        IF NEW.rule = {{ rule.literal }} AND NEW.name = 'fallback_retention' AND NEW.value BETWEEN 1 AND {{ rule.minimum }} - 1 THEN
            RAISE EXCEPTION 'a retention of % seconds is under the minimum of rule {{ rule.name }}', NEW.value
                USING ERRCODE = '22023', HINT = 'The minimum is {{ rule.minimum }} seconds ({{ rule.minimum_text }}); it stands in the spec. 0 turns the fallback off.';
        END IF;
{%- endif %}{% endfor %}
        NEW.changed_by := session_user;
        NEW.changed_at := clock_timestamp();
        RETURN NEW;
    END IF;
    INSERT INTO {{ control }}.setting_log (rule, name, old_value, new_value)
    SELECT coalesce(n.rule, o.rule), coalesce(n.name, o.name), o.value, n.value
    FROM (SELECT OLD.rule, OLD.name, OLD.value WHERE TG_OP <> 'INSERT') AS o(rule, name, value)
    FULL JOIN (SELECT NEW.rule, NEW.name, NEW.value WHERE TG_OP <> 'DELETE') AS n(rule, name, value) ON n.rule = o.rule AND n.name = o.name
    WHERE o.value IS DISTINCT FROM n.value;
    RETURN NULL;
END
$windrow$;
--# comment on function {{ control }}.on_setting
COMMENT ON FUNCTION {{ control }}.on_setting() IS
    'The triggers of table setting: a value beyond its limits raises 22023, who writes is noted, every change is logged. [body @body@]';
--# drop trigger check_setting
DROP TRIGGER IF EXISTS check_setting ON {{ control }}.setting;
--# create trigger check_setting
CREATE TRIGGER check_setting BEFORE INSERT OR UPDATE ON {{ control }}.setting
    FOR EACH ROW EXECUTE FUNCTION {{ control }}.on_setting();
--# drop trigger log_setting
DROP TRIGGER IF EXISTS log_setting ON {{ control }}.setting;
--# create trigger log_setting
CREATE TRIGGER log_setting AFTER INSERT OR UPDATE OR DELETE ON {{ control }}.setting
    FOR EACH ROW EXECUTE FUNCTION {{ control }}.on_setting();
--# drop trigger log_truncation
DROP TRIGGER IF EXISTS log_truncation ON {{ control }}.setting;
--# create trigger log_truncation
CREATE TRIGGER log_truncation BEFORE TRUNCATE ON {{ control }}.setting
    FOR EACH STATEMENT EXECUTE FUNCTION {{ control }}.on_setting();

-- set_setting: overrides a limit of the spec, or gives it back with a null value.
--# create function {{ control }}.set_setting
CREATE OR REPLACE FUNCTION {{ control }}.set_setting(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_rule text;
    v_name text := p_options ->> 'name';
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule', 'name', 'value']);
    v_rule := {{ control }}.check_rule(p_options);
    IF {{ control }}.setting_of(v_rule, v_name) IS NULL THEN
        RAISE EXCEPTION 'no such setting: %', quote_nullable(v_name)
            USING ERRCODE = '22023', HINT = (SELECT format('The settings are %s.', string_agg(s.name, ', ' ORDER BY s.position)) FROM {{ control }}.settings AS s WHERE s.rule = v_rule);
    END IF;
    IF p_options ->> 'value' IS NULL THEN
        DELETE FROM {{ control }}.setting AS s WHERE s.rule = v_rule AND s.name = v_name;
    ELSIF p_options ->> 'value' !~ '^[0-9]{1,18}$' THEN
        RAISE EXCEPTION 'not a whole number: %', quote_literal(p_options ->> 'value')
            USING ERRCODE = '22023', HINT = (SELECT format('%s takes %s.', s.name, s.takes) FROM {{ control }}.settings AS s WHERE s.rule = v_rule AND s.name = v_name);
    ELSE
        -- An operator does not shorten the trail of what he did.
        IF v_name = 'ledger_days' AND NOT pg_has_role(session_user, {{ owner_literal }}, 'MEMBER')
            AND (p_options ->> 'value')::bigint < (SELECT s.spec_value FROM {{ control }}.settings AS s WHERE s.rule = v_rule AND s.name = v_name)
        THEN
            RAISE EXCEPTION 'ledger_days may not be made shorter by %', quote_ident(session_user)
                USING ERRCODE = '42501', HINT = 'Only a superuser or a member of {{ owner }} may; to make it longer is free.';
        END IF;
        INSERT INTO {{ control }}.setting AS s (rule, name, value)
        VALUES (v_rule, v_name, (p_options ->> 'value')::bigint)
        ON CONFLICT (rule, name) DO UPDATE
        SET value = excluded.value;
    END IF;
    RETURN json_build_object('rule', v_rule, 'name', v_name, 'value', {{ control }}.setting_of(v_rule, v_name));
END
$windrow$;
--# comment on function {{ control }}.set_setting
COMMENT ON FUNCTION {{ control }}.set_setting(jsonb) IS
    'Overrides a limit of the spec from the next batch on; a null value gives it back. Example: SELECT {{ control }}.set_setting(''{"name": "{{ rules.0.batch_setting }}", "value": 50}''); [body @body@]';
--# become who installs
RESET ROLE;
