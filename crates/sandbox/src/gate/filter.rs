//! The kernel's program, made from the table. Calls whose arguments do not matter and that are free never run
//! it: the kernel sees that and remembers.

use super::table::{ARCHITECTURE, Answer, CALLS, Call, Command, LAST, UNASSIGNED};
use libc::sock_filter;

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Where the call's number, the architecture and the low half of an argument are in what the program sees.
const NUMBER: u32 = 0;
const LABEL: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

const NOTIFY: u32 = libc::SECCOMP_RET_USER_NOTIF;
const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const fn error(number: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | number.unsigned_abs()
}

/// Opening with any of these bits may change something: both access bits, `O_CREAT`, `O_TRUNC`, and the bit that
/// makes `O_TMPFILE` of `O_DIRECTORY`.
const WRITES: u32 =
    (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | (libc::O_TMPFILE & !libc::O_DIRECTORY)).unsigned_abs();

const fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Skips the next `count` steps unless the test holds.
const fn unless(code: u16, k: u32, count: u8) -> sock_filter {
    sock_filter { code, jt: 0, jf: count, k }
}

/// What stops beside changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stops {
    /// Opening a folder to list it, and watching something: the session sees folders that it may not list, and the
    /// floor can tell no folder from what is mounted below it.
    pub lists: bool,
    /// Opening anything, and starting a program: reads are recorded.
    pub reads: bool,
}

/// The filter of a session.
pub fn program(stops: Stops) -> Vec<sock_filter> {
    let mut program = vec![
        step(LOAD, LABEL),
        sock_filter { code: IF_EQUAL, jt: 1, jf: 0, k: ARCHITECTURE },
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        step(LOAD, NUMBER),
        // Calls of a kernel that is younger than the table, and all of x32.
        unless(IF_AT_LEAST, LAST + 1, 1),
        step(RETURN, error(libc::ENOSYS)),
    ];
    // The frequent ones stand first.
    let frequent =
        |call: &&Call| matches!(call.2, Answer::OnWrite(_) | Answer::OnOwnerMask | Answer::ByCommand(_));
    let (depends, plain): (Vec<&Call>, Vec<&Call>) = CALLS.iter().partition(frequent);
    for call in depends.into_iter().chain(plain) {
        let body = body(call.2, stops);
        if let Ok(length @ 1..) = u8::try_from(body.len()) {
            program.push(unless(IF_EQUAL, call.0, length));
            program.extend(body);
        }
    }
    program.extend([
        unless(IF_AT_LEAST, *UNASSIGNED.start(), 2),
        sock_filter { code: IF_AT_LEAST, jt: 1, jf: 0, k: *UNASSIGNED.end() + 1 },
        step(RETURN, error(libc::ENOSYS)),
        step(RETURN, ALLOW),
    ]);
    program
}

/// The steps for a call; they end with a return. None for a free one.
fn body(answer: Answer, stops: Stops) -> Vec<sock_filter> {
    let flags_that_stop = if stops.lists { WRITES | libc::O_DIRECTORY.unsigned_abs() } else { WRITES };
    match answer {
        Answer::Watched if stops.lists => vec![step(RETURN, NOTIFY)],
        Answer::Started if stops.reads => vec![step(RETURN, NOTIFY)],
        Answer::Free(_) | Answer::Watched | Answer::Started => Vec::new(),
        Answer::Judged(_) => vec![step(RETURN, NOTIFY)],
        Answer::Missing => vec![step(RETURN, error(libc::ENOSYS))],
        Answer::Refused => vec![step(RETURN, error(libc::EPERM))],
        Answer::OnWrite(flags) if stops.reads => vec![
            step(LOAD, argument(flags)),
            unless(IF_ANY_BIT, libc::O_PATH.unsigned_abs(), 1),
            step(RETURN, ALLOW),
            step(RETURN, NOTIFY),
        ],
        Answer::OnWrite(flags) => vec![
            step(LOAD, argument(flags)),
            // With O_PATH the kernel ignores the others.
            unless(IF_ANY_BIT, libc::O_PATH.unsigned_abs(), 1),
            step(RETURN, ALLOW),
            unless(IF_ANY_BIT, flags_that_stop, 1),
            step(RETURN, NOTIFY),
            step(RETURN, ALLOW),
        ],
        Answer::OnOwnerMask => vec![
            step(LOAD, argument(0)),
            unless(IF_ANY_BIT, 0o700, 1),
            step(RETURN, NOTIFY),
            step(RETURN, ALLOW),
        ],
        Answer::OfOther => of_other(0).to_vec(),
        Answer::OnLimit => vec![
            step(LOAD, argument(0)),
            unless(IF_EQUAL, 0, 1),
            step(RETURN, ALLOW),
            // A pointer has both halves of the register.
            step(LOAD, argument(2)),
            unless(IF_EQUAL, 0, 3),
            step(LOAD, argument(2) + 4),
            unless(IF_EQUAL, 0, 1),
            step(RETURN, ALLOW),
            step(RETURN, NOTIFY),
        ],
        Answer::OfRank(process) => {
            let mut body = vec![step(LOAD, argument(0)), unless(IF_EQUAL, process, 4)];
            body.extend(of_other(1));
            for many in [process + 1, process + 2] {
                body.extend([unless(IF_EQUAL, many, 1), step(RETURN, error(libc::EPERM))]);
            }
            body.push(step(RETURN, ALLOW));
            body
        }
        Answer::ByCommand(commands) => {
            let mut body = vec![step(LOAD, argument(1))];
            let (types, whole): (Vec<_>, Vec<_>) =
                commands.iter().copied().partition(|row| row.1 == Command::Type);
            for (command, answer) in whole {
                let answer = match answer {
                    Command::Pass => ALLOW,
                    Command::Unknown => error(libc::EINVAL),
                    Command::Deny | Command::Type => error(libc::EPERM),
                };
                body.extend([unless(IF_EQUAL, command, 1), step(RETURN, answer)]);
            }
            body.push(step(AND, 0xff00));
            for (command, _) in types {
                body.extend([unless(IF_EQUAL, command << 8, 1), step(RETURN, error(libc::ENOTTY))]);
            }
            body.push(step(RETURN, ALLOW));
            body
        }
    }
}

/// Stops if the argument of this index names a process; 0 is the caller.
const fn of_other(index: u32) -> [sock_filter; 4] {
    [step(LOAD, argument(index)), unless(IF_EQUAL, 0, 1), step(RETURN, ALLOW), step(RETURN, NOTIFY)]
}

#[cfg(test)]
mod tests {
    use super::super::table::find;
    use super::*;

    /// Runs the program as the kernel would.
    fn run(arch: u32, number: u32, arguments: [u64; 6]) -> u32 {
        run_program(&program(Stops::default()), arch, number, arguments)
    }

    fn run_program(program: &[sock_filter], arch: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        data.extend(number.to_ne_bytes());
        data.extend(arch.to_ne_bytes());
        data.extend(0u64.to_ne_bytes());
        arguments.iter().for_each(|a| data.extend(a.to_ne_bytes()));
        let (mut at, mut value) = (0, 0u32);
        loop {
            let step = program[at];
            let holds = match step.code {
                LOAD => {
                    let k = step.k as usize;
                    value = u32::from_ne_bytes(data[k..k + 4].try_into().unwrap());
                    false
                }
                AND => {
                    value &= step.k;
                    false
                }
                IF_EQUAL => value == step.k,
                IF_AT_LEAST => value >= step.k,
                IF_ANY_BIT => value & step.k != 0,
                RETURN => return step.k,
                other => panic!("unknown step {other:x}"),
            };
            at += 1 + usize::from(if holds { step.jt } else { step.jf });
        }
    }

    fn here(number: i64, arguments: [u64; 6]) -> u32 {
        run(ARCHITECTURE, u32::try_from(number).unwrap(), arguments)
    }

    #[test]
    fn the_program_answers_as_the_table_says() {
        for number in 0..=LAST {
            let got = run(ARCHITECTURE, number, [0; 6]);
            let want = match find(i32::try_from(number).unwrap()).map(|call| call.2) {
                Some(Answer::Judged(_)) => NOTIFY,
                Some(Answer::Refused) => error(libc::EPERM),
                Some(Answer::Missing) | None => error(libc::ENOSYS),
                Some(_) => ALLOW,
            };
            assert_eq!(got, want, "call {number}");
        }
    }

    #[test]
    fn numbers_above_the_table_and_x32_do_not_exist_and_other_architectures_are_killed() {
        for number in [470, 471, 1000, 0x4000_0000, 0x4000_0001, 0x4000_0200, u32::MAX] {
            assert_eq!(run(ARCHITECTURE, number, [0; 6]), error(libc::ENOSYS));
        }
        for arch in [0x4000_0003, 0xc000_00b7, 0] {
            assert_eq!(run(arch, 0, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
        }
    }

    #[test]
    fn opening_stops_exactly_when_it_may_change_something() {
        let flags = |flags: i32| {
            let bits = u64::from(flags.unsigned_abs());
            let one = here(libc::SYS_open, [0, bits, 0, 0, 0, 0]);
            assert_eq!(one, here(libc::SYS_openat, [0, 0, bits, 0, 0, 0]));
            // The upper half of the register is not part of the argument.
            assert_eq!(one, here(libc::SYS_openat, [0, 0, bits | 1 << 40, 0, 0, 0]));
            one == NOTIFY
        };
        assert!(!flags(libc::O_RDONLY) && !flags(libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC));
        assert!(!flags(libc::O_PATH | libc::O_RDWR | libc::O_CREAT));
        for write in [libc::O_WRONLY, libc::O_RDWR, 3, libc::O_CREAT, libc::O_TRUNC, libc::O_TMPFILE] {
            assert!(flags(write), "{write:o}");
        }
    }

    #[test]
    fn listing_stops_only_where_the_gate_is_to_list() {
        let stops = |lists, flags: i32| {
            let arguments = [0, 0, u64::from(flags.unsigned_abs()), 0, 0, 0];
            let number = u32::try_from(libc::SYS_openat).unwrap();
            run_program(&program(Stops { lists, reads: false }), ARCHITECTURE, number, arguments) == NOTIFY
        };
        assert!(stops(true, libc::O_DIRECTORY | libc::O_CLOEXEC) && !stops(false, libc::O_DIRECTORY));
        assert!(!stops(true, libc::O_RDONLY) && !stops(true, libc::O_PATH | libc::O_DIRECTORY));
        assert!(stops(true, libc::O_WRONLY) && stops(true, libc::O_TMPFILE | libc::O_RDWR));
        let watch = u32::try_from(libc::SYS_inotify_add_watch).unwrap();
        let of = |lists| program(Stops { lists, reads: false });
        assert_eq!(run_program(&of(true), ARCHITECTURE, watch, [0; 6]), NOTIFY);
        assert_eq!(run_program(&of(false), ARCHITECTURE, watch, [0; 6]), ALLOW);
    }

    #[test]
    fn reading_and_starting_stop_only_where_they_are_recorded_and_a_mere_place_never_does() {
        let stops = |reads, number: i64, flags: i32| {
            let arguments = [0, 0, u64::from(flags.unsigned_abs()), 0, 0, 0];
            let program = program(Stops { lists: false, reads });
            run_program(&program, ARCHITECTURE, u32::try_from(number).unwrap(), arguments) == NOTIFY
        };
        for reads in [true, false] {
            assert_eq!(stops(reads, libc::SYS_openat, libc::O_RDONLY | libc::O_CLOEXEC), reads);
            assert_eq!(stops(reads, libc::SYS_openat, libc::O_DIRECTORY), reads);
            assert_eq!(stops(reads, libc::SYS_execve, 0), reads);
            assert_eq!(stops(reads, libc::SYS_execveat, 0), reads);
            assert!(stops(reads, libc::SYS_openat, libc::O_RDWR));
            assert!(!stops(reads, libc::SYS_openat, libc::O_PATH | libc::O_RDWR));
        }
    }

    #[test]
    fn a_descriptor_for_reading_changes_no_attribute_by_ioctl() {
        let ioctl = |command: u64| here(libc::SYS_ioctl, [3, command, 0, 0, 0, 0]);
        for denied in [0x4008_6602, 0x4004_6602, 0x401c_5820, 0x5412, 0x541c, 0xffff_ffff_0000_5412] {
            assert_eq!(ioctl(denied), error(libc::EPERM));
        }
        // Making a btrfs subvolume, enabling verity.
        assert_eq!(ioctl(0x5000_940e), error(libc::ENOTTY));
        assert_eq!(ioctl(0x4080_6685), error(libc::ENOTTY));
        for passes in [0x5401, 0x5413, 0x541b, 0x8008_6601, 0x4004_9409] {
            assert_eq!(ioctl(passes), ALLOW);
        }
    }

    #[test]
    fn no_lease_can_be_taken() {
        let fcntl = |command: u64| here(libc::SYS_fcntl, [3, command, 1, 0, 0, 0]);
        for lease in [1024, 1039, 1040, 1 << 40 | 1024] {
            assert_eq!(fcntl(lease), error(libc::EINVAL));
        }
        for passes in [0, 1, 2, 4, 6, 1025, 1030, 1031, 1033, 37] {
            assert_eq!(fcntl(passes), ALLOW);
        }
    }

    #[test]
    fn what_changes_how_another_process_runs_stops_and_what_changes_the_caller_does_not() {
        let limit = |process, new| here(libc::SYS_prlimit64, [process, 7, new, 0x1000, 0, 0]);
        assert_eq!((limit(0, 0x1000), limit(5, 0)), (ALLOW, ALLOW));
        // The upper half of the process is no part of it; that of the pointer is.
        assert_eq!(limit(1 << 32, 0x1000), ALLOW);
        for new in [0x1000, 1 << 32, u64::MAX] {
            assert_eq!(limit(1, new), NOTIFY);
        }
        let scheduling = [
            libc::SYS_sched_setparam,
            libc::SYS_sched_setscheduler,
            libc::SYS_sched_setaffinity,
            libc::SYS_sched_setattr,
        ];
        for number in scheduling {
            assert_eq!(here(number, [0, 1, 2, 3, 0, 0]), ALLOW);
            assert_eq!(here(number, [1, 1, 2, 3, 0, 0]), NOTIFY);
        }
        for (number, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
            let call = |which, who| here(number, [which, who, 19, 0, 0, 0]);
            assert_eq!((call(process, 0), call(process, 1)), (ALLOW, NOTIFY));
            for who in [0, 1] {
                assert_eq!(call(process + 1, who), error(libc::EPERM));
                assert_eq!(call(process + 2, who), error(libc::EPERM));
                assert_eq!(call(process + 3, who), ALLOW, "the kernel refuses it");
            }
        }
    }

    #[test]
    fn a_mask_stops_only_when_it_takes_from_the_owner() {
        assert_eq!(here(libc::SYS_umask, [0o077, 0, 0, 0, 0, 0]), ALLOW);
        assert_eq!(here(libc::SYS_umask, [0o277, 0, 0, 0, 0, 0]), NOTIFY);
    }
}
