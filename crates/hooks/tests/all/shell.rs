//! What is read from command lines, and what is not.

use proptest::prelude::*;
use remit_core::AbsPath;
use remit_hooks::Resolver;
use remit_hooks::resolve::{Kind, ResolveError, Resolved};
use remit_hooks::shell::{Deed, Doing, Landing, TooMuch, deeds};

fn cwd() -> AbsPath {
    AbsPath::new("/w").unwrap()
}

/// A disk on which every path is a folder that has no `no` and no `file` in it.
struct Disk {
    home: AbsPath,
    held: bool,
}

impl Resolver for Disk {
    fn resolve(&self, path: &[u8], _follow: bool) -> Result<Resolved, ResolveError> {
        let path = AbsPath::lexical(&AbsPath::root(), path)?;
        let kind = match path.to_string() {
            name if name.contains("no") => Kind::Absent,
            name if name.contains("file") => Kind::Other,
            name if name.contains("dark") => Kind::Unseen,
            _ => Kind::Folder,
        };
        Ok(Resolved { path, kind })
    }
    fn home(&self) -> Option<&AbsPath> {
        Some(&self.home)
    }
    fn held(&self) -> bool {
        self.held
    }
}

fn read_on(text: &str, held: bool) -> Result<Vec<Deed>, TooMuch> {
    deeds(text, &cwd(), &Disk { home: AbsPath::new("/home/dev").unwrap(), held })
}

fn read(text: &str) -> Result<Vec<Deed>, TooMuch> {
    read_on(text, false)
}

fn seen(text: &str) -> Vec<String> {
    seen_on(text, false)
}

/// One line a deed that changes something: what, where, and what is moved there.
fn seen_on(text: &str, held: bool) -> Vec<String> {
    all_seen_on(text, held).into_iter().filter(|line| !line.starts_with("read ")).collect()
}

fn all_seen_on(text: &str, held: bool) -> Vec<String> {
    let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    read_on(text, held)
        .unwrap()
        .into_iter()
        .map(|deed| {
            let doing = match deed.doing {
                Doing::Put => "put",
                Doing::Make => "make",
                Doing::Change => "change",
                Doing::Remove => "remove",
                Doing::Move => "move",
                Doing::Link => "link",
                Doing::Read => "read",
            };
            let inside = match deed.landing {
                Landing::Exact => String::new(),
                Landing::Maybe(name) => format!(" maybe/{}", name.as_deref().map_or("?".into(), show)),
                Landing::Inside(name) => format!(" in/{}", name.as_deref().map_or("?".into(), show)),
            };
            let from = deed.from.map(|f| format!(" from {}", show(&f.path))).unwrap_or_default();
            format!("{doing} {}{inside}{from}", show(&deed.at.path))
        })
        .collect()
}

/// Each line: a command, and what is seen in it.
fn check(cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        assert_eq!(&seen(text), expected, "{text}");
    }
}

#[test]
fn redirections_that_write() {
    check(&[
        ("echo a > x", &["put /w/x"]),
        ("echo a >x 2>>y", &["put /w/x", "put /w/y"]),
        ("a >| x", &["put /w/x"]),
        ("a &> x; b &>>y", &["put /w/x", "put /w/y"]),
        ("a <> x", &["put /w/x"]),
        ("a >& x", &["put /w/x"]),
        ("> x", &["put /w/x"]),
        ("a {fd}> x", &["put /w/x"]),
        ("a 3>x y", &["put /w/x"]),
        ("a > 'x y'\"z\"\\ q", &["put /w/x yz q"]),
        ("a > $'x\\ty'", &["put /w/x\ty"]),
        ("a > ~/x > ~", &["put /home/dev//x", "put /home/dev/"]),
        ("a > '~/x'", &["put /w/~/x"]),
        ("a>x>y", &["put /w/x", "put /w/y"]),
        ("a > \\\n x", &["put /w/x"]),
        ("{ a; } > x; (b) >> y", &["put /w/x", "put /w/y"]),
        ("if a; then b; fi > x", &["put /w/x"]),
    ]);
}

#[test]
fn what_is_read_shows_in_redirections_sources_and_common_readers() {
    for (text, expected) in [
        ("cat < x", "read /w/x"),
        ("while a; do b; done <'x y' 3< z", "read /w/x y, read /w/z"),
        ("a </dev/null; a <&3; a <<< x; a < $x; a < *", ""),
        ("cat x - ../y", "read /w/x, read /w/-, read /w/../y"),
        (
            "head -n 5 x; tail -c3 y; head -5 z; tail --lines 2 v",
            "read /w/x, read /w/y, read /w/z, read /w/v",
        ),
        ("less -p word x; more y", "read /w/x, read /w/y"),
        (
            "grep -rn word x y; grep -e a -e b z; fgrep -f list v",
            "read /w/x, read /w/y, read /w/z, read /w/list, read /w/v",
        ),
        ("grep --include a -A 3 word x; grep word", "read /w/x"),
        ("sed -n 1,5p x; sed -e s/a/b/ y; sed -i s/a/b/ z", "read /w/x, read /w/y, change /w/z"),
        ("cp x y", "read /w/x, put /w/y maybe/x"),
        ("cp -r x $y", "read /w/x"),
        ("install -m 600 x y", "read /w/x, put /w/y maybe/x"),
        ("cp -s x y", "put /w/y maybe/x"),
        ("dd if=x of=y bs=1", "read /w/x, put /w/y"),
        ("tar czf out x y", "read /w/x, read /w/y, put /w/out"),
        ("tar -c -f out x; tar -cf - x", "read /w/x, put /w/out, read /w/x"),
        ("tar xf x; tar --list --file=y; tar -C s -cf out x", "read /w/x, read /w/y, put /w/out"),
        ("rsync -a x y/ host:z; rsync -e ssh host:x y", "read /w/x, read /w/y/"),
        ("sudo cat x | sh -c 'cat y'", "read /w/x, read /w/y"),
        (
            "rg -n word x y; rg -e a z; rg --glob '*.rs' word; rg -tpy word v",
            "read /w/x, read /w/y, read /w/z, read /w/v",
        ),
        (
            "awk -F: '{print $1}' x y; awk -f prog z; gawk -v n=1 '{}' v",
            "read /w/x, read /w/y, read /w/prog, read /w/z, read /w/v",
        ),
        (
            "sort -k2 -t, x; sort -u y -o z; sort --output=v w",
            "read /w/x, read /w/y, put /w/z, read /w/w, put /w/v",
        ),
        ("uniq -c x y; wc -l z; cut -d: -f1 v; jq .name w", "read /w/x, read /w/z, read /w/v, read /w/w"),
        (
            "diff -u x y; xxd -l 16 z out; base64 -w 0 v; . w arg",
            "read /w/x, read /w/y, read /w/z, read /w/v, read /w/w",
        ),
        (
            "nl x; tac y; od -A d z; strings -n 8 v; sha256sum w",
            "read /w/x, read /w/y, read /w/z, read /w/v, read /w/w",
        ),
    ] {
        assert_eq!(all_seen_on(text, false).join(", "), expected, "{text}");
    }
}

#[test]
fn what_writes_no_file_is_left_alone() {
    for text in [
        "a 2>&1",
        "a >&2",
        "a 2>&-",
        "a 3>&1-",
        "a > /dev/null 2>/dev/stderr",
        "a > /dev/fd/3",
        "exec 3<>/dev/tcp/host/80",
        "a < x",
        "a <<< '> x'",
        "cat <<EOF\n> x\nrm y\nEOF",
        "cat <<-'E F'\n\trm y\n\tE F\n",
        "echo '> x' \"> y\" \\> z",
        "echo a # > x",
        "echo a#b",
        "[[ a > b && c < d ]]",
        "(( a > b ))",
        "echo $((1 > 2))",
        "for ((i=0; i>2; i++)); do echo; done",
        "a=(rm x)",
        "echo rm x",
        "command -v rm x",
    ] {
        assert_eq!(seen(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn what_expands_is_skipped_and_the_rest_is_not() {
    check(&[
        ("rm $x y", &["remove /w/y"]),
        ("rm *.rs a? [ab] {a,b} {1..3} y", &["remove /w/y"]),
        ("rm {a} x{", &["remove /w/{a}", "remove /w/x{"]),
        ("a > $x > \"$y\" > z", &["put /w/z"]),
        ("$cmd x > y", &["put /w/y"]),
        ("rm ~root/x ~+ y", &["remove /w/y"]),
        ("mv $a b", &["put /w/b maybe/?"]),
        ("mv a $b", &["remove /w/a"]),
        ("cp a $b", &[]),
        ("echo $(rm x) `rm y` \"$(rm z)\"", &["remove /w/x", "remove /w/y", "remove /w/z"]),
        ("echo ${a:-$(rm x)} \"${b:-`rm y`}\"", &["remove /w/x", "remove /w/y"]),
        ("diff <(rm x) >(rm y)", &["remove /w/x", "remove /w/y"]),
        ("echo `echo \\`rm x\\``", &["remove /w/x"]),
        ("echo $((1)) > x", &["put /w/x"]),
        ("echo $((rm x); rm y)", &["remove /w/x", "remove /w/y"]),
    ]);
}

#[test]
fn programs_that_change_files() {
    check(&[
        ("rm -rf a -- -b", &["remove /w/a", "remove /w/-b"]),
        ("/bin/rm a; \\rm b; 'rm' c", &["remove /w/a", "remove /w/b", "remove /w/c"]),
        ("rmdir a; unlink b", &["remove /w/a", "remove /w/b"]),
        ("mkdir -p -m 755 a b", &["make /w/a", "make /w/b"]),
        ("touch -d now a", &["put /w/a"]),
        ("tee -a a b", &["put /w/a", "put /w/b"]),
        ("truncate -s 0 a; truncate --size=0 b", &["put /w/a", "put /w/b"]),
        ("cp -r a b", &["put /w/b maybe/a"]),
        ("cp a b c", &["put /w/c in/a", "put /w/c in/b"]),
        ("cp -t c a", &["put /w/c in/a"]),
        ("cp -tc a; cp --target-directory=c a", &["put /w/c in/a", "put /w/c in/a"]),
        ("cp -T a b; cp a b/", &["put /w/b", "put /w/b/ in/a"]),
        ("mv x/a b", &["move /w/b maybe/a from /w/x/a"]),
        ("ln a b", &["move /w/b maybe/a from /w/a"]),
        ("ln -s a b; ln -sf /x/a", &["link /w/b maybe/a", "link /w/. in/a"]),
        ("ln a $b", &[]),
        ("install -m 644 a b; install -d c", &["put /w/b maybe/a", "make /w/c"]),
        ("dd if=a of=b bs=1", &["put /w/b"]),
        ("sed -i s/a/b/ f g", &["change /w/f", "change /w/g"]),
        ("sed -i.bak -e s/a/b/ f", &["change /w/f"]),
        ("sed -ne s/a/b/ --in-place f", &["change /w/f"]),
        ("sed s/a/b/ f", &[]),
        ("chmod 644 a; chmod -x b; chmod -R u+w c", &["change /w/a", "change /w/b", "change /w/c"]),
        ("chown me:us a; chown --reference=x b", &["change /w/a", "change /w/b"]),
        ("chmod --reference x b", &["change /w/b"]),
    ]);
}

#[test]
fn lists_pipes_and_compounds_are_walked() {
    check(&[
        (
            "a && rm b || rm c; rm d\nrm e & rm f",
            &["remove /w/b", "remove /w/c", "remove /w/d", "remove /w/e", "remove /w/f"],
        ),
        ("a | tee b |& tee c |\n tee d", &["put /w/b", "put /w/c", "put /w/d"]),
        (
            "if rm a; then rm b; elif rm c; then rm d; else rm e; fi",
            &["remove /w/a", "remove /w/b", "remove /w/c", "remove /w/d", "remove /w/e"],
        ),
        ("while ! rm a; do rm b; done", &["remove /w/a", "remove /w/b"]),
        ("for x in rm a; do rm b; done", &["remove /w/b"]),
        ("for x\ndo rm b; done", &["remove /w/b"]),
        (
            "case rm in a|b) rm c;; (d) rm e;& *) rm f; esac; rm g",
            &["remove /w/c", "remove /w/e", "remove /w/f", "remove /w/g"],
        ),
        ("(case x in a) rm b;; esac; rm c) ; rm d", &["remove /w/b", "remove /w/c", "remove /w/d"]),
        ("((rm a); rm b)", &["remove /w/a", "remove /w/b"]),
        ("A=1 B='x' rm a", &["remove /w/a"]),
        ("sudo -u me env A=1 nice -n 5 timeout -k 1 5 rm a", &["remove /w/a"]),
        ("bash -c 'rm a; bash -lc \"rm b\"' x", &["remove /w/a", "remove /w/b"]),
        ("bash -euo pipefail -c 'rm a'; bash x.sh rm b", &["remove /w/a"]),
        ("eval rm 'a b'", &["remove /w/a", "remove /w/b"]),
        ("cat <<A <<B > x\nrm y\nA\nrm z\nB\nrm w", &["put /w/x", "remove /w/w"]),
        ("cat <<EOF | tee x\nbody\nEOF\nrm y", &["put /w/x", "remove /w/y"]),
    ]);
}

#[test]
fn the_working_folder_is_followed_while_it_is_known() {
    check(&[
        ("cd a && rm b", &["remove /w/a/b"]),
        ("cd a; cd ../c/; rm b", &["remove /w/c/b"]),
        ("cd -- /x; rm b", &["remove /x/b"]),
        ("cd; rm b", &["remove /home/dev/b"]),
        ("cd $x; rm b /c", &["remove /c"]),
        ("cd -; rm b", &[]),
        ("pushd a; popd; rm b", &[]),
        ("(cd a; rm b); rm c", &["remove /w/a/b", "remove /w/c"]),
        ("{ cd a; rm b; }; rm c", &["remove /w/a/b", "remove /w/a/c"]),
        ("cd a | rm b; rm c", &["remove /w/b", "remove /w/c"]),
        ("cd a & rm b", &["remove /w/b"]),
        ("echo $(cd a; rm b); rm c", &["remove /w/a/b", "remove /w/c"]),
        ("bash -c 'cd a; rm b'; rm c", &["remove /w/a/b", "remove /w/c"]),
        ("eval cd a; rm b", &["remove /w/a/b"]),
    ]);
}

#[test]
fn a_folder_that_is_not_there_is_not_entered() {
    check(&[
        ("cd /no; echo > out/f", &["put /w/out/f"]),
        ("cd /no 2>/dev/null; echo > out/f", &["put /w/out/f"]),
        ("cd file; rm b", &["remove /w/b"]),
        ("cd no && rm b; rm c", &["remove /w/c"]),
        ("cd /no || cd out; echo > f", &["put /w/out/f"]),
        ("cd /no || exit 1; echo > f", &[]),
        ("[ -d /no ] && cd /no; echo > out/f", &["put /w/out/f"]),
        ("if test -d no; then cd no; fi; rm b", &["remove /w/b"]),
        ("case $x in a) cd no;; esac; rm b", &["remove /w/b"]),
        ("while read x; do cd no; done; rm b", &["remove /w/b"]),
        ("! cd no && rm b", &["remove /w/b"]),
        // What makes it comes first.
        ("mkdir no && cd no && rm b", &["make /w/no", "remove /w/no/b"]),
        ("mkdir -p no/x; cd no; rm b", &["make /w/no/x", "remove /w/no/b"]),
        ("cp -r a no; cd no/x; rm b", &["put /w/no maybe/a", "remove /w/no/x/b"]),
        ("cp a .; cd no; rm b", &["put /w/. maybe/a", "remove /w/b"]),
        ("git clone u no && cd no && rm b", &["remove /w/no/b"]),
        ("git clone u no; cd no; rm b", &["remove /w/no/b", "remove /w/b"]),
        ("rm -r a; cd a; rm b", &["remove /w/a", "remove /w/a/b", "remove /w/b"]),
        ("cd dark; rm b", &["remove /w/dark/b", "remove /w/b"]),
    ]);
}

#[test]
fn branches_are_joined_where_they_meet() {
    check(&[
        ("false && cd out; echo > x", &["put /w/x"]),
        ("true || cd out; echo > x", &["put /w/x"]),
        ("! cd out; echo > x", &["put /w/out/x"]),
        ("! cd out || echo > x", &["put /w/out/x"]),
        ("! cd out && echo > x", &[]),
        ("test $x && cd out; echo > x", &["put /w/out/x", "put /w/x"]),
        ("if test $x; then cd a; else cd b; fi; rm c", &["remove /w/a/c", "remove /w/b/c"]),
        ("if test $x; then cd a; fi; rm c", &["remove /w/a/c", "remove /w/c"]),
        ("if cd a; then rm b; else rm c; fi; rm d", &["remove /w/a/b", "remove /w/a/d"]),
        ("if cd no; then rm b; else rm c; fi; rm d", &["remove /w/c", "remove /w/d"]),
        ("if true; then cd a; elif true; then rm b; else rm c; fi; rm d", &["remove /w/a/d"]),
        ("case $x in a) cd a;; *) cd b; esac; rm c", &["remove /w/a/c", "remove /w/b/c"]),
        ("case $x in a) cd a;; esac; rm c", &["remove /w/a/c", "remove /w/c"]),
        ("while false; do rm a; done; rm b", &["remove /w/b"]),
        ("until cd a; do rm c; done; rm b", &["remove /w/a/b"]),
        ("while test $x; do cd a; done; rm b /c", &["remove /c"]),
        ("for x in 1 2; do cd a; rm b; cd ..; done; rm c", &["remove /w/a/b", "remove /w/c"]),
        ("for x in 1 2; do cd no || break; rm a; done; rm c", &["remove /w/c"]),
        ("for x in *; do (cd $x && make); done; rm c", &["remove /w/c"]),
        ("test $x && exit; rm a", &["remove /w/a"]),
        ("exit; rm a", &[]),
        ("exec make; rm a", &[]),
        ("exec > log; rm a", &["put /w/log", "remove /w/a"]),
        ("(exit 1); rm a", &["remove /w/a"]),
        ("exit | cat; rm a", &["remove /w/a"]),
        ("bash -c 'exit 1'; rm a", &["remove /w/a"]),
        ("cd a && { rm b; } || rm c; rm d", &["remove /w/a/b", "remove /w/a/c", "remove /w/a/d"]),
        ("{ cd a; rm b; } > x", &["remove /w/a/b", "put /w/x"]),
        ("time cd a; rm b", &["remove /w/a/b"]),
        ("time (cd a; rm b); rm c", &["remove /w/a/b", "remove /w/c"]),
        ("coproc cd a; rm b", &["remove /w/b"]),
    ]);
    // In a session the kernel judges what is really done, so nothing is guessed.
    assert_eq!(seen_on("test $x && cd out; echo > x > /y", true), ["put /y"]);
    assert_eq!(seen_on("test $x && cd out && echo > x; (cd a; rm b)", true), ["put /w/out/x"]);
    assert_eq!(seen_on("cd out; echo > x; false && rm y", true), ["put /w/out/x"]);
    // More folders than are followed.
    let many: String = (0..9).map(|n| format!("test $x && cd /d{n}; ")).collect();
    assert_eq!(seen(&format!("{many} rm a /b")), ["remove /b"]);
}

#[test]
fn a_function_does_what_it_does_where_it_is_called() {
    check(&[
        ("f() { cd a; rm b; rm /c; }; rm d", &["remove /w/d"]),
        ("function f { rm b; }\nrm d", &["remove /w/d"]),
        ("f() { cd a; rm b; }; rm c; f; rm d", &["remove /w/c", "remove /w/a/b", "remove /w/a/d"]),
        ("function f() { rm b; }\ncd a\nf", &["remove /w/a/b"]),
        ("f() (cd a; rm b); f; rm c", &["remove /w/a/b", "remove /w/c"]),
        ("f() { cd no || return 1; rm b; }; f || rm c; rm d", &["remove /w/c", "remove /w/d"]),
        ("f() { exit; }; f; rm a", &[]),
        ("f() { rm a; }; bash -c f; (f)", &["remove /w/a"]),
        ("rm() { echo; }; rm a", &[]),
        ("f() { g() { rm a; }; }; g; f; g", &["remove /w/a"]),
    ]);
    // One that calls itself is followed for a while; where it ends nobody knows.
    let found = seen("f() { rm a; f; }; f; rm b /c");
    assert_eq!((found[0].as_str(), found[found.len() - 1].as_str()), ("remove /w/a", "remove /c"));
    assert!(found.len() < 40 && !found.contains(&"remove /w/b".to_owned()));
    // Calls that call twice each would go on for ever.
    let doubled: String = (1..60).map(|n| format!("f{n}() {{ f{0}; f{0}; }}; ", n - 1)).collect();
    assert!(read(&format!("f0() {{ echo; }}; {doubled} f59")).is_ok());
}

#[test]
fn commands_in_the_body_of_a_here_document_run() {
    check(&[
        (
            "cat <<EOF\n$(echo > x) `rm y` \"$(rm z)\" ${a:-$(rm u)} \\$(rm no)\nEOF",
            &["put /w/x", "remove /w/y", "remove /w/z", "remove /w/u"],
        ),
        ("cat <<'EOF'\n$(rm x)\nEOF\nrm y", &["remove /w/y"]),
        ("cat <<\\EOF\n$(rm x)\nEOF\nrm y", &["remove /w/y"]),
        ("cat <<-EOF > x\n\t$(rm y)\n\tEOF\nrm z", &["put /w/x", "remove /w/y", "remove /w/z"]),
        ("(cd a; cat <<EOF\n$(rm x)\nEOF\n)", &["remove /w/a/x"]),
        ("false && cat <<EOF\n$(rm x)\nEOF\nrm y", &["remove /w/y"]),
        // A line that goes on hides the end.
        ("cat <<EOF\na\\\nEOF\n$(rm x)\nEOF\nrm y", &["remove /w/x", "remove /w/y"]),
        ("cat <<EOF\n$(cat <<B\n$(rm x)\nB\n)\nEOF", &["remove /w/x"]),
    ]);
}

#[test]
fn work_is_bounded() {
    assert_eq!(read(&"a".repeat((1 << 20) + 1)), Err(TooMuch::Text));
    assert_eq!(read(&"touch a;".repeat(5000)), Err(TooMuch::Deeds));
    for open in [
        "(",
        "$(",
        "`",
        "{ ",
        "${",
        "$((",
        "\"$(",
        "case x in a) ",
        "<(",
        "f() ",
        "if ",
        "\\",
        "while ",
        "if a; then ",
        "for x in a; do ",
        "coproc ",
        "cat <<E\n$(",
        "! ",
        "f() { ",
        "cd a || ",
    ] {
        let deep = format!("rm first; {}", open.repeat((1 << 20) / open.len() - 10));
        assert_eq!(read(&deep).unwrap().len(), 1, "{open}");
    }
    // What would be looked at ahead to the end, many times.
    assert_eq!(read(&"$((a '((' ) );".repeat(70_000)).unwrap(), []);
    // As deep as is followed, and one deeper.
    let nest = |n: usize| format!("{}rm a{}", "(".repeat(n), " )".repeat(n));
    assert_eq!(seen(&nest(32).replace("((", "( (").replace("((", "( (")).len(), 1);
    assert_eq!(seen(&nest(33).replace("((", "( (").replace("((", "( (")).len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_text_ends(text in ".{0,200}") {
        prop_assert!(read(&text).is_ok());
    }

    #[test]
    fn any_soup_of_syntax_ends(
        text in "(\\$|\\(|\\)|\\{|\\}|`|'|\"|\\\\|\n|;|&|\\||<|>|<<|E|rm |case |in |esac|do |\\[\\[ |\\]\\]|#| |~|a|=|\\*|cd |bash -c |eval |f\\(\\) ){0,60}",
    ) {
        for deed in read(&text).unwrap() {
            prop_assert!(deed.at.path.starts_with(b"/"));
        }
    }

    #[test]
    fn a_quoted_name_is_read_as_it_is(name in "[^'\0/~-][^'\0/]{0,20}") {
        let found = read(&format!("rm '{name}'")).unwrap();
        prop_assert_eq!(found.len(), 1);
        prop_assert_eq!(String::from_utf8_lossy(&found[0].at.path), format!("/w/{name}"));
    }
}
