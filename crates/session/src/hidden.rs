//! What of the machine a session does not see, since it has a folder of its own in that place.

use remit_core::AbsPath;
use remit_policy::Policy;
use remit_policy::source::Sandbox;
use remit_sandbox::plan::{Extra, HostDisk, Request, Source, plan};

/// The private folder of a session of `agent` behind which the machine's `path` lies: its home, its `/tmp`. None
/// if the session sees the machine's own there, as it does where a rule names it.
pub fn hidden_by(policy: &Policy, agent: &str, path: &AbsPath) -> Option<AbsPath> {
    let private = &policy.world().private;
    let folder = private.iter().find(|folder| folder.covers(path))?;
    // No rule shows the machine's shared memory.
    if folder.as_bytes() == b"/dev/shm" {
        return Some(folder.clone());
    }
    let extras: Vec<Extra> =
        private.iter().map(|own| Extra { target: own.clone(), source: Source::Memory }).collect();
    let request = Request {
        rules: policy.agent(agent)?,
        extras: &extras,
        sealed: &policy.world().sealed,
        requestable: &[],
        tracked: None,
        hardlinks_allowed: false,
        advisory: policy.source().sandbox == Sandbox::Advisory,
    };
    let plan = plan(&request, &HostDisk);
    plan.shown_by(path).filter(|bind| bind.private).map(|bind| bind.target.clone())
}
