//! The key that signs checkpoints: `ledger.key` (the seed, 32 bytes, for its owner alone) and `ledger.pub` (the
//! public key, 64 hex digits), in a folder of their own.

use super::LedgerError;
use super::folder::PRIVATE;
use crate::atomic;
use remit_ledger::{Signer, Verifying};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

const SEED: &str = "ledger.key";
const PUBLIC: &str = "ledger.pub";

/// The key of a workspace's ledger.
#[derive(Debug)]
pub struct Keys {
    signer: Signer,
}

impl Keys {
    /// Loads the key from a folder that exists, or draws one. Fails on a key that others can read, that belongs
    /// to somebody else, or that does not fit the public key beside it.
    pub fn load_or_create(dir: &Path) -> Result<Self, LedgerError> {
        let place = Place::open(dir)?;
        let seed = match place.seed()? {
            Some(seed) => seed,
            None => {
                let seed: [u8; 32] = atomic::random().map_err(LedgerError::io("draw", SEED))?;
                atomic::create(&place.folder, SEED, &seed, PRIVATE)
                    .map_err(LedgerError::io("create", SEED))?;
                // Whoever was first has drawn it.
                place.seed()?.ok_or_else(|| place.fault(SEED, "was removed while it was read"))?
            }
        };
        let signer = Signer::from_seed(&seed);
        let public = format!("{}\n", signer.verifying().hex());
        let mut found = place.public()?;
        if found.is_none() {
            let readable = PRIVATE | Mode::RGRP | Mode::ROTH;
            atomic::create(&place.folder, PUBLIC, public.as_bytes(), readable)
                .map_err(LedgerError::io("create", PUBLIC))?;
            found = place.public()?;
        }
        if found.as_ref() != Some(&signer.verifying()) {
            return Err(
                place.fault(PUBLIC, "does not fit `ledger.key`; remove it if the key is the right one")
            );
        }
        Ok(Self { signer })
    }

    /// The public key in a folder; `None` if there is none, or no folder. Fails if the secret one is there, can be
    /// read, and is another key's.
    pub fn load_public(dir: &Path) -> Result<Option<Verifying>, LedgerError> {
        let folder = match atomic::open_folder(dir) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(LedgerError::io("open", dir.display().to_string())(error)),
        };
        let place = Place { dir, folder };
        let public = place.public()?;
        let seed = match place.open_file(SEED) {
            Ok(file) => file.map(|file| place.bytes(file)).transpose()?,
            // A copy that somebody else checks.
            Err(LedgerError::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => None,
            Err(error) => return Err(error),
        };
        match (seed, public) {
            (Some(seed), Some(public)) if Signer::from_seed(&seed).verifying() != public => {
                Err(place.fault(SEED, "does not fit `ledger.pub`: one of the two was changed"))
            }
            (_, public) => Ok(public),
        }
    }

    /// What checks the signatures.
    pub fn verifying(&self) -> Verifying {
        self.signer.verifying()
    }

    pub(super) fn signer(&self) -> &Signer {
        &self.signer
    }
}

struct Place<'a> {
    dir: &'a Path,
    folder: OwnedFd,
}

impl<'a> Place<'a> {
    fn open(dir: &'a Path) -> Result<Self, LedgerError> {
        let folder = atomic::open_folder(dir).map_err(LedgerError::io("open", dir.display().to_string()))?;
        Ok(Self { dir, folder })
    }

    fn fault(&self, file: &str, what: &'static str) -> LedgerError {
        LedgerError::Key { file: self.file(file), what }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn open_file(&self, name: &str) -> Result<Option<File>, LedgerError> {
        atomic::open_file(&self.folder, name, OFlags::RDONLY, Mode::empty())
            .map_err(LedgerError::io("open", self.file(name).display().to_string()))
    }

    fn seed(&self) -> Result<Option<[u8; 32]>, LedgerError> {
        let Some(file) = self.open_file(SEED)? else { return Ok(None) };
        let stat = rustix::fs::fstat(&file).map_err(LedgerError::io("look at", SEED))?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(self.fault(SEED, "belongs to somebody else"));
        }
        if stat.st_mode & 0o077 != 0 {
            return Err(self.fault(
                SEED,
                "can be read or written by others; `chmod 600` it, or remove it if others may have it",
            ));
        }
        self.bytes(file).map(Some)
    }

    /// What the secret key's file holds.
    fn bytes(&self, file: File) -> Result<[u8; 32], LedgerError> {
        let mut seed = Vec::new();
        file.take(33).read_to_end(&mut seed).map_err(LedgerError::io("read", SEED))?;
        seed.try_into().map_err(|_| self.fault(SEED, "is not a seed of 32 bytes"))
    }

    fn public(&self) -> Result<Option<Verifying>, LedgerError> {
        let Some(file) = self.open_file(PUBLIC)? else { return Ok(None) };
        let mut text = Vec::new();
        file.take(66).read_to_end(&mut text).map_err(LedgerError::io("read", PUBLIC))?;
        match String::from_utf8(text)
            .ok()
            .as_deref()
            .and_then(|text| text.strip_suffix('\n'))
            .and_then(Verifying::from_hex)
        {
            Some(key) => Ok(Some(key)),
            None => Err(self.fault(PUBLIC, "is not a public key of 64 hex digits")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_key_is_drawn_once_and_only_its_owner_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let first = Keys::load_or_create(dir.path()).unwrap();
        let again = Keys::load_or_create(dir.path()).unwrap();
        assert_eq!(first.verifying(), again.verifying());
        assert_eq!(Keys::load_public(dir.path()).unwrap(), Some(first.verifying()));
        assert_eq!(Keys::load_public(&dir.path().join("none")).unwrap(), None);
        let mode = |name| std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(SEED), 0o600);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(Keys::load_or_create(other.path()).unwrap().verifying(), first.verifying());
    }

    #[test]
    fn a_key_that_others_can_read_is_refused_with_the_way_out() {
        let dir = tempfile::tempdir().unwrap();
        Keys::load_or_create(dir.path()).unwrap();
        set_mode(&dir.path().join(SEED), 0o640);
        let error = Keys::load_or_create(dir.path()).unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn a_public_key_that_was_swapped_is_noticed() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        Keys::load_or_create(dir.path()).unwrap();
        Keys::load_or_create(other.path()).unwrap();
        std::fs::copy(other.path().join(PUBLIC), dir.path().join(PUBLIC)).unwrap();
        assert!(matches!(Keys::load_or_create(dir.path()), Err(LedgerError::Key { .. })));
        assert!(matches!(Keys::load_public(dir.path()), Err(LedgerError::Key { .. })));
    }

    #[test]
    fn a_seed_of_the_wrong_length_and_a_link_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let seed = dir.path().join(SEED);
        std::fs::write(&seed, [0; 31]).unwrap();
        set_mode(&seed, 0o600);
        assert!(matches!(Keys::load_or_create(dir.path()), Err(LedgerError::Key { .. })));
        std::fs::remove_file(&seed).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &seed).unwrap();
        assert!(matches!(Keys::load_or_create(dir.path()), Err(LedgerError::NotAFile(_))));
    }
}
