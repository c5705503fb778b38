//! The output of `plan`: what a backlog requires, on one screen. Pure functions.

use std::fmt::Write as _;
use std::time::Duration;

use super::words::{kept, long, text, though_armed};
use crate::facts::meaning;
use crate::forecast::{
    Basis, Forecast, InflowFrom, LogVolume, MissingIndex, Remedy, Report, RuleForecast, Speed,
    TableForecast, To,
};
use crate::ui::Align::{Left, Right};
use crate::ui::{Table, count, counted, rows_per_second};

/// The plan as text.
pub fn plan(plan: &Report) -> String {
    let mut out = format!("{} on {}: ", plan.spec, plan.server);
    let Some(outlook) = &plan.outlook else {
        if !plan.installed && !plan.sees_tables {
            out += "not installed, or this account cannot see it\n\n";
            out += "This account sees none of the spec's tables: `windrow check --database` shows more.\n";
            return out;
        }
        out += "not installed, so only the indexes are known\n";
        out += "A routine of the installation counts what is due. `windrow install` deletes nothing, and no run deletes \
             before\n`windrow arm`; run `windrow plan` again after it.\n";
        out += &indexes(&plan.indexes);
        return out;
    };
    let schedule = &outlook.schedule;
    let armed = match outlook.armed {
        Some(true) => "armed",
        Some(false) | None => though_armed(outlook.not_armed.as_ref()).unwrap_or("not armed"),
    };
    let _ = writeln!(out, "{armed}, as of {}", text(outlook.as_of.as_ref()));
    let _ = writeln!(
        out,
        "runs       start by `{}` (UTC), windows {}, at most {} each",
        schedule.cron,
        schedule.windows.join(", "),
        seconds(schedule.time_budget)
    );
    out += &rules(&plan.rules, schedule.unit);
    let working = plan.rules.iter().filter(|rule| whole(rule.rows) > 0);
    let mut speeds: Vec<String> = working.map(|rule| speed(&rule.speed)).collect();
    speeds.dedup();
    for rule in &plan.rules {
        out += &details(rule, schedule.unit, speeds.len() > 1);
    }
    if let [speed] = &speeds[..] {
        let _ = write!(out, "\nspeed      {speed}");
    }
    if outlook.total.rows.round() > 0.0 {
        out += &log(outlook, &plan.tables);
        out += &tables(&plan.tables);
    }
    out += &indexes(&plan.indexes);
    out
}

/// The rules, a line each.
fn rules(all: &[RuleForecast], unit: &str) -> String {
    let mut table = Table::new(&[
        ("rule", Left),
        ("due", Right),
        ("deletable", Right),
        ("rows", Right),
        ("batches", Right),
        ("work", Right),
        ("runs", Right),
        ("done in", Left),
        ("oldest", Left),
    ]);
    for rule in all {
        let about = if rule.exact { "" } else { "~" };
        let due = match rule.due_families {
            Some(families) if rule.due_complete => count(families as i64),
            Some(families) => format!("{} at least", count(families as i64)),
            None => "unknown".to_owned(),
        };
        let known = rule.families.is_some();
        let estimated = |value: Option<f64>| {
            value.map_or(String::new(), |value| {
                format!("{about}{}", count(value.round() as i64))
            })
        };
        table.row([
            rule.rule.clone(),
            due,
            estimated(rule.families),
            estimated(rule.rows),
            estimated(rule.batches),
            match whole(rule.rows) {
                0 => String::new(),
                _ => seconds(rule.work_seconds.unwrap_or_default()),
            },
            match rule.runs {
                Some(runs) if known => count(runs),
                _ => String::new(),
            },
            if known {
                done(rule, unit)
            } else {
                String::new()
            },
            text(rule.oldest_end_time.as_ref()),
        ]);
    }
    format!("\n{table}")
}

/// When nothing of a rule is left.
pub fn done(rule: &RuleForecast, unit: &str) -> String {
    match (rule.runs, rule.days) {
        (Some(0), _) => "nothing to do".to_owned(),
        (Some(_), Some(days)) => counted(days, unit, &format!("{unit}s")),
        _ => "never".to_owned(),
    }
}

/// How a rule's figures were found, what is kept, what limits its runs, and whether they keep up afterwards.
fn details(rule: &RuleForecast, unit: &str, with_speed: bool) -> String {
    let mut out = format!("\n{}\n", rule.rule);
    for line in lines(rule, unit, with_speed) {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// The same, a line for each thing.
pub fn notes(rule: &RuleForecast, unit: &str) -> Vec<String> {
    lines(rule, unit, true)
}

fn lines(rule: &RuleForecast, unit: &str, with_speed: bool) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(basis(rule));
    let stays: Vec<String> = rule
        .stays
        .iter()
        .filter(|(_, families)| **families >= 0.5)
        .map(|(reason, families)| {
            let families = kept(reason, families.round() as i64);
            format!("{families} {reason} ({})", meaning(reason))
        })
        .collect();
    if !stays.is_empty() {
        lines.push(format!("kept: {}", stays.join(", ")));
    }
    if let Some(families) = rule.without_policy.filter(|families| *families > 0) {
        lines.push(format!(
            "{} more would be due with a policy: `windrow policy set`",
            count(families)
        ));
    }
    if whole(rule.rows) > 0 {
        if with_speed {
            lines.push(speed(&rule.speed));
        }
        lines.extend(limit(rule, unit));
    }
    lines.extend(inflow(rule));
    lines.extend(rule.notes.iter().map(|note| format!("not known: {note}")));
    lines
}

/// How many of the due families were looked at.
fn basis(rule: &RuleForecast) -> Vec<String> {
    let mut lines = Vec::new();
    if rule.exact {
        lines.push("every due family was examined".to_owned());
    } else if rule.sampled_families > 0.0 {
        let how = if rule.sample == Some("spread") {
            format!(
                "spread over all ages; the row counts may be {} % off",
                rule.error_percent.round()
            )
        } else {
            "the first ones that a run would take".to_owned()
        };
        lines.push(format!(
            "`~`: estimated from {} of {}, {how}",
            counted(rule.sampled_families.round() as i64, "family", "families"),
            count(whole(rule.due_families))
        ));
    }
    if !rule.due_complete && rule.due_families.is_some() {
        let counted = match rule.sample {
            Some("first") => format!("among the first {} rows of the table", count(rule.counted)),
            _ => format!("up to {}", count(rule.counted)),
        };
        lines.push(format!("counted {counted}; there may be more (`--count`)"));
    }
    lines
}

/// How many families become due, and whether runs keep up with them.
fn inflow(rule: &RuleForecast) -> Option<String> {
    let Some(inflow) = rule.due_per_day else {
        rule.due_families?;
        return Some("how much becomes due per day is unknown until runs have counted".to_owned());
    };
    let verdict = match rule.capacity_per_day {
        Some(most) if inflow <= most => {
            format!(", runs can take {}: they keep up", count(most as i64))
        }
        Some(most) => format!(
            ", runs can take {}: they do not keep up",
            count(most as i64)
        ),
        None => String::new(),
    };
    let from = match &rule.due_per_day_from {
        Some(InflowFrom::Seen(from)) => format!("as seen by {from}"),
        Some(InflowFrom::Rows { .. }) | None => "from what has already ended".to_owned(),
    };
    let families = counted(inflow.round() as i64, "family", "families");
    Some(format!("{families} become due per day ({from}){verdict}"))
}

/// How fast rows are deleted, and how that is known.
fn speed(speed: &Speed) -> String {
    let rate = rows_per_second(speed.rows_per_second);
    match &speed.basis {
        Basis::Measured {
            measured_runs,
            by_hand,
            scheduled_nice,
        } => {
            let runs = counted(*measured_runs as i64, "run", "runs");
            let by_hand = if *by_hand { " started by hand" } else { "" };
            let less = rests(&[("scheduled_nice", *scheduled_nice)]);
            format!("{rate}, measured in the last {runs}{by_hand}, rests included{less}")
        }
        Basis::Rate { .. } => {
            format!("{rate}, from the setting `rate`: no run has shown otherwise")
        }
        Basis::Assumed {
            nice,
            scheduled_nice,
            ..
        } => {
            let less = rests(&[("nice", *nice), ("scheduled_nice", *scheduled_nice)]);
            format!(
                "{rate} is assumed{less}: there has been no run yet; `windrow run --run-families 1000` would measure it"
            )
        }
    }
}

/// By which rests it is slower than what it comes from.
fn rests(settings: &[(&str, f64)]) -> String {
    settings
        .iter()
        .filter(|(_, percent)| *percent > 0.0)
        .map(|(name, percent)| {
            format!(
                ", less the rests of {name} = {} %",
                count(percent.round() as i64)
            )
        })
        .collect()
}

/// What ends the runs, and what would make them fewer.
fn limit(rule: &RuleForecast, unit: &str) -> Vec<String> {
    let Some(name) = rule.limit else {
        return Vec::new();
    };
    let value = match name {
        "run_families" => format!("{name} = {}", count(rule.run_families.round() as i64)),
        "run_rows" => format!("{name} = {}", count(whole(rule.run_rows))),
        "window" => "the end of the window".to_owned(),
        name => name.to_owned(),
    };
    let runs = match rule.runs {
        Some(runs) => format!("{}, {}", counted(runs, "run", "runs"), done(rule, unit)),
        None => "not done within three years, if ever".to_owned(),
    };
    let mut lines = vec![format!("{value} ends its runs: {runs}")];
    lines.extend(rule.remedies.iter().map(|it| remedy(it, unit)));
    lines
}

fn remedy(remedy: &Remedy, unit: &str) -> String {
    let to = match &remedy.to {
        To::Count(number) => count(*number),
        To::Seconds(time) => seconds(*time),
        To::Percent(part) => format!("{} %", count(part.round() as i64)),
        To::Off(word) => (*word).to_owned(),
        To::Schedule(_) => "hourly".to_owned(),
    };
    let days = counted(remedy.days, unit, &format!("{unit}s"));
    format!("  {} = {to}: {days}", remedy.change)
}

/// What is deleted from each table.
fn tables(all: &[TableForecast]) -> String {
    let mut table = Table::new(&[
        ("table", Left),
        ("rows to delete", Right),
        ("of it", Right),
        ("with indexes", Right),
        ("freed inside", Right),
        ("log", Right),
    ]);
    let bytes = |bytes: Option<f64>| bytes.map_or(String::new(), size);
    for row in all {
        table.row([
            row.table.clone(),
            count(row.rows.round() as i64),
            match row.share {
                Some(share) => format!("{:.0} %", share * 100.0),
                None => "?".to_owned(),
            },
            bytes(row.bytes.map(|bytes| bytes as f64)),
            bytes(row.dead_bytes),
            bytes(row.log_bytes),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    format!("\n{table}`of it`: the share of the table, by the server's statistics.\n")
}

/// What is written to the logs, and what happens to the room on the disk.
pub fn log(outlook: &Forecast, tables: &[TableForecast]) -> String {
    let amount = |bytes: Option<f64>| match bytes {
        Some(bytes) => format!("about {}", size(bytes)),
        None => "an unknown amount (never analysed, or not readable by this account)".to_owned(),
    };
    let (log, back) = match &outlook.log {
        LogVolume::Wal {
            bytes, page_images, ..
        } => {
            let images = if *page_images {
                "one full-page image per page (more with more checkpoints), "
            } else {
                ""
            };
            (
                format!(
                    "{} of WAL: {images}without the VACUUM that follows",
                    amount(*bytes)
                ),
                "VACUUM makes them reusable for new rows; only VACUUM FULL or pg_repack returns them to the system",
            )
        }
        LogVolume::Binary {
            bytes,
            on,
            row_image,
            redo_bytes,
            ..
        } => {
            let redo = size(*redo_bytes);
            let log = if *on {
                format!(
                    "{} of binary log (row image {row_image}, before compression), {redo} of redo",
                    amount(*bytes)
                )
            } else {
                format!("the binary log is off; about {redo} of redo")
            };
            (
                log,
                "InnoDB reuses them for new rows; only OPTIMIZE TABLE, which rebuilds the table, returns them to the system",
            )
        }
    };
    let dead: f64 = tables.iter().filter_map(|row| row.dead_bytes).sum();
    let total = &outlook.total;
    format!(
        "\nlog        {log}\ndisk       about {} become free inside the tables: {back}\ntogether   {} with {}: {} of work in {}\n",
        size(dead),
        counted(total.families.round() as i64, "family", "families"),
        counted(total.rows.round() as i64, "row", "rows"),
        seconds(total.work_seconds),
        counted(total.batches.round() as i64, "batch", "batches"),
    )
}

/// The indexes that are still to be made.
fn indexes(all: &[MissingIndex]) -> String {
    let mut table = Table::new(&[
        ("index to build first", Left),
        ("table", Left),
        ("size", Right),
    ]);
    let mut statements = String::new();
    for index in all {
        table.row([
            index.index.clone(),
            index.table.clone(),
            index.bytes.map_or("?".to_owned(), size),
        ]);
        let _ = writeln!(statements, "  {};", index.statement);
    }
    if table.is_empty() {
        return "\nindexes    none missing\n".to_owned();
    }
    format!(
        "\n{table}At most this size: an index on some of the rows, or on few different values, is smaller. `windrow install` builds\nthem first (`20_indexes.sql`):\n{statements}"
    )
}

/// A size as people say it.
pub fn size(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut bytes = bytes;
    let mut unit = 0;
    while bytes >= 1_000.0 && unit + 1 < units.len() {
        bytes /= 1_000.0;
        unit += 1;
    }
    if bytes < 10.0 && unit > 0 {
        format!("{bytes:.1} {}", units[unit])
    } else {
        format!("{bytes:.0} {}", units[unit])
    }
}

/// Seconds as people say them.
pub fn seconds(seconds: f64) -> String {
    long(Duration::from_secs_f64(seconds.clamp(0.0, 1e11)))
}

/// A figure that may not be known, as a whole number.
fn whole(value: Option<f64>) -> i64 {
    value.unwrap_or_default().round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::{Total, WorkingHours};

    fn jobs() -> RuleForecast {
        RuleForecast {
            rule: "jobs".to_owned(),
            due_families: Some(1_000_000.0),
            counted: 1_000_000,
            families: Some(990_000.0),
            rows: Some(9_900_000.4),
            batches: Some(5_050.0),
            sampled_families: 5_000.0,
            sample: Some("spread"),
            error_percent: 3.0,
            stays: [
                ("HELD".to_owned(), 0.2),
                ("NON_FINAL_MEMBER".to_owned(), 10_000.0),
            ]
            .into(),
            oldest_end_time: Some("2024-01-01T00:00:00".to_owned()),
            due_per_day: Some(12_000.0),
            due_per_day_from: Some(InflowFrom::Rows {
                rows_of_the_next_seconds: 604_800.0,
            }),
            work_seconds: Some(990.0),
            limit: Some("run_families"),
            run_families: 10_000.0,
            capacity_per_day: Some(10_000.0),
            speed: Speed {
                rows_per_second: 10_000.0,
                basis: Basis::Assumed {
                    assumed: 10_000.0,
                    nice: 0.0,
                    scheduled_nice: 0.0,
                },
            },
            remedies: vec![
                Remedy {
                    change: "run_families",
                    to: To::Count(720_000),
                    days: 2,
                    runs: Some(2),
                },
                Remedy {
                    change: "schedule",
                    to: To::Schedule("7 * * * *".to_owned()),
                    days: 25,
                    runs: Some(99),
                },
            ],
            ..RuleForecast::default()
        }
    }

    fn table(name: &str, rows: f64) -> TableForecast {
        TableForecast {
            table: name.to_owned(),
            rows,
            rows_in_table: None,
            share: None,
            bytes: None,
            dead_bytes: None,
            log_bytes: None,
        }
    }

    fn document() -> Report {
        Report {
            spec: "demo".to_owned(),
            server: "MySQL",
            installed: true,
            sees_tables: true,
            indexes: vec![MissingIndex {
                index: "windrow_step_job_id".to_owned(),
                table: "step".to_owned(),
                why: String::new(),
                bytes: Some(2.5e8),
                statement: "ALTER TABLE …".to_owned(),
            }],
            rules: vec![
                jobs(),
                RuleForecast {
                    rule: "logs".to_owned(),
                    notes: vec!["counting up to 10000 families was stopped after 60s".to_owned()],
                    ..RuleForecast::default()
                },
            ],
            tables: vec![
                TableForecast {
                    share: Some(0.5),
                    bytes: Some(2_000_000_000),
                    dead_bytes: Some(1e9),
                    log_bytes: Some(3e8),
                    ..table("job", 990_000.0)
                },
                table("step", 8_910_000.0),
            ],
            outlook: Some(Forecast {
                as_of: Some("2026-11-22T06:00:00Z".to_owned()),
                armed: Some(false),
                not_armed: None,
                schedule: WorkingHours {
                    cron: "0 1 * * *".to_owned(),
                    windows: vec!["daily 01:00-05:00".to_owned()],
                    time_budget: 7_200.0,
                    unit: "night",
                },
                log: LogVolume::Binary {
                    kind: "binary log",
                    bytes: Some(3e8),
                    on: true,
                    row_image: "FULL",
                    redo_bytes: 2.2e9,
                },
                total: Total {
                    families: 990_000.0,
                    rows: 9_900_000.0,
                    batches: 5_050.0,
                    work_seconds: 990.0,
                    ..Total::default()
                },
            }),
        }
    }

    #[test]
    fn a_plan_answers_on_one_screen() {
        insta::assert_snapshot!(plan(&document()), @r#"
        demo on MySQL: not armed, as of 2026-11-22T06:00:00Z
        runs       start by `0 1 * * *` (UTC), windows daily 01:00-05:00, at most 2 h 00 min each

        rule                 due  deletable        rows  batches         work  runs  done in  oldest
        jobs  1,000,000 at least   ~990,000  ~9,900,000   ~5,050  16 min 30 s        never    2024-01-01T00:00:00
        logs             unknown

        jobs
          `~`: estimated from 5,000 families of 1,000,000, spread over all ages; the row counts may be 3 % off
          counted up to 1,000,000; there may be more (`--count`)
          kept: 10,000 NON_FINAL_MEMBER (a member has not ended)
          run_families = 10,000 ends its runs: not done within three years, if ever
            run_families = 720,000: 2 nights
            schedule = hourly: 25 nights
          12,000 families become due per day (from what has already ended), runs can take 10,000: they do not keep up

        logs
          not known: counting up to 10000 families was stopped after 60s

        speed      10,000 rows/s is assumed: there has been no run yet; `windrow run --run-families 1000` would measure it
        log        about 300 MB of binary log (row image FULL, before compression), 2.2 GB of redo
        disk       about 1.0 GB become free inside the tables: InnoDB reuses them for new rows; only OPTIMIZE TABLE, which rebuilds the table, returns them to the system
        together   990,000 families with 9,900,000 rows: 16 min 30 s of work in 5,050 batches

        table  rows to delete  of it  with indexes  freed inside     log
        job           990,000   50 %        2.0 GB        1.0 GB  300 MB
        step        8,910,000      ?
        `of it`: the share of the table, by the server's statistics.

        index to build first  table    size
        windrow_step_job_id   step   250 MB
        At most this size: an index on some of the rows, or on few different values, is smaller. `windrow install` builds
        them first (`20_indexes.sql`):
          ALTER TABLE …;
        "#);
    }
}
