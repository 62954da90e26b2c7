//! Process 1 of the session: builds the view, starts the agent, serves, reaps, and ends the session.

use super::agent::{Command, Files, Setting, agent, give_up};
use super::channel::{Channel, GO, Order, Report};
use super::spec::{ChildExit, Measured, Spec, Stdio, WindowSize};
use crate::authority::Authority;
use crate::failure::{Failure, Step};
use crate::gate::{Gate, Stops};
use crate::raw::{self, Side, Signals};
use crate::view;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, PidfdGetfdFlags, Signal, WaitOptions, WaitStatus, getpgid, getpgrp,
    ioctl_tiocsctty, pidfd_getfd, pidfd_open, set_dumpable_behavior, set_parent_process_death_signal,
    setpgid, setsid, umask, wait,
};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetpgrp, tcsetwinsize};
use rustix::thread::CapabilitySet;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How many threads answer the filter: two, so that one slow call does not hold up all.
const THREADS: usize = 2;
/// How long what the program left behind may take to end.
const LAST_WILL: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_millis(2);

/// A session that runs.
struct Session {
    job: Arc<Job>,
    serving: Vec<JoinHandle<()>>,
}

/// The program, as a shell sees one: this process is its parent in the same session, so that its process group can
/// be stopped and let go on.
struct Job {
    agent: Pid,
    /// It has a process group of its own.
    leads: bool,
    /// The outer end of the session's terminal. The inner one would keep the terminal from ending with the program.
    terminal: Option<OwnedFd>,
}

impl Job {
    /// Has the agent lead a process group, unless it shares its terminal with the holder.
    fn begin(&self, front: bool) -> Result<(), Errno> {
        if self.leads {
            setpgid(Some(self.agent), Some(self.agent))?;
        }
        self.bring(front)
    }

    /// Makes the program's process group the one in the foreground of its terminal, or takes that place itself.
    fn bring(&self, front: bool) -> Result<(), Errno> {
        let Some(terminal) = &self.terminal else { return Ok(()) };
        tcsetpgrp(terminal, if front { getpgid(Some(self.agent))? } else { getpgrp() })
    }

    fn obey(&self, order: Order) -> Result<(), Errno> {
        match order {
            Order::Signal(signal) if self.leads => raw::signal(getpgid(Some(self.agent))?, true, signal),
            Order::Signal(signal) => raw::signal(self.agent, false, signal),
            Order::Front(front) => self.bring(front),
        }
    }
}

/// Runs the gate's part. `ipc`: the holder's IPC namespace. Never returns.
pub(super) fn gate_process(spec: Spec, command: &Command, ipc: u64, holder: Channel, control: Channel) -> ! {
    let holder = Arc::new(holder);
    match begin(spec, command, ipc, &holder, control) {
        Ok(session) => {
            serve(&session, &holder);
            raw::leave(0)
        }
        Err(report) => {
            // If even this cannot be told, the holder sees the end of this process.
            holder.send(&report.bytes()).ok();
            raw::leave(125)
        }
    }
}

fn begin(
    spec: Spec,
    command: &Command,
    ipc: u64,
    holder: &Arc<Channel>,
    control: Channel,
) -> Result<Session, Report> {
    let (plan, cwd, authority) = (spec.plan, spec.cwd, spec.authority);
    let answering = Arc::clone(&authority);
    let stops = Stops { lists: !plan.listed, reads: authority.records_reads() };
    let start = || -> Result<(Session, Channel), Failure> {
        raw::set_signals(Signals::Ignored);
        die_with_holder()?;
        let (word, _) = holder.receive().step(|| "reach the holder".to_owned())?;
        if word != GO {
            return Err(Errno::PIPE).step(|| "reach the holder".to_owned());
        }
        let mask = umask(Mode::from_raw_mode(0o022));
        let unlayered = view::build(&plan, &spec.session_files)?;
        umask(mask);
        let (leads, front) =
            (!spec.stdio.shares_terminal(), matches!(spec.stdio, Stdio::Pty { front: true, .. }));
        if leads {
            setsid().step(|| "leave the holder's terminal".to_owned())?;
        }
        let (files, terminal) = files(spec.stdio, holder)?;
        let (ours, theirs) = Channel::pair().step(|| "make a channel".to_owned())?;
        match raw::fork().step(|| "fork".to_owned())? {
            Side::Child => {
                drop(ours);
                agent(&Setting { plan: &plan, command, cwd: &cwd, stops, ipc, unlayered }, files, &theirs)
            }
            Side::Parent(agent) => {
                let job = Job { agent, leads, terminal };
                job.begin(front).step(|| "make a process group".to_owned())?;
                drop((files, theirs));
                // The kernel takes its time over it. The agent prepares itself meanwhile, and is told to go on only
                // afterwards.
                let left = leave_old_root()?;
                keep_little()?;
                let gate = take_listener(agent, &ours, authority)?;
                left.join()
                    .unwrap_or_else(|_| Err(Errno::IO).step(|| "let go of the old root".to_owned()))?;
                // Until the threads are there its calls wait.
                ours.send(GO).step(|| "reach the agent".to_owned())?;
                let serving = begin_to_serve(gate)?;
                beside("control", move || answer(&control, &*answering))?;
                Ok((Session { job: Arc::new(job), serving }, ours))
            }
        }
    };
    let (session, agent) = start().map_err(Report::Failed)?;
    watch_start(&agent, holder, &session.job)?;
    holder.send(&Report::Started.bytes()).step(|| "reach the holder".to_owned()).map_err(Report::Failed)?;
    Ok(session)
}

/// Starts a thread that is not waited for: it ends with the process.
fn beside(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map(drop).step(|| "start a thread".to_owned())
}

/// The death of the holder's thread is this process's own, and so the session's.
fn die_with_holder() -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::KILL)).step(|| "tie the session to its holder".to_owned())
}

/// Begins to let go of the machine's file tree, on a thread that keeps the right to do so, and ends by it.
fn leave_old_root() -> Result<JoinHandle<Result<(), Failure>>, Failure> {
    let thread = std::thread::Builder::new().name("leave".into());
    thread.spawn(view::leave_old_root()?).step(|| "start a thread".to_owned())
}

/// From here on this thread, and those that it starts, can look at the session's processes, and nothing else that they could not do.
fn keep_little() -> Result<(), Failure> {
    give_up(CapabilitySet::SYS_PTRACE).step(|| "give up capabilities".to_owned())?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).step(|| "hide from the session".to_owned())?;
    die_with_holder()
}

/// The agent's side of input and output, and the other end of a terminal.
fn files(stdio: Stdio, holder: &Channel) -> Result<(Files, Option<OwnedFd>), Failure> {
    match stdio {
        Stdio::Inherit => Ok((Files::Same, None)),
        Stdio::Given(files) => Ok((Files::Given(files), None)),
        Stdio::Pty { size, .. } => {
            let (inner, outer) = terminal(size, holder).step(|| "make a terminal".to_owned())?;
            Ok((Files::Terminal(inner), Some(outer)))
        }
    }
}

/// Makes a terminal of the view's own, which becomes this session's, and sends the other end to the holder.
fn terminal(size: WindowSize, holder: &Channel) -> Result<(OwnedFd, OwnedFd), Errno> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    unlockpt(&master)?;
    tcsetwinsize(&master, Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 })?;
    let slave = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    ioctl_tiocsctty(&slave)?;
    holder.send_file(&Report::Terminal.bytes(), &master)?;
    Ok((slave, master))
}

/// Takes the filter's listener out of the agent. The agent's copy goes when the program starts.
fn take_listener(agent: Pid, channel: &Channel, authority: Arc<dyn Authority>) -> Result<Gate, Failure> {
    let number = match receive(channel)? {
        Report::Listener(number) => number,
        Report::Failed(failure) => return Err(failure),
        _ => return Err(Errno::PROTO).step(|| "understand the agent".to_owned()),
    };
    let take = || pidfd_getfd(pidfd_open(agent, PidfdFlags::empty())?, number, PidfdGetfdFlags::empty());
    let listener = take().step(|| "take the filter's listener".to_owned())?;
    Gate::new(listener, authority).step(|| "begin to serve".to_owned())
}

fn begin_to_serve(gate: Gate) -> Result<Vec<JoinHandle<()>>, Failure> {
    let serving = Arc::new(gate).serve(THREADS);
    if serving.is_empty() { Err(Errno::AGAIN).step(|| "begin to serve".to_owned()) } else { Ok(serving) }
}

fn receive(channel: &Channel) -> Result<Report, Failure> {
    let (bytes, _) = channel.receive().step(|| "reach the agent".to_owned())?;
    Report::read(&bytes).ok_or(Errno::PROTO).step(|| "understand the agent".to_owned())
}

/// Tells the holder what was measured, and lets the agent go on when the holder has taken note of it. Waits until the
/// agent has become the program: its end of the channel closes by that.
fn watch_start(agent: &Channel, holder: &Arc<Channel>, job: &Arc<Job>) -> Result<(), Report> {
    let gone = || Report::Failed(Failure { step: "keep the agent alive".to_owned(), error: Errno::SRCH });
    let measured = match receive(agent).map_err(Report::Failed)? {
        Report::Measured(measured) => measured,
        Report::Closed => return Err(gone()),
        other => return Err(other),
    };
    if measured.checks.iter().any(|check| !check.held) {
        return Err(Report::Measured(measured));
    }
    noted(measured, holder).map_err(Report::Failed)?;
    agent.send(GO).step(|| "reach the agent".to_owned()).map_err(Report::Failed)?;
    let (orders, job) = (Arc::clone(holder), Arc::clone(job));
    beside("orders", move || take_orders(&orders, &job)).map_err(Report::Failed)?;
    match receive(agent).map_err(Report::Failed)? {
        Report::Closed => Ok(()),
        other => Err(other),
    }
}

fn noted(measured: Measured, holder: &Channel) -> Result<(), Failure> {
    let told = holder.send(&Report::Measured(measured).bytes()).and_then(|()| holder.receive());
    match told.step(|| "reach the holder".to_owned())? {
        (word, _) if word == GO => Ok(()),
        _ => Err(Errno::PIPE).step(|| "reach the holder".to_owned()),
    }
}

fn serve(session: &Session, holder: &Channel) {
    let ended = reap(session.job.agent, holder);
    // A holder that does not listen any more has ended, and this process with it.
    holder.send(&Report::Ended(ended).bytes()).ok();
    end_the_rest();
    // The last of them tells the authority that it is over.
    wait_for(|| session.serving.iter().all(JoinHandle::is_finished));
}

/// Does what the holder wants. When it lets go of the session, it ends.
fn take_orders(holder: &Channel, job: &Job) {
    while let Ok((bytes, _)) = holder.receive() {
        if bytes.is_empty() {
            break;
        }
        if let Some(order) = Order::read(&bytes) {
            // The program may have ended just now.
            job.obey(order).ok();
        }
    }
    raw::signal_all(libc::SIGKILL);
}

/// Answers the holder's messages: four bytes that number the message, then its body; the answer has the same number.
fn answer(control: &Channel, authority: &dyn Authority) {
    while let Ok((bytes, _)) = control.receive() {
        let Some((number, message)) = bytes.split_first_chunk::<4>() else { return };
        let mut reply = number.to_vec();
        reply.extend(authority.control(message));
        if control.send(&reply).is_err() {
            return;
        }
    }
}

fn ended(status: WaitStatus) -> ChildExit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ChildExit::Code(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, Some(signal)) => ChildExit::Signal(signal),
        (None, None) => ChildExit::Lost,
    }
}

/// Waits for every process whose parent is gone, until the agent itself has ended. Tells when it is stopped.
fn reap(agent: Pid, holder: &Channel) -> ChildExit {
    loop {
        match wait(WaitOptions::UNTRACED) {
            Ok(Some((pid, status))) if pid == agent => match status.stopping_signal() {
                // A holder that does not listen any more has ended, and this process with it.
                Some(signal) => drop(holder.send(&Report::Stopped(signal).bytes())),
                None => return ended(status),
            },
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return ChildExit::Lost,
        }
    }
}

/// Ends what the program left behind: asks, waits a little, insists.
fn end_the_rest() {
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        raw::signal_all(signal);
        raw::signal_all(libc::SIGCONT);
        if wait_for(nobody_left) {
            return;
        }
    }
}

/// Reaps who has ended; true if there is nobody else.
fn nobody_left() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

/// Waits until something is so, in steps that grow, for a second at most; whether it came to be.
fn wait_for(so: impl Fn() -> bool) -> bool {
    let until = Instant::now() + LAST_WILL;
    let mut step = SHORTEST;
    while !so() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(step);
        step = LONGEST.min(step * 2);
    }
    true
}
