use jiff::Timestamp;
use jiff::tz::{Dst, TimeZoneDatabase};

use crate::diagnostic::Diagnostic;
use crate::graph::{Graph, Kind};
use crate::lint::{Rule, rules};
use crate::spec::Spec;

pub(super) const RULE: Rule = Rule {
    code: "short-safety-lag",
    explanation: "\
The end time is zone-less and the time zone has daylight saving time: in the hour that is repeated each autumn, an end \
time can be read as an hour earlier than it was. A safety lag of at least an hour covers that. Raise `safety_lag`, or \
let the application write UTC.",
    check,
};

const HOUR: i64 = 3_600;

fn check(spec: &Spec, graph: &Graph) -> Vec<Diagnostic> {
    if !saves_daylight(&graph.time_zone) {
        return Vec::new();
    }
    rules(spec, graph)
        .filter(|(_, _, resolved)| {
            resolved.retention.safety_lag < HOUR && resolved.end_time.kind == Kind::Timestamp
        })
        .filter_map(|(_, written, _)| written.retention.as_ref()?.get_ref().safety_lag.as_ref())
        .map(|lag| {
            Diagnostic::warning(
                RULE.code,
                lag.span(),
                format!(
                    "the safety lag does not cover the repeated hour of `{}`",
                    graph.time_zone
                ),
                "write at least `1h`",
            )
        })
        .collect()
}

/// Whether the zone's clocks are set back in these years.
fn saves_daylight(zone: &str) -> bool {
    // A fixed year, so that a spec is judged alike whenever that happens.
    let (Ok(zone), Ok(from)) = (
        TimeZoneDatabase::bundled().get(zone),
        Timestamp::from_second(1_767_225_600),
    ) else {
        return false;
    };
    zone.following(from)
        .take(2)
        .any(|transition| transition.dst() == Dst::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::tests::{err, ok};

    #[test]
    fn the_repeated_hour_is_not_covered() {
        let zone = ("\"UTC\"", "\"Europe/Berlin\"");
        let lag = ("safety_lag = \"1d\"", "safety_lag = \"0s\"");
        insta::assert_snapshot!(err(&[zone, lag]), @r###"
warning[short-safety-lag]: the safety lag does not cover the repeated hour of `Europe/Berlin`
  --> windrow.toml:10:61
   |
10 | retention = { default = "30d", minimum = "7d", safety_lag = "0s", per = "tenant", opt_in = true }
   |                                                             ^^^^
   |
   = help: write at least `1h`
"###);
        ok(&[zone]);
        ok(&[lag]);
        ok(&[zone, lag, ("\"ended_at\"", "\"ended_at timestamptz\"")]);
    }

    #[test]
    fn zones_with_daylight_saving_time_are_known() {
        assert!(saves_daylight("Europe/Berlin"));
        assert!(!saves_daylight("Asia/Tokyo"));
        assert!(!saves_daylight("UTC"));
    }
}
