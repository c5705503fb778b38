-- The database schema of Camunda 7.24 on MySQL and MariaDB: every table, key, index and foreign key of the engine, without
-- rows. All names are in upper case, which counts for tables where the server's file system tells them apart.

CREATE TABLE ACT_GE_BYTEARRAY (
    ID_                varchar(64) NOT NULL,
    REV_               int,
    NAME_              varchar(255),
    DEPLOYMENT_ID_     varchar(64),
    BYTES_             longblob,
    GENERATED_         tinyint,
    TENANT_ID_         varchar(64),
    TYPE_              int,
    CREATE_TIME_       datetime,
    ROOT_PROC_INST_ID_ varchar(64),
    REMOVAL_TIME_      datetime,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_BYTEARRAY_NAME (NAME_),
    KEY ACT_IDX_BYTEARRAY_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_BYTEARRAY_ROOT_PI (ROOT_PROC_INST_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_GE_PROPERTY (
    NAME_  varchar(64) NOT NULL,
    VALUE_ varchar(300),
    REV_   int,
    PRIMARY KEY (NAME_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_GE_SCHEMA_LOG (
    ID_        varchar(64) NOT NULL,
    TIMESTAMP_ datetime,
    VERSION_   varchar(255),
    PRIMARY KEY (ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_ACTINST (
    ID_                 varchar(64) NOT NULL,
    PARENT_ACT_INST_ID_ varchar(64),
    PROC_DEF_KEY_       varchar(255),
    PROC_DEF_ID_        varchar(64) NOT NULL,
    ROOT_PROC_INST_ID_  varchar(64),
    PROC_INST_ID_       varchar(64) NOT NULL,
    EXECUTION_ID_       varchar(64) NOT NULL,
    ACT_ID_             varchar(255) NOT NULL,
    TASK_ID_            varchar(64),
    CALL_PROC_INST_ID_  varchar(64),
    CALL_CASE_INST_ID_  varchar(64),
    ACT_NAME_           varchar(255),
    ACT_TYPE_           varchar(255) NOT NULL,
    ASSIGNEE_           varchar(255),
    START_TIME_         datetime NOT NULL,
    END_TIME_           datetime,
    DURATION_           bigint,
    ACT_INST_STATE_     int,
    SEQUENCE_COUNTER_   bigint,
    TENANT_ID_          varchar(64),
    REMOVAL_TIME_       datetime,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_ACTINST_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_HI_ACT_INST_COMP (EXECUTION_ID_, ACT_ID_, END_TIME_, ID_),
    KEY ACT_IDX_HI_ACT_INST_END (END_TIME_),
    KEY ACT_IDX_HI_ACT_INST_PROCINST (PROC_INST_ID_, ACT_ID_),
    KEY ACT_IDX_HI_ACT_INST_PROC_DEF_KEY (PROC_DEF_KEY_),
    KEY ACT_IDX_HI_ACT_INST_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_ACT_INST_START_END (START_TIME_, END_TIME_),
    KEY ACT_IDX_HI_ACT_INST_STATS (PROC_DEF_ID_, PROC_INST_ID_, ACT_ID_, END_TIME_, ACT_INST_STATE_),
    KEY ACT_IDX_HI_ACT_INST_TENANT_ID (TENANT_ID_),
    KEY ACT_IDX_HI_AI_PDEFID_END_TIME (PROC_DEF_ID_, END_TIME_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_ATTACHMENT (
    ID_                varchar(64) NOT NULL,
    REV_               int,
    USER_ID_           varchar(255),
    NAME_              varchar(255),
    DESCRIPTION_       varchar(4000),
    TYPE_              varchar(255),
    TASK_ID_           varchar(64),
    ROOT_PROC_INST_ID_ varchar(64),
    PROC_INST_ID_      varchar(64),
    URL_               varchar(4000),
    CONTENT_ID_        varchar(64),
    TENANT_ID_         varchar(64),
    CREATE_TIME_       datetime,
    REMOVAL_TIME_      datetime,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_ATTACHMENT_CONTENT (CONTENT_ID_),
    KEY ACT_IDX_HI_ATTACHMENT_PROCINST (PROC_INST_ID_),
    KEY ACT_IDX_HI_ATTACHMENT_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_ATTACHMENT_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_HI_ATTACHMENT_TASK (TASK_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_BATCH (
    ID_                  varchar(64) NOT NULL,
    TYPE_                varchar(255),
    TOTAL_JOBS_          int,
    JOBS_PER_SEED_       int,
    INVOCATIONS_PER_JOB_ int,
    SEED_JOB_DEF_ID_     varchar(64),
    MONITOR_JOB_DEF_ID_  varchar(64),
    BATCH_JOB_DEF_ID_    varchar(64),
    TENANT_ID_           varchar(64),
    CREATE_USER_ID_      varchar(255),
    START_TIME_          datetime NOT NULL,
    END_TIME_            datetime,
    REMOVAL_TIME_        datetime,
    EXEC_START_TIME_     datetime,
    PRIMARY KEY (ID_),
    KEY ACT_HI_BAT_RM_TIME (REMOVAL_TIME_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_CASEACTINST (
    ID_                 varchar(64) NOT NULL,
    PARENT_ACT_INST_ID_ varchar(64),
    CASE_DEF_ID_        varchar(64) NOT NULL,
    CASE_INST_ID_       varchar(64) NOT NULL,
    CASE_ACT_ID_        varchar(255) NOT NULL,
    TASK_ID_            varchar(64),
    CALL_PROC_INST_ID_  varchar(64),
    CALL_CASE_INST_ID_  varchar(64),
    CASE_ACT_NAME_      varchar(255),
    CASE_ACT_TYPE_      varchar(255),
    CREATE_TIME_        datetime NOT NULL,
    END_TIME_           datetime,
    DURATION_           bigint,
    STATE_              int,
    REQUIRED_           boolean,
    TENANT_ID_          varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_CAS_A_I_CASEINST (CASE_INST_ID_, CASE_ACT_ID_),
    KEY ACT_IDX_HI_CAS_A_I_COMP (CASE_ACT_ID_, END_TIME_, ID_),
    KEY ACT_IDX_HI_CAS_A_I_CREATE (CREATE_TIME_),
    KEY ACT_IDX_HI_CAS_A_I_END (END_TIME_),
    KEY ACT_IDX_HI_CAS_A_I_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_CASEINST (
    ID_                        varchar(64) NOT NULL,
    CASE_INST_ID_              varchar(64) NOT NULL,
    BUSINESS_KEY_              varchar(255),
    CASE_DEF_ID_               varchar(64) NOT NULL,
    CREATE_TIME_               datetime NOT NULL,
    CLOSE_TIME_                datetime,
    DURATION_                  bigint,
    STATE_                     int,
    CREATE_USER_ID_            varchar(255),
    SUPER_CASE_INSTANCE_ID_    varchar(64),
    SUPER_PROCESS_INSTANCE_ID_ varchar(64),
    TENANT_ID_                 varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_CAS_I_BUSKEY (BUSINESS_KEY_),
    KEY ACT_IDX_HI_CAS_I_CLOSE (CLOSE_TIME_),
    KEY ACT_IDX_HI_CAS_I_TENANT_ID (TENANT_ID_),
    UNIQUE KEY CASE_INST_ID_ (CASE_INST_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_COMMENT (
    ID_                varchar(64) NOT NULL,
    TYPE_              varchar(255),
    TIME_              datetime NOT NULL,
    USER_ID_           varchar(255),
    TASK_ID_           varchar(64),
    ROOT_PROC_INST_ID_ varchar(64),
    PROC_INST_ID_      varchar(64),
    ACTION_            varchar(255),
    MESSAGE_           varchar(4000),
    FULL_MSG_          longblob,
    TENANT_ID_         varchar(64),
    REMOVAL_TIME_      datetime,
    REV_               int NOT NULL DEFAULT 1,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_COMMENT_PROCINST (PROC_INST_ID_),
    KEY ACT_IDX_HI_COMMENT_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_COMMENT_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_HI_COMMENT_TASK (TASK_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_DECINST (
    ID_                varchar(64) NOT NULL,
    DEC_DEF_ID_        varchar(64) NOT NULL,
    DEC_DEF_KEY_       varchar(255) NOT NULL,
    DEC_DEF_NAME_      varchar(255),
    PROC_DEF_KEY_      varchar(255),
    PROC_DEF_ID_       varchar(64),
    PROC_INST_ID_      varchar(64),
    CASE_DEF_KEY_      varchar(255),
    CASE_DEF_ID_       varchar(64),
    CASE_INST_ID_      varchar(64),
    ACT_INST_ID_       varchar(64),
    ACT_ID_            varchar(255),
    EVAL_TIME_         datetime NOT NULL,
    REMOVAL_TIME_      datetime,
    COLLECT_VALUE_     double,
    USER_ID_           varchar(255),
    ROOT_DEC_INST_ID_  varchar(64),
    ROOT_PROC_INST_ID_ varchar(64),
    DEC_REQ_ID_        varchar(64),
    DEC_REQ_KEY_       varchar(255),
    TENANT_ID_         varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_DEC_INST_ACT (ACT_ID_),
    KEY ACT_IDX_HI_DEC_INST_ACT_INST (ACT_INST_ID_),
    KEY ACT_IDX_HI_DEC_INST_CI (CASE_INST_ID_),
    KEY ACT_IDX_HI_DEC_INST_ID (DEC_DEF_ID_),
    KEY ACT_IDX_HI_DEC_INST_KEY (DEC_DEF_KEY_),
    KEY ACT_IDX_HI_DEC_INST_PI (PROC_INST_ID_),
    KEY ACT_IDX_HI_DEC_INST_REQ_ID (DEC_REQ_ID_),
    KEY ACT_IDX_HI_DEC_INST_REQ_KEY (DEC_REQ_KEY_),
    KEY ACT_IDX_HI_DEC_INST_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_DEC_INST_ROOT_ID (ROOT_DEC_INST_ID_),
    KEY ACT_IDX_HI_DEC_INST_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_HI_DEC_INST_TENANT_ID (TENANT_ID_),
    KEY ACT_IDX_HI_DEC_INST_TIME (EVAL_TIME_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_DEC_IN (
    ID_                varchar(64) NOT NULL,
    DEC_INST_ID_       varchar(64) NOT NULL,
    CLAUSE_ID_         varchar(64),
    CLAUSE_NAME_       varchar(255),
    VAR_TYPE_          varchar(100),
    BYTEARRAY_ID_      varchar(64),
    DOUBLE_            double,
    LONG_              bigint,
    TEXT_              varchar(4000),
    TEXT2_             varchar(4000),
    TENANT_ID_         varchar(64),
    CREATE_TIME_       datetime,
    ROOT_PROC_INST_ID_ varchar(64),
    REMOVAL_TIME_      datetime,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_DEC_IN_CLAUSE (DEC_INST_ID_, CLAUSE_ID_),
    KEY ACT_IDX_HI_DEC_IN_INST (DEC_INST_ID_),
    KEY ACT_IDX_HI_DEC_IN_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_DEC_IN_ROOT_PI (ROOT_PROC_INST_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_DEC_OUT (
    ID_                varchar(64) NOT NULL,
    DEC_INST_ID_       varchar(64) NOT NULL,
    CLAUSE_ID_         varchar(64),
    CLAUSE_NAME_       varchar(255),
    RULE_ID_           varchar(64),
    RULE_ORDER_        int,
    VAR_NAME_          varchar(255),
    VAR_TYPE_          varchar(100),
    BYTEARRAY_ID_      varchar(64),
    DOUBLE_            double,
    LONG_              bigint,
    TEXT_              varchar(4000),
    TEXT2_             varchar(4000),
    TENANT_ID_         varchar(64),
    CREATE_TIME_       datetime,
    ROOT_PROC_INST_ID_ varchar(64),
    REMOVAL_TIME_      datetime,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_DEC_OUT_INST (DEC_INST_ID_),
    KEY ACT_IDX_HI_DEC_OUT_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_DEC_OUT_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_HI_DEC_OUT_RULE (RULE_ORDER_, CLAUSE_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_DETAIL (
    ID_                varchar(64) NOT NULL,
    TYPE_              varchar(255) NOT NULL,
    PROC_DEF_KEY_      varchar(255),
    PROC_DEF_ID_       varchar(64),
    ROOT_PROC_INST_ID_ varchar(64),
    PROC_INST_ID_      varchar(64),
    EXECUTION_ID_      varchar(64),
    CASE_DEF_KEY_      varchar(255),
    CASE_DEF_ID_       varchar(64),
    CASE_INST_ID_      varchar(64),
    CASE_EXECUTION_ID_ varchar(64),
    TASK_ID_           varchar(64),
    ACT_INST_ID_       varchar(64),
    VAR_INST_ID_       varchar(64),
    NAME_              varchar(255) NOT NULL,
    VAR_TYPE_          varchar(255),
    REV_               int,
    TIME_              datetime NOT NULL,
    BYTEARRAY_ID_      varchar(64),
    DOUBLE_            double,
    LONG_              bigint,
    TEXT_              varchar(4000),
    TEXT2_             varchar(4000),
    SEQUENCE_COUNTER_  bigint,
    TENANT_ID_         varchar(64),
    OPERATION_ID_      varchar(64),
    REMOVAL_TIME_      datetime,
    INITIAL_           boolean,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_DETAIL_ACT_INST (ACT_INST_ID_),
    KEY ACT_IDX_HI_DETAIL_BYTEAR (BYTEARRAY_ID_),
    KEY ACT_IDX_HI_DETAIL_CASE_EXEC (CASE_EXECUTION_ID_),
    KEY ACT_IDX_HI_DETAIL_CASE_INST (CASE_INST_ID_),
    KEY ACT_IDX_HI_DETAIL_NAME (NAME_),
    KEY ACT_IDX_HI_DETAIL_PROC_DEF_KEY (PROC_DEF_KEY_),
    KEY ACT_IDX_HI_DETAIL_PROC_INST (PROC_INST_ID_),
    KEY ACT_IDX_HI_DETAIL_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_DETAIL_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_HI_DETAIL_TASK_BYTEAR (BYTEARRAY_ID_, TASK_ID_),
    KEY ACT_IDX_HI_DETAIL_TASK_ID (TASK_ID_),
    KEY ACT_IDX_HI_DETAIL_TENANT_ID (TENANT_ID_),
    KEY ACT_IDX_HI_DETAIL_TIME (TIME_),
    KEY ACT_IDX_HI_DETAIL_VAR_INST_ID (VAR_INST_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_EXT_TASK_LOG (
    ID_                varchar(64) NOT NULL,
    TIMESTAMP_         timestamp NOT NULL,
    EXT_TASK_ID_       varchar(64) NOT NULL,
    RETRIES_           int,
    TOPIC_NAME_        varchar(255),
    WORKER_ID_         varchar(255),
    PRIORITY_          bigint NOT NULL DEFAULT 0,
    ERROR_MSG_         varchar(4000),
    ERROR_DETAILS_ID_  varchar(64),
    ACT_ID_            varchar(255),
    ACT_INST_ID_       varchar(64),
    EXECUTION_ID_      varchar(64),
    ROOT_PROC_INST_ID_ varchar(64),
    PROC_INST_ID_      varchar(64),
    PROC_DEF_ID_       varchar(64),
    PROC_DEF_KEY_      varchar(255),
    TENANT_ID_         varchar(64),
    STATE_             int,
    REV_               int,
    REMOVAL_TIME_      datetime,
    PRIMARY KEY (ID_),
    KEY ACT_HI_EXT_TASK_LOG_PROCDEF (PROC_DEF_ID_),
    KEY ACT_HI_EXT_TASK_LOG_PROCINST (PROC_INST_ID_),
    KEY ACT_HI_EXT_TASK_LOG_PROC_DEF_KEY (PROC_DEF_KEY_),
    KEY ACT_HI_EXT_TASK_LOG_RM_TIME (REMOVAL_TIME_),
    KEY ACT_HI_EXT_TASK_LOG_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_HI_EXT_TASK_LOG_TENANT_ID (TENANT_ID_),
    KEY ACT_IDX_HI_EXTTASKLOG_ERRORDET (ERROR_DETAILS_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_IDENTITYLINK (
    ID_                varchar(64) NOT NULL,
    TIMESTAMP_         timestamp NOT NULL,
    TYPE_              varchar(255),
    USER_ID_           varchar(255),
    GROUP_ID_          varchar(255),
    TASK_ID_           varchar(64),
    ROOT_PROC_INST_ID_ varchar(64),
    PROC_DEF_ID_       varchar(64),
    OPERATION_TYPE_    varchar(64),
    ASSIGNER_ID_       varchar(64),
    PROC_DEF_KEY_      varchar(255),
    TENANT_ID_         varchar(64),
    REMOVAL_TIME_      datetime,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_IDENT_LINK_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_IDENT_LINK_TASK (TASK_ID_),
    KEY ACT_IDX_HI_IDENT_LNK_GROUP (GROUP_ID_),
    KEY ACT_IDX_HI_IDENT_LNK_PROC_DEF_KEY (PROC_DEF_KEY_),
    KEY ACT_IDX_HI_IDENT_LNK_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_HI_IDENT_LNK_TENANT_ID (TENANT_ID_),
    KEY ACT_IDX_HI_IDENT_LNK_TIMESTAMP (TIMESTAMP_),
    KEY ACT_IDX_HI_IDENT_LNK_USER (USER_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_INCIDENT (
    ID_                     varchar(64) NOT NULL,
    PROC_DEF_KEY_           varchar(255),
    PROC_DEF_ID_            varchar(64),
    ROOT_PROC_INST_ID_      varchar(64),
    PROC_INST_ID_           varchar(64),
    EXECUTION_ID_           varchar(64),
    CREATE_TIME_            timestamp NOT NULL,
    END_TIME_               timestamp NULL,
    INCIDENT_MSG_           varchar(4000),
    INCIDENT_TYPE_          varchar(255) NOT NULL,
    ACTIVITY_ID_            varchar(255),
    FAILED_ACTIVITY_ID_     varchar(255),
    CAUSE_INCIDENT_ID_      varchar(64),
    ROOT_CAUSE_INCIDENT_ID_ varchar(64),
    CONFIGURATION_          varchar(255),
    HISTORY_CONFIGURATION_  varchar(255),
    INCIDENT_STATE_         int,
    TENANT_ID_              varchar(64),
    JOB_DEF_ID_             varchar(64),
    ANNOTATION_             varchar(4000),
    REMOVAL_TIME_           datetime,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_INCIDENT_CREATE_TIME (CREATE_TIME_),
    KEY ACT_IDX_HI_INCIDENT_END_TIME (END_TIME_),
    KEY ACT_IDX_HI_INCIDENT_PROCINST (PROC_INST_ID_),
    KEY ACT_IDX_HI_INCIDENT_PROC_DEF_KEY (PROC_DEF_KEY_),
    KEY ACT_IDX_HI_INCIDENT_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_INCIDENT_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_HI_INCIDENT_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_JOB_LOG (
    ID_                     varchar(64) NOT NULL,
    TIMESTAMP_              datetime NOT NULL,
    JOB_ID_                 varchar(64) NOT NULL,
    JOB_DUEDATE_            datetime,
    JOB_RETRIES_            int,
    JOB_PRIORITY_           bigint NOT NULL DEFAULT 0,
    JOB_EXCEPTION_MSG_      varchar(4000),
    JOB_EXCEPTION_STACK_ID_ varchar(64),
    JOB_STATE_              int,
    JOB_DEF_ID_             varchar(64),
    JOB_DEF_TYPE_           varchar(255),
    JOB_DEF_CONFIGURATION_  varchar(255),
    ACT_ID_                 varchar(255),
    FAILED_ACT_ID_          varchar(255),
    EXECUTION_ID_           varchar(64),
    ROOT_PROC_INST_ID_      varchar(64),
    PROCESS_INSTANCE_ID_    varchar(64),
    PROCESS_DEF_ID_         varchar(64),
    PROCESS_DEF_KEY_        varchar(255),
    DEPLOYMENT_ID_          varchar(64),
    SEQUENCE_COUNTER_       bigint,
    TENANT_ID_              varchar(64),
    HOSTNAME_               varchar(255),
    REMOVAL_TIME_           datetime,
    BATCH_ID_               varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_JOB_LOG_EX_STACK (JOB_EXCEPTION_STACK_ID_),
    KEY ACT_IDX_HI_JOB_LOG_JOB_CONF (JOB_DEF_CONFIGURATION_),
    KEY ACT_IDX_HI_JOB_LOG_JOB_DEF_ID (JOB_DEF_ID_),
    KEY ACT_IDX_HI_JOB_LOG_PROCDEF (PROCESS_DEF_ID_),
    KEY ACT_IDX_HI_JOB_LOG_PROCINST (PROCESS_INSTANCE_ID_),
    KEY ACT_IDX_HI_JOB_LOG_PROC_DEF_KEY (PROCESS_DEF_KEY_),
    KEY ACT_IDX_HI_JOB_LOG_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_JOB_LOG_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_HI_JOB_LOG_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_OP_LOG (
    ID_                varchar(64) NOT NULL,
    DEPLOYMENT_ID_     varchar(64),
    PROC_DEF_ID_       varchar(64),
    PROC_DEF_KEY_      varchar(255),
    ROOT_PROC_INST_ID_ varchar(64),
    PROC_INST_ID_      varchar(64),
    EXECUTION_ID_      varchar(64),
    CASE_DEF_ID_       varchar(64),
    CASE_INST_ID_      varchar(64),
    CASE_EXECUTION_ID_ varchar(64),
    TASK_ID_           varchar(64),
    JOB_ID_            varchar(64),
    JOB_DEF_ID_        varchar(64),
    BATCH_ID_          varchar(64),
    USER_ID_           varchar(255),
    TIMESTAMP_         timestamp NOT NULL,
    OPERATION_TYPE_    varchar(64),
    OPERATION_ID_      varchar(64),
    ENTITY_TYPE_       varchar(30),
    PROPERTY_          varchar(64),
    ORG_VALUE_         varchar(4000),
    NEW_VALUE_         varchar(4000),
    TENANT_ID_         varchar(64),
    REMOVAL_TIME_      datetime,
    CATEGORY_          varchar(64),
    EXTERNAL_TASK_ID_  varchar(64),
    ANNOTATION_        varchar(4000),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_OP_LOG_ENTITY_TYPE (ENTITY_TYPE_),
    KEY ACT_IDX_HI_OP_LOG_OP_TYPE (OPERATION_TYPE_),
    KEY ACT_IDX_HI_OP_LOG_PROCDEF (PROC_DEF_ID_),
    KEY ACT_IDX_HI_OP_LOG_PROCINST (PROC_INST_ID_),
    KEY ACT_IDX_HI_OP_LOG_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_OP_LOG_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_HI_OP_LOG_TASK (TASK_ID_),
    KEY ACT_IDX_HI_OP_LOG_TIMESTAMP (TIMESTAMP_),
    KEY ACT_IDX_HI_OP_LOG_USER_ID (USER_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_PROCINST (
    ID_                        varchar(64) NOT NULL,
    PROC_INST_ID_              varchar(64) NOT NULL,
    BUSINESS_KEY_              varchar(255),
    PROC_DEF_KEY_              varchar(255),
    PROC_DEF_ID_               varchar(64) NOT NULL,
    START_TIME_                datetime NOT NULL,
    END_TIME_                  datetime,
    REMOVAL_TIME_              datetime,
    DURATION_                  bigint,
    START_USER_ID_             varchar(255),
    START_ACT_ID_              varchar(255),
    END_ACT_ID_                varchar(255),
    SUPER_PROCESS_INSTANCE_ID_ varchar(64),
    ROOT_PROC_INST_ID_         varchar(64),
    SUPER_CASE_INSTANCE_ID_    varchar(64),
    CASE_INST_ID_              varchar(64),
    DELETE_REASON_             varchar(4000),
    TENANT_ID_                 varchar(64),
    STATE_                     varchar(255),
    RESTARTED_PROC_INST_ID_    varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_PI_PDEFID_END_TIME (PROC_DEF_ID_, END_TIME_),
    KEY ACT_IDX_HI_PRO_INST_END (END_TIME_),
    KEY ACT_IDX_HI_PRO_INST_PROC_DEF_KEY (PROC_DEF_KEY_),
    KEY ACT_IDX_HI_PRO_INST_PROC_TIME (START_TIME_, END_TIME_),
    KEY ACT_IDX_HI_PRO_INST_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_PRO_INST_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_HI_PRO_INST_TENANT_ID (TENANT_ID_),
    KEY ACT_IDX_HI_PRO_I_BUSKEY (BUSINESS_KEY_),
    KEY ACT_IDX_HI_PRO_RST_PRO_INST_ID (RESTARTED_PROC_INST_ID_),
    UNIQUE KEY PROC_INST_ID_ (PROC_INST_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_TASKINST (
    ID_                varchar(64) NOT NULL,
    TASK_DEF_KEY_      varchar(255),
    PROC_DEF_KEY_      varchar(255),
    PROC_DEF_ID_       varchar(64),
    ROOT_PROC_INST_ID_ varchar(64),
    PROC_INST_ID_      varchar(64),
    EXECUTION_ID_      varchar(64),
    CASE_DEF_KEY_      varchar(255),
    CASE_DEF_ID_       varchar(64),
    CASE_INST_ID_      varchar(64),
    CASE_EXECUTION_ID_ varchar(64),
    ACT_INST_ID_       varchar(64),
    NAME_              varchar(255),
    PARENT_TASK_ID_    varchar(64),
    DESCRIPTION_       varchar(4000),
    OWNER_             varchar(255),
    ASSIGNEE_          varchar(255),
    START_TIME_        datetime NOT NULL,
    END_TIME_          datetime,
    DURATION_          bigint,
    DELETE_REASON_     varchar(4000),
    PRIORITY_          int,
    DUE_DATE_          datetime,
    FOLLOW_UP_DATE_    datetime,
    TENANT_ID_         varchar(64),
    REMOVAL_TIME_      datetime,
    TASK_STATE_        varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_TASKINSTID_PROCINST (ID_, PROC_INST_ID_),
    KEY ACT_IDX_HI_TASKINST_PROCINST (PROC_INST_ID_),
    KEY ACT_IDX_HI_TASKINST_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_HI_TASK_INST_END (END_TIME_),
    KEY ACT_IDX_HI_TASK_INST_PROC_DEF_KEY (PROC_DEF_KEY_),
    KEY ACT_IDX_HI_TASK_INST_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_TASK_INST_START (START_TIME_),
    KEY ACT_IDX_HI_TASK_INST_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_HI_VARINST (
    ID_                varchar(64) NOT NULL,
    PROC_DEF_KEY_      varchar(255),
    PROC_DEF_ID_       varchar(64),
    ROOT_PROC_INST_ID_ varchar(64),
    PROC_INST_ID_      varchar(64),
    EXECUTION_ID_      varchar(64),
    ACT_INST_ID_       varchar(64),
    CASE_DEF_KEY_      varchar(255),
    CASE_DEF_ID_       varchar(64),
    CASE_INST_ID_      varchar(64),
    CASE_EXECUTION_ID_ varchar(64),
    TASK_ID_           varchar(64),
    NAME_              varchar(255) NOT NULL,
    VAR_TYPE_          varchar(100),
    CREATE_TIME_       datetime,
    REV_               int,
    BYTEARRAY_ID_      varchar(64),
    DOUBLE_            double,
    LONG_              bigint,
    TEXT_              varchar(4000),
    TEXT2_             varchar(4000),
    TENANT_ID_         varchar(64),
    STATE_             varchar(20),
    REMOVAL_TIME_      datetime,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_HI_CASEVAR_CASE_INST (CASE_INST_ID_),
    KEY ACT_IDX_HI_PROCVAR_NAME_TYPE (NAME_, VAR_TYPE_),
    KEY ACT_IDX_HI_PROCVAR_PROC_INST (PROC_INST_ID_),
    KEY ACT_IDX_HI_VARINST_ACT_INST_ID (ACT_INST_ID_),
    KEY ACT_IDX_HI_VARINST_BYTEAR (BYTEARRAY_ID_),
    KEY ACT_IDX_HI_VARINST_NAME (NAME_),
    KEY ACT_IDX_HI_VARINST_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_HI_VARINST_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_HI_VAR_INST_PROC_DEF_KEY (PROC_DEF_KEY_),
    KEY ACT_IDX_HI_VAR_INST_TENANT_ID (TENANT_ID_),
    KEY ACT_IDX_HI_VAR_PI_NAME_TYPE (PROC_INST_ID_, NAME_, VAR_TYPE_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_ID_GROUP (
    ID_   varchar(64) NOT NULL,
    REV_  int,
    NAME_ varchar(255),
    TYPE_ varchar(255),
    PRIMARY KEY (ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_ID_INFO (
    ID_        varchar(64) NOT NULL,
    REV_       int,
    USER_ID_   varchar(64),
    TYPE_      varchar(64),
    KEY_       varchar(255),
    VALUE_     varchar(255),
    PASSWORD_  longblob,
    PARENT_ID_ varchar(255),
    PRIMARY KEY (ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_ID_MEMBERSHIP (
    USER_ID_  varchar(64) NOT NULL,
    GROUP_ID_ varchar(64) NOT NULL,
    PRIMARY KEY (USER_ID_, GROUP_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_ID_TENANT (
    ID_   varchar(64) NOT NULL,
    REV_  int,
    NAME_ varchar(255),
    PRIMARY KEY (ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_ID_TENANT_MEMBER (
    ID_        varchar(64) NOT NULL,
    TENANT_ID_ varchar(64) NOT NULL,
    USER_ID_   varchar(64),
    GROUP_ID_  varchar(64),
    PRIMARY KEY (ID_),
    UNIQUE KEY ACT_UNIQ_TENANT_MEMB_GROUP (TENANT_ID_, GROUP_ID_),
    UNIQUE KEY ACT_UNIQ_TENANT_MEMB_USER (TENANT_ID_, USER_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_ID_USER (
    ID_            varchar(64) NOT NULL,
    REV_           int,
    FIRST_         varchar(255),
    LAST_          varchar(255),
    EMAIL_         varchar(255),
    PWD_           varchar(255),
    SALT_          varchar(255),
    LOCK_EXP_TIME_ datetime,
    ATTEMPTS_      int,
    PICTURE_ID_    varchar(64),
    PRIMARY KEY (ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RE_CAMFORMDEF (
    ID_            varchar(64) NOT NULL,
    REV_           int,
    KEY_           varchar(255) NOT NULL,
    VERSION_       int NOT NULL,
    DEPLOYMENT_ID_ varchar(64),
    RESOURCE_NAME_ varchar(4000),
    TENANT_ID_     varchar(64),
    PRIMARY KEY (ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RE_CASE_DEF (
    ID_                 varchar(64) NOT NULL,
    REV_                int,
    CATEGORY_           varchar(255),
    NAME_               varchar(255),
    KEY_                varchar(255) NOT NULL,
    VERSION_            int NOT NULL,
    DEPLOYMENT_ID_      varchar(64),
    RESOURCE_NAME_      varchar(4000),
    DGRM_RESOURCE_NAME_ varchar(4000),
    TENANT_ID_          varchar(64),
    HISTORY_TTL_        int,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_CASE_DEF_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RE_DECISION_DEF (
    ID_                 varchar(64) NOT NULL,
    REV_                int,
    CATEGORY_           varchar(255),
    NAME_               varchar(255),
    KEY_                varchar(255) NOT NULL,
    VERSION_            int NOT NULL,
    DEPLOYMENT_ID_      varchar(64),
    RESOURCE_NAME_      varchar(4000),
    DGRM_RESOURCE_NAME_ varchar(4000),
    DEC_REQ_ID_         varchar(64),
    DEC_REQ_KEY_        varchar(255),
    TENANT_ID_          varchar(64),
    HISTORY_TTL_        int,
    VERSION_TAG_        varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_DEC_DEF_REQ_ID (DEC_REQ_ID_),
    KEY ACT_IDX_DEC_DEF_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RE_DECISION_REQ_DEF (
    ID_                 varchar(64) NOT NULL,
    REV_                int,
    CATEGORY_           varchar(255),
    NAME_               varchar(255),
    KEY_                varchar(255) NOT NULL,
    VERSION_            int NOT NULL,
    DEPLOYMENT_ID_      varchar(64),
    RESOURCE_NAME_      varchar(4000),
    DGRM_RESOURCE_NAME_ varchar(4000),
    TENANT_ID_          varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_DEC_REQ_DEF_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RE_DEPLOYMENT (
    ID_          varchar(64) NOT NULL,
    NAME_        varchar(255),
    DEPLOY_TIME_ datetime,
    SOURCE_      varchar(255),
    TENANT_ID_   varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_DEPLOYMENT_NAME (NAME_),
    KEY ACT_IDX_DEPLOYMENT_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RE_PROCDEF (
    ID_                 varchar(64) NOT NULL,
    REV_                int,
    CATEGORY_           varchar(255),
    NAME_               varchar(255),
    KEY_                varchar(255) NOT NULL,
    VERSION_            int NOT NULL,
    DEPLOYMENT_ID_      varchar(64),
    RESOURCE_NAME_      varchar(4000),
    DGRM_RESOURCE_NAME_ varchar(4000),
    HAS_START_FORM_KEY_ tinyint,
    SUSPENSION_STATE_   int,
    TENANT_ID_          varchar(64),
    VERSION_TAG_        varchar(64),
    HISTORY_TTL_        int,
    STARTABLE_          boolean NOT NULL DEFAULT true,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_PROCDEF_DEPLOYMENT_ID (DEPLOYMENT_ID_),
    KEY ACT_IDX_PROCDEF_TENANT_ID (TENANT_ID_),
    KEY ACT_IDX_PROCDEF_VER_TAG (VERSION_TAG_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_AUTHORIZATION (
    ID_                varchar(64) NOT NULL,
    REV_               int NOT NULL,
    TYPE_              int NOT NULL,
    GROUP_ID_          varchar(255),
    USER_ID_           varchar(255),
    RESOURCE_TYPE_     int NOT NULL,
    RESOURCE_ID_       varchar(255),
    PERMS_             int,
    REMOVAL_TIME_      datetime,
    ROOT_PROC_INST_ID_ varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_AUTH_GROUP_ID (GROUP_ID_),
    KEY ACT_IDX_AUTH_RESOURCE_ID (RESOURCE_ID_),
    KEY ACT_IDX_AUTH_RM_TIME (REMOVAL_TIME_),
    KEY ACT_IDX_AUTH_ROOT_PI (ROOT_PROC_INST_ID_),
    UNIQUE KEY ACT_UNIQ_AUTH_GROUP (GROUP_ID_, TYPE_, RESOURCE_TYPE_, RESOURCE_ID_),
    UNIQUE KEY ACT_UNIQ_AUTH_USER (USER_ID_, TYPE_, RESOURCE_TYPE_, RESOURCE_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_BATCH (
    ID_                  varchar(64) NOT NULL,
    REV_                 int NOT NULL,
    TYPE_                varchar(255),
    TOTAL_JOBS_          int,
    JOBS_CREATED_        int,
    JOBS_PER_SEED_       int,
    INVOCATIONS_PER_JOB_ int,
    SEED_JOB_DEF_ID_     varchar(64),
    BATCH_JOB_DEF_ID_    varchar(64),
    MONITOR_JOB_DEF_ID_  varchar(64),
    SUSPENSION_STATE_    int,
    CONFIGURATION_       varchar(255),
    TENANT_ID_           varchar(64),
    CREATE_USER_ID_      varchar(255),
    START_TIME_          datetime,
    EXEC_START_TIME_     datetime,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_BATCH_JOB_DEF (BATCH_JOB_DEF_ID_),
    KEY ACT_IDX_BATCH_MONITOR_JOB_DEF (MONITOR_JOB_DEF_ID_),
    KEY ACT_IDX_BATCH_SEED_JOB_DEF (SEED_JOB_DEF_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_CASE_EXECUTION (
    ID_              varchar(64) NOT NULL,
    REV_             int,
    CASE_INST_ID_    varchar(64),
    SUPER_CASE_EXEC_ varchar(64),
    SUPER_EXEC_      varchar(64),
    BUSINESS_KEY_    varchar(255),
    PARENT_ID_       varchar(64),
    CASE_DEF_ID_     varchar(64),
    ACT_ID_          varchar(255),
    PREV_STATE_      int,
    CURRENT_STATE_   int,
    REQUIRED_        boolean,
    TENANT_ID_       varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_CASE_EXEC_BUSKEY (BUSINESS_KEY_),
    KEY ACT_IDX_CASE_EXEC_TENANT_ID (TENANT_ID_),
    KEY ACT_IDX_CASE_EXE_CASE_INST (CASE_INST_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_CASE_SENTRY_PART (
    ID_                  varchar(64) NOT NULL,
    REV_                 int,
    CASE_INST_ID_        varchar(64),
    CASE_EXEC_ID_        varchar(64),
    SENTRY_ID_           varchar(255),
    TYPE_                varchar(255),
    SOURCE_CASE_EXEC_ID_ varchar(64),
    STANDARD_EVENT_      varchar(255),
    SOURCE_              varchar(255),
    VARIABLE_EVENT_      varchar(255),
    VARIABLE_NAME_       varchar(255),
    SATISFIED_           boolean,
    TENANT_ID_           varchar(64),
    PRIMARY KEY (ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_EVENT_SUBSCR (
    ID_            varchar(64) NOT NULL,
    REV_           int,
    EVENT_TYPE_    varchar(255) NOT NULL,
    EVENT_NAME_    varchar(255),
    EXECUTION_ID_  varchar(64),
    PROC_INST_ID_  varchar(64),
    ACTIVITY_ID_   varchar(255),
    CONFIGURATION_ varchar(255),
    CREATED_       datetime NOT NULL,
    TENANT_ID_     varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_EVENT_SUBSCR_CONFIG_ (CONFIGURATION_),
    KEY ACT_IDX_EVENT_SUBSCR_EVT_NAME (EVENT_NAME_),
    KEY ACT_IDX_EVENT_SUBSCR_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_EXECUTION (
    ID_                varchar(64) NOT NULL,
    REV_               int,
    ROOT_PROC_INST_ID_ varchar(64),
    PROC_INST_ID_      varchar(64),
    BUSINESS_KEY_      varchar(255),
    PARENT_ID_         varchar(64),
    PROC_DEF_ID_       varchar(64),
    SUPER_EXEC_        varchar(64),
    SUPER_CASE_EXEC_   varchar(64),
    CASE_INST_ID_      varchar(64),
    ACT_ID_            varchar(255),
    ACT_INST_ID_       varchar(64),
    IS_ACTIVE_         tinyint,
    IS_CONCURRENT_     tinyint,
    IS_SCOPE_          tinyint,
    IS_EVENT_SCOPE_    tinyint,
    SUSPENSION_STATE_  int,
    CACHED_ENT_STATE_  int,
    SEQUENCE_COUNTER_  bigint,
    TENANT_ID_         varchar(64),
    PROC_DEF_KEY_      varchar(255),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_EXEC_BUSKEY (BUSINESS_KEY_),
    KEY ACT_IDX_EXEC_ROOT_PI (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_EXEC_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_EXT_TASK (
    ID_                  varchar(64) NOT NULL,
    REV_                 int NOT NULL,
    WORKER_ID_           varchar(255),
    TOPIC_NAME_          varchar(255),
    RETRIES_             int,
    ERROR_MSG_           varchar(4000),
    ERROR_DETAILS_ID_    varchar(64),
    LOCK_EXP_TIME_       datetime,
    CREATE_TIME_         datetime,
    SUSPENSION_STATE_    int,
    EXECUTION_ID_        varchar(64),
    PROC_INST_ID_        varchar(64),
    PROC_DEF_ID_         varchar(64),
    PROC_DEF_KEY_        varchar(255),
    ACT_ID_              varchar(255),
    ACT_INST_ID_         varchar(64),
    TENANT_ID_           varchar(64),
    PRIORITY_            bigint NOT NULL DEFAULT 0,
    LAST_FAILURE_LOG_ID_ varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_EXT_TASK_ERR_DETAILS (ERROR_DETAILS_ID_),
    KEY ACT_IDX_EXT_TASK_EXEC (EXECUTION_ID_),
    KEY ACT_IDX_EXT_TASK_PRIORITY (PRIORITY_),
    KEY ACT_IDX_EXT_TASK_TENANT_ID (TENANT_ID_),
    KEY ACT_IDX_EXT_TASK_TOPIC (TOPIC_NAME_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_FILTER (
    ID_            varchar(64) NOT NULL,
    REV_           int NOT NULL,
    RESOURCE_TYPE_ varchar(255) NOT NULL,
    NAME_          varchar(255) NOT NULL,
    OWNER_         varchar(255),
    QUERY_         longtext NOT NULL,
    PROPERTIES_    longtext,
    PRIMARY KEY (ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_IDENTITYLINK (
    ID_          varchar(64) NOT NULL,
    REV_         int,
    GROUP_ID_    varchar(255),
    TYPE_        varchar(255),
    USER_ID_     varchar(255),
    TASK_ID_     varchar(64),
    PROC_DEF_ID_ varchar(64),
    TENANT_ID_   varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_ATHRZ_PROCEDEF (PROC_DEF_ID_),
    KEY ACT_IDX_IDENT_LNK_GROUP (GROUP_ID_),
    KEY ACT_IDX_IDENT_LNK_USER (USER_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_INCIDENT (
    ID_                     varchar(64) NOT NULL,
    REV_                    int NOT NULL,
    INCIDENT_TIMESTAMP_     datetime NOT NULL,
    INCIDENT_MSG_           varchar(4000),
    INCIDENT_TYPE_          varchar(255) NOT NULL,
    EXECUTION_ID_           varchar(64),
    ACTIVITY_ID_            varchar(255),
    FAILED_ACTIVITY_ID_     varchar(255),
    PROC_INST_ID_           varchar(64),
    PROC_DEF_ID_            varchar(64),
    CAUSE_INCIDENT_ID_      varchar(64),
    ROOT_CAUSE_INCIDENT_ID_ varchar(64),
    CONFIGURATION_          varchar(255),
    TENANT_ID_              varchar(64),
    JOB_DEF_ID_             varchar(64),
    ANNOTATION_             varchar(4000),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_INC_CAUSEINCID (CAUSE_INCIDENT_ID_),
    KEY ACT_IDX_INC_CONFIGURATION (CONFIGURATION_),
    KEY ACT_IDX_INC_EXID (EXECUTION_ID_),
    KEY ACT_IDX_INC_JOB_DEF (JOB_DEF_ID_),
    KEY ACT_IDX_INC_PROCDEFID (PROC_DEF_ID_),
    KEY ACT_IDX_INC_PROCINSTID (PROC_INST_ID_),
    KEY ACT_IDX_INC_ROOTCAUSEINCID (ROOT_CAUSE_INCIDENT_ID_),
    KEY ACT_IDX_INC_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_JOB (
    ID_                  varchar(64) NOT NULL,
    REV_                 int,
    TYPE_                varchar(255) NOT NULL,
    LOCK_EXP_TIME_       datetime,
    LOCK_OWNER_          varchar(255),
    EXCLUSIVE_           boolean,
    EXECUTION_ID_        varchar(64),
    ROOT_PROC_INST_ID_   varchar(64),
    PROCESS_INSTANCE_ID_ varchar(64),
    PROCESS_DEF_ID_      varchar(64),
    PROCESS_DEF_KEY_     varchar(255),
    RETRIES_             int,
    EXCEPTION_STACK_ID_  varchar(64),
    EXCEPTION_MSG_       varchar(4000),
    FAILED_ACT_ID_       varchar(255),
    DUEDATE_             datetime,
    REPEAT_              varchar(255),
    REPEAT_OFFSET_       bigint DEFAULT 0,
    HANDLER_TYPE_        varchar(255),
    HANDLER_CFG_         varchar(4000),
    DEPLOYMENT_ID_       varchar(64),
    SUSPENSION_STATE_    int NOT NULL DEFAULT 1,
    JOB_DEF_ID_          varchar(64),
    PRIORITY_            bigint NOT NULL DEFAULT 0,
    SEQUENCE_COUNTER_    bigint,
    TENANT_ID_           varchar(64),
    CREATE_TIME_         datetime,
    LAST_FAILURE_LOG_ID_ varchar(64),
    BATCH_ID_            varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_JOB_EXECUTION_ID (EXECUTION_ID_),
    KEY ACT_IDX_JOB_HANDLER (HANDLER_TYPE_ (100), HANDLER_CFG_ (155)),
    KEY ACT_IDX_JOB_HANDLER_TYPE (HANDLER_TYPE_),
    KEY ACT_IDX_JOB_JOB_DEF_ID (JOB_DEF_ID_),
    KEY ACT_IDX_JOB_PROCINST (PROCESS_INSTANCE_ID_),
    KEY ACT_IDX_JOB_ROOT_PROCINST (ROOT_PROC_INST_ID_),
    KEY ACT_IDX_JOB_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_JOBDEF (
    ID_                varchar(64) NOT NULL,
    REV_               int,
    PROC_DEF_ID_       varchar(64),
    PROC_DEF_KEY_      varchar(255),
    ACT_ID_            varchar(255),
    JOB_TYPE_          varchar(255) NOT NULL,
    JOB_CONFIGURATION_ varchar(255),
    SUSPENSION_STATE_  int,
    JOB_PRIORITY_      bigint,
    TENANT_ID_         varchar(64),
    DEPLOYMENT_ID_     varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_JOBDEF_PROC_DEF_ID (PROC_DEF_ID_),
    KEY ACT_IDX_JOBDEF_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_METER_LOG (
    ID_           varchar(64) NOT NULL,
    NAME_         varchar(64) NOT NULL,
    REPORTER_     varchar(255),
    VALUE_        bigint,
    TIMESTAMP_    datetime,
    MILLISECONDS_ bigint DEFAULT 0,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_METER_LOG (NAME_, TIMESTAMP_),
    KEY ACT_IDX_METER_LOG_MS (MILLISECONDS_),
    KEY ACT_IDX_METER_LOG_NAME_MS (NAME_, MILLISECONDS_),
    KEY ACT_IDX_METER_LOG_REPORT (NAME_, REPORTER_, MILLISECONDS_),
    KEY ACT_IDX_METER_LOG_TIME (TIMESTAMP_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_TASK (
    ID_                varchar(64) NOT NULL,
    REV_               int,
    EXECUTION_ID_      varchar(64),
    PROC_INST_ID_      varchar(64),
    PROC_DEF_ID_       varchar(64),
    CASE_EXECUTION_ID_ varchar(64),
    CASE_INST_ID_      varchar(64),
    CASE_DEF_ID_       varchar(64),
    NAME_              varchar(255),
    PARENT_TASK_ID_    varchar(64),
    DESCRIPTION_       varchar(4000),
    TASK_DEF_KEY_      varchar(255),
    OWNER_             varchar(255),
    ASSIGNEE_          varchar(255),
    DELEGATION_        varchar(64),
    PRIORITY_          int,
    CREATE_TIME_       datetime,
    LAST_UPDATED_      datetime,
    DUE_DATE_          datetime,
    FOLLOW_UP_DATE_    datetime,
    SUSPENSION_STATE_  int,
    TENANT_ID_         varchar(64),
    TASK_STATE_        varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_TASK_ASSIGNEE (ASSIGNEE_),
    KEY ACT_IDX_TASK_CREATE (CREATE_TIME_),
    KEY ACT_IDX_TASK_LAST_UPDATED (LAST_UPDATED_),
    KEY ACT_IDX_TASK_OWNER (OWNER_),
    KEY ACT_IDX_TASK_TENANT_ID (TENANT_ID_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_TASK_METER_LOG (
    ID_            varchar(64) NOT NULL,
    ASSIGNEE_HASH_ bigint,
    TIMESTAMP_     datetime,
    PRIMARY KEY (ID_),
    KEY ACT_IDX_TASK_METER_LOG_TIME (TIMESTAMP_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

CREATE TABLE ACT_RU_VARIABLE (
    ID_                  varchar(64) NOT NULL,
    REV_                 int,
    TYPE_                varchar(255) NOT NULL,
    NAME_                varchar(255) NOT NULL,
    EXECUTION_ID_        varchar(64),
    PROC_INST_ID_        varchar(64),
    PROC_DEF_ID_         varchar(64),
    CASE_EXECUTION_ID_   varchar(64),
    CASE_INST_ID_        varchar(64),
    TASK_ID_             varchar(64),
    BATCH_ID_            varchar(64),
    BYTEARRAY_ID_        varchar(64),
    DOUBLE_              double,
    LONG_                bigint,
    TEXT_                varchar(4000),
    TEXT2_               varchar(4000),
    VAR_SCOPE_           varchar(64) NOT NULL,
    SEQUENCE_COUNTER_    bigint,
    IS_CONCURRENT_LOCAL_ tinyint,
    TENANT_ID_           varchar(64),
    PRIMARY KEY (ID_),
    KEY ACT_IDX_BATCH_ID (BATCH_ID_),
    KEY ACT_IDX_VARIABLE_TASK_ID (TASK_ID_),
    KEY ACT_IDX_VARIABLE_TASK_NAME_TYPE (TASK_ID_, NAME_, TYPE_),
    KEY ACT_IDX_VARIABLE_TENANT_ID (TENANT_ID_),
    UNIQUE KEY ACT_UNIQ_VARIABLE (VAR_SCOPE_, NAME_)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb3 COLLATE utf8mb3_bin;

-- Each makes the index that it needs, by its own name, where none of the table does.
ALTER TABLE ACT_GE_BYTEARRAY
    ADD CONSTRAINT ACT_FK_BYTEARR_DEPL FOREIGN KEY (DEPLOYMENT_ID_) REFERENCES ACT_RE_DEPLOYMENT (ID_);

ALTER TABLE ACT_ID_MEMBERSHIP
    ADD CONSTRAINT ACT_FK_MEMB_GROUP FOREIGN KEY (GROUP_ID_) REFERENCES ACT_ID_GROUP (ID_),
    ADD CONSTRAINT ACT_FK_MEMB_USER FOREIGN KEY (USER_ID_) REFERENCES ACT_ID_USER (ID_);

ALTER TABLE ACT_ID_TENANT_MEMBER
    ADD CONSTRAINT ACT_FK_TENANT_MEMB FOREIGN KEY (TENANT_ID_) REFERENCES ACT_ID_TENANT (ID_),
    ADD CONSTRAINT ACT_FK_TENANT_MEMB_GROUP FOREIGN KEY (GROUP_ID_) REFERENCES ACT_ID_GROUP (ID_),
    ADD CONSTRAINT ACT_FK_TENANT_MEMB_USER FOREIGN KEY (USER_ID_) REFERENCES ACT_ID_USER (ID_);

ALTER TABLE ACT_RE_DECISION_DEF
    ADD CONSTRAINT ACT_FK_DEC_REQ FOREIGN KEY (DEC_REQ_ID_) REFERENCES ACT_RE_DECISION_REQ_DEF (ID_);

ALTER TABLE ACT_RU_BATCH
    ADD CONSTRAINT ACT_FK_BATCH_JOB_DEF FOREIGN KEY (BATCH_JOB_DEF_ID_) REFERENCES ACT_RU_JOBDEF (ID_),
    ADD CONSTRAINT ACT_FK_BATCH_MONITOR_JOB_DEF FOREIGN KEY (MONITOR_JOB_DEF_ID_) REFERENCES ACT_RU_JOBDEF (ID_),
    ADD CONSTRAINT ACT_FK_BATCH_SEED_JOB_DEF FOREIGN KEY (SEED_JOB_DEF_ID_) REFERENCES ACT_RU_JOBDEF (ID_);

ALTER TABLE ACT_RU_CASE_EXECUTION
    ADD CONSTRAINT ACT_FK_CASE_EXE_CASE_DEF FOREIGN KEY (CASE_DEF_ID_) REFERENCES ACT_RE_CASE_DEF (ID_),
    ADD CONSTRAINT ACT_FK_CASE_EXE_CASE_INST FOREIGN KEY (CASE_INST_ID_) REFERENCES ACT_RU_CASE_EXECUTION (ID_) ON DELETE CASCADE ON UPDATE CASCADE,
    ADD CONSTRAINT ACT_FK_CASE_EXE_PARENT FOREIGN KEY (PARENT_ID_) REFERENCES ACT_RU_CASE_EXECUTION (ID_);

ALTER TABLE ACT_RU_CASE_SENTRY_PART
    ADD CONSTRAINT ACT_FK_CASE_SENTRY_CASE_EXEC FOREIGN KEY (CASE_EXEC_ID_) REFERENCES ACT_RU_CASE_EXECUTION (ID_),
    ADD CONSTRAINT ACT_FK_CASE_SENTRY_CASE_INST FOREIGN KEY (CASE_INST_ID_) REFERENCES ACT_RU_CASE_EXECUTION (ID_);

ALTER TABLE ACT_RU_EVENT_SUBSCR
    ADD CONSTRAINT ACT_FK_EVENT_EXEC FOREIGN KEY (EXECUTION_ID_) REFERENCES ACT_RU_EXECUTION (ID_);

ALTER TABLE ACT_RU_EXECUTION
    ADD CONSTRAINT ACT_FK_EXE_PARENT FOREIGN KEY (PARENT_ID_) REFERENCES ACT_RU_EXECUTION (ID_),
    ADD CONSTRAINT ACT_FK_EXE_PROCDEF FOREIGN KEY (PROC_DEF_ID_) REFERENCES ACT_RE_PROCDEF (ID_),
    ADD CONSTRAINT ACT_FK_EXE_PROCINST FOREIGN KEY (PROC_INST_ID_) REFERENCES ACT_RU_EXECUTION (ID_) ON DELETE CASCADE ON UPDATE CASCADE,
    ADD CONSTRAINT ACT_FK_EXE_SUPER FOREIGN KEY (SUPER_EXEC_) REFERENCES ACT_RU_EXECUTION (ID_);

ALTER TABLE ACT_RU_EXT_TASK
    ADD CONSTRAINT ACT_FK_EXT_TASK_ERROR_DETAILS FOREIGN KEY (ERROR_DETAILS_ID_) REFERENCES ACT_GE_BYTEARRAY (ID_),
    ADD CONSTRAINT ACT_FK_EXT_TASK_EXE FOREIGN KEY (EXECUTION_ID_) REFERENCES ACT_RU_EXECUTION (ID_);

ALTER TABLE ACT_RU_IDENTITYLINK
    ADD CONSTRAINT ACT_FK_ATHRZ_PROCEDEF FOREIGN KEY (PROC_DEF_ID_) REFERENCES ACT_RE_PROCDEF (ID_),
    ADD CONSTRAINT ACT_FK_TSKASS_TASK FOREIGN KEY (TASK_ID_) REFERENCES ACT_RU_TASK (ID_);

ALTER TABLE ACT_RU_INCIDENT
    ADD CONSTRAINT ACT_FK_INC_CAUSE FOREIGN KEY (CAUSE_INCIDENT_ID_) REFERENCES ACT_RU_INCIDENT (ID_) ON DELETE CASCADE ON UPDATE CASCADE,
    ADD CONSTRAINT ACT_FK_INC_EXE FOREIGN KEY (EXECUTION_ID_) REFERENCES ACT_RU_EXECUTION (ID_),
    ADD CONSTRAINT ACT_FK_INC_JOB_DEF FOREIGN KEY (JOB_DEF_ID_) REFERENCES ACT_RU_JOBDEF (ID_),
    ADD CONSTRAINT ACT_FK_INC_PROCDEF FOREIGN KEY (PROC_DEF_ID_) REFERENCES ACT_RE_PROCDEF (ID_),
    ADD CONSTRAINT ACT_FK_INC_PROCINST FOREIGN KEY (PROC_INST_ID_) REFERENCES ACT_RU_EXECUTION (ID_),
    ADD CONSTRAINT ACT_FK_INC_RCAUSE FOREIGN KEY (ROOT_CAUSE_INCIDENT_ID_) REFERENCES ACT_RU_INCIDENT (ID_) ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE ACT_RU_JOB
    ADD CONSTRAINT ACT_FK_JOB_EXCEPTION FOREIGN KEY (EXCEPTION_STACK_ID_) REFERENCES ACT_GE_BYTEARRAY (ID_);

ALTER TABLE ACT_RU_TASK
    ADD CONSTRAINT ACT_FK_TASK_CASE_DEF FOREIGN KEY (CASE_DEF_ID_) REFERENCES ACT_RE_CASE_DEF (ID_),
    ADD CONSTRAINT ACT_FK_TASK_CASE_EXE FOREIGN KEY (CASE_EXECUTION_ID_) REFERENCES ACT_RU_CASE_EXECUTION (ID_),
    ADD CONSTRAINT ACT_FK_TASK_EXE FOREIGN KEY (EXECUTION_ID_) REFERENCES ACT_RU_EXECUTION (ID_),
    ADD CONSTRAINT ACT_FK_TASK_PROCDEF FOREIGN KEY (PROC_DEF_ID_) REFERENCES ACT_RE_PROCDEF (ID_),
    ADD CONSTRAINT ACT_FK_TASK_PROCINST FOREIGN KEY (PROC_INST_ID_) REFERENCES ACT_RU_EXECUTION (ID_);

ALTER TABLE ACT_RU_VARIABLE
    ADD CONSTRAINT ACT_FK_VAR_BATCH FOREIGN KEY (BATCH_ID_) REFERENCES ACT_RU_BATCH (ID_),
    ADD CONSTRAINT ACT_FK_VAR_BYTEARRAY FOREIGN KEY (BYTEARRAY_ID_) REFERENCES ACT_GE_BYTEARRAY (ID_),
    ADD CONSTRAINT ACT_FK_VAR_CASE_EXE FOREIGN KEY (CASE_EXECUTION_ID_) REFERENCES ACT_RU_CASE_EXECUTION (ID_),
    ADD CONSTRAINT ACT_FK_VAR_CASE_INST FOREIGN KEY (CASE_INST_ID_) REFERENCES ACT_RU_CASE_EXECUTION (ID_),
    ADD CONSTRAINT ACT_FK_VAR_EXE FOREIGN KEY (EXECUTION_ID_) REFERENCES ACT_RU_EXECUTION (ID_),
    ADD CONSTRAINT ACT_FK_VAR_PROCINST FOREIGN KEY (PROC_INST_ID_) REFERENCES ACT_RU_EXECUTION (ID_);
