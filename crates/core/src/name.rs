//! Names of things: short strings that cannot be mistaken for one another.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Why a string is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The string is empty.
    #[error("a name cannot be empty")]
    Empty,
    /// The string is longer than 128 bytes.
    #[error("a name has at most 128 bytes")]
    TooLong,
    /// A character other than letters, digits, `-`, `_`, `.`, `:` or `@`.
    #[error("{} cannot stand in a name (letters, digits, - _ . : @ can)", shown(*.0))]
    Character(char),
}

/// A character as it may stand in a message: what is not plain ASCII by its number, since it could be
/// invisible, move the cursor or turn the direction of writing.
fn shown(c: char) -> String {
    if c.is_ascii_graphic() || c == ' ' {
        format!("`{c}`")
    } else {
        format!("the character U+{:04X}", u32::from(c))
    }
}

fn checked(text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.len() > 128 {
        return Err(NameError::TooLong);
    }
    match text.chars().find(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '@'))) {
        Some(c) => Err(NameError::Character(c)),
        None => Ok(()),
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes a string that is a name: 1 to 128 bytes of letters, digits, `-`, `_`, `.`, `:`, `@`.
            pub fn new(text: &str) -> Result<Self, NameError> {
                checked(text).map(|()| Self(Arc::from(text)))
            }
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::new(&text)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name!(
    /// A member of the team, as `remit.yaml` names it.
    AgentName
);
name!(
    /// One run of an agent: a UUID for Remit's own sessions, the host's id for others.
    SessionId
);
name!(
    /// One tool call, as the agent's host numbers it.
    CallId
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_never_carries_the_character_that_it_warns_of() {
        let said = |name: &str| AgentName::new(name).unwrap_err().to_string();
        assert_eq!(said("a/b"), "`/` cannot stand in a name (letters, digits, - _ . : @ can)");
        for (name, number) in [("\u{202e}", "U+202E"), ("a\u{1b}[2J", "U+001B"), ("\u{9b}", "U+009B")] {
            let text = said(name);
            assert!(text.is_ascii() && !text.contains('\u{1b}') && text.contains(number), "{text:?}");
        }
    }

    #[test]
    fn names_are_checked() {
        assert!(AgentName::new("frontend-2.x").is_ok());
        assert_eq!(AgentName::new(""), Err(NameError::Empty));
        assert_eq!(AgentName::new("a/b"), Err(NameError::Character('/')));
        assert_eq!(AgentName::new("a\n"), Err(NameError::Character('\n')));
        assert_eq!(AgentName::new(&"a".repeat(129)), Err(NameError::TooLong));
        assert!(serde_json::from_str::<AgentName>("\"a b\"").is_err());
    }
}
