use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_models::online::Prediction;

use super::*;
use crate::table::effects::shares;
use crate::table::summary::surest;
use crate::table::{Document, Family, Input, Options, Rows as Table, fit};

#[test]
fn mixes_are_those_of_the_covariance() {
    // L·D·Lᵀ, L upper triangular with the columns (1), (2, 1), (-1, 0.5, 1) and D = diag(3, 0.5, 2).
    let root = [[1.0, 2.0, -1.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]];
    let variances = [3.0, 0.5, 2.0];
    let covariance = Mat::from_fn(3, 3, |i, j| (0..3).map(|k| root[i][k] * variances[k] * root[j][k]).sum::<f64>());
    let [first, second] = &mixes(covariance)[..] else { unreachable!("there are two slopes") };
    assert_eq!((first.by.as_slice(), second.by.as_slice()), (&[2.0][..], &[-1.0, 0.5][..]));
    assert!(
        (first.size - (0.5_f64 / 3.0).sqrt()).abs() < 1e-12 && (second.size - (2.0_f64 / 3.0).sqrt()).abs() < 1e-12
    );
    // An effect that others make up wholly mixes nothing.
    let made_up = Mat::from_fn(3, 3, |i, j| if i.min(j) == 0 && i != j { 0.5 } else { 1.0 });
    let found = mixes(made_up);
    assert_eq!((found[0].by.as_slice(), found[1].by.as_slice()), (&[0.0][..], &[0.5, 1.0][..]));
    assert!(found[0].size == SIZES.0 && (found[1].size - (4.0_f64 / 3.0).sqrt()).abs() < 1e-12);
}

fn columns(names: &[&str]) -> Columns {
    Columns::new(names.iter().map(|name| (*name).to_owned()), None)
}

fn learned(names: &[&str], rows: &[Vec<String>], formula: &str, family: Family) -> Result<Document, TermsError> {
    let (columns, rows) = (columns(names), rows.iter().map(|row| row.iter().collect::<Record>()));
    let options = Options { formula: Some(formula.to_owned()), family, ..Options::default() };
    fit(&options, &Input::in_memory("groups", false), true, || Ok(Table::new(&columns, rows.clone())))
}

/// Reaction, days and subject (Belenky et al. 2003, as `sleepstudy` of R's lme4 has them), days counted from `origin`.
fn sleepstudy(origin: i32) -> Vec<Vec<String>> {
    let row = |line: &str| {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        fields[1] = (fields[1].parse::<i32>().unwrap() + origin).to_string();
        fields
    };
    include_str!("sleepstudy.csv").lines().map(row).collect()
}

const SLEEP: [&str; 3] = ["reaction", "days", "subject"];

fn of_sleep(origin: i32, formula: &str) -> Document {
    learned(&SLEEP, &sleepstudy(origin), formula, Family::Gaussian).unwrap()
}

/// Standard deviations of the effects on level and slopes, and the correlations of the slopes' with those before.
fn told(document: &Document) -> (Vec<f64>, Vec<f64>) {
    let shares = shares(document);
    let correlations = shares.iter().flat_map(|share| share.correlations.iter().map(|(_, value)| *value));
    (shares.iter().filter_map(|share| share.deviation).collect(), correlations.collect())
}

/// Mean and standard deviation of a coefficient.
fn coefficient(document: &Document, name: &str) -> (f64, f64) {
    let all = surest(document, 10_000).unwrap();
    all.iter().find(|own| own.name == name).map(|own| (own.mean, own.sd)).unwrap()
}

/// Mean and standard deviation of what is expected at a row.
fn expected(document: &Document, names: &[&str], row: &[&str]) -> (f64, f64) {
    let record = row.iter().collect::<Record>();
    let Prediction::Number(seen) = document.answers(&columns(names)).unwrap().predict(&record, 1).unwrap() else {
        unreachable!("the target is a number")
    };
    (seen.expectation.mean(), seen.expectation.standard_deviation())
}

/// lme4 1.1-31: `lmer(Reaction ~ Days + (Days | Subject), sleepstudy)`, `VarCorr`, `fixef`, `ranef`. The components are averaged over here, with a prior, so
/// that they differ from those of REML by some of their standard errors: a fifth of the deviations, .3 of the correlation.
#[test]
fn sleepstudy_is_that_of_lme4() {
    let document = of_sleep(0, "reaction ~ (days | subject)");
    let (deviations, correlations) = told(&document);
    assert_eq!((deviations.len(), correlations.len()), (2, 1));
    let near = |found: f64, reml: f64, share: f64| assert!((found / reml - 1.0).abs() < share, "{found} {reml}");
    near(deviations[0], 24.7406580, 0.02);
    near(deviations[1], 5.9221377, 0.06);
    near(document.model.prior_unit(), 25.5917957, 0.005);
    assert!((correlations[0] - 0.065551).abs() < 0.15, "{correlations:?}");
    for (name, mean, error) in [("intercept", 251.4051049, 6.8245967), ("days", 10.4672860, 1.5457896)] {
        let own = coefficient(&document, name);
        assert!((own.0 - mean).abs() < 0.15 * error && (own.1 / error - 1.0).abs() < 0.1, "{name}: {own:?}");
    }
    for (subject, level, slope) in [
        ("308", 2.2585509, 9.1989758),
        ("309", -40.3987381, -8.6196806),
        ("335", -0.3336684, -10.7521652),
        ("337", 34.8904868, 8.6282652),
        ("370", -25.6129993, 4.8224850),
    ] {
        let own = coefficient(&document, &format!("subject={subject}"));
        let own_slope = coefficient(&document, &format!("days:subject={subject}"));
        assert!((own.0 - level).abs() < 0.25 * own.1, "{subject}: {own:?}");
        assert!((own_slope.0 - slope).abs() < 0.25 * own_slope.1, "{subject}: {own_slope:?}");
    }
    // A new subject varies as the subjects do, at each day: deviations and correlation are those of its level and slope.
    let deviation = |days: f64| {
        let new = expected(&document, &SLEEP, &["", &days.to_string(), "new"]).1.powi(2);
        let common = days.mul_add(coefficient(&document, "days").1, 0.0).hypot(coefficient(&document, "intercept").1);
        let between = deviations[0].hypot(days * deviations[1]).powi(2)
            + 2.0 * days * correlations[0] * deviations[0] * deviations[1];
        (new.sqrt(), between.sqrt(), common)
    };
    for days in [0.0, 5.0, 9.0] {
        let (new, between, common) = deviation(days);
        assert!(between < new && new < 1.05 * between.hypot(common), "{days}: {new} {between} {common}");
    }
}

#[test]
fn the_origin_of_a_number_is_of_no_account() {
    let (here, there) = (of_sleep(0, "reaction ~ (days | subject)"), of_sleep(2000, "reaction ~ (days | subject)"));
    for (day, year) in [("0", "2000"), ("7", "2007"), ("12", "2012")] {
        for subject in ["308", "370", "new"] {
            let (a, b) = (expected(&here, &SLEEP, &["", day, subject]), expected(&there, &SLEEP, &["", year, subject]));
            assert!((a.0 - b.0).abs() < 1e-7 && (a.1 / b.1 - 1.0).abs() < 1e-7, "{subject} {day}: {a:?} {b:?}");
        }
    }
    let slope = |document| coefficient(document, "days:subject=335");
    assert!((slope(&here).0 - slope(&there).0).abs() < 1e-8);
    // Levels at the year 0 are far apart.
    let (deviations, correlations) = told(&there);
    assert!(deviations[0] > 1e4 && correlations[0] < -0.99, "{deviations:?} {correlations:?}");
    // Explanations are about the mean.
    let parts = |document: &Document, day: &str| {
        let columns = columns(&SLEEP);
        let mut explainer = document.explainer(&columns).unwrap();
        let names = explainer.names().to_vec();
        let found = explainer.explain(&["", day, "308"].iter().collect(), 1).unwrap();
        let sum = found.base.mean() + found.parts.iter().map(|(_, part)| part.mean()).sum::<f64>();
        assert!((sum - found.predictor.mean()).abs() < 1e-8, "{sum}");
        found.parts.iter().map(|(part, own)| (names[*part].clone(), own.mean())).collect::<Vec<_>>()
    };
    let (a, b) = (parts(&here, "7"), parts(&there, "2007"));
    assert_eq!(a.iter().map(|own| own.0.as_str()).collect::<Vec<_>>(), ["days", "subject", "days × subject"]);
    assert!(a.iter().zip(&b).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-7), "{a:?} {b:?}");
    let (level, slope) = (coefficient(&here, "subject=308").0, slope_of(&here, "308"));
    assert!((a[1].1 - (level + 4.5 * slope)).abs() < 5.0 && (a[2].1 - 2.5 * slope).abs() < 5.0, "{a:?}");
}

fn slope_of(document: &Document, subject: &str) -> f64 {
    coefficient(document, &format!("days:subject={subject}")).0
}

const DRAWN: [&str; 4] = ["y", "a", "b", "g"];

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (radius, angle) = (rng.random::<f64>(), rng.random::<f64>());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

fn gaussian(predictor: f64, rng: &mut ChaCha8Rng) -> f64 {
    predictor + normal(rng)
}

fn predictor([level, of_a, of_b]: [f64; 3], a: f64, b: f64) -> f64 {
    1.0 + level + (0.5 + of_a) * a + of_b * b
}

/// Rows of groups, with the labels of their predictors, and the effects of each group: on the level at `a` = `b` = 0 and on the slopes of `a` and `b`, of
/// deviations 1, .6 and .5, the first with the same correlation to both others.
fn drawn(
    seed: u64,
    (groups, each): (usize, usize),
    correlation: f64,
    label: fn(f64, &mut ChaCha8Rng) -> f64,
) -> (Vec<Vec<String>>, Vec<[f64; 3]>) {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let left = (1.0 - correlation * correlation).sqrt();
    let effect = |_| {
        let first = normal(rng);
        let mut with = |deviation: f64| deviation * (correlation * first + left * normal(rng));
        [first, with(0.6), with(0.5)]
    };
    let effects: Vec<[f64; 3]> = (0..groups).map(effect).collect();
    let row = |k: usize| {
        let (a, b) = ((10.0 * normal(rng)).round() / 5.0, (5.0 * normal(rng)).round() / 5.0);
        let y = label(predictor(effects[k % groups], a, b), rng);
        vec![y.to_string(), a.to_string(), b.to_string(), format!("g{}", k % groups)]
    };
    let rows = (0..groups * each).map(row).collect();
    (rows, effects)
}

/// The mean square distance from the true predictors, and the share of effects that their 90 % intervals hold.
fn errors(document: &Document, effects: &[[f64; 3]]) -> (f64, f64) {
    let (mut square, mut held) = (0.0, 0.0);
    let all = surest(document, 10_000).unwrap();
    for (g, effect) in effects.iter().enumerate() {
        for (a, b) in [(-2.0, 1.0), (0.0, 0.0), (2.0, 1.0), (1.0, -1.0_f64)] {
            let row = ["", &a.to_string(), &b.to_string(), &format!("g{g}")];
            square += (expected(document, &DRAWN, &row).0 - predictor(*effect, a, b)).powi(2);
        }
        for (name, truth) in [format!("g=g{g}"), format!("a:g=g{g}"), format!("b:g=g{g}")].iter().zip(effect) {
            let own = all.iter().find(|own| own.name == *name).unwrap();
            held += f64::from(u8::from(own.lower <= *truth && *truth <= own.upper));
        }
    }
    (square / (4 * effects.len()) as f64, held / (3 * effects.len()) as f64)
}

#[test]
fn correlations_are_found_and_predict() {
    const RUNS: u64 = 5;
    for correlation in [0.8, -0.8] {
        let mut sums = [0.0; 5];
        for seed in 0..RUNS {
            let (rows, effects) = drawn(seed, (40, 8), correlation, gaussian);
            let of = |formula| learned(&DRAWN, &rows, formula, Family::Gaussian).unwrap();
            let (with, without) = (of("y ~ (a + b | g)"), of("y ~ (a + b || g)"));
            assert!(told(&without).1.is_empty());
            let (own, other, found) = (errors(&with, &effects), errors(&without, &effects), told(&with).1);
            // That of `a` with the level, that of `b` with the level and with `a`.
            let each = [own.0 / other.0, own.1, found[0], found[1], found[2]];
            sums.iter_mut().zip(each).for_each(|(sum, own)| *sum += own / RUNS as f64);
        }
        let [ratio, held, first, second, third] = sums;
        assert!(ratio < 0.9, "{sums:?}");
        assert!((0.84..0.96).contains(&held), "{sums:?}");
        let near = |found: f64, truth: f64| (found - truth).abs() < 0.15;
        assert!(near(first, correlation) && near(second, correlation) && near(third, 0.64), "{sums:?}");
    }
}

#[test]
fn the_order_of_slopes_is_of_no_account() {
    let (rows, effects) = drawn(7, (30, 10), 0.5, gaussian);
    let of = |formula| learned(&DRAWN, &rows, formula, Family::Gaussian).unwrap();
    let (first, second) = (of("y ~ (a + b | g)"), of("y ~ (b + a | g)"));
    for g in 0..effects.len() {
        let row = ["", "1.5", "-1", &format!("g{g}")];
        let (a, b) = (expected(&first, &DRAWN, &row), expected(&second, &DRAWN, &row));
        assert!((a.0 - b.0).abs() < 0.1 * a.1 && (a.1 / b.1 - 1.0).abs() < 0.05, "{g}: {a:?} {b:?}");
    }
}

/// A label with noise of deviation .5, and of 40 in a twentieth of the rows.
fn outliers(predictor: f64, rng: &mut ChaCha8Rng) -> f64 {
    predictor + if rng.random::<f64>() < 0.05 { 40.0 } else { 0.5 } * normal(rng)
}

#[test]
fn labels_of_every_family_tell_the_correlation() {
    let found = |label, family, correlation, rows| {
        let (rows, _) = drawn(3, (60, rows), correlation, label);
        told(&learned(&DRAWN, &rows, "y ~ b + (a | g)", family).unwrap()).1[0]
    };
    let yes = |predictor: f64, rng: &mut ChaCha8Rng| {
        f64::from(u8::from(rng.random::<f64>() < vi_core::special::sigmoid(predictor)))
    };
    let exponential = |predictor: f64, rng: &mut ChaCha8Rng| (predictor + normal(rng)).exp();
    let count = |predictor: f64, rng: &mut ChaCha8Rng| {
        let (mut left, mut count) = ((0.5 * predictor).exp(), -1.0);
        while left > 0.0 {
            left += rng.random::<f64>().ln();
            count += 1.0;
        }
        count
    };
    for correlation in [0.8, -0.8] {
        for (family, found) in [
            ("classes", found(yes, Family::Auto, correlation, 80)),
            ("log-normal", found(exponential, Family::Auto, correlation, 25)),
            ("outliers", found(outliers, Family::Auto, correlation, 25)),
            ("count", found(count, Family::Count, correlation, 25)),
        ] {
            // Two standard errors of 60 groups, whose effects are known in part.
            assert!((found - correlation).abs() < 0.15, "{family}: {found} {correlation}");
        }
    }
}

#[test]
fn spreads_that_follow_inputs_are_refused_and_no_candidate() {
    let (rows, _) = drawn(1, (20, 10), 0.5, outliers);
    let error = learned(&DRAWN, &rows, "y ~ (a | g)", Family::Varying).unwrap_err();
    assert!(error.to_string().ends_with("write `(a || g)` (the term at 5)"), "{error}");
    let document = learned(&DRAWN, &rows, "y ~ (a | g)", Family::Auto).unwrap();
    let chosen = document.chosen.unwrap();
    assert!(chosen.family == "robust" && chosen.better_than.iter().all(|(name, _)| name != "varying"), "{chosen:?}");
}

#[test]
fn several_classes_are_refused() {
    let label = |predictor: f64, rng: &mut ChaCha8Rng| gaussian(predictor, rng).round().clamp(0.0, 2.0);
    let (rows, _) = drawn(1, (10, 10), 0.5, label);
    let error = learned(&DRAWN, &rows, "y ~ a + (a + b | g)", Family::Classes).unwrap_err();
    let expected = "write `(a + b || g)` (the term at 9)";
    assert!(matches!(error, TermsError::Unfit { .. }) && error.to_string().ends_with(expected), "{error}");
}

#[test]
fn the_stored_form_is_read_to_the_bit_and_checked() {
    let (rows, _) = drawn(2, (8, 10), 0.5, gaussian);
    let document = learned(&DRAWN, &rows, "y ~ (a + b | g)", Family::Gaussian).unwrap();
    let again = Document::of_bytes(document.text().unwrap().as_bytes()).unwrap();
    assert_eq!(again.schema, document.schema);
    let row = ["", "1", "0", "g3"];
    assert_eq!(expected(&again, &DRAWN, &row), expected(&document, &DRAWN, &row));

    let terms = document.schema.shape.as_ref().unwrap();
    let stored = serde_json::to_value(terms).unwrap();
    assert_eq!(serde_json::from_value::<Terms>(stored.clone()).unwrap(), *terms);
    let damaged = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut stored = stored.clone();
        // The mix of `b`: 1 and `a`.
        change(&mut stored["fitted"][1]["maker"]["Slopes"]["mix"]);
        assert_ne!(stored, serde_json::to_value(terms).unwrap());
        serde_json::from_value::<Terms>(stored).unwrap_err().to_string()
    };
    let contradiction = "the stored terms are damaged: correlated effects and those before them";
    assert_eq!(damaged(&|mix| _ = mix.as_array_mut().unwrap().pop()), contradiction);
    assert_eq!(damaged(&|mix| mix.as_array_mut().unwrap().swap(0, 1)), contradiction);
    assert_eq!(damaged(&|mix| mix[1][0] = serde_json::Value::Null), contradiction);
    assert!(damaged(&|mix| mix[1][0]["input"] = 1000.into()).contains("a term and its inputs"));
    assert!(damaged(&|mix| mix[0][1] = serde_json::Value::Null).contains("invalid type: null"));

    // Without a correlation nothing is stored of one, as before there were any.
    let independent = learned(&DRAWN, &rows, "y ~ (a + b || g)", Family::Gaussian).unwrap().text().unwrap();
    assert!(!independent.contains("mix"));
}
