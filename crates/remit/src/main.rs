//! remit
fn main() {}
