//! The README: it is short, and its picture is drawn by the command from data of the project.

#![allow(clippy::unwrap_used, clippy::panic, clippy::format_push_string, reason = "a test")]

mod common;

use std::fs;
use std::path::Path;

use common::{folder, told};

/// The picture without its outlines, and the corners of each of those, in tenths of a pixel.
fn parts(text: &str) -> (String, Vec<Vec<[f64; 2]>>) {
    let (mut rest, mut outlines) = (String::new(), Vec::new());
    for (index, part) in text.split("<path d=\"").enumerate() {
        let after = if index == 0 { part } else { part.split_once('"').unwrap().1 };
        rest.push_str(after);
        if index > 0 {
            outlines.push(corners(part.split_once('"').unwrap().0));
        }
    }
    (rest, outlines)
}

/// The corners of `M x y` and of steps `l dx dy dx dy …`.
fn corners(path: &str) -> Vec<[f64; 2]> {
    let (mut corners, mut at) = (Vec::new(), [0.0, 0.0]);
    for piece in path.split('M').skip(1) {
        let piece = piece.replace('-', " -").replace(['l', 'h', 'z'], " ");
        let numbers: Vec<f64> = piece.split_whitespace().map(|number| number.parse().unwrap()).collect();
        for (index, step) in numbers.chunks_exact(2).enumerate() {
            at = if index == 0 { [step[0], step[1]] } else { [at[0] + step[0], at[1] + step[1]] };
            corners.push(at);
        }
    }
    corners
}

/// The distance of a point from the nearest side of an outline.
fn distance(point: [f64; 2], outline: &[[f64; 2]]) -> f64 {
    let to_side = |[from, to]: [[f64; 2]; 2]| {
        let (side, reach) = ([to[0] - from[0], to[1] - from[1]], [point[0] - from[0], point[1] - from[1]]);
        let length = side[0] * side[0] + side[1] * side[1];
        let along =
            if length > 0.0 { ((side[0] * reach[0] + side[1] * reach[1]) / length).clamp(0.0, 1.0) } else { 0.0 };
        (reach[0] - along * side[0]).hypot(reach[1] - along * side[1])
    };
    let sides = outline.windows(2).map(|ends| to_side([ends[0], ends[1]]));
    sides.chain(outline.first().map(|only| to_side([*only, *only]))).fold(f64::INFINITY, f64::min)
}

/// `VI_WRITE_TABLES=1 cargo test -p vi-cli --test readme` writes it anew; the ordinary run compares, to a pixel, what another processor's
/// last digits may move; corners on a straight side come and go with them.
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
    let ((rest, outlines), (known_rest, known)) = (parts(&drawn), parts(&kept));
    assert_eq!(rest, known_rest);
    assert_eq!(outlines.len(), known.len());
    for (new, old) in outlines.iter().zip(&known) {
        let apart = |a: &[[f64; 2]], b| a.iter().map(|&point| distance(point, b)).fold(0.0, f64::max);
        let apart = apart(new, old).max(apart(old, new));
        assert!(apart <= 10.0, "{apart} tenths of a pixel: {new:?} {old:?}");
    }
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
