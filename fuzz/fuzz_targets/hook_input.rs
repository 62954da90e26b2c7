//! See [`remit_fuzz::hook_input`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| remit_fuzz::hook_input(bytes));
