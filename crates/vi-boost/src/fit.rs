//! A posterior in one call, without a start distribution or settings.
//!
//! | step | what | file |
//! |---|---|---|
//! | 1 | modes by L-BFGS from near starting points, then from ever further ones about what was found | `fit/search` |
//! | 2 | from each the best Gaussian on few points, the best of them on many, and the mixture of all | `fit/start` |
//! | 3 | [`Boost`] from that mixture unless it is exact, places for further components from one that spans all of them | |
//! | 4 | a [`Diagnosis`] on fresh draws and far outside; where it finds much left, boosting goes on with more points and components | `fit/diagnosis`, `fit/beyond` |

mod beyond;
mod diagnosis;
mod search;
mod start;

pub use diagnosis::{Diagnosis, Verdict};

use std::ops::ControlFlow;

use rand::{Rng, RngExt};
use vi_core::{Stop, check, psis};
use vi_linalg::faer::{Mat, MatRef};

use self::start::Region;
use crate::boost::{Boost, BoostSettings, Info, MOST_COMPONENTS};
use crate::component::Component;
use crate::error::setting;
use crate::evaluations::Evaluations;
use crate::mixture::GaussianMixture;
use crate::seeds::Seeds;
use crate::{BoostError, LogDensity};

/// The settings of [`fit`](fit()).
///
/// ```
/// use vi_boost::{BoostSettings, FitSettings};
/// let boost = BoostSettings { components: 3, ..BoostSettings::default() };
/// let settings = FitSettings { starts: 4, boost, ..FitSettings::default() };
/// assert!(settings.check().is_ok());
/// assert!(FitSettings { draws: 10, ..settings }.check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FitSettings {
    /// The settings of boosting.
    pub boost: BoostSettings,
    /// The number of starting points from which a mode is sought: 0, and others uniform on `[−2, 2]ᵈ`.
    pub starts: usize,
    /// The number of draws of the mixture for its diagnosis.
    pub draws: usize,
    /// How often boosting may go on, with twice as many components and twice as many points, while the diagnosis is not good.
    pub rounds: usize,
    /// The number of evaluations, with or without gradient, from which on no further search begins; one that has begun ends, and
    /// the diagnosis is always made. `None` is no limit.
    pub evaluations: Option<u64>,
}

impl Default for FitSettings {
    /// The default is [`BoostSettings::default`], 8 starting points, 4000 draws for the diagnosis, and one more round of boosting
    /// if it finds much left.
    fn default() -> Self {
        Self { boost: BoostSettings::default(), starts: 8, draws: 4000, rounds: 1, evaluations: None }
    }
}

/// The most further rounds: by then components and points, which double, have reached their limits.
const MOST_ROUNDS: usize = 10;

impl FitSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// Those of [`BoostSettings::check`]; `Setting` unless there are 1 to 10⁶ starting points, at least 100 draws, and at most 10 rounds.
    pub fn check(&self) -> Result<(), BoostError> {
        self.boost.check()?;
        check::limit("starts", self.starts)?;
        if self.draws < 100 {
            return Err(setting("draws", self.draws as f64, "at least 100"));
        }
        if self.rounds > MOST_ROUNDS {
            return Err(setting("rounds", self.rounds as f64, "at most 10"));
        }
        Ok(())
    }
}

/// A posterior as a mixture, with its diagnosis.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fit {
    /// The mixture.
    pub mixture: GaussianMixture,
    /// The best single Gaussian, from which the mixture was grown.
    pub gaussian: Component,
    /// The diagnosis of the mixture, on draws that were used for nothing else.
    pub diagnosis: Diagnosis,
    /// The report of the last step of boosting; `None` if the modes' Gaussians were good already.
    pub info: Option<Info>,
    /// Why boosting ended.
    pub stop: Stop,
    /// The number of different modes found from the starting points: places further apart than three standard deviations.
    pub modes: usize,
    /// The probability that one more start of the search for modes leads to a mode not met, by Good and Turing: the share of
    /// starts that led to a mode met once.
    pub unseen: f64,
    /// The number of rounds of boosting.
    pub rounds: usize,
    /// The points at which the target was evaluated, with or without its gradient, by phase.
    pub evaluations: Evaluations,
}

/// Fits a Gaussian mixture to the posterior `target`, in one call and without a start distribution.
///
/// Coordinates should be such that a typical value is between order one and a few hundred; constrained parameters go through
/// [`Constrained`](crate::transform::Constrained). It takes some 10⁵ evaluations of the target for a posterior in ten dimensions,
/// with its gradient if it has one.
///
/// # Errors
/// Those of [`FitSettings::check`]; [`BoostError::NoStart`] if the target is finite at none of the starting points;
/// [`BoostError::Improper`] if it has no finite integral; [`BoostError::TargetValue`] if it is NaN or +∞ at a draw of the result.
///
/// ```
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
/// use vi_boost::{FitSettings, Verdict, fit, target::Banana};
/// let target = Banana::new(1.5, 0.5)?;
/// let found = fit(&target, &FitSettings::default(), &mut ChaCha8Rng::seed_from_u64(1))?;
/// assert_eq!(found.diagnosis.verdict, Verdict::Good);
/// let draws = found.mixture.draw(1000, &mut ChaCha8Rng::seed_from_u64(2));
/// assert_eq!(draws.shape(), (1000, 2));
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
pub fn fit<T: LogDensity + ?Sized, R: Rng + ?Sized>(
    target: &T,
    settings: &FitSettings,
    rng: &mut R,
) -> Result<Fit, BoostError> {
    settings.check()?;
    check::room("dimension of the target", &[target.dim()])?;
    check::room("draws", &[settings.draws, target.dim()])?;
    check::room("starts", &[settings.starts, target.dim()])?;
    let mut seeds = Seeds::new(rng.random());
    let mut region = Region::find(target, (settings.starts, settings.evaluations), &mut seeds)?;
    let modes = region.all.len();
    let mut spent = region.evaluations;
    // A mode keeps its component, and boosting adds to them.
    let components = settings.boost.components.max(modes.saturating_add(1).min(MOST_COMPONENTS));
    let mut boost_settings = BoostSettings { components, ..settings.boost.clone() };
    let mut q = region.all.clone();
    let (mut rounds, mut info, mut stop, mut gap) = (0, None, Stop::Converged, f64::NAN);
    let over = |spent: &Evaluations| settings.evaluations.is_some_and(|limit| spent.all().total() >= limit);
    loop {
        let mut rng = seeds.generator();
        let found = Diagnosis::of(&q, target, settings.draws, gap, &mut rng)?;
        let outside = beyond::mass_beyond(&q, target, found.log_evidence, FAR_SEED)?;
        let diagnosis = found.seen((region.unseen, region.thorough), outside);
        spent.diagnosis.values += (settings.draws + beyond::POINTS) as u64;
        let good = matches!(diagnosis.verdict, Verdict::Good | Verdict::Near);
        let enough = good && (rounds > 0 || diagnosis.kl <= EXACT);
        if enough || rounds > settings.rounds || over(&spent) {
            let (mixture, gaussian, unseen, evaluations) = (q, region.gaussian, region.unseen, spent);
            return Ok(Fit { mixture, gaussian, diagnosis, info, stop, modes, unseen, rounds, evaluations });
        }
        if rounds > 0 {
            region.widen(&q)?;
            boost_settings = boost_settings.doubled(target.dim());
        }
        rounds += 1;
        let mut boost = match Boost::from_mixture(target, q, &region.wide, &boost_settings, &mut rng) {
            // The target is zero near a lesser mode: the best Gaussian alone is finite at its points.
            Err(BoostError::Unsupported { .. }) if rounds == 1 && modes > 1 => {
                let single = GaussianMixture::single(region.gaussian.clone());
                Boost::from_mixture(target, single, &region.wide, &boost_settings, &mut rng)?
            }
            boost => boost?,
        };
        boost.reweigh();
        let limit = settings.evaluations.map(|limit| limit.saturating_sub(spent.all().total()));
        let on_step = |info: &Info, _: &GaussianMixture| match limit {
            Some(limit) if info.evaluations >= limit => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        stop = boost.run(on_step)?;
        let (Some(grown), Some(last)) = (boost.mixture(), boost.last()) else {
            return Err(BoostError::NoCandidate { tries: 0 });
        };
        (info, gap) = (Some(*last), last.gap);
        spent = spent.plus(&boost.evaluations());
        q = grown.clone();
    }
}

/// The nats left, at most, for the Gaussians of the modes to be taken as they are: from a Gaussian target they are then, by
/// Talagrand's inequality, within `√(2·10⁻³)` deviations, a twentieth.
const EXACT: f64 = 1e-3;

impl Fit {
    /// `n` draws by importance resampling: `4n` draws of the mixture are drawn again with replacement by their Pareto-smoothed
    /// weights `f/q` (Vehtari, Simpson, Gelman, Yao and Gabry 2024). Worth it if the verdict is [`Verdict::Fair`]; if it is
    /// [`Verdict::Good`] the weights only add noise.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Dimension`, `Setting` for fewer than 25 draws, or more than memory holds; [`BoostError::TargetValue`],
    /// [`BoostError::Core`] with `NonFinite` if the target is zero at every draw.
    pub fn resample<T: LogDensity + ?Sized, R: Rng + ?Sized>(
        &self,
        target: &T,
        n: usize,
        rng: &mut R,
    ) -> Result<Mat<f64>, BoostError> {
        if n < LEAST_RESAMPLED {
            return Err(setting("n", n as f64, "at least 25"));
        }
        check::room("n", &[n, 4, self.mixture.dim()])?;
        let draws = self.mixture.draw(4 * n, rng);
        let ratios = diagnosis::log_ratios(&self.mixture, target, draws.as_ref())?;
        let weights = psis::psis(&ratios)?.log_weights;
        // Systematic resampling: each draw is taken as often as its weight requires, give or take one.
        let offset: f64 = rng.random();
        let (mut chosen, mut sum) = (Vec::with_capacity(n), 0.0);
        for (i, log) in weights.iter().enumerate() {
            sum += log.exp() * n as f64;
            while chosen.len() < n && sum > chosen.len() as f64 + offset {
                chosen.push(i);
            }
        }
        chosen.resize(n, weights.len() - 1);
        Ok(Mat::from_fn(n, draws.ncols(), |i, j| draws[(chosen[i], j)]))
    }
}

/// Directions far outside are the same for every fit.
const FAR_SEED: u64 = 1;

const LEAST_RESAMPLED: usize = 25;

/// Mean, standard deviation and quantiles of the draws of one number.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The name of the number.
    pub name: String,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub sd: f64,
    /// The quantiles at 0.05, 0.5 and 0.95.
    pub quantiles: [f64; 3],
}

/// Summarises each column of `draws` (`n × p`), for instance those that
/// [`Parameters::constrain_draws`](crate::transform::Parameters::constrain_draws) returns; `names` has length `p`. Cost `p·n·log
/// n`.
///
/// # Errors
/// [`BoostError::Core`] with `Dimension`, or `Empty` for no draws.
///
/// ```
/// use vi_boost::summarise;
/// use vi_linalg::faer::mat;
/// let summary = summarise(&["x".to_owned()], mat![[1.0], [3.0], [2.0]].as_ref())?;
/// assert_eq!((summary[0].mean, summary[0].quantiles[1]), (2.0, 2.0));
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
pub fn summarise(names: &[String], draws: MatRef<'_, f64>) -> Result<Vec<Summary>, BoostError> {
    check::length("names", draws.ncols(), names.len())?;
    let n = draws.nrows();
    if n == 0 {
        return Err(vi_core::Error::Empty { argument: "draws" }.into());
    }
    let one = |(j, name): (usize, &String)| {
        let mut column: Vec<f64> = (0..n).map(|i| draws[(i, j)]).collect();
        column.sort_by(f64::total_cmp);
        let mean = column.iter().sum::<f64>() / n as f64;
        let square = column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n.max(2).saturating_sub(1) as f64;
        let quantile = |twentieth: usize| column[(twentieth * n / 20).min(n - 1)];
        let quantiles = [quantile(1), quantile(10), quantile(19)];
        Summary { name: name.clone(), mean, sd: square.sqrt(), quantiles }
    };
    Ok(names.iter().enumerate().map(one).collect())
}
