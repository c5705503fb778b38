//! Rules whose rows go one by one: expired, orphaned, or outnumbered by newer ones. What goes is what a model says.

mod below;
mod catalog;
pub(crate) mod lists;
mod model;
pub(crate) mod places;
mod trouble;
mod world;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use self::below::{
    a_condition_on_what_belongs_to_a_row_is_judged_once,
    a_named_row_that_a_trigger_keeps_is_not_purged,
    a_row_that_a_trigger_keeps_keeps_what_belongs_to_it,
    what_comes_between_a_search_and_its_batch_keeps_all,
    what_names_nothing_on_the_way_needs_nothing,
};
use self::catalog::{
    every_statement_goes_along_an_index_and_sorts_no_table,
    installing_twice_changes_nothing_and_uninstalling_leaves_nothing,
    the_check_knows_what_a_rule_looks_into_and_goes_along,
};
use self::model::{
    a_key_of_several_columns_is_held_and_purged_as_a_json_array, a_run_deletes_what_the_model_says,
    all_servers_answer_alike, metrics_and_verify_know_rows_that_are_due,
    purge_takes_a_row_before_its_time_and_none_that_is_not_of_the_rule,
    the_fallback_is_off_at_a_retention_of_nothing_and_bound_by_the_minimum,
};
use self::trouble::{
    a_batch_looks_again_at_what_it_was_told_to_delete, a_pause_ends_a_run_before_its_next_batch,
    a_poisoned_row_is_found_recorded_and_passed_over, a_row_that_is_not_deleted_is_no_success,
    a_run_takes_no_more_rows_than_it_may_and_the_next_goes_on,
    what_a_lost_session_leaves_is_finished_by_the_next_run,
    what_another_session_holds_is_left_to_it,
    what_the_session_of_a_killed_run_commits_is_told_and_finished,
};
use self::world::World;
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    on_postgres: [
        what_comes_between_a_search_and_its_batch_keeps_all,
        a_row_that_a_trigger_keeps_keeps_what_belongs_to_it,
        a_named_row_that_a_trigger_keeps_is_not_purged,
    ],
    on_several: [
        all_servers_answer_alike,
    ],
    each_server: [
        every_statement_goes_along_an_index_and_sorts_no_table,
    ],
    every_server: [
        a_run_deletes_what_the_model_says,
        a_key_of_several_columns_is_held_and_purged_as_a_json_array,
        purge_takes_a_row_before_its_time_and_none_that_is_not_of_the_rule,
        the_fallback_is_off_at_a_retention_of_nothing_and_bound_by_the_minimum,
        a_batch_looks_again_at_what_it_was_told_to_delete,
        what_another_session_holds_is_left_to_it,
        a_run_takes_no_more_rows_than_it_may_and_the_next_goes_on,
        what_a_lost_session_leaves_is_finished_by_the_next_run,
        what_the_session_of_a_killed_run_commits_is_told_and_finished,
        a_pause_ends_a_run_before_its_next_batch,
        metrics_and_verify_know_rows_that_are_due,
        the_check_knows_what_a_rule_looks_into_and_goes_along,
        a_poisoned_row_is_found_recorded_and_passed_over,
        a_row_that_is_not_deleted_is_no_success,
        installing_twice_changes_nothing_and_uninstalling_leaves_nothing,
        a_condition_on_what_belongs_to_a_row_is_judged_once,
        what_names_nothing_on_the_way_needs_nothing,
    ],
}

/// The stores and the history of Airflow 3 in the columns that matter, and two tables with what Airflow forbids: equal
/// places, no places, references that mean nothing. Assets that vanish are debris, so no foreign key holds them.
const SCHEMA: &str = "
CREATE TABLE task_state_store (
    id integer PRIMARY KEY, dag_run_id integer NOT NULL, task_id varchar(250) NOT NULL, map_index integer NOT NULL DEFAULT -1,
    name varchar(512) NOT NULL, value text NOT NULL, updated_at timestamptz, expires_at timestamptz,
    UNIQUE (dag_run_id, task_id, map_index, name)
);
CREATE INDEX idx_task_state_store_expires_at ON task_state_store (expires_at);
CREATE TABLE lease (id bigint PRIMARY KEY, until_at timestamp, kind integer NOT NULL);
CREATE TABLE asset (id integer PRIMARY KEY, name varchar(150) NOT NULL, uri varchar(150) NOT NULL, UNIQUE (name, uri));
CREATE TABLE asset_active (name varchar(150), uri varchar(150), PRIMARY KEY (name, uri));
CREATE TABLE asset_state_store (
    asset_id integer NOT NULL, name varchar(150) NOT NULL, value text NOT NULL, updated_at timestamptz,
    PRIMARY KEY (asset_id, name)
);
CREATE TABLE orders (id bigint PRIMARY KEY, state varchar(9), ended timestamp);
CREATE TABLE stock (id integer PRIMARY KEY, shop varchar(50) NOT NULL, number integer NOT NULL, state varchar(9), ended timestamp, UNIQUE (shop, number));
CREATE TABLE line (id varchar(36) PRIMARY KEY, order_id bigint, shop varchar(50), number integer);
CREATE TABLE task_instance_history (
    task_instance_id uuid PRIMARY KEY, task_id varchar(250) NOT NULL, dag_id varchar(250) NOT NULL, run_id varchar(250) NOT NULL,
    map_index integer NOT NULL DEFAULT -1, try_number integer NOT NULL, end_date timestamptz,
    CONSTRAINT task_instance_history_dtrt_uq UNIQUE (dag_id, task_id, run_id, map_index, try_number)
);
CREATE TABLE attempt (id integer PRIMARY KEY, job varchar(50), part integer, began timestamp, step integer, ended timestamp, kind varchar(10) NOT NULL);
";

/// The same on MySQL and MariaDB: texts that compare by bytes, by letters, and of another character set. `UUID` is what a
/// server has for it.
const SCHEMA_MYSQL: &str = "
CREATE TABLE task_state_store (
    id integer PRIMARY KEY, dag_run_id integer NOT NULL, task_id varchar(250) NOT NULL, map_index integer NOT NULL DEFAULT -1,
    name varchar(250) NOT NULL, value text NOT NULL, updated_at timestamp(6) NULL, expires_at timestamp(6) NULL,
    UNIQUE (dag_run_id, task_id, map_index, name)
) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX idx_task_state_store_expires_at ON task_state_store (expires_at);
CREATE TABLE lease (id bigint PRIMARY KEY, until_at datetime(6), kind integer NOT NULL);
CREATE TABLE asset (id integer PRIMARY KEY, name varchar(150) NOT NULL, uri varchar(150) NOT NULL, UNIQUE (name, uri)) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE asset_active (name varchar(150), uri varchar(150), PRIMARY KEY (name, uri)) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE asset_state_store (
    asset_id integer NOT NULL, name varchar(512) NOT NULL, value text NOT NULL, updated_at timestamp(6) NULL,
    PRIMARY KEY (asset_id, name)
) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE orders (id bigint PRIMARY KEY, state varchar(9), ended datetime(6));
CREATE TABLE stock (id integer PRIMARY KEY, shop varchar(50) NOT NULL, number integer NOT NULL, state varchar(9), ended datetime(6), UNIQUE (shop, number)) DEFAULT CHARSET latin1;
CREATE TABLE line (id varchar(36) PRIMARY KEY, order_id bigint, shop varchar(50), number integer) DEFAULT CHARSET latin1;
CREATE TABLE task_instance_history (
    task_instance_id UUID PRIMARY KEY, task_id varchar(250) NOT NULL, dag_id varchar(250) NOT NULL, run_id varchar(250) NOT NULL,
    map_index integer NOT NULL DEFAULT -1, try_number integer NOT NULL, end_date timestamp(6) NULL,
    CONSTRAINT task_instance_history_dtrt_uq UNIQUE (dag_id, task_id, run_id, map_index, try_number)
) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE attempt (id integer PRIMARY KEY, job varchar(50), part integer, began datetime(6), step integer, ended datetime(6), kind varchar(10) NOT NULL) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci;
";

const SPEC: &str = r#"
name      = "stores"
dialects  = ["postgres", "mysql", "mariadb"]
time_zone = "Asia/Shanghai"

[tables]
task_state_store      = { key = "id integer", indexed = ["expires_at"] }
lease                 = { key = "id bigint" }
asset_state_store     = { key = "asset_id integer, name varchar" }
line                  = { key = "id varchar", parents = ["order_id bigint -> orders.id unless 0", "shop, number -> stock(shop, number)"], with = "any" }
orders                = { key = "id bigint" }
stock                 = { key = "id integer", unique = ["shop varchar, number integer"] }
task_instance_history = { key = "task_instance_id uuid", unique = ["dag_id varchar, task_id varchar, run_id varchar, map_index integer, try_number integer"], indexed = ["dag_id, task_id, run_id, map_index, try_number"] }
attempt               = { key = "id integer" }

[rules.task_state]
strategy = "expiry"
root     = "task_state_store"
time     = "expires_at timestamptz"
fallback = { time = "updated_at timestamptz", retention = { default = "30d", minimum = "7d", safety_lag = "1d" } }

[rules.lease]
strategy   = "expiry"
root       = "lease"
time       = "until_at"
candidates = { kind = [1, 2] }

[rules.asset_state]
strategy  = "orphan"
root      = "asset_state_store"
needs     = ["asset_id -> asset.id", "name, uri -> asset_active(name, uri)"]
time      = "updated_at timestamptz"
retention = { default = "14d", minimum = "7d", safety_lag = "1h" }

[rules.line]
strategy = "orphan"
root     = "line"
at_once  = true

[rules.tries]
strategy = "keep-last"
root     = "task_instance_history"
keep     = { newest = 2, per = ["dag_id varchar", "task_id varchar", "run_id varchar", "map_index integer"], by = "try_number integer" }

[rules.attempts]
strategy   = "keep-last"
root       = "attempt"
candidates = { kind = "auto" }
keep       = { newest = 2, per = ["job varchar", "part integer"], by = ["began", "step integer"] }
time       = "ended"
retention  = { default = "30d", minimum = "7d", safety_lag = "1d" }

# Lines go with what they belong to, and what earlier scripts have left of them goes by the rule above.
[rules.orders]
strategy  = "end-time"
root      = "orders"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }

[rules.stock]
strategy  = "end-time"
root      = "stock"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
"#;

const RULES: [&str; 6] = [
    "task_state",
    "lease",
    "asset_state",
    "line",
    "tries",
    "attempts",
];

const AS_OF: &str = "2026-06-01T12:00:00Z";

const SECOND: i64 = 1_000_000;

const DAY: i64 = 86_400 * SECOND;

pub(crate) fn graph() -> Graph {
    graph_of(SPEC)
}

fn new(dialect: Dialect) -> Installation {
    let schema = match dialect {
        Dialect::Postgres => SCHEMA.to_owned(),
        Dialect::Mysql => SCHEMA_MYSQL.replace("UUID", "char(36)"),
        Dialect::Mariadb => SCHEMA_MYSQL.replace("UUID", "uuid"),
    };
    let mut installation = Installation::of(dialect, &schema, &graph());
    installation.arm();
    if dialect != Dialect::Postgres {
        // Instants are written in UTC.
        installation.execute("SET time_zone = '+00:00'");
    }
    installation
}

/// What is written in one way for PostgreSQL and in another for MySQL and MariaDB.
fn either<T>(dialect: Dialect, postgres: T, mysql: T) -> T {
    match dialect {
        Dialect::Postgres => postgres,
        Dialect::Mysql | Dialect::Mariadb => mysql,
    }
}

fn loaded(dialect: Dialect, world: &World) -> Installation {
    let mut installation = new(dialect);
    world.load(&mut installation);
    installation
}

fn run(installation: &mut Installation, rule: &str) -> Value {
    let options = json!({"rule": rule, "as_of": AS_OF});
    installation.run(options).expect("a run")
}

fn set(installation: &mut Installation, rule: &str, name: &str, value: i64) {
    installation
        .call(
            "set_setting",
            json!({"rule": rule, "name": name, "value": value}),
        )
        .expect("a setting");
}
