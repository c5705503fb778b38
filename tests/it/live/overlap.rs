//! Two specs over the same tables: each says that the other is there, and a hold can be set for both.

use crate::support::systems::camunda7::{self, mysql};
use windrow::db;
use windrow::sandbox::mysql::{Flavour, Mysql, Settings};
use windrow::sandbox::{self, Postgres};

use super::windrow;
use crate::harness::tests;
use crate::support::effort::flavours;

tests! {
    on_several: [
        installations_over_the_same_tables_know_of_each_other,
    ],
}

const STORED: &str = "specs/camunda7.toml";
const BY_END: &str = "specs/camunda7-end-time.toml";

type Sql<'a> = Box<dyn FnMut(&str) -> Vec<String> + 'a>;

/// Nobody is held.
const NOBODY: [Vec<String>; 2] = [vec![], vec![]];

/// What is held in each of the two installations.
fn holds(sql: &mut Sql<'_>) -> [Vec<String>; 2] {
    ["windrow_camunda7", "windrow_camunda7_end_time"].map(|control| {
        sql(&format!(
            "SELECT CONCAT(h.rule, ' ', h.reason) FROM {control}.hold AS h ORDER BY h.rule"
        ))
    })
}

/// The words that hold the instance of a test.
fn hold_one(spec: &str, rule: &str) -> String {
    format!("hold set {spec} --rule {rule} --key one --reason")
}

fn check(url: &str, mut sql: Sql<'_>) {
    let run = |words: &str| windrow(url, words);
    sql(
        "INSERT INTO act_hi_procinst (id_, root_proc_inst_id_, proc_inst_id_, proc_def_id_, proc_def_key_, start_time_, state_) VALUES ('one', 'one', 'one', 'def', 'def', '2026-01-01', 'ACTIVE')",
    );
    run(&format!("install {STORED} --quiet"))
        .expect(0, &[])
        .without(&["deletes from"]);
    run(&format!("verify {STORED}"))
        .expect(0, &[])
        .without(&["overlap"]);
    each_tells_of_the_other(url);

    // One that binds one of them says so; one for both is there for both, or for none.
    run(&format!("{} alone", hold_one(STORED, "history")))
        .expect(0, &["deletes from", "family `one` is on hold"]);
    assert_eq!(holds(&mut sql), [vec!["history alone".to_owned()], vec![]]);
    run(&format!(
        "{} both --also {BY_END}",
        hold_one(STORED, "history")
    ))
    .expect(
        0,
        &[
            "rule `history` of `camunda7`",
            "rule `process_instances` of `camunda7-end-time`",
        ],
    )
    .without(&["deletes from"]);
    // The reason of the first hold is kept.
    let [own, other] = ["history both; alone", "process_instances both"];
    assert_eq!(holds(&mut sql), [[own], [other]]);
    let release =
        format!("hold release {BY_END} --rule process_instances --key one --also {STORED}");
    run(&release).expect(0, &["released for rule `history`"]);
    assert_eq!(holds(&mut sql), NOBODY);
    run(&release).expect(2, &["no hold on key"]);
    for (words, said) in [
        (
            format!("hold set {STORED} --rule history --key none --reason x --also {BY_END}"),
            "has no row with the key",
        ),
        (
            format!("{} x --also {STORED}", hold_one(BY_END, "batches")),
            "has no row with the key",
        ),
        (
            format!("hold set {STORED} --key one --reason x --also {BY_END}"),
            "--rule",
        ),
        (
            format!(
                "{} x --also specs/dolphinscheduler.toml",
                hold_one(STORED, "history")
            ),
            "none of its rules has the root table",
        ),
    ] {
        run(&words).expect(2, &[said, "hint:"]);
        assert_eq!(holds(&mut sql), NOBODY, "{words}");
    }
    of_no_instance(url, &mut sql);
    let absent = format!(
        "hold set {STORED} --rule history --key none --reason both --even-if-absent --also {BY_END}"
    );
    run(&absent).expect(0, &[]);
    assert_eq!(holds(&mut sql), [["history both"], [other]]);
    let absent = format!("hold release {STORED} --rule history --key none --also {BY_END}");
    run(&absent).expect(0, &[]);
    assert_eq!(holds(&mut sql), NOBODY);
    // The second one refuses: the first is not held, either.
    run(&format!("uninstall {STORED} --yes --quiet")).expect(0, &[]);
    run(&format!(
        "{} x --also {STORED}",
        hold_one(BY_END, "process_instances")
    ))
    .expect(2, &[]);
    let left = sql("SELECT CONCAT(h.rule) FROM windrow_camunda7_end_time.hold AS h");
    assert_eq!(left, NOBODY[0]);
    run(&format!("verify {BY_END}")).without(&["overlap"]);
}

fn each_tells_of_the_other(url: &str) {
    let run = |words: &str| windrow(url, words);
    let told = ["deletes from", "--also OTHER_SPEC", "windrow_camun"];
    run(&format!("install {BY_END} --quiet")).expect(0, &told);
    run(&format!("install {STORED} --quiet")).expect(0, &told);
    for spec in [STORED, BY_END] {
        run(&format!("verify {spec}")).expect(0, &["notice", "overlap", "--also OTHER_SPEC"]);
        let document = run(&format!("verify {spec} --output json"))
            .expect(0, &[])
            .json();
        let checks = document["checks"].as_array().expect("checks");
        let found: Vec<_> = checks
            .iter()
            .filter(|it| it["check"] == "overlap")
            .collect();
        assert!(
            found.len() == 1
                && found[0]["severity"] == "notice"
                && found[0]["count"].as_i64() > Some(10),
            "{found:?}"
        );
    }
}

/// What belongs to no instance: a rule by removal time holds it, or one of its own.
fn of_no_instance(url: &str, sql: &mut Sql<'_>) {
    let run = |words: &str| windrow(url, words);
    sql(
        "INSERT INTO act_hi_batch (id_, start_time_, end_time_) VALUES ('two', '2026-01-01', '2026-01-02')",
    );
    for (spec, rule, other) in [(STORED, "history", BY_END), (BY_END, "batches", STORED)] {
        let of = |what: &str, more: &str| {
            format!("hold {what} {spec} --rule {rule} --key two --also {other}{more}")
        };
        for more in ["", " --even-if-absent"] {
            run(&of("set", &format!(" --reason both{more}"))).expect(
                0,
                &[
                    "rule `history` of `camunda7`",
                    "rule `batches` of `camunda7-end-time`",
                ],
            );
            let both = [
                vec!["history both".to_owned()],
                vec!["batches both".to_owned()],
            ];
            assert_eq!(holds(sql), both, "{rule}{more}");
        }
        run(&of("release", "")).expect(0, &["released for rule `batches`"]);
        assert_eq!(holds(sql), NOBODY, "{rule}");
    }
}

fn installations_over_the_same_tables_know_of_each_other() {
    let server = Postgres::start(&sandbox::Settings::default()).expect("a server starts");
    let url = server.url("postgres", "postgres");
    let mut session =
        db::connect_as_application(&url.parse().expect("an address")).expect("a session");
    session
        .execute(camunda7::SCHEMA_724)
        .expect("the schema loads");
    check(&url, Box::new(|sql| texts(&mut *session, sql)));
    for flavour in flavours(Flavour::Mariadb) {
        let server = Mysql::start(&Settings {
            events: true,
            ..Settings::new(flavour)
        })
        .expect("a server starts");
        let url = server.url("", "root");
        let mut session =
            db::connect_as_application(&url.parse().expect("an address")).expect("a session");
        session
            .execute("CREATE DATABASE camunda7; USE camunda7")
            .expect("a database");
        session
            .execute(mysql::SCHEMA_724)
            .expect("the schema loads");
        let sql = |sql: &str| {
            texts(
                &mut *session,
                &sql.replace("act_hi_procinst", "ACT_HI_PROCINST")
                    .replace("act_hi_batch", "ACT_HI_BATCH"),
            )
        };
        check(&url, Box::new(sql));
    }
}

fn texts(session: &mut dyn db::Database, sql: &str) -> Vec<String> {
    if !sql.starts_with("SELECT") {
        session
            .execute(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error:#}"));
        return Vec::new();
    }
    match session.query(sql, &[]) {
        Ok(rows) => rows
            .into_iter()
            .map(|mut row| row.remove(0).unwrap_or_default())
            .collect(),
        Err(error) => panic!("{sql}: {error:#}"),
    }
}
