//! Where the plan and a dialect meet: views for the templates, and the files that come of them. The only file that
//! names `tera`.

use anyhow::{Context as _, Result};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::bundle::{Bundle, File, Probe, Statement};
use crate::dialect::Dialect;
use crate::graph::{
    Artifact, Document, Edge, Figure, Graph, Kind, ReportField, Rule, Shared, TableId,
};
use crate::plan::{self, IndexNeed, Plan, Purge};

/// The template sources, by dialect folder and file name.
const TEMPLATES: &[(&str, &str, &str)] = &[
    (
        "postgres",
        "10_control.sql",
        include_str!("../templates/postgres/10_control.sql"),
    ),
    (
        "postgres",
        "20_indexes.sql",
        include_str!("../templates/postgres/20_indexes.sql"),
    ),
    (
        "postgres",
        "30_rule.sql",
        include_str!("../templates/postgres/30_rule.sql"),
    ),
    (
        "postgres",
        "40_run.sql",
        include_str!("../templates/postgres/40_run.sql"),
    ),
    (
        "postgres",
        "50_grants.sql",
        include_str!("../templates/postgres/50_grants.sql"),
    ),
    (
        "postgres",
        "60_schedule.sql",
        include_str!("../templates/postgres/60_schedule.sql"),
    ),
    (
        "postgres",
        "90_uninstall.sql",
        include_str!("../templates/postgres/90_uninstall.sql"),
    ),
    (
        "postgres",
        "verify.sql",
        include_str!("../templates/postgres/verify.sql"),
    ),
];

/// The routines that an auditor may call: they read.
const AUDITOR_ROUTINES: &[&str] = &["preview", "verify", "run_result", "orphans"];

/// The routines that an operator may call besides.
const OPERATOR_ROUTINES: &[&str] = &[
    "run",
    "run_begin",
    "run_end",
    "purge",
    "purge_begin",
    "purge_end",
    "check_rule",
    "pause",
    "resume",
    "arm",
    "set_policy",
    "drop_policy",
    "set_hold",
    "release_hold",
    "set_setting",
    "claim_artifacts",
    "finish_artifact",
];

/// The name of the control schema of a spec.
pub fn control_name(graph: &Graph) -> String {
    format!("windrow_{}", graph.name.replace(['-', '.'], "_"))
}

/// All files of a spec for a dialect.
///
/// # Errors
///
/// Fails only where a template is broken: the message names it.
pub fn bundle(graph: &Graph, dialect: Dialect) -> Result<Bundle> {
    let plan = plan::make(graph);
    let folder = dialect.facts().folder;
    let mut tera = tera::Tera::default();
    tera.autoescape_on(Vec::new());
    for (dialect_folder, name, source) in TEMPLATES {
        if *dialect_folder == folder {
            tera.add_raw_template(name, source)
                .with_context(|| format!("cannot read the template `{folder}/{name}`"))?;
        }
    }
    let mut view = spec_view(graph, &plan, dialect);
    // The routines are listed by verify(), which is one of them: render once to learn their names, then for good.
    let draft = files(graph, &tera, folder, &view)?;
    view.routines = draft
        .iter()
        .flat_map(|file| &file.statements)
        .filter_map(|statement| routine(&statement.what))
        .map(|name| dialect.text(name))
        .collect();
    view.routines.sort();
    Ok(Bundle {
        control: view.control.clone(),
        files: files(graph, &tera, folder, &view)?,
    })
}

/// The statements of the generated routines with literals in place of variables, for EXPLAIN.
pub fn probes(graph: &Graph, dialect: Dialect) -> Vec<Probe> {
    let plan = plan::make(graph);
    let mut probes = Vec::new();
    for purge in &plan.purges {
        let rule = &graph.rules[purge.rule];
        let view = rule_view(graph, purge, dialect);
        let root = &graph.table(rule.root).name;
        let scope = if rule.retention.per.is_some() && rule.retention.opt_in {
            format!("i.{} = 1 AND ", view.per)
        } else {
            String::new()
        };
        probes.push(Probe {
            what: format!("rule {}: the next roots, oldest first", rule.name),
            table: root.clone(),
            sql: format!(
                "SELECT i.{key} FROM {table} AS i WHERE {scope}i.{end} < '2000-01-01' AND (i.{end}, i.{key}) > ('-infinity', {first}) AND {eligible} ORDER BY i.{end}, i.{key} LIMIT 100",
                key = view.key, table = view.table, end = view.end_time, first = view.first_key, eligible = view.eligible.join(" AND ")
            ),
        });
        let keys = |kind: Kind| match kind {
            Kind::Uuid => "'{00000000-0000-0000-0000-000000000001}'::uuid[]".to_owned(),
            Kind::Varchar => "'{a,b}'::text[]".to_owned(),
            _ => format!("'{{1,2,3}}'::{}[]", dialect.kind(kind)),
        };
        probes.push(Probe {
            what: format!("rule {}: lock the members", rule.name),
            table: root.clone(),
            sql: format!("SELECT i.{key} FROM {table} AS i WHERE i.{key} = ANY ({ids}) ORDER BY i.{key} FOR UPDATE SKIP LOCKED", key = view.key, table = view.table, ids = keys(purge.id_kind)),
        });
        for step in &purge.steps {
            let table = graph.table(step.table);
            let name = dialect.qualified(&graph.schema, &table.name);
            let columns: Vec<(String, Kind)> = if step.edges.is_empty() {
                vec![(view.key.clone(), purge.id_kind)]
            } else {
                step.edges
                    .iter()
                    .map(|edge| {
                        (
                            dialect.ident(&edge.column.name),
                            if edge.parent == rule.root {
                                purge.id_kind
                            } else {
                                edge.parent_column.kind
                            },
                        )
                    })
                    .collect()
            };
            for (column, kind) in columns {
                probes.push(Probe {
                    what: format!("rule {}: delete from {} by {column}", rule.name, table.name),
                    table: table.name.clone(),
                    sql: format!(
                        "DELETE FROM {name} AS t WHERE t.{column} = ANY ({})",
                        keys(kind)
                    ),
                });
            }
        }
    }
    probes
}

fn files(graph: &Graph, tera: &tera::Tera, folder: &str, view: &SpecView) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let mut add =
        |template: &str, name: &str, purpose: &str, context: &tera::Context| -> Result<()> {
            let body = tera
                .render(template, context)
                .with_context(|| format!("cannot render the template `{folder}/{template}`"))?;
            files.push(file(
                graph,
                format!("{}/{folder}/{name}", graph.name),
                purpose,
                &body,
            ));
            Ok(())
        };
    let context = tera::Context::from_serialize(view)?;
    add(
        "10_control.sql",
        "10_control.sql",
        "the control schema: policies, holds, settings and the ledger",
        &context,
    )?;
    add(
        "20_indexes.sql",
        "20_indexes.sql",
        "the indexes that the statements need and the application lacks",
        &context,
    )?;
    for rule in &view.rules {
        let mut context = context.clone();
        context.insert("rule", rule);
        add(
            "30_rule.sql",
            &format!("30_{}.sql", rule.name),
            &format!(
                "the rule {}: who may go, and the statements that delete",
                rule.name
            ),
            &context,
        )?;
    }
    add(
        "40_run.sql",
        "40_run.sql",
        "run, preview, purge, verify and what operates them",
        &context,
    )?;
    add(
        "50_grants.sql",
        "50_grants.sql",
        "the roles and their rights",
        &context,
    )?;
    add(
        "60_schedule.sql",
        "60_schedule.sql",
        "the schedule",
        &context,
    )?;
    add(
        "90_uninstall.sql",
        "90_uninstall.sql",
        "the undo of everything else; NOT part of an installation",
        &context,
    )?;
    add(
        "verify.sql",
        "verify.sql",
        "read-only checks, safe anywhere",
        &context,
    )?;
    Ok(files)
}

/// Cuts a rendered template at its marker lines: `--# what` before each statement, `--! what` before one that must
/// stand outside a transaction. `@body@` becomes the hash of the routine body before it.
fn file(graph: &Graph, path: String, purpose: &str, body: &str) -> File {
    let header = format!(
        "-- {}: {purpose}.\n-- Generated by windrow from the spec `{}`; edit the spec and run `windrow generate`.\n\n",
        path.rsplit('/').next().unwrap_or_default(),
        graph.name
    );
    let mut statements = Vec::new();
    let mut text = header;
    let mut hash = String::new();
    let mut open: Option<(String, bool, String)> = None;
    let mut close = |open: &mut Option<(String, bool, String)>| {
        if let Some((what, alone, chunk)) = open.take() {
            statements.push(Statement {
                what,
                sql: trim_statement(&chunk),
                alone,
            });
        }
    };
    for line in tidy(body).lines() {
        let marker = line
            .strip_prefix("--# ")
            .map(|what| (what, false))
            .or_else(|| line.strip_prefix("--! ").map(|what| (what, true)));
        if let Some((what, alone)) = marker {
            if let Some((_, _, chunk)) = &open
                && let Some(found) = body_hash(chunk)
            {
                hash = found;
            }
            close(&mut open);
            open = Some((what.to_owned(), alone, String::new()));
            continue;
        }
        let line = line.replace("@body@", &hash);
        text.push_str(&line);
        text.push('\n');
        if let Some((_, _, chunk)) = &mut open {
            chunk.push_str(&line);
            chunk.push('\n');
        }
    }
    close(&mut open);
    File {
        path,
        statements,
        text: tidy(&text),
    }
}

/// The first twelve hex digits of the SHA-256 of a routine's body, as verify() computes it from the catalog.
fn body_hash(sql: &str) -> Option<String> {
    let body = sql.split("$windrow$").nth(1)?;
    Some(
        Sha256::digest(body.as_bytes())
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    )
}

/// The name of the routine that a statement creates.
fn routine(what: &str) -> Option<&str> {
    let name = what
        .strip_prefix("create function ")
        .or_else(|| what.strip_prefix("create procedure "))?;
    name.split_once('.').map(|(_, name)| name)
}

/// A chunk without the comments that introduce the next one, and without the client's terminator.
fn trim_statement(chunk: &str) -> String {
    let mut lines: Vec<&str> = chunk.lines().collect();
    while lines
        .last()
        .is_some_and(|line| line.trim().is_empty() || line.starts_with("--"))
    {
        lines.pop();
    }
    lines.join("\n").trim().trim_end_matches(';').to_owned()
}

/// Trims line ends, collapses runs of blank lines, ends with one newline.
fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut blank = true;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() && blank {
            continue;
        }
        blank = line.is_empty();
        tidied.push_str(line);
        tidied.push('\n');
    }
    while tidied.ends_with("\n\n") {
        tidied.pop();
    }
    tidied
}

#[derive(Serialize)]
struct SpecView {
    control: String,
    control_literal: String,
    lock_class: i32,
    spec_literal: String,
    schema_comment: String,
    schema: String,
    schema_literal: String,
    zone: String,
    schedule: String,
    schedule_literal: String,
    rules: Vec<RuleView>,
    rule_literals: String,
    indexes: Vec<IndexView>,
    indexes_reversed: Vec<IndexView>,
    edges: Vec<OrphanView>,
    tables: Vec<TableView>,
    roots: Vec<RootView>,
    routines: Vec<String>,
    auditor_routines: Vec<String>,
    operator_routines: Vec<String>,
}

#[derive(Serialize)]
struct RuleView {
    name: String,
    literal: String,
    /// The quoted scope column, or empty.
    per: String,
    per_name: String,
    opt_in: bool,
    scope_type: &'static str,
    scope_pattern: String,
    time_type: &'static str,
    key_type: &'static str,
    id_type: &'static str,
    key_pattern: String,
    first_key: String,
    cutoff_of_policy: String,
    cutoff_of_default: String,
    cutoff_of_preview: String,
    age_of_oldest: String,
    retention: i64,
    minimum: i64,
    minimum_text: String,
    safety_lag: i64,
    batch_families: i64,
    run_families: i64,
    time_budget: i64,
    lock_timeout: i64,
    retries: i64,
    policy_comment: String,
    table: String,
    table_name: String,
    table_literal: String,
    table_list: String,
    key: String,
    key_name: String,
    end_time: String,
    end_time_name: String,
    candidates: Vec<String>,
    eligible: Vec<String>,
    closed: bool,
    links: Vec<LinkView>,
    level_columns: String,
    collects: Vec<CollectView>,
    steps: Vec<StepView>,
    zeros: String,
    artifacts: Vec<ArtifactView>,
    report_preview: Vec<FieldView>,
    report_run: Vec<FieldView>,
}

#[derive(Serialize)]
struct LinkView {
    table: String,
    parent: String,
    child: String,
}

#[derive(Serialize)]
struct CollectView {
    variable: String,
    key: String,
    key_type: &'static str,
    table: String,
    edges: Vec<EdgeView>,
}

#[derive(Serialize)]
struct StepView {
    position: usize,
    table: String,
    table_literal: String,
    /// The qualified name as a literal, to be cast to regclass.
    table_class: String,
    why: String,
    edges: Vec<EdgeView>,
}

/// A column and the variable with the keys that it is compared with: `keys` in the batch, `keys_of_rows` in the count.
#[derive(Serialize)]
struct EdgeView {
    column: String,
    keys: String,
    keys_of_rows: String,
}

#[derive(Serialize)]
struct ArtifactView {
    table: String,
    table_name: String,
    column: String,
    host: String,
    path: String,
}

#[derive(Serialize)]
struct FieldView {
    name: String,
    value: String,
}

#[derive(Serialize)]
struct OrphanView {
    literal: String,
    table: String,
    column: String,
    none: String,
    parent: String,
    parent_column: String,
}

#[derive(Serialize)]
struct TableView {
    name: String,
    table: String,
}

#[derive(Serialize)]
struct RootView {
    name: String,
    table: String,
    key: String,
}

#[derive(Serialize, Clone)]
struct IndexView {
    name: String,
    ident: String,
    literal: String,
    qualified: String,
    table: String,
    table_literal: String,
    columns: String,
    predicates: Vec<String>,
    why: String,
}

fn spec_view(graph: &Graph, plan: &Plan, dialect: Dialect) -> SpecView {
    let control = control_name(graph);
    let rules: Vec<RuleView> = plan
        .purges
        .iter()
        .map(|purge| rule_view(graph, purge, dialect))
        .collect();
    let indexes: Vec<IndexView> = plan
        .indexes
        .iter()
        .map(|index| index_view(graph, index, dialect))
        .collect();
    let mut tables: Vec<TableId> = plan
        .purges
        .iter()
        .flat_map(|purge| purge.steps.iter().map(|step| step.table))
        .collect();
    tables.sort();
    tables.dedup();
    let edges = tables
        .iter()
        .flat_map(|id| {
            graph
                .table(*id)
                .edges
                .iter()
                .map(|edge| orphan_view(graph, *id, edge, dialect))
        })
        .collect();
    let mut roots: Vec<TableId> = graph.rules.iter().map(|rule| rule.root).collect();
    roots.sort();
    roots.dedup();
    let per_rule = |suffixes: &[&str]| -> Vec<String> {
        graph
            .rules
            .iter()
            .flat_map(|rule| {
                suffixes
                    .iter()
                    .map(move |suffix| format!("{}_{suffix}", rule.name))
            })
            .collect()
    };
    SpecView {
        control_literal: dialect.text(&control),
        lock_class: lock_class(&control),
        spec_literal: dialect.text(&graph.name),
        schema_comment: dialect.text(&format!("windrow: retention of {}. Everything in here is generated from the spec `{}`, except the rows.", graph.title, graph.name)),
        schema: dialect.ident(&graph.schema),
        schema_literal: dialect.text(&dialect.ident(&graph.schema)),
        zone: escaped(&graph.time_zone),
        schedule: escaped(&graph.schedule),
        schedule_literal: dialect.text(&graph.schedule),
        rule_literals: graph.rules.iter().map(|rule| dialect.text(&rule.name)).collect::<Vec<_>>().join(", "),
        indexes_reversed: indexes.iter().rev().cloned().collect(),
        indexes,
        edges,
        tables: tables.iter().map(|id| TableView { name: escaped(&graph.table(*id).name), table: dialect.qualified(&graph.schema, &graph.table(*id).name) }).collect(),
        roots: roots
            .iter()
            .map(|id| graph.table(*id))
            .map(|table| RootView { name: escaped(&table.name), table: dialect.qualified(&graph.schema, &table.name), key: dialect.ident(&table.key[0].name) })
            .collect(),
        routines: Vec::new(),
        auditor_routines: AUDITOR_ROUTINES.iter().map(ToString::to_string).chain(per_rule(&["next", "scope"])).collect(),
        operator_routines: OPERATOR_ROUTINES.iter().map(ToString::to_string).chain(per_rule(&["step", "purge"])).collect(),
        rules,
        control,
    }
}

fn rule_view(graph: &Graph, purge: &Purge, dialect: Dialect) -> RuleView {
    let rule = &graph.rules[purge.rule];
    let root = graph.table(rule.root);
    let key = &root.key[0];
    let time_zone = match rule.end_time.kind {
        Kind::Timestamptz => String::new(),
        _ => format!(" AT TIME ZONE {}", dialect.text(&graph.time_zone)),
    };
    let cutoff = |retention: &str| {
        format!(
            "(p_as_of - make_interval(secs => greatest({retention}, {}) + {})){time_zone}",
            rule.retention.minimum, rule.retention.safety_lag
        )
    };
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
    let mut level_columns = vec![
        format!(
            "i.{}::{} AS id",
            dialect.ident(&key.name),
            dialect.kind(purge.id_kind)
        ),
        format!("{} AS final", all(finals)),
        format!("{} AS root", all(candidates.clone())),
        format!("i.{} AS ended", dialect.ident(&rule.end_time.name)),
    ];
    level_columns.extend(per.map(|column| format!("i.{} AS scope", dialect.ident(&column.name))));
    let steps = purge
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| StepView {
            position: index + 1,
            table: dialect.qualified(&graph.schema, &graph.table(step.table).name),
            table_literal: dialect.text(&graph.table(step.table).name),
            table_class: dialect
                .text(&dialect.qualified(&graph.schema, &graph.table(step.table).name)),
            why: step.why.clone(),
            edges: if step.edges.is_empty() {
                vec![EdgeView {
                    column: dialect.ident(&key.name),
                    keys: "o_members".to_owned(),
                    keys_of_rows: "p_members".to_owned(),
                }]
            } else {
                step.edges
                    .iter()
                    .map(|edge| edge_view(graph, rule, edge, dialect))
                    .collect()
            },
        })
        .collect();
    let collects = purge
        .collects
        .iter()
        .map(|id| {
            let table = graph.table(*id);
            CollectView {
                variable: variable(graph, *id),
                key: dialect.ident(&table.key[0].name),
                key_type: dialect.kind(table.key[0].kind),
                table: dialect.qualified(&graph.schema, &table.name),
                edges: table
                    .edges
                    .iter()
                    .filter(|edge| rule.order.contains(&edge.parent))
                    .map(|edge| edge_view(graph, rule, edge, dialect))
                    .collect(),
            }
        })
        .collect();
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
        per_name: per.map(|column| escaped(&column.name)).unwrap_or_default(),
        opt_in: rule.retention.opt_in,
        scope_type: per.map_or("text", |column| dialect.kind(column.kind)),
        scope_pattern: dialect.text(per.map_or("^$", |column| pattern(column.kind))),
        time_type: dialect.kind(rule.end_time.kind),
        key_type: dialect.kind(key.kind),
        id_type: dialect.kind(purge.id_kind),
        key_pattern: dialect.text(pattern(key.kind)),
        first_key: dialect.text(match key.kind {
            Kind::Smallint => "-32768",
            Kind::Integer => "-2147483648",
            Kind::Bigint => "-9223372036854775808",
            Kind::Uuid => "00000000-0000-0000-0000-000000000000",
            Kind::Varchar => "",
            Kind::Timestamp | Kind::Timestamptz => "-infinity",
        }),
        cutoff_of_policy: cutoff("coalesce(p_retention, p.retention_seconds)"),
        cutoff_of_default: cutoff(&format!(
            "coalesce(p_retention, {})",
            rule.retention.default
        )),
        cutoff_of_preview: cutoff(&format!(
            "coalesce(v_retention, {})",
            rule.retention.default
        )),
        age_of_oldest: match rule.end_time.kind {
            Kind::Timestamptz => "clock_timestamp() - min(n.ended)".to_owned(),
            _ => format!("clock_timestamp(){time_zone} - min(n.ended)"),
        },
        retention: rule.retention.default,
        minimum: rule.retention.minimum,
        minimum_text: duration(rule.retention.minimum),
        safety_lag: rule.retention.safety_lag,
        batch_families: rule.limits.batch_families,
        run_families: rule.limits.run_families,
        time_budget: rule.limits.time_budget,
        lock_timeout: rule.limits.lock_timeout,
        retries: rule.limits.retries,
        policy_comment: dialect.text(&format!(
            "The minimum retention of rule {} is {}; it stands in the spec.",
            rule.name,
            duration(rule.retention.minimum)
        )),
        table: dialect.qualified(&graph.schema, &root.name),
        table_name: escaped(&root.name),
        table_literal: dialect.text(&root.name),
        table_list: escaped(
            &purge
                .steps
                .iter()
                .map(|step| graph.table(step.table).name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        ),
        key: dialect.ident(&key.name),
        key_name: escaped(&key.name),
        end_time: dialect.ident(&rule.end_time.name),
        end_time_name: escaped(&rule.end_time.name),
        candidates,
        eligible: plan::eligible(rule)
            .iter()
            .map(|condition| dialect.condition_of("i", condition))
            .collect(),
        closed: rule.shared == Shared::Closed,
        links: rule
            .hierarchy
            .iter()
            .map(|link| LinkView {
                table: dialect.qualified(&graph.schema, &graph.table(link.table).name),
                parent: dialect.ident(&link.parent.name),
                child: dialect.ident(&link.child.name),
            })
            .collect(),
        level_columns: level_columns.join(", "),
        collects,
        zeros: vec!["0"; purge.steps.len()].join(", "),
        steps,
        artifacts: rule
            .artifacts
            .iter()
            .map(|artifact| artifact_view(graph, rule, artifact, dialect))
            .collect(),
        report_preview: report(Document::Preview),
        report_run: report(Document::Run),
        name: rule.name.clone(),
    }
}

fn edge_view(graph: &Graph, rule: &Rule, edge: &Edge, dialect: Dialect) -> EdgeView {
    let (keys, keys_of_rows) = if edge.parent == rule.root {
        ("o_members".to_owned(), "p_members".to_owned())
    } else {
        (variable(graph, edge.parent), variable(graph, edge.parent))
    };
    EdgeView {
        column: dialect.ident(&edge.column.name),
        keys,
        keys_of_rows,
    }
}

fn artifact_view(
    graph: &Graph,
    rule: &Rule,
    artifact: &Artifact,
    dialect: Dialect,
) -> ArtifactView {
    let table = graph.table(artifact.table);
    let column = table
        .edges
        .iter()
        .find(|edge| edge.parent == rule.root)
        .map_or(&table.key[0].name, |edge| &edge.column.name);
    ArtifactView {
        table: dialect.qualified(&graph.schema, &table.name),
        table_name: escaped(&table.name),
        column: dialect.ident(column),
        host: artifact.host.as_ref().map_or("NULL".to_owned(), |host| {
            format!("t.{}", dialect.ident(host))
        }),
        path: dialect.ident(&artifact.path),
    }
}

fn field_view(graph: &Graph, purge: &Purge, field: &ReportField, dialect: Dialect) -> FieldView {
    let position = |id: TableId| {
        purge
            .steps
            .iter()
            .position(|step| step.table == id)
            .map_or(0, |index| index + 1)
    };
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

fn orphan_view(graph: &Graph, id: TableId, edge: &Edge, dialect: Dialect) -> OrphanView {
    let table = graph.table(id);
    let none = match &edge.none {
        Some(crate::graph::Literal::Integer(number)) => number.to_string(),
        Some(crate::graph::Literal::Text(text)) => dialect.text(text),
        None => String::new(),
    };
    OrphanView {
        literal: dialect.text(&format!("{}.{}", table.name, edge.column.name)),
        table: dialect.qualified(&graph.schema, &table.name),
        column: dialect.ident(&edge.column.name),
        none,
        parent: dialect.qualified(&graph.schema, &graph.table(edge.parent).name),
        parent_column: dialect.ident(&edge.parent_column.name),
    }
}

fn index_view(graph: &Graph, index: &IndexNeed, dialect: Dialect) -> IndexView {
    let table = graph.table(index.table);
    let name = index_name(dialect, &table.name, &index.columns);
    IndexView {
        literal: dialect.text(&name),
        ident: dialect.ident(&name),
        qualified: dialect.qualified(&graph.schema, &name),
        table: dialect.qualified(&graph.schema, &table.name),
        table_literal: dialect.text(&table.name),
        columns: index
            .columns
            .iter()
            .map(|column| dialect.ident(column))
            .collect::<Vec<_>>()
            .join(", "),
        predicates: index
            .conditions
            .iter()
            .map(|condition| dialect.condition(condition))
            .collect(),
        why: index.why.clone(),
        name,
    }
}

/// `windrow_<table>_<columns>`, cut to the dialect's limit with a hash of the whole name at the end. PostgreSQL keeps
/// index names per schema, so the table is part of it.
pub fn index_name(dialect: Dialect, table: &str, columns: &[String]) -> String {
    let name = format!("windrow_{table}_{}", columns.join("_"));
    let limit = dialect.facts().identifier_bytes;
    if name.len() <= limit {
        return name;
    }
    let hash: String = Sha256::digest(name.as_bytes())
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut end = limit - hash.len() - 1;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}_{hash}", &name[..end])
}

/// The class of the advisory locks of one control schema: 1 is the run, 2 the policies and holds.
fn lock_class(control: &str) -> i32 {
    let digest = Sha256::digest(control.as_bytes());
    i32::from_be_bytes([digest[0] & 0x7f, digest[1], digest[2], digest[3]])
}

/// The variable that holds the keys of a table's rows that go. The position keeps two odd names apart.
fn variable(graph: &Graph, id: TableId) -> String {
    let plain = |name: &str| -> String {
        name.chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '_'
                }
            })
            .take(48)
            .collect()
    };
    let name = plain(&graph.table(id).name);
    match graph
        .tables
        .iter()
        .filter(|table| plain(&table.name) == name)
        .count()
    {
        1 => format!("k_{name}"),
        _ => format!("k_{name}_{}", id.0),
    }
}

/// What a scope or key may look like, as a regular expression. A value has one spelling, the server's own: two policies
/// for one scope would leave open which of them holds.
const fn pattern(kind: Kind) -> &'static str {
    match kind {
        // A cast finds what is out of range.
        Kind::Smallint | Kind::Integer | Kind::Bigint => "^(0|-?[1-9][0-9]{0,18})$",
        Kind::Uuid => "^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$",
        Kind::Varchar | Kind::Timestamp | Kind::Timestamptz => "^.+$",
    }
}

/// A name inside a comment or inside a quoted text.
fn escaped(name: &str) -> String {
    name.replace('\'', "''").replace(['\n', '\r'], " ")
}

/// Seconds as people write them.
fn duration(seconds: i64) -> String {
    for (unit, size) in [("days", 86_400), ("hours", 3_600), ("minutes", 60)] {
        if seconds % size == 0 && seconds >= size {
            return format!("{} {unit}", seconds / size);
        }
    }
    format!("{seconds} seconds")
}
