//! Rows by removal time that name no root belong to their instance, or to what names them; rows of other families may name
//! them, too: then these families go together or not at all.

use std::collections::BTreeSet;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::effort;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;
use crate::support::keyed::{self, Cleaned, Rows};

tests! {
    every_server: [
        a_row_without_a_root_stays_for_what_names_it,
        families_that_share_a_row_without_a_root_go_together,
        rows_without_a_root_go_as_the_model_says,
    ],
}

/// A job has parts, facts, which name a document and a part, and notes of a part. A document without a root is of the family
/// of the rows without a root that name it.
const SPEC: &str = r#"
name = "adopted"

[tables]
job   = { key = "id bigint" }
part  = { key = "id bigint", parents = ["root -> job.id"] }
doc   = { key = "id bigint", parents = ["root -> job.id"] }
fact  = { key = "id bigint", parents = ["root -> job.id", "doc_id -> doc.id", "at_part -> part.id"], with = "any" }
note  = { key = "id bigint", parents = ["root -> job.id", "doc_id -> doc.id", "part_id -> part.id"], with = "any" }

[ignore]
live = "runtime state; what it names is kept"

[rules.history]
strategy   = "removal-time"
root       = "job"
time       = "removal"
end_time   = "ended"
tables     = ["note: root", "fact: root", "part: root", "doc: root", "job: root"]
references = ["live: doc_id -> doc", "live: part_id -> part"]
retention  = { minimum = "1d", safety_lag = "1h" }
limits     = { batch_families = 2 }

[rules.history.stamp]
start = "ended"
per   = "kind varchar"
from  = "kind: id -> days days"
own   = ["part: job_id", "fact: job_id", "note: part_id -> part"]
named = ["doc"]
"#;

const TABLES: [&str; 6] = ["live", "note", "fact", "part", "doc", "job"];

pub(crate) fn graph() -> Graph {
    graph_of(SPEC)
}

fn database(dialect: Dialect) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE kind (id varchar(20) PRIMARY KEY, days integer);
         CREATE TABLE job (id bigint PRIMARY KEY, root bigint, kind varchar(20), ended {time}, removal {time});
         CREATE TABLE part (id bigint PRIMARY KEY, root bigint, job_id bigint, removal {time});
         CREATE TABLE doc (id bigint PRIMARY KEY, root bigint, removal {time});
         CREATE TABLE fact (id bigint PRIMARY KEY, root bigint, job_id bigint, doc_id bigint, at_part bigint, removal {time});
         CREATE TABLE note (id bigint PRIMARY KEY, root bigint, part_id bigint, doc_id bigint, removal {time});
         CREATE TABLE live (id bigint PRIMARY KEY, doc_id bigint, part_id bigint);"
    );
    let mut database = Installation::of(dialect, &schema, &graph());
    database.arm();
    database
}

type Key = Option<i64>;

/// A row: its root, the job or the part whose it is, and the document and the part that it names.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    table: &'static str,
    id: i64,
    root: Key,
    own: Key,
    doc: Key,
    part: Key,
    young: bool,
    runs: bool,
}

fn job(id: i64, root: Key) -> Row {
    let table = "job";
    Row {
        table,
        id,
        root,
        ..Row::default()
    }
}

fn part(id: i64, root: Key, own: Key) -> Row {
    let table = "part";
    Row {
        table,
        id,
        root,
        own,
        ..Row::default()
    }
}

fn doc(id: i64, root: Key) -> Row {
    let table = "doc";
    Row {
        table,
        id,
        root,
        ..Row::default()
    }
}

fn fact(id: i64, root: Key, own: Key, doc: Key, part: Key) -> Row {
    Row {
        table: "fact",
        id,
        root,
        own,
        doc,
        part,
        ..Row::default()
    }
}

/// One of a part, which it names by that.
fn note(id: i64, root: Key, own: Key, doc: Key) -> Row {
    Row {
        table: "note",
        id,
        root,
        own,
        doc,
        part: own,
        ..Row::default()
    }
}

fn live(id: i64, doc: Key, part: Key) -> Row {
    Row {
        table: "live",
        id,
        doc,
        part,
        ..Row::default()
    }
}

/// Puts these rows in the place of all others, and these jobs on hold. No row but a job has a time of its own.
fn load(database: &mut Installation, rows: &[Row], held: &[i64]) {
    let mut sql = String::new();
    let text = |value: Key| value.map_or("NULL".to_owned(), |it| it.to_string());
    for row in rows {
        let (root, own, doc, part) = (text(row.root), text(row.own), text(row.doc), text(row.part));
        let values = match row.table {
            "job" => {
                let ended = if row.runs { "NULL" } else { "'2020-01-01'" };
                let removal = if row.young {
                    "'2999-01-01'"
                } else {
                    "'2020-02-01'"
                };
                format!(
                    "(id, root, ended, removal) VALUES ({}, {root}, {ended}, {removal})",
                    row.id
                )
            }
            "part" => format!("(id, root, job_id) VALUES ({}, {root}, {own})", row.id),
            "doc" => format!("(id, root) VALUES ({}, {root})", row.id),
            "fact" => format!(
                "(id, root, job_id, doc_id, at_part) VALUES ({}, {root}, {own}, {doc}, {part})",
                row.id
            ),
            "note" => format!(
                "(id, root, part_id, doc_id) VALUES ({}, {root}, {own}, {doc})",
                row.id
            ),
            _ => format!("(id, doc_id, part_id) VALUES ({}, {doc}, {part})", row.id),
        };
        sql += &format!("INSERT INTO {} {values};\n", row.table);
    }
    keyed::load(database, &TABLES, &sql, held);
}

fn left(database: &mut Installation) -> Rows {
    keyed::left(database, &TABLES)
}

/// What a run did. Rows without a time are in every world.
fn cleaned(database: &mut Installation, context: &str) -> (i64, Value) {
    let Cleaned {
        families,
        mut skipped,
        ..
    } = keyed::cleaned(database, context);
    let reasons = skipped.as_object_mut().expect("reasons");
    reasons.remove("UNDATED_MEMBER");
    (families, skipped)
}

/// What the definitions say of some rows.
struct Model<'a> {
    rows: &'a [Row],
    held: &'a [i64],
}

impl Model<'_> {
    fn row(&self, table: &str, id: Key) -> Option<&Row> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.table == table && Some(row.id) == id)
    }

    /// The family of a row that names its root, or its instance.
    fn family(&self, row: &Row) -> Key {
        let of_job = |key: Key| self.row("job", key).map(|job| job.root.unwrap_or(job.id));
        row.root.or_else(|| match row.table {
            "job" => Some(row.id),
            "note" => of_job(self.row("part", row.own)?.own),
            "part" | "fact" => of_job(row.own),
            _ => None,
        })
    }

    fn names(row: &Row, other: &Row) -> bool {
        match other.table {
            "doc" => row.doc == Some(other.id),
            "part" => row.part == Some(other.id),
            _ => false,
        }
    }

    fn is_of(&self, row: &Row, family: i64) -> bool {
        let rootless = self.rows.iter().filter(|it| it.root.is_none());
        self.family(row) == Some(family)
            || row.table == "doc"
                && row.root.is_none()
                && rootless
                    .filter(|it| Self::names(it, row))
                    .any(|it| self.family(it) == Some(family))
    }

    fn may_go(&self, family: i64) -> bool {
        let Some(root) = self.row("job", Some(family)) else {
            return false;
        };
        let of = |row: &&Row| self.is_of(row, family);
        let mut jobs = self.rows.iter().filter(|row| row.table == "job").filter(of);
        let mut rows = self.rows.iter().filter(of);
        let is_root = root.root.is_none_or(|it| it == family);
        let lives: Vec<&Row> = self.rows.iter().filter(|row| row.table == "live").collect();
        is_root
            && !root.young
            && !jobs.any(|row| row.runs || self.held.contains(&row.id))
            && !rows.any(|row| lives.iter().any(|live| Self::names(live, row)))
    }

    /// What is left: the families of which no row is named by one that stays go.
    fn left(&self) -> Rows {
        let jobs = self.rows.iter().filter(|row| row.table == "job");
        let mut going: BTreeSet<i64> = jobs.map(|row| row.id).collect();
        going.retain(|family| self.may_go(*family));
        loop {
            let stays = |family: &&i64| {
                let mut of = self.rows.iter().filter(|row| self.is_of(row, **family));
                of.any(|row| {
                    let mut namers = self.rows.iter().filter(|it| Self::names(it, row));
                    namers.any(|it| self.family(it).is_none_or(|of| !going.contains(&of)))
                })
            };
            let Some(family) = going.iter().find(stays).copied() else {
                break;
            };
            going.remove(&family);
        }
        let rows = self.rows.iter();
        rows.filter(|row| !going.iter().any(|family| self.is_of(row, *family)))
            .map(|row| (row.table, row.id))
            .collect()
    }
}

/// Two families, the second of which stays, and what the first has that names no root.
fn a_row_without_a_root_stays_for_what_names_it(dialect: Dialect) {
    let mut database = database(dialect);
    let young = |id| Row {
        young: true,
        ..job(id, Some(id))
    };
    let runs = |id| Row {
        runs: true,
        ..job(id, Some(id))
    };
    let (one, two) = (Some(1), Some(2));
    // The second row has a root or none.
    for root in [two, None] {
        let cases: [(&str, Vec<Row>); 5] = [
            (
                "a document that a fact without a root names",
                vec![
                    doc(10, None),
                    fact(10, None, one, Some(10), None),
                    fact(20, root, two, Some(10), None),
                ],
            ),
            (
                "a document that a note of a part names",
                vec![
                    part(11, one, one),
                    doc(10, None),
                    note(10, None, Some(11), Some(10)),
                    fact(20, root, two, Some(10), None),
                ],
            ),
            (
                "a part of an instance",
                vec![part(11, None, one), fact(20, root, two, None, Some(11))],
            ),
            (
                "a part of an instance, by a note",
                vec![part(11, None, one), note(20, Some(2), Some(11), None)],
            ),
            (
                "a document that runtime state names",
                vec![
                    doc(10, None),
                    fact(10, None, one, Some(10), None),
                    live(1, Some(10), None),
                ],
            ),
        ];
        for (what, more) in cases {
            for (why, second, held) in [
                ("HELD", job(2, Some(2)), &[2][..]),
                ("young", young(2), &[]),
                ("NON_FINAL_MEMBER", runs(2), &[]),
            ] {
                let rows = [&[job(1, Some(1)), second][..], &more].concat();
                let context = format!("{what}, {root:?}, {why}");
                load(&mut database, &rows, held);
                let purge = json!({"key": [1], "dry_run": true});
                let purge = database.purge(purge).expect("a purge");
                assert_eq!(
                    purge["refused"],
                    json!({"1": "REFERENCED"}),
                    "{context}: {purge}"
                );
                let (families, skipped) = cleaned(&mut database, &context);
                assert_eq!(families, 0, "{context}");
                assert_eq!(skipped["REFERENCED"], 1, "{context}: {skipped}");
                let all = Model { rows: &rows, held }.left();
                assert_eq!(all.len(), rows.len(), "{context}");
                assert_eq!(left(&mut database), all, "{context}");
            }
        }
    }
}

/// As soon as the other is due, too, both go.
fn families_that_share_a_row_without_a_root_go_together(dialect: Dialect) {
    let mut database = database(dialect);
    let (one, two) = (Some(1), Some(2));
    for roots in [[one, two], [None, None]] {
        let rows = [
            job(1, roots[0]),
            job(2, roots[1]),
            doc(10, None),
            fact(10, None, one, Some(10), None),
            fact(20, None, two, Some(10), None),
            part(11, None, one),
            note(20, two, Some(11), None),
        ];
        load(&mut database, &rows, &[]);
        for key in [1, 2] {
            let purge = json!({"key": [key], "dry_run": true});
            let purge = database.purge(purge).expect("a purge");
            let refused = json!({key.to_string(): "REFERENCED"});
            assert_eq!(purge["refused"], refused, "{purge}");
        }
        let purge = json!({"key": [1, 2], "dry_run": true});
        let purge = database.purge(purge).expect("a purge");
        assert_eq!(purge["refused"], json!({}), "{purge}");
        assert_eq!(purge["rules"][0]["tables"]["doc"], 1, "{purge}");
        database
            .set_setting("batch_families", 1)
            .expect("a setting");
        let (families, skipped) = cleaned(&mut database, "both");
        assert_eq!((families, skipped), (2, json!({})));
        assert_eq!(left(&mut database), Rows::new());
    }
}

fn rows_without_a_root_go_as_the_model_says(dialect: Dialect) {
    let mut database = database(dialect);
    let (mut gone, mut kept) = (0, 0);
    for seed in effort::seeds("rows without a root", dialect, 16) {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut rows = Vec::new();
        let mut held = Vec::new();
        let chance = [0.0, 0.1, 0.3][random.random_range(0..3)];
        for id in 1..=5 {
            rows.push(Row {
                young: random.random_bool(0.1),
                runs: random.random_bool(0.05),
                ..job(id, random.random_bool(0.5).then_some(id))
            });
            if random.random_bool(0.3) {
                rows.push(job(id * 100, Some(id)));
            }
            if random.random_bool(0.1) {
                held.push(id);
            }
        }
        for id in 1..=15 {
            let family = (id - 1) % 5 + 1;
            let mut of = |number: i64| match random.random_bool(chance) {
                true => random.random_range(1..=number),
                false => family,
            };
            let (of_job, at, named) = (of(5), of(15), of(15));
            let own = match rows.iter().any(|row| row.id == of_job * 100) {
                true if random.random_bool(0.5) => of_job * 100,
                _ => of_job,
            };
            let root = |random: &mut SmallRng| random.random_bool(0.4).then_some(family);
            let mut some = |key: i64| random.random_bool(0.6).then_some(key);
            let (doc_of, part_of) = (some(named), some(at));
            rows.extend([
                doc(id, root(&mut random)),
                part(id, root(&mut random), Some(own)),
                fact(id, root(&mut random), Some(own), doc_of, part_of),
            ]);
            if random.random_bool(0.4) {
                rows.push(note(id, root(&mut random), Some(at), doc_of));
            }
            if random.random_bool(0.02) {
                rows.push(live(id, Some(named), Some(at)));
            }
        }
        let model = Model {
            rows: &rows,
            held: &held,
        };
        let stays = model.left();
        load(&mut database, &rows, &held);
        let context = format!("seed {seed}: {held:?} {rows:?}");
        database
            .set_setting("batch_families", random.random_range(1..4))
            .expect("a setting");
        cleaned(&mut database, &context);
        assert_eq!(left(&mut database), stays, "{context}");
        gone += rows.len() - stays.len();
        kept += stays.len();
    }
    assert!(gone > 0 && kept > 0);
}
