{% import "macros.sql" as w -%}
{{ session }}
--# set group_concat_max_len
SET SESSION group_concat_max_len = 1048576;

-- Rows are copied here by the transaction that deletes them, under the locks of the deletion. An archive table has the columns
-- of its source behind three of its own, no constraint but its key, and no foreign key: rows come and go by windrow's routines
-- alone. Columns that the source gets are added when this file is applied again; none is dropped or changed. The view has the
-- columns of the source in their present order, so that a row comes in as it is.
{% for archive in archives %}
-- {{ archive.bare }}: what went of {{ archive.table_name }}.
--# create table {{ archive.archive }}
CREATE TABLE IF NOT EXISTS {{ archive.archive }} (
    windrow_run_id      bigint      NOT NULL,
    windrow_row_id      bigint      NOT NULL AUTO_INCREMENT,
    windrow_archived_at datetime(6) NOT NULL,
    PRIMARY KEY (windrow_run_id, windrow_row_id),
    KEY (windrow_row_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Rows of {{ archive.table_name }} that windrow deleted, with the run and the instant (UTC).';
--# look for the columns of {{ archive.archive }}
SET @windrow_statement = (
    SELECT IF(COUNT(*) = 0, 'DO 0', CONCAT(
        'ALTER TABLE {{ archive.archive_within }} ',
        GROUP_CONCAT(
            'ADD COLUMN `', REPLACE(s.column_name, '`', '``'), '` ', s.column_type,
            COALESCE(CONCAT(' CHARACTER SET ', s.character_set_name, ' COLLATE ', s.collation_name), ''), ' NULL'
            ORDER BY s.ordinal_position
            SEPARATOR ', '
        )
    ))
    FROM information_schema.columns AS s
    LEFT JOIN information_schema.columns AS a
        ON a.table_schema = {{ control_literal }}
        AND a.table_name = {{ archive.archive_literal }}
        AND a.column_name = s.column_name
    WHERE s.table_schema = {{ schema_literal }}
      AND s.table_name = {{ archive.table_literal }}
      AND a.column_name IS NULL
);
--# parse the columns of {{ archive.archive }}
PREPARE windrow_statement FROM @windrow_statement;
--# add the columns of {{ archive.archive }}
EXECUTE windrow_statement;
--# forget the columns of {{ archive.archive }}
DEALLOCATE PREPARE windrow_statement;
--# look for the columns of {{ archive.entry }}
SET @windrow_statement = (
    SELECT CONCAT(
        'CREATE OR REPLACE DEFINER = {{ owner }} SQL SECURITY INVOKER VIEW {{ archive.entry_within }} AS SELECT windrow_run_id, windrow_archived_at, ',
        GROUP_CONCAT('`', REPLACE(s.column_name, '`', '``'), '`' ORDER BY s.ordinal_position SEPARATOR ', '),
        ' FROM {{ archive.archive_within }}'
    )
    FROM information_schema.columns AS s
    WHERE s.table_schema = {{ schema_literal }}
      AND s.table_name = {{ archive.table_literal }}
);
--# parse the view {{ archive.entry }}
PREPARE windrow_statement FROM @windrow_statement;
--# create view {{ archive.entry }}
EXECUTE windrow_statement;
--# forget the view {{ archive.entry }}
DEALLOCATE PREPARE windrow_statement;
{% endfor %}
-- unarchived: what has left the archive.
--# create table {{ control }}.unarchived
CREATE TABLE IF NOT EXISTS {{ control }}.unarchived (
    entry_id   bigint       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    run_id     bigint       NOT NULL,
    action     varchar(20)  NOT NULL CHECK (action IN ('PRUNED', 'DROPPED', 'RESTORED')),
    by_run     bigint       NOT NULL DEFAULT 0,
    table_name varchar(64)  NOT NULL,
    table_rows bigint       NOT NULL,
    `keys`     longtext,
    done_by    varchar(400) NOT NULL,
    done_at    datetime(6)  NOT NULL,
    KEY (run_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Archived rows of run run_id that have left the archive, by table, and how: by_run is the run at whose end they were pruned. Written in the transaction in which they left.';

-- archive_misfit: what keeps rows from being archived as they are. Looked at before a run, and at the end of each batch: by
-- then it holds locks that keep the columns as they are.
--# create procedure {{ control }}.archive_misfit
CREATE PROCEDURE {{ control }}.archive_misfit(IN p_rule varchar(64), OUT o_misfit text)
SQL SECURITY DEFINER
COMMENT 'Why rows of a rule (NULL: of any) cannot be archived as they are: a table and its column; NULL where nothing is in the way. [body @body@]'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_source longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_entry  longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_hidden text;
    SET SESSION group_concat_max_len = 1048576;
    SET o_misfit = NULL;
{%- for archive in archives %}
    IF o_misfit IS NULL AND (p_rule IS NULL OR p_rule IN ({{ archive.rule_literals }})) THEN
        SELECT GROUP_CONCAT({{ w::column_text() }} ORDER BY c.ordinal_position SEPARATOR ', '), MIN(IF(c.extra LIKE '%INVISIBLE%', c.column_name, NULL))
        INTO v_source, v_hidden
        FROM information_schema.columns AS c
        WHERE c.table_schema = {{ schema_literal }}
          AND c.table_name = {{ archive.table_literal }};
        SELECT GROUP_CONCAT({{ w::column_text() }} ORDER BY c.ordinal_position SEPARATOR ', ')
        INTO v_entry
        FROM information_schema.columns AS c
        WHERE c.table_schema = {{ control_literal }}
          AND c.table_name = {{ archive.entry_literal }}
          AND c.ordinal_position > 2;
        IF v_hidden IS NOT NULL THEN
            SET o_misfit = CONCAT({{ archive.table_literal }}, '.', v_hidden, ' is invisible, and would not be copied');
        ELSEIF NOT v_source <=> v_entry THEN
            SELECT MIN(CONCAT(
                {{ archive.table_literal }}, '.', c.column_name,
                COALESCE(CONCAT(' is ', c.column_type, ', and ', e.column_type, ' there'), ' is not there')
            ))
            INTO o_misfit
            FROM information_schema.columns AS c
            LEFT JOIN information_schema.columns AS e
                ON e.table_schema = {{ control_literal }}
                AND e.table_name = {{ archive.entry_literal }}
                AND e.column_name = c.column_name
            WHERE c.table_schema = {{ schema_literal }}
              AND c.table_name = {{ archive.table_literal }}
              AND NOT (e.column_type <=> c.column_type AND e.character_set_name <=> c.character_set_name);
            SET o_misfit = COALESCE(o_misfit, CONCAT('columns of ', {{ archive.table_literal }}, ' are gone, or have another place'));
        END IF;
    END IF;
{%- endfor %}
    SET SESSION group_concat_max_len = v_length;
END;
--# create procedure {{ control }}.check_archive
CREATE PROCEDURE {{ control }}.check_archive(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Raises an error where archive_misfit() finds something. windrow install adds new columns; a type is changed by hand, in the archive table. Example: CALL {{ control }}.check_archive(NULL); [body @body@]'
BEGIN
    DECLARE v_misfit text;
    DECLARE v_text   varchar(128);
    CALL {{ control }}.archive_misfit(p_rule, v_misfit);
    IF v_misfit IS NOT NULL THEN
        SET v_text = CONCAT(LEFT(CONCAT('the archive does not fit: ', v_misfit), 104), '; run windrow install');
        SIGNAL SQLSTATE '42000' SET MESSAGE_TEXT = v_text;
    END IF;
END;

-- check_copied: as many rows were deleted as were copied before, or the batch fails.
--# create procedure {{ control }}.check_copied
CREATE PROCEDURE {{ control }}.check_copied(IN p_table varchar(64), IN p_copied bigint, IN p_deleted bigint)
SQL SECURITY DEFINER
COMMENT 'Raises an error unless as many rows of a table were deleted as were copied into its archive. [body @body@]'
BEGIN
    DECLARE v_text varchar(128);
    IF p_copied <> p_deleted THEN
        SET v_text = LEFT(CONCAT(p_copied, ' rows of ', p_table, ' were archived, and ', p_deleted, ' deleted; the batch is rolled back'), 128);
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
    END IF;
END;

-- check_uninstall: archived rows exist nowhere else. They go only where someone said so, by: SET @windrow_drop_archive = 'yes';
--# create procedure {{ control }}.check_uninstall
CREATE PROCEDURE {{ control }}.check_uninstall()
SQL SECURITY DEFINER
COMMENT 'Raises an error while there are archived rows, unless @windrow_drop_archive is ''yes''; then no run begins any more. [body @body@]'
BEGIN
    IF COALESCE(@windrow_drop_archive, '') <> 'yes' THEN
        IF COALESCE(GET_LOCK({{ run_lock }}, 10), 0) = 0 THEN
            CALL {{ control }}.not_ready('a run is in progress', 'CALL {{ control }}.pause() and wait for its end');
        END IF;
{%- for archive in archives %}
        IF EXISTS (SELECT 1 FROM {{ archive.archive }}) THEN
            CALL {{ control }}.not_ready(CONCAT('there are rows in ', {{ archive.archive_literal }}), 'copy them, then SET @windrow_drop_archive = ''yes'' (--drop-archive)');
        END IF;
{%- endfor %}
    END IF;
END;
