//! The gate's threads: receive, plan, still waiting?, judge, do, answer.

use super::caller::Caller;
use super::mounts::Mounts;
use super::open::How;
use super::place::{AT_ITSELF, Object};
use super::plan::{Deed, Plan, Planned, Reply, plan};
use super::stillness::Stillness;
use super::table::{self, Call, Family};
use super::waiting::{self, Patient};
use crate::sys::{self, Notice};
use crate::{Authority, subtree};
use remit_core::{AbsPath, Verb};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, openat, statat, statx};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;

/// How often a call is planned anew because others were faster, before it fails.
const MOST_TRIES: usize = 16;

/// The descriptors that the gate may need: those that it remembers of the session's threads, and those of a walk.
const DESCRIPTORS: u64 = 4096;

/// The process that answers a session's stopped calls. It must live in the session's own mount and PID
/// namespaces, as the parent of all, with the callers' user and group and no right but `CAP_SYS_PTRACE`.
pub struct Gate {
    listener: OwnedFd,
    proc: OwnedFd,
    own_descriptors: OwnedFd,
    device_of_proc: (u32, u32),
    mounts: Mounts,
    authority: Arc<dyn Authority>,
    /// Held from the first look at a path until the change is done, for writing by the calls that move names, else
    /// for reading: so the names that were judged are those that are changed. Other sessions' gates are held off by
    /// each thread's [`Stillness`], which is taken first: nobody who has this one waits for that.
    tree: RwLock<()>,
    owner_mask: AtomicBool,
    waiting: AtomicUsize,
    serving: AtomicUsize,
}

impl Gate {
    /// Takes the listener of the session's filter, which must be open nowhere else: callers of a listener whose
    /// gate is gone fail, those of one that somebody keeps hang. The session's first mode mask must be the calling
    /// process's. Errors are those of the kernel; `ENOSYS` and `EINVAL` if it cannot do what the gate needs.
    pub fn new(listener: OwnedFd, authority: Arc<dyn Authority>) -> Result<Gate, Errno> {
        sys::check_sizes()?;
        sys::wake_synchronously(listener.as_fd())?;
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mask = umask(Mode::empty());
        umask(mask);
        let limit = getrlimit(Resource::Nofile);
        let wanted = limit.maximum.map_or(DESCRIPTORS, |most| most.min(DESCRIPTORS));
        if limit.current.is_some_and(|current| current < wanted) {
            setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum })?;
        }
        let proc = openat(CWD, c"/proc", folder, Mode::empty())?;
        let stat = statx(&proc, c"", AT_ITSELF, StatxFlags::empty())?;
        Ok(Gate {
            listener,
            proc,
            device_of_proc: (stat.stx_dev_major, stat.stx_dev_minor),
            mounts: Mounts::default(),
            own_descriptors: openat(CWD, c"/proc/self/fd", folder, Mode::empty())?,
            authority,
            tree: RwLock::new(()),
            owner_mask: AtomicBool::new(mask.intersects(Mode::RWXU)),
            waiting: AtomicUsize::new(0),
            serving: AtomicUsize::new(0),
        })
    }

    /// Starts the authority, then so many threads that serve until no task of the session is left; the last one to
    /// end tells the authority. Answers the threads that could be started; if it is none, the gate must be dropped,
    /// and then every stopped call fails.
    pub fn serve(self: Arc<Self>, threads: usize) -> Vec<JoinHandle<()>> {
        self.authority.start();
        self.serving.store(threads, Ordering::Release);
        let start =
            |gate: Arc<Self>| std::thread::Builder::new().name("gate".into()).spawn(|| gate.serve_one());
        let started: Vec<_> = (0..threads).map_while(|_| start(Arc::clone(&self)).ok()).collect();
        if !started.is_empty() {
            self.leave(threads - started.len());
        }
        started
    }

    /// So many threads serve no longer.
    fn leave(&self, threads: usize) {
        if threads > 0 && self.serving.fetch_sub(threads, Ordering::AcqRel) == threads {
            self.authority.finish();
        }
    }

    fn serve_one(self: Arc<Self>) {
        let _guard = Indispensable;
        // Without a mask of its own a thread would make files with another caller's.
        if sys::own_umask().is_ok()
            && let Ok(stillness) = Stillness::of(&self)
        {
            while self.serve_next(&stillness) {}
        }
        self.leave(1);
    }

    /// Serves one call; `false` if there will be no more.
    fn serve_next(self: &Arc<Self>, stillness: &Stillness) -> bool {
        match sys::receive(self.listener()) {
            Ok(notice) => {
                let reply = self.handle(notice, stillness);
                self.answer(notice.id, reply);
                true
            }
            Err(Errno::INTR) => true,
            // Whoever was to be received has died, or all have.
            Err(Errno::NOENT) => !self.is_deserted(),
            Err(_) => false,
        }
    }

    /// Whether no task is left that the filter could stop.
    fn is_deserted(&self) -> bool {
        let mut asked = [PollFd::new(&self.listener, PollFlags::IN)];
        match poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(_) => asked.iter().any(|fd| fd.revents().contains(PollFlags::HUP)),
            Err(_) => false,
        }
    }

    fn handle(self: &Arc<Self>, notice: Notice, stillness: &Stillness) -> Reply {
        let Some(call) = table::find(notice.number) else { return Reply::Error(Errno::NOSYS) };
        let caller = match Caller::meet(self, notice) {
            Ok(caller) => caller,
            // It is gone, or it is no task of the session's own namespace, and then nothing of it can be read.
            Err(Errno::SRCH) => return Reply::Error(Errno::ACCESS),
            Err(error) => return Reply::Error(error),
        };
        // What is found under a name may be another thing, and a folder, by the time that it moves; and the gate
        // starts threads under the lock only, so none of them takes a number that has just been looked at.
        let alone = matches!(call.family(), Some(Family::Rename | Family::Bind | Family::Process));
        for _ in 0..MOST_TRIES {
            let _others = match stillness.hold(alone) {
                Ok(still) => still,
                Err(error) => return Reply::Error(error),
            };
            let attempt = if alone {
                let _moving = self.tree.write().unwrap_or_else(PoisonError::into_inner);
                self.attempt(&caller, call)
            } else {
                let _still = self.tree.read().unwrap_or_else(PoisonError::into_inner);
                self.attempt(&caller, call)
            };
            if let Some(reply) = attempt {
                return reply;
            }
        }
        Reply::Error(Errno::AGAIN)
    }

    /// One try, under the lock; `None`: all must be asked anew. All descriptors of it are closed when it returns,
    /// but that of the reply.
    fn attempt(self: &Arc<Self>, caller: &Caller<'_>, call: &Call) -> Option<Reply> {
        let planned = plan(caller, call);
        // What was read belongs to the caller only if it is still there.
        if !caller.is_waiting() {
            return Some(Reply::Gone);
        }
        let plan = match planned {
            Ok(Planned::Do(plan)) => *plan,
            Ok(Planned::Now(reply)) => return Some(reply),
            Err(error) => return Some(Reply::Error(error)),
        };
        let below = plan.moving_folders().iter().find_map(|(folder, to)| self.first_fixed(folder, to));
        if let Err(error) = plan.permit(caller, below.as_ref()) {
            return Some(Reply::Error(error));
        }
        self.perform(caller, plan)
    }

    fn first_fixed(&self, folder: &Object, to: &AbsPath) -> Option<AbsPath> {
        match folder.reopen(self, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) {
            Ok(listed) => {
                let may = |path: &AbsPath| self.authority.may(Verb::Rename, path);
                let ends = (&folder.path, Some(to));
                subtree::first_fixed(&may, listed, ends, subtree::MOST).map(|fixed| fixed.path().clone())
            }
            Err(_) => Some(folder.path.clone()),
        }
    }

    fn perform(self: &Arc<Self>, caller: &Caller<'_>, plan: Plan) -> Option<Reply> {
        Some(match plan.deed {
            Deed::Open(opening) if matches!(opening.how, How::Existing(_)) => {
                waiting::perform(self, caller, Patient::Open(opening))
            }
            Deed::Open(opening) => return opening.make(self),
            Deed::Name(naming) => naming.perform(caller),
            Deed::Change(change) if change.cuts() => waiting::perform(self, caller, Patient::Cut(change)),
            Deed::Change(change) => change.perform(),
            Deed::Bind(binding) => binding.perform(),
            Deed::Watch(watching) => watching.perform(),
            Deed::Limit(limit) => limit.perform(caller),
            Deed::Rank | Deed::Read => Reply::Continue,
            Deed::Never => Reply::Error(Errno::ACCESS),
        })
    }

    /// The listener.
    pub(super) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Whether a number is that of one of the gate's own threads.
    pub(super) fn has_thread(&self, thread: u32) -> bool {
        let place = format!("{}/task/{thread}", std::process::id());
        statat(&self.proc, place, AtFlags::empty()).is_ok()
    }

    /// `/proc`.
    pub(super) fn proc(&self) -> BorrowedFd<'_> {
        self.proc.as_fd()
    }

    /// The folder of the gate's own descriptors.
    pub(super) fn own_descriptors(&self) -> BorrowedFd<'_> {
        self.own_descriptors.as_fd()
    }

    /// The number of the file system that is mounted on `/proc`.
    pub(super) fn device_of_proc(&self) -> (u32, u32) {
        self.device_of_proc
    }

    /// The session's mounts.
    pub(super) fn mounts(&self) -> &Mounts {
        &self.mounts
    }

    /// Who judges.
    pub(super) fn authority(&self) -> &dyn Authority {
        &*self.authority
    }

    /// How many callers wait for another process.
    pub(super) fn waiting(&self) -> &AtomicUsize {
        &self.waiting
    }

    /// Whether any mode mask of the session may take rights from the owner.
    pub(super) fn has_owner_mask(&self) -> bool {
        self.owner_mask.load(Ordering::Relaxed)
    }

    /// Remembers that one does.
    pub(super) fn note_owner_mask(&self) {
        self.owner_mask.store(true, Ordering::Relaxed);
    }
}

/// A thread that fails while a caller waits must not leave it waiting: the whole process ends, and with it the
/// session.
pub(super) struct Indispensable;

impl Drop for Indispensable {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}
