//! Orphans in the middle of a tree, which go with what belongs to them: on DolphinScheduler's schema, which has no foreign key.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::demo::dolphinscheduler::SCHEMA_34;
use windrow::lint;

use crate::support::database::Database;

const SPEC: &str = include_str!("../../specs/dolphinscheduler.toml");

/// Tasks and alerts whose workflow instance is gone.
const RULES: &str = r#"
[rules.lost_tasks]
strategy  = "orphan"
root      = "t_ds_task_instance"
time      = "submit_time"
retention = { default = "14d", minimum = "7d", safety_lag = "1d" }

[rules.lost_alerts]
strategy  = "orphan"
root      = "t_ds_alert"
time      = "create_time"
retention = { default = "14d", minimum = "7d", safety_lag = "1d" }
"#;

const AS_OF: &str = "2026-06-16T00:00:00Z";

fn armed() -> Database {
    let text = SPEC.replacen("title ", "dialects  = [\"postgres\"]\ntitle ", 1) + RULES;
    let (graph, findings) = lint::load(&text);
    let graph = graph.unwrap_or_else(|| panic!("the spec has errors: {findings:?}"));
    let mut database = Database::of(SCHEMA_34, &graph);
    database.arm();
    database
}

/// Keys by table, each with what it names and when it was written.
#[derive(Clone, Debug, Default, PartialEq)]
struct World {
    workflows: BTreeSet<i32>,
    tasks: BTreeMap<i32, (Option<i32>, Option<&'static str>)>,
    contexts: BTreeMap<i32, i32>,
    queue: BTreeMap<i32, (Option<i32>, Option<i32>)>,
    alerts: BTreeMap<i32, (Option<i32>, Option<&'static str>)>,
    sendings: BTreeMap<i32, i32>,
    held: BTreeSet<i32>,
}

/// The limit is the first day of June.
const TIMES: [Option<&str>; 5] = [
    Some("2026-01-01 00:00:00"),
    Some("2026-05-31 23:59:59.999999"),
    Some("2026-06-01 00:00:00"),
    Some("2026-06-15 00:00:00"),
    None,
];

impl World {
    fn random(random: &mut SmallRng) -> World {
        let mut world = World::default();
        let size = random.random_range(1..25);
        let named = |random: &mut SmallRng| {
            (!random.random_bool(0.1)).then(|| random.random_range(0..size))
        };
        for id in 0..size {
            if random.random_bool(0.6) {
                world.workflows.insert(id);
            }
            let time = |random: &mut SmallRng| *TIMES.choose(random).expect("a time");
            world.tasks.insert(id, (named(random), time(random)));
            world.alerts.insert(id, (named(random), time(random)));
            for twin in 0..random.random_range(0..3) {
                let key = id * 3 + twin;
                // Some of these name nothing that is there, and are not the rules' business.
                world.contexts.insert(key, random.random_range(0..size + 5));
                world.sendings.insert(key, random.random_range(0..size + 5));
                world.queue.insert(key, (named(random), named(random)));
            }
            if random.random_bool(0.1) {
                world.held.insert(id);
            }
        }
        world
    }

    fn load(&self, database: &mut Database) {
        let mut sql = String::from("DELETE FROM W.hold;\n");
        for table in TABLES {
            sql += &format!("TRUNCATE {table};\n");
        }
        let value = |value: Option<i32>| value.map_or("NULL".to_owned(), |it| it.to_string());
        let time = |time: Option<&str>| time.map_or("NULL".to_owned(), |it| format!("'{it}'"));
        for id in &self.workflows {
            sql += &format!(
                "INSERT INTO t_ds_workflow_instance (id, workflow_definition_code, is_sub_workflow, executor_id) VALUES ({id}, 1, 0, 1);\n"
            );
        }
        for (id, (workflow, written)) in &self.tasks {
            sql += &format!(
                "INSERT INTO t_ds_task_instance (id, task_type, task_code, workflow_instance_id, submit_time) VALUES ({id}, 'SHELL', 1, {}, {});\n",
                value(*workflow),
                time(*written)
            );
        }
        for (id, task) in &self.contexts {
            sql += &format!(
                "INSERT INTO t_ds_task_instance_context (id, task_instance_id, context, context_type, create_time, update_time) VALUES ({id}, {task}, '', '{id}', now(), now());\n"
            );
        }
        for (id, (workflow, task)) in &self.queue {
            sql += &format!(
                "INSERT INTO t_ds_task_group_queue (id, workflow_instance_id, task_id) VALUES ({id}, {}, {});\n",
                value(*workflow),
                value(*task)
            );
        }
        for (id, (workflow, written)) in &self.alerts {
            sql += &format!(
                "INSERT INTO t_ds_alert (id, workflow_instance_id, create_time) VALUES ({id}, {}, {});\n",
                value(*workflow),
                time(*written)
            );
        }
        for (id, alert) in &self.sendings {
            sql += &format!(
                "INSERT INTO t_ds_alert_send_status (id, alert_id, alert_plugin_instance_id) VALUES ({id}, {alert}, {id});\n"
            );
        }
        for id in &self.held {
            sql += &format!(
                "INSERT INTO W.hold (rule, key, reason) VALUES ('lost_tasks', '{id}', 'test'), ('lost_alerts', '{id}', 'test');\n"
            );
        }
        database.execute(&sql);
    }

    /// What is left, and what is said of the tasks and of the alerts.
    fn after(&self) -> (World, [Said; 2]) {
        let mut left = self.clone();
        let judge = |rows: &BTreeMap<i32, (Option<i32>, Option<&'static str>)>| {
            let (mut gone, mut skipped) = (BTreeSet::new(), BTreeMap::<&str, i64>::new());
            for (id, (workflow, written)) in rows {
                let lost = workflow.is_some_and(|it| !self.workflows.contains(&it));
                let young = written.is_some_and(|it| it >= "2026-06-01 00:00:00");
                let reason = match (lost && !young, self.held.contains(id), written) {
                    (false, ..) => continue,
                    (true, true, _) => "HELD",
                    (true, false, None) => "UNDATED_MEMBER",
                    (true, false, Some(_)) => {
                        gone.insert(*id);
                        continue;
                    }
                };
                *skipped.entry(reason).or_default() += 1;
            }
            (gone, skipped)
        };
        let (tasks, skipped_tasks) = judge(&self.tasks);
        let (alerts, skipped_alerts) = judge(&self.alerts);
        left.tasks.retain(|id, _| !tasks.contains(id));
        left.contexts.retain(|_, task| !tasks.contains(task));
        left.queue
            .retain(|_, (_, task)| !task.is_some_and(|it| tasks.contains(&it)));
        left.alerts.retain(|id, _| !alerts.contains(id));
        left.sendings.retain(|_, alert| !alerts.contains(alert));
        let said = [
            Said {
                families: tasks.len(),
                tables: json!({
                    "t_ds_task_group_queue": self.queue.len() - left.queue.len(),
                    "t_ds_task_instance_context": self.contexts.len() - left.contexts.len(),
                    "t_ds_task_instance": tasks.len(),
                }),
                skipped: json!(skipped_tasks),
            },
            Said {
                families: alerts.len(),
                tables: json!({
                    "t_ds_alert_send_status": self.sendings.len() - left.sendings.len(),
                    "t_ds_alert": alerts.len(),
                }),
                skipped: json!(skipped_alerts),
            },
        ];
        (left, said)
    }
}

/// What the documents say of a rule.
struct Said {
    families: usize,
    tables: Value,
    skipped: Value,
}

const TABLES: [&str; 6] = [
    "t_ds_workflow_instance",
    "t_ds_task_instance",
    "t_ds_task_instance_context",
    "t_ds_task_group_queue",
    "t_ds_alert",
    "t_ds_alert_send_status",
];

/// The keys of each table, in the order of `TABLES`.
fn keys(world: &World) -> [Vec<i32>; 6] {
    [
        world.workflows.iter().copied().collect(),
        world.tasks.keys().copied().collect(),
        world.contexts.keys().copied().collect(),
        world.queue.keys().copied().collect(),
        world.alerts.keys().copied().collect(),
        world.sendings.keys().copied().collect(),
    ]
}

fn keys_in(database: &mut Database) -> [Vec<i32>; 6] {
    TABLES.map(|table| {
        let texts = database.texts(&format!(
            "SELECT t.id::text FROM {table} AS t ORDER BY t.id"
        ));
        texts
            .iter()
            .map(|text| text.parse().expect("a key"))
            .collect()
    })
}

#[test]
fn lost_rows_go_with_what_belongs_to_them() {
    let mut database = armed();
    let (mut gone, mut below) = (0, 0);
    for seed in 1..=30 {
        let mut random = SmallRng::seed_from_u64(seed);
        let world = World::random(&mut random);
        world.load(&mut database);
        let rows = random.random_range(1..6);
        for rule in ["lost_tasks", "lost_alerts"] {
            let setting = json!({"rule": rule, "name": "batch_rows", "value": rows});
            database.select("set_setting", setting).expect("a setting");
        }
        let (left, said) = world.after();
        let options = json!({"as_of": AS_OF});
        let preview = database
            .select("preview", options.clone())
            .expect("a preview");
        let dry = database
            .run(json!({"as_of": AS_OF, "dry_run": true}))
            .expect("a dry run");
        assert_eq!(keys_in(&mut database), keys(&world), "seed {seed}");
        let run = database.run(options.clone()).expect("a run");
        assert_eq!(run["status"], "done", "{run}");
        for document in [&preview, &dry, &run] {
            for (at, said) in said.iter().enumerate() {
                let rule = &document["rules"][at + 1];
                assert_eq!(rule["families"], said.families, "seed {seed}: {rule}");
                assert_eq!(rule["tables"], said.tables, "seed {seed}: {rule}");
                assert_eq!(rule["skipped"], said.skipped, "seed {seed}: {rule}");
                let sum: i64 = rule["tables"]
                    .as_object()
                    .into_iter()
                    .flat_map(|tables| tables.values())
                    .filter_map(Value::as_i64)
                    .sum();
                assert_eq!(rule["rows"], sum, "seed {seed}: {rule}");
            }
        }
        assert_eq!(keys_in(&mut database), keys(&left), "seed {seed}");
        let again = database.run(options).expect("a second run");
        for rule in again["rules"].as_array().expect("the rules") {
            assert_eq!(rule["rows"], 0, "seed {seed}: {rule}");
        }
        gone += said[0].families;
        below += world.contexts.len() - left.contexts.len();
    }
    assert!(gone > 25 && below > 25, "{gone} {below}");
}

/// What a lost row names comes back while what belongs to the row is already deleted: all of it stays.
#[test]
fn what_comes_back_keeps_all() {
    let mut database = armed();
    let world = World {
        workflows: BTreeSet::from([2]),
        tasks: BTreeMap::from([(1, (Some(1), TIMES[0])), (2, (Some(3), TIMES[0]))]),
        contexts: BTreeMap::from([(1, 1), (2, 2)]),
        ..World::default()
    };
    world.load(&mut database);
    // The batch sees what its own transaction does: this stands for another session that commits in this moment.
    database.execute(
        "CREATE FUNCTION come_back() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF OLD.task_instance_id = 1 THEN
                 INSERT INTO public.t_ds_workflow_instance (id, workflow_definition_code, is_sub_workflow, executor_id) VALUES (1, 1, 0, 1);
             END IF;
             RETURN OLD;
         END $$;
         ALTER FUNCTION come_back() SECURITY DEFINER;
         CREATE TRIGGER come_back BEFORE DELETE ON t_ds_task_instance_context FOR EACH ROW EXECUTE FUNCTION come_back()",
    );
    let run = database.run(json!({"as_of": AS_OF})).expect("a run");
    let rule = &run["rules"][1];
    assert_eq!(rule["families"], 1, "{run}");
    assert_eq!(rule["skipped"], json!({"LOCKED": 1}), "{run}");
    assert_eq!(
        keys_in(&mut database)[..3],
        [vec![2], vec![1], vec![1]],
        "{run}"
    );
}

/// A named row goes with what belongs to it, however young it is; one that is not lost does not.
#[test]
fn a_named_row_takes_what_belongs_to_it() {
    let mut database = armed();
    let world = World {
        workflows: BTreeSet::from([2]),
        tasks: BTreeMap::from([(1, (Some(1), TIMES[3])), (2, (Some(2), TIMES[0]))]),
        contexts: BTreeMap::from([(1, 1), (2, 2)]),
        queue: BTreeMap::from([(1, (Some(2), Some(1)))]),
        ..World::default()
    };
    world.load(&mut database);
    let purge = |database: &mut Database, key: i32| {
        let options = json!({"rule": "lost_tasks", "key": [key]});
        crate::support::database::call(&mut database.client, &database.control, "purge", options)
            .expect("a purge")
    };
    let document = purge(&mut database, 1);
    let tables = json!({"t_ds_task_group_queue": 1, "t_ds_task_instance_context": 1, "t_ds_task_instance": 1});
    assert_eq!(document["rules"][0]["tables"], tables, "{document}");
    purge(&mut database, 2);
    assert_eq!(
        keys_in(&mut database)[..4],
        [vec![2], vec![2], vec![2], vec![]]
    );
}
