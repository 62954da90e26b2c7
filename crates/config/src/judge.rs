//! Questions to the policy: what a document says of itself is put to the same function that judges agents.

use remit_core::{AbsPath, Action, Actor, AgentName, Assurance, Decision, Object, Verb};
use remit_policy::{Access, Explanation, Facts, Pattern, Policy, decide, explain};

/// An agent of the policy wants to do something to a path. None if the name cannot be an agent's.
pub(crate) fn action(agent: &str, verb: Verb, path: AbsPath) -> Option<Action> {
    let agent = AgentName::new(agent).ok()?;
    let actor = Actor { agent, session: None, assurance: Assurance::Kernel };
    Some(Action { actor, verb, object: Object::Path(path) })
}

/// The decision on an action.
pub(crate) fn judged(policy: &Policy, action: &Action) -> Decision {
    decide(policy, &Facts::default(), action)
}

/// What an agent is told of each part of an access to a path.
pub(crate) fn told(policy: &Policy, agent: &str, path: &AbsPath, access: Access) -> Vec<Explanation> {
    [(Access::READ, Verb::Read), (Access::WRITE, Verb::Write), (Access::EXECUTE, Verb::Execute)]
        .into_iter()
        .filter(|(part, _)| access.has(*part))
        .filter_map(|(_, verb)| action(agent, verb, path.clone()))
        .map(|action| explain(policy, &Facts::default(), &action))
        .collect()
}

/// A path that the pattern matches: its own, if it is one path, else one that is made up and tried. None if
/// none of the made-up ones fits.
pub(crate) fn sample(pattern: &Pattern) -> Option<AbsPath> {
    if let Some(path) = pattern.literal() {
        return Some(path.clone());
    }
    let text = pattern.to_string();
    let parts = text.split('/').filter(|part| !part.is_empty() && *part != "**");
    let path = parts.map(made_up).try_fold(AbsPath::root(), |path, name| path.join(name).ok())?;
    pattern.matches(&path).then_some(path)
}

/// A name for a component with wildcards: `x` for `*` and `?`, the first of a set's characters.
fn made_up(part: &str) -> String {
    let mut name = String::new();
    let mut chars = part.chars();
    while let Some(c) = chars.next() {
        match c {
            '*' | '?' => name.push('x'),
            '\\' => name.extend(chars.next()),
            '[' => {
                let inner: String = chars.by_ref().take_while(|c| *c != ']').collect();
                name.extend(inner.chars().find(|c| !matches!(c, '^' | '!' | '\\')));
            }
            c => name.push(c),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use remit_core::Place;
    use remit_policy::source::{At, Root};
    use remit_policy::{Anchor, Use};

    fn sampled(text: &str) -> Option<String> {
        let folder = |path: &str| AbsPath::new(path).unwrap();
        let anchor =
            Anchor { base: folder("/w"), workspace: folder("/w"), home: folder("/h"), root: Root::Host };
        let text = At { value: text.to_owned(), place: Place::file("x") };
        sample(&Pattern::parse(&text, &anchor, Use::Limit).unwrap()).map(|path| path.to_string())
    }

    #[test]
    fn samples_fit_their_patterns() {
        assert_eq!(sampled("docs/**").as_deref(), Some("/w/docs"));
        assert_eq!(sampled("src/**/*.md").as_deref(), Some("/w/src/x.md"));
        assert_eq!(sampled("v[0-9]/?a").as_deref(), Some("/w/v0/xa"));
        assert_eq!(sampled("a\\*b").as_deref(), Some("/w/a*b"));
        assert_eq!(sampled("[^a-z]x"), None);
    }
}
