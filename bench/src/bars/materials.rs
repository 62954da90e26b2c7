//! What the workloads start from: made here, so that nothing is fetched from a network.

use crate::scene::{Scene, done};
use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// For people who read the table.
pub(super) const ABOUT: &str = "workloads: on tmpfs; the crate has 40 modules and no dependencies, debug profile; the \
     npm project has 20 packages of 100 files each, `file:` tarballs beside it; the repository has 2,000 files in one \
     commit; the tree has 5,000 files of 2 kB in 50 folders";

const MODULES: usize = 40;
const PACKAGES: usize = 20;
const PACKAGE_FILES: usize = 100;

/// Everything, below the workspace.
pub(super) struct Materials {
    folder: PathBuf,
}

impl Materials {
    pub(super) fn new(scene: &Scene<'_>) -> Self {
        Self { folder: scene.work().join("source") }
    }

    /// Where it lies.
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes what a workload of `program` needs, unless it is there.
    pub(super) fn make(&self, scene: &Scene<'_>, program: &str) -> Result<()> {
        match program {
            "cargo" => self.cargo(),
            "npm" => self.npm(scene),
            "git" if self.at("repository").exists() => Ok(()),
            "git" => self.repository(scene),
            _ if self.at("tree.tar").exists() => Ok(()),
            _ => {
                files(&self.at("tree"), 50, 100, 2_000)?;
                done(
                    scene
                        .plain("tar")
                        .arg("cf")
                        .arg(self.at("tree.tar"))
                        .arg("-C")
                        .args([&self.folder, Path::new("tree")]),
                )?;
                Ok(())
            }
        }
        .with_context(|| format!("what `{program}` needs cannot be made"))
    }

    fn cargo(&self) -> Result<()> {
        let source = self.at("crate/src");
        fs::create_dir_all(&source)?;
        let manifest =
            "[workspace]\n\n[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
        fs::write(self.at("crate/Cargo.toml"), manifest)?;
        fs::write(
            self.at("crate/Cargo.lock"),
            "version = 3\n\n[[package]]\nname = \"small\"\nversion = \"0.1.0\"\n",
        )?;
        let (mut main, mut sum) = (String::new(), String::from("fn main() {\n    let mut sum = 0;\n"));
        for module in 0..MODULES {
            writeln!(main, "mod part{module};")?;
            writeln!(sum, "    sum += part{module}::total(&[1, 2, 3]);")?;
            fs::write(source.join(format!("part{module}.rs")), MODULE)?;
        }
        fs::write(source.join("main.rs"), format!("{main}\n{sum}    println!(\"{{sum}}\");\n}}\n"))?;
        Ok(())
    }

    /// Packs each package by hand: `npm pack` would need a process for each.
    fn npm(&self, scene: &Scene<'_>) -> Result<()> {
        let (project, parts) = (self.at("npm"), scene.plain_scratch().join("packages"));
        fs::create_dir_all(&project)?;
        let mut dependencies = Map::new();
        for number in 0..PACKAGES {
            let name = format!("part{number}");
            let package = parts.join(&name).join("package");
            files(&package, 10, PACKAGE_FILES / 10, 1_000)?;
            fs::write(package.join("package.json"), json!({"name": name, "version": "1.0.0"}).to_string())?;
            let tarball = format!("{name}.tgz");
            let mut tar = scene.plain("tar");
            tar.arg("czf").arg(project.join(&tarball)).arg("-C").arg(parts.join(&name)).arg("package");
            done(&mut tar)?;
            dependencies.insert(name, Value::String(format!("file:{tarball}")));
        }
        let manifest =
            json!({"name": "small", "version": "1.0.0", "private": true, "dependencies": dependencies});
        fs::write(project.join("package.json"), format!("{manifest:#}\n"))?;
        let mut lock = scene.plain("npm");
        lock.args([
            "install",
            "--package-lock-only",
            "--offline",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
        ]);
        done(lock.current_dir(&project))?;
        fs::remove_dir_all(&parts)?;
        Ok(())
    }

    fn repository(&self, scene: &Scene<'_>) -> Result<()> {
        let (tree, bare) = (scene.plain_scratch().join("tree"), self.at("repository"));
        files(&tree, 40, 50, 1_000)?;
        fs::create_dir_all(&self.folder)?;
        let git = |args: &[&str]| done(scene.plain("git").arg("-C").arg(&tree).args(args));
        git(&["init", "--quiet", "--initial-branch=main"])?;
        git(&["add", "--all"])?;
        git(&[
            "-c",
            "user.name=Bench",
            "-c",
            "user.email=bench@localhost",
            "commit",
            "--quiet",
            "-m",
            "files",
        ])?;
        done(scene.plain("git").args(["clone", "--quiet", "--bare"]).args([&tree, &bare]))?;
        fs::remove_dir_all(&tree)?;
        Ok(())
    }
}

/// `folders` folders of `each` files of about `size` bytes, no two alike.
fn files(at: &Path, folders: usize, each: usize, size: usize) -> Result<()> {
    for folder in 0..folders {
        let at = at.join(format!("folder{folder}"));
        fs::create_dir_all(&at)?;
        for file in 0..each {
            let line = format!("line of file {file} in folder {folder}\n");
            fs::write(at.join(format!("file{file}.txt")), line.repeat(size / line.len()))?;
        }
    }
    Ok(())
}

const MODULE: &str = r#"use std::collections::BTreeMap;

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item {
    name: String,
    tags: Vec<String>,
    count: u64,
}

pub fn total(values: &[u64]) -> u64 {
    let mut items: BTreeMap<String, Item> = BTreeMap::new();
    for value in values {
        let item = items.entry(format!("item {value}")).or_default();
        item.name = value.to_string();
        item.tags.extend((0..*value).map(|tag| format!("{tag:?}")));
        item.count += item.tags.iter().map(|tag| tag.len() as u64).sum::<u64>();
    }
    let mut sorted: Vec<Item> = items.into_values().collect();
    sorted.sort();
    sorted.dedup();
    sorted.iter().filter(|item| !item.name.is_empty()).map(|item| item.count).sum()
}
"#;
