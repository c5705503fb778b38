-- The tables of Apache DolphinScheduler 3.2.2 on MySQL and MariaDB: every table, column, default and key, and the indexes
-- it ships with. It has no foreign key at all, and the history tables lack the indexes that a clean-up needs.

CREATE TABLE t_ds_access_token (
    id int NOT NULL AUTO_INCREMENT,
    user_id int,
    token varchar(64),
    expire_time datetime,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_alert (
    id int NOT NULL AUTO_INCREMENT,
    title varchar(512),
    sign char(40) NOT NULL DEFAULT '',
    content text,
    alert_status tinyint DEFAULT 0,
    warning_type tinyint DEFAULT 2,
    log text,
    alertgroup_id int,
    create_time datetime,
    update_time datetime,
    project_code bigint,
    process_definition_code bigint,
    process_instance_id int,
    alert_type int,
    PRIMARY KEY (id),
    KEY idx_sign (sign),
    KEY idx_status (alert_status)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_alert_plugin_instance (
    id int NOT NULL AUTO_INCREMENT,
    plugin_define_id int NOT NULL,
    plugin_instance_params text,
    create_time timestamp NULL DEFAULT CURRENT_TIMESTAMP,
    update_time timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    instance_name varchar(255),
    instance_type int NOT NULL DEFAULT 0,
    warning_type int NOT NULL DEFAULT 3,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_alert_send_status (
    id int NOT NULL AUTO_INCREMENT,
    alert_id int NOT NULL,
    alert_plugin_instance_id int NOT NULL,
    send_status tinyint DEFAULT 0,
    log text,
    create_time datetime,
    PRIMARY KEY (id),
    UNIQUE KEY alert_send_status_unique (alert_id, alert_plugin_instance_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_alertgroup (
    id int NOT NULL AUTO_INCREMENT,
    alert_instance_ids varchar(255),
    create_user_id int,
    group_name varchar(255),
    description varchar(255),
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id),
    UNIQUE KEY t_ds_alertgroup_name_un (group_name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_audit_log (
    id bigint NOT NULL AUTO_INCREMENT,
    user_id int NOT NULL,
    model_id bigint,
    model_name varchar(100),
    model_type varchar(100) NOT NULL,
    operation_type varchar(100) NOT NULL,
    description varchar(100),
    latency int,
    detail varchar(100),
    create_time datetime DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_cluster (
    id bigint NOT NULL AUTO_INCREMENT,
    code bigint,
    name varchar(255) NOT NULL,
    config text,
    description text,
    operator int,
    create_time timestamp NULL DEFAULT CURRENT_TIMESTAMP,
    update_time timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    PRIMARY KEY (id),
    UNIQUE KEY cluster_code_unique (code),
    UNIQUE KEY cluster_name_unique (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_command (
    id int NOT NULL AUTO_INCREMENT,
    command_type tinyint,
    process_definition_code bigint NOT NULL,
    process_definition_version int DEFAULT 0,
    process_instance_id int DEFAULT 0,
    command_param text,
    task_depend_type tinyint,
    failure_strategy tinyint DEFAULT 0,
    warning_type tinyint DEFAULT 0,
    warning_group_id int,
    schedule_time datetime,
    start_time datetime,
    executor_id int,
    update_time datetime,
    process_instance_priority int DEFAULT 2,
    worker_group varchar(255),
    tenant_code varchar(64) DEFAULT 'default',
    environment_code bigint DEFAULT -1,
    dry_run tinyint DEFAULT 0,
    test_flag tinyint,
    PRIMARY KEY (id),
    KEY priority_id_index (process_instance_priority, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_datasource (
    id int NOT NULL AUTO_INCREMENT,
    name varchar(64) NOT NULL,
    note varchar(255),
    type tinyint NOT NULL,
    user_id int NOT NULL,
    connection_params text NOT NULL,
    create_time datetime NOT NULL,
    update_time datetime,
    PRIMARY KEY (id),
    UNIQUE KEY t_ds_datasource_name_un (name, type)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_dq_comparison_type (
    id int NOT NULL AUTO_INCREMENT,
    type varchar(255) NOT NULL,
    execute_sql text,
    output_table varchar(100),
    name varchar(255),
    create_time datetime,
    update_time datetime,
    is_inner_source tinyint(1) DEFAULT 0,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_dq_execute_result (
    id int NOT NULL AUTO_INCREMENT,
    process_definition_id int,
    process_instance_id int,
    task_instance_id int,
    rule_type int,
    rule_name varchar(255),
    statistics_value double,
    comparison_value double,
    check_type int,
    threshold double,
    operator int,
    failure_strategy int,
    state int,
    user_id int,
    comparison_type int,
    error_output_path text,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_dq_rule (
    id int NOT NULL AUTO_INCREMENT,
    name varchar(255),
    type int,
    user_id int,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_dq_rule_execute_sql (
    id int NOT NULL AUTO_INCREMENT,
    `index` int,
    `sql` text,
    table_alias varchar(255),
    type int,
    is_error_output_sql tinyint(1) DEFAULT 0,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_dq_rule_input_entry (
    id int NOT NULL AUTO_INCREMENT,
    field varchar(255),
    type varchar(255),
    title varchar(255),
    data varchar(255),
    options text,
    placeholder varchar(255),
    option_source_type int,
    data_type int,
    input_type int,
    is_show tinyint(1) DEFAULT 1,
    can_edit tinyint(1) DEFAULT 1,
    is_emit tinyint(1) DEFAULT 0,
    is_validate tinyint(1) DEFAULT 1,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_dq_task_statistics_value (
    id int NOT NULL AUTO_INCREMENT,
    process_definition_id int,
    task_instance_id int,
    rule_id int NOT NULL,
    unique_code varchar(255),
    statistics_name varchar(255),
    statistics_value double,
    data_time datetime,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_environment (
    id bigint NOT NULL AUTO_INCREMENT,
    code bigint,
    name varchar(255) NOT NULL,
    config text,
    description text,
    operator int,
    create_time timestamp NULL DEFAULT CURRENT_TIMESTAMP,
    update_time timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    PRIMARY KEY (id),
    UNIQUE KEY environment_code_unique (code),
    UNIQUE KEY environment_name_unique (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_environment_worker_group_relation (
    id bigint NOT NULL AUTO_INCREMENT,
    environment_code bigint NOT NULL,
    worker_group varchar(255) NOT NULL,
    operator int,
    create_time timestamp NULL DEFAULT CURRENT_TIMESTAMP,
    update_time timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    PRIMARY KEY (id),
    UNIQUE KEY environment_worker_group_unique (environment_code, worker_group)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_error_command (
    id int NOT NULL,
    command_type tinyint,
    executor_id int,
    process_definition_code bigint NOT NULL,
    process_definition_version int DEFAULT 0,
    process_instance_id int DEFAULT 0,
    command_param text,
    task_depend_type tinyint,
    failure_strategy tinyint DEFAULT 0,
    warning_type tinyint DEFAULT 0,
    warning_group_id int,
    schedule_time datetime,
    start_time datetime,
    update_time datetime,
    process_instance_priority int DEFAULT 2,
    worker_group varchar(255),
    tenant_code varchar(64) DEFAULT 'default',
    environment_code bigint DEFAULT -1,
    message text,
    dry_run tinyint DEFAULT 0,
    test_flag tinyint,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_fav_task (
    id bigint NOT NULL AUTO_INCREMENT,
    task_type varchar(64) NOT NULL,
    user_id int NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_k8s (
    id int NOT NULL AUTO_INCREMENT,
    k8s_name varchar(255),
    k8s_config text,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_k8s_namespace (
    id int NOT NULL AUTO_INCREMENT,
    code bigint NOT NULL DEFAULT 0,
    namespace varchar(255),
    user_id int,
    cluster_code bigint NOT NULL DEFAULT 0,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id),
    UNIQUE KEY k8s_namespace_unique (namespace, cluster_code)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_listener_event (
    id int NOT NULL AUTO_INCREMENT,
    content text,
    sign char(64) NOT NULL DEFAULT '',
    post_status tinyint NOT NULL DEFAULT 0,
    event_type int NOT NULL,
    log text,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id),
    KEY idx_sign (sign),
    KEY idx_status (post_status)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_plugin_define (
    id int NOT NULL AUTO_INCREMENT,
    plugin_name varchar(255) NOT NULL,
    plugin_type varchar(63) NOT NULL,
    plugin_params text,
    create_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    PRIMARY KEY (id),
    UNIQUE KEY t_ds_plugin_define_UN (plugin_name, plugin_type)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_process_definition (
    id int NOT NULL AUTO_INCREMENT,
    code bigint NOT NULL,
    name varchar(255),
    version int NOT NULL DEFAULT 1,
    description text,
    project_code bigint NOT NULL,
    release_state tinyint,
    user_id int,
    global_params text,
    flag tinyint,
    locations text,
    warning_group_id int,
    timeout int DEFAULT 0,
    execution_type tinyint DEFAULT 0,
    create_time datetime NOT NULL,
    update_time datetime NOT NULL,
    PRIMARY KEY (id, code),
    UNIQUE KEY process_unique (name, project_code)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_process_definition_log (
    id int NOT NULL AUTO_INCREMENT,
    code bigint NOT NULL,
    name varchar(255),
    version int NOT NULL DEFAULT 1,
    description text,
    project_code bigint NOT NULL,
    release_state tinyint,
    user_id int,
    global_params text,
    flag tinyint,
    locations text,
    warning_group_id int,
    timeout int DEFAULT 0,
    execution_type tinyint DEFAULT 0,
    operator int,
    operate_time datetime,
    create_time datetime NOT NULL,
    update_time datetime NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uniq_idx_code_version (code, version)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_process_instance (
    id int NOT NULL AUTO_INCREMENT,
    name varchar(255),
    process_definition_code bigint NOT NULL,
    process_definition_version int NOT NULL DEFAULT 1,
    project_code bigint,
    state tinyint,
    state_history text,
    recovery tinyint,
    start_time datetime,
    end_time datetime,
    run_times int,
    host varchar(135),
    command_type tinyint,
    command_param text,
    task_depend_type tinyint,
    max_try_times tinyint DEFAULT 0,
    failure_strategy tinyint DEFAULT 0,
    warning_type tinyint DEFAULT 0,
    warning_group_id int,
    schedule_time datetime,
    command_start_time datetime,
    global_params text,
    flag tinyint DEFAULT 1,
    update_time timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    is_sub_process int DEFAULT 0,
    executor_id int NOT NULL,
    executor_name varchar(64),
    history_cmd text,
    process_instance_priority int DEFAULT 2,
    worker_group varchar(255),
    environment_code bigint DEFAULT -1,
    timeout int DEFAULT 0,
    tenant_code varchar(64) DEFAULT 'default',
    var_pool longtext,
    dry_run tinyint DEFAULT 0,
    next_process_instance_id int DEFAULT 0,
    restart_time datetime,
    test_flag tinyint,
    PRIMARY KEY (id),
    KEY process_instance_index (process_definition_code, id),
    KEY start_time_index (start_time, end_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_process_task_relation (
    id int NOT NULL AUTO_INCREMENT,
    name varchar(255),
    project_code bigint NOT NULL,
    process_definition_code bigint NOT NULL,
    process_definition_version int NOT NULL,
    pre_task_code bigint NOT NULL,
    pre_task_version int NOT NULL,
    post_task_code bigint NOT NULL,
    post_task_version int NOT NULL,
    condition_type tinyint,
    condition_params text,
    create_time datetime NOT NULL,
    update_time datetime NOT NULL,
    PRIMARY KEY (id),
    KEY idx_code (project_code, process_definition_code),
    KEY idx_post_task_code_version (post_task_code, post_task_version),
    KEY idx_pre_task_code_version (pre_task_code, pre_task_version)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_process_task_relation_log (
    id int NOT NULL AUTO_INCREMENT,
    name varchar(255),
    project_code bigint NOT NULL,
    process_definition_code bigint NOT NULL,
    process_definition_version int NOT NULL,
    pre_task_code bigint NOT NULL,
    pre_task_version int NOT NULL,
    post_task_code bigint NOT NULL,
    post_task_version int NOT NULL,
    condition_type tinyint,
    condition_params text,
    operator int,
    operate_time datetime,
    create_time datetime NOT NULL,
    update_time datetime NOT NULL,
    PRIMARY KEY (id),
    KEY idx_process_code_version (process_definition_code, process_definition_version)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_project (
    id int NOT NULL AUTO_INCREMENT,
    name varchar(255),
    code bigint NOT NULL,
    description varchar(255),
    user_id int,
    flag tinyint DEFAULT 1,
    create_time datetime NOT NULL,
    update_time datetime,
    PRIMARY KEY (id),
    UNIQUE KEY unique_code (code),
    UNIQUE KEY unique_name (name),
    KEY user_id_index (user_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_project_parameter (
    id int NOT NULL AUTO_INCREMENT,
    param_name varchar(255) NOT NULL,
    param_value text NOT NULL,
    code bigint NOT NULL,
    project_code bigint NOT NULL,
    user_id int,
    operator int,
    create_time datetime NOT NULL,
    update_time datetime,
    PRIMARY KEY (id),
    UNIQUE KEY unique_project_parameter_code (code),
    UNIQUE KEY unique_project_parameter_name (project_code, param_name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_project_preference (
    id int NOT NULL AUTO_INCREMENT,
    code bigint NOT NULL,
    project_code bigint NOT NULL,
    preferences varchar(512) NOT NULL,
    user_id int,
    state int DEFAULT 1,
    create_time datetime NOT NULL,
    update_time datetime,
    PRIMARY KEY (id),
    UNIQUE KEY unique_project_preference_code (code),
    UNIQUE KEY unique_project_preference_project_code (project_code)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_queue (
    id int NOT NULL AUTO_INCREMENT,
    queue_name varchar(64),
    queue varchar(64),
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id),
    UNIQUE KEY unique_queue_name (queue_name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_relation_datasource_user (
    id int NOT NULL AUTO_INCREMENT,
    user_id int NOT NULL,
    datasource_id int,
    perm int DEFAULT 1,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_relation_namespace_user (
    id int NOT NULL AUTO_INCREMENT,
    user_id int NOT NULL,
    namespace_id int,
    perm int DEFAULT 1,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id),
    UNIQUE KEY namespace_user_unique (user_id, namespace_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_relation_process_instance (
    id int NOT NULL AUTO_INCREMENT,
    parent_process_instance_id int,
    parent_task_instance_id int,
    process_instance_id int,
    PRIMARY KEY (id),
    KEY idx_parent_process_task (parent_process_instance_id, parent_task_instance_id),
    KEY idx_process_instance_id (process_instance_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_relation_project_user (
    id int NOT NULL AUTO_INCREMENT,
    user_id int NOT NULL,
    project_id int,
    perm int DEFAULT 1,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id),
    UNIQUE KEY uniq_uid_pid (user_id, project_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_relation_project_worker_group (
    id int NOT NULL AUTO_INCREMENT,
    project_code bigint NOT NULL,
    worker_group varchar(255),
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id),
    UNIQUE KEY unique_project_worker_group (project_code, worker_group)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_relation_resources_user (
    id int NOT NULL AUTO_INCREMENT,
    user_id int NOT NULL,
    resources_id int,
    perm int DEFAULT 1,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_relation_rule_execute_sql (
    id int NOT NULL AUTO_INCREMENT,
    rule_id int,
    execute_sql_id int,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_relation_rule_input_entry (
    id int NOT NULL AUTO_INCREMENT,
    rule_id int,
    rule_input_entry_id int,
    values_map text,
    `index` int,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_relation_sub_workflow (
    id bigint NOT NULL AUTO_INCREMENT,
    parent_workflow_instance_id bigint NOT NULL,
    parent_task_code bigint NOT NULL,
    sub_workflow_instance_id bigint NOT NULL,
    PRIMARY KEY (id),
    KEY idx_parent_task_code (parent_task_code),
    KEY idx_parent_workflow_instance_id (parent_workflow_instance_id),
    KEY idx_sub_workflow_instance_id (sub_workflow_instance_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_relation_udfs_user (
    id int NOT NULL AUTO_INCREMENT,
    user_id int NOT NULL,
    udf_id int,
    perm int DEFAULT 1,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_resources (
    id int NOT NULL AUTO_INCREMENT,
    alias varchar(64),
    file_name varchar(64),
    description varchar(255),
    user_id int,
    type tinyint,
    size bigint,
    create_time datetime,
    update_time datetime,
    pid int,
    full_name varchar(128),
    is_directory tinyint,
    PRIMARY KEY (id),
    UNIQUE KEY t_ds_resources_un (full_name, type)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_schedules (
    id int NOT NULL AUTO_INCREMENT,
    process_definition_code bigint NOT NULL,
    start_time datetime NOT NULL,
    end_time datetime NOT NULL,
    timezone_id varchar(40),
    crontab varchar(255) NOT NULL,
    failure_strategy tinyint NOT NULL,
    user_id int NOT NULL,
    release_state tinyint NOT NULL,
    warning_type tinyint NOT NULL,
    warning_group_id int,
    process_instance_priority int DEFAULT 2,
    worker_group varchar(255) DEFAULT '',
    tenant_code varchar(64) DEFAULT 'default',
    environment_code bigint DEFAULT -1,
    create_time datetime NOT NULL,
    update_time datetime NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_session (
    id varchar(64) NOT NULL,
    user_id int,
    ip varchar(45),
    last_login_time datetime,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_task_definition (
    id int NOT NULL AUTO_INCREMENT,
    code bigint NOT NULL,
    name varchar(255),
    version int NOT NULL DEFAULT 1,
    description text,
    project_code bigint NOT NULL,
    user_id int,
    task_type varchar(50) NOT NULL,
    task_execute_type int DEFAULT 0,
    task_params longtext,
    flag tinyint,
    is_cache tinyint DEFAULT 0,
    task_priority tinyint DEFAULT 2,
    worker_group varchar(255),
    environment_code bigint DEFAULT -1,
    fail_retry_times int,
    fail_retry_interval int,
    timeout_flag tinyint DEFAULT 0,
    timeout_notify_strategy tinyint,
    timeout int DEFAULT 0,
    delay_time int DEFAULT 0,
    resource_ids text,
    task_group_id int,
    task_group_priority tinyint DEFAULT 0,
    cpu_quota int NOT NULL DEFAULT -1,
    memory_max int NOT NULL DEFAULT -1,
    create_time datetime NOT NULL,
    update_time datetime NOT NULL,
    PRIMARY KEY (id, code)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_task_definition_log (
    id int NOT NULL AUTO_INCREMENT,
    code bigint NOT NULL,
    name varchar(255),
    version int NOT NULL DEFAULT 1,
    description text,
    project_code bigint NOT NULL,
    user_id int,
    task_type varchar(50) NOT NULL,
    task_execute_type int DEFAULT 0,
    task_params longtext,
    flag tinyint,
    is_cache tinyint DEFAULT 0,
    task_priority tinyint DEFAULT 2,
    worker_group varchar(255),
    environment_code bigint DEFAULT -1,
    fail_retry_times int,
    fail_retry_interval int,
    timeout_flag tinyint DEFAULT 0,
    timeout_notify_strategy tinyint,
    timeout int DEFAULT 0,
    delay_time int DEFAULT 0,
    resource_ids text,
    operator int,
    task_group_id int,
    task_group_priority tinyint DEFAULT 0,
    operate_time datetime,
    cpu_quota int NOT NULL DEFAULT -1,
    memory_max int NOT NULL DEFAULT -1,
    create_time datetime NOT NULL,
    update_time datetime NOT NULL,
    PRIMARY KEY (id),
    KEY idx_code_version (code, version),
    KEY idx_project_code (project_code)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_task_group (
    id int NOT NULL AUTO_INCREMENT,
    name varchar(255),
    description varchar(255),
    group_size int NOT NULL,
    use_size int DEFAULT 0,
    user_id int,
    project_code bigint DEFAULT 0,
    status tinyint DEFAULT 1,
    create_time timestamp NULL DEFAULT CURRENT_TIMESTAMP,
    update_time timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_task_group_queue (
    id int NOT NULL AUTO_INCREMENT,
    task_id int,
    task_name varchar(255),
    group_id int,
    process_id int,
    priority int DEFAULT 0,
    status tinyint DEFAULT -1,
    force_start tinyint DEFAULT 0,
    in_queue tinyint DEFAULT 0,
    create_time timestamp NULL DEFAULT CURRENT_TIMESTAMP,
    update_time timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    PRIMARY KEY (id),
    KEY idx_t_ds_task_group_queue_in_queue (in_queue)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_task_instance (
    id int NOT NULL AUTO_INCREMENT,
    name varchar(255),
    task_type varchar(50) NOT NULL,
    task_execute_type int DEFAULT 0,
    task_code bigint NOT NULL,
    task_definition_version int NOT NULL DEFAULT 1,
    process_instance_id int,
    process_instance_name varchar(255),
    project_code bigint,
    state tinyint,
    submit_time datetime,
    start_time datetime,
    end_time datetime,
    host varchar(135),
    execute_path varchar(200),
    log_path longtext,
    alert_flag tinyint,
    retry_times int DEFAULT 0,
    pid int,
    app_link text,
    task_params longtext,
    flag tinyint DEFAULT 1,
    is_cache tinyint DEFAULT 0,
    cache_key varchar(200),
    retry_interval int,
    max_retry_times int,
    task_instance_priority int,
    worker_group varchar(255),
    environment_code bigint DEFAULT -1,
    environment_config text,
    executor_id int,
    executor_name varchar(64),
    first_submit_time datetime,
    delay_time int DEFAULT 0,
    var_pool longtext,
    task_group_id int,
    dry_run tinyint DEFAULT 0,
    cpu_quota int NOT NULL DEFAULT -1,
    memory_max int NOT NULL DEFAULT -1,
    test_flag tinyint,
    PRIMARY KEY (id),
    KEY idx_cache_key (cache_key),
    KEY idx_code_version (task_code, task_definition_version),
    KEY process_instance_id (process_instance_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_tenant (
    id int NOT NULL AUTO_INCREMENT,
    tenant_code varchar(64),
    description varchar(255),
    queue_id int,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id),
    UNIQUE KEY unique_tenant_code (tenant_code)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_trigger_relation (
    id bigint NOT NULL AUTO_INCREMENT,
    trigger_type int NOT NULL DEFAULT 0,
    trigger_code bigint NOT NULL,
    job_id bigint NOT NULL,
    create_time datetime,
    update_time datetime,
    PRIMARY KEY (id),
    UNIQUE KEY t_ds_trigger_relation_UN (trigger_type, job_id, trigger_code),
    KEY t_ds_trigger_relation_trigger_code_IDX (trigger_code)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_udfs (
    id int NOT NULL AUTO_INCREMENT,
    user_id int NOT NULL,
    func_name varchar(255) NOT NULL,
    class_name varchar(255) NOT NULL,
    type tinyint NOT NULL,
    arg_types varchar(255),
    `database` varchar(255),
    description varchar(255),
    resource_id int NOT NULL,
    resource_name varchar(255) NOT NULL,
    create_time datetime NOT NULL,
    update_time datetime NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY unique_func_name (func_name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_user (
    id int NOT NULL AUTO_INCREMENT,
    user_name varchar(64),
    user_password varchar(64),
    user_type tinyint,
    email varchar(64),
    phone varchar(11),
    tenant_id int DEFAULT -1,
    create_time datetime,
    update_time datetime,
    queue varchar(64),
    state tinyint DEFAULT 1,
    time_zone varchar(32),
    PRIMARY KEY (id),
    UNIQUE KEY user_name_unique (user_name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_version (
    id int NOT NULL AUTO_INCREMENT,
    version varchar(63) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY version_UNIQUE (version)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE t_ds_worker_group (
    id bigint NOT NULL AUTO_INCREMENT,
    name varchar(255) NOT NULL,
    addr_list text,
    create_time datetime,
    update_time datetime,
    description text,
    other_params_json text,
    PRIMARY KEY (id),
    UNIQUE KEY name_unique (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;
