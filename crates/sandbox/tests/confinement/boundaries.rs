//! What view, floor and self-test hold.

use crate::Case;
use crate::scene::{Scene, abs, line};
use remit_sandbox::launch::{ChildExit, LaunchError, Stdio, launch};
use remit_sandbox::view::{SessionFile, What};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

pub(crate) const CASES: &[Case] = &[
    ("only_what_is_granted_exists", only_what_is_granted_exists),
    ("a_covered_folder_cannot_be_listed_removed_or_renamed", a_covered_folder),
    ("a_covered_file_cannot_be_read_even_by_root", a_covered_file),
    ("names_by_wildcard_are_covered_at_any_depth", names_by_wildcard),
    ("a_rename_between_differently_ruled_folders_is_one_rename", a_rename_inside_the_work_tree),
    ("a_folder_that_is_not_executable_holds_against_the_loader", the_loader_trick),
    ("a_tree_that_is_nowhere_executable_is_noexec", a_tree_that_is_nowhere_executable),
    ("writing_what_is_not_granted_is_refused", writing_what_is_not_granted),
    ("the_gate_cannot_be_reached_through_proc", the_gate_cannot_be_reached),
    ("the_kernels_settings_cannot_be_changed", the_kernels_settings),
    ("no_terminal_of_the_machine_is_seen", no_terminal_of_the_machine),
    ("no_capability_and_no_namespace_can_be_had", no_capability),
    ("the_session_folder_is_there_and_read_only", the_session_folder),
    ("a_second_name_in_a_none_region_refuses_the_launch", a_second_name),
    ("a_rule_that_cannot_be_held_refuses_the_launch", a_rule_that_cannot_be_held),
    ("a_private_tmp_holds_a_work_tree_of_the_machine", a_private_tmp),
    ("memory_and_queues_of_the_machine_are_out_of_reach", memory_and_queues),
    ("a_file_of_the_machine_as_input_is_not_the_one_of_its_name_inside", a_file_as_input),
    ("a_folder_as_input_or_output_refuses_the_launch", a_folder_as_input),
    ("a_socket_is_bound_where_a_file_may_be_made_and_nowhere_else", binding),
    ("what_only_git_looks_at_is_neither_read_listed_nor_watched", what_only_git_looks_at),
    ("what_the_view_cannot_change_is_refused_by_the_gate", what_the_view_cannot_change),
    ("everything_is_tested_before_the_start", everything_is_tested),
];

fn said(script: &str, scene: &Scene) -> String {
    let outcome = scene.sh(script);
    assert_eq!(outcome.exit, ChildExit::Code(0), "{outcome:?}");
    line(&outcome).to_owned()
}

/// Asserts that a command fails, with this in what it says.
fn refused(scene: &Scene, script: &str, word: &str) {
    let outcome = scene.sh(script);
    assert_ne!(outcome.exit, ChildExit::Code(0), "{script}: {outcome:?}");
    assert!(outcome.output.contains(word), "{script}: {outcome:?}");
}

fn only_what_is_granted_exists() {
    let scene = Scene::new().rule("open", "read").file("open/a", "hello").file("closed/b", "secret");
    let work = scene.work.display().to_string();
    for (script, word) in [
        (format!("cat {work}/closed/b"), "No such file"),
        (format!("ls {work}/closed"), "No such file"),
        ("ls /root".to_owned(), "No such file"),
        ("ls /sys".to_owned(), "No such file"),
        ("ls /var".to_owned(), "No such file"),
    ] {
        let mut spec = scene.spec(&["sh", "-c", &script], Stdio::Inherit);
        spec.cwd = abs(scene.work.join("open"));
        let outcome = scene.run_spec(spec);
        assert_ne!(outcome.exit, ChildExit::Code(0), "{script}: {outcome:?}");
        assert!(outcome.output.contains(word), "{script}: {outcome:?}");
    }
    let mut spec = scene.spec(&["cat", "a"], Stdio::Inherit);
    spec.cwd = abs(scene.work.join("open"));
    assert_eq!(scene.run_spec(spec).output, "hello");
    // Folders that only lead somewhere may be listed: all that is in sight may be read.
    let mut spec = scene.spec(&["ls", "/", &work], Stdio::Inherit);
    spec.cwd = abs(scene.work.join("open"));
    let outcome = scene.run_spec(spec);
    assert_eq!(outcome.exit, ChildExit::Code(0), "{outcome:?}");
    assert!(outcome.output.ends_with(":\nopen\n"), "{outcome:?}");
}

fn a_covered_folder() {
    let scene =
        Scene::new().rule(".", "all").rule("secrets/**", "none").file("secrets/k", "s").file("a", "1");
    refused(&scene, "ls secrets", "Permission denied");
    refused(&scene, "cat secrets/k", "Permission denied");
    for script in [
        "rmdir secrets",
        "rm -rf secrets",
        "mv secrets elsewhere",
        "mv a secrets/k",
        "ln a secrets/new",
        "ln -s a secrets/k/new",
        "chmod 777 secrets",
        "mkdir secrets/new",
    ] {
        refused(&scene, script, "Permission denied");
    }
    refused(&scene, "echo x > secrets/new", "");
    assert_eq!(said("cat a", &scene), "1");
    assert!(scene.work.join("secrets/k").exists() && !scene.work.join("elsewhere").exists());
}

fn a_covered_file() {
    let scene = Scene::new().rule(".", "all").rule("key.pem", "none").file("key.pem", "s").file("sub/x", "1");
    refused(&scene, "cat key.pem", "Permission denied");
    for script in
        ["mv key.pem other", "mv sub/x key.pem", "rm key.pem", "ln key.pem other", "chmod 644 key.pem"]
    {
        refused(&scene, script, "Permission denied");
    }
    refused(&scene, "cp key.pem copy", "Permission denied");
    assert_eq!(std::fs::read_to_string(scene.work.join("key.pem")).unwrap(), "s");
}

fn names_by_wildcard() {
    let scene = Scene::new()
        .rule(".", "all")
        .rule("**/.env", "none")
        .rule("**/private", "none")
        .file("a/b/.env", "s")
        .file(".env", "s")
        .file("x/private/k", "s")
        .file("a/b/plain", "1");
    refused(&scene, "cat a/b/.env", "Permission denied");
    refused(&scene, "cat .env", "Permission denied");
    refused(&scene, "cat x/private/k", "Permission denied");
    assert_eq!(said("cat a/b/plain", &scene), "1");
}

fn a_rename_inside_the_work_tree() {
    let scene = Scene::new()
        .rule(".", "all")
        .rule("a/**", "all")
        .rule("b/**", "all")
        .rule("c/**", "read")
        .rule("s/**", "none")
        .file("a/f", "1")
        .file("b/g", "1")
        .file("c/h", "1")
        .file("s/k", "1");
    // `os.rename` is the bare call; `mv` would copy where that is impossible.
    assert_eq!(said("python3 -c 'import os; os.rename(\"a/f\", \"b/f\")' 2>&1; ls b", &scene), "f\ng");
    refused(&scene, "python3 -c 'import os; os.rename(\"b/g\", \"c/g\")'", "");
    assert!(scene.work.join("b/f").exists() && !scene.work.join("a/f").exists());
}

fn loader() -> &'static str {
    "/lib64/ld-linux-x86-64.so.2"
}

fn program(scene: &Scene, name: &str) {
    let path = scene.work.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::copy("/usr/bin/true", &path).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn the_loader_trick() {
    let scene = Scene::new().rule(".", "all").rule("data/**", "read-write");
    program(&scene, "tool");
    program(&scene, "data/tool");
    assert_eq!(said("./tool && echo ran", &scene), "ran");
    refused(&scene, "data/tool", "Permission denied");
    refused(&scene, &format!("{} data/tool", loader()), "");
}

fn a_tree_that_is_nowhere_executable() {
    let scene = Scene::new().rule(".", "read-write");
    program(&scene, "tool");
    refused(&scene, "./tool", "Permission denied");
    refused(&scene, &format!("{} ./tool", loader()), "");
    // Only part of a tree: the floor alone holds it, and the loader is not stopped by that.
    let scene = Scene::new().rule(".", "read-write").rule("bin/**", "all");
    program(&scene, "tool");
    program(&scene, "bin/tool");
    refused(&scene, "./tool", "Permission denied");
    assert_eq!(said("bin/tool && echo ran", &scene), "ran");
}

fn writing_what_is_not_granted() {
    let scene = Scene::new().rule(".", "all").rule("docs/**", "read").file("docs/a", "1").file("src/b", "1");
    for script in
        ["echo x > docs/a", "rm docs/a", "mkdir docs/n", "chmod 600 docs/a", "touch -d 2001-01-01 docs/a"]
    {
        refused(&scene, script, "");
    }
    for script in ["echo x > /usr/x", "mkdir /new", "touch /run/remit/session/x", "ln -s /etc /etc/x"] {
        refused(&scene, script, "");
    }
    assert_eq!(
        said("echo y > src/b; echo z > /tmp/t; cat src/b /tmp/t; echo w > /home/agent/h", &scene),
        "y\nz"
    );
    assert_eq!(std::fs::read_to_string(scene.work.join("src/b")).unwrap(), "y\n");
    assert_eq!(std::fs::read_to_string(scene.home.join("h")).unwrap(), "w\n");
    assert_eq!(std::fs::read_to_string(scene.work.join("docs/a")).unwrap(), "1");
}

fn the_gate_cannot_be_reached() {
    let scene = Scene::new().rule(".", "all");
    refused(&scene, "cat /proc/1/environ", "Permission denied");
    // Root sees the numbers of a hidden process's descriptors, and not what they are.
    refused(&scene, "readlink /proc/1/fd/3 || cat /proc/1/fd/3", "Permission denied");
    refused(&scene, "ls /proc/1/root/", "");
    refused(&scene, "cat /proc/1/mem", "Permission denied");
    refused(&scene, "kill -9 1", "");
    // No other process of the machine has a number here.
    let seen = said("cd /proc; echo [0-9]*", &scene);
    assert!(seen.split(' ').count() <= 3, "{seen}");
}

fn the_kernels_settings() {
    let scene = Scene::new().rule(".", "all");
    refused(&scene, "echo x > /proc/sys/kernel/core_pattern", "");
    refused(&scene, "echo 9 > /proc/sys/user/max_user_namespaces", "");
    if std::path::Path::new("/proc/sysrq-trigger").exists() {
        refused(&scene, "echo h > /proc/sysrq-trigger", "");
    }
    assert_eq!(said("cat /proc/sys/user/max_user_namespaces", &scene), "0");
    for name in ["kallsyms", "vmallocinfo", "slabinfo", "mtrr", "kpageflags", "kmsg", "keys"] {
        if std::path::Path::new("/proc").join(name).exists() {
            refused(&scene, &format!("cat /proc/{name}"), "Permission denied");
        }
    }
    if std::path::Path::new("/proc/pressure/cpu").exists() {
        assert!(said("cat /proc/pressure/cpu", &scene).starts_with("some"));
        refused(&scene, "echo 'some 500000 1000000' > /proc/pressure/cpu", "");
    }
}

fn no_terminal_of_the_machine() {
    let scene = Scene::new().rule(".", "all");
    assert_eq!(said("ls /dev/pts", &scene), "ptmx");
    refused(&scene, "ls /dev/kmsg /dev/vda /dev/mem", "No such file");
    let script = "import pty, os; a, b = pty.openpty(); print(os.ttyname(b)); os.write(a, b'x\\n'); print(os.read(b, 9))";
    assert_eq!(said(&format!("python3 -c \"{script}\""), &scene), "/dev/pts/0\nb'x\\n'");
    assert_eq!(said("echo x > /dev/null; head -c 3 /dev/zero | wc -c; echo y > /dev/stdout", &scene), "3\ny");
}

fn no_capability() {
    let scene = Scene::new().rule(".", "all");
    let status = said("grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs)' /proc/self/status", &scene);
    for row in status.lines() {
        assert!(row.ends_with("0000000000000000") || row == "NoNewPrivs:\t1", "{status}");
    }
    refused(&scene, "unshare -U true", "");
    refused(&scene, "unshare -m true", "");
    refused(&scene, "mount -t tmpfs none /tmp", "");
    refused(&scene, "umount -l /proc", "");
    refused(&scene, "chroot / true", "");
}

fn the_session_folder() {
    let mut scene = Scene::new().rule(".", "all");
    let socket = scene.state.join("holder");
    let listener = UnixListener::bind(&socket).unwrap();
    scene.files.push(SessionFile { name: "socket".to_owned(), what: What::Shown(socket) });
    assert_eq!(
        said("cat /run/remit/session/settings; ls /run/remit/session", &scene),
        "held\nsettings\nsocket"
    );
    refused(&scene, "rm /run/remit/session/settings", "");
    refused(&scene, "echo x >> /run/remit/session/settings", "");
    let script = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/remit/session/socket'); print('connected')";
    assert_eq!(said(&format!("python3 -c \"{script}\""), &scene), "connected");
    drop(listener);
    // The state folder itself is nowhere.
    refused(&scene, &format!("ls {}", scene.state.display()), "");
}

fn a_second_name() {
    let mut scene = Scene::new().rule(".", "all").rule("secrets/**", "none").file("secrets/deep/k", "s");
    std::fs::hard_link(scene.work.join("secrets/deep/k"), scene.work.join("copy")).unwrap();
    let refusal = scene.start(&["true"]).err().expect("a refusal");
    let text = refusal.to_string();
    assert!(matches!(refusal, LaunchError::Refused(_)), "{text}");
    assert!(
        text.contains("secrets/deep/k has a second name") && text.contains("`secrets/** none`"),
        "{text}"
    );
    scene.hardlinks_allowed = true;
    assert_eq!(said("echo on", &scene), "on");
}

fn a_rule_that_cannot_be_held() {
    let scene = Scene::new().rule(".", "read").rule("drop/**", "write").file("drop/x", "1");
    let text = scene.start(&["true"]).err().expect("a refusal").to_string();
    assert!(text.contains("`drop/** write`") && text.contains("reading cannot be taken away"), "{text}");
    // Through a link a mask would cover something else.
    let scene = Scene::new().rule(".", "all").file("real/s/k", "1");
    symlink("real", scene.work.join("link")).unwrap();
    let scene = scene.rule("link/s/**", "none");
    let text = scene.start(&["true"]).err().expect("a refusal").to_string();
    assert!(text.contains("symbolic link"), "{text}");
}

fn a_private_tmp() {
    let scene = Scene::new().rule(".", "all").file("a", "1\n");
    // The work tree lies in the machine's /tmp, of which nothing else is seen.
    let outcome = said("cat a; ls /tmp; ls $(dirname $PWD)", &scene);
    let parent = scene.work.parent().unwrap().file_name().unwrap().to_str().unwrap();
    assert_eq!(outcome, format!("1\n{parent}\nw"));
}

fn memory_and_queues() {
    let scene = Scene::new().rule(".", "all");
    let count = "cat /proc/sysvipc/msg /proc/sysvipc/shm | wc -l";
    let host = |script: &str| {
        let output = Command::new("sh").args(["-c", script]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let queue = host("ipcmk -Q").split(' ').next_back().unwrap_or_default().to_owned();
    let there = host("grep -c . /proc/sysvipc/msg");
    let seen = said(count, &scene);
    let made = said("ipcmk -Q >/dev/null && wc -l </proc/sysvipc/msg", &scene);
    host(&format!("ipcrm -q {queue}"));
    assert_ne!(there, "1", "the machine has a queue");
    assert_eq!((seen.as_str(), made.as_str()), ("2", "2"));
}

fn a_file_as_input() {
    let scene = Scene::new().rule(".", "all");
    // By its name it is in the session's own /tmp, where all may be written.
    let kept = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    std::fs::write(kept.path(), "kept").unwrap();
    let start = |script: &str| {
        let file =
            |append: bool| std::fs::File::options().read(!append).append(append).open(kept.path()).unwrap();
        let mut spec = scene.spec(&["sh", "-c", script], Stdio::Inherit);
        spec.stdio = Stdio::Given([file(false).into(), file(true).into(), file(true).into()]);
        launch(spec).unwrap_or_else(|error| panic!("{error}")).wait()
    };
    let text = || std::fs::read_to_string(kept.path()).unwrap();
    for script in [
        "exec 2>&-; echo x > /proc/self/fd/0",
        "exec 2>&-; echo x 1<> /dev/stdin",
        "exec 2>&-; chmod 777 /dev/stdin",
        "exec 2>&-; touch -d 2001-01-01 /dev/stdout",
    ] {
        assert_ne!(start(script), ChildExit::Code(0), "{script}");
        assert_eq!(text(), "kept", "{script}");
    }
    // What it holds for writing it may write, by whatever name.
    assert_eq!(start("cat; echo ' and' >> /dev/stdout; echo more >> /proc/self/fd/2"), ChildExit::Code(0));
    assert!(text().ends_with(" and\nmore\n"), "{}", text());
}

fn a_folder_as_input() {
    let scene = Scene::new().rule(".", "all");
    let null = || std::fs::File::open("/dev/null").unwrap().into();
    let folder = || std::fs::File::open("/usr").unwrap().into();
    for (stdio, name) in [
        ([folder(), null(), null()], "standard input"),
        ([null(), folder(), null()], "standard output"),
        ([null(), null(), folder()], "standard error"),
    ] {
        let error = launch(scene.spec(&["true"], Stdio::Given(stdio))).err().expect("a refusal");
        assert!(error.to_string().starts_with(name), "{error}");
    }
}

fn binding() {
    let scene = Scene::new().rule(".", "all").rule("docs/**", "read").file("docs/a", "1");
    let bind = |path: &str| {
        let script =
            format!("import socket as s; a = s.socket(s.AF_UNIX); a.bind('{path}'); print(a.getsockname())");
        format!("python3 -c \"{script}\"")
    };
    let path = scene.work.join("made").display().to_string();
    assert_eq!(said(&bind(&path), &scene), path);
    assert_eq!(said(&bind("/tmp/made"), &scene), "/tmp/made");
    assert_eq!(said(&bind("/home/agent/made"), &scene), "/home/agent/made");
    refused(&scene, &bind("docs/made"), "Permission denied");
    refused(&scene, &bind("/usr/made"), "Permission denied");
}

fn what_only_git_looks_at() {
    let mut scene = Scene::new_in("/var/tmp".as_ref())
        .rule("fe", "all")
        .file("fe/a", "a")
        .file("be/x", "x")
        .file("be/in/y", "y");
    scene = scene.file("top", "t").file("untracked", "u").file(".git/index", "i");
    scene.tracked = vec![b"be/in/y", b"be/x", b"fe/a", b"top"];
    assert!(!scene.plan().listed);
    assert_eq!(said("ls -A; stat -c %s be/in/y", &scene), ".git\nbe\nfe\ntop\n1");
    // The view's own folders, by any name of them.
    assert_eq!(said("cd fe; ls ..; ls /proc/self/cwd/.. | wc -l; ls / >/dev/null", &scene), "be\nfe\ntop\n3");
    for script in [
        "ls be",
        "ls be/in",
        "cd be; ls .",
        "cd be; ls /proc/self/cwd",
        "cat be/x",
        "cat top",
        "cp -r be fe/",
        "rm be/x",
        "rm -r be/in",
        "ln be/x fe/x",
        "mv top fe/top",
        "mv be fe/be",
        "mv fe/a be/x",
        "chmod 600 top",
    ] {
        refused(&scene, script, "Permission denied");
    }
    refused(&scene, "cat <be/x", "");
    let watch = "import ctypes as c, sys\nl = c.CDLL(None)\nf = l.inotify_init()\n\
        print([l.inotify_add_watch(f, p.encode(), 0x100) for p in sys.argv[1:]], l.fanotify_mark(0, 0, 0, 0, 0))";
    let script = format!("python3 -c '{watch}' be be/in be/x . fe fe/no /proc/self/cwd/../be");
    assert_eq!(said(&script, &scene), "[-1, -1, -1, 1, 2, -1, -1] -1");
}

fn what_the_view_cannot_change() {
    let scene = Scene::new_in("/var/tmp".as_ref())
        .rule("fe", "all")
        .rule("*/gen", "all")
        .rule("docs", "read")
        .rule("docs/*.md", "read-write");
    let scene = scene.file("fe/a", "a").file("docs/a.md", "a").file("docs/b", "b").file("sub/gen/x", "x");
    assert_eq!(said("echo more >>docs/a.md; rm docs/a.md; mkdir fe/gen; rmdir fe/gen; ls docs", &scene), "b");
    // Granted by the rules; but a folder that only leads somewhere, or a mount point.
    for script in
        ["mkdir gen", "ln -s fe gen", "mkfifo sub/gen/../../gen", "rm -r sub/gen", "rm -r fe", "mv fe q"]
    {
        refused(&scene, script, "Permission denied");
    }
    // As anywhere.
    refused(&scene, "touch fe/x; rmdir fe", "not empty");
    refused(&scene, "echo x >docs/b", "Permission denied");
}

fn everything_is_tested() {
    let scene =
        Scene::new_in("/var/tmp".as_ref()).rule(".", "all").rule("secrets/**", "none").file("secrets/k", "s");
    let (running, _) = scene.start(&["true"]).unwrap();
    let measured = running.measured().clone();
    assert_eq!(running.wait(), ChildExit::Code(0));
    assert!(measured.landlock_abi >= 3 && measured.floor_complete);
    assert!(measured.checks.len() >= 12 && measured.checks.iter().all(|c| c.held), "{measured:?}");
    assert!(measured.checks.iter().any(|c| c.what.contains("secrets")));
    assert!(measured.checks.iter().any(|c| c.what.contains("queues")));
}
