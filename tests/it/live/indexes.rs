//! The indexes that windrow makes: where none serves, in place of those of an earlier state of the spec, and only while it needs them.

use std::fs;

use super::{Database, SPEC, roles};

use crate::harness::tests;

tests! {
    on_postgres: [
        an_index_that_is_there_serves,
        an_index_of_another_kind_or_order_does_not_serve,
        an_index_with_another_condition_is_another,
        a_partitioned_table_gets_its_index_part_by_part,
        an_index_that_another_spec_needs_stays,
    ],
}

/// The index by which final roots are read, but for its last letter and the hash of its condition: names have 63 letters.
const SCAN: &str = "windrow_t_ds_workflow_instance_project_code_end_time_i";

/// What PostgreSQL shows of the indexes with that name.
fn scans(database: &mut Database) -> Vec<String> {
    let told = database.text(&format!(
        "SELECT string_agg(format('%s %s', x.relname, pg_get_expr(i.indpred, i.indrelid)), '; ' ORDER BY x.relname)
         FROM pg_index AS i JOIN pg_class AS x ON x.oid = i.indexrelid WHERE starts_with(x.relname, '{SCAN}') AND i.indisvalid"
    ));
    told.split("; ").map(str::to_owned).collect()
}

/// The servers know an index by its name alone: a condition that changes is a name that changes.
fn an_index_with_another_condition_is_another() {
    let _roles = roles();
    let mut database = Database::bare();
    let folder = tempfile::tempdir().expect("a folder");
    let text = fs::read_to_string(SPEC).expect("the spec");
    let all = "state = [3, 5, 6, 7]";
    assert!(text.contains(all));
    let spec = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let few = text.replace(all, "state = [5, 6, 7]");
    let few = spec("few.toml", &few);
    database.windrow(&format!("install {few}")).expect(0, &[]);
    let first = scans(&mut database);
    assert!(first.len() == 1 && !first[0].contains('3'), "{first:?}");
    database
        .windrow("diff SPEC")
        .expect(1, &["no usable index on t_ds_workflow_instance"]);
    let name = first[0].split(' ').next().unwrap_or_default();
    database.windrow("install SPEC").expect(
        0,
        &[
            &format!("create index {SCAN}_"),
            &format!("drop index {name}"),
        ],
    );
    let second = scans(&mut database);
    assert!(second.len() == 1 && second[0].contains('3'), "{second:?}");
    database.windrow("diff SPEC").expect(0, &["as generated: "]);
    database.windrow("verify SPEC").expect(0, &["clean\n"]);

    // An earlier version did not write its condition into the name.
    let name = second[0].split(' ').next().unwrap_or_default();
    database.sql(&format!("ALTER INDEX {name} RENAME TO {SCAN}d"));
    database
        .windrow("verify SPEC")
        .expect(1, &["missing on t_ds_workflow_instance"]);
    database.sql("CREATE INDEX windrow_t_ds_workflow_instance_project_code ON t_ds_workflow_instance (project_code)");
    database.windrow("install SPEC").expect(
        0,
        &[
            &format!("create index {name}"),
            &format!("drop index {SCAN}d"),
        ],
    );
    assert_eq!(scans(&mut database), second);
    // What has other columns is not windrow's to drop.
    database.sql("DROP INDEX windrow_t_ds_workflow_instance_project_code");

    // Nor does one on some of the rows serve where all are looked up, whatever it is called.
    let alert = "windrow_t_ds_alert_workflow_instance_id";
    database.sql(&format!(
        "DROP INDEX {alert}; CREATE INDEX {alert} ON t_ds_alert (workflow_instance_id) WHERE id > 7"
    ));
    database.windrow("check SPEC").expect(
        0,
        &["notice[missing-index]: `t_ds_alert.workflow_instance_id`"],
    );
    database.windrow("install SPEC").expect(
        0,
        &[
            &format!("drop index {alert}"),
            &format!("create index {alert}"),
        ],
    );
    let whole = format!(
        "SELECT count(*) FROM pg_index WHERE indexrelid = '{alert}'::regclass AND indpred IS NULL"
    );
    assert_eq!(database.number(&whole), 1);

    // Two specs with different conditions have an index each.
    let own = text
        .lines()
        .find(|line| line.starts_with("name ") && line.contains("dolphinscheduler"))
        .expect("a name");
    let third = text
        .replace(all, "state = [6, 7]")
        .replace(own, "name = \"second\"");
    let third = spec("third.toml", &third);
    database.windrow(&format!("install {third}")).expect(0, &[]);
    database
        .windrow("install SPEC")
        .expect(0, &[])
        .without(&["drop index"]);
    assert_eq!(scans(&mut database).len(), 2);
    database.windrow("diff SPEC").expect(0, &["as generated: "]);
    database
        .windrow(&format!("uninstall {third} --yes"))
        .expect(0, &["drop index"]);
    assert_eq!(scans(&mut database), second);
    database.windrow("uninstall SPEC --yes").expect(0, &[]);
    assert_eq!(
        database.number("SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'windrow%'"),
        0
    );
}

/// What the spec does not say of the application's indexes, the catalog does.
fn an_index_that_is_there_serves() {
    let _roles = roles();
    let mut database = Database::bare();
    database.sql(
        "CREATE INDEX mine ON t_ds_alert (workflow_instance_id, id);
         CREATE INDEX half ON t_ds_command (workflow_instance_id) WHERE id > 7",
    );
    database.windrow("check SPEC").expect(
        0,
        &[
            "notice[index-serves]: `t_ds_alert.workflow_instance_id`: `mine` leads with (workflow_instance_id) and can be used",
            "with `indexed = [\"workflow_instance_id\"]` on `t_ds_alert`",
            "notice[missing-index]: `t_ds_command.workflow_instance_id`",
        ],
    );
    database
        .windrow("install SPEC")
        .expect(0, &["`mine` already serves, so no index is created"]);
    let made = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'windrow%' AND tablename = ";
    assert_eq!(database.number(&format!("{made}'t_ds_alert'")), 0);
    assert_eq!(database.number(&format!("{made}'t_ds_command'")), 1);
    database.windrow("diff SPEC").expect(0, &["as generated: "]);
    database
        .windrow("verify SPEC")
        .expect(0, &["clean\n"])
        .without(&["missing on"]);
    // Where it goes, the next installation makes one.
    database.sql("DROP INDEX mine");
    database
        .windrow("verify SPEC")
        .expect(1, &["missing on t_ds_alert; run windrow install"]);
    database
        .windrow("install SPEC")
        .expect(0, &["create index windrow_t_ds_alert"]);
    assert_eq!(database.number(&format!("{made}'t_ds_alert'")), 1);
    database.windrow("verify SPEC").expect(0, &["clean\n"]);
    database.windrow("uninstall SPEC --yes").expect(0, &[]);
    assert_eq!(
        database.number("SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'windrow%'"),
        0
    );
}

/// Of these no statement of windrow can use one, or only to sort all that it finds.
fn an_index_of_another_kind_or_order_does_not_serve() {
    let _roles = roles();
    let mut database = Database::bare();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spec.toml");
    let text = "name = \"kinds\"\n\n[tables]\nlog = { key = \"id bigint\" }\n\n[rules.log]\nstrategy = \"age\"\nroot = \"log\"\ntime = \"at timestamp\"\nretention = { default = \"30d\" }\n";
    fs::write(&path, text).expect("a file");
    let spec = path.display().to_string();
    database.sql("CREATE TABLE log (id bigint PRIMARY KEY, name varchar(40), at timestamp)");
    let made = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'windrow%'";
    for (index, serves) in [
        ("USING brin (at)", false),
        ("USING hash (at)", false),
        ("(at DESC NULLS LAST)", false),
        ("(at, id DESC)", true),
        ("(at DESC, id DESC)", true),
        ("(at, id, name text_pattern_ops)", true),
    ] {
        database.sql(&format!("CREATE INDEX mine ON log {index}"));
        let code = if serves {
            "index-serves"
        } else {
            "missing-index"
        };
        database
            .windrow(&format!("check {spec}"))
            .expect(0, &[&format!("notice[{code}]: `log.at")]);
        database.windrow(&format!("install {spec}")).expect(0, &[]);
        assert_eq!(database.number(made), i64::from(!serves), "{index}");
        database
            .windrow(&format!("verify {spec}"))
            .expect(0, &["clean\n"]);
        if !serves {
            // Nor does verify take it for one that serves.
            let own =
                database.text("SELECT indexname FROM pg_indexes WHERE indexname LIKE 'windrow%'");
            database.sql(&format!("DROP INDEX {own}"));
            database
                .windrow(&format!("verify {spec}"))
                .expect(1, &["missing on log; run windrow install"]);
        }
        database
            .windrow(&format!("uninstall {spec} --yes"))
            .expect(0, &[]);
        database.sql("DROP INDEX mine");
    }
    database.sql("CREATE INDEX mine ON log USING brin (at, id)");
    database
        .windrow(&format!("check {spec}"))
        .expect(0, &["`mine` is no B-tree in the order of these columns"]);
}

/// The server refuses to build the index of a partitioned table while others write.
fn a_partitioned_table_gets_its_index_part_by_part() {
    let _roles = roles();
    let mut database = Database::bare();
    database.sql(
        "DROP TABLE t_ds_alert;
         CREATE TABLE t_ds_alert (id integer NOT NULL, workflow_instance_id integer, made date) PARTITION BY RANGE (id);
         CREATE TABLE t_ds_alert_1 PARTITION OF t_ds_alert FOR VALUES FROM (0) TO (100);
         CREATE TABLE t_ds_alert_2 PARTITION OF t_ds_alert FOR VALUES FROM (100) TO (200) PARTITION BY RANGE (id);
         CREATE TABLE t_ds_alert_2a PARTITION OF t_ds_alert_2 FOR VALUES FROM (100) TO (150)",
    );
    database.windrow("install SPEC").expect(
        0,
        &[
            "create index windrow_t_ds_alert_1_workflow_instance_id",
            "create index windrow_t_ds_alert_2a_workflow_instance_id",
            "create index windrow_t_ds_alert_workflow_instance_id",
        ],
    );
    let all = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'windrow_t_ds_alert%'";
    let valid = "SELECT count(*) FROM pg_index AS i WHERE i.indrelid IN (SELECT relid FROM pg_partition_tree('t_ds_alert')) AND i.indisvalid";
    // The part with parts has one that the server has named.
    assert_eq!((database.number(all), database.number(valid)), (3, 4));
    database.windrow("install SPEC").expect(0, &[]);
    assert_eq!(database.number(all), 3);
    database.windrow("diff SPEC").expect(0, &["as generated: "]);
    database.windrow("uninstall SPEC --yes").expect(0, &[]);
    assert_eq!(database.number(all), 0);
}

/// Two specs over the same tables need some indexes both.
fn an_index_that_another_spec_needs_stays() {
    let _roles = roles();
    let mut database = Database::bare();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("second.toml");
    let text = std::fs::read_to_string(SPEC).expect("the spec");
    let own = "name      = \"dolphinscheduler\"";
    let own = if text.contains(own) {
        own
    } else {
        "name = \"dolphinscheduler\""
    };
    assert!(text.contains(own));
    std::fs::write(&path, text.replace(own, "name = \"second\"")).expect("a file");
    let second = path.display().to_string();
    database.windrow("install SPEC").expect(0, &[]);
    database
        .windrow(&format!("install {second}"))
        .expect(0, &[]);
    let made =
        "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'windrow%' AND schemaname = 'public'";
    let before = database.number(made);
    assert!(before > 3);
    database
        .windrow("uninstall SPEC")
        .expect(0, &["index windrow_t_ds_alert_workflow_instance_id is kept: `windrow_second` also needs it"])
        .without(&["drop index"]);
    // One that cannot be asked may need all of them.
    database.sql("ALTER TABLE windrow_second.spec RENAME TO unreadable");
    database.windrow("uninstall SPEC --yes").expect(
        0,
        &[
            "cannot determine which indexes `windrow_second` needs",
            "index windrow_t_ds_alert_workflow_instance_id is kept: `windrow_second` may need it",
            "with an account that may read `windrow_second`",
        ],
    );
    assert_eq!(database.number(made), before);
    database.sql("ALTER TABLE windrow_second.unreadable RENAME TO spec");
    database
        .windrow("uninstall SPEC --yes")
        .expect(0, &["is kept: `windrow_second` also needs it"]);
    assert_eq!(database.number(made), before);
    database
        .windrow(&format!("verify {second}"))
        .expect(0, &["clean\n"]);
    database
        .windrow(&format!("uninstall {second} --yes"))
        .expect(0, &["drop index"]);
    assert_eq!(database.number(made), 0);
}
