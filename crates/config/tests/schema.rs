//! The published schema and the reader agree on keys, kinds and words.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests look at files")]

use serde_json::{Map, Value};
use std::path::Path;

/// Why a value does not fit a schema, of the constructs that the schema uses; any other makes the test fail.
fn misfit(root: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    let fields: &Map<String, Value> = schema.as_object().unwrap();
    let wrong = |what: &str| Some(format!("{at}: {what}: {value}"));
    for (key, wanted) in fields {
        let found = match key.as_str() {
            "$schema" | "$defs" | "title" | "description" => None,
            "$ref" => {
                let at_root = wanted.as_str().unwrap().strip_prefix('#').unwrap();
                misfit(root, root.pointer(at_root).unwrap(), value, at)
            }
            "anyOf" => {
                let misfits: Option<Vec<String>> =
                    wanted.as_array().unwrap().iter().map(|one| misfit(root, one, value, at)).collect();
                misfits.and_then(|all| wrong(&all.join(" / ")))
            }
            "enum" if wanted.as_array().unwrap().contains(value) => None,
            "const" if wanted == value => None,
            "enum" | "const" => wrong("no such word"),
            "type" => {
                let types = wanted.as_array().cloned().unwrap_or_else(|| vec![wanted.clone()]);
                let is = |name: &str| match name {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "number" => value.is_number(),
                    "integer" => value.is_u64() || value.is_i64(),
                    other => panic!("{other}"),
                };
                if types.iter().any(|name| is(name.as_str().unwrap())) { None } else { wrong("wrong kind") }
            }
            "minLength" => value.as_str().filter(|text| text.is_empty()).and_then(|_| wrong("empty")),
            "minimum" => {
                value.as_f64().filter(|n| *n < wanted.as_f64().unwrap()).and_then(|_| wrong("small"))
            }
            "exclusiveMinimum" => {
                value.as_f64().filter(|n| *n <= wanted.as_f64().unwrap()).and_then(|_| wrong("small"))
            }
            "minItems" | "maxItems" => {
                let (most, count) = (key == "maxItems", value.as_array().map(|items| items.len() as u64));
                let bound = wanted.as_u64().unwrap();
                count.filter(|n| if most { *n > bound } else { *n < bound }).and_then(|_| wrong("length"))
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                items.into_iter().find_map(|(n, item)| misfit(root, wanted, item, &format!("{at}[{n}]")))
            }
            "required" => {
                let missing = |key: &&Value| value.is_object() && value.get(key.as_str().unwrap()).is_none();
                let missing = wanted.as_array().unwrap().iter().find(missing);
                missing.and_then(|key| wrong(&format!("{key} is missing")))
            }
            "properties" => wanted
                .as_object()
                .unwrap()
                .iter()
                .find_map(|(key, schema)| misfit(root, schema, value.get(key)?, &format!("{at}.{key}"))),
            "additionalProperties" => {
                let known = fields.get("properties").and_then(Value::as_object);
                let others = value.as_object().into_iter().flatten();
                let mut others =
                    others.filter(|(key, _)| known.is_none_or(|known| !known.contains_key(*key)));
                match wanted {
                    Value::Bool(false) => others.next().and_then(|(key, _)| wrong(&format!("no key {key}"))),
                    schema => {
                        others.find_map(|(key, value)| misfit(root, schema, value, &format!("{at}.{key}")))
                    }
                }
            }
            other => panic!("{other} is not looked at"),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

fn against_schema(text: &str) -> Option<String> {
    let schema = remit_config::schema();
    let value: Value = serde_saphyr::from_str(text).unwrap();
    misfit(&schema, &schema, &value, "$")
}

#[test]
fn every_example_and_the_whole_language_fit() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut texts = vec![
        include_str!("whole.yaml").to_owned(),
        include_str!("massgen.yaml").to_owned(),
        "version: 1.0\nagents: {a: {permissions: {007: read, true: [read, write]}}}\n".to_owned(),
    ];
    for folder in std::fs::read_dir(examples).unwrap() {
        let folder = folder.unwrap().path();
        for name in ["remit.yaml", "massgen-permissions.yaml"] {
            texts.extend(std::fs::read_to_string(folder.join(name)));
        }
    }
    assert!(texts.len() > 9, "{}", texts.len());
    for text in texts {
        assert_eq!(against_schema(&text), None, "{text}");
        remit_config::load("remit.yaml", text.as_bytes()).unwrap();
    }
}

#[test]
fn what_the_reader_refuses_for_its_keys_kinds_and_words_the_schema_refuses() {
    for text in [
        "agents: {}",
        "version: \"2.0\"",
        "version: \"1.0\"\nagent: {}",
        "version: \"1.0\"\nteam: {}",
        "version: \"1.0\"\nroot: here",
        "version: \"1.0\"\ndefault_policy: maybe",
        "version: \"1.0\"\nallow_insecure_default: \"true\"",
        "version: \"1.0\"\nglobal_rules: {path: a, access: read}",
        "version: \"1.0\"\nglobal_rules: [{path: a}]",
        "version: \"1.0\"\nglobal_rules: [{path: \"\", access: read}]",
        "version: \"1.0\"\nglobal_rules: [{path: a, access: rw}]",
        "version: \"1.0\"\nglobal_rules: [{path: a, access: []}]",
        "version: \"1.0\"\nglobal_rules: [{path: a, access: [none, read]}]",
        "version: \"1.0\"\nroles: []",
        "version: \"1.0\"\nroles: {r: {tools: [WebFetch]}}",
        "version: \"1.0\"\nroles: {r: {verbs: {deny: [read]}}}",
        "version: \"1.0\"\nagents: [{permissions: []}]",
        "version: \"1.0\"\nagents: {a: {permissions: [{path: a, access: read, for: all}]}}",
        "version: \"1.0\"\nagents: {a: {cli: []}}",
        "version: \"1.0\"\nagents: {a: {git: all}}",
        "version: \"1.0\"\nagents: {a: {limits: {processes: 0}}}",
        "version: \"1.0\"\nagents: {a: {limits: {memory: 512}}}",
        "version: \"1.0\"\nagents: {a: {requests: [{path: a, access: read, answer: yes}]}}",
        "version: \"1.0\"\naudit: {alert: {}}",
        "version: \"1.0\"\naudit: {log_access_attempts: some}",
        "version: \"1.0\"\napprovals: [{verb: connect, path: a}]",
        "version: \"1.0\"\ntests: [{agent: a, verb: read, path: a, expect: yes}]",
    ] {
        assert!(remit_config::load("remit.yaml", text.as_bytes()).is_err(), "{text}");
        assert!(against_schema(text).is_some(), "{text}");
    }
}

/// The keys of a schema, and of what lies in it.
fn keys(schema: &Value, all: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            let properties = fields.get("properties").and_then(Value::as_object);
            all.extend(properties.into_iter().flat_map(|p| p.keys().cloned()));
            fields.values().for_each(|value| keys(value, all));
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, all)),
        _ => {}
    }
}

#[test]
fn every_key_stands_in_the_whole_document_and_in_the_table_of_the_documentation() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let table = docs.split("\n## Keys\n").nth(1).unwrap();
    let mut all = Vec::new();
    keys(&remit_config::schema(), &mut all);
    all.retain(|key| !matches!(key.as_str(), "id" | "agent_permissions"));
    assert!(all.len() > 50, "{}", all.len());
    for key in all {
        assert!(include_str!("whole.yaml").contains(&format!("{key}:")), "{key} is not in whole.yaml");
        let spelled = [
            format!("`{key}`"),
            format!("`{key}:"),
            format!("{{{key}"),
            format!(", {key}"),
            format!(".{key}"),
        ];
        assert!(spelled.iter().any(|spelled| table.contains(spelled)), "{key} is not in the table");
    }
}
