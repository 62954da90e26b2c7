//! Checkpoints: signed statements of how many records a ledger has and what the last one hashes to. They are
//! what a person who can write the ledger's files, but not sign, cannot forge.
//!
//! ```text
//! {"signature":"<128 hex>","statement":{"head":…,"key":…,"ledger":…,"number":…,"scheme":…,"seq":…,"time":…}}
//! signature = Ed25519("remit/ledger/checkpoint/v1\0" ‖ statement in canonical JSON)
//! ```

use crate::hash::{from_hex, hex};
use crate::{Hash, Time, canonical};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

/// The name of the scheme, in every statement.
pub const SCHEME: &str = "remit/ledger/checkpoint/v1";

/// What is signed. Fields stand in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The hash of record `seq`; for 0 what stands before the first record.
    pub head: Hash,
    /// The id of the key that signs: see [`Verifying::id`].
    pub key: String,
    /// The ledger's id.
    pub ledger: Hash,
    /// The number of the checkpoint, from 1, so that a missing one shows.
    pub number: u64,
    /// [`SCHEME`].
    pub scheme: String,
    /// The number of the last record, which counts them.
    pub seq: u64,
    /// When it was signed.
    pub time: Time,
}

/// A signed statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// 128 hex digits.
    signature: String,
    /// What is signed.
    pub statement: Statement,
}

/// Why a checkpoint does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// The bytes do not have the shape.
    #[error("not a checkpoint: {0}")]
    Shape(String),
    /// It is of a scheme that this program does not know.
    #[error("a checkpoint of the scheme `{0}`, and this program knows `{SCHEME}`")]
    Scheme(String),
    /// A number is too great to be written.
    #[error("a checkpoint cannot say numbers beyond 2^53 - 1")]
    Great,
    /// It names a key that was not handed in.
    #[error("signed with the key `{0}`, which is not one of this ledger's")]
    Key(String),
    /// The signature does not fit.
    #[error("the signature does not fit what the checkpoint says")]
    Signature,
}

/// A key that signs.
pub struct Signer {
    key: SigningKey,
    id: String,
}

impl Signer {
    /// Makes the key from its seed, 32 random bytes.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let key = SigningKey::from_bytes(seed);
        let id = id(&key.verifying_key());
        Self { key, id }
    }

    /// The key that checks what this one signs.
    pub fn verifying(&self) -> Verifying {
        Verifying { key: self.key.verifying_key(), id: self.id.clone() }
    }

    /// Signs that the ledger has `seq` records and that the last one hashes to `head`. `number` counts the
    /// checkpoints of the ledger from 1.
    pub fn sign(
        &self,
        ledger: Hash,
        number: u64,
        seq: u64,
        head: Hash,
        time: Time,
    ) -> Result<Checkpoint, CheckpointError> {
        let (key, scheme) = (self.id.clone(), SCHEME.to_owned());
        let statement = Statement { head, key, ledger, number, scheme, seq, time };
        let signature = self.key.sign(&message(&statement)?);
        Ok(Checkpoint { signature: hex(&signature.to_bytes()), statement })
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A key that checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verifying {
    key: VerifyingKey,
    id: String,
}

impl Verifying {
    /// Takes the 32 bytes of the public key; `None` if they are no key, or one under which anything passes.
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        let key = VerifyingKey::from_bytes(bytes).ok().filter(|key| !key.is_weak())?;
        Some(Self { id: id(&key), key })
    }

    /// Takes 64 lowercase hex digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        Self::from_bytes(&from_hex(text.as_bytes())?)
    }

    /// The public key as 64 hex digits.
    pub fn hex(&self) -> String {
        hex(self.key.as_bytes())
    }

    /// The key's id: the first 32 hex digits of the hash of `remit/ledger/key/v1\0` and the public key.
    pub fn id(&self) -> &str {
        &self.id
    }
}

fn id(key: &VerifyingKey) -> String {
    let hash = Hash::of(&[b"remit/ledger/key/v1\0", key.as_bytes()]);
    hash.0.first_chunk::<16>().map(|half| hex(half)).unwrap_or_default()
}

fn message(statement: &Statement) -> Result<Vec<u8>, CheckpointError> {
    if statement.seq.max(statement.number) > canonical::GREATEST {
        return Err(CheckpointError::Great);
    }
    let mut out = [SCHEME.as_bytes(), b"\0"].concat();
    serde_json::to_writer(&mut out, statement).map_err(|e| CheckpointError::Shape(e.to_string()))?;
    Ok(out)
}

impl Checkpoint {
    /// Takes a line, without its newline. Only the one canonical spelling is taken.
    pub fn parse(line: &[u8]) -> Result<Self, CheckpointError> {
        let checkpoint: Self =
            serde_json::from_slice(line).map_err(|error| CheckpointError::Shape(error.to_string()))?;
        if checkpoint.encode()? != line {
            return Err(CheckpointError::Shape("it is not spelled canonically".to_owned()));
        }
        Ok(checkpoint)
    }

    /// The line, without a newline.
    pub fn encode(&self) -> Result<Vec<u8>, CheckpointError> {
        serde_json::to_vec(self).map_err(|error| CheckpointError::Shape(error.to_string()))
    }

    /// Checks scheme, key and signature. Whether the ledger fits is another question.
    pub fn check(&self, keys: &[Verifying]) -> Result<(), CheckpointError> {
        let statement = &self.statement;
        if statement.scheme != SCHEME {
            return Err(CheckpointError::Scheme(statement.scheme.clone()));
        }
        let Some(key) = keys.iter().find(|key| key.id == statement.key) else {
            return Err(CheckpointError::Key(statement.key.clone()));
        };
        let signature = from_hex(self.signature.as_bytes()).ok_or(CheckpointError::Signature)?;
        key.key
            .verify_strict(&message(statement)?, &Signature::from_bytes(&signature))
            .map_err(|_| CheckpointError::Signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer() -> Signer {
        Signer::from_seed(&[5; 32])
    }

    fn checkpoint() -> Checkpoint {
        let time = Time::parse("2026-01-02T03:04:05.000006Z").unwrap();
        signer().sign(Hash([1; 32]), 2, 77, Hash([2; 32]), time).unwrap()
    }

    #[test]
    fn a_checkpoint_survives_and_holds() {
        let line = checkpoint().encode().unwrap();
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(canonical::to_vec(&value).unwrap(), line);
        let parsed = Checkpoint::parse(&line).unwrap();
        assert_eq!(parsed, checkpoint());
        assert_eq!(parsed.check(&[signer().verifying()]), Ok(()));
        let key = signer().verifying();
        assert_eq!(Verifying::from_hex(&key.hex()), Some(key));
    }

    #[test]
    fn every_forged_field_is_found() {
        let keys = [signer().verifying()];
        let forged = |change: &dyn Fn(&mut Statement)| {
            let mut checkpoint = checkpoint();
            change(&mut checkpoint.statement);
            checkpoint.check(&keys)
        };
        assert_eq!(forged(&|s| s.seq = 78), Err(CheckpointError::Signature));
        assert_eq!(forged(&|s| s.number = 3), Err(CheckpointError::Signature));
        assert_eq!(forged(&|s| s.head = Hash([3; 32])), Err(CheckpointError::Signature));
        assert_eq!(forged(&|s| s.ledger = Hash([3; 32])), Err(CheckpointError::Signature));
        assert_eq!(
            forged(&|s| s.time = Time::parse("2026-01-02T03:04:05.000007Z").unwrap()),
            Err(CheckpointError::Signature)
        );
        assert_eq!(forged(&|s| s.scheme = "v0".into()), Err(CheckpointError::Scheme("v0".into())));
        assert_eq!(forged(&|s| s.key = "k".into()), Err(CheckpointError::Key("k".into())));
    }

    #[test]
    fn a_signature_of_another_key_under_this_keys_name_does_not_hold() {
        let mut forger = Signer::from_seed(&[6; 32]);
        forger.id = signer().id;
        let time = Time::parse("2026-01-02T03:04:05.000006Z").unwrap();
        let forged = forger.sign(Hash([1; 32]), 2, 77, Hash([2; 32]), time).unwrap();
        assert_eq!(forged.check(&[signer().verifying()]), Err(CheckpointError::Signature));
    }

    #[test]
    fn any_flipped_bit_of_the_line_is_found() {
        let keys = [signer().verifying()];
        let line = checkpoint().encode().unwrap();
        for at in 0..line.len() * 8 {
            let mut line = line.clone();
            line[at / 8] ^= 1 << (at % 8);
            assert!(Checkpoint::parse(&line).and_then(|c| c.check(&keys)).is_err(), "bit {at}");
        }
    }

    #[test]
    fn other_spellings_and_weak_keys_are_refused() {
        let line = String::from_utf8(checkpoint().encode().unwrap()).unwrap();
        assert!(matches!(Checkpoint::parse(format!("{line} ").as_bytes()), Err(CheckpointError::Shape(_))));
        assert!(matches!(Checkpoint::parse(b"{}"), Err(CheckpointError::Shape(_))));
        // The neutral element: every message would pass under it.
        let mut neutral = [0; 32];
        neutral[0] = 1;
        assert_eq!(Verifying::from_bytes(&neutral), None);
    }

    #[test]
    fn the_secret_is_not_in_what_debugging_prints() {
        assert_eq!(format!("{:?}", signer()), format!("Signer {{ id: {:?}, .. }}", signer().id));
    }
}
