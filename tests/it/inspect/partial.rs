//! A foreign key that sets some of its columns to NULL, which no spec can say.

use windrow::dialect::Dialect;

use super::{database, said};
use crate::harness::tests;

tests! {
    on_postgres: [
        a_key_that_sets_some_columns_to_null_is_asked_about,
    ],
}

/// `SET NULL (column)` came with PostgreSQL 15.
fn a_key_that_sets_some_columns_to_null_is_asked_about() {
    let database = database(
        Dialect::Postgres,
        "CREATE TABLE pipeline (id integer PRIMARY KEY, part integer NOT NULL, status varchar(10), ended_at timestamp, UNIQUE (id, part));
         CREATE TABLE build (id integer PRIMARY KEY, part integer NOT NULL, pipeline_id integer, of integer,
            CONSTRAINT of_pipeline FOREIGN KEY (pipeline_id, part) REFERENCES pipeline (id, part) ON DELETE SET NULL (pipeline_id));",
    );
    let (code, draft, told) = said(&database.superuser(), &["inspect", "--root", "pipeline"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(draft.contains("sets only (pipeline_id)"), "{draft}");
    assert!(draft.contains("pipeline(id, part) restrict"), "{draft}");
    // A spec without this edge is told of it, and not of `set null`, which would be refused; nor of `restrict` where the rows are deleted
    // with what they would keep.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.toml");
    let path = path.to_str().expect("UTF-8");
    for (build, help) in [
        (
            "build = { key = 'id integer', parents = ['of -> pipeline.id'] }",
            "columns to NULL: change the key to CASCADE, SET NULL or NO ACTION",
        ),
        (
            "",
            "add `pipeline_id, part -> pipeline(id, part) restrict` to the `parents` of `build`",
        ),
    ] {
        let spec = format!(
            "name = 'x'\n[tables]\npipeline = {{ key = 'id integer' }}\n{build}\n\
            [rules.x]\nstrategy = 'end-time'\nroot = 'pipeline'\nfinal = {{ status = ['done'] }}\nend_time = 'ended_at'\n\
            retention = {{ default = '30d', minimum = '7d', safety_lag = '1d' }}\n"
        );
        std::fs::write(path, spec).expect("a spec is written");
        let (code, checked, told) = said(&database.superuser(), &["check", path]);
        assert_eq!(code, Some(1), "{told}");
        assert!(checked.contains(help), "{checked}");
        assert!(!checked.contains("set null`"), "{checked}");
    }
}
