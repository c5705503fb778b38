//! The schemas and histories of the systems, which stand in `specs/systems/`: for the tests.

/// yWorkflow's instance store, on PostgreSQL.
pub(crate) mod yworkflow {
    /// The whole schema.
    pub(crate) const SCHEMA: &str =
        include_str!("../../../specs/systems/yworkflow/postgres/schema.sql");

    /// A history for [`SCHEMA`], sized and dated by the settings of DolphinScheduler's; run VACUUM ANALYZE afterwards.
    pub(crate) const HISTORY: &str =
        include_str!("../../../specs/systems/yworkflow/postgres/history.sql");
}

/// Prefect on PostgreSQL.
pub(crate) mod prefect {
    /// The whole schema of version 3.8.
    pub(crate) const SCHEMA: &str =
        include_str!("../../../specs/systems/prefect/postgres/schema-3.8.sql");

    /// A history for [`SCHEMA`], sized and dated by the settings of DolphinScheduler's.
    pub(crate) const HISTORY: &str =
        include_str!("../../../specs/systems/prefect/postgres/history-3.8.sql");
}

/// MLflow on PostgreSQL, and in `mysql` the same on MySQL and MariaDB.
pub(crate) mod mlflow {
    /// The whole schema of version 3.17.
    pub(crate) const SCHEMA: &str =
        include_str!("../../../specs/systems/mlflow/postgres/schema-3.17.sql");

    /// A history for [`SCHEMA`], sized and dated by the settings of DolphinScheduler's.
    pub(crate) const HISTORY: &str =
        include_str!("../../../specs/systems/mlflow/postgres/history-3.17.sql");

    pub(crate) mod mysql {
        /// The whole schema of version 3.17.
        pub(crate) const SCHEMA: &str =
            include_str!("../../../specs/systems/mlflow/mysql/schema-3.17.sql");

        /// A history for [`SCHEMA`], sized and dated by the variables of DolphinScheduler's.
        pub(crate) const HISTORY: &str =
            include_str!("../../../specs/systems/mlflow/mysql/history-3.17.sql");
    }
}

/// Apache DolphinScheduler on PostgreSQL, and in `mysql` the same elsewhere.
pub(crate) mod dolphinscheduler {
    /// The whole schema of version 3.4.
    pub(crate) const SCHEMA_34: &str =
        include_str!("../../../specs/systems/dolphinscheduler/postgres/schema-3.4.sql");

    /// The whole schema of version 3.2, in which workflows are still called processes.
    pub(crate) const SCHEMA_32: &str =
        include_str!("../../../specs/systems/dolphinscheduler/postgres/schema-3.2.sql");

    /// A history for [`SCHEMA_34`], sized by the setting [`FAMILIES_SETTING`]; run VACUUM ANALYZE afterwards.
    pub(crate) const HISTORY_34: &str =
        include_str!("../../../specs/systems/dolphinscheduler/postgres/history-3.4.sql");

    /// The setting that tells [`HISTORY_34`] how many families to load.
    pub(crate) const FAMILIES_SETTING: &str = windrow::demo::FAMILIES_SETTING;

    /// The setting that tells [`HISTORY_34`] what time it is, in UTC; the server's clock does without.
    pub(crate) const NOW_SETTING: &str = "windrow.demo_now";

    /// How many families the demo loads.
    pub(crate) const DEMO_FAMILIES: u32 = windrow::demo::FAMILIES;

    /// Apache DolphinScheduler on MySQL and MariaDB.
    pub(crate) mod mysql {
        /// The whole schema of version 3.4.
        pub(crate) const SCHEMA_34: &str =
            include_str!("../../../specs/systems/dolphinscheduler/mysql/schema-3.4.sql");

        /// The whole schema of version 3.2, in which workflows are still called processes.
        pub(crate) const SCHEMA_32: &str =
            include_str!("../../../specs/systems/dolphinscheduler/mysql/schema-3.2.sql");

        /// The history of [`super::HISTORY_34`] for [`SCHEMA_34`], row by row; run ANALYZE TABLE afterwards.
        pub(crate) const HISTORY_34: &str =
            include_str!("../../../specs/systems/dolphinscheduler/mysql/history-3.4.sql");

        /// The variable that tells [`HISTORY_34`] how many families to load.
        pub(crate) const FAMILIES_VARIABLE: &str = windrow::demo::FAMILIES_VARIABLE;

        /// The variable that tells [`HISTORY_34`] what time it is, in UTC; the server's clock does without.
        pub(crate) const NOW_VARIABLE: &str = "@windrow_demo_now";
    }
}

/// Camunda 7 on PostgreSQL, and in `mysql` the same elsewhere.
pub(crate) mod camunda7 {
    /// The whole schema of version 7.24.
    pub(crate) const SCHEMA_724: &str =
        include_str!("../../../specs/systems/camunda7/postgres/schema-7.24.sql");

    /// A history for [`SCHEMA_724`], sized and dated by the settings of DolphinScheduler's; run VACUUM ANALYZE afterwards.
    pub(crate) const HISTORY_724: &str =
        include_str!("../../../specs/systems/camunda7/postgres/history-7.24.sql");

    /// Camunda 7 on MySQL and MariaDB.
    pub(crate) mod mysql {
        /// The whole schema of version 7.24.
        pub(crate) const SCHEMA_724: &str =
            include_str!("../../../specs/systems/camunda7/mysql/schema-7.24.sql");

        /// The history of [`super::HISTORY_724`] for [`SCHEMA_724`], row by row, sized and dated by the variables of
        /// DolphinScheduler's; run ANALYZE TABLE afterwards.
        pub(crate) const HISTORY_724: &str =
            include_str!("../../../specs/systems/camunda7/mysql/history-7.24.sql");
    }
}
