//! Partitions that are made in advance on PostgreSQL.

use std::collections::BTreeMap;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::super::{armed_as, at_once, example_of, grant, only, own};
use super::layout::{Layout, ZONES};
use crate::support::effort::{enough, seeds};
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

const KINDS: [&str; 3] = ["timestamptz", "timestamp", "date"];
const AHEADS: [(&str, i64); 2] = [("30h", 30 * 3600), ("4d", 4 * 86_400)];

fn installed(kind: &str, zone: &str, ahead: &str) -> Installation {
    let spec = format!(
        "name = \"ahead-{kind}-{ahead}\"\ndialects = [\"postgres\"]\ntime_zone = \"{zone}\"\n\
         [tables]\nevent_log = {{ key = \"id bigint\" }}\n\
         [rules.event_log]\nstrategy = \"partition\"\nroot = \"event_log\"\ntime = \"at {kind}\"\nahead = \"{ahead}\"\n\
         retention = {{ default = \"900d\" }}\n"
    );
    let schema = format!("CREATE TABLE event_log (id bigint, at {kind}) PARTITION BY RANGE (at)");
    let mut installation = Installation::of(Dialect::Postgres, &schema, &graph_of(&spec));
    installation.execute("SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'");
    own(&mut installation);
    grant(&mut installation);
    installation
}

/// Name and bounds of each partition.
fn there(installation: &mut Installation) -> BTreeMap<String, String> {
    let rows = installation.texts(
        "SELECT c.relname || '/' || pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'event_log'::regclass",
    );
    rows.into_iter()
        .map(|row| {
            let (name, bounds) = row.split_once('/').expect("a bound");
            (name.to_owned(), bounds.to_owned())
        })
        .collect()
}

fn bounds(layout: &Layout, kind: &str, place: i64) -> String {
    let bound = |place: i64| {
        let bound = layout.bound(place).to_string().replace('T', " ");
        match kind {
            "date" => bound[..10].to_owned(),
            "timestamptz" => format!("{bound}+00"),
            _ => bound,
        }
    };
    format!(
        "FOR VALUES FROM ('{}') TO ('{}')",
        bound(place),
        bound(place + 1)
    )
}

/// A preview, a dry run, a run and another one of a random layout.
fn agreed(
    installation: &mut Installation,
    kind: &str,
    zone: &str,
    ahead: i64,
    seed: u64,
    seen: &mut BTreeMap<&'static str, usize>,
) {
    let mut random = SmallRng::seed_from_u64(seed);
    let layout = Layout::random(
        &mut random,
        zone,
        kind == "timestamptz",
        kind == "date",
        true,
    );
    let missing = layout.missing(ahead);
    let default = random.random_bool(0.4);
    // A row of the default partition, in the way of one that is missing.
    let late = missing
        .get(random.random_range(0..3))
        .copied()
        .filter(|_| default);
    installation.execute(&format!(
        "DROP TABLE event_log; CREATE TABLE event_log (id bigint, at {kind}, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)"
    ));
    let mut expected = BTreeMap::new();
    for place in layout.there() {
        let name = layout.name(place);
        let bounds = bounds(&layout, kind, place);
        installation.execute(&format!(
            "CREATE TABLE \"{}\" PARTITION OF event_log {bounds}",
            name.replace('"', "\"\"")
        ));
        expected.insert(name, bounds);
    }
    if default {
        installation.execute("CREATE TABLE rest PARTITION OF event_log DEFAULT");
        expected.insert("rest".to_owned(), "DEFAULT".to_owned());
    }
    if let Some(place) = late {
        installation.execute(&format!(
            "INSERT INTO event_log VALUES (1, '{}'::timestamp)",
            layout.bound(place)
        ));
    }
    own(installation);
    let context = format!("{kind}, {zone}, {ahead} s, seed {seed}: {layout:?}, late {late:?}");
    let names: Vec<String> = missing
        .iter()
        .filter(|place| Some(**place) != late)
        .map(|place| layout.missing_name(*place, "event_log_p"))
        .collect();
    installation.arm();
    let options = json!({"as_of": layout.now.to_string()});
    let mut dry = options.clone();
    dry["dry_run"] = json!(true);
    let preview = installation.preview(options.clone()).expect("a preview");
    let dry = installation.run(dry).expect("a dry run");
    assert_eq!(there(installation), expected, "{context}");
    let run = installation.run(options.clone()).expect("a run");
    for document in [&preview, &dry, &run] {
        assert_eq!(
            only(document)["made"],
            json!(names),
            "{document}\n{context}"
        );
        let not_made = only(document)["not_made"].as_object().expect("an object");
        let kept: Vec<&String> = not_made.keys().collect();
        let told: Vec<String> = late
            .iter()
            .map(|place| layout.missing_name(*place, "event_log_p"))
            .collect();
        assert_eq!(
            kept,
            told.iter().collect::<Vec<_>>(),
            "{document}\n{context}"
        );
        let said = not_made
            .values()
            .all(|it| it.as_str().is_some_and(|it| it.contains("rest has 1 rows")));
        assert!(said, "{document}\n{context}");
    }
    for place in missing.iter().filter(|place| Some(**place) != late) {
        expected.insert(
            layout.missing_name(*place, "event_log_p"),
            bounds(&layout, kind, *place),
        );
    }
    assert_eq!(there(installation), expected, "{run}\n{context}");
    let rows = installation.number("SELECT count(*) FROM event_log");
    assert_eq!(rows, i64::from(late.is_some()), "{context}");
    let again = installation.run(options).expect("a second run");
    assert_eq!(only(&again)["made"], json!([]), "{again}\n{context}");
    assert_eq!(there(installation), expected, "{again}\n{context}");
    *seen.entry("made").or_default() += names.len();
    *seen.entry("late").or_default() += usize::from(late.is_some());
    *seen.entry("gaps").or_default() +=
        usize::from(layout.hole.is_some_and(|it| missing.contains(&it)));
}

pub(super) fn a_run_makes_what_the_model_says() {
    let mut seen = BTreeMap::new();
    for kind in KINDS {
        for ((written, ahead), zone) in AHEADS.into_iter().zip(ZONES) {
            let mut installation = installed(kind, zone, written);
            for seed in seeds("layouts of partitions", Dialect::Postgres, 8) {
                agreed(&mut installation, kind, zone, ahead, seed, &mut seen);
            }
        }
    }
    for (what, least) in [("made", 60), ("late", 4), ("gaps", 3)] {
        assert!(
            seen.get(what).is_some_and(|count| *count >= enough(least)),
            "{what} of {seen:?}"
        );
    }
}

const TABLE: &str = "
CREATE TABLE event_log (
    id        bigint GENERATED ALWAYS AS IDENTITY,
    logged_at timestamptz NOT NULL,
    message   text NOT NULL DEFAULT 'none' CHECK (message <> ''),
    twice     text GENERATED ALWAYS AS (message || message) STORED,
    PRIMARY KEY (id, logged_at)
) PARTITION BY RANGE (logged_at);
CREATE INDEX event_log_message ON event_log (message);
CREATE TABLE kind (name text PRIMARY KEY);
INSERT INTO kind VALUES ('none');
ALTER TABLE event_log ADD FOREIGN KEY (message) REFERENCES kind (name);
CREATE TABLE event_log_p0 PARTITION OF event_log
    FOR VALUES FROM (date_trunc('day', now(), 'UTC') - interval '2 days') TO (date_trunc('day', now(), 'UTC') - interval '1 day');
CREATE UNLOGGED TABLE event_log_p1 PARTITION OF event_log
    FOR VALUES FROM (date_trunc('day', now(), 'UTC') - interval '1 day') TO (date_trunc('day', now(), 'UTC'))
    WITH (fillfactor = 70, autovacuum_enabled = false, toast.autovacuum_enabled = false);
ALTER TABLE event_log_p1 REPLICA IDENTITY USING INDEX event_log_p1_pkey;
ALTER TABLE event_log_p1 ENABLE ROW LEVEL SECURITY;
";

/// What the newest partition is, of itself.
const LIKE: &str = "SELECT concat_ws(' ', c.relpersistence, c.relowner::regrole, c.reloptions, x.reloptions, c.relrowsecurity, c.relreplident,
     (SELECT string_agg(format('%s %s', a.grantee::regrole, a.privilege_type), ',' ORDER BY a.privilege_type) FROM aclexplode(c.relacl) AS a
      WHERE a.grantee <> c.relowner),
     (SELECT string_agg(a.attacl::text, ',') FROM pg_attribute AS a WHERE a.attrelid = c.oid),
     (SELECT string_agg(format('%s %s', i.indisreplident, regexp_replace(pg_get_indexdef(i.indexrelid), '.* USING', '')), ',' ORDER BY 1)
      FROM pg_index AS i WHERE i.indrelid = c.oid),
     (SELECT string_agg(pg_get_constraintdef(k.oid), ',' ORDER BY k.contype, pg_get_constraintdef(k.oid)) FROM pg_constraint AS k
      WHERE k.conrelid = c.oid AND k.contype IN ('c', 'f', 'p')),
     (SELECT string_agg(concat_ws(' ', a.attname, a.attgenerated, a.attnotnull, a.attidentity, pg_get_expr(d.adbin, d.adrelid)), ','
      ORDER BY a.attnum) FROM pg_attribute AS a LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE a.attrelid = c.oid AND a.attnum > 0))
 FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid LEFT JOIN pg_class AS x ON x.oid = c.reltoastrelid
 WHERE i.inhparent = 'event_log'::regclass ORDER BY pg_get_expr(c.relpartbound, c.oid) DESC LIMIT 2";

pub(super) fn what_only_a_neighbour_has_is_copied_or_in_the_way() {
    let mut installation = armed_as(&example_of("event-log-like", "2h"), TABLE);
    installation.execute(
        "DO $$ BEGIN CREATE ROLE log_reader NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
         GRANT SELECT ON event_log_p1 TO log_reader WITH GRANT OPTION; GRANT UPDATE (message) ON event_log_p1 TO log_reader",
    );
    let made = |run: &Value| only(run)["made"].as_array().map_or(0, Vec::len);
    let at = installation
        .texts("SELECT to_char(date_trunc('day', now(), 'UTC') - interval '1 hour', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')")
        .remove(0);
    let far = json!({"as_of": at});
    // What is in the way, how it comes and how it goes.
    for (comes, goes, said) in [
        (
            "CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
             CREATE TRIGGER own BEFORE INSERT ON event_log_p1 FOR EACH ROW EXECUTE FUNCTION told()",
            "DROP TRIGGER own ON event_log_p1",
            "has a trigger or rule that the table has not (own)",
        ),
        (
            "CREATE PUBLICATION one FOR TABLE event_log_p0",
            "DROP PUBLICATION one",
            "",
        ),
        (
            "ALTER TABLE event_log_p1 SET LOGGED; CREATE PUBLICATION two FOR TABLE event_log_p1",
            "DROP PUBLICATION two; ALTER TABLE event_log_p1 SET UNLOGGED",
            "publication two names partition event_log_p1",
        ),
        (
            "CREATE RULE quiet AS ON UPDATE TO event_log_p1 DO ALSO NOTHING",
            "DROP RULE quiet ON event_log_p1",
            "has a trigger or rule that the table has not (quiet)",
        ),
    ] {
        installation.execute(comes);
        let preview = installation.preview(far.clone()).expect("a preview");
        let told = only(&preview)["not_made"].to_string();
        assert!(said.is_empty() || told.contains(said), "{comes}: {preview}");
        assert_eq!(
            made(&preview),
            usize::from(said.is_empty()),
            "{comes}: {preview}"
        );
        installation.execute(goes);
    }
    // Only the owner role may call what makes it.
    let may = "SELECT count(*) FROM pg_proc AS p CROSS JOIN pg_roles AS r WHERE p.proname = 'event_log_make_partition'
               AND p.pronamespace = '{}'::regnamespace AND r.rolname ~ '_(operator|auditor)$' AND has_function_privilege(r.oid, p.oid, 'EXECUTE')";
    let may = may.replace("{}", &installation.control);
    assert_eq!(installation.number(&may), 0);
    let run = installation.run(far).expect("a run");
    assert_eq!(made(&run), 1, "{run}");
    assert_eq!(run["status"], "done", "{run}");
    let like = installation.texts(LIKE);
    assert_eq!(like.len(), 2, "{like:?}");
    assert_eq!(like[0], like[1]);
    for part in [
        "u ",
        "fillfactor=70",
        "log_reader SELECT",
        "log_reader",
        "t i",
        "REFERENCES kind",
    ] {
        assert!(like[0].contains(part), "{part}: {like:?}");
    }
    installation.execute("INSERT INTO event_log (logged_at) VALUES (date_trunc('day', now(), 'UTC') + interval '6 hours')");
}

/// Days and what is done to them, as SQL: the begin of a day from today on.
pub(super) fn day(days: i64) -> String {
    format!("(date_trunc('day', now(), 'UTC') + interval '{days} days')")
}

/// The table of the example with daily partitions up to the begin of tomorrow.
fn daily(default: bool) -> String {
    let parts: String = (-2..1)
        .map(|place| {
            format!(
                "CREATE TABLE event_log_p{} PARTITION OF event_log FOR VALUES FROM ({}) TO ({});",
                place + 2,
                day(place),
                day(place + 1)
            )
        })
        .collect();
    let default = if default {
        "CREATE TABLE rest PARTITION OF event_log DEFAULT;"
    } else {
        ""
    };
    format!(
        "CREATE TABLE event_log (id bigint GENERATED ALWAYS AS IDENTITY, logged_at timestamptz NOT NULL, message text,
         PRIMARY KEY (id, logged_at)) PARTITION BY RANGE (logged_at);{parts}{default}"
    )
}

/// A partition that is due, with a row.
fn add_old(installation: &mut Installation) {
    installation.execute(&format!(
        "CREATE TABLE old PARTITION OF event_log FOR VALUES FROM ({}) TO ({}); INSERT INTO event_log (logged_at) VALUES ({})",
        day(-200),
        day(-100),
        day(-150)
    ));
    own(installation);
}

fn checked(installation: &mut Installation, check: &str) -> (String, String) {
    let verify = installation.call("verify", json!({})).expect("verify");
    let checks = verify["checks"].as_array().expect("checks");
    let of = checks.iter().find(|it| it["check"] == check);
    let text = |name: &str| {
        of.map_or("", |it| it[name].as_str().unwrap_or(""))
            .to_owned()
    };
    (text("severity"), text("detail"))
}

pub(super) fn others_that_have_the_table_are_waited_for_and_then_passed_over() {
    let mut installation = armed_as(&example_of("event-log-rivals", "3d"), &daily(true));
    add_old(&mut installation);
    // Somebody reads the default partition; a writer goes on beside the run.
    let mut reader = installation.connect();
    reader
        .execute("BEGIN; SELECT count(*) FROM rest")
        .expect("a reader");
    let run = installation.run(json!({})).expect("a run that gives way");
    let not_made = only(&run)["not_made"]
        .as_object()
        .expect("an object")
        .clone();
    assert_eq!(only(&run)["made"], json!([]), "{run}");
    assert_eq!(not_made.len(), 1, "{run}");
    let said = not_made
        .values()
        .next()
        .and_then(Value::as_str)
        .unwrap_or("");
    assert!(said.starts_with("LOCKED: "), "{run}");
    assert!(only(&run)["retries"].as_i64() >= Some(3), "{run}");
    // It has partitions for less than half of the time: the run is red.
    let key = only(&run)["failures"][0]["key"].as_str().unwrap_or("");
    assert!(key.starts_with("event_log_p"), "{run}");
    reader.execute("COMMIT").expect("the reader ends");
    installation.execute("DELETE FROM W.run_failure");
    let (severity, detail) = checked(&mut installation, "ahead");
    assert_eq!(severity, "notice", "{detail}");

    // Whoever writes to a partition is not in the way.
    let mut writer = installation.connect();
    writer
        .execute("BEGIN; INSERT INTO event_log (logged_at) VALUES (now())")
        .expect("a writer");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        only(&run)["made"].as_array().map(Vec::len),
        Some(3),
        "{run}"
    );
    writer.execute("COMMIT").expect("the writer ends");
    let (severity, detail) = checked(&mut installation, "ahead");
    assert_eq!(severity, "ok", "{detail}");
    // While the writer had the partition of today, the old one could not go; now it can.
    let run = installation.run(json!({})).expect("the next run");
    assert_eq!(only(&run)["made"], json!([]), "{run}");
    assert_eq!(
        installation.number("SELECT count(*) FROM pg_class WHERE relname = 'old'"),
        0,
        "{run}"
    );
}

/// PostgreSQL reads all of a default partition before it attaches another one.
pub(super) fn a_big_default_partition_is_in_the_way() {
    let mut installation = armed_as(&example_of("event-log-rest", "2d"), &daily(true));
    // Pages of few rows, all of a time that no partition will have.
    installation.execute(
        "ALTER TABLE rest SET (fillfactor = 10);
         INSERT INTO event_log (logged_at, message) SELECT now() + interval '9 years', repeat('x', 700) FROM generate_series(1, 2100)",
    );
    let size = "SELECT pg_relation_size('rest') / 1048576";
    assert_eq!(installation.number(size), 16);
    let run = installation.run(json!({})).expect("a run");
    let said = only(&run)["not_made"].to_string();
    assert!(
        said.contains("the default partition public.rest has 16 MB"),
        "{run}"
    );
    assert_eq!(only(&run)["made"], json!([]), "{run}");
    installation.execute("DELETE FROM rest WHERE id > 100");
    installation.execute("VACUUM rest");
    let run = installation.run(json!({})).expect("the next run");
    assert_eq!(
        only(&run)["made"].as_array().map(Vec::len),
        Some(2),
        "{run}"
    );
}

/// Workers make them at the same moment: each partition is there once, and none of the two ends red.
pub(super) fn two_workers_make_what_one_would() {
    let graph = Graph {
        workers: 2,
        ..example_of("event-log-pair", "9d")
    };
    let mut installation = armed_as(&graph, &daily(true));
    add_old(&mut installation);
    at_once(&installation, 1, 1);
    let parts = there(&mut installation);
    assert_eq!(parts.len(), 13, "{parts:?}");
    let failed = installation.number("SELECT count(*) FROM W.run_failure");
    assert_eq!(failed, 0);
    let run = installation.run(json!({"worker": 1})).expect("a run");
    assert_eq!(only(&run)["made"], json!([]), "{run}");
}

pub(super) fn a_run_that_cannot_make_partitions_drops_and_ends_red() {
    let mut installation = armed_as(&example_of("event-log-red", "3d"), &daily(false));
    add_old(&mut installation);
    installation.execute(&format!(
        "DROP TABLE event_log_p1;
         CREATE TABLE event_log_p1 PARTITION OF event_log FOR VALUES FROM ({}) TO ({0}::timestamptz + interval '5 hours')",
        day(-1)
    ));
    own(&mut installation);
    let run = installation.run(json!({})).expect("a run");
    let said = only(&run)["not_made"]["event_log"]
        .as_str()
        .unwrap_or("")
        .to_owned();
    assert!(said.contains("are not equally wide"), "{run}");
    assert_eq!(only(&run)["families"], 1, "{run}");
    assert_eq!(only(&run)["failures"][0]["key"], "event_log", "{run}");
    assert_ne!(run["status"], "running", "{run}");
    let (severity, detail) = checked(&mut installation, "ahead");
    assert_eq!(severity, "violation", "{detail}");
    assert!(detail.contains("none can be made in advance"), "{detail}");
    // A slip in the spec makes no thousands.
    installation.execute(&format!("DROP TABLE event_log_p1; DROP TABLE event_log_p2;
        CREATE TABLE event_log_p2 PARTITION OF event_log FOR VALUES FROM ({}) TO ({0} + interval '1 minute')", day(0)));
    own(&mut installation);
    installation.execute("DROP TABLE event_log_p0");
    let run = installation.run(json!({})).expect("a run");
    let said = only(&run)["not_made"]["event_log"]
        .as_str()
        .unwrap_or("")
        .to_owned();
    assert!(said.contains("more than 100 partitions"), "{run}");
}

pub(super) fn pg_partman_makes_partitions_and_windrow_drops_them() {
    let mut server = armed_as(&super::super::example("event-log-server"), &daily(false));
    let there =
        server.number("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_partman'");
    let version = server.number("SELECT current_setting('server_version_num')::integer / 10000");
    drop(server);
    assert!(
        there == 1 || version != 15,
        "pg_partman is not installed: run `make setup`"
    );
    if there == 0 {
        return;
    }
    let mut installation = armed_as(&super::super::example("event-log-partman"), &daily(false));
    let control = installation.control.clone();
    installation.execute(&format!(
        "CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman;
         GRANT USAGE ON SCHEMA partman TO {control}_owner; GRANT SELECT ON partman.part_config TO {control}_owner;
         DROP TABLE event_log_p0, event_log_p1, event_log_p2;
         SELECT partman.create_parent('public.event_log', 'logged_at', 'native', 'daily', p_start_partition := (now() - interval '150 days')::text)"
    ));
    own(&mut installation);
    installation.execute("INSERT INTO event_log (logged_at) SELECT now() - make_interval(days => n) FROM generate_series(0, 149) AS n");
    let config = "SELECT (to_jsonb(p) - 'datetime_string')::text FROM partman.part_config AS p";
    let before = installation.texts(config);
    let count = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'event_log'::regclass";
    let parts = installation.number(count);
    let run = installation
        .run(json!({}))
        .expect("a run beside pg_partman");
    let dropped = only(&run)["families"].as_i64().expect("a number");
    assert!(dropped > 50, "{run}");
    assert_eq!(installation.number(count), parts - dropped, "{run}");
    // Its maintenance goes on, and makes the next ones.
    installation
        .execute("UPDATE partman.part_config SET premake = 9; SELECT partman.run_maintenance()");
    own(&mut installation);
    assert!(installation.number(count) > parts - dropped);
    let run = installation.run(json!({})).expect("a second run");
    assert_eq!(
        (&run["status"], &only(&run)["families"]),
        (&json!("done"), &json!(0)),
        "{run}"
    );
    installation.execute("UPDATE partman.part_config SET premake = 4");
    assert_eq!(installation.texts(config), before);
    // One of both drops, and one of both makes.
    installation.execute("UPDATE partman.part_config SET retention = '120 days'");
    let error = format!(
        "{:#}",
        installation.preview(json!({})).expect_err("two retentions")
    );
    assert!(
        error.contains("pg_partman drops partitions of event_log, too"),
        "{error}"
    );
    installation.execute("UPDATE partman.part_config SET retention = NULL");
    installation.install(&example_of("event-log-partman", "7d"));
    // An installation takes back what the spec does not say.
    installation.execute(&format!(
        "GRANT USAGE ON SCHEMA partman TO {control}_owner; GRANT SELECT ON partman.part_config TO {control}_owner"
    ));
    let error = format!(
        "{:#}",
        installation.preview(json!({})).expect_err("two makers")
    );
    assert!(
        error.contains("pg_partman makes the partitions of event_log"),
        "{error}"
    );
    installation.execute("UPDATE partman.part_config SET automatic_maintenance = 'off'");
    installation
        .preview(json!({}))
        .expect("pg_partman makes none");
}
