//! What the commands share: the database and the output format.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::db::url::RawUrl;
use crate::dialect::{DIALECTS, Dialect};

/// Which spec, and which database.
#[derive(Clone, Debug, Args)]
pub struct OnDatabase {
    /// The spec file; WINDROW_SPEC if not given
    pub spec: PathBuf,

    /// Address of the database; a password may also come from WINDROW_PASSWORD, PGPASSWORD, MYSQL_PWD or --password-file
    #[arg(
        long,
        alias = "database",
        env = "WINDROW_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub url: Option<RawUrl>,

    /// File whose first line is the password
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
}

/// A database command whose answer is a document.
#[derive(Clone, Debug, Args)]
pub struct WithOutput {
    /// Which spec, and which database
    #[command(flatten)]
    pub on: OnDatabase,

    /// Output format
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Text,
    /// For programs: the JSON document
    Json,
}

/// A dialect by the name of its folder in `generated/`.
pub(super) fn dialects() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(DIALECTS.iter().map(|dialect| dialect.facts().folder)).map(|name| {
        let named = DIALECTS
            .iter()
            .find(|dialect| dialect.facts().folder == name);
        named.copied().unwrap_or_default()
    })
}
