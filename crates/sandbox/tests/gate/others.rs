//! What one process may do to another, and above all to the gate: both have the same user, which is all that the
//! kernel asks for in many calls.

use crate::session::{ALL_BUT_SHUT, Session, answer, here, open, opens, shell};
use libc::{O_CREAT, O_RDWR, O_WRONLY};
use std::os::fd::AsRawFd;

/// The threads of the gate.
fn threads() -> Vec<i32> {
    let listed = std::fs::read_dir("/proc/1/task").unwrap();
    listed.map(|entry| entry.unwrap().file_name().to_string_lossy().parse().unwrap()).collect()
}

/// Sets a limit of a process to these, and answers the former ones.
fn limit(process: i32, resource: libc::__rlimit_resource_t, new: Option<[u64; 2]>) -> (String, [u64; 2]) {
    let mut former = [0; 2];
    let new = new.as_ref().map_or(std::ptr::null(), |new| new.as_ptr());
    // SAFETY: both are two numbers, or nothing.
    let done = unsafe { libc::syscall(libc::SYS_prlimit64, process, resource, new, former.as_mut_ptr()) };
    (answer(done), former)
}

/// A child that waits, until it is dropped.
struct Child(std::process::Child);

impl Child {
    fn new() -> Self {
        Self(std::process::Command::new("/bin/sleep").arg("60").spawn().unwrap())
    }

    fn number(&self) -> i32 {
        self.0.id().try_into().unwrap()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn no_limit_of_the_gate_can_be_set_and_those_of_others_can() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let mut said = Vec::new();
        for thread in threads() {
            for resource in [libc::RLIMIT_FSIZE, libc::RLIMIT_NOFILE, libc::RLIMIT_AS, libc::RLIMIT_NPROC] {
                let (_, before) = limit(thread, resource, None);
                said.push(limit(thread, resource, Some([1, before[1]])).0);
                assert_eq!(limit(thread, resource, None).1, before);
            }
        }
        said.dedup();
        // It still judges, and writes it down.
        said.push(opens("shut/secret", O_WRONLY));
        let child = Child::new();
        let own = std::process::id().try_into().unwrap();
        for process in [own, child.number()] {
            let (_, [soft, hard]) = limit(process, libc::RLIMIT_CORE, None);
            let (done, former) = limit(process, libc::RLIMIT_CORE, Some([0, hard.min(4096)]));
            assert_eq!(former, [soft, hard]);
            said.push(format!("{done} {:?}", limit(process, libc::RLIMIT_CORE, None).1[0]));
            said.push(limit(process, libc::RLIMIT_CORE, Some([1, 0])).0);
            // SAFETY: the kernel finds nothing at this address.
            said.push(answer(unsafe { libc::syscall(libc::SYS_prlimit64, process, 4, 8, 0) }));
        }
        said.push(limit(i32::MAX, libc::RLIMIT_CORE, Some([0, 0])).0);
        said.push(limit(-1, libc::RLIMIT_CORE, Some([0, 0])).0);
        said.join(" ")
    }) {
        let other = format!("ok 0 EINVAL E{}", libc::EFAULT);
        assert_eq!(outcome.said, format!("EPERM EACCES {other} {other} E{0} E{0}", libc::ESRCH));
        let told = |start: &str| outcome.records.iter().filter(|record| record.starts_with(start)).count();
        assert!(told("deny write prlimit64  /proc/1") >= 4, "{:#?}", outcome.records);
        assert_eq!(told("deny write openat"), 1);
    }
}

/// All the ways to have a process run later, or elsewhere.
fn hold_back(process: i32) -> Vec<String> {
    let (parameter, mask) = ([0i32], [u64::MAX; 16]);
    // The size, no policy, no flags, and the least rank.
    let attributes: [u32; 12] = [48, 0, 0, 0, 19, 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: parameters outlive the calls that take them.
    let calls = unsafe {
        [
            libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, process, 19),
            libc::syscall(libc::SYS_ioprio_set, 1, process, 3 << 13),
            libc::syscall(libc::SYS_sched_setscheduler, process, libc::SCHED_BATCH, parameter.as_ptr()),
            libc::syscall(libc::SYS_sched_setparam, process, parameter.as_ptr()),
            libc::syscall(libc::SYS_sched_setattr, process, attributes.as_ptr(), 0),
            libc::syscall(libc::SYS_sched_setaffinity, process, 128, mask.as_ptr()),
        ]
    };
    let mut said: Vec<_> = calls.map(answer).to_vec();
    said.dedup();
    said
}

#[test]
fn the_gate_cannot_be_held_back_and_others_can() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let mut said: Vec<_> = threads().into_iter().flat_map(hold_back).collect();
        // SAFETY: plain calls.
        let many = unsafe {
            [
                libc::syscall(libc::SYS_setpriority, libc::PRIO_PGRP, 0, 19),
                libc::syscall(libc::SYS_setpriority, libc::PRIO_USER, 0, 19),
                libc::syscall(libc::SYS_ioprio_set, 2, 0, 3 << 13),
                libc::syscall(libc::SYS_ioprio_set, 3, libc::getuid(), 3 << 13),
            ]
        };
        said.extend(many.map(answer));
        said.dedup();
        // SAFETY: a plain call.
        let rank =
            |process: i32| unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, process) };
        said.push(threads().into_iter().map(|thread| (20 - rank(thread)).to_string()).collect());
        let child = Child::new();
        said.extend(hold_back(child.number()));
        said.push((20 - rank(child.number())).to_string());
        // SAFETY: a plain call.
        let thread = std::thread::spawn(|| hold_back(unsafe { libc::gettid() }));
        said.extend(thread.join().unwrap());
        said.extend(hold_back(0));
        said.join(" ")
    }) {
        assert_eq!(outcome.said, "EPERM 000 ok 19 ok ok");
        assert!(
            outcome.records.contains(&"deny write setpriority  /proc/1".to_owned()),
            "{:#?}",
            outcome.records
        );
    }
}

#[test]
fn on_proc_a_process_changes_only_itself() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let names = [
            "oom_score_adj",
            "oom_adj",
            "autogroup",
            "coredump_filter",
            "clear_refs",
            "sched",
            "timerslack_ns",
            "comm",
            "latency",
            "mem",
            "uid_map",
        ];
        let of = |process: &str| {
            let there = names.iter().map(|name| format!("/proc/{process}/{name}"));
            let there = there.filter(|path| std::path::Path::new(path).exists());
            let mut said: Vec<_> = there.flat_map(|path| [O_WRONLY, O_RDWR].map(|how| opens(&path, how))).collect();
            said.dedup();
            said.join(" ")
        };
        let child = Child::new();
        let mut said = vec![of("1"), of(&format!("1/task/{}", threads()[1])), of(&child.number().to_string())];
        said.push(opens("/proc/sys/kernel/core_pattern", O_WRONLY));
        said.push(opens("/proc/self/no such name", O_CREAT | O_WRONLY));
        // What is its own it may change, by every name.
        for path in ["/proc/self/comm", "/proc/thread-self/comm", "/proc/self/coredump_filter"] {
            let file = open(path, O_RDWR).unwrap();
            // SAFETY: the text outlives the call.
            said.push(answer(unsafe { libc::write(file.as_raw_fd(), c"0x33".as_ptr().cast(), 4) } as i64));
        }
        said.push(shell("echo 700 > /proc/self/oom_score_adj && cat /proc/self/oom_score_adj; echo x >/proc/$$/comm; cat /proc/$$/comm").replace('\n', " "));
        said.push(std::fs::read_to_string("/proc/1/oom_score_adj").unwrap().trim().to_owned());
        said.join(" ")
    }) {
        let no = "EACCES";
        assert_eq!(outcome.said, format!("{no} {no} {no} {no} ENOENT ok ok ok 0 700 x   0"));
        assert!(outcome.records.contains(&"deny write openat /proc/1/oom_score_adj /proc/1/oom_score_adj".to_owned()));
    }
}

#[test]
fn calls_that_reach_into_the_gate_fail() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let mut buffer = [0u64; 16];
        let (vector, attributes) = ([buffer.as_ptr() as u64, 8], [0u64; 16]);
        // SAFETY: the structures outlive the calls that take them.
        let calls = unsafe {
            let handle = libc::syscall(libc::SYS_pidfd_open, 1, 0);
            [
                libc::syscall(libc::SYS_process_vm_readv, 1, vector.as_ptr(), 1, vector.as_ptr(), 1, 0),
                libc::syscall(libc::SYS_process_vm_writev, 1, vector.as_ptr(), 1, vector.as_ptr(), 1, 0),
                libc::syscall(libc::SYS_kcmp, 1, libc::getpid(), 0, 1, 1),
                libc::syscall(libc::SYS_move_pages, 1, 1, vector.as_ptr(), 0, buffer.as_mut_ptr(), 0),
                libc::syscall(libc::SYS_migrate_pages, 1, 1, buffer.as_ptr(), buffer.as_ptr()),
                libc::syscall(libc::SYS_process_madvise, handle, vector.as_ptr(), 1, libc::MADV_PAGEOUT, 0),
                libc::syscall(libc::SYS_process_mrelease, handle, 0),
                libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 1, -1, -1, 0),
                libc::syscall(libc::SYS_get_robust_list, 1, buffer.as_mut_ptr(), buffer.as_mut_ptr()),
                libc::syscall(libc::SYS_pidfd_send_signal, handle, libc::SIGSTOP, 0, 0),
                libc::syscall(libc::SYS_tgkill, 1, 1, libc::SIGSTOP),
                libc::syscall(libc::SYS_rt_sigqueueinfo, 1, libc::SIGSTOP, attributes.as_ptr()),
                libc::syscall(libc::SYS_setpgid, 1, 1),
                libc::syscall(libc::SYS_prctl, libc::PR_SCHED_CORE, libc::PR_SCHED_CORE_SHARE_TO, 1, 1, 0),
            ]
        };
        calls.map(|call| if call < 0 { "no" } else { "yes" }).join(" ") + &opens("shut/secret", O_WRONLY)
    }) {
        assert_eq!(outcome.said, ["no"; 14].join(" ") + "EACCES");
    }
}

#[test]
fn a_signal_of_its_own_choice_by_a_descriptor_does_not_reach_the_gate() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let (read, write) = std::os::unix::net::UnixStream::pair().unwrap();
        // SAFETY: plain calls.
        unsafe {
            libc::fcntl(read.as_raw_fd(), libc::F_SETOWN, 1);
            libc::fcntl(read.as_raw_fd(), 10, libc::SIGKILL);
            libc::fcntl(read.as_raw_fd(), libc::F_SETFL, libc::O_ASYNC);
        }
        std::io::Write::write_all(&mut &write, b"x").unwrap();
        opens("shut/secret", O_WRONLY)
    }) {
        assert_eq!(outcome.said, "EACCES");
    }
}

#[test]
fn no_lease_keeps_others_from_a_file() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        std::fs::write("mine", "x").unwrap();
        let mut said = Vec::new();
        for path in ["shut/secret", "mine"] {
            let file = open(path, libc::O_RDONLY).unwrap();
            for kind in [libc::F_WRLCK, libc::F_RDLCK] {
                // SAFETY: plain calls.
                said.push(answer(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) }.into()));
            }
            // SAFETY: the same.
            said.push(answer(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) }.into()));
        }
        said.join(" ")
    }) {
        assert_eq!(outcome.said, "EINVAL EINVAL ok EINVAL EINVAL ok");
    }
}
