//! Arguments of the commands that read specs: `check`, `graph`, `report`, `generate`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::common::{Output, dialects};
use crate::db::url::RawUrl;
use crate::dialect::Dialect;
use crate::migrations::runner::{RUNNERS, Runner};

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct Check {
    /// The spec file; WINDROW_SPEC if not given
    #[arg(required_unless_present = "explain")]
    pub spec: Option<PathBuf>,

    /// Also compare with this live database
    #[arg(
        long,
        alias = "url",
        env = "WINDROW_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub database: Option<RawUrl>,

    /// File whose first line is the password
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,

    /// Allow full scans of tables with at most this many estimated rows
    #[arg(long, value_name = "ROWS", default_value_t = Check::THRESHOLD)]
    pub threshold: i64,

    /// Output format
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,

    /// Explain a code instead of checking
    #[arg(long, value_name = "CODE")]
    pub explain: Option<String>,
}

impl Check {
    /// Default: the estimated rows up to which a full scan of a table is allowed.
    pub const THRESHOLD: i64 = 10_000;
}

/// A database that is read before windrow is installed in it.
#[derive(Debug, Args)]
pub struct AtDatabase {
    /// Address of the database; a password may also come from WINDROW_PASSWORD, PGPASSWORD, MYSQL_PWD or --password-file
    #[arg(
        long,
        alias = "url",
        env = "WINDROW_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub database: Option<RawUrl>,

    /// File whose first line is the password
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct Inspect {
    /// Which database
    #[command(flatten)]
    pub at: AtDatabase,

    /// The root table: its rows have an end, and rows of other tables are deleted with them
    #[arg(long, value_name = "TABLE")]
    pub root: Option<String>,

    /// The schema of the tables (default `public`); on MySQL and MariaDB the database, if the address names none
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,

    /// How long to sample rows, in seconds; for tables not sampled in time, the draft contains a question
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,

    /// Output format
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// Arguments of `init`.
#[derive(Debug, Args)]
pub struct Init {
    /// The spec to start from
    #[arg(long, value_name = "SPEC")]
    pub from: PathBuf,

    /// Which database
    #[command(flatten)]
    pub at: AtDatabase,

    /// The schema of the tables (on MySQL and MariaDB: their database), if it differs from the spec's
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,

    /// The file to write, which must not exist yet; standard output if not given
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Time limit of one catalog query, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,

    /// Output format
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// Arguments of `graph`.
#[derive(Debug, Args)]
pub struct Graph {
    /// The spec file; WINDROW_SPEC if not given
    pub spec: PathBuf,

    /// The form of the drawing
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Output format
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// The forms of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A tree for the terminal
    Text,
    /// Graphviz
    Dot,
    /// A picture
    Svg,
    /// For Markdown
    Mermaid,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct Report {
    /// The spec file; WINDROW_SPEC if not given
    pub spec: PathBuf,

    /// The database to read; without one, the page shows only the spec
    #[command(flatten)]
    pub at: AtDatabase,

    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,

    /// Output format
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// A runner of migrations by its name.
fn runners() -> impl TypedValueParser<Value = &'static Runner> {
    PossibleValuesParser::new(RUNNERS.iter().map(|runner| runner.name)).map(|name| {
        let named = RUNNERS.iter().find(|runner| runner.name == name);
        named.unwrap_or(&RUNNERS[0])
    })
}

/// Arguments of `generate`.
#[derive(Debug, Args)]
pub struct Generate {
    /// The spec files; WINDROW_SPEC if none is given
    #[arg(required = true)]
    pub specs: Vec<PathBuf>,

    /// Folder to write to; `generated` if not given
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,

    /// Write complete files, kernel included, to this folder, for psql, mysql or mariadb to apply in the order of their names
    #[arg(long, value_name = "FOLDER", conflicts_with = "out")]
    pub bundle: Option<PathBuf>,

    /// Write migrations for this runner: the next version of each spec, where it changed
    #[arg(long = "for", value_name = "RUNNER", requires = "out", conflicts_with = "bundle", value_parser = runners())]
    pub runner: Option<&'static Runner>,

    /// If the spec serves several servers: write migrations for this one only; otherwise each has a folder
    #[arg(long, value_name = "DIALECT", requires = "runner", value_parser = dialects())]
    pub dialect: Option<Dialect>,

    /// Number of the first migration; default: one more than the last in the folder
    #[arg(long, value_name = "NUMBER", requires = "runner")]
    pub number: Option<u64>,

    /// Write nothing; list stale files and exit 1
    #[arg(long)]
    pub check: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}
