//! Instants in microseconds: how they are written, and what the clock in Berlin shows.

/// All times are microseconds since 1970-01-01 00:00 UTC; the zone of the application is UTC.
pub(crate) const SECOND: i64 = 1_000_000;
pub(crate) const DAY: i64 = 86_400 * SECOND;

/// When the clocks of Berlin are put forward in 2025, and back: 01:00 UTC.
pub(super) const PUT_FORWARD: i64 = 1_743_296_400 * SECOND;
pub(super) const PUT_BACK: i64 = 1_761_440_400 * SECOND;
const PUT_FORWARD_AGAIN: i64 = 1_774_746_000 * SECOND;

/// What the clock in Berlin shows at an instant of 2025, or until October 2026.
pub(crate) fn berlin(instant: i64) -> i64 {
    let summer = (PUT_FORWARD..PUT_BACK).contains(&instant) || instant >= PUT_FORWARD_AGAIN;
    instant + if summer { 2 } else { 1 } * 3_600 * SECOND
}

/// `2026-01-15 03:04:05.678901`, without a zone.
pub(crate) fn timestamp(time: i64) -> String {
    let (days, rest) = (time.div_euclid(DAY), time.rem_euclid(DAY));
    let (seconds, micros) = (rest / SECOND, rest % SECOND);
    let (mut year, mut left) = (1970, days);
    assert!(left >= 0, "no test looks back behind 1970");
    let leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    while left >= 365 + i64::from(leap(year)) {
        left -= 365 + i64::from(leap(year));
        year += 1;
    }
    let february = 28 + i64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    format!(
        "{year:04}-{month:02}-{:02} {:02}:{:02}:{:02}.{micros:06}",
        left + 1,
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}
