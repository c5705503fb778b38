//! What a cluster that was armed does when its primary fails: the next server goes on by itself, the old one and copies do nothing.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::thread;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure;
use windrow::sandbox::mysql::{self, Flavour, Mysql};
use windrow::sandbox::{self, Postgres};

use super::{SCHEDULED, graph, schema, told};
use crate::harness::tests;
use crate::support::installation::{Session, apply, bundle, call, connect, dialect_of};
use crate::support::patience::until;

mod again;

tests! {
    on_postgres: [
        a_cluster_of_postgresql_goes_on_by_itself,
        a_cluster_is_armed_by_its_own_name_only,
        who_only_reads_the_log_is_no_standby,
    ],
    mysql_and_mariadb: [
        servers_that_replicate_go_on_by_themselves,
        a_source_that_restarts_goes_on_beside_a_replica,
    ],
    within: [
        again::tests,
    ],
}

const CONTROL: &str = "windrow_guard";

/// With so many rows a second, one a batch, a run of `jobs` takes two seconds: its server fails in the middle.
const RATE: i64 = 20;

/// Rows that are due, of each table.
const DUE: i64 = 40;

/// A server with a session of its owner.
struct Host<S> {
    server: S,
    session: Session,
    dialect: Dialect,
}

impl<S> Host<S> {
    fn number(&mut self, sql: &str) -> i64 {
        let rows = self.session.query(sql, &[]).expect(sql);
        rows[0][0].as_deref().expect("a number").parse().expect(sql)
    }

    fn scheduled(&mut self) -> Value {
        let options = serde_json::from_str(SCHEDULED).expect("options");
        call(&mut self.session, self.dialect, CONTROL, "run", &options).expect("no error")
    }

    /// A pace at which a run can be met half-way; the other rule does not rest. The spec has a slower one.
    fn slow_down(&mut self) {
        self.pace(RATE);
    }

    /// Rows a second of the first rule; the other one is not slowed down.
    fn pace(&mut self, rate: i64) {
        for (rule, rate) in [("jobs", rate), ("events", 1_000_000)] {
            let options = json!({"rule": rule, "name": "rate", "value": rate});
            call(
                &mut self.session,
                self.dialect,
                CONTROL,
                "set_setting",
                &options,
            )
            .expect("a pace");
        }
    }

    fn arm(&mut self, options: &Value) -> Result<()> {
        let routine = if self.dialect == Dialect::Postgres {
            "arm"
        } else {
            "arm_with"
        };
        self.session
            .execute(&format!("CALL {CONTROL}.{routine}('{options}')"))
    }

    /// A run of the scheduler is refused with this reason, and one by hand with an error; nothing is deleted.
    fn refuses(&mut self, reason: &str) {
        // A standby that tries to follow and cannot, as one of another timeline, is there for a moment, and its state is not seen.
        let says = |text: &str| {
            let unseen = "whether a standby follows it is not seen";
            text.contains(reason) || reason == "no standby follows it" && text.contains(unseen)
        };
        let before = self.number("SELECT COUNT(*) FROM jobs");
        let refused = self.scheduled();
        assert_eq!(refused["status"], "refused", "{refused}");
        assert!(says(&refused["reason"].to_string()), "{refused}");
        for (routine, options) in [
            ("run", json!({})),
            ("purge", json!({"rule": "jobs", "key": [1]})),
        ] {
            let error = call(&mut self.session, self.dialect, CONTROL, routine, &options)
                .expect_err(routine);
            assert_eq!(failure::sqlstate(&error), Some("55000"), "{error:#}");
            let text = format!("{error:#} {}", failure::hints(&error).concat());
            assert!(says(&text), "{text}");
        }
        assert_eq!(self.number("SELECT COUNT(*) FROM jobs"), before);
        let why = told(&mut self.session, self.dialect, CONTROL).expect("a reason");
        assert!(says(&why), "{why}");
    }

    /// Refuses, and goes on refusing after what writes to the ledger here and is not allowed to delete.
    fn keeps_refusing(&mut self, reason: &str) {
        self.refuses(reason);
        let options = json!({"dry_run": true});
        let answer = call(&mut self.session, self.dialect, CONTROL, "run", &options);
        assert_eq!(answer.expect("a dry run")["status"], "done");
        self.refuses(reason);
        // What a stamp leaves, and an error of the event before a run: it knows no such worker.
        self.session
            .execute(&match self.dialect {
                Dialect::Postgres => format!(
                    "INSERT INTO {CONTROL}.run (trigger, dry_run, options, as_of, deadline, status, finished_at)
                     VALUES ('STAMP', false, '{{}}', clock_timestamp(), clock_timestamp(), 'done', clock_timestamp())"
                ),
                Dialect::Mysql | Dialect::Mariadb => format!(
                    "INSERT INTO {CONTROL}.run (`trigger`, dry_run, options, as_of, status, backend_pid, node)
                     VALUES ('STAMP', false, '{{}}', UTC_TIMESTAMP(6), 'done', CONNECTION_ID(), @@hostname);
                     CALL {CONTROL}.run_scheduled(7)"
                ),
            })
            .expect("rows of the ledger");
        if self.dialect != Dialect::Postgres {
            let told = format!(
                "SELECT COUNT(*) FROM {CONTROL}.run WHERE reason LIKE '%unknown option: ''worker''%'"
            );
            assert_eq!(self.number(&told), 1);
        }
        self.refuses(reason);
    }

    /// What the runs of the ledger say they have deleted is what is gone, and nothing else.
    fn all_is_told(&mut self) {
        let whole = match self.dialect {
            Dialect::Postgres => "bigint",
            Dialect::Mysql | Dialect::Mariadb => "signed",
        };
        let told = self.number(&format!(
            "SELECT CAST(SUM(r.deleted_rows) AS {whole}) FROM {CONTROL}.run_rule AS r JOIN {CONTROL}.run AS l ON l.run_id = r.run_id WHERE NOT l.dry_run"
        ));
        let left =
            self.number("SELECT (SELECT COUNT(*) FROM jobs) + (SELECT COUNT(*) FROM events)");
        assert_eq!((told, left), (2 * DUE, 2));
    }
}

fn rows() -> String {
    let values: Vec<String> = (1..=DUE)
        .map(|id| format!("({id}, 'done', '2025-01-01 00:00:00')"))
        .chain([format!("({}, 'running', NULL)", DUE + 1)])
        .collect();
    ["jobs", "events"]
        .map(|table| {
            format!(
                "INSERT INTO {table} (id, state, ended) VALUES {};\n",
                values.join(", ")
            )
        })
        .concat()
}

/// A run by hand, of one family a batch, that has come half of its way.
fn run_halfway(
    url: String,
    dialect: Dialect,
    watch: &mut Session,
) -> Result<thread::JoinHandle<Result<Value>>> {
    let runner = thread::spawn(move || {
        let mut session = connect(&url);
        call(
            &mut session,
            dialect,
            CONTROL,
            "run",
            &json!({"rule": "jobs"}),
        )
    });
    until("half a run", || {
        let rows = watch.query("SELECT COUNT(*) FROM jobs", &[])?;
        let left: i64 = rows[0][0].as_deref().context("a number")?.parse()?;
        Ok(left < DUE / 2)
    })?;
    Ok(runner)
}

fn postgres(server: Postgres) -> Host<Postgres> {
    let session = connect(&server.url("postgres", "postgres"));
    Host {
        server,
        session,
        dialect: Dialect::Postgres,
    }
}

impl Host<Postgres> {
    /// How much it has of what its primary wrote, in bytes of WAL.
    fn received(&mut self) -> i64 {
        self.number("SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::bigint")
    }
}

impl Host<Postgres> {
    /// The cluster is armed, and then the right to see standbys is taken away: it must have been there, and `verify` misses it.
    fn armed_unseen(&mut self, followed: bool) -> Result<()> {
        // Where no standby follows it, the next restart ends the cleanup.
        let fine = if followed { "ok" } else { "notice" };
        let cluster = json!({"cluster": "orders"});
        let owner = format!("{CONTROL}_owner");
        let error = self.arm(&cluster).expect_err("standbys cannot be seen");
        assert_eq!(failure::sqlstate(&error), Some("55000"), "{error:#}");
        let grant = format!("GRANT pg_monitor TO {owner}");
        ensure!(format!("{error:#}").contains(&grant), "{error:#}");
        let armed = format!("SELECT count(*) FROM {CONTROL}.control WHERE armed");
        assert_eq!(self.number(&armed), 0);
        self.session.execute(&grant)?;
        self.arm(&cluster)?;
        assert_eq!(self.verified()?, fine);
        self.session
            .execute(&format!("REVOKE pg_monitor FROM {owner}"))?;
        assert_eq!(self.verified()?, "violation");
        // The lesser one suffices.
        self.session
            .execute(&format!("GRANT pg_read_all_stats TO {owner}"))?;
        self.arm(&cluster)?;
        assert_eq!(self.verified()?, fine);
        self.session
            .execute(&format!("REVOKE pg_read_all_stats FROM {owner}"))?;
        Ok(())
    }

    /// How `verify` calls what it says of the armed server.
    fn verified(&mut self) -> Result<String> {
        let checks = call(
            &mut self.session,
            self.dialect,
            CONTROL,
            "verify",
            &json!({}),
        )?;
        let checks = checks["checks"].as_array().context("checks")?;
        let armed = checks.iter().find(|it| it["check"] == "armed");
        let severity = armed.and_then(|it| it["severity"].as_str());
        Ok(severity.context("a check")?.to_owned())
    }
}

fn promoted(server: Postgres) -> Host<Postgres> {
    let mut host = postgres(server);
    let answer = host
        .session
        .query("SELECT pg_promote(true, 60)", &[])
        .expect("a promotion");
    assert_eq!(answer[0][0].as_deref(), Some("true"));
    host
}

fn a_cluster_of_postgresql_goes_on_by_itself() -> Result<()> {
    let settings = sandbox::Settings {
        extra: [
            ("cluster_name", "orders"),
            // The second standby reads what was written before the promotion from the new primary.
            ("wal_keep_size", "1GB"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        ..sandbox::Settings::default()
    };
    let mut first = postgres(Postgres::start(&settings)?);
    first.session.execute(&(schema() + &rows()))?;
    apply(&mut first.session, &bundle(Dialect::Postgres, &graph()));
    first.slow_down();
    let mut standbys = [
        postgres(first.server.start_replica()?),
        postgres(first.server.start_replica()?),
    ];
    first.armed_unseen(true)?;

    let runner = run_halfway(
        first.server.url("postgres", "postgres"),
        Dialect::Postgres,
        &mut first.session,
    )?;
    first.server.kill()?;
    ensure!(
        runner.join().expect("no panic").is_err(),
        "the run ended before its server"
    );

    // The one that has received more becomes the primary, as a cluster manager sees to it: the other can follow it.
    if standbys[0].received() > standbys[1].received() {
        standbys.swap(0, 1);
    }
    let [mut follower, heir] = standbys;
    // A standby is refused as such. The one that is promoted goes on in its first run, though it is alone: it never was away.
    let error = call(
        &mut follower.session,
        Dialect::Postgres,
        CONTROL,
        "run",
        &json!({}),
    );
    assert_eq!(
        failure::sqlstate(&error.expect_err("a standby")),
        Some("25006")
    );
    let mut heir = promoted(heir.server);
    let answer = heir.scheduled();
    assert_eq!(answer["status"], "done", "{answer}");
    heir.all_is_told();
    let crashed = format!("SELECT COUNT(*) FROM {CONTROL}.run WHERE status = 'crashed'");
    assert_eq!(heir.number(&crashed), 1);

    // The old primary comes back by itself, and finds itself armed.
    first.server.restart()?;
    let mut first = postgres(first.server);
    first.keeps_refusing("no standby follows it");
    // A copy from outside: of the same name it is alone, too; with a name of its own it is of another cluster.
    let mut copy = promoted(heir.server.start_replica()?);
    copy.session
        .execute("INSERT INTO jobs (id, state, ended) VALUES (1, 'done', '2025-01-01 00:00:00')")?;
    copy.server.restart()?;
    let mut copy = postgres(copy.server);
    copy.refuses("no standby follows it");
    copy.session
        .execute("ALTER SYSTEM SET cluster_name = 'copy'")?;
    copy.server.restart()?;
    let mut copy = postgres(copy.server);
    copy.refuses("armed for another cluster orders");

    // The heir restarts: alone it waits, and with a standby that follows it, it goes on.
    heir.session
        .execute("INSERT INTO jobs (id, state, ended) VALUES (1, 'done', '2025-01-01 00:00:00')")?;
    heir.server.restart()?;
    let mut heir = postgres(heir.server);
    heir.refuses("no standby follows it");
    follower.session.execute(&format!(
        "ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 port={} user=postgres'",
        heir.server.port()
    ))?;
    follower.session.query("SELECT pg_reload_conf()", &[])?;
    // Whether it follows, is for those to see who may see sessions. It connects twice, the second time for the new timeline.
    heir.session
        .execute(&format!("GRANT pg_monitor TO {CONTROL}_owner"))?;
    until("a run beside a standby that follows", || {
        Ok(heir.scheduled()["status"] == "done")
    })?;
    assert_eq!(heir.number("SELECT COUNT(*) FROM jobs"), 1);
    Ok(())
}

/// A name that others may have, or that is not the server's, arms nothing and disarms nothing.
fn a_cluster_is_armed_by_its_own_name_only() -> Result<()> {
    for (name, asked, why) in [
        ("", "orders", "is not of cluster"),
        ("", "", "is not of cluster"),
        ("orders", "billing", "is not of cluster"),
        ("15/main", "15/main", "Debian"),
    ] {
        let settings = sandbox::Settings {
            extra: vec![("cluster_name".to_owned(), name.to_owned())],
            ..sandbox::Settings::default()
        };
        let mut host = postgres(Postgres::start(&settings)?);
        host.session.execute(&(schema() + &rows()))?;
        apply(&mut host.session, &bundle(Dialect::Postgres, &graph()));
        host.arm(&json!({}))?;
        let error = host.arm(&json!({"cluster": asked})).expect_err(why);
        ensure!(format!("{error:#}").contains(why), "{error:#}");
        let error = host
            .arm(&json!({"cluster": asked, "until": "restart"}))
            .expect_err("both");
        ensure!(
            format!("{error:#}").contains("exclude each other"),
            "{error:#}"
        );
        let answer = call(&mut host.session, host.dialect, CONTROL, "run", &json!({}))?;
        assert_eq!(answer["status"], "done", "{answer}");
    }
    Ok(())
}

/// A receiver of WAL and a logical subscriber find a server that has come back as a standby would.
fn who_only_reads_the_log_is_no_standby() -> Result<()> {
    let settings = sandbox::Settings {
        extra: [("cluster_name", "orders"), ("wal_level", "logical")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        ..sandbox::Settings::default()
    };
    let mut host = postgres(Postgres::start(&settings)?);
    host.session.execute(&(schema() + &rows()))?;
    apply(&mut host.session, &bundle(Dialect::Postgres, &graph()));
    host.armed_unseen(false)?;
    host.server.restart()?;
    let mut host = postgres(host.server);
    host.refuses("no standby follows it");

    host.session.execute("CREATE PUBLICATION events")?;
    let mut subscriber = postgres(Postgres::start(&sandbox::Settings::default())?);
    subscriber.session.execute(&format!(
        "CREATE SUBSCRIPTION events CONNECTION 'host=127.0.0.1 port={} user=postgres dbname=postgres' PUBLICATION events",
        host.server.port()
    ))?;
    let folder = host.server.socket_dir().join("received");
    fs::create_dir(&folder)?;
    let mut receiver = host.server.bin("pg_receivewal");
    receiver.args(["--no-loop", "--directory"]).arg(&folder);
    let mut receiver = receiver.stdin(Stdio::null()).spawn()?;
    until(
        "a receiver, and a subscriber that says how far it is",
        || {
            let streaming = "SELECT count(*) + count(replay_lsn) FROM pg_stat_replication WHERE state = 'streaming'";
            Ok(host.number(streaming) == 3)
        },
    )?;
    let right = format!("GRANT pg_monitor TO {CONTROL}_owner");
    host.refuses(&right);
    host.session.execute(&right)?;
    host.refuses("no standby follows it");

    host.pace(1_000_000);
    let standby = host.server.start_replica()?;
    until("a run beside a standby that follows", || {
        Ok(host.scheduled()["status"] == "done")
    })?;
    drop(standby);
    receiver.kill()?;
    receiver.wait()?;
    Ok(())
}

fn mysql(server: Mysql) -> Host<Mysql> {
    let session = connect(&server.url("guard", "root"));
    let dialect = dialect_of(server.flavour());
    Host {
        server,
        session,
        dialect,
    }
}

fn place(server: &Mysql) -> Result<String> {
    Ok(server
        .query("SELECT CONCAT(@@hostname, ':', @@port)")?
        .trim()
        .to_owned())
}

impl Host<Mysql> {
    /// A server of MySQL does not count its replicas: who may see what sessions say of themselves does.
    fn may_see_replicas(&mut self) -> Result<()> {
        if self.dialect == Dialect::Mysql {
            let right = format!(
                "GRANT SELECT ON performance_schema.session_connect_attrs TO {CONTROL}_owner"
            );
            self.refuses(&right);
            self.session.execute(&right)?;
        }
        Ok(())
    }

    /// Starts again, with these lines at the end of its configuration.
    fn restarted(mut self, lines: &str) -> Result<Self> {
        let configuration = self.server.dir().join("server.cnf");
        let mut configuration = fs::OpenOptions::new().append(true).open(configuration)?;
        writeln!(configuration, "{lines}")?;
        self.server.restart()?;
        Ok(mysql(self.server))
    }

    /// The second in which it started, in UTC.
    fn started(&mut self) -> Result<String> {
        let rows = self.session.query(
            "SELECT CAST(UTC_TIMESTAMP() - INTERVAL CAST(s.variable_value AS signed) SECOND AS char)
             FROM /*!80000 performance_schema.global_status */ /*M! information_schema.global_status */ AS s
             WHERE s.variable_name = 'Uptime'",
            &[],
        )?;
        rows[0][0].clone().context("a time")
    }
}

/// Servers that replicate; MySQL shows who follows it in the performance schema.
fn replicating(flavour: Flavour) -> mysql::Settings {
    let mut settings = mysql::Settings::new(flavour);
    if flavour == Flavour::Mysql {
        let on = ("performance_schema".to_owned(), "ON".to_owned());
        settings.extra.push(on);
    }
    settings
}

fn servers_that_replicate_go_on_by_themselves(flavour: Flavour) -> Result<()> {
    let settings = replicating(flavour);
    let source = Mysql::start(&settings)?;
    let heir = source.start_replica(&settings)?;
    source.query("CREATE DATABASE guard")?;
    let mut first = mysql(source);
    let dialect = first.dialect;
    first.session.execute(&(schema() + &rows()))?;
    apply(&mut first.session, &bundle(dialect, &graph()));
    let listed = [place(&first.server)?, place(&heir)?];
    let error = first
        .arm(&json!({"cluster": listed[1]}))
        .expect_err("not in the list");
    ensure!(
        format!("{error:#}").contains(&format!("not in the list: {}", listed[0])),
        "{error:#}"
    );
    let error = first
        .arm(&json!({"cluster": "galera"}))
        .expect_err("no Galera cluster");
    ensure!(
        format!("{error:#}").contains("not of cluster 'galera'"),
        "{error:#}"
    );
    let error = first
        .arm(&json!({"cluster": listed[0], "until": "restart"}))
        .expect_err("both");
    ensure!(
        format!("{error:#}").contains("exclude each other"),
        "{error:#}"
    );
    first.arm(&json!({"cluster": listed.join(", ")}))?;
    first.slow_down();
    heir.catch_up(&first.server)?;
    heir.query("SET GLOBAL read_only = ON")?;

    let runner = run_halfway(
        first.server.url("guard", "root"),
        dialect,
        &mut first.session,
    )?;
    heir.catch_up(&first.server)?;
    let mut heir = mysql(heir);
    assert_eq!(heir.scheduled()["reason"], "the server is read-only");
    first.server.kill()?;
    ensure!(
        runner.join().expect("no panic").is_err(),
        "the run ended before its server"
    );

    // The run of the dead server counts as alive for five minutes without a sign of life.
    heir.server.query(match flavour {
        Flavour::Mysql => "STOP REPLICA; RESET REPLICA ALL; SET GLOBAL read_only = OFF",
        Flavour::Mariadb => "STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = OFF",
    })?;
    let refused = heir.scheduled();
    ensure!(
        refused["reason"].to_string().contains("on another server"),
        "{refused}"
    );
    let silent = |host: &mut Host<Mysql>, minutes: &str| {
        host.session.execute(&format!(
            "UPDATE {CONTROL}.run SET alive_at = UTC_TIMESTAMP(6) - INTERVAL {minutes} MINUTE WHERE status = 'running';
             UPDATE {CONTROL}.control SET armed_at = UTC_TIMESTAMP(6)"
        ))
    };
    silent(&mut heir, "4")?;
    assert_eq!(heir.scheduled()["status"], "refused");
    silent(&mut heir, "6")?;
    let answer = heir.scheduled();
    assert_eq!(answer["status"], "done", "{answer}");
    heir.all_is_told();

    comes_back(first, &listed)
}

/// What the old source does, that was killed, once it is back.
fn comes_back(mut first: Host<Mysql>, listed: &[String; 2]) -> Result<()> {
    first.server.restart()?;
    let mut first = mysql(first.server);
    first.may_see_replicas()?;
    first.keeps_refusing("no replica follows it");
    // Servers say only in which second they started: in that second it may have been alone already.
    let in_this_second = first.started()?;
    first.session.execute(&format!(
        "UPDATE {CONTROL}.control SET armed_at = '{in_this_second}.9';
         UPDATE {CONTROL}.run SET alive_at = '{in_this_second}.9'"
    ))?;
    first.refuses("no replica follows it");
    // A server that is not in the list, with all that is in the tables of the old one.
    first.session.execute(&format!("UPDATE {CONTROL}.control SET server_identity = REPLACE(server_identity, '{}', 'elsewhere:1')", listed[0]))?;
    first.refuses("armed for another cluster of servers");
    until("the second after that of the start", || {
        Ok(first.number(&format!("SELECT UTC_TIMESTAMP() > '{in_this_second}'")) == 1)
    })?;
    first.arm(&json!({"cluster": listed.join(",")}))?;
    let answer = first.scheduled();
    assert_eq!(answer["status"], "done", "{answer}");
    Ok(())
}

/// A source that has restarted is not followed by who only reads its binary log, and on MySQL it sees nobody without the means.
fn a_source_that_restarts_goes_on_beside_a_replica(flavour: Flavour) -> Result<()> {
    let settings = replicating(flavour);
    let source = Mysql::start(&settings)?;
    source.query("CREATE DATABASE guard")?;
    let mut host = mysql(source);
    host.session.execute(&(schema() + &rows()))?;
    apply(&mut host.session, &bundle(host.dialect, &graph()));
    let listed = [place(&host.server)?, "elsewhere:3306".to_owned()];
    host.arm(&json!({"cluster": listed.join(",")}))?;
    host.slow_down();

    if flavour == Flavour::Mysql {
        // Without the performance schema no grant would help.
        host = host.restarted("performance_schema = OFF")?;
        host.refuses("performance_schema is off");
        host = host.restarted(
            "performance_schema = ON\nperformance_schema_session_connect_attrs_size = 0",
        )?;
        host.refuses("performance_schema_session_connect_attrs_size is 0");
        host = host.restarted("performance_schema_session_connect_attrs_size = 512")?;
    } else {
        host = host.restarted("")?;
    }
    host.may_see_replicas()?;
    host.refuses("no replica follows it");
    let mut reader = None;
    if flavour == Flavour::Mysql {
        let folder = host.server.dir().join("received");
        fs::create_dir(&folder)?;
        let logs = host.server.query("SHOW BINARY LOGS")?;
        let log = logs.split_whitespace().next().context("a binary log")?;
        let mut command = host.server.bin("mysqlbinlog");
        command.args(["--read-from-remote-server", "--raw", "--stop-never", log]);
        command.arg(format!("--result-file={}/", folder.display()));
        reader = Some(command.stdin(Stdio::null()).spawn()?);
        until("somebody reads the binary log", || {
            let reading = "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_command LIKE 'Binlog Dump%'";
            Ok(host.number(reading) == 1)
        })?;
        host.refuses("no replica follows it");
    }

    let replica = host.server.start_replica(&settings)?;
    until("a run beside a replica that follows", || {
        Ok(host.scheduled()["status"] == "done")
    })?;
    let armed = told(&mut host.session, host.dialect, CONTROL);
    ensure!(armed.is_none(), "{armed:?}");
    drop(replica);
    if let Some(mut reader) = reader {
        reader.kill()?;
        reader.wait()?;
    }
    Ok(())
}
