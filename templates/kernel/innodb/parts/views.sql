-- Views that have other rights than they were made with: their owner's, where they count what the reader may not see.
SELECT
    CONCAT('view ', v.table_schema, '.', v.table_name) AS object,
    CONCAT('runs with the rights of its ', LOWER(v.security_type)) AS problem, 'run windrow install' AS remedy
FROM information_schema.views AS v
WHERE v.table_schema = DATABASE()
  AND v.security_type <> CASE
      WHEN v.table_name IN ('undeletable', 'backlog', 'metrics') THEN 'DEFINER'
      WHEN v.table_name IN (
          'settings', 'open_hours', 'scheduling', 'sweeping', 'last_look', 'run_count', 'index_state', 'left_behind', 'last_left',
          'due_now', 'backlog_now', 'arming'
      ) THEN 'INVOKER'
      ELSE v.security_type
  END
