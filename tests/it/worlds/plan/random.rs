//! Plans at random: tables with their columns and edges, families and rules of single rows.

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};

use super::{
    Action, Edge, Families, Hierarchy, Kept, Kind, Plan, Single, SingleRule, Source, Table,
};

/// Names that want quotes, words of SQL, and what the templates, their files or a client might take for their own.
const TABLES: [&str; 21] = [
    "order",
    "group",
    "line item",
    "Größe",
    "select",
    "step",
    "task_log",
    "Mixed",
    "rank",
    "interval",
    "values",
    "a-b",
    "user",
    "it's",
    "se;mi",
    "{{ name }}",
    "$wind$",
    "-- create",
    "tick`s",
    "100%",
    "as_long_as_a_name_of_postgresql_may_be_which_is_63_bytes_or_so",
];
const COLUMNS: [&str; 17] = [
    "id",
    "key",
    "from",
    "Parent",
    "end",
    "desc",
    "of what",
    "ref",
    "belongs_to",
    "über",
    "check",
    "condition",
    "a;b",
    "{% x %}",
    "c'd",
    "e`f",
    "$$",
];

impl Plan {
    pub(crate) fn random(seed: u64, random: &mut SmallRng) -> Self {
        let mut names = TABLES.to_vec();
        names.shuffle(random);
        let mut tables = Vec::new();
        let families = families(&mut tables, &mut names, random);
        // Without a draw: the other plans stay what they are.
        let unit = [1_000_000, 1_000, 1][usize::try_from(seed / 4 % 3).expect("a few")];
        let counted = match seed % 8 {
            1 | 3 => Kind::Number(unit),
            _ => Kind::Broken(unit),
        };
        if seed % 4 == 1 && families.otherwise.is_none() {
            tables[0].columns[families.ended].kind = counted;
        }
        if seed % 3 == 1 {
            let first = match families.hierarchy {
                Hierarchy::None | Hierarchy::Own(_) => 1,
                Hierarchy::Relation(..) | Hierarchy::Over(..) => 2,
            };
            keep_some(
                &mut tables,
                first,
                usize::try_from(seed / 3).expect("a few"),
            );
        }
        let mut unmanaged = Vec::new();
        let mut single = single(&mut tables, &mut unmanaged, &mut names, random);
        if let (3, Some(time)) = (seed % 4, single.what.counted()) {
            tables[single.table].columns[time].kind = counted;
        }
        single.raw = (seed % 5 == 2).then(|| tables[single.table].columns.len() - 1);
        if seed % 5 == 4 {
            for column in tables.iter_mut().flat_map(|table| &mut table.columns) {
                if matches!(column.kind, Kind::Small | Kind::Integer | Kind::Big) {
                    column.kind = Kind::Decimal;
                }
            }
        }
        Self {
            seed,
            tables,
            families,
            single,
            unmanaged,
            batch: random.random_range(1..6),
        }
    }
}

/// Lets some rows of a table stay when their parents go, where nothing below has another way to go.
fn keep_some(tables: &mut [Table], first: usize, choice: usize) {
    let goes = |edge: &&Edge| edge.action == Action::Delete;
    let fits = |at: &usize| {
        let mut below = vec![*at];
        for (child, table) in tables.iter().enumerate().skip(at + 1) {
            if table
                .edges
                .iter()
                .filter(goes)
                .any(|edge| below.contains(&edge.parent))
            {
                if table.has_several_parents() {
                    return false;
                }
                below.push(child);
            }
        }
        tables[*at].edges.iter().any(|edge| goes(&edge))
    };
    let fit: Vec<usize> = (first..tables.len()).filter(fits).collect();
    // Rather one with rows below it.
    let named = |at: &usize| {
        tables
            .iter()
            .any(|table| table.edges.iter().any(|edge| edge.parent == *at))
    };
    let parents: Vec<usize> = fit.iter().copied().filter(|at| named(at)).collect();
    let of = if parents.is_empty() { fit } else { parents };
    if of.is_empty() {
        return;
    }
    let table = &mut tables[of[choice % of.len()]];
    let columns = table.columns.iter();
    let note = columns
        .rev()
        .position(|column| column.name.starts_with("note"));
    let note = table.columns.len() - 1 - note.expect("each has one");
    let kept = [
        Kept::Texts(&["a", "it's", "back\\slash"]),
        Kept::Null,
        Kept::Texts(&["A"]),
        Kept::NotNull,
    ];
    table.kept = Some((note, kept[choice / 2 % kept.len()]));
    // What is kept no foreign key may touch.
    for edge in table
        .edges
        .iter_mut()
        .filter(|edge| edge.action == Action::Delete)
    {
        edge.key = None;
        edge.cascade = false;
    }
}

fn any<T: Copy>(of: &[T], random: &mut SmallRng) -> T {
    *of.choose(random).expect("there are some")
}

pub(super) fn name<'a>(names: &mut Vec<&'a str>) -> &'a str {
    names.pop().expect("enough names")
}

pub(super) fn columns(random: &mut SmallRng) -> Vec<&'static str> {
    let mut names = COLUMNS.to_vec();
    names.shuffle(random);
    names
}

pub(super) fn families(
    tables: &mut Vec<Table>,
    names: &mut Vec<&str>,
    random: &mut SmallRng,
) -> Families {
    let mut free = columns(random);
    let mut root = Table::new(name(names));
    let key_kind = any(
        &[
            Kind::Integer,
            Kind::Integer,
            Kind::Big,
            Kind::Varchar,
            Kind::Uuid,
        ],
        random,
    );
    let key = root.add(name(&mut free), key_kind, false);
    root.key = vec![key];
    add_unique(&mut root, &mut free, 0.4, random);
    let candidates = random
        .random_bool(0.5)
        .then(|| root.add("kind", Kind::Integer, true));
    let state_kind = any(&[Kind::Integer, Kind::Varchar], random);
    let state = root.add("state", state_kind, true);
    let time_kind = any(&[Kind::Time, Kind::Instant], random);
    let ended = root.add("ended at", time_kind, true);
    let otherwise = random
        .random_bool(0.25)
        .then(|| root.add("touched", time_kind, true));
    let source = match random.random_range(0..5) {
        0 => Source::Constant,
        1 => Source::Policies { opt_in: true },
        2 => Source::Policies { opt_in: false },
        3 => Source::Definitions,
        _ => Source::Values(vec![(1, 10), (2, 40), (3, 8)]),
    };
    let scope = (source != Source::Constant).then(|| root.add("scope", Kind::Big, true));
    let needs_no_default = matches!(source, Source::Definitions | Source::Values(_));
    let default =
        (!needs_no_default || random.random_bool(0.5)).then(|| random.random_range(7..40));
    let own = random.random_bool(0.3).then(|| {
        let above = root.add("above", key_kind, true);
        if random.random_bool(0.5) {
            root.edges.push(Edge {
                columns: vec![above],
                parent: 0,
                parent_columns: vec![key],
                action: Action::Delete,
                zero: false,
                key: Some(any(&["NO ACTION", "CASCADE"], random)),
                cascade: false,
            });
        }
        Hierarchy::Own(above)
    });
    let note = root.add("note", Kind::Varchar, true);
    let raw = random.random_bool(0.15).then_some(note);
    tables.push(root);
    let hierarchy = match own {
        Some(own) => own,
        None if random.random_bool(0.4) => relation(tables, names, random),
        None if random.random_bool(0.4) => over(tables, names, random),
        None => Hierarchy::None,
    };
    for _ in 0..random.random_range(1..=5) {
        let child = child(tables, names, random);
        tables.push(child);
    }
    Families {
        hierarchy,
        candidates,
        state,
        raw,
        ended,
        otherwise,
        scope,
        source,
        default,
        minimum: random.random_range(1..8),
        lag: random.random_range(1..30),
    }
}

fn add_unique(table: &mut Table, free: &mut Vec<&str>, chance: f64, random: &mut SmallRng) {
    if random.random_bool(chance) {
        let first = table.add(name(free), Kind::Varchar, false);
        let second = table.add(name(free), Kind::Integer, false);
        table.unique = Some([first, second]);
    }
}

fn relation(tables: &mut Vec<Table>, names: &mut Vec<&str>, random: &mut SmallRng) -> Hierarchy {
    let mut table = Table::new(name(names));
    let key = tables[0].key[0];
    let root_kind = tables[0].at(key).kind;
    let ends = ["upper", "lower"].map(|end| {
        let wide = root_kind == Kind::Integer && random.random_bool(0.3);
        let kind = if wide { Kind::Big } else { root_kind };
        let column = table.add(end, kind, true);
        table.edges.push(Edge {
            columns: vec![column],
            parent: 0,
            parent_columns: vec![key],
            action: Action::Delete,
            zero: false,
            key: (!wide && random.random_bool(0.4))
                .then(|| any(&["NO ACTION", "CASCADE", "SET NULL"], random)),
            cascade: random.random_bool(0.5),
        });
        column
    });
    table.with_all = random.random_bool(0.5);
    tables.push(table);
    Hierarchy::Relation(1, ends[0], ends[1])
}

/// A table between a row and the one above it.
fn over(tables: &mut Vec<Table>, names: &mut Vec<&str>, random: &mut SmallRng) -> Hierarchy {
    let mut free = columns(random);
    let mut table = Table::new(name(names));
    let kinds = [
        Kind::Small,
        Kind::Integer,
        Kind::Big,
        Kind::Varchar,
        Kind::Uuid,
    ];
    let kind = any(&kinds, random);
    let key = table.add(name(&mut free), kind, false);
    table.key = vec![key];
    add_unique(&mut table, &mut free, 0.25, random);
    let root_key = tables[0].key[0];
    let root_kind = tables[0].at(root_key).kind;
    for at in 0..if random.random_bool(0.2) { 2 } else { 1 } {
        let wide = root_kind == Kind::Integer && random.random_bool(0.3);
        let column = ["belongs to", "besides"][at];
        let column = table.add(column, if wide { Kind::Big } else { root_kind }, true);
        table.edges.push(Edge {
            columns: vec![column],
            parent: 0,
            parent_columns: vec![root_key],
            action: Action::Delete,
            zero: false,
            key: (!wide && random.random_bool(0.4))
                .then(|| any(&["NO ACTION", "CASCADE", "SET NULL"], random)),
            cascade: random.random_bool(0.5),
        });
    }
    // A row that went with one of several would take the link between the others with it.
    table.with_all = true;
    table.add("note", Kind::Varchar, true);
    let root = &mut tables[0];
    let above = root.add("above", kind, true);
    // Without a foreign key nothing needs to be set to NULL.
    if random.random_bool(0.7) {
        root.edges.push(Edge {
            columns: vec![above],
            parent: 1,
            parent_columns: vec![key],
            action: Action::SetNull,
            zero: false,
            key: random
                .random_bool(0.6)
                .then(|| any(&["NO ACTION", "SET NULL"], random)),
            cascade: false,
        });
    }
    let names = table.edges[0].columns[0];
    tables.push(table);
    Hierarchy::Over(above, names)
}

fn child(tables: &[Table], names: &mut Vec<&str>, random: &mut SmallRng) -> Table {
    let mut free = columns(random);
    let mut table = Table::new(name(names));
    let kind = random.random_range(0..10);
    let actions: &[Action] = match kind {
        0 => &[Action::Restrict],
        1 | 2 => &[Action::SetNull],
        _ => &[Action::Delete, Action::Delete, Action::SetNull],
    };
    let goes = kind > 2;
    if goes && random.random_bool(0.7) {
        let kind = any(
            &[
                Kind::Small,
                Kind::Integer,
                Kind::Big,
                Kind::Varchar,
                Kind::Uuid,
            ],
            random,
        );
        let key = table.add(name(&mut free), kind, false);
        table.key = vec![key];
    }
    if goes {
        add_unique(&mut table, &mut free, 0.25, random);
    }
    // A row that stays, or whose place is only known by a link, is no parent here.
    let parents: Vec<usize> = (0..tables.len())
        .filter(|at| !tables[*at].key.is_empty())
        .collect();
    let first = actions[0];
    let count = random.random_range(1..=2);
    for number in 0..count {
        let action = if number == 0 {
            first
        } else {
            any(actions, random)
        };
        let parent = any(&parents, random);
        let edge = edge(&mut table, tables, parent, action, &mut free, random);
        table.edges.push(edge);
    }
    table.with_all = random.random_bool(0.6);
    table.add("note", Kind::Varchar, true);
    table
}

pub(super) fn edge(
    table: &mut Table,
    tables: &[Table],
    parent: usize,
    action: Action,
    free: &mut Vec<&str>,
    random: &mut SmallRng,
) -> Edge {
    let above = &tables[parent];
    let pair = above.unique.filter(|_| random.random_bool(0.5));
    let nullable = action != Action::Delete || random.random_bool(0.7);
    let (parent_columns, widened) = match pair {
        Some(pair) => (pair.to_vec(), false),
        None => (above.key.clone(), random.random_bool(0.2)),
    };
    let mut same = true;
    let mut columns = Vec::new();
    for column in &parent_columns {
        let kind = above.at(*column).kind;
        let wide = widened && matches!(kind, Kind::Small | Kind::Integer);
        same &= !wide;
        columns.push(table.add(name(free), if wide { Kind::Big } else { kind }, nullable));
    }
    let whole = matches!(
        above.at(parent_columns[0]).kind,
        Kind::Small | Kind::Integer | Kind::Big
    );
    let zero = columns.len() == 1 && whole && action == Action::Delete && random.random_bool(0.2);
    let on_delete: &[&'static str] = match action {
        Action::Delete if nullable => &["CASCADE", "NO ACTION", "SET NULL"],
        // What comes to keep a row that nobody has locked must be refused by its key.
        Action::Restrict if parent > 0 => &["NO ACTION"],
        Action::Delete | Action::Restrict => &["CASCADE", "NO ACTION"],
        Action::SetNull => &["NO ACTION", "SET NULL"],
    };
    let key = (same && !zero && random.random_bool(0.4)).then(|| any(on_delete, random));
    Edge {
        columns,
        parent,
        parent_columns,
        action,
        zero,
        key,
        cascade: action == Action::Delete && !zero && random.random_bool(0.5),
    }
}

pub(super) fn single(
    tables: &mut Vec<Table>,
    unmanaged: &mut Vec<usize>,
    names: &mut Vec<&str>,
    random: &mut SmallRng,
) -> SingleRule {
    let mut free = columns(random);
    let mut table = Table::new(name(names));
    let time_kind = any(&[Kind::Time, Kind::Instant], random);
    let whole = random.random_range(0..4);
    // Among equals the key decides, and texts are ordered in many ways.
    let kinds: &[Kind] = match whole {
        2 => &[Kind::Integer, Kind::Big],
        _ => &[Kind::Integer, Kind::Big, Kind::Varchar, Kind::Uuid],
    };
    let key = table.add(name(&mut free), any(kinds, random), false);
    table.key = vec![key];
    // A rule by age goes by a key of one column.
    if ![0, 2].contains(&whole) && random.random_bool(0.4) {
        let second = table.add(name(&mut free), Kind::Integer, false);
        table.key.push(second);
    }
    let candidates = random
        .random_bool(0.4)
        .then(|| table.add("kind", Kind::Integer, true));
    let what = match whole {
        0 => Single::Age {
            time: table.add("at", time_kind, true),
        },
        1 => Single::Expiry {
            time: table.add("until", time_kind, true),
            fallback: random
                .random_bool(0.5)
                .then(|| table.add("touched", time_kind, true)),
        },
        2 => {
            let mut per = vec![table.add("of", any(&[Kind::Integer, Kind::Varchar], random), true)];
            if random.random_bool(0.4) {
                per.push(table.add("part", Kind::Integer, true));
            }
            Single::KeepLast {
                newest: random.random_range(1..4),
                per,
                by: table.add("number", Kind::Integer, true),
                time: random
                    .random_bool(0.5)
                    .then(|| table.add("at", time_kind, true)),
            }
        }
        _ => {
            let mut target = Table::new(name(names));
            let kind = any(&[Kind::Integer, Kind::Big, Kind::Varchar], random);
            let key = target.add(name(&mut free), kind, false);
            target.key = vec![key];
            tables.push(target);
            unmanaged.push(tables.len() - 1);
            Single::Orphan {
                column: table.add("names", kind, true),
                target: tables.len() - 1,
                time: random
                    .random_bool(0.5)
                    .then(|| table.add("at", time_kind, true)),
            }
        }
    };
    table.add("note", Kind::Varchar, true);
    tables.push(table);
    SingleRule {
        table: tables.len() - 1,
        what,
        candidates,
        raw: None,
        days: random.random_range(7..40),
        minimum: random.random_range(1..8),
        lag: random.random_range(1..30),
    }
}
