//! Where downloaded programs lie: one folder per program and version, outside the checkout. `cargo xtask setup`
//! fills it, tests only read it.

use anyhow::{Context as _, Result, ensure};
use std::{env, path::PathBuf};

/// The command that fills the cache.
pub const SETUP: &str = "cargo xtask setup";

/// The folder that names another place for the cache.
pub const VARIABLE: &str = "REMIT_TOOLS_DIR";

/// An npm package, pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    /// The name of its folder in the cache, less the version.
    pub folder: &'static str,
    /// Its name in the registry.
    pub npm: &'static str,
    /// The one version that is used.
    pub version: &'static str,
}

/// Claude Code.
pub const CLAUDE: Package =
    Package { folder: "claude-code", npm: "@anthropic-ai/claude-code", version: "2.1.332" };

impl Package {
    /// Its folder in the cache; nothing says that it exists.
    pub fn dir(&self) -> Result<PathBuf> {
        Ok(cache()?.join(format!("{}-{}", self.folder, self.version)))
    }

    /// The native program at `path` below `node_modules`, which must be there.
    pub fn program(&self, path: &str) -> Result<PathBuf> {
        let program = self.dir()?.join("node_modules").join(path);
        ensure!(
            program.is_file(),
            "`{}` {} is not installed at `{}`: run `{SETUP}`",
            self.npm,
            self.version,
            program.display()
        );
        Ok(program)
    }
}

/// `$REMIT_TOOLS_DIR`, else `$XDG_CACHE_HOME/remit-tools`, else `~/.cache/remit-tools`. Relative values count as
/// unset, as the base directory rules want.
pub fn cache() -> Result<PathBuf> {
    if let Some(dir) = absolute(VARIABLE) {
        return Ok(dir);
    }
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    Ok(base.context("neither `XDG_CACHE_HOME` nor `HOME` is an absolute path")?.join("remit-tools"))
}

fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_an_error_that_says_how_to_install_it() {
        let absent = Package { version: "0.0.0-absent", ..CLAUDE };
        let error = absent.program("claude").unwrap_err().to_string();
        assert!(error.contains("0.0.0-absent") && error.contains(SETUP), "{error}");
    }
}
