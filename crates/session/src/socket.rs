//! The session's socket: one folder of the holder's, one thread a connection, one JSON line each way. Who can
//! connect lives in the session's view, so connecting is the identity.

use crate::desk::Desk;
use remit_core::wire::{Answer, LONGEST_LINE, Request};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How many connections are served at once; more are closed at once, which their askers take as a denial.
const MOST: usize = 64;
/// How long a connection may take to send its line or to take its answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A bound socket; removed when dropped.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    listener: UnixListener,
}

impl Socket {
    /// Binds `<folder>/<name>.sock`; the folder is made with mode 0700 and must be the caller's own.
    pub fn bind(folder: &Path, name: &str) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        for dir in [folder, folder.parent().unwrap_or(folder)] {
            own(dir)?;
        }
        let path = folder.join(format!("{name}.sock"));
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { path, listener })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Serves until the process ends.
    pub fn serve(&self, desk: Arc<Desk>) -> io::Result<()> {
        let listener = self.listener.try_clone()?;
        let open = Arc::new(AtomicUsize::new(0));
        std::thread::Builder::new().name("session-socket".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                if open.fetch_add(1, Ordering::Relaxed) >= MOST {
                    open.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                let (desk, count) = (Arc::clone(&desk), Arc::clone(&open));
                let spawned = std::thread::Builder::new().name("session-asker".into()).spawn(move || {
                    // A caller that went away has no use for an answer.
                    drop(talk(&stream, &desk));
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
    }
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

fn talk(stream: &UnixStream, desk: &Desk) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let limit = u64::try_from(LONGEST_LINE).unwrap_or(u64::MAX);
        (&mut reader).take(limit).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        let whole = line.ends_with(b"\n");
        let answer = match serde_json::from_slice::<Request>(&line) {
            Ok(request) if whole => desk.answer(&request),
            Ok(_) => Answer::Failed { why: "the request broke off".to_owned() },
            Err(error) => Answer::Failed { why: format!("not a request: {error}") },
        };
        let mut bytes = serde_json::to_vec(&answer)?;
        bytes.push(b'\n');
        (&mut &*stream).write_all(&bytes)?;
        if !whole {
            return Ok(());
        }
    }
}
