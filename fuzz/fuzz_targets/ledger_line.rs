//! See [`remit_fuzz::ledger_line`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| remit_fuzz::ledger_line(bytes));
