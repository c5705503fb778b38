//! The schemas and histories that the demo, the tests and the benchmarks load: texts, no logic.

pub mod systems;

/// yWorkflow's instance store, on PostgreSQL.
pub mod yworkflow {
    /// The whole schema.
    pub const SCHEMA: &str = include_str!("demo/yworkflow/schema.sql");

    /// A history for [`SCHEMA`], sized and dated by the settings of DolphinScheduler's; run VACUUM ANALYZE afterwards.
    pub const HISTORY: &str = include_str!("demo/yworkflow/history.sql");
}

/// Apache Airflow on PostgreSQL, and in [`mysql`](airflow::mysql) the same on MySQL; sized and dated by the settings of
/// DolphinScheduler's history.
pub mod airflow {
    /// The whole schema of version 3.3.
    pub const SCHEMA_33: &str = include_str!("demo/airflow/postgres/schema-3.3.sql");

    /// A history for [`SCHEMA_33`]; run VACUUM ANALYZE afterwards.
    pub const HISTORY_33: &str = include_str!("demo/airflow/postgres/history-3.3.sql");

    /// Apache Airflow on MySQL.
    pub mod mysql {
        /// The whole schema of version 3.3.
        pub const SCHEMA_33: &str = include_str!("demo/airflow/mysql/schema-3.3.sql");

        /// The history of [`super::HISTORY_33`], row by row; run ANALYZE TABLE afterwards.
        pub const HISTORY_33: &str = include_str!("demo/airflow/mysql/history-3.3.sql");
    }
}

/// Apache DolphinScheduler on PostgreSQL, and in [`mysql`](dolphinscheduler::mysql) the same elsewhere.
pub mod dolphinscheduler {
    /// The whole schema of version 3.4.
    pub const SCHEMA_34: &str = include_str!("demo/dolphinscheduler/postgres/schema-3.4.sql");

    /// The whole schema of version 3.2, in which workflows are still called processes.
    pub const SCHEMA_32: &str = include_str!("demo/dolphinscheduler/postgres/schema-3.2.sql");

    /// A history for [`SCHEMA_34`], sized by the setting [`FAMILIES_SETTING`]; run VACUUM ANALYZE afterwards.
    pub const HISTORY_34: &str = include_str!("demo/dolphinscheduler/postgres/history-3.4.sql");

    /// The setting that tells [`HISTORY_34`] how many families of workflow instances to load.
    pub const FAMILIES_SETTING: &str = "windrow.demo_families";

    /// The setting that tells [`HISTORY_34`] what time it is, in UTC; the server's clock does without.
    pub const NOW_SETTING: &str = "windrow.demo_now";

    /// How many families the demo loads: about a quarter of a million rows.
    pub const DEMO_FAMILIES: u32 = 8_000;

    /// Apache DolphinScheduler on MySQL and MariaDB.
    pub mod mysql {
        /// The whole schema of version 3.4.
        pub const SCHEMA_34: &str = include_str!("demo/dolphinscheduler/mysql/schema-3.4.sql");

        /// The whole schema of version 3.2, in which workflows are still called processes.
        pub const SCHEMA_32: &str = include_str!("demo/dolphinscheduler/mysql/schema-3.2.sql");

        /// The history of [`super::HISTORY_34`] for [`SCHEMA_34`], row by row; run ANALYZE TABLE afterwards.
        pub const HISTORY_34: &str = include_str!("demo/dolphinscheduler/mysql/history-3.4.sql");

        /// The variable that tells [`HISTORY_34`] how many families of workflow instances to load.
        pub const FAMILIES_VARIABLE: &str = "@windrow_demo_families";

        /// The variable that tells [`HISTORY_34`] what time it is, in UTC; the server's clock does without.
        pub const NOW_VARIABLE: &str = "@windrow_demo_now";
    }
}

/// Camunda 7 on PostgreSQL, and in [`mysql`](camunda7::mysql) the same elsewhere.
pub mod camunda7 {
    /// The whole schema of version 7.24.
    pub const SCHEMA_724: &str = include_str!("demo/camunda7/postgres/schema-7.24.sql");

    /// A history for [`SCHEMA_724`], sized and dated by the settings of DolphinScheduler's; run VACUUM ANALYZE afterwards.
    pub const HISTORY_724: &str = include_str!("demo/camunda7/postgres/history-7.24.sql");

    /// Camunda 7 on MySQL and MariaDB.
    pub mod mysql {
        /// The whole schema of version 7.24.
        pub const SCHEMA_724: &str = include_str!("demo/camunda7/mysql/schema-7.24.sql");

        /// The history of [`super::HISTORY_724`] for [`SCHEMA_724`], row by row, sized and dated by the variables of
        /// DolphinScheduler's; run ANALYZE TABLE afterwards.
        pub const HISTORY_724: &str = include_str!("demo/camunda7/mysql/history-7.24.sql");
    }
}
