//! Giving a Unix socket a name in the file tree. All other addresses are the kernel's business: the floor lets no
//! session make a socket file, so an address that changes after it was read leads to nothing.
//!
//! The socket remembers its address as it was written, and others find it by that, so it is bound by the caller's
//! own words, in the caller's working folder. A thread of its own does it, which the kernel lets make sockets in the
//! judged folder only; nobody can lead it elsewhere by exchanging a folder of the path meanwhile. Where the words
//! mean something else to the gate (they lead through `/proc/self`), it is bound by the last name alone, and that is
//! what `getsockname` answers.

use super::caller::Caller;
use super::halt::Halt;
use super::names::free;
use super::place::{Place, Standing};
use super::plan::{Deed, End, Plan, Planned, Reply};
use super::serve::Indispensable;
use super::table::Call;
use crate::sys;
use landlock::{
    AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
};
use remit_core::Verb;
use rustix::fs::{AtFlags, FileType, Mode, statat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, sockopt::socket_domain};
use rustix::process::{fchdir, umask};
use std::os::fd::{AsFd, OwnedFd};

/// Where the text of an address begins: after the family.
const TEXT: usize = 2;

/// The longest address of a Unix socket, in bytes.
const LONGEST: usize = size_of::<libc::sockaddr_un>();

/// A socket and its name to be.
#[derive(Debug)]
pub(super) struct Binding {
    socket: OwnedFd,
    /// As the caller wrote it.
    text: Vec<u8>,
    /// Where a relative text begins.
    base: Option<OwnedFd>,
    place: Place,
    mask: Mode,
}

/// Plans `bind`.
pub(super) fn plan(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let [number, address, length, ..] = caller.notice().arguments;
    let Some(text) = text(caller, address, length) else { return Ok(Planned::Now(Reply::Continue)) };
    let socket = caller.descriptor(number as i32)?;
    if socket_domain(&socket) != Ok(AddressFamily::UNIX) {
        return Ok(Planned::Now(Reply::Continue));
    }
    let place = free(caller, libc::AT_FDCWD, &text, false).map_err(|halt| match halt {
        Halt::Error(Errno::EXIST) => Errno::ADDRINUSE.into(),
        other => other,
    })?;
    let base = if text.starts_with(b"/") { None } else { Some(caller.base(libc::AT_FDCWD)?) };
    let mask = Mode::from_bits_retain(caller.umask(0o777)?);
    let (end, standing) = (End::at(&place, &text), place.standing);
    // The kernel refuses it there, but not in these words.
    if standing == Standing::Proc {
        return Err(Errno::PERM.into());
    }
    let deed = Deed::Bind(Box::new(Binding { socket, text, base, place, mask }));
    Ok(Plan { verb: Verb::Create, syscall: call.1, end, to: None, standing, deed }.into())
}

/// The path in an address of the caller; none if it has none, or is none that the kernel takes.
fn text(caller: &Caller<'_>, address: u64, length: u64) -> Option<Vec<u8>> {
    // The kernel reads an `int`.
    let length =
        usize::try_from(length as i32).ok().filter(|length| (TEXT + 1..=LONGEST).contains(length))?;
    let bytes = caller.bytes(address, length).ok()?;
    let (family, text) = bytes.split_at_checked(TEXT)?;
    let text = text.split(|byte| *byte == 0).next()?;
    let unix = family == AddressFamily::UNIX.as_raw().to_ne_bytes();
    (unix && !text.is_empty()).then(|| text.to_vec())
}

impl Binding {
    /// Does it.
    pub(super) fn perform(&self) -> Reply {
        let done = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("bind".into()).spawn_scoped(scope, || {
                let _guard = Indispensable;
                self.bind()
            });
            thread.map_or(Err(Errno::ACCESS), |thread| thread.join().unwrap_or(Err(Errno::ACCESS)))
        });
        done.into()
    }

    fn bind(&self) -> Result<(), Errno> {
        sys::own_umask()?;
        umask(self.mask);
        match self.keep_to_folder() {
            Ok(RulesetStatus::FullyEnforced) => {}
            Ok(_) | Err(_) => return Err(Errno::ACCESS),
        }
        let entered = self.base.as_ref().map_or(Ok(()), fchdir);
        match entered.and_then(|()| sys::bind_path(self.socket.as_fd(), &self.text)) {
            Ok(()) if self.is_there() => Ok(()),
            // Below the judged folder, by somebody who is no part of this session.
            Ok(()) => Err(Errno::ACCESS),
            Err(Errno::ACCESS | Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                fchdir(&self.place.parent)?;
                sys::bind_path(self.socket.as_fd(), &self.place.name)
            }
            Err(error) => Err(error),
        }
    }

    /// From here on this thread can make sockets in the judged folder, and below it, only.
    fn keep_to_folder(&self) -> Result<RulesetStatus, landlock::RulesetError> {
        let done = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::MakeSock)?
            .create()?
            .add_rule(PathBeneath::new(&self.place.parent, AccessFs::MakeSock))?
            .restrict_self()?;
        Ok(done.ruleset)
    }

    fn is_there(&self) -> bool {
        statat(&self.place.parent, self.place.name.as_slice(), AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket)
    }
}
