//! Descriptors that were opened outside the session, and names that reach beyond one session.

use crate::session::{ALL_BUT_SHUT, OUTSIDE, Session, answer, c, here, opens, shell};
use libc::{O_CREAT, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY};

#[test]
fn what_was_opened_outside_is_not_what_has_its_name_inside() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let folder = OUTSIDE.folder;
        let name = |file: i32| format!("/proc/self/fd/{file}");
        let below = format!("{}/new", name(folder));
        let mut said = vec![
            opens(&name(OUTSIDE.read), O_WRONLY),
            opens(&name(OUTSIDE.read), O_RDWR),
            opens(&name(OUTSIDE.read), O_RDONLY | O_TRUNC),
            opens(&name(OUTSIDE.write), O_RDWR),
            opens(&below, O_WRONLY | O_CREAT),
        ];
        let (read, write, at) = (c(&name(OUTSIDE.read)), c(&name(OUTSIDE.write)), libc::AT_FDCWD);
        // SAFETY: the paths end in NUL.
        let calls = unsafe {
            let calls: [i64; 17] = [
                libc::fchmod(OUTSIDE.read, 0o777).into(),
                libc::fchmod(OUTSIDE.write, 0o777).into(),
                libc::chmod(write.as_ptr(), 0o777).into(),
                libc::truncate(read.as_ptr(), 0).into(),
                libc::fchmod(folder, 0o777).into(),
                libc::openat(folder, c"new".as_ptr(), O_CREAT | O_WRONLY, 0o600).into(),
                libc::openat(folder, c"outside".as_ptr(), O_WRONLY).into(),
                libc::openat(folder, c"./../top/outside".as_ptr(), O_WRONLY).into(),
                libc::openat(folder, c".".as_ptr(), libc::O_TMPFILE | O_WRONLY, 0o600).into(),
                libc::mkdirat(folder, c"new".as_ptr(), 0o700).into(),
                libc::unlinkat(folder, c"outside".as_ptr(), 0).into(),
                libc::symlinkat(c"x".as_ptr(), folder, c"new".as_ptr()).into(),
                libc::renameat(folder, c"outside".as_ptr(), at, c"mine".as_ptr()).into(),
                libc::renameat(at, c"top/outside".as_ptr(), folder, c"new".as_ptr()).into(),
                libc::linkat(folder, c"outside".as_ptr(), at, c"mine".as_ptr(), 0).into(),
                libc::fchdir(folder).into(),
                libc::open(c"new".as_ptr(), O_CREAT | O_WRONLY, 0o600).into(),
            ];
            calls
        };
        said.extend(calls.map(|call| if call < 0 { "no".to_owned() } else { "done".to_owned() }));
        // What the descriptor gives, it gives again.
        said.push(opens(&name(OUTSIDE.write), O_WRONLY));
        // SAFETY: the path ends in NUL.
        said.push(answer(unsafe { libc::truncate(write.as_ptr(), 3) }.into()));
        said.join(" ")
    }) {
        let refused = ["EACCES"; 5].join(" ");
        let no = ["no"; 15].join(" ");
        assert_eq!(outcome.said, format!("{refused} {no} done no ok ok"));
        let file = outcome.folder.join("top/outside");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "sec");
        let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o644);
        let top = std::fs::read_dir(outcome.folder.join("top")).unwrap().count();
        assert_eq!((top, outcome.folder.join("mine").exists()), (2, false));
        // Each is put before the judge, in words that no rule is about.
        let path = format!("/(outside the session){}/top/outside", outcome.folder.display());
        let records = || outcome.records.iter().filter(|record| record.contains(&path));
        assert!(records().count() >= 8 && records().all(|record| record.starts_with("deny ")));
    }
}

#[test]
fn a_descriptor_from_elsewhere_that_no_tree_has_is_nobodys_business() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        // SAFETY: the name ends in NUL; the descriptors are new.
        let (memory, pipe) = unsafe {
            let memory = libc::memfd_create(c"x".as_ptr(), 0);
            let mut pipe = [0; 2];
            assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
            (memory, pipe[1])
        };
        let name = |file: i32| format!("/proc/self/fd/{file}");
        // SAFETY: plain calls.
        let modes = unsafe { [libc::fchmod(memory, 0o600).into(), libc::fchmod(pipe, 0o600).into()] };
        let said = [opens(&name(memory), O_RDWR), opens(&name(pipe), O_WRONLY)];
        [said, modes.map(answer)].concat().join(" ")
    }) {
        assert_eq!(outcome.said, "ok ok ok ok");
    }
}

#[test]
fn the_cover_of_another_session_is_not_moved_or_removed() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        shell("mkdir -p a/b empty; mkdir -m 1700 p a/b/p; mkdir -m 1755 sticky");
        let (at, exchange) = (libc::AT_FDCWD, libc::RENAME_EXCHANGE);
        let (p, q) = (c"p".as_ptr(), c"q".as_ptr());
        let mut said = Vec::new();
        let mut note = |call: i64| said.push(answer(call));
        // SAFETY: the paths end in NUL.
        unsafe {
            note(libc::rmdir(p).into());
            note(libc::rename(p, q).into());
            note(libc::rename(c"empty".as_ptr(), p).into());
            note(libc::syscall(libc::SYS_renameat2, at, p, at, c"empty".as_ptr(), exchange));
            note(libc::chmod(p, 0o700).into());
            note(libc::setxattr(p, c"user.a".as_ptr(), p.cast(), 1, 0).into());
            note(libc::rename(c"a".as_ptr(), q).into());
            note(libc::rmdir(c"sticky".as_ptr()).into());
            note(libc::rename(c"empty".as_ptr(), q).into());
        }
        said.join(" ")
    }) {
        assert_eq!(outcome.said, "EACCES EACCES EACCES EACCES EACCES EACCES EACCES ok ok");
        assert!(outcome.folder.join("p").is_dir() && outcome.folder.join("a/b/p").is_dir());
        let denied = outcome.records.iter().filter_map(|record| record.strip_prefix("deny "));
        let calls: Vec<_> =
            denied.map(|record| record.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
        let rename = "rename rename";
        let swap = "rename renameat2";
        assert_eq!(calls, ["delete rmdir", rename, rename, swap, "write chmod", "write setxattr", rename]);
    }
}

#[test]
fn no_program_is_left_behind_that_runs_as_another() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        // SAFETY: the paths end in NUL.
        unsafe {
            assert!(libc::open(c"opened".as_ptr(), O_CREAT | O_WRONLY, 0o6755) >= 0);
            assert_eq!(libc::mknod(c"made".as_ptr(), libc::S_IFREG | 0o6755, 0), 0);
            let unnamed = libc::open(c".".as_ptr(), libc::O_TMPFILE | O_RDWR, 0o6755);
            let link = c(&format!("/proc/self/fd/{unnamed}"));
            let follow = libc::AT_SYMLINK_FOLLOW;
            let (at, name) = (libc::AT_FDCWD, c"linked".as_ptr());
            assert_eq!(libc::linkat(at, link.as_ptr(), at, name, follow), 0);
            for (name, mode) in [(c"u", 0o4755), (c"g", 0o2755), (c"ug", 0o6755), (c"x", 0o755)] {
                let file = libc::open(name.as_ptr(), O_CREAT | O_WRONLY, 0o600);
                assert_eq!(libc::fchmod(file, mode), 0);
                assert_eq!(libc::chmod(name.as_ptr(), mode), 0);
                assert_eq!(libc::syscall(libc::SYS_fchmodat2, at, name.as_ptr(), mode, 0), 0);
            }
            assert_eq!(libc::mkdir(c"d".as_ptr(), 0o755), 0);
            assert_eq!(libc::chmod(c"d".as_ptr(), 0o6755), 0);
        }
        shell("stat -c %a opened made linked u g ug x d | tr '\\n' ' '")
    }) {
        assert_eq!(outcome.said, "0\n755 755 755 755 755 755 755 2755 ");
    }
}
