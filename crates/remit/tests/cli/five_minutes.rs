//! The page on writing a policy is gone through, step by step, as a reader would.

use crate::place::{empty, trimmed};
use anyhow::{Context, Result};
use std::path::Path;
use test_support::TestEnv;

/// The reader's folder, as the page calls it.
const FOLDER: &str = "/home/you/shop";

/// The fenced blocks of a page: language and text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let text = lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        blocks.push((language.to_owned(), text));
    }
    blocks
}

/// Each command of a console with what it is to say.
fn commands(text: &str) -> Vec<(&str, String)> {
    let mut commands: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, String::new())),
            (None, Some((_, said))) => said.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    commands
}

/// Whether a text is as the page shows it, where `…` stands for anything.
fn is_like(shown: &str, text: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn typed(env: &TestEnv, command: &str) -> Result<String> {
    let mut shell = env.command("/bin/sh")?;
    shell.args(["-c", &format!("exec 2>&1; {command}")]);
    let said = String::from_utf8(env.run(&mut shell)?.raw)?;
    Ok(trimmed(&said.replace(&env.project().display().to_string(), FOLDER)))
}

#[test]
fn every_step_of_the_page_says_what_the_page_shows() -> Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/write-a-policy.md");
    let page = std::fs::read_to_string(page)?;
    let env = empty()?;
    env.install("remit", Path::new(env!("CARGO_BIN_EXE_remit")))?;
    let (mut policies, mut typed_in) = (0, 0);
    for (language, text) in blocks(&page) {
        match language.as_str() {
            "yaml" => {
                env.write(env.project().join("remit.yaml"), &text)?;
                policies += 1;
            }
            "console" => {
                for (command, shown) in commands(&text) {
                    let said = typed(&env, command)?;
                    assert!(is_like(&trimmed(&shown), &said), "$ {command}\n{said}\nis not\n{shown}");
                    typed_in += 1;
                }
            }
            other => anyhow::bail!("a block of `{other}` is neither a policy nor a console"),
        }
    }
    assert!(policies >= 2 && typed_in >= 10, "{policies} policies, {typed_in} commands");
    Ok(())
}

#[test]
fn the_policy_of_the_page_stops_an_agent_without_what_it_needs() -> Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/write-a-policy.md");
    let page = std::fs::read_to_string(page)?;
    let (_, text) =
        blocks(&page).into_iter().rfind(|(language, _)| language == "yaml").context("a policy")?;
    let env = empty()?;
    env.repo()?.write("api/contract.md", "x")?;
    let line = "      - {path: \"api/contract.md\", access: read}\n";
    env.write(env.project().join("remit.yaml"), text.replacen(line, "", 1))?;
    let outcome = env.run(&mut env.remit(["run", "web", "--", "/bin/true"])?)?.ended(125)?;
    assert!(
        outcome
            .stderr
            .contains("add to `agents.web.permissions`: `- {path: \"api/contract.md\", access: read}`"),
        "{}",
        outcome.stderr
    );
    Ok(())
}

#[test]
fn only_what_is_left_out_may_differ() {
    assert!(is_like("a\n…\nd\n", "a\nb\nc\nd\n"));
    assert!(is_like("a …b\n", "a   b\n"));
    assert!(!is_like("a\n", "a\nb\n"));
    assert!(!is_like("a …b\n", "a c\n"));
}
