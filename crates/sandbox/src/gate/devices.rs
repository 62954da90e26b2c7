//! The device nodes that a caller opens for writing by itself: one table for the gate, which answers "go on",
//! and for the floor, which grants writing on exactly these and so decides in the end.

use rustix::fs::{Dev, major, minor};

/// A node, or a folder of nodes, and the numbers of the devices.
struct Device {
    path: &'static str,
    major: std::ops::RangeInclusive<u32>,
    minor: std::ops::RangeInclusive<u32>,
}

const fn device(path: &'static str, major: u32, minor: u32) -> Device {
    Device { path, major: major..=major, minor: minor..=minor }
}

/// Only the caller can open *its* terminal, or make a terminal its own, so these are never done on behalf.
const DEVICES: &[Device] = &[
    device("/dev/null", 1, 3),
    device("/dev/zero", 1, 5),
    device("/dev/full", 1, 7),
    device("/dev/random", 1, 8),
    device("/dev/urandom", 1, 9),
    device("/dev/tty", 5, 0),
    device("/dev/ptmx", 5, 2),
    Device { path: "/dev/pts", major: 136..=143, minor: 0..=u32::MAX },
];

const fn paths<const N: usize>(devices: &[Device]) -> [&'static str; N] {
    let mut paths = [""; N];
    let mut at = 0;
    while at < N {
        paths[at] = devices[at].path;
        at += 1;
    }
    paths
}

static PATHS: [&str; DEVICES.len()] = paths(DEVICES);

/// The nodes on which the floor must grant reading, writing, truncating and `ioctl`; the last is a folder.
pub fn device_rules() -> &'static [&'static str] {
    &PATHS
}

/// Whether a character device is one of the table's.
pub(super) fn is_harmless(device: Dev) -> bool {
    let (major, minor) = (major(device), minor(device));
    DEVICES.iter().any(|row| row.major.contains(&major) && row.minor.contains(&minor))
}

/// Whether a character device is the program's side of a pseudoterminal.
pub(crate) fn is_pseudoterminal(device: Dev) -> bool {
    (136..=143).contains(&major(device))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::makedev;

    #[test]
    fn terminals_pass_and_disks_and_memory_do_not() {
        assert!(is_harmless(makedev(1, 3)) && is_harmless(makedev(5, 0)) && is_harmless(makedev(136, 7)));
        assert!(!is_harmless(makedev(1, 1)) && !is_harmless(makedev(5, 1)) && !is_harmless(makedev(8, 0)));
        assert!(is_pseudoterminal(makedev(136, 0)) && !is_pseudoterminal(makedev(5, 2)));
        assert_eq!(device_rules().len(), DEVICES.len());
        assert!(device_rules().iter().all(|path| path.starts_with("/dev/")));
    }
}
