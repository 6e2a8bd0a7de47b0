//! The README: it is short, and its picture is drawn by the command from data of the project.

#![allow(clippy::unwrap_used, clippy::panic, clippy::format_push_string, reason = "a test")]

mod common;

use std::fs;
use std::path::Path;

use common::{folder, told};

/// The numbers of a text, and the words between them.
fn parts(text: &str) -> (Vec<f64>, String) {
    let (mut numbers, mut words) = (Vec::new(), String::new());
    let is_digit = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let mut rest = text;
    while !rest.is_empty() {
        let split = rest.find(|c| is_digit(c) != rest.starts_with(is_digit)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(split);
        match part.parse() {
            Ok(number) => numbers.push(number),
            Err(_) => words.push_str(part),
        }
        words.push(' ');
        rest = after;
    }
    (numbers, words)
}

/// `VI_WRITE_TABLES=1 cargo test -p vi-cli --test readme` writes it anew; the ordinary run compares, to half a pixel, what another processor's last digits
/// may move.
#[test]
fn the_picture_of_the_readme_is_drawn_by_the_command() {
    let folder = folder("readme");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::copy(root.join("crates/vi-data/data/biopsy.csv"), folder.join("biopsy.csv")).unwrap();
    told(&folder, "fit biopsy.csv --target class --ignore ID --plot pictures");
    let drawn = fs::read_to_string(folder.join("pictures/predictions.svg")).unwrap();
    let path = root.join("docs/src/biopsy.svg");
    if std::env::var_os("VI_WRITE_TABLES").is_some_and(|value| value == "1") {
        fs::write(&path, &drawn).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap();
    assert!(kept.len() < 60_000, "{} bytes", kept.len());
    let ((new, words), (old, known)) = (parts(&drawn), parts(&kept));
    assert_eq!(words, known);
    assert!(new.iter().zip(&old).all(|(new, old)| (new - old).abs() <= 0.5));
}

#[test]
fn the_readme_is_a_landing_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("README.md")).unwrap();
    assert!(text.len() <= 6000, "{} bytes: longer texts belong to the guide", text.len());
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for link in links.filter(|link| !link.contains("://")) {
        assert!(root.join(link).exists(), "{link}");
    }
}
