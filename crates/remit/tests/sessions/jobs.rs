//! A session as a job of a shell: stopped, let go on, in the background, ended.

use crate::place::{POLICY, each_user, own, workspace};
use crate::shell::Shell;
use crate::watch::{all_gone, called, mark, marked, until};
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, getpgid, kill_process, kill_process_group};
use serde_json::json;
use std::os::unix::process::ExitStatusExt;
use test_support::{Claude, Model, Script, TestEnv};

/// Answers each line with the size of its terminal, and ends with a code of its own.
const ANSWERS: &str =
    "echo ready; while read x; do [ \"$x\" = end ] && exit 7; echo \"<$x $(stty size)>\"; done";
/// Takes over its terminal, and stops.
const STOPS_ITSELF: &str =
    "stty raw -echo; printf ready; kill -STOP $$; printf 'on '; stty sane; echo again; exit 3";
/// Takes over its terminal and stays.
const STAYS: &str = "stty raw -echo; sleep $1 & printf ready; wait";
/// Has a last word. A shell that starts a program at every moment, as by a loop of short sleeps, cannot be stopped
/// at every moment.
const ENDS_SOFTLY: &str = "trap 'echo softly; exit 6' TERM; sleep $1 & echo ready; wait";

/// A workspace with this as `job.sh`, and a mark for its processes.
fn with(env: &TestEnv, script: &str) -> Result<String> {
    env.write("project/job.sh", script)?;
    Ok(mark())
}

fn pid(number: &str) -> Result<Pid> {
    Pid::from_raw(number.parse()?).context("a pid")
}

/// The gate of the session with this mark: the parent of the program.
fn gate(mark: &str) -> Result<Pid> {
    gate_of(&called(mark, "sh")?)
}

fn gate_of(program: &str) -> Result<Pid> {
    pid(&of_status(program, "PPid:")?)
}

/// The holder of that session, once it takes signals for the program.
fn holder(mark: &str) -> Result<Pid> {
    holder_of(&gate(mark)?)
}

fn holder_of(gate: &Pid) -> Result<Pid> {
    let holder = of_status(&gate.as_raw_pid().to_string(), "PPid:")?;
    let stop = 1 << (Signal::TSTP.as_raw() - 1);
    let takes = || Ok(u64::from_str_radix(&of_status(&holder, "SigBlk:")?, 16)? & stop != 0);
    until("the holder takes signals", takes)?;
    pid(&holder)
}

fn of_status(process: &str, key: &str) -> Result<String> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    Ok(line.context("a line of the status")?.trim().to_owned())
}

#[test]
fn a_job_is_stopped_by_the_keyboard_and_goes_on_in_front_and_behind() -> Result<()> {
    each_user(POLICY, |env| {
        for shell in ["bash", "dash"] {
            let mark = with(env, ANSWERS)?;
            let mut person = Shell::start(env, shell)?;
            person.line(&format!("$R run -- sh job.sh {mark}"), "ready")?;
            person.keys("one\r")?;
            person.expect("<one 24 80>")?;
            assert!(!person.is_as_usual()?, "{shell}: keys are not the program's");
            person.keys("\x1a")?;
            person.sees_it_stopped()?;
            assert!(shell != "dash" || person.is_as_usual()?, "the terminal was not given back");
            person.line("jobs", "Stopped")?;
            // A shell that makes ready to read asks for the size and sets it again.
            person.expect("% ")?;
            person.resize(50, 120)?;
            person.keys("fg\r")?;
            person.expect("job.sh")?;
            person.keys("two\r")?;
            person.expect("<two 50 120>")?;
            // In the background it may not read.
            person.keys("\x1a")?;
            person.sees_it_stopped()?;
            person.keys("bg\r")?;
            person.expect("% ")?;
            until("it is stopped", || Ok(person.line("jobs", "% ")?.contains("Stopped")))?;
            person.keys("fg\r")?;
            person.expect("job.sh")?;
            person.keys("three\r")?;
            person.expect("<three 50 120>")?;
            person.keys("end\r")?;
            person.expect("% ")?;
            person.line("echo code=$?", "code=7")?;
            all_gone(&mark)?;
        }
        Ok(())
    })
}

#[test]
fn a_stopped_job_ends_when_it_is_killed() -> Result<()> {
    for script in [ANSWERS, ENDS_SOFTLY, STOPS_ITSELF, STAYS] {
        let env = own()?;
        let mark = with(&env, script)?;
        let mut person = Shell::start(&env, "bash")?;
        person.line(&format!("$R run -- sh job.sh {mark}"), "ready")?;
        if script == STAYS {
            // In raw mode no key is a signal.
            kill_process(holder(&mark)?, Signal::TSTP)?;
        } else if script != STOPS_ITSELF {
            person.keys("\x1a")?;
        }
        person.sees_it_stopped()?;
        person.line("kill %1", "% ")?;
        all_gone(&mark).context(script)?;
        if script == ENDS_SOFTLY {
            // The shell tells it when it has been told itself.
            until("its end is told", || Ok(person.line("jobs", "% ")?.contains("Exit 6")))?;
        }
    }
    Ok(())
}

#[test]
fn a_program_that_stops_itself_stops_the_job() -> Result<()> {
    let env = own()?;
    for shell in ["bash", "dash"] {
        for script in [STOPS_ITSELF.to_owned(), STOPS_ITSELF.replace("-STOP $$", "-TSTP 0")] {
            let mark = with(&env, &script)?;
            let mut person = Shell::start(&env, shell)?;
            person.line(&format!("$R run -- sh job.sh {mark}"), "ready")?;
            person.sees_it_stopped().context(script.clone())?;
            assert!(shell != "dash" || person.is_as_usual()?, "the terminal was not given back");
            person.keys("fg\r")?;
            person.expect("on again")?;
            person.expect("% ")?;
            person.line("echo code=$?", "code=3")?;
            assert!(shell != "dash" || person.is_as_usual()?, "the terminal was not given back");
            all_gone(&mark)?;
        }
    }
    Ok(())
}

#[test]
fn a_job_begun_in_the_background_runs_and_leaves_the_terminal_alone() -> Result<()> {
    each_user(POLICY, |env| {
        let mark = with(env, "sleep 0.3; stty size; echo ou''t; exec sleep $1")?;
        let mut person = Shell::start(env, "dash")?;
        person.line(&format!("$R run -- sh job.sh {mark} &"), "out")?;
        assert!(person.is_as_usual()?);
        person.line("jobs", "Running")?;
        person.line("echo \"it\" is mine", "it is mine")?;
        person.line("kill %1", "% ")?;
        all_gone(&mark)
    })
}

#[test]
fn a_job_in_the_background_stops_when_it_uses_the_terminal() -> Result<()> {
    let env = own()?;
    let mark = with(&env, ANSWERS)?;
    let mut person = Shell::start(&env, "bash")?;
    person.line(&format!("$R run -- sh job.sh {mark} &"), "ready")?;
    called(&mark, "sh")?;
    person.keys("\r")?;
    until("it is stopped", || Ok(person.line("jobs", "% ")?.contains("Stopped")))?;
    person.keys("fg\r")?;
    person.expect("job.sh")?;
    person.keys("one\r")?;
    person.expect("<one 24 80>")?;
    person.keys("end\r")?;
    person.expect("% ")?;
    person.line("echo code=$?", "code=7")?;
    // By its modes, too.
    let mark = with(&env, STOPS_ITSELF)?;
    person.line(&format!("$R run -- sh job.sh {mark} &"), "% ")?;
    until("it is stopped", || Ok(person.line("jobs", "% ")?.contains("Stopped")))?;
    person.keys("fg\r")?;
    person.expect("ready")?;
    person.sees_it_stopped()?;
    person.line("kill %1", "% ")?;
    all_gone(&mark)
}

#[test]
fn a_running_job_is_brought_to_the_front_when_it_reads() -> Result<()> {
    let env = own()?;
    let mark = with(&env, &format!("sleep 1; {ANSWERS}"))?;
    let mut person = Shell::start(&env, "bash")?;
    person.line(&format!("$R run -- sh job.sh {mark} &"), "% ")?;
    person.keys("fg\r")?;
    person.expect("ready")?;
    person.keys("one\r")?;
    person.expect("<one 24 80>")?;
    person.keys("\x1a")?;
    person.sees_it_stopped()?;
    person.line("kill %1", "% ")?;
    all_gone(&mark)
}

#[test]
fn keys_reach_a_job_that_has_not_used_the_terminal_since_it_was_behind() -> Result<()> {
    let env = own()?;
    let mark = with(&env, "sleep $1; exit 1")?;
    let mut person = Shell::start(&env, "bash")?;
    person.line(&format!("$R run -- sh job.sh {mark} &"), "% ")?;
    called(&mark, "sleep")?;
    let holder = holder(&mark)?;
    for (before, key) in [("fg", "\x1a"), ("bg", ""), ("fg", "\x03")] {
        person.line(before, "job.sh")?;
        until("its turn has come", || Ok((before == "bg") != person.is_used_by(holder)?))?;
        person.keys(key)?;
        person.expect("% ")?;
    }
    person.line("echo code=$?", "code=130")?;
    all_gone(&mark)
}

#[test]
fn an_interrupt_ends_a_shells_loop_as_it_does_with_the_program_alone() -> Result<()> {
    for shell in ["bash", "dash"] {
        // One with a terminal of its own, and one that shares the person's.
        for to in ["", " </dev/null"] {
            let env = own()?;
            let mark = with(&env, "echo ready; exec sleep $1")?;
            let mut person = Shell::start(&env, shell)?;
            person.line(&format!("while :; do $R run -- sh job.sh {mark}{to}; done"), "ready")?;
            holder_of(&gate_of(&called(&mark, "sleep")?)?)?;
            person.keys("\x03")?;
            person.expect("% ")?;
            person.line("echo $((6*7))", "42")?;
            all_gone(&mark)?;
        }
    }
    Ok(())
}

#[test]
fn closing_the_terminal_ends_the_job_whatever_it_does() -> Result<()> {
    let deaf = "trap '' HUP TERM; setsid sleep $1 & echo ready; wait";
    for (script, keys) in [
        (ANSWERS, ""),
        (ANSWERS, "\x1a"),
        (ENDS_SOFTLY, "\x1abg\r"),
        (STOPS_ITSELF, ""),
        (STAYS, ""),
        (deaf, ""),
        (deaf, "\x1a"),
    ] {
        let env = own()?;
        let mark = with(&env, script)?;
        let mut person = Shell::start(&env, "bash")?;
        person.line(&format!("$R run -- sh job.sh {mark}"), "ready")?;
        if let Some(rest) = keys.strip_prefix('\x1a') {
            person.keys("\x1a")?;
            person.sees_it_stopped()?;
            person.keys(rest)?;
        } else if script == STOPS_ITSELF {
            person.sees_it_stopped()?;
        }
        // A terminal without a shell sends no more than the kernel does.
        person.signal(Signal::KILL)?;
        person.close()?;
        all_gone(&mark).with_context(|| format!("{keys:?} {script}"))?;
    }
    Ok(())
}

#[test]
fn a_session_without_a_shell_goes_on_when_its_program_stops() -> Result<()> {
    let env = own()?;
    let remit = env.stage(env!("CARGO_BIN_EXE_remit").as_ref())?.display().to_string();
    for script in [STOPS_ITSELF.to_owned(), STOPS_ITSELF.replace("-STOP $$", "-TSTP 0")] {
        let person = Shell::run(&env, &[&remit, "run", "--", "sh", "-c", &script])?;
        let (code, said) = person.end()?;
        assert_eq!(code, Some(3), "{said:?}");
        assert!(said.contains("again"), "{said:?}");
    }
    Ok(())
}

#[test]
fn input_ends_for_a_program_in_the_background_of_nobody() -> Result<()> {
    let env = own()?;
    let mark = with(&env, "while read x; do echo $x; done; echo ended; exec sleep $1")?;
    // The shell that started it is gone, and another one is at the terminal.
    let line = format!("set -m; ($R run -- sh job.sh {mark} </dev/tty &); sleep {mark}");
    let mut person = Shell::run(&env, &["dash", "-c", &line])?;
    person.expect("ended")?;
    person.signal(Signal::KILL)?;
    person.close()?;
    until("the job is gone", || Ok(marked(&mark)?.len() < 2))
}

#[test]
fn a_stopped_program_without_a_shell_stays_so_and_ends_when_it_is_told() -> Result<()> {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let env = own()?;
        let mark = with(&env, "kill -STOP $$; exec sleep $1")?;
        let mut command = env.command("setsid")?;
        command
            .arg(env.stage(env!("CARGO_BIN_EXE_remit").as_ref())?)
            .args(["run", "--", "sh", "job.sh", &mark]);
        let mut child = command.spawn()?;
        let program = called(&mark, "sh")?;
        until("it is stopped", || Ok(of_status(&program, "State:")?.starts_with('T')))?;
        // Once the holder has been told, it could only have let it go on.
        holder(&mark)?;
        kill_process(pid(&child.id().to_string())?, signal)?;
        assert_eq!(child.wait()?.signal(), Some(signal.as_raw()));
        all_gone(&mark)?;
    }
    Ok(())
}

#[test]
fn a_job_without_a_terminal_of_its_own_stops_and_goes_on_too() -> Result<()> {
    let env = own()?;
    let stops = "echo ready; kill -STOP $$; echo on; exit 5";
    let waits = "trap 'exit 5' INT; trap 'echo on' CONT; sleep $1 & echo ready; while :; do wait; done";
    // At the person's terminal, and at none.
    for files in ["2>&1 | (trap '' INT; tee said >&2)", "</dev/null >said 2>said"] {
        for script in [stops, waits] {
            let mark = with(&env, script)?;
            let said = env.write("project/said", "")?;
            let heard = |word: &str| until(word, || Ok(std::fs::read_to_string(&said)?.contains(word)));
            let mut person = Shell::start(&env, "bash")?;
            person.line("set -o pipefail", "% ")?;
            person.keys(&format!("$R run -- sh job.sh {mark} {files}\r"))?;
            person.expect(files)?;
            if script == waits {
                heard("ready")?;
                holder(&mark)?;
                person.keys("\x1a")?;
            }
            person.sees_it_stopped().with_context(|| format!("{files} {script}"))?;
            person.line("jobs", "Stopped")?;
            person.keys("fg\r")?;
            heard("on")?;
            if script == waits {
                person.keys("\x03")?;
            }
            person.expect("% ")?;
            person.line("echo code=$?", "code=5").with_context(|| format!("{files} {script}"))?;
            all_gone(&mark)?;
        }
    }
    Ok(())
}

#[test]
fn a_stop_sent_to_the_holder_is_the_programs_and_so_is_the_end_of_it() -> Result<()> {
    let env = own()?;
    for files in ["", "</dev/null | cat"] {
        let mark = with(&env, "trap 'echo on; exit 8' CONT; sleep $1 & echo ready; wait")?;
        let mut person = Shell::start(&env, "bash")?;
        person.keys(&format!("$R run -- sh job.sh {mark} {files}\r"))?;
        person.expect("ready")?;
        let holder = holder(&mark)?;
        kill_process(holder, Signal::TSTP)?;
        person.sees_it_stopped()?;
        // What stands behind it in a pipe was stopped with it.
        kill_process_group(getpgid(Some(holder))?, Signal::CONT)?;
        person.expect("on\r")?;
        all_gone(&mark)?;
    }
    Ok(())
}

#[test]
fn a_killed_gate_leaves_the_terminal_as_it_was() -> Result<()> {
    let env = own()?;
    for stopped in [false, true] {
        let mark = with(&env, if stopped { STOPS_ITSELF } else { STAYS })?;
        let mut person = Shell::start(&env, "dash")?;
        person.line(&format!("$R run -- sh job.sh {mark}"), "ready")?;
        if stopped {
            person.sees_it_stopped()?;
        }
        kill_process(gate(&mark)?, Signal::KILL)?;
        if stopped {
            person.line("fg", "lost its gate").ok();
        }
        person.expect("% ")?;
        assert!(person.is_as_usual()?);
        all_gone(&mark)?;
    }
    Ok(())
}

#[test]
fn a_hangup_that_the_caller_ignores_is_no_end() -> Result<()> {
    let env = own()?;
    let mut command = env.command("sh")?;
    let script = "trap '' HUP; exec \"$0\" run -- sh -c 'echo ready; read x; exit 4'";
    command.args(["-c", script]).arg(env.stage(env!("CARGO_BIN_EXE_remit").as_ref())?);
    let mut child =
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn()?;
    let mut line = String::new();
    let mut said = std::io::BufReader::new(child.stdout.take().context("a pipe")?);
    std::io::BufRead::read_line(&mut said, &mut line)?;
    assert_eq!(line, "ready\n");
    kill_process(pid(&child.id().to_string())?, Signal::HUP)?;
    std::io::Write::write_all(&mut child.stdin.take().context("a pipe")?, b"x\n")?;
    assert_eq!(child.wait()?.code(), Some(4));
    Ok(())
}

#[test]
fn the_real_claude_code_is_suspended_and_brought_back() -> Result<()> {
    let policy = POLICY.replace("  default:\n", "  claude:\n    cli: claude\n");
    let env = workspace(TestEnv::new()?, &policy)?;
    let model = Model::start(Script::new())?;
    Claude::install(&env)?;
    let root = env.project().display().to_string();
    let answered = json!({
        "hasCompletedOnboarding": true, "theme": "dark",
        "customApiKeyResponses": {"approved": ["dummy-not-a-key"], "rejected": []},
        "projects": {root: {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
    });
    env.write("home/.claude/.claude.json", answered.to_string())?;
    let vars = Claude::vars(&env, &model).into_iter().chain([("TERM", "xterm-256color".into())]);
    let vars: String = vars.map(|(name, value)| format!("export {name}='{}'\n", value.display())).collect();
    env.write("vars", vars)?;
    let mut person = Shell::start(&env, "bash")?;
    person.line(". ../vars", "% ")?;
    person.line("$R run claude", "\u{276f}")?;
    person.keys("one")?;
    person.expect("one")?;
    person.keys("\x1a")?;
    person.sees_it_stopped()?;
    person.line("jobs", "Stopped")?;
    person.keys("fg\r")?;
    person.expect("one")?;
    person.keys("two")?;
    person.expect("two")?;
    person.keys("\x1a")?;
    person.sees_it_stopped()?;
    person.line("kill %1", "% ")?;
    until("it has ended", || Ok(person.line("jobs", "% ")?.contains("Exit 143")))
}
