//! Sessions side by side on one tree: what one may not make, two do not make together.

use crate::place::{each_user, remit, sh, state};
use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use std::fs::OpenOptions;
use std::process::Stdio;
use std::time::Instant;
use test_support::TestEnv;

const POLICY: &str = r#"version: "1.0"
agents:
  default:
    permissions:
      - {path: ".", access: all}
      - {path: "src/*/k", access: none}
"#;

/// Makes `d/k` and removes it again, as often as it is told.
const MAKES: &str = r"
use Fcntl;
for (1..3000) {
    if (sysopen(my $file, 'd/k', O_CREAT|O_EXCL|O_WRONLY)) {
        $made++;
        close $file;
        unlink 'd/k' or unlink 'src/d/k';
    }
}
print qq(made $made\n);
";

/// Moves `d` to where it may not hold a `k`, and back.
const MOVES: &str = r"
for (1..3000) {
    $moved++ if rename 'd', 'src/d';
    if (-e 'src/d/k') { print qq(there is a src/d/k\n); exit 1 }
    rename 'src/d', 'd';
}
print qq(moved $moved\n);
";

fn paths(env: &TestEnv) -> Result<Vec<String>> {
    let outcome = remit(env, &["log", "--json", "-n", "0"])?.ended(0)?;
    let text = String::from_utf8(outcome.raw)?;
    let mut allowed = Vec::new();
    for line in text.lines() {
        let record = &serde_json::from_str::<Value>(line)?["record"];
        if record["effect"] == "allow" && record["event"] == "access" {
            allowed.extend(["path", "to"].iter().filter_map(|key| Some(record[key].as_str()?.to_owned())));
        }
    }
    Ok(allowed)
}

#[test]
fn a_name_that_is_forbidden_below_a_folder_is_not_made_while_another_session_moves_the_folder() -> Result<()>
{
    each_user(POLICY, |env| {
        // Owned by whoever runs the session.
        sh(env, "mkdir d")?.ended(0)?;
        let start = |script: &str| -> Result<_> {
            let mut command = env.remit(["run", "--", "perl", "-e", script])?;
            Ok(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?)
        };
        let (makes, moves) = (start(MAKES)?, start(MOVES)?);
        for (child, word) in [(makes, "made "), (moves, "moved ")] {
            let output = child.wait_with_output()?;
            let said = String::from_utf8_lossy(&output.stdout);
            let count = said.trim().strip_prefix(word).with_context(|| format!("{said:?}"))?;
            assert!(output.status.success() && count.parse::<u32>()? > 0, "{said}");
        }
        let paths = paths(env)?;
        assert!(paths.iter().any(|path| path.ends_with("/d/k")), "{paths:?}");
        assert!(!paths.iter().any(|path| path.ends_with("/src/d/k")), "what was judged is what was done");
        Ok(())
    })
}

#[test]
fn a_session_that_was_stopped_in_the_middle_of_a_move_holds_the_others_up_for_seconds_only() -> Result<()> {
    each_user(POLICY, |env| {
        sh(env, "echo x >first")?.ended(0)?;
        let lock = OpenOptions::new().read(true).write(true).open(state(env)?.join("tree.lock"))?;
        flock(&lock, FlockOperation::LockShared)?;
        sh(env, "echo x >second && echo y >>second")?.ended(0)?;
        let since = Instant::now();
        let outcome = sh(env, "mv second third 2>&1 || echo refused; ls")?.ended(0)?;
        assert!(outcome.stdout.contains("Resource temporarily unavailable"), "{}", outcome.stdout);
        assert!(since.elapsed().as_secs() < 60);
        flock(&lock, FlockOperation::Unlock)?;
        sh(env, "mv second third && rm third")?.ended(0)?;
        Ok(())
    })
}
