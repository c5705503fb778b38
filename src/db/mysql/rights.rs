//! Of which tables an account sees the triggers: MySQL shows those of a table to accounts with TRIGGER on it, MariaDB also to those that
//! may write to it, and to others none, without a word. The rights are what `SHOW GRANTS` says, with those of active roles and, on
//! MariaDB, of PUBLIC. In doubt, an account does not see them.

use crate::dialect::Dialect;

/// What an account may do, line by line.
#[derive(Debug, Default)]
pub(super) struct Rights(Vec<Right>);

/// One line: whether it lets somebody see triggers, or takes it from an account that has it everywhere.
#[derive(Debug, PartialEq, Eq)]
struct Right {
    /// The account or role that has it.
    whose: String,
    gives: bool,
    takes: bool,
    /// On which databases, as a pattern; none: on all.
    database: Option<String>,
    /// On which table of it; none: on all.
    table: Option<String>,
}

/// A word of a statement, or a name in quotes.
#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Name(String),
}

impl Rights {
    pub(super) fn of<'a>(dialect: Dialect, lines: impl Iterator<Item = &'a str>) -> Rights {
        let shows: &[&str] = match dialect {
            Dialect::Mariadb => &["ALL", "TRIGGER", "INSERT", "UPDATE", "DELETE"],
            Dialect::Mysql | Dialect::Postgres => &["ALL", "TRIGGER"],
        };
        Rights(lines.filter_map(|line| right(line, shows)).collect())
    }

    /// Whether the account sees the triggers of a table, by its own rights or those of a role. `folds`: upper and lower case of names is
    /// one to the server.
    pub(super) fn sees_triggers(&self, database: &str, table: &str, folds: bool) -> bool {
        let mut rights = self.0.iter();
        rights.any(|right| self.lets_see(&right.whose, database, table, folds))
    }

    /// The same by the rights of one.
    fn lets_see(&self, whose: &str, database: &str, table: &str, folds: bool) -> bool {
        let same = |one: &str, other: &str| {
            one == other || folds && one.to_lowercase() == other.to_lowercase()
        };
        let of_all = |right: &&Right| right.database.is_none();
        let of_database = |right: &&Right| right.table.is_none() && right.database.is_some();
        let named = |right: &Right| right.database.clone().unwrap_or_default();
        let is_named = |right: &&Right| {
            same(&named(right), database) || same(&named(right).replace('\\', ""), database)
        };
        let is_like = |right: &&Right| {
            if folds {
                like(&named(right).to_lowercase(), &database.to_lowercase())
            } else {
                like(&named(right), database)
            }
        };
        let all = || self.0.iter().filter(|right| right.whose == whose);
        let taken = all()
            .filter(of_database)
            .any(|right| right.takes && is_named(&right));
        if !taken && all().filter(of_all).any(|right| right.gives) {
            return true;
        }
        // Of several patterns the server takes the narrowest.
        let mut exact = all().filter(of_database).filter(is_named).peekable();
        let by_database = if exact.peek().is_some() {
            exact.any(|right| right.gives)
        } else {
            let mut alike = all().filter(of_database).filter(is_like).peekable();
            alike.peek().is_some() && alike.all(|right| right.gives)
        };
        let mut by_table = all().filter(is_named).filter(|right| {
            let own = right.table.as_deref();
            own.is_some_and(|own| same(own, table))
        });
        by_database || by_table.any(|right| right.gives)
    }
}

/// What a line says of the rights that show triggers; none: it is about something else.
fn right(line: &str, shows: &[&str]) -> Option<Right> {
    let tokens = tokens(line);
    let word = |token: &Token, word: &str| matches!(token, Token::Word(it) if it.eq_ignore_ascii_case(word));
    let on = tokens.iter().position(|token| word(token, "ON"))?;
    let (says, place) = (&tokens[..on], &tokens[on + 1..]);
    let takes = word(says.first()?, "REVOKE");
    // `DELETE HISTORY` shows none.
    let mut words = says.iter().zip(says[1..].iter().map(Some).chain([None]));
    let has = words.any(|(token, next)| {
        let history = next.is_some_and(|next| word(next, "HISTORY"));
        !history && shows.iter().any(|show| word(token, show))
    });
    // The right to a routine has a word before its name.
    let (database, table) = match place {
        [Token::Word(all), ..] if all == "*.*" => (None, None),
        [Token::Name(database), Token::Word(all), ..] if all == ".*" => (Some(database), None),
        [
            Token::Name(database),
            Token::Word(dot),
            Token::Name(table),
            ..,
        ] if dot == "." => (Some(database), Some(table)),
        _ => return None,
    };
    let to = place
        .iter()
        .rposition(|token| word(token, "TO") || word(token, "FROM"));
    let whose = match to.and_then(|to| place.get(to + 1)) {
        Some(Token::Name(whose) | Token::Word(whose)) => whose.clone(),
        None => String::new(),
    };
    Some(Right {
        whose,
        gives: has && !takes,
        takes: has && takes,
        database: database.cloned(),
        table: table.cloned(),
    })
}

/// The words of a line. What is between brackets are columns.
fn tokens(line: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut signs = line.chars().peekable();
    let mut depth = 0_usize;
    while let Some(sign) = signs.next() {
        match sign {
            '`' | '"' | '\'' => {
                let mut name = String::new();
                while let Some(next) = signs.next() {
                    if next == sign && signs.next_if_eq(&sign).is_none() {
                        break;
                    }
                    name.push(next);
                }
                if depth == 0 {
                    tokens.push(Token::Name(name));
                }
            }
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            sign if depth > 0 || sign.is_whitespace() || sign == ',' => {}
            sign => {
                let mut word = String::from(sign);
                let part = |next: &char| !next.is_whitespace() && !",()`\"'".contains(*next);
                while let Some(next) = signs.next_if(part) {
                    word.push(next);
                }
                tokens.push(Token::Word(word));
            }
        }
    }
    tokens
}

/// Whether a name is like a pattern with `%`, `_` and `\\`.
fn like(pattern: &str, name: &str) -> bool {
    let mut signs = pattern.chars();
    let rest = |name: &str| {
        name.chars()
            .next()
            .map(|first| name[first.len_utf8()..].to_owned())
    };
    match signs.next() {
        None => name.is_empty(),
        Some('%') => {
            like(signs.as_str(), name) || rest(name).is_some_and(|rest| like(pattern, &rest))
        }
        Some('_') => rest(name).is_some_and(|rest| like(signs.as_str(), &rest)),
        Some(sign) => {
            let sign = if sign == '\\' {
                signs.next().unwrap_or(sign)
            } else {
                sign
            };
            let rest = name.strip_prefix(sign);
            rest.is_some_and(|rest| like(signs.as_str(), rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sees(lines: &[&str], database: &str, table: &str) -> bool {
        let rights = Rights::of(Dialect::Mysql, lines.iter().copied());
        rights.sees_triggers(database, table, false)
    }

    #[test]
    fn triggers_are_seen_by_a_right_to_their_table() {
        for lines in [
            &["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"][..],
            &["GRANT SELECT, TRIGGER, CREATE ROLE ON *.* TO `a`@`%`"],
            &[
                "GRANT USAGE ON *.* TO `a`@`%`",
                "GRANT SELECT, TRIGGER ON `jobs`.* TO `a`@`%`",
            ],
            &["GRANT TRIGGER ON `jobs`.`run` TO `a`@`%`"],
            &["GRANT SELECT (`id`, `state`), TRIGGER ON `jobs`.`run` TO `a`@`%`"],
            &["GRANT TRIGGER ON `jo%`.* TO `a`@`%`"],
            &["GRANT TRIGGER ON \"jobs\".* TO \"a\"@\"%\""],
            &[
                "GRANT SELECT ON `jobs`.* TO `a`@`%`",
                "GRANT TRIGGER ON `jo%`.* TO PUBLIC",
            ],
            // Of the account, and of a role.
            &[
                "GRANT SELECT ON `jobs`.* TO `a`@`%`",
                "GRANT TRIGGER ON `jobs`.* TO `r`",
            ],
        ] {
            assert!(sees(lines, "jobs", "run"), "{lines:?}");
        }
        assert!(sees(
            &["GRANT TRIGGER ON `my\\_db`.* TO `a`@`%`"],
            "my_db",
            "run"
        ));
        assert!(!sees(
            &["GRANT TRIGGER ON `my\\_db`.* TO `a`@`%`"],
            "myxdb",
            "run"
        ));
    }

    #[test]
    fn who_writes_sees_them_on_mariadb() {
        for (right, seen) in [
            ("SELECT", false),
            ("SELECT, DELETE", true),
            ("UPDATE (`id`)", true),
            ("DELETE HISTORY", false),
        ] {
            let line = format!("GRANT {right} ON `jobs`.`run` TO `a`@`%`");
            let rights = Rights::of(Dialect::Mariadb, std::iter::once(line.as_str()));
            assert_eq!(rights.sees_triggers("jobs", "run", false), seen, "{line}");
        }
    }

    #[test]
    fn triggers_are_hidden_from_all_others() {
        for lines in [
            &[][..],
            &[
                "GRANT USAGE ON *.* TO `TRIGGER`@`%`",
                "GRANT `TRIGGER`@`%` TO `a`@`%`",
            ],
            &["GRANT SELECT (`TRIGGER`) ON `jobs`.`run` TO `a`@`%`"],
            &["GRANT SELECT, DELETE ON `jobs`.* TO `a`@`%`"],
            &["GRANT TRIGGER ON `jobs`.`step` TO `a`@`%`"],
            &["GRANT TRIGGER ON `other`.* TO `a`@`%`"],
            &["GRANT EXECUTE ON PROCEDURE `jobs`.`run` TO `a`@`%`"],
            &["GRANT ALL PRIVILEGES ON PROCEDURE `jobs`.`run` TO `a`@`%`"],
            // The narrower line counts.
            &[
                "GRANT TRIGGER ON `jo%`.* TO `a`@`%`",
                "GRANT SELECT ON `jobs`.* TO `a`@`%`",
            ],
            &[
                "GRANT TRIGGER ON *.* TO `a`@`%`",
                "REVOKE TRIGGER ON `jobs`.* FROM `a`@`%`",
            ],
            &["GRANT PROXY ON ``@`` TO `a`@`%`"],
        ] {
            assert!(!sees(lines, "jobs", "run"), "{lines:?}");
        }
    }
}
