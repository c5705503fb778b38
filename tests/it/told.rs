//! What is told of an installation when something is not as it should be.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure::Failure;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::several::{SCHEMA, graph};
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, dialect_of};

tests! {
    mysql_and_mariadb: [
        what_to_do_stays_whole_in_a_long_message,
    ],
    on_mysql: [
        verify_tells_which_triggers_it_may_not_see,
    ],
    every_server: [
        each_rule_of_a_run_has_its_own_time,
        verify_goes_on_where_a_table_or_a_column_is_missing,
    ],
}

/// What `verify` answers of these checks, as `check object: severity`.
fn checks(installation: &mut Installation, of: &[&str]) -> Vec<String> {
    let document = installation.call("verify", json!({})).expect("an answer");
    let all = document["checks"].as_array().expect("checks");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let told = all.iter().map(|it| {
        (
            text(&it["check"]),
            text(&it["object"]),
            text(&it["severity"]),
        )
    });
    told.filter(|(check, ..)| of.contains(&check.as_str()))
        .map(|(check, object, severity)| match check.as_str() {
            // Of the spec, which has a name of its own here.
            "preview" | "armed" => format!("{check}: {severity}"),
            _ => format!("{check} {object}: {severity}"),
        })
        .collect()
}

fn verify_goes_on_where_a_table_or_a_column_is_missing(dialect: Dialect) {
    let mut installation = Installation::of(dialect, SCHEMA, &graph(""));
    installation.arm();
    installation.execute("DROP TABLE files; ALTER TABLE pairs DROP COLUMN step_id");
    let found = checks(&mut installation, &["orphans", "table", "preview", "armed"]);
    let expected = [
        "orphans bills.run_id: ok",
        "orphans files.bill_id: violation",
        "orphans files.step_id: violation",
        "orphans pairs.run_id: ok",
        "orphans pairs.step_id: violation",
        "orphans steps.run_id: ok",
        "preview: violation",
        "table files: violation",
        "armed: ok",
    ];
    assert_eq!(found, expected);
}

/// The second rule does not take the time of the first.
fn each_rule_of_a_run_has_its_own_time(dialect: Dialect) {
    let spec = "
name = \"twice\"
schema = \"public\"

[tables]
slow = { key = \"id integer\" }
quick = { key = \"id integer\" }

[rules.slow]
strategy = \"age\"
root = \"slow\"
time = \"ended timestamp\"
retention = { default = \"30d\" }

[rules.quick]
strategy = \"age\"
root = \"quick\"
time = \"ended timestamp\"
retention = { default = \"30d\" }
";
    let schema = "
CREATE TABLE slow (id integer NOT NULL PRIMARY KEY, ended timestamp NULL);
CREATE TABLE quick (id integer NOT NULL PRIMARY KEY, ended timestamp NULL);
INSERT INTO slow (id, ended) VALUES (1, '2025-01-01 00:00:00');
INSERT INTO quick (id, ended) VALUES (1, '2025-01-01 00:00:00')";
    let mut installation = Installation::of(dialect, schema, &graph_of(spec));
    installation.arm();
    let trigger = match dialect {
        Dialect::Postgres => {
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1.5); RETURN NULL; END $$;
            CREATE TRIGGER slow AFTER DELETE ON slow FOR EACH ROW EXECUTE FUNCTION slow()"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "CREATE TRIGGER slow AFTER DELETE ON slow FOR EACH ROW SET @slept = SLEEP(1.5)"
        }
    };
    installation.execute(trigger);
    let run = installation.run(json!({})).expect("a run");
    let took = |at: usize| run["rules"][at]["work_ms"].as_f64().expect("a time");
    assert!(took(0) >= 1_500.0 && took(1) < 1_400.0, "{run}");
}

/// A message holds 128 characters.
fn what_to_do_stays_whole_in_a_long_message(flavour: Flavour) {
    let mut installation = Installation::of(dialect_of(flavour), SCHEMA, &graph(""));
    let long = "9".repeat(200);
    installation.arm();
    let error = installation
        .run(json!({"time_budget": format!("{long}x")}))
        .expect_err("no duration");
    let text = format!("{error:#}");
    assert!(
        text.contains("not a duration: '9999") && text.contains("9... ("),
        "{text}"
    );
    let failures = error.chain().filter_map(|it| it.downcast_ref::<Failure>());
    let hints: Vec<&String> = failures.flat_map(|it| it.hints()).collect();
    assert_eq!(hints, ["write it like 30d, 12h, 90m, 45s, 1d12h or P30D"]);
}

/// MySQL shows triggers only to who may make some: without that right, a table looks like one without triggers.
fn verify_tells_which_triggers_it_may_not_see() {
    let mut installation = Installation::of(Dialect::Mysql, SCHEMA, &graph(""));
    let of = ["claim", "rights"];
    assert_eq!(checks(&mut installation, &of), [""; 0]);
    let owner = format!("{}_owner", installation.control);
    let (on, taken) = (
        format!("TRIGGER ON {}.*", installation.control),
        "the triggers of the ledger are not seen",
    );
    installation.execute(&format!(
        "REVOKE {on} FROM {owner}; CREATE TRIGGER W.unseen BEFORE INSERT ON W.hold FOR EACH ROW BEGIN END"
    ));
    let document = installation.call("verify", json!({})).expect("an answer");
    let all = document["checks"].as_array().expect("checks");
    let told = all.iter().find(|it| {
        let detail = it["detail"].as_str().unwrap_or_default();
        detail.contains(taken)
    });
    let told = told.unwrap_or_else(|| panic!("{document}"));
    assert_eq!(told["severity"], "violation", "{told}");
    installation.execute(&format!("GRANT {on} TO {owner}"));
    assert_eq!(checks(&mut installation, &of).len(), 1);
    installation.execute("DROP TRIGGER W.unseen");
    assert_eq!(checks(&mut installation, &of), [""; 0]);
}
