//! `check`: the spec alone, or against a live database.

use serde_json::{Value, json};

use super::answer::{Exit, show};
use super::fitting::{findings, fitting};
use super::session::{Session, address, calls, is_of_another_spec, of_another_spec};
use super::specs::read_spec;
use crate::answers::{Checked, Explained};
use crate::calls::Calls;
use crate::cli::{Check, Output};
use crate::db::{self, Database};
use crate::diagnostic::Diagnostic;
use crate::failure::{self, Failure};
use crate::fit::{self, Finding, Severity};
use crate::graph::Graph;
use crate::lint;
use crate::render;
use crate::report::summary;
use crate::ui::{Ui, counted};

/// Checks, or explains a code.
pub(super) fn check(args: &Check, ui: &Ui) -> anyhow::Result<Exit> {
    if let Some(code) = &args.explain {
        let Some(text) = fit::explain(code).or_else(|| lint::explain::explain(code)) else {
            return Err(Failure::new(format!("unknown code `{code}`"))
                .hint("the code is the word in brackets after `error`, `warning` or `notice`")
                .into());
        };
        let explained = Explained {
            code: code.clone(),
            explanation: text,
        };
        show(ui, args.output, &explained, || text.to_owned());
        return Ok(Exit::Clean);
    }
    let Some(spec) = &args.spec else {
        return Err(Failure::new("no spec given").into());
    };
    let (graph, in_spec) = read_spec(spec)?;
    if args.output == Output::Text && !in_spec.diagnostics.is_empty() {
        ui.findings(&in_spec.text());
    }
    let Some(graph) = graph else {
        if args.output == Output::Json {
            ui.json(&Checked {
                spec: None,
                diagnostics: in_spec.located(),
                findings: Vec::new(),
            });
        }
        return Ok(Exit::Found);
    };
    // An empty WINDROW_URL is none.
    let given = args.database.as_ref().filter(|url| !url.is_empty());
    let findings = match given {
        None => Vec::new(),
        Some(url) => {
            let url = address(Some(url), args.password_file.as_deref())?;
            let mut database = db::connect(&url)?;
            let calls = calls(&graph, database.server()?.dialect)?;
            let (source, dialect) = (&in_spec.source, calls.dialect());
            let fitting = fitting(graph.clone(), source, dialect, database.as_mut())?;
            if is_of_another_spec(&fitting.graph, &calls, database.as_mut()) {
                ui.warning(&of_another_spec(spec));
            }
            let mut findings = findings(&fitting.left_out, &fitting.wrong);
            findings.extend(compare(
                &fitting.graph,
                &calls,
                database.as_mut(),
                args.threshold,
            )?);
            findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
            findings
        }
    };
    let checked = Checked {
        spec: Some(graph.name),
        diagnostics: in_spec.located(),
        findings,
    };
    match args.output {
        Output::Json => ui.json(&checked),
        Output::Text => {
            let texts: Vec<String> = checked.findings.iter().map(ToString::to_string).collect();
            if !texts.is_empty() {
                ui.data(&texts.join("\n\n"));
            }
        }
    }
    ui.note(&with_spec(&in_spec.diagnostics, &checked.findings));
    let mut findings = checked.findings.iter();
    let to_look_at = findings.any(|finding| finding.severity > Severity::Notice);
    Ok(Exit::found(to_look_at || !in_spec.diagnostics.is_empty()))
}

/// The same of the database of a session. It sets how this one plans: nothing else is to be asked of it afterwards.
pub(super) fn of_session(session: &mut Session, threshold: i64) -> anyhow::Result<Vec<Finding>> {
    let mut found = findings(&session.left_out, &session.wrong);
    let database = session.database.as_mut();
    found.extend(compare(
        &session.graph,
        &session.calls,
        database,
        threshold,
    )?);
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Ok(found)
}

/// Everything that the live database says about the spec.
pub(super) fn compare(
    graph: &Graph,
    calls: &Calls,
    database: &mut dyn Database,
    threshold: i64,
) -> anyhow::Result<Vec<Finding>> {
    let graph = &graph.named_for(calls.dialect());
    let mut catalog = database.catalog(render::home(graph, calls.dialect()))?;
    catalog.spell_like(graph);
    let mut findings = fit::compare(graph, &catalog);
    for claims in render::claims(graph, calls.dialect())? {
        match database.query(&claims, &[]) {
            Ok(rows) => findings.extend(fit::claimed(&rows)),
            Err(error) if failure::is_denied(&error) => findings.push(fit::unseen_accounts()),
            Err(error) => return Err(error),
        }
    }
    // Where nothing is installed, there are none.
    if let Ok(policies) = database.query(&calls.retentions(), &[]) {
        findings.extend(fit::under_minimum(graph, &policies));
    }
    let decided = match database.query(&calls.decided(), &[]) {
        Ok(rows) => rows,
        // An earlier version has no such view, and perhaps not all of the tables.
        Err(_) => calls
            .decided_before()
            .iter()
            .filter_map(|of_a_kind| database.query(of_a_kind, &[]).ok())
            .flatten()
            .collect(),
    };
    findings.extend(fit::orphaned(graph, calls.dialect(), &decided));
    if let Ok(installed) = database.query(&calls.installed_spec(), &[]) {
        findings.extend(fit::of_another_spec(graph, calls.name(), &installed));
    }
    for zone in render::named_zones(graph) {
        // PostgreSQL has its zones always.
        let rows = database.query(calls.offset(), &[Some(zone)])?;
        if rows.first().is_some_and(|row| row[0].is_none()) {
            findings.push(fit::unknown_zone(zone));
        }
    }
    let mut planned = Vec::new();
    let mut denied = Vec::new();
    let mut off = Vec::new();
    for setting in render::planner(calls.dialect()) {
        database.execute(&setting)?;
    }
    for probe in render::probes(graph, calls.dialect())? {
        plan_as(database, calls, &probe.off, &mut off)?;
        match database.query(&calls.explain(&probe.sql), &[]) {
            Ok(plan) => planned.extend(fit::judge_plan(
                &probe, &plan, &catalog, &findings, threshold,
            )),
            // One role without rights is one finding, not one for each statement.
            Err(error) if failure::is_denied(&error) => denied.push(probe.what),
            Err(error) => planned.extend(fit::unplanned(
                &probe.what,
                &probe.table,
                &format!("{error:#}"),
                &findings,
            )),
        }
    }
    plan_as(database, calls, &[], &mut off)?;
    planned.extend(fit::denied(&catalog, &denied));
    findings.extend(told_once(planned));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Ok(findings)
}

/// Makes the planner of PostgreSQL plan as in a routine that turns some settings off; `before` are those of the last one.
fn plan_as(
    database: &mut dyn Database,
    calls: &Calls,
    off: &[&'static str],
    before: &mut Vec<&'static str>,
) -> anyhow::Result<()> {
    if before != off
        && let Some(planner) = calls.planner(off)
    {
        database.query(&planner, &[])?;
        *before = off.to_vec();
    }
    Ok(())
}

/// Of the statements that read a table whole, the first is reported: an index that one lacks, others lack as well.
fn told_once(planned: Vec<Finding>) -> Vec<Finding> {
    let mut told: Vec<Finding> = Vec::new();
    for finding in planned {
        let same = |it: &Finding| {
            (it.code, &it.object, it.severity) == (finding.code, &finding.object, finding.severity)
        };
        if finding.code != "seq-scan" || !told.iter().any(same) {
            told.push(finding);
        }
    }
    told
}

/// What was found in the spec, if anything, and in the database.
fn with_spec(in_spec: &[Diagnostic], findings: &[Finding]) -> String {
    let found = summary(findings);
    let of_spec = match in_spec.len() as i64 {
        0 => return found,
        count => counted(count, "warning about the spec", "warnings about the spec"),
    };
    if findings.is_empty() {
        of_spec
    } else {
        format!("{of_spec}, {found}")
    }
}

/// Whether a finding keeps a spec from being installed; an invalid index of windrow's own is mended by the installation.
pub(super) fn stops(finding: &Finding) -> bool {
    finding.severity == Severity::Error && finding.code != "invalid-index"
}

/// Findings as the database keeps them after a forced install.
pub(super) fn record(findings: &[Finding]) -> Value {
    json!(
        findings
            .iter()
            .filter(|finding| stops(finding))
            .collect::<Vec<_>>()
    )
}
