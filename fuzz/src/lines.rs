//! Lines of the ledger and what stands beside it.

use remit_ledger::chain::is_record;
use remit_ledger::{Checkpoint, Hash, Head, Step, Verifier, decode, encode, genesis, link, parse_line};

/// A line, without its newline. There is one way to write it; a record that is read is written as it is read
/// again; and a verifier takes only what continues its chain.
pub fn ledger_line(bytes: &[u8]) {
    if let Ok(parsed) = parse_line(bytes) {
        let mut line = Vec::new();
        let hash = link(&mut line, &parsed.prev, parsed.seq, parsed.record);
        assert_eq!(parsed.is_whole(), hash == parsed.hash);
        assert_eq!(parsed.is_whole(), line.strip_suffix(b"\n") == Some(bytes), "two ways to write one line");
        let mut verifier = Verifier::at(parsed.seq, parsed.prev);
        assert_eq!(parsed.is_whole(), !matches!(verifier.feed(&line_of(bytes)), Step::Unchained));
        record(parsed.record);
    }
    record(bytes);
    let stranger = genesis(&Hash::of(&[b"another ledger"]));
    let mut verifier = Verifier::at(u64::MAX, stranger);
    assert!(matches!(verifier.feed(&line_of(bytes)), Step::Unchained), "a line of another chain was taken");
    if let Ok(head) = Head::decode(bytes) {
        assert_eq!(head.encode(), bytes);
    }
    if let Ok(checkpoint) = Checkpoint::parse(bytes) {
        assert!(checkpoint.check(&[]).is_err(), "a checkpoint that nobody signed holds");
        if let Ok(line) = checkpoint.encode() {
            assert!(Checkpoint::parse(&line).is_ok_and(|again| again == checkpoint));
        }
    }
}

fn line_of(bytes: &[u8]) -> Vec<u8> {
    [bytes, b"\n"].concat()
}

fn record(bytes: &[u8]) {
    let Ok(record) = decode(bytes) else { return };
    let Ok(written) = encode(&record) else { return };
    assert!(is_record(&written), "a record that cannot stand in a line");
    assert!(decode(&written).is_ok_and(|again| again == record), "a record that is not read as written");
}
