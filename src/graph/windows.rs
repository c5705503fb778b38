//! The windows in which scheduled runs may work.

use crate::diagnostic::{Diagnostic, Span};
use crate::graph::{Window, names};
use crate::spec::grammar::place;
use crate::spec::{Spec, Text, each};

/// The days as a spec writes them; the first is the ISO day 1.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

const HELP: &str = "write it like `mon-fri 22:00-06:00 Europe/Berlin` or `daily 01:30-05:00`: days, start (inclusive) and \
                    end (exclusive), and a time zone (default UTC); or `always`, or `never`";

/// The windows of a spec; without any, scheduled runs may always work.
pub(super) fn resolve(spec: &Spec, text: &str, diagnostics: &mut Vec<Diagnostic>) -> Vec<Window> {
    let Some(field) = &spec.windows else {
        return vec![whole("always")];
    };
    let written = each(field);
    if written.is_empty() {
        diagnostics.push(Diagnostic::error(
            "no-windows",
            field.span(),
            "this list of windows is empty",
            "write \"always\" or \"never\", or list when scheduled runs may work",
        ));
    }
    for word in &written {
        if written.len() > 1 && ["always", "never"].contains(&word.get_ref().as_str()) {
            diagnostics.push(Diagnostic::error(
                "window-beside-others",
                word.span(),
                format!("`{}` is listed with other windows", word.get_ref()),
                "remove it, or everything else",
            ));
        }
    }
    written
        .iter()
        .filter_map(|word| window(text, word, diagnostics))
        .collect()
}

fn whole(word: &str) -> Window {
    let days = if word == "never" { "" } else { "1234567" };
    Window {
        written: word.to_owned(),
        days: days.to_owned(),
        begins: "00:00".to_owned(),
        ends: "00:00".to_owned(),
        zone: "UTC".to_owned(),
    }
}

fn window(text: &str, written: &Text, diagnostics: &mut Vec<Diagnostic>) -> Option<Window> {
    let value = written.get_ref().as_str();
    if ["always", "never"].contains(&value) {
        return Some(whole(value));
    }
    let mut refuse = |span: Span, label: &str| {
        let message = format!("`{}` is not a window", value.escape_debug());
        diagnostics.push(Diagnostic::error("invalid-window", span, message, HELP).labelled(label));
    };
    let words: Vec<&str> = value.split(' ').collect();
    let (days, times, zone) = match words.as_slice() {
        [days, times] => (*days, *times, None),
        [days, times, zone] => (*days, *times, Some(*zone)),
        _ => {
            refuse(written.span(), "days, times, and optionally a zone");
            return None;
        }
    };
    let spot = |word: &str| {
        let start = word.as_ptr() as usize - value.as_ptr() as usize;
        place(text, written, start..start + word.len())
    };
    let Some(numbers) = days_of(days) else {
        refuse(
            spot(days),
            "days: mon, tue, wed, thu, fri, sat, sun, ranges and lists of these, or daily",
        );
        return None;
    };
    let clock = |time: &str| {
        let (hour, minute) = time.split_once(':')?;
        let number = |part: &str, below: u32| {
            part.len() == 2
                && part.bytes().all(|byte| byte.is_ascii_digit())
                && part.parse().is_ok_and(|number: u32| number < below)
        };
        (number(hour, 24) && number(minute, 60)).then(|| time.to_owned())
    };
    let parsed = times
        .split_once('-')
        .and_then(|(begins, ends)| Some((clock(begins)?, clock(ends)?)));
    let Some((begins, ends)) = parsed else {
        refuse(
            spot(times),
            "times: 00:00 to 23:59; the same twice is 24 hours",
        );
        return None;
    };
    if let Some(zone) = zone {
        let found = diagnostics.len();
        names::time_zone(&Text::new(spot(zone), zone.to_owned()), diagnostics);
        if diagnostics.len() > found {
            return None;
        }
    }
    Some(Window {
        written: value.to_owned(),
        days: numbers,
        begins,
        ends,
        zone: zone.unwrap_or("UTC").to_owned(),
    })
}

/// The ISO numbers of the days, in order.
fn days_of(days: &str) -> Option<String> {
    let day = |name: &str| DAYS.iter().position(|known| *known == name);
    let mut chosen = [days == "daily"; 7];
    for part in days.split(',').filter(|_| days != "daily") {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day(first)?, day(last)?);
        for step in 0..=(last + 7 - first) % 7 {
            chosen[(first + step) % 7] = true;
        }
    }
    let numbers = (1..).zip(chosen).filter(|(_, chosen)| *chosen);
    Some(numbers.map(|(number, _)| number.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_lists_and_ranges() {
        assert_eq!(days_of("daily").as_deref(), Some("1234567"));
        assert_eq!(days_of("mon-fri").as_deref(), Some("12345"));
        assert_eq!(days_of("sat,mon").as_deref(), Some("16"));
        assert_eq!(days_of("fri-mon").as_deref(), Some("1567"));
        for wrong in ["", "Mon", "mon-", "mon,", "mon-tue-wed", "1", "weekly"] {
            assert_eq!(days_of(wrong), None, "{wrong}");
        }
    }
}
