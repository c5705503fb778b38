//! What the small grammars read, name by name with its place.

use toml::Spanned;

use crate::spec::Text;

/// `column [type]`.
#[derive(Clone, Debug)]
pub struct ColumnText {
    /// The column.
    pub name: Text,
    /// The type, if one is given.
    pub kind: Option<Text>,
}

/// `column [type] -> table.column [unless value] [restrict | set null | cascade | or alone] [optional]`, or
/// `column, column -> table(column, column) [restrict | set null | cascade] [optional]`.
#[derive(Clone, Debug)]
pub struct EdgeText {
    /// The child's columns; at least one.
    pub columns: Vec<ColumnText>,
    /// The parent.
    pub table: Text,
    /// The parent's columns, as many.
    pub parent_columns: Vec<Text>,
    /// The value that means "no parent".
    pub none: Option<Spanned<NoneText>>,
    /// What happens to a row when its parent is due.
    pub action: ActionText,
    /// Whether the parent refers to the row; most rows then have no parent.
    pub alone: bool,
    /// Whether some versions of the application lack it.
    pub optional: bool,
}

/// `column [type] [else column]`, or `max(table.column [type]) [else column]`.
#[derive(Clone, Debug)]
pub struct EndTimeText {
    /// The table of the column, if it is not the root table: the last of its rows counts.
    pub table: Option<Text>,
    /// The column.
    pub column: ColumnText,
    /// The fallback column where it is NULL, of the same type.
    pub otherwise: Option<Text>,
}

/// The words at the end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionText {
    /// None: the row is deleted with its parent.
    Delete,
    /// `cascade`: likewise, by its foreign key.
    Cascade,
    /// `restrict`: it keeps its parent.
    Restrict,
    /// `set null`: it is unlinked from its parent and kept.
    SetNull,
}

/// The value after `unless`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoneText {
    /// A whole number.
    Integer(i64),
    /// A string between single quotes.
    Text(String),
}

/// `table: parent_column -> child_column`, or `table: column -> other_table.parent_column`.
#[derive(Clone, Debug)]
pub struct LinkText {
    /// The relation table.
    pub table: Text,
    /// Column of the parent member, or of a row of the other table.
    pub parent: Text,
    /// The other table, whose row refers to the parent member.
    pub over: Option<Text>,
    /// Column of the descendant, or of the other table's row for the parent member.
    pub child: Text,
}

/// `table`, or `table: column, …`.
#[derive(Clone, Debug)]
pub struct MemberText {
    /// The table.
    pub table: Text,
    /// The columns that refer to the root of a row's family.
    pub columns: Vec<Text>,
}

/// `column -> table.column`, or `column, column -> table.column`.
#[derive(Clone, Debug)]
pub struct NamedText {
    /// The columns of the edge.
    pub columns: Vec<Text>,
    /// The table that it refers to.
    pub table: Text,
    /// A column of that table.
    pub column: Text,
}

/// `table: column`, `table: column -> other_table`, or `table: column -> other_table.other_column`.
#[derive(Clone, Debug)]
pub struct OwnText {
    /// The table.
    pub table: Text,
    /// The column that refers to an instance, or to a row of the other table.
    pub column: Text,
    /// The other table.
    pub through: Option<Text>,
    /// Its column; default: its key.
    pub named: Option<Text>,
}

/// `table: key -> column unit`.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// The table of the definitions.
    pub table: Text,
    /// The column that identifies its rows.
    pub key: Text,
    /// The column with the retention.
    pub column: Text,
    /// The unit of the column.
    pub unit: Text,
}

/// A figure of the report.
#[derive(Clone, Debug)]
pub enum FigureText {
    /// One of windrow's own figures.
    Word(Text),
    /// `rows of table`.
    RowsOf(Text),
}
