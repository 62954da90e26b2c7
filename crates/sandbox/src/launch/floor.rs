//! The Landlock floor: what the session may read and start, by path. It grants writing to nothing but harmless
//! device nodes: whatever slips past the gate is refused here.

use crate::failure::{Failure, Step};
use crate::gate;
use crate::plan::{Plan, Rights};
use crate::raw;
use crate::view::SESSION;
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;

/// The rights without which the policy's words mean nothing.
const NEEDED: ABI = ABI::V3;
/// The rights that are used where the kernel has them.
const WANTED: ABI = ABI::V6;

/// What came of it.
pub(super) struct Floor {
    pub(super) abi: u32,
    pub(super) complete: bool,
}

/// Restricts this thread, and all that it starts. Paths are those of the view.
pub(super) fn restrict(plan: &Plan) -> Result<Floor, Failure> {
    let abi = raw::landlock(1).step(|| "use Landlock".to_owned())?;
    let mut floor = ruleset().step(|| "make a Landlock ruleset".to_owned())?;
    for rule in &plan.floor {
        floor = add(floor, rule.path.as_path(), flags(rule.rights))?;
    }
    if plan.listed {
        floor = add(floor, "/".as_ref(), AccessFs::ReadDir.into())?;
    }
    let session = Rights { read: true, execute: true };
    floor = add(floor, SESSION.as_ref(), flags(session))?;
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    for node in gate::device_rules() {
        floor = add(floor, node.as_ref(), device | AccessFs::ReadDir)?;
    }
    floor = add_terminals(floor)?;
    floor = add(floor, "/proc".as_ref(), AccessFs::ReadFile | AccessFs::ReadDir)?;
    let status = floor
        .restrict_self()
        .map_err(std::io::Error::other)
        .step(|| "enforce the Landlock ruleset".to_owned())?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(Errno::NOSYS).step(|| "enforce the Landlock ruleset".to_owned()),
        other => Ok(Floor { abi, complete: other == RulesetStatus::FullyEnforced }),
    }
}

/// The terminals that were inherited are not in the view, but `/dev/stdout` leads to them. A program may open them
/// anew for what it has them open for already.
fn add_terminals(mut floor: RulesetCreated) -> Result<RulesetCreated, Failure> {
    let words = || "grant the inherited terminal in the Landlock ruleset".to_owned();
    for file in [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()] {
        // Nothing may be open there.
        let (Ok(stat), Ok(flags)) = (fs::fstat(file), fs::fcntl_getfl(file)) else { continue };
        let device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
        if !device || !gate::is_pseudoterminal(stat.st_rdev) || flags.contains(OFlags::PATH) {
            continue;
        }
        let reading = BitFlags::from(AccessFs::ReadFile) | AccessFs::IoctlDev;
        let writing = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
        let rights = match flags & OFlags::ACCMODE {
            OFlags::RDWR => reading | writing,
            OFlags::WRONLY => writing,
            OFlags::RDONLY => reading,
            _ => continue,
        };
        floor = floor.add_rule(PathBeneath::new(file, rights)).map_err(std::io::Error::other).step(words)?;
    }
    Ok(floor)
}

fn ruleset() -> std::io::Result<RulesetCreated> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .map_err(std::io::Error::other)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))
        .map_err(std::io::Error::other)?
        .scope(Scope::from_all(WANTED))
        .map_err(std::io::Error::other)?
        .create()
        .map_err(std::io::Error::other)
}

fn flags(rights: Rights) -> BitFlags<AccessFs> {
    let mut flags = BitFlags::EMPTY;
    if rights.read {
        flags |= AccessFs::ReadFile | AccessFs::ReadDir;
    }
    if rights.execute {
        flags |= AccessFs::Execute;
    }
    flags
}

fn add(floor: RulesetCreated, path: &Path, rights: BitFlags<AccessFs>) -> Result<RulesetCreated, Failure> {
    let words = || format!("grant {} in the Landlock ruleset", path.display());
    let file = match fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => file,
        // Gone since the plan was made, or out of this user's reach anyway. Nothing is granted, so nothing is lost.
        Err(Errno::NOENT | Errno::ACCESS) => return Ok(floor),
        Err(error) => return Err(error).step(words),
    };
    let stat = fs::fstat(&file).step(words)?;
    let folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    let rights = if folder { rights } else { rights & AccessFs::from_file(WANTED) };
    if rights.is_empty() {
        return Ok(floor);
    }
    floor.add_rule(PathBeneath::new(file, rights)).map_err(std::io::Error::other).step(words)
}
