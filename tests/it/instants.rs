//! An instant is an ISO-8601 text, whoever asks and whatever his session says of dates.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure;
use windrow::graph::Shared;

use crate::harness::tests;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::Installation;
use crate::support::world::Row;

tests! {
    each_server: [
        words_and_other_styles_are_no_instants,
        an_instant_without_a_zone_is_in_utc,
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
                let error = database
                    .call(routine, options.clone())
                    .expect_err(&format!("{style}: {routine} {options}"));
                assert_eq!(
                    failure::sqlstate(&error),
                    Some("22023"),
                    "{routine} {options}: {error:#}"
                );
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
        assert_eq!(
            instant(&answer["until"]),
            instant(&json!(format!("2999-11-23{rest}"))),
            "{text}"
        );
    }
}
