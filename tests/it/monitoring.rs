//! What is generated for monitoring systems, without a database: the rules in Prometheus' own tool, the collector file by
//! the fields of sql_exporter's documentation, the dashboard by the metrics that it names. `make prove` runs all but the collector.

mod ground;
mod outages;
mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use windrow::render::monitoring::{LABELS, METRICS};

use crate::harness::tests;

tests! {
    within: [watched::tests],
    lint: [
        prometheus_takes_the_alert_rules_and_they_name_metrics_that_exist,
        the_alerts_fire_when_they_should,
        the_dashboard_shows_metrics_that_exist,
        the_collector_file_has_the_fields_of_its_documentation,
    ],
}

/// A collector file: `collector_name`, `metrics` and `queries`, and no other field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Collector {
    pub(crate) collector_name: String,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) queries: Vec<Query>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Metric {
    pub(crate) metric_name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) help: String,
    pub(crate) static_labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) key_labels: Vec<String>,
    pub(crate) values: Vec<String>,
    pub(crate) query_ref: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    pub(crate) query_name: String,
    pub(crate) query: String,
}

pub(crate) fn collector(text: &str) -> Collector {
    serde_yaml_ng::from_str(text).expect("a collector file")
}

/// The generated files with this name, of all specs.
fn generated(name: &str) -> Vec<PathBuf> {
    fn look(folder: &Path, name: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a readable folder") {
            let path = entry.expect("a folder entry").path();
            if path.is_dir() {
                look(&path, name, found);
            } else if path.ends_with(name) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    look(&root.join("generated"), name, &mut found);
    assert!(found.len() > 3, "{name}: {found:?}");
    found
}

fn promtool(arguments: &[&str], files: &[PathBuf]) -> (bool, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(root.join(".ci/promtool"))
        .args(arguments)
        .args(files)
        .output()
        .expect("a shell script runs");
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    (output.status.success(), said)
}

/// Every name of a metric in an expression.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_')
        .filter(|word| word.starts_with("windrow_"))
        .collect()
}

fn is_known(name: &str) -> bool {
    METRICS.iter().any(|metric| metric.name == name)
}

fn prometheus_takes_the_alert_rules_and_they_name_metrics_that_exist() {
    let files = generated("monitoring/alerts.yml");
    let (content, said) = promtool(&["check", "rules"], &files);
    assert!(content, "{said}");
    for file in files {
        let text = fs::read_to_string(file).expect("a readable file");
        let expressions: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("windrow_") && line.contains("{spec="))
            .collect();
        assert!(expressions.len() >= 9, "{text}");
        for name in metrics_in(&expressions.join("\n")) {
            assert!(is_known(name), "{name}");
        }
    }
}

/// Promtool plays two days: a rule falls behind and the last run fails.
fn the_alerts_fire_when_they_should() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let rules = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("generated/dolphinscheduler/monitoring/alerts.yml");
    let file = folder.path().join("test.yml");
    let text = include_str!("monitoring/alerts.test.yml")
        .replace("[RULES]", &format!("[{}]", rules.display()));
    fs::write(&file, text).expect("a writable folder");
    let (content, said) = promtool(&["test", "rules"], &[file]);
    assert!(content, "{said}");
}

fn the_dashboard_shows_metrics_that_exist() {
    for file in generated("monitoring/dashboard.json") {
        let text = fs::read_to_string(&file).expect("a readable file");
        let dashboard: Value = serde_json::from_str(&text).expect("JSON");
        let panels = dashboard["panels"].as_array().expect("panels");
        let mut shown = BTreeSet::new();
        for target in panels
            .iter()
            .flat_map(|panel| panel["targets"].as_array().expect("targets"))
        {
            let expression = target["expr"].as_str().expect("an expression");
            if expression.starts_with("windrow:") {
                // What the rules record beside the alerts.
                let rules = fs::read_to_string(file.with_file_name("alerts.yml"));
                let rules = rules.expect("a readable file");
                for name in ["windrow:since_success:seconds", "windrow:state:info"] {
                    assert!(expression.contains(name), "{expression}");
                    assert!(rules.contains(&format!("- record: {name}\n")), "{rules}");
                }
                assert!(expression.contains("instance=~\"$instance\""));
                continue;
            }
            let names = metrics_in(expression);
            assert_eq!(names.len(), 1, "{expression}");
            for name in names {
                assert!(is_known(name), "{expression}");
                shown.insert(name);
            }
            assert!(
                expression.contains("instance=~\"$instance\""),
                "{expression}"
            );
            // What a legend names is a label of the metric, and it tells servers apart.
            let legend = target["legendFormat"].as_str().unwrap_or_default();
            assert!(legend.contains("{{instance}}"), "{legend}");
            for label in legend
                .split("{{")
                .skip(1)
                .filter_map(|part| part.split("}}").next())
            {
                let of = METRICS
                    .iter()
                    .find(|metric| expression.contains(metric.name));
                let labels = of.map_or(&[][..], |metric| metric.labels);
                let known = label == "instance" || labels.contains(&label);
                assert!(known, "{legend} of {expression}");
            }
        }
        assert!(shown.len() > 15, "{shown:?}");
        let mut ids: Vec<&Value> = panels.iter().map(|panel| &panel["id"]).collect();
        ids.dedup();
        assert_eq!(ids.len(), panels.len());
    }
}

fn the_collector_file_has_the_fields_of_its_documentation() {
    for file in generated("metrics.collector.yml") {
        let text = fs::read_to_string(file).expect("a readable file");
        let collector = collector(&text);
        assert!(collector.collector_name.starts_with("windrow_"));
        let [query] = &collector.queries[..] else {
            panic!("one query: {text}")
        };
        let names: Vec<&str> = collector
            .metrics
            .iter()
            .map(|it| it.metric_name.as_str())
            .collect();
        let known: Vec<&str> = METRICS.iter().map(|it| it.name).collect();
        assert_eq!(names, known);
        for metric in &collector.metrics {
            assert_eq!(metric.query_ref, query.query_name);
            assert_eq!(metric.values, [metric.metric_name.as_str()]);
            assert!(metric.help.ends_with('.'));
            assert!(metric.static_labels.contains_key("spec"));
            let counts = metric.metric_name.ends_with("_total");
            assert_eq!(metric.kind, if counts { "counter" } else { "gauge" });
            let known = |label: &String| LABELS.contains(&label.as_str());
            assert!(metric.key_labels.iter().all(known));
            assert!(
                query
                    .query
                    .contains(&format!("END AS {}", metric.metric_name))
            );
        }
    }
}
