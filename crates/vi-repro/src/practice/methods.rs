//! The methods compared: each fits some rows and gives the probability of class 1 for others.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_boost::target::GlmTarget;
use vi_boost::{Boost, BoostSettings, Component, Refit};
use vi_core::batch::{self, BatchSettings};
use vi_core::refine::{self, RefineSettings};
use vi_core::{BernoulliLogit, DenseGaussian, Exact, Implicit, Mixture8, filter};
use vi_data::Dataset;
use vi_linalg::faer::Par;
use vi_models::laplace::{self, LaplaceSettings};
use vi_models::online::OnlineLogistic;
use vi_models::predict;
use vi_models::vb::{self, LogitBound, LogitPrior, VbSettings};
use vi_revrand::Kernel;
use vi_revrand::basis::{LengthScale, Linear, RandomFourier};
use vi_revrand::glm::{Glm, GlmSettings, Rows};
use vi_revrand::likelihood::Bernoulli;

use crate::error::{Doing as _, ReproError};
use crate::looks::looks;

looks! {
    /// A method, in the order of tables.
    pub(super) enum Method {
        FrontDoor: "front_door", "front door, row by row", BLUE Solid None;
        OnePass: "one_pass", "one pass", BLUE Solid None;
        Blocks: "blocks", "one pass in blocks", SKY Solid None;
        Sweeps: "sweeps", "blocks and three sweeps", PURPLE Solid None;
        Optimum: "optimum", "batch variational Gaussian", BLACK Solid None;
        Laplace: "laplace", "Laplace", VERMILLION Solid None;
        Quadratic: "vb_quadratic", "VB, quadratic bound", ORANGE Solid None;
        Softplus: "vb_softplus", "VB, softplus bound", GREEN Solid None;
        Relevance: "vb_ard", "VB, relevance determination", GREEN Solid None;
        Boosting: "boosting", "boosting, three components", BROWN Solid None;
        Features: "features", "GLM on random features", BROWN Solid None;
    }
}

/// Standard deviation of the prior where a method does not learn it.
pub(super) const SIGMA0: f64 = 10.0;
const LOGIT: BernoulliLogit<Mixture8> = BernoulliLogit(Mixture8);
const SWEEPS: usize = 3;
/// Pairs of random features.
const PAIRS: usize = 50;
/// Components of the boosted mixture.
const COMPONENTS: usize = 3;

impl Method {
    /// What it is for, in a line.
    pub(super) fn when(self) -> &'static str {
        match self {
            Self::FrontDoor => "rows that arrive one by one; scales and prior are learned",
            Self::OnePass => "rows that arrive one by one and cannot be kept; the prior is known",
            Self::Blocks => "the same in batches, or many weights",
            Self::Sweeps => "rows that can be kept: removes the one-pass error",
            Self::Optimum => "a reference: the best Gaussian for a known prior",
            Self::Laplace => "a quick look at a posterior that is nearly Gaussian",
            Self::Quadratic => "the shrinkage is unknown; intervals come out short",
            Self::Softplus => "the shrinkage is unknown",
            Self::Relevance => "most inputs are believed to be irrelevant",
            Self::Boosting => "few weights and a posterior that is not Gaussian",
            Self::Features => "the boundary between the classes is not a plane",
        }
    }

    /// Whether its cost lets it run on so many weights here.
    pub(super) fn runs_on(self, d: usize) -> bool {
        self != Self::Boosting || d < 10
    }

    /// Fits the rows of `train` and predicts those of `test`.
    pub(super) fn predict(self, train: &Dataset, test: &Dataset, seed: u64) -> Result<Vec<f64>, ReproError> {
        let (x, y, d) = (train.x(), train.y(), train.d());
        let prior = DenseGaussian::isotropic(&vec![0.0; d], SIGMA0).context(self.label())?;
        let by = |belief: &DenseGaussian| -> Result<Vec<f64>, ReproError> {
            let predicted = predict::logistic(belief, test.x(), &Exact).context(self.label())?;
            Ok(predicted.iter().map(|p| p.probability).collect())
        };
        match self {
            Self::FrontDoor => {
                let mut model = OnlineLogistic::new(d).context(self.label())?;
                for (x, y) in train.observations() {
                    model.update(x, y).context(self.label())?;
                }
                let one = |(x, _): (&[f64], f64)| Ok(model.predict(x).context(self.label())?.probability);
                test.observations().map(one).collect()
            }
            Self::OnePass => {
                let mut belief = prior.clone();
                filter::run(&mut belief, &Implicit(LOGIT), x, y, |_, _, _| {}).context(self.label())?;
                by(&belief)
            }
            Self::Blocks => {
                let pass = refine::first_pass(&prior, &Implicit(LOGIT), x, y, Par::Seq).context(self.label())?;
                by(&pass.belief)
            }
            Self::Sweeps => {
                let mut pass = refine::first_pass(&prior, &Implicit(LOGIT), x, y, Par::Seq).context(self.label())?;
                let settings =
                    RefineSettings { tolerance: f64::MIN_POSITIVE, max_sweeps: SWEEPS, ..RefineSettings::default() };
                refine::refine(&prior, &mut pass, x, y, &LOGIT, &settings, Par::Seq).context(self.label())?;
                by(&pass.belief)
            }
            Self::Optimum => {
                let settings = BatchSettings::default();
                let best = batch::optimum(&prior, &prior, x, y, &LOGIT, &settings, Par::Seq).context(self.label())?;
                by(&best.0)
            }
            Self::Laplace => {
                let fit = laplace::fit(&prior, x, y, &LOGIT, &LaplaceSettings::default()).context(self.label())?;
                by(&fit.belief)
            }
            Self::Quadratic | Self::Softplus | Self::Relevance => {
                let bound = if self == Self::Quadratic { LogitBound::JaakkolaJordan } else { LogitBound::Softplus };
                let fit = if self == Self::Relevance { vb::logit_ard } else { vb::logit };
                let settings = VbSettings { tolerance: Some(1e-6), max_iterations: 500 };
                let fit = fit(x, y, LogitPrior::default(), bound, &settings, Par::Seq).context(self.label())?;
                let predicted = fit.predict_by(test.x(), &Exact).context(self.label())?;
                Ok(predicted.iter().map(|p| p.probability).collect())
            }
            Self::Boosting => {
                let target = GlmTarget::new(&prior, x, y, LOGIT).context(self.label())?;
                let start = Component::isotropic(&vec![0.0; d], SIGMA0).context(self.label())?;
                let settings = BoostSettings { components: COMPONENTS, refit: Refit::Each, ..BoostSettings::default() };
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let mut boost = Boost::new(&target, &start, &settings, &mut rng).context(self.label())?;
                boost.run(|_, _| std::ops::ControlFlow::Continue(())).context(self.label())?;
                let mixture = boost.mixture().context(self.label())?;
                let mut mean = vec![0.0; test.n()];
                for (component, weight) in mixture.components().iter().zip(mixture.weights()) {
                    let each = by(&component.to_belief().context(self.label())?)?;
                    for (sum, p) in mean.iter_mut().zip(each) {
                        *sum += weight * p;
                    }
                }
                Ok(mean)
            }
            Self::Features => {
                let rng = &mut ChaCha8Rng::seed_from_u64(seed);
                let scale = LengthScale::Shared((d as f64).sqrt());
                let waves = RandomFourier::new(Kernel::Rbf, d, PAIRS, scale, rng).context(self.label())?;
                let basis = Linear::new(d).context(self.label())? + waves;
                let mut model = Glm::new(basis, Bernoulli, GlmSettings::default(), rng).context(self.label())?;
                model.fit(Rows::new(x, y), rng).context(self.label())?;
                let predicted = model.predict(test.x(), None, Par::Seq).context(self.label())?;
                predicted.means(Par::Seq).context(self.label())
            }
        }
    }
}
