{{ session_outside }}

-- Objects that somebody else has created in the control database are refused by name: CREATE TABLE IF NOT EXISTS would take
-- them for windrow's own. A file can refuse only by a statement that cannot be parsed: the unknown name in it is the reason.
--# look for what others have made in {{ control }}
SET @windrow_statement = COALESCE(
    (
        SELECT CONCAT('DO `refused: ', REPLACE(CONCAT(c.object, ' ', c.problem), '`', ''), '`')
        FROM (
            {{ claims | indent(width=12) }}
        ) AS c
        LIMIT 1
    ),
    -- What a rule has taken out of its table comes back by no other rule.
    (SELECT CONCAT('CALL {{ control }}.check_rules(', QUOTE({{ partitioned }}), ')') FROM information_schema.routines AS r
        WHERE r.routine_schema = {{ control_literal }} AND r.routine_name = 'check_rules'),
    'DO 0'
);
--# refuse what others have made in {{ control }}
PREPARE windrow_statement FROM @windrow_statement;
--# refuse to take rules away that have rows out of their table
EXECUTE windrow_statement;
--# forget what others have made in {{ control }}
DEALLOCATE PREPARE windrow_statement;

-- Keys, names and scopes are compared byte by byte: utf8mb4_bin is the only such collation that both servers have.
--# create database {{ control }}
CREATE DATABASE IF NOT EXISTS {{ control }} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
--# set collation of database {{ control }}
ALTER DATABASE {{ control }} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- owner: the definer of all routines, views and events; nobody can log in as it. Everything runs with its rights only:
-- those granted here, and those on the application's tables in 50_grants.sql.
--# create role {{ owner }}
CREATE ROLE IF NOT EXISTS {{ owner }};
--# grant {{ control }} to {{ owner }}
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE TEMPORARY TABLES, EXECUTE, EVENT, TRIGGER ON {{ control }}.* TO {{ owner }};
