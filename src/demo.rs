//! The managed systems that `windrow demo` can show, and what it says of them.
//!
//! Their schemas and histories are in `specs/systems/`. Those that the demo loads are part of the program, so that it needs
//! no checkout; what only tests and benchmarks load is not.

use crate::dialect::Dialect;

/// The setting that tells a history of PostgreSQL how many families to load.
pub const FAMILIES_SETTING: &str = "windrow.demo_families";

/// The variable that tells a history of MySQL or MariaDB how many families to load.
pub const FAMILIES_VARIABLE: &str = "@windrow_demo_families";

/// How many families the demo loads of the systems with small ones: about a quarter of a million rows.
pub const FAMILIES: u32 = 8_000;

/// A system with its spec, its schema and a history.
#[derive(Debug)]
pub struct System {
    /// What `demo --system` calls it; also the name of its spec.
    pub name: &'static str,
    /// The database of its tables, as its spec names it on MySQL and MariaDB.
    pub database: &'static str,
    /// Its name and version, as headings write them.
    pub title: &'static str,
    /// Its spec, for a binary that is used without a checkout.
    pub spec: &'static str,
    /// Where the spec is in a checkout.
    pub spec_path: &'static str,
    /// What the tables are like, in half a sentence.
    pub about_schema: &'static str,
    /// What makes the history hard to clean, in half a sentence.
    pub about_history: &'static str,
    /// How many families the demo loads: about a quarter of a million rows.
    pub families: u32,
    /// What an operator decides before the first run.
    pub decision: Decision,
    /// Further commands to try: arguments with `SPEC` for the path of the spec, and what they show.
    pub further: &'static [(&'static str, &'static str)],
    /// What it loads on PostgreSQL.
    postgres: Texts,
    /// What it loads on MySQL, where the system runs there.
    mysql: Option<Texts>,
    /// Whether the same is for MariaDB.
    mariadb: bool,
}

/// What is said before a first run.
#[derive(Clone, Copy, Debug)]
pub enum Decision {
    /// Who is cleaned at all: the table and column with the scopes of policies, and what a user calls them.
    Policies(&'static str, &'static str, &'static str),
    /// What is kept nevertheless: the rule and the key of one family that is due.
    Hold(&'static str, &'static str),
}

/// The empty tables, and the rows.
#[derive(Clone, Copy, Debug)]
struct Texts {
    schema: &'static str,
    history: &'static str,
}

/// What fills a database.
#[derive(Clone, Copy, Debug)]
pub struct Scripts {
    /// The empty tables.
    pub schema: &'static str,
    /// The setting or variable that sizes the history.
    pub size: &'static str,
    /// The rows.
    pub history: &'static str,
}

/// Every system, the default first.
pub const SYSTEMS: [System; 6] = [
    System {
        name: "dolphinscheduler",
        database: "dolphinscheduler",
        title: "Apache DolphinScheduler 3.4",
        spec: include_str!("../specs/dolphinscheduler.toml"),
        spec_path: "specs/dolphinscheduler.toml",
        about_schema: "53 tables, with their stock indexes and not one foreign key",
        about_history: "nested and dynamic sub-workflows, shared ones, circles, dead links, running and undated members",
        families: FAMILIES,
        decision: Decision::Policies("t_ds_workflow_instance", "project_code", "projects"),
        further: &[
            (
                "purge SPEC --key 9",
                "one family by hand: refused with its reason",
            ),
            ("artifacts list SPEC", "log files of the deleted tasks"),
        ],
        postgres: Texts {
            schema: include_str!("../specs/systems/dolphinscheduler/postgres/schema-3.4.sql"),
            history: include_str!("../specs/systems/dolphinscheduler/postgres/history-3.4.sql"),
        },
        mysql: Some(Texts {
            schema: include_str!("../specs/systems/dolphinscheduler/mysql/schema-3.4.sql"),
            history: include_str!("../specs/systems/dolphinscheduler/mysql/history-3.4.sql"),
        }),
        mariadb: true,
    },
    System {
        name: "yworkflow",
        database: "yworkflow",
        title: "yWorkflow",
        spec: include_str!("../specs/yworkflow.toml"),
        spec_path: "specs/yworkflow.toml",
        about_schema: "5 tables with their stock indexes; of five foreign keys four cascade, one refuses, one has no index",
        about_history: "states, the steps between them, owners, attributes; instances that were stopped, corrected lately, never started",
        families: FAMILIES,
        decision: Decision::Policies("workflow_instance", "workflow_definition_id", "definitions"),
        further: &[(
            "purge SPEC --key 90",
            "a stopped instance by hand: refused, it may be started again",
        )],
        postgres: Texts {
            schema: include_str!("../specs/systems/yworkflow/postgres/schema.sql"),
            history: include_str!("../specs/systems/yworkflow/postgres/history.sql"),
        },
        mysql: None,
        mariadb: false,
    },
    System {
        name: "camunda7",
        database: "camunda7",
        title: "Camunda 7.24",
        spec: include_str!("../specs/camunda7.toml"),
        spec_path: "specs/camunda7.toml",
        about_schema: "49 tables with the engine's own indexes; no foreign key holds the history together, three point at its byte arrays",
        about_history: "sub-instances, decisions, batches; running ones whose time has come, old ones without a time, values that something still names",
        families: 4_000,
        decision: Decision::Hold("history", "0076ec00-f9c5-7171-7425-0344ac7f6f54"),
        further: &[(
            "purge SPEC --rule history --key 7130a7c1-8d26-82ed-c3f1-3cc676195cb4",
            "a running instance by hand: refused",
        )],
        postgres: Texts {
            schema: include_str!("../specs/systems/camunda7/postgres/schema-7.24.sql"),
            history: include_str!("../specs/systems/camunda7/postgres/history-7.24.sql"),
        },
        mysql: Some(Texts {
            schema: include_str!("../specs/systems/camunda7/mysql/schema-7.24.sql"),
            history: include_str!("../specs/systems/camunda7/mysql/history-7.24.sql"),
        }),
        mariadb: true,
    },
    System {
        name: "airflow-3",
        database: "airflow",
        title: "Apache Airflow 3.3",
        spec: include_str!("../specs/airflow-3.toml"),
        spec_path: "specs/airflow-3.toml",
        about_schema: "58 tables with their stock indexes; of 60 foreign keys 48 cascade, 13 have no index",
        about_history: "runs that hang, that never began, that are the last of their dag; mapped tasks, earlier tries, a backfill; logs, jobs, tokens",
        families: 4_000,
        decision: Decision::Policies("dag_run", "dag_id", "dags"),
        further: &[
            (
                "purge SPEC --rule dag_runs --key 5",
                "a run that has been running for months: refused",
            ),
            (
                "preview SPEC --rule tries",
                "all but the last three earlier tries of each task",
            ),
        ],
        postgres: Texts {
            schema: include_str!("../specs/systems/airflow/postgres/schema-3.3.sql"),
            history: include_str!("../specs/systems/airflow/postgres/history-3.3.sql"),
        },
        mysql: Some(Texts {
            schema: include_str!("../specs/systems/airflow/mysql/schema-3.3.sql"),
            history: include_str!("../specs/systems/airflow/mysql/history-3.3.sql"),
        }),
        mariadb: false,
    },
    System {
        name: "prefect-3",
        database: "prefect",
        title: "Prefect 3.8",
        spec: include_str!("../specs/prefect-3.toml"),
        spec_path: "specs/prefect-3.toml",
        about_schema: "36 tables with their stock indexes; keys in a circle, and sub-flows that only a task run leads to",
        about_history: "sub-flows that still run or were retried lately; crashed runs without an end; artifacts that are still shown",
        families: FAMILIES,
        decision: Decision::Policies("flow_run", "flow_id", "flows"),
        further: &[("graph SPEC", "who belongs to whom, as a picture")],
        postgres: Texts {
            schema: include_str!("../specs/systems/prefect/postgres/schema-3.8.sql"),
            history: include_str!("../specs/systems/prefect/postgres/history-3.8.sql"),
        },
        mysql: None,
        mariadb: false,
    },
    System {
        name: "mlflow-3",
        database: "mlflow",
        title: "MLflow 3.17",
        spec: include_str!("../specs/mlflow-3.toml"),
        spec_path: "specs/mlflow-3.toml",
        about_schema: "65 tables with their stock indexes; keys to runs refuse, those to traces cascade; times are milliseconds",
        about_history: "deleted runs, some of them without a time or behind a registered model; traces that never ended or wait for a reviewer",
        families: FAMILIES,
        decision: Decision::Policies("trace_info", "experiment_id", "experiments"),
        further: &[(
            "purge SPEC --rule runs --key 34e9aedefffddf04c3cf3f9e055ba714",
            "a deleted run that made a registered model: refused",
        )],
        postgres: Texts {
            schema: include_str!("../specs/systems/mlflow/postgres/schema-3.17.sql"),
            history: include_str!("../specs/systems/mlflow/postgres/history-3.17.sql"),
        },
        mysql: Some(Texts {
            schema: include_str!("../specs/systems/mlflow/mysql/schema-3.17.sql"),
            history: include_str!("../specs/systems/mlflow/mysql/history-3.17.sql"),
        }),
        mariadb: true,
    },
];

impl System {
    /// What fills a database of a server; none where the system does not run on such servers.
    pub fn scripts(&self, dialect: Dialect) -> Option<Scripts> {
        let (texts, size) = match dialect {
            Dialect::Postgres => (self.postgres, FAMILIES_SETTING),
            Dialect::Mysql => (self.mysql?, FAMILIES_VARIABLE),
            Dialect::Mariadb => (self.mysql.filter(|_| self.mariadb)?, FAMILIES_VARIABLE),
        };
        Some(Scripts {
            schema: texts.schema,
            size,
            history: texts.history,
        })
    }
}
