//! The examples of the crates run, and what each of them asserts at its end holds.
#![allow(unreachable_pub, reason = "an example is a program of its own, whose `main` is called here")]

use std::error::Error;

/// Runs the `main` of each example as a test of its name.
macro_rules! examples {
    ($($name:ident in $path:literal;)*) => {$(
        #[path = $path]
        mod $name;

        #[test]
        fn $name() -> Result<(), Box<dyn Error>> {
            $name::main()
        }
    )*};
}

examples! {
    bandit in "../../../crates/vi-models/examples/bandit.rs";
    clicks in "../../../crates/vi-models/examples/clicks.rs";
    multimodal in "../../../crates/vi-boost/examples/multimodal.rs";
    random_features in "../../../crates/vi-revrand/examples/random_features.rs";
    resume in "../../../crates/vi-models/examples/resume.rs";
    scorecard in "../../../crates/vi-models/examples/scorecard.rs";
    sensor in "../../../crates/vi-models/examples/sensor.rs";
    shards in "../../../crates/vi-models/examples/shards.rs";
    shelf in "../../../crates/vi-models/examples/shelf.rs";
    sparse_million in "../../../crates/vi-models/examples/sparse_million.rs";
}

/// No example is left out here.
#[test]
fn all_examples_are_tested() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let own = include_str!("examples.rs");
    let mut found = 0;
    for folder in std::fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(files) = std::fs::read_dir(folder.join("examples")) else { continue };
        for file in files {
            let name = file.unwrap().file_name().into_string().unwrap();
            assert!(own.contains(&format!("/examples/{name}\"")), "{name}");
            found += 1;
        }
    }
    assert_eq!(found, 10);
}
