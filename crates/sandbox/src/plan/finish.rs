//! The last steps of a plan: room for mounts inside mounts, and the links of the root folder.

use super::planner::{OWN, in_tree_order};
use super::{Bind, Disk, Found, Kind, Link, Plan, Refusal, Source};
use remit_core::AbsPath;

/// Splits mounts in which another mount has no folder to stand on, repeats links of the root folder that lead
/// to something that is shown, and puts the mounts in order.
pub(super) fn finish(plan: &mut Plan, disk: &dyn Disk) {
    let root = AbsPath::root();
    let mut targets: Vec<AbsPath> =
        plan.binds.iter().filter(|b| b.private).map(|b| b.target.clone()).collect();
    targets.extend(OWN.iter().filter_map(|own| AbsPath::new(own).ok()));
    // The root of the view is always made, never shown.
    while let Some(at) = plan.binds.iter().position(|b| b.target == root) {
        split(plan, disk, at);
    }
    for target in targets {
        while let Some(at) = in_the_way(plan, disk, &target) {
            split(plan, disk, at);
        }
    }
    repeat_root_links(plan, disk);
    plan.binds.sort_by_cached_key(|bind| in_tree_order(&bind.target));
}

/// The mount of the machine in which `target` has no folder to stand on.
fn in_the_way(plan: &Plan, disk: &dyn Disk, target: &AbsPath) -> Option<usize> {
    let strictly = |bind: &Bind| bind.target != *target && bind.target.covers(target);
    let (at, bind) = plan
        .binds
        .iter()
        .enumerate()
        .filter(|(_, bind)| strictly(bind))
        .max_by_key(|(_, bind)| bind.target.as_bytes().len())?;
    let Source::Host(source) = &bind.source else { return None };
    if bind.private {
        return None;
    }
    let stands = AbsPath::lexical(source, bind.target.strip(target)?).ok()?;
    let folder = matches!(disk.find(&stands), Ok(Found::Is(stat)) if stat.kind == Kind::Folder);
    (!folder).then_some(at)
}

/// Replaces a mount by mounts of all that it holds.
fn split(plan: &mut Plan, disk: &dyn Disk, at: usize) {
    let bind = plan.binds.remove(at);
    let Source::Host(source) = &bind.source else { return };
    let mut entries = Vec::new();
    if let Err(error) = disk.list(source, &mut |name, kind| entries.push((name.to_vec(), kind))) {
        let why = format!("{source} must be listed to make room inside it: {error}");
        plan.refused.push(Refusal { rule: None, why });
        return;
    }
    for (name, kind) in entries {
        let (Ok(source), Ok(target)) = (source.join(&name), bind.target.join(&name)) else { continue };
        if OWN.iter().any(|own| own.as_bytes() == target.as_bytes())
            || plan.binds.iter().any(|other| other.target == target)
        {
            continue;
        }
        match kind {
            Kind::Link => match disk.link(&source) {
                Ok(to) => plan.links.push(Link { at: target, to }),
                Err(error) => plan.notes.push(format!("{source} cannot be read: {error}")),
            },
            _ => plan.binds.push(Bind { source: Source::Host(source), target, ..bind.clone() }),
        }
    }
    plan.notes.push(format!(
        "{}: no new names can be made directly in it, it is put together from its parts",
        bind.target
    ));
}

fn repeat_root_links(plan: &mut Plan, disk: &dyn Disk) {
    let root = AbsPath::root();
    let mut names = Vec::new();
    let listed = disk.list(&root, &mut |name, kind| {
        if kind == Kind::Link {
            names.push(name.to_vec());
        }
    });
    if let Err(error) = listed {
        plan.notes.push(format!("the root folder cannot be listed: {error}"));
    }
    for name in names {
        let Ok(at) = root.join(&name) else { continue };
        let taken = plan.links.iter().any(|link| link.at == at) || plan.shown_by(&at).is_some();
        let Ok(to) = disk.link(&at) else { continue };
        let Ok(leads) = AbsPath::lexical(&root, &to) else { continue };
        let shown = plan.shown_by(&leads).is_some() || plan.binds.iter().any(|b| leads.covers(&b.target));
        if !taken && shown {
            plan.links.push(Link { at, to });
        }
    }
}
