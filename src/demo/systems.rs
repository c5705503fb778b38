//! The managed systems that the demo can show, and what it says of them.

use super::{airflow, dolphinscheduler, yworkflow};
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
    /// The table and column with the scopes of policies, and what a user calls them.
    pub scopes: (&'static str, &'static str, &'static str),
    /// Further commands to try: arguments with `SPEC` for the path of the spec, and what they show.
    pub further: &'static [(&'static str, &'static str)],
    scripts: fn(Dialect) -> Option<Scripts>,
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
pub const SYSTEMS: [System; 3] = [
    System {
        name: "dolphinscheduler",
        database: "dolphinscheduler",
        title: "Apache DolphinScheduler 3.4",
        spec: include_str!("../../specs/dolphinscheduler.toml"),
        spec_path: "specs/dolphinscheduler.toml",
        about_schema: "53 tables, with their stock indexes and not one foreign key",
        about_history: "nested and dynamic sub-workflows, shared ones, circles, dead links, running and undated members",
        scopes: ("t_ds_workflow_instance", "project_code", "projects"),
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
        scopes: ("workflow_instance", "workflow_definition_id", "definitions"),
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
        name: "airflow-3",
        database: "airflow",
        title: "Apache Airflow 3.3",
        spec: include_str!("../../specs/airflow-3.toml"),
        spec_path: "specs/airflow-3.toml",
        about_schema: "58 tables with their stock indexes; of 60 foreign keys 48 cascade, 13 have no index",
        about_history: "runs that hang, that never began, that are the last of their dag; mapped tasks, earlier tries, a backfill",
        scopes: ("dag_run", "dag_id", "dags"),
        further: &[(
            "purge SPEC --key 5",
            "a run by hand that has been running for months: refused",
        )],
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
