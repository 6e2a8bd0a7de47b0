//! Derivatives by differences, exact cases, and sampled steps against closed forms.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::faer::{Mat, MatMut, MatRef, Par, mat};

use super::expectations::root;
use super::*;
use crate::belief::{Belief, GaussianBelief};
use crate::papers::black_box::{self, Gradient, Hessian, LogLikelihood, Nodes, Order2};
use crate::{
    BernoulliLogit, DenseGaussian, Error, Exact, Explicit, GaussianLikelihood, GlmPosterior, Implicit, LowRankGaussian,
    LowRankSettings, MirrorProx, Mixture8, SiteRule, SkipCovariance, filter,
};

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn normal(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| StandardNormal.sample(rng)).collect()
}

/// Central differences at step `ε^⅓`, off by a third derivative times `ε^⅔` and rounding of as much; 100 for the derivatives
/// of functions and inputs of order one to a few.
fn difference_tolerance() -> f64 {
    100.0 * f64::EPSILON.powf(2.0 / 3.0)
}

/// The gradient of `f` by central differences.
fn differences(f: impl Fn(&[f64]) -> f64, at: &[f64]) -> Vec<f64> {
    let step = f64::EPSILON.cbrt();
    (0..at.len())
        .map(|i| {
            let (mut up, mut down) = (at.to_vec(), at.to_vec());
            up[i] += step;
            down[i] -= step;
            (f(&up) - f(&down)) / (up[i] - down[i])
        })
        .collect()
}

fn assert_pull_back(map: &impl NaturalMap, seed: u64) {
    let rng = &mut rng(seed);
    let (d, m) = (map.parameters(), map.outputs());
    let (theta, x) = (normal(rng, d), normal(rng, map.inputs()));
    let v = Mat::from_fn(m, m + 2, |_, _| StandardNormal.sample(rng));
    let mut out = Mat::from_fn(d, m + 2, |_, _| f64::NAN);
    map.pull_back(&theta, &x, v.as_ref(), out.as_mut());
    for j in 0..m + 2 {
        let along = |theta: &[f64]| {
            let mut eta = vec![f64::NAN; m];
            map.evaluate(theta, &x, &mut eta);
            (0..m).map(|c| v[(c, j)] * eta[c]).sum()
        };
        for (i, expected) in differences(along, &theta).into_iter().enumerate() {
            assert!((out[(i, j)] - expected).abs() <= difference_tolerance(), "({i}, {j}): {} {expected}", out[(i, j)]);
        }
    }
}

#[test]
fn pulled_back_vectors_are_gradients() {
    assert_pull_back(&LinearMap::new(1, 1).unwrap(), 1);
    assert_pull_back(&LinearMap::new(4, 3).unwrap(), 2);
    assert_pull_back(&OneHiddenLayer::new(1, 1, 1).unwrap(), 3);
    assert_pull_back(&OneHiddenLayer::new(3, 5, 2).unwrap(), 4);
}

fn assert_family(family: &impl OutputFamily, label: &[f64], eta: &[f64]) {
    let m = family.outputs();
    let mut score = vec![f64::NAN; m];
    family.score(label, eta, &mut score);
    for (score, expected) in score.iter().zip(differences(|eta| family.log_density(label, eta), eta)) {
        assert!((score - expected).abs() <= difference_tolerance(), "score: {score} {expected}");
    }
    // For a canonical parameter the information is −∂score, whatever the label.
    let mut covariance = Mat::from_fn(m, m, |_, _| f64::NAN);
    family.covariance(eta, covariance.as_mut());
    for k in 0..m {
        let component = |eta: &[f64]| {
            let mut score = vec![f64::NAN; m];
            family.score(label, eta, &mut score);
            score[k]
        };
        for (j, slope) in differences(component, eta).into_iter().enumerate().take(k + 1) {
            assert!((covariance[(k, j)] + slope).abs() <= difference_tolerance(), "({k}, {j})");
        }
    }
}

#[test]
fn scores_and_covariances_are_derivatives() {
    for eta in [-3.0, 0.0, 0.7] {
        for y in [0.0, 1.0] {
            assert_family(&Scalar(BernoulliLogit(Mixture8)), &[y], &[eta]);
            assert_family(&Categorical::new(2).unwrap(), &[y], &[eta]);
        }
        assert_family(&Scalar(GaussianLikelihood::new(0.5).unwrap()), &[0.3], &[eta]);
        for class in 0..4_u8 {
            assert_family(&Categorical::new(4).unwrap(), &[f64::from(class)], &[eta, 0.4, -1.0]);
        }
    }
}

#[test]
fn probabilities_sum_to_one_at_any_scale() {
    let family = Categorical::new(4).unwrap();
    for eta in [[0.0, 0.0, 0.0], [1.0, -2.0, 0.5], [800.0, -800.0, 3.0], [-800.0, -800.0, -800.0]] {
        let probability = |class: u8| family.log_density(&[f64::from(class)], &eta).exp();
        let sum: f64 = (0..4).map(probability).sum();
        // Each exponent is rounded in units of its own size.
        assert!((sum - 1.0).abs() <= 8.0 * f64::EPSILON * 800.0, "{eta:?}: {sum}");
        // E[score] = 0.
        let mut mean = [0.0; 3];
        for class in 0..4 {
            let mut score = [f64::NAN; 3];
            family.score(&[f64::from(class)], &eta, &mut score);
            for (mean, score) in mean.iter_mut().zip(score) {
                *mean += probability(class) * score;
            }
        }
        assert!(mean.iter().all(|mean| mean.abs() <= 8.0 * f64::EPSILON * 800.0), "{eta:?}: {mean:?}");
    }
}

#[test]
fn two_classes_are_the_logistic() {
    let (two, logit) = (Categorical::new(2).unwrap(), Scalar(BernoulliLogit(Mixture8)));
    for eta in [-40.0, -1.0, 0.0, 2.5, 40.0] {
        // Class 0 of the softmax has probability s(η).
        let (ours, theirs) = (two.log_density(&[0.0], &[eta]), logit.log_density(&[1.0], &[eta]));
        assert!((ours - theirs).abs() <= 8.0 * f64::EPSILON * (1.0 + eta.abs()));
        let (mut a, mut b) = (Mat::zeros(1, 1), Mat::<f64>::zeros(1, 1));
        two.covariance(&[eta], a.as_mut());
        logit.covariance(&[eta], b.as_mut());
        assert!((a[(0, 0)] / b[(0, 0)] - 1.0).abs() <= 32.0 * f64::EPSILON * (1.0 + eta.abs()));
    }
}

#[test]
fn a_covariance_that_is_none_is_an_error() {
    let error = root(&mut mat![[1.0, 0.0], [2.0, 1.0]]).unwrap_err();
    assert_eq!(error, Error::NotPositiveDefinite { argument: "Cov(y|θ)", pivot: 1 });
    let error = root(&mut mat![[1.0, 0.0], [f64::INFINITY, 1.0]]).unwrap_err();
    assert_eq!(error, Error::NonFinite { argument: "Cov(y|θ)", index: 1, value: f64::INFINITY });
    // Of two classes one of which is all but certain, a variance rounds to just below 0.
    assert!(root(&mut mat![[1.0, 0.0], [1.0, 1.0 - f64::EPSILON]]).is_ok());
}

fn settings(draws: usize, scheme: Scheme) -> NonlinearSettings {
    NonlinearSettings { scheme, ..NonlinearSettings::new(draws) }
}

/// Rows, a belief that holds them exactly (`p ≥ d`, nothing projected away) and its dense twin.
fn small_problem(d: usize, n: usize) -> (Mat<f64>, LowRankGaussian, DenseGaussian) {
    let rng = &mut rng(17);
    let x = Mat::from_fn(n, d, |_, _| StandardNormal.sample(rng));
    let mean = normal(rng, d);
    let low_rank = LowRankGaussian::isotropic(&mean, 1.5, LowRankSettings::blocked(d).unwrap()).unwrap();
    (x, low_rank, DenseGaussian::isotropic(&mean, 1.5).unwrap())
}

fn row(x: &Mat<f64>, t: usize) -> Vec<f64> {
    x.row(t).iter().copied().collect()
}

#[test]
fn a_linear_model_is_the_kalman_filter() {
    let (d, n) = (4, 12);
    let noise = GaussianLikelihood::new(0.3).unwrap();
    let model = NonlinearModel::new(LinearMap::new(d, 1).unwrap(), Scalar(noise)).unwrap();
    let (x, prior, dense) = small_problem(d, n);
    let y: Vec<f64> = (0..n).map(|t| (t as f64).cos()).collect();
    let mut kalman = dense;
    filter::run(&mut kalman, &Explicit(noise), x.as_ref(), &y, |_, _, _| {}).unwrap();
    for scheme in [Scheme::Explicit, Scheme::MirrorProx] {
        let mut belief = prior.clone();
        let labels = MatRef::from_column_major_slice(&y, n, 1);
        let how = settings(6, scheme);
        run(&mut belief, &model, x.as_ref(), labels, &how, &mut rng(1), Par::Seq, |_, _| {}).unwrap();
        let found = belief.to_dense().unwrap();
        // Pairs of draws leave no sampling error in what is linear: rounding of n steps at a condition number below 1e3.
        let tolerance = 1e3 * n as f64 * f64::EPSILON;
        let error = (found.covariance() - kalman.covariance()).norm_max();
        assert!(error <= tolerance, "{scheme:?}: covariance {error:e}");
        for (found, kalman) in found.mean().iter().zip(kalman.mean()) {
            assert!((found - kalman).abs() <= tolerance, "{scheme:?}: {found} {kalman}");
        }
    }
    for scheme in [Scheme::MirrorProxPrinted, Scheme::SkipCovariance] {
        let mut belief = prior.clone();
        let labels = MatRef::from_column_major_slice(&y, n, 1);
        run(&mut belief, &model, x.as_ref(), labels, &settings(6, scheme), &mut rng(1), Par::Seq, |_, _| {}).unwrap();
        let gap: f64 = belief.mean().iter().zip(kalman.mean()).map(|(a, b)| (a - b).abs()).sum();
        assert!(gap > 0.01, "{scheme:?} is wrong for linear models: {gap}");
    }
}

/// One step of logistic regression by `K` draws and by the closed form: slope and curvature against their standard errors.
///
/// The curvature is a mean of `s′ ∈ [0, ¼]` and the slope one of values in `[0, 1]`: standard deviations at most 1/8 and 1/2.
/// Where they are taken under `q̂`, which has errors of its own, both count twice.
fn assert_logistic_step(scheme: Scheme, rule: &impl SiteRule) {
    let (d, draws) = (3, 4000);
    let model = NonlinearModel::new(LinearMap::new(d, 1).unwrap(), Scalar(BernoulliLogit(Exact))).unwrap();
    let (x, prior, dense) = small_problem(d, 3);
    for sampling in [Sampling::Antithetic, Sampling::Independent] {
        for t in 0..3 {
            let (x, y) = (row(&x, t), f64::from(u8::from(t == 1)));
            let seen = dense.predict(&x).unwrap();
            let site = rule.site(seen.mean, seen.variance, y).unwrap();
            let expected = (site.gain(seen.variance), site.curvature);

            let mut belief = prior.clone();
            let how = NonlinearSettings { sampling, ..settings(draws, scheme) };
            step(&mut belief, &model, &x, &[y], &how, &mut rng(t as u64), Par::Seq).unwrap();
            // μ moves by e·Px, the precision by h·xxᵀ.
            let moved: f64 = (0..d).map(|i| x[i] * (belief.mean()[i] - dense.mean()[i])).sum::<f64>() / seen.variance;
            let after = belief.predict(&x, Par::Seq).unwrap().variance;
            let curvature = 1.0 / after - 1.0 / seen.variance;
            let error = 6.0 / (draws as f64).sqrt();
            assert!((curvature - expected.1).abs() <= 2.0 * error / 8.0, "{scheme:?}: h {curvature} {}", expected.1);
            assert!((moved - expected.0).abs() <= 2.0 * error / 2.0, "{scheme:?}: e {moved} {}", expected.0);
        }
    }
}

#[test]
fn a_logistic_step_is_the_closed_form() {
    assert_logistic_step(Scheme::Explicit, &Explicit(BernoulliLogit(Exact)));
    assert_logistic_step(Scheme::MirrorProx, &MirrorProx(BernoulliLogit(Exact)));
    assert_logistic_step(Scheme::SkipCovariance, &SkipCovariance(BernoulliLogit(Exact)));
    assert_logistic_step(Scheme::MirrorProxPrinted, &crate::MirrorProxPrinted(BernoulliLogit(Exact)));
}

#[test]
fn a_pass_of_logistic_regression_is_as_close_as_the_closed_form() {
    let (d, n) = (5, 80);
    let model = NonlinearModel::new(LinearMap::new(d, 1).unwrap(), Scalar(BernoulliLogit(Exact))).unwrap();
    let rng = &mut rng(3);
    let x = Mat::from_fn(n, d, |_, _| StandardNormal.sample(rng));
    let truth = normal(rng, d);
    let y: Vec<f64> = (0..n)
        .map(|t| {
            let a: f64 = (0..d).map(|i| x[(t, i)] * truth[i]).sum();
            f64::from(u8::from(a + 0.5 * (7.0 * t as f64).sin() > 0.0))
        })
        .collect();
    let prior = DenseGaussian::isotropic(&vec![0.0; d], 2.0).unwrap();
    let posterior = GlmPosterior::new(&prior, x.as_ref(), &y, BernoulliLogit(Exact)).unwrap();
    let kl = |belief: &DenseGaussian| posterior.kl(belief, Par::Seq).unwrap();
    let mut closed = prior.clone();
    filter::run(&mut closed, &Implicit(BernoulliLogit(Exact)), x.as_ref(), &y, |_, _, _| {}).unwrap();
    let (from, best) = (kl(&prior), kl(&closed));
    for draws in [10, 100] {
        let mut belief = LowRankGaussian::isotropic(&vec![0.0; d], 2.0, LowRankSettings::blocked(d).unwrap()).unwrap();
        let labels = MatRef::from_column_major_slice(&y, n, 1);
        run(&mut belief, &model, x.as_ref(), labels, &settings(draws, Scheme::MirrorProx), rng, Par::Seq, |_, _| {})
            .unwrap();
        let sampled = kl(&belief.to_dense().unwrap());
        // What sampling loses falls as 1/K; here it is under 2 % of the way from the prior at K = 10.
        let share = (sampled - best) / (from - best);
        assert!(share < 0.2 / draws as f64, "K = {draws}: {sampled} against {best}, from {from}: {share}");
    }
}

/// Softmax regression as a log-likelihood of `θ`, for the black-box step.
struct Softmax<'a> {
    model: NonlinearModel<LinearMap, Categorical>,
    x: &'a [f64],
    y: f64,
}

impl Softmax<'_> {
    fn eta(&self, theta: &[f64]) -> Vec<f64> {
        let mut eta = vec![0.0; self.model.map().outputs()];
        self.model.map().evaluate(theta, self.x, &mut eta);
        eta
    }
}

impl LogLikelihood for Softmax<'_> {
    fn log_density(&self, theta: &[f64]) -> f64 {
        self.model.log_density(theta, self.x, &[self.y]).unwrap()
    }
}

impl Gradient for Softmax<'_> {
    fn gradient(&self, theta: &[f64], out: &mut [f64]) {
        let mut score = vec![0.0; self.model.map().outputs()];
        self.model.family().score(&[self.y], &self.eta(theta), &mut score);
        let v = MatRef::from_column_major_slice(&score, score.len(), 1);
        let d = out.len();
        self.model.map().pull_back(theta, self.x, v, MatMut::from_column_major_slice_mut(out, d, 1));
    }
}

impl Hessian for Softmax<'_> {
    fn hessian(&self, theta: &[f64], mut out: MatMut<'_, f64>) {
        let m = self.model.map().outputs();
        let mut covariance = Mat::<f64>::zeros(m, m);
        self.model.family().covariance(&self.eta(theta), covariance.as_mut());
        let inputs = self.x.len();
        for j in 0..m * inputs {
            for i in 0..m * inputs {
                let (a, b) = (i / inputs, j / inputs);
                out[(i, j)] = -covariance[(a.max(b), a.min(b))] * self.x[i % inputs] * self.x[j % inputs];
            }
        }
    }
}

#[test]
fn a_softmax_step_is_the_dense_one() {
    let x = [0.8, -0.5];
    let (d, draws) = (4, 4000);
    let model = NonlinearModel::new(LinearMap::new(2, 2).unwrap(), Categorical::new(3).unwrap()).unwrap();
    let nodes = Nodes::gauss_hermite(d, 12).unwrap();
    for y in [0.0, 1.0, 2.0] {
        let mut dense = DenseGaussian::isotropic(&[0.3, -0.2, 0.5, 0.1], 2.0).unwrap();
        let before = dense.cholesky().unwrap().inverse();
        black_box::explicit_step(&mut dense, &Order2(&Softmax { model, x: &x, y }, &nodes)).unwrap();
        let gained = dense.cholesky().unwrap().inverse() - before;

        let prior =
            LowRankGaussian::isotropic(&[0.3, -0.2, 0.5, 0.1], 2.0, LowRankSettings::blocked(4).unwrap()).unwrap();
        let mut belief = prior.clone();
        step(&mut belief, &model, &x, &[y], &settings(draws, Scheme::Explicit), &mut rng(5), Par::Seq).unwrap();
        let x_gained = Mat::from_fn(d, d, |i, j| if i == j { -0.25 } else { 0.0 })
            + full(belief.precision_lower(Par::Seq).as_ref());
        // Entries of the information are means of values in [−¼, ¼]·x_i·x_j, of standard deviation at most ¼·|x_i x_j| ≤ 0.16;
        // those of the slope are at most 1·|x_i|, and the covariance at most 4.
        let error = 6.0 / (draws as f64).sqrt();
        assert!((x_gained - gained).norm_max() <= 0.16 * error, "y = {y}");
        for (found, dense) in belief.mean().iter().zip(dense.mean()) {
            assert!((found - dense).abs() <= 4.0 * error, "y = {y}: {found} {dense}");
        }
    }
}

fn full(lower: MatRef<'_, f64>) -> Mat<f64> {
    Mat::from_fn(lower.nrows(), lower.ncols(), |i, j| lower[(i.max(j), i.min(j))])
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let model = NonlinearModel::new(OneHiddenLayer::new(2, 4, 1).unwrap(), Categorical::new(2).unwrap()).unwrap();
    let mean = model.map().random_mean(1.0, &mut rng(1)).unwrap();
    let run_with = |seed| {
        let mut belief = LowRankGaussian::isotropic(&mean, 1.0, LowRankSettings::blocked(3).unwrap()).unwrap();
        let x = mat![[0.3, 1.0], [-1.0, 0.2], [0.5, 0.5]];
        let y = mat![[0.0], [1.0], [1.0]];
        let how = NonlinearSettings::new(4);
        run(&mut belief, &model, x.as_ref(), y.as_ref(), &how, &mut rng(seed), Par::Seq, |_, _| {}).unwrap();
        belief.mean().to_vec()
    };
    assert_eq!(run_with(3), run_with(3));
    assert_ne!(run_with(3), run_with(4));
}

#[test]
fn many_draws_of_a_linear_map_are_rows_in_one_direction() {
    // 100 draws make 100 nearly parallel rows, more than the block and the rank hold.
    for seed in 0..3 {
        let rng = &mut rng(seed);
        let d = 50;
        let x = Mat::from_fn(12, d, |_, _| -> f64 { StandardNormal.sample(rng) }) * (d as f64).sqrt().recip();
        let y = Mat::from_fn(12, 1, |i, _| (i % 2) as f64);
        let model = NonlinearModel::new(LinearMap::new(d, 1).unwrap(), Scalar(BernoulliLogit(Mixture8))).unwrap();
        for settings in [LowRankSettings::blocked(d), LowRankSettings::blocked(10).and_then(|s| s.with_block(640))] {
            let mut belief = LowRankGaussian::isotropic(&vec![0.0; d], 4.0, settings.unwrap()).unwrap();
            let steps = NonlinearSettings::new(100);
            run(&mut belief, &model, x.as_ref(), y.as_ref(), &steps, rng, Par::Seq, |_, _| {}).unwrap();
        }
    }
}

#[test]
fn bad_input_leaves_the_belief_as_it_was() {
    let model = NonlinearModel::new(LinearMap::new(2, 2).unwrap(), Categorical::new(3).unwrap()).unwrap();
    let mut belief = LowRankGaussian::isotropic(&[0.5; 4], 1.0, LowRankSettings::blocked(2).unwrap()).unwrap();
    let how = NonlinearSettings::new(4);
    let before = (belief.mean().to_vec(), belief.precision().clone(), belief.waiting());
    let mut refused = |x: &[f64], y: &[f64]| {
        let error = step(&mut belief, &model, x, y, &how, &mut rng(1), Par::Seq).unwrap_err();
        assert_eq!((belief.mean().to_vec(), belief.precision().clone(), belief.waiting()), before);
        error
    };
    assert!(matches!(refused(&[1.0], &[0.0]), Error::Dimension { argument: "x", expected: 2, found: 1 }));
    assert!(matches!(refused(&[1.0, f64::NAN], &[0.0]), Error::NonFinite { argument: "x", index: 1, .. }));
    assert!(matches!(refused(&[1.0, 1.0], &[]), Error::Dimension { argument: "y", expected: 1, found: 0 }));
    assert!(matches!(refused(&[1.0, 1.0], &[3.0]), Error::Label { .. }));
    assert!(matches!(refused(&[1.0, 1.0], &[0.5]), Error::Label { .. }));
    assert!(matches!(refused(&[1.0, 1.0], &[f64::NAN]), Error::NonFinite { argument: "y", .. }));
    // Draws whose predictors overflow.
    assert!(matches!(refused(&[1e308, 1e308], &[0.0]), Error::NonFinite { argument: "h(θ, x)", .. }));

    let rows = mat![[1.0, 1.0], [1.0, 1.0]];
    let bad = mat![[0.0], [7.0]];
    let error =
        run(&mut belief, &model, rows.as_ref(), bad.as_ref(), &how, &mut rng(1), Par::Seq, |_, _| {}).unwrap_err();
    assert!(matches!(error, Error::Row { row: 1, .. }));
    assert_eq!(belief.mean(), before.0);
    let mut other = LowRankGaussian::isotropic(&[0.0; 5], 1.0, LowRankSettings::blocked(2).unwrap()).unwrap();
    let error = step(&mut other, &model, &[1.0, 1.0], &[0.0], &how, &mut rng(1), Par::Seq).unwrap_err();
    assert!(matches!(error, Error::Dimension { argument: "parameters of the model", expected: 5, found: 4 }));
    let pairs_of_three = NonlinearSettings { sampling: Sampling::Antithetic, ..NonlinearSettings::new(3) };
    for settings in [NonlinearSettings::new(0), pairs_of_three] {
        let error = step(&mut belief, &model, &[1.0, 1.0], &[0.0], &settings, &mut rng(1), Par::Seq).unwrap_err();
        assert!(matches!(error, Error::Setting { name: "draws", .. }));
        let (x, y) = (rows.as_ref(), bad.as_ref());
        let error = run(&mut belief, &model, x, y, &settings, &mut rng(1), Par::Seq, |_, _| {}).unwrap_err();
        assert!(matches!(error, Error::Setting { name: "draws", .. }));
    }
    assert_eq!(belief.mean(), before.0);
    assert!(Categorical::new(1).is_err());
    assert!(LinearMap::new(0, 1).is_err() && LinearMap::new(usize::MAX, 2).is_err());
    assert!(OneHiddenLayer::new(2, 0, 1).is_err());
    for most in [usize::MAX, usize::MAX / 2, 1 << 61] {
        assert!(OneHiddenLayer::new(most, 2, 1).is_err() && OneHiddenLayer::new(2, most, 1).is_err());
        assert!(OneHiddenLayer::new(2, 2, most).is_err() && LinearMap::new(most, 1).is_err());
    }
}

/// The mean moves and the columns join, or neither.
#[test]
fn a_mean_that_cannot_move_leaves_the_precision() {
    let mut belief = LowRankGaussian::isotropic(&[1e308, 0.0], 1.0, LowRankSettings::blocked(1).unwrap()).unwrap();
    let column = mat![[0.0, 1.0]];
    let error = belief.move_and_inform(&[1e308, 0.0], column.as_ref(), Par::Seq).unwrap_err();
    assert!(matches!(error, Error::Overflow { quantity: "μ + change", .. }), "{error:?}");
    assert_eq!((belief.waiting(), belief.mean()), (0, &[1e308, 0.0][..]));
    // Columns that are refused leave the mean.
    let column = mat![[0.0, 1e100]];
    let error = belief.move_and_inform(&[0.0, 1.0], column.as_ref(), Par::Seq).unwrap_err();
    assert!(matches!(error, Error::Row { row: 0, .. }), "{error:?}");
    assert_eq!((belief.waiting(), belief.mean()), (0, &[1e308, 0.0][..]));
    belief.move_and_inform(&[0.0, 1.0], mat![[0.0, 1.0]].as_ref(), Par::Seq).unwrap();
    assert_eq!((belief.waiting(), belief.mean()), (1, &[1e308, 1.0][..]));
}

/// `θ·x` beyond the floats is an error, not a density.
#[test]
fn densities_beyond_the_floats_are_errors() {
    let model = NonlinearModel::new(LinearMap::new(1, 2).unwrap(), Categorical::new(3).unwrap()).unwrap();
    let theta = vec![1e308; model.dim()];
    let found = model.log_density(&theta, &[1e308], &[0.0]);
    assert!(matches!(found, Err(Error::NonFinite { argument: "h(θ, x)", .. })), "{found:?}");
    let mut draws = Mat::zeros(model.dim(), 2);
    for (i, value) in theta.iter().enumerate() {
        draws[(i, 1)] = *value;
    }
    let found = model.log_predictive(draws.as_ref(), &[1e308], &[0.0]);
    assert!(matches!(found, Err(Error::NonFinite { argument: "h(θ, x)", .. })), "{found:?}");
}
