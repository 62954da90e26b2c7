//! See [`remit_fuzz::decide`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| remit_fuzz::decide(bytes));
