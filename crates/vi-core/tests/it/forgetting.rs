//! Forgetting against closed forms, and as identities at the ends of its settings.

use vi_core::NaturalParameters;
use vi_core::{Belief, DenseGaussian, Error, Explicit, Forget, Forgetting, GaussianLikelihood, filter};
use vi_linalg::faer::mat;

use crate::bad_input::bits;
use crate::common::{condition, difference, prior, rng, rows, view};

fn kalman(noise_variance: f64) -> Explicit<GaussianLikelihood> {
    Explicit(GaussianLikelihood::new(noise_variance).unwrap())
}

/// The belief after a stream, with forgetting before each row.
fn after(start: &DenseGaussian, forgetting: &Forgetting<DenseGaussian>, x: &[f64], y: &[f64]) -> DenseGaussian {
    let (mut belief, mut scratch) = (start.clone(), filter::Scratch::default());
    for (row, y) in x.chunks(start.dim()).zip(y) {
        forgetting.apply(&mut belief).unwrap();
        filter::step(&mut belief, &kalman(0.7), row, *y, &mut scratch).unwrap();
    }
    belief
}

/// Least squares with weight `weight(t)` on observation `t` and `prior_weight` on the prior.
fn weighted(
    prior: &DenseGaussian,
    prior_weight: f64,
    x: &[f64],
    y: &[f64],
    weight: impl Fn(usize) -> f64,
) -> DenseGaussian {
    let d = prior.dim();
    let mut natural = NaturalParameters::of(prior).unwrap();
    natural.first.iter_mut().for_each(|v| *v *= prior_weight);
    natural.second *= vi_linalg::faer::Scale(prior_weight);
    for (t, y) in y.iter().enumerate() {
        let row = &x[t * d..(t + 1) * d];
        for i in 0..d {
            natural.first[i] += weight(t) / 0.7 * y * row[i];
            for j in 0..d {
                natural.second[(i, j)] -= 0.5 * weight(t) / 0.7 * row[i] * row[j];
            }
        }
    }
    natural.to_belief().unwrap()
}

#[test]
fn fading_is_exponentially_weighted_least_squares() {
    let mut rng = rng(60);
    let (n, d, lambda) = (40_i32, 3, 0.9_f64);
    let start = prior(d, 2.0, &mut rng);
    let (x, y) = (rows(40, d, &mut rng), rows(40, 1, &mut rng));
    let found = after(&start, &Forgetting::fading(lambda).unwrap(), &x, &y);
    // Forgetting comes before each observation: the prior has faded n times, the last observation never.
    let exact = weighted(&start, lambda.powi(n), &x, &y, |t| lambda.powi(n - 1 - i32::try_from(t).unwrap()));
    // n updates and the solve in `weighted`, each relative to ε·κ.
    let tolerance = 10.0 * f64::from(n) * f64::EPSILON * condition(&exact);
    let error = difference(&found, &exact);
    assert!(error < tolerance, "{error:e} {tolerance:e}");
}

#[test]
fn towards_the_prior_fades_the_observations_alone() {
    let mut rng = rng(61);
    let (n, d, lambda) = (40_i32, 3, 0.8_f64);
    let start = prior(d, 2.0, &mut rng);
    let (x, y) = (rows(40, d, &mut rng), rows(40, 1, &mut rng));
    let found = after(&start, &Forgetting::towards(&start, lambda).unwrap(), &x, &y);
    let exact = weighted(&start, 1.0, &x, &y, |t| lambda.powi(n - 1 - i32::try_from(t).unwrap()));
    // n updates and n pairs of inversions.
    let tolerance = 30.0 * f64::from(n) * f64::EPSILON * condition(&start).max(condition(&exact));
    let error = difference(&found, &exact);
    assert!(error < tolerance, "{error:e} {tolerance:e}");
}

/// On both sides of where the columns of the prior return many at a time, with full and with left-over blocks of them.
#[test]
fn a_return_mixes_precisions_at_any_size() {
    let lambda = 0.7;
    for d in [63, 64, 65, 96, 100] {
        let mut rng = rng(70);
        let correlated = prior(d, 2.0, &mut rng);
        let diagonal = DenseGaussian::isotropic(correlated.mean(), 2.0).unwrap();
        let n = 2 * d;
        let (x, y) = (rows(n, d, &mut rng), rows(n, 1, &mut rng));
        for start in [correlated, diagonal] {
            let mut belief = start.clone();
            filter::run(&mut belief, &kalman(0.7), view(&x, d), &y, |_, _, _| {}).unwrap();
            Forgetting::towards(&start, lambda).unwrap().apply(&mut belief).unwrap();
            let exact = weighted(&start, 1.0, &x, &y, |_| lambda);
            // n updates, the return and two inversions of sums over d, for means that lie `farthest` deviations from zero.
            let farthest =
                (0..d).map(|i| start.mean()[i].abs() / exact.covariance_lower()[(i, i)].sqrt()).fold(1.0, f64::max);
            let roundings = (n + d) as f64 * f64::EPSILON;
            let tolerance = roundings * farthest * condition(&exact).max(condition(&start));
            let error = difference(&belief, &exact);
            assert!(error < tolerance, "d = {d}: {error:e} {tolerance:e}");
        }
    }
}

#[test]
fn in_one_dimension_each_strategy_is_a_line_of_algebra() {
    let start = DenseGaussian::new(&[1.0], mat![[4.0]].as_ref()).unwrap();
    let belief = DenseGaussian::new(&[3.0], mat![[0.5]].as_ref()).unwrap();
    let once = |forgetting: Forgetting<DenseGaussian>| {
        let mut belief = belief.clone();
        forgetting.apply(&mut belief).unwrap();
        (belief.mean()[0], belief.covariance()[(0, 0)])
    };
    assert_eq!(once(Forgetting::fading(0.25).unwrap()), (3.0, 2.0));
    assert_eq!(once(Forgetting::noise(&[1.5]).unwrap()), (3.0, 2.0));
    // Λ = ½·2 + ½·¼ = 9/8, Λμ = ½·6 + ½·¼ = 25/8.
    let (mean, variance) = once(Forgetting::towards(&start, 0.5).unwrap());
    // A handful of roundings in two inversions and a solve.
    assert!((mean - 25.0 / 9.0).abs() < 16.0 * f64::EPSILON * mean);
    assert!((variance - 8.0 / 9.0).abs() < 16.0 * f64::EPSILON * variance);
}

#[test]
fn noise_is_the_random_walk_s_riccati_recursion() {
    let (mut mean, mut p, q, noise) = (0.4, 2.0, 0.3, 0.7);
    let y = rows(50, 1, &mut rng(62));
    let start = DenseGaussian::new(&[mean], mat![[p]].as_ref()).unwrap();
    let found = after(&start, &Forgetting::noise(&[q]).unwrap(), &[1.0; 50], &y);
    for y in y {
        let gain = (p + q) / (p + q + noise);
        mean += gain * (y - mean);
        p = gain * noise;
    }
    // The recursion contracts, so that errors do not add up: a few roundings at the scale of the labels.
    assert!((found.mean()[0] - mean).abs() < 30.0 * f64::EPSILON * 3.0);
    assert!((found.covariance()[(0, 0)] - p).abs() < 30.0 * f64::EPSILON * p);
}

#[test]
fn nothing_forgotten_leaves_the_filter_s_bits() {
    let mut rng = rng(63);
    let d = 4;
    let start = prior(d, 2.0, &mut rng);
    let (x, y) = (rows(30, d, &mut rng), rows(30, 1, &mut rng));
    let mut plain = start.clone();
    filter::run(&mut plain, &kalman(0.7), view(&x, d), &y, |_, _, _| {}).unwrap();
    let strategies = [
        Forgetting::none(),
        Forgetting::fading(1.0).unwrap(),
        Forgetting::towards(&start, 1.0).unwrap(),
        Forgetting::noise(&[0.0; 4]).unwrap(),
    ];
    for forgetting in strategies {
        assert!(forgetting.is_none());
        assert_eq!(bits(&after(&start, &forgetting, &x, &y)), bits(&plain));
    }
    for forgetting in [
        Forgetting::fading(0.99).unwrap(),
        Forgetting::towards(&start, 0.99).unwrap(),
        Forgetting::noise(&[0.0, 1e-3, 0.0, 0.0]).unwrap(),
    ] {
        assert!(!forgetting.is_none());
        assert_ne!(bits(&after(&start, &forgetting, &x, &y)), bits(&plain));
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let start = prior(2, 1.0, &mut rng(65));
    for lambda in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
        let fading = Forgetting::<DenseGaussian>::fading(lambda).unwrap_err();
        assert!(matches!(fading, Error::Setting { name: "lambda", .. }));
        let towards = Forgetting::towards(&start, lambda).unwrap_err();
        assert!(matches!(towards, Error::Setting { name: "lambda", .. }));
    }
    let noise = |q: &[f64]| Forgetting::<DenseGaussian>::noise(q).unwrap_err();
    assert!(matches!(noise(&[]), Error::Empty { argument: "q" }));
    assert!(matches!(noise(&[0.0, f64::NAN]), Error::NonFinite { argument: "q", index: 1, .. }));
    assert!(matches!(noise(&[0.0, -1e-9]), Error::Entry { argument: "q", index: 1, value: -1e-9, .. }));
}

#[test]
fn forgetting_that_fails_leaves_the_belief() {
    let start = prior(2, 1.0, &mut rng(66));
    let wide = prior(3, 1.0, &mut rng(66));
    let refused = |forgetting: Forgetting<DenseGaussian>| {
        let mut belief = start.clone();
        let error = forgetting.apply(&mut belief).unwrap_err();
        assert_eq!(bits(&belief), bits(&start));
        error
    };
    let short = refused(Forgetting::noise(&[1.0]).unwrap());
    assert!(matches!(short, Error::Dimension { argument: "q", expected: 2, found: 1 }));
    let zeros = refused(Forgetting::noise(&[0.0; 3]).unwrap());
    assert!(matches!(zeros, Error::Dimension { argument: "q", .. }));
    let other = refused(Forgetting::towards(&wide, 0.5).unwrap());
    assert!(matches!(other, Error::Dimension { argument: "prior of the forgetting", expected: 2, found: 3 }));
    let mut held = start.clone();
    assert!(!Forgetting::fading(1e-308 / 4.0).unwrap().apply(&mut held).unwrap());
    assert_eq!(bits(&held), bits(&start));
    assert!(matches!(held.fade(1e-308 / 4.0), Err(Error::NonFinite { argument: "variance", .. })));

    let vast = DenseGaussian::new(&[0.0; 2], mat![[1.0, 0.0], [0.0, 1e308]].as_ref()).unwrap();
    let mut belief = vast.clone();
    let error = Forgetting::noise(&[1.0, 1e308]).unwrap().apply(&mut belief).unwrap_err();
    assert!(matches!(error, Error::NonFinite { argument: "variance", index: 1, .. }));
    assert_eq!(bits(&belief), bits(&vast));
}
