//! Random rows for a random spec: what is due to the microsecond, what names nothing, what is held.

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, IteratorRandom};
use serde_json::{Value as Json, json};

use super::plan::{Action, DEFINITIONS, Hierarchy, Kind, Plan, Single, Source};
use crate::support::world::{DAY, SECOND, timestamp};

/// The instant of every run: 2026-06-01 12:00 UTC.
pub(crate) const AS_OF: i64 = 1_780_315_200 * SECOND;

const HOUR: i64 = 3_600 * SECOND;

const TEXTS: [&str; 8] = [
    "a",
    "A",
    "a b",
    "it's",
    "q\"uote",
    "käse",
    "back\\slash",
    "100%",
];

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    /// Microseconds since 1970.
    Time(i64),
}

impl Value {
    fn sql(&self) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Int(number) => number.to_string(),
            Self::Text(text) => format!("'{}'", text.replace('\'', "''")),
            Self::Time(time) => format!("'{}'", timestamp(*time)),
        }
    }

    pub(crate) fn json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Int(number) | Self::Time(number) => json!(number),
            Self::Text(text) => json!(text),
        }
    }

    /// A time as a column of this kind has it.
    fn counted(self, kind: Kind) -> Self {
        match (kind, &self) {
            (Kind::Number(unit), Self::Time(time)) => Self::Int(time.div_euclid(unit)),
            // A tenth of a microsecond or two, which no server takes for the next one.
            (Kind::Broken(unit), Self::Time(time)) => {
                let tenths = time * 10 + time.rem_euclid(3);
                let digits = tenths.rem_euclid(unit * 10) * (1_000_000 / unit);
                Self::Text(format!("{}.{digits:07}", tenths.div_euclid(unit * 10)))
            }
            _ => self,
        }
    }

    pub(crate) fn time(&self) -> Option<i64> {
        match self {
            Self::Time(time) => Some(*time),
            _ => None,
        }
    }

    pub(crate) fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A row of a table; its first value is its number.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) table: usize,
    pub(crate) values: Vec<Value>,
}

impl Row {
    pub(crate) fn number(&self) -> i64 {
        self.values[0].int().expect("a row has a number")
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) scope: i64,
    pub(crate) enabled: bool,
    pub(crate) days: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Hold {
    pub(crate) rule: &'static str,
    pub(crate) key: Vec<Value>,
    pub(crate) active: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) rows: Vec<Row>,
    pub(crate) policies: Vec<Policy>,
    pub(crate) definitions: Vec<(i64, Option<i64>)>,
    pub(crate) holds: Vec<Hold>,
}

/// The value of a key column for the row with a number: another one for each.
fn key(kind: Kind, number: usize) -> Value {
    let small = i64::try_from(number).expect("a few rows");
    match kind {
        Kind::Small | Kind::Integer | Kind::Decimal => Value::Int(small * 7 - 20),
        Kind::Big => Value::Int((small - 3) << 33),
        Kind::Varchar => Value::Text(format!(
            "{}{}",
            TEXTS[number % TEXTS.len()],
            number / TEXTS.len()
        )),
        Kind::Uuid => Value::Text(format!("00000000-0000-4000-8000-{number:012x}")),
        Kind::Time | Kind::Instant | Kind::Number(_) | Kind::Broken(_) => {
            unreachable!("no key is a time")
        }
    }
}

impl World {
    pub(crate) fn random(plan: &Plan, random: &mut SmallRng) -> Self {
        let mut world = Self {
            rows: Vec::new(),
            policies: Vec::new(),
            definitions: Vec::new(),
            holds: Vec::new(),
        };
        let families = &plan.families;
        let mut kept = vec![families.minimum];
        kept.extend(families.default);
        match &families.source {
            Source::Constant => {}
            Source::Values(values) => kept.extend(values.iter().map(|(_, days)| *days)),
            Source::Definitions => {
                for code in 1..=4 {
                    let days = *[Some(0), Some(5), Some(12), Some(-1), Some(36_526), None]
                        .choose(random)
                        .expect("there are some");
                    kept.extend(days.filter(|days| (0..=36_525).contains(days)));
                    if random.random_bool(0.8) {
                        world.definitions.push((code, days));
                    }
                }
            }
            Source::Policies { .. } => {}
        }
        if families.scope.is_some() {
            let likely = if matches!(families.source, Source::Policies { opt_in: true }) {
                0.8
            } else {
                0.3
            };
            for scope in 1..=4 {
                if random.random_bool(likely) {
                    let days = families.minimum + random.random_range(0..10);
                    kept.push(days);
                    world.policies.push(Policy {
                        scope,
                        enabled: random.random_bool(0.8),
                        days,
                    });
                }
            }
        }
        for table in 0..plan.tables.len() {
            let count = if table == 0 {
                random.random_range(2..10)
            } else {
                random.random_range(0..9)
            };
            for number in 0..count {
                let row = world.row(plan, table, number, &kept, random);
                world.rows.push(row);
            }
        }
        if let Hierarchy::Over(above, names) = families.hierarchy {
            world.name_over(plan, above, names, random);
        }
        for (rule, table, chance) in [("families", 0, 0.08), ("single", plan.single.table, 0.15)] {
            let held: Vec<Hold> = world
                .of(table)
                .filter(|_| random.random_bool(chance))
                .map(|row| Hold {
                    rule,
                    key: plan.tables[table]
                        .key
                        .iter()
                        .map(|at| row.values[*at].clone())
                        .collect(),
                    active: row.number() % 3 > 0,
                })
                .collect();
            world.holds.extend(held);
        }
        world
    }

    pub(crate) fn of(&self, table: usize) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.table == table)
    }

    fn row(
        &self,
        plan: &Plan,
        at: usize,
        number: usize,
        kept: &[i64],
        random: &mut SmallRng,
    ) -> Row {
        let table = &plan.tables[at];
        let mut values = vec![Value::Null; table.columns.len()];
        values[0] = Value::Int(i64::try_from(number).expect("a few rows") + 1);
        for column in &table.key {
            values[*column] = key(table.at(*column).kind, number);
        }
        if let [_, second] = table.key[..] {
            values[second] = Value::Int(random.random_range(0..2));
        }
        if let Some([first, second]) = table.unique {
            // Either half is there several times; only both together are one row.
            values[first] = Value::Text(TEXTS[number % 3].to_owned());
            values[second] = Value::Int(i64::try_from(number / 3).expect("a few rows"));
        }
        let mut columns = table.columns.iter();
        let note = columns.rposition(|column| column.name.starts_with("note"));
        if let Some(note) = note
            && random.random_bool(0.8)
        {
            values[note] = Value::Text((*TEXTS.choose(random).expect("a text")).to_owned());
        }
        for edge in &table.edges {
            let parents: Vec<Vec<Value>> = self
                .of(edge.parent)
                .map(|row| {
                    edge.parent_columns
                        .iter()
                        .map(|column| row.values[*column].clone())
                        .collect()
                })
                .collect();
            let nullable = table.at(edge.columns[0]).nullable;
            // What keeps families is rare, or none would go.
            let names = if edge.action == Action::Restrict {
                0.15
            } else {
                0.75
            };
            let named = parents
                .iter()
                .choose(random)
                .filter(|_| random.random_bool(names) || !nullable);
            match named {
                Some(parent) => {
                    for (column, value) in edge.columns.iter().zip(parent) {
                        values[*column] = value.clone();
                    }
                }
                None if edge.key.is_some() && nullable => {}
                None => {
                    for (place, column) in edge.columns.iter().enumerate() {
                        let null = nullable && random.random_bool(0.4);
                        let dangling = match table.at(*column).kind {
                            Kind::Varchar => Value::Text(TEXTS[place].to_owned()),
                            kind => key(kind, 20 + place),
                        };
                        values[*column] = if null { Value::Null } else { dangling };
                    }
                }
            }
            if edge.zero && random.random_bool(0.2) {
                values[edge.columns[0]] = Value::Int(0);
            }
        }
        let mut row = Row { table: at, values };
        if at == 0 {
            self.root(plan, &mut row, kept, random);
        } else if let Hierarchy::Relation(relation, upper, lower) = plan.families.hierarchy
            && relation == at
        {
            // Mostly downwards: everything linked to everything would never go.
            let (one, other) = (row.values[upper].clone(), row.values[lower].clone());
            let same = table.at(upper).kind == table.at(lower).kind;
            if same && one > other && random.random_bool(0.8) {
                row.values[upper] = other;
                row.values[lower] = one;
            }
        } else if at == plan.single.table {
            self.single(plan, &mut row, random);
        }
        row
    }

    /// Rows of the root table name others by those of the second table: mostly downwards, or nothing would ever go.
    fn name_over(&mut self, plan: &Plan, above: usize, names: usize, random: &mut SmallRng) {
        let (key, between) = (plan.tables[0].key[0], &plan.tables[1]);
        let own = between.key[0];
        let number = |value: &Value| {
            let mut roots = self.of(0);
            roots.find(|row| row.values[key] == *value).map(Row::number)
        };
        let rows: Vec<(Value, Option<i64>)> = self
            .of(1)
            .map(|row| (row.values[own].clone(), number(&row.values[names])))
            .collect();
        for root in self.rows.iter_mut().filter(|row| row.table == 0) {
            let upwards = random.random_bool(0.1);
            let these = rows
                .iter()
                .filter(|(_, of)| upwards || of.is_none_or(|of| of < root.number()));
            root.values[above] = match these.choose(random) {
                Some((value, _)) if random.random_bool(0.6) => value.clone(),
                _ if random.random_bool(0.2) => self::key(between.at(own).kind, 20),
                _ => Value::Null,
            };
        }
    }

    /// A time at one of the limits, to the microsecond, or well before.
    fn time(limits: &[i64], random: &mut SmallRng) -> Value {
        let limit = limits.choose(random).copied().unwrap_or_default();
        let off = match random.random_range(0..10) {
            0 => 0,
            1 => 1,
            2 => -1,
            3 => 3 * DAY,
            _ => -random.random_range(1..5) * DAY,
        };
        Value::Time(AS_OF - limit + off)
    }

    fn root(&self, plan: &Plan, row: &mut Row, kept: &[i64], random: &mut SmallRng) {
        let rule = &plan.families;
        let table = &plan.tables[0];
        let limits: Vec<i64> = kept
            .iter()
            .map(|days| days.max(&rule.minimum) * DAY + rule.lag * HOUR)
            .collect();
        let final_one = random.random_bool(0.9);
        row.values[rule.state] = match (table.at(rule.state).kind, final_one) {
            (Kind::Varchar, true) => {
                Value::Text(if random.random() { "done" } else { "failed" }.to_owned())
            }
            (_, true) => Value::Int(if random.random() { 3 } else { 5 }),
            _ if random.random() => Value::Null,
            (Kind::Varchar, false) => Value::Text("Done".to_owned()),
            _ => Value::Int(4),
        };
        if random.random_bool(0.92) {
            row.values[rule.ended] = Self::time(&limits, random).counted(table.at(rule.ended).kind);
        }
        if let Some(otherwise) = rule.otherwise
            && random.random_bool(0.8)
        {
            row.values[otherwise] = Self::time(&limits, random);
        }
        if let Some(candidates) = rule.candidates {
            row.values[candidates] = match random.random_range(0..8) {
                0 => Value::Int(0),
                1 => Value::Null,
                _ => Value::Int(1),
            };
        }
        if let Some(scope) = rule.scope
            && random.random_bool(0.95)
        {
            row.values[scope] = Value::Int(random.random_range(1..=5));
        }
        if let Hierarchy::Own(above) = rule.hierarchy {
            let keys = self.of(0).map(|row| row.values[table.key[0]].clone());
            row.values[above] = keys
                .choose(random)
                .filter(|_| random.random_bool(0.5))
                .unwrap_or(Value::Null);
        }
    }

    fn single(&self, plan: &Plan, row: &mut Row, random: &mut SmallRng) {
        let rule = &plan.single;
        let limits = [rule.days.max(rule.minimum) * DAY + rule.lag * HOUR];
        if let Some(candidates) = rule.candidates {
            row.values[candidates] = match random.random_range(0..6) {
                0 => Value::Int(3),
                1 => Value::Null,
                number => Value::Int(1 + number % 2),
            };
        }
        let mut set = |column: usize, limits: &[i64], random: &mut SmallRng| {
            if random.random_bool(0.8) {
                row.values[column] =
                    Self::time(limits, random).counted(plan.tables[rule.table].at(column).kind);
            }
        };
        match &rule.what {
            Single::Age { time } => set(*time, &limits, random),
            Single::Expiry { time, fallback } => {
                set(*time, &[0], random);
                if let Some(fallback) = fallback {
                    set(*fallback, &limits, random);
                }
            }
            Single::KeepLast { per, by, time, .. } => {
                if let Some(time) = time {
                    set(*time, &limits, random);
                }
                for column in per {
                    if random.random_bool(0.9) {
                        row.values[*column] = match plan.tables[rule.table].at(*column).kind {
                            Kind::Varchar => {
                                Value::Text(TEXTS[random.random_range(0..2)].to_owned())
                            }
                            _ => Value::Int(random.random_range(0..2)),
                        };
                    }
                }
                if random.random_bool(0.9) {
                    row.values[*by] = Value::Int(random.random_range(0..4));
                }
            }
            Single::Orphan {
                column,
                target,
                time,
            } => {
                if let Some(time) = time {
                    set(*time, &limits, random);
                }
                let kind = plan.tables[*target].at(plan.tables[*target].key[0]).kind;
                if random.random_bool(0.85) {
                    row.values[*column] = key(kind, random.random_range(0..10));
                }
            }
        }
    }

    /// What brings the application's tables into this state; `W.` stands for the control schema.
    pub(crate) fn script(&self, plan: &Plan) -> String {
        let mut script = String::from("DELETE FROM W.policy;\nDELETE FROM W.hold;\n");
        for table in &plan.tables {
            script += &format!("DELETE FROM {};\n", ident(&table.name));
        }
        for row in &self.rows {
            let values: Vec<String> = row.values.iter().map(Value::sql).collect();
            script += &format!(
                "INSERT INTO {} VALUES ({});\n",
                ident(&plan.tables[row.table].name),
                values.join(", ")
            );
        }
        if plan.families.source == Source::Definitions {
            script += &format!("DELETE FROM {DEFINITIONS};\n");
            for (code, days) in &self.definitions {
                let days = days.map_or("NULL".to_owned(), |days| days.to_string());
                script += &format!("INSERT INTO {DEFINITIONS} VALUES ({code}, {days});\n");
            }
        }
        for policy in &self.policies {
            script += &format!(
                "INSERT INTO W.policy (rule, scope, enabled, retention_seconds) VALUES ('families', '{}', {}, {});\n",
                policy.scope,
                policy.enabled,
                policy.days * DAY / SECOND
            );
        }
        script
    }
}

/// A quoted name, in ANSI's way.
pub(crate) fn ident(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
