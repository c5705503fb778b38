//! What windrow asks of a database once it is installed: the calls of the control schema and the few questions about
//! its tables, in the words of each dialect. Text only: no connection, no answer.
//!
//! A *document* is one row with one JSON text; *documents* are many such rows; a parameter is always a text.

use crate::bundle::Probe;
use crate::dialect::Dialect;

mod list;
mod mysql;
mod postgres;

pub use list::List;

/// The parts of a partitioned table that have rows themselves: each as SQL writes it, its name, and its schema (PostgreSQL).
/// Parameter: the table.
pub fn parts_of() -> &'static str {
    postgres::PARTS
}

/// The calls of one control schema.
#[derive(Clone, Debug)]
pub struct Calls {
    dialect: Dialect,
    /// Name of the control schema, quoted.
    control: String,
    /// The same, bare.
    name: String,
    /// Name of the lock that a run holds (MySQL, MariaDB).
    lock: String,
}

impl Calls {
    /// The calls of the control schema of this name.
    pub fn new(dialect: Dialect, name: &str, lock: &str) -> Calls {
        Calls {
            dialect,
            control: dialect.ident(name),
            name: name.to_owned(),
            lock: dialect.text(lock),
        }
    }

    /// The name of the control schema.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server that these texts are for.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// A routine that takes an option document and answers one, and has no transactions of its own.
    pub fn ask(&self, routine: &str) -> String {
        match self.dialect {
            Dialect::Postgres => format!("SELECT {}.{routine}($1::jsonb)::text", self.control),
            Dialect::Mysql | Dialect::Mariadb => format!("CALL {}.{routine}(?)", self.control),
        }
    }

    /// The replicas that `windrow heartbeat` keeps on MySQL and MariaDB: name, instant of the beat that each had, its state, and the
    /// instant of the last look.
    pub fn replicas(&self) -> String {
        mysql::REPLICAS.replace("{w}", &self.control)
    }

    /// The last beat that a replica of MySQL or MariaDB has.
    pub fn beat(&self) -> String {
        mysql::BEAT.replace("{w}", &self.control)
    }

    /// A procedure that takes an option document, commits as it goes, and answers a document.
    pub fn perform(&self, procedure: &str) -> String {
        match self.dialect {
            Dialect::Postgres => format!("CALL {}.{procedure}($1::jsonb)", self.control),
            Dialect::Mysql | Dialect::Mariadb => format!("CALL {}.{procedure}(?)", self.control),
        }
    }

    /// The same call as a person would write it.
    pub fn shown(&self, procedure: &str, options: &str) -> String {
        format!("CALL {}.{procedure}('{options}')", self.name)
    }

    /// `arm` or `resume`: a procedure without a parameter and an answer.
    pub fn order(&self, procedure: &str) -> String {
        format!("CALL {}.{procedure}()", self.control)
    }

    /// Arms. Parameter: the options.
    pub fn arm(&self) -> String {
        self.perform(match self.dialect {
            Dialect::Postgres => "arm",
            Dialect::Mysql | Dialect::Mariadb => "arm_with",
        })
    }

    /// The cluster that is armed, as `arm` names it, where this server belongs to it; null for a server, or before anything was armed.
    pub fn armed_cluster(&self) -> String {
        match self.dialect {
            Dialect::Postgres => format!(
                "SELECT CASE WHEN c.server_identity LIKE 'cluster %' THEN current_setting('cluster_name') END FROM {}.control AS c",
                self.control
            ),
            Dialect::Mysql | Dialect::Mariadb => mysql::ARMED_CLUSTER.replace("{w}", &self.control),
        }
    }

    /// What follows a call that was cancelled, in the same session: it can end where the server lets nothing close the
    /// ledger, and on MySQL it leaves its transaction open.
    pub fn after_cancel(&self) -> Vec<String> {
        match self.dialect {
            Dialect::Postgres => vec![format!("SELECT {}.reap()", self.control)],
            Dialect::Mysql | Dialect::Mariadb => vec![
                "ROLLBACK".to_owned(),
                format!("CALL {}.reap()", self.control),
            ],
        }
    }

    /// Puts rows of partitions back that a run took out of their table (MySQL, MariaDB).
    pub fn give_back(&self) -> Option<String> {
        match self.dialect {
            Dialect::Postgres => None,
            Dialect::Mysql | Dialect::Mariadb => Some(format!("CALL {}.give_back()", self.control)),
        }
    }

    /// Pauses; parameter: the reason.
    pub fn pause(&self) -> String {
        match self.dialect {
            Dialect::Postgres => format!("CALL {}.pause($1)", self.control),
            Dialect::Mysql | Dialect::Mariadb => format!("CALL {}.pause(?)", self.control),
        }
    }

    /// A document: whether the server starts the scheduled runs. On PostgreSQL `verify()` cannot check that for its caller.
    pub fn schedule_check(&self) -> String {
        match self.dialect {
            Dialect::Postgres => format!("SELECT {}.schedule_check()::text", self.control),
            Dialect::Mysql | Dialect::Mariadb => format!("CALL {}.schedule_check()", self.control),
        }
    }

    /// Notes that no installation makes the schedule: runs are started from elsewhere.
    pub fn unschedule(&self) -> String {
        format!(
            "UPDATE {}.control SET scheduled = false WHERE only_row = true AND scheduled",
            self.control
        )
    }

    /// Notes that an installation leaves the triggers out, where runs look whether it has made them.
    pub fn without_triggers(&self) -> Option<String> {
        (self.dialect != Dialect::Postgres).then(|| {
            format!(
                "UPDATE {}.known_trigger SET hash = '-' WHERE name > '' AND hash = ''",
                self.control
            )
        })
    }

    /// Answers a row where an installation left the schedule out. An earlier version noted nothing of it.
    pub fn left_out(&self) -> String {
        format!(
            "SELECT 1 FROM {}.control AS c WHERE NOT c.scheduled",
            self.control
        )
    }

    /// The events of a control database that somebody has disabled. Parameter: the database.
    pub fn disabled_events(&self) -> Option<&'static str> {
        match self.dialect {
            // What pg_cron has stopped, it leaves so.
            Dialect::Postgres => None,
            Dialect::Mysql | Dialect::Mariadb => Some(
                "SELECT e.event_name FROM information_schema.events AS e WHERE e.event_schema = ? AND e.status = 'DISABLED'",
            ),
        }
    }

    /// Documents: the rows of a table.
    pub fn list(&self, list: List) -> String {
        self.written(postgres::list(list), || mysql::list(list))
    }

    /// A document: the state of the installation. Parameter: the name of the spec.
    pub fn status(&self) -> String {
        self.written(postgres::STATUS.to_owned(), mysql::status)
    }

    /// Documents: past runs, the newest first. Parameter: how many. `stamps`: whether the spec says how removal times are
    /// set, so that there is a ledger of that.
    pub fn history(&self, stamps: bool) -> String {
        let progress = if stamps {
            "(SELECT run_id, families, deleted_rows, 0 AS changed_rows, batches FROM {w}.run_rule
                UNION ALL SELECT run_id, families, 0, changed_rows, batches FROM {w}.run_stamp)"
        } else {
            "(SELECT run_id, families, deleted_rows, 0 AS changed_rows, batches FROM {w}.run_rule)"
        };
        self.written(postgres::HISTORY.replace("{progress}", progress), || {
            mysql::history().replace("{progress}", progress)
        })
    }

    /// One row: families, rows and batches of what a procedure is doing. Parameter: the number of its session.
    pub fn progress(&self, procedure: &str) -> String {
        let (table, rows) = match procedure {
            "stamp" => ("run_stamp", "changed_rows"),
            _ => ("run_rule", "deleted_rows"),
        };
        self.written(postgres::PROGRESS.to_owned(), || mysql::PROGRESS.to_owned())
            .replace("{progress}", table)
            .replace("{rows}", rows)
    }

    /// Rows of artifact, host and path, marked as being tried. Parameter: at most how many.
    pub fn claim_artifacts(&self) -> String {
        self.written(postgres::CLAIM.to_owned(), || {
            "CALL {w}.claim_artifacts(?)".to_owned()
        })
    }

    /// Rows of artifact and table: files of which a row that is there names the path. Parameter: a JSON array of their numbers.
    pub fn named_artifacts(&self) -> String {
        self.written(postgres::NAMED.to_owned(), || {
            "CALL {w}.named_artifacts(?)".to_owned()
        })
    }

    /// Parameters: the artifact, and the error if it could not be removed.
    pub fn finish_artifact(&self) -> String {
        self.written(postgres::FINISH.to_owned(), || {
            "CALL {w}.finish_artifact(?, ?)".to_owned()
        })
    }

    /// Rows with the schemas and names of the archive tables. Parameter: the control schema.
    pub fn archives(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => postgres::ARCHIVES,
            Dialect::Mysql | Dialect::Mariadb => mysql::ARCHIVES,
        }
    }

    /// A row where an archive table of a schema has any, or may have some that row security hides. One beside the control schema was a
    /// partition of the application: no statement reads it, since the planner calls the functions that its indexes name.
    pub fn any_row(&self, control: &str, schema: &str, table: &str) -> String {
        let is_partition = schema != control;
        let [schema, table] = [schema, table].map(|name| self.dialect.ident(name));
        let table = format!("{schema}.{table}");
        let hidden = match self.dialect {
            Dialect::Postgres if is_partition => {
                return format!(
                    "SELECT '1' WHERE pg_catalog.pg_relation_size({}::pg_catalog.regclass) > 0",
                    self.dialect.text(&table)
                );
            }
            Dialect::Postgres => format!(
                "SELECT '1' WHERE pg_catalog.row_security_active({}::text) UNION ALL ",
                self.dialect.text(&table)
            ),
            Dialect::Mysql | Dialect::Mariadb => String::new(),
        };
        format!("{hidden}(SELECT '1' FROM {table} LIMIT 1) LIMIT 1")
    }

    /// The rows of an archive table in its order, of one run or of all.
    pub fn archived(&self, table: &str, run: Option<u64>) -> String {
        let table = self.dialect.ident(table);
        let of_run = run.map_or(String::new(), |run| {
            format!(" WHERE windrow_run_id = {run}")
        });
        format!(
            "SELECT * FROM {}.{table}{of_run} ORDER BY windrow_run_id, windrow_row_id",
            self.control
        )
    }

    /// The rows of an archived partition, as they are stored.
    pub fn detached(&self, schema: &str, table: &str) -> String {
        let [schema, table] = [schema, table].map(|name| self.dialect.ident(name));
        format!("SELECT * FROM {schema}.{table}")
    }

    /// Lets the uninstallation of this session drop archived rows.
    pub fn allow_drop(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => "SET windrow.drop_archive = 'yes'",
            Dialect::Mysql | Dialect::Mariadb => "SET @windrow_drop_archive = 'yes'",
        }
    }

    /// Rows of kind, name, body, comment and the statement that drops it, of what is in the control schema: routines,
    /// events, triggers of their owner (MySQL, MariaDB), views, tables and their columns; the last three of these without
    /// body, comment and statement. Parameter: its name.
    pub fn objects(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => postgres::OBJECTS,
            Dialect::Mysql | Dialect::Mariadb => mysql::OBJECTS,
        }
    }

    /// Rows of the owner roles of other installations and the tables on which these have a right. Parameters: the owner role of this one,
    /// the schema or database of the tables, and the right: `DELETE`, or `SELECT`, which they have on every table that they look into.
    pub fn overlaps(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => postgres::OVERLAPS,
            Dialect::Mysql | Dialect::Mariadb => mysql::OVERLAPS,
        }
    }

    /// A row if the control schema exists, as far as this session may see it. Parameter: its name.
    pub fn installed(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => {
                "SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                 WHERE n.nspname = $1 AND c.relname = 'control'"
            }
            Dialect::Mysql | Dialect::Mariadb => {
                "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = 'control'"
            }
        }
    }

    /// The indexes that the installation with this control schema needs: rows of table, name and each column with which one has to lead
    /// that serves in its place; NULL where none does.
    pub fn needed_indexes(&self, control: &str) -> String {
        let control = self.dialect.ident(control);
        match self.dialect {
            Dialect::Postgres => format!(
                "SELECT t.key, x.value, c.name FROM {control}.spec AS s CROSS JOIN LATERAL jsonb_each(s.document -> 'indexes') AS t
                 CROSS JOIN LATERAL jsonb_array_elements_text(t.value) AS x
                 LEFT JOIN LATERAL jsonb_array_elements_text(s.document -> 'led_by' -> x.value) WITH ORDINALITY AS c(name, place) ON true
                 ORDER BY t.key, x.value, c.place"
            ),
            Dialect::Mysql | Dialect::Mariadb => format!(
                "SELECT k.table_name, k.index_name, k.column_name FROM {control}.known_index AS k
                 ORDER BY k.table_name, k.index_name, k.place"
            ),
        }
    }

    /// A row for each policy: its rule, its scope and its retention in seconds.
    pub fn retentions(&self) -> String {
        format!(
            "SELECT p.rule, p.scope, p.retention_seconds FROM {}.policy AS p ORDER BY p.rule, p.scope",
            self.control
        )
    }

    /// A row for what was decided for each rule by its name: holds in force, policies, pauses and settings, each with the key, scope or
    /// name, and the columns that it is a value of; `already` where it matches no installed rule either.
    pub fn decided(&self) -> String {
        let control = &self.control;
        format!(
            "SELECT d.kind, d.rule, d.name, d.refers_to,
                 CASE WHEN r.rule IS NULL OR d.refers_to <> coalesce(n.refers_to, '') THEN 'already' END
             FROM {control}.decided AS d
             LEFT JOIN {control}.rule AS r ON r.rule = d.rule
             LEFT JOIN {control}.rule_refers AS n ON n.rule = d.rule AND n.kind = d.kind
             WHERE d.in_force
             ORDER BY d.kind, d.rule, 5, d.refers_to, d.name"
        )
    }

    /// The same, kind by kind, of an installation of an earlier version, which has only the tables.
    pub fn decided_before(&self) -> [String; 4] {
        let control = &self.control;
        let (key, scope, now) = match self.dialect {
            Dialect::Postgres => (
                "r.root || '(' || (
                     SELECT string_agg(regexp_replace(k.said, ' [a-z]+$', ''), ', ' ORDER BY k.place)
                     FROM jsonb_array_elements_text(r.document -> 'key') WITH ORDINALITY AS k(said, place)
                 ) || ')'",
                "r.root || '.' || r.scope_name",
                "clock_timestamp()",
            ),
            Dialect::Mysql | Dialect::Mariadb => (
                "LOWER(CONCAT(r.root, REPLACE(REPLACE(REPLACE(
                     REGEXP_REPLACE(CAST(JSON_EXTRACT(r.document, '$.key') AS char CHARACTER SET utf8mb4), ' [a-z]+\"', '\"'),
                     '[\"', '('), '\"]', ')'), '\", \"', ', ')))",
                "LOWER(CONCAT(r.root, '.', r.scope_name))",
                "UTC_TIMESTAMP(6)",
            ),
        };
        let name = self.dialect.ident("key");
        let of = |table| format!("{table} AS d LEFT JOIN {control}.rule AS r ON r.rule = d.rule");
        let holds = of("hold") + &format!(" WHERE d.until IS NULL OR d.until > {now}");
        [
            ("hold", format!("d.{name}"), key, holds),
            ("policy", "d.scope".to_owned(), scope, of("policy")),
            ("pause", "NULL".to_owned(), "NULL", of("rule_pause")),
            ("setting", "d.name".to_owned(), "NULL", of("setting")),
        ]
        .map(|(kind, name, refers_to, from)| {
            format!(
                "SELECT '{kind}', d.rule, {name}, {refers_to}, CASE WHEN r.rule IS NULL THEN 'already' END FROM {control}.{from}
                 ORDER BY d.rule, 3"
            )
        })
    }

    /// One row with the name of the spec that is installed.
    pub fn installed_spec(&self) -> String {
        format!("SELECT c.spec FROM {}.control AS c", self.control)
    }

    /// One row with the hash of what the spec says that is installed.
    pub fn meaning(&self) -> String {
        let hash = match self.dialect {
            Dialect::Postgres => "s.document ->> 'meaning'",
            Dialect::Mysql | Dialect::Mariadb => "JSON_VALUE(s.document, '$.meaning')",
        };
        format!("SELECT {hash} FROM {}.spec AS s", self.control)
    }

    /// One row of the rows, seconds and number of the last five runs of a rule that deleted some. Parameters: the rule, and
    /// `true` for runs that a schedule started, `false` for those that somebody did; a purge is neither.
    pub fn speed(&self) -> String {
        self.written(postgres::SPEED.to_owned(), || mysql::SPEED.to_owned())
    }

    /// A row with the families of a rule that became due in an hour, as the last run saw it. Parameter: the rule.
    pub fn inflow(&self) -> String {
        let sql = "SELECT due_per_hour FROM {w}.run_backlog WHERE rule = {p} ORDER BY run_id DESC LIMIT 1";
        self.written(sql.replace("{p}", "$1"), || sql.replace("{p}", "?"))
    }

    /// One row of the minutes by which the clock of a zone is before UTC now. Parameter: the zone.
    pub fn offset(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => {
                "SELECT (extract(epoch FROM (now() AT TIME ZONE $1) - (now() AT TIME ZONE 'UTC')) / 60)::bigint"
            }
            Dialect::Mysql | Dialect::Mariadb => {
                "SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', ?))"
            }
        }
    }

    /// One row of what the server logs of a deleted row: whether page images (PostgreSQL), whether anything, and which
    /// columns (MySQL, MariaDB); and of the minutes since 1970.
    pub fn log_settings(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => {
                "SELECT current_setting('full_page_writes'), '', (extract(epoch FROM now()) / 60)::bigint"
            }
            Dialect::Mysql | Dialect::Mariadb => {
                "SELECT IF(@@GLOBAL.log_bin, 'on', 'off'), @@GLOBAL.binlog_row_image, UNIX_TIMESTAMP() DIV 60"
            }
        }
    }

    /// One row of the bytes that a value of each of these columns has on the average, among the first thousand rows of a
    /// table.
    pub fn widths(&self, table: &str, columns: &[&str]) -> String {
        let names: Vec<String> = columns
            .iter()
            .map(|name| self.dialect.ident(name))
            .collect();
        let averages: Vec<String> = names
            .iter()
            .map(|name| match self.dialect {
                Dialect::Postgres => format!("coalesce(avg(pg_column_size({name})), 0)::float8"),
                Dialect::Mysql | Dialect::Mariadb => {
                    format!("COALESCE(AVG(COALESCE(LENGTH({name}), 0)), 0)")
                }
            })
            .collect();
        format!(
            "SELECT {} FROM (SELECT {} FROM {table} LIMIT 1000) AS s",
            averages.join(", "),
            names.join(", ")
        )
    }

    /// Tells the session which windrow installs. Parameter: its version.
    pub fn tell_version(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => "SELECT set_config('windrow.version', $1, false)",
            Dialect::Mysql | Dialect::Mariadb => "SET @windrow_version = ?",
        }
    }

    /// Rows of an instant and the version of windrow that has installed since, the newest first. An installation of an earlier
    /// version has no such table.
    pub fn versions(&self) -> String {
        let since = match self.dialect {
            Dialect::Postgres => {
                "to_char(v.since AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
            }
            Dialect::Mysql | Dialect::Mariadb => "DATE_FORMAT(v.since, '%Y-%m-%dT%H:%i:%sZ')",
        };
        format!(
            "SELECT {since}, v.version FROM {}.installed_version AS v ORDER BY v.since DESC",
            self.control
        )
    }

    /// A row where an earlier installation overruled something.
    pub fn forced_install(&self) -> String {
        format!(
            "SELECT 1 FROM {}.control WHERE forced_install IS NOT NULL",
            self.control
        )
    }

    /// One row: why runs delete nothing on this server, nothing where they may.
    pub fn not_armed(&self) -> String {
        self.written("SELECT reason FROM {w}.arming".to_owned(), || {
            format!("SELECT {} FROM {{w}}.control AS c", mysql::not_armed())
        })
    }

    /// One row: a figure above 0 where the server takes no writes, as a standby and most replicas do.
    pub fn read_only(&self) -> String {
        self.written(
            "SELECT pg_is_in_recovery()::integer::text".to_owned(),
            || "SELECT CAST(@@GLOBAL.read_only AS char) NOT IN ('0', 'OFF')".to_owned(),
        )
    }

    /// One row with `true` where this session is now the only one to install. Parameter: the control schema.
    pub fn lock_install(&self) -> String {
        self.written(postgres::LOCK_INSTALL.to_owned(), || {
            mysql::LOCK_INSTALL.to_owned()
        })
    }

    /// A row where another session holds that lock: its number, its user and its application, empty where unknown.
    /// Parameter: the control schema.
    pub fn install_lock_holder(&self) -> String {
        self.written(postgres::INSTALL_LOCK_HOLDER.to_owned(), || {
            mysql::INSTALL_LOCK_HOLDER.to_owned()
        })
    }

    /// Settings of a session in which a statement may take its time.
    pub fn unlimited(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => "SET statement_timeout = 0",
            Dialect::Mysql => "SET SESSION max_execution_time = 0",
            Dialect::Mariadb => "SET SESSION max_statement_time = 0",
        }
    }

    /// From here on no statement of the session waits long for a lock, and those wait who come after it.
    pub fn impatient(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => "SET lock_timeout = '2s'",
            Dialect::Mysql | Dialect::Mariadb => "SET SESSION lock_wait_timeout = 2",
        }
    }

    /// A setting that ends the session when its client is gone, for servers and systems that have it.
    pub fn watch_client(&self) -> Option<&'static str> {
        match self.dialect {
            Dialect::Postgres => Some("SET client_connection_check_interval = '10s'"),
            Dialect::Mysql | Dialect::Mariadb => None,
        }
    }

    /// Rows of quoted name, bare name and building session of the indexes that an earlier installation left
    /// unfinished, where the server leaves any. Parameter: the schema of the application.
    pub fn unfinished_indexes(&self) -> Option<&'static str> {
        match self.dialect {
            Dialect::Postgres => Some(postgres::UNFINISHED_INDEXES),
            Dialect::Mysql | Dialect::Mariadb => None,
        }
    }

    /// Asks for the plan of a statement: one JSON document on PostgreSQL, rows of a table elsewhere, where the JSON
    /// changes from version to version.
    pub fn explain(&self, sql: &str) -> String {
        match self.dialect {
            Dialect::Postgres => format!("EXPLAIN (FORMAT JSON) {sql}"),
            Dialect::Mysql | Dialect::Mariadb => format!("EXPLAIN FORMAT=TRADITIONAL {sql}"),
        }
    }

    /// Makes the planner of PostgreSQL plan as in a routine that turns these settings off.
    pub fn planner(&self, off: &[&str]) -> Option<String> {
        let list = |names: &[&str]| format!("'{{{}}}'", names.join(","));
        (self.dialect == Dialect::Postgres).then(|| {
            format!(
                "SELECT set_config(s.name, CASE WHEN s.name = ANY ({}) THEN 'off' ELSE s.reset_val END, false) \
                 FROM pg_settings AS s WHERE s.name = ANY ({})",
                list(off),
                list(&Probe::SETTINGS)
            )
        })
    }

    /// Fills the names into a text.
    fn written(&self, postgres: String, mysql: impl FnOnce() -> String) -> String {
        let text = match self.dialect {
            Dialect::Postgres => postgres,
            Dialect::Mysql | Dialect::Mariadb => mysql(),
        };
        text.replace("{w}", &self.control)
            .replace("{lock}", &self.lock)
            .replace("{name}", &self.dialect.text(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_call_has_a_text_for_each_dialect() {
        let calls = |dialect| Calls::new(dialect, "windrow_x", "windrow_x.run");
        let (postgres, mysql) = (calls(Dialect::Postgres), calls(Dialect::Mysql));
        assert_eq!(
            postgres.ask("preview"),
            "SELECT \"windrow_x\".preview($1::jsonb)::text"
        );
        assert_eq!(mysql.ask("preview"), "CALL `windrow_x`.preview(?)");
        assert_eq!(mysql.shown("run", "{}"), "CALL windrow_x.run('{}')");
        assert!(mysql.status().contains("CONCAT('windrow_x.run', IF("));
        assert!(!mysql.status().contains('{'));
        for list in [
            List::Policy,
            List::Hold,
            List::Setting,
            List::SettingLog,
            List::Window,
            List::Artifact,
        ] {
            assert!(postgres.list(list).contains("\"windrow_x\"."));
            assert!(mysql.list(list).contains("`windrow_x`."));
        }
    }
}
