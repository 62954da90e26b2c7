//! Plans over a made-up file tree and made-up rules.

use super::*;
use crate::plan::Where;
use remit_core::Rule;
use remit_policy::LastNames;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// A file tree in memory: what stands at each path, and the number of names of files.
struct Tree(BTreeMap<AbsPath, Stat>, BTreeMap<AbsPath, Vec<u8>>);

fn abs(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

impl Tree {
    /// `x/` is a folder, `x/-` one that cannot be listed, `x/=` one of another user's that cannot be listed, `x/#`
    /// one that can neither be listed nor entered, `x*` an executable file, `x+` a file with two names, `x@y` a link to `y`, else a file.
    fn new(entries: &[&str]) -> Self {
        let mut tree = Tree(BTreeMap::new(), BTreeMap::new());
        for entry in entries {
            let (name, kind, mode, names) = match (entry.split_once('@'), entry.chars().last()) {
                (Some((name, to)), _) => {
                    tree.1.insert(abs(name), to.as_bytes().to_vec());
                    (name, Kind::Link, 0o777, 1)
                }
                (None, Some('/')) => (*entry, Kind::Folder, 0o755, 1),
                (None, Some('-')) => (entry.trim_end_matches("/-"), Kind::Folder, 0o300, 1),
                (None, Some('=')) => (entry.trim_end_matches("/="), Kind::Folder, 0o310, 1),
                (None, Some('#')) => (entry.trim_end_matches("/#"), Kind::Folder, 0, 1),
                (None, Some('*')) => (entry.trim_end_matches('*'), Kind::File, 0o755, 1),
                (None, Some('+')) => (entry.trim_end_matches('+'), Kind::File, 0o644, 2),
                _ => (*entry, Kind::File, 0o644, 1),
            };
            let path = abs(name);
            let mut above = path.parent();
            while let Some(folder) = above {
                above = folder.parent();
                tree.0.entry(folder).or_insert(Stat { kind: Kind::Folder, mode: 0o755, names: 1, own: true });
            }
            tree.0.insert(path, Stat { kind, mode, names, own: mode != 0o310 });
        }
        tree
    }
}

impl Disk for Tree {
    fn find(&self, path: &AbsPath) -> io::Result<Found> {
        let mut at = AbsPath::root();
        for name in path.components() {
            if self.1.contains_key(&at) {
                return Ok(Found::ThroughLink);
            }
            if self.0.get(&at).is_some_and(|stat| stat.kind == Kind::Folder && stat.mode & 0o100 == 0) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            at = at.join(name).unwrap();
        }
        Ok(self.0.get(path).map_or(Found::Absent, |stat| Found::Is(*stat)))
    }
    fn list(&self, path: &AbsPath, each: &mut dyn FnMut(&[u8], Kind)) -> io::Result<()> {
        let closed = |folder: &AbsPath| {
            self.0.get(folder).is_some_and(|stat| stat.kind == Kind::Folder && stat.mode & 0o400 == 0)
        };
        if closed(path) || path.parent().is_some_and(|above| closed(&above) && self.find(path).is_err()) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        for (entry, stat) in self.0.iter().filter(|(entry, _)| entry.parent().as_ref() == Some(path)) {
            each(entry.file_name().unwrap(), stat.kind);
        }
        Ok(())
    }
    fn link(&self, path: &AbsPath) -> io::Result<Vec<u8>> {
        self.1.get(path).cloned().ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
    fn may_make_in(&self, folder: &AbsPath) -> bool {
        self.0.get(folder).is_some_and(|stat| stat.own)
    }
}

/// The most exact rule decides, `none` is absolute; `**/name` is a name at any depth below `/w`. A `b:` before the
/// path makes it a base rule.
struct Table(Vec<Point>);

fn table(rules: &[(&str, &str)]) -> Table {
    let point = |(text, access): &(&str, &str)| {
        let path = text.trim_start_matches("b:");
        let place = match path.strip_prefix("**/") {
            Some(_) => Where::Wild { prefix: abs("/w"), depth: None },
            None => Where::Path(abs(path)),
        };
        Point {
            place,
            access: Access::word(access).unwrap(),
            rule: Arc::new(Rule { id: "r".into(), text: format!("{path} {access}").into(), place: None }),
            base: text.starts_with("b:"),
            folder: path.ends_with('/'),
        }
    };
    Table(rules.iter().map(point).collect())
}

impl Rules for Table {
    fn access(&self, path: &AbsPath) -> Access {
        let mut best = (0, Access::NONE);
        for (index, point) in self.0.iter().enumerate() {
            let (hit, length) = match &point.place {
                Where::Path(at) => (at.covers(path), at.as_bytes().len()),
                Where::Wild { .. } => (self.matches(index, path), usize::MAX),
            };
            if hit && point.access.is_none() && !point.base {
                return Access::NONE;
            }
            if hit && length >= best.0 {
                best = (length, point.access);
            }
        }
        best.1
    }
    fn points(&self) -> Vec<Point> {
        self.0.clone()
    }
    fn matches(&self, point: usize, path: &AbsPath) -> bool {
        let text = &self.0[point].rule.text;
        let name = text.strip_prefix("**/").unwrap().split(' ').next().unwrap();
        path.components().any(|component| component == name.as_bytes())
    }
    fn last_names(&self, _: &[usize]) -> LastNames {
        LastNames::any()
    }
}

/// What is given beside the rules.
#[derive(Default)]
struct Given<'a> {
    extras: &'a [Extra],
    sealed: &'a [AbsPath],
    requestable: &'a [AbsPath],
    tracked: &'a [&'a [u8]],
    repositories: &'a [&'a [u8]],
    advisory: bool,
}

fn make(rules: &[(&str, &str)], entries: &[&str]) -> Plan {
    with(rules, entries, &Given::default())
}

fn with(rules: &[(&str, &str)], entries: &[&str], given: &Given<'_>) -> Plan {
    let top = abs("/w");
    let known = Tracked { top: &top, paths: given.tracked, repositories: given.repositories };
    let request = Request {
        rules: &table(rules),
        extras: given.extras,
        sealed: given.sealed,
        requestable: given.requestable,
        tracked: (!given.tracked.is_empty()).then_some(known),
        hardlinks_allowed: false,
        advisory: given.advisory,
    };
    plan(&request, &Tree::new(entries))
}

fn targets(plan: &Plan) -> Vec<String> {
    plan.binds.iter().map(|bind| bind.target.to_string()).collect()
}

fn refusals(plan: &Plan) -> String {
    plan.refused.iter().map(|refusal| format!("{refusal}\n")).collect()
}

fn floor(plan: &Plan, path: &str) -> Option<Rights> {
    plan.floor.iter().find(|rule| rule.path == abs(path)).map(|rule| rule.rights)
}

#[test]
fn one_mount_for_each_topmost_granted_path_and_none_inside() {
    let plan = make(
        &[("/w", "all"), ("/w/a", "all"), ("/w/b/c", "read"), ("/data", "read"), ("/data-2", "read")],
        &["/w/a/", "/w/b/c", "/data/x", "/data-2/y", "/other/z"],
    );
    assert_eq!(targets(&plan), ["/data", "/data-2", "/w"]);
    assert!(plan.refused.is_empty(), "{}", refusals(&plan));
    assert!(plan.binds[0].read_only && plan.binds[0].noexec);
    assert!(!plan.binds[2].read_only && !plan.binds[2].noexec);
    assert_eq!(floor(&plan, "/data"), Some(Rights { read: true, execute: false }));
    assert_eq!(floor(&plan, "/w"), Some(Rights { read: true, execute: true }));
}

#[test]
fn the_end_of_access_is_covered_where_it_is_seen() {
    let plan = make(
        &[("/w", "all"), ("/w/s", "none"), ("/w/s/deep", "none"), ("/w/f", "none"), ("/away", "none")],
        &["/w/s/deep/", "/w/f", "/away/x"],
    );
    assert_eq!((plan.masks, plan.file_masks), (vec![abs("/w/s")], vec![abs("/w/f")]));
    assert_eq!(plan.binds.len(), 1);
}

#[test]
fn names_by_wildcard_are_covered_where_they_exist() {
    let plan = make(
        &[("/w", "all"), ("/w/open", "all"), ("**/.env", "none"), ("**/keys", "none")],
        &["/w/open/.env", "/w/a/keys/.env", "/w/a/b/.env", "/x/.env"],
    );
    assert_eq!(plan.masks, [abs("/w/a/keys")]);
    assert_eq!(plan.file_masks, [abs("/w/a/b/.env"), abs("/w/open/.env")]);
    assert!(plan.notes.iter().any(|note| note.contains("`**/.env none`")), "{:?}", plan.notes);
}

#[test]
fn an_absent_folder_gets_a_placeholder_and_an_absent_name_a_note() {
    let plan =
        make(&[("/w", "all"), ("/w/s/", "none"), ("/w/n", "none"), ("/w/no/parent/", "none")], &["/w/x"]);
    assert_eq!(plan.placeholders, [abs("/w/no"), abs("/w/no/parent"), abs("/w/s")]);
    assert_eq!(plan.masks, [abs("/w/no/parent"), abs("/w/s")]);
    assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
    // Where this user may make nothing, no session of his can either.
    let plan = make(&[("/w", "all"), ("/w/f/s/", "none")], &["/w/f/="]);
    assert!(plan.placeholders.is_empty() && plan.masks.is_empty() && plan.notes.len() == 1);
    // Nothing can stand below a file.
    let plan = make(&[("/w", "all"), ("/w/file/s/", "none")], &["/w/file"]);
    assert!(plan.placeholders.is_empty() && plan.masks.is_empty());
}

#[test]
fn a_folder_that_is_to_lose_its_programs_need_not_be_there() {
    let plan = make(&[("/w", "all"), ("/w/out/data/", "read-write")], &["/w/x"]);
    assert_eq!(plan.placeholders, [abs("/w/out"), abs("/w/out/data")]);
    assert!(plan.refused.is_empty() && plan.binds.iter().any(|b| b.target == abs("/w/out/data") && b.noexec));
    let plan = make(&[("/w", "all"), ("/w/out/", "read-write")], &["/w/x", "/w/out@x"]);
    assert!(refusals(&plan).contains("symbolic link"), "{}", refusals(&plan));
}

#[test]
fn a_folder_that_cannot_be_entered_is_covered_if_rules_take_away_below_it() {
    let entries = ["/w/conf/#", "/w/conf/keys/k", "/w/x"];
    for (path, access) in [("/w/conf/keys", "none"), ("/w/conf/a/b", "none"), ("/w/conf/n", "read-write")] {
        let plan = make(&[("/w", "all"), (path, access)], &entries);
        assert_eq!(plan.masks, [abs("/w/conf")], "{path}");
        assert!(plan.refused.is_empty() && plan.notes.iter().any(|n| n.contains("chmod u+rwx /w/conf")));
    }
    // What only adds is merely not there.
    let plan = make(&[("/w", "read"), ("/w/conf/keys", "all")], &entries);
    assert!(plan.masks.is_empty() && plan.refused.is_empty());
    // What is not seen anyway needs no cover.
    let plan = make(&[("/other", "all"), ("/w/conf/keys", "none")], &entries);
    assert!(plan.masks.is_empty() && plan.refused.is_empty());
}

#[test]
fn a_folder_that_cannot_be_listed_is_covered_if_names_are_looked_for_below_it() {
    let plan = make(&[("/w", "all"), ("**/.env", "none")], &["/w/app/-", "/w/app/.env", "/w/b/.env"]);
    assert_eq!((plan.masks, plan.file_masks), (vec![abs("/w/app")], vec![abs("/w/b/.env")]));
    assert!(plan.refused.is_empty());
    let plan = make(&[("/w", "all"), ("**/run", "read")], &["/w/app/-", "/w/app/run*"]);
    assert_eq!(plan.masks, [abs("/w/app")]);
    let plan = make(&[("/w", "read"), ("**/run", "all")], &["/w/app/-", "/w/app/run*"]);
    assert!(plan.masks.is_empty(), "what only adds takes nothing away");
}

#[test]
fn the_top_of_a_mount_that_cannot_be_looked_through_is_refused() {
    for (rule, entries) in [
        (("**/.env", "none"), ["/w/-", "/w/.env"]),
        (("/w/s", "none"), ["/w/#", "/w/s"]),
        (("/w/n", "read-write"), ["/w/#", "/w/n/"]),
    ] {
        let plan = make(&[("/w", "all"), rule], &entries);
        assert!(refusals(&plan).contains("chmod u+rwx /w"), "{}", refusals(&plan));
    }
}

#[test]
fn what_rules_name_below_a_folder_that_cannot_be_listed_is_looked_through() {
    let plan = make(&[("/w/a/b", "all"), ("**/.env", "none")], &["/w/-", "/w/a/b/c/.env", "/w/a/b/.env"]);
    assert_eq!(plan.file_masks, [abs("/w/a/b/.env"), abs("/w/a/b/c/.env")]);
    assert!(plan.refused.is_empty() && plan.masks.is_empty());
}

#[test]
fn a_closed_folder_that_is_out_of_bounds_may_hold_a_second_name() {
    let plan = make(&[("/w", "all"), ("/w/s", "none")], &["/w/s/deep/-", "/w/s/deep/k+"]);
    assert!(refusals(&plan).contains("/w/s/deep could not be searched"), "{}", refusals(&plan));
    let plan = make(&[("/w", "all"), ("/w/s", "none")], &["/w/s/deep/=", "/w/s/deep/k+"]);
    assert!(plan.refused.is_empty(), "what another user has closed stays closed");
}

#[test]
fn starting_programs_ends_by_a_noexec_mount_and_begins_by_the_floor() {
    let plan = make(
        &[
            ("/w", "all"),
            ("/w/data", "read-write"),
            ("/w/data/bin", "all"),
            ("/w/run", "read"),
            ("/w/text", "read"),
        ],
        &["/w/data/bin/", "/w/run*", "/w/text"],
    );
    let noexec: Vec<_> = plan.binds.iter().map(|b| (b.target.to_string(), b.noexec)).collect();
    let expected = [("/w", false), ("/w/data", true), ("/w/data/bin", false), ("/w/run", true)];
    assert_eq!(noexec, expected.map(|(path, noexec)| (path.to_owned(), noexec)));

    let plan = make(&[("/w", "read-write"), ("/w/bin", "all")], &["/w/bin/tool*"]);
    assert_eq!(targets(&plan), ["/w"]);
    assert!(!plan.binds[0].noexec);
    assert_eq!(floor(&plan, "/w/bin"), Some(Rights { read: true, execute: true }));
}

#[test]
fn what_cannot_be_held_is_refused_by_name() {
    let refused = |rules: &[(&str, &str)], entries: &[&str], word: &str| {
        let plan = make(rules, entries);
        assert!(refusals(&plan).contains(word), "{rules:?}: {}", refusals(&plan));
        let rules = rules.to_vec();
        let advisory = with(&rules, entries, &Given { advisory: true, ..Given::default() });
        assert!(advisory.refused.is_empty() && advisory.notes.iter().any(|note| note.contains(word)));
    };
    refused(&[("/w", "read"), ("/w/drop", "write")], &["/w/drop/"], "reading cannot be taken away");
    refused(&[("/w", "all"), ("**/x", "write")], &["/w/x"], "reading cannot be taken away");
    refused(&[("**/x", "write")], &["/w/x"], "by wildcard");
    refused(&[("/w", "all"), ("/w/f", "read-write")], &["/w/f"], "one file");
    refused(&[("/w", "all"), ("**/f", "read-write")], &["/w/f"], "some names");
    refused(&[("/w", "all"), ("/w/n", "read-write")], &["/w/x"], "does not exist yet");
    refused(&[("/w", "all"), ("/w/s", "none")], &["/w/s/a/k+"], "/w/s/a/k has a second name");
    refused(&[("/w", "all"), ("**/k", "none")], &["/w/a/k+"], "/w/a/k has a second name");
    refused(&[("/w", "all"), ("/w/l/s", "none")], &["/w/r/s", "/w/l@r"], "symbolic link");
    refused(&[("/w", "all"), ("/proc/kcore", "none")], &["/w/x", "/proc/kcore"], "its own /proc/kcore");
}

#[test]
fn a_file_that_may_be_written_brings_its_folder_and_nothing_else_of_it() {
    let plan = make(&[("/conf/app.json", "read-write")], &["/conf/app.json", "/conf/other"]);
    assert_eq!(targets(&plan), ["/conf"]);
    assert_eq!(floor(&plan, "/conf"), None);
    assert_eq!(floor(&plan, "/conf/app.json"), Some(Rights { read: true, execute: false }));
    assert!(!plan.binds[0].read_only);
    assert!(!plan.listed, "its other names are nobody's business");
    assert!(make(&[("/conf", "read")], &["/conf/other"]).listed);
}

#[test]
fn what_may_be_asked_for_is_shown_and_granted_nothing() {
    let asked = [abs("/spec")];
    let plan =
        with(&[("/w", "all")], &["/w/x", "/spec/y"], &Given { requestable: &asked, ..Given::default() });
    assert_eq!(targets(&plan), ["/spec", "/w"]);
    assert!(floor(&plan, "/spec").is_none() && !plan.binds[0].read_only);
    let plan = with(
        &[("/w", "all"), ("/spec", "none")],
        &["/w/x", "/spec/y"],
        &Given { requestable: &asked, ..Given::default() },
    );
    assert_eq!(targets(&plan), ["/w"]);
}

fn shown_to_git(rules: &[(&str, &str)], entries: &[&str], paths: &[&[u8]]) -> Plan {
    let rules = [rules, &[("b:/w/.git", "read-write")]].concat();
    let entries = [entries, &["/w/.git/index"]].concat();
    with(&rules, &entries, &Given { tracked: paths, ..Given::default() })
}

#[test]
fn what_git_tracks_is_shown_by_its_topmost_entries_and_granted_nothing() {
    let entries = ["/w/fe/a", "/w/be/x", "/w/be/db/y", "/w/be/api/z", "/w/readme", "/w/own/u", "/w/l@readme"];
    let tracked: [&[u8]; 7] = [b"be/api/z", b"be/db/y", b"be/x", b"fe/a", b"gone/x", b"l", b"readme"];
    let plan = shown_to_git(&[("/w/fe", "all"), ("/w/be/api", "read")], &entries, &tracked);
    assert_eq!(targets(&plan), ["/w/.git", "/w/be/api", "/w/be/db", "/w/be/x", "/w/fe", "/w/readme"]);
    for name in ["/w/be/db", "/w/be/x", "/w/readme"] {
        let bind = plan.binds.iter().find(|bind| bind.target == abs(name)).unwrap();
        assert!(bind.read_only && bind.noexec && floor(&plan, name).is_none(), "{name}");
    }
    assert_eq!(plan.links, [Link { at: abs("/w/l"), to: b"readme".to_vec() }]);
    assert!(!plan.listed, "what lies beside tracked files is nobody's business");
    let plan = shown_to_git(&[("/w/fe", "all")], &["/w/fe/a", "/w/readme"], &[b"fe/a", b"readme"]);
    assert!(plan.listed, "a file lists nothing");
}

#[test]
fn nothing_is_shown_to_git_where_git_is_not_seen_or_the_tree_is_granted() {
    let entries = ["/w/fe/a", "/w/be/x", "/w/.git/index"];
    let tracked: [&[u8]; 2] = [b"be/x", b"fe/a"];
    let given = Given { tracked: &tracked, ..Given::default() };
    assert_eq!(targets(&with(&[("/w/fe", "all")], &entries, &given)), ["/w/fe"]);
    assert_eq!(targets(&shown_to_git(&[("/w", "read-write")], &entries, &tracked)), ["/w"]);
    assert_eq!(targets(&shown_to_git(&[("/", "read"), ("/w/fe", "all")], &entries, &tracked)), ["/w"]);
}

#[test]
fn an_index_leads_nowhere_else() {
    let tracked: [&[u8]; 6] = [b"../home/me/key", b"/etc/shadow", b"a/../../etc/x", b"be//x", b"l/x", b"./y"];
    let entries = ["/w/fe/a", "/w/be/x", "/w/y", "/w/l@/etc", "/etc/shadow", "/etc/x", "/home/me/key"];
    let plan = shown_to_git(&[("/w/fe", "all")], &entries, &tracked);
    assert_eq!(targets(&plan), ["/w/.git", "/w/fe"]);
}

#[test]
fn what_is_out_of_bounds_stays_covered_where_git_sees_its_surroundings() {
    let entries = ["/w/fe/a", "/w/be/.env", "/w/be/x", "/w/be/keys/k", "/w/.env", "/w/s/k"];
    let rules = [
        ("/w/fe", "all"),
        ("**/.env", "none"),
        ("/w/be/keys", "none"),
        ("/w/s", "none"),
        ("/w/be/new/", "none"),
    ];
    let tracked: [&[u8]; 4] = [b".env", b"be/keys/k", b"be/x", b"s/k"];
    let plan = shown_to_git(&rules, &entries, &tracked);
    assert_eq!(targets(&plan), ["/w/.env", "/w/.git", "/w/be", "/w/fe", "/w/s"]);
    assert_eq!(plan.masks, [abs("/w/be/keys"), abs("/w/s")]);
    assert_eq!(plan.file_masks, [abs("/w/.env"), abs("/w/be/.env")]);
    assert!(plan.placeholders.is_empty(), "nothing below can be read anyway");
}

#[test]
fn repositories_and_sockets_are_covered_where_only_git_looks() {
    let mut tree = Tree::new(&[
        "/w/fe/a",
        "/w/be/sub/.git",
        "/w/be/x",
        "/w/top/.git",
        "/w/be/run/door",
        "/w/.git/index",
    ]);
    tree.0.get_mut(&abs("/w/be/run/door")).unwrap().kind = Kind::Other;
    let top = abs("/w");
    let (paths, repositories): ([&[u8]; 4], [&[u8]; 2]) =
        ([b"be/sub", b"be/x", b"fe/a", b"top"], [b"be/sub", b"top"]);
    let request = Request {
        rules: &table(&[("/w/fe", "all"), ("b:/w/.git", "read")]),
        extras: &[],
        sealed: &[],
        requestable: &[],
        tracked: Some(Tracked { top: &top, paths: &paths, repositories: &repositories }),
        hardlinks_allowed: false,
        advisory: false,
    };
    let plan = plan(&request, &tree);
    assert_eq!(targets(&plan), ["/w/.git", "/w/be", "/w/fe", "/w/top"]);
    assert_eq!(
        (plan.masks, plan.file_masks),
        (vec![abs("/w/be/sub"), abs("/w/top")], vec![abs("/w/be/run/door")])
    );
}

#[test]
fn a_folder_that_may_be_made_is_there_from_the_start() {
    let new_folders = |rules: &[(&str, &str)], entries: &[&str]| {
        let plan = make(rules, entries);
        let shown = targets(&plan);
        (plan.new_folders.iter().map(ToString::to_string).collect::<Vec<_>>(), shown)
    };
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let (made, shown) =
        new_folders(&[("/w/new/", "all"), ("/w/new/in/", "all"), ("/w/no/parent/", "all")], &["/w/x"]);
    assert_eq!((made, shown), (list(&["/w/new"]), list(&["/w/new"])));
    // Another session may have made it: whoever uses it says so.
    assert_eq!(new_folders(&[("/w/new/", "all")], &["/w/new/"]).0, ["/w/new"]);
    // Not where it can be made, and not for what may be a file or may not be changed.
    let others = [("/w/file", "read-write"), ("/w/docs/", "read")];
    assert!(new_folders(&others, &["/w/x"]).0.is_empty());
    assert!(new_folders(&[("/w", "all"), ("/w/out/", "all")], &["/w/x"]).0.is_empty());
    // What is added in a mounted tree must be there for the floor.
    let plan = make(&[("/w", "read"), ("/w/out/", "all")], &["/w/x"]);
    assert_eq!((plan.new_folders.len(), floor(&plan, "/w/out").is_some_and(|f| f.execute)), (1, true));
}

#[test]
fn what_wildcards_let_change_is_on_no_read_only_mount() {
    let mut rules = table(&[("/w/docs", "read"), ("/data", "read"), ("**/x", "read-write")]);
    rules.0[2].place = Where::Wild { prefix: abs("/w/docs"), depth: None };
    let tree = Tree::new(&["/w/docs/a", "/data/b"]);
    let request = Request {
        rules: &rules,
        extras: &[],
        sealed: &[],
        requestable: &[],
        tracked: None,
        hardlinks_allowed: false,
        advisory: false,
    };
    let plan = plan(&request, &tree);
    let read_only: Vec<_> = plan.binds.iter().map(|b| (b.target.to_string(), b.read_only)).collect();
    assert_eq!(read_only, [("/data".to_owned(), true), ("/w/docs".to_owned(), false)]);
}

#[test]
fn what_may_be_started_and_not_changed_stands_apart() {
    let plan = make(&[("/w", "read-write"), ("/w/hooks", "execute")], &["/w/hooks/h*"]);
    let noexec: Vec<_> = plan.binds.iter().map(|b| (b.target.to_string(), b.noexec)).collect();
    assert_eq!(noexec, [("/w".to_owned(), true), ("/w/hooks".to_owned(), false)]);
    assert!(plan.binds[1].read_only);
}

#[test]
fn what_is_sealed_is_covered_whatever_rules_say() {
    let sealed = [abs("/w/state")];
    let plan = with(
        &[("/w", "all"), ("/w/state/x", "all")],
        &["/w/state/x/", "/w/y"],
        &Given { sealed: &sealed, ..Given::default() },
    );
    assert_eq!((targets(&plan), plan.masks), (vec!["/w".to_owned()], vec![abs("/w/state")]));
}

#[test]
fn the_sessions_own_folders_stand_in_for_those_of_the_machine() {
    let extras = [
        Extra { target: abs("/tmp"), source: Source::Memory },
        Extra { target: abs("/home/agent"), source: Source::Host(abs("/state/home")) },
    ];
    let base = [("b:/tmp", "all"), ("b:/home/agent", "read-write"), ("b:/home/agent/bin", "all")];
    let entries = ["/tmp/w/x", "/state/home/bin/", "/home/me/"];
    let rules = [base.as_slice(), &[("/tmp/w", "all")]].concat();
    let plan = with(&rules, &entries, &Given { extras: &extras, ..Given::default() });
    assert_eq!(targets(&plan), ["/home/agent", "/tmp", "/tmp/w"]);
    assert_eq!(plan.binds[0].source, Source::Host(abs("/state/home")));
    assert_eq!(
        (&plan.binds[1].source, &plan.binds[2].source),
        (&Source::Memory, &Source::Host(abs("/tmp/w")))
    );
    assert!(floor(&plan, "/home/agent/bin").is_some_and(|rights| rights.execute));
    // A person who names it gets the machine's.
    let rules = [base.as_slice(), &[("/tmp", "read")]].concat();
    let plan = with(&rules, &entries, &Given { extras: &extras, ..Given::default() });
    assert_eq!(plan.binds[1].source, Source::Host(abs("/tmp")));
}

#[test]
fn a_view_of_everything_is_put_together_around_its_own_folders() {
    let extras = [Extra { target: abs("/home/agent"), source: Source::Memory }];
    let entries =
        ["/etc/x", "/home/me/", "/proc/1/", "/dev/null", "/bin@usr/bin", "/usr/bin/", "/run/other/"];
    let plan = with(&[("/", "read")], &entries, &Given { extras: &extras, ..Given::default() });
    assert_eq!(targets(&plan), ["/etc", "/home/agent", "/home/me", "/run/other", "/usr"]);
    assert_eq!(plan.links, [Link { at: abs("/bin"), to: b"usr/bin".to_vec() }]);
    assert!(floor(&plan, "/").is_some_and(|rights| rights.read));
}

#[test]
fn links_of_the_root_are_repeated_if_they_lead_somewhere() {
    let plan = make(
        &[("b:/usr", "read"), ("b:/lib64", "read")],
        &["/usr/lib/", "/lib64@usr/lib", "/bin@usr/bin", "/x@/opt"],
    );
    let links: Vec<_> = plan.links.iter().map(|link| link.at.to_string()).collect();
    assert_eq!(links, ["/lib64", "/bin"]);
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
}

#[test]
fn a_rule_of_the_base_that_hides_yields_to_a_person() {
    let plan = make(&[("b:/etc", "read"), ("b:/etc/shadow", "none")], &["/etc/passwd", "/etc/shadow+"]);
    assert_eq!(plan.file_masks, [abs("/etc/shadow")]);
    assert!(plan.refused.is_empty(), "{}", refusals(&plan));
}

/// A tree in which one path could not be looked at once, as if somebody had changed permission bits meanwhile.
struct Flicker(Tree, AbsPath, std::cell::Cell<bool>);

impl Disk for Flicker {
    fn find(&self, path: &AbsPath) -> io::Result<Found> {
        if *path == self.1 && !self.2.replace(true) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.0.find(path)
    }
    fn list(&self, path: &AbsPath, each: &mut dyn FnMut(&[u8], Kind)) -> io::Result<()> {
        self.0.list(path, each)
    }
    fn link(&self, path: &AbsPath) -> io::Result<Vec<u8>> {
        self.0.link(path)
    }
    fn may_make_in(&self, folder: &AbsPath) -> bool {
        self.0.may_make_in(folder)
    }
}

#[test]
fn a_folder_that_is_opened_between_two_looks_is_covered_all_the_same() {
    for hidden in ["/w/conf/keys", "/w/conf/absent", "/w/conf"] {
        let rules = table(&[("/w", "all"), (hidden, "none")]);
        let request = Request {
            rules: &rules,
            extras: &[],
            sealed: &[],
            requestable: &[],
            tracked: None,
            hardlinks_allowed: false,
            advisory: false,
        };
        let disk = Flicker(Tree::new(&["/w/conf/keys/k"]), abs(hidden), std::cell::Cell::new(false));
        let plan = plan(&request, &disk);
        let covered = plan.masks.iter().any(|mask| mask.covers(&abs(hidden)));
        assert!(covered || !plan.refused.is_empty(), "{hidden}: {plan:?}");
    }
}
