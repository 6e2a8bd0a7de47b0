//! Checkpoints of every kind, in a right frame or none.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(finding) = vi_tests::hostile::record(data) {
        panic!("{finding}");
    }
});
