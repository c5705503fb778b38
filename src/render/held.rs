//! How the row that a hold names is found, in any spelling of its key that the column reads.

use serde::Serialize;

use super::names::{key_spelled_out, table_name};
use crate::dialect::Dialect;
use crate::graph::{Column, Graph, Kind, Rule};

/// Of a key `p_key` and the row `i` of the root table that has it.
#[derive(Serialize)]
pub(super) struct HeldView {
    composite: bool,
    parts: Vec<PartView>,
    /// The key of row `i` as the holds and the ledger have it, and the key that was read where there is no such row.
    key: String,
    key_as_read: String,
    /// Whether row `i` has the key that was read.
    matches: String,
    /// MySQL and MariaDB: the columns of the key of row `i`, to make a work table like them, their names there, whether a
    /// text can be a key, its values in spelling `v_way`, and the number of the last spelling.
    read: String,
    names: String,
    readable: String,
    values: String,
    last_way: usize,
}

/// A column of the key, as a variable of PostgreSQL.
#[derive(Serialize)]
struct PartView {
    variable: String,
    /// The column's own type: it alone says what is the same value.
    kind: String,
    value: String,
}

pub(super) fn view(graph: &Graph, number: usize, rule: &Rule, dialect: Dialect) -> HeldView {
    let table = graph.table(rule.root);
    let composite = table.key.len() > 1;
    let list = |form: &dyn Fn(usize, &Column) -> String, between: &str| -> String {
        let parts: Vec<String> = table
            .key
            .iter()
            .enumerate()
            .map(|(index, column)| form(index, column))
            .collect();
        parts.join(between)
    };
    let variable = |index: usize| format!("v_key_{}_{}", number + 1, index + 1);
    let column = |column: &Column| format!("i.{}", dialect.ident(&column.name));
    // On PostgreSQL.
    let text = |values: String| match composite {
        true => format!("jsonb_build_array({values})::text"),
        false => format!("{values}::text"),
    };
    let value = |index: usize| match (dialect, composite) {
        (Dialect::Postgres, true) => format!("p_key::jsonb ->> {index}"),
        (_, true) => format!("JSON_UNQUOTE(JSON_EXTRACT(p_key, '$[{index}]'))"),
        (_, false) => "p_key".to_owned(),
    };
    HeldView {
        composite,
        parts: table
            .key
            .iter()
            .enumerate()
            .map(|(index, column)| PartView {
                variable: variable(index),
                kind: format!(
                    "{}.{}%TYPE",
                    table_name(graph, dialect, &table.name),
                    dialect.ident(&column.name)
                ),
                value: value(index),
            })
            .collect(),
        key: match dialect {
            Dialect::Postgres => text(list(&|_, it| column(it), ", ")),
            _ => key_spelled_out(table.key.iter().map(|it| (it.kind, column(it)))),
        },
        key_as_read: match dialect {
            Dialect::Postgres => text(list(&|index, _| variable(index), ", ")),
            _ => key_spelled_out(
                (1..)
                    .zip(&table.key)
                    .map(|(at, it)| (it.kind, format!("r.k{at}"))),
            ),
        },
        matches: match dialect {
            Dialect::Postgres => list(
                &|index, it| format!("{} = {}", column(it), variable(index)),
                " AND ",
            ),
            _ => list(
                &|index, it| format!("{} = r.k{}", column(it), index + 1),
                " AND ",
            ),
        },
        read: list(
            &|index, it| format!("{} AS k{}", column(it), index + 1),
            ", ",
        ),
        names: list(&|index, _| format!("k{}", index + 1), ", "),
        readable: list(
            &|index, it| format!("({}) REGEXP {}", value(index), readable(it.kind)),
            " AND ",
        ),
        values: list(&|index, it| spelled(it.kind, &value(index)), ", "),
        last_way: if table.key.iter().any(|column| column.kind == Kind::Uuid) {
            UUIDS.len()
        } else {
            0
        },
    }
}

/// What a text must look like to be read as a value of a kind on MySQL and MariaDB: these would take the number in front of
/// letters, too, and round fractions.
fn readable(kind: Kind) -> &'static str {
    match kind {
        Kind::Smallint | Kind::Integer | Kind::Bigint => "'^ *[+-]?[0-9]{1,40} *\\\\z'",
        Kind::Numeric => "'^ *[+-]?[0-9]{1,65} *\\\\z'",
        Kind::Uuid => "'^ *[{]?[0-9a-fA-F]{4}(-?[0-9a-fA-F]{4}){7}[}]? *\\\\z'",
        Kind::Bytea => {
            "'^ *((0[xX])?([0-9a-fA-F]{2})+|[{]?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}[}]?) *\\\\z'"
        }
        Kind::Varchar | Kind::Char | Kind::Timestamp | Kind::Timestamptz => "'.'",
    }
}

/// The other spellings of a uuid, which is a text in most tables: the digits with dashes and without, in both cases.
const UUIDS: [&str; 4] = [
    "LOWER({})",
    "UPPER({})",
    "LOWER({dashes})",
    "UPPER({dashes})",
];

/// A value of a key in the spelling `v_way`: 0 is the one that was given.
fn spelled(kind: Kind, text: &str) -> String {
    match kind {
        Kind::Smallint | Kind::Integer | Kind::Bigint => {
            format!("CAST(TRIM({text}) AS DECIMAL(41))")
        }
        Kind::Numeric => format!("CAST(TRIM({text}) AS DECIMAL(65))"),
        Kind::Uuid => {
            let digits = format!("REGEXP_REPLACE({text}, '[^0-9a-fA-F]', '')");
            let dashes = [21, 17, 13, 9].iter().fold(digits.clone(), |text, place| {
                format!("INSERT({text}, {place}, 0, '-')")
            });
            let ways: String = UUIDS
                .iter()
                .zip(1..)
                .map(|(form, way)| {
                    let form = form.replace("{dashes}", &dashes).replace("{}", &digits);
                    format!(" WHEN {way} THEN {form}")
                })
                .collect();
            format!("CASE v_way{ways} ELSE {text} END")
        }
        Kind::Bytea => format!("UNHEX(REGEXP_REPLACE({text}, '^ *0[xX]|[^0-9a-fA-F]', ''))"),
        Kind::Varchar | Kind::Char | Kind::Timestamp | Kind::Timestamptz => text.to_owned(),
    }
}
