//! Keys whose column has another collation than the database: what comes first, and what lies behind a place, is as the column says.

use serde_json::json;
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        a_dry_run_counts_what_a_run_takes_in_any_order_of_keys,
    ],
}

const SPEC: &str = r#"
name = "collated"

[tables]
job = { key = "id varchar" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended timestamp"
retention = { default = "30d"PER }
"#;

fn a_dry_run_counts_what_a_run_takes_in_any_order_of_keys(dialect: Dialect) {
    // What sorts capitals before all small letters, and what sorts each beside its own.
    let (time, own) = match dialect {
        Dialect::Postgres => ("timestamp", [("\"C\"", 3), ("\"und-x-icu\"", 2)]),
        Dialect::Mysql | Dialect::Mariadb => (
            "datetime(6)",
            [("utf8mb4_bin", 3), ("utf8mb4_unicode_ci", 2)],
        ),
    };
    for per in ["", r#", per = "kind varchar""#] {
        for (collation, first) in own {
            let more = match first {
                3 => ["A", "Z"],
                _ => [
                    if dialect == Dialect::Postgres {
                        "b"
                    } else {
                        "Ab"
                    },
                    "Z",
                ],
            };
            let schema = format!(
                "CREATE TABLE job (id varchar(10) COLLATE {collation} PRIMARY KEY, kind varchar(10), state varchar(10), ended {time});
                 CREATE INDEX job_ended ON job (ended, id); CREATE INDEX job_kind ON job (kind, ended, id)"
            );
            let spec = SPEC.replace("PER", per);
            let mut jobs = Installation::of(dialect, &schema, &graph_of(&spec));
            let add = |jobs: &mut Installation, ids: &[&str]| {
                for id in ids {
                    jobs.execute(&format!(
                        "INSERT INTO job VALUES ('{id}', 'x', 'done', '2020-01-01')"
                    ));
                }
            };
            add(&mut jobs, &["B", "D", "a", "c"]);
            jobs.arm();
            jobs.set_setting("batch_families", 1).expect("a setting");
            let context = format!("{collation} {spec}");
            let counted = |jobs: &mut Installation, expected: i64| {
                let preview = jobs.preview(json!({})).expect("a preview");
                assert_eq!(
                    preview["rules"][0]["families"], expected,
                    "{context} {preview}"
                );
                let dry = jobs.run(json!({"dry_run": true})).expect("a dry run");
                assert_eq!(dry["rules"][0]["families"], expected, "{context} {dry}");
            };
            counted(&mut jobs, 4);
            // The next run begins behind the place at which this one ends, and comes to what lies before it last.
            let some = jobs.run(json!({"run_families": first})).expect("a run");
            assert_eq!(some["rules"][0]["families"], first, "{some}");
            add(&mut jobs, &more);
            let left = 4 - first + 2;
            counted(&mut jobs, left);
            let rest = jobs.run(json!({})).expect("a run");
            assert_eq!(rest["rules"][0]["families"], left, "{context} {rest}");
        }
    }
}
