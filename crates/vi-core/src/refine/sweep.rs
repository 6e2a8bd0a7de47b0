//! Sweeps to the best Gaussian, watched by the bound.

use vi_linalg::faer::{MatRef, Par};

use super::settings::{RefineInfo, RefineSettings};
use super::sites::{NaturalPrior, Refinement, sweep};
use crate::batch::{self, BatchSettings};
use crate::belief::{Belief, DenseGaussian, DenseStep};
use crate::block::{BlockScratch, BlockSettings};
use crate::likelihood::GaussianExpectation;
use crate::per_row::Likelihoods;
use crate::rows::contiguous_row;
use crate::{Error, GlmPosterior, Site, Sites, Stop};

/// The damping below which the batch optimiser replaces sweeping.
const LEAST_DAMPING: f64 = 0.1;

/// Sweeps over the rows until the bound no longer changes.
///
/// `likelihood` is one for all rows or one for each ([`PerRow`](crate::PerRow)). `refinement` is what
/// [`first_pass`](super::first_pass) gave from the same `prior`, rows and labels. A sweep costs as much as a blocked pass, and
/// the bound after it `2nd² + d³`. After each sweep the belief is assembled anew from the prior and the sites, so rounding does
/// not accumulate. A sweep that lowers the bound is undone and the following ones are damped by half; if that does not help, the
/// [batch optimiser](crate::batch::optimum) takes over.
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
    refinement.check(prior, x, y)?;
    let posterior = GlmPosterior::new(prior, x, y, likelihood.clone())?;
    let natural_prior = NaturalPrior::new(prior)?;
    let mut scratch = BlockScratch::new(prior, settings.block.unwrap_or_else(|| BlockSettings::for_dim(prior.dim())));

    let mut best = refinement.clone();
    let mut info = RefineInfo::new(vec![-posterior.kl(&best.belief, par)?]);
    let mut damping = 1.0;
    while info.sweeps < settings.max_sweeps {
        let mut next = best.clone();
        let bound = info.bounds[info.sweeps];
        let implicit = |i: usize, mean: f64, variance: f64| {
            let root = likelihood.likelihood_of(i).implicit_root(y[i], mean, variance)?;
            Ok((root.gain + root.curvature * root.alpha, root.curvature)) // r′, h′
        };
        let outcome = sweep(&mut next, x, damping, implicit, &mut scratch, par)
            .and_then(|skipped| natural_prior.assemble(&next.sites, x, par).map(|(belief, _)| (skipped, belief)));
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

/// The largest difference of the bound that is rounding.
fn rounding(bound: f64) -> f64 {
    64.0 * f64::EPSILON * (1.0 + bound.abs())
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
        sites.push(&crate::filter::StepInfo { projection: seen, site: Site { slope, curvature } });
    }
    Ok(Refinement { belief, sites })
}
