//! `cargo xtask demo`: the main job on a scratch repository, with the program as it is shipped.

use crate::{project, shell};
use anyhow::Result;
use std::process::Command;

/// Builds the program and runs its demonstration; with `once` it ends by itself.
pub(crate) fn demo(once: bool) -> Result<()> {
    let program = project::build_release()?;
    let mut demo = Command::new(program);
    demo.arg("demo");
    if once {
        demo.arg("--once");
    }
    shell::run(&mut demo)
}
