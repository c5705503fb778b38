//! The files of every runner, as its users know them, for every server.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use windrow::dialect::{DIALECTS, Dialect};
use windrow::migrations::runner::RUNNERS;
use windrow::render;

use super::stage::{said, spec};
use crate::harness::tests;
use crate::support::graphs::graph_of;

tests! {
    lint: [
        no_statement_has_what_a_runner_reads,
    ],
    alone: [
        every_runner_gets_its_form,
        a_version_is_written_once,
        what_does_not_fit_is_refused,
        a_spec_for_several_servers_has_a_folder_for_each,
        an_index_of_another_spec_stays,
        python_and_ruby_read_what_the_spec_says,
    ],
}

/// How the files of a runner look: the name of the first one of PostgreSQL, which makes an index, and of the installation; what
/// keeps the first out of a transaction; and what stands in the second on PostgreSQL and elsewhere.
struct Form {
    runner: &'static str,
    files: [&'static str; 2],
    alone: &'static str,
    marks: &'static [&'static str],
}

const FORMS: &[Form] = &[
    Form {
        runner: "flyway",
        files: ["V1__windrow_x_v1_index_1.sql", "V4__windrow_x_v1.sql"],
        alone: "",
        marks: &[],
    },
    Form {
        runner: "liquibase",
        files: ["0001_windrow_x_v1_index_1.xml", "0004_windrow_x_v1.xml"],
        alone: "author=\"windrow\" runInTransaction=\"false\">",
        marks: &[
            "author=\"windrow\" runInTransaction=\"true\">",
            "<sql splitStatements=\"false\" stripComments=\"false\"><![CDATA[",
            "        <rollback>\n        <sql ",
        ],
    },
    Form {
        runner: "sqitch",
        files: ["deploy/windrow_x_v1_index_1.sql", "deploy/windrow_x_v1.sql"],
        alone: "",
        marks: &["\nBEGIN;\n", "\nCOMMIT;\n"],
    },
    Form {
        runner: "dbmate",
        files: [
            "00000000000001_windrow_x_v1_index_1.sql",
            "00000000000004_windrow_x_v1.sql",
        ],
        alone: "\n-- migrate:up transaction:false\n",
        marks: &["\n-- migrate:up\n", "\n-- migrate:down\n"],
    },
    Form {
        runner: "golang-migrate",
        files: [
            "000001_windrow_x_v1_index_1.up.sql",
            "000004_windrow_x_v1.up.sql",
        ],
        alone: "",
        marks: &[],
    },
    Form {
        runner: "goose",
        files: ["00001_windrow_x_v1_index_1.sql", "00004_windrow_x_v1.sql"],
        alone: "-- +goose NO TRANSACTION\n",
        marks: &[
            "\n-- +goose Up\n-- +goose StatementBegin\n",
            ";\n-- +goose StatementEnd\n",
            "\n-- +goose Down\n-- +goose StatementBegin\n",
        ],
    },
    Form {
        runner: "atlas",
        files: [
            "00000000000001_windrow_x_v1_index_1.sql",
            "00000000000004_windrow_x_v1.sql",
        ],
        alone: "-- atlas:txmode none\n\n",
        marks: &[
            "-- atlas:delimiter -- end of the statement\n",
            "\n-- end of the statement\n",
        ],
    },
    Form {
        runner: "alembic",
        files: ["_windrow_x_v1_index_1.py", "_windrow_x_v1.py"],
        alone: "    with op.get_context().autocommit_block():\n        run(UP)\n",
        marks: &["\n    run(UP)\n", "\n    run(DOWN)\n", "\nrevision = \""],
    },
    Form {
        runner: "django",
        files: ["0001_windrow_x_v1_index_1.py", "0004_windrow_x_v1.py"],
        alone: "    atomic = False\n    dependencies = []\n",
        marks: &[
            "    atomic = True\n",
            "    operations = [migrations.RunSQL(UP, DOWN)]\n",
        ],
    },
    Form {
        runner: "rails",
        files: ["001_windrow_x_v1_index_1.rb", "004_windrow_x_v1.rb"],
        alone: "class WindrowXV1Index1 < ActiveRecord::Migration[6.1]\n  disable_ddl_transaction!\n",
        marks: &["class WindrowXV1 < ActiveRecord::Migration[6.1]\n  def up\n"],
    },
    Form {
        runner: "sqlx",
        files: [
            "0001_windrow_x_v1_index_1.up.sql",
            "0004_windrow_x_v1.up.sql",
        ],
        alone: "-- no-transaction\n",
        marks: &[],
    },
    Form {
        runner: "refinery",
        files: ["/windrow_x_v1_index_1.sql", "V4__windrow_x_v1.sql"],
        alone: "a client applies this one",
        marks: &[],
    },
];

/// A folder with a spec.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        Self { folder }
    }

    fn write(&self, text: &str) {
        fs::write(self.folder.path().join("x.toml"), text).expect("a spec is written");
    }

    /// `windrow generate` in the folder.
    fn generate(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(["generate", "x.toml"])
            .args(words)
            .env_remove("WINDROW_SPEC")
            .current_dir(self.folder.path())
            .output()
            .expect("windrow starts")
    }

    fn done(&self, words: &[&str]) -> String {
        let output = self.generate(words);
        assert!(output.status.success(), "{words:?}: {}", said(&output));
        said(&output)
    }

    fn refused(&self, words: &[&str], why: &str) {
        let output = self.generate(words);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(why), "{words:?}: no `{why}` in: {said}");
    }

    /// The files below a folder.
    fn files(&self, below: &str) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let root = self.folder.path().join(below);
        for folder in ["", "deploy", "revert"] {
            for entry in fs::read_dir(root.join(folder)).into_iter().flatten() {
                let path = entry.expect("an entry").path();
                if path.is_file() {
                    let text = fs::read_to_string(&path).expect("a text");
                    let name = path.strip_prefix(&root).expect("below").display();
                    files.insert(name.to_string(), text);
                }
            }
        }
        files
    }
}

/// The only file whose name ends so.
fn file<'a>(files: &'a BTreeMap<String, String>, end: &str) -> &'a str {
    let mut found = files
        .iter()
        .filter(|(name, _)| format!("/{name}").ends_with(end));
    let (_, text) = found
        .next()
        .unwrap_or_else(|| panic!("no {end} in {:?}", files.keys()));
    text
}

fn every_runner_gets_its_form() {
    let known: Vec<_> = RUNNERS.iter().map(|runner| runner.name).collect();
    let shown: Vec<_> = FORMS.iter().map(|form| form.runner).collect();
    assert_eq!(known, shown);
    for dialect in DIALECTS {
        for form in FORMS {
            let title = format!("{} on {}", form.runner, dialect.facts().title);
            let desk = Desk::new();
            desk.write(&spec(1, "x", *dialect));
            if form.runner == "refinery" && *dialect != Dialect::Postgres {
                let words = ["--for", form.runner, "--out", "m"];
                desk.refused(&words, "only for PostgreSQL");
                continue;
            }
            desk.done(&["--for", form.runner, "--out", "m"]);
            let files = desk.files("m");
            if *dialect == Dialect::Postgres {
                on_postgres(form, &files, &title);
            } else {
                elsewhere(form, &files, &title);
            }
        }
    }
}

fn on_postgres(form: &Form, files: &BTreeMap<String, String>, title: &str) {
    let [index, installation] = form.files.map(|name| file(files, name));
    assert!(index.contains(form.alone), "{title}: {index}");
    // Down stands in the file or beside it.
    let indexes = index.matches("INDEX CONCURRENTLY").count();
    assert!([1, 2].contains(&indexes), "{title}: {index}");
    assert!(!index.contains("SET "), "{title}: {index}");
    assert!(!installation.contains("CONCURRENTLY"), "{title}");
    for mark in form.marks {
        assert!(installation.contains(mark), "{title}: no {mark}");
    }
    assert!(
        installation.contains("CREATE OR REPLACE FUNCTION"),
        "{title}"
    );
    let all: String = files
        .iter()
        .filter(|(name, _)| !name.ends_with(".lock"))
        .map(|(_, text)| text.as_str())
        .collect();
    // Where a runner knows no way back, there is none.
    let knows_down = !["atlas", "refinery"].contains(&form.runner);
    assert_eq!(
        all.contains("DROP SCHEMA %s CASCADE"),
        knows_down,
        "{title}"
    );
    no_setting_is_reset(&all, title);
}

/// What a runner has told its session is told again; a RESET would take that away.
fn no_setting_is_reset(all: &str, title: &str) {
    for setting in ["ROLE", "search_path", "lock_timeout", "statement_timeout"] {
        assert!(!all.contains(&format!("RESET {setting}")), "{title}");
    }
}

fn elsewhere(form: &Form, files: &BTreeMap<String, String>, title: &str) {
    // No statement has to stand alone: all is one migration.
    let name = form.files[1]
        .replace("00004", "00001")
        .replace("0004", "0001");
    let name = name.replace("V4", "V1").replace("004", "001");
    let installation = file(files, &name);
    let by_client = ["flyway", "sqitch"].contains(&form.runner);
    assert_eq!(installation.contains("\nDELIMITER "), by_client, "{title}");
    assert!(installation.contains("EVENT windrow_x.run\n"), "{title}");
    assert!(installation.contains("USE `x_app`"), "{title}");
    let marks = form.marks.iter();
    // MySQL and MariaDB commit every statement that makes something.
    for mark in marks.filter(|mark| !["\nBEGIN;\n", "\nCOMMIT;\n"].contains(*mark)) {
        assert!(installation.contains(mark), "{title}: no {mark}");
    }
}

fn a_version_is_written_once() {
    for form in FORMS {
        let desk = Desk::new();
        let words = ["--for", form.runner, "--out", "m"];
        let check = ["--for", form.runner, "--out", "m", "--check"];
        desk.write(&spec(1, "x", Dialect::Postgres));
        let output = desk.generate(&check);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(!desk.folder.path().join("m").exists());

        // Those of others stay as they are, and come before.
        let other = match form.runner {
            "alembic" => ("0a_mine.py", "revision = '0a'\ndown_revision = None\n"),
            "django" => ("0041_mine.py", ""),
            "sqitch" => (
                "sqitch.plan",
                "%project=mine\n\nfirst 2020-01-01T00:00:00Z a <a@b> # mine",
            ),
            "flyway" | "refinery" => ("V41__mine.sql", "SELECT 41;\n"),
            _ => ("0041_mine.sql", "SELECT 41;\n"),
        };
        fs::create_dir(desk.folder.path().join("m")).expect("a folder");
        fs::write(desk.folder.path().join("m").join(other.0), other.1).expect("a file");
        desk.done(&words);
        let first = desk.files("m");
        assert!(first[other.0].starts_with(other.1), "{}", form.runner);
        if form.runner != "sqitch" {
            assert_eq!(first[other.0], other.1);
            let next = match form.runner {
                "alembic" => "down_revision = \"0a\"\n",
                "django" => "    dependencies = [(\"desk\", \"0041_mine\")]\n",
                _ => "",
            };
            let next = next.replace(
                "desk",
                &desk
                    .folder
                    .path()
                    .file_name()
                    .expect("a name")
                    .to_string_lossy(),
            );
            let any = first.values().any(|text| text.contains(&next));
            assert!(any, "{}: no {next}", form.runner);
        }
        let numbers = [
            "42_windrow_x_v1_index_1",
            "42__windrow_x_v1_index_1",
            "V45__windrow_x_v1",
        ];
        let numbered = !["alembic", "sqitch"].contains(&form.runner);
        let comes = first
            .keys()
            .any(|name| numbers.iter().any(|it| name.contains(it)));
        assert_eq!(comes, numbered, "{}: {:?}", form.runner, first.keys());

        // The same spec again.
        assert!(desk.done(&words).contains("as generated: version 1"));
        assert!(desk.done(&check).contains("as generated: version 1"));
        assert_eq!(desk.files("m"), first, "{}", form.runner);

        // The next version leaves the first as it is.
        desk.write(&spec(2, "x", Dialect::Postgres));
        let output = desk.generate(&check);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert_eq!(desk.files("m"), first, "{}", form.runner);
        desk.done(&words);
        let second = desk.files("m");
        let written = |name: &str| !name.ends_with(".lock") && name != "sqitch.plan";
        for (name, text) in first.iter().filter(|(name, _)| written(name)) {
            assert_eq!(&second[name], text, "{name}");
        }
        let new: Vec<_> = second
            .keys()
            .filter(|name| !first.contains_key(*name))
            .collect();
        assert!(
            new.iter().all(|name| name.contains("windrow_x_v2")),
            "{new:?}"
        );
        let up: String = new.iter().map(|name| second[*name].as_str()).collect();
        // The rule that is gone goes with its routines and its index.
        for gone in [
            "'lines_rows'",
            "DROP INDEX CONCURRENTLY IF EXISTS \"public\".\"windrow_line_written",
        ] {
            assert!(up.contains(gone), "{}: no {gone}", form.runner);
        }
    }
}

fn what_does_not_fit_is_refused() {
    let desk = Desk::new();
    desk.write(&spec(1, "x", Dialect::Postgres));
    desk.refused(
        &["--for", "nobody", "--out", "m"],
        "flyway, liquibase, sqitch",
    );
    desk.refused(&["--for", "sqlx"], "--out");
    desk.refused(
        &["--for", "sqlx", "--out", "m", "--dialect", "mysql"],
        "it is for postgres",
    );
    desk.refused(
        &["--for", "sqitch", "--out", "m", "--number", "4"],
        "have no numbers",
    );
    desk.done(&["--for", "sqlx", "--out", "m"]);
    desk.refused(&["--for", "goose", "--out", "m"], "for sqlx on postgres");

    // Numbers that are times are for whoever writes the migration to say.
    let words = ["--for", "dbmate", "--out", "t"];
    let place = desk.folder.path().join("t");
    fs::create_dir(&place).expect("a folder");
    fs::write(place.join("20260102030405_mine.sql"), "").expect("a file");
    desk.refused(&words, "--number $(date -u +%Y%m%d%H%M%S)");
    desk.refused(
        &[&words[..], &["--number", "7"]].concat(),
        "would not come after it",
    );
    desk.done(&[&words[..], &["--number", "20260102030500"]].concat());
    assert!(place.join("20260102030503_windrow_x_v1.sql").exists());
    desk.done(&words);

    // A version that was written stays as it is.
    let path = desk.folder.path().join("m/0004_windrow_x_v1.up.sql");
    let text = fs::read_to_string(&path).expect("a text");
    fs::write(&path, format!("{text}\n-- mine\n")).expect("a file");
    desk.refused(
        &["--for", "sqlx", "--out", "m"],
        "was changed after it was written",
    );
    fs::write(&path, text).expect("a file");
    fs::remove_file(desk.folder.path().join("m/windrow.x.lock")).expect("a file");
    desk.refused(
        &["--for", "sqlx", "--out", "m", "--number", "1"],
        "would not come after it",
    );
}

fn a_spec_for_several_servers_has_a_folder_for_each() {
    let desk = Desk::new();
    let text = spec(1, "x", Dialect::Postgres);
    let several = text.replace("[\"postgres\"]", "[\"postgres\", \"mysql\"]");
    desk.write(&several);
    desk.done(&["--for", "sqlx", "--out", "m"]);
    assert!(
        desk.files("m/postgres")
            .contains_key("0004_windrow_x_v1.up.sql")
    );
    assert!(
        desk.files("m/mysql")
            .contains_key("0001_windrow_x_v1.up.sql")
    );
    assert!(desk.files("m").is_empty());
    // Later on it is for one server: its versions are where they were.
    desk.write(&text);
    desk.refused(&["--for", "sqlx", "--out", "m"], "are in `m/postgres`");
    desk.done(&[
        "--for",
        "sqlx",
        "--out",
        "m/postgres",
        "--dialect",
        "postgres",
    ]);
    desk.write(&several);
    desk.done(&["--for", "sqlx", "--out", "one", "--dialect", "mysql"]);
    assert!(desk.files("one").contains_key("0001_windrow_x_v1.up.sql"));
    desk.refused(&["--for", "sqlx", "--out", "one"], "are in `one`");
}

/// Both specs make the same indexes: the way back of one leaves those of the other.
fn an_index_of_another_spec_stays() {
    for (dialect, drop) in [
        (Dialect::Postgres, "DROP INDEX CONCURRENTLY"),
        (Dialect::Mariadb, "DROP INDEX IF EXISTS"),
    ] {
        let desk = Desk::new();
        let mut drops = Vec::new();
        for name in ["x", "y"] {
            // Another installation on the same tables.
            let text = spec(1, name, dialect).replace("y_app", "x_app");
            desk.write(&text);
            desk.done(&["--for", "sqlx", "--out", "m"]);
            let files = desk.files("m");
            let down = files.iter().filter(|(file, _)| {
                file.contains(&format!("windrow_{name}_v1")) && file.ends_with(".down.sql")
            });
            drops.push(
                down.map(|(_, text)| text.matches(drop).count())
                    .sum::<usize>(),
            );
        }
        assert_eq!(drops, [3, 0], "{}", dialect.facts().title);
    }
}

/// The text between quotes of another language is the SQL, byte by byte.
fn python_and_ruby_read_what_the_spec_says() {
    let desk = Desk::new();
    desk.write(&spec(1, "x", Dialect::Postgres));
    let out = |runner: &str| desk.done(&["--for", runner, "--out", runner]);
    out("django");
    out("rails");
    out("sqlx");
    let wanted =
        fs::read_to_string(desk.folder.path().join("sqlx/0004_windrow_x_v1.up.sql")).expect("SQL");
    let (_, wanted) = wanted.split_once("\n\n").expect("a comment");
    let module = Path::new("django/0004_windrow_x_v1.py");
    let python = "import sys, types\nm = types.ModuleType('django.db')\nm.migrations = types.SimpleNamespace(Migration=object, RunSQL=list.__add__)\n\
                  sys.modules['django'] = types.ModuleType('django')\nsys.modules['django.db'] = m\n\
                  scope = {}\nexec(compile(open(sys.argv[1], encoding='utf-8').read(), 'm', 'exec'), scope)\n\
                  sys.stdout.buffer.write('\\n'.join(s + ';\\n' for s in scope['UP']).encode())\n";
    let output = Command::new("python3")
        .args(["-c", python])
        .arg(module)
        .current_dir(desk.folder.path())
        .output()
        .expect("Python starts");
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        String::from_utf8_lossy(&output.stdout) == wanted,
        "Python reads another text"
    );
    // Of Ruby, a text without escapes: a line that is the mark ends it, and no other does.
    let ruby =
        fs::read_to_string(desk.folder.path().join("rails/004_windrow_x_v1.rb")).expect("Ruby");
    let (up, _) = ruby.split_once("  def down\n").expect("two ways");
    let mut texts = Vec::new();
    for part in up.split("    execute <<'").skip(1) {
        let (mark, rest) = part.split_once("'\n").expect("a mark");
        let (text, _) = rest.split_once(&format!("\n{mark}\n")).expect("an end");
        texts.push(format!("{text};\n"));
    }
    assert!(texts.join("\n") == wanted, "Ruby reads another text");
}

/// Marks of runners, and the question mark, which JDBC takes for a parameter; it looks neither between dollars nor between quotes.
fn no_statement_has_what_a_runner_reads() {
    let mut seen = 0;
    let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs");
    for spec in fs::read_dir(specs).expect("the specs") {
        let path = spec.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let graph = graph_of(&fs::read_to_string(&path).expect("a spec"));
        for dialect in &graph.dialects {
            let bundle = render::bundle(&graph, *dialect).expect("it renders");
            for statement in bundle.files.iter().flat_map(|file| &file.statements) {
                let what = format!("{}, {:?}: {}", path.display(), dialect, statement.what);
                for mark in [
                    "-- +goose",
                    "-- migrate:",
                    "-- end of the statement",
                    "DELIMITER",
                ] {
                    let marked = statement
                        .sql
                        .lines()
                        .any(|line| line.trim_start().starts_with(mark));
                    assert!(!marked, "{what}: {mark}");
                }
                if *dialect == Dialect::Postgres {
                    let code = statement.sql.split("$windrow$").step_by(2);
                    let code = code.flat_map(str::lines);
                    let code = code.filter(|line| !line.trim_start().starts_with("--"));
                    let code = code.collect::<Vec<_>>().join("\n");
                    let asks = code.split('\'').step_by(2).any(|part| part.contains('?'));
                    assert!(!asks, "{what}: a question mark");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 1000, "{seen}");
}
