//! `cargo xtask docs`: the guide as a book of web pages.

use std::process::{Command, Stdio};

use crate::run::{Failure, finish, root};

/// Builds `docs` into `target/guide` with the program mdbook, which must be there.
pub(crate) fn run() -> Result<(), Failure> {
    let there = Command::new("mdbook").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        return Err(Failure::new(
            "`docs` needs mdbook, and found none: cargo install mdbook --locked\n\
             The pages are plain Markdown and can be read as they are: docs/src/SUMMARY.md",
        ));
    }
    let book = root().join("target").join("guide");
    finish(Command::new("mdbook").current_dir(root()).args(["build", "docs", "--dest-dir"]).arg(&book))?;
    println!("The guide: {}", book.join("index.html").display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    /// Every Markdown file in a folder.
    fn pages(folder: &Path) -> Vec<PathBuf> {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|kind| kind == "md")).collect()
    }

    /// The targets of the links in a page, code left out.
    fn links(page: &str) -> Vec<String> {
        let mut fenced = false;
        let mut found = Vec::new();
        for line in page.lines() {
            fenced ^= line.starts_with("```");
            if !fenced {
                let parts = line.split("](").skip(1);
                found.extend(parts.filter_map(|part| part.split_once(')')).map(|(target, _)| target.to_owned()));
            }
        }
        found
    }

    /// The names by which a page's headings are linked to.
    fn anchors(page: &str) -> Vec<String> {
        let headings = page.lines().filter(|line| line.starts_with('#'));
        let name = |heading: &str| {
            let text = heading.trim_start_matches('#').trim().to_lowercase();
            text.chars().filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-').collect::<String>().replace(' ', "-")
        };
        headings.map(name).collect()
    }

    #[test]
    fn every_link_of_every_page_leads_somewhere() {
        let mut all = pages(&root());
        all.extend(pages(&root().join("docs").join("src")));
        for crates in ["crates", "bindings"] {
            let inside = fs::read_dir(root().join(crates)).unwrap().map(|folder| folder.unwrap().path());
            all.extend(inside.filter(|path| path.is_dir()).flat_map(|folder| pages(&folder)));
        }
        assert!(all.len() > 20);
        for page in all {
            let text = fs::read_to_string(&page).unwrap();
            for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
                let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
                let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
                assert!(target.exists(), "{}: {link}", page.display());
                if !anchor.is_empty() {
                    let there = anchors(&fs::read_to_string(&target).unwrap());
                    assert!(there.iter().any(|name| name == anchor), "{}: {link}", page.display());
                }
            }
        }
    }

    #[test]
    fn every_page_is_in_the_summary_and_its_code_is_tested() {
        let folder = root().join("docs").join("src");
        let summary = fs::read_to_string(folder.join("SUMMARY.md")).unwrap();
        let tested = fs::read_to_string(root().join("tests").join("src").join("lib.rs")).unwrap();
        for page in pages(&folder).into_iter().filter(|page| !page.ends_with("SUMMARY.md")) {
            let name = page.file_name().unwrap().to_string_lossy().into_owned();
            assert!(summary.contains(&format!("]({name})")), "{name}");
            if fs::read_to_string(&page).unwrap().contains("```rust") {
                assert!(tested.contains(&format!("docs/src/{name}\"")), "{name}");
            }
        }
    }
}
