//! The kernel's name for a path: links followed one by one, dots taken after links, as `open()` does it.

use remit_core::{AbsPath, PathError};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// How many links the kernel follows in one path.
const MOST_LINKS: usize = 40;

/// How many bytes nearly every file system takes in one name.
const LONGEST_NAME: usize = 255;

/// What a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Absent,
    /// Nobody knows: this process may not look there.
    Unseen,
    /// A folder.
    Folder,
    /// A file, device, socket, pipe, or a link that was not followed.
    Other,
}

impl Kind {
    /// Whether something certainly stands there.
    pub fn is_there(self) -> bool {
        matches!(self, Kind::Folder | Kind::Other)
    }
}

/// A path by its canonical name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The canonical name. Below the deepest folder that exists, the rest as it was asked for.
    pub path: AbsPath,
    /// What stands there.
    pub kind: Kind,
}

/// Why a path has no canonical name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// It is not a path.
    #[error("{0}")]
    Path(#[from] PathError),
    /// Links lead in a circle.
    #[error("it leads through more than {MOST_LINKS} links")]
    Loop,
    /// `~` was asked for, and no home folder is known.
    #[error("no home folder is known")]
    NoHome,
    /// It is the empty string.
    #[error("it is empty")]
    Empty,
    /// A name in it is longer than the file system takes: nothing can stand there.
    #[error("a name in it is longer than the file system takes")]
    LongName,
    /// It has half a character in it.
    #[error("it has half of a surrogate pair in it, which is no text")]
    NoText,
    /// The file system answered with an error.
    #[error("{0}")]
    Io(String),
}

/// Names files as the kernel does.
pub trait Resolver: Send + Sync {
    /// The canonical name of an absolute path, which may have dots, doubled slashes and links in it. A link
    /// in the last place is followed if `follow`, or if a slash comes after it. What cannot be seen (absent,
    /// below a file, in a folder that may not be searched) keeps the name that was asked for.
    fn resolve(&self, path: &[u8], follow: bool) -> Result<Resolved, ResolveError>;

    /// The home folder, for `~`.
    fn home(&self) -> Option<&AbsPath>;

    /// Whether the kernel holds whoever asks, so that only what is certain need be told.
    fn held(&self) -> bool;
}

/// The real file system.
#[derive(Debug, Clone)]
pub struct Files {
    /// The home folder, for `~`.
    pub home: Option<AbsPath>,
    /// Whether this process runs inside a session.
    pub held: bool,
}

impl Resolver for Files {
    fn resolve(&self, path: &[u8], follow: bool) -> Result<Resolved, ResolveError> {
        Walk::default().run(path, follow)
    }
    fn home(&self) -> Option<&AbsPath> {
        self.home.as_ref()
    }
    fn held(&self) -> bool {
        self.held
    }
}

/// One walk from the root.
#[derive(Default)]
struct Walk {
    /// Components that are resolved.
    done: Vec<Vec<u8>>,
    /// Components to come, the next one last.
    todo: Vec<Vec<u8>>,
    links: usize,
    /// How many components were resolved where the walk left what can be seen, and what stands below.
    gone: Option<(usize, Kind)>,
}

impl Walk {
    fn run(mut self, path: &[u8], follow: bool) -> Result<Resolved, ResolveError> {
        if path.first() != Some(&b'/') {
            return Err(PathError::Relative.into());
        }
        if path.contains(&0) {
            return Err(PathError::Nul.into());
        }
        self.push(path);
        let mut kind = Kind::Folder;
        while let Some(part) = self.todo.pop() {
            match part.as_slice() {
                b"." => {}
                b".." => {
                    self.done.pop();
                    self.gone = self.gone.filter(|(at, _)| self.done.len() > *at);
                    kind = self.gone.map_or(Kind::Folder, |(_, kind)| kind);
                }
                _ => kind = self.step(part, follow)?,
            }
        }
        Ok(Resolved { path: AbsPath::new(join(&self.done))?, kind })
    }

    /// Takes one name: looks at it, and follows it if it is a link.
    fn step(&mut self, part: Vec<u8>, follow: bool) -> Result<Kind, ResolveError> {
        self.done.push(part);
        if let Some((_, kind)) = self.gone {
            return Ok(kind);
        }
        let here = join(&self.done);
        let here = Path::new(OsStr::from_bytes(&here));
        let kind = match std::fs::symlink_metadata(here) {
            Ok(meta) if meta.is_symlink() => return self.link(here, follow),
            Ok(meta) if meta.is_dir() => Kind::Folder,
            Ok(_) => Kind::Other,
            Err(e) => {
                let kind = match e.kind() {
                    // A path that is too long as a whole may still be reached from further down.
                    ErrorKind::InvalidFilename if self.is_long_name() => {
                        return Err(ResolveError::LongName);
                    }
                    ErrorKind::NotFound | ErrorKind::NotADirectory => Kind::Absent,
                    ErrorKind::PermissionDenied => Kind::Unseen,
                    _ => return Err(ResolveError::Io(e.to_string())),
                };
                self.gone = Some((self.done.len().saturating_sub(1), kind));
                kind
            }
        };
        Ok(kind)
    }

    /// Whether it is the last name that is too long, and not the whole path.
    fn is_long_name(&self) -> bool {
        let last = self.done.last().map_or(0, Vec::len);
        last > LONGEST_NAME || join(&self.done).len() <= remit_core::path::LONGEST
    }

    fn link(&mut self, here: &Path, follow: bool) -> Result<Kind, ResolveError> {
        if self.todo.is_empty() && !follow {
            return Ok(Kind::Other);
        }
        self.links = self.links.saturating_add(1);
        if self.links > MOST_LINKS {
            return Err(ResolveError::Loop);
        }
        let target = std::fs::read_link(here)
            .map_err(|e| ResolveError::Io(e.to_string()))?
            .into_os_string()
            .into_vec();
        self.done.pop();
        if target.first() == Some(&b'/') {
            self.done.clear();
        }
        self.push(&target);
        Ok(Kind::Folder)
    }

    /// Puts the components of `path` before those to come. A slash at the end stays as a `.`, since it makes
    /// the kernel follow a link before it.
    fn push(&mut self, path: &[u8]) {
        if path.last() == Some(&b'/') {
            self.todo.push(b".".to_vec());
        }
        self.todo.extend(path.split(|b| *b == b'/').filter(|c| !c.is_empty()).rev().map(<[u8]>::to_vec));
    }
}

fn join(parts: &[Vec<u8>]) -> Vec<u8> {
    if parts.is_empty() {
        return b"/".to_vec();
    }
    let mut out = Vec::new();
    for part in parts {
        out.push(b'/');
        out.extend_from_slice(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Tree {
        _dir: tempfile::TempDir,
        root: String,
    }

    fn tree() -> Tree {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap().to_str().unwrap().to_owned();
        std::fs::create_dir_all(format!("{root}/real/deep")).unwrap();
        std::fs::write(format!("{root}/real/file"), "x").unwrap();
        symlink("real/deep", format!("{root}/door")).unwrap();
        symlink("real/file", format!("{root}/alias")).unwrap();
        symlink("/nowhere/at/all", format!("{root}/dangling")).unwrap();
        symlink("b", format!("{root}/a")).unwrap();
        symlink("a", format!("{root}/b")).unwrap();
        Tree { _dir: dir, root }
    }

    fn at(tree: &Tree, path: &str, follow: bool) -> Result<(String, Kind), ResolveError> {
        Files { home: None, held: false }
            .resolve(format!("{}/{path}", tree.root).as_bytes(), follow)
            .map(|r| (r.path.to_string().replace(&tree.root, ""), r.kind))
    }

    #[test]
    fn dots_after_a_link_are_taken_where_the_link_leads() {
        let t = tree();
        assert_eq!(at(&t, "door/../file", true), Ok(("/real/file".into(), Kind::Other)));
        assert_eq!(at(&t, "door/.././/file", true), Ok(("/real/file".into(), Kind::Other)));
    }

    #[test]
    fn a_last_link_is_followed_for_writes_and_not_for_removal() {
        let t = tree();
        assert_eq!(at(&t, "alias", true), Ok(("/real/file".into(), Kind::Other)));
        assert_eq!(at(&t, "alias", false), Ok(("/alias".into(), Kind::Other)));
        assert_eq!(at(&t, "door/", false), Ok(("/real/deep".into(), Kind::Folder)));
        assert_eq!(at(&t, "dangling", true), Ok(("/nowhere/at/all".into(), Kind::Absent)));
    }

    #[test]
    fn what_does_not_exist_keeps_its_name_below_what_does() {
        let t = tree();
        assert_eq!(at(&t, "door/new/file", true), Ok(("/real/deep/new/file".into(), Kind::Absent)));
        assert_eq!(at(&t, "real/file/below", true), Ok(("/real/file/below".into(), Kind::Absent)));
        // A folder that is made by the same command: the way back leads through what exists.
        assert_eq!(at(&t, "new/../alias", true), Ok(("/real/file".into(), Kind::Other)));
    }

    #[test]
    fn what_may_not_be_looked_at_is_not_taken_for_absent() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let t = tree();
        let mode = std::os::unix::fs::PermissionsExt::from_mode;
        std::fs::set_permissions(&t.root, mode(0o755)).unwrap();
        std::fs::set_permissions(format!("{}/real", t.root), mode(0o700)).unwrap();
        let nobody = rustix::fs::Uid::from_raw(65534);
        let look = || {
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            [at(&t, "real/file", true), at(&t, "door/x/../y", true), at(&t, "real/../none", true)]
        };
        let seen = std::thread::scope(|scope| scope.spawn(look).join().unwrap());
        assert_eq!(seen[0], Ok(("/real/file".into(), Kind::Unseen)));
        assert_eq!(seen[1], Ok(("/real/deep/y".into(), Kind::Unseen)));
        assert_eq!(seen[2], Ok(("/none".into(), Kind::Absent)));
    }

    #[test]
    fn a_circle_of_links_is_an_error_and_not_a_hang() {
        let t = tree();
        assert_eq!(at(&t, "a", true), Err(ResolveError::Loop));
        assert_eq!(at(&t, "a/x", false), Err(ResolveError::Loop));
    }

    #[test]
    fn what_is_no_absolute_path_is_refused() {
        let files = Files { home: None, held: false };
        assert_eq!(files.resolve(b"x", true), Err(PathError::Relative.into()));
        assert_eq!(files.resolve(b"/x\0y", true), Err(PathError::Nul.into()));
        assert_eq!(files.resolve(b"/../..", true).unwrap().path, AbsPath::root());
        assert!(files.resolve(format!("/{}", "x".repeat(5000)).as_bytes(), true).is_err());
    }
}
