//! Random specs with schemas that fit them.

use std::fmt::Write as _;

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use windrow::dialect::{DIALECTS, Dialect};

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

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Small,
    Integer,
    Big,
    Varchar,
    Uuid,
    Time,
    Instant,
}

impl Kind {
    /// As a spec writes it.
    fn spec(self) -> &'static str {
        match self {
            Self::Small => "smallint",
            Self::Integer => "integer",
            Self::Big => "bigint",
            Self::Varchar => "varchar",
            Self::Uuid => "uuid",
            Self::Time => "timestamp",
            Self::Instant => "timestamptz",
        }
    }

    fn sql(self, dialect: Dialect) -> &'static str {
        match (dialect, self) {
            (_, Self::Small) => "smallint",
            (_, Self::Integer) => "integer",
            (_, Self::Big) => "bigint",
            (_, Self::Varchar) => "varchar(60)",
            (Dialect::Postgres, Self::Uuid) => "uuid",
            (_, Self::Uuid) => "char(36)",
            (Dialect::Postgres, Self::Time) => "timestamp",
            (_, Self::Time) => "datetime(6)",
            (Dialect::Postgres, Self::Instant) => "timestamptz",
            (_, Self::Instant) => "timestamp(6)",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
}

/// What becomes of a row whose parent goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Delete,
    SetNull,
    Restrict,
}

#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) columns: Vec<usize>,
    pub(crate) parent: usize,
    pub(crate) parent_columns: Vec<usize>,
    pub(crate) action: Action,
    /// Whether 0 means "no parent".
    pub(crate) zero: bool,
    /// ON DELETE of the foreign key, if there is one.
    pub(crate) key: Option<&'static str>,
    /// Whether the spec leaves its rows to a foreign key, whatever that does.
    pub(crate) cascade: bool,
}

/// A table. Its first column tells its rows apart, and the spec knows nothing of it.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) key: Vec<usize>,
    pub(crate) unique: Option<[usize; 2]>,
    pub(crate) edges: Vec<Edge>,
    /// Whether a row of several parents goes with all of them, and not with any.
    pub(crate) with_all: bool,
}

impl Table {
    fn new(name: &str) -> Self {
        let mut table = Self {
            name: name.to_owned(),
            columns: Vec::new(),
            key: Vec::new(),
            unique: None,
            edges: Vec::new(),
            with_all: false,
        };
        table.add("no", Kind::Integer, false);
        table
    }

    fn add(&mut self, name: &str, kind: Kind, nullable: bool) -> usize {
        let mut name = name.to_owned();
        while self.columns.iter().any(|column| column.name == name) {
            name.push('2');
        }
        self.columns.push(Column {
            name,
            kind,
            nullable,
        });
        self.columns.len() - 1
    }

    pub(crate) fn has_several_parents(&self) -> bool {
        let parents = self.edges.iter();
        parents.filter(|edge| edge.action == Action::Delete).count() > 1
    }

    pub(crate) fn at(&self, column: usize) -> &Column {
        &self.columns[column]
    }
}

/// How the members of a family are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hierarchy {
    None,
    /// A column of the root table names the row above.
    Own(usize),
    /// A table, and its columns for the upper and the lower member.
    Relation(usize, usize, usize),
}

/// Where a retention is written, beside the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Constant,
    Policies { opt_in: bool },
    Definitions,
    Values(Vec<(i64, i64)>),
}

/// The rule by end time, whose root is the first table.
#[derive(Clone, Debug)]
pub(crate) struct Families {
    pub(crate) hierarchy: Hierarchy,
    /// A column that is 1 in roots.
    pub(crate) candidates: Option<usize>,
    pub(crate) state: usize,
    pub(crate) ended: usize,
    /// The column that stands in where that one is NULL.
    pub(crate) otherwise: Option<usize>,
    pub(crate) scope: Option<usize>,
    pub(crate) source: Source,
    /// Days; without it, what nothing is said of stays.
    pub(crate) default: Option<i64>,
    pub(crate) minimum: i64,
    /// Hours.
    pub(crate) lag: i64,
}

/// A rule of single rows.
#[derive(Clone, Debug)]
pub(crate) enum Single {
    Age {
        time: usize,
    },
    Expiry {
        time: usize,
        fallback: Option<usize>,
    },
    KeepLast {
        newest: usize,
        per: Vec<usize>,
        by: usize,
        time: Option<usize>,
    },
    /// Rows of the last table that `column` names nothing in; with `time`, only old ones.
    Orphan {
        column: usize,
        target: usize,
        time: Option<usize>,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct SingleRule {
    pub(crate) table: usize,
    pub(crate) what: Single,
    /// A column that is 1 or 2 in rows that the rule is about.
    pub(crate) candidates: Option<usize>,
    pub(crate) days: i64,
    pub(crate) minimum: i64,
    pub(crate) lag: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) tables: Vec<Table>,
    pub(crate) families: Families,
    pub(crate) single: SingleRule,
    /// Tables that only the application knows: what an orphan names.
    pub(crate) unmanaged: Vec<usize>,
    pub(crate) batch: i64,
}

/// The table of definitions, where there is one: its key and its days.
pub(crate) const DEFINITIONS: &str = "definition";

impl Plan {
    pub(crate) fn random(seed: u64, random: &mut SmallRng) -> Self {
        let mut names = TABLES.to_vec();
        names.shuffle(random);
        let mut tables = Vec::new();
        let families = families(&mut tables, &mut names, random);
        let mut unmanaged = Vec::new();
        let single = single(&mut tables, &mut unmanaged, &mut names, random);
        Self {
            seed,
            tables,
            families,
            single,
            unmanaged,
            batch: random.random_range(1..6),
        }
    }

    /// Whether the table says which members are linked.
    pub(crate) fn is_link(&self, table: usize) -> bool {
        matches!(self.families.hierarchy, Hierarchy::Relation(at, ..) if at == table)
    }

    /// MariaDB has no index for a time with another one in its place.
    pub(crate) fn servers(&self) -> &'static [Dialect] {
        match self.families.otherwise {
            Some(_) => &[Dialect::Postgres, Dialect::Mysql],
            None => DIALECTS,
        }
    }

    pub(crate) fn spec(&self) -> String {
        let mut spec = format!("name = \"worlds\"\ntitle = \"seed {}\"\n", self.seed);
        if !self.servers().contains(&Dialect::Mariadb) {
            spec += "dialects = [\"postgres\", \"mysql\"]\n";
        }
        spec += "\n[tables]\n";
        for (at, table) in self.tables.iter().enumerate() {
            if self.unmanaged.contains(&at) {
                continue;
            }
            let mut parts = Vec::new();
            let typed = |columns: &[usize]| {
                let each = columns.iter().map(|column| {
                    let column = table.at(*column);
                    format!("{} {}", quoted(&column.name), column.kind.spec())
                });
                each.collect::<Vec<_>>().join(", ")
            };
            if !table.key.is_empty() {
                parts.push(format!("key = '''{}'''", typed(&table.key)));
            }
            if let Some(unique) = table.unique {
                parts.push(format!("unique = ['''{}''']", typed(&unique)));
            }
            let edges: Vec<String> = table
                .edges
                .iter()
                .map(|edge| self.edge(table, edge))
                .collect();
            // What the root table has is the foreign key of its hierarchy.
            if at > 0 && !edges.is_empty() {
                parts.push(format!("parents = [{}]", edges.join(", ")));
            }
            if table.has_several_parents() {
                let with = if table.with_all { "all" } else { "any" };
                parts.push(format!("with = \"{with}\""));
            }
            let _ = writeln!(spec, "{} = {{ {} }}", toml(&table.name), parts.join(", "));
        }
        spec + &self.families_spec() + &self.single_spec()
    }

    fn edge(&self, table: &Table, edge: &Edge) -> String {
        let parent = &self.tables[edge.parent];
        let action = match edge.action {
            Action::Delete if edge.cascade => " cascade",
            Action::Delete => "",
            Action::SetNull => " set null",
            Action::Restrict => " restrict",
        };
        let zero = if edge.zero { " unless 0" } else { "" };
        let names = |table: &Table, columns: &[usize]| {
            let each = columns.iter().map(|column| quoted(&table.at(*column).name));
            each.collect::<Vec<_>>().join(", ")
        };
        if let ([column], [key]) = (&edge.columns[..], &edge.parent_columns[..]) {
            let column = table.at(*column);
            return format!(
                "'''{} {} -> {}.{}{zero}{action}'''",
                quoted(&column.name),
                column.kind.spec(),
                quoted(&parent.name),
                quoted(&parent.at(*key).name)
            );
        }
        format!(
            "'''{} -> {}({}){action}'''",
            names(table, &edge.columns),
            quoted(&parent.name),
            names(parent, &edge.parent_columns)
        )
    }

    fn families_spec(&self) -> String {
        let root = &self.tables[0];
        let rule = &self.families;
        let column = |at: usize| quoted(&root.at(at).name);
        let mut spec = format!(
            "\n[rules.families]\nstrategy = \"end-time\"\nroot = {}\n",
            toml(&root.name)
        );
        if let Some(candidates) = rule.candidates {
            let _ = writeln!(
                spec,
                "candidates = {{ {} = 1 }}",
                toml(&root.at(candidates).name)
            );
        }
        let states = match root.at(rule.state).kind {
            Kind::Varchar => "[\"done\", \"failed\"]",
            _ => "[3, 5]",
        };
        let _ = writeln!(
            spec,
            "final = {{ {} = {states} }}",
            toml(&root.at(rule.state).name)
        );
        let otherwise = rule.otherwise.map(|at| format!(" else {}", column(at)));
        let _ = writeln!(
            spec,
            "end_time = '''{} {}{}'''",
            column(rule.ended),
            root.at(rule.ended).kind.spec(),
            otherwise.unwrap_or_default()
        );
        match rule.hierarchy {
            Hierarchy::None => {}
            Hierarchy::Own(above) => {
                let _ = writeln!(
                    spec,
                    "hierarchy = ['''{}: {} -> {}''']",
                    quoted(&root.name),
                    column(above),
                    column(root.key[0])
                );
            }
            Hierarchy::Relation(table, upper, lower) => {
                let table = &self.tables[table];
                let _ = writeln!(
                    spec,
                    "hierarchy = ['''{}: {} -> {}''']",
                    quoted(&table.name),
                    quoted(&table.at(upper).name),
                    quoted(&table.at(lower).name)
                );
            }
        }
        let mut retention = vec![
            format!("minimum = \"{}d\"", rule.minimum),
            format!("safety_lag = \"{}h\"", rule.lag),
        ];
        retention.extend(rule.default.map(|days| format!("default = \"{days}d\"")));
        if let Some(scope) = rule.scope {
            retention.push(format!(
                "per = '''{} {}'''",
                column(scope),
                root.at(scope).kind.spec()
            ));
        }
        match &rule.source {
            Source::Constant => {}
            Source::Policies { opt_in } => retention.push(format!("opt_in = {opt_in}")),
            Source::Definitions => {
                retention.push(format!("from = \"{DEFINITIONS}: code -> days days\""))
            }
            Source::Values(values) => {
                let each = values
                    .iter()
                    .map(|(value, days)| format!("\"{value}\" = \"P{days}D\""));
                retention.push(format!(
                    "by_value = {{ {} }}",
                    each.collect::<Vec<_>>().join(", ")
                ));
            }
        }
        let _ = writeln!(spec, "retention = {{ {} }}", retention.join(", "));
        let _ = writeln!(spec, "limits = {{ batch_families = {} }}", self.batch);
        spec
    }

    fn single_spec(&self) -> String {
        let rule = &self.single;
        let table = &self.tables[rule.table];
        let typed = |at: usize| {
            let column = table.at(at);
            format!("{} {}", quoted(&column.name), column.kind.spec())
        };
        let retention = format!(
            "{{ default = \"{}d\", minimum = \"{}d\", safety_lag = \"{}h\" }}",
            rule.days, rule.minimum, rule.lag
        );
        let mut spec = format!("\n[rules.single]\nroot = {}\n", toml(&table.name));
        if let Some(candidates) = rule.candidates {
            let _ = writeln!(
                spec,
                "candidates = {{ {} = [1, 2] }}",
                toml(&table.at(candidates).name)
            );
        }
        let timed = |spec: &mut String, time: usize| {
            let _ = writeln!(
                spec,
                "time = '''{}'''\nretention = {retention}",
                typed(time)
            );
        };
        match &rule.what {
            Single::Age { time } => {
                spec += "strategy = \"age\"\n";
                timed(&mut spec, *time);
            }
            Single::Expiry { time, fallback } => {
                let _ = writeln!(spec, "strategy = \"expiry\"\ntime = '''{}'''", typed(*time));
                if let Some(fallback) = fallback {
                    let _ = writeln!(
                        spec,
                        "fallback = {{ time = '''{}''', retention = {retention} }}",
                        typed(*fallback)
                    );
                }
            }
            Single::KeepLast {
                newest,
                per,
                by,
                time,
            } => {
                let per: Vec<String> = per
                    .iter()
                    .map(|at| format!("'''{}'''", typed(*at)))
                    .collect();
                let _ = writeln!(
                    spec,
                    "strategy = \"keep-last\"\nkeep = {{ newest = {newest}, per = [{}], by = '''{}''' }}",
                    per.join(", "),
                    typed(*by)
                );
                if let Some(time) = time {
                    timed(&mut spec, *time);
                }
            }
            Single::Orphan {
                column,
                target,
                time,
            } => {
                let target = &self.tables[*target];
                let _ = writeln!(
                    spec,
                    "strategy = \"orphan\"\nneeds = ['''{} -> {}.{}''']",
                    quoted(&table.at(*column).name),
                    quoted(&target.name),
                    quoted(&target.at(target.key[0]).name)
                );
                match time {
                    Some(time) => timed(&mut spec, *time),
                    None => spec += "at_once = true\n",
                }
            }
        }
        let _ = writeln!(spec, "limits = {{ batch_rows = {} }}", self.batch);
        spec
    }

    /// The tables of the application, parents first.
    pub(crate) fn schema(&self, dialect: Dialect) -> String {
        let mut schema = String::new();
        for (at, table) in self.tables.iter().enumerate() {
            let mut parts = Vec::new();
            let names = |table: &Table, columns: &[usize]| {
                let each = columns.iter().map(|at| dialect.ident(&table.at(*at).name));
                each.collect::<Vec<_>>().join(", ")
            };
            for column in &table.columns {
                // The first timestamp of a table is never NULL on MariaDB unless that is said.
                let null = if column.nullable { "NULL" } else { "NOT NULL" };
                parts.push(format!(
                    "{} {} {null}",
                    dialect.ident(&column.name),
                    column.kind.sql(dialect)
                ));
            }
            let primary = if table.key.is_empty() {
                &[0][..]
            } else {
                &table.key
            };
            parts.push(format!("PRIMARY KEY ({})", names(table, primary)));
            if let Some(unique) = table.unique {
                parts.push(format!("UNIQUE ({})", names(table, &unique)));
            }
            for (place, edge) in table.edges.iter().enumerate() {
                if let Some(on_delete) = edge.key {
                    let parent = &self.tables[edge.parent];
                    parts.push(format!(
                        "CONSTRAINT fk_{at}_{place} FOREIGN KEY ({}) REFERENCES {} ({}) ON DELETE {on_delete}",
                        names(table, &edge.columns),
                        dialect.ident(&parent.name),
                        names(parent, &edge.parent_columns)
                    ));
                }
            }
            // Texts are equal where their bytes are.
            let options = match dialect {
                Dialect::Postgres => "",
                Dialect::Mysql | Dialect::Mariadb => " DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin",
            };
            let _ = writeln!(
                schema,
                "CREATE TABLE {} ({}){options};",
                dialect.ident(&table.name),
                parts.join(", ")
            );
        }
        if self.families.source == Source::Definitions {
            let _ = writeln!(
                schema,
                "CREATE TABLE {DEFINITIONS} (code bigint PRIMARY KEY, days integer);"
            );
        }
        schema
    }
}

fn any<T: Copy>(of: &[T], random: &mut SmallRng) -> T {
    *of.choose(random).expect("there are some")
}

fn name<'a>(names: &mut Vec<&'a str>) -> &'a str {
    names.pop().expect("enough names")
}

fn columns(random: &mut SmallRng) -> Vec<&'static str> {
    let mut names = COLUMNS.to_vec();
    names.shuffle(random);
    names
}

fn families(tables: &mut Vec<Table>, names: &mut Vec<&str>, random: &mut SmallRng) -> Families {
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
    root.add("note", Kind::Varchar, true);
    tables.push(root);
    let hierarchy = match own {
        Some(own) => own,
        None if random.random_bool(0.4) => relation(tables, names, random),
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

fn edge(
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

fn single(
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
        days: random.random_range(7..40),
        minimum: random.random_range(1..8),
        lag: random.random_range(1..30),
    }
}

/// A name as the little languages of a spec take it.
fn quoted(name: &str) -> String {
    let plain = name.starts_with(|sign: char| sign.is_ascii_lowercase())
        && name
            .chars()
            .all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_');
    if plain {
        name.to_owned()
    } else {
        format!("\"{name}\"")
    }
}

/// A name as TOML takes it.
fn toml(name: &str) -> String {
    format!("{name:?}")
}
