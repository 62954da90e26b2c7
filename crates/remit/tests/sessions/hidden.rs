//! Changes of what rules hide: whichever call asks, the program is told that it may not, and there is one record.

use crate::place::{each_user, remit};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use test_support::TestEnv;

/// A folder and a name out of bounds.
const HIDDEN: &str = r#"version: "1.0"
global_rules:
  - {path: "secrets/**", access: none, for: all}
  - {path: "**/.env", access: none, for: all}
agents:
  default:
    permissions:
      - {path: ".", access: all}
      - {path: "tools/**", access: read-write}
"#;

/// What each line of a script comes to, one word a line.
const EACH: &str = r#"
import ctypes, errno, os, socket, sys
def swap(one, other):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(316, -100, one.encode(), -100, other.encode(), 2):
        raise OSError(ctypes.get_errno(), "swap")
for line in sys.argv[1:]:
    try:
        eval(line)
        print("ok")
    except OSError as error:
        print(errno.errorcode[error.errno])
"#;

/// A change, and the verb and the path of its record.
const CHANGES: &[(&str, &str, &str)] = &[
    ("open('secrets/k', 'w')", "create", "secrets/k"),
    ("os.open('secrets/k', os.O_WRONLY)", "write", "secrets/k"),
    ("os.open('secrets', os.O_TMPFILE | os.O_RDWR)", "create", "secrets"),
    ("os.truncate('secrets/k', 0)", "write", "secrets/k"),
    ("os.mkdir('secrets/k/d')", "create", "secrets/k/d"),
    ("os.mkdir('secrets/n')", "create", "secrets/n"),
    ("os.rename('secrets/k', 'q')", "rename", "secrets/k"),
    ("os.rename('secrets/k', 'secrets/n')", "rename", "secrets/k"),
    ("os.rename('src/a.rs', 'secrets/k')", "rename", "src/a.rs"),
    ("swap('src/a.rs', 'secrets/k')", "rename", "src/a.rs"),
    ("swap('secrets/k', 'src/a.rs')", "rename", "secrets/k"),
    ("os.rename('secrets', 'q')", "rename", "secrets"),
    ("os.rename('tools', 'secrets')", "rename", "tools"),
    ("os.unlink('secrets/k')", "delete", "secrets/k"),
    ("os.unlink('/proc/self/cwd/secrets/k')", "delete", "secrets/k"),
    ("os.unlink('sub/../secrets/k')", "delete", "secrets/k"),
    ("os.unlink('secrets/../src/a.rs')", "delete", "secrets/src/a.rs"),
    ("os.rmdir('secrets/k')", "delete", "secrets/k"),
    ("os.rmdir('secrets')", "delete", "secrets"),
    ("os.link('secrets/k', 'q')", "rename", "secrets/k"),
    ("os.link('src/a.rs', 'secrets/k')", "rename", "src/a.rs"),
    ("os.symlink('x', 'secrets/k')", "rename", "secrets/k"),
    ("os.chmod('secrets/k', 0o600)", "write", "secrets/k"),
    ("os.chmod('secrets', 0o700)", "write", "secrets"),
    ("os.chown('secrets/k', -1, -1)", "write", "secrets/k"),
    ("os.utime('secrets/k')", "write", "secrets/k"),
    ("os.setxattr('secrets/k', 'user.a', b'')", "write", "secrets/k"),
    ("os.removexattr('secrets/k', 'user.a')", "write", "secrets/k"),
    ("os.mkfifo('secrets/k')", "create", "secrets/k"),
    ("os.mknod('secrets/k')", "create", "secrets/k"),
    ("socket.socket(socket.AF_UNIX).bind('secrets/k')", "create", "secrets/k"),
    ("open('.env', 'w')", "write", ".env"),
    ("os.truncate('.env', 0)", "write", ".env"),
    ("os.unlink('.env')", "delete", ".env"),
    ("os.rename('.env', 'q')", "rename", ".env"),
    ("os.rename('src/a.rs', '.env')", "rename", "src/a.rs"),
    ("swap('.env', 'src/a.rs')", "rename", ".env"),
    ("os.link('.env', 'q')", "rename", ".env"),
    ("os.chmod('.env', 0o600)", "write", ".env"),
    ("os.utime('.env')", "write", ".env"),
    ("os.setxattr('.env', 'user.a', b'')", "write", ".env"),
    ("open('sub/.env', 'w')", "create", "sub/.env"),
    // A mount of the view's, which the rules would let go.
    ("[os.unlink('tools/t'), os.rmdir('tools')]", "delete", "tools"),
    ("os.rename('tools', 'q')", "rename", "tools"),
];

/// What is no change, or fails for another reason.
const OTHERS: &[(&str, &str)] = &[
    ("os.stat('secrets/k')", "EACCES"),
    ("open('secrets/k')", "EACCES"),
    ("os.listdir('secrets')", "EACCES"),
    ("open('.env')", "EACCES"),
    ("os.mkdir('absent/d')", "ENOENT"),
    ("os.rename('absent', 'secrets/k')", "ENOENT"),
    ("os.mkdir('src')", "EEXIST"),
    ("os.unlink('src/a.rs/x')", "ENOTDIR"),
    ("open('n' * 256, 'w')", "ENAMETOOLONG"),
    ("[open('tools/t', 'w').close(), os.rmdir('tools')]", "ENOTEMPTY"),
    ("os.mkdir('closed', 0)", "ok"),
    ("os.mkdir('closed/d')", "EACCES"),
    ("os.mkdir('closed/d/e')", "EACCES"),
    ("os.rmdir('closed')", "ok"),
];

/// Runs lines in a session; answers the words, and the refusals that were recorded.
fn run(env: &TestEnv, lines: &[&str]) -> Result<(Vec<String>, Vec<Value>)> {
    let args = [&["run", "--", "python3", "-c", EACH], lines].concat();
    let outcome = remit(env, &args)?.ended(0)?;
    let words = outcome.stdout.lines().map(str::to_owned).collect();
    let log = remit(env, &["log", "--json", "-n", "0"])?.ended(0)?;
    let mut records = Vec::new();
    for line in String::from_utf8(log.raw)?.lines() {
        let record = serde_json::from_str::<Value>(line)?["record"].clone();
        match record["event"].as_str() {
            Some("session-start") => records.clear(),
            Some("access" | "summary") if record["effect"] == "deny" => records.push(record),
            _ => {}
        }
    }
    Ok((words, records))
}

fn check(env: &TestEnv) -> Result<()> {
    let lines: Vec<&str> = CHANGES.iter().map(|change| change.0).collect();
    let (words, records) = run(env, &lines)?;
    for (line, word) in lines.iter().zip(&words) {
        ensure!(word == "EACCES", "{line}: {word}");
    }
    ensure!(words.len() == lines.len() && records.len() == lines.len(), "{records:#?}");
    for ((line, verb, path), record) in CHANGES.iter().zip(&records) {
        ensure!(record["verb"] == *verb, "{line}: {record:#}");
        let full = env.project().join(path).canonicalize().unwrap_or_else(|_| env.project().join(path));
        ensure!(record["path"].as_str() == full.to_str(), "{line}: {record:#}");
        let told = |key: &str| record[key].as_str().is_some_and(|said| !said.is_empty());
        ensure!(told("asked") && told("syscall") && told("why"), "{line}: {record:#}");
        let rule = record["rule_at"].as_str();
        ensure!(line.contains("'tools'") || rule.is_some_and(|at| at.contains("remit.yaml:")), "{record:#}");
    }
    let both = records.iter().find(|record| record["to"].is_string()).context("a move")?;
    ensure!(both["rule"].as_str().is_some_and(|rule| rule.contains("secrets/**")), "{both:#}");
    let lines: Vec<&str> = OTHERS.iter().map(|other| other.0).collect();
    let (words, records) = run(env, &lines)?;
    let wanted: Vec<&str> = OTHERS.iter().map(|other| other.1).collect();
    ensure!(words == wanted && records.is_empty(), "{words:?} {records:#?}");
    Ok(())
}

#[test]
fn every_refused_change_of_what_is_hidden_is_eacces_and_one_record_whether_it_is_there_or_not() -> Result<()>
{
    each_user(HIDDEN, |env| {
        env.write(env.project().join(".env"), "KEY=x\n")?;
        env.write(env.project().join("tools/t"), "x\n")?;
        check(env).context("where nothing is there")?;
        env.write(env.project().join("secrets/k"), "x\n")?;
        check(env).context("where something is")
    })
}
