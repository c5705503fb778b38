//! What an inserted row costs with the triggers of `orphan_guard`, without them, and with a foreign key.

use std::time::Instant;

use anyhow::{Result, ensure};
use windrow::dialect::Dialect;
use windrow::render;

use crate::data::{self, Lab};
use crate::report::Report;
use crate::{ROUNDS, backend, cpu_seconds};

/// How many rows are inserted, each by a statement of its own, in one transaction.
const ROWS: i64 = 40_000;

/// A child of the root table, and a child of that one; the statement takes the key of a parent.
const CHILDREN: [(&str, &str, &str); 2] = [
    (
        "t_ds_task_instance",
        "INSERT INTO t_ds_task_instance (name, task_type, task_code, task_definition_version, workflow_instance_id) VALUES ('guarded', 'SHELL', 1, 1, $1)",
        "ADD FOREIGN KEY (workflow_instance_id) REFERENCES t_ds_workflow_instance (id) NOT VALID",
    ),
    (
        "t_ds_task_group_queue",
        "INSERT INTO t_ds_task_group_queue (task_id, task_name, group_id, workflow_instance_id, force_start, in_queue) VALUES ($1, 'guarded', 1, NULL, 0, 0)",
        "ADD FOREIGN KEY (task_id) REFERENCES t_ds_task_instance (id) NOT VALID",
    ),
];

/// Plain, with triggers and with a foreign key, in turns.
pub(crate) fn measure(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let mut graph = data::graph()?;
    graph.rules[0].orphan_guard = true;
    let bundle = render::bundle(&graph, Dialect::Postgres)?;
    let numbered = bundle.files.into_iter().filter(|file| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        name.starts_with(|first: char| first.is_ascii_digit()) && !name.starts_with("90")
    });
    let triggers: Vec<_> = numbered.flat_map(|file| file.statements).collect();
    for (table, insert, key) in CHILDREN {
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (variant, times) in times.iter_mut().enumerate() {
                lab.fresh(false)?;
                let mut client = lab.connect()?;
                match variant {
                    0 => (),
                    1 => data::install(&mut client, &triggers)?,
                    _ => client.batch_execute(&format!("ALTER TABLE {table} {key}"))?,
                }
                let parent = if table == "t_ds_task_instance" {
                    "t_ds_workflow_instance"
                } else {
                    "t_ds_task_instance"
                };
                let sql = format!("SELECT id FROM {parent} ORDER BY id DESC LIMIT 10000");
                let keys: Vec<i32> = client
                    .query(&sql, &[])?
                    .iter()
                    .map(|row| row.get(0))
                    .collect();
                ensure!(keys.len() == 10_000, "only {} parents", keys.len());
                let mut transaction = client.build_transaction().start()?;
                let insert = transaction.prepare(insert)?;
                let pid: i32 = transaction
                    .query_one("SELECT pg_backend_pid()", &[])?
                    .get(0);
                let pid = pid.unsigned_abs();
                let (cpu, began) = (cpu_seconds(pid), Instant::now());
                for row in 0..ROWS {
                    let key = keys[usize::try_from(row)? % keys.len()];
                    transaction.execute(&insert, &[&key])?;
                }
                transaction.commit()?;
                ensure!(backend(&mut client)? == pid, "another session");
                times.push((cpu_seconds(pid) - cpu, began.elapsed().as_secs_f64()));
            }
        }
        let name = |what: &str| format!("insert into {table}{what}");
        let [plain, guarded, keyed] = times;
        report.variant(&name(""), ROWS, &plain);
        report.variant(&name(", with triggers"), ROWS, &guarded);
        report.variant(&name(", with a foreign key"), ROWS, &keyed);
        let cpu = |times: &[(f64, f64)]| times.iter().map(|time| time.0).collect::<Vec<_>>();
        report.ratio(
            &name(" without triggers"),
            &cpu(&guarded),
            &cpu(&plain),
            None,
        );
        report.ratio(
            &name(" with a foreign key"),
            &cpu(&guarded),
            &cpu(&keyed),
            None,
        );
    }
    Ok(())
}
