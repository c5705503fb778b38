-- The tables of Apache Airflow 3.3 on MySQL 8: every table, column, default, key, index and foreign key.
--
-- Taken from the schema on PostgreSQL, with the types that Airflow's models have on MySQL: instants are timestamp(6), uuids
-- char(32), as a fresh `airflow db migrate` makes them (one that was upgraded from Airflow 2 has varchar(36) for the keys of task
-- instances), identifiers compare byte by byte (utf8mb3_bin, or they would not fit an index), names and addresses of assets are latin1. There are no partial indexes: the two of dag_run are whole.

CREATE TABLE alembic_version (
    version_num varchar(32) NOT NULL,
    PRIMARY KEY (version_num)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE asset (
    id int NOT NULL AUTO_INCREMENT,
    name varchar(1500) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
    uri varchar(1500) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
    `group` varchar(1500) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
    extra json NOT NULL,
    created_at timestamp(6) NOT NULL,
    updated_at timestamp(6) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY idx_asset_name_uri_unique (name, uri)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE asset_active (
    name varchar(1500) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
    uri varchar(1500) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
    PRIMARY KEY (name, uri),
    UNIQUE KEY idx_asset_active_name_unique (name),
    UNIQUE KEY idx_asset_active_uri_unique (uri),
    CONSTRAINT asset_active_asset_name_uri_fkey
        FOREIGN KEY (name, uri) REFERENCES asset (name, uri) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE asset_alias (
    id int NOT NULL AUTO_INCREMENT,
    name varchar(1500) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
    `group` varchar(1500) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY idx_asset_alias_name_unique (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE asset_alias_asset (
    alias_id int NOT NULL,
    asset_id int NOT NULL,
    PRIMARY KEY (alias_id, asset_id),
    KEY idx_asset_alias_asset_alias_id (alias_id),
    KEY idx_asset_alias_asset_asset_id (asset_id),
    CONSTRAINT asset_alias_asset_alias_id_fkey
        FOREIGN KEY (alias_id) REFERENCES asset_alias (id) ON DELETE CASCADE,
    CONSTRAINT asset_alias_asset_asset_id_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE asset_event (
    id int NOT NULL AUTO_INCREMENT,
    asset_id int NOT NULL,
    extra json NOT NULL,
    source_task_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    source_dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    source_run_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    source_map_index int DEFAULT -1,
    timestamp timestamp(6) NOT NULL,
    partition_key varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    PRIMARY KEY (id),
    KEY idx_asset_id_timestamp (asset_id, timestamp)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE asset_alias_asset_event (
    alias_id int NOT NULL,
    event_id int NOT NULL,
    PRIMARY KEY (alias_id, event_id),
    KEY idx_asset_alias_asset_event_alias_id (alias_id),
    KEY idx_asset_alias_asset_event_event_id (event_id),
    CONSTRAINT asset_alias_asset_event_alias_id_fkey
        FOREIGN KEY (alias_id) REFERENCES asset_alias (id) ON DELETE CASCADE,
    CONSTRAINT asset_alias_asset_event_event_id_fkey
        FOREIGN KEY (event_id) REFERENCES asset_event (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE asset_state_store (
    asset_id int NOT NULL,
    `key` varchar(512) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    value mediumtext NOT NULL,
    updated_at timestamp(6) NOT NULL,
    last_updated_by_kind varchar(16),
    last_updated_by_dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    last_updated_by_run_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    last_updated_by_task_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    last_updated_by_map_index int,
    PRIMARY KEY (asset_id, `key`),
    CONSTRAINT asset_state_store_asset_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE backfill (
    id int NOT NULL AUTO_INCREMENT,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    from_date timestamp(6) NOT NULL,
    to_date timestamp(6) NOT NULL,
    dag_run_conf json NOT NULL,
    is_paused tinyint(1),
    reprocess_behavior varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    max_active_runs int NOT NULL,
    created_at timestamp(6) NOT NULL,
    completed_at timestamp(6) NULL,
    updated_at timestamp(6) NOT NULL,
    triggering_user_name varchar(512),
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE connection_test_request (
    id char(32) NOT NULL,
    token varchar(64) NOT NULL,
    connection_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    state varchar(20) NOT NULL,
    result_message varchar(2000),
    created_at timestamp(6) NOT NULL,
    updated_at timestamp(6) NOT NULL,
    executor varchar(256),
    queue varchar(256),
    conn_type varchar(500) NOT NULL,
    host varchar(500),
    login mediumtext,
    `schema` varchar(500),
    port int,
    commit_on_success tinyint(1) NOT NULL DEFAULT 0,
    is_encrypted tinyint(1) NOT NULL DEFAULT 0,
    is_extra_encrypted tinyint(1) NOT NULL DEFAULT 0,
    active_connection_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    team_name varchar(50),
    password mediumtext,
    extra mediumtext,
    PRIMARY KEY (id),
    CONSTRAINT connection_test_request_token_uq UNIQUE (token),
    CONSTRAINT uq_connection_test_request_active_conn UNIQUE (active_connection_id),
    KEY idx_connection_test_request_state_created_at (state, created_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_bundle (
    name varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    active tinyint(1),
    version varchar(200),
    last_refreshed timestamp(6) NULL,
    signed_url_template mediumtext,
    template_params json,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag (
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    is_paused tinyint(1) NOT NULL,
    is_stale tinyint(1) NOT NULL,
    exceeds_max_non_backfill tinyint(1) NOT NULL DEFAULT 0,
    last_parsed_time timestamp(6) NULL,
    last_parse_duration double,
    last_expired timestamp(6) NULL,
    fileloc varchar(2000),
    relative_fileloc varchar(2000),
    bundle_name varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    bundle_version varchar(200),
    owners varchar(2000),
    dag_display_name varchar(2000),
    description mediumtext,
    timetable_type varchar(255) NOT NULL,
    timetable_summary mediumtext,
    timetable_description varchar(1000),
    timetable_partitioned tinyint(1) NOT NULL DEFAULT 0,
    timetable_periodic tinyint(1) NOT NULL DEFAULT 0,
    partition_mapper_info json NOT NULL,
    asset_expression json,
    deadline json,
    max_active_tasks int NOT NULL,
    max_active_runs int,
    max_consecutive_failed_dag_runs int NOT NULL,
    has_task_concurrency_limits tinyint(1) NOT NULL,
    has_import_errors tinyint(1) DEFAULT 0,
    fail_fast tinyint(1) NOT NULL DEFAULT 0,
    allowed_run_types json,
    next_dagrun timestamp(6) NULL,
    next_dagrun_data_interval_start timestamp(6) NULL,
    next_dagrun_data_interval_end timestamp(6) NULL,
    next_dagrun_partition_key varchar(255),
    next_dagrun_partition_date timestamp(6) NULL,
    next_dagrun_create_after timestamp(6) NULL,
    PRIMARY KEY (dag_id),
    KEY idx_next_dagrun_create_after (next_dagrun_create_after),
    CONSTRAINT dag_bundle_name_fkey
        FOREIGN KEY (bundle_name) REFERENCES dag_bundle (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE asset_dag_run_queue (
    asset_id int NOT NULL,
    target_dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    created_at timestamp(6) NOT NULL,
    PRIMARY KEY (asset_id, target_dag_id),
    KEY idx_asset_dag_run_queue_target_dag_id (target_dag_id),
    CONSTRAINT adrq_asset_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT adrq_dag_fkey
        FOREIGN KEY (target_dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_favorite (
    user_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    PRIMARY KEY (user_id, dag_id),
    CONSTRAINT dag_favorite_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_owner_attributes (
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    owner varchar(500) NOT NULL,
    link varchar(500) NOT NULL,
    PRIMARY KEY (dag_id, owner),
    CONSTRAINT `dag.dag_id`
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_priority_parsing_request (
    id varchar(32) NOT NULL,
    bundle_name varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    relative_fileloc varchar(2000) NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_schedule_asset_alias_reference (
    alias_id int NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    created_at timestamp(6) NOT NULL,
    updated_at timestamp(6) NOT NULL,
    PRIMARY KEY (alias_id, dag_id),
    KEY idx_dag_schedule_asset_alias_reference_dag_id (dag_id),
    CONSTRAINT dsaar_asset_alias_fkey
        FOREIGN KEY (alias_id) REFERENCES asset_alias (id) ON DELETE CASCADE,
    CONSTRAINT dsaar_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_schedule_asset_name_reference (
    name varchar(1500) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    created_at timestamp(6) NOT NULL,
    PRIMARY KEY (name, dag_id),
    KEY idx_dag_schedule_asset_name_reference_dag_id (dag_id),
    CONSTRAINT dsanr_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_schedule_asset_reference (
    asset_id int NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    allow_producer_teams json,
    allow_global_producers tinyint(1) NOT NULL DEFAULT 1,
    created_at timestamp(6) NOT NULL,
    updated_at timestamp(6) NOT NULL,
    PRIMARY KEY (asset_id, dag_id),
    KEY idx_dag_schedule_asset_reference_dag_id (dag_id),
    CONSTRAINT dsar_asset_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT dsar_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_schedule_asset_uri_reference (
    uri varchar(1500) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    created_at timestamp(6) NOT NULL,
    PRIMARY KEY (uri, dag_id),
    KEY idx_dag_schedule_asset_uri_reference_dag_id (dag_id),
    CONSTRAINT dsaur_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_tag (
    name varchar(100) NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    PRIMARY KEY (name, dag_id),
    KEY idx_dag_tag_dag_id (dag_id),
    CONSTRAINT dag_tag_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_version (
    id char(32) NOT NULL,
    version_number int NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    bundle_name varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    bundle_version varchar(250),
    version_data json,
    created_at timestamp(6) NOT NULL,
    last_updated timestamp(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT dag_id_v_name_v_number_unique_constraint UNIQUE (dag_id, version_number),
    CONSTRAINT dag_version_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_code (
    id char(32) NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    fileloc varchar(2000) NOT NULL,
    created_at timestamp(6) NOT NULL,
    last_updated timestamp(6) NOT NULL,
    source_code mediumtext NOT NULL,
    source_code_hash varchar(32) NOT NULL,
    dag_version_id char(32) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT dag_code_dag_version_id_uq UNIQUE (dag_version_id),
    CONSTRAINT dag_code_dag_version_id_fkey
        FOREIGN KEY (dag_version_id) REFERENCES dag_version (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_warning (
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    warning_type varchar(50) NOT NULL,
    message mediumtext NOT NULL,
    timestamp timestamp(6) NOT NULL,
    PRIMARY KEY (dag_id, warning_type),
    KEY idx_dag_warning_dag_id (dag_id),
    CONSTRAINT dcw_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE import_error (
    id int NOT NULL AUTO_INCREMENT,
    timestamp timestamp(6) NULL,
    filename varchar(1024),
    bundle_name varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    stacktrace mediumtext,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE job (
    id int NOT NULL AUTO_INCREMENT,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    state varchar(20),
    job_type varchar(30),
    start_date timestamp(6) NULL,
    end_date timestamp(6) NULL,
    latest_heartbeat timestamp(6) NULL,
    executor_class varchar(500),
    hostname varchar(500),
    unixname varchar(1000),
    PRIMARY KEY (id),
    KEY idx_job_dag_id (dag_id),
    KEY idx_job_state_heartbeat (state, latest_heartbeat),
    KEY job_type_heart (job_type, latest_heartbeat)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE log (
    id int NOT NULL AUTO_INCREMENT,
    dttm timestamp(6) NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    task_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    map_index int,
    event varchar(60) NOT NULL,
    logical_date timestamp(6) NULL,
    run_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    owner varchar(500),
    owner_display_name varchar(500),
    extra mediumtext,
    try_number int,
    PRIMARY KEY (id),
    KEY idx_log_dttm (dttm),
    KEY idx_log_event (event),
    KEY idx_log_task_instance (dag_id, task_id, run_id, map_index, try_number)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE log_template (
    id int NOT NULL AUTO_INCREMENT,
    filename mediumtext NOT NULL,
    elasticsearch_id mediumtext NOT NULL,
    created_at timestamp(6) NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_run (
    id int NOT NULL AUTO_INCREMENT,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    queued_at timestamp(6) NULL,
    logical_date timestamp(6) NULL,
    start_date timestamp(6) NULL,
    end_date timestamp(6) NULL,
    state varchar(50),
    run_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    creating_job_id int,
    run_type varchar(50) NOT NULL,
    triggered_by varchar(50),
    triggering_user_name varchar(512),
    conf json,
    data_interval_start timestamp(6) NULL,
    data_interval_end timestamp(6) NULL,
    run_after timestamp(6) NOT NULL,
    last_scheduling_decision timestamp(6) NULL,
    log_template_id int,
    created_at timestamp(6) NULL,
    updated_at timestamp(6) NULL,
    clear_number int NOT NULL DEFAULT 0,
    backfill_id int,
    bundle_version varchar(250),
    scheduled_by_job_id int,
    context_carrier json,
    span_status varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL DEFAULT 'not_started',
    created_dag_version_id char(32),
    partition_key varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    partition_date timestamp(6) NULL,
    PRIMARY KEY (id),
    CONSTRAINT dag_run_dag_id_logical_date_key UNIQUE (dag_id, logical_date),
    CONSTRAINT dag_run_dag_id_run_id_key UNIQUE (dag_id, run_id),
    KEY dag_id_state (dag_id, state),
    KEY idx_dag_run_created_dag_version_id (created_dag_version_id),
    KEY idx_dag_run_dag_id (dag_id),
    KEY idx_dag_run_queued_dags (state, dag_id),
    KEY idx_dag_run_run_after (run_after),
    KEY idx_dag_run_running_dags (state, dag_id),
    CONSTRAINT created_dag_version_id_fkey
        FOREIGN KEY (created_dag_version_id) REFERENCES dag_version (id) ON DELETE SET NULL,
    CONSTRAINT dag_run_backfill_id_fkey
        FOREIGN KEY (backfill_id) REFERENCES backfill (id),
    CONSTRAINT task_instance_log_template_id_fkey
        FOREIGN KEY (log_template_id) REFERENCES log_template (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE asset_partition_dag_run (
    id int NOT NULL AUTO_INCREMENT,
    target_dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    created_dag_run_id int,
    partition_key varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    partition_date timestamp(6) NULL,
    rollup_fingerprint json,
    created_at timestamp(6) NOT NULL,
    updated_at timestamp(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT apdr_created_dag_run_id_fkey
        FOREIGN KEY (created_dag_run_id) REFERENCES dag_run (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE backfill_dag_run (
    id int NOT NULL AUTO_INCREMENT,
    backfill_id int NOT NULL,
    dag_run_id int,
    exception_reason varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    logical_date timestamp(6) NULL,
    partition_key varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    sort_ordinal int NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT ix_bdr_backfill_id_dag_run_id UNIQUE (backfill_id, dag_run_id),
    CONSTRAINT bdr_backfill_fkey
        FOREIGN KEY (backfill_id) REFERENCES backfill (id) ON DELETE CASCADE,
    CONSTRAINT bdr_dag_run_fkey
        FOREIGN KEY (dag_run_id) REFERENCES dag_run (id) ON DELETE SET NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_run_note (
    user_id varchar(128),
    dag_run_id int NOT NULL,
    content varchar(1000),
    created_at timestamp(6) NOT NULL,
    updated_at timestamp(6) NOT NULL,
    PRIMARY KEY (dag_run_id),
    CONSTRAINT dag_run_note_dr_fkey
        FOREIGN KEY (dag_run_id) REFERENCES dag_run (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dagrun_asset_event (
    dag_run_id int NOT NULL,
    event_id int NOT NULL,
    PRIMARY KEY (dag_run_id, event_id),
    KEY idx_dagrun_asset_events_dag_run_id (dag_run_id),
    KEY idx_dagrun_asset_events_event_id (event_id),
    CONSTRAINT dagrun_asset_event_dag_run_id_fkey
        FOREIGN KEY (dag_run_id) REFERENCES dag_run (id) ON DELETE CASCADE,
    CONSTRAINT dagrun_asset_event_event_id_fkey
        FOREIGN KEY (event_id) REFERENCES asset_event (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE partitioned_asset_key_log (
    id int NOT NULL AUTO_INCREMENT,
    asset_id int NOT NULL,
    asset_event_id int NOT NULL,
    asset_partition_dag_run_id int NOT NULL,
    source_partition_key varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    target_dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    target_partition_key varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    created_at timestamp(6) NOT NULL,
    PRIMARY KEY (id),
    KEY idx_pakl_apdr_id (asset_partition_dag_run_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE revoked_token (
    jti varchar(32) NOT NULL,
    exp timestamp(6) NOT NULL,
    PRIMARY KEY (jti),
    KEY idx_revoked_token_exp (exp)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE serialized_dag (
    id char(32) NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    data json,
    data_compressed blob,
    created_at timestamp(6) NOT NULL,
    last_updated timestamp(6) NOT NULL,
    dag_hash varchar(32) NOT NULL,
    dag_version_id char(32) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT serialized_dag_dag_version_id_uq UNIQUE (dag_version_id),
    CONSTRAINT serialized_dag_dag_version_id_fkey
        FOREIGN KEY (dag_version_id) REFERENCES dag_version (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE deadline_alert (
    id char(32) NOT NULL,
    created_at timestamp(6) NOT NULL,
    serialized_dag_id char(32) NOT NULL,
    name varchar(250),
    description mediumtext,
    reference json NOT NULL,
    `interval` json NOT NULL,
    callback_def json NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT deadline_alert_serialized_dag_id_fkey
        FOREIGN KEY (serialized_dag_id) REFERENCES serialized_dag (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE task_inlet_asset_reference (
    asset_id int NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    task_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    created_at timestamp(6) NOT NULL,
    updated_at timestamp(6) NOT NULL,
    PRIMARY KEY (asset_id, dag_id, task_id),
    KEY idx_task_inlet_asset_reference_dag_id (dag_id),
    CONSTRAINT tiar_asset_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT tiar_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE task_outlet_asset_reference (
    asset_id int NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    task_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    allow_consumer_teams json,
    allow_global_consumers tinyint(1) NOT NULL DEFAULT 1,
    created_at timestamp(6) NOT NULL,
    updated_at timestamp(6) NOT NULL,
    PRIMARY KEY (asset_id, dag_id, task_id),
    KEY idx_task_outlet_asset_reference_dag_id (dag_id),
    CONSTRAINT toar_asset_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT toar_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE task_state_store (
    id int NOT NULL AUTO_INCREMENT,
    dag_run_id int NOT NULL,
    task_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    map_index int NOT NULL DEFAULT -1,
    `key` varchar(512) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    run_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    value mediumtext NOT NULL,
    updated_at timestamp(6) NOT NULL,
    expires_at timestamp(6) NULL,
    PRIMARY KEY (id),
    CONSTRAINT task_state_store_uq UNIQUE (dag_run_id, task_id, map_index, `key`),
    KEY idx_task_state_store_expires_at (expires_at),
    KEY idx_task_state_store_lookup (dag_id, run_id, task_id, map_index),
    CONSTRAINT task_state_store_dag_run_fkey
        FOREIGN KEY (dag_run_id) REFERENCES dag_run (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE team (
    name varchar(50) NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE connection (
    id int NOT NULL AUTO_INCREMENT,
    conn_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    conn_type varchar(500) NOT NULL,
    description mediumtext,
    host varchar(500),
    `schema` varchar(500),
    login mediumtext,
    port int,
    team_name varchar(50),
    password mediumtext,
    extra mediumtext,
    is_encrypted tinyint(1) NOT NULL,
    is_extra_encrypted tinyint(1) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT connection_conn_id_uq UNIQUE (conn_id),
    CONSTRAINT connection_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE SET NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE dag_bundle_team (
    dag_bundle_name varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    team_name varchar(50) NOT NULL,
    PRIMARY KEY (dag_bundle_name, team_name),
    UNIQUE KEY idx_dag_bundle_team_dag_bundle_name (dag_bundle_name),
    KEY idx_dag_bundle_team_team_name (team_name),
    CONSTRAINT dag_bundle_team_dag_bundle_name_fkey
        FOREIGN KEY (dag_bundle_name) REFERENCES dag_bundle (name) ON DELETE CASCADE,
    CONSTRAINT dag_bundle_team_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE slot_pool (
    id int NOT NULL AUTO_INCREMENT,
    pool varchar(256),
    slots int NOT NULL,
    description mediumtext,
    include_deferred tinyint(1) NOT NULL,
    team_name varchar(50),
    PRIMARY KEY (id),
    CONSTRAINT slot_pool_pool_uq UNIQUE (pool),
    CONSTRAINT slot_pool_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE SET NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE `trigger` (
    id int NOT NULL AUTO_INCREMENT,
    classpath varchar(1000) NOT NULL,
    kwargs mediumtext NOT NULL,
    created_date timestamp(6) NOT NULL,
    triggerer_id int,
    queue varchar(256),
    team_name varchar(50),
    PRIMARY KEY (id),
    KEY idx_trigger_team_name (team_name),
    CONSTRAINT trigger_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE SET NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE asset_watcher (
    name varchar(1500) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
    asset_id int NOT NULL,
    trigger_id int NOT NULL,
    PRIMARY KEY (asset_id, trigger_id),
    KEY idx_awm_trigger_id (trigger_id),
    CONSTRAINT awm_asset_id_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT awm_trigger_id_fkey
        FOREIGN KEY (trigger_id) REFERENCES `trigger` (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE callback (
    id char(32) NOT NULL,
    type varchar(20) NOT NULL,
    fetch_method varchar(20) NOT NULL,
    data json NOT NULL,
    bundle_name varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    state varchar(10),
    output mediumtext,
    priority_weight int NOT NULL,
    created_at timestamp(6) NOT NULL,
    trigger_id int,
    PRIMARY KEY (id),
    CONSTRAINT callback_trigger_id_fkey
        FOREIGN KEY (trigger_id) REFERENCES `trigger` (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE deadline (
    id char(32) NOT NULL,
    created_at timestamp(6) NOT NULL,
    last_updated_at timestamp(6) NOT NULL,
    dagrun_id int,
    deadline_time timestamp(6) NOT NULL,
    missed tinyint(1) NOT NULL,
    callback_id char(32) NOT NULL,
    deadline_alert_id char(32),
    PRIMARY KEY (id),
    KEY deadline_callback_id_idx (callback_id),
    KEY deadline_missed_deadline_time_idx (missed, deadline_time),
    CONSTRAINT deadline_callback_id_fkey
        FOREIGN KEY (callback_id) REFERENCES callback (id) ON DELETE CASCADE,
    CONSTRAINT deadline_dagrun_id_fkey
        FOREIGN KEY (dagrun_id) REFERENCES dag_run (id) ON DELETE CASCADE,
    CONSTRAINT deadline_deadline_alert_id_fkey
        FOREIGN KEY (deadline_alert_id) REFERENCES deadline_alert (id) ON DELETE SET NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE task_instance (
    id char(32) NOT NULL,
    task_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    run_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    map_index int NOT NULL DEFAULT -1,
    start_date timestamp(6) NULL,
    end_date timestamp(6) NULL,
    duration double,
    state varchar(20),
    try_number int NOT NULL,
    max_tries int NOT NULL DEFAULT -1,
    hostname varchar(1000),
    unixname varchar(1000),
    pool varchar(256) NOT NULL,
    pool_slots int NOT NULL,
    queue varchar(256),
    priority_weight int,
    operator varchar(1000),
    custom_operator_name varchar(1000),
    queued_dttm timestamp(6) NULL,
    scheduled_dttm timestamp(6) NULL,
    queued_by_job_id int,
    last_heartbeat_at timestamp(6) NULL,
    pid int,
    executor varchar(1000),
    executor_config blob,
    updated_at timestamp(6) NULL,
    rendered_map_index varchar(250),
    context_carrier json,
    span_status varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL DEFAULT 'not_started',
    external_executor_id mediumtext,
    trigger_id int,
    trigger_timeout timestamp(6) NULL,
    next_method varchar(1000),
    next_kwargs json,
    task_display_name varchar(2000),
    dag_version_id char(32),
    retry_delay_override double,
    retry_reason varchar(500),
    PRIMARY KEY (id),
    CONSTRAINT task_instance_composite_key UNIQUE (dag_id, task_id, run_id, map_index),
    KEY ti_dag_run (dag_id, run_id),
    KEY ti_dag_state (dag_id, state),
    KEY ti_dag_version_id (dag_version_id),
    KEY ti_heartbeat (last_heartbeat_at),
    KEY ti_pool (pool, state, priority_weight),
    KEY ti_state (state),
    KEY ti_state_lkp (dag_id, task_id, run_id, state),
    KEY ti_trigger_id (trigger_id),
    CONSTRAINT task_instance_dag_run_fkey
        FOREIGN KEY (dag_id, run_id) REFERENCES dag_run (dag_id, run_id) ON DELETE CASCADE,
    CONSTRAINT task_instance_dag_version_id_fkey
        FOREIGN KEY (dag_version_id) REFERENCES dag_version (id) ON DELETE RESTRICT,
    CONSTRAINT task_instance_trigger_id_fkey
        FOREIGN KEY (trigger_id) REFERENCES `trigger` (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE hitl_detail (
    ti_id char(32) NOT NULL,
    options json NOT NULL,
    subject mediumtext NOT NULL,
    body mediumtext,
    defaults json,
    multiple tinyint(1),
    params json NOT NULL,
    assignees json,
    created_at timestamp(6) NOT NULL,
    responded_at timestamp(6) NULL,
    responded_by json,
    chosen_options json,
    params_input json NOT NULL,
    PRIMARY KEY (ti_id),
    CONSTRAINT hitl_detail_ti_fkey
        FOREIGN KEY (ti_id) REFERENCES task_instance (id) ON UPDATE CASCADE ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE rendered_task_instance_fields (
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    task_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    run_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    map_index int NOT NULL DEFAULT -1,
    rendered_fields json NOT NULL,
    k8s_pod_yaml json,
    PRIMARY KEY (dag_id, task_id, run_id, map_index),
    CONSTRAINT rtif_ti_fkey
        FOREIGN KEY (dag_id, task_id, run_id, map_index) REFERENCES task_instance (dag_id, task_id, run_id, map_index) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE task_instance_history (
    task_instance_id char(32) NOT NULL,
    task_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    run_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    map_index int NOT NULL DEFAULT -1,
    try_number int NOT NULL,
    start_date timestamp(6) NULL,
    end_date timestamp(6) NULL,
    duration double,
    state varchar(20),
    max_tries int DEFAULT -1,
    hostname varchar(1000),
    unixname varchar(1000),
    pool varchar(256) NOT NULL,
    pool_slots int NOT NULL,
    queue varchar(256),
    priority_weight int,
    operator varchar(1000),
    custom_operator_name varchar(1000),
    queued_dttm timestamp(6) NULL,
    scheduled_dttm timestamp(6) NULL,
    queued_by_job_id int,
    pid int,
    executor varchar(1000),
    executor_config blob,
    updated_at timestamp(6) NULL,
    rendered_map_index varchar(250),
    context_carrier json,
    span_status varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL DEFAULT 'not_started',
    external_executor_id mediumtext,
    trigger_id int,
    trigger_timeout timestamp(6) NULL,
    next_method varchar(1000),
    next_kwargs json,
    task_display_name varchar(2000),
    dag_version_id char(32),
    retry_delay_override double,
    retry_reason varchar(500),
    PRIMARY KEY (task_instance_id),
    CONSTRAINT task_instance_history_dtrt_uq UNIQUE (dag_id, task_id, run_id, map_index, try_number),
    KEY idx_tih_dag_run (dag_id, run_id),
    CONSTRAINT task_instance_history_ti_fkey
        FOREIGN KEY (dag_id, task_id, run_id, map_index) REFERENCES task_instance (dag_id, task_id, run_id, map_index) ON UPDATE CASCADE ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE hitl_detail_history (
    ti_history_id char(32) NOT NULL,
    options json NOT NULL,
    subject mediumtext NOT NULL,
    body mediumtext,
    defaults json,
    multiple tinyint(1),
    params json NOT NULL,
    assignees json,
    created_at timestamp(6) NOT NULL,
    responded_at timestamp(6) NULL,
    responded_by json,
    chosen_options json,
    params_input json NOT NULL,
    PRIMARY KEY (ti_history_id),
    CONSTRAINT hitl_detail_history_tih_fkey
        FOREIGN KEY (ti_history_id) REFERENCES task_instance_history (task_instance_id) ON UPDATE CASCADE ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE task_instance_note (
    ti_id char(32) NOT NULL,
    user_id varchar(128),
    content varchar(1000),
    created_at timestamp(6) NOT NULL,
    updated_at timestamp(6) NOT NULL,
    PRIMARY KEY (ti_id),
    CONSTRAINT task_instance_note_ti_fkey
        FOREIGN KEY (ti_id) REFERENCES task_instance (id) ON UPDATE CASCADE ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE task_map (
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    task_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    run_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    map_index int NOT NULL,
    length int NOT NULL,
    `keys` json,
    PRIMARY KEY (dag_id, task_id, run_id, map_index),
    CONSTRAINT ck_task_map_task_map_length_not_negative CHECK (length >= 0),
    CONSTRAINT task_map_task_instance_fkey
        FOREIGN KEY (dag_id, task_id, run_id, map_index) REFERENCES task_instance (dag_id, task_id, run_id, map_index) ON UPDATE CASCADE ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE task_reschedule (
    id int NOT NULL AUTO_INCREMENT,
    ti_id char(32) NOT NULL,
    start_date timestamp(6) NOT NULL,
    end_date timestamp(6) NOT NULL,
    duration int NOT NULL,
    reschedule_date timestamp(6) NOT NULL,
    PRIMARY KEY (id),
    KEY idx_task_reschedule_ti_id_id_desc (ti_id, id DESC),
    CONSTRAINT task_reschedule_ti_fkey
        FOREIGN KEY (ti_id) REFERENCES task_instance (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE variable (
    id int NOT NULL AUTO_INCREMENT,
    `key` varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    val mediumtext NOT NULL,
    description mediumtext,
    is_encrypted tinyint(1) NOT NULL,
    team_name varchar(50),
    PRIMARY KEY (id),
    CONSTRAINT variable_key_uq UNIQUE (`key`),
    CONSTRAINT variable_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE SET NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;

CREATE TABLE xcom (
    dag_run_id int NOT NULL,
    task_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    map_index int NOT NULL DEFAULT -1,
    `key` varchar(512) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    dag_result tinyint(1),
    dag_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    run_id varchar(250) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin NOT NULL,
    value json,
    timestamp timestamp(6) NOT NULL,
    PRIMARY KEY (dag_run_id, task_id, map_index, `key`),
    KEY idx_xcom_key (`key`),
    KEY idx_xcom_task_instance (dag_id, task_id, run_id, map_index),
    CONSTRAINT xcom_task_instance_fkey
        FOREIGN KEY (dag_id, task_id, run_id, map_index) REFERENCES task_instance (dag_id, task_id, run_id, map_index) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;
