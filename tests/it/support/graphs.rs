//! The graphs under test.

use windrow::graph::{
    Artifact, Column, Condition, Edge, Graph, Kind, Limits, Link, Literal, Retention, Rule, Shared,
    Table, TableId,
};

const DAY: i64 = 86_400;

/// Indices into the tables of [`dolphinscheduler`], which are sorted by name.
const ALERT: TableId = TableId(0);
const ALERT_SEND_STATUS: TableId = TableId(1);
const COMMAND: TableId = TableId(2);
const ERROR_COMMAND: TableId = TableId(3);
const RELATION_SUB_WORKFLOW: TableId = TableId(4);
const RELATION_WORKFLOW_INSTANCE: TableId = TableId(5);
const SERIAL_COMMAND: TableId = TableId(6);
const TASK_GROUP_QUEUE: TableId = TableId(7);
const TASK_INSTANCE: TableId = TableId(8);
const TASK_INSTANCE_CONTEXT: TableId = TableId(9);
const WORKFLOW_INSTANCE: TableId = TableId(10);

/// What `specs/dolphinscheduler.toml` says, with either meaning of a shared member.
pub(crate) fn dolphinscheduler(shared: Shared) -> Graph {
    let instance = |column: &str| edge(integer(column), WORKFLOW_INSTANCE);
    let wide_instance = |column: &str| edge(bigint(column), WORKFLOW_INSTANCE);
    let unless_zero = |edge: Edge| Edge {
        none: Some(Literal::Integer(0)),
        ..edge
    };
    Graph {
        name: "dolphinscheduler".to_owned(),
        title: "Apache DolphinScheduler 3.4".to_owned(),
        schema: "public".to_owned(),
        time_zone: "UTC".to_owned(),
        tables: vec![
            table("t_ds_alert", &[], vec![instance("workflow_instance_id")]),
            table(
                "t_ds_alert_send_status",
                &["alert_id"],
                vec![edge(integer("alert_id"), ALERT)],
            ),
            table(
                "t_ds_command",
                &[],
                vec![unless_zero(instance("workflow_instance_id"))],
            ),
            table(
                "t_ds_error_command",
                &[],
                vec![unless_zero(instance("workflow_instance_id"))],
            ),
            table(
                "t_ds_relation_sub_workflow",
                &["parent_workflow_instance_id", "sub_workflow_instance_id"],
                vec![
                    wide_instance("parent_workflow_instance_id"),
                    wide_instance("sub_workflow_instance_id"),
                ],
            ),
            table(
                "t_ds_relation_workflow_instance",
                &["parent_workflow_instance_id", "workflow_instance_id"],
                vec![
                    instance("parent_workflow_instance_id"),
                    unless_zero(instance("workflow_instance_id")),
                ],
            ),
            table(
                "t_ds_serial_command",
                &["workflow_instance_id"],
                vec![wide_instance("workflow_instance_id")],
            ),
            table(
                "t_ds_task_group_queue",
                &["workflow_instance_id", "task_id"],
                vec![
                    instance("workflow_instance_id"),
                    edge(integer("task_id"), TASK_INSTANCE),
                ],
            ),
            table(
                "t_ds_task_instance",
                &[],
                vec![instance("workflow_instance_id")],
            ),
            table(
                "t_ds_task_instance_context",
                &["task_instance_id"],
                vec![edge(integer("task_instance_id"), TASK_INSTANCE)],
            ),
            table("t_ds_workflow_instance", &[], Vec::new()),
        ],
        ignored: Vec::new(),
        rules: vec![Rule {
            name: "workflow_instances".to_owned(),
            root: WORKFLOW_INSTANCE,
            candidates: vec![Condition {
                column: integer("is_sub_workflow"),
                values: vec![Literal::Integer(0)],
            }],
            r#final: vec![Condition {
                column: integer("state"),
                values: [3, 5, 6, 7].map(Literal::Integer).to_vec(),
            }],
            end_time: column("end_time", Kind::Timestamp),
            hierarchy: vec![
                Link {
                    table: RELATION_WORKFLOW_INSTANCE,
                    parent: integer("parent_workflow_instance_id"),
                    child: integer("workflow_instance_id"),
                },
                Link {
                    table: RELATION_SUB_WORKFLOW,
                    parent: bigint("parent_workflow_instance_id"),
                    child: bigint("sub_workflow_instance_id"),
                },
            ],
            shared,
            retention: Retention {
                default: 30 * DAY,
                minimum: 7 * DAY,
                safety_lag: DAY,
                per: Some(bigint("project_code")),
                opt_in: true,
            },
            limits: Limits {
                batch_families: 200,
                run_families: 10_000,
                time_budget: 1_800,
                lock_timeout: 100,
                retries: 3,
            },
            artifacts: vec![Artifact {
                table: TASK_INSTANCE,
                host: Some("host".to_owned()),
                path: "log_path".to_owned(),
            }],
            report: Vec::new(),
            order: vec![
                ALERT_SEND_STATUS,
                ALERT,
                COMMAND,
                ERROR_COMMAND,
                RELATION_SUB_WORKFLOW,
                RELATION_WORKFLOW_INSTANCE,
                SERIAL_COMMAND,
                TASK_GROUP_QUEUE,
                TASK_INSTANCE_CONTEXT,
                TASK_INSTANCE,
                WORKFLOW_INSTANCE,
            ],
        }],
        schedule: "7 * * * *".to_owned(),
    }
}

fn table(name: &str, indexed: &[&str], edges: Vec<Edge>) -> Table {
    Table {
        name: name.to_owned(),
        key: vec![integer("id")],
        indexed: indexed.iter().map(ToString::to_string).collect(),
        edges,
    }
}

fn edge(column: Column, parent: TableId) -> Edge {
    Edge {
        column,
        parent,
        parent_column: integer("id"),
        none: None,
    }
}

fn integer(name: &str) -> Column {
    column(name, Kind::Integer)
}

fn bigint(name: &str) -> Column {
    column(name, Kind::Bigint)
}

fn column(name: &str, kind: Kind) -> Column {
    Column {
        name: name.to_owned(),
        kind,
    }
}
