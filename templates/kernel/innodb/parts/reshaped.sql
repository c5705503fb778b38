-- What is not as the last installation noted it.
SELECT
    k.name AS object, IF(s.name IS NULL, 'is missing', 'is another than the installation made') AS problem,
    IF(k.lasts, 'make it again, as the CREATE TABLE of the generated files has it', 'run windrow install') AS remedy
FROM known_shape AS k
LEFT JOIN (
    --+ shapes.sql
) AS s ON s.name = k.name
WHERE s.name IS NULL
   OR s.says <> k.says
UNION ALL
SELECT s.name, 'is none of windrow''s', 'look whose it is, and drop it'
FROM (
    --+ shapes.sql
) AS s
LEFT JOIN known_shape AS k ON k.name = s.name
WHERE k.name IS NULL
  AND s.name LIKE 'constraint %'
  AND EXISTS (SELECT 1 FROM known_shape AS e)
UNION ALL
-- What keeps rows out of the ledger.
SELECT
    CONCAT('index ', x.table_name, '.', x.index_name), 'is none of windrow''s',
    CONCAT('ALTER TABLE ', x.table_schema, '.', x.table_name, ' DROP INDEX ', x.index_name)
FROM information_schema.statistics AS x
WHERE x.table_schema = DATABASE()
  AND x.non_unique = 0
  AND x.index_name <> 'PRIMARY'
  AND NOT (x.table_name = 'rule' AND x.index_name = 'position')
  AND NOT x.table_name REGEXP '^archived_[0-9]+_'
  AND x.table_name NOT IN (SELECT CONCAT(r.rule, '_taken') FROM rule AS r WHERE r.strategy = 'partition')
  AND x.seq_in_index = 1
UNION ALL
SELECT
    CONCAT('foreign key ', x.table_name, '.', x.constraint_name), 'is none of windrow''s',
    CONCAT('ALTER TABLE ', x.constraint_schema, '.', x.table_name, ' DROP FOREIGN KEY ', x.constraint_name)
FROM information_schema.referential_constraints AS x
WHERE x.constraint_schema = DATABASE()
