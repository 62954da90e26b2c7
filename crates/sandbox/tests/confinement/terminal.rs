//! A session's terminal, and the relay to a person's.

use crate::Case;
use crate::scene::Scene;
use remit_sandbox::attend::attend;
use remit_sandbox::launch::{ChildExit, Running, Stdio, WindowSize, launch};
use remit_sandbox::pty::{resize, window_size};
use remit_sandbox::signals::Signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use std::os::fd::{AsFd, OwnedFd};

pub(crate) const CASES: &[Case] = &[
    ("a_terminal_is_the_sessions_own", a_terminal_of_its_own),
    ("the_terminal_has_the_size_given_and_follows", the_size),
    ("the_keyboard_interrupts_the_program", the_keyboard_interrupts),
    ("a_relay_passes_both_ways_and_restores_the_terminal", a_relay),
    ("a_signal_in_a_relay_ends_the_program_and_restores_the_terminal", a_signal_in_a_relay),
    ("an_inherited_terminal_may_be_opened_anew_and_is_restored", an_inherited_terminal),
    ("a_relay_of_a_pipe_tells_the_end_of_input", a_relay_of_a_pipe),
];

const SIZE: WindowSize = WindowSize { rows: 30, columns: 90 };

fn start(scene: &Scene, script: &str) -> Running {
    launch(scene.spec(&["sh", "-c", script], Stdio::Pty { size: SIZE, front: true }))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Attends it to its end.
fn relay(running: &Running, input: &impl AsFd, output: &impl AsFd) -> std::io::Result<()> {
    attend(running, &Signals::hold(running)?, input, output)
}

/// Reads the terminal until it ends, or holds `word`.
fn read_until(running: &Running, word: &str) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = rustix::io::read(running.terminal().unwrap(), &mut buffer) {
        text.extend_from_slice(&buffer[..length]);
        if String::from_utf8_lossy(&text).contains(word) {
            break;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn a_terminal_of_its_own() {
    let scene = Scene::new().rule(".", "all");
    let running =
        start(&scene, "tty; test -t 0 && test -t 2 && echo yes; echo again > /dev/tty; ls /dev/pts");
    let text = read_until(&running, "ptmx\r\n");
    assert_eq!(text, "/dev/pts/0\r\nyes\r\nagain\r\n0  ptmx\r\n");
    assert_eq!(running.wait(), ChildExit::Code(0));
}

fn the_size() {
    let scene = Scene::new().rule(".", "all");
    let running =
        start(&scene, "stty size; trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done");
    assert!(read_until(&running, "ready").contains("30 90"));
    resize(running.terminal().unwrap(), WindowSize { rows: 40, columns: 100 }).unwrap();
    assert!(read_until(&running, "100").contains("40 100"));
    assert_eq!(running.wait(), ChildExit::Code(0));
    assert_eq!(window_size(running.terminal().unwrap()), Some(WindowSize { rows: 40, columns: 100 }));
}

fn the_keyboard_interrupts() {
    let scene = Scene::new().rule(".", "all");
    let running = start(&scene, "echo ready; exec sleep 100");
    read_until(&running, "ready");
    // The shell must have become the sleeper.
    std::thread::sleep(std::time::Duration::from_millis(200));
    rustix::io::write(running.terminal().unwrap(), b"\x03").unwrap();
    assert_eq!(running.wait(), ChildExit::Signal(2));
}

/// A person's terminal: the end that the person holds, and the one that a program has.
fn person() -> (OwnedFd, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).unwrap();
    unlockpt(&master).unwrap();
    resize(&master, WindowSize { rows: 20, columns: 70 }).unwrap();
    let slave = ioctl_tiocgptpeer(&master, flags).unwrap();
    (master, slave)
}

fn a_relay() {
    let scene = Scene::new().rule(".", "all");
    let (master, slave) = person();
    let running = start(&scene, "read line; stty size; echo \"got $line\"; exit 6");
    rustix::io::write(&master, b"typed\r").unwrap();
    let before = tcgetattr(&slave).unwrap();
    assert!(before.local_modes.contains(LocalModes::ICANON));
    relay(&running, &slave, &slave).unwrap();
    assert_eq!(running.wait(), ChildExit::Code(6));
    let after = tcgetattr(&slave).unwrap();
    assert_eq!((after.local_modes, after.input_modes), (before.local_modes, before.input_modes));
    // What was written comes in as many pieces as the kernel likes.
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    let patience = Timespec { tv_sec: 10, tv_nsec: 0 };
    while !text.contains("got typed")
        && poll(&mut [PollFd::new(&master, PollFlags::IN)], Some(&patience)).unwrap() > 0
    {
        let length = rustix::io::read(&master, &mut buffer).unwrap();
        text.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
    assert!(text.contains("20 70") && text.contains("got typed"), "{text:?}");
}

fn a_signal_in_a_relay() {
    let scene = Scene::new().rule(".", "all");
    let (_master, slave) = person();
    let running = start(&scene, "echo ready; exec sleep 100");
    read_until(&running, "ready");
    let before = tcgetattr(&slave).unwrap();
    let kill = format!("sleep 0.3; kill -TERM {}", std::process::id());
    let mut killer = std::process::Command::new("sh").args(["-c", &kill]).spawn().unwrap();
    relay(&running, &slave, &slave).unwrap();
    assert_eq!(running.wait(), ChildExit::Signal(15));
    assert_eq!(tcgetattr(&slave).unwrap().local_modes, before.local_modes);
    assert!(killer.wait().unwrap().success());
}

fn an_inherited_terminal() {
    let scene = Scene::new().rule(".", "all");
    let (master, slave) = person();
    let (_other, stranger) = person();
    let name = rustix::termios::ttyname(&stranger, Vec::new()).unwrap().into_string().unwrap();
    for set in [rustix::stdio::dup2_stdin, rustix::stdio::dup2_stdout] {
        set(&slave).unwrap();
    }
    let before = tcgetattr(&slave).unwrap();
    let script = format!(
        "echo one > /dev/stdout || exit 2; echo two > /proc/self/fd/0 || exit 3; echo x > {name} && exit 4; \
         stty raw -echo < /dev/stdin; exit 7"
    );
    let running = launch(scene.spec(&["sh", "-c", &script], Stdio::Inherit)).unwrap();
    assert_eq!(running.wait(), ChildExit::Code(7));
    let after = tcgetattr(&slave).unwrap();
    assert_eq!((after.local_modes, after.input_modes), (before.local_modes, before.input_modes));
    let mut buffer = [0; 4096];
    let length = rustix::io::read(&master, &mut buffer).unwrap();
    assert!(String::from_utf8_lossy(&buffer[..length]).contains("one\r\ntwo\r\n"));
}

fn a_relay_of_a_pipe() {
    let scene = Scene::new().rule(".", "all");
    let (read, write) = std::io::pipe().unwrap();
    let (out_read, out_write) = std::io::pipe().unwrap();
    rustix::io::write(&write, b"one\ntwo\n").unwrap();
    drop(write);
    let running = start(&scene, "stty -echo; echo ready; cat; echo end");
    read_until(&running, "ready");
    relay(&running, &read, &out_write).unwrap();
    assert_eq!(running.wait(), ChildExit::Code(0));
    drop(out_write);
    let text = std::io::read_to_string(out_read).unwrap();
    assert!(text.contains("one\r\ntwo\r\n") && text.ends_with("end\r\n"), "{text:?}");
}
