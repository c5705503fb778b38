//! One table of a rule by time.

use serde::Serialize;

use crate::dialect::Dialect;
use crate::graph::{Graph, Kind, Member, Own, Rule, Table, TableId, Timed, Unit};
use crate::render::above;
use crate::render::adopt::{self, AdoptView, Adopter};
use crate::render::archive::{self, ArchiveView};
use crate::render::kept;
use crate::render::names::{escaped, table_name, told};
use crate::render::others::{Kept, Others};
use crate::render::roots::Roots;
use crate::render::sql::among;
use crate::render::via;
use crate::render::works::WorkView;

/// A table of the rule; conditions are about its row `t`.
#[derive(Serialize)]
pub(super) struct MemberView {
    pub(super) position: usize,
    pub(super) table: String,
    pub(super) table_name: String,
    pub(super) table_literal: String,
    pub(super) why: String,
    /// Whether this is the root table.
    pub(super) root: bool,
    pub(super) archive: Option<ArchiveView>,
    /// The key; empty where it is not needed.
    pub(super) key: String,
    pub(super) key_type: &'static str,
    /// On MySQL and MariaDB: that of row `t`, and of row `l` of a work table, for a column that takes texts.
    key_told: String,
    id_told: String,
    /// The columns that refer to the root of a row's family.
    pub(super) family: Vec<String>,
    /// The one of them that refers to the root of the whole family, unless this is where it is itself.
    pub(super) with_root: String,
    /// What a row must be to be one of the rule.
    pub(super) conditions: Vec<String>,
    /// The same of a row whose own time says when it is deleted.
    pub(super) alone: Vec<String>,
    /// What it must be besides to be deleted: of no family that is kept, and named by nothing.
    pub(super) predicates: Vec<String>,
    /// Those of these that ask for no family.
    #[serde(skip)]
    besides: Vec<String>,
    /// Whether only a family that is kept keeps a row, and nothing else asks for its columns.
    pub(super) spared: bool,
    /// PostgreSQL: what finds the rows of the families `p_go` that name their root; empty where rows have no family.
    pub(super) of_roots: String,
    /// The variable or work table with the keys that are kept because something refers to them, or, in a window, rows of families
    /// that are kept name them; whether there is one, and what may refer.
    pub(super) named: String,
    pub(super) collects: bool,
    pub(super) referrers: Vec<ReferrerView>,
    /// Whether its rows are locked where foreign keys refer to them, as those of the root table are in any case.
    pub(super) referenced: bool,
    /// The same, where rows of it belong to families.
    pub(super) referenced_of_family: bool,
    /// What such a row of a window must be: of no family whose root is there, where families are deleted as such.
    pub(super) rootless: Vec<String>,
    /// The columns that name the family, or are its root.
    pub(super) belongs: Vec<String>,
    /// The work tables whose rows are kept, where there are no arrays; all, and those without the next.
    pub(super) stays: Vec<StayView>,
    pub(super) stays_before: Vec<StayView>,
    /// The list or work table with the keys of those of no family to which rows belong that are deleted later or never; empty where
    /// there is none. PostgreSQL: what row `t` must be to be looked at.
    pub(super) left: String,
    /// The list or work table with the keys of those that kept rows name; these rows; and that row `p` is of no family.
    pub(super) pinned: String,
    pub(super) pins: Vec<PinView>,
    pub(super) pinned_alone: Vec<String>,
    pub(super) left_of: Vec<String>,
    /// The lists of what is held besides, by which rows of it are kept.
    pub(super) held: Vec<String>,
    /// How rows `r` of other families may name row `t` of the family `n`, and where that refers to no root, but an instance of the
    /// family in `m`, rows `x`.
    pub(super) namers: Vec<NamerView>,
    pub(super) adopted_namers: Vec<NamerView>,
    /// How rows are found by the root of their family, each of them once.
    pub(super) found: Vec<FoundView>,
    /// How the root of row `t` is joined where it keeps the row, by each column that may name it.
    pub(super) roots: Vec<RootView>,
    /// How rows are found that name no root; that row `t` is none of an instance that keeps it.
    pub(super) adopt: Option<AdoptView>,
    pub(super) spares: Vec<String>,
    /// That a hold of another rule keeps row `t`, or what is its: one of these.
    pub(super) bound: Vec<String>,
    /// That none does, for the statements of windows; empty where no other rule reaches the table.
    pub(super) unbound: Vec<String>,
    /// PostgreSQL: the list of those in a window that name no root, and that rows of a family name; its rows of windows
    /// that are kept with a family are looked up in it. Empty where there is none.
    pub(super) whose: String,
}

/// How rows of a table are named: by which columns, and that it is by others, which have this key.
#[derive(PartialEq)]
struct Named {
    pairs: Vec<(String, String)>,
    others: Option<String>,
}

impl Named {
    /// That the row with one alias names that with another.
    fn on(&self, row: &str, named: &str) -> String {
        let on = via::compare(&self.pairs, row, named);
        match &self.others {
            Some(key) => format!("{on} AND {row}.{key} <> {named}.{key}"),
            None => on,
        }
    }
}

/// Rows `t` that keep the rows `p` of a window which they name, unless they are deleted before these, or with them.
#[derive(Serialize)]
pub(super) struct PinView {
    /// The place of their table among the rule's, and that.
    place: usize,
    table: String,
    on: String,
    /// PostgreSQL: what they must be to be deleted, besides that no family keeps them.
    goes: Vec<String>,
    /// MySQL and MariaDB: the work tables by which they are kept.
    stays: Vec<StayView>,
    /// Their families, of which each may be NULL: what a preview or a dry run has counted is gone.
    families: Vec<String>,
}

/// How rows of a table name rows `t`.
#[derive(Serialize)]
pub(super) struct NamerView {
    /// What names them, for a comment.
    pub(super) why: String,
    /// The table of the rows, and that one of them names row `t`.
    pub(super) table: String,
    pub(super) on: String,
    /// The family of such a row, or NULL; where it has several, that it is deleted with none that is that of row `t`.
    pub(super) family: String,
    pub(super) apart: Vec<String>,
}

/// An alias of the root table, and that it is the root.
#[derive(Serialize)]
pub(super) struct RootView {
    pub(super) alias: String,
    pub(super) on: String,
}

/// A column that refers to the root, and those that have found a row before.
#[derive(Serialize)]
pub(super) struct FoundView {
    pub(super) column: String,
    pub(super) before: Vec<StayView>,
}

/// A work table, its alias, and the column of the member that is looked up in it.
#[derive(Clone, Serialize)]
pub(super) struct StayView {
    pub(super) work: String,
    pub(super) alias: String,
    pub(super) column: String,
}

#[derive(Serialize)]
pub(super) struct ReferrerView {
    pub(super) table: String,
    pub(super) column: String,
}

impl MemberView {
    /// Whether something may refer to rows that name no root and are of the family of what names them.
    pub(super) fn is_tied_by_name(&self) -> bool {
        let adopt = self.adopt.as_ref();
        !self.referrers.is_empty() && adopt.is_some_and(|it| !it.named.is_empty())
    }

    /// Whether holds of other rules may keep rows of families.
    pub(super) fn is_bound_by_family(&self) -> bool {
        !self.bound.is_empty() && !self.belongs.is_empty()
    }

    /// Whether they may keep rows that name no root.
    pub(super) fn is_bound_adopted(&self) -> bool {
        !self.bound.is_empty() && self.adopt.is_some()
    }

    /// The work tables that only its rows need.
    pub(super) fn works(&self) -> Vec<WorkView> {
        let (table, key, rows) = (&self.table, &self.key, &self.table_name);
        let keys = |name: &str, why: &str| {
            (!name.is_empty())
                .then(|| WorkView::keys(name, table, key, format!("The rows of {rows} {why}.")))
        };
        let why = if self.referrers.is_empty() {
            "that kept rows name"
        } else {
            "that something refers to"
        };
        let named = keys(&self.named, why).filter(|_| self.collects);
        let adopted = self.adopt.as_ref().and_then(|it| it.work(table, rows));
        let left = keys(
            &self.left,
            "of no family to which others belong that are deleted later or never",
        );
        let pinned = keys(&self.pinned, "that kept rows name");
        [named, adopted, left, pinned]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Whether nothing else than its family keeps a row.
    fn can_be_spared(&self) -> bool {
        !self.root
            && !self.belongs.is_empty()
            && !self.collects
            && self.bound.is_empty()
            && self.archive.is_none()
    }
}

/// What finds the rows `t` that name one of several roots.
pub(super) fn any_of(columns: &[String], roots: &str) -> String {
    let each = columns.iter();
    each.map(|column| format!("t.{column} = ANY ({roots})"))
        .collect::<Vec<_>>()
        .join(" OR ")
}

/// That column `column` of row `t` is in none of a list.
fn spares(column: &str, list: &str) -> String {
    let stays = among(&format!("t.{column}"), list);
    format!("({stays}) IS NOT TRUE")
}

/// The tables of a rule, and what keeps their rows.
pub(super) struct Tables<'a> {
    pub(super) graph: &'a Graph,
    pub(super) rule: &'a Rule,
    pub(super) timed: &'a Timed,
    pub(super) roots: &'a Roots,
    pub(super) others: &'a Others,
    pub(super) dialect: Dialect,
}

impl Tables<'_> {
    /// Their views.
    pub(super) fn members(&self) -> Vec<MemberView> {
        let members = self.timed.members.iter().zip(1..);
        let mut views: Vec<MemberView> = members
            .map(|(member, position)| self.member(position, member))
            .collect();
        self.say_left(&mut views);
        views
    }

    /// One of them, by its position from 1.
    fn member(&self, position: usize, member: &Member) -> MemberView {
        let Tables {
            graph,
            rule,
            timed,
            roots,
            others,
            dialect,
        } = *self;
        let table = graph.table(member.table);
        let root = member.table == rule.root;
        let by_family = timed.unit == Unit::Family;
        let key = table.key.first();
        let key = key.map_or_else(String::new, |key| dialect.ident(&key.name));
        let family: Vec<String> = member
            .family
            .iter()
            .map(|column| dialect.ident(column))
            .collect();
        let archive = archive::view(graph, rule, member.table, dialect);
        let belongs = self.belongs(member);
        let named = match dialect {
            Dialect::Postgres => format!("o_named_{position}"),
            Dialect::Mysql | Dialect::Mariadb => format!("work_named_{position}"),
        };
        let families: Vec<String> = if root {
            vec![roots.family_of("t", dialect)]
        } else {
            family.iter().map(|column| format!("t.{column}")).collect()
        };
        let adopter = Adopter::new(graph, rule, timed, roots, dialect);
        let adopt = adopter.as_ref().and_then(|it| it.view(member));
        let kept = |place: usize| match dialect {
            Dialect::Postgres => "k.o_keep".to_owned(),
            Dialect::Mysql | Dialect::Mariadb => format!("work_keep_{}", belongs.len() + 1 + place),
        };
        let spares_adopted = adopter.as_ref().map(|it| it.spares(member, kept));
        let whose = self.whose(position, adopt.as_ref());
        let of_others: Vec<&Kept> = others.of(member.table).collect();
        let bound = above::of_member(graph, rule, member.table, dialect);
        let referenced = !root && kept::is_referenced(graph, member.table);
        let mut view = MemberView {
            position,
            table_name: escaped(dialect, &table.name),
            table_literal: dialect.text(&table.name),
            why: escaped(dialect, &self.why(member, &table.name)),
            root,
            key_type: table.key.first().map_or("", |key| dialect.kind(key.kind)),
            key_told: key_told(table, &format!("t.{key}")),
            id_told: key_told(table, "l.id"),
            with_root: match family.first() {
                Some(first) if *first != key => first.clone(),
                _ => String::new(),
            },
            family,
            conditions: Vec::new(),
            alone: Vec::new(),
            predicates: Vec::new(),
            besides: Vec::new(),
            spared: false,
            of_roots: any_of(&belongs, "p_go"),
            adopt,
            spares: spares_adopted.unwrap_or_default(),
            unbound: bound.iter().map(|held| format!("NOT {held}")).collect(),
            bound,
            whose,
            held: of_others.iter().map(|kept| kept.list.clone()).collect(),
            named,
            collects: false,
            namers: self.namers(member, "r", "n.id"),
            adopted_namers: Vec::new(),
            referrers: self.referrers(member),
            referenced,
            referenced_of_family: referenced && !belongs.is_empty(),
            rootless: Vec::new(),
            found: found(&belongs),
            belongs,
            stays: Vec::new(),
            stays_before: Vec::new(),
            left: String::new(),
            pinned: String::new(),
            pins: Vec::new(),
            pinned_alone: Vec::new(),
            left_of: Vec::new(),
            roots: self.root_views(&families),
            table: table_name(graph, dialect, &table.name),
            archive,
            key,
        };
        if view.adopt.is_some() {
            view.adopted_namers = self.namers(member, "x", "m.family");
        }
        let mut in_windows = view.adopt.iter().filter(|_| !by_family);
        view.collects = !view.referrers.is_empty() || in_windows.any(|it| !it.named.is_empty());
        view.spared = !by_family && view.can_be_spared();
        view.stays = stays(&view, &of_others);
        view.stays_before = view.stays.clone();
        self.say(&mut view, &families, &of_others);
        view
    }

    /// PostgreSQL: what the rows of families name, though it refers to no root itself, is looked for once in a window.
    fn whose(&self, position: usize, adopt: Option<&AdoptView>) -> String {
        let by_family = self.timed.unit == Unit::Family;
        match (self.dialect, adopt) {
            (Dialect::Postgres, Some(adopt)) if by_family && !adopt.named.is_empty() => {
                format!("o_whose_{position}")
            }
            _ => String::new(),
        }
    }

    /// The columns by which rows of a table are found by their family.
    pub(super) fn belongs(&self, member: &Member) -> Vec<String> {
        let mut columns: Vec<&String> = member.family.iter().collect();
        if member.table == self.rule.root {
            // The root of a family need not name itself.
            let key = self.graph.table(member.table).key.iter();
            let key = key.map(|key| &key.name).take(1);
            columns.extend(key.filter(|key| !member.family.contains(*key)));
        }
        let columns = columns.into_iter();
        columns.map(|column| self.dialect.ident(column)).collect()
    }

    /// How the root of a row is found by each of its columns, where families are deleted as such.
    fn root_views(&self, families: &[String]) -> Vec<RootView> {
        let families = families.iter().enumerate();
        families
            .filter(|_| self.timed.unit == Unit::Family)
            .map(|(index, family)| {
                let alias = format!("f{}", index + 1);
                let on = self.roots.at(&alias, family, self.dialect);
                RootView { alias, on }
            })
            .collect()
    }

    /// The tables besides the rule that refer to rows of a member.
    fn referrers(&self, member: &Member) -> Vec<ReferrerView> {
        let references = self.timed.references.iter();
        references
            .filter(|reference| reference.to == member.table)
            .map(|reference| ReferrerView {
                table: table_name(self.graph, self.dialect, &reference.table),
                column: self.dialect.ident(&reference.column),
            })
            .collect()
    }

    /// Says what rows of a table must be to be of the rule, and to be deleted.
    fn say(&self, view: &mut MemberView, families: &[String], of_others: &[&Kept]) {
        let by_family = self.timed.unit == Unit::Family;
        let candidates = self.rule.candidates.iter().filter(|_| view.root);
        let conditions: Vec<String> = candidates
            .map(|condition| self.dialect.condition_of("t", condition))
            .collect();
        let mut alone = conditions.clone();
        if by_family {
            let missing = |family: &String| self.roots.missing(family, self.dialect);
            alone.extend(families.iter().map(missing));
        }
        view.rootless.clone_from(&alone);
        let mut predicates = alone.clone();
        if view.whose.is_empty() {
            predicates.extend(view.spares.iter().cloned());
        } else {
            predicates.push(spares(&view.key, &format!("k.{}", view.whose)));
        }
        if by_family {
            alone.extend(view.spares.iter().cloned());
        }
        predicates.extend(view.belongs.iter().map(|column| spares(column, "k.o_keep")));
        // What else than a family keeps a row.
        let mut besides = view.unbound.clone();
        if view.collects {
            besides.push(spares(&view.key, &format!("k.{}", view.named)));
        }
        besides.extend(of_others.iter().map(|kept| {
            let stays = among(&kept.text("t"), &format!("k.{}", kept.list));
            format!("({stays}) IS NOT TRUE")
        }));
        predicates.extend(besides.iter().cloned());
        view.besides = besides;
        view.conditions = conditions;
        view.alone = alone;
        view.predicates = predicates;
    }

    /// How rows of other tables, or other rows of this one, belong to rows of a table that may be of no family.
    fn ways(&self, member: &Member) -> Vec<(TableId, Named)> {
        let Tables { graph, dialect, .. } = *self;
        let key = graph.table(member.table).key.first();
        let asks = self.timed.unit == Unit::Family && member.table != self.rule.root;
        let Some(key) = key.filter(|_| asks) else {
            return Vec::new();
        };
        let key = dialect.ident(&key.name);
        let names = |own: &Own, named: &str| {
            let pairs = vec![(dialect.ident(&own.column), named.to_owned())];
            (
                own.table,
                Named {
                    pairs,
                    others: None,
                },
            )
        };
        let owns = self.timed.stamps.iter().flat_map(|stamp| &stamp.own);
        let through = owns.filter(|own| own.of_root.is_none() && own.through == Some(member.table));
        let mut found: Vec<(TableId, Named)> = through.map(|own| names(own, &key)).collect();
        let mut others = self.timed.others();
        if let Some(other) = others.find(|other| other.root == member.table) {
            found.extend(
                other
                    .own
                    .iter()
                    .filter(|own| own.through.is_none())
                    .map(|own| {
                        let named = own.of_root.as_ref().map(|it| dialect.ident(it));
                        names(own, named.as_ref().unwrap_or(&key))
                    }),
            );
            found.extend(other.family.iter().map(|family| {
                let pairs = vec![(dialect.ident(family), key.clone())];
                let others = Some(key.clone());
                (member.table, Named { pairs, others })
            }));
        } else {
            for child in &self.timed.members {
                let edges = graph.table(child.table).parents();
                let edges = edges.filter(|edge| edge.parent == member.table);
                found.extend(edges.map(|edge| {
                    let pairs = via::pairs(edge, dialect);
                    (
                        child.table,
                        Named {
                            pairs,
                            others: None,
                        },
                    )
                }));
            }
        }
        let mut each: Vec<(TableId, Named)> = Vec::new();
        for way in found {
            if !each.contains(&way) {
                each.push(way);
            }
        }
        each
    }

    /// Says which rows of no family are kept because others belong to them.
    fn say_left(&self, views: &mut [MemberView]) {
        let Tables { timed, dialect, .. } = *self;
        for (index, member) in timed.members.iter().enumerate() {
            // Those of the table's own rows that are kept for others are not known yet.
            let before: Vec<String> = views[index]
                .predicates
                .iter()
                .map(|it| it.replace("k.o_", "o_"))
                .collect();
            let stays_before = views[index].stays.clone();
            let mut pins: Vec<PinView> = Vec::new();
            for (table, named) in self.ways(member) {
                let Some(place) = timed.members.iter().position(|it| it.table == table) else {
                    continue;
                };
                let child = &views[place];
                let mut families = self.families(&timed.members[place], "t");
                if families.is_empty() {
                    families.push(self.no_family());
                }
                pins.push(PinView {
                    place,
                    table: child.table.clone(),
                    on: named.on("t", "p"),
                    goes: child
                        .besides
                        .iter()
                        .map(|it| it.replace("k.o_", "o_"))
                        .collect(),
                    stays: child.stays.clone(),
                    families,
                });
            }
            if pins.is_empty() {
                continue;
            }
            let view = &mut views[index];
            let families = member.family.iter();
            view.pinned_alone = families
                .map(|column| {
                    self.roots
                        .missing(&format!("p.{}", dialect.ident(column)), dialect)
                })
                .collect();
            let key = format!("t.{}", view.key);
            (view.left, view.pinned) = match dialect {
                Dialect::Postgres => (
                    format!("o_left_{}", index + 1),
                    format!("v_pinned_{}", index + 1),
                ),
                Dialect::Mysql | Dialect::Mariadb => (
                    format!("work_left_{}", index + 1),
                    format!("work_pinned_{}", index + 1),
                ),
            };
            view.left_of = before;
            match dialect {
                Dialect::Postgres => {
                    let left = spares(&view.key, &format!("k.{}", view.left));
                    view.left_of.push(among(&key, &view.pinned));
                    view.besides.push(left.clone());
                    view.predicates.push(left);
                }
                Dialect::Mysql | Dialect::Mariadb => {
                    view.stays_before = stays_before;
                    view.stays.push(StayView {
                        work: view.left.clone(),
                        alias: "l".to_owned(),
                        column: view.key.clone(),
                    });
                }
            }
            view.pins = pins;
        }
    }

    /// The family of a row that is of none.
    pub(super) fn no_family(&self) -> String {
        let key = &self.graph.table(self.rule.root).key[0];
        match self.dialect {
            Dialect::Postgres => format!("NULL::{}", self.dialect.kind(key.kind)),
            Dialect::Mysql | Dialect::Mariadb => "NULL".to_owned(),
        }
    }

    /// The families of a row, as expressions that may be NULL.
    pub(super) fn families(&self, member: &Member, row: &str) -> Vec<String> {
        let Tables {
            graph,
            rule,
            timed,
            roots,
            dialect,
            ..
        } = *self;
        adopt::families(graph, rule, timed, roots, member, row, dialect)
    }

    /// What a deletion from the table is for.
    fn why(&self, member: &Member, table: &str) -> String {
        let by_family = self.timed.unit == Unit::Family;
        let root = member.table == self.rule.root;
        let what = match (root, member.family.is_empty(), self.timed.members.len()) {
            (_, _, 1) => "rows that are old enough",
            (true, _, _) if by_family => "remains of families without a root",
            (true, _, _) => "the families themselves",
            (_, true, _) => "its rows belong to no family",
            _ if by_family => "rows of no family",
            _ => "rows of the families, and of none",
        };
        format!("{table}: {what}.")
    }
}

/// How rows are found by each column that names their family, each row once.
fn found(belongs: &[String]) -> Vec<FoundView> {
    (0..belongs.len())
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
        .collect()
}

/// The work tables with what keeps rows of a table.
fn stays(view: &MemberView, of_others: &[&Kept]) -> Vec<StayView> {
    let mut stays: Vec<StayView> = view
        .belongs
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
    if view.collects {
        stays.push(StayView {
            work: view.named.clone(),
            alias: "n".to_owned(),
            column: view.key.clone(),
        });
    }
    for (number, kept) in (1..).zip(of_others) {
        stays.push(StayView {
            work: kept.list.clone(),
            alias: format!("h{number}"),
            column: kept.column.clone(),
        });
    }
    stays
}

/// The key of a row of a table for a column that takes texts, on MySQL and MariaDB.
fn key_told(table: &Table, value: &str) -> String {
    let kind = table.key.first().map_or(Kind::Varchar, |key| key.kind);
    told(kind, value)
}
