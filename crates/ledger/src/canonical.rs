//! Canonical JSON (RFC 8785) of what the ledger writes: no white space, keys sorted by UTF-16 code units,
//! integers that every JSON reader holds exactly, no fractions.

use serde::ser::{Error as _, Serialize, SerializeMap as _, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// The greatest whole number that a double holds exactly along with all below it.
pub const GREATEST: u64 = (1 << 53) - 1;

/// How deep values may be nested.
pub const DEEPEST: usize = 64;

/// Why a value has no canonical form here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// A number with a fraction or an exponent.
    #[error("`{0}` is not a whole number")]
    Fraction(String),
    /// A number that a double does not hold exactly.
    #[error("`{0}` is beyond 2^53 - 1; write it as text")]
    Great(String),
    /// Too deep.
    #[error("the value is nested deeper than {DEEPEST}")]
    Deep,
}

/// The canonical bytes of `value`.
pub fn to_vec(value: &Value) -> Result<Vec<u8>, CanonicalError> {
    check(value, DEEPEST)?;
    // Serialising text, whole numbers and containers into memory cannot fail once the value is checked.
    serde_json::to_vec(&Sorted(value)).map_err(|_| CanonicalError::Deep)
}

/// Whether `value` has a canonical form.
pub(crate) fn check(value: &Value, depth: usize) -> Result<(), CanonicalError> {
    let deeper = || depth.checked_sub(1).ok_or(CanonicalError::Deep);
    match value {
        Value::Number(number) => {
            let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            match size {
                None => Err(CanonicalError::Fraction(number.to_string())),
                Some(size) if size > GREATEST => Err(CanonicalError::Great(number.to_string())),
                Some(_) => Ok(()),
            }
        }
        Value::Array(items) => {
            let depth = deeper()?;
            items.iter().try_for_each(|item| check(item, depth))
        }
        Value::Object(fields) => {
            let depth = deeper()?;
            fields.values().try_for_each(|item| check(item, depth))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

struct Sorted<'a>(&'a Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            Value::Object(fields) => map(fields.iter().map(|(key, value)| (key, Sorted(value))), serializer),
            other => other.serialize(serializer),
        }
    }
}

/// Serialises a checked value with sorted keys.
pub(crate) fn value<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    check(value, DEEPEST).map_err(S::Error::custom)?;
    Sorted(value).serialize(serializer)
}

/// Serialises counts with sorted keys.
pub(crate) fn counts<S: Serializer>(
    counts: &BTreeMap<String, u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    map(counts.iter(), serializer)
}

fn map<'a, V: Serialize, S: Serializer>(
    fields: impl Iterator<Item = (&'a String, V)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut fields: Vec<_> = fields.collect();
    // Not the order of UTF-8: a character beyond U+FFFF begins with a surrogate, which is below U+E000.
    fields.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    let mut map = serializer.serialize_map(Some(fields.len()))?;
    for (key, value) in fields {
        map.serialize_entry(key, &value)?;
    }
    map.end()
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "a test that overflows fails")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn text(value: &Value) -> String {
        String::from_utf8(to_vec(value).unwrap()).unwrap()
    }

    /// RFC 8785, 3.2.3.
    #[test]
    fn keys_are_sorted_by_utf_16() {
        let value = json!({
            "\u{20ac}": "Euro Sign", "\r": "Carriage Return", "\u{fb33}": "Hebrew Letter Dalet With Dagesh",
            "1": "One", "\u{1f600}": "Emoji: Grinning Face", "\u{80}": "Control",
            "\u{f6}": "Latin Small Letter O With Diaeresis",
        });
        assert_eq!(
            text(&value),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
             \"\u{f6}\":\"Latin Small Letter O With Diaeresis\",\"\u{20ac}\":\"Euro Sign\",\
             \"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}"
        );
    }

    /// RFC 8785, 3.2.2, without its fractions.
    #[test]
    fn strings_and_literals_are_written_as_the_standard_says() {
        let value: Value = serde_json::from_str(
            r#"{ "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false] }"#,
        )
        .unwrap();
        assert_eq!(
            text(&value),
            "{\"literals\":[null,true,false],\"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
        assert_eq!(text(&json!("\u{8}\t\u{c}\u{1f}\u{7f}\u{2028}")), "\"\\b\\t\\f\\u001f\u{7f}\u{2028}\"");
    }

    #[test]
    fn numbers_that_readers_would_round_are_refused() {
        assert_eq!(text(&json!([0, -1, 9_007_199_254_740_991_u64])), "[0,-1,9007199254740991]");
        assert_eq!(to_vec(&json!(0.5)), Err(CanonicalError::Fraction("0.5".into())));
        assert_eq!(to_vec(&json!({"a": [1.0]})), Err(CanonicalError::Fraction("1.0".into())));
        assert_eq!(to_vec(&json!(1_u64 << 53)), Err(CanonicalError::Great((1_u64 << 53).to_string())));
        assert_eq!(to_vec(&json!(i64::MIN)), Err(CanonicalError::Great(i64::MIN.to_string())));
    }

    #[test]
    fn what_is_nested_too_deep_is_refused() {
        let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
        assert!(to_vec(&nested(DEEPEST)).is_ok());
        assert_eq!(to_vec(&nested(DEEPEST + 1)), Err(CanonicalError::Deep));
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-(GREATEST as i64)..=GREATEST as i64).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map(any::<String>(), inner, 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_canonical_form_says_the_same_and_is_stable(value in any_value()) {
            let bytes = to_vec(&value).unwrap();
            let again: Value = serde_json::from_slice(&bytes).unwrap();
            prop_assert_eq!(&again, &value);
            prop_assert!(!bytes.contains(&b'\n'));
            prop_assert_eq!(to_vec(&again).unwrap(), bytes);
        }
    }
}
