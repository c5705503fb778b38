SELECT SUBSTR(SUBSTRING_INDEX(p.grantee, '@', 1), 2, CHAR_LENGTH(SUBSTRING_INDEX(p.grantee, '@', 1)) - 2) AS role,
    CONCAT(p.privilege_type, IF(p.part = '', '', ' of a column')) AS privilege_type, p.home,
    IF(p.whole, REPLACE(p.place, CHAR(92 USING utf8mb4), ''), p.place) AS object,
    CONCAT(p.privilege_type, p.part, IF(p.is_grantable = 'YES', ', GRANT OPTION', ''), ' ON ', p.place) AS given
FROM (
    SELECT t.grantee, t.privilege_type, '' AS part, t.is_grantable, t.table_schema AS home, false AS whole,
        CONCAT('`', REPLACE(t.table_schema, '`', '``'), '`.`', REPLACE(t.table_name, '`', '``'), '`') AS place
    FROM information_schema.table_privileges AS t
    UNION ALL
    SELECT c.grantee, c.privilege_type, CONCAT(' (`', REPLACE(c.column_name, '`', '``'), '`)'), c.is_grantable, c.table_schema, false,
        CONCAT('`', REPLACE(c.table_schema, '`', '``'), '`.`', REPLACE(c.table_name, '`', '``'), '`')
    FROM information_schema.column_privileges AS c
    UNION ALL
    SELECT d.grantee, d.privilege_type, '', d.is_grantable, d.table_schema, true, CONCAT('`', REPLACE(d.table_schema, '`', '``'), '`.*')
    FROM information_schema.schema_privileges AS d
) AS p
