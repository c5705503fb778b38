//! The windows of scheduled runs: what the clock says, and what a run makes of it.

use jiff::civil::{Time, Weekday};
use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure;
use windrow::graph::Graph;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::graphs::with_windows;
use crate::support::installation::{Installation, dialect_of};

tests! {
    every_server: [
        scheduled_runs_wait_for_a_window,
        the_end_of_a_window_stops_a_run_after_its_batch,
        what_is_no_window_changes_nothing,
        the_clock_of_the_zone_decides,
    ],
    either_flavour: [
        windows_are_not_set_in_a_transaction,
    ],
}

/// A window as a person reads it: the days on which it begins, begin and end as minutes of the day, and the zone.
struct Window {
    written: &'static str,
    days: &'static [Weekday],
    begins: i16,
    ends: i16,
    zone: &'static str,
}

use Weekday::{Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday};

const BERLIN: &str = "Europe/Berlin";
const WEEK: &[Weekday] = &[
    Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday,
];

const WINDOWS: [Window; 8] = [
    window("daily 00:00-00:00", WEEK, 0, 0, "UTC"),
    window(
        "mon-fri 22:00-06:00 Europe/Berlin",
        &[Monday, Tuesday, Wednesday, Thursday, Friday],
        1320,
        360,
        BERLIN,
    ),
    window(
        "sat 22:00-06:00 Europe/Berlin",
        &[Saturday],
        1320,
        360,
        BERLIN,
    ),
    window("sun 02:15-02:45 Europe/Berlin", &[Sunday], 135, 165, BERLIN),
    window(
        "sat,sun 12:00-12:00 Europe/Berlin",
        &[Saturday, Sunday],
        720,
        720,
        BERLIN,
    ),
    window(
        "fri-mon 23:59-00:01",
        &[Friday, Saturday, Sunday, Monday],
        1439,
        1,
        "UTC",
    ),
    window(
        "wed,fri 01:30-05:00 UTC",
        &[Wednesday, Friday],
        90,
        300,
        "UTC",
    ),
    window("never", &[], 0, 0, "UTC"),
];

const fn window(
    written: &'static str,
    days: &'static [Weekday],
    begins: i16,
    ends: i16,
    zone: &'static str,
) -> Window {
    Window {
        written,
        days,
        begins,
        ends,
        zone,
    }
}

impl Window {
    /// Whether it is open: it has begun today and not ended, or it has begun yesterday and lasts beyond midnight.
    fn is_open(&self, at: Timestamp) -> bool {
        let zone = TimeZone::get(self.zone).expect("a zone");
        let clock = at.to_zoned(zone).datetime();
        let minutes = i16::from(clock.hour()) * 60 + i16::from(clock.minute());
        let began = |day: Weekday| self.days.contains(&day);
        let yesterday = clock.weekday().previous();
        if self.begins < self.ends {
            began(clock.weekday()) && (self.begins..self.ends).contains(&minutes)
        } else {
            (began(clock.weekday()) && minutes >= self.begins)
                || (began(yesterday) && minutes < self.ends)
        }
    }
}

/// Instants around both changes of the clock in Berlin, and around the edges of every window on other days.
fn instants() -> Vec<Timestamp> {
    let mut instants = Vec::new();
    for (from, hours) in [
        ("2026-03-28T19:00Z", 32),
        ("2026-10-24T18:00Z", 32),
        ("2026-06-01T20:00Z", 12),
    ] {
        let from: Timestamp = from.parse().expect("an instant");
        for quarter in 0..hours * 4 {
            instants.push(from + jiff::SignedDuration::from_mins(quarter * 15));
        }
    }
    for day in 0..7 {
        for time in [
            "23:58:59.999999",
            "23:59:00",
            "00:00:59.999999",
            "00:01:00",
            "01:29:59.999999",
            "01:30:00",
            "04:59:59.999999",
            "05:00:00",
        ] {
            let time: Time = time.parse().expect("a time");
            let date = jiff::civil::date(2026, 7, 1 + day);
            let zoned = date.to_datetime(time).to_zoned(TimeZone::UTC);
            instants.push(zoned.expect("an instant").timestamp());
        }
    }
    instants
}

fn is_open(installation: &mut Installation, at: Timestamp) -> bool {
    let answer = match installation.dialect {
        Dialect::Postgres => installation.texts(&format!("SELECT W.in_window('{at}')::text")),
        Dialect::Mysql | Dialect::Mariadb => {
            let at = at.strftime("%Y-%m-%d %H:%M:%S.%6f");
            installation.execute(&format!("CALL W.in_window('{at}', @open)"));
            installation.texts("SELECT IF(@open, 'true', 'false')")
        }
    };
    answer == ["true"]
}

fn set(installation: &mut Installation, windows: Value) -> anyhow::Result<Value> {
    installation.call("set_windows", json!({"windows": windows}))
}

fn the_clock_of_the_zone_decides(dialect: Dialect) {
    let mut installation = Installation::armed(dialect, &with_windows("\"always\""));
    let mut open = 0;
    let mut closed = 0;
    // One by one, and all but the first and the last together.
    let alone = WINDOWS.iter().map(std::slice::from_ref);
    for windows in alone.chain([&WINDOWS[1..7]]) {
        let written: Vec<&str> = windows.iter().map(|window| window.written).collect();
        let answer = set(&mut installation, json!(written)).expect("windows");
        assert_eq!(answer["windows"], json!(written));
        for at in instants() {
            let expected = windows.iter().any(|window| window.is_open(at));
            assert_eq!(
                is_open(&mut installation, at),
                expected,
                "{written:?} at {at}"
            );
            if expected {
                open += 1;
            } else {
                closed += 1;
            }
        }
    }
    assert!(open > 100 && closed > 100, "{open} {closed}");
    // The spec says the same.
    let list: Vec<String> = WINDOWS[1..7]
        .iter()
        .map(|window| format!("{:?}", window.written))
        .collect();
    let graph = with_windows(&format!("[{}]", list.join(", ")));
    let mut installation = Installation::armed(dialect, &graph);
    for at in instants() {
        let expected = WINDOWS[1..7].iter().any(|window| window.is_open(at));
        assert_eq!(
            is_open(&mut installation, at),
            expected,
            "the spec's at {at}"
        );
    }
}

/// An installation with families that are long due, the oldest first.
fn with_families(dialect: Dialect, windows: &str, families: u32) -> Installation {
    due_families(dialect, &with_windows(windows), families)
}

/// The same of a graph.
pub(crate) fn due_families(dialect: Dialect, graph: &Graph, families: u32) -> Installation {
    let mut installation = Installation::armed(dialect, graph);
    installation
        .set_policy(json!({"scope": "1", "retention": "30d", "artifacts": false}))
        .expect("a policy");
    for id in 1..=families {
        let end = format!("2025-01-{id:02} 12:00:00");
        installation.execute(&format!(
            "INSERT INTO t_ds_workflow_instance (id, project_code, workflow_definition_code, workflow_definition_version, is_sub_workflow, executor_id, state, start_time, end_time)
             VALUES ({id}, 1, 1, 1, 0, 1, 7, '{end}', '{end}')"
        ));
    }
    installation
        .set_setting("batch_families", 1)
        .expect("a setting");
    installation
}

fn left(installation: &mut Installation) -> i64 {
    installation.number("SELECT COUNT(*) FROM t_ds_workflow_instance")
}

fn scheduled(installation: &mut Installation) -> Value {
    installation
        .run(json!({"trigger": "SCHEDULED"}))
        .expect("a run, or a refusal")
}

/// What `verify` says about windows.
fn told(installation: &mut Installation) -> Value {
    let document = installation.call("verify", json!({})).expect("verify");
    let checks = document["checks"].as_array().expect("checks").iter();
    let found: Vec<Value> = checks
        .filter(|check| check["check"] == "windows")
        .map(|check| json!([check["object"], check["severity"], check["detail"]]))
        .collect();
    json!(found)
}

fn scheduled_runs_wait_for_a_window(dialect: Dialect) {
    let mut installation = with_families(dialect, "\"never\"", 2);
    let refused = scheduled(&mut installation);
    assert_eq!(refused["status"], "refused", "{refused}");
    assert_eq!(refused["reason"], "no window is open: never");
    assert_eq!(
        told(&mut installation),
        json!([["never", "notice", "no scheduled run will ever start"]])
    );
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.run"), 0);
    // Who calls by hand knows what he does.
    let manual = installation.run(json!({"run_families": 1})).expect("a run");
    assert_eq!(manual["reason"], "run_families reached", "{manual}");
    assert_eq!(left(&mut installation), 1);

    set(&mut installation, json!("always")).expect("windows");
    assert_eq!(
        told(&mut installation),
        json!([["always", "ok", "open now"]])
    );
    assert_eq!(scheduled(&mut installation)["status"], "done");
    assert_eq!(left(&mut installation), 0);
    // The schedule is seven minutes past every hour.
    let narrow = ["daily 01:08-01:30", "sun 23:08-00:07"];
    set(&mut installation, json!(narrow)).expect("windows");
    assert_eq!(
        told(&mut installation),
        json!([[
            narrow.join(", "),
            "violation",
            "no start of the schedule (7 * * * *, in UTC) falls in one: no scheduled run will ever start"
        ]])
    );
    set(&mut installation, json!("sun 01:07-01:08")).expect("windows");
    assert_eq!(told(&mut installation)[0][1], "ok");
    // The spec's again.
    set(&mut installation, json!(null)).expect("windows");
    assert_eq!(scheduled(&mut installation)["status"], "refused");
}

/// The first deletion itself lets someone close the window.
fn the_end_of_a_window_stops_a_run_after_its_batch(dialect: Dialect) {
    let mut installation = with_families(dialect, "\"always\"", 3);
    let close = "INSERT INTO W.run_window (position, written, days, begins, ends, zone)
                 SELECT 1, 'never', '', '00:00', '00:00', 'UTC' FROM W.control WHERE NOT EXISTS (SELECT 1 FROM W.run_window)";
    installation.execute(&match dialect {
        Dialect::Postgres => format!(
            "CREATE FUNCTION public.close() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$ BEGIN {close}; RETURN NULL; END $$;
             CREATE TRIGGER close AFTER DELETE ON t_ds_workflow_instance FOR EACH ROW EXECUTE FUNCTION public.close()"
        ),
        Dialect::Mysql | Dialect::Mariadb => format!(
            "CREATE TRIGGER close_it AFTER DELETE ON t_ds_workflow_instance FOR EACH ROW {close}"
        ),
    });
    let run = scheduled(&mut installation);
    assert_eq!(run["status"], "stopped", "{run}");
    assert_eq!(run["reason"], "window closed", "{run}");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    assert_eq!(left(&mut installation), 2);
    assert_eq!(scheduled(&mut installation)["status"], "refused");
    assert_eq!(
        installation.run(json!({})).expect("a run")["status"],
        "done"
    );
    assert_eq!(left(&mut installation), 0);
}

/// What the caller has not committed is neither kept nor undone.
fn windows_are_not_set_in_a_transaction(flavour: Flavour) {
    let mut installation = Installation::armed(dialect_of(flavour), &with_windows("\"always\""));
    installation.execute("CREATE TABLE note (id integer PRIMARY KEY)");
    for windows in [json!("never"), json!(5)] {
        installation.execute("START TRANSACTION");
        installation.execute("INSERT INTO note VALUES (1)");
        let refused = set(&mut installation, windows.clone()).expect_err("a transaction");
        assert_eq!(
            failure::sqlstate(&refused),
            Some("25001"),
            "{windows}: {refused:#}"
        );
        assert_eq!(installation.number("SELECT COUNT(*) FROM note"), 1);
        installation.execute("ROLLBACK");
        assert_eq!(installation.number("SELECT COUNT(*) FROM note"), 0);
    }
    let written = installation.texts("SELECT written FROM W.open_hours");
    assert_eq!(written, ["always"]);
    set(&mut installation, json!("never")).expect("windows");
}

fn what_is_no_window_changes_nothing(dialect: Dialect) {
    let mut installation = Installation::armed(dialect, &with_windows("\"daily 01:00-02:00\""));
    set(
        &mut installation,
        json!(["mon 10:00-11:00", "tue 10:00-11:00"]),
    )
    .expect("windows");
    for wrong in [
        json!(""),
        json!("Mon 10:00-11:00"),
        json!("mon 10:00"),
        json!("mon 10:00-24:00"),
        json!("mon 9:00-10:00"),
        json!("mon  10:00-11:00"),
        json!("mon, 10:00-11:00"),
        json!("mon-tue-wed 10:00-11:00"),
        json!("mon,,tue 10:00-11:00"),
        json!("day 10:00-11:00"),
        json!("daily,mon 10:00-11:00"),
        json!("mon 10:00-11:00 Europe/Nowhere"),
        json!("mon 10:00-11:00 UTC UTC"),
        json!("mon 10:00-11:00\n"),
        json!("mon 10:00-11:00'; DROP TABLE x; --"),
        json!(["mon 10:00-11:00", "never"]),
        json!(["wed 10:00-11:00", "monday 10:00-11:00"]),
        json!([]),
        json!([null]),
        json!([7]),
        json!(7),
        json!({"days": "mon"}),
    ] {
        let refused = set(&mut installation, wrong.clone()).expect_err("no window");
        assert_eq!(
            failure::sqlstate(&refused),
            Some("22023"),
            "{wrong}: {refused:#}"
        );
        let kept = installation.texts("SELECT written FROM W.open_hours ORDER BY position");
        assert_eq!(kept, ["mon 10:00-11:00", "tue 10:00-11:00"], "{wrong}");
    }
    let unknown = installation.call("set_windows", json!({"window": "never"}));
    unknown.expect_err("no such option");
    let nothing = installation.call("set_windows", json!({}));
    nothing.expect_err("which windows?");
}
