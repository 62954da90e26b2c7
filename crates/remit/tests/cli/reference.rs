//! The help of every command, whole: what can be typed is an interface.

use crate::place::{empty, remit, trimmed};
use anyhow::Result;

fn help(command: &[&str]) -> Result<String> {
    let env = empty()?;
    let outcome = remit(&env, &[command, &["--help"]].concat())?.ended(0)?;
    assert_eq!(outcome.stderr, "");
    Ok(trimmed(&outcome.stdout))
}

#[test]
fn the_program() -> Result<()> {
    insta::assert_snapshot!(help(&[])?, @"
    The control plane for teams of coding agents: each agent works within its remit

    Usage: remit [OPTIONS] <COMMAND>

    Commands:
      init         Write a remit.yaml that fits this repository
      check        Check the policy: errors, conflicts, dead rules, its own tests
      explain      Say what an agent may do, layer by layer, with the rule's file and line
      run          Run an agent, or any command, within its remit
      trust        Let this policy start the commands that it names
      log          Show what was done and refused
      verify       Check that the ledger is whole and untouched
      hooks        Install, remove, show or test the hooks of an agent's program
      doctor       Show what this machine can hold, and what is missing
      demo         Tell the story of two agents in a scratch repository
      completions  Print completions for a shell
      man          Print the manual page
      help         Print this message or the help of the given subcommand(s)

    Options:
      -C, --directory <DIR>  Use this folder as if the command had been given there
      -h, --help             Print help
      -V, --version          Print version

    Start with:
      remit init            write a policy that fits this repository
      remit run claude      run an agent under it

    Exit codes: 0 yes · 1 no (denied, check failed) · 2 usage · 3 configuration
                4 file or ledger · 5 sandbox unavailable · 6 not found
                7 conflict · 8 a person must be asked
    ");
    Ok(())
}

#[test]
fn help_can_be_asked_for_by_its_name_too() -> Result<()> {
    let env = empty()?;
    for command in [&["run"][..], &["hooks", "install"], &[]] {
        let outcome = remit(&env, &[&["help"], command].concat())?.ended(0)?;
        assert_eq!(trimmed(&outcome.stdout), help(command)?);
    }
    Ok(())
}

#[test]
fn init() -> Result<()> {
    insta::assert_snapshot!(help(&["init"])?, @"
    Write a remit.yaml that fits this repository

    Usage: remit init [OPTIONS]

    Options:
      -C, --directory <DIR>  Use this folder as if the command had been given there
          --dry-run          Show what would be written; write nothing
          --here             Write it in this folder, though a policy above governs it or it lies below
                             the top of a git checkout
      -h, --help             Print help
    ");
    Ok(())
}

#[test]
fn check() -> Result<()> {
    insta::assert_snapshot!(help(&["check"])?, @"
    Check the policy: errors, conflicts, dead rules, its own tests

    Usage: remit check [OPTIONS] [FILE]

    Arguments:
      [FILE]  A policy file; without it, the one that governs this folder

    Options:
      -C, --directory <DIR>  Use this folder as if the command had been given there
          --json             One JSON object on standard output
          --schema           Print the JSON Schema of the language, and check nothing
          --fix              Mend what leaves no choice, show what changed, and leave the rest of the
                             file byte for byte
          --dry-run          With --fix: only show what would change
      -h, --help             Print help
    ");
    Ok(())
}

#[test]
fn trust() -> Result<()> {
    insta::assert_snapshot!(help(&["trust"])?, @"
    Let this policy start the commands that it names

    Usage: remit trust [OPTIONS]

    Options:
      -C, --directory <DIR>  Use this folder as if the command had been given there
          --show             Show the commands, and whether they are trusted; exit 1 if they are not
          --revoke           Trust this folder's policy no longer
      -y, --yes              Do not ask
      -h, --help             Print help

    A policy may name programs: the `cli` of an agent, and `audit.alert.command`.
    None of them is started before this command has pinned the policy as it stands,
    for this folder. A policy that has changed must be trusted again.
    Programs that Remit has an adapter for, and `remit run -- CMD`, need no trust.
    ");
    Ok(())
}

#[test]
fn explain() -> Result<()> {
    insta::assert_snapshot!(help(&["explain"])?, @r#"
    Say what an agent may do, layer by layer, with the rule's file and line

    Usage: remit explain [OPTIONS] [AGENT] [VERB] [OBJECT]...

    Arguments:
      [AGENT]      The agent, as remit.yaml names it
      [VERB]       read, write, create, delete, rename, execute, connect or call
      [OBJECT]...  Paths, relative to this folder, absolute or below `~/`; for rename `FROM:TO`, for
                   call tools; `-`: those on standard input

    Options:
      -C, --directory <DIR>  Use this folder as if the command had been given there
          --requires         Show what the agent needs, and which rules grant it
          --provides         Show what all agents offer one another, and what of it the agent may use
          --json             One JSON object on standard output, one a line for several objects
      -h, --help             Print help

    AGENT alone shows its whole remit; in a session, so does nothing at all.
    Several objects are answered by one line each. Of what is read with `-`, each
    line is a path, or JSON: "a path" or {"path": "a path", "verb": "read"}.

    Exit codes: 0 allow · 1 deny · 8 ask; of several answers the strictest.
    "#);
    Ok(())
}

#[test]
fn run() -> Result<()> {
    insta::assert_snapshot!(help(&["run"])?, @"
    Run an agent, or any command, within its remit

    Usage: remit run [OPTIONS] [AGENT] [-- <CMD>...]

    Arguments:
      [AGENT]   The agent; or the name of an agent program, if only one agent uses it
      [CMD]...  Arguments for the agent's program, or a command

    Options:
      -C, --directory <DIR>  Use this folder as if the command had been given there
          --no-hooks         Let only the kernel hold the session; register no hook
      -h, --help             Print help

    An agent with a `cli` runs that program; what follows `--` are its arguments.
    An agent without one runs the command that follows `--`.
    `remit run -- CMD` is the agent `default`.
    Where a person would have to be asked (`default_policy: ask`) it is refused:
    nobody can be asked yet.

    Exit codes: the program's own; if a signal ended it, the same signal ends
                `remit run`, which shells show as 128+n; 125 if it never started,
                whatever the reason; 4 if it has ended but its last records cannot
                be written, or its terminal cannot be relayed; 5 if how it ended
                is not known.
    ");
    Ok(())
}

#[test]
fn log() -> Result<()> {
    insta::assert_snapshot!(help(&["log"])?, @"
    Show what was done and refused

    Usage: remit log [OPTIONS]

    Options:
      -C, --directory <DIR>
              Use this folder as if the command had been given there

      -f, --follow
              Go on showing what comes

          --agent <NAME>
              Only this agent

          --session <ID>
              Only sessions whose id begins so

          --call <ID>
              Only this tool call

          --effect <EFFECT>
              Only this answer: allow, ask or deny (which finds what had to be asked, too: it is
              refused)

              Possible values:
              - allow: What was allowed
              - ask:   What a person was asked
              - deny:  What was refused, also where a person would have to be asked

          --verb <VERB>
              Only this verb

          --event <EVENT>
              Only this kind of record, such as access, call, session-start

          --path <PATH>
              Only this path and what lies below it

          --rule <ID>
              Only rules whose id begins so

          --since <TIME>
              Only from this moment on, in UTC (2026-11-30, [TIME], or a span back such as
              30m, 2h, 3d)

      -n, --lines <N>
              At most the last N records; 0 for all

              [default: 50]

          --json
              One JSON object a line

      -h, --help
              Print help (see a summary with '-h')
    ");
    Ok(())
}

#[test]
fn verify() -> Result<()> {
    insta::assert_snapshot!(help(&["verify"])?, @"
    Check that the ledger is whole and untouched

    Usage: remit verify [OPTIONS]

    Options:
      -C, --directory <DIR>  Use this folder as if the command had been given there
          --json             One JSON object on standard output
      -h, --help             Print help
    ");
    Ok(())
}

#[test]
fn hooks() -> Result<()> {
    insta::assert_snapshot!(help(&["hooks"])?, @"
    Install, remove, show or test the hooks of an agent's program

    Usage: remit hooks [OPTIONS] <COMMAND>

    Commands:
      install    Register Remit's hooks in the workspace's settings of that program
      uninstall  Restore the settings as they were
      status     Say whether the hooks are registered, and for which agent
      test       Send the registered hook a call that must be refused
      help       Print this message or the help of the given subcommand(s)

    Options:
      -C, --directory <DIR>  Use this folder as if the command had been given there
      -h, --help             Print help
    ");
    Ok(())
}

#[test]
fn doctor() -> Result<()> {
    insta::assert_snapshot!(help(&["doctor"])?, @"
    Show what this machine can hold, and what is missing

    Usage: remit doctor [OPTIONS]

    Options:
      -C, --directory <DIR>  Use this folder as if the command had been given there
          --json             One JSON object on standard output
      -h, --help             Print help
    ");
    Ok(())
}

#[test]
fn demo() -> Result<()> {
    insta::assert_snapshot!(help(&["demo"])?, @"
    Tell the story of two agents in a scratch repository

    Usage: remit demo [OPTIONS]

    Options:
      -C, --directory <DIR>  Use this folder as if the command had been given there
          --once             End by itself, without waiting for somebody to look around
          --keep             Keep the scratch repository and say where it is; wait for nobody
      -h, --help             Print help

    In a terminal it waits at the end, so that one can look around in the scratch
    repository; Enter removes it. With --once, or without a terminal, it is removed
    at once; with --keep it stays.
    ");
    Ok(())
}

#[test]
fn completions() -> Result<()> {
    insta::assert_snapshot!(help(&["completions"])?, @"
    Print completions for a shell

    Usage: remit completions [OPTIONS] <SHELL>

    Arguments:
      <SHELL>  The shell [possible values: bash, elvish, fish, powershell, zsh]

    Options:
      -C, --directory <DIR>  Use this folder as if the command had been given there
      -h, --help             Print help
    ");
    Ok(())
}

#[test]
fn man() -> Result<()> {
    insta::assert_snapshot!(help(&["man"])?, @"
    Print the manual page

    Usage: remit man [OPTIONS]

    Options:
      -C, --directory <DIR>  Use this folder as if the command had been given there
      -h, --help             Print help
    ");
    Ok(())
}

#[test]
fn hooks_install_uninstall_status_and_test() -> Result<()> {
    insta::assert_snapshot!(help(&["hooks", "install"])?, @"
    Register Remit's hooks in the workspace's settings of that program

    Usage: remit hooks install [OPTIONS] <HOST>

    Arguments:
      <HOST>  The agent program: claude

    Options:
          --agent <NAME>     The agent that its sessions are; needed where several could be
      -C, --directory <DIR>  Use this folder as if the command had been given there
          --json             One JSON object on standard output
      -h, --help             Print help
    ");
    for action in ["uninstall", "status", "test"] {
        assert!(help(&["hooks", action])?.contains(&format!("Usage: remit hooks {action} [OPTIONS] <HOST>")));
    }
    Ok(())
}

#[test]
fn what_agents_programs_call_is_not_listed_and_has_help() -> Result<()> {
    insta::assert_snapshot!(help(&["hook"])?, @"
    Answer a hook; agents' programs call this

    Usage: remit hook [OPTIONS] <HOST> <EVENT>

    Arguments:
      <HOST>   The agent program
      <EVENT>  The event, as that program names it

    Options:
      -C, --directory <DIR>  Use this folder as if the command had been given there
          --root <ROOT>      The workspace; never found by walking up from where the agent stands
          --agent <AGENT>    The agent
      -h, --help             Print help
    ");
    insta::assert_snapshot!(help(&["enter-session"])?, @"
    Inside a session: test the hooks, then become the agent's program

    Usage: remit enter-session [OPTIONS] --settings <SETTINGS> --host <HOST> --root <ROOT> -- <COMMAND>...

    Arguments:
      <COMMAND>...  The program and its arguments

    Options:
      -C, --directory <DIR>      Use this folder as if the command had been given there
          --settings <SETTINGS>  The settings file whose hook must refuse a call that must be refused
          --host <HOST>          The agent program whose settings these are
          --root <ROOT>          The workspace
      -h, --help                 Print help
    ");
    Ok(())
}
