//! Installing twice changes nothing, uninstalling leaves nothing, and what was changed by hand is seen.

mod mysql;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use windrow::graph::{Graph, Shared};

use crate::support::database::{Database, bundle, exclusive, is_numbered, server};
use crate::support::graphs::dolphinscheduler;

/// A spec of its own: the roles of a control schema belong to the whole server.
fn graph(name: &str) -> Graph {
    Graph {
        name: name.to_owned(),
        ..dolphinscheduler(Shared::Closed)
    }
}

/// Everything that an installation may touch, one line per fact, in a fixed order. Rights are listed one by one: no
/// rights at all and the owner's own are written in several ways.
const CATALOG: &str = "
WITH
space AS (
    SELECT oid, nspname, nspowner, nspacl FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
),
grants (what, owner, acl) AS (
    SELECT 'schema ' || nspname, nspowner, coalesce(nspacl, acldefault('n', nspowner)) FROM space
    UNION ALL
    SELECT 'database', datdba, coalesce(datacl, acldefault('d', datdba)) FROM pg_database WHERE datname = current_database()
    UNION ALL
    SELECT 'relation ' || c.oid::regclass, c.relowner, coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::\"char\", c.relowner))
    FROM pg_class AS c JOIN space AS s ON s.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'S')
    UNION ALL
    SELECT format('column %s.%s', a.attrelid::regclass, a.attname), c.relowner, a.attacl
    FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN space AS s ON s.oid = c.relnamespace
    UNION ALL
    SELECT 'routine ' || p.oid::regprocedure, p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
    FROM pg_proc AS p JOIN space AS s ON s.oid = p.pronamespace
),
facts (fact) AS (
    SELECT format('%s: owner %s, %s may %s%s', g.what, g.owner::regrole, CASE a.grantee WHEN 0 THEN 'everybody' ELSE a.grantee::regrole::text END, a.privilege_type, CASE WHEN a.is_grantable THEN ' and grant it' END)
    FROM grants AS g CROSS JOIN LATERAL aclexplode(g.acl) AS a
    UNION ALL
    SELECT format('column %s.%s %s %s %s', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
    FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN space AS s ON s.oid = c.relnamespace
    LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT format('index %s %s', pg_get_indexdef(i.indexrelid), i.indisvalid)
    FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN space AS s ON s.oid = c.relnamespace
    UNION ALL
    SELECT 'view ' || c.oid::regclass || pg_get_viewdef(c.oid) FROM pg_class AS c JOIN space AS s ON s.oid = c.relnamespace WHERE c.relkind = 'v'
    UNION ALL
    SELECT format('constraint %s on %s: %s', o.conname, o.conrelid::regclass, pg_get_constraintdef(o.oid))
    FROM pg_constraint AS o JOIN space AS s ON s.oid = o.connamespace
    UNION ALL
    SELECT pg_get_functiondef(p.oid) FROM pg_proc AS p JOIN space AS s ON s.oid = p.pronamespace
    UNION ALL
    SELECT format('comment on %s: %s', pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description)
    FROM pg_description AS d WHERE pg_describe_object(d.classoid, d.objoid, d.objsubid) LIKE '%windrow%'
    UNION ALL
    SELECT 'trigger ' || pg_get_triggerdef(t.oid) FROM pg_trigger AS t
    UNION ALL
    SELECT format('role %s login %s super %s', r.rolname, r.rolcanlogin, r.rolsuper) FROM pg_roles AS r WHERE r.rolname LIKE 'windrow\\_' || $1 || '\\_%'
    UNION ALL
    SELECT format('role %s is a member of %s', m.member::regrole, m.roleid::regrole) FROM pg_auth_members AS m
    WHERE m.roleid::regrole::text LIKE 'windrow\\_' || $1 || '\\_%'
)
SELECT coalesce(fact, 'NULL') FROM facts ORDER BY 1
";

fn catalog(database: &mut Database, graph: &Graph) -> Vec<String> {
    database
        .client
        .query(CATALOG, &[&graph.name])
        .expect("the catalog can be read")
        .iter()
        .map(|row| row.get(0))
        .collect()
}

/// The rows that people and runs write, besides the ledger.
fn control_rows(database: &mut Database) -> Vec<String> {
    let tables = ["control", "policy", "hold", "setting", "run", "run_rule"];
    let selects = tables.map(|table| format!("SELECT '{table}' || t::text FROM W.{table} AS t"));
    database.texts(&format!("{} ORDER BY 1", selects.join(" UNION ALL ")))
}

#[track_caller]
fn assert_same(before: &[String], after: &[String]) {
    let gone: Vec<_> = before.iter().filter(|fact| !after.contains(fact)).collect();
    let new: Vec<_> = after.iter().filter(|fact| !before.contains(fact)).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "gone: {gone:#?}\nnew: {new:#?}"
    );
    assert_eq!(before.len(), after.len());
}

#[test]
fn installing_twice_changes_nothing() {
    let graph = graph("twice");
    let mut database = Database::bare();
    database.install(&graph);
    database.arm();
    database
        .set_policy(json!({"scope": "1", "retention": "45d", "artifacts": false}))
        .expect("a policy");
    database
        .set_hold(json!({"key": 7, "reason": "audit"}))
        .expect("a hold");
    database.set_setting("retries", 5).expect("a setting");
    database.run(json!({})).expect("a run");
    let facts = catalog(&mut database, &graph);
    let rows = control_rows(&mut database);
    assert!(
        facts.len() > 600 && rows.len() == 6,
        "{} {}",
        facts.len(),
        rows.len()
    );
    database.install(&graph);
    assert_same(&facts, &catalog(&mut database, &graph));
    assert_same(&rows, &control_rows(&mut database));
}

#[test]
fn psql_installs_what_windrow_installs() {
    let graph = graph("psql");
    let mut by_statement = Database::bare();
    by_statement.install(&graph);
    let mut by_file = Database::bare();
    by_file.control = by_statement.control.clone();
    psql(&by_file, &graph, |name| {
        is_numbered(name) && !name.starts_with("90_")
    });
    let facts = catalog(&mut by_statement, &graph);
    assert_same(&facts, &catalog(&mut by_file, &graph));
    // And on top of what windrow installed.
    psql(&by_statement, &graph, |name| {
        is_numbered(name) && !name.starts_with("90_")
    });
    assert_same(&facts, &catalog(&mut by_statement, &graph));
    // The file of checks reads only.
    psql(&by_file, &graph, |name| name == "verify.sql");
    assert_same(&facts, &catalog(&mut by_file, &graph));
}

/// Applies the files of a bundle as a DBA would.
fn psql(database: &Database, graph: &Graph, wanted: impl Fn(&str) -> bool) {
    let directory = tempfile::tempdir().expect("a directory");
    let _only = exclusive();
    for file in bundle(graph).files {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        if !wanted(name) {
            continue;
        }
        let path = directory.path().join(name);
        fs::write(&path, &file.text).expect("a file");
        let answer = psql_file(database, &path);
        assert!(
            answer.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&answer.stderr)
        );
    }
}

fn psql_file(database: &Database, path: &Path) -> std::process::Output {
    server()
        .bin("psql")
        .args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"])
        .args(["--dbname", &database.name])
        .arg("--file")
        .arg(path)
        .output()
        .expect("psql runs")
}

#[test]
fn uninstalling_leaves_the_catalog_as_it_was() {
    let graph = graph("undone");
    let mut database = Database::bare();
    let before = catalog(&mut database, &graph);
    database.install(&graph);
    database.arm();
    database.run(json!({})).expect("a run");
    database.uninstall(&graph);
    assert_same(&before, &catalog(&mut database, &graph));
    // Once more: nothing to undo is no error. And a second life.
    database.uninstall(&graph);
    assert_same(&before, &catalog(&mut database, &graph));
    database.install(&graph);
    psql(&database, &graph, |name| name.starts_with("90_"));
    assert_same(&before, &catalog(&mut database, &graph));
}

#[test]
fn roles_that_another_database_needs_survive_the_uninstallation() {
    let graph = graph("neighbours");
    let mut one = Database::bare();
    let mut two = Database::bare();
    one.install(&graph);
    two.install(&graph);
    let facts = catalog(&mut two, &graph);
    one.uninstall(&graph);
    assert_same(&facts, &catalog(&mut two, &graph));
    two.arm();
    assert_eq!(two.run(json!({})).expect("a run")["status"], "done");
}

/// What verify() does not find as it should be: check, object and severity.
fn findings(database: &mut Database) -> Vec<(String, String, String)> {
    let answer = database.verify().expect("a verification");
    let text = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let found: Vec<_> = answer["checks"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|check| check["severity"] != "ok")
        .map(|check| {
            (
                text(check, "check"),
                text(check, "object"),
                text(check, "severity"),
            )
        })
        .collect();
    let clean = !found.iter().any(|(.., severity)| severity == "violation");
    assert_eq!(answer["clean"], clean);
    found
}

fn finding(check: &str, object: &str, severity: &str) -> (String, String, String) {
    (check.to_owned(), object.to_owned(), severity.to_owned())
}

#[test]
fn what_was_changed_by_hand_is_seen() {
    let graph = dolphinscheduler(Shared::Closed);
    let mut database = Database::bare();
    database.execute("INSERT INTO t_ds_alert (workflow_instance_id) VALUES (4711)");
    database.install(&graph);
    assert_eq!(
        findings(&mut database),
        [
            finding("orphans", "t_ds_alert.workflow_instance_id", "violation"),
            finding("armed", "dolphinscheduler", "notice"),
        ]
    );
    // What was there before someone said that windrow may start is not its fault.
    database.arm();
    let before = finding("orphans", "t_ds_alert.workflow_instance_id", "notice");
    assert_eq!(findings(&mut database), std::slice::from_ref(&before));

    database.execute("INSERT INTO t_ds_alert (workflow_instance_id) VALUES (4712)");
    database.execute("INSERT INTO t_ds_command (workflow_definition_code, workflow_instance_id) VALUES (1, 0), (1, 9)");
    assert_eq!(
        findings(&mut database),
        [
            finding("orphans", "t_ds_alert.workflow_instance_id", "violation"),
            finding("orphans", "t_ds_command.workflow_instance_id", "violation"),
        ]
    );
    database.execute(
        "DELETE FROM t_ds_command; DELETE FROM t_ds_alert WHERE workflow_instance_id = 4712",
    );
    assert_eq!(findings(&mut database), std::slice::from_ref(&before));

    // A routine, edited: its comment still tells what it was.
    let body = database.texts("SELECT pg_get_functiondef('W.workflow_instances_judge'::regproc)");
    database.execute(&body[0].replace("NOT m.final", "m.final IS NULL"));
    database.execute("DROP FUNCTION W.record_skips");
    database.execute("DROP INDEX windrow_t_ds_command_workflow_instance_id");
    assert_eq!(
        findings(&mut database),
        [
            before.clone(),
            finding("routine", "record_skips", "violation"),
            finding("routine", "workflow_instances_judge", "violation"),
            finding(
                "index",
                "windrow_t_ds_command_workflow_instance_id",
                "violation"
            ),
        ]
    );
    database.install(&graph);
    assert_eq!(findings(&mut database), [before]);
}
