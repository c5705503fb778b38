//! Past runs.

use std::time::Duration;

use super::words::{instant, text, truth};
use crate::answers::PastRun;
use crate::ui::Align::{Left, Right};
use crate::ui::{Table, count, duration};

/// Steps of a bar, from what is almost nothing to the most.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The same for terminals that know nothing else.
const SIGNS: [char; 8] = ['.', ':', '-', '=', '+', 'o', '#', '@'];
/// As many runs as a line of a terminal holds.
const WIDEST: usize = 60;

/// Past runs, the newest first, as a table and as bars.
///
/// `blocks` says whether the terminal knows more than ASCII.
pub fn history(runs: &[PastRun], blocks: bool) -> String {
    let mut table = Table::new(&[
        ("run", Right),
        ("started", Left),
        ("by", Left),
        ("trigger", Left),
        ("dry", Left),
        ("families", Right),
        ("rows", Right),
        ("batches", Right),
        ("seconds", Right),
        ("status", Left),
        ("reason", Left),
    ]);
    for run in runs {
        table.row([
            run.run_id.to_string(),
            instant(&run.started_at),
            run.started_by.clone(),
            if run.forced {
                format!("{}, forced", run.trigger)
            } else {
                run.trigger.clone()
            },
            truth(run.dry_run).to_owned(),
            count(run.families),
            count(run.rows()),
            count(run.batches),
            run.seconds.map(|it| it.to_string()).unwrap_or_default(),
            run.status.clone(),
            text(run.reason.as_ref()),
        ]);
    }
    table.to_string() + &plot(runs, blocks)
}

/// Rows and durations of past runs as bars, the oldest run first; empty where there are less than two runs.
fn plot(runs: &[PastRun], blocks: bool) -> String {
    let newest = runs.iter().take(WIDEST).rev();
    let newest: Vec<(f64, i64)> = newest
        .filter_map(|run| Some((run.seconds?, run.rows())))
        .collect();
    if newest.len() < 2 {
        return String::new();
    }
    let line = |values: &[f64]| -> String {
        let most = values.iter().copied().fold(0.0, f64::max);
        values
            .iter()
            .map(|value| bar(*value, most, blocks))
            .collect()
    };
    let rows: Vec<f64> = newest.iter().map(|(_, rows)| *rows as f64).collect();
    let seconds: Vec<f64> = newest.iter().map(|(seconds, _)| *seconds).collect();
    let most_rows = newest.iter().map(|(_, rows)| *rows).max().unwrap_or(0);
    let longest = seconds.iter().copied().fold(0.0, f64::max);
    format!(
        "\nrows      {}  up to {}\nduration  {}  up to {}\n",
        line(&rows),
        count(most_rows),
        line(&seconds),
        duration(Duration::from_secs_f64(longest.clamp(0.0, 1e10)))
    )
}

/// A sign for a value between nothing, which has none, and the most.
fn bar(value: f64, most: f64, blocks: bool) -> char {
    if value <= 0.0 || most <= 0.0 {
        return ' ';
    }
    let step = ((value / most * 8.0).ceil() as usize).clamp(1, 8) - 1;
    if blocks { BLOCKS[step] } else { SIGNS[step] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_runs_are_plotted_from_the_oldest_on() {
        let run = |deleted_rows: i64, changed_rows: i64, seconds: Option<f64>| PastRun {
            seconds,
            deleted_rows,
            changed_rows,
            ..PastRun::default()
        };
        let runs = [
            run(5, 0, None),
            run(0, 400, Some(1.5)),
            run(100, 0, Some(12.0)),
            run(800, 0, Some(96.0)),
            run(0, 0, Some(0.0)),
        ];
        insta::assert_snapshot!(plot(&runs, true), @r"

        rows       █▁▄  up to 800
        duration   █▁▁  up to 1 min 36 s
        ");
        insta::assert_snapshot!(plot(&runs, false), @r"

        rows       @.=  up to 800
        duration   @..  up to 1 min 36 s
        ");
        assert_eq!(plot(&runs[..2], true), "");
    }
}
