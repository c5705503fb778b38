//! The view of one rule.

use super::edges::{EdgeView, OtherView, between, edge_view, members};
use super::names::{
    control_name, escaped, home, id_type, least_key, local, near, typed, variable, work_table,
};
use super::rules::{batch_setting, by_calendar, by_end, time_name};
use super::views::{ArtifactView, CollectView, FieldView, LinkView, RuleView, StepView, TwinView};
use super::{
    archive, cascade, document, held, keeps, last, left, newest, releases, single, source, timed,
};
use crate::dialect::Dialect;
use crate::graph::{
    Artifact, Column, Document, Figure, Graph, Kind, Last, ReportField, Rule, Shared, TableId,
};
use crate::plan::{self, Purge, Step};

pub(super) fn rule_view(graph: &Graph, purge: &Purge, dialect: Dialect) -> RuleView {
    let rule = &graph.rules[purge.rule];
    let root = graph.table(rule.root);
    let key = &root.key[0];
    let time_zone = match rule.end_time.kind {
        Kind::Timestamptz => String::new(),
        _ => format!(" AT TIME ZONE {}", dialect.text(&graph.time_zone)),
    };
    let (minimum, lag) = (rule.retention.minimum, rule.retention.safety_lag);
    let before = |instant: &str, retention: &str| {
        format!("{instant} - INTERVAL GREATEST({retention}, {minimum}) + {lag} SECOND")
    };
    let calendar = by_calendar(graph, rule);
    // On MySQL and MariaDB the kernel counts them.
    let cutoff = |retention: &str| match calendar {
        false => format!(
            "(p_as_of - make_interval(secs => greatest({retention}, {minimum}) + {lag})){time_zone}"
        ),
        true => format!(
            "{}.calendar_before(p_as_of, greatest({retention}, {minimum}) + {lag}, {}){time_zone}",
            control_name(graph),
            dialect.text(&graph.time_zone)
        ),
    };
    let least_time = match rule.end_time.kind {
        Kind::Timestamptz => "'1970-01-01 00:00:01'",
        _ => "'1000-01-01 00:00:00'",
    };
    // What a family without a retention is measured by.
    let overdue = rule.retention.default.unwrap_or(minimum);
    let source = source::view(graph, rule, dialect);
    // A view knows no variable and no session: NOW() is in its zone, as a TIMESTAMP is when it is compared.
    let now = match rule.end_time.kind {
        Kind::Timestamptz => "NOW(6)",
        _ => "UTC_TIMESTAMP(6)",
    };
    let cutoff_now = |retention: &str| local(graph, rule.end_time.kind, &before(now, retention));
    let per = rule.retention.per.as_ref();
    let all = |conditions: Vec<String>| {
        if conditions.is_empty() {
            "true".to_owned()
        } else {
            format!("({}) IS TRUE", conditions.join(" AND "))
        }
    };
    let candidates: Vec<String> = rule
        .candidates
        .iter()
        .map(|condition| dialect.condition_of("i", condition))
        .collect();
    let finals: Vec<String> = rule
        .r#final
        .iter()
        .map(|condition| dialect.condition_of("i", condition))
        .collect();
    let (is_final, is_root) = (all(finals), all(candidates.clone()));
    let ended = ended(rule, dialect);
    let mut level_columns = vec![
        format!(
            "i.{}::{} AS id",
            dialect.ident(&key.name),
            dialect.kind(purge.id_kind)
        ),
        format!("{is_final} AS final"),
        format!("{is_root} AS root"),
        match &rule.last {
            None => format!("{ended} AS ended"),
            Some(last) => format!("{} AS ended", stands_in(last, dialect)),
        },
    ];
    level_columns.extend(per.map(|column| format!("i.{} AS scope", dialect.ident(&column.name))));
    let mut steps: Vec<StepView> = purge
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| StepView {
            position: index + 1,
            table: dialect.qualified(home(graph, dialect), &graph.table(step.table).name),
            table_literal: dialect.text(&graph.table(step.table).name),
            table_class: dialect
                .text(&dialect.qualified(home(graph, dialect), &graph.table(step.table).name)),
            why: step.why.clone(),
            releases: releases::views(graph, purge, step.table, dialect),
            plain: Vec::new(),
            key: graph
                .table(step.table)
                .key
                .first()
                .map_or(String::new(), |key| dialect.ident(&key.name)),
            collected: collected(graph, purge, step),
            archive: archive::view(graph, rule, step.table, dialect),
            cascade: cascade::view(rule, step, dialect),
            edges: if step.edges.is_empty() {
                vec![EdgeView {
                    column: dialect.ident(&key.name),
                    ..members(rule, dialect)
                }]
            } else {
                step.edges
                    .iter()
                    .map(|edge| edge_view(graph, rule, edge, dialect))
                    .collect()
            },
        })
        .collect();
    let twins = count_once(&mut steps);
    for step in &mut steps {
        let plain = step.edges.iter().filter(|edge| edge.via.is_none());
        step.plain = plain.cloned().collect();
    }
    let meets = keeps::meets(graph, purge, dialect);
    let collects: Vec<CollectView> = purge
        .collects
        .iter()
        .map(|id| {
            let table = graph.table(*id);
            CollectView {
                variable: variable(graph, *id),
                near: near(graph, *id),
                work: work_table(graph, *id),
                key: dialect.ident(&table.key[0].name),
                key_type: dialect.kind(table.key[0].kind),
                table: dialect.qualified(home(graph, dialect), &table.name),
                edges: table
                    .parents()
                    .filter(|edge| rule.order.contains(&edge.parent))
                    .map(|edge| edge_view(graph, rule, edge, dialect))
                    .collect(),
                joined: between(graph, rule, *id, dialect).is_some(),
                users: left::users(graph, purge, &steps, *id),
            }
        })
        .collect();
    let single = rule.single.as_ref();
    let single = single.map(|single| single::view(graph, rule, single, dialect));
    let report = |document: Document| -> Vec<FieldView> {
        rule.report
            .iter()
            .filter(|field| field.document == document)
            .map(|field| field_view(graph, purge, field, dialect))
            .collect()
    };
    RuleView {
        literal: dialect.text(&rule.name),
        per: per
            .map(|column| dialect.ident(&column.name))
            .unwrap_or_default(),
        per_name: per
            .map(|column| escaped(dialect, &column.name))
            .unwrap_or_default(),
        opt_in: rule.retention.listed(),
        scope_type: per.map_or("text", |column| dialect.kind(column.kind)),
        time_type: dialect.kind(rule.end_time.kind),
        key_type: dialect.kind(key.kind),
        id_type: id_type(dialect, purge.id_kind),
        first_key: least_key(dialect, key.kind),
        is_final,
        is_root,
        least_time,
        greatest_time: match rule.end_time.kind {
            Kind::Timestamptz => "'2038-01-19 03:14:07'",
            _ => "'9999-12-31 23:59:59'",
        },
        scope_of_policy: per.map_or("NULL".to_owned(), |column| typed(column.kind, "p.scope")),
        key_of_hold: typed(key.kind, "h.`key`"),
        now_here: local(graph, rule.end_time.kind, now),
        cutoff_now: cutoff_now("p.retention_seconds"),
        cutoff_now_source: source
            .as_ref()
            .map_or(String::new(), |source| cutoff_now(&source.seconds)),
        cutoff_now_default: match &rule.timed {
            // The stored time holds the retention already.
            Some(timed) if timed.retention == 0 => local(
                graph,
                rule.end_time.kind,
                &format!("{now} - INTERVAL {lag} SECOND"),
            ),
            _ => cutoff_now(&overdue.to_string()),
        },
        cutoff_now_minimum: cutoff_now(&minimum.to_string()),
        cutoff_of_policy: cutoff("coalesce(p_retention, p.retention_seconds)"),
        cutoff_of_source: source.as_ref().map_or(String::new(), |source| {
            cutoff(&format!("coalesce(p_retention, {})", source.seconds))
        }),
        // The kernel knows the default, so that it stands once.
        cutoff_of_default: cutoff(&format!(
            "coalesce(p_retention, {}.retention_of({}))",
            control_name(graph),
            dialect.text(&rule.name)
        )),
        age_of_root: match rule.end_time.kind {
            Kind::Timestamptz => format!("clock_timestamp() - {ended}"),
            _ => format!("clock_timestamp(){time_zone} - {ended}"),
        },
        source,
        minimum: rule.retention.minimum,
        safety_lag: rule.retention.safety_lag,
        batch_setting: batch_setting(rule),
        document: document::of_rule(graph, purge, single.as_ref(), dialect),
        between: document::has_collects(graph, purge, dialect),
        table: dialect.qualified(home(graph, dialect), &root.name),
        table_name: escaped(dialect, &root.name),
        table_literal: dialect.text(&root.name),
        table_list: escaped(
            dialect,
            &purge
                .steps
                .iter()
                .map(|step| graph.table(step.table).name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        ),
        key: dialect.ident(&key.name),
        key_cast: if key.kind == Kind::Varchar {
            "::text"
        } else {
            ""
        },
        key_name: escaped(dialect, &key.name),
        end_time: dialect.ident(&rule.end_time.name),
        end_time_name: escaped(dialect, &time_name(graph, rule)),
        ended,
        ended_name: match (&rule.otherwise, &rule.last) {
            (None, None) => dialect.ident(&rule.end_time.name),
            _ => "ended".to_owned(),
        },
        otherwise: rule.otherwise.is_some(),
        last: last::view(graph, rule, dialect),
        start_name: escaped(dialect, &rule.end_time.name),
        along: if rule.last.is_some() {
            "started"
        } else {
            "ended"
        },
        candidates,
        eligible: if !by_end(rule) && rule.candidates.is_empty() {
            vec!["true".to_owned()]
        } else {
            plan::eligible(rule)
                .iter()
                .map(|condition| dialect.condition_of("i", condition))
                .collect()
        },
        closed: rule.shared == Shared::Closed,
        links: rule
            .hierarchy
            .iter()
            .map(|link| LinkView {
                table: dialect.qualified(home(graph, dialect), &graph.table(link.table).name),
                parent: dialect.ident(&link.parent.name),
                child: dialect.ident(&link.child.name),
            })
            .collect(),
        linked: !rule.hierarchy.is_empty() || !meets.is_empty(),
        uppers: rule
            .links_within()
            .map(|link| dialect.ident(&link.parent.name))
            .collect(),
        level_columns: level_columns.join(", "),
        in_utc: match rule.end_time.kind {
            Kind::Timestamptz => " AT TIME ZONE 'UTC'",
            _ => "",
        },
        zeros: vec!["0"; purge.steps.len()].join(", "),
        cascading: left::parents(graph, purge, &steps, dialect),
        steps,
        keeps: keeps::keeps(graph, purge, dialect),
        ways_of_keeps: keeps::ways(graph, purge, dialect),
        further: collects
            .iter()
            .filter(|collect| collect.joined)
            .map(|collect| collect.work.as_str())
            .chain(twins.iter().map(|twin| twin.work.as_str()))
            .collect::<Vec<_>>()
            .join(",\n"),
        meets,
        newest: newest::views(graph, rule, dialect),
        collects,
        twins,
        zoned: rule.end_time.kind == Kind::Timestamptz,
        artifacts: rule
            .artifacts
            .iter()
            .map(|artifact| artifact_view(graph, rule, artifact, dialect))
            .collect(),
        held: held::view(graph, purge.rule, rule, dialect),
        archives: !rule.archive.is_empty(),
        releases: !purge.releases.is_empty(),
        archive: archive::view(graph, rule, rule.root, dialect),
        by_end: by_end(rule),
        timed: rule
            .timed
            .as_ref()
            .map(|timed| timed::view(graph, rule, timed, dialect)),
        single,
        report_preview: report(Document::Preview),
        name: rule.name.clone(),
    }
}

/// When row `i` of the root table ended.
pub(super) fn ended(rule: &Rule, dialect: Dialect) -> String {
    let column = |column: &Column| format!("i.{}", dialect.ident(&column.name));
    match &rule.otherwise {
        None => column(&rule.end_time),
        Some(other) => format!("coalesce({}, {})", column(&rule.end_time), column(other)),
    }
}

/// The end of row `i` of the root table where its rows of another table do not say it.
pub(super) fn stands_in(last: &Last, dialect: Dialect) -> String {
    match &last.otherwise {
        Some(column) => format!("i.{}", dialect.ident(&column.name)),
        None => format!("NULL::{}", dialect.kind(last.time.kind)),
    }
}

/// Rows that are found through their parents, and these through theirs, cost a search for each parent: where their keys
/// were collected, that is not done twice.
pub(super) fn collected(graph: &Graph, purge: &Purge, step: &Step) -> String {
    let root = graph.rules[purge.rule].root;
    match step.edges.as_slice() {
        [edge]
            if edge.parent != root
                && !edge.names_key(graph)
                && purge.collects.contains(&step.table) =>
        {
            variable(graph, step.table)
        }
        _ => String::new(),
    }
}

/// Gives each edge of a step the edges before it, and answers the further work tables that this takes.
pub(super) fn count_once(steps: &mut [StepView]) -> Vec<TwinView> {
    let mut twins = Vec::new();
    for step in steps {
        let before = step.edges.clone();
        for (index, edge) in step.edges.iter_mut().enumerate() {
            let mut named = vec![&edge.keys_of_rows];
            for EdgeView {
                column,
                keys_of_rows: of,
                via,
                none,
                ..
            } in &before[..index]
            {
                let times = named.iter().filter(|known| **known == of).count();
                named.push(of);
                let keys = match times {
                    0 => of.clone(),
                    _ => format!("{of}_{}", times + 1),
                };
                if times > 0 {
                    twins.push(TwinView {
                        work: keys.clone(),
                        of: of.clone(),
                    });
                }
                edge.others.push(OtherView {
                    column: column.clone(),
                    keys,
                    via: via
                        .as_ref()
                        .map(|via| via.of(&format!("p{}", edge.others.len() + 1))),
                    none: none.clone(),
                });
            }
        }
    }
    twins.sort();
    twins.dedup();
    twins
}

pub(super) fn artifact_view(
    graph: &Graph,
    rule: &Rule,
    artifact: &Artifact,
    dialect: Dialect,
) -> ArtifactView {
    let table = graph.table(artifact.table);
    let column = table
        .parents()
        .find(|edge| edge.parent == rule.root && edge.names_key(graph))
        .map_or(&table.key[0].name, |edge| &edge.column.name);
    ArtifactView {
        table: dialect.qualified(home(graph, dialect), &table.name),
        table_name: escaped(dialect, &table.name),
        column: dialect.ident(column),
        host: artifact.host.as_ref().map_or("NULL".to_owned(), |host| {
            format!("t.{}", dialect.ident(host))
        }),
        path: dialect.ident(&artifact.path),
    }
}

pub(super) fn field_view(
    graph: &Graph,
    purge: &Purge,
    field: &ReportField,
    dialect: Dialect,
) -> FieldView {
    let position = |id: TableId| {
        purge
            .steps
            .iter()
            .position(|step| step.table == id)
            .map_or(0, |index| index + 1)
    };
    if dialect != Dialect::Postgres {
        return FieldView {
            name: dialect.text(&field.name),
            // Variables of the same names in both documents, each with a number or a JSON text.
            value: match &field.figure {
                Figure::Families => "v_families".to_owned(),
                Figure::Table(id) => {
                    format!(
                        "JSON_VALUE(v_rows, '$[{}]')",
                        position(*id).saturating_sub(1)
                    )
                }
                Figure::OldestEndTime | Figure::SampleRoots if field.document == Document::Run => {
                    "NULL".to_owned()
                }
                Figure::DurationMs if field.document == Document::Preview => "NULL".to_owned(),
                Figure::OldestEndTime => "v_oldest".to_owned(),
                Figure::SampleRoots => "v_samples".to_owned(),
                Figure::Skipped => "v_skipped".to_owned(),
                Figure::SkippedFamilies => "v_skips".to_owned(),
                Figure::DryRun => "v_dry_run".to_owned(),
                Figure::ArtifactFailures => "v_artifact_failures".to_owned(),
                Figure::DurationMs => "v_duration".to_owned(),
            },
        };
    }
    let failures = format!(
        "(SELECT count(*) FROM {}.artifact AS a WHERE a.last_error IS NOT NULL)",
        control_name(graph)
    );
    let value = match (field.document, &field.figure) {
        (Document::Preview, Figure::Families) => "v_families".to_owned(),
        (Document::Preview, Figure::Table(id)) => format!("v_rows[{}]", position(*id)),
        (Document::Preview, Figure::OldestEndTime) => "v_oldest".to_owned(),
        (Document::Preview, Figure::SampleRoots) => "v_samples".to_owned(),
        (Document::Preview, Figure::Skipped) => "v_skipped".to_owned(),
        (Document::Preview, Figure::SkippedFamilies) => "v_skips".to_owned(),
        (Document::Preview, Figure::DryRun) => "true".to_owned(),
        (Document::Preview, Figure::ArtifactFailures) => failures,
        (Document::Run, Figure::Families) => "f.families".to_owned(),
        (Document::Run, Figure::Table(id)) => format!(
            "f.table_rows[array_position(f.table_names, {})]",
            dialect.text(&graph.table(*id).name)
        ),
        (Document::Run, Figure::Skipped) => "f.skipped".to_owned(),
        (Document::Run, Figure::SkippedFamilies) => "f.skips".to_owned(),
        (Document::Run, Figure::DryRun) => "f.dry_run".to_owned(),
        (Document::Run, Figure::ArtifactFailures) => "f.artifact_failures".to_owned(),
        (Document::Run, Figure::DurationMs) => "f.duration_ms".to_owned(),
        (Document::Preview, Figure::DurationMs)
        | (Document::Run, Figure::OldestEndTime | Figure::SampleRoots) => "NULL".to_owned(),
    };
    FieldView {
        name: dialect.text(&field.name),
        value,
    }
}
