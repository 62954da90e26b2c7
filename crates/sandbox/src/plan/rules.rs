//! What the planner asks of a policy.

use remit_core::{AbsPath, Rule};
use remit_policy::{Access, AgentPolicy, LastNames, Pattern, Scope};
use std::sync::Arc;

/// Which paths a rule speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where {
    /// One path and all below it.
    Path(AbsPath),
    /// Paths by wildcard.
    Wild {
        /// The folder above which it says nothing.
        prefix: AbsPath,
        /// How many components a match has at most; none: any number.
        depth: Option<usize>,
    },
}

/// One rule that binds the agent.
#[derive(Debug, Clone)]
pub struct Point {
    /// Which paths.
    pub place: Where,
    /// What it says of them; what holds in the end is [`Rules::access`].
    pub access: Access,
    /// The rule, to be named.
    pub rule: Arc<Rule>,
    /// Whether it is part of what every session has, and not a person's rule.
    pub base: bool,
    /// Whether a person wrote it as a folder: `x/`, `x/*` or `x/**`.
    pub folder: bool,
}

/// A compiled policy of one agent, as far as planning needs it.
pub trait Rules {
    /// What the path rules grant for a path.
    fn access(&self, path: &AbsPath) -> Access;
    /// Every rule that binds the agent, in any order.
    fn points(&self) -> Vec<Point>;
    /// Whether the rule at this index of [`Rules::points`] speaks of the path.
    fn matches(&self, point: usize, path: &AbsPath) -> bool;
    /// The last names of paths that one of the rules at these indexes speaks of, and not of their parents.
    fn last_names(&self, points: &[usize]) -> LastNames;
}

impl Rules for AgentPolicy {
    fn access(&self, path: &AbsPath) -> Access {
        AgentPolicy::access(self, path)
    }

    fn points(&self) -> Vec<Point> {
        let point = |point: &remit_policy::Point| Point {
            place: place(&point.pattern),
            access: point.access,
            rule: Arc::clone(&point.rule),
            base: point.scope == Scope::Base,
            folder: as_folder(&point.rule.text),
        };
        AgentPolicy::points(self).iter().map(point).collect()
    }

    fn matches(&self, point: usize, path: &AbsPath) -> bool {
        AgentPolicy::points(self).get(point).is_some_and(|point| point.pattern.matches(path))
    }

    fn last_names(&self, points: &[usize]) -> LastNames {
        let all = AgentPolicy::points(self);
        LastNames::of(points.iter().filter_map(|at| all.get(*at)).map(|point| &point.pattern))
    }
}

fn place(pattern: &Pattern) -> Where {
    match pattern.literal() {
        Some(path) => Where::Path(path.clone()),
        None => {
            // In the canonical spelling nothing but `**` has two stars in a row.
            let text = pattern.to_string();
            let names = text.split('/').filter(|name| !name.is_empty()).count();
            Where::Wild {
                prefix: pattern.literal_prefix().clone(),
                depth: (!text.contains("**")).then_some(names),
            }
        }
    }
}

/// Whether a rule's text, `<pattern> <access>`, spells its pattern as a folder.
fn as_folder(text: &str) -> bool {
    let pattern = text.rsplit_once(' ').map_or(text, |(pattern, _)| pattern);
    ["/", "/*", "/**"].iter().any(|end| pattern.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_is_spelled_as_one() {
        assert!(
            as_folder("secrets/ none")
                && as_folder("secrets/** none")
                && as_folder("my secrets/* read-write")
        );
        assert!(!as_folder("secrets none") && !as_folder("**/.env none") && !as_folder("a/b read"));
    }
}
