//! Who installs the spec under test: this state of windrow, or the commit in `benches/earlier-state`, built from this checkout's
//! history.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// The spec under test.
pub(crate) const SPEC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/dolphinscheduler.toml");

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
            .args(["install", SPEC, "--url", url])
            .output()?;
        let said = String::from_utf8_lossy(&answer.stderr);
        ensure!(answer.status.success(), "{}: {said}", program.display());
        Ok(true)
    }
}
