//! Builds the view: a new root that holds what the plan shows and nothing else, and leaves the old one.
//!
//! The order matters. The stage is mounted over `/proc`, which no plan shows, so that every other path of the
//! machine can still be opened; `/proc` of the session is mounted while the machine's is still there (the kernel
//! wants to see one); masks come after what they cover; the root becomes read-only last.

use super::device::devices;
use super::tree::{
    NOEXEC, PLAIN, READ_ONLY, Root, Stand, again, copy, followed, fresh, layered, put, real, stand_of,
};
use crate::failure::{Failure, Step};
use crate::plan::{Bind, Plan, Source};
use crate::{raw, sys};
use remit_core::AbsPath;
use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_change, unmount};
use rustix::process::{chdir, fchdir, pivot_root};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

pub(crate) use remit_core::wire::INSIDE as SESSION;

/// One entry of the session's folder.
#[derive(Debug, Clone)]
pub struct SessionFile {
    /// Its name there.
    pub name: String,
    /// What it is.
    pub what: What,
}

/// What an entry of the session's folder is.
#[derive(Debug, Clone)]
pub enum What {
    /// A file, folder or socket of the machine.
    Shown(PathBuf),
    /// These bytes.
    Content(Vec<u8>),
}

/// Parts of the session's own `/proc` that speak of the whole machine and can be changed by user 0 without any
/// capability.
const PROC_READ_ONLY: [&str; 8] = ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "pressure"];
/// Parts that tell of the machine's memory, keys and other processes.
const PROC_HIDDEN: [&str; 14] = [
    "kcore",
    "kmsg",
    "keys",
    "key-users",
    "timer_list",
    "sched_debug",
    "latency_stats",
    "kpagecount",
    "kpageflags",
    "kpagecgroup",
    "vmallocinfo",
    "slabinfo",
    "kallsyms",
    "mtrr",
];

/// Replaces the file system of this process, which must be alone in new user, mount and PID namespaces and
/// have full capabilities there. [`leave_old_root`] must follow. Answers what could not be laid over a folder of the
/// machine, and so is not seen, each with what the system said.
pub(crate) fn build(plan: &Plan, files: &[SessionFile]) -> Result<Vec<(AbsPath, Errno)>, Failure> {
    // Copies of these mounts are as they are: what is mounted on the machine later does not come in.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .step(|| "separate the mounts from the machine's".to_owned())?;
    let (mut layers, unlayered) = layers(plan);
    let Stage { root, covers } = stage().step(|| "make a stage for the new root".to_owned())?;
    for link in &plan.links {
        root.link(&link.at, &link.to)?;
    }
    for bind in &plan.binds {
        show(plan, &root, bind, &mut layers).step(|| format!("show {}", bind.target))?;
    }
    session_folder(&root, files)?;
    devices(&root)?;
    process_folder(&covers, &root)?;
    masks(plan, &covers, &root)?;
    raw::set_mount(root.folder.as_fd(), false, READ_ONLY.bits().into())
        .step(|| "make the root read-only".to_owned())?;
    enter(&root).step(|| "enter the new root".to_owned())?;
    Ok(unlayered)
}

/// Folders under a layer, by where they are to be seen.
type Layers<'a> = BTreeMap<&'a AbsPath, OwnedFd>;

/// Makes what lies under a layer while the machine's `/proc` is there; and what cannot be made.
fn layers(plan: &Plan) -> (Layers<'_>, Vec<(AbsPath, Errno)>) {
    let (mut made, mut not) = (BTreeMap::new(), Vec::new());
    for bind in &plan.binds {
        let Source::Layered { lower, upper, work } = &bind.source else { continue };
        match layered(lower, upper, work) {
            Ok(tree) => drop(made.insert(&bind.target, tree)),
            Err(error) => not.push((bind.target.clone(), error)),
        }
    }
    (made, not)
}

/// What the view is made on.
struct Stage {
    root: Root,
    covers: Covers,
}

/// What is put over things that must not be seen; copies of them are read-only like these.
struct Covers {
    folder: OwnedFd,
    file: OwnedFd,
}

/// A file system in memory with the new root and the covers.
fn stage() -> Result<Stage, Errno> {
    let stage = fresh("tmpfs", &[("mode", "0755")], PLAIN)?;
    put(&stage, followed("/proc".as_ref())?)?;
    for name in ["root", "covers"] {
        fs::mkdirat(&stage, name, Mode::from_raw_mode(0o755))?;
    }
    let folder = open(&stage, "covers")?;
    fs::mkdirat(&folder, "none", Mode::empty())?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    fs::openat(&folder, "nothing", flags, Mode::empty())?;
    let covers = again(&folder, NOEXEC | READ_ONLY)?;
    put(&covers, folder)?;
    // The root must be a mount of its own.
    let folder = open(&stage, "root")?;
    let root = copy(&folder)?;
    put(&root, folder)?;
    let covers = Covers { folder: open(&covers, "none")?, file: open(&covers, "nothing")? };
    Ok(Stage { root: Root { folder: root }, covers })
}

fn open(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    fs::openat(folder, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Mounts one tree. Where a mount point is missing it is made, but never on the machine itself.
fn show<'a>(plan: &Plan, root: &Root, bind: &'a Bind, layers: &mut Layers<'a>) -> Result<(), Errno> {
    let mut attributes = PLAIN;
    attributes.set(NOEXEC, bind.noexec);
    attributes.set(READ_ONLY, bind.read_only);
    let (tree, stand) = match &bind.source {
        Source::Host(path) => {
            let file = match real(path) {
                // It could not be made, so there is nothing to be seen.
                Err(Errno::NOENT) if plan.new_folders.contains(path) => return Ok(()),
                other => other?,
            };
            (again(&file, attributes)?, stand_of(&file)?)
        }
        Source::Memory => (fresh("tmpfs", &[("mode", "1777")], attributes)?, Stand::Folder),
        Source::Layered { .. } => {
            let Some(tree) = layers.remove(&&bind.target) else { return Ok(()) };
            raw::set_mount(tree.as_fd(), false, attributes.bits().into())?;
            (tree, Stand::Folder)
        }
    };
    let around = bind.target.parent().and_then(|parent| plan.shown_by(&parent));
    let make = around.is_none_or(|around| around.private);
    put(&tree, root.place(&bind.target, stand, make)?)
}

fn session_folder(root: &Root, files: &[SessionFile]) -> Result<(), Failure> {
    let folder = AbsPath::new(SESSION).map_err(|_| Errno::INVAL).step(|| format!("name {SESSION}"))?;
    root.place(&folder, Stand::Folder, true).step(|| format!("make {folder}"))?;
    for file in files {
        let entry = || {
            let at = folder.join(&file.name).map_err(|_| Errno::INVAL)?;
            match &file.what {
                What::Shown(path) => {
                    let source = followed(path)?;
                    let tree = again(&source, PLAIN | READ_ONLY)?;
                    put(&tree, root.place(&at, stand_of(&source)?, true)?)
                }
                What::Content(bytes) => {
                    let parent = root.place(&folder, Stand::Folder, true)?;
                    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                    let made = fs::openat(&parent, &*file.name, flags, Mode::from_raw_mode(0o444))?;
                    let mut rest = bytes.as_slice();
                    while !rest.is_empty() {
                        let written = rustix::io::write(&made, rest)?;
                        rest = rest.get(written..).unwrap_or_default();
                    }
                    Ok(())
                }
            }
        };
        entry().step(|| format!("show `{}` in {SESSION}", file.name))?;
    }
    Ok(())
}

/// `/proc` of the new PID namespace. No user namespace can be made below this one any more, and what concerns
/// the whole machine cannot be changed.
fn process_folder(covers: &Covers, root: &Root) -> Result<(), Failure> {
    let attributes = PLAIN | NOEXEC;
    let proc = fresh("proc", &[], attributes).step(|| "mount /proc".to_owned())?;
    let mounted = || {
        let at = AbsPath::new("/proc").map_err(|_| Errno::INVAL)?;
        put(&proc, root.place(&at, Stand::Folder, true)?)
    };
    mounted().step(|| "mount /proc".to_owned())?;
    let limit = || {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let file = fs::openat(&proc, "sys/user/max_user_namespaces", flags, Mode::empty())?;
        rustix::io::write(&file, b"0").map(drop)
    };
    limit().step(|| "forbid further user namespaces".to_owned())?;
    let cover = |name: &str, with: &dyn Fn(&OwnedFd) -> Result<OwnedFd, Errno>| match fs::openat(
        &proc,
        name,
        OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    ) {
        Ok(file) => put(with(&file)?, file),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    };
    for name in PROC_READ_ONLY {
        cover(name, &|file| again(file, READ_ONLY)).step(|| format!("protect /proc/{name}"))?;
    }
    for name in PROC_HIDDEN {
        cover(name, &|_| copy(&covers.file)).step(|| format!("hide /proc/{name}"))?;
    }
    Ok(())
}

fn masks(plan: &Plan, covers: &Covers, root: &Root) -> Result<(), Failure> {
    let folders = plan.masks.iter().map(|path| (path, Stand::Folder));
    let files = plan.file_masks.iter().map(|path| (path, Stand::File));
    for (path, stand) in folders.chain(files) {
        let covered = || {
            let at = root.open(path)?;
            if stand_of(&at)? != stand {
                return Err(Errno::STALE);
            }
            put(copy(if stand == Stand::Folder { &covers.folder } else { &covers.file })?, at)
        };
        match covered() {
            // Gone since the plan was made: there is nothing to see.
            Err(Errno::NOENT) if !plan.placeholders.contains(path) => {}
            other => other.step(|| format!("cover {path}"))?,
        }
    }
    Ok(())
}

fn enter(root: &Root) -> Result<(), Errno> {
    let folder =
        fs::openat(&root.folder, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    fchdir(&folder)?;
    // Afterwards the old root lies on top of the new one.
    pivot_root(".", ".")
}

/// Lets go of the machine's file tree: the last step, by what it answers, which may run on a thread of its own, since
/// the kernel takes its time over it. Until it is done no program may be started: `/..` leads out.
pub(crate) fn leave_old_root() -> Result<impl FnOnce() -> Result<(), Failure> + Send, Failure> {
    let words = || "let go of the old root".to_owned();
    let old = fs::open(".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).step(words)?;
    chdir("/").step(words)?;
    let leave = move || {
        // Its working folder is its own; no other thread must stay behind in the old root.
        sys::own_umask()?;
        fchdir(&old)?;
        unmount(".", UnmountFlags::DETACH)
    };
    Ok(move || leave().step(words))
}
