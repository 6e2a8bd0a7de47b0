/// Whether the slow tests run: `VI_SLOW=1` in the environment.
///
/// A slow test repeats a cheaper one over more seeds or larger sizes. The tests of other crates include this file.
///
/// ```sh
/// VI_SLOW=1 cargo test -p vi-tests
/// ```
#[must_use]
pub fn slow() -> bool {
    std::env::var_os("VI_SLOW").is_some_and(|value| value == "1")
}
