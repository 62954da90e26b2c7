//! The machine that documents are compiled for: fixed, and nowhere on a disk.

use remit_core::{AbsPath, Action, Actor, AgentName, Assurance, Object, Verb};
use remit_policy::{Access, BaseRule, ProtectedPath, World};

/// The path of a text that is known to be one.
pub(crate) fn path(text: &str) -> AbsPath {
    let path = AbsPath::new(text);
    assert!(path.is_ok(), "{text}");
    path.unwrap_or_else(|_| AbsPath::root())
}

/// A workspace `/w` with a git folder of another name and a path that git obeys, a home `/home/p`, system
/// folders, a private home, and a state that no session may touch.
pub(crate) fn world() -> World {
    let base = |at: &str, access| BaseRule { path: path(at), access, id: "base.x".into(), why: "x".into() };
    World {
        workspace: path("/w"),
        home: path("/home/p"),
        base: vec![
            base("/usr", Access::READ.union(Access::EXECUTE)),
            base("/home/agent", Access::READ.union(Access::WRITE)),
        ],
        sealed: vec![path("/state")],
        protected: vec![ProtectedPath {
            path: path("/w/obeyed"),
            id: "protected.x".into(),
            words: "x".into(),
            link: None,
        }],
        git_dirs: vec![path("/w/odd.git")],
        linked: None,
        private: vec![path("/home/agent")],
        single_files: [path("/w/notes.md")].into(),
    }
}

/// An agent by name does something.
pub(crate) fn action(agent: &AgentName, verb: Verb, object: Object) -> Action {
    let actor = Actor { agent: agent.clone(), session: None, assurance: Assurance::Claimed };
    Action { actor, verb, object }
}
