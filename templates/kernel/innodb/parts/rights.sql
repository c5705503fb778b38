SELECT
    CONCAT('procedure ', r.routine_schema, '.', r.routine_name),
    CONCAT('runs with the rights of its ', LOWER(r.security_type), ', and with the sql_mode ', r.sql_mode),
    'run windrow install'
FROM information_schema.routines AS r
WHERE r.routine_schema = DATABASE()
  AND r.routine_comment LIKE '%[body %'
  AND NOT (
      --+ as_made.sql
  )
UNION ALL
--+ views.sql
