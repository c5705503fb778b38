//! Each type that a spec may name, at the limits of its range: as key of roots and of what is below, as scope, as group and as order.

mod conditions;
mod precision;
mod removal;

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::acting::all_findings;
use crate::harness::tests;
use crate::support::effort::one_of;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

tests! {
    within: [conditions::tests, precision::tests, removal::tests],
    each_server: [
        families_are_found_by_keys_and_scopes_of_each_type,
    ],
    every_server: [
        rows_are_found_by_keys_and_groups_of_each_type,
        labels_are_scopes_and_groups,
    ],
}

/// A type of a server, the word for it in a spec, and values in their order.
type Known = (&'static str, &'static str, [&'static str; 6]);

const NUMBERS: [Known; 3] = [
    (
        "smallint",
        "smallint",
        ["-32768", "-1", "0", "1", "7", "32767"],
    ),
    (
        "integer",
        "integer",
        ["-2147483648", "-1", "0", "1", "7", "2147483647"],
    ),
    (
        "bigint",
        "bigint",
        [
            "-9223372036854775808",
            "-1",
            "0",
            "1",
            "7",
            "9223372036854775807",
        ],
    ),
];

const UUIDS: [&str; 6] = [
    "'00000000-0000-0000-0000-000000000000'",
    "'00000000-0000-0000-0000-000000000001'",
    "'00000000-0000-1000-8000-000000000000'",
    "'550e8400-e29b-41d4-a716-446655440000'",
    "'7fffffff-ffff-ffff-ffff-ffffffffffff'",
    "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
];

/// But for those that `kinds.rs`, `bytes.rs` and `unsigned.rs` are about.
fn known(dialect: Dialect) -> Vec<Known> {
    let mut known = NUMBERS.to_vec();
    match dialect {
        Dialect::Postgres => known.extend([
            ("uuid", "uuid", UUIDS),
            (
                "text",
                "varchar",
                ["''", "' '", "'A'", "'a'", "'it''s'", "'ü\"\\{}'"],
            ),
            (
                "name",
                "varchar",
                ["''", "' '", "'A'", "'a'", "'it''s'", "'ü\"\\{}'"],
            ),
        ]),
        Dialect::Mysql | Dialect::Mariadb => {
            known.extend([
                ("tinyint", "smallint", ["-128", "-1", "0", "1", "7", "127"]),
                (
                    "mediumint",
                    "integer",
                    ["-8388608", "-1", "0", "1", "7", "8388607"],
                ),
                (
                    "decimal(38,0)",
                    "numeric",
                    [
                        "-99999999999999999999999999999999999999",
                        "-1",
                        "0",
                        "7",
                        "18446744073709551616",
                        "99999999999999999999999999999999999999",
                    ],
                ),
                ("char(36)", "uuid", UUIDS),
                (
                    "char(8) COLLATE utf8mb4_bin",
                    "char",
                    ["''", "' a'", "'A'", "'a'", "'it''s'", "'zzzzzzzz'"],
                ),
                (
                    "varchar(20) COLLATE utf8mb4_bin",
                    "varchar",
                    ["''", "' a'", "'A'", "'a'", "'it''s'", "'zz\"\\\\{}ü'"],
                ),
            ]);
            if dialect == Dialect::Mariadb {
                known.push(("uuid", "uuid", UUIDS));
            }
        }
    }
    known
}

/// What is said of types and of statements that read whole tables.
fn told(database: &Installation, spec: &str) -> Vec<String> {
    let found = all_findings(database, database.dialect, spec);
    let codes = [
        "type-differs",
        "edge-type-differs",
        "seq-scan",
        "collation-differs",
    ];
    let found = found.iter().filter(|it| codes.contains(&it.code));
    found.map(ToString::to_string).collect()
}

/// A value as the server prints it.
fn printed(database: &mut Installation, kind: &str, value: &str) -> String {
    let sql = match database.dialect {
        Dialect::Postgres => format!("SELECT CAST(CAST({value} AS {kind}) AS text)"),
        Dialect::Mysql | Dialect::Mariadb => format!("SELECT CAST({value} AS char)"),
    };
    database.texts(&sql).remove(0)
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn families_are_found_by_keys_and_scopes_of_each_type(dialect: Dialect) {
    for kind in one_of(3, known(dialect)) {
        families(dialect, kind, kind);
    }
}

/// Labels in another order than that of their letters: they are compared by their place on some servers, and by their letters on others.
fn labels_are_scopes_and_groups(dialect: Dialect) {
    if dialect == Dialect::Postgres {
        labels_are_refused_with_a_way_out();
        return;
    }
    let labels: Known = (
        "ENUM('zeta', 'mid', 'alpha', 'it''s', '9', '10')",
        "varchar",
        ["'zeta'", "'mid'", "'alpha'", "'it''s'", "'9'", "'10'"],
    );
    families(dialect, NUMBERS[1], labels);
    // An order of labels is another matter.
    let spec = "name = \"types\"\ndatabase = \"types\"\ndialects = [\"mysql\", \"mariadb\"]\n\
        [tables]\nshot = { key = \"id integer\" }\n\
        [rules.shots]\nstrategy = \"keep-last\"\nroot = \"shot\"\nkeep = { newest = 1, per = \"owner varchar\", by = \"place integer\" }\n";
    let schema = |kind: &str| {
        format!(
            "CREATE TABLE shot (id integer PRIMARY KEY, owner {kind} NOT NULL, place integer NOT NULL, KEY (owner, place))"
        )
    };
    for (kind, said) in [(labels.0, true), ("varchar(9)", false)] {
        let database = Installation::of(dialect, &schema(kind), &graph_of(spec));
        let found = told(&database, spec).join("\n");
        let is_said = found.contains("`shot.owner`: is `enum(")
            && found.contains(
                "write a rule for each of its values, with `candidates = { owner = \"…\" }`",
            );
        assert_eq!(is_said, said, "{kind}: {found}");
    }
}

/// A column of labels is compared with labels alone: each of them can have a rule.
fn labels_are_refused_with_a_way_out() {
    let dialect = Dialect::Postgres;
    let spec = spec("integer", "varchar");
    let schema = "CREATE TYPE sort AS ENUM ('zeta', 'mid');
         CREATE TABLE job (id integer PRIMARY KEY, state char(6) NOT NULL, tenant sort, ended_at timestamp);
         CREATE TABLE step (id integer PRIMARY KEY, job_id integer NOT NULL);
         CREATE TABLE part (step_id integer NOT NULL);";
    let rules = r#"
[rules.zeta]
strategy = "end-time"
root = "job"
candidates = { tenant = "zeta" }
final = { state = "done" }
end_time = "ended_at"
retention = { default = "30d", minimum = "7d", safety_lag = "1d" }
"#;
    let (tables, _) = spec.split_once("[rules.jobs]").expect("a rule");
    let mid = rules.replace("zeta", "mid").replace("\"30d\"", "\"3650d\"");
    let instead = format!("{tables}{rules}{mid}");
    let mut database = Installation::of(dialect, schema, &graph_of(&instead));
    let found = told(&database, &spec).join("\n");
    assert!(
        found.contains("`job.tenant`: is `sort`, not varchar")
            && found.contains(
                "write a rule for each of its values: `candidates = { tenant = \"zeta\" }`"
            ),
        "{found}"
    );
    assert_eq!(told(&database, &instead), [""; 0]);
    database.arm();
    database.execute(
        "INSERT INTO job VALUES (1, 'done', 'zeta', now() - interval '40 days'), (2, 'done', 'mid', now() - interval '40 days')",
    );
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    assert_eq!(database.texts("SELECT tenant::text FROM job"), ["mid"]);
}

fn spec(key: &str, scope: &str) -> String {
    format!(
        r#"
name = "types"
schema = "public"
database = "types"

[tables]
job = {{ key = "id {key}" }}
step = {{ key = "id {key}", parents = ["job_id -> job.id"], indexed = ["job_id"] }}
part = {{ parents = ["step_id -> step.id"], indexed = ["step_id"] }}

[rules.jobs]
strategy = "end-time"
root = "job"
final = {{ state = "done" }}
end_time = "ended_at"
hierarchy = ["job: above -> id"]
retention = {{ default = "30d", minimum = "7d", safety_lag = "1d", per = "tenant {scope}" }}
limits = {{ batch_families = 1 }}
"#
    )
}

fn families(dialect: Dialect, key: Known, scope: Known) {
    let (kind, word, values) = key;
    let (scope_kind, scope_word, scopes) = scope;
    let spec = spec(word, scope_word);
    let (time, old) = match dialect {
        Dialect::Postgres => ("timestamp", "'2024-01-01'"),
        Dialect::Mysql | Dialect::Mariadb => ("datetime", "'2024-01-01'"),
    };
    let schema = format!(
        "CREATE TABLE job (id {kind} PRIMARY KEY, state char(6) NOT NULL, tenant {scope_kind}, ended_at {time}, above {kind});
         CREATE INDEX job_above ON job (above);
         CREATE TABLE step (id {kind} PRIMARY KEY, job_id {kind} NOT NULL, FOREIGN KEY (job_id) REFERENCES job (id));
         CREATE INDEX step_job ON step (job_id);
         CREATE TABLE part (step_id {kind} NOT NULL);
         CREATE INDEX part_step ON part (step_id);"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
    let name = format!("{kind}, {scope_kind}");
    assert_eq!(told(&database, &spec), [""; 0], "{name}");
    database.arm();
    for (at, value) in values.iter().enumerate() {
        // The first has not ended, the second is held, the third has a policy that keeps it, the last is below the one before.
        let ended = if at == 0 { "NULL" } else { old };
        let tenant = scopes[if at == 2 { 2 } else { at.max(3) }];
        let above = if at == 5 { values[4] } else { "NULL" };
        database.execute(&format!(
            "INSERT INTO job VALUES ({value}, 'done', {tenant}, {ended}, {above});
             INSERT INTO step VALUES ({value}, {value}); INSERT INTO part VALUES ({value}), ({value})"
        ));
    }
    let keys = values.map(|value| printed(&mut database, kind, value));
    let kept = printed(&mut database, scope_kind, scopes[2]);
    let first = printed(&mut database, scope_kind, scopes[3]);
    database
        .set_hold(json!({ "key": keys[1], "reason": "audit" }))
        .expect("a hold");
    database
        .set_policy(json!({ "scope": kept, "retention": "9999d" }))
        .expect("a policy");

    let preview = database.preview(json!({})).expect("a preview");
    let rule = &preview["rules"][0];
    assert_eq!(rule["families"], 3, "{name}: {preview}");
    let skipped = json!({ "HELD": 1, "UNDATED_MEMBER": 1 });
    assert_eq!(rule["skipped"], skipped, "{name}: {preview}");
    let samples = rule["sample_roots"].as_array().expect("keys");
    let mut samples: Vec<String> = samples.iter().map(text).collect();
    samples.sort();
    // What is below another one is not shown beside it.
    let mut going = keys[3..5].to_vec();
    going.sort();
    assert_eq!(samples, going, "{name}: {preview}");
    let only = database.preview(json!({ "scope": kept }));
    assert_eq!(
        only.expect("a preview")["rules"][0]["families"],
        0,
        "{name}"
    );
    let only = database.preview(json!({ "scope": first }));
    let only = only.expect("a preview");
    // The second and the fourth are of one scope.
    assert_eq!(only["rules"][0]["families"], 1, "{name}: {only}");

    let refused = database.purge(json!({ "rule": "jobs", "key": [keys[1]] }));
    let refused = refused.expect("a purge");
    assert_eq!(
        refused["refused"],
        json!({ keys[1].clone(): "HELD" }),
        "{name}"
    );
    let run = database.run(json!({})).expect("a run");
    assert_eq!(
        run["rules"][0]["tables"],
        json!({ "part": 6, "step": 3, "job": 3 }),
        "{name}: {run}"
    );
    let left = values[..3].join(", ");
    assert_eq!(
        database.number(&format!("SELECT COUNT(*) FROM job WHERE id IN ({left})")),
        3,
        "{name}"
    );
    assert_eq!(database.number("SELECT COUNT(*) FROM part"), 6, "{name}");
    let purge = database.purge(json!({ "rule": "jobs", "key": [keys[2]] }));
    assert_eq!(purge.expect("a purge")["refused"], json!({}), "{name}");
    assert_eq!(database.number("SELECT COUNT(*) FROM job"), 2, "{name}");
    let verify = database.call("verify", json!({})).expect("a document");
    assert_eq!(
        violations(&verify),
        Vec::<&Value>::new(),
        "{name}: {verify}"
    );
}

fn rows_are_found_by_keys_and_groups_of_each_type(dialect: Dialect) {
    // Others in `make test` than families have.
    let mut kinds = known(dialect);
    kinds.rotate_left(1);
    for kind in one_of(3, kinds) {
        grouped(dialect, kind, kind);
    }
}

/// Four tables, each with a rule of single rows.
fn single(word: &str, group_word: &str) -> String {
    format!(
        r#"
name = "types"
schema = "public"
database = "types"

[tables]
shot = {{ key = "id {word}" }}
mail = {{ key = "id {word}" }}
ticket = {{ key = "owner {word}, n integer" }}
line = {{ key = "id {word}" }}

[rules.shots]
strategy = "keep-last"
root = "shot"
keep = {{ newest = 1, per = "owner {group_word}", by = "place {word}" }}
limits = {{ batch_rows = 2 }}

[rules.mails]
strategy = "orphan"
root = "mail"
needs = ["said -> known.id"]
at_once = true
limits = {{ batch_rows = 2 }}

[rules.tickets]
strategy = "expiry"
root = "ticket"
time = "expires"
limits = {{ batch_rows = 2 }}

[rules.lines]
strategy = "age"
root = "line"
time = "written"
retention = {{ default = "30d" }}
limits = {{ batch_rows = 2 }}
"#
    )
}

/// Single rows: of each group the newest stays; of others those that name nothing, those whose time has come, and the old ones go.
fn grouped(dialect: Dialect, key: Known, group: Known) {
    let (kind, word, values) = key;
    let (group_kind, group_word, groups) = group;
    let spec = single(word, group_word);
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE known (id {kind} PRIMARY KEY);
         CREATE TABLE shot (id {kind} PRIMARY KEY, owner {group_kind} NOT NULL, place {kind} NOT NULL);
         CREATE INDEX shot_owner ON shot (owner, place);
         CREATE TABLE mail (id {kind} PRIMARY KEY, said {kind});
         CREATE TABLE ticket (owner {kind}, n integer, expires {time}, PRIMARY KEY (owner, n));
         CREATE INDEX ticket_expires ON ticket (expires);
         CREATE TABLE line (id {kind} PRIMARY KEY, written {time});
         CREATE INDEX line_written ON line (written);"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
    let name = format!("{kind}, {group_kind}");
    assert_eq!(told(&database, &spec), [""; 0], "{name}");
    database.arm();
    for (at, value) in values.iter().enumerate() {
        // Three of one group and three of another: of each the greatest place stays.
        let owner = groups[if at % 2 == 0 { 1 } else { 4 }];
        let old = if at == 0 { "NULL" } else { "'2024-01-01'" };
        database.execute(&format!(
            "INSERT INTO shot VALUES ({value}, {owner}, {value}); INSERT INTO mail VALUES ({value}, {value});
             INSERT INTO ticket VALUES ({value}, 1, {old}), ({value}, 2, '2999-01-01'); INSERT INTO line VALUES ({value}, {old})"
        ));
    }
    database.execute(&format!(
        "INSERT INTO known VALUES ({}), ({})",
        values[0], values[5]
    ));
    let keys = values.map(|value| printed(&mut database, kind, value));
    for (rule, key) in [
        ("mails", json!(keys[1])),
        ("tickets", json!([keys[3], 1])),
        ("lines", json!(keys[2])),
    ] {
        let options = json!({ "rule": rule, "key": key, "reason": "audit" });
        let hold = database.call("set_hold", options).expect("a hold");
        assert_eq!(hold["exists"], json!(true), "{name}: {hold}");
    }
    let preview = database.preview(json!({})).expect("a preview");
    let run = database.run(json!({})).expect("a run");
    let tables = [
        json!({ "shot": 4 }),
        json!({ "mail": 3 }),
        json!({ "ticket": 4 }),
        json!({ "line": 4 }),
    ];
    for document in [&preview, &run] {
        for (at, tables) in tables.iter().enumerate() {
            assert_eq!(
                document["rules"][at]["tables"], *tables,
                "{name}: {document}"
            );
        }
    }
    let left = |database: &mut Installation, table: &str, key: &str, at: &[usize]| {
        let listed: Vec<&str> = at.iter().map(|at| values[*at]).collect();
        let whole = database.number(&format!("SELECT COUNT(*) FROM {table}"));
        let these = format!(
            "SELECT COUNT(*) FROM {table} WHERE {key} IN ({})",
            listed.join(", ")
        );
        assert_eq!(database.number(&these), whole, "{name}: {table}");
    };
    left(&mut database, "shot", "id", &[4, 5]);
    left(&mut database, "mail", "id", &[0, 1, 5]);
    left(&mut database, "line", "id", &[0, 2]);
    let verify = database.call("verify", json!({})).expect("a document");
    assert_eq!(
        violations(&verify),
        Vec::<&Value>::new(),
        "{name}: {verify}"
    );
}
