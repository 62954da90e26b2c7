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
            env.write(env.project().join(name), &text)?;
            let outcome = env.run(&mut env.remit(["check"])?)?;
            assert_eq!(outcome.code, 0, "{}: {}{}", folder.display(), outcome.stdout, outcome.stderr);
            // A test that must fail does fail: the examples' tests are not skipped.
            let bent = text.replacen("expect: allow", "expect: deny", 1);
            env.write(env.project().join(name), bent)?;
            let outcome = env.run(&mut env.remit(["check"])?)?;
            assert_eq!(outcome.code, 3, "{}: {}", folder.display(), outcome.stdout);
            seen += 1;
        }
    }
    assert!(seen >= 4, "only {seen} examples were found");
    Ok(())
}
