//! What `plan` tells: what a backlog asks for, on one screen. Pure functions.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::words::{long, plain};
use crate::facts::meaning;
use crate::ui::Align::{Left, Right};
use crate::ui::{Table, count, counted};

/// The plan as text.
pub fn plan(document: &Value) -> String {
    let mut out = format!(
        "{} on {}: ",
        text(document, "spec"),
        text(document, "server")
    );
    if document["installed"] != true {
        out += "not installed, so that only the indexes can be told\n";
        out += "What is due is counted by a routine of the installation. `windrow install` deletes nothing and lets no run delete\nbefore `windrow arm`; ask again after it.\n";
        if document["sees_tables"] != true {
            out += "\nThis account sees none of the tables of the spec: `windrow check --database` tells more.\n";
            return out;
        }
        out += &indexes(document);
        return out;
    }
    let armed = match document["armed"] == true {
        true => "armed",
        false => "not armed",
    };
    let _ = writeln!(out, "{armed}, as of {}", text(document, "as_of"));
    let schedule = &document["schedule"];
    let windows: Vec<&str> = list(schedule, "windows")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let _ = writeln!(
        out,
        "runs       start by `{}` (UTC), windows {}, at most {} each",
        text(schedule, "cron"),
        windows.join(", "),
        seconds(&schedule["time_budget"])
    );
    let unit = text(schedule, "unit");
    let mut rules = Table::new(&[
        ("rule", Left),
        ("due", Right),
        ("may go", Right),
        ("rows", Right),
        ("batches", Right),
        ("work", Right),
        ("runs", Right),
        ("done in", Left),
        ("oldest", Left),
    ]);
    for rule in list(document, "rules") {
        let about = if rule["exact"] == true { "" } else { "~" };
        let due = match rule["due_families"].as_f64() {
            Some(families) if rule["due_complete"] == true => count(families as i64),
            Some(families) => format!("{} at least", count(families as i64)),
            None => "unknown".to_owned(),
        };
        let known = rule["families"].is_number();
        let estimated = |name: &str| match known {
            true => format!("{about}{}", count(number_of(rule, name))),
            false => String::new(),
        };
        rules.row([
            text(rule, "rule"),
            due,
            estimated("families"),
            estimated("rows"),
            estimated("batches"),
            match number_of(rule, "rows") {
                0 => String::new(),
                _ => seconds(&rule["work_seconds"]),
            },
            match rule["runs"].as_i64() {
                Some(runs) if known => count(runs),
                _ => String::new(),
            },
            match known {
                true => done(rule, &unit),
                false => String::new(),
            },
            text(rule, "oldest_end_time"),
        ]);
    }
    let _ = write!(out, "\n{rules}");
    let mut speeds: Vec<String> = list(document, "rules")
        .iter()
        .filter(|rule| number_of(rule, "rows") > 0)
        .map(|rule| speed(&rule["speed"]))
        .collect();
    speeds.dedup();
    for rule in list(document, "rules") {
        out += &details(rule, &unit, speeds.len() > 1);
    }
    if let [speed] = &speeds[..] {
        let _ = write!(out, "\nspeed      {speed}");
    }
    if number_of(&document["total"], "rows") > 0 {
        out += &log(document);
        out += &tables(document);
    }
    out += &indexes(document);
    out
}

/// When nothing of a rule is left.
fn done(rule: &Value, unit: &str) -> String {
    match (rule["runs"].as_i64(), rule["days"].as_i64()) {
        (Some(0), _) => "nothing to do".to_owned(),
        (Some(_), Some(days)) => counted(days, unit, &format!("{unit}s")),
        _ => "never".to_owned(),
    }
}

/// How a rule's figures were found, what stays, what limits its runs, and whether they keep up afterwards.
fn details(rule: &Value, unit: &str, with_speed: bool) -> String {
    let mut lines = Vec::new();
    let due = number_of(rule, "due_families");
    if rule["exact"] == true {
        lines.push("every due family was looked at".to_owned());
    } else if rule["sampled_families"].as_f64() > Some(0.0) {
        let how = match rule["sample"] == "spread" {
            true => format!(
                "spread over all ages; the rows may be {} % off",
                number_of(rule, "error_percent")
            ),
            false => "the first that a run would take".to_owned(),
        };
        lines.push(format!(
            "`~`: by {} of {}, {how}",
            counted(number_of(rule, "sampled_families"), "family", "families"),
            count(due)
        ));
    }
    if rule["due_complete"] != true && rule["due_families"].is_number() {
        lines.push(format!(
            "counted up to {}: there may be more (`--count`)",
            count(number(rule, "counted"))
        ));
    }
    let stays: Vec<String> = rule["stays"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, families)| families.as_f64() >= Some(0.5))
        .map(|(reason, families)| {
            format!(
                "{} {reason} ({})",
                count(families.as_f64().unwrap_or_default().round() as i64),
                meaning(reason)
            )
        })
        .collect();
    if !stays.is_empty() {
        lines.push(format!("stay: {}", stays.join(", ")));
    }
    if number(rule, "without_policy") > 0 {
        lines.push(format!(
            "{} more would be due if a policy said so: `windrow policy set`",
            count(number(rule, "without_policy"))
        ));
    }
    if number_of(rule, "rows") > 0 {
        if with_speed {
            lines.push(speed(&rule["speed"]));
        }
        lines.extend(limit(rule, unit));
    }
    if let Some(inflow) = rule["due_per_day"].as_f64() {
        let verdict = match rule["capacity_per_day"].as_f64() {
            Some(most) if inflow <= most => {
                format!(", runs can take {}: they keep up", count(most as i64))
            }
            Some(most) => format!(
                ", runs can take {}: they do not keep up",
                count(most as i64)
            ),
            None => String::new(),
        };
        let from = match rule["due_per_day_from"].as_str() {
            Some(from) => format!("as {from} saw it"),
            None => "by what has ended already".to_owned(),
        };
        lines.push(format!(
            "{} a day become due ({from}){verdict}",
            counted(inflow.round() as i64, "family", "families"),
        ));
    } else if rule["due_families"].is_number() {
        lines.push("how much becomes due a day is not known before runs have counted".to_owned());
    }
    lines.extend(list(rule, "notes").iter().filter_map(|note| {
        let note = note.as_str()?;
        Some(format!("not known: {note}"))
    }));
    let mut out = format!("\n{}\n", text(rule, "rule"));
    for line in lines {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// How fast it goes, and how that is known.
fn speed(speed: &Value) -> String {
    let rate = count(number_of(speed, "rows_per_second"));
    let basis = &speed["basis"];
    if let Some(runs) = basis["measured_runs"].as_f64() {
        let runs = counted(runs as i64, "run", "runs");
        return format!("{rate} rows/s, as the last {runs} did, rests included");
    }
    if basis["rate"].is_number() {
        return format!("{rate} rows/s, as the setting `rate` has it: no run has said otherwise");
    }
    let nice = match number_of(basis, "nice") {
        0 => String::new(),
        nice => format!(", less the rests of nice = {nice} %"),
    };
    format!(
        "{rate} rows/s is assumed{nice}: no run has worked so far; `windrow run --run-families 1000` would measure it"
    )
}

/// What ends the runs, and what would make them fewer.
fn limit(rule: &Value, unit: &str) -> Vec<String> {
    let Some(name) = rule["limit"].as_str() else {
        return Vec::new();
    };
    let value = match name {
        "run_families" | "run_rows" => format!("{name} = {}", count(number_of(rule, name))),
        "window" => "the end of the window".to_owned(),
        name => name.to_owned(),
    };
    let runs = match rule["runs"].as_i64() {
        Some(runs) => format!("{}, {}", counted(runs, "run", "runs"), done(rule, unit)),
        None => "nothing is left only after three years, or never".to_owned(),
    };
    let mut lines = vec![format!("{value} ends its runs: {runs}")];
    for remedy in list(rule, "remedies") {
        let change = text(remedy, "change");
        let to = match (change.as_str(), remedy["to"].as_f64()) {
            ("time_budget", Some(to)) => long(Duration::from_secs_f64(to.clamp(0.0, 1e9))),
            (_, Some(to)) => count(to as i64),
            ("schedule", None) => "hourly".to_owned(),
            _ => text(remedy, "to"),
        };
        let days = counted(number(remedy, "days"), unit, &format!("{unit}s"));
        lines.push(format!("  {change} = {to}: {days}"));
    }
    lines
}

/// What goes of each table.
fn tables(document: &Value) -> String {
    let mut table = Table::new(&[
        ("table", Left),
        ("rows that go", Right),
        ("of it", Right),
        ("with indexes", Right),
        ("dead then", Right),
        ("log", Right),
    ]);
    let bytes = |row: &Value, name: &str| row[name].as_f64().map_or(String::new(), size);
    for row in list(document, "tables") {
        table.row([
            text(row, "table"),
            count(number_of(row, "rows")),
            match row["share"].as_f64() {
                Some(share) => format!("{:.0} %", share * 100.0),
                None => "?".to_owned(),
            },
            bytes(row, "bytes"),
            bytes(row, "dead_bytes"),
            bytes(row, "log_bytes"),
        ]);
    }
    match table.is_empty() {
        true => String::new(),
        false => format!("\n{table}`of it`: by the statistics of the server.\n"),
    }
}

/// What is written to the logs, and what becomes of the room on the disk.
fn log(document: &Value) -> String {
    let mut out = String::new();
    let log = &document["log"];
    let bytes = match log["bytes"].as_f64() {
        Some(bytes) => format!("about {}", size(bytes)),
        None => "an unknown amount (never analysed, or not to be read by this account)".to_owned(),
    };
    let postgres = log["kind"] == "WAL";
    if postgres {
        let images = match log["page_images"] == true {
            true => "each page imaged once (more checkpoints: more), ",
            false => "",
        };
        let _ = writeln!(
            out,
            "\nlog        {bytes} of WAL: {images}without the VACUUM behind it"
        );
    } else if log["on"] == true {
        let _ = writeln!(
            out,
            "\nlog        {bytes} of binary log (row image {}, before compression), {} of redo",
            text(log, "row_image"),
            size(log["redo_bytes"].as_f64().unwrap_or_default())
        );
    } else {
        let _ = writeln!(
            out,
            "\nlog        the binary log is off; about {} of redo",
            size(log["redo_bytes"].as_f64().unwrap_or_default())
        );
    }
    let dead: f64 = list(document, "tables")
        .iter()
        .filter_map(|row| row["dead_bytes"].as_f64())
        .sum();
    let back = match postgres {
        true => {
            "VACUUM makes them room for new rows; only VACUUM FULL or pg_repack gives them back"
        }
        false => {
            "InnoDB fills them with new rows; only OPTIMIZE TABLE, which rebuilds the table, gives them back"
        }
    };
    let _ = writeln!(
        out,
        "disk       about {} are free inside then: {back}",
        size(dead)
    );
    let total = &document["total"];
    let _ = writeln!(
        out,
        "together   {} with {}: {} of work in {}",
        counted(number_of(total, "families"), "family", "families"),
        counted(number_of(total, "rows"), "row", "rows"),
        seconds(&total["work_seconds"]),
        counted(number_of(total, "batches"), "batch", "batches"),
    );
    out
}

/// The indexes that are still to be made.
fn indexes(document: &Value) -> String {
    let mut table = Table::new(&[
        ("index to build first", Left),
        ("table", Left),
        ("size", Right),
    ]);
    let mut statements = String::new();
    for index in list(document, "indexes") {
        table.row([
            text(index, "index"),
            text(index, "table"),
            index["bytes"].as_f64().map_or("?".to_owned(), size),
        ]);
        let _ = writeln!(statements, "  {};", text(index, "statement"));
    }
    match table.is_empty() {
        true => "\nindexes    all are there\n".to_owned(),
        false => format!(
            "\n{table}At most this size: an index on some of the rows, or on few different values, is smaller. `windrow install` builds\nthem first (`20_indexes.sql`):\n{statements}"
        ),
    }
}

/// A size as people say it.
fn size(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut bytes = bytes;
    let mut unit = 0;
    while bytes >= 1_000.0 && unit + 1 < units.len() {
        bytes /= 1_000.0;
        unit += 1;
    }
    match bytes < 10.0 && unit > 0 {
        true => format!("{bytes:.1} {}", units[unit]),
        false => format!("{bytes:.0} {}", units[unit]),
    }
}

fn seconds(value: &Value) -> String {
    let seconds = value.as_f64().unwrap_or_default();
    long(Duration::from_secs_f64(seconds.clamp(0.0, 1e11)))
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn number(value: &Value, key: &str) -> i64 {
    value[key].as_i64().unwrap_or_default()
}

fn text(value: &Value, key: &str) -> String {
    plain(&value[key])
}

/// A number that may have been written with a point.
fn number_of(value: &Value, key: &str) -> i64 {
    value[key].as_f64().unwrap_or_default().round() as i64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_answers_on_one_screen() {
        let document = json!({"spec": "demo", "server": "MySQL", "installed": true, "armed": false, "as_of": "2026-11-22T06:00:00Z",
            "schedule": {"cron": "0 1 * * *", "windows": ["daily 01:00-05:00"], "time_budget": 7200, "unit": "night"},
            "rules": [
                {"rule": "jobs", "due_families": 1_000_000.0, "due_complete": false, "counted": 1_000_000, "families": 990_000.0, "rows": 9_900_000.4,
                 "batches": 5_050.0, "exact": false, "sampled_families": 5_000.0, "sample": "spread", "error_percent": 3.0,
                 "stays": {"HELD": 0.2, "NON_FINAL_MEMBER": 10_000.0}, "oldest_end_time": "2024-01-01T00:00:00", "due_per_day": 12_000.0,
                 "due_per_day_from": {"rows_of_the_next_seconds": 604_800}, "work_seconds": 990.0, "runs": null, "days": null,
                 "limit": "run_families", "run_families": 10_000.0, "capacity_per_day": 10_000.0,
                 "speed": {"rows_per_second": 10_000.0, "basis": {"assumed": 10_000.0, "nice": 0.0}},
                 "remedies": [{"change": "run_families", "to": 720_000, "days": 2}, {"change": "schedule", "to": "7 * * * *", "days": 25}], "notes": []},
                {"rule": "logs", "due_families": null, "families": null, "rows": null, "batches": null, "exact": false, "runs": null,
                 "stays": {}, "notes": ["counting up to 10000 families was stopped after 60s"]}],
            "tables": [{"table": "job", "rows": 990_000.0, "share": 0.5, "bytes": 2e9, "dead_bytes": 1e9, "log_bytes": 3e8},
                       {"table": "step", "rows": 8_910_000.0, "share": null, "bytes": null, "dead_bytes": null, "log_bytes": null}],
            "log": {"kind": "binary log", "on": true, "row_image": "FULL", "bytes": 3e8, "redo_bytes": 2.2e9},
            "total": {"families": 990_000.0, "rows": 9_900_000.0, "batches": 5_050.0, "work_seconds": 990.0},
            "indexes": [{"index": "windrow_step_job_id", "table": "step", "bytes": 2.5e8, "statement": "ALTER TABLE …"}]});
        insta::assert_snapshot!(plan(&document), @r#"
        demo on MySQL: not armed, as of 2026-11-22T06:00:00Z
        runs       start by `0 1 * * *` (UTC), windows daily 01:00-05:00, at most 2 h 00 min each

        rule                 due    may go        rows  batches         work  runs  done in  oldest
        jobs  1,000,000 at least  ~990,000  ~9,900,000   ~5,050  16 min 30 s        never    2024-01-01T00:00:00
        logs             unknown

        jobs
          `~`: by 5,000 families of 1,000,000, spread over all ages; the rows may be 3 % off
          counted up to 1,000,000: there may be more (`--count`)
          stay: 10,000 NON_FINAL_MEMBER (a member has not ended)
          run_families = 10,000 ends its runs: nothing is left only after three years, or never
            run_families = 720,000: 2 nights
            schedule = hourly: 25 nights
          12,000 families a day become due (by what has ended already), runs can take 10,000: they do not keep up

        logs
          not known: counting up to 10000 families was stopped after 60s

        speed      10,000 rows/s is assumed: no run has worked so far; `windrow run --run-families 1000` would measure it
        log        about 300 MB of binary log (row image FULL, before compression), 2.2 GB of redo
        disk       about 1.0 GB are free inside then: InnoDB fills them with new rows; only OPTIMIZE TABLE, which rebuilds the table, gives them back
        together   990,000 families with 9,900,000 rows: 16 min 30 s of work in 5,050 batches

        table  rows that go  of it  with indexes  dead then     log
        job         990,000   50 %        2.0 GB     1.0 GB  300 MB
        step      8,910,000      ?
        `of it`: by the statistics of the server.

        index to build first  table    size
        windrow_step_job_id   step   250 MB
        At most this size: an index on some of the rows, or on few different values, is smaller. `windrow install` builds
        them first (`20_indexes.sql`):
          ALTER TABLE …;
        "#);
    }
}
