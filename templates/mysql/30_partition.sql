{{ session }}

-- {{ rule.name }}_types: the type of keys, for the work tables of the kernel.
--# create procedure {{ control }}.{{ rule.name }}_types
CREATE PROCEDURE {{ control }}.{{ rule.name }}_types()
SQL SECURITY DEFINER
COMMENT 'Makes work_type, whose id has the type and the collation of {{ rule.table_name }}.{{ rule.key_name }}.'
BEGIN
    CREATE TEMPORARY TABLE work_type (pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY
{%- if rule.id_type %}, id {{ rule.id_type }} NOT NULL{% endif %}) ENGINE = InnoDB AS
    SELECT {{ rule.types.select }} LIMIT 0;
END;

-- {{ rule.name }}_any_partition: whether a partition has rows. p_from NULL: the first one, which also has the rows without a time.
{%- if rule.timed.partition.dates %}
-- A date is over at the end of its day, so that the times are those of the day after.
{%- endif %}
--# create procedure {{ control }}.{{ rule.name }}_any_partition
CREATE PROCEDURE {{ control }}.{{ rule.name }}_any_partition(
    ⟦IN p_from datetime(6), IN p_to datetime(6), OUT o_any boolean, OUT o_undated boolean⟧
)
SQL SECURITY DEFINER
COMMENT 'Whether rows of {{ rule.table_name }} lie between p_from and p_to (no p_from: before p_to), and if some have no time. Reads only.'
BEGIN
    SET o_undated = false;
    IF p_from IS NULL THEN
{%- filter fit %}
        SELECT COUNT(*) > 0
        INTO o_undated
        FROM (
            «SELECT 1
            FROM {{ rule.table }} AS t
            WHERE {{ <w.undated rule /> }}
               OR {{ rule.timed.due.time }} < {{ <w.as_ended rule at="p_to" /> }} AND YEAR({{ rule.timed.due.time }}) = 0
            LIMIT 1»
        ) AS x;
{%- endfilter %}
{%- filter fit %}
        SELECT COUNT(*) > 0 OR o_undated
        INTO o_any
        FROM (
            «SELECT 1
            FROM {{ rule.table }} AS t
            WHERE {{ rule.timed.due.time }} < {{ <w.as_ended rule at="p_to" /> }}
            LIMIT 1»
        ) AS x;
{%- endfilter %}
    ELSE
{%- filter fit %}
        SELECT COUNT(*) > 0 INTO o_any FROM («SELECT 1 FROM {{ rule.table }} AS t WHERE {{ <w.within rule /> }} LIMIT 1») AS x;
{%- endfilter %}
    END IF;
END;

-- {{ rule.name }}_count_partition: how many rows a partition has, or what was taken out of the table has.
--# create procedure {{ control }}.{{ rule.name }}_count_partition
CREATE PROCEDURE {{ control }}.{{ rule.name }}_count_partition(
    ⟦IN p_taken boolean, IN p_from datetime(6), IN p_to datetime(6), OUT o_rows bigint, OUT o_undated bigint, OUT o_strays bigint,
    OUT o_oldest datetime(6)⟧
)
SQL SECURITY DEFINER
COMMENT 'Counts the rows of a partition; p_taken: of {{ rule.name }}_taken, also those without a time or not before p_to. Reads only.'
BEGIN
    SET o_undated = 0, o_strays = 0, o_oldest = NULL;
    IF p_taken THEN
{%- filter fit %}
        SELECT COUNT(*), COALESCE(SUM({{ <w.undated rule /> }} OR YEAR({{ rule.timed.due.time }}) = 0), 0),
            COALESCE(SUM({{ rule.timed.due.time }} >= {{ <w.as_ended rule at="p_to" /> }}), 0)
        INTO o_rows, o_undated, o_strays
        FROM {{ control }}.{{ rule.name }}_taken AS t;
{%- endfilter %}
    ELSEIF p_from IS NULL THEN
{%- filter fit %}
        SELECT COUNT(*), MIN({{ rule.timed.due.of_t }})
        INTO o_rows, o_oldest
        FROM {{ rule.table }} AS t
        WHERE {{ rule.timed.due.time }} < {{ <w.as_ended rule at="p_to" /> }};
{%- endfilter %}
    ELSE
{%- filter fit %}
        SELECT COUNT(*), MIN({{ rule.timed.due.of_t }})
        INTO o_rows, o_oldest
        FROM {{ rule.table }} AS t
        WHERE {{ <w.within rule /> | indent(width=10) }};
{%- endfilter %}
    END IF;
END;
{%- if rule.timed.partition.estimated %}

-- {{ rule.name }}_stay_partition: what was taken out of the table is not counted, where an estimate will do; but each row of it
-- that has to stay is found, along an index on the time if there is one. The zero of a time without a day sorts before all others.
--# create procedure {{ control }}.{{ rule.name }}_stay_partition
CREATE PROCEDURE {{ control }}.{{ rule.name }}_stay_partition(⟦IN p_to datetime(6), OUT o_any boolean, OUT o_stays boolean⟧)
SQL SECURITY DEFINER
COMMENT 'Whether {{ rule.name }}_taken has rows, and whether some of them have no time or are not before p_to. Reads only.'
BEGIN
    SELECT COUNT(*) > 0 INTO o_any FROM (SELECT 1 FROM {{ control }}.{{ rule.name }}_taken AS t LIMIT 1) AS x;
{%- filter fit %}
    SELECT COUNT(*) > 0
    INTO o_stays
    FROM (
        SELECT 1
        FROM {{ control }}.{{ rule.name }}_taken AS t
        WHERE {{ <w.undated rule /> }}
           OR {{ rule.timed.due.time }} < DATE '1971-01-01' AND YEAR({{ rule.timed.due.time }}) = 0
           OR {{ rule.timed.due.time }} >= {{ <w.as_ended rule at="p_to" /> }}
        LIMIT 1
    ) AS x;
{%- endfilter %}
END;
{%- endif %}

-- {{ rule.name }}_held_partition: the first row of a partition, or of what was taken out of the table, that a hold keeps.
--# create procedure {{ control }}.{{ rule.name }}_held_partition
CREATE PROCEDURE {{ control }}.{{ rule.name }}_held_partition(
    ⟦IN p_taken boolean, IN p_from datetime(6), IN p_to datetime(6), IN p_bound boolean, OUT o_key varchar(700)⟧
)
SQL SECURITY DEFINER
COMMENT 'The first key, as a text, that is in work_keep or, with p_bound, is kept by a hold of another rule; NULL: none. Reads only.'
BEGIN
{%- for taken in [true, false] %}
    {% if taken %}IF p_taken{% else %}ELSE{% endif %}{% if taken %} THEN{% endif %}
{%- if rule.bound | length > 0 %}
        IF p_bound THEN
{%- filter fit %}
            INSERT IGNORE INTO work_keep (id)
            SELECT t.{{ rule.key }}
            FROM {% if taken %}{{ control }}.{{ rule.name }}_taken{% else %}{{ rule.table }}{% endif %} AS t
            WHERE {% if not taken %}{{ <w.of_partition rule /> }} AND {% endif %}(
{%- for above in rule.bound %}
{%- filter fit %}
                {% if not loop.first %}OR {% endif %}{{ <w.held_beside above /> | indent(width=16) }}
{%- endfilter %}
{%- endfor %}
            );
{%- endfilter %}
        END IF;
{%- endif %}
{%- filter fit %}
        SELECT MIN(IF(@windrow_hexed, HEX(k.id), CAST(k.id AS CHAR)))
        INTO o_key
        FROM work_keep AS k
        STRAIGHT_JOIN {% if taken %}{{ control }}.{{ rule.name }}_taken{% else %}{{ rule.table }}{% endif %} AS t ON t.{{ rule.key }} = k.id
{%- if not taken %}
        WHERE {{ <w.of_partition rule /> }}
{%- endif %};
{%- endfilter %}
{%- endfor %}
    END IF;
END;

{% if rule.timed.partition.waits -%}
-- {{ rule.name }}_waiting_partition: the first row of a partition, or of what was taken out of the table, that has not ended, or not
-- before p_cutoff.
--# create procedure {{ control }}.{{ rule.name }}_waiting_partition
CREATE PROCEDURE {{ control }}.{{ rule.name }}_waiting_partition(
    ⟦IN p_taken boolean, IN p_from datetime(6), IN p_to datetime(6), IN p_cutoff datetime(6), OUT o_fault integer,
    OUT o_key varchar(700)⟧
)
SQL SECURITY DEFINER
COMMENT 'The first key, as a text, of a row of {{ rule.table_name }} that is not final (o_fault 1), has no end (2)
    or ended too recently (3); NULL: none. Reads only.'
BEGIN
{%- if rule.raw %}
    -- where_sql of the spec, which windrow does not read, must be true of final rows: {{ rule.raw }}
{%- endif %}
{%- for taken in [true, false] %}
    {% if taken %}IF p_taken THEN{% else %}ELSE{% endif %}
        SELECT MAX(f.fault), MAX(IF(@windrow_hexed, HEX(f.id), CAST(f.id AS CHAR)))
        INTO o_fault, o_key
        FROM (
            {% if not taken %}«{% endif %}SELECT w.id, w.fault
            FROM (
                SELECT
                    i.{{ rule.key }} AS id,
                    CASE
{%- if rule.timed.partition.waits.final %}
{%- filter fit %}
                        WHEN NOT {{ rule.is_final }} THEN 1
{%- endfilter %}
{%- endif %}
{%- if rule.timed.partition.waits.ended %}
{%- filter fit %}
                        WHEN NULLIF({{ rule.timed.partition.waits.ended }}, 0) IS NULL THEN 2
{%- endfilter %}
{%- filter fit %}
                        WHEN {{ rule.timed.partition.waits.ended }} >= {{ rule.timed.partition.waits.cutoff }} THEN 3
{%- endfilter %}
{%- endif %}
                    END AS fault
                FROM {% if taken %}{{ control }}.{{ rule.name }}_taken{% else %}{{ rule.table }}{% endif %} AS i
{%- if not taken %}
                WHERE (p_from IS NULL OR {{ rule.time }} >= {{ <w.as_ended rule at="p_from" /> }})
                  AND {{ <w.ended_before rule at="p_to" early={false} /> }}
{%- endif %}
            ) AS w
            WHERE w.fault IS NOT NULL
            ORDER BY w.fault, w.id
            LIMIT 1{% if not taken %}»{% endif %}
        ) AS f;
{%- endfor %}
    END IF;
END;

{% endif -%}
-- {{ rule.name }}_marked_partition: a mark of one row of what was taken out of the table. If it is not there any more, the rows went back.
--# create procedure {{ control }}.{{ rule.name }}_marked_partition
CREATE PROCEDURE {{ control }}.{{ rule.name }}_marked_partition(IN p_mark varchar(64), OUT o_mark varchar(64))
SQL SECURITY DEFINER
COMMENT 'A mark of a row of {{ rule.name }}_taken: p_mark, or of any; NULL: it has no such row. Reads only.'
BEGIN
    SELECT MAX(f.mark)
    INTO o_mark
    FROM (
        SELECT SHA2(COALESCE(t.{{ rule.key }}, ''), 256) AS mark
        FROM {{ control }}.{{ rule.name }}_taken AS t
        WHERE p_mark IS NULL
           OR SHA2(COALESCE(t.{{ rule.key }}, ''), 256) = p_mark
        LIMIT 1
    ) AS f;
END;

-- {{ rule.name }}_swap_partition: exchanges the rows of a partition with those of {{ rule.name }}_taken, in one moment.
-- Where that is not there yet, it is made first, empty, and counts on where the table does: the numbers of an AUTO_INCREMENT are kept
-- by the partitions, and would be given twice once the one with the last of them is out. It commits.
--# create procedure {{ control }}.{{ rule.name }}_swap_partition
CREATE PROCEDURE {{ control }}.{{ rule.name }}_swap_partition(
    ⟦IN p_name varchar(64), IN p_make boolean, IN p_number varchar(20)⟧
)
SQL SECURITY DEFINER
COMMENT 'Exchanges partition p_name of {{ rule.table_name }} with {{ rule.name }}_taken; p_make: which is made first, with p_number as its next AUTO_INCREMENT, if any.
    Commits.'
BEGIN
    IF p_make THEN
        CALL run_lenient(CONCAT('CREATE TABLE {{ control }}.{{ rule.name }}_taken LIKE ', {{ rule.timed.partition.regclass }}));
        CALL run_lenient(CONCAT(
            'ALTER TABLE {{ control }}.{{ rule.name }}_taken ', COALESCE(CONCAT('AUTO_INCREMENT = ', p_number, ' '), ''),
            'REMOVE PARTITIONING'
        ));
    END IF;
    CALL run_lenient(CONCAT(
        'ALTER TABLE ', {{ rule.timed.partition.regclass }}, ' EXCHANGE PARTITION `', REPLACE(p_name, '`', '``'),
        '` WITH TABLE {{ control }}.{{ rule.name }}_taken'
    ));
END;

-- {{ rule.name }}_back_partition: rows that the application wrote to a partition while its rows were out of the
-- table, and that were exchanged for these, are written to the table again.
--# create procedure {{ control }}.{{ rule.name }}_back_partition
CREATE PROCEDURE {{ control }}.{{ rule.name }}_back_partition(IN p_columns longtext)
SQL SECURITY DEFINER
COMMENT 'Moves all rows of {{ rule.name }}_taken to {{ rule.table_name }}, in the caller''s transaction. p_columns: their columns, quoted.'
BEGIN
    CALL run_lenient(CONCAT(
        'INSERT INTO ', {{ rule.timed.partition.regclass }}, ' (', p_columns, ') SELECT ', p_columns,
        ' FROM {{ control }}.{{ rule.name }}_taken'
    ));
    DELETE FROM {{ control }}.{{ rule.name }}_taken;
END;

-- {{ rule.name }}_drop_partition: drops what was taken out of the table. settle_partition() has judged each row, and the
-- ledger says that they are deleted.
--# create procedure {{ control }}.{{ rule.name }}_drop_partition
CREATE PROCEDURE {{ control }}.{{ rule.name }}_drop_partition()
SQL SECURITY DEFINER
COMMENT 'Drops {{ rule.name }}_taken. Commits.'
BEGIN
    DROP TABLE IF EXISTS {{ control }}.{{ rule.name }}_taken;
END;

-- {{ rule.name }}_merge_partition: makes one partition of several that lie side by side, with all of their rows.
-- merge_partitions() calls it for empty ones: should a row come meanwhile, it is in the new one.
--# create procedure {{ control }}.{{ rule.name }}_merge_partition
CREATE PROCEDURE {{ control }}.{{ rule.name }}_merge_partition(IN p_names longtext, IN p_name varchar(64), IN p_bound longtext)
SQL SECURITY DEFINER
COMMENT 'Makes partition p_name, up to the bound p_bound, of the partitions p_names, which are quoted. Deletes nothing. Commits.'
BEGIN
    CALL run_lenient(CONCAT(
        'ALTER TABLE ', {{ rule.timed.partition.regclass }}, ' REORGANIZE PARTITION ', p_names, ' INTO (PARTITION `',
        REPLACE(p_name, '`', '``'), '` VALUES LESS THAN (', p_bound, '))'
    ));
END;

-- {{ rule.name }}_late_rows: how many rows the partition up to MAXVALUE has, up to 1001: REORGANIZE would copy them all.
--# create procedure {{ control }}.{{ rule.name }}_late_rows
CREATE PROCEDURE {{ control }}.{{ rule.name }}_late_rows(⟦IN p_from datetime(6), OUT o_rows bigint⟧)
SQL SECURITY DEFINER
COMMENT 'Counts the rows of {{ rule.table_name }} from p_from on, up to 1001. Reads only.'
BEGIN
{%- filter fit %}
    SELECT COUNT(*)
    INTO o_rows
    FROM (
        «SELECT 1
        FROM {{ rule.table }} AS t
        WHERE {{ rule.timed.due.time }} >= {{ <w.as_ended rule at="p_from" /> }}
        LIMIT 1001»
    ) AS x;
{%- endfilter %}
END;
{%- if rule.timed.partition.ahead %}

-- {{ rule.name }}_make_partition: makes partitions behind the newest one that has an end, all in one statement. The one up to MAXVALUE
-- stays behind them: it is empty, or nearly so, and REORGANIZE loses no row of it. It commits.
--# create procedure {{ control }}.{{ rule.name }}_make_partition
CREATE PROCEDURE {{ control }}.{{ rule.name }}_make_partition(IN p_open varchar(64), IN p_list longtext)
SQL SECURITY DEFINER
COMMENT 'Gives {{ rule.table_name }} the partitions of p_list, each with its bound; p_open: before the one of this name, up to MAXVALUE. Commits.'
BEGIN
    CALL run_lenient(CONCAT(
        'ALTER TABLE ', {{ rule.timed.partition.regclass }},
        COALESCE(
            CONCAT(
                ' REORGANIZE PARTITION `', REPLACE(p_open, '`', '``'), '` INTO (', p_list, ', PARTITION `', REPLACE(p_open, '`', '``'),
                '` VALUES LESS THAN (MAXVALUE))'
            ),
            CONCAT(' ADD PARTITION (', p_list, ')')
        )
    ));
END;
{%- endif %}
