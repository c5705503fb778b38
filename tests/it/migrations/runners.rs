//! The runners themselves, as `make prove` sets them up in the folder `WINDROW_RUNNERS`: each deploys a version, the next one, and
//! goes back, and windrow purges in between.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use windrow::dialect::{DIALECTS, Dialect};

use super::address;
use super::stage::{Stage, said};
use crate::harness::tests;
use crate::support::database;
use crate::support::installation::{connect, server};

tests! {
    when_asked: [
        sqitch_applies_both_versions,
        dbmate_applies_both_versions,
        alembic_applies_both_versions,
        django_applies_both_versions,
        rails_applies_both_versions,
        liquibase_applies_both_versions,
        sqlx_applies_both_versions,
        refinery_applies_both_versions,
    ],
}

/// How a runner is called.
struct Tool {
    name: &'static str,
    /// How many files a migration has.
    files: usize,
    /// Whether it goes back.
    knows_down: bool,
    /// Makes what it needs beside the migrations.
    prepare: fn(&Ground),
    up: fn(&Ground),
    /// Takes back so many migrations; the file of the last one that stays is told.
    down: fn(&Ground, usize, Option<&str>),
}

/// A database, its folder, and where the runners are.
struct Ground {
    stage: Stage,
    port: u16,
}

impl Ground {
    fn root(&self) -> &Path {
        self.stage.folder.path()
    }

    fn database(&self) -> String {
        format!("{}_app", self.stage.name)
    }

    fn is_postgres(&self) -> bool {
        self.stage.dialect == Dialect::Postgres
    }

    fn user(&self) -> &'static str {
        if self.is_postgres() {
            "postgres"
        } else {
            "root"
        }
    }

    /// The address of the database with another scheme, and what follows it.
    fn url(&self, postgres: &str, mysql: &str, more: [&str; 2]) -> String {
        let (scheme, more) = match self.is_postgres() {
            true => (postgres, more[0]),
            false => (mysql, more[1]),
        };
        let (user, port) = (self.user(), self.port);
        format!(
            "{scheme}://{user}@127.0.0.1:{port}/{}{more}",
            self.database()
        )
    }

    /// Calls a program of the runners, which must be content.
    fn call(&self, program: impl AsRef<Path>, words: &[&str]) -> String {
        let output = Command::new(program.as_ref())
            .args(words)
            .current_dir(self.root())
            .env("SQITCH_FULLNAME", "windrow")
            .env("SQITCH_EMAIL", "windrow@localhost")
            .env("PGSSLMODE", "disable")
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", program.as_ref().display()));
        let said = said(&output);
        let end: String = said.chars().rev().take(3000).collect();
        let end: String = end.chars().rev().collect();
        assert!(output.status.success(), "{words:?}: {end}");
        said
    }
}

/// A program that was set up.
fn program(name: &str) -> PathBuf {
    let folder = std::env::var("WINDROW_RUNNERS").expect("`make prove` says where the runners are");
    Path::new(&folder).join(name)
}

/// Deploys, purges, deploys the next version, purges, and goes back in two steps.
#[expect(
    clippy::print_stdout,
    reason = "what was run is what `make prove` is for"
)]
fn prove(tool: &Tool, dialects: &[Dialect]) {
    for dialect in dialects {
        let postgres = *dialect == Dialect::Postgres;
        let _exclusive = postgres.then(database::exclusive);
        let port = match dialect {
            Dialect::Postgres => database::server().port(),
            Dialect::Mysql | Dialect::Mariadb => server(*dialect).port(),
        };
        let stage = Stage::new(*dialect, &format!("by_{}", tool.name), &address(*dialect));
        let mut ground = Ground { stage, port };
        let title = format!("{} on {}", tool.name, dialect.facts().title);
        fs::create_dir_all(ground.stage.migrations()).expect("a folder");
        (tool.prepare)(&ground);
        ground.stage.generate(tool.name);
        (tool.up)(&ground);
        ground.stage.is_as_generated(&title);
        ground.stage.purge("1");
        ground.stage.edit(2);
        ground.stage.generate(tool.name);
        (tool.up)(&ground);
        ground.stage.is_as_generated(&format!("{title}, version 2"));
        ground.stage.purge("2");
        if !tool.knows_down {
            println!("{title}: up, up");
            continue;
        }
        let [first, second] = [1, 2].map(|version| ground.stage.files_of(version));
        (tool.down)(
            &ground,
            second.len() / tool.files,
            first.last().map(String::as_str),
        );
        ground.stage.edit(1);
        ground
            .stage
            .is_as_generated(&format!("{title}, version 1 again"));
        ground.stage.purge("3");
        (tool.down)(&ground, first.len() / tool.files, None);
        assert!(!ground.stage.is_installed(), "{title}");
        assert_eq!(ground.stage.indexes(), 0, "{title}");
        println!("{title}: up, up, down, down");
    }
}

fn sqitch_applies_both_versions() {
    fn target(ground: &Ground) -> String {
        ground.url("db:pg", "db:mysql", ["", ""])
    }
    let tool = Tool {
        name: "sqitch",
        files: 2,
        knows_down: true,
        prepare: |ground| {
            let engine = if ground.is_postgres() { "pg" } else { "mysql" };
            let conf = format!(
                "[core]\n\tengine = {engine}\n\ttop_dir = {}\n",
                ground.stage.migrations().display()
            );
            fs::write(ground.root().join("sqitch.conf"), conf).expect("a file");
        },
        up: |ground| {
            ground.call("sqitch", &["deploy", &target(ground)]);
        },
        down: |ground, count, stays| {
            let (to, target) = (format!("@HEAD^{count}"), target(ground));
            match stays {
                None => ground.call("sqitch", &["revert", "-y", &target]),
                Some(_) => ground.call("sqitch", &["revert", "-y", "--to", &to, &target]),
            };
        },
    };
    prove(&tool, DIALECTS);
}

fn dbmate_applies_both_versions() {
    fn call(ground: &Ground, what: &str) {
        let url = ground.url("postgres", "mysql", ["?sslmode=disable", ""]);
        let folder = ground.stage.migrations().display().to_string();
        ground.call(
            program("bin/dbmate"),
            &[
                "--url",
                &url,
                "--migrations-dir",
                &folder,
                "--no-dump-schema",
                what,
            ],
        );
    }
    let tool = Tool {
        name: "dbmate",
        files: 1,
        knows_down: true,
        prepare: |_| (),
        up: |ground| call(ground, "migrate"),
        down: |ground, count, _| (0..count).for_each(|_| call(ground, "rollback")),
    };
    prove(&tool, DIALECTS);
}

fn alembic_applies_both_versions() {
    let tool = Tool {
        name: "alembic",
        files: 1,
        knows_down: true,
        prepare: |ground| {
            let url = ground.url("postgresql+psycopg2", "mysql+pymysql", ["", ""]);
            let ini = format!(
                "[alembic]\nscript_location = %(here)s/env\nversion_locations = %(here)s/app/migrations\nsqlalchemy.url = {url}\n"
            );
            let env = "from alembic import context\nfrom sqlalchemy import create_engine\n\
                       engine = create_engine(context.config.get_main_option('sqlalchemy.url'))\n\
                       with engine.connect() as connection:\n    context.configure(connection=connection, transaction_per_migration=True)\n    \
                       with context.begin_transaction():\n        context.run_migrations()\n";
            fs::create_dir(ground.root().join("env")).expect("a folder");
            fs::write(ground.root().join("env/env.py"), env).expect("a file");
            fs::write(ground.root().join("env/script.py.mako"), "").expect("a file");
            fs::write(ground.root().join("alembic.ini"), ini).expect("a file");
        },
        up: |ground| {
            ground.call(program("venv/bin/alembic"), &["upgrade", "head"]);
        },
        down: |ground, count, _| {
            let back = format!("-{count}");
            ground.call(program("venv/bin/alembic"), &["downgrade", &back]);
        },
    };
    prove(&tool, DIALECTS);
}

fn django_applies_both_versions() {
    fn call(ground: &Ground, words: &[&str]) {
        let all: Vec<&str> = [&["manage.py", "migrate", "app"], words].concat();
        ground.call(program("venv/bin/python"), &all);
    }
    let tool = Tool {
        name: "django",
        files: 1,
        knows_down: true,
        prepare: |ground| {
            let engine = if ground.is_postgres() {
                "postgresql"
            } else {
                "mysql"
            };
            let manage = format!(
                "import sys\nimport pymysql\npymysql.install_as_MySQLdb()\nimport django\nfrom django.conf import settings\n\
                 settings.configure(INSTALLED_APPS=['app'], DATABASES={{'default': {{'ENGINE': 'django.db.backends.{engine}', \
                 'HOST': '127.0.0.1', 'PORT': '{}', 'USER': '{}', 'NAME': '{}'}}}})\ndjango.setup()\n\
                 from django.core.management import call_command\ncall_command(*sys.argv[1:])\n",
                ground.port,
                ground.user(),
                ground.database()
            );
            fs::write(ground.root().join("manage.py"), manage).expect("a file");
            fs::write(ground.root().join("app/__init__.py"), "").expect("a file");
            fs::write(ground.stage.migrations().join("__init__.py"), "").expect("a file");
        },
        up: |ground| call(ground, &[]),
        down: |ground, _, stays| {
            let stays = stays.map_or("zero", |file| file.trim_end_matches(".py"));
            call(ground, &[stays]);
        },
    };
    prove(&tool, DIALECTS);
}

fn rails_applies_both_versions() {
    fn call(ground: &Ground, what: &str) {
        ground.call("ruby", &["migrate.rb", what]);
    }
    let tool = Tool {
        name: "rails",
        files: 1,
        knows_down: true,
        prepare: |ground| {
            let adapter = if ground.is_postgres() {
                "postgresql"
            } else {
                "mysql2"
            };
            let script = format!(
                "require 'active_record'\nActiveRecord::Base.establish_connection(adapter: '{adapter}', host: '127.0.0.1', port: {}, \
                 username: '{}', database: '{}')\nmigrations = ActiveRecord::MigrationContext.new('app/migrations', ActiveRecord::SchemaMigration)\n\
                 count = ARGV[0].to_i\ncount > 0 ? migrations.rollback(count) : migrations.migrate\n",
                ground.port,
                ground.user(),
                ground.database()
            );
            fs::write(ground.root().join("migrate.rb"), script).expect("a file");
        },
        up: |ground| call(ground, "0"),
        down: |ground, count, _| call(ground, &count.to_string()),
    };
    prove(&tool, DIALECTS);
}

fn liquibase_applies_both_versions() {
    fn call(ground: &Ground, words: &[&str]) {
        let url = format!(
            "--url=jdbc:{}://127.0.0.1:{}/{}",
            if ground.is_postgres() {
                "postgresql"
            } else {
                "mariadb"
            },
            ground.port,
            ground.database()
        );
        let user = format!("--username={}", ground.user());
        let more = ["--changelog-file=app/changelog.xml", &url, &user];
        ground.call(program("bin/liquibase"), &[&more, words].concat());
    }
    let tool = Tool {
        name: "liquibase",
        files: 1,
        knows_down: true,
        prepare: |ground| {
            let all = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<databaseChangeLog xmlns=\"http://www.liquibase.org/xml/ns/dbchangelog\" \
                       xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:schemaLocation=\"http://www.liquibase.org/xml/ns/dbchangelog \
                       http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-4.1.xsd\">\n    \
                       <includeAll path=\"migrations\" relativeToChangelogFile=\"true\"/>\n</databaseChangeLog>\n";
            fs::write(ground.root().join("app/changelog.xml"), all).expect("a file");
        },
        up: |ground| call(ground, &["update"]),
        down: |ground, count, _| call(ground, &["rollback-count", &format!("--count={count}")]),
    };
    prove(&tool, DIALECTS);
}

fn sqlx_applies_both_versions() {
    fn call(ground: &Ground, what: &str) {
        let url = ground.url(
            "postgres",
            "mysql",
            ["?sslmode=disable", "?ssl-mode=DISABLED"],
        );
        let folder = ground.stage.migrations().display().to_string();
        ground.call(
            program("bin/sqlx"),
            &["migrate", what, "--source", &folder, "--database-url", &url],
        );
    }
    let tool = Tool {
        name: "sqlx",
        files: 2,
        knows_down: true,
        prepare: |_| (),
        up: |ground| call(ground, "run"),
        down: |ground, count, _| (0..count).for_each(|_| call(ground, "revert")),
    };
    prove(&tool, DIALECTS);
}

fn refinery_applies_both_versions() {
    fn call(ground: &Ground) {
        // What it makes no migration of stands beside them.
        let mut session = connect(&ground.stage.url);
        for (name, text) in ground.stage.files() {
            if name.starts_with("windrow_") && name.ends_with(".sql") {
                session.execute(&text).expect("a statement");
            }
        }
        ground.call(
            program("bin/refinery"),
            &["migrate", "-c", "refinery.toml", "-p", "app/migrations"],
        );
    }
    let tool = Tool {
        name: "refinery",
        files: 1,
        knows_down: false,
        prepare: |ground| {
            let conf = format!(
                "[main]\ndb_type = \"Postgres\"\ndb_host = \"127.0.0.1\"\ndb_port = \"{}\"\ndb_user = \"{}\"\ndb_name = \"{}\"\n",
                ground.port,
                ground.user(),
                ground.database()
            );
            fs::write(ground.root().join("refinery.toml"), conf).expect("a file");
        },
        up: call,
        down: |_, _, _| (),
    };
    prove(&tool, &[Dialect::Postgres]);
}
