//! `cargo xtask count`: how much there is of the project, crate by crate.

use std::fs;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

use crate::run::{Failure, cannot, root};

/// The folders that crates stand in, one level down or themselves.
const HOMES: [&str; 6] = ["crates", "bindings", "tests", "benches", "xtask", "fuzz"];

/// What an item starts with after `pub` and its qualifiers; fields, modules and re-exports are no items.
const ITEMS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union"];

/// Lines of Rust by what they are, and public items; blank lines and comments count in `all` alone.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    all: usize,
    code: usize,
    docs: usize,
    tests: usize,
    public: usize,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.code += other.code;
        self.docs += other.docs;
        self.tests += other.tests;
        self.public += other.public;
    }
}

/// Writes a table of the crates under `folder`, or of this project, to standard output.
pub(crate) fn run(folder: Option<&Path>) -> Result<(), Failure> {
    let root = folder.map_or_else(root, Path::to_path_buf);
    println!("{:<20} {:>8} {:>8} {:>8} {:>8} {:>8}", "crate", "lines", "code", "docs", "tests", "public");
    let row = |name: &str, c: Counts| {
        println!("{name:<20} {:>8} {:>8} {:>8} {:>8} {:>8}", c.all, c.code, c.docs, c.tests, c.public);
    };
    let mut sum = Counts::default();
    for home in HOMES {
        for folder in crates(&root.join(home))? {
            let mut counts = Counts::default();
            for file in sources(&folder)? {
                let text = fs::read_to_string(&file).map_err(|error| cannot("read", &file, &error))?;
                counts += of(&text, is_test(file.strip_prefix(&root).unwrap_or(&file)));
            }
            row(&folder.file_name().unwrap_or_default().to_string_lossy(), counts);
            sum += counts;
        }
    }
    row("all", sum);
    Ok(())
}

/// The folder itself if it is a crate, or those in it that are, by name; none where there is no such folder.
fn crates(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let manifest = folder.join("Cargo.toml");
    if fs::read_to_string(manifest).is_ok_and(|text| text.contains("[package]")) {
        return Ok(vec![folder.to_path_buf()]);
    }
    let mut found = entries(folder)?;
    found.retain(|path| path.join("Cargo.toml").is_file());
    Ok(found)
}

/// The files of Rust under a folder, what is built aside.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| cannot("read", folder, &error))? {
        found.push(entry.map_err(|error| cannot("read", folder, &error))?.path());
    }
    found.sort();
    Ok(found)
}

/// Whether a file holds tests alone: it stands in a folder `tests`, or is a module of that name.
fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
}

/// The counts of one file.
fn of(text: &str, is_test: bool) -> Counts {
    let mut counts = Counts { all: text.lines().count(), ..Counts::default() };
    // The line that closes the module of tests that is open.
    let mut closes: Option<String> = None;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let words = line.trim_start();
        let docs = words.starts_with("///") || words.starts_with("//!");
        if words.is_empty() || (words.starts_with("//") && !docs) {
            continue;
        }
        if docs {
            counts.docs += 1;
        } else if is_test || closes.is_some() {
            counts.tests += 1;
            closes = closes.filter(|end| end != line);
        } else if words == "#[cfg(test)]" && lines.peek().is_some_and(|next| next.trim_start().starts_with("mod ")) {
            counts.tests += 1;
            if lines.peek().is_some_and(|next| next.ends_with('{')) {
                closes = Some(format!("{}}}", &line[..line.len() - words.len()]));
            }
        } else {
            counts.code += 1;
            counts.public += usize::from(is_public(words));
        }
    }
    counts
}

/// Whether a line starts a public item.
fn is_public(words: &str) -> bool {
    let mut words = words.split([' ', '<', '(']).peekable();
    if words.next() != Some("pub") {
        return false;
    }
    let item = words.find(|word| !["unsafe", "async", "extern", "\"C\""].contains(word));
    item.is_some_and(|item| ITEMS.contains(&item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_code_or_docs_or_a_test() {
        let text = "//! A file.\n\n/// An item.\npub const fn one() {}\npub(crate) struct Two {\n    pub field: u8, // one\n}\n\
            // A comment.\npub use Two as Three;\npub mod four;\n    pub async fn five<T>() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn six() {\n    }\n}\n\
            pub enum Seven {}\n#[cfg(test)]\nmod other;\npub static EIGHT: u8 = 8;\n";
        let counts = of(text, false);
        assert_eq!(counts, Counts { all: 21, code: 10, docs: 2, tests: 7, public: 4 });
        assert_eq!(of(text, true), Counts { all: 21, code: 0, docs: 2, tests: 17, public: 0 });
        assert!(is_test(Path::new("crates/a/tests/it/b.rs")) && is_test(Path::new("crates/a/src/b/tests.rs")));
        assert!(!is_test(Path::new("crates/a/src/attests.rs")));
    }
}
