//! The published schema of the language (JSON Schema, draft 2020-12), made from the table of keys.
//!
//! It says what an editor can tell while somebody types: keys, kinds of values, words. What takes the rest of the
//! document or the machine (names, patterns, meaning) is said by `remit check`.

use crate::keys::{AGENT, ID, Key, Kind, POLICY, RULE};
use crate::load::VERSION;
use remit_policy::Access;
use serde_json::{Map, Value, json};

/// The schema. The same for every build of a version, its keys in order.
pub fn schema() -> Value {
    let mut schema = mapping(POLICY.iter());
    if let Value::Object(fields) = &mut schema {
        fields.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        fields.insert("title".to_owned(), json!("remit.yaml"));
        fields.insert("description".to_owned(), json!("What each agent may do in a workspace."));
        fields.insert("$defs".to_owned(), definitions());
    }
    schema
}

/// What stands in several places.
fn definitions() -> Value {
    json!({
        "text": text(),
        "access": access(),
        "permissions": {"anyOf": [
            {"type": "array", "items": mapping(RULE.iter())},
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/access"}},
        ]},
        "agents": {"anyOf": [
            {"type": "object", "additionalProperties": mapping(AGENT.iter())},
            {"type": "array", "items": mapping(std::iter::once(&ID).chain(AGENT))},
        ]},
    })
}

fn mapping<'k>(keys: impl Iterator<Item = &'k Key> + Clone) -> Value {
    let property = |key: &Key| {
        let mut value = kind(key.kind);
        if let Value::Object(fields) = &mut value {
            fields.insert("description".to_owned(), json!(key.about));
        }
        (key.name.to_owned(), value)
    };
    let properties: Map<String, Value> = keys.clone().map(property).collect();
    let required: Vec<&str> = keys.filter(|key| key.needed).map(|key| key.name).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn kind(kind: Kind) -> Value {
    let text = || json!({"$ref": "#/$defs/text"});
    match kind {
        // A number without quotes is read as it is spelled.
        Kind::Version => json!({"enum": [VERSION, 1.0]}),
        Kind::Text => json!({"type": ["string", "number", "boolean"]}),
        Kind::Filled => text(),
        Kind::Texts => json!({"anyOf": [text(), {"type": "array", "items": text()}]}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Word(words) => json!({"enum": spelled(words())}),
        Kind::Words(words) => {
            let word = json!({"enum": spelled(words())});
            json!({"anyOf": [word, {"type": "array", "items": word}]})
        }
        Kind::Access => json!({"$ref": "#/$defs/access"}),
        Kind::Cli => {
            json!({"anyOf": [text(), {"type": "array", "items": {"type": ["string", "number", "boolean"]}, "minItems": 1}]})
        }
        Kind::Bytes => json!({"type": "string"}),
        Kind::Count => json!({"type": "integer", "minimum": 1}),
        Kind::Cores => json!({"type": "number", "exclusiveMinimum": 0}),
        Kind::Map(keys) => mapping(keys.iter()),
        Kind::List(keys) => json!({"type": "array", "items": mapping(keys.iter())}),
        Kind::Permissions => json!({"$ref": "#/$defs/permissions"}),
        Kind::Named(keys) => json!({"type": "object", "additionalProperties": mapping(keys.iter())}),
        Kind::Agents => json!({"$ref": "#/$defs/agents"}),
    }
}

/// Words as values: `true` and `false` stand without quotes.
fn spelled(words: Vec<&str>) -> Vec<Value> {
    let mut values: Vec<Value> = words.iter().map(|word| json!(word)).collect();
    values.extend(words.iter().filter_map(|word| word.parse::<bool>().ok()).map(Value::Bool));
    values
}

fn text() -> Value {
    json!({"anyOf": [{"type": "string", "minLength": 1}, {"type": ["number", "boolean"]}]})
}

/// `none` is absolute and stands alone.
fn access() -> Value {
    let some: Vec<&str> = Access::WORDS.into_iter().filter(|word| *word != "none").collect();
    json!({"anyOf": [
        {"enum": Access::WORDS},
        {"type": "array", "items": {"enum": some}, "minItems": 1},
        {"type": "array", "items": {"const": "none"}, "minItems": 1, "maxItems": 1},
    ]})
}
