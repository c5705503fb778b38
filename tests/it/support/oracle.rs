//! What a run should do with a world, in the most naive way: the definitions, word by word, over vectors and sets.

use std::collections::{BTreeMap, BTreeSet};

use windrow::graph::Shared;

use super::world::{BY_VALUE, DAY, Row, SECOND, Source, TABLES, World, berlin};

/// The spec's minimum retention and safety lag.
const MINIMUM: i64 = 7 * DAY;
const SAFETY_LAG: i64 = DAY;
const DEFAULT_RETENTION: i64 = 30 * DAY;

/// The codes of the states that are final.
const FINAL: [i32; 4] = [3, 5, 6, 7];

/// The tables that keep families in a keyed world; their rows never go.
const KEEPERS: [&str; 2] = ["t_ds_alert_send_status", "t_ds_command"];

/// What a run should have done.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Rows that go, by table and id.
    pub(crate) deleted: BTreeSet<(&'static str, i32)>,
    pub(crate) families: usize,
    /// Roots that were due and stayed, by reason.
    pub(crate) skipped: BTreeMap<&'static str, BTreeSet<i32>>,
    /// Roots that are final without an end time. A run that met a limit does not count them, a preview always does.
    pub(crate) undated: BTreeSet<i32>,
    /// Whether the run met the limit of families.
    pub(crate) limited: bool,
    /// Host and path of the files of the deleted tasks, sorted.
    pub(crate) artifacts: Vec<(Option<String>, String)>,
    /// End time of the oldest root that was due and goes.
    pub(crate) oldest: Option<i64>,
    /// The tables that the documents list.
    pub(crate) tables: Vec<&'static str>,
    /// Final roots past the default retention of which nothing says how long they are kept.
    pub(crate) without_policy: Option<usize>,
}

/// An instance as the definitions see it.
struct Instance {
    is_final: bool,
    is_candidate: bool,
    end_time: Option<i64>,
    project: Option<i64>,
}

struct Model<'a> {
    world: &'a World,
    instances: BTreeMap<i64, Instance>,
    /// Parent and child; both exist.
    links: Vec<(i64, i64)>,
}

/// What `run` should do with a world.
pub(crate) fn run(world: &World) -> Outcome {
    let model = Model::new(world);
    let due = model.due();
    let mut gone: BTreeSet<i64> = BTreeSet::new();
    let mut looked_at: BTreeSet<i64> = BTreeSet::new();
    let mut limited = false;
    // Batch by batch, oldest first: a run stops when it has enough families.
    loop {
        let families = model.candidates(&gone);
        let left = world
            .run_families
            .map_or(usize::MAX, |limit| limit.saturating_sub(families));
        if left == 0 {
            limited = true;
            break;
        }
        let batch: Vec<i64> = due
            .iter()
            .copied()
            .filter(|root| !gone.contains(root) && !looked_at.contains(root))
            .take(left.min(world.batch_families))
            .collect();
        if batch.is_empty() {
            break;
        }
        for root in batch {
            looked_at.insert(root);
            if model.verdict(root).is_none() {
                gone.extend(model.goes_with(root));
            }
        }
    }

    let mut skipped: BTreeMap<&'static str, BTreeSet<i32>> = BTreeMap::new();
    for root in &looked_at {
        if let Some(reason) = model.verdict(*root) {
            skipped.entry(reason).or_default().insert(narrow(*root));
        }
    }
    let undated = model
        .instances
        .iter()
        .filter(|(_, one)| {
            one.is_candidate
                && one.is_final
                && one.end_time.is_none()
                && model.cutoff_of_scope(one.project).is_some()
        })
        .map(|(id, _)| narrow(*id))
        .collect();
    let deleted = model.rows_of(&gone);
    Outcome {
        families: model.candidates(&gone),
        skipped,
        undated,
        limited,
        artifacts: model.artifacts(&gone),
        oldest: due
            .iter()
            .filter(|id| gone.contains(id))
            .filter_map(|id| model.instances[id].end_time)
            .min(),
        tables: TABLES
            .into_iter()
            .filter(|table| !world.keyed || !KEEPERS.contains(table))
            .collect(),
        without_policy: model.without_policy(),
        deleted,
    }
}

/// The rows that should go, or the reason why not, when the family of one key is purged: without force, as by a run with no retention
/// at all, which the minimum exceeds.
pub(crate) fn purge(
    world: &World,
    key: i32,
    force: bool,
) -> Result<BTreeSet<(&'static str, i32)>, &'static str> {
    let world = &World {
        retention: Some(0),
        scope: None,
        ..world.clone()
    };
    let model = Model::new(world);
    let root = i64::from(key);
    if !model
        .instances
        .get(&root)
        .is_some_and(|one| one.is_candidate)
    {
        return Err("NOT_A_ROOT");
    }
    let family = model.family(root);
    if family.iter().any(|id| model.is_held(*id)) {
        return Err("HELD");
    }
    if family.iter().any(|id| !model.instances[id].is_final) {
        return Err("NON_FINAL_MEMBER");
    }
    if !force {
        let ends: Option<Vec<i64>> = family
            .iter()
            .map(|id| model.instances[id].end_time)
            .collect();
        let Some(latest) = ends.and_then(|ends| ends.into_iter().max()) else {
            return Err("UNDATED_MEMBER");
        };
        match model.cutoff(root) {
            None | Some(i64::MIN) => return Err("POLICY_DISABLED"),
            Some(cutoff) if latest >= cutoff => return Err("RETENTION_NOT_REACHED"),
            Some(_) => {}
        }
    }
    if family.iter().any(|id| model.is_kept(*id)) {
        return Err("REFERENCED");
    }
    let tied = model.component(root);
    let alone = family == tied && model.candidates(&family) == 1;
    if world.shared == Shared::Closed && !alone {
        return Err("SHARED_MEMBER");
    }
    Ok(model.rows_of(&family))
}

impl<'a> Model<'a> {
    fn new(world: &'a World) -> Self {
        let mut instances = BTreeMap::new();
        for row in &world.rows {
            if let Row::Instance {
                id,
                state,
                end_time,
                is_sub_workflow,
                project,
            } = row
            {
                let instance = Instance {
                    is_final: state.is_some_and(|state| FINAL.contains(&state)),
                    is_candidate: *is_sub_workflow == Some(0),
                    end_time: *end_time,
                    project: *project,
                };
                instances.insert(i64::from(*id), instance);
            }
        }
        let mut links = Vec::new();
        for row in &world.rows {
            let (parent, child) = match row {
                Row::Link {
                    parent: Some(parent),
                    child: Some(child),
                    ..
                } => (i64::from(*parent), i64::from(*child)),
                Row::Above { instance, above } => (i64::from(*above), i64::from(*instance)),
                Row::DynamicLink { parent, child, .. } => (*parent, *child),
                _ => continue,
            };
            if instances.contains_key(&parent) && instances.contains_key(&child) {
                links.push((parent, child));
            }
        }
        Self {
            world,
            instances,
            links,
        }
    }

    /// Candidates of enabled scopes that are final and ended before their cutoff, oldest first.
    fn due(&self) -> Vec<i64> {
        let mut due: Vec<(i64, i64)> = Vec::new();
        for (id, instance) in &self.instances {
            if let (Some(cutoff), Some(end_time), true) =
                (self.cutoff(*id), instance.end_time, instance.is_final)
                && end_time < cutoff
            {
                due.push((end_time, *id));
            }
        }
        due.sort_unstable();
        due.into_iter().map(|(_, id)| id).collect()
    }

    /// NULL unless the row is a candidate of an enabled scope, which the option `scope` did not leave out.
    fn cutoff(&self, id: i64) -> Option<i64> {
        let instance = &self.instances[&id];
        self.cutoff_of_scope(instance.project)
            .filter(|_| instance.is_candidate)
    }

    /// None where the scope is not listed, or left out; before all times where it is kept for ever all the same.
    fn cutoff_of_scope(&self, project: Option<i64>) -> Option<i64> {
        if self.world.scope.is_some() && self.world.scope != project {
            return None;
        }
        let is_listed = self.world.default.is_none();
        match self.kept(project) {
            Kept::Unsaid => self.world.default.map(|default| self.before(default)),
            Kept::ForEver => (!is_listed).then_some(i64::MIN),
            Kept::For(retention) => Some(self.before(retention)),
        }
    }

    /// What the project's policy says, or else the source.
    fn kept(&self, project: Option<i64>) -> Kept {
        let Some(project) = project else {
            return Kept::Unsaid;
        };
        let policy = self.world.rows.iter().find_map(|row| match row {
            Row::Policy {
                scope,
                enabled,
                retention,
                ..
            } if *scope == project => Some(match enabled {
                true => Kept::For(*retention),
                false => Kept::ForEver,
            }),
            _ => None,
        });
        let days = match self.world.source {
            Source::Nothing => None,
            Source::Definitions => self.world.rows.iter().find_map(|row| match row {
                Row::Definition { project: of, days } if *of == project => *days,
                _ => None,
            }),
            Source::Values => BY_VALUE
                .iter()
                .find_map(|(value, days)| (*value == project).then_some(*days)),
        };
        let source = days.map(|days| match days {
            0..=36_525 => Kept::For(days * DAY),
            _ => Kept::ForEver,
        });
        policy.or(source).unwrap_or(Kept::Unsaid)
    }

    /// The cutoff of a retention, as the application writes times.
    fn before(&self, retention: i64) -> i64 {
        let length = self.world.retention.unwrap_or(retention).max(MINIMUM) + SAFETY_LAG;
        if self.world.calendar {
            berlin(days_before(self.world.as_of, length))
        } else {
            self.world.as_of - length
        }
    }

    /// The root and everything below it.
    fn family(&self, root: i64) -> BTreeSet<i64> {
        closure(root, &|id| {
            let below = self.links.iter().filter(move |link| link.0 == id);
            below.map(|link| link.1).collect()
        })
    }

    /// Everything that links lead to, in whichever direction.
    fn component(&self, id: i64) -> BTreeSet<i64> {
        closure(id, &|id| {
            let mut ends = Vec::new();
            for (parent, child) in &self.links {
                if *parent == id {
                    ends.push(*child);
                }
                if *child == id {
                    ends.push(*parent);
                }
            }
            ends
        })
    }

    fn is_held(&self, id: i64) -> bool {
        self.world
            .rows
            .iter()
            .any(|row| matches!(row, Row::Hold { key, active: true } if i64::from(*key) == id))
    }

    /// Whether a start of this instance waits, or a notice of one of its alerts was sent.
    fn is_kept(&self, id: i64) -> bool {
        let rows = &self.world.rows;
        let names = |instance: &Option<i32>| instance.is_some_and(|one| i64::from(one) == id);
        let sent = |alert: i32| {
            rows.iter()
                .any(|row| matches!(row, Row::SendStatus { alert: of, .. } if *of == alert))
        };
        self.world.keyed
            && rows.iter().any(|row| match row {
                Row::Command { instance, .. } => names(instance),
                Row::Alert { id, instance } => names(instance) && sent(*id),
                _ => false,
            })
    }

    /// What speaks against a root with a cutoff in its own family.
    fn own_reason(&self, root: i64) -> Option<&'static str> {
        let cutoff = self.cutoff(root).expect("only for roots with a cutoff");
        let family = self.family(root);
        let any = |fault: &dyn Fn(i64, &Instance) -> bool| {
            family.iter().any(|id| fault(*id, &self.instances[id]))
        };
        if any(&|id, _| self.is_held(id)) {
            Some("HELD")
        } else if any(&|_, one| !one.is_final) {
            Some("NON_FINAL_MEMBER")
        } else if any(&|_, one| one.end_time.is_none()) {
            Some("UNDATED_MEMBER")
        } else if any(&|_, one| one.end_time.is_some_and(|time| time >= cutoff)) {
            Some("RETENTION_NOT_REACHED")
        } else if any(&|id, _| self.is_kept(id)) {
            Some("REFERENCED")
        } else {
            None
        }
    }

    /// Why a due root stays.
    fn verdict(&self, root: i64) -> Option<&'static str> {
        let own = self.own_reason(root);
        if own.is_some() || self.world.shared == Shared::Literal {
            return own;
        }
        let component = self.component(root);
        let roots: Vec<i64> = component
            .iter()
            .copied()
            .filter(|id| self.instances[id].is_candidate)
            .collect();
        let every_root_may_go = roots
            .iter()
            .all(|id| self.cutoff(*id).is_some() && self.own_reason(*id).is_none());
        let mut below_roots = BTreeSet::new();
        for id in roots {
            below_roots.extend(self.family(id));
        }
        if every_root_may_go && below_roots == component {
            None
        } else {
            Some("SHARED_MEMBER")
        }
    }

    /// The instances that go when a root goes.
    fn goes_with(&self, root: i64) -> BTreeSet<i64> {
        match self.world.shared {
            Shared::Closed => self.component(root),
            Shared::Literal => self.family(root),
        }
    }

    fn candidates(&self, ids: &BTreeSet<i64>) -> usize {
        ids.iter()
            .filter(|id| self.instances[id].is_candidate)
            .count()
    }

    /// The rows of all tables that go with these instances.
    fn rows_of(&self, instances: &BTreeSet<i64>) -> BTreeSet<(&'static str, i32)> {
        let names = |id: &Option<i32>| id.is_some_and(|id| instances.contains(&i64::from(id)));
        let mut tasks = BTreeSet::new();
        let mut alerts = BTreeSet::new();
        for row in &self.world.rows {
            match row {
                Row::Task { id, instance, .. } if names(instance) => {
                    tasks.insert(*id);
                }
                Row::Alert { id, instance } if names(instance) => {
                    alerts.insert(*id);
                }
                _ => {}
            }
        }
        let goes = |row: &Row| match row {
            Row::Policy { .. } | Row::Hold { .. } | Row::Definition { .. } | Row::Above { .. } => {
                false
            }
            Row::Instance { id, .. } => instances.contains(&i64::from(*id)),
            Row::Link { parent, child, .. } => names(parent) || names(child),
            Row::DynamicLink { parent, child, .. } => {
                instances.contains(parent) || instances.contains(child)
            }
            Row::Task { instance, .. }
            | Row::Alert { instance, .. }
            | Row::Command { instance, .. }
            | Row::ErrorCommand { instance, .. } => names(instance),
            Row::Context { task, .. } => tasks.contains(task),
            Row::Queue { instance, task, .. } => {
                names(instance) || task.is_some_and(|task| tasks.contains(&task))
            }
            Row::SendStatus { alert, .. } => alerts.contains(alert),
            Row::SerialCommand { instance, .. } => instances.contains(instance),
        };
        self.world
            .rows
            .iter()
            .filter(|row| goes(row))
            .filter_map(Row::place)
            .filter(|(table, _)| !self.world.keyed || !KEEPERS.contains(table))
            .collect()
    }

    /// The files that the tasks of these instances name, unless the instance's own project wants none removed.
    fn artifacts(&self, instances: &BTreeSet<i64>) -> Vec<(Option<String>, String)> {
        let unwanted = |project: i64| {
            self.world.rows.iter().any(|row| {
                matches!(row, Row::Policy { scope, artifacts: false, .. } if *scope == project)
            })
        };
        let mut files = Vec::new();
        for row in &self.world.rows {
            if let Row::Task {
                instance: Some(instance),
                host,
                path: Some(path),
                ..
            } = row
                && instances.contains(&i64::from(*instance))
                && !path.is_empty()
                && !self.instances[&i64::from(*instance)]
                    .project
                    .is_some_and(unwanted)
            {
                files.push((host.map(str::to_owned), path.clone()));
            }
        }
        files.sort();
        files
    }

    /// Final roots past the default retention, or the minimum where there is none, of which nothing says how long they are
    /// kept; none where a default holds for all.
    fn without_policy(&self) -> Option<usize> {
        let retention = match self.world.source {
            Source::Nothing => DEFAULT_RETENTION,
            Source::Definitions | Source::Values => MINIMUM,
        };
        let cutoff = self.before(retention);
        // Nobody can set a policy for NULL, and one that is disabled is one.
        let unsaid = |project: i64| {
            let has = |row: &Row| matches!(row, Row::Policy { scope, .. } if *scope == project);
            !matches!(self.kept(Some(project)), Kept::For(_)) && !self.world.rows.iter().any(has)
        };
        let of = |one: &&Instance| {
            one.is_candidate
                && one.is_final
                && one.end_time.is_some_and(|time| time < cutoff)
                && one.project.is_some_and(unsaid)
        };
        let count = self.instances.values().filter(of).count();
        self.world.default.is_none().then_some(count)
    }
}

/// How long the instances of a project are kept.
enum Kept {
    Unsaid,
    ForEver,
    For(i64),
}

/// The instant from which a length leads to another, in days of Berlin's calendar: when its clock showed the same time; the
/// first of two such instants. Where there is none, the first of those that the clock would show it at in winter or summer.
pub(crate) fn days_before(instant: i64, length: i64) -> i64 {
    let clock = berlin(instant - length % DAY) - length / DAY * DAY;
    let readings = [2, 1].map(|hours| clock - hours * 3_600 * SECOND);
    let shows = |reading: &&i64| berlin(**reading) == clock;
    *readings.iter().find(shows).unwrap_or(&readings[0])
}

/// Everything that can be reached from a start, the start included.
fn closure(start: i64, next: &dyn Fn(i64) -> Vec<i64>) -> BTreeSet<i64> {
    let mut reached = BTreeSet::from([start]);
    loop {
        let more: BTreeSet<i64> = reached.iter().flat_map(|id| next(*id)).collect();
        let before = reached.len();
        reached.extend(more);
        if reached.len() == before {
            return reached;
        }
    }
}

fn narrow(id: i64) -> i32 {
    i32::try_from(id).expect("instances have integer ids")
}
