//! The grammar, read leniently: lists, pipelines and single commands, with the folder that each runs in.

use super::places::{Flow, Places};
use super::scan::{Heredoc, is_meta};
use super::word::Word;
use super::writers::{Deed, Doing, Landing, Spot};
use crate::resolve::Resolver;
use remit_core::AbsPath;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The longest text that is read, in bytes. A single argument of a program is shorter on Linux.
pub const LONGEST: usize = 1 << 20;
/// How deep substitutions, subshells and scripts in scripts are followed.
pub const DEEPEST: usize = 32;
/// The most deeds that are collected.
pub const MOST: usize = 4096;
/// How often the file system is asked whether a folder is there.
const LOOKS: usize = 256;

/// Files that are no files, or lead only back to the command's own streams.
const STREAMS: [&[u8]; 9] = [
    b"/dev/null",
    b"/dev/zero",
    b"/dev/full",
    b"/dev/random",
    b"/dev/urandom",
    b"/dev/tty",
    b"/dev/stdin",
    b"/dev/stdout",
    b"/dev/stderr",
];

/// Why a text was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    /// Longer than [`LONGEST`].
    #[error("the command is longer than {LONGEST} bytes")]
    Text,
    /// More than [`MOST`] deeds.
    #[error("the command does more than {MOST} things to files")]
    Deeds,
}

/// What `text` will do to files when a shell runs it in `cwd`. Only what shows in the text; nothing below
/// [`DEEPEST`].
pub fn deeds(text: &str, cwd: &AbsPath, ground: &dyn Resolver) -> Result<Vec<Deed>, TooMuch> {
    if text.len() > LONGEST {
        return Err(TooMuch::Text);
    }
    let mut shared = Shared {
        ground,
        deeds: Vec::new(),
        functions: BTreeMap::new(),
        bodies: LONGEST,
        looks: LOOKS,
        foreign: false,
    };
    let here = Places::one(Rc::new(cwd.clone()));
    Parser::new(text.as_bytes(), 0, here, &mut shared).list(End::Text);
    if shared.deeds.len() > MOST { Err(TooMuch::Deeds) } else { Ok(shared.deeds) }
}

/// What ends a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The end of the text.
    Text,
    /// `)`.
    Paren,
    /// `}` where a command could begin.
    Brace,
    /// `;;` or `esac`; not taken.
    Clause,
    /// One of these where a command could begin; not taken.
    Words(&'static [&'static [u8]]),
}

/// What all texts of one command line have in common.
pub(super) struct Shared<'a> {
    pub(super) ground: &'a dyn Resolver,
    pub(super) deeds: Vec<Deed>,
    /// The bodies of the functions that are defined.
    pub(super) functions: BTreeMap<Vec<u8>, Rc<[u8]>>,
    /// How many bytes of bodies may still be read for calls: functions that call each other would grow without end.
    pub(super) bodies: usize,
    pub(super) looks: usize,
    /// Whether a program ran that may have made folders unseen.
    pub(super) foreign: bool,
}

pub(super) struct Parser<'a, 's> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    depth: usize,
    /// How many lists are open that `)` ends.
    parens: usize,
    pub(super) heredocs: Vec<Heredoc>,
    /// Where the next command runs.
    pub(super) here: Places,
    /// Where `return` was reached, in a function.
    pub(super) returned: Option<Places>,
    /// Where `break` and `continue` were reached, in a loop.
    pub(super) left: Option<Places>,
    pub(super) shared: &'a mut Shared<'s>,
}

impl<'a, 's> Parser<'a, 's> {
    fn new(text: &'a [u8], depth: usize, here: Places, shared: &'a mut Shared<'s>) -> Self {
        Self { text, at: 0, depth, parens: 0, heredocs: Vec::new(), here, returned: None, left: None, shared }
    }

    /// Does `read` one level down. What lies too deep is not read, and nothing after it.
    pub(super) fn level<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth == DEEPEST {
            self.at = self.text.len();
            return None;
        }
        self.depth = self.depth.saturating_add(1);
        let out = read(self);
        self.depth = self.depth.saturating_sub(1);
        Some(out)
    }

    /// A list one level down.
    pub(super) fn inner(&mut self, end: End) -> Flow {
        self.level(|p| p.list(end)).unwrap_or_else(Flow::never)
    }

    /// A list in a shell of its own, up to `)`: its `cd` and its `exit` end with it, and how it ended is not known.
    pub(super) fn subshell(&mut self) -> Flow {
        let start = self.here.clone();
        let outer = (self.returned.take(), self.left.take());
        self.inner(End::Paren);
        (self.returned, self.left) = outer;
        self.here = start.clone();
        Flow::both(start)
    }

    /// Does `read` with another text, in this shell.
    pub(super) fn text<T>(&mut self, text: &[u8], read: impl FnOnce(&mut Parser<'_, 's>) -> T) -> Option<T> {
        self.level(|p| {
            let here = p.here.clone();
            read(&mut Parser::new(text, p.depth, here, &mut *p.shared))
        })
    }

    /// Another text, run in this shell.
    pub(super) fn script(&mut self, text: &[u8]) -> Flow {
        self.text(text, |p| p.list(End::Text)).unwrap_or_else(Flow::never)
    }

    /// Another text, run in a shell of its own.
    pub(super) fn apart(&mut self, text: &[u8]) -> Flow {
        self.script(text);
        Flow::both(self.here.clone())
    }

    fn list(&mut self, end: End) -> Flow {
        let parens = self.parens;
        self.parens = parens.saturating_add(usize::from(end == End::Paren));
        let flow = self.commands(end);
        self.parens = parens;
        flow
    }

    fn commands(&mut self, end: End) -> Flow {
        let mut flow = Flow::ok(self.here.clone());
        loop {
            self.blanks();
            match self.peek() {
                None => return flow,
                Some(b'\n') => self.newline(),
                Some(b')') => {
                    if end != End::Paren && self.parens > 0 {
                        return flow;
                    }
                    self.skip(1);
                    if end == End::Paren {
                        return flow;
                    }
                }
                Some(b';') => {
                    if end == End::Clause && matches!(self.peek_at(1), Some(b';' | b'&')) {
                        return flow;
                    }
                    self.skip(1);
                }
                Some(b'&') if self.peek_at(1) != Some(b'>') => self.skip(1),
                Some(b'|') => self.skip(1),
                Some(_) => {
                    if self.ends(end) {
                        return flow;
                    }
                    let start = self.here.clone();
                    flow = self.and_or();
                    self.blanks();
                    if self.peek() == Some(b'&') && self.peek_at(1) != Some(b'>') {
                        // What runs in the background runs in a shell of its own.
                        self.skip(1);
                        flow = Flow::ok(start);
                    }
                    self.here = flow.clone().any();
                }
            }
        }
    }

    fn ends(&mut self, end: End) -> bool {
        match end {
            End::Text | End::Paren => false,
            End::Brace => self.keyword(b"}"),
            End::Clause => self.sees(b"esac"),
            End::Words(words) => words.iter().any(|word| self.sees(word)),
        }
    }

    /// Pipelines that run by how the one before ended.
    fn and_or(&mut self) -> Flow {
        let mut flow = self.pipeline();
        loop {
            self.blanks();
            let and = match (self.peek(), self.peek_at(1)) {
                (Some(b'&'), Some(b'&')) => true,
                (Some(b'|'), Some(b'|')) => false,
                _ => return flow,
            };
            self.skip(2);
            self.space();
            let (goes_on, ends) = if and { (flow.ok, flow.failed) } else { (flow.failed, flow.ok) };
            self.here = goes_on;
            let next = self.pipeline();
            flow = next.or(if and { Flow::failed(ends) } else { Flow::ok(ends) });
        }
    }

    fn pipeline(&mut self) -> Flow {
        let start = self.here.clone();
        let mut negated = false;
        self.blanks();
        while self.keyword(b"!") {
            negated = !negated;
            self.blanks();
        }
        let mut flow = self.command();
        loop {
            self.blanks();
            if self.peek() != Some(b'|') || self.peek_at(1) == Some(b'|') {
                break;
            }
            self.skip(1);
            self.eat(b"&");
            self.space();
            self.here.clone_from(&start);
            self.command();
            // Each part of a pipe runs in a shell of its own.
            flow = Flow::both(start.clone());
        }
        if negated { flow.not() } else { flow }
    }

    /// Whether the next word is exactly this.
    pub(super) fn sees(&self, word: &[u8]) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.strip_prefix(word).is_some_and(|rest| rest.first().is_none_or(|b| is_meta(*b)))
    }

    pub(super) fn keyword(&mut self, word: &[u8]) -> bool {
        let there = self.sees(word);
        if there {
            self.skip(word.len());
        }
        there
    }

    /// One command, up to the operator after it. Always takes something, or stands before an operator.
    pub(super) fn command(&mut self) -> Flow {
        let start = self.here.clone();
        let mut words: Vec<Word> = Vec::new();
        let mut compound = None;
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'|' | b')') => break,
                Some(b'&') if self.peek_at(1) == Some(b'>') => {
                    self.skip(2);
                    self.eat(b">");
                    self.target(false);
                }
                Some(b'&') => break,
                Some(b'(') => {
                    self.skip(1);
                    match words.as_slice() {
                        [] => compound = Some(self.parenthesis()),
                        [name] if self.closes() => {
                            self.function(name);
                            return Flow::ok(start);
                        }
                        _ => self.array(),
                    }
                }
                Some(b'<' | b'>') if self.peek_at(1) == Some(b'(') => {
                    self.skip(2);
                    self.subshell();
                    words.push(Word { expands: true, ..Word::default() });
                }
                Some(b'<' | b'>') => self.redirection(),
                Some(_) => {
                    let word = self.word();
                    if words.is_empty() && compound.is_none() {
                        match self.leading(&word) {
                            Leading::Taken => continue,
                            Leading::Compound(flow) => {
                                compound = Some(flow);
                                // Its redirections are made before it runs.
                                self.here.clone_from(&start);
                                continue;
                            }
                            Leading::Plain => {}
                        }
                    }
                    let number = matches!(self.peek(), Some(b'<' | b'>'))
                        && word
                            .bare()
                            .is_some_and(|w| w.iter().all(u8::is_ascii_digit) || w.starts_with(b"{"));
                    if !number {
                        words.push(word);
                    }
                }
            }
        }
        let simple = self.simple(&words);
        compound.unwrap_or(simple)
    }

    /// After `(` where a command begins.
    fn parenthesis(&mut self) -> Flow {
        if self.arithmetic() { Flow::both(self.here.clone()) } else { self.subshell() }
    }

    /// Whether `)` follows; taken if so.
    fn closes(&mut self) -> bool {
        self.blanks();
        self.eat(b")")
    }

    /// An array, or what no shell takes: words up to the closing parenthesis.
    fn array(&mut self) {
        while let Some(b) = self.peek() {
            match b {
                b')' => return self.skip(1),
                b'\n' => self.newline(),
                b if is_meta(b) => self.skip(1),
                _ => drop(self.word()),
            }
        }
    }

    /// Blanks and newlines.
    pub(super) fn space(&mut self) {
        self.blanks();
        while self.peek() == Some(b'\n') {
            self.newline();
            self.blanks();
        }
    }

    fn redirection(&mut self) {
        if self.eat(b"<<<") || self.eat(b"<&") {
            self.blanks();
            self.word();
        } else if self.eat(b"<<") {
            let strip_tabs = self.eat(b"-");
            let (delimiter, quoted) = self.delimiter();
            self.heredocs.push(Heredoc { delimiter, strip_tabs, quoted, here: self.here.clone() });
        } else if self.eat(b"<>") {
            self.target(false);
        } else if self.eat(b"<") {
            if let Some(word) = self.operand() {
                self.opens(&word, Doing::Read);
            }
        } else if self.eat(b">&") {
            self.target(true);
        } else {
            self.skip(1);
            if !self.eat(b">") {
                self.eat(b"|");
            }
            self.target(false);
        }
    }

    /// The word after a redirection that writes. After `>&` a number or `-` names a descriptor.
    fn target(&mut self, or_descriptor: bool) {
        let Some(word) = self.operand() else { return };
        let digits = word.bytes.strip_suffix(b"-").unwrap_or(&word.bytes);
        if !(or_descriptor && digits.iter().all(u8::is_ascii_digit)) {
            self.opens(&word, Doing::Put);
        }
    }

    /// The word after a redirection.
    fn operand(&mut self) -> Option<Word> {
        self.blanks();
        if self.peek().is_none_or(is_meta) { None } else { Some(self.word()) }
    }

    /// The shell itself opens a file.
    fn opens(&mut self, word: &Word, doing: Doing) {
        for place in self.standing() {
            if let Some(at) = self.spot(word, place.as_deref()) {
                self.add(Deed { doing, at, landing: Landing::Exact, from: None });
            }
        }
    }

    /// The folders in which the next command may run, as they are to be judged.
    pub(super) fn standing(&self) -> Vec<Option<Rc<AbsPath>>> {
        self.here.each(self.shared.ground.held())
    }

    /// Where a word leads from a folder, if that is known.
    pub(super) fn spot(&self, word: &Word, folder: Option<&AbsPath>) -> Option<Spot> {
        let home = || self.shared.ground.home().map(|home| home.as_bytes().to_vec());
        let literal = word.literal().filter(|w| !w.is_empty())?;
        let mut path = match (word.tilde, literal) {
            (true, [b'~'] | [b'~', b'/', ..]) => home()?,
            (true, _) => return None,
            (false, [b'/', ..]) => Vec::new(),
            (false, _) => folder?.as_bytes().to_vec(),
        };
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(if word.tilde { literal.get(1..).unwrap_or_default() } else { literal });
        Some(Spot { asked: literal.to_vec(), path })
    }

    pub(super) fn add(&mut self, deed: Deed) {
        let asked = deed.at.asked.as_slice();
        let stream = STREAMS.contains(&asked)
            || [&b"/dev/fd/"[..], b"/proc/self/fd/", b"/dev/tcp/", b"/dev/udp/"]
                .iter()
                .any(|p| asked.starts_with(p));
        if !(stream && matches!(deed.doing, Doing::Put | Doing::Read)) && self.shared.deeds.len() <= MOST {
            self.shared.deeds.push(deed);
        }
    }
}

/// What a word is where a command begins.
pub(super) enum Leading {
    /// The grammar took it; what follows may be a command.
    Taken,
    /// A compound command, and how it ended.
    Compound(Flow),
    /// An ordinary word.
    Plain,
}
