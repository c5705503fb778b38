//! `docs/tutorial.md`: every command of the page, run in its order on a server of its own, and what it says.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use windrow::sandbox::{Postgres, Settings};

use crate::harness::tests;

tests! {
    on_postgres: [
        the_page_says_what_the_commands_say,
    ],
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/tutorial.md");

/// The text of the first block of a language.
fn block<'a>(page: &'a str, language: &str) -> Result<&'a str> {
    let (_, rest) = page
        .split_once(&format!("```{language}\n"))
        .with_context(|| format!("a block of {language}"))?;
    Ok(rest.split_once("```\n").context("its end")?.0)
}

/// Rewritten with `WINDROW_BLESS=1`.
fn the_page_says_what_the_commands_say() -> Result<()> {
    let page = std::fs::read_to_string(PAGE)?;
    let server = Postgres::start(&Settings::default())?;
    let admin = server.url("postgres", "postgres");
    postgres::Client::connect(&admin, postgres::NoTls)?.batch_execute("CREATE DATABASE shop")?;
    let url = server.url("shop", "postgres");
    postgres::Client::connect(&url, postgres::NoTls)?.batch_execute(block(&page, "sql")?)?;
    let folder = server.socket_dir().join("tutorial");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("shop.toml"), block(&page, "toml")?)?;

    let mut made = String::new();
    let mut rest = page.as_str();
    while let Some((before, after)) = rest.split_once("```console\n") {
        let (shown, behind) = after.split_once("```\n").context("the end of a block")?;
        made += &format!("{before}```console\n");
        for command in shown
            .lines()
            .filter_map(|line| line.strip_prefix("$ windrow "))
        {
            let said = answer(command, &folder, &url)?;
            let said = said.replace(&format!("127.0.0.1:{}", server.port()), "localhost");
            made += &format!("$ windrow {command}\n{said}");
        }
        made += "```\n";
        rest = behind;
    }
    made += rest;
    if std::env::var_os("WINDROW_BLESS").is_some() {
        std::fs::write(PAGE, made)?;
        return Ok(());
    }
    ensure!(
        page == made,
        "docs/tutorial.md is stale: run this test with WINDROW_BLESS=1\n\n{made}"
    );
    Ok(())
}

/// What a command prints, without what is another thing each time.
fn answer(command: &str, folder: &Path, url: &str) -> Result<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(command.split(' '))
        .current_dir(folder)
        .env("WINDROW_URL", url)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "120")
        .output()?;
    let said = [output.stdout, output.stderr].map(String::from_utf8);
    let [told, noted] = said;
    let said = told? + &noted?;
    ensure!(output.status.code() == Some(0), "{command}: {said}");
    Ok(said
        .lines()
        .map(|line| timeless(line).trim_end().to_owned() + "\n")
        .collect())
}

/// A line with the same times and speeds whenever and wherever it was printed.
fn timeless(line: &str) -> String {
    let words = line.split(' ').collect::<Vec<_>>();
    let is_number = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|sign| sign.is_ascii_digit() || ".,".contains(sign))
    };
    let mut made: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied().unwrap_or_default();
        let bare = word.trim_start_matches('(');
        made.push(match () {
            () if is_number(word) && next.starts_with("rows/s") => "60,000".to_owned(),
            () if is_number(bare) && ["s)", "ms)"].contains(&next) => "(60".to_owned(),
            () if *word == "s)" => "ms)".to_owned(),
            () if is_instant(word) => {
                let bare = word.trim_end_matches([',', ')', ';', ':']);
                shown(bare) + &word[bare.len()..]
            }
            () => (*word).to_owned(),
        });
    }
    made.join(" ")
}

/// An instant on a page of the first of June: as many days before it as it is before now.
fn shown(instant: &str) -> String {
    let then: Timestamp = instant.parse().expect("an instant");
    let hours = Timestamp::now().duration_since(then).as_hours();
    let page: Timestamp = "2026-06-01T12:00:00Z".parse().expect("an instant");
    let whole_days = SignedDuration::from_hours((hours + 12).div_euclid(24) * 24);
    (page - whole_days).to_string()
}

/// Whether a word is an instant, like `2026-06-01T12:00:00Z`.
fn is_instant(word: &str) -> bool {
    let word = word.trim_end_matches([',', ')', ';', ':']);
    word.len() >= 20
        && word.as_bytes()[10] == b'T'
        && word[..4].chars().all(|sign| sign.is_ascii_digit())
}
