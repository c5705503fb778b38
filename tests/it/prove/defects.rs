//! The defects. Each is one that a hand may slip into a template: most are a word long.

mod archives;
mod changes;
mod crossing;
mod due;
mod families;
mod guard;
mod holds;
mod kept;
mod links;
mod partitions;
mod removal;
mod rights;
mod rows;
mod runs;
mod sight;

use crate::support::defect::{Defect, Edit};

const fn edit(from: &'static str, to: &'static str) -> Edit {
    Edit { from, to }
}

const CLOSED: &str = "oracle::SERVER::closed_worlds_are_cleaned_as_the_model_says";

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Defect> {
    [
        archives::DEFECTS,
        changes::DEFECTS,
        crossing::DEFECTS,
        due::DEFECTS,
        families::DEFECTS,
        guard::DEFECTS,
        holds::DEFECTS,
        kept::DEFECTS,
        links::DEFECTS,
        partitions::DEFECTS,
        removal::DEFECTS,
        rights::DEFECTS,
        rows::DEFECTS,
        runs::DEFECTS,
        sight::DEFECTS,
    ]
    .into_iter()
    .flatten()
}
