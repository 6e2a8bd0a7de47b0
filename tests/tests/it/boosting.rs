//! What boosting attains on the paper's own cases.

use std::fs;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::Value;
use vi_boost::gaussian::{self, GaussianSettings};
use vi_boost::target::GlmTarget;
use vi_boost::{BoostSettings, Component, GaussianMixture, LogDensity, Refit, divergence};
use vi_core::{BernoulliLogit, DenseGaussian, Estimate, Mixture8};
use vi_tests::boosting::{Quadrature, Toy, best_of};
use vi_tests::json::Node;
use vi_tests::{runner, slow};

fn read(name: &str) -> Value {
    let text = fs::read_to_string(runner::default_folder().join("bvi").join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// One run and up to `restarts` more, and how many there were.
fn run<T: LogDensity>(
    target: &T,
    start: &Component,
    settings: &BoostSettings,
    restarts: usize,
    seed: u64,
) -> (GaussianMixture, usize) {
    best_of(target, start, settings, (restarts, 1e-5), seed).unwrap()
}

fn settings(components: usize, points: usize, refit: Refit) -> BoostSettings {
    BoostSettings { components, points: Some(points), improvement: 1e-6, refit, ..BoostSettings::default() }
}

struct Nodal {
    target: GlmTarget<BernoulliLogit<Mixture8>>,
    log_evidence: f64,
    mean: Vec<f64>,
    sd: Vec<f64>,
}

/// The posterior on the paper's data with the prior N(0, sd²·I).
fn nodal_posterior(root: &Node<'_>, sd: f64) -> GlmTarget<BernoulliLogit<Mixture8>> {
    let x = root.get("X").unwrap().matrix().unwrap();
    let y: Vec<f64> =
        root.get("y").unwrap().vector().unwrap().iter().map(|y| if *y > 0.0 { 1.0 } else { 0.0 }).collect();
    let prior = DenseGaussian::isotropic(&[0.0; 6], sd).unwrap();
    GlmTarget::new(&prior, x.as_ref(), &y, BernoulliLogit(Mixture8)).unwrap()
}

impl Nodal {
    fn new() -> Self {
        let file = read("nodal_01.json");
        let root = Node::root(&file);
        let truth = root.get("truth").unwrap();
        let covariance = truth.get("cov").unwrap().matrix().unwrap();
        Self {
            target: nodal_posterior(&root, 1.0),
            log_evidence: truth.get("log_evidence").unwrap().number().unwrap(),
            mean: truth.get("mean").unwrap().vector().unwrap(),
            sd: (0..6).map(|j| covariance[(j, j)].sqrt()).collect(),
        }
    }

    /// The paper's start: N(0, 10·I).
    fn start() -> Component {
        Component::isotropic(&[0.0; 6], 10.0_f64.sqrt()).unwrap()
    }

    fn kl(&self, q: &GaussianMixture) -> Estimate {
        divergence::known_evidence(q, &self.target, self.log_evidence, 8192, 8, 3).unwrap()
    }

    /// Largest errors of the means, in posterior standard deviations, and of the standard deviations, relative.
    fn moments(&self, q: &GaussianMixture) -> (f64, f64) {
        let (mean, covariance) = (q.mean(), q.covariance().unwrap());
        let worst = |error: &dyn Fn(usize) -> f64| (0..6).map(error).fold(0.0, f64::max);
        (
            worst(&|j| (mean[j] - self.mean[j]).abs() / self.sd[j]),
            worst(&|j| (covariance[(j, j)].sqrt() / self.sd[j] - 1.0).abs()),
        )
    }
}

#[test]
fn two_and_three_refitted_components_on_nodal() {
    let nodal = Nodal::new();
    for seed in 1..=if slow() { 5 } else { 1 } {
        for (count, bound) in [(2, 0.0030), (3, 0.0015)] {
            let (q, _) = run(&nodal.target, &Nodal::start(), &settings(count, 1024, Refit::Each), 0, seed);
            let kl = nodal.kl(&q);
            assert!(
                kl.standard_error < 1e-4 && kl.value <= bound + 2.0 * kl.standard_error,
                "seed {seed}, {count}: {kl:?}"
            );
            if count == 3 {
                let (mean, sd) = nodal.moments(&q);
                assert!(mean < 0.02 && sd < 0.02, "{mean} {sd}");
            }
        }
    }
}

/// Priors a quarter and four times as wide in variance: a second and a third component take away as much of what the best single
/// Gaussian leaves as with the paper's own, up to half as much again.
#[test]
fn other_priors() {
    let file = read("nodal_01.json");
    let root = Node::root(&file);
    for sd in if slow() { vec![0.5, 2.0] } else { vec![2.0] } {
        let target = nodal_posterior(&root, sd);
        let start = Component::isotropic(&[0.0; 6], sd * 10.0_f64.sqrt()).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (best, _) = gaussian::fit(&target, &start, &GaussianSettings::default(), &mut rng).unwrap();
        let refitted = |count| run(&target, &start, &settings(count, 1024, Refit::Each), 0, 1).0;
        let (two, three) = (refitted(2), refitted(3));
        // The nearest mixture knows the evidence best.
        let log_evidence = divergence::quasi(&three, &target, 8192, 8, 5).unwrap().log_evidence;
        let kl = |q: &GaussianMixture| divergence::known_evidence(q, &target, log_evidence.value, 8192, 8, 3).unwrap();
        let single = kl(&GaussianMixture::single(best)).value;
        for (q, share) in [(&two, 0.0030 / 0.0082), (&three, 0.0015 / 0.0082)] {
            let found = kl(q);
            let error = 2.0 * found.standard_error.hypot(log_evidence.standard_error);
            assert!(found.value <= 1.5 * share * single + error, "sd {sd}: {found:?} of {single}");
        }
    }
}

#[test]
fn sixteen_greedy_components_on_nodal() {
    if !slow() {
        return;
    }
    let nodal = Nodal::new();
    for seed in 1..=3 {
        let (q, _) = run(&nodal.target, &Nodal::start(), &settings(16, 1024, Refit::Never), 0, seed);
        let kl = nodal.kl(&q);
        assert!(kl.standard_error <= 1e-4, "{kl:?}");
        assert!(q.len() <= 16 && kl.value <= 0.0075 + 2.0 * kl.standard_error, "{kl:?}");
        let (mean, sd) = nodal.moments(&q);
        assert!(mean < 0.03 && sd < 0.03, "{mean} {sd}");
    }
}

#[test]
fn eight_refitted_components_on_the_cauchy_density() {
    let file = read("toy_cauchy.json");
    let toy = Toy::read(&Node::root(&file).get("target").unwrap()).unwrap();
    let start = Component::isotropic(&[0.0], 10.0).unwrap();
    let (lower, upper) = toy.range(&start);
    let line = Quadrature::new(&toy, &lower, &upper).unwrap();
    for seed in 1..=if slow() { 10 } else { 1 } {
        let (q, _) = run(&toy, &start, &settings(8, 512, Refit::Each), 0, seed);
        let kl = line.kl(&q, toy.log_normaliser()).unwrap();
        assert!(q.len() <= 8 && kl <= 0.002, "{seed}: {kl}");
    }
}

/// From the stored q₁, for each of ten seeds, with at most eight restarts each.
#[test]
fn both_mixtures_with_as_many_components_as_they_have() {
    for (name, count, sigma) in [("toy_mixture4_1d.json", 4, 10.0), ("toy_mixture5_2d.json", 5, 6.0)] {
        let file = read(name);
        let toy = Toy::read(&Node::root(&file).get("target").unwrap()).unwrap();
        let start = Component::isotropic(&vec![0.0; toy.dim()], sigma).unwrap();
        let (lower, upper) = toy.range(&start);
        let line = Quadrature::new(&toy, &lower, &upper).unwrap();
        for seed in 1..=if slow() { 10 } else { 1 } {
            let (q, runs) = run(&toy, &start, &settings(count, 512, Refit::Each), 8, seed);
            let kl = line.kl(&q, 0.0).unwrap();
            assert!(q.len() == count && runs <= 9 && kl.abs() < 1e-4, "{name}, seed {seed}: {kl} after {runs} runs");
        }
    }
}

/// The refined posterior of a filter is a start that boosting improves on.
#[test]
fn a_filters_posterior_is_a_start() {
    use vi_core::{Exact, batch};
    use vi_linalg::faer::Par;
    let file = read("nodal_01.json");
    let root = Node::root(&file);
    let x = root.get("X").unwrap().matrix().unwrap();
    let y: Vec<f64> =
        root.get("y").unwrap().vector().unwrap().iter().map(|y| if *y > 0.0 { 1.0 } else { 0.0 }).collect();
    let prior = DenseGaussian::isotropic(&[0.0; 6], 1.0).unwrap();
    let (best, _) = batch::optimum(
        &prior,
        &prior,
        x.as_ref(),
        &y,
        &BernoulliLogit(Exact),
        &batch::BatchSettings::default(),
        Par::Seq,
    )
    .unwrap();
    let nodal = Nodal::new();
    let q = GaussianMixture::single(Component::of_belief(&best).unwrap());
    let before = nodal.kl(&q);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let start = Nodal::start();
    let mut run =
        boost::Boost::from_mixture(&nodal.target, q, &start, &settings(2, 1024, Refit::Each), &mut rng).unwrap();
    run.run(|_, _| ControlFlow::Continue(())).unwrap();
    let after = nodal.kl(run.mixture().unwrap());
    assert!(after.value < 0.5 * before.value, "{before:?} {after:?}");
}
