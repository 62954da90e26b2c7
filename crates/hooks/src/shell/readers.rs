//! Programs that only read files, one row each: which options take a value, and which operands are no files.

use super::word::Word;
use super::writers::{Args, Deed, Doing, Find, Options, each};

/// A program that reads what its operands name.
struct Reader {
    names: &'static [&'static [u8]],
    options: Options,
    /// How many of the first operands are no files (a pattern, a program), unless one of these options is there.
    skips: usize,
    unless: &'static [u8],
    /// Options whose value is a file that is read, too.
    files: &'static [u8],
    /// How many operands are read at most; what follows is written or means something else.
    most: usize,
}

const fn reader(names: &'static [&'static [u8]], valued: &'static [u8]) -> Reader {
    let options = Options { valued, hanging: b"", long: &[] };
    Reader { names, options, skips: 0, unless: b"", files: b"", most: usize::MAX }
}

/// The long options of the searchers that take a value.
const SEARCH: &[(&str, u8, bool)] = &[
    ("regexp", b'e', true),
    ("file", b'f', true),
    ("files", 0, false),
    ("files-with-matches", 0, false),
    ("files-without-match", 0, false),
    ("max-count", b'm', true),
    ("after-context", b'A', true),
    ("before-context", b'B', true),
    ("context", b'C', true),
    ("include", 0, true),
    ("exclude", 0, true),
    ("exclude-dir", 0, true),
    ("exclude-from", 0, true),
    ("glob", b'g', true),
    ("type", b't', true),
    ("type-not", b'T', true),
];

const READERS: &[Reader] = &[
    reader(&[b"cat", b"tac", b"rev", b"md5sum", b"sha1sum", b"sha256sum", b"sha512sum", b"b2sum"], b""),
    reader(&[b"cksum", b"sum", b"file", b"comm", b"zcat", b"bzcat", b"xzcat", b"zless"], b"amPF"),
    reader(&[b"wc"], b""),
    Reader {
        options: Options {
            valued: b"ncs",
            hanging: b"",
            long: &[
                ("lines", b'n', true),
                ("bytes", b'c', true),
                ("sleep-interval", b's', true),
                ("pid", b'p', true),
            ],
        },
        ..reader(&[b"head", b"tail"], b"")
    },
    Reader {
        options: Options { valued: b"pPjtTkoOxyz", hanging: b"", long: &[("pattern", b'p', true)] },
        ..reader(&[b"less", b"more"], b"")
    },
    Reader {
        options: Options { valued: b"efmABCdD", hanging: b"", long: SEARCH },
        skips: 1,
        unless: b"ef",
        files: b"f",
        ..reader(&[b"grep", b"egrep", b"fgrep", b"zgrep"], b"")
    },
    Reader {
        options: Options { valued: b"efmABCgtTEjMrd", hanging: b"", long: SEARCH },
        skips: 1,
        unless: b"ef",
        files: b"f",
        ..reader(&[b"rg", b"ag"], b"")
    },
    Reader { skips: 1, unless: b"f", files: b"f", ..reader(&[b"awk", b"gawk", b"mawk", b"nawk"], b"Fvf") },
    Reader { skips: 1, unless: b"f", files: b"f", ..reader(&[b"jq"], b"fL") },
    reader(&[b"nl"], b"bdfhilnsvw"),
    reader(&[b"cut"], b"bcdf"),
    reader(&[b"paste"], b"d"),
    reader(&[b"fold", b"fmt", b"base64", b"base32"], b"wgp"),
    reader(&[b"join"], b"12aeiojtv"),
    reader(&[b"od"], b"AjNStw"),
    reader(&[b"hexdump", b"hd"], b"efns"),
    reader(&[b"strings"], b"nteTs"),
    reader(&[b"diff", b"cmp"], b"CUFILSWXxin"),
    reader(&[b"bat", b"batcat"], b"lHr"),
    // What follows the first is where the answer goes, or an argument of the script.
    Reader { most: 1, ..reader(&[b"uniq"], b"fsw") },
    Reader { most: 1, ..reader(&[b"xxd"], b"cglnos") },
    Reader { most: 1, ..reader(&[b".", b"source"], b"") },
];

/// `sort`, which can write its answer to a file.
const SORT: Options = Options {
    valued: b"koStT",
    hanging: b"",
    long: &[("output", b'o', true), ("key", b'k', true), ("files0-from", 0, true)],
};

/// What a program that is known to read does to files.
pub(super) fn of_program(name: &[u8], args: &[Word], find: Find<'_>) -> Vec<Deed> {
    if name == b"sort" {
        let args = Args::read(args, &SORT);
        let mut deeds = each(&args.operands, Doing::Read, find);
        deeds.extend(args.value(b'o').and_then(find).map(|to| Deed::at(Doing::Put, to)));
        return deeds;
    }
    let Some(reader) = READERS.iter().find(|reader| reader.names.contains(&name)) else { return Vec::new() };
    let args = Args::read(args, &reader.options);
    let skips = if reader.unless.iter().any(|letter| args.has(*letter)) { 0 } else { reader.skips };
    let files = args.operands.iter().skip(skips).take(reader.most).copied();
    let named = reader.files.iter().filter_map(|letter| args.value(*letter));
    each(&named.chain(files).collect::<Vec<_>>(), Doing::Read, find)
}
