//! Reading and starting, in sessions whose reads are recorded. The gate finds the path and puts it before the
//! authority; what is allowed the kernel does, which looks the name up again and answers all errors of its own. So
//! nothing is held here: view and floor hold reading, whether the gate looks on or not.

use super::caller::Caller;
use super::halt::Halt;
use super::place::{Object, Standing};
use super::plan::{Deed, End, Plan, Planned, Reply};
use super::resolve::{Links, target};
use super::table::Call;
use remit_core::Verb;
use rustix::fs::{FileType, OFlags};

/// Plans an opening that changes nothing.
pub(super) fn open(
    caller: &Caller<'_>,
    call: &Call,
    base: i32,
    path: &[u8],
    flags: OFlags,
) -> Result<Planned, Halt> {
    let links = if flags.contains(OFlags::NOFOLLOW) { Links::Keep } else { Links::Follow };
    found(caller, call, Verb::Read, path, target(caller, base, Some(path), links, false))
}

/// Plans `execve` and `execveat`.
pub(super) fn start(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let [a, b, _, _, e, _] = caller.notice().arguments;
    let (base, path, flags) = match i64::from(call.0) {
        libc::SYS_execve => (libc::AT_FDCWD, a, 0),
        _ => (a as i32, b, e as i32),
    };
    let path = caller.string(path)?;
    let links = if flags & libc::AT_SYMLINK_NOFOLLOW == 0 { Links::Follow } else { Links::Keep };
    let object = target(caller, base, Some(&path), links, flags & libc::AT_EMPTY_PATH != 0);
    found(caller, call, Verb::Execute, &path, object)
}

fn found(
    caller: &Caller<'_>,
    call: &Call,
    verb: Verb,
    path: &[u8],
    object: Result<Object, Halt>,
) -> Result<Planned, Halt> {
    match object {
        Ok(object) => Ok(plan(caller, call, verb, &object, path)),
        Err(covered @ Halt::Covered(_)) => Err(covered),
        Err(Halt::Error(_)) => Ok(Planned::Now(Reply::Continue)),
    }
}

/// Plans reading, or starting, what has been found. Only files and folders that have a name in the tree are put
/// before the authority; of the view's own folders nothing is said.
pub(super) fn plan(caller: &Caller<'_>, call: &Call, verb: Verb, object: &Object, path: &[u8]) -> Planned {
    let gate = caller.gate();
    let named = matches!(object.standing, Standing::Named | Standing::Fixed);
    let kind = object.kind();
    let told = match verb {
        Verb::Execute => kind == FileType::RegularFile,
        _ => matches!(kind, FileType::RegularFile | FileType::Directory | FileType::Fifo),
    };
    if !gate.authority().records_reads() || !named || !told || gate.mounts().is_own(&object.fd) {
        return Planned::Now(Reply::Continue);
    }
    let end = End::of(object, path);
    Plan { verb, syscall: call.1, end, to: None, standing: Standing::Named, deed: Deed::Read }.into()
}
