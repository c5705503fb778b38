//! The kernel is the same text in every spec, names none of them, and deletes nothing of theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use sha2::{Digest, Sha256};
use windrow::bundle::{Bundle, Kind, What};
use windrow::dialect::{DIALECTS, Dialect};
use windrow::graph::{Graph, RESERVED_RULES, Shared};
use windrow::render;

use crate::harness::tests;
use crate::support::graphs::{dolphinscheduler, graph_of};
use crate::support::installation::Installation;

tests! {
    lint: [
        the_text_of_the_kernel_is_the_same_in_every_spec,
        a_lock_has_the_hashes_of_the_files_that_it_names,
        every_table_that_a_session_could_hide_is_dropped_first,
        the_kernel_deletes_from_its_own_tables_alone,
        a_value_of_what_runs_write_is_read_without_a_lock,
        no_routine_of_a_rule_has_the_name_of_one_of_the_kernel,
        no_routine_of_a_rule_has_the_name_of_one_of_another,
        two_routines_of_the_kernel_never_have_one_name,
        the_document_of_a_session_is_given_to_a_routine,
        what_takes_all_errors_takes_failed_assertions,
    ],
    every_server: [
        the_bodies_of_the_kernel_are_the_same_in_two_installations,
    ],
}

const SCHEMA: &str =
    "CREATE TABLE events (id bigint PRIMARY KEY, kind varchar(9), made_at timestamp);";

const EVENTS: &str = r#"
name   = "events"
schema = "public"

[tables]
events = { key = "id bigint" }

[rules.old]
strategy  = "age"
root      = "events"
time      = "made_at timestamp"
retention = { default = "30d" }

[rules.surplus]
strategy = "keep-last"
root     = "events"
keep     = { newest = 9, per = "kind varchar", by = "made_at timestamp" }
"#;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Where the kernel of a server is.
fn folder(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "postgres",
        Dialect::Mysql | Dialect::Mariadb => "innodb",
    }
}

/// The files of the kernel of a server, by path.
fn kernel(dialect: Dialect) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root().join("templates/kernel").join(folder(dialect))];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).expect("a readable file");
                found.insert(path, text);
            }
        }
    }
    assert!(found.len() > 8, "only {} files", found.len());
    found
}

/// The names that a text gives to what it creates.
fn created<'a>(text: &'a str, kinds: &'a [&str]) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (kind, name) = line.strip_prefix("--# create ")?.split_once(' ')?;
        kinds.contains(&kind).then_some(name)
    })
}

/// A statement in a binary log has the variables of a session that the server has read for it: where no row made it read one, a
/// replica has NULL there, or stops.
fn the_document_of_a_session_is_given_to_a_routine() {
    let mut given = 0;
    for (path, text) in kernel(Dialect::Mysql) {
        let top = text
            .lines()
            .filter(|line| line.contains("@windrow_document"));
        for line in top.filter(|line| !line.starts_with(' ')) {
            let path = path.display();
            assert!(line.starts_with("CALL "), "{path}: {line}");
            given += 1;
        }
        let mut inner = text.lines().filter(|line| line.starts_with(' '));
        let alone = path.ends_with("38_step.sql");
        assert!(alone || !inner.any(|line| line.contains("@windrow_document")));
    }
    assert_eq!(given, 2);
}

/// OTHERS does not stand for a failed ASSERT, which a trigger of the application may have: it would end the CALL, with its run open.
fn what_takes_all_errors_takes_failed_assertions() {
    let mut seen = 0;
    for folder in ["templates/kernel/postgres", "templates/postgres"] {
        for path in crate::tidy::files(&root().join(folder)) {
            let text = fs::read_to_string(&path).expect("a text");
            for line in text.lines().filter(|line| line.contains("OTHERS")) {
                let whole = line.contains("WHEN OTHERS OR assert_failure THEN")
                    || line.contains("WHEN query_canceled OR OTHERS OR assert_failure THEN");
                assert!(whole, "{}: {line}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 20, "only {seen} handlers");
}

/// PostgreSQL would take them for two by their parameters, and an installation for one that is left over.
fn two_routines_of_the_kernel_never_have_one_name() {
    for dialect in [Dialect::Postgres, Dialect::Mysql] {
        let files = kernel(dialect);
        let all = files
            .values()
            .flat_map(|text| created(text, &["function", "procedure"]));
        let mut names: Vec<&str> = all.collect();
        names.sort_unstable();
        let twice: Vec<&[&str]> = names.windows(2).filter(|it| it[0] == it[1]).collect();
        assert!(twice.is_empty(), "{dialect:?}: {twice:?}");
    }
}

/// The shipped specs, and the examples.
fn specs() -> Vec<Graph> {
    let folders = ["specs", "specs/examples"].map(|folder| root().join(folder));
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("a folder of specs"));
    let paths = files.map(|file| file.expect("an entry").path());
    let specs = paths.filter(|path| path.extension().is_some_and(|it| it == "toml"));
    specs
        .map(|path| graph_of(&fs::read_to_string(path).expect("a readable spec")))
        .collect()
}

fn bundle(graph: &Graph, dialect: Dialect) -> Bundle {
    render::bundle(graph, dialect).expect("the templates render")
}

/// The statements of a bundle that create a routine of the kernel, by the routine's name.
fn routines(bundle: &Bundle, names: &BTreeSet<String>) -> BTreeMap<String, String> {
    let statements = bundle.files.iter().flat_map(|file| &file.statements);
    let routine = |what: &What| {
        let name = what.routine().filter(|name| names.contains(*name));
        name.map(str::to_owned)
    };
    statements
        .filter_map(|it| Some((routine(&it.what)?, it.sql.clone())))
        .collect()
}

fn names(dialect: Dialect) -> BTreeSet<String> {
    let files = kernel(dialect);
    let kinds = ["function", "procedure"];
    let names = files.values().flat_map(|text| created(text, &kinds));
    names.map(str::to_owned).collect()
}

fn the_text_of_the_kernel_is_the_same_in_every_spec() {
    for dialect in DIALECTS.iter().copied() {
        let names = names(dialect);
        let mut first: BTreeMap<String, String> = BTreeMap::new();
        for graph in specs()
            .into_iter()
            .filter(|it| it.dialects.contains(&dialect))
        {
            let control = render::control_name(&graph);
            let routines = routines(&bundle(&graph, dialect), &names);
            assert!(routines.len() > 60, "{control}: {}", routines.len());
            for (name, sql) in routines {
                let sql = plain(&sql, &graph, dialect);
                assert!(!sql.contains(&control), "{name} names {control}");
                let known = first.entry(name.clone()).or_insert_with(|| sql.clone());
                assert_eq!(*known, sql, "{name} in {control}");
            }
        }
        let missing: Vec<_> = names.iter().filter(|it| !first.contains_key(*it)).collect();
        // The shipped specs have one worker each; those for MySQL and MariaDB have no archive and no replicas, and those for MariaDB
        // no rules of single rows.
        let folder = root().join("templates/kernel").join(folder(dialect));
        let mut modules = vec!["features/11_workers.sql"];
        if dialect != Dialect::Postgres {
            modules.extend([
                "features/25_archive.sql",
                "features/36_heartbeat.sql",
                "features/45_restore.sql",
                "features/44_unarchive.sql",
                "features/44_unarchive_calls.sql",
            ]);
        }
        if dialect == Dialect::Mariadb {
            modules.push("strategies/39_single.sql");
        }
        let unused: String = modules
            .iter()
            .map(|module| fs::read_to_string(folder.join(module)).expect("a module"))
            .collect();
        for name in missing {
            let is_there = created(&unused, &["function", "procedure"]).any(|it| it == name);
            assert!(is_there, "no shipped spec installs {name}");
        }
    }
}

/// A rule may have any name but those that are reserved: none of its routines is called like one of the kernel.
fn no_routine_of_a_rule_has_the_name_of_one_of_the_kernel() {
    let mut reserved = BTreeSet::new();
    for dialect in DIALECTS.iter().copied() {
        let kernel = names(dialect);
        let mut verbs = BTreeSet::new();
        for graph in specs() {
            if !graph.dialects.contains(&dialect) {
                continue;
            }
            let bundle = bundle(&graph, dialect);
            let made = bundle.files.iter().flat_map(|file| &file.statements);
            for (statement, rule) in
                made.flat_map(|it| graph.rules.iter().map(move |rule| (it, rule)))
            {
                let name = statement
                    .what
                    .as_str()
                    .rsplit_once('.')
                    .map(|(_, name)| name);
                let verb = name.and_then(|it| it.strip_prefix(&format!("{}_", rule.name)));
                verbs.extend(
                    verb.filter(|_| !name.is_some_and(|it| kernel.contains(it)))
                        .map(str::to_owned),
                );
            }
        }
        assert!(verbs.len() > 15, "{dialect:?}: {verbs:?}");
        for (name, verb) in kernel
            .iter()
            .flat_map(|name| verbs.iter().map(move |verb| (name, verb)))
        {
            let rule = name
                .strip_suffix(verb.as_str())
                .and_then(|it| it.strip_suffix('_'));
            reserved.extend(rule.filter(|it| !it.is_empty()).map(str::to_owned));
        }
    }
    let expected: BTreeSet<String> = RESERVED_RULES.iter().map(|it| (*it).to_owned()).collect();
    assert_eq!(reserved, expected);
}

/// A verb that ends with another one begins with a word that `windrow check` refuses at the end of a rule's name.
fn no_routine_of_a_rule_has_the_name_of_one_of_another() {
    let mut ends = BTreeSet::new();
    for templates in ["templates/postgres", "templates/mysql"] {
        let files = fs::read_dir(root().join(templates)).expect("a folder");
        let texts = files.map(|file| fs::read_to_string(file.expect("a file").path()));
        let text: String = texts.map(|text| text.expect("a text")).collect();
        let verbs: BTreeSet<&str> = ["rule", "stamp", "query"]
            .iter()
            .flat_map(|of| {
                let before = format!(".{{{{ {of}.name }}}}_");
                let found = text.split(&before).skip(1).collect::<Vec<_>>();
                found
                    .into_iter()
                    .filter_map(|rest| rest.split(['(', '{', '\n', ' ']).next())
            })
            .collect();
        assert!(verbs.len() > 30, "{verbs:?}");
        for verb in &verbs {
            let shorter = verbs.iter().filter_map(|end| verb.strip_suffix(end));
            ends.extend(
                shorter
                    .filter_map(|word| word.strip_suffix('_'))
                    .map(str::to_owned),
            );
        }
    }
    let expected = ["late", "stamp"].map(str::to_owned);
    assert_eq!(ends, BTreeSet::from(expected));
}

/// What creates a routine, without what each installation says of it: on PostgreSQL, what commits may have no search path of
/// its own, and says of every name that it is from this schema; elsewhere a routine names its definer.
fn plain(sql: &str, graph: &Graph, dialect: Dialect) -> String {
    let control = render::control_name(graph);
    match dialect {
        Dialect::Postgres if sql.starts_with("CREATE OR REPLACE PROCEDURE") => {
            sql.replace(&format!("{control}."), "windrow.")
        }
        Dialect::Postgres => sql.to_owned(),
        Dialect::Mysql | Dialect::Mariadb => {
            let owner = dialect.ident(&render::role_name(dialect, &control, "owner"));
            sql.replacen(&format!("DEFINER = {owner} "), "", 1)
        }
    }
}

/// MySQL and MariaDB: a caller's temporary table would hide a table or view of the control database.
fn every_table_that_a_session_could_hide_is_dropped_first() {
    let files = kernel(Dialect::Mysql);
    let text: String = files.values().map(String::as_str).collect();
    let (_, body) = text
        .split_once("CREATE PROCEDURE drop_shadows()")
        .expect("what drops them");
    let (_, list) = body
        .split_once("DROP TEMPORARY TABLE IF EXISTS")
        .expect("a list");
    let (list, _) = list.split_once(';').expect("its end");
    let dropped: BTreeSet<&str> = list.split(',').map(str::trim).collect();
    let made = created(&text, &["table", "view"]);
    // Archives have names of their own: the spec drops what hides them.
    let made: BTreeSet<&str> = made.filter(|name| !name.starts_with("this ")).collect();
    assert!(made.len() > 30, "{made:?}");
    let left: Vec<_> = made.difference(&dropped).collect();
    assert!(left.is_empty(), "{left:?} could be hidden");
}

/// As `sha256sum -c` compares them, for every lock that is committed.
fn a_lock_has_the_hashes_of_the_files_that_it_names() {
    let mut compared = 0;
    for spec in fs::read_dir(root().join("generated")).expect("a readable folder") {
        let spec = spec.expect("an entry").path();
        for dialect in fs::read_dir(&spec).expect("a readable folder") {
            let Ok(lock) =
                fs::read_to_string(dialect.expect("an entry").path().join("10_kernel.lock"))
            else {
                continue;
            };
            for line in lock.lines().filter(|line| !line.starts_with('#')) {
                let (hash, name) = line.split_once("  ").expect("a hash and a name");
                let bytes = fs::read(root().join(name)).expect("a file of the kernel");
                let found: String = Sha256::digest(bytes)
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect();
                assert_eq!(hash, found, "{name} in the lock of {}", spec.display());
                compared += 1;
            }
        }
    }
    assert!(compared >= 7 * 16, "only {compared} hashes were compared");
}

/// MySQL and MariaDB: a subquery of SET, DECLARE, IF, WHILE or UNTIL locks the rows that it reads until the transaction ends,
/// at READ COMMITTED, too; one of SELECT … INTO does not. Runs that read each other's rows so end in deadlocks.
fn a_value_of_what_runs_write_is_read_without_a_lock() {
    // Written by an installation or by the session alone.
    let is_quiet = |table: &str| {
        table.is_empty()
            || [
                "spec",
                "rule",
                "rule_refers",
                "rule_table",
                "rule_limit",
                "JSON_TABLE",
            ]
            .contains(&table)
            || ["known_", "work_", "information_schema."]
                .iter()
                .any(|quiet| table.starts_with(quiet))
    };
    let mut subqueries = 0;
    for (path, text) in kernel(Dialect::Mysql) {
        let code: Vec<&str> = text
            .lines()
            .map(|line| line.split("--").next().unwrap_or_default())
            .collect();
        // What stands between quotes is no code of this statement.
        let code: Vec<String> = code
            .join("\n")
            .split('\'')
            .step_by(2)
            .map(str::to_owned)
            .collect();
        let code = code.join("''");
        let ends = ["BEGIN\n", "THEN\n", "ELSE\n", "DO\n", "REPEAT\n", "LOOP\n"];
        let code = ends.iter().fold(code, |code, end| code.replace(end, ";"));
        for statement in code.split(';').map(str::trim) {
            let words: Vec<&str> = statement.split_whitespace().collect();
            let first = words.first().copied().unwrap_or_default();
            if !["SET", "DECLARE", "IF", "ELSEIF", "WHILE", "UNTIL"].contains(&first)
                || !statement.contains("SELECT ")
            {
                continue;
            }
            subqueries += 1;
            for pair in words.windows(2) {
                let table = pair[1].trim_matches(|letter: char| !letter.is_alphanumeric());
                let table = table.split('(').next().unwrap_or_default();
                assert!(
                    !["FROM", "JOIN"].contains(&pair[0]) || is_quiet(table),
                    "{}: rows of {table} are locked by: {statement}",
                    path.display()
                );
            }
        }
    }
    assert!(subqueries > 20, "only {subqueries} subqueries were found");
}

fn the_kernel_deletes_from_its_own_tables_alone() {
    for dialect in DIALECTS.iter().copied() {
        let mut own: BTreeSet<String> = BTreeSet::new();
        for graph in specs()
            .into_iter()
            .filter(|it| it.dialects.contains(&dialect))
        {
            let bundle = bundle(&graph, dialect);
            let statements = bundle.files.iter().flat_map(|file| &file.statements);
            let tables =
                statements.filter_map(|it| it.what.made().filter(|it| it.kind == Kind::Table));
            own.extend(tables.map(|it| it.bare().to_owned()));
        }
        let files = kernel(dialect);
        own.extend(
            files
                .values()
                .flat_map(|text| created(text, &["table"]))
                .map(str::to_owned),
        );
        let archives = ["features/45_restore.sql", "features/44_unarchive.sql"];
        let mut deletions = 0;
        let mut composed = 0;
        for (path, text) in &files {
            for (number, line) in text.lines().enumerate() {
                let code = line.split("--").next().unwrap_or_default();
                let Some((_, after)) = code.split_once("DELETE FROM ") else {
                    continue;
                };
                let table = after.split([' ', ';']).next().unwrap_or_default();
                deletions += 1;
                // The name of an archive is a value: the registry has it.
                if table.starts_with(['%', '\'']) && archives.iter().any(|it| path.ends_with(it)) {
                    composed += 1;
                    continue;
                }
                let place = format!("{}:{}", path.display(), number + 1);
                let is_own = own.contains(table) || table.starts_with("work_");
                assert!(is_own, "{place}: deletes from {table}");
            }
            // What belongs to an application has its schema, or is quoted.
            assert!(!text.contains("\"public\""), "{}", path.display());
            assert!(!text.contains("`."), "{}", path.display());
        }
        assert!(deletions > 15, "only {deletions} deletions were found");
        let known = if dialect == Dialect::Postgres { 2 } else { 1 };
        assert_eq!(composed, known, "deletions from a table that is a value");
    }
}

fn the_bodies_of_the_kernel_are_the_same_in_two_installations(dialect: Dialect) {
    let graphs = [dolphinscheduler(Shared::Closed), graph_of(EVENTS)];
    let names: Vec<String> = names(dialect).into_iter().collect();
    let listed = format!("'{}'", names.join("', '"));
    let installations = [
        Installation::armed(dialect, &graphs[0]),
        Installation::of(dialect, SCHEMA, &graphs[1]),
    ];
    let [one, other] = installations.map(|mut installation| {
        let control = installation.control.clone();
        let bodies = installation.rows(&match dialect {
            Dialect::Postgres => format!(
                "SELECT p.proname, md5(CASE p.prokind WHEN 'p' THEN replace(p.prosrc, '{control}.', 'windrow.') ELSE p.prosrc END)
                 FROM pg_proc AS p
                 WHERE p.pronamespace = '{control}'::regnamespace
                   AND p.proname IN ({listed})"
            ),
            Dialect::Mysql | Dialect::Mariadb => format!(
                "SELECT r.routine_name, SHA2(r.routine_definition, 256)
                 FROM information_schema.routines AS r
                 WHERE r.routine_schema = '{control}'
                   AND r.routine_name IN ({listed})"
            ),
        });
        let bodies = bodies
            .into_iter()
            .map(|row| (row[0].clone(), row[1].clone()));
        bodies.collect::<BTreeMap<_, _>>()
    });
    let mut compared = 0;
    for (name, body) in &one {
        if let Some(same) = other.get(name) {
            assert_eq!(body, same, "{name:?}");
            compared += 1;
        }
    }
    assert!(compared > 60, "only {compared} routines are in both");
}
