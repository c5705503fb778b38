//! The control database of MySQL and MariaDB, where nothing has an owner but what has a definer.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windrow::bundle::Bundle;
use windrow::dialect::Dialect;
use windrow::graph::Shared;
use windrow::sandbox::mysql::{self, Flavour, Mysql};

use crate::harness::tests;
use crate::shapes::sets;
use crate::support::defect;
use crate::support::effort::in_turn;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::Installation;

tests! {
    on_postgres: [
        what_stands_in_the_control_database_is_refused_by_name,
    ],
}

/// A change by hand, what takes it back (`install`: an installation), and what is told of it.
type Change = (String, String, &'static str);

/// A right that somebody gives.
fn rights(rights: &str, on: &str, to: &str, says: &'static str) -> Change {
    (
        format!("GRANT {rights} ON {on} TO {to}"),
        format!("REVOKE {rights} ON {on} FROM {to}"),
        says,
    )
}

/// What is changed on one of the two servers alone.
fn changes_of(dialect: Dialect, control: &str, owner: &str) -> Vec<Change> {
    match dialect {
        Dialect::Mysql => vec![
            (
                format!("SET GLOBAL mandatory_roles = 'other, {owner}@`%`'"),
                "SET GLOBAL mandatory_roles = ''".to_owned(),
                "granted to everybody",
            ),
            rights(
                "ROLE_ADMIN",
                "*.*",
                owner,
                "rights on the whole server: ROLE_ADMIN",
            ),
            (
                format!(
                    "ALTER TABLE {control}.policy ALTER CHECK policy_workflow_instances NOT ENFORCED"
                ),
                format!(
                    "ALTER TABLE {control}.policy ALTER CHECK policy_workflow_instances ENFORCED"
                ),
                "policy_workflow_instances is another",
            ),
        ],
        _ => vec![
            (
                format!("GRANT {owner} TO PUBLIC"),
                format!("REVOKE {owner} FROM PUBLIC"),
                "granted to PUBLIC",
            ),
            rights("SET USER", "*.*", owner, "rights on the whole server"),
        ],
    }
}

/// What else somebody may change on MySQL or MariaDB, what takes it back, and what is told of it.
fn changes(dialect: Dialect, control: &str, name: &str, owner: &str) -> Vec<Change> {
    let role = |suffix: &str| owner.replace("_owner", suffix);
    let (operator, auditor) = (role("_operator"), role("_auditor"));
    let mallory = "mallory@'127.0.0.1'";
    let all = format!("{control}.*");
    let application = format!("{name}.*");
    let alert = format!("{name}.t_ds_alert");
    let preview = format!("PROCEDURE {control}.preview");
    let mut changes = vec![
        rights("EXECUTE", "*.*", owner, "rights on the whole server"),
        rights("PROCESS", "*.*", &operator, "rights on the whole server"),
        rights("PROXY", owner, mallory, "may be taken on by mallory"),
        rights("DELETE", &application, owner, "besides what the spec needs: DELETE"),
        rights("INSERT", "mysql.*", owner, "besides what the spec needs: INSERT"),
        rights("DELETE", &alert, &operator, "besides what the spec needs: DELETE"),
        rights("UPDATE (id)", &alert, &auditor, "besides what the spec needs: UPDATE of a column"),
        rights("SELECT", &application, &operator, "besides what the spec needs: SELECT"),
        rights("LOCK TABLES", &all, mallory, "may be changed by mallory"),
        (
            format!("GRANT DELETE, UPDATE ON {name}.t_ds_user TO {owner}"),
            "install".to_owned(),
            "besides what the spec needs: UPDATE",
        ),
        (
            format!("GRANT UPDATE ON {application} TO {owner}"),
            "install".to_owned(),
            "besides what the spec needs: UPDATE",
        ),
        (
            format!("REVOKE DELETE ON {alert} FROM {owner}"),
            "install".to_owned(),
            "may no longer: DELETE",
        ),
        (
            format!("REVOKE EXECUTE ON {preview} FROM {auditor}"),
            "install".to_owned(),
            "preview may not be called by",
        ),
        (
            format!("GRANT EXECUTE ON {preview} TO {auditor} WITH GRANT OPTION"),
            format!("REVOKE GRANT OPTION ON {preview} FROM {auditor}"),
            "preview may be called by",
        ),
        (
            format!("ALTER TABLE {control}.policy DROP CONSTRAINT policy_workflow_instances, ADD CONSTRAINT policy_workflow_instances CHECK (retention_seconds > -1)"),
            "install".to_owned(),
            "policy_workflow_instances is another than the installation made",
        ),
        (
            format!("ALTER TABLE {control}.hold ADD CONSTRAINT mine CHECK (rule <> '')"),
            format!("ALTER TABLE {control}.hold DROP CONSTRAINT mine"),
            "mine is none of windrow's",
        ),
        (
            format!("ALTER TABLE {control}.hold DROP PRIMARY KEY"),
            format!("ALTER TABLE {control}.hold ADD PRIMARY KEY (rule, `key`)"),
            "primary key of hold is missing",
        ),
        (
            format!("ALTER TABLE {control}.policy MODIFY COLUMN retention_seconds bigint NOT NULL"),
            format!("ALTER TABLE {control}.policy MODIFY COLUMN retention_seconds bigint"),
            "column policy.retention_seconds is another",
        ),
        (
            format!(
                "ALTER DEFINER = {owner} SQL SECURITY INVOKER VIEW {control}.open_hours AS SELECT 1 AS position, 'always' AS written, '1234567' AS days,
                 '00:00:00' AS begins, '00:00:00' AS ends, 'UTC' AS zone, NULL AS changed_by, NULL AS changed_at"
            ),
            "install".to_owned(),
            "view open_hours is another",
        ),
        // Who looks is no excuse for what belongs to him.
        (
            format!("ALTER DEFINER = CURRENT_USER SQL SECURITY INVOKER VIEW {control}.open_hours AS SELECT 1 AS position"),
            "install".to_owned(),
            "belongs to root",
        ),
    ];
    changes.extend(changes_of(dialect, control, owner));
    changes
}

/// What verify() tells of that is not as the installation made it.
fn unlike(verify: &Value) -> Vec<&Value> {
    let checks = verify["checks"].as_array().into_iter().flatten();
    checks
        .filter(|check| {
            ["claim", "rights", "routine"].contains(&check["check"].as_str().unwrap_or_default())
                && check["severity"] == "violation"
        })
        .collect()
}

/// What somebody changes on both servers.
fn changes_of_both(control: &str, owner: &str) -> Vec<Change> {
    vec![
        (
            format!("GRANT {owner} TO mallory@'127.0.0.1'"),
            format!("REVOKE {owner} FROM mallory@'127.0.0.1'"),
            "granted to mallory",
        ),
        (
            format!("GRANT SELECT ON *.* TO {owner}"),
            format!("REVOKE SELECT ON *.* FROM {owner}"),
            "rights on the whole server",
        ),
        (
            format!(
                "GRANT EXECUTE ON PROCEDURE {control}.record_forced_install TO mallory@'127.0.0.1'"
            ),
            format!(
                "REVOKE EXECUTE ON PROCEDURE {control}.record_forced_install FROM mallory@'127.0.0.1'"
            ),
            "may be called by mallory",
        ),
        (
            format!("GRANT UPDATE ON {control}.control TO mallory@'127.0.0.1'"),
            format!("REVOKE UPDATE ON {control}.control FROM mallory@'127.0.0.1'"),
            "may be changed by mallory",
        ),
        (
            format!("GRANT UPDATE ON {control}.* TO mallory@'127.0.0.1'"),
            format!("REVOKE UPDATE ON {control}.* FROM mallory@'127.0.0.1'"),
            "may be changed by mallory",
        ),
        (
            format!("ALTER PROCEDURE {control}.preview SQL SECURITY INVOKER"),
            format!("ALTER PROCEDURE {control}.preview SQL SECURITY DEFINER"),
            "rights of its invoker",
        ),
        (
            format!(
                "CREATE TRIGGER {control}.evil BEFORE INSERT ON {control}.hold FOR EACH ROW SET @told = 1"
            ),
            format!("DROP TRIGGER {control}.evil"),
            "acts when table hold",
        ),
        (
            format!("ALTER TABLE {control}.policy DROP CONSTRAINT policy_workflow_instances"),
            "install".to_owned(),
            "policy_workflow_instances is missing",
        ),
    ]
}

/// What queries tell.
fn told(made: &mut Installation, queries: &[String]) -> Vec<String> {
    let rows = queries.iter().flat_map(|query| made.rows(query));
    rows.map(|row| {
        format!(
            "{} {}",
            row[0].clone().unwrap_or_default(),
            row[1].clone().unwrap_or_default()
        )
    })
    .collect()
}

/// A change is told, by `windrow diff` and by verify(), which told of so many things before it; answers of how many it tells now.
fn is_told(
    made: &mut Installation,
    bundle: &Bundle,
    (change, _, says): &Change,
    before: usize,
) -> Result<usize> {
    let dialect = made.dialect;
    made.execute(change);
    let found = told(made, &bundle.deviations);
    ensure!(
        found.iter().any(|it| it.contains(*says)),
        "{dialect:?}, {change}: {found:?}"
    );
    if is_of_accounts(change) {
        return Ok(before);
    }
    let verify = made.call("verify", json!({}));
    // Where it cannot look any more, that is told, too.
    let now = verify
        .as_ref()
        .map_or(before + 1, |verify| unlike(verify).len());
    ensure!(now > before, "{dialect:?}, {change}: {verify:?}");
    Ok(now)
}

/// The rights of accounts are for those to see who may read them, which the owner role may not: verify() tells nothing of them.
fn is_of_accounts(change: &str) -> bool {
    let mut words = ["GRANT", "REVOKE", "SET GLOBAL"].into_iter();
    words.any(|it| change.starts_with(it))
}

/// Nothing is told once changes are taken back.
fn nothing_is_left(made: &mut Installation, bundle: &Bundle, change: &str) -> Result<()> {
    let left = told(made, &bundle.deviations);
    ensure!(
        left.is_empty(),
        "{:?}, after {change}: {left:?}",
        made.dialect
    );
    Ok(())
}

/// Keys of tables of other databases are told.
fn keys_beside_are_told(made: &mut Installation, owner: &str) -> Result<()> {
    let dialect = made.dialect;
    // Keys of other databases are seen by a right on everything, or verify() says that they are not.
    let aside = format!("{}_aside", made.name);
    made.execute(&format!(
        "CREATE DATABASE {aside}; CREATE TABLE {aside}.bill (id bigint PRIMARY KEY, run_id int,
         CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES {}.t_ds_workflow_instance (id) ON DELETE CASCADE)",
        made.name
    ));
    for (right, is_seen) in [("PROCESS", true), ("REFERENCES", false)] {
        if right == "REFERENCES" || dialect == Dialect::Mariadb {
            made.execute(&format!("REVOKE {right} ON *.* FROM {owner}"));
        }
        let verify = made.call("verify", json!({}))?.to_string();
        ensure!(
            verify.contains(&format!("{aside}.bill")) == is_seen,
            "{dialect:?}, {right}: {verify}"
        );
        let says = verify.contains("foreign keys of their tables are not seen");
        ensure!(says != is_seen, "{dialect:?}, {right}: {verify}");
    }
    made.install(&dolphinscheduler(Shared::Closed));
    let verify = made.call("verify", json!({}))?.to_string();
    ensure!(
        verify.contains(&format!("{aside}.bill")),
        "{dialect:?}: {verify}"
    );
    made.execute(&format!("DROP DATABASE {aside}"));
    Ok(())
}

/// What the owner role may besides is taken back.
fn rights_are_taken_back(made: &mut Installation, owner: &str) -> Result<()> {
    let dialect = made.dialect;
    // What an earlier state of the spec needed is taken back, and nothing else.
    let rights = format!(
        "SELECT CONCAT_WS(' ', p.table_schema, p.table_name, p.privilege_type) FROM information_schema.table_privileges AS p WHERE p.grantee LIKE '%{owner}%'
         UNION ALL
         SELECT CONCAT_WS(' ', p.table_schema, p.table_name, p.column_name, p.privilege_type) FROM information_schema.column_privileges AS p WHERE p.grantee LIKE '%{owner}%'
         ORDER BY 1"
    );
    let needed = made.texts(&rights);
    ensure!(needed.len() > 10, "{dialect:?}: {needed:?}");
    let name = made.name.clone();
    made.execute(&format!(
        "CREATE TABLE {name}.once (a int, b int); GRANT SELECT, DELETE, UPDATE (b) ON {name}.once TO {owner}; GRANT INSERT ON {name}.t_ds_alert TO {owner}"
    ));
    ensure!(made.texts(&rights).len() > needed.len());
    made.install(&dolphinscheduler(Shared::Closed));
    ensure!(
        made.texts(&rights) == needed,
        "{dialect:?}: {:?}",
        made.texts(&rights)
    );
    made.arm();
    ensure!(made.run(json!({}))?["status"] == "done");
    Ok(())
}

/// What was there before is named, and refused.
fn what_was_there_is_refused(
    made: &mut Installation,
    bundle: &Bundle,
    claims: &[String],
) -> Result<()> {
    let (dialect, control) = (made.dialect, made.control.clone());
    // Nothing is taken for windrow's own that was there before.
    for (prepared, says) in [
        (
            format!("CREATE TABLE {control}.control (only_row int)"),
            "control is there",
        ),
        (
            format!("CREATE SQL SECURITY INVOKER VIEW {control}.policy AS SELECT 1 AS rule"),
            "policy is there",
        ),
        (
            format!(
                "CREATE TABLE {control}.run (run_id int); CREATE TRIGGER {control}.evil BEFORE INSERT ON {control}.run FOR EACH ROW SET @told = 1"
            ),
            "evil",
        ),
    ] {
        made.execute(&format!(
            "DROP DATABASE {control}; CREATE DATABASE {control}; {prepared}"
        ));
        let found = told(made, claims);
        ensure!(
            found.iter().any(|it| it.contains(says)),
            "{dialect:?}, {prepared}: {found:?}"
        );
        let files = bundle.files.iter();
        let refused = files
            .filter(|file| file.path.contains("/00_") || file.path.contains("/10_"))
            .flat_map(|file| &file.statements)
            .find_map(|it| made.attempt(&it.sql).err())
            .context("nothing refuses")?;
        ensure!(format!("{refused:#}").contains("refused: "), "{refused:#}");
    }
    Ok(())
}

/// On MySQL and MariaDB nothing has an owner but what has a definer; what stands there before windrow is somebody else's.
fn what_stands_in_the_control_database_is_refused_by_name() -> Result<()> {
    for (round, flavour) in Flavour::ALL.into_iter().enumerate() {
        let server = Mysql::start(&mysql::Settings::new(flavour))?;
        let mut made = Installation::on(&server, &dolphinscheduler(Shared::Closed));
        let (control, dialect) = (made.control.clone(), made.dialect);
        made.execute("CREATE USER mallory@'127.0.0.1'");
        let mut graph = dolphinscheduler(Shared::Closed);
        graph.name = control
            .strip_prefix("windrow_")
            .context("a prefix")?
            .to_owned();
        graph.database = made.name.clone();
        let bundle = windrow::render::bundle(&graph, dialect)?;
        let bundle = defect::of_this_process(bundle, &graph, dialect);
        let owner = windrow::render::role_name(dialect, &control, "owner");
        let claims = windrow::render::claims(&graph, dialect)?;
        ensure!(
            told(&mut made, &claims).is_empty(),
            "{:?}",
            told(&mut made, &claims)
        );
        ensure!(
            told(&mut made, &bundle.deviations).is_empty(),
            "{:?}",
            told(&mut made, &bundle.deviations)
        );
        let verify = made.call("verify", json!({}))?;
        let mut broken = unlike(&verify);
        // Routines with a defect slipped in are others.
        broken.retain(|check| check["check"] != "routine" || !defect::is_expected());
        ensure!(broken.is_empty(), "{broken:?}");
        let mut all = changes_of_both(&control, &owner);
        all.extend(changes(dialect, &control, &made.name, &owner));
        let (by_install, by_hand): (Vec<_>, Vec<_>) =
            in_turn(round, 4, all).partition(|(_, undo, _)| undo == "install");
        for change in &by_hand {
            is_told(&mut made, &bundle, change, 0)?;
            made.execute(&change.1);
        }
        nothing_is_left(&mut made, &bundle, "what was taken back by hand")?;
        // By few installations: each takes back what was done to different things.
        let of = format!("{control}.");
        let thing = |(change, _, says): &Change| {
            let name = change
                .split_once(&of)
                .and_then(|(_, rest)| rest.split(' ').next());
            name.unwrap_or(says).to_owned()
        };
        for mut set in sets(by_install, thing) {
            set.sort_by_key(|(change, ..)| is_of_accounts(change));
            let mut told_of = 0;
            for change in &set {
                told_of = is_told(&mut made, &bundle, change, told_of)?;
            }
            let found = told(&mut made, &bundle.deviations);
            for (change, _, says) in &set {
                let is_told = found.iter().any(|it| it.contains(says));
                ensure!(is_told, "{dialect:?}, with others, {change}: {found:?}");
            }
            made.install(&dolphinscheduler(Shared::Closed));
            nothing_is_left(&mut made, &bundle, &format!("{set:?}"))?;
        }
        keys_beside_are_told(&mut made, &owner)?;
        rights_are_taken_back(&mut made, &owner)?;
        what_was_there_is_refused(&mut made, &bundle, &claims)?;
        made.execute(&format!(
            "DROP DATABASE {control}; CREATE DATABASE {control}"
        ));
        ensure!(told(&mut made, &claims).is_empty());
        made.install(&dolphinscheduler(Shared::Closed));
    }
    Ok(())
}
