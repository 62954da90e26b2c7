//! Which policies a person has looked at: a policy that came with a repository names programs (an agent's `cli`, the
//! program that is told of refusals), and none of them is started before somebody has pinned that very text for that
//! very workspace. The pins lie in the person's own folder, one line each, where no session can write.

use crate::adapter::Adapter;
use crate::environment::Environment;
use crate::words::word;
use crate::workspace::Workspace;
use remit_core::{AbsPath, Digest};
use remit_ledger::hash::Hash;
use remit_policy::PolicySource;
use remit_policy::source::Cli;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;

/// Where the pins lie in the person's folder.
const FILE: &str = "trusted";

/// Why it is not known what is trusted, or could not be said.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// There is no folder for it.
    #[error("HOME is not set to an absolute path")]
    NoHome,
    /// The file of the pins.
    #[error("`{}` cannot be read or written", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// A line of it is none of ours.
    #[error("line {line} of `{}` is no pin", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// Counts from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pin {
    workspace: AbsPath,
    policy: Digest,
    commands: Vec<String>,
}

/// What is known of a policy's commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It names none.
    NoCommands,
    /// A person has pinned this text.
    Pinned,
    /// Another text was pinned here; these commands were not in it.
    Changed(Vec<String>),
    /// Nothing was ever pinned here.
    Never,
}

/// Every command that a policy names and that Remit does not know by itself: `agents.build: make -j2`.
pub fn commands(source: &PolicySource) -> Vec<String> {
    let line = |id: String, words: &[&str]| {
        let words: Vec<String> = words.iter().copied().map(word).collect();
        format!("{id}: {}", words.join(" "))
    };
    let agents = source.agents.iter().filter_map(|(name, agent)| {
        let words: Vec<&str> = match agent.cli.as_ref()? {
            Cli::Adapter(cli) if Adapter::named(&cli.value).is_some() => return None,
            Cli::Adapter(cli) => vec![&cli.value],
            Cli::Command(words) => words.iter().map(|word| word.value.as_str()).collect(),
        };
        Some(line(format!("agents.{name}.cli"), &words))
    });
    let alert: Vec<&str> = source.audit.value.alert_command.iter().map(|word| word.value.as_str()).collect();
    let alert = (!alert.is_empty()).then(|| line("audit.alert.command".to_owned(), &alert));
    agents.chain(alert).collect()
}

/// Whether the policy as it stands is pinned for its workspace. What cannot be read pins nothing.
pub fn is_pinned(workspace: &Workspace, environment: &Environment) -> bool {
    let pin = pin_of(workspace);
    read(environment)
        .is_ok_and(|pins| pins.iter().any(|one| one.policy == pin.policy && one.is_of(workspace)))
}

/// What is known of the policy's commands.
///
/// # Errors
/// [`TrustError`]: the pins cannot be read.
pub fn standing(workspace: &Workspace, environment: &Environment) -> Result<Standing, TrustError> {
    let now = pin_of(workspace);
    if now.commands.is_empty() {
        return Ok(Standing::NoCommands);
    }
    let pins = read(environment)?;
    Ok(match pins.iter().find(|pin| pin.is_of(workspace)) {
        Some(pin) if pin.policy == now.policy => Standing::Pinned,
        Some(pin) => {
            Standing::Changed(now.commands.into_iter().filter(|one| !pin.commands.contains(one)).collect())
        }
        None => Standing::Never,
    })
}

/// Pins the policy as it was read, in the place of what was pinned for its workspace. One without commands needs no
/// pin.
///
/// # Errors
/// [`TrustError`]: nothing has changed then.
pub fn pin(workspace: &Workspace, environment: &Environment) -> Result<(), TrustError> {
    let now = pin_of(workspace);
    if now.commands.is_empty() { Ok(()) } else { edit(workspace, environment, Some(now)) }
}

/// Takes the pin of a workspace away; answers whether there was one.
///
/// # Errors
/// [`TrustError`]: nothing has changed then.
pub fn revoke(workspace: &Workspace, environment: &Environment) -> Result<bool, TrustError> {
    let there = read(environment)?.iter().any(|pin| pin.is_of(workspace));
    if there {
        edit(workspace, environment, None)?;
    }
    Ok(there)
}

impl Pin {
    fn is_of(&self, workspace: &Workspace) -> bool {
        self.workspace == workspace.root
    }
}

fn pin_of(workspace: &Workspace) -> Pin {
    Pin {
        workspace: workspace.root.clone(),
        policy: Digest(Hash::of(&[workspace.text.as_bytes()]).0),
        commands: commands(&workspace.source),
    }
}

fn file(environment: &Environment) -> Result<PathBuf, TrustError> {
    Ok(environment.config().ok_or(TrustError::NoHome)?.join(FILE))
}

fn read(environment: &Environment) -> Result<Vec<Pin>, TrustError> {
    let file = file(environment)?;
    let bytes = remit_store::read_file(&file).map_err(|e| TrustError::File(file.clone(), e))?;
    parse(bytes, &file)
}

fn parse(bytes: Option<Vec<u8>>, file: &std::path::Path) -> Result<Vec<Pin>, TrustError> {
    let bytes = bytes.unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_slice(line).map_err(|source| TrustError::Line {
                file: file.to_owned(),
                line: at + 1,
                source,
            })
        })
        .collect()
}

fn edit(workspace: &Workspace, environment: &Environment, new: Option<Pin>) -> Result<(), TrustError> {
    /// What goes wrong while the file is locked.
    struct Failed(Result<TrustError, io::Error>);
    impl From<io::Error> for Failed {
        fn from(error: io::Error) -> Self {
            Failed(Err(error))
        }
    }
    let file = file(environment)?;
    let edited = remit_store::edit_file(&file, |bytes| {
        let mut pins = parse(bytes, &file).map_err(|error| Failed(Ok(error)))?;
        pins.retain(|pin| !pin.is_of(workspace));
        pins.extend(new);
        let mut text = Vec::new();
        for pin in pins {
            serde_json::to_writer(&mut text, &pin).map_err(|error| Failed(Err(error.into())))?;
            text.push(b'\n');
        }
        Ok::<_, Failed>(text)
    });
    edited.map_err(|Failed(why)| why.unwrap_or_else(|error| TrustError::File(file.clone(), error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::ffi::OsString;

    const POLICY: &str = "version: \"1.0\"\nagents:\n  a: {cli: claude}\n  b: {cli: [make, \"a b\"]}\naudit: {alert_on_violation: true, alert: {command: [notify]}}\n";

    fn place() -> (tempfile::TempDir, Environment) {
        let temp = tempfile::tempdir().unwrap();
        let vars: BTreeMap<OsString, OsString> = [("HOME".into(), temp.path().into())].into();
        (temp, Environment { vars, cwd: "/".into(), exe: "/remit".into() })
    }

    fn workspace(root: &str, text: &str, environment: &Environment) -> Workspace {
        let root = AbsPath::new(root).unwrap();
        Workspace::read(root, "remit.yaml".to_owned(), text.as_bytes(), environment).unwrap()
    }

    #[test]
    fn what_remit_knows_by_itself_is_no_command_of_the_policy() {
        let (_temp, environment) = place();
        let all = commands(&workspace("/w", POLICY, &environment).source);
        assert_eq!(all, ["agents.b.cli: make 'a b'", "audit.alert.command: notify"]);
    }

    #[test]
    fn a_pin_holds_for_one_text_in_one_folder() {
        let (temp, environment) = place();
        let here = workspace("/w", POLICY, &environment);
        assert_eq!(standing(&here, &environment).unwrap(), Standing::Never);
        assert!(!is_pinned(&here, &environment));
        pin(&here, &environment).unwrap();
        assert!(is_pinned(&here, &environment));
        assert_eq!(standing(&here, &environment).unwrap(), Standing::Pinned);
        let elsewhere = workspace("/v", POLICY, &environment);
        assert!(!is_pinned(&elsewhere, &environment), "a clone in another folder");
        let changed = workspace("/w", &POLICY.replace("notify", "rm"), &environment);
        assert!(!is_pinned(&changed, &environment));
        let new = vec!["audit.alert.command: rm".to_owned()];
        assert_eq!(standing(&changed, &environment).unwrap(), Standing::Changed(new));
        pin(&elsewhere, &environment).unwrap();
        pin(&changed, &environment).unwrap();
        assert!(!is_pinned(&here, &environment), "the text that was pinned before");
        assert!(revoke(&changed, &environment).unwrap());
        assert!(!revoke(&changed, &environment).unwrap());
        assert!(is_pinned(&elsewhere, &environment));
        let file = std::fs::read_to_string(temp.path().join(".config/remit/trusted")).unwrap();
        assert_eq!(file.lines().count(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_understood_pins_nothing_and_is_not_overwritten() {
        let (temp, environment) = place();
        let here = workspace("/w", POLICY, &environment);
        pin(&here, &environment).unwrap();
        let file = temp.path().join(".config/remit/trusted");
        let broken = std::fs::read_to_string(&file).unwrap() + "{\"workspace\": 1}\n";
        std::fs::write(&file, &broken).unwrap();
        assert!(!is_pinned(&here, &environment));
        let error = standing(&here, &environment).unwrap_err();
        assert!(error.to_string().starts_with("line 2 of "), "{error}");
        assert!(pin(&here, &environment).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), broken);
    }
}
