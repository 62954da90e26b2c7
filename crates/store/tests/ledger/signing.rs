//! Checkpoints and the anchor, and what they find that the chain alone cannot.

use crate::scene::{Scene, record, time};
use remit_ledger::{Checkpoint, Fault, Signer, Verifying};
use remit_store::{CheckpointFault, Keys, Report, checkpoint, read_anchor, verify};

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
        let anchor = read_anchor(&self.scene.anchor()).unwrap();
        verify(&self.scene.path(), std::slice::from_ref(&self.key), anchor.as_ref()).unwrap()
    }

    fn faults(&self) -> Vec<(u64, CheckpointFault)> {
        let report = self.report();
        assert!(!report.is_intact());
        report.checkpoints.bad.into_iter().map(|bad| (bad.line, bad.why)).collect()
    }

    /// Removes the segments from this one on.
    fn cut(&self, first: u64) {
        (first..)
            .take_while(|segment| std::fs::remove_file(self.scene.segment(*segment)).is_ok())
            .for_each(drop);
    }

    /// Whoever has the files, but not the key, writes another ledger under the same id.
    fn rewrite(&self, count: u64) {
        let forged = Scene::new();
        std::fs::create_dir(forged.path()).unwrap();
        std::fs::copy(self.scene.path().join("id"), forged.path().join("id")).unwrap();
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
    let anchor = read_anchor(&signed.scene.anchor()).unwrap().unwrap();
    assert_eq!((anchor.statement.number, anchor.statement.seq), (2, 6));
    assert_eq!(signed.checkpoint().statement.number, 3);
    assert_eq!(signed.checkpoint().statement.number, 3, "nothing new, nothing signed");
}

#[test]
fn an_empty_ledger_can_be_signed() {
    let scene = Scene::filled(0, u64::MAX);
    let keys = Keys::load_or_create(&scene.keys()).unwrap();
    let made = checkpoint(&scene.open(), &keys, time(), &scene.anchor()).unwrap();
    assert_eq!(made.statement.seq, 0);
    let report = verify(&scene.path(), &[keys.verifying()], Some(&made)).unwrap();
    assert!(report.is_clean() && report.checkpoints.ok == 1, "{report:#?}");
}

#[test]
fn a_ledger_that_was_written_anew_is_found_by_its_checkpoints_alone_and_by_the_anchor_alone() {
    let signed = Signed::new();
    signed.rewrite(8);
    assert!(signed.scene.report().first_bad.is_none(), "the chain itself is whole");
    let replaced = |line, seq| (line, CheckpointFault::Replaced { seq });
    assert_eq!(signed.faults(), [replaced(0, 6), replaced(1, 3), replaced(2, 6)]);
    std::fs::remove_file(signed.scene.path().join("checkpoints.jsonl")).unwrap();
    assert_eq!(signed.faults(), [(0, CheckpointFault::Missing { number: 2 }), replaced(0, 6)]);
}

#[test]
fn a_ledger_that_was_cut_below_a_checkpoint_is_found() {
    let signed = Signed::new();
    signed.rewrite(4);
    let report = signed.report();
    assert_eq!(report.first_bad.unwrap().bad.fault, Fault::Truncated);
    assert!(signed.faults().contains(&(2, CheckpointFault::Gone { seq: 6 })));
}

#[test]
fn a_cut_that_an_append_has_told_of_as_loss_is_still_found_by_the_checkpoint() {
    let signed = Signed::new();
    signed.cut(2);
    signed.scene.append(1, 1500);
    assert!(signed.scene.report().first_bad.is_none());
    assert!(!signed.scene.report().lost.is_empty());
    assert!(signed.faults().contains(&(2, CheckpointFault::Gone { seq: 6 })));
}

#[test]
fn a_checkpoint_signed_with_another_key_is_found() {
    let signed = Signed::new();
    let honest = read_anchor(&signed.scene.anchor()).unwrap().unwrap().statement;
    let forger = Signer::from_seed(&[6; 32]);
    let forged = forger.sign(honest.ledger, 3, 8, honest.head, time()).unwrap();
    let line = [forged.encode().unwrap(), b"\n".to_vec()].concat();
    signed.scene.change(&signed.scene.path().join("checkpoints.jsonl"), |bytes| bytes.extend(line));
    assert!(matches!(signed.faults()[..], [(3, CheckpointFault::Forged(_))]));
}

#[test]
fn a_checkpoint_of_another_ledger_is_found() {
    let signed = Signed::new();
    let keys = Keys::load_or_create(&signed.scene.keys()).unwrap();
    let other = Scene::filled(6, 1500);
    let foreign = checkpoint(&other.open(), &keys, time(), &other.anchor()).unwrap();
    let report = verify(&signed.scene.path(), &[keys.verifying()], Some(&foreign)).unwrap();
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
    signed.scene.change(&signed.scene.segment(last), |bytes| bytes.extend(b"torn"));
    let made = signed.checkpoint();
    assert_eq!(made.statement.seq, 9);
    let report = signed.report();
    assert!(report.is_intact() && report.sealed.len() == 1, "{report:#?}");
}
