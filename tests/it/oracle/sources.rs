//! Where retentions come from: policies, definitions of the application, values of the spec; and what a day is.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use super::{WORLDS, check_run, explore_in, now};
use crate::harness::tests;
use crate::support::effort::seeds;
use crate::support::graphs::with_retention;
use crate::support::installation::{Installation, tick};
use crate::support::oracle::{self, days_before};
use crate::support::world::{BY_VALUE, DAY, Row, SECOND, Source, World, timestamp};

tests! {
    alone: [
        the_sources_decide_something,
    ],
    every_server: [
        definitions_decide_as_the_model_says,
        values_decide_as_the_model_says,
        calendar_days_count_as_the_model_says,
        every_server_counts_the_days_of_a_calendar_alike,
        a_changed_definition_counts_with_the_next_run,
        a_definition_that_changes_during_a_run_counts_from_the_next_batch,
        a_policy_needs_a_retention_where_there_is_no_default,
        the_backlog_is_what_the_source_lets_go,
    ],
}

const PLAIN: &str = r#"minimum = "7d", safety_lag = "1d", per = "project_code bigint""#;
const FROM: &str = r#"from = "project_keep: code -> keep_days days""#;
const BERLIN: &str = "Europe/Berlin";
const CALENDAR: &str = r#"days = "calendar""#;
const DEFAULT: (&str, i64) = (r#"default = "30d""#, 30 * DAY);

/// What a rule's retention says, and the worlds that go with it.
struct Kind {
    source: Source,
    default: Option<i64>,
    calendar: bool,
}

impl Kind {
    fn retention(&self) -> String {
        let mut parts = vec![PLAIN.to_owned()];
        match self.source {
            Source::Nothing => parts.push("opt_in = true, default = \"30d\"".to_owned()),
            Source::Definitions => parts.push(FROM.to_owned()),
            Source::Values => {
                let values = BY_VALUE.map(|(value, days)| format!("\"{value}\" = \"P{days}D\""));
                parts.push(format!("by_value = {{ {} }}", values.join(", ")));
            }
        }
        parts.extend(self.default.map(|_| DEFAULT.0.to_owned()));
        parts.extend(self.calendar.then(|| CALENDAR.to_owned()));
        parts.join(", ")
    }

    fn world(&self, seed: u64, tick: i64) -> World {
        let mut world = World::random(seed, Shared::Closed, now(), tick);
        if self.source != Source::Nothing {
            world = world.with_source(seed, tick, self.source, self.default);
        }
        if self.calendar {
            world = world.in_berlin(seed);
        }
        world
    }
}

fn kinds(source: Source, calendar: bool) -> [Kind; 2] {
    [None, Some(DEFAULT.1)].map(|default| Kind {
        source,
        default,
        calendar,
    })
}

fn explore(dialect: Dialect, kinds: &[Kind]) {
    let tick = tick(dialect);
    for kind in kinds {
        let zone = if kind.calendar { BERLIN } else { "UTC" };
        let graph = with_retention(&kind.retention(), zone);
        let mut database = Installation::with_definitions(dialect, &graph);
        let make = |seed| kind.world(seed, tick);
        explore_in(
            &mut database,
            seeds("worlds by source of retention", dialect, WORLDS / 8),
            &check_run,
            &make,
            &|world| world,
        );
    }
}

fn definitions_decide_as_the_model_says(dialect: Dialect) {
    explore(dialect, &kinds(Source::Definitions, false));
}

fn values_decide_as_the_model_says(dialect: Dialect) {
    explore(dialect, &kinds(Source::Values, false));
}

fn calendar_days_count_as_the_model_says(dialect: Dialect) {
    let [policies, _] = kinds(Source::Nothing, true);
    explore(dialect, &[policies]);
    explore(dialect, &kinds(Source::Definitions, true));
}

/// What the tests above look at must not be the same thing over and over.
fn the_sources_decide_something() {
    for (source, calendar) in [
        (Source::Definitions, false),
        (Source::Values, false),
        (Source::Definitions, true),
    ] {
        for kind in kinds(source, calendar) {
            let (mut differ, mut unsaid, mut hours) = (0, 0, 0);
            for seed in 1..=WORLDS / 2 {
                let world = kind.world(seed, SECOND);
                let outcome = oracle::run(&world);
                let without = World {
                    source: Source::Nothing,
                    ..world.clone()
                };
                differ += u32::from(oracle::run(&without).deleted != outcome.deleted);
                unsaid += u32::from(outcome.without_policy > Some(0));
                let plain = World {
                    calendar: false,
                    ..world
                };
                hours += u32::from(oracle::run(&plain).deleted != outcome.deleted);
            }
            let found = format!("{source:?} {:?}: {differ} {unsaid} {hours}", kind.default);
            assert!(differ >= 4, "{found}");
            assert_eq!(unsaid >= 4, kind.default.is_none(), "{found}");
            assert_eq!(hours >= 4, calendar, "{found}");
        }
    }
}

/// Every half hour of some days around each change of the clocks, and lengths that lead there.
fn every_server_counts_the_days_of_a_calendar_alike(dialect: Dialect) {
    let mut database = Installation::armed(dialect, &with_retention(&calendar(), BERLIN));
    let mut compared = 0;
    for change in [1_743_296_400, 1_761_440_400, 1_774_746_000] {
        for days in [0, 1, 7, 31] {
            for half_hours in -60..=60 {
                let instant = (change + days * 86_400 + half_hours * 1_800 + 1) * SECOND;
                let rest = [0, 1, 3_600, 5_400][compared % 4];
                let length = days * 86_400 + rest;
                let literal = timestamp(instant);
                let found = match dialect {
                    Dialect::Postgres => {
                        let at = format!("'{literal}Z'::timestamptz");
                        let sql = format!(
                            "SELECT to_char(W.calendar_before({at}, {length}, '{BERLIN}') AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"
                        );
                        database.texts(&sql)
                    }
                    Dialect::Mysql | Dialect::Mariadb => {
                        database.execute(&format!(
                            "CALL W.days_before('{literal}', {length}, '{BERLIN}', @instant)"
                        ));
                        database.texts("SELECT CAST(CAST(@instant AS datetime(6)) AS char)")
                    }
                };
                let expected = timestamp(days_before(instant, length * SECOND));
                assert_eq!(found, [expected], "{length} s before {literal} UTC");
                compared += 1;
            }
        }
    }
}

fn calendar() -> String {
    format!("{PLAIN}, {CALENDAR}, {}, opt_in = true", DEFAULT.0)
}

/// An instance of project 1 that ended so many days ago.
fn root(id: i32, days: i64) -> String {
    instance(id, 1, days)
}

fn instance(id: i32, project: i64, days: i64) -> String {
    let row = Row::Instance {
        id,
        state: Some(7),
        end_time: Some(now() - days * DAY),
        is_sub_workflow: Some(0),
        project: Some(project),
    };
    row.insert()
}

fn left(database: &mut Installation) -> Vec<String> {
    database.texts("SELECT i.id FROM t_ds_workflow_instance AS i ORDER BY i.id")
}

fn clean(database: &mut Installation) -> Value {
    let result = database.run(json!({})).expect("a run");
    assert_eq!(result["status"], "done", "{result}");
    result
}

/// A policy overrides the definition; when it is dropped, the definition counts again.
fn a_changed_definition_counts_with_the_next_run(dialect: Dialect) {
    let graph = with_retention(&format!("{PLAIN}, {FROM}"), "UTC");
    let mut database = Installation::with_definitions(dialect, &graph);
    for (id, days) in [(1, 200), (2, 100), (3, 40), (4, 3)] {
        database.execute(&root(id, days));
    }
    let without = |database: &mut Installation| {
        let preview = database.preview(json!({})).expect("a preview");
        preview["rules"][0]["without_policy"].clone()
    };
    // No definition at all.
    assert_eq!(without(&mut database), 3);
    clean(&mut database);
    assert_eq!(left(&mut database), ["1", "2", "3", "4"]);
    database.execute("INSERT INTO project_keep VALUES (1, NULL)");
    clean(&mut database);
    assert_eq!(left(&mut database), ["1", "2", "3", "4"]);
    database.execute("UPDATE project_keep SET keep_days = 150");
    assert_eq!(without(&mut database), 0);
    clean(&mut database);
    assert_eq!(left(&mut database), ["2", "3", "4"]);
    // Disabled: the definition is not asked, and nothing waits for a policy.
    database.execute("UPDATE project_keep SET keep_days = 60");
    let disabled = json!({"scope": "1", "enabled": false, "retention": "30d"});
    database.set_policy(disabled).expect("a policy");
    clean(&mut database);
    assert_eq!(left(&mut database), ["2", "3", "4"]);
    assert_eq!(without(&mut database), 0);
    database
        .call("drop_policy", json!({"scope": "1"}))
        .expect("no policy");
    clean(&mut database);
    assert_eq!(left(&mut database), ["3", "4"]);
    // Nothing undercuts the minimum.
    database.execute("UPDATE project_keep SET keep_days = 0");
    clean(&mut database);
    assert_eq!(left(&mut database), ["4"]);
}

/// The first batch itself lets someone change the definition.
fn a_definition_that_changes_during_a_run_counts_from_the_next_batch(dialect: Dialect) {
    let graph = with_retention(&format!("{PLAIN}, {FROM}"), "UTC");
    let mut database = Installation::with_definitions(dialect, &graph);
    database
        .set_setting("batch_families", 1)
        .expect("a setting");
    for (id, days) in [(1, 200), (2, 190), (3, 180)] {
        database.execute(&root(id, days));
    }
    database.execute("INSERT INTO project_keep VALUES (1, 60)");
    let change = "UPDATE project_keep SET keep_days = 185";
    database.execute(&match dialect {
        Dialect::Postgres => format!(
            "CREATE FUNCTION public.change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$ BEGIN {change}; RETURN NULL; END $$;
             CREATE TRIGGER change AFTER DELETE ON t_ds_workflow_instance FOR EACH ROW EXECUTE FUNCTION public.change()"
        ),
        Dialect::Mysql | Dialect::Mariadb => {
            format!("CREATE TRIGGER change_it AFTER DELETE ON t_ds_workflow_instance FOR EACH ROW {change}")
        }
    });
    let run = clean(&mut database);
    assert_eq!(run["rules"][0]["families"], 2, "{run}");
    assert_eq!(left(&mut database), ["3"]);
}

fn a_policy_needs_a_retention_where_there_is_no_default(dialect: Dialect) {
    let graph = with_retention(&format!("{PLAIN}, by_value = {{ \"1\" = \"90d\" }}"), "UTC");
    let mut database = Installation::armed(dialect, &graph);
    let refused = database.set_policy(json!({"scope": "2"}));
    let text = format!("{:#}", refused.expect_err("how long?"));
    assert!(text.contains("no default retention"), "{text}");
    database
        .set_policy(json!({"scope": "2", "retention": "30d"}))
        .expect("a policy");
    // From now on it has one.
    database
        .set_policy(json!({"scope": "2", "enabled": false}))
        .expect("a policy");
}

fn the_backlog_is_what_the_source_lets_go(dialect: Dialect) {
    let kinds = [
        kinds(Source::Definitions, false),
        kinds(Source::Values, false),
        kinds(Source::Definitions, true),
    ];
    for (kind, expected) in kinds.into_iter().flatten().zip([1, 2, 2, 3, 1, 2]) {
        let zone = if kind.calendar { BERLIN } else { "UTC" };
        let graph = with_retention(&kind.retention(), zone);
        let mut database = Installation::with_definitions(dialect, &graph);
        let most = i64::MAX;
        database.execute(&format!(
            "INSERT INTO project_keep VALUES (1, 150), (2, NULL), (5, {most})"
        ));
        for (id, project, days) in [(1, 1, 200), (2, 1, 100), (3, 1, 40), (4, 2, 40), (5, 2, 3)] {
            database.execute(&instance(id, project, days));
        }
        let backlog = "SELECT value FROM W.metrics WHERE name = 'windrow_backlog_families'";
        assert_eq!(database.number(backlog), expected, "{}", kind.retention());
        let due = database.preview(json!({})).expect("a preview");
        assert_eq!(due["rules"][0]["families"], expected, "{due}");
        // A policy of its own, then none at all.
        let policy = json!({"scope": "1", "retention": "60d"});
        database.set_policy(policy).expect("a policy");
        let more = expected + i64::from(kind.source == Source::Definitions);
        assert_eq!(database.number(backlog), more, "{}", kind.retention());
        let disabled = json!({"scope": "1", "enabled": false});
        database.set_policy(disabled).expect("a policy");
        let rest = i64::from(kind.default.is_some());
        assert_eq!(database.number(backlog), rest, "{}", kind.retention());
    }
}
