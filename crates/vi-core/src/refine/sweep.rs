//! Sweeps in blocks, watched by the bound.

use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::{symmetric_mul_vec, symmetric_rank_r};

use crate::batch::{self, BatchSettings};
use crate::belief::{Belief, DenseGaussian, DenseStep, factor};
use crate::block::{self, BlockBelief, BlockScratch, BlockSettings};
use crate::check;
use crate::likelihood::GaussianExpectation;
use crate::per_row::{Likelihoods, SiteRules};
use crate::rows::{Rows, contiguous_row};
use crate::{Error, GlmPosterior, Projection, Site, Sites, Stop};

/// A site whose cavity keeps less than this share of the precision along `x` is left as it is, and counted.
const LEAST_CAVITY: f64 = 1e-8;
/// Damping below which sweeping is given up for the batch optimiser.
const LEAST_DAMPING: f64 = 0.1;

/// How far to [refine].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefineSettings {
    /// Sweeping stops when a sweep changes the bound by less than this, in nats.
    pub tolerance: f64,
    /// The largest number of sweeps.
    pub max_sweeps: usize,
    /// Rows absorbed together; `None` chooses from `d`.
    pub block: Option<BlockSettings>,
}

impl Default for RefineSettings {
    /// Tolerance 1e-9 nats, at most 50 sweeps, blocks chosen from `d`.
    fn default() -> Self {
        Self { tolerance: 1e-9, max_sweeps: 50, block: None }
    }
}

impl RefineSettings {
    /// Checks the settings, as every entry that takes them does.
    ///
    /// # Errors
    /// [`Error::Setting`] unless the tolerance is positive and finite and the limit at least 1.
    pub fn check(&self) -> Result<(), Error> {
        check::positive("tolerance", self.tolerance)?;
        check::count("max_sweeps", self.max_sweeps)
    }
}

/// What refinement did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RefineInfo {
    /// Sweeps kept.
    pub sweeps: usize,
    /// Sweeps undone because the bound fell; each halves the damping.
    pub undone: usize,
    /// Site updates skipped for want of a proper cavity, over all sweeps.
    pub skipped: usize,
    /// Passes of the batch optimiser, which finishes the work where damped sweeps keep losing the bound; otherwise 0.
    pub batch_passes: usize,
    /// The bound on the log evidence before the first sweep, after each kept one and after the batch optimiser, in nats.
    pub bounds: Vec<f64>,
    /// Why it stopped, or why the batch optimiser did.
    pub stop: Stop,
}

/// A posterior with the sites it is made of.
#[derive(Debug, Clone)]
pub struct Refinement {
    /// The belief.
    pub belief: DenseGaussian,
    /// One site for each row.
    pub sites: Sites,
}

/// One blocked pass of `rule` from `prior` over the rows of `x` (`n × d`), keeping the sites. Cost as
/// [`block::run`](crate::block::run), and two numbers for each row.
///
/// # Errors
/// As [`block::run`](crate::block::run).
pub fn first_pass<R: SiteRules>(
    prior: &DenseGaussian,
    rule: &R,
    x: MatRef<'_, f64>,
    y: &[f64],
    par: Par,
) -> Result<Refinement, Error> {
    let mut belief = prior.clone();
    let mut sites = Sites::default();
    let mut scratch = BlockScratch::new(&belief, BlockSettings::for_dim(prior.dim()));
    block::run(&mut belief, rule, x, y, &mut scratch, par, |_, _, steps| {
        for step in steps {
            sites.push(step);
        }
    })?;
    Ok(Refinement { belief, sites })
}

/// Sweeps over the rows until the bound stands still.
///
/// `likelihood` is one for all rows or one for each ([`PerRow`](crate::PerRow)).
/// `refinement` is what [`first_pass`] left from the same `prior`, rows and labels. A sweep costs as much as a blocked pass,
/// and the bound after it `2nd² + d³`. After each sweep the belief is put together anew from the prior and the sites, so
/// rounding does not build up. A sweep that loses the bound is undone and the next are damped by half; should that not help,
/// the [batch optimiser](crate::batch::optimum) takes over.
///
/// # Errors
/// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`], [`Error::NotPositiveDefinite`]; `refinement` is then as it was.
///
/// ```
/// use vi_core::{refine, BernoulliLogit, DenseGaussian, Implicit, Mixture8};
/// use vi_linalg::faer::{MatRef, Par};
/// let x = MatRef::from_row_major_slice(&[1.0, 0.2, 1.0, -1.3, 1.0, 2.1, 1.0, -0.4], 4, 2);
/// let y = [1.0, 0.0, 1.0, 0.0];
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 10.0)?;
/// let logit = BernoulliLogit(Mixture8);
/// let mut posterior = refine::first_pass(&prior, &Implicit(logit), x, &y, Par::Seq)?;
/// let info = refine::refine(&prior, &mut posterior, x, &y, &logit, &refine::RefineSettings::default(), Par::Seq)?;
/// assert!(info.bounds.last() > info.bounds.first());
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn refine<L: Likelihoods<Row: GaussianExpectation> + Clone>(
    prior: &DenseGaussian,
    refinement: &mut Refinement,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihood: &L,
    settings: &RefineSettings,
    par: Par,
) -> Result<RefineInfo, Error> {
    settings.check()?;
    let d = prior.dim();
    Rows::from(x).labelled(d, y)?;
    check::length("belief", d, refinement.belief.dim())?;
    check::length("sites", y.len(), refinement.sites.len())?;
    let posterior = GlmPosterior::new(prior, x, y, likelihood.clone())?;
    let natural_prior = NaturalPrior::new(prior)?;
    let mut scratch = BlockScratch::new(prior, settings.block.unwrap_or_else(|| BlockSettings::for_dim(d)));

    let mut best = refinement.clone();
    let mut info = RefineInfo {
        sweeps: 0,
        undone: 0,
        skipped: 0,
        batch_passes: 0,
        bounds: vec![-posterior.kl(&best.belief, par)?],
        stop: Stop::Iterations,
    };
    let mut damping = 1.0;
    while info.sweeps < settings.max_sweeps {
        let mut next = best.clone();
        let bound = info.bounds[info.sweeps];
        let outcome = sweep(&mut next, x, y, likelihood, damping, &mut scratch, par)
            .and_then(|skipped| natural_prior.assemble(&next.sites, x, par).map(|belief| (skipped, belief)));
        let gained = match outcome {
            Ok((skipped, belief)) => {
                next.belief = belief;
                info.skipped += skipped;
                -posterior.kl(&next.belief, par)? - bound
            }
            Err(Error::Row { .. } | Error::NotPositiveDefinite { .. }) => f64::NEG_INFINITY,
            Err(error) => return Err(error),
        };
        if gained < -rounding(bound) {
            info.undone += 1;
            damping *= 0.5;
            if damping < LEAST_DAMPING {
                best = batch_fallback(prior, &best, x, y, likelihood, &mut info, par)?;
                break;
            }
            continue;
        }
        best = next;
        info.sweeps += 1;
        info.bounds.push(bound + gained);
        if gained.abs() <= settings.tolerance * damping {
            info.stop = Stop::Converged;
            break;
        }
    }
    *refinement = best;
    Ok(info)
}

/// Differences of the bound below this are rounding.
fn rounding(bound: f64) -> f64 {
    64.0 * f64::EPSILON * (1.0 + bound.abs())
}

/// One sweep over all rows, each block's sites changed when the block has been absorbed. Returns how many were skipped.
fn sweep<L: Likelihoods<Row: GaussianExpectation>>(
    refinement: &mut Refinement,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihood: &L,
    damping: f64,
    scratch: &mut BlockScratch<DenseGaussian>,
    par: Par,
) -> Result<usize, Error> {
    let Refinement { belief, sites } = refinement;
    let mut skipped = 0;
    for first in (0..y.len()).step_by(scratch.recursion.capacity()) {
        let b = scratch.recursion.capacity().min(y.len() - first);
        let rows = x.subrows(first, b);
        belief.project_block(rows, &mut scratch.recursion, &mut scratch.panels, par);
        scratch.recursion.resolve(|t, seen| {
            let i = first + t;
            let Some((mean, variance)) = cavity(seen, sites.slopes()[i], sites.curvatures()[i]) else {
                skipped += 1;
                return Ok(Site { slope: 0.0, curvature: 0.0 });
            };
            let root = likelihood.likelihood_of(i).implicit_root(y[i], mean, variance)?;
            let slope = root.gain + root.curvature * root.alpha; // r′
            let change_h = damping * (root.curvature - sites.curvatures()[i]);
            let change_r = damping * (slope - sites.slopes()[i]);
            Ok(Site { slope: change_r - change_h * seen.mean, curvature: change_h })
        })?;
        belief.absorb_block(rows, &scratch.recursion, &mut scratch.panels, par)?;
        for (t, step) in scratch.recursion.steps().iter().enumerate() {
            sites.add(first + t, step.site.natural_slope(step.projection.mean), step.site.curvature);
        }
    }
    Ok(skipped)
}

/// The belief along `x` without the site `(r, h)`: `ν_c = ν/c`, `a_c = (a − νr)/c`, `c = 1 − hν`.
fn cavity(seen: Projection, slope: f64, curvature: f64) -> Option<(f64, f64)> {
    let c = 1.0 - curvature * seen.variance;
    (c > LEAST_CAVITY).then(|| ((seen.mean - seen.variance * slope) / c, seen.variance / c))
}

/// The prior in natural parameters, from which sites make a belief.
struct NaturalPrior {
    precision: Mat<f64>,
    shift: Vec<f64>,
}

impl NaturalPrior {
    fn new(prior: &DenseGaussian) -> Result<Self, Error> {
        let precision = prior.cholesky()?.inverse();
        let mut shift = vec![0.0; prior.dim()];
        symmetric_mul_vec(&mut shift, precision.as_ref(), prior.mean());
        Ok(Self { precision, shift })
    }

    /// `Λ = Λ₀ + Σh·xxᵀ`, `Λμ = Λ₀μ₀ + Σr·x`. Cost `nd² + d³`.
    fn assemble(&self, sites: &Sites, x: MatRef<'_, f64>, par: Par) -> Result<DenseGaussian, Error> {
        let (n, d) = (x.nrows(), x.ncols());
        let mut precision = self.precision.clone();
        let scaled = Mat::from_fn(d, n, |i, t| sites.curvatures()[t] * x[(t, i)]);
        symmetric_rank_r(precision.as_mut(), 1.0, scaled.as_ref(), x.transpose(), par);
        let cholesky = factor("precision of the sites", precision.as_ref())?;
        let mut mean = self.shift.clone();
        for t in 0..n {
            for i in 0..d {
                mean[i] += sites.slopes()[t] * x[(t, i)];
            }
        }
        cholesky.solve_vec_in_place(&mut mean)?;
        Ok(DenseGaussian::from_parts(mean, cholesky.inverse()))
    }
}

/// The batch optimum, and the sites it implies: `h = −E∂²`, `r = E∂ + h·a` at each row.
fn batch_fallback<L: Likelihoods<Row: GaussianExpectation>>(
    prior: &DenseGaussian,
    best: &Refinement,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihood: &L,
    info: &mut RefineInfo,
    par: Par,
) -> Result<Refinement, Error> {
    let (belief, batch) = batch::optimum(prior, &best.belief, x, y, likelihood, &BatchSettings::default(), par)?;
    info.bounds.push(batch.bound());
    info.stop = batch.stop;
    info.batch_passes = batch.passes;
    let mut sites = Sites::default();
    let (mut step, mut buffer) = (DenseStep::default(), Vec::new());
    for (t, &label) in y.iter().enumerate() {
        let seen = belief.project(contiguous_row(x, t, &mut buffer).into(), 1.0, &mut step)?;
        let (slope, curvature) = likelihood.likelihood_of(t).expected_slope_curvature(label, seen.mean, seen.variance);
        sites.push(&crate::filter::StepInfo::whole(seen, Site { slope, curvature }));
    }
    Ok(Refinement { belief, sites })
}

/// `log p(y_i | y_{−i})` of every row, in nats: the predictive density of each label under its cavity, the posterior without
/// that row. `None` where a row's site leaves no proper cavity. Cost `2nd²`.
///
/// # Errors
/// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`], among them with [`Error::Overflow`] for a density whose logarithm is no
/// number.
///
/// ```
/// use vi_core::{refine, DenseGaussian, Explicit, GaussianLikelihood};
/// use vi_linalg::faer::{MatRef, Par};
/// let x = MatRef::from_row_major_slice(&[1.0, 2.0, 3.0], 3, 1);
/// let (y, noise) = ([1.1, 1.9, 3.2], GaussianLikelihood::new(0.1)?);
/// let prior = DenseGaussian::isotropic(&[0.0], 10.0)?;
/// let posterior = refine::first_pass(&prior, &Explicit(noise), x, &y, Par::Seq)?;
/// let densities = refine::leave_one_out(&posterior, x, &y, &noise)?;
/// assert!(densities.iter().all(|d| d.is_some_and(|d| d > -2.0)));
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn leave_one_out<L: Likelihoods<Row: GaussianExpectation>>(
    refinement: &Refinement,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihood: &L,
) -> Result<Vec<Option<f64>>, Error> {
    let Refinement { belief, sites } = refinement;
    Rows::from(x).labelled(belief.dim(), y)?;
    check::length("sites", y.len(), sites.len())?;
    likelihood.check_labels(y)?;
    let (mut step, mut buffer) = (DenseStep::default(), Vec::new());
    y.iter()
        .enumerate()
        .map(|(t, &label)| {
            let seen = belief.project(contiguous_row(x, t, &mut buffer).into(), 1.0, &mut step)?;
            let without = cavity(seen, sites.slopes()[t], sites.curvatures()[t]);
            let Some((mean, variance)) = without else { return Ok(None) };
            let log_density = likelihood.likelihood_of(t).log_predictive(label, mean, variance);
            check::result("log p(y_i|y_−i)", log_density).map(Some).map_err(|error| error.at_row(t))
        })
        .collect()
}
