//! Random partitions, rows, holds and cutoffs: what a preview, a dry run and a run say and do is what a model in memory says.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::{grant, only, own, owner};
use crate::support::effort::{enough, seeds};
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

/// After a change of the clocks in Berlin, so that most cutoffs lie before it.
const AS_OF: &str = "2026-04-10T09:30:00Z";

const KINDS: [&str; 3] = ["timestamptz", "timestamp", "date"];

/// The type of the column that says when a row ended, for each of these.
fn kind_of_end(kind: &str) -> &'static str {
    match kind {
        "timestamptz" => "epoch-ms",
        "timestamp" => "timestamptz",
        _ => "timestamp",
    }
}

/// What a row says of its end: a state, and how many milliseconds behind the cutoff.
pub(super) type End = (Option<&'static str>, Option<i64>);

/// Most rows ended long enough ago.
pub(super) fn random_end(random: &mut SmallRng) -> End {
    const DAY: i64 = 86_400_000;
    let long_ago = [
        (Some("success"), Some(-1)),
        (Some("failed"), Some(-3 * DAY)),
    ];
    let others = [
        (None, Some(-DAY)),
        (Some("running"), Some(-DAY)),
        (Some("running"), None),
        (Some("failed"), None),
        (Some("success"), Some(0)),
        (Some("failed"), Some(DAY)),
    ];
    let one_of = if random.random_bool(0.1) {
        &others[..]
    } else {
        &long_ago
    };
    *one_of.choose(random).expect("an end")
}

/// The first of some rows that keeps its partition, and why.
pub(super) fn waiting(
    rows: &BTreeSet<i64>,
    ends: &BTreeMap<i64, End>,
) -> Option<(&'static str, i64)> {
    let ended = |id: &i64| match ends[id] {
        (None | Some("running"), _) => 0,
        (_, None) => 1,
        (_, Some(0..)) => 2,
        _ => 3,
    };
    let (fault, first) = rows.iter().map(|id| (ended(id), *id)).min()?;
    let reasons = [
        "NON_FINAL_MEMBER",
        "UNDATED_MEMBER",
        "RETENTION_NOT_REACHED",
    ];
    Some((*reasons.get(fault)?, first))
}

/// A partition: its bounds by the clock of the column, where it has any.
#[derive(Clone, Debug)]
struct Part {
    name: String,
    schema: &'static str,
    from: Option<DateTime>,
    to: Option<DateTime>,
    divided: bool,
}

impl Part {
    fn has(&self, time: DateTime) -> bool {
        self.from.is_none_or(|from| from <= time) && self.to.is_none_or(|to| time < to)
    }

    /// As windrow calls it.
    fn told(&self) -> String {
        match self.schema {
            "public" => self.name.clone(),
            other => format!("{other}.{}", self.name),
        }
    }

    fn sql(&self) -> String {
        format!("{}.\"{}\"", self.schema, self.name.replace('"', "\"\""))
    }
}

#[derive(Clone, Debug)]
struct World {
    parts: Vec<Part>,
    default: bool,
    rows: BTreeMap<i64, Option<DateTime>>,
    ends: BTreeMap<i64, End>,
    holds: BTreeSet<i64>,
}

/// What a run says and leaves.
#[derive(Debug, Default, PartialEq)]
struct Verdict {
    dropped: Vec<(String, i64)>,
    skipped: BTreeMap<String, Vec<String>>,
    left: BTreeSet<i64>,
}

impl World {
    fn random(random: &mut SmallRng, cutoff: DateTime, kind: &str) -> World {
        let dates = kind == "date";
        let anchor = if dates {
            cutoff.date().to_datetime(jiff::civil::Time::midnight())
        } else {
            cutoff
        };
        let mut edges = BTreeSet::new();
        for _ in 0..random.random_range(2..8) {
            let hours = random.random_range(-90_i64..30) * 24
                + if dates { 0 } else { random.random_range(0..24) };
            edges.insert(anchor + hours.hours());
        }
        if random.random_bool(0.5) {
            edges.insert(anchor);
        }
        if !dates && random.random_bool(0.3) {
            edges.insert(anchor + 1.microsecond());
        }
        if dates && random.random_bool(0.3) {
            edges.insert(anchor + 1.day());
        }
        let edges: Vec<DateTime> = edges.into_iter().collect();
        let mut parts = Vec::new();
        let ends = std::iter::once(None).chain(edges.iter().copied().map(Some));
        for (place, from) in ends.enumerate() {
            let to = edges.get(place).copied();
            let share = if from.is_none() || to.is_none() {
                0.35
            } else {
                0.85
            };
            if random.random_bool(share) {
                let name = ["p", "Teil \"x\" ", "ü "].choose(random).expect("a name");
                parts.push(Part {
                    name: format!("{name}{place}"),
                    schema: if random.random_bool(0.2) {
                        "other"
                    } else {
                        "public"
                    },
                    from,
                    to,
                    divided: random.random_bool(0.12),
                });
            }
        }
        let mut world = World {
            parts,
            default: random.random_bool(0.5),
            rows: BTreeMap::new(),
            ends: BTreeMap::new(),
            holds: BTreeSet::new(),
        };
        for id in 1..=random.random_range(0..24) {
            let near = *edges.choose(random).expect("an edge");
            let step: Span = if dates {
                random.random_range(-3..4_i64).days()
            } else {
                *[
                    0.seconds(),
                    1.microsecond(),
                    -1.microsecond(),
                    5.hours(),
                    -7.days(),
                    2.days(),
                ]
                .choose(random)
                .expect("a step")
            };
            let time = near + step;
            if world.default || world.parts.iter().any(|part| part.has(time)) {
                let undated = world.default && random.random_bool(0.08);
                world.rows.insert(id, (!undated).then_some(time));
                world.ends.insert(id, random_end(random));
            }
            if random.random_bool(0.06) {
                world.holds.insert(id);
            }
        }
        world
    }

    fn part_of(&self, time: Option<DateTime>) -> Option<&Part> {
        self.parts
            .iter()
            .find(|part| time.is_some_and(|time| part.has(time)))
    }

    /// `cutoff` by the clock of the column.
    fn judge(&self, cutoff: DateTime, dates: bool) -> Verdict {
        let mut verdict = Verdict {
            left: self.rows.keys().copied().collect(),
            ..Verdict::default()
        };
        let mut skip = |reason: &str, key: String| {
            verdict
                .skipped
                .entry(reason.to_owned())
                .or_default()
                .push(key)
        };
        for part in &self.parts {
            if part.to.is_none_or(|to| to > cutoff) {
                continue;
            }
            if part.divided {
                skip("NOT_DROPPABLE", part.told());
                continue;
            }
            let rows: BTreeSet<i64> = self
                .rows
                .iter()
                .filter(|(_, time)| time.is_some_and(|time| part.has(time)))
                .map(|(id, _)| *id)
                .collect();
            let held: BTreeSet<String> =
                rows.intersection(&self.holds).map(i64::to_string).collect();
            if let Some(first) = held.first() {
                skip("HELD", format!("{} ({first})", part.told()));
                continue;
            }
            if let Some((reason, first)) = waiting(&rows, &self.ends) {
                skip(reason, format!("{} ({first})", part.told()));
                continue;
            }
            verdict.left.retain(|id| !rows.contains(id));
            verdict
                .dropped
                .push((part.told(), i64::try_from(rows.len()).expect("few rows")));
        }
        let stray: Vec<Option<DateTime>> = self
            .rows
            .values()
            .filter(|time| self.part_of(**time).is_none())
            .copied()
            .collect();
        // A date is over at the end of its day.
        let over = |time: DateTime| if dates { time + 1.day() } else { time };
        if stray.iter().flatten().any(|time| over(*time) <= cutoff) {
            skip("NOT_DROPPABLE", "event_log_default".to_owned());
        }
        if stray.contains(&None) {
            skip("UNDATED_MEMBER", "event_log_default".to_owned());
        }
        verdict
    }

    /// `cutoff`: the instant.
    fn load(&self, installation: &mut Installation, kind: &str, cutoff: Timestamp) {
        for part in installation.texts("SELECT i.inhrelid::regclass::text FROM pg_inherits AS i WHERE i.inhparent = 'event_log'::regclass") {
            installation.execute(&format!("DROP TABLE {part}"));
        }
        installation.execute("DELETE FROM W.hold");
        for part in &self.parts {
            let bound = |time: Option<DateTime>, none: &str| {
                time.map_or(none.to_owned(), |time| literal(time, kind))
            };
            let name = part.sql();
            let divided = if part.divided {
                " PARTITION BY LIST (id)"
            } else {
                ""
            };
            installation.execute(&format!(
                "CREATE TABLE {name} PARTITION OF event_log FOR VALUES FROM ({}) TO ({}){divided}",
                bound(part.from, "MINVALUE"),
                bound(part.to, "MAXVALUE")
            ));
            if part.divided {
                installation.execute(&format!(
                    "CREATE TABLE {} PARTITION OF {name} DEFAULT",
                    name.replace("\"p", "\"sub")
                        .replace("\"Teil", "\"SubTeil")
                        .replace("\"ü", "\"subü")
                ));
            }
        }
        if self.default {
            installation.execute("CREATE TABLE event_log_default PARTITION OF event_log DEFAULT");
        }
        own(installation);
        for (id, time) in &self.rows {
            let time = time.map_or("NULL".to_owned(), |time| literal(time, kind));
            let (state, ended) = self.ends[id];
            let state = state.map_or("NULL".to_owned(), |state| format!("'{state}'"));
            let ended = ended.map(|behind| cutoff + behind.milliseconds());
            let ended = match (ended, kind_of_end(kind)) {
                // A number that is not above 0 is no time.
                (None, "epoch-ms") => "-1".to_owned(),
                (None, _) => "NULL".to_owned(),
                (Some(at), "epoch-ms") => at.as_millisecond().to_string(),
                (Some(at), "timestamptz") => format!("'{at}'"),
                (Some(at), _) => format!("timestamptz '{at}' AT TIME ZONE 'Europe/Berlin'"),
            };
            installation.execute(&format!(
                "INSERT INTO event_log VALUES ({id}, {time}, {state}, {ended})"
            ));
        }
        for key in &self.holds {
            let hold = json!({"rule": "event_log", "key": key, "reason": "a test", "even_if_absent": true});
            installation.set_hold(hold).expect("a hold");
        }
    }
}

fn literal(time: DateTime, kind: &str) -> String {
    match kind {
        "timestamptz" => format!("'{time}Z'"),
        "timestamp" => format!("'{time}'"),
        _ => format!("'{}'", time.date()),
    }
}

fn left(installation: &mut Installation) -> BTreeSet<i64> {
    let ids = installation.texts("SELECT id FROM event_log ORDER BY id");
    ids.iter().map(|id| id.parse().expect("a number")).collect()
}

/// What a document says, without what is left.
fn said(rule: &Value, expected: &Verdict, what: &str, seed: u64) {
    let rows: i64 = expected.dropped.iter().map(|(_, rows)| rows).sum();
    let counts: BTreeMap<&String, usize> = expected
        .skipped
        .iter()
        .map(|(reason, keys)| (reason, keys.len()))
        .collect();
    assert_eq!(
        rule["families"],
        expected.dropped.len(),
        "{what} of seed {seed}: {rule}"
    );
    assert_eq!(rule["rows"], rows, "{what} of seed {seed}: {rule}");
    assert_eq!(
        rule["skipped"],
        json!(counts),
        "{what} of seed {seed}: {rule}"
    );
    assert_eq!(
        rule["skipped_samples"],
        json!(expected.skipped),
        "{what} of seed {seed}: {rule}"
    );
}

/// A table that is partitioned by such a column, and its rule, armed.
fn installed(kind: &str, rows: &str) -> Installation {
    let end = kind_of_end(kind);
    let column = if end == "epoch-ms" { "bigint" } else { end };
    let spec = format!(
        "name = \"parts-{kind}-{rows}\"\ndialects = [\"postgres\"]\ntime_zone = \"Europe/Berlin\"\n\
         [tables]\nevent_log = {{ key = \"id bigint\" }}\n\
         [rules.event_log]\nstrategy = \"partition\"\nroot = \"event_log\"\ntime = \"at {kind}\"\n\
         rows = \"{rows}\"\nfinal = {{ state = [\"success\", \"failed\"] }}\nend_time = \"ended {end}\"\n\
         retention = {{ default = \"30d\", minimum = \"7d\", safety_lag = \"1h\" }}\n"
    );
    let schema = format!(
        "CREATE SCHEMA other; GRANT USAGE ON SCHEMA other TO PUBLIC; CREATE TABLE event_log (id bigint NOT NULL, at {kind}, state text, ended {column}) PARTITION BY RANGE (at)"
    );
    let mut installation = Installation::of(Dialect::Postgres, &schema, &graph_of(&spec));
    own(&mut installation);
    grant(&mut installation);
    installation.arm();
    installation
}

/// A preview, a dry run, a run and another one of a random world; what the model says of it.
fn agreed(installation: &mut Installation, kind: &str, rows: &str, seed: u64) -> Verdict {
    let mut random = SmallRng::seed_from_u64(seed);
    let (said_days, days) = *[(None, 30), (Some("10d"), 10), (Some("7d"), 7)]
        .choose(&mut random)
        .expect("a retention");
    let as_of: Timestamp = AS_OF.parse().expect("an instant");
    let zone = if kind == "timestamptz" {
        "UTC"
    } else {
        "Europe/Berlin"
    };
    let zone = TimeZone::get(zone).expect("a zone");
    let instant = as_of - (days * 24 + 1).hours();
    let cutoff = instant.to_zoned(zone).datetime();
    let world = World::random(&mut random, cutoff, kind);
    world.load(installation, kind, instant);
    // So few rows are all read for the statistics, and estimated right.
    let analysed = random.random_bool(0.7);
    if analysed {
        installation.execute("ANALYZE event_log");
    }
    let expected = world.judge(cutoff, kind == "date");
    let mut options = json!({"as_of": AS_OF});
    if let Some(days) = said_days {
        options["retention"] = json!(days);
    }
    let before: BTreeSet<i64> = world.rows.keys().copied().collect();
    let preview = installation.preview(options.clone()).expect("a preview");
    said(only(&preview), &expected, "the preview", seed);
    let names: Vec<&String> = expected
        .dropped
        .iter()
        .map(|(name, _)| name)
        .take(10)
        .collect();
    assert_eq!(only(&preview)["sample_roots"], json!(names), "seed {seed}");
    let mut dry = options.clone();
    dry["dry_run"] = json!(true);
    let dry = installation.run(dry).expect("a dry run");
    said(only(&dry), &expected, "the dry run", seed);
    assert_eq!(left(installation), before, "seed {seed}");

    let run = installation.run(options.clone()).expect("a run");
    assert_eq!(run["status"], "done", "seed {seed}: {run}");
    said(only(&run), &expected, "the run", seed);
    assert_eq!(
        left(installation),
        expected.left,
        "seed {seed} of {kind}: {world:?}"
    );
    let ledger = installation.texts(&format!(
        "SELECT concat_ws('/', p.name, p.deleted_rows, p.counted) FROM W.run_partition AS p WHERE p.run_id = {} ORDER BY p.dropped_at",
        run["run"]
    ));
    let dropped: Vec<String> = expected
        .dropped
        .iter()
        .map(|(name, count)| {
            let estimated = rows == "estimated" && analysed && *count > 0;
            format!("{name}/{count}/{}", if estimated { 'f' } else { 't' })
        })
        .collect();
    assert_eq!(ledger, dropped, "seed {seed}");
    for part in &world.parts {
        let gone = installation.number(&format!(
            "SELECT count(*) FROM pg_class WHERE oid = to_regclass('{}')",
            part.sql()
        )) == 0;
        let expected = expected
            .dropped
            .iter()
            .any(|(name, _)| *name == part.told());
        assert_eq!(gone, expected, "seed {seed}: {part:?}");
    }

    let again = installation.run(options).expect("a second run");
    assert_eq!(only(&again)["families"], 0, "seed {seed}: {again}");
    assert_eq!(
        only(&again)["skipped_samples"],
        json!(expected.skipped),
        "seed {seed}: {again}"
    );
    expected
}

pub(super) fn a_run_drops_what_the_model_says() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let counted = KINDS.map(|kind| (kind, "counted"));
    for (kind, rows) in counted.into_iter().chain([("timestamptz", "estimated")]) {
        let mut installation = installed(kind, rows);
        for seed in seeds("worlds of partitions", Dialect::Postgres, 40) {
            let verdict = agreed(&mut installation, kind, rows, seed);
            *seen.entry("dropped".to_owned()).or_default() += verdict.dropped.len();
            for (reason, keys) in verdict.skipped {
                *seen.entry(reason).or_default() += keys.len();
            }
        }
        let owner = owner(&installation);
        installation.execute(&format!("DROP TABLE event_log; DROP OWNED BY {owner}"));
    }
    for (what, least) in [
        ("dropped", 120),
        ("HELD", 12),
        ("NOT_DROPPABLE", 20),
        ("UNDATED_MEMBER", 12),
        ("NON_FINAL_MEMBER", 20),
        ("RETENTION_NOT_REACHED", 10),
    ] {
        assert!(
            seen.get(what).is_some_and(|count| *count >= enough(least)),
            "{what} of {seen:?}"
        );
    }
}
