//! A session with a history: it calls routines, slows down or stops what deletes, and asks whether a family was torn apart
//! and whether the ledger tells the truth.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windrow::db::Row;
use windrow::dialect::Dialect;
use windrow::render;

use crate::support::installation::{Session, bytes_of, call, columns_of};
use crate::support::patience::until;

/// A row is there if and only if everything is there that it belonged to; linked instances share their fate.
const TORN: &str = "
SELECT CONCAT('row ', b.tab, ' ', b.id)
FROM before_row AS b
LEFT JOIN before_present AS p ON p.tab = b.tab AND p.id = b.id
LEFT JOIN before_owner AS o ON o.tab = b.tab AND o.id = b.id
LEFT JOIN t_ds_workflow_instance AS i ON i.id = o.instance
GROUP BY b.tab, b.id
HAVING MIN(CASE WHEN p.id IS NULL THEN 0 ELSE 1 END) <> MIN(CASE WHEN o.instance IS NOT NULL AND i.id IS NULL THEN 0 ELSE 1 END)
UNION ALL
SELECT CONCAT('link ', l.upper_id, ' ', l.lower_id)
FROM before_link AS l
LEFT JOIN t_ds_workflow_instance AS u ON u.id = l.upper_id
LEFT JOIN t_ds_workflow_instance AS d ON d.id = l.lower_id
WHERE (u.id IS NULL) <> (d.id IS NULL)";

const GONE: &str = "
SELECT COUNT(*)
FROM before_row AS b
LEFT JOIN before_present AS p ON p.tab = b.tab AND p.id = b.id
WHERE p.id IS NULL";

/// A session with a history.
pub(crate) struct Client {
    pub(crate) session: Session,
    pub(crate) dialect: Dialect,
    pub(super) control: String,
}

impl Client {
    /// What is written in one way for PostgreSQL and in another for MySQL and MariaDB.
    pub(crate) fn either<T>(&self, postgres: T, mysql: T) -> T {
        match self.dialect {
            Dialect::Postgres => postgres,
            Dialect::Mysql | Dialect::Mariadb => mysql,
        }
    }

    /// Executes a script; `W.` stands for the control schema.
    pub(crate) fn execute(&mut self, sql: &str) -> Result<()> {
        let sql = self.named(sql);
        self.session.execute(&sql).context(sql)
    }

    /// All rows; `W.` stands for the control schema.
    pub(crate) fn rows(&mut self, sql: &str) -> Result<Vec<Row>> {
        let sql = self.named(sql);
        self.session.query(&sql, &[]).context(sql)
    }

    /// The first column of a query.
    pub(crate) fn texts(&mut self, sql: &str) -> Result<Vec<String>> {
        let rows = self.rows(sql)?.into_iter();
        rows.map(|row| row[0].clone().with_context(|| format!("NULL from {sql}")))
            .collect()
    }

    /// The one number that a query answers.
    pub(crate) fn number(&mut self, sql: &str) -> Result<i64> {
        let cast = self.either("::bigint", "");
        let texts = self.texts(&format!("SELECT ({sql}){cast}"))?;
        texts[0].parse().with_context(|| format!("{texts:?}"))
    }

    pub(super) fn named(&self, sql: &str) -> String {
        sql.replace("W.", &format!("{}.", self.control))
    }

    /// Calls a routine that takes and answers one document.
    pub(crate) fn call(&mut self, routine: &str, options: &Value) -> Result<Value> {
        call(
            &mut self.session,
            self.dialect,
            &self.control,
            routine,
            options,
        )
    }

    pub(crate) fn run(&mut self, options: &Value) -> Result<Value> {
        self.call("run", options)
    }

    /// Calls run() and takes its only rule's document.
    pub(crate) fn run_rule(&mut self, options: &Value) -> Result<(Value, Value)> {
        let result = self.run(options)?;
        let rule = result["rules"][0].clone();
        Ok((result, rule))
    }

    /// Overrides a limit.
    pub(crate) fn set(&mut self, name: &str, value: i64) -> Result<()> {
        self.call("set_setting", &json!({"name": name, "value": value}))?;
        Ok(())
    }

    /// Ids of due roots that go, oldest first.
    pub(crate) fn due(&mut self, limit: usize) -> Result<Vec<i64>> {
        let sql = match self.dialect {
            Dialect::Postgres => format!(
                "SELECT n.root
                 FROM W.workflow_instances_next(clock_timestamp(), NULL, NULL, '-infinity', 0, {limit} * 3) AS n
                 WHERE n.root IN (
                     SELECT g.id FROM (
                         SELECT unnest(o_members) AS id FROM W.judge(
                             'workflow_instances', ARRAY(SELECT x.root::bigint FROM W.workflow_instances_next(clock_timestamp(), NULL, NULL, '-infinity', 0, {limit} * 3) AS x),
                             clock_timestamp(), NULL, NULL, false, false, '{{}}')
                     ) AS g
                 )
                 ORDER BY n.ended, n.root LIMIT {limit}"
            ),
            Dialect::Mysql | Dialect::Mariadb => {
                self.execute(&format!(
                    "CALL W.end_time_open('workflow_instances');
                     CALL W.work_end_time('workflow_instances');
                     CALL W.end_time_scope('workflow_instances', UTC_TIMESTAMP(6), NULL, NULL);
                     CALL W.workflow_instances_next({limit} * 3);
                     CALL W.judge_end_time('workflow_instances', false, NULL, false, @families)"
                ))?;
                format!("SELECT r.id FROM W.work_root AS r JOIN W.work_member AS m ON m.id = r.id ORDER BY r.ended, r.id LIMIT {limit}")
            }
        };
        let due = self.texts(&sql)?;
        if self.dialect != Dialect::Postgres {
            self.execute("CALL W.end_time_close('workflow_instances')")?;
        }
        let due: Vec<i64> = due
            .iter()
            .map(|id| Ok(id.parse()?))
            .collect::<Result<_>>()?;
        ensure!(due.len() == limit, "only {} families are due", due.len());
        Ok(due)
    }

    /// Whether the root-table row is there.
    pub(crate) fn is_there(&mut self, id: i64) -> Result<bool> {
        let sql = format!("SELECT COUNT(*) FROM t_ds_workflow_instance WHERE id = {id}");
        Ok(self.number(&sql)? == 1)
    }

    /// Whether a family of `before` is torn apart.
    pub(crate) fn torn(&mut self) -> Result<Vec<String>> {
        self.texts(TORN)
    }

    /// The state of the application's tables.
    pub(crate) fn digest(&mut self) -> Result<Vec<String>> {
        self.texts("SELECT CONCAT(tab, id) FROM before_present ORDER BY tab, id")
    }

    /// Every row of a table, or of what has its columns, byte by byte, in an order of its own.
    pub(crate) fn bytes(&mut self, table: &str, from: &str) -> Result<Vec<String>> {
        let columns = self.texts(&columns_of(self.dialect, table))?;
        self.texts(&bytes_of(self.dialect, &columns, from))
    }

    /// No family is torn apart, and the ledger accounts for every row that is gone.
    pub(crate) fn check_whole(&mut self) -> Result<()> {
        let torn = self.torn()?;
        ensure!(torn.is_empty(), "torn apart: {torn:?}");
        self.check_ledger()
    }

    /// The ledger accounts for every row that is gone, by rule and by table.
    fn check_ledger(&mut self) -> Result<()> {
        let gone = self.number(GONE)?;
        for table in ["run_rule", "run_table"] {
            let told = self.number(&format!(
                "SELECT COALESCE(SUM(t.deleted_rows), 0) FROM W.{table} AS t JOIN W.run AS r ON r.run_id = t.run_id WHERE NOT r.dry_run"
            ))?;
            ensure!(
                gone == told,
                "{gone} rows are gone, {table} tells of {told}"
            );
        }
        let families = self.number(
            "SELECT COUNT(*) FROM before_instance AS b WHERE b.is_sub_workflow = 0 AND NOT EXISTS (SELECT 1 FROM t_ds_workflow_instance AS i WHERE i.id = b.id)",
        )?;
        let told = self.number(
            "SELECT COALESCE(SUM(t.families), 0) FROM W.run_rule AS t JOIN W.run AS r ON r.run_id = t.run_id WHERE NOT r.dry_run",
        )?;
        ensure!(
            families == told,
            "{families} families are gone, the ledger tells of {told}"
        );
        Ok(())
    }

    /// Nobody holds the lock of the runs.
    pub(crate) fn check_unlocked(&mut self) -> Result<()> {
        let sql = match self.dialect {
            Dialect::Postgres => "SELECT COUNT(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database() WHERE l.locktype = 'advisory'".to_owned(),
            Dialect::Mysql | Dialect::Mariadb => {
                let name = render::run_lock(&self.control);
                format!("SELECT (IS_USED_LOCK('{name}') IS NOT NULL) + (IS_USED_LOCK('{name}.w2') IS NOT NULL) + (SELECT COUNT(*) FROM W.run AS r WHERE IS_USED_LOCK(CONCAT('{name}.', r.run_id)) IS NOT NULL)")
            }
        };
        let locks = self.number(&sql)?;
        ensure!(locks == 0, "{locks} locks of runs are left");
        Ok(())
    }

    /// Lets every deletion from some tables take its time, so that a blow falls inside a batch.
    pub(crate) fn slow_down(&mut self, milliseconds: u32) -> Result<()> {
        let tables = [
            "alert",
            "task_instance",
            "relation_workflow_instance",
            "workflow_instance",
        ];
        if self.dialect == Dialect::Postgres {
            self.execute(&format!(
                "CREATE FUNCTION before_slow() RETURNS trigger LANGUAGE plpgsql AS $$
                 BEGIN PERFORM pg_sleep({milliseconds} / 1000.0); RETURN NULL; END $$"
            ))?;
        }
        for table in tables {
            // A trigger for each statement, or, where there are none, for some of the rows.
            let trigger = self.either(
                "FOR EACH STATEMENT EXECUTE FUNCTION before_slow()".to_owned(),
                format!("FOR EACH ROW BEGIN DECLARE v integer; IF OLD.id % 11 = 0 THEN SET v = SLEEP({milliseconds} / 1000); END IF; END"),
            );
            self.execute(&format!(
                "CREATE TRIGGER slow_{table} AFTER DELETE ON t_ds_{table} {trigger}"
            ))?;
        }
        Ok(())
    }

    /// Takes back what `slow_down` did.
    pub(crate) fn speed_up(&mut self) -> Result<()> {
        self.execute(self.either(
            "DROP FUNCTION before_slow() CASCADE",
            "DROP TRIGGER slow_alert; DROP TRIGGER slow_task_instance; DROP TRIGGER slow_relation_workflow_instance; DROP TRIGGER slow_workflow_instance",
        ))
    }

    /// Lets whoever writes to a table in this way sleep until he is cancelled.
    pub(crate) fn stop_at(&mut self, table: &str, event: &str) -> Result<()> {
        if self.dialect == Dialect::Postgres {
            return self.execute(&format!(
                "CREATE FUNCTION public.before_stop() RETURNS trigger LANGUAGE plpgsql AS $$
                 BEGIN PERFORM pg_sleep(60); RETURN COALESCE(NEW, OLD); END $$;
                 CREATE TRIGGER before_stop BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION public.before_stop()"
            ));
        }
        let trigger = Self::stop(table);
        self.execute(&format!(
            "CREATE TRIGGER {trigger} BEFORE {event} ON {table} FOR EACH ROW BEGIN DECLARE v integer; SET v = SLEEP(60); END"
        ))
    }

    /// Takes back what `stop_at` did.
    pub(crate) fn stop_no_more(&mut self, table: &str) -> Result<()> {
        self.execute(&self.either(
            "DROP FUNCTION public.before_stop() CASCADE".to_owned(),
            format!("DROP TRIGGER {}", Self::stop(table)),
        ))
    }

    /// A trigger stands in the database of its table.
    fn stop(table: &str) -> &str {
        if table.starts_with("W.") {
            "W.before_stop"
        } else {
            "before_stop"
        }
    }

    /// Waits until a run later than `after` has committed a batch, and answers its id and session.
    pub(crate) fn until_batches(&mut self, after: i64) -> Result<(i64, i64)> {
        let sql = format!(
            "SELECT r.run_id, r.backend_pid FROM W.run AS r JOIN W.run_rule AS p ON p.run_id = r.run_id WHERE r.status = 'running' AND r.trigger <> 'PURGE' AND p.batches > 0 AND r.run_id > {after} ORDER BY r.run_id DESC LIMIT 1"
        );
        let mut found = Vec::new();
        until("a run is under way", || {
            found = self.rows(&sql)?;
            Ok(!found.is_empty())
        })?;
        let number = |place: usize| -> Result<i64> {
            Ok(found[0][place].as_deref().context("a number")?.parse()?)
        };
        Ok((number(0)?, number(1)?))
    }

    /// The present instant of the server, to count cutoffs from in several runs.
    pub(crate) fn present(&mut self) -> Result<String> {
        let sql = self.either(
            "SELECT now()::text",
            "SELECT DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%dT%TZ')",
        );
        Ok(self.texts(sql)?.remove(0))
    }

    /// What the ledger says of each run, in their order.
    pub(crate) fn statuses(&mut self) -> Result<Vec<String>> {
        self.texts("SELECT status FROM W.run ORDER BY run_id")
    }

    /// Ends another session from outside.
    pub(crate) fn terminate(&mut self, session: i64) -> Result<()> {
        self.execute(&self.either(
            format!("SELECT pg_terminate_backend({session})"),
            format!("KILL CONNECTION {session}"),
        ))
    }
}
