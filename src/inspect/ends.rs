//! When a root has ended, and which of its states are final: what the rows say.

use crate::catalog::{Catalog, CatalogColumn, CatalogTable};
use crate::column::{Epoch, Kind};
use crate::fit::{has_fractions, is_whole, live_kind};

/// What a root table says of the end of its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The column of the time at which a row ended.
    pub end: Option<String>,
    /// Whether that is only the time from which the application itself has no more need of the row.
    pub expires: bool,
    /// The column of its state.
    pub state: Option<String>,
    /// The states, and in how many of the rows that were looked at they have an end.
    pub states: Vec<State>,
    /// The columns of numbers and dates that are instants.
    pub numbers: Numbers,
    /// What the rows that were looked at say of each time.
    pub times: Vec<Time>,
}

/// A column of a time, in the rows that were looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time {
    /// Its name.
    pub column: String,
    /// How many rows were looked at.
    pub rows: i64,
    /// How many of them have it.
    pub filled: i64,
    /// In how many of them no other time is later that has come yet.
    pub latest: i64,
    /// In how many of them it is more than a day ahead: such a time is planned.
    pub ahead: i64,
}

/// Columns of numbers and dates that are instants, and what they count.
pub type Numbers = Vec<(String, Epoch)>;

/// A state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The value, as the server writes it; none: NULL.
    pub value: Option<String>,
    /// How many rows that were looked at have it.
    pub rows: i64,
    /// How many of these have an end; none: no column says.
    pub ended: Option<i64>,
    /// How many of these have another time that by its name is the end of some, by column.
    pub others: Vec<(String, i64)>,
}

impl State {
    /// Another time that nearly every row in it has, though few have the end: these end by that.
    pub fn other_end(&self) -> Option<(&str, i64)> {
        let few = self.ended? * 100 < self.rows * 95;
        let value = self.value.as_deref().filter(|value| !sounds_live(value))?;
        let alike = |column: &str| {
            let stem: String = value.to_lowercase().chars().take(4).collect();
            stem.len() == 4 && column.to_lowercase().contains(&stem)
        };
        let full = self.others.iter();
        let full = full.filter(|(_, filled)| filled * 100 >= self.rows * 95);
        let best = full.max_by_key(|(column, _)| alike(column)).filter(|_| few);
        best.map(|(column, filled)| (column.as_str(), *filled))
    }
}

impl Ends {
    /// The columns that fit best by their names.
    pub fn named(catalog: &Catalog, table: &CatalogTable, numbers: Numbers) -> Ends {
        let first = |names: Vec<&str>| names.first().map(|name| (*name).to_owned());
        Ends {
            end: first(end_columns(catalog, table, &numbers)),
            state: first(state_columns(catalog, table)),
            numbers,
            ..Ends::default()
        }
    }

    /// Takes what rows say of the times: an end that no row has is none where another one is, nor is one that is still ahead, and
    /// where none is named so, an expiry that rows have says when the application needs them no longer.
    pub fn see(&mut self, catalog: &Catalog, table: &CatalogTable, times: Vec<Time>) {
        self.times = times;
        let ends = end_columns(catalog, table, &self.numbers);
        let filled = || ends.iter().filter(|name| self.filled(name) > 0);
        let past = filled().find(|name| self.ahead(name) == 0);
        if let Some(end) = past.or_else(|| filled().next()) {
            self.end = Some((*end).to_owned());
        } else if let Some(expiry) = self.expiry(catalog, table)
            && self.filled(expiry) > 0
        {
            self.end = Some(expiry.to_owned());
            self.expires = true;
        }
    }

    /// In how many of the rows that were looked at a column is not NULL.
    fn filled(&self, column: &str) -> i64 {
        let time = self.times.iter().find(|time| time.column == column);
        time.map_or(0, |time| time.filled)
    }

    /// In how many of them it is the latest time.
    fn latest(&self, column: &str) -> i64 {
        let time = self.times.iter().find(|time| time.column == column);
        time.map_or(0, |time| time.latest)
    }

    /// In how many of them it is more than a day ahead.
    pub fn ahead(&self, column: &str) -> i64 {
        let time = self.times.iter().find(|time| time.column == column);
        time.map_or(0, |time| time.ahead)
    }

    /// Whether a time is planned, by its name or by the rows in which it has not come.
    fn is_plan(&self, column: &str) -> bool {
        is_planned(&snake(column)) || self.ahead(column) > 0
    }

    /// The column of the time at which a row ended, or what replaces it: the time that is the latest in most rows, and is not planned.
    pub fn time<'a>(&self, catalog: &Catalog, table: &'a CatalogTable) -> Option<&'a str> {
        if let Some(end) = &self.end {
            return table.column(end).map(|column| column.name.as_str());
        }
        let mut others = other_times(catalog, table, &self.numbers);
        others.sort_by_key(|column| {
            let planned = self.is_plan(column);
            (planned, std::cmp::Reverse(self.latest(column)))
        });
        others.first().copied()
    }

    /// The column of the time at which a row began, as far as its name says so.
    pub fn start<'a>(&self, catalog: &Catalog, table: &'a CatalogTable) -> Option<&'a str> {
        let others = other_times(catalog, table, &self.numbers);
        let begun = |column: &&&str| {
            let name = column.to_lowercase();
            ["start", "begin", "creat", "submit", "insert"]
                .iter()
                .any(|word| name.contains(word))
        };
        others.iter().find(begun).copied()
    }

    /// The columns of times, with what they count if they are none.
    pub fn all_times<'a>(
        &self,
        catalog: &Catalog,
        table: &'a CatalogTable,
    ) -> Vec<(&'a str, Option<Epoch>)> {
        let columns = table.columns.iter();
        columns
            .filter(|column| is_time(catalog, column, &self.numbers).is_some())
            .map(|column| (column.name.as_str(), self.epoch(&column.name)))
            .take(MOST)
            .collect()
    }

    /// Other times that some rows end by, as their names have it.
    pub fn other_ends<'a>(&self, catalog: &Catalog, table: &'a CatalogTable) -> Vec<&'a str> {
        let named = |name: &str| {
            let name = snake(name);
            let words = [
                "cancel",
                "discard",
                "abort",
                "kill",
                "reject",
                "fail",
                "expire",
                "error",
                "skip",
                "revok",
                "timed_out",
            ];
            words.iter().any(|word| name.contains(word))
        };
        let ends = end_columns(catalog, table, &self.numbers);
        let all = self.all_times(catalog, table).into_iter();
        let others = all.map(|(name, _)| name);
        others
            .filter(|name| named(name) || ends.contains(name))
            .filter(|name| self.end.as_deref() != Some(name) && !self.is_plan(name))
            .collect()
    }

    /// The column that by its name says when a row expires.
    pub fn expiry<'a>(&self, catalog: &Catalog, table: &'a CatalogTable) -> Option<&'a str> {
        let columns = table.columns.iter();
        let mut times = columns.filter(|it| is_time(catalog, it, &self.numbers).is_some());
        let named = |name: &str| {
            let name = name.to_lowercase();
            ["expir", "valid_until", "removal_time"]
                .iter()
                .any(|word| name.contains(word))
        };
        let found = times.find(|column| named(&column.name));
        found.map(|column| column.name.as_str())
    }

    /// What a column counts, if it is a number or a date.
    pub fn epoch(&self, column: &str) -> Option<Epoch> {
        let mut numbers = self.numbers.iter();
        numbers
            .find(|(name, _)| name == column)
            .map(|(_, epoch)| *epoch)
    }

    /// Whether the end tells rows that have ended from others: some of those that were looked at lack it.
    pub fn tells(&self) -> bool {
        let mut states = self.states.iter();
        states.any(|state| state.ended.is_some_and(|ended| ended < state.rows))
    }

    /// Whether a state is final: nearly every row in it has an end, and its name does not say that it continues, since some applications
    /// write a time at every change. The others lack a time, and are kept. Where no column says which rows have ended, its name does.
    pub fn is_final(&self, state: &State) -> bool {
        let Some(value) = &state.value else {
            return false;
        };
        match state.ended {
            _ if sounds_live(value) => false,
            Some(ended) if self.tells() => ended > 0 && ended * 100 >= state.rows * 95,
            // Numbers have no name: that each of their rows has an end is all there is.
            Some(_) if !self.is_named_final() => true,
            _ => sounds_final(value),
        }
    }

    /// Whether some state is called as one that is final.
    fn is_named_final(&self) -> bool {
        let mut values = self.states.iter().filter_map(|it| it.value.as_deref());
        values.any(sounds_final)
    }

    /// Whether the end is no sign that a row has ended: there is none, or rows have one whose state says by its name that they continue.
    pub fn is_no_sign(&self) -> bool {
        let mut named = self.states.iter().filter(|state| state.value.is_some());
        named.any(|state| {
            let value = state.value.as_deref().unwrap_or_default();
            state
                .ended
                .is_none_or(|ended| ended > 0 && sounds_live(value))
        })
    }

    /// The final states, numbers in their order.
    pub fn finals(&self) -> Vec<&str> {
        let finals = self.states.iter().filter(|state| self.is_final(state));
        let mut values: Vec<&str> = finals.filter_map(|state| state.value.as_deref()).collect();
        values.sort_by_key(|value| (value.parse::<i64>().unwrap_or(i64::MAX), *value));
        values
    }
}

/// How many times of a table are looked at.
const MOST: usize = 12;

/// A name in lower case, its words apart: `workflowEndedAt` is `workflow_ended_at`.
fn snake(name: &str) -> String {
    super::names::words(name).join("_")
}

/// The columns that are dates.
pub fn dates(table: &CatalogTable) -> impl Iterator<Item = (String, Epoch)> {
    let columns = table.columns.iter();
    columns
        .filter(|column| column.kind == "date")
        .map(|column| (column.name.clone(), Epoch::Date))
}

/// The columns of numbers that could be instants, by their names; their values say whether they are, and what they count.
pub fn number_columns<'a>(catalog: &Catalog, table: &'a CatalogTable) -> Vec<&'a str> {
    let named = |name: &str| {
        let name = snake(name);
        ["time", "date", "_at", "_ts", "_on"]
            .iter()
            .any(|word| name.contains(word))
    };
    let columns = table.columns.iter();
    let numbers = columns.filter(|column| {
        live_kind(catalog.dialect, column).is_some_and(is_whole)
            || has_fractions(catalog.dialect, column)
    });
    numbers
        .map(|column| column.name.as_str())
        .filter(|name| named(name))
        .collect()
}

/// What numbers count that are instants, by the greatest of them: from 2001 to 2096. None: they are none.
pub fn epoch_of(greatest: f64) -> Option<Epoch> {
    let seconds =
        |epoch: Epoch| greatest / 1e6 * (1_000_000 / epoch.per_second().unwrap_or(1)) as f64;
    Epoch::NUMBERS
        .into_iter()
        .find(|epoch| (1e9..4e9).contains(&seconds(*epoch)))
}

/// How unlikely a column is that is no time but a number.
const BEHIND: usize = 20;

/// Whether a column is a time: no, or how unlikely compared with those that are.
fn is_time(catalog: &Catalog, column: &CatalogColumn, numbers: &Numbers) -> Option<usize> {
    match live_kind(catalog.dialect, column) {
        Some(Kind::Timestamp | Kind::Timestamptz) => Some(0),
        _ if numbers.iter().any(|(name, _)| *name == column.name) => Some(BEHIND),
        _ => None,
    }
}

/// Whether a name says when something is to end, or up to when something counts, instead of when it ended: `planned_end`, `period_end`.
fn is_planned(name: &str) -> bool {
    let words = || name.split('_');
    let has = |listed: &[&str]| words().any(|word| listed.contains(&word));
    let past = || {
        let past = [
            "ended",
            "finished",
            "completed",
            "closed",
            "stopped",
            "terminated",
            "done",
            "finalized",
            "finalised",
        ];
        has(&past)
    };
    let planned = [
        "planned",
        "expected",
        "estimated",
        "scheduled",
        "forecast",
        "projected",
        "predicted",
        "proposed",
        "targeted",
        "desired",
        "intended",
        "anticipated",
        "tentative",
        "requested",
        "promised",
        "allowed",
        "should",
        "must",
        "next",
    ];
    let counts = [
        "plan",
        "planning",
        "schedule",
        "sched",
        "est",
        "exp",
        "eta",
        "sla",
        "target",
        "deadline",
        "due",
        "max",
        "limit",
        "timeout",
        "baseline",
        "period",
        "interval",
        "range",
        "window",
        "slot",
        "shift",
        "term",
        "lease",
        "trial",
        "contract",
        "subscription",
        "booking",
        "reservation",
        "coverage",
        "warranty",
        "valid",
        "validity",
        "effective",
        "availability",
        "billing",
        "fiscal",
        "sprint",
        "season",
        "day",
        "week",
        "month",
        "quarter",
        "year",
    ];
    has(&planned) || has(&counts) && !past()
}

/// The columns that could say when a row ended, the likeliest first: times that may be NULL, then others.
fn end_columns<'a>(catalog: &Catalog, table: &'a CatalogTable, numbers: &Numbers) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> = Vec::new();
    for column in &table.columns {
        let name = snake(&column.name);
        let words = [
            "end", "finish", "complet", "close", "stop", "terminat", "done", "finaliz",
        ];
        let others = [
            "endpoint",
            "end_point",
            "endors",
            "end_user",
            "end_customer",
        ];
        let place = words
            .iter()
            .position(|word| name.starts_with(word) || name.contains(&format!("_{word}")))
            .filter(|_| !others.iter().any(|other| name.contains(other)) && !is_planned(&name));
        if let Some((place, behind)) = place.zip(is_time(catalog, column, numbers)) {
            let filled = if column.may_lack() { 0 } else { 10 };
            found.push((place + filled + behind, &column.name));
        }
    }
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, name)| name).collect()
}

/// The columns that could say what state a row is in, the likeliest first.
fn state_columns<'a>(catalog: &Catalog, table: &'a CatalogTable) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> = Vec::new();
    for column in &table.columns {
        let kind = live_kind(catalog.dialect, column);
        let fits = match kind {
            Some(kind) => kind == Kind::Varchar || is_whole(kind),
            None => !column.labels.is_empty(),
        };
        let name = snake(&column.name);
        let words = [
            "state",
            "status",
            "state_type",
            "phase",
            "run_state",
            "state_name",
            "statename",
            "status_name",
        ];
        let name = name.as_str();
        let place = words.iter().position(|word| name == *word);
        let place =
            place.or_else(|| (name.ends_with("_state") || name.ends_with("_status")).then_some(7));
        if let Some(place) = place.filter(|_| fits) {
            found.push((place, &column.name));
        }
    }
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, name)| name).collect()
}

/// Whether a state is called as one that is final.
pub fn sounds_final(state: &str) -> bool {
    let stems = [
        "complet",
        "success",
        "succeed",
        "unsuccess",
        "fail",
        "kill",
        "cancel",
        "done",
        "finish",
        "abort",
        "terminat",
        "error",
        "crash",
        "skip",
        "expired",
        "reject",
        "closed",
        "timed",
    ];
    // What is to be so, or is so in part, continues.
    let open = [
        "not",
        "no",
        "non",
        "un",
        "to",
        "pre",
        "half",
        "part",
        "partly",
        "partial",
        "partially",
        "almost",
        "nearly",
        "before",
        "until",
        "will",
        "need",
        "needs",
    ];
    let words = super::names::words(state);
    let has = |word: &String| stems.iter().any(|stem| word.starts_with(stem));
    let is_open = words.iter().any(|word| open.contains(&word.as_str()));
    !sounds_live(state) && !is_open && (words == ["ok"] || words.iter().any(has))
}

/// Whether a state is called as one that continues.
pub fn sounds_live(state: &str) -> bool {
    let live = [
        "pending",
        "running",
        "queued",
        "enqueued",
        "created",
        "started",
        "active",
        "alive",
        "live",
        "busy",
        "idle",
        "available",
        "initial",
        "initialized",
        "initialised",
        "draft",
        "todo",
        "wait",
        "await",
        "hold",
        "onhold",
        "scheduled",
        "delayed",
        "deferred",
        "reserved",
        "assigned",
        "claimed",
        "leased",
        "acquired",
        "dispatched",
        "new",
        "open",
        "reopened",
        "progress",
        "inprogress",
        "inflight",
        "paused",
        "ready",
        "submitted",
        "requested",
        "received",
        "suspended",
        "incomplete",
        "uncompleted",
        "unfinished",
        "unresolved",
        "undone",
        "unclosed",
    ];
    // What is being done, such as CANCELLING, or done once more.
    let is_live = |word: &String| {
        live.contains(&word.as_str())
            || word.starts_with("retry")
            || word.len() > 4 && word.ends_with("ing")
    };
    super::names::words(state).iter().any(is_live)
}

/// The columns whose time can replace an end: the last change of a row, or when it came to be; the likeliest first.
fn other_times<'a>(catalog: &Catalog, table: &'a CatalogTable, numbers: &Numbers) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> = Vec::new();
    for column in &table.columns {
        let Some(behind) = is_time(catalog, column, numbers) else {
            continue;
        };
        let name = column.name.to_lowercase();
        let words = [
            "updat", "modif", "chang", "start", "creat", "submit", "queued", "begin", "time",
            "date",
        ];
        let place = words.iter().position(|word| name.contains(word));
        found.push((place.unwrap_or(words.len()) + behind, &column.name));
    }
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_to_end_has_not_ended() {
        for state in [
            "PENDING_CANCEL",
            "PendingCancel",
            "INCOMPLETE",
            "Unfinished",
            "NOT_DONE",
            "not completed",
            "cancel-requested",
            "CANCELLING",
            "failedRetryable",
            "half done",
            "partially_completed",
            "to_be_killed",
            "InProgress",
            "7",
            "",
        ] {
            assert!(!sounds_final(state), "{state}");
        }
        for state in [
            "COMPLETED",
            "Succeeded",
            "success",
            "UNSUCCESSFUL",
            "timedOut",
            "EXTERNALLY_TERMINATED",
            "ok",
            "force_success",
            "completed with errors",
        ] {
            assert!(sounds_final(state) && !sounds_live(state), "{state}");
        }
        for state in ["PendingCancel", "inProgress", "SHUTTING_DOWN", "assigned"] {
            assert!(sounds_live(state), "{state}");
        }
    }

    #[test]
    fn a_planned_end_is_not_when_a_row_ended() {
        for name in [
            "plannedEnd",
            "period_end",
            "data_interval_end",
            "EXPECTED_COMPLETION",
            "scheduled_end_time",
            "est_finish",
            "week_end",
            "end_due_at",
            "trial_end",
        ] {
            assert!(is_planned(&snake(name)), "{name}");
        }
        for name in [
            "ended_at",
            "end_date",
            "finishedAt",
            "contract_terminated_at",
            "schedule_completed_at",
            "session_end",
            "workflowEndedAt",
            "END_TIME_",
        ] {
            assert!(!is_planned(&snake(name)), "{name}");
        }
    }
}
