//! The small languages inside the texts of a spec, e.g. `order_id -> order.id unless 0`.
//!
//! Names with spaces, dots or the like are between double quotes. Everything that is read keeps its place in the
//! file, so that a diagnostic marks the wrong word and not the whole text.

mod cursor;
mod parts;

use self::cursor::{Cursor, Token};
use crate::diagnostic::Diagnostic;
use crate::spec::Text;

pub use cursor::place;
pub use parts::{
    ActionText, ColumnText, EdgeText, EndTimeText, FigureText, LinkText, MemberText, NamedText,
    NoneText, OwnText, SourceText,
};

const EDGE: &str = "write `column -> table.column`, with a type after the column if it differs from the parent's, `unless \
                    value` if a value means no parent, or `a, b -> table(a, b)` for several columns, `restrict` if a row \
                    keeps its parent instead of being deleted with it, `set null` if it is kept without it, `cascade` if a \
                    foreign key deletes it with its parent, `or alone` if the parent refers to the row, and `optional` if \
                    some versions lack it";

const NEED: &str = "write `column -> table.column`, with `unless value` after it if a value means that a row refers to nothing, \
                    or `a, b -> table(a, b)` for several columns";

const NAMED: &str = "write `column -> table.column`: the column of an edge of `parents` (several: `a, b`), the table that it \
                     refers to, and the column of that table to check";

/// Reads `column type`, or several of these between commas.
pub fn key(text: &str, whole: &Text) -> Result<Vec<ColumnText>, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, "write `column type`, e.g. `id integer`")?;
    let mut columns = vec![cursor.column()?];
    while cursor.take(&Token::Comma) {
        columns.push(cursor.column()?);
    }
    cursor.end()?;
    Ok(columns)
}

/// Reads `column [type]`.
pub fn column(text: &str, whole: &Text) -> Result<ColumnText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, "write `column`, or `column type`")?;
    let column = cursor.column()?;
    cursor.end()?;
    Ok(column)
}

/// Reads `column [type] [else column]`, or `max(table.column [type]) [else column]`.
pub fn end_time(text: &str, whole: &Text) -> Result<EndTimeText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(
        text,
        whole,
        "write `column`, or `column type`, or `max(table.column)` for the last of the rows of another table, and `else \
         column` for a fallback if that is unknown",
    )?;
    let table = if cursor.take_call("max") {
        let table = cursor.name("a table")?;
        cursor.expect(&Token::Dot)?;
        Some(table)
    } else {
        None
    };
    let column = cursor.column()?;
    if table.is_some() {
        cursor.expect(&Token::Close)?;
    }
    let otherwise = if cursor.take_word("else") {
        Some(cursor.name("a column")?)
    } else {
        None
    };
    cursor.end()?;
    Ok(EndTimeText {
        table,
        column,
        otherwise,
    })
}

/// Reads `column [type] -> table.column [unless value] [restrict | set null | cascade | or alone] [optional]`, or the form of
/// several columns.
pub fn edge(text: &str, whole: &Text) -> Result<EdgeText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, EDGE)?;
    let edge = cursor.edge(Cursor::column)?;
    let action = if cursor.take_word("restrict") {
        ActionText::Restrict
    } else if cursor.take_word("set") {
        if !cursor.take_word("null") {
            return Err(cursor.expected("`null`"));
        }
        ActionText::SetNull
    } else if edge.none.is_none() && cursor.take_word("cascade") {
        ActionText::Cascade
    } else {
        ActionText::Delete
    };
    let alone = edge.columns.len() == 1
        && edge.none.is_none()
        && action == ActionText::Delete
        && cursor.take_word("or");
    if alone && !cursor.take_word("alone") {
        return Err(cursor.expected("`alone`"));
    }
    let optional = cursor.take_word("optional");
    cursor.end()?;
    Ok(EdgeText {
        action,
        alone,
        optional,
        ..edge
    })
}

/// Reads `column -> table.column [unless value]`, or `column, column -> table(column, column)`: what a row names, and must
/// exist.
pub fn need(text: &str, whole: &Text) -> Result<EdgeText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, NEED)?;
    let edge = cursor.edge(|cursor| {
        let name = cursor.name("a column")?;
        Ok(ColumnText { name, kind: None })
    })?;
    cursor.end()?;
    Ok(edge)
}

/// Whether the name of a condition is that of a column which another row has: `column -> table.column`.
pub fn names_another(name: &Text) -> bool {
    name.get_ref().contains("->")
}

/// Reads `column -> table.column`, or `column, column -> table.column`: a column of the row that an edge names.
pub fn named(text: &str, whole: &Text) -> Result<NamedText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, NAMED)?;
    let mut columns = vec![cursor.name("a column")?];
    while cursor.take(&Token::Comma) {
        columns.push(cursor.name("a column")?);
    }
    cursor.expect(&Token::Arrow)?;
    let table = cursor.name("a table")?;
    cursor.expect(&Token::Dot)?;
    let column = cursor.name("a column")?;
    cursor.end()?;
    Ok(NamedText {
        columns,
        table,
        column,
    })
}

/// Reads `table: parent_column -> child_column`, or `table: column -> other_table.parent_column`.
pub fn link(text: &str, whole: &Text) -> Result<LinkText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(
        text,
        whole,
        "write `table: parent_column -> child_column`, or `root: column -> other_table.parent_column` if a row refers to its \
         parent through a row of another table",
    )?;
    let table = cursor.name("a table")?;
    cursor.expect(&Token::Colon)?;
    let parent = cursor.name("a column")?;
    cursor.expect(&Token::Arrow)?;
    let mut child = cursor.name("a column, or a table")?;
    let over = if cursor.take(&Token::Dot) {
        Some(std::mem::replace(&mut child, cursor.name("a column")?))
    } else {
        None
    };
    cursor.end()?;
    Ok(LinkText {
        table,
        parent,
        over,
        child,
    })
}

/// Reads `table`, or `table: column, …`.
pub fn member(text: &str, whole: &Text) -> Result<MemberText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(
        text,
        whole,
        "write `table`, or `table: column` with the column that refers to the root of a row's family",
    )?;
    let table = cursor.name("a table")?;
    let mut columns = Vec::new();
    if cursor.take(&Token::Colon) {
        columns.push(cursor.name("a column")?);
        while cursor.take(&Token::Comma) {
            columns.push(cursor.name("a column")?);
        }
    }
    cursor.end()?;
    Ok(MemberText { table, columns })
}

/// Reads `other_table: column -> table`.
pub fn reference(text: &str, whole: &Text) -> Result<LinkText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, "write `other_table: column -> table`")?;
    let table = cursor.name("a table")?;
    cursor.expect(&Token::Colon)?;
    let parent = cursor.name("a column")?;
    cursor.expect(&Token::Arrow)?;
    let child = cursor.name("a table")?;
    cursor.end()?;
    Ok(LinkText {
        table,
        parent,
        over: None,
        child,
    })
}

/// Reads `table: column`, `table: column -> other_table`, or `table: column -> other_table.other_column`.
pub fn own(text: &str, whole: &Text) -> Result<OwnText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(
        text,
        whole,
        "write `table: column` with the column that refers to the instance, or `table: column -> other_table`",
    )?;
    let table = cursor.name("a table")?;
    cursor.expect(&Token::Colon)?;
    let column = cursor.name("a column")?;
    let through = if cursor.take(&Token::Arrow) {
        Some(cursor.name("a table")?)
    } else {
        None
    };
    let named = if through.is_some() && cursor.take(&Token::Dot) {
        Some(cursor.name("a column")?)
    } else {
        None
    };
    cursor.end()?;
    Ok(OwnText {
        table,
        column,
        through,
        named,
    })
}

/// Reads `table: key -> column unit`.
pub fn source(text: &str, whole: &Text) -> Result<SourceText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(
        text,
        whole,
        "write `table: key -> column days`, with the unit of the column: `days`, `hours`, `minutes` or `seconds`",
    )?;
    let table = cursor.name("a table")?;
    cursor.expect(&Token::Colon)?;
    let key = cursor.name("a column")?;
    cursor.expect(&Token::Arrow)?;
    let column = cursor.name("a column")?;
    let unit = cursor.name("a unit")?;
    cursor.end()?;
    Ok(SourceText {
        table,
        key,
        column,
        unit,
    })
}

/// Reads a figure's name, or `rows of table`.
pub fn figure(text: &str, whole: &Text) -> Result<FigureText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, "write a figure's name, or `rows of table`")?;
    let word = cursor.name("a figure")?;
    let figure = if word.get_ref() == "rows" && cursor.take_word("of") {
        FigureText::RowsOf(cursor.name("a table")?)
    } else {
        FigureText::Word(word)
    };
    cursor.end()?;
    Ok(figure)
}

#[cfg(test)]
mod tests;
