//! `cargo xtask packages`: each library crate alone, as a program outside the workspace meets it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::run::{Failure, cannot, cargo, finish, root};

/// The library crates, what the first example of each one's README needs beside it, and the features of each.
const CRATES: [(&str, &[&str], &[&str]); 8] = [
    ("vi-linalg", &[], &["rayon"]),
    ("vi-core", &[], &["rayon"]),
    ("vi-models", &[], &["rayon"]),
    ("vi-boost", &["rand_chacha"], &[]),
    ("vi-revrand", &["vi-linalg", "rand_chacha"], &["rayon"]),
    ("vi-terms", &["rand_chacha"], &[]),
    ("vi-data", &[], &["json", "compressed", "arrow", "columnar"]),
    ("vi-sums", &[], &[]),
];

/// The crates beside these that a release publishes.
const OTHERS: [&str; 2] = ["vi-plot", "vi-cli"];

/// Features of small crates beneath faer and `serde` in which the library crates would differ, so that these were checked again for each.
const SHARED: &str = "num-traits = \"0.2\"\nserde_core = \"1\"\n";

/// The crates that a page in a browser may want.
const IN_BROWSERS: [&str; 3] = ["vi-linalg", "vi-core", "vi-models"];

/// What browsers run.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// For each library crate, a program in `target/packages` that depends on it by its path, the first example of its README: checked with
/// default features off, with them on, where the crate has any, and with each feature of the crate. The tests of documentation run the examples.
///
/// What the lock file names is fetched first, once; the programs themselves look nothing up. Without a network it goes on with what is there.
/// Last, the crates are packed as for a release, and those for browsers checked for WebAssembly, where its standard library is installed.
pub(crate) fn run() -> Result<(), Failure> {
    if finish(cargo().args(["fetch", "--locked", "--quiet"])).is_err() {
        eprintln!("xtask: `cargo fetch` failed, see above; going on with what has been downloaded before");
    }
    let workspace = root().join("Cargo.toml");
    let workspace = fs::read_to_string(&workspace).map_err(|error| cannot("read", &workspace, &error))?;
    for (name, others, features) in CRATES {
        let folder = root().join("target").join("packages").join(name);
        let readme = root().join("crates").join(name).join("README.md");
        let readme = fs::read_to_string(&readme).map_err(|error| cannot("read", &readme, &error))?;
        let own = root().join("crates").join(name).join("Cargo.toml");
        let own = fs::read_to_string(&own).map_err(|error| cannot("read", &own, &error))?;
        let example = example(&readme).ok_or_else(|| Failure::new(format!("{name}/README.md has no Rust code")))?;
        write(&folder.join("src").join("main.rs"), &program(&example))?;
        // The versions of the project, so that nothing is looked up.
        let lock = root().join("Cargo.lock");
        let mut plans = vec![("without default features".to_owned(), false, &[][..])];
        if own.contains("\ndefault = ") {
            plans.push(("with default features".to_owned(), true, &[]));
        }
        if !features.is_empty() {
            plans.push((format!("with {}", features.join(", ")), false, features));
        }
        for (words, defaults, features) in plans {
            write(&folder.join("Cargo.toml"), &manifest(&workspace, name, others, defaults, features))?;
            let copy = folder.join("Cargo.lock");
            fs::copy(&lock, &copy).map_err(|error| cannot("write", &copy, &error))?;
            let begun = Instant::now();
            let mut command = cargo();
            command.current_dir(&folder).args(["check", "--quiet", "--offline"]);
            command.env("CARGO_TARGET_DIR", root().join("target").join("packages").join("target"));
            finish(&mut command).map_err(|failure| {
                let told = format!("{name} alone, {words}: `cargo check` failed in {}", folder.display());
                Failure { message: Some(told), ..failure }
            })?;
            println!("{name} {words}: {:.1} s", begun.elapsed().as_secs_f64());
        }
    }
    packed()?;
    browsers()
}

/// Packs the crates that a release publishes, as it would; a warning is an error.
fn packed() -> Result<(), Failure> {
    let begun = Instant::now();
    let names = CRATES.iter().map(|(name, ..)| *name).chain(OTHERS);
    let mut command = cargo();
    command.args(["package", "--quiet", "--offline", "--no-verify", "--allow-dirty"]);
    command.args(names.flat_map(|name| ["--package", name]));
    let told = command.output().map_err(|error| Failure::new(format!("cannot run `cargo package`: {error}")))?;
    let words = String::from_utf8_lossy(&told.stderr);
    if !told.status.success() || words.contains("warning:") {
        return Err(Failure::new(format!("`cargo package` is not clean:\n{words}")));
    }
    println!("{} crates packed, {:.1} s", CRATES.len() + OTHERS.len(), begun.elapsed().as_secs_f64());
    Ok(())
}

/// Checks the crates for browsers, where the standard library for these is installed.
fn browsers() -> Result<(), Failure> {
    if !has_std(WASM) {
        println!("No standard library for {WASM} (`rustup target add {WASM}`): not checked.");
        return Ok(());
    }
    let begun = Instant::now();
    let mut command = cargo();
    command.args(["check", "--quiet", "--locked", "--target", WASM]);
    command.env("CARGO_TARGET_DIR", root().join("target").join("packages").join("target"));
    for name in IN_BROWSERS {
        command.args(["--package", name]);
    }
    finish(&mut command).map_err(|failure| {
        let told = format!("`cargo check --target {WASM}` failed for {}", IN_BROWSERS.join(", "));
        Failure { message: Some(told), ..failure }
    })?;
    println!("{}: check for {WASM}, {:.1} s", IN_BROWSERS.join(", "), begun.elapsed().as_secs_f64());
    Ok(())
}

/// Whether the compiler has the standard library of a target.
pub(crate) fn has_std(target: &str) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let told = Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output();
    let folder = told.ok().filter(|told| told.status.success()).and_then(|told| String::from_utf8(told.stdout).ok());
    folder.is_some_and(|folder| fs::read_dir(folder.trim()).is_ok_and(|mut files| files.next().is_some()))
}

/// The first block of Rust in a page.
fn example(page: &str) -> Option<String> {
    let (_, rest) = page.split_once("\n```rust\n")?;
    rest.split_once("\n```").map(|(code, _)| code.to_owned())
}

/// A program that runs the code of a documentation example, whose last line gives its result.
fn program(example: &str) -> String {
    let mut text = "fn main() {\n    let run = || {\n".to_owned();
    for line in example.lines() {
        let _ = writeln!(text, "        {}", line.strip_prefix("# ").unwrap_or(line));
    }
    text + "    };\n    run().unwrap();\n}\n"
}

/// The manifest of a program that needs the crate `name`, and `others` at the versions of the workspace.
fn manifest(workspace: &str, name: &str, others: &[&str], defaults: bool, features: &[&str]) -> String {
    let mut text =
        "[package]\nname = \"alone\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n"
            .to_owned();
    let path = |name: &str| root().join("crates").join(name).display().to_string();
    let _ = writeln!(
        text,
        "{name} = {{ path = {:?}, default-features = {defaults}, features = {features:?} }}",
        path(name)
    );
    text.push_str(SHARED);
    for other in others {
        let own = format!("{other} = {{ path = {:?} }}", path(other));
        let wanted = |line: &&str| line.starts_with(&format!("{other} = \""));
        let _ = writeln!(text, "{}", workspace.lines().find(wanted).unwrap_or(&own));
    }
    text
}

/// Writes a file, and the folders above it.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder: PathBuf = path.parent().map_or_else(root, Path::to_path_buf);
    fs::create_dir_all(&folder).map_err(|error| cannot("create", &folder, &error))?;
    fs::write(path, text).map_err(|error| cannot("write", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The manifests of all crates, by name.
    fn manifests() -> Vec<(String, String)> {
        let folders = fs::read_dir(root().join("crates")).unwrap();
        folders
            .map(|folder| {
                let folder = folder.unwrap();
                let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
                (folder.file_name().into_string().unwrap(), manifest)
            })
            .collect()
    }

    #[test]
    fn every_crate_has_a_page_of_its_own_and_every_library_is_documented_with_all_features() {
        let manifests = manifests();
        assert!(manifests.len() >= 8);
        for (name, manifest) in manifests {
            assert!(root().join("crates").join(&name).join("README.md").is_file(), "{name}");
            assert!(manifest.contains("\nreadme = \"README.md\"\n"), "{name}");
            if CRATES.iter().any(|(library, ..)| *library == name) {
                assert!(manifest.contains("[package.metadata.docs.rs]\nall-features = true\n"), "{name}");
            }
        }
    }

    #[test]
    fn every_feature_is_in_the_page_of_its_crate() {
        for (name, manifest) in manifests() {
            let Some((_, features)) = manifest.split_once("\n[features]\n") else { continue };
            let features = features.split("\n[").next().unwrap();
            let readme = fs::read_to_string(root().join("crates").join(&name).join("README.md")).unwrap();
            for line in features.lines().filter(|line| !line.starts_with(['#', ' ', ']'])) {
                let Some((feature, _)) = line.split_once(" = ") else { continue };
                assert!(feature == "default" || readme.contains(&format!("| `{feature}` |")), "{name}: {feature}");
            }
        }
    }

    #[test]
    fn the_version_to_cite_is_that_of_the_workspace() {
        let cargo = fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let version = cargo.split("version = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let citation = fs::read_to_string(root().join("CITATION.cff")).unwrap();
        assert!(citation.contains(&format!("\nversion: {version}\n")), "{version}");
    }

    #[test]
    fn a_manifest_takes_versions_from_the_workspace() {
        let text = manifest(
            "rand = \"1\"\nrand_chacha = \"0.10.0\"\n",
            "vi-core",
            &["rand_chacha", "vi-linalg"],
            false,
            &["rayon"],
        );
        assert!(text.contains("\nrand_chacha = \"0.10.0\"\nvi-linalg = { path = \""), "{text}");
        assert!(text.contains("default-features = false, features = [\"rayon\"] }"), "{text}");
    }

    #[test]
    fn crates_for_browsers_are_library_crates_and_the_compiler_tells_its_targets() {
        assert!(IN_BROWSERS.iter().all(|name| CRATES.iter().any(|(library, ..)| library == name)));
        assert!(!has_std("no-such-target"));
    }

    #[test]
    fn an_example_becomes_a_program() {
        let code = example("# A\n\n```sh\nx\n```\n\n```rust\nlet x = 1;\n# Ok::<(), E>(())\n```\n").unwrap();
        assert_eq!(code, "let x = 1;\n# Ok::<(), E>(())");
        let expected = "fn main() {\n    let run = || {\n        let x = 1;\n        Ok::<(), E>(())\n    };\n    run().unwrap();\n}\n";
        assert_eq!(program(&code), expected);
    }
}
