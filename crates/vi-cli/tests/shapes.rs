//! Curves, products and kernels beside the lines.

#![allow(clippy::unwrap_used, clippy::panic, clippy::format_push_string, reason = "a test")]

mod common;

use std::f64::consts::TAU;
use std::fs;

use common::{folder, json, refused, told};

/// `y = sin(x) + [place = b]·z + noise`, `z` in 0..1, `w` skewed, with gaps in `z`.
fn curved(rows: u32) -> String {
    let mut text = String::from("x,z,w,place,y\n");
    for i in 0..rows {
        let t = f64::from(i);
        let share = |by: f64| (t * by).fract();
        let (x, z, w) = (TAU * share(0.618_034), share(0.414_214), (6.0 * share(0.732_051)).exp());
        let place = ["a", "b", "c", "d"][(i * 7 % 11 % 4) as usize];
        let noise = 0.2 * (share(0.236_068) + share(0.302_776) - 1.0);
        let y = x.sin() + if place == "b" { z } else { 0.0 } + noise;
        let z = if i % 19 == 0 { "NA".to_owned() } else { z.to_string() };
        text.push_str(&format!("{x},{z},{w},{place},{y}\n"));
    }
    text
}

fn loss(card: &serde_json::Value) -> f64 {
    card["scores"]["log_loss"].as_f64().unwrap()
}

#[test]
fn a_curve_is_found_and_shown() {
    let folder = folder("shapes");
    fs::write(folder.join("d.csv"), curved(800)).unwrap();
    let of = |shape: &str| {
        json(&told(&folder, &format!("fit d.csv -t y --family gaussian --shape {shape} -o {shape}.rvi --json")))
    };
    let [line, smooth, pairs, any] = ["line", "smooth", "pairs", "any"].map(of);
    assert!(
        loss(&smooth) < loss(&line) - 0.3 && loss(&pairs) < loss(&smooth) - 0.2,
        "{} {}",
        loss(&smooth),
        loss(&pairs)
    );
    assert!(loss(&any) < loss(&smooth));
    assert!(line["terms"].is_null() && line["schema"]["shape"].is_null());
    let effect = &smooth["effects"][0];
    let numbers = |of: &serde_json::Value| -> Vec<f64> { serde_json::from_value(of.clone()).unwrap() };
    let (at, mean) = (numbers(&effect["at"]), numbers(&effect["mean"]));
    let (low, high) = (numbers(&effect["bands"][1][0]), numbers(&effect["bands"][1][1]));
    for k in 5..at.len() - 5 {
        assert!((mean[k] - at[k].sin()).abs() < 0.15, "{}: {}", at[k], mean[k]);
        assert!(low[k] < mean[k] && mean[k] < high[k] && high[k] - low[k] < 0.3);
    }
    let shares: Vec<f64> = smooth["terms"].as_array().unwrap().iter().map(|t| numbers(&t["shares"])[0]).collect();
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    told(&folder, "inspect smooth.rvi --plot p --html m.html");
    assert!(fs::read_to_string(folder.join("p/effects.svg")).unwrap().contains("90 % interval"));
    assert!(fs::read_to_string(folder.join("m.html")).unwrap().contains("contributions"));
    // Lines are as they were without the option.
    told(&folder, "fit d.csv -t y -o plain.rvi --formula .");
    told(&folder, "fit d.csv -t y -o told.rvi --formula . --shape line");
    assert_eq!(fs::read(folder.join("plain.rvi")).unwrap(), fs::read(folder.join("told.rvi")).unwrap());
}

#[test]
fn gaps_and_new_texts_are_predicted_and_what_is_no_number_is_named() {
    let folder = folder("shape-gaps");
    fs::write(folder.join("d.csv"), curved(400)).unwrap();
    told(&folder, "fit d.csv -t y --shape any -o m.rvi");
    fs::write(folder.join("new.csv"), "x,z,w,place\n1,NA,2,e\nNA,0.5,1e100,\n-1e9,-5,-3,a\n").unwrap();
    let rows = told(&folder, "predict m.rvi new.csv");
    assert_eq!(rows.lines().count(), 4);
    assert!(rows.lines().skip(1).all(|row| row.split(',').all(|field| field.parse::<f64>().unwrap().is_finite())));
    fs::write(folder.join("bad.csv"), "x,z,w,place\none,1,2,a\n").unwrap();
    let said = refused(&folder, "predict m.rvi bad.csv");
    assert!(said.contains("row 1, column `x`: `one` is not a number"), "{said}");
}

#[test]
fn a_stopped_pass_and_parts_give_the_same_model() {
    let folder = folder("shape-parts");
    let all = curved(600);
    let (head, rows) = all.split_once('\n').unwrap();
    let lines: Vec<&str> = rows.lines().collect();
    for (name, part) in [("a.csv", &lines[..300]), ("b.csv", &lines[300..])] {
        fs::write(folder.join(name), format!("{head}\n{}\n", part.join("\n"))).unwrap();
    }
    fs::write(folder.join("all.csv"), &all).unwrap();
    for (data, rest) in [("a.csv", "-t y --shape any --sniff 300 --mergeable"), ("b.csv", "--like a.csv.rvi")] {
        told(&folder, &format!("fit {data} {rest} -o {data}.rvi"));
    }
    told(&folder, "fit all.csv --like a.csv.rvi -o all.rvi");
    told(&folder, "merge a.csv.rvi b.csv.rvi -o both.rvi");
    let predicted = |model: &str| told(&folder, &format!("predict {model} b.csv"));
    let means = |text: &str| -> Vec<f64> {
        text.lines().skip(1).map(|row| row.split(',').nth(1).unwrap().parse().unwrap()).collect()
    };
    let (one, two) = (means(&predicted("all.rvi")), means(&predicted("both.rvi")));
    // A number's model is exact for each prior scale, and the scales of parts differ a little.
    assert!(one.iter().zip(&two).all(|(a, b)| (a - b).abs() < 0.01), "{:?} {:?}", &one[..3], &two[..3]);
    told(&folder, "update a.csv.rvi b.csv -o updated.rvi");
    assert_eq!(predicted("updated.rvi"), predicted("all.rvi"));
}

#[test]
fn a_formula_names_its_curves() {
    let folder = folder("shape-formula");
    fs::write(folder.join("d.csv"), curved(400)).unwrap();
    let mut command = common::command(&folder, "fit d.csv -o m.rvi --json --formula");
    let output = command.arg("y ~ s(x) + k(z, w) + s(x, w) + place:z").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let card = json(&String::from_utf8(output.stdout).unwrap());
    let names: Vec<&str> =
        card["terms"].as_array().unwrap().iter().map(|term| term["term"].as_str().unwrap()).collect();
    assert_eq!(
        names[names.len() - 6..],
        ["s(x)", "k(z, w; 2.000)", "k(z, w; 1.000)", "k(z, w; 0.500)", "s(w)", "s(x, w)"]
    );
    for (formula, part) in [
        ("y~s(place)", "the formula: column `place` is not a number (the term at 3)"),
        ("y~x+s(q)", "there is no column `q`"),
        ("y~k(x,place)", "column `place` is not a number (the term at 3)"),
        ("y~s(x):z", "the curve at 3 stands in a product"),
    ] {
        let said = refused(&folder, &format!("fit d.csv --formula {formula}"));
        assert!(said.contains(part), "{formula}: {said}");
    }
    let said = refused(&folder, "fit d.csv --shape smooth --formula y~s(x)");
    assert!(said.contains("`--shape smooth`: the formula names its own terms"), "{said}");
    fs::write(folder.join("flat.csv"), "x,y\n1,2\n2,3\n1,4\n2,3\n").unwrap();
    let said = refused(&folder, "fit flat.csv --formula y~s(x) --family number");
    assert!(said.contains("s(x): 2 different values in the first rows, and 3 are needed (the term at 3)"), "{said}");
}

#[test]
fn parts_of_a_prediction_add_up() {
    let folder = folder("explained");
    fs::write(folder.join("d.csv"), curved(600)).unwrap();
    told(&folder, "fit d.csv -t y --family gaussian -o m.rvi");
    let table = told(&folder, "explain m.rvi d.csv --top 2");
    let lines: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let predicted = told(&folder, "predict m.rvi d.csv");
    let means: Vec<f64> =
        predicted.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    for (k, lines) in lines.chunks(5).enumerate() {
        let of = |at: usize| lines[at][2].parse::<f64>().unwrap();
        assert_eq!([lines[0][1], lines[3][1], lines[4][1]], ["(average row)", "(others)", "(this row)"]);
        assert!(of(1).abs() >= of(2).abs(), "{lines:?}");
        // Sums of some tens of products of order 1.
        assert!(((0..4).map(of).sum::<f64>() - of(4)).abs() < 1e-9 && (of(4) - means[k]).abs() < 1e-9, "{lines:?}");
    }
    // The sine is the largest part of most rows.
    assert!(lines.chunks(5).filter(|lines| lines[1][1] == "x").count() > 400);
    let kept = told(&folder, "explain m.rvi d.csv --top 2 --keep place,x");
    let data = fs::read_to_string(folder.join("d.csv")).unwrap();
    let [header, first] = [0, 1].map(|k| data.lines().nth(k).unwrap().split(',').collect::<Vec<_>>());
    let [place, x] = ["place", "x"].map(|name| first[header.iter().position(|own| *own == name).unwrap()]);
    for (k, (kept, plain)) in kept.lines().zip(table.lines()).take(6).enumerate() {
        let beside = if k == 0 { "place,x".to_owned() } else { format!("{place},{x}") };
        assert_eq!(kept, format!("{plain},{beside}"));
    }
    assert!(refused(&folder, "explain m.rvi d.csv --keep plaice").contains("did you mean `place`?"));
    assert!(refused(&folder, "explain m.rvi missing.csv").contains("missing.csv"));
    told(&folder, "fit d.csv -t place -o c.rvi");
    assert!(refused(&folder, "explain c.rvi d.csv").contains("more than two classes"));
}
