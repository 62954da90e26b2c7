//! The answer to an action, and the reasons that it carries.

use crate::{AbsPath, Place};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// Allow, ask or deny; the greater wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It may be done.
    Allow,
    /// A person must be asked first.
    Ask,
    /// It is refused.
    Deny,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Effect::Allow => "allow",
            Effect::Ask => "ask",
            Effect::Deny => "deny",
        })
    }
}

/// The layers of judgement, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Built in; nothing lifts it.
    Protected,
    /// `global_rules` and what every session needs (`base`).
    System,
    /// The connected client's permissions (protocol).
    Client,
    /// Scope policies (protocol).
    Scope,
    /// Rules of the agent and its roles, and `default_policy`.
    Agent,
    /// No mutation without an active intent.
    Intent,
    /// No mutation outside the active intent's owned scope.
    OwnedScope,
    /// No write over content that was not seen.
    Freshness,
    /// What a person must confirm.
    Approval,
}

impl Layer {
    /// All nine, in order.
    pub const ALL: [Layer; 9] = [
        Layer::Protected,
        Layer::System,
        Layer::Client,
        Layer::Scope,
        Layer::Agent,
        Layer::Intent,
        Layer::OwnedScope,
        Layer::Freshness,
        Layer::Approval,
    ];

    /// The layer as a word.
    pub fn word(self) -> &'static str {
        match self {
            Layer::Protected => "protected",
            Layer::System => "system",
            Layer::Client => "client",
            Layer::Scope => "scope",
            Layer::Agent => "agent",
            Layer::Intent => "intent",
            Layer::OwnedScope => "owned-scope",
            Layer::Freshness => "freshness",
            Layer::Approval => "approval",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A rule that a decision rests on, as a person can find it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Where it stands in the document: `agents.frontend.permissions[1]`, `protected.git-config`, `base.usr`.
    pub id: Arc<str>,
    /// What it says: `backend/** none`.
    pub text: Arc<str>,
    /// The file and line; none for what is built in.
    pub place: Option<Place>,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "`{}` ({}:{})", self.text, place.file, place.line),
            None => write!(f, "`{}` ({})", self.text, self.id),
        }
    }
}

/// Why a layer answered as it did. Words are made only when somebody reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// A protected path; the text says what it protects.
    Protected(Arc<str>),
    /// A `none` rule covers the path; nothing reopens it.
    None,
    /// The rule grants what is asked.
    Granted,
    /// The rule covers the path, but does not grant this verb.
    NotGranted,
    /// `max_access` of the agent is lower.
    Ceiling,
    /// A role or the agent has this verb or tool taken away.
    Mode,
    /// No rule covers the path.
    NoRule,
    /// What every session needs; the text says what for.
    Base(Arc<str>),
    /// A temporary sibling of a file that may be written.
    Sibling(AbsPath),
    /// The agent is not in the policy.
    UnknownAgent,
    /// The action could not be judged; the text says why.
    Unjudged(Arc<str>),
}

/// One layer's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Which layer.
    pub layer: Layer,
    /// What it says.
    pub effect: Effect,
    /// The rule that it rests on, if it is one rule.
    pub rule: Option<Arc<Rule>>,
    /// Why.
    pub why: Why,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Protected(what) => write!(f, "{what} is protected, and no rule or grant lifts that")?,
            Why::None => f.write_str("the path is out of bounds by rule")?,
            Why::Granted => f.write_str("granted by rule")?,
            Why::NotGranted => f.write_str("not granted by rule")?,
            Why::Ceiling => f.write_str("above the agent's max_access")?,
            Why::Mode => f.write_str("taken away, whatever the path, by rule")?,
            Why::NoRule => f.write_str("no rule covers it, and the default is to deny")?,
            Why::Base(what) => write!(f, "every session has it: {what}")?,
            Why::Sibling(of) => {
                write!(f, "a temporary sibling of {of}, for whoever made it in this session")?
            }
            Why::UnknownAgent => f.write_str("the policy has no such agent")?,
            Why::Unjudged(why) => f.write_str(why)?,
        }
        match (&self.rule, &self.why) {
            (Some(rule), Why::None | Why::Granted | Why::NotGranted | Why::Ceiling | Why::Mode) => {
                write!(f, " {rule}")
            }
            _ => Ok(()),
        }
    }
}

/// SHA-256 of the canonical form of a policy; in JSON 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digit = |b: &u8| char::from(*b).to_digit(16).and_then(|d| u8::try_from(d).ok());
        let pair = |pair: &[u8]| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(pair).collect();
        let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(|| serde::de::Error::custom("not a digest of 64 hex digits"))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The answer, with its reasons, and the policy under which it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The most restrictive of the layers' answers.
    pub effect: Effect,
    /// The answers of the layers that had an opinion, in the layers' order; never empty.
    pub reasons: Vec<Reason>,
    /// Which policy.
    pub digest: Digest,
    /// Which version of it this session has seen, from 1.
    pub epoch: u64,
}

impl Decision {
    /// The reason that decided: the first whose effect is the decision's.
    pub fn deciding(&self) -> Option<&Reason> {
        self.reasons.iter().find(|r| r.effect == self.effect)
    }
}
