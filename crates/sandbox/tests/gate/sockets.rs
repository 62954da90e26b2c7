//! Names of Unix sockets.

use crate::session::{ALL_BUT_SHUT, Session, answer, c, here, open, shell};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU16, Ordering};

fn socket(domain: i32, kind: i32) -> OwnedFd {
    // SAFETY: the descriptor is new.
    unsafe { OwnedFd::from_raw_fd(libc::socket(domain, kind, 0)) }
}

fn bind_bytes(socket: &OwnedFd, address: &[u8]) -> String {
    let length = u32::try_from(address.len()).unwrap();
    // SAFETY: the address has the length that is told.
    let done = unsafe { libc::bind(socket.as_raw_fd(), address.as_ptr().cast(), length) };
    match answer(done.into()).as_str() {
        "E98" => "EADDRINUSE".to_owned(),
        other => other.to_owned(),
    }
}

fn address(text: &str) -> Vec<u8> {
    [&1u16.to_ne_bytes(), text.as_bytes()].concat()
}

fn name(socket: &OwnedFd) -> String {
    let mut bytes = [0u8; 128];
    let mut length = 128;
    // SAFETY: the buffer has the length that is told.
    let told = unsafe { libc::getsockname(socket.as_raw_fd(), bytes.as_mut_ptr().cast(), &raw mut length) };
    assert_eq!(told, 0);
    format!("{length} {}", String::from_utf8_lossy(&bytes[2..length as usize]).replace('\0', "|"))
}

/// Binds a new socket; what came of it, and what its name is then.
fn bind(text: &str) -> String {
    let socket = socket(libc::AF_UNIX, libc::SOCK_STREAM);
    let done = bind_bytes(&socket, &address(text));
    format!("{done} {}", name(&socket))
}

#[test]
fn sockets_are_bound_as_without_the_gate_and_keep_the_callers_own_words() {
    Session::new(here!(), ALL_BUT_SHUT).compare(|| {
        shell("mkdir -p sub/deep; ln -s sub link; ln -s nowhere dangling; mkdir sealed; chmod 555 sealed; echo > file");
        let folder = std::env::current_dir().unwrap().display().to_string();
        // Whatever the length of the folder is, the longest possible name.
        let longest = format!("./{}", "x".repeat(106));
        let mut said: Vec<_> = [
            "a", "./b", "sub/c", "sub/../d", "link/e", "a", "sub/c", "file", "sub", "dangling", "none/x", "file/x",
            "new/", "sub/", ".", "..", "/", "sealed/x", "sub/with\0rest", "\0abstract of the test", &longest,
        ]
        .map(bind)
        .into();
        said.push(bind(&format!("{folder}/f")));
        said.push(bind(&format!("{folder}/link/deep/../g")));
        // A second name for the same socket, the shortest addresses, too long ones, other families.
        let twice = socket(libc::AF_UNIX, libc::SOCK_DGRAM);
        said.push(bind_bytes(&twice, &address("t1")) + &bind_bytes(&twice, &address("t2")) + &name(&twice));
        let fresh = || socket(libc::AF_UNIX, libc::SOCK_DGRAM);
        said.extend([&[][..], &[1], &[1, 0], &[1; 111], &[1; 200]].map(|bytes| bind_bytes(&fresh(), bytes)));
        let mut inet = vec![2, 0, 0, 0, 127, 0, 0, 1];
        inet.extend([0; 8]);
        said.push(bind_bytes(&socket(libc::AF_INET, libc::SOCK_STREAM), &inet));
        said.push(bind_bytes(&socket(libc::AF_INET, libc::SOCK_STREAM), &address("wrong")));
        said.push(bind_bytes(&fresh(), &inet));
        said.push(bind_bytes(&open("file", libc::O_RDONLY).unwrap(), &address("no socket")));
        // SAFETY: nothing is at that address, which the kernel finds out.
        said.push(answer(unsafe { libc::bind(fresh().as_raw_fd(), std::ptr::null(), 16) }.into()));
        // The mode mask counts; and it is found by its name.
        shell("umask 0; true");
        // SAFETY: a plain call.
        unsafe { libc::umask(0o077) };
        said.push(bind("private"));
        let python = "import multiprocessing.connection as m, threading\n\
                      l = m.Listener(family='AF_UNIX')\n\
                      t = threading.Thread(target=lambda: l.accept().send('heard')); t.start()\n\
                      print(m.Client(l.address).recv()); t.join()";
        said.push(shell(&format!("python3 -c \"{python}\"")));
        said.join("\n")
    });
}

#[test]
fn a_socket_is_bound_only_where_a_file_may_be_made() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        shell("mkdir sub; ln -s shut link; ln -s shut/new dangling");
        let done = |text: &str| bind(text).split(' ').next().unwrap_or_default().to_owned();
        let folder = open("sub", libc::O_RDONLY).unwrap();
        let far = format!("/proc/self/fd/{}/far", folder.as_raw_fd());
        let shut = open("shut", libc::O_RDONLY).unwrap();
        let out = format!("/proc/self/fd/{}/far", shut.as_raw_fd());
        ["shut/s", "link/s", "sub/../shut/s", "dangling", "shut/secret", &out, &far, "sub/s"]
            .map(done)
            .join(" ")
    }) {
        assert_eq!(outcome.said, "EACCES EACCES EACCES EADDRINUSE EADDRINUSE EACCES ok ok");
        assert_eq!(std::fs::read_dir(outcome.folder.join("shut")).unwrap().count(), 2);
        assert!(outcome.folder.join("sub/far").exists());
        let folder = outcome.folder.display();
        for record in [
            format!("deny create bind link/s {folder}/shut/s"),
            format!("allow create bind sub/s {folder}/sub/s"),
        ] {
            assert!(outcome.records.contains(&record), "{record}");
        }
    }
}

#[test]
fn an_address_that_changes_under_way_makes_no_socket_anywhere() {
    for outcome in Session::new(here!(), ALL_BUT_SHUT).run(|| {
        let mut bytes = address("shut/raced");
        bytes.resize(16, 0);
        // SAFETY: the two bytes are there, are aligned, and are only read by the kernel otherwise.
        let family = unsafe { AtomicU16::from_ptr(bytes.as_mut_ptr().cast()) };
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    family.store(2, Ordering::Relaxed);
                    family.store(1, Ordering::Relaxed);
                }
            });
            for _ in 0..3000 {
                let socket = socket(libc::AF_UNIX, libc::SOCK_STREAM);
                // SAFETY: the address has the length that is told.
                unsafe { libc::bind(socket.as_raw_fd(), bytes.as_ptr().cast(), 16) };
            }
            stop.store(true, Ordering::Relaxed);
        });
        // The same with a link on the way, which another thread moves.
        shell("mkdir free; ln -s free one; ln -s shut two; echo x > free/y");
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (one, two, at) = (c("one"), c("two"), libc::AT_FDCWD);
                while !stop.load(Ordering::Relaxed) {
                    // SAFETY: the paths end in NUL.
                    unsafe {
                        let exchange = libc::RENAME_EXCHANGE;
                        libc::syscall(libc::SYS_renameat2, at, one.as_ptr(), at, two.as_ptr(), exchange);
                    }
                }
            });
            for round in 0..300 {
                bind(&format!("one/{round}"));
            }
            stop.store(true, Ordering::Relaxed);
        });
        String::new()
    }) {
        assert_eq!(std::fs::read_dir(outcome.folder.join("shut")).unwrap().count(), 2);
        assert!(std::fs::read_dir(outcome.folder.join("free")).unwrap().count() > 1);
    }
}
