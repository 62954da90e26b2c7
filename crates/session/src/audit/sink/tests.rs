//! What stands in a sink, whoever has been killed, and what is none.

use super::*;
use crate::recorder::now;
use remit_ledger::Event;
use remit_store::Ledger;
use std::os::unix::fs::PermissionsExt;

struct Place {
    folder: tempfile::TempDir,
    sink: Sink,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [work, state, ledger] = ["work", "state", "ledger"].map(|name| folder.path().join(name));
        std::fs::create_dir(&work).unwrap();
        std::fs::create_dir(&state).unwrap();
        Ledger::create_or_open(&ledger).unwrap();
        let sink = Sink::new(&work, "audit.jsonl", &state, &ledger);
        Self { folder, sink }
    }

    fn append(&self, count: u64) -> Vec<Entry> {
        let ledger = Ledger::create_or_open(&self.sink.ledger).unwrap();
        let mut one = |n: u64| {
            let record = Record::new(now(), Event::Alert).with("number", n);
            let receipt = ledger.append_record(&record).unwrap();
            let record = remit_ledger::encode(&record).unwrap();
            Entry { seq: receipt.seq, hash: receipt.hash, record }
        };
        (0..count).map(&mut one).collect()
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("work/audit.jsonl")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap()
    }

    fn numbers(&self) -> Vec<u64> {
        let text = self.text();
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines().map(|line| said(line.as_bytes()).unwrap().seq).collect()
    }

    fn take(&self, entry: &Entry) -> Result<(), SinkError> {
        self.sink.take(entry, true, soon())
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn up_to(last: u64) -> Vec<u64> {
    (1..=last).collect()
}

#[test]
fn what_was_missed_comes_first_and_nothing_comes_twice() {
    let place = Place::new();
    let entries = place.append(5);
    place.take(&entries[3]).unwrap();
    assert_eq!(place.numbers(), up_to(5));
    entries.iter().for_each(|entry| place.take(entry).unwrap());
    place.sink.catch_up(soon()).unwrap();
    assert_eq!(place.numbers(), up_to(5));
    let next = place.append(1);
    place.take(&next[0]).unwrap();
    assert_eq!(place.numbers(), up_to(6));
    assert_eq!(std::fs::metadata(place.file()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_line_that_was_cut_short_anywhere_is_finished() {
    let place = Place::new();
    place.append(3);
    place.sink.catch_up(soon()).unwrap();
    let whole = place.text();
    for cut in 0..whole.len() {
        std::fs::write(place.file(), &whole[..cut]).unwrap();
        // What was written is there, but a killed writer could not say so.
        std::fs::remove_file(&place.sink.place).unwrap();
        place.sink.catch_up(soon()).unwrap();
        assert_eq!(place.text(), whole, "{cut}");
    }
}

#[test]
fn a_file_that_was_moved_away_or_emptied_goes_on_where_it_was() {
    let place = Place::new();
    place.append(3);
    place.sink.catch_up(soon()).unwrap();
    std::fs::rename(place.file(), place.folder.path().join("work/old")).unwrap();
    let next = place.append(2);
    place.take(&next[1]).unwrap();
    assert_eq!(place.numbers(), [4, 5]);
    std::fs::write(place.file(), "").unwrap();
    place.append(1);
    place.sink.catch_up(soon()).unwrap();
    assert_eq!(place.numbers(), [6]);
}

#[test]
fn many_writers_at_once_leave_each_record_once_and_in_order() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let entries = place.append(2);
                    entries.iter().for_each(|entry| place.take(entry).unwrap());
                }
            });
        }
    });
    assert_eq!(place.numbers(), up_to(400));
}

#[test]
fn a_link_a_pipe_a_folder_a_second_name_and_strange_content_are_refused_by_name() {
    let place = Place::new();
    let other = place.folder.path().join("work/other");
    std::fs::write(&other, "").unwrap();
    let refused = |what: &str| {
        let error = place.sink.catch_up(soon()).unwrap_err();
        assert!(error.to_string().contains("`audit.jsonl`"), "{what}: {error}");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "", "{what}");
        let file = place.file();
        if file.is_dir() && !file.is_symlink() {
            std::fs::remove_dir(file).unwrap();
        } else {
            std::fs::remove_file(file).unwrap();
        }
        error
    };
    place.append(1);
    std::os::unix::fs::symlink(&other, place.file()).unwrap();
    assert!(matches!(refused("a link"), SinkError::NotAFile(_)));
    rustix::fs::mknodat(rustix::fs::CWD, place.file(), FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert!(matches!(refused("a pipe"), SinkError::NotAFile(_)));
    std::fs::create_dir(place.file()).unwrap();
    assert!(matches!(refused("a folder"), SinkError::NotAFile(_)));
    std::fs::hard_link(&other, place.file()).unwrap();
    assert!(matches!(refused("a second name"), SinkError::Shared(_)));
    for strange in ["{}\n", "words\n", "words", "{\"seq\":1,\"hash\":\"x\",\"record\":{}}\n"] {
        std::fs::write(place.file(), strange).unwrap();
        assert!(matches!(refused(strange), SinkError::Strange(_)));
    }
    place.sink.catch_up(soon()).unwrap();
    assert_eq!(place.numbers(), [1]);
}

#[test]
fn no_link_on_the_way_leads_out_of_the_workspace() {
    let place = Place::new();
    place.append(1);
    let outside = place.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, place.folder.path().join("work/logs")).unwrap();
    for name in ["logs/a.jsonl", "../outside/a.jsonl", "/tmp/a.jsonl"] {
        let sink = Sink::new(&place.sink.root, name, &place.folder.path().join("state"), &place.sink.ledger);
        assert!(matches!(sink.catch_up(soon()), Err(SinkError::NotAFile(_))), "{name}");
    }
    assert_eq!(std::fs::read_dir(outside).unwrap().count(), 0);
}

#[test]
fn the_records_of_another_ledger_are_not_gone_on_with() {
    let (place, other) = (Place::new(), Place::new());
    place.append(3);
    place.sink.catch_up(soon()).unwrap();
    other.append(5);
    std::fs::copy(place.file(), other.file()).unwrap();
    assert!(matches!(other.sink.catch_up(soon()), Err(SinkError::Foreign(_))));
    assert_eq!(other.text(), place.text());
}

#[test]
fn each_file_has_all_of_a_ledger_that_worktrees_share() {
    let place = Place::new();
    place.append(2);
    place.sink.catch_up(soon()).unwrap();
    let other = place.folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let sink = Sink::new(&other, "audit.jsonl", &place.folder.path().join("state"), &place.sink.ledger);
    sink.catch_up(soon()).unwrap();
    assert_eq!(std::fs::read_to_string(other.join("audit.jsonl")).unwrap(), place.text());
}
