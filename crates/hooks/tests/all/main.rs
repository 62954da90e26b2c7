//! What the crate promises to hosts, agents and people, tested from outside.
#![expect(clippy::disallowed_methods, reason = "makes scratch folders and reads the captured inputs")]

#[cfg(test)]
mod broken_inputs;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod install;
#[cfg(test)]
mod shell;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tools;
