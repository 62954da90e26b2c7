//! Registering and removing: foreign bytes stay, ours go, and broken files are not touched.

use proptest::prelude::*;
use remit_core::{AbsPath, AgentName};
use remit_hooks::install::{
    Backup, Removal, State, install, registered, settings_json, status, switched_off, uninstall,
};
use remit_hooks::{Command, Host, InstallError};

fn command() -> Command {
    command_of("/opt/remit/bin/remit", "/home/dev/shop")
}

fn command_of(binary: &str, root: &str) -> Command {
    let agent = AgentName::new("frontend").unwrap();
    Command::new(&AbsPath::new(binary).unwrap(), &AbsPath::new(root).unwrap(), Some(agent)).unwrap()
}

/// Settings as people have them, in several layouts.
const THEIRS: [&str; 14] = [
    "{}",
    "{}\n",
    "{ }\n",
    "{\n}\n",
    "{\n  \"model\": \"opus\"\n}\n",
    "{\n\t\"model\": \"opus\",\n\t\"env\": {\n\t\t\"A\": \"1\"\n\t}\n}",
    "{\r\n    \"z\": 1,\r\n    \"a\": [1, 2]\r\n}\r\n",
    "{\"model\":\"opus\",\"n\":1.50}",
    "{\"model\": \"opus\", \"n\": 1e2}\n",
    "\u{feff}{\n  \"model\": \"opus\"\n}\n",
    "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n        \"hooks\": [\n          {\"type\": \"command\", \"command\": \"lint\"}\n        ]\n      }\n    ]\n  },\n  \"model\": \"opus\"\n}\n",
    "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"say \\\"done\\\" }]\"}]}]}}",
    "{\n  \"hooks\": {\n    \"Notification\": []\n  }\n}\n",
    "",
];

#[test]
fn every_layout_is_installed_once_and_restored_byte_for_byte() {
    for theirs in THEIRS {
        let (text, backup) = install(Host::Claude, Some(theirs), &command(), None).unwrap();
        assert!(status(Host::Claude, Some(&text), &command()).unwrap().in_force(), "{text}");
        let (again, kept) = install(Host::Claude, Some(&text), &command(), Some(&backup)).unwrap();
        assert_eq!((again.as_str(), &kept), (text.as_str(), &backup), "installing twice");
        let removal = uninstall(Host::Claude, Some(&text), Some(&backup)).unwrap();
        assert_eq!(removal, Removal::Write(theirs.to_owned()));
        // Theirs is all still there, in order: without our bytes it reads as before.
        let old: serde_json::Value = serde_json::from_str(if theirs.is_empty() {
            "{}"
        } else {
            theirs.trim_start_matches('\u{feff}')
        })
        .unwrap();
        let new: serde_json::Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
        for (key, value) in old.as_object().unwrap() {
            if key != "hooks" {
                assert_eq!(new.get(key), Some(value));
            }
        }
    }
}

#[test]
fn without_a_backup_only_our_bytes_go() {
    // Layouts in which nothing was empty before: what we add and take away leaves no trace.
    for theirs in THEIRS.into_iter().filter(|t| t.contains('"')) {
        let (text, _) = install(Host::Claude, Some(theirs), &command(), None).unwrap();
        assert_eq!(uninstall(Host::Claude, Some(&text), None).unwrap(), Removal::Write(theirs.to_owned()));
    }
}

#[test]
fn a_file_that_we_made_is_deleted_and_one_that_grew_since_is_kept() {
    let (text, backup) = install(Host::Claude, None, &command(), None).unwrap();
    insta::assert_snapshot!("fresh_settings", text);
    assert_eq!(uninstall(Host::Claude, Some(&text), Some(&backup)).unwrap(), Removal::Delete);
    let grown = text.replacen("{\n", "{\n  \"model\": \"opus\",\n", 1);
    let Removal::Write(left) = uninstall(Host::Claude, Some(&grown), Some(&backup)).unwrap() else {
        panic!()
    };
    assert_eq!(left, "{\n  \"model\": \"opus\"\n}\n");
    assert_eq!(uninstall(Host::Claude, None, Some(&backup)).unwrap(), Removal::Unchanged);
}

#[test]
fn a_file_that_was_changed_since_keeps_the_change() {
    let theirs = THEIRS[10];
    let (text, backup) = install(Host::Claude, Some(theirs), &command(), None).unwrap();
    let changed = text.replace("\"opus\"", "\"haiku\"");
    let removal = uninstall(Host::Claude, Some(&changed), Some(&backup)).unwrap();
    assert_eq!(removal, Removal::Write(theirs.replace("\"opus\"", "\"haiku\"")));
}

#[test]
fn what_was_empty_before_us_stays_when_the_file_was_changed_since() {
    for theirs in [
        "{\"hooks\": {\"Stop\": []}, \"model\": \"opus\"}",
        "{\"hooks\": {}, \"model\": \"opus\"}",
        "\u{feff}{\n  \"hooks\": {\n    \"PreToolUse\": [],\n    \"Stop\": []\n  },\n  \"model\": \"opus\"\n}\n",
    ] {
        let expected = Removal::Write(theirs.replace("opus", "haiku"));
        let (text, backup) = install(Host::Claude, Some(theirs), &command(), None).unwrap();
        let changed = text.replace("opus", "haiku");
        assert_eq!(uninstall(Host::Claude, Some(&changed), Some(&backup)).unwrap(), expected);
        // Also when it was installed again over the changed file.
        let newer = command_of("/newer/remit", "/home/dev/shop");
        let (text, backup) = install(Host::Claude, Some(&changed), &newer, Some(&backup)).unwrap();
        assert_eq!(uninstall(Host::Claude, Some(&text), Some(&backup)).unwrap(), expected);
    }
}

#[test]
fn it_is_remembered_what_was_made_as_long_as_it_is_ours() {
    let (text, mut backup) = install(Host::Claude, None, &command(), None).unwrap();
    assert!(!backup.made_folder);
    backup.made_folder = true;
    let newer = command_of("/newer/remit", "/home/dev/shop");
    for text in [text.clone(), text.replace("  ", "\t")] {
        let (text, kept) = install(Host::Claude, Some(&text), &newer, Some(&backup)).unwrap();
        assert!(kept.made_folder && kept.before.is_none());
        assert_eq!(uninstall(Host::Claude, Some(&text), Some(&kept)).unwrap(), Removal::Delete);
    }
    // Taken out meanwhile: what is there now, somebody else made.
    for theirs in [None, Some("{}")] {
        let (_, kept) = install(Host::Claude, theirs, &command(), Some(&backup)).unwrap();
        assert_eq!((kept.before.as_deref(), kept.made_folder), (theirs, false));
    }
    // As it was kept before folders were remembered.
    let old: Backup = serde_json::from_str("{\"before\":null,\"after\":\"{}\"}").unwrap();
    assert!(!old.made_folder);
}

#[test]
fn the_registered_hook_is_found_behind_a_byte_order_mark_and_not_where_hooks_are_off() {
    let (text, _) = install(Host::Claude, Some("\u{feff}{}"), &command(), None).unwrap();
    assert!(text.starts_with('\u{feff}'));
    let (program, args) = registered(Host::Claude, &text).unwrap();
    assert_eq!((program.as_str(), args[2].as_str()), ("/opt/remit/bin/remit", "PreToolUse"));
    for (off, expected) in [("true", true), ("false", false)] {
        let text = text.replacen('{', &format!("{{\"disableAllHooks\": {off}, "), 1);
        assert_eq!(switched_off(&text), expected);
        assert_eq!(registered(Host::Claude, &text).is_none(), expected);
    }
    assert!(!switched_off("{"));
    for broken in ["", "{", "[]", "{\"hooks\": []}", "{\"hooks\": {\"PreToolUse\": {}}}"] {
        assert_eq!(registered(Host::Claude, broken), None);
    }
}

#[test]
fn an_upgrade_replaces_our_entries_and_still_restores_the_first_original() {
    let theirs = THEIRS[10];
    let old = command_of("/old/remit", "/home/dev/shop");
    let (first, backup) = install(Host::Claude, Some(theirs), &old, None).unwrap();
    assert!(
        status(Host::Claude, Some(&first), &command())
            .unwrap()
            .events
            .iter()
            .all(|(_, s)| *s == State::Stale)
    );
    let (second, backup) = install(Host::Claude, Some(&first), &command(), Some(&backup)).unwrap();
    assert!(!second.contains("/old/remit"));
    assert_eq!(backup.before.as_deref(), Some(theirs));
    // Without the first backup the original is what is left without us.
    let (_, backup) = install(Host::Claude, Some(&first), &command(), None).unwrap();
    assert_eq!(backup.before.as_deref(), Some(theirs));
}

#[test]
fn a_handler_that_somebody_put_into_our_group_survives() {
    let (text, _) = install(Host::Claude, None, &command(), None).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let list = value["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap();
    list.push(serde_json::json!({"type": "command", "command": "theirs"}));
    let Removal::Write(left) = uninstall(Host::Claude, Some(&value.to_string()), None).unwrap() else {
        panic!()
    };
    assert_eq!(left, r#"{"hooks":{"Stop":[{"hooks":[{"command":"theirs","type":"command"}]}]}}"#);
}

#[test]
fn a_weakened_entry_is_not_taken_for_ours_in_force() {
    let (text, _) = install(Host::Claude, None, &command(), None).unwrap();
    for (from, to) in [
        ("\"onFailure\": \"block\"", "\"onFailure\": \"continue\""),
        ("\"timeout\": 10", "\"timeout\": 0"),
        ("--root", "--rood"),
        ("/opt/remit/bin/remit", "/bin/true"),
        ("/home/dev/shop", "/elsewhere"),
        ("\"PreToolUse\": [\n      {", "\"PreToolUse\": [\n      {\n        \"matcher\": \"Nothing\","),
    ] {
        let weak = text.replace(from, to);
        assert_ne!(weak, text, "{from}");
        assert!(!status(Host::Claude, Some(&weak), &command()).unwrap().in_force(), "{to}");
        let (mended, _) = install(Host::Claude, Some(&weak), &command(), None).unwrap();
        assert!(status(Host::Claude, Some(&mended), &command()).unwrap().in_force(), "{to}");
    }
    let off = text.replacen("{\n", "{\n  \"disableAllHooks\": true,\n", 1);
    let status = status(Host::Claude, Some(&off), &command()).unwrap();
    assert!(status.disabled && !status.in_force());
}

#[test]
fn nothing_is_registered_in_an_absent_or_foreign_file() {
    for text in [None, Some(THEIRS[10])] {
        let status = status(Host::Claude, text, &command()).unwrap();
        assert!(status.events.iter().all(|(_, s)| *s == State::Absent) && !status.in_force());
    }
    assert_eq!(uninstall(Host::Claude, Some(THEIRS[10]), None).unwrap(), Removal::Unchanged);
}

#[test]
fn a_malformed_file_is_an_error_with_its_place_and_stays() {
    let error = install(Host::Claude, Some("{\n  \"a\": 1,\n}\n"), &command(), None).unwrap_err();
    assert_eq!(error.to_string(), "the settings are not JSON: trailing comma (line 3, column 1)");
    for (text, line, column, what) in [
        ("[]", 1, 1, "not an object"),
        ("{\n \"hooks\": []\n}", 2, 11, "`hooks` is not an object"),
        ("{\"hooks\":{\"Stop\":{}}}", 1, 18, "`hooks.Stop` is not a list"),
        ("{\"hooks\":{},\n\"hooks\":{}}", 2, 9, "`hooks` stands twice"),
    ] {
        let error = install(Host::Claude, Some(text), &command(), None).unwrap_err();
        let InstallError::Shape { line: l, column: c, what: w } = &error else { panic!("{error}") };
        assert_eq!((*l, *c), (line, column), "{error}");
        assert!(w.contains(what), "{error}");
    }
    assert!(uninstall(Host::Claude, Some("{"), None).is_err());
}

#[test]
fn settings_for_the_command_line_register_everything() {
    let text = settings_json(Host::Claude, &command());
    assert!(status(Host::Claude, Some(&text), &command()).unwrap().in_force());
}

#[test]
fn a_path_that_is_not_text_is_refused() {
    let odd = AbsPath::new(b"/opt/\xff").unwrap();
    assert!(matches!(Command::new(&odd, &AbsPath::root(), None), Err(InstallError::PathNotText(_))));
}

fn any_settings() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(serde_json::Value::from),
        ".{0,8}".prop_map(serde_json::Value::from)
    ];
    let value = leaf.prop_recursive(2, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(serde_json::Value::from),
            prop::collection::btree_map("hooks|Stop|[a-z]{1,4}", inner, 1..3)
                .prop_map(|m| serde_json::Value::Object(m.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-g]{1,4}|model", value, 1..4)
        .prop_map(|m| serde_json::Value::Object(m.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_settings_come_back(value in any_settings(), pretty in any::<bool>()) {
        let theirs = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let (text, _) = install(Host::Claude, Some(&theirs), &command(), None).unwrap();
        prop_assert!(status(Host::Claude, Some(&text), &command()).unwrap().in_force());
        prop_assert_eq!(uninstall(Host::Claude, Some(&text), None).unwrap(), Removal::Write(theirs));
    }

    #[test]
    fn any_text_is_edited_or_refused_without_a_panic(text in "(\\{|\\}|\\[|\\]|\"hooks\"|\"Stop\"|:|,|1| ){0,24}") {
        if let Ok((new, _)) = install(Host::Claude, Some(&text), &command(), None) {
            prop_assert!(status(Host::Claude, Some(&new), &command()).unwrap().in_force());
        }
    }
}
