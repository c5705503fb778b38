//! Monitoring at work: all metrics arrive from all three servers, every panel of the dashboard has data, and every alert fires in
//! an outage that is staged for it, naming the server, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use url::form_urlencoded;
use windrow::render::monitoring::METRICS;

use super::generated;
use super::ground::{Ground, here, program};
use super::outages::{self, OUTAGES};
use crate::harness::tests;
use crate::support::browser::Browser;
use crate::support::patience::until;

tests! {
    when_asked: [
        what_happens_on_a_server_is_seen,
        grafana_knows_the_fields_of_every_dashboard,
    ],
}

/// The dashboard of the spec that is watched.
fn dashboard() -> Result<Value> {
    let path = here("generated/dolphinscheduler/monitoring/dashboard.json");
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

/// The expressions of all panels, for these servers.
fn expressions(dashboard: &Value, instances: &str) -> Result<Vec<String>> {
    let panels = dashboard["panels"].as_array().context("panels")?;
    let targets = panels.iter().map(|panel| panel["targets"].as_array());
    let targets: Option<Vec<_>> = targets.collect();
    let expressions = targets.context("targets")?.into_iter().flatten();
    let expressions = expressions.map(|target| target["expr"].as_str());
    let expressions: Option<Vec<_>> = expressions.collect();
    let expressions = expressions.context("expressions")?.into_iter();
    Ok(expressions
        .map(|expression| expression.replace("$instance", instances))
        .collect())
}

/// The servers that some samples, or alerts, are of.
fn instances<'a>(samples: impl IntoIterator<Item = &'a Value>, labels: &str) -> BTreeSet<String> {
    let samples = samples.into_iter();
    samples
        .map(|sample| {
            let instance = sample[labels]["instance"].as_str();
            instance.unwrap_or_default().to_owned()
        })
        .collect()
}

/// Which servers an alert fires for. What it says names the server.
fn firing(ground: &Ground, alert: &str) -> Result<BTreeSet<String>> {
    let data = ground.data("alerts")?;
    let alerts = data["alerts"].as_array().context("alerts")?;
    let alerts: Vec<&Value> = alerts
        .iter()
        .filter(|it| it["labels"]["alertname"] == alert && it["state"] == "firing")
        .collect();
    for it in &alerts {
        let says = it["annotations"]["summary"].as_str().unwrap_or_default();
        let instance = it["labels"]["instance"].as_str().unwrap_or_default();
        let begin = format!("windrow dolphinscheduler on {instance}: ");
        ensure!(says.starts_with(&begin), "{it}");
    }
    Ok(instances(alerts, "labels"))
}

/// Waits until an alert fires for these servers and no other.
fn fires(ground: &Ground, alert: &str, expected: &BTreeSet<String>) -> Result<()> {
    let mut seen = BTreeSet::new();
    until(&format!("{alert} for {expected:?}"), || {
        seen = firing(ground, alert)?;
        Ok(seen == *expected)
    })
    .with_context(|| format!("seen: {seen:?}; {}", ground.log("exporter")))
}

/// Which servers send a metric now.
fn senders(ground: &Ground, metric: &str) -> Result<BTreeSet<String>> {
    let samples = ground.query(&format!("{metric}{{spec=\"dolphinscheduler\"}}"))?;
    Ok(instances(&samples, "metric"))
}

/// No alert is pending or fires, and none was for eight scrapes.
fn is_quiet(ground: &Ground, when: &str) -> Result<()> {
    let calm = "ALERTS or absent(min(count_over_time(windrow_armed[1m])) > 8)";
    until(&format!("no alert {when}"), || {
        Ok(ground.query(calm)?.is_empty())
    })?;
    let past = ground.query("last_over_time(ALERTS[8s])")?;
    let only_absent = past
        .iter()
        .all(|it| it["metric"]["alertname"] == "WindrowMetricsAbsent");
    ensure!(only_absent, "{when}: {past:?}");
    Ok(())
}

fn what_happens_on_a_server_is_seen() -> Result<()> {
    let mut ground = Ground::new()?;
    let all: BTreeSet<String> = ground.hosts.iter().map(|it| it.name.to_owned()).collect();
    until("metrics from all servers", || {
        Ok(senders(&ground, "windrow_armed")? == all)
    })
    .with_context(|| ground.log("exporter"))?;
    is_quiet(&ground, "at first")?;

    let hosts = ground.hosts.iter_mut();
    let runs: Vec<_> = hosts.map(outages::in_progress).collect::<Result<_>>()?;
    every_metric_and_panel_is_there(&ground, &all)?;
    is_quiet(&ground, "while all is well")?;
    for (host, run) in ground.hosts.iter_mut().zip(runs) {
        outages::ends(host, run)?;
    }

    let mut staged = BTreeSet::new();
    for outage in OUTAGES {
        staged.extend(outage.alerts);
        for alert in outage.alerts {
            fires(&ground, alert, &BTreeSet::new())?;
        }
        let mut hit = BTreeSet::new();
        for at in 0..ground.hosts.len() {
            let host = &mut ground.hosts[at];
            (outage.begin)(host).with_context(|| format!("{}: {:?}", host.name, outage.alerts))?;
            hit.insert(host.name.to_owned());
            for alert in outage.alerts {
                fires(&ground, alert, &hit)?;
            }
        }
        if outage.alerts.contains(&"WindrowDisarmed") {
            let drawn = "document.body.textContent.includes('WindrowDisarmed')";
            look(&ground, "/classic/alerts", "prometheus-alerts.png", drawn)?;
        }
        for host in &mut ground.hosts {
            (outage.end)(host).with_context(|| format!("{}: {:?}", host.name, outage.alerts))?;
        }
    }
    let rules = ground.data("rules")?;
    let rules = rules["groups"][0]["rules"].as_array().context("rules")?;
    let rules: BTreeSet<&str> = rules
        .iter()
        .filter(|rule| rule["type"] == "alerting")
        .filter_map(|rule| rule["name"].as_str())
        .collect();
    ensure!(rules == staged, "staged: {staged:?}, of {rules:?}");
    is_quiet(&ground, "after all outages")
}

/// Every metric comes from every server, every panel has data of all of them and of one alone, and the variable lists them.
fn every_metric_and_panel_is_there(ground: &Ground, all: &BTreeSet<String>) -> Result<()> {
    for metric in METRICS {
        let mut seen = BTreeSet::new();
        until(&format!("{} from all servers", metric.name), || {
            seen = senders(ground, metric.name)?;
            Ok(seen == *all)
        })
        .with_context(|| format!("seen: {seen:?}"))?;
    }
    let dashboard = dashboard()?;
    let names: Vec<&str> = all.iter().map(String::as_str).collect();
    // As Grafana writes a variable of several values into a regular expression.
    let every = format!("({})", names.join("|"));
    for (pattern, expected) in [(every.as_str(), all.clone())]
        .into_iter()
        .chain(names.iter().map(|it| (*it, [(*it).to_owned()].into())))
    {
        for expression in expressions(&dashboard, pattern)? {
            // A rate is there with the second sample.
            until(&format!("{expected:?} in {expression}"), || {
                Ok(instances(&ground.query(&expression)?, "metric") == expected)
            })?;
        }
    }

    let variables = dashboard["templating"]["list"].as_array();
    let variables = variables.context("variables")?.iter();
    let mut variables = variables.filter(|it| it["name"] == "instance");
    let variable = variables.next().context("the variable")?;
    let query = variable["query"]["query"].as_str().context("a query")?;
    let (metric, label) = query
        .strip_prefix("label_values(")
        .and_then(|rest| rest.strip_suffix(')'))
        .and_then(|rest| rest.rsplit_once(", "))
        .context("the values of a label")?;
    let asked: String = form_urlencoded::byte_serialize(metric.as_bytes()).collect();
    let values = ground.data(&format!("label/{label}/values?match[]={asked}"))?;
    ensure!(values == json!(all), "{values}");

    // The page of Prometheus numbers its graphs by one digit.
    let graphs = expressions(&dashboard, &every)?;
    for (number, graphs) in graphs.chunks(9).enumerate() {
        let mut page = form_urlencoded::Serializer::new(String::new());
        for (at, expression) in graphs.iter().enumerate() {
            page.append_pair(&format!("g{at}.expr"), expression);
            page.append_pair(&format!("g{at}.tab"), "0");
            page.append_pair(&format!("g{at}.range_input"), "1m");
        }
        let drawn = format!(
            "(them => them.length == {} && them.every(it => {}.every(name => it.textContent.includes(name))))([...document.querySelectorAll('.rickshaw_legend')])",
            graphs.len(),
            json!(all)
        );
        let path = format!("/classic/graph?{}", page.finish());
        let picture = format!("prometheus-panels-{}.png", number + 1);
        look(ground, &path, &picture, &drawn)?;
    }
    Ok(())
}

/// Opens a page of Prometheus, waits until this is true in it, and takes a picture.
fn look(ground: &Ground, path: &str, picture: &str, drawn: &str) -> Result<()> {
    let mut browser = Browser::open();
    browser.visit(&ground.page(path), 1200, false);
    let seen = until(&format!("{picture}: {drawn}"), || {
        Ok(browser.evaluate(drawn) == true)
    });
    browser.take(picture);
    seen
}

/// The types that Grafana publishes of a dashboard take every one that is generated.
fn grafana_knows_the_fields_of_every_dashboard() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let modules = program("npm/node_modules");
    std::os::unix::fs::symlink(&modules, folder.path().join("node_modules"))?;
    let check = |names: &[String]| -> Result<(bool, String)> {
        let output = Command::new(modules.join(".bin/tsc"))
            .args([
                "--noEmit",
                "--strict",
                "--skipLibCheck",
                "--module",
                "nodenext",
            ])
            .args(names)
            .current_dir(folder.path())
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok((output.status.success(), said))
    };
    let write = |name: &str, text: &str| {
        let typed = format!(
            "import {{ type Dashboard }} from '@grafana/schema';\nexport const it: Dashboard = {text};\n"
        );
        fs::write(folder.path().join(name), typed)
    };
    let mut names = Vec::new();
    for (number, file) in generated("monitoring/dashboard.json").iter().enumerate() {
        let name = format!("dashboard{number}.ts");
        write(&name, &fs::read_to_string(file)?)?;
        names.push(name);
    }
    let (content, said) = check(&names)?;
    ensure!(content, "{said}");
    // They are no rubber stamp.
    write(
        "wrong.ts",
        &dashboard()?.to_string().replace("\"title\"", "\"titel\""),
    )?;
    let (content, said) = check(&["wrong.ts".to_owned()])?;
    ensure!(!content && said.contains("titel"), "{said}");
    Ok(())
}
