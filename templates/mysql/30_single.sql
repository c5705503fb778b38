{% import "macros.sql" as w -%}
{{ session }}

-- The temporary tables of a session begin with work_. They are dropped and made anew instead of emptied: DELETE costs
-- as much as the rows did, TRUNCATE commits. MySQL lets a statement name a temporary table once (error 1137).

-- {{ rule.name }}_open: the work tables that live as long as a run, or a preview.
--# create procedure {{ control }}.{{ rule.name }}_open
CREATE PROCEDURE {{ control }}.{{ rule.name }}_open()
SQL SECURITY DEFINER
COMMENT 'Makes the work tables that outlive a batch: the cursor, what a preview skipped{% if rule.single.family %}, what it or a dry run would delete{% endif %}, what killed runs left. [body @body@]'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_cursor, {{ control }}.work_skipped, {{ control }}.work_mend{% if rule.single.family %}, {{ control }}.work_taken{% endif %};
    -- The last row that was looked at, and the pass; no row before the first one. During a batch, its last row is the second.
    CREATE TEMPORARY TABLE {{ control }}.work_cursor (
        only_row integer NOT NULL DEFAULT 1,
        pass integer NOT NULL DEFAULT 1,
{%- for time in rule.single.read_times %}
        {{ time }} datetime(6),
{%- endfor %}
        PRIMARY KEY (only_row)
    ) ENGINE = InnoDB AS
    SELECT {{ rule.single.read }} FROM {{ rule.table }} AS t LIMIT 0;
    CREATE TEMPORARY TABLE {{ control }}.work_skipped (
        position bigint NOT NULL AUTO_INCREMENT,
        skip_key text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
    -- What killed runs left half done.
    CREATE TEMPORARY TABLE {{ control }}.work_mend (
        PRIMARY KEY (run_id)
    ) ENGINE = InnoDB AS
    SELECT u.run_id FROM {{ control }}.unfinished AS u WHERE u.rule = {{ rule.literal }};
{%- if rule.single.family %}
    -- The rows that a dry run or a preview would delete.
    CREATE TEMPORARY TABLE {{ control }}.work_taken (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT t.{{ rule.key }} AS id FROM {{ rule.table }} AS t LIMIT 0;
{%- endif %}
END;

-- {{ rule.name }}_work: the work tables of one batch, empty.
--# create procedure {{ control }}.{{ rule.name }}_work
CREATE PROCEDURE {{ control }}.{{ rule.name }}_work()
SQL SECURITY DEFINER
COMMENT 'Makes the work tables of one batch anew. Their columns have the types and collations of {{ rule.table_name }}. [body @body@]'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_row, {{ control }}.work_held, {{ control }}.work_locked, {{ control }}.work_verdict, {{ control }}.work_gone, {{ control }}.work_skip
{%- if rule.single.family %}, {{ control }}.work_member{{ w::names_of_collects(control=control, rule=rule) }}{% endif %};
    -- The rows to judge, in the order of the search.
    CREATE TEMPORARY TABLE {{ control }}.work_row (
        position bigint NOT NULL AUTO_INCREMENT,
{%- for time in rule.single.read_times %}
        {{ time }} datetime(6),
{%- endfor %}
        PRIMARY KEY (position)
    ) ENGINE = InnoDB AS
    SELECT {{ rule.single.read }} FROM {{ rule.table }} AS t LIMIT 0;
    CREATE TEMPORARY TABLE {{ control }}.work_held (
        PRIMARY KEY ({{ rule.single.names }})
    ) ENGINE = InnoDB AS
    SELECT {{ rule.single.read_key }} FROM {{ rule.table }} AS t LIMIT 0;
    -- Those that this session has locked, and those that go.
    CREATE TEMPORARY TABLE {{ control }}.work_locked (
        position bigint NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
    -- What the first look at a row says, and the second one, under its lock: no reason, it goes.
    CREATE TEMPORARY TABLE {{ control }}.work_verdict (
        look integer NOT NULL,
        position bigint NOT NULL,
        row_key text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
        due datetime(6),
        PRIMARY KEY (look, position)
    ) ENGINE = InnoDB;
    CREATE TEMPORARY TABLE {{ control }}.work_gone (
        position bigint NOT NULL,
        row_key text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
    -- What stays, and why.
    CREATE TEMPORARY TABLE {{ control }}.work_skip (
        position bigint NOT NULL AUTO_INCREMENT,
        skip_key text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
{%- if rule.single.family %}
    -- The keys of those that go, for what belongs to them.
    CREATE TEMPORARY TABLE {{ control }}.work_member (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT t.{{ rule.key }} AS id FROM {{ rule.table }} AS t LIMIT 0;
    {{- w::make_collects(control=control, rule=rule) }}
{%- endif %}
END;

-- {{ rule.name }}_close: the work tables go.
--# create procedure {{ control }}.{{ rule.name }}_close
CREATE PROCEDURE {{ control }}.{{ rule.name }}_close()
SQL SECURITY DEFINER
COMMENT 'Drops the work tables. [body @body@]'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS
        {{ control }}.work_cursor, {{ control }}.work_skipped, {{ control }}.work_mend,
        {{ control }}.work_row, {{ control }}.work_held, {{ control }}.work_locked, {{ control }}.work_gone, {{ control }}.work_skip,
        {{ control }}.work_verdict, {{ control }}.work_target
{%- if rule.single.family %},
        {{ control }}.work_taken, {{ control }}.work_member{{ w::names_of_collects(control=control, rule=rule) }}
{%- endif %};
END;

-- {{ rule.name }}_target: a key that is given as a text, as a row of a work table, so that it is compared as what it is.
--# create procedure {{ control }}.{{ rule.name }}_target
CREATE PROCEDURE {{ control }}.{{ rule.name }}_target(IN p_key varchar({{ key_length }}))
SQL SECURITY DEFINER
COMMENT 'Makes work_target anew, with the key p_key in the types and collations of {{ rule.table_name }}. [body @body@]'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_target;
    CREATE TEMPORARY TABLE {{ control }}.work_target (
        PRIMARY KEY ({{ rule.single.names }})
    ) ENGINE = InnoDB AS
    SELECT {{ rule.single.read_key }} FROM {{ rule.table }} AS t LIMIT 0;
    INSERT INTO {{ control }}.work_target ({{ rule.single.names }})
    VALUES ({{ rule.single.values_of_text }});
END;
{% if rule.single.aged %}
-- {{ rule.name }}_cutoff: before this instant, {{ rule.single.time_name }} is long enough ago.
--# create procedure {{ control }}.{{ rule.name }}_cutoff
CREATE PROCEDURE {{ control }}.{{ rule.name }}_cutoff(IN p_as_of datetime(6), IN p_retention bigint, OUT o_cutoff datetime(6))
SQL SECURITY DEFINER
COMMENT 'Rows whose {{ rule.single.time_name }} lies before this are old enough, in the zone of the application ({{ zone }}): the retention, never under {{ rule.minimum }} seconds, and the safety lag of {{ rule.safety_lag }} seconds before p_as_of.{% if rule.single.expiry %} NULL where the setting fallback_retention is 0.{% endif %} [body @body@]'
BEGIN
{%- if rule.single.expiry %}
    DECLARE v_seconds bigint;
    CALL {{ control }}.setting_of({{ rule.literal }}, 'fallback_retention', v_seconds);
    -- A retention of nothing turns the fallback off: no cutoff, and no option of a run turns it on.
    IF v_seconds > 0 THEN
        SET o_cutoff = {{ rule.single.cutoff }};
    END IF;
{%- else %}
    SET o_cutoff = {{ rule.single.cutoff }};
{%- endif %}
END;
{% endif %}
-- {{ rule.name }}_next: the next rows of {{ rule.table_name }} behind the cursor, at most p_rows of them, in the order of an index.
{%- for pass in rule.single.passes %}
-- Pass {{ pass.number }}, {{ pass.name }}: {{ pass.why }}
{%- endfor %}
--# create procedure {{ control }}.{{ rule.name }}_next
CREATE PROCEDURE {{ control }}.{{ rule.name }}_next(
    IN p_pass      integer,
    IN p_rows      bigint,
    IN p_as_of     datetime(6),
    IN p_retention bigint
)
SQL SECURITY DEFINER
COMMENT 'Fills work_row with the next rows to look at, behind work_cursor. Reads only; {{ rule.name }}_judge decides. [body @body@]'
BEGIN
    DECLARE v_under_way boolean;
{%- if rule.single.expiry %}
    DECLARE v_now datetime(6) DEFAULT {{ rule.single.now }};
{%- endif %}
{%- if rule.single.expiry and rule.single.aged %}
    DECLARE v_cutoff datetime(6);
    CALL {{ control }}.{{ rule.name }}_cutoff(p_as_of, p_retention, v_cutoff);
{%- endif %}
    SELECT COUNT(c.only_row) > 0 INTO v_under_way FROM {{ control }}.work_cursor AS c WHERE c.only_row = 1 AND c.pass = p_pass;
    -- The only row of the cursor is a constant of the statement, so that the index is read from there on.
{%- for pass in rule.single.passes %}
{%- for begun in [true, false] %}
    {% if loop.first and pass.number == 1 %}IF{% else %}ELSEIF{% endif %} p_pass = {{ pass.number }}{% if begun %} AND v_under_way{% endif %} THEN
        INSERT INTO {{ control }}.work_row ({{ pass.names }})
        SELECT {{ pass.values }}
        FROM {% if begun %}{{ control }}.work_cursor AS c
        STRAIGHT_JOIN {% endif %}{{ rule.table }} AS t
{%- if begun %}
        WHERE c.only_row = 1
          AND {{ pass.beyond }}
{%- for predicate in pass.predicates %}
          AND {{ predicate }}
{%- endfor %}
{%- else %}
{%- for predicate in pass.predicates %}
        {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ predicate }}
{%- endfor %}
{%- endif %}
        ORDER BY {{ pass.order }}
        LIMIT p_rows;
{%- endfor %}
{%- endfor %}
    END IF;
END;

-- {{ rule.name }}_judge: which of the rows in work_row go: {{ rule.single.why }}
-- p_as_of is NULL for a purge of named rows, whose time does not matter.
--# create procedure {{ control }}.{{ rule.name }}_judge
CREATE PROCEDURE {{ control }}.{{ rule.name }}_judge(IN p_look integer, IN p_pass integer, IN p_as_of datetime(6), IN p_retention bigint)
SQL SECURITY DEFINER
COMMENT 'Writes to work_verdict, as look p_look: which of the rows in work_row go (no reason), and which are due and stay, with the reasons. Locks nothing. [body @body@]'
BEGIN
{%- if rule.single.expiry %}
    DECLARE v_now datetime(6) DEFAULT {{ rule.single.now }};
{%- endif %}
{%- if rule.single.aged %}
    DECLARE v_cutoff datetime(6);
{%- endif %}
{%- if rule.single.above %}
    -- Holds of what the rows belong to keep them, too.
    DECLARE v_above boolean DEFAULT {{ w::any_holds_above(control=control, rule=rule) }};
{%- endif %}
{%- if rule.single.aged %}
    CALL {{ control }}.{{ rule.name }}_cutoff(p_as_of, p_retention, v_cutoff);
{%- endif %}
    INSERT IGNORE INTO {{ control }}.work_held ({{ rule.single.names }})
    SELECT {{ rule.single.values_of_hold }}
    FROM {{ control }}.hold AS h
    WHERE h.rule = {{ rule.literal }}
      AND {{ w::holds_now() }};
    INSERT INTO {{ control }}.work_verdict (look, position, row_key, reason, due)
    SELECT
        p_look, r.position,
        {{ rule.single.key_text }},
        CASE
            WHEN h.{{ rule.single.keys.0.name }} IS NOT NULL THEN 'HELD'
{{- w::held_above(control=control, rule=rule, pad="            ") }}
{%- if rule.single.aged and not rule.single.expiry %}
            WHEN p_as_of IS NOT NULL AND t.{{ rule.single.time }} IS NULL THEN 'UNDATED_MEMBER'
{%- endif %}
        END,
        {{ rule.single.due }}
    FROM {{ control }}.work_row AS r
    STRAIGHT_JOIN {{ rule.table }} AS t ON {{ rule.single.matches_r }}
    LEFT JOIN {{ control }}.work_held AS h ON {{ rule.single.holds_r }}
    WHERE {% for condition in rule.single.conditions %}{{ condition }}
      AND {% endfor %}
{%- if rule.single.expiry -%}
      (
          p_as_of IS NULL
{%- for pass in rule.single.passes %}
          OR p_pass = {{ pass.number }}{% for predicate in pass.due %} AND {{ predicate }}{% endfor %}
{%- endfor %}
      )
{%- else -%}
{{ rule.single.goes | indent(prefix="      ") }}
{%- if rule.single.aged %}
      AND (p_as_of IS NULL OR t.{{ rule.single.time }} < v_cutoff OR t.{{ rule.single.time }} IS NULL)
{%- endif %}
{%- endif %};
END;

{% if rule.single.family -%}
{{ w::rows_below(control=control, rule=rule, members="work_taken") }}

-- {{ rule.name }}_below: deletes what belongs to the rows whose keys stand in work_member, children before parents, in the
-- caller's transaction.
--# create procedure {{ control }}.{{ rule.name }}_below
CREATE PROCEDURE {{ control }}.{{ rule.name }}_below({% if rule.archives %}IN p_run bigint, {% endif %}OUT o_rows longtext)
SQL SECURITY DEFINER
COMMENT 'Deletes, in the caller''s transaction, what belongs to the rows in work_member, and leaves these to the caller: {{ rule.table_list }}. Answers the numbers by table, between commas. {{ rule.name }}_batch and {{ rule.name }}_purge call it. [body @body@]'
BEGIN
    DECLARE v_rows bigint;
    DECLARE v_any  boolean;
{%- if rule.archives %}
    DECLARE v_copied bigint;
{%- endif %}
{%- for collect in rule.collects %}
{%- if not collect.joined %}
    {{- w::collect(control=control, collect=collect) | indent(prefix="    ") }}
{%- endif %}
{%- endfor %}
    SET o_rows = '';
    -- A table that is nearly empty is scanned (MariaDB), and a DELETE that scans waits for the rows of strangers: look
    -- first, by a SELECT of its own, as IF (SELECT ...) locks what it reads.
{%- for step in rule.steps %}
{%- if not loop.last %}

    -- {{ step.why }}
    {{ w::delete_step(control=control, step=step, maria=maria) | indent(prefix="    ") }}
    SET o_rows = CONCAT(o_rows, {% if not loop.first %}', ', {% endif %}v_rows);
{%- endif %}
{%- endfor %}
END;

{% endif -%}
-- {{ rule.name }}_lock: locks those of the rows in work_row that go, in the caller's transaction.
--# create procedure {{ control }}.{{ rule.name }}_lock
CREATE PROCEDURE {{ control }}.{{ rule.name }}_lock(IN p_pass integer, IN p_as_of datetime(6), IN p_retention bigint)
SQL SECURITY DEFINER
COMMENT 'Locks, in the caller''s transaction (READ COMMITTED), those of the rows in work_row that go, each looked at again under its lock. Fills work_gone with them, and work_skip with the others that are due. {{ rule.name }}_step calls it. [body @body@]'
BEGIN
    -- A first look without locks, so that a row that stays is not touched; then those that seem to go are locked.
    CALL {{ control }}.{{ rule.name }}_judge(1, p_pass, p_as_of, p_retention);
    INSERT INTO {{ control }}.work_skip (skip_key, reason)
    SELECT v.row_key, v.reason
    FROM {{ control }}.work_verdict AS v
    WHERE v.look = 1
      AND v.reason IS NOT NULL
    ORDER BY v.position;
    DELETE r
    FROM {{ control }}.work_row AS r
    LEFT JOIN {{ control }}.work_verdict AS v ON v.look = 1 AND v.position = r.position AND v.reason IS NULL
    WHERE v.position IS NULL;
    INSERT INTO {{ control }}.work_locked (position)
    SELECT r.position
    FROM {{ control }}.work_row AS r
    STRAIGHT_JOIN {{ rule.table }} AS t ON {{ rule.single.matches_r }}
    ORDER BY r.position
    FOR UPDATE SKIP LOCKED;

    -- Nobody changes them any more: what is judged now holds until the end of the transaction. Rows that another session has
    -- locked are left to it; those that it deleted are not worth a word.
    CALL {{ control }}.{{ rule.name }}_judge(2, p_pass, p_as_of, p_retention);
    INSERT INTO {{ control }}.work_skip (skip_key, reason)
    SELECT v.row_key, COALESCE(v.reason, 'LOCKED')
    FROM {{ control }}.work_verdict AS v
    LEFT JOIN {{ control }}.work_locked AS l ON l.position = v.position
    WHERE v.look = 2
      AND (v.reason IS NOT NULL OR l.position IS NULL)
    ORDER BY v.position;
    INSERT INTO {{ control }}.work_gone (position, row_key)
    SELECT v.position, v.row_key
    FROM {{ control }}.work_locked AS l
    STRAIGHT_JOIN {{ control }}.work_verdict AS v ON v.look = 2 AND v.position = l.position
    WHERE v.reason IS NULL;
{%- if rule.single.family %}
    INSERT INTO {{ control }}.work_member (id)
    SELECT r.k1
    FROM {{ control }}.work_gone AS g
    STRAIGHT_JOIN {{ control }}.work_row AS r ON r.position = g.position;
{%- endif %}
END;

-- {{ rule.name }}_batch: one batch: the rows in work_gone, in the caller's transaction.
--# create procedure {{ control }}.{{ rule.name }}_batch
CREATE PROCEDURE {{ control }}.{{ rule.name }}_batch(
    IN  p_run      bigint,
    OUT o_families bigint
{%- if rule.single.family %},
    OUT o_rows     longtext
{%- endif %}
)
SQL SECURITY DEFINER
COMMENT 'Deletes, in the caller''s transaction (READ COMMITTED), the rows that {{ rule.name }}_lock has locked: {{ rule.table_name }}{% if rule.single.family %}, with what belongs to them{% endif %}. {{ rule.name }}_step calls it, and rolls back for a dry run. [body @body@]'
BEGIN
    DECLARE v_count   bigint;
    DECLARE v_gone    bigint;
{%- if rule.archive %}
    DECLARE v_copied  bigint;
{%- endif %}
    DECLARE v_message varchar(128);
    SELECT COUNT(g.position) INTO v_count FROM {{ control }}.work_gone AS g;
    SET o_families = 0;
{%- if rule.single.family %}
    SET o_rows = '[{{ rule.zeros }}]';
{%- endif %}
    IF v_count > 0 THEN
        -- Taken out before COMMIT: should the session of a killed run commit what it began, it shows here.
        INSERT INTO {{ control }}.unfinished (run_id, rule, links)
        VALUES (p_run, {{ rule.literal }}, '[]');
{%- if rule.single.family %}
        -- What belongs to them goes with them, and before them.
        CALL {{ control }}.{{ rule.name }}_below({% if rule.archives %}p_run, {% endif %}o_rows);
{%- endif %}
        {{ w::delete_rows(control=control, rule=rule, maria=maria) }}
        SET o_families = v_gone;
{%- if rule.single.family %}
        SET o_rows = CONCAT('[', o_rows, ', ', v_gone, ']');
{%- endif %}
    END IF;
END;
{%- if rule.single.expiry and rule.single.aged %}

-- {{ rule.name }}_undated: rows that have neither {{ rule.end_time_name }} nor {{ rule.single.time_name }}; they can never become due.
--# create procedure {{ control }}.{{ rule.name }}_undated
CREATE PROCEDURE {{ control }}.{{ rule.name }}_undated(IN p_as_of datetime(6))
SQL SECURITY DEFINER
COMMENT 'Writes to work_skip the rows that have neither {{ rule.end_time_name }} nor {{ rule.single.time_name }}, as long as the fallback is on. Reads only. [body @body@]'
BEGIN
    DECLARE v_cutoff datetime(6);
    CALL {{ control }}.{{ rule.name }}_work();
    CALL {{ control }}.{{ rule.name }}_cutoff(p_as_of, NULL, v_cutoff);
    IF v_cutoff IS NOT NULL THEN
        INSERT INTO {{ control }}.work_skip (skip_key, reason)
        SELECT {{ rule.single.key_text }}, 'UNDATED_MEMBER'
        FROM {{ rule.table }} AS t
        WHERE t.{{ rule.end_time }} IS NULL
          AND t.{{ rule.single.time }} IS NULL
{%- for condition in rule.single.conditions %}
          AND {{ condition }}
{%- endfor %}
        ORDER BY {{ rule.single.key_order }};
    END IF;
END;
{%- endif %}

-- {{ rule.name }}_step: one batch of a run with its progress in the ledger, in one transaction.
-- A batch that fails is rolled back and tried again, then halved down to a single row, which is recorded and passed over.
--# create procedure {{ control }}.{{ rule.name }}_step
CREATE PROCEDURE {{ control }}.{{ rule.name }}_step(IN p_run bigint, OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'One batch of run p_run and its progress in the ledger, committed. Answers more, again, or why the run should end. run() calls it. [body @body@]'
BEGIN
    {{ w::step_variables() }}
    DECLARE v_retention bigint;
    DECLARE v_take      bigint;
    DECLARE v_pass      integer;
    DECLARE v_position  bigint;
    DECLARE v_key       longtext;
    DECLARE v_found     longtext;
{%- if rule.single.family %}
    DECLARE v_rows      longtext;
{%- endif %}
    SET o_state = NULL;

    step: BEGIN
        attempt: BEGIN
            {{ w::before_batch(control=control, rule=rule, maria=maria) }}
{%- if workers > 1 %}
            {{ w::at_rule(control=control, rule=rule) }}
{%- endif %}
            SET v_take = LEAST(v_present, v_batch, v_limit - v_done);
            IF v_take <= 0 THEN
                SET o_state = 'run_families reached';
                COMMIT;
                LEAVE step;
            END IF;

            {{ w::latch(control=control) }}

            CALL {{ control }}.seconds(v_text, v_retention);
            SELECT COALESCE(MAX(c.pass), 1) INTO v_pass FROM {{ control }}.work_cursor AS c WHERE c.only_row = 1;
            search: LOOP
                CALL {{ control }}.{{ rule.name }}_next(v_pass, v_take, v_as_of, v_retention);
                SELECT COUNT(r.position), MAX(r.position) INTO v_last, v_position FROM {{ control }}.work_row AS r;
                IF v_last > 0 THEN
                    LEAVE search;
                END IF;
                IF v_pass = {{ rule.single.passes | length }} THEN
                    COMMIT;
                    SET o_state = 'nothing left';
                    LEAVE step;
                END IF;
                SET v_pass = v_pass + 1;
            END LOOP search;
            -- Where the next batch begins, unless this one fails.
            REPLACE INTO {{ control }}.work_cursor (only_row, pass, {{ rule.single.read_names }})
            SELECT 2, v_pass, {{ rule.single.read_of_r }} FROM {{ control }}.work_row AS r WHERE r.position = v_position;
            SELECT {{ rule.single.key_text_of_r }} INTO v_key FROM {{ control }}.work_row AS r WHERE r.position = v_position;
            CALL {{ control }}.{{ rule.name }}_lock(v_pass, v_as_of, v_retention);
            {{ w::keep_found(pad="            ") }}
            CALL {{ control }}.{{ rule.name }}_batch(p_run, v_families{% if rule.single.family %}, v_rows{% endif %});
            {{ w::take_back(control=control, pad="            ") }}
            DELETE FROM {{ control }}.work_cursor WHERE only_row = 1;
            UPDATE {{ control }}.work_cursor SET only_row = 1 WHERE only_row = 2;
{%- if rule.single.family %}
            IF v_dry_run THEN
                INSERT INTO {{ control }}.work_taken (id)
                SELECT m.id FROM {{ control }}.work_member AS m;
            END IF;
{%- endif %}
            CALL {{ control }}.record_skips(p_run, {{ rule.literal }});
            IF v_families > 0 THEN
                CALL {{ control }}.record_pass(p_run, {{ rule.literal }}, {{ rule.single.name_of_pass }});
            END IF;
            CALL {{ control }}.record_rows(p_run, {{ rule.literal }}, {% if rule.single.family %}v_rows{% else %}CONCAT('[', v_families, ']'){% endif %});
            UPDATE {{ control }}.run_rule AS p
            SET p.families = p.families + v_families,
                p.batches = p.batches + 1,
                p.retries_in_row = 0,
                p.batch_families = IF(v_halving AND v_last > 1, v_last DIV 2, LEAST(v_present * 2, v_batch)),
                p.halving = v_halving AND v_last > 1,
                p.cursor_key = LEFT(v_key, 255),
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = {{ rule.literal }};
            {{ w::look_again(control=control, last=true) }}
            DELETE FROM {{ control }}.unfinished WHERE run_id = p_run AND rule = {{ rule.literal }};
            COMMIT;
            SET o_state = 'more';
            LEAVE step;
        END attempt;

        {{ w::after_batch(control=control, rule=rule, half="v_last DIV 2") }}
        -- The cursor is where it was: it is led past this row, if that is still the next one.
        CALL {{ control }}.{{ rule.name }}_work();
        CALL {{ control }}.{{ rule.name }}_next(v_pass, 1, v_as_of, v_retention);
        SELECT MAX({{ rule.single.key_text_of_r }}) INTO v_found FROM {{ control }}.work_row AS r;
        IF NOT v_found <=> v_key THEN
            COMMIT;
            SET o_state = 'again';
            LEAVE step;
        END IF;
        REPLACE INTO {{ control }}.work_cursor (only_row, pass, {{ rule.single.read_names }})
        SELECT 1, v_pass, {{ rule.single.read_of_r }} FROM {{ control }}.work_row AS r;
        INSERT IGNORE INTO {{ control }}.run_failure (run_id, rule, `key`, errno, `sqlstate`, message)
        VALUES (p_run, {{ rule.literal }}, LEFT(v_key, {{ key_length }}), v_errno, v_sqlstate, v_message);
        INSERT INTO {{ control }}.work_skip (skip_key, reason)
        VALUES (v_key, IF(v_busy, 'LOCKED', 'FAILED'));
        CALL {{ control }}.record_skips(p_run, {{ rule.literal }});
        UPDATE {{ control }}.run_rule AS p
        SET p.batches = p.batches + 1,
            p.retries_in_row = 0,
            p.batch_families = LEAST(v_present * 2, v_batch),
            p.halving = false,
            p.cursor_key = LEFT(v_key, 255),
            p.updated_at = UTC_TIMESTAMP(6)
        WHERE p.run_id = p_run
          AND p.rule = {{ rule.literal }};
        COMMIT;
        SET o_state = 'more';
    END step;
END;

-- {{ rule.name }}_finish: what is to be said of a rule when a run is through with it.
--# create procedure {{ control }}.{{ rule.name }}_finish
CREATE PROCEDURE {{ control }}.{{ rule.name }}_finish(IN p_run bigint, IN p_reason varchar(1000))
SQL SECURITY DEFINER
COMMENT '{% if rule.single.expiry and rule.single.aged %}Counts the rows without any time where the rule looked at all that is due, and forgets{% else %}Forgets{% endif %} what killed runs left half done once all is looked at{% if rule.single.family %}, and counts once more what a dry run would delete{% endif %}. [body @body@]'
BEGIN
{%- if rule.single.expiry and rule.single.aged %}
    DECLARE v_as_of   datetime(6);
{%- endif %}
    DECLARE v_dry_run boolean;
{%- if rule.single.family %}
    DECLARE v_rows    longtext;
{%- endif %}
    SELECT {% if rule.single.expiry and rule.single.aged %}r.as_of, {% endif %}r.dry_run INTO {% if rule.single.expiry and rule.single.aged %}v_as_of, {% endif %}v_dry_run
    FROM {{ control }}.run AS r
    WHERE r.run_id = p_run;
    IF p_reason = 'nothing left' THEN
{%- if rule.single.expiry and rule.single.aged %}
        CALL {{ control }}.{{ rule.name }}_undated(v_as_of);
        CALL {{ control }}.record_skips(p_run, {{ rule.literal }});
{%- endif %}
        -- The rows that killed runs left were looked at once more.
        IF NOT v_dry_run THEN
            DELETE u
            FROM {{ control }}.work_mend AS d
            STRAIGHT_JOIN {{ control }}.unfinished AS u ON u.run_id = d.run_id AND u.rule = {{ rule.literal }};
        END IF;
    END IF;
{%- if rule.single.family %}
    IF v_dry_run THEN
        {{ w::count_again(control=control, rule=rule) | indent(prefix="        ") }}
    END IF;
{%- endif %}
END;

-- {{ rule.name }}_purge: deletes one named row and commits. Answers NULL, or why it stays.
--# create procedure {{ control }}.{{ rule.name }}_purge
CREATE PROCEDURE {{ control }}.{{ rule.name }}_purge(IN p_run bigint, IN p_key varchar({{ key_length }}), OUT o_reason varchar(32))
SQL SECURITY DEFINER
COMMENT 'Deletes the named row of {{ rule.table_name }}{% if rule.single.family %} with what belongs to it{% endif %}{% if rule.single.expiry %}, whatever its {{ rule.end_time_name }}{% elif rule.single.orphan %} if what it names is gone, however young it is{% else %} if enough rows of its group are newer, however young it is{% endif %}, unless it is held, and commits. Answers NULL or the reason why it stays. [body @body@]'
BEGIN
    DECLARE v_dry_run  boolean;
    DECLARE v_as_of    datetime(6);
    DECLARE v_own      boolean DEFAULT false;
    DECLARE v_paused   boolean;
    DECLARE v_wait     bigint;
    DECLARE v_count    bigint;
    DECLARE v_gone     bigint;
{%- if rule.archive %}
    DECLARE v_copied   bigint;
{%- endif %}
{%- if rule.single.family %}
    DECLARE v_rows     longtext;
{%- endif %}
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    attempt: BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            {{ w::diagnose(maria=maria) | indent(prefix="            ") }}
            ROLLBACK;
        END;
        {{ w::start_batch(make="CALL " ~ control ~ "." ~ rule.name ~ "_work();
        CALL " ~ control ~ "." ~ rule.name ~ "_target(p_key);", pad="        ") }}
        {{ w::before_purge(control=control, rule=rule, q="`") }}
        SELECT l.only_row INTO v_own FROM {{ control }}.latch AS l LOCK IN SHARE MODE;
        INSERT INTO {{ control }}.work_row ({{ rule.single.read_names }})
        SELECT {{ rule.single.read_values }}
        FROM {{ control }}.work_target AS r
        STRAIGHT_JOIN {{ rule.table }} AS t ON {{ rule.single.matches_r }}
        FOR UPDATE;
        CALL {{ control }}.{{ rule.name }}_judge(1, 0, NULL, NULL);
        SELECT COUNT(v.position), MAX(v.reason) INTO v_count, o_reason FROM {{ control }}.work_verdict AS v;
        IF v_count = 0 THEN
            COMMIT;
            SET o_reason = 'NOT_A_ROOT';
            LEAVE attempt;
        END IF;
        IF o_reason IS NOT NULL THEN
            INSERT INTO {{ control }}.work_skip (skip_key, reason)
            VALUES (p_key, o_reason);
            CALL {{ control }}.record_skips(p_run, {{ rule.literal }});
            COMMIT;
            LEAVE attempt;
        END IF;
        {{ w::keep_found(pad="        ") }}
        INSERT INTO {{ control }}.unfinished (run_id, rule, links)
        VALUES (p_run, {{ rule.literal }}, '[]');
        INSERT INTO {{ control }}.work_gone (position, row_key)
        SELECT v.position, v.row_key FROM {{ control }}.work_verdict AS v;
{%- if rule.single.family %}
        INSERT INTO {{ control }}.work_member (id)
        SELECT r.k1 FROM {{ control }}.work_row AS r;
        CALL {{ control }}.{{ rule.name }}_below({% if rule.archives %}p_run, {% endif %}v_rows);
{%- endif %}
        {{ w::delete_rows(control=control, rule=rule, maria=maria) }}
        {{ w::take_back(control=control, pad="        ") }}
        CALL {{ control }}.record_rows(p_run, {{ rule.literal }}, {% if rule.single.family %}CONCAT('[', v_rows, ', 1]'){% else %}'[1]'{% endif %});
        UPDATE {{ control }}.run_rule AS p
        SET p.families = p.families + 1,
            p.batches = p.batches + 1,
            p.updated_at = UTC_TIMESTAMP(6)
        WHERE p.run_id = p_run
          AND p.rule = {{ rule.literal }};
        {{ w::look_before_commit(control=control) }}
        DELETE FROM {{ control }}.unfinished WHERE run_id = p_run AND rule = {{ rule.literal }};
        COMMIT;
    END attempt;
    {{ w::after_purge(control=control, rule=rule, q="`") }}
END;

-- {{ rule.name }}_preview: the batches of a run, judged but not locked and not deleted.
--# create procedure {{ control }}.{{ rule.name }}_preview
CREATE PROCEDURE {{ control }}.{{ rule.name }}_preview(IN p_options longtext, IN p_as_of datetime(6), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'What a run of this rule would delete and skip now, as one JSON document; passes tells why. Reads only; preview() calls it. [body @body@]'
BEGIN
    DECLARE v_retention bigint;
    DECLARE v_batch     bigint;
    DECLARE v_limit     bigint DEFAULT JSON_VALUE(p_options, '$.run_families');
    DECLARE v_pass      integer DEFAULT 1;
    DECLARE v_found     bigint;
    DECLARE v_position  bigint;
    DECLARE v_time      datetime(6);
    DECLARE v_room      bigint;
    DECLARE v_part      longtext;
    DECLARE v_families  bigint DEFAULT 0;
    DECLARE v_batches   bigint DEFAULT 0;
    DECLARE v_eldest    datetime(6);
    DECLARE v_oldest    varchar(64);
    DECLARE v_samples   longtext DEFAULT '';
    DECLARE v_passes    longtext DEFAULT '';
    -- Of the pass under way: its rows, the oldest of them, its first keys.
    DECLARE v_here      bigint DEFAULT 0;
    DECLARE v_since     datetime(6);
    DECLARE v_first     longtext DEFAULT '';
    DECLARE v_rows      longtext;
{%- if rule.single.family %}
{%- for step in rule.steps %}
    DECLARE v_rows_{{ step.position }} bigint;
{%- endfor %}
{%- else %}
    DECLARE v_rows_1    bigint;
{%- endif %}
    DECLARE v_sum       bigint;
    DECLARE v_skipped   longtext;
    DECLARE v_skip_keys longtext;
    DECLARE v_skips     bigint;
    DECLARE v_more      boolean DEFAULT false;
    DECLARE v_speed     decimal(30, 6);
    DECLARE v_dry_run   varchar(5) DEFAULT 'true';
    DECLARE v_duration  bigint;
    DECLARE v_artifact_failures bigint;
    CALL {{ control }}.seconds(JSON_VALUE(p_options, '$.retention'), v_retention);
    CALL {{ control }}.setting_of({{ rule.literal }}, 'batch_rows', v_batch);
    IF v_limit IS NULL THEN
        CALL {{ control }}.setting_of({{ rule.literal }}, 'run_families', v_limit);
    END IF;
    CALL {{ control }}.{{ rule.name }}_open();
{%- if rule.single.expiry and rule.single.aged %}
    CALL {{ control }}.{{ rule.name }}_undated(p_as_of);
    INSERT INTO {{ control }}.work_skipped (skip_key, reason)
    SELECT k.skip_key, k.reason FROM {{ control }}.work_skip AS k ORDER BY k.position;
{%- endif %}
    batches: LOOP
        CALL {{ control }}.{{ rule.name }}_work();
        CALL {{ control }}.{{ rule.name }}_next(v_pass, GREATEST(LEAST(v_batch, v_limit - v_families), 1), p_as_of, v_retention);
        SELECT COUNT(r.position), MAX(r.position) INTO v_found, v_position FROM {{ control }}.work_row AS r;
        SET v_more = v_found > 0 AND v_families >= v_limit;
        IF v_found = 0 OR v_more THEN
            SET v_passes = CONCAT(
                v_passes, IF(v_passes = '', '', ', '),
                '{"pass": ', JSON_QUOTE({{ rule.single.name_of_pass }}),
                ', "rows": ', v_here,
                ', "oldest_end_time": ', {{ w::time_of_row(time="v_since", zoned=rule.single.oldest_is_zoned) }},
                ', "sample_keys": [', v_first, ']}'
            );
            IF v_more OR v_pass = {{ rule.single.passes | length }} THEN
                LEAVE batches;
            END IF;
            SET v_pass = v_pass + 1;
            SET v_here = 0;
            SET v_since = NULL;
            SET v_first = '';
            ITERATE batches;
        END IF;
        REPLACE INTO {{ control }}.work_cursor (only_row, pass, {{ rule.single.read_names }})
        SELECT 1, v_pass, {{ rule.single.read_of_r }} FROM {{ control }}.work_row AS r WHERE r.position = v_position;
        CALL {{ control }}.{{ rule.name }}_judge(1, v_pass, p_as_of, v_retention);
        INSERT INTO {{ control }}.work_skipped (skip_key, reason)
        SELECT v.row_key, v.reason FROM {{ control }}.work_verdict AS v WHERE v.reason IS NOT NULL ORDER BY v.position;
        -- The first ten keys of the pass, and of all.
        SET v_room = GREATEST(10 - v_here, 0);
        SELECT GROUP_CONCAT(JSON_QUOTE(g.row_key) ORDER BY g.position SEPARATOR ', ')
        INTO v_part
        FROM (
            SELECT v.position, v.row_key FROM {{ control }}.work_verdict AS v WHERE v.reason IS NULL ORDER BY v.position LIMIT v_room
        ) AS g;
        SET v_first = CONCAT_WS(', ', NULLIF(v_first, ''), v_part);
        SET v_room = GREATEST(10 - v_families, 0);
        SELECT GROUP_CONCAT(JSON_QUOTE(g.row_key) ORDER BY g.position SEPARATOR ', ')
        INTO v_part
        FROM (
            SELECT v.position, v.row_key FROM {{ control }}.work_verdict AS v WHERE v.reason IS NULL ORDER BY v.position LIMIT v_room
        ) AS g;
        SET v_samples = CONCAT_WS(', ', NULLIF(v_samples, ''), v_part);
        SELECT COUNT(v.position), MIN(v.due) INTO v_found, v_time FROM {{ control }}.work_verdict AS v WHERE v.reason IS NULL;
{%- if rule.single.family %}
        INSERT INTO {{ control }}.work_taken (id)
        SELECT r.k1
        FROM {{ control }}.work_verdict AS v
        STRAIGHT_JOIN {{ control }}.work_row AS r ON r.position = v.position
        WHERE v.reason IS NULL;
{%- endif %}
        SET v_batches = v_batches + 1;
        SET v_families = v_families + v_found;
        SET v_here = v_here + v_found;
        SET v_since = LEAST(COALESCE(v_since, v_time), COALESCE(v_time, v_since));
        SET v_eldest = LEAST(COALESCE(v_eldest, v_time), COALESCE(v_time, v_eldest));
    END LOOP batches;
    SET v_samples = CONCAT('[', v_samples, ']');
    SET v_oldest = {{ w::time_of_row(time="v_eldest", zoned=rule.single.oldest_is_zoned) }};
{%- if rule.single.family %}

    CALL {{ control }}.{{ rule.name }}_rows(v_rows);
{%- for step in rule.steps %}
    SET v_rows_{{ step.position }} = JSON_VALUE(v_rows, '$[{{ step.position - 1 }}]');
{%- endfor %}
    SET v_sum = {% for step in rule.steps %}v_rows_{{ step.position }}{% if not loop.last %} + {% endif %}{% endfor %};
{%- else %}

    SET v_rows_1 = v_families;
    SET v_rows = CONCAT('[', v_rows_1, ']');
    SET v_sum = v_families;
{%- endif %}
    {{ w::preview_figures(control=control, rule=rule) }}
    SELECT COUNT(*) INTO v_artifact_failures FROM {{ control }}.artifact AS a WHERE a.last_error IS NOT NULL;
    CALL {{ control }}.{{ rule.name }}_close();

    {{ w::preview_document(rule=rule) }}
END;

{{ w::verbs(control=control, rule=rule, by_calendar=by_calendar) }}
{%- if rule.single.keep_last %}

-- {{ rule.name }}_checks: rows that have no place among their group, for verify().
--# create procedure {{ control }}.{{ rule.name }}_checks
CREATE PROCEDURE {{ control }}.{{ rule.name }}_checks()
SQL SECURITY DEFINER
COMMENT 'Writes to work_check how many rows have no group or no place in it. [body @body@]'
BEGIN
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, count, detail)
    SELECT 1, 'unranked', {{ rule.literal }}, IF(COUNT(*) = 0, 'ok', 'notice'), COUNT(*), 'rows without a group or without a place in it; they stay'
    FROM {{ rule.table }} AS t
    WHERE {% for condition in rule.single.conditions %}{{ condition }}
      AND {% endfor %}({{ rule.single.unranked }});
END;
{%- endif %}
