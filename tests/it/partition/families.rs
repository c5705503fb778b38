//! Rules that drop the partitions of several tables together: what they say and do is what a model in memory says.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::fit;
use windrow::graph::Graph;

use super::{grant, only, owner};
use crate::support::effort::{enough, seeds};
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

/// 31 days and an hour before lies the cutoff: midnight of day 0.
const AS_OF: &str = "2026-04-10T01:00:00Z";
const DAY_0: &str = "timestamptz '2026-03-10 00:00+00'";

/// In the order of deletion; rows of steps name the run, those of notes do not.
const TABLES: [&str; 3] = ["step", "note", "run"];
const RUN: usize = 2;

const SPEC: &str = r#"
dialects = ["postgres"]
[tables]
run  = { key = "id bigint" }
step = { parents = ["run_id bigint -> run.id"], indexed = ["run_id"] }
note = {}
[rules.runs]
strategy  = "partition"
root      = "run"
time      = "at timestamptz"
tables    = ["step: run_id", "note", "run"]
references = ["pin: run_id -> run"]
final      = { state = "done" }
retention = { default = "31d", minimum = "7d", safety_lag = "1h" }
"#;

const SCHEMA: &str = "
CREATE TABLE run (id bigint NOT NULL, at timestamptz, state text DEFAULT 'done', PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE step (id bigint, run_id bigint, at timestamptz) PARTITION BY RANGE (at);
CREATE INDEX step_run ON step (run_id);
CREATE TABLE note (id bigint, at timestamptz) PARTITION BY RANGE (at);
CREATE TABLE pin (run_id bigint);
";

/// A partition: its bounds in days.
#[derive(Clone, Debug)]
struct Part {
    table: usize,
    name: String,
    from: Option<i64>,
    to: Option<i64>,
    divided: bool,
}

impl Part {
    fn since(&self) -> i64 {
        self.from.unwrap_or(i64::MIN)
    }

    fn till(&self) -> i64 {
        self.to.unwrap_or(i64::MAX)
    }

    /// Whether it has a row of some hours.
    fn has(&self, hours: i64) -> bool {
        self.from.is_none_or(|from| from * 24 <= hours) && self.to.is_none_or(|to| hours < to * 24)
    }

    fn overlaps(&self, other: &Part) -> bool {
        self.since() < other.till() && other.since() < self.till()
    }
}

#[derive(Clone, Debug)]
struct Row {
    table: usize,
    id: i64,
    run: i64,
    hours: i64,
}

#[derive(Clone, Debug)]
struct World {
    parts: Vec<Part>,
    defaults: Vec<usize>,
    rows: Vec<Row>,
    holds: BTreeSet<i64>,
    /// The runs that rows of a table outside of the rule refer to.
    pins: BTreeSet<i64>,
    /// The runs that have not ended.
    open: BTreeSet<i64>,
}

/// What a run says and leaves.
#[derive(Debug, Default, PartialEq)]
struct Verdict {
    families: Vec<String>,
    dropped: BTreeMap<String, usize>,
    skipped: BTreeMap<String, Vec<String>>,
    rows: [usize; 3],
}

impl World {
    fn random(random: &mut SmallRng) -> World {
        let mut parts = Vec::new();
        let mut edges: Vec<i64> = (0..random.random_range(3..8))
            .map(|_| random.random_range(-20..8))
            .collect();
        edges.push(0);
        edges.sort_unstable();
        edges.dedup();
        for (table, name) in TABLES.iter().enumerate() {
            // Some tables have the same bounds as others, some leave bounds out.
            let all = random.random_bool(0.5);
            let own: Vec<i64> = edges
                .iter()
                .copied()
                .filter(|_| all || random.random_bool(0.6))
                .collect();
            let ends = std::iter::once(None).chain(own.iter().copied().map(Some));
            for (place, from) in ends.enumerate() {
                let to = own.get(place).copied();
                let open = from.is_none() || to.is_none();
                if random.random_bool(if open { 0.25 } else { 0.85 }) {
                    parts.push(Part {
                        table,
                        name: format!("{name}_{place}"),
                        from,
                        to,
                        divided: random.random_bool(0.05),
                    });
                }
            }
        }
        let defaults: Vec<usize> = (0..TABLES.len())
            .filter(|_| random.random_bool(0.5))
            .collect();
        let mut world = World {
            parts,
            defaults,
            rows: Vec::new(),
            holds: BTreeSet::new(),
            pins: BTreeSet::new(),
            open: BTreeSet::new(),
        };
        for id in 1..=random.random_range(0..30) {
            let table = random.random_range(0..TABLES.len());
            let hours = edges.choose(random).expect("an edge") * 24
                + [0, 12, -1].choose(random).expect("a step");
            if world.defaults.contains(&table) || world.part_of(table, hours).is_some() {
                let mut run = random.random_range(1..30);
                // Some are of a run that is there.
                let mut runs = world.rows.iter().filter(|row| row.table == RUN);
                if run % 2 == 0
                    && let Some(known) = runs.nth(usize::try_from(run / 2 % 3).expect("small"))
                {
                    run = known.id;
                }
                world.rows.push(Row {
                    table,
                    id,
                    run,
                    hours,
                });
            }
            if random.random_bool(0.12) {
                world.holds.insert(id);
            }
            if random.random_bool(0.08) {
                world.pins.insert(id);
            }
        }
        world.open = (1..30).filter(|_| random.random_bool(0.16)).collect();
        if world.rows.len().is_multiple_of(2) {
            let apart = world.step_of_another_family().map(|step| step.run);
            world.open.extend(apart);
        }
        world
    }

    /// A step that is over, and in a partition that does not overlap with that of its run.
    fn step_of_another_family(&self) -> Option<&Row> {
        let mut steps = self
            .rows
            .iter()
            .filter(|row| row.table == 0 && row.hours < 0);
        steps.find(|step| {
            let part = self.part_of(0, step.hours);
            let mut runs = self
                .rows
                .iter()
                .filter(|row| row.table == RUN && row.id == step.run);
            let its = runs.find_map(|run| self.part_of(RUN, run.hours));
            part.zip(its).is_some_and(|(part, its)| !part.overlaps(its))
        })
    }

    fn part_of(&self, table: usize, hours: i64) -> Option<&Part> {
        let mut parts = self.parts.iter();
        parts.find(|part| part.table == table && part.has(hours))
    }

    fn rows_of(&self, part: &Part) -> Vec<&Row> {
        let rows = self.rows.iter();
        rows.filter(|row| row.table == part.table && part.has(row.hours))
            .collect()
    }

    /// The partitions that hang together, in the order of deletion; the families by their ends.
    fn families(&self) -> Vec<Vec<&Part>> {
        let mut families: Vec<Vec<&Part>> = Vec::new();
        for part in &self.parts {
            let (mut with, without): (Vec<_>, Vec<_>) = families
                .into_iter()
                .partition(|family: &Vec<&Part>| family.iter().any(|it| it.overlaps(part)));
            families = without;
            with.push(vec![part]);
            families.push(with.concat());
        }
        for family in &mut families {
            family.sort_by_key(|part| (part.table, part.since()));
        }
        families.sort_by_key(|family| family.iter().map(|part| part.till()).max());
        families
    }

    /// What keeps the rows of a partition.
    fn kept(&self, part: &Part) -> Option<(&'static str, String)> {
        let rows = self.rows_of(part);
        let keys = rows.iter().filter_map(|row| match row.table {
            RUN => Some(row.id),
            0 => Some(row.run),
            _ => None,
        });
        let keys = keys.filter(|key| self.holds.contains(key));
        if let Some(first) = keys.map(|key| key.to_string()).min() {
            return Some(("HELD", format!("{} ({first})", part.name)));
        }
        // The runs that are there, in any partition.
        let runs = self.rows.iter().filter(|row| row.table == RUN);
        let runs: BTreeSet<i64> = runs.map(|row| row.id).collect();
        let named = rows.iter().filter_map(|row| match row.table {
            RUN => Some(row.id),
            0 => Some(row.run).filter(|run| runs.contains(run)),
            _ => None,
        });
        if let Some(first) = named.filter(|id| self.open.contains(id)).min() {
            return Some(("NON_FINAL_MEMBER", format!("{} ({first})", part.name)));
        }
        let ids = rows.iter().filter(|row| row.table == RUN).map(|row| row.id);
        let first = ids.filter(|id| self.pins.contains(id)).min()?;
        Some(("REFERENCED", format!("{} ({first})", part.name)))
    }

    /// Whether a step keeps its partition, and its run is not in one of the same family.
    fn is_of_another(&self, step: &str) -> bool {
        let (part, run) = step.split_once(" (").expect("a partition and a key");
        let run = run.trim_end_matches(')');
        let families = self.families();
        let mut own = families.iter();
        let own = own.find(|family| family.iter().any(|it| it.name == part));
        let mut own = own.into_iter().flatten().filter(|it| it.table == RUN);
        !own.any(|it| self.rows_of(it).iter().any(|row| row.id.to_string() == run))
    }

    fn judge(&self) -> Verdict {
        let mut verdict = Verdict::default();
        let mut late = Vec::new();
        for family in self.families() {
            let over = |part: &&&Part| part.till() <= 0;
            if !family.iter().all(|part| over(&part)) {
                let first = family.iter().find(over);
                let young = family.iter().find(|part| !over(part));
                late.extend(first.zip(young).map(|(first, young)| {
                    let since = family.iter().map(|part| part.since()).min();
                    (since, format!("{} ({})", first.name, young.name))
                }));
                continue;
            }
            let divided = family.iter().find(|part| part.divided);
            let divided = divided.map(|part| ("NOT_DROPPABLE", part.name.clone()));
            let kept = family.iter().find_map(|part| self.kept(part));
            if let Some((reason, key)) = divided.or(kept) {
                verdict.skip(reason, key);
                continue;
            }
            let last = family.iter().rev();
            let named = last.max_by_key(|part| (part.table == RUN, part.till(), part.table));
            verdict.families.push(named.expect("one").name.clone());
            for part in family {
                let rows = self.rows_of(part).len();
                verdict.dropped.insert(part.name.clone(), rows);
                verdict.rows[part.table] += rows;
            }
        }
        for table in &self.defaults {
            let mut rows = self.rows.iter().filter(|row| row.table == *table);
            if rows.any(|row| row.hours <= 0 && self.part_of(*table, row.hours).is_none()) {
                verdict.skip("NOT_DROPPABLE", format!("{}_default", TABLES[*table]));
            }
        }
        late.sort();
        for (_, key) in late {
            verdict.skip("RETENTION_NOT_REACHED", key);
        }
        verdict
    }

    fn load(&self, installation: &mut Installation) {
        let owner = owner(installation);
        let old = "SELECT i.inhrelid::regclass::text FROM pg_inherits AS i \
                   WHERE i.inhparent IN ('run'::regclass, 'step'::regclass, 'note'::regclass)";
        for part in installation.texts(old) {
            installation.execute(&format!("DROP TABLE {part}"));
        }
        installation.execute("DELETE FROM W.hold; DELETE FROM pin");
        for key in &self.pins {
            installation.execute(&format!("INSERT INTO pin VALUES ({key})"));
        }
        for part in &self.parts {
            let bound = |day: Option<i64>, none: &str| {
                day.map_or(none.to_owned(), |day| {
                    format!("{DAY_0} + interval '{day} days'")
                })
            };
            let (name, table) = (&part.name, TABLES[part.table]);
            let by = if part.divided {
                " PARTITION BY LIST (id)"
            } else {
                ""
            };
            installation.execute(&format!(
                "CREATE TABLE {name} PARTITION OF {table} FOR VALUES FROM ({}) TO ({}){by}; ALTER TABLE {name} OWNER TO {owner}",
                bound(part.from, "MINVALUE"),
                bound(part.to, "MAXVALUE")
            ));
            if part.divided {
                installation.execute(&format!(
                    "CREATE TABLE {name}_all PARTITION OF {name} DEFAULT"
                ));
            }
        }
        for table in &self.defaults {
            let table = TABLES[*table];
            installation.execute(&format!(
                "CREATE TABLE {table}_default PARTITION OF {table} DEFAULT; ALTER TABLE {table}_default OWNER TO {owner}"
            ));
        }
        for Row {
            table,
            id,
            run,
            hours,
        } in &self.rows
        {
            let run = if *table == 0 {
                format!("{run}, ")
            } else {
                String::new()
            };
            installation.execute(&format!(
                "INSERT INTO {} VALUES ({id}, {run}{DAY_0} + interval '{hours} hours')",
                TABLES[*table]
            ));
        }
        for id in &self.open {
            let state = ["'running'", "NULL"][usize::from(id % 3 == 0)];
            installation.execute(&format!("UPDATE run SET state = {state} WHERE id = {id}"));
        }
        for key in &self.holds {
            let hold =
                json!({"rule": "runs", "key": key, "reason": "a test", "even_if_absent": true});
            installation.set_hold(hold).expect("a hold");
        }
    }
}

impl Verdict {
    fn skip(&mut self, reason: &str, key: String) {
        self.skipped.entry(reason.to_owned()).or_default().push(key);
    }

    /// What a document says.
    fn is_said(&self, rule: &Value, what: &str) {
        let counts: BTreeMap<&String, usize> = self
            .skipped
            .iter()
            .map(|(reason, keys)| (reason, keys.len()))
            .collect();
        assert_eq!(rule["families"], self.families.len(), "{what}: {rule}");
        assert_eq!(
            rule["rows"],
            self.rows.iter().sum::<usize>(),
            "{what}: {rule}"
        );
        for (table, rows) in TABLES.iter().zip(self.rows) {
            assert_eq!(rule["tables"][table], rows, "{what}: {table}: {rule}");
        }
        assert_eq!(rule["skipped"], json!(counts), "{what}: {rule}");
        assert_eq!(
            rule["skipped_samples"],
            json!(self.skipped),
            "{what}: {rule}"
        );
    }
}

/// The tables and their rule, in an installation of this name.
pub(crate) fn graph(name: &str) -> Graph {
    graph_of(&format!("name = \"{name}\"{SPEC}"))
}

/// The same with an owner of their own, armed.
fn installed(name: &str, schema: &str) -> Installation {
    let mut installation = Installation::of(Dialect::Postgres, schema, &graph(name));
    let owner = owner(&installation);
    installation.execute(&format!(
        "DO $$ BEGIN CREATE ROLE {owner} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
    ));
    grant(&mut installation);
    installation
}

/// The partitions of all tables.
fn there(installation: &mut Installation) -> BTreeSet<String> {
    let sql = "SELECT i.inhrelid::regclass::text FROM pg_inherits AS i \
               WHERE i.inhparent IN ('run'::regclass, 'step'::regclass, 'note'::regclass)";
    installation.texts(sql).into_iter().collect()
}

pub(super) fn partitions_of_several_tables_go_as_the_model_says() {
    let mut installation = installed("part-families", SCHEMA);
    installation.arm();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in seeds("worlds of families of partitions", Dialect::Postgres, 60) {
        let world = World::random(&mut SmallRng::seed_from_u64(seed));
        world.load(&mut installation);
        let expected = world.judge();
        let what = |of: &str| format!("{of} of seed {seed}");
        let options = json!({"as_of": AS_OF});
        let before = there(&mut installation);
        let preview = installation.preview(options.clone()).expect("a preview");
        expected.is_said(only(&preview), &what("the preview"));
        let first: Vec<&String> = expected.families.iter().take(10).collect();
        assert_eq!(only(&preview)["sample_roots"], json!(first), "seed {seed}");
        let dry = json!({"as_of": AS_OF, "dry_run": true});
        let dry = installation.run(dry).expect("a dry run");
        expected.is_said(only(&dry), &what("the dry run"));
        assert_eq!(there(&mut installation), before, "seed {seed}");

        let run = installation.run(options.clone()).expect("a run");
        assert_eq!(run["status"], "done", "seed {seed}: {run}");
        expected.is_said(only(&run), &what("the run"));
        let left: BTreeSet<String> = before
            .iter()
            .filter(|name| !expected.dropped.contains_key(*name))
            .cloned()
            .collect();
        assert_eq!(there(&mut installation), left, "seed {seed}: {world:?}");
        let ledger = installation.texts(&format!(
            "SELECT concat_ws('/', p.name, p.deleted_rows) FROM W.run_partition AS p WHERE p.run_id = {} AND p.name LIKE p.table_name || '_%'",
            run["run"]
        ));
        let ledger: BTreeSet<String> = ledger.into_iter().collect();
        let dropped = expected.dropped.iter();
        let dropped: BTreeSet<String> = dropped
            .map(|(name, rows)| format!("{name}/{rows}"))
            .collect();
        assert_eq!(ledger, dropped, "seed {seed}");

        let again = installation.run(options).expect("a second run");
        assert_eq!(only(&again)["families"], 0, "seed {seed}: {again}");
        *seen.entry("families".to_owned()).or_default() += expected.families.len();
        let more = expected.dropped.len() - expected.families.len();
        *seen.entry("further partitions".to_owned()).or_default() += more;
        for (reason, keys) in expected.skipped {
            if reason == "NON_FINAL_MEMBER" {
                let steps = keys.iter().filter(|it| it.starts_with("step_"));
                let apart = steps.filter(|it| world.is_of_another(it)).count();
                *seen
                    .entry("steps of other families".to_owned())
                    .or_default() += apart;
            }
            *seen.entry(reason).or_default() += keys.len();
        }
    }
    for (what, least) in [
        ("families", 60),
        ("steps of other families", 3),
        ("further partitions", 60),
        ("HELD", 9),
        ("REFERENCED", 4),
        ("NON_FINAL_MEMBER", 6),
        ("NOT_DROPPABLE", 15),
        ("RETENTION_NOT_REACHED", 9),
    ] {
        assert!(
            seen.get(what).is_some_and(|count| *count >= enough(least)),
            "{what} of {seen:?}"
        );
    }
    let owner = owner(&installation);
    installation.execute(&format!(
        "DROP TABLE run, step, note, pin; DROP OWNED BY {owner}"
    ));
}

/// Families of three months; the rule says when a run ended.
const MONTHS: &str = r#"
dialects = ["postgres"]
[tables]
run  = { key = "id bigint" }
step = { parents = ["run_id bigint -> run.id"], indexed = ["run_id"] }
[rules.runs]
strategy  = "partition"
root      = "run"
time      = "at timestamptz"
tables    = ["step: run_id", "run: within"]
final     = { state = "done" }
end_time  = "ended timestamptz"
rows      = "estimated"
retention = { default = "31d", minimum = "7d", safety_lag = "1h" }
"#;

/// The rows of a run and those of its steps are in partitions of other months.
pub(super) fn steps_of_runs_of_other_families_stay_with_them() {
    let mut schema = "
CREATE TABLE run (id bigint NOT NULL, at timestamptz, state text, ended timestamptz, within bigint) PARTITION BY RANGE (at);
CREATE INDEX ON run (id);
CREATE INDEX ON run (within);
CREATE TABLE step (id bigint, run_id bigint, at timestamptz) PARTITION BY RANGE (at);
CREATE INDEX ON step (run_id);
CREATE TABLE run_default PARTITION OF run DEFAULT;
CREATE TABLE note (id bigint);"
        .to_owned();
    for (table, month) in ["run", "step"]
        .into_iter()
        .flat_map(|table| [1, 2, 3].map(|month| (table, month)))
    {
        schema += &format!(
            "CREATE TABLE {table}_{month} PARTITION OF {table} FOR VALUES FROM ('2026-0{month}-01') TO ('2026-0{}-01');",
            month + 1
        );
    }
    let graph = graph_of(&format!("name = \"part-months\"{MONTHS}"));
    let mut installation = Installation::of(Dialect::Postgres, &schema, &graph);
    let owner = owner(&installation);
    installation.execute(&format!(
        "DO $$ BEGIN CREATE ROLE {owner} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
    ));
    grant(&mut installation);
    for part in there(&mut installation) {
        installation.execute(&format!("ALTER TABLE {part} OWNER TO {owner}"));
    }
    installation.arm();
    let step = |run: i64, day: &str| format!("INSERT INTO step VALUES (3, {run}, '2026-{day}')");
    // Of run 17, a step is in the month after it; of run 30, one in the month before; run 99 is in the default partition.
    for (comes, id, kept) in [
        (
            step(17, "02-01"),
            17,
            ["step_1 (17)", "step_2 (17)"].as_slice(),
        ),
        (step(30, "02-28"), 30, &["step_2 (30)", "run_3 (30)"]),
        (step(99, "02-28"), 99, &["step_2 (99)"]),
        (
            "INSERT INTO run VALUES (21, '2026-02-01', 'done', '2026-02-02', 17)".to_owned(),
            17,
            &["step_1 (17)", "run_2 (17)"],
        ),
    ] {
        for (fault, reason) in [
            ("state = 'running', ended = NULL", "NON_FINAL_MEMBER"),
            ("state = NULL", "NON_FINAL_MEMBER"),
            ("ended = NULL", "UNDATED_MEMBER"),
            ("ended = '2026-04-20'", "RETENTION_NOT_REACHED"),
        ] {
            installation.execute(
                "TRUNCATE run, step;
                 INSERT INTO run VALUES (17, '2026-01-31', 'done', '2026-02-01'), (20, '2026-02-02', 'done', '2026-02-02'),
                     (30, '2026-03-05', 'done', '2026-03-05'), (99, '2027-01-01', 'done', '2026-02-02');
                 INSERT INTO step VALUES (1, 17, '2026-01-31'), (2, 20, '2026-02-02')",
            );
            installation.execute(&comes);
            installation.execute(&format!("UPDATE run SET {fault} WHERE id = {id}"));
            let preview = installation.preview(json!({"as_of": "2026-05-05"}));
            let dry = installation.run(json!({"as_of": "2026-05-05", "dry_run": true}));
            for told in [preview.expect("a preview"), dry.expect("a dry run")] {
                assert_eq!(
                    only(&told)["skipped_samples"],
                    json!({reason: kept}),
                    "{comes}: {fault}: {told}"
                );
            }
        }
    }
    let run = installation.run(json!({"as_of": "2026-05-05"}));
    assert_eq!(only(&run.expect("a run"))["families"], 1);
    let steps = "SELECT count(*) FROM step";
    assert_eq!(installation.number(steps), 2);
    // Once it has ended.
    installation.execute("UPDATE run SET ended = '2026-02-03' WHERE id = 17");
    let run = installation.run(json!({"as_of": "2026-05-05"}));
    assert_eq!(only(&run.expect("a run"))["families"], 2);
    assert_eq!(installation.number(steps), 0);
}

/// How many foreign keys `check --database` says keep partitions.
fn told(installation: &mut Installation) -> usize {
    let catalog = installation.session.catalog("public").expect("a catalog");
    let found = fit::compare(&graph("part-keys"), &catalog);
    assert!(
        found.iter().all(|it| it.code != "partitioned"),
        "{found:#?}"
    );
    let bound = found.iter().filter(|it| it.code == "partition-bound");
    bound.count()
}

pub(super) fn foreign_keys_go_from_partition_to_partition() {
    let schema = format!(
        "{SCHEMA}
         CREATE TABLE run_1 PARTITION OF run FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
         CREATE TABLE run_2 PARTITION OF run FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
         CREATE TABLE step_1 PARTITION OF step FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
         CREATE TABLE step_2 PARTITION OF step FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
         ALTER TABLE step_1 ADD CONSTRAINT of_run FOREIGN KEY (run_id, at) REFERENCES run_1 (id, at);
         INSERT INTO run VALUES (1, '2026-01-03'), (2, '2026-02-03');
         INSERT INTO step VALUES (1, 1, '2026-01-03'), (2, 2, '2026-02-03');"
    );
    let mut installation = installed("part-keys", &schema);
    let owner = owner(&installation);
    installation.execute(&format!(
        "ALTER TABLE run OWNER TO {owner}; ALTER TABLE step OWNER TO {owner}; ALTER TABLE note OWNER TO {owner};
         ALTER TABLE run_1 OWNER TO {owner}; ALTER TABLE run_2 OWNER TO {owner};
         ALTER TABLE step_1 OWNER TO {owner}; ALTER TABLE step_2 OWNER TO {owner}"
    ));
    installation.arm();
    assert_eq!(told(&mut installation), 0);
    // Across families, and of the whole tables.
    let options = json!({"as_of": AS_OF});
    for (comes, goes, said) in [
        (
            "ALTER TABLE step_2 ADD CONSTRAINT early FOREIGN KEY (run_id, at) REFERENCES run_1 (id, at) NOT VALID",
            "ALTER TABLE step_2 DROP CONSTRAINT early",
            "step_2 refers to run by early",
        ),
        (
            "ALTER TABLE step ADD CONSTRAINT wide FOREIGN KEY (run_id, at) REFERENCES run (id, at)",
            "ALTER TABLE step DROP CONSTRAINT wide",
            "make keys from each partition to the one of its family",
        ),
    ] {
        installation.execute(comes);
        assert_eq!(told(&mut installation), usize::from(comes.contains("wide")));
        let error = installation.preview(options.clone()).expect_err(comes);
        assert!(format!("{error:#}").contains(said), "{comes}: {error:#}");
        let refused = installation.run(options.clone()).expect_err(comes);
        assert!(
            format!("{refused:#}").contains(said),
            "{comes}: {refused:#}"
        );
        installation.execute(goes);
    }
    let run = installation.run(options).expect("a run");
    assert_eq!(
        (&only(&run)["families"], &only(&run)["rows"]),
        (&json!(2), &json!(4)),
        "{run}"
    );
    assert!(there(&mut installation).is_empty());
    let verify = installation.call("verify", json!({})).expect("verify");
    let found = violations(&verify);
    // No table has partitions any more.
    let checks: Vec<&Value> = found.iter().map(|it| &it["check"]).collect();
    assert_eq!(checks, ["ahead", "ahead", "ahead"], "{found:#?}");
}
