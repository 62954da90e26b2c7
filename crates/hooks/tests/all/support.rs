//! Stand-ins for the session and the file system.

use remit_core::wire::{Answer, Request, Verdict};
use remit_core::{AbsPath, Effect};
use remit_hooks::resolve::{Kind, ResolveError, Resolved};
use remit_hooks::{Asker, Resolver};
use std::sync::Mutex;

/// Gives one answer to everything, and remembers what it was asked.
pub(crate) struct Says {
    answer: Result<Answer, String>,
    asked: Mutex<Vec<Request>>,
}

impl Says {
    pub(crate) fn new(answer: Result<Answer, String>) -> Self {
        Self { answer, asked: Mutex::new(Vec::new()) }
    }
    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

impl Asker for Says {
    fn ask(&self, request: &Request) -> Result<Answer, String> {
        self.asked.lock().unwrap().push(request.clone());
        self.answer.clone()
    }
}

/// A file system without links: names that end in `.rs`, `.ipynb` or `.json` are files, `src` is a folder.
pub(crate) struct Plain;

impl Resolver for Plain {
    fn resolve(&self, path: &[u8], _follow: bool) -> Result<Resolved, ResolveError> {
        let path = AbsPath::lexical(&AbsPath::root(), path)?;
        let name = path.file_name().unwrap_or_default();
        let kind = match name {
            b"" | b"src" | b"shop" => Kind::Folder,
            name if [&b".rs"[..], b".ipynb", b".json"].iter().any(|end| name.ends_with(end)) => Kind::Other,
            _ => Kind::Absent,
        };
        Ok(Resolved { path, kind })
    }
    fn home(&self) -> Option<&AbsPath> {
        None
    }
    fn held(&self) -> bool {
        false
    }
}

pub(crate) fn verdict(effect: Effect, reason: &str) -> Answer {
    Answer::Verdict(Verdict { effect, layer: None, rule: None, reason: reason.into() })
}
