//! Which agent a command line means, and which program it runs.

use crate::adapter::Adapter;
use crate::base::find_program;
use crate::trust::{self, Standing, TrustError};
use crate::workspace::Workspace;
use remit_core::{AgentName, name::NameError};
use remit_policy::source::{AgentSource, Cli};
use std::ffi::OsString;
use std::path::PathBuf;

/// The agent that `remit run -- CMD` means.
pub const DEFAULT: &str = "default";

/// An agent and the program that it runs.
#[derive(Debug)]
pub struct Chosen {
    /// The agent.
    pub agent: AgentName,
    /// What Remit knows of its program.
    pub adapter: Option<Adapter>,
    /// The program, as it was found.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// Why nothing can be run.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// No agent of this name, and none that runs a program of this name.
    #[error("the policy has no agent `{0}`, and none whose cli is `{0}` (it has: {1})")]
    NoAgent(String, String),
    /// Several agents run that program.
    #[error("several agents run `{0}`: {1}")]
    Several(String, String),
    /// No agent was named, and no command was given.
    #[error("nothing to run: name an agent ({0}) or give a command after `--`")]
    Nothing(String),
    /// The agent has no program and no command was given.
    #[error("the agent `{0}` has no `cli`: give a command after `--`")]
    NoCommand(String),
    /// The program is not installed.
    #[error("`{0}` was not found in PATH")]
    NotFound(String),
    /// An adapter that Remit does not have.
    #[error("the agent `{0}` has the cli `{1}`, which is neither an adapter ({2}) nor a program in PATH")]
    NoAdapter(String, String, String),
    /// An adapter of Remit's own that is broken.
    #[error("the adapter `{0}` cannot be read")]
    Adapter(String, #[source] toml::de::Error),
    /// A command of the policy's that nobody has looked at.
    #[error("the policy names a command for `{agent}` that is not trusted here: {}", commands.join("; "))]
    Untrusted {
        /// The agent.
        agent: String,
        /// The agent's command; of a policy that has changed, all that are new in it.
        commands: Vec<String>,
        /// Whether another text of this policy was trusted.
        changed: bool,
    },
    /// Whether it is trusted is not known.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A name that is none.
    #[error("`{0}` is not the name of an agent")]
    Name(String, #[source] NameError),
}

/// Which agent and program `remit run [AGENT] [-- CMD…]` means.
pub fn choose(
    workspace: &Workspace,
    agent: Option<&str>,
    command: &[OsString],
) -> Result<Chosen, ChooseError> {
    let agents = &workspace.source.agents;
    let all = || agents.keys().cloned().collect::<Vec<_>>().join(", ");
    let name = match agent {
        Some(name) if agents.contains_key(name) => name.to_owned(),
        Some(name) => only_user_of(agents, name, &all)?,
        None if !command.is_empty() => DEFAULT.to_owned(),
        None => return Err(ChooseError::Nothing(all())),
    };
    let source = agents.get(&name).ok_or_else(|| ChooseError::NoAgent(name.clone(), all()))?;
    let agent = AgentName::new(&name).map_err(|e| ChooseError::Name(name.clone(), e))?;
    let find = |program: &str| {
        let path = PathBuf::from(program);
        match program.contains('/') {
            // Without the dots that a person types in front; `..` is the kernel's to follow.
            true => Some(workspace.environment().cwd.join(path).components().collect()),
            false => find_program(program, workspace.environment()),
        }
    };
    match &source.cli {
        Some(Cli::Adapter(cli)) => match Adapter::named(&cli.value) {
            Some(adapter) => {
                let adapter = adapter.map_err(|e| ChooseError::Adapter(cli.value.clone(), e))?;
                let program = adapter.programs.iter().find_map(|p| find(p));
                let program = program.ok_or_else(|| ChooseError::NotFound(adapter.programs.join("`, `")))?;
                Ok(Chosen { agent, adapter: Some(adapter), program, args: command.to_vec() })
            }
            None => {
                trusted(workspace, &name)?;
                let known = Adapter::names().collect::<Vec<_>>().join(", ");
                let program = find(&cli.value)
                    .ok_or_else(|| ChooseError::NoAdapter(name.clone(), cli.value.clone(), known))?;
                Ok(Chosen { agent, adapter: None, program, args: command.to_vec() })
            }
        },
        Some(Cli::Command(words)) => {
            let mut words = words.iter().map(|w| w.value.as_str());
            let first = words.next().ok_or_else(|| ChooseError::NoCommand(name.clone()))?;
            trusted(workspace, &name)?;
            let program = find(first).ok_or_else(|| ChooseError::NotFound(first.to_owned()))?;
            let args = words.map(OsString::from).chain(command.iter().cloned()).collect();
            Ok(Chosen { agent, adapter: None, program, args })
        }
        None => {
            let (first, args) = command.split_first().ok_or_else(|| ChooseError::NoCommand(name.clone()))?;
            let first = first.to_string_lossy();
            let program = find(&first).ok_or_else(|| ChooseError::NotFound(first.clone().into_owned()))?;
            Ok(Chosen { agent, adapter: None, program, args: args.to_vec() })
        }
    }
}

/// Fails if an agent's command may not be started, since it is the policy's alone.
fn trusted(workspace: &Workspace, agent: &str) -> Result<(), ChooseError> {
    let own = format!("agents.{agent}.cli: ");
    let (commands, changed) = match trust::standing(workspace, workspace.environment())? {
        Standing::Pinned | Standing::NoCommands => return Ok(()),
        Standing::Changed(new) if !new.is_empty() => (new, true),
        standing => {
            let all = trust::commands(&workspace.source).into_iter();
            (all.filter(|one| one.starts_with(&own)).collect(), standing != Standing::Never)
        }
    };
    Err(ChooseError::Untrusted { agent: agent.to_owned(), commands, changed })
}

fn only_user_of(
    agents: &std::collections::BTreeMap<String, AgentSource>,
    cli: &str,
    all: &dyn Fn() -> String,
) -> Result<String, ChooseError> {
    let runs = |a: &AgentSource| matches!(&a.cli, Some(Cli::Adapter(name)) if name.value == cli);
    let users: Vec<&String> = agents.iter().filter(|(_, a)| runs(a)).map(|(name, _)| name).collect();
    match users.as_slice() {
        [only] => Ok((*only).clone()),
        [] => Err(ChooseError::NoAgent(cli.to_owned(), all())),
        _ => {
            let names = users.iter().map(|n| n.as_str()).collect::<Vec<_>>().join(", ");
            Err(ChooseError::Several(cli.to_owned(), names))
        }
    }
}
