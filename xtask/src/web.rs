//! `cargo xtask web`: the page that computes, and its test in a browser.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::packages::{WASM, has_std};
use crate::run::{Failure, cannot, cargo, finish, root};

/// The crate, a workspace of its own.
const MANIFEST: &str = "web/Cargo.toml";
/// The files of the page that are there as they are.
const PAGE: [&str; 4] = ["index.html", "style.css", "worker.js", "app.js"];
/// Instructions on several numbers, which every browser of the last years has; nothing that is asked for a random number.
const FLAGS: &str = "--cfg getrandom_backend=\"unsupported\" -Ctarget-feature=+simd128";
/// The compiler of Debian, newer than the pinned one, with the source of its library.
const DEBIAN: [&str; 3] = ["/usr/bin/cargo", "/usr/bin/rustc", "/usr/lib/rustlib/src/rust/library/Cargo.lock"];

/// Builds the page; for `test` checks its formatting and lints, and runs its tests, the last of them in a browser.
pub(crate) fn run(test: bool) -> Result<(), Failure> {
    if test {
        finish(cargo().args(["fmt", "--check", "--manifest-path", MANIFEST]))?;
        let native = |arguments: &[&str]| {
            let mut command = cargo();
            command.env("CARGO_TARGET_DIR", compiled()).args(arguments);
            command
        };
        let clippy = ["clippy", "--locked", "--all-targets", "--manifest-path", MANIFEST, "--", "-D", "warnings"];
        finish(&mut native(&clippy))?;
        finish(&mut native(&["test", "--locked", "--manifest-path", MANIFEST]))?;
    }
    let page = build()?;
    println!("The page: {}", page.join("index.html").display());
    if test { browse(&page) } else { Ok(()) }
}

/// The first thing that the test in a browser lacks, none if all is there.
fn missing() -> Option<&'static str> {
    if compiler().is_none() {
        return Some("a compiler for WebAssembly");
    }
    if !starts("node") || !starts("npm") {
        return Some("Node.js");
    }
    browser().is_none().then_some("Chromium")
}

fn compiled() -> PathBuf {
    root().join("target").join("wasm")
}

/// Compiles the program and puts the page together.
fn build() -> Result<PathBuf, Failure> {
    let mut command = compiler().ok_or_else(|| {
        Failure::new(
            "`web` needs Rust's standard library for WebAssembly: rustup target add wasm32-unknown-unknown\n\
             Where rustup cannot fetch it, Debian's packages cargo-web, rustc-web (1.95 or later), rust-web-src and lld do.",
        )
    })?;
    command.current_dir(root()).env("CARGO_TARGET_DIR", compiled());
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", FLAGS);
    command.args(["build", "--locked", "--release", "--lib", "--target", WASM, "--manifest-path", MANIFEST]);
    finish(&mut command)?;
    let program = compiled().join(WASM).join("release").join("vi_web.wasm");
    let program = fs::read(&program).map_err(|error| cannot("read", &program, &error))?;
    let page = root().join("target").join("web");
    fs::create_dir_all(&page).map_err(|error| cannot("create", &page, &error))?;
    for name in PAGE {
        let (from, to) = (root().join("web").join("page").join(name), page.join(name));
        fs::copy(&from, &to).map_err(|error| cannot("copy", &from, &error))?;
    }
    let script = page.join("rvi.wasm.js");
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let packed = packed.write_all(&program).and_then(|()| packed.finish());
    let packed = packed.map_err(|error| cannot("pack", &script, &error))?;
    let text = format!("// The program, made by `cargo xtask web`.\nself.rviProgram = \"{}\";\n", base64(&packed));
    fs::write(&script, text).map_err(|error| cannot("write", &script, &error))?;
    Ok(page)
}

/// The cargo that compiles for WebAssembly: that of the pinned version with the library that rustup has added, or that of Debian, which compiles the library too.
fn compiler() -> Option<Command> {
    if has_std(WASM) {
        return Some(cargo());
    }
    let [cargo, rustc, source] = DEBIAN;
    if ![cargo, rustc, source].iter().all(|path| Path::new(path).is_file()) {
        return None;
    }
    let linker = ["rust-lld", "wasm-ld"].into_iter().find(|name| starts(name))?;
    let mut command = Command::new(cargo);
    command.args(["-Z", "build-std=std,panic_abort"]);
    // Of a stable compiler this allows only what the line before asks for.
    command.env("RUSTC", rustc).env("RUSTC_BOOTSTRAP", "1");
    // What cargo says of the pinned compiler is not of this one.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("LD_LIBRARY_PATH");
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    Some(command)
}

fn starts(program: &str) -> bool {
    let status = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    // A linker that is called by no flavour says so, which is a start too.
    status.is_ok()
}

/// The browser, by the variable `CHROMIUM` or a usual name.
fn browser() -> Option<String> {
    let named = env::var("CHROMIUM").ok();
    let usual = ["chromium", "google-chrome", "chromium-browser"].map(str::to_owned);
    named.into_iter().chain(usual).find(|name| starts(name))
}

/// Runs the test of the page in a browser, beside the command `rvi`.
fn browse(page: &Path) -> Result<(), Failure> {
    if let Some(what) = missing() {
        return Err(Failure::new(format!("`web --test` needs {what}, and found none")));
    }
    finish(cargo().args(["build", "--package", "vi-cli"]))?;
    // It lies beside this program.
    let here = env::current_exe().map_err(|error| cannot("find", Path::new("xtask"), &error))?;
    let rvi = here.with_file_name(format!("rvi{}", env::consts::EXE_SUFFIX));
    let own = root().join("target").join("web-test");
    fs::create_dir_all(&own).map_err(|error| cannot("create", &own, &error))?;
    let sources = root().join("web");
    for (folder, name) in
        [("tests", "package.json"), ("tests", "package-lock.json"), ("tests", "page.mjs"), ("data", "houses.csv")]
    {
        let from = sources.join(folder).join(name);
        fs::copy(&from, own.join(name)).map_err(|error| cannot("copy", &from, &error))?;
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    finish(Command::new(npm).current_dir(&own).args([
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--silent",
    ]))?;
    let mut test = Command::new("node");
    test.current_dir(&own).arg("page.mjs").arg(page).arg(rvi).args(browser());
    finish(&mut test)
}

/// Bytes as text of 64 letters, four for every three bytes.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let byte = |k: usize| u32::from(part.get(k).copied().unwrap_or(0));
        let all = byte(0) << 16 | byte(1) << 8 | byte(2);
        for k in 0..4 {
            let letter = LETTERS[(all >> (18 - 6 * k)) as usize & 63];
            text.push(if k <= part.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn every_file_of_the_page_is_copied_and_named() {
        let folder = root().join("web").join("page");
        let mut found: Vec<String> =
            fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        found.sort();
        let mut known = PAGE.map(str::to_owned);
        known.sort();
        assert_eq!(found, known);
        let page = fs::read_to_string(folder.join("index.html")).unwrap();
        assert!(PAGE[1..].iter().all(|name| page.contains(&format!("\"{name}\""))));
    }

    #[test]
    fn the_crate_has_the_version_of_the_workspace_and_a_lock_file() {
        let version = format!("\nversion = \"{}\"\n", env!("CARGO_PKG_VERSION"));
        assert!(fs::read_to_string(root().join(MANIFEST)).unwrap().contains(&version));
        assert!(root().join("web").join("Cargo.lock").is_file());
    }
}
