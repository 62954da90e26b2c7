//! Who may look at the tree, and who may move names in it: in the order in which they came.
//!
//! The lock of the standard library lets whoever runs go first. A program that moves names without pause would keep
//! every other call of its session waiting, for it is always the one that runs.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How often one looks whether it is one's turn before one sleeps: as long as most changes take.
const LOOKS: usize = 1000;

/// A lock for many who look or one who moves.
#[derive(Default)]
pub(super) struct Turns {
    next: AtomicU64,
    now: AtomicU64,
    looking: AtomicU64,
    asleep: Mutex<usize>,
    changed: Condvar,
}

/// A turn; it ends when this is dropped.
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    moves: bool,
}

impl Turns {
    /// Waits until one may look, together with others.
    pub(super) fn look(&self) -> Turn<'_> {
        let mine = self.next.fetch_add(1, SeqCst);
        self.wait(|| self.now.load(SeqCst) == mine);
        self.looking.fetch_add(1, SeqCst);
        self.now.fetch_add(1, SeqCst);
        self.tell();
        Turn { turns: self, moves: false }
    }

    /// Waits until one may move names, alone.
    pub(super) fn move_names(&self) -> Turn<'_> {
        let mine = self.next.fetch_add(1, SeqCst);
        self.wait(|| self.now.load(SeqCst) == mine && self.looking.load(SeqCst) == 0);
        Turn { turns: self, moves: true }
    }

    fn wait(&self, so: impl Fn() -> bool) {
        for _ in 0..LOOKS {
            if so() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut asleep = self.lock();
        *asleep += 1;
        while !so() {
            asleep = self.changed.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        }
        *asleep -= 1;
    }

    /// To be called after each change. Whoever is about to sleep has the lock, and sees the change before.
    fn tell(&self) {
        if *self.lock() > 0 {
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.moves {
            self.turns.now.fetch_add(1, SeqCst);
        } else {
            self.turns.looking.fetch_sub(1, SeqCst);
        }
        self.turns.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_moves_is_alone_and_nobody_is_left_waiting() {
        let (turns, inside) = (Turns::default(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (turns, inside) = (&turns, &inside);
                scope.spawn(move || {
                    for round in 0..2000 {
                        if (number + round) % 3 == 0 {
                            let _turn = turns.move_names();
                            assert_eq!(inside.fetch_add(1000, SeqCst), 0);
                            inside.fetch_sub(1000, SeqCst);
                        } else {
                            let _turn = turns.look();
                            assert!(inside.fetch_add(1, SeqCst) < 4);
                            inside.fetch_sub(1, SeqCst);
                        }
                    }
                });
            }
        });
        assert_eq!((turns.next.load(SeqCst), turns.now.load(SeqCst)), (8000, 8000));
    }

    #[test]
    fn those_who_look_do_so_together() {
        let turns = Turns::default();
        let first = turns.look();
        drop(turns.look());
        drop(first);
        drop(turns.move_names());
    }
}
