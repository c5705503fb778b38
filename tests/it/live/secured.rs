//! Passwords and TLS.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use super::{Database, PASSWORD, Said, at, client, shared, windrow};
use crate::support::effort;
use crate::support::systems::dolphinscheduler::SCHEMA_34;
use windrow::sandbox::{Postgres, Settings};

use crate::harness::tests;

tests! {
    on_postgres: [
        passwords_and_certificates,
        nothing_that_is_written_shows_a_password,
        the_program_itself_deletes_and_changes_no_row,
        the_socket_needs_no_network,
    ],
}

/// The same as [`PASSWORD`] in an address.
const IN_URL: &str = "hunter2%2B%C3%A4";

const HBA: &str = "
local all all trust
host all postgres 127.0.0.1/32 trust
hostssl all secret 127.0.0.1/32 trust
host all app 127.0.0.1/32 scram-sha-256
";

/// A server that wants a password from `app`, and TLS from `secret`; its certificate is for `localhost`.
fn start() -> Postgres {
    let server = Postgres::start(&Settings::default()).expect("a server starts");
    let mut admin = client(&server, "postgres");
    admin.batch_execute(SCHEMA_34).expect("the schema loads");
    let certificate = |name: &str| {
        format!(
            "COPY (SELECT) TO PROGRAM 'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
             -keyout {name}.key -out {name}.crt -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null'"
        )
    };
    for sql in [
        // The server's own user makes the key: it reads no other.
        &certificate("server"),
        &certificate("other"),
        &format!("CREATE ROLE app LOGIN SUPERUSER PASSWORD '{PASSWORD}'"),
        "CREATE ROLE secret LOGIN SUPERUSER",
        "ALTER SYSTEM SET ssl = on",
    ] {
        admin
            .batch_execute(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    fs::write(server.socket_dir().join("data/pg_hba.conf"), HBA).expect("a writable folder");
    admin
        .batch_execute("SELECT pg_reload_conf()")
        .expect("the server reads it again");
    super::wait("TLS is on", || {
        let rows = client(&server, "postgres").query_one(
            "SELECT current_setting('ssl'), count(*) FROM pg_hba_file_rules",
            &[],
        );
        rows.is_ok_and(|row| row.get::<_, &str>(0) == "on" && row.get::<_, i64>(1) == 4)
    });
    server
}

/// What all commands have printed and left, whichever way the password came, and the log of the server, which is told every
/// statement.
struct Heard {
    said: String,
    log: String,
    files: usize,
    /// The instances that are there at the end.
    left: Vec<i32>,
}

fn heard() -> &'static Heard {
    static HEARD: OnceLock<Heard> = OnceLock::new();
    HEARD.get_or_init(hear)
}

/// Every command, in an order in which each has something to do.
const COMMANDS: [&str; 31] = [
    "check SPEC",
    "install SPEC",
    "arm SPEC",
    "policy set SPEC --scope 1 --retention 40d",
    "hold set SPEC --key 1 --reason test --even-if-absent",
    "hold list SPEC",
    "settings list SPEC",
    "window list SPEC",
    "preview SPEC",
    "plan SPEC",
    "run SPEC",
    "run SPEC --dry-run --output json",
    "run SPEC --retention 1s",
    "purge SPEC --key 4711",
    "verify SPEC",
    "diff SPEC",
    "status SPEC",
    "status SPEC --output json",
    "history SPEC",
    "archive list SPEC",
    "artifacts list SPEC",
    "artifacts drain SPEC --command true",
    "settings set SPEC batch_families 50",
    "settings reset SPEC batch_families",
    "window set SPEC always",
    "policy drop SPEC --scope 1",
    "hold release SPEC --key 1",
    "pause SPEC",
    "run SPEC",
    "resume SPEC",
    "uninstall SPEC --yes",
];

/// Whether a command is called in a round. The first has all; the other ways of a password serve a few between them in `make test`,
/// each all of these in `make prove`.
fn is_asked(round: usize, words: &str) -> bool {
    let few: [&[&str]; 3] = [
        &["check SPEC", "install SPEC", "arm SPEC"],
        &["arm SPEC", "run SPEC"],
        &["status SPEC", "uninstall SPEC --yes"],
    ];
    round == 0
        || if effort::is_proof() {
            few.concat().contains(&words)
        } else {
            few[round - 1].contains(&words)
        }
}

fn hear() -> Heard {
    let server = start();
    client(&server, "postgres")
        .batch_execute("ALTER ROLE app SET log_min_duration_statement = 0; ALTER ROLE app SET log_min_messages = 'info'")
        .expect("a setting");
    client(&server, "postgres")
        .batch_execute(
            "INSERT INTO t_ds_workflow_instance (id, state, end_time, is_sub_workflow, project_code, executor_id)
             VALUES (1, 7, '2025-01-01', 0, 1, 1), (2, 7, '2025-01-01', 0, 1, 1)",
        )
        .expect("instances");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("password");
    let port = server.port();
    let bare = format!("postgres://app@127.0.0.1:{port}/postgres");
    let in_url = format!("postgres://app:{IN_URL}@127.0.0.1:{port}/postgres");
    let in_query = format!("{bare}?password={IN_URL}");
    let place = folder.path().join("place");
    fs::create_dir(&place).expect("a writable folder");
    fs::write(&file, PASSWORD).expect("a writable folder");
    let from_file = format!("--password-file {}", file.display());
    let mut said = String::new();
    for (at_round, (url, more, variable)) in [
        (&in_url, "", ""),
        (&in_query, "", ""),
        (&bare, "", PASSWORD),
        (&bare, &*from_file, ""),
    ]
    .into_iter()
    .enumerate()
    {
        for words in COMMANDS {
            if !is_asked(at_round, words) {
                continue;
            }
            let output = at(url, &format!("{words} {more}"))
                .env("PGPASSWORD", variable)
                .env("HOME", &place)
                .env("TMPDIR", &place)
                .output()
                .expect("windrow starts");
            let output = Said::of(output);
            assert!(
                !output.text().contains("password authentication failed"),
                "{words}: {}",
                output.text()
            );
            said += &format!("{at_round} {words}: {}\n", output.text());
            if words == "resume SPEC" {
                let mut admin = client(&server, "postgres");
                let tables = "SELECT quote_ident(relname) FROM pg_class WHERE relkind IN ('r', 'v') AND relnamespace = 'windrow_dolphinscheduler'::regnamespace";
                let tables = admin.query(tables, &[]).expect("the tables");
                let mut ledger = String::new();
                for table in tables {
                    let table: String = table.get(0);
                    let rows = format!(
                        "SELECT coalesce(string_agg(t::text, ' '), '') FROM windrow_dolphinscheduler.{table} AS t"
                    );
                    let rows = admin.query_one(&rows, &[]).expect("a table of the ledger");
                    ledger += rows.get(0);
                }
                assert!(ledger.contains("nothing left"), "{ledger}");
                said += &ledger;
            }
        }
    }
    let files = fs::read_dir(&place).expect("a folder").count();
    let log = fs::read_to_string(server.socket_dir().join("server.log")).expect("a log");
    let left = client(&server, "postgres")
        .query("SELECT id FROM t_ds_workflow_instance ORDER BY id", &[])
        .expect("the instances");
    let left = left.iter().map(|row| row.get(0)).collect();
    Heard {
        said,
        log,
        files,
        left,
    }
}

/// Neither what is printed, nor files, the ledger, or the log of the server.
fn nothing_that_is_written_shows_a_password() {
    let heard = heard();
    assert!(heard.said.contains("app:***@"), "{}", heard.said);
    let lines = heard.said.lines();
    let shown: Vec<&str> = lines.filter(|line| line.contains("hunter2")).collect();
    assert!(shown.is_empty(), "{shown:#?}");
    assert_eq!(heard.files, 0, "files that nobody asked for");
    assert!(
        !heard.log.contains("hunter2"),
        "the log of the server has it"
    );
}

/// A run deletes, and no statement that the program sends does.
fn the_program_itself_deletes_and_changes_no_row() {
    let heard = heard();
    assert_eq!(heard.left, [1], "one is held");
    let sent: Vec<String> = heard
        .log
        .lines()
        .filter(|line| line.contains("duration: "))
        .filter_map(|line| {
            let (_, sent) = line.split_once("statement: ").or_else(|| {
                let (_, rest) = line.split_once("execute ")?;
                rest.split_once(": ")
            })?;
            Some(sent.trim().to_uppercase())
        })
        .collect();
    let calls = sent.iter().filter(|sent| sent.starts_with("CALL ")).count();
    assert!(calls > 10 && sent.len() > 100, "{calls} of {}", sent.len());
    let changes = ["DELETE", "UPDATE", "INSERT", "MERGE", "TRUNCATE", "COPY"];
    let changed = |sent: &str| {
        let within =
            |change: &&str| sent.starts_with(*change) || sent.contains(&format!("({change} "));
        changes.iter().any(within)
    };
    let wrong: Vec<&String> = sent
        .iter()
        .filter(|sent| sent.contains("T_DS_") && changed(sent))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn passwords_and_certificates() {
    let server = start();
    let folder = tempfile::tempdir().expect("a folder");
    let port = server.port();
    let app = format!("postgres://app@127.0.0.1:{port}/postgres");
    let hint = "hint: check user, password and `pg_hba.conf`";
    // Passwords: from the address, the file, the environment; none and wrong ones.
    windrow(
        &format!("postgres://app:{IN_URL}@127.0.0.1:{port}/postgres"),
        "check SPEC",
    )
    .expect(0, &["5 notices"]);
    windrow(&format!("{app}?password={IN_URL}"), "check SPEC").expect(0, &["5 notices"]);
    let file = folder.path().join("password");
    fs::write(&file, format!("{PASSWORD}\nsecond line\n")).expect("a writable folder");
    windrow(
        &app,
        &format!("check SPEC --password-file {}", file.display()),
    )
    .expect(0, &["5 notices"]);
    let with = |password: &str| {
        Said::of(
            at(&app, "check SPEC")
                .env("PGPASSWORD", password)
                .output()
                .expect("windrow starts"),
        )
    };
    with(PASSWORD).expect(0, &["5 notices"]);
    with("hunter22").expect(
        2,
        &[
            "password authentication failed for user \"app\" (SQLSTATE 28P01)",
            hint,
        ],
    );
    windrow(
        &format!("postgres://app:hunter22@127.0.0.1:{port}/postgres"),
        "status SPEC",
    )
    .expect(
        2,
        &[
            "postgres://app:***@127.0.0.1",
            "password authentication failed",
            hint,
        ],
    );
    windrow(&app, "status SPEC").expect(
        2,
        &[
            "password missing",
            "give the password in PGPASSWORD, with --password-file, in the address or in `.pgpass`",
        ],
    );
    windrow(&app, "status SPEC --password-file /nowhere")
        .expect(2, &["cannot read the password file `/nowhere`"]);
    // What is shown of the address later does not show it either.
    with(PASSWORD);
    let installed = Said::of(
        at(&app, "install SPEC")
            .env("PGPASSWORD", PASSWORD)
            .output()
            .expect("windrow starts"),
    );
    installed.expect(0, &["is installed in postgres://app:***@127.0.0.1"]);
    Said::of(
        at(&app, "run SPEC")
            .env("PGPASSWORD", "hunter2")
            .output()
            .expect("windrow starts"),
    )
    .expect(2, &[hint]);

    certificates(&server, folder.path());
}

fn certificates(server: &Postgres, folder: &Path) {
    let port = server.port();
    let file = folder.join("password");
    let certificate = server.socket_dir().join("data/server.crt");
    let (ours, other) = (folder.join("ours.pem"), folder.join("other.pem"));
    fs::copy(&certificate, &ours).expect("a certificate");
    fs::copy(certificate.with_file_name("other.crt"), &other).expect("a certificate");
    let secret = |host: &str, parameters: &str| {
        windrow(
            &format!("postgres://secret@{host}:{port}/postgres?{parameters}"),
            "check SPEC",
        )
    };
    let (ours, other) = (ours.display(), other.display());
    secret("127.0.0.1", "sslmode=require").expect(0, &["no findings"]);
    secret("127.0.0.1", "sslmode=prefer").expect(0, &["no findings"]);
    secret("127.0.0.1", "").expect(0, &["no findings"]);
    secret(
        "localhost",
        &format!("sslmode=verify-full&sslrootcert={ours}"),
    )
    .expect(0, &["no findings"]);
    secret(
        "127.0.0.1",
        &format!("sslmode=verify-ca&sslrootcert={ours}"),
    )
    .expect(0, &["no findings"]);
    secret("127.0.0.1", "sslmode=disable").expect(2, &["no pg_hba.conf entry for host \"127.0.0.1\", user \"secret\", database \"postgres\", no encryption", "`sslmode=require`"]);
    secret(
        "127.0.0.1",
        &format!("sslmode=verify-full&sslrootcert={ours}"),
    )
    .expect(
        2,
        &[
            "the server's certificate is not for `127.0.0.1` (it names `localhost`)",
            "check `sslmode` and `sslrootcert`",
        ],
    );
    for mode in ["require", "verify-ca", "verify-full"] {
        secret("localhost", &format!("sslmode={mode}&sslrootcert={other}")).expect(
            2,
            &[
                "the server's certificate is an authority itself, or signed by itself, and is not trusted here",
                "check `sslmode` and `sslrootcert`",
            ],
        );
    }
    secret("localhost", "sslmode=verify-full")
        .expect(2, &["signed by itself, and is not trusted here"]);
    secret("localhost", "sslmode=verify-ca").expect(
        2,
        &["`sslmode=verify-ca` needs the certificate of the certificate authority"],
    );
    secret("localhost", "sslmode=verify-full&sslrootcert=/nowhere.pem")
        .expect(2, &["cannot read the certificates of `/nowhere.pem`"]);
    secret(
        "localhost",
        &format!("sslmode=verify-full&sslrootcert={}", file.display()),
    )
    .expect(2, &["cannot read the certificates of"]);
    windrow(
        &shared()
            .url("bare", "postgres")
            .replace("=disable", "=require"),
        "check SPEC",
    )
    .expect(2, &["server does not support TLS", "check `sslmode`"]);
}

fn the_socket_needs_no_network() {
    let database = Database::bare();
    let url = format!(
        "postgres://postgres@/{}?host={}&port={}",
        database.name,
        shared().socket_dir().display(),
        shared().port()
    );
    windrow(&url, "check SPEC").expect(0, &["5 notices"]);
}
