//! The runners of migrations: how each wants its files. A runner is a row of a table, and templates of its files.

use crate::dialect::{DIALECTS, Dialect};

/// A runner of migrations.
#[derive(Debug)]
pub struct Runner {
    /// Its name on the command line.
    pub name: &'static str,
    /// The files of a migration: patterns of their names, and their templates.
    pub files: &'static [(&'static str, &'static str)],
    /// How migrations are distinguished.
    pub order: Order,
    /// How a statement is marked.
    marks: Marks,
    /// What is in place of `{mode}`: in a migration that the runner makes a transaction of, and in one that it must not.
    modes: [&'static str; 2],
    /// What begins and ends the transaction on PostgreSQL, where the runner does not.
    transaction: [&'static str; 2],
    /// The file of what must be outside of a transaction, where the runner knows no such migration: a client applies it.
    by_hand: Option<&'static str>,
    /// The servers on which it can be relied on.
    pub servers: &'static [Dialect],
}

/// How the migrations of a runner are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By numbers, with at least so many digits, behind this prefix of the file's name.
    Number(&'static str, usize),
    /// By numbers of four digits; each names the one before it, of an application named like the folder above.
    Django,
    /// By identifiers; each names the one before it.
    Alembic,
    /// By the lines of a plan.
    Sqitch,
}

/// How the text of a statement is written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marks {
    /// With a semicolon: the runner sends the file as a whole, and the server finds the ends.
    Semicolon,
    /// The same; the client, or the runner's parser, wants a `DELIMITER` around what has semicolons in it on MySQL and MariaDB.
    Delimiter,
    /// Between two comments.
    Goose,
    /// A line after it, which the first line of the file names.
    Atlas,
    /// As a text of Python.
    Python,
    /// As a text of Ruby.
    Ruby,
    /// As an element of XML.
    Xml,
}

/// The line that ends a statement for Atlas.
const END: &str = "-- end of the statement";

/// A file with the SQL of one direction.
const UP: &str = "{mode}{head}\n{up}";
const DOWN: &str = "{mode}{head}\n{down}";

/// A file that no runner applies.
const BY_HAND: &str = "{head}-- The runner makes a transaction of each of its files: a client applies this one beside them.\n\n{up}";

/// What Flyway is to know of a file next to it.
const FLYWAY: &str = "executeInTransaction={mode}\nplaceholderReplacement=false\nencoding=UTF-8\n";

const GOOSE: &str = "{mode}{head}\n-- +goose Up\n{up}\n-- +goose Down\n{down}";

const DBMATE: &str = "{head}\n-- migrate:up{mode}\n\n{up}\n-- migrate:down{mode}\n\n{down}";

const LIQUIBASE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
{head}
<databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog
        http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-4.1.xsd">
    <changeSet id="{slug}" author="windrow" runInTransaction="{mode}">
{up}        <rollback>
{down}        </rollback>
    </changeSet>
</databaseChangeLog>
"#;

const ALEMBIC: &str = r#"{head}
from alembic import op

revision = "{id}"
down_revision = {previous}
branch_labels = None
depends_on = None

UP = [
{up}]

DOWN = [
{down}]


def run(statements):
    for statement in statements:
        # Not op.execute(), which would take a colon or a percent sign in it for a parameter.
        op.get_bind().exec_driver_sql(statement, execution_options={"no_parameters": True}).close()


def upgrade():
{mode}    run(UP)


def downgrade():
{mode}    run(DOWN)
"#;

const DJANGO: &str = r#"{head}
from django.db import migrations

UP = [
{up}]

DOWN = [
{down}]


class Migration(migrations.Migration):
    atomic = {mode}
    dependencies = {previous}
    operations = [migrations.RunSQL(UP, DOWN)]
"#;

const RAILS: &str = r"{head}
class {class} < ActiveRecord::Migration[6.1]
{mode}  def up
{up}  end

  def down
{down}  end
end
";

/// All of them.
pub const RUNNERS: &[Runner] = &[
    Runner {
        name: "flyway",
        files: &[
            ("V{n}__{slug}.sql", "{head}\n{up}"),
            ("V{n}__{slug}.sql.conf", FLYWAY),
            ("U{n}__{slug}.sql", "{head}\n{down}"),
            ("U{n}__{slug}.sql.conf", FLYWAY),
        ],
        order: Order::Number("V", 1),
        marks: Marks::Delimiter,
        modes: ["true", "false"],
        transaction: ["", ""],
        by_hand: None,
        servers: DIALECTS,
    },
    Runner {
        name: "liquibase",
        files: &[("{n}_{slug}.xml", LIQUIBASE)],
        order: Order::Number("", 4),
        marks: Marks::Xml,
        modes: ["true", "false"],
        transaction: ["", ""],
        by_hand: None,
        servers: DIALECTS,
    },
    Runner {
        name: "sqitch",
        files: &[("deploy/{slug}.sql", UP), ("revert/{slug}.sql", DOWN)],
        order: Order::Sqitch,
        marks: Marks::Delimiter,
        modes: ["", ""],
        transaction: ["BEGIN;\n\n", "\nCOMMIT;\n"],
        by_hand: None,
        servers: DIALECTS,
    },
    Runner {
        name: "dbmate",
        files: &[("{n}_{slug}.sql", DBMATE)],
        order: Order::Number("", 14),
        marks: Marks::Semicolon,
        modes: ["", " transaction:false"],
        transaction: ["", ""],
        by_hand: None,
        servers: DIALECTS,
    },
    Runner {
        name: "golang-migrate",
        files: &[("{n}_{slug}.up.sql", UP), ("{n}_{slug}.down.sql", DOWN)],
        order: Order::Number("", 6),
        marks: Marks::Semicolon,
        modes: ["", ""],
        transaction: ["", ""],
        by_hand: None,
        servers: DIALECTS,
    },
    Runner {
        name: "goose",
        files: &[("{n}_{slug}.sql", GOOSE)],
        order: Order::Number("", 5),
        marks: Marks::Goose,
        modes: ["", "-- +goose NO TRANSACTION\n"],
        transaction: ["", ""],
        by_hand: None,
        servers: DIALECTS,
    },
    Runner {
        name: "atlas",
        files: &[("{n}_{slug}.sql", UP)],
        order: Order::Number("", 14),
        marks: Marks::Atlas,
        modes: [
            "-- atlas:delimiter -- end of the statement\n\n",
            "-- atlas:txmode none\n\n",
        ],
        transaction: ["", ""],
        by_hand: None,
        servers: DIALECTS,
    },
    Runner {
        name: "alembic",
        files: &[("{id}_{slug}.py", ALEMBIC)],
        order: Order::Alembic,
        marks: Marks::Python,
        modes: ["", "    with op.get_context().autocommit_block():\n    "],
        transaction: ["", ""],
        by_hand: None,
        servers: DIALECTS,
    },
    Runner {
        name: "django",
        files: &[("{n}_{slug}.py", DJANGO)],
        order: Order::Django,
        marks: Marks::Python,
        modes: ["True", "False"],
        transaction: ["", ""],
        by_hand: None,
        servers: DIALECTS,
    },
    Runner {
        name: "rails",
        files: &[("{n}_{slug}.rb", RAILS)],
        order: Order::Number("", 3),
        marks: Marks::Ruby,
        modes: ["", "  disable_ddl_transaction!\n\n"],
        transaction: ["", ""],
        by_hand: None,
        servers: DIALECTS,
    },
    Runner {
        name: "sqlx",
        files: &[("{n}_{slug}.up.sql", UP), ("{n}_{slug}.down.sql", DOWN)],
        order: Order::Number("", 4),
        marks: Marks::Semicolon,
        modes: ["", "-- no-transaction\n"],
        transaction: ["", ""],
        by_hand: None,
        servers: DIALECTS,
    },
    Runner {
        name: "refinery",
        files: &[("V{n}__{slug}.sql", UP)],
        order: Order::Number("V", 1),
        marks: Marks::Semicolon,
        modes: ["", ""],
        transaction: ["", ""],
        by_hand: Some("{slug}.sql"),
        // Of a file for MySQL or MariaDB it takes no notice of an error behind the first statement, and notes it as applied.
        servers: &[Dialect::Postgres],
    },
];

/// One migration, as its files have it.
#[derive(Debug)]
pub(super) struct Told<'a> {
    /// Its number, with as many digits as it has in names.
    pub(super) number: String,
    /// Its name.
    pub(super) slug: &'a str,
    /// An identifier of it.
    pub(super) id: &'a str,
    /// What says which migration comes before it, as the runner writes it.
    pub(super) previous: &'a str,
    /// What it is for, and where it comes from: lines of a comment.
    pub(super) head: &'a [String],
    /// Whether it must be outside of a transaction.
    pub(super) alone: bool,
    /// Its statements.
    pub(super) up: &'a [String],
    /// Those that take it back.
    pub(super) down: &'a [String],
}

impl Runner {
    /// The files of a migration: names and texts.
    pub(super) fn files(&self, dialect: Dialect, told: &Told) -> Vec<(String, String)> {
        let mode = self.modes[usize::from(told.alone)];
        let class: String = told.slug.split('_').map(capital).collect();
        let holes = [
            ("n", told.number.clone()),
            ("slug", told.slug.to_owned()),
            ("id", told.id.to_owned()),
            ("class", class),
            ("previous", told.previous.to_owned()),
            ("mode", mode.to_owned()),
            ("head", self.head(told.head)),
            ("up", self.statements(dialect, told, told.up)),
            ("down", self.statements(dialect, told, told.down)),
        ];
        let by_hand = self.by_hand.filter(|_| told.alone);
        let by_hand = by_hand.map(|name| [(name, BY_HAND)]);
        let files = by_hand.as_ref().map_or(self.files, |file| file.as_slice());
        let files = files.iter();
        files
            .map(|(name, template)| (fill(name, &holes), fill(template, &holes)))
            .collect()
    }

    /// Lines of a comment.
    fn head(&self, lines: &[String]) -> String {
        match self.marks {
            Marks::Xml => format!("<!-- {} -->", lines.join("\n     ")),
            Marks::Python | Marks::Ruby => commented("# ", lines),
            _ => commented("-- ", lines),
        }
    }

    /// Statements, one behind the other.
    fn statements(&self, dialect: Dialect, told: &Told, statements: &[String]) -> String {
        let own = dialect == Dialect::Postgres && !told.alone;
        let [begin, end] = self.transaction.map(|text| if own { text } else { "" });
        let mut text = begin.to_owned();
        for (at, sql) in statements.iter().enumerate() {
            let spaced = ![Marks::Python, Marks::Ruby, Marks::Xml].contains(&self.marks);
            if at > 0 && spaced {
                text.push('\n');
            }
            text += &self.statement(dialect, told.alone, sql);
        }
        text + end
    }

    fn statement(&self, dialect: Dialect, alone: bool, sql: &str) -> String {
        let bodied = dialect != Dialect::Postgres && sql.contains(';');
        match self.marks {
            Marks::Delimiter if bodied => {
                // Flyway sees the next eight characters of a text and no more.
                let mut candidates = ["$$", "//", "$end$", "//end//"].into_iter();
                let delimiter = candidates.find(|it| !sql.contains(*it));
                let delimiter = delimiter.unwrap_or("$$$end$$");
                format!("DELIMITER {delimiter}\n{sql}{delimiter}\nDELIMITER ;\n")
            }
            Marks::Semicolon | Marks::Delimiter => format!("{sql};\n"),
            Marks::Goose => {
                format!("-- +goose StatementBegin\n{sql};\n-- +goose StatementEnd\n")
            }
            Marks::Atlas if alone => format!("{sql};\n"),
            Marks::Atlas => format!("{sql}\n{END}\n"),
            Marks::Python => format!("    \"\"\"{}\"\"\",\n", python(sql)),
            Marks::Ruby => {
                let mut marks = (1..).map(|number| format!("SQL{number}"));
                let taken = |mark: &String| sql.lines().any(|line| line == mark);
                let mark = marks.find(|mark| !taken(mark)).unwrap_or_default();
                format!("    execute <<'{mark}'\n{sql}\n{mark}\n")
            }
            Marks::Xml => {
                let text = sql.replace("]]>", "]]]]><![CDATA[>");
                format!(
                    "        <sql splitStatements=\"false\" stripComments=\"false\"><![CDATA[{text}]]></sql>\n"
                )
            }
        }
    }
}

fn commented(mark: &str, lines: &[String]) -> String {
    let lines = lines.iter().map(|line| format!("{mark}{line}\n"));
    lines.collect()
}

/// A text of Python between three quotes.
fn python(sql: &str) -> String {
    let text = sql.replace('\\', "\\\\").replace('\r', "\\r");
    let text = text.replace("\"\"\"", "\\\"\\\"\\\"");
    match text.strip_suffix('"') {
        Some(rest) => format!("{rest}\\\""),
        None => text,
    }
}

/// A word with a capital letter.
fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// A template with its holes filled. What is in a hole is not looked at.
fn fill(template: &str, holes: &[(&str, String)]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, hole) = rest.split_at(at);
        text += before;
        let found = holes.iter().find_map(|(name, value)| {
            let behind = hole[1..].strip_prefix(name)?.strip_prefix('}')?;
            Some((value, behind))
        });
        match found {
            Some((value, behind)) => {
                text += value;
                rest = behind;
            }
            None => {
                text.push('{');
                rest = &hole[1..];
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told<'a>(alone: bool, up: &'a [String], head: &'a [String]) -> Told<'a> {
        Told {
            number: "7".to_owned(),
            slug: "windrow_x_v1",
            id: "0123456789ab",
            previous: "None",
            head,
            alone,
            up,
            down: up,
        }
    }

    #[test]
    fn a_hole_is_filled_once() {
        let holes = [("up", "{down}".to_owned()), ("down", "x".to_owned())];
        assert_eq!(fill("a{up}{other}{down}", &holes), "a{down}{other}x");
    }

    #[test]
    fn a_delimiter_is_no_part_of_the_statement_and_short() {
        let runner = RUNNERS.iter().find(|it| it.name == "flyway");
        let runner = runner.expect("a runner");
        for sql in ["BEGIN; END", "'$$'; END", "'$$//'; END", "'$$//$end$'; END"] {
            let text = runner.statement(Dialect::Mysql, false, sql);
            let delimiter = text.lines().next().and_then(|it| it.split_once(' '));
            let (_, delimiter) = delimiter.expect("a delimiter");
            assert!(delimiter.len() <= 8 && !sql.contains(delimiter), "{text}");
        }
    }

    #[test]
    fn every_runner_keeps_the_bytes_of_a_statement() {
        let hostile = "SELECT '%s :x \\ ''\"\"\"\" #{y} ${z} ]]> {up}'\nSQL1\n\"";
        let up = [hostile.to_owned()];
        let head = ["for a test".to_owned()];
        for runner in RUNNERS {
            let files = runner.files(Dialect::Postgres, &told(false, &up, &head));
            assert!(!files.is_empty(), "{}", runner.name);
            let wanted = match runner.marks {
                Marks::Python => python(hostile),
                Marks::Xml => hostile.replace("]]>", "]]]]><![CDATA[>"),
                _ => hostile.to_owned(),
            };
            let count = files
                .iter()
                .map(|(_, text)| text.matches(&wanted).count())
                .sum::<usize>();
            let knows_down = !["atlas", "refinery"].contains(&runner.name);
            assert_eq!(count, 1 + usize::from(knows_down), "{}", runner.name);
        }
    }
}
