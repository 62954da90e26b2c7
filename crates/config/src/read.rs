//! Reading a tree: what kind of value stands where, with a finding for each that does not fit. Reading goes
//! on after a finding, so a value that does not fit counts as absent.

use crate::finding::{Findings, shown};
use crate::keys::{Key, LATER};
use crate::nearest::{certain, hint, nearest};
use crate::tree::{Entry, Node, Value};
use remit_core::Place;
use remit_policy::source::At;
use std::rc::Rc;

/// A mapping whose keys are known.
pub(crate) struct Fields<'n> {
    pub(crate) place: &'n Place,
    entries: &'n [Entry],
    /// The keys that misspelt ones were probably meant to be: they are not missing as well.
    meant: Vec<String>,
}

impl<'n> Fields<'n> {
    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &*entry.value)
    }

    /// The key with its place and value.
    pub(crate) fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Whether a key that nothing knows was probably meant to be this one.
    pub(crate) fn is_misspelt(&self, key: &str) -> bool {
        self.meant.iter().any(|meant| meant == key)
    }
}

impl Findings {
    /// The entries of a mapping, whatever their keys; none if it is no mapping. `what` names it in messages.
    pub(crate) fn entries<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Entry] {
        match &node.value {
            Value::Map(entries) => entries,
            other => {
                self.kind(node, what, "a mapping", other);
                &[]
            }
        }
    }

    /// A mapping with known keys; every other key is a finding.
    pub(crate) fn fields<'n>(&mut self, node: &'n Node, what: &str, keys: &[Key]) -> Option<Fields<'n>> {
        let Value::Map(entries) = &node.value else {
            self.kind(node, what, "a mapping", &node.value);
            return None;
        };
        let keys: Vec<&str> = keys.iter().map(|key| key.name).collect();
        let mut meant = Vec::new();
        for entry in entries.iter().filter(|entry| !keys.contains(&entry.key.as_str())) {
            let later = LATER.contains(&entry.key.as_str());
            let near = if later { None } else { nearest(&entry.key, keys.iter().copied()) };
            meant.extend(near.map(str::to_owned));
            let message = format!("{what} has no key {}", shown(&entry.key));
            let help = if entry.key == "<<" {
                "merge keys are no part of YAML 1.2: write the keys out".to_owned()
            } else if later {
                "this version does not know it yet, so nothing would hold it: remove it".to_owned()
            } else {
                hint(&entry.key, &keys)
            };
            if !later {
                let free: Vec<&str> = keys
                    .iter()
                    .copied()
                    .filter(|key| entries.iter().all(|other| other.key != *key))
                    .collect();
                // One that is there already may be the one that is meant: then it is no slip.
                if certain(&entry.key, &keys).is_some_and(|key| free.contains(&key)) {
                    self.slip(&entry.place, &entry.key, &keys);
                }
            }
            self.error_help("unknown-key", &entry.place, message, help);
        }
        Some(Fields { place: &node.place, entries, meant })
    }

    /// The values of a list.
    pub(crate) fn items<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Rc<Node>] {
        match &node.value {
            Value::List(items) => items,
            other => {
                self.kind(node, what, "a list", other);
                &[]
            }
        }
    }

    /// A text.
    pub(crate) fn text(&mut self, node: &Node, what: &str) -> Option<At<String>> {
        match &node.value {
            Value::Scalar { text, .. } => Some(At { value: text.clone(), place: node.place.clone() }),
            other => {
                self.kind(node, what, "text", other);
                None
            }
        }
    }

    /// A text that is not empty.
    pub(crate) fn filled(&mut self, node: &Node, what: &str) -> Option<At<String>> {
        let text = self.text(node, what)?;
        if text.value.trim().is_empty() {
            self.error("empty-text", &text.place, format!("{what} is empty"));
            return None;
        }
        Some(text)
    }

    /// A list of texts, or one text alone.
    pub(crate) fn texts(&mut self, node: &Node, what: &str) -> Vec<At<String>> {
        match &node.value {
            Value::Scalar { .. } => self.filled(node, what).into_iter().collect(),
            Value::List(items) => items.iter().filter_map(|item| self.filled(item, what)).collect(),
            other => {
                self.kind(node, what, "text or a list of texts", other);
                Vec::new()
            }
        }
    }

    /// `true` or `false`, without quotes.
    pub(crate) fn flag(&mut self, node: &Node, what: &str) -> Option<bool> {
        match &node.value {
            Value::Scalar { text, plain: true } if matches!(text.as_str(), "true" | "True" | "TRUE") => {
                Some(true)
            }
            Value::Scalar { text, plain: true } if matches!(text.as_str(), "false" | "False" | "FALSE") => {
                Some(false)
            }
            Value::Scalar { text, .. } => {
                let message =
                    format!("{what} is `true` or `false`, and here stands the text {}", shown(text));
                self.error_help(
                    "not-a-flag",
                    &node.place,
                    message,
                    "write `true` or `false`, without quotes",
                );
                None
            }
            other => {
                self.kind(node, what, "`true` or `false`", other);
                None
            }
        }
    }

    /// One word of a table.
    pub(crate) fn word<T: Copy>(&mut self, node: &Node, what: &str, table: &[(&str, T)]) -> Option<At<T>> {
        let text = self.text(node, what)?;
        if let Some((_, value)) = table.iter().find(|(word, _)| *word == text.value) {
            return Some(At { value: *value, place: text.place });
        }
        let words: Vec<&str> = table.iter().map(|(word, _)| *word).collect();
        let message = format!("{what} cannot be {}", shown(&text.value));
        self.slip(&text.place, &text.value, &words);
        self.error_help("unknown-word", &text.place, message, hint(&text.value, &words));
        None
    }

    /// The value of a key that must be there. One that is there under a misspelt name has been told.
    pub(crate) fn needed<'n>(&mut self, fields: &Fields<'n>, key: &str, what: &str) -> Option<&'n Node> {
        let found = fields.get(key);
        if found.is_none() && !fields.is_misspelt(key) {
            self.error("missing-key", fields.place, format!("{what} has no {}, and needs one", shown(key)));
        }
        found
    }

    fn kind(&mut self, node: &Node, what: &str, wanted: &str, found: &Value) {
        let message = format!("{what} is {wanted}, and here stands {}", found.kind());
        if !matches!(found, Value::Null) {
            self.error("wrong-kind", &node.place, message);
            return;
        }
        let help = match wanted {
            "a mapping" => "write `{}` for an empty one, or remove the key",
            "a list" => "write `[]` for an empty one, or remove the key",
            _ => "write a value (a text `null` or `~` stands in quotes), or remove the key",
        };
        self.error_help("wrong-kind", &node.place, message, help);
    }
}
