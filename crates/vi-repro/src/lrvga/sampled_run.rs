//! One prior on one data set, by closed forms and by draws, in the paper's way and in ours.

use rand_chacha::ChaCha8Rng;
use vi_core::low_rank::{SweepSettings, sweep};
use vi_core::nonlinear::{self, LinearMap, NonlinearModel, NonlinearSettings, Sampling, Scalar, Scheme};
use vi_core::{
    BernoulliLogit, DenseGaussian, GaussianBelief, GlmPosterior, Implicit, LowRankGaussian, LowRankSettings, MeanMoves,
    MirrorProx, MirrorProxPrinted, Mixture8, SiteRule, SkipCovariance, batch, filter,
};
use vi_data::Dataset;
use vi_linalg::faer::{MatRef, Par};
use vi_models::laplace::{self, LaplaceSettings};

use crate::error::{Doing as _, ReproError};
use crate::plot::palette::{BLUE, Colour, GREEN, VERMILLION};

pub(super) const DRAWS: [(usize, Colour); 3] = [(1, VERMILLION), (10, GREEN), (100, BLUE)];
pub(super) const RANK: usize = 10;
/// Dimension of the weights.
pub(super) const D: usize = 50;
/// Share of the prior precision that the recursion starts its factor with (Appendix D).
const EPSILON: f64 = 1e-8;
const LOGIT: BernoulliLogit<Mixture8> = BernoulliLogit(Mixture8);

/// How steps are taken and projected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Row by row from a small factor; skip-covariance, independent draws.
    Paper,
    /// Blocks from a spectral start; the corrected mirror-prox, draws in pairs.
    Ours,
}

impl Way {
    pub(super) const ALL: [Self; 2] = [Self::Paper, Self::Ours];

    pub(super) fn slug(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Ours => "ours",
        }
    }

    fn start(self, sigma0: f64, rng: &mut ChaCha8Rng) -> Result<LowRankGaussian, ReproError> {
        let (mean, variances) = ([0.0; D], [sigma0 * sigma0; D]);
        let belief = match self {
            Self::Paper => LowRankSettings::recursive(RANK, 1, MeanMoves::BeforeProjection)
                .and_then(|s| LowRankGaussian::with_small_factor(&mean, &variances, EPSILON, s, rng)),
            Self::Ours => LowRankSettings::blocked(RANK).and_then(|s| LowRankGaussian::new(&mean, &variances, s)),
        };
        belief.context("start")
    }

    fn settings(self, draws: usize) -> NonlinearSettings {
        let ours = NonlinearSettings::new(draws);
        match self {
            Self::Paper => {
                NonlinearSettings { scheme: Scheme::SkipCovariance, sampling: Sampling::Independent, ..ours }
            }
            Self::Ours => ours,
        }
    }
}

/// KL over the rows; `draws` is `None` for closed forms.
pub(super) struct Path {
    pub(super) draws: Option<usize>,
    pub(super) values: Vec<f64>,
}

/// One prior on one data set.
pub(super) struct Run {
    pub(super) sigma0: f64,
    pub(super) times: Vec<f64>,
    /// By [`Way`], then closed forms and the numbers of [`DRAWS`].
    pub(super) paths: [Vec<Path>; 2],
    /// From our pass with ten draws.
    pub(super) swept: f64,
    /// One pass with a full covariance.
    pub(super) dense: f64,
    pub(super) laplace: f64,
    /// Our closed forms with a projection at every row.
    pub(super) every_row: f64,
    /// The printed mirror-prox by closed forms in the paper's recursion.
    pub(super) with_extra_update: f64,
}

impl Run {
    pub(super) fn last(&self, way: Way, draws: Option<usize>) -> f64 {
        let path = self.paths[usize::from(way == Way::Ours)].iter().find(|p| p.draws == draws);
        path.and_then(|p| p.values.last()).copied().unwrap_or(f64::NAN)
    }
}

/// A prior, the posterior and what a belief is held against.
struct Problem<'a> {
    data: &'a Dataset,
    sigma0: f64,
    posterior: GlmPosterior<'a, BernoulliLogit<Mixture8>>,
    least: f64,
    marks: Vec<usize>,
}

impl Problem<'_> {
    fn dense_kl(&self, belief: &DenseGaussian) -> Result<f64, ReproError> {
        Ok(self.posterior.kl(belief, Par::Seq).context("divergence")? - self.least)
    }

    fn kl(&self, belief: &LowRankGaussian) -> Result<f64, ReproError> {
        self.dense_kl(&belief.to_dense().context("dense form")?)
    }

    fn judged(&self, seen: &[LowRankGaussian]) -> Result<Vec<f64>, ReproError> {
        seen.iter().map(|belief| self.kl(belief)).collect()
    }

    fn closed(&self, rule: &impl SiteRule, mut belief: LowRankGaussian) -> Result<Vec<f64>, ReproError> {
        let mut seen = Vec::new();
        for (t, (x, y)) in self.data.observations().enumerate() {
            belief.step(rule, x, y, Par::Seq).context("a step by closed forms")?;
            if self.marks.contains(&t) {
                seen.push(belief.clone());
            }
        }
        self.judged(&seen)
    }

    fn sampled(&self, way: Way, draws: usize, rng: &mut ChaCha8Rng) -> Result<(Vec<f64>, LowRankGaussian), ReproError> {
        let model =
            LinearMap::new(D, 1).and_then(|map| NonlinearModel::new(map, Scalar(LOGIT))).context("a pass by draws")?;
        let y = MatRef::from_column_major_slice(self.data.y(), self.data.n(), 1);
        let (mut belief, how) = (way.start(self.sigma0, rng)?, way.settings(draws));
        let mut seen = Vec::new();
        nonlinear::run(&mut belief, &model, self.data.x(), y, &how, rng, Par::Seq, |t, belief| {
            if self.marks.contains(&t) {
                seen.push(belief.clone());
            }
        })
        .context("a pass by draws")?;
        Ok((self.judged(&seen)?, belief))
    }
}

/// `curve`: how many times on the way the beliefs are judged.
pub(super) fn run(data: &Dataset, sigma0: f64, curve: usize, rng: &mut ChaCha8Rng) -> Result<Run, ReproError> {
    let (x, y, n) = (data.x(), data.y(), data.n());
    let prior = DenseGaussian::isotropic(&[0.0; D], sigma0).context("prior")?;
    let (best, _) = batch::optimum(&prior, &prior, x, y, &LOGIT, &batch::BatchSettings::default(), Par::Seq)
        .context("batch optimum")?;
    let posterior = GlmPosterior::new(&prior, x, y, LOGIT).context("posterior")?;
    let least = posterior.kl(&best, Par::Seq).context("divergence")?;
    let marks: Vec<usize> = (0..n).filter(|t| (t + 1) % (n / curve).max(1) == 0).collect();
    let times = marks.iter().map(|t| (t + 1) as f64).collect();
    let problem = Problem { data, sigma0, posterior, least, marks };

    let mut dense = prior.clone();
    filter::run(&mut dense, &Implicit(LOGIT), x, y, |_, _, _| {}).context("R-VGA")?;
    let mode = laplace::fit(&prior, x, y, &LOGIT, &LaplaceSettings::default()).context("Laplace")?;

    let mut swept = f64::NAN;
    let mut paths = [Vec::new(), Vec::new()];
    for (way, paths) in Way::ALL.into_iter().zip(&mut paths) {
        let start = way.start(sigma0, rng)?;
        let values = match way {
            Way::Paper => problem.closed(&SkipCovariance(LOGIT), start)?,
            Way::Ours => problem.closed(&MirrorProx(LOGIT), start)?,
        };
        paths.push(Path { draws: None, values });
        for (draws, _) in DRAWS {
            let (values, mut belief) = problem.sampled(way, draws, rng)?;
            paths.push(Path { draws: Some(draws), values });
            if way == Way::Ours && draws == 10 {
                let prior = way.start(sigma0, rng)?;
                sweep(&prior, &mut belief, x, y, &LOGIT, &SweepSettings::default(), Par::Seq).context("sweeps")?;
                swept = problem.kl(&belief)?;
            }
        }
    }
    let printed = problem.closed(&MirrorProxPrinted(LOGIT), Way::Paper.start(sigma0, rng)?)?;
    let often = LowRankSettings::blocked(RANK)
        .and_then(|s| s.with_block(1))
        .and_then(|s| LowRankGaussian::isotropic(&[0.0; D], sigma0, s))
        .context("start")?;
    let every_row = problem.closed(&MirrorProx(LOGIT), often)?;
    Ok(Run {
        sigma0,
        times,
        paths,
        swept,
        dense: problem.dense_kl(&dense)?,
        laplace: problem.dense_kl(&mode.belief)?,
        every_row: every_row.last().copied().unwrap_or(f64::NAN),
        with_extra_update: printed.last().copied().unwrap_or(f64::NAN),
    })
}
