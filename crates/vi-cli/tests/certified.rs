//! Intervals that are re-mapped by the record of a model's predictions.

#![allow(clippy::unwrap_used, clippy::panic, clippy::format_push_string, reason = "a test")]

mod common;

use std::fs;

use common::{folder, json, refused, told};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Rows of two inputs, a number and a class; the noise of the number triples at row `change`.
fn rows(n: usize, change: usize, seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut text = String::from("a,b,number,class,two\n");
    for t in 0..n {
        let (a, b) = (rng.random_range(-2.0..2.0_f64), rng.random_range(-2.0..2.0_f64));
        let noise = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let number = 1.0 + a - b + if t < change { noise } else { 3.0 * noise };
        let class = ["low", "mid", "top"][rng.random_range(0..3).max(usize::from(a > 0.0) * rng.random_range(0..3))];
        let two = if rng.random::<f64>() < 0.5 + 0.2 * b { "yes" } else { "no" };
        text += &format!("{a:.4},{b:.4},{number:.4},{class},{two}\n");
    }
    text
}

/// The fields of a table of predictions, without its first line.
fn fields(table: &str) -> Vec<Vec<String>> {
    table.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn certified_intervals_hold_after_the_noise_has_changed() {
    let folder = folder("certified");
    fs::write(folder.join("data.csv"), rows(4000, 2000, 1)).unwrap();
    let new = rows(2000, 0, 2);
    fs::write(folder.join("new.csv"), &new).unwrap();
    let text = told(&folder, "fit data.csv -o number.rvi --formula number~a+b --keep-order");
    for line in [
        "  calibration 50/90/95 % intervals held ",
        "certified ones ",
        "→ take certified intervals: the model's own are too narrow (exact)\n",
        "  change      labels farther from predictions than before since label ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let card = json(&told(&folder, "inspect number.rvi --json"));
    let about = |subject: &str| card["certificate"].as_array().unwrap().iter().find(|own| own["about"] == subject);
    let (calibration, change) = (about("calibration").unwrap(), about("change").unwrap());
    assert_eq!((&calibration["basis"], &change["basis"]), (&json("\"exact\""), &json("\"heuristic\"")));
    assert_eq!(change["numbers"]["since"].as_f64(), card["scores"]["alarm"]["since"].as_f64());
    let own = &card["scores"]["certified"].as_array().unwrap()[2];
    assert_eq!(
        (&own["own"], &own["certified"]),
        (&calibration["numbers"]["own_90"], &calibration["numbers"]["certified_90"])
    );
    // The model is exact, its digits are many and its rows in no order: of these one line says that nothing is to be done, and the others are not there.
    assert!(
        about("posterior").is_some_and(|own| own["basis"] == "exact")
            && about("digits").is_none()
            && about("order").is_none()
    );
    told(&folder, "inspect number.rvi --html page.html");
    let page = fs::read_to_string(folder.join("page.html")).unwrap();
    let says = calibration["says"].as_str().unwrap();
    assert!(
        page.contains("<table class=\"certificate\">") && page.contains(says) && page.contains("<td>heuristic</td>")
    );
    let alarm = &json(&told(&folder, "inspect number.rvi --json"))["scores"]["alarm"];
    assert!(alarm["towards"] == "wider" && (1950..2100).contains(&alarm["since"].as_u64().unwrap()), "{alarm}");
    let labels: Vec<f64> = fields(&new).iter().map(|row| row[2].parse().unwrap()).collect();
    let held = |options: &str| {
        let table = told(&folder, &format!("predict number.rvi new.csv {options}"));
        assert_eq!(table.lines().next(), Some("row,mean,sd,lower,upper"));
        let inside = |(row, label): (Vec<String>, &f64)| {
            let (lower, upper): (f64, f64) = (row[3].parse().unwrap(), row[4].parse().unwrap());
            lower <= *label && *label <= upper
        };
        fields(&table).into_iter().zip(&labels).filter(|(row, label)| inside((row.clone(), label))).count() as f64
            / 2000.0
    };
    // The settled reach is within two points of its level (root mean square): four times that. The model's own deviation is too small by √(9/5).
    assert!((held("--certified") - 0.9).abs() < 0.08, "{}", held("--certified"));
    assert!(held("") < 0.82 && held("--certified --level 0.5") < held("--certified --level 0.7"));
    let card = json(&told(&folder, "evaluate number.rvi new.csv --json"));
    let share = card["scores"]["certified"].as_array().unwrap().iter().find(|share| share["level"] == 0.9).unwrap();
    assert!((share["certified"].as_f64().unwrap() - held("--certified")).abs() < 1e-12);
    // What new rows say of the intervals is told in the same words.
    assert_eq!(card["certificate"][0]["numbers"]["certified_90"], share["certified"]);
    let text = told(&folder, "evaluate number.rvi new.csv");
    assert!(text.contains("  calibration 50/90/95 % intervals held ") && text.contains("of 2,000 labels"), "{text}");
}

#[test]
fn classes_have_sets() {
    let folder = folder("certified-sets");
    fs::write(folder.join("data.csv"), rows(1200, 0, 3)).unwrap();
    told(&folder, "fit data.csv -o two.rvi --formula two~a+b");
    let table = told(&folder, "predict two.rvi data.csv --certified");
    assert_eq!(table.lines().next(), Some("row,class,probability,set"));
    for row in fields(&table) {
        assert!([row[1].as_str(), "no|yes"].contains(&row[3].as_str()), "{row:?}");
    }
    let text = told(&folder, "fit data.csv -o three.rvi --formula class~a+b");
    assert!(text.contains("/95 % sets held ") && text.contains(" classes in a set of 90 %"), "{text}");
    let line = told(&folder, "predict three.rvi data.csv --certified --to jsonl").lines().next().unwrap().to_owned();
    assert!(json(&line)["set"].as_str().unwrap().split('|').any(|class| class == json(&line)["class"]), "{line}");
}

#[test]
fn the_record_goes_on_as_rows_come() {
    let folder = folder("certified-parts");
    let all = rows(1000, 700, 4);
    let lines: Vec<&str> = all.lines().collect();
    let write = |name: &str, from: usize, to: usize| {
        let text = [&lines[..1], &lines[from..to]].concat().join("\n");
        fs::write(folder.join(name), text + "\n").unwrap();
    };
    write("first.csv", 1, 401);
    write("rest.csv", 401, 1001);
    write("second.csv", 401, 801);
    write("third.csv", 801, 1001);
    told(&folder, "fit first.csv -o one.rvi --formula number~a+b");
    fs::copy(folder.join("one.rvi"), folder.join("other.rvi")).unwrap();
    told(&folder, "update one.rvi rest.csv");
    told(&folder, "update other.rvi second.csv");
    told(&folder, "update other.rvi third.csv");
    let predicted = |name: &str| told(&folder, &format!("predict {name}.rvi first.csv --certified"));
    assert_eq!(predicted("one"), predicted("other"));
}

#[test]
fn a_model_without_a_record_says_so() {
    let folder = folder("certified-few");
    fs::write(folder.join("data.csv"), rows(150, 0, 5)).unwrap();
    told(&folder, "fit data.csv -o few.rvi --formula number~a+b");
    let line = refused(&folder, "predict few.rvi data.csv --certified -o out.csv");
    assert!(line.contains("few.rvi") && line.contains("200 labels") && line.contains("has 150"), "{line}");
    assert!(!folder.join("out.csv").exists());
    let card = json(&told(&folder, "evaluate few.rvi data.csv --json"));
    assert!(card["scores"].get("certified").is_none());
    let calibration = &card["certificate"][0];
    assert!(
        calibration["numbers"]["own_90"].is_f64() && calibration["numbers"].get("certified_90").is_none(),
        "{card}"
    );
    // A file from before there was a record.
    let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored");
    for name in ["v2-number.rvi", "v3-number.rvi"] {
        fs::copy(kept.join(name), folder.join(name)).unwrap();
    }
    fs::copy(kept.join("data.csv"), folder.join("old.csv")).unwrap();
    assert!(refused(&folder, "predict v2-number.rvi old.csv --certified").contains("has 0"));
}
