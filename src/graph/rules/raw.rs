//! SQL of a spec that is used unchanged.

use crate::diagnostic::Diagnostic;
use crate::graph::names;
use crate::spec::{self, Strategy, Text};

/// What statements call the row that is judged: those that ask whether it is final, and those of the other rules.
pub(super) const OF_FAMILIES: &[&str] = &["i"];
pub(super) const OF_ROWS: &[&str] = &["i", "n", "r", "t"];

/// A condition on a row of the root table, on one line. It is set between brackets in many statements, and must not end them; in
/// these the row has one of some names.
pub(super) fn condition(
    written: Option<&Text>,
    rows: &[&str],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<String> {
    let written = written?;
    names::value(written.get_ref(), "where_sql", written.span(), diagnostics);
    match on_one_line(written.get_ref()) {
        Ok(sql) if let Some(name) = taken(&sql, rows) => {
            diagnostics.push(Diagnostic::error(
                "no-condition",
                written.span(),
                format!("windrow uses the name `{name}` for the row that is checked"),
                "use other names for tables, and write `{root}.column` for a column of that row",
            ));
            None
        }
        Ok(sql) => Some(sql),
        Err(message) => {
            let help = "write one condition without comments, in which all brackets and quotes are closed, with \
                        `{root}.column` for a column of the row that is checked";
            diagnostics.push(Diagnostic::error(
                "no-condition",
                written.span(),
                message,
                help,
            ));
            None
        }
    }
}

/// One of these names, where it is not that of a column behind a dot: within the condition it would be another row.
fn taken<'a>(sql: &str, rows: &[&'a str]) -> Option<&'a str> {
    let is_part = |sign: char| sign.is_alphanumeric() || "_.{}".contains(sign);
    // What is between single quotes is a text; other quotes are around names.
    let outside: Vec<&str> = sql.split('\'').step_by(2).collect();
    let outside = outside.join(" ").replace(['"', '`'], "");
    let mut words = outside.split(|sign| !is_part(sign));
    words.find_map(|word| {
        let first = word.split('.').next().unwrap_or_default();
        let mut rows = rows.iter();
        rows.find(|row| row.eq_ignore_ascii_case(first)).copied()
    })
}

/// The same of a rule by time: by age of one table, where no foreign key is asked besides.
pub(super) fn of_time(
    rule: &spec::Rule,
    strategy: Strategy,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<String> {
    let written = rule.where_sql.as_ref()?;
    if strategy == Strategy::Partition {
        return condition(Some(written), OF_FAMILIES, diagnostics);
    }
    let why = if strategy == Strategy::RemovalTime {
        (
            "a rule of the strategy `removal-time` has no `where_sql`: each row goes by a stored time, with its family or without, \
             and a condition on the root would leave others of its rows to that",
            "let the application leave the time of what is to stay NULL, set one that is far away (`stamp`), or hold the family",
        )
    } else if let Some(reference) = rule.references.first() {
        let finding = Diagnostic::error(
            "where-beside-references",
            written.span(),
            "`where_sql` and `references` cannot be combined",
            "let `where_sql` say the other, too: `NOT EXISTS (SELECT 1 FROM {schema}.other AS o WHERE o.row_id = {root}.id)`",
        );
        diagnostics.push(finding.related(reference.span(), "the references"));
        return None;
    } else {
        return condition(Some(written), OF_ROWS, diagnostics);
    };
    let (message, help) = why;
    diagnostics.push(Diagnostic::error(
        "field-of-other-strategy",
        written.span(),
        message,
        help,
    ));
    None
}

/// The condition, or what is wrong with it. Where the servers read quotes in several ways, it is refused.
fn on_one_line(sql: &str) -> Result<String, String> {
    let mut line = String::new();
    let mut quote = None;
    let mut open = 0_usize;
    for sign in sql.trim().chars() {
        let before = line.chars().next_back().unwrap_or(' ');
        if let Some(kind) = quote {
            if sign.is_control() {
                return Err(
                    "a string in the condition has a line break or another control character"
                        .to_owned(),
                );
            }
            if sign == kind && before == '\\' {
                return Err(format!("`\\{kind}` ends a text on some servers"));
            }
            quote = Some(kind).filter(|kind| *kind != sign);
            line.push(sign);
            continue;
        }
        match (before, sign) {
            (_, '\'' | '"' | '`') => quote = Some(sign),
            (_, '(') => open += 1,
            (_, ')') if open == 0 => {
                return Err("a bracket closes that was never opened".to_owned());
            }
            (_, ')') => open -= 1,
            (_, ';' | '$') => return Err(format!("the condition has `{sign}`")),
            ('-', '-') | ('/', '*') => return Err("the condition has a comment".to_owned()),
            // It begins a comment on MySQL and MariaDB, and an operator on PostgreSQL.
            ('#', sign) if sign != '>' => return Err("the condition has a comment".to_owned()),
            _ => {}
        }
        if !sign.is_whitespace() {
            line.push(sign);
        } else if before != ' ' {
            line.push(' ');
        }
    }
    if quote.is_some() || open > 0 || line.is_empty() || line.ends_with('#') {
        return Err("the condition is incomplete".to_owned());
    }
    // The files of MySQL and MariaDB end a routine with it, whatever is around.
    if line.contains("$$") {
        return Err("the condition has `$$`".to_owned());
    }
    if !line.contains("{root}") {
        return Err("the condition does not refer to `{root}`".to_owned());
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(sql: &str) -> String {
        on_one_line(sql).expect_err(sql)
    }

    #[test]
    fn no_table_is_named_as_the_row_that_is_judged() {
        let taken = |sql: &str| taken(sql, OF_ROWS);
        for sql in [
            "EXISTS (SELECT 1 FROM b AS n WHERE n.a = {root}.a)",
            "EXISTS (SELECT 1 FROM b T WHERE {root}.a = 1)",
            "EXISTS (SELECT 1 FROM b AS \"r\" WHERE \"r\".a = {root}.a)",
        ] {
            assert!(taken(sql).is_some(), "{sql}");
        }
        for sql in [
            "{root}.n = 't' AND {root}.\"t\" = 1",
            "EXISTS (SELECT 1 FROM {schema}.t AS note WHERE note.t = {root}.tn)",
        ] {
            assert_eq!(taken(sql), None, "{sql}");
        }
    }

    #[test]
    fn a_condition_stays_inside_its_brackets() {
        assert_eq!(
            on_one_line("\n {root}.paid = 1\n   AND ({root}.note = '(;--' OR true)\n").as_deref(),
            Ok("{root}.paid = 1 AND ({root}.note = '(;--' OR true)")
        );
        assert_eq!(
            on_one_line("{root}.a = 'it''s'").as_deref(),
            Ok("{root}.a = 'it''s'")
        );
        assert_eq!(
            on_one_line("{root}.a #> '{b}'").as_deref(),
            Ok("{root}.a #> '{b}'")
        );
        assert_eq!(
            wrong("{root}.a = 1) OR (true"),
            "a bracket closes that was never opened"
        );
        assert_eq!(wrong("({root}.a = 1"), "the condition is incomplete");
        assert_eq!(wrong("{root}.a = 'b"), "the condition is incomplete");
        assert_eq!(wrong("{root}.a = 1 #"), "the condition is incomplete");
        assert_eq!(wrong(" "), "the condition is incomplete");
        assert_eq!(wrong("{root}.a = 1;"), "the condition has `;`");
        for comment in ["-- b", "/* b */", "# b", "#b"] {
            let sql = format!("{{root}}.a = 1 {comment}");
            assert_eq!(wrong(&sql), "the condition has a comment", "{sql}");
        }
        assert_eq!(
            wrong("{root}.a = $b$($b$) OR (true)"),
            "the condition has `$`"
        );
        assert_eq!(wrong("{root}.a = '$$'"), "the condition has `$$`");
        assert_eq!(
            wrong("{root}.a = '\\' OR (b'"),
            "`\\'` ends a text on some servers"
        );
        assert_eq!(
            wrong("paid = 1"),
            "the condition does not refer to `{root}`"
        );
        let broken = "a string in the condition has a line break or another control character";
        assert_eq!(wrong("{root}.a = 'b\nc'"), broken);
    }
}
