//! A person's name and address for commits, from the global configuration files.

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
    let text = match fs::read(file) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    let mut section = String::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            section = rest.split(']').next().unwrap_or_default().trim().to_ascii_lowercase();
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let value = unquote(value.trim());
        match (section.as_str(), key.trim().to_ascii_lowercase().as_str()) {
            ("user", "name") => found.name = Some(value),
            ("user", "email") => found.email = Some(value),
            ("include", "path") if depth < 5 => read(&expand(&value, file, home), home, depth + 1, found)?,
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

/// A value without its quotes, escapes and trailing comment.
fn unquote(value: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => out.extend(chars.next()),
            '#' | ';' if !quoted => break,
            c => out.push(c),
        }
    }
    if quoted { out } else { out.trim_end().to_owned() }
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
    fn an_include_loop_ends_and_a_missing_file_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(".gitconfig"), "[include]\npath=.gitconfig\n").unwrap();
        assert_eq!(identity(dir.path(), None).unwrap(), Identity::default());
    }
}
