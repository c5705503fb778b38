-- setting: what overrides the limits of the spec. Read again before every batch.
--# create table setting
CREATE TABLE IF NOT EXISTS setting (
    rule       text        NOT NULL,
    name       text        NOT NULL,
    value      bigint      NOT NULL,
    changed_by text        NOT NULL DEFAULT session_user,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (rule, name)
);
--# comment on table setting
COMMENT ON TABLE setting IS
    'Overrides of the limits in the spec; the view settings has all of them, with the defaults. Written by set_setting(); a trigger '
    'checks the limits of a value, whoever writes it.';

-- setting_log: every change of a setting.
--# create table setting_log
CREATE TABLE IF NOT EXISTS setting_log (
    log_id     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rule       text        NOT NULL,
    name       text        NOT NULL,
    old_value  bigint,
    new_value  bigint,
    changed_by text        NOT NULL DEFAULT session_user,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
--# comment on table setting_log
COMMENT ON TABLE setting_log IS
    'Every change of table setting, written by its trigger; NULL: the default of the spec. Pruned with the ledger, except the last '
    'change of each setting.';

-- settings: every limit with its present value, its unit, the default of the spec, and what a value may be.
--# create view settings
CREATE OR REPLACE VIEW settings AS
SELECT
    r.position * 100 + k.position AS position, r.rule, l.name, coalesce(s.value, l.value) AS value, k.unit, l.value AS spec_value,
    k.least_value::bigint, k.greatest_value::bigint, k.takes, s.changed_by, s.changed_at
FROM (
    VALUES
        --+ settings.sql
) AS k(position, name, unit, least_value, greatest_value, takes, postgres_alone)
JOIN rule_limit AS l ON l.name = k.name
JOIN rule AS r ON r.rule = l.rule
LEFT JOIN setting AS s ON s.rule = l.rule AND s.name = l.name;
--# comment on view settings
COMMENT ON VIEW settings IS
    'Every limit of every rule: its current value, its unit, the spec''s default, and the values allowed. A run reads them again '
    'before every batch.';

-- setting_of: the present value of a limit: the override, else the default of the spec. PL/pgSQL keeps the plan.
--# create function setting_of
CREATE OR REPLACE FUNCTION setting_of(p_rule text, p_name text)
RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN coalesce(
        (SELECT s.value FROM setting AS s WHERE s.rule = p_rule AND s.name = p_name),
        (SELECT l.value FROM rule_limit AS l WHERE l.rule = p_rule AND l.name = p_name)
    );
END
$windrow$;
--# comment on function setting_of
COMMENT ON FUNCTION setting_of(text, text) IS
    'Present value of a limit: the override in table setting, else the default of the spec. Example: SELECT '
    'setting_of(''a_rule'', ''time_budget'');';

-- on_setting: what happens to a row of setting, whoever writes it: before, the value is checked and signed; after, the
-- change is logged.
--# create function on_setting
CREATE OR REPLACE FUNCTION on_setting()
RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_limit   settings%ROWTYPE;
    v_minimum bigint;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO setting_log (rule, name, old_value)
        SELECT s.rule, s.name, s.value FROM setting AS s ORDER BY s.rule, s.name;
        RETURN NULL;
    END IF;
    IF TG_WHEN = 'BEFORE' THEN
        SELECT * INTO v_limit FROM settings AS s WHERE s.rule = NEW.rule AND s.name = NEW.name;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no such setting: % of rule %', quote_literal(NEW.name), quote_literal(NEW.rule)
                USING ERRCODE = '22023', HINT = format('The settings are in view %I.settings.', current_schema());
        END IF;
        IF NEW.value NOT BETWEEN v_limit.least_value AND v_limit.greatest_value THEN
            RAISE EXCEPTION '% is out of range: %', NEW.name, NEW.value
                USING ERRCODE = '22023', HINT = format('%s takes %s.', NEW.name, v_limit.takes);
        END IF;
        SELECT r.minimum INTO v_minimum FROM rule AS r WHERE r.rule = NEW.rule;
        IF NEW.name = 'fallback_retention' AND NEW.value BETWEEN 1 AND v_minimum - 1 THEN
            RAISE EXCEPTION 'a retention of % seconds is below the minimum of rule %', NEW.value, NEW.rule
                USING ERRCODE = '22023', HINT = format('The minimum is %s seconds (%s); it is set in the spec. 0 turns the fallback off.',
                    v_minimum, in_words(v_minimum));
        END IF;
        NEW.changed_by := session_user;
        NEW.changed_at := clock_timestamp();
        RETURN NEW;
    END IF;
    INSERT INTO setting_log (rule, name, old_value, new_value)
    SELECT coalesce(n.rule, o.rule), coalesce(n.name, o.name), o.value, n.value
    FROM (SELECT OLD.rule, OLD.name, OLD.value WHERE TG_OP <> 'INSERT') AS o(rule, name, value)
    FULL JOIN (SELECT NEW.rule, NEW.name, NEW.value WHERE TG_OP <> 'DELETE') AS n(rule, name, value) ON n.rule = o.rule AND n.name = o.name
    WHERE o.value IS DISTINCT FROM n.value;
    RETURN NULL;
END
$windrow$;
--# comment on function on_setting
COMMENT ON FUNCTION on_setting() IS
    'The triggers of table setting: a value beyond its limits raises 22023, who writes is noted, every change is logged.';
--# drop trigger check_setting
DROP TRIGGER IF EXISTS check_setting ON setting;
--# create trigger check_setting
CREATE TRIGGER check_setting BEFORE INSERT OR UPDATE ON setting
    FOR EACH ROW EXECUTE FUNCTION on_setting();
--# drop trigger log_setting
DROP TRIGGER IF EXISTS log_setting ON setting;
--# create trigger log_setting
CREATE TRIGGER log_setting AFTER INSERT OR UPDATE OR DELETE ON setting
    FOR EACH ROW EXECUTE FUNCTION on_setting();
--# drop trigger log_truncation
DROP TRIGGER IF EXISTS log_truncation ON setting;
--# create trigger log_truncation
CREATE TRIGGER log_truncation BEFORE TRUNCATE ON setting
    FOR EACH STATEMENT EXECUTE FUNCTION on_setting();

-- Each of these is a setting of one rule. Where that is another one than before, also because the one before is gone, the ledger and
-- the archive are kept as long as before, if that is longer than the spec says: what a run forgets does not come back. And a run takes
-- no longer than before: its time may be what the application can spare. Where both rules have one, the later word counts. What a rule
-- gets is taken from the other: whoever resets it is not overruled by the next installation, and a rule that comes back gets it in the
-- same way.
--# keep the limits of runs
INSERT INTO setting AS o (rule, name, value)
SELECT l.rule, s.name, CASE WHEN s.name = 'time_budget' OR min(s.value) = 0 THEN min(s.value) ELSE max(s.value) END
FROM setting AS s
JOIN rule_limit AS l ON l.name = s.name AND l.rule <> s.rule
LEFT JOIN setting AS w ON w.rule = l.rule AND w.name = s.name
WHERE s.name IN ('time_budget', 'ledger_days', 'archive_days')
  AND (w.rule IS NULL OR w.changed_at < s.changed_at)
  AND CASE s.name
      WHEN 'time_budget' THEN s.value < l.value
      WHEN 'ledger_days' THEN s.value > l.value
      ELSE l.value > 0 AND (s.value = 0 OR s.value > l.value)
  END
GROUP BY l.rule, s.name
ON CONFLICT (rule, name) DO UPDATE
SET value = excluded.value;
--# forget settings without effect
DELETE FROM setting AS s
USING rule_limit AS l
WHERE l.name = s.name
  AND l.rule <> s.rule
  AND s.name IN ('time_budget', 'ledger_days', 'archive_days')
  AND (
      EXISTS (SELECT FROM rule AS r WHERE r.rule = s.rule)
      OR CASE s.name
          WHEN 'time_budget' THEN s.value < l.value
          WHEN 'ledger_days' THEN s.value > l.value
          ELSE l.value > 0 AND (s.value = 0 OR s.value > l.value)
      END
  );

-- set_setting: overrides a limit of the spec, or gives it back with a null value.
--# create function set_setting
CREATE OR REPLACE FUNCTION set_setting(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rule text;
    v_name text := p_options ->> 'name';
    v_have text;
    v_told text;
BEGIN
    PERFORM check_options(p_options, ARRAY['rule', 'name', 'value']);
    v_rule := CASE WHEN p_options ->> 'value' IS NULL THEN check_decided(p_options) ELSE check_rule(p_options) END;
    IF setting_of(v_rule, v_name) IS NULL THEN
        v_have := (SELECT string_agg(l.rule, ', ' ORDER BY r.position) FROM rule_limit AS l JOIN rule AS r ON r.rule = l.rule
            WHERE l.name = v_name);
        IF v_have IS NOT NULL THEN
            RAISE EXCEPTION 'rule % has no setting %', v_rule, v_name
                USING ERRCODE = '22023', HINT = format('It is a setting of %s.', v_have);
        END IF;
        RAISE EXCEPTION 'no such setting: %', quote_nullable(v_name)
            USING ERRCODE = '22023', HINT = (SELECT format('The settings are %s.', string_agg(s.name, ', ' ORDER BY s.position))
                FROM settings AS s WHERE s.rule = v_rule);
    END IF;
    IF p_options ->> 'value' !~ '^[0-9]{1,18}$' THEN
        RAISE EXCEPTION 'not a whole number: %', quote_literal(p_options ->> 'value')
            USING ERRCODE = '22023', HINT = (SELECT format('%s takes %s.', s.name, s.takes) FROM settings AS s WHERE s.rule = v_rule
                AND s.name = v_name);
    END IF;
    -- An operator must not shorten the audit trail of their own actions, whoever made it longer, by a null value neither.
    IF v_name = 'ledger_days' AND NOT pg_has_role(session_user, current_user, 'MEMBER')
        AND coalesce(
            (p_options ->> 'value')::bigint, (SELECT s.spec_value FROM settings AS s WHERE s.rule = v_rule AND s.name = v_name)
        ) < setting_of(v_rule, v_name)
    THEN
        RAISE EXCEPTION 'ledger_days may not be made shorter by %', quote_ident(session_user)
            USING ERRCODE = '42501', HINT = format('Only a superuser or a member of %I may; to make it longer is free.', current_user);
    END IF;
    IF p_options ->> 'value' IS NULL THEN
        DELETE FROM setting AS s WHERE s.rule = v_rule AND s.name = v_name;
    ELSE
        INSERT INTO setting AS s (rule, name, value)
        VALUES (v_rule, v_name, (p_options ->> 'value')::bigint)
        ON CONFLICT (rule, name) DO UPDATE
        SET value = excluded.value;
    END IF;
    -- A run that is under way ends by it, too, unless it was told one of its own.
    IF v_name = 'time_budget' AND v_rule = first_rule() THEN
        UPDATE run AS r
        SET deadline = r.started_at + make_interval(secs => setting_of(v_rule, v_name))
        WHERE r.status = 'running'
          AND r.trigger NOT IN ('PURGE', 'STAMP')
          AND r.options ->> 'time_budget' IS NULL;
    END IF;
    SELECT format('of all rules the smallest %s above 0 applies: %s (rule %s)', v_name, l.value, l.rule)
    INTO v_told
    FROM (
        SELECT s.rule, s.value
        FROM settings AS s
        WHERE s.name = v_name
          AND s.name IN ('suspend_after', 'back_off_max')
          AND s.value > 0
        ORDER BY s.value, s.position
        LIMIT 1
    ) AS l
    WHERE l.value <> setting_of(v_rule, v_name);
    RETURN json_build_object('rule', v_rule, 'name', v_name, 'value', setting_of(v_rule, v_name), 'notice', v_told);
END
$windrow$;
--# comment on function set_setting
COMMENT ON FUNCTION set_setting(jsonb) IS
    'Overrides a limit of the spec from the next batch on; a null value restores the spec''s. Example: SELECT set_setting(''{"name": '
    '"time_budget", "value": 600}'');';
