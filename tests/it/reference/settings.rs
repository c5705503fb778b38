//! `docs/reference/settings.md`: every setting, by `src/facts/settings.rs`.

use std::fmt::Write as _;

use windrow::facts::{Limit, NO_END, SETTINGS, Servers, Setting};

const HEAD: &str = "\
# Settings

Made of the list from which the kernels take theirs.

A setting has a value for each rule; `time_budget` and `ledger_days` are settings of the first rule alone, and `archive_days` of the \
first that archives. The spec says what holds at first, under `limits` of a rule, or it is the default; an operator \
overrides that with `windrow settings set SPEC NAME VALUE`, or `set_setting` inside the database, from the next batch on, and goes \
back to it with `windrow settings reset`. `windrow settings list` shows what is in force, what the spec says, and who has changed it; \
every change is in the table `setting_log`. The range for operators is checked inside the database, whoever writes; for specs there is \
another one, which goes further: `windrow check` warns of a `batch_families` above 5,000 and of a `lock_timeout` above two seconds. [How they work together](../pace.md).
";

pub(super) fn page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("\n| setting | counts | default |\n|---|---|---|\n");
    for setting in &SETTINGS {
        let Setting { name, unit, .. } = setting;
        let _ = writeln!(
            page,
            "| [`{name}`](#{name}) | {unit} | {} |",
            default(setting)
        );
    }
    for setting in &SETTINGS {
        described(&mut page, setting);
    }
    page
}

fn described(page: &mut String, setting: &Setting) {
    let Setting { name, meaning, .. } = setting;
    // The words are written for `docs/pace.md`, which is a folder above.
    let meaning = meaning.replace("](", "](../");
    let mut letters = meaning.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    let meaning = format!("{}{}", first.unwrap_or_default(), letters.as_str());
    let _ = writeln!(page, "\n## {name}\n\n{meaning}.\n");
    let _ = writeln!(page, "- default: {}", default(setting));
    let _ = writeln!(page, "- an operator sets: {}", setting.takes());
    let spec = match setting.limit {
        None => "not among `limits`".to_owned(),
        Some(Limit::Count { least, greatest }) => {
            format!("a number, {} to {}", grouped(least), grouped(greatest))
        }
        Some(Limit::Span { least }) => {
            let unit = setting.unit;
            format!("a duration such as `30s`, `10m` or `1h30m`, at least {least} {unit}")
        }
    };
    let _ = writeln!(page, "- a spec says: {spec}");
    page.push_str(match setting.servers {
        Servers::All => "",
        Servers::Postgres => "- PostgreSQL only\n",
        Servers::InnoDb => "- MySQL and MariaDB only\n",
    });
    if let Some(example) = setting.example {
        let _ = writeln!(
            page,
            "\n```sh\nwindrow settings set SPEC {name} {example}\n```"
        );
    }
}

fn default(setting: &Setting) -> String {
    match setting.depends {
        Some(words) => words.to_owned(),
        None if setting.default == 0 && setting.off => "0 (off)".to_owned(),
        None => format!("{} {}", grouped(setting.default), setting.unit),
    }
}

/// A number with commas, unless it stands for no end.
fn grouped(number: i64) -> String {
    if number == NO_END {
        return "any".to_owned();
    }
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<String> = groups
        .map(|group| String::from_utf8_lossy(group).into_owned())
        .collect();
    groups.join(",")
}
