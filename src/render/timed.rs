//! Views of a rule whose rows are deleted by a time of their own.

use serde::Serialize;

use self::member::{MemberView, Tables, any_of};
use super::adopt::{AdoptView, Adopter, BetweenView};
use super::names::{dated, escaped, local, table_name, time_of};
use super::others::{ListView, OtherView, Others};
use super::raw;
use super::roots::Roots;
use super::sql::among;
use super::works::WorkView;
use crate::dialect::Dialect;
use crate::graph::{Graph, Kind, Rule, Timed, Unit};

mod crossing;
mod member;

/// What the template of a rule by time has besides what it shares with others.
#[derive(Serialize)]
pub(super) struct TimedView {
    /// Whether rows of one table are deleted, of which only a hold keeps one: most of that is the kernel's.
    pub(super) plain: bool,
    /// The partitions of its tables, where these are dropped.
    pub(super) partition: Option<PartitionView>,
    /// When a row of such a table is due.
    due: DueView,
    /// What turns an instant into the clock of the application on PostgreSQL.
    in_zone: String,
    /// What must be over for a family to be deleted, in the zone of the application, and the column that says when it ended;
    /// both empty where a family has no end.
    least: String,
    ended: String,
    /// Whether families are deleted as such, and how many rows of one table a window may have of what belongs to none.
    by_family: bool,
    members: Vec<MemberView>,
    /// Whether rows of no family are kept because others belong to them.
    pins: bool,
    /// PostgreSQL: that the root of no family in `r.families` is there.
    pin_missing: String,
    /// Whether rows of other families may name rows of a family, and those that name no root.
    crosses: bool,
    crosses_adopted: bool,
    spares: bool,
    /// Whether holds of other rules may keep rows.
    bound: bool,
    /// The same of rows of families.
    bound_families: bool,
    /// And of those that name no root.
    bound_adopted: bool,
    /// Whether the rows of the root table are locked first.
    locks: bool,
    /// Whether rows of other tables are, of which some may name no root; and those of windows that are of no family.
    middles: bool,
    middles_adopted: bool,
    middles_of_none: bool,
    /// Whether something may refer to rows that name no root and are of the family of what names them.
    tied_by_name: bool,
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
    /// when it is deleted.
    is_root_r: String,
    is_root_f: String,
    is_alone_r: String,
    /// The same of the rows that are deleted by windows: row `t`, and row `r`.
    window_of_root: Vec<String>,
    root_window: Vec<String>,
    /// The same of row `r` whose own time says when it is deleted: where families are deleted as such, that of their root does.
    root_alone: Vec<String>,
    /// The same of row `t` with what makes it deletable.
    root_predicates: Vec<String>,
    /// PostgreSQL: what lists the keys of roots, and of the rows whose root is there.
    roots: String,
    /// What finds the rows `t` of the root table that are of the families `p_roots`; the columns that do.
    of_roots: String,
    names_root: Vec<String>,
    /// PostgreSQL: what finds the rows `t` of the root table that are of the families `o_keep`.
    of_kept: String,
    /// The tables that refer to members, for the grants.
    pub(super) references: Vec<String>,
    /// Further work tables with the families that are kept: MySQL lets a statement name a temporary table once.
    keep_copies: Vec<String>,
    /// The work tables of a batch that only this rule has, these among them.
    pub(super) works: Vec<WorkView>,
    /// Whether rows that name no root may belong to an instance; what finds the instances `t` of the families `p_go`.
    adopts: bool,
    of_go: String,
    /// Rows in between, by which others say their instance.
    between: Vec<BetweenView>,
    /// What can be held besides the families, and the lists of what is kept with it.
    pub(super) others: Vec<OtherView>,
    held: Vec<ListView>,
}

/// What is said of the partitions of the tables of a rule.
#[derive(Serialize)]
pub(super) struct PartitionView {
    /// The type of their bounds, that of the column.
    bound_type: &'static str,
    /// The tables: for a comment, as one text, and as what the catalog calls them.
    told: String,
    text: String,
    tables: String,
    /// The table as a text that names it.
    regclass: String,
    /// The name of the table as a text.
    root: String,
    /// Whether their bounds are dates, which are over at the end of their day.
    dates: bool,
    /// Whether they are made in advance.
    ahead: bool,
    /// The tables whose partitions are detached and kept, as the catalog calls them; empty: none.
    detached: String,
    /// Whether those are all of them.
    all_detached: bool,
    /// Whether their rows are estimated where the server has statistics, and not counted.
    estimated: bool,
    /// When its rows keep a partition because they have not ended; nothing: never.
    waits: Option<WaitsView>,
}

/// What a row `i` of the root table must be for its partition to go.
#[derive(Serialize)]
struct WaitsView {
    /// Whether it must be final.
    r#final: bool,
    /// When it ended, and what that must lie before: the instant `p_cutoff` as the application writes it. Empty: it says no end.
    ended: String,
    cutoff: String,
}

impl WaitsView {
    fn new(graph: &Graph, rule: &Rule, timed: &Timed, dialect: Dialect) -> Self {
        let ended = timed.end.as_ref().map(|end| {
            let written = format!("i.{}", dialect.ident(&end.time.name));
            match (end.epoch, &end.otherwise) {
                (Some(epoch), _) => dialect.instant(&written, epoch),
                (None, None) => written,
                (None, Some(other)) => {
                    format!("coalesce({written}, i.{})", dialect.ident(&other.name))
                }
            }
        });
        let kind = timed.end.as_ref().map(|end| end.time.kind);
        let cutoff = kind.map(|kind| match (dialect, kind) {
            (Dialect::Postgres, Kind::Timestamptz) => "p_cutoff".to_owned(),
            (Dialect::Postgres, _) => {
                format!("p_cutoff AT TIME ZONE {}", dialect.text(&graph.time_zone))
            }
            (Dialect::Mysql | Dialect::Mariadb, kind) => local(graph, kind, "p_cutoff"),
        });
        Self {
            r#final: rule.waits_for_final(),
            ended: ended.unwrap_or_default(),
            cutoff: cutoff.unwrap_or_default(),
        }
    }
}

impl PartitionView {
    fn new(graph: &Graph, rule: &Rule, dialect: Dialect) -> Self {
        let tables = rule.order.iter().map(|table| &graph.table(*table).name);
        let names: Vec<&str> = tables.clone().map(String::as_str).collect();
        let names = names.join(", ");
        let what = match rule.order.len() {
            1 => "the table",
            _ => "one of the tables",
        };
        let class = |name: &String| {
            let table = dialect.text(&table_name(graph, dialect, name));
            format!("{table}::regclass")
        };
        let detached = rule.archived().iter();
        let detached = detached.map(|table| class(&graph.table(*table).name));
        let root = &graph.table(rule.root).name;
        Self {
            bound_type: match rule.epoch {
                Some(_) => "date",
                None => dialect.kind(rule.end_time.kind),
            },
            told: format!("{what} {}", escaped(dialect, &names)),
            text: dialect.text(&names),
            tables: tables.map(class).collect::<Vec<_>>().join(", "),
            regclass: dialect.text(&table_name(graph, dialect, root)),
            root: dialect.text(root),
            dates: rule.epoch.is_some(),
            ahead: rule.timed().is_some_and(|it| it.ahead.is_some()),
            detached: detached.collect::<Vec<_>>().join(", "),
            all_detached: rule.archived().len() == rule.order.len(),
            waits: rule
                .timed()
                .filter(|_| rule.waits_for_rows())
                .map(|timed| WaitsView::new(graph, rule, timed, dialect)),
            estimated: rule.timed().is_some_and(|it| it.estimated),
        }
    }
}

/// The time of a row of one table.
#[derive(Serialize)]
struct DueView {
    /// That of row `t`, and of row `r`: a column, or what its number says.
    of_t: String,
    of_r: String,
    /// That of row `t`; a zero date is none.
    dated_of_t: String,
    /// What is compared of row `t`, and ordered by: the same, or on MySQL and MariaDB the number.
    time: String,
}

impl DueView {
    fn new(rule: &Rule, dialect: Dialect) -> Self {
        let time = |row: &str| time_of(rule, row, &rule.end_time, dialect);
        Self {
            of_t: time("t"),
            of_r: time("r"),
            dated_of_t: dated(rule, &time("t"), dialect),
            time: match dialect {
                Dialect::Postgres => time("t"),
                Dialect::Mysql | Dialect::Mariadb => {
                    format!("t.{}", dialect.ident(&rule.end_time.name))
                }
            },
        }
    }
}

/// What a row of the root table must be to be of the rule.
fn conditions(graph: &Graph, rule: &Rule, row: &str, dialect: Dialect) -> Vec<String> {
    let candidates = rule.candidates.iter();
    let said = candidates.map(|it| dialect.condition_of(row, it));
    let raw = raw::condition(graph, rule, row, dialect);
    // Of a rule of partitions, that says which rows are final.
    said.chain(raw.filter(|_| !rule.knows_final())).collect()
}

pub(super) fn view(graph: &Graph, rule: &Rule, timed: &Timed, dialect: Dialect) -> TimedView {
    let key = dialect.ident(&graph.table(rule.root).key[0].name);
    let roots = Roots::new(graph, rule, timed, dialect);
    let others = Others::new(graph, timed, dialect);
    let tables = Tables {
        graph,
        rule,
        timed,
        roots: &roots,
        others: &others,
        dialect,
    };
    let members = tables.members();
    let adopter = Adopter::new(graph, rule, timed, &roots, dialect);
    let root = members.iter().find(|member| member.root);
    let ended = timed.ended.as_ref();
    let conditions = |row: &str| conditions(graph, rule, row, dialect);
    let by_family = timed.unit == Unit::Family;
    let rootless = |row: &str| roots.missing(&roots.family_of(row, dialect), dialect);
    let at_window = |row: &str| {
        let mut found = conditions(row);
        found.extend(by_family.then(|| rootless(row)));
        found
    };
    TimedView {
        plain: rule.is_plain(graph.table(rule.root)),
        partition: timed
            .partitioned
            .then(|| PartitionView::new(graph, rule, dialect)),
        due: DueView::new(rule, dialect),
        in_zone: match rule.end_time.kind {
            Kind::Timestamptz => String::new(),
            _ => format!(" AT TIME ZONE {}", dialect.text(&graph.time_zone)),
        },
        least: least(graph, rule, timed, dialect),
        end_type: ended.map_or("", |it| dialect.kind(it.kind)),
        ended: ended.map_or(String::new(), |it| dialect.ident(&it.name)),
        by_family,
        tied_by_name: members.iter().any(MemberView::is_tied_by_name),
        crosses: members.iter().any(|it| !it.namers.is_empty()),
        crosses_adopted: members.iter().any(|it| !it.adopted_namers.is_empty()),
        pin_missing: roots.missing("ANY (r.families)", dialect),
        pins: members.iter().any(|it| !it.pins.is_empty()),
        bound: members.iter().any(|it| !it.bound.is_empty()),
        bound_families: members.iter().any(MemberView::is_bound_by_family),
        bound_adopted: members.iter().any(MemberView::is_bound_adopted),
        spares: members.iter().any(|it| it.spared),
        locks: members.len() > 1 || timed.ended.is_some(),
        middles: members.iter().any(|it| it.referenced_of_family),
        middles_adopted: members
            .iter()
            .any(|it| it.referenced_of_family && it.adopt.is_some()),
        middles_of_none: by_family && members.iter().any(|it| it.referenced),
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
        is_alone_r: if by_family {
            rootless("r")
        } else {
            "true".to_owned()
        },
        roots: roots.roots.clone(),
        window_of_root: at_window("t"),
        root_window: at_window("r"),
        root_alone: match roots.is_root("r", dialect).filter(|_| by_family) {
            Some(is_root) => vec![format!("({is_root} OR {})", rootless("r"))],
            None => conditions("r"),
        },
        root_predicates: root.map_or(Vec::new(), |root| root.predicates.clone()),
        of_roots: root.map_or(String::new(), |root| any_of(&root.belongs, "p_roots")),
        names_root: root.map_or(Vec::new(), |root| root.belongs.clone()),
        of_kept: root.map_or(String::new(), |root| any_of(&root.belongs, "o_keep")),
        of_go: root.map_or(String::new(), |root| root.of_roots.clone()),
        between: adopter.as_ref().map_or(Vec::new(), Adopter::between),
        adopts: members.iter().any(|member| member.adopt.is_some()),
        root_column: roots.column.clone(),
        works: works(&members, &others, by_family),
        keep_copies: keep_copies(&members, by_family),
        members,
        others: others.views,
        held: others.lists,
        references: timed
            .references
            .iter()
            .map(|reference| table_name(graph, dialect, &reference.table))
            .collect(),
    }
}

/// The work tables for what is kept by each further column of a row.
fn keep_copies(members: &[MemberView], by_family: bool) -> Vec<String> {
    (2..=members
        .iter()
        .map(|member| {
            let adopt = member.adopt.iter().filter(|_| !by_family);
            member.belongs.len() + adopt.map(AdoptView::lists).sum::<usize>()
        })
        .max()
        .unwrap_or_default())
        .map(|number| format!("work_keep_{number}"))
        .collect()
}

/// The work tables of MySQL and MariaDB that a rule has besides those of the kernel.
fn works(members: &[MemberView], others: &Others, by_family: bool) -> Vec<WorkView> {
    let keep_copies = keep_copies(members, by_family)
        .into_iter()
        .enumerate()
        .map(|(at, name)| {
            let why =
                "The families that are kept, once for every column of a table that names one.";
            WorkView::families(&name, if at == 0 { why } else { "" })
        });
    let members = members.iter().flat_map(MemberView::works);
    keep_copies.chain(members).chain(others.works()).collect()
}

/// What the end of a row must lie before, whatever its stored time: the minimum, in the zone of the application.
fn least(graph: &Graph, rule: &Rule, timed: &Timed, dialect: Dialect) -> String {
    let Some(ended) = &timed.ended else {
        return String::new();
    };
    let seconds = rule.retention.minimum + rule.retention.safety_lag;
    match (dialect, ended.kind) {
        (Dialect::Postgres, Kind::Timestamptz) => {
            format!("(p_as_of - make_interval(secs => {seconds}))")
        }
        (Dialect::Postgres, _) => format!(
            "(p_as_of - make_interval(secs => {seconds})) AT TIME ZONE {}",
            dialect.text(&graph.time_zone)
        ),
        (Dialect::Mysql | Dialect::Mariadb, kind) => {
            let before = format!("p_as_of - INTERVAL {seconds} SECOND");
            local(graph, kind, &before)
        }
    }
}
