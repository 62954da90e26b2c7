//! The schema of the policy language beside a policy, by which editors know its keys: a relative path works for
//! everybody who has the checkout, with and without a network.

use remit_config::init::SCHEMA;
use remit_store::read_file;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// The schema as it is printed and kept.
pub(crate) fn text() -> String {
    format!("{:#}\n", remit_config::schema())
}

/// Writes it beside the policy of a folder, or brings it up to date; whether anything was written.
pub(crate) fn put(folder: &Path) -> io::Result<bool> {
    let file = folder.join(SCHEMA);
    let own = file.parent().unwrap_or(folder);
    match fs::create_dir(own) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // A link would lead elsewhere.
    if !fs::symlink_metadata(own)?.is_dir() {
        return Err(io::Error::new(ErrorKind::NotADirectory, "its folder is no folder"));
    }
    let text = text();
    if read_file(&file)?.is_some_and(|kept| kept == text.as_bytes()) {
        return Ok(false);
    }
    let fresh = file.with_extension("json.new");
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut new = OpenOptions::new().write(true).create_new(true).open(&fresh)?;
    new.write_all(text.as_bytes())?;
    new.sync_all()?;
    fs::rename(&fresh, &file)?;
    Ok(true)
}
