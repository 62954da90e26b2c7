//! All patterns of one agent as a tree over components. A walk down a path meets every pattern that speaks of
//! it; how long it takes depends on the path and on how many patterns overlap there, not on how many exist.

use crate::names::{Edges, Globs};
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
    /// Children with literal names.
    edges: Edges,
}

impl Default for Trie {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], edges: Edges::default() }
    }
}

impl Trie {
    /// The node of a pattern.
    pub(crate) fn place(&mut self, pattern: &Pattern) -> u32 {
        let mut at = 0;
        for name in pattern.literal_prefix().components() {
            let fresh = self.fresh();
            at = self.edges.find_or_add(at, name, fresh);
            self.make(at, fresh, false);
        }
        for segment in pattern.rest() {
            let fresh = self.fresh();
            let Some(node) = self.nodes.get_mut(at as usize) else { return at };
            at = match segment {
                Segment::Name(name) => self.edges.find_or_add(at, name, fresh),
                Segment::Glob(glob) => node.globs.get_or_insert_default().add(glob, fresh),
                Segment::Dirs => *node.dirs.get_or_insert(fresh),
            };
            self.make(at, fresh, *segment == Segment::Dirs);
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

    fn fresh(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    /// Makes the node if it is the fresh one.
    fn make(&mut self, at: u32, fresh: u32, is_dirs: bool) {
        if at == fresh {
            self.nodes.push(Node { is_dirs, ..Node::default() });
        }
    }

    /// Everything that a pattern which matches the path carries, each once.
    pub(crate) fn walk(&self, path: &AbsPath) -> Vec<Hit> {
        let mut hits = Vec::with_capacity(8);
        // The nodes reached after each component, one run after the other; the last run begins at `from`.
        let mut reached = Vec::with_capacity(32);
        self.enter(0, 0, 0, &mut reached, &mut hits);
        let mut from = 0;
        for (depth, name) in (1_u32..).zip(path.components()) {
            let end = reached.len();
            for at in from..end {
                let Some(number) = reached.get(at).copied() else { break };
                let Some(node) = self.nodes.get(number as usize) else { break };
                if let Some(child) = self.edges.find(number, name) {
                    self.enter(child, depth, end, &mut reached, &mut hits);
                }
                if let Some(globs) = &node.globs {
                    globs.each(name, |child| self.enter(child, depth, end, &mut reached, &mut hits));
                }
                if node.is_dirs {
                    self.enter(number, depth, end, &mut reached, &mut hits);
                }
            }
            if reached.len() == end {
                break;
            }
            from = end;
        }
        hits
    }

    fn enter(&self, at: u32, depth: u32, from: usize, reached: &mut Vec<u32>, hits: &mut Vec<Hit>) {
        let mut at = Some(at);
        while let Some(number) = at.take_if(|n| !reached.get(from..).is_some_and(|run| run.contains(n))) {
            reached.push(number);
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
