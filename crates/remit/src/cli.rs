//! The command line: what can be typed, and the help that is shown.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

const AFTER: &str = "\
Start with:
  remit init            write a policy that fits this repository
  remit run claude      run an agent under it

Exit codes: 0 yes · 1 no (denied, check failed) · 2 usage · 3 configuration
            4 file or ledger · 5 sandbox unavailable · 6 not found
            7 conflict · 8 a person must be asked";

/// The control plane for teams of coding agents: each agent works within its remit.
#[derive(Debug, Parser)]
#[command(name = "remit", version, about, after_help = AFTER)]
pub(crate) struct Cli {
    /// Use this folder as if the command had been given there.
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The error with the command that was probably meant. Clap counts letters that stand in the same place, and so does not
/// know two that are swapped.
pub(crate) fn meant(mut wrong: clap::Error) -> clap::Error {
    let told = wrong.get(ContextKind::SuggestedSubcommand).is_some();
    if let (ErrorKind::InvalidSubcommand, false, Some(ContextValue::String(word))) =
        (wrong.kind(), told, wrong.get(ContextKind::InvalidSubcommand))
    {
        let cli = Cli::command();
        let names = cli.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name);
        if let Some(near) = remit_config::nearest(word, names) {
            let near = ContextValue::Strings(vec![near.to_owned()]);
            wrong.insert(ContextKind::SuggestedSubcommand, near);
        }
    }
    wrong
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a remit.yaml that fits this repository.
    Init(InitArgs),
    /// Check the policy: errors, conflicts, dead rules, its own tests.
    Check(CheckArgs),
    /// Say what an agent may do, layer by layer, with the rule's file and line.
    Explain(ExplainArgs),
    /// Run an agent, or any command, within its remit.
    Run(RunArgs),
    /// Let this policy start the commands that it names.
    Trust(TrustArgs),
    /// Show what was done and refused.
    Log(LogArgs),
    /// Check that the ledger is whole and untouched.
    Verify(VerifyArgs),
    /// Install, remove, show or test the hooks of an agent's program.
    Hooks(HooksArgs),
    /// Answer a hook; agents' programs call this.
    #[command(hide = true)]
    Hook(HookArgs),
    /// Show what this machine can hold, and what is missing.
    Doctor(DoctorArgs),
    /// Tell the story of two agents in a scratch repository.
    Demo(DemoArgs),
    /// Print completions for a shell.
    Completions(CompletionsArgs),
    /// Print the manual page.
    Man,
    /// Inside a session: test the hooks, then become the agent's program.
    #[command(hide = true, name = "enter-session")]
    Enter(EnterArgs),
    /// Start the program of `audit.alert`; what it is, is read from standard input.
    #[command(hide = true, name = remit_session::audit::program::COMMAND)]
    SendAlert,
}

/// Arguments of `remit init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Show what would be written; write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write it in this folder, though a policy above governs it or it lies below the top of a git checkout.
    #[arg(long)]
    pub(crate) here: bool,
}

/// Arguments of `remit check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// A policy file; without it, the one that governs this folder.
    pub(crate) file: Option<PathBuf>,
    /// One JSON object on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the JSON Schema of the language, and check nothing.
    #[arg(long, conflicts_with_all = ["file", "json", "fix"])]
    pub(crate) schema: bool,
    /// Mend what leaves no choice, show what changed, and leave the rest of the file byte for byte.
    #[arg(long, conflicts_with = "json")]
    pub(crate) fix: bool,
    /// With --fix: only show what would change.
    #[arg(long, requires = "fix")]
    pub(crate) dry_run: bool,
}

/// Arguments of `remit trust`.
#[derive(Debug, Args)]
#[command(after_help = "\
A policy may name programs: the `cli` of an agent, and `audit.alert.command`.
None of them is started before this command has pinned the policy as it stands,
for this folder. A policy that has changed must be trusted again.
Programs that Remit has an adapter for, and `remit run -- CMD`, need no trust.")]
pub(crate) struct TrustArgs {
    /// Show the commands, and whether they are trusted; exit 1 if they are not.
    #[arg(long, conflicts_with_all = ["revoke", "yes"])]
    pub(crate) show: bool,
    /// Trust this folder's policy no longer.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) revoke: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Arguments of `remit explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
AGENT alone shows its whole remit; in a session, so does nothing at all.
Several objects are answered by one line each. Of what is read with `-`, each
line is a path, or JSON: \"a path\" or {\"path\": \"a path\", \"verb\": \"read\"}.

Exit codes: 0 allow · 1 deny · 8 ask; of several answers the strictest.")]
pub(crate) struct ExplainArgs {
    /// The agent, as remit.yaml names it.
    pub(crate) agent: Option<String>,
    /// read, write, create, delete, rename, execute, connect or call.
    pub(crate) verb: Option<String>,
    /// Paths, relative to this folder, absolute or below `~/`; for rename `FROM:TO`, for call tools; `-`: those on standard input.
    #[arg(value_name = "OBJECT")]
    pub(crate) objects: Vec<OsString>,
    /// Show what the agent needs, and which rules grant it.
    #[arg(long, conflicts_with_all = ["provides", "verb", "objects"])]
    pub(crate) requires: bool,
    /// Show what all agents offer one another, and what of it the agent may use.
    #[arg(long, conflicts_with_all = ["verb", "objects"])]
    pub(crate) provides: bool,
    /// One JSON object on standard output, one a line for several objects.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `remit run`.
#[derive(Debug, Args)]
#[command(after_help = "\
An agent with a `cli` runs that program; what follows `--` are its arguments.
An agent without one runs the command that follows `--`.
`remit run -- CMD` is the agent `default`.
Where a person would have to be asked (`default_policy: ask`) it is refused:
nobody can be asked yet.

Exit codes: the program's own; if a signal ended it, the same signal ends
            `remit run`, which shells show as 128+n; 125 if it never started,
            whatever the reason; 4 if it has ended but its last records cannot
            be written, or its terminal cannot be relayed; 5 if how it ended
            is not known.")]
pub(crate) struct RunArgs {
    /// The agent; or the name of an agent program, if only one agent uses it.
    pub(crate) agent: Option<String>,
    /// Words that belong behind `--`: taken, so that it can be said where.
    #[arg(hide = true, allow_hyphen_values = true)]
    pub(crate) more: Vec<OsString>,
    /// Let only the kernel hold the session; register no hook.
    #[arg(long)]
    pub(crate) no_hooks: bool,
    /// Arguments for the agent's program, or a command.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// Arguments of `remit log`.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Go on showing what comes.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only this agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only sessions whose id begins so.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Only this tool call.
    #[arg(long, value_name = "ID")]
    pub(crate) call: Option<String>,
    /// Only this answer: allow, ask or deny (which finds what had to be asked, too: it is refused).
    #[arg(long)]
    pub(crate) effect: Option<EffectName>,
    /// Only this verb.
    #[arg(long)]
    pub(crate) verb: Option<String>,
    /// Only this kind of record, such as access, call, session-start.
    #[arg(long)]
    pub(crate) event: Option<String>,
    /// Only this path and what lies below it.
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Only rules whose id begins so.
    #[arg(long, value_name = "ID")]
    pub(crate) rule: Option<String>,
    /// Only from this moment on, in UTC (2026-11-30, 2026-11-30T12:00:00Z, or a span back such as 30m, 2h, 3d).
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// At most the last N records; 0 for all.
    #[arg(short = 'n', long, default_value_t = 50, value_name = "N")]
    pub(crate) lines: usize,
    /// One JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// An answer, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffectName {
    /// What was allowed.
    Allow,
    /// What a person was asked.
    Ask,
    /// What was refused, also where a person would have to be asked.
    Deny,
}

/// Arguments of `remit verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// One JSON object on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `remit hooks`.
#[derive(Debug, Args)]
pub(crate) struct HooksArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) action: HooksAction,
}

/// What `remit hooks` does.
#[derive(Debug, Subcommand)]
pub(crate) enum HooksAction {
    /// Register Remit's hooks in the workspace's settings of that program.
    Install(HooksTarget),
    /// Restore the settings as they were.
    Uninstall(HooksTarget),
    /// Say whether the hooks are registered, and for which agent.
    Status(HooksTarget),
    /// Send the registered hook a call that must be refused.
    Test(HooksTarget),
}

/// Which hooks.
#[derive(Debug, Args)]
pub(crate) struct HooksTarget {
    /// The agent program: claude.
    pub(crate) host: String,
    /// The agent that its sessions are; needed where several could be.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// One JSON object on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `remit hook`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HookArgs {
    /// The agent program.
    pub(crate) host: String,
    /// The event, as that program names it.
    pub(crate) event: String,
    /// The workspace; never found by walking up from where the agent stands.
    #[arg(long)]
    pub(crate) root: Option<PathBuf>,
    /// The agent.
    #[arg(long)]
    pub(crate) agent: Option<String>,
}

/// Arguments of `remit doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// One JSON object on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `remit demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
In a terminal it waits at the end, so that one can look around in the scratch
repository; Enter removes it. With --once, or without a terminal, it is removed
at once; with --keep it stays.")]
pub(crate) struct DemoArgs {
    /// End by itself, without waiting for somebody to look around.
    #[arg(long)]
    pub(crate) once: bool,
    /// Keep the scratch repository and say where it is; wait for nobody.
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Arguments of `remit completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

/// Arguments of `remit enter-session`.
#[derive(Debug, Args)]
pub(crate) struct EnterArgs {
    /// The settings file whose hook must refuse a call that must be refused.
    #[arg(long)]
    pub(crate) settings: PathBuf,
    /// The agent program whose settings these are.
    #[arg(long)]
    pub(crate) host: String,
    /// The workspace.
    #[arg(long)]
    pub(crate) root: PathBuf,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}
