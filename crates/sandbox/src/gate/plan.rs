//! What a stopped call comes to: an answer at once, or a plan to be judged and then done.

use super::attributes::{self, Change};
use super::bind::{self, Binding};
use super::caller::Caller;
use super::halt::Halt;
use super::names::{self, Naming};
use super::open::{self, Opening};
use super::place::{Object, Place, Standing};
use super::processes::{self, Limit};
use super::reading;
use super::table::{Call, Family};
use super::watch::{self, Watching};
use crate::{Fixed, Operation, Ruling, Target};
use remit_core::{AbsPath, Verb};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// What goes back to the caller.
#[derive(Debug)]
pub(super) enum Reply {
    /// A number.
    Value(i64),
    /// An error.
    Error(Errno),
    /// An open file.
    File {
        /// The gate's descriptor for it.
        file: OwnedFd,
        /// Whether the caller's is to be closed on exec.
        close_on_exec: bool,
    },
    /// Whatever the kernel answers; the floor holds.
    Continue,
    /// Nothing: the caller is gone.
    Gone,
    /// Nothing now: another thread answers.
    Later,
}

impl From<Result<(), Errno>> for Reply {
    fn from(done: Result<(), Errno>) -> Self {
        match done {
            Ok(()) => Reply::Value(0),
            Err(error) => Reply::Error(error),
        }
    }
}

impl From<Errno> for Reply {
    fn from(error: Errno) -> Self {
        Reply::Error(error)
    }
}

/// One of the one or two ends of an operation.
#[derive(Debug)]
pub(super) struct End {
    /// As the caller wrote it.
    pub(super) asked: Vec<u8>,
    /// As the kernel names it.
    pub(super) path: AbsPath,
    /// Whether something is there.
    pub(super) exists: bool,
    /// Whether it is a folder.
    pub(super) is_folder: bool,
    /// Whether it is a regular file.
    pub(super) is_file: bool,
    /// How many names has what is there.
    pub(super) links: u64,
}

impl End {
    /// The end that is a name.
    pub(super) fn at(place: &Place, asked: &[u8]) -> Self {
        Self {
            asked: asked.to_vec(),
            path: place.path.clone(),
            exists: place.object.is_some(),
            is_folder: place.is_folder(),
            is_file: place.object.as_ref().is_some_and(Object::is_file),
            links: place.object.as_ref().map_or(0, |object| object.stat.st_nlink),
        }
    }

    /// An end of which nothing can be seen.
    pub(super) fn unseen(path: AbsPath) -> Self {
        Self { asked: Vec::new(), path, exists: false, is_folder: false, is_file: false, links: 0 }
    }

    /// The end that is a thing.
    pub(super) fn of(object: &Object, asked: &[u8]) -> Self {
        Self {
            asked: asked.to_vec(),
            path: object.path.clone(),
            exists: true,
            is_folder: object.is_folder(),
            is_file: object.is_file(),
            links: object.stat.st_nlink,
        }
    }
}

/// What can be done, as resolved.
#[derive(Debug)]
pub(super) enum Deed {
    /// Hands out an open file.
    Open(Opening),
    /// Makes, removes or moves names.
    Name(Box<Naming>),
    /// Changes what something carries.
    Change(Change),
    /// Gives a socket its name.
    Bind(Box<Binding>),
    /// Sets a watch.
    Watch(Watching),
    /// Sets a limit of a process.
    Limit(Limit),
    /// The kernel does it: how soon a process runs.
    Rank,
    /// The kernel does it, under view and floor: what exists is read, or started.
    Read,
    /// Nobody does it: an end lies below a cover.
    Never,
}

/// An operation that no natural error stands against.
#[derive(Debug)]
pub(super) struct Plan {
    /// What it is.
    pub(super) verb: Verb,
    /// The call; see [`Operation::syscall`].
    pub(super) syscall: &'static str,
    /// What it is done to.
    pub(super) end: End,
    /// The other end.
    pub(super) to: Option<End>,
    /// Whether it is to be judged.
    pub(super) standing: Standing,
    /// How it is done.
    pub(super) deed: Deed,
}

/// What planning comes to.
pub(super) enum Planned {
    /// To be judged and done.
    Do(Box<Plan>),
    /// To be answered.
    Now(Reply),
}

impl From<Plan> for Planned {
    fn from(plan: Plan) -> Self {
        Planned::Do(Box::new(plan))
    }
}

/// Reads and resolves what a caller asks. Changes nothing.
pub(super) fn plan(caller: &Caller<'_>, call: &Call) -> Result<Planned, Errno> {
    let covered = match by_family(caller, call) {
        Ok(planned) => return Ok(planned),
        Err(Halt::Error(error)) => return Err(error),
        Err(Halt::Covered(covered)) => *covered,
    };
    let verb = match call.family() {
        Some(Family::Open) => open::change(caller, call)
            .or_else(|| caller.gate().authority().records_reads().then_some(Verb::Read))
            .ok_or(Errno::ACCESS)?,
        Some(Family::Execute) => Verb::Execute,
        Some(Family::MakeFolder | Family::MakeNode | Family::Bind) => Verb::Create,
        Some(Family::Remove) => Verb::Delete,
        Some(Family::Link | Family::Symlink | Family::Rename) => Verb::Rename,
        Some(Family::Truncate | Family::Mode | Family::Owner | Family::Times | Family::Attribute) => {
            Verb::Write
        }
        // Nothing in the tree would change.
        Some(Family::Watch | Family::Process | Family::Umask) | None => return Err(Errno::ACCESS),
    };
    let (syscall, standing, deed) = (names::word(caller, call), Standing::Fixed, Deed::Never);
    Ok(Plan { verb, syscall, end: covered.end, to: covered.to, standing, deed }.into())
}

fn by_family(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    match call.family().ok_or(Errno::NOSYS)? {
        Family::Open => open::plan(caller, call),
        Family::Execute => reading::start(caller, call),
        Family::MakeFolder
        | Family::MakeNode
        | Family::Remove
        | Family::Link
        | Family::Symlink
        | Family::Rename => names::plan(caller, call),
        Family::Truncate | Family::Mode | Family::Owner | Family::Times | Family::Attribute => {
            attributes::plan(caller, call)
        }
        Family::Bind => bind::plan(caller, call),
        Family::Watch => watch::plan(caller, call),
        Family::Process => Ok(processes::plan(caller, call)?),
        Family::Umask => {
            caller.gate().note_owner_mask();
            Ok(Planned::Now(Reply::Continue))
        }
    }
}

impl Plan {
    /// Puts the operation before the session's authority. `below`: an entry that may not move. The error is what
    /// the caller gets instead.
    pub(super) fn permit(&self, caller: &Caller<'_>, below: Option<&AbsPath>) -> Result<(), Errno> {
        let fixed = self.fixed(caller);
        if let Some(error) = self.late_error(caller, below, fixed) {
            return Err(error);
        }
        match (self.is_allowed(caller, below, fixed), &self.deed) {
            (true, _) => Ok(()),
            (false, Deed::Limit(_) | Deed::Rank) => Err(Errno::PERM),
            (false, _) => Err(Errno::ACCESS),
        }
    }

    /// What the kernel would answer to something that is about to be refused: such an error comes first, and is no
    /// refusal. What is allowed meets it when it is done.
    fn late_error(
        &self,
        caller: &Caller<'_>,
        below: Option<&AbsPath>,
        fixed: Option<Fixed>,
    ) -> Option<Errno> {
        let Deed::Name(naming) = &self.deed else { return None };
        let authority = caller.gate().authority();
        let may = |end: &End| authority.may(self.verb, &end.path);
        let refused = match (self.standing, fixed) {
            (_, Some(Fixed::View)) => true,
            (Standing::Named, _) => {
                below.is_some() || !may(&self.end) || self.to.as_ref().is_some_and(|to| !may(to))
            }
            _ => false,
        };
        if refused { naming.late_error(caller.gate()) } else { None }
    }

    /// What stands against it whatever the ruling says.
    fn fixed(&self, caller: &Caller<'_>) -> Option<Fixed> {
        match (self.standing, &self.deed) {
            (Standing::Fixed, _) => Some(Fixed::View),
            (Standing::Outside, _) => Some(Fixed::Outside),
            (Standing::Foreign, _) => Some(Fixed::Foreign),
            (Standing::Named, Deed::Name(naming)) if naming.takes_a_mount(caller.gate()) => Some(Fixed::View),
            (Standing::Named | Standing::Nameless | Standing::Held | Standing::Proc, _) => None,
        }
    }

    fn is_allowed(&self, caller: &Caller<'_>, below: Option<&AbsPath>, fixed: Option<Fixed>) -> bool {
        // Nothing in the tree changes, the caller has the right already, or the kernel refuses it anyway.
        if matches!(self.standing, Standing::Nameless | Standing::Held | Standing::Proc) {
            return true;
        }
        let authority = caller.gate().authority();
        let to = || self.to.as_ref().map(|to| Target { asked: &to.asked, path: &to.path, exists: to.exists });
        let judged = |verb| {
            let ruling = authority.judge(&Operation {
                verb,
                syscall: self.syscall,
                asked: &self.end.asked,
                path: &self.end.path,
                to: to(),
                pid: caller.group(),
                exists: self.end.exists,
                is_dir: self.end.is_folder,
                is_file: self.end.is_file || self.makes_file(),
                closes: matches!(&self.deed, Deed::Change(change) if change.closes()),
                below,
                links: self.end.links,
                fixed,
            });
            ruling == Ruling::Allow
        };
        // The floor holds reading, but this file is opened by the gate. One call makes one record.
        let reads = match &self.deed {
            Deed::Open(opening) => opening.reads() && fixed.is_none(),
            Deed::Name(_) | Deed::Change(_) | Deed::Bind(_) => false,
            Deed::Limit(_) | Deed::Rank | Deed::Read | Deed::Watch(_) | Deed::Never => false,
        };
        if reads && !authority.may(Verb::Read, &self.end.path) && !judged(Verb::Read) {
            return false;
        }
        judged(self.verb) && below.is_none() && fixed.is_none()
    }

    /// Whether what is made is a regular file.
    fn makes_file(&self) -> bool {
        match &self.deed {
            Deed::Open(opening) => opening.makes(),
            Deed::Name(naming) => naming.makes_file(),
            Deed::Change(_) | Deed::Bind(_) | Deed::Limit(_) => false,
            Deed::Rank | Deed::Read | Deed::Watch(_) | Deed::Never => false,
        }
    }

    /// The folders that would move, each with the name that it has and the name that it would get.
    pub(super) fn moving_folders(&self) -> Vec<(&Object, &AbsPath)> {
        match &self.deed {
            Deed::Name(naming) => naming.moving_folders(),
            _ => Vec::new(),
        }
    }
}
