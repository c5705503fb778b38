{{ session }}

-- {{ rule.name }}_types: the types for the work tables of the kernel. Keys and scopes are those of {{ rule.table_name }}.
--# create procedure {{ control }}.{{ rule.name }}_types
CREATE PROCEDURE {{ control }}.{{ rule.name }}_types()
SQL SECURITY DEFINER
COMMENT 'Makes work_type, with the types and collations of the keys and scopes of {{ rule.table_name }}.'
BEGIN
    CREATE TEMPORARY TABLE work_type (pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY{% if rule.id_type %}, id {{ rule.id_type }} NOT NULL{% endif %}) ENGINE = InnoDB AS
    SELECT {{ rule.types.select }} LIMIT 0;
END;
{%- if rule.between %}

-- {{ rule.name }}_keys: the work tables for the keys of tables between the members and others.
--# create procedure {{ control }}.{{ rule.name }}_keys
CREATE PROCEDURE {{ control }}.{{ rule.name }}_keys(⟦IN p_make boolean, OUT o_filled longtext⟧)
SQL SECURITY DEFINER
COMMENT 'Makes these work tables where they are missing, and answers which have rows; or drops them.'
BEGIN
    IF p_make THEN
{%- for collect in rule.collects | those(attribute="joined", value=false) %}
        CREATE TEMPORARY TABLE IF NOT EXISTS {{ collect.work }} (PRIMARY KEY (id)) ENGINE = InnoDB AS
{%- filter fit %}
        SELECT {{ collect.made.select }} LIMIT 0;
{%- endfilter %}
{%- endfor %}
        {{- <w.filled rule /> }}
    ELSE
        {{- <w.drop_keys rule /> }}
    END IF;
END;
{%- endif %}
{%- if rule.source %}

-- {{ rule.name }}_source: how long scopes are kept, unless a policy says it.
--# create procedure {{ control }}.{{ rule.name }}_source
CREATE PROCEDURE {{ control }}.{{ rule.name }}_source(IN p_retention bigint)
SQL SECURITY DEFINER
COMMENT 'Fills work_told with scopes and their seconds, NULL: for ever. p_retention overrides these.'
BEGIN
    -- {{ rule.source.why }}
    INSERT INTO work_told (scope, seconds)
    SELECT {{ rule.source.scope_text }}, {% if rule.source.ends %}IF({{ rule.source.ends }}, {% endif %}COALESCE(p_retention, {{ rule.source.seconds }}){% if rule.source.ends %}, NULL){% endif %}
    FROM {{ rule.source.rows }}
{%- if rule.source.says %}
    WHERE {{ rule.source.says }}
{%- endif %};
END;
{%- endif %}

-- {{ rule.name }}_next: the next roots to judge, oldest first, after a cursor. Reads, decides nothing.
--# create procedure {{ control }}.{{ rule.name }}_next
CREATE PROCEDURE {{ control }}.{{ rule.name }}_next(⟦IN p_limit bigint⟧)
SQL SECURITY DEFINER
COMMENT 'Fills work_root with the next p_limit roots after work_cursor that work_scope lets be cleaned, oldest first.'
BEGIN
{%- if rule.per and rule.opt_in %}
    DECLARE ⟦v_position integer⟧;
    DECLARE v_last     integer;
    DECLARE ⟦v_after    datetime(6)⟧;
    DECLARE ⟦v_chunk    bigint⟧;
    DECLARE v_bound    datetime(6);
    DECLARE v_new      bigint;
{%- if rule.numbered %}
    DECLARE v_found    bigint;
    DECLARE ⟦v_ended    datetime(6)⟧;
    DECLARE ⟦v_rest     bigint⟧;
    DECLARE v_several  boolean;
{%- endif %}
    CALL scopes_ahead(p_limit, v_position, v_last, v_after, v_chunk, v_bound, v_new);
    -- Scope by scope: then its value and the place where it continues are constants of the statement, so that the index is read from
    -- there on, and the entries of what earlier batches deleted are not read again.
    WHILE v_position IS NOT NULL DO
        {{ <w.roots_of_scope rule again={false} /> | indent(width=8) }}
{%- if rule.numbered %}
        SET v_found = ROW_COUNT();
        -- A cursor is an instant and a key. Several numbers can mean the same instant, and an index has the smallest first: if the
        -- last instant has several numbers, its roots are taken by their keys.
        SET v_several = false;
        IF v_found = v_chunk THEN
            SELECT d.ended INTO v_ended FROM work_due AS d ORDER BY d.pk DESC LIMIT 1;
            «SELECT COALESCE(MIN({{ rule.time }}) < MAX({{ rule.time }}), false)
            ‹INTO v_several›
            FROM work_scope AS s
            STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.per }} = s.scope
            WHERE s.position = v_position
              AND {{ <w.ended_at rule at="v_ended" /> | indent(width=14) }}»;
        END IF;
        IF v_several THEN
            DELETE d FROM work_due AS d WHERE d.pk >= LAST_INSERT_ID() AND d.ended = v_ended;
            SET v_rest = ROW_COUNT();
            {{ <w.roots_of_scope rule again={true} /> | indent(width=12) }}
        END IF;
{%- endif %}
        CALL next_scope(p_limit, {% if rule.numbered %}v_found{% else %}ROW_COUNT(){% endif %}, v_position, v_last, v_after, v_chunk, v_bound, v_new);
    END WHILE;
    CALL roots_ahead(p_limit);
{%- else %}
    DECLARE ⟦v_newest  datetime(6)⟧;
    DECLARE ⟦v_default datetime(6)⟧;
{%- if rule.numbered %}
    DECLARE ⟦v_ended   datetime(6)⟧;
    DECLARE ⟦v_rest    bigint⟧;
    DECLARE v_several boolean DEFAULT false;
{%- endif %}
{%- if rule.otherwise %}
    -- The index on the expression is used only for a comparison with a constant.
    DECLARE ⟦v_after   datetime(6)⟧ DEFAULT (SELECT c.ended FROM work_cursor AS c);
{%- endif %}
    SELECT o.latest, o.others INTO v_newest, v_default FROM work_scope_of AS o;
    {{ <w.roots_of_all rule again={false} /> | indent(width=4) }}
{%- if rule.numbered %}
    -- A cursor is an instant and a key. Several numbers can mean the same instant, and an index has the smallest first: if the
    -- last instant has several numbers, its roots are taken by their keys.
    IF ROW_COUNT() = p_limit THEN
        SELECT MAX(r.ended) INTO v_ended FROM work_root AS r;
        «SELECT COALESCE(MIN({{ rule.time }}) < MAX({{ rule.time }}), false) ‹INTO v_several›
        FROM {{ rule.table }} AS i
        WHERE {{ <w.ended_at rule at="v_ended" /> | indent(width=10) }}»;
    END IF;
    IF v_several THEN
        DELETE r FROM work_root AS r WHERE r.ended = v_ended;
        SET v_rest = ROW_COUNT();
        {{ <w.roots_of_all rule again={true} /> | indent(width=8) }}
    END IF;
{%- endif %}
{%- endif %}
END;

-- {{ rule.name }}_members: the rows of one depth of work_seen{% if rule.linked %}, and the links {% if rule.closed %}of{% else %}below{% endif %} them{% endif %}.
--# create procedure {{ control }}.{{ rule.name }}_members
CREATE PROCEDURE {{ control }}.{{ rule.name }}_members(
    ⟦IN p_depth integer, IN p_lock boolean, IN p_default datetime(6), IN p_above datetime(6), OUT o_found bigint⟧
)
SQL SECURITY DEFINER
COMMENT 'Fills work_member with the rows of p_depth{% if rule.linked %}, and work_link with their links{% endif %}. p_lock: those that SKIP LOCKED gets, in the order of their keys. p_default, p_above: the cutoff of roots without one of their scope, and of those met from below.'
BEGIN
{%- if rule.over %}
    DECLARE v_between bigint;
{%- endif %}
{%- if rule.raw %}
    -- where_sql of the spec, which windrow does not read, must be true of final rows: {{ rule.raw }}
{%- endif %}
{%- for locking in [true, false] %}
    {% if locking %}IF p_lock THEN{% else %}ELSE{% endif %}
        INSERT INTO work_member (id, depth, upwards, final, root, ended, cutoff{% if rule.per %}, scope{% endif %})
        «SELECT
            i.{{ rule.key }}, w.depth, w.upwards, {{ rule.is_final }}, {{ rule.is_root }}, {{ rule.dated }},
            {% if rule.candidates %}IF({{ rule.is_root }}, {% endif %}{% if rule.per %}COALESCE(s.cutoff, {% endif %}IF(w.upwards, p_above, p_default){% if rule.per %}){% endif %}{% if rule.candidates %}, w.cutoff){% endif %}{% if rule.per %}, i.{{ rule.per }}{% endif %}
        FROM work_seen AS w
        STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = w.id
{%- if rule.per %}
        LEFT JOIN work_scope AS s ON s.scope = i.{{ rule.per }}
{%- endif %}
        WHERE w.depth = p_depth
{%- if locking %}
        ORDER BY w.id
        FOR UPDATE SKIP LOCKED
{%- endif %}»;
        SET o_found = ROW_COUNT();
{%- endfor %}
    END IF;
{%- for link in rule.links %}
{%- if link.over %}
    -- Members are named over these rows: if there is a foreign key, a new row below one of them waits for this batch. Those of
    -- members that are not final are not locked: their family is kept.
    IF p_lock THEN
        «SELECT COUNT(*)
        ‹INTO v_between›
        FROM work_member AS m
        STRAIGHT_JOIN {{ link.over.table }} AS v ON v.{{ link.over.names }} = m.id
        WHERE m.depth = p_depth
          AND m.final
        FOR UPDATE»;
    END IF;
{%- endif %}
{%- endfor %}
{%- if rule.linked %}
    -- Read after the rows were locked: a link that was committed before is seen.
{%- for link in rule.links %}
    INSERT INTO work_link (upper_id, lower_id, depth, upwards, cutoff)
    «SELECT m.id, l.{{ link.child }}, p_depth, false, m.cutoff
    FROM work_member AS m
{%- if link.over %}
    STRAIGHT_JOIN {{ link.over.table }} AS v ON v.{{ link.over.names }} = m.id
    STRAIGHT_JOIN {{ link.table }} AS l ON l.{{ link.parent }} = v.{{ link.over.key }}
{%- else %}
    STRAIGHT_JOIN {{ link.table }} AS l ON l.{{ link.parent }} = m.id
{%- endif %}
    WHERE m.depth = p_depth
      AND l.{{ link.child }} IS NOT NULL»;
{%- if rule.closed %}
    INSERT INTO work_link (upper_id, lower_id, depth, upwards, known)
    «SELECT {{ link.upper }}, m.id, p_depth, true, w.id IS NOT NULL
    FROM work_member AS m
    STRAIGHT_JOIN {{ link.table }} AS l ON l.{{ link.child }} = m.id
{%- if link.over %}
    STRAIGHT_JOIN {{ link.over.table }} AS v ON v.{{ link.over.key }} = l.{{ link.parent }}
{%- endif %}
    LEFT JOIN work_seen AS w ON w.id = {{ link.upper }}
    WHERE m.depth = p_depth
      AND {{ link.upper }} IS NOT NULL»;
{%- endif %}
{%- endfor %}
{%- for meet in rule.meets %}
    -- {{ meet.why }}
    INSERT INTO work_link (upper_id, lower_id, depth, upwards, shares)
{%- filter fit %}
    «SELECT DISTINCT {{ meet.other }}, m.id, p_depth, true, true
    FROM work_member AS m
{%- for hop in meet.hops %}
    STRAIGHT_JOIN {{ hop.table }} AS {{ hop.alias }} ON {{ hop.on }}
{%- endfor %}
    WHERE m.depth = p_depth AND {{ meet.other }} <> m.id»;
{%- endfilter %}
{%- endfor %}
{%- endif %}
END;
{%- if rule.bound | length > 0 %}

-- {{ rule.name }}_bound: the members that holds of other rules keep: of themselves, of what is theirs, or of what they belong to.
--# create procedure {{ control }}.{{ rule.name }}_bound
CREATE PROCEDURE {{ control }}.{{ rule.name }}_bound()
SQL SECURITY DEFINER
COMMENT 'Adds the members that holds of other rules keep to work_held.'
BEGIN
    INSERT IGNORE INTO work_held (id)
    «SELECT m.id FROM work_member AS m STRAIGHT_JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = m.id
{%- for above in rule.bound %}
{%- filter fit %}
    {% if loop.first %}WHERE {% else %}   OR {% endif %}{{ <w.held_beside above /> | indent(width=4) }}
{%- endfilter %}
{%- endfor %}»;
END;
{%- endif %}
{%- if rule.keeps | length > 0 or rule.newest | length > 0 %}

-- {{ rule.name }}_against: the members that are kept for a reason outside of their family.
--# create procedure {{ control }}.{{ rule.name }}_against
CREATE PROCEDURE {{ control }}.{{ rule.name }}_against(IN p_newest boolean, IN p_lock boolean)
SQL SECURITY DEFINER
COMMENT 'Fills work_against with the members that {% if rule.keeps | length > 0 %}a row of another table keeps{% if rule.newest | length > 0 %}, and those that {% endif %}{% endif %}{% if rule.newest | length > 0 %}are roots among the newest of their group, where p_newest; p_lock: the last one that is kept is locked{% endif %}.'
BEGIN
{%- for way in rule.ways_of_keeps %}
{%- for why in way.whys %}
    -- {{ why }}
{%- endfor %}
    INSERT IGNORE INTO work_against (id, fault)
{%- filter fit %}
    «SELECT m.id, 6 FROM work_member AS m
{%- for hop in way.hops %}
    STRAIGHT_JOIN {{ hop.table }} AS {{ hop.alias }} ON {{ hop.on }}
{%- endfor %}
{%- for keeper in way.keepers %}
{%- if way.keepers | length == 1 %}
    STRAIGHT_JOIN {{ keeper.table }} AS {{ keeper.alias }} ON {{ keeper.on }}
{%- else %}
    {% if loop.first %}WHERE{% else %}OR{% endif %} EXISTS (SELECT 1 FROM {{ keeper.table }} AS {{ keeper.alias }} WHERE {{ keeper.on }})
{%- endif %}
{%- endfor %}»;
{%- endfilter %}
{%- endfor %}
{%- if rule.newest | length > 0 %}
    -- While the newest are locked, nobody can delete them and leave the group without any.
{%- for locking in [true, false] %}
    {% if locking %}IF p_newest AND p_lock THEN{% else %}ELSEIF p_newest THEN{% endif %}
{%- for newest in rule.newest %}
        INSERT IGNORE INTO work_against (id, fault)
        «SELECT i.{{ rule.key }}, 4
        FROM work_member AS m
        STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = m.id
        WHERE {{ newest.placed | join(sep=" AND ") }}
{%- for predicate in newest.counted_of_i %}
          AND {{ predicate }}
{%- endfor %}
          AND ({% if locking and maria %}{{ <w.older_than_newest rule newest lock="LOCK IN SHARE MODE SKIP LOCKED" /> | indent(width=10) }}{% elif locking %}{{ <w.older_than_newest rule newest lock="FOR SHARE SKIP LOCKED" /> | indent(width=10) }}{% else %}{{ <w.older_than_newest rule newest lock="" /> | indent(width=10) }}{% endif %}) IS NOT TRUE»;
{%- endfor %}
{%- endfor %}
    END IF;
{%- endif %}
END;
{%- endif %}

-- {{ rule.name }}_count: how many rows of each table belong to the ids in work_gone, in the order of deletion.
--# create procedure {{ control }}.{{ rule.name }}_count
CREATE PROCEDURE {{ control }}.{{ rule.name }}_count(⟦OUT o_rows longtext⟧)
SQL SECURITY DEFINER
COMMENT 'Counts rows by table that belong to the ids in work_gone: a JSON list in the order of deletion. Reads only.'
BEGIN
    DECLARE ⟦v_rows bigint⟧ DEFAULT 0;
{%- if rule.further %}
{%- filter fit %}
    DROP TEMPORARY TABLE IF EXISTS
    {{ rule.further }};
{%- endfilter %}
{%- endif %}
{%- for collect in rule.collects %}
{%- for edge in collect.edges %}
{%- filter fit %}
{%- if collect.joined %}
    CREATE TEMPORARY TABLE {{ collect.work }} (PRIMARY KEY (id)) ENGINE = InnoDB AS
{%- else %}
    INSERT {% if collect.edges | length > 1 %}IGNORE {% endif %}INTO {{ collect.work }} (id)
{%- endif %}
    «SELECT t.{{ collect.key }} AS id FROM {{ <b.rows_of_keys edge table={collect.table} /> }}»;
{%- endfilter %}
{%- endfor %}
{%- endfor %}
{%- for copy in rule.copies %}
    -- The same keys once more, for statements that need them twice.
{%- filter fit %}
    CREATE TEMPORARY TABLE {{ copy.work }} (PRIMARY KEY (id)) ENGINE = InnoDB AS
    SELECT w.id FROM {{ copy.of }} AS w;
{%- endfilter %}
{%- endfor %}
    SET o_rows = '[';
{%- for step in rule.steps %}
{%- for edge in step.edges %}
{%- filter fit %}
{%- if loop.last %}
    «SELECT CONCAT(o_rows, {% if step.position > 1 %}', ', {% endif %}{% if not loop.first %}v_rows + {% endif %}COUNT(*){% if step.position == rule.steps | length %}, ']'{% endif %}){% if not loop.first %}, 0{% endif %} ‹INTO o_rows{% if not loop.first %}, v_rows{% endif %}›
{%- else %}
    «SELECT v_rows + COUNT(*) ‹INTO v_rows›
{%- endif %}
    {{ <b.counted edge table={step.table} /> }}
{%- endfilter %}
{%- endfor %}
{%- endfor %}
{%- if rule.further %}
{%- filter fit %}
    DROP TEMPORARY TABLE
    {{ rule.further }};
{%- endfilter %}
{%- endif %}
END;

-- {{ rule.name }}_delete: deletes the families of work_member, children before parents, in the caller's transaction.
--# create procedure {{ control }}.{{ rule.name }}_delete
CREATE PROCEDURE {{ control }}.{{ rule.name }}_delete(⟦IN p_run bigint, OUT o_rows longtext⟧)
SQL SECURITY DEFINER
COMMENT 'Deletes what belongs to the members, and these, in its caller''s transaction (READ COMMITTED). Answers how many by table.'
BEGIN
    DECLARE v_rows    bigint DEFAULT 0;
    DECLARE v_any     boolean;{% for collect in rule.collects %}{% if collect.locked %} DECLARE {{ collect.locked }} bigint;{% endif %}{% endfor %}
{%- if rule.uppers | length > 0 %}
    DECLARE ⟦v_members bigint⟧;
    DECLARE v_more    bigint;
    DECLARE ⟦v_round   integer⟧ DEFAULT 0;
{%- endif %}
{%- if rule.archives %}
    DECLARE v_copied  bigint;
{%- endif %}
{%- if rule.releases %}
    DECLARE v_message varchar(128);
{%- endif %}
{%- if rule.archives %}
    {{ <w.as_they_are /> | indent }}
{%- endif %}
    SET o_rows = '[';
{%- for collect in rule.collects %}
{{- <b.collect collect archives={rule.archives} /> }}
{%- endfor %}
{%- if rule.middles | length > 0 %}
    -- What has come before these were locked is there to be read.
    IF COALESCE(@windrow_referred, true) THEN
{%- if rule.keeps | length > 0 %}
        CALL {{ rule.name }}_against(false, false);
        SELECT COUNT(*) > 0 INTO v_any FROM work_against AS a STRAIGHT_JOIN work_member AS m ON m.id = a.id;
        CALL none_came(v_any);
{%- endif %}
{%- if rule.closed %}
{%- for meet in rule.meets %}
        INSERT INTO work_link (upper_id, lower_id, depth, upwards, shares)
{%- filter fit %}
        «SELECT DISTINCT {{ meet.other }}, m.id, -1, true, true
        FROM work_member AS m
{%- for hop in meet.hops %}
        STRAIGHT_JOIN {{ hop.table }} AS {{ hop.alias }} ON {{ hop.on }}
{%- endfor %}
        WHERE {{ meet.other }} <> m.id»;
{%- endfilter %}
{%- if loop.last %}
        «SELECT COUNT(*) > 0 ‹INTO v_any› FROM work_link AS l STRAIGHT_JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = l.upper_id
        LEFT JOIN work_member AS m ON m.id = t.{{ rule.key }}
        LEFT JOIN work_gone AS g ON g.id = t.{{ rule.key }}
        WHERE l.depth = -1 AND m.id IS NULL AND g.id IS NULL»;
        CALL none_came(v_any);
{%- endif %}
{%- endfor %}
{%- endif %}
    END IF;
{%- endif %}
{%- for artifact in rule.artifacts %}
    -- The files that {{ artifact.table_name }} names are written to the outbox, to be removed later.
    INSERT INTO artifact (run_id, rule, host, path)
    «SELECT p_run, {{ rule.literal }}, {{ artifact.host }}, t.{{ artifact.path }}
    FROM work_member AS w
    {%- if rule.per %}
    LEFT JOIN work_silent AS s ON s.scope = w.scope
    {%- endif %}
    STRAIGHT_JOIN {{ artifact.table }} AS t ON t.{{ artifact.column }} = w.id
    WHERE t.{{ artifact.path }} <> ''{{ artifact.kept }}{% if rule.per %}
      AND s.scope IS NULL{% endif %}»;
{%- endfor %}
    -- MariaDB scans a nearly empty table, and a DELETE that scans waits for locks on rows of others: look first, with a separate
    -- SELECT, because IF (SELECT ...) locks what it reads.
{%- for step in rule.steps %}
{%- for release in step.releases %}
    {{ <b.release release /> }}
{%- endfor %}
    -- {{ step.why }}
{%- if not loop.last %}
{{- <b.delete step maria /> }}
    SET o_rows = CONCAT(o_rows, v_rows, ', '), v_rows = 0;
{%- else %}
{%- if step.archive %}
    SET v_copied = 0;
{{- <b.copy archive={step.archive} edge={step.edges[0]} table={step.table} maria pad="    " /> }}
{%- endif %}
{%- if rule.uppers | length > 0 %}
    -- A foreign key is checked row by row: first those that no row names, then those that none names any more. They are
    -- looked up before, as above.
    SELECT COALESCE(SUM(1), 0), COALESCE(SUM(1), 0) INTO v_members, v_more FROM work_member AS m;
    WHILE v_more > 0 AND v_rows < v_members DO
        INSERT INTO work_lowest (id, round)
        «SELECT t.{{ rule.key }}, v_round
        FROM {{ <b.rows edge={step.edges[0]} table={step.table} /> | indent(width=8) }}
{%- for column in rule.uppers %}
        LEFT JOIN {{ rule.table }} AS u{{ loop.index }} ON u{{ loop.index }}.{{ column }} = t.{{ rule.key }} AND u{{ loop.index }}.{{ rule.key }} <> t.{{ rule.key }}
{%- endfor %}
{%- for column in rule.uppers %}
        {% if loop.first %}WHERE{% else %}  AND{% endif %} u{{ loop.index }}.{{ rule.key }} IS NULL
{%- endfor %}»;
        «DELETE t
        FROM work_lowest AS w
        STRAIGHT_JOIN {{ step.table }} AS t ON t.{{ rule.key }} = w.id
        WHERE w.round = v_round»;
        SET v_more = ROW_COUNT();
        SET v_rows = v_rows + v_more, v_round = v_round + 1;
    END WHILE;
    IF v_rows < v_members THEN
        -- Rows that name each other in a circle, or that another session has named meanwhile. ROW_COUNT() does not contain
        -- what a cascade between them deleted.
{%- filter fit %}
        «DELETE t FROM {{ <b.rows edge={step.edges[0]} table={step.table} /> }}»;
{%- endfilter %}
{%- filter fit %}
        «SELECT v_members - COUNT(t.{{ rule.key }}) ‹INTO v_rows› FROM {{ <b.rows edge={step.edges[0]} table={step.table} /> }}»;
{%- endfilter %}
    END IF;
{%- else %}
{%- filter fit %}
    «DELETE t FROM {{ <b.rows edge={step.edges[0]} table={step.table} /> }}»;
{%- endfilter %}
    SET v_rows = ROW_COUNT();
{%- endif %}
{%- if step.archive %}
    CALL check_copied({{ step.archive.table_literal }}, v_copied, v_rows);
{%- endif %}
    SET o_rows = CONCAT(o_rows, v_rows, ']');
{%- endif %}
{%- endfor %}
END;

-- {{ rule.name }}_undated: roots that are final but have no end time; they can never become due.
--# create procedure {{ control }}.{{ rule.name }}_undated
CREATE PROCEDURE {{ control }}.{{ rule.name }}_undated(IN p_scope varchar(255))
SQL SECURITY DEFINER
COMMENT 'Writes to work_skip the first 100,000 roots that are final but have no {{ rule.end_time_name }}. Reads only.'
BEGIN
    INSERT INTO work_skip (skip_key, reason)
    SELECT {{ rule.key_told }}, 'UNDATED_MEMBER'
{%- if rule.per and rule.opt_in %}
    FROM work_scope AS s
    STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.per }} = s.scope
{%- else %}
    FROM {{ rule.table }} AS i
{%- endif %}
    WHERE {{ <w.not_ended rule /> }}
{%- for predicate in rule.eligible %}
      AND {{ predicate }}
{%- endfor %}
{%- if rule.per and not rule.opt_in %}
      AND (p_scope IS NULL OR i.{{ rule.per }} IN (SELECT s.scope FROM work_scope AS s WHERE s.scope IS NOT NULL))
{%- endif %}
    LIMIT 100000;
END;
{%- if rule.per and rule.opt_in %}

-- {{ rule.name }}_unlisted: final roots that would be old enough, of scopes without a policy.
--# create procedure {{ control }}.{{ rule.name }}_unlisted
CREATE PROCEDURE {{ control }}.{{ rule.name }}_unlisted(IN p_before datetime(6), OUT o_count bigint)
SQL SECURITY DEFINER
COMMENT 'How many roots ended before p_before, and are of a scope that has no policy. Reads only.'
BEGIN
    SELECT COUNT(*) INTO o_count
    FROM {{ rule.table }} AS i
    LEFT JOIN work_scope AS s ON s.scope = i.{{ rule.per }}
    WHERE {{ <w.ended_before rule at="p_before" /> }}{{ <w.due_root rule /> | indent(width=6) }}
      AND s.position IS NULL AND i.{{ rule.per }} IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM work_said AS d WHERE d.scope = i.{{ rule.per }} AND d.said = 1);
END;
{%- endif %}

-- {{ rule.name }}_due: how much is due, counted up to a limit.
--# create procedure {{ control }}.{{ rule.name }}_due
CREATE PROCEDURE {{ control }}.{{ rule.name }}_due(IN p_limit bigint, IN p_cutoff datetime(6), IN p_undated boolean, OUT o_families bigint)
SQL SECURITY DEFINER
COMMENT 'How many roots are due by {% if rule.per %}work_scope{% else %}p_cutoff{% endif %}, or with p_undated have no end: up to p_limit. Reads only.'
BEGIN
{%- if rule.per and not rule.opt_in %}
    DECLARE v_newest  datetime(6);
    DECLARE v_default datetime(6);
    SELECT o.latest, o.others INTO v_newest, v_default FROM work_scope_of AS o;
{%- endif %}
    IF p_undated THEN
{%- filter fit %}
        SELECT COUNT(*) INTO o_families FROM (
        SELECT 1
{%- if rule.per and rule.opt_in %}
        FROM work_scope AS s STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.per }} = s.scope
{%- else %}
        FROM {{ rule.table }} AS i
{%- endif %}
        WHERE {{ <w.not_ended rule /> }}{{ <w.due_root rule newest={false} /> }}
        LIMIT p_limit) AS n;
{%- endfilter %}
    ELSE
        SELECT COUNT(*) INTO o_families FROM (
            SELECT 1
{%- if rule.per and rule.opt_in %}
            FROM work_scope AS s STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.per }} = s.scope
            WHERE {{ <w.ended_before rule at="s.cutoff" /> }}
{%- elif rule.per %}
            FROM {{ rule.table }} AS i
            LEFT JOIN work_scope AS s ON s.scope = i.{{ rule.per }}
            WHERE {{ <w.ended_before rule at="v_newest" /> }}
              AND {{ <w.ended_before rule at="COALESCE(s.cutoff, v_default)" early={false} /> }}
{%- else %}
            FROM {{ rule.table }} AS i
            WHERE {{ <w.ended_before rule at="p_cutoff" /> }}
{%- endif %}{{ <w.due_root rule /> | indent(width=14) }}
            LIMIT p_limit) AS n;
    END IF;
END;

{{ <w.row control rule /> }}
