//! Hidden files that git neither tracks nor ignores: it wants to add them inside, and cannot read them.

use crate::workspace::{OpenError, Workspace};
use crate::worktree::WorkTree;
use remit_core::{Diagnostic, Place, Severity};
use remit_policy::Policy;
use std::io::ErrorKind;

/// Warnings `none-not-ignored`, with the lines for `.gitignore`. Where there is no git there is nothing to say; where git
/// cannot tell, a note `untracked-unknown` says so.
pub fn unignored(workspace: &Workspace, policy: &Policy) -> Result<Vec<Diagnostic>, OpenError> {
    let hides = policy.agents().any(|(_, agent)| agent.points().iter().any(|point| point.access.is_none()));
    let Some(checkout) = workspace.checkout()?.filter(|_| hides) else { return Ok(Vec::new()) };
    let tree = WorkTree::of(checkout).map_err(|e| OpenError::Path(checkout.work_tree.clone(), e))?;
    Ok(match tree.untracked(workspace.environment()) {
        Ok(listed) => {
            let paths = listed.split(|b| *b == 0).filter(|path| !path.is_empty());
            remit_config::none_not_ignored(policy, &tree.top, paths)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            let message = format!(
                "what git neither tracks nor ignores cannot be told ({error}), so whether hidden files stand in its way is not known"
            );
            let place = Place::file(workspace.file.as_str());
            vec![Diagnostic::new(Severity::Note, "untracked-unknown", place, message)]
        }
    })
}
