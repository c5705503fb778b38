-- Whether v_zone, by whose clock pg_cron starts its jobs, is another one than UTC, and one of v_jobs names an hour or a day.
v_zone !~* '^((etc/)?(gmt|utc|uct|zulu|universal|greenwich|gmt[+-]?0))?$' AND EXISTS (
    SELECT
    FROM jsonb_array_elements(v_jobs) AS k
    WHERE k.value ->> 'schedule' !~ '( seconds|^[^ ]+ \* \* \* \*)$'
      AND k.value ->> 'name' !~ ' history$'
)
