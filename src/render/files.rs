//! The files of an installation, from the templates and the kernel.

use anyhow::Result;

use super::archive::{self, ArchiveView};
use super::claims::{self, Asked};
use super::marks::{self, Routine};
use super::names::{control_name, table_name};
use super::sql::file;
use super::tables::looked_into;
use super::templates::{Shown, Templates};
use super::views::SpecView;
use super::works::Works;
use super::{document, kernel, layout, orphan_guard};
use crate::bundle::{File, Form, Kind, What};
use crate::dialect::Dialect;
use crate::graph::Graph;

/// The template of a file that an installation has, with what it is for; its rules come besides.
fn templates(view: &SpecView) -> Vec<(&'static str, &'static str)> {
    let guards = !view.guards.is_empty();
    let all = [
        (
            true,
            "00_database.sql",
            "the control database and the role of its routines",
        ),
        (
            true,
            "20_indexes.sql",
            "the indexes that the statements need and the application lacks",
        ),
        (
            true,
            "31_shadows.sql",
            "what could hide the tables of the application",
        ),
        (
            view.throttles.has_routines(),
            "36_waits.sql",
            "what runs wait for, as the spec has it",
        ),
        (
            !view.stamped.is_empty(),
            "42_stamp.sql",
            "setting removal times anew, on demand",
        ),
        (
            true,
            "45_backlog.sql",
            "how much is due, and how long ago what is kept ended",
        ),
        (
            guards,
            "48_orphan_guard.sql",
            "what refuses a row whose parent is gone or going",
        ),
        (true, "50_grants.sql", "the roles and their rights"),
        (
            guards,
            "52_triggers.sql",
            "the triggers that refuse a row whose parent is gone or going",
        ),
        (true, "60_schedule.sql", "the schedule"),
        (
            true,
            "90_uninstall.sql",
            "the undo of everything else; NOT part of an installation",
        ),
        (true, "verify.sql", "read-only checks, safe anywhere"),
    ];
    let used = all.into_iter().filter(|(used, ..)| *used);
    used.map(|(_, name, purpose)| (name, purpose)).collect()
}

/// Those that name what the others make, on MySQL and MariaDB.
const LATE: [&str; 3] = ["00_database.sql", "50_grants.sql", "52_triggers.sql"];

/// What a template made, by its marks.
pub(super) struct MarkedText<'a> {
    /// What it is of.
    pub(super) of: String,
    pub(super) routines: Vec<Routine>,
    pub(super) works: Works<'a>,
}

/// Makes the files of an installation.
pub(super) struct Press<'a> {
    graph: &'a Graph,
    dialect: Dialect,
    view: &'a SpecView,
    folder: Templates,
    pub(super) shown: Shown,
}

impl<'a> Press<'a> {
    /// # Errors
    ///
    /// Never: a view is a map of names.
    pub(super) fn new(graph: &'a Graph, dialect: Dialect, view: &'a SpecView) -> Result<Self> {
        let mut shown = Shown::of(view)?;
        if dialect != Dialect::Postgres {
            shown.show("shadows", &shadows(graph, &view.archives, dialect));
        }
        Ok(Press {
            graph,
            dialect,
            view,
            folder: Templates::of(dialect.facts().templates),
            shown,
        })
    }

    /// All files of a form, sorted: numbers and names say in which order they are applied.
    ///
    /// # Errors
    ///
    /// Fails only where a template is broken: the message names it.
    pub(super) fn files(&mut self, form: Form) -> Result<Vec<File>> {
        let mut files = self.early()?;
        for (template, purpose) in templates(self.view) {
            if LATE.contains(&template) && self.folder.has(template) {
                if template == "52_triggers.sql" && self.dialect != Dialect::Postgres {
                    self.shown.show("triggers", &[(); 0]);
                    let draft = [self.file(template, template, purpose)?];
                    let triggers = orphan_guard::triggers(&draft, self.dialect);
                    self.shown.show("triggers", &triggers);
                }
                files.push(self.file(template, template, purpose)?);
            }
        }
        if form == Form::Client {
            let beside = document::beside(self.graph, self.dialect);
            for kernel in kernel::files(self.graph, self.dialect) {
                let SpecView { control, told, .. } = self.view;
                let owner = &self.view.accounts.owner;
                let text = kernel.text(self.dialect, control, owner, told, &beside);
                let path = self.path(kernel.name);
                let purpose = kernel.purpose;
                files.push(file(self.graph, self.dialect, path, purpose, &text, true));
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// The files that name nothing of others, and what there is to know of them for those that do.
    ///
    /// # Errors
    ///
    /// As [`Press::files`].
    pub(super) fn early(&mut self) -> Result<Vec<File>> {
        let mut files = Vec::new();
        for (template, purpose) in templates(self.view) {
            if !LATE.contains(&template) && self.folder.has(template) {
                files.push(self.file(template, template, purpose)?);
            }
        }
        for (at, rule) in self.view.rules.iter().enumerate() {
            self.shown.show_one("rule", "rules", at);
            let purpose = format!(
                "the rule {}: what may be deleted, and the statements that delete it",
                rule.name
            );
            let name = format!("30_{}.sql", rule.name);
            files.push(self.file(rule.strategy.template(), &name, &purpose)?);
        }
        if self.dialect != Dialect::Postgres {
            self.learn(&files)?;
        }
        Ok(files)
    }

    /// The texts of the rules and of what stamps them, with their marks.
    ///
    /// # Errors
    ///
    /// As [`Press::files`].
    pub(super) fn marked(&mut self) -> Result<Vec<MarkedText<'a>>> {
        let mut texts = Vec::new();
        for (at, rule) in self.view.rules.iter().enumerate() {
            self.shown.show_one("rule", "rules", at);
            let text = self.folder.text(rule.strategy.template(), &self.shown)?;
            texts.push(MarkedText {
                of: format!("rule {}", rule.name),
                routines: marks::routines(&text),
                works: rule.works(),
            });
        }
        for stamp in &self.view.stamped {
            self.shown.show("stamped", &[stamp]);
            let text = self.folder.text("42_stamp.sql", &self.shown)?;
            texts.push(MarkedText {
                of: "stamp".to_owned(),
                routines: marks::routines(&text),
                works: Works {
                    types: &stamp.types,
                    made: Vec::new(),
                    copies: Vec::new(),
                },
            });
        }
        Ok(texts)
    }

    /// Some files of MySQL and MariaDB name what others make.
    fn learn(&mut self, early: &[File]) -> Result<()> {
        let dialect = self.dialect;
        let kernel = kernel::files(self.graph, dialect);
        let kernel = kernel.iter().flat_map(|file| {
            let made = file.statements(dialect, &self.view.control, &self.view.told);
            made.into_iter().map(|what| (file.name, what))
        });
        let own = early.iter().flat_map(|file| {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            let statements = file.statements.iter();
            statements.map(move |statement| (name, statement.what.clone()))
        });
        let made: Vec<(&str, What)> = kernel.chain(own).collect();
        let tables = made
            .iter()
            .filter_map(|(_, what)| what.made())
            .filter(|made| made.kind == Kind::Table);
        let ledger: Vec<String> = tables
            .map(|made| dialect.text(&dialect.bare(made.bare())))
            .collect();
        let readable = made.iter().filter(|(file, _)| *file < "50_");
        let readable = readable.filter_map(|(_, what)| what.made());
        let readable = archive::readable(&self.view.archives, readable);
        self.shown.show("ledger", &in_lines(&ledger));
        self.shown.show("readable", &readable);
        let claims = claims::query("claims.sql", dialect, &mut self.shown, Asked::Installing)?;
        self.shown.show("claims", &claims);
        for name in ["held", "needed"] {
            let template = format!("{name}.sql");
            let text = claims::query(&template, dialect, &mut self.shown, Asked::Installing)?;
            self.shown.show(name, &text);
        }
        Ok(())
    }

    fn path(&self, name: &str) -> String {
        let folder = self.dialect.facts().folder;
        format!("{}/{folder}/{name}", self.graph.name)
    }

    /// The file that a template makes.
    fn file(&self, template: &str, name: &str, purpose: &str) -> Result<File> {
        let body = marks::unmarked(&self.folder.text(template, &self.shown)?);
        let body = match self.dialect {
            Dialect::Postgres => layout::heads(&body),
            Dialect::Mysql | Dialect::Mariadb => {
                layout::signatures(&body, &self.view.accounts.owner)
            }
        };
        // Queries of the spec are its own text, and may have lines of a string in them.
        let body = match self.view.throttles.has_queries() {
            true if name == "36_waits.sql" => body,
            _ => layout::wrapped(&body),
        };
        let path = self.path(name);
        Ok(file(self.graph, self.dialect, path, purpose, &body, false))
    }
}

/// The tables of the application that the routines of MySQL and MariaDB read, the archives, and what is taken out of tables.
fn shadows(graph: &Graph, archives: &[ArchiveView], dialect: Dialect) -> Vec<String> {
    let tables = graph.tables.iter().map(|table| &table.name);
    let archives = archives
        .iter()
        .flat_map(|archive| [&archive.archive, &archive.entry]);
    let partitioned = graph.rules.iter().filter(|rule| rule.drops_partitions());
    let taken = partitioned.map(|rule| {
        let name = dialect.ident(&format!("{}_taken", rule.name));
        format!("{}.{name}", control_name(graph))
    });
    let mut names: Vec<String> = tables
        .map(|name| table_name(graph, dialect, name))
        .chain(looked_into(graph, &[], dialect))
        .chain(archives.cloned())
        .chain(taken)
        .collect();
    names.sort();
    names.dedup();
    names
}

/// A list on lines of at most about a hundred characters.
fn in_lines(words: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < 100 => line.extend([", ", word]),
            _ => lines.push(word.clone()),
        }
    }
    lines.join(",\n")
}
