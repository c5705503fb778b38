//! `docs/reference/sql.md`: what a DBA calls and reads inside the database, by the comments that the catalog shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;
use windrow::answers;
use windrow::bundle::{Bundle, File, Kind, Statement, Verb};
use windrow::dialect::Dialect;
use windrow::lint;
use windrow::render;

use super::cell;

/// A spec with all that an installation can have.
const SPEC: &str = r#"
name      = "x"
workers   = 2
heartbeat = "windrow"

[tables]
job  = { key = "id integer" }
task = { key = "id integer" }
tick = { key = "id integer" }
log  = { key = "id bigint" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = ["done"] }
end_time  = "ended timestamp"
retention = { default = "30d" }
archive   = true

[rules.tasks]
strategy  = "removal-time"
root      = "task"
time      = "remove_at timestamp"
end_time  = "ended"
tables    = ["task: root_id"]

[rules.tasks.stamp]
start = "started"
per   = "kind varchar"
from  = "definition: id -> keep days"

[rules.ticks]
strategy = "expiry"
root     = "tick"
time     = "expires timestamp"

[rules.logs]
strategy  = "partition"
root      = "log"
time      = "logged_at timestamp"
ahead     = "7d"
retention = { default = "90d" }
archive   = true
"#;

const HEAD: &str = "\
# Inside the database

Made of the comments that the catalog shows (`\\df+` and `\\d+` of psql, `information_schema.routines`), in the words of the installation.

All of it is in the schema `windrow_<spec>`; on MySQL and MariaDB that is a database. Examples without a schema want it in front, or \
in the search path (`USE windrow_<spec>`). An option document is JSON: an object with only what is given; null, and an option that there is \
not, are refused. On MySQL and MariaDB every routine is a procedure, and what it answers is a row with one JSON text. \
[The JSON Schema](../../specs/answers.schema.json) describes the documents that are named below.

Two roles may call them: `windrow_<spec>_auditor` what only reads, and `windrow_<spec>_operator` all of it. Neither needs a right on \
a table of the application. Routines for archives, stamps, workers and replicas are there where the spec has these.
";

/// What the catalog says of something.
#[derive(Default)]
struct Told {
    /// How it is written.
    form: String,
    text: String,
    examples: Vec<String>,
}

pub(super) fn page() -> String {
    let (graph, diagnostics) = lint::load(SPEC);
    let graph = graph.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let bundle = |dialect| render::bundle(&graph, dialect).expect("a bundle");
    let [postgres, mysql] = [Dialect::Postgres, Dialect::Mysql].map(bundle);
    let routines = [routines_of_postgres(&postgres), routines_of_mysql(&mysql)];
    let schema: Value = serde_json::from_str(&answers::json_schema()).expect("a schema");
    let mut page = HEAD.to_owned();
    let mut others = BTreeSet::new();
    let callable = callable(&postgres, &mysql);
    for role in ["auditor", "operator"] {
        let _ = writeln!(
            page,
            "\n## {}",
            match role {
                "auditor" => "What auditors call",
                _ => "What operators call besides",
            }
        );
        for (name, _) in callable.iter().filter(|(_, of)| **of == role) {
            let told = routines.each_ref().map(|all| all.get(name));
            let shown = told.iter().flatten().any(|it| !it.examples.is_empty());
            if shown {
                routine(&mut page, name, told, &schema);
            } else {
                others.insert(format!("`{name}`"));
            }
        }
    }
    let others: Vec<String> = others.into_iter().collect();
    let _ = writeln!(
        page,
        "\nOperators may call these as well, since procedures that commit do so with the rights of their caller, and the command line \
         does: {}. None of them is for people.",
        others.join(", ")
    );
    page += "\n## Views and tables\n\nAuditors read all of them but archived rows. The views are for people and monitoring; of the tables, \
             `policy`, `hold`, `setting`, `run` and what begins with `run_` say what was decided and done. Only routines write to them. Besides, each archived table has a table `archive_<table>`, and a view \
             `into_archive_<table>` by which rows come in.\n";
    for (title, kind) in [("Views", Kind::View), ("Tables", Kind::Table)] {
        let _ = writeln!(
            page,
            "\n### {title}\n\n| name | meaning | columns |\n|---|---|---|"
        );
        relations(&mut page, &postgres, &mysql, kind);
    }
    page
}

/// The routines that may be called, each with the role that may.
fn callable(postgres: &Bundle, mysql: &Bundle) -> BTreeMap<String, &'static str> {
    let mut found = BTreeMap::new();
    let mut note = |name: &str, role: &str| {
        let role = if role.contains("auditor") {
            "auditor"
        } else {
            "operator"
        };
        found.insert(name.to_owned(), role);
    };
    let text = |bundle: &Bundle, name: &str| {
        let mut files = bundle.files.iter();
        let file = files.find(|file| file.path.ends_with(name)).expect(name);
        file.text.clone()
    };
    for line in text(postgres, "51_rights.sql").lines() {
        if let ["(", name, ", ", role] = line.trim().split('\'').take(4).collect::<Vec<_>>()[..]
            && ["auditor", "operator"].contains(&role)
        {
            note(name, role);
        }
    }
    for line in text(mysql, "50_grants.sql").lines() {
        if let Some((name, role)) = line
            .strip_prefix("GRANT EXECUTE ON PROCEDURE windrow_x.")
            .and_then(|rest| rest.split_once(" TO "))
        {
            note(name, role);
        }
    }
    assert!(found.len() > 40, "{found:?}");
    found
}

fn routine(page: &mut String, name: &str, told: [Option<&Told>; 2], schema: &Value) {
    let _ = writeln!(page, "\n### {name}\n");
    let servers = ["PostgreSQL", "MySQL, MariaDB"];
    for (server, told) in servers.iter().zip(told) {
        match told {
            Some(told) => drop(writeln!(page, "- {server}: `{}`", told.form)),
            None => drop(writeln!(page, "- {server}: not there")),
        }
    }
    let texts: Vec<&str> = told.iter().flatten().map(|it| it.text.as_str()).collect();
    match texts[..] {
        [postgres, mysql] if postgres != mysql => {
            let _ = writeln!(page, "\n{postgres}\n\nMySQL, MariaDB: {mysql}");
        }
        [text, ..] => drop(writeln!(page, "\n{text}")),
        [] => {}
    }
    let definition = answers::definition(&name.replace('_', " "));
    let answers_json = |form: &str| form.ends_with("→ json") || form.contains("p_result json");
    let documents = told[0].is_some_and(|it| answers_json(&it.form));
    if documents && !schema["$defs"][&definition].is_null() {
        let _ = writeln!(page, "\nAnswers the document `{definition}`.");
    }
    page.push_str("\n```sql\n");
    for (server, told) in servers.iter().zip(told) {
        let examples = told.map_or(&[][..], |it| &it.examples);
        if !examples.is_empty() {
            let _ = writeln!(page, "-- {server}\n{}", examples.join("\n"));
        }
    }
    page.push_str("```\n");
}

/// The statements of the kernel with what they make or comment on.
fn statements(bundle: &Bundle) -> impl Iterator<Item = &Statement> {
    let kernel = |file: &&File| file.kernel && !file.path.contains("/90_");
    bundle
        .files
        .iter()
        .filter(kernel)
        .flat_map(|it| &it.statements)
}

fn routines_of_postgres(bundle: &Bundle) -> BTreeMap<String, Told> {
    let mut found: BTreeMap<String, Told> = BTreeMap::new();
    for statement in statements(bundle) {
        let (what, sql) = (&statement.what, bare(&statement.sql));
        if let Some(made) = what.made().filter(|made| made.kind.is_routine()) {
            let name = bare(made.bare());
            let head = sql.split_once("\nLANGUAGE").map_or("", |(head, _)| head);
            let head = head.rsplit_once("RETURNS ").unwrap_or((head, ""));
            let call = one_line(head.0);
            let call = call.split_once(&name).map_or("", |(_, call)| call);
            let arrow = if head.1.is_empty() { "" } else { " → " };
            let verb = if made.kind == Kind::Procedure {
                "CALL "
            } else {
                ""
            };
            let form = format!("{verb}{name}{}{arrow}{}", call.trim(), one_line(head.1));
            found.entry(name).or_default().form = form;
        }
        if let Some(of) = what.object().filter(|of| of.kind.is_routine())
            && what.verb() == Verb::CommentOn
        {
            let told = found.entry(bare(of.bare())).or_default();
            (told.text, told.examples) = comment(&literals(&sql));
        }
    }
    found
}

fn routines_of_mysql(bundle: &Bundle) -> BTreeMap<String, Told> {
    let mut found: BTreeMap<String, Told> = BTreeMap::new();
    for statement in statements(bundle) {
        let Some(made) = statement
            .what
            .made()
            .filter(|it| it.kind == Kind::Procedure)
        else {
            continue;
        };
        let (name, sql) = (bare(made.bare()), bare(&statement.sql));
        let head = sql
            .split_once("\nBEGIN")
            .map_or(sql.as_str(), |(head, _)| head);
        let call = head.split_once("\nSQL ").map_or(head, |(call, _)| call);
        let call = one_line(call);
        let call = call.split_once(&name).map_or("", |(_, call)| call);
        let text = head.split_once("COMMENT ").map_or("", |(_, text)| text);
        let (text, examples) = comment(&literals(text));
        let form = format!("CALL {name}{}", call.trim_start_matches('`').trim());
        found.insert(
            name,
            Told {
                form,
                text,
                examples,
            },
        );
    }
    found
}

/// Views or tables: by what PostgreSQL says of them, and what the others have besides.
fn relations(page: &mut String, postgres: &Bundle, mysql: &Bundle, kind: Kind) {
    let mut found: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for statement in statements(postgres) {
        let (what, sql) = (&statement.what, bare(&statement.sql));
        let object = what.object().filter(|it| it.kind == kind);
        if let Some(made) = what.made().filter(|it| it.kind == kind) {
            found.entry(bare(made.bare())).or_default().1 = columns(&sql);
        } else if let Some(of) = object.filter(|_| what.verb() == Verb::CommentOn) {
            found.entry(bare(of.bare())).or_default().0 = comment(&literals(&sql)).0;
        }
    }
    for statement in statements(mysql) {
        let Some(made) = statement.what.made().filter(|it| it.kind == kind) else {
            continue;
        };
        let sql = bare(&statement.sql);
        let name = bare(made.bare());
        let says = sql
            .split_once("COMMENT = ")
            .map(|(_, text)| comment(&literals(text)).0);
        let there = found.contains_key(&name);
        let (text, of) = found.entry(name).or_default();
        if text.is_empty() {
            let alone = if there { "" } else { "MySQL, MariaDB. " };
            *text = format!("{alone}{}", says.unwrap_or_default());
        }
        if of.is_empty() {
            *of = columns(&sql);
        }
    }
    // Each archived table has two of its own, which the text names.
    found.retain(|name, _| !name.contains("archive_"));
    for (name, (text, columns)) in found {
        let _ = writeln!(
            page,
            "| `{name}` | {} | {} |",
            cell(&text),
            columns.join(", ")
        );
    }
}

/// The names of the columns: those of a table, or of a view that names them.
fn columns(sql: &str) -> Vec<String> {
    let Some((head, rest)) = sql.split_once('(') else {
        return Vec::new();
    };
    if head.contains(" AS") {
        return Vec::new();
    }
    let end = if head.contains("TABLE") { "\n)" } else { ")" };
    let list = rest.split_once(end).map_or(rest, |(list, _)| list);
    let is_name = |word: &&str| {
        let bare = word.trim_matches('`');
        !bare.is_empty() && bare.chars().all(|it| it.is_ascii_lowercase() || it == '_')
    };
    let lines: Vec<&str> = if list.trim_start().contains('\n') && head.contains("TABLE") {
        list.lines().collect()
    } else {
        list.split(',').collect()
    };
    let first = lines
        .iter()
        .filter_map(|line| line.split_whitespace().next());
    let first = first.map(|word| word.trim_end_matches(','));
    first
        .filter(is_name)
        .map(|word| format!("`{}`", word.trim_matches('`')))
        .collect()
}

/// Without the schema of the example.
fn bare(sql: &str) -> String {
    sql.replace("`windrow_x`.", "").replace("windrow_x.", "")
}

fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace("( ", "(").replace(" )", ")")
}

/// The text literals of a statement, put together.
fn literals(sql: &str) -> String {
    let mut text = String::new();
    let mut rest = sql;
    while let Some((_, behind)) = rest.split_once('\'') {
        rest = behind;
        while let Some((literal, behind)) = rest.split_once('\'') {
            text += literal;
            rest = behind;
            let Some(further) = rest.strip_prefix('\'') else {
                break;
            };
            text.push('\'');
            rest = further;
        }
    }
    text
}

/// A comment without the hash of the text, and its examples.
fn comment(text: &str) -> (String, Vec<String>) {
    let text = text.split("[text ").next().unwrap_or_default();
    let text = one_line(text.split("[body ").next().unwrap_or_default());
    let (text, examples) = text
        .split_once(" Example: ")
        .or_else(|| text.split_once(" Examples: "))
        .unwrap_or((&text, ""));
    let examples = examples.split_inclusive(';').map(str::trim);
    let examples = examples.filter(|it| !it.is_empty()).map(str::to_owned);
    (text.trim().to_owned(), examples.collect())
}
