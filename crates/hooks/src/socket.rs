//! Asking the session that this process runs in, over its socket.

use crate::door::Asker;
use remit_core::wire::{Answer, INSIDE, LONGEST_LINE, Request, SOCKET};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long one read or write may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether this process runs inside a view. What cannot be found out counts as yes: inside, a socket that
/// does not answer is a denial.
pub fn inside() -> bool {
    exists(Path::new(INSIDE))
}

fn exists(folder: &Path) -> bool {
    !matches!(std::fs::symlink_metadata(folder), Err(e) if e.kind() == ErrorKind::NotFound)
}

/// Asks over a socket: one JSON line each way. Connecting is the identity.
#[derive(Debug, Clone)]
pub struct SocketAsker {
    path: PathBuf,
    patience: Duration,
}

impl Default for SocketAsker {
    fn default() -> Self {
        Self::at(Path::new(SOCKET), PATIENCE)
    }
}

impl SocketAsker {
    /// Another socket, and how long one read or write may take.
    pub fn at(path: &Path, patience: Duration) -> Self {
        Self { path: path.to_owned(), patience }
    }
}

impl Asker for SocketAsker {
    fn ask(&self, request: &Request) -> Result<Answer, String> {
        let mut line =
            serde_json::to_vec(request).map_err(|e| format!("the request cannot be written: {e}"))?;
        line.push(b'\n');
        if line.len() > LONGEST_LINE {
            return Err("the request is too long for the session's socket".to_owned());
        }
        let failed = |what: &'static str| {
            move |e: std::io::Error| match e.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                    format!("the session did not answer in time ({what})")
                }
                _ => format!("the session's socket does not answer ({what}): {e}"),
            }
        };
        let mut stream = UnixStream::connect(&self.path).map_err(failed("connect"))?;
        stream.set_read_timeout(Some(self.patience)).map_err(failed("connect"))?;
        stream.set_write_timeout(Some(self.patience)).map_err(failed("connect"))?;
        stream.write_all(&line).map_err(failed("write"))?;
        let mut answer = Vec::new();
        BufReader::new(stream)
            .take(LONGEST_LINE as u64)
            .read_until(b'\n', &mut answer)
            .map_err(failed("read"))?;
        if answer.last() != Some(&b'\n') {
            return Err("the session's answer broke off".to_owned());
        }
        serde_json::from_slice(&answer).map_err(|e| format!("the session's answer cannot be understood: {e}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remit_core::CallId;
    use std::os::unix::net::UnixListener;
    use std::thread::{JoinHandle, spawn};

    fn request() -> Request {
        Request::Done { version: 1, id: CallId::new("toolu_1").unwrap(), ok: true }
    }

    /// A session that reads a line, says `answer`, and hands the line out.
    fn session(dir: &Path, answer: &'static [u8]) -> (SocketAsker, JoinHandle<String>) {
        let path = dir.join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let thread = spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
            stream.write_all(answer).unwrap();
            line
        });
        (SocketAsker::at(&path, Duration::from_secs(20)), thread)
    }

    #[test]
    fn one_line_goes_each_way() {
        let dir = tempfile::tempdir().unwrap();
        let (asker, thread) = session(dir.path(), b"{\"answer\":\"noted\"}\n");
        assert_eq!(asker.ask(&request()), Ok(Answer::Noted { context: None }));
        assert_eq!(
            thread.join().unwrap(),
            "{\"ask\":\"done\",\"version\":1,\"id\":\"toolu_1\",\"ok\":true}\n"
        );
    }

    #[test]
    fn no_socket_a_torn_answer_and_nonsense_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let nobody = SocketAsker::at(&dir.path().join("nobody"), PATIENCE);
        assert!(nobody.ask(&request()).unwrap_err().contains("does not answer (connect)"));
        for (i, (answer, why)) in [
            (&b"{\"answer\":\"noted\"}"[..], "broke off"),
            (b"", "broke off"),
            (b"ok\n", "cannot be understood"),
            (b"{\"answer\":\"verdict\",\"effect\":\"maybe\"}\n", "cannot be understood"),
            (b"{\"answer\":\"noted\",\"allow\":true}\n", "cannot be understood"),
        ]
        .into_iter()
        .enumerate()
        {
            let dir = dir.path().join(i.to_string());
            std::fs::create_dir(&dir).unwrap();
            let (asker, thread) = session(&dir, answer);
            assert!(asker.ask(&request()).unwrap_err().contains(why), "{answer:?}");
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_session_that_says_nothing_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let asker = SocketAsker::at(&path, Duration::from_millis(5));
        assert!(asker.ask(&request()).unwrap_err().contains("in time"));
    }

    #[test]
    fn only_a_folder_that_is_certainly_absent_is_outside() {
        let dir = tempfile::tempdir().unwrap();
        assert!(exists(dir.path()));
        assert!(!exists(&dir.path().join("none")));
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(exists(&file.join("below")), "an error other than absence counts as inside");
    }
}
