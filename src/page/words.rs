//! What a rule deletes and what it keeps, in sentences.

use super::html::{Line, code, names, said};
use crate::graph::{
    Action, Condition, Edge, End, Epoch, Graph, Literal, Need, Retention, Rule, Shared, Single,
    Source, Strategy, Table, TableId, Unit, With,
};
use crate::ui::{count, retention as span};

/// A sentence of words.
macro_rules! line {
    ($($word:expr),* $(,)?) => { vec![$($word),*] };
}

/// Conditions that must all be true.
fn conditions(all: &[Condition]) -> Line {
    let mut line = Line::new();
    for condition in all {
        if !line.is_empty() {
            line.push(said(" and "));
        }
        line.push(code(condition.to_string()));
    }
    line
}

/// What follows a sentence if there are conditions.
fn only(lead: &str, all: &[Condition], sql: Option<&str>) -> Line {
    let mut line = Line::new();
    if !all.is_empty() {
        line.push(said(lead));
        line.extend(conditions(all));
    }
    if let Some(sql) = sql {
        line.push(said(if all.is_empty() { lead } else { " and " }));
        line.push(code(sql));
        line.push(said(" (SQL of the spec, which windrow does not read)"));
    }
    line
}

/// In one sentence, which rows a rule deletes and when.
pub(super) fn deleted(graph: &Graph, rule: &Rule) -> Line {
    let mut root = line![code(&graph.table(rule.root).name)];
    let sql = rule.where_sql.as_deref().filter(|_| !rule.knows_final());
    root.extend(only(" with ", &rule.candidates, sql));
    match &rule.strategy {
        Strategy::EndTime => ended(rule, root),
        Strategy::Timed(timed) => {
            let mut line = line![said(match timed.unit {
                Unit::Family => "Whole families of ",
                Unit::Window if timed.partitioned => "Whole partitions of ",
                Unit::Window => "Rows of ",
            })];
            line.extend(root);
            if timed.unit == Unit::Window && rule.order.len() > 1 {
                line.push(said(" and of the tables that belong to it"));
            }
            let time = code(&rule.end_time.name);
            if timed.retention == 0 {
                line.extend(line![
                    said(", once their removal time ("),
                    time,
                    said(") has passed")
                ]);
                if rule.retention.safety_lag > 0 {
                    line.push(said(format!(" by {}", span(rule.retention.safety_lag))));
                }
            } else if timed.partitioned {
                line.extend(line![
                    said(", which are by range of "),
                    time,
                    said(", once their end is ")
                ]);
                line.extend(after(&rule.retention));
                line.push(said(" ago"));
            } else {
                line.extend(line![said(", once their "), time, said(" is ")]);
                line.extend(after(&rule.retention));
                line.push(said(" ago"));
            }
            line
        }
        Strategy::Single(single) => single_rows(rule, single, root),
    }
}

fn ended(rule: &Rule, root: Line) -> Line {
    let mut line = line![said("Whole families: a row of ")];
    line.extend(root);
    line.push(said(", with everything that belongs to it, once it "));
    let is_final = only("is final (", &rule.r#final, rule.where_sql.as_deref());
    if !is_final.is_empty() {
        line.extend(is_final);
        line.push(said(") and "));
    }
    line.push(said("ended "));
    line.extend(after(&rule.retention));
    line.push(said(" ago"));
    line
}

fn single_rows(rule: &Rule, single: &Single, root: Line) -> Line {
    let aged = single.aged().filter(|_| !is_off(rule)).map(|column| {
        let mut line = after(&rule.retention);
        line.extend(line![said(" after "), code(&column.name)]);
        line
    });
    let mut line = line![said("Single rows of ")];
    line.extend(root);
    match single {
        Single::Expiry { .. } => {
            let time = code(&rule.end_time.name);
            line.extend(line![
                said(", once their "),
                time,
                said(" has passed; rows without one ")
            ]);
            match aged {
                Some(aged) => line.extend(std::iter::once(said("are deleted ")).chain(aged)),
                None => line.push(said("are kept")),
            }
            return line;
        }
        Single::Orphan { needs, .. } => {
            line.push(said(", for which a row is missing that they need ("));
            for (at, chain) in needs.iter().enumerate() {
                line.push(said(if at > 0 { ", or " } else { "" }));
                line.extend(needed(chain));
            }
            line.push(said(")"));
        }
        Single::KeepLast {
            group, order, keep, ..
        } => {
            line.push(said(format!(", beyond the newest {}", count(*keep))));
            if !group.is_empty() {
                line.push(said(" of each "));
                line.extend(names(group.iter().map(|it| it.name.as_str())));
            }
            line.push(said(", in the order of "));
            line.extend(names(order.iter().map(|it| it.name.as_str())));
        }
    }
    if let Some(aged) = aged {
        line.push(said(", "));
        line.extend(aged);
    }
    line
}

/// Whether rows without an expiry time are kept although there is a fallback for it.
fn is_off(rule: &Rule) -> bool {
    let is_expiry = matches!(rule.single(), Some(Single::Expiry { .. }));
    is_expiry && rule.retention.default == Some(0)
}

/// What must exist for a row to be kept.
fn needed(chain: &[Need]) -> Line {
    let mut line = Line::new();
    for need in chain {
        if !line.is_empty() {
            line.push(said(" and on to "));
        }
        let own: Vec<&str> = need.pairs.iter().map(|(own, _)| own.as_str()).collect();
        let named: Vec<&str> = need.pairs.iter().map(|(_, named)| named.as_str()).collect();
        line.push(code(format!(
            "{} → {}({})",
            own.join(", "),
            need.table,
            named.join(", ")
        )));
    }
    line
}

/// How long after a time something is deleted.
fn after(retention: &Retention) -> Line {
    let mut line = match (retention.default, retention.definition()) {
        (Some(default), _) => line![said(format!("more than {}", span(default)))],
        (None, Some(it)) => line![
            said("longer than "),
            code(format!("{}.{}", it.table, it.column)),
            said(" or a policy says"),
        ],
        (None, None) => line![said("longer than a policy says")],
    };
    if retention.safety_lag > 0 {
        line.push(said(format!(
            " (and {} of safety)",
            span(retention.safety_lag)
        )));
    }
    line
}

/// How long a rule keeps what ended, in sentences.
pub(super) fn kept_how_long(rule: &Rule) -> Vec<Line> {
    let retention = &rule.retention;
    let is_aged = rule.single().is_none_or(|single| single.aged().is_some()) && !is_off(rule);
    let is_removal = rule.timed().is_some_and(|timed| timed.retention == 0);
    if !is_aged {
        return Vec::new();
    }
    let mut lines = Vec::new();
    if !is_removal {
        let default = match retention.default {
            Some(default) => format!("By default it is kept for {}", span(default)),
            None => "Without a policy it is kept for ever".to_owned(),
        };
        let lag = match retention.safety_lag {
            0 => String::new(),
            lag => format!(", and {} of safety are added to every retention", span(lag)),
        };
        lines.push(line![said(format!("{default}{lag}."))]);
    }
    if retention.minimum > 0 {
        lines.push(line![said(format!(
            "No policy, option or run can go below {}; only a forced purge can, which is told the keys.",
            span(retention.minimum)
        ))]);
    }
    if let Some(per) = &retention.per {
        let column = code(&per.name);
        lines.push(match retention.opt_in {
            true => line![
                said("Only values of "),
                column,
                said(" that have an enabled policy are cleaned; all others are left alone.")
            ],
            false => line![
                said("A policy can set another retention for each "),
                column,
                said(", or keep all of it.")
            ],
        });
    }
    match &retention.source {
        Some(Source::Definition(it)) => lines.push(line![
            said("Where no policy says otherwise, "),
            code(format!("{}.{}", it.table, it.column)),
            said(" says how long (of the row whose "),
            code(&it.key.name),
            said(" it is; NULL: "),
            said(retention.default.map_or("for ever).", |_| "the default).")),
        ]),
        Some(Source::Values(values)) => {
            let told = values
                .iter()
                .map(|(value, seconds)| format!("{value}: {}", span(*seconds)));
            lines.push(line![
                said("The spec itself says for some of them: "),
                code(told.collect::<Vec<_>>().join("; "))
            ]);
        }
        None => {}
    }
    if retention.calendar {
        lines.push(line![said("A day is a day of the calendar in the application's zone, to the same time of the clock.")]);
    }
    lines
}

/// What a rule keeps although its time has come, each with the reason.
pub(super) fn kept(graph: &Graph, rule: &Rule) -> Vec<Line> {
    let root = || code(&graph.table(rule.root).name);
    let mut lines = vec![line![
        said("What is on hold: "),
        code("windrow hold set"),
        said(" keeps it until it is released or the hold ends."),
    ]];
    lines.extend(time_keeps(graph, rule));
    for newest in &rule.newest {
        let mut line = line![said(format!("The newest {} of each ", count(newest.count)))];
        line.extend(names(newest.per.iter().map(|it| it.name.as_str())));
        line.push(said(", by "));
        line.extend(names(newest.by.iter().map(|it| it.name.as_str())));
        line.extend(only(", among those with ", &newest.of, None));
        line.push(said("."));
        lines.push(line);
    }
    for table in &graph.tables {
        for edge in table
            .keeps()
            .filter(|edge| rule.order.contains(&edge.parent))
        {
            let mut line = line![
                said("What a row of "),
                code(&table.name),
                said(" names by "),
                code(named_by(edge)),
                said(" (of ")
            ];
            line.extend(line![
                code(&graph.table(edge.parent).name),
                said("), with its family, until that row is gone.")
            ]);
            lines.push(line);
        }
    }
    for id in &rule.order {
        lines.extend(table_keeps(graph, rule, *id));
    }
    if let Some(timed) = rule.timed() {
        for reference in &timed.references {
            lines.push(line![
                said("Rows of "),
                code(&graph.table(reference.to).name),
                said(" that "),
                code(format!("{}.{}", reference.table, reference.column)),
                said(" names."),
            ]);
        }
    }
    if rule.by_end() && rule.shared == Shared::Closed && !rule.hierarchy.is_empty() {
        lines.push(line![said(
            "Families that are linked to one that is kept: they are deleted together, or not at all."
        )]);
    }
    if rule.by_end() {
        lines.push(line![said("Families of which another session has a row locked: the next run tries again. Nothing waits for long.")]);
    } else if rule.drops_partitions() {
        let with = match rule.order.len() {
            1 => "",
            _ => " and the partitions of the same time",
        };
        lines.push(line![said(format!(
            "A partition in which a row is kept, with all of its rows{with}; the default partition, or the one without an end; one that is partitioned itself."
        ))]);
        lines.push(line![said("A partition while others have the table locked: the next run tries again. Nothing waits for long.")]);
    } else {
        lines.push(line![
            said("Rows of "),
            root(),
            said(
                " that changed meanwhile: each is judged again in the transaction that deletes it."
            )
        ]);
    }
    lines
}

/// The rows that keep a partition until they have ended.
fn waits(graph: &Graph, rule: &Rule, end: Option<&End>) -> Line {
    let (table, sql) = (&graph.table(rule.root).name, rule.where_sql.as_deref());
    let mut line = line![said("Partitions with a row of "), code(table)];
    line.extend(only(" that has not ended (ended is: ", &rule.r#final, sql));
    if rule.waits_for_final() {
        line.push(said("; NULL is not)"));
    }
    if let Some(end) = end {
        line.push(said(if rule.waits_for_final() { ", or" } else { "" }));
        line.extend(line![said(" whose "), code(&end.time.name)]);
        let otherwise = end.otherwise.iter();
        line.extend(otherwise.flat_map(|it| line![said(", else "), code(&it.name)]));
        line.push(said(" is NULL, or not "));
        line.extend(after(&rule.retention));
    }
    line.push(said(if end.is_some() { " ago." } else { "." }));
    line
}

/// What is kept for want of an end, or of time.
fn time_keeps(graph: &Graph, rule: &Rule) -> Vec<Line> {
    let mut lines = Vec::new();
    let time = || code(&rule.end_time.name);
    if rule.by_end() {
        let mut line = line![
            said("Families in which any row of "),
            code(&graph.table(rule.root).name),
            said(" has not ended (ended is: ")
        ];
        line.extend(only("", &rule.r#final, rule.where_sql.as_deref()));
        line.push(said("; NULL is not)."));
        lines.push(line);
        let mut line = match &rule.last {
            Some(last) => line![
                said("Families without a known end: it is the last "),
                code(format!(
                    "{}.{}",
                    graph.table(last.table).name,
                    last.time.name
                )),
            ],
            None => line![
                said("Families without an end time: "),
                time(),
                said(" is NULL")
            ],
        };
        let otherwise = match &rule.last {
            Some(last) => last.otherwise.as_ref(),
            None => rule.otherwise.as_ref(),
        };
        if let Some(otherwise) = otherwise {
            line.extend(line![
                said(", and so is "),
                code(&otherwise.name),
                said(", which replaces it")
            ]);
        }
        line.push(said("."));
        lines.push(line);
    } else if let Some(timed) = rule.timed() {
        lines.push(line![said("What has no time: "), time(), said(" is NULL.")]);
        if rule.waits_for_rows() {
            lines.push(waits(graph, rule, timed.end.as_ref()));
        }
        if let Some(ended) = &timed.ended {
            lines.push(line![
                said("Families whose root has not ended ("),
                code(&ended.name),
                said(format!("), or not {} ago.", span(rule.retention.minimum))),
            ]);
        }
    }
    if let Some(Epoch::Seconds | Epoch::Milliseconds | Epoch::Microseconds) = rule.epoch {
        lines.push(line![said(
            "What has a time that is not above 0: that is none."
        )]);
    }
    lines
}

/// What the rows of one of its tables keep, and which of them are kept.
fn table_keeps(graph: &Graph, rule: &Rule, id: TableId) -> Vec<Line> {
    let table = graph.table(id);
    let mut lines = Vec::new();
    if !table.r#final.is_empty() {
        let mut line = line![
            said("Families with a row of "),
            code(&table.name),
            said(" that is not final (final is: ")
        ];
        line.extend(conditions(&table.r#final.own));
        for named in &table.r#final.named {
            if line.len() > 3 {
                line.push(said(" and "));
            }
            line.push(code(format!(
                "{} → {}",
                named.edge.columns(),
                named.condition
            )));
        }
        line.push(said(")."));
        lines.push(line);
    }
    if !table.kept.is_empty() {
        let mut line = line![said("Rows of "), code(&table.name), said(" with ")];
        for (at, condition) in table.kept.iter().enumerate() {
            line.push(said(if at > 0 { " and " } else { "" }));
            line.push(code(condition.to_string()));
        }
        line.push(said(": they are kept when what they belong to is deleted."));
        lines.push(line);
    }
    if table.with == With::All && table.parents().count() > 1 && rule.by_end() {
        let mut line = line![
            said("Families with a row of "),
            code(&table.name),
            said(" that belongs to something else as well which is kept ")
        ];
        line.push(said("("));
        line.extend(names(
            table
                .parents()
                .map(|edge| graph.table(edge.parent).name.as_str()),
        ));
        line.push(said(
            "): such a row is deleted with all of them, or not at all.",
        ));
        lines.push(line);
    }
    lines
}

/// The columns of an edge, and the value that means that there is none.
fn named_by(edge: &Edge) -> String {
    match &edge.none {
        None => edge.columns(),
        Some(Literal::Integer(value)) => format!("{} (unless {value})", edge.columns()),
        Some(Literal::Text(value)) => format!("{} (unless '{value}')", edge.columns()),
    }
}

/// What else happens to rows: archived, set to NULL, files.
pub(super) fn besides(graph: &Graph, rule: &Rule) -> Vec<Line> {
    let mut lines = Vec::new();
    for table in &graph.tables {
        for edge in table
            .releases()
            .filter(|edge| rule.order.contains(&edge.parent))
        {
            lines.push(line![
                said("Rows of "),
                code(&table.name),
                said(" are kept; "),
                code(named_by(edge)),
                said(" is set to NULL where the row of "),
                code(&graph.table(edge.parent).name),
                said(" that it names is deleted."),
            ]);
        }
    }
    if !rule.archive.is_empty() {
        let mut line = line![said(
            "Copied into the archive before they are deleted: rows of "
        )];
        line.extend(names(
            rule.archive.iter().map(|id| graph.table(*id).name.as_str()),
        ));
        line.push(said("."));
        lines.push(line);
    }
    if rule.drops_partitions() && !rule.archived().is_empty() {
        let mut line = line![said(
            "Kept in the archive, instead of being dropped: partitions of "
        )];
        line.extend(names(
            rule.archived()
                .iter()
                .map(|id| graph.table(*id).name.as_str()),
        ));
        line.push(said("."));
        lines.push(line);
    }
    for artifact in &rule.artifacts {
        lines.push(line![
            said("Files that deleted rows name ("),
            code(format!(
                "{}.{}",
                graph.table(artifact.table).name,
                artifact.path
            )),
            said(") are noted; only "),
            code("windrow artifacts drain"),
            said(" removes them."),
        ]);
    }
    if let Some(sql) = &rule.limits.wait_while_sql {
        lines.push(line![said("Runs wait while this is true: "), code(sql)]);
    }
    lines
}

/// How a table of a rule belongs to the others.
pub(super) fn belongs(graph: &Graph, rule: &Rule, table: &Table, id: TableId) -> Line {
    let mut line = Line::new();
    if id == rule.root {
        return line![said("the rows that are judged")];
    }
    for edge in table
        .edges
        .iter()
        .filter(|edge| edge.action == Action::Delete && rule.order.contains(&edge.parent))
    {
        if !line.is_empty() {
            line.push(said(" or "));
        }
        line.extend(line![
            code(named_by(edge)),
            said(" → "),
            code(&graph.table(edge.parent).name)
        ]);
        if edge.alone {
            line.extend(line![
                said(" (its "),
                code(&edge.parent_column.name),
                said(" names the row)")
            ]);
        }
    }
    let members = rule.timed().into_iter().flat_map(|timed| &timed.members);
    if let Some(member) = members
        .into_iter()
        .find(|it| it.table == id && line.is_empty())
    {
        line.extend(line![said("by its own "), code(&rule.end_time.name)]);
        if !member.family.is_empty() {
            line.push(said("; family: "));
            line.extend(names(member.family.iter().map(String::as_str)));
        }
    }
    line
}

/// The limits of a run that a board asks for, by name and value. All rules share the time of the first one.
pub(super) fn limits(rule: &Rule, is_first: bool) -> Line {
    let mut line = Line::new();
    for name in [
        "run_families",
        "run_rows",
        "time_budget",
        "batch_families",
        "batch_rows",
        "lock_timeout",
        "scheduled_nice",
    ] {
        let Some(setting) = crate::facts::limit(name) else {
            continue;
        };
        let value = rule.limits.of(*setting);
        let is_of_families = name == "batch_families" && !rule.by_end();
        if value == 0 || is_of_families || name == "time_budget" && !is_first {
            continue;
        }
        if !line.is_empty() {
            line.push(said(", "));
        }
        line.push(code(format!("{name} = {}", count(value))));
        line.push(said(format!(" {}", setting.unit)));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint;
    use crate::page::html::Word;

    /// The sentences of a rule of a shipped spec as one text.
    fn told(spec: &str, rule: &str) -> String {
        let graph = lint::load(spec).0.expect("a spec without errors");
        let rule = graph.rules.iter().find(|it| it.name == rule);
        let rule = rule.expect("the rule");
        let mut lines = vec![deleted(&graph, rule)];
        lines.extend(kept_how_long(rule));
        lines.extend(kept(&graph, rule));
        lines.extend(besides(&graph, rule));
        let line = |line: &Line| -> String {
            let words = line.iter().map(|word| match word {
                Word::Said(text) => text.clone(),
                Word::Code(text) => format!("`{text}`"),
            });
            words.chain(["\n".to_owned()]).collect()
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn rules_are_told_as_the_spec_means_them() {
        let airflow = include_str!("../../specs/airflow-3.toml");
        let camunda = include_str!("../../specs/camunda7.toml");
        for (spec, rule, sentences) in [
            (
                airflow,
                "dag_runs",
                &[
                    "once it is final (`state = success or failed`) and ended more than 90 days (and 1 day of safety) ago\n",
                    "\nNo policy, option or run can go below 7 days; only a forced purge can, which is told the keys.\n",
                    "\nOnly values of `dag_id` that have an enabled policy are cleaned; all others are left alone.\n",
                    "\nFamilies without an end time: `end_date` is NULL, and so is `updated_at`, which replaces it.\n",
                    "\nThe newest 1 of each `dag_id`, by `run_after`, among those with `run_type = asset_triggered`.\n",
                    "\nRows of `backfill_dag_run` are kept; `dag_run_id` is set to NULL where",
                ][..],
            ),
            (
                airflow,
                "tries",
                &[
                    "Single rows of `task_instance_history`, beyond the newest 3 of each `dag_id`, `task_id`",
                ],
            ),
            (
                airflow,
                "task_state",
                &["once their `expires_at` has passed; rows without one are kept\n"],
            ),
            (
                airflow,
                "callback",
                &[
                    "`callback` with `state = scheduled or success or failed`, for which a row is missing that they need \
                 (`id → deadline(callback_id)`), more than 7 days (and 1 hour of safety) after `created_at`\n",
                ],
            ),
            (
                airflow,
                "asset_event",
                &[
                    "\nWhat a row of `dagrun_asset_event` names by `event_id` (of `asset_event`), with its family",
                ],
            ),
            (
                camunda,
                "history",
                &[
                    "Whole families of `act_hi_procinst`, once their removal time (`removal_time_`) has passed by 1 hour\n",
                ],
            ),
        ] {
            let told = told(spec, rule);
            for sentence in sentences {
                assert!(told.contains(sentence), "{sentence} is not in {told}");
            }
        }
    }
}
