//! Many processes, some of them killed. Each child is this program once more, running [`child`] alone.

use crate::scene::{Dice, Scene, record};
use remit_ledger::Hash;
use remit_store::{Ledger, LedgerError, Reader, Reserve};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How often writers are killed.
const KILLS: u64 = 200;

/// Tells a child what to do: folder, who it is, how many records, segment size, limit of file size in blocks.
const ORDERS: &str = "REMIT_TEST_LEDGER_CHILD";

#[test]
#[ignore = "the child process of the tests in this file"]
fn child() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let orders: Vec<&str> = orders.split('|').collect();
    let number = |at: usize| orders[at].parse::<u64>().unwrap();
    let (dir, who, count, segments_of) = (PathBuf::from(orders[0]), number(1), number(2), number(3));
    // As a process that was born with nothing but the folder's descriptor.
    let dir = std::fs::File::open(dir).unwrap();
    let ledger = Ledger::from_dir(dir.into()).unwrap().with_segments_of(segments_of);
    let mut out = std::io::stdout();
    for n in 0..count {
        let size = if n % 16 == 5 { 40_000 } else { 40 };
        match ledger.append_record(&record(who, n, size)) {
            Ok(receipt) => writeln!(out, "ack {} {}", receipt.seq, receipt.hash).unwrap(),
            Err(error @ LedgerError::Short { .. }) => return writeln!(out, "short {error}").unwrap(),
            Err(error) => return writeln!(out, "error {error}").unwrap(),
        }
    }
}

struct Orders<'a> {
    dir: &'a Path,
    who: u64,
    count: u64,
    segments_of: u64,
}

impl Orders<'_> {
    fn start(&self) -> Child {
        self.command(Command::new(std::env::current_exe().unwrap()))
    }

    /// With a limit on the size of files, in blocks of 512 bytes.
    fn start_limited(&self, blocks: u64) -> Child {
        let mut shell = Command::new("sh");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        shell.arg("-c").arg(script).arg(std::env::current_exe().unwrap());
        self.command(shell)
    }

    fn command(&self, mut command: Command) -> Child {
        let orders = format!("{}|{}|{}|{}", self.dir.display(), self.who, self.count, self.segments_of);
        command
            .args(["--exact", "children::child", "--ignored", "--nocapture", "--test-threads=1"])
            .env(ORDERS, orders)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }
}

#[derive(Default)]
struct Told {
    acks: BTreeMap<u64, Hash>,
    ends: Vec<String>,
}

impl Told {
    fn line(&mut self, line: &str) {
        // The test harness may put its own words before ours.
        if let Some((_, ack)) = line.split_once("ack ") {
            // A killed child may leave half of its last line.
            if let Some((seq, hash)) = ack.split_once(' ')
                && let Some(hash) = Hash::from_hex(hash.as_bytes())
            {
                assert_eq!(self.acks.insert(seq.parse().unwrap(), hash), None, "record {seq} twice");
            }
        } else if line.contains("short ") || line.contains("error ") {
            self.ends.push(line.to_owned());
        }
    }

    fn all(&mut self, child: &mut Child) {
        for line in BufReader::new(child.stdout.take().unwrap()).split(b'\n') {
            self.line(&String::from_utf8_lossy(&line.unwrap()));
        }
        child.wait().unwrap();
    }

    /// Every acknowledged record is in the ledger, unchanged; answers all of them.
    fn check(&self, dir: &Path) -> BTreeMap<u64, Hash> {
        let there: BTreeMap<u64, Hash> =
            Reader::open(dir, 0).unwrap().map(Result::unwrap).map(|entry| (entry.seq, entry.hash)).collect();
        for (seq, hash) in &self.acks {
            assert_eq!(there.get(seq), Some(hash), "record {seq} was acknowledged");
        }
        there
    }
}

#[test]
fn eight_processes_with_a_thousand_appends_each_make_one_chain() {
    let scene = Scene::filled(0, u64::MAX);
    let mut children: Vec<Child> = (0..8)
        .map(|who| Orders { dir: &scene.path(), who, count: 1000, segments_of: 64 << 20 }.start())
        .collect();
    let mut told = Told::default();
    children.iter_mut().for_each(|child| told.all(child));
    assert_eq!(told.ends, Vec::<String>::new());
    assert_eq!(told.acks.len(), 8000);
    assert_eq!(told.check(&scene.path()).len(), 8000);
    let report = scene.report();
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!((report.records, report.last), (8000, 8000));
    let mut writers: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for entry in Reader::open(&scene.path(), 0).unwrap() {
        let detail = entry.unwrap().decode().unwrap().detail;
        writers.entry(detail["who"].to_string()).or_default().push(detail["n"].as_u64().unwrap());
    }
    assert_eq!(writers.len(), 8);
    assert!(writers.values().all(|numbers| numbers.iter().copied().eq(0..1000)), "each in its order");
}

#[test]
fn segments_turn_under_eight_writers_and_no_record_is_lost() {
    let scene = Scene::filled(0, u64::MAX);
    let mut children: Vec<Child> = (0..8)
        .map(|who| Orders { dir: &scene.path(), who, count: 100, segments_of: 50_000 }.start())
        .collect();
    let mut told = Told::default();
    children.iter_mut().for_each(|child| told.all(child));
    assert_eq!(told.ends, Vec::<String>::new());
    assert_eq!(told.check(&scene.path()).len(), 800);
    let report = scene.report();
    assert!(report.is_clean(), "{report:#?}");
    assert!(report.segments > 20, "{} segments", report.segments);
}

#[test]
fn kill_9_at_any_point_loses_no_acknowledged_record() {
    let scene = Scene::filled(0, u64::MAX);
    let mut dice = Dice(0x5eed_1e55_0dd5_ca1e);
    let mut told = Told::default();
    for kill in 0..KILLS {
        let mut children: Vec<Child> = (0..1 + kill % 3)
            .map(|who| Orders { dir: &scene.path(), who, count: u64::MAX, segments_of: 4 << 20 }.start())
            .collect();
        // They must have begun, or the kill hits the loader and nothing else.
        let mut first = BufReader::new(children[0].stdout.take().unwrap());
        let mut line = String::new();
        while first.read_line(&mut line).unwrap() > 0 && !line.contains("ack ") {
            line.clear();
        }
        told.line(line.trim_end());
        std::thread::sleep(Duration::from_micros(dice.below(4000)));
        for child in &mut children {
            child.kill().unwrap();
        }
        for line in first.split(b'\n') {
            told.line(&String::from_utf8_lossy(&line.unwrap()));
        }
        children[0].wait().unwrap();
        children[1..].iter_mut().for_each(|child| told.all(child));
        assert_eq!(told.ends, Vec::<String>::new());
        if kill % 40 == 0 {
            let report = scene.report();
            assert!(report.is_intact(), "after kill {kill}: {report:#?}");
        }
    }
    let last = scene.open().append_record(&record(9, 0, 0)).unwrap();
    let there = told.check(&scene.path());
    assert!(told.acks.len() as u64 >= KILLS);
    assert!(there.keys().copied().eq(1..=last.seq), "no number is missing");
    let report = scene.report();
    assert!(report.is_intact() && report.unsealed == 0 && report.lost.is_empty(), "{report:#?}");
    let hashes: BTreeSet<&Hash> = there.values().collect();
    assert_eq!(hashes.len(), there.len());
}

#[test]
fn a_write_that_reaches_the_limit_of_file_size_is_an_error_and_its_part_is_sealed() {
    let scene = Scene::filled(3, u64::MAX);
    let mut told = Told::default();
    let orders = Orders { dir: &scene.path(), who: 1, count: 5000, segments_of: 64 << 20 };
    told.all(&mut orders.start_limited(200));
    assert_eq!(told.ends.len(), 1);
    assert!(told.ends[0].contains("short "), "{:?}", told.ends);
    let before = scene.report();
    assert!(before.is_intact() && before.unsealed > 0, "{before:#?}");
    // Once more into the full file: still an error, and the torn part stays.
    told.all(&mut orders.start_limited(200));
    assert_eq!(told.ends.len(), 2);

    let receipt = scene.open().append_record(&record(2, 0, 0)).unwrap();
    let acked = *told.acks.keys().next_back().unwrap();
    assert_eq!(receipt.seq, acked + 2, "the seal, then the record");
    told.check(&scene.path());
    let report = scene.report();
    assert!(report.is_intact() && report.unsealed == 0, "{report:#?}");
    assert_eq!(report.sealed.len(), 1);
}

#[test]
fn a_full_disk_is_an_error_and_appending_goes_on_when_there_is_room() {
    let scene = Scene::new();
    let disk = scene.anchor().with_file_name("disk");
    std::fs::create_dir(&disk).unwrap();
    let flags = rustix::mount::MountFlags::empty();
    if let Err(error) = rustix::mount::mount("tmpfs", &disk, "tmpfs", flags, c"size=1m") {
        eprintln!("skipped: cannot mount a small disk: {error}");
        return;
    }
    let dir = disk.join("ledger");
    let filled = std::panic::catch_unwind(|| {
        let ledger = Ledger::create_or_open(&dir).unwrap();
        std::fs::write(disk.join("ballast"), [0; 300_000]).unwrap();
        let fill = |reserve: Reserve, bytes: usize| {
            let mut good = 0;
            loop {
                match ledger.append_record_using(&record(0, 0, bytes), reserve) {
                    Ok(_) => good += 1,
                    Err(error) => break (good, error),
                }
            }
        };
        let (plain, error) = fill(Reserve::Plain, 3000);
        // Space is kept for refusals, and a little for the very last words; so no line was begun in vain.
        let (refusals, _) = fill(Reserve::Refusal, 3000);
        let (last, _) = fill(Reserve::Last, 500);
        assert!(plain > 20 && refusals > 70 && last > 4, "{plain} {refusals} {last}");
        assert!(ledger.append_record(&record(0, 0, 10)).is_err());
        std::fs::remove_file(disk.join("ballast")).unwrap();
        let next = ledger.append_record(&record(0, 0, 3000)).unwrap();
        let report = remit_store::verify(&dir, &[], None).unwrap();
        (error, plain + refusals + last, next.seq, report)
    });
    rustix::mount::unmount(&disk, rustix::mount::UnmountFlags::DETACH).unwrap();
    let (error, good, next, report) = filled.unwrap();
    assert!(report.is_intact(), "{error}: {report:#?}");
    // A write that failed at a page's edge leaves nothing to seal.
    assert_eq!(next, good + 1 + report.sealed.len() as u64);
}
