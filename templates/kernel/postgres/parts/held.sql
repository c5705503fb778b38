-- The rights of the owner role outside of its schema, each in words.
SELECT pg_catalog.format('%s on table %I.%I', a.privilege_type, b.nspname, c.relname) AS told, a.privilege_type = 'SELECT' AS reads
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS b ON b.oid = c.relnamespace
CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) AS a
WHERE b.nspname <> w.control
  AND pg_catalog.pg_get_userbyid(a.grantee) = w.owner
UNION
SELECT pg_catalog.format('%s on column %I.%I.%I', a.privilege_type, b.nspname, c.relname, t.attname), a.privilege_type = 'SELECT'
FROM pg_catalog.pg_attribute AS t
JOIN pg_catalog.pg_class AS c ON c.oid = t.attrelid
JOIN pg_catalog.pg_namespace AS b ON b.oid = c.relnamespace
CROSS JOIN LATERAL pg_catalog.aclexplode(t.attacl) AS a
WHERE t.attacl IS NOT NULL
  AND b.nspname <> w.control
  AND pg_catalog.pg_get_userbyid(a.grantee) = w.owner
UNION
SELECT pg_catalog.format('%s on schema %I', a.privilege_type, b.nspname), a.privilege_type = 'USAGE'
FROM pg_catalog.pg_namespace AS b
CROSS JOIN LATERAL pg_catalog.aclexplode(b.nspacl) AS a
WHERE b.nspname <> w.control
  AND pg_catalog.pg_get_userbyid(a.grantee) = w.owner
