//! PostgreSQL in other languages than English: whether code of the application has raised an error, or the server itself, no word says.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::render;
use windrow::sandbox::{Postgres, Settings, installed};

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Session, apply, bundle, call, connect};

tests! {
    on_postgres: [
        a_trigger_that_refuses_keeps_one_family_in_every_language,
    ],
}

/// Where the statement is the last word of a context, where it is the first, and where another one follows it.
const LANGUAGES: [&str; 5] = ["de_DE", "zh_CN", "ja_JP", "tr_TR", "ka_GE"];

const SPEC: &str = r#"
name = "languages"

[tables]
job = { key = "id integer" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended timestamp"
retention = { default = "30d" }
"#;

/// What ends in 1 a trigger refuses with the state of a missing right; for what ends in 2 it needs a right that the owner does not have.
const SCHEMA: &str = "
CREATE TABLE job (id integer PRIMARY KEY, state varchar(20), ended timestamp);
CREATE TABLE secret (id integer);
CREATE FUNCTION veto() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.id % 10 = 1 THEN
        RAISE EXCEPTION 'audit wants this' USING ERRCODE = '42501';
    ELSIF OLD.id % 10 = 2 THEN
        PERFORM FROM public.secret;
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER veto BEFORE DELETE ON job FOR EACH ROW EXECUTE FUNCTION veto()";

/// The words of this machine for yes and no, in UTF-8: all that a language has to have for the server to look for its own texts in it.
const WORDS: &str = "/usr/lib/locale/C.utf8/LC_MESSAGES/SYS_LC_MESSAGES";

/// A folder with the languages, for any user, where this machine has what they are made from.
fn languages() -> (tempfile::TempDir, bool) {
    let folder = tempfile::tempdir().expect("a folder");
    open(folder.path());
    let made = LANGUAGES.iter().all(|language| {
        let into = folder.path().join(format!("{language}.UTF-8"));
        let words = into.join("LC_MESSAGES");
        fs::create_dir_all(&words).expect("a folder");
        open(&into);
        open(&words);
        fs::copy(WORDS, words.join("SYS_LC_MESSAGES")).is_ok()
    });
    (folder, made)
}

fn open(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// The programs of a server that look for languages in a folder.
fn looking_into(folder: &Path, major: u32, bin_dir: &Path) -> PathBuf {
    let programs = folder.join(format!("bin-{major}"));
    fs::create_dir(&programs).expect("a folder");
    open(&programs);
    for name in ["postgres", "initdb"] {
        let program = programs.join(name);
        let text = format!(
            "#!/bin/sh\nexport LOCPATH='{}'\nexec '{}' \"$@\"\n",
            folder.display(),
            bin_dir.join(name).display()
        );
        fs::write(&program, text).expect("a program");
        open(&program);
    }
    programs
}

/// Whether the server speaks the language from now on.
fn speaks(session: &mut Session, language: &str) -> bool {
    let set = session.execute(&format!("SET lc_messages = '{language}.UTF-8'"));
    let said = session.execute("SELECT 1 / 0").expect_err("no number");
    set.is_ok() && !format!("{said:#}").contains("division by zero")
}

fn run(session: &mut Session, graph: &Graph, ids: &[i32]) -> Value {
    let rows: Vec<String> = ids
        .iter()
        .map(|id| format!("({id}, 'done', '2020-01-01')"))
        .collect();
    session
        .execute(&format!(
            "TRUNCATE job; INSERT INTO job VALUES {}",
            rows.join(", ")
        ))
        .expect("rows");
    let control = render::control_name(graph);
    call(session, Dialect::Postgres, &control, "run", &json!({})).expect("a run")
}

#[expect(
    clippy::print_stdout,
    reason = "which languages are not there to be tried is said"
)]
fn a_trigger_that_refuses_keeps_one_family_in_every_language() {
    let graph = graph_of(SPEC);
    let (folder, made) = languages();
    if !made {
        println!("no language is tried: this machine has no {WORDS}");
        return;
    }
    for (major, bin_dir) in installed() {
        let server = Postgres::start(&Settings {
            bin_dir: Some(looking_into(folder.path(), major, &bin_dir)),
            ..Settings::default()
        });
        let server = server.expect("a server starts");
        let mut session = connect(&server.url("postgres", "postgres"));
        session.execute(SCHEMA).expect("the schema loads");
        apply(&mut session, &bundle(Dialect::Postgres, &graph));
        let control = render::control_name(&graph);
        session
            .execute(&format!("CALL {control}.arm()"))
            .expect("it is armed");
        for language in LANGUAGES {
            if !speaks(&mut session, language) {
                println!("{language} is not tried on PostgreSQL {major}, which does not speak it");
                continue;
            }
            let answer = run(&mut session, &graph, &[11, 13, 14]);
            let rule = &answer["rules"][0];
            assert_eq!(answer["reason"], "nothing left", "{language} {answer}");
            assert_eq!(rule["skipped"], json!({"FAILED": 1}), "{language} {answer}");
            assert_eq!(rule["families"], 2, "{language} {answer}");
            // What the server refuses concerns no family.
            let answer = run(&mut session, &graph, &[12, 13]);
            let reason = answer["reason"].as_str().unwrap_or_default();
            assert!(reason.starts_with("error 42501: "), "{language} {answer}");
            assert_eq!(answer["rules"][0]["skipped"], json!({}), "{answer}");
        }
    }
}
