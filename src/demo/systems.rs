//! The managed systems that the demo can show, and what it says of them.

use super::{airflow, camunda7, dolphinscheduler, yworkflow};
use crate::dialect::Dialect;

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
    /// Where the spec stands in a checkout.
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
    scripts: fn(Dialect) -> Option<Scripts>,
}

/// What is said before a first run.
#[derive(Clone, Copy, Debug)]
pub enum Decision {
    /// Who is cleaned at all: the table and column with the scopes of policies, and what a user calls them.
    Policies(&'static str, &'static str, &'static str),
    /// What stays nevertheless: the rule and the key of one family that is due.
    Hold(&'static str, &'static str),
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
pub const SYSTEMS: [System; 4] = [
    System {
        name: "dolphinscheduler",
        database: "dolphinscheduler",
        title: "Apache DolphinScheduler 3.4",
        spec: include_str!("../../specs/dolphinscheduler.toml"),
        spec_path: "specs/dolphinscheduler.toml",
        about_schema: "53 tables, with their stock indexes and not one foreign key",
        about_history: "nested and dynamic sub-workflows, shared ones, circles, dead links, running and undated members",
        families: dolphinscheduler::DEMO_FAMILIES,
        decision: Decision::Policies("t_ds_workflow_instance", "project_code", "projects"),
        further: &[
            (
                "purge SPEC --key 9",
                "one family by hand: refused with its reason",
            ),
            ("artifacts list SPEC", "log files of the deleted tasks"),
        ],
        scripts: |dialect| {
            Some(match dialect {
                Dialect::Postgres => Scripts {
                    schema: dolphinscheduler::SCHEMA_34,
                    size: dolphinscheduler::FAMILIES_SETTING,
                    history: dolphinscheduler::HISTORY_34,
                },
                Dialect::Mysql | Dialect::Mariadb => Scripts {
                    schema: dolphinscheduler::mysql::SCHEMA_34,
                    size: dolphinscheduler::mysql::FAMILIES_VARIABLE,
                    history: dolphinscheduler::mysql::HISTORY_34,
                },
            })
        },
    },
    System {
        name: "yworkflow",
        database: "yworkflow",
        title: "yWorkflow",
        spec: include_str!("../../specs/yworkflow.toml"),
        spec_path: "specs/yworkflow.toml",
        about_schema: "5 tables with their stock indexes; of five foreign keys four cascade, one refuses, one has no index",
        about_history: "states, the steps between them, owners, attributes; instances that were stopped, corrected lately, never started",
        families: dolphinscheduler::DEMO_FAMILIES,
        decision: Decision::Policies("workflow_instance", "workflow_definition_id", "definitions"),
        further: &[(
            "purge SPEC --key 90",
            "a stopped instance by hand: refused, it may be started again",
        )],
        scripts: |dialect| {
            (dialect == Dialect::Postgres).then_some(Scripts {
                schema: yworkflow::SCHEMA,
                size: dolphinscheduler::FAMILIES_SETTING,
                history: yworkflow::HISTORY,
            })
        },
    },
    System {
        name: "camunda7",
        database: "camunda7",
        title: "Camunda 7.24",
        spec: include_str!("../../specs/camunda7.toml"),
        spec_path: "specs/camunda7.toml",
        about_schema: "49 tables with the engine's own indexes; no foreign key holds the history together, three point at its byte arrays",
        about_history: "sub-instances, decisions, batches; running ones whose time has come, old ones without a time, values that something still names",
        families: 4_000,
        decision: Decision::Hold("history", "0076ec00-f9c5-7171-7425-0344ac7f6f54"),
        further: &[(
            "purge SPEC --rule history --key 7130a7c1-8d26-82ed-c3f1-3cc676195cb4",
            "a running instance by hand: refused",
        )],
        scripts: |dialect| {
            Some(match dialect {
                Dialect::Postgres => Scripts {
                    schema: camunda7::SCHEMA_724,
                    size: dolphinscheduler::FAMILIES_SETTING,
                    history: camunda7::HISTORY_724,
                },
                Dialect::Mysql | Dialect::Mariadb => Scripts {
                    schema: camunda7::mysql::SCHEMA_724,
                    size: dolphinscheduler::mysql::FAMILIES_VARIABLE,
                    history: camunda7::mysql::HISTORY_724,
                },
            })
        },
    },
    System {
        name: "airflow-3",
        database: "airflow",
        title: "Apache Airflow 3.3",
        spec: include_str!("../../specs/airflow-3.toml"),
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
        scripts: |dialect| match dialect {
            Dialect::Postgres => Some(Scripts {
                schema: airflow::SCHEMA_33,
                size: dolphinscheduler::FAMILIES_SETTING,
                history: airflow::HISTORY_33,
            }),
            Dialect::Mysql => Some(Scripts {
                schema: airflow::mysql::SCHEMA_33,
                size: dolphinscheduler::mysql::FAMILIES_VARIABLE,
                history: airflow::mysql::HISTORY_33,
            }),
            Dialect::Mariadb => None,
        },
    },
];

impl System {
    /// What fills a database of a server; none where the system does not run on such servers.
    pub fn scripts(&self, dialect: Dialect) -> Option<Scripts> {
        (self.scripts)(dialect)
    }
}
