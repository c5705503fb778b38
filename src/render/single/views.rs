//! What the templates are shown of a rule of single rows.

use serde::Serialize;

use crate::graph::Kind;
use crate::render::above::AboveView;
use crate::render::works::WorkView;

/// What the template of a rule of single rows has besides what it shares with others. Conditions are about row `t` of the table.
#[derive(Serialize)]
pub(crate) struct SingleView {
    pub(crate) expiry: bool,
    pub(crate) orphan: bool,
    pub(crate) keep_last: bool,
    /// Whether a batch is searched under the locks of its rows: orphans on MySQL. Where a time decides, an index
    /// has it, and to lock the rows of an index costs as much as to lock them by their keys afterwards.
    pub(crate) locks: bool,
    /// Whether rows of other tables are deleted with those of the table.
    pub(crate) family: bool,
    /// Whether workers share its rows out.
    pub(crate) shared: bool,
    /// Whether there is a time from which a retention counts.
    pub(crate) aged: bool,
    /// That time of row `t`.
    pub(crate) time: String,
    pub(crate) time_name: String,
    pub(crate) time_type: &'static str,
    /// The instant of a run as the application writes it.
    pub(crate) now: String,
    /// Why rows are deleted.
    pub(crate) why: String,
    /// The columns of the key.
    pub(crate) keys: Vec<KeyView>,
    /// The key of row `t` as a text, and what a row is ordered by it.
    pub(crate) key_text: String,
    pub(crate) key_order: String,
    /// The ways to rows above it whose holds keep it.
    pub(crate) above: Vec<AboveView>,
    /// Whether row `t` has the key of row `k`.
    pub(crate) matches: String,
    /// The key as one value on PostgreSQL, where a list of keys is passed on: its type, that of row `t`, and whether `t` has
    /// the key `k.key`.
    pub(crate) key_type: &'static str,
    pub(crate) key_of_t: String,
    pub(crate) same_key: String,
    /// What turns an instant into the clock of the application, where the time of the retention is of that.
    pub(crate) in_zone: String,
    /// Lists of the key's columns: their names, of rows `k`, `l` and `b`, and arrays of them by where they come from.
    pub(crate) names: String,
    /// What a row must be to be of the rule.
    pub(crate) conditions: Vec<String>,
    /// What makes it deletable: what it names is gone, or enough rows are newer.
    pub(crate) goes: String,
    /// The same in the verbs of PostgreSQL, and the tables of which they know whether they are small.
    pub(crate) goes_by_size: String,
    pub(crate) smalls: Vec<SmallView>,
    /// SQL of the spec, which is among the conditions, too.
    pub(crate) asked: Option<String>,
    /// What a search asks on PostgreSQL.
    #[serde(flatten)]
    pub(crate) search: Option<SearchView>,
    /// Whether it has no place among its group.
    pub(crate) unranked: String,
    /// The time of a row that is deleted in pass `p_pass`, its type, and the age of the oldest one.
    pub(crate) due: String,
    pub(crate) oldest_type: &'static str,
    pub(crate) due_cast: String,
    pub(crate) passes: Vec<PassView>,
    /// The tables that are looked into, for the grants.
    pub(crate) references: Vec<String>,
    /// What takes the place of arrays and functions on MySQL and MariaDB.
    #[serde(flatten)]
    pub(crate) mysql: Option<MysqlView>,
}

/// Which rows have enough newer ones of their group, among rows `t` that follow each other along the pass: no row of a table is looked up
/// for it. The last rows that are read have too few newer ones besides them, so that so many more must be read than are judged.
#[derive(Serialize)]
pub(crate) struct RankedView {
    /// What is read of each row.
    pub(crate) columns: String,
    /// Whether it is deleted.
    pub(crate) goes: String,
    pub(crate) ahead: i64,
}

/// A table that is looked into, and the variable of a verb that says whether it is small.
#[derive(Serialize)]
pub(crate) struct SmallView {
    pub(crate) variable: String,
    pub(crate) table_literal: String,
}

/// What a search asks that reads rows `t` in order.
#[derive(Serialize)]
pub(crate) struct SearchView {
    /// Whether the row leaves by itself: it is deletable and old enough, or has no time. Empty where all that are read leave.
    pub(crate) leaves: String,
    pub(crate) old_enough: String,
}

#[derive(Serialize)]
pub(crate) struct KeyView {
    /// The name of its variables.
    pub(crate) name: String,
    pub(crate) column: String,
    pub(crate) kind: &'static str,
    #[serde(skip)]
    pub(crate) is: Kind,
    /// Its value in a text `p_key`.
    #[serde(skip)]
    pub(crate) of_text: String,
}

/// One way through the table.
#[derive(Serialize)]
pub(crate) struct PassView {
    pub(crate) number: usize,
    pub(crate) name: &'static str,
    pub(crate) why: String,
    pub(crate) along: Vec<PlaceView>,
    /// Its columns by their names.
    #[serde(skip)]
    pub(crate) way: Vec<String>,
    /// What is read, with its names or apart from them, and in which order, of the table and of row `n`.
    pub(crate) columns: String,
    pub(crate) values: String,
    pub(crate) names: String,
    pub(crate) order: String,
    /// Behind the place where the pass is, or at it; and not at it.
    pub(crate) reached: String,
    pub(crate) passed: String,
    /// Up to the end of what a worker has claimed, of the table and of row `s`, and the order of these.
    pub(crate) claimed: String,
    pub(crate) claimed_s: String,
    pub(crate) order_s: String,
    /// The place of row `t`, and its order from the last one to the first.
    pub(crate) texts: String,
    pub(crate) backwards_t: String,
    /// What is read at all, what makes a row due, and the same where there are no variables.
    pub(crate) predicates: Vec<String>,
    pub(crate) due: Vec<String>,
    pub(crate) backlog: Vec<String>,
    pub(crate) due_time: String,
    /// The time by which a row is due, as the documents show it.
    pub(crate) due_cast: String,
    /// Behind the place `c` of the cursor, where that is a row of a work table, and up to such a row `b`.
    pub(crate) beyond: String,
    pub(crate) upto: String,
    /// The key of row `f` as a text, what it has of what is read, and its order from the last one to the first.
    pub(crate) key_of_f: String,
    pub(crate) of_f: String,
    pub(crate) backwards: String,
}

/// A column that a pass follows.
#[derive(Serialize)]
pub(crate) struct PlaceView {
    pub(crate) name: String,
    pub(crate) column: String,
    pub(crate) variable: String,
    pub(crate) kind: &'static str,
    #[serde(skip)]
    pub(crate) is: Kind,
    /// Before all values, as a literal.
    pub(crate) first: String,
    /// Where a place is that comes after another one.
    pub(crate) behind: usize,
}

impl SingleView {
    /// Why rows are deleted, by pass.
    pub(crate) fn passes(&self) -> Vec<&'static str> {
        self.passes.iter().map(|pass| pass.name).collect()
    }

    /// The columns that each pass follows, on PostgreSQL.
    pub(crate) fn ways(&self) -> Vec<&[String]> {
        let passes = self.passes.iter().filter(|_| self.mysql.is_none());
        passes.map(|pass| &pass.way[..]).collect()
    }

    /// Whether a batch of PostgreSQL judges rows again under their locks though they are as a search saw them: rows of other tables say
    /// that they go, and what belongs to them goes before them.
    pub(crate) fn is_judged_again(&self) -> bool {
        self.mysql.is_none() && self.family && (self.orphan || self.asked.is_some())
    }

    /// The columns of the cursor in the work tables of these servers.
    pub(crate) fn cursor(&self) -> Vec<&str> {
        let mysql = self.mysql.iter();
        mysql.flat_map(|it| it.read_names.split(", ")).collect()
    }

    /// Those of them that are bytes, which texts have as hexadecimal digits.
    pub(crate) fn hexed(&self) -> Vec<&str> {
        let mysql = self.mysql.iter();
        mysql
            .flat_map(|it| it.hexed.iter().map(String::as_str))
            .collect()
    }

    /// Whether the rule has a verb that takes a batch by a list of keys.
    pub(crate) fn is_swept(&self) -> bool {
        self.mysql.as_ref().is_some_and(|it| it.swept)
    }

    /// What the work tables of the kernel have their types from.
    pub(crate) fn types(&self, table: &str) -> WorkView {
        let (columns, times) = match &self.mysql {
            Some(mysql) => (mysql.read.clone(), &mysql.read_times[..]),
            None => (Vec::new(), &[][..]),
        };
        WorkView::types(table, columns, times)
    }
}

/// What the template has on these servers besides. Row `t` is of the table, `r` the row of a work table with its key.
#[derive(Serialize)]
pub(crate) struct MysqlView {
    /// The columns of the key and those that a run follows: those that a work table takes over from the table as they
    /// are, by their names there, the times, which it has as such and may leave out, the values of all, their names there, and
    /// those of row `r`.
    #[serde(skip)]
    pub(crate) read: Vec<(String, String)>,
    pub(crate) read_times: Vec<String>,
    /// Those that are bytes.
    #[serde(skip)]
    pub(crate) hexed: Vec<String>,
    pub(crate) read_values: String,
    pub(crate) read_names: String,
    pub(crate) read_of_r: String,
    /// Those of row `b` as texts, for the ledger.
    pub(crate) place_of_b: String,
    /// The same of the key alone.
    pub(crate) read_key: String,
    /// Whether row `t` has the key of row `r`, and row `h` of the holds that of row `r`.
    pub(crate) matches_r: String,
    pub(crate) holds_r: String,
    /// The present instant as the time that the documents show has it.
    pub(crate) oldest_now: String,
    /// What the time of a retention must lie before, where `p_cutoff` is that instant.
    pub(crate) cutoff: String,
    pub(crate) ranked: Option<RankedView>,
    /// Whether a batch may use a list of keys: nothing is deleted with its rows, nothing is kept of them, and keys
    /// are numbers, of which a list has all. Nor is there a name that a text literal would have to escape.
    pub(crate) swept: bool,
    /// The statement that deletes such a list on MySQL, marked, as a literal, with `(0)` for the list. Of a join with the
    /// list, MySQL would read each row twice.
    pub(crate) deletes_list: String,
    /// Whether a DELETE of MariaDB can judge the rows that it locks.
    pub(crate) at_once: bool,
}
