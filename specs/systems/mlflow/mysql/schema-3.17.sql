-- The tables of MLflow 3.17 on MySQL and MariaDB: every table, column, default, key, index and foreign key.
--
-- As `mlflow db upgrade` makes them; texts have the collation that the server gives them by default.

CREATE TABLE alembic_version (
    version_num varchar(32) NOT NULL,
    PRIMARY KEY (version_num)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE experiments (
    experiment_id int NOT NULL AUTO_INCREMENT,
    name varchar(256) NOT NULL,
    artifact_location varchar(256),
    lifecycle_stage varchar(32),
    creation_time bigint,
    last_update_time bigint,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    PRIMARY KEY (experiment_id),
    KEY idx_experiments_workspace (workspace),
    KEY idx_experiments_workspace_creation_time (workspace, creation_time),
    UNIQUE KEY uq_experiments_workspace_name (workspace, name),
    CONSTRAINT experiments_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted'))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE trace_info (
    request_id varchar(50) NOT NULL,
    experiment_id int NOT NULL,
    timestamp_ms bigint NOT NULL,
    execution_time_ms bigint,
    status varchar(50) NOT NULL,
    client_request_id varchar(50),
    request_preview varchar(1000),
    response_preview varchar(1000),
    db_payload_generation int NOT NULL DEFAULT 0,
    trace_name varchar(4096),
    session_id varchar(250),
    input_tokens bigint,
    output_tokens bigint,
    total_tokens bigint,
    cache_read_input_tokens bigint,
    cache_creation_input_tokens bigint,
    cache_creation_input_tokens_above_1hr bigint,
    input_cost double,
    output_cost double,
    total_cost double,
    PRIMARY KEY (request_id),
    KEY index_trace_info_experiment_id_session_id (experiment_id, session_id),
    KEY index_trace_info_experiment_id_timestamp_ms (experiment_id, timestamp_ms),
    KEY index_trace_info_timestamp_ms_request_id (timestamp_ms, request_id),
    CONSTRAINT fk_trace_info_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

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
    valid tinyint(1) NOT NULL,
    assessment_metadata text,
    experiment_id int,
    trace_timestamp_ms bigint,
    aggregate_value double,
    is_numeric_value tinyint(1) NOT NULL DEFAULT 0,
    PRIMARY KEY (assessment_id),
    KEY idx_assessments_exp_name_valid (experiment_id, name, valid),
    KEY idx_assessments_exp_trace_ts (experiment_id, trace_timestamp_ms),
    KEY idx_assessments_exp_trace_ts_name (experiment_id, trace_timestamp_ms, name),
    KEY index_assessments_assessment_type (assessment_type),
    KEY index_assessments_last_updated_timestamp (last_updated_timestamp),
    KEY index_assessments_run_id_created_timestamp (run_id, created_timestamp),
    KEY index_assessments_trace_id_created_timestamp (trace_id, created_timestamp),
    CONSTRAINT fk_assessments_trace_id
        FOREIGN KEY (trace_id) REFERENCES trace_info (request_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE budget_policies (
    budget_policy_id varchar(36) NOT NULL,
    budget_unit varchar(32) NOT NULL,
    budget_amount float NOT NULL,
    duration_unit varchar(32) NOT NULL,
    duration_value int NOT NULL,
    target_scope varchar(32) NOT NULL,
    budget_action varchar(32) NOT NULL,
    created_by varchar(255),
    created_at bigint NOT NULL,
    last_updated_by varchar(255),
    last_updated_at bigint NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    target_value varchar(255),
    PRIMARY KEY (budget_policy_id),
    KEY idx_budget_policies_target_value (target_value),
    KEY idx_budget_policies_workspace (workspace)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE datasets (
    dataset_uuid varchar(36) NOT NULL,
    experiment_id int NOT NULL,
    name varchar(500) NOT NULL,
    digest varchar(36) NOT NULL,
    dataset_source_type varchar(36) NOT NULL,
    dataset_source text NOT NULL,
    dataset_schema mediumtext,
    dataset_profile mediumtext,
    PRIMARY KEY (experiment_id, name, digest),
    KEY index_datasets_dataset_uuid (dataset_uuid),
    KEY index_datasets_experiment_id_dataset_source_type (experiment_id, dataset_source_type),
    CONSTRAINT fk_datasets_experiment_id_experiments
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE endpoints (
    endpoint_id varchar(36) NOT NULL,
    name varchar(255),
    created_by varchar(255),
    created_at bigint NOT NULL,
    last_updated_by varchar(255),
    last_updated_at bigint NOT NULL,
    routing_strategy varchar(64),
    fallback_config_json text,
    experiment_id int,
    usage_tracking tinyint(1) NOT NULL DEFAULT 0,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    PRIMARY KEY (endpoint_id),
    KEY fk_endpoints_experiment_id (experiment_id),
    KEY idx_endpoints_workspace (workspace),
    UNIQUE KEY uq_endpoints_workspace_name (workspace, name),
    CONSTRAINT fk_endpoints_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE SET NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE endpoint_bindings (
    endpoint_id varchar(36) NOT NULL,
    resource_type varchar(50) NOT NULL,
    resource_id varchar(255) NOT NULL,
    created_at bigint NOT NULL,
    created_by varchar(255),
    last_updated_at bigint NOT NULL,
    last_updated_by varchar(255),
    display_name varchar(255),
    PRIMARY KEY (endpoint_id, resource_type, resource_id),
    CONSTRAINT fk_endpoint_bindings_endpoint_id
        FOREIGN KEY (endpoint_id) REFERENCES endpoints (endpoint_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE secrets (
    secret_id varchar(36) NOT NULL,
    secret_name varchar(255) NOT NULL,
    encrypted_value blob NOT NULL,
    wrapped_dek blob NOT NULL,
    kek_version int NOT NULL,
    masked_value varchar(500) NOT NULL,
    provider varchar(64),
    auth_config text,
    description text,
    created_by varchar(255),
    created_at bigint NOT NULL,
    last_updated_by varchar(255),
    last_updated_at bigint NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    PRIMARY KEY (secret_id),
    KEY idx_secrets_workspace (workspace),
    UNIQUE KEY uq_secrets_workspace_secret_name (workspace, secret_name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

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
    PRIMARY KEY (model_definition_id),
    KEY idx_model_definitions_workspace (workspace),
    KEY index_model_definitions_provider (provider),
    KEY index_model_definitions_secret_id (secret_id),
    UNIQUE KEY uq_model_definitions_workspace_name (workspace, name),
    CONSTRAINT fk_model_definitions_secret_id
        FOREIGN KEY (secret_id) REFERENCES secrets (secret_id) ON DELETE SET NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE endpoint_model_mappings (
    mapping_id varchar(36) NOT NULL,
    endpoint_id varchar(36) NOT NULL,
    model_definition_id varchar(36) NOT NULL,
    weight float NOT NULL,
    created_by varchar(255),
    created_at bigint NOT NULL,
    linkage_type varchar(64) NOT NULL DEFAULT 'PRIMARY',
    fallback_order int,
    PRIMARY KEY (mapping_id),
    KEY index_endpoint_model_mappings_endpoint_id (endpoint_id),
    KEY index_endpoint_model_mappings_model_definition_id (model_definition_id),
    UNIQUE KEY unique_endpoint_model_linkage_mapping (endpoint_id, model_definition_id, linkage_type),
    CONSTRAINT fk_endpoint_model_mappings_endpoint_id
        FOREIGN KEY (endpoint_id) REFERENCES endpoints (endpoint_id) ON DELETE CASCADE,
    CONSTRAINT fk_endpoint_model_mappings_model_definition_id
        FOREIGN KEY (model_definition_id) REFERENCES model_definitions (model_definition_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE endpoint_tags (
    `key` varchar(250) NOT NULL,
    value varchar(5000),
    endpoint_id varchar(36) NOT NULL,
    PRIMARY KEY (`key`, endpoint_id),
    KEY index_endpoint_tags_endpoint_id (endpoint_id),
    CONSTRAINT fk_endpoint_tags_endpoint_id
        FOREIGN KEY (endpoint_id) REFERENCES endpoints (endpoint_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE entity_associations (
    association_id varchar(36) NOT NULL,
    source_type varchar(36) NOT NULL,
    source_id varchar(36) NOT NULL,
    destination_type varchar(36) NOT NULL,
    destination_id varchar(36) NOT NULL,
    created_time bigint,
    PRIMARY KEY (source_type, source_id, destination_type, destination_id),
    KEY index_entity_associations_association_id (association_id),
    KEY index_entity_associations_reverse_lookup (destination_type, destination_id, source_type, source_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE evaluation_datasets (
    dataset_id varchar(36) NOT NULL,
    name varchar(255) NOT NULL,
    `schema` text,
    profile text,
    digest varchar(64),
    created_time bigint,
    last_update_time bigint,
    created_by varchar(255),
    last_updated_by varchar(255),
    workspace varchar(63) NOT NULL DEFAULT 'default',
    PRIMARY KEY (dataset_id),
    KEY idx_evaluation_datasets_workspace (workspace),
    KEY index_evaluation_datasets_created_time (created_time),
    KEY index_evaluation_datasets_name (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

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
    PRIMARY KEY (dataset_record_id),
    KEY index_evaluation_dataset_records_dataset_id (dataset_id),
    UNIQUE KEY unique_dataset_input (dataset_id, input_hash),
    CONSTRAINT fk_evaluation_dataset_records_dataset_id
        FOREIGN KEY (dataset_id) REFERENCES evaluation_datasets (dataset_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE evaluation_dataset_tags (
    dataset_id varchar(36) NOT NULL,
    `key` varchar(255) NOT NULL,
    value varchar(5000),
    PRIMARY KEY (dataset_id, `key`),
    KEY index_evaluation_dataset_tags_dataset_id (dataset_id),
    CONSTRAINT fk_evaluation_dataset_tags_dataset_id
        FOREIGN KEY (dataset_id) REFERENCES evaluation_datasets (dataset_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE experiment_tags (
    `key` varchar(250) NOT NULL,
    value mediumtext,
    experiment_id int NOT NULL,
    PRIMARY KEY (`key`, experiment_id),
    KEY experiment_id (experiment_id),
    CONSTRAINT experiment_tags_ibfk_1
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE scorers (
    experiment_id int NOT NULL,
    scorer_name varchar(256) NOT NULL,
    scorer_id varchar(36) NOT NULL,
    PRIMARY KEY (scorer_id),
    UNIQUE KEY index_scorers_experiment_id_scorer_name (experiment_id, scorer_name),
    CONSTRAINT fk_scorers_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE scorer_versions (
    scorer_id varchar(36) NOT NULL,
    scorer_version int NOT NULL,
    serialized_scorer text NOT NULL,
    creation_time bigint,
    PRIMARY KEY (scorer_id, scorer_version),
    KEY index_scorer_versions_scorer_id (scorer_id),
    CONSTRAINT fk_scorer_versions_scorer_id
        FOREIGN KEY (scorer_id) REFERENCES scorers (scorer_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE guardrails (
    guardrail_id varchar(36) NOT NULL,
    name varchar(255) NOT NULL,
    scorer_id varchar(36) NOT NULL,
    scorer_version int NOT NULL,
    stage varchar(32) NOT NULL,
    action varchar(32) NOT NULL,
    action_endpoint_id varchar(36),
    created_by varchar(255),
    created_at bigint NOT NULL,
    last_updated_by varchar(255),
    last_updated_at bigint NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    PRIMARY KEY (guardrail_id),
    KEY fk_guardrails_action_endpoint_id (action_endpoint_id),
    KEY idx_guardrails_scorer (scorer_id, scorer_version),
    KEY idx_guardrails_workspace (workspace),
    CONSTRAINT fk_guardrails_action_endpoint_id
        FOREIGN KEY (action_endpoint_id) REFERENCES endpoints (endpoint_id) ON DELETE SET NULL,
    CONSTRAINT fk_guardrails_scorer_version
        FOREIGN KEY (scorer_id, scorer_version) REFERENCES scorer_versions (scorer_id, scorer_version)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE guardrail_configs (
    endpoint_id varchar(36) NOT NULL,
    guardrail_id varchar(36) NOT NULL,
    execution_order int,
    created_by varchar(255),
    created_at bigint NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    PRIMARY KEY (endpoint_id, guardrail_id),
    KEY idx_guardrail_configs_endpoint_id (endpoint_id),
    KEY idx_guardrail_configs_guardrail_id (guardrail_id),
    CONSTRAINT fk_guardrail_configs_endpoint_id
        FOREIGN KEY (endpoint_id) REFERENCES endpoints (endpoint_id) ON DELETE CASCADE,
    CONSTRAINT fk_guardrail_configs_guardrail_id
        FOREIGN KEY (guardrail_id) REFERENCES guardrails (guardrail_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE input_tags (
    input_uuid varchar(36) NOT NULL,
    name varchar(255) NOT NULL,
    value varchar(500) NOT NULL,
    PRIMARY KEY (input_uuid, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE inputs (
    input_uuid varchar(36) NOT NULL,
    source_type varchar(36) NOT NULL,
    source_id varchar(36) NOT NULL,
    destination_type varchar(36) NOT NULL,
    destination_id varchar(36) NOT NULL,
    step bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (source_type, source_id, destination_type, destination_id),
    KEY index_inputs_destination_type_destination_id_source_type (destination_type, destination_id, source_type),
    KEY index_inputs_input_uuid (input_uuid)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

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
    experiment_id int,
    deleted_time bigint,
    PRIMARY KEY (run_uuid),
    KEY experiment_id (experiment_id),
    CONSTRAINT runs_ibfk_1
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id),
    CONSTRAINT runs_check_1 CHECK (status IN ('SCHEDULED', 'FAILED', 'FINISHED', 'RUNNING', 'KILLED')),
    CONSTRAINT runs_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')),
    CONSTRAINT source_type CHECK (source_type IN ('NOTEBOOK', 'JOB', 'LOCAL', 'UNKNOWN', 'PROJECT'))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE issues (
    issue_id varchar(36) NOT NULL,
    experiment_id int NOT NULL,
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
    PRIMARY KEY (issue_id),
    KEY index_issues_experiment_id (experiment_id),
    KEY index_issues_source_run_id (source_run_id),
    KEY index_issues_status (status),
    CONSTRAINT fk_issues_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE,
    CONSTRAINT fk_issues_source_run_id
        FOREIGN KEY (source_run_id) REFERENCES runs (run_uuid) ON DELETE SET NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE jobs (
    id varchar(36) NOT NULL,
    creation_time bigint NOT NULL,
    job_name varchar(500),
    params text NOT NULL,
    timeout double,
    status int NOT NULL,
    result text,
    retry_count int NOT NULL,
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
    PRIMARY KEY (id),
    KEY index_jobs_name_status_creation_time (job_name, workspace, status, creation_time),
    KEY index_jobs_status_lease_expires_at (status, lease_expires_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE job_locks (
    lock_key varchar(255) NOT NULL,
    job_id varchar(36) NOT NULL,
    acquired_at bigint NOT NULL,
    PRIMARY KEY (lock_key),
    KEY index_job_locks_job_id (job_id),
    CONSTRAINT fk_job_locks_job_id
        FOREIGN KEY (job_id) REFERENCES jobs (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE label_schemas (
    schema_id varchar(36) NOT NULL,
    experiment_id int NOT NULL,
    name varchar(250) NOT NULL,
    type varchar(16) NOT NULL,
    instruction text,
    enable_comment tinyint(1) NOT NULL DEFAULT 0,
    input_type varchar(32) NOT NULL,
    input_config text NOT NULL,
    created_by varchar(255),
    created_time bigint NOT NULL,
    last_update_time bigint NOT NULL,
    is_default tinyint(1) NOT NULL DEFAULT 0,
    PRIMARY KEY (schema_id),
    KEY index_label_schemas_experiment_id (experiment_id),
    UNIQUE KEY uq_label_schemas_exp_name (experiment_id, name),
    CONSTRAINT fk_label_schemas_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE latest_metrics (
    `key` varchar(250) NOT NULL,
    value double NOT NULL,
    timestamp bigint,
    step bigint NOT NULL,
    is_nan tinyint(1) NOT NULL,
    run_uuid varchar(32) NOT NULL,
    PRIMARY KEY (`key`, run_uuid),
    KEY index_latest_metrics_run_uuid (run_uuid),
    CONSTRAINT latest_metrics_ibfk_1
        FOREIGN KEY (run_uuid) REFERENCES runs (run_uuid),
    CONSTRAINT latest_metrics_check_1 CHECK (is_nan IN (0, 1))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE logged_models (
    model_id varchar(36) NOT NULL,
    experiment_id int NOT NULL,
    name varchar(500) NOT NULL,
    artifact_location varchar(1000) NOT NULL,
    creation_timestamp_ms bigint NOT NULL,
    last_updated_timestamp_ms bigint NOT NULL,
    status int NOT NULL,
    lifecycle_stage varchar(32),
    model_type varchar(500),
    source_run_id varchar(32),
    status_message varchar(1000),
    PRIMARY KEY (model_id),
    KEY fk_logged_models_experiment_id (experiment_id),
    CONSTRAINT fk_logged_models_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE,
    CONSTRAINT logged_models_lifecycle_stage_check CHECK (lifecycle_stage IN ('active', 'deleted'))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE logged_model_metrics (
    model_id varchar(36) NOT NULL,
    metric_name varchar(500) NOT NULL,
    metric_timestamp_ms bigint NOT NULL,
    metric_step bigint NOT NULL,
    metric_value double,
    experiment_id int NOT NULL,
    run_id varchar(32) NOT NULL,
    dataset_uuid varchar(36),
    dataset_name varchar(500),
    dataset_digest varchar(36),
    PRIMARY KEY (model_id, metric_name, metric_timestamp_ms, metric_step, run_id),
    KEY fk_logged_model_metrics_experiment_id (experiment_id),
    KEY fk_logged_model_metrics_run_id (run_id),
    KEY index_logged_model_metrics_model_id (model_id),
    CONSTRAINT fk_logged_model_metrics_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id),
    CONSTRAINT fk_logged_model_metrics_model_id
        FOREIGN KEY (model_id) REFERENCES logged_models (model_id) ON DELETE CASCADE,
    CONSTRAINT fk_logged_model_metrics_run_id
        FOREIGN KEY (run_id) REFERENCES runs (run_uuid) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE logged_model_params (
    model_id varchar(36) NOT NULL,
    experiment_id int NOT NULL,
    param_key varchar(255) NOT NULL,
    param_value text NOT NULL,
    PRIMARY KEY (model_id, param_key),
    KEY fk_logged_model_params_experiment_id (experiment_id),
    CONSTRAINT fk_logged_model_params_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id),
    CONSTRAINT fk_logged_model_params_model_id
        FOREIGN KEY (model_id) REFERENCES logged_models (model_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE logged_model_tags (
    model_id varchar(36) NOT NULL,
    experiment_id int NOT NULL,
    tag_key varchar(255) NOT NULL,
    tag_value text NOT NULL,
    PRIMARY KEY (model_id, tag_key),
    KEY fk_logged_model_tags_experiment_id (experiment_id),
    CONSTRAINT fk_logged_model_tags_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id),
    CONSTRAINT fk_logged_model_tags_model_id
        FOREIGN KEY (model_id) REFERENCES logged_models (model_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

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
    PRIMARY KEY (workspace, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

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
    PRIMARY KEY (id),
    KEY ix_mcp_access_endpoints_alias (workspace, server_name, server_alias),
    KEY ix_mcp_access_endpoints_server_name (workspace, server_name),
    KEY ix_mcp_access_endpoints_version (workspace, server_name, server_version),
    CONSTRAINT mcp_access_endpoints_server_fkey
        FOREIGN KEY (workspace, server_name) REFERENCES mcp_servers (workspace, name) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE mcp_server_aliases (
    workspace varchar(63) NOT NULL DEFAULT 'default',
    name varchar(256) NOT NULL,
    alias varchar(256) NOT NULL,
    version varchar(128) NOT NULL,
    PRIMARY KEY (workspace, name, alias),
    CONSTRAINT mcp_server_aliases_server_fkey
        FOREIGN KEY (workspace, name) REFERENCES mcp_servers (workspace, name) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE mcp_server_tags (
    workspace varchar(63) NOT NULL DEFAULT 'default',
    name varchar(256) NOT NULL,
    `key` varchar(250) NOT NULL,
    value varchar(5000),
    PRIMARY KEY (workspace, name, `key`),
    CONSTRAINT mcp_server_tags_server_fkey
        FOREIGN KEY (workspace, name) REFERENCES mcp_servers (workspace, name) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE mcp_server_versions (
    workspace varchar(63) NOT NULL DEFAULT 'default',
    name varchar(256) NOT NULL,
    version varchar(128) NOT NULL,
    version_major int NOT NULL,
    version_minor int NOT NULL,
    version_patch int NOT NULL,
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
    PRIMARY KEY (workspace, name, version),
    KEY idx_mcp_server_versions_latest (workspace, name, status, version_major DESC, version_minor DESC, version_patch DESC),
    CONSTRAINT mcp_server_versions_server_fkey
        FOREIGN KEY (workspace, name) REFERENCES mcp_servers (workspace, name) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE mcp_server_version_tags (
    workspace varchar(63) NOT NULL DEFAULT 'default',
    name varchar(256) NOT NULL,
    version varchar(128) NOT NULL,
    `key` varchar(250) NOT NULL,
    value varchar(5000),
    PRIMARY KEY (workspace, name, version, `key`),
    CONSTRAINT mcp_server_version_tags_version_fkey
        FOREIGN KEY (workspace, name, version) REFERENCES mcp_server_versions (workspace, name, version) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE metrics (
    `key` varchar(250) NOT NULL,
    value double NOT NULL,
    timestamp bigint NOT NULL,
    run_uuid varchar(32) NOT NULL,
    step bigint NOT NULL DEFAULT 0,
    is_nan tinyint(1) NOT NULL DEFAULT 0,
    PRIMARY KEY (`key`, timestamp, step, run_uuid, value, is_nan),
    KEY index_metrics_run_uuid (run_uuid),
    KEY index_metrics_run_uuid_key_step (run_uuid, `key`, step),
    CONSTRAINT metrics_ibfk_1
        FOREIGN KEY (run_uuid) REFERENCES runs (run_uuid),
    CONSTRAINT metrics_check_1 CHECK (is_nan IN (0, 1)),
    CONSTRAINT metrics_check_2 CHECK (is_nan IN (0, 1))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE registered_models (
    name varchar(256) NOT NULL,
    creation_time bigint,
    last_updated_time bigint,
    description varchar(5000),
    workspace varchar(63) NOT NULL DEFAULT 'default',
    PRIMARY KEY (workspace, name),
    KEY idx_registered_models_workspace (workspace)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE model_versions (
    name varchar(256) NOT NULL,
    version int NOT NULL,
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
    PRIMARY KEY (workspace, name, version),
    CONSTRAINT fk_model_versions_registered_models
        FOREIGN KEY (workspace, name) REFERENCES registered_models (workspace, name) ON UPDATE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE model_version_tags (
    `key` varchar(250) NOT NULL,
    value text,
    name varchar(256) NOT NULL,
    version int NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    PRIMARY KEY (workspace, `key`, name, version),
    KEY idx_model_version_tags_workspace_name_version (workspace, name, version),
    KEY name (name, version),
    CONSTRAINT fk_model_version_tags_model_versions
        FOREIGN KEY (workspace, name, version) REFERENCES model_versions (workspace, name, version) ON UPDATE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE online_scoring_configs (
    online_scoring_config_id varchar(36) NOT NULL,
    scorer_id varchar(36) NOT NULL,
    sample_rate double NOT NULL,
    experiment_id int NOT NULL,
    filter_string text,
    PRIMARY KEY (online_scoring_config_id),
    KEY fk_online_scoring_configs_experiment_id (experiment_id),
    KEY fk_online_scoring_configs_scorer_id (scorer_id),
    CONSTRAINT fk_online_scoring_configs_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id),
    CONSTRAINT fk_online_scoring_configs_scorer_id
        FOREIGN KEY (scorer_id) REFERENCES scorers (scorer_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE params (
    `key` varchar(250) NOT NULL,
    value varchar(8000) NOT NULL,
    run_uuid varchar(32) NOT NULL,
    PRIMARY KEY (`key`, run_uuid),
    KEY index_params_run_uuid (run_uuid),
    CONSTRAINT params_ibfk_1
        FOREIGN KEY (run_uuid) REFERENCES runs (run_uuid)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE registered_model_aliases (
    alias varchar(256) NOT NULL,
    version int NOT NULL,
    name varchar(256) NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    PRIMARY KEY (workspace, name, alias),
    CONSTRAINT fk_registered_model_aliases_registered_models
        FOREIGN KEY (workspace, name) REFERENCES registered_models (workspace, name) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE registered_model_tags (
    `key` varchar(250) NOT NULL,
    value varchar(5000),
    name varchar(256) NOT NULL,
    workspace varchar(63) NOT NULL DEFAULT 'default',
    PRIMARY KEY (workspace, `key`, name),
    KEY idx_registered_model_tags_workspace_name (workspace, name),
    KEY name (name),
    CONSTRAINT fk_registered_model_tags_registered_models
        FOREIGN KEY (workspace, name) REFERENCES registered_models (workspace, name) ON UPDATE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE review_queues (
    queue_id varchar(36) NOT NULL,
    experiment_id int NOT NULL,
    name varchar(250) NOT NULL,
    queue_type varchar(16) NOT NULL,
    created_by varchar(255),
    creation_time_ms bigint NOT NULL,
    last_update_time_ms bigint NOT NULL,
    name_key varchar(250) NOT NULL,
    PRIMARY KEY (queue_id),
    KEY index_review_queues_experiment_id (experiment_id),
    UNIQUE KEY uq_review_queues_experiment_name_key (experiment_id, name_key),
    CONSTRAINT fk_review_queues_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE review_queue_items (
    queue_id varchar(36) NOT NULL,
    item_type varchar(16) NOT NULL,
    item_id varchar(50) NOT NULL,
    status varchar(16) NOT NULL,
    completed_by varchar(250),
    completed_time_ms bigint,
    creation_time_ms bigint NOT NULL,
    last_update_time_ms bigint NOT NULL,
    PRIMARY KEY (queue_id, item_id),
    KEY index_review_queue_items_item_id (item_id),
    KEY index_review_queue_items_queue_id_status (queue_id, status),
    CONSTRAINT fk_review_queue_items_queue_id
        FOREIGN KEY (queue_id) REFERENCES review_queues (queue_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE review_queue_label_schemas (
    queue_id varchar(36) NOT NULL,
    schema_id varchar(36) NOT NULL,
    PRIMARY KEY (queue_id, schema_id),
    KEY index_review_queue_label_schemas_schema_id (schema_id),
    CONSTRAINT fk_review_queue_label_schemas_queue_id
        FOREIGN KEY (queue_id) REFERENCES review_queues (queue_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE review_queue_users (
    queue_id varchar(36) NOT NULL,
    user_id varchar(250) NOT NULL,
    PRIMARY KEY (queue_id, user_id),
    KEY index_review_queue_users_user_id (user_id),
    CONSTRAINT fk_review_queue_users_queue_id
        FOREIGN KEY (queue_id) REFERENCES review_queues (queue_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE scheduler_leases (
    lease_key varchar(255) NOT NULL,
    acquired_at bigint NOT NULL,
    ttl_seconds int NOT NULL,
    PRIMARY KEY (lease_key)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE spans (
    trace_id varchar(50) NOT NULL,
    experiment_id int NOT NULL,
    span_id varchar(50) NOT NULL,
    parent_span_id varchar(50),
    name text,
    type varchar(500),
    status varchar(50) NOT NULL,
    start_time_unix_nano bigint NOT NULL,
    end_time_unix_nano bigint,
    duration_ns bigint GENERATED ALWAYS AS (end_time_unix_nano - start_time_unix_nano) STORED,
    content longtext NOT NULL,
    input_cost double,
    output_cost double,
    total_cost double,
    model_name varchar(500),
    model_provider varchar(500),
    PRIMARY KEY (trace_id, span_id),
    KEY idx_spans_cost_exp_time_cover (experiment_id, start_time_unix_nano),
    KEY idx_spans_cost_trace_time_cover (trace_id, start_time_unix_nano),
    KEY index_spans_experiment_id_duration (experiment_id, duration_ns),
    KEY index_spans_experiment_id_start_time (experiment_id, start_time_unix_nano),
    KEY index_spans_experiment_id_status_type (experiment_id, status, type),
    KEY index_spans_experiment_id_type_status (experiment_id, type, status),
    CONSTRAINT fk_spans_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (experiment_id),
    CONSTRAINT fk_spans_trace_id
        FOREIGN KEY (trace_id) REFERENCES trace_info (request_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE span_metrics (
    trace_id varchar(50) NOT NULL,
    span_id varchar(50) NOT NULL,
    `key` varchar(250) NOT NULL,
    value double,
    PRIMARY KEY (trace_id, span_id, `key`),
    KEY index_span_metrics_trace_id_span_id (trace_id, span_id),
    CONSTRAINT fk_span_metrics_span
        FOREIGN KEY (trace_id, span_id) REFERENCES spans (trace_id, span_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE sql_assessment_daily_rollups (
    id bigint NOT NULL AUTO_INCREMENT,
    experiment_id int NOT NULL,
    rollup_day date NOT NULL,
    metric_name varchar(250) NOT NULL,
    grouping_set varchar(50) NOT NULL,
    sample_count bigint NOT NULL,
    sum_value double,
    min_value double,
    max_value double,
    PRIMARY KEY (id),
    KEY idx_assessment_rollups_lookup (experiment_id, rollup_day, metric_name, grouping_set)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE sql_span_cost_daily_rollups (
    id bigint NOT NULL AUTO_INCREMENT,
    experiment_id int NOT NULL,
    rollup_day date NOT NULL,
    metric_name varchar(250) NOT NULL,
    grouping_set varchar(50) NOT NULL,
    model_name varchar(500),
    model_provider varchar(500),
    sample_count bigint NOT NULL,
    sum_value double,
    min_value double,
    max_value double,
    PRIMARY KEY (id),
    KEY idx_span_cost_rollups_lookup (experiment_id, rollup_day, metric_name, grouping_set, model_name(64), model_provider(64))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE sql_trace_metric_daily_rollups (
    id bigint NOT NULL AUTO_INCREMENT,
    experiment_id int NOT NULL,
    rollup_day date NOT NULL,
    metric_name varchar(250) NOT NULL,
    grouping_set varchar(50) NOT NULL,
    trace_status varchar(50),
    sample_count bigint NOT NULL,
    sum_value double,
    min_value double,
    max_value double,
    p50_value double,
    p90_value double,
    p99_value double,
    PRIMARY KEY (id),
    KEY idx_trace_rollups_lookup (experiment_id, rollup_day, metric_name, grouping_set, trace_status)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE sql_trace_rollup_rebuild_queue (
    experiment_id int NOT NULL,
    rollup_day date NOT NULL,
    rollup_family varchar(50) NOT NULL,
    PRIMARY KEY (experiment_id, rollup_day, rollup_family)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE tags (
    `key` varchar(250) NOT NULL,
    value varchar(8000),
    run_uuid varchar(32) NOT NULL,
    PRIMARY KEY (`key`, run_uuid),
    KEY index_tags_run_uuid (run_uuid),
    CONSTRAINT tags_ibfk_1
        FOREIGN KEY (run_uuid) REFERENCES runs (run_uuid)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE trace_metrics (
    request_id varchar(50) NOT NULL,
    `key` varchar(250) NOT NULL,
    value double,
    PRIMARY KEY (request_id, `key`),
    KEY index_trace_metrics_request_id (request_id),
    CONSTRAINT fk_trace_metrics_request_id
        FOREIGN KEY (request_id) REFERENCES trace_info (request_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE trace_request_metadata (
    `key` varchar(250) NOT NULL,
    value varchar(8000),
    request_id varchar(50) NOT NULL,
    PRIMARY KEY (`key`, request_id),
    KEY index_trace_request_metadata_request_id (request_id),
    CONSTRAINT fk_trace_request_metadata_request_id
        FOREIGN KEY (request_id) REFERENCES trace_info (request_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE trace_tags (
    `key` varchar(250) NOT NULL,
    value varchar(8000),
    request_id varchar(50) NOT NULL,
    PRIMARY KEY (`key`, request_id),
    KEY index_trace_tags_request_id (request_id),
    CONSTRAINT fk_trace_tags_request_id
        FOREIGN KEY (request_id) REFERENCES trace_info (request_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

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
    PRIMARY KEY (webhook_id),
    KEY idx_webhooks_name (name),
    KEY idx_webhooks_status (status),
    KEY idx_webhooks_workspace (workspace)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE webhook_events (
    webhook_id varchar(256) NOT NULL,
    entity varchar(50) NOT NULL,
    action varchar(50) NOT NULL,
    PRIMARY KEY (webhook_id, entity, action),
    KEY idx_webhook_events_action (action),
    KEY idx_webhook_events_entity (entity),
    KEY idx_webhook_events_entity_action (entity, action),
    CONSTRAINT webhook_events_ibfk_1
        FOREIGN KEY (webhook_id) REFERENCES webhooks (webhook_id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE workspaces (
    name varchar(63) NOT NULL,
    description text,
    default_artifact_root text,
    trace_archival_location text,
    trace_archival_retention varchar(32),
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
