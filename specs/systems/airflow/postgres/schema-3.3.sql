-- The tables of Apache Airflow 3.3 on PostgreSQL: every table, column, default, key, index and foreign key.
--
-- 60 foreign keys, of which 48 cascade and 7 set NULL; 13 have no index, three of these to dag_run: deadline.dagrun_id,
-- asset_partition_dag_run.created_dag_run_id and backfill_dag_run.dag_run_id.

CREATE TABLE alembic_version (
    version_num varchar(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE asset (
    id serial,
    name varchar(1500) NOT NULL,
    uri varchar(1500) NOT NULL,
    "group" varchar(1500) NOT NULL,
    extra json NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT asset_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX idx_asset_name_uri_unique ON asset (name, uri);

CREATE TABLE asset_active (
    name varchar(1500) NOT NULL,
    uri varchar(1500) NOT NULL,
    CONSTRAINT asset_active_pkey PRIMARY KEY (name, uri),
    CONSTRAINT asset_active_asset_name_uri_fkey
        FOREIGN KEY (name, uri) REFERENCES asset (name, uri) ON DELETE CASCADE
);

CREATE UNIQUE INDEX idx_asset_active_name_unique ON asset_active (name);
CREATE UNIQUE INDEX idx_asset_active_uri_unique ON asset_active (uri);

CREATE TABLE asset_alias (
    id serial,
    name varchar(1500) NOT NULL,
    "group" varchar(1500) NOT NULL,
    CONSTRAINT asset_alias_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX idx_asset_alias_name_unique ON asset_alias (name);

CREATE TABLE asset_alias_asset (
    alias_id integer NOT NULL,
    asset_id integer NOT NULL,
    CONSTRAINT asset_alias_asset_pkey PRIMARY KEY (alias_id, asset_id),
    CONSTRAINT asset_alias_asset_alias_id_fkey
        FOREIGN KEY (alias_id) REFERENCES asset_alias (id) ON DELETE CASCADE,
    CONSTRAINT asset_alias_asset_asset_id_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE
);

CREATE INDEX idx_asset_alias_asset_alias_id ON asset_alias_asset (alias_id);
CREATE INDEX idx_asset_alias_asset_asset_id ON asset_alias_asset (asset_id);

CREATE TABLE asset_event (
    id serial,
    asset_id integer NOT NULL,
    extra json NOT NULL,
    source_task_id varchar(250),
    source_dag_id varchar(250),
    source_run_id varchar(250),
    source_map_index integer DEFAULT -1,
    timestamp timestamptz NOT NULL,
    partition_key varchar(250),
    CONSTRAINT asset_event_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_asset_id_timestamp ON asset_event (asset_id, timestamp);

CREATE TABLE asset_alias_asset_event (
    alias_id integer NOT NULL,
    event_id integer NOT NULL,
    CONSTRAINT asset_alias_asset_event_pkey PRIMARY KEY (alias_id, event_id),
    CONSTRAINT asset_alias_asset_event_alias_id_fkey
        FOREIGN KEY (alias_id) REFERENCES asset_alias (id) ON DELETE CASCADE,
    CONSTRAINT asset_alias_asset_event_event_id_fkey
        FOREIGN KEY (event_id) REFERENCES asset_event (id) ON DELETE CASCADE
);

CREATE INDEX idx_asset_alias_asset_event_alias_id ON asset_alias_asset_event (alias_id);
CREATE INDEX idx_asset_alias_asset_event_event_id ON asset_alias_asset_event (event_id);

CREATE TABLE asset_state_store (
    asset_id integer NOT NULL,
    key varchar(512) NOT NULL,
    value text NOT NULL,
    updated_at timestamptz NOT NULL,
    last_updated_by_kind varchar(16),
    last_updated_by_dag_id varchar(250),
    last_updated_by_run_id varchar(250),
    last_updated_by_task_id varchar(250),
    last_updated_by_map_index integer,
    CONSTRAINT asset_state_store_pkey PRIMARY KEY (asset_id, key),
    CONSTRAINT asset_state_store_asset_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE
);

CREATE TABLE backfill (
    id serial,
    dag_id varchar(250) NOT NULL,
    from_date timestamptz NOT NULL,
    to_date timestamptz NOT NULL,
    dag_run_conf json NOT NULL,
    is_paused boolean,
    reprocess_behavior varchar(250) NOT NULL,
    max_active_runs integer NOT NULL,
    created_at timestamptz NOT NULL,
    completed_at timestamptz,
    updated_at timestamptz NOT NULL,
    triggering_user_name varchar(512),
    CONSTRAINT backfill_pkey PRIMARY KEY (id)
);

CREATE TABLE connection_test_request (
    id uuid NOT NULL,
    token varchar(64) NOT NULL,
    connection_id varchar(250) NOT NULL,
    state varchar(20) NOT NULL,
    result_message varchar(2000),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    executor varchar(256),
    queue varchar(256),
    conn_type varchar(500) NOT NULL,
    host varchar(500),
    login text,
    schema varchar(500),
    port integer,
    commit_on_success boolean NOT NULL DEFAULT false,
    is_encrypted boolean NOT NULL DEFAULT false,
    is_extra_encrypted boolean NOT NULL DEFAULT false,
    active_connection_id varchar(250),
    team_name varchar(50),
    password text,
    extra text,
    CONSTRAINT connection_test_request_pkey PRIMARY KEY (id),
    CONSTRAINT connection_test_request_token_uq UNIQUE (token),
    CONSTRAINT uq_connection_test_request_active_conn UNIQUE (active_connection_id)
);

CREATE INDEX idx_connection_test_request_state_created_at ON connection_test_request (state, created_at);

CREATE TABLE dag_bundle (
    name varchar(250) NOT NULL,
    active boolean,
    version varchar(200),
    last_refreshed timestamptz,
    signed_url_template text,
    template_params json,
    CONSTRAINT dag_bundle_pkey PRIMARY KEY (name)
);

CREATE TABLE dag (
    dag_id varchar(250) NOT NULL,
    is_paused boolean NOT NULL,
    is_stale boolean NOT NULL,
    exceeds_max_non_backfill boolean NOT NULL DEFAULT false,
    last_parsed_time timestamptz,
    last_parse_duration double precision,
    last_expired timestamptz,
    fileloc varchar(2000),
    relative_fileloc varchar(2000),
    bundle_name varchar(250) NOT NULL,
    bundle_version varchar(200),
    owners varchar(2000),
    dag_display_name varchar(2000),
    description text,
    timetable_type varchar(255) NOT NULL,
    timetable_summary text,
    timetable_description varchar(1000),
    timetable_partitioned boolean NOT NULL DEFAULT false,
    timetable_periodic boolean NOT NULL DEFAULT false,
    partition_mapper_info json NOT NULL,
    asset_expression json,
    deadline json,
    max_active_tasks integer NOT NULL,
    max_active_runs integer,
    max_consecutive_failed_dag_runs integer NOT NULL,
    has_task_concurrency_limits boolean NOT NULL,
    has_import_errors boolean DEFAULT false,
    fail_fast boolean NOT NULL DEFAULT false,
    allowed_run_types json,
    next_dagrun timestamptz,
    next_dagrun_data_interval_start timestamptz,
    next_dagrun_data_interval_end timestamptz,
    next_dagrun_partition_key varchar(255),
    next_dagrun_partition_date timestamptz,
    next_dagrun_create_after timestamptz,
    CONSTRAINT dag_pkey PRIMARY KEY (dag_id),
    CONSTRAINT dag_bundle_name_fkey
        FOREIGN KEY (bundle_name) REFERENCES dag_bundle (name)
);

CREATE INDEX idx_next_dagrun_create_after ON dag (next_dagrun_create_after);

CREATE TABLE asset_dag_run_queue (
    asset_id integer NOT NULL,
    target_dag_id varchar(250) NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT assetdagrunqueue_pkey PRIMARY KEY (asset_id, target_dag_id),
    CONSTRAINT adrq_asset_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT adrq_dag_fkey
        FOREIGN KEY (target_dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

CREATE INDEX idx_asset_dag_run_queue_target_dag_id ON asset_dag_run_queue (target_dag_id);

CREATE TABLE dag_favorite (
    user_id varchar(250) NOT NULL,
    dag_id varchar(250) NOT NULL,
    CONSTRAINT dag_favorite_pkey PRIMARY KEY (user_id, dag_id),
    CONSTRAINT dag_favorite_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

CREATE TABLE dag_owner_attributes (
    dag_id varchar(250) NOT NULL,
    owner varchar(500) NOT NULL,
    link varchar(500) NOT NULL,
    CONSTRAINT dag_owner_attributes_pkey PRIMARY KEY (dag_id, owner),
    CONSTRAINT "dag.dag_id"
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

CREATE TABLE dag_priority_parsing_request (
    id varchar(32) NOT NULL,
    bundle_name varchar(250) NOT NULL,
    relative_fileloc varchar(2000) NOT NULL,
    CONSTRAINT dag_priority_parsing_request_pkey PRIMARY KEY (id)
);

CREATE TABLE dag_schedule_asset_alias_reference (
    alias_id integer NOT NULL,
    dag_id varchar(250) NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT dsaar_pkey PRIMARY KEY (alias_id, dag_id),
    CONSTRAINT dsaar_asset_alias_fkey
        FOREIGN KEY (alias_id) REFERENCES asset_alias (id) ON DELETE CASCADE,
    CONSTRAINT dsaar_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

CREATE INDEX idx_dag_schedule_asset_alias_reference_dag_id ON dag_schedule_asset_alias_reference (dag_id);

CREATE TABLE dag_schedule_asset_name_reference (
    name varchar(1500) NOT NULL,
    dag_id varchar(250) NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT dsanr_pkey PRIMARY KEY (name, dag_id),
    CONSTRAINT dsanr_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

CREATE INDEX idx_dag_schedule_asset_name_reference_dag_id ON dag_schedule_asset_name_reference (dag_id);

CREATE TABLE dag_schedule_asset_reference (
    asset_id integer NOT NULL,
    dag_id varchar(250) NOT NULL,
    allow_producer_teams json,
    allow_global_producers boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT dsar_pkey PRIMARY KEY (asset_id, dag_id),
    CONSTRAINT dsar_asset_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT dsar_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

CREATE INDEX idx_dag_schedule_asset_reference_dag_id ON dag_schedule_asset_reference (dag_id);

CREATE TABLE dag_schedule_asset_uri_reference (
    uri varchar(1500) NOT NULL,
    dag_id varchar(250) NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT dsaur_pkey PRIMARY KEY (uri, dag_id),
    CONSTRAINT dsaur_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

CREATE INDEX idx_dag_schedule_asset_uri_reference_dag_id ON dag_schedule_asset_uri_reference (dag_id);

CREATE TABLE dag_tag (
    name varchar(100) NOT NULL,
    dag_id varchar(250) NOT NULL,
    CONSTRAINT dag_tag_pkey PRIMARY KEY (name, dag_id),
    CONSTRAINT dag_tag_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

CREATE INDEX idx_dag_tag_dag_id ON dag_tag (dag_id);

CREATE TABLE dag_version (
    id uuid NOT NULL,
    version_number integer NOT NULL,
    dag_id varchar(250) NOT NULL,
    bundle_name varchar(250),
    bundle_version varchar(250),
    version_data json,
    created_at timestamptz NOT NULL,
    last_updated timestamptz NOT NULL,
    CONSTRAINT dag_version_pkey PRIMARY KEY (id),
    CONSTRAINT dag_id_v_name_v_number_unique_constraint UNIQUE (dag_id, version_number),
    CONSTRAINT dag_version_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

CREATE TABLE dag_code (
    id uuid NOT NULL,
    dag_id varchar(250) NOT NULL,
    fileloc varchar(2000) NOT NULL,
    created_at timestamptz NOT NULL,
    last_updated timestamptz NOT NULL,
    source_code text NOT NULL,
    source_code_hash varchar(32) NOT NULL,
    dag_version_id uuid NOT NULL,
    CONSTRAINT dag_code_pkey PRIMARY KEY (id),
    CONSTRAINT dag_code_dag_version_id_uq UNIQUE (dag_version_id),
    CONSTRAINT dag_code_dag_version_id_fkey
        FOREIGN KEY (dag_version_id) REFERENCES dag_version (id) ON DELETE CASCADE
);

CREATE TABLE dag_warning (
    dag_id varchar(250) NOT NULL,
    warning_type varchar(50) NOT NULL,
    message text NOT NULL,
    timestamp timestamptz NOT NULL,
    CONSTRAINT dag_warning_pkey PRIMARY KEY (dag_id, warning_type),
    CONSTRAINT dcw_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

CREATE INDEX idx_dag_warning_dag_id ON dag_warning (dag_id);

CREATE TABLE import_error (
    id serial,
    timestamp timestamptz,
    filename varchar(1024),
    bundle_name varchar(250),
    stacktrace text,
    CONSTRAINT import_error_pkey PRIMARY KEY (id)
);

CREATE TABLE job (
    id serial,
    dag_id varchar(250),
    state varchar(20),
    job_type varchar(30),
    start_date timestamptz,
    end_date timestamptz,
    latest_heartbeat timestamptz,
    executor_class varchar(500),
    hostname varchar(500),
    unixname varchar(1000),
    CONSTRAINT job_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_job_dag_id ON job (dag_id);
CREATE INDEX idx_job_state_heartbeat ON job (state, latest_heartbeat);
CREATE INDEX job_type_heart ON job (job_type, latest_heartbeat);

CREATE TABLE log (
    id serial,
    dttm timestamptz,
    dag_id varchar(250),
    task_id varchar(250),
    map_index integer,
    event varchar(60) NOT NULL,
    logical_date timestamptz,
    run_id varchar(250),
    owner varchar(500),
    owner_display_name varchar(500),
    extra text,
    try_number integer,
    CONSTRAINT log_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_log_dttm ON log (dttm);
CREATE INDEX idx_log_event ON log (event);
CREATE INDEX idx_log_task_instance ON log (dag_id, task_id, run_id, map_index, try_number);

CREATE TABLE log_template (
    id serial,
    filename text NOT NULL,
    elasticsearch_id text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT log_template_pkey PRIMARY KEY (id)
);

CREATE TABLE dag_run (
    id serial,
    dag_id varchar(250) NOT NULL,
    queued_at timestamptz,
    logical_date timestamptz,
    start_date timestamptz,
    end_date timestamptz,
    state varchar(50),
    run_id varchar(250) NOT NULL,
    creating_job_id integer,
    run_type varchar(50) NOT NULL,
    triggered_by varchar(50),
    triggering_user_name varchar(512),
    conf jsonb,
    data_interval_start timestamptz,
    data_interval_end timestamptz,
    run_after timestamptz NOT NULL,
    last_scheduling_decision timestamptz,
    log_template_id integer,
    created_at timestamptz,
    updated_at timestamptz,
    clear_number integer NOT NULL DEFAULT 0,
    backfill_id integer,
    bundle_version varchar(250),
    scheduled_by_job_id integer,
    context_carrier jsonb,
    span_status varchar(250) NOT NULL DEFAULT 'not_started',
    created_dag_version_id uuid,
    partition_key varchar(250),
    partition_date timestamptz,
    CONSTRAINT dag_run_pkey PRIMARY KEY (id),
    CONSTRAINT dag_run_dag_id_logical_date_key UNIQUE (dag_id, logical_date),
    CONSTRAINT dag_run_dag_id_run_id_key UNIQUE (dag_id, run_id),
    CONSTRAINT created_dag_version_id_fkey
        FOREIGN KEY (created_dag_version_id) REFERENCES dag_version (id) ON DELETE SET NULL,
    CONSTRAINT dag_run_backfill_id_fkey
        FOREIGN KEY (backfill_id) REFERENCES backfill (id),
    CONSTRAINT task_instance_log_template_id_fkey
        FOREIGN KEY (log_template_id) REFERENCES log_template (id)
);

CREATE INDEX dag_id_state ON dag_run (dag_id, state);
CREATE INDEX idx_dag_run_created_dag_version_id ON dag_run (created_dag_version_id);
CREATE INDEX idx_dag_run_dag_id ON dag_run (dag_id);
CREATE INDEX idx_dag_run_queued_dags ON dag_run (state, dag_id) WHERE state = 'queued';
CREATE INDEX idx_dag_run_run_after ON dag_run (run_after);
CREATE INDEX idx_dag_run_running_dags ON dag_run (state, dag_id) WHERE state = 'running';

CREATE TABLE asset_partition_dag_run (
    id serial,
    target_dag_id varchar(250) NOT NULL,
    created_dag_run_id integer,
    partition_key varchar(250) NOT NULL,
    partition_date timestamptz,
    rollup_fingerprint json,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT asset_partition_dag_run_pkey PRIMARY KEY (id),
    CONSTRAINT apdr_created_dag_run_id_fkey
        FOREIGN KEY (created_dag_run_id) REFERENCES dag_run (id) ON DELETE CASCADE
);

CREATE TABLE backfill_dag_run (
    id serial,
    backfill_id integer NOT NULL,
    dag_run_id integer,
    exception_reason varchar(250),
    logical_date timestamptz,
    partition_key varchar(250),
    sort_ordinal integer NOT NULL,
    CONSTRAINT backfill_dag_run_pkey PRIMARY KEY (id),
    CONSTRAINT ix_bdr_backfill_id_dag_run_id UNIQUE (backfill_id, dag_run_id),
    CONSTRAINT bdr_backfill_fkey
        FOREIGN KEY (backfill_id) REFERENCES backfill (id) ON DELETE CASCADE,
    CONSTRAINT bdr_dag_run_fkey
        FOREIGN KEY (dag_run_id) REFERENCES dag_run (id) ON DELETE SET NULL
);

CREATE TABLE dag_run_note (
    user_id varchar(128),
    dag_run_id integer NOT NULL,
    content varchar(1000),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT dag_run_note_pkey PRIMARY KEY (dag_run_id),
    CONSTRAINT dag_run_note_dr_fkey
        FOREIGN KEY (dag_run_id) REFERENCES dag_run (id) ON DELETE CASCADE
);

CREATE TABLE dagrun_asset_event (
    dag_run_id integer NOT NULL,
    event_id integer NOT NULL,
    CONSTRAINT dagrun_asset_event_pkey PRIMARY KEY (dag_run_id, event_id),
    CONSTRAINT dagrun_asset_event_dag_run_id_fkey
        FOREIGN KEY (dag_run_id) REFERENCES dag_run (id) ON DELETE CASCADE,
    CONSTRAINT dagrun_asset_event_event_id_fkey
        FOREIGN KEY (event_id) REFERENCES asset_event (id) ON DELETE CASCADE
);

CREATE INDEX idx_dagrun_asset_events_dag_run_id ON dagrun_asset_event (dag_run_id);
CREATE INDEX idx_dagrun_asset_events_event_id ON dagrun_asset_event (event_id);

CREATE TABLE partitioned_asset_key_log (
    id serial,
    asset_id integer NOT NULL,
    asset_event_id integer NOT NULL,
    asset_partition_dag_run_id integer NOT NULL,
    source_partition_key varchar(250) NOT NULL,
    target_dag_id varchar(250) NOT NULL,
    target_partition_key varchar(250) NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT partitioned_asset_key_log_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_pakl_apdr_id ON partitioned_asset_key_log (asset_partition_dag_run_id);

CREATE TABLE revoked_token (
    jti varchar(32) NOT NULL,
    exp timestamptz NOT NULL,
    CONSTRAINT revoked_token_pkey PRIMARY KEY (jti)
);

CREATE INDEX idx_revoked_token_exp ON revoked_token (exp);

CREATE TABLE serialized_dag (
    id uuid NOT NULL,
    dag_id varchar(250) NOT NULL,
    data jsonb,
    data_compressed bytea,
    created_at timestamptz NOT NULL,
    last_updated timestamptz NOT NULL,
    dag_hash varchar(32) NOT NULL,
    dag_version_id uuid NOT NULL,
    CONSTRAINT serialized_dag_pkey PRIMARY KEY (id),
    CONSTRAINT serialized_dag_dag_version_id_uq UNIQUE (dag_version_id),
    CONSTRAINT serialized_dag_dag_version_id_fkey
        FOREIGN KEY (dag_version_id) REFERENCES dag_version (id) ON DELETE CASCADE
);

CREATE TABLE deadline_alert (
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    serialized_dag_id uuid NOT NULL,
    name varchar(250),
    description text,
    reference json NOT NULL,
    interval json NOT NULL,
    callback_def json NOT NULL,
    CONSTRAINT deadline_alert_pkey PRIMARY KEY (id),
    CONSTRAINT deadline_alert_serialized_dag_id_fkey
        FOREIGN KEY (serialized_dag_id) REFERENCES serialized_dag (id) ON DELETE CASCADE
);

CREATE TABLE task_inlet_asset_reference (
    asset_id integer NOT NULL,
    dag_id varchar(250) NOT NULL,
    task_id varchar(250) NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT tiar_pkey PRIMARY KEY (asset_id, dag_id, task_id),
    CONSTRAINT tiar_asset_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT tiar_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

CREATE INDEX idx_task_inlet_asset_reference_dag_id ON task_inlet_asset_reference (dag_id);

CREATE TABLE task_outlet_asset_reference (
    asset_id integer NOT NULL,
    dag_id varchar(250) NOT NULL,
    task_id varchar(250) NOT NULL,
    allow_consumer_teams json,
    allow_global_consumers boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT toar_pkey PRIMARY KEY (asset_id, dag_id, task_id),
    CONSTRAINT toar_asset_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT toar_dag_id_fkey
        FOREIGN KEY (dag_id) REFERENCES dag (dag_id) ON DELETE CASCADE
);

CREATE INDEX idx_task_outlet_asset_reference_dag_id ON task_outlet_asset_reference (dag_id);

CREATE TABLE task_state_store (
    id serial,
    dag_run_id integer NOT NULL,
    task_id varchar(250) NOT NULL,
    map_index integer NOT NULL DEFAULT -1,
    key varchar(512) NOT NULL,
    dag_id varchar(250) NOT NULL,
    run_id varchar(250) NOT NULL,
    value text NOT NULL,
    updated_at timestamptz NOT NULL,
    expires_at timestamptz,
    CONSTRAINT task_state_store_pkey PRIMARY KEY (id),
    CONSTRAINT task_state_store_uq UNIQUE (dag_run_id, task_id, map_index, key),
    CONSTRAINT task_state_store_dag_run_fkey
        FOREIGN KEY (dag_run_id) REFERENCES dag_run (id) ON DELETE CASCADE
);

CREATE INDEX idx_task_state_store_expires_at ON task_state_store (expires_at);
CREATE INDEX idx_task_state_store_lookup ON task_state_store (dag_id, run_id, task_id, map_index);

CREATE TABLE team (
    name varchar(50) NOT NULL,
    CONSTRAINT team_pkey PRIMARY KEY (name)
);

CREATE TABLE connection (
    id serial,
    conn_id varchar(250) NOT NULL,
    conn_type varchar(500) NOT NULL,
    description text,
    host varchar(500),
    schema varchar(500),
    login text,
    port integer,
    team_name varchar(50),
    password text,
    extra text,
    is_encrypted boolean NOT NULL,
    is_extra_encrypted boolean NOT NULL,
    CONSTRAINT connection_pkey PRIMARY KEY (id),
    CONSTRAINT connection_conn_id_uq UNIQUE (conn_id),
    CONSTRAINT connection_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE SET NULL
);

CREATE TABLE dag_bundle_team (
    dag_bundle_name varchar(250) NOT NULL,
    team_name varchar(50) NOT NULL,
    CONSTRAINT dag_bundle_team_pkey PRIMARY KEY (dag_bundle_name, team_name),
    CONSTRAINT dag_bundle_team_dag_bundle_name_fkey
        FOREIGN KEY (dag_bundle_name) REFERENCES dag_bundle (name) ON DELETE CASCADE,
    CONSTRAINT dag_bundle_team_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE CASCADE
);

CREATE UNIQUE INDEX idx_dag_bundle_team_dag_bundle_name ON dag_bundle_team (dag_bundle_name);
CREATE INDEX idx_dag_bundle_team_team_name ON dag_bundle_team (team_name);

CREATE TABLE slot_pool (
    id serial,
    pool varchar(256),
    slots integer NOT NULL,
    description text,
    include_deferred boolean NOT NULL,
    team_name varchar(50),
    CONSTRAINT slot_pool_pkey PRIMARY KEY (id),
    CONSTRAINT slot_pool_pool_uq UNIQUE (pool),
    CONSTRAINT slot_pool_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE SET NULL
);

CREATE TABLE trigger (
    id serial,
    classpath varchar(1000) NOT NULL,
    kwargs text NOT NULL,
    created_date timestamptz NOT NULL,
    triggerer_id integer,
    queue varchar(256),
    team_name varchar(50),
    CONSTRAINT trigger_pkey PRIMARY KEY (id),
    CONSTRAINT trigger_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE SET NULL
);

CREATE INDEX idx_trigger_team_name ON trigger (team_name);

CREATE TABLE asset_watcher (
    name varchar(1500) NOT NULL,
    asset_id integer NOT NULL,
    trigger_id integer NOT NULL,
    CONSTRAINT asset_watcher_pkey PRIMARY KEY (asset_id, trigger_id),
    CONSTRAINT awm_asset_id_fkey
        FOREIGN KEY (asset_id) REFERENCES asset (id) ON DELETE CASCADE,
    CONSTRAINT awm_trigger_id_fkey
        FOREIGN KEY (trigger_id) REFERENCES trigger (id) ON DELETE CASCADE
);

CREATE INDEX idx_awm_trigger_id ON asset_watcher (trigger_id);

CREATE TABLE callback (
    id uuid NOT NULL,
    type varchar(20) NOT NULL,
    fetch_method varchar(20) NOT NULL,
    data jsonb NOT NULL,
    bundle_name varchar(250),
    state varchar(10),
    output text,
    priority_weight integer NOT NULL,
    created_at timestamptz NOT NULL,
    trigger_id integer,
    CONSTRAINT callback_pkey PRIMARY KEY (id),
    CONSTRAINT callback_trigger_id_fkey
        FOREIGN KEY (trigger_id) REFERENCES trigger (id)
);

CREATE TABLE deadline (
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    last_updated_at timestamptz NOT NULL,
    dagrun_id integer,
    deadline_time timestamptz NOT NULL,
    missed boolean NOT NULL,
    callback_id uuid NOT NULL,
    deadline_alert_id uuid,
    CONSTRAINT deadline_pkey PRIMARY KEY (id),
    CONSTRAINT deadline_callback_id_fkey
        FOREIGN KEY (callback_id) REFERENCES callback (id) ON DELETE CASCADE,
    CONSTRAINT deadline_dagrun_id_fkey
        FOREIGN KEY (dagrun_id) REFERENCES dag_run (id) ON DELETE CASCADE,
    CONSTRAINT deadline_deadline_alert_id_fkey
        FOREIGN KEY (deadline_alert_id) REFERENCES deadline_alert (id) ON DELETE SET NULL
);

CREATE INDEX deadline_callback_id_idx ON deadline (callback_id);
CREATE INDEX deadline_missed_deadline_time_idx ON deadline (missed, deadline_time);

CREATE TABLE task_instance (
    id uuid NOT NULL,
    task_id varchar(250) NOT NULL,
    dag_id varchar(250) NOT NULL,
    run_id varchar(250) NOT NULL,
    map_index integer NOT NULL DEFAULT -1,
    start_date timestamptz,
    end_date timestamptz,
    duration double precision,
    state varchar(20),
    try_number integer NOT NULL,
    max_tries integer NOT NULL DEFAULT -1,
    hostname varchar(1000),
    unixname varchar(1000),
    pool varchar(256) NOT NULL,
    pool_slots integer NOT NULL,
    queue varchar(256),
    priority_weight integer,
    operator varchar(1000),
    custom_operator_name varchar(1000),
    queued_dttm timestamptz,
    scheduled_dttm timestamptz,
    queued_by_job_id integer,
    last_heartbeat_at timestamptz,
    pid integer,
    executor varchar(1000),
    executor_config bytea,
    updated_at timestamptz,
    rendered_map_index varchar(250),
    context_carrier jsonb,
    span_status varchar(250) NOT NULL DEFAULT 'not_started',
    external_executor_id text,
    trigger_id integer,
    trigger_timeout timestamptz,
    next_method varchar(1000),
    next_kwargs jsonb,
    task_display_name varchar(2000),
    dag_version_id uuid,
    retry_delay_override double precision,
    retry_reason varchar(500),
    CONSTRAINT task_instance_pkey PRIMARY KEY (id),
    CONSTRAINT task_instance_composite_key UNIQUE (dag_id, task_id, run_id, map_index),
    CONSTRAINT task_instance_dag_run_fkey
        FOREIGN KEY (dag_id, run_id) REFERENCES dag_run (dag_id, run_id) ON DELETE CASCADE,
    CONSTRAINT task_instance_dag_version_id_fkey
        FOREIGN KEY (dag_version_id) REFERENCES dag_version (id) ON DELETE RESTRICT,
    CONSTRAINT task_instance_trigger_id_fkey
        FOREIGN KEY (trigger_id) REFERENCES trigger (id) ON DELETE CASCADE
);

CREATE INDEX ti_dag_run ON task_instance (dag_id, run_id);
CREATE INDEX ti_dag_state ON task_instance (dag_id, state);
CREATE INDEX ti_dag_version_id ON task_instance (dag_version_id);
CREATE INDEX ti_heartbeat ON task_instance (last_heartbeat_at);
CREATE INDEX ti_pool ON task_instance (pool, state, priority_weight);
CREATE INDEX ti_state ON task_instance (state);
CREATE INDEX ti_state_lkp ON task_instance (dag_id, task_id, run_id, state);
CREATE INDEX ti_trigger_id ON task_instance (trigger_id);

CREATE TABLE hitl_detail (
    ti_id uuid NOT NULL,
    options json NOT NULL,
    subject text NOT NULL,
    body text,
    defaults json,
    multiple boolean,
    params json NOT NULL,
    assignees json,
    created_at timestamptz NOT NULL,
    responded_at timestamptz,
    responded_by json,
    chosen_options json,
    params_input json NOT NULL,
    CONSTRAINT hitl_detail_pkey PRIMARY KEY (ti_id),
    CONSTRAINT hitl_detail_ti_fkey
        FOREIGN KEY (ti_id) REFERENCES task_instance (id) ON UPDATE CASCADE ON DELETE CASCADE
);

CREATE TABLE rendered_task_instance_fields (
    dag_id varchar(250) NOT NULL,
    task_id varchar(250) NOT NULL,
    run_id varchar(250) NOT NULL,
    map_index integer NOT NULL DEFAULT -1,
    rendered_fields json NOT NULL,
    k8s_pod_yaml json,
    CONSTRAINT rendered_task_instance_fields_pkey PRIMARY KEY (dag_id, task_id, run_id, map_index),
    CONSTRAINT rtif_ti_fkey
        FOREIGN KEY (dag_id, task_id, run_id, map_index) REFERENCES task_instance (dag_id, task_id, run_id, map_index) ON DELETE CASCADE
);

CREATE TABLE task_instance_history (
    task_instance_id uuid NOT NULL,
    task_id varchar(250) NOT NULL,
    dag_id varchar(250) NOT NULL,
    run_id varchar(250) NOT NULL,
    map_index integer NOT NULL DEFAULT -1,
    try_number integer NOT NULL,
    start_date timestamptz,
    end_date timestamptz,
    duration double precision,
    state varchar(20),
    max_tries integer DEFAULT -1,
    hostname varchar(1000),
    unixname varchar(1000),
    pool varchar(256) NOT NULL,
    pool_slots integer NOT NULL,
    queue varchar(256),
    priority_weight integer,
    operator varchar(1000),
    custom_operator_name varchar(1000),
    queued_dttm timestamptz,
    scheduled_dttm timestamptz,
    queued_by_job_id integer,
    pid integer,
    executor varchar(1000),
    executor_config bytea,
    updated_at timestamptz,
    rendered_map_index varchar(250),
    context_carrier jsonb,
    span_status varchar(250) NOT NULL DEFAULT 'not_started',
    external_executor_id text,
    trigger_id integer,
    trigger_timeout timestamp,
    next_method varchar(1000),
    next_kwargs jsonb,
    task_display_name varchar(2000),
    dag_version_id uuid,
    retry_delay_override double precision,
    retry_reason varchar(500),
    CONSTRAINT task_instance_history_pkey PRIMARY KEY (task_instance_id),
    CONSTRAINT task_instance_history_dtrt_uq UNIQUE (dag_id, task_id, run_id, map_index, try_number),
    CONSTRAINT task_instance_history_ti_fkey
        FOREIGN KEY (dag_id, task_id, run_id, map_index) REFERENCES task_instance (dag_id, task_id, run_id, map_index) ON UPDATE CASCADE ON DELETE CASCADE
);

CREATE INDEX idx_tih_dag_run ON task_instance_history (dag_id, run_id);

CREATE TABLE hitl_detail_history (
    ti_history_id uuid NOT NULL,
    options json NOT NULL,
    subject text NOT NULL,
    body text,
    defaults json,
    multiple boolean,
    params json NOT NULL,
    assignees json,
    created_at timestamptz NOT NULL,
    responded_at timestamptz,
    responded_by json,
    chosen_options json,
    params_input json NOT NULL,
    CONSTRAINT hitl_detail_history_pkey PRIMARY KEY (ti_history_id),
    CONSTRAINT hitl_detail_history_tih_fkey
        FOREIGN KEY (ti_history_id) REFERENCES task_instance_history (task_instance_id) ON UPDATE CASCADE ON DELETE CASCADE
);

CREATE TABLE task_instance_note (
    ti_id uuid NOT NULL,
    user_id varchar(128),
    content varchar(1000),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT task_instance_note_pkey PRIMARY KEY (ti_id),
    CONSTRAINT task_instance_note_ti_fkey
        FOREIGN KEY (ti_id) REFERENCES task_instance (id) ON UPDATE CASCADE ON DELETE CASCADE
);

CREATE TABLE task_map (
    dag_id varchar(250) NOT NULL,
    task_id varchar(250) NOT NULL,
    run_id varchar(250) NOT NULL,
    map_index integer NOT NULL,
    length integer NOT NULL,
    keys jsonb,
    CONSTRAINT task_map_pkey PRIMARY KEY (dag_id, task_id, run_id, map_index),
    CONSTRAINT ck_task_map_task_map_length_not_negative CHECK (length >= 0),
    CONSTRAINT task_map_task_instance_fkey
        FOREIGN KEY (dag_id, task_id, run_id, map_index) REFERENCES task_instance (dag_id, task_id, run_id, map_index) ON UPDATE CASCADE ON DELETE CASCADE
);

CREATE TABLE task_reschedule (
    id serial,
    ti_id uuid NOT NULL,
    start_date timestamptz NOT NULL,
    end_date timestamptz NOT NULL,
    duration integer NOT NULL,
    reschedule_date timestamptz NOT NULL,
    CONSTRAINT task_reschedule_pkey PRIMARY KEY (id),
    CONSTRAINT task_reschedule_ti_fkey
        FOREIGN KEY (ti_id) REFERENCES task_instance (id) ON DELETE CASCADE
);

CREATE INDEX idx_task_reschedule_ti_id_id_desc ON task_reschedule (ti_id, id DESC);

CREATE TABLE variable (
    id serial,
    key varchar(250) NOT NULL,
    val text NOT NULL,
    description text,
    is_encrypted boolean NOT NULL,
    team_name varchar(50),
    CONSTRAINT variable_pkey PRIMARY KEY (id),
    CONSTRAINT variable_key_uq UNIQUE (key),
    CONSTRAINT variable_team_name_fkey
        FOREIGN KEY (team_name) REFERENCES team (name) ON DELETE SET NULL
);

CREATE TABLE xcom (
    dag_run_id integer NOT NULL,
    task_id varchar(250) NOT NULL,
    map_index integer NOT NULL DEFAULT -1,
    key varchar(512) NOT NULL,
    dag_result boolean,
    dag_id varchar(250) NOT NULL,
    run_id varchar(250) NOT NULL,
    value jsonb,
    timestamp timestamptz NOT NULL,
    CONSTRAINT xcom_pkey PRIMARY KEY (dag_run_id, task_id, map_index, key),
    CONSTRAINT xcom_task_instance_fkey
        FOREIGN KEY (dag_id, task_id, run_id, map_index) REFERENCES task_instance (dag_id, task_id, run_id, map_index) ON DELETE CASCADE
);

CREATE INDEX idx_xcom_key ON xcom (key);
CREATE INDEX idx_xcom_task_instance ON xcom (dag_id, task_id, run_id, map_index);
