//! Drafts for databases whose specs people wrote, compared with these: which edges are there, which are false, and when a row has ended.

use std::collections::{BTreeMap, BTreeSet};

use windrow::demo::SYSTEMS;
use windrow::dialect::Dialect;
use windrow::graph::{Action, Graph, Test};

use super::{against, draft};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        a_draft_says_what_people_wrote,
    ],
}

/// The edges below a root: table, columns and parent in lower case, and whether a row keeps what it names.
fn edges(graph: &Graph, root: &str) -> BTreeMap<(String, String, String), bool> {
    let mut below = BTreeSet::from([root.to_lowercase()]);
    let mut edges = BTreeMap::new();
    loop {
        let before = edges.len();
        for table in &graph.tables {
            for edge in table
                .edges
                .iter()
                .filter(|edge| edge.action != Action::SetNull)
            {
                let parent = graph.table(edge.parent).name.to_lowercase();
                // That its parents name a row is another way to say that it belongs to them.
                if below.contains(&parent) && !edge.alone {
                    let keeps = edge.action == Action::Restrict;
                    let name = table.name.to_lowercase();
                    if !keeps {
                        below.insert(name.clone());
                    }
                    edges.insert((name, edge.columns().to_lowercase(), parent), keeps);
                }
            }
        }
        if edges.len() == before {
            return edges;
        }
    }
}

/// The final states of the rule of a root.
fn finals(graph: &Graph, root: &str) -> BTreeSet<String> {
    let rule = graph
        .rules
        .iter()
        .find(|rule| graph.table(rule.root).name.eq_ignore_ascii_case(root));
    let rule = rule.expect("a rule of the root");
    let tests = rule.r#final.iter().map(|condition| &condition.test);
    tests
        .flat_map(|test| match test {
            Test::OneOf(values) => values.iter().map(|value| format!("{value:?}")).collect(),
            _ => Vec::new(),
        })
        .collect()
}

/// The systems, their roots, and the specs that people wrote.
const WRITTEN: [(&str, &str, &str); 7] = [
    (
        "dolphinscheduler",
        "t_ds_workflow_instance",
        include_str!("../../../specs/dolphinscheduler.toml"),
    ),
    (
        "airflow-3",
        "dag_run",
        include_str!("../../../specs/airflow-3.toml"),
    ),
    (
        "camunda7",
        "act_hi_procinst",
        include_str!("../../../specs/camunda7-end-time.toml"),
    ),
    (
        "yworkflow",
        "workflow_instance",
        include_str!("../../../specs/yworkflow.toml"),
    ),
    (
        "prefect-3",
        "flow_run",
        include_str!("../../../specs/prefect-3.toml"),
    ),
    (
        "mlflow-3",
        "runs",
        include_str!("../../../specs/mlflow-3.toml"),
    ),
    (
        "mlflow-3",
        "trace_info",
        include_str!("../../../specs/mlflow-3.toml"),
    ),
];

/// What a draft is worth, over all systems: edges by what they rest on, and those of them that it has.
#[derive(Debug, Default)]
struct Score {
    /// Edges that people wrote, and that a foreign key has, too: how many there are, and how many of them a draft has.
    keyed: (usize, usize),
    /// Those without a foreign key.
    unkeyed: (usize, usize),
    /// Edges of drafts: how many there are, and how many of them nobody wrote and no foreign key has.
    drafted: (usize, usize),
    /// Those of the latter that are not marked as guesses.
    unmarked: Vec<(String, String, String)>,
}

/// The edges that foreign keys are: table, columns and parent in lower case.
fn keys(database: &Installation) -> BTreeSet<(String, String, String)> {
    let schema = match database.dialect {
        Dialect::Postgres => "public",
        Dialect::Mysql | Dialect::Mariadb => database.name.as_str(),
    };
    let catalog = database.connect().catalog(schema).expect("a catalog");
    let all = catalog.tables.iter();
    let all = all.flat_map(|(table, live)| live.foreign_keys.iter().map(move |key| (table, key)));
    all.map(|(table, key)| {
        let parent = key.target.rsplit('.').next().unwrap_or(&key.target);
        (
            table.to_lowercase(),
            key.columns.join(", ").to_lowercase(),
            parent.to_lowercase(),
        )
    })
    .collect()
}

/// The edges that a draft marks as guesses or as questions: the comments before a table are about its parents, in their order.
fn marked(text: &str, graph: &Graph) -> BTreeSet<(String, String, String)> {
    let (_, tables) = text.split_once("[tables]\n").expect("tables");
    let mut marked = BTreeSet::new();
    let mut comments: Vec<&str> = Vec::new();
    for line in tables.lines().take_while(|line| !line.is_empty()) {
        if let Some(comment) = line.strip_prefix("# ") {
            if !comment.starts_with("? A row is deleted when all") {
                comments.push(comment);
            }
            continue;
        }
        let name = line.split_once(" = ").expect("a table").0.trim_matches('"');
        let table = graph.tables.iter().find(|table| table.name == name);
        let table = table.expect("a table of the graph");
        assert_eq!(table.edges.len(), comments.len(), "{line}");
        for (edge, _) in table
            .edges
            .iter()
            .zip(&comments)
            .filter(|(_, told)| told.starts_with("? "))
        {
            marked.insert((
                name.to_lowercase(),
                edge.columns().to_lowercase(),
                graph.table(edge.parent).name.to_lowercase(),
            ));
        }
        comments.clear();
    }
    marked
}

fn a_draft_says_what_people_wrote(dialect: Dialect) {
    let mut score = Score::default();
    for (name, root, spec) in WRITTEN {
        let system = SYSTEMS
            .iter()
            .find(|system| system.name == name)
            .expect("a system");
        let Some(scripts) = system.scripts(dialect) else {
            continue;
        };
        let written = graph_of(spec);
        let mut database = Installation::of(dialect, scripts.schema, &written);
        database.execute(&format!("SET {} = 300", scripts.size));
        database.execute(scripts.history);
        let text = draft(&database, root);
        let drafted = graph_of(&text);
        assert_eq!(against(&database, &text), "", "{name}\n{text}");

        let (ours, theirs) = (edges(&drafted, root), edges(&written, root));
        let keys = keys(&database);
        let mut missed = Vec::new();
        for edge in theirs.keys() {
            let count = if keys.contains(edge) {
                &mut score.keyed
            } else {
                &mut score.unkeyed
            };
            count.0 += 1;
            if ours.contains_key(edge) {
                count.1 += 1;
            } else {
                missed.push(edge);
            }
        }
        assert!(
            missed.len() * 5 <= theirs.len() && !missed.iter().any(|edge| keys.contains(*edge)),
            "{name}: missed {missed:#?}\n{text}"
        );
        let marked = marked(&text, &drafted);
        let mut falses = ours.keys().filter(|edge| !theirs.contains_key(*edge));
        score.drafted.0 += ours.len();
        for edge in falses.by_ref().filter(|edge| !keys.contains(*edge)) {
            score.drafted.1 += 1;
            if !marked.contains(edge) {
                score.unmarked.push(edge.clone());
            }
        }
        // What people keep is not deleted by a draft.
        for (edge, keeps) in &theirs {
            assert!(
                !keeps || ours.get(edge) != Some(&false),
                "{name}: {edge:?}\n{text}"
            );
        }
        ends(name, root, &drafted, &written, &text);
    }
    assert_eq!(score.keyed.0, score.keyed.1, "{score:?}");
    assert!(score.keyed.0 > 0 && score.unkeyed.0 > 0, "{score:?}");
    assert!(score.unkeyed.1 * 10 >= score.unkeyed.0 * 9, "{score:?}");
    assert!(score.unmarked.len() * 20 <= score.drafted.0, "{score:?}");
}

/// What is final, since when, and how long it is kept.
fn ends(name: &str, root: &str, drafted: &Graph, written: &Graph, text: &str) {
    let end = |graph: &Graph| {
        let mut rules = graph.rules.iter();
        let rule = rules.find(|rule| graph.table(rule.root).name.eq_ignore_ascii_case(root));
        rule.expect("a rule of the root")
            .end_time
            .name
            .to_lowercase()
    };
    // A draft goes by what has ended; what people delete of MLflow is what its users have deleted before.
    let deleted = (name, root) == ("mlflow-3", "runs");
    let (states, ended) = if deleted {
        let states = ["FAILED", "FINISHED", "KILLED"].map(|state| format!("Text({state:?})"));
        (states.into(), "end_time".to_owned())
    } else {
        (finals(written, root), end(written))
    };
    assert_eq!(end(drafted), ended, "{name}\n{text}");
    let found = finals(drafted, root);
    assert!(
        found.is_subset(&states) && found.is_empty() == states.is_empty(),
        "{name}: {found:?} {states:?}\n{text}"
    );
    // Nothing is old enough.
    assert!(
        text.contains("With this, nothing is deleted. The oldest row sampled ended "),
        "{text}"
    );
}
