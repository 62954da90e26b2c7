//! Patterns on paths. `P`, `P/`, `P/*` and `P/**` are the same: the path and all below it. Elsewhere `*`, `?`
//! and `[…]` stay inside a component and `**` crosses components. A pattern is absolute once it is read: a
//! literal folder (the prefix), then what has wildcards.

use crate::glob::{Glob, write_name};
use crate::inclusion::{Inclusion, includes};
use crate::parse::{self, Fault, Start};
use crate::source::{At, Root};
use remit_core::{AbsPath, Diagnostic, Place};
use std::fmt;

/// One component of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Segment {
    /// A name.
    Name(Box<[u8]>),
    /// A name with wildcards.
    Glob(Glob),
    /// `**`: any components, or none.
    Dirs,
}

impl Segment {
    /// Whether it adds nothing at the end of a pattern.
    pub(crate) fn is_wide(&self) -> bool {
        match self {
            Segment::Name(_) => false,
            Segment::Glob(glob) => glob.is_star(),
            Segment::Dirs => true,
        }
    }

    /// Whether every name of `other` is one of this: the same segment, or one that includes it step by step.
    fn plainly_includes(&self, other: &Segment) -> bool {
        match (self, other) {
            (own, other) if own == other => true,
            (Segment::Glob(own), Segment::Name(name)) => own.matches(name),
            (Segment::Glob(own), Segment::Glob(other)) => own.plainly_includes(other),
            _ => false,
        }
    }

    fn takes(&self, name: &[u8]) -> bool {
        match self {
            Segment::Name(own) => **own == *name,
            Segment::Glob(glob) => glob.matches(name),
            Segment::Dirs => true,
        }
    }
}

/// What a pattern hangs on: the meaning of a relative path, of a leading `/` and of `~/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The folder that relative patterns are relative to.
    pub base: AbsPath,
    /// The workspace, for [`Root::Workspace`].
    pub workspace: AbsPath,
    /// The home folder, for `~/`.
    pub home: AbsPath,
    /// What a leading `/` means.
    pub root: Root,
}

impl Anchor {
    /// What to write for one path and all below it, as people would: relative where the path lies below the
    /// folder, else from the root or the home folder. `None` if nothing that could be written here names it.
    pub fn spell(&self, path: &AbsPath) -> Option<String> {
        let (root, start) = match self.root {
            Root::Host => (&AbsPath::root(), "/"),
            Root::Workspace => (&self.workspace, "/"),
        };
        let home = Some((&self.home, "~/")).filter(|(home, _)| **home != AbsPath::root());
        let folders = [Some((&self.base, "")), home, Some((root, start))].into_iter().flatten();
        let spell = |(folder, start): (&AbsPath, &str)| {
            let names = Spelled(folder.strip(path)?).to_string();
            Some(match (start, names.as_bytes()) {
                ("", []) => ".".to_owned(),
                // As the first character these would mean something else.
                ("", [b'~' | b'!', ..]) => format!("./{names}"),
                _ => format!("{start}{names}"),
            })
        };
        folders.filter_map(spell).next()
    }
}

/// Names between slashes, as a pattern has them.
struct Spelled<'a>(&'a [u8]);

impl fmt::Display for Spelled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.split(|b| *b == b'/').enumerate() {
            if at > 0 {
                f.write_str("/")?;
            }
            write_name(f, name)?;
        }
        Ok(())
    }
}

/// What a pattern is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It may give access, so it must name a folder: an unanchored pattern is refused.
    Grant,
    /// It only takes away (`none`, or a limit to `read`): it may be unanchored.
    Limit,
}

/// A pattern on absolute paths.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pattern {
    prefix: AbsPath,
    rest: Box<[Segment]>,
    unanchored: bool,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// Refused, with the place inside the text and the way out: the empty text, `..`, NUL, line breaks,
    /// variables, `~user`, a leading `!`, `{a,b}`, bad sets and escapes, more than 4,096 bytes, and for
    /// [`Use::Grant`] what is unanchored. `\` makes a plain character of a punctuation mark, `\xNN` is a byte.
    pub fn parse(text: &At<String>, anchor: &Anchor, usage: Use) -> Result<Pattern, Diagnostic> {
        let fail = |fault: Fault| {
            let place = within(&text.place, &text.value, &fault.at);
            Diagnostic::error(fault.code, place, fault.message).help(fault.help)
        };
        let (start, segments) = parse::pattern(&text.value).map_err(fail)?;
        let folder = match (start, anchor.root) {
            (Start::Relative, _) => &anchor.base,
            (Start::Home, _) => &anchor.home,
            (Start::Root, Root::Workspace) => &anchor.workspace,
            (Start::Root, Root::Host) => &AbsPath::root(),
        };
        let pattern = Self::assemble(folder, segments).ok_or_else(|| {
            Diagnostic::error("long-pattern", text.place.clone(), "the path is too long for a file system")
                .help("name a folder instead")
        })?;
        if pattern.unanchored && usage == Use::Grant {
            let message = format!("`{}` gives access in every folder", text.value);
            return Err(Diagnostic::error("unanchored-grant", text.place.clone(), message)
                .help("name the folder before `**`; only `none` and `read` rules may begin with `**`"));
        }
        Ok(pattern)
    }

    /// The pattern of one path and all below it; nothing in the path is a wildcard.
    pub fn of(path: &AbsPath) -> Pattern {
        Self { prefix: path.clone(), rest: Box::from([]), unanchored: false }
    }

    fn assemble(folder: &AbsPath, segments: Vec<Segment>) -> Option<Pattern> {
        let mut prefix = folder.clone();
        let unanchored = segments.first() == Some(&Segment::Dirs);
        let mut segments = segments.into_iter().peekable();
        while let Some(Segment::Name(name)) = segments.next_if(|s| matches!(s, Segment::Name(_))) {
            prefix = prefix.join(&name).ok()?;
        }
        Some(Self { prefix, rest: segments.collect(), unanchored })
    }

    /// Whether the path is one that the pattern speaks of.
    pub fn matches(&self, path: &AbsPath) -> bool {
        let Some(below) = self.prefix.strip(path) else { return false };
        let mut names = below.split(|b| *b == b'/').filter(|name| !name.is_empty()).peekable();
        // What follows the pattern is free, so each run between two `**` may take its first place.
        let mut runs = self.rest.split(|s| *s == Segment::Dirs);
        let Some(first) = runs.next() else { return true };
        if !first.iter().all(|segment| names.next().is_some_and(|name| segment.takes(name))) {
            return false;
        }
        let mut names: &[&[u8]] = &names.collect::<Vec<_>>();
        for run in runs {
            let fits = |names: &[&[u8]]| run.iter().zip(names).all(|(segment, name)| segment.takes(name));
            let found = names.windows(run.len().max(1)).position(fits);
            match found.and_then(|at| names.get(at.saturating_add(run.len())..)) {
                Some(after) => names = after,
                None => return false,
            }
        }
        true
    }

    /// The path, if the pattern is one path and all below it: no wildcard beside trailing ones.
    pub fn literal(&self) -> Option<&AbsPath> {
        self.rest.is_empty().then_some(&self.prefix)
    }

    /// The folder that holds all matches: what is literal before the first wildcard. For a relative pattern
    /// that begins with `**` it is the base folder (so `**/.env` is any `.env` below that folder), for
    /// `/**/…` the root.
    pub fn literal_prefix(&self) -> &AbsPath {
        &self.prefix
    }

    /// Whether the pattern, as written, begins with `**`: it names no folder of its own.
    pub fn is_unanchored(&self) -> bool {
        self.unanchored
    }

    /// Whether every path that `other` matches is matched by this pattern. False also where it cannot be
    /// proved (patterns with very many wildcards).
    pub fn covers(&self, other: &Pattern) -> bool {
        // What is plain is told without the exact test, which costs much where thousands of rules overlap.
        self.plainly_includes(other) || self.includes(other) == Inclusion::Yes
    }

    /// Whether `other` matches some of this pattern's paths, and provably not all of them.
    pub(crate) fn is_wider_than(&self, other: &Pattern) -> bool {
        let plainly_more = || self.sample(b"\x01", false).is_some_and(|own| !other.matches(&own));
        self.covers(other) && (plainly_more() || other.includes(self) == Inclusion::No)
    }

    /// Whether each segment alone includes the one in the same place.
    fn plainly_includes(&self, other: &Pattern) -> bool {
        self.prefix == other.prefix
            && self.rest.len() <= other.rest.len()
            && self.rest.iter().zip(&other.rest).all(|(own, other)| own.plainly_includes(other))
    }

    fn includes(&self, other: &Pattern) -> Inclusion {
        match (self.literal(), self.prefix.strip(&other.prefix)) {
            (Some(own), _) if own.covers(&other.prefix) => Inclusion::Yes,
            (Some(_), _) | (None, None) => Inclusion::No,
            (None, Some(between)) => includes(&self.rest, between, &other.rest),
        }
    }

    /// Whether what it names by wildcard looks like files: the last name has an extension, as in `src/*.rs`.
    pub(crate) fn names_a_kind_of_file(&self) -> bool {
        match self.rest.last() {
            Some(Segment::Name(name)) => name.iter().skip(1).any(|byte| *byte == b'.'),
            Some(Segment::Glob(glob)) => glob.tail().any(|byte| byte == b'.'),
            Some(Segment::Dirs) | None => false,
        }
    }

    /// What has wildcards, after the prefix.
    pub(crate) fn rest(&self) -> &[Segment] {
        &self.rest
    }

    /// A path that the pattern matches: `fill` stands for each `*`, and for each `**` if `deep`. `None` if
    /// it would be too long.
    pub(crate) fn sample(&self, fill: &[u8], deep: bool) -> Option<AbsPath> {
        let mut path = self.prefix.clone();
        for segment in &self.rest {
            path = match segment {
                Segment::Name(name) => path.join(name).ok()?,
                Segment::Glob(glob) => path.join(glob.sample(fill)).ok()?,
                Segment::Dirs if deep => path.join(fill).ok()?,
                Segment::Dirs => path,
            };
        }
        Some(path)
    }
}

/// The canonical spelling: the absolute path, without trailing wildcards, with escapes where a name has a
/// character that means something. Read with [`Root::Host`], it is the same pattern.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.prefix == AbsPath::root() && self.rest.is_empty() {
            return f.write_str("/");
        }
        for name in self.prefix.components() {
            f.write_str("/")?;
            write_name(f, name)?;
        }
        for segment in &self.rest {
            f.write_str("/")?;
            match segment {
                Segment::Name(name) => write_name(f, name)?,
                Segment::Glob(glob) => write!(f, "{glob}")?,
                Segment::Dirs => f.write_str("**")?,
            }
        }
        Ok(())
    }
}

/// The place of a part of a value, if the value stands in the file as it is (plain, or in quotes).
fn within(place: &Place, text: &str, at: &std::ops::Range<usize>) -> Place {
    let count = |part: Option<&str>| u32::try_from(part.map_or(0, |p| p.chars().count())).unwrap_or(u32::MAX);
    let all = count(Some(text));
    let quote = match place.width.checked_sub(all) {
        Some(0) => 0,
        Some(2) => 1,
        _ => return place.clone(),
    };
    let before = count(text.get(..at.start));
    let column = place.column.saturating_add(before).saturating_add(quote);
    Place { column, width: count(text.get(at.clone())).max(1), ..place.clone() }
}

#[cfg(test)]
mod tests;
