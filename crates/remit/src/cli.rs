//! The command line: what can be typed, and the help that is shown.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

const AFTER: &str = "\
Start with:
  remit init            write a policy that fits this repository
  remit run claude      run an agent under it

Exit codes: 0 yes · 1 no (denied, check failed) · 2 usage · 3 configuration · 4 file or ledger
            5 sandbox unavailable · 6 not found · 7 conflict · 8 a person must be asked";

/// The control plane for teams of coding agents: each agent works within its remit.
#[derive(Debug, Parser)]
#[command(name = "remit", version, about, after_help = AFTER, disable_help_subcommand = true)]
pub struct Cli {
    /// Use this folder as if the command had been given there.
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true)]
    pub directory: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a remit.yaml that fits this repository.
    Init(InitArgs),
    /// Check the policy: errors, conflicts, dead rules, its own tests.
    Check(CheckArgs),
    /// Say what an agent may do, layer by layer, with the rule's file and line.
    Explain(ExplainArgs),
    /// Run an agent, or any command, within its remit.
    Run(RunArgs),
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
}

/// Arguments of `remit init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Show what would be written; write nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `remit check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// A policy file; without it, the one that governs this folder.
    pub file: Option<PathBuf>,
    /// One JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `remit explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The agent, as remit.yaml names it.
    pub agent: String,
    /// read, write, create, delete, rename, execute or connect.
    pub verb: String,
    /// A path, relative to this folder or absolute; for rename `FROM:TO`.
    pub object: OsString,
    /// One JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `remit run`.
#[derive(Debug, Args)]
#[command(after_help = "\
An agent with a `cli` runs that program; what follows `--` are its arguments.
An agent without one runs the command that follows `--`; `remit run -- CMD` is the agent `default`.
The answer is the program's exit code, 128+n for a signal, 125 if it never started.")]
pub struct RunArgs {
    /// The agent; or the name of an agent program, if only one agent uses it.
    pub agent: Option<String>,
    /// Let only the kernel hold the session; register no hook.
    #[arg(long)]
    pub no_hooks: bool,
    /// Arguments for the agent's program, or a command.
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Arguments of `remit log`.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Go on showing what comes.
    #[arg(short, long)]
    pub follow: bool,
    /// Only this agent.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Only this session.
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Only this tool call.
    #[arg(long, value_name = "ID")]
    pub call: Option<String>,
    /// Only this answer: allow, ask or deny.
    #[arg(long)]
    pub effect: Option<EffectName>,
    /// Only this verb.
    #[arg(long)]
    pub verb: Option<String>,
    /// Only this kind of record, such as access, call, session-start.
    #[arg(long)]
    pub event: Option<String>,
    /// Only this path and what lies below it.
    #[arg(long, value_name = "PATH")]
    pub path: Option<PathBuf>,
    /// Only rules whose id begins so.
    #[arg(long, value_name = "ID")]
    pub rule: Option<String>,
    /// Only from this moment on (RFC 3339, or a span back such as 30m, 2h, 3d).
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// At most the last N records; 0 for all.
    #[arg(short = 'n', long, default_value_t = 50, value_name = "N")]
    pub lines: usize,
    /// One JSON object a line.
    #[arg(long)]
    pub json: bool,
}

/// An answer, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EffectName {
    /// What was allowed.
    Allow,
    /// What a person was asked.
    Ask,
    /// What was refused.
    Deny,
}

/// Arguments of `remit verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// One JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `remit hooks`.
#[derive(Debug, Args)]
pub struct HooksArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: HooksAction,
}

/// What `remit hooks` does.
#[derive(Debug, Subcommand)]
pub enum HooksAction {
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
pub struct HooksTarget {
    /// The agent program: claude.
    pub host: String,
    /// The agent that its sessions are; needed where several could be.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// One JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `remit hook`.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// The agent program.
    pub host: String,
    /// The event, as that program names it.
    pub event: String,
    /// The workspace; never found by walking up from where the agent stands.
    #[arg(long)]
    pub root: Option<PathBuf>,
    /// The agent.
    #[arg(long)]
    pub agent: Option<String>,
}

/// Arguments of `remit doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// One JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `remit demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// End by itself; ask nothing.
    #[arg(long)]
    pub once: bool,
    /// Keep the scratch repository and say where it is.
    #[arg(long)]
    pub keep: bool,
}

/// Arguments of `remit completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: clap_complete::Shell,
}

/// Arguments of `remit enter-session`.
#[derive(Debug, Args)]
pub struct EnterArgs {
    /// The settings file whose hook must refuse a call that must be refused.
    #[arg(long)]
    pub settings: PathBuf,
    /// The agent program whose settings these are.
    #[arg(long)]
    pub host: String,
    /// The workspace.
    #[arg(long)]
    pub root: PathBuf,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}
