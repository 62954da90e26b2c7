//! Readers, also beside writers.

use crate::scene::{Scene, record, time};
use remit_ledger::{Fault, Head, encode, link};
use remit_store::{Keys, LedgerError, Piece, Reader, checkpoint, verify};
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

#[test]
fn a_lenient_reader_goes_on_behind_damage_and_says_what_is_chained() {
    let scene = Scene::filled(9, u64::MAX);
    scene.change(&scene.segment(1), |bytes| {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        // The fourth is altered and can still be read, a line is slipped in, and the seventh is gone.
        let fourth = String::from_utf8(lines[3].to_vec()).unwrap().replace("access", "change").into_bytes();
        *bytes =
            [&lines[..3].concat(), &fourth, b"x\n".as_slice(), &lines[4..6].concat(), &lines[7..].concat()]
                .concat();
    });
    let told = |from| {
        let show = |piece| match piece {
            Piece::Record(entry) => format!("{}", entry.seq),
            Piece::Unchained(entry) => format!("{}?", entry.seq),
            Piece::Damaged(at) => format!("{:?}", at.bad.fault),
        };
        Reader::lenient(&scene.path(), from)
            .unwrap()
            .map(|piece| show(piece.unwrap()))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let gap = "Gap { found: 8 }";
    // The head counts more bytes than there are.
    assert_eq!(told(0), format!("1 2 3 Altered 4? 5? 6 {gap} 8? 9 Truncated"));
    scene.append(1, u64::MAX);
    assert_eq!(told(0), format!("1 2 3 Altered 4? 5? 6 {gap} 8? 9 10 11"));
    assert_eq!(told(9), format!("Altered {gap} 9 10 11"));
}

#[test]
fn a_lenient_follower_sees_what_is_written_behind_damage() {
    let scene = Scene::filled(5, u64::MAX);
    scene.change(&scene.segment(1), |bytes| bytes[300] ^= 1);
    let seen = Cell::new(0);
    let follow = Reader::lenient(&scene.path(), 0).unwrap().follow(|| seen.get() == 7).unwrap();
    std::thread::scope(|scope| {
        for piece in follow {
            if let Piece::Record(entry) = piece.unwrap() {
                seen.set(entry.seq);
            }
            if seen.get() == 5 {
                scope.spawn(|| scene.append(2, u64::MAX));
            }
        }
    });
    assert_eq!(seen.get(), 7);
}

#[test]
fn where_there_is_no_ledger_nothing_is_made_and_that_is_said() {
    let scene = Scene::new();
    let none = |scene: &Scene| {
        assert!(matches!(Reader::open(&scene.path(), 0), Err(LedgerError::NoLedger(_))));
        assert!(matches!(verify(&scene.path(), &[], None), Err(LedgerError::NoLedger(_))));
    };
    none(&scene);
    assert!(!scene.path().exists());
    std::fs::create_dir(scene.path()).unwrap();
    none(&scene);
    assert_eq!(scene.files().len(), 0);
    let lost = Scene::filled(1, u64::MAX);
    std::fs::remove_file(lost.path().join("id")).unwrap();
    assert!(matches!(Reader::open(&lost.path(), 0), Err(LedgerError::NoId(_))));
}

/// All that reads, on a ledger without a head too.
fn read_all(scene: &Scene) {
    let key = Keys::load_public(&scene.keys()).unwrap().unwrap();
    let report = verify(&scene.path(), &[key], Some(&scene.anchor())).unwrap();
    assert_eq!((report.records, report.checkpoints.ok), (3, 1));
    assert_eq!(from(scene, 0), [1, 2, 3]);
}

#[test]
fn reading_writes_nothing_and_needs_no_disk_that_can_be_written() {
    let scene = Scene::filled(3, u64::MAX);
    checkpoint(&scene.open(), &Keys::load_or_create(&scene.keys()).unwrap(), time(), &scene.anchor())
        .unwrap();
    let root = scene.anchor().parent().unwrap().to_owned();
    let stamp = || {
        let entry = |entry: std::io::Result<std::fs::DirEntry>| {
            let entry = entry.unwrap();
            (entry.file_name(), entry.metadata().unwrap().modified().unwrap())
        };
        let mut all: Vec<_> = [&root, &scene.path(), &scene.keys()]
            .into_iter()
            .flat_map(|folder| std::fs::read_dir(folder).unwrap().map(entry))
            .collect();
        all.sort();
        (all, scene.files())
    };
    let before = stamp();
    read_all(&scene);
    assert_eq!(stamp(), before);

    let bound = rustix::mount::mount_bind(&root, &root).and_then(|()| {
        let flags = rustix::mount::MountFlags::RDONLY | rustix::mount::MountFlags::BIND;
        rustix::mount::mount_remount(&root, flags, c"").inspect_err(|_| unmount(&root))
    });
    if let Err(error) = bound {
        eprintln!("skipped: cannot mount a folder for reading only: {error}");
    } else {
        let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            assert!(std::fs::write(root.join("x"), "").is_err());
            read_all(&scene);
        }));
        unmount(&root);
        read.unwrap();
    }
    std::fs::remove_file(scene.path().join("head")).unwrap();
    let report = verify(&scene.path(), &[], None).unwrap();
    assert_eq!(report.head, remit_store::HeadState::Unreadable);
    assert!(!scene.path().join("head").exists());
}

fn unmount(path: &std::path::Path) {
    rustix::mount::unmount(path, rustix::mount::UnmountFlags::DETACH).unwrap();
}
