//! A spec drafted from what was found.

use std::fmt::Write as _;

use super::edges::{self, Edge, Family, Source, root_key};
use super::ends::{self, Ends, Numbers};
use super::rule;
use super::words::{bare, capital, kind, line, slug, small, string};
use crate::catalog::{Catalog, CatalogTable};
use crate::dialect::Dialect;
use crate::fit::kind_name;
use crate::graph::{Action, Kind};

/// The text of a spec, with what was found out as comments and what was not as questions (`# ?`).
///
/// # Errors
/// Why no spec can be written: a sentence about the root table.
pub fn write(
    catalog: &Catalog,
    family: &Family,
    ends: &Ends,
    oldest: Option<i64>,
) -> Result<String, String> {
    let root = &family.tables[0];
    let live = &catalog.tables[root];
    let Some(key) = root_key(catalog, live) else {
        return Err(keyless(root, live));
    };
    if !edges::is_known(catalog, live, key) {
        let printed = live.column(key).map_or("", |column| &column.kind);
        return Err(format!(
            "the key `{root}.{key}` is {printed}; windrow supports whole numbers, uuid, text and bytes as keys: give the table a unique index on \
             such a column that may not be NULL, and inspect it again"
        ));
    }
    let Some(end) = ends.time(catalog, live) else {
        return Err(timeless(catalog, root));
    };
    let mut text = String::new();
    head(&mut text, catalog, root);
    let _ = writeln!(text, "[tables]");
    for table in listed(family) {
        table_lines(&mut text, catalog, family, table);
    }
    let ignored: Vec<_> = family.ignored.iter().collect();
    if !ignored.is_empty() {
        let _ = writeln!(
            text,
            "\n# Left alone. Rows that belong to a family and are not listed above are left behind.\n[ignore]"
        );
        for (table, reason) in ignored {
            let _ = writeln!(text, "{} = {}", bare(table), string(reason));
        }
    }
    rule::write(&mut text, catalog, family, ends, end, oldest);
    let mut questions = family.questions.clone();
    if !edges::keys(live).any(|it| it == key) {
        questions.push(format!(
            "Does {key} alone tell the rows of {root} apart? The table is partitioned, so that its primary key is ({}).",
            live.primary_key.join(", ")
        ));
    }
    for table in listed(family).into_iter().skip(1) {
        let named = family.edges.iter().any(|edge| edge.parent == table);
        if let Some(key) = edges::key(catalog, table).filter(|_| named)
            && edges::may_be_null(&catalog.tables[table], key)
        {
            questions.push(format!(
                "Can {table}.{key} be NOT NULL? Rows without a key would stay, and windrow check refuses such a key."
            ));
        }
    }
    if !questions.is_empty() {
        let _ = writeln!(text, "\n# What the database does not say:");
        for question in &questions {
            let _ = writeln!(text, "# ? {}", line(question));
        }
    }
    Ok(text)
}

/// Why a table can be no root by its key, and what to do instead.
fn keyless(root: &str, live: &CatalogTable) -> String {
    let key = &live.primary_key;
    let add = "give it a unique index on a column that may not be NULL and alone tells its rows apart, and inspect it again";
    if key.is_empty() {
        return format!(
            "the table `{root}` has no primary key, and a family is named by a key of one column: {add}"
        );
    }
    let own = "the table `{root}` has a primary key of several columns, and a family is named by a key of one column";
    let own = own.replace("{root}", root);
    if live.referenced_by.is_empty() {
        let written: Vec<String> = key.iter().map(|name| small(name)).collect();
        return format!(
            "{own}: {add}. If no rows belong to its rows, these can also be deleted one by one, by a rule of the strategy `expiry` or \
             `keep-last`: write `key = {}`, each column with its type",
            line(&string(&written.join(", ")))
        );
    }
    format!("{own}: {add}")
}

/// Why nothing says how old a row is.
fn timeless(catalog: &Catalog, root: &str) -> String {
    let below = catalog.tables[root].referenced_by.iter();
    let mut below = below.filter_map(|key| {
        let name = key.table.strip_prefix(&format!("{}.", catalog.schema))?;
        let live = catalog.tables.get(name)?;
        let time = Ends::named(catalog, live, Numbers::new()).end?;
        root_key(catalog, live).map(|_| (name.to_owned(), time))
    });
    if let Some((table, time)) = below.next() {
        return format!(
            "the table `{root}` has no time column; `{table}`, whose rows refer to its rows, has `{time}`: run `windrow inspect --root {table}`"
        );
    }
    let numbers = ends::number_columns(catalog, &catalog.tables[root]);
    let numbers: Vec<String> = numbers.iter().map(|name| format!("`{name}`")).collect();
    let instead = match &numbers[..] {
        [] => "and nothing else shows how old a row is".to_owned(),
        named => format!(
            "and no number in {} is an instant between 2001 and 2096",
            named.join(", ")
        ),
    };
    format!("the table `{root}` has no time column, {instead}")
}

fn head(text: &mut String, catalog: &Catalog, root: &str) {
    let (title, place) = match catalog.dialect {
        Dialect::Postgres => ("postgres", "schema"),
        Dialect::Mysql => ("mysql", "database"),
        Dialect::Mariadb => ("mariadb", "database"),
    };
    let _ = write!(
        text,
        "# Drafted by `windrow inspect` for the table {root}. Read each line before you use it: guesses are marked,\n# and \
         so are questions that only you can answer (`# ?`). Nothing is deleted before you arm an installation, and with\n# \
         this retention not even then.\n\n\
         name      = {name}\n\
         dialects  = [{title}]\n\
         {place:<9} = {schema}\n\
         time_zone = \"UTC\"   # ? the time zone of times that the application writes without one\n\
         windows   = \"never\"   # no scheduled run works until you remove this line\n\n",
        name = string(&slug(catalog, root)),
        root = line(root),
        title = string(title),
        schema = string(&catalog.schema),
    );
}

/// The tables with edges, parents before their children, then those that only keep or outlive what they name.
fn listed(family: &Family) -> Vec<&str> {
    let mut listed: Vec<&str> = family.tables.iter().map(String::as_str).collect();
    for edge in &family.edges {
        if !listed.contains(&edge.table.as_str()) {
            listed.push(&edge.table);
        }
    }
    listed
}

fn table_lines(text: &mut String, catalog: &Catalog, family: &Family, table: &str) {
    let live = &catalog.tables[table];
    let mut fields = Vec::new();
    let mut unique = Vec::new();
    let named: Vec<&Vec<String>> = family
        .edges
        .iter()
        .filter(|edge| edge.parent == table)
        .map(|edge| &edge.named)
        .collect();
    let typed = |columns: &[String]| {
        let columns = columns.iter().map(|name| {
            format!(
                "{} {}",
                small(name),
                kind(catalog, live, name)
                    .map_or("varchar", |kind| kind_name(kind, catalog.dialect))
            )
        });
        columns.collect::<Vec<_>>().join(", ")
    };
    // Who names rows of a table names its key, or another one besides it.
    if family.tables[0] == table || !named.is_empty() {
        let key = match family.tables[0] == table {
            true => root_key(catalog, live),
            false => edges::key(catalog, table),
        };
        let key = key.map(|key| vec![key.clone()]);
        let key = key.as_ref();
        fields.extend(key.map(|key| format!("key = {}", string(&typed(key)))));
        // Without a key of one column, its rows are named by what they belong to.
        let others = named
            .into_iter()
            .filter(|columns| key.is_some_and(|key| key != *columns));
        for columns in others {
            let one = string(&typed(columns));
            if !unique.contains(&one) {
                unique.push(one);
            }
        }
    }
    if !unique.is_empty() {
        fields.push(format!("unique = [{}]", unique.join(", ")));
    }
    let (mut parents, mut indexed) = (Vec::new(), Vec::new());
    for edge in family.edges_of(table) {
        let _ = writeln!(text, "# {}", line(&told(edge)));
        parents.push(string(&edge_text(catalog, edge)));
        let columns = searched(catalog, family, edge);
        let named = string(&columns.join(", "));
        if leads(live, columns) && !indexed.contains(&named) {
            indexed.push(named);
        }
    }
    if !parents.is_empty() {
        fields.push(format!("parents = [{}]", parents.join(", ")));
    }
    if family
        .edges_of(table)
        .filter(|edge| edge.action == Action::Delete)
        .count()
        > 1
    {
        let _ = writeln!(
            text,
            "# ? A row is deleted when all of these are. With `with = \"any\"` it is deleted with the first of them."
        );
        fields.push("with = \"all\"".to_owned());
    }
    if !indexed.is_empty() {
        fields.push(format!("indexed = [{}]", indexed.join(", ")));
    }
    let _ = writeln!(text, "{} = {{ {} }}", bare(table), fields.join(", "));
}

/// The columns by which the rows of an edge are found: all, or where it names rows without a key of one column, the one that
/// says to which row both belong.
fn searched<'a>(catalog: &Catalog, family: &Family, edge: &'a Edge) -> &'a [String] {
    if edges::key(catalog, &edge.parent).is_some() {
        return &edge.columns;
    }
    let shared = |above: &Edge| {
        edge.named
            .iter()
            .position(|name| above.columns == [name.clone()])
    };
    match family.edges_of(&edge.parent).find_map(shared) {
        Some(at) => &edge.columns[at..=at],
        None => &edge.columns,
    }
}

/// Where an edge comes from, and why it is what it is.
fn told(edge: &Edge) -> String {
    let columns = edge.columns.join(", ");
    match (&edge.source, edge.action) {
        (
            Source::Guess {
                share,
                by_values,
                owner,
                pointer,
            },
            action,
        ) => {
            let none = share
                .none
                .as_ref()
                .map_or(String::new(), |none| format!("; `{none}` means none"));
            let by = if *by_values { "values" } else { "name" };
            let besides = match (owner, action) {
                (Some(owner), _) => format!(
                    " It belongs to {owner} by a foreign key, so it keeps the row that it refers to. Remove `restrict` if \
                     it is to be deleted, too."
                ),
                (None, _) if *pointer => (
                    " By its name it refers to one of many such rows and is no part of it, so it keeps that one. Remove \
                     `restrict` if it is to be deleted, too."
                ).to_owned(),
                (_, Action::Restrict) => {
                    " None of these has ended: the table seems to have rows only for live ones, and keeps them."
                        .to_owned()
                }
                _ if *by_values && share.found < share.values => {
                    " The others may refer to rows of other tables.".to_owned()
                }
                _ => String::new(),
            };
            format!(
                "? guessed by its {by}: {columns} -> {}. {}{none}.{besides}",
                edge.parent,
                capital(&share.told())
            )
        }
        (Source::Key(name, effect), action) => {
            let own = format!("{name}: on delete {effect}");
            match action {
                Action::Delete if effect.starts_with("set null") => format!(
                    "? {own}, but {columns} says more than that, and cannot be set to NULL. The row is deleted with the one that it refers to, \
                     or with the last of several."
                ),
                Action::Delete => format!("{own}."),
                Action::SetNull if effect == "set null" => {
                    format!("{own}. The row outlives the one that it refers to.")
                }
                Action::SetNull => format!(
                    "? {own}, and rows of {} are deleted with those of {}: {columns} is first set to NULL, in rows of other families, too.",
                    edge.parent, edge.table
                ),
                Action::Restrict if effect == "set null" => format!(
                    "? {own}, but {columns} says more than that, and cannot be set to NULL: the row keeps the one that it refers to. Remove \
                     `restrict` if it is to be deleted, too."
                ),
                Action::Restrict => format!(
                    "? {own}, and {columns} may be NULL, so a row can exist without its parent: it keeps the parent. Remove `restrict` if it \
                     is to be deleted, too."
                ),
            }
        }
    }
}

fn edge_text(catalog: &Catalog, edge: &Edge) -> String {
    let (child, parent) = (&catalog.tables[&edge.table], &catalog.tables[&edge.parent]);
    let pairs = || edge.columns.iter().zip(&edge.named);
    let mut text = if edge.columns.len() == 1 {
        let (column, named) = (&edge.columns[0], &edge.named[0]);
        let own = kind(catalog, child, column);
        let typed = match own {
            Some(own) if Some(own) != kind(catalog, parent, named) => {
                format!(" {}", kind_name(own, catalog.dialect))
            }
            _ => String::new(),
        };
        format!(
            "{}{typed} -> {}.{}",
            small(column),
            small(&edge.parent),
            small(named)
        )
    } else {
        let columns: Vec<String> = pairs().map(|(column, _)| small(column)).collect();
        let named: Vec<String> = pairs().map(|(_, named)| small(named)).collect();
        format!(
            "{} -> {}({})",
            columns.join(", "),
            small(&edge.parent),
            named.join(", ")
        )
    };
    if let Source::Guess { share, .. } = &edge.source
        && let Some(none) = &share.none
    {
        // Only a column of numbers has numbers: `0` in a text is a text.
        let own = kind(catalog, child, &edge.columns[0]);
        let typed = own.or_else(|| kind(catalog, parent, &edge.named[0]));
        let numbers = [Kind::Smallint, Kind::Integer, Kind::Bigint, Kind::Numeric];
        let value = if typed.is_some_and(|it| numbers.contains(&it)) {
            none.clone()
        } else {
            format!("'{none}'")
        };
        let _ = write!(text, " unless {value}");
    }
    text.push_str(match edge.action {
        Action::Delete => "",
        Action::Restrict => " restrict",
        Action::SetNull => " set null",
    });
    text
}

/// Whether an index for all rows leads with these columns, in any order.
fn leads(live: &CatalogTable, columns: &[String]) -> bool {
    live.indexes.iter().any(|index| {
        let first = index.leads().get(..columns.len()).unwrap_or_default();
        index.valid
            && index.ready
            && index.predicate.is_none()
            && !first.is_empty()
            && first.iter().all(|key| columns.contains(key))
    })
}
