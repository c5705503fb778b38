-- The tables of Prefect 3.8 on PostgreSQL: every table, column, default, key, index and foreign key.
--
-- As `prefect server database upgrade` makes them, but for the trigram indexes on names, which need an extension.

CREATE TYPE state_type AS ENUM ('SCHEDULED', 'PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED', 'CRASHED', 'PAUSED', 'CANCELLING');

CREATE TYPE deployment_status AS ENUM ('READY', 'NOT_READY');

CREATE TYPE work_pool_status AS ENUM ('READY', 'NOT_READY', 'PAUSED');

CREATE TYPE work_queue_status AS ENUM ('READY', 'NOT_READY', 'PAUSED');

CREATE TYPE worker_status AS ENUM ('ONLINE', 'OFFLINE');

CREATE TABLE work_pool (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    description varchar,
    type varchar NOT NULL,
    base_job_template jsonb NOT NULL DEFAULT '{}',
    is_paused boolean NOT NULL DEFAULT false,
    concurrency_limit integer,
    default_queue_id uuid,
    status work_pool_status NOT NULL DEFAULT 'NOT_READY',
    last_transitioned_status_at timestamptz,
    last_status_event_id uuid,
    storage_configuration jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT pk_work_pool PRIMARY KEY (id),
    CONSTRAINT uq_work_pool__name UNIQUE (name)
);

CREATE INDEX ix_work_pool__type ON work_pool (type);
CREATE INDEX ix_work_pool__updated ON work_pool (updated);

CREATE TABLE work_queue (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    filter jsonb,
    description varchar NOT NULL DEFAULT '',
    is_paused boolean NOT NULL DEFAULT false,
    concurrency_limit integer,
    last_polled timestamptz,
    priority integer NOT NULL DEFAULT 1,
    work_pool_id uuid NOT NULL,
    status work_queue_status NOT NULL DEFAULT 'NOT_READY',
    CONSTRAINT pk_work_queue PRIMARY KEY (id),
    CONSTRAINT uq_work_queue__work_pool_id_name UNIQUE (work_pool_id, name),
    CONSTRAINT fk_work_queue__work_pool_id__work_pool
        FOREIGN KEY (work_pool_id) REFERENCES work_pool (id) ON DELETE CASCADE
);

CREATE INDEX ix_work_queue__updated ON work_queue (updated);
CREATE INDEX ix_work_queue__work_pool_id ON work_queue (work_pool_id);
CREATE INDEX ix_work_queue__work_pool_id_priority ON work_queue (work_pool_id, priority);

CREATE TABLE agent (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    last_activity_time timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    work_queue_id uuid NOT NULL,
    CONSTRAINT pk_agent PRIMARY KEY (id),
    CONSTRAINT uq_agent__name UNIQUE (name),
    CONSTRAINT fk_agent__work_queue_id__work_queue
        FOREIGN KEY (work_queue_id) REFERENCES work_queue (id)
);

CREATE INDEX ix_agent__updated ON agent (updated);
CREATE INDEX ix_agent__work_queue_id ON agent (work_queue_id);

CREATE TABLE alembic_version (
    version_num varchar(32) NOT NULL,
    CONSTRAINT pk_alembic_version PRIMARY KEY (version_num)
);

CREATE TABLE artifact (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    key varchar,
    type varchar,
    data json,
    metadata_ json,
    task_run_id uuid,
    flow_run_id uuid,
    description varchar,
    CONSTRAINT pk_artifact PRIMARY KEY (id)
);

CREATE INDEX ix_artifact__flow_run_id ON artifact (flow_run_id);
CREATE INDEX ix_artifact__key ON artifact (key);
CREATE INDEX ix_artifact__key_created_desc ON artifact (key, created);
CREATE INDEX ix_artifact__task_run_id ON artifact (task_run_id);
CREATE INDEX ix_artifact__updated ON artifact (updated);

CREATE TABLE artifact_collection (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    key varchar NOT NULL,
    latest_id uuid NOT NULL,
    task_run_id uuid,
    flow_run_id uuid,
    type varchar,
    data json,
    description varchar,
    metadata_ json,
    CONSTRAINT pk_artifact_collection PRIMARY KEY (id),
    CONSTRAINT uq_artifact_collection__key UNIQUE (key)
);

CREATE INDEX ix_artifact_collection__key_latest_id ON artifact_collection (key, latest_id);
CREATE INDEX ix_artifact_collection__updated ON artifact_collection (updated);

CREATE TABLE automation (
    name varchar NOT NULL,
    description varchar NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    trigger jsonb NOT NULL,
    actions jsonb NOT NULL,
    actions_on_trigger jsonb NOT NULL DEFAULT '[]',
    actions_on_resolve jsonb NOT NULL DEFAULT '[]',
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    tags jsonb NOT NULL DEFAULT '[]',
    CONSTRAINT pk_automation PRIMARY KEY (id)
);

CREATE INDEX ix_automation__updated ON automation (updated);

CREATE TABLE automation_bucket (
    automation_id uuid NOT NULL,
    trigger_id uuid NOT NULL,
    bucketing_key jsonb NOT NULL,
    last_event jsonb,
    start timestamptz NOT NULL,
    "end" timestamptz NOT NULL,
    count integer NOT NULL,
    last_operation varchar,
    triggered_at timestamptz,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT pk_automation_bucket PRIMARY KEY (id),
    CONSTRAINT fk_automation_bucket__automation_id__automation
        FOREIGN KEY (automation_id) REFERENCES automation (id) ON DELETE CASCADE
);

CREATE INDEX ix_automation_bucket__automation_id__end ON automation_bucket (automation_id, "end");
CREATE INDEX ix_automation_bucket__updated ON automation_bucket (updated);
CREATE UNIQUE INDEX uq_automation_bucket__automation_id__trigger_id__bucketing_key
    ON automation_bucket (automation_id, trigger_id, bucketing_key);

CREATE TABLE automation_event_follower (
    leader_event_id uuid NOT NULL,
    follower_event_id uuid NOT NULL,
    received timestamptz NOT NULL,
    follower jsonb NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    scope varchar NOT NULL,
    CONSTRAINT pk_automation_event_follower PRIMARY KEY (id)
);

CREATE INDEX ix_ae_follower_scope_leader ON automation_event_follower (scope, leader_event_id);
CREATE INDEX ix_automation_event_follower__leader_event_id ON automation_event_follower (leader_event_id);
CREATE INDEX ix_automation_event_follower__received ON automation_event_follower (received);
CREATE INDEX ix_automation_event_follower__scope ON automation_event_follower (scope);
CREATE INDEX ix_automation_event_follower__updated ON automation_event_follower (updated);
CREATE UNIQUE INDEX uq_follower_for_scope ON automation_event_follower (scope, follower_event_id);

CREATE TABLE automation_related_resource (
    automation_id uuid NOT NULL,
    resource_id varchar,
    automation_owned_by_resource boolean NOT NULL DEFAULT false,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT pk_automation_related_resource PRIMARY KEY (id),
    CONSTRAINT fk_automation_related_resource__automation_id__automation
        FOREIGN KEY (automation_id) REFERENCES automation (id) ON DELETE CASCADE
);

CREATE INDEX ix_automation_related_resource__resource_id ON automation_related_resource (resource_id);
CREATE INDEX ix_automation_related_resource__updated ON automation_related_resource (updated);
CREATE UNIQUE INDEX uq_automation_related_resource__automation_id__resource_id
    ON automation_related_resource (automation_id, resource_id);

CREATE TABLE block_type (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    logo_url varchar,
    documentation_url varchar,
    description varchar,
    code_example varchar,
    is_protected boolean NOT NULL DEFAULT false,
    slug varchar NOT NULL,
    CONSTRAINT pk_block_type PRIMARY KEY (id)
);

CREATE INDEX ix_block_type__updated ON block_type (updated);
CREATE UNIQUE INDEX uq_block_type__slug ON block_type (slug);

CREATE TABLE block_schema (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    fields jsonb NOT NULL DEFAULT '{}',
    checksum varchar NOT NULL,
    block_type_id uuid NOT NULL,
    capabilities jsonb NOT NULL DEFAULT '[]',
    version varchar NOT NULL DEFAULT 'non-versioned',
    CONSTRAINT pk_block_schema PRIMARY KEY (id),
    CONSTRAINT fk_block_schema__block_type_id__block_type
        FOREIGN KEY (block_type_id) REFERENCES block_type (id) ON DELETE CASCADE
);

CREATE INDEX ix_block_schema__block_type_id ON block_schema (block_type_id);
CREATE INDEX ix_block_schema__capabilities ON block_schema USING gin (capabilities);
CREATE INDEX ix_block_schema__created ON block_schema (created);
CREATE INDEX ix_block_schema__updated ON block_schema (updated);
CREATE UNIQUE INDEX uq_block_schema__checksum_version ON block_schema (checksum, version);

CREATE TABLE block_document (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    data jsonb NOT NULL DEFAULT '{}',
    block_schema_id uuid NOT NULL,
    block_type_id uuid NOT NULL,
    is_anonymous boolean NOT NULL DEFAULT false,
    block_type_name varchar,
    CONSTRAINT pk_block_document PRIMARY KEY (id),
    CONSTRAINT fk_block__block_schema_id__block_schema
        FOREIGN KEY (block_schema_id) REFERENCES block_schema (id) ON DELETE CASCADE,
    CONSTRAINT fk_block_document__block_type_id__block_type
        FOREIGN KEY (block_type_id) REFERENCES block_type (id) ON DELETE CASCADE
);

CREATE INDEX ix_block_document__block_type_name__name ON block_document (block_type_name, name);
CREATE INDEX ix_block_document__is_anonymous ON block_document (is_anonymous);
CREATE INDEX ix_block_document__name ON block_document (name);
CREATE INDEX ix_block_document__updated ON block_document (updated);
CREATE UNIQUE INDEX uq_block__type_id_name ON block_document (block_type_id, name);

CREATE TABLE block_document_reference (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    parent_block_document_id uuid NOT NULL,
    reference_block_document_id uuid NOT NULL,
    CONSTRAINT pk_block_document_reference PRIMARY KEY (id),
    CONSTRAINT ck_block_document_reference__ck_block_document_referenc_824f
        CHECK (parent_block_document_id <> reference_block_document_id),
    CONSTRAINT fk_block_document_reference__parent_block_document_id___328f
        FOREIGN KEY (parent_block_document_id) REFERENCES block_document (id) ON DELETE CASCADE,
    CONSTRAINT fk_block_document_reference__reference_block_document_i_5759
        FOREIGN KEY (reference_block_document_id) REFERENCES block_document (id) ON DELETE CASCADE
);

CREATE INDEX ix_block_document_reference__updated ON block_document_reference (updated);

CREATE TABLE block_schema_reference (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    parent_block_schema_id uuid NOT NULL,
    reference_block_schema_id uuid NOT NULL,
    CONSTRAINT pk_block_schema_reference PRIMARY KEY (id),
    CONSTRAINT fk_block_schema_reference__parent_block_schema_id__block_schema
        FOREIGN KEY (parent_block_schema_id) REFERENCES block_schema (id) ON DELETE CASCADE,
    CONSTRAINT fk_block_schema_reference__reference_block_schema_id__b_6e5d
        FOREIGN KEY (reference_block_schema_id) REFERENCES block_schema (id) ON DELETE CASCADE
);

CREATE INDEX ix_block_schema_reference__updated ON block_schema_reference (updated);

CREATE TABLE composite_trigger_child_firing (
    automation_id uuid NOT NULL,
    parent_trigger_id uuid NOT NULL,
    child_trigger_id uuid NOT NULL,
    child_firing_id uuid NOT NULL,
    child_fired_at timestamptz,
    child_firing jsonb NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT pk_composite_trigger_child_firing PRIMARY KEY (id),
    CONSTRAINT fk_composite_trigger_child_firing__automation_id__automation
        FOREIGN KEY (automation_id) REFERENCES automation (id) ON DELETE CASCADE
);

CREATE INDEX ix_composite_trigger_child_firing__updated ON composite_trigger_child_firing (updated);
CREATE UNIQUE INDEX uq_composite_trigger_child_firing__a_id__pt_id__ct__id
    ON composite_trigger_child_firing (automation_id, parent_trigger_id, child_trigger_id);

CREATE TABLE concurrency_limit (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    tag varchar NOT NULL,
    concurrency_limit integer NOT NULL,
    active_slots jsonb NOT NULL DEFAULT '[]',
    CONSTRAINT pk_concurrency_limit PRIMARY KEY (id)
);

CREATE INDEX ix_concurrency_limit__updated ON concurrency_limit (updated);
CREATE UNIQUE INDEX uq_concurrency_limit__tag ON concurrency_limit (tag);

CREATE TABLE concurrency_limit_v2 (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    active boolean NOT NULL,
    name varchar NOT NULL,
    "limit" integer NOT NULL,
    active_slots integer NOT NULL,
    denied_slots integer NOT NULL,
    slot_decay_per_second double precision NOT NULL,
    avg_slot_occupancy_seconds double precision NOT NULL,
    CONSTRAINT pk_concurrency_limit_v2 PRIMARY KEY (id),
    CONSTRAINT uq_concurrency_limit_v2__name UNIQUE (name)
);

CREATE INDEX ix_concurrency_limit_v2__updated ON concurrency_limit_v2 (updated);

CREATE TABLE configuration (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    key varchar NOT NULL,
    value jsonb NOT NULL,
    CONSTRAINT pk_configuration PRIMARY KEY (id),
    CONSTRAINT uq_configuration__key UNIQUE (key)
);

CREATE INDEX ix_configuration__key ON configuration (key);
CREATE INDEX ix_configuration__updated ON configuration (updated);

CREATE TABLE csrf_token (
    token varchar NOT NULL,
    client varchar NOT NULL,
    expiration timestamptz NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT pk_csrf_token PRIMARY KEY (id),
    CONSTRAINT uq_csrf_token__client UNIQUE (client)
);

CREATE INDEX ix_csrf_token__updated ON csrf_token (updated);

CREATE TABLE flow (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    tags jsonb NOT NULL DEFAULT '[]',
    labels jsonb,
    CONSTRAINT pk_flow PRIMARY KEY (id),
    CONSTRAINT uq_flow__name UNIQUE (name)
);

CREATE INDEX ix_flow__created ON flow (created);
CREATE INDEX ix_flow__updated ON flow (updated);

CREATE TABLE deployment (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    tags jsonb NOT NULL DEFAULT '[]',
    parameters jsonb NOT NULL DEFAULT '{}',
    flow_id uuid NOT NULL,
    infrastructure_document_id uuid,
    description text,
    parameter_openapi_schema jsonb,
    storage_document_id uuid,
    version varchar,
    infra_overrides jsonb NOT NULL DEFAULT '{}',
    path varchar,
    entrypoint varchar,
    work_queue_name varchar,
    created_by jsonb,
    updated_by jsonb,
    work_queue_id uuid,
    pull_steps jsonb,
    enforce_parameter_schema boolean NOT NULL DEFAULT false,
    last_polled timestamptz,
    paused boolean NOT NULL DEFAULT false,
    status deployment_status NOT NULL DEFAULT 'NOT_READY',
    concurrency_limit integer,
    concurrency_options jsonb,
    concurrency_limit_id uuid,
    labels jsonb,
    version_id uuid,
    CONSTRAINT pk_deployment PRIMARY KEY (id),
    CONSTRAINT fk_deployment__concurrency_limit_id__concurrency_limit_v2
        FOREIGN KEY (concurrency_limit_id) REFERENCES concurrency_limit_v2 (id) ON DELETE SET NULL,
    CONSTRAINT fk_deployment__flow_id__flow
        FOREIGN KEY (flow_id) REFERENCES flow (id) ON DELETE CASCADE,
    CONSTRAINT fk_deployment__infrastructure_document_id__block_document
        FOREIGN KEY (infrastructure_document_id) REFERENCES block_document (id) ON DELETE CASCADE,
    CONSTRAINT fk_deployment__storage_document_id__block_document
        FOREIGN KEY (storage_document_id) REFERENCES block_document (id) ON DELETE CASCADE,
    CONSTRAINT fk_deployment__work_queue_id__work_queue
        FOREIGN KEY (work_queue_id) REFERENCES work_queue (id) ON DELETE SET NULL
);

CREATE INDEX ix_deployment__created ON deployment (created);
CREATE INDEX ix_deployment__flow_id ON deployment (flow_id);
CREATE INDEX ix_deployment__paused ON deployment (paused);
CREATE INDEX ix_deployment__updated ON deployment (updated);
CREATE INDEX ix_deployment__version_id ON deployment (version_id);
CREATE INDEX ix_deployment__work_queue_id ON deployment (work_queue_id);
CREATE INDEX ix_deployment__work_queue_name ON deployment (work_queue_name);
CREATE UNIQUE INDEX uq_deployment__flow_id_name ON deployment (flow_id, name);

CREATE TABLE deployment_schedule (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    schedule jsonb NOT NULL,
    active boolean NOT NULL,
    deployment_id uuid NOT NULL,
    max_scheduled_runs integer,
    parameters jsonb NOT NULL DEFAULT '{}',
    slug varchar,
    CONSTRAINT pk_deployment_schedule PRIMARY KEY (id),
    CONSTRAINT fk_deployment_schedule__deployment_id__deployment
        FOREIGN KEY (deployment_id) REFERENCES deployment (id) ON DELETE CASCADE
);

CREATE INDEX ix_deployment_schedule__deployment_id ON deployment_schedule (deployment_id);
CREATE UNIQUE INDEX ix_deployment_schedule__deployment_id__slug ON deployment_schedule (deployment_id, slug)
    WHERE slug IS NOT NULL;
CREATE INDEX ix_deployment_schedule__slug ON deployment_schedule (slug);
CREATE INDEX ix_deployment_schedule__updated ON deployment_schedule (updated);

CREATE TABLE deployment_version (
    deployment_id uuid NOT NULL,
    branch varchar,
    version_info jsonb NOT NULL DEFAULT '{}',
    description text,
    tags jsonb NOT NULL DEFAULT '[]',
    labels jsonb,
    entrypoint varchar,
    pull_steps jsonb,
    parameters jsonb NOT NULL DEFAULT '{}',
    parameter_openapi_schema jsonb,
    enforce_parameter_schema boolean NOT NULL DEFAULT false,
    work_queue_id uuid,
    work_queue_name varchar,
    infra_overrides jsonb NOT NULL DEFAULT '{}',
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT pk_deployment_version PRIMARY KEY (id),
    CONSTRAINT fk_deployment_version__deployment_id__deployment
        FOREIGN KEY (deployment_id) REFERENCES deployment (id) ON DELETE CASCADE,
    CONSTRAINT fk_deployment_version__work_queue_id__work_queue
        FOREIGN KEY (work_queue_id) REFERENCES work_queue (id) ON DELETE SET NULL
);

CREATE INDEX ix_deployment_version__deployment_id ON deployment_version (deployment_id);
CREATE INDEX ix_deployment_version__updated ON deployment_version (updated);
CREATE INDEX ix_deployment_version__work_queue_id ON deployment_version (work_queue_id);
CREATE INDEX ix_deployment_version__work_queue_name ON deployment_version (work_queue_name);
CREATE UNIQUE INDEX uq_deployment_version__deployment__branch ON deployment_version (deployment_id, branch);

CREATE TABLE event_resources (
    occurred timestamptz NOT NULL,
    resource_id text NOT NULL,
    resource_role text NOT NULL,
    resource json NOT NULL,
    event_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT pk_event_resources PRIMARY KEY (id)
);

CREATE INDEX ix_event_resources__event_id ON event_resources (event_id);
CREATE INDEX ix_event_resources__occurred ON event_resources (occurred);
CREATE INDEX ix_event_resources__resource_id__occurred ON event_resources (resource_id, occurred);
CREATE INDEX ix_event_resources__updated ON event_resources (updated);

CREATE TABLE events (
    occurred timestamptz NOT NULL,
    event text NOT NULL,
    resource_id text NOT NULL,
    resource jsonb NOT NULL,
    related_resource_ids jsonb NOT NULL DEFAULT '[]',
    related jsonb NOT NULL DEFAULT '[]',
    payload jsonb NOT NULL,
    received timestamptz NOT NULL,
    recorded timestamptz NOT NULL,
    follows uuid,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT pk_events PRIMARY KEY (id)
);

CREATE INDEX ix_events__event__id ON events (event, id);
CREATE INDEX ix_events__event_occurred ON events (event, occurred);
CREATE INDEX ix_events__event_occurred_id ON events (event, occurred, id);
CREATE INDEX ix_events__event_resource_id_occurred ON events (event, resource_id, occurred);
CREATE INDEX ix_events__occurred ON events (occurred);
CREATE INDEX ix_events__occurred_id ON events (occurred, id);
CREATE INDEX ix_events__related_gin ON events USING gin (related);
CREATE INDEX ix_events__related_resource_ids_gin ON events USING gin (related_resource_ids);
CREATE INDEX ix_events__updated ON events (updated);

CREATE TABLE task_run (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    state_type state_type,
    run_count integer NOT NULL DEFAULT 0,
    expected_start_time timestamptz,
    next_scheduled_start_time timestamptz,
    start_time timestamptz,
    end_time timestamptz,
    total_run_time interval NOT NULL DEFAULT '00:00:00',
    task_key varchar NOT NULL,
    dynamic_key varchar NOT NULL,
    cache_key varchar,
    cache_expiration timestamptz,
    task_version varchar,
    empirical_policy jsonb NOT NULL DEFAULT '{}',
    task_inputs jsonb NOT NULL DEFAULT '{}',
    tags jsonb NOT NULL DEFAULT '[]',
    flow_run_id uuid,
    state_id uuid,
    state_name varchar,
    state_timestamp timestamptz,
    flow_run_run_count integer NOT NULL DEFAULT 0,
    labels jsonb,
    CONSTRAINT pk_task_run PRIMARY KEY (id)
);

CREATE INDEX ix_task_run__end_time_desc ON task_run (end_time);
CREATE INDEX ix_task_run__expected_start_time_desc ON task_run (expected_start_time);
CREATE INDEX ix_task_run__flow_run_id ON task_run (flow_run_id);
CREATE INDEX ix_task_run__name ON task_run (name);
CREATE INDEX ix_task_run__next_scheduled_start_time_asc ON task_run (next_scheduled_start_time);
CREATE INDEX ix_task_run__start_time ON task_run (start_time);
CREATE INDEX ix_task_run__state_id ON task_run (state_id);
CREATE INDEX ix_task_run__state_name ON task_run (state_name);
CREATE INDEX ix_task_run__state_timestamp ON task_run (state_timestamp);
CREATE INDEX ix_task_run__state_type ON task_run (state_type);
CREATE INDEX ix_task_run__state_type_start_time ON task_run (state_type, start_time);
CREATE INDEX ix_task_run__updated ON task_run (updated);
CREATE UNIQUE INDEX uq_task_run__flow_run_id_task_key_dynamic_key ON task_run (flow_run_id, task_key, dynamic_key);

CREATE TABLE flow_run_state (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    type state_type NOT NULL,
    timestamp timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    message varchar,
    state_details jsonb NOT NULL DEFAULT '{}',
    data jsonb,
    flow_run_id uuid NOT NULL,
    result_artifact_id uuid,
    CONSTRAINT pk_flow_run_state PRIMARY KEY (id),
    CONSTRAINT fk_flow_run_state__result_artifact_id__artifact
        FOREIGN KEY (result_artifact_id) REFERENCES artifact (id) ON DELETE SET NULL
);

CREATE INDEX ix_flow_run_state__name ON flow_run_state (name);
CREATE INDEX ix_flow_run_state__result_artifact_id ON flow_run_state (result_artifact_id);
CREATE INDEX ix_flow_run_state__type ON flow_run_state (type);
CREATE INDEX ix_flow_run_state__updated ON flow_run_state (updated);
CREATE UNIQUE INDEX uq_flow_run_state__flow_run_id_timestamp_desc ON flow_run_state (flow_run_id, "timestamp");

CREATE TABLE flow_run (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    state_type state_type,
    run_count integer NOT NULL DEFAULT 0,
    expected_start_time timestamptz,
    next_scheduled_start_time timestamptz,
    start_time timestamptz,
    end_time timestamptz,
    total_run_time interval NOT NULL DEFAULT '00:00:00',
    flow_version varchar,
    parameters jsonb NOT NULL DEFAULT '{}',
    idempotency_key varchar,
    context jsonb NOT NULL DEFAULT '{}',
    empirical_policy jsonb NOT NULL DEFAULT '{}',
    tags jsonb NOT NULL DEFAULT '[]',
    auto_scheduled boolean NOT NULL DEFAULT false,
    flow_id uuid NOT NULL,
    deployment_id uuid,
    parent_task_run_id uuid,
    state_id uuid,
    state_name varchar,
    infrastructure_document_id uuid,
    work_queue_name varchar,
    state_timestamp timestamptz,
    created_by jsonb,
    infrastructure_pid varchar,
    work_queue_id uuid,
    job_variables jsonb DEFAULT '{}',
    deployment_version varchar,
    labels jsonb,
    CONSTRAINT pk_flow_run PRIMARY KEY (id),
    CONSTRAINT fk_flow_run__flow_id__flow
        FOREIGN KEY (flow_id) REFERENCES flow (id) ON DELETE CASCADE,
    CONSTRAINT fk_flow_run__infrastructure_document_id__block_document
        FOREIGN KEY (infrastructure_document_id) REFERENCES block_document (id) ON DELETE CASCADE,
    CONSTRAINT fk_flow_run__parent_task_run_id__task_run
        FOREIGN KEY (parent_task_run_id) REFERENCES task_run (id) ON DELETE SET NULL,
    CONSTRAINT fk_flow_run__state_id__flow_run_state
        FOREIGN KEY (state_id) REFERENCES flow_run_state (id) ON DELETE SET NULL,
    CONSTRAINT fk_flow_run__work_queue_id__work_queue
        FOREIGN KEY (work_queue_id) REFERENCES work_queue (id) ON DELETE SET NULL
);

CREATE INDEX ix_flow_run__coalesce_start_time_expected_start_time_asc ON flow_run ((COALESCE(start_time, expected_start_time)));
CREATE INDEX ix_flow_run__coalesce_start_time_expected_start_time_desc ON flow_run ((COALESCE(start_time, expected_start_time)));
CREATE INDEX ix_flow_run__deployment_id ON flow_run (deployment_id);
CREATE INDEX ix_flow_run__deployment_version ON flow_run (deployment_version);
CREATE INDEX ix_flow_run__end_time_desc ON flow_run (end_time);
CREATE INDEX ix_flow_run__expected_start_time_desc ON flow_run (expected_start_time);
CREATE INDEX ix_flow_run__flow_id ON flow_run (flow_id);
CREATE INDEX ix_flow_run__flow_version ON flow_run (flow_version);
CREATE INDEX ix_flow_run__infrastructure_document_id ON flow_run (infrastructure_document_id);
CREATE INDEX ix_flow_run__name ON flow_run (name);
CREATE INDEX ix_flow_run__next_scheduled_start_time_asc ON flow_run (next_scheduled_start_time);
CREATE INDEX ix_flow_run__parent_task_run_id ON flow_run (parent_task_run_id);
CREATE INDEX ix_flow_run__schedule_id_scheduler ON flow_run (deployment_id, (created_by ->> 'id'::text), next_scheduled_start_time)
    WHERE state_type = 'SCHEDULED'::state_type AND auto_scheduled = true;
CREATE INDEX ix_flow_run__scheduler_deployment_id_auto_scheduled_next_schedu
    ON flow_run (deployment_id, auto_scheduled, next_scheduled_start_time)
    WHERE state_type = 'SCHEDULED'::state_type;
CREATE INDEX ix_flow_run__start_time ON flow_run (start_time);
CREATE INDEX ix_flow_run__state_id ON flow_run (state_id);
CREATE INDEX ix_flow_run__state_name ON flow_run (state_name);
CREATE INDEX ix_flow_run__state_timestamp ON flow_run (state_timestamp);
CREATE INDEX ix_flow_run__state_type ON flow_run (state_type);
CREATE INDEX ix_flow_run__state_type_coalesce_start_time ON flow_run (state_type, (COALESCE(start_time, expected_start_time)));
CREATE INDEX ix_flow_run__updated ON flow_run (updated);
CREATE INDEX ix_flow_run__work_queue_id ON flow_run (work_queue_id);
CREATE INDEX ix_flow_run__work_queue_name ON flow_run (work_queue_name);
CREATE UNIQUE INDEX uq_flow_run__flow_id_idempotency_key ON flow_run (flow_id, idempotency_key);

CREATE TABLE flow_run_input (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    key varchar NOT NULL,
    value text NOT NULL,
    flow_run_id uuid NOT NULL,
    sender varchar,
    CONSTRAINT pk_flow_run_input PRIMARY KEY (id),
    CONSTRAINT uq_flow_run_input__flow_run_id_key UNIQUE (flow_run_id, key),
    CONSTRAINT fk_flow_run_input__flow_run_id__flow_run
        FOREIGN KEY (flow_run_id) REFERENCES flow_run (id) ON DELETE CASCADE
);

CREATE INDEX ix_flow_run_input__updated ON flow_run_input (updated);

CREATE TABLE log (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    level smallint NOT NULL,
    flow_run_id uuid,
    task_run_id uuid,
    message text NOT NULL,
    timestamp timestamptz NOT NULL,
    CONSTRAINT pk_log PRIMARY KEY (id)
);

CREATE INDEX ix_log__flow_run_id ON log (flow_run_id);
CREATE INDEX ix_log__flow_run_id_timestamp ON log (flow_run_id, "timestamp");
CREATE INDEX ix_log__level ON log (level);
CREATE INDEX ix_log__task_run_id ON log (task_run_id);
CREATE INDEX ix_log__timestamp ON log ("timestamp");
CREATE INDEX ix_log__updated ON log (updated);

CREATE TABLE saved_search (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    filters jsonb NOT NULL DEFAULT '[]',
    CONSTRAINT pk_saved_search PRIMARY KEY (id),
    CONSTRAINT uq_saved_search__name UNIQUE (name)
);

CREATE INDEX ix_saved_search__updated ON saved_search (updated);

CREATE TABLE task_run_state (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    type state_type NOT NULL,
    timestamp timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    message varchar,
    state_details jsonb NOT NULL DEFAULT '{}',
    data jsonb,
    task_run_id uuid NOT NULL,
    result_artifact_id uuid,
    CONSTRAINT pk_task_run_state PRIMARY KEY (id),
    CONSTRAINT fk_task_run_state__result_artifact_id__artifact
        FOREIGN KEY (result_artifact_id) REFERENCES artifact (id) ON DELETE SET NULL,
    CONSTRAINT fk_task_run_state__task_run_id__task_run
        FOREIGN KEY (task_run_id) REFERENCES task_run (id) ON DELETE CASCADE
);

CREATE INDEX ix_task_run_state__name ON task_run_state (name);
CREATE INDEX ix_task_run_state__result_artifact_id ON task_run_state (result_artifact_id);
CREATE INDEX ix_task_run_state__type ON task_run_state (type);
CREATE INDEX ix_task_run_state__updated ON task_run_state (updated);
CREATE UNIQUE INDEX uq_task_run_state__task_run_id_timestamp_desc ON task_run_state (task_run_id, "timestamp");

CREATE TABLE task_run_state_cache (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    cache_key varchar NOT NULL,
    cache_expiration timestamptz,
    task_run_state_id uuid NOT NULL,
    CONSTRAINT pk_task_run_state_cache PRIMARY KEY (id)
);

CREATE INDEX ix_task_run_state_cache__cache_key_created_desc ON task_run_state_cache (cache_key, created);
CREATE INDEX ix_task_run_state_cache__updated ON task_run_state_cache (updated);

CREATE TABLE variable (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    tags jsonb NOT NULL DEFAULT '[]',
    value jsonb,
    CONSTRAINT pk_variable PRIMARY KEY (id),
    CONSTRAINT uq_variable__name UNIQUE (name)
);

CREATE INDEX ix_variable__updated ON variable (updated);

CREATE TABLE worker (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    created timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    name varchar NOT NULL,
    last_heartbeat_time timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    work_pool_id uuid NOT NULL,
    heartbeat_interval_seconds integer,
    status worker_status NOT NULL DEFAULT 'OFFLINE',
    CONSTRAINT pk_worker PRIMARY KEY (id),
    CONSTRAINT uq_worker__work_pool_id_name UNIQUE (work_pool_id, name),
    CONSTRAINT fk_worker__work_pool_id__work_pool
        FOREIGN KEY (work_pool_id) REFERENCES work_pool (id) ON DELETE CASCADE
);

CREATE INDEX ix_worker__updated ON worker (updated);
CREATE INDEX ix_worker__work_pool_id ON worker (work_pool_id);
CREATE INDEX ix_worker__work_pool_id_last_heartbeat_time ON worker (work_pool_id, last_heartbeat_time);

ALTER TABLE work_pool
    ADD CONSTRAINT fk_work_pool__default_queue_id__work_queue
        FOREIGN KEY (default_queue_id) REFERENCES work_queue (id) ON DELETE RESTRICT;

ALTER TABLE task_run
    ADD CONSTRAINT fk_task_run__flow_run_id__flow_run
        FOREIGN KEY (flow_run_id) REFERENCES flow_run (id) ON DELETE CASCADE;

ALTER TABLE flow_run_state
    ADD CONSTRAINT fk_flow_run_state__flow_run_id__flow_run
        FOREIGN KEY (flow_run_id) REFERENCES flow_run (id) ON DELETE CASCADE;
