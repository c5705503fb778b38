//! Scopes of a rule that cleans all of them but those that a policy keeps.

use serde_json::json;
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    each_server: [
        a_scope_that_is_never_null_has_the_default_of_the_spec,
    ],
}

const SPEC: &str = r#"
name = "scopes"

[tables]
job    = { key = "id bigint" }
ticket = { key = "id bigint" }

[rules.jobs]
strategy   = "end-time"
root       = "job"
final      = { state = 1 }
end_time   = "at"
retention  = { default = "30d", per = "project bigint" }

[rules.tickets]
strategy   = "end-time"
root       = "ticket"
final      = { state = 1 }
end_time   = "at"
retention  = { default = "30d", per = "team varchar" }
"#;

fn a_scope_that_is_never_null_has_the_default_of_the_spec(dialect: Dialect) {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE job (id bigint PRIMARY KEY, project bigint NOT NULL, state integer NOT NULL, at {time} NOT NULL);
         CREATE TABLE ticket (id bigint PRIMARY KEY, team varchar(50) NOT NULL, state integer NOT NULL, at {time} NOT NULL);"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(SPEC));
    for (table, kept, other) in [("job", "1", "2"), ("ticket", "'x'", "'y'")] {
        database.execute(&format!(
            "DELETE FROM {table}; INSERT INTO {table} VALUES (1, {kept}, 1, '2020-01-01'), (2, {other}, 1, '2020-01-02')"
        ));
    }
    database.execute("DELETE FROM W.policy");
    database.arm();
    for (rule, scope, table) in [("jobs", "1", "job"), ("tickets", "x", "ticket")] {
        let left = format!("SELECT CONCAT(id, '') FROM {table} ORDER BY id");
        let preview = database.preview(json!({"rule": rule})).expect("a preview");
        assert_eq!(preview["rules"][0]["families"], 2, "{preview}");
        let policy = json!({"rule": rule, "scope": scope, "enabled": false});
        database.set_policy(policy).expect("a policy");
        let answer = database.run(json!({"rule": rule})).expect("a run");
        assert_eq!(answer["rules"][0]["families"], 1, "{answer}");
        assert_eq!(database.texts(&left), ["1"]);
        let policy = json!({"rule": rule, "scope": scope});
        database.call("drop_policy", policy).expect("no policy");
        database.run(json!({"rule": rule})).expect("a run");
        assert!(database.texts(&left).is_empty());
    }
}
