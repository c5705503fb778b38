//! Each way to go ends in the archive alike: rows of random families, of which the world itself says in a column what must
//! become of them, go in small batches; what is gone is archived byte by byte, and comes back so.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::Flavour;

use super::{Rows, without};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::history::{Client, History, Server};
use crate::support::installation::{Installation, dialect_of};

tests! {
    every_server: [
        whatever_makes_a_row_go_it_is_archived_and_comes_back,
    ],
    either_flavour: [
        so_do_rows_whose_keys_are_bytes,
        so_do_rows_that_only_a_lenient_session_can_write,
    ],
}

const SPEC: &str = r#"
name = "strategies"

[tables]
node  = { key = "id bigint" }
leaf  = { parents = ["node_id -> node.id"] }
task  = { key = "id bigint" }
event = { parents = ["root_id -> task.id"] }
tree  = { key = "id bigint" }
twig  = { parents = ["root_id -> tree.id"] }
lost  = { key = "id bigint" }
rag   = { parents = ["lost_id -> lost.id"] }
line  = { key = "id bigint" }
shot  = { key = "id bigint" }
pixel = { parents = ["shot_id -> shot.id"] }
mail  = { key = "id bigint" }

# Through the root table, with all that is below.
[rules.nodes]
strategy   = "end-time"
root       = "node"
candidates = { parent_id = { null = true }, state = { text = ["done", "it's"] } }
final      = { state = "done" }
end_time   = "ended"
hierarchy  = ["node: parent_id -> id"]
retention  = { default = "30d" }
limits     = { batch_families = 3 }
archive    = true

[rules.tasks]
strategy  = "removal-time"
root      = "task"
time      = "remove_at"
tables    = ["event: root_id", "task: root_id"]
unit      = "window"
retention = { safety_lag = "0s" }
limits    = { batch_rows = 7 }
archive   = true

[rules.trees]
strategy  = "removal-time"
root      = "tree"
time      = "remove_at"
tables    = ["twig: root_id", "tree: root_id"]
unit      = "family"
retention = { safety_lag = "0s" }
limits    = { batch_families = 3, batch_rows = 7 }
archive   = true

[rules.lost]
strategy  = "orphan"
root      = "lost"
needs     = ["anchor_id -> anchor.id"]
at_once   = true
limits    = { batch_rows = 4 }
archive   = true

[rules.lines]
strategy  = "age"
root      = "line"
time      = "written"
retention = { default = "30d" }
limits    = { batch_rows = 4 }
archive   = true

[rules.shots]
strategy  = "keep-last"
root      = "shot"
keep      = { newest = 2, per = "name varchar", by = "part integer" }
limits    = { batch_rows = 4 }
archive   = true

[rules.mails]
strategy  = "expiry"
root      = "mail"
time      = "expires"
fallback  = { time = "sent", retention = { default = "30d" } }
limits    = { batch_rows = 3 }
archive   = true
"#;

pub(crate) const TABLES: [&str; 12] = [
    "node", "leaf", "task", "event", "tree", "twig", "lost", "rag", "line", "shot", "pixel", "mail",
];

/// Each rule, its root table, and what a row of it that can be named is.
const RULES: [(&str, &str, &str); 7] = [
    ("nodes", "node", "parent_id IS NULL"),
    ("tasks", "task", "root_id = id"),
    ("trees", "tree", "root_id = id"),
    ("lost", "lost", "true"),
    ("lines", "line", "true"),
    ("shots", "shot", "true"),
    ("mails", "mail", "true"),
];

/// What keys are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    Numbers,
    /// Of a type of MySQL and MariaDB; of 16 bytes, or of any number.
    Bytes(&'static str),
}

impl Keys {
    /// The key with this number, as SQL.
    fn written(self, number: i64) -> String {
        let Keys::Bytes(kind) = self else {
            return number.to_string();
        };
        // Neither in the order of the numbers nor a text in any character set, with what a text may not have or a comparison may
        // not see at its end.
        let mixed = (number as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
        let [first, end] = [
            ["00", "ff", "27", "5c"][number as usize % 4],
            ["00", "20", "2000", "ff5c", "0a"][number as usize % 5],
        ];
        let bytes = format!("{first}{mixed:016x}c3{end}");
        match kind {
            "binary(16)" => format!("X'{bytes:0<32}'"),
            _ => format!("X'{bytes}'"),
        }
    }
}

fn schema(dialect: Dialect, keys: Keys) -> String {
    let (time, bytes, text) = match dialect {
        Dialect::Postgres => ("timestamp", "bytea", "varchar(40)"),
        Dialect::Mysql | Dialect::Mariadb => (
            "datetime(6)",
            "varbinary(40)",
            "varchar(40) CHARACTER SET utf8mb4",
        ),
    };
    let rest = format!("data {bytes}, note {text}, fate varchar(5)");
    let schema = format!(
        "CREATE TABLE anchor (id bigint PRIMARY KEY);
CREATE TABLE node (id bigint PRIMARY KEY, parent_id bigint, state varchar(20), ended {time}, {rest}, FOREIGN KEY (parent_id) REFERENCES node (id));
CREATE TABLE leaf (node_id bigint, {rest}, FOREIGN KEY (node_id) REFERENCES node (id));
CREATE TABLE task (id bigint PRIMARY KEY, root_id bigint, remove_at {time}, {rest});
CREATE TABLE event (root_id bigint, remove_at {time}, {rest});
CREATE TABLE tree (id bigint PRIMARY KEY, root_id bigint, remove_at {time}, {rest});
CREATE TABLE twig (root_id bigint, remove_at {time}, {rest});
CREATE TABLE lost (id bigint PRIMARY KEY, anchor_id bigint, {rest});
CREATE TABLE rag (lost_id bigint, {rest}, FOREIGN KEY (lost_id) REFERENCES lost (id));
CREATE TABLE line (id bigint PRIMARY KEY, written {time}, {rest});
CREATE TABLE shot (id bigint PRIMARY KEY, name varchar(20), part integer, {rest});
CREATE TABLE pixel (shot_id bigint, {rest}, FOREIGN KEY (shot_id) REFERENCES shot (id));
CREATE TABLE mail (id bigint PRIMARY KEY, expires {time}, sent {time}, {rest});
"
    );
    match keys {
        Keys::Numbers => schema,
        Keys::Bytes(kind) => schema.replace("bigint", kind),
    }
}

/// So many families of each kind, as a script. `fate` says of each row whether it goes.
fn rows(dialect: Dialect, keys: Keys, families: i64) -> String {
    let script = Script {
        dialect,
        keys,
        random: SmallRng::seed_from_u64(8),
        sql: String::new(),
    };
    script.all(families)
}

/// Families that come one after the other share a month, and some of them a day.
fn month(family: i64) -> i64 {
    1 + (family - 1) / 14 % 12
}

struct Script {
    dialect: Dialect,
    keys: Keys,
    random: SmallRng,
    sql: String,
}

impl Script {
    fn row(&mut self, table: &str, values: &str, goes: bool) {
        let bytes: String = (0..self.random.random_range(0..12))
            .map(|_| format!("{:02x}", self.random.random_range(0..256)))
            .collect();
        let data = match (self.random.random_bool(0.2), self.dialect) {
            (true, _) => "NULL".to_owned(),
            (false, Dialect::Postgres) => format!("'\\x{bytes}'::bytea"),
            (false, Dialect::Mysql | Dialect::Mariadb) => format!("X'{bytes}'"),
        };
        let notes = ["NULL", "''", "'it''s, \"so\"'", "'ü 😀'", "' '"];
        let note = notes[self.random.random_range(0..notes.len())];
        let fate = if goes { "goes" } else { "stays" };
        self.sql += &format!("INSERT INTO {table} VALUES ({values}, {data}, {note}, '{fate}');\n");
    }

    fn key(&self, number: i64) -> String {
        self.keys.written(number)
    }

    fn goes(&mut self) -> bool {
        self.random.random_bool(0.6)
    }

    fn some(&mut self, least: i64) -> i64 {
        self.random.random_range(least..4)
    }

    /// Trees of nodes: one that is not done, or ended too late, keeps all of them.
    fn nodes(&mut self, family: i64) {
        let goes = self.goes();
        let members = self.some(1);
        let bad = (!goes).then(|| self.random.random_range(0..members));
        for member in 0..members {
            let id = self.key(10 * family + member);
            // Below the root, or below the one before.
            let above = match member {
                0 => "NULL".to_owned(),
                _ => {
                    let above = self.random.random_range(0..member);
                    self.key(10 * family + above)
                }
            };
            let end = match bad == Some(member) {
                true if member == 0 && family % 2 == 0 => "'done', '2999-01-01'",
                true => "'busy', NULL",
                false => &format!("'done', '2020-{:02}-01 00:00:00.5'", month(family)),
            };
            self.row("node", &format!("{id}, {above}, {end}"), goes);
            for _ in 0..self.some(0) {
                self.row("leaf", &id, goes);
            }
        }
    }

    /// Rows with a removal time; some name no root.
    fn timed(&mut self, root: &str, child: &str, family: i64) {
        let goes = self.goes();
        let year = if goes { 2020 } else { 2999 };
        let time = format!(
            "'{year}-{:02}-{:02} 10:00:00'",
            month(family),
            1 + family % 9
        );
        let named = self.key(10 * family);
        for member in 0..self.some(1) {
            let id = self.key(10 * family + member);
            self.row(root, &format!("{id}, {named}, {time}"), goes);
        }
        for _ in 0..self.some(0) {
            self.row(child, &format!("{named}, {time}"), goes);
        }
        let goes = self.goes();
        let time = match goes {
            true => format!("'2020-{:02}-05'", month(family)),
            false => "NULL".to_owned(),
        };
        self.row(child, &format!("NULL, {time}"), goes);
    }

    fn single(&mut self, number: i64) {
        let goes = self.goes();
        let anchor = self.key(if goes { number + 1_000 } else { 1 });
        let id = self.key(number);
        self.row("lost", &format!("{id}, {anchor}"), goes);
        for _ in 0..self.some(0) {
            self.row("rag", &id, goes);
        }
        let goes = self.goes();
        let year = if goes { 2020 } else { 2999 };
        let written = format!("'{year}-{:02}-{:02}'", month(number), 1 + number % 3);
        self.row("line", &format!("{id}, {written}"), goes);
        let goes = self.goes();
        let year = if goes { 2020 } else { 2999 };
        // By its expiry, or, where it has none, by when it was sent.
        let times = match number % 2 {
            0 => format!("'{year}-{:02}-01', '2021-01-01'", month(number)),
            _ => format!("NULL, '{year}-{:02}-{:02}'", month(number), 1 + number % 9),
        };
        self.row("mail", &format!("{id}, {times}"), goes);
    }

    /// A group of which the two newest stay.
    fn group(&mut self, number: i64) {
        let parts = self.random.random_range(1..7);
        for part in 1..=parts {
            let goes = part <= parts - 2;
            let id = self.key(10 * number + part);
            self.row("shot", &format!("{id}, 'no, \"{number}\"', {part}"), goes);
            for _ in 0..self.some(0) {
                self.row("pixel", &id, goes);
            }
        }
    }

    fn all(mut self, numbers: i64) -> String {
        self.sql += &format!("INSERT INTO anchor VALUES ({});\n", self.key(1));
        for number in 1..=numbers {
            self.nodes(number);
            self.timed("task", "event", number);
            self.timed("tree", "twig", number);
            self.single(number);
            self.group(number);
        }
        self.sql
    }
}

/// What a row of each table goes with, all at once; NULL where it goes alone.
const FAMILIES: [(&str, &str); 12] = [
    ("node", "FLOOR(id / 10)"),
    ("node", "FLOOR(node_id / 10)"),
    ("task", "root_id"),
    ("task", "root_id"),
    ("tree", "root_id"),
    ("tree", "root_id"),
    ("lost", "id"),
    ("lost", "lost_id"),
    ("line", "NULL"),
    ("shot", "id"),
    ("shot", "shot_id"),
    ("mail", "NULL"),
];

/// A database with so many families of each kind, and windrow.
pub(crate) fn history(server: &Server, families: i64) -> Result<History> {
    let dialect = server.dialect();
    let counts =
        TABLES.map(|table| format!("SELECT '{table}' AS tab, COUNT(*) AS many FROM {table}"));
    let counts = counts.join(" UNION ALL ");
    let rows = rows(dialect, Keys::Numbers, families);
    let rows = format!("{rows}CREATE TABLE before_count AS {counts};\n");
    History::of(server, SPEC, &schema(dialect, Keys::Numbers), &rows)
}

/// Every row is there or archived, the ledger accounts for those that are archived, and no family is torn apart.
pub(crate) fn check_whole(client: &mut Client) -> Result<()> {
    let sides = ["", "W.archive_"].map(|side| {
        let rows = TABLES.iter().zip(FAMILIES).map(|(table, (kind, key))| {
            format!("SELECT '{kind}' AS kind, {key} AS family FROM {side}{table}")
        });
        rows.collect::<Vec<_>>().join(" UNION ")
    });
    let [here, gone] = sides;
    let torn = format!(
        "SELECT CONCAT('torn apart: ', h.kind, ' ', h.family) FROM ({here}) AS h JOIN ({gone}) AS g ON g.kind = h.kind AND g.family = h.family"
    );
    let mut wrong = client.texts(&torn)?;
    for table in TABLES {
        wrong.extend(client.texts(&format!(
            "SELECT CONCAT('{table}: ', x.here, ' rows here, ', x.kept, ' archived, ', x.told, ' in the ledger')
             FROM (
                 SELECT
                     (SELECT COUNT(*) FROM {table}) AS here,
                     (SELECT COUNT(*) FROM W.archive_{table}) AS kept,
                     (SELECT COALESCE(SUM(t.deleted_rows), 0) FROM W.run_table AS t WHERE t.table_name = '{table}') AS told,
                     (SELECT b.many FROM before_count AS b WHERE b.tab = '{table}') AS many
             ) AS x
             WHERE x.kept <> x.told OR x.here + x.kept <> x.many"
        ))?);
    }
    ensure!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// All rows, byte by byte, and where they are.
pub(crate) fn digest(client: &mut Client) -> Result<Vec<String>> {
    places(client, |side, table| format!("{side}{table}"))
}

/// What `digest` says when all are where they must be at last, of rows that have not gone yet.
pub(crate) fn expected(client: &mut Client) -> Result<Vec<String>> {
    places(client, |side, table| {
        let fate = if side.is_empty() { "stays" } else { "goes" };
        format!("{table} WHERE fate = '{fate}'")
    })
}

fn places(client: &mut Client, rows: impl Fn(&str, &str) -> String) -> Result<Vec<String>> {
    let mut places = Vec::new();
    for side in ["", "W.archive_"] {
        for table in TABLES {
            let rows = client.bytes(table, &rows(side, table))?;
            places.extend(rows.iter().map(|row| format!("{side}{table} {row}")));
        }
    }
    Ok(places)
}

fn contents(windrow: &mut Installation, prefix: &str) -> Rows {
    let mut rows = Rows::new();
    for table in TABLES {
        let texts = windrow.bytes(table, &format!("{prefix}{table}"));
        rows.insert(table.to_owned(), texts);
    }
    rows
}

fn archived(windrow: &mut Installation) -> Rows {
    contents(windrow, "W.archive_")
}

fn counts(rows: &Rows) -> Value {
    let counts = rows.iter().map(|(table, rows)| (table.clone(), rows.len()));
    counts.filter(|(_, rows)| *rows > 0).collect()
}

/// The counts of all rules of a document, by table.
fn told(document: &Value) -> Value {
    let rules = document["rules"].as_array().expect("rules");
    let tables = rules.iter().flat_map(|rule| {
        let tables = rule["tables"].as_object().expect("tables");
        assert!(rule["batches"].as_i64() > Some(2), "{rule}");
        tables.clone()
    });
    tables.filter(|(_, rows)| *rows != 0).collect()
}

fn whatever_makes_a_row_go_it_is_archived_and_comes_back(dialect: Dialect) {
    goes_and_comes_back(dialect, SPEC, Keys::Numbers, "");
}

/// Columns whose values are refused in the strict mode of the server: no date, no day, a day that is not in the calendar, no label.
const LENIENT: &str = "ADD COLUMN none datetime(6) NOT NULL DEFAULT '0000-00-00 00:00:00',
    ADD COLUMN day date NOT NULL DEFAULT '0000-00-00',
    ADD COLUMN month date DEFAULT '2025-00-00',
    ADD COLUMN invalid date DEFAULT '2025-02-31',
    ADD COLUMN stamped timestamp NOT NULL DEFAULT '0000-00-00 00:00:00',
    ADD COLUMN label enum('a', 'b') NOT NULL DEFAULT 'a'";

fn so_do_rows_that_only_a_lenient_session_can_write(flavour: Flavour) {
    goes_and_comes_back(dialect_of(flavour), SPEC, Keys::Numbers, LENIENT);
}

fn so_do_rows_whose_keys_are_bytes(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let spec = SPEC.replace("bigint", "binary").replace(
        "name = \"strategies\"",
        "name = \"strategies\"\ndialects = [\"mysql\", \"mariadb\"]",
    );
    goes_and_comes_back(dialect, &spec, Keys::Bytes("binary(16)"), "");
    let shared = spec.replace("\n[tables]", "workers = 2\n\n[tables]");
    goes_and_comes_back(dialect, &shared, Keys::Bytes("varbinary(20)"), "");
}

/// `more`: what tables get besides, from a session that is not strict.
fn goes_and_comes_back(dialect: Dialect, as_written: &str, keys: Keys, more: &str) {
    let graph = graph_of(as_written);
    let mut windrow = Installation::of(dialect, &schema(dialect, keys), &graph);
    windrow.execute(&rows(dialect, keys, 14));
    if !more.is_empty() {
        windrow.execute("SET SESSION sql_mode = 'ALLOW_INVALID_DATES'");
        for table in TABLES {
            windrow.execute(&format!(
                "ALTER TABLE {table} {more}; UPDATE {table} SET label = 'c'"
            ));
        }
        windrow.execute("SET SESSION sql_mode = DEFAULT");
        windrow.install(&graph);
    }
    windrow.arm();
    let whole = contents(&mut windrow, "");
    let preview = windrow.preview(json!({})).expect("a preview");
    let dry = windrow.run(json!({"dry_run": true})).expect("a dry run");
    let run = windrow.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");

    // What must go is gone and archived, as often as it was there; nothing else is either.
    let left = contents(&mut windrow, "");
    let gone = without(&whole, &left);
    assert_eq!(archived(&mut windrow), gone);
    for table in TABLES {
        let wrong = windrow.number(&format!(
            "SELECT (SELECT count(*) FROM {table} WHERE fate <> 'stays') + (SELECT count(*) FROM W.archive_{table} WHERE fate <> 'goes')"
        ));
        assert_eq!(wrong, 0, "{table}");
        assert!(gone[table].len() > 4 && left[table].len() > 4, "{table}");
    }
    for document in [&run, &dry, &preview] {
        assert_eq!(told(document), counts(&gone), "{document}");
    }
    let list = windrow.call("archive_list", json!({})).expect("a list");
    assert_eq!(list["runs"][0]["tables"], counts(&gone), "{list}");
    assert_eq!(list["runs"].as_array().map(Vec::len), Some(1), "{list}");

    // One family, or one row with what belongs to it, of each rule.
    for (rule, root, is_root) in RULES {
        let key = match keys {
            Keys::Numbers => json!(windrow.number(&format!(
                "SELECT max(id) FROM W.archive_{root} WHERE {is_root}"
            ))),
            Keys::Bytes(_) => json!(
                windrow.texts(&format!(
                    "SELECT LOWER(HEX(MAX(id))) FROM W.archive_{root} WHERE {is_root}"
                ))[0]
            ),
        };
        let before = (contents(&mut windrow, ""), archived(&mut windrow));
        let options = json!({"run": run["run"], "rule": rule, "key": [key]});
        let back = windrow.call("archive_restore", options).expect("a family");
        let now = contents(&mut windrow, "");
        let came = without(&now, &before.0);
        assert_eq!(without(&before.1, &archived(&mut windrow)), came);
        assert_eq!(back["tables"], counts(&came), "{back}");
        assert!(!came[root].is_empty(), "{back}");
    }
    // The rest, by the command.
    let folder = tempfile::tempdir().expect("a folder");
    let spec = folder.path().join("spec.toml");
    let name = windrow.control.replacen("windrow_", "", 1);
    let named = format!("name = \"{name}\"\ndatabase = \"{}\"", windrow.name);
    fs::write(&spec, as_written.replace("name = \"strategies\"", &named)).expect("a spec");
    let rest = archived(&mut windrow);
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(["archive", "restore"])
        .arg(&spec)
        .args(["--url", &windrow.superuser(), "--output", "json"])
        .args(["--run", &run["run"].to_string()])
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let back: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(back["tables"], counts(&rest), "{back}");
    assert_eq!(contents(&mut windrow, ""), whole);
    assert_eq!(counts(&archived(&mut windrow)), json!({}));
}
