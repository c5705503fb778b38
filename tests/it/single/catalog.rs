//! Indexes that every statement goes along, what `check` knows of the tables, and what an installation leaves.

use std::collections::BTreeSet;

use windrow::bundle::Probe;
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::{fit, render};

use super::{RULES, either, graph, new};
use crate::support::database::exclusive;
use crate::support::installation::{Installation, apply, bundle, numbers};

/// How many statements are looked at.
fn statements(dialect: Dialect) -> usize {
    match dialect {
        Dialect::Postgres => 25,
        Dialect::Mysql => 64,
        // What expires is locked, judged and deleted in one.
        Dialect::Mariadb => 62,
    }
}

pub(super) fn every_statement_goes_along_an_index_and_sorts_no_table(dialect: Dialect) {
    let mut installation = new(dialect);
    match dialect {
        Dialect::Postgres => installation.execute(&format!(
            "CREATE TABLE series AS SELECT i FROM generate_series(1, 20000) AS i; {}; ANALYZE",
            large(dialect)
        )),
        Dialect::Mysql | Dialect::Mariadb => {
            installation.execute(&format!(
                "CREATE TABLE series (i integer PRIMARY KEY);
                 INSERT INTO series SELECT n FROM {};
                 {}",
                numbers(dialect, 20_000),
                large(dialect)
            ));
            for table in [
                "task_state_store",
                "lease",
                "asset",
                "asset_active",
                "asset_state_store",
                "orders",
                "stock",
                "line",
                "task_instance_history",
                "attempt",
            ] {
                installation.rows(&format!("ANALYZE TABLE {table}"));
            }
        }
    }
    let graph = Graph {
        database: installation.name.clone(),
        ..graph()
    };
    let probes = render::probes(&graph, dialect).expect("the statements");
    let of_rows: Vec<_> = probes
        .iter()
        .filter(|probe| {
            RULES
                .iter()
                .any(|rule| probe.what.contains(&format!("rule {rule}:")))
        })
        .collect();
    assert_eq!(of_rows.len(), statements(dialect));
    if dialect != Dialect::Postgres {
        // As the routines do.
        installation.execute("CALL W.settle(@before)");
        for probe in of_rows {
            let plan = installation.rows(&format!("EXPLAIN FORMAT=TRADITIONAL {}", probe.sql));
            for row in &plan {
                let told = format!("{}\n{}\n{plan:#?}", probe.what, probe.sql);
                let cell = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
                let access = cell(row.len() - if row.len() >= 12 { 8 } else { 7 });
                let is_work = is_work(&cell(2), &cell(row.len() - 1));
                // LIMIT ends a search in the order of an index.
                let few = cell(row.len() - if row.len() >= 12 { 3 } else { 2 });
                let few = few.parse().is_ok_and(|rows: i64| rows <= 100);
                let is_whole = access == "ALL" || access == "index" && !few;
                assert!(is_work || !is_whole, "{told}");
                // What is due is put in the order of the given rows, which are no table.
                let sorts = cell(row.len() - 1).contains("filesort");
                assert!(!sorts || !probe.what.contains("_search: "), "{told}");
            }
        }
        the_search_goes_on_where_it_was(&mut installation);
        return;
    }
    // As the routines do: what is still read or sorted whole then has no index.
    installation
        .execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off");
    for probe in of_rows {
        let plan = installation
            .texts(&format!("EXPLAIN {}", probe.sql))
            .join("\n");
        assert!(!plan.contains("Seq Scan on"), "{}\n{plan}", probe.what);
        // What is due is put in the order of the given keys, which are no table.
        if !probe.what.contains("_search: ") {
            continue;
        }
        let nodes = plan
            .lines()
            .map(|line| line.trim_start().trim_start_matches("->").trim_start());
        assert!(
            nodes.clone().all(|node| !node.starts_with("Sort  (")),
            "{}\n{plan}",
            probe.what
        );
        // Where the application's own index stops before the key, equals are put in order among themselves.
        let own =
            probe.sql.contains("ORDER BY t.\"expires_at\"") || probe.what.contains("rule tries:");
        assert!(
            own || !plan.contains("Incremental Sort"),
            "{}\n{plan}",
            probe.what
        );
    }
}

/// What stands for a work table is read whole, and so is a list of keys.
fn is_work(table: &str, extra: &str) -> bool {
    table == Probe::FED || table.starts_with('<') || extra.starts_with("Table function")
}

/// Where the cursor stands far behind, no more rows are read than are looked at.
fn the_search_goes_on_where_it_was(installation: &mut Installation) {
    let as_of = "'2026-06-01 12:00:00'";
    for (rule, pass, behind) in [
        ("task_state", 1, 9_000),
        ("task_state", 2, 9_000),
        ("lease", 1, 9_000),
        ("asset_state", 1, 18_000),
        ("line", 1, 18_000),
        ("tries", 1, 18_000),
        ("attempts", 1, 18_000),
    ] {
        let search = |rows: i32| {
            format!("CALL W.search_single('{rule}', {pass}, {rows}, {as_of}, @cutoff, @found)")
        };
        installation.execute(&format!(
            "CALL W.single_open('{rule}'); CALL W.work_single('{rule}'); CALL W.cutoff_of('{rule}', {as_of}, NULL, @cutoff);
             {}; CALL W.single_moved(); CALL W.work_single('{rule}'); FLUSH STATUS; {}",
            search(behind),
            search(100)
        ));
        let read = installation.handled("read");
        assert_eq!(installation.number("SELECT COUNT(*) FROM W.work_row"), 100);
        assert!(read < 1_000, "{rule}, pass {pass}: {read}");
        installation.execute(&format!("CALL W.single_close('{rule}')"));
    }
}

/// Many rows, from a table `series` with the numbers from 1 to 20,000.
fn large(dialect: Dialect) -> String {
    let after = |column: &str| {
        either(
            dialect,
            format!("timestamp '2026-01-01' + {column} * interval '1 second'"),
            format!("timestamp '2026-01-01 00:00:00' + interval {column} second"),
        )
    };
    let uuid = either(dialect, "gen_random_uuid()", "uuid()");
    let div = either(dialect, "/", "DIV");
    format!(
        "INSERT INTO task_state_store (id, dag_run_id, task_id, name, value, updated_at, expires_at)
         SELECT i, i, 't', 'n', 'v', '2026-01-01', CASE WHEN i % 2 = 0 THEN {at} END FROM series;
         INSERT INTO lease SELECT i, {at}, 1 + i % 3 FROM series;
         INSERT INTO asset SELECT i, CONCAT('n', i), CONCAT('u', i) FROM series WHERE i <= 5000;
         INSERT INTO asset_active SELECT CONCAT('n', i), CONCAT('u', i) FROM series WHERE i <= 5000 AND i % 2 = 1;
         INSERT INTO asset_state_store SELECT i % 5000, CONCAT('k', i), 'v', '2026-01-01' FROM series;
         INSERT INTO orders (id) SELECT i FROM series WHERE i <= 5000;
         INSERT INTO stock (id, shop, number) SELECT i, CONCAT('s', i % 10), i FROM series WHERE i <= 5000;
         INSERT INTO line SELECT CONCAT('l', i), i % 6000, CONCAT('s', i % 10), i FROM series;
         INSERT INTO task_instance_history (task_instance_id, task_id, dag_id, run_id, map_index, try_number)
         SELECT {uuid}, CONCAT('t', i % 7), CONCAT('d', i % 50), CONCAT('r', i {div} 50), -1, i FROM series;
         INSERT INTO attempt SELECT i, CONCAT('j', i % 10), i % 10, {at}, i % 5, '2026-01-01', 'auto' FROM series",
        at = after("i")
    )
}

/// What `check --database` finds, beside triggers and the like: code and object.
fn findings(installation: &mut Installation) -> BTreeSet<(String, String)> {
    let home = either(
        installation.dialect,
        "public".to_owned(),
        installation.name.clone(),
    );
    let graph = Graph {
        database: installation.name.clone(),
        ..graph()
    };
    let mut catalog = installation
        .session
        .catalog(&home)
        .expect("a readable catalog");
    catalog.spell_like(&graph);
    fit::compare(&graph, &catalog)
        .into_iter()
        // What the throw-away server is told about itself.
        .filter(|finding| !["event-scheduler", "index-serves"].contains(&finding.code))
        .map(|finding| (finding.code.to_owned(), finding.object))
        .collect()
}

pub(super) fn the_check_knows_what_a_rule_looks_into_and_goes_along(dialect: Dialect) {
    let mut installation = new(dialect);
    let clean = findings(&mut installation);
    let expected: BTreeSet<(String, String)> = ["job", "part", "began", "step"]
        .map(|column| ("nullable-rank".to_owned(), format!("attempt.{column}")))
        .into();
    assert_eq!(clean, expected);
    // The order of the columns matters, where a run goes along them.
    let (key, names) = either(
        dialect,
        ("DROP CONSTRAINT asset_active_pkey", ""),
        ("DROP PRIMARY KEY", "DROP INDEX name, "),
    );
    installation.execute(&format!(
        "ALTER TABLE task_instance_history DROP CONSTRAINT task_instance_history_dtrt_uq;
         ALTER TABLE task_instance_history ADD UNIQUE (try_number, dag_id, task_id, run_id, map_index);
         ALTER TABLE asset_active {key};
         ALTER TABLE asset {names}DROP COLUMN uri;
         ALTER TABLE attempt DROP COLUMN ended"
    ));
    let found = findings(&mut installation);
    let more: BTreeSet<(&str, &str)> = found
        .difference(&clean)
        .map(|(code, object)| (code.as_str(), object.as_str()))
        .collect();
    assert_eq!(
        more,
        BTreeSet::from([
            ("missing-column", "asset.uri"),
            ("missing-column", "attempt.ended"),
            ("missing-index", "asset_active.name_uri"),
            (
                "missing-index",
                "task_instance_history.dag_id, task_id, run_id, map_index, try_number"
            ),
        ])
    );
    installation.execute("DROP TABLE asset_active");
    let missing = ("missing-table".to_owned(), "asset_active".to_owned());
    assert!(findings(&mut installation).contains(&missing));
}

pub(super) fn installing_twice_changes_nothing_and_uninstalling_leaves_nothing(dialect: Dialect) {
    let mut installation = new(dialect);
    let _only = exclusive();
    let control = installation.control.clone();
    let graph = Graph {
        name: control.trim_start_matches("windrow_").to_owned(),
        database: installation.name.clone(),
        ..graph()
    };
    let (objects, left) = either(
        dialect,
        (
            "SELECT p.proname::text || md5(p.prosrc) FROM pg_proc AS p WHERE p.pronamespace = 'CONTROL'::regnamespace
             UNION ALL SELECT c.relname::text || c.relkind::text FROM pg_class AS c WHERE c.relnamespace IN ('CONTROL'::regnamespace, 'public'::regnamespace) ORDER BY 1",
            "SELECT nspname FROM pg_namespace WHERE nspname = 'CONTROL' UNION ALL SELECT relname FROM pg_class WHERE relname LIKE 'windrow\\_%'",
        ),
        (
            "SELECT CONCAT(routine_name, SHA2(routine_definition, 256)) FROM information_schema.routines WHERE routine_schema = 'CONTROL'
             UNION ALL SELECT CONCAT(table_name, column_name, column_type) FROM information_schema.columns WHERE table_schema IN ('CONTROL', DATABASE())
             UNION ALL SELECT CONCAT(table_name, index_name, seq_in_index) FROM information_schema.statistics WHERE table_schema IN ('CONTROL', DATABASE()) ORDER BY 1",
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name = 'CONTROL'
             UNION ALL SELECT index_name FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name LIKE 'windrow|_%' ESCAPE '|'
             UNION ALL SELECT user FROM mysql.user WHERE user LIKE 'CONTROL|_%' ESCAPE '|'",
        ),
    );
    let objects = objects.replace("CONTROL", &control);
    let before = installation.texts(&objects);
    assert!(before.len() > 40, "{before:?}");
    let bundle = bundle(dialect, &graph);
    apply(&mut installation.session, &bundle);
    assert_eq!(installation.texts(&objects), before);
    let undo = bundle.files.iter().find(|file| file.path.contains("/90_"));
    for statement in &undo.expect("the uninstallation").statements {
        installation.execute(&statement.sql);
    }
    let left = left.replace("CONTROL", &control);
    assert_eq!(installation.texts(&left), Vec::<String>::new());
}
