-- The rights of the owner role outside of its schema, each in words, as REVOKE takes it, with who gave it and whose the thing is.
SELECT
    pg_catalog.format('%s on table %I.%I', a.privilege_type, b.nspname, c.relname) AS told, a.privilege_type = 'SELECT' AS reads,
    pg_catalog.format('%s ON %I.%I', a.privilege_type, b.nspname, c.relname) AS given, a.grantor, c.relowner AS owner
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS b ON b.oid = c.relnamespace
CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) AS a
WHERE b.nspname <> w.control
  AND pg_catalog.pg_get_userbyid(b.nspowner) <> w.owner
  AND pg_catalog.pg_get_userbyid(a.grantee) = w.owner
UNION
SELECT
    pg_catalog.format('%s on column %I.%I.%I', a.privilege_type, b.nspname, c.relname, t.attname), a.privilege_type = 'SELECT',
    pg_catalog.format('%s (%I) ON %I.%I', a.privilege_type, t.attname, b.nspname, c.relname), a.grantor, c.relowner
FROM pg_catalog.pg_attribute AS t
JOIN pg_catalog.pg_class AS c ON c.oid = t.attrelid
JOIN pg_catalog.pg_namespace AS b ON b.oid = c.relnamespace
CROSS JOIN LATERAL pg_catalog.aclexplode(t.attacl) AS a
WHERE t.attacl IS NOT NULL
  AND b.nspname <> w.control
  AND pg_catalog.pg_get_userbyid(b.nspowner) <> w.owner
  AND pg_catalog.pg_get_userbyid(a.grantee) = w.owner
UNION
SELECT
    pg_catalog.format('%s on schema %I', a.privilege_type, b.nspname), a.privilege_type = 'USAGE',
    pg_catalog.format('%s ON SCHEMA %I', a.privilege_type, b.nspname), a.grantor, b.nspowner
FROM pg_catalog.pg_namespace AS b
CROSS JOIN LATERAL pg_catalog.aclexplode(b.nspacl) AS a
WHERE b.nspname <> w.control
  AND pg_catalog.pg_get_userbyid(b.nspowner) <> w.owner
  AND pg_catalog.pg_get_userbyid(a.grantee) = w.owner
UNION
SELECT
    pg_catalog.format('%s on database %I', a.privilege_type, b.datname), false,
    pg_catalog.format('%s ON DATABASE %I', a.privilege_type, b.datname), a.grantor, b.datdba
FROM pg_catalog.pg_database AS b
CROSS JOIN LATERAL pg_catalog.aclexplode(b.datacl) AS a
WHERE b.datname = pg_catalog.current_database()
  AND a.privilege_type = 'CREATE'
  AND pg_catalog.pg_get_userbyid(a.grantee) = w.owner
