//! All patterns of one agent as a tree over components. A walk down a path meets every pattern that speaks of
//! it; how long it takes depends on the path and on how many patterns overlap there, not on how many exist.

use crate::names::{Children, Edges, Globs};
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
    /// Those with literal names.
    children: Children,
    globs: Option<Box<Globs>>,
    /// The node that stands for `**` at this point.
    dirs: Option<u32>,
    /// Whether this node is such a one: it is entered again with every component.
    is_dirs: bool,
    entries: Vec<u32>,
}

/// How far a walk has come.
#[derive(Debug, Clone)]
struct Walk {
    /// The nodes reached after each component, one run after the other; the last run begins at `from`.
    reached: Vec<u32>,
    from: usize,
    depth: u32,
    hits: Vec<Hit>,
}

impl Walk {
    fn new() -> Self {
        Self { reached: Vec::with_capacity(32), from: 0, depth: 0, hits: Vec::with_capacity(8) }
    }

    /// Goes on from where another has come to.
    fn from(other: &Walk) -> Self {
        let mut walk = Self { depth: other.depth, ..Self::new() };
        walk.reached.extend_from_slice(&other.reached);
        walk.hits.extend_from_slice(&other.hits);
        walk
    }
}

/// The tree. Node 0 is the root folder.
#[derive(Debug, Clone)]
pub(crate) struct Trie {
    nodes: Vec<Node>,
    /// A folder that most paths lie below, and the walk that has come to it.
    midway: Option<(AbsPath, Walk)>,
    /// To children with literal names.
    edges: Edges,
}

impl Default for Trie {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], midway: None, edges: Edges::default() }
    }
}

impl Trie {
    /// The node of a pattern.
    pub(crate) fn place(&mut self, pattern: &Pattern) -> u32 {
        let mut at = 0;
        for name in pattern.literal_prefix().components() {
            let fresh = self.fresh();
            let Some(node) = self.nodes.get_mut(at as usize) else { return at };
            at = self.edges.find_or_add(at, &mut node.children, name, fresh);
            self.make(at, fresh, false);
        }
        for segment in pattern.rest() {
            let fresh = self.fresh();
            let Some(node) = self.nodes.get_mut(at as usize) else { return at };
            at = match segment {
                Segment::Name(name) => self.edges.find_or_add(at, &mut node.children, name, fresh),
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

    /// Has walks to what lies below a folder begin there. To be called again after any change.
    pub(crate) fn begin_at(&mut self, folder: &AbsPath) {
        self.midway = None;
        let mut walk = Walk::new();
        self.enter(0, &mut walk);
        self.go(&mut walk, folder.components());
        walk.reached.drain(..walk.from);
        walk.from = 0;
        self.midway = Some((folder.clone(), walk));
    }

    /// Everything that a pattern which matches the path carries, each once.
    pub(crate) fn walk(&self, path: &AbsPath) -> Vec<Hit> {
        let below = self.midway.as_ref().and_then(|(folder, walk)| Some((folder.strip(path)?, walk)));
        if let Some((below, midway)) = below {
            let mut walk = Walk::from(midway);
            self.go(&mut walk, below.split(|byte| *byte == b'/').filter(|name| !name.is_empty()));
            return walk.hits;
        }
        let mut walk = Walk::new();
        self.enter(0, &mut walk);
        self.go(&mut walk, path.components());
        walk.hits
    }

    fn go<'p>(&self, walk: &mut Walk, names: impl Iterator<Item = &'p [u8]>) {
        for name in names {
            let (begin, end) = (walk.from, walk.reached.len());
            (walk.from, walk.depth) = (end, walk.depth.saturating_add(1));
            for at in begin..end {
                let Some(number) = walk.reached.get(at).copied() else { break };
                let Some(node) = self.nodes.get(number as usize) else { break };
                if let Some(child) = self.edges.find(number, node.children, name) {
                    self.enter(child, walk);
                }
                if let Some(globs) = &node.globs {
                    globs.each(name, |child| self.enter(child, walk));
                }
                if node.is_dirs {
                    self.enter(number, walk);
                }
            }
            if walk.reached.len() == end {
                break;
            }
        }
    }

    fn enter(&self, at: u32, walk: &mut Walk) {
        let mut at = Some(at);
        while let Some(number) =
            at.take_if(|n| !walk.reached.get(walk.from..).is_some_and(|run| run.contains(n)))
        {
            walk.reached.push(number);
            let Some(node) = self.nodes.get(number as usize) else { return };
            for entry in &node.entries {
                if !walk.hits.iter().any(|hit| hit.entry == *entry) {
                    walk.hits.push(Hit { entry: *entry, depth: walk.depth });
                }
            }
            at = node.dirs;
        }
    }
}
