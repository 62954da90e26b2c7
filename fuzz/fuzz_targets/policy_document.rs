//! See [`remit_fuzz::policy_document`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| remit_fuzz::policy_document(bytes));
