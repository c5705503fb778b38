//! SQL that stands in a spec as it is.

use crate::diagnostic::Diagnostic;
use crate::graph::names;
use crate::spec::Text;

/// A condition on a row of the root table, on one line. It is set between brackets in many statements, and must not end them.
pub(super) fn condition(
    written: Option<&Text>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<String> {
    let written = written?;
    names::value(written.get_ref(), "where_sql", written.span(), diagnostics);
    match on_one_line(written.get_ref()) {
        Ok(sql) => Some(sql),
        Err(message) => {
            let help = "write one condition without comments, in which all brackets and quotes are closed, with `{root}.column` for a \
                        column of the row that is judged";
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
                    "a text of the condition has a line break or another control character"
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
            (_, ')') if open == 0 => return Err("a bracket closes that none opened".to_owned()),
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
        return Err("the condition is not whole".to_owned());
    }
    // The files of MySQL and MariaDB end a routine with it, whatever stands around.
    if line.contains("$$") {
        return Err("the condition has `$$`".to_owned());
    }
    if !line.contains("{root}") {
        return Err("the condition says nothing of `{root}`".to_owned());
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
            "a bracket closes that none opened"
        );
        assert_eq!(wrong("({root}.a = 1"), "the condition is not whole");
        assert_eq!(wrong("{root}.a = 'b"), "the condition is not whole");
        assert_eq!(wrong("{root}.a = 1 #"), "the condition is not whole");
        assert_eq!(wrong(" "), "the condition is not whole");
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
        assert_eq!(wrong("paid = 1"), "the condition says nothing of `{root}`");
        let broken = "a text of the condition has a line break or another control character";
        assert_eq!(wrong("{root}.a = 'b\nc'"), broken);
    }
}
