//! The ways in which the same rows are deleted otherwise: one DELETE per table, a loop, and pt-archiver.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::lab::Lab;
use crate::observe::Run;

/// Rows of a table at a time, in the loop and in pt-archiver.
const CHUNK: usize = 1000;

/// How long the loop may take.
const NAIVE_SECONDS: u64 = 120;

/// A column that leads to a member, by itself or over a row of another table that has a member.
type Way = (&'static str, Option<&'static str>);

/// Whose rows are deleted, in order.
const TARGETS: [(&str, &[Way]); 11] = [
    (
        "t_ds_task_instance_context",
        &[("task_instance_id", Some("t_ds_task_instance"))],
    ),
    (
        "t_ds_task_group_queue",
        &[
            ("workflow_instance_id", None),
            ("task_id", Some("t_ds_task_instance")),
        ],
    ),
    ("t_ds_task_instance", &[("workflow_instance_id", None)]),
    (
        "t_ds_alert_send_status",
        &[("alert_id", Some("t_ds_alert"))],
    ),
    ("t_ds_alert", &[("workflow_instance_id", None)]),
    ("t_ds_command", &[("workflow_instance_id", None)]),
    ("t_ds_error_command", &[("workflow_instance_id", None)]),
    ("t_ds_serial_command", &[("workflow_instance_id", None)]),
    (
        "t_ds_relation_workflow_instance",
        &[
            ("parent_workflow_instance_id", None),
            ("workflow_instance_id", None),
        ],
    ),
    (
        "t_ds_relation_sub_workflow",
        &[
            ("parent_workflow_instance_id", None),
            ("sub_workflow_instance_id", None),
        ],
    ),
    ("t_ds_workflow_instance", &[("id", None)]),
];

impl Lab {
    /// The loop that everybody writes first, on a fresh copy.
    pub(super) fn naive(&self) -> Result<Run> {
        let (mut worker, mut reader) = (self.connect()?, self.connect()?);
        for sql in naive() {
            worker.execute(&sql)?;
        }
        worker.execute(&self.finding(""))?;
        let progress =
            "SELECT deleted_rows, batches, UNIX_TIMESTAMP(updated_at) FROM bench.progress";
        self.observed(&mut reader, progress, || {
            worker.execute("CALL bench.naive()")
        })
    }

    /// Finds the members of all families that may be deleted, with sets.
    fn finding(&self, temporary: &str) -> String {
        let over = format!(
            "(i.state IN (3, 5, 6, 7) AND i.end_time < '{}' - INTERVAL 31 DAY)",
            self.as_of
        );
        format!(
            "CREATE TEMPORARY TABLE bench.family (root bigint, member bigint, PRIMARY KEY (root, member), KEY (member));
             CREATE TEMPORARY TABLE bench.stays (root bigint PRIMARY KEY);
             CREATE {temporary} TABLE bench.doomed (member bigint PRIMARY KEY);
             INSERT INTO bench.family (root, member)
             WITH RECURSIVE m (root, member) AS (
                 SELECT i.id, i.id FROM t_ds_workflow_instance AS i WHERE i.is_sub_workflow = 0 AND {over}
                 UNION
                 SELECT m.root, l.workflow_instance_id
                 FROM m JOIN t_ds_relation_workflow_instance AS l ON l.parent_workflow_instance_id = m.member
                 UNION
                 SELECT m.root, l.sub_workflow_instance_id
                 FROM m JOIN t_ds_relation_sub_workflow AS l ON l.parent_workflow_instance_id = m.member
             )
             SELECT m.root, m.member FROM m;
             INSERT INTO bench.stays (root)
             SELECT DISTINCT f.root
             FROM bench.family AS f JOIN t_ds_workflow_instance AS i ON i.id = f.member
             WHERE {over} IS NOT TRUE;
             INSERT INTO bench.doomed (member)
             SELECT DISTINCT f.member
             FROM bench.family AS f LEFT JOIN bench.stays AS s ON s.root = f.root
             WHERE s.root IS NULL"
        )
    }

    /// The limit: one joined DELETE per table and way to its rows, in one transaction.
    pub(super) fn unbatched(&self) -> Result<()> {
        let mut session = self.connect()?;
        let deletes: String = ways()
            .map(|(table, column, through)| {
                let (by, key) = match through {
                    Some(through) => (
                        format!("STRAIGHT_JOIN {through} AS p ON p.workflow_instance_id = d.member"),
                        "p.id",
                    ),
                    None => (String::new(), "d.member"),
                };
                format!("DELETE x FROM bench.doomed AS d {by} STRAIGHT_JOIN {table} AS x ON x.{column} = {key};\n")
            })
            .collect();
        session.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
        session.execute(&format!(
            "{}; START TRANSACTION; {deletes} COMMIT",
            self.finding("TEMPORARY")
        ))
    }

    /// pt-archiver, a process per table, each along the primary key.
    pub(super) fn archiver(&self, options: &[&str]) -> Result<()> {
        self.connect()?.execute(&self.finding(""))?;
        for (table, _) in TARGETS {
            let source = format!(
                "S={},u=root,D=dolphinscheduler,t={table},i=PRIMARY",
                self.server.socket().display()
            );
            let output = Command::new("pt-archiver")
                .args(["--source", &source, "--where", &condition(table)])
                .args(["--purge", "--limit", &CHUNK.to_string(), "--commit-each"])
                .args(["--primary-key-only", "--no-safe-auto-increment"])
                .args(["--no-check-charset", "--no-version-check"])
                .args(options)
                .stdin(Stdio::null())
                .output()
                .context("cannot run `pt-archiver`: `.ci/setup bench` installs it")?;
            ensure!(
                output.status.success(),
                "pt-archiver failed on {table}\n\n{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(())
    }
}

/// Tables, columns and the tables between, one by one.
pub(super) fn ways() -> impl Iterator<Item = (&'static str, &'static str, Option<&'static str>)> {
    TARGETS
        .into_iter()
        .flat_map(|(table, ways)| ways.iter().map(move |(column, by)| (table, *column, *by)))
}

/// What tells the rows of a table that go, for statements that cannot join. A scalar subquery stays what it is: a
/// look-up by key for each row that is passed.
fn condition(table: &str) -> String {
    ways()
        .filter(|(of, _, _)| *of == table)
        .map(|(_, column, through)| match through {
            Some(through) => format!(
                "(SELECT d.member FROM dolphinscheduler.{through} AS p JOIN bench.doomed AS d ON d.member = p.workflow_instance_id WHERE p.id = {table}.{column}) IS NOT NULL"
            ),
            None => format!(
                "(SELECT d.member FROM bench.doomed AS d WHERE d.member = {table}.{column}) IS NOT NULL"
            ),
        })
        .collect::<Vec<_>>()
        .join(" OR ")
}

/// DELETE … LIMIT again and again, table by table.
pub(super) fn naive() -> [String; 3] {
    let loops: String = TARGETS
        .iter()
        .map(|(table, _)| {
            format!(
                "REPEAT
                     START TRANSACTION;
                     DELETE FROM dolphinscheduler.{table} WHERE {} LIMIT {CHUNK};
                     SET n = ROW_COUNT();
                     UPDATE bench.progress
                     SET deleted_rows = deleted_rows + n, batches = batches + 1, updated_at = UTC_TIMESTAMP(6);
                     COMMIT;
                 UNTIL n = 0 OR UTC_TIMESTAMP() > stop END REPEAT;\n",
                condition(table)
            )
        })
        .collect();
    [
        "CREATE TABLE bench.progress (deleted_rows bigint NOT NULL, batches bigint NOT NULL, updated_at datetime(6) NOT NULL)".to_owned(),
        "INSERT INTO bench.progress VALUES (0, 0, UTC_TIMESTAMP(6))".to_owned(),
        format!(
            "CREATE PROCEDURE bench.naive()
             BEGIN
                 DECLARE n bigint;
                 DECLARE stop datetime DEFAULT UTC_TIMESTAMP() + INTERVAL {NAIVE_SECONDS} SECOND;
                 {loops}
             END"
        ),
    ]
}
