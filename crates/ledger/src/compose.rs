//! Putting a record together from the words that the other rooms use.

use crate::{Door, Event, Record, Time, VERSION};
use remit_core::path::escape;
use remit_core::{Action, Actor, Decision, Object};
use serde_json::Value;
use std::collections::BTreeMap;

impl Record {
    /// A record that says only what happened and when.
    pub fn new(time: Time, event: Event) -> Self {
        Self {
            agent: None,
            asked: None,
            assurance: None,
            call: None,
            command: None,
            conversation: None,
            counts: BTreeMap::new(),
            detail: Value::Null,
            digest: None,
            door: None,
            effect: None,
            epoch: None,
            event,
            host: None,
            intent: None,
            layer: None,
            path: None,
            pid: None,
            program: None,
            requirement: None,
            rule: None,
            rule_at: None,
            rule_id: None,
            session: None,
            subagent: None,
            syscall: None,
            time,
            to: None,
            to_asked: None,
            tool: None,
            v: VERSION,
            verb: None,
            why: None,
        }
    }

    /// What somebody wanted to do, and what was answered.
    pub fn access(time: Time, door: Door, action: &Action, decision: &Decision) -> Self {
        Self::new(time, Event::Access).at(door).doing(action).decided(decision)
    }

    /// Counts of what is not recorded one by one.
    pub fn summary(time: Time, door: Door, actor: &Actor, counts: BTreeMap<String, u64>) -> Self {
        Self { counts, ..Self::new(time, Event::Summary).at(door).by(actor) }
    }

    /// Says where it was asked.
    #[must_use]
    pub fn at(mut self, door: Door) -> Self {
        self.door = Some(door);
        self
    }

    /// Says who.
    #[must_use]
    pub fn by(mut self, actor: &Actor) -> Self {
        self.agent = Some(actor.agent.clone());
        self.session = actor.session.clone();
        self.assurance = Some(actor.assurance);
        self
    }

    /// Says who wanted to do what to what.
    #[must_use]
    pub fn doing(mut self, action: &Action) -> Self {
        self = self.by(&action.actor);
        self.verb = Some(action.verb);
        if let Object::Tool(name) = &action.object {
            self.tool = Some(name.clone());
        }
        (self.path, self.to) = match &action.object {
            Object::Path(path) => (Some(path.to_string()), None),
            Object::Move { from, to } => (Some(from.to_string()), Some(to.to_string())),
            Object::Host { host, port } => (Some(format!("{}:{port}", escape(host.as_bytes()))), None),
            Object::Tool(_) => (None, None),
        };
        self
    }

    /// Says what was answered, by which rule, under which policy.
    #[must_use]
    pub fn decided(mut self, decision: &Decision) -> Self {
        self.effect = Some(decision.effect);
        self.digest = Some(decision.digest.to_string());
        self.epoch = Some(decision.epoch);
        if let Some(reason) = decision.deciding() {
            self.layer = Some(reason.layer);
            self.why = Some(reason.to_string());
            if let Some(rule) = &reason.rule {
                self.rule = Some(rule.text.to_string());
                self.rule_at = rule.place.as_ref().map(|place| format!("{}:{}", place.file, place.line));
                self.rule_id = Some(rule.id.to_string());
            }
        }
        self
    }

    /// Says how the caller spelled the path and the other end, in any bytes.
    #[must_use]
    pub fn spelled(mut self, asked: &[u8], to: Option<&[u8]>) -> Self {
        self.asked = Some(escape(asked));
        self.to_asked = to.map(escape);
        self
    }

    /// Says more that belongs to this event alone. A `detail` that is no object yet becomes one.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        let fields = match self.detail {
            Value::Object(ref mut fields) => fields,
            _ => {
                self.detail = Value::Object(serde_json::Map::new());
                match self.detail {
                    Value::Object(ref mut fields) => fields,
                    _ => return self,
                }
            }
        };
        fields.insert(key.to_owned(), value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode;
    use remit_core::{
        AbsPath, AgentName, Assurance, Digest, Effect, Layer, Place, Reason, Rule, SessionId, Verb, Why,
    };
    use std::sync::Arc;

    fn action() -> Action {
        Action {
            actor: Actor {
                agent: AgentName::new("frontend").unwrap(),
                session: Some(SessionId::new("s-1").unwrap()),
                assurance: Assurance::Kernel,
            },
            verb: Verb::Rename,
            object: Object::Move {
                from: AbsPath::new(b"/w/a\n\xff").unwrap(),
                to: AbsPath::new("/w/backend/b").unwrap(),
            },
        }
    }

    fn decision(place: Option<Place>) -> Decision {
        let rule = Rule { id: "protected.git".into(), text: "backend/** none".into(), place };
        Decision {
            effect: Effect::Deny,
            reasons: vec![Reason {
                layer: Layer::Agent,
                effect: Effect::Deny,
                rule: Some(Arc::new(rule)),
                why: Why::None,
            }],
            digest: Digest([0xab; 32]),
            epoch: 3,
        }
    }

    #[test]
    fn an_access_says_who_what_where_and_by_which_rule() {
        let time = Time::parse("2026-01-02T03:04:05.000006Z").unwrap();
        let place = Place { file: "remit.yaml".into(), line: 12, column: 3, width: 1 };
        let record = Record::access(time, Door::Kernel, &action(), &decision(Some(place)))
            .spelled(b"a\n\xff", Some(b"backend/b"))
            .with("z", 1)
            .with("a", "x");
        let digest = "ab".repeat(32);
        assert_eq!(
            String::from_utf8(encode(&record).unwrap()).unwrap(),
            format!(
                r#"{{"agent":"frontend","asked":"a\\x0a\\xff","assurance":"kernel","detail":{{"a":"x","z":1}},"digest":"{digest}","door":"kernel","effect":"deny","epoch":3,"event":"access","layer":"agent","path":"/w/a\\x0a\\xff","rule":"backend/** none","rule_at":"remit.yaml:12","rule_id":"protected.git","session":"s-1","time":"2026-01-02T03:04:05.000006Z","to":"/w/backend/b","to_asked":"backend/b","v":1,"verb":"rename","why":"the path is out of bounds by rule `backend/** none` (remit.yaml:12)"}}"#
            )
        );
    }

    #[test]
    fn a_built_in_rule_is_found_by_its_id_and_a_connection_by_host_and_port() {
        let time = Time::parse("2026-01-02T03:04:05.000006Z").unwrap();
        let mut action = action();
        action.object = Object::Host { host: "example.org\n".into(), port: 443 };
        let record = Record::access(time, Door::Hook, &action, &decision(None));
        assert_eq!(record.rule_at, None);
        assert_eq!(record.rule_id.as_deref(), Some("protected.git"));
        assert_eq!(record.path.as_deref(), Some("example.org\\x0a:443"));
    }
}
