//! What the tests share: records, a ledger in a scratch folder, and its files as bytes.

use remit_ledger::{Event, Fault, Hash, Head, Record, Time, genesis};
use remit_store::{Ledger, Piece, Reader, Report, verify};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) fn time() -> Time {
    Time::parse("2026-01-02T03:04:05.000006Z").unwrap()
}

/// A record that nobody else writes, padded to about `size` bytes.
pub(crate) fn record(who: u64, n: u64, size: usize) -> Record {
    Record::new(time(), Event::Access).with("who", who).with("n", n).with("pad", "x".repeat(size))
}

pub(crate) struct Scene {
    dir: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("ledger")
    }

    pub(crate) fn anchor(&self) -> PathBuf {
        self.dir.path().join("anchor.json")
    }

    pub(crate) fn keys(&self) -> PathBuf {
        let keys = self.dir.path().join("keys");
        std::fs::create_dir_all(&keys).unwrap();
        keys
    }

    pub(crate) fn segment(&self, number: u64) -> PathBuf {
        self.path().join(format!("{number:06}.jsonl"))
    }

    pub(crate) fn open(&self) -> Ledger {
        Ledger::create_or_open(&self.path()).unwrap()
    }

    /// A ledger with `count` small records, in segments of this many bytes.
    pub(crate) fn filled(count: u64, segments_of: u64) -> Self {
        let scene = Self::new();
        scene.append(count, segments_of);
        scene
    }

    /// An empty ledger with the id of another.
    pub(crate) fn under_the_id_of(other: &Self) -> Self {
        let scene = Self::filled(0, u64::MAX);
        let id = std::fs::read(other.path().join("id")).unwrap();
        let head = Head::empty(genesis(&Hash::from_hex(id.trim_ascii_end()).unwrap()));
        std::fs::write(scene.path().join("id"), id).unwrap();
        std::fs::write(scene.path().join("head"), head.encode()).unwrap();
        scene
    }

    pub(crate) fn append(&self, count: u64, segments_of: u64) {
        let ledger = self.open().with_segments_of(segments_of);
        for n in 0..count {
            ledger.append_record(&record(0, n, 10)).unwrap();
        }
    }

    pub(crate) fn report(&self) -> Report {
        verify(&self.path(), &[], None).unwrap()
    }

    /// Asserts that all is as it was written, and answers the numbers of the records.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let report = self.report();
        assert!(report.is_intact(), "{report:#?}");
        Reader::open(&self.path(), 0).unwrap().map(|entry| entry.unwrap().seq).collect()
    }

    /// Appends until the damage is sealed and twice more; asserts each time that the ledger is still told to be damaged, in the same place, and
    /// answers it.
    pub(crate) fn stays_damaged(&self) -> (u64, Fault) {
        let told = |appended: u64| {
            self.append(u64::from(appended > 0), u64::MAX);
            let report = self.report();
            assert!(!report.is_intact(), "after {appended}: {report:#?}");
            let first = report.first_bad.unwrap().bad;
            (first.seq, first.fault)
        };
        if self.report().damaged.is_empty()
            && self.report().lost.is_empty()
            && self.report().rebuilt.is_empty()
        {
            self.append(1, u64::MAX);
        }
        let first = told(0);
        assert_eq!([told(1), told(2)], [first; 2]);
        first
    }

    /// The numbers of all records that can be read, whether they are chained or not.
    pub(crate) fn readable(&self) -> Vec<u64> {
        let pieces = Reader::lenient(&self.path(), 0).unwrap().map(Result::unwrap);
        let number = |piece| match piece {
            Piece::Record(entry) | Piece::Unchained(entry) => Some(entry.seq),
            Piece::Damaged(_) => None,
        };
        pieces.filter_map(number).collect()
    }

    /// Changes a file's bytes.
    pub(crate) fn change(&self, file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(file).unwrap();
        change(&mut bytes);
        std::fs::write(file, bytes).unwrap();
    }

    /// The ledger's files by name.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let read = |entry: std::io::Result<std::fs::DirEntry>| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
        };
        std::fs::read_dir(self.path()).unwrap().map(read).collect()
    }
}

/// Numbers from a seed (xorshift), so that a failing run can be repeated.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
