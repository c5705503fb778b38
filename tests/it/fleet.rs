//! `fleet`: one command on many databases of servers of every kind, of which one is down, one is slow, one was edited by hand,
//! and one may not delete.

mod stage;

use std::fs;
use std::process::{Child, Stdio};
use std::time::SystemTime;

use serde_json::Value;
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::{self, Flavour, Mysql};
use windrow::sandbox::{self, Postgres};

use crate::harness::tests;
use crate::support::database;
use crate::support::installation::server;
use crate::support::patience::until;
use stage::{Stage, of, spec};

tests! {
    alone: [
        what_cannot_be_read_is_an_error,
        no_error_shows_what_an_inventory_holds,
        what_was_done_with_another_spec_is_done_again,
        a_spec_that_changes_during_a_call_is_done_again,
        a_command_that_asks_for_something_is_not_waited_for,
    ],
    on_several: [
        a_few_databases_of_every_kind,
    ],
    when_asked: [
        sixty_databases_of_six_servers,
    ],
}

/// Servers of the test process, one of each kind.
fn a_few_databases_of_every_kind() {
    let address = |dialect| match dialect {
        Dialect::Postgres => database::server().url("DATABASE", "postgres"),
        Dialect::Mysql | Dialect::Mariadb => server(dialect).url("DATABASE", "root"),
    };
    let kinds = [Dialect::Postgres, Dialect::Mysql, Dialect::Mariadb];
    let servers = kinds.map(|dialect| (dialect, address(dialect)));
    everything(&mut Stage::new("few", &servers, 2));
}

/// Two servers of each kind, of their own.
fn sixty_databases_of_six_servers() {
    let start =
        |flavour| Mysql::start(&mysql::Settings::new(flavour)).expect("a throw-away server starts");
    let postgres = [(); 2].map(|()| {
        Postgres::start(&sandbox::Settings::default()).expect("a throw-away server starts")
    });
    let mysql = [(); 2].map(|()| start(Flavour::Mysql));
    let mariadb = [(); 2].map(|()| start(Flavour::Mariadb));
    let mut servers = Vec::new();
    servers.extend(
        postgres
            .iter()
            .map(|it| (Dialect::Postgres, it.url("DATABASE", "postgres"))),
    );
    servers.extend(
        mysql
            .iter()
            .map(|it| (Dialect::Mysql, it.url("DATABASE", "root"))),
    );
    servers.extend(
        mariadb
            .iter()
            .map(|it| (Dialect::Mariadb, it.url("DATABASE", "root"))),
    );
    everything(&mut Stage::new("sixty", &servers, 10));
}

/// From the first check to the last run, with all that goes wrong between.
fn everything(stage: &mut Stage) {
    let all = stage.databases.len();
    let (_, generated) = stage.fleet("generate", &["--", "--out", "out"]);
    assert_eq!(
        of(&generated, "clean").len(),
        stage.specs(),
        "{generated:#}"
    );

    // The server that is down stops no other.
    let (code, checked) = stage.fleet("check", &[]);
    assert_eq!(
        (code, checked["failed"].as_i64()),
        (2, Some(1)),
        "{checked:#}"
    );
    assert_eq!(of(&checked, "failed"), ["down"]);
    let says = checked["databases"]
        .as_array()
        .expect("a list")
        .last()
        .expect("one")["says"]
        .to_string();
    assert!(says.contains("connect"), "{says}");

    let (code, installed) = stage.fleet("install", &["--jobs", "4"]);
    assert_eq!(
        (code, of(&installed, "clean").len()),
        (2, all),
        "{installed:#}"
    );
    assert!(
        installed["databases"][0]["says"]
            .as_str()
            .expect("a text")
            .contains("not armed")
    );

    // Only the group is armed; the last database is in none.
    let (code, armed) = stage.fleet("arm", &["--group", "armed"]);
    assert_eq!((code, of(&armed, "clean").len()), (0, all - 1), "{armed:#}");
    let (code, ran) = stage.fleet("run", &["--group", "live"]);
    assert_eq!(code, 2, "{ran:#}");
    assert_eq!(of(&ran, "clean").len(), all - 1, "{ran:#}");
    let disarmed = stage.databases[all - 1].clone();
    assert_eq!(of(&ran, "failed"), [disarmed.as_str()], "{ran:#}");
    for name in stage.databases.clone() {
        let left = if name == disarmed { 9 } else { 3 };
        assert_eq!(stage.rows(&name), left, "{name}");
    }
    let (_, status) = stage.fleet("status", &["--group", "live"]);
    let says = |document: &Value, name: &str| {
        let databases = document["databases"].as_array().expect("a list");
        let one = databases.iter().find(|it| it["name"] == name);
        one.expect("it is there")["says"].to_string()
    };
    assert!(
        says(&status, &disarmed).contains("NOT ARMED, 6 families due"),
        "{status:#}"
    );
    assert!(
        says(&status, &stage.databases[0]).contains("0 families due"),
        "{status:#}"
    );
    let idle = stage.without_events();
    for name in stage.databases.iter().filter(|it| **it != disarmed) {
        let told = says(&status, name).contains("NOT SCHEDULED: it is OFF");
        assert_eq!(told, idle.contains(name), "{name}: {status:#}");
    }

    some_that_only_wait(stage);
    a_canary_that_finds_something(stage);
    a_slow_one(stage);
    an_interrupt(stage);

    // The servers of MySQL and MariaDB are started without their event scheduler, which is a finding.
    let (code, verified) = stage.fleet("verify", &["--group", "live"]);
    let without_events = stage.without_events();
    assert_eq!(
        (code, of(&verified, "found")),
        (1, without_events),
        "{verified:#}"
    );
    assert_eq!(verified["failed"], 0, "{verified:#}");
}

/// One database of each kind has a row that is due, and a session that keeps runs from deleting it: nothing was done there.
fn some_that_only_wait(stage: &mut Stage) {
    let waiting = stage.first_of_each();
    let number = waiting.len();
    let locks: Vec<_> = waiting.iter().map(|it| stage.keep_due(it)).collect();
    let brief = ["--group", "armed", "--", "--time-budget", "2s"];
    let (code, ran) = stage.fleet("run", &brief);
    assert_eq!(
        (
            code,
            of(&ran, "waited"),
            ran["found"].as_u64().map(|it| it as usize)
        ),
        (1, waiting, Some(number)),
        "{ran:#}"
    );
    let says = ran["databases"][0]["says"].as_str().expect("a text");
    assert!(
        says.starts_with("only waited, for ")
            && says.contains("lock")
            && says.ends_with(" (time budget spent)"),
        "{ran:#}"
    );
    drop(locks);
    let (code, ran) = stage.fleet("run", &["--group", "armed"]);
    assert_eq!((code, ran["found"].as_u64()), (0, Some(0)), "{ran:#}");
}

/// What was edited by hand is found first, and nothing is done elsewhere until it is mended.
fn a_canary_that_finds_something(stage: &mut Stage) {
    let all = stage.databases.len();
    let first = stage.databases[0].clone();
    stage.edit(&first);
    let canary = ["--group", "live", "--canary", "1"];
    let (code, found) = stage.fleet("diff", &canary);
    assert_eq!(
        (code, of(&found, "found")),
        (2, vec![first.clone()]),
        "{found:#}"
    );
    assert_eq!(of(&found, "not_started").len(), all - 1, "{found:#}");
    let (code, _) = stage.fleet("install", &["--only", &first]);
    assert_eq!(code, 0);
    let (code, mended) = stage.fleet("diff", &["--group", "live", "--resume"]);
    assert_eq!((code, of(&mended, "clean").len()), (0, all), "{mended:#}");
    // Nothing is left to go on with.
    let (code, refused) = stage.fleet("diff", &["--group", "live", "--resume"]);
    assert_eq!(code, 2);
    assert!(
        refused["error"]["message"]
            .to_string()
            .contains("nothing to resume"),
        "{refused:#}"
    );
}

/// One that waits for a lock is ended; the others are done.
fn a_slow_one(stage: &mut Stage) {
    let all = stage.databases.len();
    let slow = stage.databases[0].clone();
    let lock = stage.lock(&slow);
    let (code, status) = stage.fleet("status", &["--group", "live", "--timeout", "20s"]);
    drop(lock);
    assert_eq!(
        (code, of(&status, "timed_out")),
        (2, vec![slow]),
        "{status:#}"
    );
    assert_eq!(of(&status, "clean").len(), all - 1, "{status:#}");
}

/// An interrupt ends what is under way, begins nothing more, and is gone on from.
fn an_interrupt(stage: &mut Stage) {
    let all = stage.databases.len();
    let slow = stage.databases[1].clone();
    let lock = stage.lock(&slow);
    let mut child = stage
        .command("status", &["--group", "live", "--jobs", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("windrow runs");
    stage.wait_for_a_waiter(&slow);
    interrupt(&child);
    until("the end of an interrupted call", || {
        Ok(child.try_wait()?.is_some())
    })
    .expect("an end");
    drop(lock);
    let output = child.wait_with_output().expect("what it said");
    let ended: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        of(&ended, "clean"),
        [stage.databases[0].as_str()],
        "{ended:#}"
    );
    assert_eq!(of(&ended, "interrupted"), [slow.as_str()], "{ended:#}");
    assert_eq!(of(&ended, "not_started").len(), all - 2, "{ended:#}");
    let (code, resumed) = stage.fleet("status", &["--group", "live", "--resume"]);
    assert_eq!(
        (code, of(&resumed, "clean").len()),
        (0, all - 1),
        "{resumed:#}"
    );
    assert_eq!(of(&resumed, "done_before").len(), 1, "{resumed:#}");
}

/// Does what Ctrl-C does.
fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    let sent = std::process::Command::new("sh")
        .args(["-c", "kill -s INT $1", "sh", &pid])
        .status()
        .expect("a shell");
    assert!(sent.success());
}

/// Each error says where and what.
fn what_cannot_be_read_is_an_error() {
    let stage = Stage::without_servers(
        "[[server]]\nname = 'a'\nurl = 'mysql://u:geheim@db/x'\nspec = 'x.toml'\n",
    );
    let (code, error) = stage.fleet("status", &[]);
    let text = error.to_string();
    assert_eq!(code, 2);
    assert!(
        text.contains(":3:7: the address of the server holds a password"),
        "{text}"
    );
    assert!(!text.contains("geheim"), "{text}");
    let (code, error) = stage.fleet("status", &["--timeout", "3 parsecs"]);
    assert_eq!(code, 2, "{error}");
    // Every database would be the same one.
    let inventory = "the inventory says";
    let front = "write it in front of";
    for (word, hint) in [
        ("--url", inventory),
        ("--database=postgres://db/x", inventory),
        ("--output", front),
        ("--quiet", front),
    ] {
        let (code, error) = stage.fleet("status", &["--", word, "json"]);
        let text = error.to_string();
        assert_eq!(code, 2, "{error}");
        assert!(
            text.contains("cannot be among the arguments") && text.contains(hint),
            "{text}"
        );
    }
}

/// Whatever is wrong, and wherever a password stands where none should be.
fn no_error_shows_what_an_inventory_holds() {
    let server = "[[server]]\nname = 'a'\nspec = 'x.toml'\n";
    let wrong = [
        format!("{server}url = 'mysql://u:geheim@db/x'\n"),
        format!("{server}url = 'mysql://u:geheim@db/x\n"),
        format!("{server}url = 'mysql://u:geheim@db/x'\nurl = 'mysql://u:geheim@db/x'\n"),
        format!("{server}url = ['mysql://u:geheim@db/x']\n"),
        format!("{server}url = 'mysql://u@db/x'\npassword = 'geheim'\n"),
        format!("{server}url = 'mysql://u@db/x'\npassword = \"\"\"\ngeheim=\n\"\"\"\n"),
        format!("{server}url = 'mysql://u@db/x' # geheim\nurl = 'mysql://u@db/x' # geheim\n"),
        "server = 'mysql://u:geheim@db/x'\n".to_owned(),
        "server = [{ name = 'a', url = 'mysql://u:geheim@db/x', spec = 'x.toml' }]\n".to_owned(),
        "server = [{ name = 'ä ö', url = 'mysql://u:geheim@db/x', spec = 'x.toml' }]\n".to_owned(),
        "server = [\n{ name = 'a', url = 'mysql://u:geheim@db/x' }]\n".to_owned(),
    ];
    for text in wrong {
        let stage = Stage::without_servers(&text);
        for output in ["json", "text"] {
            let call = stage.call("status", output).output().expect("windrow runs");
            let told =
                [call.stdout, call.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
            let told = told.join("\n");
            assert_eq!(call.status.code(), Some(2), "{text}\n{told}");
            assert!(!told.contains("geheim"), "{text}\n{told}");
            // Its place is told, and in the excerpt that people read the field stands before it.
            assert!(told.contains("fleet.toml:"), "{text}\n{told}");
        }
    }
    let stage = Stage::without_servers(&format!("{server}url = 'mysql://u:geheim@db/x'\n"));
    let call = stage.call("status", "text").output();
    let told = String::from_utf8_lossy(&call.expect("windrow runs").stderr).into_owned();
    assert!(told.contains("url = '*********************'"), "{told}");
}

/// A canary finds that a spec is wrong: whoever mends it begins anew where it has changed, and goes on elsewhere.
fn what_was_done_with_another_spec_is_done_again() {
    let inventory: String = ["a", "b", "c", "d"]
        .map(|name| format!("[[server]]\nname = '{name}'\nurl = 'mysql://u@{name}/{name}'\nspec = '{name}.toml'\n"))
        .concat();
    let stage = Stage::without_servers(&inventory);
    for name in ["a", "b", "d"] {
        stage.write(&format!("{name}.toml"), &spec(name));
    }
    stage.write("c.toml", "name = 5");
    let canary = ["--canary", "3", "--", "--out", "out"];
    let (code, halted) = stage.fleet("generate", &canary);
    assert_eq!(
        (code, of(&halted, "clean")),
        (2, vec!["a.toml".to_owned(), "b.toml".to_owned()]),
        "{halted:#}"
    );
    assert_eq!(of(&halted, "not_started"), ["d.toml"], "{halted:#}");
    let (code, refused) = stage.fleet(
        "generate",
        &["--resume", "--only", "c", "--", "--out", "out"],
    );
    let message = refused["error"]["message"].to_string();
    assert!(
        code == 2 && message.contains("about other databases"),
        "{refused:#}"
    );
    let hours_ago = |name: &str, hours: u64| {
        let file = stage.path("fleet.toml.generate.json");
        let text = fs::read_to_string(&file).expect("what is kept of the call");
        let mut kept: Value = serde_json::from_str(&text).expect("a document");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let at = now.expect("a time").as_secs() - hours * 60 * 60;
        kept["ended"][name] = at.into();
        fs::write(&file, kept.to_string()).expect("an earlier time");
        at
    };
    let out = ["--resume", "--", "--out", "out"];
    hours_ago("a.toml", 25);
    hours_ago("b.toml", 25);
    let (code, refused) = stage.fleet("generate", &out);
    let message = refused["error"]["message"].to_string();
    assert!(
        code == 2 && message.contains("more than a day ago"),
        "{refused:#}"
    );
    // Each by itself, and from when it was done, however often the call is continued.
    let at = hours_ago("b.toml", 23);
    let canary = ["--resume", "--canary", "2", "--", "--out", "out"];
    let (code, halted) = stage.fleet("generate", &canary);
    assert_eq!(
        (code, of(&halted, "done_before"), of(&halted, "clean")),
        (2, vec!["b.toml".to_owned()], vec!["a.toml".to_owned()]),
        "{halted:#}"
    );
    let text = fs::read_to_string(stage.path("fleet.toml.generate.json"));
    let kept: Value = serde_json::from_str(&text.expect("a file")).expect("a document");
    assert_eq!(kept["ended"]["b.toml"], at, "{kept:#}");
    assert!(kept["ended"]["a.toml"].as_u64() > Some(at), "{kept:#}");
    stage.write("b.toml", &spec("b").replace("expires_at", "ends_at"));
    stage.write("c.toml", &spec("c"));
    let (code, resumed) = stage.fleet("generate", &["--resume", "--", "--out", "out"]);
    assert_eq!(
        (code, of(&resumed, "done_before")),
        (0, vec!["a.toml".to_owned()]),
        "{resumed:#}"
    );
    assert_eq!(
        of(&resumed, "clean"),
        ["b.toml", "c.toml", "d.toml"],
        "{resumed:#}"
    );
}

/// What is kept of a call is what was there when it began.
fn a_spec_that_changes_during_a_call_is_done_again() {
    let server = |name: &str| {
        format!(
            "[[server]]\nname = '{name}'\nurl = 'mysql://u@{name}/{name}'\nspec = '{name}.toml'\n"
        )
    };
    let edit = "password_command = 'cp other.toml a.toml; echo x'\n";
    let stage = Stage::without_servers(&format!(
        "{}{}{edit}{}",
        server("a"),
        server("b"),
        server("c")
    ));
    stage.write("a.toml", &spec("a"));
    stage.write("other.toml", &spec("a").replace("expires_at", "ends_at"));
    stage.write("b.toml", "name = 5");
    stage.write("c.toml", &spec("c"));
    let one_by_one = ["--jobs", "1", "--canary", "2", "--", "--out", "out"];
    let (code, halted) = stage.fleet("generate", &one_by_one);
    assert_eq!(
        (code, of(&halted, "clean")),
        (2, vec!["a.toml".to_owned()]),
        "{halted:#}"
    );
    stage.write("b.toml", &spec("b"));
    let (code, resumed) = stage.fleet("generate", &["--resume", "--", "--out", "out"]);
    assert_eq!((code, of(&resumed, "clean").len()), (0, 3), "{resumed:#}");
}

/// One that waits for an answer is ended by an interrupt, and what it is never stands in an error.
fn a_command_that_asks_for_something_is_not_waited_for() {
    let inventory = |command: &str| {
        format!(
            "[[server]]\nname = 'a'\nurl = 'mysql://u@localhost:1/x'\nspec = 'a.toml'\npassword_command = '{command}'\n"
        )
    };
    let stage = Stage::without_servers(&inventory("vault read -token=geheim; exit 3"));
    stage.write("a.toml", &spec("x"));
    let (code, failed) = stage.fleet("status", &[]);
    let text = failed.to_string();
    assert!(
        code == 2 && text.contains("the command of `password_command` failed"),
        "{text}"
    );
    assert!(!text.contains("geheim"), "{text}");

    let stage = Stage::without_servers(&inventory("echo asked > asked; sleep 600"));
    stage.write("a.toml", &spec("x"));
    let mut call = stage.command("status", &[]);
    let mut child = call.stdout(Stdio::piped()).spawn().expect("windrow runs");
    until("the command", || Ok(stage.has("asked"))).expect("it is called");
    interrupt(&child);
    until("the end", || Ok(child.try_wait()?.is_some())).expect("an end");
}
