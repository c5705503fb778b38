-- How routine p of language l is called, in the words and the order in which the files write it.
pg_catalog.concat_ws(
    ' ',
    CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END,
    l.lanname,
    CASE p.provolatile WHEN 'i' THEN 'IMMUTABLE' WHEN 's' THEN 'STABLE' END,
    CASE WHEN p.proisstrict THEN 'STRICT' END,
    CASE WHEN p.prosecdef THEN 'SECURITY DEFINER' END,
    (
        SELECT pg_catalog.string_agg(pg_catalog.concat('SET ', t.told), ' ' ORDER BY s.place)
        -- A server that quotes all names quotes these, too.
        FROM (
            SELECT pg_catalog.regexp_replace(c.value, '"([a-z_][a-z0-9_]*)"', E'\\1', 'g'), c.place
            FROM pg_catalog.unnest(p.proconfig) WITH ORDINALITY AS c(value, place)
        ) AS s(setting, place)
        CROSS JOIN LATERAL (SELECT CASE s.setting
            WHEN pg_catalog.concat('search_path=', pg_catalog.regexp_replace(p.pronamespace::pg_catalog.regnamespace::pg_catalog.text,
                '^"([a-z_][a-z0-9_]*)"$', E'\\1'), ', pg_catalog, pg_temp') THEN 'search_path FROM CURRENT'
            ELSE pg_catalog.concat(pg_catalog.lower(pg_catalog.split_part(s.setting, '=', 1)), ' = ',
                pg_catalog.substr(s.setting, pg_catalog.strpos(s.setting, '=') + 1))
        END) AS t(told)
    ),
    'AS'
)
