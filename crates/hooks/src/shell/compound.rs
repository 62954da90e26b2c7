//! Compound commands: where the shell may stand in each branch, and after all of them.

use super::parse::{End, Leading, Parser};
use super::places::{Flow, Places};
use super::word::Word;

/// Words of the grammar that stand where they need not: what follows them may be a command.
const STRAY: [&[u8]; 8] = [b"then", b"elif", b"else", b"fi", b"do", b"done", b"esac", b"!"];

impl Parser<'_, '_> {
    /// A word where a command begins, if the grammar takes it.
    pub(super) fn leading(&mut self, word: &Word) -> Leading {
        let Some(bare) = word.bare() else { return Leading::Plain };
        let flow = match bare {
            b"{" => self.inner(End::Brace),
            b"if" => self.branches(),
            b"while" => self.repeated(false),
            b"until" => self.repeated(true),
            b"for" | b"select" => self.each_of(),
            b"case" => self.case(),
            b"[[" => {
                while self.at < self.text.len() && !self.keyword(b"]]") {
                    self.word_or_byte();
                }
                Flow::both(self.here.clone())
            }
            b"function" => {
                self.blanks();
                let name = self.word();
                self.blanks();
                if self.eat(b"(") {
                    self.blanks();
                    self.eat(b")");
                }
                self.function(&name);
                Flow::ok(self.here.clone())
            }
            b"coproc" => {
                let start = self.here.clone();
                self.level(Self::command);
                Flow::ok(start)
            }
            b"time" => {
                self.blanks();
                if self.peek() == Some(b'-') {
                    return Leading::Plain;
                }
                return Leading::Taken;
            }
            stray if STRAY.contains(&stray) => return Leading::Taken,
            _ => return Leading::Plain,
        };
        Leading::Compound(flow)
    }

    fn word_or_byte(&mut self) {
        if self.word() == Word::default() {
            self.skip(1);
        }
    }

    /// From after `if`.
    fn branches(&mut self) -> Flow {
        let mut out = Flow::never();
        loop {
            let condition = self.inner(End::Words(&[b"then"]));
            self.keyword(b"then");
            self.here = condition.ok;
            out = out.or(self.inner(End::Words(&[b"elif", b"else", b"fi"])));
            self.here = condition.failed;
            if self.keyword(b"elif") {
                continue;
            }
            let rest = if self.keyword(b"else") {
                self.inner(End::Words(&[b"fi"]))
            } else {
                Flow::ok(self.here.clone())
            };
            self.keyword(b"fi");
            return out.or(rest);
        }
    }

    /// From after `while` or `until`.
    fn repeated(&mut self, until: bool) -> Flow {
        let start = self.here.clone();
        let condition = self.inner(End::Words(&[b"do"]));
        let condition = if until { condition.not() } else { condition };
        self.here = condition.ok;
        let end = self.body();
        self.here = condition.failed;
        self.after_loop(&start, end)
    }

    /// From after `for` or `select`: the header, then the body.
    fn each_of(&mut self) -> Flow {
        let start = self.here.clone();
        self.blanks();
        if self.eat(b"(") && !self.arithmetic() {
            self.subshell();
        }
        while self.peek().is_some_and(|b| !matches!(b, b';' | b'\n')) && !self.sees(b"do") {
            self.word_or_byte();
            self.blanks();
        }
        self.space();
        self.eat(b";");
        self.space();
        self.here.clone_from(&start);
        let end = if self.keyword(b"{") { self.looped(End::Brace) } else { self.body() };
        self.here.clone_from(&start);
        self.after_loop(&start, end)
    }

    /// `do …; done`; where the shell may stand when a round is over.
    fn body(&mut self) -> Places {
        self.keyword(b"do");
        let end = self.looped(End::Words(&[b"done"]));
        self.keyword(b"done");
        end
    }

    fn looped(&mut self, end: End) -> Places {
        let outer = self.left.replace(Places::never());
        let flow = self.inner(end);
        let left = std::mem::replace(&mut self.left, outer);
        flow.any().or(left.unwrap_or_else(Places::never))
    }

    /// After a loop that is left from `self.here`. If a round ends elsewhere than it began, the next one begins
    /// there, and nobody counts rounds.
    fn after_loop(&mut self, start: &Places, end: Places) -> Flow {
        let same = end.is_never() || end == *start || *start == Places::Unknown;
        Flow::both(if same { self.here.clone().or(end) } else { Places::Unknown })
    }

    /// From after `case`.
    fn case(&mut self) -> Flow {
        let start = self.here.clone();
        let (mut out, mut through, mut certain) = (Places::never(), Places::never(), false);
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
            let from = self.at;
            while self.peek().is_some_and(|b| b != b')') {
                self.word_or_byte();
            }
            certain |= self.text.get(from..self.at).is_some_and(|pattern| pattern.trim_ascii() == b"*");
            self.skip(1);
            self.here = start.clone().or(through);
            let end = self.inner(End::Clause).any();
            through = if self.peek_at(1) == Some(b'&') || self.peek_at(2) == Some(b'&') {
                end.clone()
            } else {
                Places::never()
            };
            out = out.or(end);
            while matches!(self.peek(), Some(b';' | b'&')) {
                self.skip(1);
            }
        }
        Flow::both(if certain { out } else { out.or(start) })
    }

    /// The body of a function: nothing runs before it is called.
    pub(super) fn function(&mut self, name: &Word) {
        let here = std::mem::replace(&mut self.here, Places::never());
        self.space();
        let from = self.at;
        self.level(Self::command);
        let body = self.text.get(from..self.at).unwrap_or_default();
        if let (false, Some(name)) = (here.is_never(), name.literal()) {
            self.shared.functions.insert(name.to_vec(), body.into());
        }
        self.here = here;
    }
}
