-- What the tables and views of the control database are, thing by thing. What `lasts` an installation makes once; it makes checks
-- and views anew, and fits the tables of archives to what they are copied from. Archived partitions are what the application's table is,
-- and so is what is out of its table.
-- A server writes quotes as the session reads them.
-- Where the catalog's collation is not that of known_shape, MariaDB finds no name by an index.
SELECT
    /*!80000 t.name */ /*M! CONVERT(t.name USING utf8mb4) COLLATE utf8mb4_bin */ AS name,
    SHA2(NULLIF(REPLACE(REPLACE(REPLACE(REPLACE(t.told, '`', ''), '"', ''), '''', ''), CHAR(92 USING utf8mb4), ''), ''), 256) AS says,
    t.home IS NOT NULL AND t.home NOT IN (
        SELECT a.table_name
        FROM information_schema.columns AS a
        WHERE a.table_schema = DATABASE()
          AND a.column_name = 'windrow_row_id'
    ) AS lasts
FROM (
    SELECT
        CONCAT('constraint ', /*M! c.table_name, '.', */ c.constraint_name) AS name,
        CONCAT_WS(' ', c.check_clause /*!80000 , t.enforced */) AS told, NULL AS home
    FROM information_schema.check_constraints AS c
    /*!80000
    JOIN information_schema.table_constraints AS t ON t.constraint_schema = c.constraint_schema AND t.constraint_name = c.constraint_name
        AND t.constraint_type = 'CHECK'
    */
    WHERE c.constraint_schema = DATABASE()
      AND NOT /*!80000 t.table_name */ /*M! c.table_name */ REGEXP '^archived_[0-9]+_'
      AND /*!80000 t.table_name */ /*M! c.table_name */ NOT IN (
          SELECT CONCAT(r.rule, '_taken') FROM rule AS r WHERE r.strategy = 'partition'
      )
    UNION ALL
    SELECT CONCAT('primary key of ', u.table_name), GROUP_CONCAT(u.column_name ORDER BY u.ordinal_position), u.table_name
    FROM information_schema.key_column_usage AS u
    WHERE u.table_schema = DATABASE()
      AND u.constraint_name = 'PRIMARY'
      AND NOT u.table_name REGEXP '^archived_[0-9]+_'
      AND u.table_name NOT IN (SELECT CONCAT(r.rule, '_taken') FROM rule AS r WHERE r.strategy = 'partition')
    GROUP BY u.table_name
    UNION ALL
    SELECT CONCAT('column ', c.table_name, '.', c.column_name),
        CONCAT_WS(' ', c.column_type, c.is_nullable, c.column_default, c.collation_name, c.extra, c.generation_expression), c.table_name
    FROM information_schema.columns AS c
    WHERE c.table_schema = DATABASE()
      AND NOT c.table_name REGEXP '^archived_[0-9]+_'
      AND c.table_name NOT IN (SELECT CONCAT(r.rule, '_taken') FROM rule AS r WHERE r.strategy = 'partition')
      AND c.table_name NOT IN (SELECT v.table_name FROM information_schema.views AS v WHERE v.table_schema = DATABASE())
    UNION ALL
    -- Who may not read the text of a view gets nothing of it.
    SELECT CONCAT('view ', v.table_name), v.view_definition, NULL
    FROM information_schema.views AS v
    WHERE v.table_schema = DATABASE()
) AS t
-- With a limit, MariaDB reads the catalog once, and not for each row that is joined with it.
LIMIT 1000000
