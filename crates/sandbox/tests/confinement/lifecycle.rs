//! How a session begins, is spoken to, and ends.

use crate::Case;
use crate::scene::{Scene, abs, line};
use remit_sandbox::launch::{ChildExit, LaunchError, Stdio, UserMap, launch, launch_noting};
use std::io::{Read, Seek};
use std::time::{Duration, Instant};

pub(crate) const CASES: &[Case] = &[
    ("exit_codes_and_signals_come_back", exit_codes_and_signals),
    ("the_environment_is_exactly_the_one_given", the_environment),
    ("no_other_descriptor_is_open", no_other_descriptor),
    ("signals_begin_as_in_a_fresh_process", signals_begin_fresh),
    ("a_program_is_found_by_path_and_a_missing_one_is_named", a_program_is_found),
    ("what_was_measured_is_noted_before_the_program_begins", noted_before),
    ("a_working_folder_outside_the_view_is_an_error", a_working_folder_outside),
    ("a_process_with_threads_cannot_launch", a_process_with_threads),
    ("messages_reach_the_authority_and_are_answered", messages_reach_the_authority),
    ("the_authority_is_started_and_finished_once", the_authority_is_started_and_finished),
    ("what_is_left_behind_ends_with_the_program", what_is_left_behind),
    ("killing_the_gate_ends_the_session", killing_the_gate),
    ("killing_the_holder_ends_the_session", killing_the_holder),
    ("dropping_the_session_ends_it", dropping_the_session),
    ("a_signal_reaches_the_program", a_signal_reaches_the_program),
    ("users_are_mapped_to_themselves", users_are_mapped),
    ("the_umask_is_the_callers", the_umask),
];

fn exit_codes_and_signals() {
    let scene = Scene::new().rule(".", "all");
    assert_eq!(scene.sh("exit 0").exit, ChildExit::Code(0));
    assert_eq!(scene.sh("exit 255").exit, ChildExit::Code(255));
    assert_eq!(scene.sh("kill -9 $$").exit, ChildExit::Signal(9));
    assert_eq!(scene.sh("kill -TERM $$").exit, ChildExit::Signal(15));
    // A child that ends before its parent is not mistaken for it.
    assert_eq!(scene.sh("(exit 7) & wait; sh -c 'exit 3' & exit 5").exit, ChildExit::Code(5));
}

fn the_environment() {
    let mut scene = Scene::new().rule(".", "all");
    scene.environment = vec![("ONLY".into(), "this=that".into())];
    let outcome = scene.run(&["/usr/bin/env"]);
    assert_eq!(outcome.output, "ONLY=this=that\n");
}

fn no_other_descriptor() {
    let scene = Scene::new().rule(".", "all");
    // One that is not closed on exec, as a careless caller might have.
    let stray =
        rustix::fs::open("/etc/passwd", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).unwrap();
    let outcome = scene.run(&["/bin/ls", "/proc/self/fd"]);
    drop(stray);
    // The last is the one by which `ls` reads the folder.
    assert_eq!(outcome.output, "0\n1\n2\n3\n");
}

fn signals_begin_fresh() {
    let scene = Scene::new().rule(".", "all");
    let outcome = scene.sh("grep -E '^Sig(Blk|Ign)' /proc/self/status");
    assert_eq!(outcome.output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

fn a_program_is_found() {
    let scene = Scene::new().rule(".", "all");
    assert_eq!(scene.run(&["echo", "hi"]).output, "hi\n");
    let error = scene.start(&["no-such-program"]).err().expect("an error");
    assert!(
        matches!(&error, LaunchError::Program { program, .. } if program == "no-such-program"),
        "{error}"
    );
    assert!(error.to_string().contains("No such file"), "{error}");
    assert!(matches!(scene.start(&[]).err(), Some(LaunchError::Command(_))));
    assert!(matches!(scene.start(&["a\0b"]).err(), Some(LaunchError::Command(_))));
    // After errors another launch works.
    assert_eq!(scene.run(&["/bin/echo", "still"]).output, "still\n");
}

fn noted_before() {
    let scene = Scene::new().rule(".", "all");
    let made = scene.work.join("made");
    let spec = || scene.spec(&["touch", "made"], Stdio::Inherit);
    let running = launch_noting(spec(), |measured| {
        assert!(!measured.checks.is_empty() && !made.exists());
        // Long enough for a program that does not wait.
        std::thread::sleep(Duration::from_millis(50));
        assert!(!made.exists(), "it has begun");
        Ok(())
    });
    assert_eq!(running.unwrap().wait(), ChildExit::Code(0));
    assert!(made.exists());
    std::fs::remove_file(&made).unwrap();
    let failed = launch_noting(spec(), |_| Err(std::io::Error::other("the disk is full")));
    let error = failed.err().expect("an error").to_string();
    assert!(error.contains("the disk is full"), "{error}");
    assert!(!made.exists(), "a program whose launch was not noted has run");
}

fn a_working_folder_outside() {
    let scene = Scene::new().rule(".", "all");
    let mut spec = scene.spec(&["true"], Stdio::Inherit);
    spec.cwd = abs("/root");
    let error = launch(spec).err().expect("an error").to_string();
    assert!(error.contains("working folder /root"), "{error}");
}

fn a_process_with_threads() {
    let scene = Scene::new().rule(".", "all");
    let (stop, wait) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || wait.recv().unwrap());
    let error = scene.start(&["true"]).err().expect("an error");
    assert!(matches!(error, LaunchError::Threads(2)), "{error}");
    stop.send(()).unwrap();
    thread.join().unwrap();
}

fn messages_reach_the_authority() {
    let scene = Scene::new().rule(".", "all");
    let (running, _) = scene.start(&["sleep", "100"]).unwrap();
    assert_eq!(running.control(b"one").unwrap(), b"answer to one");
    let long = vec![b'x'; 100_000];
    assert_eq!(running.control(&long).unwrap().len(), long.len() + 10);
    assert!(running.control(&vec![0; 128 * 1024]).is_err());
    assert_eq!(running.control(b"two").unwrap(), b"answer to two");
    running.kill();
    assert_eq!(running.wait(), ChildExit::Lost);
    assert!(running.control(b"three").is_err());
}

fn the_authority_is_started_and_finished() {
    let mut scene = Scene::new().rule(".", "all");
    scene.sh("echo x > a; sleep 0.1 & exit 0");
    let mut text = String::new();
    scene.log.rewind().unwrap();
    scene.log.read_to_string(&mut text).unwrap();
    assert_eq!(text, "start\nfinish\n");
}

/// Reads until every process of the session has closed its output.
fn ends_within(mut file: std::fs::File, limit: Duration) {
    let begun = Instant::now();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert!(begun.elapsed() < limit, "it took {:?}", begun.elapsed());
}

fn what_is_left_behind() {
    let scene = Scene::new().rule(".", "all");
    let (running, file) = scene
        .start(&["sh", "-c", "setsid sleep 100 & (trap '' TERM; sleep 100) & sleep 0.2; exit 4"])
        .unwrap();
    assert_eq!(running.wait(), ChildExit::Code(4));
    ends_within(file, Duration::from_secs(5));
    // What ends when it is asked is not waited for.
    let begun = Instant::now();
    assert_eq!(scene.sh("setsid sleep 100 & sleep 0.1; exit 0").exit, ChildExit::Code(0));
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
}

fn killing_the_gate() {
    let scene = Scene::new().rule(".", "all");
    let (running, file) = scene.start(&["sh", "-c", "sleep 100 & sleep 100"]).unwrap();
    running.kill();
    ends_within(file, Duration::from_secs(5));
    assert_eq!(running.wait(), ChildExit::Lost);
    assert_eq!(running.wait(), ChildExit::Lost);
}

fn killing_the_holder() {
    let scene = Scene::new().rule(".", "all");
    let (read, write) = std::io::pipe().unwrap();
    // SAFETY: this process has one thread.
    #[expect(unsafe_code, reason = "the holder of this case is a process of its own")]
    let holder = unsafe { libc::fork() };
    if holder == 0 {
        let null = std::fs::File::open("/dev/null").unwrap();
        let again = write.try_clone().unwrap();
        let script = "sleep 100 & setsid sleep 100 & echo up; sleep 100";
        let spec = scene.spec(&["sh", "-c", script], Stdio::Given([null.into(), write.into(), again.into()]));
        let running = launch(spec).unwrap();
        running.wait();
        std::process::abort();
    }
    drop(write);
    let mut file = std::fs::File::from(std::os::fd::OwnedFd::from(read));
    let mut word = [0; 3];
    file.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"up\n");
    let holder = rustix::process::Pid::from_raw(holder).unwrap();
    rustix::process::kill_process(holder, rustix::process::Signal::KILL).unwrap();
    ends_within(file, Duration::from_secs(5));
    rustix::process::waitpid(Some(holder), rustix::process::WaitOptions::empty()).unwrap();
}

fn dropping_the_session() {
    let scene = Scene::new().rule(".", "all");
    let (running, file) = scene.start(&["sleep", "100"]).unwrap();
    drop(running);
    ends_within(file, Duration::from_secs(5));
}

fn a_signal_reaches_the_program() {
    let scene = Scene::new().rule(".", "all");
    let script = "trap 'echo got; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let (running, mut file) = scene.start(&["sh", "-c", script]).unwrap();
    let mut word = [0; 6];
    file.read_exact(&mut word).unwrap();
    running.signal(libc::SIGTERM).unwrap();
    let mut rest = String::new();
    file.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("got"), "{rest}");
    assert_eq!(running.wait(), ChildExit::Code(9));
}

fn users_are_mapped() {
    let scene = Scene::new().rule(".", "all").file("a", "1");
    let user = rustix::process::getuid();
    let outcome = scene.sh("id -u; id -g; stat -c %u a");
    assert_eq!(line(&outcome), [user.as_raw().to_string().as_str(); 3].join("\n"));
    let (running, _) = scene.start(&["true"]).unwrap();
    let expected = if user.is_root() { UserMap::All } else { UserMap::Own };
    assert_eq!(running.measured().user_map, expected);
    running.wait();
}

fn the_umask() {
    let scene = Scene::new().rule(".", "all");
    let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o037));
    let outcome = scene.sh("umask");
    rustix::process::umask(before);
    assert_eq!(line(&outcome), "0037");
}
