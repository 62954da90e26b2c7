//! States that a killed writer, a power loss or a careless hand leaves behind, made by hand.

use crate::scene::{Scene, record, time};
use remit_ledger::{Damage, Event, Fault, Head, Lost, Torn, encode, link};
use remit_store::{HeadState, Ledger, LedgerError, Reader};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

fn head(scene: &Scene) -> Head {
    Head::decode(&std::fs::read(scene.path().join("head")).unwrap()).unwrap()
}

fn push(scene: &Scene, segment: u64, bytes: &[u8]) {
    OpenOptions::new().append(true).open(scene.segment(segment)).unwrap().write_all(bytes).unwrap();
}

/// The line that would come next.
fn next_line(scene: &Scene) -> Vec<u8> {
    let head = head(scene);
    let mut line = Vec::new();
    link(&mut line, &head.hash, head.next, &encode(&record(7, 7, 10)).unwrap());
    line
}

#[test]
fn a_new_ledger_is_empty_private_and_verifies() {
    let scene = Scene::filled(0, u64::MAX);
    let report = scene.report();
    assert!(report.is_clean() && report.records == 0, "{report:#?}");
    assert!(scene.open().is_empty().unwrap());
    scene.append(1, u64::MAX);
    let mode = |path: std::path::PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(scene.path()), 0o700);
    for name in ["id", "head", "000001.jsonl"] {
        assert_eq!(mode(scene.path().join(name)), 0o600, "{name}");
    }
}

#[test]
fn a_killed_writer_that_wrote_its_line_but_not_the_head_loses_nothing() {
    let scene = Scene::filled(3, u64::MAX);
    push(&scene, 1, &next_line(&scene));
    assert_eq!(scene.report().head, HeadState::Behind { records: 1 });
    assert_eq!(scene.open().len().unwrap(), 4);
    assert_eq!(scene.open().append_record(&record(0, 4, 10)).unwrap().seq, 5);
    assert!(scene.report().is_clean());
    assert_eq!(scene.numbers(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_line_that_lacks_only_its_newline_is_completed() {
    let scene = Scene::filled(3, u64::MAX);
    let line = next_line(&scene);
    push(&scene, 1, line.strip_suffix(b"\n").unwrap());
    let report = scene.report();
    assert!(report.is_intact() && report.unsealed > 0, "{report:#?}");
    assert_eq!(scene.open().append_record(&record(0, 4, 10)).unwrap().seq, 5);
    assert!(scene.report().is_clean());
    assert_eq!(scene.numbers(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_torn_line_stays_and_is_sealed() {
    let scene = Scene::filled(3, u64::MAX);
    let torn = &next_line(&scene)[..77];
    push(&scene, 1, torn);
    let before = std::fs::read(scene.segment(1)).unwrap();
    let report = scene.report();
    assert!(report.is_intact() && report.unsealed == 77, "{report:#?}");

    assert_eq!(scene.open().append_record(&record(0, 4, 10)).unwrap().seq, 5);
    let after = std::fs::read(scene.segment(1)).unwrap();
    assert!(after.starts_with(&before), "nothing was rewritten");
    let report = scene.report();
    let sha256 = remit_ledger::Hash::of(&[torn]);
    assert_eq!(report.sealed, [(4, Torn { bytes: 77, sha256 })]);
    assert!(report.is_intact() && !report.is_clean(), "{report:#?}");
    let seal = Reader::open(&scene.path(), 4).unwrap().next().unwrap().unwrap();
    let seal = seal.decode().unwrap();
    assert_eq!((seal.event, seal.time), (Event::LedgerSealed, time()));
    assert_eq!(scene.numbers(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_seal_that_was_itself_torn_is_sealed_along() {
    let scene = Scene::filled(3, u64::MAX);
    for torn in ["{\"hash\":\"aa", "\n", "{\"hash\":\"bb\n", "{\"ha"] {
        push(&scene, 1, torn.as_bytes());
        let report = scene.report();
        assert!(report.is_intact() && report.unsealed > 0, "{report:#?}");
    }
    scene.append(1, u64::MAX);
    assert_eq!(scene.report().sealed.len(), 1);
    assert_eq!(scene.numbers(), [1, 2, 3, 4, 5]);
}

/// A kill at any byte of a line, and then at any byte of the seal that closes it off.
#[test]
fn a_ledger_stays_intact_wherever_a_writer_and_then_a_sealer_is_killed() {
    let whole = Scene::filled(3, u64::MAX);
    let begun = std::fs::read(whole.segment(1)).unwrap();
    let before = whole.files();
    let line = next_line(&whole);
    push(&whole, 1, &line[..120]);
    whole.append(1, u64::MAX);
    let sealed = std::fs::read(whole.segment(1)).unwrap();
    let seal = sealed.split_inclusive(|byte| *byte == b'\n').nth(4).unwrap().len();
    let line_cuts = (1..line.len()).map(|cut| [&begun, &line[..cut]].concat());
    let seal_cuts = (0..=1 + seal).map(|cut| sealed[..begun.len() + 120 + cut].to_vec());
    let scene = Scene::filled(0, u64::MAX);
    for bytes in line_cuts.chain(seal_cuts) {
        before.iter().for_each(|(name, bytes)| std::fs::write(scene.path().join(name), bytes).unwrap());
        std::fs::write(scene.segment(1), &bytes).unwrap();
        let found = scene.report();
        assert!(found.is_intact(), "{} bytes: {found:#?}", bytes.len());
        assert!(Reader::open(&scene.path(), 0).unwrap().all(|entry| entry.is_ok()));
        scene.append(1, u64::MAX);
        let report = scene.report();
        assert!(report.is_intact() && report.unsealed == 0, "{} bytes: {report:#?}", bytes.len());
        assert!(scene.numbers().last() >= Some(&5));
    }
}

#[test]
fn a_seal_that_was_written_before_a_kill_is_taken_over() {
    let scene = Scene::filled(3, u64::MAX);
    push(&scene, 1, b"{\"hash");
    let before = std::fs::read(scene.path().join("head")).unwrap();
    scene.append(1, u64::MAX);
    std::fs::write(scene.path().join("head"), before).unwrap();
    assert_eq!(scene.report().head, HeadState::Behind { records: 2 });
    scene.append(1, u64::MAX);
    assert_eq!(scene.report().sealed.len(), 1);
    assert_eq!(scene.numbers(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn lines_that_a_power_loss_took_are_told_and_their_numbers_not_used_again() {
    let scene = Scene::filled(5, u64::MAX);
    let old = head(&scene);
    scene.change(&scene.segment(1), |bytes| {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        *bytes = [&lines[..3].concat(), &lines[3][..50]].concat();
    });
    let report = scene.report();
    assert_eq!(report.first_bad.unwrap().bad.fault, Fault::Malformed);
    assert!(!report.is_intact());

    let from = report.first_bad.unwrap().bad.offset;
    let rest = std::fs::read(scene.segment(1)).unwrap().split_off(usize::try_from(from).unwrap());
    assert_eq!(scene.open().append_record(&record(0, 4, 10)).unwrap().seq, 7);
    let report = scene.report();
    assert_eq!(report.lost, [(6, Lost { from: 4, to: 5, head: old.hash })]);
    let sha256 = remit_ledger::Hash::of(&[&rest]);
    let damage = Damage { bytes: 50, lines: 1, offset: from, segment: 1, seq: 4, sha256 };
    assert_eq!(report.damaged, [(6, damage)]);
    assert!(report.sealed.is_empty(), "nobody was killed: the head counted what is gone");
    assert_eq!(scene.stays_damaged(), (4, Fault::Malformed));
    assert_eq!(scene.readable(), [1, 2, 3, 6, 7, 8, 9]);
}

#[test]
fn a_ledger_that_was_cut_at_a_line_is_never_intact_again() {
    let scene = Scene::filled(5, u64::MAX);
    scene.change(&scene.segment(1), |bytes| {
        let end = bytes.split_inclusive(|byte| *byte == b'\n').take(3).map(<[u8]>::len).sum();
        bytes.truncate(end);
    });
    let bad = scene.report().first_bad.unwrap().bad;
    assert_eq!((bad.seq, bad.fault), (4, Fault::Truncated));
    assert_eq!(scene.stays_damaged(), (4, Fault::Lost));
    assert_eq!(scene.report().lost.len(), 1);
    assert_eq!(scene.readable(), [1, 2, 3, 6, 7, 8, 9]);
}

#[test]
fn a_newline_that_the_head_counted_is_missed() {
    let scene = Scene::filled(3, u64::MAX);
    scene.change(&scene.segment(1), |bytes| bytes.truncate(bytes.len() - 1));
    assert_eq!(scene.report().first_bad.unwrap().bad.seq, 3);
    assert_eq!(scene.stays_damaged(), (3, Fault::Told));
    assert_eq!(scene.readable(), (1..=7).collect::<Vec<_>>());
}

#[test]
fn a_record_dropped_from_the_middle_is_named_for_good_and_what_follows_stays_readable() {
    let scene = Scene::filled(40, u64::MAX);
    let mut gone = 0;
    scene.change(&scene.segment(1), |bytes| {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        gone = lines[..9].concat().len() as u64;
        *bytes = [lines[..9].concat(), lines[10..].concat()].concat();
    });
    assert_eq!(scene.stays_damaged(), (10, Fault::Gap { found: 11 }));
    let report = scene.report();
    assert_eq!((report.records, report.behind), (9, 34), "30 that were there, the seal, three more");
    let (seal, damage) = report.damaged[0];
    assert_eq!((seal, damage.seq, damage.offset, damage.lines), (41, 10, gone, 30));
    assert!(report.sealed.is_empty() && report.lost.is_empty(), "{report:#?}");
    assert_eq!(scene.readable(), (1..=44).filter(|seq| *seq != 10).collect::<Vec<_>>());
}

#[test]
fn whole_lines_that_do_not_chain_are_no_killed_writer() {
    let scene = Scene::filled(2, u64::MAX);
    let other = Scene::filled(4, u64::MAX);
    let forged = std::fs::read(other.segment(1)).unwrap();
    let forged = forged.split_inclusive(|byte| *byte == b'\n').nth(2).unwrap().to_vec();
    for bad in [b"garbage\n".to_vec(), b"garbage".to_vec(), forged, b"\n".to_vec(), vec![0; 4096]] {
        let scene = Scene::filled(2, u64::MAX);
        push(&scene, 1, &bad);
        let report = scene.report();
        assert!(!report.is_intact() && report.unsealed == 0, "{report:#?}");
        assert_eq!(report.first_bad.unwrap().bad.seq, 3);
        assert_eq!(scene.stays_damaged().0, 3);
        let report = scene.report();
        assert!(report.sealed.is_empty() && report.damaged.len() == 1, "{report:#?}");
        assert_eq!(report.damaged[0].1.bytes, bad.len() as u64);
    }
    scene.append(1, u64::MAX);
    assert!(scene.report().is_clean());
}

#[test]
fn damage_behind_which_a_writer_is_killed_is_told_once() {
    let scene = Scene::filled(3, u64::MAX);
    push(&scene, 1, b"garbage\n");
    scene.append(1, u64::MAX);
    push(&scene, 1, &next_line(&scene)[..90]);
    scene.append(1, u64::MAX);
    let report = scene.report();
    assert_eq!((report.damaged.len(), report.sealed.len()), (1, 1));
    assert_eq!(report.first_bad.unwrap().bad.seq, 4);
}

#[test]
fn the_last_segment_gone_is_told_and_the_chain_goes_on_from_the_one_before() {
    let scene = Scene::filled(12, 1500);
    let last = head(&scene).segment;
    assert!(last > 2);
    std::fs::remove_file(scene.segment(last)).unwrap();
    let report = scene.report();
    assert_eq!(report.first_bad.unwrap().bad.fault, Fault::NoSegment);
    assert_eq!(scene.stays_damaged().1, Fault::Lost);
    assert_eq!(scene.report().lost.len(), 1);
    assert_eq!(*scene.readable().last().unwrap(), 16);
}

#[test]
fn a_segment_in_the_middle_that_is_gone_is_named() {
    let scene = Scene::filled(12, 1500);
    std::fs::remove_file(scene.segment(2)).unwrap();
    let bad = scene.report().first_bad.unwrap();
    assert_eq!((bad.segment, bad.bad.fault), (2, Fault::NoSegment));
    let error = Reader::open(&scene.path(), 0).unwrap().find_map(Result::err);
    assert!(matches!(error, Some(LedgerError::Bad { segment: 2, bad }) if bad.fault == Fault::NoSegment));
    assert_eq!(scene.stays_damaged().1, Fault::NoSegment);
    assert_eq!(*scene.readable().last().unwrap(), 15, "the rest is there, and so are three more");
}

#[test]
fn a_head_that_is_gone_damaged_or_emptied_is_made_anew_and_that_is_told() {
    for damage in [None, Some(&b"REMITHD2 garbage"[..]), Some(b"")] {
        let scene = Scene::filled(12, 1500);
        match damage {
            None => std::fs::remove_file(scene.path().join("head")).unwrap(),
            Some(bytes) => std::fs::write(scene.path().join("head"), bytes).unwrap(),
        }
        assert_eq!(scene.report().head, HeadState::Unreadable);
        assert!(!scene.report().is_intact());
        assert_eq!(scene.open().append_record(&record(0, 0, 10)).unwrap().seq, 14);
        let report = scene.report();
        assert_eq!(report.rebuilt, [13]);
        assert_eq!(scene.stays_damaged(), (13, Fault::HeadLost));
        assert_eq!(scene.readable(), (1..=16).collect::<Vec<_>>());
    }
}

#[test]
fn a_head_put_back_to_an_older_state_forks_nothing() {
    // Once in the middle of a segment that is full by now, once at its very end.
    for exact in [false, true] {
        let scene = Scene::filled(2, 1500);
        let old = std::fs::read(scene.path().join("head")).unwrap();
        scene.append(10, 1500);
        if exact {
            let lines = std::fs::read(scene.segment(1)).unwrap();
            let count = lines.iter().filter(|byte| **byte == b'\n').count() as u64;
            let again = Scene::under_the_id_of(&scene);
            again.append(2, 1500);
            again.append(count - 2, 1500);
            std::fs::copy(again.path().join("head"), scene.path().join("head")).unwrap();
        } else {
            std::fs::write(scene.path().join("head"), old).unwrap();
        }
        scene.append(1, 1500);
        let report = scene.report();
        assert!(report.rebuilt == [13] && report.faults == 1, "exact {exact}: {report:#?}");
        assert_eq!(scene.readable(), (1..=14).collect::<Vec<_>>());
    }
}

#[test]
fn a_kill_between_the_new_segment_and_its_head_loses_nothing() {
    let scene = Scene::filled(3, u64::MAX);
    std::fs::write(scene.segment(2), "").unwrap();
    // And another kill, in the segment that was to be left.
    push(&scene, 1, &next_line(&scene)[..99]);
    let report = scene.report();
    assert!(report.is_intact() && report.unsealed == 99, "{report:#?}");
    assert_eq!(Reader::open(&scene.path(), 0).unwrap().filter(Result::is_ok).count(), 3);
    scene.append(1, u64::MAX);
    assert!(scene.report().is_intact(), "{:#?}", scene.report());
    scene.append(3, 1);
    let report = scene.report();
    assert!(report.is_intact(), "{report:#?}");
    assert_eq!(scene.numbers()[..3], [1, 2, 3]);
}

#[test]
fn a_segment_removed_under_an_open_ledger_is_not_written_into_the_void() {
    let scene = Scene::filled(0, u64::MAX);
    let ledger = scene.open();
    ledger.append_record(&record(0, 0, 10)).unwrap();
    std::fs::remove_file(scene.segment(1)).unwrap();
    let receipt = ledger.append_record(&record(0, 1, 10)).unwrap();
    assert_eq!(receipt.seq, 3);
    let report = scene.report();
    assert!(!report.is_intact() && report.lost.len() == 1, "{report:#?}");
}

#[test]
fn all_lines_and_the_head_gone_are_told_of_a_ledger_that_keeps_its_id() {
    let scene = Scene::filled(5, u64::MAX);
    std::fs::remove_file(scene.segment(1)).unwrap();
    std::fs::remove_file(scene.path().join("head")).unwrap();
    assert!(!scene.report().is_intact());
    assert_eq!(scene.stays_damaged(), (1, Fault::HeadLost));
}

#[test]
fn a_head_that_counts_out_of_reach_is_not_believed() {
    let scene = Scene::filled(3, u64::MAX);
    let bad = Head { next: u64::MAX, length: 1, ..head(&scene) };
    std::fs::write(scene.path().join("head"), bad.encode()).unwrap();
    assert_eq!(scene.stays_damaged(), (4, Fault::HeadLost));
    assert_eq!(scene.readable(), (1..=7).collect::<Vec<_>>());
}

#[test]
fn a_creator_killed_before_it_gave_the_ledger_its_id_leaves_no_ledger() {
    let scene = Scene::filled(0, u64::MAX);
    std::fs::remove_file(scene.path().join("id")).unwrap();
    assert!(matches!(Reader::open(&scene.path(), 0), Err(LedgerError::NoLedger(_))));
    scene.append(2, u64::MAX);
    assert!(scene.report().is_clean());
}

#[test]
fn a_folder_removed_under_an_open_ledger_is_an_error() {
    let scene = Scene::filled(1, u64::MAX);
    let ledger = scene.open();
    std::fs::remove_dir_all(scene.path()).unwrap();
    assert!(matches!(ledger.append_record(&record(0, 1, 10)), Err(LedgerError::Io { .. })));
}

#[test]
fn a_ledger_without_its_id_is_an_error_that_says_where_it_can_be_found() {
    let scene = Scene::filled(1, u64::MAX);
    std::fs::remove_file(scene.path().join("id")).unwrap();
    let error = Ledger::create_or_open(&scene.path()).unwrap_err();
    assert!(matches!(error, LedgerError::NoId(_)));
    assert!(error.to_string().contains("checkpoints.jsonl"), "{error}");
}

#[test]
fn bytes_that_would_break_a_line_are_refused_and_nothing_is_written() {
    let scene = Scene::filled(1, u64::MAX);
    let ledger = scene.open();
    for bad in [&b"{}\n"[..], b"{\"a\":\n1}", b"[]", b"", b"{", b"{} "] {
        assert!(matches!(ledger.append(bad), Err(LedgerError::NotARecord)));
    }
    assert_eq!(ledger.len().unwrap(), 1);
    assert!(scene.report().is_clean());
}

#[test]
fn threads_share_one_ledger() {
    let scene = Scene::filled(0, u64::MAX);
    let ledger = scene.open();
    std::thread::scope(|scope| {
        for who in 0..4 {
            let ledger = &ledger;
            scope.spawn(move || {
                for n in 0..50 {
                    ledger.append_record(&record(who, n, 5)).unwrap();
                }
            });
        }
    });
    ledger.sync().unwrap();
    assert_eq!(scene.numbers(), (1..=200).collect::<Vec<_>>());
    assert!(scene.report().is_clean());
}
