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

    /// Compare with this live database, too
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

    /// Tables with fewer estimated rows may be read from end to end
    #[arg(long, value_name = "ROWS", default_value_t = Check::THRESHOLD)]
    pub threshold: i64,

    /// How to show the answer
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,

    /// Explain a code instead of checking
    #[arg(long, value_name = "CODE")]
    pub explain: Option<String>,
}

impl Check {
    /// Rows of a table that may be read from end to end, where nobody says otherwise.
    pub const THRESHOLD: i64 = 10_000;
}

/// A database that is looked at before there is an installation.
#[derive(Debug, Args)]
pub struct AtDatabase {
    /// Address of the database; a password may also come from PGPASSWORD, MYSQL_PWD or --password-file
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

    /// The table whose rows end, and take others with them
    #[arg(long, value_name = "TABLE")]
    pub root: Option<String>,

    /// The schema of the tables, `public` if not given; of MySQL and MariaDB the database, if the address names none
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,

    /// How long to look at rows, in seconds; what was not looked at is a question of the draft
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,

    /// How to show the answer
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

    /// The schema of the tables, or on MySQL and MariaDB their database, if it is not the one that the spec says
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,

    /// The file to write, which must not be there yet; standard output if not given
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// How long one look at the catalog may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,

    /// How to show the answer
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// Arguments of `graph`.
#[derive(Debug, Args)]
pub struct Graph {
    /// The spec file; WINDROW_SPEC if not given
    pub spec: PathBuf,

    /// What to draw
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// How to show the answer
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

    /// The database to read; without one, the page knows the spec alone
    #[command(flatten)]
    pub at: AtDatabase,

    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,

    /// How to show the answer
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

    /// Write every file whole, kernel included, to this folder: what psql, mysql and mariadb apply in the order of the names
    #[arg(long, value_name = "FOLDER", conflicts_with = "out")]
    pub bundle: Option<PathBuf>,

    /// Write migrations for this runner: the next version of each spec, where it changed
    #[arg(long = "for", value_name = "RUNNER", requires = "out", conflicts_with = "bundle", value_parser = runners())]
    pub runner: Option<&'static Runner>,

    /// Of a spec for several servers, the one whose migrations are written; else each has a folder
    #[arg(long, value_name = "DIALECT", requires = "runner", value_parser = dialects())]
    pub dialect: Option<Dialect>,

    /// Number of the first migration, where it is not the one behind the last in the folder
    #[arg(long, value_name = "NUMBER", requires = "runner")]
    pub number: Option<u64>,

    /// Write nothing; show what is stale and exit 1
    #[arg(long)]
    pub check: bool,

    /// How to show the answer
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}
