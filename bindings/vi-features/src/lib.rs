//! One set of features of the crates that all doors share: all of it is in the manifest.
