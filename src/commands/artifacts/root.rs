//! The folder that no file outside may be taken from.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use super::template::Files;
use crate::failure::Failure;

/// A folder that paths must lie below.
pub(super) struct Root {
    folder: PathBuf,
    /// The folder without links, where the files are on this machine.
    real: Option<PathBuf>,
}

impl Root {
    /// Links can be looked at where the files are on this machine.
    pub(super) fn new(folder: &Path, files: Files) -> anyhow::Result<Root> {
        let refuse = |why: &str| {
            Failure::new(format!("cannot use the root `{}`", folder.display()))
                .caused_by(Failure::new(why))
                .hint("give the full path of a folder, e.g. `--root /var/log/app`")
        };
        let normal = match normal(folder) {
            Some(normal) if normal != Path::new("/") => normal,
            Some(_) => return Err(refuse("it confines nothing").into()),
            None => return Err(refuse("it is relative, or contains `..`").into()),
        };
        let real = match (files, folder.canonicalize()) {
            (Files::Elsewhere, _) | (Files::Unknown, Err(_)) => None,
            (_, Ok(real)) if real == Path::new("/") => {
                return Err(refuse("it is a link to `/`, and confines nothing").into());
            }
            (_, Ok(real)) => Some(real),
            (Files::Here, Err(error)) => return Err(refuse(&error.to_string()).into()),
        };
        Ok(Root {
            folder: normal,
            real,
        })
    }

    /// The path as it is written without `.` and doubled slashes, if it lies below the folder; else why it does not.
    pub(super) fn confine(&self, path: &str) -> Result<String, String> {
        let outside = |what: &str| format!("{what} `{}`", self.folder.display());
        let path = normal(Path::new(path))
            .ok_or("the path is relative, or contains `..`: it is not under the root")?;
        if path == self.folder || !path.starts_with(&self.folder) {
            return Err(outside("the path is not under the root"));
        }
        if let Some(real) = &self.real {
            let found = real_path(&path).map_err(|error| error.to_string())?;
            if found == *real || !found.starts_with(real) {
                return Err(outside("a link leads the path out of the root"));
            }
        }
        Ok(path.to_string_lossy().into_owned())
    }
}

/// An absolute path without `.`, doubled slashes and one at its end; none if it goes up.
fn normal(path: &Path) -> Option<PathBuf> {
    let sound = path.is_absolute()
        && path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    sound.then(|| path.components().collect())
}

/// Where a path leads when all links are followed. What is not there leads nowhere else.
fn real_path(path: &Path) -> std::io::Result<PathBuf> {
    match path.canonicalize() {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // A link to nothing is no way for us: what it names may come.
            if path.symlink_metadata().is_ok() {
                return Err(error);
            }
            match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => Ok(real_path(parent)?.join(name)),
                _ => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_stay_below_the_root() {
        let root = Root::new(Path::new("/srv//logs/./"), Files::Elsewhere).expect("a root");
        assert_eq!(
            root.confine("/srv/logs//a/./b/"),
            Ok("/srv/logs/a/b".to_owned())
        );
        for path in [
            "/srv/logs",
            "/srv/logs/",
            "/srv/logs/.",
            "/srv/logs2/a",
            "/srv/logs/../a",
            "/srv/logs/a/..",
            "/etc/passwd",
            "srv/logs/a",
            "./a",
            "a",
            "~/a",
            "//etc/passwd",
            "",
        ] {
            assert!(root.confine(path).is_err(), "{path}");
        }
        for folder in ["", "/", "//", "logs", "/srv/../logs"] {
            assert!(
                Root::new(Path::new(folder), Files::Elsewhere).is_err(),
                "{folder}"
            );
        }
        assert!(Root::new(Path::new("/nowhere/at/all"), Files::Here).is_err());
    }

    #[test]
    fn links_are_followed_where_the_files_are_here() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name);
        let text = |name: &str| place(name).display().to_string();
        for name in ["logs", "logs/sub", "other"] {
            fs::create_dir(place(name)).expect("a folder");
        }
        fs::write(place("logs/sub/a"), "log").expect("a file");
        fs::write(place("other/a"), "no log").expect("a file");
        symlink(place("other"), place("logs/out")).expect("a link");
        symlink(place("other/a"), place("logs/out.log")).expect("a link");
        symlink(place("other/none"), place("logs/none.log")).expect("a link");
        symlink(place("logs/sub"), place("logs/in")).expect("a link");
        symlink(place("logs"), place("link")).expect("a link");
        for root in ["logs", "link"] {
            let root = Root::new(&place(root), Files::Here).expect("a root");
            let at = |name: &str| root.confine(&format!("{}/{name}", root.folder.display()));
            for name in ["sub/a", "in/a", "gone", "sub/gone/too"] {
                assert!(at(name).is_ok(), "{name}");
            }
            for name in ["out/a", "out/gone", "out.log", "none.log", "none.log/a"] {
                assert!(at(name).is_err(), "{name}");
            }
        }
        symlink("/", place("all")).expect("a link");
        for root in [&*text("all"), &*text("all/"), "/proc/self/root"] {
            assert!(Root::new(Path::new(root), Files::Here).is_err(), "{root}");
        }
        let root = Root::new(&place("logs"), Files::Here).expect("a root");
        assert!(root.confine(&text("other/a")).is_err());
    }
}
