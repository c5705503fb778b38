//! What a command did on many databases, one line for each.

use std::time::Duration;

use serde::Deserialize as _;
use serde_json::Value;

use crate::answers::{Fleet, FleetDatabase, FleetOutcome, RunAnswer};
use crate::ui::Align::{Left, Right};
use crate::ui::{Table, count, counted, duration};

/// Characters of a line that is told of a database.
const SAYS: usize = 100;

/// The table of all databases, and what it comes to.
pub fn fleet(fleet: &Fleet) -> String {
    // Files are written once for each spec.
    let (one, several) = match fleet.command {
        "generate" => ("spec", "specs"),
        _ => ("database", "databases"),
    };
    let mut table = Table::new(&[
        (one, Left),
        ("outcome", Left),
        ("took", Right),
        ("says", Left),
    ]);
    for it in &fleet.databases {
        let took = match it.seconds {
            0.0 => String::new(),
            seconds => duration(Duration::from_secs_f64(seconds)),
        };
        let says: String = it.says.chars().take(SAYS).collect();
        table.row([it.name.clone(), word(it.outcome).to_owned(), took, says]);
    }
    let waited = |it: &&FleetDatabase| it.outcome == FleetOutcome::Waited;
    let waited = fleet.databases.iter().filter(waited).count();
    let parts = [
        (fleet.clean, "clean"),
        (fleet.found - waited, "with findings"),
        (waited, "only waited"),
        (fleet.failed, "failed"),
        (fleet.not_started, "not started"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    let all = counted(fleet.databases.len() as i64, one, several);
    format!("{table}\n{all}: {}\n", parts.join(", "))
}

fn word(outcome: FleetOutcome) -> &'static str {
    match outcome {
        FleetOutcome::Clean => "clean",
        FleetOutcome::Found => "found",
        FleetOutcome::Waited => "waited",
        FleetOutcome::Failed => "FAILED",
        FleetOutcome::TimedOut => "TIMED OUT",
        FleetOutcome::Interrupted => "interrupted",
        FleetOutcome::NotStarted => "not started",
        FleetOutcome::DoneBefore => "done before",
    }
}

/// What the document of a command comes to, in a line.
pub fn fleet_says(command: &str, answer: &Value) -> String {
    if let Some(message) = answer.pointer("/error/message") {
        let cause = answer.pointer("/error/caused_by/0").and_then(Value::as_str);
        return match cause {
            Some(cause) => format!("{}: {cause}", string(message)),
            None => string(message),
        };
    }
    match command {
        "check" => check(answer),
        "install" => install(answer),
        "diff" => first(list(answer, "drift"), "as generated", |it| {
            format!(
                "{} {} {}",
                string(&it["kind"]),
                string(&it["name"]),
                string(&it["state"])
            )
        }),
        "verify" => {
            let wrong = list(answer, "checks").into_iter();
            let wrong = wrong.filter(|it| it["severity"] == "violation").collect();
            first(wrong, "nothing is violated", |it| {
                format!("{} {}", string(&it["check"]), string(&it["object"]))
            })
        }
        "status" => status(answer),
        "plan" => plan(answer),
        "run" => run(answer),
        "generate" => {
            let stale = answer["stale"].as_i64().unwrap_or_default();
            counted(stale, "file changed", "files changed")
        }
        "pause" => "paused".to_owned(),
        "resume" => "runs may start".to_owned(),
        "arm" => "armed".to_owned(),
        _ => String::new(),
    }
}

fn string(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn list<'a>(answer: &'a Value, field: &str) -> Vec<&'a Value> {
    answer[field].as_array().into_iter().flatten().collect()
}

/// How many there are, and the first of them.
fn first(all: Vec<&Value>, none: &str, told: impl Fn(&Value) -> String) -> String {
    match all.first() {
        None => none.to_owned(),
        Some(first) if all.len() == 1 => told(first),
        Some(first) => format!(
            "{} of them, the first: {}",
            count(all.len() as i64),
            told(first)
        ),
    }
}

fn check(answer: &Value) -> String {
    let mut all = list(answer, "diagnostics");
    all.extend(list(answer, "findings"));
    all.retain(|it| it["severity"] != "notice");
    first(all, "nothing found", |it| {
        format!("{}: {}", string(&it["code"]), string(&it["message"]))
    })
}

fn install(answer: &Value) -> String {
    let files = list(answer, "files");
    let seconds: f64 = files.iter().filter_map(|it| it["seconds"].as_f64()).sum();
    let reason = answer["not_armed"].as_str().unwrap_or("not armed");
    let armed = match answer["armed"].as_bool() {
        Some(true) => "armed",
        Some(false) if reason.starts_with("not armed") => "not armed",
        Some(false) => reason,
        None => "armed or not: this account may not see it",
    };
    format!("{} files in {seconds:.1} s, {armed}", files.len())
}

/// Whether it can work, and which rule is late.
fn status(answer: &Value) -> String {
    let mut parts = Vec::new();
    let control = &answer["control"];
    let reason = string(&control["not_armed"]);
    if control["armed"] == false {
        let here = !reason.is_empty() && !reason.starts_with("not armed");
        parts.push(if here && control["read_only"] == true {
            "a standby or replica, whose primary deletes".to_owned()
        } else if here {
            format!("NOT ARMED HERE: {reason}")
        } else {
            "NOT ARMED".to_owned()
        });
    }
    if control["paused"] == true {
        parts.push(
            format!("PAUSED {}", string(&control["paused_reason"]))
                .trim()
                .to_owned(),
        );
    }
    if let Some(reason) = answer["not_scheduled"].as_str() {
        parts.push(format!("NOT SCHEDULED: {reason}"));
    }
    for refusal in list(answer, "refusals") {
        if string(&refusal["reason"]) == reason {
            continue;
        }
        parts.push(format!("refuses: {}", string(&refusal["reason"])));
    }
    let rules = list(answer, "rules");
    let due: i64 = rules.iter().filter_map(|it| it["families"].as_i64()).sum();
    let least = match rules.iter().all(|it| it["counted_at"].is_string()) {
        true => "",
        false => "at least ",
    };
    parts.push(format!("{least}{} due", counted(due, "family", "families")));
    let age = |it: &&Value| it["oldest_age_seconds"].as_f64().unwrap_or_default();
    if let Some(late) = rules
        .iter()
        .copied()
        .filter(|it| it["families"].as_i64() > Some(0))
        .max_by(|a, b| age(a).total_cmp(&age(b)))
    {
        let days = (age(&late) / 86_400.0).floor() as i64;
        parts.push(format!(
            "the oldest in `{}` for {}",
            string(&late["rule"]),
            counted(days, "day", "days")
        ));
    }
    match &answer["last_run"] {
        Value::Null => parts.push("never ran".to_owned()),
        last => parts.push(format!("last run {}", string(&last["status"]))),
    }
    parts.join(", ")
}

fn plan(answer: &Value) -> String {
    let total = &answer["total"];
    let number = |field: &str| total[field].as_f64().unwrap_or_default() as i64;
    let work = counted(number("families"), "family", "families");
    let rows = counted(number("rows"), "row", "rows");
    match total["days"].as_i64() {
        None => format!("{work}, {rows}: never done"),
        Some(days) => format!("{work}, {rows}, in {}", counted(days, "day", "days")),
    }
}

/// What a run waited for that did nothing else, and why it ended.
pub fn only_waited(answer: &Value) -> Option<(String, String)> {
    let Ok(RunAnswer::Run(run)) = RunAnswer::deserialize(answer) else {
        return None;
    };
    let what = run.only_waited()?.to_owned();
    let reason = run.reason.unwrap_or_default();
    let ended = reason.split(" while waiting for ").next();
    Some((what, ended.unwrap_or_default().to_owned()))
}

fn run(answer: &Value) -> String {
    if let Some((what, ended)) = only_waited(answer) {
        return format!("only waited, for {what} ({ended})");
    }
    let rules = list(answer, "rules");
    let sum = |field: &str| -> i64 { rules.iter().filter_map(|it| it[field].as_i64()).sum() };
    format!(
        "{} ({}): {}, {}",
        string(&answer["status"]),
        string(&answer["reason"]),
        counted(sum("families"), "family", "families"),
        counted(sum("rows"), "row", "rows")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::fleet_says;

    #[test]
    fn a_standby_is_not_told_to_be_armed() {
        let says = |read_only: bool| {
            let reason: Value = "armed on another server: a".into();
            let answer = json!({"control": {"armed": false, "not_armed": reason, "read_only": read_only, "paused": false},
                "refusals": [], "rules": [], "last_run": {"status": "done"}});
            fleet_says("status", &answer)
        };
        assert_eq!(
            says(false),
            "NOT ARMED HERE: armed on another server: a, 0 families due, last run done"
        );
        assert_eq!(
            says(true),
            "a standby or replica, whose primary deletes, 0 families due, last run done"
        );
    }
}
