//! The diagonal belief against the dense one where that stays diagonal, and sparse rows against rows with zeros.

use rand::RngExt;
use vi_core::{
    Belief, BernoulliLogit, DiagonalGaussian, Error, Explicit, GaussianBelief, GaussianLikelihood, Implicit, Mixture8,
    Row, Site, SiteRule, filter,
};

use crate::block::rules;
use crate::common::{difference, labels, rng, rows, view};

fn start(d: usize, seed: u64) -> DiagonalGaussian {
    let mut rng = rng(seed);
    let mean: Vec<f64> = (0..d).map(|_| rng.random::<f64>() - 0.5).collect();
    let variances: Vec<f64> = (0..d).map(|_| 0.3 + 4.0 * rng.random::<f64>()).collect();
    DiagonalGaussian::new(&mean, &variances).unwrap()
}

fn bits(belief: &DiagonalGaussian) -> Vec<u64> {
    belief.mean().iter().chain(&belief.precisions()).map(|value| value.to_bits()).collect()
}

#[test]
fn one_step_by_hand() {
    let mut belief = DiagonalGaussian::new(&[1.0, 0.0], &[4.0, 0.5]).unwrap();
    let kalman = Explicit(GaussianLikelihood::new(0.5).unwrap());
    // a = 1, ν = 4 + 4·½ = 6, h = 2, e = (3·2)/(1 + 12).
    let info = filter::step(&mut belief, &kalman, &[1.0, -2.0], 4.0, &mut filter::Scratch::default()).unwrap();
    assert_eq!((info.projection.mean, info.projection.variance), (1.0, 6.0));
    let e = 6.0 / 13.0;
    assert!((belief.mean()[0] - (1.0 + 4.0 * e)).abs() <= 4.0 * f64::EPSILON);
    assert!((belief.mean()[1] + e).abs() <= 2.0 * f64::EPSILON);
    assert_eq!(belief.precisions(), [2.25, 10.0]);
    assert!((belief.log_det().unwrap() + 22.5_f64.ln()).abs() <= 8.0 * f64::EPSILON);
    assert_eq!(belief.variances(), [1.0 / 2.25, 0.1]);
}

#[test]
fn rows_of_one_nonzero_lose_nothing() {
    let n = 40;
    for d in [1, 5, 19] {
        let mut rng = rng(300 + d as u64);
        let mut inputs = vec![0.0; n * d];
        for t in 0..n {
            inputs[t * d + rng.random_range(0..d)] = 2.0 * rng.random::<f64>() - 1.0;
        }
        let y = labels(n, &mut rng);
        for (name, rule) in rules() {
            let mut diagonal = start(d, 7);
            let mut dense = diagonal.to_dense().unwrap();
            filter::run(&mut diagonal, &rule.as_ref(), view(&inputs, d), &y, |_, _, _| {}).unwrap();
            filter::run(&mut dense, &rule.as_ref(), view(&inputs, d), &y, |_, _, _| {}).unwrap();
            // n steps of a few roundings each on independent coordinates, no cancellation beyond 1 + hν ≤ 2 per step.
            let tolerance = 64.0 * n as f64 * f64::EPSILON;
            let error = difference(&diagonal.to_dense().unwrap(), &dense);
            assert!(error <= tolerance, "{name}, d = {d}: {error:e}");
        }
    }
}

#[test]
fn a_sparse_row_gives_the_bits_of_the_row_with_zeros() {
    for d in [1, 7, 8, 9, 100] {
        for (name, rule) in rules() {
            let mut rng = rng(310 + d as u64);
            let (mut sparse, mut dense) = (start(d, 8), start(d, 8));
            let mut scratch = filter::Scratch::default();
            for t in 0..30 {
                let indices: Vec<usize> = (0..d).filter(|_| rng.random_bool(0.2)).collect();
                let values = rows(1, indices.len(), &mut rng);
                let mut x = vec![0.0; d];
                for (&i, &value) in indices.iter().zip(&values) {
                    x[i] = value;
                }
                let y = f64::from(t % 2);
                let row = (&indices, &values);
                let a = filter::step(&mut sparse, &rule.as_ref(), row, y, &mut scratch).unwrap();
                let b = filter::step(&mut dense, &rule.as_ref(), &x, y, &mut scratch).unwrap();
                assert_eq!(a, b, "{name}");
                assert_eq!(bits(&sparse), bits(&dense), "{name}, d = {d}");
            }
        }
    }
}

/// The dense filter's precision differs by the off-diagonal part of `h·xxᵀ` alone.
#[test]
fn precisions_gain_the_diagonal_of_each_site() {
    let (n, d) = (25, 6);
    let mut rng = rng(320);
    let (inputs, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let mut belief = start(d, 9);
    let mut expected = belief.precisions();
    let rule = Implicit(BernoulliLogit(Mixture8));
    filter::run(&mut belief, &rule, view(&inputs, d), &y, |t, belief, info| {
        for i in 0..d {
            expected[i] += info.site.curvature * inputs[t * d + i].powi(2);
            // One rounding of each of the two sums' terms per step.
            let tolerance = 2.0 * (t + 1) as f64 * f64::EPSILON * expected[i];
            assert!((belief.precisions()[i] - expected[i]).abs() <= tolerance);
        }
    })
    .unwrap();
}

struct Fixed(f64);

impl SiteRule for Fixed {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        if label.is_finite() { Ok(()) } else { Err(Error::NonFinite { argument: "label", index: 0, value: label }) }
    }
    fn site(&self, _a: f64, _nu: f64, _y: f64) -> Result<Site, Error> {
        Ok(Site { slope: 0.3, curvature: self.0 })
    }
}

#[test]
fn bad_input_leaves_the_bits() {
    let refused = |rule: &dyn SiteRule, x: &[f64], y: f64, expected: fn(&Error) -> bool| {
        let mut belief = start(3, 10);
        let before = bits(&belief);
        let error = filter::step(&mut belief, &rule, x, y, &mut filter::Scratch::default()).unwrap_err();
        assert!(expected(&error), "{error:?}");
        assert_eq!(bits(&belief), before);
        let indices: Vec<usize> = (0..x.len()).collect();
        if x.len() == 3 {
            let row = (&indices, x);
            assert!(filter::step(&mut belief, &rule, row, y, &mut filter::Scratch::default()).is_err());
            assert_eq!(bits(&belief), before);
        }
    };
    let logit = Implicit(BernoulliLogit(Mixture8));
    refused(&logit, &[1.0, 2.0], 1.0, |e| matches!(e, Error::Dimension { expected: 3, found: 2, .. }));
    refused(&logit, &[1.0, 2.0, f64::NAN], 1.0, |e| matches!(e, Error::NonFinite { index: 2, .. }));
    refused(&logit, &[1.0, 2.0, 0.0], 2.0, |e| matches!(e, Error::Label { .. }));
    refused(&logit, &[1e200, 0.0, 0.0], 1.0, |e| matches!(e, Error::Overflow { .. }));
    refused(&Fixed(-10.0), &[1.0, 2.0, 0.0], 0.0, |e| matches!(e, Error::ImproperSite { .. }));
    refused(&Fixed(f64::MAX), &[0.1, 3.0, 0.0], 0.0, |e| matches!(e, Error::Overflow { quantity: "1 + hν", .. }));

    assert!(matches!(DiagonalGaussian::new(&[], &[]), Err(Error::Empty { .. })));
    assert!(matches!(DiagonalGaussian::new(&[0.0], &[1.0, 1.0]), Err(Error::Dimension { .. })));
    for bad in [0.0, -1.0, 1e-320] {
        let error = DiagonalGaussian::new(&[0.0; 2], &[1.0, bad]);
        assert!(matches!(error, Err(Error::NotPositiveDefinite { argument: "variances", pivot: 1 })), "{bad}");
    }
    assert!(matches!(DiagonalGaussian::new(&[0.0], &[f64::NAN]), Err(Error::NonFinite { argument: "variances", .. })));
    for sigma0 in [0.0, -1.0, f64::NAN, 1e-170, 1e170] {
        assert!(matches!(DiagonalGaussian::isotropic(&[0.0], sigma0), Err(Error::Setting { .. })), "{sigma0}");
    }
}

#[test]
fn sparse_rows_are_checked() {
    let new = |indices: &[usize], values: &[f64]| Row::from((indices, values)).check(5).unwrap_err();
    assert!(matches!(new(&[1, 2], &[1.0]), Error::Dimension { argument: "values", expected: 2, found: 1 }));
    assert!(matches!(new(&[1, 5], &[1.0; 2]), Error::Entry { argument: "positions", index: 1, value: 5.0, .. }));
    assert!(matches!(new(&[1, 1], &[1.0; 2]), Error::Entry { argument: "positions", index: 1, value: 1.0, .. }));
    assert!(matches!(new(&[0, 3, 2], &[1.0; 3]), Error::Entry { argument: "positions", index: 2, value: 2.0, .. }));
    assert!(matches!(new(&[0, 3], &[1.0, f64::INFINITY]), Error::NonFinite { argument: "values", index: 1, .. }));
    let mut belief = start(5, 11);
    let before = bits(&belief);
    filter::step(&mut belief, &Fixed(1.0), (&[], &[]), 0.0, &mut filter::Scratch::default()).unwrap();
    assert_eq!(bits(&belief), before);
}
