use toml::Spanned;

use super::*;

/// Reads the grammar from a basic TOML string as it would be in a file.
fn read<T>(
    raw: &str,
    parse: impl Fn(&str, &Text) -> Result<T, Box<Diagnostic>>,
) -> Result<T, (String, String)> {
    let text = format!("key = {raw}");
    let span = 6..text.len();
    let value: toml::Table = toml::from_str(&text).expect("a TOML string");
    let value = value["key"].as_str().expect("a text").to_owned();
    parse(&text, &Spanned::new(span, value))
        .map_err(|diagnostic| (text[diagnostic.span.clone()].to_owned(), diagnostic.label))
}

#[test]
fn an_edge_has_all_its_parts() {
    let edge = read("\" a bigint->t.b unless -1 restrict \"", edge).expect("an edge");
    assert_eq!(edge.columns[0].name.get_ref(), "a");
    let kind = edge.columns[0].kind.clone();
    assert_eq!(kind.map(Spanned::into_inner).as_deref(), Some("bigint"));
    assert_eq!(
        (
            edge.table.get_ref().as_str(),
            edge.parent_columns[0].get_ref().as_str()
        ),
        ("t", "b")
    );
    assert_eq!(
        edge.none.map(Spanned::into_inner),
        Some(NoneText::Integer(-1))
    );
    assert_eq!(edge.action, ActionText::Restrict);
}

#[test]
fn a_link_may_lead_over_another_table() {
    let over = read("\"flow_run: parent_id -> task_run.flow_id\"", link).expect("a link");
    let between = over.over.map(Spanned::into_inner);
    assert_eq!(between.as_deref(), Some("task_run"));
    assert_eq!(over.parent.get_ref(), "parent_id");
    assert_eq!(over.child.get_ref(), "flow_id");
    assert!(read("\"a: b -> c\"", link).expect("a link").over.is_none());
    let mistake = read("\"a: b -> c.\"", link).map(|_| ());
    assert_eq!(mistake.expect_err("a mistake").1, "expected a column here");
}

#[test]
fn a_foreign_key_may_be_the_one_that_deletes() {
    let cascading = read("\"a, b -> t(c, d) cascade\"", edge).expect("an edge");
    assert_eq!(cascading.action, ActionText::Cascade);
    // A foreign key knows no value but NULL that names nothing.
    let mistake = read("\"a -> t.b unless 0 cascade\"", edge).expect_err("a mistake");
    assert_eq!(mistake.1, "expected the end here");
}

#[test]
fn an_edge_may_be_absent() {
    for raw in [
        "\"a -> t.b optional\"",
        "\"a bigint -> t.b unless 0 restrict optional\"",
        "\"a, b -> t(c, d) cascade optional\"",
        "\"a -> t.b set null optional\"",
        "\"id -> t.b or alone optional\"",
    ] {
        assert!(read(raw, edge).expect("an edge").optional, "{raw}");
    }
    assert!(
        !read("\"a -> t.b restrict\"", edge)
            .expect("an edge")
            .optional
    );
    let mistake = |raw: &str| read(raw, edge).map(|_| ()).expect_err("a mistake").1;
    assert_eq!(
        mistake("\"a -> t.b optional restrict\""),
        "expected the end here"
    );
    // What must exist for a row to be kept is no edge.
    let needed = read("\"a -> t.b optional\"", need).map(|_| ());
    assert_eq!(needed.expect_err("a mistake").1, "expected the end here");
}

#[test]
fn a_row_may_be_the_one_that_is_named() {
    let named = read("\"id -> t.blob_id or alone\"", edge).expect("an edge");
    assert!(named.alone && named.action == ActionText::Delete);
    assert_eq!(named.parent_columns[0].get_ref(), "blob_id");
    let mistake = |raw: &str| read(raw, edge).map(|_| ()).expect_err("a mistake").1;
    assert_eq!(mistake("\"id -> t.b or\""), "expected `alone` here");
    assert_eq!(mistake("\"id -> t.b alone\""), "expected the end here");
    assert_eq!(
        mistake("\"id -> t.b restrict or alone\""),
        "expected the end here"
    );
    assert_eq!(
        mistake("\"id, a -> t(b, c) or alone\""),
        "expected the end here"
    );
}

#[test]
fn an_edge_may_have_several_columns() {
    let edge = read("\"a varchar, b -> t(c, d) restrict\"", edge).expect("an edge");
    let names: Vec<&str> = edge
        .columns
        .iter()
        .map(|column| &column.name)
        .chain(&edge.parent_columns)
        .map(|name| name.get_ref().as_str())
        .collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!(edge.action, ActionText::Restrict);
    let mistake = |raw: &str| read(raw, super::edge).map(|_| ()).expect_err("a mistake").1;
    assert_eq!(mistake("\"a, b -> t(c)\""), "expected `,` here");
    assert_eq!(mistake("\"a, b -> t.c\""), "expected `(` here");
    assert_eq!(mistake("\"a -> t(c)\""), "expected `.` here");
    assert_eq!(
        mistake("\"a, b -> t(c, d) unless 0\""),
        "expected the end here"
    );
}

#[test]
fn an_end_may_be_that_of_other_rows() {
    let end = read("\"max(t.a timestamptz) else b\"", end_time).expect("an end time");
    let kind = end.column.kind.map(Spanned::into_inner);
    assert_eq!(kind.as_deref(), Some("timestamptz"));
    let names = [end.table, Some(end.column.name), end.otherwise];
    assert_eq!(
        names.map(|name| name.map(Spanned::into_inner)),
        ["t", "a", "b"].map(|name| Some(name.to_owned()))
    );
    // A column may have that name, too.
    let column = read("\"max timestamp\"", end_time).expect("an end time");
    assert_eq!(column.column.name.get_ref(), "max");
    let mistake = |raw: &str| read(raw, end_time).map(|_| ()).expect_err("a mistake").1;
    assert_eq!(mistake("\"max(a)\""), "expected `.` here");
    assert_eq!(mistake("\"max(t.a, b)\""), "expected `)` here");
    assert_eq!(mistake("\"min(t.a)\""), "expected the end here");
}

#[test]
fn a_need_names_rows_and_nothing_else() {
    let one = read("\"a -> t.b unless 0\"", need).expect("a need");
    assert_eq!(
        one.none.map(Spanned::into_inner),
        Some(NoneText::Integer(0))
    );
    let two = read("\"a, b -> t(c, d)\"", need).expect("a need");
    assert_eq!((two.columns.len(), two.parent_columns.len()), (2, 2));
    let mistake = |raw: &str| read(raw, need).map(|_| ()).expect_err("a mistake").1;
    assert_eq!(mistake("\"a bigint -> t.b\""), "expected `->` here");
    assert_eq!(mistake("\"a -> t.b restrict\""), "expected the end here");
}

#[test]
fn names_between_quotes_may_hold_anything() {
    let edge = read(r#"'"my ""column" varchar -> "my.table"."Id"'"#, edge).expect("an edge");
    assert_eq!(edge.columns[0].name.get_ref(), "my \"column");
    assert_eq!(edge.table.get_ref(), "my.table");
    assert_eq!(edge.parent_columns[0].get_ref(), "Id");
    let edge = read("\"a -> t.b unless 'it''s none'\"", super::edge).expect("an edge");
    assert_eq!(
        edge.none.map(Spanned::into_inner),
        Some(NoneText::Text("it's none".to_owned()))
    );
}

#[test]
fn keys_links_and_figures() {
    assert_eq!(read("\"a integer, b uuid\"", key).expect("a key").len(), 2);
    let link = read("\"r: up -> down\"", link).expect("a link");
    assert_eq!(
        (
            link.parent.get_ref().as_str(),
            link.child.get_ref().as_str()
        ),
        ("up", "down")
    );
    assert!(
        matches!(read("\"rows of t\"", figure), Ok(FigureText::RowsOf(table)) if table.get_ref() == "t")
    );
    assert!(
        matches!(read("\"families\"", figure), Ok(FigureText::Word(word)) if word.get_ref() == "families")
    );
}

#[test]
fn a_mistake_is_marked_at_its_word() {
    let mistake = |raw: &str| read(raw, edge).map(|_| ()).expect_err("a mistake");
    assert_eq!(
        mistake("\"a = t.b\""),
        ("t".to_owned(), "expected `->` here".to_owned())
    );
    assert_eq!(
        mistake("\"a -> t b\""),
        ("b".to_owned(), "expected `.` here".to_owned())
    );
    assert_eq!(mistake("\"a -> t.b unless x\"").0, "x");
    assert_eq!(
        mistake("\"a -> t.b c\""),
        ("c".to_owned(), "expected the end here".to_owned())
    );
    assert_eq!(
        mistake("\"a -> t\""),
        (String::new(), "expected `.` here".to_owned())
    );
    assert_eq!(mistake("'\"a -> t.b'").1, "no closing `\"`");
    assert_eq!(mistake("\"\"\"a ->\"\"\"").1, "expected a table here");
    // An escape moves everything after it; then the whole text is marked.
    assert_eq!(mistake(r#""a -> \u0074 b""#).0, r#""a -> \u0074 b""#);
}
