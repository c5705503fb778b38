//! Passwords and TLS.

use std::fs;

use super::{Database, PASSWORD, Said, at, client, shared, windrow};
use crate::support::systems::dolphinscheduler::SCHEMA_34;
use windrow::sandbox::{Postgres, Settings};

use crate::harness::tests;

tests! {
    on_postgres: [
        passwords_and_certificates,
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
            "give the password in PGPASSWORD, by --password-file, or in the address",
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

    // TLS.
    let certificate = server.socket_dir().join("data/server.crt");
    let (ours, other) = (
        folder.path().join("ours.pem"),
        folder.path().join("other.pem"),
    );
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
    .expect(2, &["mismatch", "check `sslmode` and `sslrootcert`"]);
    for mode in ["require", "verify-ca", "verify-full"] {
        secret("localhost", &format!("sslmode={mode}&sslrootcert={other}")).expect(
            2,
            &[
                "certificate verify failed",
                "check `sslmode` and `sslrootcert`",
            ],
        );
    }
    secret("localhost", "sslmode=verify-full").expect(2, &["certificate verify failed", "self"]);
    secret("localhost", "sslmode=verify-ca").expect(
        2,
        &["`sslmode=verify-ca` needs the certificate of the authority"],
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
