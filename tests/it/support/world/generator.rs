//! Draws a world at random: trees of instances for the most part, and whatever else the tables can hold.

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use windrow::graph::Shared;

use super::clock::{DAY, SECOND};
use super::rows::Row;
use super::{Source, World};

pub(super) struct Generator {
    pub(super) random: SmallRng,
    pub(super) tick: i64,
    pub(super) rows: Vec<Row>,
    pub(super) instances: Vec<i32>,
}

impl Generator {
    pub(super) fn world(mut self, shared: Shared, clock: i64) -> World {
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

    pub(super) fn instances(
        &mut self,
        projects: &[i64],
        cutoffs: &[i64],
        exact: bool,
        oddity: f64,
    ) {
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
