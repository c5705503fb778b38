//! Random partitions of each form, rows, holds and cutoffs, on MySQL and MariaDB: what a preview, a dry run and a run say and do is
//! what a model in memory says.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::super::model::{End, random_end, waiting};
use super::super::only;
use super::{analyse, files, taken};
use crate::support::effort::{enough, seeds};
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

/// After a change of the clocks in Berlin, so that most cutoffs lie before it.
const AS_OF: &str = "2026-04-10T09:30:00Z";

/// The type of the column in the spec and in the table, how the table is partitioned, and what a bound is.
const FORMS: [(&str, &str, &str, &str); 5] = [
    ("timestamp", "datetime(6)", "RANGE COLUMNS (at)", "'{}'"),
    ("date", "date", "RANGE COLUMNS (at)", "'{}'"),
    (
        "timestamp",
        "datetime",
        "RANGE (TO_DAYS(at))",
        "TO_DAYS('{}')",
    ),
    ("date", "date", "RANGE (to_days(at))", "TO_DAYS('{}')"),
    (
        "timestamptz",
        "timestamp NULL",
        "RANGE (UNIX_TIMESTAMP(at))",
        "UNIX_TIMESTAMP('{}')",
    ),
];

/// The type of the column that says when a row ended, in the spec and in the table, for each form.
const ENDS: [(&str, &str); 5] = [
    ("timestamptz", "timestamp(6) NULL"),
    ("timestamp", "datetime(6)"),
    ("epoch-ms", "bigint"),
    ("timestamp", "datetime(3)"),
    ("timestamp", "datetime(6)"),
];

/// Partitions by their ends, rows and holds, by the clock of the column.
#[derive(Debug)]
struct World {
    ends: Vec<DateTime>,
    open: bool,
    divided: bool,
    rows: BTreeMap<i64, Option<DateTime>>,
    ended: BTreeMap<i64, End>,
    holds: BTreeSet<i64>,
}

const NAMES: [&str; 3] = ["p", "the `x' ", "ü "];

impl World {
    fn random(random: &mut SmallRng, cutoff: DateTime, form: usize) -> World {
        let days = form != 0 && form != 4;
        let anchor = if days {
            cutoff.date().to_datetime(jiff::civil::Time::midnight())
        } else {
            cutoff
        };
        let mut ends = BTreeSet::new();
        for _ in 0..random.random_range(2..7) {
            let hours = random.random_range(-90_i64..30) * 24
                + if days { 0 } else { random.random_range(0..24) };
            ends.insert(anchor + hours.hours());
        }
        if random.random_bool(0.5) {
            ends.insert(anchor);
        }
        let mut world = World {
            ends: ends.into_iter().collect(),
            open: random.random_bool(0.6),
            divided: form > 1 && random.random_bool(0.1),
            rows: BTreeMap::new(),
            ended: BTreeMap::new(),
            holds: BTreeSet::new(),
        };
        for id in 1..=random.random_range(0..24) {
            let near = *world.ends.choose(random).expect("an end");
            let time = if FORMS[form].0 == "date" {
                near + random.random_range(-3..4_i64).days()
            } else {
                let seconds = [0, 1, -1, 18_000, -604_800, 172_800];
                near + (*seconds.choose(random).expect("a step")).seconds()
            };
            if world.open || world.ends.iter().any(|end| time < *end) {
                world
                    .rows
                    .insert(id, (!random.random_bool(0.05)).then_some(time));
                world.ended.insert(id, random_end(random));
            }
            if random.random_bool(0.1) {
                world.holds.insert(id);
            }
        }
        world
    }

    fn name(place: usize) -> String {
        format!("{}{place}", NAMES[place % NAMES.len()])
    }

    fn place_of(&self, time: Option<DateTime>) -> usize {
        let place = self
            .ends
            .iter()
            .position(|end| time.is_none_or(|time| time < *end));
        place.unwrap_or(self.ends.len())
    }

    /// Dropped partitions with their rows, what is kept by reason, and which rows are left.
    fn judge(&self, cutoff: DateTime, dates: bool) -> (Vec<(String, i64)>, Value, BTreeSet<i64>) {
        let mut skipped: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let (mut dropped, mut left) = (
            Vec::new(),
            self.rows.keys().copied().collect::<BTreeSet<_>>(),
        );
        for place in 0..=self.ends.len() {
            let of_it = self.rows.iter();
            let rows: BTreeSet<i64> = of_it
                .filter(|(_, time)| self.place_of(**time) == place)
                .map(|(id, _)| *id)
                .collect();
            let name = Self::name(place);
            let Some(end) = self.ends.get(place) else {
                let over = |time: DateTime| if dates { time + 1.day() } else { time };
                let mut times = rows.iter().filter_map(|id| self.rows[id]);
                if times.any(|time| over(time) <= cutoff) {
                    skipped.entry("NOT_DROPPABLE").or_default().push(name);
                }
                continue;
            };
            if *end > cutoff || rows.is_empty() {
                continue;
            }
            let held: BTreeSet<String> =
                rows.intersection(&self.holds).map(i64::to_string).collect();
            if self.divided {
                skipped.entry("NOT_DROPPABLE").or_default().push(name);
            } else if let Some(first) = held.first() {
                let key = format!("{name} ({first})");
                skipped.entry("HELD").or_default().push(key);
            } else if rows.iter().any(|id| self.rows[id].is_none()) {
                skipped.entry("UNDATED_MEMBER").or_default().push(name);
            } else if let Some((reason, first)) = waiting(&rows, &self.ended) {
                let key = format!("{name} ({first})");
                skipped.entry(reason).or_default().push(key);
            } else {
                left.retain(|id| !rows.contains(id));
                dropped.push((name, i64::try_from(rows.len()).expect("few rows")));
            }
        }
        (dropped, json!(skipped), left)
    }

    /// `cutoff`: the instant.
    fn load(&self, installation: &mut Installation, form: usize, cutoff: Timestamp) {
        let (_, column, by, bound) = FORMS[form];
        let date = |time: DateTime| match form {
            1 | 3 => time.date().to_string(),
            _ => time.to_string().replace('T', " "),
        };
        let quoted = |place: usize| format!("`{}`", Self::name(place).replace('`', "``"));
        let mut parts: Vec<String> = (self.ends.iter().enumerate())
            .map(|(place, end)| {
                let bound = bound.replace("{}", &date(*end));
                format!("PARTITION {} VALUES LESS THAN ({bound})", quoted(place))
            })
            .collect();
        if self.open {
            parts.push(format!(
                "PARTITION {} VALUES LESS THAN (MAXVALUE)",
                quoted(self.ends.len())
            ));
        }
        let divided = if self.divided {
            " SUBPARTITION BY HASH (id) SUBPARTITIONS 2"
        } else {
            ""
        };
        installation.execute(&format!(
            "DELETE FROM W.hold; DROP TABLE IF EXISTS event_log;
             CREATE TABLE event_log (id bigint NOT NULL, at {column}, state varchar(9), ended {}, KEY (id))
             PARTITION BY {by}{divided} ({})",
            ENDS[form].1,
            parts.join(", ")
        ));
        for (id, time) in &self.rows {
            let time = time.map_or("NULL".to_owned(), |time| format!("'{}'", date(time)));
            let (state, ended) = self.ended[id];
            let state = state.map_or("NULL".to_owned(), |state| format!("'{state}'"));
            let ended = ended.map(|behind| cutoff + behind.milliseconds());
            let told = |at: Timestamp, zone: &str| {
                let zone = TimeZone::get(zone).expect("a zone");
                format!("'{}'", at.to_zoned(zone).datetime()).replace('T', " ")
            };
            let ended = match (ended, ENDS[form].0) {
                // A number that is not above 0 is no time.
                (None, "epoch-ms") => "0".to_owned(),
                (None, _) => "NULL".to_owned(),
                (Some(at), "epoch-ms") => at.as_millisecond().to_string(),
                (Some(at), "timestamptz") => told(at, "UTC"),
                (Some(at), _) => told(at, "Europe/Berlin"),
            };
            installation.execute(&format!(
                "INSERT INTO event_log VALUES ({id}, {time}, {state}, {ended})"
            ));
        }
        for key in &self.holds {
            let hold = json!({"rule": "event_log", "key": key, "reason": "a test", "even_if_absent": true});
            installation.set_hold(hold).expect("a hold");
        }
        installation.arm();
    }
}

fn installed(dialect: Dialect, form: usize, rows: &str) -> Installation {
    let (kind, column, by, bound) = FORMS[form];
    let (end, ended) = ENDS[form];
    let spec = format!(
        "name = \"parts-{form}-{rows}\"\ndialects = [\"mysql\", \"mariadb\"]\ntime_zone = \"Europe/Berlin\"\n\
         [tables]\nevent_log = {{ key = \"id bigint\" }}\n\
         [rules.event_log]\nstrategy = \"partition\"\nroot = \"event_log\"\ntime = \"at {kind}\"\n\
         final = {{ state = [\"success\", \"failed\"] }}\nend_time = \"ended {end}\"\n\
         rows = \"{rows}\"\nretention = {{ default = \"30d\", minimum = \"7d\", safety_lag = \"1h\" }}\n"
    );
    let bound = bound.replace("{}", "2020-01-01");
    let schema = format!(
        "CREATE TABLE event_log (id bigint NOT NULL, at {column}, state varchar(9), ended {ended}, KEY (id)) PARTITION BY {by} (PARTITION p VALUES LESS THAN ({bound}))"
    );
    files(dialect);
    let mut installation = Installation::of(dialect, &schema, &graph_of(&spec));
    installation.execute("SET SESSION time_zone = '+00:00'");
    installation
}

/// A preview, a dry run, a run and another one of a random world; how often the model says what.
fn agreed(
    installation: &mut Installation,
    form: usize,
    rows: &str,
    seed: u64,
    seen: &mut BTreeMap<String, usize>,
) {
    let mut random = SmallRng::seed_from_u64(seed);
    let (said_days, days) = *[(None, 30), (Some("10d"), 10), (Some("7d"), 7)]
        .choose(&mut random)
        .expect("a retention");
    let as_of: Timestamp = AS_OF.parse().expect("an instant");
    let zone = if form == 4 { "UTC" } else { "Europe/Berlin" };
    let zone = TimeZone::get(zone).expect("a zone");
    let instant = as_of - (days * 24 + 1).hours();
    let cutoff = instant.to_zoned(zone).datetime();
    let world = World::random(&mut random, cutoff, form);
    world.load(installation, form, instant);
    let (dropped, skipped, left) = world.judge(cutoff, FORMS[form].0 == "date");
    let estimated = rows == "estimated";
    if estimated {
        analyse(installation);
    }
    let rows: i64 = dropped.iter().map(|(_, rows)| rows).sum();
    let mut options = json!({"as_of": AS_OF});
    if let Some(days) = said_days {
        options["retention"] = json!(days);
    }
    let mut dry = options.clone();
    dry["dry_run"] = json!(true);
    let context = format!(
        "{:?}, form {form}, seed {seed}: {world:?}",
        installation.dialect
    );
    let preview = installation.preview(options.clone()).expect("a preview");
    let dry = installation.run(dry).expect("a dry run");
    let kept = installation.number("SELECT COUNT(*) FROM event_log");
    assert_eq!(
        kept,
        i64::try_from(world.rows.len()).expect("few"),
        "{context}"
    );
    let run = installation.run(options.clone()).expect("a run");
    for document in [&preview, &dry, &run] {
        let rule = only(document);
        assert_eq!(
            (&rule["families"], &rule["rows"], &rule["skipped_samples"]),
            (&json!(dropped.len()), &json!(rows), &skipped),
            "{document}\n{context}"
        );
    }
    assert_eq!(run["status"], "done", "{context}");
    let there = installation.texts("SELECT id FROM event_log ORDER BY id");
    let there: BTreeSet<i64> = there
        .iter()
        .map(|id| id.parse().expect("a number"))
        .collect();
    assert_eq!(there, left, "{run}\n{context}");
    let told = installation.texts(&format!(
        "SELECT CONCAT_WS('/', name, deleted_rows, counted) FROM W.run_partition WHERE run_id = {} ORDER BY dropped_at",
        run["run"]
    ));
    let expected: Vec<String> = dropped
        .iter()
        .map(|(name, rows)| format!("{name}/{rows}/{}", u8::from(!estimated)))
        .collect();
    assert_eq!(told, expected, "{context}");
    let again = installation.run(options).expect("a second run");
    assert_eq!(
        (&only(&again)["families"], &only(&again)["skipped_samples"]),
        (&json!(0), &skipped),
        "{again}\n{context}"
    );
    assert_eq!(taken(installation), 0, "{context}");
    *seen.entry("dropped".to_owned()).or_default() += dropped.len();
    for (reason, keys) in skipped.as_object().expect("reasons") {
        *seen.entry(reason.clone()).or_default() += keys.as_array().map_or(0, Vec::len);
    }
}

pub(super) fn a_run_drops_what_the_model_says(dialect: Dialect) {
    let mut seen = BTreeMap::new();
    let counted = (0..FORMS.len()).map(|form| (form, "counted"));
    for (form, rows) in counted.chain([(2, "estimated"), (4, "estimated")]) {
        let mut installation = installed(dialect, form, rows);
        for seed in seeds("worlds of partitions", dialect, 8) {
            agreed(&mut installation, form, rows, seed, &mut seen);
        }
    }
    for (what, least) in [
        ("dropped", 30),
        ("HELD", 4),
        ("NOT_DROPPABLE", 3),
        ("UNDATED_MEMBER", 4),
        ("NON_FINAL_MEMBER", 5),
        ("RETENTION_NOT_REACHED", 2),
    ] {
        assert!(
            seen.get(what).is_some_and(|count| *count >= enough(least)),
            "{what} of {seen:?}"
        );
    }
}
