//! The view of one rule.

use std::collections::BTreeSet;

use super::edges::{EdgeView, OtherView, between, edge_view, members};
use super::marks::own;
use super::names::{
    control_name, dated, escaped, finite, id_type, local, near, present, table_name, time_of, told,
    typed, variable, work_table,
};
use super::rules::{by_calendar, time_name};
use super::source::as_text;
use super::views::{
    ArtifactView, CollectView, CopyView, LinkView, OverView, RootView, RuleView, ScopeView,
    StepView, StrategyView, TimesView,
};
use super::works::WorkView;
use super::{
    above, archive, cascade, document, edges, held, keeps, kept, last, left, newest, raw, releases,
    single, source, timed,
};
use crate::dialect::Dialect;
use crate::graph::{
    Artifact, Column, Condition, Edge, Epoch, Graph, Kind, Last, Link, Rule, Shared, Strategy,
    TableId,
};
use crate::plan::{self, Purge, Step};

pub(super) fn rule_view(graph: &Graph, purge: &Purge, dialect: Dialect) -> RuleView {
    let rule = &graph.rules[purge.rule];
    let mut steps: Vec<StepView> = purge
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| step_view(graph, purge, index + 1, step, dialect))
        .collect();
    let copies = count_once(&mut steps);
    let meets = keeps::meets(graph, purge, dialect);
    let collects: Vec<CollectView> = purge
        .collects
        .iter()
        .map(|id| collect_view(graph, purge, &steps, *id, dialect))
        .collect();
    let strategy = match &rule.strategy {
        Strategy::EndTime => StrategyView::EndTime,
        Strategy::Timed(timed) => StrategyView::Timed(timed::view(graph, rule, timed, dialect)),
        Strategy::Single(single) => {
            StrategyView::Single(single::view(graph, rule, single, dialect))
        }
    };
    let root = root_view(graph, purge, dialect);
    let source = source::view(graph, rule, dialect);
    RuleView {
        literal: dialect.text(&rule.name),
        level_columns: level_columns(purge, rule, &root, dialect),
        types: types(rule, &root, &strategy, dialect),
        root,
        scope: scope_view(graph, rule, dialect),
        times: times_view(graph, rule, source.as_ref(), dialect),
        source,
        document: document::of_rule(graph, purge, &strategy, dialect),
        between: document::has_collects(graph, purge, dialect),
        sifts: steps
            .iter()
            .any(|step| step.edges.iter().any(|edge| !edge.sifted.is_empty())),
        unlocked: collects
            .iter()
            .any(|it| !it.naming.is_empty() || !(it.locks || it.always)),
        closed: rule.shared == Shared::Closed,
        links: rule
            .hierarchy
            .iter()
            .map(|link| link_view(graph, link, dialect))
            .collect(),
        over: rule.hierarchy.iter().any(|link| link.over.is_some()),
        linked: !rule.hierarchy.is_empty() || !meets.is_empty(),
        uppers: rule
            .links_within()
            .map(|link| dialect.ident(&link.parent.name))
            .collect(),
        zeros: vec!["0"; purge.steps.len()].join(", "),
        cascading: left::parents(graph, purge, &steps, dialect),
        locks: steps.iter().any(|step| !step.found.is_empty()),
        steps,
        keeps: keeps::keeps(graph, purge, dialect),
        middles: keeps::middles(graph, purge)
            .into_iter()
            .map(|id| dialect.text(&graph.table(id).name))
            .collect(),
        bound: above::of_many(graph, rule, dialect),
        ways_of_keeps: keeps::ways(graph, purge, dialect),
        further: collects
            .iter()
            .filter(|collect| collect.joined)
            .map(|collect| collect.work.as_str())
            .chain(copies.iter().map(|copy| copy.work.as_str()))
            .collect::<Vec<_>>()
            .join(",\n"),
        meets,
        newest: newest::views(graph, rule, dialect),
        collects,
        copies,
        artifacts: rule
            .artifacts
            .iter()
            .map(|artifact| artifact_view(graph, rule, artifact, dialect))
            .collect(),
        held: held::view(graph, purge.rule, rule, dialect),
        archives: !rule.archive.is_empty(),
        releases: !purge.releases.is_empty(),
        archive: archive::view(graph, rule, rule.root, dialect),
        strategy,
        name: rule.name.clone(),
    }
}

/// What links a member to those above it.
fn link_view(graph: &Graph, link: &Link, dialect: Dialect) -> LinkView {
    let parent = dialect.ident(&link.parent.name);
    let over = link.over.as_ref().map(|over| OverView {
        table: table_name(graph, dialect, &graph.table(over.table).name),
        key: dialect.ident(&over.key.name),
        names: dialect.ident(&over.names.name),
    });
    // A query of its own for each row is looked up by the key, whatever the planner thinks of a join.
    let upper = |row: &str| match (&over, dialect) {
        (None, _) => format!("{row}.{parent}"),
        (Some(OverView { table, key, names }), Dialect::Postgres) => {
            format!("(SELECT v.{names} FROM {table} AS v WHERE v.{key} = {row}.{parent})")
        }
        (Some(over), Dialect::Mysql | Dialect::Mariadb) => format!("v.{}", over.names),
    };
    let those = match &over {
        None => "o_ids".to_owned(),
        Some(OverView { table, key, names }) => {
            format!("ARRAY(SELECT v.{key} FROM {table} AS v WHERE v.{names} = ANY (o_ids))")
        }
    };
    LinkView {
        table: table_name(graph, dialect, &graph.table(link.table).name),
        child: dialect.ident(&link.child.name),
        upper: upper("l"),
        upper_of_n: upper("n"),
        below: format!("l.{parent} = ANY ({those})"),
        over,
        parent,
    }
}

/// What the work tables of the kernel have their types from.
fn types(rule: &Rule, root: &RootView, strategy: &StrategyView, dialect: Dialect) -> WorkView {
    let key = |name: &str| (name.to_owned(), root.key.clone());
    match strategy {
        StrategyView::EndTime => {
            let per = rule.retention.per.as_ref();
            let scope = per.map_or(String::new(), |column| dialect.ident(&column.name));
            let columns = vec![key("id"), key("root_id"), ("scope".to_owned(), scope)];
            WorkView::types(&root.table, columns, &[])
        }
        StrategyView::Timed(_) => WorkView::types(&root.table, vec![key("id")], &[]),
        StrategyView::Single(single) => single.types(&root.table),
    }
}

/// The root table.
fn root_view(graph: &Graph, purge: &Purge, dialect: Dialect) -> RootView {
    let rule = &graph.rules[purge.rule];
    let root = graph.table(rule.root);
    let key = &root.key[0];
    let all = |conditions: &[String]| match conditions {
        [] => "true".to_owned(),
        said => format!("({}) IS TRUE", said.join(" AND ")),
    };
    let raw = raw::condition(graph, rule, "i", dialect);
    let finals = conditions_of(&rule.r#final, dialect);
    let finals: Vec<String> = finals.into_iter().chain(raw.clone()).collect();
    RootView {
        raw: rule.where_sql.clone().unwrap_or_default(),
        table: table_name(graph, dialect, &root.name),
        table_name: escaped(dialect, &root.name),
        key: dialect.ident(&key.name),
        key_name: escaped(dialect, &key.name),
        key_type: dialect.kind(key.kind),
        id_type: id_type(dialect, purge.id_kind, purge.linked),
        key_cast: match dialect {
            Dialect::Postgres => format!("::{}", dialect.kind(key.kind)),
            Dialect::Mysql | Dialect::Mariadb => String::new(),
        },
        key_sorts: match key.kind {
            Kind::Varchar | Kind::Char => " COLLATE \"default\"",
            _ => "",
        },
        key_of_hold: typed(key.kind, "h.`key`"),
        key_told: told(key.kind, &format!("i.{}", dialect.ident(&key.name))),
        end_time: dialect.ident(&rule.end_time.name),
        end_time_name: escaped(dialect, &time_name(graph, rule)),
        ended: ended(rule, dialect),
        dated: dated(rule, &ended(rule, dialect), dialect),
        time: match rule.epoch {
            Some(_) => format!("i.{}", dialect.ident(&rule.end_time.name)),
            None => ended(rule, dialect),
        },
        numbered: rule.epoch.and_then(Epoch::per_second).is_some(),
        number_of: number_of(rule, dialect),
        ended_name: match (&rule.otherwise, &rule.last) {
            (None, None) if rule.epoch.is_none() => dialect.ident(&rule.end_time.name),
            _ => "ended".to_owned(),
        },
        otherwise: rule.otherwise.is_some(),
        last: last::view(graph, rule, dialect),
        start_name: escaped(dialect, &rule.end_time.name),
        along: match rule.last {
            Some(_) => "started",
            None => "ended",
        },
        is_final: all(&finals),
        is_root: all(&conditions_of(&rule.candidates, dialect)),
        candidates: conditions_of(&rule.candidates, dialect),
        eligible: if rule.drops_partitions()
            || !rule.by_end() && rule.candidates.is_empty() && raw.is_none()
        {
            vec!["true".to_owned()]
        } else {
            let eligible = conditions_of(&plan::eligible(rule), dialect);
            eligible.into_iter().chain(raw.clone()).collect()
        },
    }
}

/// Conditions on row `i`.
fn conditions_of(conditions: &[Condition], dialect: Dialect) -> Vec<String> {
    conditions
        .iter()
        .map(|condition| dialect.condition_of("i", condition))
        .collect()
}

/// The scope of row `i`, by which what policies and definitions say is compared, with room for more than its column has: what that
/// could not hold is the scope of no row, and no error.
fn roomy(per: &Column, dialect: Dialect) -> String {
    let column = format!("i.{}", dialect.ident(&per.name));
    match per.kind {
        // The text has the collation of the column. A policy is no longer.
        Kind::Varchar | Kind::Char => format!("CONCAT({column}, SPACE(255))"),
        Kind::Smallint | Kind::Integer | Kind::Bigint | Kind::Numeric => {
            format!("CAST({column} AS DECIMAL(65))")
        }
        Kind::Uuid | Kind::Bytea | Kind::Timestamp | Kind::Timestamptz => column,
    }
}

/// The scopes.
fn scope_view(graph: &Graph, rule: &Rule, dialect: Dialect) -> ScopeView {
    let per = rule.retention.per.as_ref();
    let written = per
        .map(|column| dialect.ident(&column.name))
        .unwrap_or_default();
    let text_of = |row: &str| {
        let text = per.filter(|_| dialect == Dialect::Postgres);
        text.map_or("NULL::text".to_owned(), |column| {
            as_text(row, column, dialect)
        })
    };
    let spelled = per.is_some_and(|column| column.kind == Kind::Varchar);
    let table = table_name(graph, dialect, &graph.table(rule.root).name);
    let no_scope = format!("(SELECT r.{written}::text FROM {table} AS r WHERE false)");
    let collated = |scope: &str| match spelled {
        true => format!("coalesce({no_scope}, {scope})"),
        false => scope.to_owned(),
    };
    let of_root = collated("i.o_scope");
    ScopeView {
        per_name: per
            .map(|column| escaped(dialect, &column.name))
            .unwrap_or_default(),
        scope_type: per.map_or("text", |column| dialect.kind(column.kind)),
        text_of_m: text_of("m.scope"),
        text_of_i: text_of(&format!("i.{written}")),
        text_of_root: text_of(&of_root),
        of_root,
        scope_of_s: collated("s.scope"),
        per: written,
        spelled,
        opt_in: rule.retention.listed(),
        roomy: per.map_or(String::new(), |per| roomy(per, dialect)),
        scope_of_policy: match per {
            Some(per) if per.kind == Kind::Bytea => typed(per.kind, "p.scope"),
            _ => "p.scope".to_owned(),
        },
        is_policy: per.map_or(String::new(), |per| {
            let column = format!("{}.{}", graph.table(rule.root).name, per.name);
            let column = match dialect {
                Dialect::Postgres => column,
                Dialect::Mysql | Dialect::Mariadb => column.to_lowercase(),
            };
            let (rule, column) = (dialect.text(&rule.name), dialect.text(&column));
            format!("p.rule = {rule} AND (p.refers_to = {column}) IS NOT FALSE")
        }),
    }
}

/// The times and the cutoffs.
fn times_view(
    graph: &Graph,
    rule: &Rule,
    source: Option<&source::SourceView>,
    dialect: Dialect,
) -> TimesView {
    let kind = rule.end_time.kind;
    let zoned = kind == Kind::Timestamptz;
    let (minimum, lag) = (rule.retention.minimum, rule.retention.safety_lag);
    let time_zone = if zoned {
        String::new()
    } else {
        format!(" AT TIME ZONE {}", dialect.text(&graph.time_zone))
    };
    // On PostgreSQL. On MySQL and MariaDB the kernel counts them.
    let cutoff = |retention: &str| {
        let seconds = format!("greatest({retention}, {minimum}) + {lag}");
        if by_calendar(graph, rule) {
            let (control, zone) = (control_name(graph), dialect.text(&graph.time_zone));
            let before = own(&format!(
                "{control}.calendar_before(p_as_of, {seconds}, {zone})"
            ));
            format!("{before}{time_zone}")
        } else {
            format!("(p_as_of - make_interval(secs => {seconds})){time_zone}")
        }
    };
    // Asked once in a statement, however many policies follow the spec.
    let default = format!(
        "{}.default_of({})",
        control_name(graph),
        dialect.text(&rule.name)
    );
    // The call of `calendar_before` is marked as a whole.
    let default = match by_calendar(graph, rule) {
        true => default,
        false => own(&default),
    };
    // What a family without a retention is measured by.
    let left = rule.retention.default.unwrap_or(minimum);
    // What a number says is in UTC, whatever the session of a view shows.
    let now = match rule.epoch {
        Some(_) => present(Kind::Timestamp),
        None => present(kind),
    };
    let cutoff_now = |retention: &str| {
        let before = format!("{now} - INTERVAL GREATEST({retention}, {minimum}) + {lag} SECOND");
        local(graph, kind, &before)
    };
    TimesView {
        time_type: dialect.kind(kind),
        zoned,
        in_utc: if zoned { " AT TIME ZONE 'UTC'" } else { "" },
        greatest_time: if zoned && rule.epoch.is_none() {
            "'2038-01-19 03:14:07'"
        } else {
            "'9999-12-31 23:59:59'"
        },
        minimum,
        safety_lag: lag,
        cutoff_of_policy: cutoff(&format!(
            "coalesce(p_retention, p.retention_seconds, (SELECT {default}))"
        )),
        seconds_of_policy: match rule.retention.default {
            Some(default) => format!("COALESCE(p.retention_seconds, {default})"),
            None => "p.retention_seconds".to_owned(),
        },
        cutoff_of_source: source.map_or(String::new(), |source| {
            cutoff(&format!("coalesce(p_retention, {})", source.seconds))
        }),
        // The kernel knows the default, so that it is written once.
        cutoff_of_default: cutoff(&format!(
            "coalesce(p_retention, {}.retention_of({}))",
            control_name(graph),
            dialect.text(&rule.name)
        )),
        now_here: local(graph, kind, now),
        cutoff_now: cutoff_now("s.seconds"),
        cutoff_now_either: format!(
            "IF(s.scope IS NULL, {}, {})",
            cutoff_now(&left.to_string()),
            cutoff_now("s.seconds")
        ),
        cutoff_now_default: match rule.timed() {
            // The stored time holds the retention already.
            Some(timed) if timed.retention == 0 => {
                local(graph, kind, &format!("{now} - INTERVAL {lag} SECOND"))
            }
            _ => cutoff_now(&left.to_string()),
        },
        cutoff_now_minimum: cutoff_now(&minimum.to_string()),
    }
}

/// What is read of each instance of a family, on PostgreSQL.
fn level_columns(purge: &Purge, rule: &Rule, root: &RootView, dialect: Dialect) -> String {
    let ended = match &rule.last {
        None if root.numbered => root.ended.clone(),
        None => finite(dialect, &root.ended),
        Some(last) => fallback_end(last, dialect),
    };
    let mut columns = vec![
        format!("i.{}::{} AS id", root.key, dialect.kind(purge.id_kind)),
        format!("{} AS final", root.is_final),
        format!("{} AS root", root.is_root),
        format!("{ended} AS ended"),
    ];
    let per = rule.retention.per.as_ref();
    columns.extend(per.map(|column| format!("i.{} AS scope", dialect.ident(&column.name))));
    columns.join(", ")
}

/// One deletion of a family.
fn step_view(
    graph: &Graph,
    purge: &Purge,
    position: usize,
    step: &Step,
    dialect: Dialect,
) -> StepView {
    let rule = &graph.rules[purge.rule];
    let table = graph.table(step.table);
    let edges = if step.edges.is_empty() {
        vec![EdgeView {
            column: dialect.ident(&graph.table(rule.root).key[0].name),
            ..members(rule, dialect)
        }]
    } else {
        let edges = step.edges.iter();
        edges
            .map(|edge| {
                let view = edge_view(graph, rule, edge, dialect);
                let sifted = sifted(graph, purge, step, edge, dialect);
                match view.via {
                    Some(_) => view,
                    None => EdgeView { sifted, ..view },
                }
            })
            .map(|edge| kept::spared(graph, step.table, edge, dialect))
            .collect()
    };
    let listed = edges::collected(graph, step.table, dialect);
    StepView {
        position,
        table: table_name(graph, dialect, &table.name),
        table_literal: dialect.text(&table.name),
        why: step.why.clone() + kept::why(graph, step.table, &step.edges),
        spares: !kept::why(graph, step.table, &step.edges).is_empty(),
        releases: releases::views(graph, purge, step.table, dialect),
        taken: kept::taken(graph, purge, step, &edges, listed, dialect),
        key: table
            .key
            .first()
            .map_or(String::new(), |key| dialect.ident(&key.name)),
        collected: collected(graph, purge, step),
        locked: kept::locked(graph, purge, step.table),
        found: kept::found(
            graph,
            purge,
            step.table,
            &naming(graph, purge, step.table, dialect),
        ),
        archive: archive::view(graph, rule, step.table, dialect),
        cascade: cascade::view(rule, step, dialect),
        edges,
    }
}

/// How many tables must name the members before a batch asks of each which it names: it saves a batch of 500 families a tenth of a
/// millisecond for each table, and adds a line or two that a person reads.
const SIFTED: usize = 5;

/// The type of the members where a batch on PostgreSQL asks first which of them an edge's rows name.
fn sifted(
    graph: &Graph,
    purge: &Purge,
    step: &Step,
    edge: &Edge,
    dialect: Dialect,
) -> &'static str {
    let rule = &graph.rules[purge.rule];
    let leaf = |step: &Step| !purge.collects.contains(&step.table);
    let named = |edge: &&Edge| edge.parent == rule.root;
    let leaves = purge.steps.iter().filter(|step| leaf(step));
    let asks = dialect == Dialect::Postgres
        && rule.by_end()
        && near(graph, rule.root)
        && leaf(step)
        && named(&edge)
        && leaves.flat_map(|step| &step.edges).filter(named).count() >= SIFTED;
    match asks {
        true => id_type(dialect, purge.id_kind, purge.linked),
        false => "",
    }
}

/// A table whose keys a batch collects, as rows of others are found through them.
fn collect_view(
    graph: &Graph,
    purge: &Purge,
    steps: &[StepView],
    id: TableId,
    dialect: Dialect,
) -> CollectView {
    let rule = &graph.rules[purge.rule];
    let table = graph.table(id);
    CollectView {
        variable: variable(graph, id),
        made: WorkView::keys(
            &work_table(graph, id),
            &table_name(graph, dialect, &table.name),
            &dialect.ident(&table.key[0].name),
            String::new(),
        ),
        work: work_table(graph, id),
        key: dialect.ident(&table.key[0].name),
        key_type: dialect.kind(table.key[0].kind),
        table: table_name(graph, dialect, &table.name),
        table_literal: dialect.text(&table.name),
        edges: table
            .parents()
            .filter(|edge| rule.order.contains(&edge.parent))
            .map(|edge| edge_view(graph, rule, edge, dialect))
            .map(|edge| kept::spared(graph, id, edge, dialect))
            .collect(),
        locks: kept::is_listed(graph, purge, id),
        referenced: kept::is_referenced(graph, id),
        always: is_always_locked(graph, purge, steps, id),
        naming: naming(graph, purge, id, dialect),
        joined: between(graph, rule, id, dialect).is_some(),
        locked: kept::locked(graph, purge, id),
        users: left::users(graph, purge, steps, id),
    }
}

/// Whether the rows of a table that a batch collects are locked even where no foreign key refers to them: how many it deletes says
/// nothing of them, as it deletes them by these keys, or leaves them to a foreign key.
fn is_always_locked(graph: &Graph, purge: &Purge, steps: &[StepView], id: TableId) -> bool {
    let mut own = purge.steps.iter().zip(steps);
    kept::is_referenced(graph, id)
        && own.any(|(step, view)| {
            step.table == id && (!view.collected.is_empty() || view.cascade.is_some())
        })
}

/// That row `t` of a collected table names rows of others, where nothing else is asked of the keys.
fn naming(graph: &Graph, purge: &Purge, id: TableId, dialect: Dialect) -> String {
    let of_all = kept::is_listed(graph, purge, id) || kept::is_referenced(graph, id);
    let mut own = purge.steps.iter().filter(|step| step.table == id);
    let below = purge.steps.iter().flat_map(|step| &step.edges);
    let below = below.chain(purge.releases.iter().map(|it| &it.edge));
    let below: Vec<&Edge> = below.filter(|edge| edge.parent == id).collect();
    if of_all
        || own.any(|step| !collected(graph, purge, step).is_empty())
        || below.iter().any(|edge| edge.names_key(graph))
    {
        return String::new();
    }
    let columns = below
        .iter()
        .map(|edge| format!("t.{}", dialect.ident(&edge.parent_column.name)));
    let columns: BTreeSet<String> = columns.collect();
    let columns: Vec<String> = columns.into_iter().collect();
    format!(" AND num_nonnulls({}) > 0", columns.join(", "))
}

/// What precedes an instant and after it where it becomes what the time of the rule is compared with.
fn number_of(rule: &Rule, dialect: Dialect) -> (String, String) {
    const INSTANT: &str = "{}";
    let number = rule.epoch.map(|epoch| dialect.number(INSTANT, epoch));
    let around = number.as_deref().and_then(|it| it.split_once(INSTANT));
    let (before, behind) = around.unwrap_or_default();
    (before.to_owned(), behind.to_owned())
}

/// When row `i` of the root table ended.
pub(super) fn ended(rule: &Rule, dialect: Dialect) -> String {
    let time = time_of(rule, "i", &rule.end_time, dialect);
    match &rule.otherwise {
        None => time,
        Some(other) => format!("coalesce({time}, i.{})", dialect.ident(&other.name)),
    }
}

/// The end of row `i` of the root table where its rows of another table do not say it.
pub(super) fn fallback_end(last: &Last, dialect: Dialect) -> String {
    match &last.otherwise {
        Some(column) => finite(dialect, &format!("i.{}", dialect.ident(&column.name))),
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
                && purge.collects.contains(&step.table)
                && kept::is_referenced(graph, step.table) =>
        {
            variable(graph, step.table)
        }
        [_, ..] if kept::is_listed(graph, purge, step.table) => variable(graph, step.table),
        _ => String::new(),
    }
}

/// Gives each edge of a step the edges before it, and answers the further work tables that this takes.
pub(super) fn count_once(steps: &mut [StepView]) -> Vec<CopyView> {
    let mut copies = Vec::new();
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
                    copies.push(CopyView {
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
    copies.sort();
    copies.dedup();
    copies
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
        .map_or_else(|| &table.key[0].name, |edge| &edge.column.name);
    ArtifactView {
        table: table_name(graph, dialect, &table.name),
        table_name: escaped(dialect, &table.name),
        column: dialect.ident(column),
        host: artifact.host.as_ref().map_or("NULL".to_owned(), |host| {
            format!("t.{}", dialect.ident(host))
        }),
        path: dialect.ident(&artifact.path),
        kept: match artifact.table == rule.root {
            true => String::new(),
            false => kept::unless(graph, artifact.table, "t", dialect),
        },
    }
}
