//! The best single Gaussian for any target, by gradients at its own points: the paper's mean-field comparison, and the same with
//! all correlations.
//! same with all correlations.

use rand::{Rng, RngExt};
use vi_core::{Stop, check};

use crate::BoostError;
use crate::block;
use crate::boost::{check_enough, check_points};
use crate::component::{Component, Family, HALF_LN_2PI};
use crate::error::check_positive_entries;
use crate::modes::{APART, distance, laplace};
use crate::objective::{Best, Single};
use crate::optimise::{End, Search};
use crate::target::{Faults, LogDensity, Probe, fault};

/// The settings of the search for the best Gaussian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianSettings {
    /// How the covariance is kept.
    pub family: Family,
    /// The number of quasi-random points over which the bound is averaged.
    pub points: usize,
    /// The most evaluations of the bound with its gradient, each at all points. A search that is then more than ten standard
    /// deviations of its start away, or ten times as wide, is extended by as many evaluations, at most fifty times, to detect a
    /// target without a finite integral.
    pub evaluations: usize,
    /// The search ends when no more than so many nats remain to be gained, or what the points can resolve if that is more: the
    /// rounding of the bound, and 10⁻⁵ of what overfitting to these very points is worth.
    pub tolerance: f64,
}

impl Default for GaussianSettings {
    /// The default is a full covariance, 4096 points, at most 400 evaluations, and a tolerance of 1e-9 nats or what the points
    /// can resolve.
    fn default() -> Self {
        Self { family: Family::Full, points: 4096, evaluations: 400, tolerance: 1e-9 }
    }
}

impl GaussianSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Setting` (a rank of 0, fewer than 16 or an odd number of points, no evaluations) or `Entry`.
    pub fn check(&self) -> Result<(), BoostError> {
        self.family.check()?;
        check_points("points", self.points)?;
        check::limit("evaluations", self.evaluations)?;
        check_positive_entries("tolerance", &[self.tolerance])
    }
}

/// A report of the search.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct GaussianInfo {
    /// The bound on the log evidence, `E_q log f + H(q)`, in nats, on the search's own points.
    pub bound: f64,
    /// The number of evaluations of the bound with its gradient, each at all points, or at an eighth of them while far away.
    pub evaluations: usize,
    /// The number of points at which the target was evaluated.
    pub target_evaluations: u64,
    /// How often the start was narrowed to half its width because the target was zero, NaN or +∞ at some of its points; what lies
    /// beyond was not seen.
    pub narrowed: usize,
    /// By how many nats the Gaussian is better than the one downhill from the start, if that lay in a minor mode and another was
    /// taken, for which Laplace's method gave more than one nat more. `None` does not prove that there is no better mode: others
    /// are sought only from the best points of the start, and [`fit`](crate::fit()) searches further.
    pub elsewhere: Option<f64>,
    /// Why the search for the best Gaussian of its own mode ended.
    pub stop: Stop,
}

/// Fits the variational Gaussian `argmax E_q log f + H(q)` of a family, searched from `start`.
///
/// The points are `μ + A·z_i` with fixed quasi-random `z_i` whose first two moments match, so a Gaussian target is fitted
/// exactly. The search alternates natural gradient steps (Khan and Rue 2023), each checked to raise the bound, and L-BFGS in
/// coordinates about where they end; it does not depend on the scale and correlation of the target. It begins on an eighth of the
/// points. Each evaluation costs the target's value and gradient at all points and `O(nd²)`. A target of several modes has
/// several answers: the one downhill from `start`, or that of a better mode near the best of its points
/// ([`GaussianInfo::elsewhere`]), which takes a second search as long as the first. If the target is not finite at some point of
/// `start`, the search begins from a narrower Gaussian, about its mean or about the best of its points. A target without a finite
/// integral is detected if the bound has no end; with tails of `1/|θ|` it ends, and some Gaussian comes out.
///
/// # Errors
/// [`BoostError::Core`] with `Dimension`, or with `Setting` for fewer points than 4 for each dimension of the Gaussian;
/// [`BoostError::NoStart`] if the target is finite at no point of `start`, [`BoostError::TargetValue`] or
/// [`BoostError::Unsupported`] if it is NaN, +∞ or zero at some, however narrow the start is made; [`BoostError::Improper`] if
/// the Gaussian diverged.
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
/// assert!((q.covariance()[(1, 0)] - 0.8).abs() < 1e-8);
/// assert!(info.bound.abs() < 1e-8);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
pub fn fit<T: LogDensity + ?Sized, R: Rng + ?Sized>(
    target: &T,
    start: &Component,
    settings: &GaussianSettings,
    rng: &mut R,
) -> Result<(Component, GaussianInfo), BoostError> {
    settings.check()?;
    let start = start.as_family(settings.family)?;
    let probe = Probe::about(target, &start)?;
    let latent = start.latent_dim();
    check_enough("points", settings.points, latent)?;
    let seed = rng.random();
    let z = block::quasi(settings.points, latent, seed)?;
    let search = Search { evaluations: settings.evaluations, tolerance: settings.tolerance };
    let (mut from, mut spent, mut narrowed) = (start.clone(), 0, 0);
    let few = settings.points / COARSER / 2 * 2;
    if few >= LEAST_COARSE.max(4 * latent) {
        let z = block::quasi(few, latent, seed)?;
        let rough = Search { tolerance: ROUGH.max(settings.tolerance), ..search };
        if let Some((found, times)) = narrowing(&Single { probe: &probe, z: &z }, &start, rough)? {
            (from, spent, narrowed) = (found.component, found.evaluations, times);
        }
    }
    let single = Single { probe: &probe, z: &z };
    let search = Search { evaluations: search.evaluations.saturating_sub(spent).max(1), ..search };
    let Some((mut found, times)) = nearby(&single, &start, &from, search)? else {
        return Err(no_start(&probe, &start, &z));
    };
    let mut elsewhere = None;
    if let Some(other) = better_mode(&single, &start, &found, search) {
        elsewhere = Some(found.value - other.value);
        found = Best { evaluations: found.evaluations + other.evaluations, ..other };
    }
    let stop = match found.end {
        End::Converged => Stop::Converged,
        End::Evaluations => Stop::Iterations,
        End::NoStep => Stop::Improvement,
    };
    let info = GaussianInfo {
        bound: -found.value,
        evaluations: spent + found.evaluations,
        target_evaluations: probe.evaluations(),
        narrowed: narrowed + times,
        elsewhere,
        stop,
    };
    Ok((found.component, info))
}

/// The divisor of the number of points while far away, the least number of points for that, and the nats at which that search
/// ends.
const COARSER: usize = 8;
const LEAST_COARSE: usize = 64;
const ROUGH: f64 = 1e-2;

/// How often a start is narrowed to half its width.
const NARROWINGS: usize = 24;

/// Searches from a good `from`, narrowed if the target is zero at some of its points on the finer set, otherwise from the whole
/// `start`.
fn nearby<T: LogDensity + ?Sized>(
    single: &Single<'_, T>,
    start: &Component,
    from: &Component,
    search: Search,
) -> Result<Option<(Best, usize)>, BoostError> {
    let mut from = from.clone();
    for times in 0..NARROWINGS {
        if let Some(found) = single.best(std::slice::from_ref(start), &from, search)? {
            return Ok(Some((found, times)));
        }
        from = from.widened(0.25)?;
    }
    narrowing(single, start, search)
}

/// The best Gaussian from `start`, narrowed until the target is finite at all its points: about its mean, then about its best
/// point. Returns `None` if that never happens.
fn narrowing<T: LogDensity + ?Sized>(
    single: &Single<'_, T>,
    start: &Component,
    search: Search,
) -> Result<Option<(Best, usize)>, BoostError> {
    let centres = std::iter::once(start.mean.clone()).chain(best_points(single, start, 1));
    for mean in centres {
        let mut from = Component { mean, scale: start.scale.clone() };
        for times in 0..NARROWINGS {
            if let Some(found) = single.best(std::slice::from_ref(start), &from, search)? {
                return Ok(Some((found, times)));
            }
            from = from.widened(0.25)?;
        }
    }
    Ok(None)
}

/// The `count` points of `start` with the largest finite log-densities, the largest first.
fn best_points<T: LogDensity + ?Sized>(single: &Single<'_, T>, start: &Component, count: usize) -> Vec<Vec<f64>> {
    let (mut x, mut values) = (block::Block::default(), Vec::new());
    let mut best: Vec<(f64, Vec<f64>)> = Vec::new();
    for z in single.z {
        start.map(z, &mut x);
        values.resize(x.rows(), 0.0);
        single.probe.values(&x, &mut values);
        for (i, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let mut at = vec![0.0; x.columns()];
            x.row(i, &mut at);
            best.push((*value, at));
        }
        best.sort_by(|a, b| b.0.total_cmp(&a.0));
        best.truncate(count);
    }
    best.into_iter().map(|(_, at)| at).collect()
}

/// The number of points of the start from which other modes are sought.
const OTHERS: usize = 4;

/// By how many nats Laplace's method must prefer another mode for it to be worth a search; the method is off by tenths on a mode
/// that is not Gaussian.
const PROMISING: f64 = 1.0;

/// The best Gaussian of the most promising mode, if that is well above `found` and its search succeeds.
fn better_mode<T: LogDensity + ?Sized>(
    single: &Single<'_, T>,
    start: &Component,
    found: &Best,
    search: Search,
) -> Option<Best> {
    let d = start.dim() as f64;
    let (mut most, mut best) = (PROMISING, None);
    for point in best_points(single, start, OTHERS) {
        let Some(peak) = laplace(single.probe, &point) else { continue };
        let promise = single.probe.value(peak.mean()) + 0.5 * peak.log_det() + d * HALF_LN_2PI + found.value;
        if promise.is_finite() && promise > most && distance(&peak, &found.component) > APART {
            (most, best) = (promise, Some(peak));
        }
    }
    let from = best?.as_family(start.family()).ok()?;
    // A mode is ignored if its search fails or ends below the first.
    let (other, _) = nearby(single, start, &from, search).ok()??;
    (other.value < found.value).then_some(other)
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
