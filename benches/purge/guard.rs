//! What an inserted row costs with the triggers of `orphan_guard`, without them, and with a foreign key.

use std::time::Instant;

use anyhow::{Result, ensure};
use windrow::bundle::Statement;
use windrow::dialect::Dialect;

use crate::data::{self, Lab};
use crate::observe::{backend, cpu_seconds};
use crate::plan::ROUNDS;
use crate::report::Report;

/// How many rows are inserted, each by a statement of its own, in one transaction.
pub(crate) const ROWS: usize = 40_000;

/// A child of the root table, and a child of that one; the statement takes the key of a parent.
pub(crate) const CHILDREN: [(&str, &str, &str); 2] = [
    (
        "t_ds_task_instance",
        "INSERT INTO t_ds_task_instance (name, task_type, task_code, task_definition_version, workflow_instance_id) VALUES ('guarded', 'SHELL', 1, 1, ?)",
        "ADD FOREIGN KEY (workflow_instance_id) REFERENCES t_ds_workflow_instance (id)",
    ),
    (
        "t_ds_task_group_queue",
        "INSERT INTO t_ds_task_group_queue (task_id, task_name, group_id, workflow_instance_id, force_start, in_queue) VALUES (?, 'guarded', 1, NULL, 0, 0)",
        "ADD FOREIGN KEY (task_id) REFERENCES t_ds_task_instance (id)",
    ),
];

/// Keys of parents that the rows take in turns.
const PARENTS: usize = 10_000;

/// CPU and wall seconds of the rounds: plain, with triggers, with a foreign key.
pub(crate) type Times = [Vec<(f64, f64)>; 3];

/// The statements that install the triggers with all else.
pub(crate) fn triggers(dialect: Dialect) -> Result<Vec<Statement>> {
    let mut graph = data::graph()?;
    graph.rules[0].orphan_guard = true;
    Ok(data::statements_of(&graph, dialect)?.1)
}

/// The youngest rows that a row of a table may hang on.
pub(crate) fn parents(table: &str) -> String {
    let parent = match table {
        "t_ds_task_instance" => "t_ds_workflow_instance",
        _ => "t_ds_task_instance",
    };
    format!("SELECT id FROM {parent} ORDER BY id DESC LIMIT {PARENTS}")
}

/// Plain, with triggers and with a foreign key, in turns.
pub(crate) fn measure(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let triggers = triggers(Dialect::Postgres)?;
    for (table, insert, key) in CHILDREN {
        let mut times = Times::default();
        for _ in 0..ROUNDS {
            for (variant, times) in times.iter_mut().enumerate() {
                lab.fresh(false)?;
                let mut client = lab.connect()?;
                match variant {
                    0 => (),
                    1 => data::install(&mut client, &triggers)?,
                    _ => client.batch_execute(&format!("ALTER TABLE {table} {key} NOT VALID"))?,
                }
                let keys: Vec<i32> = client
                    .query(&parents(table), &[])?
                    .iter()
                    .map(|row| row.get(0))
                    .collect();
                ensure!(keys.len() == PARENTS, "only {} parents", keys.len());
                let mut transaction = client.build_transaction().start()?;
                let insert = transaction.prepare(&insert.replace('?', "$1"))?;
                let pid: i32 = transaction
                    .query_one("SELECT pg_backend_pid()", &[])?
                    .get(0);
                let pid = pid.unsigned_abs();
                let (cpu, began) = (cpu_seconds(pid), Instant::now());
                for key in keys.iter().cycle().take(ROWS) {
                    transaction.execute(&insert, &[key])?;
                }
                transaction.commit()?;
                ensure!(backend(&mut client)? == pid, "another session");
                times.push((cpu_seconds(pid) - cpu, began.elapsed().as_secs_f64()));
            }
        }
        tell(report, table, &times);
    }
    Ok(())
}

/// What the rows of a table took.
pub(crate) fn tell(report: &mut Report, table: &str, times: &Times) {
    let name = |what: &str| format!("insert into {table}{what}");
    let [plain, guarded, keyed] = times;
    for (what, times) in [
        ("", plain),
        (", with triggers", guarded),
        (", with a foreign key", keyed),
    ] {
        report.variant(&name(what), ROWS as i64, times);
    }
    let cpu = |times: &[(f64, f64)]| times.iter().map(|time| time.0).collect::<Vec<_>>();
    for (what, others) in [(" without triggers", plain), (" with a foreign key", keyed)] {
        report.ratio(&name(what), &cpu(guarded), &cpu(others), None);
    }
}
