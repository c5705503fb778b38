//! The templates, parsed once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::monitoring;

/// The template sources, by dialect folder and file name.
pub(super) const TEMPLATES: &[(&str, &str, &str)] = &[
    (
        "postgres",
        "11_spec.sql",
        include_str!("../../templates/postgres/11_spec.sql"),
    ),
    (
        "postgres",
        "20_indexes.sql",
        include_str!("../../templates/postgres/20_indexes.sql"),
    ),
    (
        "postgres",
        "30_rule.sql",
        include_str!("../../templates/postgres/30_rule.sql"),
    ),
    (
        "postgres",
        "30_removal_time.sql",
        include_str!("../../templates/postgres/30_removal_time.sql"),
    ),
    (
        "postgres",
        "30_families.sql",
        include_str!("../../templates/postgres/30_families.sql"),
    ),
    (
        "postgres",
        "30_plain.sql",
        include_str!("../../templates/postgres/30_plain.sql"),
    ),
    (
        "postgres",
        "30_single.sql",
        include_str!("../../templates/postgres/30_single.sql"),
    ),
    (
        "postgres",
        "42_stamp.sql",
        include_str!("../../templates/postgres/42_stamp.sql"),
    ),
    (
        "postgres",
        "48_orphan_guard.sql",
        include_str!("../../templates/postgres/48_orphan_guard.sql"),
    ),
    (
        "postgres",
        "52_triggers.sql",
        include_str!("../../templates/postgres/52_triggers.sql"),
    ),
    (
        "postgres",
        "50_grants.sql",
        include_str!("../../templates/postgres/50_grants.sql"),
    ),
    (
        "postgres",
        "verify.sql",
        include_str!("../../templates/postgres/verify.sql"),
    ),
    (
        "postgres",
        "macros.sql",
        include_str!("../../templates/postgres/macros.sql"),
    ),
    (
        "mysql",
        "macros.sql",
        include_str!("../../templates/mysql/macros.sql"),
    ),
    (
        "mysql",
        "claims.sql",
        include_str!("../../templates/mysql/claims.sql"),
    ),
    (
        "mysql",
        "rights.sql",
        include_str!("../../templates/mysql/rights.sql"),
    ),
    (
        "mysql",
        "00_database.sql",
        include_str!("../../templates/mysql/00_database.sql"),
    ),
    (
        "mysql",
        "11_spec.sql",
        include_str!("../../templates/mysql/11_spec.sql"),
    ),
    (
        "mysql",
        "32_tables.sql",
        include_str!("../../templates/mysql/32_tables.sql"),
    ),
    (
        "mysql",
        "47_backlog.sql",
        include_str!("../../templates/mysql/47_backlog.sql"),
    ),
    (
        "mysql",
        "20_indexes.sql",
        include_str!("../../templates/mysql/20_indexes.sql"),
    ),
    (
        "mysql",
        "25_archive.sql",
        include_str!("../../templates/mysql/25_archive.sql"),
    ),
    (
        "mysql",
        "30_rule.sql",
        include_str!("../../templates/mysql/30_rule.sql"),
    ),
    (
        "mysql",
        "30_plain.sql",
        include_str!("../../templates/mysql/30_plain.sql"),
    ),
    (
        "mysql",
        "30_removal_time.sql",
        include_str!("../../templates/mysql/30_removal_time.sql"),
    ),
    (
        "mysql",
        "30_families.sql",
        include_str!("../../templates/mysql/30_families.sql"),
    ),
    (
        "mysql",
        "30_single.sql",
        include_str!("../../templates/mysql/30_single.sql"),
    ),
    (
        "mysql",
        "42_stamp.sql",
        include_str!("../../templates/mysql/42_stamp.sql"),
    ),
    (
        "mysql",
        "44_unarchive.sql",
        include_str!("../../templates/mysql/44_unarchive.sql"),
    ),
    (
        "mysql",
        "50_grants.sql",
        include_str!("../../templates/mysql/50_grants.sql"),
    ),
    (
        "mysql",
        "52_triggers.sql",
        include_str!("../../templates/mysql/52_triggers.sql"),
    ),
    (
        "mysql",
        "60_schedule.sql",
        include_str!("../../templates/mysql/60_schedule.sql"),
    ),
    (
        "mysql",
        "90_uninstall.sql",
        include_str!("../../templates/mysql/90_uninstall.sql"),
    ),
    (
        "mysql",
        "verify.sql",
        include_str!("../../templates/mysql/verify.sql"),
    ),
    (
        monitoring::FOLDER,
        "collector.yml",
        include_str!("../../templates/monitoring/collector.yml"),
    ),
    (
        monitoring::FOLDER,
        "alerts.yml",
        include_str!("../../templates/monitoring/alerts.yml"),
    ),
    (
        monitoring::FOLDER,
        "dashboard.json",
        include_str!("../../templates/monitoring/dashboard.json"),
    ),
];

/// The templates of a folder.
#[derive(Clone, Copy)]
pub(super) struct Templates {
    folder: &'static str,
    tera: &'static tera::Tera,
}

/// What templates are shown: the fields of a view by their names.
#[derive(Clone)]
pub(super) struct Shown(tera::Context);

impl Shown {
    /// The fields of a view.
    ///
    /// # Errors
    ///
    /// Fails where the view is no map of names.
    pub(super) fn of(view: &impl Serialize) -> Result<Shown> {
        Ok(Shown(tera::Context::from_serialize(view)?))
    }

    /// The same with one more.
    pub(super) fn with(&self, name: &str, value: &(impl Serialize + ?Sized)) -> Shown {
        let mut shown = self.clone();
        shown.0.insert(name, value);
        shown
    }
}

impl Templates {
    /// Those of a folder. They are parsed once in the life of the process, where they are needed: it takes most of the time
    /// of rendering.
    ///
    /// # Errors
    ///
    /// Fails only where a template is broken.
    pub(super) fn of(folder: &'static str) -> Result<Templates> {
        static PARSED: Mutex<BTreeMap<&str, &tera::Tera>> = Mutex::new(BTreeMap::new());
        let mut parsed = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tera) = parsed.get(folder) {
            return Ok(Templates { folder, tera });
        }
        let sources = TEMPLATES.iter().filter(|(of, ..)| *of == folder);
        let mut tera = tera::Tera::default();
        tera.autoescape_on(Vec::new());
        tera.add_raw_templates(sources.map(|(_, name, source)| (name, source)))
            .with_context(|| format!("cannot read the templates of `{folder}`"))?;
        let tera = &*Box::leak(Box::new(tera));
        parsed.insert(folder, tera);
        Ok(Templates { folder, tera })
    }

    /// Whether there is one of this name.
    pub(super) fn has(self, name: &str) -> bool {
        self.tera.get_template_names().any(|known| known == name)
    }

    /// The text of one of them.
    ///
    /// # Errors
    ///
    /// Fails only where the template is broken: the message names it.
    pub(super) fn text(self, name: &str, shown: &Shown) -> Result<String> {
        self.tera
            .render(name, &shown.0)
            .with_context(|| format!("cannot render the template `{}/{name}`", self.folder))
    }
}
