//! Stand-in for spec loading until it is merged. To be dropped.

use crate::graph::*;

/// The DolphinScheduler graph, whatever the text says.
pub fn load(_path: &str, _text: &str) -> Graph {
    let names = [
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
    let id = |name: &str| TableId(names.iter().position(|other| *other == name).unwrap_or(0));
    let column = |name: &str, kind| Column {
        name: name.to_owned(),
        kind,
    };
    let edge = |name: &str, kind, parent: &str, none: bool| Edge {
        column: column(name, kind),
        parent: id(parent),
        parent_column: column("id", Kind::Integer),
        none: none.then_some(Literal::Integer(0)),
    };
    let wi = "t_ds_workflow_instance";
    let tables = names
        .iter()
        .map(|&name| Table {
            name: name.to_owned(),
            indexed: vec![],
            key: if ["t_ds_alert", "t_ds_task_instance", wi].contains(&name) {
                vec![column("id", Kind::Integer)]
            } else {
                vec![]
            },
            edges: match name {
                "t_ds_task_instance" | "t_ds_alert" => {
                    vec![edge("workflow_instance_id", Kind::Integer, wi, false)]
                }
                "t_ds_task_instance_context" => vec![edge(
                    "task_instance_id",
                    Kind::Integer,
                    "t_ds_task_instance",
                    false,
                )],
                "t_ds_task_group_queue" => vec![
                    edge("workflow_instance_id", Kind::Integer, wi, false),
                    edge("task_id", Kind::Integer, "t_ds_task_instance", false),
                ],
                "t_ds_alert_send_status" => {
                    vec![edge("alert_id", Kind::Integer, "t_ds_alert", false)]
                }
                "t_ds_command" | "t_ds_error_command" => {
                    vec![edge("workflow_instance_id", Kind::Integer, wi, true)]
                }
                "t_ds_serial_command" => {
                    vec![edge("workflow_instance_id", Kind::Bigint, wi, false)]
                }
                "t_ds_relation_workflow_instance" => vec![
                    edge("parent_workflow_instance_id", Kind::Integer, wi, false),
                    edge("workflow_instance_id", Kind::Integer, wi, true),
                ],
                "t_ds_relation_sub_workflow" => vec![
                    edge("parent_workflow_instance_id", Kind::Bigint, wi, false),
                    edge("sub_workflow_instance_id", Kind::Bigint, wi, false),
                ],
                _ => vec![],
            },
        })
        .collect();
    let order = [
        "t_ds_alert_send_status",
        "t_ds_alert",
        "t_ds_command",
        "t_ds_error_command",
        "t_ds_relation_sub_workflow",
        "t_ds_relation_workflow_instance",
        "t_ds_serial_command",
        "t_ds_task_group_queue",
        "t_ds_task_instance_context",
        "t_ds_task_instance",
        wi,
    ];
    Graph {
        name: "dolphinscheduler".to_owned(),
        title: "Apache DolphinScheduler 3.4".to_owned(),
        schema: "public".to_owned(),
        time_zone: "UTC".to_owned(),
        tables,
        ignored: vec![],
        rules: vec![Rule {
            name: "workflow_instances".to_owned(),
            root: id(wi),
            candidates: vec![Condition {
                column: column("is_sub_workflow", Kind::Integer),
                values: vec![Literal::Integer(0)],
            }],
            r#final: vec![Condition {
                column: column("state", Kind::Integer),
                values: vec![Literal::Integer(7)],
            }],
            end_time: column("end_time", Kind::Timestamp),
            hierarchy: vec![
                Link {
                    table: id("t_ds_relation_workflow_instance"),
                    parent: column("parent_workflow_instance_id", Kind::Integer),
                    child: column("workflow_instance_id", Kind::Integer),
                },
                Link {
                    table: id("t_ds_relation_sub_workflow"),
                    parent: column("parent_workflow_instance_id", Kind::Bigint),
                    child: column("sub_workflow_instance_id", Kind::Bigint),
                },
            ],
            shared: Shared::Closed,
            retention: Retention {
                default: 2_592_000,
                minimum: 604_800,
                safety_lag: 86_400,
                per: Some(column("project_code", Kind::Bigint)),
                opt_in: true,
            },
            limits: Limits {
                batch_families: 200,
                run_families: 10_000,
                time_budget: 1_800,
                lock_timeout: 100,
                retries: 3,
            },
            artifacts: vec![],
            report: vec![],
            order: order.iter().map(|name| id(name)).collect(),
        }],
        schedule: "7 * * * *".to_owned(),
    }
}
