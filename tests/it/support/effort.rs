//! How much the tests look at: `make test` a fixed sample, `make prove` so many times as much, and never the same twice.

use std::env;
use std::ops::{Div, Range};
use std::sync::LazyLock;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use windrow::dialect::Dialect;
use windrow::sandbox::mysql::Flavour;

use super::defect;
use crate::harness;

/// How many times as many random worlds `make prove` looks at. Where it is set, tests also try all of what they otherwise
/// try a sample of.
const TIMES: &str = "WINDROW_TEST_TIMES";

/// The first seed of `make prove`, which takes another one each time unless it is told.
const SEED: &str = "WINDROW_TEST_SEED";

/// Which half of the slow tests of every server PostgreSQL runs, in `make test`: MySQL and MariaDB run the other half, and the next
/// number has it the other way round. Where it is not set, all servers run all of them.
const TURN: &str = "WINDROW_TEST_TURN";

/// How many rows a test of sizes takes that is asked to measure.
const ROWS: &str = "WINDROW_TEST_ROWS";

static FIRST: LazyLock<u64> = LazyLock::new(|| match number(SEED) {
    Some(seed) => seed,
    None if is_proof() => {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.expect("it is after 1970").as_secs()
    }
    None => 1,
});

/// Whether this is `make prove`.
pub(crate) fn is_proof() -> bool {
    times() > 1
}

/// Whether all is tried of what `make test` tries a part of.
pub(crate) fn is_whole() -> bool {
    is_proof() || defect::is_expected()
}

/// See [`TURN`].
pub(crate) fn turn() -> Option<usize> {
    number(TURN).map(|turn| usize::try_from(turn).expect("a number of a turn"))
}

/// How many rows a test of sizes takes, where somebody says so: then it prints what it measures.
pub(crate) fn rows() -> Option<i64> {
    number(ROWS).map(|rows| i64::try_from(rows).expect("a number of rows"))
}

/// What random choices start from.
pub(crate) fn first_seed() -> u64 {
    *FIRST
}

/// Seeds of random worlds. What is looked at is counted for the report.
pub(crate) fn seeds(
    class: &str,
    server: impl Into<Option<Dialect>>,
    number: u64,
) -> impl Iterator<Item = u64> {
    let server = server.into();
    counted(class, server, all(server, number))
}

/// Seeds of rounds that try all of something only together: so many in `make test`, too.
pub(crate) fn rounds_of(
    class: &str,
    server: impl Into<Option<Dialect>>,
    number: u64,
) -> impl Iterator<Item = u64> {
    counted(class, server.into(), range(number))
}

/// Seeds of random worlds as [`seeds`] has them, of which MySQL and MariaDB, that run the same statements, look at one half each, but at all of them in
/// `make prove`.
pub(crate) fn shared_seeds(
    class: &str,
    dialect: Dialect,
    number: u64,
) -> impl Iterator<Item = u64> {
    counted(
        class,
        Some(dialect),
        share(dialect, all(Some(dialect), number)),
    )
}

/// Half as many in `make test`; a quarter where a server has many.
fn all(server: Option<Dialect>, number: u64) -> Range<u64> {
    range(match (is_whole(), server) {
        (true, _) => number,
        (false, Some(_)) if number >= 40 => number.div_ceil(4),
        (false, _) => number.div_ceil(2),
    })
}

/// So many for each of the times of `make prove`.
fn range(number: u64) -> Range<u64> {
    first_seed()..first_seed() + number * times()
}

fn counted(
    class: &str,
    server: Option<Dialect>,
    seeds: impl Iterator<Item = u64>,
) -> impl Iterator<Item = u64> {
    let title = server.map_or("no server", |dialect| dialect.facts().title);
    seeds.inspect(move |_| harness::count(class, title, 1))
}

/// What of all this a server tries: MySQL and MariaDB, which run the same statements, one half each, but all of it in
/// `make prove`, and where a defect is to be noticed.
pub(crate) fn share<T>(
    dialect: Dialect,
    all: impl IntoIterator<Item = T>,
) -> impl Iterator<Item = T> {
    let (round, step) = match dialect {
        Dialect::Postgres => (0, 1),
        Dialect::Mysql => (0, 2),
        Dialect::Mariadb => (1, 2),
    };
    in_turn(round, step, all)
}

/// One of so many in `make test`, all in `make prove`, and where a defect is to be noticed.
pub(crate) fn one_of<T>(step: usize, all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    in_turn(0, step, all)
}

/// The same, others for each round of a loop around it: all are tried after so many rounds.
pub(crate) fn in_turn<T>(
    round: usize,
    step: usize,
    all: impl IntoIterator<Item = T>,
) -> impl Iterator<Item = T> {
    let (first, step) = match is_whole() {
        true => (0, 1),
        false => (round % step, step),
    };
    all.into_iter().skip(first).step_by(step)
}

/// One half of all: MySQL and MariaDB always the same, PostgreSQL now the one and now the other in the rounds of a loop around it.
pub(crate) fn half<T>(
    dialect: Dialect,
    round: usize,
    all: impl IntoIterator<Item = T>,
) -> impl Iterator<Item = T> {
    let round = match dialect {
        Dialect::Postgres => round,
        Dialect::Mysql => 0,
        Dialect::Mariadb => 1,
    };
    in_turn(round, 2, all)
}

/// The first and the last of all in `make test`: the oldest and the newest server that is installed.
pub(crate) fn ends<T>(mut all: Vec<T>) -> Vec<T> {
    if !is_proof() && all.len() > 2 {
        all.drain(1..all.len() - 1);
    }
    all
}

/// The first or the last of all in `make test`, now the one, now the other, by the name of the test; both where a defect is to be
/// noticed, which the other may not have.
pub(crate) fn one_end<T>(all: Vec<T>) -> Vec<T> {
    let ends = ends(all);
    if is_whole() {
        return ends;
    }
    let thread = thread::current();
    let name = thread.name().unwrap_or_default();
    let which = name.bytes().map(usize::from).sum::<usize>() % ends.len().max(1);
    ends.into_iter().skip(which).take(1).collect()
}

/// How many worlds a server looks at, or how much must be seen in them: one costs several times as much on MySQL and MariaDB, which
/// look at half as many.
pub(crate) fn fewer<T: From<u8> + Div<Output = T>>(dialect: Dialect, number: T) -> T {
    match dialect {
        Dialect::Postgres => number,
        Dialect::Mysql | Dialect::Mariadb => number / T::from(2),
    }
}

/// How much must be seen in all those worlds; in `make test` a third of it.
pub(crate) fn enough<T: From<u8> + Div<Output = T>>(number: T) -> T {
    if is_whole() {
        number
    } else {
        number / T::from(3)
    }
}

/// A size of `make test`, or a larger one of `make prove`.
pub(crate) fn size<T>(test: T, proof: T) -> T {
    if is_proof() { proof } else { test }
}

/// The servers of a story in which both hear the same: one of them in `make test`, both in `make prove` and where one has a defect.
pub(crate) fn flavours(in_test: Flavour) -> Vec<Flavour> {
    match is_whole() {
        true => Flavour::ALL.to_vec(),
        false => vec![in_test],
    }
}

/// How many times as much is looked at as in `make test`.
fn times() -> u64 {
    let times = number(TIMES);
    assert!(
        times.is_none_or(|times| times > 1),
        "{TIMES}: a proof looks at twice as much or more"
    );
    times.unwrap_or(1)
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok().filter(|text| !text.is_empty())?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} is not a number: {text}")))
}
