//! See [`remit_fuzz::pattern`].
#![no_main]
#![expect(clippy::disallowed_methods, reason = "the expanded macro can write an input to a file")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| remit_fuzz::pattern(bytes));
