//! The exit code is the program's, its streams are the terminal's, its arguments arrive as they are.

use crate::place::{POLICY, each_user, own, remit, sh};
use anyhow::Result;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;

#[test]
fn the_code_is_the_programs_own() -> Result<()> {
    each_user(POLICY, |env| {
        for code in [0, 7, 125, 255] {
            let outcome = sh(env, &format!("exit {code}"))?;
            assert_eq!((outcome.code, outcome.stderr.as_str()), (code, ""));
        }
        Ok(())
    })
}

#[test]
fn a_signal_that_ends_the_program_ends_the_session_when_all_is_written() -> Result<()> {
    each_user(POLICY, |env| {
        // Hangup, interrupt, quit, segmentation fault, termination, and one without a name.
        for signal in [1, 2, 3, 11, 15, 34] {
            let script = format!("ulimit -c unlimited; kill -{signal} $$");
            let status = env.remit(["run", "--", "/bin/sh", "-c", &script])?.status()?;
            assert_eq!((status.code(), status.signal()), (None, Some(signal)));
            assert!(!status.core_dumped(), "{signal}");
        }
        // What is killed outright cannot have cleaned up, so that is told by its code.
        let status = env.remit(["run", "--", "/bin/sh", "-c", "kill -KILL $$"])?.status()?;
        assert_eq!(status.code(), Some(137));
        let log = remit(env, &["log", "--event", "session-end"])?.ended(0)?;
        assert_eq!(log.stdout.lines().filter(|line| line.contains("by signal")).count(), 7, "{}", log.stdout);
        remit(env, &["verify"])?.ended(0)?;
        Ok(())
    })
}

#[test]
fn what_never_started_is_125() -> Result<()> {
    each_user(POLICY, |env| {
        let program = |name: &str, text: &str, mode: u32| -> Result<()> {
            let path = env.write(env.project().join(name), text)?;
            Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?)
        };
        program("secrets/hidden", "#!/bin/sh\necho ran\n", 0o755)?;
        program("plain", "#!/bin/sh\necho ran\n", 0o644)?;
        program("lost", "#!/no/such/interpreter\necho ran\n", 0o755)?;
        program("noise", "\u{1}\u{2}\u{3}", 0o755)?;
        for (name, why) in [
            ("secrets/hidden", "Permission denied"),
            ("./plain", "hint: no one may run this file: `chmod +x [PROJECT]/plain`"),
            ("./lost", "No such file or directory"),
            ("./noise", "Exec format error"),
            ("./absent", "No such file or directory"),
            ("./src", "Permission denied"),
        ] {
            let outcome = remit(env, &["run", "--", name])?;
            assert_eq!(outcome.code, 125, "{name}: {}{}", outcome.stdout, outcome.stderr);
            assert_eq!(outcome.stdout, "", "{name}");
            assert!(outcome.stderr.contains(why), "{name}: {}", outcome.stderr);
            assert!(!outcome.stderr.contains("/./"), "{name}: {}", outcome.stderr);
        }
        for args in [&["run", "--", "no-such-program"][..], &["run", "nobody"], &["run"], &["run", "default"]]
        {
            let outcome = remit(env, args)?;
            assert_eq!(outcome.code, 125, "{args:?}: {}", outcome.stderr);
        }
        // Where this was asked is gone by the time that it starts.
        let program = env.stage(std::path::Path::new(env!("CARGO_BIN_EXE_remit")))?;
        let script = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" run -- /bin/true";
        let gone = env.run(env.command("sh")?.args(["-c", script]).arg(program))?;
        assert_eq!(gone.code, 125, "{}", gone.stderr);
        let nowhere = remit(env, &["-C", "nowhere", "run", "--", "/bin/true"])?;
        assert_eq!(nowhere.code, 125, "{}", nowhere.stderr);
        Ok(())
    })
}

#[test]
fn input_passes_through_whole_and_ends() -> Result<()> {
    each_user(POLICY, |env| {
        let input: Vec<u8> = (0..1_000_003_u32).map(|n| (n % 251) as u8).collect();
        let outcome = env.feed(&mut env.remit(["run", "--", "/bin/cat"])?, &input)?;
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.raw == input, "{} bytes of {}", outcome.raw.len(), input.len());
        Ok(())
    })
}

#[test]
fn output_and_talk_keep_apart() -> Result<()> {
    let outcome = sh(&own()?, "echo data; echo talk >&2")?.ended(0)?;
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("data\n", "talk\n"));
    Ok(())
}

#[test]
fn arguments_arrive_byte_for_byte() -> Result<()> {
    let odd: [&[u8]; 12] = [
        b"",
        b" ",
        b"a b",
        b"x\ny",
        b"\t",
        b"\xff\xfe\x80",
        b"--",
        b"--help",
        b"-C",
        b"it's \"quoted\" $HOME `x`",
        b"*",
        "é→".as_bytes(),
    ];
    let args: Vec<OsString> = ["run", "--", "/usr/bin/printf", "%s\\0"]
        .into_iter()
        .map(OsString::from)
        .chain(odd.iter().map(|bytes| OsString::from_vec(bytes.to_vec())))
        .collect();
    each_user(POLICY, |env| {
        let outcome = env.run(&mut env.remit(args.clone())?)?.ended(0)?;
        let seen: Vec<&[u8]> =
            outcome.raw.strip_suffix(b"\0").unwrap_or_default().split(|b| *b == 0).collect();
        assert_eq!(seen, odd);
        Ok(())
    })
}
