-- Whether one of the next starts by the clock of v_zone falls in a window. Days of the month count as any.
EXISTS (
    SELECT
    FROM generate_series(date_trunc('minute', clock_timestamp()), clock_timestamp() + interval '8 days', interval '1 minute') AS m(minute)
    CROSS JOIN LATERAL (SELECT m.minute AT TIME ZONE v_zone AS at) AS t
    WHERE EXISTS (
        SELECT
        FROM jsonb_to_recordset(s.document -> 'jobs') AS j(minutes integer[], hours integer[], weekdays integer[])
        WHERE (j.minutes IS NULL OR extract(minute FROM t.at)::integer = ANY (j.minutes))
          AND (j.hours IS NULL OR extract(hour FROM t.at)::integer = ANY (j.hours))
          AND (j.weekdays IS NULL OR extract(dow FROM t.at)::integer = ANY (j.weekdays))
    )
      AND in_window(m.minute)
)
