//! From a caller's string to a place, as the kernel would have gone from it: a base, the folder by one call, the
//! last name by hand. What leads through `/proc` is walked by [`super::proc_walk`].

use super::caller::Caller;
use super::halt::Halt;
use super::place::{Last, Object, Origin, Place, join};
use super::proc_walk;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, openat, openat2, readlinkat};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};

/// How many links may stand at the end of a path, one after the other.
pub(super) const MOST_LINKS: usize = 40;

/// What is done with a link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// It is followed.
    Follow,
    /// It is followed only if a slash stands after it.
    Keep,
    /// It is what the call is about.
    Name,
    /// It is followed, and nothing may be made where a slash stands after the name.
    Create,
    /// The same, but the link is kept.
    CreateKept,
}

impl Links {
    /// Whether a link with or without a slash after it is followed.
    pub(super) fn follow(self, slash: bool) -> bool {
        match self {
            Links::Follow | Links::Create => true,
            Links::Keep => slash,
            Links::Name | Links::CreateKept => false,
        }
    }

    /// Whether a name may be made.
    pub(super) fn creates(self) -> bool {
        matches!(self, Links::Create | Links::CreateKept)
    }
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const NAME: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A path cut before its last component.
struct Cut<'a> {
    folder: &'a [u8],
    name: &'a [u8],
    slash: bool,
}

/// The path must not be empty.
fn cut(path: &[u8]) -> Cut<'_> {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    let (trimmed, rest) = path.split_at(end);
    match trimmed.iter().rposition(|byte| *byte == b'/') {
        // Nothing but slashes: the root folder.
        None if trimmed.is_empty() => Cut { folder: b"/", name: b"", slash: false },
        None => Cut { folder: b"", name: trimmed, slash: !rest.is_empty() },
        Some(slash) => {
            let (folder, name) = trimmed.split_at(slash + 1);
            Cut { folder, name, slash: !rest.is_empty() }
        }
    }
}

/// Finds the place of a path that begins at `base` if it is relative. Errors are those of the kernel for a path
/// that cannot be walked; `EACCES` also for links of `/proc` that are not the caller's.
pub(super) fn resolve(caller: &Caller<'_>, base: i32, path: &[u8], links: Links) -> Result<Place, Halt> {
    find(caller, base, path, links).map_err(|halt| halt.asked(path))
}

fn find(caller: &Caller<'_>, base: i32, path: &[u8], links: Links) -> Result<Place, Halt> {
    if path.is_empty() {
        return Err(Errno::NOENT.into());
    }
    let mut start = if path.starts_with(b"/") { None } else { Some(caller.base(base)?) };
    let mut path = path.to_vec();
    for _ in 0..MOST_LINKS {
        let Cut { folder, name, slash } = cut(&path);
        let (parent, kept) = match start.take() {
            Some(start) if folder.is_empty() => (start, None),
            start => match open_folder(start.as_ref(), folder) {
                Ok(parent) => (parent, start),
                // A loop, or a link of /proc that leads elsewhere than its text says.
                Err(Errno::LOOP) => return proc_walk::walk(caller, start, &path, links),
                // A folder that cannot be entered. Only a cover changes the kernel's answer.
                Err(Errno::ACCESS) => {
                    return Err(match proc_walk::walk(caller, start, &path, links) {
                        Err(Halt::Covered(covered)) => Halt::Covered(covered),
                        Err(Halt::Error(_)) | Ok(_) => Errno::ACCESS.into(),
                    });
                }
                Err(error) => return Err(error.into()),
            },
        };
        let origin = Origin::of(caller.gate(), &parent)?;
        if origin.on_proc {
            // `self` in it was the gate's; the walk begins anew, as the caller.
            let start = if folder.is_empty() { Some(parent) } else { kept };
            return proc_walk::walk(caller, start, &path, links);
        }
        match look_up(caller, parent, origin, name, slash, links)? {
            Step::Place(place) => return Ok(*place),
            Step::Link { parent, mut text } => {
                if slash {
                    text.push(b'/');
                }
                start = if text.starts_with(b"/") { None } else { Some(parent) };
                path = text;
            }
        }
    }
    Err(Errno::LOOP.into())
}

fn open_folder(start: Option<&OwnedFd>, folder: &[u8]) -> Result<OwnedFd, Errno> {
    let from = start.map_or(CWD, AsFd::as_fd);
    openat2(from, folder, FOLDER, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
}

/// What the last component came to.
enum Step {
    Place(Box<Place>),
    Link { parent: OwnedFd, text: Vec<u8> },
}

/// Looks at the last component in its folder, which is not on `/proc`.
fn look_up(
    caller: &Caller<'_>,
    parent: OwnedFd,
    origin: Origin,
    name: &[u8],
    slash: bool,
    links: Links,
) -> Result<Step, Halt> {
    if let Some(place) = dots(caller, &parent, name)? {
        return Ok(Step::Place(Box::new(place)));
    }
    let (folder, standing) = origin.folder(caller.gate(), &parent)?;
    let path = join(&folder, name)?;
    if slash && links.creates() {
        return Err(Errno::ISDIR.into());
    }
    let object = match openat(&parent, name, NAME, Mode::empty()) {
        Err(Errno::NOENT) => None,
        Err(error) => return Err(Halt::at(caller.gate(), &parent, error, [name].into_iter())),
        Ok(fd) => {
            let object = Object::named(caller.gate(), fd, path.clone(), (origin, standing))?;
            if object.kind() == FileType::Symlink && links.follow(slash) {
                return Ok(Step::Link { parent, text: read_link(&object.fd)? });
            }
            Some(object)
        }
    };
    let (name, last) = (name.to_vec(), Last::Name);
    Ok(Step::Place(Box::new(Place { parent, name, last, slash, path, standing, object })))
}

/// The place of a last component that is no name: `.`, `..`, or none at all.
pub(super) fn dots(caller: &Caller<'_>, parent: &OwnedFd, name: &[u8]) -> Result<Option<Place>, Halt> {
    let (name, last) = match name {
        b"" => (&b"."[..], Last::Root),
        b"." => (name, Last::Dot),
        b".." => (name, Last::DotDot),
        _ => return Ok(None),
    };
    let fd = openat(parent, name, FOLDER, Mode::empty())
        .map_err(|error| Halt::at(caller.gate(), parent, error, [name].into_iter()))?;
    let object = Object::of(caller.gate(), fd)?;
    Ok(Some(Place {
        parent: parent.try_clone().map_err(|_| Errno::MFILE)?,
        name: name.to_vec(),
        last,
        slash: false,
        path: object.path.clone(),
        standing: object.standing,
        object: Some(object),
    }))
}

/// The text of a link.
pub(super) fn read_link(link: &OwnedFd) -> Result<Vec<u8>, Errno> {
    Ok(readlinkat(link, c"", Vec::new())?.into_bytes())
}

/// What a call is about that takes a path, or with `empty` the descriptor itself where the path is missing.
pub(super) fn target(
    caller: &Caller<'_>,
    base: i32,
    path: Option<&[u8]>,
    links: Links,
    empty: bool,
) -> Result<Object, Halt> {
    Ok(match path {
        Some(path) if !(path.is_empty() && empty) => resolve(caller, base, path, links)?.into_object()?,
        _ => Object::of(caller.gate(), caller.base(base)?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str) -> (&str, &str, bool) {
        let Cut { folder, name, slash } = cut(path.as_bytes());
        (std::str::from_utf8(folder).unwrap(), std::str::from_utf8(name).unwrap(), slash)
    }

    #[test]
    fn a_path_is_cut_before_its_last_component() {
        assert_eq!(parts("a"), ("", "a", false));
        assert_eq!(parts("a//"), ("", "a", true));
        assert_eq!(parts("/a"), ("/", "a", false));
        assert_eq!(parts("a/b/c/"), ("a/b/", "c", true));
        assert_eq!(parts("//a//b"), ("//a//", "b", false));
        assert_eq!(parts("/"), ("/", "", false));
        assert_eq!(parts("///"), ("/", "", false));
        assert_eq!(parts("a/.."), ("a/", "..", false));
    }
}
