//! Sites of either sign, rows that wait, rules and fading on the low-rank belief, each against a dense twin.

use vi_core::block::{self, BlockScratch, BlockSettings};
use vi_core::{
    AdaptiveFading, Belief, BernoulliLogit, DenseGaussian, DiagonalGaussian, Exact, Explicit, GaussianBelief,
    GaussianLikelihood, Implicit, Linearised, LowRankGaussian, LowRankSettings, MirrorProx, MirrorProxPrinted,
    Mixture8, MomentMatching, QuadraticBound, SiteRule, SkipCovariance, filter,
};
use vi_linalg::faer::{Mat, MatRef, Par, Side};

use crate::common::{CURVED, difference, labels, rng, rows, view};

/// A few hundred roundings of numbers whose condition is below 1e3.
const ROUNDING: f64 = 1e-11;

fn diagonal(d: usize) -> (Vec<f64>, Vec<f64>) {
    ((0..d).map(|i| 0.1 * i as f64 - 0.2).collect(), (0..d).map(|i| 0.6 + 0.2 * i as f64).collect())
}

fn factor(d: usize, p: usize) -> Mat<f64> {
    Mat::from_fn(d, p, |i, j| ((2 * i + 7 * j) as f64).cos())
}

/// `Ψ + WWᵀ + XHXᵀ`.
fn target(psi: &[f64], w: &Mat<f64>, x: MatRef<'_, f64>, h: &[f64]) -> Mat<f64> {
    let mut s = w * w.transpose();
    for (i, psi) in psi.iter().enumerate() {
        s[(i, i)] += psi;
    }
    for (row, h) in x.row_iter().zip(h) {
        s += row.transpose() * row * *h;
    }
    s
}

fn dense(mean: &[f64], precision: &Mat<f64>) -> DenseGaussian {
    let covariance = vi_linalg::Cholesky::new(precision.as_ref()).unwrap().inverse();
    DenseGaussian::new(mean, covariance.as_ref()).unwrap()
}

fn off(found: &LowRankGaussian, expected: &Mat<f64>) -> f64 {
    let found = found.precision_lower(Par::Seq);
    let worst = (0..expected.ncols()).flat_map(|j| (j..expected.nrows()).map(move |i| (i, j)));
    worst.map(|at| (found[at] - expected[at]).abs()).fold(0.0, f64::max) / expected.norm_max()
}

/// A row of either sign in the one-loop form: the EM step (20)-(21) on the dense matrix, and the exact mean.
#[test]
fn one_loop_is_an_em_step_for_either_sign() {
    let (d, p) = (9, 3);
    let ((mean, psi), w) = (diagonal(d), factor(d, p));
    let x = rows(1, d, &mut rng(1));
    for h in [0.8, -0.05] {
        let form = LowRankSettings::one_loop(p).unwrap();
        let mut belief = LowRankGaussian::from_precision(&mean, w.as_ref(), &psi, form).unwrap();
        let mut exact = dense(&mean, &target(&psi, &w, view(&x, d), &[]));
        belief.step(&CURVED, &x, h, Par::Seq).unwrap();
        filter::step(&mut exact, &CURVED, &x, h, &mut filter::Scratch::default()).unwrap();
        for (found, expected) in belief.mean().iter().zip(exact.mean()) {
            assert!((found - expected).abs() < ROUNDING, "h = {h}");
        }

        let s = target(&psi, &w, view(&x, d), &[h]);
        let a = Mat::from_fn(d, p, |i, j| w[(i, j)] / psi[i]);
        let v = &s * &a;
        let m = Mat::<f64>::identity(p, p) + w.transpose() * &a;
        let inner = vi_linalg::Cholesky::new((&m + a.transpose() * &v).as_ref()).unwrap().inverse();
        let next = &v * &inner * &m;
        let taken = &v * &inner * v.transpose();
        let next_psi: Vec<f64> = (0..d).map(|i| s[(i, i)] - taken[(i, i)]).collect();
        let far = off(&belief, &target(&next_psi, &next, view(&[], d), &[]));
        assert!(far < 1e-13, "h = {h}: {far:e}");
    }
}

/// The spectral start alone, with curvatures of both signs: the leading eigenvectors of the whitened change, and what the
/// diagonal lacks.
#[test]
fn the_spectral_start_is_the_dense_one_for_either_sign() {
    let (d, p) = (9, 2);
    let ((mean, psi), w) = (diagonal(d), factor(d, p));
    let h = [0.9, -0.02, 0.4, -0.01, 1.3];
    let x = rows(h.len(), d, &mut rng(2));
    let form = LowRankSettings::blocked(p).unwrap().with_block(h.len()).unwrap().with_inner_loops(0).unwrap();
    let mut belief = LowRankGaussian::from_precision(&mean, w.as_ref(), &psi, form).unwrap();
    belief.run(&CURVED, view(&x, d), &h, Par::Seq, |_, _, _| {}).unwrap();
    assert_eq!(belief.waiting(), 0);

    let s = target(&psi, &w, view(&x, d), &h);
    let whitened =
        Mat::from_fn(d, d, |i, j| (s[(i, j)] - if i == j { psi[i] } else { 0.0 }) / (psi[i] * psi[j]).sqrt());
    let eigen = whitened.self_adjoint_eigen(Side::Lower).unwrap();
    let first = Mat::from_fn(d, p, |i, j| eigen.U()[(i, d - 1 - j)] * (eigen.S()[d - 1 - j] * psi[i]).sqrt());
    let first_psi: Vec<f64> = (0..d).map(|i| s[(i, i)] - first.row(i).squared_norm_l2()).collect();
    let far = off(&belief, &target(&first_psi, &first, view(&[], d), &[]));
    assert!(far < 1e-12, "{far:e}");
}

/// Blocks of the generic pass see the rows that already wait, of either sign.
#[test]
fn blocks_see_the_rows_that_wait() {
    let (d, n) = (8, 20);
    let mut rng = rng(3);
    let (x, (mean, psi)) = (rows(n, d, &mut rng), diagonal(d));
    let y: Vec<f64> = (0..n).map(|t| if t % 3 == 1 { -0.01 } else { 0.3 }).collect();
    let variances: Vec<f64> = psi.iter().map(|psi| 1.0 / psi).collect();
    let mut exact = DiagonalGaussian::new(&mean, &variances).unwrap().to_dense().unwrap();
    filter::run(&mut exact, &CURVED, view(&x, d), &y, |_, _, _| {}).unwrap();
    let form = LowRankSettings::blocked(2).unwrap();
    let mut belief = LowRankGaussian::new(&mean, &variances, form).unwrap();
    for t in 0..4 {
        belief.step(&CURVED, &x[d * t..d * (t + 1)], y[t], Par::Seq).unwrap();
    }
    let mut scratch = BlockScratch::new(&belief, BlockSettings::new(5).unwrap());
    let rest = view(&x, d).subrows(4, n - 4);
    block::run(&mut belief, &CURVED, rest, &y[4..], &mut scratch, Par::Seq, |_, _, _| {}).unwrap();
    assert_eq!(belief.waiting(), n);
    let far = difference(&belief.to_dense().unwrap(), &exact);
    assert!(far < ROUNDING, "{far:e}");
}

/// Every rule of one number on the low-rank belief, with rows waiting and projected where the rank loses nothing.
#[test]
fn every_rule_is_the_dense_filters() {
    let logit = BernoulliLogit(Mixture8);
    let rules: [(&str, &dyn SiteRule); 10] = [
        ("explicit", &Explicit(logit)),
        ("implicit", &Implicit(logit)),
        ("implicit, exact", &Implicit(BernoulliLogit(Exact))),
        ("linearised", &Linearised::extended_kalman(logit)),
        ("moment matching", &MomentMatching(BernoulliLogit(Exact))),
        ("quadratic bound", &QuadraticBound::Once),
        ("optimal bound", &QuadraticBound::Optimal),
        ("mirror-prox", &MirrorProx(logit)),
        ("mirror-prox, printed", &MirrorProxPrinted(logit)),
        ("skip covariance", &SkipCovariance(logit)),
    ];
    let (d, n) = (5, 23);
    let mut rng = rng(4);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    for (name, rule) in rules {
        let mut exact = DenseGaussian::isotropic(&[0.1; 5], 1.5).unwrap();
        filter::run(&mut exact, &rule, view(&x, d), &y, |_, _, _| {}).unwrap();
        for form in [LowRankSettings::blocked(1).unwrap(), LowRankSettings::blocked(d).unwrap().with_block(7).unwrap()]
        {
            let mut belief = LowRankGaussian::isotropic(&[0.1; 5], 1.5, form).unwrap();
            belief.run(&rule, view(&x, d), &y, Par::Seq, |_, _, _| {}).unwrap();
            let far = difference(&belief.to_dense().unwrap(), &exact);
            assert!(far < ROUNDING, "{name}, {form:?}: {far:e}");
        }
    }
}

/// `η = (mean u − 1)/mean(hν₀) − 1` with both means by plain sums, at every step of a stream whose errors are too large.
#[test]
fn adaptive_fading_is_its_formula() {
    let mut rng = rng(5);
    let noise = rows(1, 60, &mut rng);
    let (memory, largest) = (1000.0, 50.0);
    let mut fading = AdaptiveFading::new(memory, largest).unwrap();
    let rule = Explicit(GaussianLikelihood::new(0.5).unwrap());
    let mut belief = DenseGaussian::isotropic(&[0.0], 1.0).unwrap();
    let (mut innovations, mut uncertainties, mut between) = (Vec::new(), Vec::new(), 0);
    for (t, noise) in noise.iter().enumerate() {
        let eta = fading.eta();
        fading.apply(&mut belief).unwrap();
        let y = 0.3 * t as f64 + 0.7 * noise;
        let step = filter::step(&mut belief, &rule, &[1.0], y, &mut filter::Scratch::default()).unwrap();
        fading.observe(&step);
        let (g, h) = (step.site.slope, step.site.curvature);
        innovations.push(g * g / h);
        uncertainties.push(h * step.projection.variance / (1.0 + eta));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let expected = (mean(&innovations) - 1.0) / mean(&uncertainties) - 1.0;
        between += usize::from(expected > 0.0 && expected < largest);
        let expected = expected.clamp(0.0, largest);
        // The means are updated one by one: a rounding each.
        let rounding = 8.0 * (t + 1) as f64 * f64::EPSILON * (2.0 + expected);
        assert!((fading.eta() - expected).abs() <= rounding, "{t}: {} {expected}", fading.eta());
    }
    assert!(between > 30, "{between}");
}
