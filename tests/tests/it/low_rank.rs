//! L-RVGA on the stored problems: how near each form comes to the exact posterior.

use std::fs;

use vi_core::low_rank::{SweepSettings, sweep};
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Exact, Explicit, GaussianBelief, GaussianLikelihood, GlmPosterior, Implicit,
    Kalman, LowRankGaussian, LowRankSettings, Mixture8, Stop, divergence, factor, filter,
};
use vi_linalg::faer::{Mat, Par};
use vi_linalg::{Cholesky, DenseSymmetric};
use vi_tests::json::Node;
use vi_tests::runner;

struct Stored {
    x: Mat<f64>,
    y: Vec<f64>,
    printed: Vec<(usize, f64)>,
}

/// The data, and for each `p` the divergence that the printed recursion ends with, at `path` of the case.
fn stored(name: &str, path: &[&str]) -> Stored {
    let text = fs::read_to_string(runner::default_folder().join("lrvga").join(name)).unwrap();
    let value = serde_json::from_str(&text).unwrap();
    let root = Node::root(&value);
    let printed = root.get("cases").unwrap().items().unwrap().into_iter().map(|case| {
        let kl = path.iter().fold(case.clone(), |node, key| node.get(key).unwrap()).number().unwrap();
        (case.get("p").unwrap().count().unwrap(), kl)
    });
    Stored {
        x: root.get("x").unwrap().matrix().unwrap(),
        y: root.get("y").unwrap().vector().unwrap(),
        printed: printed.collect(),
    }
}

fn linear() -> (Stored, Kalman, DenseGaussian) {
    let data = stored("lrvga_linear.json", &["kl_to_exact"]);
    let rule = Explicit(GaussianLikelihood::new(1.0).unwrap());
    let mut exact = DenseGaussian::isotropic(&vec![0.0; data.x.ncols()], 1.0).unwrap();
    filter::run(&mut exact, &rule, data.x.as_ref(), &data.y, |_, _, _| {}).unwrap();
    (data, rule, exact)
}

fn one_pass(data: &Stored, rule: Kalman, settings: LowRankSettings) -> LowRankGaussian {
    let mut belief = LowRankGaussian::isotropic(&vec![0.0; data.x.ncols()], 1.0, settings).unwrap();
    belief.run(&rule, data.x.as_ref(), &data.y, Par::Seq, |_, _, _| {}).unwrap();
    belief.flush(Par::Seq).unwrap();
    belief
}

#[test]
fn blocked_is_nearer_to_the_exact_posterior_than_the_printed_recursion() {
    let (data, rule, exact) = linear();
    for (p, limit) in [(1, 12.6), (2, 10.3), (10, 3.7), (50, 1e-10)] {
        let belief = one_pass(&data, rule, LowRankSettings::blocked(p).unwrap());
        let kl = divergence::gaussian_kl(&belief.to_dense().unwrap(), &exact).unwrap();
        let (_, printed) = data.printed.iter().find(|(rank, _)| *rank == p).unwrap();
        assert!(kl <= limit && kl < *printed, "p = {p}: {kl}, printed {printed}");
    }
}

/// `min KL(N(μ, (Ψ+WWᵀ)⁻¹) ‖ exact)`, by many EM steps on the dense precision.
fn best_factor_analysis(data: &Stored, start: &LowRankGaussian) -> f64 {
    let d = data.x.ncols();
    let s = data.x.transpose() * &data.x + Mat::<f64>::identity(d, d);
    let mut c = start.precision().clone();
    for _ in 0..300 {
        factor::step(&DenseSymmetric::new(s.as_ref()), &mut c, &factor::DiagonalSettings::default(), Par::Seq).unwrap();
    }
    factor::kl(&Cholesky::new(s.as_ref()).unwrap(), &c, Par::Seq).unwrap()
}

#[test]
fn sweeps_reach_the_best_factor_analysis_of_a_linear_model() {
    let (data, rule, exact) = linear();
    let settings = LowRankSettings::blocked(10).unwrap();
    let prior = LowRankGaussian::isotropic(&vec![0.0; data.x.ncols()], 1.0, settings).unwrap();
    let mut belief = one_pass(&data, rule, settings);
    let best = best_factor_analysis(&data, &belief);
    let noise = GaussianLikelihood::new(1.0).unwrap();
    let x = data.x.as_ref();
    let one = SweepSettings { tolerance: 1e-6, max_sweeps: 1, ..SweepSettings::default() };
    let info = sweep(&prior, &mut belief.clone(), x, &data.y, &noise, &one, Par::Seq).unwrap();
    assert_eq!((info.stop, info.sweeps), (Stop::Iterations, 1));
    let info = sweep(&prior, &mut belief, x, &data.y, &noise, &SweepSettings::default(), Par::Seq).unwrap();
    let kl = divergence::gaussian_kl(&belief.to_dense().unwrap(), &exact).unwrap();
    assert_eq!(info.stop, Stop::Converged);
    assert_eq!((info.undone, info.mean_unsolved), (0, 0));
    assert!(info.bounds.is_sorted(), "{:?}", info.bounds);
    // The last sweeps gained less than 1e-6 nats each, and EM's gains fall geometrically.
    assert!(kl <= best + 1e-4, "{kl} against {best}");
    // The bound is the log evidence less the divergence.
    let gained = info.bounds.last().unwrap() - info.bounds[0];
    let before = divergence::gaussian_kl(&one_pass(&data, rule, settings).to_dense().unwrap(), &exact).unwrap();
    assert!((before - kl - gained).abs() < 1e-9 * before);
}

#[test]
fn logistic_blocked_excess_is_less_than_the_printed_recursions() {
    let data = stored("lrvga_logistic.json", &["algorithms", "lrvga_implicit_exact_roots", "kl_unnormalised"]);
    let (x, d) = (data.x.as_ref(), data.x.ncols());
    let (rule, exact) = (Implicit(BernoulliLogit(Mixture8)), BernoulliLogit(Exact));
    let dense_prior = DenseGaussian::isotropic(&vec![0.0; d], 4.0).unwrap();
    let posterior = GlmPosterior::new(&dense_prior, x, &data.y, exact).unwrap();
    let mut dense = dense_prior.clone();
    filter::run(&mut dense, &rule, x, &data.y, |_, _, _| {}).unwrap();
    let dense = posterior.kl(&dense, Par::Seq).unwrap();
    for &(p, printed) in &data.printed {
        let settings = LowRankSettings::blocked(p).unwrap();
        let prior = LowRankGaussian::isotropic(&vec![0.0; d], 4.0, settings).unwrap();
        let mut belief = prior.clone();
        belief.run(&rule, x, &data.y, Par::Seq, |_, _, _| {}).unwrap();
        let blocked = posterior.kl(&belief.to_dense().unwrap(), Par::Seq).unwrap();
        assert!(blocked - dense < 0.6 * (printed - dense), "p = {p}: {blocked}, printed {printed}, dense {dense}");
        // Sweeps: below one dense pass, and the bound falls as the divergence does.
        belief.flush(Par::Seq).unwrap();
        let before = posterior.kl(&belief.to_dense().unwrap(), Par::Seq).unwrap();
        let info = sweep(&prior, &mut belief, x, &data.y, &exact, &SweepSettings::default(), Par::Seq).unwrap();
        let after = posterior.kl(&belief.to_dense().unwrap(), Par::Seq).unwrap();
        let gained = info.bounds.last().unwrap() - info.bounds[0];
        assert_eq!(info.stop, Stop::Converged);
        assert!((before - after - gained).abs() < 1e-8 * before);
        assert!(after < before);
    }
}

#[test]
fn one_loop_and_recursion_agree_with_each_other_from_a_small_factor() {
    let (data, rule, exact) = linear();
    let kl = |belief: &LowRankGaussian| divergence::gaussian_kl(&belief.to_dense().unwrap(), &exact).unwrap();
    let d = data.x.ncols();
    let mut rng = <rand_chacha::ChaCha8Rng as rand_chacha::rand_core::SeedableRng>::seed_from_u64(3);
    let one_loop = LowRankSettings::one_loop(10).unwrap();
    let start = LowRankGaussian::with_small_factor(&vec![0.0; d], &vec![1.0; d], 1e-3, one_loop, &mut rng).unwrap();
    // Appendix D keeps the trace.
    assert!((start.precision().diagonal().iter().sum::<f64>() / d as f64 - 1.0).abs() < 1e-14);
    let printed = LowRankSettings::recursive(10, 1, vi_core::MeanMoves::BeforeProjection).unwrap();
    let (w, psi) = (start.precision().w(), start.precision().psi());
    let mut printed = LowRankGaussian::from_precision(start.mean(), w, psi, printed).unwrap();
    let mut ours = start.clone();
    ours.run(&rule, data.x.as_ref(), &data.y, Par::Seq, |_, _, _| {}).unwrap();
    printed.run(&rule, data.x.as_ref(), &data.y, Par::Seq, |_, _, _| {}).unwrap();
    // The same map, written with and without cancellation.
    assert!((kl(&ours) - kl(&printed)).abs() < 1e-8 * kl(&ours));
}
