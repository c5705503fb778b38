//! Small worlds: some rows of every table with the policies, holds and options of one run.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Map, Value, json};
use windrow::graph::Shared;

mod clock;
mod generator;
mod rows;

pub(crate) use clock::{DAY, SECOND, berlin, timestamp};
use clock::{PUT_BACK, PUT_FORWARD};
use generator::Generator;
pub(crate) use rows::{DEFINITIONS, Row, TABLES};

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
