//! Rows that go one by one, in the middle of a tree, and take along what belongs to them: on DolphinScheduler's schema, which
//! has no foreign key.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::systems::dolphinscheduler;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::effort::{enough, fewer, seeds};
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    on_postgres: [
        what_comes_back_keeps_all,
    ],
    every_server: [
        lost_rows_go_with_what_belongs_to_them,
        expired_and_outnumbered_rows_go_with_what_belongs_to_them,
        what_belongs_to_rows_of_two_batches_is_counted_once,
        a_named_row_takes_what_belongs_to_it,
        what_the_session_of_a_killed_run_commits_is_told_and_finished,
    ],
}

const SPEC: &str = include_str!("../../specs/dolphinscheduler.toml");

/// Tasks and alerts whose workflow instance is gone.
const LOST: &str = r#"
[rules.tasks]
strategy  = "orphan"
root      = "t_ds_task_instance"
time      = "submit_time"
retention = { default = "14d", minimum = "7d", safety_lag = "1d" }

[rules.alerts]
strategy  = "orphan"
root      = "t_ds_alert"
time      = "create_time"
retention = { default = "14d", minimum = "7d", safety_lag = "1d" }
"#;

/// All but the newest two tasks of a workflow instance, and alerts whose time is over.
const ENOUGH: &str = r#"
[rules.tasks]
strategy = "keep-last"
root     = "t_ds_task_instance"
keep     = { newest = 2, per = "workflow_instance_id integer", by = "submit_time" }

[rules.alerts]
strategy = "expiry"
root     = "t_ds_alert"
time     = "create_time"
"#;

/// Workflow instances of projects that are gone: links lead from one to the other, and rows belong to two tables.
const WORKFLOWS: &str = r#"
[rules.workflows]
strategy = "orphan"
root     = "t_ds_workflow_instance"
needs    = ["project_code -> t_ds_project.code"]
at_once  = true
"#;

const AS_OF: &str = "2026-06-16T00:00:00Z";

fn armed(dialect: Dialect, rules: &str) -> Installation {
    let graph = graph_of(&format!("{SPEC}{rules}"));
    let schema = match dialect {
        Dialect::Postgres => dolphinscheduler::SCHEMA_34,
        Dialect::Mysql | Dialect::Mariadb => dolphinscheduler::mysql::SCHEMA_34,
    };
    let mut installation = Installation::of(dialect, schema, &graph);
    installation.arm();
    installation
}

type Named = Option<i32>;
type Written = Option<&'static str>;

/// Keys by table, each with what it names and when it was written.
#[derive(Clone, Debug, Default, PartialEq)]
struct World {
    /// With the project, of which those with an even number are there.
    workflows: BTreeMap<i32, Named>,
    links: BTreeMap<i32, (Named, Named)>,
    tasks: BTreeMap<i32, (Named, Written)>,
    contexts: BTreeMap<i32, i32>,
    queue: BTreeMap<i32, (Named, Named)>,
    alerts: BTreeMap<i32, (Named, Written)>,
    sendings: BTreeMap<i32, i32>,
    held: BTreeSet<i32>,
}

/// The period of grace ends with the first day of June, and the instant of a run is the sixteenth.
const TIMES: [Written; 7] = [
    Some("2026-01-01 00:00:00"),
    Some("2026-05-31 23:59:59"),
    Some("2026-06-01 00:00:00"),
    Some("2026-06-15 23:59:59"),
    Some("2026-06-16 00:00:00"),
    Some("2026-06-17 00:00:00"),
    None,
];

const TABLES: [&str; 7] = [
    "t_ds_workflow_instance",
    "t_ds_relation_workflow_instance",
    "t_ds_task_instance",
    "t_ds_task_instance_context",
    "t_ds_task_group_queue",
    "t_ds_alert",
    "t_ds_alert_send_status",
];

impl World {
    fn random(random: &mut SmallRng) -> World {
        let mut world = World::default();
        let size = random.random_range(1..25);
        let named = |random: &mut SmallRng| {
            (!random.random_bool(0.1)).then(|| random.random_range(1..=size))
        };
        for id in 1..=size {
            if random.random_bool(0.6) {
                world.workflows.insert(id, named(random));
            }
            let time = |random: &mut SmallRng| *TIMES.choose(random).expect("a time");
            world.tasks.insert(id, (named(random), time(random)));
            world.alerts.insert(id, (named(random), time(random)));
            for twin in 0..random.random_range(0..3) {
                let key = id * 3 + twin;
                // Some of these name nothing that is there, and are not the rules' business.
                world
                    .contexts
                    .insert(key, random.random_range(1..=size + 5));
                world
                    .sendings
                    .insert(key, random.random_range(1..=size + 5));
                world.queue.insert(key, (named(random), named(random)));
                world.links.insert(key, (named(random), named(random)));
            }
            if random.random_bool(0.1) {
                world.held.insert(id);
            }
        }
        world
    }

    fn load(&self, installation: &mut Installation, rules: &[&str]) {
        let mut sql = String::from("DELETE FROM W.hold;\n DELETE FROM t_ds_project;\n");
        for table in TABLES {
            sql += &format!("DELETE FROM {table};\n");
        }
        let value = |value: Named| value.map_or("NULL".to_owned(), |it| it.to_string());
        let time = |time: Written| time.map_or("NULL".to_owned(), |it| format!("'{it}'"));
        for project in (0..40).step_by(2) {
            sql += &format!(
                "INSERT INTO t_ds_project (id, code, name, create_time) VALUES ({0}, {project}, 'p{project}', '2026-01-01');\n",
                project + 1
            );
        }
        for (id, project) in &self.workflows {
            sql += &format!(
                "INSERT INTO t_ds_workflow_instance (id, workflow_definition_code, project_code, is_sub_workflow, executor_id) VALUES ({id}, 1, {}, 0, 1);\n",
                value(*project)
            );
        }
        for (id, (parent, child)) in &self.links {
            sql += &format!(
                "INSERT INTO t_ds_relation_workflow_instance (id, parent_workflow_instance_id, workflow_instance_id) VALUES ({id}, {}, {});\n",
                value(*parent),
                value(*child)
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
                "INSERT INTO t_ds_task_instance_context (id, task_instance_id, context, context_type, create_time, update_time) VALUES ({id}, {task}, '', '{id}', '2026-01-01', '2026-01-01');\n"
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
        let key = match installation.dialect {
            Dialect::Postgres => "key",
            Dialect::Mysql | Dialect::Mariadb => "`key`",
        };
        for (rule, id) in rules
            .iter()
            .flat_map(|rule| self.held.iter().map(move |id| (rule, id)))
        {
            sql += &format!(
                "INSERT INTO W.hold (rule, {key}, reason) VALUES ('{rule}', '{id}', 'test');\n"
            );
        }
        installation.execute(&sql);
    }

    /// Those of the rows that are due that go, by the first thing that speaks against them, and what is said of the others.
    fn judged(
        &self,
        due: impl IntoIterator<Item = (i32, Written)>,
        undated: bool,
    ) -> (BTreeSet<i32>, Value) {
        let (mut gone, mut skipped) = (BTreeSet::new(), BTreeMap::<&str, i64>::new());
        for (id, written) in due {
            let reason = match (self.held.contains(&id), undated && written.is_none()) {
                (true, _) => "HELD",
                (false, true) => "UNDATED_MEMBER",
                (false, false) => {
                    gone.insert(id);
                    continue;
                }
            };
            *skipped.entry(reason).or_default() += 1;
        }
        (gone, json!(skipped))
    }

    /// What is left without these tasks, alerts and workflow instances.
    fn without(
        &self,
        workflows: &BTreeSet<i32>,
        tasks: &BTreeSet<i32>,
        alerts: &BTreeSet<i32>,
    ) -> World {
        let mut left = self.clone();
        let any = |gone: &BTreeSet<i32>, named: Named| named.is_some_and(|it| gone.contains(&it));
        let below = |rows: &BTreeMap<i32, (Named, Written)>, gone: &BTreeSet<i32>| {
            let named = rows.iter().filter(|(_, row)| any(workflows, row.0));
            let named = named.map(|(id, _)| *id);
            gone.iter().copied().chain(named).collect::<BTreeSet<i32>>()
        };
        let tasks = below(&self.tasks, tasks);
        let alerts = below(&self.alerts, alerts);
        left.workflows.retain(|id, _| !workflows.contains(id));
        left.links
            .retain(|_, (parent, child)| !any(workflows, *parent) && !any(workflows, *child));
        left.tasks.retain(|id, _| !tasks.contains(id));
        left.contexts.retain(|_, task| !tasks.contains(task));
        left.queue
            .retain(|_, (workflow, task)| !any(workflows, *workflow) && !any(&tasks, *task));
        left.alerts.retain(|id, _| !alerts.contains(id));
        left.sendings.retain(|_, alert| !alerts.contains(alert));
        left
    }
}

/// What the documents say of a rule, whose rows are these and leave this.
fn said(before: &World, left: &World, tables: &[&str], families: usize, skipped: Value) -> Value {
    let count = |world: &World| keys(world).map(|keys| keys.len());
    let (before, left) = (count(before), count(left));
    let gone = |table: &&str| {
        let at = TABLES.iter().position(|known| known == table);
        let at = at.expect("a table");
        ((*table).to_owned(), json!(before[at] - left[at]))
    };
    let tables: serde_json::Map<String, Value> = tables.iter().map(gone).collect();
    json!({"families": families, "tables": tables, "skipped": skipped})
}

const OF_TASKS: [&str; 3] = [
    "t_ds_task_group_queue",
    "t_ds_task_instance_context",
    "t_ds_task_instance",
];
const OF_ALERTS: [&str; 2] = ["t_ds_alert_send_status", "t_ds_alert"];

/// The keys of each table, in the order of `TABLES`.
fn keys(world: &World) -> [Vec<i32>; 7] {
    [
        world.workflows.keys().copied().collect(),
        world.links.keys().copied().collect(),
        world.tasks.keys().copied().collect(),
        world.contexts.keys().copied().collect(),
        world.queue.keys().copied().collect(),
        world.alerts.keys().copied().collect(),
        world.sendings.keys().copied().collect(),
    ]
}

fn keys_in(installation: &mut Installation) -> [Vec<i32>; 7] {
    TABLES.map(|table| {
        let texts = installation.texts(&format!("SELECT t.id FROM {table} AS t ORDER BY t.id"));
        texts
            .iter()
            .map(|text| text.parse().expect("a key"))
            .collect()
    })
}

fn set(installation: &mut Installation, rule: &str, rows: i32) {
    let setting = json!({"rule": rule, "name": "batch_rows", "value": rows});
    installation
        .call("set_setting", setting)
        .expect("a setting");
}

/// What a document says of a rule, without what the world does not tell; and its rows are the sum of its tables.
fn of_rule(document: &Value, rule: &str, tables: &Value) -> Value {
    let rules = document["rules"].as_array().expect("the rules");
    let found = rules.iter().find(|found| found["rule"] == rule);
    let found = found.unwrap_or_else(|| panic!("no {rule}: {document}"));
    let counts = found["tables"].as_object().expect("the tables");
    let sum: i64 = counts.values().filter_map(Value::as_i64).sum();
    assert_eq!(found["rows"], sum, "{found}");
    let counts: serde_json::Map<String, Value> = counts
        .iter()
        .filter(|(table, count)| tables.get(table).is_some() || **count != 0)
        .map(|(table, count)| (table.clone(), count.clone()))
        .collect();
    json!({"families": found["families"], "tables": counts, "skipped": found["skipped"]})
}

/// Preview, dry run and run say what the model says of each rule, nothing else is gone, and a second run finds nothing.
fn prove(
    installation: &mut Installation,
    seed: u64,
    world: &World,
    left: &World,
    expected: &[(&str, Value)],
) {
    let options = json!({"as_of": AS_OF});
    let preview = installation.preview(options.clone()).expect("a preview");
    let dry = installation
        .run(json!({"as_of": AS_OF, "dry_run": true}))
        .expect("a dry run");
    assert_eq!(keys_in(installation), keys(world), "seed {seed}");
    let run = installation.run(options.clone()).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    for (kind, document) in [("preview", &preview), ("dry run", &dry), ("run", &run)] {
        for (rule, said) in expected {
            let found = of_rule(document, rule, &said["tables"]);
            assert_eq!(found, *said, "seed {seed}: {kind}, {rule}");
        }
    }
    assert_eq!(keys_in(installation), keys(left), "seed {seed}");
    let again = installation.run(options).expect("a second run");
    for rule in again["rules"].as_array().expect("the rules") {
        assert_eq!(rule["rows"], 0, "seed {seed}: {rule}");
    }
}

/// The same of the rules `tasks` and `alerts`, judged by the model. Answers how many tasks, and contexts below them, are gone.
fn prove_both(
    installation: &mut Installation,
    seed: u64,
    world: &World,
    (tasks, of_tasks): (BTreeSet<i32>, Value),
    (alerts, of_alerts): (BTreeSet<i32>, Value),
) -> [usize; 2] {
    let left = world.without(&BTreeSet::new(), &tasks, &alerts);
    let of_tasks = said(world, &left, &OF_TASKS, tasks.len(), of_tasks);
    let of_alerts = said(world, &left, &OF_ALERTS, alerts.len(), of_alerts);
    let expected = [("tasks", of_tasks), ("alerts", of_alerts)];
    prove(installation, seed, world, &left, &expected);
    [tasks.len(), world.contexts.len() - left.contexts.len()]
}

fn lost_rows_go_with_what_belongs_to_them(dialect: Dialect) {
    let mut installation = armed(dialect, LOST);
    let (mut gone, mut below) = (0, 0);
    for seed in seeds("worlds of debris", dialect, fewer(dialect, 12)) {
        let mut random = SmallRng::seed_from_u64(seed);
        let world = World::random(&mut random);
        world.load(&mut installation, &["tasks", "alerts"]);
        let rows = random.random_range(1..6);
        set(&mut installation, "tasks", rows);
        set(&mut installation, "alerts", rows);
        let lost = |rows: &BTreeMap<i32, (Named, Written)>| -> Vec<(i32, Written)> {
            let lost = rows.iter().filter(|(_, (workflow, written))| {
                workflow.is_some_and(|it| !world.workflows.contains_key(&it))
                    && written.is_none_or(|it| it < "2026-06-01 00:00:00")
            });
            lost.map(|(id, (_, written))| (*id, *written)).collect()
        };
        let tasks = world.judged(lost(&world.tasks), true);
        let alerts = world.judged(lost(&world.alerts), true);
        let [tasks, contexts] = prove_both(&mut installation, seed, &world, tasks, alerts);
        gone += tasks;
        below += contexts;
    }
    assert!(
        gone > enough(fewer(dialect, 10)) && below > enough(fewer(dialect, 10)),
        "{gone} {below}"
    );
}

fn expired_and_outnumbered_rows_go_with_what_belongs_to_them(dialect: Dialect) {
    let mut installation = armed(dialect, ENOUGH);
    let (mut gone, mut below) = (0, 0);
    for seed in seeds("worlds of debris", dialect, fewer(dialect, 12)) {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut world = World::random(&mut random);
        // Few groups, so that there are rows beyond the newest two.
        for (workflow, _) in world.tasks.values_mut() {
            *workflow = workflow.map(|it| it % 3);
        }
        world.load(&mut installation, &["tasks", "alerts"]);
        let rows = random.random_range(1..6);
        set(&mut installation, "tasks", rows);
        set(&mut installation, "alerts", rows);
        let mut groups: BTreeMap<i32, Vec<(&str, i32)>> = BTreeMap::new();
        for (id, (workflow, written)) in &world.tasks {
            if let (Some(workflow), Some(written)) = (workflow, written) {
                groups.entry(*workflow).or_default().push((written, *id));
            }
        }
        let surplus: Vec<(i32, Written)> = groups
            .values_mut()
            .flat_map(|group| {
                group.sort_unstable();
                let many = group.len().saturating_sub(2);
                group[..many].iter().map(|(_, id)| (*id, None))
            })
            .collect();
        let expired = world.alerts.iter().filter_map(|(id, (_, written))| {
            let passed = written.is_some_and(|it| it < "2026-06-16 00:00:00");
            passed.then_some((*id, *written))
        });
        let tasks = world.judged(surplus, false);
        let alerts = world.judged(expired, false);
        let [tasks, contexts] = prove_both(&mut installation, seed, &world, tasks, alerts);
        gone += tasks;
        below += contexts;
    }
    assert!(
        gone > enough(fewer(dialect, 10)) && below > enough(fewer(dialect, 10)),
        "{gone} {below}"
    );
}

/// A link between two of them, or a place in the queue of a task and of another's workflow, goes with the first batch.
fn what_belongs_to_rows_of_two_batches_is_counted_once(dialect: Dialect) {
    let mut installation = armed(dialect, WORKFLOWS);
    let mut shared = 0;
    for seed in seeds("worlds of debris", dialect, fewer(dialect, 12)) {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut world = World::random(&mut random);
        // Most projects are gone.
        for project in world.workflows.values_mut() {
            *project = project.map(|it| if it % 4 == 0 { it } else { 2 * it + 1 });
        }
        world.load(&mut installation, &["workflows"]);
        set(&mut installation, "workflows", random.random_range(1..4));
        let lost = world.workflows.iter().filter_map(|(id, project)| {
            project.is_some_and(|it| it % 2 == 1).then_some((*id, None))
        });
        let (workflows, skipped) = world.judged(lost, false);
        let left = world.without(&workflows, &BTreeSet::new(), &BTreeSet::new());
        let said = said(&world, &left, &TABLES, workflows.len(), skipped);
        prove(
            &mut installation,
            seed,
            &world,
            &left,
            &[("workflows", said)],
        );
        let both = world.links.values().filter(|(parent, child)| {
            let goes = |named: &Named| named.is_some_and(|it| workflows.contains(&it));
            parent != child && goes(parent) && goes(child)
        });
        shared += both.count();
    }
    assert!(shared > enough(fewer(dialect, 10)), "{shared}");
}

/// What a lost row names comes back while what belongs to the row is already deleted: all of it stays. On MySQL and MariaDB it
/// is as if it came back after the batch.
fn what_comes_back_keeps_all() {
    let mut installation = armed(Dialect::Postgres, LOST);
    let world = World {
        workflows: BTreeMap::from([(2, None)]),
        tasks: BTreeMap::from([(1, (Some(1), TIMES[0])), (2, (Some(3), TIMES[0]))]),
        contexts: BTreeMap::from([(1, 1), (2, 2)]),
        ..World::default()
    };
    world.load(&mut installation, &[]);
    // The batch sees what its own transaction does: this stands for another session that commits in this moment.
    installation.execute(
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
    let run = installation.run(json!({"as_of": AS_OF})).expect("a run");
    let said = of_rule(&run, "tasks", &json!({}));
    assert_eq!(said["families"], 1, "{run}");
    assert_eq!(said["skipped"], json!({"LOCKED": 1}), "{run}");
    let [workflows, _, tasks, contexts, ..] = keys_in(&mut installation);
    assert_eq!([workflows, tasks, contexts], [[2], [1], [1]], "{run}");
}

/// A named row goes with what belongs to it, however young it is; one that is not lost does not.
fn a_named_row_takes_what_belongs_to_it(dialect: Dialect) {
    let mut installation = armed(dialect, LOST);
    let world = World {
        workflows: BTreeMap::from([(2, None)]),
        tasks: BTreeMap::from([(1, (Some(1), TIMES[3])), (2, (Some(2), TIMES[0]))]),
        contexts: BTreeMap::from([(1, 1), (2, 2)]),
        queue: BTreeMap::from([(1, (Some(2), Some(1)))]),
        ..World::default()
    };
    world.load(&mut installation, &[]);
    let tables = json!({"t_ds_task_group_queue": 1, "t_ds_task_instance_context": 1, "t_ds_task_instance": 1});
    for (dry_run, left) in [(true, world.tasks.len()), (false, 1)] {
        let options = json!({"rule": "tasks", "key": [1], "dry_run": dry_run});
        let document = installation.purge(options).expect("a purge");
        assert_eq!(document["rules"][0]["tables"], tables, "{document}");
        assert_eq!(keys_in(&mut installation)[2].len(), left, "{document}");
    }
    let options = json!({"rule": "tasks", "key": [2]});
    installation.purge(options).expect("a purge");
    let left = world.without(&BTreeSet::new(), &BTreeSet::from([1]), &BTreeSet::new());
    assert_eq!(keys_in(&mut installation), keys(&left));
}

/// Should the session commit what the batch had done so far, the row is still there, and still lost.
fn what_the_session_of_a_killed_run_commits_is_told_and_finished(dialect: Dialect) {
    let mut installation = armed(dialect, LOST);
    let lost = |id| (id, (Some(100), TIMES[0]));
    let world = World {
        tasks: BTreeMap::from([lost(1), lost(2), lost(3)]),
        contexts: BTreeMap::from([(1, 1), (2, 2), (3, 3), (4, 4)]),
        ..World::default()
    };
    world.load(&mut installation, &[]);
    let (slow, relent) = match dialect {
        Dialect::Postgres => (
            "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); RETURN OLD; END $$;
             CREATE TRIGGER stop BEFORE DELETE ON t_ds_task_instance FOR EACH ROW EXECUTE FUNCTION stop()",
            "DROP FUNCTION stop() CASCADE",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "CREATE TRIGGER stop BEFORE DELETE ON t_ds_task_instance FOR EACH ROW BEGIN DECLARE v integer; SET v = SLEEP(600); END",
            "DROP TRIGGER stop",
        ),
    };
    installation.execute(slow);
    let options = json!({"rule": "tasks", "as_of": AS_OF});
    installation.kill_asleep("a run", "run", options.clone());
    installation.execute(relent);
    // Nothing is half done in silence, and no row went before what belongs to it.
    assert_eq!(installation.is_unfinished(), dialect == Dialect::Mysql);
    assert_eq!(keys_in(&mut installation)[2], [1, 2, 3]);
    let run = installation.run(options).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    let lost = BTreeSet::from([1, 2, 3]);
    let left = world.without(&BTreeSet::new(), &lost, &BTreeSet::new());
    assert_eq!(keys_in(&mut installation), keys(&left));
    assert!(!installation.is_unfinished());
}
