//! All patterns of one agent as a tree over components. A walk down a path meets every pattern that speaks of
//! it; how long it takes depends on the path and on how many patterns overlap there, not on how many exist.

use crate::names::{Globs, Names};
use crate::pattern::{Pattern, Segment};
use remit_core::AbsPath;

/// Something that a pattern carries, met on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Its number.
    pub(crate) entry: u32,
    /// How many components of the path the pattern itself takes, at least; the rest lies below it.
    pub(crate) depth: u32,
}

#[derive(Debug, Clone, Default)]
struct Node {
    names: Names<u32>,
    globs: Option<Box<Globs>>,
    /// The node that stands for `**` at this point.
    dirs: Option<u32>,
    /// Whether this node is such a one: it is entered again with every component.
    is_dirs: bool,
    entries: Vec<u32>,
}

/// The tree. Node 0 is the root folder.
#[derive(Debug, Clone)]
pub(crate) struct Trie {
    nodes: Vec<Node>,
}

impl Default for Trie {
    fn default() -> Self {
        Self { nodes: vec![Node::default()] }
    }
}

impl Trie {
    /// The node of a pattern.
    pub(crate) fn place(&mut self, pattern: &Pattern) -> u32 {
        let mut at = 0;
        for name in pattern.literal_prefix().components() {
            at = self.child(at, |node, fresh| *node.names.entry(name.into()).or_insert(fresh));
        }
        for segment in pattern.rest() {
            at = self.child(at, |node, fresh| match segment {
                Segment::Name(name) => *node.names.entry(name.clone()).or_insert(fresh),
                Segment::Glob(glob) => node.globs.get_or_insert_default().add(glob, fresh),
                Segment::Dirs => *node.dirs.get_or_insert(fresh),
            });
            if let Some(node) = self.nodes.get_mut(at as usize) {
                node.is_dirs |= *segment == Segment::Dirs;
            }
        }
        at
    }

    /// What the node of a pattern carries.
    pub(crate) fn entries(&self, node: u32) -> &[u32] {
        self.nodes.get(node as usize).map_or(&[], |node| &node.entries)
    }

    /// Lets a node carry one thing more.
    pub(crate) fn add(&mut self, node: u32, entry: u32) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.entries.push(entry);
        }
    }

    fn child(&mut self, at: u32, pick: impl FnOnce(&mut Node, u32) -> u32) -> u32 {
        let fresh = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let picked = self.nodes.get_mut(at as usize).map_or(at, |node| pick(node, fresh));
        if picked == fresh {
            self.nodes.push(Node::default());
        }
        picked
    }

    /// Everything that a pattern which matches the path carries, each once.
    pub(crate) fn walk(&self, path: &AbsPath) -> Vec<Hit> {
        let mut hits = Vec::with_capacity(8);
        let mut active = Vec::with_capacity(16);
        let mut next = Vec::new();
        self.enter(0, 0, &mut active, &mut hits);
        for (depth, name) in (1_u32..).zip(path.components()) {
            for node in active.drain(..).filter_map(|at: u32| Some((at, self.nodes.get(at as usize)?))) {
                let (at, node) = node;
                if let Some(child) = node.names.get(name) {
                    self.enter(*child, depth, &mut next, &mut hits);
                }
                if let Some(globs) = &node.globs {
                    globs.each(name, |child| self.enter(child, depth, &mut next, &mut hits));
                }
                if node.is_dirs {
                    self.enter(at, depth, &mut next, &mut hits);
                }
            }
            if next.is_empty() {
                break;
            }
            std::mem::swap(&mut active, &mut next);
        }
        hits
    }

    fn enter(&self, at: u32, depth: u32, active: &mut Vec<u32>, hits: &mut Vec<Hit>) {
        let mut at = Some(at);
        while let Some(number) = at.take_if(|number| !active.contains(number)) {
            active.push(number);
            let Some(node) = self.nodes.get(number as usize) else { return };
            for entry in &node.entries {
                if !hits.iter().any(|hit| hit.entry == *entry) {
                    hits.push(Hit { entry: *entry, depth });
                }
            }
            at = node.dirs;
        }
    }
}
