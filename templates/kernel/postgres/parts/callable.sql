callable (routine, role) AS (
    -- Auditors call what reads; operators call the rest besides. Where a routine is not of this installation, nobody does.
    SELECT c.routine, CASE c.role WHEN 'auditor' THEN w.auditor ELSE w.operator END
    FROM who AS w
    CROSS JOIN (
        VALUES
            ('preview', 'auditor'),
            ('outlook', 'auditor'),
            ('verify', 'auditor'),
            ('run_result', 'auditor'),
            ('orphans', 'auditor'),
            ('in_window', 'auditor'),
            ('schedule_check', 'auditor'),
            ('due_of', 'auditor'),
            ('due_now', 'auditor'),
            ('age_of', 'auditor'),
            ('stamp_result', 'auditor'),
            ('archive_list', 'auditor'),
            ('run', 'operator'),
            ('step', 'operator'),
            ('purge_one', 'operator'),
            ('check_caller', 'operator'),
            ('run_begin', 'operator'),
            ('run_end', 'operator'),
            ('count_backlog', 'operator'),
            ('run_unlock', 'operator'),
            ('pace', 'operator'),
            ('reap', 'operator'),
            ('purge', 'operator'),
            ('purge_begin', 'operator'),
            ('purge_end', 'operator'),
            ('check_rule', 'operator'),
            ('pause', 'operator'),
            ('resume', 'operator'),
            ('pause_rule', 'operator'),
            ('resume_rule', 'operator'),
            ('arm', 'operator'),
            ('set_policy', 'operator'),
            ('drop_policy', 'operator'),
            ('set_hold', 'operator'),
            ('release_hold', 'operator'),
            ('set_setting', 'operator'),
            ('set_windows', 'operator'),
            ('claim_artifacts', 'operator'),
            ('named_artifacts', 'operator'),
            ('finish_artifact', 'operator'),
            ('sweep_leave', 'operator'),
            ('sweep_end', 'operator'),
            ('stamp', 'operator'),
            ('stamp_begin', 'operator'),
            ('stamp_end', 'operator'),
            ('archive_drop', 'operator'),
            ('archive_drop_begin', 'operator'),
            ('archive_prune', 'operator'),
            ('archive_cutoff', 'operator'),
            ('archive_goes_on', 'operator'),
            ('archive_step', 'operator'),
            ('archive_restore', 'operator')
    ) AS c(routine, role)
    UNION ALL
    SELECT pg_catalog.concat(r.rule, '_stamp_step'), w.operator
    FROM who AS w
    CROSS JOIN LATERAL pg_catalog.unnest(w.stamps) AS r(rule)
)
