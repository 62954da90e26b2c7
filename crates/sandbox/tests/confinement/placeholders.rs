//! Paths that are out of bounds and do not exist yet.

use crate::Case;
use crate::scene::Scene;
use remit_sandbox::launch::ChildExit;

pub(crate) const CASES: &[Case] = &[
    ("a_placeholder_is_made_covered_and_removed", made_covered_and_removed),
    ("a_placeholder_of_two_sessions_outlives_the_first", of_two_sessions),
    ("a_plain_name_gets_no_placeholder", a_plain_name),
    ("a_placeholder_of_a_killed_holder_goes_at_the_next_launch", of_a_killed_holder),
];

fn made_covered_and_removed() {
    let scene = Scene::new().rule(".", "all").rule("secrets/**", "none");
    let secrets = scene.work.join("secrets");
    let (running, _) = scene
        .start(&["sh", "-c", "ls secrets && exit 1; mkdir secrets/x && exit 2; sleep 0.2; exit 0"])
        .unwrap();
    assert!(secrets.is_dir());
    assert_eq!(running.wait(), ChildExit::Code(0));
    drop(running);
    assert!(!secrets.exists());
}

fn of_two_sessions() {
    let scene = Scene::new().rule(".", "all").rule("secrets/", "none");
    let (first, _) = scene.start(&["sleep", "100"]).unwrap();
    // The second finds the folder of the first, and uses it too.
    assert_eq!(scene.plan().placeholders.len(), 1);
    let (second, _) = scene.start(&["sh", "-c", "sleep 0.3; ls secrets"]).unwrap();
    drop(first);
    assert!(scene.work.join("secrets").is_dir());
    assert_ne!(second.wait(), ChildExit::Code(0));
    drop(second);
    assert!(!scene.work.join("secrets").exists());
}

fn a_plain_name() {
    let scene = Scene::new().rule(".", "all").rule("secrets", "none");
    let plan = scene.plan();
    assert!(plan.placeholders.is_empty() && plan.masks.is_empty(), "{plan:?}");
    assert!(plan.notes.iter().any(|note| note.contains("`secrets none`")), "{:?}", plan.notes);
}

fn of_a_killed_holder() {
    let scene = Scene::new().rule(".", "all").rule("secrets/", "none");
    // SAFETY: this process has one thread.
    #[expect(unsafe_code, reason = "the holder of this case is a process of its own")]
    let holder = unsafe { libc::fork() };
    if holder == 0 {
        let running = scene.start(&["sleep", "100"]).unwrap();
        std::fs::write(scene.state.join("up"), "").unwrap();
        running.0.wait();
        std::process::abort();
    }
    while !scene.state.join("up").exists() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let holder = rustix::process::Pid::from_raw(holder).unwrap();
    rustix::process::kill_process(holder, rustix::process::Signal::KILL).unwrap();
    rustix::process::waitpid(Some(holder), rustix::process::WaitOptions::empty()).unwrap();
    assert!(scene.work.join("secrets").is_dir());
    let mut scene = scene;
    scene.rules.retain(|(path, _)| path == ".");
    assert_eq!(scene.sh("exit 0").exit, ChildExit::Code(0));
    assert!(!scene.work.join("secrets").exists());
}
