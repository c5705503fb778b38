//! What a run should do, by the definitions and in the most naive way.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::{Action, Edge, Hierarchy, Kept, Kind, Plan, Single, Source};
use super::rows::{AS_OF, Row, Value, World};
use crate::support::world::{DAY, SECOND};

const HOUR: i64 = 3_600 * SECOND;

/// Table and number of a row.
pub(crate) type Place = (usize, i64);

/// What a run of one rule should do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) families: usize,
    pub(crate) gone: BTreeSet<Place>,
    /// Columns that become NULL in rows that stay.
    pub(crate) nulled: BTreeSet<(Place, usize)>,
    pub(crate) skipped: BTreeMap<&'static str, usize>,
}

struct Model<'a> {
    plan: &'a Plan,
    world: &'a World,
    roots: Vec<&'a Row>,
    /// Places in `roots`, upper and lower.
    links: Vec<(usize, usize)>,
    /// The same of two whose families share a row that goes with all of its parents, in either order.
    shared: Vec<(usize, usize)>,
}

/// Whether a row names another by an edge.
fn names(edge: &Edge, row: &Row, parent: &Row) -> bool {
    edge.parent == parent.table
        && edge
            .columns
            .iter()
            .zip(&edge.parent_columns)
            .all(|(column, of)| {
                let value = &row.values[*column];
                *value != Value::Null
                    && *value == parent.values[*of]
                    && !(edge.zero && *value == Value::Int(0))
            })
}

pub(crate) fn families(plan: &Plan, world: &World) -> Verdict {
    let roots: Vec<&Row> = world.of(0).collect();
    let key = plan.tables[0].key[0];
    let at = |value: &Value| roots.iter().position(|row| row.values[key] == *value);
    let links = match plan.families.hierarchy {
        Hierarchy::None => Vec::new(),
        Hierarchy::Own(above) => roots
            .iter()
            .enumerate()
            .filter_map(|(lower, row)| Some((at(&row.values[above])?, lower)))
            .collect(),
        Hierarchy::Over(above, names) => {
            let own = plan.tables[1].key[0];
            let between = |value: &Value| world.of(1).find(|row| row.values[own] == *value);
            let upper = |row: &Row| at(&between(&row.values[above])?.values[names]);
            roots
                .iter()
                .enumerate()
                .filter_map(|(lower, row)| Some((upper(row)?, lower)))
                .collect()
        }
        Hierarchy::Relation(table, upper, lower) => world
            .of(table)
            .filter_map(|row| Some((at(&row.values[upper])?, at(&row.values[lower])?)))
            .collect(),
    };
    let mut model = Model {
        plan,
        world,
        roots,
        links,
        shared: Vec::new(),
    };
    model.shared = model.shared();
    model.verdict()
}

impl Model<'_> {
    fn verdict(&self) -> Verdict {
        let mut verdict = Verdict::default();
        let mut members = BTreeSet::new();
        for root in 0..self.roots.len() {
            if self.is_due(root) {
                match self.reason(root) {
                    Some(reason) => *verdict.skipped.entry(reason).or_default() += 1,
                    None => members.extend(self.component(root)),
                }
            } else if self.is_undated(root) {
                *verdict.skipped.entry("UNDATED_MEMBER").or_default() += 1;
            }
        }
        verdict.families = members
            .iter()
            .filter(|member| self.is_candidate(**member))
            .count();
        verdict.gone = self.rows_of(&members);
        for row in &self.world.rows {
            let place = (row.table, row.number());
            if verdict.gone.contains(&place) {
                continue;
            }
            for edge in &self.plan.tables[row.table].edges {
                if edge.action == Action::SetNull && self.names_any(edge, row, &verdict.gone) {
                    verdict
                        .nulled
                        .extend(edge.columns.iter().map(|column| (place, *column)));
                }
            }
        }
        verdict
    }

    /// Two roots each, in either order, whose families share a row that goes with all of its parents.
    fn shared(&self) -> Vec<(usize, usize)> {
        let families: Vec<BTreeSet<Place>> = (0..self.roots.len())
            .map(|root| self.rows_of(&BTreeSet::from([root])))
            .collect();
        let mut shared = Vec::new();
        for row in &self.world.rows {
            let table = &self.plan.tables[row.table];
            if !table.with_all || self.plan.is_link(row.table) || self.stays(row) {
                continue;
            }
            let parents = table
                .edges
                .iter()
                .filter(|edge| edge.action == Action::Delete);
            // Through each of its parents.
            let through: Vec<Vec<usize>> = parents
                .map(|edge| {
                    let roots = 0..self.roots.len();
                    roots
                        .filter(|root| self.names_any(edge, row, &families[*root]))
                        .collect()
                })
                .collect();
            for (at, one) in through.iter().enumerate() {
                let others = through.iter().enumerate();
                let others = others.filter(|(place, _)| *place != at);
                for other in others.flat_map(|(_, roots)| roots) {
                    let one = one.iter().filter(|one| *one != other);
                    shared.extend(one.map(|one| (*one, *other)));
                }
            }
        }
        shared
    }

    fn value(&self, root: usize, column: usize) -> &Value {
        &self.roots[root].values[column]
    }

    fn is_candidate(&self, root: usize) -> bool {
        match self.plan.families.candidates {
            Some(column) => *self.value(root, column) == Value::Int(1),
            None => true,
        }
    }

    fn is_final(&self, root: usize) -> bool {
        if let Some(raw) = self.plan.families.raw
            && [Value::Null, Value::Text("a".to_owned())].contains(self.value(root, raw))
        {
            return false;
        }
        match self.value(root, self.plan.families.state) {
            Value::Int(state) => [3, 5].contains(state),
            Value::Text(state) => ["done", "failed"].contains(&state.as_str()),
            _ => false,
        }
    }

    fn ended(&self, root: usize) -> Option<i64> {
        let rule = &self.plan.families;
        let otherwise = rule
            .otherwise
            .and_then(|column| self.value(root, column).time());
        let kind = self.plan.tables[0].at(rule.ended).kind;
        instant(self.value(root, rule.ended), kind).or(otherwise)
    }

    /// What a root must have ended before; none where it is kept for ever, or nothing says how long.
    fn cutoff(&self, root: usize) -> Option<i64> {
        if !self.is_candidate(root) {
            return None;
        }
        let rule = &self.plan.families;
        let days = match self.said(root) {
            Said::For(days) => days,
            Said::ForEver => return None,
            Said::Nothing => rule.default.filter(|_| !self.is_listed())?,
        };
        Some(AS_OF - days.max(rule.minimum) * DAY - rule.lag * HOUR)
    }

    /// Whether only what is listed goes.
    fn is_listed(&self) -> bool {
        self.plan.families.default.is_none()
            || self.plan.families.source == Source::Policies { opt_in: true }
    }

    fn said(&self, root: usize) -> Said {
        let rule = &self.plan.families;
        let Some(scope) = rule.scope.and_then(|column| self.value(root, column).int()) else {
            return Said::Nothing;
        };
        if let Some(policy) = self
            .world
            .policies
            .iter()
            .find(|policy| policy.scope == scope)
        {
            return if policy.enabled {
                Said::For(policy.days)
            } else {
                Said::ForEver
            };
        }
        let days = match &rule.source {
            Source::Constant | Source::Policies { .. } => None,
            Source::Values(values) => values
                .iter()
                .find(|(value, _)| *value == scope)
                .map(|(_, days)| *days),
            Source::Definitions => {
                let found = self
                    .world
                    .definitions
                    .iter()
                    .find(|(code, _)| *code == scope);
                found.and_then(|(_, days)| *days)
            }
        };
        match days {
            None => Said::Nothing,
            Some(0..=36_525) => Said::For(days.expect("it is there")),
            Some(_) => Said::ForEver,
        }
    }

    fn is_due(&self, root: usize) -> bool {
        match (self.cutoff(root), self.ended(root)) {
            (Some(cutoff), Some(ended)) => self.is_final(root) && ended < cutoff,
            _ => false,
        }
    }

    /// Final, without a time, and cleaned at all.
    fn is_undated(&self, root: usize) -> bool {
        let is_cleaned = match self.said(root) {
            Said::For(_) => true,
            Said::Nothing | Said::ForEver => !self.is_listed(),
        };
        self.is_candidate(root) && self.is_final(root) && self.ended(root).is_none() && is_cleaned
    }

    fn is_held(&self, root: usize) -> bool {
        let key = self.value(root, self.plan.tables[0].key[0]);
        let holds = self.world.holds.iter();
        holds
            .filter(|hold| hold.rule == "families" && hold.active)
            .any(|hold| hold.key[0] == *key)
    }

    fn reach(&self, root: usize, both_ways: bool) -> BTreeSet<usize> {
        let mut reached = BTreeSet::from([root]);
        loop {
            let before = reached.len();
            for (upper, lower) in &self.links {
                if reached.contains(upper) {
                    reached.insert(*lower);
                }
                if both_ways && reached.contains(lower) {
                    reached.insert(*upper);
                }
            }
            for (one, other) in self.shared.iter().filter(|_| both_ways) {
                if reached.contains(one) {
                    reached.insert(*other);
                }
            }
            if reached.len() == before {
                return reached;
            }
        }
    }

    fn component(&self, root: usize) -> BTreeSet<usize> {
        self.reach(root, true)
    }

    /// What speaks against a root in its own family.
    fn own_reason(&self, root: usize, cutoff: i64) -> Option<&'static str> {
        let family = self.reach(root, false);
        let any = |fault: &dyn Fn(usize) -> bool| family.iter().any(|member| fault(*member));
        if any(&|member| self.is_held(member)) {
            Some("HELD")
        } else if any(&|member| !self.is_final(member)) {
            Some("NON_FINAL_MEMBER")
        } else if any(&|member| self.ended(member).is_none()) {
            Some("UNDATED_MEMBER")
        } else if any(&|member| self.ended(member).is_some_and(|ended| ended >= cutoff)) {
            Some("RETENTION_NOT_REACHED")
        } else if any(&|member| self.is_kept(member)) {
            Some("REFERENCED")
        } else {
            None
        }
    }

    /// Whether a row that restricts names this one, or one that would go with it; or one of those waits for a row of no family.
    fn is_kept(&self, member: usize) -> bool {
        let gone = self.rows_of(&BTreeSet::from([member]));
        let restricts = |row: &Row| {
            let mut edges = self.plan.tables[row.table].edges.iter();
            edges.any(|edge| edge.action == Action::Restrict && self.names_any(edge, row, &gone))
        };
        self.world.rows.iter().any(restricts) || self.waits(member)
    }

    /// Whether a row that goes with all of its parents belongs to this family, and to a row that no family has.
    fn waits(&self, member: usize) -> bool {
        let roots: BTreeSet<usize> = (0..self.roots.len()).collect();
        let (own, of_any) = (
            self.rows_of(&BTreeSet::from([member])),
            self.rows_of(&roots),
        );
        let mut rows = self.world.rows.iter().filter(|row| {
            self.plan.tables[row.table].with_all
                && !self.plan.is_link(row.table)
                && !self.stays(row)
        });
        rows.any(|row| {
            let edges = self.plan.tables[row.table].edges.iter();
            let mut parents = edges.filter(|edge| edge.action == Action::Delete);
            let named = |edge: &Edge, of_these: bool| {
                self.world.of(edge.parent).any(|parent| {
                    let place = (parent.table, parent.number());
                    let found = if of_these {
                        own.contains(&place)
                    } else {
                        !of_any.contains(&place)
                    };
                    found && names(edge, row, parent)
                })
            };
            parents.clone().any(|edge| named(edge, true)) && parents.any(|edge| named(edge, false))
        })
    }

    /// Whether a row stays when its parents go.
    fn stays(&self, row: &Row) -> bool {
        self.plan.tables[row.table]
            .kept
            .is_some_and(|(column, kept)| match (&row.values[column], kept) {
                (Value::Text(text), Kept::Texts(texts)) => texts.contains(&text.as_str()),
                (value, Kept::Null) => *value == Value::Null,
                (value, Kept::NotNull) => *value != Value::Null,
                (_, Kept::Texts(_)) => false,
            })
    }

    fn names_any(&self, edge: &Edge, row: &Row, gone: &BTreeSet<Place>) -> bool {
        self.world.of(edge.parent).any(|parent| {
            gone.contains(&(parent.table, parent.number())) && names(edge, row, parent)
        })
    }

    /// Why a due root stays.
    fn reason(&self, root: usize) -> Option<&'static str> {
        let cutoff = self.cutoff(root).expect("it is due");
        if let Some(own) = self.own_reason(root, cutoff) {
            return Some(own);
        }
        let component = self.component(root);
        let mut covered = BTreeSet::new();
        for member in &component {
            if self.is_candidate(*member) {
                let Some(cutoff) = self.cutoff(*member) else {
                    return Some("SHARED_MEMBER");
                };
                if self.own_reason(*member, cutoff).is_some() {
                    return Some("SHARED_MEMBER");
                }
                covered.extend(self.reach(*member, false));
            }
        }
        (covered != component).then_some("SHARED_MEMBER")
    }

    /// These roots, and whatever belongs to them.
    fn rows_of(&self, members: &BTreeSet<usize>) -> BTreeSet<Place> {
        let mut gone: BTreeSet<Place> = members
            .iter()
            .map(|member| (0, self.roots[*member].number()))
            .collect();
        loop {
            let before = gone.len();
            let rows = self.world.rows.iter();
            for row in rows.filter(|row| row.table > 0 && !self.stays(row)) {
                let mut edges = self.plan.tables[row.table].edges.iter();
                if edges
                    .any(|edge| edge.action == Action::Delete && self.names_any(edge, row, &gone))
                {
                    gone.insert((row.table, row.number()));
                }
            }
            if gone.len() == before {
                return gone;
            }
        }
    }
}

enum Said {
    Nothing,
    ForEver,
    For(i64),
}

/// Rows by what makes them one group; a row that does not say it is of none.
fn groups<'a>(rows: Vec<&'a Row>, per: &[usize], by: usize) -> BTreeMap<Vec<Value>, Vec<&'a Row>> {
    let mut groups: BTreeMap<Vec<Value>, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let group: Vec<Value> = per
            .iter()
            .map(|column| row.values[*column].clone())
            .collect();
        if !group.contains(&Value::Null) && row.values[by] != Value::Null {
            groups.entry(group).or_default().push(row);
        }
    }
    groups
}

/// The instant of a time that may be a number of this kind.
fn instant(value: &Value, kind: Kind) -> Option<i64> {
    match kind {
        Kind::Number(unit) => value.int().map(|number| number * unit),
        Kind::Broken(unit) => value.text().map(|number| {
            let (whole, digits) = number.split_once('.').expect("a fraction");
            let whole: i64 = whole.parse().expect("a number");
            let tenths = digits.parse::<i64>().expect("digits") / (1_000_000 / unit);
            (whole * unit * 10 + tenths).div_euclid(10)
        }),
        _ => value.time(),
    }
}

/// The rows that the rule of single rows is about.
fn rows_of_rule<'a>(plan: &Plan, world: &'a World) -> Vec<&'a Row> {
    let rule = &plan.single;
    let none = [Value::Null, Value::Text("a".to_owned())];
    let kinds = [Value::Int(1), Value::Int(2)];
    world
        .of(rule.table)
        .filter(|row| {
            let is_candidate = |column| kinds.contains(&row.values[column]);
            rule.candidates.is_none_or(is_candidate)
        })
        .filter(|row| {
            rule.raw
                .is_none_or(|column| !none.contains(&row.values[column]))
        })
        .collect()
}

pub(crate) fn single(plan: &Plan, world: &World) -> Verdict {
    let rule = &plan.single;
    let mut verdict = Verdict::default();
    let cutoff = AS_OF - rule.days.max(rule.minimum) * DAY - rule.lag * HOUR;
    let rows = rows_of_rule(plan, world);
    let is_held = |row: &Row| {
        let key: Vec<&Value> = plan.tables[rule.table]
            .key
            .iter()
            .map(|at| &row.values[*at])
            .collect();
        let holds = world.holds.iter();
        holds
            .filter(|hold| hold.rule == "single" && hold.active)
            .any(|hold| hold.key.iter().collect::<Vec<_>>() == key)
    };
    let table = &plan.tables[rule.table];
    let time = |row: &Row, column: usize| instant(&row.values[column], table.at(column).kind);
    let old = |when: Option<i64>| when.map(|when| when < cutoff);
    // What has no time is neither due nor not.
    let mut judge = |row: &Row, due: Option<bool>, hold_first: bool| {
        let held = is_held(row);
        if due.is_none() && !(held && hold_first) {
            *verdict.skipped.entry("UNDATED_MEMBER").or_default() += 1;
        } else if due != Some(false) && held {
            *verdict.skipped.entry("HELD").or_default() += 1;
        } else if due == Some(true) {
            verdict.gone.insert((row.table, row.number()));
            verdict.families += 1;
        }
    };
    match &rule.what {
        Single::Age { time: at } => {
            for row in rows {
                judge(row, old(time(row, *at)), false);
            }
        }
        Single::Expiry { time: at, fallback } => {
            for row in rows {
                match (time(row, *at), fallback) {
                    (Some(expires), _) => judge(row, Some(expires < AS_OF), false),
                    (None, None) => {}
                    (None, Some(fallback)) => {
                        judge(row, old(time(row, *fallback)), false);
                    }
                }
            }
        }
        Single::Orphan {
            column,
            target,
            time: at,
        } => {
            let key = plan.tables[*target].key[0];
            for row in rows {
                let value = &row.values[*column];
                if *value == Value::Null || world.of(*target).any(|it| it.values[key] == *value) {
                    continue;
                }
                match at {
                    None => judge(row, Some(true), true),
                    Some(at) => {
                        judge(row, old(time(row, *at)), true);
                    }
                }
            }
        }
        Single::KeepLast {
            newest,
            per,
            by,
            time: at,
        } => {
            let groups = groups(rows, per, *by);
            let key = plan.tables[rule.table].key[0];
            for mut group in groups.into_values() {
                group.sort_by_key(|row| (row.values[*by].clone(), row.values[key].clone()));
                for row in group.iter().rev().skip(*newest) {
                    match at {
                        None => judge(row, Some(true), true),
                        Some(at) => {
                            judge(row, old(time(row, *at)), true);
                        }
                    }
                }
            }
        }
    }
    verdict
}
