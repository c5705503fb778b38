//! What a row names is one word, of no meaning to whatever gets it.

use super::*;

const ODD: &str = "/logs/a b'; rm -rf $HOME {host}";

fn words(command: &str, host: Option<&str>, path: &str) -> Result<Vec<String>, String> {
    Template::parse(command)
        .map_err(|error| format!("{error:#}"))?
        .fill(host, path)
}

#[test]
fn what_a_row_says_stays_one_word() {
    assert_eq!(
        words("rm -f -- {path}", None, ODD),
        Ok(["rm", "-f", "--", ODD].map(str::to_owned).to_vec())
    );
    let far = words(
        "ssh {host:name} rm -f -- {path:q}",
        Some("10.0.0.7:1234"),
        ODD,
    );
    let far = far.expect("words");
    assert_eq!(far[1], "10.0.0.7");
    assert_eq!(shell_words::split(&far[5]).ok(), Some(vec![ODD.to_owned()]));
    for command in [
        "sh -c 'rm -f -- {path:q}'",
        "bash -ec 'test -e {path:q} && rm -- {path:q}'",
        "ssh -p 22 -o BatchMode=yes app@{host:name} -- rm -f -- {path:q}",
        "ssh -p22 {host} 'rm -f -- {path:q}'",
        "sh remove.sh {host:name} {path}",
        "sh -c 'rm -- \"$1\"' sh {path}",
        "shred -u {path}",
        "sudo -n -u app rm -f -- {path}",
        "ssh {host:name} sudo rm -f -- {path:q}",
    ] {
        assert!(words(command, Some("a"), ODD).is_ok(), "{command}");
    }
}

/// Of each sign that a shell may know, alone, twice and between others, a shell makes one word: itself.
#[test]
fn a_shell_takes_a_quoted_path_literally() {
    let mut paths: Vec<String> = (1..=127)
        .flat_map(|sign: u8| {
            let sign = char::from(sign);
            [
                format!("/a{sign}b"),
                format!("/{sign}{sign}"),
                format!("/{sign}x,y{sign}"),
            ]
        })
        .collect();
    paths.push("/srv/logs/{x,../{y,../etc/passwd}}".to_owned());
    paths.push("/srv/logs/{1..3}".to_owned());
    for shell in ["sh", "bash"] {
        for path in &paths {
            let said = std::process::Command::new(shell)
                .args(["-c", &format!("printf %s. {}", quoted(path))])
                .output()
                .expect("a shell");
            let said = String::from_utf8_lossy(&said.stdout);
            assert_eq!(said, format!("{path}."), "{shell}");
        }
    }
}

/// Whatever runs its words, or gives them to a shell, gets what a row names quoted or not at all.
#[test]
fn no_shell_gets_a_value_without_quotes() {
    for command in [
        "sh -c 'ls -- {path}'",
        "sh -c {path}",
        "sh -c {path:q}",
        "sh -c -- {path:q}",
        "sh {path}",
        "sh -x {path}",
        "sh --rcfile {path} x",
        "sh -o {path} x",
        "bash -c \"rm -- '{path:q}'\"",
        "bash -c 'rm -- \"{path:q}\"'",
        "bash -c 'rm -- ${path:q}'",
        "bash -c 'rm -- $(echo {path:q})'",
        "bash -c 'cat <<E\n{path:q}\nE'",
        "bash -c 'true # {path:q}'",
        "bash -c 'true; {path:q}'",
        "bash -c 'X=1 {path:q}'",
        "bash -c 'eval rm {path:q}'",
        "bash -c 'ls {path:q} | sh'",
        "bash -c 'ls {path:q} | xargs rm'",
        "sh -c 'ssh h rm -- {path:q}'",
        "/bin/sh -c 'rm {path}'",
        "env sh -c 'rm {path}'",
        "env sh -c {path}",
        "env {path}",
        "sudo sh -c 'rm -- {path}'",
        "sudo {path}",
        "sudo -u {host} rm -- {path}",
        "sudo -i rm -- {path}",
        "sudo X=1 rm -- {path}",
        "sudo env rm -- {path}",
        "xargs rm {path}",
        "nice {path}",
        "docker exec c sh -c {path}",
        "docker exec c sh -c 'rm {path}'",
        "tool 'rm {path}'",
        "tool {path:q}",
        "tool '$({path})'",
        "ssh {host} rm -- {path}",
        "ssh {host} {path:q}",
        "ssh {host} 'rm -- {path}'",
        "ssh {host} sh -c {path:q}",
        "ssh {host} sudo sh -c {path:q}",
        "ssh {host} ssh b rm {path:q}",
        "ssh {host} \"rm '{path:q}'\"",
        "ssh -o ProxyCommand={path} a rm",
        "ssh -o {path} a rm",
        "ssh -p {path} a rm",
        "ssh {path} rm",
        "ssh '{host} {path}'",
        "ssh a rm {host} {path:q}",
        "ssh a -o {path:q} rm",
        "ssh a -o{path:q} rm",
        "rm -- {path:q}",
        "su -c 'rm {path}'",
        "find {path} -delete",
        "python3 -c 'print({path})'",
        "perl -e {path}",
        "/usr/bin/python3.11 {path}",
        "ksh93 {path}",
    ] {
        assert!(words(command, Some("a"), "/logs/a").is_err(), "{command}");
    }
}

#[test]
fn a_program_that_may_start_others_gets_plain_paths_only() {
    for command in [
        "tool {path}",
        "tool --file={path}",
        "docker exec c rm -- {path}",
        "sh -c 'tool {path:q}'",
        "ssh a tool {path:q}",
    ] {
        assert!(
            words(command, Some("a"), "/logs/a-1.log").is_ok(),
            "{command}"
        );
        for odd in [
            ODD,
            "/logs/a b",
            "/logs/a\nb",
            "/logs/*",
            "~/a",
            "=a",
            "/a$b",
        ] {
            assert!(words(command, Some("a"), odd).is_err(), "{command} {odd}");
        }
    }
}

#[test]
fn what_is_no_host_or_path_is_refused() {
    for command in [
        "ssh {host} rm -f -- {path:q}",
        "ssh {host:name} rm -f -- {path:q}",
    ] {
        for (host, path) in [
            (Some("-oProxyCommand=sh"), "/a"),
            (Some("[-V]"), "/a"),
            (Some("[-V]:22"), "/a"),
            (Some("[[-V]]"), "/a"),
            (Some("[]-V"), "/a"),
            (Some("-V:22"), "/a"),
            (Some(" -V"), "/a"),
            (Some("\t-V"), "/a"),
            (Some("\u{a0}-V"), "/a"),
            (Some("\u{2212}V"), "/a"),
            (Some("root@-V"), "/a"),
            (Some("-V@a"), "/a"),
            (Some("[::1]-V"), "/a"),
            (Some("a:-V"), "/a"),
            (Some("a:"), "/a"),
            (Some(":22"), "/a"),
            (Some("a b"), "/a"),
            (Some(""), "/a"),
            (None, "/a"),
            (Some("a"), ""),
            (Some("a"), "/a\0b"),
            (Some("a"), "/logs/../../etc/passwd"),
        ] {
            assert!(words(command, host, path).is_err(), "{host:?} {path}");
        }
    }
    // Behind a host or a shell, `--` ends other options than those of the program that removes.
    for command in [
        "rm {path}",
        "rm -- {path}",
        "ssh -- a rm {path:q}",
        "sh -c -- 'rm {path:q}'",
        "sh -c 'test -e {path:q} && rm {path:q}; ls -- {path:q}'",
        "tool -x -- {host} {path}",
    ] {
        let words = words(command, Some("a"), "-rf").expect("words");
        let words = words.iter().flat_map(|word| word.split_whitespace());
        let mut words = words.map(|word| word.trim_end_matches(';').trim_matches('\''));
        assert!(words.any(|word| word == "./-rf"), "{command}");
        assert!(!words.any(|word| word == "-rf"), "{command}");
    }
    assert!(words("rm {file}", None, "/a").is_err());
    assert!(words("{path}", None, "/bin/sh").is_err());
    assert!(words("rm 'x {path}", None, "/a").is_err());
}

/// `bash` and `ksh` run what is in the brackets of an operand that is the name of a variable, or a number.
#[test]
fn no_shell_computes_what_a_row_names() {
    for operator in COMPUTING {
        for command in [
            format!("bash -c '[ {operator} {{path:q}} ] && rm -- {{path:q}}'"),
            format!("ksh -c 'test {{path:q}} {operator} 1; rm -- {{path:q}}'"),
        ] {
            assert!(words(&command, None, "/a").is_ok(), "{command}");
            assert!(words(&command, None, "a[$(touch b)]").is_err(), "{command}");
        }
    }
}

/// Not every shell reads quotes as `sh` does: to `fish` a backslash between them means something, to `csh` a `!`.
#[test]
fn a_shell_elsewhere_gets_what_every_shell_takes_for_itself() {
    for odd in ["/a\\'; touch b; '", "/a!b", "/a\nb", "/a\u{7}b"] {
        for (command, works) in [
            ("ssh a rm -f -- {path:q}", false),
            ("sudo ssh a 'rm -f -- {path:q}'", false),
            ("sh -c 'rm -f -- {path:q}'", true),
            ("rm -f -- {path}", true),
        ] {
            assert_eq!(words(command, None, odd).is_ok(), works, "{command} {odd}");
        }
    }
}

#[test]
fn a_host_may_have_a_port() {
    let hosts = ["a:1", "a", "[::1]:1", "fe80::1", "10.0.0.7:1234", "w-1.x_y"]
        .map(|host| Host::parse(host).map(|host| host.name));
    let names = ["a", "a", "::1", "fe80::1", "10.0.0.7", "w-1.x_y"].map(Some);
    assert_eq!(hosts, names);
}
