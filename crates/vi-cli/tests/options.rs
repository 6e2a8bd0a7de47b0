//! Priors, relevance, and passes after the first.

#![allow(clippy::unwrap_used, clippy::panic, clippy::format_push_string, clippy::format_collect, reason = "a test")]

mod common;

use std::fs;
use std::path::Path;

use common::{folder, json, refused, rvi, sales, told};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use vi_models::online::{OnlineLinear, OnlineLogistic};

/// Rows of `inputs` numbers of which only the first two tell: of a number with noise of deviation 1, or of a class.
fn few_of_many(rows: usize, inputs: usize, class: bool, seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut text = (1..=inputs).map(|j| format!("x{j},")).collect::<String>() + "y\n";
    for _ in 0..rows {
        let x: Vec<f64> = (0..inputs).map(|_| rng.random_range(-1.7..1.7)).collect();
        let eta = 1.5 * x[0] - x[1];
        let y = if class {
            f64::from(u8::from(rng.random::<f64>() < 1.0 / (1.0 + (-2.0 * eta).exp())))
        } else {
            eta + (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
        };
        text += &x.iter().map(|x| format!("{x:.4},")).collect::<String>();
        text += &format!("{y}\n");
    }
    text
}

fn card(folder: &Path, model: &str) -> Value {
    json(&told(folder, &format!("inspect {model} --json")))
}

fn coefficient(card: &Value, name: &str) -> (f64, f64) {
    let line = card["coefficients"].as_array().unwrap().iter().find(|line| line["name"] == name).unwrap();
    (line["mean"].as_f64().unwrap(), line["sd"].as_f64().unwrap())
}

#[test]
fn a_given_prior_is_the_one_that_is_used() {
    let folder = folder("prior");
    fs::write(folder.join("t.csv"), few_of_many(300, 4, false, 1)).unwrap();
    for (option, scales) in [("", 3), ("--prior 0.01", 1), ("--prior 0.01,1,10", 3)] {
        told(&folder, &format!("fit t.csv -t y -o m.rvi {option}"));
        assert_eq!(card(&folder, "m.rvi")["prior"]["scales"].as_array().unwrap().len(), scales, "{option}");
    }
    let several = card(&folder, "m.rvi");
    told(&folder, "fit t.csv -t y -o m.rvi --prior 0.01");
    let narrow = card(&folder, "m.rvi");
    assert!((narrow["prior"]["scale"].as_f64().unwrap() / 0.01 - 1.0).abs() < 1e-12);
    // 300 rows weigh 0.03 beside a prior of weight 1 at this scale: the slope of 1.5 is all but shrunk away.
    assert!(coefficient(&narrow, "x1").0.abs() < 0.1 && coefficient(&several, "x1").0 > 1.2);
    // The file is the checkpoint that a program reads.
    let stored = json(&fs::read_to_string(folder.join("m.rvi")).unwrap());
    let model: OnlineLinear = serde_json::from_value(stored["model"]["Number"].clone()).unwrap();
    assert_eq!(model.info().prior_scales, [(0.01, 1.0)]);
    for wrong in ["0", "-1", "wide", "1,,2"] {
        assert_eq!(rvi(&folder, &format!("fit t.csv -t y --prior={wrong}")).status.code(), Some(2), "{wrong}");
    }
    assert_eq!(rvi(&folder, "fit t.csv --like m.rvi --prior 1").status.code(), Some(2));
}

#[test]
fn passes_after_the_first_find_what_does_not_depend_on_the_order() {
    let folder = folder("refine");
    let forth = few_of_many(1500, 3, true, 2);
    let (head, lines) = forth.split_once('\n').unwrap();
    let back: String = lines.lines().rev().map(|line| format!("{line}\n")).collect();
    fs::write(folder.join("forth.csv"), &forth).unwrap();
    fs::write(folder.join("back.csv"), format!("{head}\n{back}")).unwrap();
    // The same scales for both, since all rows tell them.
    let fit = |name: &str, more: &str| {
        told(&folder, &format!("fit {name}.csv -t y -o {name}.rvi --family classes --mergeable --prior 3 {more}"))
    };
    let apart = || {
        let (a, b) = (card(&folder, "forth.rvi"), card(&folder, "back.rvi"));
        let gap = |name: &str| {
            let ((mean, sd), (other, _)) = (coefficient(&a, name), coefficient(&b, name));
            (mean - other).abs() / sd
        };
        ["x1", "x2", "x3", "intercept"].map(gap).into_iter().fold(0.0, f64::max)
    };
    let plain = fit("forth", "");
    fit("back", "");
    let before = apart();
    let text = fit("forth", "--refine 30");
    fit("back", "--refine 30");
    // A step of 1e-4 standard deviations was left at either end.
    assert!(apart() < 1e-3 && before > 1e-2, "{} of {before}", apart());
    assert!(text.contains("posterior   refined by ") && text.contains("converged"), "{text}");
    assert!(!plain.contains("refined") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let refined = card(&folder, "forth.rvi")["refined"].clone();
    assert!(refined["gained"].as_f64().unwrap() > 0.0 && refined["rows"] == 1500, "{refined}");
    assert!(fit("forth", "--refine 1").contains("a larger `--refine` gains more"));
    let stored = json(&fs::read_to_string(folder.join("back.rvi")).unwrap());
    let model: OnlineLogistic = serde_json::from_value(stored["model"]["Two"].clone()).unwrap();
    assert_eq!(model.info().observations, 1500);
    // It goes on learning.
    assert!(told(&folder, "update forth.rvi back.csv").contains("1,500 rows learned"));
}

#[test]
fn passes_that_cannot_be_are_refused_before_the_first() {
    let folder = folder("refused");
    fs::write(folder.join("two.csv"), few_of_many(200, 3, true, 3)).unwrap();
    fs::write(folder.join("sales.csv"), sales(200, 4)).unwrap();
    let five: String =
        (0..90).map(|t| format!("{},t{},{}\n", t % 9, t % 40, ["a", "b", "c", "d", "e"][t % 5])).collect();
    fs::write(folder.join("five.csv"), format!("x,z,y\n{five}")).unwrap();
    let said = |line: &str| refused(&folder, line);
    assert!(
        said("fit sales.csv -t sold --refine 3")
            .contains("`--refine 3`: for a numeric target one pass is already exact")
    );
    assert!(rvi(&folder, "fit five.csv -t y --refine 3").status.success());
    assert!(said("fit two.csv -t y --refine 3 --belief diagonal").contains("`--belief full`"));
    assert!(said("fit two.csv -t y --refine 3 --forget learned").contains("`--forget nothing`"));
    let two = fs::File::open(folder.join("two.csv")).unwrap();
    let piped = common::command(&folder, "fit - -t y --refine 3").stdin(two).output().unwrap();
    assert!(String::from_utf8(piped.stderr).unwrap().contains("store it in a file first"));
    assert_eq!((piped.status.code(), rvi(&folder, "fit two.csv -t y --refine 0").status.code()), (Some(1), Some(2)));
}

#[test]
fn relevance_leaves_out_what_does_not_tell() {
    let folder = folder("ard");
    for (class, name) in [(false, "number"), (true, "two")] {
        fs::write(folder.join("t.csv"), few_of_many(150, 40, class, 5)).unwrap();
        fs::write(folder.join("later.csv"), few_of_many(4000, 40, class, 6)).unwrap();
        let text = told(&folder, "fit t.csv -t y --ard -o ard.rvi");
        assert!(text.contains("relevant      ") && text.contains("by the first 150 rows, x1"), "{name}: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        told(&folder, "fit t.csv -t y -o plain.rvi");
        let loss = |model: &str| {
            let scores = json(&told(&folder, &format!("evaluate {model} later.csv --json")))["scores"].clone();
            scores["log_loss"].as_f64().unwrap()
        };
        let (ard, plain) = (loss("ard.rvi"), loss("plain.rvi"));
        assert!(ard < plain - 0.01, "{name}: {ard} {plain}");
        let card = card(&folder, "ard.rvi");
        let determined = card["relevance"]["determined"].as_array().unwrap();
        assert!(determined[0].as_f64().unwrap() > 0.9 && card["relevance"]["rows"] == 150, "{}", card["relevance"]);
        assert!(determined[2..].iter().filter(|share| share.as_f64().unwrap() > 0.5).count() < 20);
        // It is an ordinary model: it learns more, and its parts can be merged.
        assert!(told(&folder, "update ard.rvi later.csv").contains("4,000 rows learned"));
        told(&folder, "fit later.csv --like ard.rvi -o part.rvi");
    }
    fs::write(folder.join("three.csv"), "x,y\n1,a\n2,b\n3,c\n4,a\n5,b\n").unwrap();
    assert!(refused(&folder, "fit three.csv -t y --ard").contains("`--ard`: only for numbers"));
    // More inputs than first rows are no hindrance.
    assert!(told(&folder, "fit t.csv -t y --ard --sniff 30 -o few.rvi").contains("by the first 30 rows"));
    assert_eq!(rvi(&folder, "fit t.csv --like plain.rvi --ard").status.code(), Some(2));
}

/// The scales of the inputs have seen the labels that the model then learns: its noise must not be too small for it.
#[test]
fn intervals_hold_where_relevance_chooses_among_more_inputs_than_rows() {
    const SETS: u64 = 12;
    let folder = folder("ard_intervals");
    let mut held = 0.0;
    for seed in 0..SETS {
        fs::write(folder.join("t.csv"), few_of_many(60, 100, false, 100 + seed)).unwrap();
        fs::write(folder.join("later.csv"), few_of_many(300, 100, false, 200 + seed)).unwrap();
        told(&folder, "fit t.csv -t y --ard -o ard.rvi");
        let told = json(&told(&folder, "evaluate ard.rvi later.csv --json"));
        let calibration = told["certificate"].as_array().unwrap().iter().find(|own| own["about"] == "calibration");
        held += calibration.unwrap()["numbers"]["own_90"].as_f64().unwrap() / SETS as f64;
        fs::remove_file(folder.join("ard.rvi")).unwrap();
    }
    // In 40 such sets of five relevant inputs .88, with a deviation of .06 from set to set.
    assert!(held > 0.88 - 3.0 * 0.06 / (SETS as f64).sqrt() && held < 0.96, "{held}");
}

#[test]
fn a_number_too_large_to_compute_with_is_named_by_its_column() {
    let folder = folder("too_large");
    let rows: String = (0..400).map(|t| format!("{},{},{}\n", t % 7, (t * t) % 11, t % 13)).collect();
    fs::write(folder.join("t.csv"), format!("a,b,y\n{rows}3,1e200,5\n")).unwrap();
    let said = refused(&folder, "fit t.csv -t y --shape line");
    assert!(said.contains("row 401, column `b`: `1e200` is not near enough"), "{said}");
    assert!(told(&folder, "fit t.csv -t y --shape line --skip-bad -o m.rvi").contains("400 rows"));
    fs::write(folder.join("good.csv"), format!("a,b,y\n{rows}")).unwrap();
    told(&folder, "fit good.csv -t y --shape line -o m.rvi");
    for command in ["predict", "explain", "evaluate", "update"] {
        let said = refused(&folder, &format!("{command} m.rvi t.csv"));
        assert!(said.contains("row 401, column `b`: `1e200` is not near enough"), "{command}: {said}");
    }
}

/// Whatever grows with the square of the columns would take minutes here.
#[test]
fn wide_files_take_time_in_proportion_to_their_columns() {
    const COLUMNS: usize = 60_000;
    let folder = folder("wide");
    let line = |of: &dyn Fn(usize) -> String| (0..COLUMNS).map(|j| of(j) + ",").collect::<String>();
    let mut text = line(&|j| format!("c{j}")) + "y\n";
    for t in 0..6 {
        text += &(line(&|j| (if j % 2 == 0 { t } else { (t * j) % 5 }).to_string()) + &format!("{t}\n"));
    }
    fs::write(folder.join("t.csv"), text).unwrap();
    let begun = std::time::Instant::now();
    let told = told(&folder, "fit t.csv --formula y~c1+.-c0 --family number -o m.rvi");
    assert!(told.contains("inputs        53,999 from 53,999 columns") && told.lines().count() < 100, "{told}");
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

/// Times in seconds vary by little of their size, other columns by more than squares can hold.
#[test]
fn scales_of_first_rows_neither_cancel_nor_overflow() {
    let folder = folder("extreme-scales");
    let row = |i: u32| format!("{},{},{}\n", 1.7e9 + 0.25 * f64::from(i), f64::from(i * 7 % 11) * 1e200, i * i % 13);
    fs::write(folder.join("t.csv"), format!("time,vast,y\n{}", (0..400).map(row).collect::<String>())).unwrap();
    told(&folder, "fit t.csv -t y -o m.rvi --mergeable");
    let stored = json(&fs::read_to_string(folder.join("m.rvi")).unwrap());
    let given = &stored["model"]["Number"]["settings"]["standardise"]["Fixed"];
    let deviation = |j: usize| given["scales"][j].as_f64().unwrap();
    // 400 times a quarter of a second apart; whole numbers from 0 to 10.
    assert!((deviation(0) / 28.87 - 1.0).abs() < 1e-3, "{given}");
    assert!((deviation(1) / 3.16e200 - 1.0).abs() < 1e-2, "{given}");
}
