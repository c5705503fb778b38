//! The test runner: which tests there are, where they run, and in which order.
//!
//! A module names its tests in [`tests!`], each under what it needs: `alone`, a server, or every server. Names and
//! filters are those of `cargo test`. The longest tests start first and every server is kept busy, so that none is
//! waited for at the end. A test that does not end is named, counts as failed, and is left behind.

mod load;
mod report;
mod run;

use std::collections::{BTreeSet, HashMap};
use std::process::ExitCode;

use clap::Parser;
use windrow::dialect::{DIALECTS, Dialect};
use windrow::sandbox::mysql::Flavour;

use crate::support::effort;

pub(crate) use report::{aside, count};
pub(crate) use run::slow;

/// What keeps a test busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Server {
    None,
    Postgres,
    Mysql,
    Mariadb,
    Several,
}

impl Server {
    const ALL: [Self; 5] = [
        Self::Postgres,
        Self::Mysql,
        Self::Mariadb,
        Self::Several,
        Self::None,
    ];

    const fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Postgres => Self::Postgres,
            Dialect::Mysql => Self::Mysql,
            Dialect::Mariadb => Self::Mariadb,
        }
    }

    /// What names it in the names of tests.
    const fn folder(self) -> &'static str {
        match self {
            Self::Postgres => "::postgres::",
            Self::Mysql => "::mysql::",
            Self::Mariadb => "::mariadb::",
            Self::Several | Self::None => "",
        }
    }
}

/// When a test runs that nobody asked for by a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// Always.
    Always,
    /// Always on one of MySQL and MariaDB, which are given the same text.
    Shared,
    /// In `make prove`: the other server of the pair always runs it.
    Proving,
    /// When asked for with `--ignored`.
    Asked,
    /// In `make lint`: it looks at the sources, the goldens and what is generated.
    Lint,
}

/// How a test ended: nothing, or what went wrong.
pub(crate) trait Outcome {
    fn result(self) -> Result<(), String>;
}

impl Outcome for () {
    fn result(self) -> Result<(), String> {
        Ok(())
    }
}

impl Outcome for anyhow::Result<()> {
    fn result(self) -> Result<(), String> {
        self.map_err(|error| format!("Error: {error:?}"))
    }
}

/// What a test does on a server.
pub(crate) trait Body<O>: Fn(Dialect) -> O + Clone + Send + Sync + 'static {}

impl<O, F: Fn(Dialect) -> O + Clone + Send + Sync + 'static> Body<O> for F {}

/// A test with its full name.
pub(crate) struct Test {
    name: String,
    server: Server,
    when: When,
    body: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

impl Test {
    fn new<O: Outcome>(
        module: &str,
        name: &str,
        server: Server,
        body: impl Fn() -> O + Send + Sync + 'static,
    ) -> Self {
        // The path of a module starts with the name of the program.
        let module = module.split_once("::").map_or("", |(_, module)| module);
        Self {
            name: format!("{module}::{name}"),
            server,
            when: When::Always,
            body: Box::new(move || body().result()),
        }
    }

    fn on<O: Outcome>(module: &str, name: &str, dialect: Dialect, body: impl Body<O>) -> Self {
        let name = format!("{}::{name}", dialect.facts().folder);
        Self::new(module, &name, Server::of(dialect), move || body(dialect))
    }

    /// What stands before the first `::` of its name.
    fn group(&self) -> &str {
        self.name.split("::").next().unwrap_or_default()
    }
}

/// Names the tests of a module by what they need (see the functions of [`crate::harness`]), in `within` its submodules.
macro_rules! tests {
    ($($kind:ident: [$($test:path),* $(,)?]),* $(,)?) => {
        pub(crate) fn tests() -> Vec<$crate::harness::Test> {
            #[allow(unused_imports, clippy::wildcard_imports, reason = "a module may have a way of its own")]
            use $crate::harness::*;
            [$($($kind(module_path!(), stringify!($test), $test)),*),*]
                .into_iter()
                .flatten()
                .collect()
        }
    };
}
pub(crate) use tests;

/// The same tests; those on some servers are run at another time.
fn when(when: When, mut tests: Vec<Test>, on: impl Fn(Server) -> bool) -> Vec<Test> {
    for test in tests.iter_mut().filter(|test| on(test.server)) {
        test.when = when;
    }
    tests
}

/// The tests of a submodule.
pub(crate) fn within(_: &str, _: &str, tests: fn() -> Vec<Test>) -> Vec<Test> {
    tests()
}

/// Looks at the sources, the goldens or what is generated, and needs no server: a part of `make lint`.
pub(crate) fn lint<O: Outcome + 'static>(module: &str, name: &str, body: fn() -> O) -> Vec<Test> {
    when(When::Lint, alone(module, name, body), |_| true)
}

/// Ways to name a test that keeps one queue busy.
macro_rules! on {
    ($($(#[$meaning:meta])* $name:ident: $server:ident;)*) => {
        $($(#[$meaning])*
        pub(crate) fn $name<O: Outcome + 'static>(
            module: &str,
            name: &str,
            body: fn() -> O,
        ) -> Vec<Test> {
            vec![Test::new(module, name, Server::$server, body)]
        })*
    };
}

on! {
    /// Needs no server.
    alone: None;
    /// Uses servers of PostgreSQL.
    on_postgres: Postgres;
    /// Uses a server of MySQL.
    on_mysql: Mysql;
    /// Uses a server of MariaDB.
    on_mariadb: Mariadb;
    /// Uses servers of several kinds.
    on_several: Several;
}

/// Runs when asked for with `--ignored`, as `make prove` does.
pub(crate) fn when_asked<O: Outcome + 'static>(
    module: &str,
    name: &str,
    body: fn() -> O,
) -> Vec<Test> {
    when(When::Asked, on_several(module, name, body), |_| true)
}

/// Runs on each of the three servers: the test touches what differs between MySQL and MariaDB.
pub(crate) fn each_server<O: Outcome>(module: &str, name: &str, body: impl Body<O>) -> Vec<Test> {
    DIALECTS
        .iter()
        .map(|dialect| Test::on(module, name, *dialect, body.clone()))
        .collect()
}

/// Runs on PostgreSQL alone, though its text has nothing that is of PostgreSQL only.
pub(crate) fn postgres_alone<O: Outcome>(
    module: &str,
    name: &str,
    body: impl Body<O>,
) -> Vec<Test> {
    vec![Test::on(module, name, Dialect::Postgres, body)]
}

/// Runs on MySQL alone, though MariaDB is given the same text.
pub(crate) fn mysql_alone<O: Outcome>(module: &str, name: &str, body: impl Body<O>) -> Vec<Test> {
    vec![Test::on(module, name, Dialect::Mysql, body)]
}

/// Runs on PostgreSQL and on one of MySQL and MariaDB, which are given the same text; `make prove` tries both. Slow ones take turns:
/// see [`take_turns`].
pub(crate) fn every_server<O: Outcome>(module: &str, name: &str, body: impl Body<O>) -> Vec<Test> {
    when(When::Shared, each_server(module, name, body), |server| {
        server != Server::Postgres
    })
}

/// Runs on one of MySQL and MariaDB, which are given the same text; `make prove` tries both.
pub(crate) fn mysql_or_mariadb<O: Outcome>(
    module: &str,
    name: &str,
    body: impl Body<O>,
) -> Vec<Test> {
    let mut tests = every_server(module, name, body);
    tests.retain(|test| test.server != Server::Postgres);
    tests
}

/// The same of a test that takes a flavour.
pub(crate) fn either_flavour<O: Outcome + 'static>(
    module: &str,
    name: &str,
    body: fn(Flavour) -> O,
) -> Vec<Test> {
    when(When::Shared, mysql_and_mariadb(module, name, body), |_| {
        true
    })
}

/// Runs on PostgreSQL; `make prove` tries all three servers. For what others look at on MySQL or MariaDB, too.
pub(crate) fn postgres_first<O: Outcome>(
    module: &str,
    name: &str,
    body: impl Body<O>,
) -> Vec<Test> {
    when(When::Proving, each_server(module, name, body), |server| {
        server != Server::Postgres
    })
}

/// Runs on PostgreSQL; `make prove` tries MySQL, too, which is all that the system under test knows.
pub(crate) fn postgres_then_mysql<O: Outcome>(
    module: &str,
    name: &str,
    body: impl Body<O>,
) -> Vec<Test> {
    let mut tests = postgres_first(module, name, body);
    tests.retain(|test| test.server != Server::Mariadb);
    tests
}

/// Runs in `make prove`, and when it is named, on servers of several kinds.
pub(crate) fn in_prove<O: Outcome + 'static>(
    module: &str,
    name: &str,
    body: fn() -> O,
) -> Vec<Test> {
    when(When::Proving, on_several(module, name, body), |_| true)
}

/// Runs on PostgreSQL and MySQL: the system under test knows no other.
pub(crate) fn postgres_and_mysql<O: Outcome>(
    module: &str,
    name: &str,
    body: impl Body<O>,
) -> Vec<Test> {
    [Dialect::Postgres, Dialect::Mysql]
        .map(|dialect| Test::on(module, name, dialect, body.clone()))
        .into()
}

/// Runs on MySQL and on MariaDB.
pub(crate) fn mysql_and_mariadb<O: Outcome + 'static>(
    module: &str,
    name: &str,
    body: fn(Flavour) -> O,
) -> Vec<Test> {
    [
        ("mysql", Server::Mysql, Flavour::Mysql),
        ("mariadb", Server::Mariadb, Flavour::Mariadb),
    ]
    .map(|(folder, server, flavour)| {
        Test::new(module, &format!("{folder}::{name}"), server, move || {
            body(flavour)
        })
    })
    .into()
}

/// What `cargo test` hands over.
#[derive(Debug, Parser)]
#[command(about = "Runs tests; without a filter those of `make test`")]
struct Arguments {
    /// Run only tests whose names contain one of these
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// A filter must be the whole name
    #[arg(long)]
    exact: bool,
    /// Leave out tests whose names contain this
    #[arg(long, value_name = "FILTER")]
    skip: Vec<String>,
    /// Print the names of the tests instead of running them
    #[arg(long)]
    list: bool,
    /// Run only what otherwise waits to be asked for
    #[arg(long)]
    ignored: bool,
    /// Run that too
    #[arg(long)]
    include_ignored: bool,
    /// Run only what `make lint` runs
    #[arg(long)]
    lints: bool,
    /// Leave that out
    #[arg(long, conflicts_with = "lints")]
    no_lints: bool,
    /// How many tests run at a time; as many as keep the machine busy if nothing is said
    #[arg(long, env = "RUST_TEST_THREADS", value_name = "NUMBER")]
    test_threads: Option<usize>,
    /// How many seconds a test may take before it counts as hanging
    #[arg(
        long,
        env = "WINDROW_TEST_PATIENCE",
        value_name = "SECONDS",
        default_value_t = 300
    )]
    patience: u64,
    /// A dot for each test
    #[arg(short, long)]
    quiet: bool,
    /// Show what tests print as they run: they print nothing but their failures
    #[arg(long)]
    nocapture: bool,
}

impl Arguments {
    /// Whether a test's name is asked for, or nobody named any.
    fn names(&self, test: &Test) -> bool {
        (self.filters.is_empty() || self.any(&self.filters, test)) && !self.any(&self.skip, test)
    }

    fn any(&self, filters: &[String], test: &Test) -> bool {
        filters.iter().any(|filter| {
            if self.exact {
                test.name == *filter
            } else {
                test.name.contains(filter.as_str())
            }
        })
    }

    fn wants(&self, test: &Test) -> bool {
        let is_asked = self.ignored || self.include_ignored;
        let is_due = match test.when {
            When::Lint => !self.ignored && !self.no_lints,
            _ if self.lints => false,
            When::Always | When::Shared => !self.ignored,
            When::Proving => !self.ignored && (!self.filters.is_empty() || effort::is_proof()),
            When::Asked => is_asked,
        };
        is_due && self.names(test)
    }
}

/// How long a test that MySQL and MariaDB share may take to run on MySQL, where it takes twice as long, in seconds.
const FOR_MYSQL: f64 = 4.0;

/// From how many seconds on a test of every server takes turns.
const TAKES_TURNS: f64 = 3.0;

/// Divides the shared tests between MySQL and MariaDB: every eighth for MySQL, unless it is one of the slowest.
fn share_out(tests: &mut [Test]) {
    let slow: HashMap<&str, f64> = run::slow().collect();
    let is_slow = |name: &str| slow.get(name).is_some_and(|seconds| *seconds > FOR_MYSQL);
    let mut pair: usize = 0;
    let mut slow_pair = false;
    for test in tests.iter_mut().filter(|test| test.when == When::Shared) {
        // MySQL comes first.
        if test.server == Server::Mysql {
            let on_mariadb = test.name.replace("::mysql::", "::mariadb::");
            slow_pair = is_slow(&test.name) || is_slow(&on_mariadb);
        }
        let is_for_mysql = pair.is_multiple_of(8) && !slow_pair;
        if test.server == Server::Mariadb && !slow_pair {
            pair += 1;
        }
        if is_for_mysql == (test.server == Server::Mariadb) {
            test.when = When::Proving;
        }
    }
}

/// Has PostgreSQL run one half of the slow tests of every server in a turn, and MySQL and MariaDB the other half.
fn take_turns(tests: &mut [Test], turn: usize) {
    let slow: HashMap<&str, f64> = run::slow().collect();
    let seconds = |name: &str| slow.get(name).copied().unwrap_or_default();
    let places: HashMap<String, usize> = (0..)
        .zip(tests.iter())
        .map(|(place, test)| (test.name.clone(), place))
        .collect();
    let mut pair = turn;
    for place in 0..tests.len() {
        if tests[place].when != When::Shared {
            continue;
        }
        let name = &tests[place].name;
        let folder = tests[place].server.folder();
        let on_postgres = name.replace(folder, Server::Postgres.folder());
        let twin = places.get(&on_postgres).filter(|twin| **twin != place);
        let Some(twin) = twin else { continue };
        if seconds(name).max(seconds(&on_postgres)) < TAKES_TURNS {
            continue;
        }
        let waits = if pair.is_multiple_of(2) { place } else { *twin };
        tests[waits].when = When::Proving;
        pair += 1;
    }
}

/// Says of each test when it runs, in a turn if there is one.
fn plan(tests: &mut [Test], turn: Option<usize>) {
    share_out(tests);
    if let Some(turn) = turn {
        take_turns(tests, turn);
    }
}

/// The names of the tests that `make test` runs in a turn, or in all.
pub(crate) fn due(mut tests: Vec<Test>, turn: Option<usize>) -> BTreeSet<String> {
    plan(&mut tests, turn);
    let is_due = |test: &Test| matches!(test.when, When::Always | When::Shared);
    let due = tests.into_iter().filter(is_due);
    due.map(|test| test.name).collect()
}

/// Tests whose outcome depends on who comes first: `make prove` runs them several times.
const CHANCE: [&str; 5] = [
    "crash::mysql",
    "crash::mariadb",
    "crash::postgres",
    "rivals",
    "workers",
];

/// How many times.
const TRIES: usize = 3;

impl Test {
    fn run(&self) -> Result<(), String> {
        let is_chance = CHANCE.iter().any(|place| self.name.starts_with(place));
        let tries = if is_chance && effort::is_proof() {
            TRIES
        } else {
            1
        };
        (0..tries).try_for_each(|_| (self.body)())
    }
}

/// Runs the tests that the command line asks for.
pub(crate) fn main(mut tests: Vec<Test>) -> ExitCode {
    let arguments = Arguments::parse();
    plan(&mut tests, effort::turn());
    if arguments.list {
        report::list(tests.iter().filter(|test| arguments.names(test)));
        return ExitCode::SUCCESS;
    }
    let (wanted, others): (Vec<_>, Vec<_>) =
        tests.into_iter().partition(|test| arguments.wants(test));
    let conclusion = run::all(&arguments, wanted);
    report::conclude(&conclusion, others.len())
}
