//! Bad and hostile documents: each is refused with an error whose place lies inside the text, and nothing
//! panics, overflows or takes for ever.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the corpus is read from its folder")]

use proptest::prelude::*;
use remit_core::{Diagnostic, Place, Severity};

/// Every line that a place may name exists, and every column lies on it or right behind it.
fn inside(text: &[u8], place: &Place) -> bool {
    if place.line == 0 {
        return place.column == 0;
    }
    let text = String::from_utf8_lossy(text);
    let Some(line) = text.split('\n').nth(place.line as usize - 1) else { return false };
    place.column >= 1 && place.column as usize <= line.chars().count() + 1 && place.width >= 1
}

fn findings(text: &[u8]) -> Vec<Diagnostic> {
    remit_config::load("remit.yaml", text).err().unwrap_or_default()
}

fn all_inside(text: &[u8], findings: &[Diagnostic]) -> bool {
    let related = findings.iter().flat_map(|finding| &finding.related).map(|(place, _)| place);
    findings.iter().map(|finding| &finding.place).chain(related).all(|place| inside(text, place))
}

#[test]
fn each_bad_document_is_refused_for_the_reason_in_its_name() {
    let mut seen = 0;
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let code = name.split('.').next().unwrap();
        let text = std::fs::read(&path).unwrap();
        let findings = findings(&text);
        let codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
        assert!(codes.contains(&code), "{name}: {findings:#?}");
        assert!(all_inside(&text, &findings), "{name}: {findings:#?}");
        assert!(
            findings.iter().all(|finding| !finding.message.contains(['\n', '\x1b'])),
            "{name}: {findings:#?}"
        );
        seen += 1;
    }
    assert!(seen >= 60, "{seen}");
}

#[test]
fn sixty_four_mebibytes_are_refused_unread() {
    let findings = findings(&vec![b'['; 64 << 20]);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].code, "too-large");
}

#[test]
fn a_great_text_of_one_kind_is_refused() {
    for piece in [
        "[", "{", "- ", "? ", "a: ", "a:\n", "\"", "'", "&a ", "!", "#", "\t", "|\n", "---\n", "- - ",
        "[a, ", "[]: ", "*a",
    ] {
        let text = piece.repeat((1 << 20) / piece.len());
        let findings = findings(text.as_bytes());
        assert!(!findings.is_empty(), "{piece:?}");
        assert!(all_inside(text.as_bytes(), &findings), "{piece:?}: {findings:?}");
    }
}

#[test]
fn more_findings_than_a_person_reads_are_counted() {
    let text = format!("version: \"1.0\"\n{}", (0..1000).map(|i| format!("key{i}: 1\n")).collect::<String>());
    let findings = findings(text.as_bytes());
    assert_eq!(findings.len(), 101);
    let last = findings.last().unwrap();
    assert_eq!((last.code, last.severity), ("more-findings", Severity::Note));
    assert_eq!(last.message, "900 more findings are not shown");
}

#[test]
fn what_stands_in_a_message_is_cut_and_escaped() {
    let text = format!("version: \"1.0\"\n\"\\e[2J{}\": 1\n", "x".repeat(500));
    let findings = findings(text.as_bytes());
    assert!(findings[0].message.contains("\\x1b[2Jxxx"), "{findings:?}");
    assert!(findings[0].message.len() < 200, "{findings:?}");
}

const WHOLE: &str = include_str!("whole.yaml");

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_bytes_are_refused_or_read(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let findings = findings(&text);
        prop_assert!(all_inside(&text, &findings), "{findings:?}");
    }

    #[test]
    fn anything_made_of_yaml_signs_is_refused_or_read(
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "version: \"1.0\"", "agents", "a", ":", ": ", "\n", "\n  ", "- ", "[", "]", "{", "}", ", ", "\"", "'",
            "&x ", "*x", "!!str ", "!y ", "<<", "|\n", ">-\n", "---\n", "...\n", "# ", "\t", "~", "null", "? ",
            "permissions", "path", "access", "none", "\r\n", "\u{feff}", "é", "𝄞", "\\", "%", "@", "`",
        ]), 0..60)
    ) {
        let text = pieces.concat();
        let findings = findings(text.as_bytes());
        prop_assert!(all_inside(text.as_bytes(), &findings), "{text:?}: {findings:?}");
    }

    #[test]
    fn a_good_document_with_damage_is_refused_or_read(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..6)
    ) {
        let mut text = WHOLE.as_bytes().to_vec();
        for (index, byte, kind) in damage {
            if text.is_empty() { break }
            let at = index.index(text.len());
            match kind {
                0 => text[at] = byte,
                1 => { text.remove(at); }
                2 => text.insert(at, byte),
                _ => text.truncate(at),
            }
        }
        let findings = findings(&text);
        prop_assert!(all_inside(&text, &findings), "{findings:?}");
    }
}
