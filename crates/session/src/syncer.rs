//! Syncs the ledger to disk beside those who append: at once after a refusal, else within ten milliseconds.

use remit_store::Ledger;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long a record may wait.
const LATEST: Duration = Duration::from_millis(10);

#[derive(Debug, Default)]
struct State {
    dirty: bool,
    urgent: bool,
    ended: bool,
}

/// Tells the syncing thread what was appended.
#[derive(Debug, Default)]
pub struct Syncer {
    state: Mutex<State>,
    wake: Condvar,
}

impl Syncer {
    /// Starts the thread for a ledger. It ends with [`Syncer::end`].
    pub fn start(self: &Arc<Self>, ledger: Arc<Ledger>) -> std::io::Result<()> {
        let syncer = Arc::clone(self);
        std::thread::Builder::new().name("ledger-sync".into()).spawn(move || syncer.serve(&ledger)).map(drop)
    }

    /// Something was appended; `urgent`: sync at once.
    pub fn appended(&self, urgent: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let wake = !state.dirty || (urgent && !state.urgent);
        state.dirty = true;
        state.urgent |= urgent;
        drop(state);
        if wake {
            self.wake.notify_one();
        }
    }

    /// Ends the thread; who calls this does the last sync.
    pub fn end(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.wake.notify_one();
    }

    fn serve(&self, ledger: &Ledger) {
        loop {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            while !state.dirty && !state.ended {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if !state.urgent && !state.ended {
                let waited = self.wake.wait_timeout_while(state, LATEST, |s| !s.urgent && !s.ended);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            if state.ended {
                return;
            }
            state.dirty = false;
            state.urgent = false;
            drop(state);
            // The records are written; a disk that cannot sync them is told by the next append or by verify.
            drop(ledger.sync());
        }
    }
}
