//! The spec of a plan, as TOML.

use std::fmt::Write as _;

use windrow::dialect::{DIALECTS, Dialect};

use super::{Action, DEFINITIONS, Edge, Hierarchy, Kept, Kind, Plan, Single, Source, Table};

impl Kind {
    /// As a spec writes it.
    fn spec(self) -> &'static str {
        match self {
            Self::Small => "smallint",
            Self::Integer => "integer",
            Self::Big => "bigint",
            Self::Decimal => "numeric",
            Self::Varchar => "varchar",
            Self::Uuid => "uuid",
            Self::Time => "timestamp",
            Self::Instant => "timestamptz",
            Self::Number(1) | Self::Broken(1) => "epoch-us",
            Self::Number(1_000) | Self::Broken(1_000) => "epoch-ms",
            Self::Number(_) | Self::Broken(_) => "epoch-s",
        }
    }
}

impl Plan {
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
            // What the root table has is the foreign key of its hierarchy.
            let edges = table.edges.iter();
            let edges: Vec<String> = edges
                .filter(|edge| at > 0 || edge.action == Action::SetNull)
                .map(|edge| self.edge(table, edge))
                .collect();
            if !edges.is_empty() {
                parts.push(format!("parents = [{}]", edges.join(", ")));
            }
            if table.has_several_parents() {
                let with = if table.with_all { "all" } else { "any" };
                parts.push(format!("with = \"{with}\""));
            }
            if let Some((column, kept)) = table.kept {
                let kept = match kept {
                    Kept::Texts(texts) => format!("{texts:?}"),
                    Kept::Null => "{ null = true }".to_owned(),
                    Kept::NotNull => "{ null = false }".to_owned(),
                };
                parts.push(format!(
                    "kept = {{ {} = {kept} }}",
                    toml(&table.at(column).name)
                ));
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

    fn hierarchy_spec(&self) -> String {
        let root = &self.tables[0];
        let column = |table: &Table, at: usize| quoted(&table.at(at).name);
        let (table, above, below) = match self.families.hierarchy {
            Hierarchy::None => return String::new(),
            Hierarchy::Own(above) => (root, above, column(root, root.key[0])),
            Hierarchy::Relation(table, upper, lower) => {
                let table = &self.tables[table];
                (table, upper, column(table, lower))
            }
            Hierarchy::Over(above, names) => {
                let over = &self.tables[1];
                let below = format!("{}.{}", quoted(&over.name), column(over, names));
                (root, above, below)
            }
        };
        format!(
            "hierarchy = ['''{}: {} -> {below}''']\n",
            quoted(&table.name),
            column(table, above)
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
        if let Some(raw) = rule.raw {
            let _ = writeln!(
                spec,
                "where_sql = \"{{root}}.{} <> 'a'\"",
                root.at(raw).name
            );
        }
        let otherwise = rule.otherwise.map(|at| format!(" else {}", column(at)));
        let _ = writeln!(
            spec,
            "end_time = '''{} {}{}'''",
            column(rule.ended),
            root.at(rule.ended).kind.spec(),
            otherwise.unwrap_or_default()
        );
        spec += &self.hierarchy_spec();
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
        if let Some(raw) = rule.raw {
            let _ = writeln!(
                spec,
                "where_sql = \"{{root}}.{} <> 'a'\"",
                table.at(raw).name
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
