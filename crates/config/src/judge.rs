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

/// What stands for a wildcard in a path that is made up: no rule names it.
const ANY: char = '\u{1}';

/// Paths that the pattern matches: its own, if it is one path, else those that are made up, and fit. One with and one
/// without a folder for each `**`.
pub(crate) fn samples(pattern: &Pattern) -> Vec<AbsPath> {
    if let Some(path) = pattern.literal() {
        return vec![path.clone()];
    }
    let text = pattern.to_string();
    let made = |deep: bool| {
        let parts = text.split('/').filter(|part| !part.is_empty() && (deep || *part != "**"));
        let path = parts.map(made_up).try_fold(AbsPath::root(), |path, name| path.join(name).ok())?;
        pattern.matches(&path).then_some(path)
    };
    let mut paths: Vec<AbsPath> = [false, true].into_iter().filter_map(made).collect();
    paths.dedup();
    paths
}

/// A name for a component with wildcards: [`ANY`] for `*` and `?`, the first of a set's characters.
fn made_up(part: &str) -> String {
    let mut name = String::new();
    let mut chars = part.chars();
    while let Some(c) = chars.next() {
        match c {
            '*' | '?' => name.push(ANY),
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

    fn sampled(text: &str) -> Vec<String> {
        let folder = |path: &str| AbsPath::new(path).unwrap();
        let anchor =
            Anchor { base: folder("/w"), workspace: folder("/w"), home: folder("/h"), root: Root::Host };
        let text = At { value: text.to_owned(), place: Place::file("x") };
        let paths = samples(&Pattern::parse(&text, &anchor, Use::Limit).unwrap());
        paths.iter().map(|path| path.to_string().replace(r"\x01", "x")).collect()
    }

    #[test]
    fn samples_fit_their_patterns() {
        assert_eq!(sampled("docs/**"), ["/w/docs"]);
        assert_eq!(sampled("src/**/*.md"), ["/w/src/x.md", "/w/src/xx/x.md"]);
        assert_eq!(sampled("v[0-9]/?a"), ["/w/v0/xa"]);
        assert_eq!(sampled("a\\*b"), ["/w/a*b"]);
        assert_eq!(sampled("[^a-z]x"), Vec::<String>::new());
    }
}
