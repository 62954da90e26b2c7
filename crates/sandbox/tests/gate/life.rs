//! Beginning and end: who is served, until when, and what is left if the gate dies.

use crate::session::{ALL_BUT_SHUT, FATAL, Session, answer, here, opens, shell};

#[test]
fn a_daemon_left_behind_is_still_served_and_the_authority_hears_of_the_end() {
    let outcomes = Session::new(here!(), ALL_BUT_SHUT)
        .run(|| shell("(sleep 0.3; echo late > late; echo x > shut/late) >/dev/null 2>&1 &"));
    for outcome in outcomes {
        assert_eq!(std::fs::read_to_string(outcome.folder.join("late")).unwrap(), "late\n");
        assert!(!outcome.folder.join("shut/late").exists());
        assert_eq!(outcome.records.last().unwrap(), "finished");
        assert_eq!(outcome.records.iter().filter(|record| *record == "finished").count(), 1);
    }
}

#[test]
fn nothing_inside_can_signal_or_trace_or_read_the_gate() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        // SAFETY: plain calls.
        let tries = unsafe {
            [
                libc::kill(1, libc::SIGKILL).into(),
                libc::kill(1, 0).into(),
                libc::ptrace(libc::PTRACE_ATTACH, 1, 0, 0),
                libc::syscall(libc::SYS_pidfd_getfd, libc::syscall(libc::SYS_pidfd_open, 1, 0), 3, 0),
            ]
        };
        let mut said: Vec<String> = tries.into_iter().map(answer).collect();
        said.push(opens("/proc/1/mem", libc::O_RDONLY));
        said.extend((0..12).map(|fd| opens(&format!("/proc/1/fd/{fd}"), libc::O_RDONLY)));
        said.extend((0..12).map(|fd| opens(&format!("/proc/1/fd/{fd}"), libc::O_WRONLY)));
        said.push(opens("/proc/1/root/tmp/x", libc::O_CREAT | libc::O_WRONLY));
        // Numbers that the gate does not use do not exist.
        said.retain(|word| word != "ENOENT");
        said.dedup();
        said.join(" ")
    }) {
        assert_eq!(outcome.said, "EPERM EACCES");
    }
}

#[test]
fn if_the_gate_dies_the_session_is_dead() {
    let outcomes = Session::new(here!(), ALL_BUT_SHUT).run_to_any_end(|| {
        shell("touch before; (sleep 3; touch after; cat shut/secret > leak) >/dev/null 2>&1 &");
        opens(FATAL, libc::O_CREAT | libc::O_WRONLY)
    });
    // The gate dies long before, and what it held would have done its deed by then.
    std::thread::sleep(std::time::Duration::from_millis(3500));
    for outcome in outcomes {
        assert_ne!(outcome.code, 0, "a gate whose judge fails does not go on");
        assert!(!outcome.said.contains('\u{2}'));
        assert!(outcome.folder.join("before").exists());
        assert!(!outcome.folder.join("after").exists() && !outcome.folder.join("leak").exists());
    }
}
