//! `install`: check the database, apply the numbered files in order, say what comes next.

mod indexes;
mod journal;
mod triggers;
mod version;

use std::time::Instant;

use super::answer::{Exit, tell};
use super::check::{compare, record, stops};
use super::overlap;
use super::session::Session;
use super::uninstall::{by_its_name_alone, patiently};
use indexes::Ways;
use journal::Journal;
use triggers::Triggers;

use crate::answers::{AppliedFile, Installed};
use crate::bundle::{self, Bundle, File, Statement, Verb, What};
use crate::cli::Install;
use crate::db::Server;
use crate::dialect::Dialect;
use crate::drift::{self, Kind};
use crate::failure::{self, Failure};
use crate::fit::{Finding, Severity};
use crate::interrupt;
use crate::render;
use crate::report;
use crate::ui::Ui;
use crate::version::VERSION;

/// Applies the bundle.
pub(super) fn install(args: &Install, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::connect(&args.with.on, ui)?;
    let bundle = render::bundle(&session.graph, session.server.dialect)?;
    let files = chosen(&bundle.files, &args.skip)?;
    fit_server(&session.server)?;
    interrupt::cancels(session.database.cancel())?;
    session.lock_install()?;
    if !args.downgrade {
        version::refuse_older(&mut session, &bundle.control, VERSION)?;
    }

    for change in &session.left_out {
        ui.note(&change.to_string());
    }
    let mut findings = session.wrong.clone();
    findings.extend(compare(
        &session.graph,
        &session.calls,
        session.database.as_mut(),
        args.threshold,
    )?);
    let forced = judge(&findings, args, ui)?;

    let was_armed = matches!(session.not_armed(), Ok(None));
    let joins = joins(&mut session, &bundle.control)?;
    let ways = Ways::look(&mut session)?;
    session
        .database
        .query(session.calls.tell_version(), &[Some(VERSION)])?;
    let mut journal = Journal::new(ui);
    let done = put_in(&mut session, &bundle, &files, &ways, &mut journal).and_then(|applied| {
        // An installation without overruled findings takes the note of an earlier one away.
        let overruled = forced.then(|| record(&findings).to_string());
        if overruled.is_some() || is_forced(&mut session) {
            let sql = session.calls.ask("record_forced_install");
            session.database.query(&sql, &[overruled.as_deref()])?;
        }
        Ok(applied)
    });
    // Whether it was done or broke off.
    let left = if joins {
        leave(&mut session, &bundle.control)
    } else {
        Ok(())
    };
    let applied = done.map_err(|error| match session.not_armed() {
        Ok(Some(_)) if was_armed => with_detail(error, DISARMED),
        _ => error,
    })?;
    left?;
    if forced {
        ui.warning("installed despite errors; they are recorded, and `windrow status` shows them");
    }
    let refused = session.not_armed().ok();
    if was_armed && matches!(refused, Some(Some(_))) {
        ui.warning(DISARMED);
    }
    let installed = Installed {
        spec: session.graph.name.clone(),
        control: bundle.control.clone(),
        server: session.server.dialect.facts().title,
        left_out: session.left_out.clone(),
        findings,
        forced,
        files: applied,
        dropped: journal.read(),
        overlaps: overlap::overlaps(&mut session)?,
        armed: refused.as_ref().map(Option::is_none),
        not_armed: refused.flatten(),
    };
    let text = format!("`{}` is installed in {}", installed.control, session.url);
    tell(ui, args.with.output, &installed, &text);
    for overlap in &installed.overlaps {
        ui.warning(&format!("{}; {}", overlap.text(), overlap::HINT));
    }
    next_steps(&session, args, &installed, ui);
    Ok(Exit::found(forced))
}

/// What is said where an installation has disarmed what it found armed.
const DISARMED: &str = "it was armed, and is not any more: the spec has another schema or database, a new rule or one with another root \
     table or strategy, or something that was set matches no rule (`windrow verify`)";

/// The error with one more detail.
fn with_detail(error: anyhow::Error, detail: &str) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(failure) => failure.detail(detail).into(),
        Err(error) => Failure::new("the installation broke off")
            .caused_by(error)
            .detail(detail)
            .into(),
    }
}

/// Shows what the check found, and answers whether errors among it are overruled.
///
/// # Errors
///
/// Fails if a finding prevents the installation and was not overruled, or cannot be.
fn judge(findings: &[Finding], args: &Install, ui: &Ui) -> anyhow::Result<bool> {
    for finding in findings
        .iter()
        .filter(|finding| finding.severity > Severity::Notice)
    {
        ui.note(&format!("{finding}\n"));
    }
    if let Some(finding) = findings
        .iter()
        .find(|it| it.code == "foreign-claim" && it.severity == Severity::Error)
    {
        return Err(Failure::new(format!("{} {}", finding.object, finding.message))
            .hint(format!("not installed: somebody else may change what it would use, and `--force` does not overrule this: \
                 {}", finding.help))
            .into());
    }
    let stopping = findings.iter().any(stops);
    let stays = findings.iter().any(|it| it.code == "policy-under-minimum");
    if stopping && (!args.force || stays) {
        return Err(Failure::new(format!("the spec does not fit this database: {}", report::summary(findings)))
            .hint(if stays {
                "change these policies, or lower `minimum`; `--force` does not overrule this"
            } else {
                "correct the spec or the database; `--force` installs anyway, and records what it overruled"
            })
            .into());
    }
    Ok(stopping)
}

/// Applies the files, and drops what they replace.
fn put_in(
    session: &mut Session,
    bundle: &Bundle,
    files: &[&File],
    ways: &Ways,
    journal: &mut Journal<'_>,
) -> anyhow::Result<Vec<AppliedFile>> {
    let disabled = disabled_events(session, &bundle.control)?;
    let triggers = Triggers::look(session, bundle)?;
    let files = files
        .iter()
        .map(|file| triggers.spare(beside_others(still_disabled(file, &disabled))));
    let files: Vec<File> = files.collect();
    let applied = apply_all(session, &files.iter().collect::<Vec<_>>(), ways, journal)?;
    for event in &disabled {
        let made = |it: &Statement| it.what.made().is_some_and(|made| made.name == *event);
        if files.iter().any(|file| file.statements.iter().any(made)) {
            journal.ui.warning(&format!(
                "event {event} stays disabled: it starts no run until ALTER EVENT {event} ENABLE"
            ));
        }
    }
    indexes::drop_replaced(session, journal)?;
    let applied_now = |wanted: &str| files.iter().any(|file| name(file) == wanted);
    let mut kinds = vec![Kind::Routine];
    // Where the triggers of this version are left out, those of an earlier one still refuse orphans.
    if applied_now(TRIGGERS) || bundle.files.iter().all(|file| name(file) != TRIGGERS) {
        kinds.insert(0, Kind::Trigger);
    } else if let Some(sql) = session.calls.without_triggers() {
        session.database.execute(&sql)?;
    }
    if applied_now("60_schedule.sql") {
        // pg_cron's jobs are dropped with that file.
        kinds.push(Kind::Event);
    }
    drop_left_over(session, bundle, &kinds, journal)?;
    if !kinds.contains(&Kind::Event) {
        session.database.execute(&session.calls.unschedule())?;
    }
    Ok(applied)
}

/// The file that makes the triggers of a spec with an orphan guard.
const TRIGGERS: &str = "52_triggers.sql";

/// The events that somebody has disabled, with their database.
fn disabled_events(session: &mut Session, control: &str) -> anyhow::Result<Vec<String>> {
    let Some(sql) = session.calls.disabled_events() else {
        return Ok(Vec::new());
    };
    let rows = session.database.query(sql, &[Some(control)])?;
    let names = rows.into_iter().flatten().flatten();
    Ok(names.map(|name| format!("{control}.{name}")).collect())
}

/// The file, with these events as they are: an EVENT is made anew, and who has disabled one may want it so. It is altered instead: one
/// that is gone when an installation breaks off is enabled by the next one.
fn still_disabled(file: &File, disabled: &[String]) -> File {
    let mut file = file.clone();
    let drops = |words: &str| {
        let name = words.strip_prefix("drop event ");
        name.is_some_and(|name| disabled.iter().any(|it| it == name))
    };
    file.statements.retain(|it| !drops(it.what.as_str()));
    for statement in &mut file.statements {
        let made = statement.what.made();
        if made
            .is_some_and(|made| made.kind == bundle::Kind::Event && disabled.contains(&made.name))
        {
            let altered = statement.sql.replacen("CREATE ", "ALTER ", 1);
            statement.sql = altered.replacen("\nENABLE\n", "\nDISABLE\n", 1);
        }
    }
    file
}

/// The file without the statements that drop triggers of an earlier version by their names alone, which another spec can have, too:
/// those of the owner role are dropped at the end.
fn beside_others(mut file: File) -> File {
    file.statements.retain(|it| !by_its_name_alone(it));
    file
}

/// Applies the files in order.
fn apply_all(
    session: &mut Session,
    files: &[&File],
    ways: &Ways,
    journal: &mut Journal<'_>,
) -> anyhow::Result<Vec<AppliedFile>> {
    let mut applied: Vec<AppliedFile> = Vec::new();
    for file in files {
        let begin = Instant::now();
        apply(session, file, ways, journal)
            .map_err(|error| interrupt::explain(error, &file.path))
            .map_err(|error| failed(file, session.server.dialect, &applied, error))?;
        let objects = journal.read();
        journal.ui.done(name(file), begin.elapsed());
        applied.push(AppliedFile {
            file: name(file).to_owned(),
            seconds: begin.elapsed().as_secs_f64(),
            objects,
        });
        for notice in session.database.notices() {
            journal.ui.warning(&notice);
        }
    }
    Ok(applied)
}

/// Whether who installs is a member of the owner role on PostgreSQL only for that: by a grant of its own, as an installation makes it.
fn joins(session: &mut Session, control: &str) -> anyhow::Result<bool> {
    if session.server.dialect != Dialect::Postgres {
        return Ok(false);
    }
    let owner = render::role_name(Dialect::Postgres, control, "owner");
    let sql = "SELECT 1 FROM pg_catalog.pg_roles AS r WHERE r.rolname = $1 AND pg_catalog.pg_has_role(current_user, r.oid, 'USAGE')
                 AND NOT EXISTS (
                     SELECT FROM pg_catalog.pg_auth_members AS a JOIN pg_catalog.pg_roles AS m ON m.oid = a.member
                     WHERE a.roleid = r.oid AND a.grantor = m.oid AND m.rolname = current_user
                 )
               UNION ALL SELECT 1 FROM pg_catalog.pg_roles AS r WHERE r.rolname = current_user AND r.rolsuper AND $1::text IS NOT NULL";
    Ok(session.database.query(sql, &[Some(&owner)])?.is_empty())
}

/// Gives the membership back: roles belong to all databases of the server. Who has installed operates.
fn leave(session: &mut Session, control: &str) -> anyhow::Result<()> {
    let role = |suffix| render::role_name(Dialect::Postgres, control, suffix);
    let (operator, owner) = (role("operator"), role("owner"));
    // What broke off may have become the owner.
    session.database.execute("RESET ROLE")?;
    let sql = "SELECT 1 FROM pg_catalog.pg_auth_members AS a JOIN pg_catalog.pg_roles AS r ON r.oid = a.roleid
               JOIN pg_catalog.pg_roles AS m ON m.oid = a.member
               WHERE r.rolname = $1 AND m.rolname = current_user AND a.grantor = m.oid";
    if session.database.query(sql, &[Some(&owner)])?.is_empty() {
        return Ok(());
    }
    let [operator, owner] = [operator, owner].map(|name| Dialect::Postgres.ident(&name));
    session.database.execute(&format!(
        "GRANT {operator} TO CURRENT_USER; REVOKE {owner} FROM CURRENT_USER"
    ))
}

/// Drops what an earlier spec or version left, once the files are applied: nothing should delete or refuse by rules that are no
/// longer in the spec. What was made by hand is kept.
fn drop_left_over(
    session: &mut Session,
    bundle: &Bundle,
    kinds: &[Kind],
    journal: &mut Journal<'_>,
) -> anyhow::Result<()> {
    let objects = session.calls.objects();
    let rows = session.database.query(objects, &[Some(&bundle.control)])?;
    let found = drift::compare(bundle, session.server.dialect, &rows);
    // The trigger of an orphan guard is dropped with its function, under a lock of the application's table.
    session.database.execute(session.calls.impatient())?;
    for kind in kinds {
        let left = found
            .iter()
            .filter(|drift| drift.kind == *kind && !drift.statement.is_empty());
        for drift in left {
            let begin = Instant::now();
            let what = format!("drop {} {}", kind.title(), drift.name);
            patiently("install", || session.database.execute(&drift.statement)).map_err(
                |error| {
                    let failure = Failure::new(format!("cannot {what}"))
                        .caused_by(error)
                        .detail(drift.statement.clone());
                    failure.hint("run `windrow install` again: it continues from there")
                },
            )?;
            journal.done(&what, begin.elapsed());
        }
    }
    Ok(())
}

/// Whether an earlier installation overruled something; a role that may not read this may not clear it either.
fn is_forced(session: &mut Session) -> bool {
    session
        .database
        .query(&session.calls.forced_install(), &[])
        .is_ok_and(|rows| !rows.is_empty())
}

/// The files that change something, without the undo and what is to be left out.
fn chosen<'a>(files: &'a [File], skip: &[String]) -> anyhow::Result<Vec<&'a File>> {
    for skipped in skip {
        if !files.iter().any(|file| name(file) == skipped) {
            let names: Vec<_> = files
                .iter()
                .map(|file| format!("`{}`", name(file)))
                .collect();
            return Err(
                Failure::new(format!("there is no file `{skipped}` to skip"))
                    .hint(format!("the files are {}", names.join(", ")))
                    .into(),
            );
        }
    }
    let numbered = |file: &&File| name(file).starts_with(|first: char| first.is_ascii_digit());
    let undo = |file: &&File| name(file).starts_with("90_");
    Ok(files
        .iter()
        .filter(numbered)
        .filter(|file| !undo(file) && !skip.iter().any(|skip| skip == name(file)))
        .collect())
}

fn name(file: &File) -> &str {
    file.path.rsplit('/').next().unwrap_or(&file.path)
}

fn fit_server(server: &Server) -> anyhow::Result<()> {
    let facts = server.dialect.facts();
    if server.release() < facts.minimum_version {
        let version = |(major, minor, patch): (u32, u32, u32)| match server.dialect {
            Dialect::Postgres => major.to_string(),
            Dialect::Mysql | Dialect::Mariadb => format!("{major}.{minor}.{patch}"),
        };
        return Err(Failure::new(format!(
            "the server is {} {}, and windrow needs {} or later",
            facts.title,
            version(server.release()),
            version(facts.minimum_version)
        ))
        .into());
    }
    if server.in_recovery && (server.read_only || server.dialect == Dialect::Postgres) {
        return Err(Failure::new("the server is a standby")
            .hint("connect to the primary")
            .into());
    }
    if server.read_only {
        let failure = Failure::new("the session is read-only");
        return Err(match server.dialect {
            Dialect::Postgres => failure.hint(
                "connect with a role or a database without `default_transaction_read_only`",
            ),
            Dialect::Mysql | Dialect::Mariadb => failure.hint(
                "`read_only`, `super_read_only` or `transaction_read_only` is on: connect to the primary, or have it turned off",
            ),
        }
        .into());
    }
    Ok(())
}

fn apply(
    session: &mut Session,
    file: &File,
    ways: &Ways,
    journal: &mut Journal<'_>,
) -> anyhow::Result<()> {
    // Order counts: what may share a transaction does so between those statements that may not.
    for group in file.statements.chunk_by(|a, b| !a.alone && !b.alone) {
        if interrupt::hit() {
            return Err(interrupt::failure(&file.path).into());
        }
        let group: Vec<&Statement> = group.iter().collect();
        match group.as_slice() {
            [statement] if statement.alone => apply_alone(session, statement, ways, journal)?,
            group => apply_together(session, group, journal)?,
        }
    }
    Ok(())
}

/// Applies statements in one transaction, where the server can. A routine or view of an earlier version whose parameters,
/// results or columns are others cannot be replaced: it is dropped in front of its statement, with the views upon it, which
/// a later statement makes anew.
fn apply_together(
    session: &mut Session,
    group: &[&Statement],
    journal: &mut Journal<'_>,
) -> anyhow::Result<()> {
    let mut statements: Vec<Statement> = group.iter().copied().cloned().collect();
    loop {
        let mut done = Vec::new();
        let result =
            session
                .database
                .transaction(&statements.iter().collect::<Vec<_>>(), &mut |_, took| {
                    done.push(took);
                });
        let at = done.len();
        if let Err(error) = &result
            && has_another_shape(error)
            && let Some(drop) = statements.get(at).and_then(replaced)
            && statements[..at].last() != Some(&drop)
        {
            statements.insert(at, drop);
            continue;
        }
        // Elsewhere than on PostgreSQL, what was done before an error is kept.
        if result.is_ok() || session.server.dialect != Dialect::Postgres {
            let done = statements.iter().zip(done);
            for (statement, took) in done.filter(|(statement, _)| is_object(statement)) {
                journal.done(statement.what.as_str(), took);
            }
        }
        return result;
    }
}

/// Whether PostgreSQL says that a function or a view cannot be replaced by one of another shape.
fn has_another_shape(error: &anyhow::Error) -> bool {
    matches!(failure::sqlstate(error), Some("42P13" | "42P16"))
}

/// The statement that drops what another one wants to replace.
fn replaced(statement: &Statement) -> Option<Statement> {
    let made = statement.what.made()?;
    let (kind, name) = (made.kind.word(), &made.name);
    (made.kind.is_routine() || made.kind == bundle::Kind::View).then(|| Statement {
        what: What::new(&format!(
            "drop {kind} {name}, which has a different definition"
        )),
        sql: format!("DROP {} {name} CASCADE", kind.to_uppercase()),
        alone: false,
        shown: None,
    })
}

/// Whether a statement makes something of its own; settings, comments and grants would drown what counts.
fn is_object(statement: &Statement) -> bool {
    [Verb::Create, Verb::Schedule].contains(&statement.what.verb())
}

fn apply_alone(
    session: &mut Session,
    statement: &Statement,
    ways: &Ways,
    journal: &mut Journal<'_>,
) -> anyhow::Result<()> {
    drop_leftovers(session, statement, journal)?;
    if ways.done(session, statement, journal)? {
        return Ok(());
    }
    let start = Instant::now();
    let progress = journal.ui.progress(statement.what.as_str(), None);
    let done = session.database.execute(&statement.sql);
    drop(progress);
    done.map_err(|error| Failure::new(format!("cannot {}", statement.what)).caused_by(error))?;
    if is_object(statement) {
        journal.done(statement.what.as_str(), start.elapsed());
    }
    Ok(())
}

/// CREATE INDEX CONCURRENTLY that failed leaves an invalid index, which IF NOT EXISTS would then take for the real one.
fn drop_leftovers(
    session: &mut Session,
    statement: &Statement,
    journal: &mut Journal<'_>,
) -> anyhow::Result<()> {
    let Some(sql) = session.calls.unfinished_indexes() else {
        return Ok(());
    };
    let schema = session.graph.schema.clone();
    for row in session.database.query(sql, &[Some(&schema)])? {
        let cell = |at: usize| row.get(at).cloned().flatten();
        let index = cell(0).unwrap_or_default();
        let makes = format!("create index {}", cell(1).unwrap_or_default());
        if statement.what.as_str() != makes {
            continue;
        }
        if let Some(pid) = cell(2) {
            return Err(Failure::new(format!(
                "another session (pid {pid}) is building the index `{index}`"
            ))
            .hint("wait for it to end, then run `windrow install` again")
            .into());
        }
        let start = Instant::now();
        session
            .database
            .execute(&format!("DROP INDEX CONCURRENTLY IF EXISTS {index}"))?;
        journal.done(
            &format!("drop the invalid index {index}, left by an earlier attempt"),
            start.elapsed(),
        );
    }
    Ok(())
}

fn failed(file: &File, dialect: Dialect, applied: &[AppliedFile], error: anyhow::Error) -> Failure {
    let applied: Vec<&str> = applied.iter().map(|it| it.file.as_str()).collect();
    let state = match &applied[..] {
        [] => "no file was applied".to_owned(),
        [one] => format!("`{one}` was applied"),
        many => format!("`{}` are applied", many.join("`, `")),
    };
    // MySQL and MariaDB commit each CREATE and DROP.
    let in_parts =
        dialect != Dialect::Postgres || file.statements.iter().any(|statement| statement.alone);
    let fate = if in_parts {
        "its finished statements are kept"
    } else {
        "it was rolled back"
    };
    let denied = failure::is_denied(&error);
    let mut failure = Failure::new(format!("cannot install `{}`", name(file)))
        .caused_by(error)
        .detail(format!("{fate}; {state}"));
    if denied {
        failure = failure.hint(match dialect {
            Dialect::Postgres => {
                "the installing account must own the tables, and may create schemas in the database and roles (CREATEROLE)"
            }
            Dialect::Mysql | Dialect::Mariadb => {
                "the installing account needs all rights on the control database, SELECT, DELETE and INDEX on the tables, and CREATE ROLE"
            }
        });
    }
    failure.hint(
        "running `windrow install` again is safe: it skips what is done and continues from there",
    )
}

fn next_steps(session: &Session, args: &Install, installed: &Installed, ui: &Ui) {
    if ui.quiet {
        return;
    }
    if installed.armed == Some(true) {
        ui.hint("it is already armed: `windrow preview` shows what the next run deletes");
        return;
    }
    if let Some(reason) = report::though_armed(installed.not_armed.as_ref()) {
        ui.hint(&format!(
            "runs are refused on this server: {reason}; if it is to be cleaned: `windrow preview`, then `windrow arm`"
        ));
        return;
    }
    let spec = args.with.on.spec.display();
    let mut steps = Vec::new();
    for rule in session
        .graph
        .rules
        .iter()
        .filter(|rule| rule.retention.opt_in)
    {
        let of = match session.graph.rules.len() {
            1 => String::new(),
            _ => format!(" --rule {}", rule.name),
        };
        steps.push(format!("windrow policy set {spec}{of} --scope SCOPE --retention 30d   (nothing is deleted without a policy)"));
    }
    steps.push(format!("windrow preview {spec}   (what would be deleted)"));
    steps.push(format!(
        "windrow arm {spec}   (until then, no run deletes anything)"
    ));
    ui.hint(&format!("next:\n  {}", steps.join("\n  ")));
}
