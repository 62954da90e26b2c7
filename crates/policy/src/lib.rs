//! All judgement. A [`PolicySource`] (what `remit.yaml` says, with positions) and a [`World`] (where things
//! are on this machine) compile into a [`Policy`], which never changes; [`decide()`] answers an action with a
//! [`Decision`](remit_core::Decision) and its reasons. Nothing here does IO, knows the time or panics.
//!
//! ```text
//! PolicySource + World ── Policy::compile ──► Policy { one AgentPolicy each, protected paths, digest, epoch }
//!                             │                  │
//!                             └► Diagnostics     ├─ decide(&Policy, &Facts, &Action)  ──► Decision { effect, reasons }
//!                                                ├─ explain(&Policy, &Facts, &Action) ──► Explanation (the same answer, in full)
//!                                                └─ AgentPolicy::{access, points, none_rule} ──► the sandbox's plan
//! ```
//!
//! - [`Pattern`]: a path with wildcards, absolute once it is read; `covers` is language inclusion.
//! - [`Access`]: a set over read, write, execute. Reading needs `read`; writing, creating, deleting and
//!   renaming (both ends) need `write`; executing needs `read` and `execute`. Connections are not held yet:
//!   they are allowed and the reason says so.
//! - [`Point`]: a rule that binds an agent, with its [`Scope`]. A `none` that matches denies. Within a scope a
//!   rule yields only to a strictly narrower one and the rest is met; the scopes are met; `max_access` caps
//!   what rules and the default give. Where no rule grants: the base rule with the longest path, then
//!   `default_policy`. The order of rules never matters.
//! - Modes: verbs and tools that a role or the agent has taken away. A verb is gone wherever the answer does not rest
//!   on the base or on git's records that go with the work tree; a tool by its name ([`Verb::Call`](remit_core::Verb)).
//! - `git: none` is a `none` on every git folder of the checkout, for one agent.
//! - An unanchored rule (`**/…`) may only take away: `none` denies, `read` narrows what others grant.
//! - The workspace's `.git` goes with the work tree: who may read or write any of it may read or write there,
//!   unless a rule speaks of `.git` itself; what makes git run programs stays protected.
//! - Protected names hold in every folder but the session's private ones. A folder that holds some of them may
//!   be made, and not moved; making a symbolic link is asked as [`Verb::Rename`](remit_core::Verb), since it
//!   could stand where such a folder is looked for.
//! - A file that may be written and is no folder brings its temporary siblings (`<name>.<anything>`): they may
//!   be made, written, deleted, and renamed onto the file or among themselves, unless a rule speaks of them in
//!   particular. Whoever does the change keeps track of which are still temporary.
//!
//! What can fail: compiling, with [`Diagnostic`](remit_core::Diagnostic)s that name places. Deciding cannot: an
//! unknown agent or an action that makes no sense is denied.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

pub mod access;
mod agent;
mod compile;
mod decide;
mod digest;
mod explain;
mod glob;
mod inclusion;
mod last_names;
mod modes;
mod names;
mod notes;
mod overview;
mod parse;
mod pattern;
mod policy;
mod protected;
mod roles;
mod rules;
mod shown;
pub mod source;
mod stand_in;
mod table;
mod trie;
pub mod world;

pub use access::Access;
pub use agent::AgentPolicy;
pub use decide::{Facts, decide};
pub use explain::{Explanation, Fate, PathRules, Remedy, RuleFate, explain, naming};
pub use last_names::LastNames;
pub use overview::{Overview, Row, overview};
pub use pattern::{Anchor, Pattern, Use};
pub use policy::{Compiled, Policy};
pub use rules::{Point, Scope};
pub use source::PolicySource;
pub use stand_in::{StandIn, is_store, of_home, stands_in};
pub use world::{BaseRule, LinkedTree, ProtectedPath, World};
