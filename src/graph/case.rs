//! The names of tables and columns in a graph, and how a server writes them.

use crate::dialect::Dialect;
use crate::graph::{
    Artifact, Column, Condition, Definition, Edge, End, Graph, Last, Link, Member, Named, Need,
    Newest, Over, Own, Reference, Retention, Rule, Single, Source, Stamp, Strategy, Table, Timed,
};

impl Graph {
    /// The same graph with the names of tables and columns as they are on a server. Everything that is written for one
    /// server or compared with its catalog takes this one.
    pub fn named_for(&self, dialect: Dialect) -> Graph {
        let mut graph = self.clone();
        if self.upper_case.contains(&dialect) {
            for name in names(&mut graph) {
                name.make_ascii_uppercase();
            }
        }
        graph
    }

    /// Every name of a table or column, some of them more than once.
    pub fn names(&self) -> Vec<String> {
        names(&mut self.clone())
            .into_iter()
            .flat_map(|name| name.split(", ").map(str::to_owned))
            .collect()
    }
}

/// Every name of a table or column. Patterns without `..`, so that the compiler asks about each new field.
fn names(graph: &mut Graph) -> Vec<&mut String> {
    let Graph {
        name: _,
        title: _,
        dialects: _,
        upper_case: _,
        schema: _,
        database: _,
        time_zone: _,
        tables,
        ignored,
        rules,
        schedules: _,
        workers: _,
        cron_history: _,
        archive_days: _,
        windows: _,
        // It is not the application's.
        heartbeat: _,
    } = graph;
    let mut found: Vec<&mut String> = Vec::new();
    found.extend(tables.iter_mut().flat_map(of_table));
    found.extend(rules.iter_mut().flat_map(of_rule));
    found.extend(ignored.iter_mut().map(|ignored| &mut ignored.table));
    found
}

fn of_table(table: &mut Table) -> Vec<&mut String> {
    let Table {
        name,
        key,
        unique,
        indexed,
        // Triggers are named as whoever made them wrote them.
        triggers: _,
        edges,
        with: _,
        r#final,
        kept,
    } = table;
    let mut found = vec![name];
    found.extend(of_columns(key));
    found.extend(unique.iter_mut().flat_map(of_columns));
    // Those of one edge are between commas.
    found.extend(indexed);
    found.extend(edges.iter_mut().flat_map(of_edge));
    found.extend(of_conditions(&mut r#final.own));
    for Named { edge, condition } in &mut r#final.named {
        found.extend(of_edge(edge));
        found.push(&mut condition.column.name);
    }
    found.extend(of_conditions(kept));
    found
}

fn of_columns<'a>(
    columns: impl IntoIterator<Item = &'a mut Column>,
) -> impl Iterator<Item = &'a mut String> {
    columns.into_iter().map(|column| &mut column.name)
}

fn of_edge(edge: &mut Edge) -> Vec<&mut String> {
    let Edge {
        column,
        parent: _,
        parent_column,
        further,
        none: _,
        action: _,
        alone: _,
        cascades: _,
        through,
    } = edge;
    let mut found = vec![&mut column.name, &mut parent_column.name];
    for (column, named) in through.iter_mut().flat_map(|through| &mut through.pairs) {
        found.extend([column, named]);
    }
    for (column, named) in further {
        found.extend([&mut column.name, &mut named.name]);
    }
    found
}

fn of_rule(rule: &mut Rule) -> Vec<&mut String> {
    let Rule {
        name: _,
        root: _,
        candidates,
        r#final,
        where_sql: _,
        end_time,
        otherwise,
        epoch: _,
        last,
        strategy,
        hierarchy,
        shared: _,
        retention,
        newest,
        limits: _,
        artifacts,
        archive: _,
        orphan_guard: _,
        report: _,
        order: _,
    } = rule;
    let mut found: Vec<&mut String> = Vec::new();
    found.extend(of_conditions(candidates));
    found.extend(of_conditions(r#final));
    found.push(&mut end_time.name);
    found.extend(of_columns(otherwise));
    if let Some(last) = last {
        let Last {
            table: _,
            names,
            time,
            otherwise,
        } = last;
        found.extend([&mut names.name, &mut time.name]);
        found.extend(of_columns(otherwise));
    }
    found.extend(match strategy {
        Strategy::EndTime => Vec::new(),
        Strategy::Timed(timed) => of_timed(timed),
        Strategy::Single(single) => of_single(single),
    });
    for link in hierarchy {
        let Link {
            table: _,
            parent,
            child,
            over,
        } = link;
        found.extend([&mut parent.name, &mut child.name]);
        if let Some(over) = over {
            let Over {
                table: _,
                key,
                names,
            } = over;
            found.extend([&mut key.name, &mut names.name]);
        }
    }
    found.extend(of_retention(retention));
    for newest in newest {
        let Newest {
            count: _,
            per,
            by,
            of,
        } = newest;
        found.extend(of_columns(per));
        found.extend(of_columns(by));
        found.extend(of_conditions(of));
    }
    for artifact in artifacts {
        let Artifact {
            table: _,
            host,
            path,
        } = artifact;
        found.extend(host.as_mut());
        found.push(path);
    }
    found
}

fn of_conditions(conditions: &mut [Condition]) -> impl Iterator<Item = &mut String> {
    conditions
        .iter_mut()
        .map(|condition| &mut condition.column.name)
}

fn of_timed(timed: &mut Timed) -> Vec<&mut String> {
    let Timed {
        retention: _,
        unit: _,
        partitioned: _,
        ahead: _,
        estimated: _,
        detached: _,
        members,
        ended,
        end,
        references,
        stamps,
    } = timed;
    let mut found: Vec<&mut String> = Vec::new();
    for member in members {
        let Member { table: _, family } = member;
        found.extend(family);
    }
    found.extend(of_columns(ended));
    if let Some(End {
        time,
        otherwise,
        epoch: _,
    }) = end
    {
        found.push(&mut time.name);
        found.extend(of_columns(otherwise));
    }
    for reference in references {
        let Reference {
            table,
            column,
            to: _,
        } = reference;
        found.extend([table, column]);
    }
    found.extend(stamps.iter_mut().flat_map(of_stamp));
    found
}

fn of_stamp(stamp: &mut Stamp) -> Vec<&mut String> {
    let Stamp {
        of: _,
        root: _,
        candidates,
        family,
        start,
        ended,
        per,
        source,
        own,
        named: _,
        untouched,
    } = stamp;
    let mut found = vec![&mut start.name, &mut ended.name, &mut per.name];
    found.extend(of_conditions(candidates));
    found.extend(family);
    found.extend(of_source(source));
    for own in own {
        let Own {
            table: _,
            column,
            through: _,
            of_root,
        } = own;
        found.push(column);
        found.extend(of_root);
    }
    found.extend(untouched.iter_mut().flat_map(|(_, columns)| columns));
    found
}

fn of_single(single: &mut Single) -> Vec<&mut String> {
    let mut found: Vec<&mut String> = Vec::new();
    match single {
        Single::Expiry { fallback } => found.extend(of_columns(fallback)),
        Single::Orphan { needs, time } => {
            for need in needs.iter_mut().flatten() {
                let Need {
                    pairs,
                    none: _,
                    table,
                } = need;
                found.extend(pairs.iter_mut().flat_map(|(column, named)| [column, named]));
                found.push(table);
            }
            found.extend(of_columns(time));
        }
        Single::KeepLast {
            group,
            order,
            keep: _,
            time,
        } => {
            found.extend(of_columns(group));
            found.extend(of_columns(order));
            found.extend(of_columns(time));
        }
    }
    found
}

fn of_retention(retention: &mut Retention) -> Vec<&mut String> {
    let Retention {
        default: _,
        minimum: _,
        safety_lag: _,
        per,
        opt_in: _,
        source,
        calendar: _,
    } = retention;
    let mut found: Vec<&mut String> = Vec::new();
    found.extend(of_columns(per));
    found.extend(source.iter_mut().flat_map(of_source));
    found
}

fn of_source(source: &mut Source) -> Vec<&mut String> {
    match source {
        Source::Definition(definition) => of_definition(definition).into(),
        Source::Values(_) => Vec::new(),
    }
}

fn of_definition(definition: &mut Definition) -> [&mut String; 3] {
    let Definition {
        table,
        key,
        column,
        unit: _,
    } = definition;
    [table, &mut key.name, column]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_forgotten() {
        let text = r#"
name = "x"
dialects = ["postgres"]
upper_case = ["postgres"]
[tables]
root_ = { key = "id_ integer", unique = ["a_ integer, b_ integer"] }
part_ = { key = "id_ integer", parents = ["root_id_ -> root_.id_"] }
leaf_ = { parents = ["part_id_ -> part_.id_", "a_, b_ -> root_(a_, b_)"], with = "any", indexed = ["a_, b_"] }
link_ = { parents = ["upper_id_ -> root_.id_", "lower_id_ -> root_.id_"], with = "any" }
dated_ = { key = "id_ integer" }
below_ = { key = "id_ integer", parents = ["dated_id_ -> dated_.id_"] }
state_ = { key = "a_ integer, b_ integer" }
waits_ = { parents = ["a_, b_ -> root_(a_, b_)"], final = { "a_, b_ -> root_.sealed_" = 1 } }
[ignore]
other_ = "left alone"
[rules.ending]
strategy = "end-time"
root = "root_"
candidates = { kind_ = 1 }
final = { state_ = 2 }
end_time = "ended_ else changed_"
hierarchy = ["link_: upper_id_ -> lower_id_", "root_: above_id_ -> id_", "root_: over_id_ -> part_.root_id_"]
artifacts = [{ table = "part_", host = "host_", path = "path_" }]
retention = { per = "shop_", from = "kinds_: id_ -> keep_ days" }
keep = [{ newest = 1, per = "group_", by = "begun_", of = { sort_ = 3 } }, { newest = 2, per = ["group_", "kind_"], by = ["day_", "turn_ integer"] }]
[rules.lasting]
strategy = "end-time"
root = "root_"
final = { state_ = 2 }
start_time = "started_"
end_time = "max(part_.done_) else touched_"
retention = { default = "30d" }
[rules.timing]
strategy = "removal-time"
root = "dated_"
time = "due_"
end_time = "over_"
tables = ["below_: dated_id_", "dated_"]
references = ["outer_: dated_id_ -> dated_"]
stamp = { start = "began_", per = "kind_id_", from = "kinds_: id_ -> keep_ days", own = ["below_: dated_id_"], untouched = ["below_: seen_"], of = { others = { root = "below_", candidates = { none_ = { null = true } }, family = "top_id_", start = "first_", end_time = "last_", per = "sort_id_", from = "sorts_: id_ -> keep_ days", own = ["dated_: one_ -> below_.two_"] } } }
retention = { minimum = "1d" }
[rules.expiring]
strategy = "expiry"
root = "state_"
time = "expires_"
fallback = { time = "touched_", retention = { default = "30d" } }
[rules.orphaned]
strategy = "orphan"
root = "state_"
needs = ["asset_id_ -> asset_.id_", "name_, uri_ -> active_(name_, uri_)"]
time = "touched_"
retention = { default = "30d" }
[rules.outnumbered]
strategy = "keep-last"
root = "state_"
keep = { newest = 2, per = ["job_", "part_no_"], by = "try_ integer" }
"#;
        let (spec, findings) = crate::spec::parse(text);
        let (graph, more) = super::super::build(&spec.expect("a spec"), text);
        assert!(
            findings.is_empty() && more.is_empty(),
            "{findings:?} {more:?}"
        );
        let upper = format!("{:?}", graph.named_for(Dialect::Postgres));
        let small: Vec<&str> = upper
            .split('"')
            .filter(|text| text.ends_with('_') && text.contains(char::is_lowercase))
            .collect();
        assert!(small.is_empty(), "{small:?}");
        assert_eq!(
            format!("{:?}", graph.named_for(Dialect::Mysql)),
            format!("{graph:?}")
        );
    }
}
