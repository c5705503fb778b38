-- The tables of MLflow 3.17 on PostgreSQL: every table, column, default, key, index and foreign key.
--
-- Taken from the schema on MariaDB, with the types that MLflow's models have on PostgreSQL, and without the indexes that only
-- foreign keys of MariaDB make.

CREATE TABLE alembic_version (
    version_num varchar(32) NOT NULL,
    CONSTRAINT alembic_version_pk PRIMARY KEY (version_num)
);

CREATE TABLE experiments (
    experiment_id serial,
    name varchar(256) NOT NULL,
    artifact_location varchar(256),
    lifecycle_stage varchar(32),
    creation_time bigint,
    last_update_time bigint,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    CONSTRAINT experiments_pk PRIMARY KEY (experiment_id),
    CONSTRAINT experiments_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted'))
);

CREATE INDEX idx_experiments_workspace ON experiments (workspace);
CREATE INDEX idx_experiments_workspace_creation_time ON experiments (workspace, creation_time);
CREATE UNIQUE INDEX uq_experiments_workspace_name ON experiments (workspace, name);

CREATE TABLE trace_info (
    request_id varchar(50) NOT NULL,
    experiment_id integer NOT NULL,
    timestamp_ms bigint NOT NULL,
    execution_time_ms bigint,
    status varchar(50) NOT NULL,
    client_request_id varchar(50),
    request_preview varchar(1000),
    response_preview varchar(1000),
    db_payload_generation integer NOT NULL DEFAULT 0,
    trace_name varchar(4096),
    session_id varchar(250),
    input_tokens bigint,
    output_tokens bigint,
    total_tokens bigint,
    cache_read_input_tokens bigint,
    cache_creation_input_tokens bigint,
    cache_creation_input_tokens_above_1hr bigint,
    input_cost double precision,
    output_cost double precision,
    total_cost double precision,
    CONSTRAINT trace_info_pk PRIMARY KEY (request_id),
    CONSTRAINT fk_trace_info_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE
);

CREATE INDEX index_trace_info_experiment_id_session_id ON trace_info (experiment_id, session_id);
CREATE INDEX index_trace_info_experiment_id_timestamp_ms ON trace_info (experiment_id, timestamp_ms);
CREATE INDEX index_trace_info_timestamp_ms_request_id ON trace_info (timestamp_ms, request_id);

CREATE TABLE assessments (
    assessment_id varchar(50) NOT NULL,
    trace_id varchar(50) NOT NULL,
    name varchar(250) NOT NULL,
    assessment_type varchar(20) NOT NULL,
    value text NOT NULL,
    error text,
    created_timestamp bigint NOT NULL,
    last_updated_timestamp bigint NOT NULL,
    source_type varchar(50) NOT NULL,
    source_id varchar(250),
    run_id varchar(32),
    span_id varchar(50),
    rationale text,
    overrides varchar(50),
    valid boolean NOT NULL,
    assessment_metadata text,
    experiment_id integer,
    trace_timestamp_ms bigint,
    aggregate_value double precision,
    is_numeric_value boolean NOT NULL DEFAULT false,
    CONSTRAINT assessments_pk PRIMARY KEY (assessment_id),
    CONSTRAINT fk_assessments_trace_id
        FOREIGN KEY (trace_id) REFERENCES trace_info (request_id) ON DELETE CASCADE
);

CREATE INDEX idx_assessments_exp_name_valid ON assessments (experiment_id, name, valid);
CREATE INDEX idx_assessments_exp_trace_ts ON assessments (experiment_id, trace_timestamp_ms);
CREATE INDEX idx_assessments_exp_trace_ts_name ON assessments (experiment_id, trace_timestamp_ms, name);
CREATE INDEX index_assessments_assessment_type ON assessments (assessment_type);
CREATE INDEX index_assessments_last_updated_timestamp ON assessments (last_updated_timestamp);
CREATE INDEX index_assessments_run_id_created_timestamp ON assessments (run_id, created_timestamp);
CREATE INDEX index_assessments_trace_id_created_timestamp ON assessments (trace_id, created_timestamp);

CREATE TABLE budget_policies (
    budget_policy_id varchar(36) NOT NULL,
    budget_unit varchar(32) NOT NULL,
    budget_amount double precision NOT NULL,
    duration_unit varchar(32) NOT NULL,
    duration_value integer NOT NULL,
    target_scope varchar(32) NOT NULL,
    budget_action varchar(32) NOT NULL,
    created_by varchar(255),
    created_at bigint NOT NULL,
    last_updated_by varchar(255),
    last_updated_at bigint NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    target_value varchar(255),
    CONSTRAINT budget_policies_pk PRIMARY KEY (budget_policy_id)
);

CREATE INDEX idx_budget_policies_target_value ON budget_policies (target_value);
CREATE INDEX idx_budget_policies_workspace ON budget_policies (workspace);

CREATE TABLE datasets (
    dataset_uuid varchar(36) NOT NULL,
    experiment_id integer NOT NULL,
    name varchar(500) NOT NULL,
    digest varchar(36) NOT NULL,
    dataset_source_type varchar(36) NOT NULL,
    dataset_source text NOT NULL,
    dataset_schema text,
    dataset_profile text,
    CONSTRAINT datasets_pk PRIMARY KEY (experiment_id, name, digest),
    CONSTRAINT fk_datasets_experiment_id_experiments
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE
);

CREATE INDEX index_datasets_dataset_uuid ON datasets (dataset_uuid);
CREATE INDEX index_datasets_experiment_id_dataset_source_type ON datasets (experiment_id, dataset_source_type);

CREATE TABLE endpoints (
    endpoint_id varchar(36) NOT NULL,
    name varchar(255),
    created_by varchar(255),
    created_at bigint NOT NULL,
    last_updated_by varchar(255),
    last_updated_at bigint NOT NULL,
    routing_strategy varchar(64),
    fallback_config_json text,
    experiment_id integer,
    usage_tracking boolean NOT NULL DEFAULT false,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    CONSTRAINT endpoints_pk PRIMARY KEY (endpoint_id),
    CONSTRAINT fk_endpoints_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE SET NULL
);

CREATE INDEX idx_endpoints_workspace ON endpoints (workspace);
CREATE UNIQUE INDEX uq_endpoints_workspace_name ON endpoints (workspace, name);

CREATE TABLE endpoint_bindings (
    endpoint_id varchar(36) NOT NULL,
    resource_type varchar(50) NOT NULL,
    resource_id varchar(255) NOT NULL,
    created_at bigint NOT NULL,
    created_by varchar(255),
    last_updated_at bigint NOT NULL,
    last_updated_by varchar(255),
    display_name varchar(255),
    CONSTRAINT endpoint_bindings_pk PRIMARY KEY (endpoint_id, resource_type, resource_id),
    CONSTRAINT fk_endpoint_bindings_endpoint_id
        FOREIGN KEY (endpoint_id) REFERENCES endpoints (endpoint_id) ON DELETE CASCADE
);

CREATE TABLE secrets (
    secret_id varchar(36) NOT NULL,
    secret_name varchar(255) NOT NULL,
    encrypted_value bytea NOT NULL,
    wrapped_dek bytea NOT NULL,
    kek_version integer NOT NULL,
    masked_value varchar(500) NOT NULL,
    provider varchar(64),
    auth_config text,
    description text,
    created_by varchar(255),
    created_at bigint NOT NULL,
    last_updated_by varchar(255),
    last_updated_at bigint NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    CONSTRAINT secrets_pk PRIMARY KEY (secret_id)
);

CREATE INDEX idx_secrets_workspace ON secrets (workspace);
CREATE UNIQUE INDEX uq_secrets_workspace_secret_name ON secrets (workspace, secret_name);

CREATE TABLE model_definitions (
    model_definition_id varchar(36) NOT NULL,
    name varchar(255) NOT NULL,
    secret_id varchar(36),
    provider varchar(64) NOT NULL,
    model_name varchar(256) NOT NULL,
    created_by varchar(255),
    created_at bigint NOT NULL,
    last_updated_by varchar(255),
    last_updated_at bigint NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    CONSTRAINT model_definitions_pk PRIMARY KEY (model_definition_id),
    CONSTRAINT fk_model_definitions_secret_id
        FOREIGN KEY (secret_id) REFERENCES secrets (secret_id) ON DELETE SET NULL
);

CREATE INDEX idx_model_definitions_workspace ON model_definitions (workspace);
CREATE INDEX index_model_definitions_provider ON model_definitions (provider);
CREATE INDEX index_model_definitions_secret_id ON model_definitions (secret_id);
CREATE UNIQUE INDEX uq_model_definitions_workspace_name ON model_definitions (workspace, name);

CREATE TABLE endpoint_model_mappings (
    mapping_id varchar(36) NOT NULL,
    endpoint_id varchar(36) NOT NULL,
    model_definition_id varchar(36) NOT NULL,
    weight double precision NOT NULL,
    created_by varchar(255),
    created_at bigint NOT NULL,
    linkage_type varchar(64) NOT NULL DEFAULT 'PRIMARY',
    fallback_order integer,
    CONSTRAINT endpoint_model_mappings_pk PRIMARY KEY (mapping_id),
    CONSTRAINT fk_endpoint_model_mappings_endpoint_id
        FOREIGN KEY (endpoint_id) REFERENCES endpoints (endpoint_id) ON DELETE CASCADE,
    CONSTRAINT fk_endpoint_model_mappings_model_definition_id
        FOREIGN KEY (model_definition_id) REFERENCES model_definitions (model_definition_id)
);

CREATE INDEX index_endpoint_model_mappings_endpoint_id ON endpoint_model_mappings (endpoint_id);
CREATE INDEX index_endpoint_model_mappings_model_definition_id ON endpoint_model_mappings (model_definition_id);
CREATE UNIQUE INDEX unique_endpoint_model_linkage_mapping ON endpoint_model_mappings (endpoint_id, model_definition_id, linkage_type);

CREATE TABLE endpoint_tags (
    key varchar(250) NOT NULL,
    value varchar(5000),
    endpoint_id varchar(36) NOT NULL,
    CONSTRAINT endpoint_tags_pk PRIMARY KEY (key, endpoint_id),
    CONSTRAINT fk_endpoint_tags_endpoint_id
        FOREIGN KEY (endpoint_id) REFERENCES endpoints (endpoint_id) ON DELETE CASCADE
);

CREATE INDEX index_endpoint_tags_endpoint_id ON endpoint_tags (endpoint_id);

CREATE TABLE entity_associations (
    association_id varchar(36) NOT NULL,
    source_type varchar(36) NOT NULL,
    source_id varchar(36) NOT NULL,
    destination_type varchar(36) NOT NULL,
    destination_id varchar(36) NOT NULL,
    created_time bigint,
    CONSTRAINT entity_associations_pk PRIMARY KEY (source_type, source_id, destination_type, destination_id)
);

CREATE INDEX index_entity_associations_association_id ON entity_associations (association_id);
CREATE INDEX index_entity_associations_reverse_lookup ON entity_associations (destination_type, destination_id, source_type, source_id);

CREATE TABLE evaluation_datasets (
    dataset_id varchar(36) NOT NULL,
    name varchar(255) NOT NULL,
    schema text,
    profile text,
    digest varchar(64),
    created_time bigint,
    last_update_time bigint,
    created_by varchar(255),
    last_updated_by varchar(255),
    workspace varchar(63) NOT NULL DEFAULT 'default',
    CONSTRAINT evaluation_datasets_pk PRIMARY KEY (dataset_id)
);

CREATE INDEX idx_evaluation_datasets_workspace ON evaluation_datasets (workspace);
CREATE INDEX index_evaluation_datasets_created_time ON evaluation_datasets (created_time);
CREATE INDEX index_evaluation_datasets_name ON evaluation_datasets (name);

CREATE TABLE evaluation_dataset_records (
    dataset_record_id varchar(36) NOT NULL,
    dataset_id varchar(36) NOT NULL,
    inputs json NOT NULL,
    expectations json,
    tags json,
    source json,
    source_id varchar(36),
    source_type varchar(255),
    created_time bigint,
    last_update_time bigint,
    created_by varchar(255),
    last_updated_by varchar(255),
    input_hash varchar(64) NOT NULL,
    outputs json,
    CONSTRAINT evaluation_dataset_records_pk PRIMARY KEY (dataset_record_id),
    CONSTRAINT fk_evaluation_dataset_records_dataset_id
        FOREIGN KEY (dataset_id) REFERENCES evaluation_datasets (dataset_id) ON DELETE CASCADE
);

CREATE INDEX index_evaluation_dataset_records_dataset_id ON evaluation_dataset_records (dataset_id);
CREATE UNIQUE INDEX unique_dataset_input ON evaluation_dataset_records (dataset_id, input_hash);

CREATE TABLE evaluation_dataset_tags (
    dataset_id varchar(36) NOT NULL,
    key varchar(255) NOT NULL,
    value varchar(5000),
    CONSTRAINT evaluation_dataset_tags_pk PRIMARY KEY (dataset_id, key),
    CONSTRAINT fk_evaluation_dataset_tags_dataset_id
        FOREIGN KEY (dataset_id) REFERENCES evaluation_datasets (dataset_id) ON DELETE CASCADE
);

CREATE INDEX index_evaluation_dataset_tags_dataset_id ON evaluation_dataset_tags (dataset_id);

CREATE TABLE experiment_tags (
    key varchar(250) NOT NULL,
    value text,
    experiment_id integer NOT NULL,
    CONSTRAINT experiment_tags_pk PRIMARY KEY (key, experiment_id),
    CONSTRAINT experiment_tags_ibfk_1
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id)
);

CREATE TABLE scorers (
    experiment_id integer NOT NULL,
    scorer_name varchar(256) NOT NULL,
    scorer_id varchar(36) NOT NULL,
    CONSTRAINT scorers_pk PRIMARY KEY (scorer_id),
    CONSTRAINT fk_scorers_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX index_scorers_experiment_id_scorer_name ON scorers (experiment_id, scorer_name);

CREATE TABLE scorer_versions (
    scorer_id varchar(36) NOT NULL,
    scorer_version integer NOT NULL,
    serialized_scorer text NOT NULL,
    creation_time bigint,
    CONSTRAINT scorer_versions_pk PRIMARY KEY (scorer_id, scorer_version),
    CONSTRAINT fk_scorer_versions_scorer_id
        FOREIGN KEY (scorer_id) REFERENCES scorers (scorer_id) ON DELETE CASCADE
);

CREATE INDEX index_scorer_versions_scorer_id ON scorer_versions (scorer_id);

CREATE TABLE guardrails (
    guardrail_id varchar(36) NOT NULL,
    name varchar(255) NOT NULL,
    scorer_id varchar(36) NOT NULL,
    scorer_version integer NOT NULL,
    stage varchar(32) NOT NULL,
    action varchar(32) NOT NULL,
    action_endpoint_id varchar(36),
    created_by varchar(255),
    created_at bigint NOT NULL,
    last_updated_by varchar(255),
    last_updated_at bigint NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    CONSTRAINT guardrails_pk PRIMARY KEY (guardrail_id),
    CONSTRAINT fk_guardrails_action_endpoint_id
        FOREIGN KEY (action_endpoint_id) REFERENCES endpoints (endpoint_id) ON DELETE SET NULL,
    CONSTRAINT fk_guardrails_scorer_version
        FOREIGN KEY (scorer_id, scorer_version) REFERENCES scorer_versions (scorer_id, scorer_version)
);

CREATE INDEX idx_guardrails_scorer ON guardrails (scorer_id, scorer_version);
CREATE INDEX idx_guardrails_workspace ON guardrails (workspace);

CREATE TABLE guardrail_configs (
    endpoint_id varchar(36) NOT NULL,
    guardrail_id varchar(36) NOT NULL,
    execution_order integer,
    created_by varchar(255),
    created_at bigint NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    CONSTRAINT guardrail_configs_pk PRIMARY KEY (endpoint_id, guardrail_id),
    CONSTRAINT fk_guardrail_configs_endpoint_id
        FOREIGN KEY (endpoint_id) REFERENCES endpoints (endpoint_id) ON DELETE CASCADE,
    CONSTRAINT fk_guardrail_configs_guardrail_id
        FOREIGN KEY (guardrail_id) REFERENCES guardrails (guardrail_id) ON DELETE CASCADE
);

CREATE INDEX idx_guardrail_configs_endpoint_id ON guardrail_configs (endpoint_id);
CREATE INDEX idx_guardrail_configs_guardrail_id ON guardrail_configs (guardrail_id);

CREATE TABLE input_tags (
    input_uuid varchar(36) NOT NULL,
    name varchar(255) NOT NULL,
    value varchar(500) NOT NULL,
    CONSTRAINT input_tags_pk PRIMARY KEY (input_uuid, name)
);

CREATE TABLE inputs (
    input_uuid varchar(36) NOT NULL,
    source_type varchar(36) NOT NULL,
    source_id varchar(36) NOT NULL,
    destination_type varchar(36) NOT NULL,
    destination_id varchar(36) NOT NULL,
    step bigint NOT NULL DEFAULT 0,
    CONSTRAINT inputs_pk PRIMARY KEY (source_type, source_id, destination_type, destination_id)
);

CREATE INDEX index_inputs_destination_type_destination_id_source_type ON inputs (destination_type, destination_id, source_type);
CREATE INDEX index_inputs_input_uuid ON inputs (input_uuid);

CREATE TABLE runs (
    run_uuid varchar(32) NOT NULL,
    name varchar(250),
    source_type varchar(20),
    source_name varchar(500),
    entry_point_name varchar(50),
    user_id varchar(256),
    status varchar(9),
    start_time bigint,
    end_time bigint,
    source_version varchar(50),
    lifecycle_stage varchar(20),
    artifact_uri varchar(200),
    experiment_id integer,
    deleted_time bigint,
    CONSTRAINT runs_pk PRIMARY KEY (run_uuid),
    CONSTRAINT runs_ibfk_1
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id),
    CONSTRAINT runs_check_1 CHECK (status IN ('SCHEDULED', 'FAILED', 'FINISHED', 'RUNNING', 'KILLED')),
    CONSTRAINT runs_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')),
    CONSTRAINT source_type CHECK (source_type IN ('NOTEBOOK', 'JOB', 'LOCAL', 'UNKNOWN', 'PROJECT'))
);

CREATE TABLE issues (
    issue_id varchar(36) NOT NULL,
    experiment_id integer NOT NULL,
    name varchar(250) NOT NULL,
    description text NOT NULL,
    status varchar(50) NOT NULL,
    severity varchar(50),
    root_causes text,
    source_run_id varchar(32),
    categories text,
    created_timestamp bigint NOT NULL,
    last_updated_timestamp bigint NOT NULL,
    created_by varchar(255),
    CONSTRAINT issues_pk PRIMARY KEY (issue_id),
    CONSTRAINT fk_issues_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE,
    CONSTRAINT fk_issues_source_run_id
        FOREIGN KEY (source_run_id) REFERENCES runs (run_uuid) ON DELETE SET NULL
);

CREATE INDEX index_issues_experiment_id ON issues (experiment_id);
CREATE INDEX index_issues_source_run_id ON issues (source_run_id);
CREATE INDEX index_issues_status ON issues (status);

CREATE TABLE jobs (
    id varchar(36) NOT NULL,
    creation_time bigint NOT NULL,
    job_name varchar(500),
    params text NOT NULL,
    timeout double precision,
    status integer NOT NULL,
    result text,
    retry_count integer NOT NULL,
    last_update_time bigint NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    status_details json,
    creator varchar(255),
    executor_backend varchar(255),
    lease_expires_at bigint,
    status_message text,
    progress json,
    progress_updated_at bigint,
    token_hash varchar(64),
    scoped_permissions json,
    next_attempt_at bigint,
    CONSTRAINT jobs_pk PRIMARY KEY (id)
);

CREATE INDEX index_jobs_name_status_creation_time ON jobs (job_name, workspace, status, creation_time);
CREATE INDEX index_jobs_status_lease_expires_at ON jobs (status, lease_expires_at);

CREATE TABLE job_locks (
    lock_key varchar(255) NOT NULL,
    job_id varchar(36) NOT NULL,
    acquired_at bigint NOT NULL,
    CONSTRAINT job_locks_pk PRIMARY KEY (lock_key),
    CONSTRAINT fk_job_locks_job_id
        FOREIGN KEY (job_id) REFERENCES jobs (id) ON DELETE CASCADE
);

CREATE INDEX index_job_locks_job_id ON job_locks (job_id);

CREATE TABLE label_schemas (
    schema_id varchar(36) NOT NULL,
    experiment_id integer NOT NULL,
    name varchar(250) NOT NULL,
    type varchar(16) NOT NULL,
    instruction text,
    enable_comment boolean NOT NULL DEFAULT false,
    input_type varchar(32) NOT NULL,
    input_config text NOT NULL,
    created_by varchar(255),
    created_time bigint NOT NULL,
    last_update_time bigint NOT NULL,
    is_default boolean NOT NULL DEFAULT false,
    CONSTRAINT label_schemas_pk PRIMARY KEY (schema_id),
    CONSTRAINT fk_label_schemas_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE
);

CREATE INDEX index_label_schemas_experiment_id ON label_schemas (experiment_id);
CREATE UNIQUE INDEX uq_label_schemas_exp_name ON label_schemas (experiment_id, name);

CREATE TABLE latest_metrics (
    key varchar(250) NOT NULL,
    value double precision NOT NULL,
    timestamp bigint,
    step bigint NOT NULL,
    is_nan boolean NOT NULL,
    run_uuid varchar(32) NOT NULL,
    CONSTRAINT latest_metrics_pk PRIMARY KEY (key, run_uuid),
    CONSTRAINT latest_metrics_ibfk_1
        FOREIGN KEY (run_uuid) REFERENCES runs (run_uuid)
);

CREATE INDEX index_latest_metrics_run_uuid ON latest_metrics (run_uuid);

CREATE TABLE logged_models (
    model_id varchar(36) NOT NULL,
    experiment_id integer NOT NULL,
    name varchar(500) NOT NULL,
    artifact_location varchar(1000) NOT NULL,
    creation_timestamp_ms bigint NOT NULL,
    last_updated_timestamp_ms bigint NOT NULL,
    status integer NOT NULL,
    lifecycle_stage varchar(32),
    model_type varchar(500),
    source_run_id varchar(32),
    status_message varchar(1000),
    CONSTRAINT logged_models_pk PRIMARY KEY (model_id),
    CONSTRAINT fk_logged_models_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE,
    CONSTRAINT logged_models_lifecycle_stage_check CHECK (lifecycle_stage IN ('active', 'deleted'))
);

CREATE TABLE logged_model_metrics (
    model_id varchar(36) NOT NULL,
    metric_name varchar(500) NOT NULL,
    metric_timestamp_ms bigint NOT NULL,
    metric_step bigint NOT NULL,
    metric_value double precision,
    experiment_id integer NOT NULL,
    run_id varchar(32) NOT NULL,
    dataset_uuid varchar(36),
    dataset_name varchar(500),
    dataset_digest varchar(36),
    CONSTRAINT logged_model_metrics_pk PRIMARY KEY (model_id, metric_name, metric_timestamp_ms, metric_step, run_id),
    CONSTRAINT fk_logged_model_metrics_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id),
    CONSTRAINT fk_logged_model_metrics_model_id
        FOREIGN KEY (model_id) REFERENCES logged_models (model_id) ON DELETE CASCADE,
    CONSTRAINT fk_logged_model_metrics_run_id
        FOREIGN KEY (run_id) REFERENCES runs (run_uuid) ON DELETE CASCADE
);

CREATE INDEX index_logged_model_metrics_model_id ON logged_model_metrics (model_id);

CREATE TABLE logged_model_params (
    model_id varchar(36) NOT NULL,
    experiment_id integer NOT NULL,
    param_key varchar(255) NOT NULL,
    param_value text NOT NULL,
    CONSTRAINT logged_model_params_pk PRIMARY KEY (model_id, param_key),
    CONSTRAINT fk_logged_model_params_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id),
    CONSTRAINT fk_logged_model_params_model_id
        FOREIGN KEY (model_id) REFERENCES logged_models (model_id) ON DELETE CASCADE
);

CREATE TABLE logged_model_tags (
    model_id varchar(36) NOT NULL,
    experiment_id integer NOT NULL,
    tag_key varchar(255) NOT NULL,
    tag_value text NOT NULL,
    CONSTRAINT logged_model_tags_pk PRIMARY KEY (model_id, tag_key),
    CONSTRAINT fk_logged_model_tags_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id),
    CONSTRAINT fk_logged_model_tags_model_id
        FOREIGN KEY (model_id) REFERENCES logged_models (model_id) ON DELETE CASCADE
);

CREATE TABLE mcp_servers (
    workspace varchar(63) NOT NULL DEFAULT 'default',
    name varchar(256) NOT NULL,
    display_name varchar(256),
    description text,
    icons json,
    created_by varchar(256),
    last_updated_by varchar(256),
    created_at bigint NOT NULL,
    last_updated_at bigint NOT NULL,
    CONSTRAINT mcp_servers_pk PRIMARY KEY (workspace, name)
);

CREATE TABLE mcp_access_endpoints (
    id varchar(36) NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    server_name varchar(256) NOT NULL,
    server_version varchar(128),
    server_alias varchar(256),
    url varchar(2048) NOT NULL,
    transport_type varchar(32) NOT NULL DEFAULT 'streamable-http',
    created_by varchar(256),
    last_updated_by varchar(256),
    created_at bigint NOT NULL,
    last_updated_at bigint NOT NULL,
    CONSTRAINT mcp_access_endpoints_pk PRIMARY KEY (id),
    CONSTRAINT mcp_access_endpoints_server_fkey
        FOREIGN KEY (workspace, server_name) REFERENCES mcp_servers (workspace, name) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX ix_mcp_access_endpoints_alias ON mcp_access_endpoints (workspace, server_name, server_alias);
CREATE INDEX ix_mcp_access_endpoints_server_name ON mcp_access_endpoints (workspace, server_name);
CREATE INDEX ix_mcp_access_endpoints_version ON mcp_access_endpoints (workspace, server_name, server_version);

CREATE TABLE mcp_server_aliases (
    workspace varchar(63) NOT NULL DEFAULT 'default',
    name varchar(256) NOT NULL,
    alias varchar(256) NOT NULL,
    version varchar(128) NOT NULL,
    CONSTRAINT mcp_server_aliases_pk PRIMARY KEY (workspace, name, alias),
    CONSTRAINT mcp_server_aliases_server_fkey
        FOREIGN KEY (workspace, name) REFERENCES mcp_servers (workspace, name) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE mcp_server_tags (
    workspace varchar(63) NOT NULL DEFAULT 'default',
    name varchar(256) NOT NULL,
    key varchar(250) NOT NULL,
    value varchar(5000),
    CONSTRAINT mcp_server_tags_pk PRIMARY KEY (workspace, name, key),
    CONSTRAINT mcp_server_tags_server_fkey
        FOREIGN KEY (workspace, name) REFERENCES mcp_servers (workspace, name) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE mcp_server_versions (
    workspace varchar(63) NOT NULL DEFAULT 'default',
    name varchar(256) NOT NULL,
    version varchar(128) NOT NULL,
    version_major integer NOT NULL,
    version_minor integer NOT NULL,
    version_patch integer NOT NULL,
    version_prerelease_sort_key varchar(512) NOT NULL,
    server_json json NOT NULL,
    status varchar(20) NOT NULL DEFAULT 'draft',
    tools json,
    source varchar(512),
    connect_options json,
    created_by varchar(256),
    last_updated_by varchar(256),
    created_at bigint NOT NULL,
    last_updated_at bigint NOT NULL,
    CONSTRAINT mcp_server_versions_pk PRIMARY KEY (workspace, name, version),
    CONSTRAINT mcp_server_versions_server_fkey
        FOREIGN KEY (workspace, name) REFERENCES mcp_servers (workspace, name) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX idx_mcp_server_versions_latest
    ON mcp_server_versions (workspace, name, status, version_major DESC, version_minor DESC, version_patch DESC);

CREATE TABLE mcp_server_version_tags (
    workspace varchar(63) NOT NULL DEFAULT 'default',
    name varchar(256) NOT NULL,
    version varchar(128) NOT NULL,
    key varchar(250) NOT NULL,
    value varchar(5000),
    CONSTRAINT mcp_server_version_tags_pk PRIMARY KEY (workspace, name, version, key),
    CONSTRAINT mcp_server_version_tags_version_fkey
        FOREIGN KEY (workspace, name, version) REFERENCES mcp_server_versions (workspace, name, version) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE metrics (
    key varchar(250) NOT NULL,
    value double precision NOT NULL,
    timestamp bigint NOT NULL,
    run_uuid varchar(32) NOT NULL,
    step bigint NOT NULL DEFAULT 0,
    is_nan boolean NOT NULL DEFAULT false,
    CONSTRAINT metrics_pk PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan),
    CONSTRAINT metrics_ibfk_1
        FOREIGN KEY (run_uuid) REFERENCES runs (run_uuid)
);

CREATE INDEX index_metrics_run_uuid ON metrics (run_uuid);
CREATE INDEX index_metrics_run_uuid_key_step ON metrics (run_uuid, key, step);

CREATE TABLE registered_models (
    name varchar(256) NOT NULL,
    creation_time bigint,
    last_updated_time bigint,
    description varchar(5000),
    workspace varchar(63) NOT NULL DEFAULT 'default',
    CONSTRAINT registered_models_pk PRIMARY KEY (workspace, name)
);

CREATE INDEX idx_registered_models_workspace ON registered_models (workspace);

CREATE TABLE model_versions (
    name varchar(256) NOT NULL,
    version integer NOT NULL,
    creation_time bigint,
    last_updated_time bigint,
    description varchar(5000),
    user_id varchar(256),
    current_stage varchar(20),
    source varchar(500),
    run_id varchar(32),
    status varchar(20),
    status_message varchar(500),
    run_link varchar(500),
    storage_location varchar(500),
    workspace varchar(63) NOT NULL DEFAULT 'default',
    CONSTRAINT model_versions_pk PRIMARY KEY (workspace, name, version),
    CONSTRAINT fk_model_versions_registered_models
        FOREIGN KEY (workspace, name) REFERENCES registered_models (workspace, name) ON UPDATE CASCADE
);

CREATE TABLE model_version_tags (
    key varchar(250) NOT NULL,
    value text,
    name varchar(256) NOT NULL,
    version integer NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    CONSTRAINT model_version_tags_pk PRIMARY KEY (workspace, key, name, version),
    CONSTRAINT fk_model_version_tags_model_versions
        FOREIGN KEY (workspace, name, version) REFERENCES model_versions (workspace, name, version) ON UPDATE CASCADE
);

CREATE INDEX idx_model_version_tags_workspace_name_version ON model_version_tags (workspace, name, version);

CREATE TABLE online_scoring_configs (
    online_scoring_config_id varchar(36) NOT NULL,
    scorer_id varchar(36) NOT NULL,
    sample_rate double precision NOT NULL,
    experiment_id integer NOT NULL,
    filter_string text,
    CONSTRAINT online_scoring_configs_pk PRIMARY KEY (online_scoring_config_id),
    CONSTRAINT fk_online_scoring_configs_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id),
    CONSTRAINT fk_online_scoring_configs_scorer_id
        FOREIGN KEY (scorer_id) REFERENCES scorers (scorer_id) ON DELETE CASCADE
);

CREATE TABLE params (
    key varchar(250) NOT NULL,
    value varchar(8000) NOT NULL,
    run_uuid varchar(32) NOT NULL,
    CONSTRAINT params_pk PRIMARY KEY (key, run_uuid),
    CONSTRAINT params_ibfk_1
        FOREIGN KEY (run_uuid) REFERENCES runs (run_uuid)
);

CREATE INDEX index_params_run_uuid ON params (run_uuid);

CREATE TABLE registered_model_aliases (
    alias varchar(256) NOT NULL,
    version integer NOT NULL,
    name varchar(256) NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    CONSTRAINT registered_model_aliases_pk PRIMARY KEY (workspace, name, alias),
    CONSTRAINT fk_registered_model_aliases_registered_models
        FOREIGN KEY (workspace, name) REFERENCES registered_models (workspace, name) ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE registered_model_tags (
    key varchar(250) NOT NULL,
    value varchar(5000),
    name varchar(256) NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    CONSTRAINT registered_model_tags_pk PRIMARY KEY (workspace, key, name),
    CONSTRAINT fk_registered_model_tags_registered_models
        FOREIGN KEY (workspace, name) REFERENCES registered_models (workspace, name) ON UPDATE CASCADE
);

CREATE INDEX idx_registered_model_tags_workspace_name ON registered_model_tags (workspace, name);

CREATE TABLE review_queues (
    queue_id varchar(36) NOT NULL,
    experiment_id integer NOT NULL,
    name varchar(250) NOT NULL,
    queue_type varchar(16) NOT NULL,
    created_by varchar(255),
    creation_time_ms bigint NOT NULL,
    last_update_time_ms bigint NOT NULL,
    name_key varchar(250) NOT NULL,
    CONSTRAINT review_queues_pk PRIMARY KEY (queue_id),
    CONSTRAINT fk_review_queues_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE
);

CREATE INDEX index_review_queues_experiment_id ON review_queues (experiment_id);
CREATE UNIQUE INDEX uq_review_queues_experiment_name_key ON review_queues (experiment_id, name_key);

CREATE TABLE review_queue_items (
    queue_id varchar(36) NOT NULL,
    item_type varchar(16) NOT NULL,
    item_id varchar(50) NOT NULL,
    status varchar(16) NOT NULL,
    completed_by varchar(250),
    completed_time_ms bigint,
    creation_time_ms bigint NOT NULL,
    last_update_time_ms bigint NOT NULL,
    CONSTRAINT review_queue_items_pk PRIMARY KEY (queue_id, item_id),
    CONSTRAINT fk_review_queue_items_queue_id
        FOREIGN KEY (queue_id) REFERENCES review_queues (queue_id) ON DELETE CASCADE
);

CREATE INDEX index_review_queue_items_item_id ON review_queue_items (item_id);
CREATE INDEX index_review_queue_items_queue_id_status ON review_queue_items (queue_id, status);

CREATE TABLE review_queue_label_schemas (
    queue_id varchar(36) NOT NULL,
    schema_id varchar(36) NOT NULL,
    CONSTRAINT review_queue_label_schemas_pk PRIMARY KEY (queue_id, schema_id),
    CONSTRAINT fk_review_queue_label_schemas_queue_id
        FOREIGN KEY (queue_id) REFERENCES review_queues (queue_id) ON DELETE CASCADE
);

CREATE INDEX index_review_queue_label_schemas_schema_id ON review_queue_label_schemas (schema_id);

CREATE TABLE review_queue_users (
    queue_id varchar(36) NOT NULL,
    user_id varchar(250) NOT NULL,
    CONSTRAINT review_queue_users_pk PRIMARY KEY (queue_id, user_id),
    CONSTRAINT fk_review_queue_users_queue_id
        FOREIGN KEY (queue_id) REFERENCES review_queues (queue_id) ON DELETE CASCADE
);

CREATE INDEX index_review_queue_users_user_id ON review_queue_users (user_id);

CREATE TABLE scheduler_leases (
    lease_key varchar(255) NOT NULL,
    acquired_at bigint NOT NULL,
    ttl_seconds integer NOT NULL,
    CONSTRAINT scheduler_leases_pk PRIMARY KEY (lease_key)
);

CREATE TABLE spans (
    trace_id varchar(50) NOT NULL,
    experiment_id integer NOT NULL,
    span_id varchar(50) NOT NULL,
    parent_span_id varchar(50),
    name text,
    type varchar(500),
    status varchar(50) NOT NULL,
    start_time_unix_nano bigint NOT NULL,
    end_time_unix_nano bigint,
    duration_ns bigint GENERATED ALWAYS AS (end_time_unix_nano - start_time_unix_nano) STORED,
    content text NOT NULL,
    input_cost double precision,
    output_cost double precision,
    total_cost double precision,
    model_name varchar(500),
    model_provider varchar(500),
    CONSTRAINT spans_pk PRIMARY KEY (trace_id, span_id),
    CONSTRAINT fk_spans_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id),
    CONSTRAINT fk_spans_trace_id
        FOREIGN KEY (trace_id) REFERENCES trace_info (request_id) ON DELETE CASCADE
);

CREATE INDEX idx_spans_cost_exp_time_cover ON spans (experiment_id, start_time_unix_nano);
CREATE INDEX idx_spans_cost_trace_time_cover ON spans (trace_id, start_time_unix_nano);
CREATE INDEX index_spans_experiment_id_duration ON spans (experiment_id, duration_ns);
CREATE INDEX index_spans_experiment_id_start_time ON spans (experiment_id, start_time_unix_nano);
CREATE INDEX index_spans_experiment_id_status_type ON spans (experiment_id, status, type);
CREATE INDEX index_spans_experiment_id_type_status ON spans (experiment_id, type, status);

CREATE TABLE span_metrics (
    trace_id varchar(50) NOT NULL,
    span_id varchar(50) NOT NULL,
    key varchar(250) NOT NULL,
    value double precision,
    CONSTRAINT span_metrics_pk PRIMARY KEY (trace_id, span_id, key),
    CONSTRAINT fk_span_metrics_span
        FOREIGN KEY (trace_id, span_id) REFERENCES spans (trace_id, span_id) ON DELETE CASCADE
);

CREATE INDEX index_span_metrics_trace_id_span_id ON span_metrics (trace_id, span_id);

CREATE TABLE sql_assessment_daily_rollups (
    id bigserial,
    experiment_id integer NOT NULL,
    rollup_day date NOT NULL,
    metric_name varchar(250) NOT NULL,
    grouping_set varchar(50) NOT NULL,
    sample_count bigint NOT NULL,
    sum_value double precision,
    min_value double precision,
    max_value double precision,
    CONSTRAINT sql_assessment_daily_rollups_pk PRIMARY KEY (id)
);

CREATE INDEX idx_assessment_rollups_lookup ON sql_assessment_daily_rollups (experiment_id, rollup_day, metric_name, grouping_set);

CREATE TABLE sql_span_cost_daily_rollups (
    id bigserial,
    experiment_id integer NOT NULL,
    rollup_day date NOT NULL,
    metric_name varchar(250) NOT NULL,
    grouping_set varchar(50) NOT NULL,
    model_name varchar(500),
    model_provider varchar(500),
    sample_count bigint NOT NULL,
    sum_value double precision,
    min_value double precision,
    max_value double precision,
    CONSTRAINT sql_span_cost_daily_rollups_pk PRIMARY KEY (id)
);

CREATE INDEX idx_span_cost_rollups_lookup
    ON sql_span_cost_daily_rollups (experiment_id, rollup_day, metric_name, grouping_set, model_name, model_provider);

CREATE TABLE sql_trace_metric_daily_rollups (
    id bigserial,
    experiment_id integer NOT NULL,
    rollup_day date NOT NULL,
    metric_name varchar(250) NOT NULL,
    grouping_set varchar(50) NOT NULL,
    trace_status varchar(50),
    sample_count bigint NOT NULL,
    sum_value double precision,
    min_value double precision,
    max_value double precision,
    p50_value double precision,
    p90_value double precision,
    p99_value double precision,
    CONSTRAINT sql_trace_metric_daily_rollups_pk PRIMARY KEY (id)
);

CREATE INDEX idx_trace_rollups_lookup
    ON sql_trace_metric_daily_rollups (experiment_id, rollup_day, metric_name, grouping_set, trace_status);

CREATE TABLE sql_trace_rollup_rebuild_queue (
    experiment_id integer NOT NULL,
    rollup_day date NOT NULL,
    rollup_family varchar(50) NOT NULL,
    CONSTRAINT sql_trace_rollup_rebuild_queue_pk PRIMARY KEY (experiment_id, rollup_day, rollup_family)
);

CREATE TABLE tags (
    key varchar(250) NOT NULL,
    value varchar(8000),
    run_uuid varchar(32) NOT NULL,
    CONSTRAINT tags_pk PRIMARY KEY (key, run_uuid),
    CONSTRAINT tags_ibfk_1
        FOREIGN KEY (run_uuid) REFERENCES runs (run_uuid)
);

CREATE INDEX index_tags_run_uuid ON tags (run_uuid);

CREATE TABLE trace_metrics (
    request_id varchar(50) NOT NULL,
    key varchar(250) NOT NULL,
    value double precision,
    CONSTRAINT trace_metrics_pk PRIMARY KEY (request_id, key),
    CONSTRAINT fk_trace_metrics_request_id
        FOREIGN KEY (request_id) REFERENCES trace_info (request_id) ON DELETE CASCADE
);

CREATE INDEX index_trace_metrics_request_id ON trace_metrics (request_id);

CREATE TABLE trace_request_metadata (
    key varchar(250) NOT NULL,
    value varchar(8000),
    request_id varchar(50) NOT NULL,
    CONSTRAINT trace_request_metadata_pk PRIMARY KEY (key, request_id),
    CONSTRAINT fk_trace_request_metadata_request_id
        FOREIGN KEY (request_id) REFERENCES trace_info (request_id) ON DELETE CASCADE
);

CREATE INDEX index_trace_request_metadata_request_id ON trace_request_metadata (request_id);

CREATE TABLE trace_tags (
    key varchar(250) NOT NULL,
    value varchar(8000),
    request_id varchar(50) NOT NULL,
    CONSTRAINT trace_tags_pk PRIMARY KEY (key, request_id),
    CONSTRAINT fk_trace_tags_request_id
        FOREIGN KEY (request_id) REFERENCES trace_info (request_id) ON DELETE CASCADE
);

CREATE INDEX index_trace_tags_request_id ON trace_tags (request_id);

CREATE TABLE webhooks (
    webhook_id varchar(256) NOT NULL,
    name varchar(256) NOT NULL,
    description varchar(1000),
    url varchar(500) NOT NULL,
    status varchar(20) NOT NULL DEFAULT 'ACTIVE',
    secret varchar(1000),
    creation_timestamp bigint,
    last_updated_timestamp bigint,
    deleted_timestamp bigint,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    CONSTRAINT webhooks_pk PRIMARY KEY (webhook_id)
);

CREATE INDEX idx_webhooks_name ON webhooks (name);
CREATE INDEX idx_webhooks_status ON webhooks (status);
CREATE INDEX idx_webhooks_workspace ON webhooks (workspace);

CREATE TABLE webhook_events (
    webhook_id varchar(256) NOT NULL,
    entity varchar(50) NOT NULL,
    action varchar(50) NOT NULL,
    CONSTRAINT webhook_events_pk PRIMARY KEY (webhook_id, entity, action),
    CONSTRAINT webhook_events_ibfk_1
        FOREIGN KEY (webhook_id) REFERENCES webhooks (webhook_id) ON DELETE CASCADE
);

CREATE INDEX idx_webhook_events_action ON webhook_events (action);
CREATE INDEX idx_webhook_events_entity ON webhook_events (entity);
CREATE INDEX idx_webhook_events_entity_action ON webhook_events (entity, action);

CREATE TABLE workspaces (
    name varchar(63) NOT NULL,
    description text,
    default_artifact_root text,
    trace_archival_location text,
    trace_archival_retention varchar(32),
    CONSTRAINT workspaces_pk PRIMARY KEY (name)
);
