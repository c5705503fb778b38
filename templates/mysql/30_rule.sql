{% import "macros.sql" as w -%}
{{ session }}

-- {{ rule.name }}_open: the work tables that live as long as a run, or a preview. Keys and scopes have the types of {{ rule.table_name }}.
--# create procedure {{ control }}.{{ rule.name }}_open
CREATE PROCEDURE {{ control }}.{{ rule.name }}_open()
SQL SECURITY DEFINER
COMMENT 'Makes the work tables that outlive a batch: the cursor, what a dry run or preview counted as gone, what it skipped. [body @body@]'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_type;
    CREATE TEMPORARY TABLE {{ control }}.work_type{% if rule.id_type %} (
        id {{ rule.id_type }} NOT NULL
    ){% endif %} ENGINE = InnoDB AS
    SELECT i.{{ rule.key }} AS id, i.{{ rule.key }} AS root_id, {% if rule.per %}i.{{ rule.per }}{% else %}CAST(NULL AS signed){% endif %} AS scope FROM {{ rule.table }} AS i LIMIT 0;
    CALL {{ control }}.end_time_open({{ rule.literal }});
END;

-- {{ rule.name }}_work: the work tables of one batch, empty.
--# create procedure {{ control }}.{{ rule.name }}_work
CREATE PROCEDURE {{ control }}.{{ rule.name }}_work()
SQL SECURITY DEFINER
COMMENT 'Makes the work tables of one batch anew. Key columns have the type and collation of {{ rule.table_name }}.{{ rule.key_name }}. [body @body@]'
BEGIN
    CALL {{ control }}.end_time_work();
{%- if rule.per %}
    -- The scopes whose files are not recorded.
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_silent;
    CREATE TEMPORARY TABLE {{ control }}.work_silent (
        KEY (scope)
    ) ENGINE = InnoDB AS
    SELECT k.scope FROM {{ control }}.work_type AS k LIMIT 0;
{%- endif %}
{%- if rule.per and rule.opt_in %}
    -- The next roots of each scope, of which the first are those of the batch.
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_due;
    CREATE TEMPORARY TABLE {{ control }}.work_due (
        ended datetime(6) NOT NULL DEFAULT {{ rule.least_time }},
        PRIMARY KEY (ended, id)
    ) ENGINE = InnoDB AS
    SELECT k.root_id AS id FROM {{ control }}.work_type AS k LIMIT 0;
{%- endif %}
{%- if rule.uppers | length > 0 %}
    -- What was deleted in which round.
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_lowest;
    CREATE TEMPORARY TABLE {{ control }}.work_lowest (
        round integer NOT NULL DEFAULT 0,
        PRIMARY KEY (id),
        KEY (round)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM {{ control }}.work_type AS k LIMIT 0;
{%- endif %}
{%- for collect in rule.collects %}
{%- if not collect.joined %}
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.{{ collect.work }};
{%- endif %}
{%- endfor %}
    {{- w::make_collects(control=control, rule=rule) }}
END;

-- {{ rule.name }}_close: the work tables go.
--# create procedure {{ control }}.{{ rule.name }}_close
CREATE PROCEDURE {{ control }}.{{ rule.name }}_close()
SQL SECURITY DEFINER
COMMENT 'Drops the work tables. [body @body@]'
BEGIN
    CALL {{ control }}.end_time_close();
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_silent, {{ control }}.work_due, {{ control }}.work_lowest
{{- w::names_of_collects(control=control, rule=rule) }};
END;

-- {{ rule.name }}_scope: whom the rule may clean, and up to which end time (exclusive).
--# create procedure {{ control }}.{{ rule.name }}_scope
CREATE PROCEDURE {{ control }}.{{ rule.name }}_scope(
    IN p_as_of     datetime(6),
    IN p_retention bigint,
    IN p_scope     varchar(255)
)
SQL SECURITY DEFINER
COMMENT 'Fills work_scope with the cutoffs by scope, counted from p_as_of, in the zone of the application ({{ zone }}). p_retention overrides the policies{% if rule.source %} and the source{% endif %}, never under {{ rule.minimum }} seconds; the safety lag of {{ rule.safety_lag }} seconds is added. [body @body@]'
BEGIN
{%- if rule.calendar %}
    DECLARE v_seconds bigint DEFAULT -1;
    DECLARE v_instant datetime(6);
{%- endif %}
{%- if rule.per %}
    INSERT INTO {{ control }}.work_scope (scope, {{ rule.measure }})
    SELECT
        p.scope,
        {% if not rule.opt_in %}IF(p.enabled, {% endif %}{{ rule.cutoff_of_policy }}{% if not rule.opt_in %}, {{ rule.forever }}){% endif %}
    FROM {{ control }}.policy AS p
    WHERE p.rule = {{ rule.literal }}
      {%- if rule.opt_in %}
      AND p.enabled
      {%- endif %}
      AND (p_scope IS NULL OR p.scope = p_scope)
    ORDER BY p.scope;
{%- if rule.source %}
    -- {{ rule.source.why }}
    INSERT INTO {{ control }}.work_scope (scope, {{ rule.measure }})
    SELECT
        {{ rule.source.scope }},
        {% if rule.source.ends %}IF({{ rule.source.ends }}, {% endif %}{{ rule.cutoff_of_source }}{% if rule.source.ends %}, {{ rule.forever }}){% endif %}
    FROM {{ rule.source.rows }}
    WHERE (p_scope IS NULL OR {{ rule.source.scope_text }} = p_scope)
      {%- if rule.source.says %}
      AND {{ rule.source.says }}
      {%- endif %}
      AND NOT EXISTS (
          SELECT 1 FROM {{ control }}.policy AS p
          WHERE p.rule = {{ rule.literal }}
            AND p.scope = {{ rule.source.scope_text }}
      )
    ORDER BY {{ rule.source.scope }};
{%- endif %}
{%- if not rule.opt_in %}
    INSERT INTO {{ control }}.work_scope (scope, {{ rule.measure }})
    SELECT
        p_scope,
        {{ rule.cutoff_of_default }}
    FROM {{ control }}.control AS c
    WHERE p_scope IS NULL
       OR NOT EXISTS (
           SELECT 1 FROM {{ control }}.policy AS p
           WHERE p.rule = {{ rule.literal }}
             AND p.scope = p_scope
       ){% if rule.source %}
      AND NOT EXISTS (
           SELECT 1 FROM {{ rule.source.rows }}
           WHERE {{ rule.source.scope_text }} = p_scope{% if rule.source.says %}
             AND {{ rule.source.says }}{% endif %}
       ){% endif %};
{%- endif %}
    INSERT INTO {{ control }}.work_silent (scope)
    SELECT p.scope
    FROM {{ control }}.policy AS p
    WHERE p.rule = {{ rule.literal }}
      AND NOT p.artifacts;
{%- else %}
    INSERT INTO {{ control }}.work_scope (scope, {{ rule.measure }})
    VALUES (
        NULL,
        {{ rule.cutoff_of_default }}
    );
{%- endif %}
{%- if rule.calendar %}
    -- The cutoff of each length that there is. No length: for ever.
    lengths: LOOP
        SELECT MIN(s.seconds) INTO v_seconds FROM {{ control }}.work_scope AS s WHERE s.seconds > v_seconds;
        IF v_seconds IS NULL THEN
            LEAVE lengths;
        END IF;
        CALL {{ control }}.days_before(p_as_of, v_seconds, {{ rule.zone_literal }}, v_instant);
        UPDATE {{ control }}.work_scope SET cutoff = CONVERT_TZ(v_instant, '+00:00', {{ rule.zone_literal }}) WHERE seconds = v_seconds;
    END LOOP lengths;
    UPDATE {{ control }}.work_scope SET cutoff = {{ rule.least_time }} WHERE seconds IS NULL;
{%- endif %}
END;

-- {{ rule.name }}_next: the next roots to judge, oldest first, after a cursor. Reads, decides nothing.
--# create procedure {{ control }}.{{ rule.name }}_next
CREATE PROCEDURE {{ control }}.{{ rule.name }}_next(IN p_limit bigint)
SQL SECURITY DEFINER
COMMENT 'Fills work_root with the next p_limit roots after work_cursor, oldest first, that work_scope lets be cleaned. Reads only; {{ rule.name }}_judge decides. [body @body@]'
BEGIN
{%- if rule.per and rule.opt_in %}
    DECLARE v_position integer DEFAULT 0;
    DECLARE v_count    bigint DEFAULT 0;
    DECLARE v_before   bigint DEFAULT p_limit - 1;
    DECLARE v_bound    datetime(6) DEFAULT {{ rule.greatest_time }};
{%- if rule.otherwise %}
    -- The index on the expression serves only what is compared with a constant.
    DECLARE v_after    datetime(6) DEFAULT (SELECT c.ended FROM {{ control }}.work_cursor AS c);
{%- endif %}
    -- Scope by scope: its value and the cursor are constants of the statement then, so that the index is read from the
    -- cursor on, and what earlier batches deleted before it is not passed again.
    scopes: LOOP
        SELECT MIN(s.position) INTO v_position FROM {{ control }}.work_scope AS s WHERE s.position > v_position;
        IF v_position IS NULL THEN
            LEAVE scopes;
        END IF;
        INSERT INTO {{ control }}.work_due (id, ended)
        SELECT i.{{ rule.key }}, {{ rule.ended }}
        FROM {{ control }}.work_scope AS s
        STRAIGHT_JOIN {{ control }}.work_cursor AS c
        STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.per }} = s.scope
        LEFT JOIN {{ control }}.work_gone AS g ON g.id = i.{{ rule.key }}
        WHERE s.position = v_position
          AND c.only_row = 1
          AND {{ rule.ended }} < s.cutoff
          AND {{ rule.ended }} <= v_bound
          AND {{ rule.ended }} >= {% if rule.otherwise %}v_after{% else %}c.ended{% endif %}
          AND ({{ rule.ended }} > c.ended OR i.{{ rule.key }} > c.id)
{%- for predicate in rule.eligible %}
          AND {{ predicate }}
{%- endfor %}
          AND g.id IS NULL
{%- if rule.newest | length > 0 %}
          {{ w::not_newest(rule=rule) | indent(prefix="          ") }}
{%- endif %}
        ORDER BY {{ rule.ended }}, i.{{ rule.key }}
        LIMIT p_limit;
        SET v_count = v_count + ROW_COUNT();
        -- Other scopes need not be read beyond what is already there.
        IF v_count >= p_limit THEN
            SELECT d.ended INTO v_bound FROM {{ control }}.work_due AS d ORDER BY d.ended, d.id LIMIT v_before, 1;
        END IF;
    END LOOP scopes;
    INSERT INTO {{ control }}.work_root (id, ended)
    SELECT d.id, d.ended FROM {{ control }}.work_due AS d ORDER BY d.ended, d.id LIMIT p_limit;
{%- else %}
    DECLARE v_newest  datetime(6);
    DECLARE v_default datetime(6);
{%- if rule.otherwise %}
    -- The index on the expression serves only what is compared with a constant.
    DECLARE v_after   datetime(6) DEFAULT (SELECT c.ended FROM {{ control }}.work_cursor AS c);
{%- endif %}
    SELECT MAX(s.cutoff), MAX(IF(s.scope IS NULL, s.cutoff, NULL)) INTO v_newest, v_default FROM {{ control }}.work_scope AS s;
    INSERT INTO {{ control }}.work_root (id, ended)
    SELECT i.{{ rule.key }}, {{ rule.ended }}
    FROM {{ control }}.work_cursor AS c
    STRAIGHT_JOIN {{ rule.table }} AS i
    {%- if rule.per %}
    LEFT JOIN {{ control }}.work_scope AS s ON s.scope = i.{{ rule.per }}
    {%- endif %}
    LEFT JOIN {{ control }}.work_gone AS g ON g.id = i.{{ rule.key }}
    WHERE c.only_row = 1
      AND {{ rule.ended }} < v_newest
      {%- if rule.per %}
      AND {{ rule.ended }} < COALESCE(s.cutoff, v_default)
      {%- endif %}
      AND {{ rule.ended }} >= {% if rule.otherwise %}v_after{% else %}c.ended{% endif %}
      AND ({{ rule.ended }} > c.ended OR i.{{ rule.key }} > c.id)
{%- for predicate in rule.eligible %}
      AND {{ predicate }}
{%- endfor %}
      AND g.id IS NULL
{%- if rule.newest | length > 0 %}
      {{ w::not_newest(rule=rule) | indent(prefix="      ") }}
{%- endif %}
    ORDER BY {{ rule.ended }}, i.{{ rule.key }}
    LIMIT p_limit;
{%- endif %}
END;

-- {{ rule.name }}_judge: expands the roots to their families and decides, row by row under lock, which may go.
--
-- A member is a row of {{ rule.table_name }}. Links to ids without a row are not followed.
{%- if rule.closed %}
-- Closed: the rows on both ends of a link go together or not at all; so members are collected in both directions.
{%- else %}
-- Literal: a root's own descendants decide, whoever else links to them.
{%- endif %}
-- Usually nothing speaks against anybody, and a look over the members is all. Otherwise end_time_doubt() goes on.
--# create procedure {{ control }}.{{ rule.name }}_judge
CREATE PROCEDURE {{ control }}.{{ rule.name }}_judge(IN p_purge boolean, IN p_lock boolean, OUT o_families bigint)
SQL SECURITY DEFINER
COMMENT 'Expands work_root to the families and decides which may go: every member final, ended before the cutoff, unheld{% if rule.newest | length > 0 %}, not among the newest roots of its group{% endif %}{% if rule.keeps | length > 0 %}, kept by no row of another table{% endif %}{% if rule.closed %}, and linked to nothing that stays{% endif %}. p_lock: FOR UPDATE SKIP LOCKED on every member first. p_purge: the retention does not matter. What is left in work_member may go; work_skip has the roots that stay. [body @body@]'
BEGIN
    DECLARE v_depth   integer DEFAULT 0;
    DECLARE v_count   bigint;
    DECLARE v_found   bigint;
    DECLARE v_doubts  bigint DEFAULT 0;
{%- if rule.linked %}
    DECLARE v_torn    boolean DEFAULT EXISTS (SELECT 1 FROM {{ control }}.work_torn AS k);
{%- endif %}
    DECLARE v_default datetime(6);
{%- if rule.per %}
    DECLARE v_first   datetime(6);
    DECLARE v_last    datetime(6);
{%- endif %}
{%- if not rule.opt_in or not rule.per %}
    SELECT s.cutoff INTO v_default FROM {{ control }}.work_scope AS s WHERE s.scope IS NULL;
{%- endif %}

    -- What is gone already is met, but not looked at.
    INSERT INTO {{ control }}.work_seen (id, depth)
    SELECT g.id, -1 FROM {{ control }}.work_gone AS g;
    INSERT INTO {{ control }}.work_seen (id, depth)
    SELECT r.id, 0 FROM {{ control }}.work_root AS r;
    SET v_count = ROW_COUNT();
    expansion: WHILE v_count > 0 DO
        -- The rows of this level, in key order so that two batches cannot deadlock. What another session holds is left to it.
        -- A root that may be cleaned has a cutoff of its own, any other row that of the row which led to it.
        IF p_lock THEN
            INSERT INTO {{ control }}.work_member (id, depth, upwards, final, root, ended, cutoff{% if rule.per %}, scope{% endif %})
            SELECT
                w.id, v_depth, w.upwards, {{ rule.is_final }}, {{ rule.is_root }}, {{ rule.ended }},
                CASE
                    WHEN NOT {{ rule.is_root }} THEN w.cutoff
                    WHEN p_purge THEN IF(v_depth = 0{% if rule.nested %} OR NOT w.upwards{% endif %}, {{ rule.greatest_time }}, NULL)
                    ELSE {% if rule.per %}COALESCE(s.cutoff, v_default){% else %}v_default{% endif %}
                END{% if rule.per %},
                i.{{ rule.per }}{% endif %}
            FROM {{ control }}.work_seen AS w
            STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = w.id
            {%- if rule.per %}
            LEFT JOIN {{ control }}.work_scope AS s ON s.scope = i.{{ rule.per }}
            {%- endif %}
            WHERE w.depth = v_depth
            ORDER BY w.id
            FOR UPDATE SKIP LOCKED;
            SET v_found = ROW_COUNT();
            IF v_found < v_count THEN
                INSERT INTO {{ control }}.work_locked (id)
                SELECT w.id
                FROM {{ control }}.work_seen AS w
                STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = w.id
                LEFT JOIN {{ control }}.work_member AS m ON m.id = w.id
                WHERE w.depth = v_depth
                  AND m.id IS NULL;
                SET v_doubts = v_doubts + ROW_COUNT();
            END IF;
        ELSE
            INSERT INTO {{ control }}.work_member (id, depth, upwards, final, root, ended, cutoff{% if rule.per %}, scope{% endif %})
            SELECT
                w.id, v_depth, w.upwards, {{ rule.is_final }}, {{ rule.is_root }}, {{ rule.ended }},
                CASE
                    WHEN NOT {{ rule.is_root }} THEN w.cutoff
                    WHEN p_purge THEN IF(v_depth = 0{% if rule.nested %} OR NOT w.upwards{% endif %}, {{ rule.greatest_time }}, NULL)
                    ELSE {% if rule.per %}COALESCE(s.cutoff, v_default){% else %}v_default{% endif %}
                END{% if rule.per %},
                i.{{ rule.per }}{% endif %}
            FROM {{ control }}.work_seen AS w
            STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = w.id
            {%- if rule.per %}
            LEFT JOIN {{ control }}.work_scope AS s ON s.scope = i.{{ rule.per }}
            {%- endif %}
            WHERE w.depth = v_depth;
            SET v_found = ROW_COUNT();
        END IF;
        IF v_found = 0 THEN
            LEAVE expansion;
        END IF;
{%- if not rule.linked %}
        LEAVE expansion;
{%- else %}

        -- Read after the rows were locked: a link that was committed before is seen.
        SET v_found = 0;
{%- for link in rule.links %}
        INSERT INTO {{ control }}.work_link (upper_id, lower_id, depth, upwards, cutoff)
        SELECT m.id, l.{{ link.child }}, v_depth, false, m.cutoff
        FROM {{ control }}.work_member AS m
        STRAIGHT_JOIN {{ link.table }} AS l ON l.{{ link.parent }} = m.id
        WHERE m.depth = v_depth
          AND l.{{ link.child }} IS NOT NULL;
        SET v_found = v_found + ROW_COUNT();
{%- if rule.closed %}
        INSERT INTO {{ control }}.work_link (upper_id, lower_id, depth, upwards, cutoff)
        SELECT l.{{ link.parent }}, m.id, v_depth, true, NULL
        FROM {{ control }}.work_member AS m
        STRAIGHT_JOIN {{ link.table }} AS l ON l.{{ link.child }} = m.id
        WHERE m.depth = v_depth
          AND l.{{ link.parent }} IS NOT NULL;
        SET v_found = v_found + ROW_COUNT();
{%- endif %}
{%- endfor %}
{%- for meet in rule.meets %}
        -- {{ meet.why }}
        INSERT INTO {{ control }}.work_link (upper_id, lower_id, depth, upwards, shares)
        SELECT DISTINCT {{ meet.other }}, m.id, v_depth, true, true
        FROM {{ control }}.work_member AS m
{%- for hop in meet.hops %}
        STRAIGHT_JOIN {{ hop.table }} AS {{ hop.alias }} ON {{ hop.on }}
{%- endfor %}
        WHERE m.depth = v_depth
          AND {{ meet.other }} <> m.id;
        SET v_found = v_found + ROW_COUNT();
{%- endfor %}
        -- Links that a killed run has deleted hold on.
        IF v_torn THEN
            INSERT INTO {{ control }}.work_link (upper_id, lower_id, depth, upwards, cutoff)
            SELECT m.id, k.lower_id, v_depth, false, m.cutoff
            FROM {{ control }}.work_member AS m
            STRAIGHT_JOIN {{ control }}.work_torn AS k ON k.upper_id = m.id
            WHERE m.depth = v_depth;
            SET v_found = v_found + ROW_COUNT();
{%- if rule.closed %}
            INSERT INTO {{ control }}.work_link (upper_id, lower_id, depth, upwards, cutoff)
            SELECT k.upper_id, m.id, v_depth, true, NULL
            FROM {{ control }}.work_member AS m
            STRAIGHT_JOIN {{ control }}.work_torn AS k ON k.lower_id = m.id
            WHERE m.depth = v_depth;
            SET v_found = v_found + ROW_COUNT();
{%- endif %}
        END IF;
        IF v_found = 0 THEN
            LEAVE expansion;
        END IF;
        INSERT IGNORE INTO {{ control }}.work_seen (id, depth, upwards, cutoff)
        SELECT l.lower_id, v_depth + 1, false, l.cutoff
        FROM {{ control }}.work_link AS l
        WHERE l.depth = v_depth
          AND NOT l.upwards;
        SET v_count = ROW_COUNT();
{%- if rule.closed %}
        INSERT IGNORE INTO {{ control }}.work_seen (id, depth, upwards, cutoff)
        SELECT l.upper_id, v_depth + 1, true, NULL
        FROM {{ control }}.work_link AS l
        WHERE l.depth = v_depth
          AND l.upwards;
        SET v_count = v_count + ROW_COUNT();
{%- endif %}
        SET v_depth = v_depth + 1;
{%- endif %}
    END WHILE;

    -- What speaks against anybody?
    INSERT IGNORE INTO {{ control }}.work_held (id)
    SELECT h.`key`
    FROM {{ control }}.hold AS h
    WHERE h.rule = {{ rule.literal }}
      AND {{ w::holds_now() }};
    IF ROW_COUNT() > 0 THEN
        SELECT v_doubts + COUNT(*) INTO v_doubts
        FROM {{ control }}.work_held AS h
        STRAIGHT_JOIN {{ control }}.work_seen AS w ON w.id = h.id;
    END IF;
{%- for keep in rule.keeps %}
    -- {{ keep.why }}
    INSERT IGNORE INTO {{ control }}.work_against (id, fault)
    SELECT m.id, 6
    FROM {{ control }}.work_member AS m
{%- for hop in keep.hops %}
    STRAIGHT_JOIN {{ hop.table }} AS {{ hop.alias }} ON {{ hop.on }}
{%- endfor %};
    SET v_doubts = v_doubts + ROW_COUNT();
{%- endfor %}
{%- if rule.newest | length > 0 %}
    -- While the newest are locked, nobody can delete them and leave the group without.
{%- for locking in [true, false] %}
    {% if locking %}IF p_lock AND NOT p_purge THEN{% else %}ELSEIF NOT p_purge THEN{% endif %}
{%- for newest in rule.newest %}
        INSERT IGNORE INTO {{ control }}.work_against (id, fault)
        SELECT i.{{ rule.key }}, 4
        FROM {{ control }}.work_member AS m
        STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = m.id
        WHERE {{ newest.placed | join(sep=" AND ") }}
{%- for predicate in newest.counted_of_i %}
          AND {{ predicate }}
{%- endfor %}
          AND ({% if locking and maria %}{{ w::older_than_newest(rule=rule, newest=newest, lock="LOCK IN SHARE MODE SKIP LOCKED") | indent(prefix="          ") }}{% elif locking %}{{ w::older_than_newest(rule=rule, newest=newest, lock="FOR SHARE SKIP LOCKED") | indent(prefix="          ") }}{% else %}{{ w::older_than_newest(rule=rule, newest=newest, lock="") | indent(prefix="          ") }}{% endif %}) IS NOT TRUE;
        SET v_doubts = v_doubts + ROW_COUNT();
{%- endfor %}
{%- endfor %}
    END IF;
{%- endif %}
    SELECT
        v_doubts + COUNT(CASE WHEN NOT m.final OR m.cutoff IS NULL{% if rule.closed %} OR (m.upwards AND NOT m.root){% endif %} OR (NOT p_purge AND (m.ended IS NULL OR m.ended >= m.cutoff)) THEN 1 END),
        COUNT(CASE WHEN m.root THEN 1 END){% if rule.per %},
        MIN(m.cutoff),
        MAX(m.cutoff){% endif %}
    INTO v_doubts, o_families{% if rule.per %}, v_first, v_last{% endif %}
    FROM {{ control }}.work_member AS m;
{%- if rule.per and rule.linked %}
    -- A member that two cutoffs apply to was compared with one of them only.
    IF v_doubts = 0 AND v_first < v_last THEN
        SELECT COUNT(*) INTO v_doubts
        FROM {{ control }}.work_link AS l
        STRAIGHT_JOIN {{ control }}.work_member AS m ON m.id = l.lower_id
        WHERE NOT l.upwards
          AND m.cutoff <> l.cutoff;
    END IF;
{%- endif %}
    IF v_doubts > 0 THEN
        CALL {{ control }}.end_time_doubt({{ rule.closed }}, p_purge);
        SELECT COUNT(*) INTO o_families FROM {{ control }}.work_member AS m WHERE m.root;
    END IF;
END;

{{ w::rows_below(control=control, rule=rule, members="work_gone") }}

-- {{ rule.name }}_batch: deletes what {{ rule.name }}_judge left in work_member, in the caller's transaction.
--# create procedure {{ control }}.{{ rule.name }}_batch
CREATE PROCEDURE {{ control }}.{{ rule.name }}_batch(
    IN  p_run  bigint,
    OUT o_rows longtext
)
SQL SECURITY DEFINER
COMMENT 'Deletes, in the caller''s transaction (READ COMMITTED), the families whose rows {{ rule.name }}_judge has locked and left in work_member: {{ rule.table_list }}. {{ rule.name }}_step calls it, and rolls back for a dry run. [body @body@]'
BEGIN
    DECLARE v_members bigint;
    DECLARE v_rows    bigint;
    DECLARE v_any     boolean;
{%- if rule.uppers | length > 0 %}
    DECLARE v_more    bigint;
    DECLARE v_round   integer DEFAULT 0;
{%- endif %}
{%- if rule.archives %}
    DECLARE v_copied  bigint;
{%- endif %}
    DECLARE v_message varchar(128);
    SET o_rows = '[{{ rule.zeros }}]';
    SELECT COUNT(m.id) INTO v_members FROM {{ control }}.work_member AS m;
    IF v_members > 0 THEN
        -- Taken out before COMMIT: should the session of a killed run commit what it began, the next run knows what to finish.
        INSERT INTO {{ control }}.unfinished (run_id, rule, links)
        SELECT p_run, {{ rule.literal }}, COALESCE(JSON_ARRAYAGG(JSON_ARRAY(l.upper_id, l.lower_id)), '[]')
        FROM {{ control }}.work_link AS l
        STRAIGHT_JOIN {{ control }}.work_member AS m ON m.id = l.lower_id
        WHERE NOT l.upwards;
{%- for collect in rule.collects %}
{%- if not collect.joined %}
        {{- w::collect(control=control, collect=collect) | indent(prefix="        ") }}
{%- endif %}
{%- endfor %}
{%- for artifact in rule.artifacts %}

        -- The files that {{ artifact.table_name }} names go to the outbox, to be removed later.
        INSERT INTO {{ control }}.artifact (run_id, rule, host, path)
        SELECT p_run, {{ rule.literal }}, {{ artifact.host }}, t.{{ artifact.path }}
        FROM {{ control }}.work_member AS w
        {%- if rule.per %}
        LEFT JOIN {{ control }}.work_silent AS s ON s.scope = w.scope
        {%- endif %}
        STRAIGHT_JOIN {{ artifact.table }} AS t ON t.{{ artifact.column }} = w.id
        WHERE t.{{ artifact.path }} <> ''{% if rule.per %}
          AND s.scope IS NULL{% endif %};
{%- endfor %}
        SET o_rows = '';
        -- A table that is nearly empty is scanned (MariaDB), and a DELETE that scans waits for the rows of strangers: look
        -- first, by a SELECT of its own, as IF (SELECT ...) locks what it reads.
{%- for step in rule.steps %}
{%- for release in step.releases %}

        -- {{ release.why }}
        SELECT EXISTS (
            SELECT 1
            {{ w::named(control=control, edge=release.edge, table=release.table, break="
            ") }}
        ) INTO v_any;
        IF v_any THEN
            UPDATE {{ w::joined(control=control, edge=release.edge, table=release.table, break="
            ") }}
            SET {{ release.nulls_of_t }};
            SELECT EXISTS (
                SELECT 1
                {{ w::named(control=control, edge=release.edge, table=release.table, break="
                ") }}
            ) INTO v_any;
            IF v_any THEN
                SET v_message = LEFT(CONCAT('a trigger keeps what rows of ', {{ release.table_literal }}, ' name; they could not be updated'), 128);
                SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_message;
            END IF;
        END IF;
{%- endfor %}

        -- {{ step.why }}
{%- if loop.last and step.archive %}
        SET v_copied = 0;
        {{ w::copy(archive=step.archive, from=w::named(control=control, edge=step.edges[0], table=step.table, break="
"), maria=maria) | indent(prefix="        ") }}
{%- endif %}
{%- if loop.last and rule.uppers | length > 0 %}
        -- A foreign key is checked row by row: first those that no row names, then those that none names any more. They are
        -- looked up before, as above.
        SET v_rows = 0, v_more = v_members;
        WHILE v_more > 0 AND v_rows < v_members DO
            INSERT INTO {{ control }}.work_lowest (id, round)
            SELECT t.{{ rule.key }}, v_round
            {{ w::named(control=control, edge=step.edges[0], table=step.table, break="
            ") }}
{%- for column in rule.uppers %}
            LEFT JOIN {{ rule.table }} AS u{{ loop.index }} ON u{{ loop.index }}.{{ column }} = t.{{ rule.key }} AND u{{ loop.index }}.{{ rule.key }} <> t.{{ rule.key }}
{%- endfor %}
{%- for column in rule.uppers %}
            {% if loop.first %}WHERE{% else %}  AND{% endif %} u{{ loop.index }}.{{ rule.key }} IS NULL
{%- endfor %};
            DELETE t
            FROM {{ control }}.work_lowest AS w
            STRAIGHT_JOIN {{ step.table }} AS t ON t.{{ rule.key }} = w.id
            WHERE w.round = v_round;
            SET v_more = ROW_COUNT();
            SET v_rows = v_rows + v_more, v_round = v_round + 1;
        END WHILE;
        IF v_rows < v_members THEN
            -- Rows that name each other in a circle, or that a stranger has named meanwhile. What a cascade between them took
            -- with another row is not in ROW_COUNT().
            DELETE t
            {{ w::named(control=control, edge=step.edges[0], table=step.table, break="
            ") }};
            SELECT v_members - COUNT(t.{{ rule.key }})
            INTO v_rows
            {{ w::named(control=control, edge=step.edges[0], table=step.table, break="
            ") }};
        END IF;
{%- elif loop.last %}
        DELETE t
        {{ w::named(control=control, edge=step.edges[0], table=step.table, break="
        ") }};
        SET v_rows = ROW_COUNT();
{%- else %}
        {{ w::delete_step(control=control, step=step, maria=maria) | indent(prefix="        ") }}
{%- endif %}
        SET o_rows = CONCAT(o_rows, {% if not loop.first %}', ', {% endif %}v_rows);
{%- endfor %}
        SET o_rows = CONCAT('[', o_rows, ']');
        IF v_rows <> v_members THEN
            SET v_message = LEFT(CONCAT(v_members - v_rows, ' of ', v_members, ' rows could not be deleted; a trigger or a cascade takes or keeps rows of ', {{ rule.table_literal }}), 128);
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_message;
        END IF;
{%- if rule.archive %}
        {{ w::all_copied(control=control, archive=rule.archive, rows="v_rows") }}
{%- endif %}
{%- if rule.archives %}
        {{ w::fits(control=control, rule=rule) }}
{%- endif %}
    END IF;
END;

-- {{ rule.name }}_undated: roots that are final but carry no end time; they can never become due.
--# create procedure {{ control }}.{{ rule.name }}_undated
CREATE PROCEDURE {{ control }}.{{ rule.name }}_undated(IN p_as_of datetime(6), IN p_scope varchar(255))
SQL SECURITY DEFINER
COMMENT 'Writes to work_skip the roots that are final but have no {{ rule.end_time_name }}, so that no retention can ever be reached. Reads only. [body @body@]'
BEGIN
    CALL {{ control }}.{{ rule.name }}_work();
    CALL {{ control }}.{{ rule.name }}_scope(p_as_of, NULL, p_scope);
    INSERT INTO {{ control }}.work_skip (skip_key, reason)
    SELECT i.{{ rule.key }}, 'UNDATED_MEMBER'
{%- if rule.per and rule.opt_in %}
    FROM {{ control }}.work_scope AS s
    STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.per }} = s.scope
{%- else %}
    FROM {{ rule.table }} AS i
{%- endif %}
    WHERE {{ rule.ended }} IS NULL
{%- for predicate in rule.eligible %}
      AND {{ predicate }}
{%- endfor %}
{%- if rule.per and not rule.opt_in %}
      AND (p_scope IS NULL OR i.{{ rule.per }} IN (SELECT s.scope FROM {{ control }}.work_scope AS s WHERE s.scope IS NOT NULL))
{%- endif %}
    ORDER BY i.{{ rule.key }};
END;

-- {{ rule.name }}_named: the root that a purge names.
--# create procedure {{ control }}.{{ rule.name }}_named
CREATE PROCEDURE {{ control }}.{{ rule.name }}_named(IN p_key varchar(255), OUT o_found boolean)
SQL SECURITY DEFINER
COMMENT 'Writes the root with this key to work_root, and whether there is one. [body @body@]'
BEGIN
    -- The work tables have the type and the collation of the key.
    REPLACE INTO {{ control }}.work_cursor (only_row, id)
    VALUES (1, p_key);
    INSERT INTO {{ control }}.work_root (id, ended)
    SELECT i.{{ rule.key }}, {{ rule.ended }}
    FROM {{ control }}.work_cursor AS c
    STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = c.id
    WHERE c.only_row = 1
{%- for predicate in rule.candidates %}
      AND {{ predicate }}
{%- endfor %};
    SET o_found = ROW_COUNT() > 0;
END;

-- {{ rule.name }}_mend: what killed runs left is finished where nobody is left of the members that were linked.
--# create procedure {{ control }}.{{ rule.name }}_mend
CREATE PROCEDURE {{ control }}.{{ rule.name }}_mend()
SQL SECURITY DEFINER
COMMENT 'Takes out of table unfinished what killed runs left half done, once it is gone. [body @body@]'
BEGIN
    DELETE u
    FROM {{ control }}.work_mend AS d
    STRAIGHT_JOIN {{ control }}.unfinished AS u ON u.run_id = d.run_id AND u.rule = {{ rule.literal }}
    LEFT JOIN (
        SELECT DISTINCT k.run_id
        FROM {{ control }}.work_torn AS k
        STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = k.lower_id{% if rule.uppers | length > 0 %} OR i.{{ rule.key }} = k.upper_id{% endif %}
    ) AS s ON s.run_id = d.run_id
    WHERE s.run_id IS NULL;
END;
{%- if rule.per and rule.opt_in %}

-- {{ rule.name }}_unlisted: final roots that would be old enough, of scopes that nobody lists.
--# create procedure {{ control }}.{{ rule.name }}_unlisted
CREATE PROCEDURE {{ control }}.{{ rule.name }}_unlisted(IN p_as_of datetime(6), IN p_retention bigint, OUT o_count bigint)
SQL SECURITY DEFINER
COMMENT 'How many roots are old enough, by the default retention, and of a scope without a policy. Reads only. [body @body@]'
BEGIN
    DECLARE v_default datetime(6);
{%- if rule.calendar %}
    CALL {{ control }}.days_before(p_as_of, {{ rule.cutoff_of_preview }}, {{ rule.zone_literal }}, v_default);
    SET v_default = CONVERT_TZ(v_default, '+00:00', {{ rule.zone_literal }});
{%- else %}
    SET v_default = {{ rule.cutoff_of_preview }};
{%- endif %}
    CALL {{ control }}.{{ rule.name }}_work();
    CALL {{ control }}.{{ rule.name }}_scope(p_as_of, NULL, NULL);
    SELECT COUNT(*)
    INTO o_count
    FROM {{ rule.table }} AS i
    LEFT JOIN {{ control }}.work_scope AS s ON s.scope = i.{{ rule.per }}
    WHERE {{ rule.ended }} < v_default
{%- for predicate in rule.eligible %}
      AND {{ predicate }}
{%- endfor %}
{%- if rule.newest | length > 0 %}
      {{ w::not_newest(rule=rule) | indent(prefix="          ") }}
{%- endif %}
      AND s.position IS NULL;
END;
{%- endif %}

{{ w::verbs(control=control, rule=rule, by_calendar=by_calendar) }}
