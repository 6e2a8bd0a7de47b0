//! Generalised linear models: one pass and its merge, passes to the optimum.

use vi_core::batch::{BatchSettings, Search, optimum};
use vi_core::special::sigmoid;
use vi_core::{Belief, BernoulliLogit, DenseGaussian, Mixture8, Stop};
use vi_linalg::faer::{Mat, Par};
use vi_models::likelihood::{BernoulliProbit, Poisson};
use vi_sums::{At, Family, GlmPosterior, GlmPrior, OnePass, PassSums, Posterior, Predictor, SumsError};

use crate::common::{columns, distance, row, slices};

fn families() -> [Family; 4] {
    [Family::Logistic, Family::Probit, Family::Poisson, Family::negative_binomial(2.0).unwrap()]
}

/// Rows with labels that every family takes.
fn classes(n: usize, d: usize, seed: u64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let (x, y) = columns(n, d, seed);
    let labels = y.into_iter().map(|y| f64::from(u8::from(y > 0.7))).collect();
    (x, labels)
}

fn one_pass(family: Family, prior: GlmPrior, x: &[Vec<f64>], y: &[f64], rows: std::ops::Range<usize>) -> OnePass {
    let mut fold = OnePass::new(family, prior, x.len()).unwrap();
    for t in rows {
        fold.update(&row(x, t), y[t]).unwrap();
    }
    fold
}

#[test]
fn one_part_alone_comes_back() {
    let (x, y) = classes(80, 3, 11);
    for family in families() {
        let fold = one_pass(family, GlmPrior::default(), &x, &y, 0..80);
        let posterior = fold.posterior().unwrap();
        let belief = posterior.belief().unwrap();
        // Two inversions of a matrix whose condition is that of prior and rows, some 10³.
        assert!(distance(fold.belief(), &belief) < 1e3 * 16.0 * f64::EPSILON, "{family:?}");
        assert_eq!((posterior.rows(), posterior.runs()), (80, 1));
    }
}

#[test]
fn a_merge_is_a_sum_that_can_be_taken_apart() {
    let (x, y) = classes(90, 2, 12);
    for family in families() {
        let part = |rows| one_pass(family, GlmPrior::default(), &x, &y, rows).posterior().unwrap();
        let parts = [part(0..30), part(30..70), part(70..90)];
        let mut merged = parts[0].clone();
        merged.merge(&parts[1]).unwrap();
        merged.merge(&parts[2]).unwrap();
        assert_eq!((merged.rows(), merged.runs()), (90, 3));
        let mut other = parts[2].clone();
        other.merge(&parts[0]).unwrap();
        other.merge(&parts[1]).unwrap();
        assert!(distance(&merged.belief().unwrap(), &other.belief().unwrap()) < 1e-12);
        merged.subtract(&parts[1]).unwrap();
        let mut rest = parts[0].clone();
        rest.merge(&parts[2]).unwrap();
        assert!(distance(&merged.belief().unwrap(), &rest.belief().unwrap()) < 1e-12);
        assert!((merged.log_evidence().unwrap() - rest.log_evidence().unwrap()).abs() < 1e-10);
        merged.subtract(&parts[0]).unwrap();
        merged.subtract(&parts[2]).unwrap();
        assert_eq!((merged.rows(), merged.log_evidence().unwrap()), (0, 0.0));
        let before = merged.clone();
        assert!(matches!(merged.subtract(&parts[0]), Err(SumsError::NotContained { .. })));
        assert_eq!(merged, before);
    }
}

#[test]
fn the_evidence_of_a_merge_is_near_the_integral() {
    // One weight, no intercept: the evidence by a fine sum over the weight.
    let (mut x, y) = classes(30, 1, 13);
    // Rows that tell little: their factors are all but Gaussian, and what is left is the arithmetic of the merge.
    for value in &mut x[0] {
        *value *= 0.1;
    }
    let prior = GlmPrior { scale: 1.0, intercept: 0.0 };
    let step = 1e-3;
    let density = |w: f64| {
        let log: f64 = (0..30).map(|t| sigmoid(if y[t] > 0.5 { w * x[0][t] } else { -w * x[0][t] }).ln()).sum();
        (log - 0.5 * w * w).exp() / std::f64::consts::TAU.sqrt()
    };
    let truth = ((-8000..=8000).map(|i| step * density(f64::from(i) * step)).sum::<f64>()).ln();
    let part = |rows| one_pass(Family::Logistic, prior, &x, &y, rows).posterior().unwrap();
    let mut merged = part(0..15);
    merged.merge(&part(15..30)).unwrap();
    for found in [part(0..30).log_evidence().unwrap(), merged.log_evidence().unwrap()] {
        assert!((found - truth).abs() < 1e-3, "{found} {truth}");
    }
}

#[test]
fn passes_over_any_parts_reach_the_optimum_of_one_machine() {
    let d = 4;
    let (x, y) = classes(300, d, 14);
    let prior = GlmPrior { scale: 3.0, intercept: 5.0 };
    let start = prior.belief(d).unwrap();
    let design = Mat::from_fn(300, d + 1, |t, j| if j == 0 { 1.0 } else { x[j - 1][t] });
    let settings = BatchSettings::default();
    for family in families() {
        let (direct, told) = match family {
            Family::Logistic => {
                optimum(&start, &start, design.as_ref(), &y, &BernoulliLogit(Mixture8), &settings, Par::Seq)
            }
            Family::Probit => optimum(&start, &start, design.as_ref(), &y, &BernoulliProbit, &settings, Par::Seq),
            Family::Poisson => optimum(&start, &start, design.as_ref(), &y, &Poisson::default(), &settings, Par::Seq),
            Family::NegativeBinomial(counts) => {
                optimum(&start, &start, design.as_ref(), &y, &counts, &settings, Par::Seq)
            }
            _ => unreachable!(),
        }
        .unwrap();
        for parts in [1, 7] {
            let mut search = Search::new(&start, &start, &settings).unwrap();
            while let Some(q) = search.wanted() {
                let sent = At::new(family, prior, q.clone()).unwrap();
                let at = At::decode(sent.record()).unwrap();
                let mut sums = PassSums::new(&at);
                for part in 0..parts {
                    let range = part * 300 / parts..(part + 1) * 300 / parts;
                    let own: Vec<&[f64]> = x.iter().map(|column| &column[range.clone()]).collect();
                    let mut found = PassSums::new(&at);
                    found.update_columns(&at, &own, &y[range]).unwrap();
                    sums.merge(&PassSums::decode(&found.encode().unwrap()).unwrap()).unwrap();
                }
                search.tell(sums.statistics(&at).unwrap()).unwrap();
            }
            let (best, info) = search.finish();
            assert_eq!(info.stop, Stop::Converged);
            // Both stop where a full step is below 1e-9 standard deviations.
            assert!(distance(&direct, &best) < 1e-8, "{family:?} {parts}");
            let posterior = GlmPosterior::of_belief(family, prior, &best, info.bound(), (300, 0)).unwrap();
            assert!((posterior.log_evidence().unwrap() - told.bound()).abs() < 1e-9 * told.bound().abs());
        }
    }
}

#[test]
fn predictions_are_those_of_the_family() {
    let (x, y) = classes(100, 2, 15);
    for family in families() {
        let posterior = one_pass(family, GlmPrior::default(), &x, &y, 0..100).posterior().unwrap();
        let belief = posterior.belief().unwrap();
        let predictor = Predictor::new(&Posterior::from(posterior)).unwrap();
        for new in [[0.0, 0.0], [1.0, -0.5]] {
            let seen = predictor.predict(&new, 0.9).unwrap();
            let along = belief.predict(&[1.0, new[0], new[1]]).unwrap();
            // The trapezoid rule against a Gaussian, far finer than its tails ask for.
            let (mut mean, mut square) = (0.0, 0.0);
            for i in -1000..=1000 {
                let z = f64::from(i) * 0.01;
                let weight = 0.01 * vi_core::special::normal_density(z);
                let t = along.mean + along.variance.sqrt() * z;
                let p = match family {
                    Family::Logistic => sigmoid(t),
                    Family::Probit => vi_core::special::normal_cdf(t),
                    _ => t.exp(),
                };
                mean += weight * p;
                square += weight * p * p;
            }
            let variance = match family {
                Family::Logistic | Family::Probit => square - mean * mean,
                Family::NegativeBinomial(counts) => mean + square / counts.size() + square - mean * mean,
                _ => mean + square - mean * mean,
            };
            // The mixture of probits is off by 2.4e-8 in a variance.
            assert!((seen.mean - mean).abs() < 1e-8 * (1.0 + mean), "{family:?} {} {mean}", seen.mean);
            assert!(
                (seen.variance - variance).abs() < 5e-8 * (1.0 + square),
                "{family:?} {} {variance}",
                seen.variance
            );
            assert!(seen.lower <= seen.mean && seen.mean <= seen.upper);
        }
        let weights = predictor.weights(0.9).unwrap();
        assert_eq!((weights.len(), weights[0].mean), (3, belief.mean()[0]));
        assert_eq!(predictor.sample(3).unwrap(), predictor.sample(3).unwrap());
        assert_ne!(predictor.sample(3).unwrap(), predictor.sample(4).unwrap());
    }
}

#[test]
fn a_row_that_cannot_be_learned_changes_nothing() {
    let (x, y) = classes(20, 2, 17);
    let mut fold = one_pass(Family::Logistic, GlmPrior::default(), &x, &y, 0..20);
    let before = fold.posterior().unwrap();
    assert!(fold.update(&[1.0], 1.0).is_err());
    assert!(fold.update(&[1.0, f64::NAN], 1.0).is_err());
    assert!(fold.update(&[1.0, 2.0], 0.5).is_err());
    assert_eq!(fold.posterior().unwrap(), before);

    let at = At::belief(Family::Logistic, GlmPrior::default(), fold.belief()).unwrap();
    let mut sums = PassSums::new(&at);
    sums.update_columns(&at, &slices(&x), &y).unwrap();
    let before = sums.clone();
    let mut labels = y.clone();
    labels[19] = 2.0;
    let error = sums.update_columns(&at, &slices(&x), &labels).unwrap_err();
    assert!(error.to_string().starts_with("observation 19"), "{error}");
    assert_eq!(sums, before);
}

/// The optimum of the rows, by passes.
fn best(prior: GlmPrior, x: &[Vec<f64>], y: &[f64]) -> (GlmPosterior, f64) {
    let start = prior.belief(x.len()).unwrap();
    let mut search = Search::new(&start, &start, &BatchSettings::default()).unwrap();
    while let Some(q) = search.wanted() {
        let at = At::new(Family::Logistic, prior, q.clone()).unwrap();
        let mut sums = PassSums::new(&at);
        sums.update_columns(&at, &slices(x), y).unwrap();
        search.tell(sums.statistics(&at).unwrap()).unwrap();
    }
    let (belief, info) = search.finish();
    let rows = (y.len() as u64, 0);
    (GlmPosterior::of_belief(Family::Logistic, prior, &belief, info.bound(), rows).unwrap(), info.bound())
}

/// The factors of some rows at the optimum of all.
fn factors(prior: GlmPrior, belief: &DenseGaussian, x: &[Vec<f64>], y: &[f64]) -> GlmPosterior {
    let at = At::belief(Family::Logistic, prior, belief).unwrap();
    let mut sums = PassSums::new(&at);
    sums.update_columns(&at, &slices(x), y).unwrap();
    sums.factors(&at).unwrap()
}

#[test]
fn the_factors_of_all_rows_are_the_optimum() {
    let (x, y) = classes(200, 3, 18);
    let prior = GlmPrior { scale: 2.0, intercept: 3.0 };
    let (posterior, bound) = best(prior, &x, &y);
    let belief = posterior.belief().unwrap();
    let again = factors(prior, &belief, &x, &y);
    // The search stops where a full step, which is what the factors are, is below 1e-9.
    assert!(distance(&belief, &again.belief().unwrap()) < 1e-8);
    assert!((again.log_evidence().unwrap() - bound).abs() < 1e-8 * bound.abs());
}

#[test]
fn forgotten_rows_leave_a_share_of_what_they_told_and_a_sweep_a_share_of_that() {
    let (x, y) = classes(400, 3, 19);
    let prior = GlmPrior { scale: 2.0, intercept: 3.0 };
    let (posterior, _) = best(prior, &x, &y);
    let belief = posterior.belief().unwrap();
    let part = |rows: std::ops::Range<usize>| -> (Vec<Vec<f64>>, Vec<f64>) {
        (x.iter().map(|column| column[rows.clone()].to_vec()).collect(), y[rows].to_vec())
    };
    for forgotten in [1, 8, 40] {
        let (own, labels) = part(0..forgotten);
        let (rest, others) = part(forgotten..400);
        let truth = best(prior, &rest, &others).0.belief().unwrap();
        let mut left = posterior.clone();
        left.subtract(&factors(prior, &belief, &own, &labels)).unwrap();
        let left = left.belief().unwrap();
        let swept = factors(prior, &left, &rest, &others).belief().unwrap();
        let (kept, subtracted, repaired) =
            (distance(&truth, &belief), distance(&truth, &left), distance(&truth, &swept));
        // The other rows' factors have not moved: some quarter of the way is left, and of that a quarter after a sweep over them.
        assert!(subtracted < 0.5 * kept && repaired < 0.5 * subtracted, "{forgotten}: {kept} {subtracted} {repaired}");
    }
}
