//! The marks of the templates, by which windrow knows what it wrote: it searches no SQL. No file has them.
//!
//! - `«` and `»` are around a statement that EXPLAIN is asked; `‹` and `›` in it around what only a routine can run, such as
//!   INTO, and around calls of windrow's own functions.
//! - `⟦` and `⟧` are around what the statements of a routine need: its variables and the columns that it answers, with their
//!   types, and the settings of the planner that are off in it.
//! - `⟪` and `⟫` are around the text of a function that PostgreSQL takes into the statements that call it.

use crate::bundle::{Probe, What};
use crate::dialect::Dialect;

/// What a template is read as: signs that Unicode says are no characters. The one that closes follows the one that opens.
const SIGNS: [(char, char); 8] = [
    ('«', STATEMENT),
    ('»', '\u{fdd1}'),
    ('‹', OWN),
    ('›', '\u{fdd3}'),
    ('⟦', NEEDS),
    ('⟧', '\u{fdd5}'),
    ('⟪', TEXT),
    ('⟫', '\u{fdd7}'),
];
const STATEMENT: char = '\u{fdd0}';
const OWN: char = '\u{fdd2}';
const NEEDS: char = '\u{fdd4}';
const TEXT: char = '\u{fdd6}';

/// The source of a template, with signs for its marks.
pub(super) fn signed(source: &str) -> String {
    let mut signed = String::with_capacity(source.len());
    // The marks are all that is not ASCII.
    for piece in source.split_inclusive(|letter: char| !letter.is_ascii()) {
        let known = SIGNS
            .iter()
            .find_map(|(mark, sign)| Some((piece.strip_suffix(*mark)?, *sign)));
        match known {
            Some((piece, sign)) => {
                signed.push_str(piece);
                signed.push(sign);
            }
            None => signed.push_str(piece),
        }
    }
    signed
}

/// A call of a function of windrow's own, with its marks.
pub(super) fn own(call: &str) -> String {
    signed(&format!("‹{call}›"))
}

fn is_sign(letter: char) -> bool {
    ('\u{fdd0}'..='\u{fdd7}').contains(&letter)
}

/// A text without its marks.
pub(super) fn unmarked(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut from = 0;
    for at in signs(text) {
        bare.push_str(&text[from..at]);
        from = at + STATEMENT.len_utf8();
    }
    bare + &text[from..]
}

/// How long a text with marks is without them.
pub(super) fn length(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.len() - signs(text).count() * STATEMENT.len_utf8()
    }
}

/// Where the signs of a text are: all of them begin with the same byte, which few other letters do.
fn signs(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.bytes().enumerate();
    let found = bytes.filter_map(|(at, byte)| (byte == 0xef).then_some(at));
    found.filter(|at| text[*at..].starts_with(is_sign))
}

/// What a template makes behind one of its marker lines.
#[derive(Default)]
pub(super) struct Routine {
    /// Its name without the schema; empty where it is no routine.
    pub(super) name: String,
    /// Its variables and what it answers, with their types.
    variables: Vec<(String, String)>,
    /// The settings of the planner of PostgreSQL that are off in it.
    pub(super) off: Vec<&'static str>,
    /// Its marked statements.
    pub(super) statements: Vec<String>,
    /// Its text, where PostgreSQL takes that into the statements that call it.
    pub(super) text: Option<String>,
    /// What is between its marks.
    pub(super) rest: String,
}

/// What the marks of a text say, routine by routine.
pub(super) fn routines(text: &str) -> Vec<Routine> {
    text.split("\n--# ").skip(1).map(Routine::read).collect()
}

impl Routine {
    fn read(text: &str) -> Self {
        let mut routine = Routine::default();
        let (what, text) = text.split_once('\n').unwrap_or_default();
        routine.name = What::new(what).routine().unwrap_or_default().to_owned();
        let mut from = 0;
        for (at, sign) in text.char_indices() {
            if ![STATEMENT, NEEDS, TEXT].contains(&sign) {
                continue;
            }
            let marked = inside(&text[at..], sign);
            match sign {
                STATEMENT => routine.statements.push(marked.to_owned()),
                TEXT => routine.text = Some(marked.to_owned()),
                _ => routine.learn(marked),
            }
            routine.rest += &text[from..at];
            from = at + sign.len_utf8() + marked.len();
        }
        routine.rest += &text[from..];
        routine
    }

    /// What it needs, by a list of variables or of settings.
    fn learn(&mut self, list: &str) {
        // A comma within a type has no blank behind it.
        for item in list.replace(",\n", ", ").split(", ") {
            let words = item.split_whitespace();
            let words: Vec<&str> = words
                .filter(|it| !["IN", "OUT", "INOUT"].contains(it))
                .collect();
            match words[..] {
                ["SET", ..] => {
                    let off = Probe::SETTINGS.into_iter();
                    self.off.extend(off.filter(|name| words.contains(name)));
                }
                [name, kind, ..] => self.variables.push((name.to_owned(), kind.to_owned())),
                _ => {}
            }
        }
    }

    /// The type of a variable: of what is called `p_…` and the like.
    pub(super) fn kind(&self, variable: &str) -> Option<&str> {
        let is_one = variable.get(1..2) == Some("_");
        let found = self
            .variables
            .iter()
            .find(|(name, _)| is_one && name == variable);
        found.map(|(_, kind)| &kind[..])
    }

    /// The columns that it answers, with their types: all but what it is given.
    pub(super) fn answers(&self) -> impl Iterator<Item = &(String, String)> {
        let all = self.variables.iter();
        all.filter(|(name, _)| !name.starts_with("p_"))
    }
}

/// What the marks at the beginning of a text are around.
fn inside(text: &str, sign: char) -> &str {
    let after = &text[sign.len_utf8()..];
    let close = char::from_u32(sign as u32 + 1).unwrap_or(sign);
    after.split(close).next().unwrap_or_default()
}

/// A marked statement on one line, without comments, and with something else for what only a routine can run.
pub(super) fn said(statement: &str, other: impl Fn(&str) -> String) -> String {
    let mut said = String::new();
    let mut rest = statement;
    while let Some(at) = rest.find(OWN) {
        let own = inside(&rest[at..], OWN);
        said.extend([&rest[..at], &other(own)]);
        let end = at + OWN.len_utf8() + own.len();
        rest = &rest[end..];
    }
    said.push_str(rest);
    let code = said
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"));
    let words: Vec<&str> = code.flat_map(str::split_whitespace).collect();
    unmarked(&words.join(" "))
}

/// A text with something else for some of its words, dots and all; texts and quoted names stay. A backslash in a text escapes
/// what follows it: on PostgreSQL in those with an E in front.
pub(super) fn replaced(
    text: &str,
    dialect: Dialect,
    mut other: impl FnMut(&str) -> Option<String>,
) -> String {
    let mut made = String::new();
    let (mut rest, mut quote) = (text, None);
    while let Some(sign) = rest.chars().next() {
        let ends = |sign: char| !(sign.is_ascii_alphanumeric() || "_.".contains(sign));
        let word = match quote {
            None => &rest[..rest.find(ends).unwrap_or(rest.len())],
            Some(_) => "",
        };
        let mut taken = if word.is_empty() {
            &rest[..sign.len_utf8()]
        } else {
            word
        };
        match quote {
            None if "'\"`".contains(sign) => {
                let escapes = dialect != Dialect::Postgres || made.ends_with('E');
                quote = Some((sign, sign == '\'' && escapes));
            }
            Some((_, true)) if sign == '\\' => {
                taken = &rest[..rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at)];
            }
            Some((open, _)) if open == sign => quote = None,
            _ => {}
        }
        made += &other(word).unwrap_or_else(|| taken.to_owned());
        rest = &rest[taken.len()..];
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_template_says_of_a_routine_is_read_by_its_marks() {
        let text = signed(
            "--# set x\nSET x;\n--# create function w.r_f\nCREATE FUNCTION w.r_f(⟦p_a text[], OUT o_b varchar(10)⟧)\n\
             RETURNS TABLE (⟦c bigint⟧) ⟦SET enable_sort = off\nSET enable_seqscan = off⟧ AS\n\
             DECLARE ⟦v_d text⟧ := 'x';\n    -- why\n    «SELECT o\n    -- how\n    ‹INTO v_d› FROM t»;\n\
             --# create function w.r_g\nCREATE FUNCTION w.r_g() AS ⟪SELECT 1⟫;\n",
        );
        let [f, g] = &routines(&text)[..] else {
            panic!("two routines");
        };
        assert_eq!((&f.name[..], &g.name[..]), ("r_f", "r_g"));
        let kinds = ["p_a", "o_b", "v_d", "c", "x", ""].map(|name| f.kind(name));
        assert_eq!(
            kinds,
            [
                Some("text[]"),
                Some("varchar(10)"),
                Some("text"),
                None,
                None,
                None
            ]
        );
        assert_eq!(f.off, ["enable_seqscan", "enable_sort"]);
        assert_eq!(f.statements.len(), 1);
        assert_eq!(
            said(&f.statements[0], |own| own.to_lowercase()),
            "SELECT o into v_d FROM t"
        );
        assert!(
            !f.rest.contains("SELECT") && f.rest.contains("-- why"),
            "{}",
            f.rest
        );
        assert_eq!(g.text.as_deref(), Some("SELECT 1"));
        assert_eq!(length(&text), unmarked(&text).len());
    }

    #[test]
    fn texts_and_quoted_names_stay() {
        let text = "p_a, t.p_a, \"p_a\".p_a, `p_a`, 'p_a ''p_a', p_ab('\"', p_a)";
        let one = |word: &str| (word == "p_a").then(|| "1".to_owned());
        let expected = "1, t.p_a, \"p_a\".p_a, `p_a`, 'p_a ''p_a', p_ab('\"', 1)";
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            assert_eq!(replaced(text, dialect, one), expected);
        }
    }

    #[test]
    fn a_text_ends_where_the_server_says() {
        let one = |word: &str| (word == "p_a").then(|| "1".to_owned());
        let of = |text: &str, dialect| replaced(text, dialect, one);
        let escaped = "'it\\'s p_a \\\\', p_a";
        assert_eq!(of(escaped, Dialect::Mysql), "'it\\'s p_a \\\\', 1");
        let (escaped, plain) = ("E'it\\'s p_a', p_a", "'p_a\\', p_a");
        assert_eq!(of(escaped, Dialect::Postgres), "E'it\\'s p_a', 1");
        assert_eq!(of(plain, Dialect::Postgres), "'p_a\\', 1");
    }
}
