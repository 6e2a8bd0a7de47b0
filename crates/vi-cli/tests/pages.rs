//! The card, the pictures and the page of a model.

#![allow(clippy::unwrap_used, clippy::panic, clippy::format_push_string, clippy::format_collect, reason = "a test")]

mod common;

use std::fs;

use common::{folder, json, refused, sales, told};

#[test]
fn the_card_says_what_was_learned_from_what() {
    let folder = folder("card");
    fs::write(folder.join("data.csv"), sales(700, 14)).unwrap();
    let card = json(&told(&folder, "fit data.csv -t sold -o m.rvi --json"));
    assert_eq!(card["data"][0]["file"], "data.csv");
    assert_eq!(card["data"][0]["rows"], 700);
    let mark = card["data"][0]["fingerprint"].as_str().unwrap();
    assert!(mark.starts_with("fnv1a:") && mark.len() == 22, "{mark}");
    assert!(card["prior"]["scale"].as_f64().unwrap() > 0.0 && card["evidence"].as_f64().unwrap() < 0.0);
    assert!(card["version"].is_string() && card["schema"]["columns"].is_array());
    assert_eq!(card["scores"]["coverage"].as_array().unwrap().len(), 3);
    // The same rows in another file have the same fingerprint, others another.
    fs::write(folder.join("again.csv"), sales(700, 14)).unwrap();
    fs::write(folder.join("other.csv"), sales(700, 15)).unwrap();
    let of = |name: &str| json(&told(&folder, &format!("fit {name} -t sold --json")))["data"][0]["fingerprint"].clone();
    assert_eq!(of("again.csv"), mark);
    assert_ne!(of("other.csv"), mark);
}

#[test]
fn pictures_and_pages_are_drawn_for_every_kind_of_target() {
    let folder = folder("pages");
    fs::write(folder.join("data.csv"), sales(900, 16)).unwrap();
    let two: String = sales(900, 16)
        .lines()
        .map(|line| {
            let (rest, sold) = line.rsplit_once(';').unwrap();
            let class = sold.parse::<f64>().map_or("many", |sold| if sold > 25.0 { "yes" } else { "<no>" });
            format!("{rest};{class}\n")
        })
        .collect();
    fs::write(folder.join("two.csv"), two).unwrap();
    for (file, target, words) in
        [("data.csv", "sold", "nominal coverage"), ("two.csv", "many", "predicted probability")]
    {
        told(&folder, &format!("fit {file} -t {target} -o m.rvi"));
        told(&folder, "inspect m.rvi --plot pictures --html m.html");
        for name in ["coefficients", "predictions", "reliability", "loss"] {
            let svg = fs::read_to_string(folder.join(format!("pictures/{name}.svg"))).unwrap();
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{name}");
        }
        assert!(fs::read_to_string(folder.join("pictures/reliability.svg")).unwrap().contains(words));
        let bands = fs::read_to_string(folder.join("pictures/predictions.svg")).unwrap();
        assert!(
            bands.contains("90 % interval")
                && bands.contains(if target == "sold" { ">sold<" } else { "probability of yes" })
        );
        let html = fs::read_to_string(folder.join("m.html")).unwrap();
        assert!(html.starts_with("<!DOCTYPE html>") && html.matches("<svg").count() == 10 && !html.contains("<no>"));
        let headings: Vec<_> = html.split("<h2>").skip(1).map(|rest| rest.split('<').next()).collect();
        let alike = (1..headings.len()).any(|k| headings[..k].contains(&headings[k]));
        assert!(html.matches("<main>").count() == 1 && !alike, "{headings:?}");
        fs::remove_dir_all(folder.join("pictures")).unwrap();
    }
    fs::write(folder.join("taken"), "a file").unwrap();
    assert!(refused(&folder, "inspect m.rvi --plot taken").contains("taken: "));
}
