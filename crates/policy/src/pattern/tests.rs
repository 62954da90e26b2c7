//! Tests of patterns: what they match, what they refuse and where, and when one includes another.

use super::*;
use crate::LastNames;
use proptest::prelude::*;

fn path(text: impl AsRef<[u8]>) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn anchor(root: Root) -> Anchor {
    Anchor { base: path("/w/base"), workspace: path("/w"), home: path("/home/me"), root }
}

fn at(text: &str) -> At<String> {
    let width = u32::try_from(text.chars().count()).unwrap();
    At { value: text.to_owned(), place: Place { file: "remit.yaml".into(), line: 3, column: 10, width } }
}

fn read(text: &str) -> Result<Pattern, Diagnostic> {
    Pattern::parse(&at(text), &anchor(Root::Host), Use::Limit)
}

fn pattern(text: &str) -> Pattern {
    read(text).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

fn matches(text: &str, tested: &str) -> bool {
    pattern(text).matches(&path(tested))
}

#[test]
fn a_path_and_its_trailing_wildcards_are_the_same() {
    for text in ["src", "src/", "src/*", "src/**", "./src", "src//", "src/**/", "src/*/**", "/w/base/src"] {
        assert_eq!(pattern(text), pattern("src"), "{text}");
        assert_eq!(pattern(text).literal(), Some(&path("/w/base/src")), "{text}");
        assert!(matches(text, "/w/base/src") && matches(text, "/w/base/src/a/.b"), "{text}");
        assert!(!matches(text, "/w/base/src2") && !matches(text, "/w/base"), "{text}");
    }
    for text in [".", "*", "**", "./", "**/*", "./**"] {
        assert_eq!(pattern(text).literal(), Some(&path("/w/base")), "{text}");
    }
    assert_eq!(pattern("/**").literal(), Some(&AbsPath::root()));
    assert_eq!(pattern("a/*.rs/**"), pattern("a/*.rs"));
}

#[test]
fn anchors_say_what_the_beginning_means() {
    assert_eq!(pattern("~").literal(), Some(&path("/home/me")));
    assert_eq!(pattern("~/x").literal(), Some(&path("/home/me/x")));
    assert_eq!(pattern("./~x").literal(), Some(&path("/w/base/~x")));
    let workspace = Pattern::parse(&at("/x"), &anchor(Root::Workspace), Use::Grant).unwrap();
    assert_eq!(workspace.literal(), Some(&path("/w/x")));
}

#[test]
fn a_path_is_spelled_as_people_would_and_read_back_the_same() {
    for (at_path, host, workspace) in [
        ("/w/base/src/a", Some("src/a"), Some("src/a")),
        ("/w/base", Some("."), Some(".")),
        ("/w/base/~x", Some("./~x"), Some("./~x")),
        ("/w/base/!x/[id]/$a*\\\n", Some(r"./!x/\[id]/\$a\*\\\x0a"), Some(r"./!x/\[id]/\$a\*\\\x0a")),
        ("/w/docs", Some("/w/docs"), Some("/docs")),
        ("/home/me/x", Some("~/x"), Some("~/x")),
        ("/home/me", Some("~/"), Some("~/")),
        ("/etc", Some("/etc"), None),
        ("/", Some("/"), None),
    ] {
        for (root, spelled) in [(Root::Host, host), (Root::Workspace, workspace)] {
            let anchor = anchor(root);
            let text = anchor.spell(&path(at_path));
            assert_eq!(text.as_deref(), spelled, "{at_path}");
            if let Some(text) = text {
                let read = Pattern::parse(&at(&text), &anchor, Use::Grant).unwrap();
                assert_eq!(read, Pattern::of(&path(at_path)), "{text}");
            }
        }
    }
}

#[test]
fn inner_wildcards_stay_in_a_component_and_two_stars_cross() {
    assert!(matches("a/*/c", "/w/base/a/b/c/d") && !matches("a/*/c", "/w/base/a/b/b/c"));
    assert!(matches("a/*.rs", "/w/base/a/.rs") && !matches("a/*.rs", "/w/base/a/b/c.rs"));
    assert!(matches("a/**/c", "/w/base/a/c") && matches("a/**/c", "/w/base/a/b/b/c/x"));
    assert!(matches("a/**/b/**/c", "/w/base/a/b/x/b/c") && !matches("a/**/b/**/c", "/w/base/a/c/b"));
    assert!(matches("**/b/c", "/w/base/b/b/c") && !matches("**/b/c", "/w/b/c"));
}

#[test]
fn an_unanchored_pattern_holds_below_its_base_folder() {
    let env = pattern("**/.env");
    assert!(env.is_unanchored() && env.literal().is_none());
    assert_eq!(env.literal_prefix(), &path("/w/base"));
    assert!(env.matches(&path("/w/base/.env")) && env.matches(&path("/w/base/a/b/.env/c")));
    assert!(!env.matches(&path("/w/.env")));
    assert_eq!(pattern("/**/.env").literal_prefix(), &AbsPath::root());
    assert!(!pattern("a/**/.env").is_unanchored());
}

#[test]
fn last_names_say_a_quick_no() {
    let patterns = ["**/.env", "**/*.pem", "keys"].map(pattern);
    let names = LastNames::of(&patterns);
    assert!(["keys", ".env", "a.pem", ".pem"].iter().all(|name| names.may_be(name.as_bytes())));
    assert!(["main.rs", ".envrc", "a.pen", "lib"].iter().all(|name| !names.may_be(name.as_bytes())));
    assert!(LastNames::any().may_be(b"main.rs") && !LastNames::of([]).may_be(b"main.rs"));
}

#[test]
fn escapes_make_plain_characters() {
    assert_eq!(pattern(r"app/\[slug\]/\$x\*\x0a\\").literal(), Some(&path("/w/base/app/[slug]/$x*\n\\")));
    assert!(matches("app/[[]slug]", "/w/base/app/[slug]"));
    assert_eq!(pattern("{{cookie}}").literal(), Some(&path("/w/base/{{cookie}}")));
    assert_eq!(pattern(r"\xff").literal(), Some(&path(b"/w/base/\xff")));
}

/// Code, what is underlined, and the message.
#[test]
fn refusals_name_the_place_and_the_way_out() {
    let cases = [
        ("", "empty-pattern", "", "the path is empty"),
        ("a/b**/c", "stars-in-name", "**", "`**` crosses folders only where it stands alone between slashes"),
        ("***/k", "stars-in-name", "**", "`**` crosses folders only where it stands alone between slashes"),
        ("a/../b", "dots-in-pattern", "..", "`..` cannot stand in a path"),
        (r"a/\.\./b", "dots-in-pattern", r"\.\.", "`..` cannot stand in a path"),
        ("a\0b", "nul-in-pattern", "\0", "a path cannot have a NUL byte"),
        ("é/a\nb", "newline-in-pattern", "\n", "a path cannot have a line break"),
        ("é/$HOME/b", "variable-in-pattern", "$HOME", "`$HOME` would be a variable"),
        ("${PWD%/*}/x", "variable-in-pattern", "${PWD%", "`${PWD%` would be a variable"),
        ("~root/x", "user-in-pattern", "~root", "`~root` would be another user's home"),
        ("~-", "user-in-pattern", "~-", "`~-` would be another user's home"),
        ("!src", "negated-pattern", "!", "`!` does not turn a rule round"),
        ("a/x.{ts,js}", "braces-in-pattern", "{ts,js}", "`{ts,js}` has alternatives"),
        ("a/[bc", "bad-class", "[bc", "the set is not closed by `]`"),
        ("a/[c-a]", "bad-class", "[c-a]", "the range runs backwards"),
        (
            "a/[[:alpha:]]x",
            "named-class",
            "[:alpha:]",
            "`[:alpha:]` is a set by name, which is not known here",
        ),
        ("a/[x[.-.]]", "named-class", "[.-.]", "`[.-.]` is a set by name, which is not known here"),
        ("a/[é]", "bad-class", "[é]", "a set has ASCII characters only"),
        (r"a/[^\x01-\xff]", "bad-class", r"[^\x01-\xff]", "the set is empty"),
        (r"a/\q", "bad-escape", r"\", r"`\` is not an escape"),
        (r"a/\x00", "bad-escape", r"\x00", r"`\x00` is not an escape"),
        (r"a\/b", "bad-escape", r"\", r"`\` is not an escape"),
    ];
    for (text, code, marked, message) in cases {
        let found = read(text).expect_err(text);
        assert_eq!((found.code, found.message.as_str()), (code, message), "{text:?}");
        assert!(found.help.is_some(), "{text:?}");
        let before = text.split(marked).next().filter(|_| !marked.is_empty()).unwrap_or("").chars().count();
        let width = marked.chars().count().max(1);
        let expected = (10 + u32::try_from(before).unwrap(), u32::try_from(width).unwrap());
        assert_eq!((found.place.column, found.place.width), expected, "{text:?}");
    }
    assert_eq!(read(&"a".repeat(5000)).unwrap_err().code, "long-pattern");
    assert_eq!(read(&"a/".repeat(2046)).unwrap_err().code, "long-pattern");
}

#[test]
fn the_caret_stays_on_the_value_where_quotes_or_escapes_shift_it() {
    let mut quoted = at("a/../b");
    quoted.place.width += 2;
    let found = Pattern::parse(&quoted, &anchor(Root::Host), Use::Limit).unwrap_err();
    assert_eq!((found.place.column, found.place.width), (13, 2));
    quoted.place.width = 40;
    let found = Pattern::parse(&quoted, &anchor(Root::Host), Use::Limit).unwrap_err();
    assert_eq!((found.place.column, found.place.width), (10, 40));
}

#[test]
fn only_limits_may_be_unanchored() {
    for text in ["**/x", "/**/x", "~/**/x", "./**/x"] {
        let found = Pattern::parse(&at(text), &anchor(Root::Host), Use::Grant).expect_err(text);
        assert_eq!(found.code, "unanchored-grant");
        assert!(read(text).is_ok(), "{text}");
    }
    assert!(Pattern::parse(&at("src/**/x"), &anchor(Root::Host), Use::Grant).is_ok());
    assert!(Pattern::parse(&at("*/x"), &anchor(Root::Host), Use::Grant).is_ok());
}

#[test]
fn covers_is_inclusion_of_paths() {
    let yes = [
        ("a", "a"),
        ("a", "a/b"),
        ("a", "a/*/c"),
        ("a/*/c", "a/b/c"),
        ("a/**/c", "a/*/c"),
        ("a/**/c", "a/c/x"),
        ("a/*.rs", "a/x*.rs"),
        ("a/?", "a/[bc]"),
        ("a/[a-z]", "a/[bc]"),
        ("**/b", "x/b"),
        ("**/b", "**/a/b"),
        ("a/**/*/b", "a/*/**/b"),
        ("a/*/**/b", "a/**/*/b"),
        ("a/**/b", "a/**/b/**/b"),
        ("a/?*", "a/*?"),
        ("**/*b*", "**/b"),
        ("a/*/**/b", "a/b/b"),
        ("/", "**/x"),
        ("a/*/b", "a/c/b/d/*/e"),
    ];
    let no = [
        ("a/b", "a"),
        ("a/*/c", "a/b"),
        ("a/*/c", "a/**/c"),
        ("a/x*", "a/*x"),
        ("a/[bc]", "a/?"),
        ("a", "ab"),
        ("**/a/b", "**/b"),
        ("a/*/**/b", "a/**/b"),
        ("a/b/c", "a/*/c"),
        ("b/**/c", "a/**/c"),
        ("a/*.rs", "a/*.ts"),
    ];
    for (wide, narrow) in yes {
        assert!(pattern(wide).covers(&pattern(narrow)), "{wide} covers {narrow}");
    }
    for (wide, narrow) in no {
        assert!(!pattern(wide).covers(&pattern(narrow)), "{wide} does not cover {narrow}");
    }
}

#[test]
fn an_inclusion_that_is_too_large_is_not_claimed() {
    let hard = pattern(&format!("a/{}b", "*a?".repeat(40)));
    let other = pattern(&format!("a/{}b", "*?a".repeat(40)));
    assert!(!hard.is_wider_than(&other) && !other.is_wider_than(&hard));
}

/// Texts of patterns over few names, so that they meet.
fn texts() -> impl Strategy<Value = String> {
    let part =
        prop::sample::select(vec!["a", "b", "*", "**", "a*", "*b", "?", "[ab]", "a?b", "*a*", "ab", "[^a]*"]);
    prop::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"))
}

fn paths() -> impl Strategy<Value = AbsPath> {
    let name = prop::sample::select(vec!["a", "b", "c", "ab", "acb", "ba", "cc", "aab"]);
    prop::collection::vec(name, 0..7).prop_map(|names| path(format!("/w/base/{}", names.join("/"))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn covers_is_sound(wide in texts(), narrow in texts(), tested in prop::collection::vec(paths(), 40)) {
        let (wide, narrow) = (pattern(&wide), pattern(&narrow));
        if wide.covers(&narrow) {
            for tested in tested {
                prop_assert!(wide.matches(&tested) || !narrow.matches(&tested), "{} {} {}", wide, narrow, tested);
            }
        }
    }

    #[test]
    fn what_is_told_without_the_exact_test_is_what_that_says(wide in texts(), narrow in texts()) {
        let (wide, narrow) = (pattern(&wide), pattern(&narrow));
        let exact = (wide.includes(&narrow), narrow.includes(&wide)) == (Inclusion::Yes, Inclusion::No);
        prop_assert_eq!(wide.is_wider_than(&narrow), exact, "{} {}", wide, narrow);
    }

    #[test]
    fn what_is_below_a_match_matches(text in texts(), tested in paths()) {
        let pattern = pattern(&text);
        if pattern.matches(&tested) {
            prop_assert!(pattern.matches(&tested.join("below").unwrap()));
        }
    }

    #[test]
    fn the_canonical_spelling_is_the_same_pattern(text in texts()) {
        let first = pattern(&text);
        let again = pattern(&first.to_string());
        prop_assert_eq!(first.to_string(), again.to_string());
        prop_assert!(first.covers(&again) && again.covers(&first));
    }

    #[test]
    fn any_path_has_a_literal_spelling(bytes in prop::collection::vec(any::<u8>(), 1..20)) {
        if let Ok(own) = AbsPath::lexical(&path("/w"), &bytes) {
            let again = pattern(&Pattern::of(&own).to_string());
            prop_assert_eq!(again.literal(), Some(&own));
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}", tested in paths()) {
        if let Ok(pattern) = read(&text) {
            prop_assert!(pattern.covers(&pattern) || pattern.rest().len() > 3);
            let _ = pattern.matches(&tested);
        }
    }

    #[test]
    fn last_names_leave_out_no_match(text in texts(), other in texts(), tested in paths()) {
        let patterns = [pattern(&other), pattern(&text)];
        let own = |path: &AbsPath| patterns.iter().any(|pattern| pattern.matches(path));
        if own(&tested) && !tested.parent().is_some_and(|parent| own(&parent)) {
            let name = tested.file_name().unwrap();
            prop_assert!(LastNames::of(&patterns).may_be(name), "{} {}", patterns[1], tested);
        }
    }

    #[test]
    fn samples_match(text in texts()) {
        let pattern = pattern(&text);
        for (fill, deep) in [(&b"x"[..], false), (b"yy", true)] {
            let sample = pattern.sample(fill, deep).unwrap();
            prop_assert!(pattern.matches(&sample), "{} {}", pattern, sample);
        }
    }
}
