//! The main job on real input: the real Claude Code, headless, in a real git repository, told to do what it
//! may and what it may not.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests look at files")]

use anyhow::{Context, Result};
use serde_json::{Value, json};
use test_support::{Block, Claude, Model, Script, TestEnv};

const POLICY: &str = r#"version: "1.0"
default_policy: deny
global_rules:
  - {path: "secrets/**", access: none, for: all}
agents:
  claude:
    cli: claude
    permissions:
      - {path: ".", access: all}
      - {path: "forbidden/**", access: read}
"#;

const TOOLS: &[&str] = &["Bash", "Read", "Write", "Edit"];

struct Run {
    env: TestEnv,
    model: Model,
}

impl Run {
    /// Plays the whole script under `remit run claude`, with these arguments of remit's own.
    fn play(remit_args: &[&str]) -> Result<Self> {
        let env = TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit"));
        let repo = env.repo()?;
        repo.write("remit.yaml", POLICY)?;
        repo.write("allowed/README", "here\n")?;
        repo.write("forbidden/README", "look, do not touch\n")?;
        repo.write("secrets/key.txt", "not-a-real-secret\n")?;
        repo.write(".gitignore", "secrets/\n")?;
        repo.commit("a repository")?;
        let at = |name: &str| env.project().join(name).display().to_string();
        let turns = [
            Block::tool("Write", json!({"file_path": at("allowed/a.txt"), "content": "fine\n"})),
            Block::tool("Write", json!({"file_path": at("forbidden/x.txt"), "content": "no\n"})),
            Block::tool(
                "Bash",
                json!({"command": "cat > forbidden/y.txt <<'EOF'\nno\nEOF", "description": "write"}),
            ),
            Block::tool(
                "Bash",
                json!({"command": "python3 -c \"open('forbidden/z.txt','w').write('no')\"", "description": "write"}),
            ),
            Block::tool("Read", json!({"file_path": at("secrets/key.txt")})),
            Block::tool("Bash", json!({"command": "cat secrets/key.txt", "description": "read"})),
        ];
        let turns = turns.into_iter().map(|block| vec![block]).chain([vec![Block::text("done")]]);
        let model = Model::start(Script::new().run("RUN-A", turns))?;
        Claude::install(&env)?;
        let mut args: Vec<std::ffi::OsString> = vec!["run".into(), "claude".into()];
        args.extend(remit_args.iter().map(Into::into));
        args.push("--".into());
        args.extend(Claude::arguments("RUN-A", TOOLS, None));
        let mut command = env.remit(args)?;
        command.envs(Claude::vars(&env, &model));
        let outcome = env.run(&mut command)?;
        outcome.ended(0).with_context(|| format!("faults of the model: {:?}", model.faults()))?;
        Ok(Self { env, model })
    }

    fn exists(&self, name: &str) -> bool {
        self.env.project().join(name).exists()
    }

    /// What the model was told of the call of this turn.
    fn told(&self, turn: usize) -> Result<(bool, String)> {
        let results = self.model.tool_results();
        let result = results.into_iter().find(|r| r.tool_use_id == format!("toolu_RUN-A_{turn}_0"));
        result.map(|r| (r.is_error, r.text)).with_context(|| format!("no result of turn {turn}"))
    }

    /// The records of the ledger that these arguments of `remit log` let through.
    fn log(&self, args: &[&str]) -> Result<Vec<Value>> {
        let args = ["log", "--json", "-n", "0"].iter().chain(args);
        let outcome = self.env.run(&mut self.env.remit(args)?)?.ended(0)?;
        let text = String::from_utf8(outcome.raw)?;
        let lines = text.lines().map(|line| Ok(serde_json::from_str::<Value>(line)?["record"].clone()));
        lines.collect()
    }

    /// How many refusals of a change of this path there are, by door.
    fn refusals(&self, name: &str) -> Result<Vec<(String, String)>> {
        let path = std::fs::canonicalize(self.env.project())?.join(name);
        let path = path.display().to_string();
        let records = self.log(&["--effect", "deny"])?;
        let about = records
            .iter()
            .filter(|r| r["path"].as_str().is_some_and(|p| p == path || p.starts_with(&format!("{path}."))));
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        Ok(about.map(|r| (text(&r["door"]), text(&r["call"]))).collect())
    }

    fn verified(&self) -> Result<Value> {
        let outcome = self.env.run(&mut self.env.remit(["verify", "--json"])?)?.ended(0)?;
        Ok(serde_json::from_slice(&outcome.raw)?)
    }

    fn only_the_allowed_write_happened(&self) -> Result<()> {
        let text = std::fs::read_to_string(self.env.project().join("allowed/a.txt"))?;
        assert_eq!(text, "fine\n");
        for name in ["forbidden/x.txt", "forbidden/y.txt", "forbidden/z.txt"] {
            assert!(!self.exists(name), "{name} was made");
        }
        let left = std::fs::read_dir(self.env.project().join("forbidden"))?.count();
        assert_eq!(left, 1, "something was left in forbidden/");
        assert!(!self.told(0)?.0, "{:?}", self.told(0));
        for turn in 1..=5 {
            let (is_error, text) = self.told(turn)?;
            assert!(is_error, "turn {turn}: {text}");
            assert!(!text.contains("not-a-real-secret"), "turn {turn}: {text}");
        }
        assert_eq!(self.verified()?["intact"], true);
        Ok(())
    }
}

fn hook(turn: usize) -> Vec<(String, String)> {
    vec![("hook".to_owned(), format!("toolu_RUN-A_{turn}_0"))]
}

fn kernel(call: &str) -> Vec<(String, String)> {
    vec![("kernel".to_owned(), call.to_owned())]
}

#[test]
fn with_hooks_the_hook_refuses_what_it_sees_and_the_kernel_the_rest() -> Result<()> {
    let run = Run::play(&[])?;
    run.only_the_allowed_write_happened()?;
    assert_eq!(run.refusals("forbidden/x.txt")?, hook(1));
    assert_eq!(run.refusals("forbidden/y.txt")?, hook(2));
    assert_eq!(run.refusals("forbidden/z.txt")?, kernel("toolu_RUN-A_3_0"), "{:?}", run.told(3));
    assert_eq!(run.refusals("secrets/key.txt")?, hook(4));
    let (_, why) = run.told(1)?;
    assert!(why.contains("`forbidden/** read`") && why.contains("remit.yaml:10"), "{why}");
    let (_, why) = run.told(3)?;
    assert!(why.contains("Permission denied"), "{why}");
    // What the kernel saw of an allowed call bears the call's id.
    let seen = run.log(&["--call", "toolu_RUN-A_0_0", "--event", "access"])?;
    let path = |r: &Value| {
        [&r["path"], &r["to"]].iter().filter_map(|p| p.as_str()).any(|p| p.ends_with("allowed/a.txt"))
    };
    assert!(seen.iter().any(|r| r["door"] == "kernel" && path(r)), "{seen:?}");
    assert!(seen.iter().all(|r| r["assurance"] == "kernel" && r["epoch"] == 1), "{seen:?}");
    Ok(())
}

#[test]
fn without_hooks_the_kernel_refuses_it_all() -> Result<()> {
    let run = Run::play(&["--no-hooks"])?;
    run.only_the_allowed_write_happened()?;
    for name in ["forbidden/x.txt", "forbidden/y.txt", "forbidden/z.txt"] {
        assert_eq!(run.refusals(name)?, kernel(""), "{name}");
    }
    // A read that the view hides reaches nobody who could record it.
    assert_eq!(run.refusals("secrets/key.txt")?, []);
    let (_, why) = run.told(1)?;
    assert!(why.contains("EACCES"), "{why}");
    Ok(())
}

const MODES: &str = r#"version: "1.0"
agents:
  claude:
    cli: claude
    system_message: "Mind the gap between the platform and the train."
    tools: {deny: [Bash, "Wri*"]}
    permissions:
      - {path: ".", access: all}
"#;

#[test]
fn the_model_is_told_the_system_message_and_no_denied_tool_and_the_hook_refuses_what_it_is_told_of()
-> Result<()> {
    let env = TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit"));
    let repo = env.repo()?;
    repo.write("remit.yaml", MODES)?;
    repo.commit("a repository")?;
    let file = env.project().join("a.txt");
    let call = Block::tool("Write", json!({"file_path": file, "content": "no\n"}));
    let model = Model::start(Script::new().run("RUN-M", [vec![call], vec![Block::text("done")]]))?;
    Claude::install(&env)?;
    let args = ["run", "claude", "--"].map(std::ffi::OsString::from).into_iter();
    let mut command = env.remit(args.chain(Claude::arguments("RUN-M", TOOLS, None)))?;
    let outcome = env.run(command.envs(Claude::vars(&env, &model)))?;
    outcome.ended(0).with_context(|| format!("faults of the model: {:?}", model.faults()))?;
    let asked = model.exchanges();
    let asked = asked.iter().find(|e| e.body["tools"].as_array().is_some_and(|t| !t.is_empty()));
    let body = &asked.context("a request with tools")?.body;
    assert!(body["system"].to_string().contains("Mind the gap between the platform"), "{}", body["system"]);
    let tools: Vec<&str> =
        body["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(tools.contains(&"Write") && !tools.contains(&"Bash"), "{tools:?}");
    assert!(!file.exists());
    let results = model.tool_results();
    let told = results.first().context("a result")?;
    assert!(told.is_error && told.text.contains("tools.deny: Wri*"), "{}", told.text);
    Ok(())
}
