//! Where the plan and a dialect meet: views for the templates, and the files that come of them. The only file that
//! names `tera`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::bundle::{Bundle, File, Probe, Statement};
use crate::dialect::Dialect;
use crate::graph::{
    Artifact, Column, Document, Edge, Figure, Graph, Kind, Last, ReportField, Rule, Shared, Single,
    TableId, Unit, Window,
};
use crate::plan::{self, Hop, IndexNeed, Keep, Plan, Purge, Step};
use archive::ArchiveView;
use cascade::CascadeView;
use held::HeldView;
use keeps::{KeepView, MeetView};
use last::LastView;
use newest::NewestView;
use orphan_guard::{GuardView, TriggerView};
use releases::ReleaseView;
use settings::{SettingView, ThrottlesView};
use via::ViaView;

mod above;
mod acting;
mod adopt;
mod archive;
mod cascade;
mod document;
mod held;
mod keeps;
mod kernel;
mod last;
pub mod monitoring;
mod mysql_probes;
mod newest;
mod orphan_guard;
mod others;
mod releases;
mod settings;
mod single;
mod source;
mod stamp;
mod timed;
mod unarchive;
mod via;

/// The template sources, by dialect folder and file name.
const TEMPLATES: &[(&str, &str, &str)] = &[
    (
        "postgres",
        "11_spec.sql",
        include_str!("../templates/postgres/11_spec.sql"),
    ),
    (
        "postgres",
        "20_indexes.sql",
        include_str!("../templates/postgres/20_indexes.sql"),
    ),
    (
        "postgres",
        "25_archive.sql",
        include_str!("../templates/postgres/25_archive.sql"),
    ),
    (
        "postgres",
        "30_rule.sql",
        include_str!("../templates/postgres/30_rule.sql"),
    ),
    (
        "postgres",
        "30_removal_time.sql",
        include_str!("../templates/postgres/30_removal_time.sql"),
    ),
    (
        "postgres",
        "30_families.sql",
        include_str!("../templates/postgres/30_families.sql"),
    ),
    (
        "postgres",
        "30_single.sql",
        include_str!("../templates/postgres/30_single.sql"),
    ),
    (
        "postgres",
        "32_tables.sql",
        include_str!("../templates/postgres/32_tables.sql"),
    ),
    (
        "postgres",
        "42_stamp.sql",
        include_str!("../templates/postgres/42_stamp.sql"),
    ),
    (
        "postgres",
        "44_unarchive.sql",
        include_str!("../templates/postgres/44_unarchive.sql"),
    ),
    (
        "postgres",
        "48_orphan_guard.sql",
        include_str!("../templates/postgres/48_orphan_guard.sql"),
    ),
    (
        "postgres",
        "52_triggers.sql",
        include_str!("../templates/postgres/52_triggers.sql"),
    ),
    (
        "postgres",
        "50_grants.sql",
        include_str!("../templates/postgres/50_grants.sql"),
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
    (
        "postgres",
        "macros.sql",
        include_str!("../templates/postgres/macros.sql"),
    ),
    (
        "mysql",
        "macros.sql",
        include_str!("../templates/mysql/macros.sql"),
    ),
    (
        "mysql",
        "claims.sql",
        include_str!("../templates/mysql/claims.sql"),
    ),
    (
        "mysql",
        "rights.sql",
        include_str!("../templates/mysql/rights.sql"),
    ),
    (
        "mysql",
        "10_control.sql",
        include_str!("../templates/mysql/10_control.sql"),
    ),
    (
        "mysql",
        "11_workers.sql",
        include_str!("../templates/mysql/11_workers.sql"),
    ),
    (
        "mysql",
        "12_settings.sql",
        include_str!("../templates/mysql/12_settings.sql"),
    ),
    (
        "mysql",
        "20_indexes.sql",
        include_str!("../templates/mysql/20_indexes.sql"),
    ),
    (
        "mysql",
        "25_archive.sql",
        include_str!("../templates/mysql/25_archive.sql"),
    ),
    (
        "mysql",
        "30_rule.sql",
        include_str!("../templates/mysql/30_rule.sql"),
    ),
    (
        "mysql",
        "30_removal_time.sql",
        include_str!("../templates/mysql/30_removal_time.sql"),
    ),
    (
        "mysql",
        "30_families.sql",
        include_str!("../templates/mysql/30_families.sql"),
    ),
    (
        "mysql",
        "30_single.sql",
        include_str!("../templates/mysql/30_single.sql"),
    ),
    (
        "mysql",
        "35_guard.sql",
        include_str!("../templates/mysql/35_guard.sql"),
    ),
    (
        "mysql",
        "35_pace.sql",
        include_str!("../templates/mysql/35_pace.sql"),
    ),
    (
        "mysql",
        "40_run.sql",
        include_str!("../templates/mysql/40_run.sql"),
    ),
    (
        "mysql",
        "42_stamp.sql",
        include_str!("../templates/mysql/42_stamp.sql"),
    ),
    (
        "mysql",
        "44_unarchive.sql",
        include_str!("../templates/mysql/44_unarchive.sql"),
    ),
    (
        "mysql",
        "45_manage.sql",
        include_str!("../templates/mysql/45_manage.sql"),
    ),
    (
        "mysql",
        "47_plan.sql",
        include_str!("../templates/mysql/47_plan.sql"),
    ),
    (
        "mysql",
        "50_grants.sql",
        include_str!("../templates/mysql/50_grants.sql"),
    ),
    (
        "mysql",
        "52_triggers.sql",
        include_str!("../templates/mysql/52_triggers.sql"),
    ),
    (
        "mysql",
        "46_metrics.sql",
        include_str!("../templates/mysql/46_metrics.sql"),
    ),
    (
        "mysql",
        "60_schedule.sql",
        include_str!("../templates/mysql/60_schedule.sql"),
    ),
    (
        "mysql",
        "90_uninstall.sql",
        include_str!("../templates/mysql/90_uninstall.sql"),
    ),
    (
        "mysql",
        "verify.sql",
        include_str!("../templates/mysql/verify.sql"),
    ),
    (
        monitoring::FOLDER,
        "collector.yml",
        include_str!("../templates/monitoring/collector.yml"),
    ),
    (
        monitoring::FOLDER,
        "alerts.yml",
        include_str!("../templates/monitoring/alerts.yml"),
    ),
    (
        monitoring::FOLDER,
        "dashboard.json",
        include_str!("../templates/monitoring/dashboard.json"),
    ),
];

/// The routines that an auditor may call on MySQL and MariaDB: they read.
const AUDITOR_PROCEDURES: &[&str] = &[
    "preview",
    "outlook",
    "verify",
    "run_result",
    "orphans",
    "in_window",
];

/// The routines that an operator may call there besides: each runs with the definer's rights, and calls what it needs.
const OPERATOR_PROCEDURES: &[&str] = &[
    "run",
    "reap",
    "purge",
    "pause",
    "resume",
    "pause_rule",
    "resume_rule",
    "arm",
    "arm_with",
    "set_policy",
    "drop_policy",
    "set_hold",
    "release_hold",
    "set_setting",
    "set_windows",
    "claim_artifacts",
    "named_artifacts",
    "finish_artifact",
];

/// The name of the control schema of a spec.
pub fn control_name(graph: &Graph) -> String {
    format!("windrow_{}", graph.name.replace(['-', '.'], "_"))
}

/// The name of the lock that a run holds on MySQL and MariaDB: a name for the whole server, of at most 64 characters,
/// which MySQL compares without case.
pub fn run_lock(control: &str) -> String {
    let name = format!("{}.run", control.to_lowercase());
    if name.chars().count() <= 64 {
        name
    } else {
        format!("windrow_{}.run", hex12(control))
    }
}

/// The templates of a folder. They are parsed once in the life of the process, where they are needed: it takes most of the
/// time of rendering.
fn templates(folder: &'static str) -> Result<&'static tera::Tera> {
    static PARSED: Mutex<BTreeMap<&str, &tera::Tera>> = Mutex::new(BTreeMap::new());
    let mut parsed = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(tera) = parsed.get(folder) {
        return Ok(tera);
    }
    let sources = TEMPLATES.iter().filter(|(of, ..)| *of == folder);
    let mut tera = tera::Tera::default();
    tera.autoescape_on(Vec::new());
    tera.add_raw_templates(sources.map(|(_, name, source)| (name, source)))
        .with_context(|| format!("cannot read the templates of `{folder}`"))?;
    let tera = &*Box::leak(Box::new(tera));
    parsed.insert(folder, tera);
    Ok(tera)
}

/// All files of a spec for a dialect.
///
/// # Errors
///
/// Fails only where a template is broken: the message names it.
pub fn bundle(graph: &Graph, dialect: Dialect) -> Result<Bundle> {
    let graph = &graph.named_for(dialect);
    let plan = plan::make(graph);
    let tera = templates(dialect.facts().templates)?;
    let mut view = spec_view(graph, &plan, dialect);
    // The routines are listed by verify(), which is one of them: render once to learn their names, then for good.
    let draft = files(graph, tera, dialect, &view)?;
    view.routines = draft
        .iter()
        .flat_map(|file| &file.statements)
        .filter_map(|statement| routine(&statement.what))
        .map(|name| dialect.text(name))
        .collect();
    view.routines.sort();
    view.shadows = shadows(graph, &draft, dialect);
    let bare = |name: &str| {
        let (_, name) = name.split_once('.')?;
        Some(dialect.text(&dialect.bare(name)))
    };
    view.ledger = made(&draft, "create table ")
        .filter_map(|(name, _)| bare(name))
        .collect();
    view.keyed = made(&draft, "create table ")
        .filter(|(_, sql)| sql.contains("PRIMARY KEY"))
        .filter_map(|(name, _)| bare(name))
        .collect();
    if dialect != Dialect::Postgres {
        view.claims = query(tera, "claims.sql", &view, Asked::Installing)?;
        view.claims_now = query(tera, "claims.sql", &view, Asked::Inside)?;
        view.rights = query(tera, "rights.sql", &view, Asked::Inside)?;
    }
    view.triggers = orphan_guard::triggers(&draft, dialect);
    let is_grants = |file: &File| file.path.ends_with("/50_grants.sql");
    let before = draft.iter().take_while(|file| !is_grants(file));
    view.readable = archive::readable(&view.archives, before);
    let mut files = files(graph, tera, dialect, &view)?;
    for (template, path, context) in monitoring::files(graph, dialect, &view.control) {
        let text = templates(monitoring::FOLDER)?
            .render(template, &tera::Context::from_serialize(context)?)
            .with_context(|| format!("cannot render the template `monitoring/{template}`"))?;
        files.push(File {
            path,
            statements: Vec::new(),
            text: tidy(&text),
            kernel: false,
        });
    }
    let deviations = match dialect {
        Dialect::Postgres => {
            let who = who(graph, &plan, Asked::Later);
            vec![kernel::claims(&who), kernel::rights(&who)]
        }
        Dialect::Mysql | Dialect::Mariadb => [Asked::Later, Asked::OfAccounts]
            .iter()
            .flat_map(|asked| ["claims.sql", "rights.sql"].map(|template| (template, *asked)))
            .map(|(template, asked)| query(tera, template, &view, asked))
            .collect::<Result<_>>()?,
    };
    Ok(Bundle {
        deviations,
        control: view.control.clone(),
        files,
        stand_ins: kernel::stand_ins(graph, dialect, &view.told),
    })
}

/// Who asks what belongs to others, and when.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// An installation, or before it.
    Installing,
    /// `verify()`, which looks at routines and events by itself on MySQL and MariaDB.
    Inside,
    /// `windrow diff`.
    Later,
    /// The program, of the accounts of MySQL and MariaDB, which not everybody may see.
    OfAccounts,
}

/// The queries for what somebody else has made under the names of an installation, or may change.
///
/// # Errors
///
/// Fails only where the template is broken.
pub fn claims(graph: &Graph, dialect: Dialect) -> Result<Vec<String>> {
    let graph = &graph.named_for(dialect);
    let plan = plan::make(graph);
    if dialect == Dialect::Postgres {
        // PostgreSQL shows its roles to everybody: one question has it all.
        return Ok(vec![kernel::claims(&who(graph, &plan, Asked::Installing))]);
    }
    let mut view = spec_view(graph, &plan, dialect);
    let tera = templates(dialect.facts().templates)?;
    let draft = files(graph, tera, dialect, &view)?;
    view.ledger = made(&draft, "create table ")
        .filter_map(|(name, _)| Some(dialect.text(&dialect.bare(name.split_once('.')?.1))))
        .collect();
    [Asked::Installing, Asked::OfAccounts]
        .iter()
        .map(|asked| query(tera, "claims.sql", &view, *asked))
        .collect()
}

/// The names of an installation on PostgreSQL, as a query that answers one row: what view `installation` has inside of one.
fn who(graph: &Graph, plan: &Plan, asked: Asked) -> String {
    let dialect = Dialect::Postgres;
    let control = control_name(graph);
    let list = |names: Vec<&str>| {
        let names: Vec<String> = names.iter().map(|name| dialect.text(name)).collect();
        format!("ARRAY[{}]::pg_catalog.text[]", names.join(", "))
    };
    let stamps = stamp::names(graph);
    let role = |suffix: &str| dialect.text(&role_name(dialect, &control, suffix));
    // Who may be a member of the owner role: the one who installs, or has installed.
    let installers = match asked {
        Asked::Installing => "ARRAY[current_user, session_user]".to_owned(),
        _ => format!("ARRAY(SELECT c.installed_by FROM {control}.control AS c)"),
    };
    let columns = [
        (dialect.text(&control), "control"),
        (role("owner"), "owner"),
        (role("operator"), "operator"),
        (role("auditor"), "auditor"),
        (dialect.text(&graph.schema), "schema"),
        (list(document::going(graph, plan)), "tables"),
        (
            list(graph.rules.iter().map(|rule| rule.name.as_str()).collect()),
            "rules",
        ),
        (list(stamps.iter().map(String::as_str).collect()), "stamps"),
        ((archive::first(graph).is_some()).to_string(), "archives"),
        (installers, "installers"),
        ((asked == Asked::Installing).to_string(), "installing"),
    ];
    let columns = columns.map(|(value, name)| format!("{value} AS {name}"));
    format!("SELECT {}", columns.join(", "))
}

/// A query that several others have in them.
fn query(tera: &tera::Tera, template: &str, view: &SpecView, asked: Asked) -> Result<String> {
    let mut context = tera::Context::from_serialize(view)?;
    context.insert("installing", &(asked == Asked::Installing));
    context.insert("brief", &(asked == Asked::Inside));
    context.insert("accounts", &(asked == Asked::OfAccounts));
    let sql = tera
        .render(template, &context)
        .with_context(|| format!("cannot render the template `{template}`"))?;
    Ok(sql.trim_end().to_owned())
}

/// The names of what the files of a draft make, with the statements that do.
fn made<'a>(draft: &'a [File], verb: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let statements = draft.iter().flat_map(|file| &file.statements);
    statements.filter_map(move |it| Some((it.what.strip_prefix(verb)?, it.sql.as_str())))
}

/// The tables and views that the routines of MySQL and MariaDB read: those of the control database, and all of the
/// application that the spec names.
fn shadows(graph: &Graph, draft: &[File], dialect: Dialect) -> Vec<String> {
    let made = ["create table ", "create view "]
        .into_iter()
        .flat_map(|verb| made(draft, verb));
    let tables = graph.tables.iter().map(|table| &table.name);
    let mut names: Vec<String> = tables
        .map(|name| dialect.qualified(home(graph, dialect), name))
        .chain(looked_into(graph, &[], dialect))
        .chain(made.map(|(name, _)| name.to_owned()))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The statements of the generated routines with literals in place of variables, for EXPLAIN.
pub fn probes(graph: &Graph, dialect: Dialect) -> Vec<Probe> {
    let graph = &graph.named_for(dialect);
    let plan = plan::make(graph);
    if dialect != Dialect::Postgres {
        return mysql_probes::probes(graph, &plan, dialect);
    }
    let mut probes = Vec::new();
    for purge in &plan.purges {
        let rule = &graph.rules[purge.rule];
        let view = rule_view(graph, purge, dialect);
        if let Some(timed) = &view.timed {
            probes.extend(timed::probes(graph, rule, &view, timed, dialect));
            continue;
        }
        if let Some(single) = &view.single {
            probes.extend(single::probes(graph, purge, &view, single, dialect));
            continue;
        }
        let root = &graph.table(rule.root).name;
        let scope = match &rule.retention.per {
            Some(per) if rule.retention.listed() => {
                let one = match per.kind {
                    Kind::Uuid => "'00000000-0000-0000-0000-000000000001'",
                    Kind::Varchar => "'1'",
                    _ => "1",
                };
                format!("i.{} = {one} AND ", view.per)
            }
            _ => String::new(),
        };
        probes.push(Probe {
            what: format!("rule {}: the next roots, oldest first", rule.name),
            table: root.clone(),
            sql: format!(
                "SELECT i.{key} FROM {table} AS i WHERE {scope}{end} < '2000-01-01' AND ({end}, i.{key}) > ('-infinity', {first}) AND {eligible} ORDER BY {end}, i.{key} LIMIT 100",
                end = view.ended,
                key = view.key, table = view.table, first = view.first_key, eligible = view.eligible.join(" AND ")
            ),
        });
        probes.push(Probe {
            what: format!("rule {}: lock the members", rule.name),
            table: root.clone(),
            sql: format!("SELECT i.{key} FROM {table} AS i WHERE i.{key} = ANY ({ids}) ORDER BY i.{key} FOR UPDATE SKIP LOCKED", key = view.key, table = view.table, ids = keys(purge.id_kind)),
        });
        for column in &view.uppers {
            probes.push(Probe {
                what: format!("rule {}: look in {root} by {column}", rule.name),
                table: root.clone(),
                sql: format!(
                    "SELECT FROM {} AS t WHERE t.{column} = ANY ({})",
                    view.table,
                    keys(purge.id_kind)
                ),
            });
        }
        probes.extend(step_probes(graph, purge, &view));
        probes.extend(newest::probes(graph, rule, &view, dialect));
        probes.extend(last::probe(graph, rule, &view, &keys(purge.id_kind)));
        probes.extend(releases::probes(graph, purge, dialect, keys));
        for Hop { table, edge, .. } in purge.keeps.iter().filter_map(Keep::keeper) {
            let (name, column) = (&graph.table(*table).name, dialect.ident(&edge.column.name));
            probes.push(Probe {
                what: format!("rule {}: look in {name} by {column}", rule.name),
                table: name.clone(),
                sql: format!(
                    "SELECT FROM {} AS t WHERE t.{column} = ANY ({})",
                    dialect.qualified(home(graph, dialect), name),
                    keys(edge.parent_column.kind)
                ),
            });
        }
    }
    probes
}

/// Whether a value is in an array of PostgreSQL, of which the server makes a hash: `= ANY (list)` in a generic plan compares
/// it with one element after the other, which with 1,000 holds made a run thirty times as slow.
fn among(value: &str, list: &str) -> String {
    format!("{value} IN (SELECT unnest({list}))")
}

/// Some keys as an array of PostgreSQL.
fn keys(kind: Kind) -> String {
    match kind {
        Kind::Uuid => "'{00000000-0000-0000-0000-000000000001}'::uuid[]".to_owned(),
        Kind::Varchar => "'{a,b}'::text[]".to_owned(),
        _ => format!("'{{1,2,3}}'::{}[]", Dialect::Postgres.kind(kind)),
    }
}

/// The deletions of a purge on PostgreSQL; that of the root table only where it is by members.
fn step_probes(graph: &Graph, purge: &Purge, view: &RuleView) -> Vec<Probe> {
    let (rule, dialect) = (&graph.rules[purge.rule], Dialect::Postgres);
    let mut probes = Vec::new();
    let steps = purge.steps.iter();
    for step in steps.filter(|step| rule.single.is_none() || step.table != rule.root) {
        let table = graph.table(step.table);
        let name = dialect.qualified(home(graph, dialect), &table.name);
        for edge in step.edges.iter().filter(|edge| !edge.names_key(graph)) {
            let parent = graph.table(edge.parent);
            probes.push(Probe {
                what: format!(
                    "rule {}: delete from {} by {}",
                    rule.name,
                    table.name,
                    edge.columns()
                ),
                table: table.name.clone(),
                sql: format!(
                    "DELETE FROM {name} AS t USING {} AS p WHERE p.{} = ANY ({}) AND {}",
                    dialect.qualified(home(graph, dialect), &parent.name),
                    dialect.ident(&parent.key[0].name),
                    keys(parent.key[0].kind),
                    via::same(edge, dialect, "t", "p")
                ),
            });
        }
        let columns: Vec<(String, Kind)> = if step.edges.is_empty() {
            vec![(view.key.clone(), purge.id_kind)]
        } else {
            step.edges
                .iter()
                .filter(|edge| edge.names_key(graph))
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
    probes
}

fn files(graph: &Graph, tera: &tera::Tera, dialect: Dialect, view: &SpecView) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let mut add =
        |template: &str, name: &str, purpose: &str, context: &tera::Context| -> Result<()> {
            if !tera.get_template_names().any(|known| known == template) {
                return Ok(());
            }
            let folder = dialect.facts().folder;
            let body = tera
                .render(template, context)
                .with_context(|| format!("cannot render the template `{folder}/{template}`"))?;
            let path = format!("{}/{folder}/{name}", graph.name);
            files.push(file(graph, dialect, path, purpose, &body));
            Ok(())
        };
    let context = tera::Context::from_serialize(view)?;
    let control = if dialect.facts().has_schemas {
        "schema"
    } else {
        "database"
    };
    add(
        "10_control.sql",
        "10_control.sql",
        &format!("the control {control}: policies, holds and the ledger"),
        &context,
    )?;
    if view.workers > 1 {
        add(
            "11_workers.sql",
            "11_workers.sql",
            "the workers: how they share out a sweep",
            &context,
        )?;
    }
    add(
        "11_spec.sql",
        "11_spec.sql",
        "the rules of the spec, as the kernel knows them",
        &context,
    )?;
    add(
        "12_settings.sql",
        "12_settings.sql",
        "the settings: what overrides the limits of the spec, who wrote it, and what it was before",
        &context,
    )?;
    add(
        "20_indexes.sql",
        "20_indexes.sql",
        "the indexes that the statements need and the application lacks",
        &context,
    )?;
    if !view.archives.is_empty() {
        add(
            "25_archive.sql",
            "25_archive.sql",
            "the archive: copies of the rows that go",
            &context,
        )?;
    }
    for rule in &view.rules {
        let mut context = context.clone();
        context.insert("rule", rule);
        add(
            match (&rule.timed, &rule.single) {
                (Some(_), _) => "30_removal_time.sql",
                (_, Some(_)) => "30_single.sql",
                (None, None) => "30_rule.sql",
            },
            &format!("30_{}.sql", rule.name),
            &format!(
                "the rule {}: who may go, and the statements that delete",
                rule.name
            ),
            &context,
        )?;
    }
    add(
        "35_guard.sql",
        "35_guard.sql",
        "what holds runs back: pauses of rules, servers where nobody armed windrow, back-off, suspension",
        &context,
    )?;
    add(
        "35_pace.sql",
        "35_pace.sql",
        "how big the next batch is, and what a run rests for before it",
        &context,
    )?;
    add(
        "40_run.sql",
        "40_run.sql",
        if dialect.facts().has_schemas {
            "run, preview, purge, verify and what operates them"
        } else {
            "run, preview and purge"
        },
        &context,
    )?;
    add(
        "32_tables.sql",
        "32_tables.sql",
        "what names the tables of the application: their locks, keys, orphans and files",
        &context,
    )?;
    if view.stamps > 0 {
        add(
            "42_stamp.sql",
            "42_stamp.sql",
            "setting removal times anew, on demand",
            &context,
        )?;
    }
    if !view.archives.is_empty() {
        let mut context = context.clone();
        context.insert("unarchive", &unarchive::view(graph, dialect));
        add(
            "44_unarchive.sql",
            "44_unarchive.sql",
            "how rows leave the archive",
            &context,
        )?;
    }
    add(
        "45_manage.sql",
        "45_manage.sql",
        "what operates a run: policies, holds, settings, arming, verification",
        &context,
    )?;
    let metrics = "how much is due, what stays and why, and the metrics";
    add("46_metrics.sql", "46_metrics.sql", metrics, &context)?;
    add(
        "47_plan.sql",
        "47_plan.sql",
        "how much is due, along time and ahead of it: what a backlog plan starts from",
        &context,
    )?;
    if !view.guards.is_empty() {
        let guard = "what refuses a row whose parent is gone or going";
        add(
            "48_orphan_guard.sql",
            "48_orphan_guard.sql",
            guard,
            &context,
        )?;
    }
    add(
        "50_grants.sql",
        "50_grants.sql",
        "the roles and their rights",
        &context,
    )?;
    if !view.guards.is_empty() {
        let triggers = "the triggers that refuse a row whose parent is gone or going";
        add("52_triggers.sql", "52_triggers.sql", triggers, &context)?;
    }
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
    for kernel in kernel::files(graph, dialect) {
        let path = format!("{}/{}/{}", graph.name, dialect.facts().folder, kernel.name);
        let text = kernel.text(&view.control, &view.owner, &view.told);
        files.push(File {
            kernel: true,
            ..file(graph, dialect, path, kernel.purpose, &text)
        });
    }
    // Numbers and names say in which order they are applied.
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// A rendered template is cut at its marker lines: `--# what` before each statement, `--! what` before one that must
/// stand outside a transaction.
struct Chunk {
    what: String,
    alone: bool,
    /// The statement and what stands behind it: the comments that introduce the next one.
    text: String,
}

fn file(graph: &Graph, dialect: Dialect, path: String, purpose: &str, body: &str) -> File {
    let mut text = format!(
        "-- {}: {purpose}.\n-- {}\n\n",
        path.rsplit('/').next().unwrap_or_default(),
        origin(graph)
    );
    let mut chunks: Vec<Chunk> = Vec::new();
    for line in tidy(body).lines() {
        let marker = line
            .strip_prefix("--# ")
            .map(|what| (what, false))
            .or_else(|| line.strip_prefix("--! ").map(|what| (what, true)));
        match (marker, chunks.last_mut()) {
            (Some((what, alone)), _) => chunks.push(Chunk {
                what: what.to_owned(),
                alone,
                text: String::new(),
            }),
            (None, Some(chunk)) => chunk.text.extend([line, "\n"]),
            (None, None) => text.extend([line, "\n"]),
        }
    }
    let statements = match dialect {
        Dialect::Postgres => {
            register(graph, &path, &mut chunks);
            plain_statements(chunks, &mut text)
        }
        Dialect::Mysql | Dialect::Mariadb => {
            let owner = dialect.ident(&role_name(dialect, &control_name(graph), "owner"));
            delimited_statements(chunks, &owner, &mut text)
        }
    };
    File {
        path,
        statements,
        text: tidy(&text),
        kernel: false,
    }
}

/// The line by which a file says where it comes from.
fn origin(graph: &Graph) -> String {
    format!(
        "Generated by windrow from the spec `{}`; edit the spec and run `windrow generate`.",
        graph.name
    )
}

/// What notes the routines that a file made, at its end, where the session is still the owner's.
fn register(graph: &Graph, path: &str, chunks: &mut Vec<Chunk>) {
    let control = control_name(graph);
    let names = chunks.iter().filter_map(|chunk| routine(&chunk.what));
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    let end = chunks
        .iter()
        .rposition(|it| it.what == "become who installs");
    let (Some(end), false) = (end, names.is_empty()) else {
        return;
    };
    let mut lines = vec![String::new()];
    for name in names {
        let line = lines.last_mut().expect("a line");
        if !line.is_empty() && line.len() + name.len() > 110 {
            lines.push(format!("    '{name}'"));
        } else {
            let before = if line.is_empty() { "    " } else { ", " };
            line.extend([before, "'", &name, "'"]);
        }
    }
    let file = path.rsplit('/').next().unwrap_or_default();
    chunks.insert(
        end,
        Chunk {
            what: format!("register the routines of {file}"),
            alone: false,
            text: format!(
                "SELECT {control}.register_routines('{file}', ARRAY[\n{}\n]);\n",
                lines.join(",\n")
            ),
        },
    );
}

/// Statements that a client cuts at their semicolons by itself: routine bodies are quoted. A comment on a routine ends with
/// the hash of its body, which stands before it.
fn plain_statements(chunks: Vec<Chunk>, text: &mut String) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut hash = String::new();
    for chunk in chunks {
        let mut chunk_text = chunk.text.replace("@body@", &hash);
        let told = ["comment on function ", "comment on procedure "];
        if told.iter().any(|verb| chunk.what.starts_with(verb)) && !chunk_text.contains("[body ") {
            let end = chunk_text.rfind("';").unwrap_or(chunk_text.len());
            chunk_text.insert_str(end, &format!(" [body {hash}]"));
        }
        if let Some(text) = routine_text(Dialect::Postgres, &chunk_text) {
            hash = body_fingerprint(Dialect::Postgres, &text);
        }
        text.push_str(&chunk_text);
        statements.push(Statement {
            what: chunk.what,
            sql: trim_statement(&chunk_text),
            alone: chunk.alone,
        });
    }
    statements
}

/// Statements with bare routine bodies: in the file, a DELIMITER keeps the client from cutting them. `@body@` becomes the
/// hash of the statement's own body. Everything is made anew and belongs to the owner role: MySQL's `CREATE OR REPLACE`
/// does not know procedures and events, so that a DROP goes before.
fn delimited_statements(chunks: Vec<Chunk>, owner: &str, text: &mut String) -> Vec<Statement> {
    let mut statements = Vec::new();
    for chunk in chunks {
        let mut sql = trim_statement(&chunk.text);
        let behind = chunk
            .text
            .lines()
            .rev()
            .take_while(|line| line.is_empty() || line.starts_with("--"))
            .count();
        let behind: Vec<&str> = chunk
            .text
            .lines()
            .skip(chunk.text.lines().count() - behind)
            .collect();
        let replaced = |kind: &str| {
            let name = chunk.what.strip_prefix("create ")?.strip_prefix(kind)?;
            Some(format!("{}IF EXISTS {name}", kind.to_uppercase()))
        };
        let replaced = ["procedure ", "event ", "trigger "]
            .into_iter()
            .find_map(replaced);
        if let Some(replaced) = replaced {
            if sql.contains("@body@") {
                let body = routine_body(Dialect::Mysql, &sql).expect("a body begins with BEGIN");
                sql = sql.replace("@body@", &body_fingerprint(Dialect::Mysql, body));
            }
            let drop = format!("DROP {replaced}");
            text.extend([&drop, ";\n"]);
            statements.push(Statement {
                what: chunk.what.replacen("create", "drop", 1),
                sql: drop,
                alone: chunk.alone,
            });
            sql = sql.replacen("CREATE ", &format!("CREATE DEFINER = {owner} "), 1);
            text.extend(["DELIMITER $$\n", &sql, "$$\nDELIMITER ;\n"]);
        } else {
            text.extend([&sql, ";\n"]);
        }
        for line in behind {
            text.extend([line, "\n"]);
        }
        statements.push(Statement {
            what: chunk.what,
            sql,
            alone: chunk.alone,
        });
    }
    statements
}

/// The body of the routine or event that a statement creates; `None` where it creates none. A server's catalog shows it
/// as it stands here.
pub fn routine_body(dialect: Dialect, sql: &str) -> Option<&str> {
    match dialect {
        Dialect::Postgres => sql.split("$windrow$").nth(1),
        Dialect::Mysql | Dialect::Mariadb => Some(&sql[sql.find("\nBEGIN\n")? + 1..]),
    }
}

/// What is compared of a routine or event: its body, and on PostgreSQL before it how it is called, as the queries of
/// `verify()` and `windrow diff` read it from the catalog.
pub fn routine_text(dialect: Dialect, sql: &str) -> Option<String> {
    let body = routine_body(dialect, sql)?;
    if dialect != Dialect::Postgres {
        return Some(body.to_owned());
    }
    let head = sql.split("$windrow$").next().unwrap_or_default();
    let words: Vec<&str> = head
        .lines()
        .filter(|line| line.starts_with("LANGUAGE "))
        .flat_map(str::split_whitespace)
        .collect();
    let mut settings: Vec<String> = head
        .lines()
        .filter_map(|line| line.strip_prefix("SET "))
        .map(|setting| match setting.split_once(" = ") {
            Some((name, value)) => format!("{name}={}", value.replace('\'', "")).to_lowercase(),
            None => setting.to_lowercase(),
        })
        .collect();
    settings.sort();
    let is = |word: &str| words.contains(&word);
    let mut parts = vec![
        match head.contains("REPLACE PROCEDURE ") {
            true => "procedure",
            false => "function",
        },
        match (is("IMMUTABLE"), is("STABLE")) {
            (true, _) => "immutable",
            (_, true) => "stable",
            _ => "volatile",
        },
    ];
    parts.extend(is("STRICT").then_some("strict"));
    parts.push(if is("DEFINER") { "definer" } else { "invoker" });
    parts.extend(settings.iter().map(String::as_str));
    Some(format!("{}\n{body}", parts.join(" ")))
}

/// The first twelve hex digits of the SHA-256 of a body, as its comment names it and verify() computes it from the catalog.
///
/// On MySQL and MariaDB without what a client or a server changes: comments, spaces, and how a quote is escaped.
pub fn body_fingerprint(dialect: Dialect, body: &str) -> String {
    if dialect == Dialect::Postgres {
        return hex12(body);
    }
    let code: String = body
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"))
        .flat_map(|line| line.chars().chain(['\n']))
        .filter(|sign| !['\'', '\\'].contains(sign))
        .collect();
    let words: Vec<&str> = code.split_whitespace().collect();
    hex12(&words.join(" "))
}

fn hex12(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
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
    /// Whether the file is for MariaDB, where the templates of MySQL serve both.
    maria: bool,
    control: String,
    /// The quoted roles.
    owner: String,
    operator: String,
    auditor: String,
    owner_literal: String,
    operator_literal: String,
    auditor_literal: String,
    /// The login of the schedule on PostgreSQL.
    login: String,
    login_literal: String,
    /// What makes operators auditors, and what takes all rights from the owner, as literals.
    grant_auditor: String,
    /// What shows the owner the foreign keys of other databases, as a literal.
    grant_references: String,
    /// What verify() says where it is not granted, as a literal.
    unseen: String,
    revoke_all: String,
    /// Name of the lock that a run holds, as a literal.
    run_lock: String,
    /// What stands around a name that is a word of the server's language.
    q: &'static str,
    control_literal: String,
    /// What looks for things of others under windrow's names: when it is installed, and later.
    claims: String,
    claims_now: String,
    /// What looks for rights and constraints that are not as generated.
    rights: String,
    /// The names of the checks of the ledger, of its tables, and of those with a key, as literals.
    constraints: Vec<String>,
    ledger: Vec<String>,
    keyed: Vec<String>,
    lock_class: i32,
    spec_literal: String,
    schema_comment: String,
    schema: String,
    schema_literal: String,
    /// The bare name of the schema or database, as a literal.
    schema_name: String,
    /// The schema where GRANT would take `_` and `%` for any sign.
    schema_pattern: String,
    zone: String,
    /// The zone as a literal where the server must know it to count cutoffs; else empty.
    named_zone: String,
    /// What starts the scheduled runs: one for each line of the schedule and each worker.
    jobs: Vec<JobView>,
    /// How many runs there may be at a time.
    workers: i64,
    /// The numbers of all workers but the first.
    further_workers: Vec<i64>,
    /// The rules whose families workers share out.
    divided_literals: String,
    /// The lines of the schedule, for a text.
    schedule: String,
    /// Whether a job starts at any minute.
    starts_always: bool,
    windows: Vec<WindowView>,
    /// The windows as the spec has them.
    windows_text: String,
    rules: Vec<RuleView>,
    /// What the kernel is told of the whole installation.
    #[serde(skip)]
    told: kernel::Told,
    /// Each column that names files.
    files: Vec<FileView>,
    /// Each setting that any rule has.
    settings: Vec<SettingView>,
    throttles: ThrottlesView,
    rule_literals: String,
    /// The tables from which several rules take rows, each with these rules, as a literal; empty where there are none.
    several: String,
    /// The same of the rules whose removal times can be set anew, and how many they are.
    stamp_literals: String,
    stamps: usize,
    /// Everything whose removal times can be set anew, and what the option `of` can name of it, as literals.
    stamped: Vec<stamp::StampView>,
    stamps_of: String,
    /// Whether there are rules by the end of families, rules by something else, and of these, rules of single rows and
    /// rules with a fallback.
    by_end: bool,
    /// Whether rows of other tables go with those of a rule's root table.
    by_family: bool,
    /// Whether a part of an index is an expression.
    by_expression: bool,
    by_time: bool,
    /// Whether a rule counts days of the calendar.
    by_calendar: bool,
    /// Whether a rule has no default retention.
    no_default: bool,
    by_row: bool,
    by_fallback: bool,
    /// Whether a key has several columns, and how long its text may be on MySQL and MariaDB.
    by_composite: bool,
    key_length: usize,
    indexes: Vec<IndexView>,
    indexes_reversed: Vec<IndexView>,
    edges: Vec<OrphanView>,
    tables: Vec<TableView>,
    /// The names of the tables whose rows go, as literals, and the tables themselves.
    going: Vec<String>,
    going_tables: Vec<String>,
    /// The names of the tables that the spec ignores, as literals between commas.
    ignored: String,
    /// What the spec says of foreign keys, and of the columns of tables.
    known_keys: Vec<acting::KeyView>,
    shapes: Vec<acting::ShapeView>,
    /// The tables beside that say how long something is kept.
    definitions: Vec<TableView>,
    /// Tables beside these that refer to rows of rules by time.
    referring: Vec<String>,
    /// All tables of others that are read and no more, as literals.
    looked_into: Vec<String>,
    roots: Vec<RootView>,
    /// The archives, one for each table that some rule archives.
    archives: Vec<ArchiveView>,
    /// What stands on tables whose rows may not become orphans, and the triggers that come of it.
    guards: Vec<GuardView>,
    triggers: Vec<TriggerView>,
    /// The rules with archives, as literals between commas.
    archiving_literals: String,
    /// The first of them, which has the settings of the archive.
    archiving_first: String,
    /// What an auditor may read where that is not the whole control schema.
    readable: Vec<String>,
    /// The tables and views that the routines read: a temporary table of that name would hide them.
    shadows: Vec<String>,
    routines: Vec<String>,
    auditor_routines: Vec<String>,
    operator_routines: Vec<String>,
}

/// A job of the schedule: there is one for each of its lines and each worker.
struct Job<'a> {
    /// When it starts, as the spec has it.
    schedule: &'a str,
    line: i64,
    number: i64,
    workers: i64,
}

impl<'a> Job<'a> {
    fn of(graph: &'a Graph) -> impl Iterator<Item = Job<'a>> {
        let lines = graph.schedules.iter().zip(1..);
        lines.flat_map(move |(schedule, line)| {
            (1..=graph.workers).map(move |number| Job {
                schedule,
                line,
                number,
                workers: graph.workers,
            })
        })
    }

    /// What its name has behind that of the control schema: nothing, or ` line 2`, ` worker 2`, ` line 2 worker 2`.
    fn suffix(&self) -> String {
        [("line", self.line), ("worker", self.number)]
            .into_iter()
            .filter(|(_, number)| *number > 1)
            .map(|(what, number)| format!(" {what} {number}"))
            .collect()
    }

    /// The number of its worker, where there are several.
    fn worker(&self) -> Option<i64> {
        (self.workers > 1).then_some(self.number)
    }

    /// The minutes, hours and days of the week (0 is Sunday) at which it may start: none where at any. Days of the month and
    /// months are left out.
    fn starts(&self) -> [Option<Vec<u32>>; 3] {
        let fields: Vec<&str> = self.schedule.split_ascii_whitespace().collect();
        let [minute, hour, day, _, weekday] = fields[..] else {
            return [None, None, None];
        };
        let mut days = cron_values(weekday, 0, 7);
        days.iter_mut().for_each(|day| *day %= 7);
        days.sort_unstable();
        days.dedup();
        // Where the day of the month is restricted as well, either will do.
        if !day.starts_with('*') {
            days = (0..7).collect();
        }
        let some = |values: Vec<u32>, all: usize| (values.len() < all).then_some(values);
        [
            some(cron_values(minute, 0, 59), 60),
            some(cron_values(hour, 0, 23), 24),
            some(days, 7),
        ]
    }
}

/// An EVENT.
#[derive(Serialize)]
struct JobView {
    /// The line of the schedule, for a text.
    schedule: String,
    /// Its name: `run`, or `run_line_2`, `run_worker_2`, `run_line_2_worker_2`.
    name: String,
    /// The number of the worker; empty where there is one.
    worker: String,
    event: EventView,
    /// What holds of the minutes at which it starts, in UTC.
    starts: Vec<String>,
}

fn jobs(graph: &Graph, dialect: Dialect) -> Vec<JobView> {
    Job::of(graph)
        .map(|job| JobView {
            schedule: escaped(dialect, job.schedule),
            name: format!("run{}", job.suffix().replace(' ', "_")),
            worker: job.worker().map_or_else(String::new, |it| it.to_string()),
            event: event_view(job.schedule),
            starts: starts(&job),
        })
        .collect()
}

/// The conditions of the minutes at which an EVENT may start.
fn starts(job: &Job) -> Vec<String> {
    let parts = [
        "MINUTE(v_minute)",
        "HOUR(v_minute)",
        "DAYOFWEEK(v_minute) - 1",
    ];
    let of = parts.into_iter().zip(job.starts());
    of.filter_map(|(part, values)| {
        let values: Vec<String> = values?.iter().map(ToString::to_string).collect();
        Some(format!("{part} IN ({})", values.join(", ")))
    })
    .collect()
}

/// When an EVENT starts, and what it must find on the clock besides; the guard is empty where nothing.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct EventView {
    every: String,
    starts: String,
    guard: String,
}

#[derive(Serialize)]
struct RuleView {
    name: String,
    literal: String,
    /// The quoted scope column, or empty.
    per: String,
    per_name: String,
    /// Whether only those scopes are cleaned that the scope routine lists.
    opt_in: bool,
    /// What says how long a scope without a policy is kept.
    source: Option<source::SourceView>,
    /// Whether days are those of the calendar, so that a cutoff needs more than a subtraction.
    calendar: bool,
    /// What MySQL's list of scopes holds first, and what stands there for ever: the cutoff, or the seconds to it.
    measure: &'static str,
    forever: &'static str,
    scope_type: &'static str,
    scope_pattern: String,
    time_type: &'static str,
    key_type: &'static str,
    id_type: &'static str,
    key_pattern: String,
    first_key: String,
    cutoff_of_policy: String,
    cutoff_of_source: String,
    cutoff_of_default: String,
    cutoff_of_preview: String,
    /// How long ago row `i` of the root table ended, on PostgreSQL.
    age_of_root: String,
    /// The default retention in seconds, or NULL.
    retention: String,
    minimum: i64,
    minimum_text: String,
    safety_lag: i64,
    /// The setting that says how much the first batch of a run takes.
    batch_setting: &'static str,
    settings: Vec<SettingView>,
    /// What the kernel is told of the rule, as a literal.
    document: String,
    /// Those of them that slow a run down, where the spec declares them.
    pace: Vec<SettingView>,
    policy_comment: String,
    /// The constraint of a policy row, as a literal to be prepared.
    policy_check: String,
    table: String,
    table_name: String,
    table_literal: String,
    table_list: String,
    key: String,
    /// What makes a key that type where a function on PostgreSQL answers it: a text of some length is no `text` there.
    key_cast: &'static str,
    key_name: String,
    end_time: String,
    end_time_name: String,
    /// When row `i` of the root table ended, and what that is called in a subquery; whether a second column stands in.
    ended: String,
    ended_name: String,
    otherwise: bool,
    /// Rows of another table that say when a root ended; `ended` is then when it began, and this the name of that.
    last: Option<LastView>,
    start_name: String,
    /// What the time is called by which roots are searched, where they are looked for.
    along: &'static str,
    candidates: Vec<String>,
    eligible: Vec<String>,
    closed: bool,
    links: Vec<LinkView>,
    meets: Vec<MeetView>,
    /// Whether families may be more than one row of the root table, by links or by rows that they share.
    linked: bool,
    /// The columns by which rows of the root table name each other.
    uppers: Vec<String>,
    /// Whether rows below another are roots, too: a purge of that one takes them with it.
    nested: bool,
    level_columns: String,
    /// What makes the end an instant of UTC, on PostgreSQL: nothing where it has no zone.
    in_utc: &'static str,
    collects: Vec<CollectView>,
    steps: Vec<StepView>,
    keeps: Vec<KeepView>,
    /// Whether rows elsewhere let go of rows that go.
    lets_go: bool,
    /// The roots that stay whatever their age.
    newest: Vec<NewestView>,
    /// Whether a batch looks before it deletes whether something may keep rows: it needs to know that early.
    watches: bool,
    /// The tables at which foreign keys point that deletions are left to, between commas; empty where there are none.
    cascading: String,
    twins: Vec<TwinView>,
    /// Whether keys are written without quotes in a JSON document.
    key_is_number: bool,
    /// Whether the end time is an instant.
    zoned: bool,
    zeros: String,
    /// Whether row `i` of the root table is final, or a root: true or false, never NULL.
    is_final: String,
    is_root: String,
    /// Before and after every end time that the type of its column holds on MySQL.
    least_time: &'static str,
    greatest_time: &'static str,
    /// The zone of the application as CONVERT_TZ takes it: an offset where it is always the same.
    zone_literal: String,
    /// `p.scope` of a policy as a value of the scope column, `i`'s scope column as a text, and the same for keys.
    scope_of_policy: String,
    scope_as_text: String,
    key_of_hold: String,
    key_of_text: String,
    key_as_text: String,
    /// Whether a `scope` or `p_key` that matches the pattern is within the range of the column.
    scope_within_range: String,
    key_within_range: String,
    /// The present instant as the application writes it, and the cutoff of a policy `p` counted from now.
    now_here: String,
    cutoff_now: String,
    cutoff_now_source: String,
    cutoff_now_default: String,
    cutoff_now_minimum: String,
    artifacts: Vec<ArtifactView>,
    held: HeldView,
    /// Whether rows of a table are archived before they go, and the archive of the root table.
    archives: bool,
    archive: Option<ArchiveView>,
    /// Whether the rule goes by the end of families.
    by_end: bool,
    /// What a rule by time has besides.
    timed: Option<timed::TimedView>,
    /// What a rule of single rows has besides.
    single: Option<single::SingleView>,
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
    /// A second variable for some of the keys.
    near: String,
    /// The work table where there are no array variables.
    work: String,
    key: String,
    key_type: &'static str,
    table: String,
    edges: Vec<EdgeView>,
    /// Whether a batch reaches the rows by joining the table itself, so that it needs no work table for their keys.
    joined: bool,
    /// The positions of the steps that alone need them, between commas, where their deletions may be left to foreign keys.
    users: String,
}

#[derive(Serialize)]
struct StepView {
    position: usize,
    table: String,
    table_literal: String,
    /// The qualified name as a literal, to be cast to regclass.
    table_class: String,
    why: String,
    /// What lets go of its rows before they are deleted.
    releases: Vec<ReleaseView>,
    edges: Vec<EdgeView>,
    /// Those that name the key of the parent, or are of the root table itself.
    plain: Vec<EdgeView>,
    /// The table's own key, if it has one.
    key: String,
    /// The variable with the keys of its rows, where that is a shorter way to them than through their parents.
    collected: String,
    archive: Option<ArchiveView>,
    /// The foreign key to which its deletion is left, where the catalog has that.
    cascade: Option<CascadeView>,
}

/// A column and the variable with the keys that it is compared with: `keys` in the batch, `keys_of_rows` in the count.
#[derive(Clone, Serialize)]
struct EdgeView {
    column: String,
    keys: String,
    keys_of_rows: String,
    /// The variable for those keys of which there may be rows; empty where the keys are the members.
    near: String,
    /// The type of the keys.
    key_type: &'static str,
    /// Where the keys do not stand in the column: what stands between.
    via: Option<ViaView>,
    /// The edges before it, for counting a row once.
    others: Vec<OtherView>,
    /// The table between the members in `keys` and the column, where no work table holds its keys.
    between: Option<BetweenView>,
    /// The value of the column that means that a row belongs to nothing; empty where every value names a row.
    none: String,
    /// What keeps out such rows: ` AND …`, or empty.
    unless: String,
}

/// A table whose rows belong to the members and nothing else: its column with their keys, and its own key.
#[derive(Clone, Serialize)]
struct BetweenView {
    table: String,
    column: String,
    key: String,
}

/// An edge before another of the same table: its column, and the work table with its keys.
#[derive(Clone, Serialize)]
struct OtherView {
    column: String,
    keys: String,
    via: Option<ViaView>,
    none: String,
}

/// A second work table with the same keys: MySQL lets a statement name a temporary table once.
#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct TwinView {
    work: String,
    of: String,
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

#[derive(PartialEq, Serialize)]
struct FileView {
    table: String,
    table_literal: String,
    path: String,
}

#[derive(Serialize)]
struct OrphanView {
    literal: String,
    table: String,
    column: String,
    none: String,
    parent: String,
    /// Row `c` names a row at all; row `p` is the one that it names.
    present: String,
    same: String,
}

#[derive(Serialize)]
struct TableView {
    name: String,
    table: String,
    /// The table, as a literal to be looked up.
    class: String,
    /// Whether rows of it go; others are only read.
    deleted: bool,
    /// The quoted columns that may be set, between commas.
    updates: String,
}

#[derive(Serialize)]
struct RootView {
    name: String,
    table: String,
    /// The column on which the right to lock rows is given.
    column: String,
}

#[derive(Serialize, Clone)]
struct IndexView {
    name: String,
    /// The statements that make and drop it, as literals to be prepared; the first one as it is.
    statement: String,
    #[serde(skip)]
    plain: String,
    undo: String,
    ident: String,
    literal: String,
    qualified: String,
    table: String,
    table_literal: String,
    columns: String,
    /// The names of the columns as literals, and how many they are.
    places: Vec<String>,
    width: usize,
    /// Whether a part of it is an expression.
    expression: bool,
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
    let indexes: Vec<IndexView> = plan::make(graph)
        .indexes_for(dialect.facts().partial_indexes)
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
    let deleted = tables.clone();
    tables.extend(keeps::tables(&plan.purges));
    tables.extend(releases::tables(&plan.purges));
    tables.sort();
    tables.dedup();
    let edges = tables
        .iter()
        .flat_map(|id| {
            graph
                .table(*id)
                .edges
                .iter()
                .filter(|edge| !edge.alone)
                .map(|edge| orphan_view(graph, *id, edge, dialect))
        })
        .collect();
    let mut roots: Vec<(TableId, &str)> = graph
        .rules
        .iter()
        .map(|rule| (rule.root, graph.table(rule.root).key[0].name.as_str()))
        .collect();
    let lasts = graph.rules.iter().filter_map(|rule| rule.last.as_ref());
    roots.extend(lasts.map(|last| (last.table, last.names.name.as_str())));
    roots.sort_by_key(|(table, _)| *table);
    roots.dedup_by_key(|(table, _)| *table);
    let role = |suffix: &str| dialect.ident(&role_name(dialect, &control, suffix));
    let stamped = stamp::views(graph, &rules, dialect);
    let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let (mut auditor_routines, mut operator_routines): (Vec<String>, Vec<String>) =
        (owned(AUDITOR_PROCEDURES), owned(OPERATOR_PROCEDURES));
    if graph.has_stamps() {
        auditor_routines.push("stamp_result".to_owned());
        operator_routines.push("stamp".to_owned());
    }
    if archive::first(graph).is_some() {
        auditor_routines.push("archive_list".to_owned());
        operator_routines.extend(["archive_drop", "archive_restore"].map(ToOwned::to_owned));
    }
    let indexes_by_expression = indexes.iter().any(|index| index.expression);
    let grant_references = format!(
        "GRANT REFERENCES{} ON *.* TO {}",
        if dialect == Dialect::Mariadb {
            ", PROCESS"
        } else {
            ""
        },
        role("owner")
    );
    SpecView {
        maria: dialect == Dialect::Mariadb,
        owner: role("owner"),
        operator: role("operator"),
        auditor: role("auditor"),
        owner_literal: dialect.text(&role_name(dialect, &control, "owner")),
        operator_literal: dialect.text(&role_name(dialect, &control, "operator")),
        auditor_literal: dialect.text(&role_name(dialect, &control, "auditor")),
        login: role("schedule"),
        login_literal: dialect.text(&role_name(dialect, &control, "schedule")),
        grant_auditor: dialect.text(&format!("GRANT {} TO {}", role("auditor"), role("operator"))),
        grant_references: dialect.text(&grant_references),
        unseen: dialect.text(&format!("foreign keys of their tables are not seen by the owner role: {grant_references}")),
        revoke_all: dialect.text(&format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM {}", role("owner"))),
        run_lock: dialect.text(&run_lock(&control)),
        q: if dialect == Dialect::Postgres { "\"" } else { "`" },
        control_literal: dialect.text(&control),
        claims: String::new(),
        claims_now: String::new(),
        rights: String::new(),
        constraints: Vec::new(),
        ledger: Vec::new(),
        keyed: Vec::new(),
        lock_class: lock_class(&control),
        spec_literal: dialect.text(&graph.name),
        schema_comment: dialect.text(&format!("windrow: retention of {}. Everything in here is generated from the spec `{}`, except the rows.", graph.title, graph.name)),
        schema: dialect.ident(home(graph, dialect)),
        schema_pattern: dialect.ident(&home(graph, dialect).replace('_', "\\_").replace('%', "\\%")),
        schema_name: dialect.text(home(graph, dialect)),
        schema_literal: match dialect {
            // A name to be cast to regnamespace.
            Dialect::Postgres => dialect.text(&dialect.ident(&graph.schema)),
            Dialect::Mysql | Dialect::Mariadb => dialect.text(&graph.database),
        },
        zone: escaped(dialect, &graph.time_zone),
        named_zone: match fixed_offset(&graph.time_zone) {
            Some(_) => String::new(),
            None => dialect.text(&graph.time_zone),
        },
        told: kernel::Told {
            spec: document::of_spec(graph, plan, dialect),
            schedule: document::of_schedule(graph, dialect),
        },
        starts_always: Job::of(graph).any(|job| job.starts().iter().all(Option::is_none)),
        jobs: jobs(graph, dialect),
        workers: graph.workers,
        further_workers: (2..=graph.workers).collect(),
        divided_literals: graph.rules.iter().filter(|rule| rule.is_divided()).map(|rule| dialect.text(&rule.name)).collect::<Vec<_>>().join(", "),
        schedule: graph.schedules.iter().map(|schedule| escaped(dialect, schedule)).collect::<Vec<_>>().join(", "),
        windows: graph.windows.iter().map(|window| window_view(window, dialect)).collect(),
        windows_text: graph.windows.iter().map(|window| escaped(dialect, &window.written)).collect::<Vec<_>>().join(", "),
        stamps: stamp::rules(graph).count(),
        stamp_literals: stamp::rules(graph).map(|rule| dialect.text(&rule.name)).collect::<Vec<_>>().join(", "),
        stamps_of: stamped.iter().filter(|stamp| stamp.of).map(|stamp| stamp.whole_name.clone()).collect::<Vec<_>>().join(", "),
        stamped,
        several: several(graph, plan, dialect),
        rule_literals: graph.rules.iter().map(|rule| dialect.text(&rule.name)).collect::<Vec<_>>().join(", "),
        indexes_reversed: indexes.iter().rev().cloned().collect(),
        indexes,
        edges,
        going: deleted.iter().map(|id| dialect.text(&graph.table(*id).name)).collect(),
        going_tables: deleted.iter().map(|id| dialect.qualified(home(graph, dialect), &graph.table(*id).name)).collect(),
        ignored: graph.ignored.iter().map(|ignored| dialect.text(&ignored.table)).collect::<Vec<_>>().join(", "),
        known_keys: acting::keys(graph, dialect),
        shapes: acting::shapes(graph, dialect),
        tables: tables.iter().map(|id| TableView { name: escaped(dialect, &graph.table(*id).name), class: dialect.text(&dialect.qualified(home(graph, dialect), &graph.table(*id).name)), table: dialect.qualified(home(graph, dialect), &graph.table(*id).name), deleted: deleted.contains(id), updates: updates(graph, *id, dialect) }).collect(),
        referring: referring(graph, &tables)
            .into_iter()
            .map(|name| dialect.qualified(home(graph, dialect), name))
            .collect(),
        looked_into: looked_into(graph, &tables, dialect).map(|name| dialect.text(&name)).collect(),
        roots: roots
            .iter()
            .map(|(id, column)| (&graph.table(*id).name, column))
            .map(|(table, column)| RootView { name: escaped(dialect, table), table: dialect.qualified(home(graph, dialect), table), column: dialect.ident(column) })
            .collect(),
        archives: archive::views(graph, dialect),
        guards: orphan_guard::views(graph, dialect),
        triggers: Vec::new(),
        archiving_literals: archive::rules(graph).map(|rule| dialect.text(&rule.name)).collect::<Vec<_>>().join(", "),
        archiving_first: archive::first(graph).map_or_else(String::new, |rule| dialect.text(&rule.name)),
        readable: Vec::new(),
        shadows: Vec::new(),
        routines: Vec::new(),
        auditor_routines,
        operator_routines,
        by_expression: indexes_by_expression,
        by_end: graph.rules.iter().any(by_end),
        by_family: graph.rules.iter().any(|rule| by_end(rule) || single::has_family(rule)),
        by_time: !graph.rules.iter().all(by_end),
        by_row: graph.rules.iter().any(|rule| rule.single.is_some()),
        key_length: if by_composite(graph) { 700 } else { 255 },
        by_composite: by_composite(graph),
        by_fallback: graph.rules.iter().any(|rule| matches!(&rule.single, Some(Single::Expiry { fallback: Some(_) }))),
        by_calendar: rules.iter().any(|rule| rule.calendar),
        no_default: graph.rules.iter().any(|rule| rule.retention.default.is_none()),
        definitions: definitions(graph, dialect),
        throttles: settings::throttles(graph, dialect, home(graph, dialect)),
        settings: settings::known(rules.iter().map(|rule| rule.settings.as_slice())),
        rules,
        files: files_view(graph, dialect),
        control,
    }
}

/// The tables from which several rules take rows, each with these rules: what a preview counts for each of them.
fn several(graph: &Graph, plan: &Plan, dialect: Dialect) -> String {
    let mut tables: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for purge in &plan.purges {
        for step in &purge.steps {
            let rules = tables.entry(&graph.table(step.table).name).or_default();
            let rule = graph.rules[purge.rule].name.as_str();
            if rules.last() != Some(&rule) {
                rules.push(rule);
            }
        }
    }
    tables.retain(|_, rules| rules.len() > 1);
    if tables.is_empty() {
        return String::new();
    }
    let texts = |names: &[&str]| {
        let names = names.iter();
        let names: Vec<String> = names.map(|it| serde_json::json!(it).to_string()).collect();
        names.join(", ")
    };
    let lists = tables.iter();
    let lists: Vec<String> = lists
        .map(|(table, rules)| format!("{}: [{}]", texts(&[table]), texts(rules)))
        .collect();
    let literal = dialect.text(&format!("{{{}}}", lists.join(", ")));
    match dialect {
        Dialect::Postgres => literal,
        // A backslash before each quotation mark, of which none is needed.
        Dialect::Mysql | Dialect::Mariadb => literal.replace("\\\"", "\""),
    }
}

/// The columns of a table that may be set, quoted, between commas.
fn updates(graph: &Graph, table: TableId, dialect: Dialect) -> String {
    let nulls = releases::columns(graph.table(table), dialect);
    let mut columns = stamp::columns(graph, table, dialect);
    if !nulls.is_empty() {
        columns.insert(0, nulls);
    }
    columns.join(", ")
}

/// Tables that say how long something is kept and from which no row goes.
fn definitions(graph: &Graph, dialect: Dialect) -> Vec<TableView> {
    let mut names: Vec<&str> = graph
        .rules
        .iter()
        .flat_map(Rule::definitions)
        .map(|definition| definition.table.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| TableView {
            name: escaped(dialect, name),
            table: dialect.qualified(home(graph, dialect), name),
            class: dialect.text(&dialect.qualified(home(graph, dialect), name)),
            deleted: false,
            updates: String::new(),
        })
        .collect()
}

/// The names of the tables that rules by time only look into, without those in `tables`.
fn referring<'a>(graph: &'a Graph, tables: &[TableId]) -> Vec<&'a str> {
    let timed = graph.rules.iter().filter_map(|rule| rule.timed.as_ref());
    let mut names: Vec<&str> = timed
        .flat_map(|timed| &timed.references)
        .map(|reference| reference.table.as_str())
        .filter(|name| tables.iter().all(|id| graph.table(*id).name != *name))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The tables of others that the routines read and no more, qualified, without those in `tables`.
fn looked_into(
    graph: &Graph,
    tables: &[TableId],
    dialect: Dialect,
) -> impl Iterator<Item = String> {
    let definitions = graph.rules.iter().flat_map(Rule::definitions);
    let singles = graph.rules.iter().filter_map(|rule| rule.single.as_ref());
    let names = definitions
        .map(|definition| definition.table.as_str())
        .chain(referring(graph, tables))
        .chain(singles.flat_map(single::references));
    let home = home(graph, dialect);
    let heartbeat = settings::throttles(graph, dialect, home).heartbeat;
    let found: BTreeSet<String> = names
        .map(|name| dialect.qualified(home, name))
        .chain(heartbeat.map(|it| it.table))
        .collect();
    found.into_iter()
}

/// A window as the columns of a row, all literals.
#[derive(Serialize)]
struct WindowView {
    written: String,
    days: String,
    begins: String,
    ends: String,
    zone: String,
}

fn window_view(window: &Window, dialect: Dialect) -> WindowView {
    WindowView {
        written: dialect.text(&window.written),
        days: dialect.text(&window.days),
        begins: dialect.text(&window.begins),
        ends: dialect.text(&window.ends),
        zone: dialect.text(&window.zone),
    }
}

/// An EVENT for a schedule of five cron fields in UTC, or of `N seconds`.
fn event_view(schedule: &str) -> EventView {
    let fields: Vec<&str> = schedule.split_ascii_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields[..] else {
        return EventView {
            every: format!("EVERY {} SECOND", fields.first().unwrap_or(&"60")),
            starts: event_start(1, 0, 0),
            guard: String::new(),
        };
    };
    let minutes = cron_values(minute, 0, 59);
    let hours = cron_values(hour, 0, 23);
    let mut weekdays: Vec<u32> = cron_values(weekday, 0, 7)
        .into_iter()
        .map(|d| d % 7)
        .collect();
    weekdays.sort_unstable();
    weekdays.dedup();
    let daily = day == "*" && month == "*";
    let view = |every: String, starts: String| EventView {
        every,
        starts,
        guard: String::new(),
    };
    match (&minutes[..], &hours[..], &weekdays[..]) {
        // The second of January 2000 was a Sunday.
        ([minute], [hour], [weekday]) if daily => {
            return view(
                "EVERY 1 WEEK".to_owned(),
                event_start(2 + weekday, *hour, *minute),
            );
        }
        ([minute], [hour], _) if daily && weekdays.len() == 7 => {
            return view("EVERY 1 DAY".to_owned(), event_start(1, *hour, *minute));
        }
        ([minute], _, _) if daily && weekdays.len() == 7 => {
            if let Some(step) = even_step(&hours, 24) {
                return view(
                    format!("EVERY {step} HOUR"),
                    event_start(1, hours[0], *minute),
                );
            }
        }
        _ if daily && weekdays.len() == 7 && hours.len() == 24 => {
            if let Some(step) = even_step(&minutes, 60) {
                return view(
                    format!("EVERY {step} MINUTE"),
                    event_start(1, 0, minutes[0]),
                );
            }
        }
        _ => {}
    }
    let one_of = |part: &str, values: &[u32], all: usize| {
        let list: Vec<String> = values.iter().map(ToString::to_string).collect();
        (values.len() < all).then(|| format!("{part} IN ({})", list.join(", ")))
    };
    let days = one_of("DAY(UTC_TIMESTAMP())", &cron_values(day, 1, 31), 31);
    // DAYOFWEEK() counts from Sunday, which is 1.
    let weekdays: Vec<u32> = weekdays.iter().map(|weekday| weekday + 1).collect();
    let weekdays = one_of("DAYOFWEEK(UTC_TIMESTAMP())", &weekdays, 7);
    // As every cron has it: where both are restricted, either will do.
    let date = match (days, weekdays) {
        (Some(days), Some(weekdays)) if !day.starts_with('*') && !weekday.starts_with('*') => {
            vec![format!("({days} OR {weekdays})")]
        }
        (days, weekdays) => days.into_iter().chain(weekdays).collect(),
    };
    let (every, starts, minute_guard) = match minutes[..] {
        [minute] => ("EVERY 1 HOUR", event_start(1, 0, minute), None),
        _ => (
            "EVERY 1 MINUTE",
            event_start(1, 0, 0),
            one_of("MINUTE(UTC_TIMESTAMP())", &minutes, 60),
        ),
    };
    let guard: Vec<String> = minute_guard
        .into_iter()
        .chain(one_of("HOUR(UTC_TIMESTAMP())", &hours, 24))
        .chain(date)
        .chain(one_of(
            "MONTH(UTC_TIMESTAMP())",
            &cron_values(month, 1, 12),
            12,
        ))
        .collect();
    EventView {
        every: every.to_owned(),
        starts,
        guard: guard.join(" AND "),
    }
}

/// An instant of the first days of 2000, from which an EVENT counts.
fn event_start(day: u32, hour: u32, minute: u32) -> String {
    format!("'2000-01-{day:02} {hour:02}:{minute:02}:00'")
}

/// The distance of values that lie evenly on a round of `all`, if they do.
fn even_step(values: &[u32], all: u32) -> Option<u32> {
    let count = u32::try_from(values.len())
        .ok()
        .filter(|count| *count > 0)?;
    let step = all / count;
    let even = values
        .iter()
        .zip(0..)
        .all(|(value, index)| *value == values[0] + index * step);
    (even && step * count == all).then_some(step)
}

/// The values that a checked cron field stands for.
fn cron_values(field: &str, low: u32, high: u32) -> Vec<u32> {
    let mut values: Vec<u32> = field
        .split(',')
        .flat_map(|part| {
            let (range, step) = part.split_once('/').unwrap_or((part, "1"));
            let number = |text: &str| text.parse().unwrap_or(low);
            let (first, last) = match range.split_once('-') {
                Some((first, last)) => (number(first), number(last)),
                None if range == "*" => (low, high),
                None => (number(range), number(range)),
            };
            (first..=last).step_by(step.parse::<usize>().unwrap_or(1).max(1))
        })
        .collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Whether a rule names its rows by keys of several columns.
fn by_composite(graph: &Graph) -> bool {
    let mut single = graph.rules.iter().filter(|rule| rule.single.is_some());
    single.any(|rule| graph.table(rule.root).key.len() > 1)
}

/// Whether a rule goes by the end of families.
fn by_end(rule: &Rule) -> bool {
    rule.timed.is_none() && rule.single.is_none()
}

/// Whether a batch of a rule takes whole families.
fn takes_families(rule: &Rule) -> bool {
    let unit = rule.timed.as_ref().map(|timed| timed.unit);
    by_end(rule) || unit == Some(Unit::Family)
}

fn rule_view(graph: &Graph, purge: &Purge, dialect: Dialect) -> RuleView {
    let rule = &graph.rules[purge.rule];
    let root = graph.table(rule.root);
    let key = &root.key[0];
    let postgres = dialect == Dialect::Postgres;
    let time_zone = match rule.end_time.kind {
        Kind::Timestamptz => String::new(),
        _ => format!(" AT TIME ZONE {}", dialect.text(&graph.time_zone)),
    };
    let (minimum, lag) = (rule.retention.minimum, rule.retention.safety_lag);
    let before = |instant: &str, retention: &str| {
        format!("{instant} - INTERVAL GREATEST({retention}, {minimum}) + {lag} SECOND")
    };
    // Where the clocks are never changed, a day of the calendar has 24 hours.
    let calendar = rule.retention.calendar && fixed_offset(&graph.time_zone).is_none();
    let zone_literal = dialect.text(
        &match (rule.end_time.kind, fixed_offset(&graph.time_zone)) {
            (Kind::Timestamptz, _) => "+00:00".to_owned(),
            (_, None) => graph.time_zone.clone(),
            (_, Some(seconds)) => format!(
                "{}{:02}:{:02}",
                if seconds < 0 { '-' } else { '+' },
                seconds.abs() / 3600,
                seconds.abs() / 60 % 60
            ),
        },
    );
    let cutoff = |retention: &str| match (postgres, calendar) {
        (true, false) => format!(
            "(p_as_of - make_interval(secs => greatest({retention}, {minimum}) + {lag})){time_zone}"
        ),
        (true, true) => format!(
            "{}.calendar_before(p_as_of, greatest({retention}, {minimum}) + {lag}, {}){time_zone}",
            control_name(graph),
            dialect.text(&graph.time_zone)
        ),
        (false, false) => format!(
            "CONVERT_TZ(p_as_of - INTERVAL (GREATEST({retention}, {minimum}) + {lag}) SECOND, '+00:00', {zone_literal})"
        ),
        // The seconds only: the rest takes more than an expression.
        (false, true) => format!("GREATEST({retention}, {minimum}) + {lag}"),
    };
    let least_time = match rule.end_time.kind {
        Kind::Timestamptz => "'1970-01-01 00:00:01'",
        _ => "'1000-01-01 00:00:00'",
    };
    let coalesce = if postgres { "coalesce" } else { "COALESCE" };
    let retention = rule
        .retention
        .default
        .map_or("NULL".to_owned(), |it| it.to_string());
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
            cascade: cascade::view(graph, rule, step, dialect),
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
    let collects = purge
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
                users: cascade::users(graph, purge, &steps, *id),
            }
        })
        .collect();
    let settings = settings::views(purge.rule, rule, graph, dialect);
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
        per_name: per.map(|column| escaped(dialect, &column.name)).unwrap_or_default(),
        opt_in: rule.retention.listed(),
        scope_type: per.map_or("text", |column| dialect.kind(column.kind)),
        scope_pattern: dialect.text(&per.map_or("^$".to_owned(), |column| pattern(dialect, column.kind))),
        time_type: dialect.kind(rule.end_time.kind),
        key_type: dialect.kind(key.kind),
        id_type: id_type(dialect, purge.id_kind),
        key_pattern: dialect.text(&key_pattern(dialect, key.kind)),
        first_key: least_key(dialect, key.kind),
        is_final,
        is_root,
        least_time,
        greatest_time: match rule.end_time.kind {
            Kind::Timestamptz => "'2038-01-19 03:14:07'",
            _ => "'9999-12-31 23:59:59'",
        },
        zone_literal: zone_literal.clone(),
        scope_of_policy: per.map_or("NULL".to_owned(), |column| typed(column.kind, "p.scope")),
        scope_within_range: per.map_or("true".to_owned(), |column| {
            within_range(column.kind, "p_scope")
        }),
        scope_as_text: per.map_or("NULL".to_owned(), |column| {
            format!("CAST(i.{} AS CHAR)", dialect.ident(&column.name))
        }),
        key_of_hold: typed(key.kind, "h.`key`"),
        key_of_text: typed(key.kind, "p_key"),
        key_within_range: within_range(key.kind, "p_key"),
        key_as_text: format!("CAST(i.{} AS CHAR)", dialect.ident(&key.name)),
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
        cutoff_of_policy: cutoff(&format!("{coalesce}(p_retention, p.retention_seconds)")),
        cutoff_of_source: source.as_ref().map_or(String::new(), |source| {
            cutoff(&format!("{coalesce}(p_retention, {})", source.seconds))
        }),
        cutoff_of_preview: cutoff(&format!("{coalesce}(v_retention, {overdue})")),
        cutoff_of_default: cutoff(&format!("{coalesce}(p_retention, {overdue})")),
        age_of_root: match rule.end_time.kind {
            Kind::Timestamptz => format!("clock_timestamp() - {ended}"),
            _ => format!("clock_timestamp(){time_zone} - {ended}"),
        },
        retention,
        source,
        calendar,
        measure: if calendar { "seconds" } else { "cutoff" },
        forever: if calendar { "NULL" } else { least_time },
        minimum: rule.retention.minimum,
        minimum_text: duration(rule.retention.minimum),
        safety_lag: rule.retention.safety_lag,
        batch_setting: if takes_families(rule) { "batch_families" } else { "batch_rows" },
        pace: settings::declared(&settings),
        document: document::of_rule(graph, purge, &settings, single.as_ref(), dialect),
        settings,
        policy_comment: dialect.text(&format!(
            "The minimum retention of rule {} is {}; it stands in the spec.",
            rule.name,
            duration(rule.retention.minimum)
        )),
        policy_check: dialect.text(&format!(
            // The server reads the text of a CHECK again in the sql_mode of whoever opens the table: no backslashes.
            "(CASE WHEN rule <> {} THEN true WHEN retention_seconds < {minimum} OR CONCAT(scope, '.') NOT REGEXP {} THEN false ELSE {} END) IS TRUE",
            dialect.text(&rule.name),
            dialect.text(&format!("^{}[.]$", per.map_or("", |column| spelling(column.kind)))),
            per.map_or("true".to_owned(), |column| within_range(column.kind, "scope")),
        )),
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
        key_cast: if key.kind == Kind::Varchar { "::text" } else { "" },
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
        along: if rule.last.is_some() { "started" } else { "ended" },
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
        nested: nested(rule),
        level_columns: level_columns.join(", "),
        in_utc: match rule.end_time.kind {
            Kind::Timestamptz => " AT TIME ZONE 'UTC'",
            _ => "",
        },
        collects,
        zeros: vec!["0"; purge.steps.len()].join(", "),
        watches: steps.iter().any(|step| step.cascade.is_some() || step.edges.len() > step.plain.len()),
        cascading: cascade::parents(graph, purge, &steps, dialect),
        steps,
        keeps: keeps::keeps(graph, purge, dialect),
        meets,
        lets_go: !purge.releases.is_empty(),
        newest: newest::views(graph, rule, dialect),
        twins,
        key_is_number: matches!(key.kind, Kind::Smallint | Kind::Integer | Kind::Bigint),
        zoned: rule.end_time.kind == Kind::Timestamptz,
        artifacts: rule
            .artifacts
            .iter()
            .map(|artifact| artifact_view(graph, rule, artifact, dialect))
            .collect(),
        held: held::view(graph, purge.rule, rule, dialect),
        archives: !rule.archive.is_empty(),
        archive: archive::view(graph, rule, rule.root, dialect),
        by_end: by_end(rule),
        timed: rule.timed.as_ref().map(|timed| timed::view(graph, rule, timed, dialect)),
        single,
        report_preview: report(Document::Preview),
        report_run: report(Document::Run),
        name: rule.name.clone(),
    }
}

/// What people call the time by which the rows of a rule become due.
fn time_name(graph: &Graph, rule: &Rule) -> String {
    match (&rule.otherwise, last::name(graph, rule)) {
        (_, Some(name)) => name,
        (None, None) => rule.end_time.name.clone(),
        (Some(other), None) => format!("{} or {}", rule.end_time.name, other.name),
    }
}

/// Whether rows below another are roots, too: where every row is one, and where the rows say themselves what they are below.
fn nested(rule: &Rule) -> bool {
    let mut links = rule.hierarchy.iter();
    !rule.hierarchy.is_empty()
        && (rule.candidates.is_empty() || links.all(|link| link.table == rule.root))
}

/// When row `i` of the root table ended.
fn ended(rule: &Rule, dialect: Dialect) -> String {
    let column = |column: &Column| format!("i.{}", dialect.ident(&column.name));
    match &rule.otherwise {
        None => column(&rule.end_time),
        Some(other) => format!("coalesce({}, {})", column(&rule.end_time), column(other)),
    }
}

/// The end of row `i` of the root table where its rows of another table do not say it.
fn stands_in(last: &Last, dialect: Dialect) -> String {
    match &last.otherwise {
        Some(column) => format!("i.{}", dialect.ident(&column.name)),
        None => format!("NULL::{}", dialect.kind(last.time.kind)),
    }
}

/// Rows that are found through their parents, and these through theirs, cost a search for each parent: where their keys
/// were collected, that is not done twice.
fn collected(graph: &Graph, purge: &Purge, step: &Step) -> String {
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

fn edge_view(graph: &Graph, rule: &Rule, edge: &Edge, dialect: Dialect) -> EdgeView {
    let keys = if edge.parent == rule.root {
        members(rule, dialect)
    } else {
        let variable = match dialect {
            Dialect::Postgres => variable(graph, edge.parent),
            Dialect::Mysql | Dialect::Mariadb => work_table(graph, edge.parent),
        };
        EdgeView {
            column: String::new(),
            keys: variable.clone(),
            keys_of_rows: variable,
            near: near(graph, edge.parent),
            key_type: dialect.kind(edge.parent_column.kind),
            via: None,
            others: Vec::new(),
            between: None,
            none: String::new(),
            unless: String::new(),
        }
    };
    let via = via::view(graph, edge, dialect);
    let between = between(graph, rule, edge.parent, dialect);
    EdgeView {
        column: dialect.ident(&edge.column.name),
        keys: match between {
            Some(_) => members(rule, dialect).keys,
            None => keys.keys,
        },
        near: if via.is_some() {
            String::new()
        } else {
            keys.near.clone()
        },
        none: none(edge, dialect),
        unless: unless(edge, dialect, via.is_some(), between.as_ref()),
        via,
        between,
        ..keys
    }
}

/// A value that means "no parent" means it also where a row has it as its key. On MySQL and MariaDB it is asked of the
/// parent, so that the optimizer sees no reason to read the table by anything else than the parent's key.
fn unless(edge: &Edge, dialect: Dialect, via: bool, between: Option<&BetweenView>) -> String {
    let asked = match (dialect, between) {
        (Dialect::Postgres, _) => format!("t.{}", dialect.ident(&edge.column.name)),
        (_, Some(between)) => format!("p.{}", between.key),
        (_, None) if via => format!("p.{}", dialect.ident(&edge.parent_column.name)),
        (_, None) => "w.id".to_owned(),
    };
    excluded(edge, dialect, &asked)
}

/// That a value, of the edge's column or what it names, does not mean "no parent"; empty where none does.
fn excluded(edge: &Edge, dialect: Dialect, asked: &str) -> String {
    match none(edge, dialect).as_str() {
        "" => String::new(),
        none => format!(" AND {asked} <> {none}"),
    }
}

/// The value of an edge's column that means "no parent"; empty where every value names one.
fn none(edge: &Edge, dialect: Dialect) -> String {
    match &edge.none {
        Some(crate::graph::Literal::Integer(number)) => number.to_string(),
        Some(crate::graph::Literal::Text(text)) => dialect.text(text),
        None => String::new(),
    }
}

/// How a batch reaches the rows of a table by a join: on MySQL and MariaDB, where they belong to the members by one
/// column. Its keys in a work table of their own would cost more than to read the index again.
fn between(graph: &Graph, rule: &Rule, id: TableId, dialect: Dialect) -> Option<BetweenView> {
    if dialect == Dialect::Postgres || id == rule.root {
        return None;
    }
    let table = graph.table(id);
    let mut edges = table
        .parents()
        .filter(|edge| rule.order.contains(&edge.parent));
    match (edges.next(), edges.next()) {
        (Some(edge), None) if edge.parent == rule.root && edge.names_key(graph) => {
            Some(BetweenView {
                table: dialect.qualified(home(graph, dialect), &table.name),
                column: dialect.ident(&edge.column.name),
                key: dialect.ident(&table.key[0].name),
            })
        }
        _ => None,
    }
}

/// What holds the keys of the members: variables on PostgreSQL, a work table elsewhere.
fn members(rule: &Rule, dialect: Dialect) -> EdgeView {
    let (keys, keys_of_rows) = match (dialect, &rule.single) {
        (Dialect::Postgres, None) => ("o_members", "p_members"),
        // They are handed to the function that deletes what belongs to them.
        (Dialect::Postgres, Some(_)) => ("p_members", "p_members"),
        (Dialect::Mysql | Dialect::Mariadb, None) => ("work_member", "work_gone"),
        (Dialect::Mysql | Dialect::Mariadb, Some(_)) => ("work_member", "work_taken"),
    };
    EdgeView {
        column: String::new(),
        keys: keys.to_owned(),
        keys_of_rows: keys_of_rows.to_owned(),
        near: String::new(),
        key_type: "",
        via: None,
        others: Vec::new(),
        between: None,
        none: String::new(),
        unless: String::new(),
    }
}

/// Gives each edge of a step the edges before it, and answers the further work tables that this takes.
fn count_once(steps: &mut [StepView]) -> Vec<TwinView> {
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

fn artifact_view(
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

/// The columns that name files, each once.
fn files_view(graph: &Graph, dialect: Dialect) -> Vec<FileView> {
    let mut files = Vec::new();
    for artifact in graph.rules.iter().flat_map(|rule| &rule.artifacts) {
        let name = &graph.table(artifact.table).name;
        let file = FileView {
            table: dialect.qualified(home(graph, dialect), name),
            table_literal: dialect.text(name),
            path: dialect.ident(&artifact.path),
        };
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

fn field_view(graph: &Graph, purge: &Purge, field: &ReportField, dialect: Dialect) -> FieldView {
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

fn orphan_view(graph: &Graph, id: TableId, edge: &Edge, dialect: Dialect) -> OrphanView {
    let table = graph.table(id);
    OrphanView {
        literal: dialect.text(&format!("{}.{}", table.name, edge.columns())),
        table: dialect.qualified(home(graph, dialect), &table.name),
        column: dialect.ident(&edge.column.name),
        none: none(edge, dialect),
        parent: dialect.qualified(home(graph, dialect), &graph.table(edge.parent).name),
        present: edge
            .pairs()
            .map(|(column, _)| format!("c.{} IS NOT NULL", dialect.ident(&column.name)))
            .collect::<Vec<_>>()
            .join(" AND "),
        same: edge
            .pairs()
            .map(|(column, named)| {
                format!(
                    "p.{} = c.{}",
                    dialect.ident(&named.name),
                    dialect.ident(&column.name)
                )
            })
            .collect::<Vec<_>>()
            .join(" AND "),
    }
}

fn index_view(graph: &Graph, index: &IndexNeed, dialect: Dialect) -> IndexView {
    let table = graph.table(index.table);
    let (columns, conditions, null) = if dialect.facts().partial_indexes {
        (&index.columns, &index.conditions[..], &index.null)
    } else {
        (&index.whole_columns, &[][..], &None)
    };
    let otherwise = |column: &String| {
        let pair = index.otherwise.as_ref();
        pair.filter(|(of, _)| of == column).map(|(_, other)| other)
    };
    let named: Vec<String> = columns
        .iter()
        .flat_map(|column| std::iter::once(column).chain(otherwise(column)))
        .cloned()
        .collect();
    let name = index_name(dialect, &table.name, &named);
    let width = columns.len();
    let both = |column: &str, other: &str| {
        format!(
            "coalesce({},{})",
            dialect.ident(column),
            dialect.ident(other)
        )
    };
    let places = columns
        .iter()
        .map(|column| match otherwise(column) {
            None => dialect.text(column),
            Some(other) => dialect.text(&both(column, other)),
        })
        .collect();
    let columns = columns
        .iter()
        .map(|column| match otherwise(column) {
            None => dialect.ident(column),
            // MySQL wants an expression between parentheses.
            Some(other) => format!("({})", both(column, other).replace(',', ", ")),
        })
        .collect::<Vec<_>>()
        .join(", ");
    // Behind an index on an expression stands a hidden column, which MySQL adds together with it only where nobody writes.
    let lock = match index.otherwise {
        None => "NONE",
        Some(_) => "SHARED",
    };
    let alter = |change: &str| {
        format!(
            "ALTER TABLE {} {change}, ALGORITHM = INPLACE, LOCK = {lock}",
            dialect.qualified(home(graph, dialect), &table.name)
        )
    };
    let plain = alter(&format!("ADD INDEX {} ({columns})", dialect.ident(&name)));
    IndexView {
        statement: dialect.text(&plain),
        plain,
        undo: dialect.text(&alter(&format!("DROP INDEX {}", dialect.ident(&name)))),
        literal: dialect.text(&name),
        ident: dialect.ident(&name),
        qualified: dialect.qualified(home(graph, dialect), &name),
        table: dialect.qualified(home(graph, dialect), &table.name),
        table_literal: dialect.text(&table.name),
        columns,
        places,
        width,
        expression: index.otherwise.is_some(),
        predicates: conditions
            .iter()
            .map(|condition| dialect.condition(condition))
            .chain(
                null.iter()
                    .map(|column| format!("{} IS NULL", dialect.ident(column))),
            )
            .collect(),
        why: index.why.clone(),
        name,
    }
}

/// The statement that makes each index of the plan, in the plan's order.
pub fn index_statements(graph: &Graph, dialect: Dialect) -> Vec<IndexStatement> {
    let graph = &graph.named_for(dialect);
    plan::make(graph)
        .indexes_for(dialect.facts().partial_indexes)
        .into_iter()
        .map(|need| {
            let view = index_view(graph, &need, dialect);
            let mut sql = match dialect {
                Dialect::Postgres => format!(
                    "CREATE INDEX CONCURRENTLY IF NOT EXISTS {} ON {} ({})",
                    view.ident, view.table, view.columns
                ),
                Dialect::Mysql | Dialect::Mariadb => view.plain,
            };
            if !view.predicates.is_empty() {
                sql += &format!(" WHERE {}", view.predicates.join(" AND "));
            }
            IndexStatement {
                name: view.name,
                sql,
                need,
            }
        })
        .collect()
}

/// An index of the plan, what it is called, and the statement that makes it, as `20_indexes.sql` has it.
#[derive(Debug)]
pub struct IndexStatement {
    /// Its name.
    pub name: String,
    /// The statement, on one line.
    pub sql: String,
    /// What it is for.
    pub need: IndexNeed,
}

/// The type of a key in a work table; empty where that takes over the type and the collation of a key that is no number.
fn id_type(dialect: Dialect, kind: Kind) -> &'static str {
    match (dialect, kind) {
        (Dialect::Mysql | Dialect::Mariadb, Kind::Uuid | Kind::Varchar) => "",
        (_, kind) => dialect.kind(kind),
    }
}

/// The key before all others of its type, as a literal.
fn least_key(dialect: Dialect, kind: Kind) -> String {
    let first = match kind {
        Kind::Smallint => "-32768",
        Kind::Integer => "-2147483648",
        Kind::Bigint => "-9223372036854775808",
        // A text there, with dashes or without.
        Kind::Uuid if dialect == Dialect::Mysql => "",
        // The column may be a text without dashes, which has no room for them.
        Kind::Uuid if dialect == Dialect::Mariadb => "00000000000000000000000000000000",
        Kind::Uuid => "00000000-0000-0000-0000-000000000000",
        Kind::Varchar => "",
        Kind::Timestamp | Kind::Timestamptz => "-infinity",
    };
    first_key(dialect, kind, first)
}

/// A key before all others, as a literal.
fn first_key(dialect: Dialect, kind: Kind, first: &str) -> String {
    let number = matches!(kind, Kind::Smallint | Kind::Integer | Kind::Bigint);
    if number && dialect != Dialect::Postgres {
        // A text would be compared as a floating-point number.
        return first.to_owned();
    }
    dialect.text(first)
}

/// `windrow_<table>_<columns>`, cut to the dialect's limit with a hash of the whole name at the end. PostgreSQL keeps
/// index names per schema, so the table is part of it.
pub fn index_name(dialect: Dialect, table: &str, columns: &[String]) -> String {
    within_limit(dialect, format!("windrow_{table}_{}", columns.join("_")))
}

/// A name cut to the dialect's limit, with a hash of the whole one at the end.
fn within_limit(dialect: Dialect, name: String) -> String {
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

/// The class of the advisory locks of one control schema, by which a session says that its run goes on.
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

/// The variable for those keys of a table of which there may be rows; empty where keys are no numbers.
fn near(graph: &Graph, id: TableId) -> String {
    match graph.table(id).key.first().map(|key| key.kind) {
        Some(Kind::Smallint | Kind::Integer | Kind::Bigint) => {
            variable(graph, id).replacen('k', "n", 1)
        }
        _ => String::new(),
    }
}

/// The work table with the same keys.
fn work_table(graph: &Graph, id: TableId) -> String {
    format!("work_{}", variable(graph, id))
}

/// What a scope or key may look like, as a regular expression without its anchors. A value has one spelling, the
/// server's own: two policies for one scope would leave open which of them holds.
fn spelling(kind: Kind) -> &'static str {
    match kind {
        // A cast finds what is out of range.
        Kind::Smallint | Kind::Integer | Kind::Bigint => "(0|-?[1-9][0-9]{0,18})",
        Kind::Uuid => "[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}",
        Kind::Varchar | Kind::Timestamp | Kind::Timestamptz => ".+",
    }
}

/// The same with its anchors.
fn pattern(dialect: Dialect, kind: Kind) -> String {
    let inner = spelling(kind);
    match dialect {
        Dialect::Postgres => format!("^{inner}$"),
        // There, $ would let a line break stand at the end.
        Dialect::Mysql | Dialect::Mariadb => format!("^{inner}\\z"),
    }
}

/// The same for the key of a root. Where there is no type for them, applications write uuids with dashes or without.
fn key_pattern(dialect: Dialect, kind: Kind) -> String {
    match (dialect, kind) {
        (Dialect::Mysql, Kind::Uuid) => {
            "^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\\z".to_owned()
        }
        _ => pattern(dialect, kind),
    }
}

/// A text that looks like a value of a kind, as such a value, as an expression of MySQL.
fn typed(kind: Kind, text: &str) -> String {
    match kind {
        Kind::Smallint | Kind::Integer | Kind::Bigint => format!("CAST({text} AS SIGNED)"),
        _ => text.to_owned(),
    }
}

/// Whether a text that looks like a value of a kind is within its range, as a condition of MySQL.
fn within_range(kind: Kind, text: &str) -> String {
    let (low, high) = match kind {
        Kind::Smallint => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Kind::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Kind::Bigint => (i64::MIN, i64::MAX),
        _ => return "true".to_owned(),
    };
    // Nineteen digits and a sign fit a decimal; they would overflow an integer.
    format!("CAST({text} AS DECIMAL(20)) BETWEEN {low} AND {high}")
}

/// A name inside a comment or inside a quoted text.
fn escaped(dialect: Dialect, name: &str) -> String {
    let name = name.replace('\'', "''").replace(['\n', '\r'], " ");
    match dialect {
        Dialect::Postgres => name,
        Dialect::Mysql | Dialect::Mariadb => name.replace('\\', "\\\\"),
    }
}

/// Schema or database of the application's tables.
pub fn home(graph: &Graph, dialect: Dialect) -> &str {
    if dialect.facts().has_schemas {
        &graph.schema
    } else {
        &graph.database
    }
}

/// `<control>_<suffix>`; where that is too long, all roles of a control schema are cut alike, with a hash of its name.
pub fn role_name(dialect: Dialect, control: &str, suffix: &str) -> String {
    const LONGEST_SUFFIX: usize = "_operator".len();
    let limit = dialect.facts().role_bytes - LONGEST_SUFFIX;
    if control.len() <= limit {
        return format!("{control}_{suffix}");
    }
    let hash = &hex12(control)[..8];
    format!("{}_{hash}_{suffix}", &control[..limit - hash.len() - 1])
}

/// An instant in UTC, given as an expression of MySQL, as the application writes it.
fn local(graph: &Graph, kind: Kind, instant: &str) -> String {
    match (kind, fixed_offset(&graph.time_zone)) {
        // A TIMESTAMP is compared in the zone of the session, which the routines set to UTC.
        (Kind::Timestamptz, _) | (_, Some(0)) => instant.to_owned(),
        (_, Some(seconds)) => format!("{instant} + INTERVAL {seconds} SECOND"),
        (_, None) => format!(
            "CONVERT_TZ({instant}, '+00:00', {})",
            Dialect::Mysql.text(&graph.time_zone)
        ),
    }
}

/// Seconds to add to UTC in a zone that has not changed its clocks since 2000; the servers know the others only where
/// someone has loaded the time zone tables.
fn fixed_offset(zone: &str) -> Option<i32> {
    let since = jiff::Timestamp::from_second(946_684_800).ok()?;
    let zone = jiff::tz::TimeZone::get(zone).ok()?;
    zone.following(since)
        .next()
        .is_none()
        .then(|| zone.to_offset(since).seconds())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(extra: &str) -> Graph {
        let text = format!(
            "name = \"orders\"\n{extra}\n[tables]\norders = {{ key = \"id bigint\" }}\n\
             lines = {{ parents = [\"order_id -> orders.id\", \"other_id -> orders.id\", \"third_id -> orders.id\"], with = \"any\" }}\n\
             [rules.orders]\nstrategy = \"end-time\"\nroot = \"orders\"\ncandidates = {{ kind = 0 }}\n\
             final = {{ state = [1, 2] }}\nend_time = \"ended\"\n\
             retention = {{ default = \"30d\", per = \"shop\", opt_in = true }}\n"
        );
        let (spec, findings) = crate::spec::parse(&text);
        let (graph, more) = crate::graph::build(&spec.expect("a spec"), &text);
        assert!(
            findings.is_empty() && more.is_empty(),
            "{findings:?} {more:?}"
        );
        graph
    }

    fn text(graph: &Graph, dialect: Dialect, name: &str) -> String {
        let bundle = bundle(graph, dialect).expect("it renders");
        let file = bundle
            .files
            .into_iter()
            .find(|file| file.path.ends_with(name));
        file.expect("the file").text
    }

    #[test]
    fn a_role_name_fits_and_tells_control_schemas_apart() {
        let name = role_name(Dialect::Mysql, "windrow_dolphinscheduler", "operator");
        assert_eq!(name, "windrow_dolphi_d04cb0e5_operator");
        assert_eq!(name.len(), Dialect::Mysql.facts().role_bytes);
        assert_ne!(
            name,
            role_name(Dialect::Mysql, "windrow_dolphinscheduler_3_2", "operator")
        );
        assert_eq!(
            role_name(Dialect::Mysql, "windrow_orders", "owner"),
            "windrow_orders_owner"
        );
        assert_eq!(
            role_name(Dialect::Mariadb, "windrow_dolphinscheduler", "operator"),
            name
        );
    }

    #[test]
    fn an_event_starts_when_cron_would() {
        let event = |schedule: &str| {
            let view = event_view(schedule);
            format!("{} {} {}", view.every, view.starts, view.guard)
        };
        for (schedule, expected) in [
            ("30 seconds", "EVERY 30 SECOND '2000-01-01 00:00:00' "),
            ("* * * * *", "EVERY 1 MINUTE '2000-01-01 00:00:00' "),
            ("*/15 * * * *", "EVERY 15 MINUTE '2000-01-01 00:00:00' "),
            ("5-59/10 * * * *", "EVERY 10 MINUTE '2000-01-01 00:05:00' "),
            ("7 * * * *", "EVERY 1 HOUR '2000-01-01 00:07:00' "),
            ("7 */6 * * *", "EVERY 6 HOUR '2000-01-01 00:07:00' "),
            ("30 2 * * *", "EVERY 1 DAY '2000-01-01 02:30:00' "),
            ("30 2 * * 0-7", "EVERY 1 DAY '2000-01-01 02:30:00' "),
            ("30 2 * * 7", "EVERY 1 WEEK '2000-01-02 02:30:00' "),
            ("30 2 * * 6", "EVERY 1 WEEK '2000-01-08 02:30:00' "),
            (
                "30 2 1 * *",
                "EVERY 1 HOUR '2000-01-01 00:30:00' HOUR(UTC_TIMESTAMP()) IN (2) AND DAY(UTC_TIMESTAMP()) IN (1)",
            ),
            (
                "30 2 13 * 5",
                "EVERY 1 HOUR '2000-01-01 00:30:00' HOUR(UTC_TIMESTAMP()) IN (2) AND (DAY(UTC_TIMESTAMP()) IN (13) OR DAYOFWEEK(UTC_TIMESTAMP()) IN (6))",
            ),
            (
                "*/7 * * 1,2 *",
                "EVERY 1 MINUTE '2000-01-01 00:00:00' MINUTE(UTC_TIMESTAMP()) IN (0, 7, 14, 21, 28, 35, 42, 49, 56) AND MONTH(UTC_TIMESTAMP()) IN (1, 2)",
            ),
            (
                "0 20-23,0-5 * * 1-5",
                "EVERY 1 HOUR '2000-01-01 00:00:00' HOUR(UTC_TIMESTAMP()) IN (0, 1, 2, 3, 4, 5, 20, 21, 22, 23) AND DAYOFWEEK(UTC_TIMESTAMP()) IN (2, 3, 4, 5, 6)",
            ),
        ] {
            assert_eq!(event(schedule), expected, "{schedule}");
        }
    }

    #[test]
    fn a_body_has_one_hash_however_a_client_sends_it() {
        let sent = "CREATE PROCEDURE p()\nBEGIN\n    -- why\n    SELECT 'it''s', '\\\\z';\nEND";
        let stored = "CREATE PROCEDURE p()\nBEGIN\n    SELECT 'it\\'s',\n\n '\\z';\nEND";
        let other = "CREATE PROCEDURE p()\nBEGIN\n    SELECT 'its', 'y';\nEND";
        let hash = |sql| {
            Some(body_fingerprint(
                Dialect::Mysql,
                routine_body(Dialect::Mysql, sql)?,
            ))
        };
        assert_eq!(hash(sent), hash(stored));
        assert_ne!(hash(sent), hash(other));
        assert_eq!(hash("DROP TABLE t"), None);
    }

    #[test]
    fn delimiters_are_for_files_only() {
        for dialect in [Dialect::Mysql, Dialect::Mariadb] {
            let bundle = bundle(&graph(""), dialect).expect("it renders");
            for file in &bundle.files {
                for statement in &file.statements {
                    assert!(
                        !statement.sql.contains("DELIMITER") && !statement.sql.contains("$$"),
                        "{}: {}",
                        file.path,
                        statement.what
                    );
                    assert!(!statement.sql.contains("@body@"), "{}", statement.what);
                }
                let count = |what: &str| file.text.matches(what).count();
                assert_eq!(
                    count("DELIMITER $$\n"),
                    count("$$\nDELIMITER ;\n"),
                    "{}",
                    file.path
                );
            }
        }
    }

    #[test]
    fn a_comment_in_a_body_has_a_line_of_its_own() {
        // What stands behind code would not be taken out of the hash, but some clients do not send it.
        for file in bundle(&graph(""), Dialect::Mysql)
            .expect("it renders")
            .files
        {
            for line in file.text.lines() {
                let code = line.split('\'').step_by(2).collect::<Vec<_>>().join("");
                assert!(
                    line.trim_start().starts_with("--") || !code.contains("-- "),
                    "{}: {line}",
                    file.path
                );
            }
        }
    }

    #[test]
    fn the_scan_index_covers_what_is_compared_with_one_value() {
        let graph = graph("database = \"shop\"");
        let mysql = text(&graph, Dialect::Mariadb, "20_indexes.sql");
        assert!(
            mysql.contains("ALTER TABLE `shop`.`orders` ADD INDEX `windrow_orders_shop_kind_ended_id` (`shop`, `kind`, `ended`, `id`),"),
            "{mysql}"
        );
        assert!(
            text(&graph, Dialect::Postgres, "20_indexes.sql")
                .contains("ON \"public\".\"orders\" (\"shop\", \"ended\", \"id\")\n    WHERE ")
        );
    }

    #[test]
    fn a_row_with_several_parents_is_counted_once() {
        let mut steps: Vec<StepView> = Vec::new();
        let edge = |column: &str, keys: &str| EdgeView {
            column: column.to_owned(),
            keys: keys.to_owned(),
            keys_of_rows: keys.to_owned(),
            near: String::new(),
            key_type: "",
            via: None,
            others: Vec::new(),
            between: None,
            none: String::new(),
            unless: String::new(),
        };
        steps.push(StepView {
            position: 1,
            table: String::new(),
            table_literal: String::new(),
            table_class: String::new(),
            why: String::new(),
            releases: Vec::new(),
            key: String::new(),
            collected: String::new(),
            archive: None,
            cascade: None,
            plain: Vec::new(),
            edges: vec![
                edge("a", "w"),
                edge("b", "w"),
                edge("c", "k"),
                edge("d", "w"),
            ],
        });
        let twins = count_once(&mut steps);
        let others: Vec<Vec<(&str, &str)>> = steps[0]
            .edges
            .iter()
            .map(|edge| {
                edge.others
                    .iter()
                    .map(|it| (it.column.as_str(), it.keys.as_str()))
                    .collect()
            })
            .collect();
        // No work table twice in a statement.
        assert_eq!(others[0], []);
        assert_eq!(others[1], [("a", "w_2")]);
        assert_eq!(others[2], [("a", "w"), ("b", "w_2")]);
        assert_eq!(others[3], [("a", "w_2"), ("b", "w_3"), ("c", "k")]);
        assert_eq!(
            twins
                .iter()
                .map(|twin| twin.work.as_str())
                .collect::<Vec<_>>(),
            ["w_2", "w_3"]
        );
    }

    #[test]
    fn probes_are_statements_of_their_server() {
        let sql = |dialect| -> Vec<String> {
            probes(&graph(""), dialect)
                .into_iter()
                .map(|probe| probe.sql)
                .collect()
        };
        assert_eq!(
            sql(Dialect::Mysql)[1..3],
            [
                "SELECT i.`id` FROM (SELECT DISTINCT k.`id` AS k FROM `orders`.`orders` AS k LIMIT 3) AS w STRAIGHT_JOIN `orders`.`orders` AS i ON i.`id` = w.k ORDER BY w.k FOR UPDATE SKIP LOCKED",
                "DELETE `orders`.`lines` FROM (SELECT DISTINCT k.`id` AS k FROM `orders`.`orders` AS k LIMIT 3) AS w STRAIGHT_JOIN `orders`.`lines` ON `orders`.`lines`.`order_id` = w.k",
            ]
        );
        assert_eq!(
            sql(Dialect::Postgres)[2],
            "DELETE FROM \"public\".\"lines\" AS t WHERE t.\"order_id\" = ANY ('{1,2,3}'::bigint[])"
        );
    }

    #[test]
    fn cutoffs_are_counted_in_the_zone_of_the_application() {
        for (zone, expected) in [
            ("UTC", ""),
            ("Asia/Shanghai", "+ INTERVAL 28800 SECOND"),
            ("Europe/Berlin", "'+00:00', 'Europe/Berlin'"),
        ] {
            let text = local(
                &graph(&format!("time_zone = \"{zone}\"")),
                Kind::Timestamp,
                "t",
            );
            assert!(text.contains(expected), "{zone}: {text}");
            let instant = local(
                &graph(&format!("time_zone = \"{zone}\"")),
                Kind::Timestamptz,
                "t",
            );
            assert_eq!(instant, "t");
        }
    }
}
