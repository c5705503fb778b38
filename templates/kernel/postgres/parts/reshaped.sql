-- What is not as the last installation noted it.
SELECT
    k.name AS object,
    CASE
        WHEN s.name IS NULL THEN 'is missing'
        WHEN k.lasts THEN pg_catalog.format('is another than the installation made: %s instead of %s', s.says, k.says)
        ELSE 'is another than the installation made'
    END AS problem,
    CASE
        WHEN s.name IS NULL AND k.lasts AND k.name LIKE 'column %' THEN pg_catalog.format('ALTER TABLE %I.%s %s', w.control,
            pg_catalog.replace(pg_catalog.substr(k.name, 8), '.', ' ADD COLUMN '), k.says)
        WHEN k.lasts THEN pg_catalog.format('make it again: %s', k.says)
        ELSE 'run windrow install'
    END AS remedy
FROM who AS w
CROSS JOIN known_shape AS k
LEFT JOIN (
    --+ shapes.sql
) AS s ON s.name = k.name
WHERE s.name IS NULL
   OR s.says <> k.says
UNION ALL
-- What keeps rows out of the ledger.
SELECT
    pg_catalog.format('index %I', i.relname), 'is none of windrow''s',
    CASE WHEN k.oid IS NULL THEN pg_catalog.format('DROP INDEX %I.%I', n.nspname, i.relname)
        ELSE pg_catalog.format('ALTER TABLE %I.%I DROP CONSTRAINT %I', n.nspname, c.relname, k.conname) END
FROM who AS w
JOIN pg_catalog.pg_namespace AS n ON n.nspname = w.control
JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid
JOIN pg_catalog.pg_index AS x ON x.indrelid = c.oid AND x.indisunique AND NOT x.indisprimary
JOIN pg_catalog.pg_class AS i ON i.oid = x.indexrelid
LEFT JOIN pg_catalog.pg_constraint AS k ON k.conindid = i.oid AND k.contype = 'u'
-- Values of the application are stored outside of their rows in tables of the server's own.
WHERE c.relkind IN ('r', 'p')
