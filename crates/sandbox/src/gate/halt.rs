//! What stops a call before anything is planned: an error that the kernel would have answered, or a cover of the
//! view. Nothing can be looked up below a cover, so nothing there says whether a name exists; what was to be done is
//! put before the authority all the same, by the path that it would have had.

use super::place::{Place, join, name_of, path};
use super::plan::End;
use super::serve::Gate;
use remit_core::AbsPath;
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// Why nothing can be planned.
#[derive(Debug)]
pub(super) enum Halt {
    /// The kernel's own answer.
    Error(Errno),
    /// A way leads below a cover.
    Covered(Box<Covered>),
}

/// An operation with an end below a cover.
#[derive(Debug)]
pub(super) struct Covered {
    /// What it is done to.
    pub(super) end: End,
    /// The other end, if there is one that has a name.
    pub(super) to: Option<End>,
}

impl From<Errno> for Halt {
    fn from(error: Errno) -> Self {
        Halt::Error(error)
    }
}

impl Halt {
    /// What an error means that came up when these names, the first one first, were looked for in a folder.
    pub(super) fn at<'n>(
        gate: &Gate,
        folder: &OwnedFd,
        error: Errno,
        names: impl Iterator<Item = &'n [u8]>,
    ) -> Self {
        if error != Errno::ACCESS || !gate.mounts().is_cover(folder) {
            return error.into();
        }
        match name_of(gate, folder).and_then(|name| path(&name)) {
            Ok(cover) => Self::covered(End::unseen(below(&cover, names)), None),
            Err(_) => error.into(),
        }
    }

    fn covered(end: End, to: Option<End>) -> Self {
        Halt::Covered(Box::new(Covered { end, to }))
    }

    /// The same with the path as the caller wrote it.
    pub(super) fn asked(mut self, path: &[u8]) -> Self {
        if let Halt::Covered(covered) = &mut self {
            covered.end.asked = path.to_vec();
        }
        self
    }
}

/// The path of names below a cover, as far as it can be told. No way leads out of a cover, `..` neither.
fn below<'n>(cover: &AbsPath, names: impl Iterator<Item = &'n [u8]>) -> AbsPath {
    let mut at = vec![cover.clone()];
    for name in names {
        match name {
            b"" | b"." => {}
            b".." if at.len() > 1 => drop(at.pop()),
            b".." => {}
            name => match at.last().map(|folder| join(folder, name)) {
                Some(Ok(next)) => at.push(next),
                Some(Err(_)) | None => break,
            },
        }
    }
    at.pop().unwrap_or_else(|| cover.clone())
}

/// Both ends of an operation. A cover in the way of the first stops it whatever the second is; one in the way of
/// the second, if the first is there. `end`: what to tell of the first; none if it is not there.
pub(super) fn both<T>(
    first: Result<T, Halt>,
    end: impl FnOnce(&T) -> Option<End>,
    second: Result<Place, Halt>,
    asked: &[u8],
) -> Result<(T, Place), Halt> {
    match (first, second) {
        (Ok(first), Ok(second)) => Ok((first, second)),
        (Ok(first), Err(Halt::Covered(second))) => {
            Err(Halt::covered(end(&first).ok_or(Errno::NOENT)?, Some(second.end)))
        }
        (Err(Halt::Covered(first)), second) => {
            let to = match second {
                Ok(place) => Some(End::at(&place, asked)),
                Err(Halt::Covered(second)) => Some(second.end),
                // What the kernel would have come to next.
                Err(Halt::Error(_)) => None,
            };
            Err(Halt::covered(first.end, to))
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &str) -> String {
        let cover = AbsPath::new("/w/secrets").unwrap();
        below(&cover, names.split('/').map(str::as_bytes)).to_string()
    }

    #[test]
    fn what_lies_below_a_cover_is_named_by_the_cover_and_the_rest_and_never_leads_out() {
        assert_eq!(named("a/./b//c"), "/w/secrets/a/b/c");
        assert_eq!(named("a/../b"), "/w/secrets/b");
        assert_eq!(named(".."), "/w/secrets");
        assert_eq!(named("../../etc/passwd"), "/w/secrets/etc/passwd");
        assert_eq!(named(&format!("a/{}", "n/".repeat(4096))).split("/n").next(), Some("/w/secrets/a"));
    }
}
