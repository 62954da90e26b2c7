//! Policies and a work tree of a given size, for launches.

use anyhow::Result;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const GROUPS: usize = 10;
const FOLDERS: usize = 20;
const FILES: usize = 50;

/// Folders that are out of bounds.
pub(super) const NONE: [&str; 3] = ["secrets", "part1/private", "part2/sub3/keys"];

/// 10,000 files in 200 folders, and a file in each folder that is out of bounds.
pub(super) fn tree(work: &Path) -> Result<()> {
    for group in 0..GROUPS {
        for folder in 0..FOLDERS {
            let at = work.join(format!("part{group}/sub{folder}"));
            fs::create_dir_all(&at)?;
            for file in 0..FILES {
                fs::write(at.join(format!("file{file}.rs")), "content\n")?;
            }
        }
    }
    for none in NONE {
        fs::create_dir_all(work.join(none))?;
        fs::write(work.join(none).join("key"), "secret\n")?;
    }
    Ok(())
}

/// The policy that `first` (what `remit init` wrote) becomes with the three folders out of bounds and so many more
/// rules on folders and files that it has `rules` in all. One in ten is narrower than the work tree's own.
pub(super) fn grown(first: &str, rules: usize) -> Result<String> {
    let present = first.lines().filter(|line| line.trim_start().starts_with("- {path:")).count();
    let more = rules.saturating_sub(present + NONE.len());
    let mut none = String::from("global_rules:\n");
    for path in NONE {
        writeln!(none, "  - {{path: \"{path}/**\", access: none, for: all}}")?;
    }
    let mut agent = String::from("  default:\n    permissions:\n");
    for rule in 0..more {
        let (group, folder, file) = (rule % GROUPS, rule / GROUPS % FOLDERS, rule / GROUPS / FOLDERS);
        let below = if file == 0 { "**".to_owned() } else { format!("file{file}.rs") };
        let access = if rule % 10 == 9 { "read" } else { "all" };
        writeln!(agent, "      - {{path: \"part{group}/sub{folder}/{below}\", access: {access}}}")?;
    }
    let mut text = String::new();
    let mut lines = first.lines();
    while let Some(line) = lines.next() {
        if line == "global_rules:" {
            text.push_str(&none);
        } else if line.starts_with("  default:") {
            text.push_str(&agent);
            // Its own `permissions:` has just been written.
            lines.next();
        } else {
            writeln!(text, "{line}")?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "global_rules:\n  - {path: \"**/.env\", access: none, for: all}\nagents:\n  default:   # x\n    \
                         permissions:\n      - {path: \".\", access: all}\ntests:\n";

    #[test]
    fn the_first_policy_grows_to_the_number_of_rules_that_is_wanted() -> Result<()> {
        let text = grown(FIRST, 300)?;
        assert_eq!(text.matches("- {path:").count(), 300);
        assert_eq!(text.matches("permissions:").count(), 1);
        assert_eq!(text.matches("access: none").count(), 1 + NONE.len());
        assert!(text.contains("part0/sub0/**") && text.contains("part0/sub0/file1.rs"), "{text}");
        assert!(text.ends_with("- {path: \".\", access: all}\ntests:\n"), "{text}");
        Ok(())
    }
}
