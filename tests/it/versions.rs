//! `init`: one spec for several versions of a system.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use windrow::dialect::Dialect;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

mod hidden;
mod systems;

tests! {
    within: [
        hidden::tests,
        systems::tests,
    ],
    mysql_and_mariadb: [
        what_an_account_may_not_see_is_not_left_out,
    ],
    every_server: [
        what_is_optional_is_left_out_by_every_command,
        what_keeps_rows_is_not_left_out_on_suspicion,
        conditions_do_not_get_weaker,
        types_are_those_of_the_database,
        what_the_spec_does_not_know_is_asked,
        what_cannot_be_done_says_why,
    ],
}

const BESIDE: &str = "CREATE TABLE beside (id integer PRIMARY KEY, ended_at timestamp NULL);";

/// A database with these tables, in which nothing is installed that has to do with them.
fn database(dialect: Dialect, schema: &str) -> Installation {
    let graph = graph_of(
        "name = 'beside'\nschema = 'public'\ndatabase = 'beside'\n[tables]\nbeside = { key = 'id integer' }\n\
         [rules.beside]\nstrategy = 'end-time'\nroot = 'beside'\nfinal = { ended_at = { null = false } }\nend_time = 'ended_at'\n\
         retention = { default = '30d', minimum = '7d', safety_lag = '1d' }\n",
    );
    Installation::of(dialect, &format!("{schema}\n{BESIDE}"), &graph)
}

/// What the binary says: exit code, output, what it told beside.
fn said(url: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .args(["--database", url])
        .env("NO_COLOR", "1")
        .output()
        .expect("windrow runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// A file with a text, of this test.
fn file(database: &Installation, name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!(
        "windrow-versions-{}-{:?}-{}-{name}.toml",
        std::process::id(),
        database.dialect,
        database.name
    ));
    fs::write(&path, text).expect("a spec is written");
    path
}

/// The schema or database of the tables.
fn home(database: &Installation) -> String {
    match database.dialect {
        Dialect::Postgres => "public".to_owned(),
        Dialect::Mysql | Dialect::Mariadb => database.name.clone(),
    }
}

fn init(database: &Installation, from: &str) -> (Option<i32>, String, String) {
    let home = home(database);
    let url = database.superuser();
    said(&url, &["init", "--from", from, "--schema", &home])
}

/// What `check --database` has against a spec, but for what is of the server and not of the spec.
fn against(database: &Installation, spec: &str) -> Vec<String> {
    let path = file(database, "checked", spec);
    let arguments = ["check", path.to_str().expect("UTF-8"), "--output", "json"];
    let (_, findings, told) = said(&database.superuser(), &arguments);
    fs::remove_file(&path).expect("a spec is removed");
    let found: serde_json::Value = serde_json::from_str(&findings)
        .unwrap_or_else(|error| panic!("{error}\n{findings}\n{told}"));
    let diagnostics = found["diagnostics"].as_array().expect("diagnostics");
    let findings = found["findings"].as_array().expect("findings");
    let findings = findings
        .iter()
        .filter(|finding| finding["severity"] != "notice" && finding["code"] != "event-scheduler");
    let found = diagnostics.iter().chain(findings);
    found.map(ToString::to_string).collect()
}

/// Runs with steps and what else an application may have.
const TABLES: &str = "
CREATE TABLE run (id integer PRIMARY KEY, state varchar(20), ended_at TIME NULL, tenant integer);
CREATE TABLE step (id integer PRIMARY KEY, run_id integer NOT NULL);
CREATE INDEX step_run ON step (run_id);
";

fn schema(dialect: Dialect) -> String {
    // What has no zone.
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime",
    };
    TABLES.replace("TIME", time)
}

const SPEC: &str = r#"
name = "NAME"
schema = "public"
database = "DATABASE"

[tables]
run  = { key = "id integer" }
# What a run is made of.
step = { parents = ["run_id -> run.id"], indexed = ["run_id"] }   # its steps
MORE

[rules.runs]
strategy  = "end-time"
root      = "run"
final     = { state = "done" }
end_time  = "ended_at"
retention = { default = "30d", per = "tenant integer", opt_in = true }
limits    = { batch_families = 100, lock_timeout = "100ms" }
"#;

/// The spec for a database, with further tables, and what a test changes.
fn spec(database: &Installation, more: &str, changes: &[(&str, &str)]) -> String {
    let name = format!("v_{}", database.name);
    let spec = SPEC
        .replace("NAME", &name)
        .replace("DATABASE", &database.name)
        .replace("MORE", more);
    changes.iter().fold(spec, |spec, (from, to)| {
        assert!(spec.contains(from), "{from}\n{spec}");
        spec.replace(from, to)
    })
}

/// What `init` says of a spec.
fn fitted(database: &Installation, text: &str) -> (Option<i32>, String, String) {
    let path = file(database, "from", text);
    let answer = init(database, path.to_str().expect("UTF-8"));
    fs::remove_file(&path).expect("a spec is removed");
    answer
}

fn what_is_optional_is_left_out_by_every_command(dialect: Dialect) {
    let mut database = database(dialect, &schema(dialect));
    let more = "audit = { optional = true, parents = [\"run_id -> run.id restrict\"] }\nnote = { optional = true, key = \"id integer\" }";
    let changes = [
        (
            "[rules.runs]",
            "[rules.notes]\nstrategy = \"age\"\nroot = \"note\"\ntime = \"at\"\nretention = { default = \"30d\" }\n\n[rules.runs]",
        ),
        (
            "\"run_id -> run.id\"]",
            "\"run_id -> run.id\", \"made_by -> run.id set null optional\"]",
        ),
    ];
    let text = spec(&database, more, &changes);
    let path = file(&database, "optional", &text);
    let name = path.to_str().expect("UTF-8").to_owned();
    let url = database.superuser();
    let with_url = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(arguments)
            .args([name.as_str(), "--url", url.as_str()])
            .env("NO_COLOR", "1")
            .output()
            .expect("windrow runs");
        let told = String::from_utf8(output.stderr).expect("UTF-8");
        let data = String::from_utf8(output.stdout).expect("UTF-8");
        (output.status.code(), format!("{data}{told}"))
    };
    let (_, found, _) = said(&url, &["check", &name]);
    for line in [
        "notice[left-out]: `table audit`: not in this database; it is left out",
        "notice[left-out]: `rule notes`: its rows belong to `note`, which is not in this database; it is left out",
        "notice[left-out]: `made_by -> run.id set null optional of step`: the column `made_by` is not in this database; it is left out",
    ] {
        assert!(found.contains(line), "{line}\n\n{found}");
    }
    assert!(!found.contains("error["), "{found}");
    let (code, told) = with_url(&["install"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("left out: table \"audit\": not in this database"),
        "{told}"
    );
    let (code, told) = with_url(&["diff"]);
    assert_eq!(code, Some(0), "{told}");
    let (_, told) = with_url(&["status"]);
    let other = "is not the installed spec";
    assert!(!told.contains(other), "{told}");

    // What an upgrade brings is another spec.
    database.execute("CREATE TABLE audit (id integer PRIMARY KEY, run_id integer NOT NULL)");
    let (_, told) = with_url(&["status"]);
    assert!(told.contains(other), "{told}");
    let (code, told) = with_url(&["diff"]);
    assert_eq!(code, Some(1), "{told}");
    let (code, told) = with_url(&["install"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(
        !told.contains("table \"audit\"") && told.contains("table \"note\""),
        "{told}"
    );
    let (_, told) = with_url(&["status"]);
    assert!(!told.contains(other), "{told}");
    let (code, told) = with_url(&["uninstall", "--yes"]);
    assert_eq!(code, Some(0), "{told}");
    fs::remove_file(&path).expect("a spec is removed");
}

fn what_keeps_rows_is_not_left_out_on_suspicion(dialect: Dialect) {
    let mut database = database(dialect, &schema(dialect));
    // What keeps nothing is left out, and asked.
    let (code, text, told) = fitted(
        &database,
        &spec(&database, "log = { parents = [\"run_id -> run.id\"] }", &[]),
    );
    assert_eq!(code, Some(1), "{told}");
    let asked = "# ? left out: table \"log\": not in this database; if it has another name here, its rows would be left behind";
    assert!(text.lines().any(|line| line == asked), "{text}");
    assert!(
        told.contains("1 part is left out, 1 question is open"),
        "{told}"
    );
    // So is what is accepted or ignored, without a question.
    let changes = [
        (
            "indexed = [\"run_id\"] }",
            "indexed = [\"run_id\"], triggers = [\"counts\"] }",
        ),
        (
            "[rules.runs]",
            "[ignore]\nplan = \"of another version\"\n\n[rules.runs]",
        ),
    ];
    let (code, text, told) = fitted(&database, &spec(&database, "", &changes));
    assert_eq!(code, Some(0), "{told}");
    for line in [
        "# left out: trigger \"counts\" of \"step\": not in this database",
        "# left out: \"plan\" of [ignore]: not in this database",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n\n{text}");
    }
    let wrong = against(&database, &text);
    assert!(wrong.is_empty(), "{wrong:#?}\n{text}");
    // What keeps something is an error, unless the spec says that it may be absent.
    for (keeps, optional) in [
        (
            "audit = { parents = [\"run_id -> run.id restrict\"] }",
            "audit = { optional = true, parents = [\"run_id -> run.id restrict\"] }",
        ),
        (
            "audit = { parents = [\"run_id -> run.id\"], final = { over = true } }",
            "audit = { optional = true, parents = [\"run_id -> run.id\"], final = { over = true } }",
        ),
        (
            "other = { key = \"id integer\" }\n[rules.others]\nstrategy = \"age\"\nroot = \"other\"\ntime = \"at\"\nretention = { default = \"30d\" }",
            "other = { key = \"id integer\" }\n[rules.others]\noptional = true\nstrategy = \"age\"\nroot = \"other\"\ntime = \"at\"\nretention = { default = \"30d\" }",
        ),
    ] {
        let (code, text, told) = fitted(&database, &spec(&database, keeps, &[]));
        assert_eq!((code, text.as_str()), (Some(2), ""), "{keeps}");
        assert!(told.contains("error[missing-table]"), "{told}");
        let (code, text, told) = fitted(&database, &spec(&database, optional, &[]));
        assert!(
            code == Some(0) || keeps.starts_with("other") && code == Some(1),
            "{told}"
        );
        let wrong = against(&database, &text);
        assert!(wrong.is_empty(), "{wrong:#?}\n{text}");
    }
    // A view in its place is seen, and is none; what else is lacking keeps its own hint.
    database.execute("CREATE VIEW audit AS SELECT id, id AS run_id FROM run");
    let audit = "audit = { parents = [\"run_id -> run.id restrict\"] }";
    let more = format!("{audit}\nlost = {{ parents = [\"run_id -> run.id restrict\"] }}");
    for (keeps, lost) in [(audit, false), (&more, true)] {
        let (code, text, told) = fitted(&database, &spec(&database, keeps, &[]));
        assert_eq!((code, text.as_str()), (Some(2), ""), "{keeps}");
        assert!(told.contains("`audit`: is a view"), "{told}");
        assert!(!told.contains("cannot see"), "{told}");
        assert_eq!(told.contains("another version"), lost, "{told}");
    }
}

fn conditions_do_not_get_weaker(dialect: Dialect) {
    let database = database(dialect, &schema(dialect));
    for (change, column) in [
        (
            (
                "final     = { state = \"done\" }",
                "final = { state = \"done\", closed = true }",
            ),
            "run.closed",
        ),
        (
            ("final     = ", "candidates = { kind = \"main\" }\nfinal = "),
            "run.kind",
        ),
        (
            ("per = \"tenant integer\"", "per = \"project integer\""),
            "run.project",
        ),
        (
            (
                "retention = ",
                "keep = { newest = 1, per = \"tenant integer\", by = \"began_at\" }\nretention = ",
            ),
            "run.began_at",
        ),
        (("\"ended_at\"", "\"finished_at\""), "run.finished_at"),
        (
            (
                "\"run_id -> run.id\"]",
                "\"run_id -> run.id\", \"above -> run.id\"]",
            ),
            "step.above",
        ),
    ] {
        let text = spec(&database, "", &[change]);
        let (code, fitted, told) = fitted(&database, &text);
        assert_eq!((code, fitted.as_str()), (Some(2), ""), "{column}: {told}");
        let wanted = format!("error[missing-column]: `{column}`: the column does not exist");
        assert!(
            told.contains("without them, rows that should be kept would be deleted"),
            "{told}"
        );
        assert!(told.contains(&wanted), "{wanted}\n\n{told}");
    }
    // What says which rows keep others is asked where somebody answers, and an error elsewhere.
    let change = (
        "indexed = [\"run_id\"]",
        "indexed = [\"run_id\"], final = { over = true }, optional = true",
    );
    let text = spec(&database, "", &[change]);
    let (code, written, told) = fitted(&database, &text);
    assert_eq!(code, Some(1), "{told}");
    assert!(
        written.contains("final = { run_id = { null = true } }, optional = true }   # its steps"),
        "{written}"
    );
    let wrong = against(&database, &written);
    assert!(wrong.is_empty(), "{wrong:#?}\n{written}");
    let wrong = against(&database, &text);
    assert!(
        wrong.len() == 1 && wrong[0].contains("rows that keep their family would be deleted"),
        "{wrong:#?}"
    );
}

fn types_are_those_of_the_database(dialect: Dialect) {
    let database = database(
        dialect,
        &schema(dialect)
            .replace(
                "id integer PRIMARY KEY, state",
                "id bigint PRIMARY KEY, state",
            )
            .replace("tenant integer", "tenant varchar(20)"),
    );
    let (code, text, told) = fitted(&database, &spec(&database, "", &[]));
    assert_eq!(code, Some(0), "{told}");
    let mut lines = vec![
        "# mended: type of `run.tenant`: it is varchar in this database; the spec says integer",
        "retention = { default = \"30d\", per = \"tenant varchar\", opt_in = true }",
    ];
    // Elsewhere, whole numbers of any width are written alike.
    if dialect == Dialect::Postgres {
        lines.extend([
            "# mended: type of `run.id`: it is bigint in this database; the spec says integer",
            "run  = { key = \"id bigint\" }",
            "step = { parents = [\"run_id integer -> run.id\"], indexed = [\"run_id\"] }   # its steps",
        ]);
    }
    for line in lines {
        assert!(text.lines().any(|it| it == line), "{line}\n\n{text}");
    }
    let wrong = against(&database, &text);
    assert!(wrong.is_empty(), "{wrong:#?}\n{text}");
}

fn what_the_spec_does_not_know_is_asked(dialect: Dialect) {
    let database = database(
        dialect,
        &format!(
            "{}
             CREATE TABLE detail (id integer PRIMARY KEY, step_id integer NOT NULL, run integer NOT NULL,
                 FOREIGN KEY (run) REFERENCES run (id) ON DELETE CASCADE);
             CREATE TABLE bill (id integer PRIMARY KEY, of_run integer, FOREIGN KEY (of_run) REFERENCES run (id));",
            schema(dialect)
        ),
    );
    let (code, text, told) = fitted(&database, &spec(&database, "", &[]));
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("2 questions are open"), "{told}");
    // Below the table that they name.
    let (_, behind) = text
        .split_once("run  = { key = \"id integer\" }\n")
        .expect("run");
    let (asked, _) = behind
        .split_once("# What a run is made of.")
        .expect("steps");
    for part in [
        "# ? not in this spec: table \"bill\": it references `run` by ",
        "#   bill = { parents = [\"of_run -> run.id restrict\"] }\n# or, if they are kept whatever is deleted, below [ignore]:\n#   bill = \"why they may be kept\"\n",
        "# ? not in this spec: table \"detail\": it references `run` by ",
        "#   detail = { parents = [\"run -> run.id\"] }\n",
    ] {
        assert!(asked.contains(part), "{part}\n\n{text}");
    }
    // A key that deletes leaves no choice.
    assert!(!asked.contains("#   detail = \"why"), "{text}");
    assert!(!against(&database, &text).is_empty());
    // The lines are answers.
    let answered = text
        .replace("#   bill = { ", "bill = { ")
        .replace("#   detail = {", "detail = {");
    let wrong = against(&database, &answered);
    assert!(wrong.is_empty(), "{wrong:#?}\n{answered}");
    let ignored = text.replace("#   detail = {", "detail = {").replace(
        "[rules.runs]",
        "[ignore]\nbill = \"bills are kept by hand\"\n\n[rules.runs]",
    );
    let wrong = against(&database, &ignored);
    assert!(wrong.is_empty(), "{wrong:#?}\n{ignored}");
}

fn what_cannot_be_done_says_why(dialect: Dialect) {
    let database = database(dialect, &schema(dialect));
    let url = database.superuser();
    let (code, _, told) = init(&database, "specs/airflow-4.toml");
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("error: cannot read the spec `specs/airflow-4.toml`"),
        "{told}"
    );
    let text = spec(&database, "", &[]);
    let path = file(&database, "why", &text);
    let name = path.to_str().expect("UTF-8");
    let (code, _, told) = said(&url, &["init", "--from", name, "--schema", "elsewhere"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("this account sees no table in `elsewhere`")
            && told.contains("hint: name the schema"),
        "{told}"
    );
    let (code, _, told) = said("", &["init", "--from", name]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("error: no database given"), "{told}");
    // A file that is there stays as it is.
    let home = home(&database);
    let (code, _, told) = said(
        &url,
        &["init", "--from", name, "--schema", &home, "--out", name],
    );
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("already exists"), "{told}");
    assert_eq!(fs::read_to_string(&path).expect("a spec"), text);
    let out = path.with_extension("out");
    let (code, data, told) = said(
        &url,
        &[
            "init",
            "--from",
            name,
            "--schema",
            &home,
            "--out",
            out.to_str().expect("UTF-8"),
        ],
    );
    assert_eq!((code, data.as_str()), (Some(0), ""), "{told}");
    let written = fs::read_to_string(&out).expect("a spec");
    assert!(
        written.ends_with(
            text.trim_start()
                .split_once("\n\n[tables]")
                .expect("tables")
                .1
        ),
        "{written}"
    );
    fs::remove_file(&out).expect("a spec is removed");
    fs::remove_file(&path).expect("a spec is removed");
}

/// Who may read only some tables is not told whether others are there.
fn what_an_account_may_not_see_is_not_left_out(flavour: Flavour) {
    let dialect = match flavour {
        Flavour::Mysql => Dialect::Mysql,
        Flavour::Mariadb => Dialect::Mariadb,
    };
    let mut database = database(
        dialect,
        &format!(
            "{} CREATE TABLE audit (id integer PRIMARY KEY, run_id integer NOT NULL);",
            schema(dialect)
        ),
    );
    let name = database.name.clone();
    database.execute(&format!("CREATE USER '{name}_s'@'127.0.0.1'"));
    for table in ["run", "step"] {
        database.execute(&format!(
            "GRANT SELECT ON `{name}`.{table} TO '{name}_s'@'127.0.0.1'"
        ));
    }
    let more = "audit = { optional = true, parents = [\"run_id -> run.id restrict\"] }";
    let path = file(&database, "unseen", &spec(&database, more, &[]));
    let arguments = [
        "init",
        "--from",
        path.to_str().expect("UTF-8"),
        "--schema",
        &name,
    ];
    let url = database.superuser().replace("root@", &format!("{name}_s@"));
    let (code, text, told) = said(&url, &arguments);
    assert_eq!((code, text.as_str()), (Some(2), ""), "{told}");
    assert!(
        told.contains("this account cannot see whether these exist: `audit`"),
        "{told}"
    );
    let (code, text, told) = said(&database.superuser(), &arguments);
    assert_eq!(code, Some(0), "{told}\n{text}");
    database.execute("DROP TABLE audit");
    let (code, text, told) = said(&url, &arguments);
    assert_eq!(code, Some(2), "{told}\n{text}");
    let (code, text, told) = said(&database.superuser(), &arguments);
    assert_eq!(code, Some(0), "{told}\n{text}");
    assert!(text.contains("# left out: table \"audit\""), "{text}");
    database.execute(&format!("DROP USER '{name}_s'@'127.0.0.1'"));
    fs::remove_file(&path).expect("a spec is removed");
}
