r.security_type = IF(
    r.routine_name IN (
        'add_column', 'add_key', 'delete_listed', 'fill_spec', 'let_read', 'make_index', 'run_lenient', 'run_text', 'run_texts'
    ),
    'INVOKER', 'DEFINER'
)
AND r.sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'
