//! What a statement does, as its marker line says it: the words, read once.

use std::fmt;

/// What a statement does, in the words of a progress line: `create procedure windrow_x.run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct What {
    words: String,
    verb: Verb,
    object: Option<Object>,
}

/// What it does with its object, or to the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Makes something, or recreates it.
    Create,
    /// Adds a column that a table of an earlier version lacks.
    Add,
    /// Takes something away.
    Drop,
    /// Says in the catalog what something is for.
    CommentOn,
    /// Makes a job of the schedule.
    Schedule,
    /// Takes one away.
    Unschedule,
    /// Tells the session something.
    Set,
    /// Something else, which only its words say.
    Other,
}

/// Something that has a name in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: Kind,
    /// Its name as SQL writes it, with its schema where it has one.
    pub name: String,
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A function.
    Function,
    /// A procedure.
    Procedure,
    /// A view.
    View,
    /// A table.
    Table,
    /// A column, by its name after that of its table.
    Column,
    /// An event of MySQL and MariaDB.
    Event,
    /// A trigger.
    Trigger,
    /// An index.
    Index,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Function,
        Self::Procedure,
        Self::View,
        Self::Table,
        Self::Column,
        Self::Event,
        Self::Trigger,
        Self::Index,
    ];

    /// As SQL calls it, in small letters.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Procedure => "procedure",
            Self::View => "view",
            Self::Table => "table",
            Self::Column => "column",
            Self::Event => "event",
            Self::Trigger => "trigger",
            Self::Index => "index",
        }
    }

    /// Whether it is a function or a procedure.
    pub const fn is_routine(self) -> bool {
        matches!(self, Self::Function | Self::Procedure)
    }
}

impl Object {
    /// Its name without the schema.
    pub fn bare(&self) -> &str {
        let name = self.name.rsplit_once('.');
        name.map_or(&self.name, |(_, name)| name)
    }
}

impl What {
    /// Reads the words of a marker line.
    pub fn new(words: &str) -> Self {
        let verbs = [
            ("create ", Verb::Create),
            ("add ", Verb::Add),
            ("drop ", Verb::Drop),
            ("comment on ", Verb::CommentOn),
            ("schedule ", Verb::Schedule),
            ("unschedule ", Verb::Unschedule),
            ("set ", Verb::Set),
        ];
        let mut verbs = verbs.into_iter();
        let said = verbs.find_map(|(begin, verb)| Some((verb, words.strip_prefix(begin)?)));
        let (verb, rest) = said.unwrap_or((Verb::Other, words));
        let object = rest.split_once(' ').and_then(|(word, name)| {
            let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word)?;
            // `drop procedure arm of earlier versions` names no object of this version.
            (!name.contains(' ') || name.contains(['"', '`'])).then(|| Object {
                kind,
                name: name.to_owned(),
            })
        });
        Self {
            words: words.to_owned(),
            verb,
            object: object.filter(|_| verb != Verb::Other),
        }
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.words
    }

    /// What it does.
    pub const fn verb(&self) -> Verb {
        self.verb
    }

    /// With what.
    pub const fn object(&self) -> Option<&Object> {
        self.object.as_ref()
    }

    /// What it makes; none for a statement that makes nothing with a name.
    pub fn made(&self) -> Option<&Object> {
        let makes = [Verb::Create, Verb::Add].contains(&self.verb);
        self.object().filter(|_| makes)
    }

    /// The routine that it makes, by its name without the schema.
    pub fn routine(&self) -> Option<&str> {
        let made = self.made().filter(|object| object.kind.is_routine());
        made.map(Object::bare)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_is_done_with_what() {
        let what = What::new("create procedure windrow_x.run");
        assert_eq!(what.verb(), Verb::Create);
        assert_eq!(what.routine(), Some("run"));
        assert_eq!(what.to_string(), "create procedure windrow_x.run");
        let what = What::new("comment on function windrow_x.step");
        assert_eq!(what.verb(), Verb::CommentOn);
        assert_eq!(what.object().map(Object::bare), Some("step"));
        assert_eq!(what.made(), None);
        let what = What::new("add column run.node");
        assert_eq!(what.made().map(|it| it.kind), Some(Kind::Column));
        let quoted = What::new("create table windrow_x.`run of day`");
        assert_eq!(quoted.made().map(Object::bare), Some("`run of day`"));
        let what = What::new("drop procedure arm of earlier versions");
        assert_eq!((what.verb(), what.object()), (Verb::Drop, None));
        let what = What::new("become who installs");
        assert_eq!((what.verb(), what.object()), (Verb::Other, None));
    }
}
