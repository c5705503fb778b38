//! What the parts of rendering do by themselves.

use std::collections::BTreeSet;

use super::bundle;
use super::edges::EdgeView;
use super::index_statements;
use super::jobs::event_view;
use super::names::{local, role_name, variable};
use super::probes::probes;
use super::rule_view::count_once;
use super::sql::body_fingerprint;
use super::views::StepView;
use crate::bundle;
use crate::dialect::{DIALECTS, Dialect};
use crate::graph::{Graph, Kind, TableId};

fn graph(extra: &str) -> Graph {
    let text = format!(
        "name = \"orders\"\n{extra}\n[tables]\norders = {{ key = \"id bigint\" }}\n\
         lines = {{ parents = [\"order_id -> orders.id\", \"other_id -> orders.id\", \"third_id -> orders.id\"], with = \"any\" }}\n\
         [rules.orders]\nstrategy = \"end-time\"\nroot = \"orders\"\ncandidates = {{ kind = 0 }}\n\
         final = {{ state = [1, 2] }}\nend_time = \"ended\"\n\
         retention = {{ default = \"30d\", per = \"shop\", opt_in = true }}\n"
    );
    graph_of(&text)
}

fn graph_of(text: &str) -> Graph {
    let (spec, findings) = crate::spec::parse(text);
    let (graph, more) = crate::graph::build(&spec.expect("a spec"), text);
    assert!(
        findings.is_empty() && more.is_empty(),
        "{findings:?} {more:?}"
    );
    graph
}

fn text(graph: &Graph, dialect: Dialect, name: &str) -> String {
    let bundle = bundle(graph, dialect).expect("it renders");
    let file = bundle
        .files
        .into_iter()
        .find(|file| file.path.ends_with(name));
    file.expect("the file").text
}

#[test]
fn a_role_name_fits_and_tells_control_schemas_apart() {
    let name = role_name(Dialect::Mysql, "windrow_dolphinscheduler", "operator");
    assert_eq!(name, "windrow_dolphi_d04cb0e5_operator");
    assert_eq!(name.len(), Dialect::Mysql.facts().role_bytes);
    assert_ne!(
        name,
        role_name(Dialect::Mysql, "windrow_dolphinscheduler_3_2", "operator")
    );
    assert_eq!(
        role_name(Dialect::Mysql, "windrow_orders", "owner"),
        "windrow_orders_owner"
    );
    assert_eq!(
        role_name(Dialect::Mariadb, "windrow_dolphinscheduler", "operator"),
        name
    );
}

#[test]
fn an_event_starts_when_cron_would() {
    let event = |schedule: &str| {
        let view = event_view(schedule);
        format!("{} {} {}", view.every, view.starts, view.guard)
    };
    for (schedule, expected) in [
        ("30 seconds", "EVERY 30 SECOND '2000-01-01 00:00:00' "),
        ("* * * * *", "EVERY 1 MINUTE '2000-01-01 00:00:00' "),
        ("*/15 * * * *", "EVERY 15 MINUTE '2000-01-01 00:00:00' "),
        ("5-59/10 * * * *", "EVERY 10 MINUTE '2000-01-01 00:05:00' "),
        ("7 * * * *", "EVERY 1 HOUR '2000-01-01 00:07:00' "),
        ("7 */6 * * *", "EVERY 6 HOUR '2000-01-01 00:07:00' "),
        ("30 2 * * *", "EVERY 1 DAY '2000-01-01 02:30:00' "),
        ("30 2 * * 0-7", "EVERY 1 DAY '2000-01-01 02:30:00' "),
        ("30 2 * * 7", "EVERY 1 WEEK '2000-01-02 02:30:00' "),
        ("30 2 * * 6", "EVERY 1 WEEK '2000-01-08 02:30:00' "),
        (
            "30 2 1 * *",
            "EVERY 1 HOUR '2000-01-01 00:30:00' HOUR(UTC_TIMESTAMP()) IN (2) AND DAY(UTC_TIMESTAMP()) IN (1)",
        ),
        (
            "30 2 13 * 5",
            "EVERY 1 HOUR '2000-01-01 00:30:00' HOUR(UTC_TIMESTAMP()) IN (2) AND (DAY(UTC_TIMESTAMP()) IN (13) OR DAYOFWEEK(UTC_TIMESTAMP()) IN (6))",
        ),
        (
            "*/7 * * 1,2 *",
            "EVERY 1 MINUTE '2000-01-01 00:00:00' MINUTE(UTC_TIMESTAMP()) IN (0, 7, 14, 21, 28, 35, 42, 49, 56) AND MONTH(UTC_TIMESTAMP()) IN (1, 2)",
        ),
        (
            "0 20-23,0-5 * * 1-5",
            "EVERY 1 HOUR '2000-01-01 00:00:00' HOUR(UTC_TIMESTAMP()) IN (0, 1, 2, 3, 4, 5, 20, 21, 22, 23) AND DAYOFWEEK(UTC_TIMESTAMP()) IN (2, 3, 4, 5, 6)",
        ),
    ] {
        assert_eq!(event(schedule), expected, "{schedule}");
    }
}

#[test]
fn a_body_has_one_hash_however_a_client_sends_it() {
    let sent = "BEGIN\n    -- why\n    SELECT 'it''s', '\\\\z';\nEND";
    let stored = "BEGIN\n    SELECT 'it\\'s',\n\n '\\z';\nEND";
    let other = "BEGIN\n    SELECT 'its', 'y';\nEND";
    let hash = |body| body_fingerprint(Dialect::Mysql, body);
    assert_eq!(hash(sent), hash(stored));
    assert_ne!(hash(sent), hash(other));
}

#[test]
fn of_every_routine_it_is_known_what_the_catalog_shows() {
    for dialect in [Dialect::Postgres, Dialect::Mysql, Dialect::Mariadb] {
        let bundle = bundle(&graph(""), dialect).expect("it renders");
        for statement in bundle.files.iter().flat_map(|file| &file.statements) {
            let shown = statement.shown.as_ref();
            let Some(made) = statement.what.made() else {
                assert_eq!(shown, None, "{}", statement.what);
                continue;
            };
            let replaced = made.kind.is_routine() || made.kind == bundle::Kind::Event;
            assert!(!replaced || shown.is_some(), "{}", statement.what);
            if let Some(shown) = shown {
                let body = shown.text.lines().last().unwrap_or_default();
                assert!(statement.sql.contains(body), "{}", statement.what);
            }
        }
    }
}

#[test]
fn a_value_of_the_spec_stays_what_it_is() {
    for sign in '\u{1}'..='\u{1f}' {
        let value = format!("a{sign}b");
        let graph = graph_of(&format!(
            "name = \"orders\"\ndatabase = \"shop\"\n[tables]\norders = {{ key = \"id bigint\" }}\n[rules.orders]\n\
             strategy = \"end-time\"\nroot = \"orders\"\nfinal = {{ state = \"a\\u{:04x}b\" }}\n\
             end_time = \"ended\"\nretention = {{ default = \"30d\" }}\n",
            sign as u32
        ));
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            let text = text(&graph, dialect, "30_orders.sql");
            assert!(
                text.contains(&dialect.text(&value)),
                "{value:?} on {dialect:?}"
            );
        }
    }
}

#[test]
fn delimiters_are_for_files_only() {
    for dialect in [Dialect::Mysql, Dialect::Mariadb] {
        let bundle = bundle(&graph(""), dialect).expect("it renders");
        for file in &bundle.files {
            for statement in &file.statements {
                assert!(
                    !statement.sql.contains("DELIMITER") && !statement.sql.contains("$$"),
                    "{}: {}",
                    file.path,
                    statement.what
                );
            }
            let count = |what: &str| file.text.matches(what).count();
            assert_eq!(
                count("DELIMITER $$\n"),
                count("$$\nDELIMITER ;\n"),
                "{}",
                file.path
            );
        }
    }
}

#[test]
fn a_comment_in_a_body_has_a_line_of_its_own() {
    // What is behind code would not be taken out of the hash, but some clients do not send it.
    for file in bundle(&graph(""), Dialect::Mysql)
        .expect("it renders")
        .files
    {
        for line in file.text.lines() {
            let code = line.split('\'').step_by(2).collect::<Vec<_>>().join("");
            assert!(
                line.trim_start().starts_with("--") || !code.contains("-- "),
                "{}: {line}",
                file.path
            );
        }
    }
}

#[test]
fn the_scan_index_covers_what_is_compared_with_one_value() {
    let graph = graph("database = \"shop\"");
    let mysql = text(&graph, Dialect::Mariadb, "20_indexes.sql");
    assert!(
        mysql.contains("ALTER TABLE `shop`.`orders`\n")
            && mysql.contains(
                " ADD INDEX `windrow_orders_shop_kind_ended_id` (`shop`, `kind`, `ended`, `id`),"
            ),
        "{mysql}"
    );
    let postgres = text(&graph, Dialect::Postgres, "20_indexes.sql");
    let words: Vec<&str> = postgres.split_whitespace().collect();
    let made = "ON \"public\".\"orders\" (\"shop\", \"ended\", \"id\") WHERE ";
    assert!(words.join(" ").contains(made), "{postgres}");
}

/// The names of the columns of two indexes may be the same in a row, and those of two tables with their columns.
#[test]
fn each_index_has_a_name_of_its_own() {
    let rule = |name: &str, table: &str, time: &str| {
        format!(
            "[rules.{name}]\nstrategy = \"expiry\"\nroot = \"{table}\"\ntime = \"{time}\"\ncandidates = {{ {name} = 1 }}\n"
        )
    };
    let graph = graph_of(&format!(
        "name = \"orders\"\ndatabase = \"shop\"\n[tables]\nrun = {{ key = \"id bigint\" }}\nrun_step = {{ key = \"id bigint\" }}\n\
         part = {{ parents = [\"run_step -> run.id\", \"step -> run_step.id\"], with = \"any\" }}\n\
         part_run = {{ parents = [\"step -> run_step.id\"] }}\n{}{}{}",
        rule("a", "run", "step_at"),
        rule("a_step", "run", "at"),
        rule("b", "run_step", "at"),
    ));
    for &dialect in DIALECTS {
        let statements = index_statements(&graph, dialect);
        let names = statements.iter().map(|it| it.name.to_lowercase());
        let names: BTreeSet<String> = names.collect();
        let all: Vec<&String> = statements.iter().map(|it| &it.sql).collect();
        assert_eq!(names.len(), statements.len(), "{all:#?}");
    }
}

#[test]
fn an_index_has_each_column_once() {
    let graph = graph_of(
        "name = \"orders\"\ndatabase = \"shop\"\n[tables]\nrun = { key = \"id bigint\" }\n\
         [rules.a]\nstrategy = \"keep-last\"\nroot = \"run\"\ncandidates = { kind = [1], state = 1 }\n\
         keep = { newest = 1, per = [\"kind integer\", \"state integer\"], by = \"at timestamp\" }\n",
    );
    for (dialect, made) in [
        (Dialect::Postgres, "(\"kind\", \"state\", \"at\", \"id\")"),
        (Dialect::Mysql, "(`kind`, `state`, `at`, `id`)"),
        (Dialect::Mariadb, "(`kind`, `state`, `at`, `id`)"),
    ] {
        let statements = index_statements(&graph, dialect);
        let all: Vec<&String> = statements.iter().map(|it| &it.sql).collect();
        assert!(all.len() == 1 && all[0].contains(made), "{all:#?}");
    }
}

#[test]
fn each_table_has_a_variable_of_its_own() {
    for names in [["a", "A", "a_0"], ["a_1", "a", "A"], ["a_b", "c", "d"]] {
        let tables = names.map(|name| format!("\"{name}\" = {{ key = \"id bigint\" }}\n"));
        let rules = names.map(|name| {
            let rule = name.replace('A', "b");
            format!("[rules.x_{rule}]\nstrategy = \"expiry\"\nroot = \"{name}\"\ntime = \"at\"\n")
        });
        let (tables, rules) = (tables.concat(), rules.concat());
        let graph = graph_of(&format!("name = \"orders\"\n[tables]\n{tables}{rules}"));
        let ids = (0..names.len()).map(TableId);
        let found: BTreeSet<String> = ids.map(|id| variable(&graph, id)).collect();
        assert_eq!(found.len(), 3, "{found:?}");
    }
}

#[test]
fn a_row_with_several_parents_is_counted_once() {
    let mut steps: Vec<StepView> = Vec::new();
    let edge = |column: &str, keys: &str| EdgeView {
        column: column.to_owned(),
        keys: keys.to_owned(),
        keys_of_rows: keys.to_owned(),
        near: false,
        sifted: "",
        via: None,
        others: Vec::new(),
        between: None,
        none: String::new(),
        unless: String::new(),
        kept: String::new(),
    };
    steps.push(StepView {
        position: 1,
        table: String::new(),
        table_literal: String::new(),
        why: String::new(),
        releases: Vec::new(),
        key: String::new(),
        collected: String::new(),
        locked: String::new(),
        found: String::new(),
        archive: None,
        cascade: None,
        taken: Vec::new(),
        spares: false,
        edges: vec![
            edge("a", "w"),
            edge("b", "w"),
            edge("c", "k"),
            edge("d", "w"),
        ],
    });
    let copies = count_once(&mut steps);
    let others: Vec<Vec<(&str, &str)>> = steps[0]
        .edges
        .iter()
        .map(|edge| {
            edge.others
                .iter()
                .map(|it| (it.column.as_str(), it.keys.as_str()))
                .collect()
        })
        .collect();
    // No work table twice in a statement.
    assert_eq!(others[0], []);
    assert_eq!(others[1], [("a", "w_2")]);
    assert_eq!(others[2], [("a", "w"), ("b", "w_2")]);
    assert_eq!(others[3], [("a", "w_2"), ("b", "w_3"), ("c", "k")]);
    assert_eq!(
        copies
            .iter()
            .map(|copy| copy.work.as_str())
            .collect::<Vec<_>>(),
        ["w_2", "w_3"]
    );
}

#[test]
fn probes_are_statements_of_their_server() {
    let sql = |dialect| -> Vec<String> {
        probes(&graph(""), dialect)
            .expect("the statements")
            .into_iter()
            .map(|probe| probe.sql)
            .collect()
    };
    let deletes = "DELETE `orders`.`lines` FROM (SELECT DISTINCT fed.`id` AS id FROM `orders`.`orders` AS fed LIMIT 3) AS w STRAIGHT_JOIN `orders`.`lines` ON `orders`.`lines`.`order_id` = w.id";
    let found = sql(Dialect::Mysql);
    assert!(found.iter().any(|sql| sql == deletes), "{found:#?}");
    let deletes = "DELETE FROM \"public\".\"lines\" AS t WHERE t.\"order_id\" = ANY (((SELECT '{1}'::bigint[])::bigint[]))";
    assert!(sql(Dialect::Postgres).iter().any(|sql| sql == deletes));
}

#[test]
fn cutoffs_are_counted_in_the_zone_of_the_application() {
    for (zone, expected) in [
        ("UTC", ""),
        ("Asia/Shanghai", "+ INTERVAL 28800 SECOND"),
        ("Europe/Berlin", "'+00:00', 'Europe/Berlin'"),
    ] {
        let text = local(
            &graph(&format!("time_zone = \"{zone}\"")),
            Kind::Timestamp,
            "t",
        );
        assert!(text.contains(expected), "{zone}: {text}");
        let instant = local(
            &graph(&format!("time_zone = \"{zone}\"")),
            Kind::Timestamptz,
            "t",
        );
        assert_eq!(instant, "t");
    }
}
