//! The blocked filter is the sequential filter in another order of work.

use rand_chacha::ChaCha8Rng;
use vi_core::block::{self, BlockBelief, BlockScratch, BlockSettings};
use vi_core::{
    Belief, BernoulliLogit, Error, Explicit, GaussianLikelihood, Implicit, Linearised, MirrorProx, MirrorProxPrinted,
    Mixture8, Probit, QuadraticBound, SiteRule, SkipCovariance, filter,
};
use vi_linalg::faer::{MatRef, Par};

use crate::common::{condition, difference, labels, prior, rng, rows, view};

pub(crate) fn rules() -> Vec<(&'static str, Box<dyn SiteRule>)> {
    let (probit, mixture) = (BernoulliLogit(Probit), BernoulliLogit(Mixture8));
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

/// Sites that leave no Gaussian at one row of the pass.
struct FailsAt(std::cell::Cell<usize>, usize);

impl SiteRule for FailsAt {
    fn check_label(&self, _label: f64) -> Result<(), Error> {
        Ok(())
    }
    fn site(&self, _a: f64, _nu: f64, _y: f64) -> Result<vi_core::Site, Error> {
        let turn = self.0.replace(self.0.get() + 1);
        Ok(vi_core::Site { slope: 0.1, curvature: if turn == self.1 { -1e9 } else { 0.2 } })
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
    let rule = FailsAt(std::cell::Cell::new(0), 8);
    let error = block::run(&mut belief, &rule, view(&inputs, d), &y, &mut scratch, Par::Seq, |_, _, _| {}).unwrap_err();
    assert!(matches!(&error, Error::Row { row: 8, source } if matches!(**source, Error::ImproperSite { .. })));
    assert_eq!((belief.mean(), belief.covariance()), (start.mean(), start.covariance()));
    assert!(matches!(BlockSettings::new(0), Err(Error::Setting { name: "block", .. })));
}
