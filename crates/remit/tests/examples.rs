//! The examples are checked, and their own tests run, as a user would.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests look at files")]

use anyhow::Result;
use std::path::Path;
use test_support::TestEnv;

#[test]
fn every_example_loads_and_its_own_tests_pass() -> Result<()> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for folder in std::fs::read_dir(&examples)? {
        let folder = folder?.path();
        for name in ["remit.yaml", "massgen-permissions.yaml"] {
            let Ok(text) = std::fs::read_to_string(folder.join(name)) else { continue };
            let env = TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit"));
            for base in ["workspace/claude", "workspace/gpt"] {
                std::fs::create_dir_all(env.project().join(base))?;
            }
            env.write(env.project().join(name), &text)?;
            let outcome = env.run(&mut env.remit(["check"])?)?;
            assert_eq!(outcome.code, 0, "{}: {}{}", folder.display(), outcome.stdout, outcome.stderr);
            assert!(!outcome.stderr.contains("error["), "{}: {}", folder.display(), outcome.stderr);
            // A test that must fail does fail: the examples' tests are not skipped.
            let bent = text.replacen("expect: allow", "expect: deny", 1);
            let bent = bent.replacen("\"expect\": \"allow\"", "\"expect\": \"deny\"", 1);
            env.write(env.project().join(name), bent)?;
            let outcome = env.run(&mut env.remit(["check"])?)?;
            assert_eq!(outcome.code, 3, "{}: {}", folder.display(), outcome.stdout);
            seen += 1;
        }
    }
    assert!(seen >= 8, "only {seen} examples were found");
    Ok(())
}

/// The same folders for every document of other tools, and what its agents may do in them.
const MEANING: &[(&str, &str, &str, &str, bool)] = &[
    ("pairs", "frontend-developer", "write", "frontend/a.ts", true),
    ("pairs", "frontend-developer", "read", "backend/a.ts", false),
    ("pairs", "frontend-developer", "read", "database/a.sql", false),
    ("pairs", "backend-developer", "write", "backend/a.ts", true),
    ("pairs", "backend-developer", "read", "frontend/a.ts", true),
    ("pairs", "backend-developer", "write", "frontend/a.ts", false),
    ("pairs", "backend-developer", "read", "database/a.sql", true),
    ("pairs", "backend-developer", "write", "database/a.sql", false),
    ("capabilities", "claude-code", "read", "shared/configs/a", true),
    ("capabilities", "claude-code", "write", "shared/configs/a", false),
    ("capabilities", "claude-code", "write", "claude-output/a", true),
    ("massgen", "claude-code", "write", "tmp/a", true),
    ("massgen", "claude-code", "write", "workspace/claude/a", true),
    ("massgen", "claude-code", "read", "workspace/shared/a", true),
    ("massgen", "claude-code", "write", "workspace/shared/a", false),
    ("massgen", "claude-code", "read", "workspace/other-agents/a", false),
    ("massgen", "claude-code", "read", "secrets/a", false),
    ("massgen", "gpt-analysis", "write", "workspace/gpt/a", true),
    ("massgen", "gpt-analysis", "write", "workspace/shared/a", true),
    ("massgen", "gpt-analysis", "read", "workspace/claude/public/a", true),
    ("massgen", "gpt-analysis", "write", "workspace/claude/public/a", false),
    ("massgen", "gpt-analysis", "read", "workspace/claude/a", false),
    ("massgen", "gpt-analysis", "read", "workspace/elsewhere", false),
];

#[test]
fn documents_of_other_tools_mean_what_they_say_to_explain_and_to_the_kernel() -> Result<()> {
    for (example, spelled) in [
        ("pairs", "pairs"),
        ("capabilities", "capabilities"),
        ("massgen", "massgen"),
        ("massgen", "massgen-json"),
    ] {
        let name = if example == "massgen" { "massgen-permissions.yaml" } else { "remit.yaml" };
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(spelled);
        let env = TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit"));
        env.write(env.project().join(name), std::fs::read(folder.join(name))?)?;
        let cases: Vec<_> = MEANING.iter().filter(|case| case.0 == example).collect();
        for (_, _, _, path, _) in &cases {
            env.write(env.project().join(path), "text\n")?;
        }
        for (_, agent, verb, path, may) in &cases {
            let said = env.run(&mut env.remit(["explain", agent, verb, path])?)?;
            assert_eq!(said.code, i32::from(!may), "{spelled} {agent} {verb} {path}: {}", said.stdout);
            let deed = if *verb == "read" { "cat" } else { "echo more >>" };
            let script = format!("{deed} {}", env.project().join(path).display());
            let done = env.run(&mut env.remit(["run", agent, "--", "/bin/sh", "-c", &script])?)?;
            assert_eq!(done.code == 0, *may, "{spelled} {agent} {script}: {}", done.stderr);
        }
    }
    Ok(())
}

#[test]
fn the_published_schema_is_the_one_that_is_printed() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let env = TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit"));
    let printed = env.run(&mut env.remit(["check", "--schema"])?)?.ended(0)?;
    let kept = std::fs::read_to_string(root.join("docs/remit.schema.json"))?;
    assert!(printed.stdout == kept, "`remit check --schema >docs/remit.schema.json` brings it up to date");
    Ok(())
}
