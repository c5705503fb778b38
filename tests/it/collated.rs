//! Keys whose column has another collation than the database: what comes first, and what lies behind a place, is as the column says.

use serde_json::json;
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        a_dry_run_counts_what_a_run_takes_in_any_order_of_keys,
        where_some_are_kept_none_is_passed_over_in_any_order_of_keys,
        families_go_by_their_removal_time_in_any_order_of_keys,
        the_higher_key_is_the_newer_in_any_order_of_keys,
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
KEEP
"#;

/// What is kept is what has ended last.
const KEEP: &str = r#"keep = { newest = 1, per = "kind varchar", by = "ended timestamp" }"#;

/// The type of a time; and what sorts capitals before all small letters, and what sorts each beside its own.
fn orders(dialect: Dialect) -> (&'static str, [&'static str; 2]) {
    match dialect {
        Dialect::Postgres => ("timestamp", ["\"C\"", "\"und-x-icu\""]),
        Dialect::Mysql | Dialect::Mariadb => ("datetime(6)", ["utf8mb4_bin", "utf8mb4_unicode_ci"]),
    }
}

fn a_dry_run_counts_what_a_run_takes_in_any_order_of_keys(dialect: Dialect) {
    none_is_passed_over(dialect, "");
}

fn where_some_are_kept_none_is_passed_over_in_any_order_of_keys(dialect: Dialect) {
    none_is_passed_over(dialect, KEEP);
}

fn none_is_passed_over(dialect: Dialect, keep: &str) {
    let (time, own) = orders(dialect);
    for per in ["", r#", per = "kind varchar""#] {
        for (collation, first) in own.into_iter().zip([3, 2]) {
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
            let spec = SPEC.replace("PER", per).replace("KEEP", keep);
            let mut jobs = Installation::of(dialect, &schema, &graph_of(&spec));
            let add = |jobs: &mut Installation, ids: &[&str]| {
                for id in ids {
                    jobs.execute(&format!(
                        "INSERT INTO job VALUES ('{id}', 'x', 'done', '2020-01-01')"
                    ));
                }
            };
            add(&mut jobs, &["B", "D", "a", "c"]);
            if !keep.is_empty() {
                jobs.execute("INSERT INTO job VALUES ('Y', 'x', 'done', '2020-06-01')");
            }
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

const REMOVAL: &str = r#"
name = "collated-removal"

[tables]
job  = { key = "id varchar" }
task = { key = "id integer", parents = ["job_id -> job.id"] }

[rules.jobs]
strategy  = "removal-time"
root      = "job"
time      = "removal timestamp"
tables    = ["task: job_id", "job"]
retention = { safety_lag = "1h" }
limits    = { batch_families = 1 }
"#;

/// A run goes on behind the family at which the one before ended.
fn families_go_by_their_removal_time_in_any_order_of_keys(dialect: Dialect) {
    let (time, own) = orders(dialect);
    for collation in own {
        let schema = format!(
            "CREATE TABLE job (id varchar(10) COLLATE {collation} PRIMARY KEY, removal {time});
             CREATE INDEX job_removal ON job (removal);
             CREATE TABLE task (id integer PRIMARY KEY, job_id varchar(10) COLLATE {collation}, removal {time});
             CREATE INDEX task_removal ON task (removal); CREATE INDEX task_job ON task (job_id)"
        );
        let mut jobs = Installation::of(dialect, &schema, &graph_of(REMOVAL));
        for (id, place) in ["B", "D", "a", "c", "E"].into_iter().zip(1..) {
            jobs.execute(&format!(
                "INSERT INTO job VALUES ('{id}', '2020-01-01'); INSERT INTO task VALUES ({place}, '{id}', '2020-01-01')"
            ));
        }
        jobs.arm();
        for left in [4, 3, 1] {
            let most = json!({"run_families": if left == 1 { 2 } else { 1 }});
            let run = jobs.run(most).expect("a run");
            for table in ["job", "task"] {
                let rows = jobs.number(&format!("SELECT COUNT(*) FROM {table}"));
                assert_eq!(rows, left, "{collation} {table} {run}");
            }
        }
        let dry = jobs.run(json!({"dry_run": true})).expect("a dry run");
        assert_eq!(dry["rules"][0]["families"], 1, "{collation} {dry}");
    }
}

const LAST: &str = r#"
name = "collated-last"

[tables]
shot = { key = "id varchar" }

[rules.shots]
strategy = "keep-last"
root     = "shot"
keep     = { newest = 1, per = "place varchar", by = "made timestamp" }
limits   = { batch_rows = 1 }
"#;

/// Where several were made at the same time. Letters that the collation of a group takes for the same are one group.
fn the_higher_key_is_the_newer_in_any_order_of_keys(dialect: Dialect) {
    let (time, own) = orders(dialect);
    let mut cases = vec![(own[0], own[0], "c Zc"), (own[1], own[0], "D Zc")];
    let mut made = "";
    match dialect {
        Dialect::Postgres => {
            made = "CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false);";
            cases.push(("alike", "alike", "Zc"));
        }
        Dialect::Mysql | Dialect::Mariadb => cases.push((own[1], own[1], "Zc")),
    }
    for (collation, of_group, last) in cases {
        let schema = format!(
            "{made}CREATE TABLE shot (id varchar(10) COLLATE {collation} PRIMARY KEY, place varchar(10) COLLATE {of_group} NOT NULL, made {time} NOT NULL);
             CREATE INDEX shot_made ON shot (place, made, id)"
        );
        let mut shots = Installation::of(dialect, &schema, &graph_of(LAST));
        shots.execute(
            "INSERT INTO shot VALUES ('B', 'x', '2020-01-01'), ('D', 'x', '2020-01-01'), ('a', 'x', '2020-01-01'),
                ('c', 'x', '2020-01-01'), ('Za', 'X', '2020-01-01'), ('Zc', 'X', '2020-01-01')",
        );
        shots.arm();
        let context = format!("{collation} {of_group}");
        let goes = 6 - last.split(' ').count();
        let preview = shots.preview(json!({})).expect("a preview");
        assert_eq!(preview["rules"][0]["families"], goes, "{context} {preview}");
        for options in [json!({"dry_run": true}), json!({})] {
            let run = shots.run(options).expect("a run");
            assert_eq!(run["rules"][0]["families"], goes, "{context} {run}");
        }
        let stay = shots.texts("SELECT id FROM shot");
        let mut stay: Vec<&str> = stay.iter().map(String::as_str).collect();
        stay.sort_unstable();
        let mut last: Vec<&str> = last.split(' ').collect();
        last.sort_unstable();
        assert_eq!(stay, last, "{context}");
    }
}
