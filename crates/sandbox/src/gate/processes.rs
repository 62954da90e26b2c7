//! How another process runs: its limits, its place among those that want a processor or the disk. The kernel asks only
//! whether both have the same user, so a session could take files, memory and time from the gate that holds it. What
//! is meant for one of the gate's threads is refused. All else passes: a limit is set here, since it is the whole
//! process's and the number could be a thread of the gate's by the time that the caller goes on; a rank is one
//! thread's, and one that the gate has just started is soon gone.

use super::caller::Caller;
use super::place::Standing;
use super::plan::{Deed, End, Plan, Planned, Reply};
use super::table::Call;
use crate::sys;
use remit_core::{AbsPath, Verb};
use rustix::io::Errno;

/// A limit of a process, to be set.
#[derive(Debug)]
pub(super) struct Limit {
    process: u32,
    resource: u32,
    /// The soft and the hard one.
    new: [u64; 2],
    /// Where the caller wants the former ones.
    old: u64,
}

/// Plans the calls that name a process.
pub(super) fn plan(caller: &Caller<'_>, call: &Call) -> Result<Planned, Errno> {
    let [a, b, c, d, ..] = caller.notice().arguments;
    let number = match i64::from(call.0) {
        libc::SYS_setpriority | libc::SYS_ioprio_set => b,
        _ => a,
    };
    // Less than nothing is nobody.
    let Ok(process) = u32::try_from(number as i32) else { return Ok(Planned::Now(Reply::Continue)) };
    let deed = if i64::from(call.0) == libc::SYS_prlimit64 {
        Deed::Limit(Limit { process, resource: b as u32, new: caller.numbers(c)?, old: d })
    } else {
        Deed::Rank
    };
    let standing = if caller.gate().has_thread(process) { Standing::Foreign } else { Standing::Proc };
    let path = AbsPath::new(format!("/proc/{process}")).map_err(|_| Errno::SRCH)?;
    let end = End { asked: Vec::new(), path, exists: true, is_folder: true, is_file: false, links: 0 };
    Ok(Plan { verb: Verb::Write, syscall: call.1, end, to: None, standing, deed }.into())
}

impl Limit {
    /// Sets it. The gate may set what the caller may: both have the same user, and no right above it.
    pub(super) fn perform(&self, caller: &Caller<'_>) -> Reply {
        let done = sys::set_limit(self.process, self.resource, self.new).and_then(|former| match self.old {
            0 => Ok(()),
            old => caller.put_numbers(old, former),
        });
        done.into()
    }
}
