//! What of a rule is due, and what of that may be deleted: counted along the index, then judged, all of it or slices.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::answers::{self, Figures, Outlook, OutlookPart, Preview, PreviewRule};
use crate::cli::Plan;
use crate::commands::session::Session;
use crate::facts::UNDATED;
use crate::failure::Failure;
use crate::forecast::{self, InflowFrom, Slice};
use crate::graph::{Rule, Single};
use crate::interrupt;
use crate::spec::duration;

/// Into how many parts what is due is cut, to look at a slice of each.
const PARTS: i64 = 10;
const DAY: f64 = 86_400.0;
/// More families than there are.
const ALL: i64 = 1_000_000_000_000_000;

/// What of a rule is due, and what of that may be deleted.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// Families that are due; unknown where even counting a part took too long.
    pub(super) due: Option<f64>,
    /// Whether these are all.
    pub(super) complete: bool,
    /// How many would have been counted at most.
    pub(super) counted: i64,
    /// Families that may be deleted, their rows, and the batches for them.
    pub(super) going: f64,
    pub(super) rows: f64,
    pub(super) batches: f64,
    /// Whether all were looked at. Otherwise these were, in so many percent of the rows right.
    pub(super) exact: bool,
    pub(super) sampled: f64,
    pub(super) error: f64,
    /// How the sample was taken: `spread` over all ages, or the `first` that a run would take.
    pub(super) sample: Option<&'static str>,
    /// Families that are kept, by reason.
    pub(super) stays: BTreeMap<String, f64>,
    /// Families that would be due if their scope had a policy.
    pub(super) without_policy: Option<i64>,
    /// When the oldest ended.
    pub(super) oldest: Option<String>,
    /// Families that become due, a day, and how that is known.
    pub(super) inflow: Option<f64>,
    pub(super) inflow_from: Option<InflowFrom>,
    /// Rows that are deleted, by table.
    pub(super) tables: BTreeMap<String, f64>,
    /// What could not be found out.
    pub(super) notes: Vec<String>,
    pub(super) as_of: Option<String>,
    pub(super) armed: Option<bool>,
    pub(super) not_armed: Option<String>,
}

impl Backlog {
    /// Whether anything was looked at.
    pub(super) fn is_known(&self) -> bool {
        self.exact || self.sampled > 0.0
    }

    /// Which part of what is due may be deleted.
    pub(super) fn share(&self) -> f64 {
        match self.due {
            Some(due) if due > 0.0 => (self.going / due).min(1.0),
            _ => 1.0,
        }
    }

    /// A preview has looked at all that is due.
    fn examined(&mut self, preview: PreviewRule) {
        self.exact = true;
        self.going = preview.figures.families as f64;
        self.rows = preview.figures.rows as f64;
        self.batches = preview.figures.batches as f64;
        self.without_policy = preview.without_policy;
        self.oldest = preview.oldest_end_time;
        self.add(&preview.figures, 1.0, 1.0);
    }

    /// Adds what a preview found, times a factor; what has no time, times another one.
    fn add(&mut self, preview: &Figures, factor: f64, undated: f64) {
        for (table, rows) in preview.tables.iter().flat_map(|tables| &tables.0) {
            *self.tables.entry(table.clone()).or_default() += *rows as f64 * factor;
        }
        for (reason, families) in &preview.skipped.0 {
            let factor = match reason.as_str() {
                UNDATED => undated,
                _ => factor,
            };
            *self.stays.entry(reason.clone()).or_default() += *families as f64 * factor;
        }
    }
}

/// Looks at a rule.
pub(super) fn look(
    session: &mut Session,
    args: &Plan,
    rule: &Rule,
    size: &dyn Fn(&str) -> f64,
) -> anyhow::Result<Backlog> {
    let patience = patience(args)?;
    let mut backlog = Backlog::default();
    let ahead = ahead(rule);
    let mut outlook = None;
    for count in [args.count, (args.count / 100).max(1)] {
        let options = json!({
            "rule": rule.name, "limit": count, "parts": PARTS, "ahead": format!("{ahead}s"),
        });
        backlog.counted = count;
        if let Some(answer) = ask::<Outlook>(session, patience, "outlook", &options)? {
            backlog.as_of = Some(answer.as_of);
            outlook = Some(only(answer.rules, rule, "outlook")?);
            break;
        }
        backlog.notes.push(format!(
            "counting up to {count} families was stopped after {}",
            args.timeout
        ));
    }
    let Some(outlook) = outlook else {
        return Ok(backlog);
    };
    // Where families are big, a batch takes as many as their rows allow.
    let fewest = |rows: f64| match size("batch_family_rows") {
        most if most > 0.0 => (rows / most).ceil(),
        _ => 0.0,
    };
    let due = outlook.families;
    backlog.due = Some(due);
    backlog.complete = outlook.complete;
    inflow(session, &mut backlog, rule, outlook.ahead, ahead as f64)?;
    if backlog.complete && due <= args.sample as f64 {
        let options = json!({"rule": rule.name, "run_families": ALL});
        match ask::<Preview>(session, patience, "preview", &options)? {
            Some(preview) => {
                backlog.armed = Some(preview.armed);
                backlog.not_armed = preview.not_armed;
                backlog.examined(only(preview.rules, rule, "preview")?);
                backlog.batches = backlog.batches.max(fewest(backlog.rows));
            }
            None => backlog.notes.push(format!(
                "the preview of {due} families was stopped after {}: what would be deleted is not known",
                args.timeout
            )),
        }
        return Ok(backlog);
    }
    sample(session, args, rule, outlook.parts, &mut backlog)?;
    if !backlog.exact {
        backlog.batches = batches(&backlog, size("batch_families"), size("batch_rows"));
    }
    backlog.batches = backlog.batches.max(fewest(backlog.rows));
    Ok(backlog)
}

/// How many batches take what is due: so many families at a time, of those that are kept as well, or so many rows of any table. A
/// slice is smaller than a batch, so that what it takes says nothing of that.
fn batches(backlog: &Backlog, families: f64, rows: f64) -> f64 {
    let most = backlog
        .tables
        .values()
        .fold(0.0_f64, |most, it| most.max(*it));
    let by = |all: f64, size: f64| if size > 0.0 { all / size } else { 0.0 };
    let due = backlog.due.unwrap_or(backlog.going);
    by(due, families).max(by(most, rows)).ceil()
}

/// Looks at the first families of each part.
fn sample(
    session: &mut Session,
    args: &Plan,
    rule: &Rule,
    parts: Vec<OutlookPart>,
    backlog: &mut Backlog,
) -> anyhow::Result<()> {
    let due = backlog.due.unwrap_or(0.0);
    let mut places: Vec<(Option<String>, f64)> = Vec::new();
    for part in parts {
        match places.last_mut() {
            // Families that ended at once.
            Some((from, stands_for)) if *from == part.from => *stands_for += part.families,
            _ => places.push((part.from, part.families)),
        }
    }
    backlog.sample = Some("spread");
    if places.is_empty() {
        backlog.sample = Some("first");
        places.push((None, due));
    }
    backlog.oldest = places[0].0.clone();
    let take = (args.sample / places.len() as i64).max(1);
    let mut slices = Vec::new();
    for (from, stands_for) in places {
        let mut options = json!({"rule": rule.name, "run_families": take});
        if let Some(from) = &from {
            options["from"] = from.as_str().into();
        }
        let Some(answer) = ask::<Preview>(session, patience(args)?, "preview", &options)? else {
            backlog.notes.push(format!(
                "the preview of {take} families from {} on was stopped after {}: these are estimated from the others",
                from.as_deref().unwrap_or("the first"),
                args.timeout
            ));
            continue;
        };
        backlog.armed = Some(answer.armed);
        backlog.not_armed = answer.not_armed;
        let preview = only(answer.rules, rule, "preview")?;
        let figures = &preview.figures;
        // Rows without a time are not due; a preview from a time on leaves them out.
        let undated = match from {
            None => figures.skipped.get(UNDATED).copied().unwrap_or(0),
            Some(_) => 0,
        };
        let mut slice = Slice {
            stands_for,
            looked: (figures.families + figures.skipped_families - undated) as f64,
            going: figures.families as f64,
            rows: figures.rows as f64,
            batches: figures.batches as f64,
        };
        if backlog.sample == Some("first") {
            // Without a time, only the first rows of the table were counted; a preview goes on until it has found as many as it may.
            if !backlog.complete && !preview.limited {
                backlog.due = Some(slice.looked);
                backlog.complete = true;
                backlog.examined(preview);
                return Ok(());
            }
            slice.stands_for = due.max(slice.looked);
            backlog.due = Some(slice.stands_for);
        }
        if slice.looked > 0.0 {
            slices.push((slice, preview.figures));
        }
    }
    // A slice that is not there leaves its part to the others.
    let due = backlog.due.unwrap_or(0.0);
    let all: f64 = slices.iter().map(|(slice, _)| slice.stands_for).sum();
    for (slice, preview) in &mut slices {
        slice.stands_for *= due / all;
        let factor = slice.stands_for / slice.looked;
        // Of these, a preview has counted all.
        let undated = match rule.single() {
            Some(Single::Expiry { .. }) => 1.0,
            _ => factor,
        };
        backlog.add(preview, factor, undated);
    }
    let slices: Vec<Slice> = slices.into_iter().map(|(slice, _)| slice).collect();
    let estimate = forecast::estimate(&slices);
    backlog.sampled = slices.iter().map(|slice| slice.looked).sum();
    backlog.going = estimate.going;
    backlog.rows = estimate.rows;
    backlog.batches = estimate.batches;
    backlog.error = estimate.error;
    Ok(())
}

/// Families that become due, a day: from the rows that are there already, or as the last run saw it.
fn inflow(
    session: &mut Session,
    backlog: &mut Backlog,
    rule: &Rule,
    soon: Option<f64>,
    ahead: f64,
) -> anyhow::Result<()> {
    if let Some(families) = soon {
        backlog.inflow = Some(families / ahead * DAY);
        backlog.inflow_from = Some(InflowFrom::Rows {
            rows_of_the_next_seconds: ahead,
        });
        return Ok(());
    }
    let rows = session
        .database
        .query(&session.calls.inflow(), &[Some(&rule.name)])?;
    let hourly = rows.first().and_then(|row| row.first()?.as_deref());
    if let Some(hourly) = hourly.and_then(|text| text.parse::<f64>().ok()) {
        backlog.inflow = Some(hourly * 24.0);
        backlog.inflow_from = Some(InflowFrom::Seen("the last run"));
    }
    Ok(())
}

/// Seconds from now on in which what becomes due has ended already: a week, or the retention where that is shorter.
fn ahead(rule: &Rule) -> i64 {
    const WEEK: i64 = 604_800;
    let kept = match rule.timed() {
        // The time of a row holds the retention.
        Some(timed) if timed.retention == 0 => WEEK,
        Some(timed) => timed.retention,
        None => match rule.retention.minimum {
            0 => rule.retention.default.unwrap_or(WEEK),
            minimum => minimum,
        },
    };
    (kept + rule.retention.safety_lag).clamp(60, WEEK)
}

/// Asks a routine that answers a document; none where it took too long and was stopped.
fn ask<T: DeserializeOwned>(
    session: &mut Session,
    patience: Duration,
    routine: &str,
    options: &Value,
) -> anyhow::Result<Option<T>> {
    let cancel = session.database.cancel();
    let (done, wait) = mpsc::channel::<()>();
    let (answer, stopped) = thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let late = wait.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout);
            // Where this fails, the answer is waited for.
            late && cancel().is_ok()
        });
        let answer = session.ask(routine, options);
        drop(done);
        (answer, watch.join().unwrap_or(false))
    });
    match answer {
        Ok(document) => Ok(Some(answers::read(routine, &document)?)),
        Err(_) if stopped && !interrupt::hit() => {
            // MySQL leaves the transaction open.
            session.database.execute("ROLLBACK")?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The one rule that was asked about.
fn only<T>(rules: Vec<T>, rule: &Rule, routine: &str) -> anyhow::Result<T> {
    let answered = rules.into_iter().next();
    answered.ok_or_else(|| {
        Failure::new(format!(
            "`{routine}` returned nothing for the rule `{}`",
            rule.name
        ))
        .into()
    })
}

/// How long one question to the database may take.
fn patience(args: &Plan) -> anyhow::Result<Duration> {
    match duration::parse(&args.timeout) {
        Ok(milliseconds) => Ok(Duration::from_millis(milliseconds.unsigned_abs())),
        Err(problem) => Err(Failure::new(problem.message).hint(problem.help).into()),
    }
}
