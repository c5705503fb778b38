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
    /// Whether nearly every row in it has an end, and its name does not say that it continues: some applications write a time at every
    /// change. The others lack a time, and are kept. Where no column says when a row ended, its name does.
    pub fn is_final(&self) -> bool {
        match (&self.value, self.ended) {
            (Some(value), Some(ended)) => {
                ended > 0 && ended * 100 >= self.rows * 95 && !sounds_live(value)
            }
            (Some(value), None) => sounds_final(value),
            (None, _) => false,
        }
    }

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

    /// Takes what rows say of the times: an end that no row has is none where another one is, and where none is named so, an expiry
    /// that rows have says when the application needs them no longer.
    pub fn see(&mut self, catalog: &Catalog, table: &CatalogTable, times: Vec<Time>) {
        self.times = times;
        let ends = end_columns(catalog, table, &self.numbers);
        let filled = ends.iter().find(|name| self.filled(name) > 0);
        if let Some(end) = filled {
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

    /// The column of the time at which a row ended, or what replaces it: the time that is the latest in most rows.
    pub fn time<'a>(&self, catalog: &Catalog, table: &'a CatalogTable) -> Option<&'a str> {
        if let Some(end) = &self.end {
            return table.column(end).map(|column| column.name.as_str());
        }
        let mut others = other_times(catalog, table, &self.numbers);
        others.sort_by_key(|column| std::cmp::Reverse(self.latest(column)));
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
            .filter(|name| self.end.as_deref() != Some(name))
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

    /// The final states, numbers in their order.
    pub fn finals(&self) -> Vec<&str> {
        let finals = self.states.iter().filter(|state| state.is_final());
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

/// The columns that could say when a row ended, the likeliest first: times that may be NULL, then others.
fn end_columns<'a>(catalog: &Catalog, table: &'a CatalogTable, numbers: &Numbers) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> = Vec::new();
    for column in &table.columns {
        let name = snake(&column.name);
        let words = [
            "end", "finish", "complet", "close", "stop", "terminat", "done", "finaliz",
        ];
        let place = words
            .iter()
            .position(|word| name.starts_with(word) || name.contains(&format!("_{word}")))
            .filter(|_| !name.contains("endpoint"));
        if let Some((place, behind)) = place.zip(is_time(catalog, column, numbers)) {
            let filled = if column.nullable { 0 } else { 10 };
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
fn sounds_final(state: &str) -> bool {
    let state = state.to_lowercase();
    let words = [
        "complet", "success", "succeed", "fail", "kill", "cancel", "done", "finish", "abort",
        "terminat", "error", "crash", "skip", "expired", "reject", "closed", "timed",
    ];
    // What is about to be so continues.
    state == "ok" || words.iter().any(|word| state.contains(word)) && !state.ends_with("ing")
}

/// Whether a state is called as one that continues.
pub fn sounds_live(state: &str) -> bool {
    let state = state.to_lowercase();
    let words = [
        "pending",
        "running",
        "queued",
        "created",
        "started",
        "active",
        "waiting",
        "scheduled",
        "new",
        "open",
        "progress",
        "retry",
        "paused",
        "ready",
        "submitted",
        "executing",
        "processing",
        "received",
        "suspended",
    ];
    state
        .split(|sign: char| !sign.is_alphanumeric())
        .any(|word| words.contains(&word))
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
