//! Any single change of any file of the ledger is found.

use crate::scene::{Scene, record, time};
use proptest::prelude::*;
use proptest::sample::Index;
use remit_ledger::Verifying;
use remit_store::{HeadState, Keys, Ledger, LedgerError, Report, checkpoint, verify};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A ledger as it was written: several segments, a sealed torn end, three checkpoints.
struct Written {
    files: BTreeMap<String, Vec<u8>>,
    key: Verifying,
    anchor: Vec<u8>,
}

fn written() -> &'static Written {
    static WRITTEN: OnceLock<Written> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let scene = Scene::new();
        let keys = Keys::load_or_create(&scene.keys()).unwrap();
        for _ in 0..3 {
            scene.append(4, 1200);
            checkpoint(&scene.open(), &keys, time(), &scene.anchor()).unwrap();
        }
        let last = scene.files().keys().filter(|name| name.starts_with('0')).count() as u64;
        scene.change(&scene.segment(last), |bytes| bytes.extend(b"{\"hash\":\"00"));
        scene.open().append_record(&record(0, 0, 10)).unwrap();
        let anchor = std::fs::read(scene.anchor()).unwrap();
        Written { files: scene.files(), key: keys.verifying(), anchor }
    })
}

/// These files as a ledger, appended to that often; `None` if they are no ledger any more.
fn verified(files: &BTreeMap<String, Vec<u8>>, appends: u64) -> Option<Report> {
    let written = written();
    let dir = tempfile::tempdir().unwrap();
    let (ledger, anchor) = (dir.path().join("ledger"), dir.path().join("anchor.json"));
    std::fs::create_dir(&ledger).unwrap();
    std::fs::write(&anchor, &written.anchor).unwrap();
    for (name, bytes) in files {
        std::fs::write(ledger.join(name), bytes).unwrap();
    }
    if appends > 0 {
        let ledger = match Ledger::create_or_open(&ledger) {
            Ok(ledger) => ledger.with_segments_of(1200),
            Err(LedgerError::NoId(_)) => return None,
            Err(error) => panic!("{error}"),
        };
        for n in 0..appends {
            ledger.append_record(&record(1, n, 10)).unwrap();
        }
    }
    match verify(&ledger, std::slice::from_ref(&written.key), Some(&anchor)) {
        Ok(report) => Some(report),
        Err(LedgerError::NoId(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Whether verifying these files tells of something that it did not tell of the ledger as it was written.
fn is_found(files: &BTreeMap<String, Vec<u8>>) -> bool {
    // Bytes that no record or checkpoint vouches for are told, but take nothing away.
    verified(files, 0)
        .is_none_or(|report| !report.is_intact() || report.unsealed > 0 || report.checkpoints.torn > 0)
}

/// Where the first byte is that is not what was written; none if it is not in the segments.
fn damaged_at(files: &BTreeMap<String, Vec<u8>>) -> Option<(u64, u64)> {
    let names: std::collections::BTreeSet<&String> = files.keys().chain(written().files.keys()).collect();
    names.into_iter().filter(|name| name.starts_with('0')).find_map(|name| {
        let (old, new) = (written().files.get(name)?, files.get(name).map_or(&[][..], Vec::as_slice));
        let at = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        (at < old.len() || at < new.len()).then(|| (name[..6].parse().unwrap(), at as u64))
    })
}

#[derive(Debug, Clone)]
enum Change {
    Flip(Index, u8),
    Drop(Index),
    Swap(Index, Index),
    Repeat(Index, Index),
    Insert(Index, Vec<u8>),
    CutAtLine(Index),
    Cut(Index),
    Remove,
}

fn any_change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        4 => (at(), 0_u8..8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        1 => at().prop_map(Change::Drop),
        1 => (at(), at()).prop_map(|(a, b)| Change::Swap(a, b)),
        1 => (at(), at()).prop_map(|(a, b)| Change::Repeat(a, b)),
        1 => (at(), proptest::collection::vec(any::<u8>(), 4..40)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        1 => at().prop_map(Change::CutAtLine),
        1 => at().prop_map(Change::Cut),
        1 => Just(Change::Remove),
    ]
}

fn apply(bytes: &[u8], change: &Change) -> Option<Vec<u8>> {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let line = |at: &Index| at.index(lines.len());
    match change {
        Change::Flip(at, bit) => {
            let mut bytes = bytes.to_vec();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            return Some(bytes);
        }
        Change::Cut(at) => return Some(bytes[..at.index(bytes.len())].to_vec()),
        Change::Remove => return None,
        Change::Drop(at) => drop(lines.remove(line(at))),
        Change::Swap(a, b) => {
            let (a, b) = (line(a), line(b));
            lines.swap(a, b);
        }
        Change::Repeat(a, b) => {
            let (a, b) = (line(a), line(b));
            lines.insert(b, lines[a]);
        }
        Change::Insert(at, new) => {
            let new = [new.as_slice(), b"\n"].concat();
            let at = line(at);
            return Some([&lines[..at].concat(), new.as_slice(), &lines[at..].concat()].concat());
        }
        Change::CutAtLine(at) => lines.truncate(line(at)),
    }
    Some(lines.concat())
}

#[test]
fn the_ledger_as_it_was_written_is_intact() {
    assert!(!is_found(&written().files));
    assert!(written().files.len() > 5);
    let report = verified(&written().files, 0).unwrap();
    assert_eq!((report.head, report.sealed.len(), report.checkpoints.ok), (HeadState::Fits, 1, 3));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn any_single_change_is_found(file in any::<Index>(), change in any_change()) {
        let mut files = written().files.clone();
        let name = files.keys().nth(file.index(files.len())).unwrap().clone();
        match apply(&files[&name], &change) {
            Some(bytes) => files.insert(name.clone(), bytes),
            None => files.remove(&name),
        };
        prop_assume!(files != written().files);
        prop_assert!(is_found(&files), "{name}: {change:?}");
    }

    #[test]
    fn any_single_change_is_found_after_appends_and_in_its_place(
        file in any::<Index>(),
        change in any_change(),
        appends in 1_u64..4,
    ) {
        let mut files = written().files.clone();
        let name = files.keys().nth(file.index(files.len())).unwrap().clone();
        match apply(&files[&name], &change) {
            Some(bytes) => files.insert(name.clone(), bytes),
            None => files.remove(&name),
        };
        prop_assume!(files != written().files);
        if let Some(report) = verified(&files, appends) {
            prop_assert!(!report.is_intact(), "{}: {:?}: {:#?}", name, change, report);
            if let Some(at) = damaged_at(&files) {
                let first = report.first_bad.unwrap();
                prop_assert!((first.segment, first.bad.offset) <= at, "{}: {:?}: {:?} {:#?}", name, change, at, report);
            }
        }
    }
}

#[test]
fn every_flipped_bit_of_every_file_is_found() {
    for (name, bytes) in &written().files {
        // Every byte, one bit each in turn: all bits would take minutes.
        for at in 0..bytes.len() {
            let mut files = written().files.clone();
            files.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            assert!(is_found(&files), "{name}, byte {at}");
        }
    }
}

#[test]
fn a_file_that_lacks_its_last_byte_or_has_one_more_is_found() {
    for (name, bytes) in &written().files {
        let with = |bytes: Vec<u8>| {
            let mut files = written().files.clone();
            files.insert(name.clone(), bytes);
            is_found(&files)
        };
        assert!(with(bytes[..bytes.len() - 1].to_vec()), "{name}, one less");
        for more in [b"\n", b"}"] {
            assert!(with([bytes.as_slice(), more].concat()), "{name}, one more");
        }
    }
}

#[test]
fn a_segment_that_nobody_wrote_is_found() {
    for (name, content) in [("000099.jsonl", &b""[..]), ("000099.jsonl", b"x"), ("000001.jsonl", b"")] {
        let mut files = written().files.clone();
        files.insert(name.to_owned(), content.to_vec());
        assert!(is_found(&files), "{name}");
    }
}

#[test]
fn bytes_added_at_the_end_are_told() {
    let scene = Scene::filled(3, u64::MAX);
    scene.change(&scene.segment(1), |bytes| {
        let first = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap().to_vec();
        bytes.extend(first);
    });
    assert!(!scene.report().is_intact(), "a whole line");
    for (bytes, is_tear) in [(&b"half a line"[..], false), (b"{\"hash\":\"00", true)] {
        let scene = Scene::filled(3, u64::MAX);
        scene.change(&scene.segment(1), |all| all.extend(bytes));
        let report = scene.report();
        assert!(!report.is_clean());
        assert_eq!((report.is_intact(), report.unsealed > 0), (is_tear, is_tear));
    }
}
