//! Installing twice changes nothing, uninstalling leaves nothing, and what was changed by hand is seen.

pub(crate) mod catalog;

use std::io::Write as _;
use std::process::Stdio;

use crate::support::systems::dolphinscheduler::mysql::SCHEMA_34;
use serde_json::{Value, json};
use windrow::bundle::Statement;
use windrow::calls::Calls;
use windrow::db::Row;
use windrow::dialect::Dialect;
use windrow::drift::{self, Drift};
use windrow::graph::{Graph, Shared};
use windrow::render;

use crate::harness::tests;
use crate::support::database::{self, Database, exclusive, is_numbered};
use crate::support::effort::one_of;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{Installation, Session, bundle, call, connect, server};

tests! {
    on_postgres: [
        roles_that_another_database_needs_survive_the_uninstallation,
    ],
    every_server: [
        a_new_rule_deletes_nothing_before_it_is_armed,
        an_installation_that_broke_off_is_finished_by_the_next,
        installing_twice_changes_nothing,
    ],
    each_server: [
        the_client_installs_what_windrow_installs,
        uninstalling_leaves_the_catalog_as_it_was,
        what_was_changed_by_hand_is_seen_and_put_back,
    ],
}

/// A database with the application's tables, and a spec of its own: the roles of a control schema belong to the server.
struct Place {
    dialect: Dialect,
    graph: Graph,
    control: String,
    /// Name of the database with the application's tables.
    database: String,
    session: Session,
    /// What drops a database of PostgreSQL.
    _postgres: Option<Database>,
}

impl Place {
    fn new(dialect: Dialect, name: &str) -> Self {
        let graph = Graph {
            name: name.to_owned(),
            database: name.to_owned(),
            ..dolphinscheduler(Shared::Closed)
        };
        let control = render::control_name(&graph);
        if dialect == Dialect::Postgres {
            let postgres = Database::bare();
            let database = postgres.name.clone();
            return Self {
                dialect,
                graph,
                control,
                session: connect(&database::server().url(&database, "postgres")),
                database,
                _postgres: Some(postgres),
            };
        }
        let mut session = connect(&server(dialect).url("", "root"));
        session
            .execute(&format!("CREATE DATABASE {name}; USE {name}"))
            .expect("a database is created");
        session.execute(SCHEMA_34).expect("the schema loads");
        session
            .execute("SET SESSION sql_mode = ''")
            .expect("what has no default may be left out");
        Self {
            dialect,
            graph,
            control,
            database: name.to_owned(),
            session,
            _postgres: None,
        }
    }

    /// What a session may have set before it applies the files: nothing, and much at once.
    fn befores(&self) -> [&'static str; 2] {
        match self.dialect {
            Dialect::Postgres => [
                "SELECT 1",
                "SET datestyle = 'SQL, DMY'; SET timezone = 'Asia/Kolkata'; SET search_path = ''; SET check_function_bodies = off",
            ],
            Dialect::Mysql | Dialect::Mariadb => [
                "DO 0",
                "SET autocommit = 0, sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT', time_zone = '+05:30', collation_connection = latin1_swedish_ci",
            ],
        }
    }

    fn connect(&self) -> Session {
        connect(&match self.dialect {
            Dialect::Postgres => database::server().url(&self.database, "postgres"),
            Dialect::Mysql | Dialect::Mariadb => server(self.dialect).url(&self.database, "root"),
        })
    }

    /// The statements of the files with these paths.
    fn statements(&self, wanted: fn(&str) -> bool) -> Vec<Statement> {
        let files = bundle(self.dialect, &self.graph).files;
        files
            .into_iter()
            .filter(|file| wanted(&file.path))
            .flat_map(|file| file.statements)
            .collect()
    }

    /// Executes statements as windrow does, in a new session that did something before.
    fn execute(&self, before: &str, statements: &[Statement]) {
        let _only = self.exclusive();
        let mut session = self.connect();
        session.execute(before).expect("a session is prepared");
        for statement in statements {
            if let Err(error) = session.execute(&statement.sql) {
                panic!("{}: {error:#}", statement.what);
            }
        }
    }

    fn apply(&self, before: &str, wanted: fn(&str) -> bool) {
        self.execute(before, &self.statements(wanted));
    }

    /// Applies files as a DBA would; on MySQL and MariaDB, another administrator than windrow's: he comes through the socket.
    fn apply_by_client(&self, before: &str, wanted: fn(&str) -> bool) {
        let _only = self.exclusive();
        for file in bundle(self.dialect, &self.graph).files {
            if !wanted(&file.path) {
                continue;
            }
            apply_by_client(
                self.dialect,
                &self.database,
                before,
                &file.path,
                file.text.as_bytes(),
            );
        }
    }

    /// On PostgreSQL others wait meanwhile: roles belong to the whole server.
    fn exclusive(&self) -> Option<impl Drop> {
        (self.dialect == Dialect::Postgres).then(exclusive)
    }

    /// Everything that an installation may touch.
    fn facts(&mut self, with_bodies: bool) -> Vec<String> {
        catalog::facts(
            &mut self.session,
            self.dialect,
            &self.graph.name,
            with_bodies,
        )
    }

    /// The rows that people and runs write, of one table after the other.
    fn rows(&mut self) -> Vec<Vec<Row>> {
        let mut tables = vec![
            "control",
            "policy",
            "hold",
            "setting",
            "run_window",
            "run",
            "run_rule",
            "run_table",
        ];
        if self.dialect != Dialect::Postgres {
            tables.push("latch");
        }
        let row = match self.dialect {
            Dialect::Postgres => "to_jsonb(t) - 'refers_to'",
            Dialect::Mysql | Dialect::Mariadb => "t.*",
        };
        tables
            .iter()
            .map(|table| {
                let sql = format!("SELECT {row} FROM {}.{table} AS t ORDER BY 1", self.control);
                let mut rows = self.session.query(&sql, &[]).expect("a table of ours");
                // What a decision refers to is noted by the next installation.
                if ["policy", "hold"].contains(table) && self.dialect != Dialect::Postgres {
                    rows.iter_mut().for_each(|row| row.truncate(row.len() - 1));
                }
                rows
            })
            .collect()
    }

    fn call(&mut self, routine: &str, options: Value) -> Value {
        call(
            &mut self.session,
            self.dialect,
            &self.control,
            routine,
            &options,
        )
        .unwrap_or_else(|error| panic!("{routine}: {error:#}"))
    }

    /// Executes statements of a user; `W.` stands for the control schema.
    fn by_hand(&mut self, sql: &str) {
        let sql = sql.replace("W.", &format!("{}.", self.control));
        self.session
            .execute(&sql)
            .unwrap_or_else(|error| panic!("{error:#}\n\n{sql}"));
    }

    /// What `windrow diff` finds in the control schema.
    fn drift(&mut self) -> Vec<Drift> {
        let calls = Calls::new(self.dialect, &self.control, "");
        let rows = self
            .session
            .query(calls.objects(), &[Some(&self.control)])
            .expect("a catalog");
        drift::compare(&bundle(self.dialect, &self.graph), self.dialect, &rows)
    }

    fn use_it(&mut self) {
        self.by_hand("CALL W.arm()");
        self.call("set_policy", json!({"scope": "1", "retention": "45d"}));
        self.call(
            "set_hold",
            json!({"key": 7, "reason": "audit", "even_if_absent": true}),
        );
        self.call("set_setting", json!({"name": "retries", "value": 5}));
        self.call(
            "set_windows",
            json!({"windows": ["mon-fri 22:00-06:00", "sat,sun 00:00-00:00"]}),
        );
        assert_eq!(self.call("run", json!({}))["status"], "done");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.dialect != Dialect::Postgres {
            let (database, control) = (&self.database, &self.control);
            // What cannot be dropped is gone with the server.
            let _ = self.session.execute(&format!(
                "DROP DATABASE IF EXISTS {database}; DROP DATABASE IF EXISTS {control}"
            ));
        }
    }
}

/// Has the server's own client execute a file in a database, behind what its session does before.
pub(crate) fn apply_by_client(
    dialect: Dialect,
    database: &str,
    before: &str,
    path: &str,
    text: &[u8],
) {
    let mut client = match dialect {
        Dialect::Postgres => {
            let mut client = database::server().bin("psql");
            client
                .args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"])
                .args(["--dbname", database, "--command", before])
                .args(["--file", "-"]);
            client
        }
        Dialect::Mysql | Dialect::Mariadb => {
            let mut client = server(dialect).client();
            client.arg(format!("--init-command={before}"));
            client
        }
    };
    let mut client = client
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the client starts");
    let mut input = client.stdin.take().expect("an input");
    input.write_all(text).expect("it reads");
    drop(input);
    let answer = client.wait_with_output().expect("the client ends");
    let said = String::from_utf8_lossy(&answer.stderr);
    assert!(answer.status.success(), "{path}: {said}");
}

fn installation(path: &str) -> bool {
    is_numbered(path) && !path.contains("/90_")
}

fn uninstallation(path: &str) -> bool {
    path.contains("/90_")
}

#[track_caller]
pub(crate) fn assert_same(before: &[String], after: &[String]) {
    let gone: Vec<_> = before.iter().filter(|fact| !after.contains(fact)).collect();
    let new: Vec<_> = after.iter().filter(|fact| !before.contains(fact)).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "gone: {gone:#?}\nnew: {new:#?}"
    );
    assert_eq!(before.len(), after.len());
}

fn installing_twice_changes_nothing(dialect: Dialect) {
    let mut place = Place::new(dialect, "twice");
    let [plain, odd] = place.befores();
    place.apply(plain, installation);
    place.use_it();
    // It says of policies and holds that were written by hand what they refer to.
    place.apply(plain, installation);
    let (facts, rows) = (place.facts(true), place.rows());
    assert!(facts.len() > 400, "{}", facts.len());
    assert!(rows.iter().all(|table| !table.is_empty()), "{rows:?}");
    for before in [plain, odd] {
        place.apply(before, installation);
        assert_same(&facts, &place.facts(true));
        assert_eq!(rows, place.rows());
    }
}

fn a_new_rule_deletes_nothing_before_it_is_armed(dialect: Dialect) {
    let graph = dolphinscheduler(Shared::Closed);
    let mut more = graph.clone();
    let mut rule = graph.rules[0].clone();
    rule.name = "further_instances".to_owned();
    more.rules.push(rule);

    let mut installation = Installation::armed(dialect, &graph);
    installation.install(&graph);
    let run = installation.run(json!({})).expect("it is still armed");
    assert_eq!(run["status"], "done", "{run}");

    installation.install(&more);
    let refused = installation.run(json!({})).expect_err("a new rule");
    assert!(format!("{refused:#}").contains("not armed"), "{refused:#}");
    let key = json!({"rule": graph.rules[0].name, "key": [1]});
    let refused = installation.purge(key).expect_err("a new rule");
    assert!(format!("{refused:#}").contains("not armed"), "{refused:#}");
    installation.arm();
    let run = installation.run(json!({})).expect("it is armed");
    assert_eq!(run["status"], "done", "{run}");

    // A rule less is a right less.
    installation.install(&graph);
    let run = installation.run(json!({})).expect("it is still armed");
    assert_eq!(run["status"], "done", "{run}");
}

fn the_client_installs_what_windrow_installs(dialect: Dialect) {
    let mut place = Place::new(dialect, "by_client");
    let [plain, odd] = place.befores();
    // Of MariaDB's client, without the comments.
    let with_bodies = dialect != Dialect::Mariadb;
    let bare = place.facts(true);
    place.apply(plain, installation);
    let facts = place.facts(with_bodies);
    place.apply(plain, uninstallation);
    assert_same(&bare, &place.facts(true));
    for before in [plain, odd] {
        place.apply_by_client(before, installation);
        assert_same(&facts, &place.facts(with_bodies));
        let answer = place.call("verify", json!({}));
        for check in answer["checks"].as_array().expect("checks") {
            assert!(
                check["check"] != "routine" || check["severity"] == "ok",
                "{check}"
            );
        }
        // The file of checks reads only.
        place.apply_by_client(before, |path| path.ends_with("/verify.sql"));
        assert_same(&facts, &place.facts(with_bodies));
    }
    // And on top of what the client installed.
    place.apply(plain, installation);
    assert_same(&facts, &place.facts(with_bodies));
}

fn uninstalling_leaves_the_catalog_as_it_was(dialect: Dialect) {
    let mut place = Place::new(dialect, "undone");
    let [plain, odd] = place.befores();
    let before = place.facts(true);
    assert!(before.len() > 100, "{}", before.len());
    place.apply(plain, installation);
    place.use_it();
    assert!(place.facts(true).len() > before.len() + 300);
    place.apply(plain, uninstallation);
    assert_same(&before, &place.facts(true));
    // Once more: nothing to undo is no error. And a second life.
    place.apply(odd, uninstallation);
    assert_same(&before, &place.facts(true));
    place.apply(odd, installation);
    place.use_it();
    place.apply_by_client(odd, uninstallation);
    assert_same(&before, &place.facts(true));
}

/// What was applied before an error stays, and the files are applied again from the first.
fn an_installation_that_broke_off_is_finished_by_the_next(dialect: Dialect) {
    let mut place = Place::new(dialect, "broken");
    let [plain, _] = place.befores();
    place.apply(plain, installation);
    let facts = place.facts(true);
    let statements = place.statements(installation);
    let count = statements.len();
    assert!(count > 100, "{count}");
    for end in one_of(
        2,
        [3, count / 8, count / 3, count / 2, count - 10, count - 1],
    ) {
        place.apply(plain, uninstallation);
        place.execute(plain, &statements[..end]);
        place.apply(plain, installation);
        assert_same(&facts, &place.facts(true));
        place.use_it();
    }
}

/// What verify() does not find as it should be: check, object and severity. The servers of the tests schedule nothing.
fn findings(place: &mut Place) -> Vec<String> {
    let answer = place.call("verify", json!({}));
    let checks = answer["checks"].as_array().expect("checks").iter();
    checks
        .filter(|check| check["severity"] != "ok" && check["object"] != "event_scheduler")
        .map(|check| {
            let text = |name: &str| check[name].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", text("severity"), text("check"), text("object"))
        })
        .collect()
}

fn what_was_changed_by_hand_is_seen_and_put_back(dialect: Dialect) {
    let mut place = Place::new(dialect, "by_hand");
    let [plain, _] = place.befores();
    place.by_hand("INSERT INTO t_ds_alert (workflow_instance_id) VALUES (4711)");
    place.apply(plain, installation);
    assert_eq!(
        findings(&mut place),
        [
            "violation orphans t_ds_alert.workflow_instance_id",
            "notice armed by_hand"
        ]
    );
    // What was there before someone said that windrow may start is not its fault.
    place.use_it();
    let facts = place.facts(true);
    let before = "notice orphans t_ds_alert.workflow_instance_id";
    assert_eq!(findings(&mut place), [before]);
    place.by_hand("INSERT INTO t_ds_alert (workflow_instance_id) VALUES (4712)");
    place.by_hand("INSERT INTO t_ds_command (workflow_definition_code, workflow_instance_id) VALUES (1, 0), (1, 9)");
    assert_eq!(
        findings(&mut place),
        [
            "violation orphans t_ds_alert.workflow_instance_id",
            "violation orphans t_ds_command.workflow_instance_id",
        ]
    );
    place.by_hand(
        "DELETE FROM t_ds_command; DELETE FROM t_ds_alert WHERE workflow_instance_id = 4712",
    );
    assert_eq!(findings(&mut place), [before]);

    // A routine, edited: its comment still tells what it was.
    let statements = place.statements(installation);
    let (routine, text, another) = match dialect {
        Dialect::Postgres => (
            "workflow_instances_members",
            "IS TRUE AS final",
            "IS NOT FALSE AS final",
        ),
        Dialect::Mysql | Dialect::Mariadb => {
            ("workflow_instances_members", "IS TRUE", "IS NOT FALSE")
        }
    };
    let generated = statements
        .iter()
        .find(|it| it.what.routine() == Some(routine))
        .expect("the routine");
    let mut edited = generated.clone();
    edited.sql = edited.sql.replace(text, another);
    assert_ne!(edited.sql, generated.sql);
    match dialect {
        Dialect::Postgres => {
            place.execute(plain, &[edited]);
            place.by_hand("DROP FUNCTION W.record_skips; DROP INDEX windrow_t_ds_command_workflow_instance_id");
        }
        Dialect::Mysql | Dialect::Mariadb => {
            place.by_hand(&format!("DROP PROCEDURE W.{routine}"));
            place.execute("SET NAMES utf8mb4 COLLATE utf8mb4_bin", &[edited]);
            place.by_hand("DROP PROCEDURE W.record_skips; DROP INDEX windrow_t_ds_command_workflow_instance_id ON t_ds_command");
            place.by_hand("ALTER EVENT W.run DO DO 1");
        }
    }
    let is_edited = format!("violation routine {routine}");
    let mut found = vec![
        before,
        "violation routine record_skips",
        &is_edited,
        "violation index windrow_t_ds_command_workflow_instance_id",
    ];
    if dialect != Dialect::Postgres {
        found.push("violation schedule by_hand");
    }
    assert_eq!(findings(&mut place), found);
    drift_is_told(&mut place, routine, [text, another]);
    if dialect != Dialect::Postgres {
        place.by_hand("DROP EVENT W.run");
        let answer = place.call("verify", json!({}));
        let mut told = answer["checks"].as_array().expect("checks").iter();
        let event = "no event: nothing runs by itself";
        let says = |check: &Value| {
            check["detail"]
                .as_str()
                .is_some_and(|it| it.starts_with(event))
        };
        assert!(told.any(says), "{answer}");
    }
    place.apply(plain, installation);
    assert_eq!(findings(&mut place), [before]);
    assert_same(&facts, &place.facts(true));
}

/// What differs from what is generated.
fn drift_is_told(place: &mut Place, routine: &str, [text, another]: [&str; 2]) {
    let has_drifted = format!("Edited routine {routine}");
    place.by_hand("ALTER TABLE W.run_rule DROP COLUMN around; CREATE TABLE W.mine (id integer); DROP VIEW W.metrics");
    let mut drifted = vec![
        "Missing routine record_skips",
        &has_drifted,
        "Missing view metrics",
        "Extra table mine",
        "Missing column run_rule.around",
    ];
    if place.dialect != Dialect::Postgres {
        drifted.insert(2, "Edited event run");
    }
    let found = place.drift();
    let told: Vec<String> = found
        .iter()
        .map(|drift| format!("{:?} {} {}", drift.state, drift.kind.title(), drift.name))
        .collect();
    assert_eq!(told, drifted);
    let changed = |sign: &str| -> Vec<&str> {
        let lines = found[1].diff.lines().skip(2);
        lines.filter_map(|line| line.strip_prefix(sign)).collect()
    };
    assert_eq!(
        changed("-").join("\n"),
        changed("+").join("\n").replace(text, another)
    );
    assert!(!changed("-").is_empty(), "{}", found[1].diff);
    place.by_hand("DROP TABLE W.mine");
}

/// Roles belong to the whole server of PostgreSQL, a control schema to one database.
fn roles_that_another_database_needs_survive_the_uninstallation() {
    let one = Place::new(Dialect::Postgres, "neighbours");
    let mut two = Place::new(Dialect::Postgres, "neighbours");
    let [plain, _] = one.befores();
    one.apply(plain, installation);
    two.apply(plain, installation);
    // Where not everybody may connect, the roles may by hand: what an uninstallation takes away from a role is what it has in its own.
    let (control, here, there) = (&two.control, &one.database, &two.database);
    let by_hand = format!(
        "REVOKE CONNECT ON DATABASE {there} FROM PUBLIC; GRANT CONNECT ON DATABASE {there}, {here} TO {control}_operator WITH GRANT OPTION;
         GRANT CONNECT, TEMPORARY ON DATABASE {there} TO {control}_auditor; GRANT CREATE ON TABLESPACE pg_default TO {control}_auditor"
    );
    let granted = format!(
        "SELECT b.datname || ' ' || a.grantee::regrole || ' ' || a.privilege_type || ' ' || a.is_grantable
         FROM (SELECT datname, datacl FROM pg_database WHERE datname IN ('{there}', '{here}')
               UNION ALL SELECT spcname, spcacl FROM pg_tablespace) AS b CROSS JOIN LATERAL aclexplode(b.datacl) AS a
         WHERE a.grantee <> 0 AND a.grantee::regrole::text LIKE '{control}%' ORDER BY 1"
    );
    let of_there = |rows: &[String]| {
        let mine = format!("{here} ");
        let rows = rows.iter().filter(|row| !row.starts_with(&mine));
        rows.cloned().collect::<Vec<_>>()
    };
    two.session.execute(&by_hand).expect("rights by hand");
    let before = texts(&mut two, &granted);
    assert_eq!(
        (before.len(), of_there(&before).len()),
        (5, 4),
        "{before:?}"
    );
    let facts = two.facts(true);
    one.apply(plain, uninstallation);
    assert_same(&facts, &two.facts(true));
    assert_eq!(texts(&mut two, &granted), of_there(&before));
    two.use_it();
    let end = format!(
        "REVOKE CREATE ON TABLESPACE pg_default FROM {}_auditor",
        two.control
    );
    two.session.execute(&end).expect("as before");
}

/// The first column of a query.
fn texts(place: &mut Place, sql: &str) -> Vec<String> {
    let rows = place.session.query(sql, &[]).expect("a query");
    rows.into_iter().flatten().flatten().collect()
}
