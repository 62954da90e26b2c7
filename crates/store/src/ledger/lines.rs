//! Reading a segment line by line, also one that somebody is writing.

use remit_ledger::LONGEST_LINE;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};

/// How much is read at once.
const CHUNK: usize = 1 << 20;

/// The lines of a file.
#[derive(Debug)]
pub(super) struct Lines {
    file: BufReader<File>,
    line: Vec<u8>,
    /// Whether `line` was handed out and is to be forgotten.
    done: bool,
    /// How many more bytes may be read.
    left: u64,
}

impl Lines {
    /// Lines from byte `from` to byte `to`, which may lie beyond the end.
    pub(super) fn new(mut file: File, from: u64, to: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(from))?;
        let left = to.saturating_sub(from);
        // Following writers means many small reads; only long stretches are worth a large buffer.
        let chunk = usize::try_from(left).map_or(CHUNK, |left| left.clamp(1 << 13, CHUNK));
        Ok(Self { file: BufReader::with_capacity(chunk, file), line: Vec::new(), done: false, left })
    }

    /// The next line, with its newline; or as much of an overlong one as a line may have. `None` at the end: then
    /// there may be more later.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        if std::mem::take(&mut self.done) {
            self.line.clear();
        }
        let longest = u64::try_from(LONGEST_LINE.saturating_sub(self.line.len())).unwrap_or(0).min(self.left);
        let read = (&mut self.file).take(longest).read_until(b'\n', &mut self.line)?;
        self.left = self.left.saturating_sub(u64::try_from(read).unwrap_or(u64::MAX));
        self.done = self.line.ends_with(b"\n") || self.line.len() >= LONGEST_LINE;
        Ok(self.done.then_some(&self.line))
    }

    /// What stands at the end without a newline; empty if the last line is whole.
    pub(super) fn partial(&self) -> &[u8] {
        if self.done { &[] } else { &self.line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_line_is_handed_out_when_its_writer_has_ended_it() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"one\ntw").unwrap();
        let mut lines = Lines::new(file.reopen().unwrap(), 0, u64::MAX).unwrap();
        assert_eq!(lines.next().unwrap(), Some(&b"one\n"[..]));
        assert_eq!(lines.next().unwrap(), None);
        assert_eq!(lines.partial(), b"tw");
        file.write_all(b"o\n").unwrap();
        assert_eq!(lines.next().unwrap(), Some(&b"two\n"[..]));
        assert_eq!(lines.next().unwrap(), None);
        assert_eq!(lines.partial(), b"");
    }

    #[test]
    fn bytes_beyond_the_bounds_are_not_read() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"one\ntwo\nthree\n").unwrap();
        let mut lines = Lines::new(file.reopen().unwrap(), 4, 10).unwrap();
        assert_eq!(lines.next().unwrap(), Some(&b"two\n"[..]));
        assert_eq!(lines.next().unwrap(), None);
        assert_eq!(lines.partial(), b"th");
    }

    #[test]
    fn an_overlong_line_comes_in_pieces() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![b'x'; LONGEST_LINE + 5]).unwrap();
        let mut lines = Lines::new(file.reopen().unwrap(), 0, u64::MAX).unwrap();
        assert_eq!(lines.next().unwrap().map(<[u8]>::len), Some(LONGEST_LINE));
        assert_eq!(lines.next().unwrap(), None);
        assert_eq!(lines.partial(), b"xxxxx");
    }
}
