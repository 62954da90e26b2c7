//! Answering a stopped call.

use super::plan::Reply;
use super::serve::Gate;
use crate::sys::{self, Outcome};
use rustix::io::Errno;
use std::os::fd::AsFd;

impl Gate {
    /// Answers a stopped call. If the caller has died there is nobody to tell, and nothing to do.
    pub(super) fn answer(&self, id: u64, reply: Reply) {
        let outcome = match reply {
            Reply::Gone | Reply::Later => return,
            Reply::Value(value) => Outcome::Value(value),
            Reply::Error(error) => Outcome::Error(error),
            Reply::Continue => Outcome::Continue,
            Reply::File { file, close_on_exec } => {
                // In two steps, and our descriptor is closed between them. If the caller could run before that, a
                // lock that it gives up by closing would still be held by us, and a program that it has just
                // written could not be started.
                match sys::inject(self.listener(), id, file.as_fd(), close_on_exec) {
                    Ok(number) => Outcome::Value(number.into()),
                    Err(Errno::NOENT) => return,
                    Err(error) => Outcome::Error(error),
                }
            }
        };
        match sys::send(self.listener(), id, outcome) {
            // It may have been killed in the meantime.
            Ok(()) | Err(_) => {}
        }
    }
}
