{% if rule.timed.by_family -%}
-- {{ rule.name }}_next: the next roots that are due, oldest first, after a cursor. Reads, decides nothing.
--# create procedure {{ control }}.{{ rule.name }}_next
CREATE PROCEDURE {{ control }}.{{ rule.name }}_next(⟦IN p_cutoff datetime(6), IN p_limit bigint⟧)
SQL SECURITY DEFINER
COMMENT 'Fills work_next with the next p_limit roots with a {{ rule.end_time_name }} before p_cutoff, from work_cursor on. Reads only; {{ rule.name }}_judge decides.'
BEGIN
    -- What lies before the cursor is not looked at again, nor what has its time: an index keeps the entries of deleted rows for a while.
    INSERT INTO work_next (id, due)
    «SELECT t.{{ rule.key }}, t.{{ rule.end_time }}
    FROM work_cursor AS c
    STRAIGHT_JOIN {{ rule.table }} AS t
    WHERE c.only_row = 1
      AND t.{{ rule.end_time }} < p_cutoff
      AND (t.{{ rule.end_time }} > c.due OR t.{{ rule.end_time }} = c.due AND t.{{ rule.key }} > c.id)
      AND {{ rule.timed.is_root }}
    ORDER BY t.{{ rule.end_time }}, t.{{ rule.key }}
    LIMIT p_limit»;
END;

{% endif -%}
-- {{ rule.name }}_judge: which of the families of work_next may be deleted. A family is all rows that refer to the root,
-- and is deleted {% if rule.timed.by_family %}when the
-- {{ rule.end_time_name }} of the root has come, whatever that of its other rows is{% else %}as a whole where a purge names it{% endif %}.
--# create procedure {{ control }}.{{ rule.name }}_judge
CREATE PROCEDURE {{ control }}.{{ rule.name }}_judge(⟦IN p_cutoff datetime(6), IN p_as_of datetime(6), IN p_lock boolean⟧)
SQL SECURITY DEFINER
COMMENT 'Fills work_root with the rows of the families of work_next and what keeps them, work_keep and work_tied with what is kept. p_lock: locks their rows of {{ rule.table_name }} first; a family that another session holds is kept. No p_cutoff: a purge waits for these rows, whose {{ rule.end_time_name }} does not matter; without p_as_of, no minimum does.'
BEGIN
{%- if rule.timed.ended %}
    DECLARE ⟦v_least datetime(6)⟧ DEFAULT {{ rule.timed.least }};
{%- endif %}
    DECLARE v_rows  bigint;
{%- if rule.timed.bound_families %}
    DECLARE v_bound boolean;
{%- endif %}
    -- A writer that changes a whole family also changes its rows in {{ rule.table_name }}: it waits, or this batch gives way.
{%- for column in rule.timed.names_root %}
    IF p_cutoff IS NULL THEN
        «SELECT COUNT(*) ‹INTO v_rows› FROM work_next AS n STRAIGHT_JOIN {{ rule.table }} AS r ON r.{{ column }} = n.id FOR UPDATE»;
    END IF;
    IF p_lock THEN
        INSERT IGNORE INTO work_root (id, family, fault)
        {{ <w.members_of_next rule column /> }}
        FOR UPDATE SKIP LOCKED;
        INSERT IGNORE INTO work_locked (id, family)
        «SELECT r.{{ rule.key }}, {{ rule.timed.family_of_root }}
        FROM work_next AS n
        STRAIGHT_JOIN {{ rule.table }} AS r ON r.{{ column }} = n.id
        LEFT JOIN work_root AS w ON w.id = r.{{ rule.key }}
        WHERE w.id IS NULL»;
    ELSE
        INSERT IGNORE INTO work_root (id, family, fault)
        {{ <w.members_of_next rule column /> }};
    END IF;
{%- endfor %}
    INSERT IGNORE INTO work_root (id, family, fault)
    SELECT l.id, l.family, 5 FROM work_locked AS l;
{%- for member in rule.timed.members | those(attribute="referenced_of_family", value=true) %}
{%- if loop.first %}
    -- Whoever brings a row that refers to one of these by a foreign key holds it until that row is there to be read.
    IF p_lock AND COALESCE(@windrow_referred, true) THEN
        DELETE m FROM work_next AS n STRAIGHT_JOIN work_middle AS m ON m.family = n.id;
{%- endif %}
{%- for column in member.belongs %}
        INSERT INTO work_middle (position, way, family, other{% if not loop.first %}, alone{% endif %}, found)
        «SELECT {{ member.position }}, {{ loop.index }}, n.id, {% if loop.first %}n.id
{%- else %}COALESCE(t.{{ member.belongs[0] }}, n.id), t.{{ member.belongs[0] }} IS NULL
{%- endif %}, COUNT(*)
        FROM work_next AS n STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ column }} = n.id
        WHERE NOT EXISTS (SELECT 1 FROM work_root AS w WHERE w.family = n.id AND w.fault < 9)
        GROUP BY {% if loop.first %}n.id{% else %}3, 4, 5{% endif %} FOR UPDATE»;
{%- endfor %}
{%- if member.adopt and not member.adopt.named %}
{%- for own in member.adopt.owns %}
        -- Those that name no root, but an instance.
        IF EXISTS («{{ own.look }}») THEN
            DELETE FROM work_middle WHERE position = {{ member.position }} AND way = {{ loop.index + member.belongs | length }};
            INSERT INTO work_middle (position, way, family, other, found)
            «SELECT {{ member.position }}, {{ loop.index + member.belongs | length }}, m.family, m.family, COUNT(*)
            {{ <w.own_of_families own /> | indent(width=4) }}
            WHERE m.fault = 9
            GROUP BY m.family FOR UPDATE»;
        END IF;
{%- endfor %}
{%- endif %}
{%- if loop.last %}
    END IF;
{%- endif %}
{%- endfor %}
    CALL timed_held_whole({{ rule.literal }});
{%- if rule.timed.bound_families %}
    CALL bound_by({{ rule.literal }}, v_bound);
    IF v_bound THEN
{%- for member in rule.timed.members %}
        {{ <w.bound_families member work="work_next" /> | indent(width=8) }}
{%- endfor %}
    END IF;
{%- endif %}
{%- for member in rule.timed.members %}
{%- for referrer in member.referrers %}
{%- for column in member.belongs %}
    INSERT IGNORE INTO work_tied (id)
    «SELECT n.id
    FROM work_next AS n
    STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ column }} = n.id
    STRAIGHT_JOIN {{ referrer.table }} AS r ON r.{{ referrer.column }} = t.{{ member.key }}»;
{%- endfor %}
{%- endfor %}
{%- endfor %}
{%- if rule.timed.adopts %}
{%- for member in rule.timed.members %}
{%- if member.adopt and member.adopt.named %}
{%- for way in member.adopt.ways %}
    -- {{ way.why }}
    IF EXISTS («{{ way.look }}») THEN
        INSERT IGNORE INTO {{ member.adopt.named }} (id, family)
        «SELECT t.{{ member.adopt.key }}, m.family
        FROM work_root AS m
{%- for join in way.joins %}
        STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
        STRAIGHT_JOIN {{ member.table }} AS t ON {{ way.on }}{% for column in member.family %} AND t.{{ column }} IS NULL{% endfor %}»;
    END IF;
{%- endfor %}
{%- if member.referenced_of_family %}
    IF p_lock AND COALESCE(@windrow_referred, true) THEN
        «SELECT COUNT(*) ‹INTO v_rows› {{ <w.named_of_families member /> }} FOR UPDATE»;
    END IF;
{%- endif %}
{%- endif %}
{%- endfor %}
{%- if rule.timed.bound_adopted %}
    IF v_bound THEN
{%- for member in rule.timed.members %}
        {{ <w.bound_adopted member /> | indent(width=8) }}
{%- endfor %}
    END IF;
{%- endif %}
{%- for member in rule.timed.members %}
{%- if member.adopt %}
{%- for referrer in member.referrers %}
    INSERT IGNORE INTO work_tied (id)
{%- if member.adopt.named %}
    «SELECT a.family
    FROM {{ member.adopt.named }} AS a
    STRAIGHT_JOIN {{ referrer.table }} AS x ON x.{{ referrer.column }} = a.id»;
{%- else %}
{%- for own in member.adopt.owns %}
    «SELECT m.family
    FROM work_root AS m
{%- for join in own.joins %}
    STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
    STRAIGHT_JOIN {{ referrer.table }} AS x ON x.{{ referrer.column }} = t.{{ member.key }}»{% if not loop.last %}
    UNION ALL{% else %};{% endif %}
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- endif %}
END;

{% if rule.timed.crosses -%}
-- {{ rule.name }}_namers: rows of other families that name a row of one of these, or of no family.
--# create procedure {{ control }}.{{ rule.name }}_namers
CREATE PROCEDURE {{ control }}.{{ rule.name }}_namers()
SQL SECURITY DEFINER
COMMENT 'Fills work_namer with the families of rows that name rows of the families in work_next; binds: they are of none. Reads only.'
BEGIN
{%- for member in rule.timed.members %}
{%- for column in member.belongs %}
{%- for namer in member.namers %}
    -- {{ namer.why }}
    {{ <w.namers namer of="n.id" row="r" from={<w.rows_of_next member column />} /> }}
{%- endfor %}
{%- endfor %}
{%- if member.adopted_namers %}
    -- Those of {{ member.table_name }} that name no root.
{%- if member.adopt.named %}
{%- for namer in member.adopted_namers %}
    {{ <w.namers namer of="m.family AS id" row="x" from={<w.named_of_families member />} /> }}
{%- endfor %}
{%- endif %}
{%- for own in member.adopt.owns %}
    IF EXISTS («{{ own.look }}») THEN
{%- for namer in member.adopted_namers %}
        {{ <w.namers namer of="m.family AS id" row="x" from={<w.own_of_families own />} /> | indent }}
{%- endfor %}
    END IF;
{%- endfor %}
{%- endif %}
{%- endfor %}
END;

{% endif -%}
-- {{ rule.name }}_families: one batch: the whole families in work_target, in the caller's transaction.
--# create procedure {{ control }}.{{ rule.name }}_families
CREATE PROCEDURE {{ control }}.{{ rule.name }}_families(⟦IN p_run bigint⟧)
SQL SECURITY DEFINER
COMMENT 'Deletes, in the caller''s transaction (READ COMMITTED), those families that {{ rule.name }}_judge has locked and lets be deleted, and counts their rows in work_count; timed_step() and timed_purge() call it.'
BEGIN
{%- if rule.archives %}
    DECLARE v_copied bigint;
    DECLARE v_rows   bigint;
    {{ <w.as_they_are /> | indent }}
{%- endif %}
{%- for member in rule.timed.members %}
{%- if member.belongs %}
    -- {{ member.table_name }}{% if member.root %}: the families themselves{% endif %}
    {{ <w.delete_of_targets member maria /> }}
{%- if member.root %}
    CALL timed_judged({{ member.position }}, true);
{%- endif %}
{%- endif %}
{%- endfor %}
END;
{% if rule.timed.by_family %}
-- {{ rule.name }}_members: what a batch would delete of the families in work_target. Reads only.
--# create procedure {{ control }}.{{ rule.name }}_members
CREATE PROCEDURE {{ control }}.{{ rule.name }}_members()
SQL SECURITY DEFINER
COMMENT 'Counts the rows of the families in work_target by table, in work_count. Reads only.'
BEGIN
{%- for copy in rule.timed.keep_copies %}
    INSERT INTO {{ copy }} (id)
    SELECT c.id FROM work_target AS c;
{%- endfor %}
{%- for member in rule.timed.members %}
{%- for found in member.found %}
    INSERT INTO work_count (position, found)
    «SELECT {{ member.position }}, COUNT(*) FROM work_target AS c
    STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ found.column }} = c.id
{%- for stay in found.before %}
    LEFT JOIN {{ stay.work }} AS {{ stay.alias }} ON {{ stay.alias }}.id = t.{{ stay.column }}
{%- endfor %}
{%- for stay in found.before %}
    {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ stay.alias }}.id IS NULL
{%- endfor %}»;
{%- endfor %}
{%- if member.adopt and member.adopt.named %}
    INSERT INTO work_count (position, found)
    «SELECT {{ member.position }}, COUNT(*) {{ <w.adopted_by_name member pad="    " /> }}»;
{%- elif member.adopt %}
{%- for own in member.adopt.owns %}
    INSERT INTO work_count (position, found)
    «SELECT {{ member.position }}, COUNT(*) {{ <w.adopted own pad="    " /> }}»;
{%- endfor %}
{%- endif %}
{%- endfor %}
END;
{% endif %}
