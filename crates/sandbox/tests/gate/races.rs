//! What happens when something changes, or interrupts, while a call is at the gate.

use crate::session::{ALL_BUT_SHUT, HELD, LEASED, Session, answer, c, here, open, opens};
use libc::{O_CREAT, O_RDONLY, O_RDWR, O_WRONLY};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

/// Runs `other` on a thread again and again while `this` runs.
fn against<T>(mut other: impl FnMut() + Send, this: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                other();
            }
        });
        let result = this();
        over.store(true, Ordering::Relaxed);
        result
    })
}

fn inode(fd: i32) -> u64 {
    // SAFETY: the kernel fills the structure.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        assert_eq!(libc::fstat(fd, &raw mut stat), 0);
        stat.st_ino
    }
}

#[test]
fn a_path_that_a_thread_rewrites_never_opens_what_is_denied() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        std::fs::create_dir("open").unwrap();
        std::fs::write("open/secret", "").unwrap();
        let denied = std::fs::metadata("shut/secret").unwrap().ino();
        let path: [AtomicU8; 12] = std::array::from_fn(|at| AtomicU8::new(b"open/secret\0"[at]));
        let mut round = false;
        let write = || {
            round = !round;
            let text = if round { b"shut" } else { b"open" };
            text.iter().zip(&path).for_each(|(byte, place)| place.store(*byte, Ordering::Relaxed));
        };
        let mut opened = 0;
        against(write, || {
            for _ in 0..8000 {
                // SAFETY: the path ends in NUL whatever the thread writes; the descriptor is ours.
                unsafe {
                    let fd = libc::open(path.as_ptr().cast(), O_WRONLY);
                    if fd >= 0 {
                        opened += 1;
                        assert_ne!(inode(fd), denied);
                        libc::close(fd);
                    }
                }
            }
        });
        assert!(opened > 0 && opened < 8000, "both were asked for: {opened}");
        String::new()
    }) {
        assert_eq!(std::fs::read(outcome.folder.join("shut/secret")).unwrap(), b"secret");
    }
}

#[test]
fn a_folder_swapped_with_a_link_never_leads_to_what_is_denied() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        std::fs::create_dir("place").unwrap();
        std::fs::write("place/secret", "").unwrap();
        std::os::unix::fs::symlink("shut", "link").unwrap();
        let denied = std::fs::metadata("shut/secret").unwrap().ino();
        let swap = || {
            let (at, flag) = (libc::AT_FDCWD, libc::RENAME_EXCHANGE);
            // SAFETY: the paths end in NUL.
            unsafe { libc::syscall(libc::SYS_renameat2, at, c"place".as_ptr(), at, c"link".as_ptr(), flag) };
        };
        let (mut opened, mut made) = (0, 0);
        against(swap, || {
            for round in 0..3000 {
                if let Ok(fd) = open("place/secret", O_WRONLY) {
                    opened += 1;
                    assert_ne!(inode(fd.as_raw_fd()), denied);
                }
                made += i32::from(open(&format!("place/made{round}"), O_CREAT | O_WRONLY).is_ok());
            }
        });
        assert!(opened > 0 && made > 0, "{opened} {made}");
        String::new()
    }) {
        assert_eq!(std::fs::read(outcome.folder.join("shut/secret")).unwrap(), b"secret");
        assert_eq!(std::fs::read_dir(outcome.folder.join("shut")).unwrap().count(), 2);
    }
}

#[test]
fn a_descriptor_swapped_for_one_that_writes_does_not_open_what_it_was() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let secret = open("shut/secret", O_RDONLY).unwrap();
        let denied = inode(secret.as_raw_fd());
        let number = 200;
        let mut round = false;
        // SAFETY: the number is this test's own.
        let swap = || unsafe {
            round = !round;
            libc::dup2(if round { HELD } else { secret.as_raw_fd() }, number);
        };
        let (mut opened, mut refused) = (0, 0);
        against(swap, || {
            for _ in 0..8000 {
                match open(&format!("/proc/self/fd/{number}"), O_WRONLY) {
                    Ok(fd) => {
                        opened += 1;
                        assert_ne!(inode(fd.as_raw_fd()), denied);
                    }
                    Err(_) => refused += 1,
                }
            }
        });
        assert!(opened > 0 && refused > 0, "{opened} {refused}");
        String::new()
    }) {
        assert_eq!(std::fs::read(outcome.folder.join("shut/secret")).unwrap(), b"secret");
    }
}

#[test]
fn folders_that_move_while_others_make_files_below_them_lead_nowhere_else() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        std::fs::create_dir_all("draft/shut").unwrap();
        // `later/shut` is denied, so the folder may move only while it has no `shut`.
        let mut back = false;
        let moves = || {
            let (from, to) = if back { ("later", "draft") } else { ("draft", "later") };
            back ^= std::fs::rename(from, to).is_ok();
        };
        against(moves, || {
            for round in 0..1500 {
                for folder in ["draft", "later"] {
                    std::fs::create_dir(format!("{folder}/shut")).ok();
                    std::fs::write(format!("{folder}/shut/{round}"), "x").ok();
                    assert!(
                        !std::fs::exists("later/shut").unwrap() || std::fs::exists("draft").unwrap_or(true)
                    );
                }
                std::fs::remove_dir_all("draft/shut").ok();
            }
        });
        String::new()
    }) {
        assert!(!outcome.folder.join("later/shut").exists());
    }
}

#[test]
fn a_lock_is_free_as_soon_as_its_holder_has_closed_it() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let mut failed = 0;
        for _ in 0..1000 {
            let fd = open("lock", O_CREAT | O_RDWR).unwrap();
            // SAFETY: a plain call.
            failed += i32::from(unsafe { libc::flock(fd.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0);
        }
        failed.to_string()
    }) {
        assert_eq!(outcome.said, "0");
    }
}

#[test]
fn a_program_can_be_started_as_soon_as_it_is_written() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let program = std::fs::read("/bin/true").unwrap();
        for round in 0..150 {
            use std::os::unix::fs::PermissionsExt;
            let path = format!("./program{}", round % 3);
            std::fs::write(&path, &program).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            assert!(std::process::Command::new(&path).status().unwrap().success());
        }
        String::new()
    }) {
        assert_eq!(outcome.code, 0);
    }
}

#[test]
fn a_file_that_becomes_a_folder_under_way_does_not_move_what_is_below() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        std::fs::create_dir_all("one/shut").unwrap();
        std::fs::write("one/shut/key", "evil").unwrap();
        std::fs::write("two", "x").unwrap();
        let (one, two, later, at) = (c("one"), c("two"), c("later"), libc::AT_FDCWD);
        let swap = || {
            // SAFETY: the paths end in NUL.
            unsafe {
                libc::syscall(libc::SYS_renameat2, at, one.as_ptr(), at, two.as_ptr(), libc::RENAME_EXCHANGE);
            }
        };
        against(swap, || {
            let mut moved = 0;
            for _ in 0..2000 {
                // SAFETY: the paths end in NUL.
                unsafe {
                    if libc::rename(two.as_ptr(), later.as_ptr()) == 0 {
                        if std::fs::symlink_metadata("later/shut").is_ok() {
                            return "a folder moved".to_owned();
                        }
                        moved += 1;
                        libc::rename(later.as_ptr(), two.as_ptr());
                    }
                }
            }
            format!("{}", moved > 0)
        })
    }) {
        assert_eq!(outcome.said, "true");
    }
}

#[test]
fn a_lease_holds_up_who_waits_for_it_and_nobody_else() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).with_leases().run(|| {
        let files = LEASED;
        let opened = AtomicU32::new(0);
        std::thread::scope(|scope| {
            let waiting: Vec<_> = files
                .iter()
                .map(|file| {
                    let opened = &opened;
                    scope.spawn(move || {
                        let flags = if *file == "a" {
                            // SAFETY: the path ends in NUL.
                            answer(unsafe { libc::truncate(c(file).as_ptr(), 1) }.into())
                        } else {
                            let file = open(file, O_WRONLY | libc::O_APPEND).unwrap();
                            // SAFETY: a plain call.
                            let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
                            format!("{}", flags & (libc::O_NONBLOCK | libc::O_APPEND) == libc::O_APPEND)
                        };
                        opened.fetch_add(1, Ordering::Relaxed);
                        flags
                    })
                })
                .collect();
            std::thread::sleep(std::time::Duration::from_millis(200));
            // A caller that does not want to wait is told so.
            let at_once = opens("b", O_WRONLY | libc::O_NONBLOCK);
            std::fs::create_dir("made meanwhile").unwrap();
            let before = opened.load(Ordering::Relaxed);
            std::fs::create_dir("free").unwrap();
            let mut said: Vec<_> = waiting.into_iter().map(|thread| thread.join().unwrap()).collect();
            said.push(format!("{at_once} {before}"));
            said.join(" ")
        })
    }) {
        assert_eq!(outcome.said, "ok true true true E11 0");
        assert_eq!(std::fs::read_to_string(outcome.folder.join("a")).unwrap(), "c");
    }
}

static CAUGHT: AtomicU32 = AtomicU32::new(0);

extern "C" fn caught(_signal: i32) {
    CAUGHT.fetch_add(1, Ordering::Relaxed);
}

fn handle_alarms(flags: i32) {
    // SAFETY: the handler only counts.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = caught as *const () as usize;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut()), 0);
    }
}

fn alarm_every(microseconds: i64) {
    let time = libc::timeval { tv_sec: 0, tv_usec: microseconds };
    let timer = libc::itimerval { it_interval: time, it_value: time };
    // SAFETY: the timer outlives the call.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
}

#[test]
fn a_storm_of_signals_neither_loses_nor_doubles_a_change() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        handle_alarms(libc::SA_RESTART);
        alarm_every(150);
        let mut failed = Vec::new();
        for _ in 0..4000 {
            // SAFETY: the paths end in NUL.
            unsafe {
                if libc::mkdir(c"storm".as_ptr(), 0o700) != 0 {
                    failed.push(answer(-1));
                }
                if libc::rmdir(c"storm".as_ptr()) != 0 {
                    failed.push(answer(-1));
                }
            }
        }
        alarm_every(0);
        assert!(CAUGHT.load(Ordering::Relaxed) > 100, "the storm blew");
        format!("{failed:?}")
    }) {
        assert_eq!(outcome.said, "[]");
        assert_eq!(outcome.records.iter().filter(|record| record.contains(" storm ")).count(), 8000);
    }
}

#[test]
fn a_signal_interrupts_a_caller_that_waits_for_the_reader_of_a_pipe() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        // SAFETY: the path ends in NUL.
        assert_eq!(unsafe { libc::mkfifo(c"pipe".as_ptr(), 0o600) }, 0);
        handle_alarms(0);
        alarm_every(20_000);
        let interrupted = opens("pipe", O_WRONLY);
        // Again, but now the call goes on after each signal.
        handle_alarms(libc::SA_RESTART);
        let reader =
            std::process::Command::new("/bin/sh").args(["-c", "sleep 0.2; cat pipe"]).spawn().unwrap();
        let went_on = opens("pipe", O_WRONLY);
        alarm_every(0);
        drop(reader);
        format!("{interrupted} {went_on} {}", CAUGHT.load(Ordering::Relaxed) > 3)
    }) {
        assert_eq!(outcome.said, "E4 ok true");
    }
}

/// Starts a shell as C libraries do, by a call that lends the child the parent's memory; the child opens its output.
fn spawn(output: &str, command: &str) {
    let command = c(command);
    let words = [
        c"sh".as_ptr().cast_mut(),
        c"-c".as_ptr().cast_mut(),
        command.as_ptr().cast_mut(),
        std::ptr::null_mut(),
    ];
    // SAFETY: all that is pointed to outlives the calls.
    unsafe {
        let mut actions: libc::posix_spawn_file_actions_t = std::mem::zeroed();
        assert_eq!(libc::posix_spawn_file_actions_init(&raw mut actions), 0);
        let (actions, flags) = (&raw mut actions, O_CREAT | O_WRONLY | libc::O_TRUNC);
        assert_eq!(libc::posix_spawn_file_actions_addopen(actions, 1, c(output).as_ptr(), flags, 0o644), 0);
        let (mut child, mut status) = (0, 0);
        let shell = c"/bin/sh".as_ptr();
        let none = [std::ptr::null_mut()];
        let started = libc::posix_spawn(
            &raw mut child,
            shell,
            actions,
            std::ptr::null(),
            words.as_ptr(),
            none.as_ptr(),
        );
        assert_eq!(started, 0);
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        assert_eq!(status, 0);
        libc::posix_spawn_file_actions_destroy(actions);
    }
}

#[test]
fn threads_with_folders_of_their_own_and_children_of_every_kind_are_told_apart() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let threads: Vec<_> = (0..4)
            .map(|number| {
                std::thread::spawn(move || {
                    let folder = format!("own{number}");
                    std::fs::create_dir(&folder).unwrap();
                    // SAFETY: the thread gets a working folder of its own.
                    unsafe {
                        assert_eq!(libc::unshare(libc::CLONE_FS), 0);
                        assert_eq!(libc::chdir(c(&folder).as_ptr()), 0);
                    }
                    for round in 0..150 {
                        assert_eq!(opens(&format!("{number}-{round}"), O_CREAT | O_WRONLY), "ok");
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        for round in 0..100 {
            spawn(&format!("spawned{round}"), &format!("echo {round}; cd own0; echo x > below{round}"));
        }
        String::new()
    }) {
        for number in 0..4 {
            let made = std::fs::read_dir(outcome.folder.join(format!("own{number}"))).unwrap();
            let names: Vec<_> = made.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            assert_eq!(names.iter().filter(|name| name.starts_with(&format!("{number}-"))).count(), 150);
            assert_eq!(names.len(), if number == 0 { 250 } else { 150 });
        }
        assert_eq!(std::fs::read_to_string(outcome.folder.join("spawned99")).unwrap(), "99\n");
    }
}
