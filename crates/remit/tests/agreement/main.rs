//! One policy gives one answer at every door: the same cases through the library, through `explain`, through the
//! hook, and through the kernel, where a confined program really tries.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests look at files")]

mod book;
mod deeds;
mod doors;

use anyhow::{Context, Result};
use book::{Chapter, Said};
use serde_json::Value;
use std::sync::Mutex;
use test_support::TestEnv;

/// How many cases each door must have seen: library, `explain`, hook, kernel.
const LEAST: [usize; 4] = [550, 550, 510, 550];

/// In how many cases, at most, what is said beforehand may be something else than what comes of it.
const APART: usize = 3;

fn explain(env: &TestEnv, agent: &str, verb: &str, file: &str) -> Result<bool> {
    let outcome = env.run(&mut env.remit(["explain", agent, verb, file])?)?;
    match outcome.code {
        0 => Ok(true),
        1 => Ok(false),
        code => anyhow::bail!("{code}: {}", outcome.stderr),
    }
}

/// Whether the hook lets a call be made that it is told of outside of a session.
fn hooked(env: &TestEnv, agent: &str, payload: &str) -> Result<bool> {
    let root = env.project().display().to_string();
    let args = ["hook", "claude", "PreToolUse", "--root", &root, "--agent", agent];
    let outcome = env.feed(&mut env.remit(args)?, payload.as_bytes())?;
    match outcome.code {
        0 => Ok(true),
        2 => {
            let said: Value = serde_json::from_slice(&outcome.raw)?;
            let decision = &said["hookSpecificOutput"]["permissionDecision"];
            anyhow::ensure!(decision == "deny", "{said}");
            Ok(false)
        }
        code => anyhow::bail!("{code}: {}", outcome.stderr),
    }
}

/// What the doors have seen of the book, and where they are apart.
#[derive(Default)]
struct Tally {
    seen: [usize; 4],
    apart: Vec<String>,
}

/// The doors that answer before anything is done.
fn said(chapter: &Chapter, tally: &mut Tally) -> Result<()> {
    let env = chapter.lay()?;
    let library = doors::Library::open(&env)?;
    for (number, case) in chapter.cases.iter().enumerate() {
        let name = format!("{}: {} {} {}", chapter.name, case.agent, case.verb, case.path);
        let (by_library, rule) = library.says(&env, case).with_context(|| name.clone())?;
        let (by_explain, rules) = doors::explain(&env, case).with_context(|| name.clone())?;
        let hook = doors::hook(&env, number, case).with_context(|| name.clone())?;
        let seen = [true, true, hook.is_some(), false];
        tally.seen.iter_mut().zip(seen).for_each(|(sum, one)| *sum += usize::from(one));
        let mut apart = |what: String| tally.apart.push(format!("{name}: {what}"));
        if by_library != case.expected || by_explain != case.expected {
            apart(format!("library {by_library:?}, explain {by_explain:?}, by {rule:?}"));
        }
        if hook.is_some_and(|hook| hook != (case.expected == Said::Yes)) {
            apart(format!("hook {hook:?}"));
        }
        if case.rule.is_some() && rule.as_deref() != case.rule {
            apart(format!("decided by {rule:?}"));
        }
        if rule.as_ref().is_some_and(|rule| !rules.contains(rule)) {
            apart(format!("decided by {rule:?} in the library, by {rules:?} in explain"));
        }
    }
    Ok(())
}

/// What is really done, by each agent where nobody has been before.
fn done(chapter: &Chapter, tally: &mut Tally) -> Result<()> {
    let mut agents: Vec<&str> = chapter.cases.iter().map(|case| case.agent).collect();
    agents.sort_unstable();
    agents.dedup();
    for agent in agents {
        let env = chapter.lay()?;
        let cases: Vec<_> = chapter.cases.iter().filter(|case| case.agent == agent).collect();
        let answers = doors::kernel(&env, agent, &cases).with_context(|| agent.to_owned())?;
        for (case, answer) in cases.into_iter().zip(answers) {
            let Some(answer) = answer else { continue };
            tally.seen[3] += 1;
            if answer != case.done {
                let name = format!("{}: {agent} {} {}", chapter.name, case.verb, case.path);
                tally.apart.push(format!("{name}: kernel {answer}"));
            }
        }
    }
    Ok(())
}

#[test]
fn every_case_has_one_answer_at_every_door() -> Result<()> {
    let chapters = book::chapters()?;
    let apart = chapters.iter().flat_map(|chapter| &chapter.cases).filter(|case| case.is_apart()).count();
    assert!(apart <= APART, "{apart} cases of the book are apart");
    let (next, total) = (Mutex::new(chapters.iter()), Mutex::new(Tally::default()));
    let work = || {
        while let Some(chapter) = next.lock().ok().and_then(|mut next| next.next()) {
            let mut tally = Tally::default();
            if let Err(error) = said(chapter, &mut tally).and_then(|()| done(chapter, &mut tally)) {
                tally.apart.push(format!("{}: {error:#}", chapter.name));
            }
            let Ok(mut total) = total.lock() else { break };
            total.seen.iter_mut().zip(tally.seen).for_each(|(sum, more)| *sum += more);
            total.apart.extend(tally.apart);
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    let total = total.into_inner().context("a chapter broke off")?;
    assert!(total.apart.is_empty(), "{:?}\n{}", total.seen, total.apart.join("\n"));
    let enough = total.seen.iter().zip(LEAST).all(|(seen, least)| *seen >= least);
    assert!(enough, "the doors have seen {:?} cases of {LEAST:?}", total.seen);
    Ok(())
}
