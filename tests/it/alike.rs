//! Keys that are one to their column and are printed otherwise: a number with other zeros behind its point, a text in a collation that takes
//! several spellings for one. What a row names in another spelling is its family all the same, and a hold keeps it in each.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;
use crate::support::keyed;

tests! {
    on_postgres: [
        rows_in_between_are_counted_with_their_family,
        instances_are_counted_with_their_family,
        families_that_name_each_other_are_known_by_each_spelling,
        what_a_hold_keeps_besides_families_is_found_in_each_spelling,
        a_link_leads_to_its_row_in_each_spelling,
        a_purge_meets_the_holds_of_its_rows,
        a_purge_takes_what_it_names_in_another_spelling,
        a_stamp_reaches_the_whole_family,
        what_is_restored_is_named_in_each_spelling,
    ],
}

/// A type of keys, and how it writes the number of a key: in one way, and in another.
#[derive(Clone, Copy)]
struct Kind {
    word: &'static str,
    sql: &'static str,
    one: &'static str,
    other: &'static str,
}

const KINDS: [Kind; 2] = [
    Kind {
        word: "numeric",
        sql: "numeric",
        one: "{}.0",
        other: "{}.00",
    },
    Kind {
        word: "varchar",
        sql: "varchar(20) COLLATE alike",
        one: "key{}",
        other: "KEY{}",
    },
];

impl Kind {
    fn one(self, number: i64) -> String {
        self.one.replace("{}", &number.to_string())
    }

    fn other(self, number: i64) -> String {
        self.other.replace("{}", &number.to_string())
    }

    /// SQL or a spec in which `KIND` is the type, `<n>` the key n in one spelling and `>n<` in the other.
    fn written(self, text: &str) -> String {
        let mut text = text.replace("KIND", self.word).replace("TYPE", self.sql);
        for number in 0..10 {
            text = text
                .replace(&format!("<{number}>"), &format!("'{}'", self.one(number)))
                .replace(&format!(">{number}<"), &format!("'{}'", self.other(number)));
        }
        text
    }

    fn database(self, spec: &str, schema: &str) -> Installation {
        let collation = "CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level1', deterministic = false);";
        let graph = graph_of(&self.written(spec));
        let schema = format!("{collation}{}", self.written(schema));
        let mut database = Installation::of(Dialect::Postgres, &schema, &graph);
        database.arm();
        database
    }

    fn fill(self, database: &mut Installation, rows: &str) {
        database.execute(&self.written(rows));
    }
}

/// The numbers of the rows of a table that are left.
fn left(database: &mut Installation, table: &str) -> Vec<String> {
    database.texts(&format!("SELECT n FROM {table} ORDER BY n"))
}

/// A run has steps, and these have parts, which say their run, too.
const BENEATH: &str = r#"
name = "alike"

[tables]
run  = { key = "id KIND" }
step = { key = "id bigint", parents = ["run_id -> run.id"] }
part = { parents = ["run_id -> run.id", "step_id -> step.id"], with = "any" }

[rules.history]
strategy   = "removal-time"
root       = "run"
time       = "removal"
tables     = ["part: run_id", "step: run_id", "run"]
unit       = "UNIT"
"#;

/// A row in between, to which a foreign key refers, is locked and counted before its family is deleted.
fn rows_in_between_are_counted_with_their_family() {
    for (kind, unit) in KINDS
        .iter()
        .flat_map(|kind| [(kind, "family"), (kind, "window")])
    {
        let mut database = kind.database(
            &BENEATH.replace("UNIT", unit),
            "CREATE TABLE run (id TYPE PRIMARY KEY, n integer, removal timestamp);
             CREATE TABLE step (id bigint PRIMARY KEY, run_id TYPE REFERENCES run, n integer, removal timestamp);
             CREATE TABLE part (run_id TYPE, step_id bigint REFERENCES step, n integer, removal timestamp);
             CREATE INDEX ON step (run_id); CREATE INDEX ON part (run_id); CREATE INDEX ON part (step_id);
             CREATE INDEX ON run (removal); CREATE INDEX ON step (removal); CREATE INDEX ON part (removal)",
        );
        kind.fill(
            &mut database,
            "INSERT INTO run VALUES (<1>, 1, '2020-01-01'), (<2>, 2, '2020-01-01'), (<3>, 3, '2020-01-01');
             INSERT INTO step VALUES (10, >1<, 10, '2020-01-01'), (11, <1>, 11, '2020-01-01'), (20, >2<, 20, '2020-01-01'), (30, <3>, 30, '2020-01-01');
             INSERT INTO part VALUES (<1>, 10, 100, '2020-01-01'), (>2<, 20, 200, '2020-01-01'), (>3<, 30, 300, '2020-01-01')",
        );
        database
            .set_hold(json!({"key": kind.other(2), "reason": "audit"}))
            .expect("a hold");
        let done = keyed::cleaned(&mut database, &format!("{} {unit}", kind.word));
        assert_eq!(done.skipped, json!({"HELD": 1}), "{} {unit}", kind.word);
        for (table, stays) in [("run", "2"), ("step", "20"), ("part", "200")] {
            assert_eq!(left(&mut database, table), [stays], "{} {unit}", kind.word);
        }
    }
}

/// Instances name the root of their family, also themselves.
const TREE: &str = r#"
name = "alike"

[tables]
job  = { key = "id KIND" }
part = { parents = ["root -> job.id"] }

[rules.history]
strategy   = "removal-time"
root       = "job"
time       = "removal"
end_time   = "ended"
tables     = ["part: root", "job: root"]
unit       = "UNIT"
retention  = { minimum = "1d" }

[rules.history.stamp]
start = "ended"
per   = "sort varchar"
from  = "sort: id -> days days"
"#;

const JOBS: &str = "CREATE TABLE sort (id varchar(9) PRIMARY KEY, days integer);
     CREATE TABLE job (id TYPE PRIMARY KEY, root TYPE, n integer, ended timestamp, removal timestamp, sort varchar(9));
     CREATE TABLE part (root TYPE, n integer, removal timestamp);
     CREATE INDEX ON job (root); CREATE INDEX ON part (root);
     CREATE INDEX ON job (removal); CREATE INDEX ON part (removal)";

fn instances_are_counted_with_their_family() {
    for (kind, unit) in KINDS
        .iter()
        .flat_map(|kind| [(kind, "family"), (kind, "window")])
    {
        let mut database = kind.database(&TREE.replace("UNIT", unit), JOBS);
        kind.fill(
            &mut database,
            "INSERT INTO job VALUES
                 (<1>, >1<, 1, '2020-01-01', '2020-01-02'), (<2>, >1<, 2, '2020-01-01', '2020-01-02'), (<3>, <1>, 3, '2020-01-01', '2020-01-02'),
                 (<4>, >4<, 4, '2020-01-01', '2020-01-02'), (<5>, <4>, 5, '2020-01-01', '2020-01-02'), (<6>, >4<, 6, '2020-01-01', '2020-01-02'),
                 (<7>, <7>, 7, '2020-01-01', '2020-01-02'), (<8>, >7<, 8, NULL, '2020-01-02');
             INSERT INTO part VALUES (>1<, 1, '2020-01-02'), (<1>, 2, '2020-01-02'), (>4<, 4, '2020-01-02'), (<4>, 5, '2020-01-02'), (>7<, 7, '2020-01-02')",
        );
        database
            .set_hold(json!({"key": kind.other(5), "reason": "audit"}))
            .expect("a hold");
        let context = format!("{} {unit}", kind.word);
        let done = keyed::cleaned(&mut database, &context);
        assert_eq!(
            done.skipped,
            json!({"HELD": 1, "NON_FINAL_MEMBER": 1}),
            "{context}"
        );
        assert_eq!(
            left(&mut database, "job"),
            ["4", "5", "6", "7", "8"],
            "{context}"
        );
        assert_eq!(left(&mut database, "part"), ["4", "5", "7"], "{context}");
    }
}

/// A job has tasks; a log of one job may be of a task of another.
const CROSSING: &str = r#"
name = "alike"

[tables]
job  = { key = "id KIND" }
task = { key = "id bigint", parents = ["job_id -> job.id"] }
log  = { parents = ["job_id -> job.id", "task_id -> task.id"], with = "any" }

[rules.history]
strategy   = "removal-time"
root       = "job"
time       = "removal"
tables     = ["log: job_id", "task: job_id", "job"]
limits     = { batch_families = 1 }
"#;

fn families_that_name_each_other_are_known_by_each_spelling() {
    for kind in KINDS {
        let mut database = kind.database(
            CROSSING,
            "CREATE TABLE job (id TYPE PRIMARY KEY, n integer, removal timestamp);
             CREATE TABLE task (id bigint PRIMARY KEY, job_id TYPE, n integer, removal timestamp);
             CREATE TABLE log (job_id TYPE, task_id bigint, n integer, removal timestamp);
             CREATE INDEX ON task (job_id); CREATE INDEX ON log (job_id); CREATE INDEX ON log (task_id);
             CREATE INDEX ON job (removal); CREATE INDEX ON task (removal); CREATE INDEX ON log (removal)",
        );
        // The second of each two has a log of a task of the first; that of the second two is held.
        kind.fill(
            &mut database,
            "INSERT INTO job VALUES (<1>, 1, '2020-01-01'), (<2>, 2, '2020-01-02'), (<3>, 3, '2020-01-03'), (<4>, 4, '2020-01-04');
             INSERT INTO task VALUES (10, >1<, 10, '2020-01-01'), (30, >3<, 30, '2020-01-03');
             INSERT INTO log VALUES (>2<, 10, 2, '2020-01-02'), (>4<, 30, 4, '2020-01-04')",
        );
        database
            .set_hold(json!({"key": kind.one(4), "reason": "audit"}))
            .expect("a hold");
        let refused = |database: &mut Installation, key: Value| {
            let answer = database.purge(json!({"key": key, "dry_run": true}));
            answer.expect("a purge")["refused_with"].clone()
        };
        assert_eq!(
            refused(&mut database, json!([kind.other(3)]))[kind.other(3)],
            json!({"key": kind.one(4), "reason": "NOT_NAMED"}),
            "{}",
            kind.word
        );
        assert_eq!(
            refused(&mut database, json!([kind.other(3), kind.other(4)]))[kind.other(3)],
            json!({"key": kind.one(4), "reason": "HELD"}),
            "{}",
            kind.word
        );
        let done = keyed::cleaned(&mut database, kind.word);
        assert_eq!(
            (done.families, done.skipped),
            (2, json!({"HELD": 1, "REFERENCED": 1})),
            "{}",
            kind.word
        );
        assert_eq!(left(&mut database, "job"), ["3", "4"], "{}", kind.word);
        assert_eq!(left(&mut database, "task"), ["30"], "{}", kind.word);
        assert_eq!(left(&mut database, "log"), ["4"], "{}", kind.word);
    }
}

/// Batches are of no job, and held by themselves; an incident names the batch, by a column of its own.
const BESIDES: &str = r#"
name = "alike"

[tables]
job      = { key = "id KIND" }
batch    = { key = "id KIND" }
incident = { parents = ["job_id -> job.id"] }

[rules.history]
strategy   = "removal-time"
root       = "job"
time       = "removal"
tables     = ["incident: job_id", "job", "batch"]
end_time   = "ended"

[rules.history.stamp]
start = "began"
per   = "sort varchar"
from  = "sort: id -> days days"

[rules.history.stamp.of.batches]
root     = "batch"
start    = "began"
end_time = "ended"
per      = "sort varchar"
by_value = { any = "30d" }
own      = ["incident: batch_id"]
"#;

fn what_a_hold_keeps_besides_families_is_found_in_each_spelling() {
    for kind in KINDS {
        let mut database = kind.database(
            BESIDES,
            "CREATE TABLE sort (id varchar(9) PRIMARY KEY, days integer);
             CREATE TABLE job (id TYPE PRIMARY KEY, n integer, began timestamp, ended timestamp, removal timestamp, sort varchar(9));
             CREATE TABLE batch (id TYPE PRIMARY KEY, n integer, began timestamp, ended timestamp, removal timestamp, sort varchar(9));
             CREATE TABLE incident (job_id TYPE, batch_id TYPE, n integer, removal timestamp);
             CREATE INDEX ON incident (job_id); CREATE INDEX ON incident (batch_id);
             CREATE INDEX ON job (removal); CREATE INDEX ON batch (removal); CREATE INDEX ON incident (removal)",
        );
        kind.fill(
            &mut database,
            "INSERT INTO batch VALUES (<1>, 1, '2020-01-01', '2020-01-01', '2020-01-02'), (<2>, 2, '2020-01-01', '2020-01-01', '2020-01-02');
             INSERT INTO incident VALUES (NULL, >1<, 1, '2020-01-02'), (NULL, <1>, 2, '2020-01-02'), (NULL, >2<, 3, '2020-01-02')",
        );
        database
            .set_hold(json!({"key": kind.other(1), "reason": "audit"}))
            .expect("a hold");
        let done = keyed::cleaned(&mut database, kind.word);
        assert_eq!(done.skipped, json!({"HELD": 1}), "{}", kind.word);
        assert_eq!(left(&mut database, "batch"), ["1"], "{}", kind.word);
        assert_eq!(left(&mut database, "incident"), ["1", "2"], "{}", kind.word);
    }
}

/// Jobs above and below others.
const LINKED: &str = r#"
name = "alike"

[tables]
job  = { key = "id KIND" }
link = { parents = ["upper -> job.id", "lower -> job.id"], with = "any" }
part = { parents = ["job_id -> job.id"] }

[rules.history]
strategy   = "end-time"
root       = "job"
candidates = { kind = 0 }
final      = { state = 1 }
end_time   = "ended"
hierarchy  = ["link: upper -> lower"]
shared     = "SHARED"
retention  = { default = "30d" }
"#;

fn a_link_leads_to_its_row_in_each_spelling() {
    for (kind, shared) in KINDS
        .iter()
        .flat_map(|kind| [(kind, "closed"), (kind, "literal")])
    {
        let mut database = kind.database(
            &LINKED.replace("SHARED", shared),
            "CREATE TABLE job (id TYPE PRIMARY KEY, kind integer, state integer, n integer, ended timestamp);
             CREATE TABLE link (upper TYPE, lower TYPE, n integer);
             CREATE TABLE part (job_id TYPE, n integer);
             CREATE INDEX ON job (ended); CREATE INDEX ON part (job_id); CREATE INDEX ON link (upper); CREATE INDEX ON link (lower)",
        );
        // Of the first, all has ended; what is below the second runs; what is below the third is held.
        kind.fill(
            &mut database,
            "INSERT INTO job VALUES
                 (<1>, 0, 1, 1, '2020-01-01'), (<2>, 1, 1, 2, '2020-01-01'),
                 (<3>, 0, 1, 3, '2020-01-01'), (<4>, 1, 0, 4, NULL),
                 (<5>, 0, 1, 5, '2020-01-01'), (<6>, 1, 1, 6, '2020-01-01');
             INSERT INTO link VALUES (<1>, >2<, 1), (>3<, >4<, 3), (>5<, <6>, 5);
             INSERT INTO part VALUES (>1<, 1), (>2<, 2), (<3>, 3), (<4>, 4), (>5<, 5), (>6<, 6)",
        );
        let context = format!("{} {shared}", kind.word);
        database
            .set_hold(json!({"key": kind.other(6), "reason": "audit"}))
            .expect(&context);
        let done = keyed::cleaned(&mut database, &context);
        assert_eq!(
            (done.families, done.skipped),
            (1, json!({"HELD": 1, "NON_FINAL_MEMBER": 1})),
            "{context}"
        );
        for (table, stays) in [
            ("job", vec!["3", "4", "5", "6"]),
            ("part", vec!["3", "4", "5", "6"]),
            ("link", vec!["3", "5"]),
        ] {
            assert_eq!(left(&mut database, table), stays, "{context}");
        }
    }
}

/// Rules of all strategies by keys of their own.
const NAMED: &str = r#"
name = "alike"

[tables]
job   = { key = "id KIND" }
token = { key = "id KIND" }
pair  = { key = "a KIND, b char" }
entry = { key = "id KIND" }
task  = { key = "id KIND" }
step  = { parents = ["task_id -> task.id"] }

[rules.jobs]
strategy   = "end-time"
root       = "job"
final      = { state = 1 }
end_time   = "at"
retention  = { default = "30d" }
archive    = true

[rules.tokens]
strategy   = "expiry"
root       = "token"
time       = "at"

[rules.pairs]
strategy   = "expiry"
root       = "pair"
time       = "at"
archive    = true

[rules.entries]
strategy   = "age"
root       = "entry"
time       = "at"
retention  = { default = "30d" }

[rules.tasks]
strategy   = "removal-time"
root       = "task"
time       = "at"
tables     = ["step: task_id", "task"]
archive    = true
"#;

const ROOTS: [(&str, &str); 5] = [
    ("jobs", "job"),
    ("tokens", "token"),
    ("pairs", "pair"),
    ("entries", "entry"),
    ("tasks", "task"),
];

fn named(kind: Kind) -> Installation {
    let mut database = kind.database(
        NAMED,
        "CREATE TABLE job (id TYPE PRIMARY KEY, state integer, n integer, at timestamp);
         CREATE TABLE token (id TYPE PRIMARY KEY, n integer, at timestamp);
         CREATE TABLE pair (a TYPE, b char(5), n integer, at timestamp, PRIMARY KEY (a, b));
         CREATE TABLE entry (id TYPE PRIMARY KEY, n integer, at timestamp);
         CREATE TABLE task (id TYPE PRIMARY KEY, n integer, at timestamp);
         CREATE TABLE step (task_id TYPE, n integer, at timestamp)",
    );
    kind.fill(
        &mut database,
        "INSERT INTO job VALUES (<1>, 1, 1, '2020-01-01'), (<2>, 1, 2, '2020-01-01');
         INSERT INTO token VALUES (<1>, 1, '2020-01-01'), (<2>, 2, '2020-01-01');
         INSERT INTO pair VALUES (<1>, 'b', 1, '2020-01-01'), (<2>, 'b', 2, '2020-01-01');
         INSERT INTO entry VALUES (<1>, 1, '2020-01-01'), (<2>, 2, '2020-01-01');
         INSERT INTO task VALUES (<1>, 1, '2020-01-01'), (<2>, 2, '2020-01-01');
         INSERT INTO step VALUES (>1<, 1, '2020-01-01'), (>2<, 2, '2020-01-01')",
    );
    database
}

/// Key number n of a rule, in the other spelling.
fn another(kind: Kind, rule: &str, number: i64) -> String {
    match (rule, kind.word) {
        ("pairs", "numeric") => format!("[{}, \"b\"]", kind.other(number)),
        ("pairs", _) => format!("[\"{}\", \"b\"]", kind.other(number)),
        _ => kind.other(number),
    }
}

fn a_purge_meets_the_holds_of_its_rows() {
    for kind in KINDS {
        let mut database = named(kind);
        for (rule, root) in ROOTS {
            let key = another(kind, rule, 1);
            let hold = json!({"rule": rule, "key": key, "reason": "audit"});
            database.set_hold(hold).expect(rule);
            let answer = database
                .purge(json!({"rule": rule, "key": [key]}))
                .expect(rule);
            let context = format!("{} {rule}: {answer}", kind.word);
            assert_eq!(answer["refused"], json!({key: "HELD"}), "{context}");
            assert_eq!(left(&mut database, root), ["1", "2"], "{context}");
        }
    }
}

fn a_purge_takes_what_it_names_in_another_spelling() {
    for kind in KINDS {
        let mut database = named(kind);
        for (rule, root) in ROOTS {
            let key = another(kind, rule, 1);
            let answer = database
                .purge(json!({"rule": rule, "key": [key]}))
                .expect(rule);
            let context = format!("{} {rule}: {answer}", kind.word);
            assert_eq!(answer["refused"], json!({}), "{context}");
            assert_eq!(answer["rules"][0]["families"], 1, "{context}");
            assert_eq!(left(&mut database, root), ["2"], "{context}");
        }
        assert_eq!(left(&mut database, "step"), ["2"], "{}", kind.word);
    }
}

fn a_stamp_reaches_the_whole_family() {
    for kind in KINDS {
        let mut database = kind.database(&TREE.replace("UNIT", "family"), JOBS);
        let rows = "INSERT INTO job VALUES
                 (<1>, >1<, 1, '2020-01-01', NULL), (<2>, >1<, 2, '2020-01-01', NULL), (<3>, <1>, 3, '2020-01-01', NULL);
             INSERT INTO part VALUES (>1<, 1, NULL), (<1>, 2, NULL)";
        let unset = "SELECT count(*) FROM (SELECT removal FROM job UNION ALL SELECT removal FROM part) AS t WHERE removal IS NULL";
        for chosen in [
            json!({"key": [kind.other(1)]}),
            json!({"key": [kind.other(2), kind.other(3)]}),
            json!({"missing": true}),
            json!({"all": true}),
        ] {
            kind.fill(&mut database, rows);
            let mut options = chosen.clone();
            options["to"] = json!("2030-01-01T00:00:00Z");
            let answer = database.call("stamp", options).expect("a stamp");
            let context = format!("{} {chosen}: {answer}", kind.word);
            assert_eq!(answer["refused"], json!({}), "{context}");
            assert_eq!(answer["rules"][0]["families"], 1, "{context}");
            assert_eq!(database.number(unset), 0, "{context}");
            database.execute("DELETE FROM job; DELETE FROM part");
        }
    }
}

fn what_is_restored_is_named_in_each_spelling() {
    for kind in KINDS {
        let mut database = named(kind);
        let run = database.run(json!({})).expect("a run");
        for (rule, root) in ROOTS {
            if !["jobs", "pairs", "tasks"].contains(&rule) {
                continue;
            }
            let key = another(kind, rule, 1);
            let restore = json!({"run": run["run"], "rule": rule, "key": [key]});
            let context = format!("{} {rule}", kind.word);
            let answer = database.call("archive_restore", restore).expect(&context);
            assert_eq!(answer["holds"], 1, "{context}: {answer}");
            assert_eq!(left(&mut database, root), ["1"], "{context}");
        }
        assert_eq!(left(&mut database, "step"), ["1"], "{}", kind.word);
        // What has come back is held.
        let run = database.run(json!({})).expect("a run");
        for (_, root) in [ROOTS[0], ROOTS[2], ROOTS[4], ("", "step")] {
            assert_eq!(left(&mut database, root), ["1"], "{} {run}", kind.word);
        }
        let held = "SELECT key FROM W.hold WHERE rule = 'tasks'";
        assert_eq!(database.texts(held), [kind.one(1)], "{}", kind.word);
    }
}
