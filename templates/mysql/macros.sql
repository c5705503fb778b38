{#- Parts of a JSON document that keeps its order: an expression as a JSON text. Instants as PostgreSQL writes them. -#}
{% macro text(x) -%}
COALESCE(JSON_QUOTE({{ x }}), 'null')
{%- endmacro text %}

{% macro instant(x) -%}
COALESCE(CONCAT('"', DATE_FORMAT({{ x }}, '%Y-%m-%dT%T'), TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT({{ x }}, '.%f'))), '+00:00"'), 'null')
{%- endmacro instant %}

{#- Of every index that the statements need, whether one that leads with its columns may be used, and whether its own name
    is there. -#}
{% macro served(indexes, database, maria, expression) -%}
SELECT c.table_name, c.index_name, MAX(c.usable) AS usable, MAX(c.found) AS found
FROM (
    SELECT
        w.table_name,
        w.index_name,
        COUNT(CASE WHEN s.collation = 'A' AND s.sub_part IS NULL AND s.{% if maria %}ignored = 'NO'{% else %}is_visible = 'YES'{% endif %} THEN 1 END) = w.width AS usable,
        COALESCE(s.index_name = w.index_name, false) AS found
    FROM (
{%- for index in indexes %}
{%- for column in index.places %}
        SELECT {{ index.table_literal }} AS table_name, {{ index.literal }} AS index_name, {{ index.width }} AS width, {{ loop.index }} AS place, {{ column }} AS column_name
{%- if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
{%- if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
    ) AS w
    LEFT JOIN information_schema.statistics AS s
        ON s.table_schema = {{ database }}
        AND s.table_name = w.table_name
        AND s.seq_in_index = w.place
        AND LOWER({% if expression %}COALESCE(s.column_name, s.expression){% else %}s.column_name{% endif %}) = LOWER(w.column_name)
    GROUP BY w.table_name, w.index_name, w.width, s.index_name
) AS c
GROUP BY c.table_name, c.index_name
{%- endmacro served %}

{#- Whether the hold h has not passed. -#}
{% macro holds_now() -%}
(h.until IS NULL OR h.until > UTC_TIMESTAMP(6))
{%- endmacro holds_now %}

{#- Whether a rule of single rows has to look for holds of what these belong to: there are not many, if any. -#}
{% macro any_holds_above(control, rule) -%}
EXISTS (
        SELECT 1 FROM {{ control }}.hold AS h
        WHERE h.rule IN ({% for above in rule.single.above %}{{ above.rule }}{% if not loop.last %}, {% endif %}{% endfor %})
          AND {{ self::holds_now() }}
    )
{%- endmacro any_holds_above %}

{#- The case of row t: a hold of what it belongs to keeps it. -#}
{% macro held_above(control, rule, pad) -%}
{%- for above in rule.single.above %}
{{ pad }}WHEN v_above AND EXISTS (
{%- for way in above.ways %}
{%- if loop.first %}
{{ pad }}    SELECT 1 FROM {{ way.table }} AS {{ way.alias }}
{%- else %}
{{ pad }}    JOIN {{ way.table }} AS {{ way.alias }} ON {{ way.on }}
{%- endif %}
{%- endfor %}
{{ pad }}    JOIN {{ control }}.hold AS h ON h.rule = {{ above.rule }} AND h.`key` = {{ above.key }}
{{ pad }}    WHERE {{ above.ways.0.on }}
{{ pad }}      AND {{ self::holds_now() }}
{{ pad }}) THEN 'HELD'
{%- endfor %}
{%- endmacro held_above %}

{#- A worker that is not at the rule may not do a batch of it; pace() lets it there. -#}
{% macro at_rule(control, rule) -%}
SELECT COUNT(s.run_id) INTO v_last FROM {{ control }}.run_sweep AS s WHERE s.run_id = p_run AND s.at_rule = {{ rule.literal }};
            IF v_last = 0 THEN
                SET o_state = 'again';
                COMMIT;
                LEAVE step;
            END IF;
            SET v_last = 0;
{%- endmacro at_rule %}

{#- A sign of life of a run, for servers that do not see its session. A run that was ended from outside gives none: in a
    cluster, its batch and whoever ended it write the same row, and only one of them can commit. -#}
{% macro sign_of_life(control) -%}
UPDATE {{ control }}.run AS r SET r.alive_at = UTC_TIMESTAMP(6) WHERE r.run_id = p_run AND r.status = 'running';
{%- endmacro sign_of_life %}

{#- What a handler learns of the error that it caught: v_errno, v_sqlstate, v_message. -#}
{% macro diagnose(maria) -%}
-- Warnings come before the error. Behind it are the lines of the routines (MariaDB), and what a deadlock could not roll
-- back: work tables.
GET {% if not maria %}STACKED {% endif %}DIAGNOSTICS v_number = NUMBER;
REPEAT
    GET {% if not maria %}STACKED {% endif %}DIAGNOSTICS CONDITION v_number v_errno = MYSQL_ERRNO, v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT;
    SET v_number = v_number - 1;
UNTIL v_errno NOT IN (4094, 1196, 1751, 1752) OR v_number = 0 END REPEAT;
-- A cancel shows in its own way in a sort, and as an error of syntax where it meets MariaDB reading a routine.
IF v_errno = 1028 AND v_message LIKE '%interrupted%' OR v_errno = 1064 THEN
    SET v_errno = 1317, v_sqlstate = '70100';
END IF;
-- A deadlock with another node of a cluster may show at COMMIT only.
IF v_errno = 1180 AND v_message LIKE '%deadlock%' THEN
    SET v_errno = 1213, v_sqlstate = '40001';
END IF;
{%- endmacro diagnose %}

{#- The handler of a routine that ends with its transaction: what it did is undone, and the session is as it was. -#}
{% macro roll_back(control, before) -%}
DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_open THEN
            ROLLBACK;
        END IF;
        CALL {{ control }}.unsettle({{ before }});
        RESIGNAL;
    END;
{%- endmacro roll_back %}

{#- The rows t of a table that name a row of the work table of an edge. -#}
{% macro named(control, edge, table, break) -%}
FROM {{ self::joined(control=control, edge=edge, table=table, break=break) }}
{%- endmacro named %}

{#- The same without the word before it. -#}
{% macro joined(control, edge, table, break) -%}
{{ control }}.{{ edge.keys }} AS w
{%- if edge.between %}{{ break }}STRAIGHT_JOIN {{ edge.between.table }} AS p ON p.{{ edge.between.column }} = w.id
{%- elif edge.via %}{{ break }}STRAIGHT_JOIN {{ edge.via.table }} AS p ON p.{{ edge.via.key }} = w.id
{%- endif %}{{ break }}STRAIGHT_JOIN {{ table }} AS t ON {% if edge.via %}{{ edge.via.on }}{% elif edge.between %}t.{{ edge.column }} = p.{{ edge.between.key }}{% else %}t.{{ edge.column }} = w.id{% endif %}{{ edge.unless }}
{%- endmacro joined %}

{#- The variables of a step that the macros around its batch use. -#}
{% macro step_variables() -%}
DECLARE v_dry_run   boolean;
    DECLARE v_as_of     datetime(6);
    DECLARE v_deadline  datetime(6);
    DECLARE v_own       boolean DEFAULT false;
    DECLARE v_paused    boolean;
    DECLARE v_scope     varchar(255);
    DECLARE v_limit     bigint;
    DECLARE v_done      bigint;
    DECLARE v_again     integer;
    DECLARE v_present   integer;
    DECLARE v_halving   boolean;
    DECLARE v_batch     bigint;
    DECLARE v_retries   bigint;
    DECLARE v_wait      bigint;
    DECLARE v_last      bigint DEFAULT 0;
    DECLARE v_families  bigint DEFAULT 0;
    DECLARE v_number    integer;
    DECLARE v_errno     integer;
    DECLARE v_sqlstate  varchar(5);
    DECLARE v_message   varchar(900);
    DECLARE v_busy      boolean DEFAULT false;
    DECLARE v_text      varchar(255);
{%- endmacro step_variables %}

{#- The beginning of a transaction, as each one is begun: the level holds for the next one only. -#}
{% macro start(pad) -%}
SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
{{ pad }}START TRANSACTION;
{%- endmacro start %}

{#- The beginning of one that deletes, before which make makes the work tables. -#}
{% macro start_batch(make, pad) -%}
-- Work tables are made in a transaction of their own: MariaDB writes one in which a temporary table was made or dropped
{{ pad }}-- to its binary log even when it is rolled back, with all that it deleted.
{{ pad }}{{ self::start(pad=pad) }}
{{ pad }}{{ make }}
{{ pad }}COMMIT;
{{ pad }}{{ self::start(pad=pad) }}
{%- endmacro start_batch %}

{#- What a dry run does before it deletes, and afterwards, where every batch gives a sign of life. -#}
{% macro keep_found(pad) -%}
IF v_dry_run THEN
{{ pad }}    -- A dry run keeps what it found out, and takes back what follows: by the whole transaction, since a savepoint would
{{ pad }}    -- not do in a cluster.
{{ pad }}    COMMIT;
{{ pad }}    {{ self::start(pad=pad ~ "    ") }}
{{ pad }}END IF;
{%- endmacro keep_found %}

{% macro take_back(control, pad) -%}
IF v_dry_run THEN
{{ pad }}    ROLLBACK;
{{ pad }}    {{ self::start(pad=pad ~ "    ") }}
{{ pad }}END IF;
{{ pad }}{{ self::sign_of_life(control=control) }}
{%- endmacro take_back %}

{#- What a step does first in its block "attempt": an error rolls its transaction back; the rule makes the work tables. Then
    it looks whether the run goes on, and at the settings. -#}
{% macro before_batch(control, rule, maria) -%}
DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                {{ self::diagnose(maria=maria) | indent(prefix="                ") }}
                ROLLBACK;
            END;
            {{ self::start_batch(make="CALL " ~ control ~ "." ~ rule.name ~ "_work();", pad="            ") }}

            -- Everything that may end a run is looked at before every batch.
            SELECT
                r.dry_run, r.as_of, r.deadline, r.status = 'running' AND r.backend_pid = CONNECTION_ID(),
                JSON_VALUE(r.options, '$.scope'), JSON_VALUE(r.options, '$.retention'), JSON_VALUE(r.options, '$.run_families'), c.paused
            INTO v_dry_run, v_as_of, v_deadline, v_own, v_scope, v_text, v_limit, v_paused
            FROM {{ control }}.run AS r
            CROSS JOIN {{ control }}.control AS c
            WHERE r.run_id = p_run;
            SELECT p.families, p.retries_in_row, p.batch_families, p.halving
            INTO v_done, v_again, v_present, v_halving
            FROM {{ control }}.run_rule AS p
            WHERE p.run_id = p_run
              AND p.rule = {{ rule.literal }}
            FOR UPDATE;
            IF NOT v_own THEN
                SET o_state = 'the run was ended from outside';
            ELSEIF v_paused THEN
                SET o_state = 'paused';
            ELSEIF UTC_TIMESTAMP(6) >= v_deadline THEN
                SET o_state = 'time budget spent';
            ELSE
                CALL {{ control }}.window_state(p_run, o_state);
            END IF;
            IF o_state IS NULL THEN
                CALL {{ control }}.rule_paused({{ rule.literal }}, o_state);
            END IF;
            IF o_state IS NOT NULL THEN
                COMMIT;
                LEAVE step;
            END IF;
            CALL {{ control }}.setting_of({{ rule.literal }}, '{{ rule.batch_setting }}', v_batch);
            CALL {{ control }}.setting_of({{ rule.literal }}, 'retries', v_retries);
            CALL {{ control }}.setting_of({{ rule.literal }}, 'lock_timeout', v_wait);
            IF v_limit IS NULL THEN
                CALL {{ control }}.setting_of({{ rule.literal }}, 'run_families', v_limit);
            END IF;
{%- endmacro before_batch %}

{#- How long a step waits for locks. -#}
{% macro waits() -%}
-- The server counts in whole seconds. The second one is for tables that are being altered.
            SET v_wait = GREATEST(1, (v_wait + 999) DIV 1000);
            SET SESSION innodb_lock_wait_timeout = v_wait;
            SET SESSION lock_wait_timeout = v_wait;
{%- endmacro waits %}

{#- The same, the tables, and the latch of holds and policies. What the catalog says must be what the run began with:
    anything else ends it. -#}
{% macro latch(control) -%}
{{ self::waits() }}

            -- A hold or a policy that is being written waits for this batch, or this batch for it. That is no fault of a family:
            -- look at everything again.
            latch: BEGIN
                DECLARE EXIT HANDLER FOR 1205
                BEGIN
                    SET o_state = 'again';
                END;
                CALL {{ control }}.take_tables();
                SELECT l.only_row INTO v_own FROM {{ control }}.latch AS l LOCK IN SHARE MODE;
            END latch;
            IF o_state IS NOT NULL THEN
                ROLLBACK;
                LEAVE step;
            END IF;
            {{ self::look_again(control=control) }}
{%- endmacro latch %}

{#- A step ends where the catalog is not what the run began with, and says why. Its transaction is rolled back before anybody
    makes a work table: MariaDB would log what it did. -#}
{% macro look_again(control, last=false) -%}
CALL {{ control }}.look_again(p_run, {{ last }}, v_busy);
            IF v_busy THEN
                ROLLBACK;
                SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
                START TRANSACTION;
                CALL {{ control }}.judge_catalog(p_run, v_message);
                COMMIT;
                SET o_state = COALESCE(CONCAT('error 55000: ', v_message), 'again');
                LEAVE step;
            END IF;
{%- endmacro look_again %}

{#- The same for a purge, which records that it failed. -#}
{% macro look_before_commit(control) -%}
CALL {{ control }}.look_again(p_run, true, v_own);
        IF v_own THEN
            CALL {{ control }}.not_ready('catalog changed: something came to act, or a table was swapped', 'windrow check --database says what');
        END IF;
{%- endmacro look_before_commit %}

{#- What the error of a batch means, and that a busy one is tried again, then halved. v_last: 0 where nothing was found to
    delete yet, more than 1 where it can be halved; half: to what. -#}
{% macro after_batch(control, rule, half) -%}
-- The batch failed and is rolled back. A statement that was cancelled ends the run; so do rights, resources, a
        -- read-only server: they are no fault of a family.
        IF v_errno IN (1317, 1927, 1053) THEN
            SET o_state = 'cancelled';
            LEAVE step;
        END IF;
        SET v_busy = v_errno IN (1205, 1213, 1020, 3101, 3572);
        IF NOT v_busy AND (
            LEFT(v_sqlstate, 2) IN ('08', '25', '28', '42', '53', '54', '57', '58', '70', 'XA')
            OR v_errno IN (1021, 1030, 1037, 1041, 1114, 1194, 1195, 1290, 1356, 1412, 1419, 1449, 1836, 1969, 3024, 3100)
            OR v_last = 0
        ) THEN
            SET o_state = CONCAT('error ', v_errno, ' (', v_sqlstate, '): ', v_message);
            LEAVE step;
        END IF;

        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        {{ self::sign_of_life(control=control) }}
        IF v_busy AND v_again < v_retries THEN
            UPDATE {{ control }}.run_rule AS p
            SET p.retries = p.retries + 1,
                p.retries_in_row = p.retries_in_row + 1,
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = {{ rule.literal }};
            COMMIT;
            SET o_state = 'again';
            LEAVE step;
        END IF;
        IF v_last = 0 THEN
            ROLLBACK;
            SET o_state = CONCAT('error ', v_errno, ' (', v_sqlstate, '): ', v_message);
            LEAVE step;
        END IF;
        IF v_last > 1 THEN
            UPDATE {{ control }}.run_rule AS p
            SET p.retries = p.retries + 1,
                p.retries_in_row = 0,
                p.batch_families = {{ half }},
                p.halving = true,
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = {{ rule.literal }};
            COMMIT;
            SET o_state = 'again';
            LEAVE step;
        END IF;
{%- endmacro after_batch %}

{#- The figures of a preview: what is skipped and why, and how fast the last runs were. -#}
{% macro preview_figures(control, rule) -%}
SELECT
        COALESCE(SUM(s.families), 0),
        CONCAT('{', COALESCE(GROUP_CONCAT(CONCAT(JSON_QUOTE(s.reason), ': ', s.families) ORDER BY s.reason SEPARATOR ', '), ''), '}'),
        CONCAT('{', COALESCE(GROUP_CONCAT(CONCAT(JSON_QUOTE(s.reason), ': [', s.sample_keys, ']') ORDER BY s.reason SEPARATOR ', '), ''), '}')
    INTO v_skips, v_skipped, v_skip_keys
    FROM (
        SELECT
            k.reason,
            COUNT(*) AS families,
            GROUP_CONCAT(IF(k.place <= 10, JSON_QUOTE(k.skip_key), NULL) ORDER BY k.place SEPARATOR ', ') AS sample_keys
        FROM (
            SELECT w.reason, w.skip_key, ROW_NUMBER() OVER (PARTITION BY w.reason ORDER BY w.position) AS place
            FROM {{ control }}.work_skipped AS w
        ) AS k
        GROUP BY k.reason
    ) AS s;
    -- Rows per second of the last runs that did some work.
    SELECT SUM(l.deleted_rows) / NULLIF(SUM(TIMESTAMPDIFF(MICROSECOND, l.started_at, l.updated_at)) / 1000000, 0)
    INTO v_speed
    FROM (
        SELECT r.deleted_rows, r.updated_at, r.started_at
        FROM {{ control }}.run_rule AS r
        WHERE r.rule = {{ rule.literal }}
          AND r.deleted_rows > 0
        ORDER BY r.run_id DESC
        LIMIT 5
    ) AS l;
{%- endmacro preview_figures %}

{#- The next window from v_from on, and its batch. -#}
{% macro take_window(control, rule) -%}
CALL {{ control }}.{{ rule.name }}_window(v_from, v_cutoff, v_take, v_limit - v_done, v_from, v_to);
            IF v_from IS NULL THEN
                COMMIT;
                SET o_state = 'nothing left';
                LEAVE step;
            END IF;
            -- One instant cannot be halved.
            SET v_last = IF(v_to <= v_from + INTERVAL 1 MICROSECOND, 1, 2);
            CALL {{ control }}.{{ rule.name }}_keep(v_from, v_to, v_as_of, true);
            {{ self::keep_found(pad="            ") }}
            CALL {{ control }}.{{ rule.name }}_batch(p_run, v_from, v_to, v_families, v_rows);
            {{ self::take_back(control=control, pad="            ") }}
{%- endmacro take_window %}

{#- What a batch of a preview found, added to what was found before. -#}
{% macro add_to_preview(control, rule) -%}
SET v_batches = v_batches + 1;
        SET v_families = v_families + v_found;
{%- for step in rule.steps %}
        SET v_rows_{{ step.position }} = v_rows_{{ step.position }} + JSON_VALUE(v_rows, '$[{{ step.position - 1 }}]');
{%- endfor %}
        INSERT INTO {{ control }}.work_skipped (skip_key, reason)
        SELECT k.skip_key, k.reason FROM {{ control }}.work_skip AS k ORDER BY k.position;
{%- endmacro add_to_preview %}

{#- The rows t of the families that go which name no root. -#}
{% macro adopted(control, member, pad) -%}
{% if member.adopt.named -%}
FROM {{ control }}.{{ member.adopt.named }} AS a
{{ pad }}STRAIGHT_JOIN {{ control }}.work_target AS c ON c.id = a.family
{{ pad }}STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ member.adopt.key }} = a.id
{%- else -%}
FROM {{ control }}.work_root AS m
{{ pad }}STRAIGHT_JOIN {{ control }}.work_target AS c ON c.id = m.family
{%- for join in member.adopt.joins %}
{{ pad }}STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
{%- endif %}
{%- endmacro adopted %}

{#- Collects what is named by rows of the instances of work_root that name no root. -#}
{% macro collect_adopted(control, rule, pad) -%}
{% for member in rule.timed.members -%}
{% if member.adopt and member.adopt.named -%}
{% for way in member.adopt.ways -%}
-- {{ way.why }}
{{ pad }}INSERT IGNORE INTO {{ control }}.{{ member.adopt.named }} (id, family)
{{ pad }}SELECT t.{{ member.adopt.key }}, p.{{ rule.key }}
{{ pad }}FROM {{ control }}.work_root AS m
{{ pad }}STRAIGHT_JOIN {{ rule.table }} AS p ON p.{{ rule.key }} = m.id AND p.{{ rule.timed.root_column }} IS NULL
{%- for join in way.joins %}
{{ pad }}STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
{{ pad }}STRAIGHT_JOIN {{ member.table }} AS t ON {{ way.on }}{% for column in member.family %} AND t.{{ column }} IS NULL{% endfor %};
{{ pad }}
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- endmacro collect_adopted %}

{#- Deletes those of the families that go which name no root, and counts them. -#}
{% macro delete_adopted(control, member, count, maria, pad) -%}
{% if member.archive -%}
INSERT INTO {{ member.archive.entry }}
{{ pad }}SELECT p_run, UTC_TIMESTAMP(6), t.*
{{ pad }}{{ self::adopted(control=control, member=member, pad=pad) }}
{{ pad }}FOR UPDATE{% if not maria %} OF t{% endif %};
{{ pad }}SET v_copied = v_copied + ROW_COUNT();
{{ pad }}
{%- endif -%}
DELETE t
{{ pad }}{{ self::adopted(control=control, member=member, pad=pad) }};
{{ pad }}SET {{ count }} = {{ count }} + ROW_COUNT();
{%- endmacro delete_adopted %}

{#- Deletes the rows of a table that belong to the families of work_target, and counts them. -#}
{% macro delete_of_targets(control, member, count, maria, pad) -%}
SET {{ count }} = 0;
{%- if member.archive %}
{{ pad }}SET v_copied = 0;
{%- endif %}
{%- for column in member.belongs %}
{%- if member.archive %}
{{ pad }}INSERT INTO {{ member.archive.entry }}
{{ pad }}SELECT p_run, UTC_TIMESTAMP(6), t.*
{{ pad }}FROM {{ control }}.work_target AS c
{{ pad }}STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ column }} = c.id
{{ pad }}FOR UPDATE{% if not maria %} OF t{% endif %};
{{ pad }}SET v_copied = v_copied + ROW_COUNT();
{%- endif %}
{{ pad }}DELETE t
{{ pad }}FROM {{ control }}.work_target AS c
{{ pad }}STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ column }} = c.id;
{{ pad }}SET {{ count }} = {{ count }} + ROW_COUNT();
{%- endfor %}
{%- if member.adopt %}
{{ pad }}-- Those that name no root, but an instance.
{%- if member.adopt.named %}
{{ pad }}{{ self::delete_adopted(control=control, member=member, count=count, maria=maria, pad=pad) }}
{%- else %}
{{ pad }}IF {{ member.adopt.look }} THEN
{{ pad }}    {{ self::delete_adopted(control=control, member=member, count=count, maria=maria, pad=pad ~ "    ") }}
{{ pad }}END IF;
{%- endif %}
{%- endif %}
{%- if member.archive %}
{{ pad }}{{ self::all_copied(control=control, archive=member.archive, rows=count) }}
{%- endif %}
{%- endmacro delete_of_targets %}

{#- The first roots t of a batch of a preview: the beginning and the end of the statement. -#}
{% macro sample_roots(rule) -%}
SELECT COUNT(*), GROUP_CONCAT({% if rule.key_is_number %}g.id{% else %}JSON_QUOTE(g.id){% endif %} ORDER BY g.due, g.id SEPARATOR ', '), MIN(g.due)
            INTO v_found, v_part, v_time
            FROM (
                SELECT t.{{ rule.key }} AS id, t.{{ rule.end_time }} AS due
{%- endmacro sample_roots %}

{#- Takes the v_found roots of v_part, the first of which ended at v_time, into the samples of a preview. -#}
{% macro told_samples(rule) -%}
IF v_found > 0 THEN
                IF v_oldest = 'null' THEN
                    SET v_oldest = CONCAT('"', TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(v_time, '%Y-%m-%dT%H:%i:%s.%f'))), {% if rule.zoned %}'+00:00"'{% else %}'"'{% endif %});
                END IF;
                SET v_samples = CONCAT(v_samples, IF(v_samples = '', '', ', '), v_part);
                SET v_room = v_room - v_found;
            END IF;
{%- endmacro told_samples %}

{% macro add_samples(rule) -%}
ORDER BY t.{{ rule.end_time }}, t.{{ rule.key }}
                LIMIT v_room
            ) AS g;
            {{ self::told_samples(rule=rule) }}
{%- endmacro add_samples %}

{#- The document of a preview. -#}
{% macro preview_document(rule) -%}
SET o_document = CONCAT(
        '{"rule": ', JSON_QUOTE({{ rule.literal }}),
        ', "root": ', JSON_QUOTE({{ rule.table_literal }}),
        ', "families": ', v_families,
        ', "rows": ', v_sum,
        ', "tables": {',
{%- for step in rule.steps %}
        {% if not loop.first %}', ', {% endif %}JSON_QUOTE({{ step.table_literal }}), ': ', v_rows_{{ step.position }},
{%- endfor %}
        '}, "oldest_end_time": ', v_oldest,
        ', "sample_roots": ', v_samples,
        ', "skipped_families": ', v_skips,
        ', "skipped": ', v_skipped,
        ', "skipped_samples": ', v_skip_keys,
{%- if rule.per and rule.opt_in %}
        ', "without_policy": ', COALESCE(v_without, 'null'),
{%- endif %}
        ', "run_families": ', v_limit,
        ', "limited": ', IF(v_more, 'true', 'false'),
        ', "batches": ', v_batches,
        ', "estimated_seconds": ', COALESCE(ROUND(v_sum / v_speed, 1), 'null'){% for field in rule.report_preview %},
        ', ', JSON_QUOTE({{ field.name }}), ': ', COALESCE(CAST({{ field.value }} AS char), 'null'){% endfor %},
        '}'
    );
{%- endmacro preview_document %}

{#- What a purge of one family looks at first, and how long it waits for locks. -#}
{% macro before_purge(control, rule, q) -%}
SELECT r.dry_run, r.as_of, r.status = 'running' AND r.{{ q }}trigger{{ q }} = 'PURGE' AND r.backend_pid = CONNECTION_ID(), c.paused OR EXISTS (SELECT 1 FROM {{ control }}.rule_pause AS p WHERE p.rule = {{ rule.literal }})
        INTO v_dry_run, v_as_of, v_own, v_paused
        FROM {{ control }}.run AS r
        CROSS JOIN {{ control }}.control AS c
        WHERE r.run_id = p_run;
        IF NOT v_own THEN
            CALL {{ control }}.not_ready(CONCAT('run ', p_run, ' is not an open purge of this session'), 'CALL {{ control }}.purge() opens one');
        END IF;
        IF v_paused THEN
            COMMIT;
            SET o_reason = 'PAUSED';
            LEAVE attempt;
        END IF;
        CALL {{ control }}.setting_of({{ rule.literal }}, 'lock_timeout', v_wait);
        SET v_wait = GREATEST(1, (v_wait + 999) DIV 1000);
        SET SESSION innodb_lock_wait_timeout = v_wait;
        SET SESSION lock_wait_timeout = v_wait;
        CALL {{ control }}.take_tables();
        {{ self::look_before_commit(control=control) }}
{%- endmacro before_purge %}

{#- What an error of a purge means; it is recorded. -#}
{% macro after_purge(control, rule, q) -%}
IF v_errno IN (1317, 1927, 1053) THEN
        SET o_reason = 'CANCELLED';
    ELSEIF v_errno IS NOT NULL THEN
        SET o_reason = IF(v_errno IN (1205, 1213, 1020, 3101, 3572), 'LOCKED', 'FAILED');
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        IF o_reason = 'FAILED' THEN
            INSERT IGNORE INTO {{ control }}.run_failure (run_id, rule, {{ q }}key{{ q }}, errno, {{ q }}sqlstate{{ q }}, message)
            VALUES (p_run, {{ rule.literal }}, p_key, v_errno, v_sqlstate, v_message);
        END IF;
        INSERT INTO {{ control }}.work_skip (skip_key, reason)
        VALUES (p_key, o_reason);
        CALL {{ control }}.record_skips(p_run, {{ rule.literal }});
        COMMIT;
    END IF;
{%- endmacro after_purge %}

{#- What speaks against row `r` of the root table of a rule by time: the place of the reason in ELT(). -#}
{% macro fault_of_root(rule) -%}
{% if rule.timed.ended -%}
CASE WHEN r.{{ rule.timed.ended }} IS NULL THEN 2 WHEN r.{{ rule.timed.ended }} >= v_least THEN 3 ELSE 9 END
{%- else -%}
9
{%- endif %}
{%- endmacro fault_of_root %}

{#- The members of the families of work_next, with what speaks against each; 0: the root is not due any more. -#}
{% macro members_of_next(control, rule, column) -%}
SELECT
            r.{{ rule.key }}, {{ rule.timed.family_of_root }},
            CASE WHEN {{ rule.timed.family_of_root }} = r.{{ rule.key }} AND (r.{{ rule.end_time }} < p_cutoff) IS NOT TRUE THEN 0 ELSE {{ self::fault_of_root(rule=rule) }} END
        FROM {{ control }}.work_next AS n
        STRAIGHT_JOIN {{ rule.table }} AS r ON r.{{ column }} = n.id
{%- endmacro members_of_next %}

{#- The rows `t` of a window that do not stay: by their instants, as a batch finds them, and by time, as a count does.
    Where families go as such, the rows of those whose root is there stay. -#}
{% macro rest_of_window(control, rule, member, join_roots=true) -%}
FROM {{ control }}.work_due AS w
    STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ rule.end_time }} = w.due
{%- for stay in member.stays %}
    LEFT JOIN {{ control }}.{{ stay.work }} AS {{ stay.alias }} ON {{ stay.alias }}.id = t.{{ stay.column }}
{%- endfor %}
{%- if join_roots %}
{%- for root in member.roots %}
    LEFT JOIN {{ rule.table }} AS {{ root.alias }} ON {{ root.on }}
{%- endfor %}
{%- endif %}
    WHERE w.position = {{ member.position }}
{%- for condition in member.conditions %}
      AND {{ condition }}
{%- endfor %}
{%- for stay in member.stays %}
      AND {{ stay.alias }}.id IS NULL
{%- endfor %}
{%- for condition in member.spares %}
      AND {{ condition }}
{%- endfor %}
{%- for root in member.roots %}
      AND {% if join_roots %}{{ root.alias }}.{{ rule.key }} IS NULL{% else %}NOT EXISTS (SELECT 1 FROM {{ rule.table }} AS {{ root.alias }} WHERE {{ root.on }}){% endif %}
{%- endfor %}
{%- endmacro rest_of_window %}

{#- Copies those rows into their archive. MariaDB would lock the roots that it joins, and cannot be told to lock `t` only. -#}
{% macro copy_window(control, rule, member, maria) -%}
INSERT INTO {{ member.archive.entry }}
    SELECT p_run, UTC_TIMESTAMP(6), t.*
    {{ self::rest_of_window(control=control, rule=rule, member=member, join_roots=not maria) }}
    FOR UPDATE{% if not maria %} OF t{% endif %};
    SET v_copied = ROW_COUNT();
{%- endmacro copy_window %}

{% macro rows_of_window(control, rule, member, from, to) -%}
FROM {{ member.table }} AS t
{%- for stay in member.stays %}
    LEFT JOIN {{ control }}.{{ stay.work }} AS {{ stay.alias }} ON {{ stay.alias }}.id = t.{{ stay.column }}
{%- endfor %}
{%- for root in member.roots %}
    LEFT JOIN {{ rule.table }} AS {{ root.alias }} ON {{ root.on }}
{%- endfor %}
    WHERE t.{{ rule.end_time }} >= {{ from }}
      AND t.{{ rule.end_time }} < {{ to }}
{%- for condition in member.conditions %}
      AND {{ condition }}
{%- endfor %}
{%- for stay in member.stays %}
      AND {{ stay.alias }}.id IS NULL
{%- endfor %}
{%- for condition in member.spares %}
      AND {{ condition }}
{%- endfor %}
{%- for root in member.roots %}
      AND {{ root.alias }}.{{ rule.key }} IS NULL
{%- endfor %}
{%- endmacro rows_of_window %}

{#- That root i is older than the last one of its group that stays. The group stands in the order so that no index on the
    time alone is read through all other groups. A small group has no such one, and stays. -#}
{% macro older_than_newest(rule, newest, lock) -%}
({{ newest.place_of_i }}) < (
    SELECT {{ newest.place_of_n }}
    FROM {{ rule.table }} AS n
    WHERE {{ newest.same_as_i | join(sep=" AND ") }}
{%- for predicate in newest.ordered %}
      AND {{ predicate }}
{%- endfor %}
{%- for predicate in newest.counted %}
      AND {{ predicate }}
{%- endfor %}
    ORDER BY {{ newest.order }}
    LIMIT 1{% if newest.offset > 0 %} OFFSET {{ newest.offset }}{% endif %}
{%- if lock %}
    {{ lock }}
{%- endif %}
)
{%- endmacro older_than_newest %}

{#- That root i, which is final and a candidate, is not among the newest of its group. -#}
{% macro not_newest(rule) -%}
{% for newest in rule.newest -%}
-- The newest {{ newest.count }} of each {{ newest.group_name }} stay.
AND (
    {{ newest.placeless | join(sep=" OR ") }}
{%- if newest.of | length > 0 %}
    OR ({{ newest.of | join(sep=" AND ") }}) IS NOT TRUE
{%- endif %}
    OR {{ self::older_than_newest(rule=rule, newest=newest, lock="") | indent }}
)
{%- if not loop.last %}
{% endif %}
{%- endfor %}
{%- endmacro not_newest %}

{#- A part p of what is due, as outlook() tells it. -#}
{% macro part() -%}
CONCAT('{"from": "', TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(p.since, '%Y-%m-%dT%H:%i:%s.%f'))), '", "families": ', p.families, '}')
{%- endmacro part %}

{#- The work tables for the keys of tables between the members and other tables: making them, and their names behind others. -#}
{% macro make_collects(control, rule) -%}
{%- for collect in rule.collects %}
{%- if not collect.joined %}
    CREATE TEMPORARY TABLE {{ control }}.{{ collect.work }} (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT t.{{ collect.key }} AS id FROM {{ collect.table }} AS t LIMIT 0;
{%- endif %}
{%- endfor %}
{%- endmacro make_collects %}

{#- The work tables of one batch of a rule by a time of its own. -#}
{% macro work_of_timed(control, rule) -%}
{{ control }}.work_due, {{ control }}.work_root, {{ control }}.work_locked, {{ control }}.work_tied, {{ control }}.work_target, {{ control }}.work_skip,
        {{ control }}.work_keep{% if rule.timed.by_family %}, {{ control }}.work_cursor, {{ control }}.work_next{% endif %}
{%- for twin in rule.timed.twins %}, {{ control }}.{{ twin }}{% endfor %}
{%- for member in rule.timed.members %}{% if member.referrers %}, {{ control }}.{{ member.named }}{% endif %}{% endfor %}
{%- for member in rule.timed.members %}{% if member.adopt and member.adopt.named %}, {{ control }}.{{ member.adopt.named }}{% endif %}{% endfor %}
{%- for list in rule.timed.held %}, {{ control }}.{{ list.name }}{% endfor %}
{%- endmacro work_of_timed %}

{% macro names_of_collects(control, rule) -%}
{%- for collect in rule.collects -%}
{%- if not collect.joined -%}
        , {{ control }}.{{ collect.work }}
{%- endif -%}
{%- endfor -%}
{%- endmacro names_of_collects %}

{#- The keys of a table whose rows go, for the tables below it. Begins on a new line. -#}
{% macro collect(control, collect) -%}
{%- for edge in collect.edges %}
INSERT {% if collect.edges | length > 1 %}IGNORE {% endif %}INTO {{ control }}.{{ collect.work }} (id)
SELECT t.{{ collect.key }}
{{ self::named(control=control, edge=edge, table=collect.table, break="
") }};
{%- endfor %}
{%- endmacro collect %}

{#- A column c of information_schema with its type. -#}
{% macro column_text() -%}
CONCAT(c.column_name, ' ', c.column_type, COALESCE(CONCAT(' ', c.character_set_name), ''))
{%- endmacro column_text %}

{#- Copies the rows t that are deleted next into their archive, adding their number to v_copied. They are locked as the
    deletion locks them: what was copied is what goes. -#}
{% macro copy(archive, from, maria) -%}
INSERT INTO {{ archive.entry }}
SELECT p_run, UTC_TIMESTAMP(6), t.*
{{ from }}
FOR UPDATE{% if not maria %} OF t{% endif %};
SET v_copied = v_copied + ROW_COUNT();
{%- endmacro copy %}

{#- The error where not as many rows were deleted as copied. -#}
{% macro all_copied(control, archive, rows) -%}
CALL {{ control }}.check_copied({{ archive.table_literal }}, v_copied, {{ rows }});
{%- endmacro all_copied %}

{#- Whether the archives fit, once a batch holds the locks that keep the columns of its tables. -#}
{% macro fits(control, rule) -%}
CALL {{ control }}.check_archive({{ rule.literal }});
{%- endmacro fits %}

{#- The deletion from one table, counted in v_rows. -#}
{% macro delete_step(control, step, maria) -%}
SET v_rows = 0;
{%- if step.archive %}
SET v_copied = 0;
{%- endif %}
{%- for edge in step.edges %}
SELECT EXISTS (
    SELECT 1
    {{ self::named(control=control, edge=edge, table=step.table, break="
    ") }}
) INTO v_any;
IF v_any THEN
{%- if step.archive %}
    {{ self::copy(archive=step.archive, from=self::named(control=control, edge=edge, table=step.table, break="
"), maria=maria) | indent }}
{%- endif %}
    DELETE t
    {{ self::named(control=control, edge=edge, table=step.table, break="
    ") }};
    SET v_rows = v_rows + ROW_COUNT();
END IF;
{%- endfor %}
{%- if step.archive %}
{{ self::all_copied(control=control, archive=step.archive, rows="v_rows") }}
{%- endif %}
{%- endmacro delete_step %}

{#- How many rows of each table belong to the rows of the root table whose keys stand in the work table `members`. -#}
{% macro rows_below(control, rule, members) -%}
-- {{ rule.name }}_rows: how many rows of each table belong to the ids in {{ members }}, in the order of deletion.
--# create procedure {{ control }}.{{ rule.name }}_rows
CREATE PROCEDURE {{ control }}.{{ rule.name }}_rows(OUT o_rows longtext)
SQL SECURITY DEFINER
COMMENT 'Counts the rows by table that belong to the ids in {{ members }}, as a JSON list in the order of deletion: {{ rule.table_list }}. Reads only. [body @body@]'
BEGIN
    DECLARE v_rows bigint;
    DECLARE v_more bigint;
{%- if not rule.single %}
    CALL {{ control }}.{{ rule.name }}_work();
{%- endif %}
{%- for collect in rule.collects %}
{%- if collect.joined %}
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.{{ collect.work }};
    CREATE TEMPORARY TABLE {{ control }}.{{ collect.work }} (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT t.{{ collect.key }} AS id FROM {{ collect.table }} AS t LIMIT 0;
{%- endif %}
{%- for edge in collect.edges %}
    INSERT {% if collect.edges | length > 1 %}IGNORE {% endif %}INTO {{ control }}.{{ collect.work }} (id)
    SELECT t.{{ collect.key }}
    FROM {{ control }}.{{ edge.keys_of_rows }} AS w
{%- if edge.via %}
    STRAIGHT_JOIN {{ edge.via.table }} AS p ON p.{{ edge.via.key }} = w.id
{%- endif %}
    STRAIGHT_JOIN {{ collect.table }} AS t ON {% if edge.via %}{{ edge.via.on }}{{ edge.unless }}{% else %}t.{{ edge.column }} = w.id{% if edge.none %} AND w.id <> {{ edge.none }}{% endif %}{% endif %};
{%- endfor %}
{%- endfor %}
{%- for twin in rule.twins %}
    -- The same keys once more, for statements that need them twice.
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.{{ twin.work }};
    CREATE TEMPORARY TABLE {{ control }}.{{ twin.work }} (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT w.id FROM {{ control }}.{{ twin.of }} AS w;
{%- endfor %}
    SET o_rows = '';
{%- for step in rule.steps %}

    -- {{ step.why }}
    SET v_rows = 0;
{%- for edge in step.edges %}
    SELECT COUNT(*)
    INTO v_more
    FROM {{ control }}.{{ edge.keys_of_rows }} AS w
{%- if edge.via %}
    STRAIGHT_JOIN {{ edge.via.table }} AS p ON p.{{ edge.via.key }} = w.id
{%- endif %}
    STRAIGHT_JOIN {{ step.table }} AS t ON {% if edge.via %}{{ edge.via.on }}{{ edge.unless }}{% else %}t.{{ edge.column }} = w.id{% if edge.none %} AND w.id <> {{ edge.none }}{% endif %}{% endif %}
{%- for other in edge.others %}
{%- if other.via %}
    LEFT JOIN {{ other.via.table }} AS p{{ loop.index }} ON {{ other.via.on }}
{%- endif %}
    LEFT JOIN {{ control }}.{{ other.keys }} AS o{{ loop.index }} ON o{{ loop.index }}.id = {% if other.via %}p{{ loop.index }}.{{ other.via.key }}{% else %}t.{{ other.column }}{% endif %}{% if other.none %} AND t.{{ other.column }} <> {{ other.none }}{% endif %}
{%- endfor %}
{%- for other in edge.others %}
    {% if loop.first %}WHERE{% else %}  AND{% endif %} o{{ loop.index }}.id IS NULL
{%- endfor %};
    SET v_rows = v_rows + v_more;
{%- endfor %}
    SET o_rows = CONCAT(o_rows, {% if not loop.first %}', ', {% endif %}v_rows);
{%- endfor %}
    SET o_rows = CONCAT('[', o_rows, ']');
{%- for twin in rule.twins %}
    DROP TEMPORARY TABLE {{ control }}.{{ twin.work }};
{%- endfor %}
{%- for collect in rule.collects %}
{%- if collect.joined %}
    DROP TEMPORARY TABLE {{ control }}.{{ collect.work }};
{%- endif %}
{%- endfor %}
END;
{%- endmacro rows_below %}

{#- What root i of a rule with listed scopes must be, besides in policy p or source row and old enough. -#}
{% macro due_root(rule) -%}
{% if rule.timed and rule.timed.root_column -%}
AND COALESCE(i.{{ rule.timed.root_column }}, i.{{ rule.key }}) = i.{{ rule.key }}
{% endif -%}
{% for predicate in rule.eligible -%}
AND {{ predicate }}
{% endfor -%}
{% if rule.newest | length > 0 -%}
{{ self::not_newest(rule=rule) }}
{% endif -%}
{%- endmacro due_root %}

{#- The single rows n that are due now, or that a run would look at, up to a limit in each pass. -#}
{% macro due_rows(rule, limit) -%}
{% if rule.single.expiry -%}
FROM (
{%- for pass in rule.single.passes %}
    (
        SELECT {{ pass.due_time }} AS due
        FROM {{ rule.table }} AS t
{%- for predicate in pass.backlog %}
        {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ predicate | indent(prefix="        ") }}
{%- endfor %}
        ORDER BY {{ pass.due_time }}
        LIMIT {{ limit }}
    ){% if not loop.last %}
    UNION ALL{% endif %}
{%- endfor %}
) AS n
{%- else -%}
FROM (
{%- for pass in rule.single.passes %}
    SELECT
        {{ pass.due_time }} AS due,
        (
{%- for predicate in pass.backlog %}
            {% if not loop.first %}AND {% endif %}{{ predicate | indent(prefix="            ") }}
{%- endfor %}
        ) IS TRUE AS goes
    FROM (
        SELECT {{ rule.single.read_key }}
        FROM {{ rule.table }} AS t
{%- for predicate in pass.predicates %}
        {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ predicate }}
{%- endfor %}
        ORDER BY {{ pass.order }}
        LIMIT {{ limit }}
    ) AS r
    STRAIGHT_JOIN {{ rule.table }} AS t ON {{ rule.single.matches_r }}
{%- endfor %}
) AS n
{%- endif %}
{%- endmacro due_rows %}

{#- One row: the rule, the families that are due now, counted up to a limit, seconds since the oldest ended, and whether
    these are all. -#}
{% macro due_now(control, rule, limit) -%}
{% if rule.single and not rule.single.expiry -%}
SELECT {{ rule.literal }} AS rule, CAST(COALESCE(SUM(n.goes), 0) AS SIGNED) AS families, COALESCE(TIMESTAMPDIFF(MICROSECOND, MIN(IF(n.goes, n.due, NULL)), {{ rule.single.oldest_now }}), 0) / 1e6 AS age_seconds, COUNT(*) < {{ limit }} AS complete
{{ self::due_rows(rule=rule, limit=limit) }}
{%- elif rule.single -%}
SELECT {{ rule.literal }} AS rule, COUNT(*) AS families, COALESCE(TIMESTAMPDIFF(MICROSECOND, MIN(n.due), {{ rule.single.oldest_now }}), 0) / 1e6 AS age_seconds, COUNT(*) < {{ limit }} AS complete
{{ self::due_rows(rule=rule, limit=limit) }}
{%- elif rule.per and rule.opt_in -%}
SELECT {{ rule.literal }} AS rule, COUNT(*) AS families, COALESCE(TIMESTAMPDIFF(MICROSECOND, (
    -- The oldest of each scope.
    SELECT MIN(o.ended)
    FROM (
        SELECT (
            SELECT {{ rule.ended }}
            FROM {{ rule.table }} AS i
            WHERE i.{{ rule.per }} = {{ rule.scope_of_policy }}
              AND {{ rule.ended }} < {{ rule.cutoff_now }}
              {{ self::due_root(rule=rule) | indent(prefix="              ") }}
            ORDER BY {{ rule.ended }}
            LIMIT 1
        ) AS ended
        FROM {{ control }}.policy AS p
        WHERE p.rule = {{ rule.literal }}
          AND p.enabled
{%- if rule.source %}
        UNION ALL
        SELECT (
            SELECT {{ rule.ended }}
            FROM {{ rule.table }} AS i
            WHERE i.{{ rule.per }} = {{ rule.source.scope }}
              AND {{ rule.ended }} < {% if rule.source.says %}IF({{ rule.source.says }}, {{ rule.cutoff_now_source }}, NULL){% else %}{{ rule.cutoff_now_source }}{% endif %}
              {{ self::due_root(rule=rule) | indent(prefix="              ") }}
            ORDER BY {{ rule.ended }}
            LIMIT 1
        )
        FROM {{ rule.source.rows }}
        WHERE NOT EXISTS (SELECT 1 FROM {{ control }}.policy AS p WHERE p.rule = {{ rule.literal }} AND p.scope = {{ rule.source.scope_text }})
{%- endif %}
    ) AS o
), {{ rule.now_here }}), 0) / 1e6 AS age_seconds, COUNT(*) < {{ limit }} AS complete
FROM (
    SELECT {{ rule.ended }} AS ended
    FROM {{ control }}.policy AS p
    STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.per }} = {{ rule.scope_of_policy }}
    WHERE p.rule = {{ rule.literal }}
      AND p.enabled
      AND {{ rule.ended }} < {{ rule.cutoff_now }}
      {{ self::due_root(rule=rule) | indent(prefix="      ") }}
{%- if rule.source %}
    UNION ALL
    SELECT {{ rule.ended }}
    FROM {{ rule.source.rows }}
    STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.per }} = {{ rule.source.scope }}
    WHERE NOT EXISTS (SELECT 1 FROM {{ control }}.policy AS p WHERE p.rule = {{ rule.literal }} AND p.scope = {{ rule.source.scope_text }})
      AND {{ rule.ended }} < {% if rule.source.says %}IF({{ rule.source.says }}, {{ rule.cutoff_now_source }}, NULL){% else %}{{ rule.cutoff_now_source }}{% endif %}
      {{ self::due_root(rule=rule) | indent(prefix="      ") }}
{%- endif %}
    LIMIT {{ limit }}
) AS n
{%- else -%}
SELECT {{ rule.literal }} AS rule, COUNT(*) AS families, COALESCE(TIMESTAMPDIFF(MICROSECOND, MIN(n.ended), {{ rule.now_here }}), 0) / 1e6 AS age_seconds, COUNT(*) < {{ limit }} AS complete
FROM (
    SELECT {{ rule.ended }} AS ended
    FROM {{ rule.table }} AS i
{%- if rule.per %}
    LEFT JOIN {{ control }}.policy AS p ON p.rule = {{ rule.literal }} AND {{ rule.scope_of_policy }} = i.{{ rule.per }}
{%- if rule.source %}
    LEFT JOIN {{ rule.source.rows }} ON {{ rule.source.scope }} = i.{{ rule.per }}
{%- endif %}
    WHERE {{ rule.ended }} < {{ rule.cutoff_now_minimum }}
{%- if rule.source %}
      AND {{ rule.ended }} < CASE
          WHEN p.rule IS NOT NULL THEN IF(p.enabled, {{ rule.cutoff_now }}, NULL)
          WHEN {{ rule.source.scope }} IS NOT NULL{% if rule.source.says %} AND {{ rule.source.says }}{% endif %} THEN {% if rule.source.ends %}IF({{ rule.source.ends }}, {{ rule.cutoff_now_source }}, NULL){% else %}{{ rule.cutoff_now_source }}{% endif %}
          ELSE {{ rule.cutoff_now_default }}
      END
{%- else %}
      AND {{ rule.ended }} < IF(p.rule IS NULL, {{ rule.cutoff_now_default }}, IF(p.enabled, {{ rule.cutoff_now }}, NULL))
{%- endif %}
{%- else %}
    WHERE {{ rule.ended }} < {{ rule.cutoff_now_default }}
{%- endif %}
      {{ self::due_root(rule=rule) | indent(prefix="      ") }}
    ORDER BY {{ rule.ended }}
    LIMIT {{ limit }}
) AS n
{%- endif %}
{%- endmacro due_now %}

{#- The body of a trigger: what the new row names must be there; of a row that changes, only what it names anew. -#}
{% macro orphan_guard(guard, changes) -%}
BEGIN
    DECLARE v_found   bigint;
    DECLARE v_message varchar(128);
{%- for edge in guard.edges %}
    -- {{ edge.child }} names a row of {{ edge.parent_name }}.
    IF {{ edge.present }}{% if changes %} AND ({{ edge.changed }}){% endif %} THEN
{%- for way in edge.ways %}
        SELECT COUNT(*) INTO v_found FROM {{ edge.root }} AS r
        WHERE r.{{ edge.root_key }} = (SELECT {{ way.column }} FROM {{ way.from }} WHERE {{ way.names }})
        LOCK IN SHARE MODE;
        -- Gone, or not yet in the snapshot of this transaction.
        IF v_found = 0 THEN
            SELECT COUNT(*) INTO v_found FROM {{ edge.root }} AS r
            WHERE r.{{ edge.root_key }} = (SELECT {{ way.column }} FROM {{ way.from }} WHERE {{ way.names }} LOCK IN SHARE MODE)
            LOCK IN SHARE MODE;
        END IF;
{%- endfor %}
        SELECT COUNT(*) INTO v_found FROM {{ edge.parent }} AS p WHERE {{ edge.same }} LOCK IN SHARE MODE;
        IF v_found = 0 THEN
            SET v_message = LEFT(CONCAT('{{ edge.child }} names a row of {{ edge.parent_name }} that is gone: ', {{ edge.value }}), 128);
            SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1452, MESSAGE_TEXT = v_message;
        END IF;
    END IF;
{%- endfor %}
END
{%- endmacro orphan_guard %}

{#- The rows t that a plain rule deletes: those that are named, and those of a window that stay for no reason. -#}
{% macro plain_target(rule) -%}
FROM work_target AS c
        STRAIGHT_JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = c.id
{%- for condition in rule.timed.conditions_of_root %}
        {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %}
{%- endmacro plain_target %}

{% macro plain_window(rule) -%}
FROM work_due AS w
        STRAIGHT_JOIN {{ rule.table }} AS t ON t.{{ rule.end_time }} = w.due
        LEFT JOIN work_keep AS k1 ON k1.id = t.{{ rule.key }}
        WHERE k1.id IS NULL
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}
{%- endmacro plain_window %}

{#- What the kernel asks every rule: the row that a key names. -#}
{% macro row(control, rule) -%}
-- {{ rule.name }}_row: the row that a key names, in whatever spelling its column reads.
--# create procedure {{ control }}.{{ rule.name }}_row
CREATE PROCEDURE {{ control }}.{{ rule.name }}_row(IN p_key longtext, OUT o_key longtext, OUT o_found boolean)
SQL SECURITY DEFINER
COMMENT 'The key of the row that p_key names, as the server writes it, and whether the rule could ever delete it; NULL for what the column cannot hold. [body @body@]'
BEGIN
    DECLARE v_readable boolean DEFAULT false;
    DECLARE v_way int DEFAULT 0;
{%- if rule.held.composite %}
    IF JSON_VALID(p_key) THEN
        IF JSON_TYPE(p_key) = 'ARRAY' AND JSON_LENGTH(p_key) = {{ rule.held.parts | length }} THEN
            SET v_readable = {{ rule.held.readable }};
        END IF;
    END IF;
{%- else %}
    SET v_readable = {{ rule.held.readable }};
{%- endif %}
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_hold;
    CREATE TEMPORARY TABLE {{ control }}.work_hold ENGINE = InnoDB AS
    SELECT {{ rule.held.read }} FROM {{ rule.table }} AS i LIMIT 0;
    WHILE v_readable AND v_way <= {{ rule.held.last_way }} DO
        BEGIN
            -- The column cannot hold this spelling.
            DECLARE CONTINUE HANDLER FOR 1264, 1265, 1292, 1366, 1406, 1690 BEGIN END;
            INSERT INTO {{ control }}.work_hold ({{ rule.held.names }})
            SELECT {{ rule.held.values }};
        END;
        SET v_way = v_way + 1;
    END WHILE;
    SELECT {{ rule.held.key_as_read }} INTO o_key FROM {{ control }}.work_hold AS r LIMIT 1;
    IF o_key IS NOT NULL THEN
    SELECT {{ rule.held.key }}, {% if rule.by_end %}{{ rule.is_root }}{% else %}true{% endif %}
    INTO o_key, o_found
    FROM {{ control }}.work_hold AS r
    STRAIGHT_JOIN {{ rule.table }} AS i ON {{ rule.held.matches }}
    ORDER BY {{ rule.held.key }} = p_key DESC
    LIMIT 1
    LOCK IN SHARE MODE;
{%- if rule.by_end and rule.links and rule.candidates %}
    -- Or it belongs to the family of one that is.
    IF NOT o_found THEN
        SET o_found = (
            WITH RECURSIVE up AS (
                -- A link may name what is beyond the range of the key.
                SELECT {% if rule.id_type %}CAST(r.k1 AS signed){% else %}r.k1{% endif %} AS id
                FROM {{ control }}.work_hold AS r
{%- for link in rule.links %}
                UNION
                SELECT n.{{ link.parent }}
                FROM up
                JOIN {{ link.table }} AS n ON n.{{ link.child }} = up.id
                WHERE n.{{ link.parent }} IS NOT NULL
{%- endfor %}
            )
            SELECT COUNT(*)
            FROM up
            JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = up.id
            WHERE {{ rule.is_root }}
        ) > 0;
    END IF;
{%- endif %}
{%- if rule.timed %}{% for other in rule.timed.others %}
    -- Or it is one of {{ other.table_name }}.
    IF o_found IS NOT TRUE THEN
        SELECT COALESCE(MAX(r.{{ other.key }}), o_key), COUNT(*) > 0
        INTO o_key, o_found
        FROM {{ control }}.work_hold AS h
        STRAIGHT_JOIN {{ other.table }} AS r ON r.{{ other.key }} = h.k1
{%- for condition in other.conditions %}
        {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %}
        LOCK IN SHARE MODE;
    END IF;
{%- endfor %}{% endif %}
    END IF;
    DROP TEMPORARY TABLE {{ control }}.work_hold;
END;
{%- endmacro row %}

{#- How much is due. -#}
{% macro due(control, rule) -%}
-- {{ rule.name }}_due: how much is due now, counted up to a limit.
--# create procedure {{ control }}.{{ rule.name }}_due
CREATE PROCEDURE {{ control }}.{{ rule.name }}_due(IN p_limit bigint, OUT o_families bigint, OUT o_complete boolean)
SQL SECURITY DEFINER
COMMENT 'How much is due now, counted up to p_limit, and whether that is all. Reads only. [body @body@]'
BEGIN
{%- if rule.single %}
    SELECT {% if rule.single.expiry %}COUNT(*){% else %}CAST(COALESCE(SUM(n.goes), 0) AS signed){% endif %}, COUNT(*) < p_limit
    INTO o_families, o_complete
    {{ self::due_rows(rule=rule, limit="p_limit") | indent(prefix="    ") }};
{%- else %}
    SELECT n.families, n.complete
    INTO o_families, o_complete
    FROM (
        {{ self::due_now(control=control, rule=rule, limit="p_limit") | indent(prefix="        ") }}
    ) AS n;
{%- endif %}
END;
{%- endmacro due %}

{#- What the kernel asks a rule besides: the row that a key names, how much is due, and how that lies along time. -#}
{% macro verbs(control, rule, by_calendar) -%}
{{ self::row(control=control, rule=rule) }}

{{ self::due(control=control, rule=rule) }}

-- {{ rule.name }}_outlook: how what is due lies along time, and how much becomes due until p_then.
--# create procedure {{ control }}.{{ rule.name }}_outlook
CREATE PROCEDURE {{ control }}.{{ rule.name }}_outlook(
    IN  p_now      datetime(6),
    IN  p_then     datetime(6),
    IN  p_limit    bigint,
    IN  p_parts    bigint,
    OUT o_families bigint,
    OUT o_complete boolean,
    OUT o_list     longtext,
    OUT o_soon     bigint
)
SQL SECURITY DEFINER
COMMENT 'What is due at p_now, counted up to p_limit, where each of p_parts equal parts of it begins, and how much more is due at p_then. Reads only. [body @body@]'
BEGIN
    DECLARE v_later bigint;
    DECLARE v_least datetime(6);
    DECLARE v_most  datetime(6);
    SET o_list = '', o_soon = NULL, v_least = NULL;
{%- if rule.timed %}
    CALL {{ control }}.{{ rule.name }}_cutoff(p_now, NULL, v_least);
    CALL {{ control }}.{{ rule.name }}_cutoff(p_then, NULL, v_most);
    SELECT IF(COUNT(*) < p_limit, COUNT(*), NULL)
    INTO o_soon
    FROM (
        SELECT t.{{ rule.end_time }}
        FROM {{ rule.table }} AS t
        WHERE t.{{ rule.end_time }} >= v_least
          AND t.{{ rule.end_time }} < v_most
{%- if rule.timed.root_column %}
          AND {{ rule.timed.is_root }}
{%- endif %}
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}
        LIMIT p_limit
    ) AS s;
    SELECT
        COALESCE(SUM(p.families), 0),
        COALESCE(SUM(p.families), 0) < p_limit,
        COALESCE(GROUP_CONCAT({{ self::part() }} ORDER BY p.part SEPARATOR ', '), '')
    INTO o_families, o_complete, o_list
    FROM (
        SELECT d.part, MIN(d.due) AS since, COUNT(*) AS families
        FROM (
            SELECT o.due, (ROW_NUMBER() OVER (ORDER BY o.due) - 1) * p_parts DIV COUNT(*) OVER () AS part
            FROM (
                SELECT t.{{ rule.end_time }} AS due
                FROM {{ rule.table }} AS t
                WHERE t.{{ rule.end_time }} < v_least
{%- if rule.timed.root_column %}
                  AND {{ rule.timed.is_root }}
{%- endif %}
{%- for condition in rule.timed.conditions_of_root %}
                  AND {{ condition }}
{%- endfor %}
                ORDER BY t.{{ rule.end_time }}
                LIMIT p_limit
            ) AS o
        ) AS d
        GROUP BY d.part
    ) AS p;
{%- else %}
    CALL {{ control }}.{{ rule.name }}_open();
    CALL {{ control }}.{{ rule.name }}_work();
    CALL {{ control }}.{{ rule.name }}_scope(p_now, NULL, NULL);
    CALL {{ control }}.{{ rule.name }}_next(p_limit);
    SELECT
        COALESCE(SUM(p.families), 0),
        COALESCE(SUM(p.families), 0) < p_limit,
        COALESCE(GROUP_CONCAT({{ self::part() }} ORDER BY p.part SEPARATOR ', '), '')
    INTO o_families, o_complete, o_list
    FROM (
        SELECT d.part, MIN(d.ended) AS since, COUNT(*) AS families
        FROM (
            SELECT r.ended, (ROW_NUMBER() OVER (ORDER BY r.ended) - 1) * p_parts DIV COUNT(*) OVER () AS part
            FROM {{ control }}.work_root AS r
        ) AS d
        GROUP BY d.part
    ) AS p;
    -- What is younger than the cutoff of now and older than that of then, of whatever scope.
    SELECT MIN(s.cutoff) INTO v_least FROM {{ control }}.work_scope AS s WHERE s.cutoff > {{ rule.least_time }};
    IF v_least IS NULL THEN
        SET o_soon = 0;
    ELSE
        UPDATE {{ control }}.work_cursor SET ended = v_least WHERE only_row = 1;
        CALL {{ control }}.{{ rule.name }}_work();
        CALL {{ control }}.{{ rule.name }}_scope(p_now, NULL, NULL);
        CALL {{ control }}.{{ rule.name }}_next(p_limit);
        SELECT COUNT(*) INTO o_soon FROM {{ control }}.work_root AS r;
        CALL {{ control }}.{{ rule.name }}_work();
        CALL {{ control }}.{{ rule.name }}_scope(p_then, NULL, NULL);
        CALL {{ control }}.{{ rule.name }}_next(p_limit);
        SELECT COUNT(*) INTO v_later FROM {{ control }}.work_root AS r;
        SET o_soon = IF(GREATEST(o_soon, v_later) < p_limit, v_later - o_soon, NULL);
    END IF;
    CALL {{ control }}.{{ rule.name }}_close();
{%- endif %}
END;
{%- endmacro verbs %}
