//! Priors and settings.

use std::fmt::Debug;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_boost::{Component, GaussianMixture};
use vi_core::block::BlockSettings;
use vi_core::factor::start_isotropic;
use vi_core::{
    AdaptiveFading, DenseGaussian, DiagonalGaussian, Forgetting, GaussianLikelihood, LowRankGaussian, LowRankSettings,
    Sites, SquareRootGaussian, implicit, quadrature,
};
use vi_linalg::faer::{Mat, MatRef};
use vi_models::likelihood::{Binomial, NegativeBinomial, Poisson, StudentT};
use vi_models::linear::NoisePrecision;
use vi_models::online::{Memory, OnlineLinear, OnlineLogistic, OnlineSettings, PriorScale, Standardise};
use vi_models::{Student, metrics};
use vi_revrand::basis::{Kernel, LengthScale, RandomFourier};
use vi_revrand::likelihood::Gaussian;
use vi_sums::{
    At, Family, GlmPrior, GlmSpec, LinearPosterior, LinearPrior, LinearSpec, OnePass, PassSums, Posterior, Predictor,
};

use super::{Table, called};

const HEAD: [&str; 4] = ["NaN", "∞", "−1", "0"];
const VALUES: [f64; 4] = [f64::NAN, f64::INFINITY, -1.0, 0.0];

#[derive(Default)]
struct Entries(Vec<(String, Vec<Option<String>>)>);

impl Entries {
    /// What is said of each of the `VALUES`; of those in `bad` an error.
    fn ask<T, E: Debug>(&mut self, name: &str, bad: &[usize], call: impl Fn(f64) -> Result<T, E>) {
        assert!(call(0.5).is_ok(), "{name}: {:?}", call(0.5).err());
        let cells: Vec<Option<String>> =
            VALUES.iter().map(|&value| call(value).err().map(|error| called(&error))).collect();
        assert!(cells[0].is_some() || !bad.contains(&0), "{name}: NaN is taken");
        self.0.push((name.to_owned(), cells));
    }
}

const ALL: &[usize] = &[0, 1, 2, 3];
const NOT_FINITE: &[usize] = &[0, 1];
const NEGATIVE: &[usize] = &[0, 1, 2];

fn square(value: f64) -> Mat<f64> {
    Mat::from_fn(2, 2, |i, j| if i == j { value } else { 0.0 })
}

fn online(settings: OnlineSettings) -> Result<OnlineLogistic, vi_models::ModelError> {
    OnlineLogistic::with_settings(2, settings)
}

fn beliefs(entries: &mut Entries) {
    let form = || LowRankSettings::blocked(1).unwrap();
    entries.ask("DenseGaussian::isotropic: σ₀", ALL, |s| DenseGaussian::isotropic(&[0.0; 2], s));
    entries.ask("DenseGaussian::isotropic: mean", NOT_FINITE, |m| DenseGaussian::isotropic(&[0.0, m], 1.0));
    entries.ask("DenseGaussian::new: covariance", ALL, |v| DenseGaussian::new(&[0.0; 2], square(v).as_ref()));
    entries.ask("SquareRootGaussian::isotropic: σ₀", ALL, |s| SquareRootGaussian::isotropic(&[0.0; 2], s));
    entries.ask("DiagonalGaussian::isotropic: σ₀", ALL, |s| DiagonalGaussian::isotropic(&[0.0; 2], s));
    entries.ask("LowRankGaussian::isotropic: σ₀", ALL, |s| LowRankGaussian::isotropic(&[0.0; 2], s, form()));
    entries.ask("LowRankGaussian::new: variances", ALL, |v| LowRankGaussian::new(&[0.0; 2], &[1.0, v], form()));
    entries.ask("GaussianLikelihood::new: variance", ALL, GaussianLikelihood::new);
    entries.ask("Forgetting::fading: λ", ALL, Forgetting::<DenseGaussian>::fading);
    entries.ask("AdaptiveFading::new: window", ALL, |w| AdaptiveFading::new(40.0 * w, 1.0));
    entries.ask("Sites::new: slope", NOT_FINITE, |s| Sites::new(vec![s], vec![1.0]));
    let size = |rows: f64| if rows == f64::INFINITY { usize::MAX } else { 2 * usize::from(rows > 0.0) };
    entries.ask("BlockSettings::new: rows", &[3], |rows| BlockSettings::new(size(rows)));
    let rng = || ChaCha8Rng::seed_from_u64(1);
    entries.ask("factor::start_isotropic: size", ALL, |s| start_isotropic(3, 1, s, 0.1, &mut rng()));
    entries.ask("implicit::probit_root: ν", NEGATIVE, |nu| implicit::probit_root(1.0, 0.3, nu));
    let logit = vi_core::BernoulliLogit(vi_core::Exact);
    entries.ask("quadrature::tilted: ν", NEGATIVE, |nu| quadrature::tilted(&logit, 1.0, 0.3, nu));
}

fn models(entries: &mut Entries) {
    entries.ask("NoisePrecision::new: shape", ALL, |a| NoisePrecision::new(a, 1.0));
    entries.ask("NoisePrecision::new: rate", ALL, |b| NoisePrecision::new(1.0, b));
    entries.ask("Poisson::new: exposure", ALL, Poisson::new);
    entries.ask("NegativeBinomial::new: size", ALL, NegativeBinomial::new);
    entries.ask("Binomial::new: trials", ALL, |n| Binomial::new(2.0 * n));
    entries.ask("StudentT::new: degrees of freedom", ALL, |nu| StudentT::new(nu, 1.0));
    entries.ask("Student::new: scale", ALL, |scale| Student::new(0.0, scale, 3.0));
    entries.ask("metrics::brier_score: probability", NEGATIVE, |p| metrics::brier_score(&[0.2, p], &[0.0, 1.0]));
    entries.ask("OnlineLinear::with_settings: shape", ALL, |a| {
        OnlineLinear::with_settings(2, OnlineSettings::default(), a, 1.0)
    });
    entries.ask("OnlineSettings: prior scale", ALL, |s| {
        online(OnlineSettings { prior_scale: PriorScale::Given(s), ..OnlineSettings::default() })
    });
    entries.ask("OnlineSettings: prior scales", ALL, |s| {
        online(OnlineSettings { prior_scale: PriorScale::Among(vec![1.0, s]), ..OnlineSettings::default() })
    });
    entries.ask("OnlineSettings: intercept scale", ALL, |s| {
        online(OnlineSettings { intercept_scale: s, ..OnlineSettings::default() })
    });
    entries.ask("OnlineSettings: memory", ALL, |m| {
        online(OnlineSettings { memory: Memory::Fading(m), ..OnlineSettings::default() })
    });
    entries.ask("Standardise::Fixed: scales", ALL, |s| {
        let standardise = Standardise::Fixed { centres: vec![0.0; 2], scales: vec![1.0, s] };
        online(OnlineSettings { standardise, ..OnlineSettings::default() })
    });
    entries.ask("Standardise::Fixed: centres", NOT_FINITE, |c| {
        let standardise = Standardise::Fixed { centres: vec![0.0, c], scales: vec![1.0; 2] };
        online(OnlineSettings { standardise, ..OnlineSettings::default() })
    });
}

fn mixtures_and_features(entries: &mut Entries) {
    entries.ask("Component::full: covariance", ALL, |v| Component::full(&[0.0; 2], square(v).as_ref()));
    entries.ask("Component::diagonal: variances", ALL, |v| Component::diagonal(&[0.0; 2], &[1.0, v]));
    entries.ask("Component::diagonal: mean", NOT_FINITE, |m| Component::diagonal(&[0.0, m], &[1.0; 2]));
    entries.ask("Component::isotropic: σ", ALL, |s| Component::isotropic(&[0.0; 2], s));
    entries.ask("Component::low_rank: factor", NOT_FINITE, |v| {
        Component::low_rank(&[0.0; 2], &[1.0; 2], MatRef::from_column_major_slice(&[1.0, v], 2, 1))
    });
    let one = || Component::diagonal(&[0.0], &[1.0]).unwrap();
    entries.ask("GaussianMixture::new: weights", ALL, |w| GaussianMixture::new(vec![one(), one()], &[w, 0.5]));
    let mixture = GaussianMixture::single(one());
    entries.ask("GaussianMixture::log_density: point", NOT_FINITE, |x| mixture.log_density(&[x]));
    entries.ask("likelihood::Gaussian::new: variance", ALL, Gaussian::new);
    entries.ask("RandomFourier::new: length scale", ALL, |l| {
        RandomFourier::new(Kernel::Rbf, 2, 3, LengthScale::Shared(l), &mut ChaCha8Rng::seed_from_u64(1))
    });
}

fn sums(entries: &mut Entries) {
    let linear = |prior| LinearPosterior::new(2, prior);
    let (prior, glm) = (LinearPrior::default(), GlmPrior::default());
    entries.ask("LinearPrior: scale", ALL, |scale| linear(LinearPrior { scale, ..prior }));
    entries.ask("LinearPrior: intercept", NEGATIVE, |intercept| linear(LinearPrior { intercept, ..prior }));
    entries.ask("LinearPrior: shape", ALL, |shape| linear(LinearPrior { shape, ..prior }));
    entries.ask("LinearPrior: rate", ALL, |rate| linear(LinearPrior { rate, ..prior }));
    let begun = |prior| OnePass::new(Family::Logistic, prior, 2);
    entries.ask("GlmPrior: scale", ALL, |scale| begun(GlmPrior { scale, ..glm }));
    entries.ask("GlmPrior: intercept", NEGATIVE, |intercept| begun(GlmPrior { intercept, ..glm }));
    entries.ask("Family::negative_binomial: size", ALL, Family::negative_binomial);
    entries.ask("LinearSpec::parse: scale", ALL, |scale| LinearSpec::parse(&format!("scale={scale}")));
    entries.ask("GlmSpec::parse: scale", ALL, |scale| GlmSpec::parse(&format!("probit scale={scale}")));
    let posterior = begun(glm).unwrap().posterior().unwrap();
    let predictor = Predictor::new(&Posterior::from(posterior)).unwrap();
    entries.ask("Predictor::predict: level", ALL, |level| predictor.predict(&[0.5, 1.0], level));
    entries.ask("Predictor::weights: level", ALL, |level| predictor.weights(level));
    let at = At::belief(Family::Logistic, glm, &glm.belief(2).unwrap()).unwrap();
    entries.ask("PassSums::newton: share", ALL, |share| PassSums::new(&at).newton(&at, share));
}

pub(super) fn table() -> Table {
    let mut entries = Entries::default();
    beliefs(&mut entries);
    models(&mut entries);
    mixtures_and_features(&mut entries);
    sums(&mut entries);
    let words = "Priors, settings and single numbers. An empty cell: the value is taken.";
    Table { title: "Priors and settings", words, head: &HEAD, lines: entries.0 }
}
