//! Threads: what may be shared between them, and that two of them compute what one does.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_boost::target::Cauchy;
use vi_boost::{Boost, Component, GaussianMixture};
use vi_core::NaturalParameters;
use vi_core::batch::{self, BatchSettings, InformationGaussian, Statistics};
use vi_core::block::{self, BlockBelief, BlockScratch, BlockSettings};
use vi_core::factor::{self, DiagonalSettings, EmSettings, OnlineEm, RecursiveEm, RecursiveSettings, SecondMoments};
use vi_core::nonlinear::{self, Categorical, LinearMap, NonlinearModel, NonlinearSettings};
use vi_core::papers::{NaturalGradient, OnlineNewton};
use vi_core::papers::{likelihood_factor, likelihood_step};
use vi_core::refine::{self, RefineSettings, Refinement};
use vi_core::{
    AdaptiveFading, Belief, BernoulliLogit, DenseGaussian, DiagonalGaussian, Explicit, Forgetting, GaussianBelief,
    GaussianLikelihood, GlmPosterior, Implicit, LowRankGaussian, LowRankSettings, Mixture8, PerRow, ShardPosterior,
    Sites, SquareRootGaussian, Weighted, filter,
    papers::{ekf, kalman},
};
use vi_data::Dataset;
use vi_linalg::faer::{Mat, MatMut, MatRef, Par};
use vi_linalg::{Cholesky, DenseSymmetric, LowRank};
use vi_models::linear::NoisePrecision;
use vi_models::online::family::{Counts, Logit, Probit, SpreadCounts, Trials};
use vi_models::online::{OnlineGlm, OnlineLinear, OnlineLogistic, OnlineSoftmax};
use vi_models::softmax::{Softmax, SoftmaxFit, SoftmaxRefineSettings, SoftmaxRows, SoftmaxScratch};
use vi_models::vb::{self, LinearFit, LinearPrior, LogitBound, LogitFit, LogitPrior, VbLinear, VbLogit, VbSettings};
use vi_revrand::basis::{Basis, Kernel, LengthScale, Linear, RandomFourier};
use vi_revrand::glm::GlmScratch;
use vi_revrand::likelihood::{Gaussian, Poisson, Rate};
use vi_revrand::sgd::{Descent, UpdaterState};
use vi_revrand::slm::{self, Hyperparameters, SlmSettings};
use vi_revrand::{Glm, GlmSettings, Slm};

/// Compiles only for what one thread may send and many may read.
fn shared<T: Send + Sync>() {}

#[test]
fn every_state_can_be_sent_and_shared() {
    shared::<(DenseGaussian, SquareRootGaussian, DiagonalGaussian, LowRankGaussian, Sites, AdaptiveFading)>();
    shared::<(ShardPosterior<DenseGaussian>, ShardPosterior<LowRankGaussian>, Forgetting<DenseGaussian>)>();
    shared::<(filter::Scratch<DenseGaussian>, filter::Scratch<LowRankGaussian>)>();
    shared::<(BlockScratch<DenseGaussian>, BlockScratch<SquareRootGaussian>, InformationGaussian, Statistics)>();
    shared::<(Refinement, RecursiveEm, OnlineEm, OnlineNewton, NaturalGradient, NaturalParameters)>();
    shared::<(GlmPosterior<'_, BernoulliLogit>, vi_core::Error, LowRank, Cholesky, Dataset)>();
    shared::<NoisePrecision>();
    shared::<(OnlineLogistic, OnlineLinear, OnlineSoftmax, OnlineGlm<Logit>, OnlineGlm<Probit>, OnlineGlm<Trials>)>();
    shared::<(OnlineGlm<Counts>, OnlineGlm<SpreadCounts>, vi_models::ModelError, vi_models::Marginal)>();
    shared::<(VbLinear, VbLogit, LinearFit, LogitFit)>();
    shared::<(Softmax, SoftmaxFit, SoftmaxScratch)>();
    shared::<(GaussianMixture, Component, Boost<'_, Cauchy>, vi_boost::BoostError)>();
    shared::<(Slm, Glm<Linear, Poisson>, GlmScratch, Descent, UpdaterState, vi_revrand::RevrandError)>();
}

/// Numbers to the bit.
type Bits = Vec<u64>;

fn numbers<'a>(values: impl IntoIterator<Item = &'a f64>) -> Bits {
    values.into_iter().map(|value| value.to_bits()).collect()
}

fn matrix(m: MatRef<'_, f64>) -> Bits {
    (0..m.ncols()).flat_map(|j| (0..m.nrows()).map(move |i| m[(i, j)].to_bits())).collect()
}

fn dense(q: &DenseGaussian) -> Bits {
    [numbers(q.mean()), matrix(q.covariance().as_ref())].concat()
}

fn factored(c: &LowRank) -> Bits {
    [matrix(c.w()), numbers(c.psi())].concat()
}

fn low_rank(q: &LowRankGaussian) -> Bits {
    [numbers(q.mean()), factored(q.precision())].concat()
}

/// The same bits from two and from three threads as from one.
fn same(name: &str, run: impl Fn(Par) -> Bits) {
    let one = run(Par::Seq);
    assert!(!one.is_empty(), "{name}");
    for threads in [2, 3] {
        assert!(run(Par::rayon(threads)) == one, "{name}, {threads} threads");
    }
}

/// The same numbers but for rounding: what is left of a factorisation is in another order. Relative to the largest.
fn near(name: &str, tolerance: f64, run: impl Fn(Par) -> Bits) {
    let one: Vec<f64> = run(Par::Seq).into_iter().map(f64::from_bits).collect();
    let size = one.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    for threads in [2, 3] {
        let other = run(Par::rayon(threads));
        assert_eq!(other.len(), one.len(), "{name}");
        for (a, b) in one.iter().zip(other.into_iter().map(f64::from_bits)) {
            assert!((a - b).abs() <= tolerance * size, "{name}, {threads} threads: {a} {b}");
        }
    }
}

/// Rows of size about 1, without a pattern.
fn rows(n: usize, d: usize) -> Mat<f64> {
    Mat::from_fn(n, d, |t, j| ((t * d + j) as f64 * 0.7 + (t * t) as f64 * 0.013).sin() / (d as f64).sqrt() * 3.0)
}

fn classes(n: usize) -> Vec<f64> {
    (0..n).map(|t| f64::from(u8::from(t * 7 % 5 > 2))).collect()
}

fn values(x: MatRef<'_, f64>) -> Vec<f64> {
    (0..x.nrows()).map(|t| x[(t, 0)] - 0.5 * x[(t, 1)] + 0.1 * (t as f64).sin()).collect()
}

const LOGIT: BernoulliLogit = BernoulliLogit(Mixture8);

/// From here on blocks use the threads they are given.
const WIDE: usize = 512;

fn passed<B: BlockBelief + Clone>(prior: &B, x: MatRef<'_, f64>, y: &[f64], weights: &[f64], par: Par) -> (B, B) {
    let (mut belief, mut weighted) = (prior.clone(), prior.clone());
    let mut scratch = BlockScratch::new(prior, BlockSettings::new(32).unwrap());
    block::run(&mut belief, &Implicit(LOGIT), x, y, &mut scratch, par, |_, _, _| {}).unwrap();
    let rules: Vec<_> = weights.iter().map(|weight| Weighted::new(Implicit(LOGIT), *weight).unwrap()).collect();
    block::run(&mut weighted, &PerRow(&rules), x, y, &mut scratch, par, |_, _, _| {}).unwrap();
    (belief, weighted)
}

#[test]
fn two_threads_pass_blocks_as_one_does() {
    let (n, d) = (70, WIDE);
    let (x, y, weights) = (rows(n, d), classes(n), vec![0.5; n]);
    let mean = vec![0.0; d];
    let prior = DenseGaussian::isotropic(&mean, 2.0).unwrap();
    same("block::run, dense", |par| {
        let (belief, weighted) = passed(&prior, x.as_ref(), &y, &weights, par);
        [dense(&belief), dense(&weighted)].concat()
    });
    let root = SquareRootGaussian::isotropic(&mean, 2.0).unwrap();
    // Triangular solves of other shapes: the rounding of as many updates of as many numbers.
    near("block::run, square root", (n * d) as f64 * f64::EPSILON, |par| {
        let (belief, weighted) = passed(&root, x.as_ref(), &y, &weights, par);
        [numbers(belief.mean()), matrix(belief.root()), matrix(weighted.root())].concat()
    });
    same("refine::first_pass", |par| {
        dense(&refine::first_pass(&prior, &Implicit(LOGIT), x.as_ref(), &y, par).unwrap().belief)
    });
    let linear = Explicit(GaussianLikelihood::new(0.3).unwrap());
    let low = LowRankGaussian::isotropic(&mean, 2.0, LowRankSettings::blocked(3).unwrap()).unwrap();
    same("LowRankGaussian::run", |par| {
        let mut belief = low.clone();
        belief.run(&linear, x.as_ref(), &y, par, |_, _, _| {}).unwrap();
        belief.step(&linear, &mean, 0.5, par).unwrap();
        belief.flush(par).unwrap();
        let rng = &mut ChaCha8Rng::seed_from_u64(1);
        let direction = vec![0.1; d];
        let seen = belief.predict(&direction, par).unwrap();
        [
            low_rank(&belief),
            numbers(&[seen.mean, seen.variance]),
            numbers(&belief.variances(par).unwrap()),
            numbers(&belief.covariance_mul(&direction, par).unwrap()),
            matrix(belief.draws(3, rng, par).unwrap().as_ref()),
            matrix(belief.precision_lower(par).as_ref()),
        ]
        .concat()
    });
    same("LowRankGaussian::add_information, with_information", |par| {
        let mut belief = low.clone();
        belief.add_information(x.as_ref(), par).unwrap();
        belief.flush(par).unwrap();
        [low_rank(&belief), low_rank(&low.with_information(x.as_ref(), par).unwrap())].concat()
    });
}

#[test]
fn two_threads_refine_and_optimise_as_one_does() {
    let (n, d) = (300, 60);
    let (x, y) = (rows(n, d), classes(n));
    let prior = DenseGaussian::isotropic(&vec![0.0; d], 2.0).unwrap();
    let (x, settings) = (x.as_ref(), BatchSettings::default());
    let (best, _) = batch::optimum(&prior, &prior, x, &y, &LOGIT, &settings, Par::Seq).unwrap();
    same("Statistics::at", |par| {
        let at = InformationGaussian::of(&best).unwrap();
        let sums = Statistics::at(&at, x, &y, &LOGIT, par).unwrap();
        [numbers(&sums.slope), matrix(sums.information.as_ref()), numbers(&[sums.expected_log_likelihood])].concat()
    });
    same("batch::optimum", |par| dense(&batch::optimum(&prior, &prior, x, &y, &LOGIT, &settings, par).unwrap().0));
    same("refine::refine", |par| {
        let mut found = refine::first_pass(&prior, &Implicit(LOGIT), x, &y, Par::Seq).unwrap();
        let settings = RefineSettings { max_sweeps: 3, ..RefineSettings::default() };
        refine::refine(&prior, &mut found, x, &y, &LOGIT, &settings, par).unwrap();
        dense(&found.belief)
    });
    same("GlmPosterior::kl, expected_log_likelihood", |par| {
        let posterior = GlmPosterior::new(&prior, x, &y, LOGIT).unwrap();
        numbers(&[posterior.kl(&best, par).unwrap(), posterior.expected_log_likelihood(&best, par).unwrap()])
    });
    same("SquareRootGaussian::from_sites", |par| {
        let prior = SquareRootGaussian::from_dense(&prior).unwrap();
        let found = refine::first_pass(&prior.to_dense().unwrap(), &Implicit(LOGIT), x, &y, Par::Seq).unwrap();
        let belief = SquareRootGaussian::from_sites(&prior, x, &found.sites, par).unwrap();
        [numbers(belief.mean()), matrix(belief.root())].concat()
    });
}

/// Squares of the first coordinates.
struct Squares(usize);

impl ekf::MeanModel for Squares {
    fn output_dim(&self) -> usize {
        self.0
    }

    fn mean(&self, theta: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(theta).for_each(|(out, theta)| *out = theta * theta);
    }

    fn jacobian(&self, theta: &[f64], mut out: MatMut<'_, f64>) {
        out.fill(0.0);
        (0..self.0).for_each(|i| out[(i, i)] = 2.0 * theta[i]);
    }

    fn covariance(&self, _theta: &[f64], mut out: MatMut<'_, f64>) {
        out.fill(0.0);
        (0..self.0).for_each(|i| out[(i, i)] = 0.5);
    }
}

#[test]
fn two_threads_filter_vectors_and_find_factors_as_one_does() {
    let (m, d) = (40, 300);
    let h = rows(m, d);
    let prior = DenseGaussian::isotropic(&vec![0.3; d], 2.0).unwrap();
    let y: Vec<f64> = (0..m).map(|i| (i as f64).cos()).collect();
    same("kalman::step, ekf::step", |par| {
        let (mut belief, mut extended) = (prior.clone(), prior.clone());
        let r = Mat::<f64>::identity(m, m);
        kalman::step(&mut belief, h.as_ref(), &y, r.as_ref(), par).unwrap();
        ekf::step(&mut extended, &Squares(m), &y, par).unwrap();
        [dense(&belief), dense(&extended)].concat()
    });

    let x = rows(50, d);
    let start = LowRank::new(x.as_ref().transpose().subcols(0, 3), &vec![1.0; d]).unwrap();
    same("factor::run, step, loss, papers::likelihood_step", |par| {
        let moments = SecondMoments::new(x.as_ref()).unwrap();
        let [mut em, mut one, mut likelihood] = [start.clone(), start.clone(), start.clone()];
        let settings = EmSettings { max_iterations: 5, ..EmSettings::default() };
        factor::run(&moments, &mut em, &settings, par).unwrap();
        let floor = DiagonalSettings { floor: Some(1e-6), ..DiagonalSettings::default() };
        factor::step(&moments, &mut one, &floor, par).unwrap();
        likelihood_step(&moments, &mut likelihood, &floor, par).unwrap();
        let loss = factor::loss(&moments, &em, par).unwrap();
        let w = likelihood_factor(&moments, &start, par).unwrap();
        [factored(&em), factored(&one), factored(&likelihood), numbers(&[loss]), matrix(w.as_ref())].concat()
    });
    same("RecursiveEm, OnlineEm", |par| {
        let floor = DiagonalSettings { floor: Some(1e-6), ..DiagonalSettings::default() };
        let mut recursive = RecursiveEm::new(start.clone(), &RecursiveSettings::default()).unwrap();
        recursive.run(x.as_ref(), par).unwrap();
        recursive.step_block(x.as_ref().transpose(), par).unwrap();
        let settings = factor::OnlineSettings { exponent: 0.7, averaging: factor::Averaging::Off, diagonal: floor };
        let mut online = OnlineEm::new(start.clone(), &settings).unwrap();
        online.run(x.as_ref(), par).unwrap();
        [factored(recursive.factor()), factored(online.factor())].concat()
    });
    let s = Mat::from_fn(d, d, |i, j| 0.3_f64.powi(i32::try_from(i.abs_diff(j)).unwrap()));
    same("factor::kl", |par| {
        let root = Cholesky::new(s.as_ref()).unwrap();
        let of_dense = factor::loss(&DenseSymmetric::new(s.as_ref()), &start, par).unwrap();
        numbers(&[factor::kl(&root, &start, par).unwrap(), of_dense])
    });
    same("nonlinear::step, run", |par| {
        let model = NonlinearModel::new(LinearMap::new(20, 2).unwrap(), Categorical::new(3).unwrap()).unwrap();
        let form = LowRankSettings::blocked(3).unwrap();
        let mut belief = LowRankGaussian::isotropic(&vec![0.0; model.dim()], 1.0, form).unwrap();
        let (rng, draws) = (&mut ChaCha8Rng::seed_from_u64(1), &NonlinearSettings::new(8));
        let (x, y) = (rows(5, 20), Mat::from_fn(5, 1, |t, _| (t % 3) as f64));
        nonlinear::run(&mut belief, &model, x.as_ref(), y.as_ref(), draws, rng, par, |_, _| {}).unwrap();
        nonlinear::step(&mut belief, &model, &[0.1; 20], &[2.0], draws, rng, par).unwrap();
        low_rank(&belief)
    });
}

#[test]
fn two_threads_fit_models_as_one_does() {
    let (n, d, c) = (60, 12, 3);
    let x = rows(n, d);
    let x = x.as_ref();
    let y: Vec<f64> = (0..n).map(|t| (t * 7 % 5 % 3) as f64).collect();
    let softmax = Softmax::new(c).unwrap();
    let prior = DenseGaussian::isotropic(&vec![0.0; d * (c - 1)], 2.0).unwrap();
    let all = SoftmaxRows::new(x, &y);
    same("Softmax: step, run, first_pass, refine, optimum", |par| {
        let mut belief = prior.clone();
        softmax.run(&mut belief, all, par, |_, _, _| {}).unwrap();
        let mut scratch = SoftmaxScratch::new(&softmax, d);
        softmax.step(&mut belief, &vec![0.1; d], 1.0, &mut scratch, par).unwrap();
        let mut fit = softmax.first_pass(&prior, all, par).unwrap();
        let settings = SoftmaxRefineSettings { max_sweeps: 2, ..SoftmaxRefineSettings::default() };
        softmax.refine(&prior, &mut fit, all, &settings, par).unwrap();
        let (best, _) = softmax.optimum(&prior, &prior, all, &BatchSettings::default(), par).unwrap();
        [dense(&belief), dense(&fit.belief), dense(&best)].concat()
    });
    let (tall, stop) = (rows(200, 40), VbSettings::default());
    let (tall, numbers_of) = (tall.as_ref(), values(rows(200, 40).as_ref()));
    let labels = classes(200);
    // Twenty iterations of factorisations of a condition of about 1e4.
    let tolerance = 20.0 * 1e4 * f64::EPSILON;
    near("vb::linear, linear_ard", tolerance, |par| {
        let prior = LinearPrior::default();
        let one = vb::linear(tall, &numbers_of, prior, &stop, par).unwrap();
        let each = vb::linear_ard(tall, &numbers_of, prior, &stop, par).unwrap();
        [numbers(one.weights().mean()), numbers(each.weights().mean())].concat()
    });
    near("vb::logit, logit_ard", tolerance, |par| {
        let (prior, bound) = (LogitPrior::default(), LogitBound::default());
        let one = vb::logit(tall, &labels, prior, bound, &stop, par).unwrap();
        let each = vb::logit_ard(tall, &labels, prior, bound, &stop, par).unwrap();
        [numbers(one.weights().mean()), numbers(each.weights().mean())].concat()
    });
}

#[test]
fn two_threads_compute_features_and_their_models_as_one_does() {
    let x = rows(300, 4);
    let (x, y) = (x.as_ref(), values(x.as_ref()));
    let basis =
        RandomFourier::new(Kernel::Rbf, 4, 60, LengthScale::Shared(1.0), &mut ChaCha8Rng::seed_from_u64(2)).unwrap();
    let hyper = Hyperparameters { noise_variance: 0.1, prior_variances: vec![2.0], theta: vec![0.7] };
    same("Basis::features", |par| matrix(basis.features(&[0.7], x, par).unwrap().as_ref()));
    // One factorisation of a condition of about 1e4.
    let tolerance = 1e4 * 120.0 * f64::EPSILON;
    near("Slm::new, predict, bound, slm::evidence", tolerance, |par| {
        let model = Slm::new(basis.clone(), hyper.clone(), x, &y, par).unwrap();
        let seen = model.predict(x, par).unwrap();
        let found = slm::evidence(&basis, &hyper, x, &y, par).unwrap();
        let told = [model.bound(x, &y, par).unwrap(), found.value];
        [seen.iter().map(|seen| seen.mean.to_bits()).collect(), numbers(&told)].concat()
    });
    let quick = SlmSettings { starts: 1, max_iterations: 3, ..SlmSettings::default() };
    near("slm::learn", 1e3 * tolerance, |par| {
        let learned = slm::learn(basis.clone(), x, &y, &quick, &mut ChaCha8Rng::seed_from_u64(3), par).unwrap();
        numbers(&[learned.model.log_marginal_likelihood()])
    });
    let rng = &mut ChaCha8Rng::seed_from_u64(4);
    let counts = Glm::new(basis.clone(), Poisson(Rate::Exponential), GlmSettings::default(), rng).unwrap();
    let numbers_glm = Glm::new(basis.clone(), Gaussian::new(0.1).unwrap(), GlmSettings::default(), rng).unwrap();
    same("Glm::predict and what is asked of it", |par| {
        let seen = counts.predict(x, None, par).unwrap();
        let zeros = vec![0.0; 300];
        let ends: Vec<f64> =
            seen.intervals(0.9, par).unwrap().iter().flat_map(|ends| [ends.lower, ends.upper]).collect();
        let of_numbers = numbers_glm.predict(x, None, par).unwrap();
        [
            numbers(&seen.means(par).unwrap()),
            numbers(&seen.variances(par).unwrap()),
            numbers(&seen.log_densities(&zeros, par).unwrap()),
            numbers(&seen.cdfs(&zeros, par).unwrap()),
            numbers(&seen.quantiles(0.3, par).unwrap()),
            numbers(&ends),
            numbers(&of_numbers.means(par).unwrap()),
        ]
        .concat()
    });
}
