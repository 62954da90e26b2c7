//! Readers, also beside writers.

use crate::scene::{Scene, record};
use remit_ledger::{Fault, Head, encode, link};
use remit_store::{LedgerError, Reader};
use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::Write as _;

fn from(scene: &Scene, from: u64) -> Vec<u64> {
    Reader::open(&scene.path(), from).unwrap().map(|entry| entry.unwrap().seq).collect()
}

#[test]
fn reading_begins_at_any_record_in_any_segment() {
    let scene = Scene::filled(20, 1500);
    for start in [0, 1, 2, 5, 10, 19, 20] {
        assert_eq!(from(&scene, start), (start.max(1)..=20).collect::<Vec<_>>(), "from {start}");
    }
    assert_eq!(from(&scene, 21), Vec::<u64>::new());
}

#[test]
fn an_entry_is_the_record_that_was_written() {
    let scene = Scene::new();
    let receipt = scene.open().append_record(&record(3, 4, 5)).unwrap();
    let entry = Reader::open(&scene.path(), 0).unwrap().next().unwrap().unwrap();
    assert_eq!((entry.seq, entry.hash), (receipt.seq, receipt.hash));
    assert_eq!(entry.decode().unwrap(), record(3, 4, 5));
}

#[test]
fn a_reader_stops_at_the_fault_and_does_not_go_on_after_it() {
    let scene = Scene::filled(9, u64::MAX);
    scene.change(&scene.segment(1), |bytes| {
        let at = bytes.len() / 2;
        bytes[at] ^= 4;
    });
    let read: Vec<_> = Reader::open(&scene.path(), 0).unwrap().collect();
    let (last, good) = read.split_last().unwrap();
    assert!(good.iter().all(Result::is_ok) && good.len() < 9);
    assert!(matches!(last, Err(LedgerError::Bad { segment: 1, bad }) if bad.seq == good.len() as u64 + 1));
}

#[test]
fn a_fault_in_the_last_record_is_not_passed_over() {
    let scene = Scene::filled(3, u64::MAX);
    scene.change(&scene.segment(1), |bytes| {
        let at = bytes.len() - 30;
        bytes[at] ^= 1;
    });
    let error = Reader::open(&scene.path(), 0).unwrap().find_map(Result::err).unwrap();
    assert!(matches!(error, LedgerError::Bad { bad, .. } if bad.fault == Fault::Altered));
}

#[test]
fn a_reader_waits_for_the_end_of_a_line_that_is_being_written() {
    let scene = Scene::filled(2, u64::MAX);
    let head = Head::decode(&std::fs::read(scene.path().join("head")).unwrap()).unwrap();
    let mut line = Vec::new();
    link(&mut line, &head.hash, head.next, &encode(&record(0, 2, 10)).unwrap());
    let mut file = OpenOptions::new().append(true).open(scene.segment(1)).unwrap();
    let mut reader = Reader::open(&scene.path(), 0).unwrap();
    for part in line.chunks(50) {
        reader.by_ref().for_each(|entry| assert!(entry.unwrap().seq < 3));
        file.write_all(part).unwrap();
    }
    assert_eq!(reader.next().unwrap().unwrap().seq, 3);
    assert!(reader.next().is_none());
}

#[test]
fn a_follower_sees_what_is_written_across_segments_and_ends_when_told() {
    let scene = Scene::filled(3, 1500);
    let seen = Cell::new(0);
    let follow = Reader::open(&scene.path(), 2).unwrap().follow(|| seen.get() == 60).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| scene.append(57, 1500));
        for (entry, expected) in follow.zip(2..) {
            let seq = entry.unwrap().seq;
            assert_eq!(seq, expected);
            seen.set(seq);
        }
    });
    assert_eq!(seen.get(), 60);
}

#[test]
fn a_follower_passes_a_torn_line_that_is_sealed() {
    let scene = Scene::filled(2, u64::MAX);
    let seen = Cell::new(0);
    let follow = Reader::open(&scene.path(), 0).unwrap().follow(|| seen.get() == 4).unwrap();
    OpenOptions::new().append(true).open(scene.segment(1)).unwrap().write_all(b"{\"hash\":\"00").unwrap();
    std::thread::scope(|scope| {
        for entry in follow {
            seen.set(entry.unwrap().seq);
            if seen.get() == 2 {
                scope.spawn(|| scene.append(1, u64::MAX));
            }
        }
    });
    assert_eq!(seen.get(), 4);
}

#[test]
fn a_follower_of_an_altered_ledger_ends_with_the_fault() {
    let scene = Scene::filled(5, u64::MAX);
    scene.change(&scene.segment(1), |bytes| bytes[300] ^= 1);
    let follow = Reader::open(&scene.path(), 0).unwrap().follow(|| false).unwrap();
    assert!(matches!(follow.last(), Some(Err(LedgerError::Bad { .. }))));
}
