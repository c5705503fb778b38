//! Rows that go one by one with what belongs to them, where what makes them go is looked for among just that.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::render;

use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

/// Files have parts and readers; a file goes once nobody reads it, or with its time, once all parts are done and nobody objects.
const SPEC: &str = r#"
name = "files"

[tables]
file   = { key = "id bigint" }
part   = { key = "id bigint", parents = ["file_id -> file.id"] }
reader = { key = "id bigint", parents = ["file_id -> file.id"] }

[rules.unread]
strategy = "orphan"
root     = "file"
needs    = ["id -> reader.file_id"]
at_once  = true

[rules.due]
strategy  = "expiry"
root      = "file"
time      = "due"
where_sql = "EXISTS (SELECT 1 FROM {schema}.part AS p WHERE p.file_id = {root}.id AND p.done = 1) AND NOT EXISTS (SELECT 1 FROM {schema}.objection AS o WHERE o.file_id = {root}.id)"
"#;

fn files(dialect: Dialect) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE file (id bigint PRIMARY KEY, due {time});
         CREATE INDEX file_due ON file (due);
         CREATE TABLE part (id bigint PRIMARY KEY, file_id bigint, done integer, FOREIGN KEY (file_id) REFERENCES file (id));
         CREATE INDEX part_file ON part (file_id);
         CREATE TABLE reader (id bigint PRIMARY KEY, file_id bigint, FOREIGN KEY (file_id) REFERENCES file (id));
         CREATE INDEX reader_file ON reader (file_id);
         CREATE TABLE objection (file_id bigint PRIMARY KEY);"
    );
    let mut files = Installation::of(dialect, &schema, &graph_of(SPEC));
    // On MySQL the owner role may read the whole database anyway.
    if dialect != Dialect::Mysql {
        let owner = render::role_name(dialect, &files.control, "owner");
        files.execute(&format!("GRANT SELECT ON objection TO {owner}"));
    }
    files.execute(
        "INSERT INTO file VALUES (1, '2020-01-01'), (2, '2020-01-01'), (3, '2020-01-01');
         INSERT INTO part VALUES (10, 1, 1), (20, 2, 1), (30, 3, 1);",
    );
    files.arm();
    files
}

fn keys(files: &mut Installation, table: &str) -> Vec<i64> {
    let keys = files.texts(&format!("SELECT id FROM {table} ORDER BY id"));
    keys.iter().map(|key| key.parse().expect("a key")).collect()
}

/// What the condition of the spec asks for goes before the row itself: it held when the row was judged, and the row goes, too.
pub(super) fn a_condition_on_what_belongs_to_a_row_is_judged_once(dialect: Dialect) {
    let mut files = files(dialect);
    files.execute("INSERT INTO objection VALUES (2); UPDATE part SET done = 0 WHERE id = 30");
    let run = files.run(json!({"rule": "due"})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(
        run["rules"][0]["tables"],
        json!({"part": 1, "reader": 0, "file": 1})
    );
    assert_eq!(keys(&mut files, "file"), [2, 3], "{run}");
    assert_eq!(keys(&mut files, "part"), [20, 30], "{run}");
    // A named row goes before its time, but not against the condition.
    files.execute("UPDATE part SET done = 1; UPDATE file SET due = '2999-01-01'");
    let purge = json!({"rule": "due", "key": [2, 3]});
    let purge = files.purge(purge).expect("a purge");
    assert_eq!(purge["refused"], json!({"2": "NOT_A_ROOT"}), "{purge}");
    assert_eq!(keys(&mut files, "file"), [2], "{purge}");
    assert_eq!(keys(&mut files, "part"), [20], "{purge}");
}

/// Between the search and its batch a reader comes, or somebody objects.
pub(super) fn what_comes_between_a_search_and_its_batch_keeps_all() {
    let mut files = files(Dialect::Postgres);
    let keep = |files: &mut Installation, rule: &str, happens: &str, left: &[i64]| {
        let as_of = "2026-06-01T12:00:00Z";
        let cutoff = format!("W.cutoff_of('{rule}', '{as_of}', NULL)");
        files.execute(&format!(
            "CREATE TEMPORARY TABLE found AS
             SELECT array_agg(o_key) AS keys, array_agg(o_place) AS places, pg_snapshot_xmin(pg_current_snapshot())::xid AS before
             FROM W.{rule}_search(1, NULL, NULL, 100, '{as_of}', {cutoff}) WHERE o_reason IS NULL"
        ));
        let mut rival = files.connect();
        rival.execute(happens).expect("something happens");
        let gone = files.number(&format!(
            "SELECT b.o_families FROM found AS f
             CROSS JOIN LATERAL W.batch_single(1, '{rule}', 1, f.keys, f.places, f.before, '{as_of}', {cutoff}) AS b"
        ));
        files.execute("DROP TABLE found");
        assert_eq!((gone, keys(files, "file")), (1, left.to_vec()), "{rule}");
    };
    keep(
        &mut files,
        "due",
        "INSERT INTO objection VALUES (1); UPDATE part SET done = 0 WHERE id = 30",
        &[1, 3],
    );
    files.execute("INSERT INTO reader VALUES (300, 3); INSERT INTO file VALUES (4, NULL)");
    keep(
        &mut files,
        "unread",
        "INSERT INTO reader VALUES (100, 1)",
        &[1, 3],
    );
    assert_eq!(keys(&mut files, "part"), [10, 30]);
    assert_eq!(keys(&mut files, "reader"), [100, 300]);
}

/// A trigger keeps the row itself without a word, and what belonged to it would be gone.
pub(super) fn a_row_that_a_trigger_keeps_keeps_what_belongs_to_it() {
    let mut files = files(Dialect::Postgres);
    files.execute(
        "CREATE FUNCTION spare() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF OLD.id = 2 THEN RETURN NULL; END IF;
             RETURN OLD;
         END $$;
         CREATE TRIGGER spare BEFORE DELETE ON file FOR EACH ROW EXECUTE FUNCTION spare()",
    );
    for rule in ["due", "unread"] {
        let run = files.run(json!({"rule": rule})).expect("a run");
        assert_eq!(run["status"], "failed", "{run}");
        assert_eq!(run["rules"][0]["skipped"], json!({"FAILED": 1}), "{run}");
        assert_eq!(keys(&mut files, "file"), [2], "{run}");
        assert_eq!(keys(&mut files, "part"), [20], "{run}");
    }
}

/// Of a table alone, too, no purge is done whose row a trigger keeps.
pub(super) fn a_named_row_that_a_trigger_keeps_is_not_purged() {
    let spec = r#"
name = "notes"

[tables]
note = { key = "id bigint" }

[rules.old]
strategy  = "age"
root      = "note"
time      = "written"
retention = { default = "30d", minimum = "1d" }
"#;
    let schema = "CREATE TABLE note (id bigint PRIMARY KEY, written timestamp);
        CREATE INDEX note_written ON note (written);
        CREATE FUNCTION spare() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF OLD.id = 2 THEN RETURN NULL; END IF;
            RETURN OLD;
        END $$;
        CREATE TRIGGER spare BEFORE DELETE ON note FOR EACH ROW EXECUTE FUNCTION spare();
        INSERT INTO note VALUES (1, '2020-01-01'), (2, '2020-01-01')";
    let mut notes = Installation::of(Dialect::Postgres, schema, &graph_of(spec));
    notes.arm();
    let purge = notes.purge(json!({"rule": "old", "key": [1, 2, 3]}));
    let purge = purge.expect("a purge");
    let refused = json!({"2": "FAILED", "3": "NOT_A_ROOT"});
    assert_eq!(purge["refused"], refused, "{purge}");
    assert_eq!(keys(&mut notes, "note"), [2], "{purge}");
}

/// A note needs its file, the shelf of that and the room of this; a file on no shelf needs none, nor a shelf in no room.
pub(super) fn what_names_nothing_on_the_way_needs_nothing(dialect: Dialect) {
    let spec = r#"
name = "shelves"

[tables]
note = { key = "id bigint" }

[rules.lost]
strategy = "orphan"
root     = "note"
needs    = ["file_id -> file.id", "shelf_id -> shelf.id unless 0", "room, floor -> room(id, floor)"]
at_once  = true
"#;
    let schema = "CREATE TABLE note (id bigint PRIMARY KEY, file_id bigint);
        CREATE INDEX note_file ON note (file_id);
        CREATE TABLE file (id bigint PRIMARY KEY, shelf_id bigint);
        CREATE TABLE shelf (id bigint PRIMARY KEY, room bigint, floor bigint);
        CREATE TABLE room (id bigint, floor bigint, PRIMARY KEY (id, floor));
        INSERT INTO room VALUES (1, 1);
        INSERT INTO shelf VALUES (10, 1, 1), (20, 1, NULL), (30, NULL, 1), (40, 1, 2);
        INSERT INTO file VALUES (1, 10), (2, 20), (3, 30), (4, 0), (5, NULL), (6, 40), (7, 50);
        INSERT INTO note VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (8, 8), (9, NULL);";
    let mut notes = Installation::of(dialect, schema, &graph_of(spec));
    notes.arm();
    let run = notes.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 3, "{run}");
    assert_eq!(keys(&mut notes, "note"), [1, 2, 3, 4, 5, 9], "{run}");
}
