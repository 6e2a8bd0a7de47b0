//! Tables as CSV.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(finding) = vi_tests::hostile::csv(data) {
        panic!("{finding}");
    }
});
