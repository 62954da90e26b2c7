//! What a compiled policy says of itself: contradictions, dead rules, needs, offers, its own tests.
#![cfg(test)]

use remit_config::{check, load, none_but_tracked, run_tests};
use remit_core::{AbsPath, Diagnostic};
use remit_policy::{Access, BaseRule, Policy, World};
use std::fmt::Write;

fn world() -> World {
    let path = |path: &str| AbsPath::new(path).unwrap();
    let usr = BaseRule {
        path: path("/usr"),
        access: Access::READ.union(Access::EXECUTE),
        id: "base.usr".into(),
        why: "system programs and libraries".into(),
    };
    World {
        workspace: path("/w"),
        home: path("/home/me"),
        base: vec![usr],
        sealed: vec![path("/state")],
        protected: Vec::new(),
        git_dirs: Vec::new(),
        linked: None,
        private: vec![path("/home/agent")],
        single_files: Default::default(),
    }
}

fn policy(text: &str) -> Policy {
    let source = load("remit.yaml", text.as_bytes()).unwrap_or_else(|findings| panic!("{findings:#?}"));
    Policy::compile(&source, &world()).unwrap_or_else(|findings| panic!("{findings:#?}")).policy
}

fn shown(findings: Vec<Diagnostic>) -> String {
    let mut out = String::new();
    for finding in findings {
        writeln!(out, "{} {:?} {}: {}", finding.place, finding.severity, finding.code, finding.message)
            .unwrap();
        for (place, what) in &finding.related {
            writeln!(out, "    {place} {what}").unwrap();
        }
        if let Some(help) = &finding.help {
            writeln!(out, "    {help}").unwrap();
        }
    }
    out
}

fn said(text: &str) -> String {
    let policy = policy(text);
    let mut findings = check(&policy);
    findings.extend(run_tests(&policy));
    shown(findings)
}

/// A policy of massgen says nothing that contradicts itself.
#[test]
fn good_documents_are_silent() {
    assert_eq!(said(include_str!("massgen.yaml")), "");
    assert_eq!(said("version: \"1.0\"\n"), "");
}

#[test]
fn proposals_are_silent_and_pass_their_own_tests() {
    use remit_config::init::{AgentFound, Facts, propose};
    let agent = |name: &str| AgentFound { name: name.to_owned(), cli: name.to_owned() };
    let secrets = ["secrets/", "deploy key[1].json", ".aws/", ".env", "secrets/deep.key", "certs/server.pem"];
    let facts = [
        Facts::default(),
        Facts {
            agents: vec![agent("claude"), agent("codex"), agent("claude"), agent("default"), agent("a b")],
            languages: vec!["rust".to_owned(), "node".to_owned()],
            secrets: secrets.map(str::to_owned).to_vec(),
            is_git: true,
            ..Facts::default()
        },
        Facts {
            languages: vec!["python".to_owned()],
            secrets: vec!["certs/server.pem".to_owned()],
            ..Facts::default()
        },
        Facts {
            secrets: vec!["../x".to_owned(), "a\nb".to_owned(), "/etc/x".to_owned()],
            tracked: vec!["c\nd/.env.local".to_owned(), "e\n- f.pem".to_owned()],
            ..Facts::default()
        },
    ];
    for facts in facts {
        let text = propose(&facts);
        let source =
            load("remit.yaml", text.as_bytes()).unwrap_or_else(|findings| panic!("{text}\n{findings:#?}"));
        let compiled = Policy::compile(&source, &world()).unwrap_or_else(|findings| panic!("{findings:#?}"));
        assert_eq!(shown(compiled.notes), "", "{text}");
        assert_eq!(said(&text), "", "{text}");
        assert!(source.tests.len() >= 3);
        assert!(source.agents.contains_key("default"));
    }
}

#[test]
fn a_proposal_forbids_what_looks_secret_by_name_and_where_it_was_found() {
    use remit_config::init::{Facts, propose};
    use remit_core::path::escape;
    let secrets = ["secrets/", "deploy key[1].json", "odd\\name", "~tilde", "$var", "!bang"];
    let text = propose(&Facts { secrets: secrets.map(str::to_owned).to_vec(), ..Facts::default() });
    let policy = policy(&text);
    let agent = policy.agent("default").unwrap();
    let mut paths = vec![".env", "a/b/.env.local", ".env.production", "x/id_ed25519", "secrets/deep/x"];
    paths.extend(&secrets[1..]);
    for path in paths {
        let path = AbsPath::new(format!("/w/{path}")).unwrap();
        assert!(agent.none_rule(&path).is_some(), "{}\n{text}", escape(path.as_bytes()));
    }
    for path in [".env.example", "README.md", "deploy key1.json", "site-packages/certifi/cacert.pem"] {
        let path = AbsPath::new(format!("/w/{path}")).unwrap();
        assert_eq!(agent.access(&path), Access::ALL, "{path}");
    }
}

#[test]
fn a_proposal_hides_nothing_that_git_tracks() {
    use remit_config::init::{Facts, propose};
    let tracked = ["a/.env", "b/.env", "c/.env.test.local", "secrets/", "tls/dev.key"];
    let secrets = [".env", "secrets/prod.key", "d/.env.x.local", ".env.local"];
    let text = propose(&Facts {
        secrets: secrets.map(str::to_owned).to_vec(),
        tracked: tracked.map(str::to_owned).to_vec(),
        ..Facts::default()
    });
    let policy = policy(&text);
    let top = AbsPath::new("/w").unwrap();
    let files = ["a/.env", "b/.env", "c/.env.test.local", "secrets/README.md", "tls/dev.key"];
    assert_eq!(shown(none_but_tracked(&policy, &top, files.iter().map(|file| file.as_bytes()))), "");
    let agent = policy.agent("default").unwrap();
    for path in secrets {
        let path = AbsPath::lexical(&top, path).unwrap();
        assert!(agent.none_rule(&path).is_some(), "{path}");
    }
    assert_eq!(said(&text), "");

    let all = [".env", ".env.local", ".env.x.local", ".env.development", ".env.staging", ".env.production"];
    let all = all.into_iter().chain(["id_rsa", "id_ecdsa", "id_ed25519", ".netrc"]).map(str::to_owned);
    let text = propose(&Facts { tracked: all.collect(), ..Facts::default() });
    assert!(load("remit.yaml", text.as_bytes()).unwrap().global_rules.is_empty());
}

#[test]
fn contradictions_in_one_list() {
    let text = r#"version: "1.0"
agents:
  a:
    permissions:
      - {path: "src/**", access: read}
      - {path: "docs", access: read}
      - {path: "./src/", access: all}
      - {path: "docs/*", access: none}
      - {path: "docs", access: read}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:7:16 Error contradiction: `./src/ all` contradicts another rule for the same paths
        remit.yaml:5:16 `src/** read` stands here
        keep the one that is meant
    remit.yaml:8:16 Error contradiction: `docs/* none` contradicts another rule for the same paths
        remit.yaml:6:16 `docs read` stands here
        keep the one that is meant
    remit.yaml:9:16 Note repeated-rule: `docs read` says what another rule says
        remit.yaml:6:16 `docs read` stands here
        remove one of the two
    ");
}

#[test]
fn global_rules_for_the_same_agent_contradict_and_others_do_not() {
    let text = r#"version: "1.0"
global_rules:
  - {path: x, access: read, for: [a]}
  - {path: x, access: all, for: r}
  - {path: x, access: write, for: c}
roles: {r: {}}
agents: {a: {roles: r}, b: {roles: r}, c: {}}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:4:12 Error contradiction: `x all` contradicts another rule for the same paths
        remit.yaml:3:12 `x read` stands here
        keep the one that is meant
    ");
}

#[test]
fn a_role_may_narrow_another_and_an_agent_its_role() {
    let text = r#"version: "1.0"
roles:
  base: {permissions: {docs: read-write}}
  dev: {extends: base, permissions: {docs: read}}
agents: {a: {roles: dev, permissions: {docs: read-write}}}
"#;
    insta::assert_snapshot!(said(text), @"");
}

#[test]
fn repeated_rules() {
    let text = r#"version: "1.0"
global_rules:
  - {path: "x/**", access: none, for: all}
  - {path: "x", access: none}
agents: {a: {}, b: {}}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:4:12 Note repeated-rule: `x none` says what another rule says
        remit.yaml:3:12 `x/** none` stands here
        remove one of the two
    ");
}

#[test]
fn dead_rules() {
    let text = r#"version: "1.0"
global_rules:
  - {path: "secrets/**", access: none}
  - {path: "**/.env", access: none, for: a}
roles:
  r: {permissions: {secrets/a: read, "secrets/*.txt": read, src/.env: read, "conf/*/.env": read}}
agents:
  a: {roles: r, permissions: {"src/**": all, "secret/**": all}}
  b: {roles: r}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:6:21 Warning dead-rule: `secrets/a read` grants nothing: a `none` covers all of it, and nothing reopens that
        remit.yaml:3:12 `secrets/** none` stands here
        remove the rule
    remit.yaml:6:38 Warning dead-rule: `secrets/*.txt read` grants nothing: a `none` covers all of it, and nothing reopens that
        remit.yaml:3:12 `secrets/** none` stands here
        remove the rule
    ");
}

#[test]
fn the_first_none_that_covers_a_rule_with_wildcards_is_named() {
    let text = r#"version: "1.0"
agents:
  a:
    permissions:
      - {path: "src/*b*.rs", access: none}
      - {path: "src/*a*", access: none}
      - {path: "src/**/x*", access: none}
      - {path: "src/*ab*.rs", access: all}
      - {path: "src/*ba*.rs", access: none}
      - {path: "src/*c*.rs", access: all}
      - {path: "src/*/xy?/*.rs", access: all}
      - {path: "src/*a*", access: all}
"#;
    let told: Vec<String> =
        said(text).lines().filter(|l| l.starts_with("remit")).map(str::to_owned).collect();
    let dead = |at: &str| told.iter().any(|line| line.starts_with(at) && line.contains("dead-rule"));
    assert!(dead("remit.yaml:8:") && dead("remit.yaml:11:"), "{told:#?}");
    assert_eq!(told.iter().filter(|line| line.contains("dead-rule")).count(), 2, "{told:#?}");
    assert!(said(text).contains("remit.yaml:5:16 `src/*b*.rs none` stands here"), "{}", said(text));
}

#[test]
fn needs_and_offers() {
    let text = r#"version: "1.0"
global_rules: [{path: keys, access: none}]
agents:
  a:
    permissions: {"src/**": read}
    max_access: read
    capabilities:
      requires:
        - {path: "src/api.md", access: read, reason: "x"}
        - {path: "docs/**/*.md", access: read}
        - {path: "keys/k", access: read}
        - {path: "src/out", access: read-write}
        - {path: "/usr/bin", access: execute}
        - {path: "src/[^a-z]", access: read}
        - {path: ".git/hooks", access: read-write}
      provides:
        - {path: "src/dist", access: read}
        - {path: "other", access: read, description: "x"}
"#;
    insta::assert_snapshot!(said(text), @r#"
    remit.yaml:10:18 Error requires-not-granted: `a` needs `docs/**/*.md read`, and is denied it: no rule covers it, and the default is to deny
        add to `agents.a.permissions`: `- {path: "docs/**/*.md", access: read}`
    remit.yaml:11:18 Error requires-not-granted: `a` needs `keys/k read`, and is denied it: the path is out of bounds by rule `keys none` (remit.yaml:2)
        what would change it: change `keys none` (remit.yaml:2)
    remit.yaml:12:18 Error requires-not-granted: `a` needs `src/out read-write`, and is denied it: not granted by rule `src/** read` (remit.yaml:5)
        what would change it: change `src/** read` (remit.yaml:5)
    remit.yaml:14:18 Note capability-not-judged: whether `a` has `src/[^a-z] read` cannot be told from the pattern
    remit.yaml:15:18 Error requires-not-granted: `a` needs `.git/hooks read-write`, and is denied it: what git runs by itself is protected, and no rule or grant lifts that
        what would change it: nothing: what git runs by itself is protected
    remit.yaml:18:18 Error provides-beyond-own: `a` offers `other read`, and is denied it: no rule covers it, and the default is to deny
        add to `agents.a.permissions`: `- {path: other, access: read}`
    "#);
}

#[test]
fn tests_of_the_policy() {
    let text = r#"version: "1.0"
root: host
default_policy: ask
allow_insecure_default: true
global_rules: [{path: keys, access: none}]
agents:
  a: {base_workspace: app, permissions: {"src/**": read}}
tests:
  - {agent: a, verb: read, path: src/x, expect: allow}
  - {agent: a, verb: write, path: src/x, expect: allow}
  - {agent: a, verb: read, path: /w/keys/k, expect: allow}
  - {agent: a, verb: read, path: other, expect: deny}
  - {agent: a, verb: write, path: /w/remit.yaml, expect: ask}
  - {agent: a, verb: read, path: ../x, expect: deny}
  - {agent: a, verb: read, path: ~/x, expect: ask}
  - {agent: a, verb: read, path: "src/*", expect: deny}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:10:50 Error failed-test: `a` write `src/x` came out as `deny`, not `allow`: agent layer, not granted by rule `src/** read` (remit.yaml:7)
        remit.yaml:7:42 `src/** read` decided
        mend the rule, or the test if the answer is the right one
    remit.yaml:11:53 Error failed-test: `a` read `/w/keys/k` came out as `deny`, not `allow`: system layer, the path is out of bounds by rule `keys none` (remit.yaml:5)
        remit.yaml:5:23 `keys none` decided
        mend the rule, or the test if the answer is the right one
    remit.yaml:12:49 Error failed-test: `a` read `other` came out as `ask`, not `deny`: agent layer, no rule covers it, and the default is to ask, but nobody can be asked yet
        remit.yaml:3:17 `default_policy: ask` decided
        mend the rule, or the test if the answer is the right one
    remit.yaml:13:58 Error failed-test: `a` write `/w/remit.yaml` came out as `deny`, not `ask`: protected layer, the policy is protected, and no rule or grant lifts that
        mend the rule, or the test if the answer is the right one
    remit.yaml:14:34 Error bad-test-path: `../x` is no path to test: the path has a `..` component
    remit.yaml:16:51 Error failed-test: `a` read `src/*` came out as `allow`, not `deny`: agent layer, granted by rule `src/** read` (remit.yaml:7)
        remit.yaml:7:42 `src/** read` decided
        mend the rule, or the test if the answer is the right one
    ");
}

#[test]
fn tests_with_the_workspace_as_root() {
    let text = r#"version: "1.0"
root: workspace
agents:
  a: {base_workspace: /app, permissions: {"/src": read}}
tests:
  - {agent: a, verb: read, path: /src/x, expect: allow}
  - {agent: a, verb: read, path: src/x, expect: deny}
"#;
    insta::assert_snapshot!(said(text), @"");
}

fn of_tracked(text: &str, tracked: &[&str]) -> String {
    let top = AbsPath::new("/w").unwrap();
    shown(none_but_tracked(&policy(text), &top, tracked.iter().map(|name| name.as_bytes())))
}

#[test]
fn a_secret_that_git_tracks_is_told_with_the_way_out() {
    let text = r#"version: "1.0"
global_rules:
  - {path: "**/.env", access: none}
  - {path: "secrets/**", access: none, for: a}
  - {path: "gone/**", access: none}
agents: {a: {permissions: {"/w": all}}, b: {permissions: {"src": read}}}
"#;
    let tracked = [".env", "README.md", "app/.env", "secrets/it's\u{202e}", "src/.envrc"];
    insta::assert_snapshot!(of_tracked(text, &tracked), @r"
    remit.yaml:3:12 Error none-but-tracked: `**/.env none` covers `.env` and another, which git tracks: `git show` reads it from git's records, and `git add -A`, `git commit -a` or `git stash` inside fail on it
        `git rm --cached -- .env` and commit; what was committed before stays readable until the history is rewritten, so change the secret; or write `git: none` for the agent, which then has no `.git`
    remit.yaml:4:12 Error none-but-tracked: `secrets/** none` covers `secrets/it's\xe2\x80\xae`, which git tracks: `git show` reads it from git's records, and `git add -A`, `git commit -a` or `git stash` inside fail on it
        `git rm --cached -- 'secrets/it'\''s\xe2\x80\xae'` and commit; what was committed before stays readable until the history is rewritten, so change the secret; or write `git: none` for the agent, which then has no `.git`
    ");
    assert_eq!(of_tracked(text, &["README.md", "envs/x"]), "");
}

#[test]
fn who_cannot_read_git_is_not_told_of_what_it_tracks() {
    let text = |more: &str| {
        format!(
            "version: \"1.0\"\nagents: {{a: {{permissions: {{\"/w\": all, \"/w/.env\": none{more}}}}}}}\n"
        )
    };
    assert_ne!(of_tracked(&text(""), &[".env"]), "");
    assert_eq!(of_tracked(&text(", \"/w/.git\": none"), &[".env"]), "");
    assert_eq!(
        of_tracked("version: \"1.0\"\nagents: {a: {permissions: {\"/w/.env\": none}}}\n", &[".env"]),
        ""
    );
}
