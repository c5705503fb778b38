//! The rows of a world, and the statements that insert them.

use super::clock::{SECOND, timestamp};

/// One row of an application table, or of the control tables that an operator writes.
#[derive(Clone, Debug)]
pub(crate) enum Row {
    Policy {
        scope: i64,
        enabled: bool,
        retention: i64,
        artifacts: bool,
    },
    Hold {
        key: i32,
        active: bool,
    },
    /// What the application says of a project, in the table [`DEFINITIONS`].
    Definition {
        project: i64,
        days: Option<i64>,
    },
    Instance {
        id: i32,
        state: Option<i32>,
        end_time: Option<i64>,
        is_sub_workflow: Option<i32>,
        project: Option<i64>,
    },
    /// t_ds_relation_workflow_instance
    Link {
        id: i32,
        parent: Option<i32>,
        child: Option<i32>,
    },
    /// What an instance names as the one above it: see [`World::within`].
    Above {
        instance: i32,
        above: i32,
    },
    /// t_ds_relation_sub_workflow
    DynamicLink {
        id: i32,
        parent: i64,
        child: i64,
    },
    Task {
        id: i32,
        instance: Option<i32>,
        host: Option<&'static str>,
        path: Option<String>,
    },
    Context {
        id: i32,
        task: i32,
    },
    Queue {
        id: i32,
        instance: Option<i32>,
        task: Option<i32>,
    },
    Alert {
        id: i32,
        instance: Option<i32>,
    },
    SendStatus {
        id: i32,
        alert: i32,
    },
    Command {
        id: i32,
        instance: Option<i32>,
    },
    ErrorCommand {
        id: i32,
        instance: Option<i32>,
    },
    SerialCommand {
        id: i32,
        instance: i64,
    },
}

/// The application tables that rows of a world stand in.
pub(crate) const TABLES: [&str; 11] = [
    "t_ds_alert",
    "t_ds_alert_send_status",
    "t_ds_command",
    "t_ds_error_command",
    "t_ds_relation_sub_workflow",
    "t_ds_relation_workflow_instance",
    "t_ds_serial_command",
    "t_ds_task_group_queue",
    "t_ds_task_instance",
    "t_ds_task_instance_context",
    "t_ds_workflow_instance",
];

impl Row {
    /// The application table and the row's id in it.
    pub(crate) fn place(&self) -> Option<(&'static str, i32)> {
        Some(match self {
            Row::Policy { .. } | Row::Hold { .. } | Row::Definition { .. } | Row::Above { .. } => {
                return None;
            }
            Row::Instance { id, .. } => ("t_ds_workflow_instance", *id),
            Row::Link { id, .. } => ("t_ds_relation_workflow_instance", *id),
            Row::DynamicLink { id, .. } => ("t_ds_relation_sub_workflow", *id),
            Row::Task { id, .. } => ("t_ds_task_instance", *id),
            Row::Context { id, .. } => ("t_ds_task_instance_context", *id),
            Row::Queue { id, .. } => ("t_ds_task_group_queue", *id),
            Row::Alert { id, .. } => ("t_ds_alert", *id),
            Row::SendStatus { id, .. } => ("t_ds_alert_send_status", *id),
            Row::Command { id, .. } => ("t_ds_command", *id),
            Row::ErrorCommand { id, .. } => ("t_ds_error_command", *id),
            Row::SerialCommand { id, .. } => ("t_ds_serial_command", *id),
        })
    }

    /// The instances that this row names.
    pub(super) fn instances(&self) -> Vec<i64> {
        let wide = |id: &Option<i32>| id.map(i64::from);
        match self {
            Row::Link { parent, child, .. } => {
                [wide(parent), wide(child)].into_iter().flatten().collect()
            }
            Row::Above { instance, above } => vec![i64::from(*instance), i64::from(*above)],
            Row::DynamicLink { parent, child, .. } => vec![*parent, *child],
            Row::SerialCommand { instance, .. } => vec![*instance],
            Row::Task { instance, .. }
            | Row::Queue { instance, .. }
            | Row::Alert { instance, .. }
            | Row::Command { instance, .. }
            | Row::ErrorCommand { instance, .. } => wide(instance).into_iter().collect(),
            Row::Policy { .. }
            | Row::Hold { .. }
            | Row::Definition { .. }
            | Row::Instance { .. }
            | Row::Context { .. }
            | Row::SendStatus { .. } => Vec::new(),
        }
    }

    /// The statement that inserts this row; `W.` stands for the control schema.
    pub(crate) fn insert(&self) -> String {
        match self {
            Row::Policy {
                scope,
                enabled,
                retention,
                artifacts,
            } => format!(
                "INSERT INTO W.policy (rule, scope, enabled, retention_seconds, artifacts) VALUES ('workflow_instances', '{scope}', {enabled}, {}, {artifacts})",
                retention / SECOND
            ),
            Row::Hold { key, active } => format!(
                "INSERT INTO W.hold (rule, \"key\", reason, until) VALUES ('workflow_instances', '{key}', 'test', {})",
                if *active { "NULL" } else { "'2020-01-01'" }
            ),
            Row::Definition { project, days } => format!(
                "INSERT INTO project_keep (code, keep_days) VALUES ({project}, {})",
                number(*days)
            ),
            Row::Instance {
                id,
                state,
                end_time,
                is_sub_workflow,
                project,
            } => format!(
                "INSERT INTO t_ds_workflow_instance (id, state, end_time, is_sub_workflow, project_code, executor_id) VALUES ({id}, {}, {}, {}, {}, 1)",
                number(*state),
                end_time.map_or("NULL".to_owned(), |time| format!("'{}'", timestamp(time))),
                number(*is_sub_workflow),
                number(*project)
            ),
            Row::Link { id, parent, child } => format!(
                "INSERT INTO t_ds_relation_workflow_instance (id, parent_workflow_instance_id, workflow_instance_id) VALUES ({id}, {}, {})",
                number(*parent),
                number(*child)
            ),
            Row::Above { instance, above } => format!(
                "UPDATE t_ds_workflow_instance SET next_workflow_instance_id = {above} WHERE id = {instance}"
            ),
            Row::DynamicLink { id, parent, child } => format!(
                "INSERT INTO t_ds_relation_sub_workflow (id, parent_workflow_instance_id, parent_task_code, sub_workflow_instance_id) VALUES ({id}, {parent}, 1, {child})"
            ),
            Row::Task {
                id,
                instance,
                host,
                path,
            } => format!(
                "INSERT INTO t_ds_task_instance (id, task_code, workflow_instance_id, host, log_path) VALUES ({id}, 1, {}, {}, {})",
                number(*instance),
                text(*host),
                text(path.as_deref())
            ),
            Row::Context { id, task } => format!(
                "INSERT INTO t_ds_task_instance_context (id, task_instance_id, context, context_type, create_time, update_time) VALUES ({id}, {task}, '', '{id}', '2020-01-01', '2020-01-01')"
            ),
            Row::Queue { id, instance, task } => format!(
                "INSERT INTO t_ds_task_group_queue (id, workflow_instance_id, task_id) VALUES ({id}, {}, {})",
                number(*instance),
                number(*task)
            ),
            Row::Alert { id, instance } => format!(
                "INSERT INTO t_ds_alert (id, workflow_instance_id) VALUES ({id}, {})",
                number(*instance)
            ),
            Row::SendStatus { id, alert } => format!(
                "INSERT INTO t_ds_alert_send_status (id, alert_id, alert_plugin_instance_id) VALUES ({id}, {alert}, {id})"
            ),
            Row::Command { id, instance } => format!(
                "INSERT INTO t_ds_command (id, workflow_definition_code, workflow_instance_id) VALUES ({id}, 1, {})",
                number(*instance)
            ),
            Row::ErrorCommand { id, instance } => format!(
                "INSERT INTO t_ds_error_command (id, workflow_definition_code, workflow_instance_id) VALUES ({id}, 1, {})",
                number(*instance)
            ),
            Row::SerialCommand { id, instance } => format!(
                "INSERT INTO t_ds_serial_command (id, workflow_definition_code, workflow_definition_version, workflow_instance_id, create_time, update_time) VALUES ({id}, 1, 1, {instance}, '2020-01-01', '2020-01-01')"
            ),
        }
    }
}

/// The table of [`Row::Definition`].
pub(crate) const DEFINITIONS: &str = "
CREATE TABLE project_keep (code bigint NOT NULL PRIMARY KEY, keep_days bigint NULL);
";

fn number<T: ToString>(value: Option<T>) -> String {
    value.map_or("NULL".to_owned(), |value| value.to_string())
}

fn text(value: Option<&str>) -> String {
    value.map_or("NULL".to_owned(), |value| {
        format!("'{}'", value.replace('\'', "''"))
    })
}
