//! What each library's errors mean to a person: exit code, words, way out.

use crate::report::{Failure, Texts};
use remit_core::Exit;
use remit_sandbox::launch::LaunchError;
use remit_session::choose::ChooseError;
use remit_session::holder::RunError;
use remit_session::trust::TrustError;
use remit_session::workspace::OpenError;

/// The way out where state and work tree lie in one another.
pub(crate) const STATE_OUTSIDE: &str = "set `REMIT_STATE_DIR` to a folder of its own, outside of the work tree (or unset it, and `XDG_STATE_HOME`)";

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let message = error.to_string();
        match error {
            OpenError::Findings { file, text, findings } => {
                Failure::new(Exit::Config, message).findings(findings, Texts::from([(file, text)]))
            }
            OpenError::Find(error) => {
                let hint = error.hint();
                let failure = Failure::new(Exit::Config, error.to_string());
                match hint {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            }
            OpenError::NoHome => {
                Failure::new(Exit::Config, error.to_string()).hint("set HOME to your home folder")
            }
            OpenError::StateInside { .. } | OpenError::StateAround { .. } => {
                Failure::new(Exit::Config, error.to_string()).hint(STATE_OUTSIDE)
            }
            error => Failure::because(Exit::Io, "cannot open the workspace", &error),
        }
    }
}

/// An agent was named that the policy does not have.
pub(crate) fn no_agent<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let shown = remit_core::path::escape(name.as_bytes());
    Failure::new(Exit::NotFound, format!("the policy has no agent `{shown}`"))
        .hint(remit_config::hint(name, &known.collect::<Vec<_>>()))
}

impl From<ChooseError> for Failure {
    fn from(error: ChooseError) -> Self {
        match &error {
            ChooseError::NoCommand(name) => Failure::new(Exit::Usage, error.to_string())
                .hint(format!("`remit run {} -- CMD`", remit_session::words::word(name))),
            ChooseError::NoAgent(..) | ChooseError::NotFound(_) => {
                Failure::new(Exit::NotFound, error.to_string())
            }
            ChooseError::NoAdapter(..) | ChooseError::Name(..) => {
                Failure::new(Exit::Config, error.to_string())
            }
            ChooseError::Untrusted { changed, .. } => {
                let failure = Failure::new(Exit::Config, error.to_string());
                let failure = match changed {
                    true => failure.cause("the policy has changed since it was trusted"),
                    false => failure,
                };
                failure.hint("`remit trust` shows what the policy would start, and lets it")
            }
            ChooseError::Trust(error) => error.into(),
            ChooseError::Adapter(..) => Failure::because(Exit::Config, "cannot start the agent", &error),
            _ => Failure::new(Exit::Usage, error.to_string()).hint("remit run --help"),
        }
    }
}

impl From<&TrustError> for Failure {
    fn from(error: &TrustError) -> Self {
        Failure::because(Exit::Io, "what is trusted is not known", error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Open(error) => error.into(),
            RunError::Refused(refusals) => {
                let mut failure =
                    Failure::new(Exit::Sandbox, "this kernel cannot hold the policy, so nothing was started");
                for refusal in refusals {
                    failure = failure.cause(refusal);
                }
                failure
                    .hint("`sandbox: advisory` in remit.yaml starts without what cannot be held, and says so")
            }
            RunError::Launch(error @ LaunchError::Program { .. }) => {
                Failure::because(Exit::NeverStarted, "the session has ended before it began", &error)
            }
            RunError::Launch(error) => {
                Failure::because(Exit::Sandbox, "the session could not be started", &error)
                    .hint("`remit doctor` shows what this machine can hold")
            }
            error => Failure::because(Exit::Io, "the session could not be started", &error),
        }
    }
}
