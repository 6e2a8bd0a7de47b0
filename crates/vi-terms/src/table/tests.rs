//! Whole fits of rows in memory.

use std::sync::Mutex;
use std::thread::current;

use vi_models::ModelError;
use vi_models::online::{Effects, GroupedLinear, GroupedSettings, Kind, Prediction};

use super::choose::Chosen;
use super::effects::shares;
use super::pictures::pictures;
use super::summary::{head, surest};
use super::{Columns, Document, Explanation, Family, Input, Intervals, Options, Rows, fit, update};
use crate::table::source::Record;
use crate::{Shape, TermsError};

fn columns() -> Columns {
    Columns::new(["size", "town", "listed", "rent"].map(str::to_owned), None)
}

/// Rents of flats: a line in the size, a town, dates, every ninth size missing.
fn flats(n: u32) -> Vec<Record> {
    let of = |k: u32| {
        let (size, town) = (20 + 7 * k % 101, ["Ulm", "Bonn", "Köln"][(k * k % 7 % 3) as usize]);
        let rent = 9 * size + if town == "Köln" { 80 } else { 0 } + k * 13 % 31;
        let size = if k.is_multiple_of(9) { String::new() } else { size.to_string() };
        [size, town.to_owned(), format!("2024-{:02}-{:02}", 1 + k % 12, 1 + k % 28), rent.to_string()]
    };
    (0..n).map(|k| of(k).into_iter().collect()).collect()
}

fn fitted(target: &str, rows: &[Record]) -> Result<Document, TermsError> {
    let (columns, options) = (columns(), Options { target: Some(target.to_owned()), ..Options::default() });
    fit(&options, &Input::in_memory("flats", false), false, || Ok(Rows::new(&columns, rows.iter().cloned())))
}

fn means(document: &Document, rows: &[Record]) -> Vec<f64> {
    let columns = columns();
    let mut answers = document.answers(&columns).unwrap();
    rows.iter().map(|row| answers.predict(row, 1).unwrap().mean().unwrap_or(f64::NAN)).collect()
}

#[test]
fn texts_dates_and_gaps_are_inputs() {
    let rows = flats(300);
    let document = fitted("rent", &rows).unwrap();
    let summary = document.scores.summary();
    assert_eq!((summary.rows, document.imputed), (300, 34));
    assert!(summary.rmse.unwrap() < 0.6 * summary.plain_rmse.unwrap(), "{summary:?}");
    let names = document.schema.names();
    for name in ["size", "size is missing", "town=Köln", "listed: days"] {
        assert!(names.iter().any(|own| own == name), "{name} in {names:?}");
    }
}

#[test]
fn three_classes_have_pictures_of_predictions_and_reliability() {
    let document = fitted("town", &flats(300)).unwrap();
    let names: Vec<&str> = pictures(&document).unwrap().iter().map(|drawn| drawn.name).collect();
    assert!(["predictions", "reliability"].iter().all(|name| names.contains(name)), "{names:?}");
    let summary = document.scores.summary();
    let rows: u64 = summary.calibration.iter().map(|(.., rows)| rows).sum();
    let right: f64 = summary.calibration.iter().map(|(_, seen, rows)| seen * *rows as f64).sum();
    // Every row is in a bin, of which the most probable class came as often as it was right.
    assert_eq!((rows, summary.classes), (300, 3));
    assert!((right / 300.0 - summary.accuracy.unwrap()).abs() < 1e-12);
}

#[test]
fn a_stored_model_answers_and_learns_on_to_the_bit() {
    let (rows, more) = (flats(200), flats(260).split_off(200));
    let mut document = fitted("rent", &rows).unwrap();
    let mut again = Document::of_bytes(document.text().unwrap().as_bytes()).unwrap();
    assert_eq!(means(&document, &more), means(&again, &more));
    let columns = columns();
    for own in [&mut document, &mut again] {
        update(own, &mut Rows::new(&columns, more.iter().cloned()), &Input::in_memory("more", false)).unwrap();
    }
    assert_eq!(means(&document, &more), means(&again, &more));
    assert_eq!(document.passes.iter().map(|pass| pass.rows).collect::<Vec<_>>(), [200, 60]);
    let damaged = document.text().unwrap().replace("\"unlabelled\":0", "\"unlabelled\":1");
    assert!(matches!(Document::of_bytes(damaged.as_bytes()), Err(TermsError::Document { .. })));
}

#[test]
fn a_class_that_comes_after_the_first_rows_is_learned_in_a_second_pass() {
    let columns = Columns::new(["x", "y"].map(str::to_owned), None);
    let row = |k: u32| {
        let class = if k > 400 && k.is_multiple_of(5) { "late" } else { ["early", "middle"][(k % 2) as usize] };
        [(k * 7 % 23).to_string(), class.to_owned()].into_iter().collect::<Record>()
    };
    let options = Options { target: Some("y".to_owned()), sniff: 100, ..Options::default() };
    let table = || Ok(Rows::new(&columns, (0..600).map(row)));
    let document = fit(&options, &Input::in_memory("classes", false), true, table).unwrap();
    assert_eq!(document.target.describe(), "y, one of 3 classes");
}

/// Of a table that can be read again rows from all over it are looked at, evenly; of one that is read once the first.
#[test]
fn a_table_is_known_by_rows_from_all_over_it() {
    let columns = Columns::new(["row", "month", "town", "y"].map(str::to_owned), None);
    let of = |k: u32| {
        let town = if k < 400 { "Ulm" } else { "Bonn" };
        [(k + 1).to_string(), (1 + k / 100).to_string(), town.to_owned(), (k * 7 % 31).to_string()]
            .into_iter()
            .collect()
    };
    let rows: Vec<Record> = (0..700).map(of).collect();
    for (sniff, keep_order) in [(100, false), (99, false), (350, false), (100, true)] {
        let options = Options { target: Some("y".to_owned()), sniff, family: Family::Number, ..Options::default() };
        let table = || Ok(Rows::new(&columns, rows.iter().cloned()));
        let document = fit(&options, &Input::in_memory("rows", false), keep_order, table).unwrap();
        let (names, ignored) = (document.schema.names(), &document.schema.ignored);
        if keep_order {
            let left_out =
                |column: &str| ignored.iter().any(|(name, why)| name == column && why.starts_with("always "));
            assert!(left_out("month") && left_out("town"), "{ignored:?}");
            continue;
        }
        assert!(names.iter().any(|name| name == "month") && names.iter().any(|name| name.starts_with("town=")));
        assert!(ignored.iter().any(|(name, _)| name == "row"), "{ignored:?}");
        assert!(document.changed.is_empty() && document.scores.rows == 700, "{sniff}: {:?}", document.changed);
    }
}

/// Whole numbers with zeros that vary as counts do are counts unless a later one is none.
#[test]
fn numbers_that_vary_as_counts_are_counts() {
    let columns = Columns::new(["x", "y"].map(str::to_owned), None);
    let of = |k: u32, y: String| [(k * 7 % 23).to_string(), y].into_iter().collect::<Record>();
    // About e^(x/8), in 0 … 31; zeros where x is small.
    let count = |k: u32| ((f64::from(k * 7 % 23) / 8.0).exp() * f64::from(k * k % 13) / 7.0).floor();
    let options = Options { target: Some("y".to_owned()), sniff: 300, ..Options::default() };
    let fitted = |last: &str, options: &Options| {
        let rows = |k: u32| of(k, if k == 399 { last.to_owned() } else { count(k).to_string() });
        fit(options, &Input::in_memory("counts", false), false, || Ok(Rows::new(&columns, (0..400).map(rows)))).unwrap()
    };
    let document = fitted("4", &options);
    assert_eq!(document.target.describe(), "y, a count");
    let better_than = &document.chosen.as_ref().unwrap().better_than;
    let behind = |name: &str| better_than.iter().find(|(own, _)| own == name).and_then(|(_, nats)| *nats).unwrap();
    assert!(behind("poisson") > 1.0 && behind("gaussian") > 1.0 && behind("varying") > 1.0, "{better_than:?}");
    assert_eq!(better_than.len(), 7, "{better_than:?}");
    assert_eq!(fitted("4.5", &options).target.describe(), "y, a number");
    let number = Options { family: Family::Number, ..options.clone() };
    assert_eq!(fitted("4", &number).target.describe(), "y, a number");
}

/// Weeks of work, half of them 0: with many weights other kinds of counts are behind those of numbers after the first rows.
#[test]
fn excess_zeros_are_found_where_other_counts_are_behind_numbers() {
    let columns = Columns::new(["a", "b", "c", "d", "age", "weeks"].map(str::to_owned), None);
    let draw = |k: u32, of: u32| {
        k.wrapping_add(of * 7919).wrapping_mul(2_654_435_769).rotate_left(16).wrapping_mul(2_246_822_519) >> 16
    };
    let row = |k: u32| {
        let yes = |of: u32| if draw(k, of) % 2 == 0 { "yes" } else { "no" }.to_owned();
        let weeks = if draw(k, 5) % 100 < 47 { 0 } else { 52 - draw(k, 6) % 13 * u32::from(draw(k, 7) % 3 == 0) };
        [yes(1), yes(2), yes(3), yes(4), (21 + draw(k, 8) % 15).to_string(), weeks.to_string()].into_iter().collect()
    };
    let options = Options { target: Some("weeks".to_owned()), ..Options::default() };
    let input = Input::in_memory("weeks", false);
    let document = fit(&options, &input, false, || Ok(Rows::new(&columns, (0..600).map(row)))).unwrap();
    let Chosen { family, better_than, .. } = document.chosen.unwrap();
    let behind = |name: &str| better_than.iter().find(|(own, _)| own == name).and_then(|(_, nats)| *nats).unwrap();
    assert!(family == "zero-inflated" && behind("gaussian") < behind("negative-binomial"), "{better_than:?}");
}

/// The mean of the exponential of what is hardly known is beyond all labels, so that first rows make up the error of means.
#[test]
fn the_error_of_medians_stands_beside_that_of_means_of_labels_that_are_learned_by_their_logarithm() {
    let columns = Columns::new(["x", "y"].map(str::to_owned), None);
    let of = |k: u32| {
        let x = f64::from(k * 7 % 23);
        [x.to_string(), (0.4 * x + f64::from(k * k % 11) / 5.0).exp().to_string()].into_iter().collect::<Record>()
    };
    let options = Options { target: Some("y".to_owned()), family: Family::LogNormal, ..Options::default() };
    let table = || Ok(Rows::new(&columns, (0..300).map(of)));
    let document = fit(&options, &Input::in_memory("skewed", false), false, table).unwrap();
    let summary = document.scores.summary();
    let (medians, means) = (summary.rmse_of_medians.unwrap(), summary.rmse.unwrap());
    assert!(medians < 0.8 * summary.plain_rmse.unwrap() && means > 2.0 * medians, "{summary:?}");
    let text = super::summary::scores(&summary);
    assert!(
        text.contains("root mean squared error, medians") && text.contains("root mean squared error, means"),
        "{text}"
    );
    let mut both = document.scores.clone();
    both.merge(&document.scores);
    assert_eq!(both.summary().rmse_of_medians, Some(medians));
    let plain = fitted("rent", &flats(60)).unwrap().scores.summary();
    assert_eq!(plain.rmse_of_medians, None);
}

/// Labels of deviation 1 far from 0: their distance from 0 is no error, with inputs or without.
#[test]
fn the_first_label_is_not_compared_with_zero() {
    let columns = Columns::new(["x", "y"].map(str::to_owned), None);
    let of = |k: u32| [(k * 7 % 23).to_string(), (1e9 + f64::from(k * 7 % 23) / 6.6).to_string()].into_iter().collect();
    let rows: Vec<Record> = (0..200).map(of).collect();
    let table = || Ok(Rows::new(&columns, rows.iter().cloned()));
    let options = Options { target: Some("y".to_owned()), shape: Some(Shape::Line), ..Options::default() };
    let document = fit(&options, &Input::in_memory("far", false), false, table).unwrap();
    let tested = document.evaluate(&mut table().unwrap()).unwrap().0.summary();
    for summary in [document.scores.summary(), tested] {
        let (own, plain) = (summary.rmse.unwrap(), summary.plain_rmse.unwrap());
        assert!(own < 0.5 * plain && (0.9..1.1).contains(&plain), "{summary:?}");
    }
}

#[test]
fn errors_name_the_column_the_row_and_the_value() {
    let mut rows = flats(120);
    let error = fitted("rnet", &rows).unwrap_err();
    assert!(error.to_string().ends_with("no column `rnet`; did you mean `rent`?"), "{error}");
    rows[70] = ["40", "Ulm", "2024-01-01", "dear"].into_iter().collect();
    let document = fitted("rent", &rows[..70]).unwrap();
    let (columns, mut next) = (columns(), document.clone());
    let error = update(&mut next, &mut Rows::new(&columns, rows[60..].iter().cloned()), &Input::in_memory("x", false));
    assert_eq!(error.unwrap_err().to_string(), "row 11, column `rent`: `dear` is not a finite number");
    let skipped = Input::in_memory("x", true);
    assert!(matches!(update(&mut next, &mut Rows::new(&columns, []), &skipped), Ok(())));
    assert!(matches!(fitted("rent", &[]), Err(TermsError::Empty)));
    assert!(matches!(fitted("town", &rows[..1]), Err(TermsError::OneClass { .. } | TermsError::NoInputs { .. })));
}

/// Thirty groups of twelve rows with intercepts and slopes of their own, by a hash that R computes alike.
fn of_groups() -> Vec<Record> {
    let h = |k: f64| {
        let s = (12.9898 * k).sin() * 43758.5453;
        s - s.floor()
    };
    let bell = |k: f64| h(k) + h(1000.0 + k) + h(2000.0 + k) - 1.5;
    let row = |k: u32| {
        let (k, g) = (f64::from(k), f64::from(k % 30));
        let x = (10.0 * h(k + 1.0)).round_ties_even() / 2.0;
        let (u, v, e) = (4.0 * bell(1000.0 + g), bell(4000.0 + g), 2.0 * bell(7000.0 + k));
        let y = (100.0 * (3.0 + 0.7 * x + u + v * (x - 2.5) + e)).round_ties_even() / 100.0;
        [x.to_string(), g.to_string(), y.to_string()].into_iter().collect()
    };
    (0..360).map(row).collect()
}

/// lme4 1.1: `lmer(y ~ c + (1 + c || g))` with `c = x − mean(x)`, which is the point at which intercepts and slopes are independent here.
#[test]
fn groups_of_a_formula_are_those_of_lme4() {
    let columns = Columns::new(["x", "g", "y"].map(str::to_owned), None);
    let options = Options { formula: Some("y ~ (x || g)".to_owned()), family: Family::Gaussian, ..Options::default() };
    let rows = of_groups();
    let table = || Ok(Rows::new(&columns, rows.iter().cloned()));
    let document = fit(&options, &Input::in_memory("groups", false), false, table).unwrap();
    let coefficients = surest(&document, 100).unwrap();
    let of = |name: &str| coefficients.iter().find(|own| own.name == name).map(|own| (own.mean, own.sd)).unwrap();
    // Its standard error is that of REML's optimum, over which the components are averaged here.
    let (slope, error) = of("x");
    assert!((slope - 0.6493654).abs() < 0.25 * 0.1063269 && (error / 0.1063269 - 1.0).abs() < 0.1, "{slope} {error}");
    for (group, intercept, slope) in
        [("0", 2.19917215, 0.14224354), ("7", 1.09284639, -0.59430685), ("29", -0.52963423, 0.18016678)]
    {
        let (own, own_slope) = (of(&format!("g={group}")), of(&format!("x:g={group}")));
        assert!((own.0 - intercept).abs() < 0.25 * own.1, "{group}: {own:?}");
        assert!((own_slope.0 - slope).abs() < 0.25 * own_slope.1, "{group}: {own_slope:?}");
    }
    let deviations: Vec<f64> = shares(&document).iter().filter_map(|share| share.deviation).collect();
    // Their own standard errors are a seventh (30 groups) at the least.
    for (found, reml) in deviations.iter().zip([1.939137, 0.538657]) {
        assert!((found / reml - 1.0).abs() < 0.25 / 7.0, "{found} {reml}");
    }
    assert_eq!(deviations.len(), 2);

    // A new group varies as the groups do, and is the same after the model was stored.
    let again = Document::of_bytes(document.text().unwrap().as_bytes()).unwrap();
    let at = |document: &Document, group: &str| {
        let row: Record = ["2.5", group, ""].map(str::to_owned).into_iter().collect();
        let predicted = document.answers(&columns).unwrap().predict(&row, 1).unwrap();
        let Prediction::Number(seen) = predicted else { unreachable!("the target is a number") };
        seen.expectation.standard_deviation()
    };
    let (known, new) = (at(&again, "7"), at(&again, "new"));
    assert!(known < 0.2 * new && (new / 1.939137_f64.hypot(0.3583044) - 1.0).abs() < 0.1, "{known} {new}");
    assert_eq!(known.to_bits(), at(&document, "7").to_bits());
}

#[test]
fn numbers_that_name_groups_have_levels_beside_them_unless_kept() {
    let columns = Columns::new(["x", "g", "y"].map(str::to_owned), None);
    let rows = of_groups();
    let names = |options: Options| {
        let options = Options { target: Some("y".to_owned()), ..options };
        let table = || Ok(Rows::new(&columns, rows.iter().cloned()));
        fit(&options, &Input::in_memory("groups", false), false, table).unwrap().schema.names()
    };
    let has = |names: &[String], name: &str| names.iter().any(|own| own == name);
    let plain = names(Options::default());
    // `x` has as many values, and the labels are a curve of it.
    assert!(has(&plain, "g") && has(&plain, "g=7") && has(&plain, "g=(other)") && !has(&plain, "x=2"), "{plain:?}");
    for options in [
        Options { number: vec!["g".to_owned()], ..Options::default() },
        Options { shape: Some(crate::Shape::Line), ..Options::default() },
        Options { levels: 40, ..Options::default() },
    ] {
        assert!(!has(&names(options), "g=7"));
    }
}

#[test]
fn a_wrong_group_is_told_with_its_place() {
    let columns = columns();
    let rows = flats(60);
    for (formula, expected) in [
        ("rent ~ (town || listed)", "column `town` is not a number (the term at 8)"),
        (
            "rent ~ (size || town) - size",
            "column `size`, beside whose line it stands, is not among the inputs (the term at 8)",
        ),
        ("rent ~ (listed | size)", "tell no correlation; write `(listed || size)` (the term at 8)"),
        ("rent ~ size + (1 | tonw)", "did you mean `town`?"),
        ("rent ~ size + (1 | rent)", "`rent` is the target and cannot be an input"),
    ] {
        let options = Options { formula: Some(formula.to_owned()), ..Options::default() };
        let table = || Ok(Rows::new(&columns, rows.iter().cloned()));
        let error = fit(&options, &Input::in_memory("flats", false), false, table).unwrap_err();
        assert!(error.to_string().ends_with(expected), "{formula}: {error}");
    }
    let many: Vec<Record> = (0..2100)
        .map(|k: u32| [(k % 7).to_string(), format!("t{k}"), String::new(), (k % 11).to_string()].into_iter().collect())
        .collect();
    let options = Options { formula: Some("rent ~ (1 | town) + (1 | size)".to_owned()), ..Options::default() };
    let error =
        fit(&options, &Input::in_memory("flats", false), false, || Ok(Rows::new(&columns, many.iter().cloned())));
    assert!(error.unwrap_err().to_string().contains("2100 groups at 8 are more than 2000"));
}

#[test]
fn parts_add_up_to_the_predictor_and_hold_what_names_them() {
    let rows = flats(400);
    let shaped = |formula: Option<&str>, shape| {
        let target = formula.is_none().then(|| "rent".to_owned());
        let options = Options { target, formula: formula.map(str::to_owned), shape, ..Options::default() };
        let columns = columns();
        fit(&options, &Input::in_memory("flats", false), false, || Ok(Rows::new(&columns, rows.iter().cloned())))
            .unwrap()
    };
    let line = super::parse_shape("line").unwrap();
    for document in [shaped(None, None), shaped(None, Some(line)), shaped(Some("rent ~ s(size) + town*size"), None)] {
        let columns = columns();
        let mut explainer = document.explainer(&columns).unwrap();
        let names = explainer.names().to_vec();
        assert!(names.contains(&"size".to_owned()) && names.contains(&"town".to_owned()), "{names:?}");
        let moved: Record = ["71", "Bonn", "2024-05-05", ""].into_iter().collect();
        let (here, there) = (explainer.explain(&rows[1], 1).unwrap(), explainer.explain(&moved, 2).unwrap());
        for found in [&here, &there] {
            let sum = found.base.mean() + found.parts.iter().map(|(_, part)| part.mean()).sum::<f64>();
            let size = found.parts.iter().map(|(_, part)| part.mean().abs()).fold(1.0, f64::max);
            // A sum of tens of terms, each to some digits of the covariance's rounding.
            assert!((sum - found.predictor.mean()).abs() < 1e-10 * size, "{sum}, {}", found.predictor.mean());
        }
        // The deviation of all parts together is that of a difference of predictors.
        let all: Vec<usize> = (0..names.len()).collect();
        let together = explainer.together(&all).unwrap();
        assert!(
            (together.mean() - (there.predictor.mean() - there.base.mean())).abs()
                < 1e-9 * (1.0 + together.mean().abs())
        );
        // Another town alone moves the parts with the town in their names, and no other.
        let town: Record = ["71", "Ulm", "2024-05-05", ""].into_iter().collect();
        let other = explainer.explain(&town, 3).unwrap();
        for (k, name) in names.iter().enumerate() {
            let of = |found: &Explanation| {
                found.parts.iter().find(|(part, _)| *part == k).map_or(0.0, |(_, own)| own.mean())
            };
            let (before, after) = (of(&there), of(&other));
            assert_eq!(before.to_bits() == after.to_bits(), !name.contains("town"), "{name}: {before}, {after}");
        }
    }
}

#[test]
fn several_classes_are_not_explained() {
    let document = fitted("town", &flats(200)).unwrap();
    assert!(matches!(document.explainer(&columns()), Err(TermsError::Model(ModelError::Unsupported { .. }))));
}

/// Rows of 600 towns, one after another: a level and a slope for each, a line, and what is left.
fn of_many_towns() -> Vec<Record> {
    let flat = |k: u32| {
        let (town, size) = (k % 600, k % 17);
        let level = 0.01 * f64::from(town * 37 % 600);
        let slope = 0.5 + 0.001 * f64::from(town * 53 % 600);
        let rent = 3.0 + level + slope * f64::from(size) + 0.1 * f64::from(k * 7 % 11);
        [size.to_string(), format!("t{town}"), String::new(), rent.to_string()].into_iter().collect()
    };
    (0..4800).map(flat).collect()
}

/// Labels of a line and of 600 shops: by default each shop has an effect, and its code says nothing more.
#[test]
fn a_text_of_many_levels_is_a_group() {
    let columns = Columns::new(["x", "kind", "shop", "code", "y"].map(str::to_owned), None);
    let turn = |k: u32, by: f64| (f64::from(k) * by).fract();
    let of = |k: u32, (size, tails): (f64, bool)| {
        let (shop, x) = (k * 271 % 600, f64::from(k * 37 % 101));
        let effect = f64::from(shop * 271 % 101) - 50.0;
        let u = turn(k, 0.618_034) + turn(k, 0.414_214) + turn(k, 0.236_068) - 1.5;
        let noise = if tails { 4.0 * (3.0 * (turn(k, 0.618_034) - 0.5)).tan() } else { 24.0 * u };
        let y = 0.5 * x + size * effect + noise;
        let kind = if k < 1900 { ["old", "used", "lent"][(k % 3) as usize] } else { "new" };
        let texts = [kind.to_owned(), format!("s{shop}"), format!("c{}", 3 * shop), y.to_string()];
        std::iter::once(x.to_string()).chain(texts).collect::<Record>()
    };
    let fitted = |what: (f64, bool), keep_order: bool| {
        let options = Options { target: Some("y".to_owned()), ..Options::default() };
        let open = || Ok(Rows::new(&columns, (0..1900).map(|k| of(k, what))));
        fit(&options, &Input::in_memory("shops", false), keep_order, open).unwrap()
    };
    let document = fitted((6.0, false), false);
    let levels = document.groups.as_ref().map(|groups| groups.levels().len());
    assert!(levels == Some(600) && document.means.is_empty(), "{levels:?}");
    assert!(document.schema.ignored.iter().any(|(name, why)| name == "code" && why == "says the same as shop"));
    let chosen = document.chosen.as_ref().unwrap();
    assert!(chosen.is_in_groups() && chosen.better_than[0].0.ends_with(" of its means"), "{chosen:?}");
    // New rows of known shops, and of a kind that no row had: that weight is not one of a flat prior.
    let mut answers = document.answers(&columns).unwrap();
    let (mut errors, mut deviations) = (0.0, 0.0);
    for k in 5000..5300 {
        let row = of(k, (6.0, false));
        let predicted = answers.predict(&row, 1).unwrap();
        errors += (predicted.mean().unwrap() - row.field(4).parse::<f64>().unwrap()).powi(2) / 300.0;
        deviations += predicted.standard_deviation().unwrap().powi(2) / 300.0;
    }
    // That of a row is 12; three rows of each shop, and the weight of the kind.
    let (error, deviation) = (errors.sqrt(), deviations.sqrt());
    assert!(error < 20.0 && (0.9..2.0).contains(&(deviation / error)), "{error} {deviation}");
    // Shops that say nothing are no group.
    assert!(fitted((0.0, false), false).groups.is_none());
    // Heavy tails: groups for so many rows, and not for a stream that goes on.
    let [table, stream] = [false, true].map(|keep_order| fitted((2.0, true), keep_order));
    assert!(table.groups.is_some() && stream.groups.is_none());
}

#[test]
fn a_formula_takes_any_number_of_groups() {
    let rows = of_many_towns();
    let columns = columns();
    let table = || Ok(Rows::new(&columns, rows.iter().cloned()));
    let options =
        Options { formula: Some("rent ~ (size | town)".to_owned()), family: Family::Gaussian, ..Options::default() };
    let input = Input::in_memory("flats", false);
    let document = fit(&options, &input, false, table).unwrap();
    // The grouped model of the library, told the same rows.
    let effects = Effects { slopes: vec![0], ..Effects::default() };
    let mut model = GroupedLinear::with_settings(1, GroupedSettings { effects, ..GroupedSettings::default() }).unwrap();
    for (k, row) in rows.iter().enumerate() {
        model.update(&[row.field(0).parse().unwrap()], k as u64 % 600, row.field(3).parse::<f64>().unwrap()).unwrap();
    }
    let mut answers = document.answers(&columns).unwrap();
    for (town, group) in [("t7", Some(7)), ("t599", Some(599)), ("elsewhere", None)] {
        let predicted = answers.predict(&["9", town, "", ""].into_iter().collect(), 1).unwrap();
        let own = model.predict(&[9.0], group).unwrap();
        assert_eq!(predicted.mean().unwrap().to_bits(), own.mean().to_bits(), "{town}");
        assert_eq!(predicted.standard_deviation().unwrap().to_bits(), own.standard_deviation().to_bits(), "{town}");
    }
    let told: Vec<_> = document.group_effects().collect::<Result<_, _>>().unwrap();
    assert_eq!((told.len(), told[15].group.as_str(), told[15].rows, told[15].effect.as_str()), (1200, "t7", 8, "size"));
    assert_eq!(told[15].belief, model.effects(7).unwrap().effects[1]);
    // Parts of the rows, with the model stored between them, are the same bits; and a new group is learned.
    let before = || Ok(Rows::new(&columns, rows[..3000].iter().cloned()));
    let mut parts = fit(&options, &input, false, before).unwrap();
    parts = Document::of_bytes(parts.text().unwrap().as_bytes()).unwrap();
    update(&mut parts, &mut Rows::new(&columns, rows[3000..].iter().cloned()), &input).unwrap();
    assert_eq!(serde_json::to_string(&parts.model).unwrap(), serde_json::to_string(&document.model).unwrap());
    let new: Record = ["9", "elsewhere", "", "30"].into_iter().collect();
    update(&mut parts, &mut Rows::new(&columns, [new.clone()]), &input).unwrap();
    let moved = parts.answers(&columns).unwrap().predict(&new, 1).unwrap().mean().unwrap();
    assert!(moved > answers.predict(&new, 1).unwrap().mean().unwrap() + 1.0);
    // Parts of an explanation add up, and the group is one of them.
    let mut explainer = document.explainer(&columns).unwrap();
    assert_eq!(explainer.names(), ["size", "town"]);
    let found = explainer.explain(&rows[7], 1).unwrap();
    let sum = found.base.mean() + found.parts.iter().map(|(_, part)| part.mean()).sum::<f64>();
    assert!((sum - found.predictor.mean()).abs() < 1e-10 * sum.abs(), "{sum}");
    let together = explainer.together(&[0, 1]).unwrap();
    assert!((together.mean() + found.base.mean() - found.predictor.mean()).abs() < 1e-10 * sum.abs());
    // A stored form whose groups are not those of the model.
    let text = document.text().unwrap();
    let wrong = text.replacen("[\"t3\",8]", "[\"t2\",8]", 1).replacen(
        &text[..text.find(",\"rvi\"").unwrap()],
        "{\"seal\":null",
        1,
    );
    assert!(Document::of_bytes(wrong.as_bytes()).is_err());
}

#[test]
fn classes_of_many_groups_are_learned_in_a_random_order_where_they_come_by_group() {
    let columns = columns();
    let flat = |k: u32| {
        let town = k / 8;
        let odds = (town * 37 % 600 + 40 * (k * 7 % 11)) % 1000;
        let dear = if odds > 500 { "dear" } else { "cheap" };
        [(k * 7 % 11).to_string(), format!("t{town}"), String::new(), dear.to_owned()].into_iter().collect::<Record>()
    };
    let rows: Vec<Record> = (0..4800).map(flat).collect();
    let options = Options { formula: Some("rent ~ size + (1 | town)".to_owned()), ..Options::default() };
    let fitted = |keep_order| {
        let table = || Ok(Rows::new(&columns, rows.iter().cloned()));
        fit(&options, &Input::in_memory("flats", false), keep_order, table).unwrap()
    };
    assert!(fitted(true).reordered.is_none());
    let document = fitted(false);
    assert!(document.reordered.is_some());
    assert_eq!(document.model.observations(), 4800);
    let told: Vec<_> = document.group_effects().collect::<Result<_, _>>().unwrap();
    assert_eq!((told.len(), told[0].group.as_str(), told[0].rows), (600, "t0", 8));
}

#[test]
fn coefficients_have_the_deviation_of_their_input() {
    let columns = Columns::new(["size", "new", "rent"].map(str::to_owned), None);
    let row = |k: usize| {
        let (size, new) = (k * 37 % 101, usize::from(k.is_multiple_of(4)));
        [size, new, 9 * size + 70 * new + k * 13 % 31].map(|number| number.to_string()).into_iter().collect::<Record>()
    };
    let rows: Vec<Record> = (0..404).map(row).collect();
    for (unscaled, expected) in [(false, [Some(850_f64.sqrt()), Some(0.5)]), (true, [None; 2])] {
        let options = Options {
            target: Some("rent".to_owned()),
            shape: (!unscaled).then_some(Shape::Line),
            unscaled,
            prior: if unscaled { vec![100.0] } else { Vec::new() },
            ..Options::default()
        };
        let table = || Ok(Rows::new(&columns, rows.iter().cloned()));
        let mut document = fit(&options, &Input::in_memory("flats", false), true, table).unwrap();
        document.model.catch_up().unwrap();
        let lines = surest(&document, 9).unwrap();
        let told = ["size", "new"].map(|name| lines.iter().find(|line| line.name == name).unwrap().deviation);
        // Sizes from 0 to 100 come equally often in 101 rows, with a variance of (101² − 1)/12; the first rows may be some more, in which one comes once more.
        for (told, expected) in told.iter().zip(expected) {
            assert_eq!(told.is_some(), expected.is_some());
            assert!(told.zip(expected).is_none_or(|(told, expected)| (told / expected - 1.0).abs() < 0.01), "{told:?}");
        }
        assert!(lines.iter().all(|line| line.name != "intercept" || line.deviation.is_none()));
    }
}

#[test]
fn a_second_thread_learns_the_random_order_to_the_same_bits() {
    let columns = columns();
    let mut rows = flats(900);
    rows.sort_by_key(|record| record.field(3).parse::<u32>().unwrap());
    let fitted = |threads, rows: &[Record]| {
        let readers = Mutex::new(Vec::new());
        let table = || {
            readers.lock().unwrap().push(current().id());
            Ok(Rows::new(&columns, rows.iter().cloned()))
        };
        let options = Options { target: Some("rent".to_owned()), threads, ..Options::default() };
        let document = fit(&options, &Input::in_memory("flats", false), false, table).unwrap();
        let readers = readers.into_inner().unwrap();
        (document, readers.iter().filter(|reader| **reader != current().id()).count(), readers.len())
    };
    let (alone, beside) = (fitted(1, &rows), fitted(2, &rows));
    // A look, the pass in the file's order and the one in random order.
    assert_eq!([alone.1, alone.2, beside.1, beside.2], [0, 3, 1, 3]);
    assert!(alone.0.reordered.is_some());
    assert_eq!(alone.0.text().unwrap(), beside.0.text().unwrap());
    // Without runs there is one pass.
    let flats = flats(900);
    let mixed: Vec<Record> = (0..900).map(|k| flats[k * 457 % 900].clone()).collect();
    let (document, others, all) = fitted(2, &mixed);
    assert_eq!((document.reordered, others, all), (None, 0, 2));
}

/// Times with a hazard that grows by `e` with each unit of `size`, of which the later are censored.
fn moves() -> Vec<Record> {
    let row = |k: u32| {
        let (size, u) = (f64::from(k * 7 % 11) / 5.0, (f64::from(k * 248 % 401) + 0.5) / 401.0);
        let (months, until) = (-u.ln() * (3.0 - size).exp(), 10.0 + f64::from(k % 13));
        let (months, left) = if months < until { (months, "TRUE") } else { (until, "FALSE") };
        let months = if k == 9 { String::new() } else { months.to_string() };
        [size.to_string(), ["Ulm", "Bonn"][(k % 2) as usize].to_owned(), months, left.to_owned()].into_iter().collect()
    };
    (0..401).map(row).collect()
}

fn of_moves(rows: &[Record], options: &Options, skip_bad: bool) -> Result<Document, TermsError> {
    let columns = Columns::new(["size", "town", "months", "left"].map(str::to_owned), None);
    fit(options, &Input::in_memory("flats", skip_bad), false, || Ok(Rows::new(&columns, rows.iter().cloned())))
}

#[test]
fn times_of_events_are_learned_with_those_that_did_not_come() {
    let columns = Columns::new(["size", "town", "months", "left"].map(str::to_owned), None);
    let rows = moves();
    let fitted = |options: &Options| of_moves(&rows, options, false);
    let formula = |text: &str| Options { formula: Some(text.to_owned()), ..Options::default() };
    let document = fitted(&formula("Surv(months, left) ~ .")).unwrap();
    let line = &surest(&document, 1).unwrap()[0];
    assert!(line.name == "size" && line.lower > 0.8 && line.upper < 1.4, "{} {} {}", line.name, line.lower, line.upper);
    let head = head(&document);
    assert!(head.contains("months, the time of an event where `left` is 1, else censored"), "{head}");
    assert!(head.contains("log hazards   0–") && head.contains("no target     1 row\n"), "{head}");
    let summary = document.scores.summary();
    let (events, censored) = (summary.events.unwrap(), summary.censored.unwrap());
    assert!(events + censored == 400 && censored > 50 && summary.accuracy.is_none() && summary.coverage.is_empty());
    assert!(summary.log_loss < summary.plain_log_loss.unwrap() - 0.05, "{summary:?}");

    let again = Document::of_bytes(document.text().unwrap().as_bytes()).unwrap();
    let mut answers = again.answers(&columns).unwrap();
    let Prediction::Survival(seen) = answers.predict(&rows[3], 1).unwrap() else { panic!("a time") };
    assert_eq!(answers.point(&rows[3], 1).unwrap(), seen.median().unwrap());
    let label = answers.label(&rows[3], 1).unwrap().unwrap();
    let time = label.label();
    let told = if label.is_range() { seen.log_survival(time) } else { seen.log_density(time) }.unwrap();
    assert_eq!(answers.log_density(&rows[3], 1).unwrap(), Some(told));
    assert_eq!(again.field_names(Intervals::Own), ["median", "lower", "upper"]);
    let fields = again.fields(&Prediction::Survival(seen.clone()), (0.9, Intervals::Own), 1).unwrap();
    assert_eq!(fields[0].as_f64(), Some(seen.median().unwrap()));
    assert_eq!(fields[2].as_f64(), Some(seen.quantile(0.95).unwrap()));
    assert!(again.ready(Intervals::Certified).unwrap_err().to_string().contains("certified interval of a time"));

    // The same by the option, with curves; what has no times is told.
    let target = |text: &str| Options { target: Some(text.to_owned()), ..Options::default() };
    assert!(fitted(&target("Surv(months, left)")).is_ok());
    let told = |options: &Options| fitted(options).unwrap_err().to_string();
    assert!(told(&target("Surv(months)")).contains("has two columns"));
    assert!(told(&target("Surv(months, gone)")).contains("there is no column `gone`"));
    assert!(told(&target("Surv(months, town)")).contains("`Ulm` is not 0 or 1, FALSE or TRUE"));
    assert!(
        told(&Options { family: Family::Number, ..formula("Surv(months, left) ~ .") }).contains("times of an event")
    );
    assert!(told(&formula("Surv(months, left) ~ left")).contains("`left` is the target"));
    assert!(told(&formula("Surv(months, left) ~ size + (size | town)")).contains("correlated effects are for numbers"));
    assert!(told(&Options { ard: true, ..target("Surv(months, left)") }).contains("only for numbers and two classes"));
    assert!(told(&target("surv(months, left)")).contains("written `Surv(time, event)`"));
}

/// One time that is a mistake is an error of its row; one that is merely long does not move the unit of the others.
#[test]
fn a_time_far_beyond_all_others_is_refused() {
    let formula = Options { formula: Some("Surv(months, left) ~ .".to_owned()), ..Options::default() };
    let with = |months: &str| {
        let mut rows = moves();
        rows[5] = ["0.2", "Ulm", months, "FALSE"].map(str::to_owned).into_iter().collect();
        of_moves(&rows, &formula, false)
    };
    let refused = with("1e300").unwrap_err().to_string();
    assert!(refused.contains("row 6") && refused.contains("10⁹ times the unit"), "{refused}");
    let [own, line] = ["1e8", "12"].map(|months| match with(months).unwrap().model.kind() {
        Kind::Survival { cuts } => cuts.unit(),
        kind => panic!("{kind:?}"),
    });
    // One of 400 times counts at most a thousand medians.
    assert!(own > line && own < 10.0 * line, "{own} {line}");
}

#[test]
fn rows_sorted_by_event_are_learned_again_in_random_order() {
    let formula = Options { formula: Some("Surv(months, left) ~ .".to_owned()), ..Options::default() };
    let mut rows = moves();
    assert!(of_moves(&rows, &formula, false).unwrap().reordered.is_none());
    rows.sort_by_key(|row| row.field(3).to_owned());
    assert!(of_moves(&rows, &formula, false).unwrap().reordered.is_some());
}

#[test]
fn fewer_than_two_events_are_told() {
    let target = Options { target: Some("Surv(months, left)".to_owned()), ..Options::default() };
    for (events, word) in [(0, "no event"), (1, "a single event"), (2, "log hazards")] {
        let of = |(k, row): (usize, &Record)| {
            let mut fields: Vec<String> = (0..4).map(|place| row.field(place).to_owned()).collect();
            fields[3] = if k < events { "1" } else { "0" }.to_owned();
            fields.into_iter().collect::<Record>()
        };
        let rows: Vec<Record> = moves().iter().take(60).enumerate().map(of).collect();
        let head = super::summary::head(&of_moves(&rows, &target, false).unwrap());
        assert!(head.contains(word) && head.contains("what the prior says") == (events < 2), "{head}");
    }
}

/// Fractions whose log odds follow a line, with noise of three in four sizes.
fn fractions(n: u32, odd: Option<(u32, &str)>) -> Vec<Record> {
    let of = |k: u32| {
        let x = f64::from(k * 7 % 23) / 5.0;
        let noise = [0.9, -1.3, 0.2, 0.1, -0.6, 1.2, -0.3][(k * k % 7) as usize] + f64::from(k * 13 % 31) / 31.0;
        let y = 1.0 / (1.0 + (0.5 - x + noise).exp());
        let text = odd.filter(|(at, _)| *at == k).map_or_else(|| y.to_string(), |(_, text)| text.to_owned());
        [x.to_string(), text].into_iter().collect::<Record>()
    };
    (0..n).map(of).collect()
}

fn of_fractions(family: Family, rows: &[Record]) -> Result<Document, TermsError> {
    let columns = Columns::new(["x", "y"].map(str::to_owned), None);
    let options = Options { target: Some("y".to_owned()), family, sniff: 200, ..Options::default() };
    fit(&options, &Input::in_memory("shares", false), true, || Ok(Rows::new(&columns, rows.iter().cloned())))
}

fn told(document: &Document) -> String {
    let (head, body) = super::summary::summary(document).unwrap();
    head + &body
}

#[test]
fn fractions_are_learned_by_their_log_odds_where_the_first_rows_prefer_it() {
    let document = of_fractions(Family::Auto, &fractions(400, None)).unwrap();
    let text = told(&document);
    let chosen = ["logit-normal by 200 rows", "logit-varying by 200 rows"].iter().any(|family| text.contains(family));
    assert!(chosen && text.contains("of the log odds of the target"), "{text}");
    // A number that is no fraction is compared with none of them.
    let rents = told(&fitted("rent", &flats(300)).unwrap());
    assert!(!rents.contains("logit"), "{rents}");
}

/// 0, 1 and what is beyond them have no log odds.
#[test]
fn a_label_that_is_no_fraction_is_refused_by_name_or_read_again_without_log_odds() {
    for odd in ["0", "1", "1.5", "-2"] {
        let rows = fractions(400, Some((300, odd)));
        let document = of_fractions(Family::Auto, &rows).unwrap();
        let text = told(&document);
        assert!(document.passes[0].rows == 400 && !text.contains("logit"), "{text}");
        assert_eq!(text.contains("log-normal"), odd == "1" || odd == "1.5", "{text}");
        let refused = of_fractions(Family::LogitNormal, &rows).unwrap_err().to_string();
        assert!(refused.contains("row 301") && refused.contains("log odds of a fraction"), "{refused}");
        let first = fractions(400, Some((9, odd)));
        let refused = of_fractions(Family::LogitVarying, &first).unwrap_err().to_string();
        assert!(refused.contains(&format!("{odd} is not between 0 and 1")), "{refused}");
        assert!(of_fractions(Family::Auto, &first).is_ok());
    }
    let mut document = of_fractions(Family::LogitNormal, &fractions(200, None)).unwrap();
    let before = document.text().unwrap();
    let columns = Columns::new(["x", "y"].map(str::to_owned), None);
    let later = fractions(210, Some((205, "1"))).split_off(203);
    let refused = update(&mut document, &mut Rows::new(&columns, later), &Input::in_memory("later", false));
    assert!(refused.unwrap_err().to_string().contains("log odds"));
    assert!(document.text().unwrap() != before, "the rows before it are learned");
}

/// A number whose spread follows `a` in one way and `b` in a curve, with levels of `c` beside them.
fn scattered() -> Vec<Record> {
    let of = |k: u32| {
        let (a, b) = (f64::from(k * 7 % 23) / 11.0 - 1.0, f64::from(k * 5 % 19) / 9.0 - 1.0);
        let noise =
            [0.9, -1.3, 0.2, 0.1, -0.6, 1.2, -0.5][(k * k % 7) as usize] * (1.0 + f64::from(k * 13 % 31) / 31.0);
        let y = 3.0 + a - b + (0.8 * a + 1.5 * b * b).exp() * noise;
        let c = ["u", "v", "w"][(k % 3) as usize].to_owned();
        [a.to_string(), b.to_string(), c, y.to_string()].into_iter().collect::<Record>()
    };
    (0..900).map(of).collect()
}

fn of_scattered(formula: &str, family: Family) -> Result<Document, TermsError> {
    let columns = Columns::new(["a", "b", "c", "y"].map(str::to_owned), None);
    let options = Options { formula: Some(formula.to_owned()), family, ..Options::default() };
    let rows = scattered();
    fit(&options, &Input::in_memory("scattered", false), false, || Ok(Rows::new(&columns, rows.iter().cloned())))
}

#[test]
fn the_spread_of_a_formula_follows_its_terms_alone() {
    let followed = |document: &Document| {
        let names = document.schema.names();
        let inputs = document.model.settings().spread_inputs.as_ref().unwrap();
        inputs.iter().map(|at| names[*at].clone()).collect::<Vec<_>>()
    };
    let of = |formula: &str| of_scattered(formula, Family::Auto).unwrap();
    let one = of("y ~ a + b + c, sigma ~ a");
    assert_eq!(followed(&one), ["a"]);
    assert!(
        told(&one).contains("spread by     a\n") && told(&one).contains("wider for each unit of a"),
        "{}",
        told(&one)
    );
    assert!(super::summary::card(&one).unwrap()["spread"].as_array().is_some_and(|lines| lines.len() == 1));
    assert_eq!(followed(&of("y ~ a + b + c, sigma ~ c")), ["c=v", "c=w", "c=(other)"]);
    let curve = of("y ~ a + s(b) + c, sigma ~ s(b)");
    let names = followed(&curve);
    assert!(names[0] == "b" && names.len() > 2 && names[1..].iter().all(|name| name.starts_with("s(b) ")), "{names:?}");
    // What the spread follows in truth is worth many nats; a wrong input is not.
    let loss = |document: &Document| document.scores.summary().log_loss;
    let wrong = loss(&of("y ~ a + s(b) + c, sigma ~ c"));
    let (right, none) = (loss(&curve), loss(&of("y ~ a + s(b) + c, sigma ~ 1")));
    assert!(right < wrong - 0.03 && (wrong - none).abs() < 0.02, "{right} {wrong} {none}");
    let constant = of("y ~ a + b, sigma ~ 1");
    assert!(matches!(constant.model, vi_models::online::Model::Robust(_)));
    let again = Document::of_bytes(one.text().unwrap().as_bytes()).unwrap();
    assert_eq!(again.text().unwrap(), one.text().unwrap());
}

#[test]
fn a_spread_that_no_model_follows_is_told() {
    let refused = |formula: &str, family: Family| of_scattered(formula, family).unwrap_err().to_string();
    assert!(refused("y ~ a, sigma ~ b", Family::Auto).contains("`b`, which the spread (`sigma ~` at 8)"));
    assert!(refused("y ~ a, sigma ~ a", Family::Gaussian).contains("as `sigma ~` at 8 asks for; `varying` has"));
    assert!(refused("y ~ a, sigma ~ a", Family::Robust).contains("`varying` has"));
    assert!(refused("c ~ a, sigma ~ a", Family::Auto).contains("`sigma ~` at 8 is for a target of numbers"));
    assert!(of_scattered("y ~ a, sigma ~ 1", Family::Robust).is_ok());
    let logs = refused("y ~ a, sigma ~ a", Family::LogVarying);
    assert!(logs.contains("not positive"), "{logs}");
}
