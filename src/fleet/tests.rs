use std::path::Path;

use super::{Password, parse};
use crate::diagnostic::located;

const TEXT: &str = r#"
spec = "specs/flows.toml"

[[server]]
name = "alpha"
url = "postgres://windrow@alpha.example/flows?sslmode=require"
groups = ["eu", "big"]
password_env = "ALPHA"

[[server]]
name = "beta"
url = "mysql://windrow@beta.example:3307?ssl-mode=REQUIRED"
databases = ["tenant_1", "naïve tenant/2"]
groups = ["us"]
spec = "specs/{server}/{database}.toml"
password_command = "pass show beta"
"#;

#[test]
fn servers_and_their_databases_are_targets_in_the_order_of_the_file() {
    let targets = parse(TEXT, Path::new("/fleet"))
        .expect("it is sound")
        .select(&[], &[])
        .expect("all");
    let told: Vec<_> = targets
        .iter()
        .map(|it| {
            let spec = it.spec.display().to_string();
            (it.name.as_str(), spec, it.url.as_str())
        })
        .collect();
    assert_eq!(
        told,
        [
            (
                "alpha",
                "/fleet/specs/flows.toml".to_owned(),
                "postgres://windrow@alpha.example/flows?sslmode=require"
            ),
            (
                "beta/tenant_1",
                "/fleet/specs/beta/tenant_1.toml".to_owned(),
                "mysql://windrow@beta.example:3307/tenant_1?ssl-mode=REQUIRED"
            ),
            (
                "beta/naïve tenant/2",
                "/fleet/specs/beta/naïve tenant/2.toml".to_owned(),
                "mysql://windrow@beta.example:3307/na%C3%AFve%20tenant%2F2?ssl-mode=REQUIRED"
            ),
        ]
    );
    assert_eq!(targets[0].password, Password::Variable("ALPHA".to_owned()));
}

#[test]
fn groups_and_names_choose() {
    let names = |groups: &[&str], only: &[&str]| {
        let words = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        parse(TEXT, Path::new(""))
            .expect("it is sound")
            .select(&words(groups), &words(only))
            .map(|all| all.into_iter().map(|it| it.name).collect::<Vec<_>>())
            .map_err(|unknown| (unknown.kind, unknown.known))
    };
    assert_eq!(
        names(&["us"], &["beta/tenant_1"]).expect("known words"),
        ["beta/tenant_1"]
    );
    assert_eq!(
        names(&["eu", "us"], &["alpha"]).expect("known words"),
        ["alpha"]
    );
    assert_eq!(names(&["eu"], &["beta"]).expect("known words"), [""; 0]);
    assert_eq!(
        names(&["asia"], &[]).expect_err("it is unknown"),
        ("group", ["big", "eu", "us"].map(str::to_owned).into())
    );
    assert_eq!(
        names(&[], &["gamma"]).expect_err("it is unknown").0,
        "server or database"
    );
}

/// What is wrong with an inventory, by lines.
fn wrong(text: &str) -> Vec<(usize, String)> {
    let wrong = parse(text, Path::new("")).expect_err("it has errors");
    let places = located(&wrong, "fleet.toml", text);
    places.into_iter().map(|it| (it.line, it.message)).collect()
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    let text = "[[server]]
name = 'a b'
url = 'postgres://db'
[[server]]
name = 'c'
url = 'oracle://db/x'
spec = 'c.toml'
password_env = 'A'
password_file = 'b'
[[server]]
name = 'c'
url = 'mysql://u:secret@db/x'
databases = ['x', 'x']
spec = 'c.toml'
";
    let wrong = wrong(text);
    let lines: Vec<usize> = wrong.iter().map(|it| it.0).collect();
    assert_eq!(lines, [2, 3, 2, 6, 9, 11, 12, 13], "{wrong:#?}");
    assert!(
        wrong.iter().all(|it| !it.1.contains("secret")),
        "{wrong:#?}"
    );
}

/// The database in the query counts more than the one in the path: each of the list would be the same one.
#[test]
fn a_database_in_the_query_of_an_address_is_one_as_well() {
    let text = "[[server]]
name = 'a'
url = 'postgres://db/?dbname=x&sslmode=require'
databases = ['y', 'z']
spec = 's.toml'
";
    let wrong_one = wrong(text);
    assert_eq!(wrong_one.len(), 1, "{wrong_one:#?}");
    assert_eq!(wrong_one[0].0, 4, "{wrong_one:#?}");
    let alone = text.replace("databases = ['y', 'z']\n", "");
    assert!(parse(&alone, Path::new("")).is_ok());
    let misspelt = alone.replace("sslmode=require", "pasword=secret");
    let told = wrong(&misspelt);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told.iter().all(|it| !it.1.contains("secret")), "{told:#?}");
}

/// A spec of MySQL or MariaDB names its database, whatever the address says: the second call would be about the first one's.
#[test]
fn databases_of_one_server_that_share_a_spec_are_told() {
    let inventory = |scheme: &str, spec: &str, other: &str| {
        format!(
            "[[server]]\nname = 'a'\nurl = '{scheme}://db'\ndatabases = ['x', 'y']\nspec = '{spec}'\n\
             [[server]]\nname = 'b'\nurl = '{scheme}://DB:{port}/z'\nspec = '{other}'\n",
            port = if scheme == "postgres" { 5432 } else { 3306 },
        )
    };
    let sound = |text: &str| parse(text, Path::new("")).is_ok();
    assert!(sound(&inventory("postgres", "s.toml", "s.toml")));
    for scheme in ["mysql", "mariadb"] {
        assert!(sound(&inventory(scheme, "{database}.toml", "z.toml")));
        let told = "two databases of one server have the same spec, which names one of them";
        for (spec, other, lines) in [
            ("s.toml", "z.toml", vec![5]),
            ("{database}.toml", "x.toml", vec![9]),
            ("s.toml", "s.toml", vec![5, 9]),
        ] {
            let wrong = wrong(&inventory(scheme, spec, other));
            let expected: Vec<_> = lines.iter().map(|it| (*it, told.to_owned())).collect();
            assert_eq!(wrong, expected, "{scheme} {spec} {other}");
        }
    }
}

/// However the path is written: by a link, or with what changes nothing. And each server is told what tells it apart.
#[cfg(unix)]
#[test]
fn one_spec_by_several_names_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("x.toml"), "").expect("a spec");
    std::os::unix::fs::symlink(file("x.toml"), file("y.toml")).expect("a link");
    let each = "[[server]]\nname = 'a'\nurl = 'mysql://db'\ndatabases = ['x', 'y']\nspec = '{database}.toml'\n";
    let alone = "[[server]]\nname = 'a'\nurl = 'mysql://db/x'\nspec = 'x.toml'\n\
                 [[server]]\nname = 'b'\nurl = 'mysql://db/y'\nspec = './x.toml'\n";
    for (text, other) in [
        (each, "specs/{database}.toml"),
        (alone, "specs/{server}.toml"),
    ] {
        let wrong = parse(text, folder.path()).expect_err(text);
        let told = format!("{wrong:?}");
        assert_eq!(wrong.len(), 1, "{told}");
        assert!(told.contains("have the same spec"), "{told}");
        assert!(told.contains(other), "{told}");
    }
}

#[test]
fn what_is_no_inventory_is_told_at_its_place() {
    assert_eq!(wrong("[[server]]\nname = 'a'\nport = 3")[0].0, 3);
    assert_eq!(wrong("server = []")[0].1, "the inventory has no server");
}

#[test]
fn a_password_is_the_first_line_or_an_error() {
    let command = |text: &str| Password::Command(text.to_owned()).read();
    assert_eq!(
        command("printf 'secret\\nuser: me\\n'").expect("a line"),
        Some("secret".to_owned())
    );
    assert_eq!(Password::Elsewhere.read().expect("none is needed"), None);
    for password in [
        Password::Variable("WINDROW_NOBODY_SETS_THIS".to_owned()),
        Password::File("/nowhere/at/all".into()),
        Password::Command("echo secret; exit 3".to_owned()),
        Password::Command("true".to_owned()),
    ] {
        let error = password.read().expect_err("there is none");
        assert!(error.to_string().starts_with("no password: "), "{error}");
        assert!(!format!("{:?}", error.details()).contains("secret"));
    }
}
