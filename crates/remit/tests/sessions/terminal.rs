//! A session in a terminal has a terminal, and its codes, keys and size.

use crate::place::{POLICY, each_user};
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use test_support::TestEnv;

/// Runs a command line on a terminal of its own, whose first line of output is `ready`. What it says after
/// these keys, and its code.
fn on_terminal(env: &TestEnv, line: &str, keys: &[u8]) -> Result<(String, Option<i32>)> {
    let remit = env.stage(env!("CARGO_BIN_EXE_remit").as_ref())?;
    let mut script = env.command("script")?;
    script.args(["-qec", &line.replace("remit", &remit.display().to_string()), "/dev/null"]);
    script.env_remove("NO_COLOR").env("TERM", "xterm-256color");
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    // Held open to the end: `script` types an end of input when its own ends.
    let mut input = child.stdin.take().context("a pipe")?;
    let mut output = BufReader::new(child.stdout.take().context("a pipe")?);
    let mut said = String::new();
    output.read_line(&mut said)?;
    anyhow::ensure!(said == "ready\r\n", "{said:?}");
    input.write_all(keys)?;
    said.clear();
    output.read_to_string(&mut said)?;
    Ok((said, child.wait()?.code()))
}

#[test]
fn inside_there_is_a_terminal_with_the_size_of_the_one_outside() -> Result<()> {
    each_user(POLICY, |env| {
        let line = "stty rows 41 cols 97; remit run -- /bin/sh -c 'echo ready; test -t 0 && test -t 1 && test -t 2 && echo all three; stty size; echo x >/dev/tty; echo $TERM; exit 3'";
        let (said, code) = on_terminal(env, line, b"")?;
        assert_eq!(said, "all three\r\n41 97\r\nx\r\nxterm-256color\r\n");
        assert_eq!(code, Some(3));
        Ok(())
    })
}

#[test]
fn without_a_terminal_on_both_sides_there_is_none_for_the_side_that_lacks_it() -> Result<()> {
    each_user(POLICY, |env| {
        let line = "remit run -- /bin/sh -c 'echo ready; test -t 0 || echo no input; test -t 1 && echo output' </dev/null";
        assert_eq!(on_terminal(env, line, b"")?, ("no input\r\noutput\r\n".to_owned(), Some(0)));
        Ok(())
    })
}

#[test]
fn keys_reach_the_program() -> Result<()> {
    each_user(POLICY, |env| {
        let line = "remit run -- /bin/sh -c 'stty -echo; echo ready; read x; echo \"got $x\"; exit 5'";
        assert_eq!(on_terminal(env, line, "é b\n".as_bytes())?, ("got é b\r\n".to_owned(), Some(5)));
        Ok(())
    })
}

#[test]
fn an_interrupt_reaches_the_program_and_not_the_holder() -> Result<()> {
    each_user(POLICY, |env| {
        // Of known size or not, the terminal inside is another one than the one outside.
        for size in ["stty rows 24 cols 80", "stty rows 0 cols 0"] {
            let line = format!("{size}; remit run -- /bin/sh -c 'echo ready; exec sleep 1000'");
            let (_, code) = on_terminal(env, &line, b"\x03")?;
            assert_eq!(code, Some(130), "{size}");
            let caught = "trap \"echo caught; exit 9\" INT; echo ready; while :; do sleep 1; done";
            let line = format!("{size}; remit run -- /bin/sh -c '{caught}'");
            let (said, code) = on_terminal(env, &line, b"\x03")?;
            assert!(said.contains("caught"), "{size}: {said:?}");
            assert_eq!(code, Some(9), "{size}");
        }
        Ok(())
    })
}
