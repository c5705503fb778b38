//! Everything that acts on its own where rows go, or where a column is set: how it is made, how it goes again, and how it is told.

use windrow::dialect::Dialect;

/// Something in the catalog that acts, how it goes again, and how it is told.
pub(super) struct Act<'a> {
    pub(super) make: &'a str,
    pub(super) undo: &'a str,
    pub(super) told: &'a str,
    /// The object that `check` names.
    pub(super) object: &'a str,
}

pub(super) const DROP_KEY: [&str; 3] = [
    "ALTER TABLE uses DROP CONSTRAINT acts",
    "ALTER TABLE runs DROP CONSTRAINT acts",
    "ALTER TABLE audit DROP CONSTRAINT acts",
];

const fn act(
    make: &'static str,
    undo: &'static str,
    told: &'static str,
    object: &'static str,
) -> Act<'static> {
    Act {
        make,
        undo,
        told,
        object,
    }
}

pub(super) fn acts(dialect: Dialect) -> Vec<Act<'static>> {
    let mut acts = on_every_server();
    acts.extend(match dialect {
        Dialect::Postgres => on_postgres(),
        Dialect::Mysql | Dialect::Mariadb => on_innodb(),
    });
    if dialect == Dialect::Mariadb {
        acts.extend(on_mariadb());
    }
    acts
}

fn on_every_server() -> Vec<Act<'static>> {
    let [of_uses, of_runs, of_audit] = DROP_KEY;
    vec![
        act(
            "ALTER TABLE uses ADD CONSTRAINT acts FOREIGN KEY (art_id) REFERENCES arts (id) ON DELETE CASCADE",
            of_uses,
            "table uses references arts by acts (on delete cascade)",
            "uses",
        ),
        act(
            "ALTER TABLE uses ADD CONSTRAINT acts FOREIGN KEY (art_id) REFERENCES arts (id) ON DELETE SET NULL",
            of_uses,
            "table uses references arts by acts (on delete set null)",
            "uses",
        ),
        act(
            "ALTER TABLE runs ADD CONSTRAINT acts FOREIGN KEY (retry_of) REFERENCES runs (id) ON DELETE CASCADE",
            of_runs,
            "table runs references runs by acts (on delete cascade)",
            "runs",
        ),
        act(
            "ALTER TABLE runs ADD CONSTRAINT acts FOREIGN KEY (retry_of) REFERENCES runs (id) ON DELETE SET NULL",
            of_runs,
            "table runs references runs by acts (on delete set null)",
            "runs",
        ),
        act(
            "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE",
            of_audit,
            "table audit references runs by acts (on delete cascade)",
            "audit",
        ),
        act(
            "CREATE TABLE other (id integer NOT NULL PRIMARY KEY, run_id integer, CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE)",
            "DROP TABLE other",
            "table other references runs by acts (on delete cascade)",
            "other",
        ),
        // The column that it names is set.
        act(
            "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES memos (run_id) ON UPDATE CASCADE",
            of_audit,
            "table audit references memos by acts (on update cascade)",
            "audit",
        ),
        // What it names is made of the column that is set.
        act(
            "ALTER TABLE memos ADD COLUMN twin integer GENERATED ALWAYS AS (run_id + 0) STORED, ADD CONSTRAINT twins UNIQUE (twin); ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES memos (twin) ON UPDATE CASCADE",
            "ALTER TABLE audit DROP CONSTRAINT acts; ALTER TABLE memos DROP CONSTRAINT twins, DROP COLUMN twin",
            "table audit references memos by acts (on update cascade)",
            "audit",
        ),
        // An edge joins the same tables, by another column.
        act(
            "ALTER TABLE uses ADD CONSTRAINT acts_too FOREIGN KEY (art_run) REFERENCES runs (id) ON DELETE CASCADE",
            "ALTER TABLE uses DROP CONSTRAINT acts_too",
            "table uses references runs by acts_too (on delete cascade)",
            "uses",
        ),
        act(
            "ALTER TABLE uses ADD CONSTRAINT acts FOREIGN KEY (art_id, art_run) REFERENCES arts (id, run_id) ON DELETE CASCADE",
            of_uses,
            "table uses references arts by acts (on delete cascade)",
            "uses",
        ),
    ]
}

fn on_postgres() -> Vec<Act<'static>> {
    let [of_uses, ..] = DROP_KEY;
    vec![
        act(
            "ALTER TABLE uses ALTER art_id SET DEFAULT 12, ADD CONSTRAINT acts FOREIGN KEY (art_id) REFERENCES arts (id) ON DELETE SET DEFAULT",
            of_uses,
            "table uses references arts by acts (on delete set default)",
            "uses",
        ),
        act(
            "CREATE SCHEMA aside; CREATE TABLE aside.uses (id integer, run_id integer, CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE)",
            "DROP SCHEMA aside CASCADE",
            "table aside.uses references runs by acts (on delete cascade)",
            "aside.uses",
        ),
        act(
            "CREATE RULE acts AS ON DELETE TO arts DO ALSO DELETE FROM audit",
            "DROP RULE acts ON arts",
            "table arts has the rule acts",
            "arts",
        ),
        act(
            "CREATE TABLE runs_kept () INHERITS (runs); INSERT INTO runs_kept (id, state, ended) VALUES (103, 'done', '2025-01-03 00:00:00')",
            "DROP TABLE runs_kept",
            "table runs_kept inherits from runs",
            "runs_kept",
        ),
        act(
            "CREATE RULE acts AS ON UPDATE TO memos DO ALSO DELETE FROM audit",
            "DROP RULE acts ON memos",
            "table memos has the rule acts, which acts on UPDATE",
            "memos",
        ),
        act(
            "CREATE TABLE memos_kept () INHERITS (memos); INSERT INTO memos_kept (id, run_id) VALUES (103, 3)",
            "DROP TABLE memos_kept",
            "table memos_kept inherits from memos",
            "memos_kept",
        ),
    ]
}

fn on_innodb() -> Vec<Act<'static>> {
    vec![
        act(
            "DROP DATABASE IF EXISTS aside; CREATE DATABASE aside; CREATE TABLE aside.uses (id integer NOT NULL PRIMARY KEY, run_id integer, CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES HERE.runs (id) ON DELETE CASCADE)",
            "DROP DATABASE aside",
            "table aside.uses references runs by acts (on delete cascade)",
            "aside.uses",
        ),
        act(
            "DROP DATABASE IF EXISTS aside; CREATE DATABASE aside; CREATE TABLE aside.bills (id integer NOT NULL PRIMARY KEY, run_id integer, CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES HERE.memos (run_id) ON UPDATE CASCADE)",
            "DROP DATABASE aside",
            "table aside.bills references memos by acts (on update cascade)",
            "aside.bills",
        ),
        act(
            "DROP DATABASE IF EXISTS aside; CREATE DATABASE aside; CREATE TABLE aside.bills (id integer NOT NULL PRIMARY KEY, run_id integer, CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES HERE.memos (run_id) ON UPDATE SET NULL)",
            "DROP DATABASE aside",
            "table aside.bills references memos by acts (on update set null)",
            "aside.bills",
        ),
        act(
            "ALTER TABLE uses ENGINE = MyISAM",
            "ALTER TABLE uses ENGINE = InnoDB",
            "table uses has the engine MyISAM",
            "uses",
        ),
        act(
            "ALTER TABLE memos ENGINE = MyISAM",
            "ALTER TABLE memos ENGINE = InnoDB",
            "table memos has the engine MyISAM",
            "memos",
        ),
    ]
}

/// Where it refuses, the run would end without its ledger.
fn on_mariadb() -> Vec<Act<'static>> {
    let [.., of_audit] = DROP_KEY;
    vec![
        act(
            "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES memos (run_id) ON UPDATE RESTRICT",
            of_audit,
            "table audit references memos by acts (on update restrict)",
            "audit",
        ),
        act(
            "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES memos (run_id) ON UPDATE NO ACTION",
            of_audit,
            "table audit references memos by acts (on update no action)",
            "audit",
        ),
        act(
            "DROP DATABASE IF EXISTS aside; CREATE DATABASE aside; CREATE TABLE aside.bills (id integer NOT NULL PRIMARY KEY, run_id integer, CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES HERE.memos (run_id) ON UPDATE RESTRICT)",
            "DROP DATABASE aside",
            "table aside.bills references memos by acts (on update restrict)",
            "aside.bills",
        ),
    ]
}
