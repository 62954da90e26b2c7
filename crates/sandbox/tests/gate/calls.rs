//! Each family of calls: the same answers and the same tree as without the gate, and one question to the
//! authority for each change.

use crate::session::{ALL_BUT_SHUT, Rules, Session, answer, c, here, magic, open, opens, shell};
use libc::{
    O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_PATH, O_RDONLY, O_RDWR, O_TMPFILE, O_TRUNC, O_WRONLY,
};
use std::os::fd::AsRawFd;

/// Names of every kind.
const ZOO: &str = "mkdir dir dir/sub empty; echo text > file; echo more > other; ln -s file tofile; ln -s dir todir; \
                   ln -s gone dangling; ln -s loop loop; ln -s file/ slashed; mkfifo pipe; ln file second; \
                   mkdir sealed; echo x > sealed/x; chmod 555 sealed; ln -s dir/new tonew; true";

/// Makes them anew.
fn restore() {
    shell("chmod -R u+w . 2>/dev/null; rm -rf [a-r]* sealed second slashed to[dfn]*");
    shell(ZOO);
}

const PATHS: [&str; 24] = [
    "file",
    "file/",
    "file/x",
    "dir",
    "dir/",
    "dir/.",
    "dir/..",
    ".",
    "..",
    "/",
    "tofile",
    "tofile/",
    "todir",
    "todir/",
    "dangling",
    "dangling/",
    "loop",
    "loop/",
    "slashed",
    "none",
    "none/",
    "none/x",
    "sealed/new",
    "",
];

#[test]
fn opening_answers_as_without_the_gate_for_every_path_and_flag() {
    Session::new(here!(), ALL_BUT_SHUT).compare(|| {
        shell(ZOO);
        let flags = [
            ("w", O_WRONLY),
            ("rw", O_RDWR),
            ("trunc", O_RDONLY | O_TRUNC),
            ("w nofollow", O_WRONLY | O_NOFOLLOW),
            ("w dir", O_WRONLY | O_DIRECTORY),
            ("c", O_RDONLY | O_CREAT),
            ("cw", O_WRONLY | O_CREAT),
            ("cwx", O_WRONLY | O_CREAT | O_EXCL),
            ("cw nofollow", O_WRONLY | O_CREAT | O_NOFOLLOW),
            ("cw dir", O_WRONLY | O_CREAT | O_DIRECTORY),
            ("tmp", O_RDWR | O_TMPFILE),
            ("tmp r", O_RDONLY | O_TMPFILE),
            ("tmp nofollow", O_RDWR | O_TMPFILE | O_NOFOLLOW),
            ("both", 3),
        ];
        let mut said = String::new();
        for (word, flags) in flags {
            for path in PATHS {
                // The authority refuses what lies outside.
                if word.starts_with("tmp") && matches!(path, ".." | "/") {
                    continue;
                }
                said += &format!("{word} {path}: {}\n", opens(path, flags));
                for made in ["none", "gone", "dir/new"] {
                    if std::fs::remove_file(made).is_ok() {
                        said += &format!("   made {made}\n");
                    }
                }
            }
        }
        said
    });
}

const NAMINGS: [&str; 10] = [
    "mkdir",
    "mknod",
    "fifo",
    "wrong kind",
    "symlink",
    "unlink",
    "rmdir",
    "link to",
    "link from",
    "link followed",
];

fn name(word: &str, p: *const libc::c_char) -> libc::c_long {
    let (at, file, other, new) = (libc::AT_FDCWD, c"file".as_ptr(), c"other".as_ptr(), c"new".as_ptr());
    // SAFETY: each takes paths that end in NUL.
    let done = unsafe {
        match word {
            "mkdir" => libc::mkdir(p, 0o755),
            "mknod" => libc::mknod(p, 0o644, 0),
            "fifo" => libc::mknod(p, libc::S_IFIFO | 0o644, 0),
            "wrong kind" => libc::mknod(p, libc::S_IFMT | 0o644, 0),
            "symlink" => libc::symlink(file, p),
            "unlink" => libc::unlink(p),
            "rmdir" => libc::rmdir(p),
            "link to" => libc::link(other, p),
            "link from" => libc::link(p, new),
            _ => libc::linkat(at, p, at, new, libc::AT_SYMLINK_FOLLOW),
        }
    };
    done.into()
}

#[test]
fn names_answer_as_without_the_gate_for_every_path() {
    Session::new(here!(), ALL_BUT_SHUT).compare(|| {
        let mut said = shell(ZOO);
        for path in PATHS.iter().filter(|path| **path != "..") {
            let p = c(path);
            for word in NAMINGS {
                let answer = answer(name(word, p.as_ptr()));
                if answer == "ok" {
                    restore();
                }
                said += &format!("{word} {path}: {answer}\n");
            }
        }
        said
    });
}

#[test]
fn renames_answer_as_without_the_gate_for_every_pair_of_names() {
    Session::new(here!(), ALL_BUT_SHUT).compare(|| {
        let mut said = shell(ZOO);
        let names = [
            "file",
            "file/",
            "dir",
            "dir/",
            "dir/sub",
            "empty",
            "empty/",
            "tofile",
            "todir/",
            "dangling",
            "none",
            "none/",
            "none/x",
            ".",
            "dir/..",
            "second",
            "dir/sub/deep",
            "/",
        ];
        for flags in [0, libc::RENAME_NOREPLACE, libc::RENAME_EXCHANGE, libc::RENAME_EXCHANGE | 1, 8] {
            for old in names {
                for new in names {
                    if flags > 1 && old > new {
                        continue;
                    }
                    let (from, to) = (c(old), c(new));
                    // SAFETY: both paths end in NUL.
                    let done = unsafe {
                        libc::syscall(
                            libc::SYS_renameat2,
                            libc::AT_FDCWD,
                            from.as_ptr(),
                            libc::AT_FDCWD,
                            to.as_ptr(),
                            flags,
                        )
                    };
                    if done >= 0 {
                        restore();
                    }
                    said += &format!("{flags} {old} {new}: {}\n", answer(done));
                }
            }
        }
        said
    });
}

#[test]
fn modes_owners_times_and_attributes_answer_as_without_the_gate() {
    Session::new(here!(), ALL_BUT_SHUT).compare(|| {
        shell(ZOO);
        let mut said = String::new();
        let mut note = |what: &str, path: &str, done: libc::c_long| {
            said += &format!("{what} {path}: {}\n", answer(done))
        };
        let times = [libc::timespec { tv_sec: 1, tv_nsec: 2 }, libc::timespec { tv_sec: 3, tv_nsec: 4 }];
        let long = vec![0u8; 65537];
        let bad = [libc::timeval { tv_sec: 1, tv_usec: 1_000_000 }; 2];
        let (uid, cwd, stay) =
            (rustix::process::getuid().as_raw(), libc::AT_FDCWD, libc::AT_SYMLINK_NOFOLLOW);
        // Without the gate nothing would keep these calls from what lies outside.
        for path in PATHS.iter().filter(|path| !matches!(**path, ".." | "/")) {
            let p = c(path);
            let p = p.as_ptr();
            // SAFETY: paths, names and values outlive the calls that take them.
            unsafe {
                note("chmod", path, libc::chmod(p, 0o751).into());
                note("fchmodat2", path, libc::syscall(libc::SYS_fchmodat2, cwd, p, 0o750, stay));
                note("fchmodat2 flags", path, libc::syscall(libc::SYS_fchmodat2, cwd, p, 0o750, 1));
                note("chown", path, libc::chown(p, uid, u32::MAX).into());
                note("lchown", path, libc::lchown(p, uid, u32::MAX).into());
                note("utimensat", path, libc::utimensat(cwd, p, times.as_ptr(), stay).into());
                note("utimes now", path, libc::utimes(p, std::ptr::null()).into());
                note("utimes bad", path, libc::utimes(p, bad.as_ptr()).into());
                note("utime", path, libc::syscall(libc::SYS_utime, p, 0));
                note(
                    "setxattr",
                    path,
                    libc::setxattr(p, c"user.a".as_ptr(), c"v".as_ptr().cast(), 1, 0).into(),
                );
                note(
                    "lsetxattr",
                    path,
                    libc::lsetxattr(p, c"user.b".as_ptr(), c"v".as_ptr().cast(), 1, 0).into(),
                );
                note(
                    "setxattr no name",
                    path,
                    libc::setxattr(p, c"".as_ptr(), c"v".as_ptr().cast(), 1, 0).into(),
                );
                note(
                    "trusted",
                    path,
                    libc::setxattr(p, c"trusted.a".as_ptr(), c"v".as_ptr().cast(), 1, 0).into(),
                );
                note(
                    "setxattr long",
                    path,
                    libc::setxattr(p, c"user.a".as_ptr(), long.as_ptr().cast(), 65537, 0).into(),
                );
                note("removexattr", path, libc::removexattr(p, c"user.a".as_ptr()).into());
                note("lremovexattr", path, libc::lremovexattr(p, c"user.a".as_ptr()).into());
                note("truncate", path, libc::truncate(p, 3).into());
                note("truncate negative", path, libc::truncate(p, -1).into());
            }
        }
        said += &shell("stat -c '%n %a %s %Y' file dir dir/sub sealed | grep -v ' dir ' | cut -d' ' -f1-3");
        said
    });
}

#[test]
fn calls_by_descriptor_answer_as_without_the_gate() {
    Session::new(here!(), ALL_BUT_SHUT).compare(|| {
        shell(ZOO);
        let mut said = String::new();
        let mut note = |what: &str, done: libc::c_long| said += &format!("{what}: {}\n", answer(done));
        let read = open("file", O_RDONLY).unwrap();
        let path = open("file", O_PATH).unwrap();
        let folder = open("dir", O_PATH | O_DIRECTORY).unwrap();
        let (pipe, _other) = std::io::pipe().unwrap();
        let empty = c"".as_ptr();
        // SAFETY: descriptors, paths and values outlive the calls that take them.
        unsafe {
            for (word, fd) in [
                ("read", read.as_raw_fd()),
                ("path", path.as_raw_fd()),
                ("pipe", pipe.as_raw_fd()),
                ("bad", 999),
            ] {
                note(&format!("fchmod {word}"), libc::fchmod(fd, 0o640).into());
                note(&format!("fchown {word}"), libc::fchown(fd, u32::MAX, u32::MAX).into());
                note(&format!("futimens {word}"), libc::futimens(fd, std::ptr::null()).into());
                note(
                    &format!("fsetxattr {word}"),
                    libc::fsetxattr(fd, c"user.x".as_ptr(), empty.cast(), 0, 0).into(),
                );
                note(
                    &format!("fchownat {word}"),
                    libc::fchownat(fd, empty, u32::MAX, u32::MAX, libc::AT_EMPTY_PATH).into(),
                );
                note(
                    &format!("fchmodat2 {word}"),
                    libc::syscall(libc::SYS_fchmodat2, fd, empty, 0o600, libc::AT_EMPTY_PATH),
                );
                note(
                    &format!("linkat {word}"),
                    libc::linkat(fd, empty, libc::AT_FDCWD, c"made".as_ptr(), libc::AT_EMPTY_PATH).into(),
                );
                note(&format!("unlink {word}"), libc::unlink(c"made".as_ptr()).into());
                note(&format!("mkdirat {word}"), libc::mkdirat(fd, c"x".as_ptr(), 0o700).into());
            }
            note("mkdirat folder", libc::mkdirat(folder.as_raw_fd(), c"x".as_ptr(), 0o700).into());
            note("unlinkat flags", libc::unlinkat(folder.as_raw_fd(), c"x".as_ptr(), 1).into());
            note("unlinkat", libc::unlinkat(folder.as_raw_fd(), c"x".as_ptr(), libc::AT_REMOVEDIR).into());
            note(
                "openat",
                libc::openat(folder.as_raw_fd(), c"f".as_ptr(), O_CREAT | O_WRONLY, 0o600).min(0).into(),
            );
            note("null path", libc::syscall(libc::SYS_mkdir, 0, 0o700));
            note("wild path", libc::syscall(libc::SYS_mkdir, 4096, 0o700));
            note("null text", libc::syscall(libc::SYS_symlink, 0, c"x".as_ptr()));
        }
        said
    });
}

#[test]
fn long_names_and_deep_folders_answer_as_without_the_gate() {
    Session::new(here!(), ALL_BUT_SHUT).compare(|| {
        let mut said = String::new();
        for length in [255, 256, 4095, 4096, 5000] {
            said += &format!("{length}: {}\n", opens(&"n".repeat(length), O_CREAT | O_WRONLY));
            said += &format!(
                "slashed {length}: {}\n",
                opens(&format!("{}x", "./".repeat(length / 2)), O_CREAT | O_WRONLY)
            );
        }
        for depth in 0..60 {
            let name = format!("{}{depth}", "d".repeat(40));
            std::fs::create_dir(&name).unwrap();
            std::env::set_current_dir(&name).unwrap();
            std::fs::write("leaf", "leaf").unwrap();
        }
        said += &opens(&format!("{}leaf", "../".repeat(59)), O_WRONLY);
        said
    });
}

#[test]
fn the_mode_mask_of_the_caller_holds() {
    Session::new(here!(), ALL_BUT_SHUT).compare(|| {
        let threads: Vec<_> = [0o000, 0o022, 0o077, 0o027, 0o277, 0o777]
            .into_iter()
            .map(|mask: u32| {
                std::thread::spawn(move || {
                    // SAFETY: the thread gets a mask of its own.
                    unsafe {
                        assert_eq!(libc::unshare(libc::CLONE_FS), 0);
                        libc::umask(mask);
                    }
                    for round in 0..40 {
                        let name = |what: &str| c(&format!("{what}{mask:o}-{round}"));
                        // SAFETY: the paths end in NUL.
                        unsafe {
                            assert!(libc::open(name("a").as_ptr(), O_CREAT | O_WRONLY, 0o6777) >= 0);
                            assert!(libc::open(name("b").as_ptr(), O_CREAT | O_WRONLY, 0o600) >= 0);
                            assert_eq!(libc::mkdir(name("c").as_ptr(), 0o777), 0);
                            assert_eq!(libc::mkfifo(name("d").as_ptr(), 0o666), 0);
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        // The tree is compared with its modes.
        String::new()
    });
}

#[test]
fn a_file_without_a_name_is_made_and_gets_one_where_that_is_allowed() {
    let name = |path: &str, fd: &std::os::fd::OwnedFd| {
        // SAFETY: the paths end in NUL.
        answer(unsafe {
            libc::linkat(
                libc::AT_FDCWD,
                c(&magic(fd)).as_ptr(),
                libc::AT_FDCWD,
                c(path).as_ptr(),
                libc::AT_SYMLINK_FOLLOW,
            )
            .into()
        })
    };
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let fd = open(".", O_RDWR | O_TMPFILE).unwrap();
        rustix::io::write(&fd, b"content").unwrap();
        let mut said = vec![name("shut/named", &fd), name("named", &fd)];
        said.push(opens("shut", O_RDWR | O_TMPFILE));
        // It has a name now, though not the one that the kernel shows.
        // SAFETY: a plain call.
        said.push(answer(unsafe { libc::fchmod(fd.as_raw_fd(), 0o600) }.into()));
        said.join(" ")
    }) {
        assert_eq!(outcome.said, "EACCES ok EACCES ok");
        assert_eq!(std::fs::read_to_string(outcome.folder.join("named")).unwrap(), "content");
        assert!(!outcome.folder.join("shut/named").exists());
        let made = format!("allow create openat . {}", outcome.folder.display());
        assert!(
            outcome.records.iter().any(|record| record.starts_with("allow create open ") || *record == made)
        );
    }
}

#[test]
fn a_pipe_waits_for_its_reader_and_too_many_waiting_are_refused() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let said = shell(
            "mkfifo pipe; (sleep 0.2; cat pipe > got) & echo through > pipe; wait; cat got; \
             (sleep 0.2; head -c 4 pipe) & exec 3<>pipe; echo both >&3; wait",
        );
        assert_eq!(opens("pipe", O_WRONLY | libc::O_NONBLOCK), "ENXIO");
        let mut waiting: Vec<_> = (0..70)
            .map(|_| {
                std::process::Command::new("/bin/sh")
                    .args(["-c", "echo x > pipe"])
                    .stderr(std::process::Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let mut refused = 0;
        while refused < 6 {
            waiting.retain_mut(|child| child.try_wait().unwrap().is_none());
            refused = 70 - waiting.len();
        }
        // Those that wait can be killed, and leave their places to others.
        for child in &mut waiting {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let said = said + &shell("sleep 0.1; (sleep 0.1; cat pipe) & echo again > pipe; wait");
        format!("{refused} {said}")
    }) {
        assert_eq!(outcome.said, "6 0\nthrough\nboth0\nagain\n");
        assert!(outcome.records.iter().any(|record| record.starts_with("allow write open")));
    }
}

#[test]
fn devices_and_files_of_proc_are_opened_by_the_caller_itself_and_others_not_at_all() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let mut said = vec![
            opens("/dev/null", O_WRONLY | O_TRUNC | O_CREAT),
            opens("/dev/zero", O_RDWR),
            opens("/dev/urandom", O_WRONLY),
            opens("/proc/self/comm", O_WRONLY),
            opens("/proc/self/oom_score_adj", O_RDWR),
            opens("/proc/none", O_CREAT | O_WRONLY),
        ];
        std::fs::write("/proc/thread-self/comm", "renamed").unwrap();
        let names: Vec<_> = std::fs::read_dir("/proc/self/task")
            .unwrap()
            .map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap())
            .collect();
        assert!(names.contains(&"renamed\n".to_owned()));
        // SAFETY: the paths end in NUL.
        unsafe {
            said.push(answer(libc::chmod(c"/proc/loadavg".as_ptr(), 0o777).into()));
            said.push(answer(libc::mkdir(c"/proc/new".as_ptr(), 0o777).into()));
            said.push(answer(libc::link(c"/proc/self/fd/0".as_ptr(), c"here".as_ptr()).into()));
        }
        said.join(" ")
    }) {
        assert!(outcome.said.starts_with("ok ok ok ok ok ENOENT "), "{}", outcome.said);
        assert!(outcome.said.ends_with(" EPERM ENOENT EXDEV"), "{}", outcome.said);
        assert!(
            outcome.records.iter().all(|record| !record.contains("/proc") && !record.contains("/dev/null"))
        );
    }
}

#[test]
fn each_change_is_asked_for_once_with_both_spellings_and_both_ends() {
    const RULES: Rules = Rules(&[("", true), ("shut", false), ("some", false), ("some/one.txt", true)]);
    for outcome in Session::new(here!(), RULES).run(|| {
        shell(
            "mkdir a; echo x > a/b; cd a; echo y > ./../a/b; ln -s ../shut out; echo z > out/leak; \
             mv b c; mv c ../shut/c; ln c ../d; chmod 600 c; rm ../d; rmdir ../a; echo 1 > ../some/one.txt; \
             rm -f none; cat < c > /dev/null",
        )
    }) {
        let folder = outcome.folder.display();
        let wanted = [
            format!("allow create mkdir a {folder}/a"),
            format!("allow create openat a/b {folder}/a/b"),
            format!("allow write openat ./../a/b {folder}/a/b"),
            format!("allow rename symlink out {folder}/a/out"),
            format!("deny create openat out/leak {folder}/shut/leak"),
            format!("allow rename renameat2 b {folder}/a/b {folder}/a/c"),
            format!("deny rename renameat2 c {folder}/a/c {folder}/shut/c"),
            format!("allow rename linkat c {folder}/a/c {folder}/d"),
            format!("allow write fchmodat c {folder}/a/c"),
            format!("allow delete unlinkat ../d {folder}/d"),
            format!("allow delete rmdir ../a {folder}/a"),
            "finished".to_owned(),
        ];
        let got: Vec<_> = outcome
            .records
            .iter()
            .map(|record| record.replace(" symlinkat ", " symlink ").replace(" mkdirat ", " mkdir "))
            .map(|record| record.replace(" fchmodat2 ", " fchmodat ").replace(" chmod ", " fchmodat "))
            .filter(|record| !record.contains("renameat2 c") || !record.ends_with("/a/c"))
            .collect();
        assert_eq!(got, wanted);
    }
}

#[test]
fn what_would_fail_anyway_fails_so_and_is_no_refusal() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        std::fs::create_dir("mine").unwrap();
        std::fs::write("file", "x").unwrap();
        let word =
            |done: std::io::Result<()>| done.map_or_else(|error| error.kind().to_string(), |()| "ok".into());
        let (remove, rename) =
            (|path: &str| word(std::fs::remove_dir(path)), |a: &str, b: &str| word(std::fs::rename(a, b)));
        [
            remove("shut"),
            remove("top/shut"),
            remove("shut/secret"),
            remove("shut/absent"),
            word(std::fs::remove_file("shut")),
            rename("mine", "shut"),
            rename("mine", "shut/secret"),
            rename("file", "shut"),
            rename("shut/absent", "mine"),
            // Another mount.
            rename("shut/secret", "/dev/shm/x"),
            word(std::fs::hard_link("shut/secret", "/dev/shm/x")),
            word(std::fs::create_dir("shut/secret")),
        ]
        .join(", ")
    }) {
        let full = "directory not empty";
        let (file, folder) = ("not a directory", "is a directory");
        let (none, away) = ("entity not found", "cross-device link or rename");
        let wanted =
            [full, full, file, none, folder, full, file, folder, none, away, away, "entity already exists"];
        assert_eq!(outcome.said, wanted.join(", "));
        let denials = outcome.records.iter().filter(|record| record.starts_with("deny"));
        assert_eq!(denials.collect::<Vec<_>>(), Vec::<&String>::new());
    }
}
