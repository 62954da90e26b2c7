//! The key that signs checkpoints: `ledger.key` (the seed, 32 bytes, for its owner alone) and `ledger.pub` (the
//! public key, 64 hex digits), in a folder of their own.

use super::LedgerError;
use super::folder::PRIVATE;
use crate::atomic;
use remit_ledger::{Signer, Verifying};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
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

    /// The public key in a folder, without the secret; `None` if there is none, or no folder.
    pub fn load_public(dir: &Path) -> Result<Option<Verifying>, LedgerError> {
        match atomic::open_folder(dir) {
            Ok(folder) => Place { dir, folder }.public(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(LedgerError::io("open", dir.display().to_string())(error)),
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
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        match rustix::fs::openat(&self.folder, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(File::from(fd))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(LedgerError::io("open", name)(error)),
        }
    }

    fn seed(&self) -> Result<Option<[u8; 32]>, LedgerError> {
        let Some(mut file) = self.open_file(SEED)? else { return Ok(None) };
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
        let mut seed = [0; 32];
        let whole = file.read_exact(&mut seed).is_ok();
        if !whole || stat.st_size != 32 {
            return Err(self.fault(SEED, "is not a seed of 32 bytes"));
        }
        Ok(Some(seed))
    }

    fn public(&self) -> Result<Option<Verifying>, LedgerError> {
        let Some(file) = self.open_file(PUBLIC)? else { return Ok(None) };
        let mut text = String::new();
        file.take(66).read_to_string(&mut text).map_err(LedgerError::io("read", PUBLIC))?;
        match text.strip_suffix('\n').and_then(Verifying::from_hex) {
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
        assert!(matches!(Keys::load_or_create(dir.path()), Err(LedgerError::Io { .. })));
    }
}
