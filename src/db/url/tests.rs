use std::path::PathBuf;

use super::*;

fn parse(text: &str) -> Url {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

#[test]
fn no_form_shows_a_password() {
    for text in [
        "postgres://app:hunter2@db/prod",
        "postgres://app:hun@ter2@db/prod",
        "postgres://app:hunter2/x@db/prod",
        "postgres://app:hunter2?y@db/prod",
        "postgresql://app@db/prod?password=hunter2&sslmode=require",
        "postgres://app@db/prod?sslmode=require&PASSWORD=hunter2",
        "postgres://app@db/prod?password=x&sslpassword=hunter2",
        "postgres://app:hunter2@db/prod?nonsense=1",
        "postgres://app:hunter2@db:99999/prod",
        "postgres://app:hunter2%zz@db/prod",
        "host=db user=app password=hunter2 dbname=prod",
        "host=db password = 'x hunter2' dbname=prod",
        "mysql://app:hunter2@db/prod",
        "mariadb://app:hunter2@db/?ssl-mode=nonsense",
        "mysql://app@localhost/?socket=/run/x.sock&password=hunter2",
        "oracle://app:hunter2@db/prod",
        // Without a scheme, of another program, and with a name that is misspelt.
        "app:hunter2@db/prod",
        "app:hunter2@tcp(db:3306)/prod",
        "postgres:/app:hunter2@db/prod",
        "postgres://app@db/prod?pasword=hunter2",
        "postgres://app@db/prod?sslmode=require&passwd=hunter2&x=1",
        "mysql://app@db/prod?pwd=hunter2",
        "host=db user=app pasword=hunter2 dbname=prod",
    ] {
        let raw: RawUrl = text.parse().unwrap_or_else(|never| match never {});
        let mut shown = format!("{raw} {raw:?}");
        match text.parse::<Url>() {
            Ok(url) => shown += &format!(" {url} {url:?}"),
            Err(error) => {
                shown += &format!(" {error:?}");
                shown += &format!(" {:#}", anyhow::Error::from(error));
            }
        }
        assert!(!shown.contains("hunter2"), "{text} shows as {shown}");
        assert!(!shown.contains("ter2"), "{text} shows as {shown}");
        assert!(shown.contains("***"), "{text} shows as {shown}");
    }
}

/// A variable that asks for a protection, or for another server, is not passed over.
#[test]
fn what_libpq_would_have_done_is_done_or_refused() {
    let within = |name: &str, value: &str| {
        let variables = [(name.to_owned(), value.to_owned())];
        Url::within("postgres://app@db/prod", &Surroundings::of(variables))
    };
    for (name, value) in [
        ("PGCHANNELBINDING", "require"),
        ("PGGSSENCMODE", "require"),
        ("PGHOSTADDR", "127.0.0.1"),
        ("PGREQUIREAUTH", "scram-sha-256"),
        ("PGSSLCERTMODE", "require"),
        ("PGSSLCRL", "x"),
    ] {
        let error = format!(
            "{:#}",
            anyhow::Error::from(within(name, value).expect_err(name))
        );
        assert!(error.contains(name), "{error}");
    }
    for (name, value) in [
        ("PGCHANNELBINDING", "prefer"),
        ("PGGSSENCMODE", "prefer"),
        ("PGGSSENCMODE", "disable"),
        ("PGSSLCERTMODE", "allow"),
    ] {
        within(name, value).expect("it asks for nothing");
    }
    for (value, mode) in [
        ("1", SslMode::Require),
        ("0", SslMode::Prefer),
        ("off", SslMode::Prefer),
    ] {
        let url = within("PGREQUIRESSL", value).expect("it is done");
        assert_eq!(url.ssl_mode, mode, "{value}");
    }
    let address = "postgres://app@db/prod?gssencmode=";
    parse(&format!("{address}prefer"));
    let error = format!("{address}require")
        .parse::<Url>()
        .map_err(anyhow::Error::from);
    let text = error.map_err(|error| format!("{error:#}")).err();
    assert!(
        text.is_some_and(|it| it.ends_with("windrow cannot do what `gssencmode` asks for")),
        "it asks for a protection"
    );
}

#[test]
fn the_parts_are_read() {
    let url = parse(
        "postgresql://app:s%40cret@db1:6432,db2/prod?sslmode=verify-full&sslrootcert=/ca.pem",
    );
    assert_eq!(url.password(), Some("s@cret"));
    assert_eq!(
        url.hosts,
        [
            Host {
                name: "db1".to_owned(),
                port: 6432
            },
            Host {
                name: "db2".to_owned(),
                port: 5432
            },
        ]
    );
    assert_eq!(
        (url.ssl_mode, url.connect_timeout.as_secs()),
        (SslMode::VerifyFull, 10)
    );
    assert_eq!(url.to_string(), "postgres://app:***@db1:6432,db2/prod");
}

#[test]
fn a_socket_is_named_by_its_directory() {
    let url = parse("postgres://app@/prod?host=/run/pg&port=5499");
    assert_eq!(
        url.hosts,
        [Host {
            name: "/run/pg".to_owned(),
            port: 5499
        }]
    );
    assert!(url.hosts[0].is_socket());
    assert_eq!(
        url.to_string(),
        "postgres://app@/prod?host=/run/pg&port=5499"
    );
    assert_eq!(
        parse("postgres://app@%2Frun%2Fpg/prod").hosts[0].name,
        "/run/pg"
    );
    assert_eq!(
        parse("postgres://app@[::1]:5433/prod").hosts[0],
        Host {
            name: "::1".to_owned(),
            port: 5433
        }
    );
}

#[test]
fn a_misspelt_parameter_is_told() {
    let error = "postgres://db/prod?sslmod=require"
        .parse::<Url>()
        .map_err(anyhow::Error::from);
    let text = error.map_err(|error| format!("{error:#}")).err();
    assert_eq!(
        text.as_deref(),
        Some(
            "cannot read the database address `postgres://db/prod?sslmod=***`: \
             `sslmod` is not a known parameter; did you mean `sslmode`?"
        )
    );
}

#[test]
fn a_password_of_the_address_wins() {
    let given = Some("other".to_owned());
    assert_eq!(
        parse("postgres://app:mine@db/prod")
            .or_password(given.clone())
            .password(),
        Some("mine")
    );
    assert_eq!(
        parse("postgres://app@db/prod")
            .or_password(given)
            .password(),
        Some("other")
    );
}

#[test]
fn mysql_has_words_of_its_own() {
    let url = parse(
        "mysql://app:s%40cret@db1:3307,db2/?ssl-mode=verify_identity&ssl_ca=/ca.pem&connect-timeout=3",
    );
    assert_eq!(url.password(), Some("s@cret"));
    assert_eq!(
        (url.ssl_mode, url.connect_timeout.as_secs()),
        (SslMode::VerifyFull, 3)
    );
    assert_eq!(url.ssl_root_cert, Some(PathBuf::from("/ca.pem")));
    assert_eq!(
        url.hosts,
        [
            Host {
                name: "db1".to_owned(),
                port: 3307
            },
            Host {
                name: "db2".to_owned(),
                port: 3306
            },
        ]
    );
    assert_eq!(url.to_string(), "mysql://app:***@db1:3307,db2/");
    let error = "mysql://db/?sslmode=require".parse::<Url>().err();
    let text = format!("{:#}", anyhow::Error::from(error.unwrap_or_default()));
    assert!(text.ends_with("did you mean `ssl-mode`?"), "{text}");
    let error = "mysql://db/?ssl-mode=verify-full".parse::<Url>().err();
    let text = format!("{:#}", anyhow::Error::from(error.unwrap_or_default()));
    assert!(
        text.ends_with(
            "none of `DISABLED`, `PREFERRED`, `REQUIRED`, `VERIFY_CA`, `VERIFY_IDENTITY`"
        ),
        "{text}"
    );
}

#[test]
fn a_socket_of_mysql_is_the_file_itself() {
    let url = parse("mariadb://app@localhost/prod?socket=/run/mysqld/mysqld.sock");
    assert_eq!(
        url.hosts,
        [Host {
            name: "/run/mysqld/mysqld.sock".to_owned(),
            port: 3306
        }]
    );
    assert_eq!(
        url.to_string(),
        "mariadb://app@/prod?socket=/run/mysqld/mysqld.sock"
    );
    assert!("mysql://app@/?socket=here".parse::<Url>().is_err());
}

#[test]
fn a_key_for_passwords_is_asked_for_only_when_told() {
    let key = |text: &str| parse(text).server_key;
    assert_eq!(key("mysql://db/"), ServerKey::Refused);
    assert_eq!(
        key("mysql://db/?get-server-public-key=true"),
        ServerKey::Asked
    );
    assert_eq!(
        key("mysql://db/?server-public-key-path=/k.pem"),
        ServerKey::File(PathBuf::from("/k.pem"))
    );
}
