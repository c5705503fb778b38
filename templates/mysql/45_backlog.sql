{{ session }}

-- Two views that run with the rights of their reader. The views of 46_metrics.sql read them, with the rights of the owner role.

-- last_left: what the last run that looked at each rule kept, by reason: the first family that it met, and how long ago that
-- ended, if it still exists and the rule is not one of single rows.
--# create view {{ control }}.last_left
CREATE OR REPLACE DEFINER = {{ owner }} SQL SECURITY INVOKER VIEW {{ control }}.last_left (
    rule, reason, families, sample_key, oldest_age_seconds, run_id
) AS
SELECT
    h.rule, h.reason, h.families, h.{{ q }}key{{ q }},
    CASE h.rule
{%- for rule in rules %}
{%- if rule.single or rule.timed and rule.timed.partition %}
        WHEN {{ rule.literal }} THEN NULL
{%- else %}
        WHEN {{ rule.literal }} THEN (
            SELECT TIMESTAMPDIFF(MICROSECOND, {{ rule.ended }}, {{ rule.now_here }}) / 1e6
            FROM {{ rule.table }} AS i
            WHERE i.{{ rule.key }} = {{ rule.key_of_hold }}
        )
{%- endif %}
{%- endfor %}
    END,
    h.run_id
FROM {{ control }}.left_behind AS h;

-- due_now: by rule, how much is due now (the search of a run, ended after 10,000 rows), for how many seconds the oldest has been
-- due, and whether that is all.{% if by_calendar %} A day has 24 hours here: the figures may be an hour's roots off.{% endif %}
--# create view {{ control }}.due_now
CREATE OR REPLACE DEFINER = {{ owner }} SQL SECURITY INVOKER VIEW {{ control }}.due_now (rule, families, age_seconds, complete) AS
{%- for rule in rules %}
{{ <w.due_now control rule limit={10000} schema={schema_literal} /> }}
{%- if not loop.last %}
UNION ALL{% endif %}
{%- endfor %};
