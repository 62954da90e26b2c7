//! What somebody would try who wants to change what is denied.

use crate::session::{ALL_BUT_SHUT, HELD, Outcome, Session, answer, c, here, magic, open, opens, shell};
use libc::{O_CREAT, O_PATH, O_RDONLY, O_RDWR, O_WRONLY};
use std::os::fd::AsRawFd;

/// Nothing that is denied has changed.
fn intact(outcome: &Outcome) {
    for path in ["shut/secret", "shut/held", "top/shut/key"] {
        let path = outcome.folder.join(path);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "secret", "{}", path.display());
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o7777, 0o644);
    }
    assert_eq!(std::fs::read_dir(outcome.folder.join("shut")).unwrap().count(), 2);
    assert_eq!(std::fs::read_dir(outcome.folder.join("top/shut")).unwrap().count(), 1);
}

#[test]
fn a_folder_does_not_move_if_anything_below_it_may_not() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        shell("mkdir -p draft/shut/deep free/sub; echo evil > draft/shut/key; ln -s shut link; echo y > free/sub/y");
        let swap = |a: &str, b: &str| {
            let (a, b) = (c(a), c(b));
            let (at, flag) = (libc::AT_FDCWD, libc::RENAME_EXCHANGE);
            // SAFETY: both paths end in NUL.
            answer(unsafe { libc::syscall(libc::SYS_renameat2, at, a.as_ptr(), at, b.as_ptr(), flag) })
        };
        let mv = |a: &str, b: &str| match std::fs::rename(a, b) {
            Ok(()) => "ok".into(),
            Err(error) => format!("{}", error.kind()),
        };
        [
            // Away with it, into it, and round it.
            mv("top", "other"),
            mv("draft", "later"),
            mv("shut", "open"),
            mv("draft/shut", "later"),
            mv("later", "top/shut2"),
            swap("draft", "top"),
            swap("free", "top"),
            swap("link", "shut"),
            mv("free", "moved"),
            swap("moved", "draft"),
            mv("moved", "later"),
        ]
        .join(", ")
    }) {
        let no = "permission denied";
        let wanted = [no, no, no, "ok", "ok", "EACCES", "EACCES", "EACCES", "ok", "ok", "ok"].join(", ");
        assert_eq!(outcome.said, wanted);
        intact(&outcome);
        assert!(outcome.records.iter().any(|record| record.starts_with("deny rename rename top ")));
    }
}

#[test]
fn a_descriptor_that_only_reads_changes_nothing() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let mut said = Vec::new();
        for flags in [O_RDONLY, O_PATH] {
            let fd = open("shut/secret", flags).unwrap();
            let number = fd.as_raw_fd();
            said.push(opens(&magic(&fd), O_WRONLY));
            said.push(opens(&format!("/dev/fd/{number}"), O_RDWR));
            said.push(opens(&format!("/proc/thread-self/fd/{number}"), O_WRONLY | libc::O_TRUNC));
            let (path, value) = (c(&magic(&fd)), c"v".as_ptr());
            let (path, at) = (path.as_ptr(), libc::AT_FDCWD);
            // SAFETY: descriptors, paths and values outlive the calls that take them.
            let calls = unsafe {
                [
                    libc::chmod(path, 0o777).into(),
                    libc::truncate(path, 0).into(),
                    libc::utimes(path, std::ptr::null()).into(),
                    libc::setxattr(path, c"user.a".as_ptr(), value.cast(), 1, 0).into(),
                    libc::linkat(at, path, at, c"mine".as_ptr(), libc::AT_SYMLINK_FOLLOW).into(),
                    libc::linkat(number, c"".as_ptr(), at, c"mine".as_ptr(), libc::AT_EMPTY_PATH).into(),
                    libc::syscall(libc::SYS_fchmodat2, number, c"".as_ptr(), 0o777, libc::AT_EMPTY_PATH),
                    libc::utimensat(number, c"".as_ptr(), std::ptr::null(), libc::AT_EMPTY_PATH).into(),
                ]
            };
            said.extend(calls.map(answer));
            if flags == O_RDONLY {
                // SAFETY: the same.
                let calls = unsafe {
                    [
                        libc::fchmod(number, 0o777).into(),
                        libc::fchown(number, u32::MAX, u32::MAX).into(),
                        libc::futimens(number, std::ptr::null()).into(),
                        libc::fsetxattr(number, c"user.a".as_ptr(), value.cast(), 1, 0).into(),
                        libc::syscall(libc::SYS_utimensat, number, 0, 0, 0),
                    ]
                };
                said.extend(calls.map(answer));
            }
        }
        said.dedup();
        said.join(" ")
    }) {
        assert_eq!(outcome.said, "EACCES");
        intact(&outcome);
    }
}

#[test]
fn what_the_caller_holds_for_writing_it_may_reopen_but_nobody_elses() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let own = format!("/proc/self/fd/{HELD}");
        let mut said = vec![
            opens(&own, O_WRONLY),
            opens(&own, O_RDWR),
            opens(&own, O_RDWR | O_WRONLY),
            opens(&own, O_RDONLY | libc::O_TRUNC),
            opens(&format!("/dev/fd/{HELD}"), O_WRONLY | O_CREAT | libc::O_APPEND),
            std::thread::spawn(move || opens(&own, O_WRONLY)).join().unwrap(),
            // SAFETY: a plain call.
            answer(unsafe { libc::fchmod(HELD, 0o777) }.into()),
            opens("shut/held", O_WRONLY),
        ];
        // A child that has it; the parent has closed it.
        let mut child = std::process::Command::new("/bin/sleep").arg("5").spawn().unwrap();
        // SAFETY: the number is nobody's in here.
        unsafe { libc::close(HELD) };
        said.push(opens(&format!("/proc/self/fd/{HELD}"), O_WRONLY));
        said.push(opens(&format!("/proc/{}/fd/{HELD}", child.id()), O_WRONLY));
        child.kill().unwrap();
        child.wait().unwrap();
        said.join(" ")
    }) {
        assert_eq!(outcome.said, "ok EACCES EACCES EACCES ok ok EACCES EACCES ENOENT EACCES");
        intact(&outcome);
    }
}

#[test]
fn a_file_that_may_be_written_and_not_read_is_not_opened_for_both() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let both = O_RDWR | O_WRONLY;
        [O_CREAT | O_RDWR, O_RDWR, both, O_RDONLY | libc::O_TRUNC, O_WRONLY]
            .map(|flags| opens("unread", flags))
            .join(" ")
    }) {
        assert_eq!(outcome.said, "ok EACCES EACCES EACCES ok");
        let of = |start: &str| outcome.records.iter().filter(|record| record.starts_with(start)).count();
        assert_eq!((of("deny read "), of("deny "), of("allow write "), of("allow ")), (3, 3, 1, 2));
    }
}

#[test]
fn links_are_judged_at_both_ends_and_what_is_done_through_them_where_they_lead() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        shell("echo x > mine; ln -s shut/new dangling; ln -s shut/secret direct; ln -s shut folder; ln -s dangling chain");
        let hard = |from: &str, to: &str| std::fs::hard_link(from, to).map_or("refused", |()| "ok").to_owned();
        let soft = |to: &str| std::os::unix::fs::symlink("x", to).map_or("refused", |()| "ok").to_owned();
        [
            hard("shut/secret", "second"),
            hard("mine", "shut/second"),
            hard("mine", "folder/second"),
            hard("mine", "second"),
            soft("shut/soft"),
            soft("soft"),
            opens("dangling", O_CREAT | O_WRONLY),
            opens("chain", O_CREAT | O_WRONLY),
            opens("direct", O_WRONLY),
            opens("folder/new", O_CREAT | O_WRONLY),
            opens("dangling", O_CREAT | O_WRONLY | libc::O_EXCL),
        ]
        .join(" ")
    }) {
        assert_eq!(
            outcome.said,
            "refused refused refused ok refused ok EACCES EACCES EACCES EACCES EEXIST"
        );
        intact(&outcome);
        let dangling = format!("deny create openat dangling {}/shut/new", outcome.folder.display());
        assert!(outcome.records.contains(&dangling));
    }
}

#[test]
fn calls_that_the_gate_does_not_know_do_not_exist() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let (how, at, x32) = ([0u64; 3], libc::AT_FDCWD, 0x4000_0000);
        let mut said = Vec::new();
        let mut note = |call: libc::c_long| said.push(answer(call));
        // SAFETY: paths and structures outlive the calls that take them.
        unsafe {
            note(libc::syscall(libc::SYS_openat2, at, c"x".as_ptr(), how.as_ptr(), 24));
            note(libc::syscall(libc::SYS_io_uring_setup, 8, how.as_ptr()));
            note(libc::syscall(libc::SYS_io_uring_enter, 3, 0, 0, 0, 0, 0));
            note(libc::syscall(libc::SYS_io_uring_register, 3, 0, 0, 0));
            note(libc::syscall(463, at, c"mine".as_ptr(), 0, c"user.a".as_ptr(), how.as_ptr(), 16));
            note(libc::syscall(466, at, c"mine".as_ptr(), 0, c"user.a".as_ptr()));
            note(libc::syscall(469, at, c"mine".as_ptr(), how.as_ptr(), 24, 0));
            note(libc::syscall(libc::SYS_open_tree, at, c"shut".as_ptr(), 0));
            note(libc::syscall(libc::SYS_mount_setattr, at, c"/".as_ptr(), 0, how.as_ptr(), 32));
            note(libc::syscall(400));
            note(libc::syscall(470));
            note(libc::syscall(9999));
            note(libc::syscall(x32 | libc::SYS_mkdir, c"made".as_ptr(), 0o777));
            note(libc::syscall(x32 | 2, c"made".as_ptr(), O_CREAT | O_WRONLY, 0o777));
            note(libc::syscall(libc::SYS_mount, 0, c"/".as_ptr(), 0, 0, 0));
            note(libc::syscall(libc::SYS_umount2, c"/proc".as_ptr(), 0));
            note(libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()));
            note(libc::syscall(libc::SYS_chroot, c".".as_ptr()));
            note(libc::syscall(libc::SYS_setns, HELD, 0));
            note(libc::syscall(libc::SYS_bpf, 0, 0, 0));
            note(libc::syscall(libc::SYS_userfaultfd, 0));
            note(libc::syscall(libc::SYS_open_by_handle_at, 3, how.as_ptr(), O_RDWR));
            note(libc::syscall(libc::SYS_keyctl, 0, 0, 0, 0, 0));
            note(libc::ioctl(0, 0x5412, c"x".as_ptr()).into());
            note(libc::ioctl(0, 0x4008_6602, how.as_ptr()).into());
        }
        format!("{} {}", said.iter().filter(|word| *word == "ENOSYS").count(), said[14..].join(" "))
    }) {
        assert_eq!(outcome.said, format!("14{}", " EPERM".repeat(11)));
        assert!(!outcome.folder.join("made").exists());
        intact(&outcome);
    }
}

#[test]
fn a_call_by_the_old_interrupt_kills_its_process() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        // SAFETY: the child does nothing but the call and its end.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: mkdir by its number of 32 bits; the path is out of its reach, which is no matter.
            unsafe {
                std::arch::asm!("int 0x80", inlateout("eax") 39 => _, in("ecx") 0o777);
                libc::_exit(0);
            }
        }
        let mut status = 0;
        // SAFETY: the kernel writes one number.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        format!("{}", if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 })
    }) {
        // Without the emulation of 32 bits the interrupt itself is a fault.
        assert!(
            [libc::SIGSYS.to_string(), libc::SIGSEGV.to_string()].contains(&outcome.said),
            "{}",
            outcome.said
        );
    }
}

#[test]
fn a_filter_of_its_own_does_not_lift_the_gate() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let pass = [libc::sock_filter { code: 6, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }];
        let program = libc::sock_fprog { len: 1, filter: pass.as_ptr().cast_mut() };
        let install = |flags: libc::c_ulong| {
            // SAFETY: the program outlives the call.
            answer(unsafe { libc::syscall(libc::SYS_seccomp, 1, flags, &raw const program) })
        };
        let listener = install(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
        let plain = install(0);
        format!("{listener} {plain} {} {}", opens("shut/secret", O_WRONLY), opens("mine", O_CREAT | O_WRONLY))
    }) {
        assert_eq!(outcome.said, "EBUSY ok EACCES ok");
        intact(&outcome);
    }
}

#[test]
fn callers_that_hide_their_memory_are_judged_or_refused() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let unreadable =
            if std::fs::exists("unreadable").unwrap() { shell("./unreadable made-unreadable 2>/dev/null") } else { "1\n".into() };
        // prctl(PR_SET_DUMPABLE, 0), then mkdirat below a descriptor of its own, and two by path.
        let script = "syscall(157, 4, 0, 0, 0, 0); opendir(D, '.'); my $fd = fileno(D); \
                      print syscall(258, $fd, my $n = 'at', 0700) ? 'no ' : 'ok '; \
                      print mkdir('mine') ? 'ok ' : 'no '; print mkdir('shut/x') ? 'ok' : $!{EACCES} ? 'EACCES' : $!";
        unreadable + &shell(&format!("perl -MErrno -e \"{}\"", script.replace('$', "\\$")))
    }) {
        assert_eq!(outcome.said, "1\n0\nok ok EACCES");
        assert!(!outcome.folder.join("made-unreadable").exists());
        intact(&outcome);
    }
}

#[test]
fn names_that_look_like_removed_ones_are_judged_as_they_are() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        std::fs::create_dir("shut (deleted)").unwrap();
        std::fs::write("shut (deleted)/x", "x").unwrap();
        std::fs::write("gone", "x").unwrap();
        let gone = open("gone", O_RDWR).unwrap();
        let kept = open("shut (deleted)/x", O_RDONLY).unwrap();
        let folder = open("shut (deleted)", O_RDONLY | libc::O_DIRECTORY).unwrap();
        std::fs::create_dir("left").unwrap();
        let left = open("left", O_RDONLY | libc::O_DIRECTORY).unwrap();
        std::fs::remove_dir("left").unwrap();
        std::fs::remove_file("gone").unwrap();
        // SAFETY: the path ends in NUL.
        let calls = unsafe {
            [
                libc::fchmod(gone.as_raw_fd(), 0o600).into(),
                libc::fchmod(kept.as_raw_fd(), 0o600).into(),
                libc::fchmod(folder.as_raw_fd(), 0o700).into(),
                libc::openat(left.as_raw_fd(), c"x".as_ptr(), O_CREAT | O_WRONLY, 0o600).into(),
                libc::mkdirat(left.as_raw_fd(), c"x".as_ptr(), 0o600).into(),
            ]
        };
        let mut said = vec![opens(&magic(&gone), O_RDWR)];
        said.extend(calls.map(|call: i64| if call < 0 { "no".into() } else { answer(call) }));
        said.join(" ")
    }) {
        assert_eq!(outcome.said, "ok ok ok ok no no");
    }
}
