//! A batch of families has no more rows than `batch_family_rows` says, but for one family that has more.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        families_by_their_end_go_in_batches_that_fit,
        families_by_removal_time_go_in_batches_that_fit,
        single_rows_go_with_theirs_in_batches_that_fit,
        what_a_run_saw_holds_for_the_next,
        families_that_stay_do_not_hide_what_those_behind_them_have,
    ],
}

/// Rows in one transaction.
const MOST: i64 = 20;

const END_TIME: &str = r#"strategy  = "end-time"
root      = "job"
final     = { state = 1 }
end_time  = "at"
retention = { default = "30d" }
"#;

const REMOVAL_TIME: &str = r#"strategy = "removal-time"
root     = "job"
time     = "at"
tables   = ["part: job", "job: id"]
"#;

const EXPIRY: &str = r#"strategy = "expiry"
root     = "job"
time     = "at"
"#;

/// A batch: the families and rows that it deleted.
type Batch = (i64, i64);

/// An installation that notes each batch, and that takes all families at once as far as their rows fit.
fn installation(dialect: Dialect, rule: &str) -> Installation {
    let graph = graph_of(&format!(
        "name = \"heavy\"\n\n[tables]\njob  = {{ key = \"id integer\" }}
part = {{ key = \"id integer\", parents = [\"job -> job.id\"] }}\n\n[rules.jobs]\n{rule}"
    ));
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE job (id integer PRIMARY KEY, state integer NOT NULL DEFAULT 1, at {time});
         CREATE TABLE part (id integer PRIMARY KEY, job integer, at {time});"
    );
    let mut installation = Installation::of(dialect, &schema, &graph);
    installation.arm();
    installation
        .set_setting("batch_family_rows", MOST)
        .expect("a setting");
    note_batches(&mut installation);
    installation
}

/// Has the table `noted` say, for each batch, how many families and rows a rule has deleted by its end.
pub(crate) fn note_batches(installation: &mut Installation) {
    installation.execute("CREATE TABLE noted (batches integer, families integer, found integer)");
    let noted = "INSERT INTO noted SELECT new.batches, new.families, new.deleted_rows WHERE new.batches > old.batches";
    match installation.dialect {
        Dialect::Postgres => {
            installation.execute(&format!(
                "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS
                 $$BEGIN {noted}; RETURN NULL; END$$"
            ));
            installation.execute(
                "CREATE TRIGGER note AFTER UPDATE ON W.run_rule FOR EACH ROW EXECUTE FUNCTION note()",
            );
        }
        Dialect::Mysql | Dialect::Mariadb => {
            let home = installation.texts("SELECT DATABASE()").remove(0);
            let noted = noted.replace("noted", &format!("`{home}`.noted"));
            installation.execute(&format!(
                "CREATE TRIGGER W.note AFTER UPDATE ON W.run_rule FOR EACH ROW {noted}"
            ));
        }
    }
}

/// Families with so many rows each, the root included, the oldest first. They follow those that were there before.
fn add(installation: &mut Installation, families: &[usize]) {
    let before = installation.number("SELECT coalesce(max(id), 0) FROM job");
    for (position, rows) in families.iter().enumerate() {
        let job = before + 1 + position as i64;
        let minute = format!("2025-01-01 {:02}:{:02}:00", job / 60, job % 60);
        installation.execute(&format!(
            "INSERT INTO job (id, at) VALUES ({job}, '{minute}')"
        ));
        let parts: Vec<String> = (1..*rows)
            .map(|part| format!("({}, {job}, '{minute}')", job * 1_000 + part as i64))
            .collect();
        if !parts.is_empty() {
            let parts = parts.join(", ");
            installation.execute(&format!("INSERT INTO part (id, job, at) VALUES {parts}"));
        }
    }
}

/// What the batches of a run took.
fn run(installation: &mut Installation) -> Vec<Batch> {
    run_that_keeps(installation, 0)
}

/// The same where so many families of one row stay.
fn run_that_keeps(installation: &mut Installation, stay: i64) -> Vec<Batch> {
    installation.execute("DELETE FROM noted");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["reason"], "nothing left", "{run}");
    assert_eq!(installation.number("SELECT count(*) FROM job"), stay);
    assert_eq!(installation.number("SELECT count(*) FROM part"), 0);
    let noted = "SELECT concat(families, ' ', found) FROM noted ORDER BY batches";
    let mut before = (0, 0);
    let mut batches = Vec::new();
    for text in installation.texts(noted) {
        let (families, rows) = text.split_once(' ').expect("two numbers");
        let number = |text: &str| text.parse::<i64>().expect("a number");
        let so_far = (number(families), number(rows));
        if so_far.0 > before.0 {
            batches.push((so_far.0 - before.0, so_far.1 - before.1));
        }
        before = so_far;
    }
    batches
}

/// What is more than a batch may take.
fn too_heavy(batches: &[Batch]) -> Vec<Batch> {
    let heavy = |(families, rows): &&Batch| *families > 1 && *rows > MOST;
    batches.iter().filter(heavy).copied().collect()
}

fn families_go_in_batches_that_fit(dialect: Dialect, rule: &str) {
    let mut installation = installation(dialect, rule);
    // Nothing is known of what families have: the first batch fits as well.
    add(&mut installation, &[10; 12]);
    let batches = run(&mut installation);
    assert_eq!(too_heavy(&batches), [], "{batches:?}");
    assert!(batches.len() <= 12, "{batches:?}");

    // A family that has more goes alone.
    let mut families = [2; 30];
    families[7] = 50;
    families[21] = 21;
    add(&mut installation, &families);
    let batches = run(&mut installation);
    assert_eq!(too_heavy(&batches), [], "{batches:?}");
    assert!(batches.contains(&(1, 50)), "{batches:?}");
    assert!(batches.contains(&(1, 21)), "{batches:?}");
    assert!(batches.iter().any(|batch| batch.0 >= 4), "{batches:?}");

    // A dry run goes the same way, and counts every row once.
    add(&mut installation, &families);
    let preview = installation.preview(json!({})).expect("a preview");
    let dry = installation.run(json!({"dry_run": true})).expect("a run");
    let figures = |document: &Value| {
        let rule = &document["rules"][0];
        (rule["families"].clone(), rule["rows"].clone())
    };
    assert_eq!(figures(&dry), (json!(30), json!(127)), "{dry}");
    assert_eq!(figures(&dry), figures(&preview), "{preview}");
    assert_eq!(too_heavy(&run(&mut installation)), []);
}

fn families_by_their_end_go_in_batches_that_fit(dialect: Dialect) {
    families_go_in_batches_that_fit(dialect, END_TIME);
}

fn families_by_removal_time_go_in_batches_that_fit(dialect: Dialect) {
    families_go_in_batches_that_fit(dialect, REMOVAL_TIME);
}

fn single_rows_go_with_theirs_in_batches_that_fit(dialect: Dialect) {
    families_go_in_batches_that_fit(dialect, EXPIRY);
}

/// What the batches before had says how many families fit, and which are to be counted: so that it costs nothing where they are
/// small, one batch may take too much where they have grown, and none behind it.
fn what_a_run_saw_holds_for_the_next(dialect: Dialect) {
    let mut installation = installation(dialect, END_TIME);
    installation
        .set_setting("batch_families", 10)
        .expect("a setting");
    add(&mut installation, &[1; 15]);
    assert_eq!(run(&mut installation), [(10, 10), (5, 5)]);

    add(&mut installation, &[[1; 10], [7; 10], [7; 10]].concat());
    let batches = run(&mut installation);
    assert_eq!(batches[..2], [(10, 10), (10, 70)], "{batches:?}");
    assert_eq!(too_heavy(&batches[2..]), [], "{batches:?}");
    assert_eq!(batches.len(), 2 + 5, "{batches:?}");

    // The next run begins where this one ended.
    add(&mut installation, &[7; 10]);
    assert_eq!(too_heavy(&run(&mut installation)), []);
    // Once they are small again, all go at once.
    add(&mut installation, &[1; 20]);
    assert_eq!(run(&mut installation), [(10, 10), (10, 10)]);
}

/// A batch of families that all stay has no rows, and says nothing of those behind them.
fn families_that_stay_do_not_hide_what_those_behind_them_have(dialect: Dialect) {
    const STAY: usize = 8;
    for rule in [END_TIME, REMOVAL_TIME, EXPIRY] {
        let mut installation = installation(dialect, rule);
        let batch = if rule == EXPIRY {
            "batch_rows"
        } else {
            "batch_families"
        };
        installation.set_setting(batch, 4).expect("a setting");
        add(&mut installation, &[1; STAY]);
        for key in 1..=STAY {
            let hold = json!({"rule": "jobs", "key": key.to_string(), "reason": "audit"});
            installation.set_hold(hold).expect("a hold");
        }
        add(&mut installation, &[10; 8]);
        let batches = run_that_keeps(&mut installation, STAY as i64);
        assert_eq!(too_heavy(&batches), [], "{rule}: {batches:?}");
    }
}
