//! Durations as people write them: `30d`, `1d12h`, `100ms`, or ISO-8601 like `P30D` and `PT12H`.
//!
//! A day is 86,400 seconds. Months and years are refused: they have no fixed length.

/// The longest duration of a spec: a hundred years, in milliseconds.
pub const LONGEST: i64 = 36_525 * DAY;

/// What JSON Schema says of a duration: the forms that [`parse`] reads.
pub(super) const PATTERN: &str = r"^(([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?|P([0-9]+W)?([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+S)?)?)$";

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
/// A day of 24 hours, in milliseconds.
pub const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;

const SHORT: [(&str, i64); 6] = [
    ("w", WEEK),
    ("d", DAY),
    ("h", HOUR),
    ("m", MINUTE),
    ("s", SECOND),
    ("ms", 1),
];
const ISO_DATE: [(&str, i64); 2] = [("W", WEEK), ("D", DAY)];
const ISO_TIME: [(&str, i64); 3] = [("H", HOUR), ("M", MINUTE), ("S", SECOND)];

const FORMS: &str =
    "write a duration like `30d`, `12h`, `1d12h`, `90m`, `45s`, `100ms` or `P30D`, `PT12H`";
const NO_CALENDAR: &str = "months and years have no fixed length; use days, e.g. `30d` or `365d`";

/// Why a string is not a duration, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// How to correct it.
    pub help: &'static str,
}

/// The duration in milliseconds.
pub fn parse(text: &str) -> Result<i64, Problem> {
    if text.trim_start().starts_with('-') {
        return Err(problem(format!("duration `{text}` is negative"), FORMS));
    }
    match text.strip_prefix('P') {
        None => units(text, text, &SHORT),
        Some(iso) => {
            let (date, time) = match iso.split_once('T') {
                Some((_, "")) => return Err(malformed(text)),
                Some((date, time)) => (date, Some(time)),
                None => (iso, None),
            };
            let days = match (date, time) {
                ("", Some(_)) => 0,
                _ => units(text, date, &ISO_DATE)?,
            };
            let rest = time.map_or(Ok(0), |time| units(text, time, &ISO_TIME))?;
            bounded(text, days.checked_add(rest))
        }
    }
}

/// The duration as one would write it, e.g. `1d12h`.
pub fn show(milliseconds: i64) -> String {
    let mut rest = milliseconds;
    let mut text = String::new();
    for (unit, length) in SHORT.into_iter().skip(1) {
        if rest >= length {
            text.push_str(&format!("{}{unit}", rest / length));
            rest %= length;
        }
    }
    if text.is_empty() {
        "0s".to_owned()
    } else {
        text
    }
}

/// Sums numbers with units; every unit at most once, the longest first.
fn units(whole: &str, text: &str, allowed: &[(&str, i64)]) -> Result<i64, Problem> {
    let mut allowed = allowed.iter();
    let mut rest = text;
    let mut total: i64 = 0;
    if text.is_empty() {
        return Err(malformed(whole));
    }
    while !rest.is_empty() {
        let digits = rest.len()
            - rest
                .trim_start_matches(|digit: char| digit.is_ascii_digit())
                .len();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.len()
            - tail
                .trim_start_matches(|letter: char| letter.is_ascii_alphabetic())
                .len();
        let (unit, tail) = tail.split_at(letters);
        if number.is_empty() {
            return Err(malformed(whole));
        }
        let Some((_, length)) = allowed.find(|(name, _)| *name == unit) else {
            let calendar = match unit {
                "y" | "Y" | "mo" | "mon" | "month" | "months" | "year" | "years" => true,
                // In ISO-8601 an `M` before the `T` is a month.
                "M" => true,
                _ => false,
            };
            return Err(if calendar {
                problem(
                    format!("duration `{whole}` has months or years"),
                    NO_CALENDAR,
                )
            } else {
                malformed(whole)
            });
        };
        let part = number
            .parse::<i64>()
            .ok()
            .and_then(|number| number.checked_mul(*length));
        total = bounded(whole, part.and_then(|part| total.checked_add(part)))?;
        rest = tail;
    }
    Ok(total)
}

fn bounded(text: &str, milliseconds: Option<i64>) -> Result<i64, Problem> {
    milliseconds
        .filter(|milliseconds| *milliseconds <= LONGEST)
        .ok_or_else(|| {
            problem(
                format!("duration `{text}` is longer than a hundred years"),
                FORMS,
            )
        })
}

fn malformed(text: &str) -> Problem {
    problem(format!("`{text}` is not a duration"), FORMS)
}

fn problem(message: String, help: &'static str) -> Problem {
    Problem { message, help }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        for (text, expected) in [
            ("30d", 30 * DAY),
            ("12h", 12 * HOUR),
            ("90m", 90 * MINUTE),
            ("45s", 45 * SECOND),
            ("100ms", 100),
            ("2w", 2 * WEEK),
            ("1d12h", 36 * HOUR),
            ("1m500ms", MINUTE + 500),
            ("0s", 0),
            ("P30D", 30 * DAY),
            ("PT12H", 12 * HOUR),
            ("P1DT12H", 36 * HOUR),
            ("P4W", 4 * WEEK),
            ("PT1M", MINUTE),
            ("36525d", LONGEST),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_a_reason() {
        for (text, message) in [
            ("", "`` is not a duration"),
            ("30", "`30` is not a duration"),
            ("d", "`d` is not a duration"),
            ("30 d", "`30 d` is not a duration"),
            ("1.5d", "`1.5d` is not a duration"),
            ("12h1d", "`12h1d` is not a duration"),
            ("1d1d", "`1d1d` is not a duration"),
            ("-5d", "duration `-5d` is negative"),
            ("P", "`P` is not a duration"),
            ("PT", "`PT` is not a duration"),
            ("P1DT", "`P1DT` is not a duration"),
            ("P1H", "`P1H` is not a duration"),
            ("P1M", "duration `P1M` has months or years"),
            ("P1Y2M", "duration `P1Y2M` has months or years"),
            ("1y", "duration `1y` has months or years"),
            ("3mo", "duration `3mo` has months or years"),
            ("36526d", "duration `36526d` is longer than a hundred years"),
            (
                "99999999999999999999d",
                "duration `99999999999999999999d` is longer than a hundred years",
            ),
        ] {
            assert_eq!(
                parse(text).map_err(|problem| problem.message),
                Err(message.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn durations_are_shown_as_written() {
        assert_eq!(show(36 * HOUR), "1d12h");
        assert_eq!(show(100), "100ms");
        assert_eq!(show(0), "0s");
    }
}
