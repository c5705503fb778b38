//! Notes of which commit a release is built, and its date. A development build says that it is one: it would be built anew with
//! every commit.

use std::env;
use std::fs;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=WINDROW_BUILT_FROM={}", built_from());
}

fn built_from() -> String {
    for variable in ["WINDROW_COMMIT", "SOURCE_DATE_EPOCH"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let given = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    // Who builds without a repository, as in a container, may say it.
    if let Some(commit) = given("WINDROW_COMMIT") {
        return commit;
    }
    if env::var("PROFILE").as_deref() != Ok("release") {
        return "development build".to_owned();
    }
    let Some((commit, date)) = of_repository().or_else(of_crate) else {
        return "of no known commit".to_owned();
    };
    // The date of the build where the packager sets it, else that of the commit: never the clock's.
    let date = given("SOURCE_DATE_EPOCH")
        .and_then(|seconds| Some(day(seconds.parse().ok()?)))
        .or(date);
    match date {
        Some(date) => format!("{commit} {date}"),
        None => commit,
    }
}

/// The commit of the repository whose root is this folder, marked where files have changed since.
fn of_repository() -> Option<(String, Option<String>)> {
    let root = fs::canonicalize(git(&["rev-parse", "--show-toplevel"])?).ok()?;
    if root != fs::canonicalize(env::var_os("CARGO_MANIFEST_DIR")?).ok()? {
        return None;
    }
    for path in ["Cargo.toml", "Cargo.lock", "src", "specs", "templates"] {
        println!("cargo:rerun-if-changed={path}");
    }
    println!(
        "cargo:rerun-if-changed={}",
        git(&["rev-parse", "--git-path", "logs/HEAD"])?
    );
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let mark = if changed.is_empty() { "" } else { "+changes" };
    Some((
        commit + mark,
        git(&["log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%d"]),
    ))
}

/// The commit that Cargo wrote into a crate.
fn of_crate() -> Option<(String, Option<String>)> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    let mark = if text.contains("\"dirty\": true") {
        "+changes"
    } else {
        ""
    };
    Some((format!("{}{mark}", commit.get(..12)?), None))
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(words)
        .env("TZ", "UTC")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The day of a number of seconds since 1970, in UTC.
fn day(seconds: i64) -> String {
    // Days since the first of March of the year 0, in eras of four hundred years.
    let days = seconds.div_euclid(86_400) + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}
