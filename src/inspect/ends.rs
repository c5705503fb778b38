//! When a root has ended, and which of its states are final: what the rows say.

use crate::catalog::{Catalog, CatalogTable};
use crate::column::Kind;
use crate::fit::{is_whole, live_kind};

/// What a root table says of the end of its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The column of the time at which a row ended.
    pub end: Option<String>,
    /// The column of its state.
    pub state: Option<String>,
    /// The states, and in how many of the rows that were looked at they have an end.
    pub states: Vec<State>,
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The value, as the server writes it; none: NULL.
    pub value: Option<String>,
    /// How many rows that were looked at have it.
    pub rows: i64,
    /// How many of these have an end; none: no column says.
    pub ended: Option<i64>,
}

impl State {
    /// Whether nearly every row in it has an end. The others lack a time, and stay. Where no column says when a row ended, its
    /// name does.
    pub fn is_final(&self) -> bool {
        match (&self.value, self.ended) {
            (Some(_), Some(ended)) => ended > 0 && ended * 100 >= self.rows * 95,
            (Some(value), None) => sounds_final(value),
            (None, _) => false,
        }
    }
}

impl Ends {
    /// The columns that fit best by their names.
    pub fn named(catalog: &Catalog, table: &CatalogTable) -> Ends {
        let first = |names: Vec<&str>| names.first().map(|name| (*name).to_owned());
        Ends {
            end: first(end_columns(catalog, table)),
            state: first(state_columns(catalog, table)),
            states: Vec::new(),
        }
    }

    /// The final states, numbers in their order.
    pub fn finals(&self) -> Vec<&str> {
        let finals = self.states.iter().filter(|state| state.is_final());
        let mut values: Vec<&str> = finals.filter_map(|state| state.value.as_deref()).collect();
        values.sort_by_key(|value| (value.parse::<i64>().unwrap_or(i64::MAX), *value));
        values
    }
}

/// The columns that could say when a row ended, the likeliest first: times that may be NULL, then others.
fn end_columns<'a>(catalog: &Catalog, table: &'a CatalogTable) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> = Vec::new();
    for column in &table.columns {
        let is_time = matches!(
            live_kind(catalog.dialect, column),
            Some(Kind::Timestamp | Kind::Timestamptz)
        );
        let name = column.name.to_lowercase();
        let words = [
            "end", "finish", "complet", "closed", "stopped", "terminat", "done",
        ];
        let place = words.iter().position(|word| {
            name.strip_prefix(word).is_some() || name.contains(&format!("_{word}"))
        });
        if let Some(place) = place.filter(|_| is_time) {
            found.push((place + if column.nullable { 0 } else { 10 }, &column.name));
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
        let name = column.name.to_lowercase();
        let name = name.trim_end_matches('_');
        let place = ["state", "status", "state_type", "phase", "run_state"]
            .iter()
            .position(|word| name == *word);
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
    // What is about to be so goes on.
    words.iter().any(|word| state.contains(word)) && !state.ends_with("ing")
}

/// The columns whose time can stand in for an end: the last change of a row, or when it came to be; the likeliest first.
fn other_times<'a>(catalog: &Catalog, table: &'a CatalogTable) -> Vec<&'a str> {
    let times = table.columns.iter().filter(|column| {
        matches!(
            live_kind(catalog.dialect, column),
            Some(Kind::Timestamp | Kind::Timestamptz)
        )
    });
    let mut found: Vec<(usize, &str)> = times
        .map(|column| {
            let name = column.name.to_lowercase();
            let words = [
                "updat", "modif", "chang", "start", "creat", "submit", "queued", "begin", "time",
                "date",
            ];
            let place = words.iter().position(|word| name.contains(word));
            (place.unwrap_or(words.len()), column.name.as_str())
        })
        .collect();
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, name)| name).collect()
}

/// The column of the time at which a row ended, or what stands in for it.
pub fn time<'a>(catalog: &Catalog, table: &'a CatalogTable) -> Option<&'a str> {
    let mut all = end_columns(catalog, table).into_iter();
    all.next()
        .or_else(|| other_times(catalog, table).first().copied())
}
