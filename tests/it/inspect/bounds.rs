//! What a look at a database may cost, and do.

use std::time::{Duration, Instant};

use windrow::dialect::Dialect;
use windrow::sandbox::mysql::Flavour;

use super::{SCHEMA, database, reader, said};
use crate::harness::tests;
use crate::support::installation::{Installation, dialect_of};
use crate::support::patience::until;

tests! {
    on_postgres: [
        a_look_writes_nothing,
    ],
    either_flavour: [
        a_look_only_reads,
    ],
    each_server: [
        no_big_table_is_read_from_end_to_end,
    ],
    every_server: [
        a_locked_table_holds_nobody_up,
    ],
}

/// Rows of each of the big tables.
const MANY: i64 = 200_000;

/// The most rows that were read of a table, or by one statement, while an account looked.
fn most(database: &mut Installation, look: impl FnOnce()) -> i64 {
    if database.dialect == Dialect::Postgres {
        let read = "SELECT max(seq_tup_read + COALESCE(idx_tup_fetch, 0)) FROM pg_stat_user_tables WHERE relname IN ('run', 'step', 'line')";
        database.execute("SELECT pg_stat_reset()");
        look();
        // Sessions hand their counts in when they end.
        until("counts", || Ok(database.number(read) > 10_000)).expect("counts");
        return database.number(read);
    }
    database.execute("SET GLOBAL log_output = 'TABLE'; SET GLOBAL long_query_time = 0; SET GLOBAL slow_query_log = ON");
    look();
    database.execute("SET GLOBAL slow_query_log = OFF; SET GLOBAL long_query_time = DEFAULT");
    database.number(&format!(
        "SELECT MAX(rows_examined) FROM mysql.slow_log WHERE user_host LIKE '{}_r[%'",
        database.name
    ))
}

/// A root, a table that names it and one that names that, of which the statistics know how big they are; some columns name nothing.
fn no_big_table_is_read_from_end_to_end(dialect: Dialect) {
    let mut database = database(
        dialect,
        "CREATE TABLE run (id integer PRIMARY KEY, status varchar(20), started_at timestamp NULL, ended_at timestamp NULL, ended_ms bigint);
         CREATE TABLE step (id integer PRIMARY KEY, run_id integer NOT NULL, parent_run_id integer NULL);
         CREATE TABLE line (id integer PRIMARY KEY, step_id integer NOT NULL, run_id integer NOT NULL);",
    );
    let numbers = match dialect {
        Dialect::Postgres => format!("generate_series(1, {MANY}) AS n(n)"),
        Dialect::Mysql | Dialect::Mariadb => {
            database.execute("CREATE TABLE ten (i integer PRIMARY KEY); INSERT INTO ten VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)");
            "(SELECT 1 + a.i + 10 * b.i + 100 * c.i + 1000 * d.i + 10000 * e.i + 100000 * f.i AS n FROM ten AS a, ten AS b, ten AS c, ten AS d, ten AS e, ten AS f WHERE f.i < 2) AS n"
                .to_owned()
        }
    };
    database.execute(&format!(
        "INSERT INTO run SELECT n.n, 'done', '2024-01-01', '2024-01-02', 1704067200000 + n.n FROM {numbers};
         INSERT INTO step SELECT n.n, n.n, NULL FROM {numbers};
         INSERT INTO line SELECT n.n, n.n, -n.n FROM {numbers}"
    ));
    database.execute(match dialect {
        Dialect::Postgres => "ANALYZE run; ANALYZE step; ANALYZE line",
        Dialect::Mysql | Dialect::Mariadb => "ANALYZE TABLE run, step, line",
    });
    let reader = reader(&mut database);
    // All at once: of the root 40,000 rows for the numbers, for the times, for the states and for the oldest; one statement reads as
    // many, and once more what it has made of them.
    let read = most(&mut database, || {
        let (code, text, told) = said(&reader, &["inspect", "--root", "run"]);
        assert_eq!(code, Some(0), "{told}");
        for part in [
            "step = { key = \"id integer\", parents = [\"run_id -> run.id\", \"parent_run_id -> run.id\"]",
            "line = { parents = [\"step_id -> step.id\"",
            "# ? status = done: 40000 of 40000 rows have an end: final, by its name, since all rows have one.",
        ] {
            assert!(text.contains(part), "{part}\n\n{text}");
        }
    });
    let bound = match dialect {
        Dialect::Postgres => 4 * 41_000,
        Dialect::Mysql | Dialect::Mariadb => 130_000,
    };
    assert!((10_000..bound).contains(&read), "{read}");
    let read = most(&mut database, || {
        let (code, listed, _) = said(&reader, &["inspect"]);
        assert_eq!(code, Some(0), "{listed}");
        assert!(listed.contains("\nrun "), "{listed}");
    });
    assert!((10_000..bound).contains(&read), "{read}");
}

/// A policy of row security runs a function of somebody else for each row that the look reads: in a transaction that only reads.
fn a_look_writes_nothing() {
    let mut database = database(Dialect::Postgres, SCHEMA);
    database.execute("INSERT INTO run VALUES (1, 'done', '2024-01-01', '2024-01-02'); INSERT INTO step VALUES (1, 1)");
    let reader = reader(&mut database);
    database.execute(
        "CREATE TABLE trace (at timestamptz DEFAULT now());
         CREATE FUNCTION traced() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO public.trace DEFAULT VALUES; RETURN true; END $$;
         CREATE POLICY traced ON step USING (traced()); ALTER TABLE step ENABLE ROW LEVEL SECURITY",
    );
    let (code, draft, told) = said(&reader, &["inspect", "--root", "run"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(
        draft.contains("Not sampled: cannot execute INSERT in a read-only transaction"),
        "{draft}"
    );
    assert_eq!(database.number("SELECT count(*) FROM trace"), 0);
}

/// What the server is told: to write nothing, before anything else that it could do.
fn a_look_only_reads(flavour: Flavour) {
    let mut database = database(dialect_of(flavour), SCHEMA);
    database.execute("INSERT INTO run VALUES (1, 'done', '2024-01-01', '2024-01-02'); INSERT INTO step VALUES (1, 1)");
    let reader = reader(&mut database);
    let user = format!("{}_r", database.name);
    database.execute("SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON");
    let (code, draft, told) = said(&reader, &["inspect", "--root", "run"]);
    database.execute("SET GLOBAL general_log = OFF");
    assert_eq!(code, Some(0), "{told}\n{draft}");
    let said = database.texts(&format!(
        "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log
         WHERE command_type IN ('Query', 'Execute') AND user_host LIKE '{user}[%' ORDER BY event_time"
    ));
    let bound = said
        .iter()
        .position(|sql| sql == "SET SESSION TRANSACTION READ ONLY");
    let first = said
        .iter()
        .position(|sql| sql.contains("information_schema.") || sql.contains(&database.name));
    assert!(bound.is_some() && bound < first, "{said:#?}");
    let reads = |sql: &String| {
        ["SELECT ", "SET SESSION ", "SET NAMES ", "SHOW ", "SET "]
            .iter()
            .any(|begin| sql.trim_start().to_uppercase().starts_with(begin))
    };
    let others: Vec<&String> = said.iter().filter(|sql| !reads(sql)).collect();
    assert!(said.len() > 5 && others.is_empty(), "{others:#?}");
}

/// Somebody else has a table for himself: that it cannot be looked at is told in a few seconds.
fn a_locked_table_holds_nobody_up(dialect: Dialect) {
    let mut database = database(dialect, SCHEMA);
    database.execute("INSERT INTO run VALUES (1, 'done', '2024-01-01', '2024-01-02'); INSERT INTO step VALUES (1, 1)");
    let mut other = database.connect();
    other
        .execute(match dialect {
            Dialect::Postgres => "BEGIN; LOCK TABLE step IN ACCESS EXCLUSIVE MODE",
            Dialect::Mysql | Dialect::Mariadb => "LOCK TABLES step WRITE",
        })
        .expect("a lock");
    let since = Instant::now();
    let (code, draft, told) = said(&database.superuser(), &["inspect", "--root", "run"]);
    let took = since.elapsed();
    // PostgreSQL tells nothing of the indexes and the size of such a table.
    let (expected, told) = match dialect {
        Dialect::Postgres => (
            2,
            told.contains("lock timeout")
                && told.contains("hint: another session holds a conflicting lock"),
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            0,
            draft.contains("guessed by its name: run_id -> run. Not sampled: "),
        ),
    };
    assert!(code == Some(expected) && told, "{code:?} {draft}");
    assert!(took < Duration::from_secs(20), "{took:?}");
}
