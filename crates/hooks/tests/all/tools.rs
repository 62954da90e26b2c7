//! From arguments to efforts, on a real file system with links.

use remit_core::{AbsPath, Verb};
use remit_hooks::resolve::Files;
use remit_hooks::tools::Efforts;
use remit_hooks::{Host, Problem};
use std::os::unix::fs::symlink;

struct Tree {
    _dir: tempfile::TempDir,
    root: String,
}

fn tree() -> Tree {
    let dir = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(dir.path()).unwrap().to_str().unwrap().to_owned();
    std::fs::create_dir_all(format!("{root}/shop/src")).unwrap();
    std::fs::create_dir_all(format!("{root}/secrets")).unwrap();
    std::fs::write(format!("{root}/shop/src/a.rs"), "a").unwrap();
    std::fs::write(format!("{root}/secrets/key"), "k").unwrap();
    symlink("../../secrets", format!("{root}/shop/src/door")).unwrap();
    symlink(format!("{root}/secrets/key"), format!("{root}/shop/alias")).unwrap();
    symlink(format!("{root}/secrets/new"), format!("{root}/shop/dangling")).unwrap();
    symlink("loop", format!("{root}/shop/loop")).unwrap();
    Tree { _dir: dir, root }
}

/// The efforts of a call of `tool` made in `shop`, one line each, or what is wrong with it.
fn call(tree: &Tree, tool: &str, input: serde_json::Value) -> Result<Vec<String>, Problem> {
    let root = &tree.root;
    let payload = serde_json::json!({
        "hook_event_name": "PreToolUse", "cwd": format!("{root}/shop"), "tool_name": tool, "tool_input": input,
    });
    let files = Files { home: Some(AbsPath::new(format!("{root}/home")).unwrap()), held: false };
    let asked = Host::Claude
        .dialect()
        .decode("PreToolUse", payload.to_string().as_bytes(), &files)
        .map_err(|refused| refused.problem)?;
    let remit_core::wire::Request::Call { call, .. } = asked.request else { panic!("not a call") };
    let short = |path: &AbsPath| path.to_string().replace(root.as_str(), "");
    Ok(call
        .efforts
        .iter()
        .map(|e| {
            format!(
                "{} {}{}",
                e.verb,
                short(&e.path),
                e.to.as_ref().map_or(String::new(), |to| format!(" -> {}", short(to)))
            )
        })
        .collect())
}

fn bash(tree: &Tree, command: &str) -> Vec<String> {
    call(tree, "Bash", serde_json::json!({"command": command.replace("ROOT", &tree.root)})).unwrap()
}

#[test]
fn a_write_through_a_link_is_a_write_where_the_link_leads() {
    let t = tree();
    let write =
        |path: &str| call(&t, "Write", serde_json::json!({"file_path": path, "content": ""})).unwrap();
    assert_eq!(write("alias"), ["write /secrets/key"]);
    assert_eq!(write("src/door/key"), ["write /secrets/key"]);
    assert_eq!(write("src/door/../x"), ["create /x"]);
    assert_eq!(write("dangling"), ["create /secrets/new"]);
    assert_eq!(write("~/x"), ["create /home/x"]);
    assert_eq!(write(&format!("{}/shop/src/a.rs", t.root)), ["write /shop/src/a.rs"]);
    let looped = call(&t, "Write", serde_json::json!({"file_path": "loop"}));
    assert!(matches!(looped, Err(Problem::Path { .. })));
}

#[test]
fn each_file_tool_has_its_verb() {
    let t = tree();
    let one = |tool, input| call(&t, tool, input).unwrap();
    assert_eq!(one("Edit", serde_json::json!({"file_path": "src/a.rs"})), ["write /shop/src/a.rs"]);
    assert_eq!(one("Edit", serde_json::json!({"file_path": "src/b.rs"})), ["create /shop/src/b.rs"]);
    assert_eq!(
        one("NotebookEdit", serde_json::json!({"notebook_path": "n.ipynb"})),
        ["create /shop/n.ipynb"]
    );
    assert_eq!(one("Read", serde_json::json!({"file_path": "alias"})), ["read /secrets/key"]);
    assert_eq!(one("Grep", serde_json::json!({"pattern": "x"})), ["read /shop"]);
    assert_eq!(one("Grep", serde_json::json!({"pattern": "x", "path": "src"})), ["read /shop/src"]);
    assert_eq!(one("Glob", serde_json::json!({"pattern": "src/door/*.pem"})), ["read /secrets"]);
    assert_eq!(one("Glob", serde_json::json!({"pattern": "/etc/*"})), ["read /etc"]);
    assert_eq!(one("Glob", serde_json::json!({"pattern": "*", "path": "src"})), ["read /shop/src"]);
    assert_eq!(one("LS", serde_json::json!({"path": "src"})), ["read /shop/src"]);
    for tool in ["Agent", "Task", "Skill", "TodoWrite", "WebFetch", "ToolSearch"] {
        assert_eq!(
            one(tool, serde_json::json!({"path": "src", "file": "x"})),
            Vec::<String>::new(),
            "{tool}"
        );
    }
}

#[test]
fn an_unknown_tool_changes_every_path_that_it_names() {
    let t = tree();
    let input = serde_json::json!({
        "path": "src/a.rs", "outputPath": "out", "edits": [{"target_file": "x"}, {"targetFile": "y"}],
        "files": ["p", "alias"], "uri": "file:///tmp%2Fz", "source": "https://example.com/a", "profile": "not-a-path",
        "content": "see /etc/passwd", "limit": 3, "dest": null,
    });
    let mut found = call(&t, "mcp__fs__move", input.clone()).unwrap();
    found.sort();
    assert_eq!(
        found,
        [
            "create /shop/out",
            "create /shop/p",
            "create /shop/x",
            "create /shop/y",
            "create /tmp/z",
            "write /secrets/key",
            "write /shop/src/a.rs"
        ]
    );
    let reads = call(&t, "mcp__fs__read_file", serde_json::json!({"path": "src/a.rs"})).unwrap();
    assert_eq!(reads, ["read /shop/src/a.rs"]);
    // A name that only looks like a reading one.
    for tool in ["mcp__fs__read_file_and_delete", "read_file", "mcp__read_file__write"] {
        assert!(
            call(&t, tool, serde_json::json!({"path": "src/a.rs"})).unwrap()[0].starts_with("write"),
            "{tool}"
        );
    }
}

#[test]
fn an_absolute_path_is_one_under_any_name_and_text_is_none() {
    let t = tree();
    let root = &t.root;
    let mut found = call(
        &t,
        "mcp__any__thing",
        serde_json::json!({
            "content": format!("{root}/shop/alias"), "x": [{"y": format!("{root}/secrets/fresh")}],
            "link": format!("file://{root}/shop/src/a.rs"), "where": "/", format!("{root}/shop/key"): 1,
        }),
    )
    .unwrap();
    found.sort();
    assert_eq!(
        found,
        [
            "create /secrets/fresh",
            "create /shop/key",
            "write /",
            "write /secrets/key",
            "write /shop/src/a.rs",
        ]
    );
    let none = serde_json::json!({
        "route": "/api/v1/users", "login": "/login", "query": "//div[@id]", "regex": "/a.*b/", "comment": "// done",
        "text": format!("{root}/shop/alias\n"), "say": format!("in {root}/shop/alias"), "relative": "src/a.rs",
        "long": format!("/{}", "x".repeat(5000)), "name": format!("{root}/{}", "x".repeat(300)),
        "source": "x".repeat(5000), "target": format!("{root}/{}", "x".repeat(300)),
    });
    assert_eq!(call(&t, "mcp__any__thing", none).unwrap(), [""; 0]);
}

#[test]
fn what_has_too_long_a_name_cannot_be_and_is_no_effort() {
    let t = tree();
    let (name, path) = ("n".repeat(256), "p/".repeat(2048));
    for command in [
        format!(
            "touch {name}; rm {name}; echo > {name}; mv {name} x; mv src/a.rs {name}; mkdir -p src/{name}/y"
        ),
        format!("mkdir -p {path}; echo > ROOT/{path}"),
        format!("cp -t src/{name} $x; cp absent {name}/; cat {name} < {name}"),
    ] {
        assert_eq!(bash(&t, &command), [""; 0], "{command}");
    }
    assert_eq!(bash(&t, &format!("touch {}", &name[1..])), [format!("create /shop/{}", &name[1..])]);
    assert!(call(&t, "Write", serde_json::json!({"file_path": name})).is_err());
}

#[test]
fn half_a_character_is_text_but_no_path() {
    let t = tree();
    let root = &t.root;
    let send = |tool: &str, input: &str| {
        let payload = format!(
            r#"{{"hook_event_name":"PreToolUse","cwd":"{root}/shop","tool_name":"{tool}","tool_input":{input}}}"#
        );
        let asked = Host::Claude.dialect().decode(
            "PreToolUse",
            payload.as_bytes(),
            &Files { home: None, held: false },
        );
        asked.map(|asked| asked.request).map_err(|refused| refused.problem)
    };
    for half in [r"\ud83d", r"\uDE00", r"\ud83d\ud83d\ude00", r"\ude00\ud83d", r"\uD83d \\", r"\ud83dx"] {
        let write = send("Write", &format!(r#"{{"file_path":"a.rs","content":"{half}"}}"#));
        let Ok(remit_core::wire::Request::Call { call, .. }) = write else { panic!("{half}: {write:?}") };
        assert_eq!(call.efforts[0].path.as_bytes(), format!("{root}/shop/a.rs").as_bytes());
        let path = send("Write", &format!(r#"{{"file_path":"a{half}.rs","content":""}}"#));
        assert!(matches!(path, Err(Problem::Path { .. })), "{half}: {path:?}");
        let path = send("mcp__a__b", &format!(r#"{{"path":"a{half}.rs"}}"#));
        assert!(matches!(path, Err(Problem::Path { .. })), "{half}: {path:?}");
        assert!(send("Bash", &format!(r#"{{"command":"echo {half} > x"}}"#)).is_ok(), "{half}");
    }
    // Whole characters, and what only looks like an escape, stay as they are.
    for whole in [r"\ud83d\ude00", r"\\ud83d", "\u{fffd}", r"\ufffd"] {
        let path = send("Write", &format!(r#"{{"file_path":"a{whole}.rs"}}"#));
        assert!(path.is_ok(), "{whole}: {path:?}");
    }
}

#[test]
fn commands_become_efforts_by_the_kernels_names() {
    let t = tree();
    assert_eq!(bash(&t, "echo x > src/door/key"), ["write /secrets/key"]);
    assert_eq!(bash(&t, "echo x > src/door/../x"), ["create /x"]);
    assert_eq!(bash(&t, "cd src/door && cd .. && rm a.rs"), ["delete /shop/src/a.rs"]);
    assert_eq!(bash(&t, "rm alias"), ["delete /shop/alias"]);
    assert_eq!(bash(&t, "sed -i s/a/b/ alias"), ["write /secrets/key"]);
    assert_eq!(bash(&t, "mv src/a.rs src/door"), ["rename /shop/src/a.rs -> /secrets/a.rs"]);
    assert_eq!(bash(&t, "mv src/a.rs b.rs"), ["rename /shop/src/a.rs -> /shop/b.rs"]);
    assert_eq!(bash(&t, "mv -T src/a.rs src/door"), ["rename /shop/src/a.rs -> /shop/src/door"]);
    assert_eq!(bash(&t, "cp src/a.rs src/door"), ["read /shop/src/a.rs", "create /secrets/a.rs"]);
    assert_eq!(bash(&t, "cp $x src/door; cp $x y"), ["create /shop/y"]);
    assert_eq!(bash(&t, "ln ROOT/secrets/key k"), ["rename /secrets/key -> /shop/k"]);
    assert_eq!(bash(&t, "ln -s ROOT/secrets/key k"), ["rename /shop/k"]);
    assert_eq!(bash(&t, "mkdir -p src src/new"), ["create /shop/src/new"]);
    assert_eq!(bash(&t, "touch x; touch x"), ["create /shop/x"]);
    assert_eq!(
        bash(&t, "touch -c nosuch; truncate -cs 0 none; chmod +x no; touch --no-create src/a.rs"),
        ["write /shop/src/a.rs"]
    );
    assert_eq!(bash(&t, "touch x; chmod +x x"), ["create /shop/x", "write /shop/x"]);
}

#[test]
fn removing_what_is_not_there_is_no_effort() {
    let t = tree();
    assert_eq!(bash(&t, "rm -f absent; rmdir none; rm -r src/a.rs/x; unlink src/door/none"), [""; 0]);
    assert_eq!(bash(&t, "rm -f absent alias dangling"), ["delete /shop/alias", "delete /shop/dangling"]);
    // What comes by the same command is there by then.
    assert_eq!(bash(&t, "touch x && rm x y"), ["create /shop/x", "delete /shop/x"]);
    assert_eq!(
        bash(&t, "mv src/a.rs n/x && rm -r n"),
        ["rename /shop/src/a.rs -> /shop/n/x", "delete /shop/n"]
    );
    assert_eq!(
        bash(&t, "cp -r src new; rm new/a.rs"),
        ["read /shop/src", "create /shop/new", "delete /shop/new/a.rs"]
    );
    // What is only read makes nothing.
    assert_eq!(bash(&t, "cat src/a.rs; rm src/none"), ["read /shop/src/a.rs"]);
}

#[test]
fn what_a_command_reads_is_judged_where_links_lead_if_it_is_there() {
    let t = tree();
    assert_eq!(bash(&t, "cat < src/door/key"), ["read /secrets/key"]);
    assert_eq!(bash(&t, "cat alias absent"), ["read /secrets/key"]);
    assert_eq!(bash(&t, "grep -r word src"), ["read /shop/src"]);
    // A session shows only what may be read.
    let files = Files { home: None, held: true };
    let cwd = AbsPath::new(format!("{}/shop", t.root)).unwrap();
    let mut efforts = Efforts::new(&files, &cwd, false);
    efforts.command("grep -r word src; cat src/a.rs alias").unwrap();
    assert_eq!(efforts.done().len(), 0);
}

#[test]
fn a_file_url_names_a_path_however_it_is_spelled() {
    let t = tree();
    let root = &t.root;
    for url in [
        format!("file://{root}/secrets/key"),
        format!("FILE://{root}/secrets/key"),
        format!("file:{root}/secrets/key"),
        format!("File:///{root}/secrets/key"),
        format!("file://LOCALHOST{root}/secrets/key"),
        format!("file://localhost{root}/secrets/key?x#y"),
        format!("file://127.0.0.1{root}/secrets/%6bey"),
        format!(" file:\\\\\\{root}\\secrets\\key "),
    ] {
        for name in ["path", "anything"] {
            let found = call(&t, "mcp__any__thing", serde_json::json!({ name: url })).unwrap();
            assert_eq!(found, ["write /secrets/key"], "{name} {url}");
        }
    }
    let none =
        serde_json::json!({"say": "File: see below", "other": "profile:/x", "url": "https://a/file:/x"});
    assert_eq!(call(&t, "mcp__any__thing", none).unwrap(), [""; 0]);
}

#[test]
fn without_a_home_a_tilde_is_an_error() {
    let cwd = AbsPath::root();
    let files = Files { home: None, held: false };
    assert!(Efforts::new(&files, &cwd, false).put("~/x").is_err());
    let mut efforts = Efforts::new(&files, &cwd, false);
    efforts.command("rm ~/x /usr").unwrap();
    let found = efforts.done();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].verb, Verb::Delete);
}
