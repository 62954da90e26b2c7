//! The policy's digest: SHA-256 over one byte form of what was compiled. Everything that can change an answer
//! or a setting is in it; places, comments and the spelling of the document are not. Every value is tagged
//! with its length or number, so that no two policies share a form.

use crate::source::*;
use crate::world::LinkedTree;
use crate::world::ProtectedPath;
use crate::{Access, BaseRule, World};
use remit_core::{AbsPath, Digest, Effect, Verb};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// Separates this hash from every other one, and names the form.
const DOMAIN: &[u8] = b"remit policy 1\0";

pub(crate) fn digest(source: &PolicySource, world: &World) -> Digest {
    let mut hash = Sha256::new();
    hash.update(DOMAIN);
    source.feed(&mut hash);
    world.feed(&mut hash);
    Digest(hash.finalize().into())
}

/// A value that has a byte form.
trait Feed {
    fn feed(&self, hash: &mut Sha256);
}

impl Feed for [u8] {
    fn feed(&self, hash: &mut Sha256) {
        hash.update((self.len() as u64).to_be_bytes());
        hash.update(self);
    }
}

impl Feed for str {
    fn feed(&self, hash: &mut Sha256) {
        self.as_bytes().feed(hash);
    }
}

impl Feed for String {
    fn feed(&self, hash: &mut Sha256) {
        self.as_bytes().feed(hash);
    }
}

impl Feed for AbsPath {
    fn feed(&self, hash: &mut Sha256) {
        self.as_bytes().feed(hash);
    }
}

impl Feed for u64 {
    fn feed(&self, hash: &mut Sha256) {
        hash.update(self.to_be_bytes());
    }
}

impl Feed for bool {
    fn feed(&self, hash: &mut Sha256) {
        hash.update([u8::from(*self)]);
    }
}

impl<T: Feed> Feed for Option<T> {
    fn feed(&self, hash: &mut Sha256) {
        self.is_some().feed(hash);
        if let Some(value) = self {
            value.feed(hash);
        }
    }
}

impl<T: Feed> Feed for Vec<T> {
    fn feed(&self, hash: &mut Sha256) {
        hash.update((self.len() as u64).to_be_bytes());
        self.iter().for_each(|value| value.feed(hash));
    }
}

impl<T: Feed> Feed for BTreeSet<T> {
    fn feed(&self, hash: &mut Sha256) {
        hash.update((self.len() as u64).to_be_bytes());
        self.iter().for_each(|value| value.feed(hash));
    }
}

impl<T: Feed> Feed for BTreeMap<String, T> {
    fn feed(&self, hash: &mut Sha256) {
        hash.update((self.len() as u64).to_be_bytes());
        for (key, value) in self {
            key.feed(hash);
            value.feed(hash);
        }
    }
}

impl<A: Feed, B: Feed> Feed for (A, B) {
    fn feed(&self, hash: &mut Sha256) {
        self.0.feed(hash);
        self.1.feed(hash);
    }
}

impl<T: Feed> Feed for At<T> {
    fn feed(&self, hash: &mut Sha256) {
        self.value.feed(hash);
    }
}

impl Feed for Access {
    fn feed(&self, hash: &mut Sha256) {
        let bits = [Access::READ, Access::WRITE, Access::EXECUTE];
        hash.update(bits.map(|bit| u8::from(self.has(bit))));
    }
}

/// Closed sets of words: a number for each, fixed here.
macro_rules! words {
    ($($type:ty { $($word:pat => $number:literal),+ $(,)? })+) => {
        $(impl Feed for $type {
            fn feed(&self, hash: &mut Sha256) {
                hash.update([match self { $($word => $number),+ }]);
            }
        })+
    };
}

words! {
    Root { Root::Host => 0, Root::Workspace => 1 }
    Base { Base::Standard => 0, Base::Minimal => 1, Base::None => 2 }
    Intents { Intents::Off => 0, Intents::Advise => 1, Intents::Require => 2 }
    Sandbox { Sandbox::Enforce => 0, Sandbox::Advisory => 1 }
    LogAccess { LogAccess::All => 0, LogAccess::Denied => 1, LogAccess::None => 2 }
    Git { Git::None => 0 }
    AskMode { AskMode::Ask => 0, AskMode::Once => 1, AskMode::Never => 2 }
    Effect { Effect::Allow => 0, Effect::Ask => 1, Effect::Deny => 2 }
    Verb {
        Verb::Read => 0, Verb::Write => 1, Verb::Create => 2, Verb::Delete => 3, Verb::Rename => 4,
        Verb::Execute => 5, Verb::Connect => 6,
        Verb::Call => 7,
    }
}

/// Structures: all fields by name, so that a new one cannot be forgotten; those after `but` are left out.
macro_rules! fields {
    ($($type:ident { $($field:ident),* } $(but $($out:ident),+)?;)+) => {
        $(impl Feed for $type {
            fn feed(&self, hash: &mut Sha256) {
                let $type { $($field,)* $($($out: _,)+)? } = self;
                $($field.feed(hash);)*
            }
        })+
    };
}

fields! {
    RuleSource { path, access } but id;
    RequestSource { rule, answer };
    CapabilitySource { rule, text };
    RoleSource { extends, permissions, deny_tools, allow_tools, deny_verbs };
    AgentSource { cli, roles, base_workspace, permissions, requests, requires, provides, network, max_access, system_message, deny_tools, allow_tools, deny_verbs, git, limits } but place;
    Limits { memory, processes, cpu };
    AuditSource { log_access_attempts, log_file, alert_on_violation, alert_command };
    ApprovalSource { verb, path } but id;
    TestSource { agent, verb, path, expect };
    PolicySource { root, default_policy, allow_insecure_default, base, intents, sandbox, scratch, global_rules, roles, agents, approvals, audit, tests } but file;
    BaseRule { path, access } but id, why;
    ProtectedPath { path } but id, words, link;
    LinkedTree { common, written };
    World { workspace, home, base, sealed, protected, git_dirs, linked, private, single_files };
}

impl Feed for For {
    fn feed(&self, hash: &mut Sha256) {
        match self {
            For::All => None::<Vec<At<String>>>.feed(hash),
            For::These(names) => {
                true.feed(hash);
                names.feed(hash);
            }
        }
    }
}

impl Feed for Cli {
    fn feed(&self, hash: &mut Sha256) {
        match self {
            Cli::Adapter(name) => {
                false.feed(hash);
                name.feed(hash);
            }
            Cli::Command(words) => {
                true.feed(hash);
                words.feed(hash);
            }
        }
    }
}
