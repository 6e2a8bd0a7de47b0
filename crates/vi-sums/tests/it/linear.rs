//! Linear sums: exact, whatever the parts.

use vi_models::online::{OnlineLinear, OnlineSettings, PriorScale, Standardise, Start};
use vi_sums::{LinearPosterior, LinearPrior, LinearSums, Posterior, Predictor, SumsError};

use crate::common::{columns, row, slices};

/// The largest difference of two sums, means and scatter in units of the columns' own deviations.
fn difference(a: &LinearSums, b: &LinearSums) -> f64 {
    assert_eq!((a.rows(), a.inputs()), (b.rows(), b.inputs()));
    let k = a.inputs() + 1;
    let root = |i: usize| a.scatter()[i * (i + 1) / 2 + i].sqrt();
    let mut worst: f64 = 0.0;
    for i in 0..k {
        let deviation = root(i) / (a.rows() as f64).sqrt();
        worst = worst.max((a.mean()[i] - b.mean()[i]).abs() / deviation);
        for j in 0..=i {
            let at = i * (i + 1) / 2 + j;
            worst = worst.max((a.scatter()[at] - b.scatter()[at]).abs() / (root(i) * root(j)));
        }
    }
    worst
}

fn by_rows(x: &[Vec<f64>], y: &[f64], rows: impl IntoIterator<Item = usize>) -> LinearSums {
    let mut sums = LinearSums::new(x.len()).unwrap();
    for t in rows {
        sums.update(&row(x, t), y[t]).unwrap();
    }
    sums
}

#[test]
fn any_parts_in_any_order_are_the_rows_one_by_one() {
    // Up to 17 columns rows are added by code of known length; from 48 on tiles are products of matrices, of 1024 rows.
    for (n, d) in [(1, 1), (3, 2), (257, 1), (1000, 6), (300, 16), (300, 17), (600, 30), (300, 46), (3000, 47)] {
        let (x, y) = columns(n, d, 1);
        let direct = by_rows(&x, &y, 0..n);
        let mut at_once = LinearSums::new(d).unwrap();
        at_once.update_columns(&slices(&x), &y).unwrap();
        if n > 1 {
            assert!(difference(&direct, &at_once) < 1e-12, "{n} {d}");
        }
        for parts in [2, 3, 8] {
            let mut merged = LinearSums::new(d).unwrap();
            // From the last to the first; with more parts than rows some are empty.
            for part in (0..parts).rev() {
                merged.merge(&by_rows(&x, &y, (0..n).filter(|t| t % parts == part))).unwrap();
            }
            if n > 1 {
                assert!(difference(&direct, &merged) < 1e-12, "{n} {d} {parts}");
            }
        }
    }
}

#[test]
fn columns_far_from_zero_keep_their_digits() {
    let (mut x, y) = columns(2000, 3, 2);
    let near = by_rows(&x, &y, 0..2000);
    for column in &mut x {
        for value in column {
            *value += 1e6;
        }
    }
    let mut far = LinearSums::new(3).unwrap();
    far.update_columns(&slices(&x), &y).unwrap();
    let rows = by_rows(&x, &y, 0..2000);
    for (a, (b, c)) in near.scatter().iter().zip(far.scatter().iter().zip(rows.scatter())) {
        // A value near 10⁶ is rounded by 10⁻¹⁰ when it is written down; uncentred sums would be off by 2000·10¹²·ε = 0.4.
        assert!((a - b).abs() < 2000.0 * 1e-9 && (a - c).abs() < 2000.0 * 1e-9, "{a} {b} {c}");
    }
}

#[test]
fn the_fit_is_that_of_the_filter_and_so_is_the_evidence() {
    let (n, d) = (60, 3);
    let (x, y) = columns(n, d, 3);
    for intercept in [0.0, 2.0] {
        let prior = LinearPrior { scale: 1.5, intercept, shape: 0.7, rate: 0.4 };
        let mut posterior = LinearPosterior::new(d, prior).unwrap();
        posterior.sums_mut().update_columns(&slices(&x), &y).unwrap();
        let fit = posterior.fit().unwrap();

        let start = OnlineLinear::default_settings();
        let settings = OnlineSettings {
            prior_scale: PriorScale::Given(1.5),
            intercept: intercept > 0.0,
            intercept_scale: if intercept > 0.0 { intercept } else { start.intercept_scale },
            standardise: Standardise::Never,
            start: Start::OnePass,
            ..start
        };
        let mut filter = OnlineLinear::with_settings(d, settings, 0.7, 0.4).unwrap();
        (0..n).for_each(|t| filter.update(&row(&x, t), y[t]).unwrap());

        // n steps that each round by ε, of numbers up to n in size.
        let tolerance = 100.0 * n as f64 * f64::EPSILON;
        let (evidence, (shape, rate)) = (filter.evidence(), filter.noise());
        assert!(
            (fit.log_evidence() - evidence).abs() < tolerance * evidence.abs(),
            "{} {evidence}",
            fit.log_evidence()
        );
        assert!((fit.noise().rate() / rate - 1.0).abs() < tolerance);
        assert!((fit.noise().shape() / shape - 1.0).abs() < tolerance);
        let (found, expected) = (fit.weights().unwrap(), filter.coefficients().unwrap());
        assert_eq!(found.len(), expected.len());
        for (a, b) in found.iter().zip(expected.iter().map(|own| &own.belief)) {
            assert!((a.mean() - b.mean()).abs() < tolerance);
            assert!((a.standard_deviation() - b.standard_deviation()).abs() < tolerance);
        }
        let (seen, expected) = (fit.predict(&[0.3, -1.0, 2.0]).unwrap(), filter.predict(&[0.3, -1.0, 2.0]).unwrap());
        assert!((seen.mean() - expected.mean()).abs() < tolerance * 10.0);
        assert!((seen.standard_deviation() - expected.standard_deviation()).abs() < tolerance * 10.0);
    }
}

#[test]
fn a_month_taken_off_the_year_leaves_the_other_eleven() {
    let (x, y) = columns(1200, 4, 4);
    let month = |m: usize| {
        let mut posterior = LinearPosterior::new(4, LinearPrior::default()).unwrap();
        let part: Vec<&[f64]> = x.iter().map(|column| &column[m * 100..(m + 1) * 100]).collect();
        posterior.sums_mut().update_columns(&part, &y[m * 100..(m + 1) * 100]).unwrap();
        Posterior::from(posterior)
    };
    let merged = |months: &[usize]| {
        let mut sum = month(months[0]);
        for &m in &months[1..] {
            sum.merge(&month(m)).unwrap();
        }
        sum
    };
    let sums = |posterior: &Posterior| match posterior {
        Posterior::Linear(own) => own.sums().clone(),
        _ => unreachable!(),
    };
    let mut year = merged(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert!(difference(&sums(&year), &by_rows(&x, &y, 0..1200)) < 1e-12);
    year.subtract(&month(2)).unwrap();
    let rest = merged(&[0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert!(difference(&sums(&year), &sums(&rest)) < 1e-12);
    assert!(
        (year.log_evidence().unwrap() - rest.log_evidence().unwrap()).abs() < 1e-9 * rest.log_evidence().unwrap().abs()
    );

    for m in [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11] {
        year.subtract(&month(m)).unwrap();
    }
    assert_eq!((year.rows(), year.log_evidence().unwrap()), (0, 0.0));
    assert!(matches!(year.subtract(&month(0)), Err(SumsError::NotContained { .. })));
}

#[test]
fn what_was_never_added_cannot_be_taken_off() {
    let (x, y) = columns(50, 2, 5);
    let mut all = by_rows(&x, &y, 0..50);
    let before = all.clone();
    let (mut other, labels) = columns(50, 2, 6);
    for value in &mut other[0] {
        *value *= 10.0;
    }
    assert!(matches!(all.subtract(&by_rows(&other, &labels, 0..10)), Err(SumsError::NotContained { .. })));
    // As many rows, but others; more rows.
    assert!(matches!(all.subtract(&by_rows(&other, &labels, 0..50)), Err(SumsError::NotContained { .. })));
    let (longer, more) = columns(51, 2, 5);
    assert!(matches!(all.subtract(&by_rows(&longer, &more, 0..51)), Err(SumsError::NotContained { .. })));
    assert_eq!(all, before);
    // One row: an input, or the label, further from the mean than the scatter of all rows allows; of one row any other.
    for (x, y) in [([100.0, 0.0], 0.0), ([0.0, 0.0], 100.0)] {
        assert!(matches!(all.retract(&x, y), Err(SumsError::NotContained { .. })), "{x:?} {y}");
    }
    assert_eq!(all, before);
    let mut one = LinearSums::new(2).unwrap();
    one.update(&[1.0, 2.0], 3.0).unwrap();
    assert!(one.retract(&[1.0, 2.5], 3.0).is_err() && one.retract(&[1.0, 2.0], 3.0).is_ok());
}

#[test]
fn a_column_that_no_longer_varies_is_left_with_nothing() {
    // The second input is 1 in the last row alone: without that row it tells nothing.
    let x = vec![vec![0.1, 0.7, -1.3, 0.4], vec![0.0, 0.0, 0.0, 1.0]];
    let y = [0.3, 1.0, -0.2, 0.9];
    let mut all = by_rows(&x, &y, 0..4);
    all.subtract(&by_rows(&x, &y, 3..4)).unwrap();
    assert_eq!(&all.scatter()[1..3], &[0.0, 0.0]);
    assert!((all.scatter()[0] - by_rows(&x, &y, 0..3).scatter()[0]).abs() < 1e-14);
}

#[test]
fn a_window_that_slides_is_its_rows() {
    let (x, y) = columns(400, 3, 7);
    let mut window = LinearSums::new(3).unwrap();
    for t in 0..400 {
        window.update(&row(&x, t), y[t]).unwrap();
        if t >= 50 {
            window.retract(&row(&x, t - 50), y[t - 50]).unwrap();
        }
    }
    // Each of 350 rows taken off leaves the rounding of the sums as they were.
    assert!(difference(&window, &by_rows(&x, &y, 350..400)) < 400.0 * 16.0 * f64::EPSILON);
    for t in 350..400 {
        window.retract(&row(&x, t), y[t]).unwrap();
    }
    assert_eq!(window, LinearSums::new(3).unwrap());
    assert!(window.retract(&row(&x, 0), y[0]).is_err());
}

#[test]
fn answers_without_rows_are_the_prior_s() {
    let posterior = Posterior::from(LinearPosterior::new(2, LinearPrior::default()).unwrap());
    assert_eq!(posterior.log_evidence().unwrap(), 0.0);
    let predictor = Predictor::new(&posterior).unwrap();
    let seen = predictor.predict(&[1.0, 1.0], 0.9).unwrap();
    assert_eq!((seen.mean, seen.variance), (0.0, f64::INFINITY));
    assert_eq!(predictor.weights(0.9).unwrap().len(), 3);
}

#[test]
fn draws_have_the_posterior_s_mean_and_deviation() {
    let (x, y) = columns(40, 2, 8);
    let mut posterior = LinearPosterior::new(2, LinearPrior::default()).unwrap();
    posterior.sums_mut().update_columns(&slices(&x), &y).unwrap();
    let predictor = Predictor::new(&Posterior::from(posterior)).unwrap();
    let weights = predictor.weights(0.9).unwrap();
    let draws: Vec<Vec<f64>> = (0..4000).map(|seed| predictor.sample(seed).unwrap()).collect();
    for (j, weight) in weights.iter().enumerate() {
        let mean = draws.iter().map(|draw| draw[j]).sum::<f64>() / 4000.0;
        let square = draws.iter().map(|draw| (draw[j] - weight.mean).powi(2)).sum::<f64>() / 4000.0;
        // Five standard errors.
        assert!((mean - weight.mean).abs() < 5.0 * weight.deviation / 4000.0_f64.sqrt(), "{j}");
        assert!((square.sqrt() / weight.deviation - 1.0).abs() < 5.0 / 8000.0_f64.sqrt(), "{j}");
    }
}

/// The effect of a coefficient is that of the regression on what other inputs leave of its column (Frisch, Waugh and Lovell), computed from the rows.
#[test]
fn an_effect_is_that_of_the_rows() {
    let n = 40;
    let row = |t: u32| [f64::from(t % 2), f64::from(t * t % 11), 1e3 + f64::from(t % 7)];
    let label = |t: u32| 2.0 * row(t)[0] - 0.5 * row(t)[1] + 0.1 * row(t)[2] + f64::from(7 * t % 13);
    let (mut whole, mut parts) =
        (LinearSums::new(3).unwrap(), [LinearSums::new(3).unwrap(), LinearSums::new(3).unwrap()]);
    for t in 0..n {
        whole.update(&row(t), label(t)).unwrap();
        parts[usize::from(t > 13)].update(&row(t), label(t)).unwrap();
    }
    // What Gram and Schmidt leave of each column after the constant and the other inputs: twice, for the digits.
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let input = |j: usize| (0..n).map(|t| row(t)[j]).collect::<Vec<f64>>();
    let mut left = [vec![1.0; n as usize], input(1), input(2), input(0), (0..n).map(label).collect()];
    for j in 1..5 {
        for k in (0..j.min(3)).chain(0..j.min(3)) {
            let (before, after) = left.split_at_mut(j);
            let share = dot(&after[0], &before[k]) / dot(&before[k], &before[k]);
            after[0].iter_mut().zip(&before[k]).for_each(|(own, before)| *own -= share * before);
        }
    }
    let [.., treated, label] = &left;
    let estimate = dot(treated, label) / dot(treated, treated);
    let squares = dot(label, label) - estimate * dot(treated, label);
    let expected = vi_models::linear::Effect::new(estimate, dot(treated, treated).recip(), squares, f64::from(n) - 4.0);
    let expected = expected.unwrap().interval(0.95, 0.3).unwrap().unwrap();
    let [mut merged, other] = parts;
    merged.merge(&other).unwrap();
    for sums in [&whole, &merged] {
        let found = sums.effect(&[1.0, 0.0, 0.0]).unwrap();
        let interval = found.interval(0.95, 0.3).unwrap().unwrap();
        // Columns of condition some 10, sums of 40 rows; squared in the scatter.
        let tolerance = 40.0 * 100.0 * 8.0 * f64::EPSILON;
        assert!((found.estimate() - estimate).abs() < tolerance * estimate.abs().max(1.0));
        assert!(
            (interval.lower - expected.lower).abs() < tolerance * 10.0
                && (interval.upper - expected.upper).abs() < tolerance * 10.0
        );
    }
    let mut few = LinearSums::new(3).unwrap();
    few.update(&row(1), 1.0).unwrap();
    for (sums, contrast) in [(&few, [1.0, 0.0, 0.0]), (&whole, [0.0; 3]), (&whole, [f64::NAN, 0.0, 0.0])] {
        assert!(sums.effect(&contrast).is_err());
    }
    assert!(whole.effect(&[1.0]).is_err());
}
