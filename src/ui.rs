//! The only module that prints. Data goes to stdout, everything else to stderr.
//!
//! Colour decorates and never informs; a reader that went away (a closed pipe) is no error.

use std::io::{BufWriter, IsTerminal, Write, stderr, stdout};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

use serde::Serialize;

use crate::failure::{Failure, document, hints};

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default();

/// How often a long work says where it is when there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(15);

/// What the user sees, and how much of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ui {
    /// Only data, warnings and errors.
    pub quiet: bool,
    /// Data goes to stderr, too: on stdout is to be a document of what all of it comes to.
    pub aside: bool,
}

impl Ui {
    /// Writes data: what another program may read.
    pub fn data(&self, text: &str) {
        if self.aside {
            return self.line(text.trim_end_matches('\n'));
        }
        let mut out = anstream::stdout().lock();
        let _ = out.write_all(text.as_bytes());
        if !text.is_empty() && !text.ends_with('\n') {
            let _ = out.write_all(b"\n");
        }
        let _ = out.flush();
    }

    /// Where data goes that is too much for one text.
    pub fn stream() -> impl Write {
        BufWriter::new(stdout())
    }

    /// Whether what reads the text can be expected to know more than ASCII, by the locale.
    pub fn knows_blocks() -> bool {
        let set = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .filter_map(|name| std::env::var(name).ok())
            .find(|value| !value.is_empty());
        let locale = set.unwrap_or_default().to_lowercase();
        locale.ends_with("utf-8") || locale.ends_with("utf8")
    }

    /// Empties the screen, where there is one.
    pub fn fresh_screen(&self) {
        if std::io::stdout().is_terminal() {
            self.data("\x1b[H\x1b[2J");
        }
    }

    /// Writes a document as JSON.
    pub fn json(&self, document: &impl Serialize) {
        // Nothing in a document can fail to be printed.
        self.data(&serde_json::to_string_pretty(document).unwrap_or_default());
    }

    /// Writes a document as one line: another one follows.
    pub fn json_line(&self, document: &impl Serialize) {
        self.data(&serde_json::to_string(document).unwrap_or_default());
    }

    /// Writes an error for programs.
    pub fn error_document(&self, error: &anyhow::Error) {
        self.json_line(&document(error));
    }

    /// Says something in passing.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.line(text);
        }
    }

    /// Opens a chapter of a story.
    pub fn heading(&self, title: &str) {
        self.line(&format!("\n{GREEN}# {title}{GREEN:#}"));
    }

    /// Shows a command as the user would type it.
    pub fn command(&self, command: &str) {
        self.line(&format!("\n{CYAN}$ {command}{CYAN:#}"));
    }

    /// Says that something was done to an object: `created  index  windrow_x  1.2 s`.
    pub fn done(&self, what: &str, took: Duration) {
        if !self.quiet {
            self.line(&format!("{GREEN}done{GREEN:#}  {what}  {}", duration(took)));
        }
    }

    /// Shows findings that are laid out already; anstream takes their colour out where there is no terminal.
    pub fn findings(&self, text: &str) {
        self.line(text);
    }

    /// Says what deserves a look.
    pub fn warning(&self, text: &str) {
        self.line(&format!("{YELLOW}warning{YELLOW:#}: {text}"));
    }

    /// Prints a hint, on its own after a blank line.
    pub fn hint(&self, text: &str) {
        self.line(&format!("\n{CYAN}hint{CYAN:#}: {text}"));
    }

    /// Prints an error: what, why, and how to mend it.
    pub fn error(&self, error: &anyhow::Error) {
        let mut text = format!("{RED}error{RED:#}: {error}");
        for (depth, cause) in error.chain().enumerate() {
            if depth > 0 {
                text += &format!("\n  caused by: {cause}");
            }
            if let Some(failure) = cause.downcast_ref::<Failure>() {
                for detail in failure.details() {
                    text += &format!("\n  detail: {detail}");
                }
            }
        }
        self.line(&text);
        for hint in hints(error) {
            self.hint(hint);
        }
    }

    /// Starts to show a long work: a bar on a terminal, a plain line now and then elsewhere.
    pub fn progress(&self, what: &str, total: Option<u64>) -> Progress {
        let bar = (!self.quiet && stderr().is_terminal()).then(|| {
            let bar = match total {
                Some(total) => ProgressBar::new(total),
                None => ProgressBar::new_spinner(),
            };
            let template = match total {
                Some(_) => "{prefix} {bar:20} {percent:>3} %  {elapsed}, {eta} left  {wide_msg}",
                None => "{prefix} {spinner} {elapsed}  {wide_msg}",
            };
            bar.set_style(
                ProgressStyle::with_template(template)
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar.set_prefix(what.to_owned());
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        Progress {
            ui: *self,
            what: what.to_owned(),
            bar,
            total,
            last: Instant::now(),
        }
    }

    fn line(&self, text: &str) {
        let _ = writeln!(anstream::stderr().lock(), "{text}");
    }
}

/// A long work on show; it leaves the screen when dropped.
pub struct Progress {
    ui: Ui,
    what: String,
    bar: Option<ProgressBar>,
    total: Option<u64>,
    last: Instant,
}

impl Progress {
    /// Says how far the work is.
    pub fn set(&mut self, position: u64, message: &str) {
        if let Some(bar) = &self.bar {
            // An estimate may prove too small.
            if self.total.is_some_and(|total| position > total) {
                bar.set_length(position);
            }
            bar.set_position(position);
            bar.set_message(message.to_owned());
        } else if self.last.elapsed() >= PLAIN_EVERY {
            self.last = Instant::now();
            self.ui.note(&format!("{}: {message}", self.what));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Where the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A plain table with aligned columns.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub fn new(columns: &[(&str, Align)]) -> Table {
        let columns = columns
            .iter()
            .map(|(name, align)| ((*name).to_owned(), *align))
            .collect();
        Table {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row<I, S>(&mut self, cells: I)
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        // A line break in a cell would tear the table.
        self.rows.push(
            cells
                .into_iter()
                .map(|cell| cell.into().replace(['\n', '\r', '\t'], " "))
                .collect(),
        );
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| {
                let cells = self
                    .rows
                    .iter()
                    .filter_map(|row| row.get(at))
                    .map(|cell| cell.chars().count());
                cells
                    .chain([self.columns[at].0.chars().count()])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let headings: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for (at, cell) in row.iter().enumerate().take(widths.len()) {
                let width = widths[at];
                if at > 0 {
                    line += "  ";
                }
                line += &match self.columns[at].1 {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                };
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A count with thousands separators: `1,234,567`.
pub fn count(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

/// A count with its word: `1 family`, `2,000 families`.
pub fn counted(number: i64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A speed in whole numbers, or to three digits where that is more: what is slow is not nothing.
pub fn to_three_digits(speed: f64) -> f64 {
    if speed <= 0.0 || speed >= 100.0 {
        return speed.round();
    }
    let unit = 10_f64.powi(2 - speed.log10().floor() as i32);
    (speed * unit).round() / unit
}

/// Rows a second as people say it: `1,200 rows/s`, `0.25 rows/s`.
pub fn rows_per_second(speed: f64) -> String {
    if speed >= 10.0 {
        format!("{} rows/s", count(speed.round() as i64))
    } else {
        format!("{} rows/s", to_three_digits(speed))
    }
}

/// A duration as people say it: `12 ms`, `1.2 s`, `3 min 05 s`, `2 h 10 min`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// A retention as people say it: `30 days`, `12 hours`.
pub fn retention(seconds: i64) -> String {
    match seconds {
        s if s != 0 && s % 86_400 == 0 => counted(s / 86_400, "day", "days"),
        s if s != 0 && s % 3_600 == 0 => counted(s / 3_600, "hour", "hours"),
        s if s != 0 && s % 60 == 0 => counted(s / 60, "minute", "minutes"),
        s => counted(s, "second", "seconds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        let counts: Vec<_> = [0, 7, 999, 1_000, 1_234_567, -12_345].map(count).to_vec();
        assert_eq!(counts, ["0", "7", "999", "1,000", "1,234,567", "-12,345"]);
        let speeds = [1_234.5, 99.96, 10.4, 9.999, 2.957, 0.25, 0.004_444, 0.0];
        assert_eq!(
            speeds.map(to_three_digits),
            [1_235.0, 100.0, 10.4, 10.0, 2.96, 0.25, 0.004_44, 0.0]
        );
        let told = [1_234.5, 10.4, 2.957, 0.004_444, 0.0].map(rows_per_second);
        assert_eq!(
            told.map(|it| it.replace(" rows/s", "")),
            ["1,235", "10", "2.96", "0.00444", "0"]
        );
        let times = [12, 1_250, 185_000, 7_800_000].map(|ms| duration(Duration::from_millis(ms)));
        assert_eq!(times, ["12 ms", "1.2 s", "3 min 05 s", "2 h 10 min"]);
        assert_eq!(
            [86_400, 2_592_000, 7_200, 90].map(retention),
            ["1 day", "30 days", "2 hours", "90 seconds"]
        );
    }

    #[test]
    fn a_table_is_aligned() {
        let mut table = Table::new(&[("table", Align::Left), ("rows", Align::Right)]);
        table.row(["t_ds_alert", "7"]);
        table.row(["a", "12,345"]);
        assert_eq!(
            table.to_string(),
            "table         rows\nt_ds_alert       7\na           12,345\n"
        );
    }
}
