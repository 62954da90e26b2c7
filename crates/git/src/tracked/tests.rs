//! Indexes as git writes them, and as nobody should.

use super::*;
use proptest::prelude::*;
use std::fs;

/// An index of these names.
fn index(version: u32, hash: usize, names: &[&[u8]], extensions: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut out = b"DIRC".to_vec();
    out.extend(version.to_be_bytes());
    out.extend(u32::try_from(names.len()).unwrap().to_be_bytes());
    let mut last: &[u8] = b"";
    for (number, name) in names.iter().enumerate() {
        let start = out.len();
        out.extend(vec![7; STAT + hash]);
        let length = u16::try_from(name.len().min(0xfff)).unwrap();
        let extended = version > 2 && number % 2 == 1;
        out.extend((length | if extended { EXTENDED } else { 0 }).to_be_bytes());
        if extended {
            out.extend([0x40, 0]);
        }
        if version == 4 {
            let same = last.iter().zip(*name).take_while(|(a, b)| a == b).count();
            let strip = last.len() - same;
            if strip < 128 {
                out.push(u8::try_from(strip).unwrap());
            } else {
                let strip = strip - 128;
                out.extend([0x80 | u8::try_from(strip >> 7).unwrap(), u8::try_from(strip & 0x7f).unwrap()]);
            }
            out.extend(&name[same..]);
            out.push(0);
        } else {
            out.extend(*name);
            out.push(0);
            while !(out.len() - start).is_multiple_of(8) {
                out.push(0);
            }
        }
        last = name;
    }
    for (name, body) in extensions {
        out.extend(*name);
        out.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
        out.extend(*body);
    }
    out.extend(vec![0; hash]);
    out
}

fn list(tracked: &Tracked) -> Vec<String> {
    tracked.paths().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

const LONG: &[u8] = &[b'm'; 300];

#[test]
fn every_version_and_hash_gives_the_same_names() {
    let names: [&[u8]; 7] = [b".env", b"a b/c", b"a-b", b"a/b", LONG, b"src/lib.rs", b"src/main.rs"];
    for version in 2..=4 {
        for hash in [20, 32] {
            let bytes = index(version, hash, &names, &[(b"TREE", b"abc"), (b"EOIE", b"")]);
            let tracked = parse(&bytes, hash).unwrap().unwrap();
            assert_eq!(tracked.paths().collect::<Vec<_>>(), names, "{version} {hash}");
            assert_eq!(tracked.len(), 7);
            assert!(names.iter().all(|name| tracked.contains(name)));
            for other in [&b"src"[..], b"src/lib", b"src/lib.rs/x", b"", b".en", b"zz", b"/src/lib.rs"] {
                assert!(!tracked.contains(other), "{}", String::from_utf8_lossy(other));
            }
        }
    }
}

#[test]
fn the_stages_of_a_conflict_are_one_name() {
    for version in 2..=4 {
        let bytes = index(version, 20, &[b"a", b"b", b"b", b"b", b"c"], &[]);
        assert_eq!(list(&parse(&bytes, 20).unwrap().unwrap()), ["a", "b", "c"]);
    }
}

#[test]
fn entries_tell_what_git_remembers_of_each_file() {
    let mut bytes = index(2, 20, &[b"a", b"m"], &[]);
    // After the header, and after the first entry of 62 bytes, a name and padding.
    let (first, second) = (12, 12 + 64);
    bytes[first + MODIFIED..first + MODIFIED + 4].copy_from_slice(&5u32.to_be_bytes());
    bytes[first + INODE..first + INODE + 4].copy_from_slice(&6u32.to_be_bytes());
    bytes[second + MODIFIED..second + MODIFIED + 4].copy_from_slice(&9u32.to_be_bytes());
    bytes[second + MODE..second + MODE + 4].copy_from_slice(&0o160_000u32.to_be_bytes());
    let tracked = Tracked { written: 9, ..parse(&bytes, 20).unwrap().unwrap() };
    let seen: Vec<_> = tracked.entries().map(|e| (e.path, e.repository, e.known, e.racy)).collect();
    let other = 0x0707_0707;
    assert_eq!(seen, [(&b"a"[..], false, (5, 6), false), (&b"m"[..], true, (9, other), true)]);
}

#[test]
fn a_listing_of_gits_own_says_the_same_names() {
    let lines =
        ["100644 0123 0\tb c", "160000 0123 0\tm", "100644 0123 1\ta", "100644 0123 2\ta", "no", "\t", ""];
    let lines = lines.join("\0");
    let tracked = Tracked::listed(lines.as_bytes());
    assert_eq!(list(&tracked), ["a", "b c", "m"]);
    let repositories: Vec<&[u8]> = tracked.entries().filter(|e| e.repository).map(|e| e.path).collect();
    assert_eq!(repositories, [b"m"]);
    assert!(tracked.contains(b"b c") && tracked.entries().all(|entry| !entry.racy));
    assert!(Tracked::listed(b"").is_empty());
}

#[test]
fn what_needs_git_itself_is_unknown_and_never_taken_for_untracked() {
    for name in [b"link", b"sdir", b"else"] {
        let bytes = index(2, 20, &[b"a"], &[(b"TREE", b""), (name, b"x")]);
        assert_eq!(parse(&bytes, 20), Ok(None), "{}", String::from_utf8_lossy(name));
    }
    assert_eq!(parse(&index(5, 20, &[], &[]), 20), Ok(None));
}

#[test]
fn broken_indexes_are_errors() {
    let whole = index(2, 20, &[b"a", b"b"], &[]);
    for end in 0..whole.len() {
        assert!(parse(&whole[..end], 20).is_err(), "{end}");
    }
    assert!(parse(&index(2, 20, &[b"b", b"a"], &[]), 20).is_err());
    assert!(parse(&index(4, 20, &[b"ab", b"aa"], &[]), 20).is_err());
    assert!(parse(&index(2, 20, &[b""], &[]), 20).is_err());
    assert!(parse(&index(2, 20, &[b"a"], &[(b"TREE", b"x")])[..95], 20).is_err());
    let mut lie = index(4, 20, &[], &[]);
    lie[8..12].fill(0xff);
    assert!(parse(&lie, 20).is_err());
}

#[test]
fn the_folder_says_which_hash_and_a_missing_index_tracks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (main, linked) = (dir.path().join(".git"), dir.path().join(".git/worktrees/w"));
    fs::create_dir_all(&linked).unwrap();
    assert!(tracked(&main).unwrap().unwrap().is_empty());
    fs::write(main.join("config"), "[extensions]\nobjectFormat = SHA256\n").unwrap();
    fs::write(linked.join("commondir"), "../..\n").unwrap();
    fs::write(linked.join("index"), index(2, 32, &[b"secrets/key"], &[])).unwrap();
    assert!(tracked(&linked).unwrap().unwrap().contains(b"secrets/key"));
    fs::write(main.join("index"), "nonsense").unwrap();
    assert_eq!(tracked(&main).unwrap_err().kind(), io::ErrorKind::InvalidData);
    fs::remove_file(main.join("index")).unwrap();
    std::os::unix::fs::symlink("config", main.join("index")).unwrap();
    assert!(tracked(&main).is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for hash in [20, 32] {
            prop_assert!(parse(&bytes, hash).is_err() || bytes.len() >= 12);
        }
    }

    #[test]
    fn a_changed_byte_is_answered_and_names_stay_in_order(
        version in 2_u32..=4, at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut bytes = index(version, 20, &[b"a", b"a/b", b"ab", b"src/x"], &[(b"TREE", b"abc")]);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(Some(tracked)) = parse(&bytes, 20) {
            let paths: Vec<&[u8]> = tracked.paths().collect();
            prop_assert!(paths.windows(2).all(|two| two[0] < two[1]));
            prop_assert!(paths.iter().all(|path| tracked.contains(path)));
        }
    }

    #[test]
    fn any_names_are_found_again(names in prop::collection::btree_set("[a-c/]{1,12}", 0..20), version in 2_u32..=4) {
        let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        let tracked = parse(&index(version, 20, &names, &[]), 20).unwrap().unwrap();
        prop_assert_eq!(tracked.paths().collect::<Vec<_>>(), names);
    }
}
