-- The events of the schedule, and what is not as they were made. What is `beside` their bodies windrow diff is told here.
SELECT
    t.name,
    CASE
        WHEN t.event_name IS NULL OR t.status <> 'ENABLED' THEN 'notice'
        WHEN NOT t.owned OR NOT t.known OR t.differs <> '' THEN 'violation'
        ELSE 'ok'
    END AS severity,
    CASE
        WHEN t.event_name IS NULL THEN 'no event: nothing runs by itself; windrow install makes it'
        WHEN t.status = 'DISABLED'
            THEN CONCAT('the event is disabled: nothing runs by itself; ALTER EVENT ', DATABASE(), '.', t.name, ' ENABLE')
        WHEN t.status <> 'ENABLED' THEN CONCAT('the event is ', t.status,
            ': it runs on the source of this replica; once this is the source: ALTER EVENT ', DATABASE(), '.', t.name, ' ENABLE')
        WHEN NOT t.owned THEN CONCAT('the definer of the event is ', t.definer, ', not the owner role; run windrow install')
        WHEN NOT t.known THEN 'the event was edited by hand; windrow install puts it back'
        WHEN t.differs <> '' THEN CONCAT('the event was edited by hand: ', t.differs, '; windrow install puts it back')
        ELSE COALESCE(CONCAT('last executed at ', t.last_executed), 'not executed so far')
    END AS detail,
    t.status = 'DISABLED' OR t.differs <> '' AS beside,
    CASE WHEN t.event_name IS NULL THEN 'missing' WHEN t.status = 'DISABLED' THEN 'disabled' WHEN t.status <> 'ENABLED' THEN 'replica' END
        AS idle
FROM (
    SELECT
        j.name, e.event_name, e.status, e.definer, e.last_executed,
        e.definer IN (s.owner, CONCAT(s.owner, '@%'), CONCAT(s.owner, '@')) AS owned,
        e.event_comment LIKE CONCAT('%[body ',
            LEFT(SHA2(TRIM(REGEXP_REPLACE(REPLACE(REPLACE(REGEXP_REPLACE(REGEXP_REPLACE(e.event_definition, '(?m)^[[:blank:]]*--.*$', ''),
            '(?s)/[*]M!.*?[*]/', ''), '''', ''), CHAR(92 USING utf8mb4), ''), '[[:space:]]+', ' ')), 256), 12), ']') AS known,
        CONCAT_WS(
            ', ',
            CASE
                WHEN e.interval_value IS NULL THEN CONCAT('it starts once, at ', e.execute_at)
                WHEN CONCAT(e.interval_value, ' ', e.interval_field) <> j.every
                    THEN CONCAT('it starts every ', e.interval_value, ' ', e.interval_field, ' instead of every ', j.every)
            END,
            IF(e.starts <> j.starts, CONCAT('it counts from ', e.starts, ' instead of ', j.starts), NULL),
            CONCAT('it ends at ', e.ends),
            IF(e.on_completion <> 'PRESERVE', 'it is dropped when it ends', NULL),
            IF(e.time_zone <> '+00:00', CONCAT('its time zone is ', e.time_zone, ' instead of +00:00'), NULL),
            IF(e.sql_mode <> 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
                CONCAT('its sql_mode is ', e.sql_mode), NULL)
        ) AS differs
    FROM spec AS s
    CROSS JOIN known_job AS j
    LEFT JOIN information_schema.events AS e ON e.event_schema = DATABASE() AND e.event_name = j.name
) AS t
