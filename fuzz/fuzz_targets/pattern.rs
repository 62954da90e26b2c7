//! See [`remit_fuzz::pattern`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| remit_fuzz::pattern(bytes));
