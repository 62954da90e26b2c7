//! What was told, kept between one process and the next: hooks outside of sessions are short, and share one limit on
//! announcements; and a failure is told once, until it is over or becomes another one.

use super::alert::Limiter;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// The file's name in the state folder.
const FILE: &str = "told.json";

/// What the file says.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Told {
    /// Of the hooks outside of sessions.
    pub(crate) limiter: Limiter,
    /// What fails, by its name, and how.
    failures: BTreeMap<String, String>,
}

impl Told {
    /// Whether this is news: that `what` fails so, or no longer does.
    pub(crate) fn is_news(&mut self, what: &str, failure: Option<&str>) -> bool {
        let before = match failure {
            Some(failure) => self.failures.insert(what.to_owned(), failure.to_owned()),
            None => self.failures.remove(what),
        };
        failure.is_some() && before.as_deref() != failure
    }
}

/// Reads the file, lets `work` change what it says, and writes it, under a lock. A file that is gone or damaged says
/// nothing: the worst is that something is told twice.
pub(crate) fn change<T>(state: &Path, work: impl FnOnce(&mut Told) -> T) -> io::Result<T> {
    let mut options = OpenOptions::new();
    let open = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file: File = open.open(state.join(FILE))?;
    rustix::io::retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockExclusive))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let mut told: Told = serde_json::from_slice(&bytes).unwrap_or_default();
    let answer = work(&mut told);
    let text = serde_json::to_vec(&told).map_err(io::Error::other)?;
    if text != bytes {
        file.set_len(0)?;
        file.write_all_at(&text, 0)?;
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_news_once_until_it_is_over_or_another() {
        let folder = tempfile::tempdir().unwrap();
        let news =
            |failure: Option<&str>| change(folder.path(), |told| told.is_news("sink", failure)).unwrap();
        let said = [Some("full"), Some("full"), Some("a link"), None, None, Some("a link")].map(news);
        assert_eq!(said, [true, false, true, false, false, true]);
        std::fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(news(Some("a link")));
    }
}
