use jiff::Timestamp;
use jiff::tz::{Dst, TimeZoneDatabase};
use toml::Spanned;

use super::rule::{Rule, rules};
use crate::diagnostic::Diagnostic;
use crate::graph::{Graph, Kind, Single};
use crate::spec::Spec;

pub(super) const RULE: Rule = Rule {
    code: "short-safety-lag",
    explanation: "\
The end time is zone-less and the time zone has daylight saving time: in the repeated hour each autumn, an end time can be \
read as one hour earlier than it was. A safety lag of at least an hour covers that. Raise `safety_lag`, or let the \
application write UTC. An expiry time has no safety lag: there, only the latter helps.",
    check,
};

const HOUR: i64 = 3_600;

fn check(spec: &Spec, graph: &Graph) -> Vec<Diagnostic> {
    if !saves_daylight(&graph.time_zone) {
        return Vec::new();
    }
    let finding = |span, message: &str, help: &str| {
        let message = format!("{message} the repeated hour of `{}`", graph.time_zone);
        Diagnostic::warning(RULE.code, span, message, help)
    };
    let mut found = Vec::new();
    for (_, written, resolved) in rules(spec, graph) {
        let is_expiry = matches!(resolved.single(), Some(Single::Expiry { .. }));
        if let (Some(time), true) = (&written.time, is_expiry)
            && resolved.end_time.kind == Kind::Timestamp
        {
            found.push(finding(
                time.span(),
                "rows can be deleted an hour early in",
                "let the application write instants (`timestamptz`), or UTC",
            ));
        }
        // What the retention counts from.
        let kind = match resolved.single() {
            Some(single) => single.aged().map(|time| time.kind),
            None => Some(resolved.end_time.kind),
        };
        let fallback = written.fallback.as_ref().map(Spanned::get_ref);
        let retention = fallback.map_or(&written.retention, |it| &it.retention);
        let lag = retention
            .as_ref()
            .and_then(|it| it.get_ref().safety_lag.as_ref());
        if let Some(lag) = lag
            && kind == Some(Kind::Timestamp)
            && resolved.retention.safety_lag < HOUR
        {
            found.push(finding(
                lag.span(),
                "the safety lag does not cover",
                "write at least `1h`",
            ));
        }
    }
    found
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
    fn an_expiry_time_has_no_safety_lag() {
        let zone = ("\"UTC\"", "\"Europe/Berlin\"");
        let expiry = (
            "\"end-time\"\nroot = \"orders\"\nfinal = { state = \"done\" }\nend_time = \"ended_at\"\nretention = { default = \"30d\", minimum = \"7d\", safety_lag = \"1d\", per = \"tenant\", opt_in = true }\nlimits = { batch_families = 200, lock_timeout = \"100ms\" }",
            "\"expiry\"\nroot = \"orders\"\ntime = \"gone_at\"\nfallback = { time = \"written_at\", retention = { default = \"30d\", safety_lag = \"0s\" } }",
        );
        let postgres = ("[tables]", "dialects = [\"postgres\"]\n[tables]");
        insta::assert_snapshot!(err(&[zone, expiry, postgres]), @r#"
warning[short-safety-lag]: rows can be deleted an hour early in the repeated hour of `Europe/Berlin`
 --> windrow.toml:9:8
  |
9 | time = "gone_at"
  |        ^^^^^^^^^
  |
  = help: let the application write instants (`timestamptz`), or UTC

warning[short-safety-lag]: the safety lag does not cover the repeated hour of `Europe/Berlin`
  --> windrow.toml:10:79
   |
10 | fallback = { time = "written_at", retention = { default = "30d", safety_lag = "0s" } }
   |                                                                               ^^^^
   |
   = help: write at least `1h`
"#);
        ok(&[expiry, postgres]);
        let zoned = ("\"written_at\"", "\"written_at timestamptz\"");
        ok(&[
            zone,
            expiry,
            postgres,
            zoned,
            ("\"gone_at\"", "\"gone_at timestamptz\""),
        ]);
    }

    #[test]
    fn zones_with_daylight_saving_time_are_known() {
        assert!(saves_daylight("Europe/Berlin"));
        assert!(!saves_daylight("Asia/Tokyo"));
        assert!(!saves_daylight("UTC"));
    }
}
