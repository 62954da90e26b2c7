//! State does not lie where agents work, nor agents where the states lie.

use crate::place::{POLICY, remit, workspace};
use anyhow::Result;
use std::path::Path;
use test_support::TestEnv;
use test_support::env::Outcome;

fn with(env: &TestEnv, variable: &str, value: &Path, args: &[&str]) -> Result<Outcome> {
    let mut command = env.remit(args)?;
    command.env_remove("REMIT_STATE_DIR").env(variable, value);
    env.run(&mut command)
}

/// Everything that opens the state refuses, and nothing is made in `folder`.
fn refused(env: &TestEnv, variable: &str, value: &Path, tree: &Path) -> Result<()> {
    for (args, code) in [
        (&["run", "--", "/bin/true"][..], 125),
        (&["log"], 3),
        (&["log", "-f"], 3),
        (&["verify"], 3),
        (&["check"], 3),
        (&["hooks", "install", "claude"], 3),
    ] {
        let outcome = with(env, variable, value, args)?;
        assert_eq!(outcome.code, code, "{variable} {args:?}: {}{}", outcome.stdout, outcome.stderr);
        let inside = format!("lies inside `{}`", env.normal(&tree.display().to_string()));
        assert!(outcome.stderr.contains(&inside), "{args:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("hint: set `REMIT_STATE_DIR` to"), "{}", outcome.stderr);
    }
    let doctor = with(env, variable, value, &["doctor"])?;
    assert!(
        doctor.stdout.contains("fail  state") && doctor.stdout.contains("`REMIT_STATE_DIR`"),
        "{}",
        doctor.stdout
    );
    Ok(())
}

#[test]
fn a_state_inside_the_workspace_is_refused_whatever_leads_there() -> Result<()> {
    let env = workspace()?;
    let project = env.project();
    std::os::unix::fs::symlink(&project, env.root().join("alias"))?;
    std::os::unix::fs::symlink("project/not/yet", env.root().join("dangling"))?;
    std::fs::create_dir(env.root().join("beside"))?;
    for value in ["project", "project/.state", "project/a/b", "alias/x", "dangling", "beside/../project/y"] {
        refused(&env, "REMIT_STATE_DIR", &env.root().join(value), &project)?;
    }
    refused(&env, "XDG_STATE_HOME", &project.join("xdg"), &project)?;
    for name in [".state", "a", "x", "not", "y", "xdg"] {
        assert!(!project.join(name).exists(), "{name} was made");
    }
    // The name of the folder is not what counts.
    with(&env, "REMIT_STATE_DIR", &env.root().join("project-state"), &["run", "--", "/bin/true"])?
        .ended(0)?;
    Ok(())
}

#[test]
fn a_state_inside_the_main_checkout_or_the_worktree_is_refused_in_both() -> Result<()> {
    let env = workspace()?;
    env.repo()?.commit("first")?;
    let (main, linked) = (env.project(), env.root().join("linked"));
    let add = ["worktree", "add", "-q", "../linked"];
    env.run(env.command("git")?.args(add))?.ended(0)?;
    env.write(linked.join("below/remit.yaml"), POLICY)?;
    for (from, tree) in
        [("linked", &main), ("linked", &linked), ("linked/below", &linked), ("linked/below", &main)]
    {
        let mut command = env.remit(["log"])?;
        command.current_dir(env.root().join(from)).env("REMIT_STATE_DIR", tree.join("state"));
        let outcome = env.run(&mut command)?.ended(3)?;
        let inside = format!("lies inside `{}`", env.normal(&tree.display().to_string()));
        assert!(outcome.stderr.contains(&inside), "{from}: {}", outcome.stderr);
    }
    assert!(!main.join("state").exists() && !linked.join("state").exists());
    Ok(())
}

#[test]
fn a_home_that_is_a_checkout_keeps_the_state_of_what_lies_in_it() -> Result<()> {
    let env = workspace()?;
    env.run(env.command("git")?.args(["init", "-q"]).arg(env.home()))?.ended(0)?;
    env.write("home/notes/remit.yaml", POLICY)?;
    let mut command = env.remit(["run", "--", "/bin/true"])?;
    command.current_dir(env.home().join("notes")).env_remove("XDG_STATE_HOME").env_remove("REMIT_STATE_DIR");
    env.run(&mut command)?.ended(0)?;
    assert!(env.home().join(".local/state/remit").exists());
    Ok(())
}

#[test]
fn a_workspace_in_the_folder_of_all_states_is_refused() -> Result<()> {
    let env = workspace()?;
    let outcome = with(&env, "REMIT_STATE_DIR", env.root(), &["run", "--", "/bin/true"])?.ended(125)?;
    assert!(outcome.stderr.contains("lies inside `[ROOT]`, the folder of all states"), "{}", outcome.stderr);
    assert_eq!(remit(&env, &["run", "--", "/bin/true"])?.code, 0);
    Ok(())
}
