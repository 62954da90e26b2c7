//! A model on loopback that says what a script tells it to say. [`script`] is what to say, [`conversation`] what
//! was asked in one shape for all vendors, [`server`] the listener and its record; each vendor's protocol is a
//! file of its own ([`anthropic`]) behind the `Dialect` trait of [`dialect`].

mod anthropic;
mod conversation;
mod dialect;
mod http;
mod script;
mod server;

pub use conversation::{Conversation, Message, ToolResult};
pub use script::{Block, Part, Script};
pub use server::{Exchange, Model};
