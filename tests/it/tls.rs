//! TLS with certificates of every kind, right and wrong, and the files in which the servers' own clients keep their settings.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use postgres::{Client, NoTls};
use tempfile::TempDir;
use windrow::sandbox::mysql::{Flavour, Mysql};
use windrow::sandbox::{Postgres, Settings, mysql};

use crate::harness::tests;
use crate::support::patience::until;

tests! {
    on_postgres: [
        libpq_s_modes_mean_what_they_mean_there,
        services_passwords_and_variables_are_found,
    ],
    on_several: [
        the_modes_of_mysql_mean_what_they_mean_there,
        option_files_are_read,
    ],
}

/// An authority, and what it and another one have signed.
struct Certificates(TempDir);

impl Certificates {
    fn make() -> Certificates {
        let made = Certificates(tempfile::tempdir().expect("a folder"));
        open(made.0.path(), 0o755);
        for authority in ["ours", "other"] {
            made.openssl(&format!(
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout {authority}.key \
                 -out {authority}.crt -subj /CN=authority-{authority}"
            ));
        }
        let named = "-extfile names.cnf";
        fs::write(made.path("names.cnf"), "subjectAltName=DNS:localhost\n").expect("a file");
        made.sign("server", "localhost", "ours", &format!("{named} -days 2"));
        made.sign("expired", "localhost", "ours", &format!("{named} -days -1"));
        // Without extensions: of version 1, unless OpenSSL is of a later mind, and named in the subject alone.
        made.sign("plain", "localhost", "ours", "-days 2");
        made.sign("plain_client", "client", "ours", "-days 2");
        made.sign("client", "client", "ours", &format!("{named} -days 2"));
        made.sign("stranger", "client", "other", &format!("{named} -days 2"));
        made
    }

    fn sign(&self, name: &str, subject: &str, authority: &str, more: &str) {
        self.openssl(&format!(
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout {name}.key -out {name}.csr -subj /CN={subject}"
        ));
        self.openssl(&format!(
            "x509 -req -in {name}.csr -CA {authority}.crt -CAkey {authority}.key -CAcreateserial -out {name}.crt {more}"
        ));
    }

    fn openssl(&self, words: &str) {
        let output = Command::new("openssl")
            .args(words.split_whitespace())
            .current_dir(self.0.path())
            .output()
            .expect("openssl");
        assert!(output.status.success(), "{words}: {output:?}");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file of an address, with everything readable that the server's user must read.
    fn at(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

/// What a statement answers, or what is wrong with the connection.
fn ask(url: &str, sql: &str) -> Result<String, String> {
    let answer = url
        .parse()
        .map_err(anyhow::Error::from)
        .and_then(|url| windrow::db::connect_as_application(&url)?.query(sql, &[]));
    let rows = answer.map_err(|error| format!("{error:#}"))?;
    let cells = rows.into_iter().flatten().map(Option::unwrap_or_default);
    Ok(cells.collect::<Vec<_>>().join(" "))
}

/// Each of these addresses is answered, or refused for a reason.
fn expect(what: &str, sql: &str, cases: &[(String, Result<&str, &str>)]) {
    for (url, expected) in cases {
        let said = ask(url, sql);
        let is = match (&said, expected) {
            (Ok(said), Ok(answer)) => said.starts_with(answer),
            (Err(said), Err(why)) => said.contains(why),
            _ => false,
        };
        assert!(is, "{what}, {url}: {said:?} instead of {expected:?}");
    }
}

fn admin(server: &Postgres) -> Client {
    Client::connect(&server.url("postgres", "postgres"), NoTls).expect("a session")
}

/// Gives the server a certificate, by its own user: it reads no key of others.
fn show(server: &Postgres, certificates: &Certificates, name: &str) {
    for kind in ["crt", "key"] {
        open(&certificates.path(&format!("{name}.{kind}")), 0o644);
        let copy = format!(
            "COPY (SELECT) TO PROGRAM 'cat >/dev/null; install -m 600 {} {name}.{kind}'",
            certificates.at(&format!("{name}.{kind}"))
        );
        admin(server).batch_execute(&copy).expect("a copy");
    }
    let file = format!("{name}.crt");
    for sql in [
        format!("ALTER SYSTEM SET ssl_cert_file = '{file}'"),
        format!("ALTER SYSTEM SET ssl_key_file = '{name}.key'"),
        "SELECT pg_reload_conf()".to_owned(),
    ] {
        admin(server).batch_execute(&sql).expect("a setting");
    }
    until("the server has read its certificate", || {
        let row = admin(server).query_one("SELECT current_setting('ssl_cert_file')", &[])?;
        Ok(row.get::<_, &str>(0) == file)
    })
    .expect("a certificate");
}

const HBA: &str = "
local all all trust
host all postgres 127.0.0.1/32 trust
hostnossl all plain 127.0.0.1/32 trust
hostssl all secret 127.0.0.1/32 trust
hostssl all client 127.0.0.1/32 cert
host all app 127.0.0.1/32 scram-sha-256
";

fn start(certificates: &Certificates) -> Postgres {
    let server = Postgres::start(&Settings::default()).expect("a server");
    open(&certificates.path("ours.crt"), 0o644);
    let authority = format!(
        "COPY (SELECT) TO PROGRAM 'cat >/dev/null; install -m 600 {} ours.crt'",
        certificates.at("ours.crt")
    );
    let mut session = admin(&server);
    for sql in [
        authority.as_str(),
        "CREATE ROLE plain LOGIN",
        "CREATE ROLE secret LOGIN",
        "CREATE ROLE client LOGIN",
        "CREATE ROLE app LOGIN PASSWORD 'hunter2'",
        "ALTER SYSTEM SET ssl_ca_file = 'ours.crt'",
        "ALTER SYSTEM SET ssl = on",
    ] {
        session.batch_execute(sql).expect(sql);
    }
    fs::write(server.socket_dir().join("data/pg_hba.conf"), HBA).expect("a writable folder");
    show(&server, certificates, "server");
    server
}

/// The addresses of a server with certificates.
struct Stage {
    certificates: Certificates,
    server: Postgres,
}

impl Stage {
    fn start() -> Stage {
        let certificates = Certificates::make();
        let server = start(&certificates);
        Stage {
            certificates,
            server,
        }
    }

    fn to(&self, user: &str, host: &str, rest: &str) -> String {
        format!(
            "postgres://{user}@{host}:{}/postgres?{rest}",
            self.server.port()
        )
    }

    fn secret(&self, host: &str, rest: &str) -> String {
        self.to("secret", host, rest)
    }

    /// By which certificate the host must be proved.
    fn full(&self, name: &str) -> String {
        format!(
            "sslmode=verify-full&sslrootcert={}",
            self.certificates.at(name)
        )
    }

    /// By which certificate an authority must be proved.
    fn ca(&self, name: &str) -> String {
        format!(
            "sslmode=verify-ca&sslrootcert={}",
            self.certificates.at(name)
        )
    }
}

/// Whether a session goes over TLS, and who it shows to be.
const SESSION: &str =
    "SELECT ssl, coalesce(client_dn, '') FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

/// No authority has signed that.
const UNTRUSTED: &str = "is not signed by a certificate authority that is trusted here";

fn libpq_s_modes_mean_what_they_mean_there() {
    let it = Stage::start();
    let cases = [
        (
            it.secret("127.0.0.1", "sslmode=disable"),
            Err("no encryption"),
        ),
        (it.secret("127.0.0.1", "sslmode=allow"), Ok("true")),
        (it.to("plain", "127.0.0.1", "sslmode=allow"), Ok("false")),
        (it.to("plain", "127.0.0.1", "sslmode=prefer"), Ok("false")),
        (
            it.to("plain", "127.0.0.1", "sslmode=require"),
            Err("SSL encryption"),
        ),
        (it.secret("127.0.0.1", "sslmode=prefer"), Ok("true")),
        (it.secret("127.0.0.1", "sslmode=require"), Ok("true")),
        (
            it.secret(
                "127.0.0.1",
                &format!(
                    "sslmode=require&sslrootcert={}",
                    it.certificates.at("other.crt")
                ),
            ),
            Err(UNTRUSTED),
        ),
        (it.secret("127.0.0.1", &it.ca("ours.crt")), Ok("true")),
        (it.secret("127.0.0.1", &it.ca("other.crt")), Err(UNTRUSTED)),
        (it.secret("localhost", &it.full("ours.crt")), Ok("true")),
        (
            it.secret("localhost", &it.full("other.crt")),
            Err(UNTRUSTED),
        ),
        (
            it.secret("127.0.0.1", &it.full("ours.crt")),
            Err("is not for `127.0.0.1` (it names `localhost`)"),
        ),
        (it.secret("localhost", "sslrootcert=system"), Err(UNTRUSTED)),
        (
            it.secret("localhost", "sslrootcert=system&sslmode=require"),
            Err("needs `sslmode=verify-full`"),
        ),
    ];
    expect("a certificate", SESSION, &cases);
    clients_show_theirs(&it);
    old_ones_are_judged(&it);
}

/// Who wants to see the client's: none, that of a stranger, one whose key others may read, and the right one.
fn clients_show_theirs(it: &Stage) {
    let by = |name: &str| {
        format!(
            "{}&sslcert={}&sslkey={}",
            it.full("ours.crt"),
            it.certificates.at(&format!("{name}.crt")),
            it.certificates.at(&format!("{name}.key"))
        )
    };
    let client = |rest: &str| it.to("client", "localhost", rest);
    for name in ["client", "plain_client", "stranger"] {
        open(&it.certificates.path(&format!("{name}.key")), 0o600);
    }
    let cases = [
        (
            client(&it.full("ours.crt")),
            Err("valid client certificate"),
        ),
        (
            client(&by("stranger")),
            Err("the server refuses the client's certificate"),
        ),
        (client(&by("client")), Ok("true /CN=client")),
        (client(&by("plain_client")), Ok("true /CN=client")),
        (
            client(&by("client").replace("client.key", "stranger.key")),
            Err("cannot use the certificate"),
        ),
        (
            client(&by("client").replace("client.key", "none.key")),
            Err("cannot read the key"),
        ),
    ];
    expect("the client's", SESSION, &cases);
    open(&it.certificates.path("client.key"), 0o644);
    let cases = [(
        client(&by("client")),
        Err("users other than its owner may read it"),
    )];
    expect("a key for all", SESSION, &cases);
}

fn old_ones_are_judged(it: &Stage) {
    show(&it.server, &it.certificates, "expired");
    let cases = [
        (
            it.secret("localhost", &it.full("ours.crt")),
            Err("has expired"),
        ),
        (
            it.secret("localhost", &it.ca("ours.crt")),
            Err("has expired"),
        ),
        (it.secret("localhost", "sslmode=require"), Ok("true")),
    ];
    expect("an expired one", SESSION, &cases);

    // As PostgreSQL's manual makes one.
    show(&it.server, &it.certificates, "plain");
    let cases = [
        (it.secret("localhost", &it.full("ours.crt")), Ok("true")),
        (
            it.secret("127.0.0.1", &it.full("ours.crt")),
            Err("is not for `127.0.0.1` (it names `localhost`)"),
        ),
        (it.secret("127.0.0.1", &it.ca("ours.crt")), Ok("true")),
        (
            it.secret("localhost", &it.ca("other.crt")),
            Err("no authority that is trusted here"),
        ),
        (it.secret("localhost", &it.full("plain.crt")), Ok("true")),
        (
            it.secret("127.0.0.1", &it.full("plain.crt")),
            Err("is not for `127.0.0.1`"),
        ),
    ];
    expect("one of version 1", SESSION, &cases);

    // A password over TLS is bound to the certificate.
    let app = format!(
        "postgres://app:hunter2@localhost:{}/postgres?{}",
        it.server.port(),
        it.full("ours.crt")
    );
    expect("a password", SESSION, &[(app, Ok("true"))]);
}

/// What it says where the connection is made: there are no tables.
const CONNECTED: &[&str] = &["this account sees no table"];

/// What the program says of a connection, at a place with files and variables of its own.
fn hears(home: &Path, variables: &[(&str, &str)], url: &str, words: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(["inspect", "--database", url])
        .env_clear()
        .env("HOME", home)
        .envs(variables.iter().copied())
        .output()
        .expect("windrow starts");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(!text.contains("hunter"), "a password is shown: {text}");
    for words in words {
        assert!(text.contains(words), "{url}: {words}: {text}");
    }
}

/// A file of the user's own.
fn write(home: &Path, name: &str, text: &str) {
    fs::write(home.join(name), text).expect("a file");
    open(&home.join(name), 0o600);
}

fn services_passwords_and_variables_are_found() {
    let it = Stage::start();
    let port = it.server.port().to_string();
    let home = tempfile::tempdir().expect("a folder");
    let home = home.path();
    let expect = |variables: &[(&str, &str)], url: &str, words: &[&str]| {
        hears(home, variables, url, words);
    };
    let url = format!("postgres://app@localhost:{port}/postgres");
    expect(
        &[],
        &url,
        &["password missing", "in the address or in `.pgpass`"],
    );
    write(
        home,
        ".pgpass",
        &format!("*:1:*:*:hunter1\nlocalhost:{port}:*:app:hunter2\n"),
    );
    open(&home.join(".pgpass"), 0o644);
    expect(
        &[],
        &url,
        &[
            "password missing",
            ".pgpass` is not read: users other than its owner may read it",
        ],
    );
    open(&home.join(".pgpass"), 0o600);
    expect(&[], &url, CONNECTED);
    expect(
        &[("PGPASSWORD", "hunter3")],
        &url,
        &["password authentication failed"],
    );
    settings_come_from_variables_and_services(home, &port);
}

/// Everything from variables, then from a service, of which the variables say nothing.
fn settings_come_from_variables_and_services(home: &Path, port: &str) {
    let expect = |variables: &[(&str, &str)], url: &str, words: &[&str]| {
        hears(home, variables, url, words);
    };
    let variables = [
        ("PGHOST", "localhost"),
        ("PGPORT", port),
        ("PGUSER", "app"),
        ("PGDATABASE", "postgres"),
    ];
    expect(&variables, "postgres://", CONNECTED);
    let wrong = [&variables[..], &[("PGSSLMODE", "often")]].concat();
    expect(&wrong, "postgres://", &["PGSSLMODE: `sslmode` is none of"]);
    write(
        home,
        ".pg_service.conf",
        &format!(
            "# ours\n[other]\nhost=nowhere\n\n[db]\nhost=localhost\nport={port}\nuser=app\ndbname=postgres\nkeepalives=1\n"
        ),
    );
    expect(
        &[("PGHOST", "nowhere"), ("PGSERVICE", "db")],
        "postgres://",
        CONNECTED,
    );
    expect(&[], "postgres://?service=db", CONNECTED);
    expect(
        &[],
        "postgres://?service=dc",
        &["there is no service `dc` in `", ".pg_service.conf`"],
    );
    write(
        home,
        ".pg_service.conf",
        "[db]\nhost=localhost\nsslmode=often\n",
    );
    expect(
        &[],
        "postgres://?service=db",
        &[".pg_service.conf`, line 3: `sslmode` is none of"],
    );
    write(home, ".pg_service.conf", "[db]\nsslcrl=/x\n");
    expect(
        &[],
        "postgres://?service=db",
        &["line 2: `sslcrl` is not a known parameter"],
    );
    let file = home.join("elsewhere").display().to_string();
    expect(
        &[("PGSERVICEFILE", &file)],
        "postgres://?service=db",
        &["cannot read `", "elsewhere`"],
    );
}

fn the_modes_of_mysql_mean_what_they_mean_there() {
    for flavour in Flavour::ALL {
        let certificates = Certificates::make();
        for name in ["ours", "server", "expired", "plain"] {
            for kind in ["crt", "key"] {
                open(&certificates.path(&format!("{name}.{kind}")), 0o644);
            }
        }
        let (shown, key) = (
            certificates.path("shown.crt"),
            certificates.path("shown.key"),
        );
        let show = |name: &str| {
            fs::copy(certificates.path(&format!("{name}.crt")), &shown).expect("a copy");
            fs::copy(certificates.path(&format!("{name}.key")), &key).expect("a copy");
        };
        show("server");
        let server = Mysql::start(&mysql::Settings {
            extra: [
                ("ssl_ca", certificates.at("ours.crt")),
                ("ssl_cert", shown.display().to_string()),
                ("ssl_key", key.display().to_string()),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec(),
            ..mysql::Settings::new(flavour)
        })
        .expect("a server");
        server
            .query(
                "CREATE USER secret@'127.0.0.1' REQUIRE SSL; CREATE USER client@'127.0.0.1' REQUIRE X509",
            )
            .expect("accounts");
        let port = server.port();
        let to =
            |user: &str, host: &str, rest: &str| format!("mysql://{user}@{host}:{port}/?{rest}");
        let secret = |host: &str, rest: &str| to("secret", host, rest);
        let (ours, other) = (certificates.at("ours.crt"), certificates.at("other.crt"));
        let ca = |authority: &str| format!("ssl-mode=VERIFY_CA&ssl-ca={authority}");
        let identity = |authority: &str| format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={authority}");
        let untrusted = UNTRUSTED;
        let cipher = "Ssl_cipher TLS";
        let cases = [
            (
                secret("127.0.0.1", "ssl-mode=DISABLED"),
                Err("Access denied"),
            ),
            (secret("127.0.0.1", "ssl-mode=PREFERRED"), Ok(cipher)),
            (secret("127.0.0.1", "ssl-mode=REQUIRED"), Ok(cipher)),
            (secret("127.0.0.1", &ca(&ours)), Ok(cipher)),
            (secret("127.0.0.1", &format!("ssl-ca={ours}")), Ok(cipher)),
            (secret("127.0.0.1", &ca(&other)), Err(untrusted)),
            (secret("localhost", &identity(&ours)), Ok(cipher)),
            (secret("localhost", &identity(&other)), Err(untrusted)),
            (
                secret("127.0.0.1", &identity(&ours)),
                Err("is not for `127.0.0.1`"),
            ),
            (
                secret("localhost", "ssl-mode=VERIFY_IDENTITY"),
                Err(untrusted),
            ),
        ];
        expect(&format!("{flavour:?}"), CIPHER, &cases);
        clients_show_theirs_to_mysql(&certificates, port);
        // MySQL itself shows no such one.
        if flavour == Flavour::Mysql {
            continue;
        }
        show("expired");
        server.query("FLUSH SSL").expect("the server reads it");
        let cases = [
            (secret("127.0.0.1", &ca(&ours)), Err("has expired")),
            (secret("127.0.0.1", "ssl-mode=REQUIRED"), Ok(cipher)),
        ];
        expect(&format!("{flavour:?}, expired"), CIPHER, &cases);
    }
}

/// By which cipher a session is protected.
const CIPHER: &str = "SHOW STATUS LIKE 'Ssl_cipher'";

fn clients_show_theirs_to_mysql(certificates: &Certificates, port: u16) {
    let by = |more: &str| {
        let authority = certificates.at("ours.crt");
        format!(
            "mysql://client@localhost:{port}/?ssl-mode=VERIFY_IDENTITY&ssl-ca={authority}{more}"
        )
    };
    let with = |name: &str| {
        let file = certificates.at(name);
        by(&format!("&ssl-cert={file}.crt&ssl-key={file}.key"))
    };
    let key = format!("&ssl-key={}", certificates.at("client.key"));
    let cases = [
        (by(""), Err("Access denied")),
        (with("client"), Ok("Ssl_cipher TLS")),
        (
            with("stranger"),
            Err("the server refuses the client's certificate"),
        ),
        (by(&key), Err("`ssl-key` is given without a certificate")),
    ];
    expect("the client's", CIPHER, &cases);
}

fn option_files_are_read() {
    for flavour in crate::support::effort::flavours(Flavour::Mysql) {
        let server = Mysql::start(&mysql::Settings::new(flavour)).expect("a server");
        server
            .query("CREATE DATABASE jobs; CREATE USER app@'127.0.0.1' IDENTIFIED BY 'hunter2#'; GRANT ALL ON jobs.* TO app@'127.0.0.1'")
            .expect("an account");
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path();
        let port = server.port();
        if flavour == Flavour::Mysql {
            // The server has made its certificates itself.
            let authority = server.dir().join("data/ca.pem");
            let url = format!(
                "mysql://app:hunter2%23@127.0.0.1:{port}/?ssl-ca={}",
                authority.display()
            );
            let cases = [(url, Ok("Ssl_cipher TLS"))];
            self::expect("made by MySQL", CIPHER, &cases);
        }
        let expect = |variables: &[(&str, &str)], url: &str, words: &[&str]| {
            hears(home, variables, url, words);
        };
        let all = format!(
            "[mysqld]\nport=1\n[client]\n# ours\nhost = 127.0.0.1 # here\nport={port}\nuser=app\npassword=\"hunter2#\"\nget_server_public_key\n"
        );
        write(home, ".my.cnf", &all);
        expect(&[], "mysql:///jobs", CONNECTED);
        // What the address says counts, and the password of a file before that of the environment.
        expect(&[("MYSQL_PWD", "hunter3")], "mysql:///jobs", CONNECTED);
        // What an inventory of `windrow fleet` says counts before the file, and the address before all.
        let ours = ("WINDROW_PASSWORD", "hunter3");
        expect(&[ours], "mysql:///jobs", &["error 1045"]);
        expect(&[ours], "mysql://app:hunter2%23@/jobs", CONNECTED);
        expect(
            &[],
            "mysql://app:hunter3@/jobs",
            &["error 1045", ".my.cnf` is read"],
        );
        open(&home.join(".my.cnf"), 0o666);
        expect(
            &[],
            &format!("mysql://app@127.0.0.1:{port}/jobs"),
            &["is not read: everybody may write to it"],
        );
        fs::rename(home.join(".my.cnf"), home.join("my.cnf")).expect("a rename");
        open(&home.join("my.cnf"), 0o600);
        let named = format!(
            "mysql:///jobs?defaults-file={}",
            home.join("my.cnf").display()
        );
        expect(&[], &named, CONNECTED);
        write(home, "my.cnf", &all.replace("# ours", "ssl-crl = /x"));
        expect(&[], &named, &["my.cnf`, line 4: windrow has no `ssl-crl`"]);
        write(home, "my.cnf", &all.replace("# ours", "ssl-mode = often"));
        expect(&[], &named, &["my.cnf`, line 4: `ssl-mode` is none of"]);
        fs::remove_file(home.join("my.cnf")).expect("a file");
        expect(&[], &named, &["cannot read `", "my.cnf`"]);
    }
}
