//! The real binary: exit code, stdout, stderr.

use std::env;
use std::process::Command;

use crate::harness::tests;

tests! {
    lint: [
        help_names_every_command_and_the_exit_codes,
        a_subcommand_shows_an_example,
        wrong_usage_exits_with_two,
        every_command_reads_an_address_by_either_word,
        an_error_is_a_document_where_a_program_reads,
        a_code_is_explained,
        no_error_shows_a_password,
        the_graph_is_drawn_as_a_tree,
        the_graph_is_drawn_for_mermaid,
        what_outlives_a_row_or_keeps_it_is_in_every_picture,
        the_graph_is_drawn_for_graphviz,
        the_picture_is_well_formed_and_the_same_each_time,
        a_bundle_has_every_file_whole_and_a_review_has_a_lock_in_place_of_the_kernel,
        stale_files_are_shown_and_exit_with_one,
        warnings_about_a_spec_are_shown_by_check_alone,
        a_spec_that_is_not_given_is_that_of_the_environment,
        shells_and_manuals_know_every_command,
    ],
}

/// The binary with these arguments, in an environment without a database.
fn windrow(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windrow"));
    command
        .args(arguments)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100");
    for name in [
        "WINDROW_SPEC",
        "WINDROW_URL",
        "PGPASSWORD",
        "PGHOST",
        "PGUSER",
    ] {
        command.env_remove(name);
    }
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot run windrow: {error}"));
    let said = format!(
        "exit: {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    // clap fills some empty lines with spaces.
    said.lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

const SPEC: &str = "specs/dolphinscheduler.toml";

/// `check`, `inspect` and `init` call it the database, the others the address: whoever takes one word for the other means the same.
fn every_command_reads_an_address_by_either_word() {
    let nowhere = "postgres://nobody@127.0.0.1:1/nothing";
    for command in ["check", "verify", "preview"] {
        let said = |word: &str| windrow(&[command, SPEC, word, nowhere]);
        let by_url = said("--url");
        assert_eq!(by_url, said("--database"), "{command}");
        assert!(by_url.contains("127.0.0.1"), "{command}: {by_url}");
    }
}

fn help_names_every_command_and_the_exit_codes() {
    insta::assert_snapshot!(windrow(&["--help"]), @r"
    exit: 0
    --- stdout
    Compile retention rules into SQL that cleans a database from inside

    windrow reads a spec (one TOML file: an application's tables, what belongs to what, and retention
    rules) and writes SQL that a DBA can read: procedures, indexes, schedules. The cleanup runs inside
    the database; windrow generates, installs, calls and verifies it, and never deletes a row itself.

    Usage: windrow [OPTIONS] <COMMAND>

    Commands:
      inspect      Draft a spec from a live database
      init         Fit a spec to the application version of a live database
      check        Check a spec, alone or against a live database
      graph        Draw the tables, what belongs to what, and the delete order
      report       Write one page for a change ticket, to read and to print
      schema       Print the JSON Schema of specs, or of answers
      generate     Write the SQL files of one or more specs
      install      Install the generated SQL into a database
      policy       Show or set retention policies: how long to keep each scope
      preview      Show what a run would delete now, what is kept and why
      plan         Estimate a backlog: indexes, batches, log volume, nights
      arm          Allow runs to delete, in this database
      run          Run the cleanup now, and show its progress and result
      verify       Check the deletions so far and the installation
      diff         Compare the installation with what the spec generates
      status       Show whether the cleanup keeps up, what it does and keeps
      history      Show past runs, and plot their rows and durations
      hold         Show, place or release legal holds on single families
      settings     Show or change limits: batch size, time budget, throttle [alias: setting]
      window       Show or change maintenance windows of scheduled runs
      purge        Delete named families now, if they are past the minimum
      stamp        Set removal times: to an instant, calculated, or cleared
      archive      List, drop, restore or export archived rows
      artifacts    Remove files that deleted rows referred to
      pause        Stop the current run after its batch; prevent new runs
      resume       Allow runs to start again after a pause
      heartbeat    Note how far replicas of MySQL or MariaDB have got
      fleet        Call a command on every database of an inventory
      demo         Show everything on a throw-away server
      uninstall    Remove everything that install created
      completions  Print a completion script for a shell
      man          Write manual pages

    Options:
      -q, --quiet
              Print only data, warnings and errors

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Exit codes:
      0  done and clean
      1  done, with findings, stale files, violations or failed families;
         or a run was refused, or only waited (a scheduled one outside its window or in back-off: 0)
      2  failed: usage, connection, SQL; with `--output json` the error is a document, too
    --- stderr
    ");
}

fn a_subcommand_shows_an_example() {
    insta::assert_snapshot!(windrow(&["run", "--help"]), @r"
    exit: 0
    --- stdout
    Run the cleanup now, and show its progress and result

    Example: windrow run specs/dolphinscheduler.toml --run-families 1000 --time-budget 10m

    Usage: windrow run [OPTIONS] <SPEC>

    Arguments:
      <SPEC>
              The spec file; WINDROW_SPEC if not given

    Options:
      -q, --quiet
              Print only data, warnings and errors

          --url <URL>
              Address of the database; a password may also come from WINDROW_PASSWORD, PGPASSWORD,
              MYSQL_PWD or --password-file

              [env: WINDROW_URL]

          --password-file <FILE>
              File whose first line is the password

          --output <OUTPUT>
              Output format

              Possible values:
              - text: For people
              - json: For programs: the JSON document

              [default: text]

          --rule <RULE>
              Only this rule

          --scope <SCOPE>
              Only this scope, e.g. one project

          --retention <RETENTION>
              A retention to use instead of the policies, e.g. 45d; never below the minimum

          --as-of <INSTANT>
              Count retention from this instant instead of now, e.g. 2026-11-01T00:00:00Z (UTC without a
              zone)

          --run-families <COUNT>
              At most this many families of each rule; rows, or partitions, of a rule that deletes these

          --dry-run
              Execute the real batches, then roll each one back

          --scheduled
              Behave like a run of the scheduler: obey windows, back-off and suspension, and rest
              between batches (`scheduled_nice`)

          --worker <NUMBER>
              Which worker this is (from 1), if the spec has several

          --time-budget <DURATION>
              Stop after this time, e.g. 10m

          --no-estimate
              Skip the preview that computes the total

      -h, --help
              Print help (see a summary with '-h')
    --- stderr
    ");
}

fn wrong_usage_exits_with_two() {
    insta::assert_snapshot!(windrow(&["generat"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: unrecognized subcommand 'generat'

      tip: a similar subcommand exists: 'generate'

    Usage: windrow [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(windrow(&["run"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <SPEC>

    Usage: windrow run <SPEC>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(windrow(&["status", SPEC]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: no database given

    hint: add `--url postgres://user@host/database` or `--url mysql://user@host/`, or set WINDROW_URL
    ");
    insta::assert_snapshot!(windrow(&["graph", "nowhere.toml"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: cannot read the spec `nowhere.toml`
      caused by: No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(windrow(&["check", "--explain", "nonsense"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: unknown code `nonsense`

    hint: the code is the word in brackets after `error`, `warning` or `notice`
    ");
}

fn an_error_is_a_document_where_a_program_reads() {
    let said = windrow(&["status", SPEC, "--output", "json"]);
    assert_eq!(said, windrow(&["status", "--output=json", SPEC]));
    // Who reads what is not the answer reads it as ever.
    let (document, told) = said
        .strip_prefix("exit: 2\n--- stdout\n")
        .and_then(|rest| rest.split_once("--- stderr\n"))
        .unwrap_or_else(|| panic!("{said}"));
    assert!(told.starts_with("error: no database given\n"), "{told}");
    let document: serde_json::Value = serde_json::from_str(document).expect("a document");
    assert_eq!(
        document,
        serde_json::json!({ "error": {
            "message": "no database given",
            "caused_by": [],
            "details": [],
            "hints": ["add `--url postgres://user@host/database` or `--url mysql://user@host/`, or set WINDROW_URL"],
            "sqlstate": null,
            "errno": null,
        } })
    );
}

fn a_code_is_explained() {
    insta::assert_snapshot!(windrow(&["check", "--explain", "unlisted-reference"]), @r"
    exit: 0
    --- stdout
    A foreign key to a covered table is not an edge of the spec: from a managed table (a second key, or one to itself), from an ignored table, from a table that the spec does not name, from another schema or database. If it acts by itself (CASCADE, SET NULL, SET DEFAULT), rows would be deleted or changed without a rule, a count or a copy: an error, and runs are refused. If it refuses (NO ACTION, RESTRICT), nothing is lost, but families that it refers to cannot be deleted. Make it an edge: `column -> table.key`, with `set null` if the key does that, with `restrict` if the rows are to be kept. `[ignore]` is no remedy: an ignored table keeps its rows.
    --- stderr
    ");
}

fn no_error_shows_a_password() {
    for url in [
        "postgres://app:hunter2@127.0.0.1:1/prod",
        "postgres://app:hunter2@127.0.0.1:port/prod",
        "postgres://app@127.0.0.1:1/prod?password=hunter2&sslmode=disable",
        "postgres://app:hunter2@127.0.0.1:1/prod?sslmode=nonsense",
        "host=127.0.0.1 password=hunter2",
        "mysql://app:hunter2@127.0.0.1/prod",
    ] {
        let said = windrow(&["status", SPEC, "--url", url]);
        assert!(said.starts_with("exit: 2"), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
        assert!(said.contains("***"), "{said}");
    }
    // Nor does any command that meets no server, wherever its password comes from, or a file that it leaves.
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("place");
    std::fs::create_dir(&place).expect("a folder");
    let file = folder.path().join("password");
    std::fs::write(&file, "hunter2\n").expect("a writable folder");
    for words in [
        "check",
        "install",
        "arm",
        "preview",
        "plan",
        "run",
        "verify",
        "diff",
        "status",
        "history",
        "settings list",
        "window list",
        "pause",
        "resume",
        "heartbeat --forget x",
        "uninstall --yes",
        "hold list",
        "archive list",
        "artifacts list",
    ] {
        for url in [
            "postgres://app:hunter2@127.0.0.1:1/prod",
            "mysql://app:hunter2@127.0.0.1:1/",
            "mariadb://app@127.0.0.1:1/",
        ] {
            let at = if words == "check" {
                "--database"
            } else {
                "--url"
            };
            let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
                .args(words.split(' '))
                .args([SPEC, at, url, "--password-file"])
                .arg(&file)
                .env("HOME", &place)
                .env("TMPDIR", &place)
                .env("PGPASSWORD", "hunter2")
                .env("MYSQL_PWD", "hunter2")
                .env("RUST_BACKTRACE", "1")
                .output()
                .expect("windrow starts");
            let said = [&output.stdout[..], &output.stderr[..]].concat();
            let said = String::from_utf8_lossy(&said);
            assert_eq!(output.status.code(), Some(2), "{words} {url}: {said}");
            assert!(said.contains("127.0.0.1"), "{words} {url}: {said}");
            assert!(!said.contains("hunter2"), "{words} {url}: {said}");
        }
    }
    let left = std::fs::read_dir(&place).expect("a folder").count();
    assert_eq!(left, 0, "files that nobody asked for");
    insta::assert_snapshot!(windrow(&["status", SPEC, "--url", "postgres://app:hunter2@127.0.0.1:1/prod"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: cannot connect to `postgres://app:***@127.0.0.1:1/prod`
      caused by: Connection refused (os error 111)

    hint: check host, port and network, and that the server is running
    ");
    insta::assert_snapshot!(windrow(&["status", SPEC, "--url", "host=127.0.0.1 password=hunter2"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: cannot read the database address `host=127.0.0.1 password=***`
      caused by: it does not start with `postgres://`, `mysql://` or `mariadb://`

    hint: write it as `postgres://user@host:5432/database` or `mysql://user@host:3306/`; the password may come from PGPASSWORD, MYSQL_PWD or --password-file
    ");
}

fn the_graph_is_drawn_as_a_tree() {
    insta::assert_snapshot!(windrow(&["graph", SPEC]), @r"
    exit: 0
    --- stdout
    dolphinscheduler: Apache DolphinScheduler 3.4

    rule workflow_instances

    [11] t_ds_workflow_instance (id)
    ├─ [2] t_ds_alert (id)  workflow_instance_id
    │  └─ [1] t_ds_alert_send_status  alert_id
    ├─ [3] t_ds_command  workflow_instance_id unless 0
    ├─ [4] t_ds_error_command  workflow_instance_id unless 0
    ├─ [5] t_ds_relation_sub_workflow  parent_workflow_instance_id, sub_workflow_instance_id  (hierarchy: parent_workflow_instance_id has sub_workflow_instance_id)
    ├─ [6] t_ds_relation_workflow_instance  parent_workflow_instance_id, workflow_instance_id unless 0  (hierarchy: parent_workflow_instance_id has workflow_instance_id)
    ├─ [7] t_ds_serial_command  workflow_instance_id
    ├─ [8] t_ds_task_group_queue  workflow_instance_id
    └─ [10] t_ds_task_instance (id)  workflow_instance_id
       ├─ [8] t_ds_task_group_queue  task_id  (see above)
       └─ [9] t_ds_task_instance_context  task_instance_id

    [n] is the delete order; the names after a table are its columns that refer to the parent
    --- stderr
    ");
}

fn the_graph_is_drawn_for_mermaid() {
    insta::assert_snapshot!(windrow(&["graph", SPEC, "--format", "mermaid"]), @r#"
    exit: 0
    --- stdout
    flowchart RL
        subgraph r0 ["workflow_instances"]
            r0_t1["1. t_ds_alert_send_status"]
            r0_t0["2. t_ds_alert (id)"]
            r0_t2["3. t_ds_command"]
            r0_t3["4. t_ds_error_command"]
            r0_t4["5. t_ds_relation_sub_workflow"]
            r0_t5["6. t_ds_relation_workflow_instance"]
            r0_t6["7. t_ds_serial_command"]
            r0_t7["8. t_ds_task_group_queue"]
            r0_t9["9. t_ds_task_instance_context"]
            r0_t8["10. t_ds_task_instance (id)"]
            r0_t10["11. t_ds_workflow_instance (id)"]
            r0_t1 -->|"alert_id"| r0_t0
            r0_t0 -->|"workflow_instance_id"| r0_t10
            r0_t2 -->|"workflow_instance_id unless 0"| r0_t10
            r0_t3 -->|"workflow_instance_id unless 0"| r0_t10
            r0_t4 -.->|"parent_workflow_instance_id"| r0_t10
            r0_t4 -.->|"sub_workflow_instance_id"| r0_t10
            r0_t5 -.->|"parent_workflow_instance_id"| r0_t10
            r0_t5 -.->|"workflow_instance_id unless 0"| r0_t10
            r0_t6 -->|"workflow_instance_id"| r0_t10
            r0_t7 -->|"workflow_instance_id"| r0_t10
            r0_t7 -->|"task_id"| r0_t8
            r0_t9 -->|"task_instance_id"| r0_t8
            r0_t8 -->|"workflow_instance_id"| r0_t10
        end
        style r0_t10 fill:#fde68a,stroke:#b45309
    --- stderr
    "#);
}

fn the_graph_is_drawn_for_graphviz() {
    let said = windrow(&["graph", SPEC, "--format", "dot"]);
    assert!(
        said.starts_with("exit: 0\n--- stdout\ndigraph \"dolphinscheduler\" {\n"),
        "{said}"
    );
    assert_eq!(said.matches(" -> ").count(), 13, "{said}");
}

fn what_outlives_a_row_or_keeps_it_is_in_every_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("orders.toml");
    let text = r#"name = "orders"

[tables]
orders   = { key = "id bigint", parents = ["previous -> orders.id set null"] }
disputes = { parents = ["order_id -> orders.id restrict"] }
memos    = { parents = ["order_id -> orders.id set null"] }
lines    = { key = "id bigint", parents = ["order_id -> orders.id"] }
prices   = { parents = ["order_id -> orders.id", "line_id -> lines.id set null"] }

[rules.orders]
strategy  = "end-time"
root      = "orders"
final     = { state = "done" }
end_time  = "ended_at"
retention = { default = "30d" }
"#;
    std::fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    let arrows = [
        ("mermaid", "r0_t0 -.->|\"order_id, keeps it\"| r0_t3"),
        ("mermaid", "r0_t2 -.->|\"order_id, set null\"| r0_t3"),
        ("mermaid", "r0_t3 -.->|\"previous, set null\"| r0_t3"),
        ("mermaid", "r0_t4 -.->|\"line_id, set null\"| r0_t1"),
        (
            "dot",
            "r0_t0 -> r0_t3 [label=\"order_id, keeps it\", style=dotted];",
        ),
        (
            "dot",
            "r0_t2 -> r0_t3 [label=\"order_id, set null\", style=dotted];",
        ),
        ("dot", "r0_t2 [label=\"memos\"];"),
        ("svg", ">order_id, keeps it<"),
        ("svg", ">line_id, set null<"),
        ("svg", ">previous, set null → orders<"),
        ("svg", "<path class=\"arrow keeps\""),
        ("svg", "<path class=\"arrow releases\""),
        ("text", "\nprices: line_id  is unlinked from lines\n"),
    ];
    for (format, arrow) in arrows {
        let said = windrow(&["graph", &path, "--format", format]);
        assert!(said.contains(arrow), "{arrow} is not in {said}");
    }
}

fn the_picture_is_well_formed_and_the_same_each_time() {
    let said = windrow(&["graph", SPEC, "--format", "svg"]);
    assert_eq!(said, windrow(&["graph", SPEC, "--format", "svg"]));
    assert!(said.starts_with("exit: 0\n--- stdout\n<svg "), "{said}");
    assert_eq!(said.matches("<rect class=\"box").count(), 11, "{said}");
    assert!(!said.contains("NaN") && !said.contains("inf"), "{said}");
}

fn a_bundle_has_every_file_whole_and_a_review_has_a_lock_in_place_of_the_kernel() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (review, bundle) = (at("review"), at("bundle"));
    let said = windrow(&["generate", SPEC, "--out", &review]);
    assert!(said.starts_with("exit: 0"), "{said}");
    let said = windrow(&["generate", SPEC, "--bundle", &bundle]);
    assert!(said.starts_with("exit: 0"), "{said}");
    let read = |name: String| std::fs::read_to_string(name).ok();
    let below =
        |folder: &str, name: &str| read(format!("{folder}/dolphinscheduler/postgres/{name}"));
    for kernel in ["10_control.sql", "40_run.sql", "60_schedule.sql"] {
        assert!(below(&review, kernel).is_none(), "{kernel}");
        let text = below(&bundle, kernel).unwrap_or_else(|| panic!("no {kernel}"));
        assert!(text.lines().count() > 60, "{kernel} is not whole");
    }
    for own in ["20_indexes.sql", "30_workflow_instances.sql", "verify.sql"] {
        assert!(below(&review, own).is_some(), "{own}");
        assert_eq!(below(&review, own), below(&bundle, own), "{own}");
    }
    let lock = below(&review, "10_kernel.lock").unwrap_or_default();
    assert!(
        lock.contains("  templates/kernel/postgres/core/40_run.sql\n"),
        "{lock}"
    );
    assert!(below(&bundle, "10_kernel.lock").is_none());
    // What the first file is told stands in the one as in the other.
    let told = below(&review, "10_control.json").unwrap_or_default();
    let line = "\"control\": \"windrow_dolphinscheduler\",";
    assert!(told.contains(line), "{told}");
    assert!(below(&bundle, "10_control.sql").is_some_and(|text| text.contains(line)));
    let said = windrow(&["generate", SPEC, "--bundle", &bundle, "--check"]);
    assert!(said.starts_with("exit: 0"), "{said}");
    std::fs::write(
        format!("{bundle}/dolphinscheduler/postgres/40_run.sql"),
        "-- by hand\n",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let said = windrow(&["generate", SPEC, "--bundle", &bundle, "--check"]);
    assert!(said.starts_with("exit: 1"), "{said}");
    assert!(said.contains(&format!("--bundle {bundle}")), "{said}");
}

fn stale_files_are_shown_and_exit_with_one() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let out = folder.path().display().to_string();
    let generate = |extra: &[&str]| windrow(&[&["generate", SPEC, "--out", &out], extra].concat());
    assert!(generate(&["--check"]).starts_with("exit: 1"));
    assert!(generate(&[]).starts_with("exit: 0"));
    assert!(generate(&["--check"]).starts_with("exit: 0"));
    let file = folder
        .path()
        .join("dolphinscheduler/postgres/20_indexes.sql");
    std::fs::write(&file, "-- by hand\n").unwrap_or_else(|error| panic!("{error}"));
    let said = generate(&["--check"]);
    assert!(
        said.starts_with("exit: 1\n--- stdout\n--- a/dolphinscheduler/postgres/20_indexes.sql\n"),
        "{said}"
    );
    assert!(said.contains("\n--- by hand\n"), "{said}");
    assert!(generate(&[]).contains("changed"));
    assert!(generate(&["--check"]).starts_with("exit: 0"));
}

fn warnings_about_a_spec_are_shown_by_check_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.toml");
    let text = std::fs::read_to_string(SPEC).expect("the spec");
    let text = text.replace("lock_timeout = \"100ms\"", "lock_timeout = \"10s\"");
    std::fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    let said = windrow(&["check", &path]);
    assert!(
        said.starts_with("exit: 1\n")
            && said.contains("long-lock-timeout")
            && said.ends_with("1 warning about the spec\n")
            && !said.contains("no findings"),
        "{said}"
    );
    let said = windrow(&["graph", &path]);
    let told = format!("1 warning about the spec: run `windrow check {path}` to see\n");
    assert!(
        said.starts_with("exit: 0\n")
            && said.contains(&told)
            && !said.contains("long-lock-timeout"),
        "{said}"
    );
}

fn a_spec_that_is_not_given_is_that_of_the_environment() {
    let said = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(arguments)
            .env("WINDROW_SPEC", "specs/dolphinscheduler.toml")
            .env_remove("WINDROW_URL")
            .output()
            .expect("windrow runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (
            output.status.code(),
            text(output.stdout) + &text(output.stderr),
        )
    };
    for arguments in [
        ["-q", "graph"].as_slice(),
        &["graph"],
        &["graph", "specs/dolphinscheduler.toml"],
    ] {
        let (code, text) = said(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {text}");
        assert!(
            text.starts_with("dolphinscheduler: "),
            "{arguments:?}: {text}"
        );
    }
    // One that is given counts.
    let (_, text) = said(&["graph", "specs/yworkflow.toml"]);
    assert!(text.starts_with("yworkflow: "), "{text}");
    // Words behind it keep their places.
    for arguments in [
        ["settings", "set", "batch_families", "5"].as_slice(),
        &["settings", "reset", "batch_families"],
        &["policy", "list"],
    ] {
        let (code, text) = said(arguments);
        assert!(
            code == Some(2) && text.starts_with("error: no database given"),
            "{arguments:?}: {text}"
        );
    }
    // What is missing beside it is told.
    let (code, text) = said(&["settings", "set"]);
    assert!(code == Some(2) && text.contains("<VALUE>"), "{text}");
}

fn shells_and_manuals_know_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = windrow(&["completions", shell]);
        assert!(
            script.starts_with("exit: 0\n") && script.contains("run-families"),
            "{shell}: {script}"
        );
    }
    let script = windrow(&["completions", "bash"]);
    let script = script
        .split_once("--- stdout\n")
        .and_then(|(_, script)| script.rsplit_once("--- stderr"))
        .expect("a script")
        .0;
    let path = std::env::temp_dir().join(format!("windrow-completions-{}", std::process::id()));
    std::fs::write(&path, script).expect("a script is written");
    let bash = Command::new("bash")
        .arg("-n")
        .arg(&path)
        .output()
        .expect("bash runs");
    std::fs::remove_file(&path).expect("a script is removed");
    assert!(
        bash.status.success(),
        "{}",
        String::from_utf8_lossy(&bash.stderr)
    );

    let folder = std::env::temp_dir().join(format!("windrow-man-{}", std::process::id()));
    let said = windrow(&["man", "--out", folder.to_str().expect("UTF-8")]);
    assert!(said.starts_with("exit: 0\n"), "{said}");
    for page in ["windrow.1", "windrow-inspect.1", "windrow-settings-set.1"] {
        let page = std::fs::read_to_string(folder.join(page)).expect("a page");
        assert!(
            page.contains(".TH windrow") && page.contains(".SH OPTIONS"),
            "{page}"
        );
    }
    std::fs::remove_dir_all(&folder).expect("the pages are removed");
}
