//! Small worlds: some rows of every table with the policies, holds and options of one run, and a generator of odd ones.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Map, Value, json};
use windrow::graph::Shared;

/// All times are microseconds since 1970-01-01 00:00 UTC; the zone of the application is UTC.
pub(crate) const SECOND: i64 = 1_000_000;
pub(crate) const DAY: i64 = 86_400 * SECOND;

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
    fn instances(&self) -> Vec<i64> {
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

/// What says how long the instances of a project without a policy are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Source {
    /// Nothing: they are not cleaned.
    Nothing,
    /// The project's row in the table [`DEFINITIONS`].
    Definitions,
    /// [`BY_VALUE`].
    Values,
}

/// Days by project.
pub(crate) const BY_VALUE: [(i64, i64); 3] = [(1, 90), (-3, 7), (14_389_543_210_432_777, 30)];

/// Rows, and what a run is asked to do with them.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) shared: Shared,
    pub(crate) rows: Vec<Row>,
    /// The instant that a run judges from: the option `as_of`, or about the clock of the database.
    pub(crate) as_of: i64,
    /// Whether `as_of` is passed. Otherwise no row ended within an hour of a cutoff.
    pub(crate) as_of_is_option: bool,
    pub(crate) scope: Option<i64>,
    /// The option `retention`, in microseconds.
    pub(crate) retention: Option<i64>,
    pub(crate) run_families: Option<usize>,
    /// The setting `batch_families`.
    pub(crate) batch_families: usize,
    /// Whether what a row names is there, and some rows keep families: see [`World::keyed`].
    pub(crate) keyed: bool,
    pub(crate) source: Source,
    /// How long projects are kept of which neither a policy nor the source says it.
    pub(crate) default: Option<i64>,
    /// Whether the application writes the time of Berlin, and days are those of its calendar.
    pub(crate) calendar: bool,
}

impl World {
    /// A world that depends on nothing but the seed and, where no `as_of` is passed, the clock. Its times are multiples
    /// of the tick.
    pub(crate) fn random(seed: u64, shared: Shared, clock: i64, tick: i64) -> Self {
        Generator {
            random: SmallRng::seed_from_u64(seed),
            tick,
            rows: Vec::new(),
            instances: Vec::new(),
        }
        .world(shared, clock / tick * tick)
    }

    /// The same for tables with foreign keys: without the rows that these would refuse.
    pub(crate) fn keyed(mut self) -> Self {
        let ids = |rows: &[Row], table: &str| -> BTreeSet<i64> {
            let places = rows.iter().filter_map(Row::place);
            let here = places.filter(|(of, _)| *of == table);
            here.map(|(_, id)| i64::from(id)).collect()
        };
        let instances = ids(&self.rows, "t_ds_workflow_instance");
        let instance = |id: i64| instances.contains(&id);
        self.rows
            .retain(|row| row.instances().into_iter().all(instance));
        let (tasks, alerts) = (
            ids(&self.rows, "t_ds_task_instance"),
            ids(&self.rows, "t_ds_alert"),
        );
        self.rows.retain(|row| match row {
            Row::Context { task, .. }
            | Row::Queue {
                task: Some(task), ..
            } => tasks.contains(&i64::from(*task)),
            Row::SendStatus { alert, .. } => alerts.contains(&i64::from(*alert)),
            _ => true,
        });
        self.keyed = true;
        self
    }

    /// The same where instances name the one above them themselves, instead of by a relation. With a foreign key, that one
    /// is there, and no circle leads back: InnoDB deletes no row of a circle, not even one that names itself.
    pub(crate) fn within(mut self, keyed: bool) -> Self {
        let instances: BTreeSet<i32> = self
            .rows
            .iter()
            .filter_map(|row| match row {
                Row::Instance { id, .. } => Some(*id),
                _ => None,
            })
            .collect();
        let mut above: BTreeMap<i32, i32> = BTreeMap::new();
        for row in &self.rows {
            let (instance, upper) = match row {
                Row::Link {
                    parent: Some(parent),
                    child: Some(child),
                    ..
                } => (*child, *parent),
                Row::Above { instance, above } => (*instance, *above),
                _ => continue,
            };
            let mut top = Some(&upper);
            while let Some(next) = top.filter(|top| **top != instance && keyed) {
                top = above.get(next);
            }
            let refused = keyed && (top.is_some() || !instances.contains(&upper));
            if instances.contains(&instance) && !refused {
                above.entry(instance).or_insert(upper);
            }
        }
        self.rows
            .retain(|row| !matches!(row, Row::Link { .. } | Row::Above { .. }));
        let above = above
            .into_iter()
            .map(|(instance, above)| Row::Above { instance, above });
        self.rows.extend(above);
        self
    }

    /// The same where a source says how long most projects are kept. Some projects keep their policies.
    pub(crate) fn with_source(
        mut self,
        seed: u64,
        tick: i64,
        source: Source,
        default: Option<i64>,
    ) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        self.rows
            .retain(|row| !matches!(row, Row::Policy { .. }) || random.random_bool(0.4));
        if source == Source::Definitions {
            for project in [1, 2, -3, 14_389_543_210_432_777, 5] {
                let days = match random.random_range(0..10) {
                    0 => None,
                    1 | 2 => [-1, 36_525, 36_526, i64::MAX, i64::MIN]
                        .choose(&mut random)
                        .copied(),
                    _ => [7, 30, 90, 0, 6].choose(&mut random).copied(),
                };
                if random.random_bool(0.9) {
                    self.rows.push(Row::Definition { project, days });
                }
            }
        }
        self.crowd(&mut random, tick, source);
        self.source = source;
        self.default = default;
        self
    }

    /// Lets many instances end about when the retention is over that the source gives to their project.
    fn crowd(&mut self, random: &mut SmallRng, tick: i64, source: Source) {
        let mut days: BTreeMap<i64, i64> = match source {
            Source::Values => BY_VALUE.into(),
            Source::Nothing | Source::Definitions => BTreeMap::new(),
        };
        for row in &self.rows {
            if let Row::Definition {
                project,
                days: Some(count @ 0..=90),
            } = row
            {
                days.insert(*project, *count.max(&7));
            }
        }
        for row in &mut self.rows {
            if let Row::Instance {
                end_time: Some(time),
                project: Some(project),
                ..
            } = row
                && random.random_bool(0.9)
            {
                let days = days.get(project).unwrap_or(&30) + 1;
                // Without an option, a cutoff moves with the clock.
                let offs = match self.as_of_is_option {
                    true => [-DAY, -tick, 0, tick, DAY],
                    false => [-DAY, -DAY, -DAY / 12, DAY / 12, DAY],
                };
                let off = offs.choose(random).expect("there is a choice");
                *time = self.as_of - days * DAY + off;
            }
        }
    }

    /// The same where the application writes the time of Berlin, at an instant from which some days of the calendar lead
    /// to an hour that its clock shows twice, or never.
    pub(crate) fn in_berlin(mut self, seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let before = self.as_of;
        let hour = 3_600 * SECOND;
        // 8, 31 and 91 days after the clock is put back, on 26 October 2025, and forward, on 30 March.
        let forward = [8, 31, 91].map(|days| PUT_FORWARD - hour / 2 + days * DAY);
        let back = [8, 31, 91].map(|days| PUT_BACK + hour / 2 + days * DAY);
        let between = [
            PUT_BACK - hour / 2,
            PUT_BACK + hour / 2,
            PUT_BACK + 80 * DAY,
        ];
        let instants = [forward, back, between].concat();
        self.as_of = *instants.choose(&mut random).expect("there is a choice");
        self.as_of_is_option = true;
        self.calendar = true;
        let clock = berlin(self.as_of);
        for row in &mut self.rows {
            if let Row::Instance {
                end_time: Some(time),
                ..
            } = row
            {
                let off = [0, -hour / 2, -hour / 2, -hour, -hour, hour / 2];
                *time += clock - before + off.choose(&mut random).expect("there is a choice");
            }
        }
        self
    }

    /// The options that run and preview share.
    pub(crate) fn options(&self) -> Map<String, Value> {
        let mut options = Map::new();
        if self.as_of_is_option {
            options.insert("as_of".into(), json!(format!("{}Z", timestamp(self.as_of))));
        }
        if let Some(scope) = self.scope {
            options.insert("scope".into(), json!(scope.to_string()));
        }
        if let Some(retention) = self.retention {
            options.insert(
                "retention".into(),
                json!(format!("{}s", retention / SECOND)),
            );
        }
        if let Some(families) = self.run_families {
            options.insert("run_families".into(), json!(families));
        }
        options
    }
}

/// When the clocks of Berlin are put forward in 2025, and back: 01:00 UTC.
const PUT_FORWARD: i64 = 1_743_296_400 * SECOND;
const PUT_BACK: i64 = 1_761_440_400 * SECOND;
const PUT_FORWARD_AGAIN: i64 = 1_774_746_000 * SECOND;

/// What the clock in Berlin shows at an instant of 2025, or until October 2026.
pub(crate) fn berlin(instant: i64) -> i64 {
    let summer = (PUT_FORWARD..PUT_BACK).contains(&instant) || instant >= PUT_FORWARD_AGAIN;
    instant + if summer { 2 } else { 1 } * 3_600 * SECOND
}

struct Generator {
    random: SmallRng,
    tick: i64,
    rows: Vec<Row>,
    instances: Vec<i32>,
}

impl Generator {
    fn world(mut self, shared: Shared, clock: i64) -> World {
        let as_of_is_option = self.random.random_bool(0.7);
        let as_of = if as_of_is_option {
            // 2026-01-15 03:04:05.678901
            1_768_446_245_678_901 / self.tick * self.tick
        } else {
            clock
        };
        let projects = [1, 2, -3, 14_389_543_210_432_777];
        let lengths = [7 * DAY, 30 * DAY, 30 * DAY + SECOND, 90 * DAY];
        // Literal verdicts of batches depend on their order once cutoffs differ: one retention for all.
        let one_length = (shared == Shared::Literal).then(|| self.one_of(&lengths));
        let mut cutoffs = Vec::new();
        for scope in projects {
            if self.random.random_bool(0.9) {
                let retention = one_length.unwrap_or_else(|| self.one_of(&lengths));
                cutoffs.push(as_of - retention - DAY);
                let policy = Row::Policy {
                    scope,
                    enabled: self.random.random_bool(0.9),
                    retention,
                    artifacts: self.random.random_bool(0.7),
                };
                self.rows.push(policy);
            }
        }
        let retention = self
            .random
            .random_bool(0.2)
            .then(|| self.one_of(&[7 * DAY, 45 * DAY]));
        cutoffs.extend(retention.map(|retention| as_of - retention - DAY));
        cutoffs.push(as_of - 31 * DAY);

        let oddity = self.one_of(&[0.0, 0.1, 0.25, 0.4]);
        self.instances(&projects, &cutoffs, as_of_is_option, oddity);
        self.links();
        self.dependants();
        for _ in 0..self.random.random_range(0..3) {
            if self.random.random_bool(0.5) {
                let hold = Row::Hold {
                    key: self.some_instance(),
                    active: self.random.random_bool(0.5),
                };
                let taken = |row: &Row| matches!((row, &hold), (Row::Hold { key: a, .. }, Row::Hold { key: b, .. }) if a == b);
                if !self.rows.iter().any(taken) {
                    self.rows.push(hold);
                }
            }
        }
        World {
            shared,
            as_of,
            as_of_is_option,
            scope: self
                .random
                .random_bool(0.15)
                .then(|| self.one_of(&projects)),
            retention,
            run_families: self
                .random
                .random_bool(0.25)
                .then(|| self.random.random_range(1..5)),
            batch_families: self.random.random_range(1..6),
            keyed: false,
            source: Source::Nothing,
            default: None,
            calendar: false,
            rows: self.rows,
        }
    }

    fn instances(&mut self, projects: &[i64], cutoffs: &[i64], exact: bool, oddity: f64) {
        for index in 0..self.random.random_range(1..25) {
            let id = match self.random.random_range(0..20) {
                0 => i32::MAX - index,
                1 => i32::MIN + index,
                2 => -7 - index,
                _ => self.random.random_range(1..60),
            };
            if self.instances.contains(&id) {
                continue;
            }
            let state = if self.random.random_bool(oddity) {
                self.one_of(&[
                    None,
                    Some(0),
                    Some(1),
                    Some(2),
                    Some(4),
                    Some(14),
                    Some(17),
                    Some(18),
                    Some(-1),
                ])
            } else {
                Some(self.one_of(&[3, 5, 6, 7]))
            };
            let cutoff = self.one_of(cutoffs);
            let end_time = if self.random.random_bool(oddity / 2.0) {
                None
            } else if self.random.random_bool(0.2 + oddity / 2.0) {
                Some(if exact {
                    cutoff + self.one_of(&[-self.tick, 0, self.tick, -SECOND, SECOND, 100 * DAY])
                } else {
                    cutoff + self.one_of(&[-7_200 * SECOND, 7_200 * SECOND, 100 * DAY])
                })
            } else {
                Some(cutoff - 200 * DAY - self.random.random_range(0..5) * DAY)
            };
            // Most share a project, or hardly any family could be whole.
            let some = if self.random.random_bool(0.2) { 4 } else { 2 };
            let instance = Row::Instance {
                id,
                state,
                end_time,
                is_sub_workflow: self.one_of(&[
                    Some(0),
                    Some(0),
                    Some(0),
                    Some(0),
                    Some(1),
                    Some(1),
                    Some(1),
                    None,
                    Some(2),
                ]),
                project: if self.random.random_bool(oddity / 4.0) {
                    None
                } else {
                    Some(self.one_of(&projects[..some]))
                },
            };
            self.instances.push(id);
            self.rows.push(instance);
        }
    }

    /// Trees for the most part, and whatever else a relation table can hold.
    fn links(&mut self) {
        let most = self.instances.len() * self.random.random_range(0..5) / 4;
        for id in 1..=i32::try_from(most).expect("worlds are small") {
            let (mut parent, mut child) = (self.some_instance(), self.some_instance());
            if self.random.random_bool(0.6) {
                // From the newer to the older: no cycle.
                let place = |id| self.instances.iter().position(|one| *one == id);
                if place(parent) < place(child) {
                    (parent, child) = (child, parent);
                }
            }
            let copies = 1 + i32::from(self.random.random_bool(0.1));
            if self.random.random_bool(0.5) {
                let end = |random: &mut SmallRng, end: i32| match random.random_range(0..16) {
                    0 => None,
                    1 => Some(0),
                    2 => Some(1_000),
                    _ => Some(end),
                };
                let parent = end(&mut self.random, parent);
                let child = end(&mut self.random, child);
                for copy in 0..copies {
                    let id = id + 100 * copy;
                    self.rows.push(Row::Link { id, parent, child });
                }
            } else {
                let end = |random: &mut SmallRng, end: i32| match random.random_range(0..24) {
                    0 => i64::MAX,
                    1 => i64::MIN,
                    // What this would be if somebody cut it to an integer.
                    2 => i64::from(end) + (1 << 32),
                    3 => 1_000,
                    _ => i64::from(end),
                };
                let parent = end(&mut self.random, parent);
                let child = end(&mut self.random, child);
                for copy in 0..copies {
                    let id = id + 100 * copy;
                    self.rows.push(Row::DynamicLink { id, parent, child });
                }
            }
        }
    }

    fn dependants(&mut self) {
        let most = self.random.random_range(0..25);
        let tasks: Vec<i32> = (1..=most).collect();
        for id in &tasks {
            let task = Row::Task {
                id: *id,
                instance: self.instance_or_not(),
                host: self.one_of(&[None, Some("worker-1:1234"), Some("worker-2:1234")]),
                path: match self.random.random_range(0..5) {
                    0 => None,
                    1 => Some(String::new()),
                    2 => Some("/logs/the same.log".to_owned()),
                    _ => Some(format!("/logs/{id}'s \\ log")),
                },
            };
            self.rows.push(task);
        }
        let task = |random: &mut SmallRng| random.random_range(1..=most + 2);
        for id in 1..=self.random.random_range(0..6) {
            let task = task(&mut self.random);
            self.rows.push(Row::Context { id, task });
        }
        for id in 1..=self.random.random_range(0..12) {
            let queue = Row::Queue {
                id,
                instance: self.instance_or_not(),
                task: self.random.random_bool(0.8).then(|| task(&mut self.random)),
            };
            self.rows.push(queue);
        }
        let alerts = self.random.random_range(0..5);
        for id in 1..=alerts {
            let instance = self.instance_or_not();
            self.rows.push(Row::Alert { id, instance });
        }
        for id in 1..=self.random.random_range(0..6) {
            let alert = self.random.random_range(1..=alerts + 1);
            self.rows.push(Row::SendStatus { id, alert });
        }
        for id in 1..=self.random.random_range(0..4) {
            let instance = self.instance_or_not();
            self.rows.push(Row::Command { id, instance });
        }
        for id in 1..=self.random.random_range(0..4) {
            let instance = self.instance_or_not();
            self.rows.push(Row::ErrorCommand { id, instance });
        }
        for id in 1..=self.random.random_range(0..4) {
            let instance = match self.random.random_range(0..8) {
                0 => i64::MAX,
                1 => i64::from(self.some_instance()) - (1 << 32),
                _ => i64::from(self.some_instance()),
            };
            self.rows.push(Row::SerialCommand { id, instance });
        }
    }

    fn some_instance(&mut self) -> i32 {
        *self
            .instances
            .choose(&mut self.random)
            .expect("every world has an instance")
    }

    /// Mostly an instance; else NULL, DolphinScheduler's 0 for "none", or one that is gone.
    fn instance_or_not(&mut self) -> Option<i32> {
        match self.random.random_range(0..12) {
            0 => None,
            1 => Some(0),
            2 => Some(1_000),
            _ => Some(self.some_instance()),
        }
    }

    fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices
            .choose(&mut self.random)
            .expect("there is a choice")
            .clone()
    }
}

fn number<T: ToString>(value: Option<T>) -> String {
    value.map_or("NULL".to_owned(), |value| value.to_string())
}

fn text(value: Option<&str>) -> String {
    value.map_or("NULL".to_owned(), |value| {
        format!("'{}'", value.replace('\'', "''"))
    })
}

/// `2026-01-15 03:04:05.678901`, without a zone.
pub(crate) fn timestamp(time: i64) -> String {
    let (days, rest) = (time.div_euclid(DAY), time.rem_euclid(DAY));
    let (seconds, micros) = (rest / SECOND, rest % SECOND);
    let (mut year, mut left) = (1970, days);
    assert!(left >= 0, "no test looks back behind 1970");
    let leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    while left >= 365 + i64::from(leap(year)) {
        left -= 365 + i64::from(leap(year));
        year += 1;
    }
    let february = 28 + i64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    format!(
        "{year:04}-{month:02}-{:02} {:02}:{:02}:{:02}.{micros:06}",
        left + 1,
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}
