//! A person's name and address for commits, from the global configuration files.

use crate::config::settings;
use crate::read::small;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// `user.name` and `user.email`, where they are set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// `user.name`.
    pub name: Option<String>,
    /// `user.email`.
    pub email: Option<String>,
}

/// Reads `$XDG_CONFIG_HOME/git/config` and `~/.gitconfig` (the later wins), following plain `include.path`.
pub fn identity(home: &Path, xdg_config: Option<&Path>) -> io::Result<Identity> {
    let xdg = xdg_config.map_or_else(|| home.join(".config"), Path::to_owned);
    let mut found = Identity::default();
    for file in [xdg.join("git/config"), home.join(".gitconfig")] {
        read(&file, home, 0, &mut found)?;
    }
    Ok(found)
}

fn read(file: &Path, home: &Path, depth: u8, found: &mut Identity) -> io::Result<()> {
    // A person's own file may be a link, to where dotfiles are kept.
    let real = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    // `/dev/null` is a way to say: no file.
    if fs::metadata(&real).is_ok_and(|seen| !seen.is_file()) {
        return Ok(());
    }
    for setting in small(&real)?.map_or_else(Vec::new, |text| settings(&text)) {
        let value = setting.value.map(|value| String::from_utf8_lossy(&value).into_owned());
        match (setting.section.as_str(), setting.key.as_str(), value) {
            ("user", "name", Some(value)) => found.name = Some(value),
            ("user", "email", Some(value)) => found.email = Some(value),
            ("include", "path", Some(value)) if depth < 5 => {
                read(&expand(&value, file, home), home, depth.saturating_add(1), found)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn expand(path: &str, from: &Path, home: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => from.parent().unwrap_or(Path::new("/")).join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_file_wins_and_includes_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        fs::create_dir_all(home.join(".config/git")).unwrap();
        fs::write(home.join(".config/git/config"), "[user]\n name = Old\n email = old@x\n").unwrap();
        fs::write(home.join(".gitconfig"), "[User]\n\tname = \"A # B\" ; note\n[include]\n path = more\n")
            .unwrap();
        fs::write(home.join("more"), "[user]\nemail=new@x # why\n").unwrap();
        let found = identity(home, None).unwrap();
        assert_eq!(found.name.as_deref(), Some("A # B"));
        assert_eq!(found.email.as_deref(), Some("new@x"));
    }

    #[test]
    fn a_file_that_is_a_link_is_followed_and_a_device_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        fs::write(home.join("dotfile"), "[include]\npath = /dev/null\n[user]\nname = A\\\n B\n").unwrap();
        std::os::unix::fs::symlink("dotfile", home.join(".gitconfig")).unwrap();
        assert_eq!(identity(home, None).unwrap().name.as_deref(), Some("A B"));
        fs::remove_file(home.join(".gitconfig")).unwrap();
        std::os::unix::fs::symlink("/dev/null", home.join(".gitconfig")).unwrap();
        assert_eq!(identity(home, None).unwrap(), Identity::default());
    }

    #[test]
    fn an_include_loop_ends_and_a_missing_file_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(".gitconfig"), "[include]\npath=.gitconfig\n").unwrap();
        assert_eq!(identity(dir.path(), None).unwrap(), Identity::default());
    }
}
