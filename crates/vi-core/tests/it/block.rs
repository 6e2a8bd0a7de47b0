//! The blocked filter is the sequential filter in another order of work.

use std::cmp::Ordering;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use vi_core::block::{self, BlockBelief, BlockScratch, BlockSettings};
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Error, Explicit, GaussianLikelihood, Implicit, Linearised, MirrorProx,
    MirrorProxPrinted, Mixture8, ProbitApproximation, QuadraticBound, SiteRule, SkipCovariance, SquareRootGaussian,
    filter,
};
use vi_linalg::faer::{Mat, MatRef, Par};

use crate::common::{condition, difference, fails_at, labels, prior, rng, rows, view};

pub(crate) fn rules() -> Vec<(&'static str, Box<dyn SiteRule>)> {
    let (probit, mixture) = (BernoulliLogit(ProbitApproximation), BernoulliLogit(Mixture8));
    vec![
        ("linear", Box::new(Explicit(GaussianLikelihood::new(0.3).unwrap()))),
        ("implicit probit", Box::new(Implicit(probit))),
        ("implicit mixture", Box::new(Implicit(mixture))),
        ("explicit", Box::new(Explicit(probit))),
        ("ekf", Box::new(Linearised::extended_kalman(probit))),
        ("quadratic", Box::new(QuadraticBound::Once)),
        ("optimal quadratic", Box::new(QuadraticBound::Optimal)),
        ("mirror-prox", Box::new(MirrorProx(mixture))),
        ("printed mirror-prox", Box::new(MirrorProxPrinted(mixture))),
        ("skip-covariance", Box::new(SkipCovariance(mixture))),
    ]
}

fn data(n: usize, d: usize, rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<f64>) {
    (rows(n, d, rng), labels(n, rng))
}

pub(crate) fn blocked<B: BlockBelief + Clone>(
    start: &B,
    rule: &dyn SiteRule,
    x: MatRef<'_, f64>,
    y: &[f64],
    b: usize,
) -> B {
    let mut belief = start.clone();
    let mut scratch = BlockScratch::new(&belief, BlockSettings::new(b).unwrap());
    let mut seen = 0;
    block::run(&mut belief, &rule, x, y, &mut scratch, Par::Seq, |first, _, steps| {
        assert_eq!(first, seen);
        seen += steps.len();
    })
    .unwrap();
    assert_eq!(seen, y.len());
    belief
}

#[test]
fn blocked_equals_sequential_for_every_rule_and_block_size() {
    for d in [1, 3, 17] {
        let mut rng = rng(40 + d as u64);
        let start = prior(d, 1.5, &mut rng);
        let (inputs, y) = data(37, d, &mut rng);
        let x = view(&inputs, d);
        for (name, rule) in rules() {
            let mut sequential = start.clone();
            let mut infos = Vec::new();
            filter::run(&mut sequential, &rule.as_ref(), x, &y, |_, _, info| infos.push(*info)).unwrap();
            for b in [1, 2, 5, 16, 37, 64] {
                let belief = blocked(&start, rule.as_ref(), x, &y, b);
                // Each of n steps rounds the projected variance; κ of the prior and the posterior's contraction.
                let tolerance = 8.0 * 37.0 * f64::EPSILON * condition(&start) * condition(&sequential);
                let error = difference(&belief, &sequential);
                assert!(error < tolerance, "{name}, d = {d}, b = {b}: {error:e} > {tolerance:e}");
            }
        }
    }
}

#[test]
fn blocks_report_what_the_sequential_filter_reports() {
    let d = 6;
    let mut rng = rng(51);
    let start = prior(d, 1.0, &mut rng);
    let (inputs, y) = data(20, d, &mut rng);
    let rule = Implicit(BernoulliLogit(Mixture8));
    let mut sequential = Vec::new();
    filter::run(&mut start.clone(), &rule, view(&inputs, d), &y, |_, _, info| sequential.push(*info)).unwrap();
    let mut blocks = Vec::new();
    let mut scratch = BlockScratch::new(&start, BlockSettings::new(8).unwrap());
    block::run(&mut start.clone(), &rule, view(&inputs, d), &y, &mut scratch, Par::Seq, |_, _, steps| {
        blocks.extend_from_slice(steps);
    })
    .unwrap();
    for (a, b) in sequential.iter().zip(&blocks) {
        assert!((a.projection.mean - b.projection.mean).abs() < 1e-12);
        assert!((a.projection.variance - b.projection.variance).abs() < 1e-12);
        assert!((a.site.slope - b.site.slope).abs() < 1e-12);
    }
}

#[test]
fn strided_rows_give_the_same_bits() {
    let d = 5;
    let mut rng = rng(52);
    let start = prior(d, 1.0, &mut rng);
    let (inputs, y) = data(12, d, &mut rng);
    let columns = view(&inputs, d).to_owned(); // column-major: rows are strided
    let rule = Explicit(BernoulliLogit(Mixture8));
    let (contiguous, strided) =
        (blocked(&start, &rule, view(&inputs, d), &y, 4), blocked(&start, &rule, columns.as_ref(), &y, 4));
    // Products may sum in another order: d terms.
    assert!(difference(&contiguous, &strided) < 100.0 * f64::EPSILON * condition(&start));
}

#[test]
fn a_bad_row_anywhere_in_a_block_is_named_and_changes_nothing() {
    let d = 3;
    let mut rng = rng(53);
    let start = prior(d, 1.0, &mut rng);
    let (inputs, y) = data(20, d, &mut rng);
    let rule = Implicit(BernoulliLogit(Mixture8));
    for row in [0, 3, 4, 10, 19] {
        let mut belief = start.clone();
        let mut scratch = BlockScratch::new(&belief, BlockSettings::new(4).unwrap());
        let mut bad = inputs.clone();
        bad[row * d + 1] = f64::NAN;
        let error =
            block::run(&mut belief, &rule, view(&bad, d), &y, &mut scratch, Par::Seq, |_, _, _| {}).unwrap_err();
        assert!(
            matches!(&error, Error::Row { row: r, source } if *r == row && matches!(**source, Error::NonFinite { .. }))
        );
        let mut wrong = y.clone();
        wrong[row] = 0.3;
        let error =
            block::run(&mut belief, &rule, view(&inputs, d), &wrong, &mut scratch, Par::Seq, |_, _, _| {}).unwrap_err();
        assert!(
            matches!(&error, Error::Row { row: r, source } if *r == row && matches!(**source, Error::Label { .. }))
        );
        assert_eq!(belief.mean(), start.mean());
        assert_eq!(belief.covariance(), start.covariance());
    }
}

#[test]
fn a_failure_in_a_later_block_restores_the_belief_of_the_start() {
    let d = 3;
    let mut rng = rng(54);
    let start = prior(d, 1.0, &mut rng);
    let (inputs, y) = data(12, d, &mut rng);
    let mut belief = start.clone();
    let mut scratch = BlockScratch::new(&belief, BlockSettings::new(5).unwrap());
    let rule = fails_at(8);
    let error = block::run(&mut belief, &rule, view(&inputs, d), &y, &mut scratch, Par::Seq, |_, _, _| {}).unwrap_err();
    assert!(matches!(&error, Error::Row { row: 8, source } if matches!(**source, Error::ImproperSite { .. })));
    assert_eq!((belief.mean(), belief.covariance()), (start.mean(), start.covariance()));
    assert!(matches!(BlockSettings::new(0), Err(Error::Setting { name: "block", .. })));
}

/// Rows of noise; the last column is of scale `scale` from row `late` on, and zero before.
fn scaled(n: usize, d: usize, scale: f64, late: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut inputs = rows(n, d, rng);
    for (t, row) in inputs.chunks_exact_mut(d).enumerate() {
        row[d - 1] *= if t < late { 0.0 } else { scale };
    }
    inputs
}

/// Checks that blocks end where the loop ends, or fail where it fails.
///
/// A block by products may differ by the 1e-6 of its variances that it allows itself, in standard deviations along a row; there are
/// a few blocks.
fn assert_blocks_are_the_loop<B: BlockBelief + Clone>(
    start: &B,
    rule: &dyn SiteRule,
    x: MatRef<'_, f64>,
    y: &[f64],
    context: &str,
) {
    let mut sequential = start.clone();
    let looped = filter::run(&mut sequential, &rule, x, y, |_, _, _| {});
    for b in [7, 32, 128] {
        let mut belief = start.clone();
        let mut scratch = BlockScratch::new(&belief, BlockSettings::new(b).unwrap());
        let done = block::run(&mut belief, &rule, x, y, &mut scratch, Par::Seq, |_, _, _| {});
        assert_eq!(done.is_err(), looped.is_err(), "{context}, b = {b}: {done:?}, {looped:?}");
        for t in 0..x.nrows() {
            let row: Vec<f64> = x.row(t).iter().copied().collect();
            let (seen, expected) = (belief.predict(&row).unwrap(), sequential.predict(&row).unwrap());
            let apart = (seen.mean - expected.mean).abs() / expected.variance.sqrt();
            assert!(apart <= 1e-5, "{context}, b = {b}, row {t}: {apart:e} standard deviations apart");
            let ratio = seen.variance / expected.variance;
            assert!((ratio - 1.0).abs() <= 1e-5, "{context}, b = {b}, row {t}: variances {ratio} apart");
        }
    }
}

#[test]
fn blocks_are_the_loop_at_every_scale_of_a_column() {
    let n = 90;
    let (linear, logit) = (Explicit(GaussianLikelihood::new(1.0).unwrap()), Implicit(BernoulliLogit(Mixture8)));
    for d in [2, 5, 48] {
        for late in [0, 50] {
            for power in 0..=9 {
                let scale = 10f64.powi(power);
                let rng = &mut rng(60 + d as u64);
                let (inputs, y) = (scaled(n, d, scale, late, rng), labels(n, rng));
                let x = view(&inputs, d);
                let context = format!("d = {d}, scale {scale:e} from row {late}");
                let dense = DenseGaussian::isotropic(&vec![0.0; d], 1.0).unwrap();
                let root = SquareRootGaussian::isotropic(&vec![0.0; d], 1.0).unwrap();
                for rule in [&linear as &dyn SiteRule, &logit] {
                    assert_blocks_are_the_loop(&root, rule, x, &y, &format!("root, {context}"));
                    assert_blocks_are_the_loop(&dense, rule, x, &y, &format!("dense, {context}"));
                }
            }
        }
    }
}

#[test]
fn blocks_are_the_loop_under_a_vague_prior_on_raw_years() {
    let (n, d) = (40_usize, 2);
    let inputs: Vec<f64> = (0..n).flat_map(|t| [1.0, 1980.0 + t as f64]).collect();
    let y: Vec<f64> = (0..n).map(|t| 0.09 * t as f64 + (t as f64 * 1.7).sin()).collect();
    for sd in [1.0, 1e2, 1e4, 1e5, 1e6] {
        let root = SquareRootGaussian::isotropic(&[0.0; 2], sd).unwrap();
        let rule = Explicit(GaussianLikelihood::new(1.0).unwrap());
        assert_blocks_are_the_loop(&root, &rule, view(&inputs, d), &y, &format!("prior sd {sd:e}"));
    }
}

/// After every step that succeeds the covariance can be factored, and so drawn from, merged and stored; one that fails changes
/// nothing.
#[test]
fn an_accepted_step_leaves_a_covariance_that_factors() {
    let kalman = |noise: f64| Explicit(GaussianLikelihood::new(noise).unwrap());
    let first = DenseGaussian::isotropic(&[0.0, 0.0], 2.0).unwrap();
    let error = filter::step(&mut first.clone(), &kalman(1.0), &[-4.5e7, 2.65e8], 1.0, &mut filter::Scratch::default());
    assert!(matches!(error, Err(Error::Unresolved { .. })), "{error:?}");
    let rng = &mut rng(70);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..600 {
        let d = rng.random_range(2..6);
        let mut belief = DenseGaussian::isotropic(&vec![0.0; d], 10f64.powf(rng.random_range(-0.5..1.0))).unwrap();
        let scale = 10f64.powf(rng.random_range(0.0..9.5));
        let along: Vec<f64> = rows(1, d, rng).iter().map(|x| scale * x).collect();
        // Rows near one line, or in all directions.
        let (near, noise) = (rng.random_bool(0.5), 10f64.powf(rng.random_range(-8.0..0.0)));
        for _ in 0..20 {
            let (size, other) = (1.0 + 0.3 * rows(1, 1, rng)[0], rows(1, d, rng));
            let row = |i: usize| if near { size * along[i] + noise * other[i] } else { scale * other[i] };
            let x: Vec<f64> = (0..d).map(row).collect();
            let before = belief.clone();
            let rule = kalman(10f64.powf(rng.random_range(-1.0..3.0)));
            if filter::step(&mut belief, &rule, &x, labels(1, rng)[0], &mut filter::Scratch::default()).is_ok() {
                accepted += 1;
                assert!(belief.cholesky().is_ok(), "d = {d}, scale {scale:e}, near {near}: {:?}", belief.covariance());
            } else {
                refused += 1;
                assert_eq!((belief.mean(), belief.covariance()), (before.mean(), before.covariance()));
            }
        }
    }
    assert!(accepted > 6000 && refused > 100, "{accepted}, {refused}");
}

/// A covariance at the end of its digits, which even a weak row can leave without a Cholesky factor: that is refused, one row or a block
/// at a time, and no later by a belief that has learned for long than by one that has just been read.
#[test]
fn a_row_that_takes_the_last_digits_is_refused() {
    let rng = &mut rng(71);
    let (mut accepted, mut refused) = (0, 0);
    for repeat in 0..600 {
        let d = rng.random_range(2..7);
        let share: f64 = 10f64.powf(rng.random_range(-16.5..-13.0));
        let entries = rows(d, d, rng);
        let root = Mat::from_fn(d, d, |i, j| match i.cmp(&j) {
            Ordering::Less => 0.0,
            Ordering::Equal if i + 1 == d => share.sqrt(),
            _ => entries[i * d + j],
        });
        let Ok(mut belief) = DenseGaussian::new(&vec![0.0; d], (&root * root.transpose()).as_ref()) else { continue };
        let rule = Explicit(GaussianLikelihood::new(1.0).unwrap());
        let mut memory = filter::Scratch::default();
        for _ in 0..40 {
            let before = belief.clone();
            let at_once = if repeat % 3 == 0 { 5 } else { 1 };
            let size = 10f64.powf(rng.random_range(-5.0..1.0));
            let x: Vec<f64> = rows(at_once, d, rng).iter().map(|x| size * x).collect();
            let y = labels(at_once, rng);
            let done = if at_once == 1 {
                let mut read = DenseGaussian::new(belief.mean(), belief.covariance().as_ref()).unwrap();
                let as_read = filter::step(&mut read, &rule, &x, y[0], &mut filter::Scratch::default());
                let done = filter::step(&mut belief, &rule, &x, y[0], &mut memory);
                assert_eq!(as_read, done, "repeat {repeat}");
                assert_eq!(read.covariance(), belief.covariance());
                done.map(drop)
            } else {
                let x = MatRef::from_row_major_slice(&x, at_once, d);
                let mut scratch = BlockScratch::new(&belief, BlockSettings::new(5).unwrap());
                block::run(&mut belief, &rule, x, &y, &mut scratch, Par::Seq, |_, _, _| {}).map(drop)
            };
            if done.is_ok() {
                accepted += 1;
                assert!(belief.cholesky().is_ok(), "repeat {repeat}, d = {d}: {:?}", belief.covariance());
            } else {
                refused += 1;
                assert_eq!((belief.mean(), belief.covariance()), (before.mean(), before.covariance()));
            }
        }
    }
    assert!(accepted > 5000 && refused > 100, "{accepted}, {refused}");
}
