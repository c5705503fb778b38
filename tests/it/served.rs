//! Two specs over the same tables: an index of one by which the other lives is kept when the first is uninstalled.

use anyhow::{Result, ensure};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::interrupted::Stage;

tests! {
    each_server: [
        an_index_that_serves_another_spec_is_kept,
        an_index_by_which_another_spec_looks_for_keepers_is_kept,
    ],
}

const TABLES: &str = "CREATE TABLE run (id bigint PRIMARY KEY, a bigint NOT NULL, b bigint NOT NULL, state integer, ended TIME, UNIQUE (a, b));
    CREATE TABLE job (id bigint PRIMARY KEY, state integer, ended TIME);
    CREATE TABLE step (id bigint PRIMARY KEY, run_a bigint, run_b bigint)";

fn spec(root: &str, tables: &str) -> String {
    format!(
        "name = \"NAME\"\ndatabase = \"DATABASE\"\n[tables]\n{tables}\n[rules.history]\nstrategy = \"end-time\"\nroot = \"{root}\"\n\
         final = {{ state = 1 }}\nend_time = \"ended\"\nretention = {{ default = \"30d\" }}\n"
    )
}

const STEP: &str = "step = { key = \"id bigint\", parents = [\"PARENT\"] }";

/// Installs one spec, then another one, and uninstalls the first: what it says, and the indexes of the table that are left.
fn without_the_first(
    dialect: Dialect,
    prepared: &str,
    [one, other]: [&str; 2],
) -> Result<(String, Vec<String>)> {
    let mut stage = Stage::new(dialect, &format!("{TABLES};{prepared}"), one)?;
    stage.windrow("install", 0)?;
    let other = stage.beside(other)?;
    stage.windrow_of(&other, "install", 0)?;
    let told = stage.windrow("uninstall --yes", 0)?;
    let left = stage.database.texts(match dialect {
        Dialect::Postgres => {
            "SELECT indexname FROM pg_indexes WHERE tablename = 'step' AND indexname LIKE 'windrow%' ORDER BY 1"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'step'
               AND index_name LIKE 'windrow%' ORDER BY 1"
        }
    });
    stage.windrow_of(&other, "uninstall --yes", 0)?;
    Ok((told, left))
}

/// It was not made for the other spec, since the first one had one with a column more.
fn an_index_that_serves_another_spec_is_kept(dialect: Dialect) -> Result<()> {
    let run = "run = { key = \"id bigint\", unique = [\"a bigint, b bigint\"] }";
    let step = |parent: &str| STEP.replace("PARENT", parent);
    let one = spec(
        "run",
        &format!("{run}\n{}", step("run_a, run_b -> run(a, b)")),
    );
    let job = "job = { key = \"id bigint\" }";
    let other = spec("job", &format!("{job}\n{}", step("run_a -> job.id")));
    let (told, left) = without_the_first(dialect, "", [&one, &other])?;
    ensure!(left == ["windrow_step_run_a_run_b"], "{left:?}: {told}");
    ensure!(told.contains("b` also needs it"), "{told}");
    // But where another one serves, too.
    let own = "CREATE INDEX own ON step (run_a)";
    let (told, left) = without_the_first(dialect, own, [&one, &other])?;
    ensure!(left.is_empty() && !told.contains("needs it"), "{told}");
    Ok(())
}

/// The other spec deletes nothing from the table: it looks there for what keeps its rows, or is released.
fn an_index_by_which_another_spec_looks_for_keepers_is_kept(dialect: Dialect) -> Result<()> {
    let root = |name: &str| format!("{name} = {{ key = \"id bigint\" }}\n");
    let step = |parent: &str| STEP.replace("PARENT", parent);
    let one = spec("run", &(root("run") + &step("run_a -> run.id")));
    for effect in ["restrict", "set null"] {
        let other = spec(
            "job",
            &(root("job") + &step(&format!("run_a -> job.id {effect}"))),
        );
        let (told, left) = without_the_first(dialect, "", [&one, &other])?;
        ensure!(left == ["windrow_step_run_a"], "{effect}: {left:?}: {told}");
        ensure!(told.contains("b` also needs it"), "{effect}: {told}");
    }
    Ok(())
}
