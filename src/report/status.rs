//! How an installation does: armed, paused, at work, waiting, keeping up, and what it cannot delete.

use std::fmt::Write as _;
use std::time::Duration;

use super::words::{instant, kept, long, text, though_armed};
use crate::answers::{Due, Running, Status, Undeletable};
use crate::facts::{UNDATED, meaning};
use crate::ui::Align::{Left, Right};
use crate::ui::{Table, count, counted};

/// How an installation does.
pub fn status(status: &Status) -> String {
    let mut out = switches(status);
    out += &scheduling(status);
    out += &stock(status);
    out += &running(&status.running);
    if let Some(last) = &status.last_run {
        let _ = writeln!(
            out,
            "\nlast run   {}: {}, {} ({})",
            last.run_id,
            last.status,
            text(last.reason.as_ref()),
            text(last.finished_at.as_ref())
        );
    }
    out += &due(&status.rules, &status.undeletable);
    out += &undeletable(&status.undeletable);
    out
}

/// Whether runs may delete, and who said so.
fn switches(status: &Status) -> String {
    let control = &status.control;
    let mut out = format!(
        "installed  yes, {} by {}\n",
        instant(&control.installed_at),
        control.installed_by
    );
    if let Some(version) = &control.version {
        let _ = writeln!(out, "windrow    {version}");
    }
    let by = |at: &Option<String>, who: &Option<String>| {
        format!("yes, {} by {}", text(at.as_ref()), text(who.as_ref()))
    };
    let _ = if control.armed {
        writeln!(
            out,
            "armed      {}",
            by(&control.armed_at, &control.armed_by)
        )
    } else if let Some(reason) = though_armed(control.not_armed.as_ref()) {
        let here = if control.read_only {
            "not here, a standby or replica, whose primary deletes"
        } else {
            "no, runs are refused"
        };
        writeln!(
            out,
            "armed      {here}: {reason}\n           armed {} by {}",
            text(control.armed_at.as_ref()),
            text(control.armed_by.as_ref())
        )
    } else {
        writeln!(out, "armed      no: runs are refused until `windrow arm`")
    };
    let _ = if control.paused {
        writeln!(
            out,
            "paused     {}\n           {}",
            by(&control.paused_at, &control.paused_by),
            text(control.paused_reason.as_ref())
        )
    } else {
        writeln!(out, "paused     no")
    };
    for pause in &status.paused_rules {
        let _ = writeln!(
            out,
            "           rule {}, {} by {}: {}",
            pause.rule,
            instant(&pause.paused_at),
            pause.paused_by,
            text(pause.reason.as_ref())
        );
    }
    out
}

/// Why no scheduled run starts, and what an installation overruled.
fn scheduling(status: &Status) -> String {
    let mut out = String::new();
    if let Some(reason) = &status.not_scheduled {
        let _ = writeln!(out, "schedule   not as it should be: {reason}");
    }
    let scheduling = &status.scheduling;
    if scheduling.suspended {
        let _ = writeln!(
            out,
            "suspended  yes, after {} failed scheduled runs in a row: {}\n           until `windrow run` succeeds, or `windrow arm`",
            count(scheduling.failed_runs),
            text(scheduling.last_error.as_ref())
        );
    }
    for refusal in &status.refusals {
        let _ = writeln!(
            out,
            "refused    no scheduled run since {}: {} (on {})",
            instant(&refusal.since),
            refusal.reason,
            refusal.server
        );
    }
    if let Some(forced) = &status.control.forced_install {
        let _ = writeln!(
            out,
            "forced     {} by {}, despite {}",
            instant(&forced.at),
            forced.by,
            counted(forced.findings.len() as i64, "error", "errors")
        );
    }
    out
}

/// Policies, holds, windows and files.
fn stock(status: &Status) -> String {
    let absent = match status.absent_holds {
        0 => String::new(),
        count => format!(", {count} placed without a row"),
    };
    let open = match status.window_open {
        Some(true) => "open now",
        Some(false) | None => "closed now",
    };
    format!(
        "policies   {} enabled\nholds      {}{absent}\nwindows    {} (for scheduled runs; {open})\nartifacts  {} waiting, {} given up\n",
        count(status.policies),
        count(status.holds),
        status.windows.join(", "),
        count(status.artifacts_waiting),
        count(status.artifacts_given_up)
    )
}

/// What is at work, and what it waits for.
fn running(all: &[Running]) -> String {
    let mut out = String::new();
    let mut runs = Table::new(&[
        ("running", Left),
        ("rule", Left),
        ("families", Right),
        ("rows", Right),
        ("batches", Right),
        ("since", Left),
    ]);
    for run in all {
        let id = run.run_id;
        runs.row([
            match run.worker {
                Some(worker) => format!("{id} (worker {worker})"),
                None if run.server.is_some() => format!("{id} (on another server)"),
                None => id.to_string(),
            },
            text(run.rule.as_ref()),
            count(run.families.unwrap_or_default()),
            count(run.deleted_rows.unwrap_or_default()),
            count(run.batches.unwrap_or_default()),
            instant(&run.started_at),
        ]);
    }
    if !runs.is_empty() {
        let _ = write!(out, "\n{runs}");
    }
    let mut told = Vec::new();
    for run in all {
        // A run has a line for each rule, and waits but once.
        let Some(cause) = run
            .waiting_for
            .as_ref()
            .filter(|_| !told.contains(&run.run_id))
        else {
            continue;
        };
        told.push(run.run_id);
        let of_worker = match run.worker {
            Some(worker) => format!(" (worker {worker})"),
            None => String::new(),
        };
        let since = text(run.waiting_since.as_ref());
        let _ = writeln!(out, "waiting    since {since}, for {cause}{of_worker}");
    }
    out
}

/// By rule: what is due, and whether the runs keep up with it.
fn due(rules: &[Due], undeletable: &[Undeletable]) -> String {
    let mut due = Table::new(&[
        ("rule", Left),
        ("due", Right),
        ("rows", Right),
        ("oldest", Right),
        ("due/h", Right),
        ("deleted/h", Right),
        ("keeps up", Left),
    ]);
    let estimated =
        |value: Option<f64>| value.map_or(String::new(), |value| count(value.round() as i64));
    for rule in rules {
        let families = count(rule.families);
        // What has no time is not due.
        let stay = undeletable
            .iter()
            .filter(|it| it.rule == rule.rule && it.reason != UNDATED);
        due.row([
            rule.rule.clone(),
            match rule.counted_at {
                Some(_) => families,
                None => format!("{families} at least"),
            },
            estimated(rule.rows),
            age(rule.oldest_age_seconds),
            estimated(rule.due_per_hour),
            estimated(rule.deleted_per_hour),
            verdict(rule, stay.map(|it| it.families).sum()),
        ]);
    }
    if due.is_empty() {
        return String::new();
    }
    format!("\n{due}")
}

/// What cannot be deleted, and why.
fn undeletable(all: &[Undeletable]) -> String {
    let mut stays = Table::new(&[
        ("kept", Left),
        ("rule", Left),
        ("families", Right),
        ("oldest", Right),
        ("its key", Left),
        ("because", Left),
    ]);
    for skip in all {
        stays.row([
            skip.reason.as_str(),
            &skip.rule,
            &kept(&skip.reason, skip.families),
            &age(skip.oldest_age_seconds),
            &text(skip.sample_key.as_ref()),
            meaning(&skip.reason),
        ]);
    }
    if stays.is_empty() {
        return String::new();
    }
    format!("\n{stays}")
}

/// Whether the runs keep up with a rule, of whose due families so many are kept.
fn verdict(rule: &Due, stays: i64) -> String {
    let families = rule.families;
    // Otherwise there are at least so many.
    let counted = rule.counted_at.is_some();
    if counted && families == 0 {
        return "yes: nothing is due".to_owned();
    }
    if rule.last_look.is_none() {
        return "no run has examined everything that is due yet".to_owned();
    }
    if rule.last_look_dry_run == Some(true) {
        return "not yet: a dry run examined it last, and deleted nothing".to_owned();
    }
    if counted && families <= stays {
        return "yes: everything due is kept, see below".to_owned();
    }
    if rule.last_look_complete == Some(true) {
        return "yes: the last run left nothing that may be deleted".to_owned();
    }
    let left = work(rule, families - stays);
    match (rule.due_per_hour, rule.deleted_per_hour) {
        (Some(due), Some(gone)) if gone > due => format!("catches up{left}"),
        (Some(due), Some(gone)) => format!(
            "no: per hour, {} more become due than are deleted{left}",
            count((due - gone).ceil() as i64)
        ),
        (None, Some(_)) => format!("not yet: too many to count how many become due{left}"),
        _ => format!("not yet: the last run ended before everything was done{left}"),
    }
}

/// How long runs have to work on so many families, where that is known.
fn work(rule: &Due, families: i64) -> String {
    match (rule.rows, rule.rows_per_second) {
        (Some(rows), Some(speed)) if speed > 0.0 && families > 0 => {
            let rows = rows * families as f64 / rule.families as f64;
            let time = Duration::from_secs_f64((rows / speed).clamp(0.0, 1e10));
            let about = match rule.counted_at {
                Some(_) => "about",
                None => "at least",
            };
            format!(": {about} {} of work left", long(time))
        }
        _ => String::new(),
    }
}

/// An age in the unit that suits it.
fn age(seconds: Option<f64>) -> String {
    match seconds {
        Some(seconds) if seconds > 0.0 => long(Duration::from_secs_f64(seconds.min(1e11))),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::answers::read;

    #[test]
    fn a_run_that_waits_says_for_what() {
        let told = |waiting: Value| {
            let run = json!({"run_id": 7, "rule": "x", "families": 1, "deleted_rows": 2, "batches": 3, "started_at": "2026-11-21T07:00:00+00:00",
                "worker": null, "waiting_for": waiting, "waiting_since": "2026-11-21T08:00:00+00:00"});
            running(&[read("status", &run).expect("a run")])
        };
        let waits = told(json!("the rate of 5 rows per second"));
        assert!(
            waits.contains("\nwaiting    since 2026-11-21T08:00:00")
                && waits.ends_with(", for the rate of 5 rows per second\n"),
            "{waits}"
        );
        assert!(!told(Value::Null).contains("waiting "));
    }

    #[test]
    fn each_rule_is_told_whether_the_runs_keep_up_and_what_cannot_go() {
        let rule = |name: &str, families: i64, complete: Value, due: Value, gone: Value| {
            json!({"rule": name, "families": families, "rows": families * 30, "oldest_age_seconds": 8_640_000.5,
                "counted_at": "2026-11-22T00:00:00Z", "due_per_hour": due, "deleted_per_hour": gone,
                "last_look": if complete.is_null() { Value::Null } else { json!(7) }, "last_look_status": "stopped",
                "last_look_complete": complete})
        };
        let mut fast = rule("g", 500, json!(false), json!(60.0), json!(80.0));
        fast["rows_per_second"] = json!(1000.0);
        let mut dry = rule("h", 6553, json!(true), Value::Null, Value::Null);
        dry["last_look_dry_run"] = json!(true);
        let mut held = rule("k", 3, json!(true), Value::Null, Value::Null);
        held["last_look_dry_run"] = json!(true);
        let mut more = rule("e", 10_000, json!(false), Value::Null, Value::Null);
        more["counted_at"] = Value::Null;
        let mut many = rule("l", 1_000_000, json!(false), Value::Null, json!(60.0));
        let mut unseen = rule("m", 0, json!(false), Value::Null, json!(60.0));
        for it in [&mut many, &mut unseen] {
            it["counted_at"] = Value::Null;
            it["rows_per_second"] = json!(1000.0);
        }
        let mut through = rule("n", 0, json!(true), Value::Null, json!(60.0));
        through["counted_at"] = Value::Null;
        let rules: Vec<Due> = read(
            "status",
            &json!([
                rule("a", 0, json!(true), json!(5.0), json!(5.0)),
                rule("b", 3, json!(true), json!(5.0), json!(5.0)),
                rule("c", 4810, json!(false), json!(60.0), json!(80.0)),
                rule("d", 9000, json!(false), json!(80.2), json!(60.0)),
                more,
                rule("f", 5, Value::Null, Value::Null, Value::Null),
                fast,
                dry,
                rule("i", 2, json!(false), json!(5.0), json!(6.0)),
                rule("j", 10, json!(true), json!(5.0), json!(6.0)),
                held,
                many,
                unseen,
                through
            ]),
        )
        .expect("rules");
        let stay: Vec<Undeletable> = read("status", &json!([
                {"rule": "b", "reason": "HELD", "families": 3, "sample_key": "17", "oldest_age_seconds": 90_000.0},
                {"rule": "i", "reason": "FAILED", "families": 2, "sample_key": "19", "oldest_age_seconds": null},
                {"rule": "c", "reason": "UNDATED_MEMBER", "families": 10, "sample_key": "18", "oldest_age_seconds": null},
                {"rule": "j", "reason": "UNDATED_MEMBER", "families": 10, "sample_key": "20", "oldest_age_seconds": null},
                {"rule": "k", "reason": "HELD", "families": 3, "sample_key": "21", "oldest_age_seconds": null}]))
        .expect("what stays");
        insta::assert_snapshot!(due(&rules, &stay) + &undeletable(&stay), @r"

        rule                 due        rows    oldest  due/h  deleted/h  keeps up
        a                      0           0  100 days      5          5  yes: nothing is due
        b                      3          90  100 days      5          5  yes: everything due is kept, see below
        c                  4,810     144,300  100 days     60         80  catches up
        d                  9,000     270,000  100 days     80         60  no: per hour, 21 more become due than are deleted
        e        10,000 at least     300,000  100 days                    not yet: the last run ended before everything was done
        f                      5         150  100 days                    no run has examined everything that is due yet
        g                    500      15,000  100 days     60         80  catches up: about 15.0 s of work left
        h                  6,553     196,590  100 days                    not yet: a dry run examined it last, and deleted nothing
        i                      2          60  100 days      5          6  yes: everything due is kept, see below
        j                     10         300  100 days      5          6  yes: the last run left nothing that may be deleted
        k                      3          90  100 days                    not yet: a dry run examined it last, and deleted nothing
        l     1,000,000 at least  30,000,000  100 days                60  not yet: too many to count how many become due: at least 8 h 20 min of work left
        m             0 at least           0  100 days                60  not yet: too many to count how many become due
        n             0 at least           0  100 days                60  yes: the last run left nothing that may be deleted

        kept            rule  families       oldest  its key  because
        HELD            b            3  25 h 00 min  17       a hold keeps it
        FAILED          i            2               19       deleting it raised an error
        UNDATED_MEMBER  c           10               18       it has no time to count from: no end time, or no removal time
        UNDATED_MEMBER  j           10               20       it has no time to count from: no end time, or no removal time
        HELD            k            3               21       a hold keeps it
        ");
    }
}
