//! The command as a user runs it: files in, files and lines out.

#![allow(clippy::unwrap_used, clippy::panic, clippy::format_push_string, clippy::format_collect, reason = "a test")]

mod common;

use std::fs;

use common::{folder, json, parts_left, refused, rvi, sales, told};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[test]
fn a_strangers_file_gives_a_model_with_no_option_but_the_target() {
    let folder = folder("sales");
    fs::write(folder.join("sales.csv"), sales(1500, 1)).unwrap();
    fs::write(folder.join("later.csv"), sales(500, 2)).unwrap();
    let text = told(&folder, "fit sales.csv --target sold -o sales.rvi");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("1,500 rows") && text.contains("identifier") && text.contains("open (always 1"));
    let card = json(&told(&folder, "inspect sales.rvi --json"));
    let coefficient = |name: &str| {
        let all = card["coefficients"].as_array().unwrap();
        let found = all.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("{name} in {card:#}"));
        [&found["lower"], &found["upper"]].map(|bound| bound.as_f64().unwrap())
    };
    // Seeded: the 90 % interval of the price's slope holds the truth, those of the places their difference's sign.
    let [lower, upper] = coefficient("price");
    assert!(lower < -3.0 + 0.05 && -3.0 - 0.05 < upper, "{lower} {upper}");
    let places = ["place=Ulm", "place=Köln", "place=Bonn"];
    let all = card["coefficients"].as_array().unwrap();
    let effect = |name: &str| {
        let line = all.iter().find(|line| line["name"] == name);
        line.map_or((0.0, 0.0), |line| (line["mean"].as_f64().unwrap(), line["sd"].as_f64().unwrap()))
    };
    let [ulm, cologne, _] = places.map(effect);
    // Five more in Ulm, whichever place the others are relative to: within four deviations of what is believed.
    assert!((ulm.0 - cologne.0 - 5.0).abs() < 4.0 * ulm.1.hypot(cologne.1), "{ulm:?} {cologne:?}");
    // No level is the base of the others.
    assert!(places.iter().all(|place| effect(place).1 > 0.0));

    let scores = json(&told(&folder, "evaluate sales.rvi later.csv --json"))["scores"].clone();
    // Noise of deviation 2, 5 % of the prices missing (their part has deviation 3·8/√12 ≈ 6.9): √(4 + 0.05·48) = 2.5.
    assert!((2.2..2.8).contains(&scores["rmse"].as_f64().unwrap()), "{scores:#}");
    let held = scores["coverage"][1][1].as_f64().unwrap();
    // 500 rows: a standard error of 1.3 points.
    assert!((0.85..0.96).contains(&held), "{held}");

    // Another order of columns, one more, compressed: the same predictions.
    let plain = told(&folder, "predict sales.rvi later.csv");
    let shuffled: String = fs::read_to_string(folder.join("later.csv"))
        .unwrap()
        .lines()
        .map(|line| line.split(';').rev().chain(["more"]).collect::<Vec<_>>().join("\t") + "\n")
        .collect();
    let file = fs::File::create(folder.join("later.tsv.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, shuffled.as_bytes()).unwrap();
    packed.finish().unwrap();
    assert_eq!(told(&folder, "predict sales.rvi later.tsv.gz"), plain);
    assert_eq!(plain.lines().next(), Some("row,mean,sd,lower,upper"));
    assert_eq!(plain.lines().count(), 501);
    let as_json = told(&folder, "predict sales.rvi later.csv --to jsonl");
    assert_eq!(told(&folder, "predict sales.rvi later.csv --json"), as_json);
    let first = json(as_json.lines().next().unwrap());
    let fields: Vec<f64> = plain.lines().nth(1).unwrap().split(',').map(|field| field.parse().unwrap()).collect();
    assert_eq!((first["row"].as_f64(), first["mean"].as_f64()), (Some(fields[0]), Some(fields[1])));

    // Columns of the file stand behind the predictions as they are.
    let kept = told(&folder, "predict sales.rvi later.csv --keep id,place");
    assert_eq!(kept.lines().next(), Some("row,mean,sd,lower,upper,id,place"));
    let later = fs::read_to_string(folder.join("later.csv")).unwrap();
    for ((kept, plain), row) in kept.lines().zip(plain.lines()).zip(later.lines()).skip(1) {
        let fields: Vec<&str> = row.split(';').collect();
        assert_eq!(kept, format!("{plain},{},{}", fields[0], fields[2]));
    }
    assert!(refused(&folder, "predict sales.rvi later.csv --keep nobody").contains("nobody"));
    fs::write(folder.join("means.csv"), later.replacen("id;", "mean;", 1)).unwrap();
    assert!(refused(&folder, "predict sales.rvi means.csv --keep mean").contains("rename"));
}

#[test]
fn words_are_classes_and_numbers_may_be_counts() {
    let folder = folder("classes");
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let (mut two, mut three, mut counts) = (String::from("x,y\n"), String::from("x,y\n"), String::from("x,y\n"));
    for _ in 0..600 {
        let x = rng.random_range(-2.0..2.0_f64);
        let late = rng.random::<f64>() < 1.0 / (1.0 + (-3.0 * x).exp());
        two += &format!("{x},{}\n", if late { "late" } else { "early" });
        let class = if x < -0.7 {
            "low"
        } else if x < 0.7 {
            "mid"
        } else {
            "top"
        };
        three += &format!("{x},{class}\n");
        let mean = x.exp();
        let mut count = 0;
        let mut left = (-mean).exp();
        let mut u: f64 = rng.random();
        while u > left {
            u -= left;
            count += 1;
            left *= mean / f64::from(count);
        }
        counts += &format!("{x},{count}\n");
    }
    for (name, text) in [("two", two), ("three", three), ("counts", counts)] {
        fs::write(folder.join(format!("{name}.csv")), text).unwrap();
    }
    let text = told(&folder, "fit two.csv -t y -o two.rvi");
    assert!(text.contains("the probability of `late`") && text.contains("predicted and observed"), "{text}");
    let predicted = told(&folder, "predict two.rvi two.csv --level 0.5");
    assert_eq!(predicted.lines().next(), Some("row,class,probability,lower,upper"));
    let scores = json(&told(&folder, "evaluate two.rvi two.csv --json"))["scores"].clone();
    assert!(scores["log_loss"].as_f64().unwrap() < 0.75 * scores["plain_log_loss"].as_f64().unwrap(), "{scores:#}");

    let text = told(&folder, "fit three.csv -t y -o three.rvi");
    assert!(text.contains("one of 3 classes"), "{text}");
    let predicted = told(&folder, "predict three.rvi three.csv");
    assert_eq!(predicted.lines().next(), Some("row,class,p(low),p(mid),p(top)"));
    let card = json(&told(&folder, "inspect three.rvi --json"));
    assert!(card["scores"]["accuracy"].as_f64().unwrap() > 0.8);
    assert!(card["coefficients"].as_array().unwrap().iter().any(|line| line["class"] == "top"));

    let text = told(&folder, "fit counts.csv -t y --family count -o counts.rvi");
    assert!(text.contains("y, a count"), "{text}");
    let card = json(&told(&folder, "inspect counts.rvi --json"));
    let slope = card["coefficients"].as_array().unwrap().iter().find(|line| line["name"] == "x").unwrap().clone();
    // The log of the mean is x itself: within four deviations.
    assert!((slope["mean"].as_f64().unwrap() - 1.0).abs() < 4.0 * slope["sd"].as_f64().unwrap());
}

#[test]
fn more_rows_and_json_lines_go_into_a_stored_model() {
    let folder = folder("update");
    let lines = |from: u32, to: u32| -> String {
        (from..to).map(|t| format!("{{\"x\": {}, \"y\": {}}}\n", t % 7, 2 * (t % 7) + t % 2)).collect()
    };
    fs::write(folder.join("first.jsonl"), lines(0, 200)).unwrap();
    fs::write(folder.join("more.jsonl"), lines(200, 300)).unwrap();
    fs::write(folder.join("all.jsonl"), lines(0, 300)).unwrap();
    told(&folder, "fit first.jsonl -t y --family number -o model.rvi");
    let text = told(&folder, "update model.rvi more.jsonl");
    assert!(text.contains("100 rows learned"));
    told(&folder, "fit all.jsonl -t y --family number --sniff 200 --keep-order -o all.rvi");
    let card = |name: &str| json(&told(&folder, &format!("inspect {name} --json")));
    let (parts, whole) = (card("model.rvi"), card("all.rvi"));
    assert_eq!(parts["rows"], 300);
    assert_eq!((&parts["coefficients"], &parts["scores"]), (&whole["coefficients"], &whole["scores"]));
}

#[test]
fn a_column_that_changes_after_the_first_rows_is_told() {
    let folder = folder("changed");
    let rows: String = (0..300).map(|t| format!("{},{},{}\n", t % 7, 2 * (t % 7) + t % 2, 1 + t / 100)).collect();
    fs::write(folder.join("t.csv"), format!("x,y,month\n{rows}")).unwrap();
    // The order of a stream: nothing is known of later rows.
    let text = told(&folder, "fit t.csv -t y --family number --sniff 90 --keep-order -o m.rvi");
    assert!(text.contains("changed       month (in 200 rows), a larger `--sniff` would use it"), "{text}");
    assert_eq!(json(&told(&folder, "inspect m.rvi --json"))["rows_of_changed_columns"]["month"], 200);
    assert!(!told(&folder, "fit t.csv -t y --family number --sniff 150 --keep-order").contains("changed"));
    // Of a file that can be read again, rows from all over it are looked at.
    let text = told(&folder, "fit t.csv -t y --family number --sniff 90");
    assert!(text.contains("month (number)") && !text.contains("changed"), "{text}");
}

#[test]
fn what_cannot_be_is_said_in_one_line() {
    let folder = folder("bad");
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("empty.csv", "");
    write("header.csv", "a,y\n");
    write("good.csv", "a,b,y\n1,u,0\n2,v,1\n3,u,1\n4,v,0\n");
    write("ragged.csv", "a,b,y\n1,u,0\n2,v,1\n3,u\n4,v,0\n");
    write("word.csv", "a,b,y\n1,u,0\n2,v,1\nmany,u,1\n");
    write("twice.csv", "a,a,y\n1,2,0\n");
    write("one.csv", "a,y\n1,0\n2,0\n");
    write("noise.rvi", "not a model");
    write("newer.rvi", "{\"rvi\": 99}");
    assert!(refused(&folder, "fit none.csv -t y").contains("none.csv: "));
    assert!(refused(&folder, "fit empty.csv -t y").contains("the file has no rows"));
    assert!(refused(&folder, "fit header.csv -t y").contains("the file has no rows"));
    assert!(refused(&folder, "fit good.csv -t Y").contains("did you mean `y`?"));
    assert!(refused(&folder, "fit twice.csv -t y").contains("two columns have the name `a`"));
    assert!(refused(&folder, "fit one.csv -t y").contains("`--classes`"));
    assert!(refused(&folder, "fit ragged.csv -t y").contains("ragged.csv, row 3: 2 fields instead of 3"));
    let word = refused(&folder, "fit word.csv -t y --sniff 2");
    assert!(word.contains("word.csv, row 3, column `a`: `many` is not a number"), "{word}");
    assert!(refused(&folder, "fit good.csv -t y --forget 1.5").contains("`--forget 1.5`"));
    assert!(refused(&folder, "fit good.csv -t y -o no/such/folder/m.rvi").contains("m.rvi"));
    assert!(refused(&folder, "predict noise.rvi good.csv").contains("not a model"));
    assert!(refused(&folder, "predict newer.rvi good.csv").contains("version 99"));
    assert_eq!(rvi(&folder, "fit").status.code(), Some(2));

    let text = told(&folder, "fit ragged.csv -t y --skip-bad -o model.rvi");
    assert!(text.contains("3 rows learned") && text.contains("left out      1 row "), "{text}");
    write("missing.csv", "b,y\nu,0\n");
    assert!(refused(&folder, "predict model.rvi missing.csv").contains("there is no column `a`"));
    write("other.csv", "a,b,y\n5,never seen,\n");
    assert_eq!(told(&folder, "predict model.rvi other.csv").lines().count(), 2);
    write("later.csv", "a,b,y\n5,u,maybe\n");
    assert!(refused(&folder, "evaluate model.rvi later.csv").contains("`maybe`"));

    // Where a prediction fails midway, no part of it is left as if whole.
    write("half.csv", "a,b,y\n5,u,\nfive,u,\n");
    assert!(refused(&folder, "predict model.rvi half.csv -o half.out").contains("row 2, column `a`"));
    assert!(!folder.join("half.out").exists() && parts_left(&folder) == 0);
    told(&folder, "predict model.rvi half.csv --skip-bad -o half.out");
    assert_eq!(fs::read_to_string(folder.join("half.out")).unwrap().lines().count(), 2);

    // A damaged model is never read as another.
    let whole = fs::read(folder.join("model.rvi")).unwrap();
    for cut in [1, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
        fs::write(folder.join("cut.rvi"), &whole[..cut]).unwrap();
        refused(&folder, "inspect cut.rvi");
    }
}

/// What strangers' files are like: each gives a model, or a line that says what to do.
#[test]
fn strange_files_are_read_or_refused_with_what_to_do() {
    let folder = folder("strange");
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    let rows = |line: &dyn Fn(u32) -> String| (0..300).map(line).collect::<String>();
    // Semicolons, decimal commas, days first, a mark at the front.
    let german = rows(&|t| {
        let day = 1 + t % 28;
        format!("{day:02}.{:02}.2023;{},{};{},5\r\n", 1 + t / 28 % 12, t % 30, t % 7, 20 + 2 * (t % 30))
    });
    write("german.csv", &format!("\u{feff}Datum;Temperatur;Umsatz\r\n{german}"));
    let text = told(&folder, "fit german.csv -t Umsatz");
    assert!(
        text.contains("Datum (date, day first), Temperatur (number)") && text.contains("Umsatz, a number"),
        "{text}"
    );
    // A line of totals under a column of numbers.
    write("total.csv", &format!("a,y\n{}Total,7\n", rows(&|t| format!("{t}.5,{}\n", t % 9))));
    let text = refused(&folder, "fit total.csv -t y");
    assert!(text.contains("row 301, column `a`: `Total` is not a number (`--skip-bad`"), "{text}");
    assert!(told(&folder, "fit total.csv -t y --skip-bad").contains("300 rows learned"));
    write("money.csv", &format!("a,y\n{}", rows(&|t| format!("{t},\"${},{:03}.00\"\n", 1 + t, t))));
    assert!(told(&folder, "fit money.csv -t y").contains("y, a number"));
    // Quotes with lines in them, the target first, gaps.
    let quoted =
        rows(&|t| format!("{},\"said \"\"{}\"\"\nand left\",{}\n", t % 9, t % 3, if t % 4 == 0 { "NA" } else { "3" }));
    write("quoted.csv", &format!("y,note,gap\n{quoted}"));
    assert!(told(&folder, "fit quoted.csv -t y").contains("300 rows learned"));
}
