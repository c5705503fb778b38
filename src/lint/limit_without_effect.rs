use std::ops::Range;

use super::rule::{Rule, rules};
use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;
use crate::facts::{self, Servers, Setting};
use crate::graph::{self, Graph};
use crate::spec::{self, Spec};

pub(super) const RULE: Rule = Rule {
    code: "limit-without-effect",
    explanation: "\
Some limits belong to a run, not to a rule, though each rule can name them. A run has one `time_budget`, that of the first rule. Of \
`suspend_after` and `back_off_max` the smallest value above 0 of all rules applies, and a rule that does not name them has the \
default: 0 in one rule does not switch them off. Write `time_budget` in the first rule, and the others with the same value in every rule. Other limits are of some servers: \
`max_replica_wal` and, next to `name`, `cron_history` of PostgreSQL, `max_cluster_queue` of MySQL and MariaDB. In a spec that is \
for none of these, no run waits for them.",
    check,
};

/// What a rule says of one limit.
struct Said<'a> {
    rule: &'a str,
    value: i64,
    /// Where it is written.
    place: Option<Range<usize>>,
    /// Whether a database may lack the rule, so that the next one is the first.
    may_lack: bool,
}

fn check(spec: &Spec, graph: &Graph) -> Vec<Diagnostic> {
    let of = |name| facts::limit(name).map(|limit| said(limit, spec, graph));
    let budgets = of("time_budget").unwrap_or_default();
    let mut found = Vec::new();
    for (place, said) in budgets.iter().enumerate() {
        let before = &budgets[..place];
        let first = before.iter().find(|it| !it.may_lack);
        let differs = before.iter().any(|it| it.value != said.value);
        if let (Some(first), Some(place), true) = (first, &said.place, differs) {
            found.push(warning(
                place,
                format!(
                    "a run takes its `time_budget` from its first rule, `{}`",
                    first.rule
                ),
                format!("write it in `[rules.{}]`", first.rule),
            ));
        }
    }
    for name in ["suspend_after", "back_off_max"] {
        let limits = of(name).unwrap_or_default();
        for said in &limits {
            let mut others = limits.iter().filter(|it| !it.may_lack);
            let applies = |it: &&Said| it.value > 0 && (it.value < said.value || said.value == 0);
            let smaller = others.find(applies);
            if let (Some(smaller), Some(place)) = (smaller, &said.place) {
                let otherwise = match (smaller.place.is_some(), said.value) {
                    (true, 0) => "has one",
                    (true, _) => "has a smaller one",
                    (false, 0) => "has the default",
                    (false, _) => "has the default, which is smaller",
                };
                found.push(warning(
                    place,
                    format!(
                        "of all rules the smallest `{name}` above 0 applies, and `{}` {otherwise}",
                        smaller.rule
                    ),
                    "write the same value in every rule".to_owned(),
                ));
            }
        }
    }
    found.extend(of_other_servers(spec, graph));
    found
}

/// Limits that no server of the spec has.
fn of_other_servers(spec: &Spec, graph: &Graph) -> Vec<Diagnostic> {
    let told = |servers: Servers, name: &str, place: &Range<usize>| {
        let title = match servers {
            Servers::Postgres if !graph.dialects.contains(&Dialect::Postgres) => "PostgreSQL",
            Servers::InnoDb if graph.dialects == [Dialect::Postgres] => "MySQL and MariaDB",
            _ => return None,
        };
        Some(warning(
            place,
            format!("`{name}` is for {title}, and the spec is not"),
            "remove it, or add such a server to `dialects`".to_owned(),
        ))
    };
    let history = spec.cron_history.as_ref();
    let history = history.and_then(|it| told(Servers::Postgres, "cron_history", &it.span()));
    let mut found = Vec::from_iter(history);
    for limit in facts::SETTINGS.iter().filter(|it| it.limit.is_some()) {
        let said = said(limit, spec, graph);
        let places = said.iter().filter_map(|it| it.place.as_ref());
        found.extend(places.filter_map(|place| told(limit.servers, limit.name, place)));
    }
    found
}

fn said<'a>(limit: &'static Setting, spec: &'a Spec, graph: &'a Graph) -> Vec<Said<'a>> {
    let of_rule = |(name, written, resolved): (&'a spec::Text, &'a spec::Rule, &'a graph::Rule)| {
        let limits = &written.limits;
        let span = limits.spans.get(limit.name).map(spec::Text::span);
        let count = limits.counts.get(limit.name).map(|it| it.span());
        let root = written.root.as_ref().and_then(|root| spec.tables.get(root));
        let optional = [
            written.optional.as_ref(),
            root.and_then(|it| it.optional.as_ref()),
        ];
        Said {
            rule: name.get_ref(),
            value: resolved.limits.of(*limit),
            place: span.or(count),
            may_lack: optional.into_iter().flatten().any(|it| *it.get_ref()),
        }
    };
    rules(spec, graph).map(of_rule).collect()
}

fn warning(place: &Range<usize>, message: String, help: String) -> Diagnostic {
    Diagnostic::warning(RULE.code, place.clone(), message, help)
}

#[cfg(test)]
mod tests {
    use crate::lint::tests::{err, ok};

    /// A change that adds a second rule with these limits.
    fn second(limits: &str) -> (&'static str, String) {
        let end = "limits = { batch_families = 200, lock_timeout = \"100ms\" }\n";
        let rule = "[rules.later]\nstrategy = \"end-time\"\nroot = \"orders\"\nfinal = { state = \"void\" }\nend_time = \"ended_at\"\n\
                    retention = { default = \"30d\", minimum = \"7d\", safety_lag = \"1d\" }\n";
        (end, format!("{end}{rule}limits = {{ {limits} }}\n"))
    }

    /// Both limits do not apply, and why.
    fn told(said: &str, why: &str) {
        for name in ["suspend_after", "back_off_max"] {
            let told = format!("of all rules the smallest `{name}` above 0 applies, and {why}\n");
            assert!(said.contains(&told), "{told}{said}");
        }
    }

    #[test]
    fn a_run_has_the_limits_of_its_first_rule_or_the_smallest_ones() {
        let (end, text) = second(r#"time_budget = "2h", suspend_after = 10, back_off_max = "10m""#);
        insta::assert_snapshot!(err(&[(end, &text)]), @r#"
warning[limit-without-effect]: a run takes its `time_budget` from its first rule, `orders`
  --> windrow.toml:18:26
   |
18 | limits = { time_budget = "2h", suspend_after = 10, back_off_max = "10m" }
   |                          ^^^^
   |
   = help: write it in `[rules.orders]`

warning[limit-without-effect]: of all rules the smallest `suspend_after` above 0 applies, and `orders` has the default, which is smaller
  --> windrow.toml:18:48
   |
18 | limits = { time_budget = "2h", suspend_after = 10, back_off_max = "10m" }
   |                                                ^^
   |
   = help: write the same value in every rule
"#);
        let same = [(
            "lock_timeout = \"100ms\" }\n[",
            "lock_timeout = \"100ms\", time_budget = \"2h\" }\n[",
        )];
        let (end, text) = second(r#"time_budget = "2h", suspend_after = 3"#);
        ok(&[(end, &text), same[0]]);
        // Off in one rule is not off, whichever it is.
        let both = "suspend_after = 0, back_off_max = \"0s\"";
        let (end, text) = second(both);
        told(&err(&[(end, &text)]), "`orders` has the default");
        let lock_timeout = "lock_timeout = \"100ms\" }\n[";
        let off = lock_timeout.replace(" }", &format!(", {both} }}"));
        let off = (lock_timeout, off.as_str());
        let (end, text) = second("suspend_after = 9, back_off_max = \"1h\"");
        told(&err(&[(end, &text), off]), "`later` has one");
        let (end, text) = second(both);
        ok(&[(end, &text), off]);
        // Where a database lacks the first rule, the second is the first.
        let (end, text) = second(r#"time_budget = "2h""#);
        ok(&[
            (end, &text),
            (
                "strategy = \"end-time\"\nroot = \"orders\"\nfinal = { state = \"done\" }",
                "strategy = \"end-time\"\noptional = true\nroot = \"orders\"\nfinal = { state = \"done\" }",
            ),
        ]);
    }

    #[test]
    fn a_limit_of_another_server_has_no_effect() {
        let limits = "limits = { batch_families = 200, lock_timeout = \"100ms\" }";
        let more = "limits = { batch_families = 200, lock_timeout = \"100ms\", max_replica_wal = 512, max_cluster_queue = 9 }";
        let zone = "time_zone = \"UTC\"\n";
        let on = |servers: &str| {
            let history = "cron_history = \"30d\"\n";
            err(&[
                (limits, more),
                (zone, &format!("{zone}dialects = [{servers}]\n{history}")),
            ])
        };
        insta::assert_snapshot!(on(r#""mysql", "mariadb""#), @r#"
warning[limit-without-effect]: `cron_history` is for PostgreSQL, and the spec is not
 --> windrow.toml:4:16
  |
4 | cron_history = "30d"
  |                ^^^^^
  |
  = help: remove it, or add such a server to `dialects`

warning[limit-without-effect]: `max_replica_wal` is for PostgreSQL, and the spec is not
  --> windrow.toml:13:76
   |
13 | limits = { batch_families = 200, lock_timeout = "100ms", max_replica_wal = 512, max_cluster_queue = 9 }
   |                                                                            ^^^
   |
   = help: remove it, or add such a server to `dialects`
"#);
        insta::assert_snapshot!(on(r#""postgres""#), @r#"
warning[limit-without-effect]: `max_cluster_queue` is for MySQL and MariaDB, and the spec is not
  --> windrow.toml:13:101
   |
13 | limits = { batch_families = 200, lock_timeout = "100ms", max_replica_wal = 512, max_cluster_queue = 9 }
   |                                                                                                     ^
   |
   = help: remove it, or add such a server to `dialects`
"#);
        ok(&[(limits, more), (zone, "cron_history = \"30d\"\n")]);
    }
}
