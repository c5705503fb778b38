//! The kernel: the text that every spec shares. It is plain SQL without a hole, and names no schema: each routine looks
//! for unqualified names where it is itself.

use std::sync::OnceLock;

use self::file::{KernelFile, Prologue, Text};
pub(super) use self::list::files;
use super::json::quoted;
use super::names::hex12;
use super::sql;
use crate::bundle::{File, What};
use crate::dialect::Dialect;
use crate::graph::Graph;

/// A text below `templates/kernel/`, by its path there.
macro_rules! text {
    ($($path:literal),+) => {
        $crate::render::kernel::file::Text {
            path: concat!($($path),+),
            sql: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/templates/kernel/",
                $($path),+
            )),
        }
    };
}

mod file;
mod list;

/// Texts that several files have in them, where a line says `--+` and their name.
const PARTS: &[(&str, Text)] = &[
    ("settings.sql", text!("parts/settings.sql")),
    ("reasons.sql", text!("parts/reasons.sql")),
    ("callable.sql", text!("postgres/parts/callable.sql")),
    ("printed.sql", text!("postgres/parts/printed.sql")),
    ("called.sql", text!("postgres/parts/called.sql")),
    ("claims.sql", text!("postgres/parts/claims.sql")),
    ("rights.sql", text!("postgres/parts/rights.sql")),
    ("rights.sql", text!("innodb/parts/rights.sql")),
    ("as_made.sql", text!("innodb/parts/as_made.sql")),
    ("closing.sql", text!("innodb/parts/closing.sql")),
    ("planner.sql", text!("innodb/parts/planner.sql")),
    ("failed.sql", text!("innodb/parts/failed.sql")),
    ("raised.sql", text!("innodb/parts/raised.sql")),
    ("views.sql", text!("innodb/parts/views.sql")),
    ("held.sql", text!("postgres/parts/held.sql")),
    ("shapes.sql", text!("postgres/parts/shapes.sql")),
    ("shapes.sql", text!("innodb/parts/shapes.sql")),
    ("events.sql", text!("innodb/parts/events.sql")),
    ("jobs.sql", text!("postgres/parts/jobs.sql")),
    ("other_clock.sql", text!("postgres/parts/other_clock.sql")),
    ("starts.sql", text!("postgres/parts/starts.sql")),
    ("reshaped.sql", text!("postgres/parts/reshaped.sql")),
    ("reshaped.sql", text!("innodb/parts/reshaped.sql")),
];

/// The parts of a server, with those of all.
fn parts(dialect: Dialect) -> impl Iterator<Item = &'static (&'static str, Text)> {
    let other = match dialect {
        Dialect::Postgres => "innodb/",
        Dialect::Mysql | Dialect::Mariadb => "postgres/",
    };
    let parts = PARTS.iter();
    parts.filter(move |(_, part)| !part.path.starts_with(other))
}

/// A query for objects of others under windrow's names; `who` is a query for the others.
pub(super) fn claims(who: &str) -> String {
    let query = format!("WITH who AS ({who})\n--+ claims.sql");
    with_parts(&query, Dialect::Postgres)
}

/// A query for what somebody else may do, and for constraints that are not as installed; on MySQL and MariaDB for routines and
/// views that have other rights than they were made with.
pub(super) fn rights(dialect: Dialect, control: &str, who: &str) -> String {
    let query = match dialect {
        Dialect::Postgres => {
            format!("WITH who AS ({who})\nSELECT r.* FROM (\n--+ rights.sql\n) AS r")
        }
        Dialect::Mysql | Dialect::Mariadb => "--+ rights.sql".to_owned(),
    };
    asked(&query, dialect, control)
}

/// A query for what of the tables and views of the control schema is not as the last installation noted it; on PostgreSQL `who`
/// is a query for the names of the installation.
pub(super) fn shapes(dialect: Dialect, control: &str, who: &str) -> String {
    let query = match dialect {
        Dialect::Postgres => format!("WITH who AS ({who})\n--+ reshaped.sql"),
        Dialect::Mysql | Dialect::Mariadb => "--+ reshaped.sql".to_owned(),
    };
    asked(&query, dialect, control)
}

/// A query for what of the schedule is not as it was made. Where an installation left it out, nobody misses what starts no run. A row
/// without a name: jobs of pg_cron that the caller may not see, since they are another login's.
pub(super) fn schedule(dialect: Dialect, control: &str, who: &str) -> String {
    let query = match dialect {
        Dialect::Postgres => format!(
            "WITH who AS ({who})\nSELECT CASE WHEN j.beside THEN j.name END AS name, j.problem, j.remedy FROM (\n--+ jobs.sql\n) AS j\n\
             CROSS JOIN control AS c\n\
             WHERE j.hidden OR j.beside AND (j.severity = 'violation' OR c.scheduled)"
        ),
        Dialect::Mysql | Dialect::Mariadb => {
            "SELECT j.name, j.detail, IF(j.idle IS NULL, 'run windrow install', 'windrow install leaves it so') FROM (\n\
             --+ events.sql\n) AS j\nCROSS JOIN control AS c\nWHERE j.beside AND (j.idle IS NULL OR c.scheduled)"
                .to_owned()
        }
    };
    asked(&query, dialect, control)
}

/// What a run of MySQL or MariaDB tells the planner by settings of its session, a statement each. On PostgreSQL each routine has
/// its own.
pub fn planner(dialect: Dialect) -> Vec<String> {
    if dialect == Dialect::Postgres {
        return Vec::new();
    }
    let part = sql::spoken(dialect, &with_parts("--+ planner.sql", dialect));
    let lines = part
        .lines()
        .map(|line| line.trim().trim_end_matches([';', ' ']));
    let statements = lines.filter(|line| line.starts_with("SET "));
    statements.map(str::to_owned).collect()
}

/// A query of the kernel as it is asked from outside of the control schema.
fn asked(query: &str, dialect: Dialect, control: &str) -> String {
    let mut query = with_parts(query, dialect);
    if dialect != Dialect::Postgres {
        query = query.replace("DATABASE()", &format!("'{control}'"));
    }
    for table in ["known_shape", "known_job", "rule", "spec", "control"] {
        for join in ["FROM", "JOIN"] {
            let [from, to] =
                ["", &format!("{control}.")].map(|home| format!("{join} {home}{table} AS"));
            query = query.replace(&from, &to);
        }
    }
    query
}

/// The hash of all tables as the kernel makes them, which is the same in every spec.
pub(super) fn ledger(dialect: Dialect) -> String {
    static HASHES: [OnceLock<String>; 2] = [OnceLock::new(), OnceLock::new()];
    let hash = &HASHES[usize::from(dialect == Dialect::Postgres)];
    hash.get_or_init(|| ledger_of(dialect)).clone()
}

fn ledger_of(dialect: Dialect) -> String {
    let mut tables = String::new();
    for file in list::all(dialect) {
        let chunks = file.text.sql.split("--# ");
        let made = chunks.filter(|chunk| chunk.starts_with("create table "));
        tables.extend(made.map(sql::trim_statement));
    }
    hex12(&tables)
}

/// What is in front of statements that an installation does for each archive, and after them.
const EACH: [&str; 2] = ["each archive", "end"];

/// A text with the parts in it, as far in as the lines that name them.
fn with_parts(text: &str, dialect: Dialect) -> String {
    let mut whole = String::new();
    for line in text.lines() {
        let code = line.trim_start();
        let name = code
            .strip_prefix("--+ ")
            .filter(|name| !EACH.contains(name));
        let part = name.map(|name| {
            parts(dialect)
                .find(|(known, _)| *known == name)
                .expect("a part of the kernel")
        });
        match part {
            Some((_, part)) => {
                let indent = &line[..line.len() - code.len()];
                for line in with_parts(part.sql, dialect).lines() {
                    whole.extend([if line.is_empty() { "" } else { indent }, line, "\n"]);
                }
            }
            None => whole.extend([line, "\n"]),
        }
    }
    whole
}

/// What a session is given that applies a file: documents.
pub(super) struct Told {
    /// The document of the spec.
    pub(super) spec: String,
    /// That of its rules.
    pub(super) rules: String,
    /// What the schedule starts.
    pub(super) schedule: String,
    /// What an uninstallation takes away, and the indexes among it: quoted, the last one first.
    pub(super) undo: String,
    pub(super) indexes: Vec<(String, String)>,
    /// The tables that have an archive, as literals, with their archive tables and views.
    pub(super) archives: Vec<[String; 3]>,
}

impl Told {
    /// The document of the spec as an installation keeps it, with what it keeps besides that.
    fn installed(&self, beside: &str) -> String {
        let beside = beside.trim().strip_suffix('}').map(str::trim_end);
        self.spec
            .replacen('{', &format!("{},", beside.unwrap_or_default()), 1)
    }
}

/// What is in `generated/` for the files of the kernel: which they are, by their hashes, and what they are given.
pub(super) fn stand_ins(graph: &Graph, dialect: Dialect, told: &Told) -> Vec<File> {
    let files = files(graph, dialect);
    if files.is_empty() {
        return Vec::new();
    }
    let folder = format!("{}/{}", graph.name, dialect.facts().folder);
    let origin = sql::origin(graph);
    let mut lock = format!(
        "# 10_kernel.lock: the files of the kernel that this installation has, the same in every spec.\n\
         # {origin}\n\
         # `windrow generate --bundle FOLDER` writes them out, in the order in which a client applies them.\n"
    );
    let mut stand_ins = Vec::new();
    for file in files {
        lock += &file.text.locked();
        let document = match file.prologue {
            Prologue::Owner | Prologue::Commits => continue,
            Prologue::Installer => &told.spec,
            Prologue::Rules => &told.rules,
            Prologue::Schedule => &told.schedule,
            Prologue::Undo => &told.undo,
        };
        let name = file.name.replace(".sql", ".json");
        stand_ins.push(File {
            path: format!("{folder}/{name}"),
            statements: Vec::new(),
            text: document.replacen('{', &format!("{{\n  \"generated\": \"{origin}\","), 1) + "\n",
            kernel: false,
        });
    }
    for (_, part) in parts(dialect) {
        lock += &part.locked();
    }
    stand_ins.push(File {
        path: format!("{folder}/10_kernel.lock"),
        statements: Vec::new(),
        text: lock,
        kernel: false,
    });
    stand_ins
}

impl KernelFile {
    /// What its statements do.
    pub(super) fn statements(&self, dialect: Dialect, control: &str, told: &Told) -> Vec<What> {
        let text = with_archives(&self.text.markers(), dialect, told);
        let markers = text.lines().filter_map(|line| line.strip_prefix("--# "));
        markers
            .map(|what| {
                qualified(what, control).map_or_else(|| What::new(what), |it| What::new(&it))
            })
            .collect()
    }

    /// The text as an installation applies it. In front of it stands who does and where unqualified names lead, and the
    /// markers of its statements name the schema.
    pub(super) fn text(
        &self,
        dialect: Dialect,
        control: &str,
        owner: &str,
        told: &Told,
        beside: &str,
    ) -> String {
        if dialect != Dialect::Postgres {
            return self.innodb(dialect, control, told, beside);
        }
        let mut text = "--# set lock_timeout\nSET lock_timeout = '5s';\n\
             --# set statement_timeout\nSET statement_timeout = '1min';\n"
            .to_owned();
        let document = |document: &str| {
            format!(
                "--# tell the session what the spec says\n\
                 SET windrow.document = {};\n",
                quoted(dialect, document)
            )
        };
        // 10_control.sql claims the schema or refuses. Where it belongs to somebody else, this is an error, and otherwise does nothing.
        let become_owner = format!(
            "--# become {owner}\nSET ROLE {owner};\n\
             --# set the owner of schema {control}\nALTER SCHEMA {control} OWNER TO CURRENT_ROLE;\n"
        );
        let owned = format!(
            "{become_owner}--# look in {control}\nSET search_path = {control}, pg_catalog, pg_temp;\n"
        );
        text += &match self.prologue {
            Prologue::Owner => owned,
            Prologue::Rules => owned + &document(&told.rules),
            Prologue::Commits => become_owner,
            Prologue::Installer => document(&told.installed(beside)),
            Prologue::Schedule => claimed(dialect, control, owner) + &document(&told.schedule),
            Prologue::Undo => document(&told.undo),
        };
        text.push('\n');
        let bare = match self.prologue {
            Prologue::Undo => undo(self.text.sql, control, &told.indexes),
            _ => with_archives(
                &self.text.whole(|sql| with_parts(sql, dialect)),
                dialect,
                told,
            ),
        };
        for line in bare.lines() {
            let line = match self.prologue {
                Prologue::Commits => line.replace("windrow.", &format!("{control}.")),
                _ => line.to_owned(),
            };
            text.push_str(&marked(&line, control).unwrap_or(line));
            text.push('\n');
        }
        if ![Prologue::Schedule, Prologue::Undo].contains(&self.prologue) {
            text.push_str("--# become who installs\nRESET ROLE;\n");
        }
        if [Prologue::Owner, Prologue::Installer, Prologue::Rules].contains(&self.prologue) {
            text.push_str("--# look where who installs looks\nRESET search_path;\n");
        }
        text
    }

    /// The same where unqualified names are those of the default database; routines look where they are themselves.
    fn innodb(&self, dialect: Dialect, control: &str, told: &Told, beside: &str) -> String {
        let mut text = session(Some(control));
        let document = match self.prologue {
            Prologue::Installer => Some(told.installed(beside)),
            Prologue::Rules => Some(told.rules.clone()),
            _ => None,
        };
        if let Some(document) = document {
            text += &format!(
                "--# tell the session what the spec says\nSET @windrow_document = {};\n",
                quoted(dialect, &document)
            );
        }
        text.push('\n');
        for line in with_archives(
            &self.text.whole(|sql| with_parts(sql, dialect)),
            dialect,
            told,
        )
        .lines()
        {
            text.push_str(&marked(line, control).unwrap_or_else(|| line.to_owned()));
            text.push('\n');
        }
        text
    }
}

/// What the session of every file of MySQL and MariaDB is given: a routine keeps the mode, the character set and the collation
/// that it was created with. No statement waits long for a table that a session holds, and none is refused or read otherwise
/// by what a client (`--safe-updates`) or a server has set. Then it goes to the control database, where there is one.
pub(super) fn session(control: Option<&str>) -> String {
    let mut text = "--# set session
SET NAMES utf8mb4 COLLATE utf8mb4_bin, time_zone = '+00:00', autocommit = 1, lock_wait_timeout = 5, sql_safe_updates = 0,
    sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', sql_big_selects = 1,
    sql_buffer_result = 0, max_sort_length = 4096, group_concat_max_len = 67108864 /*M! , sql_if_exists = 0, alter_algorithm = 'DEFAULT' */;
"
    .to_owned();
    if let Some(control) = control {
        text += &format!("--# use {control}\nUSE {control};\n");
    }
    text
}

/// PostgreSQL: refuses what the first file has refused, with the rights of who installs.
fn claimed(dialect: Dialect, control: &str, owner: &str) -> String {
    let (control, owner) = (dialect.text(control), dialect.text(&dialect.bare(owner)));
    format!(
        "-- 10_control.sql has claimed the schema, or refused.\n--# refuse a schema of somebody else\nDO $windrow$\nBEGIN\n    \
         IF (SELECT pg_catalog.pg_get_userbyid(n.nspowner) FROM pg_catalog.pg_namespace AS n WHERE n.nspname = {control})\n        \
         IS DISTINCT FROM {owner} THEN\n        \
         RAISE EXCEPTION 'schema % does not belong to its owner role: apply 10_control.sql first', {control}\n            \
         USING ERRCODE = '55000';\n    END IF;\nEND\n$windrow$;\n"
    )
}

/// A text with some of its statements once for each archive: the session is given the table, and the markers say of which
/// archive and view.
fn with_archives(text: &str, dialect: Dialect, told: &Told) -> String {
    let [begin, end] = EACH.map(|name| format!("--+ {name}\n"));
    let block = text
        .split_once(&begin)
        .and_then(|(before, rest)| Some((before, rest.split_once(&end)?)));
    let Some((before, (each, behind))) = block else {
        return text.to_owned();
    };
    let variable = match dialect {
        Dialect::Postgres => "windrow.archived",
        Dialect::Mysql | Dialect::Mariadb => "@windrow_archived",
    };
    let mut whole = before.to_owned();
    for [table, archive, entry] in &told.archives {
        whole += &format!("--# tell the session whose archive\nSET {variable} = {table};\n");
        for line in each.lines() {
            let line = match line.strip_prefix("--# ") {
                Some(_) => line
                    .replace("this archive", archive)
                    .replace("this view", entry),
                None => line.to_owned(),
            };
            whole.extend([&line, "\n"]);
        }
    }
    whole + behind
}

/// What an uninstallation does, with the statements that drop the indexes, each outside of a transaction. The markers say of
/// which schema.
fn undo(bare: &str, control: &str, indexes: &[(String, String)]) -> String {
    let mut text = String::new();
    for line in bare.lines() {
        match line {
            "--+ indexes" => {
                for (name, qualified) in indexes {
                    text += &format!(
                        "--! drop index {name}\nDROP INDEX CONCURRENTLY IF EXISTS {qualified};\n"
                    );
                }
                text.push('\n');
            }
            "--# unschedule" | "--# drop schema" => text.extend([line, " ", control, "\n"]),
            _ => text.extend([line, "\n"]),
        }
    }
    text
}

/// A marker with the schema before the name of its object; none for any other line.
fn marked(line: &str, control: &str) -> Option<String> {
    let what = qualified(line.strip_prefix("--# ")?, control)?;
    Some(format!("--# {what}"))
}

/// What a statement does, with the schema before the name of its object; none where that has none, or has it already.
fn qualified(what: &str, control: &str) -> Option<String> {
    let (verb, name) = what.rsplit_once(' ')?;
    let kinds = ["function", "procedure", "table", "view"];
    let kind = verb.rsplit_once(' ')?.1;
    (kinds.contains(&kind) && !name.contains('.')).then(|| format!("{verb} {control}.{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_names_the_schema_and_nothing_else_does() {
        let marker = |line| marked(line, "windrow_x");
        assert_eq!(
            marker("--# create table rule").as_deref(),
            Some("--# create table windrow_x.rule")
        );
        assert_eq!(
            marker("--# comment on function pace").as_deref(),
            Some("--# comment on function windrow_x.pace")
        );
        assert_eq!(marker("--# create trigger check_setting"), None);
        assert_eq!(marker("CREATE TABLE rule ("), None);
    }
}
