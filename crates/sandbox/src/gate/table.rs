//! The one table of system calls: number, name, and what becomes of it. Filter and dispatcher come from it.
//! A call that it does not know does not exist inside.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("the gate knows the system calls of Linux on x86_64 only");

use Answer::{
    ByCommand, Free, Judged, Missing, OfOther, OfRank, OnLimit, OnOwnerMask, OnWrite, Refused, Started,
    Watched,
};
use Family::{
    Attribute, Bind, Execute, Link, MakeFolder, MakeNode, Mode, Open, Owner, Remove, Rename, Symlink, Times,
    Truncate, Umask, Watch,
};
use Subject::{Clock, Descriptor, Exchange, Memory, Process, Reading};

/// The architecture of the numbers below, as the kernel labels it in a filter's data (`AUDIT_ARCH_X86_64`).
pub(super) const ARCHITECTURE: u32 = 0xc000_003e;

/// The greatest number that is classified; all above, x32 included, are refused.
pub(super) const LAST: u32 = 469;

/// Numbers that no kernel gives to a call.
pub(super) const UNASSIGNED: std::ops::RangeInclusive<u32> = 337..=423;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// It never stops at the gate: it cannot change a name, a mode or an attribute, or only through a
    /// descriptor that the gate has handed out.
    Free(Subject),
    /// It always stops at the gate.
    Judged(Family),
    /// It stops if its flags, the argument of this index, ask for more than reading; in some sessions also for a
    /// folder, or for anything.
    OnWrite(u32),
    /// It stops in sessions that see folders which they may not list: what is watched tells its names.
    Watched,
    /// It stops in sessions whose reads are recorded: a program is started.
    Started,
    /// It stops if the mask in its first argument takes rights from the owner.
    OnOwnerMask,
    /// It stops if its first argument, a process or thread, is not 0, which means the caller.
    OfOther,
    /// `prlimit64`: it stops if it sets a limit of a process that is named.
    OnLimit,
    /// It stops if its first argument is this number, which stands for one process or thread, and the second does
    /// not say 0. The two numbers that come next stand for a group and for all of a user: `EPERM`, since the gate
    /// is one of them.
    OfRank(u32),
    /// By the command in its second argument.
    ByCommand(&'static [(u32, Command)]),
    /// `ENOSYS`: programs fall back to an older call, or the kernel has none.
    Missing,
    /// `EPERM`: nothing inside may do this.
    Refused,
}

/// What a free call works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// Names and contents, to look at: the view and the floor hold it.
    Reading,
    /// A descriptor that is open already.
    Descriptor,
    /// Processes, threads, signals, identities and limits.
    Process,
    /// Address space.
    Memory,
    /// Sockets, queues, shared memory.
    Exchange,
    /// Time.
    Clock,
}

/// Calls that are planned and done by the same code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Opening, creating.
    Open,
    /// Starting a program.
    Execute,
    /// Cutting by path.
    Truncate,
    /// Moving and swapping names.
    Rename,
    /// Making folders.
    MakeFolder,
    /// Making pipes, sockets and empty files.
    MakeNode,
    /// Giving sockets names.
    Bind,
    /// Removing names.
    Remove,
    /// Second names.
    Link,
    /// Symbolic links.
    Symlink,
    /// Permission bits.
    Mode,
    /// User and group.
    Owner,
    /// Times.
    Times,
    /// Extended attributes.
    Attribute,
    /// The mask of modes; only noted.
    Umask,
    /// Being told of changes.
    Watch,
    /// Limits and rank of a process.
    Process,
}

/// One system call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call(pub(super) u32, pub(super) &'static str, pub(super) Answer);

impl Call {
    /// The family that plans it; none for a call that never stops.
    pub(super) fn family(&self) -> Option<Family> {
        match self.2 {
            Judged(family) => Some(family),
            OnWrite(_) => Some(Open),
            OnOwnerMask => Some(Umask),
            Watched => Some(Watch),
            Started => Some(Execute),
            OfOther | OnLimit | OfRank(_) => Some(Family::Process),
            Free(_) | ByCommand(_) | Missing | Refused => None,
        }
    }
}

/// The row of a number.
pub(super) fn find(number: i32) -> Option<&'static Call> {
    let number = u32::try_from(number).ok()?;
    CALLS.binary_search_by_key(&number, |call| call.0).ok().and_then(|row| CALLS.get(row))
}

/// What becomes of a command of `ioctl` or `fcntl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    /// Passes.
    Pass,
    /// `EPERM`.
    Deny,
    /// `EINVAL`, as on a kernel that does not know it.
    Unknown,
    /// All other commands of this type byte: `ENOTTY`, as on a file system that does not know them.
    Type,
}

/// `fcntl` commands by which a descriptor that only reads stops everybody else from opening the file: a lease makes
/// them wait, outside the session too. What is not listed passes.
const FCNTL: &[(u32, Command)] = &[
    (1024, Command::Unknown), // F_SETLEASE
    (1039, Command::Unknown), // F_GETDELEG
    (1040, Command::Unknown), // F_SETDELEG
];

/// `ioctl` commands that change a file's attributes, or make and remove names, through a descriptor opened for
/// reading. What is not listed passes.
const IOCTL: &[(u32, Command)] = &[
    (0x4008_6602, Command::Deny), // FS_IOC_SETFLAGS
    (0x4004_6602, Command::Deny), // FS_IOC32_SETFLAGS
    (0x401c_5820, Command::Deny), // FS_IOC_FSSETXATTR
    (0x4004_7211, Command::Deny), // FAT_IOCTL_SET_ATTRIBUTES
    (0x0000_5412, Command::Deny), // TIOCSTI: types into the terminal
    (0x0000_541c, Command::Deny), // TIOCLINUX: the same on a console
    (0x8008_6601, Command::Pass), // FS_IOC_GETFLAGS
    (0x8004_6601, Command::Pass), // FS_IOC32_GETFLAGS
    (0xc020_660b, Command::Pass), // FS_IOC_FIEMAP
    (0x8008_7601, Command::Pass), // FS_IOC_GETVERSION
    (0x801c_581f, Command::Pass), // FS_IOC_FSGETXATTR
    (0x4004_9409, Command::Pass), // FICLONE: into a descriptor open for writing
    (0x4020_940d, Command::Pass), // FICLONERANGE
    (0xc018_9436, Command::Pass), // FIDEDUPERANGE: the content stays
    (0x8100_9431, Command::Pass), // FS_IOC_GETFSLABEL
    (0x66, Command::Type),        // ext4, fscrypt, fsverity
    (0x76, Command::Type),        // ext4
    (0x58, Command::Type),        // XFS
    (0x94, Command::Type),        // btrfs: subvolumes are made by a folder's descriptor
    (0xbc, Command::Type),        // bcachefs: the same
    (0x6f, Command::Type),        // OCFS2: REFLINK takes paths
    (0xf5, Command::Type),        // F2FS
    (0x97, Command::Type),        // Ceph: layouts
    (0xcf, Command::Type),        // CIFS
];

/// Every call of x86_64, by number.
pub(super) const CALLS: &[Call] = &[
    Call(0, "read", Free(Descriptor)),
    Call(1, "write", Free(Descriptor)),
    Call(2, "open", OnWrite(1)),
    Call(3, "close", Free(Descriptor)),
    Call(4, "stat", Free(Reading)),
    Call(5, "fstat", Free(Reading)),
    Call(6, "lstat", Free(Reading)),
    Call(7, "poll", Free(Descriptor)),
    Call(8, "lseek", Free(Descriptor)),
    Call(9, "mmap", Free(Memory)),
    Call(10, "mprotect", Free(Memory)),
    Call(11, "munmap", Free(Memory)),
    Call(12, "brk", Free(Memory)),
    Call(13, "rt_sigaction", Free(Process)),
    Call(14, "rt_sigprocmask", Free(Process)),
    Call(15, "rt_sigreturn", Free(Process)),
    Call(16, "ioctl", ByCommand(IOCTL)),
    Call(17, "pread64", Free(Descriptor)),
    Call(18, "pwrite64", Free(Descriptor)),
    Call(19, "readv", Free(Descriptor)),
    Call(20, "writev", Free(Descriptor)),
    Call(21, "access", Free(Reading)),
    Call(22, "pipe", Free(Descriptor)),
    Call(23, "select", Free(Descriptor)),
    Call(24, "sched_yield", Free(Process)),
    Call(25, "mremap", Free(Memory)),
    Call(26, "msync", Free(Memory)),
    Call(27, "mincore", Free(Memory)),
    Call(28, "madvise", Free(Memory)),
    Call(29, "shmget", Free(Exchange)),
    Call(30, "shmat", Free(Exchange)),
    Call(31, "shmctl", Free(Exchange)),
    Call(32, "dup", Free(Descriptor)),
    Call(33, "dup2", Free(Descriptor)),
    Call(34, "pause", Free(Process)),
    Call(35, "nanosleep", Free(Clock)),
    Call(36, "getitimer", Free(Clock)),
    Call(37, "alarm", Free(Clock)),
    Call(38, "setitimer", Free(Clock)),
    Call(39, "getpid", Free(Process)),
    Call(40, "sendfile", Free(Descriptor)),
    Call(41, "socket", Free(Exchange)),
    Call(42, "connect", Free(Exchange)),
    Call(43, "accept", Free(Exchange)),
    Call(44, "sendto", Free(Exchange)),
    Call(45, "recvfrom", Free(Exchange)),
    Call(46, "sendmsg", Free(Exchange)),
    Call(47, "recvmsg", Free(Exchange)),
    Call(48, "shutdown", Free(Exchange)),
    Call(49, "bind", Judged(Bind)),
    Call(50, "listen", Free(Exchange)),
    Call(51, "getsockname", Free(Exchange)),
    Call(52, "getpeername", Free(Exchange)),
    Call(53, "socketpair", Free(Exchange)),
    Call(54, "setsockopt", Free(Exchange)),
    Call(55, "getsockopt", Free(Exchange)),
    Call(56, "clone", Free(Process)),
    Call(57, "fork", Free(Process)),
    Call(58, "vfork", Free(Process)),
    Call(59, "execve", Started),
    Call(60, "exit", Free(Process)),
    Call(61, "wait4", Free(Process)),
    Call(62, "kill", Free(Process)),
    Call(63, "uname", Free(Process)),
    Call(64, "semget", Free(Exchange)),
    Call(65, "semop", Free(Exchange)),
    Call(66, "semctl", Free(Exchange)),
    Call(67, "shmdt", Free(Exchange)),
    Call(68, "msgget", Free(Exchange)),
    Call(69, "msgsnd", Free(Exchange)),
    Call(70, "msgrcv", Free(Exchange)),
    Call(71, "msgctl", Free(Exchange)),
    Call(72, "fcntl", ByCommand(FCNTL)),
    Call(73, "flock", Free(Descriptor)),
    Call(74, "fsync", Free(Descriptor)),
    Call(75, "fdatasync", Free(Descriptor)),
    Call(76, "truncate", Judged(Truncate)),
    Call(77, "ftruncate", Free(Descriptor)),
    Call(78, "getdents", Free(Reading)),
    Call(79, "getcwd", Free(Reading)),
    Call(80, "chdir", Free(Reading)),
    Call(81, "fchdir", Free(Reading)),
    Call(82, "rename", Judged(Rename)),
    Call(83, "mkdir", Judged(MakeFolder)),
    Call(84, "rmdir", Judged(Remove)),
    Call(85, "creat", Judged(Open)),
    Call(86, "link", Judged(Link)),
    Call(87, "unlink", Judged(Remove)),
    Call(88, "symlink", Judged(Symlink)),
    Call(89, "readlink", Free(Reading)),
    Call(90, "chmod", Judged(Mode)),
    Call(91, "fchmod", Judged(Mode)),
    Call(92, "chown", Judged(Owner)),
    Call(93, "fchown", Judged(Owner)),
    Call(94, "lchown", Judged(Owner)),
    Call(95, "umask", OnOwnerMask),
    Call(96, "gettimeofday", Free(Clock)),
    Call(97, "getrlimit", Free(Process)),
    Call(98, "getrusage", Free(Process)),
    Call(99, "sysinfo", Free(Process)),
    Call(100, "times", Free(Clock)),
    Call(101, "ptrace", Free(Process)),
    Call(102, "getuid", Free(Process)),
    Call(103, "syslog", Free(Process)),
    Call(104, "getgid", Free(Process)),
    Call(105, "setuid", Free(Process)),
    Call(106, "setgid", Free(Process)),
    Call(107, "geteuid", Free(Process)),
    Call(108, "getegid", Free(Process)),
    Call(109, "setpgid", Free(Process)),
    Call(110, "getppid", Free(Process)),
    Call(111, "getpgrp", Free(Process)),
    Call(112, "setsid", Free(Process)),
    Call(113, "setreuid", Free(Process)),
    Call(114, "setregid", Free(Process)),
    Call(115, "getgroups", Free(Process)),
    Call(116, "setgroups", Free(Process)),
    Call(117, "setresuid", Free(Process)),
    Call(118, "getresuid", Free(Process)),
    Call(119, "setresgid", Free(Process)),
    Call(120, "getresgid", Free(Process)),
    Call(121, "getpgid", Free(Process)),
    Call(122, "setfsuid", Free(Process)),
    Call(123, "setfsgid", Free(Process)),
    Call(124, "getsid", Free(Process)),
    Call(125, "capget", Free(Process)),
    Call(126, "capset", Free(Process)),
    Call(127, "rt_sigpending", Free(Process)),
    Call(128, "rt_sigtimedwait", Free(Process)),
    Call(129, "rt_sigqueueinfo", Free(Process)),
    Call(130, "rt_sigsuspend", Free(Process)),
    Call(131, "sigaltstack", Free(Process)),
    Call(132, "utime", Judged(Times)),
    Call(133, "mknod", Judged(MakeNode)),
    Call(134, "uselib", Missing),
    Call(135, "personality", Free(Process)),
    Call(136, "ustat", Free(Reading)),
    Call(137, "statfs", Free(Reading)),
    Call(138, "fstatfs", Free(Reading)),
    Call(139, "sysfs", Free(Reading)),
    Call(140, "getpriority", Free(Process)),
    Call(141, "setpriority", OfRank(0)),
    Call(142, "sched_setparam", OfOther),
    Call(143, "sched_getparam", Free(Process)),
    Call(144, "sched_setscheduler", OfOther),
    Call(145, "sched_getscheduler", Free(Process)),
    Call(146, "sched_get_priority_max", Free(Process)),
    Call(147, "sched_get_priority_min", Free(Process)),
    Call(148, "sched_rr_get_interval", Free(Process)),
    Call(149, "mlock", Free(Memory)),
    Call(150, "munlock", Free(Memory)),
    Call(151, "mlockall", Free(Memory)),
    Call(152, "munlockall", Free(Memory)),
    Call(153, "vhangup", Refused),
    Call(154, "modify_ldt", Free(Process)),
    Call(155, "pivot_root", Refused),
    Call(156, "_sysctl", Missing),
    Call(157, "prctl", Free(Process)),
    Call(158, "arch_prctl", Free(Process)),
    Call(159, "adjtimex", Free(Clock)),
    Call(160, "setrlimit", Free(Process)),
    Call(161, "chroot", Refused),
    Call(162, "sync", Free(Descriptor)),
    Call(163, "acct", Refused),
    Call(164, "settimeofday", Refused),
    Call(165, "mount", Refused),
    Call(166, "umount2", Refused),
    Call(167, "swapon", Refused),
    Call(168, "swapoff", Refused),
    Call(169, "reboot", Refused),
    Call(170, "sethostname", Refused),
    Call(171, "setdomainname", Refused),
    Call(172, "iopl", Refused),
    Call(173, "ioperm", Refused),
    Call(174, "create_module", Missing),
    Call(175, "init_module", Refused),
    Call(176, "delete_module", Refused),
    Call(177, "get_kernel_syms", Missing),
    Call(178, "query_module", Missing),
    Call(179, "quotactl", Refused),
    Call(180, "nfsservctl", Missing),
    Call(181, "getpmsg", Missing),
    Call(182, "putpmsg", Missing),
    Call(183, "afs_syscall", Missing),
    Call(184, "tuxcall", Missing),
    Call(185, "security", Missing),
    Call(186, "gettid", Free(Process)),
    Call(187, "readahead", Free(Descriptor)),
    Call(188, "setxattr", Judged(Attribute)),
    Call(189, "lsetxattr", Judged(Attribute)),
    Call(190, "fsetxattr", Judged(Attribute)),
    Call(191, "getxattr", Free(Reading)),
    Call(192, "lgetxattr", Free(Reading)),
    Call(193, "fgetxattr", Free(Reading)),
    Call(194, "listxattr", Free(Reading)),
    Call(195, "llistxattr", Free(Reading)),
    Call(196, "flistxattr", Free(Reading)),
    Call(197, "removexattr", Judged(Attribute)),
    Call(198, "lremovexattr", Judged(Attribute)),
    Call(199, "fremovexattr", Judged(Attribute)),
    Call(200, "tkill", Free(Process)),
    Call(201, "time", Free(Clock)),
    Call(202, "futex", Free(Process)),
    Call(203, "sched_setaffinity", OfOther),
    Call(204, "sched_getaffinity", Free(Process)),
    Call(205, "set_thread_area", Missing),
    Call(206, "io_setup", Free(Descriptor)),
    Call(207, "io_destroy", Free(Descriptor)),
    Call(208, "io_getevents", Free(Descriptor)),
    Call(209, "io_submit", Free(Descriptor)),
    Call(210, "io_cancel", Free(Descriptor)),
    Call(211, "get_thread_area", Missing),
    Call(212, "lookup_dcookie", Missing),
    Call(213, "epoll_create", Free(Descriptor)),
    Call(214, "epoll_ctl_old", Missing),
    Call(215, "epoll_wait_old", Missing),
    Call(216, "remap_file_pages", Free(Memory)),
    Call(217, "getdents64", Free(Reading)),
    Call(218, "set_tid_address", Free(Process)),
    Call(219, "restart_syscall", Free(Process)),
    Call(220, "semtimedop", Free(Exchange)),
    Call(221, "fadvise64", Free(Descriptor)),
    Call(222, "timer_create", Free(Clock)),
    Call(223, "timer_settime", Free(Clock)),
    Call(224, "timer_gettime", Free(Clock)),
    Call(225, "timer_getoverrun", Free(Clock)),
    Call(226, "timer_delete", Free(Clock)),
    Call(227, "clock_settime", Refused),
    Call(228, "clock_gettime", Free(Clock)),
    Call(229, "clock_getres", Free(Clock)),
    Call(230, "clock_nanosleep", Free(Clock)),
    Call(231, "exit_group", Free(Process)),
    Call(232, "epoll_wait", Free(Descriptor)),
    Call(233, "epoll_ctl", Free(Descriptor)),
    Call(234, "tgkill", Free(Process)),
    Call(235, "utimes", Judged(Times)),
    Call(236, "vserver", Missing),
    Call(237, "mbind", Free(Memory)),
    Call(238, "set_mempolicy", Free(Memory)),
    Call(239, "get_mempolicy", Free(Memory)),
    Call(240, "mq_open", Free(Exchange)),
    Call(241, "mq_unlink", Free(Exchange)),
    Call(242, "mq_timedsend", Free(Exchange)),
    Call(243, "mq_timedreceive", Free(Exchange)),
    Call(244, "mq_notify", Free(Exchange)),
    Call(245, "mq_getsetattr", Free(Exchange)),
    Call(246, "kexec_load", Refused),
    Call(247, "waitid", Free(Process)),
    Call(248, "add_key", Refused),
    Call(249, "request_key", Refused),
    Call(250, "keyctl", Refused),
    Call(251, "ioprio_set", OfRank(1)),
    Call(252, "ioprio_get", Free(Process)),
    Call(253, "inotify_init", Free(Reading)),
    Call(254, "inotify_add_watch", Watched),
    Call(255, "inotify_rm_watch", Free(Reading)),
    Call(256, "migrate_pages", Free(Memory)),
    Call(257, "openat", OnWrite(2)),
    Call(258, "mkdirat", Judged(MakeFolder)),
    Call(259, "mknodat", Judged(MakeNode)),
    Call(260, "fchownat", Judged(Owner)),
    Call(261, "futimesat", Judged(Times)),
    Call(262, "newfstatat", Free(Reading)),
    Call(263, "unlinkat", Judged(Remove)),
    Call(264, "renameat", Judged(Rename)),
    Call(265, "linkat", Judged(Link)),
    Call(266, "symlinkat", Judged(Symlink)),
    Call(267, "readlinkat", Free(Reading)),
    Call(268, "fchmodat", Judged(Mode)),
    Call(269, "faccessat", Free(Reading)),
    Call(270, "pselect6", Free(Descriptor)),
    Call(271, "ppoll", Free(Descriptor)),
    Call(272, "unshare", Free(Process)),
    Call(273, "set_robust_list", Free(Process)),
    Call(274, "get_robust_list", Free(Process)),
    Call(275, "splice", Free(Descriptor)),
    Call(276, "tee", Free(Descriptor)),
    Call(277, "sync_file_range", Free(Descriptor)),
    Call(278, "vmsplice", Free(Descriptor)),
    Call(279, "move_pages", Free(Memory)),
    Call(280, "utimensat", Judged(Times)),
    Call(281, "epoll_pwait", Free(Descriptor)),
    Call(282, "signalfd", Free(Descriptor)),
    Call(283, "timerfd_create", Free(Descriptor)),
    Call(284, "eventfd", Free(Descriptor)),
    Call(285, "fallocate", Free(Descriptor)),
    Call(286, "timerfd_settime", Free(Descriptor)),
    Call(287, "timerfd_gettime", Free(Descriptor)),
    Call(288, "accept4", Free(Exchange)),
    Call(289, "signalfd4", Free(Descriptor)),
    Call(290, "eventfd2", Free(Descriptor)),
    Call(291, "epoll_create1", Free(Descriptor)),
    Call(292, "dup3", Free(Descriptor)),
    Call(293, "pipe2", Free(Descriptor)),
    Call(294, "inotify_init1", Free(Reading)),
    Call(295, "preadv", Free(Descriptor)),
    Call(296, "pwritev", Free(Descriptor)),
    Call(297, "rt_tgsigqueueinfo", Free(Process)),
    Call(298, "perf_event_open", Free(Process)),
    Call(299, "recvmmsg", Free(Exchange)),
    Call(300, "fanotify_init", Free(Reading)),
    Call(301, "fanotify_mark", Watched),
    Call(302, "prlimit64", OnLimit),
    Call(303, "name_to_handle_at", Free(Reading)),
    Call(304, "open_by_handle_at", Refused),
    Call(305, "clock_adjtime", Free(Clock)),
    Call(306, "syncfs", Free(Descriptor)),
    Call(307, "sendmmsg", Free(Exchange)),
    Call(308, "setns", Refused),
    Call(309, "getcpu", Free(Process)),
    Call(310, "process_vm_readv", Free(Process)),
    Call(311, "process_vm_writev", Free(Process)),
    Call(312, "kcmp", Free(Process)),
    Call(313, "finit_module", Refused),
    Call(314, "sched_setattr", OfOther),
    Call(315, "sched_getattr", Free(Process)),
    Call(316, "renameat2", Judged(Rename)),
    Call(317, "seccomp", Free(Process)),
    Call(318, "getrandom", Free(Process)),
    Call(319, "memfd_create", Free(Descriptor)),
    Call(320, "kexec_file_load", Refused),
    Call(321, "bpf", Refused),
    Call(322, "execveat", Started),
    Call(323, "userfaultfd", Refused),
    Call(324, "membarrier", Free(Process)),
    Call(325, "mlock2", Free(Memory)),
    Call(326, "copy_file_range", Free(Descriptor)),
    Call(327, "preadv2", Free(Descriptor)),
    Call(328, "pwritev2", Free(Descriptor)),
    Call(329, "pkey_mprotect", Free(Memory)),
    Call(330, "pkey_alloc", Free(Memory)),
    Call(331, "pkey_free", Free(Memory)),
    Call(332, "statx", Free(Reading)),
    Call(333, "io_pgetevents", Free(Descriptor)),
    Call(334, "rseq", Free(Process)),
    Call(335, "uretprobe", Free(Process)),
    Call(336, "uprobe", Free(Process)),
    Call(424, "pidfd_send_signal", Free(Process)),
    Call(425, "io_uring_setup", Missing),
    Call(426, "io_uring_enter", Missing),
    Call(427, "io_uring_register", Missing),
    Call(428, "open_tree", Missing),
    Call(429, "move_mount", Missing),
    Call(430, "fsopen", Missing),
    Call(431, "fsconfig", Missing),
    Call(432, "fsmount", Missing),
    Call(433, "fspick", Missing),
    Call(434, "pidfd_open", Free(Process)),
    Call(435, "clone3", Free(Process)),
    Call(436, "close_range", Free(Descriptor)),
    Call(437, "openat2", Missing),
    Call(438, "pidfd_getfd", Free(Process)),
    Call(439, "faccessat2", Free(Reading)),
    Call(440, "process_madvise", Free(Memory)),
    Call(441, "epoll_pwait2", Free(Descriptor)),
    Call(442, "mount_setattr", Missing),
    Call(443, "quotactl_fd", Refused),
    Call(444, "landlock_create_ruleset", Free(Process)),
    Call(445, "landlock_add_rule", Free(Process)),
    Call(446, "landlock_restrict_self", Free(Process)),
    Call(447, "memfd_secret", Free(Descriptor)),
    Call(448, "process_mrelease", Free(Memory)),
    Call(449, "futex_waitv", Free(Process)),
    Call(450, "set_mempolicy_home_node", Free(Memory)),
    Call(451, "cachestat", Free(Reading)),
    Call(452, "fchmodat2", Judged(Mode)),
    Call(453, "map_shadow_stack", Free(Memory)),
    Call(454, "futex_wake", Free(Process)),
    Call(455, "futex_wait", Free(Process)),
    Call(456, "futex_requeue", Free(Process)),
    Call(457, "statmount", Free(Reading)),
    Call(458, "listmount", Free(Reading)),
    Call(459, "lsm_get_self_attr", Free(Process)),
    Call(460, "lsm_set_self_attr", Free(Process)),
    Call(461, "lsm_list_modules", Free(Process)),
    Call(462, "mseal", Free(Memory)),
    Call(463, "setxattrat", Missing),
    Call(464, "getxattrat", Free(Reading)),
    Call(465, "listxattrat", Free(Reading)),
    Call(466, "removexattrat", Missing),
    Call(467, "open_tree_attr", Missing),
    Call(468, "file_getattr", Free(Reading)),
    Call(469, "file_setattr", Missing),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_up_to_the_last_is_classified_once() {
        let mut rows = CALLS.iter().map(|call| call.0).peekable();
        for number in 0..=LAST {
            if UNASSIGNED.contains(&number) {
                assert_ne!(rows.peek(), Some(&number));
            } else {
                assert_eq!(rows.next(), Some(number), "the rows are sorted and have no gap");
            }
        }
        assert_eq!(rows.next(), None);
    }

    #[test]
    fn numbers_and_names_are_those_of_the_c_library() {
        let known = [
            (libc::SYS_open, "open"),
            (libc::SYS_openat, "openat"),
            (libc::SYS_execve, "execve"),
            (libc::SYS_execveat, "execveat"),
            (libc::SYS_creat, "creat"),
            (libc::SYS_truncate, "truncate"),
            (libc::SYS_rename, "rename"),
            (libc::SYS_renameat2, "renameat2"),
            (libc::SYS_mkdirat, "mkdirat"),
            (libc::SYS_unlinkat, "unlinkat"),
            (libc::SYS_linkat, "linkat"),
            (libc::SYS_symlinkat, "symlinkat"),
            (libc::SYS_mknodat, "mknodat"),
            (libc::SYS_fchmodat2, "fchmodat2"),
            (libc::SYS_fchownat, "fchownat"),
            (libc::SYS_utimensat, "utimensat"),
            (libc::SYS_fsetxattr, "fsetxattr"),
            (libc::SYS_fremovexattr, "fremovexattr"),
            (libc::SYS_umask, "umask"),
            (libc::SYS_fcntl, "fcntl"),
            (libc::SYS_prlimit64, "prlimit64"),
            (libc::SYS_setpriority, "setpriority"),
            (libc::SYS_ioprio_set, "ioprio_set"),
            (libc::SYS_sched_setparam, "sched_setparam"),
            (libc::SYS_sched_setscheduler, "sched_setscheduler"),
            (libc::SYS_sched_setaffinity, "sched_setaffinity"),
            (libc::SYS_sched_setattr, "sched_setattr"),
            (libc::SYS_ioctl, "ioctl"),
            (libc::SYS_bind, "bind"),
            (libc::SYS_io_uring_setup, "io_uring_setup"),
            (libc::SYS_openat2, "openat2"),
            (libc::SYS_mseal, "mseal"),
        ];
        for (number, name) in known {
            assert_eq!(find(i32::try_from(number).unwrap()).unwrap().1, name);
        }
        assert!(find(400).is_none() && find(470).is_none() && find(-1).is_none());
    }
}
