//! An instant is an ISO-8601 text, whoever asks and whatever his session says of dates.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure;
use windrow::graph::Shared;

use crate::harness::tests;
use crate::support::graphs::{DOLPHINSCHEDULER, dolphinscheduler, graph_of};
use crate::support::installation::Installation;
use crate::support::world::Row;

tests! {
    every_server: [
        words_and_other_styles_are_no_instants,
        an_instant_without_a_zone_is_in_utc,
        an_instant_lies_in_the_years_that_all_servers_have,
        a_duration_is_none_of_months_or_years,
    ],
}

/// What no server may take, though one or another would: as a word, by its style of dates, or as a date that no calendar has.
const NONE: &[&str] = &[
    "",
    " ",
    "yesterday",
    "today",
    "now",
    "tomorrow",
    "epoch",
    "infinity",
    "-infinity",
    "allballs",
    "J2451187",
    "0",
    "1700000000",
    "20251123",
    "20251123T100000Z",
    "251123",
    "01/02/2025",
    "23/11/2025",
    "2025/11/23",
    "23.11.2025",
    "2025.11.23",
    "11-23-2025",
    "23-11-2025",
    "25-11-23",
    "2025-1-2",
    "2025-W47-7",
    "2025-327",
    "2025-11",
    "2025",
    "Nov 23 2025",
    "23 Nov 2025",
    "2025-Nov-23",
    "Sun Nov 23 10:00:00 2025 UTC",
    "2025-02-29",
    "2025-02-30",
    "2025-13-01",
    "2025-00-10",
    "2025-11-00",
    "2025-11-31",
    "0000-01-01",
    "0000-00-00",
    "-2025-11-23",
    "+2025-11-23",
    "12025-11-23",
    "2025-11-23 BC",
    "2025-11-23T",
    "2025-11-23T10",
    "2025-11-23T10Z",
    "2025-11-23T1:00",
    "2025-11-23T24:00:00Z",
    "2025-11-23T10:60:00Z",
    "2025-11-23T10:00:60Z",
    "2025-11-23T10:00:00.Z",
    "2025-11-23T10:00:00,5Z",
    "2025-11-23T10:00:00.1234567890Z",
    "2025-11-23T10:00:00+15:00",
    "2025-11-23T10:00:00+02:60",
    "2025-11-23T10:00:00+2",
    "2025-11-23T10:00:00+02:00:00",
    "2025-11-23T10:00:00ZZ",
    "2025-11-23T10:00:00Z+01",
    "2025-11-23T10:00:00 +02:00",
    "2025-11-23T10:00:00 UTC",
    "2025-11-23T10:00:00 Europe/Berlin",
    "2025-11-23T10:00:00 PM",
    "2025-11-23t10:00:00Z",
    "2025-11-23T10:00:00z",
    "2025-11-23Z",
    "2025-11-23+02:00",
    " 2025-11-23",
    "2025-11-23 ",
    "2025-11-23\n",
    "\n2025-11-23",
    "2025-11-23  10:00:00",
    "2025-11-23T10:00:00Z; DROP",
    "2025-11-23'",
    "\u{ff12}025-11-23",
    "2025\u{2212}11\u{2212}23",
];

fn hold(until: &Value) -> Value {
    json!({"key": 1, "reason": "audit", "until": until})
}

fn root(database: &mut Installation) {
    let row = Row::Instance {
        id: 1,
        state: Some(7),
        end_time: Some(0),
        is_sub_workflow: Some(0),
        project: Some(1),
    };
    database.execute(&row.insert());
}

fn refused(database: &mut Installation, style: &str, routine: &str, options: &Value) {
    let error = database
        .call(routine, options.clone())
        .expect_err(&format!("{style}: {routine} {options}"));
    assert_eq!(
        failure::sqlstate(&error),
        Some("22023"),
        "{style}: {routine} {options}: {error:#}"
    );
}

fn words_and_other_styles_are_no_instants(dialect: Dialect) {
    let mut database = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    root(&mut database);
    let styles: &[&str] = match dialect {
        Dialect::Postgres => &[
            "SET datestyle = 'ISO, YMD'",
            "SET datestyle = 'SQL, DMY'",
            "SET datestyle = 'German'; SET timezone = 'Asia/Tokyo'",
        ],
        Dialect::Mysql | Dialect::Mariadb => {
            &["SET SESSION sql_mode = ''; SET SESSION time_zone = '+09:00'"]
        }
    };
    for style in styles {
        database.execute(style);
        let texts = NONE.iter().map(|text| json!(text));
        let others = [
            json!(1_700_000_000),
            json!(true),
            json!([]),
            json!({}),
            json!(["2025-11-23"]),
        ];
        for none in texts.chain(others) {
            let calls = [
                ("run", json!({"as_of": none, "dry_run": true})),
                ("preview", json!({"as_of": none})),
                ("preview", json!({"from": none})),
                ("set_hold", hold(&none)),
            ];
            for (routine, options) in calls {
                refused(&mut database, style, routine, &options);
            }
        }
        // No time of a row has a zone here, so that one would be overlooked.
        database
            .call("preview", json!({"from": "2025-11-23T10:00:00+02:00"}))
            .expect_err("a zone");
        database
            .call("preview", json!({"from": "2025-11-23T10:00:00"}))
            .expect("a preview");
    }
    assert_eq!(database.number("SELECT count(*) FROM W.hold"), 0);
    assert_eq!(database.number("SELECT count(*) FROM W.run"), 0);
}

fn an_instant_without_a_zone_is_in_utc(dialect: Dialect) {
    let mut database = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    root(&mut database);
    database.execute(match dialect {
        Dialect::Postgres => "SET datestyle = 'SQL, DMY'; SET timezone = 'Asia/Tokyo'",
        Dialect::Mysql | Dialect::Mariadb => "SET SESSION time_zone = '+09:00'",
    });
    for (text, rest) in [
        ("", "T00:00:00Z"),
        ("T10:00", "T10:00:00Z"),
        ("T10:00Z", "T10:00:00Z"),
        ("T10:00:00", "T10:00:00Z"),
        ("T10:00:00Z", "T10:00:00Z"),
        ("T10:00:00.5Z", "T10:00:00.5Z"),
        ("T10:00:00.123456+00:00", "T10:00:00.123456Z"),
        ("T10:00:00.123456789Z", "T10:00:00.123456Z"),
        ("T10:00:00.9999999", "T10:00:00.999999Z"),
        ("T10:00:00+02:00", "T08:00:00Z"),
        ("T10:00:00.25+0530", "T04:30:00.25Z"),
        ("T10:00-02", "T12:00:00Z"),
        ("T23:59:59-00:00", "T23:59:59Z"),
        // As RFC 3339 lets people write it.
        (" 10:00:00+02:00", "T08:00:00Z"),
    ] {
        let instant = |value: &Value| -> jiff::Timestamp {
            let text = value.as_str().expect("a text");
            text.parse().expect("an instant")
        };
        let preview = database
            .preview(json!({"as_of": format!("2025-11-23{text}")}))
            .expect("a preview");
        assert_eq!(
            instant(&preview["as_of"]),
            instant(&json!(format!("2025-11-23{rest}"))),
            "{text}"
        );
        let answer = database
            .set_hold(hold(&json!(format!("2999-11-23{text}"))))
            .expect("a hold");
        release(&mut database);
        assert_eq!(
            instant(&answer["until"]),
            instant(&json!(format!("2999-11-23{rest}"))),
            "{text}"
        );
    }
}

/// A hold that is there already is never made shorter.
fn release(database: &mut Installation) {
    let key = json!({"key": 1});
    database.call("release_hold", key).expect("a hold");
}

/// A zone may lead out of them.
fn an_instant_lies_in_the_years_that_all_servers_have(dialect: Dialect) {
    let mut database = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    root(&mut database);
    for before in ["0001-01-01T00:00:00+00:01", "0001-01-01T13:59:59+14:00"] {
        for routine in ["preview", "run"] {
            refused(&mut database, "", routine, &json!({"as_of": before}));
        }
    }
    for after in ["9999-12-31T23:59:59-00:01", "9999-12-31T10:00:00-14:00"] {
        refused(&mut database, "", "set_hold", &hold(&json!(after)));
    }
    for (text, instant) in [
        (
            "9999-12-31T23:59:59.9999999Z",
            "9999-12-31T23:59:59.999999+00:00",
        ),
        ("9999-12-31T09:59:59-14:00", "9999-12-31T23:59:59+00:00"),
    ] {
        let answer = database.set_hold(hold(&json!(text))).expect("a hold");
        assert_eq!(answer["until"], instant, "{text}");
        release(&mut database);
    }
    for first in ["1000-01-01", "1000-01-01T14:00:00+14:00"] {
        let preview = database.preview(json!({"as_of": first}));
        let preview = preview.expect("a preview");
        assert_eq!(preview["as_of"], "1000-01-01T00:00:00+00:00", "{first}");
        let run = database.run(json!({"as_of": first})).expect("a run");
        assert_eq!(run["status"], "done", "{first}: {run}");
    }
}

/// `P1M` is a month in ISO 8601, and no minute: what is older than a minute is not what somebody wants to drop.
fn a_duration_is_none_of_months_or_years(dialect: Dialect) {
    let archived = DOLPHINSCHEDULER.replace(
        "strategy   = \"end-time\"",
        "strategy   = \"end-time\"\narchive    = true",
    );
    assert_ne!(archived, DOLPHINSCHEDULER);
    let mut database = Installation::armed(dialect, &graph_of(&archived));
    for none in [
        "P1M",
        "P3M",
        "P1Y",
        "P1Y2M",
        "P1M1D",
        "P1W1M",
        "1M",
        "1mo",
        "1month",
        "1y",
        "",
        " ",
        "P",
        "PT",
        "P1DT",
        "P1H",
        "T1H",
        "1dT1h",
        "30",
        "d",
        "1h1d",
        "1d1d",
        "-1d",
        "+1d",
        "P-1D",
        "1.5d",
        "P1.5D",
        "PT1,5H",
        "1 d",
        "1d ",
        " 1d",
        "1d\n",
        "P30D\n",
        "0x1d",
        "1e3d",
        "9999999999d",
        "999999999w",
        "\u{ff11}d",
        "1\u{212a}",
    ] {
        for (routine, options) in [
            ("set_policy", json!({"scope": "1", "retention": none})),
            ("run", json!({"retention": none, "dry_run": true})),
            ("run", json!({"time_budget": none, "dry_run": true})),
            ("preview", json!({"retention": none})),
            ("archive_list", json!({"older_than": none})),
            ("archive_drop", json!({"older_than": none, "dry_run": true})),
        ] {
            let error = database
                .call(routine, options.clone())
                .expect_err(&format!("{routine} {options}"));
            assert_eq!(
                failure::sqlstate(&error),
                Some("22023"),
                "{routine} {options}: {error:#}"
            );
        }
    }
    for (text, seconds) in [
        ("30d", 2_592_000),
        ("P30D", 2_592_000),
        ("P4W", 2_419_200),
        ("2w1d", 1_296_000),
        ("P9DT12H", 820_800),
        ("P8DT1H2M3S", 694_923),
        ("8d1h2m3s", 694_923),
        ("PT240H", 864_000),
        ("20000m", 1_200_000),
        ("PT20000M", 1_200_000),
    ] {
        let policy = json!({"scope": "1", "retention": text});
        let policy = database.set_policy(policy).expect("a policy");
        assert_eq!(policy["retention_seconds"], seconds, "{text}");
    }
}
