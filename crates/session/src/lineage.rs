//! Where a process of the session comes from, by `/proc`: whether it was started in the course of a call.

use rustix::time::{ClockId, clock_gettime};

/// Clock ticks in a second, as `/proc` counts them on every machine.
const TICKS: i64 = 100;
/// How far up a process is followed.
const DEEPEST: usize = 64;
/// The first program of a session.
pub const FIRST: u32 = 2;

/// Ticks since the machine was started.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    let hundredths = time.tv_nsec / (1_000_000_000 / TICKS);
    u64::try_from(time.tv_sec.saturating_mul(TICKS).saturating_add(hundredths)).unwrap_or(0)
}

/// A process's parent and the tick at which it was started.
pub fn of(pid: u32) -> Option<(u32, u64)> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything.
    let after = stat.iter().rposition(|b| *b == b')')?;
    let mut fields = std::str::from_utf8(stat.get(after + 2..)?).ok()?.split(' ');
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some((parent, started))
}

/// Whether `pid` comes from a process that `host` started at `since` or later. What was started before, a
/// background command or a server, does not, and neither does what it starts.
pub fn started_since(pid: u32, host: u32, since: u64, of: impl Fn(u32) -> Option<(u32, u64)>) -> bool {
    let mut at = pid;
    for _ in 0..DEEPEST {
        match of(at) {
            Some((_, started)) if started < since => return at == host && at != pid,
            Some((parent, _)) if parent == host => return true,
            Some((parent, _)) if parent > 1 => at = parent,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_host_started_since_then_belongs() {
        // 2 host, 5 a server from before, 6 its child; 10 the call's shell, 11 its child; 20 an orphan.
        let of = |pid| match pid {
            2 => Some((1, 10)),
            5 => Some((2, 20)),
            6 => Some((5, 120)),
            10 => Some((2, 100)),
            11 => Some((10, 130)),
            20 => Some((1, 140)),
            _ => None,
        };
        let belongs = |pid| started_since(pid, 2, 100, of);
        assert!(belongs(10) && belongs(11));
        assert!(!belongs(2) && !belongs(5) && !belongs(6) && !belongs(20) && !belongs(99));
    }

    #[test]
    fn this_process_is_found_with_its_parent_and_age() {
        let (parent, started) = of(std::process::id()).unwrap();
        assert_eq!(parent, std::os::unix::process::parent_id());
        assert!(started > 0 && started <= now());
    }
}
