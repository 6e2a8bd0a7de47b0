//! The best single Gaussian for any target, by gradients through its own points: what the paper compares with (mean-field), and the
//! same with all correlations.

use rand::{Rng, RngExt};

use crate::BoostError;
use crate::block;
use crate::boost::{check_enough, checked_points};
use crate::component::{Component, Family};
use crate::error::{check_len, check_positive_entries, setting};
use crate::objective::Single;
use crate::optimise::Search;
use crate::target::{Faults, LogDensity, Probe, fault};

/// What the search may spend; checked at construction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianSettings {
    family: Family,
    points: usize,
    evaluations: usize,
    tolerance: f64,
}

impl Default for GaussianSettings {
    /// A full covariance, 4096 points, at most 400 evaluations, a tolerance of 1e-9 nats.
    fn default() -> Self {
        Self { family: Family::Full, points: 4096, evaluations: 400, tolerance: 1e-9 }
    }
}

impl GaussianSettings {
    /// Settings for a Gaussian of `family` on `points` quasi-random points: at most `evaluations` of the bound with its gradient,
    /// each at all points, until a step raises it by less than `tolerance` nats. A search that is then more than ten standard deviations of
    /// its start away, or ten times as wide, goes on as many times again as it takes to tell a target without a finite
    /// integral, at most fifty.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Setting` (a rank of 0, fewer than 16 or an odd number of points, no evaluations) or `Entry`.
    pub fn new(family: Family, points: usize, evaluations: usize, tolerance: f64) -> Result<Self, BoostError> {
        check_positive_entries("tolerance", &[tolerance])?;
        if family == (Family::LowRank { rank: 0 }) {
            return Err(setting("rank", 0.0, "at least 1"));
        }
        if evaluations == 0 {
            return Err(setting("evaluations", 0.0, "at least 1"));
        }
        Ok(Self { family, points: checked_points("points", points)?, evaluations, tolerance })
    }

    /// The same settings for another family.
    ///
    /// # Errors
    /// `Setting` for a rank of 0.
    pub fn family(self, family: Family) -> Result<Self, BoostError> {
        Self::new(family, self.points, self.evaluations, self.tolerance)
    }
}

/// Why the search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GaussianStop {
    /// The last step raised the bound by less than the tolerance.
    Converged,
    /// The evaluations ran out, or no step helped.
    Evaluations,
}

/// How the search went.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct GaussianInfo {
    /// The bound on the log evidence, `E_q log f + H(q)`, in nats, on the search's own points.
    pub bound: f64,
    /// Evaluations of the bound with its gradient, each at all points.
    pub evaluations: usize,
    /// Points at which the target was asked for.
    pub target_evaluations: u64,
    /// Why it ended.
    pub stop: GaussianStop,
}

/// The variational Gaussian `argmax E_q log f + H(q)` of a family, from `start`.
///
/// The points are `μ + A·z_i` with fixed quasi-random `z_i` whose first two moments match, so a Gaussian target is met exactly; the
/// search is L-BFGS in coordinates about `start`. Each evaluation costs the target's value and gradient at all points and
/// `O(nd²)`. A target of several modes has several answers: the one downhill from `start` comes out. A target without
/// a finite integral is told where the bound has no end; with tails of `1/|θ|` it ends, and some Gaussian comes out.
///
/// # Errors
/// [`BoostError::Core`] with `Dimension`, or with `Setting` for fewer points than 4 for each dimension of the Gaussian; [`BoostError::NoStart`] if the target is finite at no point of `start`, [`BoostError::TargetValue`] or [`BoostError::Unsupported`] if it
/// is NaN, +∞ or zero at some; [`BoostError::Improper`] if the Gaussian ran away.
///
/// ```
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
/// use vi_boost::{Component, GaussianMixture, gaussian};
/// use vi_linalg::faer::mat;
/// let covariance = mat![[2.0, 0.8], [0.8, 1.0]];
/// let target = GaussianMixture::single(Component::full(&[1.0, -1.0], covariance.as_ref())?);
/// let start = Component::isotropic(&[0.0, 0.0], 3.0)?;
/// let mut rng = ChaCha8Rng::seed_from_u64(1);
/// let (q, info) = gaussian::fit(&target, &start, &gaussian::GaussianSettings::default(), &mut rng)?;
/// assert!((q.covariance()[(1, 0)] - 0.8).abs() < 1e-4);
/// assert!(info.bound.abs() < 1e-8);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
pub fn fit<T: LogDensity + ?Sized, R: Rng + ?Sized>(
    target: &T,
    start: &Component,
    settings: &GaussianSettings,
    rng: &mut R,
) -> Result<(Component, GaussianInfo), BoostError> {
    check_len("dimension of the start", target.dim(), start.dim())?;
    let start = start.as_family(settings.family)?;
    check_enough("points", settings.points, start.latent_dim())?;
    let covariance = start.covariance();
    let probe = Probe::new(target, (0..start.dim()).map(|j| covariance[(j, j)].sqrt()).collect())?;
    let z = block::quasi(settings.points, start.latent_dim(), rng.random())?;
    let single = Single { probe: &probe, z: &z };
    let search = Search { evaluations: settings.evaluations, tolerance: settings.tolerance };
    let Some((component, found)) = single.pursue(&start, &start, search)? else {
        return Err(no_start(&probe, &start, &z));
    };
    let stop = if found.converged { GaussianStop::Converged } else { GaussianStop::Evaluations };
    let (evaluations, target_evaluations) = (found.evaluations, probe.evaluations());
    Ok((component, GaussianInfo { bound: -found.value, evaluations, target_evaluations, stop }))
}

/// Why a search from `start` could not begin.
fn no_start<T: LogDensity + ?Sized>(probe: &Probe<'_, T>, start: &Component, z: &[block::Block]) -> BoostError {
    let (mut all, mut first) = (Vec::new(), None);
    let (mut x, mut values) = (block::Block::default(), Vec::new());
    for z in z {
        start.map(z, &mut x);
        values.resize(x.rows(), 0.0);
        probe.values(&x, &mut values);
        all.extend_from_slice(&values);
        if first.is_none() {
            first = fault(&values, &x);
        }
    }
    let Faults { zero, nan, infinite } = Faults::of(&all);
    if zero + nan + infinite == all.len() {
        return BoostError::NoStart { points: all.len(), zero, nan, infinite };
    }
    first.unwrap_or(BoostError::Unsupported { share: zero as f64 / all.len() as f64 })
}
