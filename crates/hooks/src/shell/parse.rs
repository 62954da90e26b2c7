//! The grammar, read leniently: lists, pipelines, compound commands; where the working folder is tracked.

use super::scan::Heredoc;
use super::word::Word;
use super::writers::{Deed, Doing, Landing, Spot, of_program};
use remit_core::AbsPath;
use std::rc::Rc;

/// The longest text that is read, in bytes. A single argument of a program is shorter on Linux.
pub const LONGEST: usize = 1 << 20;
/// How deep substitutions, subshells and scripts in scripts are followed.
pub const DEEPEST: usize = 32;
/// The most deeds that are collected.
pub const MOST: usize = 4096;

/// Files that are no files, or lead only back to the command's own streams.
const STREAMS: [&[u8]; 7] =
    [b"/dev/null", b"/dev/zero", b"/dev/full", b"/dev/tty", b"/dev/stdin", b"/dev/stdout", b"/dev/stderr"];

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

/// What `text` will do to files when a shell runs it in `cwd`. Only what is certain from the text; nothing
/// below [`DEEPEST`].
pub fn deeds(text: &str, cwd: &AbsPath, home: Option<&AbsPath>) -> Result<Vec<Deed>, TooMuch> {
    if text.len() > LONGEST {
        return Err(TooMuch::Text);
    }
    let mut found = Vec::new();
    let mut parser = Parser {
        text: text.as_bytes(),
        at: 0,
        depth: 0,
        heredocs: Vec::new(),
        dir: Some(Rc::new(cwd.clone())),
        home,
        found: &mut found,
    };
    parser.list(End::Text);
    if found.len() > MOST { Err(TooMuch::Deeds) } else { Ok(found) }
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
}

/// The words that may stand before a command.
const BEFORE: [&[u8]; 11] =
    [b"if", b"then", b"elif", b"else", b"fi", b"while", b"until", b"do", b"done", b"!", b"coproc"];

pub(super) struct Parser<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    depth: usize,
    pub(super) heredocs: Vec<Heredoc>,
    /// The working folder; none once it is not known.
    pub(super) dir: Option<Rc<AbsPath>>,
    home: Option<&'a AbsPath>,
    found: &'a mut Vec<Deed>,
}

impl Parser<'_> {
    /// Does `read` one level down. What lies too deep is not read, and nothing after it.
    pub(super) fn level(&mut self, read: impl FnOnce(&mut Self)) {
        if self.depth == DEEPEST {
            self.at = self.text.len();
            return;
        }
        self.depth = self.depth.saturating_add(1);
        read(self);
        self.depth = self.depth.saturating_sub(1);
    }

    /// A list in a shell of its own: its `cd` ends with it.
    pub(super) fn nested(&mut self, end: End) {
        let dir = self.dir.clone();
        self.inner(end);
        self.dir = dir;
    }

    fn inner(&mut self, end: End) {
        self.level(|p| p.list(end));
    }

    /// Another text, run in this shell.
    pub(super) fn script(&mut self, text: &[u8]) {
        self.level(|p| {
            let mut child = Parser {
                text,
                at: 0,
                depth: p.depth,
                heredocs: Vec::new(),
                dir: p.dir.take(),
                home: p.home,
                found: &mut *p.found,
            };
            child.list(End::Text);
            p.dir = child.dir;
        });
    }

    fn list(&mut self, end: End) {
        let mut start = self.dir.clone();
        loop {
            self.blanks();
            match self.peek() {
                None => return,
                Some(b'\n') => {
                    self.newline();
                    start = self.dir.clone();
                }
                Some(b')') => {
                    self.skip(1);
                    if end == End::Paren {
                        return;
                    }
                }
                Some(b';') => {
                    if end == End::Clause && matches!(self.peek_at(1), Some(b';' | b'&')) {
                        return;
                    }
                    self.skip(1);
                    start = self.dir.clone();
                }
                Some(b'&') if self.peek_at(1) == Some(b'&') => self.skip(2),
                Some(b'&') if self.peek_at(1) != Some(b'>') => {
                    // What ran in the background ran in a shell of its own.
                    self.skip(1);
                    self.dir.clone_from(&start);
                }
                Some(b'|') => self.skip(if self.peek_at(1) == Some(b'|') { 2 } else { 1 }),
                Some(_) => {
                    if (end == End::Brace && self.keyword(b"}")) || (end == End::Clause && self.sees(b"esac"))
                    {
                        return;
                    }
                    self.pipeline();
                }
            }
        }
    }

    fn pipeline(&mut self) {
        let start = self.dir.clone();
        let mut piped = false;
        loop {
            self.command();
            self.blanks();
            if self.peek() != Some(b'|') || self.peek_at(1) == Some(b'|') {
                break;
            }
            piped = true;
            self.dir.clone_from(&start);
            self.skip(1);
            self.eat(b"&");
            self.blanks();
            while self.peek() == Some(b'\n') {
                self.newline();
                self.blanks();
            }
        }
        if piped {
            self.dir = start;
        }
    }

    /// Whether the next word is exactly this.
    fn sees(&self, word: &[u8]) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.strip_prefix(word).is_some_and(|rest| rest.first().is_none_or(|b| super::scan::is_meta(*b)))
    }

    fn keyword(&mut self, word: &[u8]) -> bool {
        let there = self.sees(word);
        if there {
            self.skip(word.len());
        }
        there
    }

    /// One command, up to the operator after it. Always takes something, or stands before an operator.
    fn command(&mut self) {
        let mut words: Vec<Word> = Vec::new();
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
                    if self.parenthesis(&words) {
                        return;
                    }
                }
                Some(b'<' | b'>') if self.peek_at(1) == Some(b'(') => {
                    self.skip(2);
                    self.nested(End::Paren);
                    words.push(Word { expands: true, ..Word::default() });
                }
                Some(b'<' | b'>') => self.redirection(),
                Some(_) => {
                    let word = self.word();
                    if words.is_empty() {
                        match self.leading(&word) {
                            Leading::Taken => continue,
                            Leading::Ended => return,
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
        self.simple(&words);
    }

    /// After `(` in a command. True if the command ended with it.
    fn parenthesis(&mut self, words: &[Word]) -> bool {
        if words.is_empty() {
            if !self.arithmetic() {
                self.nested(End::Paren);
            }
            return false;
        }
        self.blanks();
        if words.len() == 1 && self.eat(b")") {
            self.function();
            return true;
        }
        // An array, or what no shell takes: words up to the closing parenthesis.
        while let Some(b) = self.peek() {
            match b {
                b')' => {
                    self.skip(1);
                    break;
                }
                b'\n' => self.newline(),
                b if super::scan::is_meta(b) => self.skip(1),
                _ => {
                    self.word();
                }
            }
        }
        false
    }

    /// The body of a function: nobody knows where it will run.
    fn function(&mut self) {
        let dir = self.dir.take();
        self.blanks();
        while self.peek() == Some(b'\n') {
            self.newline();
            self.blanks();
        }
        self.level(Self::command);
        self.dir = dir;
    }

    /// A word where a command begins, if the grammar takes it.
    fn leading(&mut self, word: &Word) -> Leading {
        let Some(bare) = word.bare() else { return Leading::Plain };
        match bare {
            b"{" => self.inner(End::Brace),
            b"case" => self.level(Self::case),
            b"[[" => {
                while self.at < self.text.len() && !self.keyword(b"]]") {
                    if self.word() == Word::default() {
                        self.skip(1);
                    }
                }
            }
            b"for" | b"select" => {
                self.blanks();
                if self.eat(b"(") && !self.arithmetic() {
                    self.nested(End::Paren);
                }
                while self.peek().is_some_and(|b| !matches!(b, b';' | b'\n')) && !self.keyword(b"do") {
                    if self.word() == Word::default() {
                        self.skip(1);
                    }
                }
            }
            b"function" => {
                self.blanks();
                self.word();
                self.blanks();
                if self.eat(b"(") {
                    self.blanks();
                    self.eat(b")");
                }
                self.function();
                return Leading::Ended;
            }
            other if BEFORE.contains(&other) => {}
            _ => return Leading::Plain,
        }
        Leading::Taken
    }

    /// From after `case`.
    fn case(&mut self) {
        self.blanks();
        self.word();
        self.space();
        self.keyword(b"in");
        while self.at < self.text.len() {
            self.space();
            if self.keyword(b"esac") {
                break;
            }
            self.eat(b"(");
            while self.peek().is_some_and(|b| b != b')') {
                if self.word() == Word::default() {
                    self.skip(1);
                }
            }
            self.skip(1);
            self.inner(End::Clause);
            while matches!(self.peek(), Some(b';' | b'&')) {
                self.skip(1);
            }
        }
    }

    /// Blanks and newlines.
    fn space(&mut self) {
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
            let delimiter = self.delimiter();
            self.heredocs.push(Heredoc { delimiter, strip_tabs });
        } else if self.eat(b"<>") {
            self.target(false);
        } else if self.eat(b"<") {
            self.blanks();
            self.word();
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
        self.blanks();
        if self.peek().is_none_or(super::scan::is_meta) {
            return;
        }
        let word = self.word();
        let digits = word.bytes.strip_suffix(b"-").unwrap_or(&word.bytes);
        if or_descriptor && digits.iter().all(u8::is_ascii_digit) {
            return;
        }
        if let Some(at) = self.spot(&word) {
            self.add(Deed { doing: Doing::Put, at, landing: Landing::Exact, from: None });
        }
    }

    /// Where a word leads, if that is known.
    pub(super) fn spot(&self, word: &Word) -> Option<Spot> {
        let literal = word.literal().filter(|w| !w.is_empty())?;
        let mut path = match (word.tilde, literal) {
            (true, [b'~']) => self.home?.as_bytes().to_vec(),
            (true, [b'~', b'/', ..]) => self.home?.as_bytes().to_vec(),
            (true, _) => return None,
            (false, [b'/', ..]) => Vec::new(),
            (false, _) => self.dir.as_ref()?.as_bytes().to_vec(),
        };
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(if word.tilde { literal.get(1..).unwrap_or_default() } else { literal });
        Some(Spot { asked: literal.to_vec(), path })
    }

    fn add(&mut self, deed: Deed) {
        let asked = deed.at.asked.as_slice();
        let stream = STREAMS.contains(&asked)
            || [&b"/dev/fd/"[..], b"/proc/self/fd/", b"/dev/tcp/", b"/dev/udp/"]
                .iter()
                .any(|p| asked.starts_with(p));
        if !(stream && deed.doing == Doing::Put) && self.found.len() <= MOST {
            self.found.push(deed);
        }
    }

    /// A simple command: assignments, programs that start programs, `cd`, and those that change files.
    fn simple(&mut self, words: &[Word]) {
        let mut words = words;
        while let [first, rest @ ..] = words {
            if !first.assigns() {
                break;
            }
            words = rest;
        }
        let Some((name, args)) = program(words) else { return };
        match name {
            b"cd" | b"pushd" => self.change_dir(args),
            b"popd" => self.dir = None,
            b"eval" => {
                if let Some(texts) = args.iter().map(Word::literal).collect::<Option<Vec<_>>>() {
                    self.script(&texts.join(&b' '));
                }
            }
            b"sh" | b"bash" | b"dash" | b"zsh" | b"ksh" => {
                if let Some(text) = script_of(args).and_then(Word::literal) {
                    let dir = self.dir.clone();
                    self.script(text);
                    self.dir = dir;
                }
            }
            _ => {
                for deed in of_program(name, args, &|word| self.spot(word)) {
                    self.add(deed);
                }
            }
        }
    }

    fn change_dir(&mut self, args: &[Word]) {
        let target = args.iter().find(|a| !matches!(a.bare(), Some([b'-', _, ..])));
        self.dir = match target {
            None => self.home.cloned().map(Rc::new),
            Some(word) if word.bytes == b"-" => None,
            // The shell folds dots as text here, not as the kernel would.
            Some(word) => self
                .spot(word)
                .and_then(|spot| AbsPath::lexical(&AbsPath::root(), spot.path).ok())
                .map(Rc::new),
        };
    }
}

enum Leading {
    /// The grammar took it; what follows may be a command.
    Taken,
    /// The command ended with it.
    Ended,
    /// An ordinary word.
    Plain,
}

/// The base name of the program that is started, past those that only start another, and its arguments.
fn program(words: &[Word]) -> Option<(&[u8], &[Word])> {
    let mut words = words;
    loop {
        let (first, mut rest) = words.split_first()?;
        let name = first.literal()?.rsplit(|b| *b == b'/').next()?;
        let takes_value: &[&[u8]] = match name {
            b"command" | b"builtin" | b"exec" | b"nohup" | b"time" => &[],
            b"nice" => &[b"-n"],
            b"sudo" | b"doas" => &[b"-u", b"-g"],
            b"env" => &[b"-u"],
            b"timeout" => &[b"-k", b"-s"],
            _ => return Some((name, rest)),
        };
        if matches!((name, rest.first().and_then(Word::literal)), (b"command", Some(b"-v" | b"-V"))) {
            return None;
        }
        while let Some((option, after)) = rest.split_first() {
            let text = option.literal()?;
            if name == b"env"
                && (text.starts_with(b"-C") || text.starts_with(b"-S") || text.starts_with(b"--"))
            {
                return None;
            }
            let setting = matches!(name, b"env" | b"sudo") && option.assigns();
            if !text.starts_with(b"-") && !setting {
                break;
            }
            rest = if takes_value.contains(&text) { after.get(1..)? } else { after };
        }
        words = if name == b"timeout" { rest.get(1..)? } else { rest };
    }
}

/// The text that `sh -c` runs.
fn script_of(args: &[Word]) -> Option<&Word> {
    let mut runs_text = false;
    let mut args = args.iter();
    while let Some(word) = args.next() {
        match word.literal()? {
            [b'-' | b'+', b'-', ..] => {}
            [b'-' | b'+', letters @ ..] if !letters.is_empty() => {
                runs_text |= letters.contains(&b'c');
                if letters.contains(&b'o') {
                    args.next();
                }
            }
            _ => return runs_text.then_some(word),
        }
    }
    None
}
