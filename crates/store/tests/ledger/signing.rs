//! Checkpoints and the anchor, and what they find that the chain alone cannot.

use crate::scene::{Scene, record, time};
use remit_ledger::{Checkpoint, Fault, Signer, Verifying};
use remit_store::{
    Anchor, CheckpointAt, CheckpointFault, HeadState, Keys, Report, checkpoint, read_anchor, verify,
};
use std::path::PathBuf;

const ANCHOR: CheckpointAt = CheckpointAt::Anchor;
const HEAD: CheckpointAt = CheckpointAt::Head;

struct Signed {
    scene: Scene,
    key: Verifying,
}

impl Signed {
    /// A ledger with a checkpoint after 3 and after 6 records, and 8 records.
    fn new() -> Self {
        let scene = Scene::new();
        let keys = Keys::load_or_create(&scene.keys()).unwrap();
        let signed = Self { scene, key: keys.verifying() };
        for count in [3, 3] {
            signed.scene.append(count, 1500);
            signed.checkpoint();
        }
        signed.scene.append(2, 1500);
        signed
    }

    fn checkpoint(&self) -> Checkpoint {
        let keys = Keys::load_or_create(&self.scene.keys()).unwrap();
        checkpoint(&self.scene.open(), &keys, time(), &self.scene.anchor()).unwrap()
    }

    fn report(&self) -> Report {
        verify(&self.scene.path(), std::slice::from_ref(&self.key), Some(&self.scene.anchor())).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.scene.path().join("checkpoints.jsonl")
    }

    fn anchored(&self) -> Checkpoint {
        match read_anchor(&self.scene.anchor()).unwrap() {
            Anchor::Found(checkpoint) => checkpoint,
            other => panic!("{other:?}"),
        }
    }

    /// Makes a checkpoint, and answers what the anchor said when the one before was kept.
    fn anchored_after_checkpoint(&self) -> Vec<u8> {
        let before = std::fs::read(self.file()).unwrap();
        self.checkpoint();
        before.split_inclusive(|byte| *byte == b'\n').next_back().unwrap().to_vec()
    }

    fn faults(&self) -> Vec<(CheckpointAt, CheckpointFault)> {
        let report = self.report();
        assert!(!report.is_intact());
        report.checkpoints.bad.into_iter().map(|bad| (bad.at, bad.why)).collect()
    }

    /// Removes the segments from this one on.
    fn cut(&self, first: u64) {
        (first..)
            .take_while(|segment| std::fs::remove_file(self.scene.segment(*segment)).is_ok())
            .for_each(drop);
    }

    /// Whoever has the files, but not the key, writes another ledger under the same id.
    fn rewrite(&self, count: u64) {
        let forged = Scene::under_the_id_of(&self.scene);
        let ledger = forged.open().with_segments_of(1500);
        for n in 0..count {
            ledger.append_record(&record(666, n, 10)).unwrap();
        }
        self.cut(1);
        for (name, bytes) in forged.files() {
            std::fs::write(self.scene.path().join(name), bytes).unwrap();
        }
    }
}

#[test]
fn checkpoints_hold_and_are_counted() {
    let signed = Signed::new();
    let report = signed.report();
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(report.checkpoints.ok, 2);
    let anchor = signed.anchored();
    assert_eq!((anchor.statement.number, anchor.statement.seq), (2, 6));
    assert_eq!(signed.checkpoint().statement.number, 3);
    assert_eq!(signed.checkpoint().statement.number, 3, "nothing new, nothing signed");
}

#[test]
fn writers_that_take_turns_read_on_from_each_other_and_lose_no_checkpoint() {
    let scene = Scene::new();
    let key = Keys::load_or_create(&scene.keys()).unwrap().verifying();
    let signed = Signed { scene, key };
    let writers = [2000, 5000, u64::MAX].map(|bytes| signed.scene.open().with_segments_of(bytes));
    let mut last = 0;
    for turn in 0..60 {
        let writer = &writers[usize::try_from(turn % 7 % 3).unwrap()];
        last = writer.append_record(&record(turn, turn, 40)).unwrap().seq;
        if turn % 13 == 0 {
            signed.checkpoint();
        }
        if turn % 11 == 0 {
            writer.sync().unwrap();
        }
        // The head's file may be behind; what it does not count is there all the same.
        let report = signed.report();
        assert!(report.is_intact(), "{report:#?}");
        assert_eq!((report.last, last), (turn + 1, turn + 1));
    }
    drop(writers);
    assert_eq!(signed.scene.open().len().unwrap(), last);
    let report = signed.report();
    assert_eq!((report.head, report.checkpoints.ok), (HeadState::Fits, 5), "{report:#?}");
}

#[test]
fn one_checkpoint_vouches_for_two_sessions_that_ended_at_once() {
    let scene = Scene::filled(0, u64::MAX);
    let keys = Keys::load_or_create(&scene.keys()).unwrap();
    let sessions = [scene.open(), scene.open()];
    for session in &sessions {
        session.append(b"{\"event\":\"session-end\"}").unwrap();
    }
    let made: Vec<_> =
        sessions.iter().map(|one| checkpoint(one, &keys, time(), &scene.anchor()).unwrap()).collect();
    assert_eq!(made[0], made[1], "the second found nothing that was not signed");
    assert_eq!(made[0].statement.seq, 2, "both ends are below it");
    let report = verify(&scene.path(), &[keys.verifying()], Some(&scene.anchor())).unwrap();
    assert!(report.is_clean() && report.checkpoints.ok == 1, "{report:#?}");
}

#[test]
fn an_empty_ledger_can_be_signed() {
    let scene = Scene::filled(0, u64::MAX);
    let keys = Keys::load_or_create(&scene.keys()).unwrap();
    let made = checkpoint(&scene.open(), &keys, time(), &scene.anchor()).unwrap();
    assert_eq!(made.statement.seq, 0);
    let report = verify(&scene.path(), &[keys.verifying()], Some(&scene.anchor())).unwrap();
    assert!(report.is_clean() && report.checkpoints.ok == 1, "{report:#?}");
}

#[test]
fn a_ledger_that_was_written_anew_is_found_by_its_checkpoints_alone_and_by_the_anchor_alone() {
    let signed = Signed::new();
    signed.rewrite(8);
    assert!(signed.scene.report().first_bad.is_none(), "the chain itself is whole");
    let replaced = |at, seq| (at, CheckpointFault::Replaced { seq });
    let line = CheckpointAt::Line;
    assert_eq!(signed.faults(), [replaced(ANCHOR, 6), replaced(line(1), 3), replaced(line(2), 6)]);
    std::fs::remove_file(signed.scene.path().join("checkpoints.jsonl")).unwrap();
    assert_eq!(signed.faults(), [(ANCHOR, CheckpointFault::Missing { number: 2 }), replaced(ANCHOR, 6)]);
}

#[test]
fn a_ledger_that_was_cut_below_a_checkpoint_is_found() {
    let signed = Signed::new();
    signed.rewrite(4);
    let report = signed.report();
    assert_eq!(report.first_bad.unwrap().bad.fault, Fault::Truncated);
    assert!(signed.faults().contains(&(CheckpointAt::Line(2), CheckpointFault::Gone { seq: 6 })));
}

#[test]
fn a_cut_that_an_append_has_told_of_as_loss_is_still_found_by_the_checkpoint() {
    let signed = Signed::new();
    signed.cut(2);
    signed.scene.append(1, 1500);
    assert_eq!(signed.scene.report().first_bad.unwrap().bad.fault, Fault::Lost);
    assert!(signed.faults().contains(&(CheckpointAt::Line(2), CheckpointFault::Gone { seq: 6 })));
}

#[test]
fn a_checkpoint_signed_with_another_key_is_found() {
    let signed = Signed::new();
    let honest = signed.anchored().statement;
    let forger = Signer::from_seed(&[6; 32]);
    let forged = forger.sign(honest.ledger, 3, 8, honest.head, time()).unwrap();
    let line = [forged.encode().unwrap(), b"\n".to_vec()].concat();
    signed.scene.change(&signed.scene.path().join("checkpoints.jsonl"), |bytes| bytes.extend(line));
    assert!(matches!(signed.faults()[..], [(CheckpointAt::Line(3), CheckpointFault::Forged(_))]));
}

#[test]
fn a_checkpoint_of_another_ledger_is_found() {
    let signed = Signed::new();
    let keys = Keys::load_or_create(&signed.scene.keys()).unwrap();
    let other = Scene::filled(6, 1500);
    checkpoint(&other.open(), &keys, time(), &other.anchor()).unwrap();
    let report = verify(&signed.scene.path(), &[keys.verifying()], Some(&other.anchor())).unwrap();
    assert_eq!(report.checkpoints.bad.len(), 1);
    assert_eq!(report.checkpoints.bad[0].why, CheckpointFault::Foreign);
}

#[test]
fn a_checkpoint_that_was_torn_is_passed_over_by_the_next_one() {
    let signed = Signed::new();
    signed.scene.change(&signed.scene.path().join("checkpoints.jsonl"), |bytes| bytes.extend(b"{\"signa"));
    let report = signed.report();
    assert!(report.is_intact() && report.checkpoints.torn == 1, "{report:#?}");
    assert_eq!(signed.checkpoint().statement.number, 3);
    let report = signed.report();
    assert!(report.is_intact(), "{report:#?}");
    assert_eq!((report.checkpoints.ok, report.checkpoints.torn), (3, 1));
}

#[test]
fn a_checkpoint_seals_a_torn_end_first() {
    let signed = Signed::new();
    let last = signed.scene.files().keys().filter(|name| name.starts_with('0')).count() as u64;
    signed.scene.change(&signed.scene.segment(last), |bytes| bytes.extend(b"{\"hash"));
    let made = signed.checkpoint();
    assert_eq!(made.statement.seq, 9);
    let report = signed.report();
    assert!(report.is_intact() && report.sealed.len() == 1, "{report:#?}");
}

/// Does this to a signed ledger; asserts that it is told before and after each of an append and two checkpoints.
fn stays_told(what: &str, harm: impl FnOnce(&Signed)) -> (Signed, Vec<(CheckpointAt, CheckpointFault)>) {
    let signed = Signed::new();
    harm(&signed);
    let faults = signed.faults();
    signed.scene.append(1, 1500);
    assert!(!signed.report().is_intact(), "{what}, an append");
    for count in 1..3 {
        let made = signed.checkpoint();
        assert!(made.statement.number > 2, "{what}: a number that was used before");
        let report = signed.report();
        assert!(!report.is_intact(), "{what}, {count} checkpoints: {report:#?}");
        assert_eq!(report.unsigned.len(), 1, "{what}: told once, in the ledger");
        signed.scene.append(1, 1500);
    }
    (signed, faults)
}

#[test]
fn checkpoints_or_an_anchor_that_are_gone_are_told_for_good() {
    let missing = |at| (at, CheckpointFault::Missing { number: 2 });
    let remove = |path: PathBuf| std::fs::remove_file(path).unwrap();
    let (_, faults) = stays_told("no checkpoints", |signed| remove(signed.file()));
    assert_eq!(faults, [missing(ANCHOR), missing(HEAD)]);
    let (_, faults) = stays_told("no anchor", |signed| remove(signed.scene.anchor()));
    assert_eq!(faults, [(ANCHOR, CheckpointFault::NoAnchor)]);
    let (signed, faults) = stays_told("neither", |signed| {
        remove(signed.file());
        remove(signed.scene.anchor());
    });
    assert_eq!(faults, [(ANCHOR, CheckpointFault::NoAnchor), missing(HEAD)]);
    let gone = signed.report().unsigned[0].1;
    assert_eq!(gone, remit_ledger::Unsigned { anchor: None, found: 0, noted: 2 });
    let (_, faults) = stays_told("shortened", |signed| {
        signed.scene.change(&signed.file(), |bytes| {
            let first = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap().len();
            bytes.truncate(first);
        });
    });
    assert_eq!(faults, [missing(ANCHOR), missing(HEAD)]);
    stays_told("another ledger's", |signed| {
        let other = Signed::new();
        std::fs::copy(other.file(), signed.file()).unwrap();
        std::fs::copy(other.scene.anchor(), signed.scene.anchor()).unwrap();
    });
    let (_, faults) = stays_told("an anchor that says nothing", |signed| {
        std::fs::write(signed.scene.anchor(), "{}").unwrap();
    });
    assert!(matches!(faults[..], [(ANCHOR, CheckpointFault::Forged(_))]));
}

#[test]
fn checkpoints_anchor_and_head_gone_together_with_the_tail_are_told_for_good() {
    let signed = Signed::new();
    for file in [signed.file(), signed.scene.anchor(), signed.scene.path().join("head")] {
        std::fs::remove_file(file).unwrap();
    }
    signed.cut(2);
    assert!(!signed.report().is_intact());
    signed.scene.append(1, 1500);
    assert_eq!(signed.report().first_bad.unwrap().bad.fault, Fault::HeadLost);
    signed.checkpoint();
    assert_eq!(signed.report().first_bad.unwrap().bad.fault, Fault::HeadLost);
}

#[test]
fn a_new_ledger_beside_the_anchor_of_an_old_one_is_told_for_good() {
    let signed = Signed::new();
    std::fs::remove_dir_all(signed.scene.path()).unwrap();
    signed.scene.append(3, u64::MAX);
    assert_eq!(signed.faults()[0], (ANCHOR, CheckpointFault::Foreign));
    assert_eq!(signed.checkpoint().statement.number, 3);
    let report = signed.report();
    assert!(!report.is_intact() && report.unsigned.len() == 1, "{report:#?}");
}

/// The files as a checkpoint leaves them that is killed after each of its steps.
#[test]
fn a_checkpoint_killed_between_its_steps_leaves_the_ledger_intact_also_when_the_next_one_is_killed_too() {
    for first in [true, false] {
        let scene = Scene::filled(3, u64::MAX);
        let keys = Keys::load_or_create(&scene.keys()).unwrap();
        let signed = Signed { scene, key: keys.verifying() };
        if !first {
            signed.checkpoint();
            signed.scene.append(1, u64::MAX);
        }
        let anchor = std::fs::read(signed.scene.anchor()).ok();
        let uncounted = |signed: &Signed, anchor: Option<&Vec<u8>>| {
            // The anchor as it was, and a head that does not count the last checkpoint.
            if let Some(anchor) = anchor {
                std::fs::write(signed.scene.anchor(), anchor).unwrap();
            }
            let path = signed.scene.path().join("head");
            let mut head = remit_ledger::Head::decode(&std::fs::read(&path).unwrap()).unwrap();
            head.checkpoints -= 1;
            head.checkpoint = match head.checkpoints {
                0 => remit_ledger::Hash([0; 32]),
                _ => remit_ledger::Hash::of(&[anchor.unwrap().trim_ascii_end()]),
            };
            std::fs::write(path, head.encode()).unwrap();
        };
        signed.checkpoint();
        uncounted(&signed, anchor.as_ref());
        if first {
            std::fs::remove_file(signed.scene.anchor()).unwrap();
        }
        assert!(signed.report().is_intact(), "{:#?}", signed.report());
        signed.scene.append(1, u64::MAX);
        let kept = signed.anchored_after_checkpoint();
        uncounted(&signed, Some(&kept));
        assert!(signed.report().is_intact(), "{:#?}", signed.report());
        signed.checkpoint();
        assert!(signed.report().is_clean(), "{:#?}", signed.report());
    }
}
