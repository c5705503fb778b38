//! `inspect`: a spec drafted from a live database.

use std::time::{Duration, Instant};

use super::answer::{Exit, show};
use super::session::address;
use crate::answers::{Candidate, Candidates, Drafted};
use crate::catalog::{Catalog, CatalogTable};
use crate::cli::Inspect;
use crate::db::url::{Scheme, Url};
use crate::db::{self, Database};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::inspect::draft;
use crate::inspect::edges::{self, Share};
use crate::inspect::ends::{self, Ends, Numbers, State, Time};
use crate::inspect::family::{self, Guess, Guesses};
use crate::inspect::samples::Samples;
use crate::report;
use crate::ui::Ui;

/// The longest that one statement may take, in seconds.
const STATEMENT: u64 = 5;

/// How many tables are listed that look like roots.
const MOST: usize = 10;

/// Drafts a spec, or lists what could be a root.
pub(super) fn inspect(args: &Inspect, ui: &Ui) -> anyhow::Result<Exit> {
    let url = address(args.at.database.as_ref(), args.at.password_file.as_deref())?;
    let schema = schema(args, &url)?;
    let mut database = db::connect(&url)?;
    let dialect = database.server()?.dialect;
    let until = Instant::now() + Duration::from_secs(args.timeout);
    // The catalog of many tables takes longer than a sample.
    bound(database.as_mut(), dialect, args.timeout.max(STATEMENT))?;
    let catalog = database.catalog(&schema)?;
    bound(database.as_mut(), dialect, STATEMENT)?;
    if catalog.tables.is_empty() {
        return Err(
            Failure::new(format!("this account sees no table in `{schema}`"))
                .hint("name the schema with --schema, or use an account that may read the tables")
                .into(),
        );
    }
    let mut look = Look {
        samples: Samples {
            dialect,
            schema: &catalog.schema,
        },
        database: database.as_mut(),
        until,
    };
    let Some(root) = &args.root else {
        let found = roots(&catalog, &mut look);
        show(ui, args.output, &found, || report::candidates(&found));
        ui.note("name one of them: windrow inspect --root TABLE");
        return Ok(Exit::Clean);
    };
    let root = named(&catalog, root)?;
    let numbers = look.numbers(&catalog, &root);
    let mut ends = Ends::named(&catalog, &catalog.tables[&root], numbers);
    let times = look.times(&catalog, &root, &ends);
    ends.see(&catalog, &catalog.tables[&root], times);
    let found = family::find(&catalog, &Guesses::new(&catalog), &root, &mut |guess| {
        look.share(guess, ends.end.as_deref().filter(|_| guess.parent == root))
    });
    ends.states = look.states(&catalog, &root, &ends);
    let oldest = look.oldest(&catalog, &root, &ends);
    let draft = draft::write(&catalog, &found, &ends, oldest).map_err(Failure::new)?;
    let drafted = Drafted::new(root, draft);
    show(ui, args.output, &drafted, || {
        drafted.draft.trim_end().to_owned()
    });
    Ok(Exit::Clean)
}

/// From now on, the session writes nothing, and no statement takes longer than so many seconds.
fn bound(database: &mut dyn Database, dialect: Dialect, seconds: u64) -> anyhow::Result<()> {
    for setting in Samples::settings(dialect, seconds) {
        database.execute(&setting)?;
    }
    Ok(())
}

/// Where the tables are.
fn schema(args: &Inspect, url: &Url) -> anyhow::Result<String> {
    if let Some(schema) = &args.schema {
        return Ok(schema.clone());
    }
    match url.scheme {
        Scheme::Postgres => Ok("public".to_owned()),
        Scheme::Mysql | Scheme::Mariadb if url.database.is_empty() => {
            Err(Failure::new("the address names no database")
                .hint("add its name at the end of the address, or use --schema")
                .into())
        }
        Scheme::Mysql | Scheme::Mariadb => Ok(url.database.clone()),
    }
}

/// The root table, as the catalog spells it.
fn named(catalog: &Catalog, root: &str) -> anyhow::Result<String> {
    let same = |name: &&String| name.as_str() == root || name.to_lowercase() == root.to_lowercase();
    if catalog.tables.contains_key(root) {
        return Ok(root.to_owned());
    }
    if let Some(name) = catalog.tables.keys().find(same) {
        return Ok(name.clone());
    }
    Err(Failure::new(format!(
        "there is no table `{root}` in `{}`",
        catalog.schema
    ))
    .hint("without --root, windrow lists the tables that look like one")
    .into())
}

/// Looks at rows, until it has no more time.
struct Look<'a> {
    samples: Samples<'a>,
    database: &'a mut dyn Database,
    until: Instant,
}

impl Look<'_> {
    /// The rows of a statement, or why there are none.
    fn rows(&mut self, sql: &str) -> Result<Vec<db::Row>, String> {
        if Instant::now() > self.until {
            return Err("not sampled: the time was up (--timeout)".to_owned());
        }
        self.database
            .query(sql, &[])
            .map_err(|error| format!("not sampled: {}", error.to_string().trim_end_matches('.')))
    }

    fn share(&mut self, guess: &Guess, end: Option<&str>) -> Share {
        let mut share = match self.rows(&self.samples.share(guess, end)) {
            Ok(rows) => rows.first().map_or_else(Share::default, |row| Share {
                values: number(row, 0),
                found: number(row, 1),
                ended: end.map(|_| number(row, 2)),
                ..Share::default()
            }),
            Err(untold) => {
                return Share {
                    untold: Some(untold),
                    ..Share::default()
                };
            }
        };
        if share.found < share.values
            && let Ok(strays) = self.rows(&self.samples.strays(guess))
            && let Some(stray) = strays.first()
            && let Some(Some(value)) = stray.first()
            && ["0", "-1", ""].contains(&value.as_str())
        {
            share.values -= number(stray, 1);
            share.none = Some(value.clone());
        }
        share
    }

    /// The states of the root, and how many rows of each have an end.
    fn states(&mut self, catalog: &Catalog, root: &str, ends: &Ends) -> Vec<State> {
        if ends.end.is_none() && ends.state.is_none() {
            return Vec::new();
        }
        let live = &catalog.tables[root];
        let (state, end) = (ends.state.as_deref(), ends.end.as_deref());
        let end = end.map(|end| (end, ends.epoch(end)));
        let others = ends.other_ends(catalog, live).into_iter();
        let others: Vec<_> = others.map(|name| (name, ends.epoch(name))).collect();
        let sql = self
            .samples
            .states(root, live, state, end, ends.expires, &others);
        let rows = self.rows(&sql).unwrap_or_default();
        let states = rows.iter().map(|row| State {
            value: row[0].clone(),
            rows: number(row, 1),
            ended: end.map(|_| number(row, 2)),
            others: others
                .iter()
                .enumerate()
                .map(|(at, (name, _))| ((*name).to_owned(), number(row, 3 + at)))
                .collect(),
        });
        states.collect()
    }

    /// What the rows say of their times.
    fn times(&mut self, catalog: &Catalog, table: &str, ends: &Ends) -> Vec<Time> {
        let live = &catalog.tables[table];
        let times = ends.all_times(catalog, live);
        if times.is_empty() {
            return Vec::new();
        }
        let rows = self.rows(&self.samples.times(table, live, &times));
        let Some(row) = rows.ok().and_then(|rows| rows.into_iter().next()) else {
            return Vec::new();
        };
        let found = times.iter().enumerate().map(|(at, (name, _))| Time {
            column: (*name).to_owned(),
            rows: number(&row, 0),
            filled: number(&row, 1 + 3 * at),
            latest: number(&row, 2 + 3 * at),
            ahead: number(&row, 3 + 3 * at),
        });
        found.collect()
    }

    /// The columns of numbers that are instants by their names and by what they hold.
    fn numbers(&mut self, catalog: &Catalog, table: &str) -> Numbers {
        let live = &catalog.tables[table];
        let columns = ends::number_columns(catalog, live);
        let dates = ends::dates(live);
        if columns.is_empty() {
            return dates.collect();
        }
        let sql = self.samples.greatest(table, live, &columns);
        let rows = self.rows(&sql).unwrap_or_default();
        let greatest = rows.first().into_iter().flatten();
        let found = columns.iter().zip(greatest).filter_map(|(column, cell)| {
            let greatest = cell.as_ref()?.parse().ok()?;
            Some(((*column).to_owned(), ends::epoch_of(greatest)?))
        });
        found.chain(dates).collect()
    }

    /// How many days ago the first row of a table ended, or what replaces that.
    fn oldest(&mut self, catalog: &Catalog, table: &str, ends: &Ends) -> Option<i64> {
        let live = &catalog.tables[table];
        let time = ends.time(catalog, live)?;
        let sql = self.samples.oldest(table, live, time, ends.epoch(time));
        let rows = self.rows(&sql).ok()?;
        rows.first()?.first()?.as_ref()?.parse().ok()
    }
}

fn number(row: &db::Row, at: usize) -> i64 {
    row.get(at)
        .and_then(Option::as_deref)
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}

/// Whether a table may be a log, whose rows are deleted one by one.
fn is_log(live: &CatalogTable) -> bool {
    live.estimated_rows >= 1_000 && live.referenced_by.is_empty()
}

/// The tables that look like roots: their rows end, and many tables name them; of logs, the big ones. The biggest comes first, and of
/// tables of one size the one with the oldest rows.
fn roots(catalog: &Catalog, look: &mut Look<'_>) -> Candidates {
    let guesses = Guesses::new(catalog);
    let mut found: Vec<_> = catalog
        .tables
        .iter()
        .filter(|(_, live)| live.partition_of.is_none() && edges::root_key(catalog, live).is_some())
        .map(|(name, live)| {
            let ends = Ends::named(catalog, live, look.numbers(catalog, name));
            let by = family::find(catalog, &guesses, name, &mut |_| Share::default())
                .tables
                .len()
                - 1;
            (
                usize::from(ends.end.is_some()) * 20
                    + usize::from(ends.state.is_some() || ends.expiry(catalog, live).is_some())
                        * 10
                    + by.min(15),
                by,
                name,
                live,
                ends,
            )
        })
        .filter(|(score, .., live, ends)| {
            *score >= 10 || ends.time(catalog, live).is_some() && is_log(live)
        })
        .collect();
    found.sort_by_key(|(score, _, _, live, _)| std::cmp::Reverse((*score, live.estimated_rows)));
    let tables = found
        .into_iter()
        .take(MOST)
        .map(|(_, by, name, live, ends)| {
            let ended_days_ago = look.oldest(catalog, name, &ends);
            Candidate {
                table: name.clone(),
                estimated_rows: live.estimated_rows,
                bytes: live.table_bytes + live.index_bytes,
                tables_below: by,
                time: ended_days_ago.and_then(|_| Some(ends.time(catalog, live)?.to_owned())),
                ended_days_ago,
            }
        });
    let mut tables: Vec<Candidate> = tables.collect();
    tables.sort_by_key(|it| std::cmp::Reverse((it.bytes, it.estimated_rows, it.ended_days_ago)));
    Candidates {
        schema: catalog.schema.clone(),
        tables,
    }
}
