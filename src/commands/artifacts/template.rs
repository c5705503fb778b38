//! The command that removes a file, with places for what a row names.
//!
//! What a row says must never be read by a shell as anything but one word, and never be run. So a command is taken apart
//! into what windrow starts itself and the one text that a shell reads, if there is one:
//!
//! - A path with blanks, quotes or other characters that mean something to a shell goes only to programs that are known to
//!   start nothing ([`REMOVERS`]): as a word of its own, or quoted in the text of one shell; or to a script as a parameter.
//! - Every other program gets plain paths only ([`is_plain`]), which are the same word however often a shell reads them.
//! - A program that is known to run its own words ([`runs_words`], a second shell) gets none of them.

use std::borrow::Cow;

use super::programs::{BUILTINS, COMPUTING, OF_SSH, REMOVERS, SHELLS, file_name, runs_words};
use crate::failure::Failure;

const PLACES: [&str; 4] = ["{host:name}", "{host}", "{path:q}", "{path}"];

/// A command in words, each with what may be inserted at its places.
pub(super) struct Template {
    words: Vec<(String, Place)>,
    pub(super) files: Files,
}

/// Where the files are, as far as a command shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Files {
    Here,
    Elsewhere,
    Unknown,
}

/// What a word may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing: it has no place.
    Fixed,
    /// Any value, as the program reads it.
    Argument,
    /// Plain values only.
    Plain,
    /// A shell reads it: quoted values, and hosts.
    Text { any: bool },
}

impl Template {
    /// Takes a command apart; an error says which word cannot take what a row names.
    pub(super) fn parse(command: &str) -> anyhow::Result<Template> {
        let refuse = |why: &str, hint: &str| {
            Failure::new(format!("cannot use the command `{command}`"))
                .caused_by(Failure::new(why))
                .hint(hint.to_owned())
        };
        const FORM: &str = "write it like `rm -f -- {path}` or `ssh {host:name} rm -f -- {path:q}`";
        let words =
            shell_words::split(command).map_err(|error| refuse(&error.to_string(), FORM))?;
        if words.is_empty() {
            return Err(refuse("it is empty", FORM).into());
        }
        if words[0].contains('{') {
            return Err(refuse(
                "its first word, the program, must not come from a row",
                FORM,
            )
            .into());
        }
        if !words
            .iter()
            .any(|word| word.contains("{path}") || word.contains("{path:q}"))
        {
            return Err(refuse("it contains neither {path} nor {path:q}", FORM).into());
        }
        classify(words).map_err(|(why, hint)| refuse(&why, &hint).into())
    }

    /// The words for one file.
    pub(super) fn fill(&self, host: Option<&str>, path: &str) -> Result<Vec<String>, String> {
        if path.is_empty() || path.contains('\0') {
            return Err("the path is empty or has a zero byte".to_owned());
        }
        if path.split('/').any(|part| part == "..") {
            return Err("the path contains `..`".to_owned());
        }
        let host = match host.and_then(Host::parse) {
            Some(host) => host,
            None if self.words.iter().any(|(word, _)| word.contains("{host")) => {
                return Err("the row has no valid host name".to_owned());
            }
            None => Host {
                whole: "",
                name: "",
            },
        };
        // With `./` in front it is the same file, and no option of any program.
        let path = if path.starts_with('-') {
            Cow::from(format!("./{path}"))
        } else {
            Cow::from(path)
        };
        let path = path.as_ref();
        let quoted = quoted(path);
        let mut filled = Vec::with_capacity(self.words.len());
        for (word, place) in &self.words {
            if word.contains("{path") {
                let plain_only = matches!(place, Place::Plain | Place::Text { any: false });
                if plain_only && !is_plain(path) {
                    return Err(
                        "the path has characters with a meaning to a shell, and the command may pass it to one: call `rm`, \
                         or your own script with `sh SCRIPT {path}`"
                            .to_owned(),
                    );
                }
                let is_far = self.files == Files::Elsewhere && matches!(place, Place::Text { .. });
                if is_far && path.contains(|c: char| "\\!".contains(c) || c.is_control()) {
                    return Err(
                        "the path has a backslash, a `!` or a control character, which not every shell on the other side of \
                         `ssh` takes literally between quotes"
                            .to_owned(),
                    );
                }
            }
            filled.push(replace(
                word,
                &[
                    ("{host:name}", host.name),
                    ("{host}", host.whole),
                    ("{path:q}", &quoted),
                    ("{path}", path),
                ],
            ));
        }
        Ok(filled)
    }
}

/// A text between single quotes, whatever is in it: a shell takes more than blanks and `$` apart, bash `{a,b}`, too.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Why a word cannot take a value, and what to write instead.
type Refusal = (String, String);

/// What each word may take, by the program that gets it.
fn classify(words: Vec<String>) -> Result<Template, Refusal> {
    let mut places = vec![Place::Fixed; words.len()];
    // `sudo` starts the program as it is, without a shell.
    let first = behind_sudo(&words);
    let own = &words[first..];
    let files = match own.first().map(|program| file_name(program)) {
        Some("ssh") => {
            let text = first + text_of_ssh(own)?;
            let any = check_text(&words[text..])?;
            places[text..].fill(Place::Text { any });
            places[..text].fill(Place::Argument);
            Files::Elsewhere
        }
        Some(shell) if SHELLS.contains(&shell) => {
            let (script, is_text) = script_of_shell(own)?;
            let script = first + script;
            if is_text {
                let any = check_text(&words[script..=script])?;
                places[script] = Place::Text { any };
            } else if has_place(&words[script]) {
                return Err(run(&words[script]));
            }
            places[script + 1..].fill(Place::Argument);
            Files::Here
        }
        Some(remover) if REMOVERS.contains(&remover) => {
            if own.iter().any(|word| word.contains("{path:q}")) {
                return Err((
                    format!(
                        "`{remover}` is called without a shell, so the quotes of {{path:q}} would not be removed"
                    ),
                    format!("write `{remover} … -- {{path}}`"),
                ));
            }
            places[first + 1..].fill(Place::Argument);
            Files::Here
        }
        _ => {
            unknown(&words)?;
            places.fill(Place::Plain);
            Files::Unknown
        }
    };
    let words = words
        .into_iter()
        .zip(places)
        .map(|(word, place)| {
            if has_place(&word) {
                (word, place)
            } else {
                (word, Place::Fixed)
            }
        })
        .collect();
    Ok(Template { words, files })
}

/// A program that windrow does not know: it may be a script of the user's, or start something on another machine.
fn unknown(words: &[String]) -> Result<(), Refusal> {
    for word in words {
        let name = file_name(word);
        if runs_words(name) {
            return Err((
                format!("`{name}` executes its arguments, and a value from a row must not be executed"),
                "call the program itself: `rm -f -- {path}`, `ssh {host:name} rm -f -- {path:q}`, `sh SCRIPT {path}`".to_owned(),
            ));
        }
        if !has_place(word) {
            continue;
        }
        if word.contains("{path:q}") {
            return Err((
                format!(
                    "`{}` is not a shell, so the quotes of {{path:q}} would not be removed",
                    words[0]
                ),
                "write {path} as a word of its own, or call `sh -c` or `ssh`".to_owned(),
            ));
        }
        let rest = PLACES
            .iter()
            .fold(word.clone(), |rest, place| rest.replace(place, "a"));
        if !is_plain(rest.trim_start_matches('-')) {
            return Err(inside(word));
        }
    }
    Ok(())
}

/// Where the text for the remote shell begins: after the options of `ssh` and the host.
fn text_of_ssh(words: &[String]) -> Result<usize, Refusal> {
    let mut at = 1;
    while let Some(option) = words.get(at).filter(|word| word.starts_with('-')) {
        if has_place(option) {
            return Err(inside(option));
        }
        at += 1;
        if option == "--" {
            break;
        }
        // The last letter of a group takes the next word, unless its value is after it.
        let value = option[1..].find(|letter| OF_SSH.contains(letter));
        if value.is_some_and(|place| place + 2 == option.len()) {
            if words.get(at).is_some_and(|word| has_place(word)) {
                return Err(inside(&words[at]));
            }
            at += 1;
        }
    }
    match words.get(at) {
        Some(host) if !host.contains("{path") => {
            let rest = host.replace("{host:name}", "a").replace("{host}", "a");
            // user@{host} is a host; what else is around it is not.
            if has_place(host) && !is_plain(&rest) {
                return Err(inside(host));
            }
        }
        Some(word) => return Err(inside(word)),
        None => {}
    }
    at += 1;
    // ssh looks for options after the host, too.
    match words.get(at).map(String::as_str) {
        Some("--") => at += 1,
        Some(word) if word.starts_with('-') => return Err(inside(word)),
        _ => {}
    }
    if words.len() <= at {
        return Err((
            "it has no command for the other side".to_owned(),
            "write it like `ssh {host:name} rm -f -- {path:q}`".to_owned(),
        ));
    }
    Ok(at)
}

/// Which word is the script of a shell, and whether it is a text (`-c`) or the name of a file.
fn script_of_shell(words: &[String]) -> Result<(usize, bool), Refusal> {
    let mut is_text = false;
    let mut at = 1;
    while let Some(option) = words
        .get(at)
        .filter(|word| word.starts_with(['-', '+']) && word.len() > 1)
    {
        if has_place(option) {
            return Err(inside(option));
        }
        at += 1;
        if option == "--" {
            break;
        }
        if option.starts_with("--")
            || option
                .trim_start_matches(['-', '+'])
                .contains(['o', 'O', 's'])
        {
            return Err((
                format!("`{option}` is an option of a shell that windrow does not know"),
                "write `sh -c TEXT` or `sh SCRIPT`".to_owned(),
            ));
        }
        is_text |= option.starts_with('-') && option.contains('c');
    }
    if at < words.len() {
        Ok((at, is_text))
    } else {
        Err((
            "the shell has no script".to_owned(),
            "write `sh -c 'rm -f -- {path:q}'` or `sh SCRIPT {path}`".to_owned(),
        ))
    }
}

/// Refuses a text in which a shell would not read a quoted value as one word that is not run. Answers whether every program
/// that it calls is known to start nothing.
fn check_text(words: &[String]) -> Result<bool, Refusal> {
    if let Some(word) = words
        .iter()
        .find(|word| word.contains("{path}") || word.contains("{host}"))
    {
        return Err((
            format!("a shell reads `{word}`, where the value is not quoted"),
            "write {path:q} for {path}, and {host:name} for {host}".to_owned(),
        ));
    }
    let text = words.join(" ");
    if !has_place(&text) {
        return Ok(true);
    }
    if text.contains(['\'', '"', '\\', '`', '$', '#', '\n', '\r', '*', '?', '~'])
        || text.contains("<<")
    {
        return Err((
            format!(
                "`{text}` has quotes or other characters that change how a shell reads {{path:q}}"
            ),
            "write {path:q} without quotes around it: `sh -c 'rm -f -- {path:q}'`".to_owned(),
        ));
    }
    let mut starts_nothing = true;
    for command in text.split(['&', ';', '|', '(', ')']) {
        let words: Vec<String> = command
            .split_whitespace()
            .skip_while(|word| ["if", "then", "else", "do", "!", "{"].contains(word))
            .map(str::to_owned)
            .collect();
        let own = &words[behind_sudo(&words)..];
        let Some(program) = own.first() else {
            continue;
        };
        if has_place(program) || program.contains('=') {
            return Err(run(program));
        }
        if let Some(word) = own
            .iter()
            .flat_map(|word| word.split(['<', '>']))
            .find(|word| runs_words(file_name(word)) || BUILTINS.contains(word))
        {
            return Err((
                format!(
                    "`{word}` in `{text}` runs its own words, or is a second shell that would read the value again"
                ),
                "let one shell call `rm` itself: `ssh {host:name} rm -f -- {path:q}`".to_owned(),
            ));
        }
        let computes = ["test", "["].contains(&file_name(program))
            && own.iter().any(|word| COMPUTING.contains(&word.as_str()));
        starts_nothing &= REMOVERS.contains(&file_name(program)) && !computes
            || ["fi", "done", "}", "true", "exit"].contains(&program.as_str());
    }
    Ok(starts_nothing)
}

/// How many words in front belong to `sudo` with options that change nothing of what it starts.
fn behind_sudo(words: &[String]) -> usize {
    if words.first().map(|word| file_name(word)) != Some("sudo") {
        return 0;
    }
    let mut at = 1;
    loop {
        match words.get(at).map(String::as_str) {
            Some("-n" | "-H" | "-E") => at += 1,
            Some("-u" | "-g") if words.get(at + 1).is_some_and(|name| is_plain(name)) => at += 2,
            Some(word) if !word.starts_with('-') && !word.contains('=') => return at,
            // Not understood: `sudo` itself is the program then, and gets nothing.
            _ => return 0,
        }
    }
}

fn run(word: &str) -> Refusal {
    (
        format!("`{word}` would be run, and what a row names must not be"),
        "write it like `sh SCRIPT {path}` or `sh -c 'rm -f -- {path:q}'`".to_owned(),
    )
}

fn inside(word: &str) -> Refusal {
    (
        format!("a shell may read `{word}`, and what is inserted there is not quoted"),
        "write {path} as a word of its own, or {path:q} in the text of `sh -c` or `ssh`".to_owned(),
    )
}

fn has_place(word: &str) -> bool {
    PLACES.iter().any(|place| word.contains(place))
}

/// Whether a text is one and the same word for every shell, however often it is read.
fn is_plain(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || "/._".contains(c))
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || "/._-+=:,@%".contains(c))
}

/// Replaces the places from left to right; what was put in is not looked at again.
fn replace(word: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        if let Some((place, value)) = values.iter().find(|(place, _)| rest.starts_with(place)) {
            out += value;
            rest = &rest[place.len()..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// A host as a row names it.
#[derive(Debug, PartialEq, Eq)]
struct Host<'a> {
    whole: &'a str,
    /// Without its port and its brackets.
    name: &'a str,
}

impl Host<'_> {
    /// `worker-1`, `10.0.0.7:1234`, `fe80::1`, `[::1]:1234`: nothing that begins with `-`, with or without the brackets.
    fn parse(whole: &str) -> Option<Host<'_>> {
        let port = |port: &str| !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit());
        let address = |it: &str| {
            it.contains(':')
                && it
                    .bytes()
                    .all(|c| c.is_ascii_hexdigit() || b":.".contains(&c))
        };
        let name = if let Some(rest) = whole.strip_prefix('[') {
            let (name, rest) = rest.split_once(']')?;
            let sound = rest.is_empty() || rest.strip_prefix(':').is_some_and(port);
            (sound && address(name)).then_some(name)?
        } else if address(whole) && whole.matches(':').count() > 1 {
            whole
        } else {
            let name = match whole.split_once(':') {
                Some((name, rest)) => port(rest).then_some(name)?,
                None => whole,
            };
            let sound = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            (name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(sound))
                .then_some(name)?
        };
        Some(Host { whole, name })
    }
}

#[cfg(test)]
mod tests;
