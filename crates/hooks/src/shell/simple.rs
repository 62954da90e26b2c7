//! Simple commands: programs that start programs, `cd`, what ends a shell, functions, and programs that change
//! files.

use super::parse::Parser;
use super::places::{Flow, Places};
use super::word::Word;
use super::writers::{Deed, Doing, Landing, is_writer, of_program};
use crate::resolve::Kind;
use remit_core::AbsPath;
use std::rc::Rc;

/// Programs that make no folders. After any other, a folder that is not there now may be there.
const MAKES_NOTHING: [&[u8]; 30] = [
    b"[",
    b"basename",
    b"cat",
    b"cmp",
    b"date",
    b"diff",
    b"dirname",
    b"echo",
    b"export",
    b"grep",
    b"head",
    b"id",
    b"ls",
    b"printf",
    b"ps",
    b"pwd",
    b"read",
    b"rg",
    b"set",
    b"shift",
    b"sleep",
    b"sort",
    b"stat",
    b"tail",
    b"test",
    b"type",
    b"uname",
    b"unset",
    b"wc",
    b"which",
];

/// Whether a folder will be there.
#[derive(PartialEq, Eq)]
enum There {
    Yes,
    No,
    Perhaps,
}

impl Parser<'_, '_> {
    /// A simple command; where the shell stands after it.
    pub(super) fn simple(&mut self, words: &[Word]) -> Flow {
        let here = self.here.clone();
        let mut words = words;
        while let [first, rest @ ..] = words {
            if !first.assigns() {
                break;
            }
            words = rest;
        }
        let Some((name, args)) = program(words) else {
            self.shared.foreign |= !words.is_empty();
            return Flow::both(here);
        };
        if let Some(body) = self.shared.functions.get(name).cloned() {
            return self.call(&body);
        }
        let flow = match name {
            b"cd" | b"pushd" => return self.change_dir(args),
            b"popd" => return Flow { ok: Places::Unknown, failed: here },
            b"true" | b":" => return Flow::ok(here),
            b"false" => return Flow::failed(here),
            b"exit" => return Flow::never(),
            b"return" => return leave(&mut self.returned, here),
            b"break" | b"continue" => return leave(&mut self.left, here),
            b"eval" => match args.iter().map(Word::literal).collect::<Option<Vec<_>>>() {
                Some(texts) => return self.script(&texts.join(&b' ')),
                None => {
                    self.shared.foreign = true;
                    Flow::both(here)
                }
            },
            b"sh" | b"bash" | b"dash" | b"zsh" | b"ksh" => match script_of(args).and_then(Word::literal) {
                Some(text) => {
                    let functions = std::mem::take(&mut self.shared.functions);
                    let flow = self.apart(text);
                    self.shared.functions = functions;
                    flow
                }
                None => {
                    self.shared.foreign = true;
                    Flow::both(here)
                }
            },
            _ => {
                self.work(name, args);
                Flow::both(here)
            }
        };
        // The shell becomes the program.
        let becomes = words.first().and_then(Word::literal) == Some(b"exec");
        if becomes { Flow::never() } else { flow }
    }

    /// A program that may change files.
    fn work(&mut self, name: &[u8], args: &[Word]) {
        for place in self.standing() {
            for deed in of_program(name, args, &|word| self.spot(word, place.as_deref())) {
                self.add(deed);
            }
        }
        let shown = is_writer(name) && args.iter().all(|arg| arg.literal().is_some());
        self.shared.foreign |= !self.here.is_never() && !shown && !MAKES_NOTHING.contains(&name);
    }

    /// Runs the body of a function. One that calls itself, or too many, is read only in part.
    fn call(&mut self, body: &[u8]) -> Flow {
        let Some(left) = self.shared.bodies.checked_sub(body.len()) else {
            return Flow::both(Places::Unknown);
        };
        self.shared.bodies = left;
        let run = self.text(body, |p| {
            p.returned = Some(Places::never());
            let flow = p.command();
            let returned = p.returned.take().unwrap_or_else(Places::never);
            flow.or(Flow::both(returned))
        });
        run.unwrap_or_else(|| Flow::both(Places::Unknown))
    }

    fn change_dir(&mut self, args: &[Word]) -> Flow {
        let target = args.iter().find(|a| !matches!(a.bare(), Some([b'-', _, ..])));
        let home = Word { bytes: b"~".to_vec(), tilde: true, ..Word::default() };
        let target = target.unwrap_or(&home);
        let from = match &self.here {
            Places::Unknown => vec![None],
            Places::These(folders) => folders.iter().cloned().map(Some).collect(),
        };
        let mut flow = Flow::never();
        for folder in from {
            // The shell folds dots as text here, not as the kernel would.
            let to = self
                .spot(target, folder.as_deref())
                .filter(|_| target.bytes != b"-")
                .and_then(|spot| AbsPath::lexical(&AbsPath::root(), spot.path).ok());
            let stays = folder.map_or(Places::Unknown, Places::one);
            let there = to.as_ref().map_or(There::Perhaps, |to| self.is_there(to));
            let comes = to.map_or(Places::Unknown, |to| Places::one(Rc::new(to)));
            let (ok, failed) = match there {
                There::Yes => (comes, Places::never()),
                There::No => (Places::never(), stays),
                There::Perhaps => (comes, stays),
            };
            flow = flow.or(Flow { ok, failed });
        }
        flow
    }

    /// Whether a folder will be there, as the disk is now and after what was done so far.
    fn is_there(&mut self, folder: &AbsPath) -> There {
        let Some(left) = self.shared.looks.checked_sub(1) else { return There::Perhaps };
        self.shared.looks = left;
        let Ok(now) = self.shared.ground.resolve(folder.as_bytes(), true) else { return There::Perhaps };
        let deeds = &self.shared.deeds;
        let made = deeds.iter().any(|deed| self.makes(deed, folder));
        let gone = deeds.iter().any(|deed| removes(deed, folder));
        match (now.kind, made, gone) {
            (Kind::Folder, _, false) | (Kind::Absent | Kind::Folder, true, _) => There::Yes,
            (Kind::Absent, false, _) if self.shared.foreign => There::Perhaps,
            (Kind::Absent, false, _) | (Kind::Other, _, false) => There::No,
            (Kind::Unseen, _, _) | (Kind::Folder, false, true) | (Kind::Other, _, true) => There::Perhaps,
        }
    }

    /// Whether a deed makes a folder, or what it lies in, or something in it.
    fn makes(&self, deed: &Deed, folder: &AbsPath) -> bool {
        let near = |path: &[u8]| lexical(path).is_some_and(|at| at.covers(folder) || folder.covers(&at));
        if !matches!(deed.doing, Doing::Make | Doing::Link | Doing::Put | Doing::Move) {
            return false;
        }
        let name = match &deed.landing {
            Landing::Exact => return near(&deed.at.path),
            Landing::Maybe(name) | Landing::Inside(name) => name,
        };
        let inside = |name: &Vec<u8>| [&deed.at.path, &b"/"[..], name].concat();
        let is_folder = || {
            let now = self.shared.ground.resolve(&deed.at.path, true);
            matches!(deed.landing, Landing::Inside(_)) || now.is_ok_and(|now| now.kind == Kind::Folder)
        };
        near(&deed.at.path) && (name.as_ref().is_none_or(|name| near(&inside(name))) || !is_folder())
    }
}

fn lexical(path: &[u8]) -> Option<AbsPath> {
    AbsPath::lexical(&AbsPath::root(), path).ok()
}

/// Whether a deed takes away a folder, or what it lies in.
fn removes(deed: &Deed, folder: &AbsPath) -> bool {
    let gone = match (deed.doing, &deed.from) {
        (Doing::Remove, _) => &deed.at,
        (Doing::Move, Some(from)) => from,
        _ => return false,
    };
    lexical(&gone.path).is_some_and(|at| at.covers(folder))
}

/// Goes to the end of what is left, if there is something to leave.
fn leave(end: &mut Option<Places>, here: Places) -> Flow {
    match end.take() {
        Some(before) => {
            *end = Some(before.or(here));
            Flow::never()
        }
        None => Flow::both(here),
    }
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
