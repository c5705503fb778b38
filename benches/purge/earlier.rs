//! What a row costs beside an earlier state of windrow.

use std::fmt::Debug;

use anyhow::{Result, ensure};

use crate::observe::Run;
use crate::plan::PAIRS;
use crate::report::Report;

/// Rows per CPU second beside those of the earlier state: 1.03 times its CPU per row, at most.
const BAR: f64 = 0.97;

/// Both states take turns on the same history, and leave the same rows.
pub(crate) fn measure<Lab, Left: PartialEq + Debug>(
    labs: [&mut Lab; 2],
    report: &mut Report,
    mut run: impl FnMut(&mut Lab) -> Result<(Run, Left)>,
) -> Result<()> {
    let [this, earlier] = labs;
    let mut runs: [Vec<Run>; 2] = Default::default();
    for _ in 0..PAIRS {
        let (ours, left) = run(this)?;
        let (theirs, expected) = run(earlier)?;
        ensure!(
            left == expected && ours.rows == theirs.rows,
            "this state left {left:?}, the earlier one {expected:?}"
        );
        runs[0].push(ours);
        runs[1].push(theirs);
    }
    let cpu = |runs: &[Run]| runs.iter().map(|run| run.cpu).collect::<Vec<_>>();
    for (name, runs) in ["windrow", "the earlier state"].iter().zip(&runs) {
        let times: Vec<_> = runs.iter().map(|run| (run.cpu, run.wall)).collect();
        report.variant(name, runs[0].rows, &times);
    }
    let [ours, theirs] = &runs;
    report.ratio("the earlier state", &cpu(ours), &cpu(theirs), Some(BAR));
    Ok(())
}
