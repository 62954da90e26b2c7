//! What the head, the checkpoints and the anchor say about records, and whether the checkpoints hold by themselves.

use super::checkpoints::{Anchor, digest};
use super::report::{BadCheckpoint, CheckpointAt, CheckpointFault, Checkpoints};
use super::verify::Found;
use remit_ledger::{Checkpoint, Hash, Head, Verifying};

/// Somebody says: record `seq` has this hash.
pub(super) struct Claim {
    pub(super) seq: u64,
    pub(super) hash: Hash,
    pub(super) by: By,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Head,
    Checkpoint(CheckpointAt),
}

/// All claims, in the order of the records. Checkpoints that do not hold by themselves make none.
pub(super) fn claims(found: &Found, id: &Hash, keys: &[Verifying], told: &mut Checkpoints) -> Vec<Claim> {
    let mut claims = Claims { id, keys, claims: Vec::new(), told, last: 0 };
    if let Some(head) = &found.head {
        let seq = head.next.saturating_sub(1);
        claims.claims.push(Claim { seq, hash: head.hash, by: By::Head });
    }
    let noted = found.head.filter(|head| head.checkpoints > 0);
    claims.lines(&found.checkpoints, noted.as_ref());
    claims.anchor(found.anchor.as_ref(), noted.is_some());
    claims.claims.sort_by_key(|claim| claim.seq);
    claims.claims
}

struct Claims<'a> {
    id: &'a Hash,
    keys: &'a [Verifying],
    claims: Vec<Claim>,
    told: &'a mut Checkpoints,
    /// The greatest number among the lines.
    last: u64,
}

impl Claims<'_> {
    fn bad(&mut self, at: CheckpointAt, why: CheckpointFault) {
        self.told.bad.push(BadCheckpoint { at, why });
    }

    /// Takes a checkpoint's word, if it is ours.
    fn claim(&mut self, checkpoint: &Checkpoint, at: CheckpointAt) {
        let said = &checkpoint.statement;
        match checkpoint.check(self.keys) {
            Err(error) => self.bad(at, CheckpointFault::Forged(error)),
            Ok(()) if said.ledger != *self.id => self.bad(at, CheckpointFault::Foreign),
            Ok(()) => self.claims.push(Claim { seq: said.seq, hash: said.head, by: By::Checkpoint(at) }),
        }
    }

    /// The lines of `checkpoints.jsonl`, which must hold all that the head counts.
    fn lines(&mut self, bytes: &[u8], noted: Option<&Head>) {
        let mut expected = 1;
        let mut is_there = false;
        // Lines that may be torn ones that the next line follows.
        let mut torn = 0_u64;
        for (line, raw) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            let at = CheckpointAt::Line(line);
            let Some(text) = raw.strip_suffix(b"\n") else {
                // The last line, and it was never ended.
                match Checkpoint::parse(raw) {
                    Err(error) if !is_beginning(raw) => self.bad(at, error.into()),
                    Ok(_) | Err(_) => torn = torn.saturating_add(1),
                }
                continue;
            };
            let checkpoint = match Checkpoint::parse(text) {
                Ok(checkpoint) => checkpoint,
                Err(_) if is_beginning(text) => {
                    torn = torn.saturating_add(1);
                    continue;
                }
                Err(error) => {
                    self.bad(at, error.into());
                    continue;
                }
            };
            let number = checkpoint.statement.number;
            if number != expected {
                self.bad(at, CheckpointFault::Number { expected, found: number });
            }
            expected = number.saturating_add(1);
            if let Some(noted) = noted.filter(|noted| noted.checkpoints == number) {
                is_there = true;
                if !digest(&checkpoint).is_ok_and(|digest| digest == noted.checkpoint) {
                    self.bad(at, CheckpointFault::Other { number });
                }
            }
            self.last = self.last.max(number);
            self.claim(&checkpoint, at);
        }
        self.told.torn = torn;
        if let Some(noted) = noted.filter(|_| !is_there) {
            self.bad(CheckpointAt::Head, CheckpointFault::Missing { number: noted.checkpoints });
        }
    }

    fn anchor(&mut self, anchor: Option<&Anchor>, noted: bool) {
        let at = CheckpointAt::Anchor;
        match anchor {
            None => {}
            // It is written before the head counts the first one, and before a second one is signed.
            Some(Anchor::Missing) if noted || self.last > 1 => self.bad(at, CheckpointFault::NoAnchor),
            Some(Anchor::Missing) => {}
            Some(Anchor::Unreadable(error)) => self.bad(at, error.clone().into()),
            Some(Anchor::Found(anchor)) => {
                self.claim(anchor, at);
                let number = anchor.statement.number;
                if number > self.last {
                    self.bad(at, CheckpointFault::Missing { number });
                }
            }
        }
    }
}

/// Whether the bytes are what a writer leaves that dies within a checkpoint's line.
fn is_beginning(line: &[u8]) -> bool {
    const OPEN: &[u8] = b"{\"signature\":\"";
    let shared = line.len().min(OPEN.len());
    // The beginning of an object is no checkpoint, whatever stands in it, before its last brace.
    !line.is_empty() && line.get(..shared) == OPEN.get(..shared) && !line.ends_with(b"}}")
}

#[cfg(test)]
mod tests {
    use super::is_beginning;

    #[test]
    fn only_the_beginning_of_a_checkpoint_may_be_a_torn_one() {
        for good in [&b"{"[..], b"{\"signature\":\"", b"{\"signature\":\"00\",\"statement\":{\"head\":\"1\"}"]
        {
            assert!(is_beginning(good));
        }
        for bad in [&b""[..], b"x", b"{}", b"{\"signature\":\"0\",\"statement\":{}}"] {
            assert!(!is_beginning(bad));
        }
    }
}
