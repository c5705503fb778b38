//! How fast a rule deletes: measured in its last runs, or assumed while there are none.

use super::session::Session;
use crate::answers::Setting;
use crate::dialect::Dialect;
use crate::forecast::Basis;

/// Rows after which the speed of a rule is known.
const ENOUGH: f64 = 1_000.0;

/// Rows a second where nobody knows better: slow for these servers, so that a plan that holds with it holds.
const ASSUMED: [(Dialect, f64); 3] = [
    (Dialect::Postgres, 20_000.0),
    (Dialect::Mysql, 10_000.0),
    (Dialect::Mariadb, 10_000.0),
];

/// What slows the runs of a rule down, as its settings have it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rests {
    /// Rows a second; infinite: no limit.
    rate: f64,
    /// Percent of the time of a batch that every run rests.
    nice: f64,
    /// The same for runs that a schedule starts, where nothing else says how fast these are.
    pub(super) by_default: f64,
}

impl Rests {
    pub(super) fn of(setting: impl Fn(&str) -> f64) -> Rests {
        let [rate, nice, scheduled] = ["rate", "nice", "scheduled_nice"].map(setting);
        let is_told = rate > 0.0 || nice > 0.0;
        Rests {
            rate: if rate > 0.0 { rate } else { f64::INFINITY },
            nice,
            by_default: if is_told { 0.0 } else { scheduled },
        }
    }
}

/// The present values of a rule's settings. One that this version of the installation does not have is off.
pub(super) fn setting_of<'a>(settings: &'a [Setting], rule: &'a str) -> impl Fn(&str) -> f64 + 'a {
    move |name| {
        let mut all = settings.iter();
        let found = all.find(|it| it.rule == rule && it.name == name);
        found.map_or(0.0, |setting| setting.value as f64)
    }
}

/// Rows a second of scheduled runs, and by what that is known: by the last of them, else by the last ones that somebody
/// started, which do not rest by default. Nothing where neither have deleted enough.
pub(super) fn known(
    session: &mut Session,
    rule: &str,
    rests: Rests,
) -> anyhow::Result<Option<(f64, Basis)>> {
    for scheduled in [true, false] {
        let (deleted, took, measured_runs) = session.speed(rule, scheduled)?;
        if deleted < ENOUGH || took <= 0.0 {
            continue;
        }
        let scheduled_nice = if scheduled { 0.0 } else { rests.by_default };
        let speed = deleted / took / (1.0 + scheduled_nice / 100.0);
        return Ok(Some((
            speed.min(rests.rate),
            Basis::Measured {
                measured_runs,
                by_hand: !scheduled,
                scheduled_nice,
            },
        )));
    }
    Ok(None)
}

/// The same, and an assumption where nothing is known.
pub(super) fn known_or_assumed(
    session: &mut Session,
    rule: &str,
    rests: Rests,
) -> anyhow::Result<(f64, Basis)> {
    if let Some(known) = known(session, rule, rests)? {
        return Ok(known);
    }
    let dialect = session.server.dialect;
    let assumed = ASSUMED
        .iter()
        .find(|(known, _)| *known == dialect)
        .map_or(10_000.0, |(_, speed)| *speed);
    let speed = assumed / (1.0 + (rests.nice + rests.by_default) / 100.0);
    Ok(if rests.rate <= speed {
        (rests.rate, Basis::Rate { rate: rests.rate })
    } else {
        (
            speed,
            Basis::Assumed {
                assumed,
                nice: rests.nice,
                scheduled_nice: rests.by_default,
            },
        )
    })
}
