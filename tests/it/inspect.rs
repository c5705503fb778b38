//! `inspect`: drafts of specs for databases whose specs people wrote, compared with these.

mod bounds;
mod ends;
mod odd_names;
mod partial;
mod quality;
mod random;
mod strangers;

use std::process::Command;

use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    within: [
        bounds::tests,
        ends::tests,
        odd_names::tests,
        partial::tests,
        quality::tests,
        random::tests,
        strangers::tests,
    ],
    on_postgres: [
        the_page_shows_a_real_draft,
        a_partitioned_log_could_lose_whole_partitions,
    ],
    each_server: [
        an_account_that_may_only_read_is_enough,
    ],
    every_server: [
        rows_decide_what_names_suggest,
        keys_say_what_becomes_of_rows,
        long_texts_say_whose_they_are,
        a_log_goes_by_its_age,
        what_else_may_say_the_end_is_told,
        states_are_believed_that_say_they_go_on,
        a_key_called_after_its_own_table_names_no_other,
        without_a_root_those_are_listed_that_look_like_one,
        the_biggest_root_comes_first_and_then_the_oldest,
        what_cannot_be_drafted_says_why,
        without_time_the_draft_asks,
        what_stands_in_the_database_adds_no_lines,
    ],
}

/// Two tables of an unknown application, and what a test adds.
const SCHEMA: &str =
    "CREATE TABLE run (id integer PRIMARY KEY, status varchar(20), started_at timestamp NULL, ended_at timestamp NULL);
     CREATE TABLE step (id integer PRIMARY KEY, run_id integer NOT NULL);";

/// A database without windrow's own tables in the way: only the application's schema is read.
fn database(dialect: Dialect, schema: &str) -> Installation {
    // What is installed beside the tables does not matter.
    let graph = graph_of(
        "name = 'beside'\nschema = 'public'\ndatabase = 'beside'\n[tables]\nbeside = { key = 'id integer' }\n\
         [rules.beside]\nstrategy = 'end-time'\nroot = 'beside'\nfinal = { ended_at = { null = false } }\nend_time = 'ended_at'\n\
         retention = { default = '30d', minimum = '7d', safety_lag = '1d' }\n",
    );
    let beside = "CREATE TABLE beside (id integer PRIMARY KEY, ended_at timestamp NULL);";
    Installation::of(dialect, &format!("{beside}{schema}"), &graph)
}

/// What the binary says on this database, with these arguments.
fn said(url: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(arguments)
        .args(["--database", url])
        .output()
        .expect("windrow runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn draft(database: &Installation, root: &str) -> String {
    let (code, draft, told) = said(&database.superuser(), &["inspect", "--root", root]);
    assert_eq!((code, told.as_str()), (Some(0), ""), "{draft}");
    draft
}

/// What `check --database` has against a draft, but for what an installation mends.
fn against(database: &Installation, draft: &str) -> String {
    let path = std::env::temp_dir().join(format!(
        "windrow-draft-{:?}-{}.toml",
        database.dialect, database.name
    ));
    std::fs::write(&path, draft).expect("a draft is written");
    let (code, findings, told) = said(
        &database.superuser(),
        &["check", path.to_str().expect("UTF-8")],
    );
    std::fs::remove_file(&path).expect("a draft is removed");
    let known = ["event-scheduler", "sees-not-all"]
        .iter()
        .any(|code| findings.contains(code));
    if code == Some(0) || known && !findings.contains("error[") {
        String::new()
    } else {
        format!("{findings}\n{told}")
    }
}

fn an_account_that_may_only_read_is_enough(dialect: Dialect) {
    let mut database = database(dialect, SCHEMA);
    database.execute("INSERT INTO run VALUES (1, 'done', '2024-01-01', '2024-01-02'); INSERT INTO step VALUES (1, 1)");
    let reader = reader(&mut database);
    let (code, draft, told) = said(&reader, &["inspect", "--root", "run"]);
    assert_eq!((code, told.as_str()), (Some(0), ""), "{draft}");
    assert!(draft.contains("1 of 1 values match a row"), "{draft}");
    assert!(
        draft.contains("final     = { status = [\"done\"] }"),
        "{draft}"
    );
}

/// The address of an account that may read the application's tables, and nothing else.
fn reader(database: &mut Installation) -> String {
    let name = database.name.clone();
    match database.dialect {
        Dialect::Postgres => {
            database.execute(&format!(
                "CREATE ROLE reader_{name} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_{name}"
            ));
            database
                .superuser()
                .replace("postgres@", &format!("reader_{name}@"))
        }
        Dialect::Mysql | Dialect::Mariadb => {
            database.execute(&format!("CREATE USER '{name}_r'@'127.0.0.1'; GRANT SELECT ON `{name}`.* TO '{name}_r'@'127.0.0.1'"));
            database.superuser().replace("root@", &format!("{name}_r@"))
        }
    }
}

fn rows_decide_what_names_suggest(dialect: Dialect) {
    let mut database = database(
        dialect,
        &format!(
            "{SCHEMA}
             CREATE TABLE note (id integer PRIMARY KEY, run_id integer NOT NULL);
             CREATE TABLE stranger (id integer PRIMARY KEY, run_id integer NOT NULL);
             CREATE TABLE queue (id integer PRIMARY KEY, run_id integer NOT NULL);
             CREATE TABLE nothing_yet (id integer PRIMARY KEY, parent_run_id integer NOT NULL);
             ALTER TABLE step ADD COLUMN step_key varchar(20) UNIQUE;
             CREATE TABLE event (id integer PRIMARY KEY, step_key varchar(20) NOT NULL);"
        ),
    );
    let mut rows = String::new();
    for id in 1..=40 {
        let end = if id > 30 { "NULL" } else { "'2024-01-02'" };
        let status = if id > 30 { "running" } else { "done" };
        rows += &format!(
            "INSERT INTO run VALUES ({id}, '{status}', '2024-01-01', {end}); INSERT INTO step (id, run_id) VALUES ({id}, {id});"
        );
        // One in two notes belongs to no run, and says so by 0.
        rows += &format!(
            "INSERT INTO note VALUES ({id}, {});",
            if id % 2 == 0 { 0 } else { id }
        );
        rows += &format!("INSERT INTO stranger VALUES ({id}, {});", id + 1_000);
        rows += &format!(
            "UPDATE step SET step_key = 's{id}' WHERE id = {id}; INSERT INTO event VALUES ({id}, 's{id}');"
        );
        if id > 30 {
            rows += &format!("INSERT INTO queue VALUES ({id}, {id});");
        }
    }
    database.execute(&rows);
    let draft = draft(&database, "run");
    for line in [
        "# ? guessed by its name: run_id -> run. 40 of 40 values match a row.",
        "step = { key = \"id integer\", unique = [\"step_key varchar\"], parents = [\"run_id -> run.id\"] }",
        "event = { parents = [\"step_key -> step.step_key\"] }",
        "note = { parents = [\"run_id -> run.id unless 0\"] }",
        "# ? guessed by its name: run_id -> run. 20 of 20 values match a row; `0` means none.",
        "# ? guessed by its name: parent_run_id -> run. No row has a value.",
        // It holds rows of those runs alone that have not ended.
        "queue = { parents = [\"run_id -> run.id restrict\"] }",
        "stranger = \"run_id could refer to rows of run, but 0 of 40 values match a row\"",
        "# status = done: 30 of 30 rows have an end: final.",
        "# status = running: 0 of 10 rows have an end: not final.",
        "final     = { status = [\"done\"] }",
    ] {
        assert!(
            draft.lines().any(|drafted| drafted == line),
            "{line}\n\n{draft}"
        );
    }
    assert_eq!(against(&database, &draft), "", "{draft}");
}

fn long_texts_say_whose_they_are(dialect: Dialect) {
    let mut database = database(
        dialect,
        "CREATE TABLE job (id varchar(36) PRIMARY KEY, status varchar(20), number integer UNIQUE, started_at timestamp NULL, ended_at timestamp NULL);
         CREATE TABLE link (id integer PRIMARY KEY, source_type varchar(10), source_id varchar(36), target_ref varchar(36), number_id integer);
         CREATE TABLE owner (id integer PRIMARY KEY);
         CREATE TABLE asset (id integer PRIMARY KEY, owner_id integer NOT NULL, job_id varchar(36),
             CONSTRAINT asset_owner FOREIGN KEY (owner_id) REFERENCES owner (id));
         CREATE TABLE short (id integer PRIMARY KEY, of_what_id varchar(36));
         INSERT INTO owner VALUES (1);",
    );
    let mut rows = String::new();
    for id in 1..=20 {
        let job = format!("00000000-0000-0000-0000-{id:012}");
        rows += &format!(
            "INSERT INTO job VALUES ('{job}', 'done', {id}, '2024-01-01', '2024-01-02'), ('j{id}', 'done', {id} + 100, '2024-01-01', '2024-01-02');"
        );
        // One in two links has another source.
        let source = if id % 2 == 0 {
            job.clone()
        } else {
            job.replace("-0000-", "-1111-")
        };
        rows += &format!(
            "INSERT INTO link VALUES ({id}, 'job', '{source}', 'another text of some length', {id});"
        );
        rows += &format!("INSERT INTO asset VALUES ({id}, 1, '{job}');");
        // Short texts may be alike by chance.
        rows += &format!("INSERT INTO short VALUES ({id}, 'j{id}');");
    }
    database.execute(&rows);
    let draft = draft(&database, "job");
    for line in [
        "# ? guessed by its values: source_id -> job. 10 of 20 values match a row. The others may refer to rows of other tables.",
        "link = { parents = [\"source_id -> job.id\"] }",
        "# ? guessed by its name: job_id -> job. 20 of 20 values match a row. It belongs to owner by a foreign key, so it \
         keeps the row that it refers to. Remove `restrict` if it is to be deleted, too.",
        "asset = { parents = [\"job_id -> job.id restrict\"] }",
    ] {
        assert!(
            draft.lines().any(|drafted| drafted == line),
            "{line}\n\n{draft}"
        );
    }
    for stranger in ["target_ref ->", "number_id ->", "of_what_id ->"] {
        assert!(!draft.contains(stranger), "{draft}");
    }
    assert_eq!(against(&database, &draft), "", "{draft}");
}

fn a_log_goes_by_its_age(dialect: Dialect) {
    let instant = match dialect {
        Dialect::Postgres => "said_at",
        Dialect::Mysql | Dialect::Mariadb => "said_at timestamptz",
    };
    for (kind, time, written) in [
        ("timestamp NULL", "'2024-01-01'", instant),
        ("bigint", "1704067200000", "said_at epoch-ms"),
        ("date", "'2024-01-01'", "said_at date"),
    ] {
        let mut database = database(
            dialect,
            &format!(
                "CREATE TABLE event (id bigint PRIMARY KEY, kind varchar(20), said_at {kind})"
            ),
        );
        database.execute(&format!("INSERT INTO event VALUES (1, 'login', {time})"));
        let draft = draft(&database, "event");
        for part in [
            "strategy  = \"age\"\nroot      = \"event\"\n# ? No column has a state or an end, and nothing belongs to a row: it is deleted by its age. \
             Is the age counted from said_at?\n",
            &format!(
                "\ntime      = \"{written}\"\n# ? How long are they to be kept? With this, nothing is deleted. The oldest row sampled is from "
            ),
        ] {
            assert!(draft.contains(part), "{part}\n\n{draft}");
        }
        assert_eq!(against(&database, &draft), "", "{draft}");
    }
}

fn a_partitioned_log_could_lose_whole_partitions() {
    for (kind, by, proposed) in [
        ("timestamptz", "RANGE (said_at)", true),
        ("date", "RANGE (said_at)", true),
        ("timestamptz", "LIST (said_at)", false),
    ] {
        let database = database(
            Dialect::Postgres,
            &format!(
                "CREATE TABLE event (id bigint, said_at {kind} NOT NULL, kind text, PRIMARY KEY (id, said_at)) PARTITION BY {by};
                 CREATE TABLE event_rest PARTITION OF event DEFAULT;
                 INSERT INTO event VALUES (1, '2024-01-01', 'login')"
            ),
        );
        let draft = draft(&database, "event");
        for part in [
            "event = { key = \"id bigint\"",
            "strategy  = \"age\"\n",
            "# ? Does id alone tell the rows of event apart? The table is partitioned, so that its primary key is (id, said_at).\n",
        ] {
            assert!(draft.contains(part), "{part}\n\n{draft}");
        }
        let question = "# ? event is partitioned by range of said_at. To drop whole partitions instead of deleting rows, write this:\n\
                        # strategy  = \"partition\"\n";
        assert_eq!(draft.contains(question), proposed, "{by}: {draft}");
        let found = against(&database, &draft);
        assert!(!found.contains("error["), "{draft}\n{found}");
        let told = found.contains("`strategy = \"partition\"` drops whole partitions instead");
        assert_eq!(told, proposed, "{found}");
        if !proposed {
            continue;
        }
        // Who does what the draft says has a spec that fits.
        let done = draft.replace("strategy  = \"age\"\n", "");
        let done = done.replace("# strategy  = \"partition\"", "strategy  = \"partition\"");
        let found = against(&database, &done);
        let of_it = ["error[", "[partitioned]", "[missing-index]"];
        assert!(
            !of_it.iter().any(|it| found.contains(it)),
            "{done}\n{found}"
        );
    }
    // Where a number divides the table, the other column of its key is none of one column.
    let database = database(
        Dialect::Postgres,
        "CREATE TABLE event (id bigint, said_at timestamptz NOT NULL, PRIMARY KEY (id, said_at)) PARTITION BY RANGE (id)",
    );
    let (code, _, told) = said(&database.superuser(), &["inspect", "--root", "event"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("has a primary key of several columns"),
        "{told}"
    );
}

fn what_else_may_say_the_end_is_told(dialect: Dialect) {
    let mut database = database(
        dialect,
        "CREATE TABLE work (id varchar(36) PRIMARY KEY, created_at timestamp NOT NULL, expires_at timestamp NULL);
         CREATE TABLE completed (id varchar(36) PRIMARY KEY, completed_at timestamp NOT NULL,
             CONSTRAINT completed_work FOREIGN KEY (id) REFERENCES work (id) ON DELETE CASCADE);
         CREATE TABLE work_text (item_ref varchar(36) PRIMARY KEY, said varchar(20));
         CREATE TABLE stranger (id varchar(36) PRIMARY KEY, said varchar(20));",
    );
    for id in 1..=20 {
        let key = format!("00000000-0000-0000-0000-{id:012}");
        database.execute(&format!(
            "INSERT INTO work VALUES ('{key}', '2024-01-01', NULL); INSERT INTO completed VALUES ('{key}', '2024-01-02');
             INSERT INTO work_text VALUES ('{key}', 'x')"
        ));
    }
    let draft = draft(&database, "work");
    let (zone, by_rows) = match dialect {
        Dialect::Postgres => ("", true),
        Dialect::Mysql | Dialect::Mariadb => (" timestamptz", false),
    };
    for part in [
        // One row for each, by its own key.
        "work_text = { parents = [\"item_ref -> work.id\"]".to_owned(),
        format!(
            "# ? expires_at has the name of an expiry time. If rows are to be deleted by it, write this instead (without final, end_time, retention):\n\
             # strategy = \"expiry\"\n# time     = \"expires_at{zone}\"\n"
        ),
    ] {
        assert!(draft.contains(&part), "{part}\n\n{draft}");
    }
    let told = "# ? The last completed.completed_at may be the time when a row of work ended. If it is, write this instead:\n\
                # end_time   = \"max(completed.completed_at)\"\n# start_time = \"created_at\"\n";
    assert_eq!(draft.contains(told), by_rows, "{draft}");
    assert!(!draft.contains("stranger"), "{draft}");
    assert_eq!(against(&database, &draft), "", "{draft}");
    if by_rows {
        let instead = draft
            .replace("\nend_time  = \"created_at\"", "")
            .replace("# end_time ", "end_time ")
            .replace("# start_time", "start_time");
        assert_eq!(against(&database, &instead), "", "{instead}");
    }
}

/// Some applications write the time at each change of a row.
fn states_are_believed_that_say_they_go_on(dialect: Dialect) {
    let mut database = database(dialect, SCHEMA);
    for (id, state) in ["done", "PENDING", "in_progress", "Running"]
        .iter()
        .enumerate()
    {
        database.execute(&format!(
            "INSERT INTO run VALUES ({id}, '{state}', '2024-01-01', '2024-01-02')"
        ));
    }
    let draft = draft(&database, "run");
    let line = "# ? status = PENDING: 1 of 1 rows have an end: not taken as final, since by its name it is still running.";
    assert!(draft.contains(line), "{draft}");
    assert!(
        draft.contains("\nfinal     = { status = [\"done\"] }\n"),
        "{draft}"
    );
}

fn a_key_called_after_its_own_table_names_no_other(dialect: Dialect) {
    let mut database = database(
        dialect,
        "CREATE TABLE job_run (job_run_id bigint PRIMARY KEY, status varchar(10), ended_at timestamp NULL);
         CREATE TABLE step_run (step_run_id bigint PRIMARY KEY, job_run_id bigint NOT NULL,
             CONSTRAINT step_of FOREIGN KEY (job_run_id) REFERENCES job_run (job_run_id));",
    );
    for id in 1..=30 {
        database.execute(&format!(
            "INSERT INTO job_run VALUES ({id}, 'done', '2024-01-02'); INSERT INTO step_run VALUES ({id}, {id})"
        ));
    }
    let draft = draft(&database, "job_run");
    assert!(
        !draft.contains("step_run_id ->") && !draft.contains("could name"),
        "{draft}"
    );
    assert!(
        draft.contains("job_run_id -> job_run.job_run_id"),
        "{draft}"
    );
}

fn keys_say_what_becomes_of_rows(dialect: Dialect) {
    let key = |table: &str, column: &str, effect: &str| {
        format!(
            "ALTER TABLE {table} ADD CONSTRAINT {table}_{column} FOREIGN KEY ({column}) REFERENCES run (id) {effect};"
        )
    };
    let schema = format!(
        "{SCHEMA}
         CREATE TABLE note (id integer PRIMARY KEY, made_by integer);
         CREATE TABLE audit (id integer PRIMARY KEY, about integer);
         CREATE TABLE detail (id integer PRIMARY KEY, step_id integer NOT NULL, run_id integer);
         {}{}{}
         ALTER TABLE detail ADD CONSTRAINT detail_step FOREIGN KEY (step_id) REFERENCES step (id);
         CREATE TABLE part (run_id integer, number integer, PRIMARY KEY (run_id, number), FOREIGN KEY (run_id) REFERENCES run (id));
         CREATE TABLE piece (id integer PRIMARY KEY, run_id integer NOT NULL, number integer NOT NULL,
             CONSTRAINT piece_part FOREIGN KEY (run_id, number) REFERENCES part (run_id, number));
         ALTER TABLE run ADD COLUMN above integer; {}
         ALTER TABLE run ADD COLUMN of_step integer;
         ALTER TABLE run ADD CONSTRAINT run_step FOREIGN KEY (of_step) REFERENCES step (id) ON DELETE SET NULL;",
        key("step", "run_id", "ON DELETE CASCADE"),
        key("note", "made_by", "ON DELETE SET NULL"),
        key("audit", "about", ""),
        key("run", "above", ""),
    );
    let mut database = database(dialect, &schema);
    database.execute(
        "INSERT INTO run (id, status, started_at, ended_at) VALUES (1, 'done', '2024-01-01', '2024-01-02');
         INSERT INTO step VALUES (1, 1); INSERT INTO detail VALUES (1, 1, 1)",
    );
    let draft = draft(&database, "run");
    for part in [
        "step = { key = \"id integer\", parents = [\"run_id -> run.id\"]",
        "note = { parents = [\"made_by -> run.id set null\"]",
        "audit = { parents = [\"about -> run.id restrict\"]",
        "part = { parents = [\"run_id -> run.id\"]",
        "piece = { parents = [\"run_id, number -> part(run_id, number)\"]",
        "detail = { parents = [\"step_id -> step.id\"]",
        "# ? `detail.run_id` could refer to rows of `run`, without a foreign key (1 of 1 values match a row): is that also an edge?",
        "hierarchy = [\"run: above -> id\"]\nshared    = \"closed\"",
        "parents = [\"of_step -> step.id set null\"]",
        "# ? By of_step a row of run refers to one of step, which belongs to a row of run. If that is its parent:\n\
         # hierarchy = [\"run: of_step -> step.run_id\"]\n",
    ] {
        assert!(draft.contains(part), "{part}\n\n{draft}");
    }
    // What a spec cannot say keeps its rows, and is ignored for that.
    assert_eq!(against(&database, &draft), "", "{draft}");
}

fn without_a_root_those_are_listed_that_look_like_one(dialect: Dialect) {
    let mut database = database(dialect, SCHEMA);
    database.execute("INSERT INTO run VALUES (1, 'done', '2024-01-01', '2024-01-02'); INSERT INTO step VALUES (1, 1)");
    let (code, listed, _) = said(&database.superuser(), &["inspect"]);
    assert_eq!(code, Some(0), "{listed}");
    let mut lines = listed.lines();
    let line = lines.find(|line| line.starts_with("run "));
    assert!(
        line.is_some_and(|line| line.ends_with(" days (ended_at)")),
        "{listed}"
    );
    assert!(!listed.contains("step"), "{listed}");
}

fn the_biggest_root_comes_first_and_then_the_oldest(dialect: Dialect) {
    let names = ["young", "big", "old"];
    let tables = names.map(|name| {
        format!("CREATE TABLE {name} (id integer PRIMARY KEY, status char(250), ended_at timestamp NULL);")
    });
    let mut database = database(dialect, &tables.concat());
    database.execute(
        "INSERT INTO young VALUES (1, 'done', '2024-01-02'); INSERT INTO old VALUES (1, 'done', '2023-01-02')",
    );
    for from in (1..=4_000).step_by(500) {
        let rows = (from..from + 500).map(|id| format!("({id}, 'done', '2025-01-02')"));
        let rows: Vec<String> = rows.collect();
        database.execute(&format!("INSERT INTO big VALUES {}", rows.join(", ")));
    }
    for name in names {
        database.execute(&match dialect {
            Dialect::Postgres => format!("ANALYZE {name}"),
            Dialect::Mysql | Dialect::Mariadb => format!("ANALYZE TABLE {name}"),
        });
    }
    let (code, listed, _) = said(&database.superuser(), &["inspect"]);
    assert_eq!(code, Some(0), "{listed}");
    let first = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let listed: Vec<String> = listed.lines().skip(1).map(first).collect();
    let at = |name: &str| listed.iter().position(|it| it == name).expect("a root");
    assert!(
        at("big") < at("old") && at("old") < at("young"),
        "{listed:?}"
    );
}

fn what_cannot_be_drafted_says_why(dialect: Dialect) {
    let database = database(
        dialect,
        "CREATE TABLE pair (a integer, b integer, ended_at timestamp NULL, PRIMARY KEY (a, b));
         CREATE TABLE timeless (id integer PRIMARY KEY);
         CREATE TABLE counted (id integer PRIMARY KEY, start_time bigint, end_time bigint);",
    );
    for (root, why) in [
        ("nowhere", "error: there is no table `nowhere` in "),
        (
            "pair",
            "error: the table `pair` has a primary key of several columns, and a family is named by a key of one column: give it a unique index \
             on a column that may not be NULL and alone tells its rows apart, and inspect it again. If no rows belong to its rows, these can also \
             be deleted one by one, by a rule of the strategy `expiry` or `keep-last`: write `key = \"a, b\"`, each column with its type",
        ),
    ] {
        let (code, draft, told) = said(&database.superuser(), &["inspect", "--root", root]);
        assert_eq!((code, draft.as_str()), (Some(2), ""), "{told}");
        assert!(told.starts_with(why), "{told}");
    }
}

fn without_time_the_draft_asks(dialect: Dialect) {
    let mut database = database(dialect, SCHEMA);
    database.execute("INSERT INTO run VALUES (1, 'done', '2024-01-01', '2024-01-02'); INSERT INTO step VALUES (1, 1)");
    let (code, draft, _) = said(
        &database.superuser(),
        &["inspect", "--root", "run", "--timeout", "0"],
    );
    assert_eq!(code, Some(0), "{draft}");
    assert!(
        draft.contains(
            "# ? guessed by its name: run_id -> run. Not sampled: the time was up (--timeout)."
        ),
        "{draft}"
    );
    assert_eq!(against(&database, &draft), "", "{draft}");
}

/// Rewritten with `WINDROW_BLESS=1`.
fn the_page_shows_a_real_draft() {
    let mut database = database(
        Dialect::Postgres,
        "CREATE TABLE run (id bigint PRIMARY KEY, status text NOT NULL, started_at timestamptz NOT NULL, ended_at timestamptz);
         CREATE TABLE step (id bigint PRIMARY KEY, run_id bigint NOT NULL REFERENCES run ON DELETE CASCADE);
         CREATE INDEX step_run ON step (run_id);
         CREATE TABLE note (id bigint PRIMARY KEY, run_id bigint NOT NULL, said text);
         CREATE TABLE queue (run_id bigint PRIMARY KEY, priority integer NOT NULL);",
    );
    database.execute(
        "INSERT INTO run SELECT n, CASE WHEN n > 960 THEN 'running' WHEN n % 9 = 0 THEN 'failed' ELSE 'succeeded' END,
             now() - interval '400 days' + n * interval '8 hours', CASE WHEN n <= 960 THEN now() - interval '399.5 days' + n * interval '8 hours' END
         FROM generate_series(1, 1000) AS n;
         INSERT INTO step SELECT n, (n + 2) / 3 FROM generate_series(1, 3000) AS n;
         INSERT INTO note SELECT n, CASE WHEN n % 5 = 0 THEN 0 ELSE n END, 'seen' FROM generate_series(1, 500) AS n;
         INSERT INTO queue SELECT n, 1 FROM generate_series(971, 1000) AS n",
    );
    let draft = draft(&database, "run");
    assert_eq!(against(&database, &draft), "", "{draft}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/inspect.md");
    let page = std::fs::read_to_string(path).expect("a page");
    let (before, rest) = page.split_once("```toml\n").expect("a draft");
    let (shown, after) = rest.split_once("```\n").expect("its end");
    if std::env::var_os("WINDROW_BLESS").is_some() {
        std::fs::write(path, format!("{before}```toml\n{draft}```\n{after}"))
            .expect("a page is written");
    } else {
        assert_eq!(shown, draft);
    }
}

fn what_stands_in_the_database_adds_no_lines(dialect: Dialect) {
    let (quote, newline) = match dialect {
        Dialect::Postgres => ('"', "chr(10)"),
        Dialect::Mysql | Dialect::Mariadb => ('`', "CHAR(10)"),
    };
    let table = format!("{quote}of\n[ignore]\nrun = 'x'\n#x{quote}");
    let mut database = database(
        dialect,
        &format!(
            "{SCHEMA} CREATE TABLE {table} (id integer PRIMARY KEY, run_id integer NOT NULL, CONSTRAINT {table} FOREIGN KEY (run_id) REFERENCES run (id));"
        ),
    );
    database.execute(&format!(
        "INSERT INTO run VALUES (1, CONCAT('a', {newline}, 'title = 1', {newline}), '2024-01-01', '2024-01-02'); INSERT INTO step VALUES (1, 1)"
    ));
    let draft = draft(&database, "run");
    let drafted: toml::Table = draft.parse().expect("TOML");
    let fields: Vec<&str> = drafted.keys().map(String::as_str).collect();
    let place = if dialect == Dialect::Postgres {
        "schema"
    } else {
        "database"
    };
    for field in fields {
        assert!(
            [
                "name",
                "dialects",
                place,
                "time_zone",
                "windows",
                "tables",
                "rules"
            ]
            .contains(&field),
            "{field}: {draft}"
        );
    }
    assert!(
        draft
            .lines()
            .all(|line| !line.starts_with("title") && !line.starts_with("run = 'x'")),
        "{draft}"
    );
}
