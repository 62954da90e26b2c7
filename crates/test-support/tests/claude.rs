//! The real Claude Code against the model server: what every test of a governed session stands on.
#![expect(clippy::disallowed_methods, reason = "the test looks at what the program wrote")]

use serde_json::{Value, json};
use std::fs;
use test_support::{Block, Claude, Model, Part, Script, TestEnv, env::NOBODY};

#[test]
fn a_plain_run_writes_a_file_and_the_model_is_told_so() -> anyhow::Result<()> {
    let env = TestEnv::new()?;
    let file = env.project().join("notes/hello.txt");
    let write = Block::tool("Write", json!({"file_path": file, "content": "hello\n"}));
    let missing = Block::tool("Read", json!({"file_path": env.project().join("absent.txt")}));
    let model = Model::start(Script::new().run(
        "RUN-A",
        [vec![Block::text("I write it."), write], vec![missing], vec![Block::text("All done.")]],
    ))?;

    let outcome = env.run(&mut Claude::command(&env, &model, "RUN-A", &["Read"])?)?.ended(0)?;

    assert_eq!(fs::read_to_string(&file)?, "hello\n");
    let result: Value = serde_json::from_slice(&outcome.raw)?;
    assert_eq!(result["result"], "All done.", "{result}");
    assert_eq!(result["permission_denials"], json!([]));
    let told = model.tool_results();
    let [written, read] = told.as_slice() else { panic!("not two results: {told:?}") };
    assert_eq!((written.tool_use_id.as_str(), written.is_error), ("toolu_RUN-A_0_1", false));
    assert!(written.text.contains("hello.txt"), "{}", written.text);
    assert_eq!((read.tool_use_id.as_str(), read.is_error), ("toolu_RUN-A_1_0", true));
    assert_eq!(model.played(), [("RUN-A".into(), 0), ("RUN-A".into(), 1), ("RUN-A".into(), 2)]);
    assert_eq!(model.faults(), Vec::<String>::new());
    assert!(!model.exchanges().iter().any(|exchange| exchange.part == Part::Unknown));
    env.close()
}

#[test]
fn a_user_without_rights_runs_it_too() -> anyhow::Result<()> {
    let env = TestEnv::new()?.as_user(NOBODY)?;
    let model =
        Model::start(Script::new().run(
            "RUN-B",
            [vec![Block::tool("Bash", json!({"command": "id -u"}))], vec![Block::text("Seen.")]],
        ))?;
    env.run(&mut Claude::command(&env, &model, "RUN-B", &["Bash"])?)?.ended(0)?;
    let told = model.tool_results();
    assert_eq!(told.iter().map(|result| result.text.as_str()).collect::<Vec<_>>(), [env.uid().to_string()]);
    assert_eq!(model.faults(), Vec::<String>::new());
    env.close()
}
