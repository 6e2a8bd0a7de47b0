//! The scalar steps of every rule.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(finding) = vi_tests::hostile::implicit_step(data) {
        panic!("{finding}");
    }
});
