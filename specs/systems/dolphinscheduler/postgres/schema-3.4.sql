-- The tables of Apache DolphinScheduler 3.4 on PostgreSQL: every table, column, default and key, and the indexes it
-- ships with. It has no foreign key at all, and the history tables lack the indexes that a clean-up needs.

CREATE SEQUENCE t_ds_access_token_id_sequence;

CREATE TABLE t_ds_access_token (
    id integer NOT NULL DEFAULT nextval('t_ds_access_token_id_sequence'),
    user_id integer,
    token varchar(64) DEFAULT NULL,
    expire_time timestamp,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_access_token_pkey PRIMARY KEY (id)
);

CREATE SEQUENCE t_ds_alert_id_sequence;

CREATE TABLE t_ds_alert (
    id integer NOT NULL DEFAULT nextval('t_ds_alert_id_sequence'),
    title varchar(512) DEFAULT NULL,
    sign varchar(40) NOT NULL DEFAULT '',
    content text,
    alert_status integer DEFAULT 0,
    warning_type integer DEFAULT 2,
    log text,
    alertgroup_id integer,
    create_time timestamp,
    update_time timestamp,
    project_code bigint,
    workflow_definition_code bigint,
    workflow_instance_id integer,
    alert_type integer,
    CONSTRAINT t_ds_alert_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_sign ON t_ds_alert (sign);
CREATE INDEX idx_status ON t_ds_alert (alert_status);

CREATE TABLE t_ds_alert_plugin_instance (
    id serial NOT NULL,
    plugin_define_id integer NOT NULL,
    plugin_instance_params text,
    create_time timestamp,
    update_time timestamp,
    instance_name varchar(255),
    CONSTRAINT t_ds_alert_plugin_instance_pk PRIMARY KEY (id)
);

CREATE TABLE t_ds_alert_send_status (
    id serial NOT NULL,
    alert_id integer NOT NULL,
    alert_plugin_instance_id integer NOT NULL,
    send_status integer DEFAULT 0,
    log text,
    create_time timestamp,
    CONSTRAINT t_ds_alert_send_status_pkey PRIMARY KEY (id),
    CONSTRAINT alert_send_status_unique UNIQUE (alert_id, alert_plugin_instance_id)
);

CREATE SEQUENCE t_ds_alertgroup_id_sequence;

CREATE TABLE t_ds_alertgroup (
    id integer NOT NULL DEFAULT nextval('t_ds_alertgroup_id_sequence'),
    alert_instance_ids varchar(255) DEFAULT NULL,
    create_user_id integer,
    group_name varchar(255) DEFAULT NULL,
    description varchar(255) DEFAULT NULL,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_alertgroup_pkey PRIMARY KEY (id),
    CONSTRAINT t_ds_alertgroup_name_un UNIQUE (group_name)
);

CREATE TABLE t_ds_audit_log (
    id serial NOT NULL,
    user_id integer NOT NULL,
    model_id bigint NOT NULL,
    model_name varchar(255) NOT NULL,
    model_type varchar(255) NOT NULL,
    operation_type varchar(255) NOT NULL,
    description varchar(255) NOT NULL,
    latency integer NOT NULL,
    detail varchar(255) DEFAULT NULL,
    create_time timestamp,
    CONSTRAINT t_ds_audit_log_pkey PRIMARY KEY (id)
);

CREATE TABLE t_ds_cluster (
    id serial NOT NULL,
    code bigint NOT NULL,
    name varchar(255) DEFAULT NULL,
    config text,
    description text,
    operator integer,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_cluster_pkey PRIMARY KEY (id),
    CONSTRAINT cluster_code_unique UNIQUE (code),
    CONSTRAINT cluster_name_unique UNIQUE (name)
);

CREATE SEQUENCE t_ds_command_id_sequence;

CREATE TABLE t_ds_command (
    id integer NOT NULL DEFAULT nextval('t_ds_command_id_sequence'),
    command_type integer,
    workflow_definition_code bigint NOT NULL,
    command_param text,
    task_depend_type integer,
    failure_strategy integer DEFAULT 0,
    warning_type varchar(64),
    warning_group_id integer,
    schedule_time timestamp,
    start_time timestamp,
    executor_id integer,
    update_time timestamp,
    workflow_instance_priority integer DEFAULT 2,
    worker_group varchar(255),
    tenant_code varchar(64) DEFAULT 'default',
    environment_code bigint DEFAULT '-1',
    dry_run integer DEFAULT 0,
    workflow_instance_id integer DEFAULT 0,
    workflow_definition_version integer DEFAULT 0,
    CONSTRAINT t_ds_command_pkey PRIMARY KEY (id)
);

CREATE INDEX priority_id_index ON t_ds_command (workflow_instance_priority, id);

CREATE SEQUENCE t_ds_datasource_id_sequence;

CREATE TABLE t_ds_datasource (
    id integer NOT NULL DEFAULT nextval('t_ds_datasource_id_sequence'),
    name varchar(64) NOT NULL,
    note varchar(255) DEFAULT NULL,
    type integer NOT NULL,
    user_id integer NOT NULL,
    connection_params text NOT NULL,
    create_time timestamp NOT NULL,
    update_time timestamp,
    CONSTRAINT t_ds_datasource_pkey PRIMARY KEY (id),
    CONSTRAINT t_ds_datasource_name_un UNIQUE (name, type)
);

CREATE TABLE t_ds_environment (
    id serial NOT NULL,
    code bigint NOT NULL,
    name varchar(255) DEFAULT NULL,
    config text,
    description text,
    operator integer,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_environment_pkey PRIMARY KEY (id),
    CONSTRAINT environment_code_unique UNIQUE (code),
    CONSTRAINT environment_name_unique UNIQUE (name)
);

CREATE TABLE t_ds_environment_worker_group_relation (
    id serial NOT NULL,
    environment_code bigint NOT NULL,
    worker_group varchar(255) NOT NULL,
    operator integer,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_environment_worker_group_relation_pkey PRIMARY KEY (id),
    CONSTRAINT environment_worker_group_unique UNIQUE (environment_code, worker_group)
);

CREATE TABLE t_ds_error_command (
    id integer NOT NULL,
    command_type integer,
    workflow_definition_code bigint NOT NULL,
    command_param text,
    task_depend_type integer,
    failure_strategy integer DEFAULT 0,
    warning_type varchar(64),
    warning_group_id integer,
    schedule_time timestamp,
    start_time timestamp,
    executor_id integer,
    update_time timestamp,
    workflow_instance_priority integer DEFAULT 2,
    worker_group varchar(255),
    tenant_code varchar(64) DEFAULT 'default',
    environment_code bigint DEFAULT '-1',
    dry_run integer DEFAULT 0,
    message text,
    workflow_instance_id integer DEFAULT 0,
    workflow_definition_version integer DEFAULT 0,
    CONSTRAINT t_ds_error_command_pkey PRIMARY KEY (id)
);

CREATE TABLE t_ds_fav_task (
    id serial NOT NULL,
    task_type varchar(64) NOT NULL,
    user_id integer NOT NULL,
    CONSTRAINT t_ds_fav_task_pkey PRIMARY KEY (id)
);

CREATE TABLE t_ds_jdbc_registry_client_heartbeat (
    id bigint NOT NULL,
    client_name varchar NOT NULL,
    last_heartbeat_time bigint NOT NULL,
    connection_config text NOT NULL,
    create_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT t_ds_jdbc_registry_client_heartbeat_pkey PRIMARY KEY (id)
);

CREATE TABLE t_ds_jdbc_registry_data (
    id bigserial NOT NULL,
    data_key varchar NOT NULL,
    data_value text NOT NULL,
    data_type varchar NOT NULL,
    client_id bigint NOT NULL,
    create_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    last_update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT t_ds_jdbc_registry_data_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX uk_t_ds_jdbc_registry_datakey ON t_ds_jdbc_registry_data (data_key);

CREATE TABLE t_ds_jdbc_registry_data_change_event (
    id bigserial NOT NULL,
    event_type varchar NOT NULL,
    jdbc_registry_data text NOT NULL,
    create_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT t_ds_jdbc_registry_data_change_event_pkey PRIMARY KEY (id)
);

CREATE TABLE t_ds_jdbc_registry_lock (
    id bigserial NOT NULL,
    lock_key varchar NOT NULL,
    lock_owner varchar NOT NULL,
    client_id bigint NOT NULL,
    create_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT t_ds_jdbc_registry_lock_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX uk_t_ds_jdbc_registry_lockkey ON t_ds_jdbc_registry_lock (lock_key);

CREATE TABLE t_ds_k8s (
    id serial NOT NULL,
    k8s_name varchar(255) DEFAULT NULL,
    k8s_config text,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_k8s_pkey PRIMARY KEY (id)
);

CREATE TABLE t_ds_k8s_namespace (
    id serial NOT NULL,
    code bigint NOT NULL,
    namespace varchar(255) DEFAULT NULL,
    user_id integer,
    cluster_code bigint NOT NULL,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_k8s_namespace_pkey PRIMARY KEY (id),
    CONSTRAINT k8s_namespace_unique UNIQUE (namespace, cluster_code)
);

CREATE TABLE t_ds_plugin_define (
    id serial NOT NULL,
    plugin_name varchar(255) NOT NULL,
    plugin_type varchar(63) NOT NULL,
    plugin_params text,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_plugin_define_pk PRIMARY KEY (id),
    CONSTRAINT t_ds_plugin_define_un UNIQUE (plugin_name, plugin_type)
);

CREATE SEQUENCE t_ds_project_id_sequence;

CREATE TABLE t_ds_project (
    id integer NOT NULL DEFAULT nextval('t_ds_project_id_sequence'),
    name varchar(255) DEFAULT NULL,
    code bigint NOT NULL,
    description varchar(255) DEFAULT NULL,
    user_id integer,
    flag integer DEFAULT 1,
    create_time timestamp DEFAULT CURRENT_TIMESTAMP,
    update_time timestamp DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT t_ds_project_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX unique_code ON t_ds_project (code);
CREATE UNIQUE INDEX unique_name ON t_ds_project (name);
CREATE INDEX user_id_index ON t_ds_project (user_id);

CREATE SEQUENCE t_ds_project_parameter_id_sequence;

CREATE TABLE t_ds_project_parameter (
    id integer NOT NULL DEFAULT nextval('t_ds_project_parameter_id_sequence'),
    param_name varchar(255) NOT NULL,
    param_value text NOT NULL,
    param_data_type varchar(50) DEFAULT 'VARCHAR',
    code bigint NOT NULL,
    project_code bigint NOT NULL,
    user_id integer,
    operator integer,
    create_time timestamp DEFAULT CURRENT_TIMESTAMP,
    update_time timestamp DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT t_ds_project_parameter_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX unique_project_parameter_code ON t_ds_project_parameter (code);
CREATE UNIQUE INDEX unique_project_parameter_name ON t_ds_project_parameter (project_code, param_name);

CREATE SEQUENCE t_ds_project_preference_id_sequence;

CREATE TABLE t_ds_project_preference (
    id integer NOT NULL DEFAULT nextval('t_ds_project_preference_id_sequence'),
    code bigint NOT NULL,
    project_code bigint NOT NULL,
    preferences varchar(512) NOT NULL,
    user_id integer,
    state integer DEFAULT 1,
    create_time timestamp DEFAULT CURRENT_TIMESTAMP,
    update_time timestamp DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT t_ds_project_preference_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX unique_project_preference_code ON t_ds_project_preference (code);
CREATE UNIQUE INDEX unique_project_preference_project_code ON t_ds_project_preference (project_code);

CREATE SEQUENCE t_ds_queue_id_sequence;

CREATE TABLE t_ds_queue (
    id integer NOT NULL DEFAULT nextval('t_ds_queue_id_sequence'),
    queue_name varchar(64) DEFAULT NULL,
    queue varchar(64) DEFAULT NULL,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_queue_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX unique_queue_name ON t_ds_queue (queue_name);

CREATE SEQUENCE t_ds_relation_datasource_user_id_sequence;

CREATE TABLE t_ds_relation_datasource_user (
    id integer NOT NULL DEFAULT nextval('t_ds_relation_datasource_user_id_sequence'),
    user_id integer NOT NULL,
    datasource_id integer,
    perm integer DEFAULT 1,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_relation_datasource_user_pkey PRIMARY KEY (id)
);

CREATE TABLE t_ds_relation_namespace_user (
    id serial NOT NULL,
    user_id integer,
    namespace_id integer,
    perm integer,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_relation_namespace_user_pkey PRIMARY KEY (id),
    CONSTRAINT namespace_user_unique UNIQUE (user_id, namespace_id)
);

CREATE SEQUENCE t_ds_relation_project_user_id_sequence;

CREATE TABLE t_ds_relation_project_user (
    id integer NOT NULL DEFAULT nextval('t_ds_relation_project_user_id_sequence'),
    user_id integer NOT NULL,
    project_id integer,
    perm integer DEFAULT 1,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_relation_project_user_pkey PRIMARY KEY (id),
    CONSTRAINT t_ds_relation_project_user_un UNIQUE (user_id, project_id)
);

CREATE INDEX relation_project_user_id_index ON t_ds_relation_project_user (user_id);

CREATE SEQUENCE t_ds_relation_project_worker_group_sequence;

CREATE TABLE t_ds_relation_project_worker_group (
    id integer NOT NULL DEFAULT nextval('t_ds_relation_project_worker_group_sequence'),
    project_code bigint,
    worker_group varchar(255) NOT NULL,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_relation_project_worker_group_pkey PRIMARY KEY (id),
    CONSTRAINT t_ds_relation_project_worker_group_un UNIQUE (project_code, worker_group)
);

CREATE SEQUENCE t_ds_relation_resources_user_id_sequence;

CREATE TABLE t_ds_relation_resources_user (
    id integer NOT NULL DEFAULT nextval('t_ds_relation_resources_user_id_sequence'),
    user_id integer NOT NULL,
    resources_id integer,
    perm integer DEFAULT 1,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_relation_resources_user_pkey PRIMARY KEY (id)
);

CREATE TABLE t_ds_relation_sub_workflow (
    id serial NOT NULL,
    parent_workflow_instance_id bigint NOT NULL,
    parent_task_code bigint NOT NULL,
    sub_workflow_instance_id bigint NOT NULL,
    CONSTRAINT t_ds_relation_sub_workflow_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_parent_task_code ON t_ds_relation_sub_workflow (parent_task_code);
CREATE INDEX idx_parent_workflow_instance_id ON t_ds_relation_sub_workflow (parent_workflow_instance_id);
CREATE INDEX idx_sub_workflow_instance_id ON t_ds_relation_sub_workflow (sub_workflow_instance_id);

CREATE SEQUENCE t_ds_relation_udfs_user_id_sequence;

CREATE TABLE t_ds_relation_udfs_user (
    id integer NOT NULL DEFAULT nextval('t_ds_relation_udfs_user_id_sequence'),
    user_id integer NOT NULL,
    udf_id integer,
    perm integer DEFAULT 1,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_relation_udfs_user_pkey PRIMARY KEY (id)
);

CREATE SEQUENCE t_ds_relation_workflow_instance_id_sequence;

CREATE TABLE t_ds_relation_workflow_instance (
    id integer NOT NULL DEFAULT nextval('t_ds_relation_workflow_instance_id_sequence'),
    parent_workflow_instance_id integer,
    parent_task_instance_id integer,
    workflow_instance_id integer,
    CONSTRAINT t_ds_relation_workflow_instance_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_relation_workflow_instance_parent_workflow_task ON t_ds_relation_workflow_instance (parent_workflow_instance_id, parent_task_instance_id);
CREATE INDEX idx_relation_workflow_instance_workflow_instance_id ON t_ds_relation_workflow_instance (workflow_instance_id);

CREATE SEQUENCE t_ds_resources_id_sequence;

CREATE TABLE t_ds_resources (
    id integer NOT NULL DEFAULT nextval('t_ds_resources_id_sequence'),
    alias varchar(64) DEFAULT NULL,
    file_name varchar(64) DEFAULT NULL,
    description varchar(255) DEFAULT NULL,
    user_id integer,
    type integer,
    size bigint,
    create_time timestamp,
    update_time timestamp,
    pid integer,
    full_name varchar(128),
    is_directory boolean DEFAULT false,
    CONSTRAINT t_ds_resources_pkey PRIMARY KEY (id),
    CONSTRAINT t_ds_resources_un UNIQUE (full_name, type)
);

CREATE SEQUENCE t_ds_schedules_id_sequence;

CREATE TABLE t_ds_schedules (
    id integer NOT NULL DEFAULT nextval('t_ds_schedules_id_sequence'),
    workflow_definition_code bigint NOT NULL,
    start_time timestamp NOT NULL,
    end_time timestamp NOT NULL,
    timezone_id varchar(40) DEFAULT NULL,
    crontab varchar(255) NOT NULL,
    failure_strategy integer NOT NULL,
    user_id integer NOT NULL,
    release_state integer NOT NULL,
    warning_type integer NOT NULL,
    warning_group_id integer,
    workflow_instance_priority integer DEFAULT 2,
    worker_group varchar(255),
    tenant_code varchar(64) DEFAULT 'default',
    environment_code bigint DEFAULT '-1',
    create_time timestamp NOT NULL,
    update_time timestamp NOT NULL,
    CONSTRAINT t_ds_schedules_pkey PRIMARY KEY (id)
);

CREATE TABLE t_ds_serial_command (
    id serial NOT NULL,
    workflow_definition_code bigint NOT NULL,
    workflow_definition_version integer NOT NULL,
    workflow_instance_id bigint NOT NULL,
    state smallint NOT NULL DEFAULT 0,
    command text,
    create_time timestamp NOT NULL DEFAULT now(),
    update_time timestamp NOT NULL DEFAULT now(),
    CONSTRAINT t_ds_serial_command_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_workflow_instance_id ON t_ds_serial_command (workflow_instance_id);

CREATE TABLE t_ds_session (
    id varchar(64) NOT NULL,
    user_id integer,
    ip varchar(45) DEFAULT NULL,
    last_login_time timestamp,
    CONSTRAINT t_ds_session_pkey PRIMARY KEY (id)
);

CREATE SEQUENCE t_ds_task_definition_id_sequence;

CREATE TABLE t_ds_task_definition (
    id integer NOT NULL DEFAULT nextval('t_ds_task_definition_id_sequence'),
    code bigint NOT NULL,
    name varchar(255) DEFAULT NULL,
    version integer NOT NULL DEFAULT 1,
    description text,
    project_code bigint,
    user_id integer,
    task_type varchar(50) DEFAULT NULL,
    task_execute_type integer DEFAULT 0,
    task_params text,
    flag integer,
    is_cache integer DEFAULT 0,
    task_priority integer DEFAULT 2,
    worker_group varchar(255) DEFAULT NULL,
    environment_code bigint DEFAULT '-1',
    fail_retry_times integer,
    fail_retry_interval integer,
    timeout_flag integer,
    timeout_notify_strategy integer,
    timeout integer DEFAULT 0,
    delay_time integer DEFAULT 0,
    task_group_id integer,
    task_group_priority integer DEFAULT 0,
    resource_ids text,
    cpu_quota integer NOT NULL DEFAULT -1,
    memory_max integer NOT NULL DEFAULT -1,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_task_definition_pkey PRIMARY KEY (id)
);

CREATE INDEX task_definition_index ON t_ds_task_definition (project_code, id);

CREATE SEQUENCE t_ds_task_definition_log_id_sequence;

CREATE TABLE t_ds_task_definition_log (
    id integer NOT NULL DEFAULT nextval('t_ds_task_definition_log_id_sequence'),
    code bigint NOT NULL,
    name varchar(255) DEFAULT NULL,
    version integer NOT NULL DEFAULT 1,
    description text,
    project_code bigint,
    user_id integer,
    task_type varchar(50) DEFAULT NULL,
    task_execute_type integer DEFAULT 0,
    task_params text,
    flag integer,
    is_cache integer DEFAULT 0,
    task_priority integer DEFAULT 2,
    worker_group varchar(255) DEFAULT NULL,
    environment_code bigint DEFAULT '-1',
    fail_retry_times integer,
    fail_retry_interval integer,
    timeout_flag integer,
    timeout_notify_strategy integer,
    timeout integer DEFAULT 0,
    delay_time integer DEFAULT 0,
    resource_ids text,
    operator integer,
    task_group_id integer,
    task_group_priority integer DEFAULT 0,
    operate_time timestamp,
    cpu_quota integer NOT NULL DEFAULT -1,
    memory_max integer NOT NULL DEFAULT -1,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_task_definition_log_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_task_definition_log_code_version ON t_ds_task_definition_log (code, version);
CREATE INDEX idx_task_definition_log_project_code ON t_ds_task_definition_log (project_code);

CREATE TABLE t_ds_task_group (
    id serial NOT NULL,
    name varchar(255) DEFAULT NULL,
    description varchar(255) DEFAULT NULL,
    group_size integer NOT NULL,
    project_code bigint DEFAULT '0',
    use_size integer DEFAULT 0,
    user_id integer,
    status integer DEFAULT 1,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_task_group_pkey PRIMARY KEY (id)
);

CREATE TABLE t_ds_task_group_queue (
    id serial NOT NULL,
    task_id integer,
    task_name varchar(255) DEFAULT NULL,
    group_id integer,
    workflow_instance_id integer,
    priority integer DEFAULT 0,
    status integer DEFAULT -1,
    force_start integer DEFAULT 0,
    in_queue integer DEFAULT 0,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_task_group_queue_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_t_ds_task_group_queue_group_id ON t_ds_task_group_queue (group_id);
CREATE INDEX idx_t_ds_task_group_queue_in_queue ON t_ds_task_group_queue (in_queue);
CREATE INDEX idx_t_ds_task_group_queue_status ON t_ds_task_group_queue (status);
CREATE INDEX idx_t_ds_task_group_queue_task_id ON t_ds_task_group_queue (task_id);
CREATE INDEX idx_t_ds_task_group_queue_workflow_instance_id ON t_ds_task_group_queue (workflow_instance_id);

CREATE SEQUENCE t_ds_task_instance_id_sequence;

CREATE TABLE t_ds_task_instance (
    id integer NOT NULL DEFAULT nextval('t_ds_task_instance_id_sequence'),
    name varchar(255) DEFAULT NULL,
    task_type varchar(50) DEFAULT NULL,
    task_execute_type integer DEFAULT 0,
    task_code bigint NOT NULL,
    task_definition_version integer NOT NULL DEFAULT 1,
    workflow_instance_id integer,
    workflow_instance_name varchar(255) DEFAULT NULL,
    project_code bigint,
    state integer,
    submit_time timestamp,
    start_time timestamp,
    end_time timestamp,
    host varchar(135) DEFAULT NULL,
    execute_path varchar(200) DEFAULT NULL,
    log_path text,
    alert_flag integer,
    retry_times integer DEFAULT 0,
    pid integer,
    app_link text,
    task_params text,
    flag integer DEFAULT 1,
    retry_interval integer,
    max_retry_times integer,
    task_instance_priority integer,
    worker_group varchar(255),
    environment_code bigint DEFAULT '-1',
    environment_config text,
    executor_id integer,
    executor_name varchar(64) DEFAULT NULL,
    first_submit_time timestamp,
    delay_time integer DEFAULT 0,
    task_group_id integer,
    var_pool text,
    dry_run integer DEFAULT 0,
    cpu_quota integer NOT NULL DEFAULT -1,
    memory_max integer NOT NULL DEFAULT -1,
    CONSTRAINT t_ds_task_instance_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_task_instance_code_version ON t_ds_task_instance (task_code, task_definition_version);

CREATE TABLE t_ds_task_instance_context (
    id serial NOT NULL,
    task_instance_id integer NOT NULL,
    context text NOT NULL,
    context_type varchar(200) NOT NULL,
    create_time timestamp NOT NULL,
    update_time timestamp NOT NULL,
    CONSTRAINT t_ds_task_instance_context_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX idx_task_instance_id ON t_ds_task_instance_context (task_instance_id, context_type);

CREATE SEQUENCE t_ds_tenant_id_sequence;

CREATE TABLE t_ds_tenant (
    id integer NOT NULL DEFAULT nextval('t_ds_tenant_id_sequence'),
    tenant_code varchar(64) DEFAULT NULL,
    description varchar(255) DEFAULT NULL,
    queue_id integer,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_tenant_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX unique_tenant_code ON t_ds_tenant (tenant_code);

CREATE SEQUENCE t_ds_udfs_id_sequence;

CREATE TABLE t_ds_udfs (
    id integer NOT NULL DEFAULT nextval('t_ds_udfs_id_sequence'),
    user_id integer NOT NULL,
    func_name varchar(255) NOT NULL,
    class_name varchar(255) NOT NULL,
    type integer NOT NULL,
    arg_types varchar(255) DEFAULT NULL,
    database varchar(255) DEFAULT NULL,
    description varchar(255) DEFAULT NULL,
    resource_id integer NOT NULL,
    resource_name varchar(255) NOT NULL,
    create_time timestamp NOT NULL,
    update_time timestamp NOT NULL,
    CONSTRAINT t_ds_udfs_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX unique_func_name ON t_ds_udfs (func_name);

CREATE SEQUENCE t_ds_user_id_sequence;

CREATE TABLE t_ds_user (
    id integer NOT NULL DEFAULT nextval('t_ds_user_id_sequence'),
    user_name varchar(64) DEFAULT NULL,
    user_password varchar(64) DEFAULT NULL,
    user_type integer,
    email varchar(64) DEFAULT NULL,
    phone varchar(11) DEFAULT NULL,
    tenant_id integer DEFAULT -1,
    create_time timestamp,
    update_time timestamp,
    queue varchar(64) DEFAULT NULL,
    state integer DEFAULT 1,
    time_zone varchar(32) DEFAULT NULL,
    CONSTRAINT t_ds_user_pkey PRIMARY KEY (id)
);

CREATE SEQUENCE t_ds_version_id_sequence;

CREATE TABLE t_ds_version (
    id integer NOT NULL DEFAULT nextval('t_ds_version_id_sequence'),
    version varchar(63) NOT NULL,
    CONSTRAINT t_ds_version_pkey PRIMARY KEY (id)
);

CREATE INDEX version_index ON t_ds_version (version);

CREATE SEQUENCE t_ds_worker_group_id_sequence;

CREATE TABLE t_ds_worker_group (
    id bigint NOT NULL DEFAULT nextval('t_ds_worker_group_id_sequence'),
    name varchar(255) NOT NULL,
    addr_list text,
    create_time timestamp,
    update_time timestamp,
    description text,
    other_params_json text,
    CONSTRAINT t_ds_worker_group_pkey PRIMARY KEY (id),
    CONSTRAINT name_unique UNIQUE (name)
);

CREATE SEQUENCE t_ds_workflow_definition_id_sequence;

CREATE TABLE t_ds_workflow_definition (
    id integer NOT NULL DEFAULT nextval('t_ds_workflow_definition_id_sequence'),
    code bigint NOT NULL,
    name varchar(255) DEFAULT NULL,
    version integer NOT NULL DEFAULT 1,
    description text,
    project_code bigint,
    release_state integer,
    user_id integer,
    global_params text,
    locations text,
    warning_group_id integer,
    flag integer,
    timeout integer DEFAULT 0,
    execution_type integer DEFAULT 0,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_workflow_definition_pkey PRIMARY KEY (id),
    CONSTRAINT workflow_definition_unique UNIQUE (name, project_code)
);

CREATE INDEX workflow_definition_index ON t_ds_workflow_definition (code, id);

CREATE SEQUENCE t_ds_workflow_definition_log_id_sequence;

CREATE TABLE t_ds_workflow_definition_log (
    id integer NOT NULL DEFAULT nextval('t_ds_workflow_definition_log_id_sequence'),
    code bigint NOT NULL,
    name varchar(255) DEFAULT NULL,
    version integer NOT NULL DEFAULT 1,
    description text,
    project_code bigint,
    release_state integer,
    user_id integer,
    global_params text,
    locations text,
    warning_group_id integer,
    flag integer,
    timeout integer DEFAULT 0,
    execution_type integer DEFAULT 0,
    operator integer,
    operate_time timestamp,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_workflow_definition_log_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX uniq_idx_code_version ON t_ds_workflow_definition_log (code, version);

CREATE SEQUENCE t_ds_workflow_instance_id_sequence;

CREATE TABLE t_ds_workflow_instance (
    id integer NOT NULL DEFAULT nextval('t_ds_workflow_instance_id_sequence'),
    name varchar(255) DEFAULT NULL,
    workflow_definition_code bigint,
    workflow_definition_version integer NOT NULL DEFAULT 1,
    project_code bigint,
    state integer,
    state_history text,
    recovery integer,
    start_time timestamp,
    end_time timestamp,
    run_times integer,
    host varchar(135) DEFAULT NULL,
    command_type integer,
    command_param text,
    task_depend_type integer,
    max_try_times integer DEFAULT 0,
    failure_strategy integer DEFAULT 0,
    warning_type varchar(64),
    warning_group_id integer,
    schedule_time timestamp,
    command_start_time timestamp,
    global_params text,
    workflow_instance_json text,
    flag integer DEFAULT 1,
    update_time timestamp,
    is_sub_workflow integer DEFAULT 0,
    executor_id integer NOT NULL,
    executor_name varchar(64) DEFAULT NULL,
    history_cmd text,
    dependence_schedule_times text,
    workflow_instance_priority integer DEFAULT 2,
    worker_group varchar(255),
    environment_code bigint DEFAULT '-1',
    timeout integer DEFAULT 0,
    tenant_code varchar(64) DEFAULT 'default',
    var_pool text,
    dry_run integer DEFAULT 0,
    next_workflow_instance_id integer DEFAULT 0,
    restart_time timestamp,
    CONSTRAINT t_ds_workflow_instance_pkey PRIMARY KEY (id)
);

CREATE INDEX start_time_index ON t_ds_workflow_instance (start_time, end_time);
CREATE INDEX workflow_instance_index ON t_ds_workflow_instance (workflow_definition_code, id);

CREATE TABLE t_ds_workflow_task_lineage (
    id integer NOT NULL,
    workflow_definition_code bigint NOT NULL DEFAULT 0,
    workflow_definition_version integer NOT NULL DEFAULT 0,
    task_definition_code bigint NOT NULL DEFAULT 0,
    task_definition_version integer NOT NULL DEFAULT 0,
    dept_project_code bigint NOT NULL DEFAULT 0,
    dept_workflow_definition_code bigint NOT NULL DEFAULT 0,
    dept_task_definition_code bigint NOT NULL DEFAULT 0,
    create_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT t_ds_workflow_task_lineage_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_dept_code ON t_ds_workflow_task_lineage (dept_project_code, dept_workflow_definition_code, dept_task_definition_code);
CREATE INDEX idx_task_code_version ON t_ds_workflow_task_lineage (task_definition_code, task_definition_version);
CREATE INDEX idx_workflow_code_version ON t_ds_workflow_task_lineage (workflow_definition_code, workflow_definition_version);

CREATE SEQUENCE t_ds_workflow_task_relation_id_sequence;

CREATE TABLE t_ds_workflow_task_relation (
    id integer NOT NULL DEFAULT nextval('t_ds_workflow_task_relation_id_sequence'),
    name varchar(255) DEFAULT NULL,
    project_code bigint,
    workflow_definition_code bigint,
    workflow_definition_version integer,
    pre_task_code bigint,
    pre_task_version integer DEFAULT 0,
    post_task_code bigint,
    post_task_version integer DEFAULT 0,
    condition_type integer,
    condition_params text,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_workflow_task_relation_pkey PRIMARY KEY (id)
);

CREATE INDEX workflow_task_relation_idx_post_task_code_version ON t_ds_workflow_task_relation (post_task_code, post_task_version);
CREATE INDEX workflow_task_relation_idx_pre_task_code_version ON t_ds_workflow_task_relation (pre_task_code, pre_task_version);
CREATE INDEX workflow_task_relation_idx_project_code_workflow_definition_cod ON t_ds_workflow_task_relation (project_code, workflow_definition_code);

CREATE SEQUENCE t_ds_workflow_task_relation_log_id_sequence;

CREATE TABLE t_ds_workflow_task_relation_log (
    id integer NOT NULL DEFAULT nextval('t_ds_workflow_task_relation_log_id_sequence'),
    name varchar(255) DEFAULT NULL,
    project_code bigint,
    workflow_definition_code bigint,
    workflow_definition_version integer,
    pre_task_code bigint,
    pre_task_version integer DEFAULT 0,
    post_task_code bigint,
    post_task_version integer DEFAULT 0,
    condition_type integer,
    condition_params text,
    operator integer,
    operate_time timestamp,
    create_time timestamp,
    update_time timestamp,
    CONSTRAINT t_ds_workflow_task_relation_log_pkey PRIMARY KEY (id)
);

CREATE INDEX workflow_task_relation_log_idx_project_code_workflow_definition ON t_ds_workflow_task_relation_log (project_code, workflow_definition_code);
