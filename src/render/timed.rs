//! Views of a rule whose rows go by a time of their own.

use serde::Serialize;

use super::adopt::{AdoptView, Adopter, BetweenView};
use super::archive::{self, ArchiveView};
use super::explain::{Root, among, keys, some_keys};
use super::names::{control_name, escaped, home, local};
use super::others::{Kept, ListView, OtherView, Others};
use super::roots::Roots;
use super::stamp;
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::graph::{Graph, Kind, Member, Rule, Timed, Unit};

/// What the template of a rule by time has beside what it shares with others.
#[derive(Serialize)]
pub(super) struct TimedView {
    /// Whether rows of one table go, of which only a hold keeps one: most of that is the kernel's.
    pub(super) plain: bool,
    /// What turns an instant into the clock of the application on PostgreSQL.
    in_zone: String,
    /// What must be over for a family to go, in the zone of the application, and the column that says when it ended;
    /// both empty where a family has no end.
    least: String,
    ended: String,
    /// Whether families go as such, and how many rows of one table a window may have of what belongs to none.
    by_family: bool,
    /// The smallest step of the clock.
    tick: &'static str,
    members: Vec<MemberView>,
    /// Whether there are tables beside the root table, and such that only a family that stays keeps a row of theirs.
    several: bool,
    spares: bool,
    /// Whether the rows of the root table are locked first.
    locks: bool,
    /// The type of the column that says when a family ended.
    end_type: &'static str,
    /// The key of the family of row `r` of the root table, and of row `t`.
    family_of_root: String,
    family_of_t: String,
    /// The column of the root table that names the family's root; empty where each row is a family.
    root_column: String,
    /// Whether row `t` of the root table is the root of its family, and whether row `r` is held.
    is_root: String,
    root_is_held: String,
    /// What a row of the root table must be to be of the rule: row `t`, and row `r`.
    conditions_of_root: Vec<String>,
    conditions_of_rows: Vec<String>,
    /// PostgreSQL: whether row `r` is the root of its family, whether row `f` is, and whether the own time of row `r` says
    /// when it goes.
    is_root_r: String,
    is_root_f: String,
    is_alone_r: String,
    /// The same of the rows that go by windows: row `t`, and row `r`.
    window_of_root: Vec<String>,
    root_window: Vec<String>,
    /// The same of row `r` whose own time says when it goes: where families go as such, that of their root does.
    root_alone: Vec<String>,
    /// The same of row `t` with what makes it go.
    root_predicates: Vec<String>,
    /// PostgreSQL: what lists the keys of roots, and of the rows whose root is there.
    roots: String,
    rooted: String,
    /// What finds the rows `t` of the root table that are of the families `p_roots`; the columns that do.
    of_roots: String,
    names_root: Vec<String>,
    /// The tables that refer to members, for the grants.
    pub(super) references: Vec<String>,
    /// Further work tables with the families that stay: MySQL lets a statement name a temporary table once.
    twins: Vec<String>,
    /// Whether rows that name no root may belong to an instance; what finds the instances `t` of the families `p_go`.
    adopts: bool,
    of_go: String,
    /// Rows in between, by which others say their instance.
    between: Vec<BetweenView>,
    /// What can be held beside the families, and the lists of what stays with it.
    pub(super) others: Vec<OtherView>,
    held: Vec<ListView>,
}

/// A table of the rule; conditions are about its row `t`.
#[derive(Serialize)]
struct MemberView {
    position: usize,
    table: String,
    table_name: String,
    table_literal: String,
    table_class: String,
    why: String,
    /// Whether this is the root table.
    root: bool,
    archive: Option<ArchiveView>,
    /// The key; empty where it is not needed.
    key: String,
    key_type: &'static str,
    /// The columns that name the root of a row's family.
    family: Vec<String>,
    /// The one of them that names the root of the whole family, unless this is where it stands itself.
    with_root: String,
    /// What a row must be to be one of the rule.
    conditions: Vec<String>,
    /// The same of a row whose own time says when it goes.
    alone: Vec<String>,
    /// What it must be besides to go: of no family that stays, and named by nothing.
    predicates: Vec<String>,
    /// Whether only a family that stays keeps a row, and nothing else asks for its columns.
    spared: bool,
    /// PostgreSQL: what finds the rows of the families `p_go` that name their root; empty where rows have no family.
    of_roots: String,
    /// The variable or work table with the keys that something refers to, and what may refer.
    named: String,
    referrers: Vec<ReferrerView>,
    /// The columns that name the family, or are its root.
    belongs: Vec<String>,
    /// The work tables whose rows stay, where there are no arrays.
    stays: Vec<StayView>,
    /// The lists of what is held besides, by which rows of it stay.
    held: Vec<String>,
    /// How rows are found by the root of their family, each of them once.
    found: Vec<FoundView>,
    /// How the root of row `t` is joined where it keeps the row, by each column that may name it.
    roots: Vec<RootView>,
    /// How rows are found that name no root; that row `t` is none of an instance that keeps it.
    adopt: Option<AdoptView>,
    spares: Vec<String>,
    /// PostgreSQL: the list of those in a window that name no root, and that rows of a family name; its rows of windows
    /// that stay with a family are looked up in it. Empty where there is none.
    whose: String,
}

/// An alias of the root table, and that it is the root.
#[derive(Serialize)]
struct RootView {
    alias: String,
    on: String,
}

/// A column that names the root, and those that have found a row before.
#[derive(Serialize)]
struct FoundView {
    column: String,
    before: Vec<StayView>,
}

/// A work table, its alias, and the column of the member that is looked up in it.
#[derive(Serialize)]
struct StayView {
    work: String,
    alias: String,
    column: String,
}

#[derive(Serialize)]
struct ReferrerView {
    table: String,
    column: String,
}

pub(super) fn view(graph: &Graph, rule: &Rule, timed: &Timed, dialect: Dialect) -> TimedView {
    let (minimum, lag) = (rule.retention.minimum, rule.retention.safety_lag);
    // So many seconds before p_as_of, in the zone of the application.
    let before = |seconds: &str, kind: Kind| match (dialect, kind) {
        (Dialect::Postgres, Kind::Timestamptz) => {
            format!("(p_as_of - make_interval(secs => {seconds}))")
        }
        (Dialect::Postgres, _) => format!(
            "(p_as_of - make_interval(secs => {seconds})) AT TIME ZONE {}",
            dialect.text(&graph.time_zone)
        ),
        (Dialect::Mysql | Dialect::Mariadb, _) => {
            local(graph, kind, &format!("p_as_of - INTERVAL {seconds} SECOND"))
        }
    };
    let key = dialect.ident(&graph.table(rule.root).key[0].name);
    let roots = Roots::new(graph, rule, timed, dialect);
    let others = Others::new(graph, timed, dialect);
    let members: Vec<MemberView> = timed
        .members
        .iter()
        .enumerate()
        .map(|place| member_view(graph, rule, timed, &roots, &others, place, dialect))
        .collect();
    let adopter = Adopter::new(graph, rule, timed, &roots, dialect);
    let root = members.iter().find(|member| member.root);
    let conditions = |row: &str| -> Vec<String> {
        rule.candidates
            .iter()
            .map(|condition| dialect.condition_of(row, condition))
            .collect()
    };
    let by_family = timed.unit == Unit::Family;
    let rootless = |row: &str| roots.missing(&roots.family_of(row, dialect), dialect);
    let at_window = |row: &str| {
        let mut found = conditions(row);
        found.extend(by_family.then(|| rootless(row)));
        found
    };
    TimedView {
        plain: is_plain(graph, rule, timed),
        in_zone: match rule.end_time.kind {
            Kind::Timestamptz => String::new(),
            _ => format!(" AT TIME ZONE {}", dialect.text(&graph.time_zone)),
        },
        least: timed.ended.as_ref().map_or(String::new(), |ended| {
            before(&(minimum + lag).to_string(), ended.kind)
        }),
        end_type: timed
            .ended
            .as_ref()
            .map_or("", |ended| dialect.kind(ended.kind)),
        ended: timed
            .ended
            .as_ref()
            .map(|ended| dialect.ident(&ended.name))
            .unwrap_or_default(),
        by_family,
        several: members.len() > 1,
        spares: members.iter().any(|member| member.spared),
        locks: members.len() > 1 || timed.ended.is_some(),
        tick: "interval '1 microsecond'",
        family_of_root: roots.family_of("r", dialect),
        family_of_t: roots.family_of("t", dialect),
        is_root: roots.said_root("t", dialect),
        root_is_held: match roots.column.as_str() {
            "" => among(&format!("r.{key}"), "v_held"),
            column => format!(
                "{} OR {}",
                among(&format!("r.{key}"), "v_held"),
                among(&format!("r.{column}"), "v_held")
            ),
        },
        conditions_of_root: conditions("t"),
        conditions_of_rows: conditions("r"),
        is_root_r: roots.said_root("r", dialect),
        is_root_f: roots.said_root("f", dialect),
        is_alone_r: match by_family {
            true => rootless("r"),
            false => "true".to_owned(),
        },
        roots: roots.roots.clone(),
        rooted: roots.rooted.clone(),
        window_of_root: at_window("t"),
        root_window: at_window("r"),
        root_alone: match roots.is_root("r", dialect).filter(|_| by_family) {
            Some(is_root) => vec![format!("({is_root} OR {})", rootless("r"))],
            None => conditions("r"),
        },
        root_predicates: root.map_or(Vec::new(), |root| root.predicates.clone()),
        of_roots: root.map_or(String::new(), |root| any_of(&root.belongs, "p_roots")),
        names_root: root.map_or(Vec::new(), |root| root.belongs.clone()),
        of_go: root.map_or(String::new(), |root| root.of_roots.clone()),
        between: adopter.as_ref().map_or(Vec::new(), Adopter::between),
        adopts: members.iter().any(|member| member.adopt.is_some()),
        root_column: roots.column.clone(),
        twins: (2..=members
            .iter()
            .map(|member| member.belongs.len() + usize::from(!by_family && member.adopt.is_some()))
            .max()
            .unwrap_or_default())
            .map(|number| format!("work_keep_{number}"))
            .collect(),
        members,
        others: others.views,
        held: others.lists,
        references: timed
            .references
            .iter()
            .map(|reference| dialect.qualified(home(graph, dialect), &reference.table))
            .collect(),
    }
}

/// Whether rows of one table go, each by itself, and nothing but a hold keeps one.
pub(super) fn is_plain(graph: &Graph, rule: &Rule, timed: &Timed) -> bool {
    let [member] = &timed.members[..] else {
        return false;
    };
    let key = &graph.table(rule.root).key;
    member.table == rule.root
        && member
            .family
            .iter()
            .all(|column| key.iter().any(|own| own.name == *column))
        && timed.ended.is_none()
        && timed.references.is_empty()
        && timed.stamps.is_empty()
        && timed.unit == Unit::Window
}

/// What finds the rows `t` that name one of several roots.
fn any_of(columns: &[String], roots: &str) -> String {
    let each = columns.iter();
    each.map(|column| format!("t.{column} = ANY ({roots})"))
        .collect::<Vec<_>>()
        .join(" OR ")
}

fn member_view(
    graph: &Graph,
    rule: &Rule,
    timed: &Timed,
    roots: &Roots,
    others: &Others,
    (index, member): (usize, &Member),
    dialect: Dialect,
) -> MemberView {
    let table = graph.table(member.table);
    let qualified = dialect.qualified(home(graph, dialect), &table.name);
    let root = member.table == rule.root;
    let position = index + 1;
    let key = table
        .key
        .first()
        .map(|key| dialect.ident(&key.name))
        .unwrap_or_default();
    let family: Vec<String> = member
        .family
        .iter()
        .map(|column| dialect.ident(column))
        .collect();
    let archive = archive::view(graph, rule, member.table, dialect);
    let mut belongs = family.clone();
    if root && !belongs.contains(&key) {
        // The root of a family need not name itself.
        belongs.push(key.clone());
    }
    let referrers: Vec<ReferrerView> = timed
        .references
        .iter()
        .filter(|reference| reference.to == member.table)
        .map(|reference| ReferrerView {
            table: dialect.qualified(home(graph, dialect), &reference.table),
            column: dialect.ident(&reference.column),
        })
        .collect();
    let named = match dialect {
        Dialect::Postgres => format!("o_named_{position}"),
        Dialect::Mysql | Dialect::Mariadb => format!("work_named_{position}"),
    };
    let conditions: Vec<String> = if root {
        rule.candidates
            .iter()
            .map(|condition| dialect.condition_of("t", condition))
            .collect()
    } else {
        Vec::new()
    };
    let families: Vec<String> = match root {
        true => vec![roots.family_of("t", dialect)],
        false => family.iter().map(|column| format!("t.{column}")).collect(),
    };
    let by_family = timed.unit == Unit::Family;
    let adopter = Adopter::new(graph, rule, timed, roots, dialect);
    let kept = match dialect {
        Dialect::Postgres => "k.o_keep".to_owned(),
        Dialect::Mysql | Dialect::Mariadb => dialect.qualified(
            &control_name(graph),
            &format!("work_keep_{}", belongs.len() + 1),
        ),
    };
    let adopt = adopter.as_ref().and_then(|it| it.view(member));
    let spares_adopted: Vec<String> = adopter
        .as_ref()
        .and_then(|it| it.spares(member, &kept))
        .into_iter()
        .collect();
    let spares = |column: &str, list: &str| {
        let stays = among(&format!("t.{column}"), list);
        format!("({stays}) IS NOT TRUE")
    };
    // PostgreSQL: what the rows of families name, though it names no root itself, is looked for once in a window.
    let whose = match (dialect, &adopt) {
        (Dialect::Postgres, Some(adopt)) if by_family && !adopt.named.is_empty() => {
            format!("o_whose_{position}")
        }
        _ => String::new(),
    };
    let mut alone = conditions.clone();
    if by_family {
        alone.extend(families.iter().map(|family| roots.missing(family, dialect)));
    }
    let mut predicates = alone.clone();
    if whose.is_empty() {
        predicates.extend(spares_adopted.iter().cloned());
    } else {
        predicates.push(spares(&key, &format!("k.{whose}")));
    }
    if by_family {
        alone.extend(spares_adopted.iter().cloned());
    }
    predicates.extend(belongs.iter().map(|column| spares(column, "k.o_keep")));
    if !referrers.is_empty() {
        predicates.push(spares(&key, &format!("k.{named}")));
    }
    let of_others: Vec<&Kept> = others.of(member.table).collect();
    predicates.extend(of_others.iter().map(|kept| {
        spares(
            &format!("{}::text", kept.column),
            &format!("k.{}", kept.list),
        )
    }));
    let found = (0..belongs.len())
        .map(|place| FoundView {
            column: belongs[place].clone(),
            before: (0..place)
                .map(|before| StayView {
                    work: format!("work_keep_{}", before + 2),
                    alias: format!("k{}", before + 1),
                    column: belongs[before].clone(),
                })
                .collect(),
        })
        .collect();
    let mut stays: Vec<StayView> = belongs
        .iter()
        .enumerate()
        .map(|(index, column)| StayView {
            work: match index {
                0 => "work_keep".to_owned(),
                _ => format!("work_keep_{}", index + 1),
            },
            alias: format!("k{}", index + 1),
            column: column.clone(),
        })
        .collect();
    if !referrers.is_empty() {
        stays.push(StayView {
            work: named.clone(),
            alias: "n".to_owned(),
            column: key.clone(),
        });
    }
    for (number, kept) in (1..).zip(&of_others) {
        stays.push(StayView {
            work: kept.list.clone(),
            alias: format!("h{number}"),
            column: kept.column.clone(),
        });
    }
    MemberView {
        position,
        table_name: escaped(dialect, &table.name),
        table_literal: dialect.text(&table.name),
        table_class: dialect.text(&qualified),
        why: escaped(
            dialect,
            &match (root, family.is_empty(), timed.members.len()) {
                (_, _, 1) => format!("{}: rows that are old enough.", table.name),
                (true, _, _) if by_family => {
                    format!("{}: remains of families without a root.", table.name)
                }
                (true, _, _) => format!("{}: the families themselves.", table.name),
                (_, true, _) => format!("{}: its rows belong to no family.", table.name),
                _ if by_family => {
                    format!("{}: rows of no family.", table.name)
                }
                _ => format!("{}: rows of the families, and of none.", table.name),
            },
        ),
        root,
        key_type: table.key.first().map_or("", |key| dialect.kind(key.kind)),
        with_root: if family.first() == Some(&key) {
            String::new()
        } else {
            family.first().cloned().unwrap_or_default()
        },
        family,
        conditions,
        alone,
        predicates,
        spared: !root
            && !by_family
            && !belongs.is_empty()
            && referrers.is_empty()
            && archive.is_none(),
        archive,
        of_roots: any_of(&belongs, "p_go"),
        adopt,
        spares: spares_adopted,
        whose,
        held: of_others.iter().map(|kept| kept.list.clone()).collect(),
        named,
        referrers,
        belongs,
        stays,
        found,
        roots: families
            .iter()
            .enumerate()
            .filter(|_| by_family)
            .map(|(index, family)| {
                let alias = format!("f{}", index + 1);
                let on = roots.at(&alias, family, dialect);
                RootView { alias, on }
            })
            .collect(),
        table: qualified,
        key,
    }
}

/// The statements of the routines with literals in place of variables.
pub(super) fn probes(
    graph: &Graph,
    rule: &Rule,
    root: &Root,
    timed: &TimedView,
    dialect: Dialect,
) -> Vec<Probe> {
    let mut probes = Vec::new();
    let time = root.time;
    for (member, of) in timed.members.iter().zip(&rule.order) {
        let table = &graph.table(*of).name;
        let from = &member.table;
        let conditions = |row: &str| -> String {
            member
                .conditions
                .iter()
                .map(|condition| format!(" AND {row}{}", condition.trim_start_matches("t.")))
                .collect()
        };
        let window = format!(
            "t.{time} >= '1970-01-01' AND t.{time} < '1970-01-02'{}",
            conditions("t.")
        );
        let (end, delete) = match dialect {
            Dialect::Postgres => (
                "OFFSET 100 LIMIT 1",
                format!("DELETE FROM {from} AS t WHERE {window}"),
            ),
            // By its full name: an alias would need a current database, which a session need not have.
            Dialect::Mysql | Dialect::Mariadb => (
                "LIMIT 100, 1",
                format!(
                    "DELETE {from} FROM {work} STRAIGHT_JOIN {from} ON {from}.{time} = w.k{}",
                    conditions(&format!("{from}.")),
                    work = some_keys(from, time)
                ),
            ),
        };
        probes.push(Probe {
            what: format!("rule {}: where the next window of {table} ends", rule.name),
            table: table.clone(),
            sql: format!("SELECT t.{time} FROM {from} AS t WHERE {window} ORDER BY t.{time} {end}"),
        });
        probes.push(Probe {
            what: format!("rule {}: delete from {table} in a window", rule.name),
            table: table.clone(),
            sql: delete,
        });
        for column in member.belongs.iter().filter(|_| timed.by_family) {
            let sql = match dialect {
                Dialect::Postgres => {
                    let keys = keys(graph.table(rule.root).key[0].kind);
                    format!("DELETE FROM {from} AS t WHERE t.{column} = ANY ({keys})")
                }
                Dialect::Mysql | Dialect::Mariadb => format!(
                    "DELETE {from} FROM {work} STRAIGHT_JOIN {from} ON {from}.{column} = w.k",
                    work = some_keys(from, column)
                ),
            };
            probes.push(Probe {
                what: format!("rule {}: delete from {table} by {column}", rule.name),
                table: table.clone(),
                sql,
            });
        }
    }
    if timed.by_family {
        let (table, key, first) = (root.table, root.key, root.first_key);
        probes.push(Probe {
            what: format!("rule {}: the next roots, oldest first", rule.name),
            table: graph.table(rule.root).name.clone(),
            sql: format!(
                "SELECT t.{key} FROM {table} AS t WHERE t.{time} >= '1970-01-01' AND (t.{time} > '1970-01-01' OR t.{key} > {first}) AND t.{time} < '1970-01-02' AND {is_root} ORDER BY t.{time}, t.{key} LIMIT 100",
                is_root = timed.is_root
            ),
        });
    }
    probes.extend(stamp::probes(graph, rule, dialect));
    probes
}
