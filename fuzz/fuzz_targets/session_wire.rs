//! See [`remit_fuzz::session_wire`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| remit_fuzz::session_wire(bytes));
