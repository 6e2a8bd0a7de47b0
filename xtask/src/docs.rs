//! `cargo xtask docs`: the guide as a site, with gallery, notebooks and reference.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::python::{files, prepared};
use crate::run::{Failure, cannot, finish, root};
use crate::venv::{install, pip};

/// What the site is made with, beside what the Python package is tested with.
const REQUIREMENTS: &str = "docs/requirements.txt";

/// Builds `docs` into `target/guide`; a link that leads nowhere and a notebook that fails are errors.
///
/// Notebooks, gallery and Python's reference need the wheel, the reference of the Rust crates what `cargo doc` leaves; without these they are left out.
pub(crate) fn run() -> Result<(), Failure> {
    let (python, folder) = prepared("docs")?;
    install(&python, &folder, REQUIREMENTS)?;
    match newest_wheel() {
        Some(wheel) => finish(pip(&python).args(["--no-deps", "--force-reinstall"]).arg(wheel))?,
        None => println!(
            "No wheel of the Python package is there: pictures and results of the notebooks, and Python's reference, are left out.\n\
             `cargo xtask python` builds one (some twenty minutes, once)."
        ),
    }
    let guide = root().join("target").join("guide");
    if guide.exists() {
        fs::remove_dir_all(&guide).map_err(|error| cannot("remove", &guide, &error))?;
    }
    finish(
        Command::new(&python)
            .current_dir(root())
            .env("IPYTHONDIR", folder.join("ipython"))
            .env("OPENBLAS_NUM_THREADS", "1")
            // Without the folder it would be that of the sources: the package, but not its extension.
            .args(["-P", "-m", "sphinx", "--quiet", "--fail-on-warning", "--jobs", "auto", "--conf-dir", "docs"])
            .arg("--doctree-dir")
            .arg(folder.join("doctrees"))
            .args(["--fresh-env", "docs/src"])
            .arg(&guide),
    )?;
    println!("The guide: {}", guide.join("index.html").display());
    Ok(())
}

/// The wheel that was built last, to be given away or to be tested.
fn newest_wheel() -> Option<PathBuf> {
    let folders = [root().join("target").join("wheels"), root().join("target").join("python").join("wheels")];
    let wheels = folders.iter().flat_map(|folder| files(folder, "whl"));
    wheels.max_by_key(|wheel| fs::metadata(wheel).and_then(|data| data.modified()).ok())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Every page in a folder: Markdown, and notebooks.
    fn pages(folder: &Path) -> Vec<PathBuf> {
        ["md", "py"].iter().flat_map(|kind| files(folder, kind)).collect()
    }

    fn guide() -> Vec<PathBuf> {
        let source = root().join("docs").join("src");
        [pages(&source), pages(&source.join("notebooks"))].concat()
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
        all.extend(guide());
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
        for page in guide().into_iter().filter(|page| !page.ends_with("SUMMARY.md")) {
            let name = page.strip_prefix(&folder).unwrap().to_string_lossy().replace('\\', "/");
            assert!(summary.contains(&format!("]({name})")), "{name}");
            if fs::read_to_string(&page).unwrap().contains("```rust") {
                assert!(tested.contains(&format!("docs/src/{name}\"")), "{name}");
            }
        }
    }
}
