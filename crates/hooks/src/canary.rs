//! The canary: a call that every policy denies, to prove before a session starts that the registered hook
//! is really asked and really refuses.

use crate::dialect::Host;
use remit_core::{AbsPath, PathError};

/// The input of a hook before a write of `<root>/remit.yaml`. Fails only if that path is too long.
pub fn canary(host: Host, root: &AbsPath) -> Result<Vec<u8>, PathError> {
    Ok(host.dialect().canary(root, &root.join("remit.yaml")?))
}

/// Whether what the registered command answered to [`canary`] is a denial in Remit's own words. Exit code 2
/// alone is not enough: a wrong command line ends with it too.
pub fn is_denial(host: Host, stdout: &[u8], code: u8) -> bool {
    host.dialect().is_denial(stdout, code)
}
