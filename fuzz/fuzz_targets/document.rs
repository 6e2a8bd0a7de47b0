//! Documents of front-door models.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(finding) = vi_tests::hostile::document(data) {
        panic!("{finding}");
    }
});
