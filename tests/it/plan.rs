//! `windrow plan`, from before the installation to after the last run: what it foretells is what the runs then do.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use windrow::db::{self, Database};
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::{Flavour, Mysql};
use windrow::sandbox::{self, Postgres};

use crate::harness::tests;
use crate::support::patience::until;

pub(crate) mod histories;
pub(crate) mod uncounted;

tests! {
    every_server: [
        a_plan_foretells_what_the_runs_do,
    ],
}

const SPEC: &str = r#"
name = "plan"
database = "plan"

[tables]
job   = { key = "id bigint" }
step  = { key = "id bigint", parents = ["job_id -> job.id"] }
task  = { key = "id bigint" }
event = { parents = ["root_id -> task.id"] }
mail  = { key = "id bigint" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d", minimum = "7d", safety_lag = "1d" }
limits    = { batch_families = 50, run_families = 500 }

[rules.tasks]
strategy  = "removal-time"
root      = "task"
time      = "remove_at"
tables    = ["event: root_id", "task: root_id"]
unit      = "window"
retention = { safety_lag = "0s" }
limits    = { batch_rows = 300 }

[rules.mails]
strategy  = "expiry"
root      = "mail"
time      = "expires"
fallback  = { time = "made", retention = { default = "30d" } }
limits    = { batch_rows = 40 }
"#;

/// Jobs that are due, those of them that stay, and those that become due within a week.
const DUE: i64 = 1_200;
const HELD: i64 = 2;
const SOON: i64 = 70;

/// Mails that have no time at all.
const UNDATED: i64 = 900;

struct World {
    dialect: Dialect,
    session: Box<dyn Database>,
    url: String,
    spec: PathBuf,
    _postgres: Option<Postgres>,
    _mysql: Option<Mysql>,
}

impl World {
    /// A server of its own, since the bytes of a log are those of the whole server.
    fn new(dialect: Dialect) -> World {
        let (mut postgres, mut mysql) = (None, None);
        let mut start = |flavour| {
            let server = Mysql::start(&sandbox::mysql::Settings::new(flavour)).expect("a server");
            let url = server.url("", "root");
            mysql = Some(server);
            url
        };
        let (url, spec) = match dialect {
            Dialect::Postgres => {
                let server = Postgres::start(&sandbox::Settings::default()).expect("a server");
                let url = server.url("postgres", "postgres");
                postgres = Some(server);
                (url, "plan-postgres")
            }
            Dialect::Mysql => (start(Flavour::Mysql), "plan-mysql"),
            Dialect::Mariadb => (start(Flavour::Mariadb), "plan-mariadb"),
        };
        let address = url.parse().expect("a sound address");
        let session = db::connect_as_application(&address).expect("the server accepts us");
        let spec = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{spec}.toml"));
        fs::write(&spec, SPEC).expect("a spec is written");
        World {
            dialect,
            session,
            url,
            spec,
            _postgres: postgres,
            _mysql: mysql,
        }
    }

    /// The binary, which must end with this code; what it wrote to stdout.
    #[track_caller]
    fn windrow(&self, code: i32, words: &str) -> String {
        let mut words: Vec<&str> = words.split_whitespace().collect();
        let spec = self.spec.display().to_string();
        words.insert(1, &spec);
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(&words)
            .args(["--url", &self.url, "--quiet"])
            .output()
            .expect("windrow starts");
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr),
        );
        assert_eq!(output.status.code(), Some(code), "{words:?}: {out}{err}");
        out
    }

    #[track_caller]
    fn plan(&self, words: &str) -> Value {
        let out = self.windrow(0, &format!("plan --output json {words}"));
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    /// A call of a routine of the control schema.
    fn calling(&self, routine: &str, options: &str) -> String {
        let verb = match self.dialect {
            Dialect::Postgres => "SELECT",
            Dialect::Mysql | Dialect::Mariadb => "CALL",
        };
        format!("{verb} windrow_plan.{routine}('{options}')")
    }

    #[track_caller]
    fn execute(&mut self, sql: &str) {
        if let Err(error) = self.session.execute(sql) {
            panic!("{error:#}\n\n{sql}");
        }
    }

    #[track_caller]
    fn number(&mut self, sql: &str) -> f64 {
        let rows = self.session.query(sql, &[]).expect(sql);
        let cell = rows[0][0].clone().expect("a value");
        cell.parse().expect("a number")
    }

    /// Page images are written, as they are everywhere but on throw-away servers.
    fn log_pages(&mut self) {
        self.execute("ALTER SYSTEM SET full_page_writes = on");
        self.execute("SELECT pg_reload_conf()");
        until("the setting is read", || {
            Ok(self.number("SELECT (current_setting('full_page_writes') = 'on')::integer") == 1.0)
        })
        .expect("it is");
    }

    /// Tables and rows: jobs have the more steps the younger they are, and an id in the order of their age.
    fn fill(&mut self) {
        let (time, ago) = match self.dialect {
            Dialect::Postgres => (
                "timestamp",
                "(now() AT TIME ZONE 'UTC' - make_interval(mins => ({})::integer))",
            ),
            Dialect::Mysql | Dialect::Mariadb => {
                self.execute("CREATE DATABASE plan");
                self.execute("USE plan");
                ("datetime(6)", "(UTC_TIMESTAMP(6) - INTERVAL ({}) MINUTE)")
            }
        };
        let ago = |minutes: &str| ago.replace("{}", minutes);
        self.execute(&format!(
            "CREATE TABLE job (id bigint PRIMARY KEY, state varchar(20), ended {time}, note varchar(200));
             CREATE TABLE step (id bigint PRIMARY KEY, job_id bigint, name varchar(200));
             CREATE TABLE task (id bigint PRIMARY KEY, root_id bigint, remove_at {time});
             CREATE TABLE event (root_id bigint, remove_at {time}, payload varchar(200));
             CREATE TABLE mail (id bigint PRIMARY KEY, expires {time}, made {time}, body varchar(200));
             CREATE TABLE n (n bigint PRIMARY KEY);
             INSERT INTO n VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)"
        ));
        let numbers = "(SELECT 1 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS n FROM n AS a, n AS b, n AS c, n AS d WHERE d.n < 2) AS x";
        // Ten a day, the last due one 31 days ago; then those that become due within the week, and busy ones.
        let day = format!("(31 * 1440 + 30 + 144 * ({DUE} - x.n))");
        self.execute(&format!(
            "INSERT INTO job SELECT x.n, 'done', {}, repeat('n', 100) FROM {numbers} WHERE x.n <= {} ORDER BY x.n",
            ago(&day),
            DUE + SOON
        ));
        self.execute(&format!(
            "INSERT INTO job SELECT x.n, 'busy', NULL, 'n' FROM {numbers} WHERE x.n BETWEEN 1301 AND 1900"
        ));
        self.execute(&format!(
            "INSERT INTO step SELECT x.n * 10 + s.n, x.n, repeat('s', 100) FROM {numbers} CROSS JOIN n AS s WHERE x.n <= 1900 AND s.n < 2 + x.n / 300 ORDER BY 1"
        ));
        self.execute(&format!(
            "INSERT INTO task SELECT x.n, x.n, {} FROM {numbers} WHERE x.n <= 500",
            ago("(60 * (400 - x.n) + 30)")
        ));
        self.execute(
            "INSERT INTO event SELECT t.root_id, t.remove_at, repeat('e', 50) FROM task AS t CROSS JOIN n WHERE n.n < 3",
        );
        self.execute(&format!(
            "INSERT INTO mail SELECT x.n, {}, NULL, repeat('m', 150) FROM {numbers} WHERE x.n <= 300",
            ago("(60 * (200 - x.n) + 30)")
        ));
        // They can never become due.
        self.execute(&format!(
            "INSERT INTO mail SELECT x.n, NULL, NULL, 'm' FROM {numbers} WHERE x.n BETWEEN 301 AND {}",
            300 + UNDATED
        ));
        self.execute(match self.dialect {
            Dialect::Postgres => "VACUUM ANALYZE",
            Dialect::Mysql | Dialect::Mariadb => "ANALYZE TABLE job, step, task, event, mail",
        });
    }

    /// Bytes that the server has logged so far.
    fn logged(&mut self) -> f64 {
        match self.dialect {
            Dialect::Postgres => self.number("SELECT (pg_current_wal_lsn() - '0/0')::bigint"),
            Dialect::Mysql | Dialect::Mariadb => {
                let rows = self.session.query("SHOW BINARY LOGS", &[]).expect("logs");
                let sizes = rows.iter().map(|row| row[1].clone().expect("a size"));
                sizes
                    .map(|size| size.parse::<f64>().expect("a number"))
                    .sum()
            }
        }
    }
}

fn rule<'a>(plan: &'a Value, name: &str) -> &'a Value {
    let rules = plan["rules"].as_array().expect("rules");
    let found = rules.iter().find(|rule| rule["rule"] == name);
    found.unwrap_or_else(|| panic!("no rule {name}: {plan:#}"))
}

fn figures<const N: usize>(document: &Value, names: [&str; N]) -> [f64; N] {
    names.map(|name| {
        let figure = document[name].as_f64();
        figure.unwrap_or_else(|| panic!("no {name}: {document:#}"))
    })
}

/// The number is right but for a factor of two.
#[track_caller]
fn about(foretold: f64, real: f64) {
    assert!(
        foretold <= real * 2.0 && real <= foretold * 2.0,
        "foretold {foretold}, and it was {real}"
    );
}

fn a_plan_foretells_what_the_runs_do(dialect: Dialect) {
    let mut world = World::new(dialect);
    world.fill();
    if dialect == Dialect::Postgres {
        world.log_pages();
    }

    indexes_come_first(&mut world);
    let exact = counts(&mut world);
    let jobs = rule(&exact, "jobs");
    let all = samples(&world, &exact);
    refuses_or_stops(&mut world);
    an_auditor_plans(&mut world, jobs);
    world.windrow(0, "arm");
    if dialect == Dialect::Postgres {
        world.execute("CHECKPOINT");
    }
    status_is_shown_again(&world);
    runs_do(&mut world, &exact);
    speed_is_known(&mut world, all);
}

/// Until somebody ends it: for programs a document a line, for people what one status says, and an empty line.
fn status_is_shown_again(world: &World) {
    let mut once: Vec<String> = Vec::new();
    for (form, most) in [("json", 3), ("text", usize::MAX)] {
        let mut windrow = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .arg("status")
            .arg(&world.spec)
            .args(["--watch", "1", "--output", form, "--url", &world.url])
            .stdout(Stdio::piped())
            .spawn()
            .expect("windrow starts");
        let out = BufReader::new(windrow.stdout.take().expect("its output"));
        for line in out.lines().take(most) {
            let line = line.expect("a line");
            if form == "json" {
                let document: Value = serde_json::from_str(&line).expect("a document");
                assert_eq!(document["control"]["armed"], true);
            } else if once.contains(&line) && line.starts_with("armed ") {
                break;
            }
            once.push(line);
        }
        windrow.kill().expect("an end");
        windrow.wait().expect("an end");
    }
    assert!(once.iter().any(String::is_empty), "{once:?}");
}

/// Before the installation: the indexes, with statements that work as they stand.
fn indexes_come_first(world: &mut World) {
    let dialect = world.dialect;
    let plan = world.plan("");
    assert_eq!(plan["installed"], false);
    assert_eq!(plan["rules"], Value::Array(Vec::new()));
    let wanted = plan["indexes"].as_array().expect("indexes").clone();
    let of = |table: &str| wanted.iter().filter(|it| it["table"] == table).count();
    assert!(of("step") == 1 && of("event") > 0, "{plan:#}");
    let text = world.windrow(0, "plan");
    assert!(
        text.contains("not installed") && text.contains("index to build first"),
        "{text}"
    );
    let step = wanted.iter().find(|it| it["table"] == "step").expect("it");
    world.execute(step["statement"].as_str().expect("a statement"));
    let without: Vec<Value> = wanted.iter().filter(|it| *it != step).cloned().collect();
    assert_eq!(world.plan("")["indexes"], Value::from(without));
    world.windrow(0, "install");
    assert_eq!(world.plan("")["indexes"], Value::Array(Vec::new()));
    let foretold: f64 = figures(step, ["bytes"])[0];
    let real = match dialect {
        Dialect::Postgres => world.number(
            "SELECT pg_relation_size(indexrelid) FROM pg_index WHERE indrelid = 'step'::regclass AND NOT indisprimary",
        ),
        // Pages of 16 KiB: of the index, and of the table, where nothing else says it before statistics are renewed.
        Dialect::Mysql | Dialect::Mariadb => {
            world.execute("ANALYZE TABLE step");
            world.number(
                "SELECT stat_value * @@innodb_page_size FROM mysql.innodb_index_stats WHERE database_name = 'plan' AND table_name = 'step' AND index_name LIKE 'windrow%' AND stat_name = 'size'",
            )
        }
    };
    about(foretold, real);
}

/// What is due, exactly.
fn counts(world: &mut World) -> Value {
    let dialect = world.dialect;
    let (call, key) = match dialect {
        Dialect::Postgres => ("SELECT windrow_plan.set_hold", "')"),
        Dialect::Mysql | Dialect::Mariadb => ("CALL windrow_plan.set_hold", "')"),
    };
    for job in [7, 900] {
        world.execute(&format!(
            "{call}('{{\"rule\": \"jobs\", \"key\": \"{job}\", \"reason\": \"test\"}}{key}"
        ));
    }
    let exact = world.plan("");
    let jobs = rule(&exact, "jobs");
    assert_eq!(jobs["exact"], true);
    let counted = ["due_families", "families", "batches", "runs", "days"];
    let expected = [DUE as f64, (DUE - HELD) as f64, 24.0, 3.0, 1.0];
    let (now, then) = (figures(jobs, counted), jobs["days"].as_f64());
    // Around midnight UTC, three hours are of two days.
    assert!(now[..4] == expected[..4] && then <= Some(2.0), "{jobs:#}");
    assert_eq!(jobs["stays"]["HELD"], HELD as f64);
    assert_eq!(figures(jobs, ["due_per_day"])[0].round(), 10.0);
    assert_eq!(jobs["limit"], "run_families");
    let tasks = rule(&exact, "tasks");
    assert_eq!(figures(tasks, ["families", "rows"]), [400.0, 1_600.0]);
    assert_eq!(
        figures(tasks, ["due_per_day"])[0].round(),
        (100.0f64 / 7.0).round()
    );
    assert_eq!(
        figures(rule(&exact, "mails"), ["families", "rows", "batches"]),
        [200.0, 200.0, 5.0]
    );
    assert!(rule(&exact, "mails")["due_per_day"].is_null());
    exact
}

/// By a tenth of what is due, or by what is at its beginning. Answers the rows of the rule that are due.
fn samples(world: &World, exact: &Value) -> f64 {
    let jobs = rule(exact, "jobs");
    let sampled = world.plan("--sample 100");
    let some = rule(&sampled, "jobs");
    assert!(
        some["exact"] == false && some["sample"] == "spread",
        "{some:#}"
    );
    let [looked, due, rows, error, batches] = figures(
        some,
        [
            "sampled_families",
            "due_families",
            "rows",
            "error_percent",
            "batches",
        ],
    );
    assert!(
        (100.0..=110.0).contains(&looked) && due == DUE as f64,
        "{some:#}"
    );
    let [all] = figures(jobs, ["rows"]);
    assert!(
        error > 0.0 && (rows - all).abs() <= all * error / 100.0,
        "{rows} ± {error} % for {all}"
    );
    // As many as all of it needs, not one for each slice.
    assert!((batches - 24.0).abs() <= 4.8, "{some:#}");
    for name in ["tasks", "mails"] {
        let exact = figures(rule(exact, name), ["batches"])[0];
        let batches = figures(rule(&sampled, name), ["batches"])[0];
        assert!(
            (batches - exact).abs() <= (exact * 0.2).max(1.0),
            "{name}: {exact}, {sampled:#}"
        );
    }
    let mails = rule(&sampled, "mails");
    assert_eq!(
        figures(mails, ["due_families", "families", "rows"]),
        [200.0; 3]
    );
    assert_eq!(mails["sample"], "first");
    assert_eq!(mails["stays"]["UNDATED_MEMBER"], UNDATED as f64);
    let capped = world.plan("--rule jobs --count 100");
    let capped = rule(&capped, "jobs");
    assert!(
        capped["due_complete"] == false && capped["due_families"] == 100.0,
        "{capped:#}"
    );
    all
}

/// What is asked wrongly is refused; what takes too long is stopped, and told.
fn refuses_or_stops(world: &mut World) {
    let dialect = world.dialect;
    let refused = |world: &mut World, routine: &str, options: &str, why: &str| {
        let call = world.calling(routine, options);
        let said = world.session.execute(&call).expect_err("it is refused");
        let said = format!("{said:#}");
        assert!(said.contains(why), "{call}: {said}");
    };
    for (routine, options, why) in [
        (
            "preview",
            r#"{"from": "soon", "rule": "jobs"}"#,
            "from is not a time",
        ),
        (
            "preview",
            r#"{"from": "2026-01-01"}"#,
            "rule mails is not ordered by a time",
        ),
        ("outlook", r#"{"limit": 0}"#, "not"),
        ("outlook", r#"{"parts": "many"}"#, "not"),
        ("outlook", r#"{"rule": "job"}"#, "rule"),
    ] {
        refused(world, routine, options, why);
    }
    world.execute(match dialect {
        Dialect::Postgres => "BEGIN; LOCK TABLE windrow_plan.hold IN ACCESS EXCLUSIVE MODE",
        Dialect::Mysql | Dialect::Mariadb => "LOCK TABLES windrow_plan.hold WRITE",
    });
    let stopped = world.plan("--rule jobs --timeout 300ms");
    world.execute(match dialect {
        Dialect::Postgres => "ROLLBACK",
        Dialect::Mysql | Dialect::Mariadb => "UNLOCK TABLES",
    });
    let stopped = rule(&stopped, "jobs");
    let notes = stopped["notes"].as_array().expect("notes");
    assert!(
        stopped["exact"] == false && stopped["rows"].is_null() && !notes.is_empty(),
        "{stopped:#}"
    );
}

/// What a run would be refused for is told, and nothing has been written.
fn an_auditor_plans(world: &mut World, jobs: &Value) {
    let dialect = world.dialect;
    world.execute(match dialect {
        Dialect::Postgres => "CREATE ROLE watcher LOGIN; GRANT windrow_plan_auditor TO watcher",
        Dialect::Mysql => "CREATE USER watcher; GRANT windrow_plan_auditor TO watcher; SET DEFAULT ROLE ALL TO watcher",
        Dialect::Mariadb => "CREATE USER watcher; GRANT windrow_plan_auditor TO watcher; SET DEFAULT ROLE windrow_plan_auditor FOR watcher",
    });
    let administrator = world.url.clone();
    world.url = world
        .url
        .replace("//postgres@", "//watcher@")
        .replace("//root@", "//watcher@");
    assert_eq!(rule(&world.plan(""), "jobs")["rows"], jobs["rows"]);
    // Who may look at nothing is not told that nothing is there.
    world.execute(match dialect {
        Dialect::Postgres => "CREATE ROLE stranger LOGIN",
        Dialect::Mysql | Dialect::Mariadb => "CREATE USER stranger",
    });
    world.url = world.url.replace("//watcher@", "//stranger@");
    match dialect {
        Dialect::Postgres => {
            world.windrow(2, "plan");
        }
        Dialect::Mysql | Dialect::Mariadb => {
            let text = world.windrow(1, "plan");
            assert!(
                text.contains("not installed, or this account cannot see it"),
                "{text}"
            );
        }
    }
    world.url = administrator;
    let text = world.windrow(0, "plan");
    assert!(
        text.contains("not armed") && text.contains("run_families = 500 ends its runs"),
        "{text}"
    );
}

/// What runs delete and log, beside what the plan said.
fn runs_do(world: &mut World, exact: &Value) {
    let before = world.logged();
    let mut runs = Vec::new();
    while runs.len() < 4 {
        let run: Value = serde_json::from_str(&world.windrow(0, "run --no-estimate --output json"))
            .expect("a run");
        runs.push(run);
    }
    let logged = world.logged() - before;
    let sum = |at: usize, name: &str| -> f64 {
        runs.iter()
            .map(|run| figures(&run["rules"][at], [name])[0])
            .sum()
    };
    for (at, name) in ["jobs", "tasks", "mails"].into_iter().enumerate() {
        let [families, rows, batches] = figures(rule(exact, name), ["families", "rows", "batches"]);
        assert_eq!(
            [sum(at, "families"), sum(at, "rows")],
            [families, rows],
            "{name}"
        );
        // Each run has a last batch that is not full, and looks at what stays anew.
        let real = sum(at, "batches");
        assert!(
            real >= batches && real <= batches + runs.len() as f64,
            "{name}: {batches}, and {real} were"
        );
    }
    let working = runs
        .iter()
        .filter(|run| figures(&run["rules"][0], ["rows"])[0] > 0.0);
    assert_eq!(working.count(), 3);
    about(figures(&exact["log"], ["bytes"])[0], logged);
}

/// It may delete a row in minutes.
fn a_slow_rule_has_a_speed(world: &mut World) {
    let days = match world.dialect {
        Dialect::Postgres => "interval '10 days'",
        Dialect::Mysql | Dialect::Mariadb => "INTERVAL 10 DAY",
    };
    let ledger = "windrow_plan.run_rule";
    world.execute(&format!(
        "UPDATE {ledger} SET started_at = started_at - {days}"
    ));
    for (command, place) in [("plan", "/rules/0/speed"), ("status", "/rules/0")] {
        let told = world.windrow(0, &format!("{command} --output json"));
        let told: Value = serde_json::from_str(&told).expect("JSON");
        let speed = told.pointer(place).expect(place)["rows_per_second"].as_f64();
        assert!(speed > Some(0.0) && speed < Some(0.1), "{speed:?}");
    }
    world.execute(&format!(
        "UPDATE {ledger} SET started_at = started_at + {days}"
    ));
}

/// Now their speed is known.
fn speed_is_known(world: &mut World, all: f64) {
    let last = world.plan("");
    let jobs = rule(&last, "jobs");
    assert_eq!(
        figures(jobs, ["due_families", "families", "runs"]),
        [HELD as f64, 0.0, 0.0]
    );
    assert_eq!(jobs["speed"]["basis"]["measured_runs"], 3.0);
    let speed = |plan: &Value| figures(&rule(plan, "jobs")["speed"], ["rows_per_second"])[0];
    assert!(
        speed(&last) > 0.0 && speed(&last) <= all * 1_000.0,
        "{jobs:#}"
    );
    // These runs were started by hand; scheduled ones will rest.
    assert_eq!(jobs["speed"]["basis"]["by_hand"], true);
    assert_eq!(jobs["speed"]["basis"]["scheduled_nice"], 15_000.0);
    let options = r#"{"rule": "jobs", "name": "scheduled_nice", "value": 0}"#;
    let call = world.calling("set_setting", options);
    world.execute(&call);
    let fast = speed(&world.plan("")) / speed(&last);
    assert!((150.0..=152.0).contains(&fast), "{fast} times as fast");
    a_slow_rule_has_a_speed(world);
    assert_eq!(
        figures(&last["total"], ["families", "rows", "work_seconds"]),
        [0.0; 3]
    );

    // What several workers gain, nobody knows before.
    let two = SPEC.replace("name = \"plan\"", "name = \"plan\"\nworkers = 2");
    fs::write(&world.spec, two).expect("a spec");
    for (plan, notes) in [(world.plan(""), 1), (last, 0)] {
        let says = rule(&plan, "tasks")["notes"].as_array().map_or(0, Vec::len);
        assert_eq!(says, notes, "{plan:#}");
    }
}
