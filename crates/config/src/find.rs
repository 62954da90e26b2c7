//! Where the policy is: the nearest folder, from a given one upwards, that holds one.

use crate::text::LONGEST;
use remit_core::{AbsPath, PathError};
use rustix::fs::OFlags;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The name of a policy.
pub const NAME: &str = "remit.yaml";
/// The name under which MassGen's policies are known; taken where it stands alone.
pub const OTHER_NAME: &str = "massgen-permissions.yaml";
/// Names that people may try. One of them stops every run in its folder and below: whoever wrote it takes it for the
/// policy.
const WRONG: [&str; 3] = ["remit.yml", "remit.json", "massgen-permissions.yml"];

/// A policy file that was found and read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The folder that holds it, resolved: the workspace.
    pub workspace: AbsPath,
    /// Its name in that folder.
    pub file: &'static str,
    /// What it holds.
    pub text: Vec<u8>,
}

/// Why there is no policy to read.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// No folder up to the root holds one.
    #[error("there is no `{NAME}` in `{}` or above it", .0.display())]
    Missing(PathBuf),
    /// Both names in one folder: which one counts would be a guess.
    #[error("`{}` holds both `{NAME}` and `{OTHER_NAME}`", .0.display())]
    Both(PathBuf),
    /// A file whose name is nearly right, beside one whose name is right or not.
    #[error("`{}` is not read: a policy is called `{NAME}`", file.display())]
    WrongName {
        /// The file.
        file: PathBuf,
        /// Whether one whose name is right stands beside it.
        beside: bool,
    },
    /// It is a symbolic link: whoever may write its target could change the policy.
    #[error("`{}` is a symbolic link to `{}`", .file.display(), .target.display())]
    Link {
        /// The link.
        file: PathBuf,
        /// Where it points, as written.
        target: PathBuf,
    },
    /// A folder, a socket, a pipe or a device.
    #[error("`{}` is {what}, not a file", .file.display())]
    NotAFile {
        /// What has the name.
        file: PathBuf,
        /// What it is, with its article.
        what: &'static str,
    },
    /// More bytes than a policy may have.
    #[error("`{}` has more than {LONGEST} bytes", .0.display())]
    TooLarge(PathBuf),
    /// The system says no.
    #[error("`{}` cannot be read: {source}", .file.display())]
    Unreadable {
        /// What was read.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It was replaced while it was opened.
    #[error("`{}` was replaced while it was read", .0.display())]
    Replaced(PathBuf),
    /// The folder cannot be named.
    #[error("`{}` cannot be a workspace: {source}", .folder.display())]
    BadFolder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: PathError,
    },
}

impl FindError {
    /// The way out, if there is one to name.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            FindError::Missing(_) => "`remit init` writes one".to_owned(),
            FindError::Both(_) => format!("move what you need to `{NAME}` and remove `{OTHER_NAME}`"),
            FindError::WrongName { file, beside } => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                let right = if name.starts_with("remit") { NAME } else { OTHER_NAME };
                match beside {
                    true => format!("move what you need to `{NAME}` and remove `{name}`"),
                    false => format!("`mv {name} {right}`"),
                }
            }
            FindError::Link { .. } => {
                "put the file itself there: what it points to is not protected".to_owned()
            }
            FindError::Replaced(_) => "try again".to_owned(),
            FindError::Unreadable { file, source } if source.kind() == io::ErrorKind::IsADirectory => {
                format!("`remit -C {} check` reads the policy of that folder", file.display())
            }
            FindError::NotAFile { .. }
            | FindError::TooLarge(_)
            | FindError::Unreadable { .. }
            | FindError::BadFolder { .. } => return None,
        })
    }
}

/// Finds and reads the policy that governs the folder `start`.
///
/// # Errors
/// [`FindError`]: none up to the root, two in one folder, or one that is no plain file that can be read. A
/// folder that may not be looked into is an error too, never skipped: the policy of an outer folder could be
/// wider.
pub fn find(start: &Path) -> Result<Found, FindError> {
    let start = fs::canonicalize(start).map_err(|source| unreadable(start, source))?;
    for folder in start.ancestors() {
        wrong_name(folder)?;
        let right = look(&folder.join(NAME))?;
        let other = look(&folder.join(OTHER_NAME))?;
        let (file, seen) = match (right, other) {
            (Some(_), Some(_)) => return Err(FindError::Both(folder.to_owned())),
            (Some(seen), None) => (NAME, seen),
            (None, Some(seen)) => (OTHER_NAME, seen),
            (None, None) => continue,
        };
        let text = read(&folder.join(file), &seen)?;
        let workspace = AbsPath::try_from(folder)
            .map_err(|source| FindError::BadFolder { folder: folder.to_owned(), source })?;
        return Ok(Found { workspace, file, text });
    }
    Err(FindError::Missing(start))
}

/// Fails if a name that is nearly that of a policy stands in a folder, whatever else does.
///
/// # Errors
/// [`FindError::WrongName`]; a folder that may not be looked into.
pub fn wrong_name(folder: &Path) -> Result<(), FindError> {
    for wrong in WRONG {
        let file = folder.join(wrong);
        if look(&file)?.is_some() {
            let beside = look(&folder.join(NAME))?.or(look(&folder.join(OTHER_NAME))?).is_some();
            return Err(FindError::WrongName { file, beside });
        }
    }
    Ok(())
}

/// The folder of the policy that [`find`] would take, whether it can be read or not; none if there is no such name up
/// to the root.
pub fn nearest(start: &Path) -> Option<PathBuf> {
    let start = fs::canonicalize(start).ok()?;
    let named = |folder: &&Path| {
        let mut names = [NAME, OTHER_NAME].into_iter().chain(WRONG);
        names.any(|name| fs::symlink_metadata(folder.join(name)).is_ok())
    };
    start.ancestors().find(named).map(Path::to_owned)
}

fn unreadable(file: &Path, source: io::Error) -> FindError {
    FindError::Unreadable { file: file.to_owned(), source }
}

/// What has this name, the link itself if it is one; none if nothing has.
fn look(path: &Path) -> Result<Option<Metadata>, FindError> {
    match fs::symlink_metadata(path) {
        Ok(seen) => Ok(Some(seen)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, error)),
    }
}

/// Opens a file for reading, and never waits for it: whoever opens a file on which another process has a lease
/// waits until that is given up.
///
/// # Errors
/// What the system says; a lease in words.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    match fs::OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            Err(io::Error::new(ErrorKind::WouldBlock, "it is leased by another process"))
        }
        other => other,
    }
}

/// Reads the plain file that was seen, and no other that took its name meanwhile.
fn read(path: &Path, seen: &Metadata) -> Result<Vec<u8>, FindError> {
    if seen.is_symlink() {
        let target = fs::read_link(path).map_err(|source| unreadable(path, source))?;
        return Err(FindError::Link { file: path.to_owned(), target });
    }
    if !seen.is_file() {
        let what = if seen.is_dir() { "a folder" } else { "a pipe, socket or device" };
        return Err(FindError::NotAFile { file: path.to_owned(), what });
    }
    let file = open(path).map_err(|source| unreadable(path, source))?;
    let now = file.metadata().map_err(|source| unreadable(path, source))?;
    if (now.dev(), now.ino()) != (seen.dev(), seen.ino()) {
        return Err(FindError::Replaced(path.to_owned()));
    }
    let mut text = Vec::new();
    file.take(LONGEST as u64 + 1).read_to_end(&mut text).map_err(|source| unreadable(path, source))?;
    if text.len() > LONGEST {
        return Err(FindError::TooLarge(path.to_owned()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use remit_policy::{Policy, World};
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    fn folder(files: &[(&str, &str)]) -> (TempDir, PathBuf) {
        let temp = TempDir::new().unwrap();
        let path = temp.path().canonicalize().unwrap();
        for (name, text) in files {
            let file = path.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        (temp, path)
    }

    #[test]
    fn no_agent_can_plant_a_name_that_is_looked_for() {
        let text = b"version: \"1.0\"\nagents: {a: {permissions: {\"/w\": all}}}\n";
        let folder = |path: &str| AbsPath::new(path).unwrap();
        let world = World {
            workspace: folder("/w"),
            home: folder("/h"),
            base: Vec::new(),
            sealed: Vec::new(),
            protected: Vec::new(),
            git_dirs: Vec::new(),
            linked: None,
            private: Vec::new(),
            single_files: std::collections::BTreeSet::new(),
        };
        let policy = Policy::compile(&crate::load(NAME, text).unwrap(), &world).unwrap().policy;
        for name in [NAME, OTHER_NAME].into_iter().chain(WRONG).chain(["free"]) {
            let path = folder("/w/a/b").join(name).unwrap();
            let action = crate::judge::action("a", remit_core::Verb::Create, path).unwrap();
            let allowed = crate::judge::judged(&policy, &action).effect == remit_core::Effect::Allow;
            assert_eq!(allowed, name == "free", "{name}");
        }
    }

    #[test]
    fn the_nearest_folder_upwards_wins() {
        let (_temp, path) = folder(&[("remit.yaml", "outer"), ("a/remit.yaml", "inner"), ("a/b/c/x", "")]);
        let found = find(&path.join("a/b/c")).unwrap();
        assert_eq!(found.text, b"inner");
        assert_eq!(found.file, NAME);
        assert_eq!(found.workspace.as_path(), path.join("a"));
        assert_eq!(find(&path).unwrap().text, b"outer");
    }

    #[test]
    fn a_link_as_start_is_resolved() {
        let (_temp, path) = folder(&[("real/remit.yaml", "x"), ("y", "")]);
        symlink(path.join("real"), path.join("alias")).unwrap();
        assert_eq!(find(&path.join("alias")).unwrap().workspace.as_path(), path.join("real"));
    }

    #[test]
    fn the_other_name_counts_alone_and_never_beside_ours() {
        let (_temp, path) = folder(&[("massgen-permissions.yaml", "x")]);
        assert_eq!(find(&path).unwrap().file, OTHER_NAME);
        fs::write(path.join("remit.yaml"), "y").unwrap();
        let error = find(&path).unwrap_err();
        assert!(matches!(error, FindError::Both(_)), "{error}");
        assert!(
            error.to_string().contains("remit.yaml")
                && error.to_string().contains("massgen-permissions.yaml")
        );
    }

    #[test]
    fn a_name_that_is_nearly_right_stops_the_walk() {
        let (_temp, path) = folder(&[("remit.yaml", "outer"), ("a/remit.yml", "")]);
        let error = find(&path.join("a")).unwrap_err();
        assert!(matches!(error, FindError::WrongName { .. }), "{error}");
        assert_eq!(error.hint().unwrap(), "`mv remit.yml remit.yaml`");
        for wrong in WRONG {
            let (_temp, path) = folder(&[("remit.yaml", "right"), (wrong, ""), ("a/x", "")]);
            for start in [path.clone(), path.join("a")] {
                let error = find(&start).unwrap_err();
                assert!(matches!(error, FindError::WrongName { beside: true, .. }), "{error}");
                let hint = error.hint().unwrap();
                assert!(hint.ends_with(&format!("remove `{wrong}`")), "{hint}");
            }
        }
    }

    #[test]
    fn the_nearest_folder_with_such_a_name_is_known_whatever_stands_there() {
        let (_temp, path) =
            folder(&[("a/remit.yml", ""), ("a/b/c/x", ""), ("d/remit.yaml", "{"), ("e/x", "")]);
        assert_eq!(nearest(&path.join("a/b/c")), Some(path.join("a")));
        assert_eq!(nearest(&path.join("d")), Some(path.join("d")));
        symlink("nowhere", path.join("a/b/remit.yaml")).unwrap();
        assert_eq!(nearest(&path.join("a/b/c")), Some(path.join("a/b")));
        assert_eq!(nearest(&path.join("e")), None);
    }

    #[test]
    fn nothing_found_points_to_init() {
        let (_temp, path) = folder(&[("a/x", "")]);
        let error = find(&path.join("a")).unwrap_err();
        assert!(matches!(error, FindError::Missing(_)), "{error}");
        assert_eq!(error.hint().unwrap(), "`remit init` writes one");
    }

    #[test]
    fn a_link_or_folder_or_pipe_of_that_name_is_refused_not_skipped() {
        let (_temp, path) = folder(&[("elsewhere", "x"), ("remit.yaml", "outer")]);
        for (name, make) in [
            ("outside", Box::new(|at: &Path| symlink("/etc/hostname", at).unwrap()) as Box<dyn Fn(&Path)>),
            ("inside", Box::new(|at: &Path| symlink("../elsewhere", at).unwrap())),
            ("dangling", Box::new(|at: &Path| symlink("nowhere", at).unwrap())),
        ] {
            let inner = path.join(name);
            fs::create_dir(&inner).unwrap();
            make(&inner.join(NAME));
            let error = find(&inner).unwrap_err();
            assert!(matches!(error, FindError::Link { .. }), "{name}: {error}");
        }
        fs::create_dir_all(path.join("dir/remit.yaml")).unwrap();
        assert!(matches!(find(&path.join("dir")).unwrap_err(), FindError::NotAFile { what: "a folder", .. }));
        let socket = path.join("sock");
        fs::create_dir(&socket).unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(socket.join(NAME)).unwrap();
        assert!(matches!(find(&socket).unwrap_err(), FindError::NotAFile { .. }));
    }

    #[test]
    fn a_huge_file_is_refused() {
        let (_temp, path) = folder(&[("remit.yaml", "")]);
        File::options().write(true).open(path.join(NAME)).unwrap().set_len(LONGEST as u64 + 1).unwrap();
        assert!(matches!(find(&path).unwrap_err(), FindError::TooLarge(_)));
        File::options().write(true).open(path.join(NAME)).unwrap().set_len(LONGEST as u64).unwrap();
        assert_eq!(find(&path).unwrap().text.len(), LONGEST);
    }

    #[test]
    fn a_start_that_does_not_exist_is_an_error() {
        let (_temp, path) = folder(&[("remit.yaml", "x")]);
        assert!(matches!(find(&path.join("gone")).unwrap_err(), FindError::Unreadable { .. }));
    }
}
