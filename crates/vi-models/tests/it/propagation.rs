//! Expectation propagation of softmax regressions: exact for one row, the logistic's of two classes.

use vi_core::refine::{self, RefineInfo, RefineSettings};
use vi_core::{Belief, BernoulliLogit, DenseGaussian, Mixture8, MomentMatching, Stop};
use vi_linalg::faer::{Mat, Par, mat};
use vi_models::softmax::{Softmax, SoftmaxFit, SoftmaxRefineSettings, SoftmaxRows};

use crate::common::{difference, inputs, normal, rng};

fn tight() -> SoftmaxRefineSettings {
    SoftmaxRefineSettings { tolerance: 1e-9, max_sweeps: 200 }
}

fn propagated(model: &Softmax, prior: &DenseGaussian, x: &Mat<f64>, y: &[f64]) -> (SoftmaxFit, RefineInfo) {
    let rows = SoftmaxRows::new(x.as_ref(), y);
    assert!(model.propagates(&rows));
    let mut fit = model.first_pass(prior, rows, Par::Seq).unwrap();
    let info = model.expectation_propagation(prior, &mut fit, rows, &tight(), Par::Seq).unwrap();
    assert_eq!((info.stop, info.skipped), (Stop::Converged, 0));
    (fit, info)
}

/// `log Z`, mean and covariance of `π_class(η)·N(η)`, by a trapezoid sum over the two standard normals behind the logits.
fn dense(belief: &DenseGaussian, class: usize) -> (f64, [f64; 2], [f64; 3]) {
    let covariance = belief.covariance();
    let l = covariance[(0, 0)].sqrt();
    let below = covariance[(1, 0)] / l;
    let right = (covariance[(1, 1)] - below * below).sqrt();
    let (steps, reach) = (900, 9.0);
    let width = 2.0 * reach / f64::from(steps);
    let mut sums = [0.0; 6];
    for i in 0..=steps {
        for j in 0..=steps {
            let (a, b) = (width * f64::from(i) - reach, width * f64::from(j) - reach);
            let eta = [0.0, belief.mean()[0] + l * a, belief.mean()[1] + below * a + right * b];
            let largest = eta.iter().copied().fold(0.0, f64::max);
            let total: f64 = eta.iter().map(|eta| (eta - largest).exp()).sum();
            let mass = (eta[class] - largest - 0.5 * (a * a + b * b)).exp() / total;
            let terms = [1.0, eta[1], eta[2], eta[1] * eta[1], eta[1] * eta[2], eta[2] * eta[2]];
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += mass * term);
        }
    }
    let [z, first, second, one, both, two] = sums;
    let (first, second) = (first / z, second / z);
    let log = (z * width * width / std::f64::consts::TAU).ln();
    (log, [first, second], [one / z - first * first, both / z - first * second, two / z - second * second])
}

#[test]
fn of_one_row_it_is_exact() {
    let model = Softmax::new(3).unwrap();
    let x = mat![[1.0]];
    for mean in [[0.0, 0.0], [1.5, -2.0], [-6.0, 3.0], [9.0, 4.0]] {
        for covariance in [[0.04, 0.01, 0.09], [2.0, 1.0, 2.0], [60.0, -20.0, 30.0], [1500.0, 700.0, 900.0]] {
            let [one, both, two] = covariance;
            let prior = DenseGaussian::new(&mean, mat![[one, both], [both, two]].as_ref()).unwrap();
            for class in 0..3 {
                let (found, info) = propagated(&model, &prior, &x, &[class as f64]);
                let (log, expected, spread) = dense(&prior, class);
                let got = found.belief.covariance();
                let context = format!("{mean:?} {covariance:?} {class}: {found:?} {expected:?} {spread:?} {log}");
                // The mixture's 2e-8 beside a probability of 0.01 at least, and the site's way through a precision.
                let tolerance = 2e-5;
                assert!((info.bounds[0] - log).abs() < tolerance * (1.0 + log.abs()), "{context}");
                for (k, (i, j)) in [(0, 0), (1, 0), (1, 1)].into_iter().enumerate() {
                    let scale = (spread[2 * i] * spread[2 * j]).sqrt();
                    assert!((got[(i, j)] - spread[k]).abs() < tolerance * scale, "{context}");
                }
                for i in 0..2 {
                    let off = (found.belief.mean()[i] - expected[i]).abs();
                    assert!(off < tolerance * spread[2 * i].sqrt(), "{context}");
                }
            }
        }
    }
}

#[test]
fn two_classes_are_the_logistic() {
    let mut rng = rng(61);
    let x = inputs(40, 3, &mut rng);
    let y: Vec<f64> = (0..40).map(|t| f64::from(u8::from(x[(t, 1)] + 0.4 * normal(&mut rng) > 0.0))).collect();
    let logit = BernoulliLogit(Mixture8);
    for scale in [0.5, 8.0] {
        let prior = DenseGaussian::isotropic(&[0.1, 0.0, -0.2], scale).unwrap();
        let (found, info) = propagated(&Softmax::new(2).unwrap(), &prior, &x, &y);
        let mut expected = refine::first_pass(&prior, &MomentMatching(logit), x.as_ref(), &y, Par::Seq).unwrap();
        let settings = RefineSettings { tolerance: 1e-9, max_sweeps: 200, block: None };
        let told = refine::expectation_propagation(&prior, &mut expected, x.as_ref(), &y, &logit, &settings, Par::Seq)
            .unwrap();
        // The root of what the last sweep moved.
        assert!(difference(&found.belief, &expected.belief) < 1e-4);
        assert!((info.bounds[0] - told.bounds[0]).abs() < 1e-7);
    }
}

#[test]
fn which_class_is_the_reference_does_not_matter() {
    let mut rng = rng(62);
    let (d, n) = (2, 30);
    let x = inputs(n, d, &mut rng);
    let y: Vec<f64> =
        (0..n).map(|t| if x[(t, 0)] > 0.4 { 2.0 } else { f64::from(u8::from(x[(t, 1)] > 0.0)) }).collect();
    let turned: Vec<f64> = y.iter().map(|y| (y + 1.0) % 3.0).collect();
    let model = Softmax::new(3).unwrap();
    let prior = model.prior(d, 4.0).unwrap();
    let (found, info) = propagated(&model, &prior, &x, &y);
    let (other, told) = propagated(&model, &prior, &x, &turned);
    assert!((info.bounds[0] - told.bounds[0]).abs() < 1e-6, "{:?} {:?}", info.bounds, told.bounds);
    // Weights relative to class 0 from those relative to what was class 2, called 0 now: classes 0, 1 are 1, 2.
    let (mean, seen) = (found.belief.mean(), other.belief.mean());
    for j in 0..d {
        let deviation = found.belief.covariance()[(j, j)].sqrt();
        assert!((mean[j] - (seen[d + j] - seen[j])).abs() < 1e-3 * deviation);
        assert!((mean[d + j] + seen[j]).abs() < 1e-3 * deviation);
    }
}

#[test]
fn rows_without_tilted_moments_are_refused() {
    let x = mat![[1.0], [0.5]];
    let (three, four) = (Softmax::new(3).unwrap(), Softmax::new(4).unwrap());
    let (plain, halves) = (SoftmaxRows::new(x.as_ref(), &[0.0, 2.0]), [0.5, 1.0]);
    for (model, rows) in [(&three, plain.with_weights(&halves)), (&four, plain)] {
        let prior = model.prior(1, 1.0).unwrap();
        let mut fit = model.first_pass(&prior, rows, Par::Seq).unwrap();
        assert!(!model.propagates(&rows));
        assert!(model.expectation_propagation(&prior, &mut fit, rows, &tight(), Par::Seq).is_err());
    }
}
