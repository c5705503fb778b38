//! What a row costs beside an earlier state of windrow: the commit in `benches/earlier-state`, built from this checkout's
//! history.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::report::Report;
use crate::{PAIRS, Run, data};

/// Rows per CPU second beside those of the earlier state: 1.03 times its CPU per row, at most.
const BAR: f64 = 0.97;

/// Who installs.
#[derive(Clone)]
pub(crate) enum Installer {
    /// This state.
    This,
    /// A binary of another one.
    Other(PathBuf),
}

impl Installer {
    /// The earlier state, built where it is not yet.
    pub(crate) fn earlier() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let commit = fs::read_to_string(root.join("benches/earlier-state"))?;
        let commit = commit.trim();
        let folder = root.join("target/bench/earlier");
        let sources = folder.join(commit);
        if !sources.exists() {
            fs::create_dir_all(&sources)?;
            let mut archive = Command::new("git")
                .args(["archive", commit])
                .current_dir(root)
                .stdout(Stdio::piped())
                .spawn()?;
            let text = archive.stdout.take().context("git has no output")?;
            let unpacked = Command::new("tar")
                .arg("-x")
                .current_dir(&sources)
                .stdin(text)
                .status()?;
            ensure!(
                archive.wait()?.success() && unpacked.success(),
                "cannot read the commit {commit}: the checkout needs its history"
            );
        }
        let target = folder.join("target");
        let built = Command::new("cargo")
            .args(["build", "--release", "--quiet", "--bin", "windrow"])
            .current_dir(&sources)
            .env("CARGO_TARGET_DIR", &target)
            .status()?;
        ensure!(built.success(), "cannot build the commit {commit}");
        Ok(Self::Other(target.join("release/windrow")))
    }

    /// Installs the spec by its own program; false where this program does that itself.
    pub(crate) fn install(&self, url: &str) -> Result<bool> {
        let Self::Other(program) = self else {
            return Ok(false);
        };
        let answer = Command::new(program)
            .args(["install", data::SPEC, "--url", url])
            .output()?;
        let said = String::from_utf8_lossy(&answer.stderr);
        ensure!(answer.status.success(), "{}: {said}", program.display());
        Ok(true)
    }
}

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
