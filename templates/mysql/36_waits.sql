{{ session }}
{%- if throttles.heartbeat %}

-- heartbeat_age: how far the slowest replica is behind, by {{ throttles.heartbeat.name }}.
--# create procedure {{ control }}.heartbeat_age
CREATE PROCEDURE {{ control }}.heartbeat_age(OUT o_seconds bigint)
SQL SECURITY DEFINER
COMMENT 'Seconds since the oldest beat in {{ throttles.heartbeat.name }}, of the slowest replica; NULL where there is none.'
BEGIN
    SELECT TIMESTAMPDIFF(SECOND, MIN(h.{{ throttles.heartbeat.column }}), UTC_TIMESTAMP(6)) INTO o_seconds FROM {{ throttles.heartbeat.table }} AS h;
END;
{%- endif %}
{%- for query in throttles.queries %}

-- {{ query.name }}_wait_while: what the rule waits for, as the spec has it (wait_while_sql).
--# create procedure {{ control }}.{{ query.name }}_wait_while
CREATE PROCEDURE {{ control }}.{{ query.name }}_wait_while(OUT o_said double)
SQL SECURITY DEFINER
COMMENT 'What rule {{ query.name }} waits for: true, or a number above 0, means wait.'
BEGIN
    SET o_said = (
{{ query.sql }}
    );
END;
{%- endfor %}
