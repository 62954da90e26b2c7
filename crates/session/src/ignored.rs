//! Whose ignore rules count. What git ignores is only counted, so a session that could say what is ignored could
//! make all that it does later go unrecorded. What counts is therefore `.gitignore` as a person left it: what
//! sessions have changed in it since makes nothing scratch, until somebody changes it outside of a session.
//!
//! A session's gate leaves a mark before the file may change. A later session compares the marks and the file with
//! what the one before it saw: the same marks and another file is a person's doing.

use remit_core::{AbsPath, Verb};
use remit_ledger::Hash;
use remit_sandbox::Operation;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest ignore file that is read, in bytes.
const LONGEST: u64 = 1 << 20;
const NAME: &str = ".gitignore";

/// The file as somebody saw it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Version {
    sha256: String,
    /// When it was last changed, in seconds and nanoseconds since 1970.
    changed: (i64, i64),
}

/// What is kept from session to session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    /// The rules that count.
    rules: String,
    /// How many marks there were when the file was last looked at by a session that ran alone.
    marks: u64,
    /// The file as it was then.
    version: Version,
}

/// The ignore rules of a work tree.
#[derive(Debug)]
pub struct Ignored {
    /// The rules that count.
    pub rules: String,
    /// Whether the file says something else, which a session wrote.
    pub disputed: bool,
    marks: Marks,
}

/// Takes note of what may change the file.
#[derive(Debug)]
pub struct Marks {
    path: AbsPath,
    file: File,
    left: AtomicBool,
}

impl Ignored {
    /// Looks at the file of a work tree. `folder` is where the state of all work trees is kept; `alone`: no other
    /// session of the workspace runs.
    pub fn look(folder: &Path, work_tree: &AbsPath, alone: bool) -> io::Result<Self> {
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let name = Hash::of(&[work_tree.as_bytes()]).to_string();
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(folder.join(format!("{name}.marks")))?;
        let marks = file.metadata()?.len();
        let (rules, version) = present(&work_tree.as_path().join(NAME))?;
        let place = folder.join(format!("{name}.json"));
        let before = match fs::read(&place) {
            // What cannot be read says nothing, so nothing is ignored until a person changes the file.
            Ok(bytes) => Some(serde_json::from_slice(&bytes).unwrap_or(Kept {
                rules: String::new(),
                marks,
                version: version.clone(),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let now = next(before.as_ref(), Kept { rules: rules.clone(), marks, version }, alone);
        if before.as_ref() != Some(&now) {
            replace(&place, &serde_json::to_vec(&now)?)?;
        }
        let path = AbsPath::try_from(work_tree.as_path().join(NAME).as_path()).map_err(io::Error::other)?;
        let marks = Marks { path, file, left: AtomicBool::new(false) };
        Ok(Self { disputed: now.rules != rules, rules: now.rules, marks })
    }

    /// The rules, and what the gate takes along.
    pub fn into_parts(self) -> (String, Marks) {
        (self.rules, self.marks)
    }
}

/// What counts from now on.
fn next(before: Option<&Kept>, present: Kept, alone: bool) -> Kept {
    match before {
        None => present,
        // Another session may be changing it right now.
        Some(before) if !alone => before.clone(),
        Some(before) if before.marks == present.marks && before.version != present.version => present,
        Some(before) => Kept { rules: before.rules.clone(), ..present },
    }
}

/// The text of an ignore file that is a plain file, and which version it is: a session may have left a pipe, a link
/// or a giant there.
fn present(path: &Path) -> io::Result<(String, Version)> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0))
        .open(path);
    // What is not there, or is a link, says nothing.
    let Ok(file) = opened else { return Ok(Default::default()) };
    let about = file.metadata()?;
    if !about.is_file() || about.len() > LONGEST {
        return Ok(Default::default());
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    let version =
        Version { sha256: Hash::of(&[&bytes]).to_string(), changed: (about.mtime(), about.mtime_nsec()) };
    Ok((String::from_utf8_lossy(&bytes).into_owned(), version))
}

/// The text of an ignore file that no session can change.
pub fn text(path: &Path) -> String {
    present(path).map(|(text, _)| text).unwrap_or_default()
}

fn replace(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = PathBuf::from(format!("{}.{}", place.display(), std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(Mode::RUSR.union(Mode::WUSR).bits())
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&temporary, place));
    written.inspect_err(|_| drop(fs::remove_file(&temporary)))
}

impl Marks {
    /// Leaves a mark if the file may be changed by what is about to be done: by its name, by a folder above it that
    /// moves, or by another name of the same file. An error: it must not be done.
    pub fn note(&self, operation: &Operation<'_>) -> io::Result<()> {
        let moves = matches!(operation.verb, Verb::Rename | Verb::Delete);
        let concerns = |path: &AbsPath| *path == self.path || (moves && path.covers(&self.path));
        let named = concerns(operation.path) || operation.to.as_ref().is_some_and(|to| concerns(to.path));
        let shared = operation.links > 1 && !operation.is_dir && operation.verb == Verb::Write;
        if named || shared { self.leave() } else { Ok(()) }
    }

    fn leave(&self) -> io::Result<()> {
        self.left.store(true, Ordering::Relaxed);
        (&self.file).write_all(b".")
    }

    /// The session is over: what it had open, it may have changed until now.
    pub fn end(&self) -> io::Result<()> {
        if self.left.load(Ordering::Relaxed) { self.leave() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scene(tempfile::TempDir);

    impl Scene {
        fn new() -> Self {
            let scene = Self(tempfile::tempdir().unwrap());
            fs::create_dir(scene.0.path().join("work")).unwrap();
            scene
        }

        fn write(&self, text: &str) {
            fs::write(self.0.path().join("work").join(NAME), text).unwrap();
        }

        fn look(&self, alone: bool) -> Ignored {
            let work = AbsPath::try_from(&*self.0.path().join("work")).unwrap();
            Ignored::look(&self.0.path().join("ignored"), &work, alone).unwrap()
        }

        /// A session changes the file.
        fn session(&self, text: &str) {
            let session = self.look(true);
            session.marks.leave().unwrap();
            self.write(text);
            session.marks.end().unwrap();
        }

        fn rules(&self) -> String {
            self.look(true).rules
        }
    }

    #[test]
    fn what_a_person_wrote_counts_and_what_a_session_wrote_does_not() {
        let scene = Scene::new();
        assert_eq!(scene.rules(), "");
        scene.write("target/\n");
        assert_eq!(scene.rules(), "target/\n");
        scene.session("*\n");
        assert_eq!(scene.rules(), "target/\n");
        assert!(scene.look(true).disputed);
        assert_eq!(scene.rules(), "target/\n", "nor does it by waiting");
        scene.write("target/\ndist/\n");
        assert_eq!(scene.rules(), "target/\ndist/\n");
        assert!(!scene.look(true).disputed);
    }

    #[test]
    fn what_changes_while_another_session_runs_is_nobodys_until_one_runs_alone() {
        let scene = Scene::new();
        scene.write("target/\n");
        let holds_it_open = scene.look(true);
        holds_it_open.marks.leave().unwrap();
        assert_eq!(scene.look(false).rules, "target/\n");
        scene.write("*\n");
        assert_eq!(scene.look(false).rules, "target/\n");
        // It was killed, so that it left no second mark.
        assert_eq!(scene.rules(), "target/\n");
        assert_eq!(scene.rules(), "target/\n");
    }

    #[test]
    fn a_note_that_cannot_be_read_ignores_nothing() {
        let scene = Scene::new();
        scene.write("target/\n");
        assert_eq!(scene.rules(), "target/\n");
        for entry in fs::read_dir(scene.0.path().join("ignored")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "json") {
                fs::write(path, "torn").unwrap();
            }
        }
        assert_eq!(scene.rules(), "");
    }

    #[test]
    fn a_mark_is_left_for_the_file_its_folder_and_its_other_names() {
        let scene = Scene::new();
        let marks = scene.look(true).marks;
        let count = || marks.file.metadata().unwrap().len();
        let work = AbsPath::try_from(&*scene.0.path().join("work")).unwrap();
        let (file, other) = (work.join(NAME.as_bytes()).unwrap(), work.join(b"other").unwrap());
        let operation = |verb, path, links| Operation {
            verb,
            syscall: "call",
            asked: b"",
            path,
            to: None,
            pid: 2,
            exists: true,
            is_dir: false,
            is_file: true,
            closes: false,
            below: None,
            links,
            fixed: None,
        };
        for (verb, path, links, marked) in [
            (Verb::Write, &file, 1, true),
            (Verb::Create, &file, 0, true),
            (Verb::Rename, &work, 1, true),
            (Verb::Write, &other, 2, true),
            (Verb::Write, &other, 1, false),
            (Verb::Delete, &other, 2, false),
            (Verb::Create, &other, 0, false),
        ] {
            let before = count();
            marks.note(&operation(verb, path, links)).unwrap();
            assert_eq!(count() > before, marked, "{verb} {path} {links}");
        }
    }
}
