//! The templates, and what they are shown.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::{layout, marks, monitoring};

/// The template sources, by dialect folder and file name.
pub(super) const TEMPLATES: &[(&str, &str, &str)] = &[
    (
        "postgres",
        "36_waits.sql",
        include_str!("../../templates/postgres/36_waits.sql"),
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
        "30_partition.sql",
        include_str!("../../templates/postgres/30_partition.sql"),
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
        "below.sql",
        include_str!("../../templates/mysql/below.sql"),
    ),
    (
        "mysql",
        "claims.sql",
        include_str!("../../templates/mysql/claims.sql"),
    ),
    (
        "mysql",
        "held.sql",
        include_str!("../../templates/mysql/held.sql"),
    ),
    (
        "mysql",
        "needed.sql",
        include_str!("../../templates/mysql/needed.sql"),
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
        "31_shadows.sql",
        include_str!("../../templates/mysql/31_shadows.sql"),
    ),
    (
        "mysql",
        "36_waits.sql",
        include_str!("../../templates/mysql/36_waits.sql"),
    ),
    (
        "mysql",
        "45_backlog.sql",
        include_str!("../../templates/mysql/45_backlog.sql"),
    ),
    (
        "mysql",
        "20_indexes.sql",
        include_str!("../../templates/mysql/20_indexes.sql"),
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
        "30_partition.sql",
        include_str!("../../templates/mysql/30_partition.sql"),
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
        "metrics.query",
        include_str!("../../templates/monitoring/metrics.query"),
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

/// The templates of a folder. They are parsed once in the life of the process, when one is first needed.
#[derive(Clone, Copy)]
pub(super) struct Templates {
    folder: &'static str,
}

/// What has been parsed, by folder.
static PARSED: Mutex<BTreeMap<&str, Arc<tera::Tera>>> = Mutex::new(BTreeMap::new());

/// What templates are shown: the fields of a view by their names.
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

    /// Shows one more, or another of the same name.
    pub(super) fn show(&mut self, name: &'static str, value: &(impl Serialize + ?Sized)) {
        self.0.insert(name, value);
    }

    /// Shows one of the things in a list that is shown.
    pub(super) fn show_one(&mut self, name: &'static str, list: &str, at: usize) {
        let list = self.0.get(list).and_then(tera::Value::as_array);
        let one = list.and_then(|list| list.get(at)).cloned();
        self.0
            .insert_value(name, one.unwrap_or_else(tera::Value::none));
    }
}

impl Templates {
    /// Those of a folder.
    pub(super) fn of(folder: &'static str) -> Templates {
        Templates { folder }
    }

    /// The sources, by name.
    fn sources(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let sources = TEMPLATES.iter();
        sources.filter_map(move |(folder, name, source)| {
            (*folder == self.folder).then_some((*name, *source))
        })
    }

    /// Whether there is one of this name.
    pub(super) fn has(self, name: &str) -> bool {
        self.sources().any(|(known, _)| known == name)
    }

    /// The text of one of them.
    ///
    /// # Errors
    ///
    /// Fails only where a template is broken: the message names it.
    pub(super) fn text(self, name: &str, shown: &Shown) -> Result<String> {
        let text = self.parsed()?.render(name, &shown.0);
        text.with_context(|| format!("cannot render the template `{}/{name}`", self.folder))
    }

    /// All of them, parsed together: after each that is added, tera looks through all that there are.
    fn parsed(self) -> Result<Arc<tera::Tera>> {
        let mut parsed = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tera) = parsed.get(self.folder) {
            return Ok(Arc::clone(tera));
        }
        let mut tera = tera::Tera::default();
        tera.autoescape_on([""; 0]);
        tera.register_filter("fit", fit);
        tera.register_filter("those", those);
        let sources = self.sources();
        tera.add_raw_templates(sources.map(|(name, source)| (name, marks::signed(source))))
            .with_context(|| format!("cannot read the templates of `{}`", self.folder))?;
        let tera = parsed.entry(self.folder).or_insert(Arc::new(tera));
        Ok(Arc::clone(tera))
    }
}

/// The elements of a list whose field `attribute` is `value`.
fn those(
    list: &[tera::Value],
    named: tera::Kwargs,
    _: &tera::State,
) -> tera::TeraResult<tera::Value> {
    let attribute = named.must_get::<&str>("attribute")?;
    let value = named.must_get::<tera::Value>("value")?;
    let found = list
        .iter()
        .filter(|element| element.get_from_path(attribute) == Some(&value));
    Ok(tera::Value::from(found.cloned().collect::<Vec<_>>()))
}

/// Lays a statement out, on lines of its own.
fn fit(text: &str, _: tera::Kwargs, _: &tera::State) -> String {
    format!("\n{}", layout::fit(text))
}
