//! What people decided for a rule by its name, and a spec that has another name, key or scope for it, or another table: nothing is
//! deleted that was kept, and nothing is forgotten without a word.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        a_rule_with_another_name_leaves_nothing_unkept,
        a_rule_with_another_key_or_scope_leaves_nothing_unkept,
        files_applied_by_hand_disarm_over_what_matches_no_rule,
        what_an_earlier_version_left_over_does_not_disarm,
        a_policy_of_another_type_breaks_nothing,
        another_schema_table_or_spec_is_not_armed,
        a_hold_is_made_longer_but_never_shorter,
        a_disabled_policy_is_enabled_by_that_word_alone,
    ],
    on_postgres: [
        a_hold_of_a_number_keeps_it_however_it_is_written,
    ],
}

const SPEC: &str = r#"
name     = "NAME"
database = "DATABASE"

[tables]
runs  = { key = "id integer" }
parts = { key = "id integer", indexed = ["ended"] }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { ended = { null = false } }
end_time  = "ended"
retention = { default = "30d", minimum = "7d", safety_lag = "1h", per = "project integer" }

[rules.parts]
strategy  = "age"
root      = "parts"
time      = "ended timestamp"
retention = { default = "30d", minimum = "7d", safety_lag = "1h" }
"#;

/// A database, a spec in a file, and the binary.
struct Stage {
    database: Installation,
    text: String,
    folder: tempfile::TempDir,
}

impl Stage {
    fn new(dialect: Dialect) -> Self {
        let time = match dialect {
            Dialect::Postgres => "timestamp",
            Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
        };
        let columns = format!(
            "(id integer NOT NULL PRIMARY KEY, uid varchar(36) NOT NULL UNIQUE, project integer, tenant integer, ended {time})"
        );
        let tables: Vec<String> = ["runs", "parts", "others"]
            .map(|table| {
                format!(
                    "CREATE TABLE {table} {columns}; CREATE INDEX {table}_ended ON {table} (ended)"
                )
            })
            .into();
        // What is installed beside the tables does not matter.
        let beside = graph_of(&SPEC.replace("NAME", "beside").replace("DATABASE", "beside"));
        let mut database = Installation::of(dialect, &tables.join(";"), &beside);
        for table in ["runs", "parts", "others"] {
            for id in 1..=3 {
                database.execute(&format!(
                    "INSERT INTO {table} VALUES ({id}, 'u{id}', {id}, {id}, '2020-01-01')"
                ));
            }
        }
        let text = SPEC
            .replace("NAME", &format!("w_{}", database.name))
            .replace("DATABASE", &database.name);
        let stage = Self {
            database,
            text,
            folder: tempfile::tempdir().expect("a folder"),
        };
        stage.is_installed(&stage.text);
        stage
    }

    fn file(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("spec.toml");
        std::fs::write(&path, text).expect("a spec");
        path
    }

    /// What the binary says with this spec, and how it ends.
    fn windrow(&self, text: &str, words: &str) -> (Option<i32>, String) {
        let path = self.file(text);
        let mut words = words.split(' ');
        let (command, more): (&str, Vec<&str>) = (words.next().expect("a word"), words.collect());
        let of = ["hold", "policy", "settings"].contains(&command);
        let (group, rest) = more.split_at(usize::from(of));
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .arg(command)
            .args(group)
            .arg(Path::new(&path))
            .args(rest)
            .env("WINDROW_URL", self.database.superuser())
            .env("NO_COLOR", "1")
            .output()
            .expect("windrow runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout) + &text(&output.stderr),
        )
    }

    #[track_caller]
    fn works(&self, text: &str, words: &str) -> String {
        let (code, told) = self.windrow(text, words);
        assert_eq!(code, Some(0), "{words}: {told}");
        told
    }

    #[track_caller]
    fn refuses(&self, text: &str, words: &str, parts: &[&str]) {
        let (code, told) = self.windrow(text, words);
        assert_ne!(code, Some(0), "{words}: {told}");
        for part in parts {
            assert!(told.contains(part), "{words}: {part}\n\n{told}");
        }
    }

    #[track_caller]
    fn is_installed(&self, text: &str) {
        self.works(text, "install --threshold 1000000");
    }

    fn armed(&mut self, text: &str) -> bool {
        let status = self.windrow(text, "status --output json").1;
        let from = status.find('{').expect("a document");
        let mut documents = serde_json::Deserializer::from_str(&status[from..]).into_iter();
        let status: Value = documents.next().expect("a document").expect("JSON");
        status["control"]["armed"] == true
    }

    fn rows(&mut self, table: &str) -> i64 {
        self.database
            .number(&format!("SELECT COUNT(*) FROM {table}"))
    }
}

fn a_rule_with_another_name_leaves_nothing_unkept(dialect: Dialect) {
    let mut stage = Stage::new(dialect);
    let text = stage.text.clone();
    for words in [
        "hold set --rule runs --key 1 --reason audit",
        "hold set --rule runs --key 2 --reason debugging",
        "policy set --rule runs --scope 3 --disable",
        "pause --rule runs",
        "settings set --rule runs rate 100",
        "settings set --rule runs ledger_days 3650",
        "arm",
    ] {
        stage.works(&text, words);
    }
    let renamed = text.replace("[rules.runs]", "[rules.history]");
    let told = [
        "error[orphaned]: `hold `1`, `2` of rule runs`",
        "error[orphaned]: `policy `3` of rule runs`",
        "error[orphaned]: `pause of rule runs`",
        "error[orphaned]: `setting `ledger_days`, `rate` of rule runs`",
        "`archive_days` move by themselves to the rule that has them then",
        "the spec has no rule `runs`",
        "hold release SPEC --rule runs --key KEY",
        "settings reset SPEC NAME --rule runs",
    ];
    stage.refuses(&renamed, "check", &told);
    stage.refuses(&renamed, "install", &told);
    assert!(stage.armed(&text), "a refused installation changes nothing");
    assert!(!stage.windrow(&text, "verify").1.contains("orphaned"));

    let (_, forced) = stage.windrow(&renamed, "install --force --threshold 1000000");
    assert!(
        forced.contains("it was armed, and is not any more"),
        "{forced}"
    );
    assert!(!stage.armed(&renamed));
    stage.refuses(
        &renamed,
        "verify",
        &[
            "hold of rule runs",
            "1, 2",
            "policy of rule runs",
            "pause of rule runs",
            "setting of rule runs",
        ],
    );
    for words in [
        "hold release --rule runs --key 1",
        "policy drop --rule runs --scope 3",
        "resume --rule runs",
        "settings reset --rule runs rate",
    ] {
        stage.refuses(
            &renamed,
            "arm",
            &["of rule runs has no effect: the spec has no rule runs"],
        );
        stage.works(&renamed, words);
    }
    stage.works(
        &renamed,
        "hold set --rule history --key 2 --reason debugging",
    );
    stage.refuses(
        &renamed,
        "hold release --rule runs --key 17",
        &["no hold on key '17' of rule runs"],
    );
    stage.works(&renamed, "hold release --rule runs --key 2");
    stage.refuses(
        &renamed,
        "hold release --rule runs --key 2",
        &["no such rule"],
    );
    stage.works(&renamed, "install --threshold 1000000");
    stage.works(&renamed, "arm");
    stage.works(&renamed, "run --rule history");
    assert_eq!(stage.rows("runs"), 1);
}

fn a_rule_with_another_key_or_scope_leaves_nothing_unkept(dialect: Dialect) {
    let mut stage = Stage::new(dialect);
    let text = stage.text.clone();
    for words in [
        "hold set --rule runs --key 1 --reason audit",
        "policy set --rule runs --scope 3 --disable",
        "arm",
    ] {
        stage.works(&text, words);
    }
    let line = "runs  = { key = \"id integer\"";
    let keyed = text.replace(line, "runs  = { key = \"uid varchar\"");
    stage.refuses(
        &keyed,
        "check",
        &[
            "error[orphaned]: `hold `1` of rule runs`",
            "set for `runs(id)`, and the rule has `runs(uid)` now",
        ],
    );
    stage.refuses(&keyed, "install", &["error[orphaned]"]);
    stage.windrow(&keyed, "install --force --threshold 1000000");
    assert!(!stage.armed(&keyed));
    stage.refuses(&keyed, "arm", &["hold of rule runs has no effect: set for"]);
    // It had none before either: nothing more is lost.
    let told = stage.windrow(&keyed, "check").1;
    assert!(
        told.contains("warning[orphaned]: `hold `1` of rule runs`") && !told.contains("error["),
        "{told}"
    );
    stage.is_installed(&keyed);
    // With the old key it is in force again.
    stage.is_installed(&text);
    stage.works(&text, "arm");
    stage.works(&text, "run --rule runs");
    assert_eq!(
        stage.rows("runs"),
        2,
        "one is held, one has a disabled policy"
    );

    let scoped = text.replace("project integer", "tenant integer");
    stage.refuses(
        &scoped,
        "check",
        &[
            "error[orphaned]: `policy `3` of rule runs`",
            "set for `runs.project`, and the rule has `runs.tenant` now",
        ],
    );
    let none = text.replace(", per = \"project integer\"", "");
    stage.refuses(&none, "check", &["the rule has no scopes now"]);
    for other in [scoped, none] {
        stage.windrow(&other, "install --force --threshold 1000000");
        assert!(!stage.armed(&other));
        stage.refuses(&other, "arm", &["policy of rule runs has no effect"]);
    }
}

/// The files of a spec with another rule, as any client applies them.
fn files_applied_by_hand_disarm_over_what_matches_no_rule(dialect: Dialect) {
    let stage = Stage::new(dialect);
    let mut database = stage.database;
    let named =
        |text: &str| graph_of(&text.replace("NAME", "beside").replace("DATABASE", "beside"));
    let armed = "SELECT COUNT(*) FROM W.control WHERE armed";
    database.arm();
    // What nobody has decided anything for may go and come.
    let without = SPEC.split("[rules.parts]").next().expect("a part").replace(
        "parts = { key = \"id integer\", indexed = [\"ended\"] }\n",
        "",
    );
    database.install(&named(&without));
    assert_eq!(database.number(armed), 1);
    let hold = json!({"rule": "runs", "key": 1, "reason": "audit"});
    database.set_hold(hold).expect("a hold");
    database.install(&named(&without));
    assert_eq!(database.number(armed), 1);
    database.install(&named(&SPEC.replace("[rules.runs]", "[rules.history]")));
    assert_eq!(database.number(armed), 0);
    let checks = database.call("verify", json!({})).expect("a report");
    assert_eq!(checks["clean"], false, "{checks}");
    assert!(database.attempt("CALL W.arm()").is_err());
    let orphaned = "SELECT COUNT(*) FROM W.orphaned";
    assert_eq!(database.number(orphaned), 1);
    // One that has expired keeps nothing anyway.
    database.execute("UPDATE W.hold SET until = '2020-01-01 00:00:00'");
    assert_eq!(database.number(orphaned), 0);
    database.arm();
}

/// An earlier version kept what was set for rules that were left out, and had no view of it.
fn what_an_earlier_version_left_over_does_not_disarm(dialect: Dialect) {
    let mut stage = Stage::new(dialect);
    let text = stage.text.clone();
    let control = format!("windrow_w_{}", stage.database.name);
    stage.works(&text, "arm");
    let key = match dialect {
        Dialect::Postgres => "key",
        Dialect::Mysql | Dialect::Mariadb => "`key`",
    };
    let back = |stage: &mut Stage| {
        for view in ["orphaned", "decided", "rule_refers"] {
            let sql = format!("DROP VIEW {control}.{view}");
            stage.database.execute(&sql);
        }
        for table in ["hold", "policy"] {
            let sql = format!("UPDATE {control}.{table} SET refers_to = NULL");
            stage.database.execute(&sql);
        }
    };
    for rows in [
        format!("hold (rule, {key}, reason) VALUES ('gone', '7', 'audit')"),
        "policy (rule, scope, retention_seconds) VALUES ('gone', '8', 8640000)".to_owned(),
        "rule_pause (rule, paused_by, paused_at) VALUES ('gone', 'somebody', '2026-01-01')"
            .to_owned(),
    ] {
        stage
            .database
            .execute(&format!("INSERT INTO {control}.{rows}"));
    }
    stage.works(&text, "settings set --rule parts rate 100");
    let (before, after) = match dialect {
        Dialect::Postgres => (
            format!("ALTER TABLE {control}.setting DISABLE TRIGGER USER; "),
            format!("; ALTER TABLE {control}.setting ENABLE TRIGGER USER"),
        ),
        Dialect::Mysql | Dialect::Mariadb => (String::new(), String::new()),
    };
    let moved = format!("UPDATE {control}.setting SET rule = 'gone'");
    stage.database.execute(&format!("{before}{moved}{after}"));
    back(&mut stage);
    let told = [
        "warning[orphaned]: `hold `7` of rule gone`",
        "warning[orphaned]: `policy `8` of rule gone`",
        "warning[orphaned]: `pause of rule gone`",
        "warning[orphaned]: `setting `rate` of rule gone`",
    ];
    stage.refuses(&text, "check", &told);
    let installed = stage.works(&text, "install --threshold 1000000");
    assert!(installed.contains(told[0]), "{installed}");
    assert!(stage.armed(&text), "nothing has lost its effect");
    stage.refuses(&text, "verify", &["hold of rule gone", "it has no effect"]);

    // What has an effect until then is told before.
    stage.works(&text, "hold set --rule runs --key 1 --reason audit");
    stage.works(&text, "policy set --rule runs --scope 3 --disable");
    back(&mut stage);
    let renamed = text.replace("[rules.runs]", "[rules.history]");
    let lost = ["error[orphaned]: `hold `1` of rule runs`"];
    stage.refuses(&renamed, "install", &lost);
    let keyed = text.replace(
        "runs  = { key = \"id integer\"",
        "runs  = { key = \"uid varchar\"",
    );
    stage.refuses(&keyed, "install", &lost);
    let scoped = text.replace("project integer", "tenant integer");
    let lost = ["error[orphaned]: `policy `3` of rule runs`"];
    stage.refuses(&scoped, "install", &lost);
    assert!(stage.armed(&text), "a refused installation changes nothing");
    stage.windrow(&scoped, "install --force --threshold 1000000");
    assert!(!stage.armed(&scoped));
}

/// What was a text is no number, and names no scope of the new column, even where it could.
fn a_policy_of_another_type_breaks_nothing(dialect: Dialect) {
    let mut stage = Stage::new(dialect);
    let per = |column: &str| {
        stage
            .text
            .replace("per = \"project integer\"", &format!("per = \"{column}\""))
    };
    let text = per("uid varchar");
    let mut others = vec![per("project integer")];
    if dialect == Dialect::Postgres {
        others.extend([per("amount numeric"), per("raw bytea")]);
        stage
            .database
            .execute("ALTER TABLE runs ADD amount numeric, ADD raw bytea; UPDATE runs SET amount = id, raw = int4send(id)");
    }
    for other in others {
        stage.windrow(&text, "install --force --threshold 1000000");
        for words in [
            "policy set --rule runs --scope billing --disable",
            "policy set --rule runs --scope 3 --disable --artifacts false",
            "arm",
        ] {
            stage.works(&text, words);
        }
        let told = stage
            .windrow(&other, "install --force --threshold 1000000")
            .1;
        assert!(told.contains("is installed in"), "{told}");
        assert!(!stage.armed(&other));
        let preview = stage.works(&other, "preview --rule runs");
        assert!(preview.contains('3'), "{preview}");
        stage.works(&other, "plan");
        let verify = stage.windrow(&other, "verify").1;
        assert!(verify.contains("billing"), "{verify}");
        for scope in ["billing", "3"] {
            stage.works(&other, &format!("policy drop --rule runs --scope {scope}"));
        }
        stage.works(&other, "arm");
    }
}

fn another_schema_table_or_spec_is_not_armed(dialect: Dialect) {
    let mut stage = Stage::new(dialect);
    let text = stage.text.clone();
    stage.works(&text, "arm");
    stage.is_installed(&text);
    assert!(stage.armed(&text), "the same again stays armed");

    let root = text
        .replace("\nparts ", "\nothers ")
        .replace("root      = \"parts\"", "root      = \"others\"");
    let told = stage.works(&root, "install --threshold 1000000");
    assert!(told.contains("it was armed, and is not any more"), "{told}");
    assert!(!stage.armed(&root));
    stage.works(&root, "arm");

    let strategy = root
        .replace(", indexed = [\"ended\"]", "")
        .replace("\"age\"", "\"end-time\"")
        .replace(
            "time      = \"ended timestamp\"",
            "final     = { ended = { null = false } }\nend_time  = \"ended\"",
        );
    let told = stage.works(&strategy, "install --threshold 1000000");
    assert!(told.contains("it was armed, and is not any more"), "{told}");
    assert!(!stage.armed(&strategy));
    stage.works(&strategy, "arm");

    // A rule that was left out meanwhile is a new one.
    let less = strategy.split("[rules.parts]").next().expect("a part");
    let less = less.replace("others = { key = \"id integer\" }\n", "");
    stage.works(&less, "install --threshold 1000000");
    assert!(stage.armed(&less));
    stage.works(&strategy, "install --threshold 1000000");
    assert!(!stage.armed(&strategy));
    stage.works(&strategy, "arm");

    let name = format!("w_{}", stage.database.name);
    let other = strategy.replace(
        &format!("\"{name}\""),
        &format!("\"{}\"", name.replace('_', "-")),
    );
    stage.refuses(&other, "check", &["error[another-spec]", &name]);
    stage.refuses(&other, "install", &["error[another-spec]", &name]);
    assert!(stage.armed(&strategy));

    let columns = "(id integer NOT NULL PRIMARY KEY, uid varchar(36) NOT NULL UNIQUE, project integer, ended timestamp NULL)";
    let elsewhere = format!("{}_e", stage.database.name);
    let (kind, key) = match dialect {
        Dialect::Postgres => ("SCHEMA", "schema"),
        Dialect::Mysql | Dialect::Mariadb => ("DATABASE", "database"),
    };
    stage
        .database
        .execute(&format!("CREATE {kind} {elsewhere}"));
    for table in ["runs", "others"] {
        stage
            .database
            .execute(&format!("CREATE TABLE {elsewhere}.{table} {columns}"));
        stage.database.execute(&format!(
            "CREATE INDEX {table}_e ON {elsewhere}.{table} (ended)"
        ));
        stage.database.execute(&format!(
            "INSERT INTO {elsewhere}.{table} VALUES (1, 'a', 1, '2020-01-01')"
        ));
    }
    let database = format!("database = \"{}\"\n", stage.database.name);
    let moved = strategy.replace(&database, &format!("{key} = \"{elsewhere}\"\n"));
    let (_, told) = stage.windrow(&moved, "install --force --threshold 1000000");
    assert!(told.contains("it was armed, and is not any more"), "{told}");
    assert!(!stage.armed(&moved));
    stage.windrow(&moved, "run");
    assert_eq!(stage.rows(&format!("{elsewhere}.runs")), 1);
    if dialect != Dialect::Postgres {
        stage
            .database
            .execute(&format!("DROP DATABASE {elsewhere}"));
    }
}

/// A second hold of one family ends no earlier than the first, whose reason is not forgotten.
fn a_hold_is_made_longer_but_never_shorter(dialect: Dialect) {
    let mut stage = Stage::new(dialect);
    let text = stage.text.clone();
    let set = |reason: &str, until: &str| {
        format!("hold set --rule runs --key 1 --reason {reason}{until}")
    };
    stage.works(&text, &set("debugging", " --until 2998-01-01T00:00:00Z"));
    stage.refuses(
        &text,
        &set("short", " --until 2997-01-01T00:00:00Z"),
        &[
            "22023",
            "held ",
            "until 2998-01-01T00:00:00Z",
            "key '1' of rule runs",
        ],
    );
    stage.works(&text, &set("longer", " --until 2999-01-01T00:00:00Z"));
    stage.works(&text, &set("litigation", ""));
    stage.refuses(
        &text,
        &set("short", " --until 2999-01-01T00:00:00Z"),
        &["22023", "held ", "without an end"],
    );
    stage.works(&text, &set("litigation", ""));
    let list = stage.works(&text, "hold list");
    assert!(list.contains("litigation; longer; debugging"), "{list}");
    assert!(!list.contains("2999"), "{list}");
    // Each reason is kept once, and there is room for a thousand characters.
    stage.works(&text, &set("debugging", ""));
    let list = stage.works(&text, "hold list");
    assert!(list.contains("debugging; litigation; longer"), "{list}");
    for number in 0..5 {
        stage.works(&text, &set(&format!("{number}{}", "x".repeat(300)), ""));
    }
    let lengths = format!(
        "SELECT CHAR_LENGTH(reason) FROM windrow_w_{}.hold",
        stage.database.name
    );
    assert_eq!(stage.database.number(&lengths), 1000);
    let list = stage.works(&text, "hold list");
    assert!(list.contains("4xxx"), "{list}");
    assert!(!list.contains("debugging"), "{list}");

    // One that has ended keeps nothing, and what replaces it is another one.
    let control = format!("windrow_w_{}", stage.database.name);
    stage.database.execute(&format!(
        "UPDATE {control}.hold SET until = '2020-01-01 00:00:00'"
    ));
    let list = stage.works(&text, "hold list");
    assert!(list.contains("Z (ended)"), "{list}");
    stage.works(&text, &set("again", " --until 2997-01-01T00:00:00Z"));
    let list = stage.works(&text, "hold list");
    assert!(
        !list.contains("litigation") && !list.contains("ended"),
        "{list}"
    );

    stage.refuses(
        &text,
        "hold release --rule runs --key 2",
        &["no hold was released", "no hold on key '2' of rule runs"],
    );
    let told = stage.windrow(&text, "hold release --rule runs --key 2").1;
    assert!(!told.contains("even-if-absent"), "{told}");
}

/// What is said besides does not turn deletion on; and who is told to set a policy lacks one.
fn a_disabled_policy_is_enabled_by_that_word_alone(dialect: Dialect) {
    let mut stage = Stage::new(dialect);
    let text = stage.text.replace(
        "per = \"project integer\"",
        "per = \"project integer\", opt_in = true",
    );
    stage.is_installed(&text);
    stage.works(
        &text,
        "policy set --rule runs --scope 1 --disable --note ticket",
    );
    let told = stage.works(&text, "policy set --rule runs --scope 1 --note open");
    assert!(told.contains("it is disabled"), "{told}");
    stage.works(&text, "policy set --rule runs --scope 1 --retention 90d");
    stage.works(&text, "policy set --rule runs --scope 1 --artifacts false");
    stage.works(&text, "policy set --rule runs --scope 2 --retention 90d");
    let control = format!("windrow_w_{}", stage.database.name);
    let enabled = format!("SELECT COUNT(*) FROM {control}.policy WHERE enabled");
    assert_eq!(stage.database.number(&enabled), 1);
    stage
        .database
        .execute("INSERT INTO runs VALUES (4, 'u4', NULL, NULL, '2020-01-01')");
    let preview = stage.works(&text, "preview --rule runs");
    assert!(
        preview.contains("1 due family in scopes without a policy waits"),
        "{preview}"
    );
    stage.refuses(
        &text,
        "policy set --rule runs --scope 1 --enable --disable",
        &["cannot be used with"],
    );
    stage.works(&text, "policy set --rule runs --scope 1 --enable");
    assert_eq!(stage.database.number(&enabled), 2);
    let told = stage.works(
        &text,
        "policy set --rule runs --scope 1 --retention default",
    );
    assert!(told.contains("as long as the spec says"), "{told}");
    let list = stage.works(&text, "policy list");
    assert!(list.contains("30 days (the spec's default)"), "{list}");
    assert_eq!(list.matches("90 days").count(), 1, "{list}");
}

const NUMBERS: &str = r#"
name = "numbers"

[tables]
runs  = { key = "id numeric" }
parts = { key = "id numeric, name varchar", indexed = ["ended"] }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { ended = { null = false } }
end_time  = "ended"
retention = { default = "30d", minimum = "7d", safety_lag = "1h" }

[rules.parts]
strategy  = "expiry"
root      = "parts"
time      = "ended timestamp"
"#;

/// A number without a scale is as its row writes it, also in a key of several columns.
fn a_hold_of_a_number_keeps_it_however_it_is_written() {
    let schema = "CREATE TABLE runs (id numeric PRIMARY KEY, ended timestamp);
                  CREATE TABLE parts (id numeric, name varchar(9), ended timestamp, PRIMARY KEY (id, name));
                  CREATE INDEX parts_ended ON parts (ended)";
    let mut database = Installation::of(Dialect::Postgres, schema, &graph_of(NUMBERS));
    database.arm();
    for (rule, keys) in [
        ("runs", ["17.0", "18"]),
        ("parts", ["[17.0, \"a\"]", "[18, \"a\"]"]),
    ] {
        for key in keys {
            let hold = json!({"rule": rule, "key": key, "reason": "audit", "even_if_absent": true});
            database.set_hold(hold).expect("a hold");
        }
    }
    database.execute(
        "INSERT INTO runs SELECT id, '2020-01-01' FROM unnest('{17, 18.00, 19}'::numeric[]) AS id",
    );
    database.execute("INSERT INTO parts SELECT id, 'a', ended FROM runs");
    database.run(json!({})).expect("a run");
    for table in ["runs", "parts"] {
        let left = format!("SELECT id::text FROM {table} ORDER BY id");
        assert_eq!(database.texts(&left), ["17", "18.00"], "{table}");
    }
    for rule in ["runs", "parts"] {
        let key = if rule == "runs" { "17" } else { "[17, \"a\"]" };
        let options = json!({"rule": rule, "key": key});
        database
            .call("release_hold", options)
            .expect("it is released");
    }
}
