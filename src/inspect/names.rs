//! What names say: which column of a table could name a row of another.

use std::collections::BTreeMap;

/// What a column that names a row ends with, and a key may be called.
const ENDS: [&str; 7] = ["id", "uuid", "key", "guid", "name", "code", "pk"];

/// How well the name of a column fits a table, and in how many letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// A part of the name of the table: `task_id` and `task_instance`.
    Part(usize),
    /// The whole name of the table, perhaps with something before it: `parent_run_id` and `run`.
    Whole(usize),
}

/// The words that the names of most tables of a schema begin with, like `t_ds_`: they tell nothing.
pub fn common_words<'a>(tables: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<Vec<String>> = tables.map(words).collect();
    let mut common: Vec<String> = Vec::new();
    loop {
        let next = names.iter().filter(|name| name.starts_with(&common));
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for word in next.filter(|name| name.len() > common.len() + 1) {
            *counts.entry(&word[common.len()]).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        match most {
            Some((word, count)) if count * 5 > names.len() * 3 => common.push(word.to_owned()),
            _ => return common,
        }
    }
}

/// A table as columns of others may name it.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name in one word, without what most tables begin with.
    whole: String,
    /// The same from each of its words on.
    parts: Vec<String>,
    key: String,
    is_primary: bool,
}

impl Named {
    /// A table with a key of one column: its primary key, or another one, which only columns of the same name may mean.
    pub fn new(table: &str, key: &str, is_primary: bool, common: &[String]) -> Named {
        let mut all = words(table);
        if all.starts_with(common) && all.len() > common.len() {
            all.drain(..common.len());
        }
        if let Some(last) = all.last_mut() {
            *last = singular(last);
        }
        Named {
            whole: all.concat(),
            parts: (0..all.len()).map(|from| all[from..].concat()).collect(),
            key: words(key).concat(),
            is_primary,
        }
    }

    /// How well a column fits it by the words of its name; none: not at all.
    pub fn likeness(&self, column: &[String]) -> Option<Likeness> {
        let name = column.concat();
        // A key that is named after its table is named the same by others. One that is named after another table names that.
        if name == self.key && !ENDS.contains(&name.as_str()) {
            return if stem(&name).is_some_and(|stem| self.whole.ends_with(stem)) {
                Some(Likeness::Whole(self.whole.len()))
            } else {
                self.is_primary.then_some(Likeness::Part(0))
            };
        }
        if !self.is_primary {
            return None;
        }
        let stem = name
            .strip_suffix(self.key.as_str())
            .into_iter()
            .chain(stem(&name))
            .min_by_key(|stem| stem.len())
            .filter(|stem| !stem.is_empty())?;
        if stem.ends_with(&self.whole) {
            return Some(Likeness::Whole(self.whole.len()));
        }
        // The last words of its name, the beginning of these, or short for the words of the column.
        let own = match column.last() {
            Some(last) if ENDS.contains(&last.as_str()) => &column[..column.len() - 1],
            _ => column,
        };
        let fits = |part: &&String| {
            part.len() > 3 && (stem.ends_with(*part) || own.len() > 1 && is_short_for(part, own))
        };
        let end = self.parts.iter().filter(fits).map(String::len).max();
        let begin = stem.len() > 3 && self.parts.iter().any(|part| part.starts_with(stem));
        end.max(begin.then_some(stem.len())).map(Likeness::Part)
    }
}

/// A name without what says that it names a row.
fn stem(name: &str) -> Option<&str> {
    let stems = ENDS.iter().filter_map(|end| name.strip_suffix(end));
    stems.min_by_key(|stem| stem.len())
}

/// Whether a column says by its name that it names something.
pub fn is_reference(column: &str) -> bool {
    let words = words(column);
    let ends = ["id", "uuid", "guid", "key", "ref"];
    words.len() > 1
        && words
            .last()
            .is_some_and(|last| ends.contains(&last.as_str()))
}

/// Whether a word is made of the beginnings of these: `procinst` of `process` and `instance`.
fn is_short_for(word: &str, words: &[String]) -> bool {
    let Some((first, rest)) = words.split_first() else {
        return word.is_empty();
    };
    (3..=first.len().min(word.len())).any(|length| {
        let (begin, behind) = (first.get(..length), word.get(length..));
        begin.is_some_and(|begin| word.starts_with(begin))
            && behind.is_some_and(|behind| is_short_for(behind, rest))
    })
}

/// A name without the words that most tables begin with.
pub fn short(table: &str, common: &[String]) -> String {
    let all = words(table);
    let own = all.strip_prefix(common).filter(|own| !own.is_empty());
    own.unwrap_or(&all).join("_")
}

/// The words of a name in lower case: `act_hi_procinst` and `actHiProcinst` are three.
pub fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for sign in name.chars() {
        let begins = sign.is_uppercase() && before.is_lowercase();
        if begins || !sign.is_alphanumeric() {
            words.push(String::new());
        }
        if let (Some(word), true) = (words.last_mut(), sign.is_alphanumeric()) {
            word.extend(sign.to_lowercase());
        }
        before = sign;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a column by its name refers to the one of many that counts at the moment: a row points at it, and is no part of it.
pub fn is_pointer(column: &str) -> bool {
    let words = words(column);
    let first = words.first().map(String::as_str);
    words.len() > 1
        && first.is_some_and(|first| {
            ["last", "latest", "current", "next", "newest", "recent"].contains(&first)
        })
}

fn singular(word: &str) -> String {
    match word {
        _ if word.ends_with("ies") => format!("{}y", &word[..word.len() - 3]),
        _ if word.len() > 3
            && word.ends_with('s')
            && !word.ends_with("ss")
            && !word.ends_with("us") =>
        {
            word[..word.len() - 1].to_owned()
        }
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_after_tables() {
        let ds = ["t", "ds"].map(str::to_owned);
        let of = |column, table, key| Named::new(table, key, true, &ds).likeness(&words(column));
        let instance = "t_ds_workflow_instance";
        assert_eq!(
            of("workflow_instance_id", instance, "id"),
            Some(Likeness::Whole(16))
        );
        assert_eq!(
            of("sub_workflow_instance_id", instance, "id"),
            Some(Likeness::Whole(16))
        );
        let (part, whole) = (Likeness::Part, Likeness::Whole);
        assert_eq!(of("task_id", "t_ds_task_instance", "id"), Some(part(4)));
        let instance_of_camunda = "ACT_HI_PROCINST";
        assert_eq!(
            of("PROC_INST_ID_", instance_of_camunda, "ID_"),
            Some(part(8))
        );
        assert_eq!(
            of("ROOT_PROC_INST_ID_", instance_of_camunda, "ID_"),
            Some(part(8))
        );
        assert_eq!(
            of("PROCESS_INSTANCE_ID_", instance_of_camunda, "ID_"),
            Some(part(8))
        );
        assert_eq!(of("TASK_ID_", "ACT_HI_TASKINST", "ID_"), Some(part(4)));
        assert_eq!(of("run_uuid", "runs", "run_uuid"), Some(whole(3)));
        assert_eq!(of("run_id", "queue", "run_id"), Some(part(0)));
        assert_eq!(of("run_id", "run", "id"), Some(whole(3)));
        assert_eq!(of("flow_run_id", "flow_run", "id"), Some(whole(7)));
        let by = |column, table, key| Named::new(table, key, false, &ds).likeness(&words(column));
        assert_eq!(by("run_id", "runs", "run_id"), Some(whole(3)));
        assert_eq!(by("email", "users", "email"), None);
        assert_eq!(by("parent_run_id", "runs", "run_id"), None);
        assert_eq!(of("id", instance, "id"), None);
        assert_eq!(of("user_id", instance, "id"), None);
        assert_eq!(of("name", instance, "id"), None);
    }

    #[test]
    fn names_have_words_in_every_spelling() {
        for name in [
            "flow_run_id",
            "flowRunId",
            "FlowRunId",
            "FLOW_RUN_ID",
            "FLOW_RUN_ID_",
        ] {
            assert_eq!(words(name), ["flow", "run", "id"], "{name}");
        }
        assert!(is_pointer("last_run_id") && is_pointer("currentRunId"));
        assert!(!is_pointer("run_id") && !is_pointer("last") && !is_pointer("lasting_run_id"));
    }

    #[test]
    fn words_that_most_tables_begin_with_tell_nothing() {
        let tables = [
            "t_ds_alert",
            "t_ds_task_instance",
            "t_ds_command",
            "qrtz_locks",
        ];
        assert_eq!(common_words(tables.into_iter()), ["t", "ds"]);
        assert!(common_words(["run", "task", "task_log"].into_iter()).is_empty());
    }
}
