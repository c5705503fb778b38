//! The demo's schemas load, and its history holds what its header promises.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::systems::dolphinscheduler::{
    DEMO_FAMILIES, FAMILIES_SETTING, HISTORY_34, SCHEMA_32, SCHEMA_34,
};
use anyhow::Result;
use postgres::{Client, NoTls};
use windrow::sandbox::{Postgres, Settings};

mod twins;

use crate::harness::tests;
use crate::support::effort;

tests! {
    within: [twins::tests],
    on_postgres: [
        the_schemas_are_whole,
        the_history_is_the_same_on_every_load,
        the_demo_history_keeps_its_promises,
        the_demo_tells_the_whole_story_and_goes_away,
        the_demo_tells_the_story_of_yworkflow,
    ],
    in_prove: [
        the_demo_tells_the_whole_story_on_mysql,
    ],
    on_mariadb: [
        the_demo_tells_the_whole_story_on_mariadb,
    ],
    on_several: [
        the_demo_tells_the_story_of_camunda_on_every_server,
        the_demo_tells_the_story_of_airflow_on_its_servers,
        the_demo_tells_the_story_of_prefect,
        the_demo_tells_the_story_of_mlflow_on_every_server,
        the_demo_shows_a_system_on_its_own_servers_only,
    ],
}

fn loaded(server: &Postgres, database: &str, schema: &str) -> Result<Client> {
    Client::connect(&server.url("postgres", "postgres"), NoTls)?
        .batch_execute(&format!("CREATE DATABASE {database}"))?;
    let mut client = Client::connect(&server.url(database, "postgres"), NoTls)?;
    client.batch_execute(schema)?;
    Ok(client)
}

fn load_history(client: &mut Client, families: u32) -> Result<()> {
    client.batch_execute(&format!("SET {FAMILIES_SETTING} = {families}"))?;
    client.batch_execute(HISTORY_34)?;
    client.batch_execute("VACUUM ANALYZE")?;
    Ok(())
}

fn number(client: &mut Client, query: &str) -> Result<i64> {
    Ok(client.query_one(query, &[])?.get(0))
}

/// The rows of every table together.
fn all_rows(client: &mut Client) -> Result<i64> {
    let tables = client.query("SELECT relname FROM pg_stat_user_tables", &[])?;
    let counts: Vec<String> = tables
        .iter()
        .map(|row| format!("(SELECT count(*) FROM {})", row.get::<_, &str>(0)))
        .collect();
    number(client, &format!("SELECT {}", counts.join(" + ")))
}

const TABLES: &str =
    "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";

fn the_schemas_are_whole() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    assert_eq!(number(&mut loaded(&server, "new", SCHEMA_34)?, TABLES)?, 53);
    assert_eq!(number(&mut loaded(&server, "old", SCHEMA_32)?, TABLES)?, 56);
    Ok(())
}

fn the_history_is_the_same_on_every_load() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let digest = "SELECT sum(hashtext(concat_ws('/', id, state, project_code, is_sub_workflow, end_time - start_time)))
                  FROM t_ds_workflow_instance WHERE run_times = 1 AND id < 15000";
    let mut one = loaded(&server, "one", SCHEMA_34)?;
    load_history(&mut one, 1_000)?;
    let mut two = loaded(&server, "two", SCHEMA_34)?;
    load_history(&mut two, 1_000)?;
    assert_eq!(number(&mut one, digest)?, number(&mut two, digest)?);
    assert_eq!(all_rows(&mut one)?, all_rows(&mut two)?);
    Ok(())
}

/// What is counted, the least and the most that it may be, and the rows that count.
type Promise = (&'static str, i64, i64, &'static str);

/// How many instances there are, and in which states.
fn of_instances(families: i64) -> Vec<Promise> {
    vec![
        (
            "roots",
            families,
            families,
            "FROM wf WHERE is_sub_workflow = 0",
        ),
        (
            "instances",
            families * 17 / 10,
            families * 19 / 10,
            "FROM wf",
        ),
        (
            "last half of the 180 days",
            families * 9 / 20,
            families * 11 / 20,
            "FROM wf WHERE is_sub_workflow = 0 AND start_time > present - interval '90 days'",
        ),
        (
            "running sub-workflows",
            families / 125,
            families / 60,
            "FROM wf WHERE is_sub_workflow = 1 AND state = 1 AND end_time IS NULL",
        ),
        (
            "run again lately",
            10,
            families / 50,
            "FROM wf WHERE is_sub_workflow = 1 AND start_time < present - interval \
            '30 days' AND end_time > present - interval '8 days'",
        ),
        (
            "final without end",
            5,
            families / 50,
            "FROM wf WHERE state IN (3, 5, 6, 7) AND end_time IS NULL",
        ),
        (
            "without state",
            5,
            families / 50,
            "FROM wf WHERE state IS NULL",
        ),
        (
            "running for months",
            5,
            families / 50,
            "FROM wf WHERE is_sub_workflow = 0 AND state = 1 \
            AND start_time < present - interval '60 days'",
        ),
        ("success", families, families * 2, "FROM wf WHERE state = 7"),
        ("failure", 100, families, "FROM wf WHERE state = 6"),
        ("stopped", 50, families, "FROM wf WHERE state = 5"),
        ("paused", 50, families, "FROM wf WHERE state = 3"),
    ]
}

/// How instances are linked, and where links lead nowhere.
fn of_edges(families: i64) -> Vec<Promise> {
    vec![
        (
            "roots alone",
            families * 59 / 100,
            families * 60 / 100,
            "FROM wf WHERE is_sub_workflow = 0 AND NOT EXISTS (SELECT FROM edge WHERE parent = id)",
        ),
        (
            "fourth level",
            families * 9 / 100,
            families,
            "FROM wf WHERE EXISTS (SELECT FROM edge a JOIN edge b ON \
            b.child = a.parent JOIN edge c ON c.child = b.parent WHERE a.child = wf.id)",
        ),
        (
            "dynamic only",
            10,
            families,
            "FROM edge WHERE dynamic AND child IN (SELECT id FROM wf) \
            AND NOT EXISTS (SELECT FROM edge other WHERE NOT other.dynamic AND other.child = edge.child)",
        ),
        (
            "shared",
            3,
            20,
            "FROM (SELECT child FROM edge JOIN wf ON id = parent AND is_sub_workflow = 0 \
            WHERE child IN (SELECT id FROM wf) GROUP BY child HAVING count(*) = 2) s",
        ),
        (
            "shared with a staying root",
            2,
            20,
            "FROM (SELECT child FROM edge JOIN wf ON id = parent AND \
            is_sub_workflow = 0 GROUP BY child HAVING count(*) = 2 AND bool_or(state = 1) AND bool_or(state <> 1)) s",
        ),
        (
            "circles below a root",
            2,
            20,
            "FROM edge back WHERE EXISTS (SELECT FROM edge a JOIN edge b ON b.parent = \
            a.child WHERE a.parent = back.child AND b.child = back.parent) AND EXISTS (SELECT FROM wf WHERE id = \
            back.child AND is_sub_workflow = 1)",
        ),
        (
            "roots with a parent row",
            2,
            50,
            "FROM wf WHERE is_sub_workflow = 0 AND id IN \
            (SELECT child FROM edge JOIN wf p ON p.id = parent)",
        ),
        (
            "children without a row",
            5,
            50,
            "FROM edge WHERE NOT dynamic AND child NOT IN (SELECT id FROM wf)",
        ),
        (
            "parents without a row",
            5,
            50,
            "FROM edge WHERE NOT dynamic AND parent NOT IN (SELECT id FROM wf)",
        ),
        (
            "dynamic children without a row",
            5,
            50,
            "FROM edge WHERE dynamic AND child NOT IN (SELECT id FROM wf)",
        ),
        (
            "dynamic parents without a row",
            5,
            50,
            "FROM edge WHERE dynamic AND parent NOT IN (SELECT id FROM wf)",
        ),
    ]
}

/// What belongs to instances.
fn of_other_tables(families: i64) -> Vec<Promise> {
    vec![
        (
            "tasks",
            families * 17,
            families * 19,
            "FROM t_ds_task_instance",
        ),
        (
            "projects",
            10,
            10,
            "FROM t_ds_project WHERE code IN (SELECT project_code FROM wf)",
        ),
        (
            "orphan tasks",
            1,
            50,
            "FROM t_ds_task_instance WHERE workflow_instance_id NOT IN (SELECT id FROM wf)",
        ),
        (
            "starts that wait",
            25,
            25,
            "FROM t_ds_command WHERE workflow_instance_id = 0",
        ),
        (
            "failed starts",
            10,
            10,
            "FROM t_ds_error_command WHERE workflow_instance_id = 0",
        ),
        (
            "error commands",
            50,
            100,
            "FROM t_ds_error_command WHERE workflow_instance_id IN (SELECT id FROM wf)",
        ),
        (
            "serial commands",
            20,
            100,
            "FROM t_ds_serial_command WHERE workflow_instance_id IN (SELECT id FROM wf)",
        ),
        (
            "tasks without a log",
            1000,
            families,
            "FROM t_ds_task_instance WHERE log_path IS NULL",
        ),
        (
            "tasks with an empty log",
            1000,
            families,
            "FROM t_ds_task_instance WHERE log_path = ''",
        ),
        (
            "contexts",
            families * 5,
            families * 7,
            "FROM t_ds_task_instance_context",
        ),
        (
            "queue",
            families,
            families * 2,
            "FROM t_ds_task_group_queue q JOIN t_ds_task_instance t ON t.id = \
            q.task_id AND t.workflow_instance_id = q.workflow_instance_id",
        ),
        (
            "alerts",
            families * 8 / 10,
            families,
            "FROM t_ds_alert WHERE workflow_instance_id IN (SELECT id FROM wf)",
        ),
        (
            "alerts with two sends",
            families * 8 / 10,
            families,
            "FROM (SELECT alert_id FROM t_ds_alert_send_status \
            GROUP BY alert_id HAVING count(*) = 2) s",
        ),
    ]
}

fn the_demo_history_keeps_its_promises() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let mut client = loaded(&server, "demo", SCHEMA_34)?;
    load_history(&mut client, DEMO_FAMILIES)?;
    let families = i64::from(DEMO_FAMILIES);
    let rows = all_rows(&mut client)?;
    assert!(rows >= 200_000, "{rows}");

    client.batch_execute(
        "CREATE TEMP VIEW edge AS
         SELECT parent_workflow_instance_id::bigint AS parent, workflow_instance_id::bigint AS child, false AS dynamic
         FROM t_ds_relation_workflow_instance
         UNION ALL
         SELECT parent_workflow_instance_id, sub_workflow_instance_id, true FROM t_ds_relation_sub_workflow;
         CREATE TEMP VIEW wf AS SELECT *, now() AT TIME ZONE 'UTC' AS present FROM t_ds_workflow_instance",
    )?;
    let promises = [of_instances, of_edges, of_other_tables];
    for (what, least, most, query) in promises.into_iter().flat_map(|of| of(families)) {
        let found = number(&mut client, &format!("SELECT count(*) {query}"))?;
        assert!(
            (least..=most).contains(&found),
            "{what}: {found} is not in {least}..={most}"
        );
    }
    for (sequence, table) in [
        (
            "t_ds_workflow_instance_id_sequence",
            "t_ds_workflow_instance",
        ),
        ("t_ds_task_instance_id_sequence", "t_ds_task_instance"),
        ("t_ds_command_id_sequence", "t_ds_error_command"),
        ("t_ds_alert_id_sequence", "t_ds_alert"),
        (
            "t_ds_relation_workflow_instance_id_sequence",
            "t_ds_relation_workflow_instance",
        ),
    ] {
        let gap = number(
            &mut client,
            &format!("SELECT nextval('{sequence}') - max(id) FROM {table}"),
        )?;
        assert!(gap > 0, "{sequence}");
    }
    Ok(())
}

fn the_demo_tells_the_whole_story_and_goes_away() {
    tell_story("postgres", "PostgreSQL");
}

fn the_demo_tells_the_story_of_yworkflow() {
    // With nothing but the program: no checkout is around.
    let bare = tempfile::tempdir().expect("a scratch folder");
    let story = in_a_place_of_its_own(bare.path(), |demo| {
        let story = demo(&["--system", "yworkflow", "--families", "1000"]);
        let words = story.split_whitespace();
        let specs: Vec<_> = words.filter(|word| word.ends_with(".toml")).collect();
        assert!(specs.len() > 5, "{story}");
        for spec in specs {
            assert!(bare.path().join(spec).exists(), "no `{spec}`: {story}");
        }
        assert!(!story.contains("make "), "{story}");
        demo(&["--down"]);
        story
    });
    for word in [
        "of five foreign keys four cascade",
        "24,144 rows: states",
        "Nine of ten definitions opt in",
        "639 families with 15,548 rows would be deleted",
        "done, nothing left",
        "clean\n",
    ] {
        assert!(story.contains(word), "no `{word}` in:\n{story}");
    }
    assert!(!story.contains("has findings"), "{story}");
}

/// In `make test` not on MySQL, which has the same statements as MariaDB.
fn the_demo_tells_the_story_of_camunda_on_every_server() {
    tells_the_same(
        "camunda7",
        effort::size(&["postgres"], &["postgres", "mysql", "mariadb"]),
        &[
            "three point at its byte arrays",
            "a hold keeps a family regardless",
            "a hold keeps it",
        ],
    );
}

fn the_demo_tells_the_story_of_airflow_on_its_servers() {
    tells_the_same(
        "airflow-3",
        effort::size(&["postgres"], &["postgres", "mysql"]),
        &[
            "of 60 foreign keys 48 cascade",
            "--rule dag_runs --scope",
            "connection_test_request",
            "purge specs/airflow-3.toml --rule dag_runs --key 5",
        ],
    );
}

fn the_demo_tells_the_story_of_prefect() {
    tells_the_same(
        "prefect-3",
        &["postgres"],
        &[
            "36 tables with their stock indexes",
            "artifacts that are still shown",
        ],
    );
}

/// In `make test` not on MySQL, which has the same statements as MariaDB.
fn the_demo_tells_the_story_of_mlflow_on_every_server() {
    tells_the_same(
        "mlflow-3",
        effort::size(&["postgres", "mariadb"], &["postgres", "mysql", "mariadb"]),
        &[
            "65 tables with their stock indexes",
            "times are milliseconds",
        ],
    );
}

/// The story of a system has some words, and the same figures on all servers.
fn tells_the_same(system: &str, dialects: &[&str], words: &[&str]) {
    let mut figures = Vec::new();
    for dialect in dialects {
        let story = story_of(&[
            "--system",
            system,
            "--families",
            "1000",
            "--dialect",
            dialect,
        ]);
        for word in words.iter().chain(&["done, nothing left", "clean\n"]) {
            assert!(story.contains(word), "no `{word}` in:\n{story}");
        }
        assert!(!story.contains("has findings"), "{story}");
        // How a run is cut into batches is the server's own matter.
        let would = story
            .lines()
            .filter_map(|line| line.split_once(" would be deleted"));
        figures.push(would.map(|(what, _)| what.to_owned()).collect::<Vec<_>>());
    }
    assert!(!figures[0].is_empty());
    assert!(figures.iter().all(|of| *of == figures[0]), "{figures:?}");
}

fn the_demo_shows_a_system_on_its_own_servers_only() {
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(["demo", "--system", "yworkflow", "--dialect", "mariadb"])
        .output()
        .expect("windrow runs");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: yWorkflow runs on PostgreSQL, not on MariaDB\n\nhint: use `--dialect postgres`, or show another system with `--system`\n"
    );
}

fn the_demo_tells_the_whole_story_on_mysql() {
    tell_story("mysql", "MySQL");
}

fn the_demo_tells_the_whole_story_on_mariadb() {
    tell_story("mariadb", "MariaDB");
}

/// What a demo says that is ended at once.
fn story_of(arguments: &[&str]) -> String {
    in_a_place_of_its_own(checkout(), |demo| {
        let story = demo(arguments);
        demo(&["--down"]);
        story
    })
}

fn tell_story(dialect: &str, title: &str) {
    in_a_place_of_its_own(checkout(), |demo| {
        let story = demo(&["--dialect", dialect, "--families", "1000"]);
        for word in [
            &format!("A throw-away {title}"),
            "delete order",
            // The same everywhere.
            "665 families with 19,752 rows would be deleted",
            "NON_FINAL_MEMBER",
            "done, nothing left",
            "clean\n",
            "make demo-down",
        ] {
            assert!(story.contains(word), "no `{word}` in:\n{story}");
        }
        assert!(!story.contains("has findings"), "{story}");
        if dialect == "postgres" {
            // A second one takes the place of the first.
            demo(&["--families", "1000"]);
        }
        demo(&["--down"]);
    });
}

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Lets demos be told in a folder, and looks that the last one leaves nothing behind.
fn in_a_place_of_its_own<T>(
    folder: &Path,
    tell: impl FnOnce(&dyn Fn(&[&str]) -> String) -> T,
) -> T {
    // A place of its own: the user's own demo may be running. The server's user must be able to enter it.
    let place = tempfile::tempdir().expect("a scratch folder");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("our own folder");
    let demo = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .arg("demo")
            .args(arguments)
            .env("TMPDIR", place.path())
            .current_dir(folder)
            .output()
            .expect("windrow runs");
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.status.success(), "{said}");
        said
    };
    let told = tell(&demo);
    let left: Vec<_> = fs::read_dir(place.path())
        .expect("our own folder")
        .collect();
    assert!(left.is_empty(), "the demo left {left:?}");
    told
}
