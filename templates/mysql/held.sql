SELECT SUBSTR(SUBSTRING_INDEX(t.grantee, '@', 1), 2, CHAR_LENGTH(SUBSTRING_INDEX(t.grantee, '@', 1)) - 2) AS role, t.privilege_type,
    CONCAT('`', REPLACE(t.table_schema, '`', '``'), '`.`', REPLACE(t.table_name, '`', '``'), '`') AS object, t.table_schema AS home
FROM information_schema.table_privileges AS t
UNION ALL
SELECT SUBSTR(SUBSTRING_INDEX(t.grantee, '@', 1), 2, CHAR_LENGTH(SUBSTRING_INDEX(t.grantee, '@', 1)) - 2), CONCAT(t.privilege_type,
    ' of a column'), CONCAT('`', REPLACE(t.table_schema, '`', '``'), '`.`', REPLACE(t.table_name, '`', '``'), '`'), t.table_schema
FROM information_schema.column_privileges AS t
UNION ALL
SELECT SUBSTR(SUBSTRING_INDEX(d.grantee, '@', 1), 2, CHAR_LENGTH(SUBSTRING_INDEX(d.grantee, '@', 1)) - 2), d.privilege_type, CONCAT('`',
    REPLACE(REPLACE(d.table_schema, CHAR(92 USING utf8mb4), ''), '`', '``'), '`.*'), d.table_schema
FROM information_schema.schema_privileges AS d
