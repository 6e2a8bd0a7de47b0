//! Records of posteriors: from SQL to a stored model and back.

#![allow(clippy::unwrap_used, clippy::panic, clippy::format_push_string, reason = "a test")]

mod common;

use std::fs;
use std::path::Path;

use common::{folder, json, refused, sales, told};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_sums::{Family, GlmPrior, LinearPosterior, LinearPrior, OnePass, Posterior, Predictor};

/// Both compute the same from the same numbers, in another order: some hundred operations, each to 1e-16.
const ROUNDING: f64 = 1e-12;

fn rows(n: usize, seed: u64) -> Vec<[f64; 3]> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| [rng.random_range(-2.0..2.0), rng.random_range(0.0..3.0), rng.random_range(-1.0..1.0)]).collect()
}

/// A number, a class and a count at a row.
fn labels(x: &[f64; 3], t: usize) -> [f64; 3] {
    let eta = 0.4 + x[0] - 0.5 * x[1] + 0.2 * (7.0 * t as f64).sin();
    [eta, f64::from(u8::from(eta > 0.3 * (t % 5) as f64 - 0.6)), (3.0 * eta.exp()).floor()]
}

/// Writes the rows as a file, which gives back every bit of them.
fn write(folder: &Path, name: &str, x: &[[f64; 3]]) {
    let mut text = "c,a,b,number,class,count\n".to_owned();
    for (t, x) in x.iter().enumerate() {
        let [number, class, count] = labels(x, t);
        let class = if class > 0.5 { "yes" } else { "no" };
        text += &format!("{},{},{},{number},{class},{count}\n", x[2], x[0], x[1]);
    }
    fs::write(folder.join(name), text).unwrap();
}

fn posteriors(x: &[[f64; 3]]) -> [Posterior; 3] {
    let mut linear = LinearPosterior::new(3, LinearPrior::default()).unwrap();
    let prior = GlmPrior { scale: 1.5, intercept: 3.0 };
    let mut glm = [Family::Logistic, Family::Poisson].map(|family| OnePass::new(family, prior, 3).unwrap());
    for (t, x) in x.iter().enumerate() {
        let [number, class, count] = labels(x, t);
        linear.sums_mut().update(x, number).unwrap();
        glm[0].update(x, class).unwrap();
        glm[1].update(x, count).unwrap();
    }
    let [class, count] = glm.map(|own| Posterior::from(own.posterior().unwrap()));
    [linear.into(), class, count]
}

/// Holds what `rvi predict` says of the rows of `t.csv` against the posterior.
fn assert_predicts(folder: &Path, model: &str, posterior: &Posterior, x: &[[f64; 3]]) {
    let predictor = Predictor::new(posterior).unwrap();
    let lines = told(folder, &format!("predict {model} t.csv --to jsonl --level 0.8"));
    assert_eq!(lines.lines().count(), x.len());
    for (line, x) in lines.lines().zip(x) {
        let (line, seen) = (json(line), predictor.predict(x, 0.8).unwrap());
        let mean = if line["mean"].is_null() { "probability" } else { "mean" };
        for (name, expected) in [(mean, seen.mean), ("lower", seen.lower), ("upper", seen.upper)] {
            let found = line[name].as_f64().unwrap();
            assert!((found - expected).abs() < ROUNDING * (1.0 + expected.abs()), "{model} {name}: {found} {expected}");
        }
        if let Some(deviation) = line["sd"].as_f64() {
            assert!((deviation - seen.variance.sqrt()).abs() < ROUNDING * (1.0 + deviation), "{model}: {deviation}");
        }
    }
}

#[test]
fn a_record_is_a_model_that_predicts_the_same_learns_on_and_goes_back() {
    let folder = folder("records");
    let x = rows(200, 1);
    write(&folder, "t.csv", &x);
    for (posterior, target) in posteriors(&x[..150]).iter().zip(["number", "class", "count"]) {
        let (record, model) = (format!("{target}.bin"), format!("{target}.rvi"));
        fs::write(folder.join(&record), posterior.encode().unwrap()).unwrap();
        let classes = if target == "class" { " --classes no,yes" } else { "" };
        let line = format!("import {record} -o {model} --columns a,b,c -t {target}{classes}");
        let text = told(&folder, &line);
        assert!(text.contains("imported      the posterior of 150 rows"), "{text}");
        let evidence = text.lines().find_map(|line| line.strip_prefix("evidence ")).unwrap();
        let numbers: Vec<f64> = evidence.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
        // Printed to four digits.
        assert!((numbers[1] * 150.0 / numbers[0] - 1.0).abs() < 1e-3, "{evidence}");
        assert_predicts(&folder, &model, posterior, &x);
        let card = json(&told(&folder, &format!("inspect {model} --json")));
        assert_eq!((card["imported"].as_u64(), card["coefficients"].as_array().unwrap().len()), (Some(150), 4));

        // There and back.
        let text = told(&folder, &format!("export {model} -o back.bin"));
        assert!(text.contains("150 rows") && text.contains("a, b, c"), "{text}");
        let back = Posterior::decode(&fs::read(folder.join("back.bin")).unwrap()).unwrap();
        assert_eq!((back.rows(), back.inputs()), (150, 3));
        let (evidence, expected) = (back.log_evidence().unwrap(), posterior.log_evidence().unwrap());
        assert!((evidence - expected).abs() < 1e-9 * expected.abs(), "{target}: {evidence} {expected}");
        assert_predicts(&folder, &model, posterior, &x);

        // It learns on.
        told(&folder, &format!("update {model} t.csv"));
        let after = told(&folder, &format!("export {model} -o after.bin"));
        assert!(after.contains("350 rows"), "{after}");
        told(&folder, &format!("evaluate {model} t.csv"));
    }
}

#[test]
fn a_model_in_the_units_of_the_file_is_a_record() {
    let folder = folder("exported");
    let x = rows(120, 2);
    write(&folder, "t.csv", &x);
    for (target, others) in [("number", "class,count"), ("class", "number,count"), ("count", "number,class")] {
        told(
            &folder,
            &format!(
                "fit t.csv -t {target} --family {} --ignore {others} --unscaled --prior 1.5 -o m.rvi",
                match target {
                    "class" => "classes",
                    other => other,
                }
            ),
        );
        let text = told(&folder, "export m.rvi -o m.bin");
        assert!(text.contains("120 rows") && text.contains("c, a, b"), "{text}");
        let posterior = Posterior::decode(&fs::read(folder.join("m.bin")).unwrap()).unwrap();
        let turned: Vec<[f64; 3]> = x.iter().map(|x| [x[2], x[0], x[1]]).collect();
        assert_predicts(&folder, "m.rvi", &posterior, &turned);
    }
}

#[test]
fn what_no_record_holds_is_refused_with_what_to_do() {
    let folder = folder("no-records");
    write(&folder, "t.csv", &rows(120, 3));
    fs::write(folder.join("sales.csv"), sales(200, 1)).unwrap();
    for (fit, words) in [
        ("t.csv -t number --ignore class,count", "`rvi fit --shape line` has not"),
        (
            "t.csv -t number --ignore class,count --shape line",
            "standardises its inputs; `rvi fit --unscaled --prior SCALE`",
        ),
        ("t.csv -t number --ignore class,count --unscaled --prior 1,2", "averages over prior scales; `rvi fit"),
        ("t.csv -t number --ignore count --unscaled --prior 1", "`class` is not a number"),
        ("sales.csv -t sold --ignore id,day,place --unscaled --prior 1", "`price` has gaps"),
        ("t.csv --formula number~a:b --unscaled --prior 1", "`a` is a product"),
        ("t.csv --formula number~exp(a) --unscaled --prior 1", "is a function of a column"),
        ("t.csv -t number --ignore class,count --features poly:2 --unscaled --prior 1", "have further features"),
        ("t.csv -t number --ignore class,count --forget 0.9 --unscaled --prior 1", "rows that are forgotten"),
        ("t.csv -t number --ignore class,count --belief diagonal --unscaled --prior 1", "full covariance"),
        ("sales.csv -t place --ignore id,day,price,open --unscaled --prior 1", "more than two classes"),
    ] {
        told(&folder, &format!("fit {fit} -o m.rvi"));
        let error = refused(&folder, "export m.rvi -o m.bin");
        assert!(error.contains(words), "{fit}: {error}");
        assert!(!folder.join("m.bin").exists());
    }

    let [linear, ..] = posteriors(&rows(20, 4));
    fs::write(folder.join("r.bin"), linear.encode().unwrap()).unwrap();
    let probit = OnePass::new(Family::Probit, GlmPrior::default(), 3).unwrap().posterior().unwrap();
    fs::write(folder.join("p.bin"), Posterior::from(probit).encode().unwrap()).unwrap();
    for (line, words) in [
        ("r.bin --columns a,b", "has 3 inputs, but there are 2 names"),
        ("r.bin --columns a,b,y", "it is the target"),
        ("r.bin --columns a,b,b", "the name occurs twice"),
        ("p.bin --columns a,b,c", "not for the labels of this posterior"),
        ("r.bin --columns a,b,c --classes 1", "two names"),
        ("t.csv --columns a,b,c", "record is of kind"),
        ("none.bin --columns a,b,c", "none.bin"),
    ] {
        let error = refused(&folder, &format!("import {line} -o n.rvi"));
        assert!(error.contains(words), "{line}: {error}");
        assert!(!folder.join("n.rvi").exists());
    }
}
