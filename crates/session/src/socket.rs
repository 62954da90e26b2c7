//! The session's socket: one folder of the holder's, one thread a connection, one JSON line each way. Who can
//! connect lives in the session's view, so connecting is the identity.

use crate::desk::Desk;
use crate::lineage;
use remit_core::wire::{Answer, LONGEST_LINE, Request};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How many connections are served at once; more are closed at once, which their askers take as a denial.
const MOST: usize = 64;
/// How long a request may take to arrive, and its answer to be taken.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many bytes of requests that are not yet whole are held at once, over all connections.
const BUDGET: usize = 2 * LONGEST_LINE;

/// How often a folder is made that goes away again: each time another session has ended just then.
const TRIES: usize = 1000;

/// How far up a process is followed.
const DEEPEST: usize = 4096;

/// A bound socket; removed when dropped.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    listener: UnixListener,
}

impl Socket {
    /// Binds `<folder>/<name>.sock`; the folder is made with mode 0700 and must be the caller's own. The last
    /// session of the folder may end, and remove it, in the middle of this: then it is made again.
    pub fn bind(folder: &Path, name: &str) -> io::Result<Self> {
        let path = folder.join(format!("{name}.sock"));
        let mut tries = 0;
        let listener = loop {
            match listen(folder, &path) {
                // The folder went away meanwhile; making it may have found it, and then not.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists)
                        && tries < TRIES =>
                {
                    tries += 1;
                }
                bound => break bound?,
            }
        };
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { path, listener })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Serves those who live where the process `gate` lives, until this process ends.
    pub fn serve(&self, desk: Arc<Desk>, gate: u32) -> io::Result<()> {
        let listener = self.listener.try_clone()?;
        let open = Arc::new(AtomicUsize::new(0));
        let held = Arc::new(AtomicUsize::new(0));
        std::thread::Builder::new().name("session-socket".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                if open.fetch_add(1, Ordering::Relaxed) >= MOST {
                    open.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                let (desk, count, held) = (Arc::clone(&desk), Arc::clone(&open), Arc::clone(&held));
                let spawned = std::thread::Builder::new().name("session-asker".into()).spawn(move || {
                    // A caller that went away, or that lives elsewhere, gets no answer.
                    if let Some(peer) = peer(&stream, gate) {
                        drop(talk(&stream, &desk, &held, asker(peer)));
                    }
                    count.fetch_sub(1, Ordering::Relaxed);
                });
                if spawned.is_err() {
                    open.fetch_sub(1, Ordering::Relaxed);
                }
            }
        })?;
        Ok(())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // It is ours by name; if somebody removed it before, the end is the same.
        drop(fs::remove_file(&self.path));
        // Only an empty folder goes, so another session keeps it.
        drop(self.path.parent().map(fs::remove_dir));
    }
}

fn listen(folder: &Path, path: &Path) -> io::Result<UnixListener> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for dir in [folder, folder.parent().unwrap_or(folder)] {
        own(dir)?;
    }
    UnixListener::bind(path)
}

/// Refuses a folder that another user could have put there.
fn own(dir: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(dir)?;
    let me = rustix::process::getuid().as_raw();
    if meta.is_dir() && meta.uid() == me && meta.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("`{}` must be a folder of yours with mode 0700", dir.display()),
    ))
}

/// The process at the other end, if it comes from the gate: every process of a session does, orphans too. One
/// that has ended does not.
fn peer(stream: &UnixStream, gate: u32) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    let pid = u32::try_from(peer.pid.as_raw_nonzero().get()).ok()?;
    let mut at = pid;
    for _ in 0..DEEPEST {
        match lineage::of(at)? {
            (parent, _) if parent == gate => return Some(pid),
            (parent, _) if parent > 1 => at = parent,
            _ => return None,
        }
    }
    None
}

/// The process that started the hook: its parent, as the session numbers it.
fn asker(peer: u32) -> Option<u32> {
    let (parent, _) = lineage::of(peer)?;
    let status = fs::read_to_string(format!("/proc/{parent}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace().last()?.parse().ok()
}

fn talk(stream: &UnixStream, desk: &Desk, held: &AtomicUsize, host: Option<u32>) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    while let Some(line) = request(stream, held)? {
        let answer = match serde_json::from_slice::<Request>(&line) {
            Ok(request) => desk.answer(&request, host),
            Err(error) => Answer::Failed { why: format!("not a request: {error}") },
        };
        let mut bytes = serde_json::to_vec(&answer)?;
        bytes.push(b'\n');
        (&mut &*stream).write_all(&bytes)?;
    }
    Ok(())
}

/// The next whole line; none at the end. A line that takes too long, is too long, or comes while too much is
/// held for others, ends the connection.
fn request(mut stream: &UnixStream, held: &AtomicUsize) -> io::Result<Option<Vec<u8>>> {
    let until = Instant::now() + PATIENCE;
    let mut line = Vec::new();
    let mut chunk = [0; 16 << 10];
    let read = loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut chunk) {
            Ok(0) if line.is_empty() => break Ok(None),
            Ok(0) => break Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                line.extend_from_slice(&chunk[..n]);
                let total = held.fetch_add(n, Ordering::Relaxed) + n;
                if line.ends_with(b"\n") {
                    break Ok(Some(()));
                }
                if line.len() > LONGEST_LINE || total > BUDGET {
                    break Err(io::ErrorKind::OutOfMemory.into());
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => break Err(e),
        }
    };
    held.fetch_sub(line.len(), Ordering::Relaxed);
    read.map(|some| some.map(|()| line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("remit/0123456789ab");
        (dir, folder)
    }

    #[test]
    fn the_last_session_takes_the_folder_with_it_and_the_one_above_stays() {
        let (_dir, folder) = folder();
        let first = Socket::bind(&folder, "a").unwrap();
        let second = Socket::bind(&folder, "b").unwrap();
        drop(first);
        assert!(second.path().exists() && !folder.join("a.sock").exists());
        drop(second);
        assert!(!folder.exists() && folder.parent().unwrap().exists());
    }

    #[test]
    fn a_folder_with_something_else_in_it_stays() {
        let (_dir, folder) = folder();
        let socket = Socket::bind(&folder, "a").unwrap();
        fs::write(folder.join("other"), "").unwrap();
        drop(socket);
        assert!(folder.join("other").exists());
    }

    #[test]
    fn sessions_that_start_while_others_end_find_their_folder() {
        let (_dir, folder) = folder();
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let folder = &folder;
                scope.spawn(move || {
                    for round in 0..200 {
                        let socket = Socket::bind(folder, &format!("{worker}-{round}")).unwrap();
                        assert!(socket.path().exists());
                    }
                });
            }
        });
        assert!(!folder.exists());
    }
}
