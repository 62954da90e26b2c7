//! What Remit knows of each agent CLI: data, one TOML file each. The engine that uses it is `home`.

use serde::Deserialize;
use std::collections::BTreeMap;

/// An agent CLI.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adapter {
    /// The name in `cli:`.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// Names of its program.
    pub programs: Vec<String>,
    /// The command that installs it.
    pub install: String,
    /// Its folder for configuration and conversations.
    pub home: HomeSpec,
    /// How a person's login is shared.
    pub login: Option<LoginSpec>,
    /// Its environment.
    #[serde(default)]
    pub environment: EnvironmentSpec,
    /// How hooks are handed to it.
    pub hooks: Option<HookSpec>,
    /// How a system message is handed to it.
    pub prompt: Option<PromptSpec>,
    /// How it is told which tools not to offer.
    pub tools: Option<ToolSpec>,
}

/// The CLI's folder.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HomeSpec {
    /// The variable that moves it.
    pub lever: String,
    /// Where it lies below HOME otherwise.
    pub folder: String,
    /// What a session sees of the real folder, read-only.
    #[serde(default)]
    pub shared: Vec<String>,
    /// What is copied and edited.
    #[serde(default)]
    pub copies: Vec<CopySpec>,
}

/// A JSON file that a session gets a copy of.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopySpec {
    /// Its name.
    pub file: String,
    /// Whether the original lies beside the folder (in HOME) when the lever is not set.
    #[serde(default)]
    pub beside_folder: bool,
    /// Of the object at all but the last key, only the last key is kept.
    #[serde(default)]
    pub only: Vec<Vec<String>>,
    /// Values that are set.
    #[serde(default)]
    pub set: Vec<SetSpec>,
}

/// A value that is set in a copy.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSpec {
    /// The keys that lead to it; `{workspace}` stands for the workspace's path.
    pub at: Vec<String>,
    /// The value.
    pub to: serde_json::Value,
}

/// How a person's login is shared.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginSpec {
    /// The variable that names the real folder.
    pub variable: String,
    /// The credential file in it.
    pub file: String,
    /// Lock files beside it.
    #[serde(default)]
    pub locks: Vec<String>,
}

/// What of the environment reaches the CLI. Names may end in `*`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentSpec {
    /// Handed through.
    #[serde(default)]
    pub pass: Vec<String>,
    /// Not handed through, although `pass` covers it.
    #[serde(default)]
    pub drop: Vec<String>,
    /// Set.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

/// How hooks are handed to the CLI.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookSpec {
    /// The host's name for `remit hook`.
    pub host: String,
    /// The flag that takes a settings file.
    pub flag: String,
}

/// How a system message is handed to the CLI.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptSpec {
    /// The flag that takes text to put behind its own system prompt.
    pub flag: String,
}

/// How the CLI is told which tools not to offer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// The flag that takes names, `=` before them and commas between.
    pub deny: String,
}

/// The adapters that Remit brings.
const BUILT_IN: &[(&str, &str)] = &[("claude", include_str!("../adapters/claude.toml"))];

impl Adapter {
    /// The adapter of this name, if there is one.
    pub fn named(name: &str) -> Option<Result<Adapter, toml::de::Error>> {
        BUILT_IN.iter().find(|(n, _)| *n == name).map(|(_, text)| toml::from_str(text))
    }

    /// The names of all adapters.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_adapter_parses_and_bears_its_name() {
        for name in Adapter::names() {
            let adapter = Adapter::named(name).unwrap().unwrap();
            assert_eq!(adapter.name, name);
            assert!(!adapter.programs.is_empty());
        }
        assert!(Adapter::named("no-such-cli").is_none());
    }
}
