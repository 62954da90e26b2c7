//! Needs and offers, over documents that nobody has thought of: a line that is proposed does grant.
#![cfg(test)]

use proptest::prelude::*;
use remit_config::{load, provides, requires};
use remit_core::AbsPath;
use remit_policy::{Access, BaseRule, Policy, Remedy, World};

const PATTERNS: &[&str] = &[
    ".",
    "web/**",
    "web/src",
    "web/src/*.ts",
    "web/**/*.md",
    "**/*.md",
    "*.md",
    "docs/*/index",
    "a\\\\[b",
    "\\\\*/k",
    "/",
    "/web/src/**",
    "/usr/lib",
    "/usr/**/*.so",
    "~/notes",
    "~/notes/*.txt",
];
const ACCESS: &[&str] = &["read", "write", "read-write", "execute", "all"];

#[derive(Debug, Clone)]
struct Document {
    workspace_root: bool,
    base_workspace: Option<&'static str>,
    ceiling: Option<&'static str>,
    all: Vec<(&'static str, &'static str)>,
    own: Vec<(&'static str, &'static str)>,
    need: (&'static str, &'static str),
}

fn documents() -> impl Strategy<Value = Document> {
    let pattern = || prop::sample::select(PATTERNS);
    let rule = || (pattern(), prop::sample::select(ACCESS));
    let rules = || prop::collection::vec(rule(), 0..4);
    let none = (pattern(), Just("none"));
    let globals = (prop::collection::vec(rule(), 0..2), prop::collection::vec(none, 0..2));
    let ceiling = prop::option::weighted(0.3, prop::sample::select(ACCESS));
    let base = prop::option::of(prop::sample::select(&["web", "web/src"][..]));
    (any::<bool>(), base, ceiling, globals, rules(), rule()).prop_map(
        |(workspace_root, base_workspace, ceiling, globals, own, need)| Document {
            workspace_root,
            base_workspace,
            ceiling,
            all: [globals.0, globals.1].concat(),
            own,
            need: if need.0.starts_with("**") { (need.0, "read") } else { need },
        },
    )
}

impl Document {
    /// Its text, with more lines among the rules of `a`. `b` offers what `a` needs, in the words of a policy whose
    /// folder is the workspace.
    fn text(&self, more: &str) -> String {
        let mut text = String::from("version: \"1.0\"\n");
        if self.workspace_root {
            text.push_str("root: workspace\n");
        }
        let rules = |list: &[(&str, &str)]| -> String {
            // What names no folder can only take away.
            let takes = |pattern: &str, access: &str| {
                !pattern.starts_with("**") || ["none", "read"].contains(&access)
            };
            let kept = list.iter().filter(|(pattern, access)| takes(pattern, access));
            let line = |(pattern, access): &(&str, &str)| {
                format!("      - {{path: \"{pattern}\", access: {access}}}\n")
            };
            line(&("unlike/all", "read")) + &kept.map(line).collect::<String>()
        };
        text.push_str(&format!("global_rules:\n{}agents:\n  a:\n", rules(&self.all)));
        if let Some(folder) = self.base_workspace {
            text.push_str(&format!("    base_workspace: {folder}\n"));
        }
        if let Some(access) = self.ceiling {
            text.push_str(&format!("    max_access: {access}\n"));
        }
        let need = format!("[{{path: \"{}\", access: {}}}]", self.need.0, self.need.1);
        text.push_str(&format!("    permissions:\n{}{more}", rules(&self.own)));
        text.push_str(&format!("    capabilities: {{requires: {need}}}\n"));
        text + &format!("  b:\n    capabilities: {{provides: {need}}}\n")
    }
}

fn compiled(text: &str) -> Policy {
    let path = |path: &str| AbsPath::new(path).unwrap();
    let usr = BaseRule {
        path: path("/usr"),
        access: Access::READ.union(Access::EXECUTE),
        id: "base.usr".into(),
        why: "system programs and libraries".into(),
    };
    let world = World {
        workspace: path("/w"),
        home: path("/home/me"),
        base: vec![usr],
        sealed: vec![path("/state")],
        protected: Vec::new(),
        git_dirs: vec![path("/w/.git")],
        linked: None,
        private: vec![path("/home/agent")],
        single_files: Default::default(),
    };
    let source =
        load("remit.yaml", text.as_bytes()).unwrap_or_else(|findings| panic!("{text}\n{findings:#?}"));
    Policy::compile(&source, &world).unwrap_or_else(|findings| panic!("{text}\n{findings:#?}")).policy
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_line_that_is_proposed_grants_what_was_missing(document in documents()) {
        let policy = compiled(&document.text(""));
        let of_both = |policy: &Policy| [requires(policy, "a"), provides(policy, Some("a"))];
        for (at, told) in of_both(&policy).iter().enumerate() {
            let claim = told[0].claim.as_ref().unwrap();
            let Some(Remedy::Add { list, lines, .. }) = &claim.remedy else { continue };
            prop_assert_eq!(list, "agents.a.permissions");
            let grown = document.text(&lines.iter().map(|line| format!("      {line}\n")).collect::<String>());
            let after = of_both(&compiled(&grown));
            let claim = after[at][0].claim.as_ref().unwrap();
            prop_assert_eq!(claim.granted, Some(true), "{}\n{:?}", grown, claim);
        }
    }

    /// An offer is no rule: without it every answer is the same.
    #[test]
    fn capabilities_widen_nothing(document in documents()) {
        let with = compiled(&document.text(""));
        let text = document.text("");
        let without: String =
            text.lines().filter(|line| !line.contains("capabilities")).map(|line| format!("{line}\n")).collect();
        let without = compiled(&without.replace("  b:\n", "  b: {}\n"));
        for path in ["/w", "/w/web", "/w/web/src/x.ts", "/w/x.md", "/w/web/x.md", "/usr/lib/x", "/home/me/notes/x.txt"] {
            let path = AbsPath::new(path).unwrap();
            for agent in ["a", "b"] {
                let access = |policy: &Policy| policy.agent(agent).unwrap().access(&path);
                prop_assert_eq!(access(&with), access(&without));
            }
        }
    }
}
