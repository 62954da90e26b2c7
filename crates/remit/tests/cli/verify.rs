//! `remit verify`: a whole ledger, and the first record that is not what was written.

use crate::place::{remit, session, steady, transcript, workspace};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::PathBuf;
use test_support::TestEnv;

/// A workspace in which a session has left six records; and the segment that holds them.
fn recorded() -> Result<(TestEnv, PathBuf)> {
    let env = workspace()?;
    let script = "echo x >src/b.rs; echo x >docs/b.md; rm src/b.rs";
    assert_eq!(session(&env, "default", script)?, 0);
    let state = std::fs::read_dir(env.state())?.next().context("a state folder")??.path();
    Ok((env, state.join("ledger/000001.jsonl")))
}

#[test]
fn a_ledger_without_records_and_one_with() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[&["verify"]])?, @"
    $ remit verify
    2> remit: nothing has been recorded here yet
    = 0
    ");
    let (env, _) = recorded()?;
    insta::assert_snapshot!(transcript(&env, &[&["verify"]])?, @"
    $ remit verify
    whole  6 records in one chain, 1 signed checkpoint holds
    = 0
    ");
    Ok(())
}

#[test]
fn a_broken_policy_hides_neither_the_ledger_nor_its_refusals() -> Result<()> {
    let (env, _) = recorded()?;
    env.write(env.project().join("remit.yaml"), "version: \"1.0\"\nagents: [\n")?;
    assert!(remit(&env, &["verify"])?.ended(0)?.stdout.contains("6 records"));
    assert!(remit(&env, &["log", "--effect", "deny"])?.ended(0)?.stdout.contains("docs/b.md"));
    Ok(())
}

#[test]
fn for_programs() -> Result<()> {
    let (env, segment) = recorded()?;
    let outcome = remit(&env, &["verify", "--json"])?.ended(0)?;
    let mut said: Value = serde_json::from_slice(&outcome.raw)?;
    assert_eq!(said["bytes"], std::fs::metadata(segment)?.len());
    said["bytes"] = "[BYTES]".into();
    insta::assert_snapshot!(steady(&said.to_string()), @r#"{"behind":0,"bytes":"[BYTES]","checkpoints":{"bad":[],"ok":1,"torn":0},"clean":true,"damaged":[],"first_bad":null,"hash":"[SHA256]","head":"fits","intact":true,"last":6,"ledger":"[SHA256]","lost":[],"rebuilt":[],"records":6,"sealed":[],"segments":1,"unsealed_bytes":0,"unsigned":[],"version":1}"#);
    Ok(())
}

#[test]
fn a_flipped_bit_is_found_in_every_record_and_the_record_is_named() -> Result<()> {
    let (env, segment) = recorded()?;
    let whole = std::fs::read(&segment)?;
    let lines: Vec<&[u8]> = whole.split_inclusive(|b| *b == b'\n').collect();
    let mut from = 0;
    for (index, line) in lines.iter().enumerate() {
        let mut bent = whole.clone();
        bent[from + line.len() / 2] ^= 1;
        std::fs::write(&segment, &bent)?;
        let outcome = remit(&env, &["verify"])?;
        assert_eq!(outcome.code, 1, "record {}: {}", index + 1, outcome.stdout);
        if index == 2 {
            insta::assert_snapshot!(steady(&outcome.stdout), @"
            damaged  2 records in one chain, 1 signed checkpoint holds
              first bad record: segment 1: record 3, byte [AT] of its segment: altered: its hash does not fit what it says
            ");
        }
        let outcome = remit(&env, &["verify", "--json"])?.ended(1)?;
        let said: Value = serde_json::from_slice(&outcome.raw)?;
        let named = said["first_bad"].as_str().unwrap_or_default();
        assert!(said["intact"] == false && named.contains(&format!("record {}", index + 1)), "{said}");
        from += line.len();
    }
    std::fs::write(&segment, &whole)?;
    assert_eq!(remit(&env, &["verify"])?.code, 0);
    Ok(())
}

#[test]
fn a_record_that_is_dropped_swapped_or_cut_off() -> Result<()> {
    let (env, segment) = recorded()?;
    let whole = std::fs::read(&segment)?;
    let lines: Vec<&[u8]> = whole.split_inclusive(|b| *b == b'\n').collect();
    assert_eq!(lines.len(), 6);
    let kept = |order: &[usize]| order.iter().map(|i| lines[*i]).collect::<Vec<_>>().concat();
    let mut all = String::new();
    for (what, order) in [
        ("dropped", &[0, 2, 3, 4, 5][..]),
        ("swapped", &[0, 2, 1, 3, 4, 5]),
        ("doubled", &[0, 1, 1, 2, 3, 4, 5]),
        ("cut off", &[0, 1, 2, 3, 4]),
        ("all gone", &[]),
    ] {
        std::fs::write(&segment, kept(order))?;
        all.push_str(&format!("-- {what}\n{}", transcript(&env, &[&["verify"]])?));
    }
    insta::assert_snapshot!(all, @"
    -- dropped
    $ remit verify
    damaged  1 record in one chain, 1 signed checkpoint holds
      first bad record: segment 1: record 2, byte [AT] of its segment: missing: record 3 stands in its place
    = 1
    -- swapped
    $ remit verify
    damaged  1 record in one chain, 1 signed checkpoint holds
      first bad record: segment 1: record 2, byte [AT] of its segment: swapped with the record after it
    = 1
    -- doubled
    $ remit verify
    damaged  2 records in one chain, 1 signed checkpoint holds
      first bad record: segment 1: record 3, byte [AT] of its segment: inserted: record 2 stands here a second time
    = 1
    -- cut off
    $ remit verify
    damaged  5 records in one chain, 0 signed checkpoints hold
      first bad record: segment 1: record 6, byte [AT] of its segment: missing: the ledger ends before it
      the anchor: record 6 was signed and is gone
      checkpoint line 1: record 6 was signed and is gone
      the records are not those that the head counted
    = 1
    -- all gone
    $ remit verify
    damaged  0 records in one chain, 0 signed checkpoints hold
      first bad record: segment 1: record 1, byte [AT] of its segment: missing: the ledger ends before it
      the anchor: record 6 was signed and is gone
      checkpoint line 1: record 6 was signed and is gone
      the records are not those that the head counted
    = 1
    ");
    Ok(())
}

#[test]
fn a_damaged_ledger_is_not_shown_as_if_it_were_whole() -> Result<()> {
    let (env, segment) = recorded()?;
    let mut bent = std::fs::read(&segment)?;
    let third: usize = bent.split_inclusive(|b| *b == b'\n').take(2).map(<[u8]>::len).sum();
    bent[third + 200] ^= 1;
    std::fs::write(&segment, &bent)?;
    let outcome = remit(&env, &["log"])?;
    assert_eq!(outcome.code, 4, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains("remit verify"), "{}", outcome.stderr);
    Ok(())
}

#[test]
fn what_is_put_in_the_place_of_a_file_is_named_and_holds_nobody_up() -> Result<()> {
    let (env, segment) = recorded()?;
    let ledger = segment.parent().context("a ledger")?.to_owned();
    let state = ledger.parent().context("a state folder")?.to_owned();
    let files = [
        segment.clone(),
        ledger.join("head"),
        ledger.join("id"),
        ledger.join("checkpoints.jsonl"),
        state.join("anchor.json"),
        state.join("keys/ledger.pub"),
        state.join("keys/ledger.key"),
    ];
    for file in &files {
        let kept = file.with_extension("kept");
        std::fs::rename(file, &kept)?;
        for what in ["mkfifo", "mkdir", "ln -s /dev/zero", &format!("ln -s '{}'", kept.display())] {
            let put = std::process::Command::new("sh")
                .args(["-c", &format!("{what} \"$0\"")])
                .arg(file)
                .status()?;
            assert!(put.success(), "{what}");
            let name = file.file_name().context("a name")?.to_string_lossy().into_owned();
            let outcome = remit(&env, &["verify"])?;
            assert_eq!(outcome.code, 1, "{what} {name}: {}{}", outcome.stdout, outcome.stderr);
            assert!(outcome.stdout.contains(&name), "{what} {name}: {}", outcome.stdout);
            let outcome = remit(&env, &["verify", "--json"])?.ended(1)?;
            assert_eq!(serde_json::from_slice::<Value>(&outcome.raw)?["intact"], false, "{what} {name}");
            // Whatever these answer, they answer.
            remit(&env, &["log"])?;
            remit(&env, &["run", "--", "true"])?;
            if what == "mkdir" { std::fs::remove_dir(file)? } else { std::fs::remove_file(file)? }
        }
        std::fs::rename(&kept, file)?;
    }
    assert_eq!(remit(&env, &["verify"])?.code, 0);
    for file in ["listings", "placeholders.json", "placeholders.lock", "placeholders.new"] {
        let at = state.join(file);
        if at.exists() {
            std::fs::remove_file(&at)?;
        }
        assert!(std::process::Command::new("mkfifo").arg(&at).status()?.success());
        remit(&env, &["run", "--", "true"])?;
        if at.exists() {
            std::fs::remove_file(&at)?;
        }
    }
    Ok(())
}

#[test]
fn an_id_or_a_key_that_is_gone_or_changed_is_named() -> Result<()> {
    let (env, segment) = recorded()?;
    let ledger = segment.parent().context("a ledger")?.to_owned();
    let keys = ledger.parent().context("a state folder")?.join("keys");
    let mut all = String::new();
    for (file, new) in [
        (ledger.join("id"), None),
        (ledger.join("id"), Some(format!("{}\n", "0".repeat(64)))),
        (ledger.join("id"), Some("nonsense".to_owned())),
        (keys.join("ledger.pub"), None),
        (keys.join("ledger.pub"), Some("nonsense\n".to_owned())),
        (keys.join("ledger.pub"), Some("\u{fffd}\n".to_owned())),
        (keys.join("ledger.key"), Some("x".repeat(32))),
        (keys.join("ledger.key"), Some("short".to_owned())),
    ] {
        let before = std::fs::read(&file)?;
        let permissions = std::fs::metadata(&file)?.permissions();
        match &new {
            Some(text) => std::fs::write(&file, text)?,
            None => std::fs::remove_file(&file)?,
        }
        let outcome = remit(&env, &["verify"])?;
        let name = file.file_name().context("a name")?.to_string_lossy();
        assert_eq!(outcome.code, 1, "{name} {new:?}: {}{}", outcome.stdout, outcome.stderr);
        // Without the public key, each signature is somebody's whose name differs from run to run.
        let somebody = outcome.stdout.contains("which is not one of this ledger's");
        assert_eq!(somebody, name == "ledger.pub" && new.is_none(), "{}", outcome.stdout);
        if !somebody {
            all.push_str(&format!("-- {name}\n{}", outcome.stdout));
        }
        std::fs::write(&file, &before)?;
        std::fs::set_permissions(&file, permissions)?;
    }
    insta::assert_snapshot!(steady(&all), @"
    -- id
    damaged  `[STATE]/project-[HASH]/ledger` has no readable `id`: it is not a ledger, or its id was removed (each line of `checkpoints.jsonl` names it as `ledger`)
    -- id
    damaged  0 records in one chain, 0 signed checkpoints hold
      first bad record: segment 1: record 1, byte [AT] of its segment: it follows another record than the one before it
      the anchor: it is a checkpoint of another ledger
      checkpoint line 1: it is a checkpoint of another ledger
    -- id
    damaged  `[STATE]/project-[HASH]/ledger` has no readable `id`: it is not a ledger, or its id was removed (each line of `checkpoints.jsonl` names it as `ledger`)
    -- ledger.pub
    damaged  the key `[STATE]/project-[HASH]/keys/ledger.pub` is not a public key of 64 hex digits
    -- ledger.pub
    damaged  the key `[STATE]/project-[HASH]/keys/ledger.pub` is not a public key of 64 hex digits
    -- ledger.key
    damaged  the key `[STATE]/project-[HASH]/keys/ledger.key` does not fit `ledger.pub`: one of the two was changed
    -- ledger.key
    damaged  the key `[STATE]/project-[HASH]/keys/ledger.key` is not a seed of 32 bytes
    ");
    // A copy without the secret key is checked like any other.
    std::fs::remove_file(keys.join("ledger.key"))?;
    assert_eq!(remit(&env, &["verify"])?.code, 0);
    Ok(())
}
