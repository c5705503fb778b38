//! `uninstall`: the undo of `install`, listed first, done only with `--yes`.

use std::thread;
use std::time::{Duration, Instant};

use super::answer::{Exit, show, tell};
use super::overlap;
use super::session::Session;
use crate::answers::{DroppedObject, KeptIndex, Uninstalled};
use crate::bundle::{Statement, Verb, What};
use crate::cli::Uninstall;
use crate::dialect::Dialect;
use crate::failure::{Failure, is_lock_timeout};
use crate::interrupt;
use crate::render;
use crate::ui::Ui;

/// How often a statement is tried whose table others keep open.
const ATTEMPTS: u32 = 20;

/// The time between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// Lists or drops what install made.
pub(super) fn uninstall(args: &Uninstall, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.with.on, ui)?;
    let bundle = render::bundle(&session.graph, session.server.dialect)?;
    let file = bundle.files.iter().find(|file| {
        file.path
            .rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with("90_"))
    });
    let Some(file) = file else {
        return Err(Failure::new("the spec generates no `90_uninstall.sql`").into());
    };
    if args.yes {
        session.lock_install()?;
    }
    let absent = absent(&mut session, &bundle.control)?;
    let archived = archived(&mut session, &bundle.control)?;
    let needed = overlap::needed_indexes(&mut session, ui)?;
    let mut answer = Uninstalled {
        spec: session.graph.name.clone(),
        control: bundle.control.clone(),
        installed: absent.is_none(),
        dropped: args.yes,
        objects: Vec::new(),
        kept_indexes: Vec::new(),
        archives: archived.clone(),
    };
    let mut statements = Vec::new();
    for statement in &file.statements {
        match index_of(statement).and_then(|name| Some((name, needed.by(name)?))) {
            // MySQL drops an index in several steps.
            Some((name, (control, needs))) => {
                if drops(statement) {
                    ui.note(&format!("index {name} is kept: `{control}` {needs}"));
                    answer.kept_indexes.push(KeptIndex {
                        index: name.to_owned(),
                        needed_by: control.to_owned(),
                    });
                }
            }
            None if by_its_name_alone(statement) => {}
            None => statements.push(as_it_can_go(&mut session, statement)?),
        }
    }
    triggers_of_the_owner(&mut session, &bundle.control, &mut statements)?;
    if let Some(control) = &needed.unknown
        && !answer.kept_indexes.is_empty()
    {
        ui.hint(&format!(
            "run `windrow uninstall` again with an account that may read `{control}`: it drops the indexes that nobody needs; \
             or drop them by hand"
        ));
    }
    if !args.yes {
        let drops = statements.iter().filter(|statement| drops(statement));
        answer.objects = drops.map(|it| object(it, None)).collect();
        show(ui, args.with.output, &answer, || {
            let rows = answer
                .archives
                .iter()
                .map(|table| format!("drop the rows of {table} (only with --drop-archive)"));
            let objects = answer.objects.iter().map(|it| it.drop.clone());
            rows.chain(objects).collect::<Vec<_>>().join("\n")
        });
        ui.hint(&match &absent {
            None => format!(
                "in {}, this would be dropped; add --yes to drop it",
                session.url
            ),
            Some(absent) => format!("{absent}; add --yes to drop what may be left of it"),
        });
        return Ok(Exit::Clean);
    }
    interrupt::cancels(session.database.cancel())?;
    if args.drop_archive {
        session.database.execute(session.calls.allow_drop())?;
    } else if let Some(table) = archived.first() {
        return Err(Failure::new(format!(
            "there are archived rows in `{table}`"
        ))
        .hint("they exist nowhere else: copy them first; `--drop-archive` drops them with everything else")
        .into());
    }
    answer.objects = drop_all(&mut session, &bundle.control, &statements, ui).map_err(|error| {
        Failure::new(format!("cannot apply `{}`", file.path))
            .caused_by(error)
            .hint("running it again is safe")
    })?;
    for notice in session.database.notices() {
        ui.warning(&notice);
    }
    let text = match absent {
        None => format!("`{}` was removed from {}", bundle.control, session.url),
        Some(absent) => format!("{absent}; what was left of it was dropped"),
    };
    tell(ui, args.with.output, &answer, &text);
    Ok(Exit::Clean)
}

/// That it is not installed, as far as this account may see it.
fn absent(session: &mut Session, control: &str) -> anyhow::Result<Option<String>> {
    let installed = session.calls.installed();
    let rows = session.database.query(installed, &[Some(control)])?;
    let absent = || {
        format!(
            "`{control}` is not installed in {}, or this account cannot see it",
            session.url
        )
    };
    Ok(rows.is_empty().then(absent))
}

/// Drops all of it, and reports what was dropped.
fn drop_all(
    session: &mut Session,
    control: &str,
    statements: &[Statement],
    ui: &Ui,
) -> anyhow::Result<Vec<DroppedObject>> {
    let mut dropped = Vec::new();
    // Runs of statements that may share a transaction do where the server has such, so that the undo is whole or not at all.
    let together = session.server.dialect == Dialect::Postgres;
    for group in statements.chunk_by(|a, b| together && !a.alone && !b.alone) {
        // An interrupt between two statements cancels none.
        if interrupt::hit() {
            return Err(interrupted());
        }
        if group.iter().any(|it| it.what.as_str() == "drop roles") {
            refuse_owner(session, control)?;
        }
        let group: Vec<&Statement> = group.iter().collect();
        let done = match group.as_slice() {
            [statement] if statement.alone => {
                let start = Instant::now();
                let progress = ui.progress(statement.what.as_str(), None);
                let done = patiently("uninstall", || session.database.execute(&statement.sql));
                drop(progress);
                done.map(|()| {
                    if drops(statement) {
                        ui.done(statement.what.as_str(), start.elapsed());
                        dropped.push(object(statement, Some(start.elapsed())));
                    }
                })
            }
            group => session.database.transaction(group, &mut |statement, took| {
                if drops(statement) {
                    ui.done(statement.what.as_str(), took);
                    dropped.push(object(statement, Some(took)));
                }
            }),
        };
        done.map_err(|error| match interrupt::hit() {
            true => interrupted(),
            false => error,
        })?;
    }
    Ok(dropped)
}

fn interrupted() -> anyhow::Error {
    let failure = interrupt::bare_failure("uninstall");
    failure
        .hint("what was dropped is gone; the next call drops the rest")
        .into()
}

/// MySQL and MariaDB: adds the statements that drop the other triggers of the owner role, such as those of an earlier version or of an
/// earlier spec: without their definer, every INSERT that they look at fails.
fn triggers_of_the_owner(
    session: &mut Session,
    control: &str,
    statements: &mut Vec<Statement>,
) -> anyhow::Result<()> {
    let dialect = session.server.dialect;
    if dialect == Dialect::Postgres {
        return Ok(());
    }
    let others = owned(session, control)?.into_iter().filter_map(|name| {
        let what = format!("drop trigger {name}");
        let known = statements.iter().any(|it| it.what.as_str() == what);
        (!known).then(|| alone(&what, format!("DROP TRIGGER IF EXISTS {name}")))
    });
    let mut others: Vec<Statement> = others.collect();
    if !others.is_empty() {
        others.insert(
            0,
            alone(
                "set lock_wait_timeout",
                session.calls.impatient().to_owned(),
            ),
        );
    }
    // As those of the file: once there is no run any more. The file sets its own patience before each of its steps.
    let behind = statements
        .iter()
        .position(|it| it.what.as_str().starts_with("drop database "))
        .map_or(0, |at| at + 1);
    statements.splice(behind..behind, others);
    Ok(())
}

/// MySQL and MariaDB: the triggers of the owner role, with their databases.
fn owned(session: &mut Session, control: &str) -> anyhow::Result<Vec<String>> {
    let dialect = session.server.dialect;
    let owner = render::role_name(dialect, control, "owner");
    // A role is written `role`, `role@` or `role@%`.
    let sql = "SELECT t.trigger_schema, t.trigger_name FROM information_schema.triggers AS t
               WHERE SUBSTRING_INDEX(t.definer, '@', 1) = ? ORDER BY 1, 2";
    let rows = session.database.query(sql, &[Some(&owner)])?;
    let names = rows.into_iter().filter_map(|row| {
        let mut names = row.into_iter().flatten().map(|name| dialect.ident(&name));
        Some(format!("{}.{}", names.next()?, names.next()?))
    });
    Ok(names.collect())
}

/// MySQL and MariaDB: refuses to drop the owner role while a trigger is left of it. An installation by hand takes no lock.
fn refuse_owner(session: &mut Session, control: &str) -> anyhow::Result<()> {
    if session.server.dialect == Dialect::Postgres {
        return Ok(());
    }
    let Some(trigger) = owned(session, control)?.into_iter().next() else {
        return Ok(());
    };
    Err(Failure::new(format!(
        "the roles are kept: the trigger {trigger} of the owner role was created meanwhile"
    ))
    .hint("without its definer, every INSERT that it looks at fails: run `windrow uninstall` again, which drops it")
    .into())
}

/// Whether a statement drops a trigger of an earlier version, whoever made it.
pub(super) fn by_its_name_alone(statement: &Statement) -> bool {
    let words = statement.what.as_str();
    words.starts_with("drop trigger ") && words.ends_with(render::OF_EARLIER_VERSIONS)
}

fn alone(what: &str, sql: String) -> Statement {
    Statement {
        what: What::new(what),
        sql,
        alone: true,
        shown: None,
    }
}

fn object(statement: &Statement, took: Option<Duration>) -> DroppedObject {
    DroppedObject {
        drop: statement.what.as_str().to_owned(),
        seconds: took.map(|took| took.as_secs_f64()),
    }
}

/// Does again what waited too long for a lock of another session. In between, those get through who waited behind it.
pub(super) fn patiently(
    running: &str,
    mut attempt: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for left in (0..ATTEMPTS).rev() {
        // Where it comes in a pause, there is nothing that it cancels.
        if interrupt::hit() {
            break;
        }
        match attempt() {
            Err(error) if left > 0 && is_lock_timeout(&error) => thread::sleep(PAUSE),
            done => return done,
        }
    }
    Err(interrupt::failure(running).into())
}

/// The archive tables that have rows, with their schemas, whatever the spec says now.
fn archived(session: &mut Session, control: &str) -> anyhow::Result<Vec<String>> {
    let sql = session.calls.archives();
    let tables = session.database.query(sql, &[Some(control)])?;
    let mut found = Vec::new();
    for row in tables {
        let [Some(schema), Some(table)] = &row[..] else {
            continue;
        };
        let sql = session.calls.any_row(control, schema, table);
        if !session.database.query(&sql, &[])?.is_empty() {
            found.push(format!("{schema}.{table}"));
        }
    }
    Ok(found)
}

/// The name of the index that a statement drops, or prepares to.
fn index_of(statement: &Statement) -> Option<&str> {
    let (verb, name) = statement.what.as_str().rsplit_once(' ')?;
    [
        "drop index",
        "look for index",
        "parse index",
        "forget index",
    ]
    .contains(&verb)
    .then_some(name)
}

/// The statement, but that the server drops the index of a partitioned table only while nobody else is at the table.
fn as_it_can_go(session: &mut Session, statement: &Statement) -> anyhow::Result<Statement> {
    let mut statement = statement.clone();
    if session.server.dialect == Dialect::Postgres
        && let Some(name) = index_of(&statement)
    {
        let sql = "SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                   WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind = 'I'";
        let schema = session.graph.schema.clone();
        if !session
            .database
            .query(sql, &[Some(&schema), Some(name)])?
            .is_empty()
        {
            statement.sql = statement.sql.replacen("INDEX CONCURRENTLY ", "INDEX ", 1);
        }
    }
    Ok(statement)
}

/// Whether a statement takes something away, and does not only prepare for those that do.
fn drops(statement: &Statement) -> bool {
    [Verb::Drop, Verb::Unschedule].contains(&statement.what.verb())
}
