//! What an agent is told of a refusal: what was refused, by which layer and rule, and what it may do instead.
//! It never suggests a destructive step.

use remit_core::path::is_unprintable;
use remit_core::{Action, Decision, Layer, Object, Reason, Verb, Why};

/// One paragraph for the agent that was refused.
pub fn refusal(action: &Action, decision: &Decision) -> String {
    let what = match &action.object {
        Object::Move { from, to } => format!("to {} {from} as {to}", action.verb),
        object => format!("to {} {object}", action.verb),
    };
    match decision.deciding() {
        Some(reason) => format!(
            "Remit refused {} {what}: {reason} [layer {}]. {}",
            action.actor.agent,
            reason.layer,
            instead(action, reason)
        ),
        None => format!("Remit refused {} {what}: no layer allowed it.", action.actor.agent),
    }
}

/// For an agent to whom others offer something: a command that says what.
pub fn offers(command: &str) -> String {
    format!(
        "Other agents of this workspace offer you files to use. `{command}` lists them, with what they are for and \
         whether your own rules give you access; an offer alone gives none."
    )
}

fn instead(action: &Action, reason: &Reason) -> String {
    let agent = &action.actor.agent;
    match (&reason.why, reason.layer) {
        (Why::Protected(_), _) => {
            "Leave it as it is; if the task needs it changed, say so and let a person do it.".to_owned()
        }
        (Why::None, _) => "Work without it; nothing that you can ask for opens it.".to_owned(),
        (Why::Mode, _) => {
            "Do without it, or say what you need and let a person change that in remit.yaml.".to_owned()
        }
        (Why::UnknownAgent, _) => "A person must add the agent to remit.yaml.".to_owned(),
        (_, Layer::System | Layer::Agent) => format!(
            "Do this part within the paths that {agent} may use (`remit explain {agent} {} {}` tells which rules \
             speak here), or say what you need and let a person add a rule to remit.yaml.",
            action.verb,
            word(&match (action.verb, &action.object) {
                (_, Object::Move { from, to }) => format!("{from}:{to}"),
                // A symbolic link, which is a second name at one end only.
                (Verb::Rename, Object::Path(path)) => format!("{path}:{path}"),
                (_, object) => object.to_string(),
            })
        ),
        _ => "Say what you need and let a person decide.".to_owned(),
    }
}

/// A text as one word of a shell's command line, quoted where the shell would take it for something else.
pub fn word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// JSON text with nothing in it that would act on a terminal; outside of strings nothing can stand that does.
pub fn for_terminals(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match u32::from(c) {
            number if is_unprintable(c) => out.push_str(&format!("\\u{number:04x}")),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_json_without_what_acts_on_a_terminal() {
        let text = "a\u{1b}[2J\u{9b}2J\u{7f}\u{202e}\u{200f}é\n\\";
        let json = for_terminals(&serde_json::to_string(text).unwrap());
        assert!(!json.chars().any(is_unprintable), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
    use remit_core::{AbsPath, Actor, AgentName, Assurance, Digest, Effect, Place, Rule};
    use std::sync::Arc;

    #[test]
    fn a_refusal_names_path_rule_and_way_out() {
        let rule = Rule {
            id: "agents.fe.permissions[1]".into(),
            text: "backend/** none".into(),
            place: Some(Place { file: "remit.yaml".into(), line: 12, column: 5, width: 3 }),
        };
        let action = Action {
            actor: Actor {
                agent: AgentName::new("fe").unwrap(),
                session: None,
                assurance: Assurance::Kernel,
            },
            verb: Verb::Write,
            object: Object::Path(AbsPath::new("/w/backend/x").unwrap()),
        };
        let reason =
            Reason { layer: Layer::Agent, effect: Effect::Deny, rule: Some(Arc::new(rule)), why: Why::None };
        let decision =
            Decision { effect: Effect::Deny, reasons: vec![reason], digest: Digest([0; 32]), epoch: 1 };
        let text = refusal(&action, &decision);
        for part in ["fe", "write", "/w/backend/x", "`backend/** none` (remit.yaml:12)", "layer agent"] {
            assert!(text.contains(part), "{part} is missing in: {text}");
        }
    }

    #[test]
    fn the_command_that_explains_can_be_pasted_as_it_stands() {
        let path = |text: &str| AbsPath::new(text).unwrap();
        for (verb, object, command) in [
            (Verb::Write, Object::Path(path("/w/a b/it's")), r"`remit explain fe write '/w/a b/it'\''s'`"),
            (
                Verb::Rename,
                Object::Move { from: path("/w/a"), to: path("/w/b") },
                "`remit explain fe rename /w/a:/w/b`",
            ),
            (Verb::Rename, Object::Path(path("/w/link")), "`remit explain fe rename /w/link:/w/link`"),
        ] {
            let agent = AgentName::new("fe").unwrap();
            let actor = Actor { agent, session: None, assurance: Assurance::Kernel };
            let why = Why::NoRule;
            let reason = Reason { layer: Layer::Agent, effect: Effect::Deny, rule: None, why };
            let decision =
                Decision { effect: Effect::Deny, reasons: vec![reason], digest: Digest([0; 32]), epoch: 1 };
            let text = refusal(&Action { actor, verb, object }, &decision);
            assert!(text.contains(command), "{text}");
        }
    }
}
