{{ session }}

-- drop_shadows_of_tables: a temporary table of the session that has the name of a table of the application would hide it.
--# create procedure {{ control }}.drop_shadows_of_tables
CREATE PROCEDURE {{ control }}.drop_shadows_of_tables()
SQL SECURITY DEFINER
COMMENT 'Drops the temporary tables of the session that have the name of a table of the application which the routines read. [body @body@]'
BEGIN
{%- filter fit %}
    DROP TEMPORARY TABLE IF EXISTS
{%- for name in shadows %}
        {{ name }}{% if loop.last %};{% else %},{% endif %}
{%- endfor %}
{%- endfilter %}
END;

-- take_tables: what a batch does first. Whoever has read a table keeps it from being altered until his transaction ends.
--# create procedure {{ control }}.take_tables
CREATE PROCEDURE {{ control }}.take_tables()
SQL SECURITY DEFINER
COMMENT 'Reads no row of the tables whose rows go, and so keeps them from being altered until the transaction ends. [body @body@]'
BEGIN
    DECLARE v_none integer;
{%- filter fit %}
    SELECT COUNT(*) INTO v_none FROM DUAL
{%- for table in going_tables %}
    {% if loop.first %}WHERE{% else %}   OR{% endif %} EXISTS (SELECT 1 FROM {{ table }} LIMIT 0)
{%- endfor %};
{%- endfilter %}
END;

-- count_orphans: rows whose parent is not there, by edge, into the temporary table work_orphan. Reads whole tables.
--# create procedure {{ control }}.count_orphans
CREATE PROCEDURE {{ control }}.count_orphans()
SQL SECURITY DEFINER
COMMENT 'Fills the temporary table work_orphan with the rows whose parent is not there, by edge. Reads whole tables. [body @body@]'
BEGIN
    DECLARE v_count bigint;
    DROP TEMPORARY TABLE IF EXISTS work_orphan;
    CREATE TEMPORARY TABLE work_orphan (
        edge    varchar(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
        orphans bigint NOT NULL
    ) ENGINE = InnoDB;
    -- INSERT ... SELECT would lock the rows of the application where the isolation level is high.
{%- for edge in edges %}
{%- filter fit %}
    SELECT COUNT(*) INTO v_count FROM {{ edge.table }} AS c
    WHERE {{ edge.present }}
{%- if edge.none %}
      AND c.{{ edge.column }} <> {{ edge.none }}
{%- endif %}
      AND NOT EXISTS (SELECT 1 FROM {{ edge.parent }} AS p WHERE {{ edge.same }});
{%- endfilter %}
    INSERT INTO work_orphan (edge, orphans) VALUES ({{ edge.literal }}, v_count);
{%- endfor %}
END;

-- artifacts_named: which files of the outbox a row that is there still names.
--# create procedure {{ control }}.artifacts_named
CREATE PROCEDURE {{ control }}.artifacts_named(IN p_artifacts longtext)
SQL SECURITY DEFINER
COMMENT 'What named_artifacts() answers. [body @body@]'
BEGIN
{%- for file in files %}
    SELECT a.artifact_id, {{ file.table_literal }} AS named_by
    FROM JSON_TABLE(p_artifacts, '$[*]' COLUMNS (artifact_id bigint PATH '$')) AS k
    STRAIGHT_JOIN {{ control }}.artifact AS a ON a.artifact_id = k.artifact_id
    WHERE EXISTS (SELECT 1 FROM {{ file.table }} AS t WHERE t.{{ file.path }} = a.path){% if loop.last %};{% else %}
    UNION ALL{% endif %}
{%- else %}
    -- No rule of the spec names files.
    SELECT NULL AS artifact_id, NULL AS named_by FROM DUAL WHERE false;
{%- endfor %}
END;

{%- if throttles.heartbeat %}

-- heartbeat_age: how far the slowest replica is behind, by {{ throttles.heartbeat.name }}.
--# create procedure {{ control }}.heartbeat_age
CREATE PROCEDURE {{ control }}.heartbeat_age(OUT o_seconds bigint)
SQL SECURITY DEFINER
COMMENT 'Seconds since the oldest beat in {{ throttles.heartbeat.name }}, of the slowest replica; NULL where there is none. [body @body@]'
BEGIN
    SELECT TIMESTAMPDIFF(SECOND, MIN(h.{{ throttles.heartbeat.column }}), UTC_TIMESTAMP(6)) INTO o_seconds FROM {{ throttles.heartbeat.table }} AS h;
END;
{%- endif %}
{%- for query in throttles.queries %}

-- {{ query.name }}_wait_while: what the rule waits for, as the spec has it (wait_while_sql).
--# create procedure {{ control }}.{{ query.name }}_wait_while
CREATE PROCEDURE {{ control }}.{{ query.name }}_wait_while(OUT o_said double)
SQL SECURITY DEFINER
COMMENT 'What rule {{ query.name }} waits for: true, or a number above 0, means wait. [body @body@]'
BEGIN
    SET o_said = (
{{ query.sql }}
    );
END;
{%- endfor %}
