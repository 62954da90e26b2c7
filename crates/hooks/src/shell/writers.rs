//! Programs that change files, and where in their arguments the files stand. Those that only read are
//! [`readers`]'.

use super::readers;
use super::word::Word;

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Opened for writing, made if it is not there; a link is followed.
    Put,
    /// Opened for reading; a link is followed.
    Read,
    /// A new folder.
    Make,
    /// A symbolic link: a second name, whatever it leads to.
    Link,
    /// Content, mode or owner of what exists; a link is followed.
    Change,
    /// A name goes.
    Remove,
    /// A name goes, or is shared, and another comes.
    Move,
}

/// A place in the file tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// As it was written, quotes taken off.
    pub asked: Vec<u8>,
    /// Absolute; dots and links are still in it.
    pub path: Vec<u8>,
}

/// Whether a file lands at a name or in a folder of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// At the name.
    Exact,
    /// In the folder if the name is one, else at the name. Holds the file's own name, if that is known.
    Maybe(Option<Vec<u8>>),
    /// In the folder.
    Inside(Option<Vec<u8>>),
}

/// One thing that a command does to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// What.
    pub doing: Doing,
    /// To which file.
    pub at: Spot,
    /// How `at` is meant.
    pub landing: Landing,
    /// What is moved there.
    pub from: Option<Spot>,
}

impl Deed {
    pub(super) fn at(doing: Doing, at: Spot) -> Self {
        Self { doing, at, landing: Landing::Exact, from: None }
    }
}

/// Where a word leads, if it is known.
pub(super) type Find<'f> = &'f dyn Fn(&Word) -> Option<Spot>;

/// How a program's options are read. Long names stand for a letter; `true` takes a value.
pub(super) struct Options {
    /// Letters that take a value.
    pub(super) valued: &'static [u8],
    /// Letters whose value, if any, hangs on them: `-i.bak`.
    pub(super) hanging: &'static [u8],
    pub(super) long: &'static [(&'static str, u8, bool)],
}

const NONE: Options = Options { valued: b"", hanging: b"", long: &[] };
const COPY: Options = Options {
    valued: b"tS",
    hanging: b"",
    long: &[
        ("target-directory", b't', true),
        ("suffix", b'S', true),
        ("no-target-directory", b'T', false),
        ("symbolic", b's', false),
    ],
};
const INSTALL: Options = Options {
    valued: b"tSmog",
    hanging: b"",
    long: &[
        ("target-directory", b't', true),
        ("suffix", b'S', true),
        ("mode", b'm', true),
        ("owner", b'o', true),
        ("group", b'g', true),
        ("no-target-directory", b'T', false),
        ("directory", b'd', false),
    ],
};
const SED: Options = Options {
    valued: b"efl",
    hanging: b"i",
    long: &[
        ("expression", b'e', true),
        ("file", b'f', true),
        ("line-length", b'l', true),
        ("in-place", b'i', false),
    ],
};
const REFERENCE: Options =
    Options { valued: b"", hanging: b"", long: &[("reference", b'R', true), ("from", b'F', true)] };
const TOUCH: Options = Options {
    valued: b"dtr",
    hanging: b"",
    long: &[
        ("date", b'd', true),
        ("reference", b'r', true),
        ("time", b'T', true),
        ("no-create", b'c', false),
        ("no-dereference", b'h', false),
    ],
};
const TRUNCATE: Options = Options {
    valued: b"sr",
    hanging: b"",
    long: &[("size", b's', true), ("reference", b'r', true), ("no-create", b'c', false)],
};
const TAR: Options = Options {
    valued: b"fCTXbgHIKLNV",
    hanging: b"",
    long: &[
        ("file", b'f', true),
        ("directory", b'C', true),
        ("files-from", b'T', true),
        ("exclude-from", b'X', true),
        ("exclude", 0, true),
        ("use-compress-program", b'I', true),
        ("create", b'c', false),
        ("append", b'r', false),
        ("update", b'u', false),
        ("extract", b'x', false),
        ("get", b'x', false),
        ("list", b't', false),
    ],
};
const RSYNC: Options = Options {
    valued: b"efBMT",
    hanging: b"",
    long: &[("rsh", b'e', true), ("filter", b'f', true), ("exclude", 0, true), ("include", 0, true)],
};
const MKDIR: Options = Options { valued: b"m", hanging: b"", long: &[("mode", b'm', true)] };

/// The programs that [`of_program`] knows.
const WRITERS: [&[u8]; 16] = [
    b"rm",
    b"rmdir",
    b"unlink",
    b"mkdir",
    b"tee",
    b"touch",
    b"truncate",
    b"cp",
    b"mv",
    b"ln",
    b"install",
    b"dd",
    b"sed",
    b"chmod",
    b"chown",
    b"chgrp",
];

/// Whether [`of_program`] tells all that a program does to files if its arguments are literal.
pub(super) fn is_writer(name: &[u8]) -> bool {
    WRITERS.contains(&name)
}

/// What a program with these arguments does to files. Arguments that are not literal are left out.
pub(super) fn of_program(name: &[u8], args: &[Word], find: Find<'_>) -> Vec<Deed> {
    let all = |options: &Options, doing: Doing| each(&Args::read(args, options).operands, doing, find);
    match name {
        b"rm" | b"rmdir" | b"unlink" => all(&NONE, Doing::Remove),
        b"mkdir" => all(&MKDIR, Doing::Make),
        b"tee" => all(&NONE, Doing::Put),
        b"touch" => kept(&Args::read(args, &TOUCH), find),
        b"truncate" => kept(&Args::read(args, &TRUNCATE), find),
        b"cp" => onto(&Args::read(args, &COPY), Doing::Put, find),
        b"mv" => onto(&Args::read(args, &COPY), Doing::Move, find),
        b"ln" => link(&Args::read(args, &COPY), find),
        b"install" => {
            let args = Args::read(args, &INSTALL);
            if args.has(b'd') {
                each(&args.operands, Doing::Make, find)
            } else {
                onto(&args, Doing::Put, find)
            }
        }
        b"dd" => dd(args, find),
        b"tar" => tar(args, find),
        b"rsync" => {
            let args = Args::read(args, &RSYNC);
            let sources = args.operands.split_last().map_or(&[][..], |(_, sources)| sources);
            // What has a colon before the first slash lies on another machine.
            let here =
                |word: &&Word| !word.bytes.split(|b| *b == b'/').next().unwrap_or_default().contains(&b':');
            each(&sources.iter().copied().filter(here).collect::<Vec<_>>(), Doing::Read, find)
        }
        b"sed" => {
            let args = Args::read(args, &SED);
            let script = usize::from(!args.has(b'e') && !args.has(b'f'));
            let files = args.operands.get(script..).unwrap_or_default();
            each(files, if args.has(b'i') { Doing::Change } else { Doing::Read }, find)
        }
        b"chmod" | b"chown" | b"chgrp" => {
            let args = Args::read(args, &REFERENCE);
            // `-x` and the like are a mode, and stand for its operand.
            let dash = name == b"chmod" && b"rwxXstugoa".iter().any(|l| args.has(*l));
            let first = usize::from(!args.given("reference") && !dash);
            each(args.operands.get(first..).unwrap_or_default(), Doing::Change, find)
        }
        _ => readers::of_program(name, args, find),
    }
}

pub(super) fn each(operands: &[&Word], doing: Doing, find: Find<'_>) -> Vec<Deed> {
    operands.iter().filter_map(|w| find(w)).map(|at| Deed::at(doing, at)).collect()
}

/// `dd if=FILE of=FILE`.
fn dd(args: &[Word], find: Find<'_>) -> Vec<Deed> {
    let named = |word: &Word| {
        let (name, doing) = match word.bytes.get(..3)? {
            b"if=" => (word.bytes.get(3..)?, Doing::Read),
            b"of=" => (word.bytes.get(3..)?, Doing::Put),
            _ => return None,
        };
        Some(Deed::at(doing, find(&Word { bytes: name.to_vec(), ..word.clone() })?))
    };
    args.iter().filter_map(named).collect()
}

/// `tar`: what is put into an archive, and the archive. What comes out of one does not show.
fn tar(args: &[Word], find: Find<'_>) -> Vec<Deed> {
    // The first letters need no dash, and their values follow in their order.
    let first = args.first().filter(|word| !word.bytes.starts_with(b"-"));
    let bundle = first.map(|word| Word { bytes: [b"-", word.bytes.as_slice()].concat(), ..word.clone() });
    let tail = args.get(1..).unwrap_or_default();
    let spread: Vec<Word> = match &bundle {
        Some(word) if word.bytes.iter().filter(|b| TAR.valued.contains(b)).eq([&b'f']) => {
            let plain = word.bytes.iter().copied().filter(|b| *b != b'f').collect();
            let plain = Word { bytes: plain, ..word.clone() };
            let file = Word { bytes: b"-f".to_vec(), ..Word::default() };
            [plain, file].into_iter().chain(tail.iter().cloned()).collect()
        }
        Some(word) => std::iter::once(word.clone()).chain(tail.iter().cloned()).collect(),
        None => args.to_vec(),
    };
    let args = Args::read(&spread, &TAR);
    // From another folder, each name means another file.
    let files = if args.has(b'C') { &[][..] } else { args.operands.as_slice() };
    let archive: Vec<&Word> = args.value(b'f').filter(|file| file.bytes != b"-").into_iter().collect();
    if !b"cru".iter().any(|letter| args.has(*letter)) {
        return each(&archive, Doing::Read, find);
    }
    let mut deeds = each(files, Doing::Read, find);
    deeds.extend(each(&archive, Doing::Put, find));
    deeds
}

/// `touch`, `truncate`: with `-c` nothing is made.
fn kept(args: &Args<'_>, find: Find<'_>) -> Vec<Deed> {
    each(&args.operands, if args.has(b'c') { Doing::Change } else { Doing::Put }, find)
}

/// `cp`, `mv`, `install`: sources, then where they go.
fn onto(args: &Args<'_>, doing: Doing, find: Find<'_>) -> Vec<Deed> {
    let (sources, target) = match (args.value(b't'), args.operands.split_last()) {
        (Some(folder), _) => (args.operands.as_slice(), folder.clone()),
        (None, Some((last, sources))) if !sources.is_empty() => (sources, (*last).clone()),
        _ => return Vec::new(),
    };
    let many = sources.len() > 1 || args.has(b't') || target.bytes.ends_with(b"/");
    let mut deeds = Vec::new();
    for source in sources {
        let from = find(source);
        let name = from.as_ref().and_then(|spot| base_name(&spot.path));
        if let (Some(from), Doing::Put, false) = (&from, doing, args.has(b's')) {
            deeds.push(Deed::at(Doing::Read, from.clone()));
        }
        let landing = match (args.has(b'T'), many) {
            (true, _) => Landing::Exact,
            (false, true) => Landing::Inside(name),
            (false, false) => Landing::Maybe(name),
        };
        match (find(&target), from, doing) {
            (Some(at), Some(from), Doing::Move) => deeds.push(Deed { doing, at, landing, from: Some(from) }),
            // What is moved is not known, but a name comes; or where it goes is not, but a name goes.
            (Some(at), None, Doing::Move) => deeds.push(Deed { doing: Doing::Put, at, landing, from: None }),
            (None, Some(from), Doing::Move) => deeds.push(Deed::at(Doing::Remove, from)),
            (Some(at), _, _) => deeds.push(Deed { doing, at, landing, from: None }),
            (None, _, _) => {}
        }
    }
    deeds
}

/// `ln`: with one operand the link goes into the working folder.
fn link(args: &Args<'_>, find: Find<'_>) -> Vec<Deed> {
    let here = Word { bytes: b".".to_vec(), ..Word::default() };
    let mut args = Args { operands: args.operands.clone(), options: args.options.clone() };
    if let ([_], None) = (args.operands.as_slice(), args.value(b't')) {
        args.options.push((b't', "", Some(here)));
    }
    let mut deeds = onto(&args, Doing::Move, find);
    // Where the link comes to is not known, and what it leads to stays.
    deeds.retain(|deed| deed.doing != Doing::Remove);
    if args.has(b's') {
        for deed in &mut deeds {
            deed.doing = Doing::Link;
            deed.from = None;
        }
    }
    deeds
}

fn base_name(path: &[u8]) -> Option<Vec<u8>> {
    let name = path.rsplit(|b| *b == b'/').find(|c| !c.is_empty())?;
    (name != b"." && name != b"..").then(|| name.to_vec())
}

/// Arguments sorted into options and operands, as GNU programs do it.
pub(super) struct Args<'w> {
    pub(super) operands: Vec<&'w Word>,
    /// Letter, long name if that was written, value.
    options: Vec<(u8, &'static str, Option<Word>)>,
}

impl<'w> Args<'w> {
    pub(super) fn read(args: &'w [Word], spec: &Options) -> Self {
        let mut out = Self { operands: Vec::new(), options: Vec::new() };
        let mut args = args.iter();
        while let Some(word) = args.next() {
            match word.bytes.as_slice() {
                b"--" => {
                    out.operands.extend(args);
                    break;
                }
                [b'-', b'-', long @ ..] => {
                    let mut halves = long.splitn(2, |b| *b == b'=');
                    let name = halves.next().unwrap_or_default();
                    let known =
                        spec.long.iter().find(|(l, ..)| !name.is_empty() && l.as_bytes().starts_with(name));
                    let Some((long, letter, valued)) = known else { continue };
                    let inline = halves.next().map(|v| Word { bytes: v.to_vec(), ..word.clone() });
                    let value = if *valued { inline.or_else(|| args.next().cloned()) } else { None };
                    out.options.push((*letter, long, value));
                }
                [b'-', letters @ ..] if !letters.is_empty() => out.cluster(word, letters, spec, &mut args),
                _ => out.operands.push(word),
            }
        }
        out
    }

    /// `-rfm644`: letters, up to one that takes the rest or the next argument.
    fn cluster(
        &mut self,
        word: &Word,
        letters: &[u8],
        spec: &Options,
        args: &mut std::slice::Iter<'_, Word>,
    ) {
        for (i, letter) in letters.iter().enumerate() {
            let rest = letters.get(i.saturating_add(1)..).unwrap_or_default();
            if spec.valued.contains(letter) {
                let inline = Word { bytes: rest.to_vec(), ..word.clone() };
                let value = if rest.is_empty() { args.next().cloned() } else { Some(inline) };
                return self.options.push((*letter, "", value));
            }
            self.options.push((*letter, "", None));
            if spec.hanging.contains(letter) {
                return;
            }
        }
    }

    pub(super) fn has(&self, letter: u8) -> bool {
        self.options.iter().any(|(l, ..)| *l == letter)
    }

    fn given(&self, long: &str) -> bool {
        self.options.iter().any(|(_, l, _)| *l == long)
    }

    pub(super) fn value(&self, letter: u8) -> Option<&Word> {
        self.options.iter().rev().find(|(l, ..)| *l == letter).and_then(|(.., value)| value.as_ref())
    }
}
