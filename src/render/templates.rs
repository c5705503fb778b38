//! The templates, and what they are shown.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

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
        "alerts.yml",
        include_str!("../../templates/monitoring/alerts.yml"),
    ),
    (
        monitoring::FOLDER,
        "dashboard.json",
        include_str!("../../templates/monitoring/dashboard.json"),
    ),
];

/// The templates of a folder. Each is parsed once in the life of the process, when it is first needed.
#[derive(Clone, Copy)]
pub(super) struct Templates {
    folder: &'static str,
}

/// What has been parsed, by folder.
static PARSED: RwLock<BTreeMap<&str, tera::Tera>> = RwLock::new(BTreeMap::new());

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
}

impl Templates {
    /// Those of a folder.
    pub(super) fn of(folder: &'static str) -> Templates {
        Templates { folder }
    }

    /// The source of one of them.
    fn source(self, name: &str) -> Option<&'static str> {
        let found = TEMPLATES
            .iter()
            .find(|(folder, known, _)| *folder == self.folder && *known == name);
        found.map(|(_, _, source)| *source)
    }

    /// Whether there is one of this name.
    pub(super) fn has(self, name: &str) -> bool {
        self.source(name).is_some()
    }

    /// The text of one of them.
    ///
    /// # Errors
    ///
    /// Fails only where the template is broken: the message names it.
    pub(super) fn text(self, name: &str, shown: &Shown) -> Result<String> {
        loop {
            let parsed = PARSED.read().unwrap_or_else(PoisonError::into_inner);
            match parsed.get(self.folder) {
                Some(tera) if tera.get_template_names().any(|known| known == name) => {
                    return tera.render(name, &shown.0).with_context(|| {
                        format!("cannot render the template `{}/{name}`", self.folder)
                    });
                }
                _ => drop(parsed),
            }
            self.parse(name)?;
        }
    }

    /// Parses a template with those that it includes and whose components it calls.
    fn parse(self, name: &str) -> Result<()> {
        let mut parsed = PARSED.write().unwrap_or_else(PoisonError::into_inner);
        let tera = parsed.entry(self.folder).or_insert_with(|| {
            let mut tera = tera::Tera::default();
            tera.autoescape_on([""; 0]);
            tera.register_filter("fit", fit);
            tera.register_filter("those", those);
            tera
        });
        let mut needed = vec![name];
        let mut at = 0;
        while let Some(name) = needed.get(at) {
            let source = self.source(name).unwrap_or_default();
            let included = source.split("{% include \"").skip(1);
            let called = COMPONENTS
                .iter()
                .filter(|(prefix, _)| source.contains(prefix))
                .map(|(_, file)| *file);
            for other in included
                .filter_map(|rest| rest.split('"').next())
                .chain(called)
            {
                if !needed.contains(&other) {
                    needed.push(other);
                }
            }
            at += 1;
        }
        let sources = needed
            .iter()
            .filter(|name| !tera.get_template_names().any(|known| known == **name))
            .filter_map(|name| Some((*name, marks::signed(self.source(name)?))));
        let sources: Vec<_> = sources.collect();
        tera.add_raw_templates(sources)
            .with_context(|| format!("cannot read the template `{}/{name}`", self.folder))
    }
}

/// Which template has the components that are called so.
const COMPONENTS: [(&str, &str); 2] = [("<w.", "macros.sql"), ("<b.", "below.sql")];

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
