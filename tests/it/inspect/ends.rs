//! Times that only look like an end, and states that only look final: what runs is not taken as ended.

use windrow::dialect::Dialect;

use super::strangers::{goes_the_way, has, stranger};
use super::{against, database, draft};
use crate::harness::tests;

tests! {
    every_server: [
        what_is_to_end_has_not_ended,
        an_end_of_every_row_says_nothing,
        an_end_that_has_not_come_is_none,
        what_no_name_calls_final_is_asked,
        what_means_none_is_a_text_in_a_column_of_texts,
    ],
}

/// A planned end stands beside the real one, and is filled in every row; by its name, or because it is ahead.
fn what_is_to_end_has_not_ended(dialect: Dialect) {
    for (planned, at) in [
        ("planned_end", "'2024-01-09'"),
        ("period_end", "'2024-01-09'"),
        ("expectedCompletionAt", "'2024-01-09'"),
        // Nothing but the rows says it of this one.
        ("end_at", "'2099-01-01'"),
    ] {
        let mut database = stranger(
            dialect,
            &format!(
                "CREATE TABLE task (id bigint PRIMARY KEY, status varchar(20), created_at INSTANT NOT NULL, {planned} INSTANT NULL, finished_at INSTANT NULL);"
            ),
            |n| {
                let (state, end) = if n % 4 == 0 {
                    ("handed out", "NULL")
                } else {
                    ("done", "'2024-01-02'")
                };
                format!("INSERT INTO task VALUES ({n}, '{state}', '2024-01-01', {at}, {end})")
            },
        );
        let text = draft(&database, "task");
        has(
            &text,
            &[
                "# status = done: 30 of 30 rows have an end: final.\n",
                "# status = handed out: 0 of 10 rows have an end: not final.\n",
                "\nfinal     = { status = [\"done\"] }\n",
                "\nend_time  = \"finished_at",
            ],
        );
        let ahead = "# end_at: 40 of 40 rows have it, 0 as their latest time, 40 in the future.\n";
        assert_eq!(text.contains(ahead), planned == "end_at", "{text}");
        if planned == "end_at" {
            goes_the_way(&mut database, &text, 30);
        } else {
            assert_eq!(against(&database, &text), "", "{text}");
        }
    }
    // Alone it is none either.
    let database = stranger(
        dialect,
        "CREATE TABLE task (id bigint PRIMARY KEY, status varchar(20), period_end INSTANT NULL, changed INSTANT NOT NULL);",
        |n| format!("INSERT INTO task VALUES ({n}, 'done', '2024-01-09', '2024-01-02')"),
    );
    let text = draft(&database, "task");
    has(
        &text,
        &["# ? No column name suggests when a row of task ended. changed is used instead: "],
    );
}

/// Where each row has an end, those that run have one, too.
fn an_end_of_every_row_says_nothing(dialect: Dialect) {
    for (kind, [open, done, worked], line, finals, families) in [
        (
            "varchar(20)",
            ["'handed out'", "'done'", "'RUNNING'"],
            "# ? status = handed out: 10 of 10 rows have an end: not final, by its name, since all rows have one.\n",
            "[\"done\"]",
            20,
        ),
        (
            "integer",
            ["1", "2", "3"],
            "# ? status = 2: 20 of 20 rows have an end: taken as final, although all rows have one.\n",
            "[1, 2, 3]",
            40,
        ),
    ] {
        let mut database = stranger(
            dialect,
            &format!(
                "CREATE TABLE task (id bigint PRIMARY KEY, status {kind}, created_at INSTANT NOT NULL, end_at INSTANT NULL);"
            ),
            |n| {
                let state = [open, done, worked, done][n as usize % 4];
                format!("INSERT INTO task VALUES ({n}, {state}, '2024-01-01', '2024-01-02')")
            },
        );
        let text = draft(&database, "task");
        has(
            &text,
            &[line, &format!("\nfinal     = {{ status = {finals} }}\n")],
        );
        let unmarked = text.lines().find(|line| line.starts_with("# status = "));
        assert_eq!(unmarked, None, "{text}");
        goes_the_way(&mut database, &text, families);
    }
}

/// Some applications write a time that is far away, or the first that there is, instead of none.
fn an_end_that_has_not_come_is_none(dialect: Dialect) {
    for none in ["'2990-12-31'", "'1970-01-01 00:00:01'"] {
        let mut database = stranger(
            dialect,
            "CREATE TABLE task (id bigint PRIMARY KEY, status varchar(20), created_at INSTANT NOT NULL, ended_at INSTANT NOT NULL);",
            |n| {
                let (state, end) = if n % 4 == 0 {
                    ("handed out", none)
                } else {
                    ("done", "'2024-01-02'")
                };
                format!("INSERT INTO task VALUES ({n}, '{state}', '2024-01-01', {end})")
            },
        );
        let text = draft(&database, "task");
        has(
            &text,
            &[
                "# status = done: 30 of 30 rows have an end: final.\n",
                "# status = handed out: 0 of 10 rows have an end: not final.\n",
                "\nfinal     = { status = [\"done\"] }\n",
            ],
        );
        let asked = "# ? ended_at is in the future in some rows: is it the time at which a row ended, or at which it is to end?\n";
        assert_eq!(text.contains(asked), none.starts_with("'29"), "{text}");
        goes_the_way(&mut database, &text, 30);
    }
}

/// Without an end, or with one that is written while a row runs, only names say what is final.
fn what_no_name_calls_final_is_asked(dialect: Dialect) {
    for (time, kind, states, word) in [
        (
            "updated_at",
            "varchar(20)",
            ["'PENDING_CANCEL'", "'INCOMPLETE'", "'PendingCancel'"],
            "not final, by its name",
        ),
        (
            "updated_at",
            "integer",
            ["1", "2", "3"],
            "not final, by its name",
        ),
        (
            "ended_at",
            "varchar(20)",
            ["'CANCELLING'", "'InProgress'", "'PENDING_CANCEL'"],
            "not taken as final, since by its name it is still running",
        ),
    ] {
        let mut database = stranger(
            dialect,
            &format!(
                "CREATE TABLE task (id bigint PRIMARY KEY, status {kind}, created_at INSTANT NOT NULL, {time} INSTANT NULL);"
            ),
            |n| {
                let state = states[n as usize % 3];
                format!("INSERT INTO task VALUES ({n}, {state}, '2024-01-01', '2024-01-02')")
            },
        );
        let text = draft(&database, "task");
        let question = "# ? None of these states is taken as final, so no row is: list those that are instead, such as [\"done\", \"failed\"].\n\
                        final     = { status = { text = \"?\" } }\n";
        has(
            &text,
            &[
                question,
                &format!("# ? status = {}: ", states[0].trim_matches('\'')),
                word,
            ],
        );
        goes_the_way(&mut database, &text, 0);
        assert_eq!(database.number("SELECT COUNT(*) FROM task"), 40);
        // The answer.
        let answer = text.replace(
            "{ text = \"?\" }",
            &format!("[{}]", states[1].replace('\'', "\"")),
        );
        assert_eq!(against(&database, &answer), "", "{answer}");
    }
}

/// `0` is a number in a column of numbers only.
fn what_means_none_is_a_text_in_a_column_of_texts(dialect: Dialect) {
    for (key, none, drafted) in [
        ("varchar(36)", "0", "'0'"),
        ("varchar(36)", "-1", "'-1'"),
        ("char(8)", "0", "'0'"),
        ("varchar(36)", "", "''"),
        ("bigint", "-1", "-1"),
        ("numeric(20)", "0", "0"),
    ] {
        let mut database = database(
            dialect,
            &format!(
                "CREATE TABLE run (id {key} PRIMARY KEY, status varchar(20), started_at timestamp NULL, ended_at timestamp NULL);
                 CREATE TABLE note (id integer PRIMARY KEY, run_id {key} NOT NULL);"
            ),
        );
        let mut rows = String::new();
        for id in 1..=20 {
            let named = if id % 2 == 0 {
                none.to_owned()
            } else {
                id.to_string()
            };
            rows += &format!(
                "INSERT INTO run VALUES ('{id}', 'done', '2024-01-01', '2024-01-02'); INSERT INTO note VALUES ({id}, '{named}');"
            );
        }
        database.execute(&rows);
        let text = draft(&database, "run");
        let edge = format!("note = {{ parents = [\"run_id -> run.id unless {drafted}\"] }}\n");
        has(&text, &[&edge]);
        assert_eq!(against(&database, &text), "", "{text}");
    }
}
