-- The rules of the spec, in the order in which a run applies them. Limits that are the same in all of them are listed once.
--# register the rules
SELECT register_rule(
    r.position::integer,
    r.document || jsonb_build_object('limits', d.document -> 'limits' || coalesce(r.document -> 'limits', '{}'))
)
FROM (SELECT current_setting('windrow.document')::jsonb AS document) AS d
CROSS JOIN LATERAL jsonb_array_elements(d.document -> 'rules') WITH ORDINALITY AS r(document, position);
