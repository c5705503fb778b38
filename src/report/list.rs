//! Lists: settings, policies, holds and the like.

use serde_json::Value;

use super::words::{plain, text};
use crate::answers::Setting;
use crate::failure::Failure;
use crate::ui::Align::{Left, Right};
use crate::ui::{Table, count};

/// Every limit: its value, the default where that is another one, and what it may be.
pub fn settings(settings: &[Setting]) -> String {
    let mut table = Table::new(&[
        ("rule", Left),
        ("setting", Left),
        ("value", Right),
        ("spec", Right),
        ("takes", Left),
        ("changed", Left),
        ("by", Left),
    ]);
    for setting in settings {
        table.row([
            setting.rule.clone(),
            setting.name.clone(),
            format!(
                "{} {}",
                count(setting.value),
                setting.unit.as_deref().unwrap_or_default()
            ),
            count(setting.spec_value),
            setting.takes.clone(),
            text(setting.changed_at.as_ref()),
            text(setting.changed_by.as_ref()),
        ]);
    }
    table.to_string()
}

/// A list of flat objects as a table; `columns` are (heading, key).
///
/// # Errors
///
/// Fails where an object lacks one of the keys; `what` then names the list.
pub fn rows(what: &str, all: &[Value], columns: &[(&str, &str)]) -> Result<String, Failure> {
    for (_, key) in columns {
        if all.iter().any(|row| row.get(key).is_none()) {
            return Err(Failure::new(format!("cannot read the list of {what}"))
                .caused_by(Failure::new(format!("missing field `{key}`")))
                .hint("the installation may be of another version than this windrow: run `windrow install` again"));
        }
    }
    let headings: Vec<_> = columns
        .iter()
        .map(|(heading, key)| {
            let is_number = all.iter().any(|row| row[*key].is_number());
            (*heading, if is_number { Right } else { Left })
        })
        .collect();
    let mut table = Table::new(&headings);
    for row in all {
        table.row(columns.iter().map(|(_, key)| match &row[*key] {
            // Keys and numbers of runs are names, not amounts.
            Value::Number(number) if !key.ends_with("_id") && !key.ends_with("pid") => {
                number.as_i64().map_or_else(|| number.to_string(), count)
            }
            value => plain(value),
        }));
    }
    Ok(table.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_that_lacks_a_column_is_an_error() {
        let all = [json!({"rule": "a", "key": null}), json!({"rule": "b"})];
        let table = rows("holds", &all[..1], &[("rule", "rule"), ("key", "key")]);
        assert!(table.is_ok_and(|text| text.contains("rule")));
        let error = rows("holds", &all, &[("rule", "rule"), ("key", "key")]).err();
        let text = format!("{:#}", anyhow::Error::from(error.unwrap_or_default()));
        assert_eq!(text, "cannot read the list of holds: missing field `key`");
    }
}
